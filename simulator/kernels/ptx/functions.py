"""Computations of PTX instructions on the values of many lanes: formulas as functions of numpy.

An operation on numbers that has no fast form here is done lane by lane, as single threads do it.
Source: ``simulator.semantics``; tests/data/memory/h200-arithmetic.txt, computed by an H200.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from fencewright.lowering.ptx.code.statements import Opcode, element_of, read_opcode
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import Fold
from fencewright.simulator.execution.vectorised import Function, vectorised
from fencewright.simulator.semantics import formulas, lanes
from fencewright.simulator.semantics.lanes import Fact
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
    row = lanes.row_of(opcode)
    if row is None or len(row.results) <= second:
        known = ", ".join(lanes.NAMES)
        raise UnsupportedError(f"'{name}'", f"it is not executed; executed are {known}")
    result = vectorised(lanes.terms_of(row)[second], range(3))
    if row.fact is Fact.SOURCE:
        return _shuffle(result, second)
    word = _FACTS.get(row.fact) or _folded(opcode)

    def of(active: LaneFlags, *operands: Values) -> Values:
        *values, members = operands or (_mask_of(active),)
        lane = np.arange(active.shape[-1], dtype=np.uint64)
        there = active & (members >> lane & np.uint64(1) != 0)
        return result(word(there, *values), _mask_of(there), lane)

    return _by_mask(of)


def _by_mask(function: Function) -> Function:
    """The function where lanes may give different member masks: each lane's of its own members."""

    def of(active: LaneFlags, *operands: Values) -> Values:
        *values, members = operands or (np.zeros((1, 1), dtype=np.uint64),)
        if members.shape[-1] == 1 or (members == members[..., :1]).all():
            return function(active, *operands)
        found: list[Values] = []
        for lane in range(members.shape[-1]):
            row = function(active, *values, members[..., [lane]])
            found.append(row[..., [min(lane, row.shape[-1] - 1)]])
        return np.concatenate(found, axis=-1)

    return of


def _shuffle(result: Function, is_flag: bool) -> Function:
    """``a`` of another lane, or true where that is in the segment."""

    def shuffle(_: LaneFlags, a: Values, by: Values, control: Values, members: Values) -> Values:
        found = result(np.arange(a.shape[-1], dtype=np.uint64), by, control)
        return found if is_flag else np.take_along_axis(a, found.view(np.int64), axis=-1)

    return shuffle


def _mask_of(lanes: LaneFlags) -> Values:
    bits = np.uint64(1) << np.arange(lanes.shape[-1], dtype=np.uint64)
    return np.where(lanes, bits, np.uint64(0)).sum(axis=-1, dtype=np.uint64, keepdims=True)


def _same(there: LaneFlags, a: Values) -> Values:
    same = (a[..., :, None] == a[..., None, :]) & there[..., None, :]
    return _mask_of(same)[..., 0]


def _folded(opcode: Opcode) -> Function:
    combine = vectorised(lanes.folding(opcode), range(2))

    def folded(there: LaneFlags, a: Values) -> Values:
        nothing = np.uint64(0)
        if opcode.update in lanes.REPEATABLE:
            nothing = np.take_along_axis(a, there.argmax(axis=-1, keepdims=True), axis=-1)
        found = np.where(there, a, nothing)
        while (half := found.shape[-1] // 2) > 0:
            found = combine(found[..., :half], found[..., half:])
        return found

    return folded


def _ballot(there: LaneFlags, value: Values) -> Values:
    return _mask_of(there & (value != 0))


_FACTS: Mapping[Fact, Function] = MappingProxyType(
    {Fact.BALLOT: _ballot, Fact.SAME: _same, Fact.MEMBERS: _mask_of}
)


# Atomics


@cache
def update_of(opcode: Opcode) -> Function:
    """The value after an atomic, from old value and operands. Raises ``UnsupportedError``."""
    update = formulas.update_of(opcode)
    if update is None:
        raise UnsupportedError(f"'{opcode.name}'", "it is not executed")
    count = 3 if opcode.update == "cas" else 2
    function = vectorised(update([operand(at, opcode.width) for at in range(count)]), range(count))
    is_fold = opcode.update in formulas.FOLDS and not opcode.is_float
    return Fold(function) if is_fold or opcode.update == "exch" else function
