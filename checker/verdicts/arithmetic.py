"""Addresses that differ between threads by arithmetic alone: sums of digits of a mixed radix.

``c*tid + c*ntid*ctaid + c*ntid*nctaid*i`` has another value for each thread, CTA and iteration, as
digits have: the step of each index is the step of the one before, times its size.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import gcd
from operator import itemgetter

from fencewright.checker.verdicts.expressions import (
    WIDE,
    Expressions,
    as_signed,
    factors_of,
    is_counted,
    leaves,
    number_of,
    ones,
    trailing_zeros,
)
from fencewright.checker.verdicts.interpretation import Unsupported, meaning
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    OBJECTS_APART,
    Access,
    AllOf,
    AnyOf,
    Compare,
    Holds,
    Kernel,
    LinearForm,
    Literal,
    Overlap,
    Region,
    Relation,
)
from fencewright.checker.verdicts.solver import Launch, Room, rooms
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Param,
    Result,
    Thread,
    Value,
    parts_first,
)
from fencewright.lowering.vocabulary import MOST_THREADS, Scope

_Terms = frozenset[tuple[Value, int]]


def are_apart(
    kernel: Kernel, first: Access, second: Access, relation: Relation, launch: Launch
) -> bool:
    """True where two accesses of two threads in a relation have no byte in common, for all
    launches."""
    a, b = first.place.offset, second.place.offset
    is_one = first.place.root == second.place.root and first.place.rank is second.place.rank
    if a is None or b is None or not is_one:
        return False
    known, also_known = _indices_known(kernel, first), _indices_known(kernel, second)
    a, b = _completed(kernel, a, b, known), _completed(kernel, b, a, also_known)
    first, second = _part(first, a, first.size), _part(second, b, second.size)
    known &= also_known

    def is_apart() -> bool:
        parts = [(_part(first, each, 1), _part(second, each, 1)) for each in known]
        return _differ(kernel, ((first, second), *parts), relation, launch) or _are_tried_apart(
            kernel, first, second, relation
        )

    # Of the constants in places, which unrolled code has many of, the difference counts alone.
    own, other = (
        (form.terms, each.size, _bounds(kernel, each), _conditions_on_threads(kernel, each))
        for form, each in ((a, first), (b, second))
    )
    key = "apart", own, other, a.constant - b.constant, known, relation, launch
    return kernel.remembered(key, is_apart)


def _completed(
    kernel: Kernel, own: LinearForm, other: LinearForm, known: frozenset[LinearForm]
) -> LinearForm:
    """A place with an index that is known in the place of its number, where another place has that
    index too."""
    if not known:
        return own
    e, terms = _expressions(kernel), dict(other.terms)
    for index in known:
        value, _ = index.terms[0]
        if value in terms and value not in dict(own.terms):
            own = e.sum_of(own, index, terms[value])
    return own


def _indices_known(kernel: Kernel, access: Access) -> frozenset[LinearForm]:
    """The indices of a grid's threads that conditions of an access say to be one number, as of a
    boundary: sums that are too small to wrap around, less the number."""
    if not access.conditions:
        return frozenset()
    known = kernel.remembered("indices known", dict[Literal, LinearForm | None])
    for each in access.conditions:
        if each not in known:
            known[each] = _index_known(kernel, each)
    return frozenset(own for each in access.conditions if (own := known[each]) is not None)


def _index_known(kernel: Kernel, literal: Literal) -> LinearForm | None:
    value = literal.value
    if not literal.polarity or not isinstance(value, Apply) or value.operation != "eq":
        return None
    e = _expressions(kernel)
    left, right = map(e.linear, value.arguments)
    if right.terms or not left.terms or len(left.terms) > 2:
        return None
    factors = [[*map(_index_or_size, factors_of(part))] for part, _ in left.terms]
    if any(n != 1 for _, n in left.terms) or not all(
        all(own[:2]) and not own[2:] for own in factors
    ):
        return None
    return e.sum_of(left, right, -1)


def _index_or_size(value: Value) -> str | None:
    return _size_name(value) or (None if _own_bound(value) is not None else _index_of(value))


def arms(kernel: Kernel, access: Access) -> tuple[Access, ...]:
    """An access with one arm of a choice in its place, for both arms, as after a loop
    that a compiler has unrolled; itself where it has no choice, or several.
    """
    form = access.place.offset
    e = _expressions(kernel)
    chosen = [
        (inner, value, times)
        for value, times in (() if form is None else form.terms)
        if isinstance(inner := _without_extension(value), Apply) and inner.operation == "ite"
    ]
    if form is None or len(chosen) != 1:
        return (access,)
    ((choice, value, times),) = chosen
    rest = LinearForm(form.constant, tuple(each for each in form.terms if each[0] is not value))
    places = (e.sum_of(rest, e.linear(arm), times) for arm in choice.arguments[1:])
    return tuple(_part(access, each, access.size) for each in places)


def are_rows_apart(
    kernel: Kernel, rows: Sequence[Overlap], relation: Relation, launch: Launch
) -> bool:
    """``are_apart`` of two accesses of an array with rows: of the overlaps of its indices."""
    return _differ(kernel, [(each.left, each.right) for each in rows], relation, launch)


def _differ(
    kernel: Kernel, parts: Sequence[tuple[Access, Access]], relation: Relation, launch: Launch
) -> bool:
    """True where parts of places, which overlap all or none, do not for two threads in a
    relation."""
    is_one_cta = relation in (Relation.WARP, Relation.CTA)
    kind = "tid" if is_one_cta else "ctaid"
    wanted = {f"%{kind}.{d}" for d in dimensions(kernel, kind)}
    if relation is Relation.CTA and _has_warps(kernel):
        if any(_are_of_one_warp(kernel, *pair, launch) for pair in parts):
            return True
    is_warp = relation is Relation.WARP and dimensions(kernel, "tid") == "x"
    for first, second in _of_lanes(kernel, parts) if is_warp else parts:
        # A sum that a condition bounds is one index, or several.
        for bounds in dict.fromkeys(((_bounds(kernel, first), _bounds(kernel, second)), ((), ()))):
            names = _alike_names(
                kernel, first, second, launch, bounds, is_one_cta=is_one_cta, is_warp=is_warp
            )
            if names is None:
                return True
            wanted -= names
        if wanted and not is_one_cta:
            wanted -= _alike_beside_threads(kernel, first, second, launch)
    return not wanted


def _alike_beside_threads(
    kernel: Kernel, first: Access, second: Access, launch: Launch
) -> frozenset[str]:
    """``_alike_names`` of places that are a function of the thread's index, which is tried, and
    digits of other indices."""
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return frozenset()
    (alike, own), (also, other) = _split(a, is_one_cta=False), _split(b, is_one_cta=False)
    threads = [
        [term for term in terms if _values_of_threads(kernel, term[0]) is not None]
        for terms in (own, other)
    ]
    rest, its_rest = own - {*threads[0]}, other - {*threads[1]}
    digits = _digits(rest, _bounds(kernel, first), is_one_cta=False) if any(threads) else None
    if alike != also or not digits:
        return frozenset()
    if digits != _digits(its_rest, _bounds(kernel, second), is_one_cta=False):
        return frozenset()
    places, its_places = (
        _places_of_threads(kernel, each, terms)
        for each, terms in zip((first, second), threads, strict=True)
    )
    if not places or not its_places:
        return frozenset()
    distance = a.constant - b.constant
    least = -first.size - distance - max(places.values()) + min(its_places.values())
    most = second.size - distance - min(places.values()) + max(its_places.values())
    is_one = _are_one(digits, _sizes(kernel, launch), least, most)
    return _names_of(digits) if is_one else frozenset()


def _are_tried_apart(kernel: Kernel, first: Access, second: Access, relation: Relation) -> bool:
    """True where two accesses have no byte in common for all threads of the largest CTA, which are
    tried: of places that depend on a thread's index alone, but for what both threads have alike.

    Tiles of matrices are laid out by exclusive ors, which no sum of digits is.
    """
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return False
    if relation not in (Relation.WARP, Relation.CTA) or dimensions(kernel, "tid") != "x":
        return False
    alike = {each for each in a.terms if each in b.terms and is_alike(each[0], is_one_cta=True)}
    own, other = (
        _places_of_threads(kernel, each, [term for term in form.terms if term not in alike])
        for each, form in ((first, a), (second, b))
    )
    if own is None or other is None:
        return False
    distance = b.constant - a.constant
    step = gcd(first.size, second.size, distance, *own.values(), *other.values())
    in_warp, lanes = relation is Relation.WARP, kernel.lanes
    # Threads of one warp are a relation of their own.
    width = lanes if _has_warps(kernel) and not in_warp else 1
    owners: dict[int, int] = {}
    for thread, begin in own.items():
        within = thread // lanes if in_warp else 0
        for byte in range(begin, begin + first.size, step):
            place = byte * MOST_THREADS + within
            if owners.setdefault(place, thread // width) != thread // width:
                owners[place] = -1  # Several.
    for thread, begin in other.items():
        within, group = thread // lanes if in_warp else 0, thread // width
        for byte in range(begin + distance, begin + distance + second.size, step):
            if owners.get(byte * MOST_THREADS + within, group) != group:
                return False
    return True


def _places_of_threads(
    kernel: Kernel, access: Access, terms: Sequence[tuple[Value, int]]
) -> Mapping[int, int] | None:
    """A sum by the numbers of the threads that may execute an access; None of one that depends on
    more."""
    conditions = _conditions_on_threads(kernel, access)
    return kernel.remembered(
        ("places of threads", *terms, conditions),
        lambda: sums_of_threads(kernel, terms, conditions),
    )


def sums_of_threads(
    kernel: Kernel, terms: Sequence[tuple[Value, int]], conditions: Iterable[Literal]
) -> Mapping[int, int] | None:
    """A sum of terms by thread, as ``_places_of_threads`` has it."""
    own = [known for value, _ in terms if (known := _values_of_threads(kernel, value)) is not None]
    if len(own) != len(terms):
        return None
    threads: Iterable[int] = range(kernel.most_threads)
    for each in conditions:
        if (values := _values_of_threads(kernel, each.value)) is not None:
            threads = [thread for thread in threads if values[thread] == each.polarity]
    return {
        thread: sum(
            as_signed(each[thread], WIDE) * times
            for each, (_, times) in zip(own, terms, strict=True)
        )
        for thread in threads
    }


def waves_of(kernel: Kernel, access: Access) -> frozenset[int]:
    """The numbers of the waves in a CTA that may execute an access, in one row of threads."""
    is_row = dimensions(kernel, "tid") == "x"
    threads = (_places_of_threads(kernel, access, ()) if is_row else None) or range(
        kernel.most_threads
    )
    return frozenset(each // kernel.lanes for each in threads)


def _conditions_on_threads(kernel: Kernel, access: Access) -> frozenset[Literal]:
    """The conditions of an access that a thread's index alone decides."""
    if not access.conditions:
        return frozenset()
    thread = kernel.table.thread("%tid.x", 32)

    def is_of_thread(literal: Literal) -> bool:
        own = leaves((literal.value,))
        return all(leaf is thread or number_of(leaf) is not None for leaf in own)

    known = kernel.remembered("of threads", dict[Literal, bool])
    for each in access.conditions:
        if each not in known:
            known[each] = is_of_thread(each)
    return frozenset(each for each in access.conditions if known[each])


def _values_of_threads(kernel: Kernel, value: Value) -> Sequence[int] | None:
    """A value by the number of the thread, for the most that a CTA has; None of one that depends on
    more."""
    known = kernel.remembered("values of threads", dict[Value, Sequence[int] | None])
    for each in parts_first((value,), known.__contains__):
        known[each] = _tried(each, known, range(kernel.most_threads))
    return known[value]


def _tried(
    value: Value, known: Mapping[Value, Sequence[int] | None], threads: Sequence[int]
) -> Sequence[int] | None:
    if isinstance(value, Const) and isinstance(value.constant, int):
        return (value.constant & ones(value.bits or 32),) * len(threads)
    if isinstance(value, Thread) and value.name == "%tid.x":
        return threads
    if not isinstance(value, Apply):
        return None
    parts = {each: own for each in value.arguments if (own := known[each]) is not None}
    if parts.keys() != {*value.arguments}:
        return None
    made_by = meaning(value)
    try:
        return [made_by({each: own[n] for each, own in parts.items()}) for n in threads]
    except Unsupported:
        return None


def _of_lanes(
    kernel: Kernel, parts: Sequence[tuple[Access, Access]]
) -> Iterator[tuple[Access, Access]]:
    """Accesses of two threads of a warp without what all its threads have alike; a lane is the
    thread's index, which differs by as much."""
    index = _expressions(kernel).resized(kernel.table.thread("%tid.x", 32), WIDE)

    def own(access: Access) -> Access:
        form = access.place.offset
        if form is None:
            return access
        terms = ((value, n) for value, n in form.terms if not _is_of_warp(value, kernel.lanes))
        lanes = ((index if _is_lane(value, kernel.lanes) else value, n) for value, n in terms)
        return _part(access, LinearForm(form.constant, tuple(lanes)), access.size)

    def of_warp(access: Access) -> _Terms:
        form = access.place.offset
        terms = () if form is None else form.terms
        return frozenset(each for each in terms if _is_of_warp(each[0], kernel.lanes))

    for first, second in parts:
        is_alike_warp = of_warp(first) == of_warp(second)
        yield (own(first), own(second)) if is_alike_warp else (first, second)


def _is_lane(value: Value, lanes: int) -> bool:
    inner = _without_extension(value)
    if not isinstance(inner, Apply) or inner.operation != "and":
        return False
    return _index_of(inner.arguments[0]) == "%tid.x" and number_of(inner.arguments[1]) == lanes - 1


def _is_of_warp(value: Value, lanes: int) -> bool:
    """True of the upper bits of a thread's index that all threads of its warp have alike."""
    by = _shift_of_index(value)
    return by is not None and 1 << by >= lanes


def _shift_of_index(value: Value) -> int | None:
    inner = _without_extension(value)
    if not isinstance(inner, Apply) or inner.operation != "lshr":
        return None
    return number_of(inner.arguments[1]) if _index_of(inner.arguments[0]) == "%tid.x" else None


def _has_warps(kernel: Kernel) -> bool:
    """True where threads of one warp are a relation of their own, in one row."""
    splits = any(each.level is Scope.WAVEFRONT for each in kernel.barriers)
    return dimensions(kernel, "tid") == "x" and (splits or kernel.is_lock_step)


def _are_of_one_warp(kernel: Kernel, first: Access, second: Access, launch: Launch) -> bool:
    """True where two accesses overlap for threads of one warp alone.

    Each is within a block of bytes that a warp has: ``t*(tid >> 5)`` and less than ``t`` more.
    """
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return False
    own, other = _split(a, is_one_cta=True), _split(b, is_one_cta=True)
    if own[0] != other[0]:
        return False
    sizes = _sizes(kernel, launch)
    for value, times in own[1] & other[1]:
        if times <= 0 or not _tells_warps(value, kernel.lanes):
            continue
        ends = [_end_of(form - {(value, times)}, sizes) for form in (own[1], other[1])]
        if ends[0] is None or ends[1] is None:
            continue
        distance = a.constant - b.constant
        if ends[0] + first.size + distance <= times and ends[1] + second.size - distance <= times:
            return True
    return False


def _end_of(terms: _Terms, sizes: Mapping[str, int]) -> int | None:
    """The most that a sum is; None where it may be negative, or nothing bounds it."""
    total = 0
    for value, times in terms:
        bound = sizes.get(_index_of(value) or "", _own_bound(value))
        if bound is None or times < 0:
            return None
        total += times * (bound - 1)
    return total


def _tells_warps(value: Value, lanes: int) -> bool:
    """True of the upper bits of a thread's index that threads of two warps have otherwise."""
    by = _shift_of_index(value)
    return by is not None and 1 << by <= lanes


def _alike_names(
    kernel: Kernel,
    first: Access,
    second: Access,
    launch: Launch,
    bounds: tuple[Sequence["_Bound"], Sequence["_Bound"]],
    *,
    is_one_cta: bool,
    is_warp: bool,
) -> frozenset[str] | None:
    """The indices that two accesses have alike where they overlap, of those that arithmetic tells;
    None where they do not overlap."""
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return frozenset()
    own = _split(a, is_one_cta)
    other = own if a.terms == b.terms else _split(b, is_one_cta)
    distance = a.constant - b.constant
    if own[0] == other[0] and not own[1] and not other[1]:
        return frozenset() if -first.size < distance < second.size else None
    varying = (own[0] ^ other[0]) | own[1] | other[1]
    # All distances are multiples of this, and this one more.
    step = gcd(*(times << trailing_zeros(value) for value, times in varying))
    if second.size <= distance % step <= step - first.size:
        return None
    digits = others = _digits(own[1], bounds[0], is_one_cta=is_one_cta)
    if (own[1], bounds[0]) != (other[1], bounds[1]):
        others = _digits(other[1], bounds[1], is_one_cta=is_one_cta)
    sizes = {**_sizes(kernel, launch)}
    if is_warp:
        sizes["%tid.x"] = min(sizes["%tid.x"], kernel.lanes)
    if digits is not None and digits == others and own[0] != other[0]:
        between = _between(own[0], other[0], distance, digits)
        chain = None if between is None else _step_of_chain(_by_steps(digits + between), sizes)
        if chain is not None and chain >= max(first.size, second.size):
            return None
    if own[0] != other[0] or digits is None or digits != others:
        return _names_in_round(kernel, first, second, launch, is_one_cta=is_one_cta)
    # Who has all digits alike has places so far apart.
    names = _names_of(digits) if -first.size < distance < second.size else None
    if _are_one(digits, sizes, -first.size - distance, second.size - distance):
        return names
    step = _step_of_chain(digits, sizes)
    if step is None:
        return frozenset()
    if distance == 0:
        return names if step >= max(first.size, second.size) else frozenset()
    if any(n % step for each in digits for n in (each.times, *(n for _, n in each.more))):
        return frozenset()
    # Places of other digits are a multiple of the step apart.
    least = (-first.size - distance) // step
    most = (second.size - distance) // step
    overlaps = most - least >= _MOST_MULTIPLES or any(
        -first.size < times * step + distance < second.size
        for times in range(least, most + 2)
        if times
    )
    return frozenset() if overlaps else names


def _names_in_round(
    kernel: Kernel, first: Access, second: Access, launch: Launch, *, is_one_cta: bool
) -> frozenset[str]:
    """``_alike_names`` where threads take all places of a round, one each, and then the next round.

    Places of two threads differ by less than a round, and by whole rounds by what is left out.
    """
    kinds = ("tid",) if is_one_cta else ("tid", "ctaid")
    indices = {f"%{kind}.{d}" for kind in kinds for d in dimensions(kernel, kind)}
    sizes = Counter(each.replace("%", "%n") for each in indices)
    e = _expressions(kernel)
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return frozenset()
    rounds, known = set[int](), dict[Value, _InRound]()
    own, other = (_in_round(e, form, sizes, rounds, known) for form in (a, b))
    if own is None or own != other:
        return frozenset()
    digits = _digits(_split(own, is_one_cta)[1], (), is_one_cta=is_one_cta)
    if digits is None or {each.name for each in digits} != indices:
        return frozenset()
    step = _step_of_chain(digits, _sizes(kernel, launch))
    if step is None or step < max(first.size, second.size):
        return frozenset()
    # All digits together take the places of one round, which is the step times all sizes.
    top = digits[-1]
    is_whole = Counter((*top.sizes, top.name.replace("%", "%n"))) == sizes
    if not is_whole or any(each.times != step or each.more for each in digits):
        return frozenset()
    return frozenset() if any(times % step for times in rounds) else frozenset(indices)


_InRound = tuple[LinearForm | None, frozenset[int]]
"""A sum without multiples of a round, and their factors."""


def _in_round(
    e: Expressions,
    form: LinearForm,
    sizes: Counter[str],
    rounds: set[int],
    known: dict[Value, _InRound],
) -> LinearForm | None:
    """A sum without the multiples of some sizes' product, whose factors are added to ``rounds``;
    None if arms of a choice differ then. ``known``: of choices, which others may share."""
    constant, terms = form.constant, dict[Value, int]()
    for value, times in form.terms:
        arm: LinearForm | None = LinearForm(0, ((value, 1),))
        inner = _without_extension(value)
        if isinstance(inner, Apply) and inner.operation == "ite":
            if inner not in known:
                own = set[int]()
                one, other = (
                    _in_round(e, e.linear(x), sizes, own, known) for x in inner.arguments[1:]
                )
                known[inner] = one if one == other else None, frozenset(own)
            arm, factors = known[inner]
            if arm is None:
                return None
            rounds |= {times * by for by in factors}
        elif Counter(filter(None, map(_size_name, factors_of(value)))) >= sizes:
            rounds.add(times)
            continue
        constant += times * arm.constant
        for part, by in arm.terms:
            terms[part] = terms.get(part, 0) + times * by
    left = ((value, times) for value, times in terms.items() if times)
    return LinearForm(constant, tuple(sorted(left, key=lambda term: term[0].number)))


def _without_extension(value: Value) -> Value:
    """A value as it is in its own width: sums and choices are in there."""
    while isinstance(value, Apply) and value.operation in ("zext", "sext"):
        value = value.arguments[0]
    return value


def dimensions(kernel: Kernel, kind: str) -> str:
    """The dimensions of thread (``tid``) or CTA (``ctaid``) indices that a kernel tells apart."""
    return "x" + "".join(d for d in "yz" if {f"%{kind}.{d}", f"%n{kind}.{d}"} & kernel.specials)


def is_alike(value: Value, *, is_one_cta: bool) -> bool:
    """True of a value that all threads have alike; of one CTA, also its index."""
    if is_one_cta or value.varies or value.is_opaque:
        return not value.varies and not value.is_opaque
    names = (leaf.constant for leaf in leaves((value,)) if isinstance(leaf, Const))
    return all(isinstance(each, int) or each.startswith(("%ntid", "%nctaid")) for each in names)


def in_rows(
    kernel: Kernel, first: Access, second: Access, relation: Relation
) -> tuple[Overlap, ...] | None:
    """The overlap of two accesses, by threads 0 and 1, of an array whose rows do not overlap: of
    each index by itself; None of an array without rows that parameters are the lengths of.

    ``n*i + j`` are two indices where ``j`` is below ``n``, a parameter, and threads or iterations
    differ in ``i``: what is added to multiples of a length is below it.
    """
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.place.root != second.place.root:
        return None
    if first.place.root.size is not None or None in (first.size, second.size):
        return None
    if any(abs(times) >= OBJECTS_APART for _, times in (*a.terms, *b.terms)):
        return None
    is_one_cta = relation in (Relation.WARP, Relation.CTA)
    e = _expressions(kernel)
    forms = [_with_remainders(e, form) for form in (a, b)]
    common = {
        (value, times)
        for value, times in {*forms[0].terms} & {*forms[1].terms}
        if is_alike(value, is_one_cta=is_one_cta)
    }
    forms = [replace(form, terms=tuple(t for t in form.terms if t not in common)) for form in forms]
    terms = [value for form in forms for value, _ in form.terms]
    own = {_lengths(each) for each in terms if not is_alike(each, is_one_cta=is_one_cta)}
    limits = [_limits(kernel, each) for each in (first, second)]
    bounded = {
        (factor,)
        for value in (terms if own <= {()} else ())
        if is_alike(value, is_one_cta=False)
        for factor in factors_of(value)
        if all(_without_extension(factor) in each for each in limits)
    }
    lengths = sorted(
        {(), *own, *bounded},
        key=lambda each: (len(each), [part.number for part in each]),
    )
    if len(lengths) < 2:
        return None
    one, other = (_rows(e, form, lengths) for form in forms)
    is_nested = not any(Counter(short) - Counter(long) for short, long in pairwise(lengths))
    if not is_nested and one.keys() != other.keys():
        return None
    if is_nested:
        one, other = (_with_last_columns(e, rows, lengths) for rows in (one, other))
    both = [(one.get(each, _NOTHING), other.get(each, _NOTHING)) for each in lengths]
    # An index is neither negative nor as large as the length of its row.
    for own, its in both[:-1]:
        for form in (own, its):
            is_before = own != its and form.constant < 0 and not form.terms
            if is_before or any(times < 0 for _, times in form.terms):
                return None
    if any(times < 0 and not _is_index(each) for form in both[-1] for each, times in form.terms):
        return None
    (columns, *rows) = both
    step = gcd(*(n for p in rows for f in p for n in (f.constant, *(t for _, t in f.terms))))
    for length in bounded:
        for column, access, limit in zip(columns, (first, second), limits, strict=True):
            if not _is_below(column, access.size or 0, limit[_without_extension(*length)], step):
                return None
    parts = [(*columns, first.size, second.size), *((*own, step, step) for own in rows)]
    parts += [(whole, whole, 1, 1) for whole in _numbers_alike(e, parts)]
    return tuple(
        Overlap(_part(first, own, size), 0, _part(second, its, other_size), 1)
        for own, its, size, other_size in parts
    )


_NOTHING = LinearForm(0)


def _limits(kernel: Kernel, access: Access) -> Mapping[Value, LinearForm]:
    """The values, no constants, that conditions of an access say sums to be below, each with its
    sum."""
    if not access.conditions:
        return {}
    known = kernel.remembered("limits", dict[Literal, tuple[Value, LinearForm] | None])
    for each in access.conditions:
        if each not in known:
            known[each] = _limit_of(kernel, each)
    return dict(own for each in access.conditions if (own := known[each]) is not None)


def _limit_of(kernel: Kernel, literal: Literal) -> tuple[Value, LinearForm] | None:
    value = literal.value
    if not literal.polarity or not isinstance(value, Apply):
        return None
    if value.operation not in ("slt", "ult") or number_of(value.arguments[1]) is not None:
        return None
    below, limit = value.arguments
    return _without_extension(limit), _expressions(kernel).linear(below)


def _is_below(column: LinearForm, size: int, end: LinearForm, most: int) -> bool:
    """True of bytes that a bounded sum is in steps of, of at most some bytes, or a part of it."""
    step = gcd(*(times for _, times in column.terms)) or most
    terms = {value: times * step for value, times in end.terms}
    rest = terms.items() - {*column.terms}
    is_part = {*column.terms} <= terms.items() and all(map(_is_extended, rest))
    is_whole = end.constant == 0 <= column.constant <= step - size
    return is_part and is_whole and step <= most


def _numbers_alike(
    e: Expressions, parts: Sequence[tuple[LinearForm, LinearForm, int | None, int | None]]
) -> Iterator[LinearForm]:
    """The numbers of which both threads have one quotient and one remainder, by their indices."""
    alike = dict.fromkeys(
        _without_extension(own.terms[0][0])
        for own, its, size, other_size in parts
        if own == its and len(own.terms) == 1 and size == other_size == own.terms[0][1]
    )
    work = [*alike]
    while work:
        each = work.pop()
        for one in (each, *alike) if isinstance(each, Apply) else ():
            if isinstance(one, Apply) and one.operation in _REMAINDERS:
                rest = e.apply(_REMAINDERS[one.operation], one.arguments, one.bits)
                whole = one.arguments[0]
                if rest in alike and whole not in alike:
                    alike[whole] = None
                    work.append(whole)
                    yield e.linear(whole)


def _is_index(value: Value) -> bool:
    """True of indices and sizes, and their products: a multiple of a quotient may be a part of the
    number that it is subtracted from."""
    return not any(isinstance(_without_extension(each), Apply) for each in factors_of(value))


def tiles(kernel: Kernel, first: Access, second: Access, relation: Relation) -> Iterator[Room]:
    """The room that two accesses, of the same array, leave for the threads of a CTA: up to the next
    constant step from thread to thread, to another CTA or from one access to the other."""
    rows = in_rows(kernel, first, second, relation)
    pairs = [(first, second)] if rows is None else [(each.left, each.right) for each in rows]
    for one, other in pairs:
        a, b = one.place.offset, other.place.offset
        if a is None or b is None or one.size is None:
            continue
        names = {_index_of(value): times for value, times in (*a.terms, *b.terms) if times > 0}
        steps = {abs(a.constant - b.constant), *(names[each] for each in names if each)}
        for place, d in enumerate("xyz"):
            own = names.get(f"%tid.{d}", 0)
            following = min((step for step in steps if step > own), default=0)
            if own and following:
                times = (own if place == 0 else 0, own if place == 1 else 0, own * (place == 2))
                yield Room(times, following - min(one.size, own))


def block_meant(access: Access) -> int:
    """The threads of a CTA that a place has in mind: its constant step from CTA to CTA in steps
    from thread to thread; 0 of one without these."""
    form = access.place.offset
    steps = {} if form is None else {_index_of(value): times for value, times in form.terms}
    own, to_next = steps.get("%tid.x", 0), steps.get("%ctaid.x", 0)
    return to_next // own if own > 0 and to_next % own == 0 else 0


def block_of_rounds(first: Access, second: Access) -> int:
    """The threads of a CTA that two places have in mind: the constant step from round to round of
    their loops in steps from thread to thread; 0 of places without these."""
    a, b = first.place.offset, second.place.offset
    if a is None or b is None:
        return 0
    terms = [*a.terms, *b.terms]
    own = {times for value, times in terms if _index_of(value) == "%tid.x"}
    rounds = [n for value, n in terms if isinstance(_without_extension(value), Iteration)]
    to_next = gcd(*rounds, a.constant - b.constant) if rounds else 0
    return to_next // step if len(own) == 1 and to_next % (step := abs(own.pop())) == 0 else 0


def _rows(
    e: Expressions, form: LinearForm, lengths: Sequence[tuple[Value, ...]]
) -> dict[tuple[Value, ...], LinearForm]:
    """A sum by the lengths of rows that its terms are multiples of, of each the longest."""
    sums: dict[tuple[Value, ...], tuple[int, list[tuple[Value, int]]]] = {}
    sums[()] = form.constant, []
    for value, times in form.terms:
        own = Counter(factors_of(value))
        length = next(each for each in reversed(lengths) if Counter(each) <= own)
        rest = [*(own - Counter(length)).elements()]
        constant, terms = sums.get(length, (0, []))
        if rest:
            terms = [*terms, (e.apply("mul", rest, WIDE) if len(rest) > 1 else rest[0], times)]
        sums[length] = constant + (0 if rest else times), terms
    return {each: LinearForm(constant, tuple(t)) for each, (constant, t) in sums.items()}


def _with_last_columns(
    e: Expressions, rows: dict[tuple[Value, ...], LinearForm], lengths: Sequence[tuple[Value, ...]]
) -> dict[tuple[Value, ...], LinearForm]:
    """Indices, of which a constant below 0 is one from the end of the row before, as in
    ``n*(i + 1) - 1``."""
    found = dict(rows)
    for short, long in pairwise(lengths):
        own, above = found.get(short, _NOTHING), found.get(long, _NOTHING)
        step = gcd(above.constant, *(times for _, times in above.terms))
        if own.constant < 0 and not own.terms and above.constant > 0:
            factors = [*(Counter(long) - Counter(short)).elements()]
            end = e.multiplied(factors, LinearForm(step))
            found[short] = e.sum_of(own, end, 1)
            found[long] = replace(above, constant=above.constant - step)
    return found


def _lengths(value: Value) -> tuple[Value, ...]:
    """The parameters, and what is computed of them alone, that a product is a multiple of."""
    return tuple(each for each in factors_of(value) if _is_length(each))


def _with_remainders(e: Expressions, form: LinearForm) -> LinearForm:
    """A sum with ``x % n`` in the place of ``x - n*(x / n)``."""
    terms = dict(form.terms)
    for value, times in form.terms:
        for quotient, others in _quotients(value) if times < 0 else ():
            whole = e.multiplied(others, e.linear(quotient.arguments[0]))
            if any(
                terms.get(each) != -times * n and not is_alike(each, is_one_cta=False)
                for each, n in whole.terms
            ):
                continue
            remainder = e.apply(_REMAINDERS[quotient.operation], quotient.arguments, quotient.bits)
            rest = e.multiplied(others, LinearForm(0, ((e.resized(remainder, WIDE), 1),)))
            form = e.sum_of(form, LinearForm(0, ((value, 1),)), -times)
            form = e.sum_of(e.sum_of(form, whole, times), rest, -times)
            terms = dict(form.terms)
            break
    return form


def _quotients(value: Value) -> Iterator[tuple[Apply, list[Value]]]:
    """The quotients in a product with their divisors, and the rest of the product."""
    factors = factors_of(value)
    inner = [_without_extension(each) for each in factors]
    for n, quotient in enumerate(inner):
        if isinstance(quotient, Apply) and quotient.operation in _REMAINDERS:
            for m in (m for m, size in enumerate(inner) if size is quotient.arguments[1]):
                rest = [each for k, each in enumerate(factors) if k not in (n, m)]
                yield quotient, rest


_REMAINDERS = {"udiv": "urem", "sdiv": "srem"}


def _is_length(value: Value) -> bool:
    """True of a value that a launch's arguments decide alone."""
    return is_alike(value, is_one_cta=False) and any(
        isinstance(leaf, Param) for leaf in leaves((value,))
    )


def _part(access: Access, form: LinearForm, size: int | None) -> Access:
    if form is access.place.offset and size == access.size:
        return access
    return replace(access, size=size, place=replace(access.place, offset=form))


def alike_threads(kernel: Kernel, access: Access) -> int:
    """The bits of a thread's number in its CTA on which the value of a plain write to shared memory
    does not depend, in no loop: threads that differ in these alone have reduced it together.

    0: not known. Its places are the same or apart: multiples of its size.
    """
    form, size = access.place.offset, access.size
    values = access.parts or (() if access.value is None else (access.value,))
    if access.reads or form is None or size is None or not values:
        return 0
    if access.place.root.region is not Region.SHARED:
        return 0
    if kernel.loops_of(access.instruction):
        return 0
    if any((times << trailing_zeros(part)) % size for part, times in form.terms):
        return 0
    if all(is_alike(value, is_one_cta=True) for value in values):
        return 0
    alike = EVERY_BIT
    for value in values:
        alike &= _alike_bits(kernel, value)
    return alike


EVERY_BIT = MOST_THREADS - 1
"""The bits of a thread's number in its CTA; the low ones are those of its lane."""


def _alike_bits(kernel: Kernel, value: Value) -> int:
    """The bits of a thread's number that a value does not depend on.

    A function that commutes, of a lane's value and that of the lane whose number differs in a bit,
    is one for both of these lanes. What is loaded, in no loop, from one place of shared memory is
    one value: barriers alone order the kernel's conflicts, and none is between two threads' loads.
    """
    if isinstance(value, Const | Param):
        return EVERY_BIT
    if (exchange := kernel.exchanges.get(value)) is not None:
        return _alike_bits(kernel, exchange[0])
    if isinstance(value, Apply):
        make = partial(_of_arguments, kernel, value)
    elif isinstance(value, Result):
        make = partial(_of_load, kernel, value)
    else:
        return 0
    return kernel.remembered(("alike bits", value), make)


def _of_load(kernel: Kernel, value: Result) -> int:
    access, *others = kernel.accesses_at.get(value.instruction, ()) or (None,)
    if access is None or others or access.is_strong or access.writes:
        return 0
    if access.place.offset is None or kernel.loops_of(value.instruction):
        return 0
    if access.place.root.region is not Region.SHARED or not _has_barriers_alone(kernel):
        return 0
    return _common(kernel, (part for part, _ in access.place.offset.terms))


def _has_barriers_alone(kernel: Kernel) -> bool:
    """True of a kernel without flags, mbarriers, and barriers of some of its warps or blocks."""
    levels = (Scope.WORKGROUP, Scope.WAVEFRONT)
    return (
        not kernel.mbarriers
        and not any(each.is_strong for each in kernel.accesses)
        and all(each.level in levels and not (each.name or each.count) for each in kernel.barriers)
    )


def _of_arguments(kernel: Kernel, value: Apply) -> int:
    own = _common(kernel, value.arguments) | _tried_bits(kernel, value)
    if value.operation in kernel.commutative and len(value.arguments) == 2:
        for one, other in (value.arguments, value.arguments[::-1]):
            if (exchange := kernel.exchanges.get(other)) is not None and exchange[0] is one:
                own |= exchange[1]
    return own


def _common(kernel: Kernel, values: Iterable[Value]) -> int:
    own = EVERY_BIT
    for each in values:
        own &= _alike_bits(kernel, each)
    return own


def _tried_bits(kernel: Kernel, value: Value) -> int:
    """``_alike_bits`` of a function of the thread's number alone, computed for every number."""
    if kernel.specials & {"%tid.y", "%tid.z"}:
        return 0
    own = _values_of_threads(kernel, value)
    if own is None:
        return 0
    # Threads beyond the largest CTA decide nothing.
    pairs = (
        (n, n ^ 1 << bit, 1 << bit)
        for n in range(len(own))
        for bit in range(EVERY_BIT.bit_length())
    )
    differ = {bit for n, other, bit in pairs if other < len(own) and own[n] != own[other]}
    return EVERY_BIT - sum(differ)


_MOST_MULTIPLES = 1 << 12


@record()
class _Digit:
    """An index in a sum: its step is ``times`` the product of ``sizes``; ``bound``: it is below
    that.

    The name of an iteration, or of a sum that a condition bounds, is "": each thread has its own.
    ``parts``: the names of the indices that two threads have alike where they have such a sum.
    ``more``: other multiples of the index, by their sizes: its step is that much larger.
    """

    name: str
    times: int
    sizes: tuple[str, ...]
    bound: int | None = None
    parts: tuple[str, ...] = ()
    more: tuple[tuple[tuple[str, ...], int], ...] = ()

    def below(self, sizes: Mapping[str, int]) -> int | None:
        """The number that it is below in a launch of such sizes; None if none is known."""
        known = (sizes.get(self.name), self.bound)
        return min((each for each in known if each is not None), default=None)


def _split(form: LinearForm, is_one_cta: bool) -> tuple[_Terms, _Terms]:
    """The terms that both threads have alike, and the others."""
    alike = frozenset(term for term in form.terms if is_alike(term[0], is_one_cta=is_one_cta))
    return alike, frozenset(form.terms) - alike


def _digits(terms: _Terms, bounds: Sequence["_Bound"], *, is_one_cta: bool) -> list[_Digit] | None:
    """The indices that terms are multiples of, in the order of their steps; None if one is no
    index."""
    digits: list[_Digit] = []
    rest, below = dict(terms), dict[Value, int]()
    for bound in bounds:
        if is_one_cta and any(_index_of(value) for value, _ in bound.terms):
            # Of threads of one CTA the index itself is a digit.
            for value, count in bound.terms:
                below[value] = min(-(-bound.below // count), below.get(value, bound.below))
            continue
        if len(bound.terms) == 1:
            ((value, count),) = bound.terms
            if rest.get(value, 0) > 0:
                digits.append(_Digit("", rest.pop(value), (), -(-bound.below // count)))
            continue
        times = min((rest.get(value, 0) // count for value, count in bound.terms), default=0)
        if times > 0 and all(rest.get(value) == times * count for value, count in bound.terms):
            for value, _ in bound.terms:
                del rest[value]
            own = _digits(frozenset(bound.terms), (), is_one_cta=is_one_cta)
            is_chain = own is not None and _step_of_chain(own, {}) is not None
            parts = tuple(each.name for each in own or () if is_chain)
            digits.append(_Digit("", times, (), bound.below, parts))
    for value, times in rest.items():
        names: list[str | None] = []
        sizes: list[str] = []
        for factor in factors_of(value):
            size = _size_name(factor)
            if size is not None:
                sizes.append(size)
            else:
                names.append(_index_of(factor))
        if len(names) != 1 or names[0] is None or times <= 0:
            return None
        most = min(filter(None, (_own_bound(value), below.get(value))), default=None)
        digits.append(_Digit(names[0], times, tuple(sorted(sizes)), most))
    return _by_steps(_merged(digits)) or None


def _merged(digits: Sequence[_Digit]) -> Iterator[_Digit]:
    """Digits with all multiples of an index in one, as of the rows of a tile with a border."""
    by: dict[object, list[_Digit]] = {}
    for number, each in enumerate(_by_steps(digits)):
        by.setdefault(each.name or number, []).append(each)
    for *others, last in by.values():
        more = tuple((each.sizes, each.times) for each in others)
        yield replace(last, more=more) if more else last


def _names_of(digits: Iterable[_Digit]) -> frozenset[str]:
    """The names of indices that two threads have alike which have digits alike."""
    return frozenset(name for each in digits for name in (each.name, *each.parts))


def _by_steps(digits: Iterable[_Digit]) -> list[_Digit]:
    def place(digit: _Digit) -> tuple[int, int, str, tuple[str, ...], int]:
        return len(digit.sizes), digit.times, digit.name, digit.sizes, digit.bound or 0

    return sorted(digits, key=place)


def _between(
    own: _Terms, other: _Terms, distance: int, digits: Sequence[_Digit]
) -> list[_Digit] | None:
    """The difference of the terms that all threads have alike in two sums, as digits that are 0 in
    one of both; None if it is no sum of multiples of sizes."""
    times = Counter[Value](dict(own))
    times.subtract(dict(other))
    products = {value: [*map(_size_name, factors_of(value))] for value, by in times.items() if by}
    if any(None in names for names in products.values()):
        return None
    found: list[_Digit] = []
    for number, names in ((distance, []), *((times[value], products[value]) for value in products)):
        unit = gcd(number, *(each.times for each in digits))
        if number:
            sizes = tuple(sorted(filter(None, names)))
            found.append(_Digit("", unit, sizes, abs(number) // unit + 1))
    return found


def _index_of(value: Value) -> str | None:
    """The name of the index that a value is, "" for one of a thread alone; None if it is none."""
    if isinstance(value, Apply) and value.operation == "zext":
        value = value.arguments[0]
    if isinstance(value, Thread) and value.name.startswith("%tid."):
        return value.name
    if isinstance(value, Const) and isinstance(value.constant, str):
        return value.constant if value.constant.startswith("%ctaid.") else None
    return "" if isinstance(value, Iteration) or _own_bound(value) is not None else None


def _own_bound(value: Value) -> int | None:
    """The number that a value is below by the operation that it is: a mask or a remainder."""
    if isinstance(value, Apply) and value.operation == "zext":
        value = value.arguments[0]
    if not isinstance(value, Apply) or value.operation not in ("and", "urem"):
        return None
    number = number_of(value.arguments[1])
    if number is None:
        return None
    return number + 1 if value.operation == "and" else number


def _size_name(value: Value) -> str | None:
    """The name of the size of the launch that a value is."""
    inner = value.arguments[0] if isinstance(value, Apply) and value.operation == "zext" else value
    if isinstance(inner, Const) and isinstance(inner.constant, str):
        return inner.constant if inner.constant.startswith(("%ntid.", "%nctaid.")) else None
    return None


def _sizes(kernel: Kernel, launch: Launch) -> Mapping[str, int]:
    """The most that sizes are, as far as that is known, by the names of their indices."""
    return kernel.remembered(("sizes", launch), lambda: _known_sizes(kernel, launch))


def _known_sizes(kernel: Kernel, launch: Launch) -> Mapping[str, int]:
    sizes = {f"%tid.{d}": kernel.most_threads for d in "xyz"}
    for room in rooms(kernel, launch):
        for d, times in zip("xyz", room.times, strict=True):
            most = room.most // times + 1 if times else sizes[f"%tid.{d}"]
            sizes[f"%tid.{d}"] = min(sizes[f"%tid.{d}"], most)
    for kind, own in (("tid", launch.block or kernel.required), ("ctaid", launch.grid)):
        if own is not None:
            sizes |= {f"%{kind}.{d}": size for d, size in zip("xyz", own, strict=True)}
    return sizes


def _step_of_chain(digits: list[_Digit], sizes: Mapping[str, int]) -> int | None:
    """The step of the first digit, if the step of each next one is at least the range of those
    before.

    Then sums of other digits differ by that step at least.
    """
    if digits[0].sizes:
        return None
    for one, following in pairwise(digits):
        if one.more:
            return None
        bound = one.below(sizes)
        if bound is not None and one.name.startswith("%tid") and following.name.startswith("%tid"):
            bound = min(bound, MOST_THREADS // 2)  # Of a CTA in which the next index has two.
        is_above = Counter(following.sizes) >= Counter(one.sizes)
        if bound is not None and is_above and following.times >= one.times * bound:
            continue
        wanted = Counter((*one.sizes, one.name.replace("%", "%n")))
        if not one.name or not Counter(following.sizes) >= wanted or following.times < one.times:
            return None
    return digits[0].times


def _are_one(digits: Sequence[_Digit], sizes: Mapping[str, int], least: int, most: int) -> bool:
    """True where sums of digits that differ lie by no number above ``least`` and below ``most``
    apart: of digits that are all below a number, but for that with the largest step."""
    ranges: list[tuple[int, int | None]] = []
    for each in digits:
        bound = each.below(sizes)
        if each.sizes or each.more:
            return False
        ranges.append((each.times, None if bound is None else bound - 1))
    ranges.sort(key=itemgetter(0), reverse=True)
    if any(by is None for _, by in ranges[1:]):
        return False
    rests = [sum(times * (by or 0) for times, by in ranges[n + 1 :]) for n in range(len(ranges))]
    # Differences of the digits with the largest steps first, and what is left of the distance.
    work = [(0, least, most, False)]
    for _ in range(_MOST_MULTIPLES):
        if not work:
            return True
        at, low, high, differs = work.pop()
        if at == len(ranges):
            if differs and low < 0 < high:
                return False
            continue
        (times, by), rest = ranges[at], rests[at]
        first, last = -((rest - low) // times), (high + rest) // times
        if by is not None:
            first, last = max(-by, first), min(by, last)
        if len(work) + last - first > _MOST_MULTIPLES:
            return False
        work += (
            (at + 1, low - n * times, high - n * times, differs or n != 0)
            for n in range(first, last + 1)
        )
    return False


@record()
class _Bound:
    """A sum, without a constant, that is below a number and not negative."""

    terms: tuple[tuple[Value, int], ...]
    below: int


_NOTHING_KNOWN = (), frozenset[Literal](), frozenset[LinearForm](), ()
"""The bounds, conditions, indices and limits of an access without conditions."""


def span_of(kernel: Kernel, access: Access) -> int:
    """A number for all that ``are_apart``, ``in_rows`` and ``are_rows_apart`` ask of an access."""
    spans = kernel.remembered("spans", dict[object, int])
    known: tuple[object, ...] = _NOTHING_KNOWN
    if access.conditions or kernel.loops:
        bounds, threads = _bounds(kernel, access), _conditions_on_threads(kernel, access)
        limits = tuple(_limits(kernel, access).items())
        known = bounds, threads, _indices_known(kernel, access), limits
    place, form = access.place, access.place.offset
    # Written out, for tuples are hashed faster than records.
    sum_of = None if form is None else (form.constant, form.terms)
    key = place.root, place.rank, sum_of, access.size, known
    return spans.setdefault(key, len(spans))


def _bounds(kernel: Kernel, access: Access) -> tuple[_Bound, ...]:
    """The sums of parts of a place that the conditions of an access bound by constants."""
    form = access.place.offset
    if form is None or not form.terms or not (access.conditions or kernel.loops):
        return ()
    key = "bounds", access.number, form
    return kernel.remembered(key, lambda: tuple(_bounds_in(kernel, access, form)))


def _bounds_in(kernel: Kernel, access: Access, form: LinearForm) -> Iterator[_Bound]:
    if not (bounds := [*_bounds_of(kernel, access)]):
        return
    own = kernel.remembered("leaves of places", dict[object, Set[Value]])
    if (parts := own.get(form.terms)) is None:
        parts = own[form.terms] = leaves(value for value, _ in form.terms)
    yield from (bound for bound, its_parts in bounds if its_parts <= parts)


_PartsOfBound = tuple[_Bound, Set[Value]]
"""A bound and the leaves of its sum."""


def _bounds_of(kernel: Kernel, access: Access) -> Iterator[_PartsOfBound]:
    constraints = executed(kernel, access, 0)
    for each in constraints:
        if isinstance(each, Holds):
            yield from _bounds_by(kernel, each.literal)
    for constraint in constraints if kernel.loops else ():
        # The first iteration, or what the one before went on under.
        match constraint:
            case AnyOf((Compare() as first, AllOf() as went_on)):
                pass
            case _:
                continue
        for each in went_on.constraints:
            if not isinstance(each, Holds):
                continue
            for own in _bounds_by(kernel, each.literal):
                if _is_below_at_first(own[0], first.left):
                    yield own


def _bounds_by(kernel: Kernel, literal: Literal) -> Sequence[_PartsOfBound]:
    known = kernel.remembered("bounds of conditions", dict[Literal, Sequence[_PartsOfBound]])
    if (own := known.get(literal)) is None:
        bounds = _bound_of(_expressions(kernel), literal)
        own = [(each, leaves(value for value, _ in each.terms)) for each in bounds]
        known[literal] = own
    return own


def _expressions(kernel: Kernel) -> Expressions:
    return kernel.remembered("expressions", lambda: Expressions(kernel.table))


def _bound_of(e: Expressions, literal: Literal) -> Iterator[_Bound]:
    value = literal.value
    if not isinstance(value, Apply) or value.operation not in ("ult", "slt"):
        return
    left, right = value.arguments
    # ``x < n``, or not ``n < x``.
    inner, limit = (left, _most_of(right)) if literal.polarity else (right, number_of(left))
    if limit is None or (value.operation == "slt" and limit >> (left.bits - 1)):
        return
    form = e.linear(inner)
    # A sum may wrap around, an ``or`` does not.
    is_whole = form.constant <= 0 or getattr(inner, "operation", "") == "or"
    # A signed comparison takes 2^31 and more for negative numbers.
    is_known = is_counted if value.operation == "slt" else _is_extended
    if form.terms and is_whole and all(map(is_known, form.terms)):
        yield _Bound(form.terms, limit + (0 if literal.polarity else 1) - form.constant)


def _most_of(value: Value) -> int | None:
    """The number, or the constant that a minimum is no more than."""
    if isinstance(value, Apply) and value.operation == "trunc":
        most = _most_of(value.arguments[0])
        return None if most is None or most >> value.bits - 1 else most
    if isinstance(value, Apply) and value.operation == "umin":
        return min(filter(None, map(_most_of, value.arguments)), default=None)
    return number_of(value)


def _is_extended(term: tuple[Value, int]) -> bool:
    """True of a term that is not negative: a multiple of values that zeros extend."""
    value, times = term
    return times > 0 and all(
        isinstance(factor, Apply) and factor.operation == "zext" for factor in factors_of(value)
    )


def _is_below_at_first(bound: _Bound, iteration: Value) -> bool:
    """True where a sum is below its bound in the first iteration of a loop, by the size of a
    CTA."""
    rest = [term for term in bound.terms if iteration not in leaves((term[0],))]
    return all(
        (_index_of(value) or "").startswith("%tid.x") and times * MOST_THREADS <= bound.below
        for value, times in rest
    ) and len(rest) < 2  # fmt: skip
