"""Constraints over the threads of one small launch, decided by trying all of them.

Threads, CTAs and truth values are tried in full; parameters, iterations and values of memory at a
few numbers, those that the constraints compare them with among them, so that a solution is one, and
their absence proves nothing where there are such. Pairs of threads meet by their addresses. Limits
are counts. The meaning of operations is that of bit-vectors in SMT-LIB.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from fencewright.checker.verdicts.expressions import WIDE, is_variable
from fencewright.checker.verdicts.model import (
    AllOf,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    LinearForm,
    Not,
    Numbers,
    Overlap,
    Region,
    Relation,
    Together,
    Witness,
)
from fencewright.lowering.code.value import Apply, Const, Iteration, Param, Thread, Value
from fencewright.lowering.vocabulary import Scope

RANK = "%cluster_ctarank"
ELECTED = "%elect"
_MOST_CHOICES = 16
"""Choices of parameters that are tried, and of one thread's own values."""
_MOST_TRIES = 20_000
"""Threads and pairs of threads that are looked at for one question."""
_MOST_TRIES_OF_KERNEL = 400_000
"""The same for all questions about one kernel."""
_NUMBERS = (0, 1, 2)
"""The values tried for unknown ones, beside the constants that they meet."""
_MOST_NUMBERS = 12


class Unsupported(Exception):
    """An operation of which no more is known than its arguments."""


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


class Enumeration:
    """A solver of questions about threads of one launch, of which 0 and 1 stand in a relation."""

    def __init__(
        self, kernel: Kernel, relation: Relation, sizes: Sizes, tries: Tries, *, splits_warps: bool
    ):
        """``splits_warps``: threads of one CTA are of two warps."""
        self.kernel, self.relation, self.sizes = kernel, relation, sizes
        self.tries, self.splits_warps = tries, splits_warps
        self.has_rank = RANK in kernel.specials

    def solve(self, constraints: Sequence[Constraint]) -> Solution:
        """Two threads, and others that the constraints speak of, which satisfy all of them."""
        try:
            return _Question(self, constraints).solution()
        except (Unsupported, _Limit):
            return Solution(Answer.UNKNOWN)

    # Relations of threads

    def is_related(self, one: _Instance, other: _Instance) -> bool:
        """True of threads 0 and 1 that stand in the relation."""
        same_cta = self.is_same_cta(one, other)
        same_thread = one.tid == other.tid
        if self.relation is Relation.THREAD:
            return same_cta and same_thread
        if self.relation is Relation.CLUSTER:
            return one.own[RANK] != other.own[RANK]
        if self.relation is Relation.GRID:
            return not same_cta
        same_warp = self.is_same_warp(one, other)
        if same_warp and one.own.get(ELECTED) == other.own.get(ELECTED) == 1:
            return False  # Of the lanes of a warp one is elected.
        if self.relation is Relation.WARP:
            return same_cta and not same_thread and same_warp
        return same_cta and not (same_warp if self.splits_warps else same_thread)

    def is_same_cta(self, one: _Instance, other: _Instance) -> bool:
        """True of threads of one CTA."""
        return one.ctaid == other.ctaid and (not self.has_rank or one.own[RANK] == other.own[RANK])

    def is_same_warp(self, one: _Instance, other: _Instance) -> bool:
        """True of threads with the same row and the same upper bits of x, of whole rows."""
        has_rows, lanes = len(one.tid) > 1, self.kernel.lanes
        return (
            one.tid[0] // lanes == other.tid[0] // lanes
            and one.tid[1:] == other.tid[1:]
            and not (has_rows and self.sizes.block[0] % lanes)
        )


class _Question:
    """One question: its constraint on each thread, and the values to try."""

    def __init__(self, threads: Enumeration, constraints: Sequence[Constraint]):
        self.threads, self.sizes = threads, threads.sizes
        self.by_threads: dict[frozenset[int], list[Constraint]] = {}
        self.roots: dict[int, dict[Value, None]] = {0: {}, 1: {}}
        for each in constraints:
            asked = frozenset(self._collect(each))
            self.by_threads.setdefault(asked, []).append(each)
        self.orders = {thread: _order(roots) for thread, roots in self.roots.items()}
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
        indices = product(
            product(*_ranges(self.sizes.block, self.sizes.of_threads)),
            product(*_ranges(self.sizes.grid, self.sizes.of_ctas)),
            choices,
        )
        for tid, ctaid, chosen in indices:
            self._try(len(self.orders[thread]))
            made = _Instance(tid, ctaid, dict(zip(free, chosen, strict=True)), {})
            self._evaluate(thread, made, parameters)
            if all(self._holds(each, {thread: made}) for each in constraints):
                yield made

    def _witness(self, parameters: Mapping[tuple[str, int], int]) -> Witness | None:
        always = self.by_threads.get(frozenset(), ())
        if not all(self._holds(each, {}) for each in always):
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
        for one, other in self._meetings(firsts, seconds):
            self._try()
            if not self.threads.is_related(one, other):
                continue
            given = {0: one, 1: other}
            own = self.by_threads.get(frozenset((0, 1)), ())
            if all(self._holds(each, given) for each in own) and self._extends(given, others):
                return self._made(one, other, parameters)
        return None

    def _meetings(
        self, firsts: list[_Instance], seconds: list[_Instance]
    ) -> Iterable[tuple[_Instance, _Instance]]:
        """Pairs of threads whose accesses have a byte in common, where that is asked."""
        for each in self.by_threads.get(frozenset((0, 1)), ()):
            if isinstance(each, Overlap) and (places := self._places(each)) is not None:
                return self._by_address(places, firsts, seconds)
        return product(firsts, seconds)

    def _places(
        self, each: Overlap
    ) -> tuple[Callable[[_Instance], int], Callable[[_Instance], int], int, int] | None:
        left, right = each.left, each.right
        if left.place.root != right.place.root or left.size is None or right.size is None:
            return None
        forms = left.place.offset, right.place.offset
        if forms[0] is None or forms[1] is None or (each.left_thread, each.right_thread) != (0, 1):
            return None
        one, other = forms[0], forms[1]
        return (
            lambda made: _offset(one, made),
            lambda made: _offset(other, made),
            left.size,
            right.size,
        )

    @staticmethod
    def _by_address(
        places: tuple[Callable[[_Instance], int], Callable[[_Instance], int], int, int],
        firsts: list[_Instance],
        seconds: list[_Instance],
    ) -> Iterator[tuple[_Instance, _Instance]]:
        of_first, of_second, size, other_size = places
        at: dict[int, list[_Instance]] = {}
        for each in seconds:
            at.setdefault(of_second(each), []).append(each)
        for one in firsts:
            begin = of_first(one)
            for place in range(begin - other_size + 1, begin + size):
                for other in at.get(place & _mask(WIDE), ()):
                    yield one, other

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
            if all(self._holds(one, more) for one in own) and self._extends(more, others):
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

    # Values

    def _evaluate(
        self, thread: int, made: _Instance, parameters: Mapping[tuple[str, int], int]
    ) -> None:
        values = made.values
        for each in self.orders[thread]:
            if isinstance(each, Apply):
                values[each] = applied(each, values)
            elif isinstance(each, Const):
                values[each] = self._constant(each, made)
            elif isinstance(each, Param):
                values[each] = 0 if is_variable(each) else parameters[each.name, each.bits or 32]
            elif isinstance(each, Thread) and each.name.startswith("%tid."):
                values[each] = made.tid[self.sizes.of_threads.index(each.name[-1])]
            else:
                name = _own_name(each)
                assert name is not None
                values[each] = made.own[name]

    def _constant(self, value: Const, made: _Instance) -> int:
        if isinstance(value.constant, int):
            return value.constant & _mask(value.bits or 32)
        kind, _, d = value.constant.partition(".")
        if kind == "%ntid":
            return self.sizes.block["xyz".index(d)]
        if kind == "%nctaid":
            return self.sizes.grid["xyz".index(d)]
        if kind == "%ctaid":
            return made.ctaid[self.sizes.of_ctas.index(d)]
        return made.own[value.constant]

    # Constraints

    def _holds(self, constraint: Constraint, given: Mapping[int, _Instance]) -> bool:
        match constraint:
            case Holds(literal, thread):
                return given[thread].values[literal.value] == int(literal.polarity)
            case Compare(operation, left, left_thread, right, right_thread):
                a = given[left_thread].values[left]
                b = given[right_thread].values[right]
                return bool(COMPARISONS[operation](a, b, left.bits or 32))
            case Overlap():
                return self._overlap(constraint, given)
            case Together(left, right, level):
                return self._together(given[left], given[right], level)
            case Not(inner):
                return not self._holds(inner, given)
            case AnyOf(parts):
                return any(self._holds(each, given) for each in parts)
            case AllOf(parts):
                return all(self._holds(each, given) for each in parts)

    def _together(self, one: _Instance, other: _Instance, level: Scope | None) -> bool:
        same = self.threads.is_same_cta(one, other)
        if level is None:
            return same and one.tid == other.tid
        if level is Scope.WAVEFRONT:
            return same and self.threads.is_same_warp(one, other)
        return same

    def _overlap(self, each: Overlap, given: Mapping[int, _Instance]) -> bool:
        left, right = each.left, each.right
        if left.place.root != right.place.root:
            return Region.UNKNOWN in (left.place.root.region, right.place.root.region)
        if left.place.offset is None or right.place.offset is None:
            return True
        one, other = given[each.left_thread], given[each.right_thread]
        if left.place.rank is not None or right.place.rank is not None:
            ranks = (
                one.values[self._rank(left.place.rank)],
                other.values[self._rank(right.place.rank)],
            )
            if ranks[0] != ranks[1]:
                return False
        a, b = _offset(left.place.offset, one), _offset(right.place.offset, other)
        if left.size is not None and right.size is not None:
            if signed(a - b, WIDE) >= right.size or signed(b - a, WIDE) >= left.size:
                return False
        size = left.place.root.size
        return size is None or (a < size and b < size)


def _ranges(sizes: tuple[int, int, int], told: str) -> list[range]:
    return [range(sizes["xyz".index(d)]) for d in told]


def _placed(numbers: Numbers, told: str) -> Numbers:
    """The indices of the dimensions that are distinguished at their places, others 0."""
    of = dict(zip(told, numbers, strict=True))
    return tuple(of.get(d, 0) for d in "xyz"[: "xyz".index(told[-1]) + 1])


def _told(sizes: tuple[int, int, int], told: str) -> Numbers:
    return sizes[: "xyz".index(told[-1]) + 1]


def _order(roots: Iterable[Value]) -> list[Value]:
    """Some values and all that they are computed from, parts first."""
    done: dict[Value, None] = {}
    stack = [*roots]
    while stack:
        top = stack[-1]
        if top in done:
            stack.pop()
            continue
        missing = [p for p in top.arguments if p not in done] if isinstance(top, Apply) else []
        if missing:
            stack += missing
            continue
        done[top] = None
        stack.pop()
    return list(done)


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


def _offset(form: LinearForm, made: _Instance) -> int:
    total = form.constant
    for value, times in form.terms:
        total += made.values[value] * times
    return total & _mask(WIDE)


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def signed(number: int, bits: int) -> int:
    """The low bits of a number as a signed one."""
    number &= _mask(bits)
    return number - (1 << bits) if number >> (bits - 1) else number


COMPARISONS: Mapping[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, bits: a == b,
    "ne": lambda a, b, bits: a != b,
    "ult": lambda a, b, bits: a < b,
    "ule": lambda a, b, bits: a <= b,
    "slt": lambda a, b, bits: signed(a, bits) < signed(b, bits),
}


def _sdiv(a: int, b: int, bits: int) -> int:
    one, other = signed(a, bits), signed(b, bits)
    if not other:
        return 1 if one < 0 else -1
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _srem(a: int, b: int, bits: int) -> int:
    one, other = signed(a, bits), signed(b, bits)
    if not other:
        return one
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


OPERATIONS: Mapping[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b if b < bits else 0,
    "lshr": lambda a, b, bits: a >> b if b < bits else 0,
    "ashr": lambda a, b, bits: signed(a, bits) >> min(b, bits),
    "udiv": lambda a, b, bits: a // b if b else -1,
    "urem": lambda a, b, bits: a % b if b else a,
    "sdiv": _sdiv,
    "srem": _srem,
    "umin": lambda a, b, bits: min(a, b),
    "umax": lambda a, b, bits: max(a, b),
    "smin": lambda a, b, bits: a if signed(a, bits) < signed(b, bits) else b,
    "smax": lambda a, b, bits: b if signed(a, bits) < signed(b, bits) else a,
}


def by_thread(value: Value, count: int) -> list[int] | None:
    """The numbers that a function of ``%tid.x`` alone has in the first ``count`` threads; None of
    any other value."""
    order, found = _order((value,)), list[int]()
    for thread in range(count):
        numbers: dict[Value, int] = {}
        for each in order:
            if isinstance(each, Apply):
                try:
                    numbers[each] = applied(each, numbers)
                except Unsupported:
                    return None
            elif isinstance(each, Const) and isinstance(each.constant, int):
                numbers[each] = each.constant & _mask(each.bits or 32)
            elif isinstance(each, Thread) and each.name == "%tid.x":
                numbers[each] = thread
            else:
                return None
        found.append(numbers[value])
    return found


def applied(value: Apply, values: Mapping[Value, int]) -> int:
    """The result of an operation on numbers, an unsigned one of its width."""
    operation, arguments, bits = value.operation, value.arguments, value.bits or 32
    parts = [values[each] for each in arguments]
    if operation == "zext":
        return parts[0]
    if operation == "sext":
        return signed(parts[0], arguments[0].bits or 32) & _mask(bits)
    if operation == "trunc":
        return parts[0] & _mask(bits)
    if operation == "ite":
        return parts[1] if parts[0] == 1 else parts[2]
    if operation == "not" and bits == 1:
        return 1 - parts[0]
    if operation in COMPARISONS and len(parts) == 2:
        return int(COMPARISONS[operation](parts[0], parts[1], arguments[0].bits or 32))
    done = OPERATIONS.get(operation)
    if done is None or any((each.bits or 32) != bits for each in arguments):
        raise Unsupported
    total = parts[0]
    for part in parts[1:]:
        total = done(total, part, bits) & _mask(bits)
    return total
