"""Findings at the author's lines, comments that ignore them, configuration, and reports for CI."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from fencewright.checker.findings.finding import Level
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import (
    SourceLine,
    SourceLocation,
    files_in,
    places_of,
)
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools import fence_check
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.inputs import object_lines
from fencewright.tools.reports import function_names
from fencewright.tools.reports.author_text import ignores_in
from fencewright.tools.reports.file_report import CodeLine, ReportedFinding, ReportedStep
from fencewright.tools.reports.function_names import in_author_words, parameters_of, texts_of
from fencewright.tools.reports.numba_names import parameters_in, smem_names

ROOT = Path(__file__).parents[2]

WAIT = "ld.relaxed.gpu.global.b32 %r2, [%rd2];"
PTX = f"""\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z1kPiS_(.param .u64 a, .param .u64 b)
{{
 .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<3>;
 .loc 1 2 3
 ld.param.b64 %rd1, [a];
 ld.param.b64 %rd2, [b];
 .loc 1 1 22, function_name $L__info_string0, inlined_at 1 3 12
L: {WAIT}
 setp.eq.u32 %p2, %r2, 0;
 @%p2 bra L;
 .loc 1 2 11
 ld.global.b32 %r3, [%rd1];
 st.global.b32 [%rd1+8], %r3;
 ret;
}}
 .file 1 "q.cu"
"""
SOURCE = "inline bool up() { return flag == 1; }\n  int v = data[1];\n  while (!up()) ;\n"
RULE = "unordered-wait"

RACE = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
 .reg .b64 %rd<4>; .reg .b32 %r<6>;
 .shared .align 4 .b8 tile[256];
 .loc 1 5 1
 mov.u32 %r1, %tid.x;
 shl.b32 %r2, %r1, 2;
 mov.u32 %r3, tile;
 add.u32 %r4, %r3, %r2;
 .loc 1 7 3
 st.shared.b32 [%r4], %r1;
 .loc 1 9 3
 ld.shared.b32 %r5, [tile];
 .loc 1 10 3
 ld.param.b64 %rd1, [a];
 st.global.b32 [%rd1], %r5;
 ret;
}
 .file 1 "q.cu"
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    Path("k.ptx").write_text(PTX)
    Path("q.cu").write_text(SOURCE)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = fence_check.main(["k.ptx", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('\t.file\t1 "a.cu", 1700000000, 12\n', {1: "a.cu"}),
        ('.file 1 "/src" "a.cu"\n.file 2 "/src" "/usr/b.h"', {1: "/src/a.cu", 2: "/usr/b.h"}),
        ('.file "whole.ll"', {}),
        ("ret;", {}),
    ],
)
def test_files_have_numbers(text: str, files: Mapping[int, str]) -> None:
    assert files_in(text) == files


def test_a_chain_of_calls_is_read() -> None:
    """A call that was inlined itself is known by the directive that named it."""
    text = PTX.replace(
        " .loc 1 2 11\n",
        " .loc 1 8 4, function_name $A, inlined_at 1 1 22\n"
        " .loc 1 9 5, function_name $B, inlined_at 1 8 4\n",
    )
    module = read_ptx(text)
    (function,) = module.functions.values()
    load = next(each for each in function.instructions if each.text.startswith("ld.global"))
    places = [(each.line, each.column) for each in places_of(load.source, module.files)]
    assert places == [(9, 5), (8, 4), (1, 22), (3, 12)]


def test_assembly_has_places_too() -> None:
    text = (
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.file 1 "/x" "k.hip"\n'
        "k:\n.loc 1 7 3\ns_endpgm\n"
    )
    module = read_assembly(text)
    (end,) = module.functions["k"].instructions
    assert places_of(end.source, module.files) == (SourceLocation("/x/k.hip", 7, 3),)


IR = """\
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) !dbg !4 {
  %v = load volatile i32, ptr addrspace(1) %p, align 4, !dbg !6
  store volatile i32 %v, ptr addrspace(1) %p, align 4, !dbg !8
  ret void, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "q.cl", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", file: !1, line: 4, type: !3, unit: !0, spFlags: 8)
!5 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !3, unit: !0, spFlags: 8)
!6 = !DILocation(line: 2, column: 10, scope: !5, inlinedAt: !7)
!7 = distinct !DILocation(line: 5, column: 13, scope: !4)
!8 = !DILocation(line: 6, column: 1, scope: !4)
"""


def code_object(llvm_tool: Callable[[str], str], text: str) -> bytes:
    """What llc makes of LLVM IR, its first wait for a load taken out."""
    options = ("-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942")
    llc = [llvm_tool("llc"), *options, "-O2", "-o", "-"]
    done = subprocess.run(llc, input=text, capture_output=True, text=True, check=True)
    bad = done.stdout.replace("s_waitcnt vmcnt(0)", "s_nop 0", 1)
    assembler = [llvm_tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj"]
    made = subprocess.run(assembler, input=bad.encode(), capture_output=True, check=True)
    return made.stdout


def test_a_code_object_has_the_lines_of_its_dwarf(
    files: Path, capsys: pytest.CaptureFixture[str], llvm_tool: Callable[[str], str]
) -> None:
    llvm_tool("llvm-symbolizer")
    Path("k.o").write_bytes(code_object(llvm_tool, IR))
    assert fence_check.main(["k.o"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("/src/q.cl:6:1: error: ")
    assert lines[1].startswith("k.o:")
    assert "global_store_dword" in lines[1]
    assert lines[2].startswith("/src/q.cl:2:10: note: line ")
    listed, files_of = object_lines.lines_of_object(Path("k.o").read_bytes(), range(0, 64, 4))
    chains = {tuple(at.line for at in places_of(each, files_of)) for each in listed.values()}
    assert (2, 5) in chains


def test_an_object_without_lines_has_those_of_its_listing(
    files: Path, capsys: pytest.CaptureFixture[str], llvm_tool: Callable[[str], str]
) -> None:
    text = re.sub(r", !dbg !\d+| !dbg !4", "", IR.partition("!llvm.dbg.cu")[0])
    Path("k.o").write_bytes(code_object(llvm_tool, text))
    assert fence_check.main(["k.o"]) == 1
    assert capsys.readouterr().out.startswith("k.o:")


def test_a_race_has_a_flow_for_each_thread(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two accesses that nothing orders, each is a step of its thread at the author's line."""
    Path("k.ptx").write_text(RACE)
    _, out, _ = check(capsys, "--format", "sarif")
    results = json.loads(out)["runs"][0]["results"]
    result = next(each for each in results if "tile" in each["message"]["text"])
    (flow,) = result["codeFlows"]
    steps = [step for each in flow["threadFlows"] for step in each["locations"]]
    lines = [each["location"]["physicalLocation"]["region"]["startLine"] for each in steps]
    assert (sorted(lines), [each["executionOrder"] for each in steps]) == ([7, 9], [1, 1])
    threads = {each["message"]["text"] for each in flow["threadFlows"]}
    assert len(threads) == 2
    assert all(each.startswith("thread ") for each in threads)


def test_a_race_of_a_launch_has_its_order(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.ptx").write_text(RACE)
    _, out, _ = check(capsys, "--launch", "k<<<1, 64>>>(b8[4096])", "--format", "sarif")
    flows = json.loads(out)["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"]
    steps = [step for each in flows for step in each["locations"]]
    assert [each["executionOrder"] for each in steps] == [1, 2]
    lines = {each["location"]["physicalLocation"]["region"]["startLine"] for each in steps}
    assert lines == {7, 9}


def test_a_finding_is_at_its_source(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capsys)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].startswith("q.cu:1:22: warning: ")
    assert lines[1:3] == [f"    {SOURCE.splitlines()[0]}", f"    {' ' * 21}^"]
    assert lines[3] == "q.cu:3:12: note: inlined here"
    assert lines[4].startswith(f"k.ptx:11:1: note: '{WAIT[:-1]}' in ")
    assert lines[5].startswith("q.cu:2:11: note: line 15 of k.ptx: 'ld.global.b32")


def test_a_source_that_is_not_there_has_a_place_and_no_text(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.cu").unlink()
    _, out, _ = check(capsys)
    assert out.splitlines()[0].startswith("q.cu:1:22: warning: ")
    assert out.splitlines()[1] == "q.cu:3:12: note: inlined here"


def test_a_source_beside_the_code_is_found(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "build").mkdir()
    monkeypatch.chdir(files / "build")
    assert fence_check.main(["../k.ptx"]) == 0
    assert capsys.readouterr().out.startswith("../q.cu:1:22: warning: ")


def test_formats_have_the_source(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = check(capsys, "--format", "json")
    (finding,) = json.loads(out)["files"][0]["findings"]
    assert (finding["file"], finding["line"]) == ("k.ptx", 11)
    assert [each["line"] for each in finding["source"]] == [1, 3]
    _, out, _ = check(capsys, "--format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "q.cu"
    assert place["region"] == {"startLine": 1, "startColumn": 22}
    related = [each["physicalLocation"] for each in result["relatedLocations"]]
    assert related[0]["artifactLocation"]["uri"] == "k.ptx"
    assert related[0]["region"] == {"startLine": 11}


@pytest.mark.parametrize("mark", ["//", ";", "#", "/*"])
def test_a_comment_is_about_its_line_or_the_next(mark: str) -> None:
    end = " */" if mark == "/*" else ""
    comment = f"{mark} fence-check: ignore[{RULE}, proxy-fence] known{end}"
    own_line = ignores_in(f"code\n {comment}\n\n.loc 1 1 1\nmore\n", "x")
    assert list(own_line) == [5]
    (same_line,) = ignores_in(f"code {comment}\n", "x").items()
    assert same_line[0] == 1
    assert same_line[1].rules == {RULE, "proxy-fence"}
    assert same_line[1].reason == "known"


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[unordered-wat] x", "'unordered-wat' is no rule: fence-check --list-rules"),
        (f"ignore[{RULE}]", f"no reason to ignore {RULE}: write it after the bracket"),
        ("ignore", "a comment of fence-check is 'ignore[RULE] reason'"),
        ("off", "a comment of fence-check is 'ignore[RULE] reason'"),
    ],
)
def test_a_comment_that_says_nothing_is_an_error(comment: str, message: str) -> None:
    with pytest.raises(ToolError, match=r"x:2:1: error: ") as caught:
        ignores_in(f"\nld; // fence-check: {comment}\n", "x")
    assert message in str(caught.value)


@pytest.mark.parametrize("in_source", [False, True])
def test_an_ignored_finding_is_counted_and_does_not_fail(
    files: Path, capsys: pytest.CaptureFixture[str], in_source: bool
) -> None:
    comment = f" // fence-check: ignore[{RULE}] the host waits"
    if in_source:
        Path("q.cu").write_text(SOURCE.replace("\n", comment + "\n", 1))
    else:
        Path("k.ptx").write_text(PTX.replace(WAIT, WAIT + comment))
    assert check(capsys, "--fail-on", "warning")[0] == 0
    _, out, err = check(capsys)
    summary, counts = out.splitlines()
    assert summary == "k.ptx: sm_90: kernels k: 0 errors, 0 warnings, 0 notes, 1 ignored"
    assert counts == "0 proved, 0 with a race, 1 not judged (--prove prints why)"
    assert err == ""
    _, out, _ = check(capsys, "--format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "the host waits"}]


def test_a_comment_about_another_rule_ignores_nothing(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment = " // fence-check: ignore[proxy-fence] other"
    Path("k.ptx").write_text(PTX.replace(WAIT, WAIT + comment))
    status, _, err = check(capsys, "--fail-on", "warning")
    assert status == 1
    assert err == (
        "k.ptx:11:1: warning: nothing is found here that 'ignore[proxy-fence]' is about: "
        "remove it\n"
    )


@pytest.mark.parametrize("name", ["pyproject.toml", "fence-check.toml"])
def test_the_nearest_configuration_counts(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    head = "[tool.fence-check]\n" if name == "pyproject.toml" else ""
    Path(name).write_text(f'{head}fail-on = "warning"\n')
    (files / "below").mkdir()
    monkeypatch.chdir(files / "below")
    assert fence_check.main(["../k.ptx"]) == 1
    assert fence_check.main(["../k.ptx", "--isolated"]) == 0
    assert fence_check.main(["../k.ptx", "--fail-on", "error"]) == 0
    (files / "below" / "fence-check.toml").write_text('fail-on = "error"\n')
    assert fence_check.main(["../k.ptx"]) == 0
    assert fence_check.main(["../k.ptx", "--config", f"../{name}"]) == 1


def test_a_configuration_ignores_a_rule_with_a_reason(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("fence-check.toml").write_text(f'[ignore]\n{RULE} = "flags of the host"\n')
    status, out, _ = check(capsys, "--fail-on", "warning")
    assert status == 0
    assert out.splitlines()[0].endswith("1 ignored")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail-on = 3", "fail-on is one of error, warning, note"),
        ("notes = 'yes'", "notes is true or false"),
        ("baseline = 1", "baseline is a path"),
        ("[tool.fence-check]\nfail-on = 3", "fail-on is one of error, warning, note"),
        ("jobs = 2", "there is no option 'jobs': it has baseline, fail-on, ignore"),
        ("ignore = ['x']", "ignore is a table: a reason for each rule"),
        ("ignore.x = 'y'", "'x' is no rule: fence-check --list-rules lists them"),
        (f"ignore.{RULE} = ''", f"no reason to ignore {RULE}: write it as a string"),
        ("notes = ", "not TOML: "),
        ("notes = \n", "not TOML: Invalid value\n"),
    ],
)
def test_a_wrong_configuration_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    Path("fence-check.toml").write_text(text)
    status, out, err = check(capsys)
    assert (status, out) == (2, "")
    place = ":1:9" * message.endswith("\n")
    assert f"fence-check.toml{place}: error: {message}" in err
    assert err.count("\n") == 1


def test_github_has_a_command_for_each_finding(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.ptx").write_text(PTX + "\n")
    _, out, _ = check(capsys, "--format", "github")
    (line,) = out.splitlines()
    assert line.startswith(
        f"::warning file=q.cu,line=1,col=22,title={RULE} in k(int*%2C int*)::line 2 may "
    )
    assert line.endswith("(k.ptx:11)")


def test_github_escapes_what_would_end_a_command(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = "a,b%:.cu"
    Path("k.ptx").write_text(PTX.replace("q.cu", strange))
    _, out, _ = check(capsys, "--format", "github")
    assert out.startswith("::warning file=a%2Cb%25%3A.cu,line=1,")


def test_gitlab_has_what_its_documentation_requires(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = check(capsys, "--format", "gitlab")
    (entry,) = json.loads(out)
    assert entry["check_name"] == RULE
    assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert entry["location"] == {"path": "q.cu", "lines": {"begin": 1}}
    Path("k.ptx").write_text("\n" + PTX)
    _, again, _ = check(capsys, "--format", "gitlab")
    assert json.loads(again)[0]["fingerprint"] == entry["fingerprint"]


@pytest.mark.parametrize(("fail_on", "failures"), [("error", 0), ("warning", 1)])
def test_junit_has_a_case_for_each_function(
    files: Path, capsys: pytest.CaptureFixture[str], fail_on: str, failures: int
) -> None:
    _, out, _ = check(capsys, "--format", "junit", "--fail-on", fail_on)
    (suite,) = ElementTree.fromstring(out)
    assert (suite.get("tests"), suite.get("failures")) == ("1", str(failures))
    (case,) = suite
    assert (case.get("name"), len(case)) == ("_Z1kPiS_", failures)


@pytest.mark.parametrize("format", ["github", "gitlab", "junit"])
def test_what_cannot_be_read_is_in_every_report(
    files: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    Path("k.ptx").write_text("what is this")
    status, out, err = check(capsys, "--format", format)
    assert status == 2
    assert "this is no PTX" in out
    assert "this is no PTX" in err


def test_color_is_for_terminals_and_those_who_require_it(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\033" not in check(capsys)[1]
    assert "\033[1;35mwarning:\033[0m" in check(capsys, "--color", "always")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\033" in check(capsys)[1]
    assert "\033" not in check(capsys, "--color", "never")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in check(capsys)[1]


def test_the_action_runs_its_steps(files: Path) -> None:
    """Each step but the installation, with the inputs that its environment names."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: each.get("default", "") for name, each in action["inputs"].items()}
    inputs |= {"paths": "k.ptx", "arguments": "--fail-on warning", "sarif": "out.sarif"}
    bin_folder = str(Path(__import__("sys").executable).parent)
    statuses: dict[str, int] = {}
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        if step["name"] == "install":
            continue
        names = {
            key: value.removeprefix("${{ inputs.").removesuffix(" }}")
            for key, value in step["env"].items()
        }
        environment = {key: inputs[name] for key, name in names.items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={"PATH": f"{bin_folder}:/usr/bin:/bin"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        statuses[step["name"]] = done.returncode
    assert statuses == {"write SARIF": 0, "check": 1}
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"


def test_the_hook_for_pre_commit_names_a_program_and_its_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "fence-check"
    assert hook["language"] == "python"
    import re

    matched = [n for n in ("a.ptx", "b.s", "c.amdgcn", "d.cu") if re.search(hook["files"], n)]
    assert matched == ["a.ptx", "b.s", "c.amdgcn"]


def test_a_race_that_is_proved_is_at_its_source(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """\
 .shared .align 4 .b8 tile[256];
 .reg .b32 %t<6>;
 mov.u32 %t1, %tid.x; mov.u32 %t2, tile; shl.b32 %t3, %t1, 2; add.u32 %t4, %t2, %t3;
 .loc 1 2 3
 st.shared.u32 [%t4], %t1;
 .loc 1 3 12
 ld.shared.u32 %t5, [tile];
"""
    Path("k.ptx").write_text(PTX.replace(" .loc 1 2 3\n", body, 1))
    status, out, _ = check(capsys, "--prove", "--strict")
    assert status == 1
    assert out.startswith("k.ptx:4: k: race\n")
    assert "q.cu:3:12: error: thread" in out
    assert f"    {SOURCE.splitlines()[2]}\n    {' ' * 11}^\n" in out
    assert (
        "q.cu:2:3: note: thread 0 of block 0 writes the shared variable 'tile': line 11 of k.ptx: 'st.shared.u32 [%t4], %t1'"
        in out
    )


# The author's names

NAMED = """\
__device__ void log_value(int *p);
__global__ void mix(const int *from, int *to, int n = 1, int a[4]) {
  log_value(to);
}
"""


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("the memory of parameter 'mix_param_1' where", "the memory of parameter 'to' where"),
        ("some contents of mix_param_3, which", "some contents of a, which"),
        ("the memory of parameter 'other_param_1'", "the memory of the second parameter"),
        ("writes argument 0[4] at", "writes from[4] at"),
        ("writes argument 7[4] at", "writes argument 7[4] at"),
        ("reads the memory of argument 1 where", "reads the memory of parameter 'to' where"),
        ("reads the memory of argument 8 where", "reads the memory of the 9th parameter where"),
        ("the shared variable '_ZZ3mixPKiPiE4tile'", "the shared variable 'tile'"),
        ("as --launch '_Z3mixPi<<<1, 2>>>()'", "as --launch '_Z3mixPi<<<1, 2>>>()'"),
        ("(line 21, as in)", "(line 3, as in)"),
        ("line 22 of k.ptx", "line 22 of k.ptx"),
        ("line 99 wrote", "line 99 wrote"),
    ],
)
def test_a_message_has_the_names_and_lines_of_the_source(
    message: str, words: str, tmp_path: Path
) -> None:
    source = tmp_path / "q.cu"
    source.write_text(NAMED)
    places = {n: SourceLocation(str(source), 3) for n in (21, 22)}
    places[99] = SourceLocation("away.cu", 3)
    at = SourceLocation(str(source), 9)
    assert in_author_words(message, "mix", at, places.get, [str(source)]) == words
    assert in_author_words("line 21", "mix", None, places.get, []) == "line 21"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("_Z1kPiS_", "k(int*, int*)"),
        ("_ZZ3mixPKiPiE4tile", "mix(int const*, int*)::tile"),
        ("_Znonsense", "_Znonsense"),
        ("_ZZ", "_ZZ"),
        (f"_Z4999{'k' * 4999}v", f"_Z4999{'k' * 4999}v"),
        (f"_Z1k{'P' * 4000}i", f"_Z1k{'P' * 4000}i"),
    ],
)
def test_names_need_no_tool(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C++ library has its own limit of depth, and longer names are not handed to it."""

    def absent(tool: str) -> None:
        """No tool is installed."""

    monkeypatch.setattr(function_names, "which", absent)
    monkeypatch.setattr(function_names, "find_llvm_tool", absent)
    function_names.demangled_all.cache_clear()
    assert function_names.demangled(name) == words


def test_two_kernels_of_one_name_give_no_names(tmp_path: Path) -> None:
    source = tmp_path / "q.cu"
    source.write_text(NAMED + "__global__ void mix(float *x) { }\n")
    assert parameters_of("mix", (str(source),)) == ()
    assert parameters_of("", (str(source),)) == ()
    assert parameters_of("_ZN12_GLOBAL__N_14lessEPi", (str(source),)) == ()


def test_a_macro_that_defines_kernels_names_their_parameters(tmp_path: Path) -> None:
    source = tmp_path / "q.cu"
    source.write_text(
        "#define KERNEL(NAME, TYPE, ADD) __global__ void NAME##_kernel(TYPE *data, TYPE *flag) \\\n"
        "{ ADD; }\n"
        "KERNEL(sum, int, atomicAdd(data, *flag))\n"
        "KERNEL(last, float, )\n"
    )
    for kernel in ("_Z10sum_kernelPiS_", "_Z11last_kernelPfS_"):
        assert parameters_of(kernel, (str(source),)) == ("data", "flag")
    assert parameters_of("other_kernel", (str(source),)) == ()


PYTHON = """\
@cuda.jit
def other(x):
    tile = cuda.shared.array(64, float32)

@cuda.jit
def mix(x, n: int, out=None):
    tile = cuda.shared.array(64, float32)
    more = numba.cuda.shared.array(shape=64, dtype=float32)
    out[0] = tile[0]

def after(): pass
"""
ARRAY = "Array<float, {}, C, mutable, aligned>"


def test_numba_s_parameters_and_shared_arrays_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(PYTHON)
    kernel = f"__main__::mix({ARRAY.format(2)}, int, {ARRAY.format(1)})"
    assert [*parameters_in(PYTHON, kernel)] == [("x",) * 9 + ("n",) + ("out",) * 7]
    assert not [*parameters_in(PYTHON, f"__main__::mix({ARRAY.format(2)})")]
    names = smem_names(["mov.u64 %rd1, _cudapy_smem_12;", "mov.u64 %rd1, _cudapy_smem_9;"])
    assert names == ("_cudapy_smem_9", "_cudapy_smem_12")
    message = "the shared variable '_cudapy_smem_12' where"
    for arrays, words in ((names, "'more'"), (names[1:], "'_cudapy_smem_12'")):
        said = in_author_words(
            message, "mix", None, lambda _: None, [str(tmp_path / "k.py")], arrays=arrays
        )
        assert said == f"the shared variable {words} where"


def test_names_of_kernels_have_no_tags_of_numba() -> None:
    (name,) = function_names.kernel_names(["_ZN8__main__3revB2v1B4cw51E5ArrayIfLi1EE"])
    assert name == "__main__::rev"


def test_a_finding_of_one_of_many_functions_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    museum = Path(__file__).parents[1] / "museum"
    code = (museum / "last-block-unfenced" / "wrong.ptx").read_text()
    mangled = code.replace("last_block_unfenced", "_Z5totalILi8EEvPiS_")
    other = ".visible .entry other() { ret; }\n"
    for text, begin in ((mangled, "thread 1"), (mangled + other, "total<8>: thread 1")):
        (tmp_path / "k.ptx").write_text(text)
        fence_check.main([str(tmp_path / "k.ptx")])
        assert (
            f": error: {begin.replace('thread 1', 'thread 0 of block 1')}"
            in capsys.readouterr().out
        )


def test_triton_s_ir_beside_the_code_names_the_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    museum = Path(__file__).parents[1] / "museum"
    code = (museum / "last-block-unfenced" / "wrong.ptx").read_text()
    (tmp_path / "k.ptx").write_text(code.replace("data", "last_block_unfenced_param_0"))
    fence_check.main([str(tmp_path / "k.ptx")])
    assert "the memory of the first parameter" in capsys.readouterr().out
    (tmp_path / "k.ttir").write_text(
        'tt.func public @last_block_unfenced(%sums: !tt.ptr<i32> loc("sums"(#loc)), '
        "%n: i32 loc(unknown)) attributes {noinline = false} {\n}\n"
    )
    parameters_of.cache_clear()
    texts_of.cache_clear()
    fence_check.main([str(tmp_path / "k.ptx")])
    assert "the memory of parameter 'sums' where" in capsys.readouterr().out
    fence_check.main(["--format", "sarif", str(tmp_path / "k.ptx")])
    assert "thread 0 of block 0 writes the memory of parameter 'sums'" in capsys.readouterr().out


def test_other_places_have_their_threads() -> None:
    source = SourceLocation("k.cu", 3, 1)
    here, there = (CodeLine("k.ptx", line, (source,)) for line in (9, 5))
    step = ReportedStep("thread 0", there, "thread 0 writes it", 1)
    finding = ReportedFinding(
        "missing-barrier", Level.WARNING, "a race", "k", "ld", here, (("st", there),), steps=(step,)
    )
    assert "thread 0 writes it: line 5 of k.ptx: 'st'" in str(finding.lines()[-1])


def test_code_of_a_toolkit_is_at_the_author_s_call() -> None:
    call = SourceLine(1, 7, 3)
    files = {1: "q.cu", 2: "/usr/local/cuda/include/atomic.hpp"}
    assert places_of(SourceLine(2, 112, 3, call), files) == (SourceLocation("q.cu", 7, 3),)
    assert places_of(SourceLine(2, 112, 3), files) == (SourceLocation(files[2], 112, 3),)


def test_other_places_of_one_line_are_one_note() -> None:
    at, other = SourceLocation("q.cu", 9, 3), SourceLocation("q.cu", 7, 3)
    about = tuple((f"st {n}", CodeLine("k.ptx", n, (other,))) for n in (14, 15))
    place = CodeLine("k.ptx", 17, (at,))
    found = ReportedFinding(RULE, Level.ERROR, "late", "k", "ld", place, about)
    assert [str(each) for each in found.lines()][2:] == [
        "q.cu:7:3: note: lines 14, 15 of k.ptx: 'st 14'"
    ]
