"""fence-sim as a program: exit statuses, one line per error, output for tools, quick to start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from litmus_modules import MESSAGE_PASSING

from fencewright.simulator.ptx_litmus import parse_litmus, read_litmus
from fencewright.tools import fence_sim
from fencewright.tools.diagnostics import TRACEBACK_VARIABLE
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE

CORPUS = Path(__file__).parents[1] / "litmus" / "ptx"
SEEN = MESSAGE_PASSING.replace("forall (P1:r0 = 1)", "exists (P1:r0 = 1)")


@pytest.fixture
def mp(tmp_path: Path) -> str:
    path = tmp_path / "mp.mlir"
    path.write_text(MESSAGE_PASSING)
    return str(path)


def write(folder: Path, text: str) -> str:
    path = folder / "other.mlir"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], HOLDS),
        (["--source"], HOLDS),
        (["--mcpu", "gfx942"], HOLDS),
        (["--mcpu", "gfx942", "--mattr", "+tgsplit"], HOLDS),
        (["--mcpu", "gfx942", "--l2-per-agent", "one"], HOLDS),
        (["--mcpu", "gfx942", "--progress-check"], HOLDS),
        (["--mcpu", "sm_90", "--ptx-version", "8.6", "--model", "ptx-6.0"], HOLDS),
        (["--mcpu", "gfx942", "--without", "buffer_inv"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--without", "buffer_inv:sc1"], DOES_NOT_HOLD),
        (["--mcpu", "sm_90", "--without", "ld.acquire=ld.relaxed"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--without", "global_store_dword:sc1", "--progress-check"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--state-limit", "10"], INCOMPLETE),
        (["--mcpu", "gfx942", "--random", "5"], INCOMPLETE),
        (["--mcpu", "gfx942", "--progress-check", "--state-limit", "45"], INCOMPLETE),
        (["--mcpu", "gfx1100"], USAGE),
        (["--mcpu", "gfx942", "--source"], USAGE),
        (["--mcpu", "gfx942", "--mattr", "wave32"], USAGE),
        (["--mcpu", "gfx942", "--without", "nothing"], USAGE),
        (["--mcpu", "gfx942", "--without", ""], USAGE),
        (["--without", "buffer_inv"], USAGE),
        (["--random", "5"], USAGE),
        (["--mcpu", "sm_90", "--progress-check"], USAGE),
        (["--bound", "0"], USAGE),
        (["--model", "ptx-8.0"], USAGE),
        (["--test", "other"], USAGE),
    ],
)  # fmt: skip
def test_statuses(
    mp: str, arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run", mp, *arguments]) == status
    captured = capsys.readouterr()
    if status == USAGE:
        assert "error: " in captured.err
        assert not captured.out
    else:
        assert not captured.err
        assert captured.out.startswith("Test mp ")


def test_a_racy_source_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    racy = write(tmp_path, MESSAGE_PASSING.replace("store release", "store relaxed"))
    assert fence_sim.main(["run", racy]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert "Race: data race on x" in out
    assert "Racy: no outcome is defined" in out


def test_what_was_sampled_is_certain_if_more_could_not_change_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = write(tmp_path, SEEN)
    arguments = ["run", seen, "--mcpu", "gfx942", "--random", "50"]
    assert fence_sim.main(arguments) == HOLDS
    broken = [*arguments[:-1], "2000", "--without", "buffer_inv"]
    everywhere = write(tmp_path, MESSAGE_PASSING)
    assert fence_sim.main([*broken[:1], everywhere, *broken[2:]]) == DOES_NOT_HOLD
    never = write(tmp_path, MESSAGE_PASSING.replace("forall", "exists not"))
    assert fence_sim.main(["run", never, "--mcpu", "gfx942", "--random", "50"]) == INCOMPLETE
    out = capsys.readouterr().out
    assert out.count("random walks") == 3


def test_the_worst_status_of_several_tests(
    mp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write(tmp_path, MESSAGE_PASSING.replace("r0 = 1", "r0 = 2"))
    assert fence_sim.main(["run", mp, wrong, mp]) == DOES_NOT_HOLD
    assert capsys.readouterr().out.count("Test mp") == 3


def test_json(mp: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", mp, "--json", "--mcpu", "gfx942", "--without", "buffer_inv"]
    assert fence_sim.main(arguments) == DOES_NOT_HOLD
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["verdict"] == "fails"
    assert {"P1:r0": 0, "x": 1, "f": 1} in found["outcomes"]
    assert (found["positive"], found["negative"]) == (1, 1)
    assert found["machine_states"] > 0
    assert found["execution"][-1].split() == ["P1:r0=0", "x=1", "f=1"]


def test_json_errors_are_lines_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = write(tmp_path, "litmus.test @t {\n  litmus.location @x = 0 : i64\n}\n")
    assert fence_sim.main(["run", bad, "--json"]) == USAGE
    captured = capsys.readouterr()
    assert not captured.out
    (line,) = captured.err.splitlines()
    assert json.loads(line) == {
        "severity": "error",
        "file": bad,
        "line": 2,
        "column": 3,
        "message": "a location holds an i32, not i64",
    }


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("a.litmus", "PTX t\n{ x=0; }\n P0@cta 0 ;\nexists (x == 1)\n", ":3:2", "expected 'P0@cta N,gpu N'"),
        ("a.litmus", "PTX t { x=0; }\n P0@cta 0,gpu 0 ;\n frob x ;\nexists (x == 1)", ":3:2", "unknown instruction"),
        ("a.mlir", "litmus.test @t {\n  frob\n}", ":2:3", "operation 'frob' is not registered"),
        ("a.mlir", "func.func @f() {\n  func.return\n}", "", "no litmus.test in the module"),
        ("a.mlir", " \n", "", "the input is empty"),
        ("a.mlir", "litmus.test @t {\n litmus.location @x = 0 : i32\n}\n", ":1:1", "a test needs a thread"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    tmp_path: Path,
    name: str,
    text: str,
    place: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert fence_sim.main(["run", str(path)]) == USAGE
    err = capsys.readouterr().err
    assert err.startswith(f"{path}{place}: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["run", "/no/such.mlir"]) == USAGE
    assert capsys.readouterr().err == "/no/such.mlir: error: No such file or directory\n"


def test_no_traceback_unless_asked(
    mp: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("whoops")

    monkeypatch.setattr(fence_sim, "run", fail)
    assert fence_sim.main(["run", mp]) == 1
    assert capsys.readouterr().err.startswith("fence-sim: error: internal error, please report it")


def test_columns_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["run", str(CORPUS / "MP+rel+acq.litmus")]) == HOLDS
    assert "Test MP+rel+acq (PTX model 7.5)" in capsys.readouterr().out
    assert fence_sim.main(["run", str(CORPUS / "MP.litmus"), "--mcpu", "gfx942"]) == USAGE
    assert "a .litmus test is PTX already" in capsys.readouterr().err


def test_convert_to_scoped_operations_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = CORPUS / "MP+cas-lock.litmus"
    written = str(tmp_path / "lock.mlir")
    assert fence_sim.main(["convert", str(source), "-o", written]) == HOLDS
    assert fence_sim.main(["run", written, "--mcpu", "gfx942"]) == HOLDS
    capsys.readouterr()
    assert fence_sim.main(["convert", written, "--mcpu", "sm_90"]) == HOLDS
    again = parse_litmus(capsys.readouterr().out)
    assert again.condition == read_litmus(source).condition
    assert again.name == "MP+cas-lock"


def test_what_cannot_be_converted(mp: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["convert", mp]) == USAGE
    assert "'mp' is in scoped; columns are for PTX: say --mcpu sm_90" in capsys.readouterr().err
    assert fence_sim.main(["convert", str(CORPUS / "async.load.litmus")]) == USAGE
    assert "scoped operations have no aliases and no mbarriers" in capsys.readouterr().err


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["explain", "gfx942", "load", "acquire", "agent", "--at", "2"]) == HOLDS
    out = capsys.readouterr().out
    assert "-> buffer_inv sc1" in out
    assert "without it" in out
    assert fence_sim.main(["explain", "sm_90", "load", "release", "agent"]) == USAGE
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize("version", ["8", "8.x", "8.6.1"])
def test_a_version_that_is_none(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", "sm_90", "fence", "acquire", "agent", "--ptx-version", version]
    assert fence_sim.main(arguments) == USAGE
    assert f"'{version}' is not a PTX version" in capsys.readouterr().err


def test_columns_need_no_framework() -> None:
    """A PTX test in columns is run without loading xDSL's dialects."""
    script = (
        "import sys\n"
        "from fencewright.tools.fence_sim import main\n"
        f"main(['run', {str(CORPUS / 'MP.litmus')!r}])\n"
        "print([n for n in sys.modules if n.startswith(('xdsl.dialects', 'llvmlite', 'numpy'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")
