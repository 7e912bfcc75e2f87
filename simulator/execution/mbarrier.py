"""An mbarrier as 64 bits of shared memory, and the result of each instruction on them.

Bits 0 to 19: arrivals that the phase still waits for; 20 to 39: of the next phase; 40 to 62:
bytes that asynchronous copies still bring, in two's complement; 63: the parity of the phase.
Which bits hardware uses is not public. Source: PTX ISA, mbarrier.
"""

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


def initial(count: Values) -> Values:
    """An mbarrier whose phases wait for ``count`` arrivals."""
    return count | count << _NEXT


def arrive(word: Values, count: Values, expected: Values) -> Values:
    """``count`` arrivals, after ``expected`` bytes were added."""
    left, following, bytes_, parity = _parts(word)
    return _made(left - count, following, bytes_ + expected, parity)


def arrive_drop(word: Values, count: Values, expected: Values) -> Values:
    """As ``arrive``, of those that never come again."""
    left, following, bytes_, parity = _parts(word)
    return _made(left - count, following - count, bytes_ + expected, parity)


def expect(word: Values, bytes_: Values) -> Values:
    """So many more bytes are to come."""
    left, following, expected, parity = _parts(word)
    return _made(left, following, expected + bytes_, parity)


def complete(word: Values, bytes_: Values) -> Values:
    """So many bytes have come."""
    return expect(word, np.uint64(0) - bytes_)


def is_over(word: Values, parity: Values) -> Values:
    """True if the phase of a parity is complete: of a token the parity is its last bit."""
    return flags(word >> _PARITY != parity & _ONE)


def token(word: Values) -> Values:
    """The result of an arrival: the parity of its phase."""
    return word >> _PARITY
