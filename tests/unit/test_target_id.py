"""Target ids of AMD: accepted wherever a chip is, and named by the assembly."""

import re
import subprocess
from pathlib import Path

import pytest

from fencewright import UnsupportedError, lower, lower_llvm_ir, lower_module
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.target_id import parse_target_id
from fencewright.lowering.sequence import Sequence
from fencewright.mlir_dialects.cdna import KernelOp
from fencewright.tools import fence_opt
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.llvm_tools import find_llvm_tool

EXAMPLE = Path(__file__).parents[2] / "examples" / "message_passing.mlir"
LLVM_MC = find_llvm_tool("llvm-mc")
KERNEL = """target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  fence syncscope("agent") release
  ret void
}
"""


def release(target: str) -> Sequence:
    return lower(op="fence", ordering="release", scope="agent", target=target)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("gfx942", "gfx942"),
        ("gfx942:xnack-", "gfx942:xnack-"),
        ("gfx90a:xnack+:sramecc-", "gfx90a:sramecc-:xnack+"),
        ("gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"),
    ],
)
def test_settings_have_one_order(text: str, canonical: str) -> None:
    assert str(parse_target_id(text)) == canonical
    assert release(text) == release(text.partition(":")[0])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gfx942:xnack", "unknown setting 'xnack'; accepted: sramecc+, sramecc-, xnack+, xnack-"),
        ("gfx942:", "unknown setting ''"),
        ("gfx942:xnack+:xnack-", "xnack is set twice"),
        ("gfx9:xnack+", "target gfx9: unknown target"),
    ],
)
def test_what_is_no_target_id_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(reason)):
        release(text)


def test_assembly_names_the_target_id(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flags = ["--mcpu", "gfx942:xnack-:sramecc+"]
    assert fence_opt.main([str(EXAMPLE), *flags, "-t", "asm"]) == 0
    printed = capsys.readouterr().out
    assert '.amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"' in printed
    assert "amdhsa.target: amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" in printed
    # Through MLIR text it is the same.
    path = tmp_path / "lowered.mlir"
    assert fence_opt.main([str(EXAMPLE), *flags, "-o", str(path)]) == 0
    assert fence_opt.main([str(path), "-t", "asm"]) == 0
    assert capsys.readouterr().out == printed
    if LLVM_MC is not None:
        command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=null"]
        command.append("-mattr=+sramecc,-xnack")
        subprocess.run(command, input=printed, text=True, check=True)


def test_all_but_the_name_is_that_of_the_chip(capsys: pytest.CaptureFixture[str]) -> None:
    texts: list[str] = []
    for chip in ("gfx90a", "gfx90a:xnack+"):
        assert fence_opt.main([str(EXAMPLE), "--mcpu", chip, "-t", "asm"]) == 0
        texts.append(capsys.readouterr().out.replace(chip, "CHIP"))
    assert texts[0] == texts[1]


def test_functions_take_target_ids() -> None:
    module = parse_module(str(EXAMPLE), EXAMPLE.read_text())
    lower_module(module, "gfx942:xnack-")
    kernels = [op for op in module.walk() if isinstance(op, KernelOp)]
    assert {op.target_id.data for op in kernels if op.target_id} == {"gfx942:xnack-"}
    assert lower_llvm_ir(KERNEL, "gfx942:xnack-") == lower_llvm_ir(KERNEL, "gfx942")


@pytest.mark.parametrize(
    ("given", "reason"),
    [("gfx90a:xnack-", "is not one of gfx942"), ("gfx942:x", "unknown setting 'x'")],
)
def test_a_kernels_target_id_is_verified(
    given: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lowered.mlir"
    flags = ["--mcpu", "gfx942:xnack-", "-o", str(path)]
    assert fence_opt.main([str(EXAMPLE), *flags]) == 0
    path.write_text(path.read_text().replace('"gfx942:xnack-"', f'"{given}"'))
    assert fence_opt.main([str(path)]) == 2
    assert reason in capsys.readouterr().err


GENERIC = "gfx9-4-generic"


def test_the_generic_target_has_what_its_chips_have_in_common(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert release(GENERIC) == release("gfx942") == release("gfx950")
    lds = {name: chip.lds_bytes for name, chip in CHIPS.items()}
    assert lds[GENERIC] == min(lds["gfx942"], lds["gfx950"])
    texts: list[str] = []
    for chip in ("gfx942", "gfx950", GENERIC):
        assert fence_opt.main([str(EXAMPLE), "--mcpu", chip, "-t", "asm"]) == 0
        texts.append(capsys.readouterr().out)
    # Only a code object of version 6 can be for a generic target.
    expected = texts[0].replace("gfx942", GENERIC).replace("_version 5", "_version 6")
    assert texts == [texts[0], texts[0].replace("gfx942", "gfx950"), expected]
    if LLVM_MC is not None:
        command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={GENERIC}", "-filetype=null"]
        subprocess.run(command, input=texts[2], text=True, check=True)
