"""Runs kernels lane by lane: every wave of the work-groups that are resident, over arrays.

Waves take turns by segments: those first that are furthest behind, so that most run together; a
wave that polls lets the others go first. The lanes of a wave run together as hardware has them
(``convergence``), so that a wave's instructions count as a profiler counts them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.sequence import is_ptx
from fencewright.simulator.execution import byte_access
from fencewright.simulator.execution.byte_access import Bytes
from fencewright.simulator.execution.convergence import Convergence, Rows
from fencewright.simulator.execution.lanes import LaneFlags, Numbers, lane_bits
from fencewright.simulator.execution.launch import (
    FaultError,
    Hang,
    Launch,
    LaunchError,
    Memory,
    Waiting,
)
from fencewright.simulator.execution.program import (
    Argument,
    Compute,
    CopyStep,
    CrossLane,
    EndLane,
    Executed,
    FenceInstruction,
    FenceStep,
    Jump,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Merge,
    NamedBarrierStep,
    Observer,
    Register,
    Special,
    Step,
    Stop,
    TensorStep,
    TileStep,
    Unknown,
    Values,
)
from fencewright.simulator.execution.rounds import Rounds
from fencewright.simulator.execution.segments import (
    EXIT,
    Join,
    Segment,
    address_registers,
    moved_by,
    pauses_before,
    place_of,
    segments_of,
    written_by,
)
from fencewright.simulator.execution.spaces import (
    Buffers,
    Located,
    OwnMemory,
    Unwritten,
    UnwrittenRead,
)
from fencewright.simulator.execution.unknown_values import Origins
from fencewright.simulator.execution.values import WORD, signed
from fencewright.simulator.semantics import faults, tensors
from fencewright.simulator.semantics.named_barriers import (
    Barrier,
    Meeting,
    NamedBarriers,
    Undefined,
)
from fencewright.simulator.semantics.operands import RESERVED, reserved_at

LIMIT = 1_000_000
"""Instructions that one wave executes at most, where not said otherwise."""

_ROOM = 1 << 14
"""Waves that run at once where not said otherwise: more than any chip has room for."""

_TURN = 64
"""After so many segments the wave runs that has waited longest."""

_TICKS = 64
"""Ticks of a clock in each segment."""

_IDLE = 8
"""After so many segments that only polled, other lanes of the waves run."""

_PATIENCE = 1_000
"""After so many segments without a store a wave that is held goes on."""

_STALE = 50_000
"""After so many segments without a store, other lanes of the waves run."""


@dataclass(slots=True)
class Pauses:
    """The pauses of waves, at one of which a wave may be held until nobody else goes on.

    ``at``: the instructions before which they pause. ``held``: a wave, by its number in the launch,
    and which of its pauses, 0 for its beginning. ``seen``: of each wave, by segment, its first and
    its last pause there. ``turns``: the segments that were run.
    """

    at: frozenset[int] = frozenset()
    held: tuple[int, int] | None = None
    seen: dict[int, dict[int, tuple[int, int]]] = field(
        default_factory=dict[int, dict[int, tuple[int, int]]]
    )
    counts: Counter[int] = field(default_factory=Counter[int])
    turns: int = 0


@dataclass(frozen=True, slots=True)
class LateCopies:
    """Copies that are pending as long as possible: until the observer ends them.

    ``pending``: by the number of a wave in the launch, its copies to shared memory and those
    outwards, from the oldest on.
    """

    pending: dict[tuple[int, bool], list[Callable[[], None]]] = field(
        default_factory=dict[tuple[int, bool], list[Callable[[], None]]]
    )

    def finish(self, wave: int, outwards: bool) -> None:
        """Do the oldest copy of a wave in one direction, if it is not done yet."""
        if own := self.pending.get((wave, outwards)):
            own.pop(0)()

    def finish_all(self, waves: Sequence[int]) -> None:
        """Do all copies of waves that end."""
        for key in product(waves, (False, True)):
            for copy in self.pending.pop(key, ()):
                copy()


def execute(
    program: LaneProgram,
    launch: Launch,
    memory: Memory,
    observe: Observer,
    *,
    limit: int = LIMIT,
    resident: int | None = None,
    in_place: bool = False,
    with_parts: bool = False,
    is_reverse: bool = False,
    needs_results: bool = False,
    pauses: Pauses | None = None,
    copies: LateCopies | None = None,
    unwritten: Unwritten | None = None,
) -> Memory:
    """Run a launch on ``memory``, of ``launch.allocate``, and give the memory that it leaves.

    ``observe`` is called with every memory instruction and fence, in the order of execution.
    ``limit``: instructions that each wave may execute. ``resident``: work-groups that run at once
    (None: as many as any chip has room for); the next begins where one has ended. ``in_place``:
    in ``memory`` itself, not in a copy. ``with_parts``: the observer is called with each part of an
    instruction. ``is_reverse``: last work-groups and waves come first. ``needs_results``: all bytes
    of the buffers are known at the end. ``pauses``: are noted in it. ``copies``: keeps copies
    to and from shared memory (None: they are done at once). ``unwritten``: notes reads of shared
    memory that nobody wrote. Raises ``LaunchError``, also
    where an address comes of data that was not given.
    """
    found = memory if in_place else memory.copy()
    execution = _Execution(
        program, launch, found, observe, limit, resident, with_parts, is_reverse,
        pauses or Pauses(), copies, unwritten,
    )  # fmt: skip
    if unwritten is not None:
        unwritten.watch(execution.shared)
    with np.errstate(all="ignore"):
        execution.run()
    if needs_results and (problem := execution.unknown_result()):
        raise LaunchError(problem)
    return found


_WORD = np.int64(0xFFFFFFFF)
_BARRIERS = 16
"""Barriers of a work-group. Source: PTX ISA, bar."""
_NO_BARRIER, _OF_CLUSTER, _NAMED = -1, _BARRIERS, _BARRIERS + 1
"""The number of no barrier, of that of the cluster, and of the one that a wave has joined."""
_OUTSIDE = (MemorySpace.GLOBAL, MemorySpace.SCALAR)
"""The spaces whose addresses are those of buffers."""

_Registers: TypeAlias = dict[Register, Values]


class _Execution:
    """One launch. Waves are numbered through the work-groups that are resident."""

    has_votes = stored = False

    def __init__(
        self,
        program: LaneProgram,
        launch: Launch,
        memory: Memory,
        observe: Observer,
        limit: int,
        resident: int | None,
        with_parts: bool,
        is_reverse: bool,
        pauses: Pauses,
        copies: LateCopies | None,
        unwritten: Unwritten | None,
    ) -> None:
        self.program, self.launch, self.memory = program, launch, memory
        self.observe, self.limit = observe, limit
        self.with_parts, self.is_reverse = with_parts, is_reverse
        self.pauses, self.copies, self.unwritten = pauses, copies, unwritten
        self.segments = segments_of(program, pauses.at)
        self.pausing = frozenset(
            number
            for number, each in enumerate(self.segments)
            if each.steps and pauses_before(each.steps[0], pauses.at)
        )
        self.group_waves = -(-launch.threads // program.lanes)
        self.cluster = prod(launch.cluster)
        """Work-groups of a cluster, which are in places side by side."""
        room = resident or max(_ROOM // self.group_waves, 1)
        self.slots = min(launch.groups, max(room // self.cluster, 1) * self.cluster)
        self.order = launch.order_of_groups()
        waves, lanes = self.slots * self.group_waves, program.lanes
        self.waves = waves
        self.lanes = Convergence(waves, lanes)
        self.registers: list[Values | None] = [None] * program.registers
        self.constant = _constants(program, memory)
        self.group: Numbers = np.zeros(self.slots, dtype=np.int64)
        self.slot_of: Numbers = np.repeat(np.arange(self.slots), self.group_waves)
        turns = np.arange(self.group_waves)[:: -1 if is_reverse else 1]
        self.wave_of: Numbers = np.tile(turns, self.slots)
        self.next_group = 0
        self.buffers = Buffers(memory)
        self.origins = _origins(program, waves)
        self.addressing = address_registers(program)
        self.not_given = _not_given(program, memory, self.addressing)
        resources = program.resources
        self.shared = OwnMemory(
            self.slots,
            _room_of_shared(program, resources.shared_bytes + launch.shared),
            "shared",
        )
        self.private = OwnMemory(waves * lanes, resources.private_bytes, "local")
        self.at_barrier = np.full((waves, lanes), _NO_BARRIER, dtype=np.int8)
        self.barrier: Numbers = np.zeros(waves, dtype=np.int64)
        self.needed, self.arrived = np.zeros((2, self.slots, _BARRIERS), dtype=np.int64)
        self.phase: Numbers = np.zeros(self.slots // self.cluster, dtype=np.int64)
        self.own_phase: Numbers = np.zeros((waves, lanes), dtype=np.int64)
        """Of each lane the phase of the barrier of its cluster that it has arrived at."""
        self.yes, self.votes, self.voters = np.zeros((3, waves, lanes), dtype=np.int64)
        self.named: dict[int, NamedBarriers] = {}
        """By the place of a work-group."""
        self.came: list[Numbers] = []
        self.polls = [_last_load(each) for each in self.segments]
        self.polled_at: Numbers = np.full(waves, -1)
        self.rounds = Rounds(self.segments, waves)
        self.executed: Numbers = np.zeros(waves, dtype=np.int64)
        self.polled: Numbers = np.zeros(waves, dtype=np.int64)
        self.last_run: Numbers = np.zeros(len(self.segments), dtype=np.int64)
        self.rank: Numbers = np.array([each.rank for each in self.segments])
        self.runs = self.idle = self.stale = 0
        thread = np.arange(self.group_waves * lanes).reshape(self.group_waves, lanes)
        x, y, _ = launch.block
        self.thread = [thread % x, thread // x % y, thread // (x * y)]
        self.exists: LaneFlags = (thread < launch.threads)[turns]
        self._begin(np.arange(self.slots))

    def unknown_result(self) -> str:
        """A buffer with unknown contents at the end, and their origin; "" for none."""
        left = None if self.origins is None else self.origins.left_in(self.memory.bytes)
        if left is None:
            return ""
        at, origin = left
        name = next(
            each.name for each in self.memory.buffers if each.start <= at < each.start + each.size
        )
        return f"{name} depends on {origin}"

    # The running waves

    def run(self) -> None:
        """Run until all work-groups have ended."""
        while (waves := np.flatnonzero(self.lanes.segment != EXIT)).size:
            rows = self._next(waves if self.pauses.held is None else self._not_held(waves))
            number = int(self.lanes.segment[rows[0]])
            self.pauses.turns += 1
            self._look_round(int(rows[0]), number)
            self.rounds.ran[rows] = True
            if number in self.pausing:
                self._note_pause(number, rows)
            self._run(self.segments[number], rows)
            self._account(number, rows)
        if self.lanes.alive.any():
            raise self._hang()

    def _next(self, waves: Rows) -> Rows:
        """The waves that run now, all at the same segment."""
        segments = self.lanes.segment[waves]
        self.runs += 1
        polling = self.polled[waves] > 1
        if self.runs % _TURN == 0 or polling.all():
            key = self.last_run[segments]
        else:
            key = self.rank[segments] + polling * len(self.segments)
        chosen = segments[np.argmin(key)]
        return waves[segments == chosen]

    def _look_round(self, wave: int, segment: int) -> None:
        """Raise ``Hang`` where everything is as it was, and nothing could go on instead."""
        rounds = self.rounds
        if self.runs >= rounds.until:
            self._note_round(wave, segment)
        if rounds.at != (wave, segment) or self.named:
            return
        running = self.lanes.segment != EXIT
        if not rounds.ran[running].all():
            return
        memory = (self.memory.bytes, self.shared.bytes, self.private.bytes)
        if not rounds.is_round(self.registers, self._state(), memory):
            return
        split = np.flatnonzero(self.lanes.is_split(np.arange(self.waves)) & running)
        if self.pauses.held is not None:
            self.pauses.held = None
        elif not split.size or rounds.turned() > self.lanes.most_places:
            raise self._hang()
        for row in split:
            self.lanes.turn(int(row))
        self._note_round(wave, segment)

    def _note_round(self, wave: int, segment: int) -> None:
        at = wave, segment
        # What is loaded from now on is loaded in each round.
        self.polled_at[:] = -1
        self.rounds.note(self.runs, at, self.lanes.places(), self.registers, self._state())

    def _state(self) -> Iterator[NDArray[Any]]:
        """All that decides the next segments, but for registers and memory."""
        yield from self.lanes.state()
        yield from (self.at_barrier, self.needed, self.arrived, self.group, self.votes, self.voters)
        yield self.own_phase - self.phase[self.slot_of // self.cluster][:, None]

    def numbers(self, rows: Rows) -> Numbers:
        """The numbers of waves in the launch."""
        return self.group[self.slot_of[rows]] * self.group_waves + self.wave_of[rows]

    def _note_pause(self, segment: int, rows: Rows) -> None:
        pauses = self.pauses
        for wave in self.numbers(rows).tolist():
            number = pauses.counts[wave] = pauses.counts[wave] + 1
            seen = pauses.seen.setdefault(wave, {})
            seen[segment] = seen.get(segment, (number,))[0], number

    def _not_held(self, waves: Rows) -> Rows:
        """The waves without the one that is held: until the others have ended, wait or poll."""
        pauses = self.pauses
        assert pauses.held is not None
        wave, pause = pauses.held
        is_wave = self.numbers(waves) == wave
        if not is_wave.any():
            return waves
        row, others = int(waves[is_wave][0]), waves[~is_wave]
        is_there = (
            int(self.lanes.segment[row]) in self.pausing and pauses.counts[wave] == pause - 1
            if pause
            else not self.executed[row]
        )
        if not is_there:
            return waves
        polls = bool((self.polled[others] > 1).all()) and self.idle >= _IDLE + len(others)
        if not others.size or polls or self.stale >= _PATIENCE:
            pauses.held = None
            return waves
        return others

    def _account(self, number: int, rows: Rows) -> None:
        segment = self.segments[number]
        self.last_run[number] = self.runs
        self.polled[rows] = self.polled[rows] + 1 if segment.spins else 0
        self.executed[rows] += len(segment.steps) + 1
        if self.executed[rows].max() > self.limit:
            fault = faults.endless(self.limit, "instructions of a wave")
            row = int(rows[0])
            thread = int(self.wave_of[row]) * self.program.lanes
            who = faults.thread(thread, int(self.group[self.slot_of[row]]))
            raise FaultError(fault, self._place(segment, row), "", who)
        self.idle = 0 if self.stored or not segment.spins else self.idle + 1
        self.stale = 0 if self.stored else self.stale + 1
        self.stored = False
        while self.came:
            self._release(self.came.pop())
        if (poll := self.polls[number]) is not None:
            self.polled_at[rows] = poll
        if (self.idle and self.idle % _IDLE == 0) or (self.stale and self.stale % _STALE == 0):
            every = np.arange(self.waves)
            for row in every[self.lanes.is_split(every) & (self.lanes.segment != EXIT)]:
                self.lanes.turn(int(row))

    def _begin(self, slots: Numbers) -> None:
        """The next work-groups begin in places that are free."""
        new = np.arange(self.next_group, min(self.next_group + len(slots), self.launch.groups))
        slots = slots[: len(new)]
        if not len(slots):
            return
        self.next_group += len(new)
        self.group[slots] = self.order[self.launch.groups - 1 - new if self.is_reverse else new]
        self.arrived[slots] = 0
        for slot in slots.tolist():
            self.named.pop(slot, None)
        self.shared.clear(slots)
        if self.unwritten is not None:
            self.unwritten.clear(slots)
        rows = (slots[:, None] * self.group_waves + np.arange(self.group_waves)).reshape(-1)
        lanes = self.program.lanes
        self.private.clear((rows[:, None] * lanes + np.arange(lanes)).reshape(-1))
        self.executed[rows] = self.polled[rows] = 0
        self.own_phase[rows] = self.phase[self.slot_of[rows] // self.cluster][:, None]
        self.lanes.begin(rows, np.tile(self.exists, (len(slots), 1)))

    # One segment

    def _run(self, segment: Segment, rows: Rows) -> None:
        run, steps = _Run(self, rows), _STEPS
        if self.origins is not None:
            run, steps = _RunOfOrigins(self, rows, self.origins), _STEPS_OF_ORIGINS
        for step in segment.steps:
            steps[type(step)](run, step)
        for register in segment.stored:
            if register not in self.constant:
                run.store(register, run.values[register], run.active, register)
        match segment.end:
            case Jump(block, moves):
                run.move(moves, run.active)
                self.lanes.jump(rows, block)
            case LaneBranch():
                self._branch(run, segment, segment.end)
            case EndLane():
                self.lanes.end(rows)
                if self.copies is not None:
                    self.copies.finish_all(self.numbers(rows).tolist())
                self._after_end(rows)
            case Join(following):
                self._join(run, segment, following)

    def _branch(self, run: "_Run", segment: Segment, branch: LaneBranch) -> None:
        run.need(branch.condition, "a branch", branch.place)
        condition = np.broadcast_to(run.read(branch.condition), run.active.shape) != 0
        taken = run.active & condition
        other = run.active & ~condition
        some_take, some_do_not = taken.any(axis=1), other.any(axis=1)
        if not (some_take.any() and some_do_not.any()):
            jump = branch.taken if some_take.any() else branch.other
            run.move(jump.moves, run.active)
            self.lanes.jump(run.rows, jump.block)
            return
        moved = [(run.sources(branch.taken.moves), taken), (run.sources(branch.other.moves), other)]
        for values, lanes in moved:
            for register, value, source in values:
                run.store(register, value, lanes, source)
        both = some_take & some_do_not
        for rows, block in ((some_take & ~both, branch.taken), (some_do_not & ~both, branch.other)):
            if rows.any():
                self.lanes.jump(run.rows[rows], block.block)
        if both.any():
            self.lanes.diverge(
                run.rows[both], taken[both], branch.taken.block, branch.other.block, segment.meets
            )

    def _join(self, run: "_Run", segment: Segment, following: int) -> None:
        step = segment.steps[-1]
        assert isinstance(step, FenceStep | NamedBarrierStep)
        is_named = isinstance(step, NamedBarrierStep)
        numbers = np.array(_NAMED) if is_named else run.barrier(step)
        self.at_barrier[run.rows] = np.where(run.active, numbers, self.at_barrier[run.rows])
        self.barrier[run.rows] = step.instruction
        self.lanes.block(run.rows, following)
        self._release(np.unique(self.slot_of[run.rows]))

    def _release(self, slots: Numbers) -> None:
        """Lanes go on that wait at a barrier to which all that it needs have come."""
        lanes = (self.slots, self.group_waves, self.program.lanes)
        alive = self.lanes.alive.reshape(lanes)[slots]
        at = self.at_barrier.reshape(lanes)[slots]
        highest = int(at.max())
        for number in range(min(highest + 1, _BARRIERS)):
            there = alive & (at == number)
            needed = self.needed[slots, number]
            here: Numbers = np.count_nonzero(there, axis=(1, 2))
            everyone: Numbers = np.count_nonzero(alive, axis=(1, 2))
            expected = np.where(needed > 0, needed, everyone)
            complete = (here > 0) & (here + self.arrived[slots, number] >= expected)
            if complete.any():
                self.arrived[slots[complete], number] = 0
                if self.has_votes:
                    self._count_votes(slots[complete], there[complete])
                self._go_on(self._rows_of(slots[complete]), there[complete])
        if highest == _NAMED:
            self._release_named(slots)
        if self.cluster > 1 or highest >= _OF_CLUSTER:
            for each in np.unique(slots // self.cluster).tolist():
                self._release_cluster(each)

    def _count_votes(self, slots: Numbers, there: LaneFlags) -> None:
        """The votes of the lanes that a barrier has joined, one result a lane."""
        rows = self._rows_of(slots)
        lanes = there.reshape(len(rows), -1)
        yes = (self.yes[rows] & lanes).reshape(there.shape)
        for of, counted in ((self.votes, yes), (self.voters, there)):
            count = np.repeat(np.count_nonzero(counted, axis=(1, 2)), self.group_waves)
            of[rows] = np.where(lanes, count[:, None], of[rows])
        self.yes[rows] &= ~lanes

    def _release_cluster(self, number: int) -> None:
        rows = self._rows_of(number * self.cluster + np.arange(self.cluster))
        alive, phase = self.lanes.alive[rows], self.phase[number]
        if alive.any() and (self.own_phase[rows] > phase)[alive].all():
            self.phase[number] = phase = phase + 1
        there = (self.at_barrier[rows] == _OF_CLUSTER) & (self.own_phase[rows] <= phase) & alive
        if there.any():
            self._go_on(rows, there)

    def _release_named(self, slots: Numbers) -> None:
        for row in self._rows_of(slots).tolist():
            there = (self.at_barrier[row] == _NAMED) & self.lanes.alive[row]
            if there.any() and (barriers := self.named[int(self.slot_of[row])]).may_pass(row):
                barriers.passed(row)
                self._go_on(np.array([row]), there[None])

    def named_of(self, slot: int) -> NamedBarriers:
        """The barriers of the work-group in a place; all of its cluster begin at once."""
        if slot not in self.named:
            slots = self.in_clusters(np.array([slot])).tolist()
            alive = self.lanes.alive.reshape(self.slots, self.group_waves, -1)[slots].any(axis=2)
            waves: list[int] = alive.sum(axis=1).tolist()
            cluster = Barrier(sum(map(bool, waves))) if self.cluster > 1 else None
            for own, count in zip(slots, waves, strict=True):
                self.named[own] = NamedBarriers(count, cluster, own)
        return self.named[slot]

    def _go_on(self, rows: Rows, lanes: LaneFlags) -> None:
        lanes = lanes.reshape(len(rows), -1)
        self.at_barrier[rows] = np.where(lanes, _NO_BARRIER, self.at_barrier[rows])
        self.lanes.release(rows, lanes)

    def in_clusters(self, slots: Numbers) -> Numbers:
        """The places of the clusters that work-groups in some places are of."""
        clusters = np.unique(slots // self.cluster)
        return (clusters[:, None] * self.cluster + np.arange(self.cluster)).reshape(-1)

    def _rows_of(self, slots: Numbers) -> Rows:
        return (slots[:, None] * self.group_waves + np.arange(self.group_waves)).reshape(-1)

    def _after_end(self, rows: Rows) -> None:
        for row in rows.tolist() if self.named else ():
            if (barriers := self.named.get(int(self.slot_of[row]))) is not None:
                barriers.ended(row)
        slots = self.in_clusters(self.slot_of[rows])
        alive = self.lanes.alive.reshape(self.slots, -1)[slots].any(axis=1)
        if alive.any():
            self._release(slots[alive])
        ended = np.repeat(~alive.reshape(-1, self.cluster).any(axis=1), self.cluster)
        if self.next_group < self.launch.groups and ended.any():
            self._begin(slots[ended])

    def _place(self, segment: Segment, wave: int) -> SourceLocation | None:
        """The place of a segment, or that of the last access of a wave before it."""
        found = place_of(self.program, segment)
        if found is None and (last := int(self.polled_at[wave])) >= 0:
            return self.program.instructions[last].place
        return found

    def _hang(self) -> LaunchError:
        """Nothing changes any more: all lanes wait at barriers, or poll what nobody stores."""
        found: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        polls = (self.lanes.segment != EXIT) & (self.polled_at >= 0)
        for at, wave in (
            *((self.polled_at, each) for each in np.flatnonzero(polls)),
            *((self.barrier, each) for each in np.flatnonzero((self.at_barrier >= 0).any(axis=1))),
        ):
            waves = found.setdefault((int(at[wave]), at is self.polled_at), [])
            waves.append((int(self.group[self.slot_of[wave]]), int(self.wave_of[wave])))
        waiting = [Waiting(*key, tuple(waves)) for key, waves in sorted(found.items())]
        if not waiting:
            wave = int(np.argmax(self.lanes.segment != EXIT))
            place = place_of(self.program, self.segments[int(self.lanes.segment[wave])])
            return LaunchError("hang: a loop without accesses does not end", place)
        return Hang(waiting, self._name, self.program.instructions[waiting[0].instruction].place)

    def _name(self, number: int) -> str:
        found = self.program.instructions[number]
        return f"{found.text} ({found.place})" if found.place else found.text


class _NotGiven:
    """The bytes of a memory that are no data given or written.

    What is written is noted byte by byte, in an array of zeros that takes room only where it is.
    """

    def __init__(self, memory: Memory) -> None:
        self._starts: Numbers = np.array([each.start for each in memory.buffers], dtype=np.int64)
        self._given: LaneFlags = np.array([each.is_known for each in memory.buffers])
        self._written: LaneFlags = np.zeros(len(memory.bytes), dtype=np.bool_)

    def write(self, places: Numbers, width: int) -> None:
        """Note the bytes written from each place on."""
        for n in range(width):
            self._written[places + n] = True

    def write_all(self, first: int, count: int) -> None:
        """Note that so many bytes are written."""
        self._written[first : first + count] = True

    def at(self, places: Numbers) -> LaneFlags:
        """True of places whose bytes are unknown."""
        buffer = np.searchsorted(self._starts, places, side="right") - 1
        return ~(self._given[buffer] | self._written[places])


def _not_given(
    program: LaneProgram, memory: Memory, addressing: frozenset[Register]
) -> _NotGiven | None:
    """The bytes that are not given data; None if no address comes from a loaded value."""
    loaded = (
        step.result
        for block in program.blocks
        for step in block.steps
        if isinstance(step, MemoryStep)
    )
    if all(each.is_known for each in memory.buffers) or not addressing.intersection(
        each for each in loaded if each is not None
    ):
        return None
    return _NotGiven(memory)


def _origins(program: LaneProgram, waves: int) -> Origins | None:
    """The origins of unknown values; None of a kernel without any."""
    steps = (step for block in program.blocks for step in block.steps)
    shape = (waves, program.lanes)
    return Origins(shape) if any(isinstance(step, Unknown) for step in steps) else None


def _room_of_shared(program: LaneProgram, size: int) -> int:
    """The bytes of shared memory of a work-group, with those that the system has if it uses any."""
    steps = (step for block in program.blocks for step in block.steps)
    is_used = any(isinstance(each, Special) and each.value is LaneValue.RESERVED for each in steps)
    return reserved_at(size) + RESERVED if is_used else size


def _last_load(segment: Segment) -> int | None:
    """The last memory instruction of a segment."""
    steps = (each.instruction for each in reversed(segment.steps) if isinstance(each, MemoryStep))
    return next(steps, None)


def _constants(program: LaneProgram, memory: Memory) -> dict[Register, Values]:
    """The registers that all lanes have alike from the beginning."""
    found: dict[Register, Values] = {}
    writes = Counter(
        register
        for block in program.blocks
        for register in (*map(written_by, block.steps), *moved_by(block.end))
    )
    for block in program.blocks:
        for step in block.steps:
            if writes[written_by(step)] > 1:
                continue
            if isinstance(step, Compute) and not step.operands:
                found[step.result] = step.compute()
            elif isinstance(step, Argument):
                found[step.result] = step.of(memory.values)
    return found


class _Run:
    """A segment that some waves run: ``active`` are their lanes, ``values`` their results."""

    def __init__(self, execution: _Execution, rows: Rows) -> None:
        self.execution = execution
        self.rows = rows
        self.is_all = len(rows) == execution.waves
        active = execution.lanes.active
        self.active: LaneFlags = active.copy() if self.is_all else active[rows]
        self.all_active = bool(self.active.all())
        self.values: _Registers = {}

    # Registers

    def read(self, register: Register) -> Values:
        """The lanes' values of a register."""
        found = self.values.get(register)
        if found is None:
            found = self.execution.constant.get(register)
        if found is None:
            stored = self.execution.registers[register]
            if stored is None:
                raise LaunchError(
                    f"{self.execution.program.name} reads a register that nothing has set: set it"
                )
            found = stored if self.is_all else stored[..., self.rows, :]
            self.values[register] = found
        return found

    def store(self, register: Register, value: Values, lanes: LaneFlags, source: Register) -> None:
        """Keep the value of ``source`` in a register, in some of the lanes, for later segments."""
        registers, shape = self.execution.registers, self.execution.lanes.active.shape
        pieces = value.shape[:-2] if value.ndim > 2 else ()
        kept = registers[register]
        everywhere = lanes is self.active and self.all_active
        if register in self.execution.program.scalars:
            shape, lanes = (shape[0], 1), np.any(lanes, axis=1)[:, None]
        if kept is None:
            kept = registers[register] = np.zeros((*pieces, *shape), dtype=np.uint64)
        if self.is_all:
            # Never in place: others may still have the array from before.
            registers[register] = (
                np.broadcast_to(value, kept.shape).copy()
                if everywhere
                else np.where(lanes, value, kept)
            )
        elif everywhere:
            kept[..., self.rows, :] = value
        else:
            kept[..., self.rows, :] = np.where(lanes, value, kept[..., self.rows, :])

    def sources(
        self, moves: Sequence[tuple[Register, Register]]
    ) -> list[tuple[Register, Values, Register]]:
        """The values that moves will write, read before any of them is executed."""
        return [(to, self.read(source), source) for to, source in moves if to != source]

    def move(self, moves: Sequence[tuple[Register, Register]], lanes: LaneFlags) -> None:
        """Copy registers, all at once."""
        for register, value, source in self.sources(moves):
            self.store(register, value, lanes, source)

    def full(self, value: Values) -> Values:
        """A value with all axes."""
        shape = (*value.shape[:-2], *self.active.shape) if value.ndim > 2 else self.active.shape
        return np.broadcast_to(value, shape)

    # Unknown values, of which a kernel without them has none

    def need(
        self, register: Register | None, what: str, place: SourceLocation | None,
        lanes: LaneFlags | None = None,
    ) -> None:  # fmt: skip
        """Nothing: every value is known."""

    def accessed(self, step: MemoryStep, at: Numbers, bytes: Bytes, active: LaneFlags) -> None:
        """Nothing: every value is known."""

    def copied(
        self, step: CopyStep, source: Located, target: Located, active: LaneFlags, width: int
    ) -> None:
        """Nothing: every value is known."""

    def moved(self, source: Bytes | None, at: int, target: Bytes, to: int, count: int) -> None:
        """Nothing: every value is known."""

    # Steps

    def unknown(self, step: Unknown) -> None:
        self.values[step.result] = _NOTHING_KNOWN

    def stop(self, step: Stop) -> None:
        raise LaunchError(step.text, step.place)

    def compute(self, step: Compute) -> None:
        if step.operands or step.result not in self.execution.constant:
            self.values[step.result] = step.compute(*map(self.read, step.operands))

    def cross_lane(self, step: CrossLane) -> None:
        operands = [self.full(self.read(each)) for each in step.operands]
        self.values[step.result] = step.compute(self.active, *operands)

    def merge(self, step: Merge) -> None:
        lanes, new, old = map(self.read, (step.lanes, step.new, step.old))
        self.values[step.result] = np.where(lanes != 0, new, old)

    def argument(self, step: Argument) -> None:
        self.values[step.result] = step.of(self.execution.memory.values)

    def special(self, step: Special) -> None:
        self.values[step.result] = _SPECIAL[step.value](self).astype(np.uint64)

    def memory(self, step: MemoryStep) -> None:
        instruction = self._instruction(step.instruction)
        what, active = f"'{instruction.text}'", self.active
        if step.where is not None:
            self.need(step.where, what, instruction.place)
            active = active & (self.read(step.where) != 0)
        for register in (step.address, step.scalar_base):
            self.need(register, what, instruction.place, active)
        address = self.read(step.address)
        if step.scalar_base is not None:
            address = address + self.read(step.scalar_base)
        addresses = np.broadcast_to(address.view(np.int64) + step.offset, self.active.shape)
        if instruction.space is MemorySpace.SHARED and step.offset:
            # A sum of a register and an offset is one of 32 bits.
            addresses = addresses & _WORD
        located = self._locate(instruction, instruction.space, addresses, active, instruction.width)
        tells = self.execution.with_parts or not step.is_further
        compares = self.execution.with_parts and instruction.kind is MemoryAccessKind.STORE
        if tells and not compares:
            self._tell(step.instruction, addresses, active, is_further=step.is_further)
        width = instruction.width
        unit = self._unit(instruction, located.at, active)
        self.accessed(step, located.at, located.bytes, active)
        self._watch(step.instruction, instruction, located, addresses, active)
        if self.execution.not_given is not None and instruction.space in _OUTSIDE:
            self._follow(step, instruction, located, self.execution.not_given, addresses, active)
        if instruction.kind is MemoryAccessKind.LOAD:
            assert step.result is not None
            is_scalar = step.result in self.execution.program.scalars
            at = located.at[:, :1] if is_scalar else located.at
            self.values[step.result] = byte_access.read(located.bytes, at, width, unit)
            return
        data = [self.read(each) for each in step.data]
        if instruction.kind is MemoryAccessKind.STORE:
            self.execution.stored = True
            pieces = byte_access.pieces_of(data, width)
            if compares:
                self._write_and_compare(step, located, active, pieces, width, unit, addresses)
            else:
                byte_access.write(located.bytes, located.at, active, pieces, width, unit)
            return
        assert step.update is not None
        if not active.any():
            if step.result is not None:
                self.values[step.result] = np.zeros(active.shape, dtype=np.uint64)
            return
        old, changes = byte_access.update(
            located.bytes, located.at, active, data, step.update, width
        )
        self.execution.stored |= changes
        if step.result is not None:
            self.values[step.result] = old

    def _watch(
        self, number: int, instruction: MemoryInstruction, located: Located, addresses: Numbers,
        active: LaneFlags,
    ) -> None:  # fmt: skip
        """Record the writes to shared memory, and a read of other bytes there."""
        execution = self.execution
        if (unwritten := execution.unwritten) is None or not active.any():
            return
        if instruction.kind is not MemoryAccessKind.LOAD:
            unwritten.wrote(located.bytes, located.at[active], instruction.width)
        elif number not in unwritten.reads:
            first = unwritten.first_missing(located.bytes, located.at[active], instruction.width)
            if first is not None:
                row, _ = np.argwhere(active)[first]
                wave = self.rows[row]
                group = int(execution.group[execution.slot_of[wave]])
                unwritten.reads[number] = UnwrittenRead(
                    group, int(execution.wave_of[wave]), int(addresses[active][first])
                )

    def _write_and_compare(
        self, step: MemoryStep, located: Located, active: LaneFlags, pieces: Sequence[Values],
        width: int, unit: int, addresses: Numbers,
    ) -> None:  # fmt: skip
        """A store with the lanes that write the old value: where waves meet, one after another."""
        places = located.at[active]
        turns = [active]
        if len(active) > 1 and len(np.unique(places)) < len(places):
            turns = [
                active & (np.arange(len(active)) == row)[:, None] for row in range(len(active))
            ]
        for lanes in turns:
            old = byte_access.read(located.bytes, located.at, width, unit)
            byte_access.write(located.bytes, located.at, lanes, pieces, width, unit)
            same = byte_access.read(located.bytes, located.at, width, unit) == old
            same = same.all(axis=0) if same.ndim > active.ndim else same
            self._tell(step.instruction, addresses, lanes, is_further=step.is_further, same=same)

    def _follow(
        self,
        step: MemoryStep,
        instruction: MemoryInstruction,
        located: Located,
        unknown: _NotGiven,
        addresses: Numbers,
        active: LaneFlags,
    ) -> None:
        """Marks the bytes of a store as known; refuses addresses loaded from unknown bytes."""
        if instruction.kind is not MemoryAccessKind.LOAD:
            unknown.write(located.at[active], instruction.width)
        elif step.result in self.execution.addressing:
            wrong = active & unknown.at(located.at)
            if wrong.any():
                raise self._refused(instruction, addresses, instruction.width, wrong, self._no_data)

    def _no_data(self, address: int, _: int) -> str:
        buffer = self.execution.buffers.buffer_at(address)
        name = "" if buffer is None else buffer.name
        return (
            f"an address comes of what '{name}' holds, of which only the size is given; give it "
            "an array, of zeros if that is what it holds"
        )

    def fence(self, step: FenceStep) -> None:
        nowhere = np.zeros((len(self.rows), 0), dtype=np.int64)
        self._tell(step.instruction, nowhere, self.active)
        instruction = self.execution.program.instructions[step.instruction]
        assert isinstance(instruction, FenceInstruction)
        if instruction.arrives:
            self._arrive(step, instruction)
        if step.vote is not None:
            self.execution.has_votes = True
            self.need(step.vote, f"'{instruction.text}'", instruction.place)
            yes = self.full(self.read(step.vote)) != 0
            self.execution.yes[self.rows] |= self.active & yes

    def named_barrier(self, step: NamedBarrierStep) -> None:
        execution = self.execution
        instruction = execution.program.instructions[step.instruction]
        self.need(step.operand, f"'{instruction.text}'", instruction.place)
        slots = execution.slot_of[self.rows]
        operands = np.full(len(slots), step.number)
        if step.operand is not None:
            operands = np.broadcast_to(self.read(step.operand), self.active.shape)[:, 0]
        found: list[Meeting] = []
        for row, slot, operand in zip(
            self.rows.tolist(), slots.tolist(), operands.tolist(), strict=True
        ):
            try:
                found.append(execution.named_of(slot).act(row, step.action, operand))
            except Undefined as problem:
                text = f"{instruction.text}: its effect is undefined: {problem}"
                raise LaunchError(text, instruction.place) from problem
        execution.came.append(execution.in_clusters(slots))
        nowhere = np.zeros((len(self.rows), 0), dtype=np.int64)
        self._tell(step.instruction, nowhere, self.active, meetings=tuple(found))
        if step.result is not None:
            first = [[each.is_first] for each in found]
            self.values[step.result] = np.array(first, dtype=np.uint64)

    def _arrive(self, step: FenceStep, instruction: FenceInstruction) -> None:
        """Lanes count as there at a barrier at which they do not wait."""
        execution, slots = self.execution, self.execution.slot_of[self.rows]
        execution.came.append(np.unique(slots))
        if instruction.of_cluster:
            phase = execution.phase[slots // execution.cluster][:, None] + 1
            own = execution.own_phase[self.rows]
            execution.own_phase[self.rows] = np.where(self.active, phase, own)
            return
        numbers = np.broadcast_to(self.barrier(step), self.active.shape)
        places = np.broadcast_to(slots[:, None], self.active.shape)
        np.add.at(execution.arrived, (places[self.active], numbers[self.active]), 1)

    def barrier(self, step: FenceStep) -> Numbers:
        """The number of the barrier at which each lane is. Raises ``LaunchError``."""
        execution = self.execution
        instruction = execution.program.instructions[step.instruction]
        assert isinstance(instruction, FenceInstruction)
        if instruction.of_cluster:
            return np.array(_OF_CLUSTER)
        if step.barrier is None:
            return np.array(0)
        for register in (step.barrier, step.threads):
            self.need(register, f"'{instruction.text}'", instruction.place)
        numbers = self.full(self.read(step.barrier)).view(np.int64)
        chosen = numbers[self.active]
        if chosen.max() >= _BARRIERS:
            text = f"{instruction.text}: barrier {chosen.max()}: there are {_BARRIERS}"
            raise LaunchError(text, instruction.place)
        if step.threads is not None:
            needed = self.full(self.read(step.threads)).view(np.int64)
            slots = np.broadcast_to(execution.slot_of[self.rows][:, None], self.active.shape)
            execution.needed[slots[self.active], chosen] = needed[self.active]
        return numbers

    def copy(self, step: CopyStep) -> None:
        instruction = self._instruction(step.instruction)
        outwards = instruction.kind in (MemoryAccessKind.STORE, MemoryAccessKind.REDUCTION)
        other = instruction.space
        given = (step.target, step.source, step.bytes, step.where, step.inside, step.taken)
        for register in given:
            self.need(register, f"'{instruction.text}'", instruction.place)
        active = self.active
        if step.where is not None:
            active = active & (self.read(step.where) != 0)
        inside = active if step.inside is None else active & (self.read(step.inside) != 0)
        ends = (step.target, step.source) if outwards else (step.source, step.target)
        outside, shared = (
            np.broadcast_to(self.read(each).view(np.int64), self.active.shape) for each in ends
        )
        sizes = None if step.bytes is None else self.full(self.read(step.bytes)).view(np.int64)
        width = instruction.width if sizes is None else sizes
        taken = None
        if step.taken is not None:
            taken = np.minimum(self.full(self.read(step.taken)).view(np.int64), width)
            inside = inside & (taken > 0)
        here = self._locate(instruction, other, outside, inside, width if taken is None else taken)
        there = self._locate(instruction, MemorySpace.SHARED, shared, active, width)
        self.execution.stored = True
        if not step.is_further:
            self._tell(step.instruction, outside, active, sizes, shared)
        source, target = (there, here) if outwards else (here, there)
        if sizes is None:
            unit = byte_access.unit_of(instruction.width, instruction.width)
            at = source.at if taken is None else np.where(inside, source.at, 0)
            value = byte_access.read(source.bytes, at, instruction.width, unit)
            if step.inside is not None:
                value = np.where(inside, value, np.uint64(0))
            pieces = byte_access.pieces_of([value], instruction.width)
            if taken is not None:
                pieces = [_first_bytes(each, taken - 8 * n) for n, each in enumerate(pieces)]
            self._put_copies(step, (source, target), active, pieces, unit)
            return
        unknown = self.execution.not_given if outwards else None
        places = zip(source.at[active], target.at[active], sizes[active], strict=True)
        for at, to, length in places:
            data = source.bytes[at : at + length]
            _put(target.bytes, to, data, step.update, step.element)
            if self.execution.unwritten is not None:
                self.execution.unwritten.wrote(
                    target.bytes, np.arange(int(to), int(to + length)), 1
                )
            if unknown is not None:
                unknown.write_all(to, length)

    def _put_copies(
        self, step: CopyStep, ends: tuple[Located, Located], active: LaneFlags,
        pieces: Sequence[Values], unit: int,
    ) -> None:  # fmt: skip
        """Write what lanes have copied, now or wave by wave later."""
        (source, target), late = ends, self.execution.copies
        width = self._instruction(step.instruction).width
        outwards = target.bytes is self.execution.memory.bytes
        unknown = self.execution.not_given if outwards else None

        def put(lanes: LaneFlags) -> None:
            byte_access.write(target.bytes, target.at, lanes, pieces, width, unit)
            self.copied(step, source, target, lanes, width)
            if self.execution.unwritten is not None:
                self.execution.unwritten.wrote(target.bytes, target.at[lanes], width)
            if unknown is not None:
                unknown.write(target.at[lanes], width)

        if late is None:
            put(active)
            return
        for row, wave in enumerate(self.execution.numbers(self.rows).tolist()):
            own = active & (np.arange(len(active)) == row)[:, None]
            if own.any():
                late.pending.setdefault((wave, outwards), []).append(partial(put, own))

    def tensor(self, step: TensorStep) -> None:
        """A box of a tensor; its pieces in global memory are reported as lanes."""
        execution, instruction = self.execution, self._instruction(step.instruction)
        for register in (
            step.map,
            step.shared,
            step.where,
            *step.coordinates,
            *(step.offsets or ()),
        ):
            self.need(register, f"'{instruction.text}'", instruction.place)
        active = self.active
        if step.where is not None:
            active = active & (self.read(step.where) != 0)
        maps = self.full(self.read(step.map)).view(np.int64)
        shared = self.full(self.read(step.shared)).view(np.int64)
        places = [signed(self.full(self.read(each)), 32) for each in step.coordinates]
        further = [self.full(self.read(each)) for each in step.offsets or ()]
        size = np.zeros(active.shape, dtype=np.uint64)
        located = self._locate(instruction, MemorySpace.GLOBAL, maps, active, tensors.BYTES)
        execution.stored = True
        for lane in zip(*(each.tolist() for each in np.nonzero(active)), strict=True):
            at = int(located.at[lane])
            data = located.bytes[at : at + tensors.BYTES].tobytes()
            try:
                found = tensors.map_of(data, f"{maps[lane]:#x}")
                pieces = found.box_at(
                    [int(each[lane]) for each in places],
                    is_load=instruction.kind is MemoryAccessKind.LOAD,
                    offsets=None if step.offsets is None else [int(each[lane]) for each in further],
                )
                if step.updates is not None and found.element not in step.updates:
                    raise tensors.NotExecuted("a reduction of elements that have none")
            except tensors.NotExecuted as problem:
                text = f"'{instruction.text}' is not executed: {problem}"
                raise LaunchError(text, instruction.place) from problem
            size[lane] = found.box_size
            update = None if step.updates is None else step.updates[found.element]
            self._move_box(
                step.instruction, lane, found, pieces, int(shared[lane]), update,
                is_further=step.is_further,
            )  # fmt: skip
        self.values[step.result] = size

    def tile(self, step: TileStep) -> None:
        execution, instruction = self.execution, self._instruction(step.instruction)
        for each in step.words:
            self.need(each, f"'{instruction.text}'", instruction.place)
        words = [self.full(self.read(each))[:, 0].tolist() for each in step.words]
        execution.stored = True
        for row, own in enumerate(zip(*words, strict=True)):
            try:
                found = step.read(own)
            except tensors.NotExecuted as problem:
                text = f"'{instruction.text}' is not executed: {problem}"
                raise LaunchError(text, instruction.place) from problem
            if found is not None:
                self._move_box(step.instruction, (row, 0), found, found.pieces, found.lds)

    def _move_box(
        self, number: int, lane: tuple[int, int], map: tensors.Box,
        pieces: Sequence[tensors.Piece], shared: int,
        update: Callable[..., Values] | None = None, *, is_further: bool = False,
    ) -> None:  # fmt: skip
        execution, instruction = self.execution, self._instruction(number)
        only = np.zeros(self.active.shape, dtype=np.bool_)
        only[lane] = True
        places = np.full(self.active.shape, shared)
        box = self._locate(instruction, MemorySpace.SHARED, places, only, map.extent)
        if shared % map.alignment:
            place = execution.shared.place
            raise self._unaligned(instruction, places, map.extent, only, place, map.alignment)
        addresses = np.zeros((len(self.rows), len(pieces)), dtype=np.int64)
        lengths = np.zeros_like(addresses)
        addresses[lane[0]] = [map.address + each.place for each in pieces]
        lengths[lane[0]] = [each.taken for each in pieces]
        outside = execution.buffers.locate(addresses, lengths > 0, lengths)
        if outside.wrong is not None:
            wrong = np.argwhere(outside.wrong)[0]
            places = np.full(self.active.shape, addresses[tuple(wrong)])
            size = int(lengths[tuple(wrong)])
            raise self._refused(instruction, places, size, only, execution.buffers.describe)
        if not is_further:
            self._tell(number, addresses, lengths > 0, lengths)
        begin, own = int(box.at[lane]), shared & (1 << tensors.RANK_BITS) - 1
        for each, at in zip(pieces, outside.at[lane[0]].tolist(), strict=True):
            to = begin - own + map.placed(own, each.at)
            first = to + each.skipped
            if instruction.kind is not MemoryAccessKind.LOAD:
                data = box.bytes[first : first + each.taken]
                _put(outside.bytes, at, data, update, map.element_size)
                self.moved(box.bytes, first, outside.bytes, at, each.taken)
                if execution.not_given is not None and each.taken:
                    execution.not_given.write_all(at, each.taken)
                continue
            box.bytes[to : to + each.size] = 0
            if execution.unwritten is not None:
                execution.unwritten.wrote(box.bytes, np.arange(to, to + each.size), 1)
            box.bytes[first : first + each.taken] = outside.bytes[at : at + each.taken]
            self.moved(None, 0, box.bytes, to, each.size)
            self.moved(outside.bytes, at, box.bytes, first, each.taken)

    # Addresses

    def _instruction(self, number: int) -> MemoryInstruction:
        instruction = self.execution.program.instructions[number]
        assert isinstance(instruction, MemoryInstruction)
        return instruction

    def _alignment(self, instruction: MemoryInstruction) -> int:
        """The alignment that an access needs: on CDNA only a scalar load and an atomic.

        Source: PTX ISA, 6.4.1; MI300 ISA 8.2.1 and 9.3; LLVM, unaligned-access-mode.
        """
        width, kind = instruction.width, instruction.kind
        if is_ptx(self.execution.program.target):
            return width
        if instruction.space is MemorySpace.SCALAR:
            return min(width, 4)
        return 1 if kind in (MemoryAccessKind.LOAD, MemoryAccessKind.STORE) else width

    def _unit(self, instruction: MemoryInstruction, at: Numbers, active: LaneFlags) -> int:
        """The bytes that are read or written at once."""
        width, alignment = instruction.width, self._alignment(instruction)
        if alignment == 1 and width > 1:
            alignment = least = min(width & -width, 4)
            if (at[active] & (least - 1)).any():
                alignment = 1
        return byte_access.unit_of(width, alignment)

    def _locate(
        self,
        instruction: MemoryInstruction,
        space: MemorySpace,
        addresses: Numbers,
        active: LaneFlags,
        width: Numbers | int,
    ) -> Located:
        execution = self.execution
        if space in _OUTSIDE:
            memory = execution.buffers
            found = memory.locate(addresses, active, width)
        elif space is MemorySpace.SHARED:
            groups = execution.slot_of[self.rows][:, None]
            if execution.program.has_ranks:
                groups, addresses = self._in_cluster(groups, addresses)
            memory = execution.shared
            found = memory.locate(addresses, active, width, groups)
        else:
            lanes = active.shape[1]
            owners = self.rows[:, None] * lanes + np.arange(lanes, dtype=np.int64)
            memory = execution.private
            found = memory.locate(addresses, active, width, owners)
        if found.wrong is not None:
            raise self._refused(instruction, addresses, width, found.wrong, memory.describe)
        alignment = self._alignment(instruction)
        if alignment > 1:
            unaligned = active & (addresses & (alignment - 1) != 0)
            if unaligned.any():
                place = memory.place
                raise self._unaligned(instruction, addresses, width, unaligned, place, alignment)
        return found

    def _unaligned(
        self, instruction: MemoryInstruction, addresses: Numbers, width: Numbers | int,
        wrong: LaneFlags, place: Callable[[int], tuple[str, int]], alignment: int,
    ) -> LaunchError:  # fmt: skip
        def describe(address: int, size: int) -> str:
            return faults.unaligned(*place(address), size, alignment)

        return self._refused(instruction, addresses, width, wrong, describe)

    def _in_cluster(self, groups: Numbers, addresses: Numbers) -> tuple[Numbers, Numbers]:
        """The places of work-groups and the addresses in their shared memory, by ranks."""
        size = self.execution.cluster
        ranks = addresses >> tensors.RANK_BITS
        # A rank that the cluster does not have is an address beyond what its own has.
        exists = (ranks >= 0) & (ranks < size)
        return (
            np.where(exists, groups - groups % size + ranks, groups),
            np.where(exists, addresses & (1 << tensors.RANK_BITS) - 1, addresses),
        )

    def _refused(
        self,
        instruction: MemoryInstruction,
        addresses: Numbers,
        width: Numbers | int,
        wrong: LaneFlags,
        describe: Callable[[int, int], str],
    ) -> LaunchError:
        row, lane = (int(each[0]) for each in np.nonzero(wrong))
        wave = self.rows[row]
        group = self.execution.group[self.execution.slot_of[wave]]
        size = int(np.broadcast_to(width, addresses.shape)[row, lane])
        thread = int(self.execution.wave_of[wave]) * self.execution.program.lanes + lane
        fault, who = describe(int(addresses[row, lane]), size), faults.thread(thread, int(group))
        return FaultError(fault, instruction.place, instruction.text, who)

    def _tell(
        self,
        instruction: int,
        addresses: Numbers,
        active: LaneFlags,
        sizes: Numbers | None = None,
        copied_to: Numbers | None = None,
        *,
        is_further: bool = False,
        same: LaneFlags | None = None,
        meetings: tuple[Meeting, ...] = (),
    ) -> None:
        execution, rows = self.execution, self.rows
        if active is not self.active and not (some := active.any(axis=1)).all():
            # A wave none of whose lanes takes part makes no request.
            rows, addresses, active = rows[some], addresses[some], active[some]
            sizes = None if sizes is None else sizes[some]
            copied_to = None if copied_to is None else copied_to[some]
            same = None if same is None else same[some]
            if not len(rows):
                return
        groups = execution.group[execution.slot_of[rows]]
        waves = execution.wave_of[rows]
        execution.observe(
            Executed(
                instruction, groups, waves, addresses, active, sizes, copied_to, is_further, same,
                meetings,
            )
        )  # fmt: skip


def _first_bytes(value: Values, count: Numbers) -> Values:
    """The lowest bytes of words, zeros above."""
    bits = 8 * np.clip(count, 0, 8).astype(np.uint64)
    ones = np.where(
        bits == WORD, ~np.uint64(0), (np.uint64(1) << (bits & np.uint64(63))) - np.uint64(1)
    )
    return value & ones


def _put(
    memory: Bytes, at: int, data: Bytes, update: Callable[..., Values] | None, element: int
) -> None:
    """Write bytes, or update elements by them."""
    if update is None:
        memory[at : at + len(data)] = data
    elif len(data):
        places = at + np.arange(0, len(data), element)[None, :]
        values = byte_access.read(data.copy(), places - at, element, element)
        everywhere = np.ones(places.shape, dtype=np.bool_)
        byte_access.update(memory, places, everywhere, [values], update, element)


class _RunOfOrigins(_Run):
    """A segment of a kernel in which some values are unknown: where each comes from is followed."""

    def __init__(self, execution: _Execution, rows: Rows, origins: Origins) -> None:
        super().__init__(execution, rows)
        self.origins = origins
        self.local: dict[Register, Numbers] = {}

    def _of(self, *registers: Register | None) -> Numbers:
        """The origin of the values of each lane, one column where that is of all; 0: known."""
        found = np.zeros((len(self.rows), 1), dtype=np.int64)
        for register in registers:
            if register is None:
                continue
            own = self.local.get(register)
            found = np.maximum(found, self.origins.of(register, self.rows) if own is None else own)
        return found

    def store(self, register: Register, value: Values, lanes: LaneFlags, source: Register) -> None:
        super().store(register, value, lanes, source)
        origin = self._of(source)
        if register in self.execution.program.scalars:
            origin, lanes = self._one(origin), np.any(lanes, axis=1)[:, None]
        self.origins.set(register, self.rows, origin, lanes)

    def _one(self, origin: Numbers, lanes: LaneFlags | None = None) -> Numbers:
        """An origin for a whole wave: of an active lane, of ``lanes`` if they are given."""
        if origin.any():
            origin = np.where(self.active if lanes is None else lanes, origin, 0)
        return origin.max(axis=1, keepdims=True)

    def need(
        self, register: Register | None, what: str, place: SourceLocation | None,
        lanes: LaneFlags | None = None,
    ) -> None:  # fmt: skip
        """Raise ``LaunchError`` where a value that active lanes need, or ``lanes``, is unknown."""
        origin = int(self._one(self._of(register), lanes).max(initial=0))
        if origin:
            text = self.origins.texts[origin]
            raise LaunchError(f"not executed: {what} depends on {text}", place)

    def unknown(self, step: Unknown) -> None:
        super().unknown(step)
        self.local[step.result] = np.full((len(self.rows), 1), self.origins.number(step.text))

    def compute(self, step: Compute) -> None:
        super().compute(step)
        self.local[step.result] = self._of(*step.operands)

    def cross_lane(self, step: CrossLane) -> None:
        super().cross_lane(step)
        lanes = self.active
        if step.lanes is not None:
            lanes = lanes & (self.read(step.lanes) != 0)
        self.local[step.result] = self._one(self._of(*step.operands, step.lanes), lanes)

    def merge(self, step: Merge) -> None:
        super().merge(step)
        new, old = self._of(step.new), self._of(step.old)
        if (new != old).any():
            new = np.where(self.read(step.lanes) != 0, new, old)
        self.local[step.result] = np.maximum(self._of(step.lanes), new)

    def special(self, step: Special) -> None:
        super().special(step)
        self.local[step.result] = self._of()

    def accessed(self, step: MemoryStep, at: Numbers, bytes: Bytes, active: LaneFlags) -> None:
        """Follow origins into memory and out of it."""
        instruction = self._instruction(step.instruction)
        data = self._of(*step.data)
        if step.result is not None:
            found = self.origins.loaded(bytes, at, active, instruction.width)
            if step.result in self.execution.program.scalars:
                found = self._one(found)
            self.local[step.result] = found
            data = np.maximum(data, found)
        if instruction.kind is not MemoryAccessKind.LOAD:
            self.origins.stored(bytes, at, active, instruction.width, data)

    def copied(
        self, step: CopyStep, source: Located, target: Located, active: LaneFlags, width: int
    ) -> None:
        found = self.origins.loaded(source.bytes, source.at, active, width)
        self.origins.stored(target.bytes, target.at, active, width, found)

    def moved(self, source: Bytes | None, at: int, target: Bytes, to: int, count: int) -> None:
        """Follow the origins of adjacent bytes; without a source they are known."""
        places, every = np.arange(count)[None], np.ones((1, count), dtype=np.bool_)
        found = np.zeros((1, 1), dtype=np.int64)
        if source is not None:
            found = self.origins.loaded(source, at + places, every, 1)
        self.origins.stored(target, to + places, every, 1, found)


_NOTHING_KNOWN: Values = np.array(0, dtype=np.uint64)
"""The number that stands for an unknown value."""

_Handler: TypeAlias = Callable[[_Run, Step], None]

_STEPS: dict[type[Step], _Handler] = {
    Compute: _Run.compute,
    CrossLane: _Run.cross_lane,
    Merge: _Run.merge,
    Unknown: _Run.unknown,
    Argument: _Run.argument,
    Special: _Run.special,
    MemoryStep: _Run.memory,
    CopyStep: _Run.copy,
    TensorStep: _Run.tensor,
    TileStep: _Run.tile,
    FenceStep: _Run.fence,
    NamedBarrierStep: _Run.named_barrier,
    Stop: _Run.stop,
}  # pyright: ignore[reportAssignmentType] -- each is called with a step of its own type
_STEPS_OF_ORIGINS: dict[type[Step], _Handler] = _STEPS | {
    Compute: _RunOfOrigins.compute,
    CrossLane: _RunOfOrigins.cross_lane,
    Merge: _RunOfOrigins.merge,
    Unknown: _RunOfOrigins.unknown,
    Special: _RunOfOrigins.special,
}  # pyright: ignore[reportAssignmentType] -- each is called with a step of its own type


def _thread(axis: int) -> Callable[[_Run], NDArray[np.int64]]:
    return lambda run: run.execution.thread[axis][run.execution.wave_of[run.rows]]


def _group(axis: int) -> Callable[[_Run], NDArray[np.int64]]:
    def found(run: _Run) -> NDArray[np.int64]:
        x, y, _ = run.execution.launch.grid
        number = run.execution.group[run.execution.slot_of[run.rows]]
        return (number % x, number // x % y, number // (x * y))[axis][:, None]

    return found


def _block(axis: int) -> Callable[[_Run], NDArray[np.int64]]:
    return lambda run: np.array(run.execution.launch.block[axis])


def _grid(axis: int) -> Callable[[_Run], NDArray[np.int64]]:
    return lambda run: np.array(run.execution.launch.grid[axis])


def _cluster(axis: int) -> Callable[[_Run], NDArray[np.int64]]:
    return lambda run: np.array(run.execution.launch.cluster[axis])


def _rank(run: _Run) -> NDArray[np.int64]:
    return (run.execution.slot_of[run.rows] % run.execution.cluster)[:, None]


def _lane(run: _Run) -> NDArray[np.int64]:
    return np.arange(run.active.shape[1], dtype=np.int64)[None, :]


def _shared_size(run: _Run) -> int:
    return run.execution.program.resources.shared_bytes + run.execution.launch.shared


def _active(run: _Run) -> NDArray[np.int64]:
    return lane_bits(run.active).view(np.int64)


_SPECIAL: dict[LaneValue, Callable[[_Run], NDArray[np.int64]]] = {
    LaneValue.THREAD_X: _thread(0),
    LaneValue.THREAD_Y: _thread(1),
    LaneValue.THREAD_Z: _thread(2),
    LaneValue.GROUP_X: _group(0),
    LaneValue.GROUP_Y: _group(1),
    LaneValue.GROUP_Z: _group(2),
    LaneValue.BLOCK_X: _block(0),
    LaneValue.BLOCK_Y: _block(1),
    LaneValue.BLOCK_Z: _block(2),
    LaneValue.GRID_X: _grid(0),
    LaneValue.GRID_Y: _grid(1),
    LaneValue.GRID_Z: _grid(2),
    LaneValue.CLUSTER_X: _cluster(0),
    LaneValue.CLUSTER_Y: _cluster(1),
    LaneValue.CLUSTER_Z: _cluster(2),
    LaneValue.RANK: _rank,
    LaneValue.LANE: _lane,
    LaneValue.ACTIVE: _active,
    LaneValue.WAVE: lambda run: run.execution.wave_of[run.rows][:, None],
    LaneValue.WAVES: lambda run: np.array(run.execution.group_waves),
    LaneValue.GROUP: lambda run: run.execution.group[run.execution.slot_of[run.rows]][:, None],
    LaneValue.GROUPS: lambda run: np.array(prod(run.execution.launch.grid)),
    LaneValue.DYNAMIC_SHARED: lambda run: np.array(run.execution.launch.shared),
    LaneValue.SHARED: lambda run: np.array(_shared_size(run)),
    LaneValue.RESERVED: lambda run: (
        _rank(run) * run.execution.program.has_ranks << tensors.RANK_BITS
        | reserved_at(_shared_size(run))
    ),
    LaneValue.ARGUMENTS: lambda run: np.array(run.execution.memory.arguments),
    LaneValue.PACKET: lambda run: np.array(run.execution.memory.packet),
    LaneValue.VOTES: lambda run: run.execution.votes[run.rows],
    LaneValue.VOTERS: lambda run: run.execution.voters[run.rows],
    LaneValue.CLOCK: lambda run: np.array(_TICKS * run.execution.runs),
}
