"""Copies that happen at once, as copies one after another."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_order(
    pairs: Iterable[tuple[str, T]], temporary: Callable[[str], str]
) -> Iterator[tuple[str, T | str]]:
    """Copies from the second to the first of each pair, such that nothing is overwritten that is
    still to be read.

    Where only cycles are left, the value of one register is put aside in a ``temporary`` for it.
    """
    waiting: list[tuple[str, T | str]] = [pair for pair in pairs if pair[0] != pair[1]]
    while waiting:
        read = [value for _, value in waiting]
        ready = next((pair for pair in waiting if pair[0] not in read), None)
        if ready is None:
            dst = waiting[0][0]
            saved = temporary(dst)
            yield saved, dst
            waiting = [(to, saved if value == dst else value) for to, value in waiting]
            continue
        yield ready
        waiting.remove(ready)
