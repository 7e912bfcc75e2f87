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
    assert (status, err) == (1, f"{told}\n")


def test_without_the_program_one_line_says_what_to_install(
    opt: Callable[[str, str], tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(name: str) -> None:
        assert name == "mlir-translate"

    monkeypatch.setattr(mlir_translate, "find_llvm_tool", nowhere)
    status, out, err = opt(MODULE, "gfx942")
    assert (status, out) == (1, "")
    (told,) = err.splitlines()
    assert told.startswith("x.mlir: error: --import-mlir needs LLVM 22's mlir-translate; ")
    assert "apt-get install" in told
