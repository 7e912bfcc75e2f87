"""The pass ``drop-last-waits``: no wait after which a wave does nothing that it could order."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import Block, Operation

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import PHASES, WaitOp
from fencewright.passes.analysis.caches import (
    COPIES,
    VMCNT,
    CacheCode,
    CacheSteps,
    Meaning,
    waits_of,
)
from fencewright.passes.cdna.caches.cache_pass import CachePass

_ORDER = (PHASES[Phase.WAIT], PHASES[Phase.RELEASE])


@dataclass(frozen=True)
class DropLastWaitsPass(CachePass):
    """Remove each ordering wait after which the wave ends without doing anything that others see.

    Before it ends there is, on every path, no access that others may see, no cache maintenance, no
    barrier and no copy. What is in flight when a wave ends completes without it. A wait stays where
    it may be for a write-back, which without it would be for nothing; where copies may be in
    flight that go on after the wave, for LDS is given away when the work-group has ended; and where
    the code returns to a caller.
    Source: MI300 ISA 4.1, s_endpgm; certified by tests/unit/test_last_waits.py.
    """

    name = "drop-last-waits"

    def run(self, code: CacheCode) -> None:
        if code.ends_its_waves:
            code.erase(last_waits(code))


def last_waits(code: CacheCode) -> list[Operation]:
    """The ordering waits that order nothing with the operations after them."""
    steps = code.steps
    ends = {block: _end_of(block, steps[block]) for block in code.blocks}
    waits = {block for block, end in ends.items() if any(map(_is_ordering, end.ops))}
    if not waits:
        return []
    followed, writing = _followed(code), _writing_back(code)
    found: list[Operation] = []
    for block in filter(waits.difference(followed).__contains__, code.blocks):
        acting, ops = ends[block]
        written = writing.get(block, False)
        for step in steps[block][:acting]:
            written = _is_writing_back(step.meaning, written)
        meanings = defaultdict[Operation, list[Meaning]](list)
        for step in steps[block][acting:]:
            meanings[step.op].append(step.meaning)
        for op in ops:
            if not written and _is_ordering(op):
                found.append(op)
            for meaning in meanings[op]:
                written = _is_writing_back(meaning, written)
    return found


class _End(NamedTuple):
    """The part of a block after the last operation that acts.

    ``acting``: the number of steps before it; ``ops``: its operations, in order.
    """

    acting: int
    ops: list[Operation]


def _end_of(block: Block, steps: CacheSteps) -> _End:
    acting = len(steps)
    while acting and not acts(steps[acting - 1].meaning):
        acting -= 1
    last = steps[acting - 1].op if acting else None
    ops: list[Operation] = []
    op = block.last_op
    while op is not last and op is not None:
        ops.append(op)
        op = op.prev_op
    return _End(acting, ops[::-1])


def acts(meaning: Meaning) -> bool:
    """True of an operation that does more than wait."""
    return meaning[:_WAITS] != _NOTHING[:_WAITS] or meaning.is_barrier


_NOTHING = Meaning()
_WAITS = Meaning._fields.index("waits")
"""The field before the last, which is ``is_barrier``."""


def _is_ordering(op: Operation) -> bool:
    return type(op) is WaitOp and op.phase in _ORDER and not waits_of(op) & COPIES


def _followed(code: CacheCode) -> set[Block]:
    """The blocks after the end of which anything is done."""
    steps = code.steps
    acting = (block for block in code.blocks if any(acts(step.meaning) for step in steps[block]))
    return code.graph.backward.reachable_after(acting)


def _writing_back(code: CacheCode) -> dict[Block, bool]:
    """For the begin of each block: True where a write-back may be in flight."""
    steps = code.steps

    def carry(block: Block, written: bool) -> bool:
        for step in steps[block]:
            written = _is_writing_back(step.meaning, written)
        return written

    return solve(code.graph, dict.fromkeys(code.entries, False), carry, bool.__or__)


def _is_writing_back(meaning: Meaning, written: bool) -> bool:
    """True where a write-back may be in flight after an operation."""
    return meaning.writes_back is not None or (written and not meaning.waits & VMCNT)
