"""The addresses of one instruction: of every lane one, in bytes, or None where it is inactive."""

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags, Numbers

Addresses: TypeAlias = tuple[int | None, ...]

SPACE = 1 << 48
"""Bytes of an address space: no offset is larger."""

SHARED_WINDOW = 1 << 47
"""The place of shared memory among generic addresses: one of ours, hardware chooses another."""


class AddressError(ValueError):
    """The fault of addresses; ``column`` is its place, from 1, if they were an expression."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


def check(
    addresses: Sequence[int | None],
    lanes: int,
    width: int,
    alignment: int,
    size: int | None,
    window: int | None = None,
) -> None:
    """Raise :class:`AddressError` for addresses that no chip would take.

    As many as ``lanes``, aligned to ``alignment`` bytes, and in ``size`` bytes if that is known.
    ``window``: bytes of shared memory that generic addresses may be in; None: they are not generic.
    """
    if len(addresses) != lanes:
        raise AddressError(
            f"{len(addresses)} addresses for {lanes} lanes: give one for each, - if inactive"
        )
    for lane, address in enumerate(addresses):
        if address is None:
            continue
        limit = SPACE if size is None else size
        if address >= SHARED_WINDOW:
            address, limit = _in_window(lane, address, window)
        if address < 0 or address + width > limit:
            there = "the address space" if limit == SPACE else f"the {limit} bytes that there are"
            raise AddressError(
                f"lane {lane}: bytes {address} to {address + width - 1} are beyond {there}; "
                f"give addresses from 0 to {limit - width}, or - for an inactive lane"
            )
        if address % alignment:
            raise AddressError(f"lane {lane}: {_not_aligned(address, alignment)}")


def _not_aligned(address: int, alignment: int) -> str:
    least = address & -address
    size = "a byte" if least == 1 else f"{least} bytes"
    return (
        f"address {address} is not aligned to {alignment} bytes, as this access has to be; "
        f"give a multiple of {alignment}, or accesses of {size}"
    )


def _in_window(lane: int, address: int, window: int | None) -> tuple[int, int]:
    if window is None:
        raise AddressError(f"lane {lane}: only a generic access takes an address of shared memory")
    return address - SHARED_WINDOW, window


def read(words: Sequence[str]) -> Addresses:
    """Addresses as words: whole numbers, also 0x…, and ``-`` for an inactive lane.

    With an ``s`` before it a generic address is one of shared memory.
    """
    return tuple(None if each == "-" else _read_lane(each) for each in words)


def _read_lane(word: str) -> int:
    return SHARED_WINDOW + _read_one(word[1:]) if word.startswith("s") else _read_one(word)


def _read_one(word: str) -> int:
    # More digits than any address has take long to read.
    if len(word) > len(hex(SPACE)) + len(str(SPACE)):
        raise AddressError(f"no address: '{word[:20]}…'")
    try:
        return int(word, 0)
    except ValueError:
        raise AddressError(
            f"no address: '{word}'; give whole numbers, or - for an inactive lane"
        ) from None


_UNUSUAL = re.compile(r"-[-0-9]|[0-9]-|[^-0-9 ]")
"""Text that is no decimal number, no ``-`` by itself and no space."""


def read_many(lines: Sequence[str], lanes: int) -> tuple[Numbers, LaneFlags] | None:
    """The addresses of many accesses, a row each, and which lanes are active; as ``read`` one by
    one.

    None where a line has other than ``lanes`` words, or a word that is neither ``-`` nor decimal.
    """
    text = " ".join(lines)
    if _UNUSUAL.search(text) or any(len(each.split()) != lanes for each in lines):
        return None
    # More digits than an address has would not fit a number of 64 bits.
    words = text.replace("-", "-1").split(" ")
    if max(map(len, words), default=0) > _MOST_DIGITS:
        return None
    found = np.fromstring(" ".join(words), dtype=np.int64, sep=" ").reshape(len(lines), lanes)
    active = found >= 0
    return np.where(active, found, 0), active


_MOST_DIGITS = len(str(SPACE)) + 1
