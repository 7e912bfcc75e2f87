"""MLIR in LLVM's dialects comes in by way of ``mlir-translate``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fencewright.tools import fence_opt
from fencewright.tools.inputs import mlir_translate

MODULE = 'llvm.func @f() {\n  llvm.fence syncscope("agent") seq_cst\n  llvm.return\n}\n'


@pytest.fixture
def opt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], tuple[int, str, str]]:
    """The status, output and errors of ``fence-opt --import-mlir`` for a chip on a text."""

    def run(text: str, chip: str) -> tuple[int, str, str]:
        file = tmp_path / "x.mlir"
        file.write_text(text)
        status = fence_opt.main(
            ["--import-mlir", str(file), "--mcpu", chip, "-t", "llvm", "--split-input-file"]
        )
        out, err = capsys.readouterr()
        return status, out, err.replace(str(file), "x.mlir")

    return run


@pytest.mark.parametrize(
    ("chip", "fence"), [("gfx942", "buffer_inv sc1"), ("sm_90", "fence.sc.gpu")]
)
def test_a_fence_is_lowered(
    chip: str,
    fence: str,
    opt: Callable[[str, str], tuple[int, str, str]],
    llvm_tool: Callable[[str], str],
) -> None:
    llvm_tool("mlir-translate")
    status, out, err = opt(MODULE, chip)
    assert (status, err) == (0, "")
    assert fence in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "llvm.func @g() {\n  llvm.oops\n}\n",
            "x.mlir:7:3: error: custom op 'llvm.oops' is unknown",
        ),
        (
            "func.func @g() {\n  %c = arith.constant 1 : i1\n  return\n}\n",
            "x.mlir:7:8: error: Dialect `arith' not found for custom op 'arith.constant'"
            "; lower it to the llvm dialect first, as with mlir-opt --convert-scf-to-cf "
            "--convert-to-llvm --reconcile-unrealized-casts",
        ),
    ],
)
def test_an_error_has_its_place_in_the_file(
    text: str,
    told: str,
    opt: Callable[[str, str], tuple[int, str, str]],
    llvm_tool: Callable[[str], str],
) -> None:
    llvm_tool("mlir-translate")
    status, _, err = opt(f"{MODULE}// -----\n{text}", "gfx942")
    assert (status, err) == (2, f"{told}\n")


KERNELS = """gpu.module @m {
  llvm.func @f() {
    llvm.fence syncscope("agent") seq_cst
    llvm.return
  }
}
"""
GENERIC = """"gpu.module"() <{sym_name = "m"}> ({
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void ()>, linkage = #llvm.linkage<external>,
    sym_name = "f", visibility_ = 0 : i64}> ({
    "llvm.fence"() <{ordering = 7 : i64, syncscope = "agent"}> : () -> ()
    "llvm.return"() : () -> ()
  }) : () -> ()
}) {llvm.target_triple = "amdgcn-amd-amdhsa"} : () -> ()
"""


@pytest.mark.parametrize(
    "text",
    [
        KERNELS,
        f"module {{\n{KERNELS}}}\n",
        f'#a = #llvm.di_null_type\nbuiltin.module @n attributes {{a = "}}"}} {{\n{KERNELS}}} loc(#l)\n#l = loc("x":1:1)\n',
        GENERIC,
        f'"builtin.module"() ({{\n{GENERIC}}}) : () -> ()\n',
        f'"builtin.module"() <{{sym_name = "gpu.module"}}> ({{\n{GENERIC}}}) {{a = 1 : i32}} : () -> () loc(unknown)',
    ],
)
def test_the_kernels_of_a_gpu_module_are_lowered(
    text: str,
    opt: Callable[[str, str], tuple[int, str, str]],
    llvm_tool: Callable[[str], str],
) -> None:
    llvm_tool("mlir-translate")
    status, out, err = opt(text, "gfx942")
    assert (status, err) == (0, "")
    assert "buffer_inv sc1" in out


_ALONE = "--import-mlir translates one gpu.module, give it that by itself"
HOST = "llvm.func @main() {\n  llvm.return\n}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"{KERNELS}{KERNELS.replace('@m', '@n')}",
            f"x.mlir:7:1: error: a second gpu.module: {_ALONE}",
        ),
        (
            f"module {{\n{KERNELS}  {HOST}}}\n",
            f"x.mlir:8:3: error: code beside a gpu.module, which is for the host: {_ALONE}",
        ),
        (
            f"{HOST}{KERNELS}",
            f"x.mlir:1:1: error: code beside a gpu.module, which is for the host: {_ALONE}",
        ),
        (
            "gpu.module @m {\n  llvm.func @f() {\n",
            "x.mlir:1:1: error: a gpu.module that cannot be told from what is around it: write the module as "
            "mlir-opt prints it",
        ),
        (
            f"module {{\n  module @a {{\n{HOST}  }}\n}}\n",
            f"x.mlir:2:3: error: a module in a module: {_ALONE.replace('gpu.module', 'module')}",
        ),
        (
            f"{HOST}module @a {{\n{HOST}}}\n",
            f"x.mlir:4:1: error: a module in a module: {_ALONE.replace('gpu.module', 'module')}",
        ),
        (
            f"module {{\n{HOST}}}\nmodule {{\n{HOST}}}\n",
            f"x.mlir:1:1: error: a module in a module: {_ALONE.replace('gpu.module', 'module')}",
        ),
        (
            KERNELS.replace("llvm.return", "llvm.oops"),
            "x.mlir:4:5: error: custom op 'llvm.oops' is unknown",
        ),
        (
            "scoped.fence release agent\n",
            "x.mlir:1:1: error: Dialect `scoped' not found for custom op 'scoped.fence'; mlir-translate does not "
            "know it, and fence-opt reads it without --import-mlir",
        ),
    ],
)
def test_what_is_not_translated_is_an_error_at_its_place(
    text: str,
    told: str,
    opt: Callable[[str, str], tuple[int, str, str]],
    llvm_tool: Callable[[str], str],
) -> None:
    """Never an empty module."""
    llvm_tool("mlir-translate")
    status, out, err = opt(text, "gfx942")
    assert (status, out, err) == (2, "", f"{told}\n")


def test_without_the_program_one_line_says_what_to_install(
    opt: Callable[[str, str], tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(name: str) -> None:
        assert name == "mlir-translate"

    monkeypatch.setattr(mlir_translate, "find_llvm_tool", nowhere)
    status, out, err = opt(MODULE, "gfx942")
    assert (status, out) == (2, "")
    (told,) = err.splitlines()
    assert told.startswith("x.mlir: error: --import-mlir needs LLVM 22's mlir-translate; ")
    assert "apt-get install" in told
