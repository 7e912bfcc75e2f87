"""Read-modify-writes that LLVM makes loops of compare-exchanges, for lack of an instruction.

Each round of the loop waits for what the compare-exchange has returned, to know whether it was the
last. What metadata and attributes decide (``!amdgpu.no.fine.grained.memory`` and its like) is not
here: the chip has an instruction then, which LLVM may use.
"""

from dataclasses import dataclass

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.instructions import memory_instruction, packed_instruction
from fencewright.lowering.vocabulary import FLOAT_KINDS, AddressSpace, Operation, RmwKind, ValueType


@dataclass(frozen=True, slots=True)
class OtherForm:
    """Updates without an instruction of a chip that become other instructions than a loop."""

    kinds: frozenset[RmwKind]
    types: frozenset[ValueType]
    spaces: frozenset[AddressSpace]
    chips: frozenset[str]
    source: str


_ALL_SPACES = frozenset({AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.LOCAL})
_BEFORE_SCOPE_BITS = frozenset(name for name, chip in CHIPS.items() if not chip.scope_bits)
"""The generations before gfx940, whose flat atomics have no addition of floats."""

OTHER_FORMS = (
    OtherForm(
        frozenset({RmwKind.AND, RmwKind.OR, RmwKind.XOR}),
        frozenset({ValueType.I8, ValueType.I16}),
        _ALL_SPACES,
        frozenset(CHIPS),
        "LLVM 22 AtomicExpandPass, widenPartwordAtomicRMW: the same of the whole word",
    ),
    OtherForm(
        frozenset({RmwKind.FADD}),
        frozenset({ValueType.F32}),
        frozenset({AddressSpace.GENERIC}),
        _BEFORE_SCOPE_BITS,
        "LLVM 22 SITargetLowering, emitExpandAtomicAddrSpacePredicate: it asks which space it is",
    ),
)


def is_loop(chip: str, space: AddressSpace, kind: RmwKind, type_: ValueType) -> bool:
    """True where LLVM expands an update on ``chip`` to a compare-exchange loop, under any promise.

    Source: LLVM 22 SITargetLowering, shouldExpandAtomicRMWInIR; held against what LLVM makes by
    tests/unit/test_rmw_loops.py.
    """
    if space not in _ALL_SPACES or _has_other_form(chip, space, kind, type_):
        return False
    return not any(_has_instruction(chip, space, kind, type_, each) for each in (True, False))


def _has_other_form(chip: str, space: AddressSpace, kind: RmwKind, type_: ValueType) -> bool:
    return any(
        kind in row.kinds and type_ in row.types and space in row.spaces and chip in row.chips
        for row in OTHER_FORMS
    )


_HALVES = frozenset({ValueType.F16, ValueType.BF16, ValueType.F16X2, ValueType.BF16X2})


def _has_instruction(
    chip: str, space: AddressSpace, kind: RmwKind, type_: ValueType, returns: bool
) -> bool:
    if kind in FLOAT_KINDS and type_ in _HALVES:
        return packed_instruction(chip, space, kind, type_, returns) is not None
    rmw = Operation.ATOMIC_RMW
    return memory_instruction(chip, rmw, space, type_.bits, kind, returns) is not None
