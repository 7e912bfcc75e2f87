"""Registers of a loop that come back to where they began: indices of rings, and phase bits.

Registers that depend on constants and each other alone are computed iteration by iteration until
all are what they were; what repeats so is then known for every iteration. Registers that only
exchange their values have these in turn. ``i = i+1 == N ? 0 : i+1;
phase ^= i == 0`` are ``(it + c) mod N`` and the lowest bit of ``(it + c) div N + b``.
"""

from collections.abc import Collection, Mapping, Sequence

from fencewright.checker.verdicts.expressions import (
    Expressions,
    leaves,
    number_of,
    quotient,
    remainder,
)
from fencewright.lowering.code.value import Opaque, Value

_MOST_STEPS = 128
"""The longest sequence that is looked for: two phases of a ring of 64."""
_MOST_TURNS = 4
"""The most buffers that take turns by exchanging their addresses."""


def sequence_of(
    e: Expressions,
    iteration: Value,
    register: Value,
    starts: Mapping[Value, Value],
    following: Mapping[Value, Value],
) -> Value | None:
    """The value of a loop's ``register`` by its iteration; None where it does not come back.

    ``starts``: of the registers that are not known yet, their values where the loop is entered;
    ``following``: those in the next iteration.
    """
    if register not in starts:
        return None
    if number_of(starts[register]) is None:
        return _rotated(e, iteration, register, starts, following)
    own = _dependent(register, following)
    if own is None or any(number_of(starts[each]) is None for each in own):
        return None
    first = {each: starts[each] for each in own}
    state, numbers = first, list[int]()
    while len(numbers) < _MOST_STEPS:
        number = number_of(state[register])
        assert number is not None
        numbers.append(number)
        state = {each: e.substituted(following[each], state) for each in own}
        if any(number_of(value) is None for value in state.values()):
            return None
        if all(state[each] is first[each] for each in own):
            return _of_numbers(e, iteration, numbers, register.bits)
    return None


def _rotated(
    e: Expressions,
    iteration: Value,
    register: Value,
    starts: Mapping[Value, Value],
    following: Mapping[Value, Value],
) -> Value | None:
    """The value of a register that others take turns with: two buffers that are swapped."""
    turns = [register]
    while (turn := following[turns[-1]]) is not register:
        if turn in turns or turn not in following or len(turns) == _MOST_TURNS:
            return None
        turns.append(turn)
    value = starts[turns[-1]]
    place = remainder(e, iteration, len(turns))
    for number in reversed(range(len(turns) - 1)):
        is_turn = e.apply("eq", (place, e.constant(number, place.bits)), 1)
        value = e.chosen(is_turn, starts[turns[number]], value)
    return value


def _dependent(register: Value, following: Mapping[Value, Value]) -> Collection[Value] | None:
    """The registers that one depends on in later iterations, itself too; None if on others."""
    own, work = {register: None}, [register]
    while work:
        value = following.get(work.pop())
        if value is None:
            return None
        for leaf in leaves((value,)):
            if number_of(leaf) is not None:
                continue
            if not isinstance(leaf, Opaque) or leaf not in following:
                return None
            if leaf not in own:
                own[leaf] = None
                work.append(leaf)
    return own


def _of_numbers(
    e: Expressions, iteration: Value, numbers: Sequence[int], bits: int
) -> Value | None:
    """A sequence that repeats, as an index of a ring or as its phase."""
    period = len(numbers)
    first = numbers[0]
    if all(number == (first + n) % period for n, number in enumerate(numbers)):
        return e.resized(remainder(e, _moved(e, iteration, first), period), bits)
    size = period // 2
    change = next((n for n, number in enumerate(numbers) if number != first), 0)
    moved = -change % size if size else 0
    if size and all(
        number == ((n + moved) // size + first) % 2 for n, number in enumerate(numbers)
    ):
        rounds = quotient(e, _moved(e, iteration, moved), size)
        return e.resized(remainder(e, _moved(e, rounds, first), 2), bits)
    return None


def _moved(e: Expressions, value: Value, by: int) -> Value:
    return e.apply("add", (value, e.constant(by, value.bits)), value.bits)
