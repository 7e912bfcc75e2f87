"""Proxy fences that a PTX kernel lacks, and those that are redundant.

A forward dataflow over the blocks of a function that all threads of a cluster run. The state at
a point has the generic accesses of the CTA that may have been made before it, on a path without
a proxy fence: by the thread itself, or by another one that it has synchronised with through an
mbarrier or a named barrier (``bar.sync`` of all threads at one place adds nothing: their states
there are the same). What was made before such a barrier, and fenced after it by the thread itself,
it no longer gets from others: the barrier and the fence order it too. An access through the async
proxy needs a fence after each of them that conflicts with it. It is the first rule of
``docs/async.md``, on instructions as they are found:
``passes/proxies`` needs operations of ``scoped``, whose addresses and phases foreign code has not,
and inserts fences where this one judges those that stand. Source: PTX ISA, "Causality order"
(proxy-preserved base causality); "Async proxy".
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    CONTROL,
    MBARRIER_WAITS,
    SILENT,
    OperandRole,
    number,
)
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, Scope

_SILENT = SILENT | CONTROL


class Conflict(FastStrEnum):
    """The conflict of a generic access and a later async one."""

    READ = "an async read of what was written"
    OVERWRITE = "an async write of what was written"
    OVERWRITE_READ = "an async write of what was read"


@dataclass(frozen=True, slots=True)
class RequiredOrder:
    """A proxy fence that is missing: between ``before`` and ``later``, for ``space``.

    ``sure``: both are of the same bytes; else they may be. ``supplied``: what a tensor core reads
    there may come from copies into the same array.
    """

    before: PtxInstruction
    later: PtxInstruction
    conflict: Conflict
    space: AddressSpace
    sure: bool
    elsewhere: bool = False
    supplied: bool = False

    @property
    def fence(self) -> str:
        """The narrowest proxy fence that will do."""
        if self.space is AddressSpace.GLOBAL:
            return "fence.proxy.async.global"
        return "fence.proxy.async" if self.elsewhere else "fence.proxy.async.shared::cta"


@dataclass(frozen=True, slots=True)
class _Generic:
    """A generic access: where it is, whether it writes, and when it is made."""

    instruction: PtxInstruction
    place: Place
    writes: bool
    is_copy: bool


@dataclass(frozen=True, slots=True)
class _Async:
    """An access through the async proxy."""

    instruction: PtxInstruction
    place: Place
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class _State:
    """The generic accesses that may have been made before a point, as masks.

    ``shared``, ``global_``: of the CTA, in that memory, without a fence on some path. ``foreign``:
    by other CTAs. ``copies``: ``cp.async`` in flight. ``acquired``: acquires from other CTAs,
    ``polled``: strong reads that a fence may make such, as masks of instructions.

    What has been made on every path: ``met``: before a barrier of all threads; ``settled`` and
    ``settled_global``: before one with a fence after it, which orders them whoever made them.
    """

    shared: int = 0
    global_: int = 0
    foreign: int = 0
    copies: int = 0
    acquired: int = 0
    polled: int = 0
    met: int = 0
    settled: int = 0
    settled_global: int = 0

    def join(self, other: "_State") -> "_State":
        """The join of two paths: accesses of either, fences of both."""
        return _State(
            self.shared | other.shared,
            self.global_ | other.global_,
            self.foreign | other.foreign,
            self.copies | other.copies,
            self.acquired | other.acquired,
            self.polled | other.polled,
            self.met & other.met,
            self.settled & other.settled,
            self.settled_global & other.settled_global,
        )


_EMPTY = _State()
_OF_ALL_THREADS = frozenset({"bar sync", "bar red", "barrier sync", "barrier red"})
_ALL_DONE = frozenset({"cp async wait_all"})
_COPY_WAITS = frozenset({"cp async wait_group", "cp async wait_all"})
_ANYTHING = frozenset({"call"})


@dataclass(slots=True)
class _Code:
    """The part of a function that the analysis looks at."""

    generics: list[_Generic] = field(default_factory=list[_Generic])
    generic_of: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    asyncs: dict[int, list[_Async]] = field(default_factory=dict[int, list[_Async]])
    fences: list[PtxInstruction] = field(default_factory=list[PtxInstruction])
    instructions: list[PtxInstruction] = field(default_factory=list[PtxInstruction])


class ProxyAnalysis:
    """The proxy fences of one function."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self.code = self._read()
        self._graph = graph_of(self.function.blocks)
        self._heard = [
            [each for each in block.instructions if _is_heard(each)]
            for block in self.function.blocks
        ]
        self._narrowed: set[int] = set()
        self._barriers = self._named_barriers()
        self._waits = self._numbers(MBARRIER_WAITS)
        self._cluster_waits = self._numbers({"barrier cluster wait"})
        self._remote = sum(
            1 << number_
            for number_, each in enumerate(self.code.generics)
            if each.writes and each.place.space is AddressSpace.SHARED_CLUSTER
        )

    @property
    def fences(self) -> Sequence[PtxInstruction]:
        """The fences between the generic and the async proxy."""
        return self.code.fences

    def missing(self) -> list[RequiredOrder]:
        """The fences that are missing, by the accesses that need them."""
        return self._solve(frozenset(), anything=False)

    def surplus(self) -> Iterator[PtxInstruction]:
        """The redundant fences, together: without them no further fence is required.

        Calls and unknown instructions count as accesses of every kind. None of a function that is
        called: what its caller did is not known.
        """
        if not self.function.is_entry or not self.code.fences:
            return
        gone: frozenset[int] = frozenset()
        required = self._keys(self._solve(gone, anything=True))
        for fence in reversed([each for each in self.code.fences if not _is_restricted(each)]):
            less = gone | {fence.number}
            if self._keys(self._solve(less, anything=True)) == required:
                gone = less
                yield fence

    def narrower(self) -> Iterator[PtxInstruction]:
        """The fences of all memory that are needed for shared memory of the CTA alone."""
        wide = [
            each
            for each in self.code.fences
            if not each.statement.opcode.spaces and not _is_restricted(each)
        ]
        if not self.function.is_entry or not wide:
            return
        required = self._keys(self._solve(frozenset(), anything=True))
        for fence in reversed(wide):
            self._narrowed.add(fence.number)
            if self._keys(self._solve(frozenset(), anything=True)) == required:
                yield fence
            else:
                self._narrowed.discard(fence.number)
        self._narrowed.clear()

    @staticmethod
    def _keys(required: Sequence[RequiredOrder]) -> frozenset[tuple[int, int]]:
        return frozenset((each.before.number, each.later.number) for each in required)

    # The function

    def _read(self) -> _Code:
        code = _Code()
        for each in self.function.instructions:
            statement = each.statement
            code.instructions.append(each)
            if statement.operation == "fence proxy async" or _is_restricted(each):
                code.fences.append(each)
            for access in statement.accesses:
                place = self.places.of(access)
                if access.proxy is Proxy.ASYNC:
                    found = _Async(each, place, access.reads, access.writes)
                    code.asyncs.setdefault(each.number, []).append(found)
                elif access.proxy is Proxy.GENERIC and _is_data(each, place):
                    code.generic_of.setdefault(each.number, []).append(len(code.generics))
                    is_copy = statement.operation == "cp async"
                    code.generics.append(_Generic(each, place, access.writes, is_copy))
        return code

    def _named_barriers(self) -> Mapping[int, frozenset[int]]:
        """For each arrival at a named barrier the waits of other places that it may end.

        Threads that wait at one place and then at another, with as many others, are one group
        that takes them in turn: a group of its own has code of its own.
        """
        arrivals: dict[str, list[int]] = {}
        waits: dict[str, list[int]] = {}
        syncs: set[int] = set()
        for each in self.code.instructions:
            operation, operands = each.statement.operation, each.statement.operands
            if operation in ("bar arrive", "barrier arrive"):
                arrivals.setdefault(operands[0], []).append(each.number)
            elif operation in ("bar sync", "barrier sync"):
                waits.setdefault(operands[0] if operands else "0", []).append(each.number)
                if len(operands) > 1:
                    arrivals.setdefault(operands[0], []).append(each.number)
                    syncs.add(each.number)
        found: dict[int, frozenset[int]] = {}
        after = {
            each.number: self._reached_from(block.number)
            for block in self.function.blocks
            for each in block.instructions
            if each.number in syncs
        }
        for name, numbers in arrivals.items():
            for one in numbers:
                ended = frozenset(waits.get(name, ())) - {one}
                if one in syncs:
                    ended -= {
                        each for each in ended & syncs if each in after[one] or one in after[each]
                    }
                found[one] = ended
        return found

    def _reached_from(self, start: int) -> frozenset[int]:
        """The instructions of the blocks that a path leads to from a block, which is one of
        them."""
        blocks = map(self.function.blocks.__getitem__, self._graph.reachable([start]))
        return frozenset(each.number for block in blocks for each in block.instructions)

    # The fixpoint

    def _solve(self, without: frozenset[int], anything: bool) -> list[RequiredOrder]:
        """The required orders if the fences ``without`` were absent."""
        if not self.code.asyncs and not anything:
            return []
        guards = {each.statement.guard for each in self.code.fences if each.statement.guard}
        guards &= {self.code.instructions[n].statement.guard for n in self.code.asyncs}
        required: list[RequiredOrder] = []
        for guard in ("", *sorted(guards)):
            # A predicated fence is one for what has the same predicate, and for nothing else.
            counted = {
                each.number
                for each in self.code.fences
                if each.statement.guard in ("", guard) and each.number not in without
            }
            judged = guard or None
            required += self._fixpoint(counted, judged, guards, anything)
        return required

    def _fixpoint(
        self, counted: set[int], guard: str | None, guards: set[str], anything: bool
    ) -> list[RequiredOrder]:
        mail: dict[int, _State] = {}
        letters = 0

        def after(number_: int, state: _State) -> _State:
            nonlocal letters
            for each in self._heard[number_]:
                state, sent = self._step(each, state, counted, mail)
                letters += sent
            return state

        # Mail comes to other places than the next.
        entry = solve(self._graph, {0: _EMPTY}, after, _State.join, shared=lambda: letters)
        required: list[RequiredOrder] = []
        for number_, state in sorted(entry.items()):
            for each in self._heard[number_]:
                mine = each.statement.guard if each.statement.guard in guards else None
                if mine == guard:
                    required += self._required(each, state)
                    required += self._acquired(each, state) if anything else ()
                    if anything and _may_do_anything(each):
                        required += self._required_by_anything(each, state)
                state, _ = self._step(each, state, counted, mail)
        return required

    def _step(
        self,
        each: PtxInstruction,
        state: _State,
        counted: set[int],
        mail: dict[int, _State],
    ) -> tuple[_State, bool]:
        """The state after an instruction, and whether other threads got something new."""
        shared, global_, foreign = state.shared, state.global_, state.foreign
        copies, acquired, polled = state.copies, state.acquired, state.polled
        met, settled, settled_global = state.met, state.settled, state.settled_global
        statement = each.statement
        operation = statement.operation
        for number_ in self.code.generic_of.get(each.number, ()):
            generic, bit = self.code.generics[number_], 1 << number_
            met, settled, settled_global = met & ~bit, settled & ~bit, settled_global & ~bit
            if generic.is_copy:
                copies |= bit
                continue
            shared |= bit if generic.place.may_be_shared else 0
            global_ |= bit if generic.place.may_be_global else 0
        if operation in _OF_ALL_THREADS and len(statement.operands) < 2 and not statement.guard:
            met |= shared | global_
        if each.number in counted:
            spaces = statement.opcode.spaces
            space = spaces[0] if spaces else None
            if each.number in self._narrowed:
                space = AddressSpace.LOCAL
            if _is_restricted(each):
                if statement.ordering is Ordering.ACQUIRE:
                    foreign = shared = 0
            else:
                if space is not AddressSpace.GLOBAL:
                    shared, settled = 0, settled | met
                    foreign = foreign if space is AddressSpace.LOCAL else 0
                if space in (None, AddressSpace.GLOBAL):
                    global_, settled_global = 0, settled_global | met
                    acquired = 0
        if operation in _COPY_WAITS:
            shared |= copies
            left = number(statement.operands[0]) if statement.operands else 0
            copies = 0 if operation in _ALL_DONE or left == 0 else copies
        received = mail.get(each.number)
        if received is not None:
            shared |= received.shared & ~settled
            global_ |= received.global_ & ~settled_global
            foreign |= received.foreign
        scope = statement.scope
        wide = scope is not None and scope.includes(Scope.AGENT)
        if statement.ordering is not None and wide and statement.kind in ACCESSES:
            reads = any(access.reads for access in statement.accesses)
            if statement.is_strong and reads and operation != "red":
                polled |= 1 << each.number
                acquired |= 1 << each.number if statement.ordering.acquires else 0
        if operation == "fence" and wide and statement.ordering and statement.ordering.acquires:
            acquired |= polled
        new = _State(
            shared, global_, foreign, copies, acquired, polled, met, settled, settled_global
        )
        return new, self._send(each, new, mail)

    def _send(self, each: PtxInstruction, state: _State, mail: dict[int, _State]) -> bool:
        statement = each.statement
        remote = state.shared & self._remote
        made = _State(state.shared, state.global_, state.foreign)
        sent: _State | None = None
        targets: Sequence[int] | frozenset[int] = ()
        if statement.operation == "cp async mbarrier arrive":
            targets, sent = self._waits, _State(state.copies)
        elif statement.operation in ARRIVALS:
            targets, sent = self._waits, made
            if statement.scope is Scope.CLUSTER:
                # A write into another CTA's shared memory is foreign to that CTA.
                sent = replace(made, foreign=made.foreign | remote)
        elif each.number in self._barriers:
            targets, sent = self._barriers[each.number], made
        elif statement.operation == "barrier cluster arrive" and remote:
            targets, sent = self._cluster_waits, _State(foreign=remote)
        news = False
        for target in targets:
            assert sent is not None
            before = mail.get(target, _EMPTY)
            joined = before.join(sent)
            if joined != before:
                mail[target] = joined
                news = True
        return news

    def _numbers(self, operations: Container[str]) -> Sequence[int]:
        return [e.number for e in self.code.instructions if e.statement.operation in operations]

    # The required fences

    def _required(self, each: PtxInstruction, state: _State) -> Iterator[RequiredOrder]:
        for async_ in self.code.asyncs.get(each.number, ()):
            if async_.place.may_be_shared:
                yield from self._conflicts(async_, state.shared, AddressSpace.LOCAL, False)
                yield from self._conflicts(async_, state.foreign, AddressSpace.LOCAL, True)
            if async_.place.may_be_global:
                yield from self._conflicts(async_, state.global_, AddressSpace.GLOBAL, False)

    def _acquired(self, each: PtxInstruction, state: _State) -> Iterator[RequiredOrder]:
        """The orders of what other kernels may have written before an acquire, and async reads."""
        asyncs = self.code.asyncs.get(each.number, ())
        if any(async_.place.may_be_global and async_.reads for async_ in asyncs):
            for number_ in bits(state.acquired):
                acquire = self.code.instructions[number_]
                yield RequiredOrder(acquire, each, Conflict.READ, AddressSpace.GLOBAL, False)

    def _conflicts(
        self, async_: _Async, pending: int, space: AddressSpace, elsewhere: bool
    ) -> Iterator[RequiredOrder]:
        for number_ in bits(pending):
            generic = self.code.generics[number_]
            if not generic.writes and not async_.writes:
                continue
            meets = overlap(generic.place, async_.place)
            if meets is Overlap.NO:
                continue
            conflict = Conflict.OVERWRITE_READ
            if generic.writes:
                conflict = Conflict.READ if async_.reads else Conflict.OVERWRITE
            sure = meets is Overlap.SURE
            before, later = generic.instruction, async_.instruction
            supplied = async_.reads and self._is_supplied(async_)
            yield RequiredOrder(before, later, conflict, space, sure, elsewhere, supplied)

    def _is_supplied(self, read: _Async) -> bool:
        """True if a tensor core reads data that a copy may have written."""
        if not read.instruction.statement.operand(OperandRole.DESCRIPTOR):
            return False
        return any(
            each.writes and each is not read and overlap(each.place, read.place) is not Overlap.NO
            for asyncs in self.code.asyncs.values()
            for each in asyncs
            if each.place.may_be_shared
        )

    def _required_by_anything(self, each: PtxInstruction, state: _State) -> Iterator[RequiredOrder]:
        for mask, space in (
            (state.shared | state.foreign, AddressSpace.LOCAL),
            (state.global_, AddressSpace.GLOBAL),
        ):
            for number_ in bits(mask):
                before = self.code.generics[number_].instruction
                yield RequiredOrder(before, each, Conflict.READ, space, False)


def _is_data(each: PtxInstruction, place: Place) -> bool:
    """True if a generic access may be of memory that async accesses are of."""
    if each.statement.kind is Kind.TENSOR:
        return False
    return place.may_be_shared or place.may_be_global


def _is_restricted(each: PtxInstruction) -> bool:
    """True if it is a one-sided proxy fence, of shared memory in a cluster."""
    return each.statement.operation == "fence proxy async::generic"


def _is_heard(each: PtxInstruction) -> bool:
    """True if the analysis has anything to do at an instruction."""
    kind = each.statement.kind
    return kind not in _SILENT or _may_do_anything(each)


def _may_do_anything(each: PtxInstruction) -> bool:
    return each.statement.kind is Kind.OPAQUE or each.statement.operation in _ANYTHING
