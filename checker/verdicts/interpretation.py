"""The meaning of constraints over threads, whatever numbers are: known ones, or z3's bit-vectors.

What two threads and two accesses have to do with each other is defined once; an interpretation
gives the numbers of a launch and of its threads, and joins truth values.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain
from typing import Generic, TypeVar

from fencewright.checker.verdicts.expressions import COMPARISONS, OPERATIONS, WIDE, as_signed, ones
from fencewright.checker.verdicts.model import (
    Access,
    AllOf,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    LinearForm,
    Not,
    Overlap,
    Region,
    Relation,
    Together,
)
from fencewright.lowering.code.value import Apply, Value
from fencewright.lowering.vocabulary import Scope

RANK = "%cluster_ctarank"
ELECTED = "%elect"
NumberT = TypeVar("NumberT")
TruthT = TypeVar("TruthT")


class Interpretation(ABC, Generic[NumberT, TruthT]):
    """Numbers of threads, of which 0 and 1 stand in a relation."""

    kernel: Kernel
    relation: Relation
    splits_warps: bool
    """Threads of one CTA are of two warps."""

    # Numbers and truth values

    @abstractmethod
    def dimensions(self, kind: str) -> str:
        """The dimensions of thread or CTA indices that a kernel tells apart."""

    @abstractmethod
    def value(self, value: Value, thread: int) -> NumberT:
        """The value that a thread finds."""

    @abstractmethod
    def named(self, name: str, thread: int, bits: int = 32) -> NumberT:
        """A size, which all threads share, or an index of a thread."""

    @abstractmethod
    def offset(self, form: LinearForm, thread: int) -> NumberT:
        """A linear form of a thread, as a number of 64 bits."""

    @abstractmethod
    def linear(self, thread: int) -> NumberT | None:
        """The number of a thread in its CTA, by which warps are made; None where sizes are not
        known. Source: PTX ISA, warps; MI300 ISA 3.3."""

    @abstractmethod
    def by_lanes(self, number: NumberT) -> tuple[NumberT, NumberT]:
        """The quotient and the remainder of a number by the lanes of a warp."""

    @abstractmethod
    def compared(self, operation: str, a: NumberT | int, b: NumberT | int, bits: int) -> TruthT:
        """A comparison of two numbers."""

    @abstractmethod
    def shared_bytes(self, overlap: Overlap, a: NumberT, b: NumberT) -> Iterator[TruthT]:
        """The conditions that two accesses of one object, at these offsets, have a byte in
        common."""

    @abstractmethod
    def known(self, truth: bool) -> TruthT:
        """A truth value that is known."""

    @abstractmethod
    def all_of(self, parts: Iterable[TruthT]) -> TruthT:
        """All of some, at least one."""

    @abstractmethod
    def any_of(self, parts: Iterable[TruthT]) -> TruthT:
        """One of some, at least one."""

    @abstractmethod
    def negated(self, truth: TruthT) -> TruthT:
        """The opposite."""

    # Threads

    def related(self) -> Iterator[TruthT]:
        """The conditions that threads 0 and 1 stand in the relation."""
        if self.relation in (Relation.WARP, Relation.CTA):
            # Of the lanes of a warp one is elected. Source: PTX ISA, elect.sync.
            elected = [self.compared("eq", self.named(ELECTED, n, 1), 1, 1) for n in (0, 1)]
            yield self.negated(self.all_of((self.same_warp(0, 1), *elected)))
        same_cta, same_thread = self.same_cta(0, 1), self._same("tid", 0, 1)
        match self.relation:
            case Relation.THREAD:
                yield self.all_of((same_cta, same_thread))
            case Relation.WARP:
                yield self.all_of((same_cta, self.negated(same_thread), self.same_warp(0, 1)))
            case Relation.CTA:
                yield self.all_of((same_cta, self.negated(same_thread)))
                if self.splits_warps:
                    yield self.negated(self.same_warp(0, 1))
            case Relation.CLUSTER:
                # Of one cluster, in which each CTA has a rank of its own.
                yield self.compared("ne", self.named(RANK, 0), self.named(RANK, 1), 32)
            case Relation.GRID:
                yield self.negated(same_cta)

    def same_cta(self, left: int, right: int) -> TruthT:
        """Threads of one CTA."""
        rank = (RANK,) if RANK in self.kernel.specials else ()
        return self._same("ctaid", left, right, *rank)

    def _same(self, kind: str, left: int, right: int, *more: str) -> TruthT:
        names = (*(f"%{kind}.{d}" for d in self.dimensions(kind)), *more)
        return self.all_of(
            self.compared("eq", self.named(name, left), self.named(name, right), 32)
            for name in names
        )

    def same_warp(self, left: int, right: int) -> TruthT:
        """Threads of one CTA that are surely of one warp: where sizes are not known, those with the
        same row and the same upper bits of x, of rows of whole warps."""
        one, other = self.linear(left), self.linear(right)
        if one is not None and other is not None:
            return self.compared("eq", self.by_lanes(one)[0], self.by_lanes(other)[0], 32)
        one, other = (self.by_lanes(self.named("%tid.x", n))[0] for n in (left, right))
        rest = self.by_lanes(self.named("%ntid.x", 0))[1]
        parts = [self.compared("eq", one, other, 32), self.compared("eq", rest, 0, 32)]
        rows = (f"%tid.{d}" for d in self.dimensions("tid")[1:])
        parts += [
            self.compared("eq", self.named(name, left), self.named(name, right), 32)
            for name in rows
        ]
        return self.all_of(parts)

    # Constraints

    def truth(self, constraint: Constraint) -> TruthT:
        """The truth of a constraint."""
        match constraint:
            case Holds(literal, thread):
                number = self.value(literal.value, thread)
                return self.compared("eq", number, int(literal.polarity), 1)
            case Compare(operation, left, left_thread, right, right_thread):
                a, b = self.value(left, left_thread), self.value(right, right_thread)
                return self.compared(operation, a, b, left.bits or 32)
            case Overlap():
                return self._overlap(constraint)
            case Together(left, right, level):
                same = self.same_cta(left, right)
                if level is None:
                    return self.all_of((same, self._same("tid", left, right)))
                is_warp = level is Scope.WAVEFRONT
                return self.all_of((same, self.same_warp(left, right))) if is_warp else same
            case Not(inner):
                return self.negated(self.truth(inner))
            case AnyOf(parts):
                return self.any_of(chain((self.known(False),), map(self.truth, parts)))
            case AllOf(parts):
                return self.all_of(chain((self.known(True),), map(self.truth, parts)))

    def _overlap(self, each: Overlap) -> TruthT:
        left, right = each.left.place, each.right.place
        if left.root != right.root:
            # An object that is not known may be any; places in two are not compared.
            return self.known(Region.UNKNOWN in (left.root.region, right.root.region))
        if left.offset is None or right.offset is None:
            return self.known(True)
        a = self.offset(left.offset, each.left_thread)
        b = self.offset(right.offset, each.right_thread)
        parts = [self.known(True)]
        if left.rank is not None or right.rank is not None:
            ranks = (
                self.value(self.rank_of(each.left), each.left_thread),
                self.value(self.rank_of(each.right), each.right_thread),
            )
            parts.append(self.compared("eq", *ranks, 32))
        elif left.root.region is Region.SHARED:
            parts.append(self.same_cta(each.left_thread, each.right_thread))
        return self.all_of((*parts, *self.shared_bytes(each, a, b)))

    def rank_of(self, access: Access) -> Value:
        """The rank of the CTA in whose shared memory an access is."""
        own = self.kernel.table.constant(RANK, 32)
        return own if access.place.rank is None else access.place.rank


class KnownNumbers(Interpretation[int | None, bool | None]):
    """Numbers that are known; None for the result of a function of which no more is known."""

    def offset(self, form: LinearForm, thread: int) -> int | None:
        total = form.constant
        for value, times in form.terms:
            number = self.value(value, thread)
            if number is None:
                return None
            total += number * times
        return total & (1 << WIDE) - 1

    def linear(self, thread: int) -> int | None:
        total = 0
        for d in reversed(self.dimensions("tid")):
            index, size = self.named(f"%tid.{d}", thread), self.named(f"%ntid.{d}", 0)
            if index is None or size is None:
                return None
            total = total * size + index
        return total

    def by_lanes(self, number: int | None) -> tuple[int, int]:
        return divmod(number or 0, self.kernel.lanes)

    def compared(self, operation: str, a: int | None, b: int | None, bits: int) -> bool | None:
        return None if a is None or b is None else bool(COMPARISONS[operation](a, b, bits))

    def shared_bytes(self, overlap: Overlap, a: int | None, b: int | None) -> Iterator[bool | None]:
        if a is None or b is None:
            yield None
            return
        left, right, whole = overlap.left.size, overlap.right.size, overlap.left.place.root.size
        if left is not None and right is not None:
            yield -left < as_signed(a - b, WIDE) < right
        yield whole is None or (a < whole and b < whole)

    def known(self, truth: bool) -> bool:
        return truth

    def all_of(self, parts: Iterable[bool | None]) -> bool | None:
        found: bool | None = True
        for part in parts:
            if part is False:
                return False
            found = None if part is None else found
        return found

    def any_of(self, parts: Iterable[bool | None]) -> bool | None:
        found: bool | None = False
        for part in parts:
            if part:
                return True
            found = None if part is None else found
        return found

    def negated(self, truth: bool | None) -> bool | None:
        return None if truth is None else not truth


# Operations on numbers


class Unsupported(Exception):
    """An operation of which no more is known than its arguments."""


def meaning(value: Apply) -> Callable[[Mapping[Value, int]], int]:
    """An operation as a function of the numbers of its arguments, of which the result is an
    unsigned number of its width."""
    operation, arguments, bits = value.operation, value.arguments, value.bits or 32
    mask, width = ones(bits), (arguments[0].bits or 32) if arguments else bits
    if operation == "ite":
        condition, yes, no = arguments
        return lambda of: of[yes if of[condition] == 1 else no]
    a, b = arguments[0] if arguments else value, arguments[-1] if arguments else value
    if operation == "zext":
        return lambda of: of[a]
    if operation == "sext":
        return lambda of: as_signed(of[a], width) & mask
    if operation == "trunc":
        return lambda of: of[a] & mask
    if operation == "not" and bits == 1:
        return lambda of: 1 - of[a]
    if operation in COMPARISONS and len(arguments) == 2:
        is_so = COMPARISONS[operation]
        return lambda of: int(is_so(of[a], of[b], width))
    done = OPERATIONS.get(operation)
    if done is None or any((each.bits or 32) != bits for each in arguments):
        return _unsupported
    if len(arguments) == 2:
        return lambda of: done(of[a], of[b], bits) & mask
    return lambda of: reduce(lambda x, part: done(x, of[part], bits) & mask, arguments[1:], of[a])


def _unsupported(numbers: Mapping[Value, int]) -> int:
    raise Unsupported
