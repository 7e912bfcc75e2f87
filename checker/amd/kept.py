"""Values with sets of operations, of which a long function has one at each place.

A set is an integer with a bit for each operation, so that whole ones take memory by the square of
the function's length. But the sets of neighbouring places differ in operations that lie close
together: one in hundreds is kept whole, of the others the bits in which they differ from it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from fencewright.lowering.code.records import record

_SHORT = 4_000
"""The operations of a function that is short enough for whole sets."""
_NARROW, _SPAN = 1 << 8, 1 << 10
"""The bits of a set that is kept whole anyway, and those of most differences."""

_RECENT = 32
"""The values that are kept as they are: those put last, which an analysis reads next."""

_Value = TypeVar("_Value")
Parts = Iterator[Any]


@record()
class _Difference:
    """A set by its difference from one that is kept whole; ``bits`` without the ``shift`` zeros
    below them."""

    base: int
    shift: int
    bits: int


class Kept(MutableMapping[int, _Value], Generic[_Value]):
    """A mapping of values that are long; ``held``: their parts, with differences in place of sets,
    but for those that were put last."""

    def __init__(self, parts: Callable[[_Value], Iterable[Any]], whole: Callable[[Parts], _Value]):
        self._parts, self._whole = parts, whole
        self.held: dict[int, tuple[Any, ...]] = {}
        self._bases: dict[int, int] = {}
        self._recent: dict[int, _Value] = {}

    def __setitem__(self, number: int, value: _Value) -> None:
        self.held.setdefault(number, ())
        self._recent[number] = value
        if len(self._recent) > _RECENT:
            number = next(iter(self._recent))
            self.held[number] = self._apart(self._recent.pop(number))

    def _apart(self, value: _Value) -> tuple[Any, ...]:
        parts: list[Any] = []
        last: object = None
        for place, part in enumerate(self._parts(value)):
            if part is last:
                parts.append(parts[-1])
            elif type(part) is int and part.bit_length() > _NARROW:
                parts.append(self._difference(part, place))
            else:
                parts.append(part)
            last = part
        return tuple(parts)

    def __getitem__(self, number: int) -> _Value:
        if number in self._recent:
            return self._recent[number]
        parts: list[Any] = []
        last: object = None
        for part in self.held[number]:
            if part is last and parts:
                parts.append(parts[-1])
            elif type(part) is _Difference:
                parts.append(part.base ^ part.bits << part.shift)
            else:
                parts.append(part)
            last = part
        return self._whole(iter(parts))

    def __delitem__(self, number: int) -> None:
        del self.held[number]
        self._recent.pop(number, None)

    def __contains__(self, number: object) -> bool:
        return number in self.held

    def __iter__(self) -> Iterator[int]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def _difference(self, bits: int, place: int) -> int | _Difference:
        for base in (self._bases.get(place, 0), 0):
            differs = bits ^ base
            shift = (differs & -differs).bit_length() - 1 if differs else 0
            if differs.bit_length() - shift <= _SPAN:
                return _Difference(base, shift, differs >> shift)
        self._bases[place] = bits
        return bits


def is_long(operations: int) -> bool:
    """True of a function with so many operations that whole sets of them are not kept."""
    return operations > _SHORT


def kept(
    operations: int, parts: Callable[[_Value], Iterable[Any]], whole: Callable[[Parts], _Value]
) -> MutableMapping[int, _Value]:
    """An empty mapping for values at places of a function of so many ``operations``.

    Of a long one a value may be made anew when it is got, so that a change has to be put back.
    ``parts``: the sets of a value among its other parts; ``whole``: the value of those.
    """
    return Kept(parts, whole) if is_long(operations) else {}


def kept_sets(operations: int) -> MutableMapping[int, int]:
    """``kept`` of one set at each place."""
    return kept(operations, lambda bits: (bits,), next)


def apart(sets: Sequence[int], place: int) -> Iterator[int]:
    """Sets cut at a bit, all lower parts first: their bits lie together on either side alone."""
    below = (1 << place) - 1
    yield from _changed(sets, lambda each: each & below)
    yield from _changed(sets, lambda each: each >> place)


def together(parts: Parts, count: int, place: int) -> tuple[int, ...]:
    """So many sets that were cut at a bit."""
    low, high = tuple(islice(parts, count)), tuple(islice(parts, count))
    return tuple(a | b << place for a, b in zip(low, high, strict=True))


def _changed(sets: Sequence[int], change: Callable[[int], int]) -> list[int]:
    """Each of ``sets`` changed; neighbours that are one object stay one."""
    made: list[int] = []
    for n, each in enumerate(sets):
        made.append(made[-1] if n and each is sets[n - 1] else change(each))
    return made


def listed(sets: Mapping[int, Sequence[int]]) -> Iterator[int]:
    """The parts of sets by number: how many there are, and each number before its sets."""
    yield len(sets)
    for number, each in sets.items():
        yield number
        yield from each


def by_number(parts: Parts, count: int) -> dict[int, tuple[int, ...]]:
    """The sets that were ``listed``, so many of each number."""
    return {next(parts): tuple(islice(parts, count)) for _ in range(next(parts))}
