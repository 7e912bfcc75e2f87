"""The command fence-check: what it reads, refuses, prints and returns."""

import subprocess
import sys
from pathlib import Path

import pytest

from fencewright.tools import fence_check
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import inputs

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
UNKNOWN = GOOD.replace("s_waitcnt", "x_frobnicate")


def run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | bytes, *options: str
) -> tuple[int, str, str]:
    """Status, stdout and stderr, with the file's path left out."""
    path = tmp_path / "k.s"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    status = fence_check.main([*options, str(path)])
    out, err = capsys.readouterr()
    return status, out.replace(str(path), "k.s"), err.replace(str(path), "k.s")


@pytest.mark.parametrize(
    ("text", "options", "status", "counts"),
    [
        (GOOD, (), 0, "0 errors, 0 warnings, 0 notes"),
        (BAD, (), 1, "1 error, 0 warnings, 1 note (with --surplus)"),
        (GOOD.replace("v2, v1", "v2, v3") + "", (), 0, "0 errors, 0 warnings, 0 notes"),
        (GOOD.replace("\tv_mov", "\ts_waitcnt vmcnt(0)\n\tv_mov"), (), 0,
            "0 errors, 0 warnings, 1 note (with --surplus)"),
        (GOOD.replace("\tv_mov", "\ts_waitcnt vmcnt(0)\n\tv_mov"), ("--fail-on", "note"), 1,
            "0 errors, 0 warnings, 1 note"),
        (UNKNOWN, (), 3, "0 errors, 1 warning, 0 notes"),
    ],
)  # fmt: skip
def test_statuses(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    text: str,
    options: tuple[str, ...],
    status: int,
    counts: str,
) -> None:
    returned, out, err = run(capsys, tmp_path, text, *options)
    assert (returned, err) == (status, "")
    *_, last, verdicts = out.splitlines()
    assert last == f"k.s: gfx942: functions k: {counts}"
    assert verdicts == "0 proved, 0 with a race, 1 not judged (--prove prints why)"


EMPTY = "\t.type\te,@function\ne:\n.Lfunc_end1:\n"


def test_an_unknown_level_lists_the_levels(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_check.main(["k.s", "--fail-on", "nothing"]) == 2
    assert "expected error, warning, note, found 'nothing'" in capsys.readouterr().err


def test_an_empty_function_has_nothing_in_scoped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kernel = GOOD.replace("\tv_mov", ".Lend:\n\t.size k, .Lend-k\n\tv_mov")
    status, out, err = run(capsys, tmp_path, kernel + EMPTY, "--to", "scoped")
    assert (status, err) == (
        3,
        "k.s:1:1: error: e cannot be said in 'scoped': it has no instructions\n",
    )
    assert "func.func @k" in out
    alone = GOOD.partition("\t.type")[0] + EMPTY
    status, out, err = run(capsys, tmp_path, alone, "--to", "scoped")
    assert (status, out) == (2, "")
    assert err == "k.s:1:1: error: there is no function with instructions in it\n"


def elf(machine: int = 224, flags: int = 0x54C, kind: int = 2) -> bytes:
    head = b"\x7fELF" + bytes([kind]) + bytes(13) + machine.to_bytes(2, "little")
    return head + bytes(28) + flags.to_bytes(4, "little") + bytes(12)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (" \n", "k.s: error: the input is empty"),
        (b"\xff\xfe\n", "k.s:1:1: error: not UTF-8 text: byte 0xff"),
        (GOOD.replace("s_endpgm", "\0"), "k.s:7:2: error: not UTF-8 text: byte 0x00"),
        ("define void @f() {\n", "k.s: error: LLVM IR, not AMD assembly"),
        (".version 8.0\n.target sm_90\n", "k.s:1:1: error: there is no function with instructions"),
        ("\t/*0000*/ MOV R1, c[0x0][0x28] ;\n", "k.s: error: machine code of NVIDIA's GPUs (SASS)"),
        ("BC\xc0\xde".encode("latin-1"), "k.s: error: LLVM bitcode, not AMD assembly"),
        (
            "\tmovl $1, %eax\n",
            "k.s:1:1: error: no .amdgcn_target line names the chip: give the output of a compiler for AMD GPUs, or "
            'add .amdgcn_target "amdgcn-amd-amdhsa--gfx942"',
        ),
        (GOOD.replace("gfx942", "gfx1310"), "k.s:1:1: error: gfx1310 is not known; known are"),
        (GOOD + GOOD.replace("gfx942", "gfx90a"), "k.s:8:1: error: the assembly is for gfx942 and"),
        (GOOD[:-12], "k.s:6:1: error: the file is cut short: its last line has no end"),
        (GOOD + "\t.amdhsa_kernel k\n", "k.s:8:1: error: the file is cut short: '.amdhsa_kernel'"),
        (GOOD.replace("\ts_endpgm\n", ""), "k.s:6:1: error: the function goes on after its end"),
        (GOOD[: GOOD.index("\t.type")], "k.s:1:1: error: there is no function with instructions"),
        (
            GOOD.replace("v1,", "v[vgprA+1],"),
            "k.s:4:1: error: 'global_load_dword v[vgprA+1]' is for the assembler",
        ),
        (elf()[:20], "k.s:1:1: error: not a whole 64-bit ELF file"),
        (
            elf(machine=62),
            "k.s:1:1: error: an object for another machine than AMD's GPUs: take the GPU's code out of "
            "it: cuobjdump -xptx all FILE, or llvm-objdump --offloading FILE",
        ),
        (elf(flags=0x2C), "k.s:1:1: error: a code object for a chip that is none of gfx908"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | bytes, line: str
) -> None:
    status, out, err = run(capsys, tmp_path, content)
    assert (status, out) == (2, "")
    assert err.startswith(line)
    assert err.count("\n") == 1


PTX = ".version 8.6\n.target sm_90\n.address_size 64\n.entry k() { bar.sync 0; ret; }\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("define void @f() {\n", "k.ptx: error: LLVM IR, not PTX"),
        (
            "\t/*0000*/ MOV R1, c[0x0][0x28] ;\n",
            "k.ptx: error: machine code of NVIDIA's GPUs (SASS)",
        ),
        (GOOD, "k.ptx: error: AMD assembly, not PTX"),
        ("BC\xc0\xde".encode("latin-1"), "k.ptx: error: LLVM bitcode, not PTX"),
        (elf(), "k.ptx: error: an object file, not PTX"),
        (b"\x00\xff\n", "k.ptx:1:2: error: not UTF-8 text: byte 0xff"),
        (PTX.encode("utf-16-le"), "k.ptx:1:2: error: not UTF-8 text: byte 0x00; save it as UTF-8"),
        ("", "k.ptx: error: the input is empty"),
        (PTX.replace("90", "999"), "k.ptx:2:1: error: there is no chip sm_999; known are sm_10, "),
        (PTX[:-3], "k.ptx:4:1: error: the file is cut short: 'k' has no end"),
        (PTX.replace("sm_90", "gfx942"), "k.ptx:2:1: error: '.target gfx942' names no chip of"),
        ("Mary had a lamb\n", "k.ptx:1:1: error: expected '.version', found 'Mary had a lamb'"),
        (b" " * ((1 << 26) + 1), "k.ptx: error: is larger than 64 MiB"),
    ],
)
def test_what_is_no_ptx_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | bytes, line: str
) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    status = fence_check.main([str(path)])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.replace(str(path), "k.ptx").startswith(line)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "options", "status", "last"),
    [
        (PTX, (), 0, "k.s: sm_90: kernels k: 0 errors, 0 warnings, 1 note (with --surplus)"),
        (PTX.replace(".entry k", ".func k"), (), 0,
            "k.s: sm_90: functions k: 0 errors, 0 warnings, 0 notes"),
        (PTX.replace("bar.sync 0", "x.y"), (), 3,
            "k.s: sm_90: kernels k: 0 errors, 1 warning, 0 notes"),
        (PTX.replace("bar", "fence.proxy.async; bar"), ("--fail-on", "note"), 1,
            "k.s: sm_90: kernels k: 0 errors, 0 warnings, 2 notes"),
    ],
)  # fmt: skip
def test_ptx(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    text: str,
    options: tuple[str, ...],
    status: int,
    last: str,
) -> None:
    returned, out, err = run(capsys, tmp_path, text, *options)
    *_, summary, verdicts = out.splitlines()
    assert (returned, err, summary) == (status, "", last)
    assert " not judged" in verdicts


def test_ptx_lifted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, tmp_path, PTX, "--lift")
    assert (status, out.splitlines()[0]) == (0, "k.s:4: bar.sync 0 -> bar.sync acq_rel workgroup")


def test_what_is_surplus_in_ptx(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    twice = PTX.replace("bar.sync 0;", "membar.gl; membar.gl;")
    status, out, _ = run(capsys, tmp_path, twice, "--surplus")
    assert (status, out.count("[surplus-fence]")) == (0, 1)
    assert "[surplus-fence]" not in run(capsys, tmp_path, twice)[1]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (("--counterexamples", "found"), "--counterexamples"),
        (("--l2-per-agent", "one"), "--l2-per-agent"),
    ],
)
def test_what_ptx_does_not_take(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...], option: str
) -> None:
    status, out, err = run(capsys, tmp_path, PTX, *options)
    assert (status, out, err) == (2, "", f"k.s: error: {option} is not for PTX\n")


def test_a_file_that_cannot_be_read_leaves_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(capsys, tmp_path, BAD, str(tmp_path / "none.s"))
    assert status == 1
    assert "hazard-raw" in out
    assert err.endswith("none.s: error: No such file or directory\n")


@pytest.mark.skipif(find_llvm_tool("llvm-objdump") is None, reason=LLVM_HINT)
def test_a_code_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assembler = find_llvm_tool("llvm-mc")
    assert assembler is not None
    options = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj")
    done = subprocess.run(
        [assembler, *options], input=BAD.encode(), capture_output=True, check=True
    )
    status, out, err = run(capsys, tmp_path, done.stdout)
    assert (status, err) == (1, "")
    assert "v1 is used while the load of line" in out
    assert "k.s: gfx942: functions k: 1 error, 0 warnings, 1 note (with --surplus)\n" in out


BY_HAND = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.text
\t.globl k
\t.type\tk,@function
\t.type\tm,@function
k:
start:
\tglobal_load_dword v1, v[2:3], off
\ts_getpc_b64 s[4:5]
\ts_add_i32 s6, away, 4
\ts_add_u32 s4, s4, s6
\ts_addc_u32 s5, s5, 0
\ts_setpc_b64 s[4:5]
between:
\ts_endpgm
away:
\ts_waitcnt vmcnt(0)
\tv_mov_b32_e32 v2, v1
\ts_endpgm
m:
\ts_endpgm
"""


@pytest.mark.skipif(find_llvm_tool("llvm-objdump") is None, reason=LLVM_HINT)
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (BY_HAND, 0, "functions k, m: 0 errors, 0 warnings, 0 notes"),
        (BY_HAND.replace("\ts_waitcnt vmcnt(0)\n", ""), 1, "v1 is used while the load of line"),
        # Where the jump leads is not known: what has no other way to it is not checked.
        (BY_HAND.replace("s_getpc_b64 s[4:5]", "s_mov_b64 s[4:5], s[8:9]"), 3, "[unreached-code]"),
    ],
)
def test_labels_and_far_branches_of_an_object(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, status: int, said: str
) -> None:
    assembler = find_llvm_tool("llvm-mc")
    assert assembler is not None
    options = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj")
    done = subprocess.run(
        [assembler, *options], input=text.encode(), capture_output=True, check=True
    )
    found, out, _ = run(capsys, tmp_path, done.stdout)
    assert found == status
    assert said in out


MESSAGE = Path(__file__).parents[1] / "data" / "fence-check" / "message.ll"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--source", "no.ll"), "no.ll: error: No such file or directory"),
        (("--code", "x.s"), "fence-check: error: --code needs --run"),
        (("--source", str(MESSAGE), "--run", "llc"), "--source has no effect"),
        (("--source", str(MESSAGE)), "message.ll: error: no function of the source is in the code"),
        (("--run", "true"), "--run takes an llc and its options"),
        (("--run", "llc -filetype=obj"), "where the output goes is not for the command to say"),
        (("--run", "/nowhere/llc -O2"), "there is no program '/nowhere/llc'"),
    ],
)
def test_sources_that_cannot_be_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    content = MESSAGE.read_text() if "--run" in options else GOOD.replace("k", "other")
    status, _, err = run(capsys, tmp_path, content, *options)
    assert status == 2
    assert said in err
    assert "Traceback" not in err


def test_a_source_is_for_one_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text(GOOD)
    fence_check.main(["--source", str(MESSAGE), str(path), str(path)])
    assert "--source is for one input" in capsys.readouterr().err


def test_bad_sources_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "k.ll"
    for content in (b"", b"BC\xc0\xde", b"\xff\xfe", b"define void @k() {\n", b"\ts_endpgm\n"):
        source.write_bytes(content)
        status, _, err = run(capsys, tmp_path, GOOD, "--source", str(source))
        assert (status, err.count("\n")) == (2, 1), content


@pytest.mark.parametrize(
    ("name", "text", "others"),
    [("k.ptx", inputs.ptx(1, 1), "amd|cdna.code"), ("k.s", inputs.amd(1, 1), "ptx|nvidia")],
    ids=("NVIDIA", "AMD"),
)
def test_nothing_of_the_other_vendor_is_loaded(
    name: str, text: str, others: str, tmp_path: Path
) -> None:
    code = tmp_path / name
    code.write_text(text)
    script = (
        "import re, sys; from fencewright.tools.programs import fence_check; "
        f"sys.argv = ['fence-check', {str(code)!r}]; fence_check(); "
        "ours = [each for each in sys.modules if each.startswith('fencewright.')]; "
        f"print([each for each in ours if re.search({others!r}, each)], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == "[]\n"


def test_a_counterexample_is_written_where_nothing_can_draw_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests are there all the same, and how to get pictures is said once."""
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    tests = Path(__file__).parents[1]
    source = tests / "data" / "fence-check" / "message.ll"
    code = tests / "lit" / "tools" / "fence-check" / "source.s"
    options = ["--source", str(source), "--counterexamples", str(tmp_path), str(code)]
    assert fence_check.main(options) == 1
    out, err = capsys.readouterr()
    written = sorted(each.name for each in tmp_path.iterdir())
    assert len(written) > 0
    assert all(name.endswith(".mlir") for name in written)
    assert out.count("fence-sim run ") == len(written)
    assert out.count("(not drawn: this picture is drawn by drawsvg, which is not installed") == 1
    assert err == ""
