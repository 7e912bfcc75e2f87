"""Accesses between the barriers of a function of AMD assembly.

A forward dataflow over the operations has the last barriers on the way, and all that has been
issued. A barrier orders what is done when it is reached, not what is in flight there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from fencewright.checker.amd.accesses import CLUSTER_BARRIER, Operation
from fencewright.checker.amd.kept import kept, kept_sets
from fencewright.checker.amd.state import Code
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve, solve_in_place
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.meetings import barriers_of


@dataclass(slots=True)
class _At:
    """Masks of operations: the last barriers, and all issued."""

    last: int = 0
    issued: int = 0

    def copy(self) -> "_At":
        """Another one with the same content."""
        return _At(*_masks_of(self))

    def join(self, other: "_At") -> bool:
        """Add the operations that may be on the other path; true if some are new."""
        before = _masks_of(self)
        self.last |= other.last
        self.issued |= other.issued
        return before != _masks_of(self)


_masks_of = attrgetter("last", "issued")


def met_by_peers(code: Code) -> Mapping[Operation, frozenset[Operation]]:
    """For each barrier those at which other waves of the work-group may be meanwhile, itself
    included.

    Waves meet at their n-th barriers, on any pair of paths. All of them where barriers have
    numbers.
    """
    barriers = {
        number: [each for _, each in steps if each is not None and each.kind is Kind.BARRIER]
        for number, steps in enumerate(code.counted)
    }
    every = frozenset(each for found in barriers.values() for each in found)
    if any(map(is_numbered, every)) or len(set(map(_number_of, every))) > 1:
        return dict.fromkeys(every, every)
    met = barriers_of(code.flow.graph, 0, barriers).in_step()
    return {each: met.get(each, frozenset({each})) for each in every}


def needed_by_peers(code: Code, met: Mapping[Operation, frozenset[Operation]]) -> Mapping[int, int]:
    """By the number of a barrier, the ``Caches`` that must hold nothing stale for waves at another
    one.

    What a wave reads after the barrier at which it itself is, its own reads show; a wave at another
    barrier reads other things, and does not invalidate for what this one has acquired. ``met``: as
    ``met_by_peers`` has it.
    """
    after = dict.fromkeys((each.number for each in met), 0)

    def of_others(barrier: Operation) -> int:
        needed = 0
        for other in met[barrier]:
            needed |= after[other.number] if other is not barrier else 0
        return needed

    def carry(number: int, needed: int) -> int:
        for _, operation in reversed(code.counted[number]):
            if operation is None:
                continue
            if operation.kind is Kind.BARRIER:
                after[operation.number] |= needed
                needed |= of_others(operation)
            needed = needed & ~int(operation.effect.invalidates) | int(operation.effect.reads)
        return needed

    if any(len(others) > 1 for others in met.values()):
        # Least fixpoint, backward: needs of waves at other barriers grow with those after them.
        graph = code.flow.graph
        ends = dict.fromkeys(graph.nodes, 0)
        solve(graph.backward, ends, carry, int.__or__, shared=lambda: tuple(after.values()))
    return {each.number: of_others(each) for each in met}


_OF_ALL = frozenset({"-1", CLUSTER_BARRIER})
"""The barriers that all waves of a work-group come to: its own, and that of the cluster."""


def is_numbered(barrier: Operation) -> bool:
    """True if it is a signal of a barrier that not all waves of the work-group need come to."""
    return any(each not in _OF_ALL for each in _number_of(barrier))


def _number_of(barrier: Operation) -> tuple[str, ...]:
    """The number that a signal has; none where a work-group has one barrier."""
    return () if barrier.step is None else tuple(map(str, barrier.step.instruction.operands))


class Barriers:
    """The barriers of one function. ``flights``: as ``LiftedFunction`` has them."""

    def __init__(self, code: Code, flights: Mapping[int, int]):
        self.code = code
        self.flights = flights
        self.barriers = [
            each for each in code.operations if each.kind is Kind.BARRIER and each.number in flights
        ]
        self._to_lds = code.of_kinds(Kind.COPY) if Kind.COPY in code.flow.kinds else 0

    @cached_property
    def _passed(self) -> "_Passed":
        """The operations on the ways between barriers: most functions need none."""
        return _Passed(self.code, self.flights, self.barriers)

    def met(self, barrier: Operation) -> int:
        """The operations between a barrier and the next one, of any of the waves that meet there.

        Some of them may be at another barrier, if no path has both: all waves are taken to come to
        one that is on their path, as languages require of them. ``met_by_peers`` takes nothing of
        the kind, since what is surplus by it may be removed.
        """
        after, earlier = 0, self._passed.earlier
        for other in self.barriers:
            on_one_path = earlier[other.number] & barrier.bit or earlier[barrier.number] & other.bit
            if other is barrier or not on_one_path:
                after |= self._passed.after[other.number]
        return after

    def unwaited(self) -> int:
        """The loads to LDS that are in flight wherever others could learn that they are done.

        That is at barriers, or where there are none at reads of LDS.
        """
        return self._to_lds & ~self._passed.delivered if self._to_lds else 0


class _Passed:
    """The operations between barriers: ``after`` each one before the next, all ``earlier`` ones,
    and those ``delivered`` that some barrier or read of LDS finds done."""

    def __init__(self, code: Code, flights: Mapping[int, int], barriers: Sequence[Operation]):
        self.code, self.flights, self.barriers = code, flights, barriers
        self.after, self.earlier = kept_sets(code.others), kept_sets(code.others)
        for each in barriers:
            self.after[each.number] = self.earlier[each.number] = 0
        self.delivered = 0
        self._counted = code.accesses | code.of_kinds(Kind.COPY)
        if flights:
            states = kept(code.others, _masks_of, lambda parts: _At(*parts))
            states[0] = _At()
            solve_in_place(code.flow.graph, states, self._leave, [0])
            for number in states:  # What is noted on the way grows with the state.
                if not code.flow.blocks[number].successors:
                    self._leave(number, states[number])

    def _leave(self, number: int, at: _At) -> _At:
        last, issued, since = at.last, at.issued, 0
        for _, operation in self.code.counted[number]:
            if operation is None:
                continue
            own, bit = operation.number, operation.bit
            if operation.kind is Kind.BARRIER:
                self._note_after(last, since)
                self.delivered |= issued & ~self.flights[own]
                self.earlier[own] |= issued
                last, issued, since = bit, issued | bit, 0
                continue
            if not self.barriers and operation.in_lds and operation.reads:
                self.delivered |= issued & ~self.flights[own]
            counts = bit & self._counted
            issued, since = issued | bit, since | counts
        self._note_after(last, since)
        return _At(last, issued)

    def _note_after(self, last: int, since: int) -> None:
        """Note what is issued after the ``last`` barriers."""
        for each in bits(last) if since else ():
            self.after[each] |= since
