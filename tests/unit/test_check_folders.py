"""fence-check on folders, its formats, and what is known of before."""

import json
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from test_campaign import cluster

from fencewright.tools import fence_check
from fencewright.tools.commands import check_files, check_folders
from fencewright.tools.inputs.caches import CACHES, CacheRow

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "lit" / "tools" / "fence-check"
SUBSET = ROOT / "tests" / "data" / "sarif" / "sarif-2.1.0-subset.json"

GOOD = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.type\tk,@function
k:
\tglobal_load_dword v1, v[2:3], off
\ts_waitcnt vmcnt(0)
\tv_mov_b32_e32 v2, v1
\ts_endpgm
"""
BAD = GOOD.replace("vmcnt", "lgkmcnt")
PTX = ".version 8.6\n.target sm_90\n.address_size 64\n.entry p() { bar.sync 0; ret; }\n"

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Check:
    """Runs fence-check in a folder of its own; status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = fence_check.main(arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def write(folder: Path, **files: str) -> None:
    """Files by their names, with ``_`` for the dot."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_all_that_can_be_checked_is_in_one_table(check: Check, tmp_path: Path) -> None:
    write(
        tmp_path / "d", a_s=BAD, c_ptx=PTX, host_s="\tmovl $1, %eax\n", k_txt="text", x_o="\x7fELF"
    )
    write(tmp_path / "d" / "sub", b_amdgcn=GOOD, b_hsaco="not read")
    status, out, err = check("d")
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "d/a.s:6:1: error: v1 is used while the load of line 4 that writes it is in flight: "
        "s_waitcnt vmcnt(0) is missing [hazard-raw]",
        "kernel  chip    verdict     errors  warnings  surplus  cost  file",
        "k       gfx942  not judged       1         0        1     2  d/a.s",
        "p       sm_90   race-free        0         0        1    15  d/c.ptx",
        "3 files: 1 error, 0 warnings, 2 notes; 2 surplus; 1 object left to the assembly beside; "
        "3 other files skipped; 1 proved, 0 with a race, 2 not judged",
    ]


def test_processes_find_what_one_does(check: Check) -> None:
    assert check(str(SAMPLES), "-j", "2") == check(str(SAMPLES), "-j", "1")


@pytest.mark.parametrize(
    ("name", "content", "said", "status"),
    [
        ("k.amdgcn", "", "d/k.amdgcn: error: the input is empty", 2),
        ("k.amdgcn", GOOD[:-5], "the file is cut short: its last line has no end", 2),
        ("k.hsaco", "\x7fELF", "d/k.hsaco:1:1: error: not a whole 64-bit ELF file", 2),
        ("k.ptx", GOOD, "d/k.ptx: error: AMD assembly, not PTX", 2),
        ("k.txt", GOOD, "d: error: there is no AMD assembly, code object or PTX in it", 2),
        ("k.s", GOOD.replace("s_waitcnt", "x_frob"), "", 3),
    ],
)
def test_what_cannot_be_read_is_never_silent(
    check: Check, tmp_path: Path, name: str, content: str, said: str, status: int
) -> None:
    write(tmp_path / "d")
    (tmp_path / "d" / name).write_text(content)
    returned, out, err = check("d")
    assert returned == status
    assert said in err
    assert err.count("\n") == bool(said)
    assert "Traceback" not in err + out


def test_a_fault_of_ours_leaves_the_other_files(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "d", a_s=GOOD, b_s=GOOD)
    report_on = check_folders.report_on

    def fails(path: str, *rest: Any) -> Any:
        if path.endswith("a.s"):
            raise KeyError("here")
        return report_on(path, *rest)

    monkeypatch.setattr(check_folders, "report_on", fails)
    status, out, err = check("d")
    assert status == 3
    assert err.startswith("d/a.s: error: internal error, please report it")
    assert err.endswith(": KeyError: 'here'\n")
    assert err.count("\n") == 1
    assert "; 1 not read;" in out


def test_a_fault_of_ours_leaves_the_other_named_files(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_s=GOOD, b_s=GOOD)
    report_on = check_files.report_on

    def fails(path: str, *rest: Any) -> Any:
        if path.endswith("a.s"):
            raise KeyError("here")
        return report_on(path, *rest)

    monkeypatch.setattr(fence_check, "report_on", fails)
    status, out, err = check("a.s", "b.s")
    assert status == 3
    assert err.startswith("a.s: error: internal error, please report it")
    assert out.startswith("b.s: ")


NOT_UTF8 = os.fsdecode(b"\xff.s")
UNREAD_NOT_UTF8 = os.fsdecode(b"\xfe.ptx")


@pytest.mark.parametrize("output", [(), ("-o", "report")])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_name_that_is_not_utf8_loses_no_report(
    output: tuple[str, ...], jobs: str, check: Check, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    write(folder, b_s=BAD)
    (folder / NOT_UTF8).write_text(BAD)
    (folder / UNREAD_NOT_UTF8).write_text("")

    def report(form: str) -> str:
        status, out, err = check("d", "--format", form, "--jobs", jobs, *output)
        assert (status, err) == (1, "d/\\xfe.ptx: error: the input is empty\n")
        return (tmp_path / "report").read_text() if output else out

    text = report("text")
    assert "d/\\xff.s:4:1: error:" in text or "d/\\xff.s:6:1: error:" in text
    assert "d/b.s" in text
    document = json.loads(report("sarif"))
    assert valid(document) == []
    results = document["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    assert {each["artifactLocation"]["uri"] for each in places} == {"d/%FF.s", "d/b.s"}
    paths = [each["path"] for each in json.loads(report("json"))["files"]]
    assert sorted(paths) == ["d/\\xfe.ptx", "d/\\xff.s", "d/b.s"]
    assert json.dumps(document, ensure_ascii=False).encode()


def test_a_link_to_a_folder_is_read_once(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "other", a_s=BAD)
    write(tmp_path / "d", b_s=GOOD)
    (tmp_path / "d" / "link").symlink_to("../other")
    (tmp_path / "d" / "again").symlink_to(tmp_path / "other")
    (tmp_path / "other" / "loop").symlink_to("../d")
    status, out, _ = check("d")
    assert status == 1
    assert out.count("[hazard-raw]") == 1
    assert "2 files:" in out


def test_a_target_after_a_long_comment_is_found(check: Check, tmp_path: Path) -> None:
    comment = "; a line of a comment\n" * 4000
    write(tmp_path / "d", a_s=comment + BAD, b_s="// x\n" * 20000 + PTX)
    status, out, _ = check("d")
    assert status == 1
    assert "2 files:" in out
    # What begins as no text does is not read to its end.
    (tmp_path / "d" / "c.s").write_bytes(b"\0" * 100_000 + BAD.encode())
    assert "1 other file skipped" in check("d")[1]


def test_a_folder_that_cannot_be_opened_is_said(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "d", a_s=GOOD)

    def walk(top: str, onerror: Callable[[OSError], None], followlinks: bool) -> Iterator[Any]:
        yield top, [], ["a.s"]
        onerror(PermissionError(13, "Permission denied", f"{top}/no"))

    monkeypatch.setattr(check_folders.os, "walk", walk)
    status, out, err = check("d")
    assert (status, err) == (2, "d/no: error: Permission denied\n")
    assert "; 1 not read;" in out


def test_a_pipe_is_not_read_and_a_link_to_nowhere_is_said(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_s=GOOD)
    os.mkfifo(tmp_path / "d" / "pipe.ptx")
    (tmp_path / "d" / "gone.ptx").symlink_to("nowhere")
    (tmp_path / "d" / "gone.s").symlink_to("nowhere")
    status, out, err = check("d")
    assert (status, err.splitlines()) == (
        2,
        [f"d/gone.{each}: error: No such file or directory" for each in ("ptx", "s")],
    )
    assert "; 2 not read; 1 other file skipped" in out


def test_an_interrupt_ends_it_in_one_line(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "d", a_s=GOOD)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_folders, "report_on", interrupted)
    assert check("d") == (3, "", "fence-check: error: interrupted\n")


@pytest.mark.parametrize("arguments", [(), ("--format", "json"), ("--write-baseline", "known")])
def test_an_interrupt_keeps_what_is_done(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    write(tmp_path / "d", a_s=GOOD, b_s=GOOD, c_s=GOOD)

    def interrupted(path: str, given: Any) -> Any:
        if "b" in Path(path).name:
            raise KeyboardInterrupt
        return check_files.report_on(path, given)

    monkeypatch.setattr(check_folders, "report_on", interrupted)
    status, out, err = check("d", *arguments)
    assert (status, err) == (3, "fence-check: error: interrupted\n")
    assert not (tmp_path / "known").exists()
    if arguments:
        assert out == ""
        return
    assert out.splitlines()[-2].startswith("1 file: ")
    assert out.splitlines()[-1] == "2 files not checked: interrupted"


SOURCE = """\
target triple = "amdgcn-amd-amdhsa"
define void @k(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") monotonic, align 4
  ret void
}
"""


@pytest.mark.parametrize(
    ("source", "status", "said"),
    [
        (SOURCE, 1, "is coherent at workgroup only, not at agent"),
        (SOURCE, 1, "; 1 of 1 functions compared with their source; "),
        (SOURCE.replace("@k", "@other"), 3, "no function of the source is in the code"),
        ("nothing", 3, "k.amdgcn is not compared with its source: "),
    ],
)
def test_the_source_beside_is_taken(
    check: Check, tmp_path: Path, source: str, status: int, said: str
) -> None:
    write(tmp_path / "d", k_amdgcn=GOOD, k_llir=source)
    returned, out, err = check("d")
    assert (returned, err) == (status, "")
    assert said in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--run", "llc", "d"), "--run is for files, not for a folder"),
        (("--cluster", "local", "d/a.s"), "--cluster is for folders"),
        (("--source", "k.ll", "d"), "--source is for files, not for a folder"),
        (("--to", "scoped", "d"), "--to is for files, not for a folder"),
        (("--to", "scoped", "--format", "json", "d/a.s"), "--format has no effect"),
        (("--lift", "--format", "sarif", "d"), "--lift is for text and json, not for sarif"),
        (("--cost", "--format", "junit", "d/a.s"), "--cost is for text and json, not for junit"),
        (("--cost", "d"), "--cost is for files, not for a folder"),
        (("--compile", "nvcc", "-"), "--compile is for files, not for stdin"),
        (("--baseline", "none.json", "d"), "none.json: error: No such file or directory"),
        (("--baseline", "d/a.s", "d"), "d/a.s: error: not a baseline: "),
    ],
)
def test_what_does_not_go_together(
    check: Check, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    write(tmp_path / "d", a_s=GOOD)
    status, out, err = check(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


# Formats


def test_json_has_all_that_text_has(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_s=BAD, b_s="\t.amdgcn_target", c_ptx=PTX)
    status, out, _ = check("d", "--format", "json", "--lift")
    document = json.loads(out)
    assert (status, document["status"], document["skipped"]) == (1, 1, 0)
    bad, cut, ptx = document["files"]
    assert (bad["chip"], bad["functions"]) == (
        "gfx942",
        [{"name": "k", "kernel": False, "errors": 1, "warnings": 0, "notes": 1, "known": 0,
          "ignored": 0, "surplus": 1, "cost": 2, "verdict": "not judged", "line": 4, "by": [],
          "assumptions": [], "condition": None,
          "obstacle": {"line": 4,
                       "reason": "no kernel descriptor says what its registers begin with"}}],
    )  # fmt: skip
    assert document["counts"] == {"proved": 1, "found": 0, "notJudged": 1}
    assert bad["findings"] == [
        {
            "rule": "hazard-raw",
            "level": "error",
            "message": "v1 is used while the load of line 4 that writes it is in flight: "
            "s_waitcnt vmcnt(0) is missing",
            "function": "k",
            "instruction": "v_mov_b32_e32 v2, v1",
            "file": "d/a.s",
            "line": 6,
            "source": [],
            "about": [
                {
                    "what": "global_load_dword v1, v[2:3], off",
                    "file": "d/a.s",
                    "line": 4,
                    "source": [],
                }
            ],
            "cost": None,
            "known": False,
            "executed": None,
            "ignored": None,
        }
    ]
    assert cut["findings"] == []
    assert cut["problems"][0]["file"] == "d/b.s"
    assert ptx["provided"] == [{"line": 4, "text": "bar.sync 0 -> bar.sync acq_rel workgroup"}]


def valid(document: object) -> list[str]:
    """What is wrong with a document, by the schema."""
    jsonschema: Any = import_module("jsonschema")
    schema = json.loads(SUBSET.read_text())
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    return [each.message for each in validator.iter_errors(document)]


def test_sarif_is_what_its_schema_says(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", cut_amdgcn="")
    status, out, _ = check("d", str(SAMPLES), "--format", "sarif", "--surplus")
    document = json.loads(out)
    assert (status, valid(document)) == (1, [])
    (run,) = document["runs"]
    found = run["results"]
    by_rule = {each["ruleId"] for each in found}
    assert {"hazard-raw", "cumulative", "proxy-fence", "surplus-wait", "surplus-fence"} <= by_rule
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in found)
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in found]
    assert len(set(prints)) == len(prints)
    (problem,) = run["invocations"][0]["toolExecutionNotifications"]
    assert problem["message"]["text"] == "the input is empty"
    place = problem["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "d/cut.amdgcn"


def test_sarif_shows_the_steps_of_a_counterexample(check: Check) -> None:
    """The outcome on the machine: each wave's steps, those of the code at the author's lines."""
    exhibit = Path(__file__).parents[1] / "museum" / "lost-write-back-wait"
    asked = [str(exhibit / "wrong.s"), "--source", str(exhibit / "source.ll")]
    document = json.loads(check(*asked, "--format", "sarif")[1])
    assert valid(document) == []
    (found,) = document["runs"][0]["results"]
    (flow,) = found["codeFlows"]
    assert flow["message"]["text"].startswith("on the machine, two waves end with ")
    assert [each["message"]["text"] for each in flow["threadFlows"]] == [
        "P0", "P1, a partner that is not in the code",
    ]  # fmt: skip
    own, partner = (
        [(each["executionOrder"], each["location"]) for each in wave["locations"]]
        for wave in flow["threadFlows"]
    )
    lines = [
        (each["physicalLocation"]["artifactLocation"]["uri"],
         each["physicalLocation"]["region"]["startLine"])
        for _, each in own
    ]  # fmt: skip
    assert lines[0] == ("file:///k.hip", 1)
    assert ("file:///k.hip", 4) in lines
    said = {each["message"]["text"]: order for order, each in (*own, *partner)}
    seen, late = (
        next(order for text, order in said.items() if all(word in text for word in words))
        for words in (("global_load", "flag", "reads 1"), ("buffer_wbl2", "done for data"))
    )
    assert seen < late


@pytest.mark.parametrize(
    "change",
    [{"ruleId": ""}, {"level": "fatal"}, {"locations": []}, {"message": {}}, {"column": 1}],
)
def test_what_is_no_sarif_is_noticed(check: Check, change: dict[str, Any]) -> None:
    document = json.loads(check(str(SAMPLES / "hazards.s"), "--format", "sarif")[1])
    assert valid(document) == []
    document["runs"][0]["results"][0] |= change
    assert len(valid(document)) == 1


def test_sarif_leads_to_the_source_and_the_late_access(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", k_amdgcn=GOOD, k_llir=SOURCE)
    _, out, _ = check("d", "--format", "sarif")
    (found,) = json.loads(out)["runs"][0]["results"]
    places = {
        each["message"]["text"]: (
            each["physicalLocation"]["artifactLocation"]["uri"],
            each["physicalLocation"]["region"]["startLine"],
        )
        for each in found["relatedLocations"]
    }
    assert places["the source"] == ("d/k.llir", 3)
    assert places["global_load_dword v1, v[2:3], off"] == ("d/k.amdgcn", 4)


def test_what_is_written_appears_whole_or_not_at_all(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_s=BAD)
    expected = check("d")[1]
    assert check("d", "-o", "found.txt") == (1, "", "")
    assert (tmp_path / "found.txt").read_text() == expected
    status, _, err = check("d", "-o", "no/found.txt")
    assert (status, err) == (2, "no/found.txt: error: there is no folder 'no' to write it in\n")


# What is known


def test_what_is_known_does_not_fail_and_what_is_new_does(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_s=BAD)
    status, _, err = check("d", "--write-baseline", "known.json")
    assert (status, err) == (0, "known.json: 1 known finding\n")
    status, out, _ = check("d", "--baseline", "known.json")
    assert (status, "hazard-raw" in out, "1 known" in out) == (0, False, True)
    # Other lines, another folder to call from, and a name that leads there differently.
    (tmp_path / "d" / "a.s").write_text("\n; a comment\n" + BAD)
    assert check(str(tmp_path / "d" / "a.s"), "--baseline", "known.json")[0] == 0
    # One more of the same, which is not known.
    again = BAD.replace("\tv_mov", "\tglobal_load_dword v1, v[2:3], off\n\tv_mov")
    twice = BAD + again.replace("k:", "k2:").partition("\n")[2].replace("\tk,", "\tk2,")
    (tmp_path / "d" / "a.s").write_text(twice)
    status, out, _ = check("d", "--baseline", "known.json")
    assert (status, out.count("[hazard-raw]")) == (1, 1)
    (tmp_path / "d" / "a.s").write_text(GOOD)
    status, out, _ = check("d", "--baseline", "known.json")
    assert (status, "1 of the baseline found no more" in out) == (0, True)


def test_as_many_are_known_as_the_baseline_has(check: Check, tmp_path: Path) -> None:
    use = "\tglobal_load_dword v1, v[2:3], off\n\tv_mov_b32_e32 v2, v1\n\ts_waitcnt vmcnt(0)\n"
    text = GOOD.replace("\ts_endpgm", use + "\ts_endpgm")
    write(tmp_path / "d", a_s=text)
    check("d", "--write-baseline", "known.json")
    assert check("d", "--baseline", "known.json")[0] == 0
    (tmp_path / "d" / "a.s").write_text(text.replace(use, use + use))
    status, out, _ = check("d", "--baseline", "known.json")
    assert (status, out.count("[hazard-raw]")) == (1, 1)


def test_what_was_not_read_is_never_known(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_amdgcn=BAD, b_s=BAD)
    assert check("d", "--write-baseline", "known.json")[0] == 0
    before = (tmp_path / "known.json").read_text()
    (tmp_path / "d" / "a.amdgcn").write_text("")
    status, _, err = check("d", "--write-baseline", "known.json")
    assert status == 2
    assert "known.json: error: not written: 1 input could not be read\n" in err
    assert (tmp_path / "known.json").read_text() == before
    assert check("d", "--baseline", "known.json")[0] == 2


def test_what_was_not_judged_is_never_known(check: Check, tmp_path: Path) -> None:
    unknown = GOOD.replace("\ts_endpgm", "\tv_nonsense_b32 v9, v9\n\ts_endpgm")
    write(tmp_path / "d", a_s=unknown)
    assert check("d", "--write-baseline", "known.json")[0] == 3
    status, out, _ = check("d", "--baseline", "known.json")
    assert (status, out.count("v_nonsense_b32")) == (3, 1)
    # Nor by an older baseline that has it.
    _, out, _ = check("d", "--format", "json")
    (found,) = json.loads(out)["files"][0]["findings"]
    entry = {each: found[each] for each in ("file", "function", "rule", "instruction")} | {
        "count": 1
    }
    known = {"format": "fence-check-baseline", "version": 1, "findings": [entry]}
    (tmp_path / "known.json").write_text(json.dumps(known))
    assert check("d", "--baseline", "known.json")[0] == 3


def test_what_is_known_is_marked_in_the_formats(check: Check, tmp_path: Path) -> None:
    write(tmp_path / "d", a_s=BAD)
    check("d", "--write-baseline", "known.json")
    _, out, _ = check("d", "--baseline", "known.json", "--format", "sarif")
    document = json.loads(out)
    assert valid(document) == []
    assert document["runs"][0]["results"][0]["baselineState"] == "unchanged"
    _, out, _ = check("d", "--baseline", "known.json", "--format", "json")
    assert json.loads(out)["files"][0]["findings"][0]["known"] is True


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"format": "fence-check-baseline", "version": 2, "findings": []}',
        '{"format": "fence-check-baseline", "version": 1, "findings": [{"file": "a"}]}',
        '{"format": "fence-check-baseline", "version": 1, "findings": [1]}',
        '{"format": "fence-check-baseline", "version": 1, "findings": 1}',
        *(
            '{"format": "fence-check-baseline", "version": 1, "findings": [{"file": "a", '
            f'"function": "", "rule": "", "instruction": "", "count": {count}}}]}}'
            for count in ("Infinity", "-Infinity", "NaN", "1.5", '"2"', "true", "null", "-1", "0")
        ),
        "{",
    ],
)
def test_what_is_no_baseline_is_refused(check: Check, tmp_path: Path, content: str) -> None:
    write(tmp_path / "d", a_s=GOOD)
    (tmp_path / "known.json").write_text(content)
    status, out, err = check("d", "--baseline", "known.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("known.json: error: ")


def test_a_folder_is_checked_by_a_cluster(check: Check, tmp_path: Path) -> None:
    """Its workers run elsewhere, and find the files by the names that were given."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    write(tmp_path / "d", a_s=GOOD, b_s=BAD, c_ptx="define")
    alone = check("d")
    elsewhere = tmp_path / "cluster"
    elsewhere.mkdir()
    with cluster(elsewhere) as (address, _):
        assert check("d", "--cluster", address) == alone
    assert alone[0] == 1
    assert "hazard-raw" in alone[1]
    assert "c.ptx" in alone[2]


# Caches of compilers


@pytest.mark.parametrize("row", CACHES, ids=lambda row: row.name)
def test_a_cache_is_where_its_variable_says(row: CacheRow, tmp_path: Path) -> None:
    assert row.folder({row.variable: str(tmp_path)}) == os.path.join(tmp_path, row.below).rstrip(
        "/"
    )
    assert row.folder({row.variable: f"{tmp_path}:/other"}).startswith(str(tmp_path))
    assert not {"~", "{"} & set(row.folder({}))


def test_a_cache_of_triton_and_one_of_warp_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files named as the caches name them; Warp's PTX ends in a null."""
    for name, end in (("QFO/k.ptx", ""), ("wp_m_1/wp_m_1.sm90.ptx", "\0")):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(f".version 8.0\n.target sm_90\n.entry k()\n{{\n ret;\n}}\n{end}")
    (tmp_path / "QFO" / "k.json").write_text("{}")
    assert fence_check.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 files: 0 errors")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("90a/cached_ops/m/m.so", "FlashInfer: nvcc left the PTX inside: cuobjdump -xptx all FILE"),
        ("cache/kernel.f.0a/kernel.cubin", "DeepGEMM: set DG_JIT_DUMP_PTX=1"),
        ("wp_m_1/wp_m_1.sm90.cubin", 'Warp: set warp.config.cuda_output = "ptx"'),
        ("cutlass_k.sm_90a.cubin", "CuTe DSL: set CUTE_DSL_KEEP_PTX=1"),
    ],
)
def test_a_cache_without_readable_code_says_how_to_get_some(
    name: str, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF")
    assert fence_check.main([str(tmp_path)]) == 2
    assert way in capsys.readouterr().err


def test_a_folder_that_is_no_cache_has_no_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("")
    assert fence_check.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("there is no AMD assembly, code object or PTX in it\n")


def test_caches_are_listed_and_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert fence_check.main(["--list-caches"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Triton: {tmp_path} ($TRITON_CACHE_DIR): *.ptx, *.amdgcn; ")
    page = (ROOT / "docs" / "checker.md").read_text()
    for row, line in zip(CACHES, lines, strict=True):
        assert line.startswith(f"{row.name}: ")
        assert f"| {row.name} | `{row.variable}` |" in page
        assert f"| {row.evidence} |" in page
