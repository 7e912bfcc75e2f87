"""Halves of protocols in AMD code: signals, waits and barriers that order nothing.

Of known places a verdict decides every pair. In what is left, flags of which another kernel has the
other side and code of which nobody knows what its registers begin with, nothing says which accesses
a flag is for. So a half is looked for where the code shows what is meant: an access of LDS in
flight at a barrier, a write-back in flight at what publishes, a barrier with stores in flight
before it, a flag that the function polls, a loop that waits for a flag alone. Each is decided by
the CDNA machine beside the strongest partner that there is; the pieces are facts of the dataflow
over counters and caches. Source: LLVM AMDGPUUsage, "Memory Model".
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

from fencewright.checker.amd.accesses import Operation
from fencewright.checker.amd.barriers import is_numbered
from fencewright.checker.amd.guarantees import LiftedFunction, Place, Propagated, propagated
from fencewright.checker.amd.spins import (
    Spin,
    is_flag_alone,
    lasting_address,
    scalar_address,
    spins_of,
)
from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.amd.lemmas import (
    CdnaLemma,
    Form,
    Handing,
    Pieces,
    cache_operations,
    widest,
)
from fencewright.checker.verdicts.arithmetic import are_apart, waves_of
from fencewright.checker.verdicts.model import Access, Agent, Kernel, OneSide, Region, Relation
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.cdna.caches import Caches, Visibility
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import FLOAT_KINDS, L2PerAgent, Scope

_PLAIN_STORE, _PLAIN_LOAD = Form(Kind.STORE), Form(Kind.LOAD)


class Halves:
    """Finds the halves of one function."""

    def __init__(self, handing: Handing):
        self.handing = handing
        self.lifted: LiftedFunction = handing.lifted
        self.code = self.lifted.code
        self.places = self.lifted.places
        self.own = (1 << self.code.others) - 1

    def __call__(self, kernel: Kernel, *, is_decided: bool) -> Sequence[OneSide]:
        """The halves of the kernel that the function is, in the order of the text.

        ``is_decided``: the verdict is one on every pair of the kernel's own accesses; else it is
        one on pairs in LDS of known places alone, where nothing is in the way of all.
        """
        self.kernel = kernel
        self.accesses = self._accesses(kernel)
        self.is_decided, self.is_judged = is_decided, not kernel.obstacles
        self.read = {each.place.root for each in kernel.accesses if each.reads}
        self.written = {each.place.root for each in kernel.accesses if each.writes}
        found = (
            *self._barriers(),
            *self._signals(),
            *self._polls(),
            *self._scalar_loads(),
        )
        del self.kernel  # Which has this: kernels are to end without garbage collection.
        first: dict[object, OneSide] = {}
        for each in found:
            first.setdefault((each.finding, each.access.instruction, each.is_barrier), each)
        return sorted(first.values(), key=lambda each: each.access.line)

    def _accesses(self, kernel: Kernel) -> Mapping[int, Access]:
        """The accesses by the numbers of operations; of a load to LDS, what it writes there."""
        found: dict[int, Access] = {}
        for instruction, operation in self.handing.operations.items():
            for access in kernel.accesses_at.get(instruction, ()):
                if operation.number not in found or access.agent is Agent.COPY:
                    found[operation.number] = access
        return found

    # Barriers

    def _barriers(self) -> Iterator[OneSide]:
        """Accesses of LDS that are in flight at a barrier, of each rule the first."""
        code = self.code
        barriers = self.lifted.barriers
        unwaited = barriers.unwaited()
        for barrier in barriers.barriers:
            flight = self.lifted.flights[barrier.number]
            # What is waited for elsewhere may be for a later one: a ring of buffers.
            if not (late := flight & (code.in_lds | unwaited)):
                continue
            pending = code.those(late)
            after = code.those(barriers.met(barrier))
            for rule in (Rule.LDS_BARRIER, Rule.LDS_DMA_BARRIER):
                is_copy = rule is Rule.LDS_DMA_BARRIER
                own = [each for each in pending if (each.kind is Kind.COPY) is is_copy]
                pairs = ((each, later) for each in own for later in after)
                pair = next((pair for pair in pairs if self._meets(*pair)), None)
                if pair is None and is_numbered(barrier):
                    # Waves that wait at it may run another function.
                    alone = next((e for e in own if e.writes and e.number in self.accesses), None)
                    pair = None if alone is None else (alone, alone)
                if pair is not None:
                    yield self._at_barrier(barrier, pair, rule, own)

    def _meets(self, earlier: Operation, later: Operation) -> bool:
        """True of an access in flight at a barrier that one after it may find not done."""
        of_both = self.accesses.get(earlier.number), self.accesses.get(later.number)
        if None in of_both or (self.is_judged and all(map(_is_known, of_both))):
            return False
        if earlier.writes:
            is_conflict = later.in_lds and later.reads
        else:
            is_conflict = (later.in_lds and later.writes) or later.kind is Kind.COPY
        if not is_conflict:
            return False
        first, second = (self._form(each) for each in (earlier, later))
        return not self._lemma(first, Pieces(False), None, None, Pieces(), second).holds()

    def _at_barrier(
        self,
        barrier: Operation,
        pair: tuple[Operation, Operation],
        rule: Rule,
        pending: Sequence[Operation],
    ) -> OneSide:
        earlier, later = pair
        about = (barrier.line, *(each.line for each in pending if each is not earlier))
        return OneSide(
            self.accesses[later.number],
            self.accesses[earlier.number],
            f"nothing waits for it before the barrier of line {barrier.line}",
            rule,
            is_sure=not (earlier.kind is Kind.COPY and self._is_counted(earlier)),
            is_barrier=True,
            about=about,
            remedy=f"write {self._wait_for(earlier)} there",
        )

    def _is_counted(self, copy: Operation) -> bool:
        """True of a copy of which earlier executions are waited for by number: a ring of
        buffers."""
        assert copy.step is not None
        counters = {str(event.counter) for event in copy.step.effects.events}
        waits = self.code.waits.values()
        return any(own.get(name, 0) > 0 for own in waits for name in counters)

    # Signals

    def _signals(self) -> Iterator[OneSide]:
        """The accesses that may publish while a write-back, or others' stores, may be in flight."""
        back: dict[int, OneSide] = {}
        others: list[OneSide] = []
        forms = {each.form for each in self.code.operations}
        telling = {each for each in forms if each.writes and each.scope.includes(Scope.AGENT)}
        for write in self.code.operations if telling else ():
            if write.form not in telling or write.number not in self.accesses:
                continue
            if not self._publishes(write):
                continue
            place = self.places.get(write.number)
            if place is None or self._is_read_here(write):
                continue
            for each in self._behind_write_backs(write, place):
                back.setdefault(each.about[0], each)
            for each in self._behind_others(write, place):
                back.setdefault(each.about[0], each)
            others += self._behind_barriers(write, place)
        yield from back.values()
        # One half of a function says it all: loops of real kernels have it everywhere.
        yield from sorted(others, key=lambda each: not each.is_sure)[:1]

    def _publishes(self, operation: Operation) -> bool:
        """True of a write that may be how other work-groups learn of this one's past.

        Where the bits do not say it, an atomic is, and a store that a wait for stores precedes. One
        in floating point whose result nobody takes adds up numbers: nobody learns anything by it.
        """
        if not operation.writes or operation.space is None or operation.in_lds:
            return False
        if operation.kind is Kind.COPY or not operation.scope.includes(Scope.AGENT):
            return False
        effects = operation.step.effects if operation.step else None
        if effects is not None and effects.rmw in FLOAT_KINDS and not effects.defines:
            return False
        by_bits = self.code.mode.chip.scope_bits or operation.kind is Kind.RMW
        return by_bits or bool(self.lifted.after_waits & operation.bit)

    def _behind_write_backs(self, write: Operation, place: Place) -> Iterator[OneSide]:
        """A write-back that is in flight when what publishes issues."""
        for number, covers in place.covered.items():
            back = self.code.operations[number]
            stores = self.code.those(
                (covers[Visibility.AGENT] | covers[Visibility.SYSTEM]) & self.own
            )
            handed = self.code.those(self._handed(covers))
            if not stores and not handed:
                continue
            payload = next(
                (self.accesses[e.number] for e in stores if e.number in self.accesses), None
            )
            earlier = _PLAIN_STORE if payload is None else self.handing.form(payload)
            release = Pieces(True, is_met=not stores)
            if self._published(earlier, release, write).holds():
                continue
            about = (back.line, *(each.line for each in handed if not stores))
            yield OneSide(
                self.accesses[write.number],
                payload,
                f"nothing waits for the write-back of line {back.line}",
                Rule.WRITE_BACK_UNWAITED,
                is_sure=True,
                about=about,
                remedy=f"write {self._wait_for(back)} before this",
            )

    @cached_property
    def _known(self) -> Propagated:
        return propagated(self.code, self.places)

    def _handed(self, covers: Sequence[int]) -> int:
        """The barriers and waits for flags at which others hand over what a write-back covers."""
        places, known = 0, self._known
        for reach, bits in enumerate(covers):
            sure = known.at[reach] | (self._flags if known.in_lds[reach] else 0)
            places |= bits >> self.code.others & sure
        return places

    @cached_property
    def _flags(self) -> int:
        """The reads of LDS that loops wait by."""
        reads = (self.code.operations[number] for spin in self.spins for number in spin.reads)
        return sum(each.bit for each in reads if each.in_lds)

    def _behind_others(self, write: Operation, place: Place) -> Iterator[OneSide]:
        """Write-backs of other waves, which may be in flight since they came to a barrier."""
        agent = Visibility.AGENT
        covered = 0
        for covers in place.covered.values():
            covered |= covers[agent]
        for barrier in self.code.those((place.undone[agent] & ~covered) >> self.code.others):
            at = self.places.get(barrier.number)
            if barrier.kind is not Kind.BARRIER or at is None:
                continue
            for number, covers in at.covered.items():
                back = self.code.operations[number]
                release = Pieces(True, is_met=True)
                if not covers[agent] & self.own:
                    continue
                if not self._published(_PLAIN_STORE, release, write).holds():
                    yield OneSide(
                        self.accesses[write.number],
                        None,
                        f"the write-back of line {back.line} may be in flight in another wave of "
                        f"its block since the barrier of line {barrier.line}",
                        Rule.WRITE_BACK_UNWAITED,
                        is_sure=True,
                        about=(back.line, barrier.line),
                        remedy=f"write {self._wait_for(back)} before the barrier",
                    )

    def _behind_barriers(self, write: Operation, place: Place) -> Iterator[OneSide]:
        """Stores that other waves may have in flight since a barrier, when this one publishes."""
        code = self.code
        is_told = self._tells_stores or self.lifted.after_waits & write.bit
        if write.is_vector_store and not is_told:
            return  # Where every store goes through, its bits do not say that it publishes.
        for barrier in code.those(place.unflushed_since_barrier):
            stores = [
                each
                for each in code.those(self._known.stores_at_barrier[barrier.number])
                if each.number in self.accesses and self._may_be_of_two_waves(each, write)
            ]
            # Stores that stay in an L2 of many are not published without a write-back.
            arrive = any((each.effect.stores or 0) >= Visibility.AGENT for each in stores)
            for each in stores[:1]:
                release = Pieces(False, is_met=True)
                if self._published(self._form(each), release, write).holds():
                    continue
                others = tuple(other.line for other in stores[1:])
                yield OneSide(
                    self.accesses[write.number],
                    self.accesses[each.number],
                    "another wave of its block may come to the barrier of line "
                    f"{barrier.line} with it in flight",
                    Rule.CUMULATIVE,
                    is_sure=arrive,
                    about=(barrier.line, *others),
                    remedy=f"write {self._wait_for(each)} before the barrier",
                )

    def _may_be_of_two_waves(self, store: Operation, write: Operation) -> bool:
        """True unless the threads that execute two operations are all of one wave: a wave waits for
        its own stores."""
        both = (self.accesses[each.number] for each in (store, write))
        return len({wave for each in both for wave in waves_of(self.kernel, each)}) > 1

    @cached_property
    def _tells_stores(self) -> bool:
        """True of code in which some stores to memory are coherent for the agent, and some are
        not."""
        stores = [e for e in self.code.operations if e.is_vector_store and e.in_memory]
        return any(not each.scope.includes(Scope.AGENT) for each in stores)

    # Loops that wait

    @cached_property
    def spins(self) -> Sequence[Spin]:
        """The loops that wait for memory to change."""
        return spins_of(self.code)

    def _polls(self) -> Iterator[OneSide]:
        """Loops that may wait for ever, that order nothing after them, and what they wait for."""
        code = self.code
        for spin in self.spins:
            inside = [each for n in spin.blocks for _, each in code.counted[n] if each is not None]
            for read in (code.operations[number] for number in spin.reads):
                if read.number not in self.accesses or read.in_lds or read.step is None:
                    continue
                yield from self._may_stay(read, inside)
                if not read.scope.includes(Scope.AGENT):
                    continue
                if is_flag_alone(code, spin, read.step):
                    yield from self._unordered_wait(read, inside)
                yield from self._unordered_signals(read, inside)

    def _may_stay(self, read: Operation, inside: Sequence[Operation]) -> Iterator[OneSide]:
        """A loop by a load that the L1 may serve: within a work-group a load with bits is right."""
        is_plain = self.code.mode.chip.scope_bits and not read.has_scope_bits
        if any(each.effect.invalidates & Caches.L1 for each in inside):
            return
        if read.effect.reads & Caches.L1:
            missing = "the L1 may serve the load, which nothing in the loop invalidates"
            bits = " ".join(widest(self.handing.configuration))
            access = self.accesses[read.number]
            remedy = f"load it with {bits}, or invalidate in the loop"
            yield OneSide(access, None, missing, Rule.SPIN, is_sure=is_plain, remedy=remedy)

    def _unordered_wait(self, read: Operation, inside: Sequence[Operation]) -> Iterator[OneSide]:
        back, _ = cache_operations(self.handing.configuration)
        for load in self.code.operations:
            if not load.is_vector_load or not load.in_memory or load in inside:
                continue
            if load.number not in self.accesses or not self._is_older(load, read):
                continue
            if self._is_written_here(load):
                continue
            start, end = (self.accesses[each.number].instruction for each in (read, load))
            if self._may_acquire(start, end):
                continue
            acquire = Pieces(True, self.handing.invalidated((start,), end))
            bits = widest(self.handing.configuration)
            lemma = self._lemma(
                _PLAIN_STORE,
                Pieces(True, back),
                Form(Kind.STORE, bits=bits),
                self._form(read),
                acquire,
                self._form(load),
                is_one_agent=self._is_of_agent(read),
            )
            if not lemma.holds():
                sides = self.accesses[read.number], self.accesses[load.number]
                missing = "nothing invalidates after the signal is seen"
                rule = Rule.UNORDERED_WAIT
                acquired = self._invalidate(lemma)
                remedy = f"write __threadfence() after the wait, or let it acquire ({acquired})"
                sure = self._is_sure(*sides)
                yield OneSide(*sides, missing, rule, is_sure=sure, remedy=remedy)
                return

    def _may_acquire(self, start: int, end: int) -> bool:
        """True where a function may be called between two instructions: it may acquire."""
        return any(
            operation.kind is Kind.OPAQUE
            and self.kernel.may_reach(start, instruction)
            and self.kernel.may_reach(instruction, end)
            for instruction, operation in self.handing.operations.items()
        )

    def _is_sure(self, flag: Access, payload: Access) -> bool:
        """True of what a wait is sure to be for: where a kernel signals, too, what it reads after
        the wait may be its own input, unless another of its work-groups writes that."""
        root = payload.place.root
        writes = [each for each in self.kernel.accesses if each.writes and each.place.root == root]
        apart = partial(are_apart, self.kernel, payload, relation=Relation.GRID, launch=Launch())
        if _is_known(payload) and not all(map(apart, writes)):
            return True
        return not any(
            self._publishes(each) or (_is_known(own) and own.place.root == flag.place.root)
            for each in self.code.operations
            if each.writes and (own := self.accesses.get(each.number)) is not None
        )

    def _is_older(self, load: Operation, read: Operation) -> bool:
        scope = read.scope if self.code.mode.chip.scope_bits else Scope.AGENT
        return self.lifted.may_be_older(load, read, scope)

    def _invalidate(self, lemma: CdnaLemma) -> str:
        _, invalidates = cache_operations(lemma.configuration)
        return " and ".join(invalidates)

    def _unordered_signals(self, read: Operation, inside: Sequence[Operation]) -> Iterator[OneSide]:
        """Writes to the flag that a loop waits for, before which stores are not done."""
        assert read.step is not None
        code = self.code
        flag = lasting_address(code, read.step)
        for write in code.operations if flag else ():
            if write in inside or not write.writes or not write.in_memory or write.step is None:
                continue
            if scalar_address(write.step) != flag or not write.scope.includes(Scope.AGENT):
                continue
            if write.number not in self.accesses or self._is_read_here(write):
                continue
            scope = write.scope if code.mode.chip.scope_bits else Scope.AGENT
            signal = self.accesses[write.number].instruction
            for store in self.lifted.pending(write, scope):
                if not store.is_vector_store or not store.in_memory or store is write:
                    continue
                own = self.accesses.get(store.number)
                if own is not None and self.kernel.may_reach(own.instruction, signal):
                    yield from self._unordered_signal(store, write)
                    break

    def _unordered_signal(self, store: Operation, write: Operation) -> Iterator[OneSide]:
        earlier, signal = self.accesses[store.number], self.accesses[write.number]
        release = self.handing.released(earlier, signal.instruction)
        lemma = self._published(self._form(store), release, write)
        if not lemma.holds():
            missing = lemma.reason().partition(": the CDNA machine")[0]
            yield OneSide(signal, earlier, missing, lemma.finding, is_sure=True)

    # Scalar loads

    def _scalar_loads(self) -> Iterator[OneSide]:
        """Loads through the scalar cache, which the invalidate before them leaves as it is."""
        code = self.code
        agent = code.coherent[code.mode.scopes.index(Scope.AGENT)]
        if not agent and not code.of_kinds(Kind.OPAQUE) >> 1 and not code.flow.is_called:
            return  # No wave has acquired from another work-group: there is nothing new to read.
        wanted = code.mode.caches(Scope.AGENT) & ~Caches.SYSTEM
        for load in code.operations:
            if not load.is_scalar_load or load.number not in self.accesses:
                continue
            place = self.places.get(load.number)
            if place is None or self._is_written_here(load):
                continue
            stale = code.those(place.stale[-1] & self.own)
            some = [e for e in stale if e.is_invalidate and not wanted & ~e.effect.invalidates]
            for invalidate in some[:1]:
                if self._acquired(Pieces(True, (invalidate.text,)), self._form(load)).holds():
                    continue
                access = self.accesses[load.number]
                missing = (
                    f"the invalidate of line {invalidate.line} leaves the scalar cache as it is"
                )
                rule, about = Rule.SCALAR_STALE, (invalidate.line,)
                yield OneSide(access, access, missing, rule, is_sure=True, about=about)

    # Lemmas beside the strongest partner

    def _lemma(
        self,
        earlier: Form,
        release: Pieces,
        signal: Form | None,
        seen: Form | None,
        acquire: Pieces,
        later: Form,
        *,
        is_one_agent: bool = True,
    ) -> CdnaLemma:
        mode = self.handing.mode
        return CdnaLemma(
            mode.target,
            mode.tgsplit,
            # Of several L2s an invalidate for the agent empties what they hold of other agents'.
            mode.l2_per_agent if is_one_agent else L2PerAgent.ONE,
            signal is None,
            is_one_agent,
            earlier,
            release,
            signal,
            seen,
            acquire,
            later,
        )

    def _published(self, earlier: Form, release: Pieces, write: Operation) -> CdnaLemma:
        """A signal beside the strongest wait for it."""
        configuration = self.handing.configuration
        acquire = Pieces(True, cache_operations(configuration)[1])
        seen = Form(Kind.LOAD, bits=widest(configuration))
        return self._lemma(
            earlier,
            release,
            self._form(write),
            seen,
            acquire,
            _PLAIN_LOAD,
            is_one_agent=self._is_of_agent(write),
        )

    def _is_of_agent(self, flag: Operation) -> bool:
        """False of a flag whose bits tell other agents."""
        return not self.code.mode.chip.scope_bits or flag.scope is not Scope.SYSTEM

    def _acquired(self, acquire: Pieces, later: Form) -> CdnaLemma:
        """An acquire beside the strongest signal."""
        configuration = self.handing.configuration
        release = Pieces(True, cache_operations(configuration)[0])
        bits = widest(configuration)
        signal, seen = Form(Kind.STORE, bits=bits), Form(Kind.LOAD, bits=bits)
        return self._lemma(_PLAIN_STORE, release, signal, seen, acquire, later)

    def _form(self, operation: Operation) -> Form:
        return self.handing.form(self.accesses[operation.number])

    # What a verdict decides

    def _is_read_here(self, write: Operation) -> bool:
        """True of a signal that the kernel itself waits for, at a known place."""
        access = self.accesses[write.number]
        return self.is_decided and _is_known(access) and access.place.root in self.read

    def _is_written_here(self, read: Operation) -> bool:
        """True of a read of what the kernel itself writes, at a known place: a pair is judged."""
        access = self.accesses[read.number]
        return self.is_decided and _is_known(access) and access.place.root in self.written

    def _wait_for(self, operation: Operation) -> str:
        """The wait for an operation, as assembly has it."""
        assert operation.step is not None
        counters = {str(event.counter): 0 for event in operation.step.effects.events}
        return wait_text(self.code.mode.chip, WaitCounts(**counters))


def _is_known(access: Access | None) -> bool:
    """True of an access of a known place: every pair of two such ones is judged."""
    if access is None:
        return False
    return access.place.offset is not None and access.place.root.region is not Region.UNKNOWN
