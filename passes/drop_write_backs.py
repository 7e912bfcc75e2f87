"""The pass ``drop-write-backs``: no write-back where nothing can be dirty that it would have to write."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Reach
from fencewright.passes.cdna_caches import VMCNT, CacheStep, WorkGroupSteps, work_groups
from fencewright.passes.kernel_frontend import successors


@dataclass(frozen=True)
class DropWriteBacksPass(ModulePass):
    """Remove each ``buffer_wbl2`` before which everything has been written back already.

    Runs on ``cdna.kernel`` before ``insert-waits``. The waits behind a write-back stay.
    What has to be written back by a release at agent (system) scope: stores of this wave that
    by their policy bits did not get there, and what other waves stored and handed on to it
    without having written it back that far. At the start of a kernel that is nothing at agent
    scope; at system scope it may be anything, for an earlier kernel may have released to the
    agent alone. A forward analysis over the whole kernel; see ``Stores``.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "drop-write-backs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in work_groups(op):
            for each in droppable_write_backs(group):
                each.detach()
                each.erase()


class Level(IntEnum):
    """How far what this wave has to make available has got: the worst of all such stores.

    DONE: to the scope. ISSUED: what takes it there has been issued, a wait will see its end.
    DIRTY: not so.
    """

    DONE = 0
    ISSUED = 1
    DIRTY = 2


class Stores(NamedTuple):
    """The lattice of the analysis: a level for each scope, joined by the greater one.

    ``reading``: counters with a read of a flag on its way, which may yet take in something
    behind the back of a write-back that is issued meanwhile.
    """

    agent: Level
    system: Level
    reading: int = 0

    def join(self, other: "Stores") -> "Stores":
        """What holds on either path."""
        reading = self.reading | other.reading
        if reading == self.reading:
            return self.at_least(other.agent, other.system)
        return Stores(max(self.agent, other.agent), max(self.system, other.system), reading)

    def at_least(self, agent: Level, system: Level) -> "Stores":
        """With at least these levels."""
        if agent <= self.agent and system <= self.system:
            return self
        return Stores(max(self.agent, agent), max(self.system, system), self.reading)

    def level(self, reach: Reach) -> Level:
        """The level of one scope."""
        return self.agent if reach is Reach.AGENT else self.system


AT_ENTRY = Stores(Level.DONE, Level.DIRTY)
_CLEAN = Stores(Level.DONE, Level.DONE)


@dataclass(slots=True)
class Published:
    """What publications of a work-group hand on, through barriers and through flags."""

    barrier: Stores = _CLEAN
    flag: Stores = _CLEAN

    def add(self, step: CacheStep, state: Stores) -> None:
        """One more publication. What is only on its way is not there yet."""
        handed = Stores(_arrived(state.agent), _arrived(state.system))
        if step.is_barrier:
            self.barrier = self.barrier.join(handed)
        else:
            self.flag = self.flag.join(handed)

    def taken_in(self, step: CacheStep) -> Stores:
        """What a take-in may receive; by a flag at system scope anything, from other kernels."""
        return self.barrier if step.is_barrier else self.flag.at_least(Level.DONE, Level.DIRTY)


def _arrived(level: Level) -> Level:
    return Level.DONE if level is Level.DONE else Level.DIRTY


class Solution(NamedTuple):
    """What this wave has to make available, and what is handed on.

    ``states``: for each block before each of its steps, and where it ends.
    """

    states: dict[Block, list[Stores]]
    published: Published


def solve(group: WorkGroupSteps) -> Solution:
    """The fixpoint, over publications too."""
    published = Published()
    while True:
        entry = _solve(group, published)
        found = Published(published.barrier, published.flag)
        states: dict[Block, list[Stores]] = {}
        for block, steps in zip(group.blocks, group.steps, strict=True):
            state = entry[block]
            states[block] = before = [state]
            for step in steps:
                if step.publishes:
                    found.add(step, state)
                state = after(step, state, published)
                before.append(state)
        if found == published:
            return Solution(states, published)
        published = found


def droppable_write_backs(group: WorkGroupSteps) -> list[Operation]:
    """The write-backs that have nothing to write back."""
    if all(step.effect.writes_back is None for steps in group.steps for step in steps):
        return []
    states, _ = solve(group)
    return [
        step.op
        for block, steps in zip(group.blocks, group.steps, strict=True)
        for step, state in zip(steps, states[block], strict=False)
        if is_redundant(step, state)
    ]


def is_redundant(step: CacheStep, state: Stores) -> bool:
    """Whether ``step`` is a write-back with nothing to write back."""
    reach = step.effect.writes_back
    return reach is not None and state.level(reach) is not Level.DIRTY


def after(step: CacheStep, state: Stores, published: Published) -> Stores:
    """The state behind ``step``."""
    effect = step.effect
    if effect.writes_back is not None:
        return written_back(effect.writes_back, state, published)
    if step.takes_in:
        state = state.join(published.taken_in(step))
        if not step.is_barrier and state.reading | step.counters != state.reading:
            state = Stores(state.agent, state.system, state.reading | step.counters)
    if effect.stores is not None:
        state = state.at_least(
            _stored(effect.stores, Reach.AGENT), _stored(effect.stores, Reach.SYSTEM)
        )
    if step.waits:
        return _waited(step.waits, state)
    return state


def _stored(stored: Reach, reach: Reach) -> Level:
    return Level.ISSUED if stored >= reach else Level.DIRTY


def written_back(reach: Reach, state: Stores, published: Published) -> Stores:
    """What is dirty is on its way, but for what a flag on its way may have taken in."""
    behind = published.flag.at_least(Level.DONE, Level.DIRTY) if state.reading else _CLEAN
    agent = _sent(state.agent, behind.agent)
    system = state.system if reach is Reach.AGENT else _sent(state.system, behind.system)
    return Stores(agent, system, state.reading)


def _sent(level: Level, behind: Level) -> Level:
    return max(Level.ISSUED, behind) if level is Level.DIRTY else level


def _waited(waits: int, state: Stores) -> Stores:
    agent, system, before = state
    reading = before & ~waits
    if waits & VMCNT and (agent is Level.ISSUED or system is Level.ISSUED):
        return Stores(_completed(agent), _completed(system), reading)
    return state if reading == before else Stores(agent, system, reading)


def _completed(level: Level) -> Level:
    return Level.DONE if level is Level.ISSUED else level


def _solve(group: WorkGroupSteps, published: Published) -> dict[Block, Stores]:
    """The state where every block begins, a fixpoint: states only grow, of a finite lattice."""
    entry = dict.fromkeys(group.entries, AT_ENTRY)
    changed = True
    while changed:
        changed = False
        for block, steps in zip(group.blocks, group.steps, strict=True):
            state = entry.get(block)
            targets = successors(block)
            if state is None or not targets:
                continue
            state = carried(steps, state, published)
            for target in targets:
                known = entry.get(target)
                joined = state if known is None else known.join(state)
                if joined != known:
                    entry[target] = joined
                    changed = True
    return entry


def carried(steps: Iterable[CacheStep], state: Stores, published: Published) -> Stores:
    """The state at the end of a block."""
    for step in steps:
        state = after(step, state, published)
    return state
