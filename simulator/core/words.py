"""The values of litmus tests: words of 32 bits."""

WORD_BITS = 32
WORD_MASK = (1 << WORD_BITS) - 1
"""Values are unsigned words of this many bits."""

TOO_WIDE = f"does not fit in {WORD_BITS} bits"
"""The fault of a number for which ``parse_word`` returns None."""

_LONGEST = len(str(-WORD_MASK))


def parse_word(digits: str) -> int | None:
    """The number that decimal or hexadecimal ``digits`` write; None if it does not fit in a word.

    A negative number fits as a signed word and keeps its sign.
    """
    sign = "-" if digits.startswith("-") else ""
    base, written = (16, digits[len(sign) + 2 :]) if "x" in digits.lower() else (10, digits)
    significant = sign + (written.lstrip("-0") or "0")
    if len(significant) > _LONGEST:
        return None
    number = int(significant, base)
    return number if fits_word(number) else None


def fits_word(number: int) -> bool:
    """True if a number is a word, signed or unsigned."""
    return -(1 << WORD_BITS - 1) <= number <= WORD_MASK
