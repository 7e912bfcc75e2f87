"""Variables of AMD assembly: the bytes that each has at first, and the addresses among them.

Source: the GNU assembler's manual, "Pseudo Ops"; LLVM AMDGPUUsage, "Relocation Records".
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.cdna.code.objects import image_of

_TYPE = re.compile(r"\s*\.type\s+(\"[^\"]+\"|[\w$.]+)\s*,\s*@object")
_END = re.compile(r"\s*\.(?:size|type|section|text|amdhsa_kernel)\b")
_LABEL = re.compile(r"(\"[^\"]+\"|[\w$.]+):")
_DATA = re.compile(r"\s*(\.\w+)\s+(.*?)\s*")
_SIZES = {
    ".byte": 1, ".short": 2, ".2byte": 2, ".value": 2, ".hword": 2, ".long": 4, ".4byte": 4,
    ".int": 4, ".word": 4, ".quad": 8, ".8byte": 8,
}  # fmt: skip
_ZEROS = (".zero", ".skip", ".space")
_IGNORED = (".p2align", ".globl", ".global", ".weak", ".hidden", ".protected", ".balign")
_ADDRESS = re.compile(r"(\"[^\"]+\"|[\w$.]+)\s*(?:([+-])\s*(\d+))?")
SYMBOL = re.compile(
    r"(?P<name>\"[^\"]+\"|[\w$.]+)@(?P<pointer>gotpc)?rel(?:32@(?P<half>lo|hi)|64)(?:\+(?P<addend>\d+))?"
)
"""An operand that is the distance to a symbol, or to a pointer to it, or a half of that."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: ``addresses`` are symbols whose address, and a number, lies at a place of it.

    ``data`` is None for one whose bytes are not known.
    """

    data: bytes | None
    addresses: Mapping[int, tuple[str, int]]


IMAGE = "the code object"
"""The name of all that is loaded of a code object, as one variable, with its code."""


def variables_of_object(content: bytes) -> dict[str, Variable]:
    """The memory of a code object; none of one that is not linked."""
    if (found := image_of(content)) is None:
        return {}
    data, places = found
    return {IMAGE: Variable(data, {at: (IMAGE, value) for at, value in places.items()})}


def read_variables(text: str) -> dict[str, Variable]:
    """The variables of a text, by their names."""
    found: dict[str, Variable] = {}
    objects, reader = set[str](), None
    for line in text.splitlines():
        if (named := _TYPE.match(line)) is not None:
            objects.add(named[1])
        if reader is not None and (_END.match(line) or _LABEL.match(line)):
            found[reader.name] = reader.variable()
            reader = None
        label = _LABEL.match(line)
        if label is not None and label[1] in objects:
            reader = _Reader(label[1].strip('"'))
        elif reader is not None:
            reader.read(line)
    if reader is not None:
        found[reader.name] = reader.variable()
    return found


class _Reader:
    """The bytes of one variable, line by line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.addresses: dict[int, tuple[str, int]] = {}
        self.is_known = True

    def variable(self) -> Variable:
        """The variables of a file."""
        return Variable(bytes(self.data) if self.is_known else None, self.addresses)

    def read(self, line: str) -> None:
        """One line."""
        # A string is the only thing that may have what begins a comment.
        if '"' not in line:
            line = line.partition(";")[0]
        found = _DATA.fullmatch(line)
        if found is None:
            self.is_known &= not line.strip()
            return
        directive, given = found[1], found[2]
        if directive in _SIZES:
            for each in given.split(","):
                self._word(each.strip(), _SIZES[directive])
        elif directive in _ZEROS and given.isdecimal():
            self.data += bytes(int(given))
        elif directive in (".ascii", ".asciz"):
            self._string(given, ends=directive == ".asciz")
        elif directive not in _IGNORED:
            self.is_known = False

    def _word(self, text: str, size: int) -> None:
        try:
            self.data += (int(text, 0) & (1 << 8 * size) - 1).to_bytes(size, "little")
            return
        except ValueError:
            pass
        named = _ADDRESS.fullmatch(text)
        if named is None or size != 8:
            self.is_known = False
            return
        sign = -1 if named[2] == "-" else 1
        self.addresses[len(self.data)] = named[1].strip('"'), sign * int(named[3] or 0)
        self.data += bytes(size)

    def _string(self, text: str, *, ends: bool) -> None:
        # Octal escapes are what an assembler and Python have in common.
        literal = re.match(r'"(?:[^"\\]|\\.)*"', text)
        if literal is None:
            self.is_known = False
            return
        self.data += str(ast.literal_eval(literal[0])).encode("latin1") + b"\0" * ends
