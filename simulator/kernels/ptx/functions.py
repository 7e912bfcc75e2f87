"""Computations of PTX instructions on the values of many lanes: formulas as functions of numpy.

An operation on numbers that has no fast form here is done lane by lane, as single threads do it.
Source: ``simulator.semantics``; tests/data/memory/h200-arithmetic.txt, computed by an H200.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from fencewright.lowering.ptx.code.statements import Opcode, element_of, read_opcode
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import Fold, flags, low, signed, unsigned
from fencewright.simulator.execution.vectorised import Function, vectorised
from fencewright.simulator.semantics import formulas
from fencewright.simulator.semantics.operands import LANE_MASKS
from fencewright.simulator.semantics.term import Term, constant, operand


@cache
def function_of(name: str) -> Function:
    """The first result of an instruction, of its operands. Raises ``UnsupportedError``."""
    return compiled(read_opcode(name))


@cache
def compiled(
    opcode: Opcode, constants: tuple[int | None, ...] = (), result: int = 0, register: int = 16
) -> Function:
    """A result of an instruction as a function of its operands. Raises ``UnsupportedError``.

    ``constants``: operands that are known, which it does not take. ``register``: the bits of the
    register that it goes to, where the type is narrower.
    """
    formula = formulas.formula_of(opcode)
    if formula is None:
        problem = f"it {opcode.problem}" if opcode.problem else "it has no formula"
        raise UnsupportedError(f"'{opcode.name}'", f"it is not executed: {problem}")
    types = (*formula.types, "pred") if formula.takes_carry else formula.types
    known = (*constants, *(None for _ in types))
    operands = [_operand(at, type_, known[at]) for at, type_ in enumerate(types)]
    taken = [at for at, value in enumerate(known[: len(types)]) if value is None]
    return vectorised(formula.compute(operands, register)[result], taken)


@cache
def filling(opcode: Opcode, register: int) -> Function:
    """A loaded value in a register that may be wider than the type of the load."""
    return vectorised(formulas.filled(opcode, operand(0, opcode.width), register), (0,))


@cache
def lane_mask(name: str) -> Function:
    """A special register that is made of the number of the lane."""
    return vectorised(LANE_MASKS[name](operand(0, 5)), (0,))


def _operand(at: int, type_: str, known: int | None) -> Term:
    if known is not None:
        return constant(known)
    element = element_of(type_)
    assert element is not None, type_
    return operand(at, element[1] * element[2])


# Lanes of a warp together


@cache
def cross_lane_function_of(name: str, *, second: bool = False) -> Function:
    """The function that lanes compute together; it takes the active lanes first. Raises
    ``UnsupportedError``.

    A lane of the member mask that is not active counts as absent. ``second``: the predicate that
    an instruction may give beside its result.
    """
    opcode = read_opcode(name)
    rows = SECOND_RESULTS if second else CROSS_LANE
    found = rows.get(".".join(each for each in opcode.words if each not in opcode.types))
    if found is None:
        known = ", ".join(sorted(rows))
        raise UnsupportedError(f"'{name}'", f"it is not executed; executed are {known}")
    return _by_mask(found(opcode.type)) if opcode.head in _MASKED else found(opcode.type)


_MASKED = ("vote", "match", "redux", "elect")


def _by_mask(function: Function) -> Function:
    """The function where lanes may give different member masks: each lane's of its own members."""

    def of(active: LaneFlags, *operands: Values) -> Values:
        *values, members = operands
        if members.shape[-1] == 1 or (members == members[..., :1]).all():
            return function(active, *operands)
        found: list[Values] = []
        for lane in range(members.shape[-1]):
            row = function(active, *values, members[..., [lane]])
            found.append(row[..., [min(lane, row.shape[-1] - 1)]])
        return np.concatenate(found, axis=-1)

    return of


def _sources(mode: str, a: Values, b: Values, c: Values) -> tuple[Numbers, LaneFlags]:
    """The lane that each lane of a shuffle reads, and true where that is in its segment."""
    lane = np.arange(a.shape[-1], dtype=np.int64)
    by, clamp = (b & np.uint64(31)).view(np.int64), (c & np.uint64(31)).view(np.int64)
    segment = (c >> np.uint64(8) & np.uint64(31)).view(np.int64)
    first = lane & segment
    last = first | clamp & ~segment
    source = {
        "up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | by & ~segment
    }[mode]  # fmt: skip
    inside = source >= last if mode == "up" else source <= last
    return np.where(inside, source, lane), inside


def _shuffle(mode: str) -> Callable[[str], Function]:
    """shfl.sync: ``a`` of another lane, by ``b`` and the clamp and segments of ``c``."""

    def shuffle(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return np.take_along_axis(a, _sources(mode, a, b, c)[0], axis=-1)

    return lambda _: shuffle


def _is_inside(mode: str) -> Callable[[str], Function]:
    def inside(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return flags(_sources(mode, a, b, c)[1])

    return lambda _: inside


def _match_any(_: str) -> Function:
    """match.any.sync: the lanes that have the same value."""

    def match(active: LaneFlags, a: Values, members: Values) -> Values:
        there = _member(active, members)
        same = (a[..., :, None] == a[..., None, :]) & there[..., None, :]
        return _mask_of(same)[..., 0]

    return match


def _match_all(active: LaneFlags, a: Values, members: Values) -> LaneFlags:
    """True where all lanes have the value of the first."""
    there = _member(active, members)
    first = np.take_along_axis(a, there.argmax(axis=-1, keepdims=True), axis=-1)
    return ((a == first) | ~there).all(axis=-1, keepdims=True)


def _mask_of(lanes: LaneFlags) -> Values:
    bits = np.uint64(1) << np.arange(lanes.shape[-1], dtype=np.uint64)
    return np.where(lanes, bits, np.uint64(0)).sum(axis=-1, dtype=np.uint64, keepdims=True)


def _elect(active: LaneFlags, members: Values) -> Values:
    """elect.sync: the first lane, as it is on every chip so far."""
    return _member(active, members).argmax(axis=-1, keepdims=True).astype(np.uint64)


def _is_elected(active: LaneFlags, members: Values) -> Values:
    return flags(np.arange(active.shape[-1], dtype=np.uint64) == _elect(active, members))


def _member(active: LaneFlags, members: Values) -> LaneFlags:
    lane = np.arange(active.shape[-1], dtype=np.uint64)
    return active & (members >> lane & np.uint64(1) != 0)


def _vote(mode: str) -> Callable[[str], Function]:
    def vote(active: LaneFlags, predicate: Values, members: Values) -> Values:
        there = _member(active, members)
        yes = there & (predicate != 0)
        if mode == "ballot":
            return _mask_of(yes)
        if mode == "any":
            return flags(yes.any(axis=-1, keepdims=True))
        return flags((yes | ~there).all(axis=-1, keepdims=True))

    return lambda _: vote


def _vote_uni(active: LaneFlags, predicate: Values, members: Values) -> Values:
    """True where all lanes have one value of the predicate."""
    return flags(_match_all(active, flags(predicate != 0), members))


_EMPTY_MIN, _EMPTY_MAX = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def _redux(reduce: Callable[..., Numbers], nothing: int) -> Callable[[str], Function]:
    def of(type_: str) -> Function:
        letter, bits, _ = element_of(type_) or ("b", 32, 1)
        of_value = signed if letter == "s" else low

        def redux(active: LaneFlags, a: Values, members: Values) -> Values:
            number = np.asarray(of_value(a, bits)).astype(np.int64)
            kept = np.where(_member(active, members), number, nothing)
            return unsigned(reduce(kept, axis=-1, keepdims=True), bits)

        return redux

    return of


CROSS_LANE: Mapping[str, Callable[[str], Function]] = MappingProxyType(
    {
        **{f"shfl.sync.{mode}": _shuffle(mode) for mode in ("up", "down", "bfly", "idx")},
        **{f"vote.sync.{mode}": _vote(mode) for mode in ("ballot", "any", "all")},
        "vote.sync.uni": lambda _: _vote_uni,
        "match.any.sync": _match_any,
        "match.all.sync": lambda _: (
            lambda *given: np.where(
                _match_all(*given), _mask_of(_member(given[0], given[2])), np.uint64(0)
            )
        ),
        "elect.sync": lambda _: _elect,
        "activemask": lambda _: _mask_of,
        "redux.sync.add": _redux(np.sum, 0),
        "redux.sync.min": _redux(np.min, _EMPTY_MIN),
        "redux.sync.max": _redux(np.max, _EMPTY_MAX),
        "redux.sync.and": _redux(np.bitwise_and.reduce, -1),
        "redux.sync.or": _redux(np.bitwise_or.reduce, 0),
        "redux.sync.xor": _redux(np.bitwise_xor.reduce, 0),
    }
)
"""Instructions of a warp by their names without the type."""

LANE_OPERANDS: Mapping[str, int] = MappingProxyType(
    {"shfl": 4, "vote": 2, "match": 2, "redux": 2, "elect": 1, "activemask": 0}
)

SECOND_RESULTS: Mapping[str, Callable[[str], Function]] = MappingProxyType(
    {
        **{f"shfl.sync.{mode}": _is_inside(mode) for mode in ("up", "down", "bfly", "idx")},
        "match.all.sync": lambda _: lambda *given: flags(_match_all(*given)),
        "elect.sync": lambda _: _is_elected,
    }
)
"""The predicates that they may give beside their results."""


# Atomics


@cache
def update_of(opcode: Opcode) -> Function:
    """The value after an atomic, from old value and operands. Raises ``UnsupportedError``."""
    if opcode.width > 64 and opcode.update in _WIDE:
        return _WIDE[opcode.update]
    update = formulas.update_of(opcode)
    if update is None or opcode.width > 64:
        raise UnsupportedError(f"'{opcode.name}'", "it is not executed")
    count = 3 if opcode.update == "cas" else 2
    function = vectorised(update([operand(at, opcode.width) for at in range(count)]), range(count))
    is_fold = opcode.update in formulas.FOLDS and not opcode.is_float
    return Fold(function) if is_fold or opcode.update == "exch" else function


def _swap(old: Values, compare: Values, new: Values) -> Values:
    return np.where((old == compare).all(axis=0), new, old)


_WIDE: Mapping[str, Function] = MappingProxyType(
    {"exch": Fold(lambda old, data: data), "cas": _swap}
)
"""The updates of 128 bits, in pieces."""


# Several registers as one


def split(at: int, bits: int) -> Function:
    """The ``bits`` from bit ``at`` of a value of up to 128 bits."""
    piece, shift = divmod(at, 64)

    def part(whole: Values) -> Values:
        word = whole[piece] if whole.ndim > 2 else whole
        return low(word >> np.uint64(shift), bits)

    return part


def joined(sizes: Sequence[int]) -> Function:
    """One value of several, the first one lowest; of 128 bits in two pieces."""
    places = [sum(sizes[:n]) for n in range(len(sizes))]

    def whole(*parts: Values) -> Values:
        words = [np.zeros((), dtype=np.uint64)] * -(-sum(sizes) // 64)
        for at, bits, part in zip(places, sizes, parts, strict=True):
            piece, shift = divmod(at, 64)
            words[piece] = words[piece] | low(part, bits) << np.uint64(shift)
        if len(words) == 1:
            return words[0]
        shape = np.broadcast_shapes((1, 1), *(np.shape(each) for each in words))
        return np.stack([np.broadcast_to(each, shape) for each in words])

    return whole
