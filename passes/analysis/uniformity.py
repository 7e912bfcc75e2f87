"""Values that may differ between the lanes of a wave.

A forward analysis after LLVM's AMDGPU divergence analysis: thread ids, private and generic
loads and the results of read-modify-writes differ; what is computed from them, or loaded
from an address that differs, differs too; but not the number of a wave, which is its threads' id
in x without the bits of the lane. It presumes that no branch diverges, which the
conversion enforces. Source: LLVM GCNTTIImpl::isSourceOfDivergence, isAlwaysUniform,
UniformityAnalysis.
"""

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.passes.analysis.control_flow import fed_by
from fencewright.passes.analysis.election import WAVE, number_of

_ALWAYS = frozenset({"gpu.thread_id", scoped.AtomicRmwOp.name, scoped.CmpxchgOp.name})
_PER_LANE = frozenset({AddressSpace.GENERIC, AddressSpace.PRIVATE})


def divergent_values(
    blocks: Iterable[Block], block_size: Sequence[int] | None = None, wave: int = WAVE
) -> dict[SSAValue, Operation]:
    """The values that may differ between lanes, each with the operation that makes it so.

    ``block_size``: the threads of a work-group in x, y and z, if they are known; ``wave``: those of
    a wave.
    """
    in_order = block_size is not None and _follow_in_x(block_size, wave)
    result: dict[SSAValue, Operation] = {}
    work: list[tuple[SSAValue, Operation]] = [
        (value, op)
        for block in blocks
        for op in block.ops
        if _is_source(op)
        for value in op.results
    ]
    while work:
        value, source = work.pop()
        if value in result or (in_order and _is_wave_number(value, wave)):
            continue
        result[value] = source
        for use in value.uses:
            work += ((each, source) for each in fed_by(use.operation, use.index))
    return result


def _follow_in_x(block_size: Sequence[int], wave: int) -> bool:
    """True where the lanes of a wave have ids in x that follow one another from a multiple of its
    size."""
    return block_size[0] % wave == 0 or tuple(block_size[1:]) == (1, 1)


def _is_wave_number(value: SSAValue, wave: int) -> bool:
    found = number_of(value)
    return found is not None and found[0] == "x" and 1 << found[1] >= wave


def _is_source(op: Operation) -> bool:
    if isinstance(op, scoped.LoadOp):
        return op.space in _PER_LANE
    return op.name in _ALWAYS
