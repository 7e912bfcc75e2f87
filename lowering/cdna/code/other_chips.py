"""Check that assembly is for the chip that it names, by instructions that only other chips have.

A file may say one chip and hold code for another, where a function has a target of its own or a
compiler was given another one. Waits mean something else there, so nothing is judged.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from fencewright.lowering.cdna.chips import KNOWN_CHIPS, ChipRow, InstructionSet
from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction
from fencewright.lowering.code.source_location import AssemblyError


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """A form of instruction: its mnemonic, a modifier (none: any), and the chips that have it."""

    mnemonic: str
    modifier: str
    has: Callable[[ChipRow], bool]
    owner: str
    source: str


def _gfx9(chip: ChipRow) -> bool:
    return InstructionSet.GFX9 in chip.instruction_sets


def _after_gfx9(chip: ChipRow) -> bool:
    return not _gfx9(chip)


def _gfx10_or_gfx11(chip: ChipRow) -> bool:
    return chip.counts_stores


def _before_gfx11(chip: ChipRow) -> bool:
    return _gfx9(chip) or InstructionSet.GFX10 in chip.instruction_sets


def _after_gfx10(chip: ChipRow) -> bool:
    return not _before_gfx11(chip)


def _splits_counters(chip: ChipRow) -> bool:
    return chip.splits_counters


def _before_gfx12(chip: ChipRow) -> bool:
    return not chip.splits_counters


def _gfx12(chip: ChipRow) -> bool:
    return InstructionSet.GFX12 in chip.instruction_sets


def _gfx1250(chip: ChipRow) -> bool:
    return InstructionSet.GFX1250 in chip.instruction_sets


def _before_gfx1250(chip: ChipRow) -> bool:
    return not _gfx1250(chip)


def _scope_bits(chip: ChipRow) -> bool:
    return chip.scope_bits and _gfx9(chip)


def _no_scope_bits(chip: ChipRow) -> bool:
    return not chip.scope_bits


def _gfx9_before_gfx940(chip: ChipRow) -> bool:
    return InstructionSet.BEFORE_GFX940 in chip.instruction_sets


def _maintains_l2(chip: ChipRow) -> bool:
    return chip.l2_maintenance and _gfx9(chip)


_VECTOR = "(global|flat|scratch|t?buffer|image)_\\w+"
_MODEL = "LLVM AMDGPUUsage, Memory Model"
_NAMES = "LLVM 22, opcodes of gfx9 to gfx12"

ROWS = (
    ForeignRow(_VECTOR, "sc0|sc1|nt", _scope_bits, "gfx940 and later", _MODEL),
    ForeignRow(_VECTOR, "glc|slc", _no_scope_bits, "chips before gfx940", _MODEL),
    ForeignRow("\\w+", "dlc", _gfx10_or_gfx11, "gfx10 and gfx11", _MODEL),
    ForeignRow("\\w+", "th:\\w+|scope:\\w+", _splits_counters, "gfx12 and later", _MODEL),
    ForeignRow("buffer_inv", "", _scope_bits, "gfx940 and later", _MODEL),
    ForeignRow("buffer_wbinvl1(_vol)?|buffer_invl2", "", _gfx9_before_gfx940,
        "chips before gfx940", _MODEL),
    ForeignRow("buffer_wbl2", "", _maintains_l2, "gfx90a and later", _MODEL),
    ForeignRow("s_waitcnt_\\w+|buffer_gl[01]_inv", "", _gfx10_or_gfx11, "gfx10 and gfx11", _MODEL),
    ForeignRow("s_wait_(bvh|sample|exp)cnt", "", _gfx12, "gfx1200 and gfx1201", _MODEL),
    ForeignRow("s_wait_(async|tensor|x)cnt|s_set_vgpr_msb|s_(set|swap|get)_pc_i64", "", _gfx1250,
        "gfx1250 and later", _NAMES),
    ForeignRow("s_wait_\\w*cnt\\w*|s_wait_alu|global_(inv|wb)", "", _splits_counters,
        "gfx12 and later", _MODEL),
    ForeignRow("s_clause|v_\\w+_nc_\\w+", "", _after_gfx9, "gfx10 and later", _NAMES),
    ForeignRow("s_delay_alu|v_dual_\\w+|(global|flat|scratch|ds|s|buffer)_(load|store)_[bui]\\d+.*",
        "", _after_gfx10, "gfx11 and later", _NAMES),
    ForeignRow("s_waitcnt|s_barrier", "", _before_gfx12, "chips before gfx12", _NAMES),
    ForeignRow("s_(set|swap|get)pc_b64", "", _before_gfx1250, "chips before gfx1250", _NAMES),
    ForeignRow("s_andn2_\\w+|ds_(read|write)_.*|(global|flat|scratch|s|buffer)_(load|store)_dword.*",
        "", _before_gfx11, "chips before gfx11", _NAMES),
    ForeignRow("v_(add|sub|subrev)_u32\\w*|v_(addc|subb|subbrev)_co_u32\\w*|v_(mfma|accvgpr)_\\w+"
        "|s_set_gpr_idx_\\w+", "", _gfx9, "chips of gfx9", _NAMES),
)  # fmt: skip

_WITHOUT_CARRY = re.compile(r"v_(add|sub|subrev)_u32(_e32|_e64|_sdwa|_dpp)?")


def _number(chip: str) -> tuple[int, str]:
    """The key by which names of chips are sorted, as gfx908 before gfx1030."""
    return len(chip.partition("-")[0]), chip


def chip_of(assembly: Assembly, file: str) -> ChipRow:
    """The chip's row.

    Raises ``AssemblyError`` for a chip without rows, and for code of another one.
    """
    chip = KNOWN_CHIPS.get(assembly.chip)
    if chip is None:
        known = ", ".join(sorted(KNOWN_CHIPS, key=_number))
        raise AssemblyError(f"{file}:1: error: {assembly.chip} is not known; known are {known}")
    seen = set[tuple[str, tuple[str, ...], int]]()
    for function in assembly.functions.values():
        for each in function.instructions:
            form = each.mnemonic, each.modifiers, len(each.operands)
            if form in seen:
                continue
            seen.add(form)
            if (owner := _other_owner(each, chip)) is not None:
                problem = f"the assembly is for {chip.name}, but this is of {owner}: {each.text}"
                raise function.error(each.line, problem)
    return chip


def _other_owner(instruction: AssemblyInstruction, chip: ChipRow) -> str | None:
    """The chips that have an instruction which this one lacks; None if it has it."""
    if _WITHOUT_CARRY.fullmatch(instruction.mnemonic) and len(instruction.operands) > 3:
        return "chips before gfx9"
    for row in ROWS:
        if row.has(chip) or not re.fullmatch(row.mnemonic, instruction.mnemonic):
            continue
        if not row.modifier or any(re.fullmatch(row.modifier, m) for m in instruction.modifiers):
            return row.owner
    return None
