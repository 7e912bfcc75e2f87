"""An mbarrier as 64 bits of shared memory, and what each instruction makes of them.

Bits 0 to 19: arrivals that the phase still waits for; 20 to 39: of the next phase; 40 to 62:
bytes that asynchronous copies still bring, in two's complement; 63: the parity of the phase.
Which bits hardware uses is not public. Source: PTX ISA, mbarrier.
"""

from collections.abc import Callable

import numpy as np

from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import flags, mask

_COUNT, _NEXT, _BYTES, _PARITY = np.uint64(0), np.uint64(20), np.uint64(40), np.uint64(63)
_COUNTS, _ALL_BYTES, _ONE = mask(20), mask(23), np.uint64(1)


def _made(count: Values, following: Values, bytes_: Values, parity: Values) -> Values:
    """The bits, in the next phase if nothing is left to wait for in this one."""
    complete = (count == 0) & (bytes_ & _ALL_BYTES == 0)
    count = np.where(complete, following, count)
    parity = np.where(complete, parity ^ _ONE, parity)
    return (
        count & _COUNTS
        | (following & _COUNTS) << _NEXT
        | (bytes_ & _ALL_BYTES) << _BYTES
        | parity << _PARITY
    )


def _parts(word: Values) -> tuple[Values, Values, Values, Values]:
    return (
        word & _COUNTS,
        word >> _NEXT & _COUNTS,
        word >> _BYTES & _ALL_BYTES,
        word >> _PARITY,
    )


def initial(count: int) -> int:
    """An mbarrier whose phases wait for ``count`` arrivals."""
    return count | count << int(_NEXT)


def arrive(count: int, expected_bytes: int, drops: bool) -> Callable[[Values], Values]:
    """``count`` arrivals, after ``expected_bytes`` were added; who ``drops`` never comes again."""
    arrivals, added = np.uint64(count), np.uint64(expected_bytes)
    dropped = arrivals if drops else np.uint64(0)

    def update(word: Values) -> Values:
        left, following, bytes_, parity = _parts(word)
        return _made(left - arrivals, following - dropped, bytes_ + added, parity)

    return update


def expect(count: int) -> Callable[[Values], Values]:
    """``count`` more bytes are to come."""
    added = np.uint64(count)

    def update(word: Values) -> Values:
        left, following, bytes_, parity = _parts(word)
        return _made(left, following, bytes_ + added, parity)

    return update


def complete(count: int) -> Callable[[Values], Values]:
    """``count`` bytes have come."""
    return expect(-count & (1 << 64) - 1)


def is_over(word: Values, parity: Values) -> Values:
    """Whether the phase of a parity is complete: of a token the parity is its last bit."""
    return flags(word >> _PARITY != parity & _ONE)


def token(word: Values) -> Values:
    """What an arrival gives: the parity of its phase."""
    return word >> _PARITY
