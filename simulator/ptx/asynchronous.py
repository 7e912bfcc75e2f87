"""Operations that a thread starts without a wait: mbarriers, copies, proxies' fences, tensor cores.

"These asynchronous operations are ordered after prior instructions in the same thread (except in
the case of wgmma.mma_async), but they are not part of the program order for that thread": their
events are in the background of a run, after what was issued before them, until the thread waits.
Source: PTX ISA, "Asynchronous Operations", and the section of each instruction.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.program import RMW, Operand
from fencewright.simulator.core.thread_runs import EventKind, Runner, StepFunctions
from fencewright.simulator.core.words import WORD_MASK
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    AsyncRelease,
    BarrierRole,
    CommitGroup,
    CopyArrive,
    CrossingFence,
    Hint,
    InitFence,
    MapCopy,
    MbarrierArrive,
    MbarrierInit,
    MbarrierTx,
    MbarrierWait,
    Multimem,
    PtxProgram,
    PtxProxy,
    RegisterFence,
    Restriction,
    TensorCommit,
    TensorCopy,
    TensorFence,
    TensorLoad,
    TensorMap,
    TensorProduct,
    TensorStore,
    TensorSync,
    Unit,
    WaitGroup,
    WgmmaProduct,
    mbarrier_of,
    variables,
)
from fencewright.simulator.ptx.paths import (
    PtxEvent,
    PtxPath,
    PtxRun,
    Rendezvous,
    Result,
    TensorRole,
    Update,
)

_READ, _WRITE = EventKind.READ, EventKind.WRITE


class AsyncRunner(Runner[PtxRun, PtxPath]):
    """Runs of one thread, as far as they are about asynchronous operations."""

    def __init__(self, program: PtxProgram, thread: int, bound: int, write_bits: dict[object, int]):
        super().__init__(thread, program.threads[thread].instructions, bound, write_bits)
        self.program = program
        named = {*variables(self.code), *filter(None, map(mbarrier_of, self.code))}
        self.locations = {each: program.physical(each) for each in named}
        self.addresses = {each: program.address(each) for each in named}
        self._events: dict[tuple[object, ...], PtxEvent] = {}

    # Events

    def event(
        self,
        run: PtxRun,
        kind: EventKind,
        ordering: Ordering = Ordering.WEAK,
        scope: Scope | None = None,
        **fields: Any,
    ) -> PtxEvent:
        """An event of the instruction that is being run; all runs that have it share it."""
        position = run.pc - 1
        key = (kind, position, ordering, scope, *fields.items())
        known = self._events.get(key)
        if known is None:
            known = PtxEvent(kind, self.thread, position, ordering, scope, **fields)
            self._events[key] = known
        return known

    def access(
        self,
        run: PtxRun,
        kind: EventKind,
        name: str,
        proxy: PtxProxy = PtxProxy.GENERIC,
        ordering: Ordering = Ordering.WEAK,
        scope: Scope | None = None,
        **fields: Any,
    ) -> PtxEvent:
        """An access of the instruction that is being run."""
        return self.event(
            run,
            kind,
            ordering,
            scope,
            variable=self.addresses[name],
            location=self.locations[name],
            proxy=proxy,
            **fields,
        )

    def synchronise(
        self,
        run: PtxRun,
        kind: EventKind,
        ordering: Ordering = Ordering.WEAK,
        scope: Scope | None = None,
        **fields: Any,
    ) -> int:
        """Append an event that accesses nothing; its number."""
        dependences = run.control if fields.get("rendezvous") else 0
        return run.append(self.event(run, kind, ordering, scope, **fields), 0, dependences)

    def can_derive(self, run: PtxRun, event: PtxEvent, value: int, dependences: Mask) -> bool:
        """Note that ``value`` can be written; False if it would have to come out of thin air."""
        reads = [(run.events[n].location or "", run.values[n]) for n in bits(dependences)]
        return self.derives(run, event.location or "", value, reads)

    def may_block(self, run: PtxRun) -> list[PtxRun]:
        """The continuation after a barrier; that it never completes is a path of its own."""
        self.paths.append(self.path(run, blocked=True))
        return [run]

    @abstractmethod
    def path(self, run: PtxRun, blocked: bool = False) -> PtxPath:
        """The path of a run that has ended."""

    def combined(self, kind: RmwKind, old: int, operand: int) -> int:
        """The value that a read-modify-write writes."""
        return RMW[kind](old, operand)

    def multiplied(self, a: int, b: int, accumulated: int) -> int:
        """The value of a product of tensor cores."""
        return a * b + accumulated & WORD_MASK

    # Values that a thread's reads do not determine by themselves

    def either(self, run: PtxRun, *ways: int) -> tuple[int, ...]:
        """Of several ``ways`` those in which the next instruction is tried, for its next event."""
        return ways

    def exists(self, run: PtxRun, read: int) -> bool | None:
        """True if there is an mbarrier where the event ``read`` looked; None: not known yet."""
        return bool(run.values[read])

    def described(self, run: PtxRun, read: int, tensor_map: TensorMap) -> int | None:
        """The number of the map's choice that the event ``read`` found; None: not known yet."""
        return min(run.values[read], len(tensor_map.choices) - 1)

    def adds(self, run: PtxRun, step: WgmmaProduct | TensorProduct) -> bool | None:
        """True if a product adds to the present value; None: not known yet."""
        return bool(run.value(step.adds))

    def goes_no_further(self, run: PtxRun) -> None:
        """The run ends here, with all that its thread would still do."""
        self.paths.append(self.path(run, blocked=True))

    def _detached(
        self,
        run: PtxRun,
        event: PtxEvent,
        value: int,
        follows: Mask,
        issued: Mask,
        dependences: Mask = 0,
    ) -> Mask:
        """Append an event in the background; it as a mask."""
        bit = 1 << run.append_after(follows, event, value, dependences, issued)
        run.background |= bit
        return bit

    def _read_detached(
        self, runs: list[tuple[PtxRun, Mask]], event: PtxEvent, follows: Mask, issued: Mask
    ) -> Iterator[tuple[PtxRun, Mask]]:
        """The runs, each with one more read in the background, of each value that it can have."""
        for run, own in runs:
            for value in self.domain.choices(event.location or ""):
                fork = run.copy()
                yield fork, own | self._detached(fork, event, value, follows, issued)

    # mbarriers

    def _object(self, name: str) -> Rendezvous:
        return Rendezvous(name, 0, self.program.mbarriers[name], mbarrier=True)

    def _found(self, run: PtxRun, name: str) -> list[PtxRun]:
        """The runs in which there is an mbarrier; where there is none, a thread goes no further.

        So all that it does later depends on what it found.
        "Performing any mbarrier operation except mbarrier.init on an uninitialized mbarrier object
        results in undefined behavior." Source: PTX ISA, "mbarrier".
        """
        if self.program.mbarriers[name]:
            return [run]
        found: list[PtxRun] = []
        event = self.access(run, _READ, name)
        for value in self.domain.choices(event.location or ""):
            fork = run.copy()
            read = fork.append(event, value, 0)
            fork.control |= 1 << read
            exists = self.exists(fork, read)
            if exists:
                found.append(fork)
            elif exists is not None:
                self.goes_no_further(fork)
        return found

    def mbarrier_init(self, run: PtxRun, init: MbarrierInit) -> list[PtxRun] | None:
        """A weak write, which others see as any other write. Source: PTX ISA, mbarrier.init."""
        update = Update(initialised=init.count)
        place = self._object(init.mbarrier)
        event = self.access(run, _WRITE, init.mbarrier, rendezvous=place, update=update)
        if not self.can_derive(run, event, init.count, run.control):
            return []
        run.append(event, init.count, run.control)
        return None

    def mbarrier_arrive(self, run: PtxRun, arrive: MbarrierArrive) -> list[PtxRun] | None:
        """Source: PTX ISA, mbarrier.arrive, .arrive_drop, "Arrive-on operation"."""
        dropped = arrive.count if arrive.drops else 0
        update = Update(arrive.count, arrive.expect_tx, dropped)
        forks: list[PtxRun] = []
        for each in self._found(run, arrive.mbarrier):
            for parity in (None,) if arrive.token is None else self.either(each, 0, 1):
                fork = each if parity is None else each.copy()
                self.synchronise(
                    fork,
                    EventKind.ARRIVE,
                    arrive.ordering,
                    arrive.scope,
                    rendezvous=self._object(arrive.mbarrier),
                    role=BarrierRole.ARRIVE,
                    update=update,
                    parity=parity,
                )
                fork.assign(arrive.token, parity or 0, 0)
                forks.append(fork)
        return None if forks and forks[0] is run else forks

    def mbarrier_tx(self, run: PtxRun, tx: MbarrierTx) -> list[PtxRun]:
        """Source: PTX ISA, "expect-tx operation", "complete-tx operation": relaxed."""
        forks = self._found(run, tx.mbarrier)
        for fork in forks:
            self._count(fork, tx.mbarrier, Update(bytes=tx.bytes))
        return forks

    def _count(self, run: PtxRun, mbarrier: str, update: Update) -> int:
        place = self._object(mbarrier)
        return self.synchronise(run, EventKind.COUNT, rendezvous=place, update=update)

    def mbarrier_wait(self, run: PtxRun, wait: MbarrierWait) -> list[PtxRun]:
        """Source: PTX ISA, mbarrier.test_wait, mbarrier.try_wait."""
        if wait.dst is None:
            # The thread goes on or not, depending on the phase that it asks for.
            run.control |= run.taint(wait.phase)
        passed: list[PtxRun] = []
        for each in self._found(run, wait.mbarrier):
            for way in (True,) if wait.dst is None else self.either(each, True, False):
                fork, passes = each if wait.dst is None else each.copy(), bool(way)
                phase = self.asked(fork, wait)
                if phase is None:
                    continue
                self.synchronise(
                    fork,
                    EventKind.WAIT,
                    wait.ordering if passes else Ordering.RELAXED,
                    wait.scope,
                    rendezvous=self._object(wait.mbarrier),
                    role=BarrierRole.WAIT,
                    phase=phase,
                    by_parity=wait.by_parity,
                    passes=passes,
                )
                fork.assign(wait.dst, int(passes), 0)
                passed += [fork] if wait.dst is not None else self.may_block(fork)
        return passed

    def asked(self, run: PtxRun, wait: MbarrierWait) -> int | None:
        """The phase, or the parity, that a wait asks for; None: not known yet."""
        phase = run.value(wait.phase)
        return phase % 2 if wait.by_parity else phase

    def _arrives_later(
        self, run: PtxRun, mbarrier: str, update: Update, scope: Scope, follows: Mask, issued: Mask
    ) -> list[PtxRun]:
        """An arrival of a unit, which releases the events that it ``follows`` alone.

        It accesses the mbarrier by the generic proxy. Source: PTX ISA 9.3, cp.async.bulk.
        """
        runs = [(run, follows)]
        if not self.program.mbarriers[mbarrier]:
            event = self.access(run, _READ, mbarrier)
            runs = list(self._read_detached(runs, event, follows, issued))
        arrived: list[PtxRun] = []
        for each, own in runs:
            exists = own == follows or self.exists(each, len(each.events) - 1)
            if exists is None:
                continue
            arrived.append(each)
            if not exists:
                continue
            event = self.event(
                each,
                EventKind.ARRIVE,
                Ordering.RELEASE,
                scope,
                rendezvous=self._object(mbarrier),
                role=BarrierRole.ARRIVE,
                update=update,
            )
            self._detached(each, event, 0, own, issued)
        return arrived

    # Copies

    def async_copy(self, run: PtxRun, copy: AsyncCopy) -> list[PtxRun]:
        """The copy's own events follow the thread's earlier ones, and nothing waits for them.

        Completion is followed by an implicit proxy fence, and its complete_tx releases at cluster
        scope what the copy itself did. Source: PTX ISA, "Async proxy", cp.async.bulk; cp.async and
        st.async are "performed in the generic proxy".
        """
        issued, first = run.foreground(), len(run.events)
        runs: list[tuple[PtxRun, Mask]] = [(run, 0)]
        for each in (copy.read_map, copy.written_map):
            if each is not None:
                event = self.access(run, _READ, each.location, PtxProxy.TENSORMAP)
                runs = list(self._read_detached(runs, event, 0, issued))
        passed: list[PtxRun] = []
        for fork, maps in runs:
            words = self._described(copy, fork, first)
            if words is None:
                continue
            moved = [(fork, maps)]
            for written, read in words:
                moved = [
                    (each, own | word)
                    for before, own in moved
                    for each, word in self._copy_word(before, copy, written, read, maps, issued)
                ]
            for each, own in moved:
                passed += self._complete(each, copy, own, issued)
        return passed

    def _described(
        self, copy: AsyncCopy, run: PtxRun, first: int
    ) -> list[tuple[str, str | None]] | None:
        """The words that a copy writes, each with the one it reads, by the maps as they were read.

        ``first`` is the event that reads the first of them. None: not known yet.
        """
        words = list(copy.words)
        number = first
        for each, writes in ((copy.read_map, False), (copy.written_map, True)):
            if each is None:
                continue
            choice = self.described(run, number, each)
            if choice is None:
                return None
            number += 1
            words = [
                (new, read) if writes else (written, new)
                for (written, read), new in zip(words, each.choices[choice], strict=True)
            ]
        return words

    def _copy_word(
        self,
        run: PtxRun,
        copy: AsyncCopy,
        written: str,
        read: str | None,
        maps: Mask,
        issued: Mask,
    ) -> Iterator[tuple[PtxRun, Mask]]:
        """The runs in which one word is copied, or combined with the old value; the new events.

        A copy's accesses are weak, those of a reduction relaxed, at gpu scope, by ``red.async`` at
        cluster scope. Source: PTX ISA, cp.async.bulk, cp.reduce.async.bulk, red.async.
        """
        start = len(run.events)
        runs: list[tuple[PtxRun, Mask]] = [(run, 0)]
        if read is not None:
            event = self.access(run, _READ, read, copy.proxy)
            runs = list(self._read_detached(runs, event, maps, issued))
        ordering, scope = Ordering.WEAK, None
        if copy.operation is not None:
            ordering, scope = Ordering.RELAXED, Scope.CLUSTER if read is None else Scope.AGENT
            event = self.access(run, _READ, written, copy.proxy, ordering, scope, is_red=True)
            runs = [
                each
                for fork, own in runs
                for each in self._read_detached([(fork, own)], event, maps | own, issued)
            ]
        event = self.access(run, _WRITE, written, copy.proxy, ordering, scope)
        for fork, own in runs:
            value = fork.value(copy.value) if read is None else fork.values[start]
            dependences = maps | own | fork.control
            dependences |= fork.taint(copy.value) if read is None else 0
            number = len(fork.events)
            if copy.operation is not None:
                value = self.combined(copy.operation, fork.values[-1], value)
            if not self.can_derive(fork, event, value, dependences):
                continue
            own |= self._detached(fork, event, value, maps | own, issued, dependences)
            if copy.operation is not None:
                fork.read_modify_writes = (*fork.read_modify_writes, (number - 1, number))
            yield fork, own

    def _complete(self, run: PtxRun, copy: AsyncCopy, own: Mask, issued: Mask) -> list[PtxRun]:
        if copy.proxy is PtxProxy.ASYNC:
            fence = self.event(run, EventKind.PROXY_FENCE, proxy=PtxProxy.ASYNC)
            own |= self._detached(run, fence, 0, own, 0)
        if copy.mbarrier is not None:
            update = Update(bytes=-copy.bytes)
            return self._arrives_later(run, copy.mbarrier, update, Scope.CLUSTER, own, issued)
        self._start(run, copy.unit, own)
        if copy.unit is Unit.CORE:
            run.flight = replace(run.flight, copied=run.flight.copied | own)
        return [run]

    def _start(self, run: PtxRun, unit: Unit, own: Mask) -> None:
        """Add events to the group that is open."""
        groups = run.flight.of(unit)
        opened = replace(groups, open=groups.open | own)
        run.flight = replace(run.flight, groups={**run.flight.groups, unit: opened})

    def async_release(self, run: PtxRun, store: AsyncRelease) -> list[PtxRun]:
        """It releases the thread's earlier events; nothing later is after it.

        Source: PTX ISA, st.async, red.async: "a strong memory operation with .release semantics".
        """
        follows = run.foreground()
        runs = [(run, 0)]
        if store.operation is not None:
            relaxed = Ordering.RELAXED, store.scope
            event = self.access(run, _READ, store.location, PtxProxy.GENERIC, *relaxed, is_red=True)
            runs = list(self._read_detached(runs, event, follows, 0))
        released = Ordering.RELEASE, store.scope
        event = self.access(run, _WRITE, store.location, PtxProxy.GENERIC, *released)
        passed: list[PtxRun] = []
        for fork, own in runs:
            value, number = fork.value(store.value), len(fork.events)
            dependences = own | fork.taint(store.value) | fork.control
            if store.operation is not None:
                value = self.combined(store.operation, fork.values[-1], value)
            if not self.can_derive(fork, event, value, dependences):
                continue
            self._detached(fork, event, value, follows | own, 0, dependences)
            if own:
                fork.read_modify_writes = (*fork.read_modify_writes, (number - 1, number))
            passed.append(fork)
        return passed

    def commit_group(self, run: PtxRun, commit: CommitGroup) -> None:
        """Source: PTX ISA, cp.async.commit_group, cp.async.bulk.commit_group,
        wgmma.commit_group."""
        groups = {**run.flight.groups, commit.unit: run.flight.of(commit.unit).committed()}
        run.flight = replace(run.flight, groups=groups)

    def wait_group(self, run: PtxRun, wait: WaitGroup) -> None:
        """Orders the rest of the thread after the groups that are done, or their reads.

        Done, those of other units than ``cp.async`` have an implicit proxy fence. Source: PTX ISA,
        cp.async.wait_group, cp.async.bulk.wait_group, wgmma.wait_group, "Async proxy".
        """
        if wait.commits:
            self.commit_group(run, CommitGroup(wait.unit))
        done = run.flight.of(wait.unit).done(wait.pending)
        if wait.reads_only:
            done &= sum(1 << n for n in bits(done) if run.events[n].kind is _READ)
        if wait.unit is Unit.CORE:
            run.background &= ~done
            return
        self._apply(run, done)
        fence = self.event(run, EventKind.PROXY_FENCE, proxy=PtxProxy.ASYNC)
        run.append_after(run.foreground() | done, fence, 0, 0)

    def copy_arrive(self, run: PtxRun, arrive: CopyArrive) -> list[PtxRun]:
        """It follows the thread's copies so far, and nothing else of the thread.

        Source: PTX ISA, cp.async.mbarrier.arrive, "Asynchronous Operations".
        """
        passed: list[PtxRun] = []
        for fork in self._found(run, arrive.mbarrier):
            if arrive.counted:
                self._count(fork, arrive.mbarrier, Update(arrivals=-1))
            copied, issued = fork.flight.copied, fork.foreground()
            once = Update(arrivals=1)
            scope = Scope.WORKGROUP
            passed += self._arrives_later(fork, arrive.mbarrier, once, scope, copied, issued)
        return passed

    def multimem(self, run: PtxRun, access: Multimem) -> list[PtxRun]:
        """An access of each peer. Source: PTX ISA, multimem.ld_reduce, multimem.st,
        multimem.red."""
        runs: list[PtxRun] = [run]
        for number, name in enumerate(access.locations):
            runs = [each for fork in runs for each in self._peer(fork, access, name, number == 0)]
        return runs

    def _peer(self, run: PtxRun, access: Multimem, name: str, is_first: bool) -> list[PtxRun]:
        ordering, scope, operation = access.ordering, access.scope, access.operation
        reads: list[PtxRun] = [run] if operation is None else []
        if operation is not None:
            acquires = ordering.acquires and access.dst is not None
            strength = Ordering.ACQUIRE if acquires else ordering
            if access.dst is None and ordering is Ordering.RELEASE:
                strength = Ordering.RELAXED
            is_red = access.dst is None
            event = self.access(run, _READ, name, PtxProxy.GENERIC, strength, scope, is_red=is_red)
            for value in self.domain.choices(event.location or ""):
                fork = run.copy()
                fork.append(event, value, 0)
                reads.append(fork)
        passed: list[PtxRun] = []
        for fork in reads:
            last = len(fork.events) - 1
            if access.dst is not None and operation is not None:
                old = fork.values[last]
                taint = 1 << last
                if not is_first:
                    old = self.combined(operation, fork.value(access.dst), old)
                    taint |= fork.taint(access.dst)
                fork.assign(access.dst, old, taint)
                passed.append(fork)
                continue
            value = fork.value(access.value)
            dependences = fork.taint(access.value) | fork.control
            if operation is not None:
                value = self.combined(operation, fork.values[last], value)
                dependences |= 1 << last
                fork.read_modify_writes = (*fork.read_modify_writes, (last, last + 1))
            event = self.access(fork, _WRITE, name, PtxProxy.GENERIC, ordering, scope)
            if self.can_derive(fork, event, value, dependences):
                fork.append(event, value, dependences)
                passed.append(fork)
        return passed

    def hint(self, run: PtxRun, hint: Hint) -> None:
        """Nothing: a prefetch reads no value and writes none."""

    # Fences

    def crossing_fence(self, run: PtxRun, fence: CrossingFence) -> None:
        """Source: PTX ISA, "membar / fence": proxy fence (uni-directional)."""
        covers = None if fence.location is None else self.program.physical(fence.location)
        restriction = None
        if fence.proxy is PtxProxy.ASYNC:
            restriction = (
                Restriction.OWN if fence.ordering is Ordering.RELEASE else Restriction.CLUSTER
            )
        self.synchronise(
            run,
            EventKind.FENCE,
            fence.ordering,
            fence.scope,
            restriction=restriction,
            crosses=fence.proxy,
            covers=covers,
        )
        if fence.proxy is PtxProxy.ASYNC and fence.ordering is Ordering.ACQUIRE:
            run.flight = replace(run.flight, crossed=run.foreground())

    def init_fence(self, run: PtxRun, fence: InitFence) -> None:
        """Source: PTX ISA, "membar / fence": .op_restrict."""
        kind = EventKind.FENCE
        self.synchronise(run, kind, Ordering.RELEASE, Scope.CLUSTER, of_inits=True)

    def map_copy(self, run: PtxRun, copy: MapCopy) -> list[PtxRun]:
        """Source: PTX ISA, tensormap.cp_fenceproxy: a copy, and the release of a proxy fence."""
        forks: list[PtxRun] = []
        read = self.access(run, _READ, copy.source)
        write = self.access(run, _WRITE, copy.location)
        for value in self.domain.choices(read.location or ""):
            fork = run.copy()
            dependences = 1 << fork.append(read, value, 0) | fork.control
            if not self.can_derive(fork, write, value, dependences):
                continue
            fork.append(write, value, dependences)
            fence = CrossingFence(Ordering.RELEASE, copy.scope, PtxProxy.TENSORMAP)
            self.crossing_fence(fork, fence)
            forks.append(fork)
        return forks

    # wgmma

    def register_fence(self, run: PtxRun, fence: RegisterFence) -> None:
        """Source: PTX ISA, wgmma.fence."""
        known = dict(run.registers)
        run.flight = replace(run.flight, fenced=run.foreground(), registers=known)

    def wgmma_product(self, run: PtxRun, step: WgmmaProduct) -> list[PtxRun]:
        """Shared memory is read by the async proxy, as a fence orders it; registers as they are.

        The result is in its register once it was waited for. A register that was set after the
        last ``wgmma.fence`` may be used as it was: PTX leaves that undefined. Source: PTX ISA,
        wgmma.mma_async, wgmma.fence.
        """
        issued = run.flight.fenced | run.flight.crossed
        adds = self.adds(run, step)
        if adds is None:
            return []
        ds = self._as_fenced(run, step.dst) if adds else (0,)
        as_ = self._as_fenced(run, step.a) if step.a_is_register else (0,)
        passed: list[PtxRun] = []
        for way in self.either(run, *(2 * i + j for i in range(len(ds)) for j in range(len(as_)))):
            d, a = ds[min(way // 2, len(ds) - 1)], as_[min(way % 2, len(as_) - 1)]
            runs: list[tuple[PtxRun, Mask]] = [(run.copy(), 0)]
            if not step.a_is_register:
                event = self.access(run, _READ, step.a, PtxProxy.ASYNC)
                runs = list(self._read_detached(runs, event, 0, issued))
            event = self.access(run, _READ, step.b, PtxProxy.ASYNC)
            for fork, own in self._read_detached(runs, event, 0, issued):
                left = a if step.a_is_register else fork.values[-2]
                value = self.multiplied(left, fork.values[-1], d)
                taint = own | fork.taint(*_named(step.a, step.a_is_register), step.adds)
                taint |= fork.taint(step.dst) if adds else 0
                self._start(fork, Unit.PRODUCT, own)
                result = Result(own, step.dst, value, taint)
                fork.flight = replace(fork.flight, results=(*fork.flight.results, result))
                passed.append(fork)
        return passed

    def _as_fenced(self, run: PtxRun, register: str) -> tuple[int, ...]:
        """The values that a product may find in a register: in flight, as fenced, or as it is."""
        for each in reversed(run.flight.results):
            if each.register == register:
                return (each.value,)
        before = run.flight.registers
        if before is None:
            before = self.program.registers_of(self.thread)
        return tuple({before.get(register, 0): 0, run.value(register): 0})

    def _apply(self, run: PtxRun, done: Mask) -> None:
        """Set the registers whose results are there."""
        left: list[Result] = []
        for each in run.flight.results:
            if each.events & ~done:
                left.append(each)
            else:
                run.assign(each.register, each.value, each.taint)
        if len(left) < len(run.flight.results):
            run.flight = replace(run.flight, results=tuple(left))

    # tcgen05

    def _tensor(
        self, run: PtxRun, kind: EventKind, name: str, role: TensorRole
    ) -> tuple[PtxEvent, Mask]:
        """An access of tensor memory, and the thread's events that are certainly before it.

        Source: PTX ISA, "Memory Consistency Model for 5th generation of TensorCore operations".
        """
        event = self.access(run, kind, name, PtxProxy.TENSOR, tensor=role)
        follows = run.flight.done
        for number in bits(run.flight.products):
            earlier = run.events[number]
            if earlier.tensor is not None and earlier.location == event.location:
                follows |= earlier.tensor.is_before(role) << number
        return event, follows

    def tensor_load(self, run: PtxRun, load: TensorLoad) -> list[PtxRun]:
        """Asynchronous, but each use of its register comes after it.

        Until it is waited for it may still be after what the thread does in memory. Source: PTX
        ISA, tcgen05 memory model, "Register dependencies, same thread".
        """
        event, follows = self._tensor(run, _READ, load.location, TensorRole.LOAD)
        forks = list(self._read_detached([(run, 0)], event, follows, run.flight.synced))
        for fork, own in forks:
            fork.assign(load.dst, fork.values[-1], own)
            fork.flight = replace(fork.flight, loads=fork.flight.loads | own)
        return [fork for fork, _ in forks]

    def tensor_store(self, run: PtxRun, store: TensorStore) -> list[PtxRun] | None:
        """Source: PTX ISA, tcgen05.st."""
        event, follows = self._tensor(run, _WRITE, store.location, TensorRole.STORE)
        value, dependences = run.value(store.value), run.taint(store.value) | run.control
        if not self.can_derive(run, event, value, dependences):
            return []
        own = self._detached(run, event, value, follows, run.flight.synced, dependences)
        run.flight = replace(run.flight, stores=run.flight.stores | own)
        return None

    def tensor_copy(self, run: PtxRun, copy: TensorCopy) -> list[PtxRun]:
        """Shared memory is read by the async proxy. Source: PTX ISA, tcgen05.cp."""
        flight = run.flight
        read = self.access(run, _READ, copy.source, PtxProxy.ASYNC)
        write, follows = self._tensor(run, _WRITE, copy.location, TensorRole.COPY)
        passed: list[PtxRun] = []
        for fork, own in self._read_detached([(run, 0)], read, 0, flight.synced | flight.crossed):
            value, dependences = fork.values[-1], own | fork.control
            if not self.can_derive(fork, write, value, dependences):
                continue
            wrote = self._detached(fork, write, value, follows | own, flight.synced, dependences)
            self._products(fork, own | wrote)
            passed.append(fork)
        return passed

    def tensor_product(self, run: PtxRun, step: TensorProduct) -> list[PtxRun]:
        """Shared memory is read by the async proxy. Source: PTX ISA, tcgen05.mma."""
        adds = self.adds(run, step)
        if adds is None:
            return []
        flight = run.flight
        crossed = flight.synced | flight.crossed
        runs: list[tuple[PtxRun, Mask]] = [(run, 0)]
        start = len(run.events)
        if step.a_is_tensor:
            event, follows = self._tensor(run, _READ, step.a, TensorRole.OPERAND)
            runs = list(self._read_detached(runs, event, follows, flight.synced))
        else:
            event = self.access(run, _READ, step.a, PtxProxy.ASYNC)
            runs = list(self._read_detached(runs, event, 0, crossed))
        event = self.access(run, _READ, step.b, PtxProxy.ASYNC)
        runs = list(self._read_detached(runs, event, 0, crossed))
        role = TensorRole.ACCUMULATOR
        if adds:
            event, follows = self._tensor(run, _READ, step.location, role)
            runs = list(self._read_detached(runs, event, follows, flight.synced))
        write, follows = self._tensor(run, _WRITE, step.location, role)
        passed: list[PtxRun] = []
        for fork, own in runs:
            a, b, *d = fork.values[start:]
            value = self.multiplied(a, b, d[0] if d else 0)
            dependences = own | fork.taint(step.adds) | fork.control
            if not self.can_derive(fork, write, value, dependences):
                continue
            wrote = self._detached(fork, write, value, follows | own, flight.synced, dependences)
            self._products(fork, own | wrote)
            passed.append(fork)
        return passed

    def _products(self, run: PtxRun, own: Mask) -> None:
        run.flight = replace(run.flight, products=run.flight.products | own)

    def tensor_commit(self, run: PtxRun, commit: TensorCommit) -> list[PtxRun]:
        """It follows the thread's products and copies so far. Source: PTX ISA, tcgen05.commit."""
        update, follows = Update(arrivals=1), run.flight.products
        issued = run.foreground()
        return self._arrives_later(run, commit.mbarrier, update, Scope.CLUSTER, follows, issued)

    def tensor_fence(self, run: PtxRun, fence: TensorFence) -> None:
        """Source: PTX ISA, tcgen05.wait, tcgen05.fence, and the section on their order."""
        flight = run.flight
        match fence.kind:
            case TensorSync.WAIT_LOADS:
                run.flight = replace(flight, done=flight.done | flight.loads, loads=0)
            case TensorSync.WAIT_STORES:
                run.flight = replace(flight, done=flight.done | flight.stores, stores=0)
            case TensorSync.BEFORE:
                event = self.event(run, EventKind.TENSOR_FENCE)
                number = run.append_after(run.foreground() | flight.done, event, 0, 0)
                run.started = (*run.started, (number, flight.products))
            case TensorSync.AFTER:
                self.synchronise(run, EventKind.TENSOR_FENCE)
                run.flight = replace(flight, synced=run.foreground())

    ASYNC_STEPS: ClassVar[StepFunctions] = {
        MbarrierInit: mbarrier_init,
        MbarrierArrive: mbarrier_arrive,
        MbarrierTx: mbarrier_tx,
        MbarrierWait: mbarrier_wait,
        AsyncCopy: async_copy,
        AsyncRelease: async_release,
        CommitGroup: commit_group,
        WaitGroup: wait_group,
        CopyArrive: copy_arrive,
        Multimem: multimem,
        Hint: hint,
        CrossingFence: crossing_fence,
        InitFence: init_fence,
        MapCopy: map_copy,
        RegisterFence: register_fence,
        WgmmaProduct: wgmma_product,
        TensorLoad: tensor_load,
        TensorStore: tensor_store,
        TensorCopy: tensor_copy,
        TensorProduct: tensor_product,
        TensorCommit: tensor_commit,
        TensorFence: tensor_fence,
    }


def _named(name: str, is_register: bool) -> tuple[Operand, ...]:
    return (name,) if is_register else ()
