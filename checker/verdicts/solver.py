"""Constraints over the threads of a launch, decided by z3 in exact bit-vectors, or by trying.

Limits are counts of z3's own steps, so that an answer depends on no clock. Without z3-solver small
launches are tried in full: what one satisfies is satisfiable. Source: de Moura and Bjorner, "Z3: An
Efficient SMT Solver".
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property, reduce
from math import gcd, prod
from typing import Any

from fencewright.checker.verdicts.enumeration import Enumeration, Sizes, Solution, Tries
from fencewright.checker.verdicts.expressions import (
    WIDE,
    Expressions,
    is_variable,
    leaves,
    ones,
    remainder,
)
from fencewright.checker.verdicts.interpretation import Interpretation
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Kernel,
    LinearForm,
    Numbers,
    Overlap,
    Relation,
    Witness,
)
from fencewright.checker.verdicts.solutions import (
    MOST_ITERATIONS,
    PARAMETER,
    Solutions,
    own,
    parameter,
)
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Param,
    Thread,
    Value,
    parts_first,
)
from fencewright.lowering.vocabulary import MOST_THREADS

MISSING = "z3 is not installed, which decides most verdicts: pip install z3-solver"
_STEPS = 2_000_000
"""z3's steps for one question."""
_STEPS_OF_KERNEL = 6_500_000
"""z3's steps for all questions about one kernel."""
_STEPS_OF_FILE = 20_000_000
"""z3's steps that the kernels of a file have alike, and those that its first kernels have which it
does not decide with that."""
_STEPS_FOR_RACES, _STEPS_OF_RACES = 100_000, 1_000_000
"""z3's steps for one question, and for all, once a kernel can no longer be proved."""
_LEAST_STEPS = 50_000
"""Each question that comes to its limit halves that of those after it, down to so many."""
_STEPS_OF_WITNESS = 2_000_000
"""z3's steps for the launch and the threads of a race."""
_STEPS_OF_VALUE = 500
"""Steps that a value costs which is written for z3: about as long as z3 takes for so many."""
_SMALL_BLOCK = 64
_SMALL_NUMBER = 255
"""The most that parameters and iterations are in the first solutions that are looked for."""
_TRIED = ((64, 1, 1), (256, 1, 1), (16, 16, 1))
"""Blocks that are tried in full, where a launch says nothing."""
_MOST_AT_ONCE = (64, 1024)
"""CTAs and threads of a launch that is tried in full."""
_MOST_CTAS = {"x": 1 << 20, "y": 65535, "z": 65535}
"""CTAs of a launch whose grid is not given, by dimension."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Sizes of a launch: threads of a CTA (``block``) and CTAs (``grid``) by dimension; None:
    any, of CTAs that ``rooms`` hold."""

    block: tuple[int, int, int] | None = None
    grid: tuple[int, int, int] | None = None
    rooms: "tuple[Room, ...]" = ()


@cache
def z3_module() -> Any:
    """z3; None where it is not installed."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        return None


@record()
class Room:
    """The threads that a variable has room for: the sum of the largest index of each dimension, so
    many ``times``, is at most ``most``."""

    times: tuple[int, int, int]
    most: int

    def holds(self, block: tuple[int, int, int]) -> bool:
        """True of a CTA of these sizes."""
        return sum(t * (n - 1) for t, n in zip(self.times, block, strict=True)) <= self.most


def rooms(kernel: Kernel, launch: Launch) -> tuple[Room, ...]:
    """The room of the variables that all threads of a CTA index, where its sizes are not known."""
    if launch.block is not None or kernel.required is not None:
        return ()
    return (*kernel.remembered("rooms", lambda: tuple(_rooms(kernel))), *launch.rooms)


def _rooms(kernel: Kernel) -> Iterator[Room]:
    found: dict[Room, None] = {}
    known: dict[object, Room | None] = {}
    for access in kernel.accesses:
        form, size = access.place.offset, access.place.root.size
        if form is None or size is None or access.size is None or access.agent is not Agent.THREAD:
            continue
        most = size - access.size - form.constant
        key = form.terms, most
        if key not in known:
            known[key] = _room(form, most)
        room = known[key]
        if room is not None and room not in found and _is_of_all(access):
            found[room] = None
    yield from found


def _room(form: LinearForm, most: int) -> Room | None:
    """The room of places that a sum of indices goes through, so many bytes at most."""
    indices = {_index(value): times for value, times in form.terms}
    times = tuple(indices.get(f"%tid.{d}", 0) for d in "xyz")
    is_counted = all(times > 0 and _is_narrow(value) for value, times in form.terms)
    if not is_counted or not any(times) or max(times) >= 1 << 20 or not 0 <= most < 1 << 20:
        return None
    return Room((times[0], times[1], times[2]), most)


def _is_of_all(access: Access) -> bool:
    """True of an access that all threads execute, or none."""
    return all(
        isinstance(leaf, Param | Iteration)
        or (isinstance(leaf, Const) and not str(leaf.constant).startswith("%lane"))
        for leaf in leaves(literal.value for literal in access.conditions)
    )


def _index(value: Value) -> str:
    inner = value.arguments[0] if isinstance(value, Apply) and value.operation == "zext" else value
    return inner.name if isinstance(inner, Thread) else ""


class Steps:
    """The steps of z3 for the kernels of a file, in their order: a file of many takes as long as
    one of some."""

    def __init__(self, kernels: int) -> None:
        self.own, self.left = _STEPS_OF_FILE // max(1, kernels), _STEPS_OF_FILE

    @property
    def of_kernel(self) -> int:
        """The steps for the next kernel."""
        return min(_STEPS_OF_KERNEL, self.own + self.left)

    def take(self, spent: int) -> None:
        """Count the steps of a kernel that is not judged."""
        self.left = max(0, self.left - max(0, spent - self.own))


class Budget:
    """The steps of z3 that are left for a kernel, and its context."""

    def __init__(self, limit: int = _STEPS_OF_KERNEL) -> None:
        self.limit = limit
        self.used = 0
        self.values = 0
        self.of_question = _STEPS
        self.of_witness = _STEPS_OF_WITNESS
        self.is_provable = True
        self.questions = 0
        self.tries = Tries()
        self.terms: dict[tuple[Launch, _Numbers], dict[tuple[Value, int], Any]] = {}
        self.launches: dict[object, tuple[Any, ...]] = {}
        self.solutions = Solutions()
        self.bounded = set[Launch]()
        """Launches of questions in which a number is small that may be any."""

    @property
    def is_spent(self) -> bool:
        """True where no steps are left."""
        return self.spent >= self.limit

    @property
    def spent(self) -> int:
        """The steps of z3 itself and those of the values that were written for it."""
        return self.used + self.values * _STEPS_OF_VALUE

    def give_up_proof(self) -> None:
        """Leave steps for easy questions only: after an undecided pair just races are looked
        for."""
        if self.is_provable:
            self.is_provable = False
            self.of_question = min(self.of_question, _STEPS_FOR_RACES)
            self.of_witness = min(self.of_witness, 2 * _STEPS_FOR_RACES)
            self.limit = min(self.limit, self.spent + _STEPS_OF_RACES)

    def reach_limit(self, *, is_witness: bool) -> None:
        """Leave fewer steps for each question after one that came to its limit."""
        if is_witness:
            self.of_witness = max(2 * _LEAST_STEPS, self.of_witness // 2)
        else:
            self.of_question = max(_LEAST_STEPS, self.of_question // 2)

    @cached_property
    def context(self) -> Any:
        """z3's context, made for the first question: most functions have none."""
        z3 = z3_module()
        return None if z3 is None else z3.Context()


class _Numbers(Enum):
    """The meaning of products, and of the numbers that a question may choose."""

    ABSTRACT = "products and quotients are variables, of which the most useful facts are known"
    EXACT = "they are what z3 makes of them"
    SMALL = "exact, and parameters and iterations are small: of solutions most have such ones"


class BitVectors(Interpretation[Any, Any]):
    """A solver of questions about threads 0 and 1 that stand in one relation, and any others."""

    def __init__(
        self,
        kernel: Kernel,
        relation: Relation,
        launch: Launch,
        budget: Budget,
        *,
        splits_warps: bool = True,
        most: tuple[int, int] | None = None,
        numbers: _Numbers = _Numbers.ABSTRACT,
    ):
        """``splits_warps``: threads of one CTA are of two warps; ``most``: CTAs and threads at
        most."""
        self.kernel = kernel
        self.relation = relation
        self.launch = launch
        self.budget = budget
        self.splits_warps = splits_warps
        self.most = most
        self.numbers = numbers
        self._values: dict[tuple[Value, int], Any] = {}
        self._shared = budget.terms.setdefault((launch, numbers), {})
        self._threads = {0, 1}
        self._has_product = False
        self._iterations: list[Any] = []
        # By z3's numbers of terms, which are kept with them; names count the entries, so that no
        # question depends on those before.
        self._divided: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._divisions: dict[tuple[int, int, bool], tuple[Any, ...]] = {}
        self._ranks: dict[int, Any] = {}
        self._multiplied: dict[tuple[int, int], _Product] = {}
        self._is_abstract = False

    def satisfiable(self, constraints: Sequence[Constraint]) -> Answer:
        """As ``Solver.satisfiable``."""
        z3 = z3_module()
        if AnyOf(()) in constraints:
            return Answer.UNSATISFIABLE
        if z3 is None:
            return self._tried(constraints).answer
        if self.budget.solutions.of(self, constraints) is not None:
            return Answer.SATISFIABLE
        if self.budget.is_spent:
            return Answer.UNKNOWN
        formulas = [self.truth(each) for each in constraints]
        # Where sizes are free most questions have a solution, or take many steps.
        is_free = self._given("ntid") is None
        if is_free and self._has_product and self._small().has_solution(constraints):
            return Answer.SATISFIABLE
        if self._is_abstract and self._checked(formulas)[1] == z3.unsat:
            return Answer.UNSATISFIABLE
        if not is_free and self._has_product and self._small().has_solution(constraints):
            return Answer.SATISFIABLE
        if self._has_product and any(each.has_solution(constraints) for each in self._wide()):
            return Answer.SATISFIABLE
        if self._is_abstract:
            return self._like(numbers=_Numbers.EXACT)._answer(constraints)
        return self._answer(constraints, formulas)

    def has_solution(self, constraints: Sequence[Constraint]) -> bool:
        """True where this solver alone finds a solution."""
        return self._answer(constraints) is Answer.SATISFIABLE

    def _answer(self, constraints: Sequence[Constraint], formulas: Sequence[Any] = ()) -> Answer:
        """The answer to one question alone; ``formulas``: the constraints, if they are made."""
        z3 = z3_module()
        solver, answer = self._checked(formulas or [self.truth(each) for each in constraints])
        if answer == z3.sat:
            self._learn(solver.model())
        if answer == z3.unknown:
            return Answer.UNKNOWN
        return Answer.SATISFIABLE if answer == z3.sat else Answer.UNSATISFIABLE

    @property
    def launches(self) -> tuple[Relation, Launch, tuple[int, int] | None, bool]:
        """As ``Asked.launches``."""
        return self.relation, self.launch, self.most, self.splits_warps

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """True of a launch of such sizes, by their names, that the question is about."""
        most = {"tid": self.most_threads, "ctaid": prod(_MOST_CTAS.values())}
        if self.most is not None:
            most["ctaid"] = self.most[0]
        for kind, limits in (("tid", dict.fromkeys("xyz", MOST_THREADS)), ("ctaid", _MOST_CTAS)):
            given = self._given(kind)
            own = [sizes.get(f"%n{kind}.{d}", 1) for d in "xyz"]
            if given is not None:
                if given != tuple(own):
                    return False
                continue
            own_dimensions = self.dimensions(kind)
            if prod(own) > most[kind] or not all(own):
                return False
            block = own[0], own[1], own[2]
            if kind == "tid" and not all(each.holds(block) for each in self._rooms()):
                return False
            for d, size in zip("xyz", own, strict=True):
                if size > (limits[d] if d in own_dimensions else 1):
                    return False
        return True

    def _rooms(self) -> tuple[Room, ...]:
        return rooms(self.kernel, self.launch)

    def _given(self, kind: str) -> tuple[int, int, int] | None:
        """The sizes of a CTA, or of a grid, that are known."""
        if kind in ("ctaid", "nctaid"):
            return self.launch.grid
        return self.launch.block or self.kernel.required

    def _learn(self, model: Any) -> Mapping[str, int]:
        """Keep a solution: the numbers of its variables, and its sizes."""
        numbers = {
            each.name(): model[each].as_long() for each in model.decls() if each.arity() == 0
        }
        for kind in ("tid", "ctaid"):
            for d, size in zip("xyz", self._given(kind) or (), strict=False):
                numbers[f"%n{kind}.{d}"] = size
        self.budget.solutions.learn(numbers)
        return numbers

    @property
    def most_threads(self) -> int:
        """As ``Solver.most_threads``."""
        sizes = self.launch.block or self.kernel.required
        most = self.kernel.most_threads if sizes is None else prod(sizes)
        return most if self.most is None else min(most, self.most[1])

    def of_relation(self, relation: Relation) -> "BitVectors":
        """As ``Solver.related``."""
        return self._like(relation=relation)

    def _like(
        self,
        *,
        relation: Relation | None = None,
        launch: Launch | None = None,
        numbers: _Numbers | None = None,
    ) -> "BitVectors":
        return BitVectors(
            self.kernel,
            relation or self.relation,
            launch or self.launch,
            self.budget,
            splits_warps=self.splits_warps,
            most=self.most,
            numbers=numbers or self.numbers,
        )

    def witness(self, constraints: Sequence[Constraint]) -> Witness | None:
        """Two threads that satisfy all constraints; None if there are none, or none is known."""
        tried = self._tried(constraints)
        z3 = z3_module()
        if z3 is None or tried.answer is not Answer.UNKNOWN:
            return tried.witness
        if self.relation is Relation.CTA and self.splits_warps and self.linear(0) is None:
            # Threads of two rows are surely of two warps where rows are whole warps.
            e = Expressions(self.kernel.table)
            rest = remainder(e, e.table.constant("%ntid.x", 32), self.kernel.lanes)
            constraints = (*constraints, Compare("eq", rest, 0, e.constant(0, 32), 0))
        found = self._found(constraints)
        if found is None:
            return None

        def numbers(kind: str, thread: str) -> Numbers:
            most = "xyz".index(self.dimensions(kind)[-1]) + 1
            least = int(kind in ("ntid", "nctaid"))
            return tuple(found.get(f"%{kind}.{d}{thread}", least) for d in "xyz"[:most])

        return Witness(
            block=numbers("ntid", ""),
            grid=numbers("nctaid", ""),
            threads=(numbers("tid", "@0"), numbers("tid", "@1")),
            ctas=(numbers("ctaid", "@0"), numbers("ctaid", "@1")),
            parameters={
                name.split()[1]: number
                for name, number in found.items()
                if name.startswith(PARAMETER)
            },
        )

    def _found(self, constraints: Sequence[Constraint]) -> Mapping[str, int] | None:
        """The numbers of a solution, small ones first."""
        z3 = z3_module()
        for numbers in (_Numbers.SMALL, _Numbers.EXACT):
            own = self._like(numbers=numbers)
            formulas = [] if self.budget.is_spent else [own.truth(each) for each in constraints]
            if numbers is _Numbers.SMALL and not own._has_product:
                continue
            if numbers is _Numbers.EXACT and (known := self.budget.solutions.of(self, constraints)):
                return known
            solver, answer = own._checked(formulas, is_witness=True)
            if answer == z3.sat:
                return self._learn(solver.model())
            if answer == z3.unsat and self.launch not in self.budget.bounded:
                break
        return None

    def dimensions(self, kind: str) -> str:
        """The dimensions of thread or CTA indices that a kernel tells apart: x, and those it
        reads."""
        index = "tid" if kind in ("tid", "ntid") else "ctaid"
        read = self.kernel.specials
        return self.kernel.remembered(
            ("dimensions", index),
            lambda: "x" + "".join(d for d in "yz" if {f"%{index}.{d}", f"%n{index}.{d}"} & read),
        )

    def _tried(self, constraints: Sequence[Constraint]) -> Solution:
        """The answer of a launch whose sizes are known, or a solution in a small one."""
        block, grid = self.launch.block or self.kernel.required, self.launch.grid
        solution = Solution(Answer.UNKNOWN)
        for threads in _TRIED if block is None else (block,):
            sizes = Sizes(
                threads, grid or (2, 1, 1), self.dimensions("tid"), self.dimensions("ctaid")
            )
            if self._is_within(sizes):
                solution = Enumeration(
                    self.kernel,
                    self.relation,
                    sizes,
                    self.budget.tries,
                    splits_warps=self.splits_warps,
                ).solve(constraints)
            if solution.answer is Answer.SATISFIABLE:
                return solution
        is_only = block is not None and grid is not None
        return solution if is_only else Solution(Answer.UNKNOWN)

    def _is_within(self, sizes: Sizes) -> bool:
        """True of a launch with no more CTAs and threads than may be."""
        most = _MOST_AT_ONCE if self.most is None else self.most
        has_room = all(room.holds(sizes.block) for room in self._rooms())
        has_room = has_room and prod(sizes.block) <= self.kernel.most_threads
        return has_room and prod(sizes.grid) <= most[0] and prod(sizes.block) <= most[1]

    def _small(self) -> "BitVectors":
        """An exact solver for a small launch and small numbers."""
        launch = self.launch
        if launch.block is None and self.kernel.required is None:
            most = self.kernel.most_threads
            rows = 8 if len(self.dimensions("tid")) > 1 else 1
            block = (_SMALL_BLOCK, rows, 1)
            if prod(block) > most:
                block = (min(_SMALL_BLOCK, most), 1, 1)
            launch = Launch(block, launch.grid or (2, 1, 1))
        return self._like(launch=launch, numbers=_Numbers.SMALL)

    def _wide(self) -> Iterator["BitVectors"]:
        """Exact solvers for one large block: of small numbers in any grid, of any in a small one.

        CTAs times a constant is no product of two unknowns.
        """
        launch = self.launch
        if launch.block is None and self.kernel.required is None:
            most = self.kernel.most_threads
            rows = max(1, most // _SMALL_BLOCK if len(self.dimensions("tid")) > 1 else 1)
            launch = replace(launch, block=(most // rows, rows, 1))
            yield self._like(launch=launch, numbers=_Numbers.SMALL)
        if launch.grid is None:
            yield self._like(launch=replace(launch, grid=(2, 1, 1)), numbers=_Numbers.EXACT)

    def _checked(self, formulas: Sequence[Any], *, is_witness: bool = False) -> tuple[Any, Any]:
        z3 = z3_module()
        solver = z3.SolverFor("QF_UFBV", ctx=self.budget.context)
        if self.budget.is_spent:
            return solver, z3.unknown
        budget = self.budget
        solver.set("rlimit", budget.of_witness if is_witness else budget.of_question)
        key = self.launches, frozenset(self._threads)
        if (launch := self.budget.launches.get(key)) is None:
            launch = self.budget.launches[key] = tuple(self._launch())
        # ``solver.add`` would look for the sort of every formula.
        for each in (*launch, *self._iterations, *formulas):
            z3.Z3_solver_assert(solver.ctx.ref(), solver.solver, each.as_ast())
        self.budget.questions += 1
        answer = solver.check()
        # The count is of all that was done in the context.
        self.budget.used = int(solver.statistics().get_key_value("rlimit count"))
        if answer == z3.unknown:
            self.budget.reach_limit(is_witness=is_witness)
        return solver, answer

    # Launches and threads

    def _launch(self) -> Iterable[Any]:
        """The indices of all threads are below the sizes, and threads 0 and 1 in their relation."""
        z3 = z3_module()
        product = None
        for d in self.dimensions("ntid"):
            size = self.named(f"%ntid.{d}", 0)
            yield z3.And(size != 0, z3.ULE(size, self.kernel.most_threads))
            product = size if product is None else product * size
        if product is not None:
            yield z3.ULE(product, self.most_threads)
        for room in self._rooms():
            of = dict(zip("xyz", room.times, strict=True))
            last = [(self.named(f"%ntid.{d}", 0) - 1) * times for d, times in of.items() if times]
            yield z3.ULE(sum(last), room.most)
        product = None
        for d in self.dimensions("nctaid"):
            size = self.named(f"%nctaid.{d}", 0)
            if self.launch.grid is None:
                yield z3.And(size != 0, z3.ULE(size, _MOST_CTAS[d]))
            product = size if product is None else product * size
        if product is not None and self.most is not None:
            yield z3.ULE(product, self.most[0])
        for thread in sorted(self._threads):
            for kind in ("tid", "ctaid"):
                for d in self.dimensions(kind):
                    size = self.named(f"%n{kind}.{d}", thread)
                    yield z3.ULT(self.named(f"%{kind}.{d}", thread), size)
        yield from self.related()

    def linear(self, thread: int) -> Any | None:
        dimensions = self.dimensions("tid")
        if len(dimensions) > 1 and self._given("ntid") is None:
            return None  # A product of what is not known.
        total = self.named("%tid." + dimensions[-1], thread)
        for d in reversed(dimensions[:-1]):
            total = total * self.named(f"%ntid.{d}", 0) + self.named(f"%tid.{d}", thread)
        return total

    def by_lanes(self, number: Any) -> tuple[Any, Any]:
        z3, lanes = z3_module(), self.kernel.lanes
        return z3.LShR(number, lanes.bit_length() - 1), z3.URem(number, self._constant(lanes, 32))

    def named(self, name: str, thread: int, bits: int = 32) -> Any:
        self._threads.add(thread)
        kind, _, d = name.removeprefix("%").partition(".")
        if kind in ("ntid", "nctaid"):
            if (sizes := self._given(kind)) is not None:
                return self._constant(sizes["xyz".index(d)], 32)
            if d not in self.dimensions(kind):
                return self._constant(1, 32)
            return self._variable(name, 32, self._most_of(kind, d))
        most = self._most_of(kind, d) - 1 if kind in ("tid", "ctaid") else None
        return self._variable(f"{name}@{thread}", bits, most)

    def _most_of(self, kind: str, d: str) -> int:
        """The most CTAs, or threads of one, in a dimension."""
        if (given := self._given(kind)) is not None:
            return given["xyz".index(d)]
        return self.kernel.most_threads if kind in ("tid", "ntid") else _MOST_CTAS[d]

    def _variable(self, name: str, bits: int, most: int | None = None) -> Any:
        """A variable, which has no more bits than the most that it is; the others are zeros."""
        z3, context = z3_module(), self.budget.context
        own = bits if most is None else min(bits, most.bit_length())
        if own == 0:
            return self._constant(0, bits)
        variable = z3.BitVec(name, own, context)
        return variable if own == bits else z3.ZeroExt(bits - own, variable)

    def _constant(self, number: int, bits: int) -> Any:
        return z3_module().BitVecVal(number, bits, self.budget.context)

    # Constraints

    def compared(self, operation: str, a: Any, b: Any, bits: int) -> Any:
        return _COMPARISONS[operation](z3_module(), a, b)

    def known(self, truth: bool) -> Any:
        return z3_module().BoolVal(truth, self.budget.context)

    def all_of(self, parts: Iterable[Any]) -> Any:
        return self._joined("Z3_mk_and", parts)

    def any_of(self, parts: Iterable[Any]) -> Any:
        return self._joined("Z3_mk_or", parts)

    def _joined(self, maker: str, parts: Iterable[Any]) -> Any:
        """One term of truth values: ``z3.And`` would look for the sort of every part."""
        z3, context, terms = z3_module(), self.budget.context, [*parts]
        asts = (z3.Ast * len(terms))(*(each.as_ast() for each in terms))
        return z3.BoolRef(getattr(z3, maker)(context.ref(), len(terms), asts), context)

    def negated(self, truth: Any) -> Any:
        return z3_module().Not(truth)

    def shared_bytes(self, overlap: Overlap, a: Any, b: Any) -> Iterator[Any]:
        z3, left, right = z3_module(), overlap.left, overlap.right
        one, other = left.place.offset, right.place.offset
        assert one is not None
        assert other is not None
        if left.size is not None and right.size is not None:
            if left.size == right.size > 0 and _steps(one, other) % left.size == 0:
                # Words of one size that never begin within each other: they are one or apart.
                yield self._is_equal(overlap, one, other)
            else:
                # Of offsets that do not wrap, the one is in the other's bytes.
                yield a - b < right.size
                yield b - a < left.size
        if (size := left.place.root.size) is not None:
            yield z3.ULT(a, size)
            yield z3.ULT(b, size)

    def _is_equal(self, overlap: Overlap, one: LinearForm, other: LinearForm) -> Any:
        """Equality of two offsets, or of what both of them are multiples of."""
        left_thread, right_thread = overlap.left_thread, overlap.right_thread
        if one.constant == other.constant and len(one.terms) == len(other.terms) == 1:
            ((a, times),), ((b, by),) = one.terms, other.terms
            if times == by and all(map(_is_narrow, (a, b))) and 0 < times < 1 << 32:
                return self.value(a, left_thread) == self.value(b, right_thread)
        return self.offset(one, left_thread) == self.offset(other, right_thread)

    def offset(self, form: LinearForm, thread: int) -> Any:
        total = self._constant(form.constant, WIDE)
        for value, times in self._with_rank(form.terms):
            number = self.value(value, thread)
            wide = z3_module().ZeroExt(WIDE - number.size(), number)
            total = total + wide * self._constant(times, WIDE)
        return total

    def _with_rank(self, terms: tuple[tuple[Value, int], ...]) -> tuple[tuple[Value, int], ...]:
        """The terms of a sum, with those of a thread's number in its CTA as that number."""
        if self._rank is None:
            return terms
        counts = dict(terms)
        own = [counts.pop(value, None) for value, _ in self._terms_of_rank]
        if None in own or len({*own}) != 1:
            return terms
        return (*counts.items(), (self._rank, own[0] or 0))

    @cached_property
    def _terms_of_rank(self) -> tuple[tuple[Value, int], ...]:
        rank = self._rank
        return () if rank is None else Expressions(self.kernel.table).linear(rank).terms

    # Values

    def value(self, value: Value, thread: int) -> Any:
        """The term of a value, which questions share that need no more than it."""
        self._threads.add(thread)
        own, shared = self._values, self._shared
        for top in parts_first(
            (value,), lambda each: (each, thread) in shared or (each, thread) in own
        ):
            parts = [(part, thread) for part in top.arguments] if isinstance(top, Apply) else []
            known = [shared[part] if part in shared else own[part] for part in parts]
            is_product = isinstance(top, Apply) and top.operation in _PRODUCTS
            is_plain = not is_product and all(part in shared for part in parts)
            made = self._translated(top, known, thread)
            (shared if is_plain else own)[top, thread] = made
            self.budget.values += 1
        return shared[value, thread] if (value, thread) in shared else own[value, thread]

    def _translated(self, value: Value, parts: list[Any], thread: int) -> Any:
        bits, is_small = value.bits or 32, self.numbers is _Numbers.SMALL
        if isinstance(value, Const):
            if isinstance(value.constant, int):
                return self._constant(value.constant, bits)
            if value.constant.partition(".")[0] in ("%ntid", "%nctaid", "%ctaid"):
                return self.named(value.constant, thread)
            return self._variable(f"{value.constant}@{thread}", bits)
        if isinstance(value, Thread):
            if value.name.startswith("%tid."):
                return self.named(value.name, thread)
            return self._variable(f"{value.name}@{thread}", bits)
        if isinstance(value, Param):
            if is_variable(value):
                return self._constant(0, bits)
            self.budget.bounded |= {self.launch} if is_small else set()
            return self._variable(parameter(value), bits, _SMALL_NUMBER if is_small else None)
        if isinstance(value, Iteration):
            self.budget.bounded |= {self.launch} if is_small else set()
            most = _SMALL_NUMBER if is_small else MOST_ITERATIONS - 1
            return self._variable(own(value, thread), bits, most)
        if not isinstance(value, Apply):
            return self._variable(own(value, thread), bits)
        if value is self._rank and self.numbers is _Numbers.ABSTRACT:
            return self._ranked(parts, thread)
        return self._applied(value, parts, bits)

    @cached_property
    def _rank(self) -> Value | None:
        """The number of a thread in its CTA as kernels compute it, where sizes are not known."""
        dimensions, e = self.dimensions("tid"), Expressions(self.kernel.table)
        if len(dimensions) == 1 or self._given("ntid") is not None:
            return None
        total = e.table.thread(f"%tid.{dimensions[-1]}", 32)
        for d in reversed(dimensions[:-1]):
            size, index = e.table.constant(f"%ntid.{d}", 32), e.table.thread(f"%tid.{d}", 32)
            total = e.apply("add", (index, e.apply("mul", (size, total), 32)), 32)
        return total

    def _ranked(self, parts: Sequence[Any], thread: int) -> Any:
        """The number of a thread in its CTA: another one for each, below their number."""
        z3 = z3_module()
        rank = self._variable(f"rank@{thread}", 32, self.most_threads - 1)
        self._is_abstract = True
        indices = [self.named(f"%tid.{d}", thread) for d in self.dimensions("tid")]
        self._iterations += [
            z3.ULT(rank, self.most_threads),
            (rank == 0) == z3.And([each == 0 for each in indices]),
            *(z3.ULE(each, rank) for each in indices),
        ]
        for other, known in self._ranks.items():
            is_one = self._same("tid", thread, other)
            self._iterations.append(
                z3.Implies(self.same_cta(thread, other), (rank == known) == is_one)
            )
        self._ranks[thread] = rank
        return rank

    def _applied(self, value: Apply, parts: list[Any], bits: int) -> Any:
        z3 = z3_module()
        operation = value.operation
        if operation in ("zext", "sext"):
            extend = z3.ZeroExt if operation == "zext" else z3.SignExt
            return extend(bits - parts[0].size(), parts[0])
        if operation == "trunc":
            return z3.Extract(bits - 1, 0, parts[0])
        if operation == "ite":
            return z3.If(parts[0] == 1, parts[1], parts[2])
        if operation == "not" and bits == 1:
            return ~parts[0]
        if operation in _COMPARISONS and len(parts) == 2:
            truth = _COMPARISONS[operation](z3, parts[0], parts[1])
            return z3.If(truth, self._constant(1, 1), self._constant(0, 1))
        is_whole = all(part.size() == bits for part in parts)
        if operation in _PRODUCTS and is_whole and self.numbers is _Numbers.ABSTRACT:
            if (made := self._abstracted(value, parts)) is not None:
                return made
        if operation in _PRODUCTS:
            self._has_product |= sum(not z3.is_bv_value(part) for part in parts) > 1
        made = _OPERATIONS.get(operation)
        if made is not None and is_whole:
            total = parts[0]
            for part in parts[1:]:
                total = made(z3, total, part)
            return total
        # A function of its arguments of which no more is known.
        sorts = [part.sort() for part in parts]
        if not sorts:
            return self._variable(f"value {value.number}", bits)
        return z3.Function(f"{operation} {bits}", *sorts, z3.BitVecSort(bits, self.budget.context))(
            *parts
        )

    def _abstracted(self, value: Apply, parts: list[Any]) -> Any | None:
        """A product, quotient or remainder as a variable; None of one that z3 takes as it is."""
        z3, operation = z3_module(), value.operation
        if operation == "mul":
            return self._product_of(value, parts)
        if not z3.is_bv_value(parts[1]):
            pair = self._divided_by(*parts, signed=operation in ("sdiv", "srem"))
        elif operation in ("udiv", "urem") and parts[1].as_long():
            pair = self._quotient_and_rest(*parts)
        else:
            return None
        return pair[operation in ("urem", "srem")]

    def _product_of(self, value: Apply, parts: Sequence[Any]) -> Any:
        """A product, of sizes and parameters first: those of two threads have these in common."""
        z3 = z3_module()
        factors = sorted(
            zip(value.arguments, parts, strict=True), key=lambda each: _is_own(each[0])
        )
        numbers = [part for _, part in factors if z3.is_bv_value(part)]
        unknown = [(self._most(each), part) for each, part in factors if not z3.is_bv_value(part)]
        self._has_product |= len(unknown) > 1
        total = reduce(self._multiplied_by, unknown)[1] if unknown else numbers.pop()
        for number in numbers:
            total = total * number
        return total

    def _multiplied_by(self, left: tuple[int, Any], right: tuple[int, Any]) -> tuple[int, Any]:
        """A product, with the most that it is.

        It is 0 with a factor, and where it does not wrap, and of two with one factor, each next
        multiple is that factor more.
        """
        z3 = z3_module()
        (most_left, a), (most_right, b) = left, right
        bits, most = a.size(), most_left * most_right
        key = (a.get_id(), b.get_id())
        made = self._multiplied.get(key)
        if made is None:
            result = self._variable(f"product {len(self._multiplied)}", bits)
            is_exact = most < 1 << bits
            made = self._multiplied[key] = _Product(a, b, result, is_exact=is_exact)
            self._is_abstract = True
            for one, other in ((a, b), (b, a)):
                self._iterations.append(z3.Implies(one == 0, result == 0))
                self._iterations.append(z3.Implies(one == 1, result == other))
                if is_exact:
                    self._iterations.append(z3.Or(one == 0, z3.ULE(other, result)))
            if is_exact:
                self._iterations.append(z3.ULE(result, most))
            for known in self._multiplied.values():
                if known is not made and known.left.eq(a) and known.right.size() == bits:
                    self._iterations += _multiples(z3, a, known, made)
        return min(most, (1 << bits) - 1), made.result

    def _most(self, value: Value) -> int:
        """The most that a value is, as far as its kind says so."""
        most = (1 << (value.bits or 32)) - 1
        if isinstance(value, Const | Thread):
            name = value.name if isinstance(value, Thread) else str(value.constant)
            kind, _, d = name.removeprefix("%").partition(".")
            if kind in ("tid", "ntid", "ctaid", "nctaid"):
                return self._most_of(kind, d)
        if isinstance(value, Iteration):
            return MOST_ITERATIONS - 1
        if not isinstance(value, Apply):
            return most
        if value.operation in ("add", "mul"):
            make = sum if value.operation == "add" else prod
            return min(most, make(map(self._most, value.arguments)))
        return self._most(value.arguments[0]) if value.operation == "zext" else most

    def _quotient_and_rest(self, value: Any, size: Any) -> tuple[Any, Any]:
        """The quotient and the remainder of a division by a constant.

        They are what they are defined by, but that the multiple is a product: multiples have an
        order.
        """
        z3 = z3_module()
        number, bits = size.as_long(), size.size()
        key = (value.get_id(), number)
        if key not in self._divided:
            quotient, rest, multiple = (
                self._variable(f"{part} {len(self._divided)}", bits)
                for part in ("quotient", "rest", "multiple")
            )
            most = ((1 << bits) - 1) // number
            self._iterations += [
                value == multiple + rest,
                z3.ULT(rest, size),
                z3.ULE(quotient, most),
                z3.ULE(multiple, value),
            ]
            self._is_abstract = True
            for (_, other), (known, _, below, _) in self._divided.items():
                if other == number:
                    self._iterations += [
                        (quotient == known) == (multiple == below),
                        z3.ULT(known, quotient) == z3.ULT(below, multiple),
                        z3.Implies(z3.ULT(below, multiple), z3.ULE(size, multiple - below)),
                        z3.Implies(z3.ULT(multiple, below), z3.ULE(size, below - multiple)),
                    ]
            self._divided[key] = quotient, rest, multiple, value
        return self._divided[key][:2]

    def _divided_by(self, value: Any, size: Any, *, signed: bool) -> tuple[Any, Any]:
        """The quotient and the remainder of a division by a value that is no constant.

        The number is always the sum of the multiple and the remainder, also of bit-vectors that
        are divided by 0.
        """
        z3 = z3_module()
        key = (value.get_id(), size.get_id(), signed)
        if key not in self._divisions:
            self._has_product = True
            bits, name = value.size(), f"of division {len(self._divisions)}"
            quotient, rest = (
                self._variable(f"{part} {name}", bits) for part in ("quotient", "rest")
            )
            wide = [(ones(bits), z3.ZeroExt(bits, each)) for each in (size, quotient)]
            _, multiple = self._multiplied_by(*wide)
            is_counted = z3.And(size > 0, value >= 0) if signed else size != 0
            is_below = z3.And(z3.ULT(rest, size), z3.ULE(multiple, z3.ZeroExt(bits, value)))
            self._iterations += [
                value == z3.Extract(bits - 1, 0, multiple) + rest,
                z3.Implies(is_counted, is_below),
            ]
            self._is_abstract = True
            self._divisions[key] = quotient, rest, value, size
        return self._divisions[key][:2]


@dataclass(frozen=True, slots=True)
class _Product:
    """A variable, ``result``, that stands for a product; ``is_exact``: one that does not wrap."""

    left: Any
    right: Any
    result: Any
    is_exact: bool


def _multiples(z3: Any, factor: Any, one: _Product, other: _Product) -> Iterator[Any]:
    """The order of two multiples of one factor."""
    yield z3.Implies(one.right == other.right, one.result == other.result)
    if one.is_exact and other.is_exact:
        for less, more in ((one, other), (other, one)):
            is_less = z3.ULT(less.right, more.right)
            yield z3.Implies(is_less, z3.ULE(less.result + factor, more.result))


def _is_own(value: Value) -> bool:
    """True of a value that threads of a grid may not have alike."""
    return not all(
        isinstance(leaf, Param)
        or (isinstance(leaf, Const) and not str(leaf.constant).startswith(_OWN_INDICES))
        for leaf in leaves((value,))
    )


def _steps(left: LinearForm, right: LinearForm) -> int:
    """The number that all differences of two offsets are multiples of; 0: there is none."""
    return gcd(left.constant - right.constant, *(times for _, times in (*left.terms, *right.terms)))


def _is_narrow(value: Value) -> bool:
    """True of a value of 64 bits whose multiples by 32 bits do not wrap around."""
    return isinstance(value, Apply) and value.operation == "zext" and value.arguments[0].bits <= 32


_OWN_INDICES = ("%ctaid", "%cluster", "%lane")
_PRODUCTS = ("mul", "udiv", "urem", "sdiv", "srem")
"""Operations that are hard where no argument is a constant."""
_COMPARISONS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "eq": lambda z3, a, b: a == b,
    "ne": lambda z3, a, b: a != b,
    "ult": lambda z3, a, b: z3.ULT(a, b),
    "ule": lambda z3, a, b: z3.ULE(a, b),
    "slt": lambda z3, a, b: a < b,
}
_OPERATIONS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda z3, a, b: a + b,
    "sub": lambda z3, a, b: a - b,
    "mul": lambda z3, a, b: a * b,
    "and": lambda z3, a, b: a & b,
    "or": lambda z3, a, b: a | b,
    "xor": lambda z3, a, b: a ^ b,
    "shl": lambda z3, a, b: a << b,
    "lshr": lambda z3, a, b: z3.LShR(a, b),
    "ashr": lambda z3, a, b: a >> b,
    "udiv": lambda z3, a, b: z3.UDiv(a, b),
    "urem": lambda z3, a, b: z3.URem(a, b),
    "sdiv": lambda z3, a, b: a / b,
    "srem": lambda z3, a, b: z3.SRem(a, b),
    "umin": lambda z3, a, b: z3.If(z3.ULT(a, b), a, b),
    "umax": lambda z3, a, b: z3.If(z3.ULT(a, b), b, a),
    "smin": lambda z3, a, b: z3.If(a < b, a, b),
    "smax": lambda z3, a, b: z3.If(a < b, b, a),
}
INTERPRETED = frozenset({*_COMPARISONS, *_OPERATIONS, "zext", "sext", "trunc", "ite", "not"})
"""Operations that the solver knows; of another one it knows that it is a function."""
