"""Barriers, and orderings of accesses, that order nothing in one PTX kernel.

A forward dataflow has what may have been done since the last barrier of all threads, and which
barrier that was. A barrier is redundant where nothing before it, back to the barrier before, is in
conflict with anything after it, up to the next one. Of barriers next to each other one of two can
go. Where groups of threads have barriers of their own, one group may meet another at another place
in the text, and nothing is said. What is not an access by threads, an mbarrier or a copy, counts as
a conflict with everything. Nothing that an instruction that is not known can run before or after is
said to be surplus. A fence between proxies can go where a verdict on every pair of accesses is the
same without it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Fence, Kernel, Region, Verdict
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.code.records import record
from fencewright.lowering.code.unknown import beside
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES, CONTROL, SILENT, Opcode, Statement
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFunction, PtxInstruction
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import AddressSpace

_OF_GROUPS = frozenset({"bar arrive", "barrier arrive", "brx"})
_SILENT = SILENT | CONTROL
_SHARED = frozenset({Region.SHARED})
_DECIDED = (VerdictKind.RACE_FREE, VerdictKind.LAUNCH)


def beside_unknown(function: PtxFunction) -> frozenset[int]:
    """The numbers of the instructions that one that is not known can run before or after."""
    if function.is_known:
        return frozenset()
    blocks = [each.instructions for each in function.blocks]
    return frozenset(each.number for each in beside(function.blocks, blocks, _is_unknown))


def _is_unknown(each: PtxInstruction) -> bool:
    return each.statement.kind is Kind.OPAQUE


@record()
class _Data:
    """The places that an instruction accesses; ``places`` is None for any possible conflict."""

    places: tuple[tuple[Place, bool], ...] | None


@record()
class _Numbers:
    """A set of numbers that are near each other: a mask from the ``lowest`` on."""

    lowest: int = 0
    mask: int = 0

    @staticmethod
    def of(numbers: range) -> "_Numbers":
        """Numbers that follow one another."""
        return _Numbers(numbers.start, (1 << len(numbers)) - 1)

    def __or__(self, other: "_Numbers") -> "_Numbers":
        if not (self.mask and other.mask):
            return self if self.mask else other
        lowest = min(self.lowest, other.lowest)
        own = self.mask << self.lowest - lowest
        return _Numbers(lowest, own | other.mask << other.lowest - lowest)

    def __iter__(self) -> Iterator[int]:
        return (self.lowest + each for each in bits(self.mask))


@record()
class _State:
    """The accesses since the last barrier, and the last barriers."""

    since: _Numbers = _Numbers()
    last: _Numbers = _Numbers()

    def join(self, other: "_State") -> "_State":
        """The join of two paths: the possibilities of either."""
        return _State(self.since | other.since, self.last | other.last)


class BarrierAnalysis:
    """The barriers of all threads of one kernel."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        meetings = [
            each for each in self.function.instructions if each.statement.operation in MEETS
        ]
        self.barriers = [each for each in meetings if _is_of_all(each.statement)]
        has_others = not _OF_GROUPS.isdisjoint(self.function.operations)
        self._has_groups = has_others or len(meetings) > len(self.barriers)
        """Some barrier is not of all threads, or has another number than zero."""
        self._barrier = {each.number: n for n, each in enumerate(self.barriers)}
        self._data: list[_Data] = []

    def surplus(self) -> Iterator[PtxInstruction]:
        """The barriers that can go together, in the order of the text."""
        if not self.barriers or not self.function.is_entry or self._has_groups:
            return
        before, after, next_to = self._intervals()
        kept = beside_unknown(self.function)
        gone: set[int] = set()
        chosen: list[PtxInstruction] = []
        for n in reversed(range(len(self.barriers))):
            if self.barriers[n].number in kept or not next_to[n].isdisjoint(gone):
                continue
            if any(self._conflict(a, b) for a in before[n] for b in after[n]):
                continue
            gone.add(n)
            chosen.append(self.barriers[n])
        yield from reversed(chosen)

    def _intervals(self) -> tuple[list[set[int]], list[set[int]], list[set[int]]]:
        """By barrier: the accesses before it and after it, and the barriers next to it."""
        runs = [[*self._runs(each)] for each in self.function.blocks]

        def through(number: int, state: _State) -> _State:
            own = runs[number]
            accesses = _Numbers.of(own[-1][0])
            if len(own) > 1:
                return _State(accesses, _Numbers(own[-2][1], 1))
            return _State(state.since | accesses, state.last) if accesses.mask else state

        before, after, next_to = ([set[int]() for _ in self.barriers] for _ in range(3))
        for number, state in entries(self.function.blocks, _State(), through).items():
            since, last = set(state.since), [*state.last]
            for accesses, n in runs[number]:
                since.update(accesses)
                for other in last:
                    after[other].update(accesses)
                if n < 0:
                    break
                before[n] = since
                next_to[n].update(last)
                for other in last:
                    next_to[other].add(n)
                since, last = set[int](), [n]
        return before, after, next_to

    def _runs(self, block: PtxBlock) -> Iterator[tuple[range, int]]:
        """The accesses before each barrier of a block, and those after the last, with -1."""
        first = len(self._data)
        for each in block.instructions:
            if (n := self._barrier.get(each.number)) is not None:
                yield range(first, len(self._data)), n
                first = len(self._data)
            elif each.statement.kind not in _SILENT:
                self._data.append(self._data_of(each))
        yield range(first, len(self._data)), -1

    def _data_of(self, each: PtxInstruction) -> _Data:
        statement = each.statement
        accesses = statement.accesses
        is_plain = statement.operation in ("ld", "st", "ld nc") and not statement.is_strong
        if not is_plain or any(access.proxy is Proxy.ASYNC for access in accesses):
            return _Data(None)
        found = [(self.places.of(access), access.writes) for access in accesses]
        private = (AddressSpace.PRIVATE, AddressSpace.CONSTANT)
        return _Data(tuple(each for each in found if each[0].space not in private))

    def _conflict(self, a: int, b: int) -> bool:
        first, second = self._data[a].places, self._data[b].places
        if first is None or second is None:
            return True
        return any(
            (writes or also) and overlap(place, other) is not Overlap.NO
            for place, writes in first
            for other, also in second
        )


def _is_of_all(statement: Statement) -> bool:
    """True if all threads of the CTA meet at it, and nothing else happens there."""
    is_one = statement.operation in MEETS and "red" not in statement.operation_words
    return is_one and statement.operands == ("0",) and not statement.guard


@dataclass(frozen=True, slots=True)
class _Done:
    """The flag that anything was done ``before``; the acquires after which nothing was done."""

    before: bool = False
    alone: int = 0

    def join(self, other: "_Done") -> "_Done":
        """The join of two paths: the possibilities of either."""
        return _Done(self.before or other.before, self.alone | other.alone)


@dataclass(frozen=True, slots=True)
class Idle:
    """An ordering of ``access`` that orders nothing: its release, or its acquire."""

    access: PtxInstruction
    releases: bool


def idle_orderings(places: Places) -> Iterator[Idle]:
    """The releases before which, and the acquires after which a kernel does nothing."""
    function = places.function
    if not function.is_entry or not any(map(_orders, function.opcodes)):
        return
    unknown = beside_unknown(function)
    followed = set(unknown)
    for each, state in states(function, _Done(), _did):
        if each.statement.kind in _SILENT:
            continue
        followed.update(bits(state.alone))
        ordering = each.statement.ordering
        releases = ordering is not None and ordering.releases
        if _is_ordered(each) and releases and not state.before and each.number not in unknown:
            yield Idle(each, True)
    for each in function.instructions:
        ordering = each.statement.ordering
        acquires = ordering is not None and ordering.acquires
        if _is_ordered(each) and acquires and each.number not in followed:
            yield Idle(each, False)


def _did(each: PtxInstruction, state: _Done) -> _Done:
    if each.statement.kind in _SILENT:
        return state
    return _Done(True, 1 << each.number if _is_ordered(each) else 0)


def _is_ordered(each: PtxInstruction) -> bool:
    return _orders(each.statement.opcode)


def _orders(opcode: Opcode) -> bool:
    return (
        opcode.kind in ACCESSES
        and opcode.operation in ("atom", "red", "ld", "st")
        and opcode.ordering is not None
        and (opcode.ordering.releases or opcode.ordering.acquires)
    )


def idle_proxy_fences(
    kernel: Kernel, verdict: Verdict, launch: Launch | None
) -> Iterator[tuple[int, bool]]:
    """The lines of the fences between proxies that a verdict on every pair does not depend on,
    together; with True, of those of which the part about shared memory is enough.

    Without accesses by the async proxy no verdict does, but other kernels may access global memory.
    """
    is_decided = verdict.kind in _DECIDED
    is_open = not is_decided and any(each.proxy is Proxy.ASYNC for each in kernel.accesses)
    if kernel.obstacles or is_open:
        return
    fences = [
        each
        for each in kernel.fences
        if Proxy.ASYNC in each.proxies and (is_decided or each.regions == _SHARED)
    ]
    for line in reversed(dict.fromkeys(kernel.line_of(each.instruction) for each in fences)):
        own = [each for each in fences if kernel.line_of(each.instruction) == line]
        for is_narrowed in (False, True):
            if any(each.is_one_sided or (is_narrowed and each.regions) for each in own):
                break
            less = _without(kernel, own, is_narrowed=is_narrowed)
            if _decided(judge(less, launch)) == _decided(verdict):
                kernel = less
                yield line, is_narrowed
                break


def _decided(verdict: Verdict) -> object:
    """All that a verdict says of pairs of accesses."""
    conflicts = ((each.first, each.second, each.condition) for each in verdict.conflicts)
    return verdict.kind, verdict.notes, tuple(conflicts)


def _without(kernel: Kernel, fences: list[Fence], *, is_narrowed: bool) -> Kernel:
    """A kernel without some fences, or with fences of shared memory in their place."""
    kept = [each for each in kernel.fences if each not in fences]
    if is_narrowed:
        kept += (replace(each, regions=_SHARED) for each in fences)
    return replace(kernel, fences=tuple(kept), _memo={})
