"""LLVM IR as LLVM 22 prints it: common parts of its reader and writer, and accesses taken apart.

LLVM prints one instruction a line in one spelling, and only that spelling is read.
"""

import re
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.llvm.architecture import ORDERING_OF, ORDERING_WORD
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.mlir_dialects.llvm_ir.dialect import SIMPLE_TYPE

NO_SOURCE_FILE = 'source_filename = "<string>"'
"""The line that LLVM prints for a module that names no source file."""


class TranslationError(DiagnosticException):
    """A module that LLVM IR cannot express, or that LLVM rejects; says which operation and why."""


ORDERING_TEXT = {word: text for text, word in ORDERING_OF.items() if word is not Ordering.WEAK}

SYNCHRONIZE_AS = "amdgpu-synchronize-as"
SYNCHRONIZE_AS_SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL)
AV_TAG = ("amdgcn-av", "none")

_BARE_NAME = r"[-a-zA-Z$._][-a-zA-Z$._0-9]*"
NAME = rf'(?:{_BARE_NAME}|"[^"]*"|[0-9]+)'
"""The name of a value, a block, a function or a type."""

_HEADER_SYMBOL = re.compile(rf"\{{@\}}|@{NAME}(?=\s*\()")
"""The name of a function in its header, or its place in a template of that."""

NODE = re.compile(r"^(![0-9]+) = (?:distinct )?(.*)$", re.MULTILINE)
"""A numbered metadata node, and its text."""

MEMORY_OPCODE = r"load|store|atomicrmw|cmpxchg|fence"

_TYPED = re.compile(rf"({SIMPLE_TYPE}) (.+)")
_ACCESS = re.compile(rf"({MEMORY_OPCODE})( weak)?(?: atomic)?( volatile)? (.+)")
_TAIL = re.compile(
    rf'(.*?)(?: syncscope\("([^"]*)"\))?(?: ({ORDERING_WORD}))?(?: ({ORDERING_WORD}))?'
)
_ATTACHMENT = re.compile(r"!([^ ]+) (![0-9]+)")
_ALIGN = "align "


def quote_name(name: str) -> str:
    """``name`` as LLVM writes it after ``%`` or ``@``."""
    if re.fullmatch(_BARE_NAME, name):
        return name
    escaped = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:02X}"
        for byte in name.encode()
    )
    return f'"{"".join(escaped)}"'


def unquote_name(text: str) -> str:
    """The name that LLVM writes as ``text``."""
    if not text.startswith('"'):
        return text
    raw = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text[1:-1])
    return raw.encode("latin-1").decode()


def _split_fields(text: str) -> list[str]:
    """``text`` at its commas, those within brackets and strings excepted."""
    fields: list[str] = []
    depth = start = 0
    in_string = False
    for position, character in enumerate(text):
        if character == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            fields.append(text[start:position])
            start = position + len(", ")
    return [*fields, text[start:]]


_QUOTED_OR_GROUP = re.compile(r'"[^"]*"|(#[0-9]+)\b')
_PARENTHESIS = re.compile(r'"[^"]*"|([()])')
_BEFORE_ATTRIBUTES = re.compile(r"(?:\s+(?:local_)?unnamed_addr)?(?:\s+addrspace\(\w+\))?")


def groups_in(header: str) -> list[str]:
    """The groups of attributes that the header of a function refers to."""
    return [name for name in _QUOTED_OR_GROUP.findall(header) if name]


def with_group(header: str, group: str) -> str:
    """The header of a function with a reference to a ``group`` of attributes after all others."""
    at = _end_of_parameters(header)
    before = _BEFORE_ATTRIBUTES.match(header, at)
    assert before is not None
    named = [each.end() for each in _QUOTED_OR_GROUP.finditer(header, before.end()) if each[1]]
    at = named[-1] if named else before.end()
    return f"{header[:at]} {group}{header[at:]}"


def _end_of_parameters(header: str) -> int:
    depth = 0
    symbol = _HEADER_SYMBOL.search(header)
    for each in _PARENTHESIS.finditer(header, symbol.end() if symbol else 0):
        depth += {"(": 1, ")": -1}.get(each[1], 0)
        if each[1] and not depth:
            return each.end()
    raise AssertionError("LLVM has read the header")


class UnreadError(Exception):
    """An access that the ``scoped`` dialect has no words for, and why."""


@dataclass(frozen=True, slots=True)
class MemoryInstruction:
    """A memory instruction taken apart; ``operands`` are LLVM's (type, value) texts in order."""

    opcode: str
    operands: tuple[tuple[str, str], ...] = ()
    kind: str | None = None
    loaded: str | None = None
    weak: bool = False
    volatile: bool = False
    syncscope: str | None = None
    ordering: str | None = None
    failure: str | None = None
    alignment: int | None = None
    metadata: tuple[tuple[str, str], ...] = ()


def read_instruction(text: str) -> MemoryInstruction:
    """Take a memory instruction of LLVM's apart. Raises ``UnreadError`` for unusual types."""
    fields = _split_fields(text)
    metadata: list[tuple[str, str]] = []
    while len(fields) > 1 and (attachment := _ATTACHMENT.fullmatch(fields[-1])):
        metadata.insert(0, (attachment[1], attachment[2]))
        fields.pop()
    alignment = int(fields.pop().removeprefix(_ALIGN)) if fields[-1].startswith(_ALIGN) else None
    opening = _ACCESS.fullmatch(fields[0])
    ending = _TAIL.fullmatch(fields[-1])
    if opening is None or ending is None:
        raise UnreadError("it is not written as LLVM 22 writes it")
    opcode, weak, volatile, first = opening.groups()
    last, syncscope, ordering, failure = ending.groups()
    kind = loaded = None
    typed: list[str] = []
    match opcode:
        case "fence":
            first = ""
        case "load":
            loaded, typed = first, [last]
        case "atomicrmw":
            kind, _, first = first.partition(" ")
            typed = [first, last]
        case _:
            typed = [first, *fields[1:-1], last]
    if loaded is not None and not re.fullmatch(SIMPLE_TYPE, loaded):
        raise UnreadError(f"memory cannot be accessed as {loaded}")
    return MemoryInstruction(
        opcode=opcode,
        operands=tuple(map(_split_type, typed)),
        kind=kind,
        loaded=loaded,
        weak=weak is not None,
        volatile=volatile is not None,
        syncscope=syncscope,
        ordering=ordering,
        failure=failure,
        alignment=alignment,
        metadata=tuple(metadata),
    )


def _split_type(text: str) -> tuple[str, str]:
    typed = _TYPED.fullmatch(text)
    if typed is None:
        raise UnreadError(f"memory cannot be accessed as '{text}'")
    return typed[1], typed[2]
