"""Campaigns: tests of which ``make test`` does a share, and ``make campaigns`` all the others.

For what draws many programs at random, or goes through a matrix of which a share is a sample.
Of random programs ``make campaigns`` has some and ``make random-campaigns`` the others.
What breaks a guarantee on purpose is no campaign.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Share:
    """``length`` of ``count`` equal shares of a campaign, from ``number`` on; the first is 0."""

    number: int
    count: int
    length: int = 1

    def _has(self, place: int) -> bool:
        return (place - self.number) % self.count < self.length

    def of(self, items: Sequence[ItemT], skipped: int = 0) -> Sequence[ItemT]:
        """Every ``count``-th of the items, and as many after each as ``length`` says.

        ``skipped`` turns the shares, so that the first ones of many rows do not all have the same
        columns.
        """
        return [each for place, each in enumerate(items) if self._has(place - skipped)]

    def of_product(self, *columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Every ``count``-th point of a matrix, and each pair of values of any two columns.

        That pair is there if another column has ``count`` values or more.
        """
        numbered = (range(len(each)) for each in columns)
        for numbers in product(*numbered):
            if self._has(sum(numbers)):
                yield tuple(each[n] for each, n in zip(columns, numbers, strict=True))

    def __str__(self) -> str:
        last = f" to {self.number + self.length}" if self.length > 1 else ""
        return f"{self.number + 1}{last} of {self.count}"


def _parameters(every: Iterable[Share]) -> "list[ParameterSet]":
    return [
        pytest.param(each, id=str(each), marks=(pytest.mark.campaign,) if each.number else ())
        for each in every
    ]


def shares(count: int) -> "list[ParameterSet]":
    """The shares of a campaign, as parameters of a test; all but the first are left to it."""
    return _parameters(Share(number, count) for number in range(count))


def first_share(count: int) -> "list[ParameterSet]":
    """The first share, and all others together: for tests with many parameters beside them."""
    return _parameters((Share(0, count), Share(1, count, count - 1)))


DRAWN = 5
"""One of so many shares of random programs is for ``make test`` and ``make campaigns``."""


def draws(count: int) -> "list[ParameterSet]":
    """The shares of random programs: the first for every time, a fifth for campaigns with it."""
    every = shares(count)
    soon = -(-count // DRAWN)
    later = [
        pytest.param(*each.values, id=each.id, marks=pytest.mark.random) for each in every[soon:]
    ]
    return [*every[:soon], *later]


def some_of(values: Sequence[ItemT], step: int) -> "list[ParameterSet]":
    """Values of a parameter, every ``step``-th of which is for every time, the others a campaign."""
    kept = values[::step]
    others = [value for number, value in enumerate(values) if number % step]
    return first_of([*kept, *others], len(kept))


def first_of(values: Iterable[object], count: int = 1) -> "list[ParameterSet]":
    """Values of a parameter, of which ``count`` are for every time and the others a campaign."""
    return [
        pytest.param(value, marks=(pytest.mark.campaign,) if number >= count else ())
        for number, value in enumerate(values)
    ]
