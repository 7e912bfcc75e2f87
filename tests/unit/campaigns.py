"""Campaigns: tests of which ``make test`` does a share, and ``make campaigns`` all the others.

For what draws many programs at random, or goes through a matrix of which a share is a sample.
Of random programs ``make campaigns`` has some, by turns, and ``make random-campaigns`` the others.
What breaks a guarantee on purpose is no campaign.
"""

import os
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


TURNS = 20
"""A run of CI draws one of so many random programs; twice as many runs draw all."""

TURN = int(os.environ.get("FENCEWRIGHT_TURN", "0"))
"""The number of a run of CI."""


def drawn(values: Iterable[object], count: int = 1) -> "list[ParameterSet]":
    """Random programs: ``count`` for every time; for campaigns some of the others, by turns."""
    every = list(values)
    others = len(every) - count
    length = max(1, others // TURNS)
    soon = {count + (TURN * length + number) % others for number in range(length)} if others else ()

    def marks(number: int) -> "tuple[pytest.MarkDecorator, ...]":
        if number < count:
            return ()
        return (pytest.mark.campaign if number in soon else pytest.mark.random,)

    return [
        pytest.param(each, id=str(each) if isinstance(each, Share) else None, marks=marks(number))
        for number, each in enumerate(every)
    ]


def draws(count: int) -> "list[ParameterSet]":
    """The shares of random programs, drawn."""
    return drawn(Share(number, count) for number in range(count))


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
