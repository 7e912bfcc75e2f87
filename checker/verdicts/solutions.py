"""Solutions of a kernel's questions, tried on its later ones before a solver is asked.

Most conflicts of a kernel happen in a launch that an earlier one was found in, or in one that
differs by one number. A solution has the numbers of a solver's variables by name, 0 for all others,
so that each value is computed once for each thread; whatever satisfies all constraints is a
solution, wherever it comes from. Limits are counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from fencewright.checker.verdicts.enumeration import (
    COMPARISONS,
    ELECTED,
    RANK,
    Unsupported,
    applied,
    signed,
)
from fencewright.checker.verdicts.expressions import WIDE, is_variable
from fencewright.checker.verdicts.model import (
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
from fencewright.lowering.code.value import Apply, Const, Iteration, Param, Thread, Value
from fencewright.lowering.vocabulary import Scope

PARAMETER = "param "
"""The beginning of the names of variables that are parameters."""
MOST_ITERATIONS = 1 << 28
"""Iterations are below that."""
_MOST_KEPT = 60
"""Solutions that are kept, those that were of use last."""
_MOST_CHANGED = 4
"""Solutions of which one number is changed for a question."""
_PARAMETERS = (1 << 10, 0, 1)
"""The numbers of all parameters that are tried first."""
_WORD = (1 << WIDE) - 1


class Asked(Protocol):
    """The subject of a question: a relation of threads 0 and 1, in launches of a kernel."""

    kernel: Kernel
    relation: Relation
    splits_warps: bool

    def dimensions(self, kind: str) -> str:
        """The dimensions of indices that a kernel tells apart."""
        ...

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """True of a launch of such sizes, by their names."""
        ...


class Solutions:
    """The solutions that are known of one kernel, those that were of use last first."""

    def __init__(self) -> None:
        self.known: list[_Solution] = []
        self._firsts: dict[Relation, list[_Solution]] = {}

    def learn(self, numbers: Mapping[str, int]) -> None:
        """Keep the numbers of a solution, of sizes too."""
        self._keep(_Solution(numbers))

    def of(self, asked: Asked, constraints: Sequence[Constraint]) -> Mapping[str, int] | None:
        """The numbers of a solution, or of one with another number, that satisfies all
        constraints."""
        threads = {0, 1}.union(*map(_threads_of, constraints))
        firsts = self._firsts.get(asked.relation)
        if firsts is None:
            firsts = self._firsts[asked.relation] = list(_firsts(asked))
        for each in (*self.known, *firsts):
            if each.solves(asked, threads, constraints):
                return self._keep(each)
        overlaps = [each for each in constraints if isinstance(each, Overlap)]
        for known in (*self.known[:_MOST_CHANGED], *firsts) if len(overlaps) == 1 else ():
            for each in known.moved(overlaps[0]):
                if each.solves(asked, threads, constraints):
                    return self._keep(each)
        return None

    def _keep(self, solution: "_Solution") -> Mapping[str, int]:
        self.known = [solution, *(each for each in self.known if each is not solution)]
        del self.known[_MOST_KEPT:]
        return solution.named()


def _firsts(asked: Asked) -> "Iterator[_Solution]":
    """Neighbours in a relation, in a launch of two CTAs: without knowing more, with parameters of
    one size."""
    has_rows = len(asked.dimensions("tid")) > 1
    other = {
        Relation.THREAD: {},
        Relation.WARP: {"%tid.x@1": 1},
        Relation.CTA: {"%tid.y@1": 1} if has_rows else {"%tid.x@1": asked.kernel.lanes},
        Relation.CLUSTER: {f"{RANK}@1": 1, "%ctaid.x@1": 1},
        Relation.GRID: {"%ctaid.x@1": 1},
    }
    sizes = {"%ntid.x": 2 * asked.kernel.lanes, "%nctaid.x": 2}
    if has_rows:
        sizes["%ntid.y"] = 8
    for parameter in _PARAMETERS:
        yield _Solution({**sizes, **other[asked.relation]}, parameter)


class _Solution:
    """Numbers of variables by name, and the values that follow; None: of an unknown function.

    ``parameter``: the number of parameters that have none by name.
    """

    def __init__(self, numbers: Mapping[str, int], parameter: int = 0):
        self.numbers = numbers
        self.parameter = parameter
        self._values: dict[tuple[Value, int], int | None] = {}
        self._launches: dict[object, bool] = {}

    def solves(self, asked: Asked, threads: set[int], constraints: Iterable[Constraint]) -> bool:
        """True where these threads are in the launches asked for, and all constraints hold."""
        key = asked.relation, *sorted(threads)
        if (is_related := self._launches.get(key)) is None:
            is_related = self._launches[key] = self._is_related(asked, threads)
        return (
            is_related
            and asked.admits(self.numbers)
            and all(self._holds(each, asked) for each in constraints)
        )

    def moved(self, overlap: Overlap) -> "Iterator[_Solution]":
        """Solutions with another number of one variable, so that two accesses begin at one byte."""
        sides = (overlap.left, overlap.left_thread), (overlap.right, overlap.right_thread)
        forms = [access.place.offset for access, _ in sides]
        begins = [
            None if form is None else self._offset(form, thread)
            for form, (_, thread) in zip(forms, sides, strict=True)
        ]
        if begins[0] is None or begins[1] is None:
            return
        for form, begin, aim, (_, thread) in zip(forms, begins, begins[::-1], sides, strict=True):
            for value, times in form.terms if form is not None else ():
                inner = _narrow(value)
                if isinstance(inner, Apply) or (name := _name(inner, thread)) is None:
                    continue
                steps, rest = divmod(signed((aim or 0) - (begin or 0), WIDE), times)
                number = self.numbers.get(name, 0) + steps
                is_iteration = isinstance(inner, Iteration)
                most = MOST_ITERATIONS if is_iteration else 1 << (inner.bits or 32)
                if steps and not rest and 0 <= number < most:
                    yield _Solution({**self.numbers, name: number}, self.parameter)

    def named(self) -> Mapping[str, int]:
        """The numbers by name, those of parameters too that have been asked for."""
        asked = (value for value, _ in self._values if isinstance(value, Param))
        names = (parameter(each) for each in asked if not is_variable(each))
        return {**dict.fromkeys(names, self.parameter), **self.numbers}

    # Threads

    def _is_related(self, asked: Asked, threads: Iterable[int]) -> bool:
        """True of threads within their sizes, of which 0 and 1 stand in a relation."""
        indices = [f"%{kind}.{d}" for kind in ("tid", "ctaid") for d in asked.dimensions(kind)]
        if any(
            self._number(name, thread) >= self.numbers.get(name.replace("%", "%n"), 1)
            for thread in threads
            for name in indices
        ):
            return False
        same_cta, relation = self._same_cta(asked, 0, 1), asked.relation
        if relation is Relation.CLUSTER:
            return self._number(RANK, 0) != self._number(RANK, 1)
        if relation is Relation.GRID:
            return not same_cta
        same_thread = self._is_equal("tid", asked, 0, 1)
        if relation is Relation.THREAD:
            return same_cta and same_thread
        same_warp = self._same_warp(asked, 0, 1)
        if same_warp and self._number(ELECTED, 0) == self._number(ELECTED, 1) == 1:
            return False  # Of the lanes of a warp one is elected.
        if relation is Relation.WARP:
            return same_cta and same_warp and not same_thread
        return same_cta and not (same_warp if asked.splits_warps else same_thread)

    def _number(self, name: str, thread: int) -> int:
        return self.numbers.get(f"{name}@{thread}", 0)

    def _is_equal(self, kind: str, asked: Asked, left: int, right: int) -> bool:
        names = (f"%{kind}.{d}" for d in asked.dimensions(kind))
        return all(self._number(name, left) == self._number(name, right) for name in names)

    def _same_cta(self, asked: Asked, left: int, right: int) -> bool:
        is_ranked = RANK in asked.kernel.specials
        return self._is_equal("ctaid", asked, left, right) and not (
            is_ranked and self._number(RANK, left) != self._number(RANK, right)
        )

    def _same_warp(self, asked: Asked, left: int, right: int) -> bool:
        """True of threads with the same row and the same upper bits of x, of whole rows."""
        rows, lanes = asked.dimensions("tid")[1:], asked.kernel.lanes
        one, other = (self._number("%tid.x", thread) // lanes for thread in (left, right))
        if one != other or (rows and self.numbers.get("%ntid.x", 1) % lanes):
            return False
        names = (f"%tid.{d}" for d in rows)
        return all(self._number(name, left) == self._number(name, right) for name in names)

    # Constraints

    def _holds(self, constraint: Constraint, asked: Asked) -> bool | None:
        """The truth of a constraint; None where a function decides it of which no more is
        known."""
        match constraint:
            case Holds(literal, thread):
                number = self._value(literal.value, thread)
                return None if number is None else number == int(literal.polarity)
            case Compare(operation, left, left_thread, right, right_thread):
                a, b = self._value(left, left_thread), self._value(right, right_thread)
                if a is None or b is None:
                    return None
                return bool(COMPARISONS[operation](a, b, left.bits or 32))
            case Overlap():
                return self._overlap(constraint, asked)
            case Together(left, right, level):
                if not self._same_cta(asked, left, right):
                    return False
                if level is None:
                    return self._is_equal("tid", asked, left, right)
                return level is not Scope.WAVEFRONT or self._same_warp(asked, left, right)
            case Not(inner):
                held = self._holds(inner, asked)
                return None if held is None else not held
            case AnyOf(parts) | AllOf(parts):
                decides = isinstance(constraint, AnyOf)
                held = [self._holds(each, asked) for each in parts]
                return decides if decides in held else None if None in held else not decides

    def _overlap(self, each: Overlap, asked: Asked) -> bool | None:
        left, right = each.left, each.right
        if left.place.root != right.place.root:
            return Region.UNKNOWN in (left.place.root.region, right.place.root.region)
        if left.place.offset is None or right.place.offset is None:
            return True
        a = self._offset(left.place.offset, each.left_thread)
        b = self._offset(right.place.offset, each.right_thread)
        if a is None or b is None:
            return None
        if left.place.rank is not None or right.place.rank is not None:
            own = asked.kernel.table.constant(RANK, 32)
            ranks = (
                self._value(left.place.rank or own, each.left_thread),
                self._value(right.place.rank or own, each.right_thread),
            )
            if None in ranks:
                return None
            if ranks[0] != ranks[1]:
                return False
        elif left.place.root.region is Region.SHARED:
            if not self._same_cta(asked, each.left_thread, each.right_thread):
                return False
        if left.size is not None and right.size is not None:
            distance = signed(a - b, WIDE)
            if not -left.size < distance < right.size:
                return False
        size = left.place.root.size
        return size is None or (a < size and b < size)

    # Values

    def _offset(self, form: LinearForm, thread: int) -> int | None:
        total = form.constant
        for value, times in form.terms:
            number = self._value(value, thread)
            if number is None:
                return None
            total += number * times
        return total & _WORD

    def _value(self, value: Value, thread: int) -> int | None:
        known = self._values
        if (value, thread) in known:
            return known[value, thread]
        stack = [value]
        while stack:
            top = stack[-1]
            parts = top.arguments if isinstance(top, Apply) else ()
            missing = [part for part in parts if (part, thread) not in known]
            if missing:
                stack += missing
                continue
            known[top, thread] = self._made(top, thread)
            stack.pop()
        return known[value, thread]

    def _made(self, value: Value, thread: int) -> int | None:
        if isinstance(value, Apply):
            numbers: dict[Value, int] = {}
            for part in value.arguments:
                number = self._values[part, thread]
                if number is None:
                    return None
                numbers[part] = number
            try:
                return applied(value, numbers)
            except Unsupported:
                return None
        if isinstance(value, Const) and isinstance(value.constant, int):
            return value.constant & ((1 << (value.bits or 32)) - 1)
        name = _name(value, thread)
        if isinstance(value, Param) and name is not None:
            return self.numbers.get(name, self.parameter) & ((1 << (value.bits or 32)) - 1)
        return 0 if name is None else self.numbers.get(name, int(name in _SIZES))


_SIZES = frozenset(f"%{kind}.{d}" for kind in ("ntid", "nctaid") for d in "xyz")


def _name(value: Value, thread: int) -> str | None:
    """The name of the variable that a solver has for a value of a thread; None of a constant."""
    if isinstance(value, Const):
        if isinstance(value.constant, int) or value.constant in _SIZES:
            return None if isinstance(value.constant, int) else value.constant
        return f"{value.constant}@{thread}"
    if isinstance(value, Thread):
        return f"{value.name}@{thread}"
    if isinstance(value, Param):
        return None if is_variable(value) else parameter(value)
    return own(value, thread)


def parameter(value: Param) -> str:
    """The name of the variable that a parameter is."""
    return f"{PARAMETER}{value.name} {value.bits or 32}"


def own(value: Value, thread: int) -> str:
    """The name of the variable for a value that a thread has, and nothing decides."""
    if isinstance(value, Iteration):
        return f"iteration {value.head}@{thread}"
    return f"value {value.number}@{thread}"


def _narrow(value: Value) -> Value:
    """A value without its extension by zeros."""
    if isinstance(value, Apply) and value.operation == "zext":
        return value.arguments[0]
    return value


def _threads_of(constraint: Constraint) -> set[int]:
    match constraint:
        case Holds(_, thread):
            return {thread}
        case Not(inner):
            return _threads_of(inner)
        case AnyOf(parts) | AllOf(parts):
            return set[int]().union(*map(_threads_of, parts))
        case _:
            return {constraint.left_thread, constraint.right_thread}
