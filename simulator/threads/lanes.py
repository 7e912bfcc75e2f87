"""Computations of several lanes of a warp, and the requests of threads that wait.

Source: PTX ISA, shfl.sync; vote.sync; match.sync; redux.sync; bar.red; ldmatrix; stmatrix;
movmatrix.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from typing import Any

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.simulator.semantics import python
from fencewright.simulator.semantics.lanes import (
    BARRIER_FOLDS,
    Fact,
    folding,
    row_of,
    terms_of,
)
from fencewright.simulator.semantics.term import operand
from fencewright.simulator.threads.unknown import NotExecuted

_LANES = 32
Values = Mapping[int, Any]
"""The operands of the lanes that meet, by lane."""


@dataclass(slots=True)
class Meeting:
    """A wait for lanes of the warp: those of ``mask``, or with ``present`` those that are there."""

    kind: str
    mask: int
    value: Any
    site: int
    present: bool = False


@dataclass(slots=True)
class BarrierWait:
    """An arrival at a barrier of the block; ``waits`` is False of bar.arrive."""

    number: int
    count: int | None
    site: int
    waits: bool = True
    fold: str = ""
    value: Any = None


@dataclass(slots=True)
class ClusterWait:
    """A wait at the barrier of the cluster."""

    site: int


@cache
def together(name: str) -> Callable[[Values], Mapping[int, Any]]:
    """The results of a kind of meeting by lane: of an instruction of lanes, or of ``_MATRICES``."""
    if (found := _MATRICES.get(name)) is not None:
        return found
    opcode = read_opcode(name)
    row = row_of(opcode)
    assert row is not None, name
    compute = python.function_of_all(terms_of(row), 3)
    if row.fact is Fact.SOURCE:
        # Most lanes of most launches read by the same distances.
        return partial(_shuffled, lru_cache(1 << 12)(compute))
    combine = python.function(folding(opcode), 2) if row.fact is Fact.FOLD else None

    def found_of(values: Values) -> Mapping[int, Any]:
        members = sum(1 << lane for lane in values)
        if row.fact is not Fact.SAME:
            word = members
            if combine is not None:
                word = reduce(combine, values.values())
            elif row.fact is Fact.BALLOT:
                word = sum(1 << lane for lane, value in values.items() if value)
            if row.fact is Fact.MEMBERS:
                return {lane: compute(word, members, lane) for lane in values}
            return dict.fromkeys(values, compute(word, members, 0))
        by_value: dict[Any, int] = {}
        for lane, value in values.items():
            by_value[value] = by_value.get(value, 0) | 1 << lane
        return {lane: compute(by_value[value], members, lane) for lane, value in values.items()}

    return found_of


def _shuffled(compute: Callable[..., tuple[int, int]], values: Values) -> Mapping[int, Any]:
    found: dict[int, Any] = {}
    for lane, (value, by, control) in values.items():
        source, inside = compute(lane, by, control)
        # A lane that does not take part gives what nobody knows: here its own value.
        found[lane] = (values[source][0] if source in values else value, inside)
    return found


def _half(word: Any, upper: int) -> Any:
    return word >> 16 if upper else word & 0xFFFF


def _matrices(values: Values) -> Mapping[int, Any]:
    """Of each 8x8 matrix a lane has two neighbours of row lane / 4."""
    rows = [values[lane] for lane in range(32) if values.get(lane) is not None]
    return {
        lane: [rows[8 * matrix + lane // 4][lane % 4] for matrix in range(len(rows) // 8)]
        for lane in values
    }


def _transposed(values: Values) -> Mapping[int, Any]:
    """The same of the transposed matrix: two elements of column lane / 4."""
    rows = [values[lane] for lane in range(32) if values.get(lane) is not None]

    def part(matrix: int, lane: int) -> Any:
        column, first = lane // 4, 8 * matrix + 2 * (lane % 4)
        low, high = (_half(rows[first + n][column // 2], column % 2) for n in range(2))
        return high << 16 | low

    return {lane: [part(matrix, lane) for matrix in range(len(rows) // 8)] for lane in values}


def _exchanged(values: Values) -> Mapping[int, Any]:
    """movmatrix: the transposed matrix of which four lanes have a row."""
    rows = {
        lane: [values[4 * lane + word] for word in range(4)] if lane < 8 else None
        for lane in values
    }
    return {lane: found for lane, (found,) in _transposed(rows).items()}


def _rows(values: Values) -> Mapping[int, Any]:
    """The row whose address a lane has, of the parts of its eight lanes."""
    return {
        lane: [values[4 * (lane % 8) + word][lane // 8] for word in range(4)]
        if lane // 8 < len(values[lane])
        else None
        for lane in values
    }


def _columns(values: Values) -> Mapping[int, Any]:
    """The same of the transposed matrix."""

    def element(matrix: int, row: int, column: int) -> Any:
        return _half(values[4 * column + row // 2][matrix], row % 2)

    return {
        lane: [
            element(lane // 8, lane % 8, 2 * word + 1) << 16
            | element(lane // 8, lane % 8, 2 * word)
            for word in range(4)
        ]
        if lane // 8 < len(values[lane])
        else None
        for lane in values
    }


def _of_whole_warps(
    name: str, compute: Callable[[Values], Mapping[int, Any]]
) -> Callable[[Values], Mapping[int, Any]]:
    def found_of(values: Values) -> Mapping[int, Any]:
        if len(values) < _LANES:
            raise NotExecuted(f"{name} by {len(values)} lanes of a warp: it needs all {_LANES}")
        return compute(values)

    return found_of


_MATRICES: Mapping[str, Callable[[Values], Mapping[int, Any]]] = {
    "bar.warp.sync": lambda values: dict.fromkeys(values),
    **{
        name: _of_whole_warps(name.partition(" ")[0], compute)
        for name, compute in (
            ("ldmatrix", _matrices),
            ("ldmatrix trans", _transposed),
            ("movmatrix", _exchanged),
            ("stmatrix", _rows),
            ("stmatrix trans", _columns),
        )
    },
}

FOLDS: Mapping[str, Callable[[int, int], int]] = {
    name: python.function(fold(operand(0, 32), operand(1, 32)), 2)
    for name, fold in BARRIER_FOLDS.items()
}
"""Reductions of bar.red."""
