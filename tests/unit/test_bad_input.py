"""One line for each fault of an input, with its place; found by damaging good files."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import fencewright
from fencewright import UnsupportedError, lower, lower_llvm_ir, lower_module
from fencewright.tools import fence_opt, fence_sim, fence_translate
from fencewright.tools.dev import update_checks
from fencewright.tools.inputs import expectations
from fencewright.tools.inputs.litmus.files import parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
LITMUS = str(EXAMPLES / "litmus" / "message_passing.mlir")
KERNEL = "func.func @k(%p: !llvm.ptr<1>, %c: i1) attributes {gpu.kernel} {"

Tool = Callable[[Sequence[str] | None], int]


def _said(tool: Tool, arguments: list[str], capsys: pytest.CaptureFixture[str], status: int) -> str:
    """The text of the tool on stderr, less the file's folder; it ends with ``status``."""
    assert tool(arguments) == status
    return capsys.readouterr().err.rstrip().rpartition("/")[2]


# Parsing


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{KERNEL}\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  func.return\n}}", "5:1: error: re-decl"),
        ("func.func @f(%a: !llvm.ptr<\u00b3>) {\n}", "1:28: error: Unexpected character"),
        ("\n  %0 = arith.constant 4294967296 : i32", "2:3: error: Integer value 4294967296"),
        (
            f"{KERNEL}\n  %g = llvm.getelementptr %p[4294967296] : "
            "(!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n}",
            "2:3: error: Integer value 4294967296",
        ),
        (
            f"{KERNEL}\n  %n = arith.constant 1 : i32\n"
            "  %x = llvm.alloca %n x i32 : () -> !llvm.ptr<5>\n}",
            "3:3: error: malformed operation",
        ),
    ],
)
def test_what_cannot_be_parsed_has_a_place(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(text)
    assert _said(fence_opt.main, [str(path)], capsys, 2).startswith(f"x.mlir:{said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".version 8.6\n.target sm_90\n", "1:1: error: PTX, not MLIR: fence-check FILE checks it"),
        ('\t.amdgcn_target "x"\n', "1:2: error: AMD assembly, not MLIR: fence-check FILE"),
        ("; a\ndefine void @f() {\n}\n", "1:1: error: LLVM IR, not MLIR: fence-opt --import-llvm"),
        ("PTX LB\n{}\n", "1:1: error: a litmus test in columns, not MLIR: fence-sim run"),
        (
            "gpu.module @k {\n}\n",
            "1:12: error: Operation gpu.module does not have a custom format; ",
        ),
    ],
)
def test_what_is_no_mlir_has_a_program(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(text)
    assert _said(fence_opt.main, [str(path)], capsys, 2).startswith(f"x.mlir:{said}")
    if "gpu" not in text:
        assert _said(fence_sim.main, ["run", str(path)], capsys, 2).startswith(f"x.mlir:{said}")


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = f"{tmp_path.name}: error: a folder, where a file is expected"
    assert _said(fence_opt.main, [str(tmp_path)], capsys, 2) == said
    assert _said(fence_sim.main, ["run", str(tmp_path)], capsys, 2) == said


NO_REGEX = "// expected-error-re {{an {{[a}} bracket}}"
ENDLESS = '// expected-error-re@below {{{{.*(a+)+$}}}}\n"' + 60 * "a" + '.b"() : () -> ()'


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (NO_REGEX, "1:24: error: no regular expression: unterminated character set"),
        (ENDLESS, "1:1: error: this regular expression takes more than 0.1 s to match"),
    ],
)
def test_regular_expressions_of_annotations(
    annotation: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expectations, "SECONDS", 0.1)
    path = tmp_path / "x.mlir"
    path.write_text(f"{annotation}\nfunc.func private @f()\n")
    printed = _said(fence_opt.main, ["--verify-diagnostics", str(path)], capsys, 2)
    assert printed.startswith(f"x.mlir:{said}")


def test_an_annotation_is_a_comment_without_the_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(f"{NO_REGEX}\nfunc.func private @f()\n")
    assert fence_opt.main([str(path)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("flags", "what"),
    [("-p func-to-pdl-rewrite", "pass 'func-to-pdl-rewrite'"), ("-t x86-asm", "target 'x86-asm'")],
)
def test_what_xdsl_cannot_do_is_no_bug_of_ours(
    flags: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    example = str(EXAMPLES / "message_passing.mlir")
    said = _said(fence_opt.main, [example, *flags.split()], capsys, 2)
    assert said.startswith(f"fence-opt: error: {what} of xDSL cannot take this module: ")


def test_remarks_do_not_go_into_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    example = str(EXAMPLES / "message_passing.mlir")
    flags = ["--mcpu", "gfx942", "-o", str(out), "--remarks-output", f"{tmp_path}/./out"]
    said = _said(fence_opt.main, [example, *flags], capsys, 2)
    assert said == "fence-opt: error: -o and --remarks-output name one file"
    assert not out.exists()


NINES = "9" * 6000
LONG_NUMBERS: dict[str, tuple[str, Tool, list[str]]] = {
    "constant.mlir": (
        f"func.func @f() {{\n  %0 = arith.constant {NINES} : i64\n  func.return\n}}\n",
        fence_opt.main,
        [],
    ),
    "template.mlir": (
        f'llvm_ir.func "define void @{{@}}({{{NINES}}})" @k {{\n'
        '  llvm_ir.terminator "ret void"() : () -> ()\n}\n',
        fence_opt.main,
        ["-t", "llvm"],
    ),
    "value.mlir": (
        "litmus.test @a {\n litmus.location @x = 0 : i32\n litmus.thread @P0 {}\n"
        f' litmus.condition "forall (x = {NINES})"\n}}\n',
        fence_opt.main,
        [],
    ),
    "register.mlir": (
        "litmus.test @a {\n litmus.location @x = 0 : i32\n litmus.thread @P0 {}\n"
        f' litmus.condition "forall (P{NINES}:r = 0)"\n}}\n',
        fence_opt.main,
        [],
    ),
    "value.litmus": (
        f"PTX T\n{{ x={NINES}; }}\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
        fence_sim.main,
        ["run"],
    ),
    "thread.litmus": (
        f"PTX T\n{{ P{NINES}:r0=0; }}\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
        fence_sim.main,
        ["run"],
    ),
}


@pytest.mark.parametrize("name", LONG_NUMBERS)
def test_a_number_that_python_does_not_convert_is_no_internal_error(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, tool, arguments = LONG_NUMBERS[name]
    path = tmp_path / name
    path.write_text(text)
    said = _said(tool, [*arguments, str(path)], capsys, 2)
    assert said.startswith(name)
    assert "error: " in said
    assert "internal error" not in said
    assert "set_int_max_str_digits" not in said


def test_a_string_that_does_not_end_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(
        f'{KERNEL}\n  " {"%name = scoped.load weak %pointer " * 3}\n  func.return\n}}\n'
    )
    command = [sys.executable, "-m", "fencewright.tools.fence_opt", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert ":2:3: error: End of file reached before closing string literal" in done.stderr


MARKED: dict[str, tuple[Tool, list[str]]] = {
    "x.mlir": (fence_opt.main, []),
    "x.ll": (fence_translate.main, ["--import-llvm"]),
    "x.litmus": (fence_sim.main, ["convert"]),
}
TEXTS = {
    "x.mlir": "func.func @f() {\n  func.return\n}\n",
    "x.ll": "define void @f() {\n  ret void\n}\n",
    "x.litmus": "PTX T\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
}


@pytest.mark.parametrize("name", MARKED)
def test_a_byte_order_mark_is_no_part_of_the_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(TEXTS[name], encoding="utf-8-sig")
    tool, arguments = MARKED[name]
    assert tool([*arguments, str(path), "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(
    ("command", "status"),
    [("fence_opt", 2), ("fence_translate --import-llvm", 2), ("fence_sim run -", 2)],
)
def test_a_stdin_that_is_closed(command: str, status: int) -> None:
    line = f"{shlex.quote(sys.executable)} -m fencewright.tools.{command} <&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "<stdin>: error: is closed\n")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("fence_opt", 2),
        ("fence_translate --import-llvm", 2),
        ("fence_sim run", 2),
        ("fence_sim convert", 2),
        ("fence_sim explain gfx942 fence acquire --certificate", 2),
        ("fence_sim certify gfx942 --recheck", 2),
    ],
)
def test_an_input_without_end(
    command: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tool, *arguments = command.split()
    main = {"fence_opt": fence_opt.main, "fence_translate": fence_translate.main}.get(
        tool, fence_sim.main
    )
    said = _said(main, [*arguments, "/dev/zero"], capsys, status)
    assert said == "zero: error: is larger than 64 MiB, the most that is read of an input"


def test_a_stdin_without_end() -> None:
    command = [sys.executable, "-m", "fencewright.tools.fence_sim", "run", "-"]
    with open("/dev/zero") as zero:
        done = subprocess.run(command, stdin=zero, capture_output=True, text=True, check=False)
    said = "<stdin>: error: is larger than 64 MiB, the most that is read of an input\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_debug_information_that_llvm_would_end_the_process_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (Path(__file__).parents[1] / "data/llvm-ir/debug-info.ll").read_text()
    path = tmp_path / "x.ll"
    # The fourth location is where the node of the type should be.
    path.write_text(good.replace("!tbaa !17", "!tbaa !15"))
    said = _said(fence_translate.main, ["--import-llvm", str(path)], capsys, 2)
    assert said.startswith("x.ll: error: LLVM rejects the module: ")


# Kernels

STORE = "scoped.store weak %x, %p : i32, !llvm.ptr<1>"
LOAD = "%x = scoped.load weak %p : !llvm.ptr<1> -> i32"


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"{STORE}\n{LOAD}\nfunc.return", "2:1: error: '%x' is not defined on every way"),
        (
            f"cf.cond_br %c, ^a, ^b\n^a:\n{LOAD}\ncf.br ^b\n^b:\n{STORE}\nfunc.return",
            "7:1: error: '%x' is not defined on every way",
        ),
        (
            "%n = arith.constant -1 : i32\n%x = llvm.alloca %n x i8 : (i32) -> !llvm.ptr<5>\n"
            "func.return",
            "3:1: error: an alloca of a negative size",
        ),
        (
            "%n = arith.constant 1 : i32\n%x = llvm.alloca %n x i8 : (i32) -> !llvm.ptr<99>\n"
            "func.return",
            "3:1: error: an alloca needs a constant size and a pointer to private memory",
        ),
    ],
)
def test_a_kernel_that_cannot_be(
    chip: str, body: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(f"{KERNEL}\n{body}\n}}\n")
    found = _said(fence_opt.main, [str(path), "--mcpu", chip], capsys, 2)
    assert found.startswith(f"x.mlir:{said}")


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_blocks_may_stand_before_those_that_define_what_they_use(chip: str, tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    loop = f"{STORE}\ncf.cond_br %c, ^a, ^c\n^c:\nfunc.return"
    path.write_text(f"{KERNEL}\ncf.br ^b\n^a:\n{loop}\n^b:\n{LOAD}\ncf.br ^a\n}}\n")
    assert fence_opt.main([str(path), "--mcpu", chip, "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("size", ["array<i32: 0, 1, 1>", "array<i32: -5>", "array<i32: 1025>", "5"])
@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_a_work_group_size_that_cannot_be(
    chip: str, size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    attributes = f"{{gpu.kernel, gpu.known_block_size = {size}}}"
    path.write_text(f"func.func @k() attributes {attributes} {{\n  func.return\n}}\n")
    said = _said(fence_opt.main, [str(path), "--mcpu", chip], capsys, 2)
    assert said.startswith("x.mlir:1:1: error: gpu.known_block_size is no array<i32: x, y, z>")


@pytest.mark.parametrize(
    ("chip", "most"), [("gfx90a", 65536), ("gfx942", 65536), ("gfx950", 163840)]
)
def test_no_more_lds_than_there_is(
    chip: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    flags = [str(path), "--mcpu", chip, "-o", str(tmp_path / "out")]
    text = (
        "llvm.mlir.global internal @a() {addr_space = 3 : i32} : !llvm.array<BYTES x i8>\n"
        f"{KERNEL}\n  func.return\n}}\n"
    )
    path.write_text(text.replace("BYTES", str(most)))
    assert fence_opt.main(flags) == 0
    path.write_text(text.replace("BYTES", str(most + 1)))
    said = _said(fence_opt.main, flags, capsys, 2)
    assert said == f"x.mlir:1:1: error: {most + 1} bytes in LDS; the chip has {most}"


def test_a_name_that_no_assembler_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.mlir"
    path.write_text('func.func @"a b"() attributes {gpu.kernel} {\n  func.return\n}\n')
    said = _said(fence_opt.main, [str(path), "--mcpu", "gfx942", "-t", "asm"], capsys, 2)
    assert "'a b' is no name in assembly" in said


def test_names_that_llvm_reads_as_other_things(
    tmp_path: Path, llvm_tool: Callable[[str], str]
) -> None:
    path, out = tmp_path / "x.mlir", tmp_path / "x.s"
    arguments = "%true: i32, %inf: i32, %NaN: i32, %infinity: i32, %null: i32, %no: i32"
    path.write_text(
        f"func.func @false({arguments}) attributes {{gpu.kernel}} {{\nfunc.return\n}}\n"
    )
    assert fence_opt.main([str(path), "--mcpu", "gfx942", "-t", "asm", "-o", str(out)]) == 0
    command = [llvm_tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ptx_has_no_addresses_that_are_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    body = (
        "%a = arith.constant 64 : i64\n%q = llvm.inttoptr %a : i64 to !llvm.ptr<1>\n"
        "%x = arith.constant 7 : i32\nscoped.store weak %x, %q : i32, !llvm.ptr<1>\nfunc.return"
    )
    path.write_text(f"{KERNEL}\n{body}\n}}\n")
    assert fence_opt.main([str(path), "--mcpu", "sm_90", "-t", "asm"]) == 0
    printed = capsys.readouterr().out
    assert "mov.b64 %rd1, 64;" in printed
    assert "st.weak.global.b32 [%rd1], 7;" in printed


@pytest.mark.parametrize("chip", ["sm_70", "sm_80", "sm_90"])
@pytest.mark.parametrize(("kind", "type"), [("sub", "i32"), ("sub", "i64"), ("fsub", "f32")])
def test_a_subtraction_beside_fences(chip: str, kind: str, type: str, tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    update = f"%0 = scoped.atomic_rmw {kind} relaxed agent %p, %v : !llvm.ptr<1>, {type}"
    fences = f"scoped.fence release agent\n{update}\nscoped.fence acquire agent"
    path.write_text(
        f"func.func @k(%p: !llvm.ptr<1>, %v: {type}) attributes {{gpu.kernel}} {{\n"
        f"{fences}\nfunc.return\n}}\n"
    )
    out = str(tmp_path / "out")
    assert fence_opt.main([str(path), "--mcpu", chip, "-t", "asm", "--remarks", "-o", out]) == 0


# Litmus tests and their flags


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("", "x.mlir:1:1: error: Region 'body'"),
        (
            'litmus.thread @P0 {\nlitmus.end\n}\nlitmus.condition "\\10"\n',
            "x.mlir:5:1: error: cond",
        ),
    ],
)
def test_only_what_is_right_is_verified(
    test: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(f"litmus.test @t {{\n{test}}}\n")
    flags = ["--mcpu", "gfx942", "--verify-lowering"]
    assert _said(fence_opt.main, [str(path), *flags], capsys, 2).startswith(said)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--mattr tgsplit", "--mattr has no effect: it needs --mcpu"),
        ("--ptx-version 8.6", "--ptx-version has no effect: it needs --mcpu"),
        ("-O0", "-O has no effect: it needs --mcpu"),
        ("--without buffer_inv", "--without has no effect: it needs --mcpu"),
        ("--mcpu gfx942 --ptx-version 8.6", "--ptx-version has no effect: gfx942 does not take it"),
        ("--mcpu sm_90 --mattr tgsplit", "--mattr has no effect: sm_90 does not take it"),
        ("--mcpu sm_90 --l2-per-agent one", "--l2-per-agent has no effect: sm_90 does not take it"),
        ("--l2-per-agent one", "--l2-per-agent has no effect: it needs --mcpu"),
        ("--model ptx-6.0", "--model has no effect: it needs --mcpu"),
        ("--mcpu gfx942 --model ptx-7.5", "--model has no effect: gfx942 does not take it"),
    ],
)
def test_no_flag_is_ignored(flags: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = _said(fence_sim.main, ["run", LITMUS, *flags.split()], capsys, 2)
    assert found == f"fence-sim: error: {said}"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--mattr tgsplit", "--mattr has no effect: the test is PTX already"),
        ("--l2-per-agent one", "--l2-per-agent has no effect: the test is PTX already"),
        ("--ptx-version 8.6", "--ptx-version has no effect: the test is PTX already"),
        ("-O0", "-O has no effect: the test is PTX already"),
        ("--mcpu sm_90", "a .litmus test is PTX already"),
        ("--without fence.sc.gpu", "a .litmus test is PTX already"),
        ("--test SB", "no test 'SB' in the file; its test: T"),
    ],
)
def test_no_flag_is_ignored_for_columns(
    flags: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.litmus"
    path.write_text(COLUMNS.format(initial="x=0", code="st.weak x, 1"))
    assert said in _said(fence_sim.main, ["run", str(path), *flags.split()], capsys, 2)


def test_one_test_of_several_is_lowered_alone(capsys: pytest.CaptureFixture[str]) -> None:
    # The other test has a location in LDS, which split work-groups do not have.
    path = str(EXAMPLES / "litmus" / "work_group_barrier.mlir")
    flags = ["--mcpu", "gfx942", "--mattr", "tgsplit"]
    assert "has no LDS" in _said(fence_sim.main, ["run", path, *flags], capsys, 2)
    assert fence_sim.main(["run", path, *flags, "--test", "published_by_another_wave"]) == 0


def test_no_instruction_in_the_place_of_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--mcpu", "gfx942", "--without", "buffer_inv=nonsense"]
    said = _said(fence_sim.main, ["run", LITMUS, *flags], capsys, 2)
    assert said.endswith("error: unknown instruction 'nonsense'")


@pytest.mark.parametrize(
    ("command", "name", "accepted"),
    [("graph", "x.png", ".svg and .dot"), ("timeline", "x.dot", ".svg and .json")],
)
def test_a_picture_in_no_format_of_its_own(
    command: str, name: str, accepted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--mcpu", "gfx942", "--any"] if command == "timeline" else []
    out = tmp_path / name
    said = _said(fence_sim.main, [command, LITMUS, *flags, "-o", str(out)], capsys, 2)
    ending = name.partition(".")[2]
    assert (
        said == f"fence-sim: error: cannot draw '.{ending}'; accepted: {accepted}, or pass --format"
    )
    assert not out.exists()


def test_a_full_disk_is_no_verdict(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fencewright.tools.fence_sim", "run", LITMUS]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "fence-sim: error: No space left on device\n")


COLUMNS = "PTX T\n{{ {initial} }}\n P0@cta 0,gpu 0 ;\n {code} ;\nexists (x == 1)\n"


@pytest.mark.parametrize(
    ("initial", "code", "said"),
    [
        ("x=0;", "bne r0, 1, LC00", "thread 0 jumps to LC00, which is not there"),
        ("x=0; b=mbarrier(99999999999999999999);", "st.weak x, 1", "an mbarrier expects 1 to 2^20"),
    ],
)
def test_columns_that_cannot_be_run(
    initial: str, code: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.litmus"
    path.write_text(COLUMNS.format(initial=initial, code=code))
    assert said in _said(fence_sim.main, ["run", str(path)], capsys, 2)


def test_numbers_in_columns_may_begin_with_noughts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.litmus"
    path.write_text(COLUMNS.format(initial="x=010;", code="st.weak x, 0x1"))
    assert fence_sim.main(["run", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == [{"x": 1}]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("certify sm_90 --mattr tgsplit", "fence seq_cst system +tgsplit: sm_90 has no feature"),
        ("certify gfx908 --mattr tgsplit", "fence seq_cst system +tgsplit: gfx908 has no feature"),
        ("certify gfx942 --ptx-version 8.6", "fence seq_cst system: gfx942 has no PTX version"),
        ("explain gfx942 load acquire agent --at 99", "--at 99: no synchronising instruction"),
        (
            "explain gfx942 load acquire agent --kind add",
            "--kind has no effect: it is of an atomic_rmw, not of a load",
        ),
        ("explain gfx942 load acquire agent --no-return", "--no-return has no effect: it is of an"),
        ("explain gfx942 fence acquire agent --space local", "--space has no effect: it is of an"),
    ],
)
def test_nothing_is_no_certificate(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _said(fence_sim.main, command.split(), capsys, 2)
    assert found.startswith(f"fence-sim: error: {said}")


@pytest.mark.parametrize("flag", ["--jobs", "--sample"])
def test_a_certificate_by_no_process_or_of_nothing(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["certify", "gfx942", flag, "0"]) == 2
    said = f"argument {flag}: expected a positive number, found '0'; try fence-sim certify --help"
    assert capsys.readouterr().err.rstrip().endswith(said)


def test_no_certificate_is_written_over_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def certify(*_: object, **__: object) -> None:
        raise AssertionError("minutes before it is to be written to")

    monkeypatch.setattr("fencewright.simulator.certify.certificate.certify_mode", certify)
    command = ["certify", "gfx942", "--mattr", "tgsplit", "-o", str(tmp_path)]
    assert fence_sim.main(command) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path}: error: is a folder: give a file for the certificate, "
        f"as -o {tmp_path}/gfx942-tgsplit.json\n"
    )


def test_a_certificate_that_cannot_be_written_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder that takes no files, whoever asks."""

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("minutes before it is to be written to")

    certify = "fencewright.simulator.certify.certificate.certify_mode"
    monkeypatch.setattr(certify, too_late)
    assert fence_sim.main(["certify", "gfx942", "-o", "/proc/gfx942.json"]) == 2
    assert capsys.readouterr().err == "/proc/gfx942.json: error: No such file or directory\n"
    assert fence_sim.main(["certify", "all", "-o", "/proc"]) == 2
    assert capsys.readouterr().err == "/proc/gfx908.json: error: No such file or directory\n"


def test_a_condition_nested_too_deeply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.litmus"
    path.write_text(TEXTS["x.litmus"].replace("x == 1", f"{'(' * 5000}x == 1{')' * 5000}"))
    assert (
        _said(fence_sim.main, ["run", str(path)], capsys, 2) == "x.litmus: error: nested too deeply"
    )


def test_a_count_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["fuzz", "--programs", "0"]) == 2
    assert "expected a positive number, found '0'" in capsys.readouterr().err


# From Python


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"features": "tgsplit"}, "features 'tgsplit': one word for several"),
        ({"spaces": "global"}, "spaces 'global': one word for several"),
        ({"spaces": []}, "an empty list of address spaces orders nothing"),
        ({"target": "sm_90", "ptx_version": 8.6}, "PTX version 8.6: not a version"),
        ({"target": None}, "target None: unknown target; accepted: gfx908"),
        ({"target": "sm_90", "ptx_version": "8.\u00b2"}, "not a version"),
    ],
)
def test_what_lower_is_not_asked_so(asked: dict[str, Any], said: str) -> None:
    load: dict[str, Any] = {
        "op": "load",
        "ordering": "acquire",
        "scope": "agent",
        "space": "global",
        "target": "gfx942",
        **asked,
    }
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        lower(**load)


def test_what_is_as_good_as_false_is_false() -> None:
    load: dict[str, Any] = {"op": "load", "scope": "agent", "space": "global", "target": "gfx942"}
    none: Any = None
    assert str(lower(**load, volatile=none)) == str(lower(**load))


def test_the_package_lists_what_it_has() -> None:
    assert {"lower", "lower_module", "lower_llvm_ir"} <= {*dir(fencewright)}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"opt_level": 1}, "opt-level=1: unknown level; accepted: 0, 2"),
        ({"features": "tgsplit"}, "features 'tgsplit': one word for several"),
        ({"features": ["stores"]}, "gfx942 has no option stores"),
        ({"facts": "no-clusters"}, "facts 'no-clusters': one word for several"),
    ],
)
def test_what_lower_module_is_not_asked_so(asked: dict[str, Any], said: str) -> None:
    module = parse_module("x.mlir", (EXAMPLES / "message_passing.mlir").read_text())
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        lower_module(module, "gfx942", **asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"features": "tgsplit"}, "features 'tgsplit': one word for several"),
        ({"facts": "no-clusters"}, "facts 'no-clusters': one word for several"),
        ({"features": ["stores"]}, "unknown feature 'stores'; accepted: tgsplit"),
    ],
)
def test_what_lower_llvm_ir_is_not_asked_so(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        lower_llvm_ir("", "gfx942", **asked)


# Generated checks


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"func.func @\xe9", "x.mlir:1:12: error: not UTF-8 text: byte 0xe9; save it as UTF-8"),
        (
            b"// NOTE: Assertions have been autogenerated by tools/dev/update_checks.py\n",
            "x.mlir: error: there is no RUN: line to make checks from",
        ),
    ],
)
def test_checks_that_cannot_be_made(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_bytes(content)
    assert _said(update_checks.main, [str(path)], capsys, 2) == said
