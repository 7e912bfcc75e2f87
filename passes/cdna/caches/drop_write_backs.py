"""The pass ``drop-write-backs``: no write-back where nothing can be dirty that it would have to
write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.code import dataflow
from fencewright.passes.analysis.caches import (
    VMCNT,
    AtBarriers,
    CacheCode,
    CacheStep,
    CacheSteps,
    StoreThrough,
)
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.cdna.caches.cache_pass import CachePass


@dataclass(frozen=True)
class DropWriteBacksPass(CachePass):
    """Remove each ``buffer_wbl2`` before which everything has been written back already.

    Runs before ``insert-waits``. The waits after a write-back stay.
    What has to be written back by a release at agent (system) scope: stores of this wave that
    by their policy bits did not get there, and what other waves stored and released to
    it without having written it back that far. At the start of a kernel that is nothing at agent
    scope; at system scope it may be anything, for an earlier kernel may have released to the
    agent alone. A forward analysis over the whole kernel; see ``stores_of``.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "drop-write-backs"

    def run(self, code: CacheCode) -> None:
        # The removed ones changed nothing: one with nothing to write back keeps every state.
        code.erase(code.known(droppable_write_backs), solve)


DONE, ISSUED, DIRTY = 0b00, 0b01, 0b11
"""The progress of this wave's stores on their way to the scope: the worst of all such stores.

DONE: to the scope. ISSUED: what takes it there has been issued, a wait will see its end.
DIRTY: not so.
"""

StoreStates: TypeAlias = int
"""The lattice of the analysis, made by ``stores_of``: bits, so that two states join by ``|``.

::

     ...    4     3     2     1     0
    | reading | system    | agent     |     a level: bit 0 ISSUED, both bits DIRTY

``reading``: counters with a read of a flag in flight, which may yet acquire something that a
write-back issued meanwhile does not cover.
"""

_SYSTEM, _READING = 2, 4
_ISSUED, _DIRTY = 0b0101, 0b1010
_LEVELS = _ISSUED | _DIRTY
_COVERED = {Visibility.WORKGROUP: 0b0000, Visibility.AGENT: 0b0011, Visibility.SYSTEM: 0b1111}
"""The levels that a write-back changes, by its reach."""


def stores_of(agent: int, system: int) -> StoreStates:
    """A state without pending reads: a level for each scope."""
    return agent | system << _SYSTEM


def level(state: StoreStates, reach: Visibility) -> int:
    """The level of one scope."""
    return (state if reach is Visibility.AGENT else state >> _SYSTEM) & DIRTY


AT_ENTRY = stores_of(DONE, DIRTY)


@dataclass(slots=True)
class Published:
    """The stores that publications of a work-group release, at each barrier and through flags."""

    barriers: AtBarriers
    flag: StoreStates = 0

    def add(self, step: CacheStep, state: StoreStates) -> None:
        """One more publication."""
        if step.meaning.is_barrier:
            self.barriers.leave(step.op, arrived(state))
        else:
            self.flag |= arrived(state)

    def snapshot(self) -> tuple[StoreStates, ...]:
        """All of it, as it is now."""
        return self.flag, *self.barriers.snapshot()

    def acquired(self, step: CacheStep) -> StoreStates:
        """The state that an acquire may receive; by a flag at system scope any of other kernels."""
        return self.barriers.found(step.op) if step.meaning.is_barrier else self.flag | AT_ENTRY


def arrived(state: StoreStates) -> StoreStates:
    """The state as others receive it: a store that is only in flight has not arrived."""
    outstanding = state & _ISSUED
    return outstanding | outstanding << 1


class Solution(NamedTuple):
    """This wave's stores to make available at the beginning of each block, and at releases."""

    entry: Mapping[Block, StoreStates]
    published: Published

    def states(self, block: Block, steps: CacheSteps) -> list[StoreStates]:
        """The states before each of the ``steps`` of a block, and where it ends."""
        state = self.entry[block]
        found = [state]
        for step in steps:
            state = after(step, state, self.published)
            found.append(state)
        return found


def solve(code: CacheCode) -> Solution:
    """The fixpoint, over publications too."""
    return _solve(code, code.steps)


def states_in(code: CacheCode) -> Mapping[Block, list[StoreStates]]:
    """The states before each step of a block, and where it ends."""
    return _states(code, code.known(solve), code.steps)


def _states(
    code: CacheCode, solution: Solution, steps: Mapping[Block, CacheSteps]
) -> Mapping[Block, list[StoreStates]]:
    return {block: solution.states(block, steps[block]) for block in code.blocks}


def _solve(code: CacheCode, steps: Mapping[Block, CacheSteps]) -> Solution:
    published = Published(AtBarriers(code.barriers_in_step))

    def carry(block: Block, state: StoreStates) -> StoreStates:
        for step in steps[block]:
            if step.meaning.publishes:
                published.add(step, state)
            state = after(step, state, published)
        return state

    begin = dict.fromkeys(code.entries, AT_ENTRY)
    entry = dataflow.solve(code.graph, begin, carry, int.__or__, shared=published.snapshot)
    return Solution(entry, published)


def droppable_write_backs(
    code: CacheCode, through: Mapping[Operation, StoreThrough] | None = None
) -> list[Operation]:
    """The write-backs that have nothing to write back, once the stores of ``through`` are so."""
    if not code.write_backs:
        return []
    steps = code.steps
    if through:
        steps = {block: [_as_if(step, through) for step in steps[block]] for block in code.blocks}
    states = _states(code, _solve(code, steps), steps) if through else code.known(states_in)
    return [
        step.op
        for block in {block_of(each.op) for each in code.write_backs}
        for step, state in zip(steps[block], states[block], strict=False)
        if is_redundant(step, state)
    ]


def _as_if(step: CacheStep, through: Mapping[Operation, StoreThrough]) -> CacheStep:
    found = through.get(step.op)
    return step if found is None else CacheStep(step.op, found.meaning)


def is_redundant(step: CacheStep, state: StoreStates) -> bool:
    """True if ``step`` is a write-back with nothing to write back."""
    reach = step.meaning.writes_back
    return reach is not None and level(state, reach) != DIRTY


def after(step: CacheStep, state: StoreStates, published: Published) -> StoreStates:
    """The state after an operation."""
    meaning = step.meaning
    if meaning.waits:
        state = _waited(meaning.waits, state)
    if meaning.writes_back is not None:
        return written_back(meaning.writes_back, state, published)
    if meaning.acquires:
        state |= published.acquired(step) | meaning.counters << _READING
    if meaning.stores is not None:
        state |= stored(meaning.stores)
    return state


def stored(reach: Visibility) -> StoreStates:
    """The state after a store with this reach."""
    return _STORED[reach]


_STORED = {
    Visibility.WORKGROUP: stores_of(DIRTY, DIRTY),
    Visibility.AGENT: stores_of(ISSUED, DIRTY),
    Visibility.SYSTEM: stores_of(ISSUED, ISSUED),
}


def written_back(reach: Visibility, state: StoreStates, published: Published) -> StoreStates:
    """The state after a write-back: dirty stores in flight, except any that a read acquires."""
    clean = issued(reach, state)
    if not is_reading(state):
        return clean
    dirty = state & ~clean
    return clean | (published.flag | AT_ENTRY) & (dirty | dirty >> 1)


def issued(reach: Visibility, state: StoreStates) -> StoreStates:
    """With nothing dirty that a write-back of a reach covers."""
    return state & ~(_DIRTY & _COVERED[reach])


def is_reading(state: StoreStates) -> bool:
    """True if a read of a flag is in flight."""
    return state >> _READING != 0


def _waited(waits: int, state: StoreStates) -> StoreStates:
    state &= ~(waits << _READING)
    if waits & VMCNT:
        dirty = state & _DIRTY
        state &= ~_LEVELS | dirty | dirty >> 1
    return state
