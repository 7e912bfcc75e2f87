"""An mbarrier as 64 bits of shared memory, and the result of each instruction on them.

Bits 0 to 19: arrivals that the phase still waits for; 20 to 39: of the next phase; 40 to 62:
bytes that asynchronous copies still bring, in two's complement; 63: the parity of the phase.
Which bits hardware uses is not public. Source: PTX ISA, mbarrier.
"""

from fencewright.lowering.ptx.code.statements import Opcode
from fencewright.simulator.semantics.term import Term, choose, low

_COUNT, _BYTES = 20, 23
PENDING = (1 << _COUNT) - 1
"""The bits of the arrivals that the phase still waits for."""
PARITY = 63
"""The bit of the parity."""


def _after(word: Term, left: Term, following: Term, bytes_: Term) -> Term:
    """The bits, in the next phase if nothing is left to wait for in this one."""
    left, following, bytes_ = low(left, _COUNT), low(following, _COUNT), low(bytes_, _BYTES)
    is_over, parity = left.equals(0) & bytes_.equals(0), word >> PARITY
    left = choose(is_over, following, left)
    parity = choose(is_over, parity ^ 1, parity)
    return left | following << _COUNT | bytes_ << 2 * _COUNT | parity << PARITY


def initial(count: Term) -> Term:
    """An mbarrier whose phases wait for ``count`` arrivals."""
    return low(count, _COUNT) | low(count, _COUNT) << _COUNT


def arrival(opcode: Opcode, operand: str | None) -> tuple[str, str]:
    """The arrivals, and the bytes that are to come, of an arrival as it is written."""
    given = operand or "1"
    return ("1", given) if "expect_tx" in (*opcode.words, *opcode.modifiers) else (given, "0")


def arrivals_added(opcode: Opcode) -> int:
    """The arrivals that cp.async.mbarrier.arrive adds before its own one."""
    return int("noinc" not in (*opcode.words, *opcode.modifiers))


def arrive(word: Term, count: Term, expected: Term) -> Term:
    """``count`` arrivals, after ``expected`` bytes were added."""
    return _after(word, word - count, word >> _COUNT, (word >> 2 * _COUNT) + expected)


def arrive_drop(word: Term, count: Term, expected: Term) -> Term:
    """As ``arrive``, of those that never come again."""
    return _after(word, word - count, (word >> _COUNT) - count, (word >> 2 * _COUNT) + expected)


def expect(word: Term, bytes_: Term) -> Term:
    """So many more bytes are to come."""
    return _after(word, word, word >> _COUNT, (word >> 2 * _COUNT) + bytes_)


def complete(word: Term, bytes_: Term) -> Term:
    """So many bytes have come."""
    return expect(word, 0 - bytes_)


def is_over(word: Term, parity: Term) -> Term:
    """True if the phase of a parity is complete: of a token the parity is its last bit."""
    return (word >> PARITY).differs(parity & 1)


def token(word: Term) -> Term:
    """The result of an arrival: the parity of its phase."""
    return word >> PARITY
