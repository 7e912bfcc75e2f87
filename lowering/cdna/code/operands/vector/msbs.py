"""The registers that vector instructions of gfx1250 name after an ``s_set_vgpr_msb``.

An encoding has eight bits for a vector register. The wave has two more for each of four kinds of
operands, which ``s_set_vgpr_msb`` sets and every instruction that follows uses: v1 is then v257,
say. The operand has them from bit 0 on for the first, second and third source and the result; what
is above is the operand of the one before. Of memory instructions the address is the first source
and data are the next ones; a buffer's data are where a result is, of a store as well. Source: LLVM
22 AMDGPUBaseInfo, getVGPRLoweringOperandTables.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.family import FamilyRow
from fencewright.lowering.cdna.code.operands.operands import family_of, results_of
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    read_instruction,
    split_at_commas,
)

SETS_MSBS = "s_set_vgpr_msb"

_SOURCES, _BITS, _RESULT = 3, 2, 3
_LOW_BITS = 8
_MODE = (1 << (_SOURCES + 1) * _BITS) - 1
_VECTOR = re.compile(r"(?<![\w.$@:])v(?:(\d+)|\[(\d+)(?::(\d+))?\])")
_HAS_DATA_FIRST = re.compile(r"t?buffer_\w+|(global|cluster)_load_async_to_lds_\w+")
"""Instructions whose first operand is in the place of a result without being one."""
_HAS_NO_ADDRESS = "global_store_addtid_b32"
"""The instruction that stores its second source."""


def mode_of(operand: int) -> int:
    """The upper bits that the operand of an ``s_set_vgpr_msb`` sets."""
    return operand & _MODE


@lru_cache(maxsize=1 << 12)
def with_whole_numbers(text: str, mode: int, generation: Generation) -> str:
    """The instruction ``text`` with the whole numbers of its vector registers, where ``mode``
    holds."""
    first, dual, second = text.partition(" :: ")
    if dual:
        halves = (with_whole_numbers(each, mode, generation) for each in (first, second))
        return " :: ".join(halves)
    mnemonic, _, rest = text.partition(" ")
    row = family_of(mnemonic, generation)
    if row is None or mnemonic.startswith("s_"):
        return text
    operands = split_at_commas(rest)
    offsets = [
        0 if each is None else (mode >> _BITS * each & (1 << _BITS) - 1) << _LOW_BITS
        for each in _places(row, read_instruction(text, 0), operands)
    ]
    whole = ", ".join(map(_moved, operands, offsets))
    return f"{mnemonic} {whole}" if whole else mnemonic


def _places(
    row: FamilyRow, instruction: AssemblyInstruction, operands: Sequence[str]
) -> list[int | None]:
    """The kind of each operand, of four; None for one that has no upper bits."""
    mnemonic, results = instruction.mnemonic, results_of(row, instruction.modifiers)
    has_result = results > 0 or _HAS_DATA_FIRST.fullmatch(mnemonic) is not None
    places: list[int | None] = [_RESULT] if has_result else []
    if results > 1 and not _VECTOR.search(operands[1]):
        places.append(None)
    places += range(mnemonic == _HAS_NO_ADDRESS, _SOURCES)
    return [*places, *([None] * len(operands))][: len(operands)]


def _moved(operand: str, offset: int) -> str:
    def moved(found: re.Match[str]) -> str:
        one, first, last = found.groups()
        if one:
            return f"v{int(one) + offset}"
        end = f":{int(last) + offset}" if last else ""
        return f"v[{int(first) + offset}{end}]"

    return _VECTOR.sub(moved, operand) if offset else operand
