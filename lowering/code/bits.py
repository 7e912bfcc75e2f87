"""Sets of numbers as bit masks."""

import sys
from collections.abc import Iterable, Iterator

_WORD = 64


def bits(mask: int) -> Iterator[int]:
    """The numbers of the set bits, lowest first."""
    if mask.bit_length() > _WORD:
        # The last barriers of a long function are far up and few: no word below is looked at.
        lowest = (mask & -mask).bit_length() - 1
        mask >>= lowest
        size = -(-mask.bit_length() // _WORD) * _WORD // 8
        words = memoryview(mask.to_bytes(size, sys.byteorder)).cast("Q")
        places = range(len(words)) if sys.byteorder == "little" else range(-1, -len(words) - 1, -1)
        for first, place in enumerate(places):
            for number in bits(words[place]):
                yield lowest + first * _WORD + number
        return
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(numbers: Iterable[int]) -> int:
    """The set of some numbers, made in the time that its size takes."""
    found = [*numbers]
    octets = bytearray(max(found, default=-1) // 8 + 1)
    for number in found:
        octets[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(octets, "little")
