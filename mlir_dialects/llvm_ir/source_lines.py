"""Positions of the instructions of a function in LLVM IR text, as its author wrote it.

Nothing is understood here but lines: that each instruction begins one, and which lines belong to
it. Who uses this holds what is found against what LLVM has read, instruction by instruction.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.mlir_dialects.llvm_ir.text import NAME

_DEFINITION = re.compile(r"^[ \t]*define\b", re.MULTILINE)
_SYMBOL = re.compile(rf"@{NAME}[ \t\r\n]*(?=\()")
_BRACKET = re.compile(r'"[^"]*"|;[^\n]*|[(){}]')
_REST_OF_LINE = re.compile(r"[ \t]*(?:;[^\n]*)?\r?\n")
_BODY_END = re.compile(r"^[ \t]*\}", re.MULTILINE)
_LABEL = re.compile(rf"[ \t]*({NAME}):")
_RESULT = re.compile(rf"({NAME})[ \t]*=[ \t]*")
_OPCODE = re.compile(r"(?:(?:tail|musttail|notail)[ \t]+)?([a-z_]+)")
_USE_LIST_ORDER = "uselistorder"
_CONTINUES = ("to label ", "unwind label ", "catch ", "cleanup", "filter ")
"""The beginning of a line that continues the instruction before it."""
_CUT_OFF = (",", "(", "=")
"""The end of a line whose instruction continues in the next one."""
_ENDS_SELDOM = frozenset("[,(=")
"""The last characters of lines that may go on; or a comment hides that."""
_WITH_LISTS = ("switch", "indirectbr")
_STRING_OR_COMMENT = re.compile(r'"[^"]*"|;.*')
_DEBUG_CALL = re.compile(r"(?:tail[ \t]+)?call[ \t]+void[ \t]+@llvm\.dbg\.")
DEBUG_RECORD = "#"
"""The word for debug records, also for those that are still written as calls."""


@dataclass(slots=True)
class SourceInstruction:
    """An instruction with its lines, the first of which says ``said``; before it, comments."""

    before: str
    lines: str
    said: str

    @property
    def head(self) -> tuple[str | None, str]:
        """Its beginning, as ``head_of`` reads it."""
        return head_of(self.said)


@dataclass(slots=True)
class SourceBlock:
    """A block: the line with its label, and the lines before it; its instructions.

    ``label``: the name, which the first block may not say.
    """

    before: str
    line: str
    label: str | None
    instructions: list[SourceInstruction]


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with a body between two offsets of a text.

    ``header`` ends before its body; ``body`` is the lines from there, ``ending`` the last one.
    """

    start: int
    end: int
    header: str
    body: str
    ending: str


def defined_functions(text: str) -> Iterator[SourceFunction]:
    """The functions with bodies in ``text``, in order; none after one that cannot be taken
    apart."""
    end = 0
    for definition in _DEFINITION.finditer(text):
        start = definition.start()
        if start < end:
            continue
        inside = _inside_of(text, definition.end())
        if inside is None:
            return
        first, last = inside
        end = text.find("\n", last) + 1 or len(text)
        yield SourceFunction(start, end, text[start:first], text[first:last], text[last:end])


def _inside_of(text: str, start: int) -> tuple[int, int] | None:
    """From where to where the body of a function goes, after the word that defines it."""
    symbol = _SYMBOL.search(text, start)
    opening = None if symbol is None else _bracket(text, symbol.end(), "{")
    if opening is None:
        return None
    line = _REST_OF_LINE.match(text, opening + 1)
    if line is not None:
        last = _BODY_END.search(text, line.end())
        if last is not None and not _DEFINITION.search(text, line.end(), last.start()):
            return line.end(), last.start()
    end = _bracket(text, opening, "}")
    return None if end is None else (line.end() if line else opening + 1, end)


def _bracket(text: str, start: int, wanted: str) -> int | None:
    """The position of the first ``wanted`` bracket outside all pairs of brackets."""
    depth = 0
    for each in _BRACKET.finditer(text, start):
        found = each[0]
        if found == wanted and depth == (wanted == "}"):
            return each.start()
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(found, 0)
    return None


def blocks_of(body: str) -> tuple[list[SourceBlock], str]:
    """The blocks of a function's body, and the comments after the last instruction."""
    blocks = [SourceBlock("", "", None, [])]
    before: list[str] = []
    open_brackets, continues = 0, False
    for line in body.splitlines(keepends=True):
        said = line.strip()
        instructions = blocks[-1].instructions
        if said[:1] == "%" and not continues:
            instructions.append(SourceInstruction("".join(before), line, said))
            before.clear()
        elif not said or said[0] == ";":
            before.append(line)
        elif instructions and (continues or said.startswith(_CONTINUES)):
            instructions[-1].lines += "".join([*before, line])
            before.clear()
        elif label := _LABEL.match(line):
            rest = line[label.end() :].strip()
            alone = not rest or rest[0] == ";"
            block = SourceBlock("".join(before), line if alone else label[0], label[1], [])
            before.clear()
            if instructions or blocks[-1].line:
                blocks.append(block)
            else:
                blocks[-1] = block
            if not alone:
                block.instructions.append(SourceInstruction("", line[label.end() :], rest))
        elif not said.startswith(_USE_LIST_ORDER):
            instructions.append(SourceInstruction("".join(before), line, said))
            before.clear()
        ends = said[-1:] not in _ENDS_SELDOM and ";" not in said and not open_brackets
        if ends and not said.startswith(_WITH_LISTS):
            continues = False
            continue
        code = _STRING_OR_COMMENT.sub("", said).rstrip()
        open_brackets += code.count("[") - code.count("]")
        continues = open_brackets > 0 or code.endswith(_CUT_OFF)
    return blocks, "".join(before)


def head_of(said: str) -> tuple[str | None, str]:
    """The result of an instruction after ``%``, if it says one, and LLVM's word for it.

    ``#`` for debug records.
    """
    result = _RESULT.match(said, 1) if said[0] == "%" else None
    rest = said[result.end() :] if result else said
    if rest[:1] == "#" or (result is None and _DEBUG_CALL.match(rest)):
        return None, DEBUG_RECORD
    opcode = _OPCODE.match(rest)
    return result and result[1], opcode[1] if opcode else ""
