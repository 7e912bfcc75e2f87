"""Input that makes LLVM end the process is an error of one line; bitcode is read."""

import os
import signal
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.tools import fence_opt, fence_translate
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.inputs.llvm_child import read_in_child

FUNCTION = "define void @f(ptr %p, i24 %v) {{\n  {}\n  ret void\n}}\n"
ADDRESS = "ptr getelementptr (i8, ptr @g, i64 1)"
DEEP = 200_000
ENDINGS = {
    "asserts.ll": (
        f"@g = global i8 0\n{FUNCTION}".format(
            f"%r = cmpxchg {ADDRESS}, i24 %v, i24 %v seq_cst seq_cst"
        ),
        "assertion failed: llvm::isPowerOf2_64(Value)",
    ),
    "deep.ll": (
        f"@g = global {'{' * DEEP}i32{'}' * DEEP} zeroinitializer\n",
        "segmentation fault, perhaps because something is nested too deeply",
    ),
}
KERNELS = Path(__file__).parents[1] / "data" / "llvm-ir" / "kernels.ll"


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("tool", ["fence-opt", "fence-translate"])
def test_where_llvm_ends_the_process_there_is_an_error(
    tool: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, reason = ENDINGS[name]
    path = tmp_path / name
    path.write_text(text)
    if tool == "fence-opt":
        assert fence_opt.main([str(path)]) == 2
    else:
        assert fence_translate.main(["--import-llvm", str(path)]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"{path}: error: LLVM ends the process on this module: {reason}")
    assert said.count("\n") == 1


def test_what_is_exported_is_read_in_a_child_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(
        f"""
        llvm_ir.top_level "@g = global i8 0"
        llvm_ir.func "define void @{{@}}(i24 {{0}})" @k {{
        ^entry(%v : i24):
          %r = llvm_ir.inst "cmpxchg {ADDRESS}, i24 {{0}}, i24 {{0}} seq_cst seq_cst"(%v)
            : (i24) -> !llvm_ir.type<"{{ i24, i1 }}">
          llvm_ir.terminator "ret void"() : () -> ()
        }}
        """
    )
    assert fence_opt.main([str(path), "-t", "llvm"]) == 2
    assert "LLVM ends the process on this module: assertion failed" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGABRT), "signal SIGABRT"),
        (lambda: os._exit(70), "exit status 70"),
        (lambda: os.write(2, b"LLVM ERROR: out of luck\n") and os._exit(1), "out of luck"),
    ],
    ids=["signal", "exit", "fatal"],
)
def test_every_end_of_a_child_has_its_reason(ending: object, reason: str) -> None:
    assert callable(ending)
    with pytest.raises(ToolError) as caught:
        read_in_child("x.ll", ending)
    assert str(caught.value) == f"x.ll: error: LLVM ends the process on this module: {reason}"


def test_what_a_child_raises_and_prints_is_no_concern_of_its(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def read() -> None:
        os.write(1, b"heard?")
        raise ValueError

    read_in_child("x.ll", read)
    assert capfd.readouterr() == ("", "")


# What LLVM would end the process on is refused before


@pytest.mark.parametrize("type", ["i24", "i48", "i1", "<3 x i32>", "{ i32, i1 }", "x86_fp80"])
def test_a_compare_exchange_has_a_type_that_llvm_can_align(
    type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.ll"
    path.write_text(
        f"; cmpxchg ptr %p, i24 %v\ndefine void @f(ptr %p, {type} %v) {{\n"
        f"  %r = cmpxchg weak volatile ptr %p,\n    {type} %v, {type} %v seq_cst seq_cst\n"
        "  ret void\n}\n"
    )
    assert fence_opt.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{path}:4:5: error: cmpxchg of ")
    assert "it takes a pointer, or an integer of a power of two bytes" in said


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "i128", "ptr"])
def test_all_others_are_read(type: str) -> None:
    import_llvm_ir(
        f'define void @f(ptr %p, {type} %v) section "cmpxchg ptr %p, i24" {{\n'
        f"  %r = cmpxchg ptr %p, {type} %v, {type} %v seq_cst seq_cst\n  ret void\n}}\n"
    )


# Bitcode


def bitcode() -> bytes:
    module = llvm.parse_assembly(KERNELS.read_text())
    return bytes(module.as_bitcode())


def without_layout(text: str) -> list[str]:
    """The lines of a module but for the data layout, which LLVM adds to what it makes bitcode of."""
    layout = ("target datalayout", "; ModuleID")
    return [line for line in text.splitlines() if line and not line.startswith(layout)]


@pytest.mark.parametrize("arguments", [[], ["--mcpu", "gfx942"]])
def test_bitcode_is_read(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, printed = tmp_path / "kernels.bc", tmp_path / "kernels.ll"
    path.write_bytes(bitcode())
    printed.write_text(str(llvm.parse_assembly(KERNELS.read_text())))
    assert fence_opt.main([str(printed), *arguments, "-t", "llvm"]) == 0
    expected = capsys.readouterr().out
    assert fence_opt.main([str(path), *arguments, "-t", "llvm"]) == 0
    assert without_layout(capsys.readouterr().out) == without_layout(expected)
    assert fence_translate.main(["--import-llvm", str(path)]) == 0
    assert "scoped.store release agent" in capsys.readouterr().out


def test_bitcode_that_cannot_be_read_says_what_to_do(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernels.bc"
    path.write_bytes(bitcode()[:700])
    assert fence_opt.main([str(path)]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"{path}: error: LLVM 22.1 cannot read this bitcode: ")
    assert "llvm-dis" in said
    assert said.count("\n") == 1
