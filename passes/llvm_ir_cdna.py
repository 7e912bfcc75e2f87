"""Sequences of the lowering as operations of ``cdna`` among LLVM's instructions."""

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from fencewright.lowering.sequence import Instruction
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import PHASES, BarrierOp, CacheOp, WaitOp

OWN = "own"
"""Attribute of a wait that is for the access before it alone."""


def cdna_operations(
    instructions: Iterable[Instruction], attributes: Mapping[str, Attribute], *, own: bool = False
) -> list[Operation]:
    """The waits, cache instructions and barriers of a sequence, all with ``attributes``.

    ``own``: they follow an access, which their waits are for.
    """
    return [_operation(each, attributes, own) for each in instructions]


def _operation(
    instruction: Instruction, attributes: Mapping[str, Attribute], own: bool
) -> Operation:
    phase = PHASES[instruction.phase]
    if instruction.wait is not None:
        wait = WaitOp.make(instruction.wait.vmcnt, instruction.wait.lgkmcnt, phase)
        wait.attributes |= {**attributes, OWN: UnitAttr()} if own else attributes
        return wait
    kind = BarrierOp if instruction.phase is Phase.ACCESS else CacheOp
    properties: dict[str, Attribute] = {
        "opcode": StringAttr(instruction.mnemonic),
        "modifiers": ArrayAttr([StringAttr(bit) for bit in instruction.modifiers]),
        "phase": phase,
    }
    return kind.create(properties=properties, attributes=attributes)
