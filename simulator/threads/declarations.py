"""Declarations of a PTX file: initial values, tables of jumps.

Source: PTX ISA, "Variables"; "Performance-Tuning Directives"; "Cluster Dimension Directives".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.ptx.code.statements import element_of, number

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the module with a value: bytes of an element, and its elements as written."""

    name: str
    element: int
    values: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Declarations:
    """All that is declared; sizes by kernel."""

    initial: Mapping[str, Variable]
    alignments: Mapping[str, int]
    most_threads: Mapping[str, Size]
    tables: Mapping[str, tuple[str, ...]]
    elements: Mapping[str, int]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VARIABLE = re.compile(
    r"\.(?:global|const|shared|local)(?:::\w+)?\s+((?:\.align\s+\d+|\.attribute\([^)]*\)|\s)*)"
    r"\.(\w+)\s+([\w$%]+)\s*((?:\[\s*\d*\s*\])*)\s*(=\s*(?:\{[^;]*\}|[^;,{]+))?",
    re.DOTALL,
)
_ALIGN = re.compile(r"\.align\s+(\d+)")
_ENTRY = re.compile(r"\.entry\s+([\w$%.]+)(.*?)\{", re.DOTALL)
_SIZES = r"\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?"
_MOST = re.compile(rf"\.maxntid{_SIZES}")
_TABLE = re.compile(r"([\w$%]+)\s*:\s*\.branchtargets([^;]*);")


def read_declarations(text: str) -> Declarations:
    """The declarations of a file that ``read_ptx`` takes."""
    text = _COMMENT.sub(" ", text)
    initial: dict[str, Variable] = {}
    alignments: dict[str, int] = {}
    elements: dict[str, int] = {}
    for found in _VARIABLE.finditer(text):
        element = element_of(found[2])
        if element is None:
            continue
        size = max(element[1] * element[2] // 8, 1)
        align = _ALIGN.search(found[1])
        alignments[found[3]] = int(align[1]) if align else size
        elements[found[3]] = size
        if found[5] is not None:
            values = found[5].lstrip("= \n\t").replace("{", " ").replace("}", " ").split(",")
            written = tuple(each.strip() for each in values if each.strip())
            initial[found[3]] = Variable(found[3], size, written, found[2])
    most: dict[str, Size] = {}
    for found in _ENTRY.finditer(text):
        if (given := _MOST.search(found[2])) is not None:
            most[found[1]] = int(given[1]), int(given[2] or 1), int(given[3] or 1)
    # Few files have tables, and to look for one takes a second for each megabyte.
    tables = {
        found[1]: tuple(each.strip() for each in found[2].split(","))
        for found in (_TABLE.finditer(text) if ".branchtargets" in text else ())
    }
    return Declarations(initial, alignments, most, tables, elements)


def constant(text: str) -> int | float | None:
    """A constant: an integer, or a number with a fraction."""
    if (found := number(text)) is not None:
        return found
    try:
        return float(text)
    except ValueError:
        return None
