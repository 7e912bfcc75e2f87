"""The pass ``drop-last-waits``: no wait after which a wave does nothing that it could order."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import PHASES, WaitOp
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.caches import COPIES, VMCNT, CacheCode, Meaning, waits_of
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
    waits = {block: set(_ordering_waits(block)) for block in code.blocks}
    if not any(waits.values()):
        return []
    followed, writing = _followed(code), _writing_back(code)
    found: list[Operation] = []
    for block in code.blocks:
        if not waits[block] or block in followed:
            continue
        written = writing.get(block, False)
        alone: list[Operation] = []
        meanings = _meanings(code, block)
        for op in operations(block):
            if not written and type(op) is WaitOp and op in waits[block]:
                alone.append(op)
            for meaning in meanings.get(op, ()):
                if acts(meaning):
                    alone.clear()
                written = _is_writing_back(meaning, written)
        found += alone
    return found


def acts(meaning: Meaning) -> bool:
    """True of an operation that does more than wait."""
    return meaning[:_WAITS] != _NOTHING[:_WAITS] or meaning.is_barrier


_NOTHING = Meaning()
_WAITS = Meaning._fields.index("waits")
"""The field before the last, which is ``is_barrier``."""


def _ordering_waits(block: Block) -> Iterator[WaitOp]:
    for op in operations(block):
        if type(op) is WaitOp and op.phase in _ORDER and not waits_of(op) & COPIES:
            yield op


def _meanings(code: CacheCode, block: Block) -> dict[Operation, list[Meaning]]:
    found: dict[Operation, list[Meaning]] = {}
    for step in code.steps[block]:
        found.setdefault(step.op, []).append(step.meaning)
    return found


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
