"""Constants and names as LLVM 23 and later print them, in the words that LLVM 22 reads.

Only what has one meaning is rewritten, with the same bits: infinities, NaNs, bit patterns and
decimals that LLVM 22 does not round. Lines stay lines. Everything else stays as it is, so that
LLVM says what it does not know. Source: LLVM LangRef, Simple Constants, floating-point constants;
llvm/llvm-project#190641 and #190649, which read and print the new forms.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TYPES = "half|bfloat|float|double|x86_fp80|fp128|ppc_fp128"
_TOKEN = re.compile(
    r'(?P<other>"[^"]*"|;[^\n]*|[%@!#$][-\w$.]+|[-\w$.]+:(?!\S))'
    r"|(?P<line>\n)"
    rf"|(?P<type>(?<![\w.])(?:{_TYPES})(?![\w.]))"
    r"|(?<![\w.])(?P<pattern>f0x[0-9A-Fa-f]+)(?![\w.])"
    r"|(?P<sign>[+-])(?P<special>inf|qnan|(?P<nan>s?nan)\((?P<payload>0x[0-9A-Fa-f]+)\))(?![\w.])"
    r"|(?<![\w.])(?P<decimal>[+-]?[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]{1,4})?)(?![\w.])"
)

_SUSPECT = re.compile(r"[ \t](?:[+-](?:inf|qnan|s?nan\()|f0x|[+-]?[0-9]+\.)")
"""The beginning of a constant that may be rewritten, after its type; most lines have none."""

_PRODUCER = re.compile(r'!"[^"\n]*\b(?:clang|LLVM) version ([0-9]{1,4})\b')
_NEWER_TRIPLE = re.compile(r'^target triple = "amdgpu[0-9]', re.MULTILINE)
"""An AMD chip in the name of the machine. Source: llvm/llvm-project#206480."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A binary floating-point type: its bits of exponent and of significand, and LLVM 22's
    prefix."""

    exponent: int
    significand: int
    prefix: str

    @property
    def width(self) -> int:
        """The bits of a value."""
        return 1 + self.exponent + self.significand

    @property
    def infinity(self) -> int:
        """The bits of infinity, without the sign."""
        return ((1 << self.exponent) - 1) << self.significand

    def signed(self, sign: str, bits: int) -> int:
        """``bits`` with the sign ``+`` or ``-``."""
        return bits | (1 << (self.width - 1) if sign == "-" else 0)


_FORMATS = {
    "half": _Format(5, 10, "0xH"),
    "bfloat": _Format(8, 7, "0xR"),
    "float": _Format(8, 23, "0x"),
    "double": _Format(11, 52, "0x"),
}
_DOUBLE = _FORMATS["double"]


_MISTAKEN = {".buffer.load.async.lds(": ".buffer.async.load.lds("}
"""Names of newer intrinsics that LLVM 22 takes for its own ``.buffer.load`` of some type, as they
are while it reads: unused names of the same length. Source: LLVM 22 Intrinsics.cpp,
lookupIntrinsicID.
"""


def with_names_apart(text: str) -> str:
    """``text`` with no intrinsic that LLVM 22 takes for another; see ``with_own_names``."""
    for name, apart in _MISTAKEN.items():
        text = text.replace(name, apart)
    return text


def with_own_names(printed: str) -> str:
    """LLVM 22's print of ``with_names_apart``, with the intrinsics' own names."""
    for name, apart in _MISTAKEN.items():
        printed = printed.replace(apart, name)
    return printed


def in_older_words(text: str) -> str:
    """``text`` with every constant that only a newer LLVM reads as LLVM 22 writes it.

    A constant's type is the nearest floating-point type before it on its line.
    """
    pieces: list[str] = []
    end = 0
    for start, stop, constant in _rewritten(text):
        pieces += (text[end:start], constant)
        end = stop
    return "".join((*pieces, text[end:]))


def column_as_given(line: str, column: int) -> int:
    """The column in ``line`` of ``column`` of ``in_older_words(line)``; both count from 1."""
    shift = 0
    for start, stop, constant in _rewritten(line):
        if column <= start + shift + len(constant):
            return min(column - shift, start + 1)
        shift += len(constant) - (stop - start)
    return column - shift


def is_newer(text: str, version: int) -> bool:
    """True if ``text`` is of an LLVM after ``version``: by its constants, producer or triple."""
    producers = [int(each) for each in _PRODUCER.findall(text)]
    return (
        any(each > version for each in producers)
        or _NEWER_TRIPLE.search(text) is not None
        or next(_rewritten(text), None) is not None
    )


def _rewritten(text: str) -> Iterator[tuple[int, int, str]]:
    """The constants that only a newer LLVM reads: start, end, and LLVM 22's text."""
    for start, stop in _suspect_lines(text):
        type: _Format | None = None
        for match in _TOKEN.finditer(text, start, stop):
            kind = match.lastgroup
            if kind == "type":
                type = _FORMATS.get(match[0])
            elif kind == "line":
                type = None
            elif kind != "other" and type is not None and (bits := _bits(match, type)) is not None:
                yield match.start(), match.end(), _as_llvm_22_writes(bits, type)


def _suspect_lines(text: str) -> Iterator[tuple[int, int]]:
    """The lines that may have such a constant; all of the text where a string may go over lines."""
    if any(line.count('"') % 2 for line in text.splitlines()):
        yield 0, len(text)
        return
    stop = 0
    while (found := _SUSPECT.search(text, stop)) is not None:
        start = text.rfind("\n", 0, found.start()) + 1
        stop = text.find("\n", found.end())
        stop = len(text) if stop < 0 else stop
        yield start, stop


def _bits(match: re.Match[str], type: _Format) -> int | None:
    """The bits of a constant; None if LLVM 22 reads it as it is, or no LLVM could."""
    if match["pattern"]:
        digits = match["pattern"].removeprefix("f0x")
        return int(digits, 16) if 4 * len(digits) == type.width else None
    if match["decimal"]:
        return _rounded(match["decimal"], type)
    quiet = 1 << (type.significand - 1)
    if match["special"] == "inf":
        return type.signed(match["sign"], type.infinity)
    if match["special"] == "qnan":
        return type.signed(match["sign"], type.infinity | quiet)
    payload = int(match["payload"], 16)
    signals = match["nan"] == "snan"
    if payload >= quiet or (signals and not payload):
        return None
    return type.signed(match["sign"], type.infinity | payload | (0 if signals else quiet))


def _rounded(decimal: str, type: _Format) -> int | None:
    """The bits of the nearest value, ties to even; None if ``decimal`` is exact or out of range.

    What would round to zero is out of range for newer LLVMs too.
    """
    # Few texts have any, and it is a hundredth of a short run.
    from fractions import Fraction

    number = abs(Fraction(decimal))
    if type is _DOUBLE or not number:
        return None
    bias = (1 << (type.exponent - 1)) - 1
    power = number.numerator.bit_length() - number.denominator.bit_length()
    power -= number < Fraction(2) ** power
    # Below the least normal value, denormal ones lie as close as those just above it.
    power = max(power, 1 - bias)
    units = number / Fraction(2) ** (power - type.significand)
    if units.denominator == 1:
        return None
    # Of a normal value the leading bit is the exponent's, and so is the carry of rounding.
    if not round(units):
        return None
    bits = round(units) + ((power + bias - 1) << type.significand)
    sign = "-" if decimal.startswith("-") else "+"
    return None if bits >= type.infinity else type.signed(sign, bits)


def _as_llvm_22_writes(bits: int, type: _Format) -> str:
    """A constant by its bits: in hexadecimal, that of a ``float`` as the same ``double``."""
    if type.prefix == _DOUBLE.prefix and type is not _DOUBLE:
        bits, type = _widened(bits, type), _DOUBLE
    return f"{type.prefix}{bits:0{type.width // 4}X}"


def _widened(bits: int, type: _Format) -> int:
    """The bits of the ``double`` with the value of ``bits``, or the NaN with the same payload."""
    sign = bits >> (type.width - 1)
    exponent = (bits & type.infinity) >> type.significand
    significand = bits & ((1 << type.significand) - 1)
    shift = _DOUBLE.significand - type.significand
    offset = (1 << (_DOUBLE.exponent - 1)) - (1 << (type.exponent - 1))
    if exponent == type.infinity >> type.significand:
        exponent, offset = _DOUBLE.infinity >> _DOUBLE.significand, 0
    elif not exponent and not significand:
        offset = 0
    elif not exponent:
        lead = type.significand + 1 - significand.bit_length()
        significand = (significand << lead) & ((1 << type.significand) - 1)
        exponent = 1 - lead
    magnitude = ((exponent + offset) << _DOUBLE.significand) | (significand << shift)
    return sign << (_DOUBLE.width - 1) | magnitude
