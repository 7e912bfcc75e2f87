"""States at every place of a function: operations in flight, and the reach of the others.

On the scoreboard of ``lowering.cdna.counters.scoreboard``, whose tokens are the registers that
loads write and the numbers of operations (``cdna_accesses``). Beside what is in flight, the state
has

* for each reach the stores that get no further by themselves and are not being written back
  (``dirty``), and for each write-back in flight those that it covers (``covered``). A write-back
  covers stores that are in flight: hardware does not take it past them, and its end is theirs;
* for each cache the reads since whose end nothing has invalidated it (``stale``). An invalidate
  issued before a read has ended says nothing of the version that the read saw.

Where paths join, what holds on either holds. What other waves may have propagated to this one is a
second bit for every place at which they may, set whether they have or not: who reads the state
says which of these count.
Sources: LLVM AMDGPUUsage, Memory Model GFX942; SIMemoryLegalizer insertRelease and insertAcquire.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from fencewright.checker.amd.accesses import (
    LEVELS,
    Counted,
    Form,
    Mode,
    Operation,
    operations_of,
)
from fencewright.checker.amd.kept import Kept, Parts, apart, by_number, kept, listed, together
from fencewright.lowering.cdna.access_names import access_name
from fencewright.lowering.cdna.caches import Caches, Visibility
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, ChipRow, Counter
from fencewright.lowering.cdna.code.counters import OutstandingTokens, Tokens
from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.code.waits import counts_of
from fencewright.lowering.cdna.counters.scoreboard import ORDERED, CounterEventKind
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.code.bits import bits, mask_of
from fencewright.lowering.code.dataflow import solve_in_place
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.records import record
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import AddressSpace, Scope

_VECTOR, _FLAT = CounterEventKind.VECTOR, CounterEventKind.FLAT
_LDS, _SCALAR = CounterEventKind.LDS, CounterEventKind.SCALAR
_ALL_KINDS = int(_VECTOR | _LDS | _FLAT | _SCALAR)

_FLAT_LEAVES: Mapping[Counter, tuple[tuple[Counter, CounterEventKind], ...]] = MappingProxyType(
    {
        Counter.VMCNT: ((Counter.LGKMCNT, _LDS),),
        Counter.VSCNT: ((Counter.LGKMCNT, _LDS),),
        Counter.LGKMCNT: ((Counter.VMCNT, _VECTOR), (Counter.VSCNT, _VECTOR)),
        Counter.LOADCNT: ((Counter.DSCNT, _LDS),),
        Counter.STORECNT: ((Counter.DSCNT, _LDS),),
        Counter.DSCNT: ((Counter.LOADCNT, _VECTOR), (Counter.STORECNT, _VECTOR)),
    }
)
"""By the counter that has seen the end of flat accesses: their kind on the others from then on."""

_DONE: Mapping[Counter, int] = MappingProxyType(
    dict.fromkeys(Counter, int(_VECTOR))
    | {
        Counter.LGKMCNT: int(_LDS | _SCALAR),
        Counter.DSCNT: int(_LDS),
        Counter.KMCNT: int(_SCALAR),
    }
)
"""The kinds of a load that a wait on a counter sees the end of."""

COUNT_INVALIDATES = (Counter.VMCNT, Counter.LOADCNT)
"""The counters in which an invalidate is."""

_COUNTS_LDS = (Counter.LGKMCNT, Counter.DSCNT)

ANYTHING = "*"
"""Stands for every register, where a function is called with loads in flight."""

_COUNT_STORES = (Counter.VSCNT, Counter.STORECNT)
_OPEN_AT_CALLS = (*_COUNT_STORES, Counter.ASYNCCNT, Counter.TENSORCNT)
"""Counters of nothing that writes registers, which functions leave as they are where they begin and
return. Source: what LLVM 22 to 24 make for gfx1030, gfx1100 and gfx1250; SIInsertWaitcnts, function
entry."""

LDS_DATA = "lds"
"""Stands for the writes of loads to LDS."""

_REACHES = len(Visibility)

BOTH_HALVES = 0b11

_MASKS = (
    "flight", "stores_at_barrier", "unflushed_since_barrier", "only_in_memory", "only_in_lds",
)  # fmt: skip
_masks_of = attrgetter(*_MASKS)


@record()
class Load:
    """The last load that writes a register: its line, and all kinds of those in flight.

    ``halves``: those that they write, of 16 bits each, the lower one as the lowest bit.
    """

    line: int
    kinds: int
    halves: int = BOTH_HALVES


@dataclass(frozen=True, slots=True)
class Code:
    """A function as the dataflow sees it.

    ``counted``: by the number of a block, the steps in it that change the state, with what they
    are to the memory model.
    """

    flow: Flow
    mode: Mode
    operations: tuple[Operation, ...]
    counted: Sequence[Sequence[Counted]]
    waits: Mapping[int, Mapping[str, int]]
    in_memory: int
    in_lds: int
    writes: int
    reads: int
    coherent: tuple[int, ...]
    """By the place in ``Mode.scopes``, the reads that may be atomics of that scope."""
    tokens: Tokens
    """The registers and operations whose end counters see."""

    @property
    def accesses(self) -> int:
        """The operations that read or write memory or LDS."""
        return self.reads | self.writes

    @property
    def at_agent(self) -> int:
        """The reads that may be atomics of the agent."""
        return self.coherent[self.mode.scopes.index(Scope.AGENT)]

    @property
    def others(self) -> int:
        """The distance of the second bit of an operation from its first."""
        return len(self.operations)

    def of_kinds(self, *kinds: Kind) -> int:
        """The operations of some kinds, a bit each."""
        return mask_of(each.number for each in self.operations if each.kind in kinds)

    def those(self, mask: int) -> tuple[Operation, ...]:
        """The operations in a set."""
        return tuple(self.operations[number] for number in bits(mask))


def code_of(flow: Flow, mode: Mode, data: frozenset[int] = frozenset()) -> Code:
    """The code of a function for the dataflow; raises ``AssemblyError`` at an unreadable wait.

    ``data`` as ``operations_of`` has it.
    """
    operations, counted = operations_of(flow, mode, data)
    of_form: dict[Form, list[int]] = {}
    for each in operations:
        of_form.setdefault(each.form, []).append(each.number)

    def those(is_one: Callable[[Form], bool]) -> int:
        return mask_of(chain.from_iterable(of for form, of in of_form.items() if is_one(form)))

    unseen = those(lambda form: form.kind is Kind.OPAQUE)
    return Code(
        flow,
        mode,
        operations,
        counted,
        _waits_in(flow, counted) if Kind.WAIT in flow.kinds else {},
        in_memory=those(lambda form: form.in_memory),
        in_lds=those(lambda form: form.in_lds),
        writes=unseen | those(lambda form: form.writes),
        reads=unseen | those(lambda form: form.reads),
        coherent=tuple(
            those(lambda form, scope=scope: form.reads and form.scope.includes(scope))
            for scope in mode.scopes
        ),
        tokens=_tokens(flow),
    )


def _tokens(flow: Flow) -> Tokens:
    """The registers that are loaded, and the tokens of others and of LDS."""
    loaded = (register for each in flow.effects if each.events for register in each.defines)
    return Tokens(tuple(dict.fromkeys((ANYTHING, LDS_DATA, *loaded))))


def _waits_in(flow: Flow, counted: Iterable[Iterable[Counted]]) -> dict[int, Mapping[str, int]]:
    """The counts of each wait, by its line."""
    by_text: dict[str, Mapping[str, int]] = {}
    waits: dict[int, Mapping[str, int]] = {}
    for step, _ in chain.from_iterable(counted):
        if step.effects.kind is Kind.WAIT:
            text = step.instruction.text
            if text not in by_text:
                by_text[text] = _counts(flow, step)
            waits[step.instruction.line] = by_text[text]
    return waits


def _counts(flow: Flow, step: Step) -> dict[str, int]:
    try:
        return counts_of(step.instruction, flow.chip)
    except ValueError as problem:
        raise flow.function.error(step.instruction.line, str(problem)) from None


@cache
def _counters_of(chip: str) -> tuple[tuple[Counter, int], ...]:
    """The counters of data, with their maxima; xcnt is of translations."""
    every = KNOWN_CHIPS[chip].counters.items()
    return tuple((name, most) for name, most in every if name is not Counter.XCNT)


def wait_for_stores(chip: ChipRow) -> str:
    """The wait for all stores to memory."""
    counts = (name for name in _COUNT_STORES if name in chip.counters)
    return wait_text(chip, WaitCounts(**{str(next(counts, Counter.VMCNT)): 0}))


def wait_for_loads(chip: ChipRow, in_lds: bool) -> str:
    """The wait for all loads from memory or LDS."""
    if chip.splits_counters:
        return wait_text(chip, WaitCounts(dscnt=0) if in_lds else WaitCounts(loadcnt=0))
    return wait_text(chip, WaitCounts(lgkmcnt=0) if in_lds else WaitCounts(vmcnt=0))


class State:
    """The state at one place; ``loads`` by the register that they write.

    ``counters``: what may be outstanding on each of the ``chip``'s. ``flight``: the operations that
    may be in flight; ``only_in_memory``: flat ones of them that can be in memory alone, as LDS
    would have counted them down, ``only_in_lds`` those that can be in LDS alone.
    ``pending_invalidates``: by the number of an invalidate in flight what it leaves nothing stale
    of once it is done, by cache.

    Where ``has_peers`` (``Mode.peers_await_invalidates``), ``stale_for_peers`` has for the others
    of a work-group, by cache, the reads since whose end no invalidate has ended, and
    ``pending_peer_invalidates`` which of these each invalidate in flight is about.
    ``stores_at_barrier``: the barriers that other waves may have reached with stores in flight;
    ``unflushed_since_barrier``: those of them since which this wave has not written back either,
    which would go through the queues of its compute unit after them.
    """

    __slots__ = (
        "_tokens",
        "chip",
        "counters",
        "covered",
        "dirty",
        "flight",
        "has_peers",
        "loads",
        "only_in_lds",
        "only_in_memory",
        "pending_invalidates",
        "pending_peer_invalidates",
        "stale",
        "stale_for_peers",
        "stores_at_barrier",
        "unflushed_since_barrier",
    )

    def __init__(self, code: Code, is_called: bool = False) -> None:
        """The state of a wave that has nothing in flight, or that calls a function."""
        self.chip = chip = code.flow.chip
        self.has_peers = code.mode.peers_await_invalidates
        self._tokens = code.tokens
        self.pending_peer_invalidates: dict[int, tuple[int, ...]] = {}
        self.stale_for_peers = [0] * len(LEVELS)
        self.counters = {name: OutstandingTokens(most) for name, most in _counters_of(chip.name)}
        self.pending_invalidates: dict[int, tuple[int, ...]] = {}
        self.loads: dict[str, Load] = {}
        self.flight = self.only_in_memory = self.only_in_lds = 0
        self.dirty = [0] * _REACHES
        self.covered: dict[int, tuple[int, ...]] = {}
        self.stale = [0] * len(LEVELS)
        self.stores_at_barrier = self.unflushed_since_barrier = 0
        if is_called:
            for name, counter in self.counters.items():
                tokens = _left(name, 0) if name in _OPEN_AT_CALLS else (ANYTHING, 0)
                counter.hold(_ALL_KINDS, self._tokens.of(tokens))
            self.loads[ANYTHING] = Load(0, _ALL_KINDS)
            self.flight = 1
            self._outside(1)

    def copy(self) -> "State":
        """The same state with its clocks at zero."""
        made = State.__new__(State)
        made.chip, made._tokens = self.chip, self._tokens
        made.counters = {name: counter.copy() for name, counter in self.counters.items()}
        made.pending_invalidates = dict(self.pending_invalidates)
        made.loads = dict(self.loads)
        made.flight, made.stores_at_barrier = self.flight, self.stores_at_barrier
        made.unflushed_since_barrier = self.unflushed_since_barrier
        made.only_in_memory, made.only_in_lds = self.only_in_memory, self.only_in_lds
        made.dirty, made.stale = list(self.dirty), list(self.stale)
        made.covered = dict(self.covered)
        made.has_peers = self.has_peers
        made.pending_peer_invalidates = dict(self.pending_peer_invalidates)
        made.stale_for_peers = list(self.stale_for_peers)
        return made

    def rewind(self) -> None:
        """Put its clocks at zero."""
        for counter in self.counters.values():
            counter.rewind()

    def join(self, other: "State") -> bool:
        """Become the join with another state; True if it changes."""
        news = False
        for name, counter in self.counters.items():
            news = counter.join(other.counters[name]) or news
        for register, load in other.loads.items():
            mine = self.loads.get(register)
            if mine is load:
                continue
            if mine is None:
                self.loads[register] = load
                news = True
            elif load.kinds & ~mine.kinds or load.halves & ~mine.halves or load.line < mine.line:
                kinds, halves = mine.kinds | load.kinds, mine.halves | load.halves
                self.loads[register] = Load(min(mine.line, load.line), kinds, halves)
                news = True
        return self._join_operations(other) or news

    def _join_operations(self, other: "State") -> bool:
        before = (self.masks, self.dirty, self.stale, dict(self.covered), self.pending_invalidates)
        news = self.has_peers and self._join_peers(other)
        # May-sets are joined by union: in flight, dirty, covered, stale, stores at a barrier. That
        # a flat access is in one memory alone has to hold on both paths, but on a path where it is
        # not in flight any claim holds.
        new = other.flight & ~self.flight
        old = ~other.flight
        self.only_in_memory = (self.only_in_memory | new & other.only_in_memory) & (
            other.only_in_memory | old
        )
        self.only_in_lds = (self.only_in_lds | new & other.only_in_lds) & (other.only_in_lds | old)
        self.flight |= other.flight
        self.stores_at_barrier |= other.stores_at_barrier
        self.unflushed_since_barrier |= other.unflushed_since_barrier
        self.dirty = _with(self.dirty, other.dirty)
        self.stale = _with(self.stale, other.stale)
        for number, its in other.covered.items():
            mine = self.covered.get(number, its)
            self.covered[number] = tuple(a | b for a, b in zip(mine, its, strict=True))
        # What an invalidate will have cleared has to hold on both paths. One that is in flight on
        # one alone clears nothing more: on the other it is done, or has not been issued.
        self.pending_invalidates = {
            number: tuple(
                a & b for a, b in zip(mine, other.pending_invalidates[number], strict=True)
            )
            for number, mine in self.pending_invalidates.items()
            if number in other.pending_invalidates
        }
        return news or before != (
            self.masks,
            self.dirty,
            self.stale,
            self.covered,
            self.pending_invalidates,
        )

    @property
    def masks(self) -> tuple[int, ...]:
        """The sets of operations that are one mask each."""
        return _masks_of(self)

    @masks.setter
    def masks(self, masks: tuple[int, ...]) -> None:
        for name, mask in zip(_MASKS, masks, strict=True):
            setattr(self, name, mask)

    def _join_peers(self, other: "State") -> bool:
        before = (self.stale_for_peers, self.pending_peer_invalidates)
        nothing = (0,) * len(LEVELS)
        # Invariant: once an invalidate in flight is done, none of its reads is stale for peers. So
        # a read joins the set of an invalidate if on each path it is in that set or not stale in
        # the first place.
        self.pending_peer_invalidates = {
            number: tuple(
                (mine | ~settled) & (its | ~its_settled)
                for mine, settled, its, its_settled in zip(
                    self.pending_peer_invalidates.get(number, nothing),
                    self.stale_for_peers,
                    other.pending_peer_invalidates.get(number, nothing),
                    other.stale_for_peers,
                    strict=True,
                )
            )
            for number in self.pending_peer_invalidates.keys()
            | other.pending_peer_invalidates.keys()
        }
        self.stale_for_peers = _with(self.stale_for_peers, other.stale_for_peers)
        # Reads that are stale on neither path are in no set, so that equal states compare equal.
        self.pending_peer_invalidates = {
            number: tuple(a & b for a, b in zip(bits, self.stale_for_peers, strict=True))
            for number, bits in self.pending_peer_invalidates.items()
        }
        return before != (self.stale_for_peers, self.pending_peer_invalidates)

    # Operations that are not done

    def undone(self, reach: Visibility) -> int:
        """The stores that have not got as far as ``reach``, but for those that are in flight."""
        bits = self.dirty[reach]
        for each in self.covered.values():
            bits |= each[reach]
        return bits

    def all_undone(self) -> tuple[int, ...]:
        """``undone`` by reach."""
        return tuple(map(self.undone, Visibility)) if self.covered else tuple(self.dirty)

    # Effects of instructions

    def step(self, code: Code, step: Step, operation: Operation | None) -> None:
        """Execute one instruction."""
        kind = step.effects.kind
        if kind is Kind.WAIT:
            self.wait(code.waits[step.instruction.line])
        elif kind is Kind.CALL and step.effects.calls_outside:
            self._call(operation)
        elif kind is Kind.OPAQUE:
            self.deliver_all()
            if operation is not None:
                self._outside(operation.bit)
        else:
            if operation is not None:
                self._operate(code, operation)
            if step.effects.events:
                self._issue(step, operation)

    def _call(self, operation: Operation | None) -> None:
        """A function waits for all that writes registers where it begins and where it returns."""
        self.wait({name: 0 for name in self.counters if name not in _OPEN_AT_CALLS})
        if operation is None:
            return
        self._outside(operation.bit)
        for name in _OPEN_AT_CALLS:
            if name in self.counters:
                left = self._tokens.of(_left(name, operation.number))
                self.counters[name].hold(_VECTOR, left)
                self.flight |= operation.bit

    def _issue(self, step: Step, operation: Operation | None) -> None:
        effects, of = step.effects, self._tokens
        results: tuple[str, ...] = effects.defines
        if effects.kind is Kind.COPY:
            results = (*results, LDS_DATA)
        registers = tokens = of.of_registers(results) if results else 0
        in_memory = False
        if operation is not None:
            form, number = operation.form, operation.number
            in_memory = form.in_memory
            if not form.is_invalidate or number in self.pending_invalidates:
                bit = 1 << number
                tokens |= of.of_operations(bit)
                self.flight |= bit
                if self.only_in_memory or self.only_in_lds:
                    self.only_in_memory &= ~bit
                    self.only_in_lds &= ~bit
        kinds = 0
        for event in effects.events:
            name = event.counter
            counter = self.counters[name]
            # A flat access that cannot be to LDS is done once memory has seen its end.
            counter.issue(event, registers if in_memory and name in _COUNTS_LDS else tokens)
            kinds |= event.kind
            if not self.chip.splits_counters and (arrived := counter.overflow()):
                self._deliver(name, arrived)
        if not results:
            return
        line, own = step.instruction.line, halves_of(step)
        for register in results:
            before = self.loads.get(register)
            more, halves = (before.kinds, before.halves) if before else (0, 0)
            self.loads[register] = Load(line, kinds | more, halves | own)

    def _operate(self, code: Code, operation: Operation) -> None:
        form = operation.form
        effect, bit = form.effect, 1 << operation.number
        if effect.writes_back is not None:
            self._write_back(operation.number, effect.writes_back)
            if code.mode.keeps_order:
                self.unflushed_since_barrier = 0
        elif form.kind is Kind.CACHE:
            self._invalidate(operation)
        if form.writes:
            if effect.stores is not None:
                self.dirty = _added(self.dirty, bit, effect.stores + 1)
            elif form.is_scalar and form.kind is Kind.STORE:
                self.dirty = _added(self.dirty, bit)
        if not form.sees:
            return
        self.stale = _added(self.stale, bit)
        for number, cleared in self.pending_invalidates.items():
            self.pending_invalidates[number] = tuple(each & ~bit for each in cleared)
        if self.has_peers:
            self.stale_for_peers = _added(self.stale_for_peers, bit)
            for number, settled in self.pending_peer_invalidates.items():
                self.pending_peer_invalidates[number] = tuple(each & ~bit for each in settled)
        self.dirty = _added(self.dirty, bit << code.others, Visibility.CLUSTER)
        if form.kind is Kind.BARRIER and self.flight & code.in_memory & code.writes:
            self.stores_at_barrier |= bit
            self.unflushed_since_barrier |= bit

    def _write_back(self, number: int, reach: Visibility) -> None:
        before = self.covered.get(number, (0,) * _REACHES)
        covers = range(reach + 1)
        # An operation that may overtake stores in flight says nothing of them.
        left = 0 if self.chip.orders_requests else self._in_memory()
        self.covered[number] = tuple(
            before[each] | (self.dirty[each] & ~left if each in covers else 0)
            for each in range(_REACHES)
        )
        for each in covers:
            self.dirty[each] &= left

    def _in_memory(self) -> int:
        """The operations that memory has yet to see the end of."""
        return self.flight & ~self.only_in_lds

    def _invalidate(self, operation: Operation) -> None:
        if operation.space is AddressSpace.CONSTANT:
            self.stale[-1] &= self.flight
            return
        if not operation.effect.invalidates:
            return
        levels = [level & operation.effect.invalidates for level in LEVELS]
        if self.has_peers:
            self.pending_peer_invalidates[operation.number] = tuple(
                reads & ~self.flight if level else 0
                for reads, level in zip(self.stale_for_peers, levels, strict=True)
            )
        if not self.chip.orders_requests and operation.effect.invalidates & Caches.AGENT:
            # Later accesses may overtake it until it is done; nobody waits for one of the L1 alone.
            self.pending_invalidates[operation.number] = tuple(
                stale & ~self._in_memory() if level else 0
                for stale, level in zip(self.stale, levels, strict=True)
            )
        else:
            for place, level in enumerate(levels):
                if level:
                    self.stale[place] &= self._in_memory()
        self.stale[-1] |= operation.bit

    def _outside(self, bit: int) -> None:
        self.dirty = _added(self.dirty, bit, Visibility.CLUSTER)
        self.stale = _added(self.stale, bit)
        if self.has_peers:
            self.stale_for_peers = _added(self.stale_for_peers, bit)

    def wait(self, counts: Mapping[str, int]) -> None:
        """A wait for some counters."""
        for name, counter in self.counters.items():
            count = counts.get(name)
            if count is not None:
                self._wait(name, counter, count)

    def _wait(self, name: Counter, counter: OutstandingTokens, count: int) -> None:
        self._deliver(name, counter.wait(count))
        if count > 0:
            return
        if self.pending_peer_invalidates and name in COUNT_INVALIDATES:
            # Whether an invalidate counts is not certain everywhere, so that no other count says it
            # is done.
            for settled in self.pending_peer_invalidates.values():
                self.stale_for_peers = [
                    a & ~b for a, b in zip(self.stale_for_peers, settled, strict=True)
                ]
            self.pending_peer_invalidates = {}
        for each, kind in _FLAT_LEAVES.get(name, ()):
            other = self.counters.get(each)
            if other is None or not other.bounds.kinds & _FLAT:
                continue
            if not other.tokens & self._tokens.of_registers((ANYTHING,)):
                other.bounds.kinds = other.bounds.kinds & ~_FLAT | kind

    def _deliver(self, name: Counter, tokens: int) -> None:
        """One counter has seen the end of registers or operations."""
        if not tokens:
            return
        left = 0
        for key, other in self.counters.items():
            if key is not name and other.tokens:
                left |= tokens & other.tokens
        self._end(self._tokens.operations_in(tokens & ~left))
        for register in self._tokens.registers_in(tokens & ~left):
            del self.loads[register]
        if not left:
            return
        past = self._tokens.operations_in(left)
        if name in _COUNTS_LDS:
            self.only_in_memory |= past
        else:
            self.only_in_lds |= past
        leaves = _FLAT_LEAVES.get(name, ())
        for register in self._tokens.registers_in(left):
            load = self.loads[register]
            kind = leaves[0][1] if leaves and load.kinds & _FLAT else 0
            kinds = load.kinds & ~(_DONE[name] | _FLAT) | kind
            self.loads[register] = replace(load, kinds=kinds)

    def _end(self, operations: int) -> None:
        """Some operations are done."""
        if not operations:
            return
        self.flight &= ~operations
        if self.only_in_memory or self.only_in_lds:
            self.only_in_memory &= ~operations
            self.only_in_lds &= ~operations
        if not (self.covered or self.pending_invalidates):
            return
        for number in [each for each in self.covered if operations >> each & 1]:
            del self.covered[number]
        for number in [each for each in self.pending_invalidates if operations >> each & 1]:
            cleared = self.pending_invalidates.pop(number)
            self.stale = [each & ~bits for each, bits in zip(self.stale, cleared, strict=True)]

    def deliver_all(self) -> None:
        """Nothing is in flight."""
        self.wait(dict.fromkeys(self.counters, 0))

    @property
    def waits_for_invalidate(self) -> bool:
        """True if an invalidate in flight is one that others of the work-group rely on."""
        return any(any(bits) for bits in self.pending_peer_invalidates.values())

    # Registers

    def hazards(self, step: Step) -> Iterator[tuple[bool, str]]:
        """The registers in flight that an instruction uses (True), or overwrites out of order.

        What a load of half a register keeps is read when it delivers (llvm-project#194477).
        """
        effects = step.effects
        for register in effects.uses:
            if register in self.loads and register not in effects.kept:
                yield True, register
        kind = effects.events[0].kind if len(effects.events) == 1 else None
        # Where counters are split registers are written in any order (llvm-project#105549).
        in_order = kind is not None and ORDERED[kind] and not self.chip.splits_counters
        for register in effects.defines:
            load = self.loads.get(register)
            if load is None or (in_order and load.kinds == kind):
                continue
            # Loads of one kind deliver the halves of a register apart (llvm-project#128927).
            if load.kinds != kind or load.halves & halves_of(step):
                yield False, register

    def needed(self, tokens: Iterable[str | int]) -> str:
        """The waits that deliver registers or operations, as assembly has them."""
        wanted = self._tokens.of(tokens)
        counts = {str(name): each.need(wanted) for name, each in self.counters.items()}
        return wait_text(self.chip, WaitCounts(**counts))


def halves_of(step: Step) -> int:
    """The halves of a register that a load of 16 bits writes, the lower one as the lowest bit."""
    name = access_name(step.instruction.mnemonic)
    if name is None or not name.is_half:
        return BOTH_HALVES
    return 0b10 if name.is_upper else 0b01


def _with(sets: Sequence[int], more: Sequence[int]) -> list[int]:
    """The unions of sets of operations.

    Neighbours that are one object stay one: a set has a bit for each operation of the function.
    """
    made: list[int] = []
    mine = its = union = -1
    for one, other in zip(sets, more, strict=True):
        if one is not mine or other is not its:
            mine, its, union = one, other, one | other
        made.append(union)
    return made


def _added(sets: list[int], bits: int, first: int = 0) -> list[int]:
    """Sets of operations, from the ``first`` on with more; as ``_with``."""
    made = sets.copy()
    mine = union = -1
    for place in range(first, len(made)):
        if made[place] is not mine:
            mine = made[place]
            union = mine | bits
        made[place] = union
    return made


def _left(name: Counter, number: int) -> tuple[int, ...]:
    """Of unseen code, the operations whose end a wait on one of ``_OPEN_AT_CALLS`` sees.

    Stores alone: copies to LDS are for those to wait for who make them.
    """
    return (number,) if name in _COUNT_STORES else ()


def kept_states(code: Code) -> MutableMapping[int, State]:
    """An empty mapping for states, whose clocks are at zero."""
    others, tokens = code.others, code.tokens

    def parts(state: State) -> Iterator[object]:
        yield from (*state.masks, *state.stale, *state.stale_for_peers)
        yield from apart(state.dirty, others)
        yield dict(state.loads)
        yield from listed(state.pending_invalidates)
        yield from listed(state.pending_peer_invalidates)
        yield from listed({n: [*apart(each, others)] for n, each in state.covered.items()})
        for counter in state.counters.values():
            yield from counter.parts(tokens)

    def whole(parts: Parts) -> State:
        made = State(code)
        made.masks = tuple(islice(parts, len(made.masks)))
        made.stale, made.stale_for_peers = ([*islice(parts, len(LEVELS))] for _ in range(2))
        made.dirty = list(together(parts, _REACHES, others))
        made.loads = dict(next(parts))
        made.pending_invalidates = by_number(parts, len(LEVELS))
        made.pending_peer_invalidates = by_number(parts, len(LEVELS))
        cut = by_number(parts, 2 * _REACHES)
        made.covered = {n: together(iter(each), _REACHES, others) for n, each in cut.items()}
        for counter in made.counters.values():
            counter.take(parts, tokens)
        return made

    return kept(others, parts, whole)


Through = Callable[[int, State], None]
"""Executes the steps of a block, of which the number is given, on the state before it."""


def solve(code: Code, through: Through | None = None, *, keeps: bool = True) -> Mapping[int, State]:
    """The state where each block begins that control can reach, in the order of the text.

    ``through``: executes each block, and looks at the states in it; the last time, with those of
    the solution. ``keeps``: states are sure to be read afterwards.
    """
    if through is not None and not keeps and code.flow.is_forward:
        return _Passed(code, tuple(_passed(code, through)))
    entries = kept_states(code)
    if not code.flow.blocks:
        return entries
    entries[0] = State(code, code.flow.is_called)

    def left(number: int, entry: State) -> State:
        leaving = leave(code, number, entry, through)
        leaving.rewind()  # As states that are joined have to be.
        return leaving

    graph = code.flow.graph
    solve_in_place(graph, entries, left, [0])
    held: MutableMapping[int, Any] = entries.held if isinstance(entries, Kept) else entries
    if [*held] != (text := sorted(held)):
        for number in text:
            held[number] = held.pop(number)
    for number in held if through is not None else ():
        if not graph.successors[number]:  # Nobody has taken the state after it.
            leave(code, number, entries[number], through)
    return entries


def _passed(code: Code, through: Through) -> Iterator[int]:
    """The blocks of code without loops that control can reach, each executed once; no state
    stays."""
    pending = {0: State(code, code.flow.is_called)}
    for number, block in enumerate(code.flow.blocks):
        state = pending.pop(number, None)
        if state is None:
            continue
        yield number
        through(number, state)
        state.rewind()
        *others, last = block.successors or (0,)
        for target in others:
            if target in pending:
                pending[target].join(state)
            else:
                pending[target] = state.copy()
        if last and last in pending:
            pending[last].join(state)
        elif last:
            pending[last] = state


@dataclass(frozen=True)
class _Passed(Mapping[int, State]):
    """The states where ``blocks`` begin, solved anew when one is read: few analyses read one."""

    code: Code
    blocks: tuple[int, ...]

    @cached_property
    def _states(self) -> Mapping[int, State]:
        return solve(self.code)

    def __getitem__(self, number: int) -> State:
        return self._states[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)


def leave(code: Code, number: int, entry: State, through: Through | None = None) -> State:
    """The state where a block ends; ``through`` as ``solve`` has it."""
    state = entry.copy()
    if through is not None:
        through(number, state)
        return state
    for step, operation in code.counted[number]:
        state.step(code, step, operation)
    return state


def walk(
    code: Code, entries: Mapping[int, State]
) -> Iterator[tuple[int, Step, Operation | None, State]]:
    """The steps that change the state, each with its block and the state before it.

    The state is the same object throughout a block: copy what is to be kept.
    """
    for number, entry in entries.items():
        state = entry.copy()
        for step, operation in code.counted[number]:
            yield number, step, operation, state
            state.step(code, step, operation)
