"""Computations of several lanes of a warp, and the requests of threads that wait.

Source: PTX ISA, shfl.sync; vote.sync; match.sync; redux.sync; bar.red; ldmatrix; stmatrix.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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


def _shuffle(mode: str) -> Callable[[Values], Mapping[int, Any]]:
    def exchanged(values: Values) -> Mapping[int, Any]:
        found: dict[int, Any] = {}
        for lane, (value, by, control) in values.items():
            by, control = by & 31, control.__index__()
            segment, clamp = control >> 8 & 31, control & 31
            most = (lane & segment) | (clamp & ~segment)
            if mode == "up":
                source = lane - by
                inside = source >= most
            elif mode == "down":
                source = lane + by
                inside = source <= most
            elif mode == "bfly":
                source = lane ^ by
                inside = source <= most
            else:
                source = (lane & segment) | (by & ~segment)
                inside = source <= most
            source = source if inside else lane
            # A lane that does not take part gives what nobody knows: here its own value.
            found[lane] = (values[source][0] if source in values else value, inside)
        return found

    return exchanged


def _mask_where(values: Values, accept: Callable[[Any], bool]) -> int:
    return sum(1 << lane for lane, value in values.items() if accept(value))


def _for_all(fold: Callable[[Values], Any]) -> Callable[[Values], Mapping[int, Any]]:
    def found(values: Values) -> Mapping[int, Any]:
        result = fold(values)
        return dict.fromkeys(values, result)

    return found


def _match_any(values: Values) -> Mapping[int, Any]:
    by_value: dict[Any, int] = {}
    for lane, value in values.items():
        by_value[value] = by_value.get(value, 0) | 1 << lane
    return {lane: by_value[value] for lane, value in values.items()}


def _match_all(values: Values) -> Mapping[int, Any]:
    same = len({*values.values()}) == 1
    mask = sum(1 << lane for lane in values)
    return dict.fromkeys(values, (mask if same else 0, same))


def _uniform(values: Values) -> bool:
    return len({bool(each) for each in values.values()}) == 1


def _reduce(function: Callable[[int, int], int]) -> Callable[[Values], Any]:
    def folded(values: Values) -> Any:
        first, *others = values.values()
        for each in others:
            first = function(first, each)
        return first & 0xFFFFFFFF

    return folded


def _ordered(word: int) -> int:
    """A word that is as much less or greater as the signed number is."""
    return word ^ 1 << 31


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


TOGETHER: Mapping[str, Callable[[Values], Mapping[int, Any]]] = {
    **{f"shfl {mode}": _shuffle(mode) for mode in ("up", "down", "bfly", "idx")},
    "vote all": _for_all(lambda values: all(values.values())),
    "vote any": _for_all(lambda values: any(values.values())),
    "vote uni": _for_all(_uniform),
    "vote ballot": _for_all(lambda values: _mask_where(values, bool)),
    "match any": _match_any,
    "match all": _match_all,
    "elect": _for_all(min),
    "activemask": _for_all(lambda values: sum(1 << lane for lane in values)),
    "bar.warp.sync": _for_all(lambda values: None),
    "ldmatrix": _matrices,
    "ldmatrix trans": _transposed,
    "stmatrix": _rows,
    "stmatrix trans": _columns,
    "redux add": _for_all(_reduce(lambda a, b: a + b)),
    "redux and": _for_all(_reduce(lambda a, b: a & b)),
    "redux or": _for_all(_reduce(lambda a, b: a | b)),
    "redux xor": _for_all(_reduce(lambda a, b: a ^ b)),
    "redux min u": _for_all(_reduce(min)),
    "redux max u": _for_all(_reduce(max)),
    "redux min s": _for_all(_reduce(lambda a, b: min(a, b, key=_ordered))),
    "redux max s": _for_all(_reduce(lambda a, b: max(a, b, key=_ordered))),
}
"""The results of each kind of meeting, by lane."""

FOLDS: Mapping[str, Callable[[list[Any]], Any]] = {
    "popc": lambda values: sum(map(bool, values)),
    "and": all,
    "or": any,
}
"""Reductions of bar.red."""
