"""fence-check --launch in a build: JSON, SARIF, baselines, and its statuses."""

import json
from pathlib import Path

import pytest

from fencewright.tools import fence_check
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE

ROOT = Path(__file__).parents[2]
MESSAGE = str(ROOT / "tests" / "lit" / "tools" / "fence-check" / "race-message.ptx")
WRONG = "wrong<<<2, 32>>>(i32[64], i32[64], i32[64])"
RIGHT = WRONG.replace("wrong", "right")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The status and the output of fence-check on the launches of two kernels."""
    status = fence_check.main([MESSAGE, *arguments])
    return status, capsys.readouterr().out


def test_json_has_a_verdict_for_each_launch(capsys: pytest.CaptureFixture[str]) -> None:
    short = "right<<<2, 32>>>(i32[64], i32[64], i32[0])"
    launches = [word for each in (WRONG, RIGHT, short) for word in ("--launch", each)]
    status, text = printed(capsys, "--format", "json", *launches)
    (file,) = json.loads(text)["files"]
    wrong, right, outside = file["functions"]
    assert status == DOES_NOT_HOLD
    assert (wrong["verdict"], wrong["by"], wrong["reason"]) == ("race", "execution", None)
    assert (wrong["errors"], right["errors"]) == (1, 0)
    assert right["verdict"] == "no race in this launch"
    assert right["launch"] == "2 blocks x 32 threads"
    assert right["coverage"] == {"schedules": 6, "executed": 5, "accesses": 5, "missed": []}
    assert outside["verdict"] == "not judged"
    assert outside["reason"].startswith("out of bounds: 4 bytes at")
    assert len(outside["coverage"]["missed"]) == 1
    (finding,) = file["findings"]
    assert (finding["rule"], finding["level"], finding["function"]) == (
        "race-write-read", "error", "wrong",
    )  # fmt: skip
    assert [each["what"] for each in finding["about"]] == ["st.global.b32 [%rd1], 42"]


def test_sarif_has_the_rules_of_launches(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = printed(capsys, "--format", "sarif", "--launch", WRONG)
    (run,) = json.loads(text)["runs"]
    (result,) = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert status == DOES_NOT_HOLD
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "race-write-read"
    assert {"hang", "barrier-divergence", "race-proxy", "race-same-value"} <= {
        e["id"] for e in rules
    }
    assert len(result["relatedLocations"]) == 1


def test_what_a_baseline_has_does_not_fail(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    known = str(tmp_path / "known.json")
    status, _ = printed(capsys, "--launch", WRONG, "--write-baseline", known)
    assert status == HOLDS
    status, text = printed(capsys, "--launch", WRONG, "--baseline", known)
    assert status == HOLDS
    assert "error" not in text
    status, text = printed(capsys, "--launch", RIGHT, "--baseline", known)
    assert status == HOLDS
    assert "1 of its findings found no more" in text
    weaker = str(tmp_path / "none.json")
    Path(weaker).write_text("{}")
    assert printed(capsys, "--launch", WRONG, "--baseline", weaker)[0] == USAGE


def test_what_is_not_judged_is_never_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    short, known = "right<<<2, 32>>>(i32[64], i32[64], i32[0])", str(tmp_path / "known.json")
    assert printed(capsys, "--launch", short, "--write-baseline", known)[0] == INCOMPLETE
    assert printed(capsys, "--launch", short, "--baseline", known)[0] == INCOMPLETE


def test_warnings_fail_where_they_are_asked_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (
        Path(MESSAGE)
        .read_text(encoding="utf-8")
        .replace("setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;", "")
    )
    same = tmp_path / "same.ptx"
    same.write_text(text)
    launch = ["--launch", "right<<<1, 64>>>(i32[64], i32[64], i32[64])"]
    assert fence_check.main([str(same), *launch]) == HOLDS
    assert "of the same value" not in capsys.readouterr().err
    assert fence_check.main([str(same), *launch, "--fail-on", "warning"]) == DOES_NOT_HOLD


@pytest.mark.parametrize("format", ["github", "gitlab", "junit"])
def test_reports_for_ci_have_races(capsys: pytest.CaptureFixture[str], format: str) -> None:
    status, text = printed(capsys, "--format", format, "--launch", WRONG)
    assert status == 1
    assert "race-write-read" in text


def test_races_of_code_with_lines_are_at_the_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples/races")
    launch = "last_block<<<4, 64>>>(i32[256]=iota, i32[4], i32[1], i32[1])"
    assert fence_check.main(["last_block.ptx", "--launch", launch, "--format", "github"]) == 1
    assert "::error file=last_block.cu,line=28,col=" in capsys.readouterr().out


def test_what_a_comment_or_the_configuration_ignores_does_not_fail(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A comment at either access; one of another rule ignores nothing."""
    text = Path(MESSAGE).read_text(encoding="utf-8")
    path = tmp_path / "k.ptx"
    path.write_text(text)
    asked = ["--launch", WRONG, "--format", "json", str(path)]
    assert fence_check.main(asked) == DOES_NOT_HOLD
    (finding,) = json.loads(capsys.readouterr().out)["files"][0]["findings"]
    lines = text.splitlines()
    other = finding["about"][0]
    for rule, line, status in (
        ("race-write-read", finding["line"], HOLDS),
        ("race-write-read", other["line"], HOLDS),
        ("race-scope", finding["line"], DOES_NOT_HOLD),
    ):
        ignoring = [*lines]
        ignoring[line - 1] += f" // fence-check: ignore[{rule}] the reader waits"
        path.write_text("\n".join(ignoring) + "\n")
        assert fence_check.main(asked) == status
        (found,) = json.loads(capsys.readouterr().out)["files"][0]["findings"]
        assert found["ignored"] == (None if status else "the reader waits")
        assert fence_check.main(["--launch", WRONG, str(path)]) == status
        assert (": error: " in capsys.readouterr().out) is bool(status)
    path.write_text(text)
    table = tmp_path / ".fence-check.toml"
    table.write_text('[ignore]\nrace-write-read = "known"\n')
    assert fence_check.main([*asked, "--config", str(table)]) == HOLDS


def test_comments_of_launches_are_not_unused_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "k.ptx"
    text = Path(MESSAGE).read_text(encoding="utf-8")
    path.write_text(text.replace("ret;", "ret; // fence-check: ignore[hang] never", 1))
    fence_check.main([str(path)])
    assert "remove it" not in capsys.readouterr().out
