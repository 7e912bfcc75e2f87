"""A fair order of threads, with barriers, meetings of lanes, and hangs.

A thread runs until it comes to a strong operation, a barrier, or its 64th jump back. One that polls
in vain goes on only when nobody else can, so that it does not see what is not the last value by
luck. Where all threads and all memory come back to a state that they were in, the launch hangs.

A schedule may hold one thread before one of its strong operations until nobody else goes on, so
that another one wins the lock or the ticket that it would win.
"""

import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencewright.lowering.ptx.code.text import PtxFunction
from fencewright.simulator.semantics import faults
from fencewright.simulator.threads.lanes import (
    FOLDS,
    BarrierWait,
    ClusterWait,
    Meeting,
    together,
)
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.rounds import Rounds
from fencewright.simulator.threads.state import WARP, Block, Thread
from fencewright.simulator.threads.unknown import NotExecuted, OutOfBounds, UnknownUsed

GENERATED = "<kernel>"
"""The file name of compiled kernels, by which their lines are found in tracebacks."""


class ThreadEnd(Exception):
    """The end of a thread within a function that it called."""


class Trapped(NotExecuted):
    """A trap or a failed assertion."""


@dataclass(slots=True)
class Warp:
    """The lanes of a warp that meet; ``live``: a bit for each that has not ended."""

    threads: list[Thread]
    waiting: dict[tuple[str, int], list[tuple[Thread, Meeting]]] = field(
        default_factory=dict[tuple[str, int], list[tuple[Thread, Meeting]]]
    )
    running: int = 0
    live: int = 0


@dataclass(slots=True)
class Arrivals:
    """The threads at a barrier of a block, and their requests, in their order."""

    threads: list[Thread] = field(default_factory=list[Thread])
    requests: list[BarrierWait] = field(default_factory=list[BarrierWait])


@dataclass(frozen=True, slots=True)
class Waiting:
    """Threads that wait at one instruction when nothing changes any more."""

    threads: tuple[Thread, ...]
    site: int | None
    polls: bool


@dataclass(frozen=True, slots=True)
class Delay:
    """A thread that is held before its stop number ``stop``, of 0 before it begins."""

    thread: int
    stop: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of threads; late: asynchronous copies are done when nothing else can go on."""

    is_reverse: bool = False
    is_late: bool = False
    delay: Delay | None = None


IN_ORDER = Schedule()
Stops = dict[int, tuple[int, int]]
"""By place of a strong operation in the program, the first and the last stop of a thread there."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A warp of which some lanes alone are at an aligned barrier.

    ``splits``: the others are at another instruction or go on without it; else they have exited.
    """

    block: Block
    splits: bool


@dataclass(slots=True)
class Outcome:
    """The end of a launch: done, or with the reason of a stop.

    ``is_outside``: an access outside of all that the launch was given.
    """

    problem: str = ""
    hang: tuple[Waiting, ...] = ()
    is_outside: bool = False
    site: int | None = None
    thread: Thread | None = None
    partial: dict[int, Partial] = field(default_factory=dict[int, Partial])
    steps: int = 0

    @property
    def is_done(self) -> bool:
        """True where every thread came to its end."""
        return not self.problem and not self.hang


Entry = Callable[[Machine, Thread], Any]


class Scheduler:
    """Runs all threads of a machine."""

    def __init__(
        self, machine: Machine, entry: Entry, lines: dict[int, int],
        functions: Sequence[PtxFunction], *, schedule: Schedule = IN_ORDER, limit: int = 20_000_000,
    ):  # fmt: skip
        self.machine, self.entry, self.lines, self.limit = machine, entry, lines, limit
        self.delay = schedule.delay
        self.held: Thread | None = None
        self.ready: deque[Thread] = deque()
        self.lazy: deque[Thread] = deque()
        self.outcome = Outcome()
        self.idle = 0
        self.rounds = Rounds(machine, functions)
        machine.cluster_arrive = self.cluster_arrive
        order = reversed(machine.threads) if schedule.is_reverse else machine.threads
        self.ready.extend(each for each in order if not self._is_held(each, 0))
        self.left = len(machine.threads)
        for block in machine.blocks:
            for at in range(0, len(block.threads), WARP):
                lanes = block.threads[at : at + WARP]
                warp = Warp(lanes, running=len(lanes), live=(1 << len(lanes)) - 1)
                for each in lanes:
                    each.warp = warp

    def run(self) -> Outcome:
        """Run to the end, or to an instruction that cannot be executed."""
        outcome, machine, ready = self.outcome, self.machine, self.ready
        machine.observer.start(machine)
        while self.left:
            if ready:
                thread = ready.popleft()
            elif machine.late:
                machine.late.pop(0)()
                self.idle = 0
                continue
            elif self.held is not None and self.idle >= len(self.lazy):
                # All others wait, or have polled in vain since one of them went on.
                thread, self.held, self.delay = self.held, None, None
                self.idle = 0
            elif self.lazy:
                thread = self.lazy.popleft()
                self.rounds.lazy.add(thread)
            elif self._meet_anyway():
                self.idle = 0
                continue
            else:
                outcome.hang = tuple(self._waiting())
                return outcome
            outcome.steps += 1
            if machine.observer.has_enough():
                outcome.problem = "it has more accesses than are executed"
                outcome.thread, outcome.site = thread, self._site_of(thread)
                return outcome
            if self._comes_round(thread):
                outcome.hang = tuple(self._waiting())
                return outcome
            if outcome.steps > self.limit:
                outcome.problem = faults.endless(self.limit, "turns of its threads")
                outcome.thread, outcome.site = thread, self._site_of(thread)
                return outcome
            try:
                self._go_on(thread)
            except (NotExecuted, UnknownUsed, RecursionError) as problem:
                self._stop(thread, problem)
                return outcome
            self.idle = self.idle + 1 if thread.is_lazy else 0
        while machine.late:
            machine.late.pop(0)()
        return outcome

    def _comes_round(self, thread: Thread) -> bool:
        """True where everything is as it was, and nothing is left that could go on instead."""
        rounds, turn = self.rounds, self.outcome.steps
        if turn >= rounds.until:
            rounds.begin(thread, turn)
            return False
        if thread is not rounds.thread or not rounds.is_whole():
            return False
        starved = [each for each in self.lazy if each not in rounds.lazy]
        if self.machine.late:
            self.machine.late.pop(0)()
        elif self.held is not None:
            self.ready.append(self.held)
            self.held = self.delay = None
        elif starved:
            self.ready.extend(starved)
            self.lazy = deque(each for each in self.lazy if each in rounds.lazy)
        elif not self._meet_anyway():
            return True
        rounds.begin(thread, turn)
        rounds.lazy.update(starved)
        return False

    def _go_on(self, thread: Thread) -> None:
        generator = thread.generator
        if generator is None:
            generator = thread.generator = self.entry(self.machine, thread)
            self.machine.observer.begin(thread)
        try:
            request = generator.send(thread.result)
        except (StopIteration, ThreadEnd):
            self._leave(thread)
            return
        thread.result = None
        kind = request.__class__
        if kind is Meeting:
            self._meet(thread, request)
        elif kind is BarrierWait:
            self._barrier(thread, request)
        elif request is None:
            if not self._stop_before(thread):
                (self.lazy if thread.is_lazy else self.ready).append(thread)
        elif kind is int:
            self._loop(thread)
        else:
            self._cluster_wait(thread, request)

    def _is_held(self, thread: Thread, stop: int) -> bool:
        """Hold a thread at the stop of the delay."""
        if self.delay is None or self.delay != Delay(thread.number, stop):
            return False
        self.held = thread
        return True

    def _stop_before(self, thread: Thread) -> bool:
        """Note the strong operation before which a thread stops; True where it is held there."""
        thread.stop += 1
        stop, stops = thread.stop, thread.stops
        generator: Any = thread.generator
        if generator is not None:
            place = generator.gi_frame.f_lasti
            first = stops.get(place)
            stops[place] = (stop if first is None else first[0]), stop
        return self.delay is not None and self._is_held(thread, stop)

    def _loop(self, thread: Thread) -> None:
        """A thread has jumped back often: it polls if nothing in it has changed since."""
        now = self.rounds.state(thread)
        if now == thread.locals:
            thread.is_lazy = True
        elif not thread.polls:
            thread.is_lazy = False
        thread.locals = now
        (self.lazy if thread.is_lazy else self.ready).append(thread)

    def _stop(self, thread: Thread, problem: Exception) -> None:
        outcome = self.outcome
        outcome.problem, outcome.thread = str(problem), thread
        outcome.is_outside = isinstance(problem, OutOfBounds)
        for frame in traceback.extract_tb(problem.__traceback__):
            if frame.filename == GENERATED and frame.lineno is not None:
                outcome.site = self.lines.get(frame.lineno, outcome.site)

    # Waiting

    def _block(self, thread: Thread, request: Any) -> None:
        thread.waits = request
        thread.warp.running -= 1
        if not thread.warp.running:
            self._resolve_present(thread.warp)

    def _wake(self, thread: Thread, result: Any = None) -> None:
        thread.waits, thread.result = None, result
        thread.warp.running += 1
        self.ready.append(thread)

    def _leave(self, thread: Thread) -> None:
        machine, block, warp = self.machine, thread.block, thread.warp
        thread.done, thread.generator, thread.locals = True, None, None
        machine.observer.leave(thread)
        self.left -= 1
        block.live -= 1
        warp.running -= 1
        warp.live &= ~(1 << thread.lane)
        if not warp.running:
            self._resolve_present(warp)
        for key in list(warp.waiting):
            self._try_meeting(warp, key)
        for number in list(block.barriers):
            self._try_barrier(block, number)
        self._try_cluster(block.cluster)

    # Barriers of a block

    def _barrier(self, thread: Thread, request: BarrierWait) -> None:
        block = thread.block
        arrived = block.barriers.get(request.number)
        if arrived is None:
            arrived = block.barriers[request.number] = Arrivals()
        arrived.threads.append(thread)
        arrived.requests.append(request)
        if request.waits:
            thread.waits = request
            warp = thread.warp
            warp.running -= 1
            if not warp.running and warp.waiting:
                self._resolve_present(warp)
        else:
            self.ready.append(thread)
        if len(arrived.threads) >= (block.live if arrived.requests[0].count is None else 1):
            self._try_barrier(block, request.number)

    def _try_barrier(self, block: Block, number: int) -> None:
        arrived = block.barriers.get(number)
        if arrived is None:
            return
        threads, requests = arrived.threads, arrived.requests
        first = requests[0]
        # Without a count all threads take part that have not exited.
        if len(threads) < (block.live if first.count is None else first.count):
            return
        del block.barriers[number]
        self.idle = 0
        is_one = len(set(map(id, requests))) == 1
        sites = {first.site} if is_one else {each.site for each in requests}
        for site in sites:
            self.machine.executed[site] = True
        if len(threads) < len(block.threads) or len(sites) > 1:
            self._note_partial(block, list(zip(threads, requests, strict=True)))
        if is_one and first.waits and not first.fold:
            # Most barriers: at one instruction, whose threads all wait and get nothing.
            self.machine.observer.meet(threads, threads)
            for thread in threads:
                thread.waits = None
                thread.warp.running += 1
            self.ready.extend(threads)
            return
        waiting = [each for each in zip(threads, requests, strict=True) if each[1].waits]
        self.machine.observer.meet(threads, [thread for thread, _ in waiting])
        folded = [bool(request.value) for request in requests if request.fold]
        results = {
            fold: FOLDS[fold](sum(folded), len(folded))
            for fold in {request.fold for _, request in waiting if request.fold}
        }
        for thread, request in waiting:
            self._wake(thread, results.get(request.fold))

    def _note_partial(self, block: Block, arrived: list[tuple[Thread, BarrierWait]]) -> None:
        """Notice warps whose lanes came to an aligned barrier in part, or to different ones."""
        aligned = [each for each in arrived if self._is_aligned(each[1].site)]
        lanes = Counter(thread.index // WARP for thread, _ in aligned)
        places: dict[int, set[int]] = {}
        for thread, request in aligned:
            places.setdefault(thread.index // WARP, set()).add(request.site)
        for warp, count in lanes.items():
            threads = block.threads[warp * WARP : (warp + 1) * WARP]
            live = sum(not each.done for each in threads)
            if count == len(threads) and len(places[warp]) == 1:
                continue
            site = min(places[warp])
            # Who has ended does not take part; who has gone round the barrier before, should have.
            after = self.machine.sites[site].after
            went = any(each.done and each.region in after for each in threads)
            splits = count < live or len(places[warp]) > 1 or went
            if splits or site not in self.outcome.partial:
                self.outcome.partial[site] = Partial(block, splits)

    def _is_aligned(self, site: int) -> bool:
        opcode = self.machine.sites[site].instruction.statement.opcode
        return opcode.head == "bar" or "aligned" in opcode.modifiers

    # Barriers of a cluster

    def cluster_arrive(self, thread: Thread, site: int) -> None:
        """barrier.cluster.arrive."""
        cluster = thread.block.cluster
        self.machine.observer.cluster_arrive(thread, site, cluster.phase)
        cluster.of[thread] = cluster.phase
        cluster.arrived += 1
        self._try_cluster(cluster)

    def _try_cluster(self, cluster: Any) -> None:
        if not cluster.arrived or cluster.arrived < sum(block.live for block in cluster.blocks):
            return
        cluster.phase += 1
        cluster.arrived = 0
        for block in cluster.blocks:
            for each in block.threads:
                if isinstance(each.waits, ClusterWait):
                    self._pass_cluster(each, each.waits.site)

    def _pass_cluster(self, thread: Thread, site: int) -> None:
        phase = thread.block.cluster.of[thread]
        self.machine.observer.cluster_leave(thread, site, phase)
        self._wake(thread)

    def _cluster_wait(self, thread: Thread, request: ClusterWait) -> None:
        cluster = thread.block.cluster
        if thread not in cluster.of:
            raise NotExecuted("barrier.cluster.wait without barrier.cluster.arrive before it")
        self._block(thread, request)
        if cluster.phase > cluster.of[thread]:
            self._pass_cluster(thread, request.site)

    # Meetings of lanes

    def _meet(self, thread: Thread, request: Meeting) -> None:
        warp: Warp = thread.warp
        key = (request.kind, -1 - request.site if request.present else request.mask)
        arrived = warp.waiting.get(key)
        if arrived is None:
            arrived = warp.waiting[key] = []
        arrived.append((thread, request))
        self._block(thread, request)
        if len(arrived) >= (key[1] & warp.live).bit_count():
            self._try_meeting(warp, key)

    def _try_meeting(self, warp: Warp, key: tuple[str, int]) -> None:
        arrived = warp.waiting.get(key)
        if not arrived or key[1] < 0:
            return
        needed, there = key[1] & warp.live, 0
        for thread, _ in arrived:
            there |= 1 << thread.lane
        if not needed & ~there:
            self._together(warp, key)

    def _together(self, warp: Warp, key: tuple[str, int]) -> None:
        arrived = warp.waiting.pop(key)
        kind = key[0]
        results = together(kind)({thread.lane: request.value for thread, request in arrived})
        if kind == "bar.warp.sync":
            threads = [thread for thread, _ in arrived]
            for _, request in arrived:
                self.machine.executed[request.site] = True
            self.machine.observer.meet(threads, threads)
        for thread, _ in arrived:
            self._wake(thread, results[thread.lane])

    def _resolve_present(self, warp: Warp) -> None:
        for key in list(warp.waiting):
            if key[1] < 0:
                self._together(warp, key)

    def _meet_anyway(self) -> bool:
        """Let threads go on that asked for the active lanes, when nothing else can."""
        found = False
        for block in self.machine.blocks:
            for thread in block.threads[::WARP]:
                warp = thread.warp
                if any(key[1] < 0 for key in warp.waiting):
                    self._resolve_present(warp)
                    found = True
        return found

    # Hangs

    def _waiting(self) -> Iterator[Waiting]:
        groups: dict[tuple[int | None, bool], list[Thread]] = {}
        for each in self.machine.threads:
            if each.done:
                continue
            if each.waits is not None:
                groups.setdefault((each.waits.site, False), []).append(each)
            else:
                groups.setdefault((self._site_of(each), True), []).append(each)
        for (site, polls), threads in groups.items():
            yield Waiting(tuple(threads), site, polls)

    def _site_of(self, thread: Thread) -> int | None:
        generator: Any = thread.generator
        while (inner := getattr(generator, "gi_yieldfrom", None)) is not None:
            generator = inner
        frame: Any = None if generator is None else generator.gi_frame
        return None if frame is None else self.lines.get(frame.f_lineno)


def names_of(threads: Iterable[Thread]) -> str:
    """Threads as a message names them: ``32 threads, the first thread 0 of block 1``."""
    all_threads = list(threads)
    if len(all_threads) == 1:
        return str(all_threads[0])
    return f"{len(all_threads)} threads (first {all_threads[0]})"
