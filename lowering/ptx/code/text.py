"""Files of PTX as structured text: functions, blocks, edges, registers, source lines.

Reads what nvcc, clang, Triton and people write. Names that an inner ``{ .. }`` declares, which
inline texts do, are made unique by a number (``p`` to ``p$1``). What an instruction is stands in
``lowering.ptx.code.statements``. Source: PTX ISA, "Syntax"; "Directives".
"""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.records import record
from fencewright.lowering.code.source_location import (
    AssemblyError,
    SourceLine,
    SourceLines,
    files_in,
)
from fencewright.lowering.ptx.code.statements import (
    CONTROL,
    Opcode,
    Statement,
    element_of,
    forget_texts,
    read_statement,
    split_operands,
)


class PtxError(AssemblyError):
    """PTX that cannot be read, or is not executed: its file, its line, and the fault there."""

    def __init__(self, file: str, line: int, problem: str):
        super().__init__(file, line, problem)
        self.file = file
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: error: {self.problem}"


@record()
class PtxInstruction:
    """One instruction, numbered within its function; ``source``: where it was written, if said.

    ``column`` counts from 1. ``called_at``: the line of the outermost call in the place of which it
    stands; 0 if in none.
    """

    number: int
    statement: Statement
    line: int
    source: SourceLine | None = None
    column: int = 1
    called_at: int = 0

    @property
    def text(self) -> str:
        """As it is written."""
        return str(self.statement)

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class PtxBlock:
    """Instructions without a jump into or out of them, with the blocks that may follow.

    ``table``: the blocks of ``brx.idx`` by the index.
    """

    number: int
    labels: tuple[str, ...]
    instructions: tuple[PtxInstruction, ...]
    successors: tuple[int, ...] = ()
    table: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PtxParameter:
    """A parameter: its name, its type, and its size in bytes if it is an array."""

    name: str
    type: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class PtxVariable:
    """A variable in a state space, ``shared`` or ``global``; ``size`` in bytes, None if open.

    ``alignment`` in bytes: as it is declared, or that of an element. ``type`` of an element;
    ``initial``: its value as it is written, "" if none is.
    """

    name: str
    space: str
    size: int | None
    line: int
    alignment: int
    type: str
    initial: str = ""

    @property
    def element(self) -> int:
        """Bytes of an element, 1 at least."""
        found = element_of(self.type)
        return 8 if found is None else max(found[1] * found[2] // 8, 1)

    @property
    def values(self) -> tuple[str, ...]:
        """The elements of the initial value as they are written."""
        written = self.initial.replace("{", " ").replace("}", " ").split(",")
        return tuple(each.strip() for each in written if each.strip())


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """A function with a body; an entry is a kernel. ``registers`` by name: their type.

    A register family ``%r<5>`` stands under its prefix. ``threads``: how many a work-group has in
    each dimension, where ``.reqntid`` says so; ``largest``: the same of ``.maxntid``;
    ``cluster``: work-groups of a cluster, where ``.reqnctapercluster`` does.
    """

    name: str
    is_entry: bool
    parameters: tuple[PtxParameter, ...]
    registers: Mapping[str, str]
    families: Mapping[str, str]
    variables: Mapping[str, PtxVariable]
    blocks: tuple[PtxBlock, ...]
    line: int
    file: str
    threads: tuple[int, int, int] | None = None
    largest: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    instructions: tuple[PtxInstruction, ...] = field(init=False, repr=False, compare=False)
    opcodes: tuple[Opcode, ...] = field(init=False, repr=False, compare=False)
    operations: frozenset[str] = field(init=False, repr=False, compare=False)
    is_known: bool = field(init=False, repr=False, compare=False)
    """``instructions`` in their order; the ``opcodes`` among them, each once, and ``operations``:
    most analyses are about those that few functions have. ``is_known``: none is opaque."""

    def __post_init__(self) -> None:
        instructions = tuple(each for block in self.blocks for each in block.instructions)
        by_name = {each.statement.opcode.name: each.statement.opcode for each in instructions}
        opcodes = tuple(by_name.values())
        is_known = all(each.kind is not Kind.OPAQUE for each in opcodes)
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "opcodes", opcodes)
        object.__setattr__(self, "operations", frozenset(each.operation for each in opcodes))
        object.__setattr__(self, "is_known", is_known)

    @property
    def most_threads(self) -> int | None:
        """Threads of a work-group at most, None where nothing limits them."""
        return None if self.largest is None else prod(self.largest)

    def type_of(self, register: str) -> str | None:
        """The type of a register; None for other names."""
        if register in self.registers:
            return self.registers[register]
        found = _NUMBERED.fullmatch(register)
        return None if found is None else self.families.get(found[1])

    def error(self, line: int, problem: str) -> PtxError:
        """An error at a line of the function."""
        return PtxError(self.file, line, problem)


@dataclass(frozen=True, slots=True)
class PtxFile:
    """A module: PTX version, chip, bits of an address, functions with a body, variables.

    ``files``: names of source files by the numbers that ``.loc`` has. ``text``: all of it.
    """

    version: tuple[int, int]
    target: str
    address_size: int
    functions: Mapping[str, PtxFunction]
    variables: Mapping[str, PtxVariable]
    file: str
    files: Mapping[int, str] = field(default_factory=dict[int, str])
    text: str = field(default="", repr=False)


_NUMBERED = re.compile(r"(%?[\w$]*[A-Za-z_$])\d+")
_SKIPPED = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BLANK = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s+")
_ITEM = re.compile(r"\s*+(?:([A-Za-z_$%][\w$]*+)\s*+:(?!:)|([^\s.{};][^;]*+);)?")
"""The label or the whole instruction at a place, after space."""
_OF_INSTRUCTION = 2
"""The group of an instruction."""
_WORD = re.compile(r"\.?[\w$]+")
_TO_LINE_END = frozenset({".version", ".target", ".address_size", ".file", ".loc"})
_LINKING = frozenset({".visible", ".extern", ".weak", ".common", ".entry", ".func", ".alias"})
_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+(sm_(\d+)\w*)")
_CHIPS = (
    *(10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 82, 86, 87),
    *(88, 89, 90, 100, 101, 103, 107, 110, 120, 121),
)
"""The numbers of NVIDIA's chips. Source: those of 1 to 140 that ptxas 13.5 takes in ``.target``."""
_ADDRESS_SIZE = re.compile(r"\.address_size\s+(\d+)")
_NAME = re.compile(
    r"\.(?:entry|func)\s*(?:\.\w+\s*)*(?:\((?P<returned>[^)]*)\)\s*)?(?P<name>[\w$%.]+)"
)
_DECLARED = re.compile(
    r"\.(?P<space>global|shared|const|local|param|tex|surf)(?:::\w+)?(?P<rest>[\s.].*)", re.DOTALL
)
_ELEMENT = re.compile(r"\.(?P<type>[busf]\d+|bf16|[bf]16x2|b128|pred|texref|samplerref|surfref)\b")
_ALIGNED = re.compile(r"\.align\s+(\d+)")
_ARRAY = re.compile(r"(?P<name>[\w$%]+)\s*(?P<sizes>(?:\[\s*\d*\s*\])*)\s*(?:=|$|,)")
_PARAMETER = re.compile(r"\.param\b(?P<rest>[^,]*)")
_PARAMETER_NAME = re.compile(r"(?P<name>[\w$%.]+)\s*(?:\[\s*(?P<size>\d*)\s*\])?\s*$")
_REGISTERS = re.compile(r"\.reg\s*(?:\.v[24]\s*)?\.(\w+)\s+(.*)", re.DOTALL)
_FAMILY = re.compile(r"([%\w$]+)\s*<\s*(\d+)\s*>")
_REFERENCE = re.compile(r"[%$]?[A-Za-z_$][\w$]*")


def read_ptx(text: str, file: str = "<string>") -> PtxFile:
    """The functions of ``text``. Raises ``PtxError`` for what is no whole file of PTX.

    NULs at the end, where NVRTC writes one, are no part of the text. Several modules may follow
    each other, as long as all are for one chip and no name is defined twice.
    """
    text = text.rstrip("\0")
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise PtxError(file, line, "there is a NUL character in it: this is no text")
    module = _Reader(_SKIPPED.sub(_blank, text), file, _inline_texts(text)).read()
    forget_texts()
    return replace(module, files=files_in(text), text=text)


_INLINE = re.compile(r"// begin inline asm\b|// end inline asm\b")
"""The comments that LLVM writes around inline assembly."""


def _inline_texts(text: str) -> Sequence[int]:
    """The beginnings and ends of inline texts, in turn.

    LLVM counts the lines of an inline text on from where the whole was written, so that a
    ``.loc`` in it names a line of another statement.
    """
    if "// begin inline asm" not in text:
        return ()
    return [found.start() for found in _INLINE.finditer(text)]


def _blank(found: re.Match[str]) -> str:
    if found[0].startswith('"'):
        return f'"{"_" * (len(found[0]) - 2)}"'
    return _BLANK.sub(" ", found[0])


class _Names:
    """The names that one ``{ .. }`` declares, within those around it."""

    def __init__(self, outer: "_Names | None", suffix: str):
        self.outer = outer
        self.suffix = suffix
        self.renamed: dict[str, str] = {}
        self.families: dict[str, int] = {}

    def declare(self, name: str) -> str:
        """The name by which a declaration here is known."""
        self.renamed[name] = name + self.suffix
        return self.renamed[name]

    def resolve(self, name: str) -> str:
        """The meaning of a name in this scope."""
        scope: _Names | None = self
        while scope is not None:
            if name in scope.renamed:
                return scope.renamed[name]
            found = _NUMBERED.fullmatch(name)
            if found is not None and found[1] in scope.families:
                return name + scope.suffix
            scope = scope.outer
        return name


class _Body:
    """The part of a function's body that has been read."""

    def __init__(self, header: str, line: int):
        self.header = header
        self.line = line
        self.names = _Names(None, "")
        self.scopes = 0
        self.registers: dict[str, str] = {}
        self.families: dict[str, str] = {}
        self.variables: dict[str, PtxVariable] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.items: list[PtxInstruction | str] = []
        self.seen: dict[int, _Names] = {}
        self.count = 0

    def open(self) -> None:
        self.scopes += 1
        self.names = _Names(self.names, f"${self.scopes}")

    def close(self) -> bool:
        """Leave a scope; whether the body is over."""
        if self.names.outer is None:
            return True
        self.names = self.names.outer
        return False


class _Reader:
    """One pass over the text."""

    def __init__(self, text: str, file: str, inline: Sequence[int]):
        self.text = text
        self.file = file
        self.inline = inline
        self.at: int = 0
        self.line = 1
        self.counted = 0
        self.source: SourceLine | None = None
        self.sources = SourceLines()
        self.version: tuple[int, int] | None = None
        self.target = ""
        self.address_size = 32
        self.functions: dict[str, PtxFunction] = {}
        self.variables: dict[str, PtxVariable] = {}
        self.body: _Body | None = None

    def error(self, problem: str, at: int | None = None) -> PtxError:
        line = self.text.count("\n", 0, self.at if at is None else at) + 1
        return PtxError(self.file, line, problem)

    def line_at(self, at: int) -> int:
        """The line of a place that is not before the last one asked for."""
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line

    def read(self) -> PtxFile:
        text, end = self.text, len(self.text)
        while (found := _ITEM.match(text, self.at)) is not None:
            number = found.lastindex or 0
            self.at = found.start(number) if number else found.end()
            if self.at >= end:
                break
            if number and self.body is not None:
                (self.label if number == 1 else self.instructions)(found, self.body)
            else:
                self.step(text[self.at])
        if self.body is not None:
            raise self.error(f"the file is cut short: {self.body_name()} has no end", len(text))
        if self.version is None or not self.target:
            missing = ".version" if self.version is None else ".target"
            raise PtxError(self.file, 1, f"no {missing} line: this is no whole PTX file")
        return PtxFile(
            self.version,
            self.target,
            self.address_size,
            MappingProxyType(self.functions),
            MappingProxyType(self.variables),
            self.file,
        )

    def body_name(self) -> str:
        assert self.body is not None
        found = _NAME.search(self.body.header)
        return f"'{found['name']}'" if found else "a function"

    def step(self, character: str) -> None:
        """Read the statement that begins here."""
        if character == ".":
            self.directive()
        elif self.body is None:
            self.outside()
        elif character == "{":
            self.at += 1
            self.body.open()
        elif character == "}":
            self.at += 1
            if self.body.close():
                self.finish()
        elif character == ";":
            self.at += 1
        else:
            raise self.error(f"the file is cut short: {self.body_name()} has no end")

    def outside(self) -> None:
        shown = self.text[self.at : self.at + 40].partition("\n")[0].strip()
        if self.version is None:
            raise self.error(f"expected '.version', found '{shown}': this is no PTX")
        if shown[0] in ";}":
            shown = shown[0]
        raise self.error(f"'{shown}' outside of a function")

    # Directives

    def directive(self) -> None:
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else "."
        if word in _TO_LINE_END:
            self.of_line(word)
        elif self.version is None:
            raise self.error(f"expected '.version', found '{word}': this is no PTX")
        elif word == ".section":
            self.section()
        elif word in _LINKING:
            self.linked()
        else:
            start = self.at
            self.declaration(self.until_semicolon(), start)

    def of_line(self, word: str) -> None:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        if word in (".version", ".target", ".address_size"):
            # Several may stand on one line; the name of a chip has no space in it.
            following = self.text.find(" .", self.at + 1, end)
            end = following if following >= 0 else end
        line = self.text[self.at : end]
        if word in (".version", ".target"):
            self.header(word, line)
        elif word == ".loc" and not self.is_inline():
            self.source = self.sources.read(line) or self.source
        elif word == ".address_size" and (found := _ADDRESS_SIZE.match(line)):
            self.address_size = int(found[1])
        self.at = end

    def header(self, word: str, line: str) -> None:
        """Read the version or the chip of a module, which is that of those before it."""
        if word == ".version":
            if (found := _VERSION.match(line)) is None:
                raise self.error(f"'{line.strip()}' is no version")
            self.version = self.version or (int(found[1]), int(found[2]))
            return
        if (found := _TARGET.match(line)) is None:
            raise self.error(f"'{line.strip()}' names no chip of NVIDIA's")
        if int(found[2]) not in _CHIPS:
            known = ", ".join(f"sm_{number}" for number in _CHIPS)
            raise self.error(f"there is no chip {found[1]}; known are {known}")
        if self.target not in ("", found[1]):
            raise self.error(
                f"a module for {found[1]} follows one for {self.target}: give each a file of its "
                "own"
            )
        self.target = found[1]

    def is_inline(self) -> bool:
        """True if the reader is in an inline text."""
        return bool(self.inline) and bisect(self.inline, self.at) % 2 == 1

    def section(self) -> None:
        opened = self.text.find("{", self.at)
        end = self.text.find("}", self.at)
        if opened < 0 or end < 0:
            raise self.error("the file is cut short: a section has no end")
        self.at = end + 1

    def linked(self) -> None:
        """Reads the function, declaration or variable begun by ``.visible`` or ``.entry``."""
        start, depth = self.at, 0
        for at in range(start, len(self.text)):
            character = self.text[at]
            if character == "(":
                depth += 1
            elif character == ")":
                depth -= 1
            elif character in "{;" and not depth:
                break
        else:
            raise self.error("the file is cut short: a declaration has no end")
        header = self.text[start:at]
        if ".entry" not in header and ".func" not in header:
            self.declaration(self.until_semicolon(), start)
        elif character == ";":
            self.at = at + 1
        elif self.body is not None:
            raise self.error(f"a function begins within {self.body_name()}, which has no end")
        else:
            self.body, self.source = _Body(header, self.line_at(start)), None
            self.at = at + 1

    def until_semicolon(self) -> str:
        start, end = self.at, self.text.find(";", self.at)
        if end < 0:
            raise self.error("the file is cut short: a statement has no end")
        self.at = end + 1
        return self.text[start:end]

    def declaration(self, text: str, start: int) -> None:
        if found := _REGISTERS.match(text):
            self.declare_registers(found[1], found[2])
            return
        linked = re.sub(r"^(?:\.(?:visible|extern|weak|common)\s+)+", "", text)
        found = _DECLARED.match(linked)
        if found is None:
            return
        line = self.line_at(start)
        for each in _variables(found["space"], found["rest"], line):
            if self.body is None:
                self.define_variable(each, start)
            else:
                name = self.body.names.declare(each.name)
                self.body.variables[name] = replace(each, name=name)

    def define_variable(self, variable: PtxVariable, start: int) -> None:
        """Add a variable of the module; a declaration of the same one may come again."""
        known = self.variables.get(variable.name)
        if known is None or known.size is None:
            self.variables[variable.name] = variable
        elif variable.size is not None and (known.space, known.size) != (
            variable.space,
            variable.size,
        ):
            raise self.error(_twice(variable.name, known.line), start)

    def declare_registers(self, type: str, names: str) -> None:
        body = self.body
        if body is None:
            return
        for each in names.split(","):
            each = each.strip()
            if found := _FAMILY.fullmatch(each):
                body.families[found[1]] = type
                body.names.families[found[1]] = int(found[2])
            elif each:
                body.registers[body.names.declare(each)] = type

    # Bodies

    def label(self, found: re.Match[str], body: _Body) -> None:
        self.at = found.end()
        name = body.names.declare(found[1])
        following = _SPACE.match(self.text, self.at)
        at = self.at if following is None else following.end()
        if self.text.startswith(".branchtargets", at):
            self.at = at
            targets = self.until_semicolon().removeprefix(".branchtargets")
            body.tables[name] = tuple(each.strip() for each in targets.split(","))
            return
        if self.text.startswith((".callprototype", ".calltargets"), at):
            self.at = at
            self.until_semicolon()
            return
        body.items.append(name)

    def instructions(self, found: re.Match[str] | None, body: _Body) -> None:
        """Read an instruction, and those that follow it with nothing in between."""
        text, names, count, line, counted = (
            self.text,
            body.names,
            body.count,
            self.line,
            self.counted,
        )
        while found is not None and found.lastindex == _OF_INSTRUCTION:
            start = found.start(_OF_INSTRUCTION)
            statement = read_statement(found[_OF_INSTRUCTION])
            if statement is None:
                shown = found[_OF_INSTRUCTION].partition("\n")[0].strip()[:60]
                raise self.error(f"'{shown}' is no instruction of PTX", start)
            if names.outer is not None:
                renamed = _renamed(found[_OF_INSTRUCTION], names)
                statement = read_statement(renamed) or statement
            line += text.count("\n", counted, start)
            counted, column = start, start - text.rfind("\n", 0, start)
            body.items.append(PtxInstruction(count, statement, line, self.source, column))
            if statement.kind is Kind.BRANCH:
                body.seen[count] = names
            count += 1
            self.at = found.end()
            found = _ITEM.match(text, self.at)
        body.count, self.line, self.counted = count, line, counted

    def finish(self) -> None:
        body = self.body
        assert body is not None
        self.body = None
        found = _NAME.search(body.header)
        if found is None:
            raise self.error("this function has no name")
        if (known := self.functions.get(found["name"])) is not None:
            raise known.error(body.line, _twice(known.name, known.line))
        parameters = body.header[found.end() :]
        blocks = _blocks(body)
        function = PtxFunction(
            found["name"],
            ".entry" in body.header,
            tuple(_parameters(parameters)),
            MappingProxyType(body.registers),
            MappingProxyType(body.families),
            MappingProxyType(body.variables),
            tuple(blocks),
            body.line,
            self.file,
            _threads(body.header, "reqntid"),
            _threads(body.header, "maxntid"),
            _threads(body.header, "reqnctapercluster"),
        )
        _connect(function, body)
        self.functions[function.name] = function


def _twice(name: str, line: int) -> str:
    return f"'{name}' is defined twice, first in line {line}: give each module a file of its own"


_HEAD = re.compile(r"(@\s*!?\s*[%$\w]+\s+)?([a-z]\w*(?:\.[\w:]+)*)(.*)", re.DOTALL)


def _renamed(text: str, names: _Names) -> str:
    """An instruction with its guard and operands by their known names."""
    found = _HEAD.fullmatch(text)
    assert found is not None, text

    def known(name: re.Match[str]) -> str:
        return names.resolve(name[0])

    guard = _REFERENCE.sub(known, found[1] or "")
    return guard + found[2] + _REFERENCE.sub(known, found[3])


def _variables(space: str, text: str, line: int) -> Iterator[PtxVariable]:
    element = _ELEMENT.search(text)
    if element is None:
        return
    bits = re.search(r"\d+", element["type"])
    size = (int(bits[0]) if bits else 64) // 8
    aligned = _ALIGNED.search(text)
    alignment = int(aligned[1]) if aligned else size
    for each in split_operands(text[element.end() :]):
        named, _, initial = each.partition("=")
        found = _ARRAY.match(named.strip())
        if found is None:
            continue
        sizes = re.findall(r"\[\s*(\d*)\s*\]", found["sizes"])
        total: int | None = size
        for length in sizes:
            total = None if total is None or not length else total * int(length)
        if total is None and initial:
            total = size * len(split_operands(initial.strip("{ }")))
        yield PtxVariable(
            found["name"], space, total, line, alignment, element["type"], initial.strip()
        )


def _parameters(text: str) -> Iterator[PtxParameter]:
    for declared in _PARAMETER.finditer(text.replace(")", ",")):
        rest = declared["rest"].strip()
        element, name = _ELEMENT.search(rest), _PARAMETER_NAME.search(rest)
        if element is not None and name is not None:
            size = int(name["size"]) if name["size"] else None
            yield PtxParameter(name["name"], element["type"], size)


_SIZES = r"\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?"


def _threads(header: str, directive: str) -> tuple[int, int, int] | None:
    """The sizes of a directive, 1 where it has none. Source: PTX ISA, .maxntid, .reqntid."""
    found = re.search(rf"\.{directive}{_SIZES}", header)
    return None if found is None else (int(found[1]), int(found[2] or 1), int(found[3] or 1))


_ENDS = frozenset({"bra", "brx", "ret", "exit", "trap"})


def _blocks(body: _Body) -> Iterator[PtxBlock]:
    number, labels = 0, list[str]()
    instructions: list[PtxInstruction] = []
    for item in body.items:
        if isinstance(item, str):
            if instructions:
                yield PtxBlock(number, tuple(labels), tuple(instructions))
                number, labels, instructions = number + 1, [], []
            labels.append(item)
            continue
        instructions.append(item)
        if item.statement.operation in _ENDS:
            yield PtxBlock(number, tuple(labels), tuple(instructions))
            number, labels, instructions = number + 1, [], []
    yield PtxBlock(number, tuple(labels), tuple(instructions))


def _connect(function: PtxFunction, body: _Body) -> None:
    """Give every block the blocks that may follow it. Raises ``PtxError`` at an unknown label."""
    of_label = {label: block.number for block in function.blocks for label in block.labels}
    last = len(function.blocks) - 1
    for block in function.blocks:
        end = block.instructions[-1] if block.instructions else None
        following: list[int] = []
        if end is not None and end.statement.operation in ("bra", "brx"):
            names = body.seen[end.number]
            for label in _targets(end.statement, body, names):
                if label not in of_label:
                    raise function.error(end.line, f"there is no label '{label}' to jump to")
                following.append(of_label[label])
            if end.statement.operation == "brx":
                block.table = tuple(following)
        if _falls_through(end) and block.number < last:
            following.append(block.number + 1)
        block.successors = tuple(dict.fromkeys(following))


def _falls_through(end: PtxInstruction | None) -> bool:
    """True if control may go on after a block with this last instruction."""
    if end is None or end.statement.kind not in CONTROL:
        return True
    return end.statement.operation == "call" or bool(end.statement.guard)


def _targets(jump: Statement, body: _Body, names: _Names) -> Iterator[str]:
    if jump.operation == "bra":
        yield names.resolve(jump.operands[0])
        return
    table = names.resolve(jump.operands[-1])
    yield from (names.resolve(each) for each in body.tables.get(table, (table,)))
