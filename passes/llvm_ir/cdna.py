"""Sequences of the lowering as operations of ``cdna`` among LLVM's instructions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from fencewright.lowering.sequence import Instruction, WaitCounts
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import PHASES, BarrierOp, CacheOp, WaitOp

_RELEASES = PHASES[Phase.RELEASE]

OWN = "own"
"""Attribute of a wait that is for the access before it alone."""


SCALAR = "scalar"
"""Attribute of a wait whose ``lgkmcnt`` is for scalar loads alone."""

_UNIT = UnitAttr()

WITHIN = "within_workgroup"
"""Attribute of the waits before an access, or of a fence, at work-group scope: the ordering.

Not where that is seq_cst.
"""


def cdna_operations(
    instructions: Iterable[Instruction], attributes: Mapping[str, Attribute], *, own: bool = False
) -> list[Operation]:
    """The waits, cache instructions and barriers of a sequence, all with ``attributes``.

    ``own``: they follow an access, which their waits are for.
    """
    return [_operation(each, attributes, own) for each in instructions]


def wait_for_scalar_loads(
    release: Sequence[Operation], attributes: Mapping[str, Attribute]
) -> list[Operation]:
    """A release that waits for scalar loads too, which LLVM makes of weak loads.

    It makes them where all lanes load from one address, also from memory that others write to
    later. They count in ``lgkmcnt``, and in nothing else: a release that does not wait for LDS
    would not wait for them. Source: MI300 ISA 4.4; LLVM AMDGPUAnnotateUniformValues. Inside a
    wave it is LLVM that keeps a store after them (SIInsertWaitcnts, SLoadAddresses).
    """
    waits = [op for op in release if isinstance(op, WaitOp) and op.phase == _RELEASES]
    if any(op.lgkmcnt is not None for op in waits):
        return [*release]
    if not waits:
        waits = [WaitOp.of(WaitCounts(), _RELEASES)]
        waits[0].attributes |= attributes
        release = [*release, *waits]
    waits[0].properties["lgkmcnt"] = count_attr(0)
    waits[0].attributes[SCALAR] = _UNIT
    return [*release]


def _operation(
    instruction: Instruction, attributes: Mapping[str, Attribute], own: bool
) -> Operation:
    if instruction.wait is not None:
        wait = WaitOp.of(instruction.wait, PHASES[instruction.phase])
        wait.attributes |= {**attributes, OWN: _UNIT} if own else attributes
        return wait
    kind = BarrierOp if instruction.phase is Phase.ACCESS else CacheOp
    return kind.create(properties=_properties(instruction), attributes=attributes)


@lru_cache(maxsize=1 << 10)
def _properties(instruction: Instruction) -> Mapping[str, Attribute]:
    return {
        "opcode": StringAttr(instruction.mnemonic),
        "modifiers": ArrayAttr([StringAttr(bit) for bit in instruction.modifiers]),
        "phase": PHASES[instruction.phase],
    }
