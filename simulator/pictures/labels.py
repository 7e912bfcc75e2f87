"""The placement of the labels of arrows such that no other arrow passes through one.

Lengths are those of the picture, y grows downwards.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import dist

Point = tuple[float, float]

_SPACING = 1.5
"""The largest distance between the points of a path."""
_CLEAR = 2.0
"""The smallest distance of a path from the label of another."""
_HEAD = 13.0
"""The space that stays free for the head of an arrow."""


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """True if the two have a point in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def is_in(self, other: "Box") -> bool:
        """True if it lies within ``other``."""
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom

    def is_crossed(self, path: Iterable[Point]) -> bool:
        """True if a path with narrowly spaced points passes through it."""
        left, top, right, bottom = self.left, self.top, self.right, self.bottom
        return any(left < x < right and top < y < bottom for x, y in path)


def flattened(corners: Sequence[Point]) -> tuple[Point, ...]:
    """Points along cubic Bezier curves, of which ``corners`` has the ends and control points."""
    points = [corners[0]]
    for at in range(0, len(corners) - 3, 3):
        a, b, c, d = corners[at : at + 4]
        count = max(1, round((dist(a, b) + dist(b, c) + dist(c, d)) / _SPACING))
        for step in range(1, count + 1):
            t = step / count
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x, y = (
                sum(w * corner[axis] for w, corner in zip(weights, (a, b, c, d), strict=True))
                for axis in (0, 1)
            )
            points.append((x, y))
    return tuple(points)


def place_labels(
    paths: Sequence[Sequence[Point]],
    sizes: Sequence[tuple[float, float]],
    taken: Sequence[Box],
    bounds: Box,
) -> tuple[Box, ...]:
    """A box for each label, ``sizes`` wide and high, with its middle on its path or beside it.

    Inside ``bounds``, apart from what is ``taken`` and from each other, where no other path passes
    and near the middle of its own, in so far as that is possible. Who has the least choice chooses
    first.
    """
    choices = [_choices(n, paths, sizes[n], taken, bounds) for n in range(len(paths))]
    placed: dict[int, Box] = {}
    for number in sorted(range(len(paths)), key=lambda n: (_free(choices[n]), n)):
        ranked = (
            (sum(box.meets(other) for other in placed.values()), cost, order, box)
            for order, (cost, box) in enumerate(choices[number])
        )
        placed[number] = min(ranked)[-1]
    return tuple(placed[number] for number in range(len(paths)))


_Choice = tuple[tuple[int, float], Box]
"""The number of things that a box overlaps, its distance from the middle, and the box."""


def _choices(
    number: int,
    paths: Sequence[Sequence[Point]],
    size: tuple[float, float],
    taken: Sequence[Box],
    bounds: Box,
) -> list[_Choice]:
    path, (width, height) = paths[number], size
    found: list[_Choice] = []
    beside = width / 2 + 2 * _CLEAR
    places = [
        (at, place, (x + aside, y))
        for aside, place in ((0.0, 0.0), (-beside, 1.0), (beside, 1.0))
        for at, (x, y) in enumerate(path)
        if not at % 2
    ]
    others = [
        (Box(min(xs), min(ys), max(xs), max(ys)), other)
        for each, other in enumerate(paths)
        if each != number
        for xs, ys in (zip(*other, strict=True),)
    ]
    for at, place, (x, y) in places:
        box = Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        in_the_way = 2 * sum(box.meets(each) for each in taken) + (not box.is_in(bounds))
        in_the_way += not place and dist((x, y), path[-1]) < _HEAD
        wide = Box(box.left - _CLEAR, box.top - _CLEAR, box.right + _CLEAR, box.bottom + _CLEAR)
        in_the_way += sum(area.meets(wide) and wide.is_crossed(other) for area, other in others)
        found.append(((in_the_way, place + abs(at / max(1, len(path) - 1) - 0.5)), box))
    return found


def _free(choices: Sequence[_Choice]) -> int:
    return sum(not in_the_way for (in_the_way, _), _ in choices)
