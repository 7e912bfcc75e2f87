"""Constraints over the threads of one small launch, decided by trying all of them.

Threads, CTAs and truth values are tried in full; parameters, iterations and values of memory at a
few numbers, those that the constraints compare them with among them, so that a solution is one, and
their absence proves nothing where there are such. Pairs of threads meet by their addresses. Limits
are counts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

from fencewright.checker.verdicts.expressions import WIDE, is_variable
from fencewright.checker.verdicts.interpretation import (
    ELECTED,
    RANK,
    KnownNumbers,
    Unsupported,
    meaning,
)
from fencewright.checker.verdicts.model import (
    Access,
    AllOf,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    Not,
    Numbers,
    Overlap,
    Relation,
    Together,
    Witness,
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

_MOST_CHOICES = 16
"""Choices of parameters that are tried, and of one thread's own values."""
_MOST_TRIES = 20_000
"""Threads and pairs of threads that are looked at for one question."""
_MOST_TRIES_OF_KERNEL = 400_000
"""The same for all questions about one kernel."""
_NUMBERS = (0, 1, 2)
"""The values tried for unknown ones, beside the constants that they meet."""
_MOST_NUMBERS = 12
_ADDRESSES = (1 << WIDE) - 1


_Meaning = Callable[[Mapping[Value, int]], int]
_Steps = tuple[list[Value], list[tuple[Value, _Meaning]]]


@dataclass(slots=True)
class Tries:
    """The tries that are left for a kernel."""

    left: int = _MOST_TRIES_OF_KERNEL


class _Limit(Exception):
    """The end of the tries for a question."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The answer to a question, with a witness of a satisfiable one."""

    answer: Answer
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a launch, and the dimensions that its kernel tells apart, as ``xz``."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    of_threads: str
    of_ctas: str


@dataclass(slots=True)
class _Instance:
    """One thread with a choice of its own values; ``values`` of all that is asked of it."""

    tid: Numbers
    ctaid: Numbers
    own: Mapping[str, int]
    values: dict[Value, int]
    warp: int = 0


class Enumeration:
    """A solver of questions about threads of one launch, of which 0 and 1 stand in a relation."""

    def __init__(
        self, kernel: Kernel, relation: Relation, sizes: Sizes, tries: Tries, *, splits_warps: bool
    ):
        """``splits_warps``: threads of one CTA are of two warps."""
        self.kernel, self.relation, self.sizes = kernel, relation, sizes
        self.tries, self.splits_warps = tries, splits_warps
        self.has_rank = RANK in kernel.specials
        self._related: dict[tuple[bool, ...], bool] = {}

    def solve(self, constraints: Sequence[Constraint]) -> Solution:
        """Two threads, and others that the constraints speak of, which satisfy all of them."""
        try:
            return _Question(self, constraints).solution()
        except (Unsupported, _Limit):
            return Solution(Answer.UNKNOWN)

    def warp(self, thread: _Instance) -> int:
        """The number of a thread's warp in its CTA."""
        known = _Threads(self, {0: thread})
        return known.by_lanes(known.linear(0))[0]

    def related(self, one: _Instance, other: _Instance) -> bool:
        """True of threads 0 and 1 that stand in the relation: these equalities alone decide it."""
        alike = (
            one.ctaid == other.ctaid,
            one.tid == other.tid,
            one.warp == other.warp,
            one.own.get(RANK, 0) == other.own.get(RANK, 0),
            one.own.get(ELECTED, 0) == 1 == other.own.get(ELECTED, 0),
        )
        if (known := self._related.get(alike)) is None:
            known = all(_Threads(self, {0: one, 1: other}).related())
            self._related[alike] = known
        return known


class _Question:
    """One question: its constraint on each thread, and the values to try."""

    def __init__(self, threads: Enumeration, constraints: Sequence[Constraint]):
        self.threads, self.sizes = threads, threads.sizes
        self.by_threads: dict[frozenset[int], list[Constraint]] = {}
        self.roots: dict[int, dict[Value, None]] = {0: {}, 1: {}}
        for each in constraints:
            asked = frozenset(self._collect(each))
            self.by_threads.setdefault(asked, []).append(each)
        self.orders = {thread: parts_first(roots) for thread, roots in self.roots.items()}
        self.meanings: Mapping[Value, _Meaning] = {
            each: meaning(each)
            for each in chain.from_iterable(self.orders.values())
            if isinstance(each, Apply)
        }
        numbers = {
            each.constant
            for order in self.orders.values()
            for each in order
            if isinstance(each, Const) and isinstance(each.constant, int)
        }
        near = {number + by for number in sorted(numbers)[:_MOST_NUMBERS] for by in (0, 1, -1)}
        self.numbers = (*_NUMBERS, *sorted(n for n in near if n not in _NUMBERS and n >= 0))
        self.is_exhaustive = True
        self.left = min(_MOST_TRIES, threads.tries.left)

    # The question

    def _collect(self, constraint: Constraint) -> Iterator[int]:
        """The threads of a constraint; its conditions on each are kept."""
        match constraint:
            case Holds(literal, thread):
                self._ask(thread, literal.value)
                yield thread
            case Compare(_, left, left_thread, right, right_thread):
                self._ask(left_thread, left)
                self._ask(right_thread, right)
                yield from (left_thread, right_thread)
            case Overlap(left, left_thread, right, right_thread):
                for access, thread in ((left, left_thread), (right, right_thread)):
                    form = access.place.offset
                    self._ask(thread, *(value for value, _ in form.terms) if form else ())
                    if left.place.rank is not None or right.place.rank is not None:
                        self._ask(thread, self._rank(access.place.rank))
                yield from (left_thread, right_thread)
            case Together(left, right, _):
                self._ask(left)
                self._ask(right)
                yield from (left, right)
            case Not(inner):
                yield from self._collect(inner)
            case AnyOf(parts) | AllOf(parts):
                for each in parts:
                    yield from self._collect(each)

    def _ask(self, thread: int, *values: Value) -> None:
        self.roots.setdefault(thread, {}).update(dict.fromkeys(values))

    def _rank(self, rank: Value | None) -> Value:
        return self.threads.kernel.table.constant(RANK, 32) if rank is None else rank

    # The values tried

    def solution(self) -> Solution:
        """Try all choices until one satisfies everything."""
        shared = {
            (each.name, each.bits or 32): None
            for order in self.orders.values()
            for each in order
            if isinstance(each, Param) and not is_variable(each)
        }
        for chosen in self._choices([bits for _, bits in shared]):
            parameters = dict(zip(shared, chosen, strict=True))
            witness = self._witness(parameters)
            if witness is not None:
                return Solution(Answer.SATISFIABLE, witness)
        return Solution(Answer.UNSATISFIABLE if self.is_exhaustive else Answer.UNKNOWN)

    def _try(self, values: int = 0) -> None:
        """Count a thread whose values are computed, or a pair of threads."""
        cost = 1 + values // 8
        if self.left < cost:
            raise _Limit
        self.left -= cost
        self.threads.tries.left -= cost

    def _choices(self, widths: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Values of so many bits each: all of one bit, some of more."""
        domains = [(0, 1) if bits == 1 else self._fitting(bits) for bits in widths]
        total = 1
        for domain in domains:
            total *= len(domain)
        if total > _MOST_CHOICES or any(bits != 1 for bits in widths):
            self.is_exhaustive = False
        yield from islice(product(*domains), _MOST_CHOICES)

    def _fitting(self, bits: int) -> tuple[int, ...]:
        return tuple(number for number in self.numbers if not number >> bits)

    def _instances(
        self, thread: int, parameters: Mapping[tuple[str, int], int]
    ) -> Iterator[_Instance]:
        """The threads that satisfy the conditions on this one alone."""
        free: dict[str, int] = {}
        for each in self.orders[thread]:
            name = _own_name(each)
            if name is not None:
                free[name] = each.bits or 32
        if self.threads.has_rank or self.threads.relation is Relation.CLUSTER:
            free[RANK] = 32
        constraints = self.by_threads.get(frozenset((thread,)), ())
        choices = list(self._choices(list(free.values())))
        alike, of_tid, others = map(self._steps, _by_level(self.orders[thread]))
        nobody = _Instance((), (), {}, {})
        self._evaluate(alike, nobody, parameters)
        for tid in product(*_ranges(self.sizes.block, self.sizes.of_threads)):
            any_cta = _Instance(tid, (), {}, dict(nobody.values))
            warp = self.threads.warp(any_cta)
            self._evaluate(of_tid, any_cta, parameters)
            ctas = product(*_ranges(self.sizes.grid, self.sizes.of_ctas))
            for ctaid, chosen in product(ctas, choices):
                self._try(len(self.orders[thread]))
                own = dict(zip(free, chosen, strict=True))
                made = _Instance(tid, ctaid, own, dict(any_cta.values), warp)
                self._evaluate(others, made, parameters)
                if self._hold(constraints, {thread: made}):
                    yield made

    def _witness(self, parameters: Mapping[tuple[str, int], int]) -> Witness | None:
        always = self.by_threads.get(frozenset(), ())
        if not self._hold(always, {}):
            return None
        firsts = list(self._instances(0, parameters))
        if not firsts:
            return None
        seconds = list(self._instances(1, parameters))
        others = {
            thread: list(self._instances(thread, parameters))
            for thread in self.roots
            if thread not in (0, 1)
        }
        own = self.by_threads.get(frozenset((0, 1)), ())
        for one, other in self._meetings(firsts, seconds):
            if not self.threads.related(one, other):
                continue
            given = {0: one, 1: other}
            if self._hold(own, given) and self._extends(given, others):
                return self._made(one, other, parameters)
        return None

    def _meetings(
        self, firsts: list[_Instance], seconds: list[_Instance]
    ) -> Iterator[tuple[_Instance, _Instance]]:
        """Pairs of threads whose accesses have a byte in common, for each overlap; those that the
        first overlap leaves are counted."""
        own = self.by_threads.get(frozenset((0, 1)), ())
        overlaps = [each for each in own if isinstance(each, Overlap) and _is_by_address(each)]
        if not overlaps:
            for pair in product(firsts, seconds):
                self._try()
                yield pair
            return
        at: dict[int, list[tuple[_Instance, Sequence[int]]]] = {}
        for other in seconds:
            begins = [self._begin(each.right, other) for each in overlaps]
            at.setdefault(begins[0], []).append((other, begins[1:]))
        (left, right), *sizes = [(each.left.size or 0, each.right.size or 0) for each in overlaps]
        for one in firsts:
            begin, *more = [self._begin(each.left, one) for each in overlaps]
            for place in range(begin - right + 1, begin + left):
                for other, begins in at.get(place & _ADDRESSES, ()):
                    self._try()
                    if all(map(_meet, more, begins, sizes)):
                        yield one, other

    def _begin(self, access: Access, made: _Instance) -> int:
        """The first byte of an access of a thread."""
        form = access.place.offset
        begin = None if form is None else _Threads(self.threads, {0: made}).offset(form, 0)
        assert begin is not None
        return begin

    def _extends(self, given: dict[int, _Instance], others: Mapping[int, list[_Instance]]) -> bool:
        """True where threads beside the two satisfy the conditions on them."""
        missing = [thread for thread in others if thread not in given]
        if not missing:
            return True
        thread = missing[0]
        known = {*given, thread}
        own = [
            each
            for asked, constraints in self.by_threads.items()
            if thread in asked and len(asked) > 1 and asked <= known
            for each in constraints
        ]
        for each in others[thread]:
            self._try()
            more = {**given, thread: each}
            if self._hold(own, more) and self._extends(more, others):
                return True
        return False

    def _made(
        self, one: _Instance, other: _Instance, parameters: Mapping[tuple[str, int], int]
    ) -> Witness:
        return Witness(
            _told(self.sizes.block, self.sizes.of_threads),
            _told(self.sizes.grid, self.sizes.of_ctas),
            (_placed(one.tid, self.sizes.of_threads), _placed(other.tid, self.sizes.of_threads)),
            (_placed(one.ctaid, self.sizes.of_ctas), _placed(other.ctaid, self.sizes.of_ctas)),
            {name: number for (name, _), number in parameters.items()},
        )

    def _hold(self, constraints: Iterable[Constraint], given: Mapping[int, _Instance]) -> bool:
        threads = _Threads(self.threads, given)
        return all(map(threads.truth, constraints))

    # Values

    def _steps(self, order: Iterable[Value]) -> _Steps:
        """Values that are given, and those that are computed, parts first."""
        given, computed = list[Value](), list[tuple[Value, _Meaning]]()
        for each in order:
            if isinstance(each, Apply):
                computed.append((each, self.meanings[each]))
            else:
                given.append(each)
        return given, computed

    def _evaluate(
        self, steps: _Steps, made: _Instance, parameters: Mapping[tuple[str, int], int]
    ) -> None:
        given, computed = steps
        values = made.values
        for each in given:
            values[each] = self._given(each, made, parameters)
        for each, made_by in computed:
            values[each] = made_by(values)

    def _given(
        self, value: Value, made: _Instance, parameters: Mapping[tuple[str, int], int]
    ) -> int:
        if isinstance(value, Const):
            return self._constant(value, made)
        if isinstance(value, Param):
            return 0 if is_variable(value) else parameters[value.name, value.bits or 32]
        if isinstance(value, Thread) and value.name.startswith("%tid."):
            return made.tid[self.sizes.of_threads.index(value.name[-1])]
        name = _own_name(value)
        assert name is not None
        return made.own[name]

    def _constant(self, value: Const, made: _Instance) -> int:
        if isinstance(value.constant, int):
            return value.constant & (1 << (value.bits or 32)) - 1
        kind, _, d = value.constant.partition(".")
        if kind == "%ntid":
            return self.sizes.block["xyz".index(d)]
        if kind == "%nctaid":
            return self.sizes.grid["xyz".index(d)]
        if kind == "%ctaid":
            return made.ctaid[self.sizes.of_ctas.index(d)]
        return made.own[value.constant]


class _Threads(KnownNumbers):
    """Threads that are tried for one question."""

    def __init__(self, threads: Enumeration, given: Mapping[int, _Instance]):
        self.kernel, self.relation, self.sizes = threads.kernel, threads.relation, threads.sizes
        self.splits_warps, self.given = threads.splits_warps, given

    def dimensions(self, kind: str) -> str:
        return self.sizes.of_threads if kind == "tid" else self.sizes.of_ctas

    def same_cta(self, left: int, right: int) -> bool:
        one, other = self.given[left], self.given[right]
        is_ranked = RANK in self.kernel.specials
        return one.ctaid == other.ctaid and not (is_ranked and one.own[RANK] != other.own[RANK])

    def value(self, value: Value, thread: int) -> int:
        return self.given[thread].values[value]

    def named(self, name: str, thread: int, bits: int = 32) -> int:
        kind, _, d = name.partition(".")
        match kind:
            case "%tid":
                return self.given[thread].tid[self.sizes.of_threads.index(d)]
            case "%ctaid":
                return self.given[thread].ctaid[self.sizes.of_ctas.index(d)]
            case "%ntid":
                return self.sizes.block["xyz".index(d)]
            case _:
                return self.given[thread].own.get(name, 0)


def _meet(begin: int, other: int, sizes: tuple[int, int]) -> bool:
    """True of accesses of these first bytes and sizes that have a byte in common."""
    size, other_size = sizes
    return (other - begin) & _ADDRESSES < size or (begin - other) & _ADDRESSES < other_size


def _is_by_address(each: Overlap) -> bool:
    """True of accesses of threads 0 and 1, of known sizes, to known places in one object."""
    left, right = each.left, each.right
    return (
        (each.left_thread, each.right_thread) == (0, 1)
        and left.place.root == right.place.root
        and None not in (left.place.offset, right.place.offset, left.size, right.size)
    )


def _ranges(sizes: tuple[int, int, int], dimensions: str) -> list[range]:
    return [range(sizes["xyz".index(d)]) for d in dimensions]


def _placed(numbers: Numbers, told: str) -> Numbers:
    """The indices of the dimensions that are distinguished at their places, others 0."""
    of = dict(zip(told, numbers, strict=True))
    return tuple(of.get(d, 0) for d in "xyz"[: "xyz".index(told[-1]) + 1])


def _told(sizes: tuple[int, int, int], told: str) -> Numbers:
    return sizes[: "xyz".index(told[-1]) + 1]


def _by_level(order: Iterable[Value]) -> tuple[list[Value], list[Value], list[Value]]:
    """The values that all threads of a launch have alike, those that a thread's place in its CTA
    decides, and the others."""
    level: dict[Value, int] = {}
    found = list[Value](), list[Value](), list[Value]()
    for each in order:
        if isinstance(each, Apply):
            own = max((level[part] for part in each.arguments), default=0)
        elif isinstance(each, Thread) and each.name.startswith("%tid."):
            own = 1
        else:
            own = 0 if isinstance(each, Param) or _is_of_launch(each) else 2
        level[each] = own
        found[own].append(each)
    return found


def _is_of_launch(value: Value) -> bool:
    """True of a number, and of a size of the launch."""
    if not isinstance(value, Const):
        return False
    return isinstance(value.constant, int) or value.constant.startswith(("%ntid.", "%nctaid."))


def _own_name(value: Value) -> str | None:
    """The name of a value of a thread that nothing decides; None for one that something does."""
    if isinstance(value, Apply | Param):
        return None
    if isinstance(value, Const):
        known = isinstance(value.constant, int) or value.constant.partition(".")[0] in (
            "%ntid", "%nctaid", "%ctaid",
        )  # fmt: skip
        return None if known else str(value.constant)
    if isinstance(value, Thread):
        return None if value.name.startswith("%tid.") else value.name
    if isinstance(value, Iteration):
        return f"iteration {value.head} {value.bits}"
    return f"value {value.number}"
