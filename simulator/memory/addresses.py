"""The addresses of one instruction: of every lane one, in bytes, or None where it is inactive."""

from collections.abc import Sequence
from typing import TypeAlias

Addresses: TypeAlias = tuple[int | None, ...]

SPACE = 1 << 48
"""Bytes of an address space: no offset is larger."""


class AddressError(ValueError):
    """What is wrong with addresses; ``column`` is where, from 1, if they were an expression."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


def check(
    addresses: Sequence[int | None], lanes: int, width: int, alignment: int, size: int | None
) -> None:
    """Raise :class:`AddressError` for addresses that no chip would take.

    As many as ``lanes``, aligned to ``alignment`` bytes, and in ``size`` bytes if that is known.
    """
    if len(addresses) != lanes:
        raise AddressError(
            f"{len(addresses)} addresses for {lanes} lanes: give one for each, - if inactive"
        )
    limit = SPACE if size is None else size
    for lane, address in enumerate(addresses):
        if address is None:
            continue
        if address < 0 or address + width > limit:
            there = "the address space" if size is None else f"the {limit} bytes that there are"
            raise AddressError(
                f"lane {lane}: bytes {address} to {address + width - 1} are beyond {there}"
            )
        if address % alignment:
            raise AddressError(
                f"lane {lane}: address {address} is not aligned to {alignment} bytes, as this access has to be"
            )


def read(words: Sequence[str]) -> Addresses:
    """Addresses as words: whole numbers, also 0x…, and ``-`` for an inactive lane."""
    return tuple(None if each == "-" else _read_one(each) for each in words)


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
