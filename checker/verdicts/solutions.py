"""Solutions of a kernel's questions, tried on its later ones before a solver is asked.

Most conflicts of a kernel happen in a launch that an earlier one was found in, or in one that
differs by one number. A solution has the numbers of a solver's variables by name, 0 for all others,
so that each value is computed once for each thread; whatever satisfies all constraints is a
solution, wherever it comes from. Limits are counts.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Protocol

from fencewright.checker.verdicts.expressions import WIDE, as_signed, is_variable
from fencewright.checker.verdicts.interpretation import (
    RANK,
    KnownNumbers,
    Unsupported,
    meaning,
)
from fencewright.checker.verdicts.model import (
    AllOf,
    AnyOf,
    Constraint,
    Holds,
    Kernel,
    Not,
    Overlap,
    Relation,
)
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Param,
    Thread,
    Value,
    parts_first,
)

PARAMETER = "param "
"""The beginning of the names of variables that are parameters."""
MOST_ITERATIONS = 1 << 28
"""Iterations are below that."""
_MOST_KEPT = 60
"""Solutions that are kept, those that were of use last."""
_MOST_CHANGED = 4
"""Solutions of which one number is changed for a question."""
_MOST_REFUTING = 7
"""Constraints that a solution keeps as refuting it, besides the last."""
_PARAMETERS = (1 << 10, 0, 1)
"""The numbers of all parameters that are tried first."""


class Asked(Protocol):
    """The subject of a question: a relation of threads 0 and 1, in launches of a kernel."""

    kernel: Kernel
    relation: Relation
    splits_warps: bool

    @property
    def launches(self) -> Hashable:
        """The key of a question's relation and launches."""
        ...

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
        threads = sorted({0, 1}.union(*map(_threads_of, constraints)))
        firsts = self._firsts.get(asked.relation)
        if firsts is None:
            firsts = self._firsts[asked.relation] = list(_firsts(asked))
        for each in (*self.known, *firsts):
            if each.solves(asked, threads, constraints):
                return self._keep(each)
        overlaps = [each for each in constraints if isinstance(each, Overlap)]
        for known in (*self.known[:_MOST_CHANGED], *firsts) if len(overlaps) == 1 else ():
            for each in known.moved(overlaps[0], asked):
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
        self.values: dict[tuple[Value, int], int | None] = {}
        self._launches: dict[object, bool] = {}
        self._held: Sequence[Constraint] = ()
        self._refuting: list[Constraint] = []
        """The first constraints of the last question, which hold, and those after them that did
        not: questions about a conflict begin with the same objects."""

    def solves(
        self, asked: Asked, threads: Sequence[int], constraints: Sequence[Constraint]
    ) -> bool:
        """True where these threads are in the launches asked for, and all constraints hold."""
        key = asked.launches, *threads
        if (is_in := self._launches.get(key)) is None:
            own = _Launch(self, asked)
            is_in = own.is_within(threads) and all(own.related()) and asked.admits(self.numbers)
            self._launches[key] = is_in
        if not is_in:
            return False
        held = len(self._held)
        if held > len(constraints) or not all(map(is_, self._held, constraints)):
            held, self._held, self._refuting = 0, (), []
        own = _Launch(self, asked)
        for number, each in enumerate(constraints[held:], held):
            if number == held and any(each is known for known in self._refuting):
                return False
            if not own.truth(each):
                before = self._refuting[-_MOST_REFUTING:] if number == held else []
                self._held, self._refuting = constraints[:number], [*before, each]
                return False
        return True

    def moved(self, overlap: Overlap, asked: Asked) -> "Iterator[_Solution]":
        """Solutions with another number of one variable, so that two accesses begin at one byte."""
        sides = (overlap.left, overlap.left_thread), (overlap.right, overlap.right_thread)
        forms = [access.place.offset for access, _ in sides]
        begins = [
            None if form is None else _Launch(self, asked).offset(form, thread)
            for form, (_, thread) in zip(forms, sides, strict=True)
        ]
        if begins[0] is None or begins[1] is None:
            return
        for form, begin, aim, (_, thread) in zip(forms, begins, begins[::-1], sides, strict=True):
            for value, times in form.terms if form is not None else ():
                inner = _narrow(value)
                if isinstance(inner, Apply) or (name := _name(inner, thread)) is None:
                    continue
                steps, rest = divmod(as_signed((aim or 0) - (begin or 0), WIDE), times)
                number = self.numbers.get(name, 0) + steps
                is_iteration = isinstance(inner, Iteration)
                most = MOST_ITERATIONS if is_iteration else 1 << (inner.bits or 32)
                if steps and not rest and 0 <= number < most:
                    yield _Solution({**self.numbers, name: number}, self.parameter)

    def named(self) -> Mapping[str, int]:
        """The numbers by name, those of parameters too that have been asked for."""
        asked = (value for value, _ in self.values if isinstance(value, Param))
        names = (parameter(each) for each in asked if not is_variable(each))
        return {**dict.fromkeys(names, self.parameter), **self.numbers}

    # Values

    def value(self, value: Value, thread: int) -> int | None:
        """The value that a thread finds."""
        known = self.values
        if (value, thread) in known:
            return known[value, thread]
        for each in parts_first((value,), lambda each: (each, thread) in known):
            known[each, thread] = self._made(each, thread)
        return known[value, thread]

    def _made(self, value: Value, thread: int) -> int | None:
        if isinstance(value, Apply):
            numbers: dict[Value, int] = {}
            for part in value.arguments:
                number = self.values[part, thread]
                if number is None:
                    return None
                numbers[part] = number
            try:
                return meaning(value)(numbers)
            except Unsupported:
                return None
        if isinstance(value, Const) and isinstance(value.constant, int):
            return value.constant & ((1 << (value.bits or 32)) - 1)
        name = _name(value, thread)
        if isinstance(value, Param) and name is not None:
            return self.numbers.get(name, self.parameter) & ((1 << (value.bits or 32)) - 1)
        return 0 if name is None else self.numbers.get(name, int(name in _SIZES))


class _Launch(KnownNumbers):
    """The launch of a solution, as a question is about it."""

    def __init__(self, solution: _Solution, asked: Asked):
        self.kernel, self.relation = asked.kernel, asked.relation
        self.splits_warps = asked.splits_warps
        self.solution, self.asked = solution, asked

    def dimensions(self, kind: str) -> str:
        return self.asked.dimensions(kind)

    def is_within(self, threads: Iterable[int]) -> bool:
        """True of threads whose indices are below the sizes."""
        kinds = [(kind, d) for kind in ("tid", "ctaid") for d in self.dimensions(kind)]
        return all(
            self.named(f"%{kind}.{d}", thread) < self.named(f"%n{kind}.{d}", thread)
            for thread in threads
            for kind, d in kinds
        )

    def value(self, value: Value, thread: int) -> int | None:
        return self.solution.value(value, thread)

    def any_of(self, parts: Iterable[bool | None]) -> bool | None:
        # Without an early end, so that a witness names all parameters of the question.
        return super().any_of([*parts])

    def named(self, name: str, thread: int, bits: int = 32) -> int:
        numbers = self.solution.numbers
        return numbers.get(name, 1) if name in _SIZES else numbers.get(f"{name}@{thread}", 0)


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
