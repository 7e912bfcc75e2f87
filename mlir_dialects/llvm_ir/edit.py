"""LLVM IR given back as it was written, except for the changes of passes.

LLVM only reads: its text is compatible in neither direction, and to print what it has read in its
own words would lose those of whoever wrote it. So each operation keeps the lines that it was, and
is these lines again if nothing of it has changed.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.leaf_operation import operands_of, operations, successors_of
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.mlir_dialects.llvm_ir.parser import Source
from fencewright.mlir_dialects.llvm_ir.read import ReadFunction, read_functions
from fencewright.mlir_dialects.llvm_ir.source_lines import (
    SourceBlock,
    SourceFunction,
    SourceInstruction,
    blocks_of,
    defined_functions,
    head_of,
)
from fencewright.mlir_dialects.llvm_ir.text import (
    NAME,
    NODE,
    TranslationError,
    UnreadError,
    groups_in,
    quote_name,
    read_instruction,
    with_group,
)
from fencewright.mlir_dialects.llvm_ir.write import (
    FunctionWriter,
    ModuleWriter,
    is_machine_code,
)

_STAR = re.compile(r'"[^"]*"|;[^\n]*|(\*)')
_INTRINSIC = re.compile(r'@"?(llvm\.[\w.$-]+)')
_ATTACHED = re.compile(r"!([\w.]+) (![0-9]+)")
_REFERENCE = re.compile(r'"[^"]*"|;[^\n]*|([!#][0-9]+)\b')
_GROUP = re.compile(r"attributes #([0-9]+) = ")
_GIVEN_GROUP = re.compile(rf"^[ \t]*{_GROUP.pattern}", re.MULTILINE)
_LOCAL = re.compile(rf'"[^"]*"|;[^\n]*|%({NAME})')
_NUMBERED = re.compile(r'"[^"]*"|(%)([0-9]+)\b|^([ \t]*)([0-9]+)(?=:)', re.MULTILINE)
_NUMBERED_BLOCK = re.compile(r"blockaddress\(@[^,()]+, %[0-9]+\)")
_COMMENT = re.compile(r'("[^"]*")|[ \t]*;[^\n]*')


class EditedModule:
    """A module that was read from LLVM IR, and how it is written back; ``module`` may be changed.

    Raises what ``import_llvm_ir`` raises, and ``ParseError`` where an instruction does not begin a
    line, where LLVM reads several for one, and for pointers with a type, which LLVM reads but does
    not write.
    """

    def __init__(self, text: str, file: str = "<string>", *, sparse: bool = False):
        source = Source(text, file)
        _require_opaque_pointers(source)
        self._text = text
        self.module, functions = read_functions(text, file, sparse=sparse)
        self._lines = frozenset(op for op in self.module.ops if isinstance(op, llvm_ir.TopLevelOp))
        nodes = dict(match for each in self._lines for match in NODE.findall(each.text.data))
        self._functions = _paired(source, functions, nodes)

    def written(self) -> str:
        """The text, with the lines of changed operations as they are now.

        It is the same object if nothing has changed. Raises ``TranslationError`` for an operation
        that LLVM IR has no words for.
        """
        return _Writer(self._text, self._functions, self._lines).written(self.module)


class _Kept(NamedTuple):
    """The original of an operation: its lines, ``result`` in them, and its components.

    ``results``: those of all its lines. ``more``: the instructions after the first that are in it
    too. ``printed``: as LLVM prints the first.
    """

    number: int
    source: SourceInstruction
    more: Sequence[SourceInstruction]
    result: str | None
    results: Sequence[str]
    printed: str
    operands: tuple[SSAValue, ...]
    successors: tuple[Block, ...]
    properties: Mapping[str, Attribute]

    def is_unchanged(self, op: Operation) -> bool:
        """True if ``op`` still has its original components."""
        now = (operands_of(op), successors_of(op), op.properties)
        return now == (self.operands, self.successors, self.properties)


@dataclass(frozen=True, slots=True)
class _KeptFunction:
    """A function as it was: its text, its header, its operations, and its names of them.

    ``after``: the comments after the last instruction. ``numbers``: those of values and blocks, in
    order.
    """

    source: SourceFunction
    header: str
    blocks: Mapping[Block, SourceBlock] = field(default_factory=dict[Block, SourceBlock])
    after: str = ""
    ops: Mapping[Operation, _Kept] = field(default_factory=dict[Operation, _Kept])
    tokens: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    labels: Mapping[Block, str] = field(default_factory=dict[Block, str])
    numbers: list[str] = field(default_factory=list[str])


def _require_opaque_pointers(source: Source) -> None:
    """Raise ``ParseError`` at the first pointer with a pointee type: beside it ``ptr`` is an error
    to its LLVM."""
    found = _STAR.finditer(source.text) if "*" in source.text else ()
    star = next((each for each in found if each[1]), None)
    if star is not None:
        message = (
            "a pointer with a type, as LLVM 14 and older write them: write 'ptr', as 'opt -S' of "
            "LLVM 17 or later does of this file"
        )
        source.raise_at_offset(message, star.start(1))


def _paired(
    source: Source, functions: Sequence[ReadFunction], nodes: Mapping[str, str]
) -> dict[Operation, _KeptFunction]:
    """Each function with its text. Raises ``ParseError`` where that is not one line each.

    ``nodes``: the metadata that LLVM prints, by its numbers there.
    """
    defined = list(defined_functions(source.text))
    if len(defined) != len(functions):
        place = defined[-1].end if defined else 0
        source.raise_at_offset(_NOT_EDITED.format("those of a function"), place)
    return {
        read.op: _pair(source, lines, read, nodes)
        for lines, read in zip(defined, functions, strict=True)
    }


_NOT_EDITED = "cannot tell which lines are {}: write each instruction on its own, as 'opt -S' does"


_UPGRADED = (
    "LLVM reads other instructions for a call of '{}', an intrinsic that it no longer has: write "
    "those, as 'opt -S' of LLVM 22 does of this file"
)


def _pair(
    source: Source, function: SourceFunction, read: ReadFunction, nodes: Mapping[str, str]
) -> _KeptFunction:
    if not read.blocks:
        return _KeptFunction(function, read.op.text.data)
    blocks, after = blocks_of(function.body)
    given = [each for block in blocks for each in block.instructions]
    printed = [line for lines in read.blocks for line in lines]
    if [len(each) for each in read.blocks] != [len(each.instructions) for each in blocks]:
        _refuse_upgraded(source, function, given, printed)
    differ = False
    for each, line in zip(given, printed, strict=False):
        if each.said != line:
            differ = True
            opcode = head_of(line)[1]
            if each.head[1] != opcode and not _is_intrinsic(each):
                place = function.start + len(function.header) + function.body.index(each.lines)
                source.raise_at_offset(_NOT_EDITED.format(f"the next '{opcode}'"), place)
    if [len(each) for each in read.blocks] != [len(each.instructions) for each in blocks]:
        source.raise_at_offset(
            _NOT_EDITED.format(f"those of @{read.op.sym_name.data}"), function.start
        )
    results = [_result_in(line) for line in printed]
    tokens = _tokens_of(function, blocks, read, results, same=not differ)
    names = {value: f"%{tokens[token]}" for token, value in read.values.items()}
    kept: dict[Operation, _Kept] = {}
    number = 0
    for op, size in read.rows:
        first, line, result = given[number], printed[number], results[number]
        if first.said != line and isinstance(op, scoped.ScopedOperation):
            names |= _constants_in(op, first)
            _take_references(op, first, line, nodes)
        kept[op] = _Kept(
            number,
            first,
            given[number + 1 : number + size],
            None if result is None else f"%{tokens[result]}",
            [f"%{tokens[each]}" for each in results[number : number + size] if each],
            line,
            operands_of(op),
            successors_of(op),
            op.properties.copy(),
        )
        number += size
    return _KeptFunction(
        function,
        read.op.text.data,
        dict(zip(read.labels.values(), blocks, strict=True)),
        after,
        kept,
        names,
        {block: tokens[label] for label, block in read.labels.items()},
        [token for token in tokens.values() if token.isdecimal()],
    )


def _result_in(line: str) -> str | None:
    """The result of an instruction, as LLVM prints it."""
    if line[0] != "%":
        return None
    return line[1 : line.index(" ")] if line[1] != '"' else head_of(line)[0]


def _is_intrinsic(given: SourceInstruction) -> bool:
    """True if it is a call that LLVM may read as another one: of an intrinsic it no longer has."""
    return given.head[1] == "call" and _INTRINSIC.search(given.lines) is not None


def _refuse_upgraded(
    source: Source,
    function: SourceFunction,
    given: Sequence[SourceInstruction],
    printed: Sequence[str],
) -> None:
    """Raise ``ParseError`` at the first call of an intrinsic that LLVM has read as other
    instructions."""
    left = {name for line in printed for name in _INTRINSIC.findall(line)}
    for each in given:
        called = _INTRINSIC.search(each.lines) if each.head[1] == "call" else None
        if called is not None and called[1] not in left:
            place = function.start + len(function.header) + function.body.index(each.lines)
            source.raise_at_offset(_UPGRADED.format(called[1]), place)


def _tokens_of(
    function: SourceFunction,
    blocks: Sequence[SourceBlock],
    read: ReadFunction,
    results: Sequence[str | None],
    *,
    same: bool,
) -> dict[str, str]:
    """The token in the text for each of LLVM's, in the order in which LLVM counts those.

    They differ where the text leaves out numbers, and where LLVM was made to call a value
    otherwise.
    ``results``: LLVM's, of each instruction. ``same``: the instructions are as LLVM prints them.
    """
    tokens: dict[str, str] = {}
    following = 0

    def pair(given: str | None, printed: str) -> None:
        nonlocal following
        tokens[printed] = token = str(following) if given is None else given
        following = int(token) + 1 if token.isdecimal() else following

    said = [token for token in _LOCAL.findall(function.header) if token]
    numbers = [token for token in said if token.isdecimal()]
    counted = iter(numbers if len(numbers) == read.arguments.count("") else ())
    for name, printed in zip(read.arguments, read.values, strict=False):
        quoted = quote_name(name)
        pair((quoted if quoted in said else f'"{name}"') if name else next(counted, None), printed)
    number = 0
    for block, label in zip(blocks, read.labels, strict=True):
        pair(block.label, label)
        end = number + len(block.instructions)
        if same:
            found = [result for result in results[number:end] if result is not None]
            tokens.update(zip(found, found, strict=True))
            following = next((int(n) + 1 for n in reversed(found) if n.isdecimal()), following)
        else:
            for each, result in zip(block.instructions, results[number:end], strict=True):
                if result is not None:
                    pair(each.head[0], result)
        number = end
    return tokens


def _constants_in(op: Operation, given: SourceInstruction) -> Iterator[tuple[SSAValue, str]]:
    """The constants that an access has for operands, as the text writes them."""
    constants = [value for value in op.operands if type(value.owner) is llvm_ir.ConstantOp]
    if not constants:
        return
    try:
        access = read_instruction(_said(given))
    except UnreadError:
        return
    for value, (_, text) in zip(op.operands, access.operands, strict=False):
        if value in constants:
            yield value, text


def _said(instruction: SourceInstruction) -> str:
    """An instruction without its result and comments."""
    text = _COMMENT.sub(r"\1", instruction.lines).strip()
    return text.partition("=")[2].strip() if text.startswith("%") else text


def _take_references(
    op: Operation, given: SourceInstruction, printed: str, nodes: Mapping[str, str]
) -> None:
    """Let the metadata of ``op`` refer to the nodes of the text."""
    metadata = op.attributes.get(llvm_ir.METADATA)
    if isinstance(metadata, StringAttr) and metadata.data not in given.lines:
        if _is_intrinsic(given):
            text = _with_nodes(metadata.data, given.lines, nodes)
        else:
            text = _with_references(metadata.data, printed, given.lines)
        op.attributes[llvm_ir.METADATA] = StringAttr(text)


def _with_nodes(text: str, given: str, nodes: Mapping[str, str]) -> str:
    """Metadata that LLVM gave a replaced call: the call's own, and its nodes in their places.

    A node that refers to others, whose numbers are LLVM's, is left out.
    Source: LLVM 22 AutoUpgrade.cpp, upgradeAMDGCNIntrinsicCall: the nodes are empty.
    """
    said = dict(_ATTACHED.findall(given))
    found = ((kind, said.get(kind) or nodes[node]) for kind, node in _ATTACHED.findall(text))
    return ", ".join(
        f"!{kind} {node}" for kind, node in found if kind in said or not _references(node)
    )


def _with_references(text: str, printed: str, given: str) -> str:
    """``text`` of LLVM's numbers for metadata and attributes with those of the text."""
    theirs, ours = _references(printed), _references(given)
    of_number = dict(zip(theirs, ours, strict=False)) if len(theirs) == len(ours) else {}
    return _REFERENCE.sub(lambda each: of_number.get(each[1], each[0]), text)


def _references(text: str) -> list[str]:
    return [each for each in _REFERENCE.findall(text) if each]


class _Writer:
    """Writes the text of a module that has been changed."""

    def __init__(
        self,
        text: str,
        functions: Mapping[Operation, _KeptFunction],
        lines: frozenset[Operation],
    ):
        self.text = text
        self.functions = functions
        self.lines = lines
        self.module = ModuleWriter()
        self.groups: dict[str, str] = {}

    def written(self, module: ModuleOp) -> str:
        """The text of ``module``."""
        top_level = [op.text.data for op in module.ops if isinstance(op, llvm_ir.TopLevelOp)]
        self.module.begin(top_level, self.text)
        added = list(self._added_lines(module))
        pieces: list[str] = []
        end = 0
        for op in module.ops:
            if isinstance(op, llvm_ir.FuncOp):
                kept = self.functions[op]
                pieces.append(self.text[end : kept.source.start])
                pieces += _FunctionEditor(self, op, kept).pieces()
                end = kept.source.end
        pieces.append(self.text[end:])
        added += self.module.node_lines()
        if added:
            pieces.append("" if pieces[-1].endswith("\n") else "\n")
            pieces += (f"{line}\n" for line in added)
        text = "".join(pieces)
        return self.text if text == self.text else text

    def _added_lines(self, module: ModuleOp) -> Iterator[str]:
        """The lines that passes have added to the module; groups of attributes get free numbers."""
        numbers = count(max(map(int, _GIVEN_GROUP.findall(self.text)), default=-1) + 1)
        for op in module.ops:
            if isinstance(op, llvm_ir.TopLevelOp) and op not in self.lines:
                line = op.text.data
                if group := _GROUP.match(line):
                    name = self.groups[f"#{group[1]}"] = f"#{next(numbers)}"
                    line = f"attributes {name} = {line[group.end() :]}"
                yield line


class _FunctionEditor(FunctionWriter):
    """Writes one function: each operation as its lines, or anew if it is new or has changed."""

    def __init__(self, writer: _Writer, function: llvm_ir.FuncOp, kept: _KeptFunction):
        super().__init__(writer.module, function)
        self.edited = writer
        self.kept = kept
        self.loses_number = False
        self.alive = {op for block in function.body.blocks for op in operations(block)}

    def pieces(self) -> list[str]:
        """The function in pieces."""
        source = self.kept.source
        if not self.kept.labels:
            return [self._header(), source.body, source.ending]
        self.name_everything()
        found = [self._header(), *self._body(), source.ending]
        if not self.loses_number:
            return found
        numbers = self._numbers()
        return (
            found if numbers == self.kept.numbers else [self._renumbered("".join(found), numbers)]
        )

    def _header(self) -> str:
        header, before = self.kept.source.header, groups_in(self.kept.header)
        for group in groups_in(self.function.text.data):
            if group not in before:
                header = with_group(header, self.edited.groups[group])
        return header

    def _body(self) -> Iterator[str]:
        lost = (each for op, each in self.kept.ops.items() if op not in self.alive)
        comments = deque((each.number, each.source.before) for each in lost if each.source.before)
        for block in self.function.body.blocks:
            source = self.kept.blocks.get(block)
            yield f"{self.labels[block]}:\n" if source is None else source.before + source.line
            for machine_code, ops in groupby(operations(block), is_machine_code):
                if machine_code:
                    yield from (f"  {line}\n" for line in self.write_assembly(ops))
                    continue
                for op in ops:
                    kept = self.kept.ops.get(op)
                    while kept and comments and comments[0][0] < kept.number:
                        yield comments.popleft()[1]
                    yield self._written(op, kept)
        yield from (before for _, before in comments)
        yield self.kept.after

    def _written(self, op: Operation, kept: _Kept | None) -> str:
        if kept is None:
            line = self.line(op)
            return "" if line is None else f"  {line}\n"
        if not kept.is_unchanged(op):
            return kept.source.before + self._changed(op, kept)
        lines = kept.source.before + kept.source.lines
        if kept.more:
            return "".join([lines, *(each.before + each.lines for each in kept.more)])
        if type(op) is scoped.CmpxchgOp:
            lines += "".join(f"  {each}\n" for each in self.taken_out(op))
        return lines

    def _changed(self, op: Operation, kept: _Kept) -> str:
        """A changed operation, in the words of the text if that can be."""
        line = self.line(op)
        assert line is not None
        if isinstance(op, scoped.ScopedOperation):
            return f"  {line}\n"
        given = [each for each in _LOCAL.finditer(kept.source.lines) if each[1]]
        before, now = _tokens(kept.printed), _tokens(line)
        if kept.source.head[0] is None and kept.result is not None:
            before, now = before[1:], now[1:]
        is_rewritten = _without_locals(line) != _without_locals(kept.printed)
        if is_rewritten or not len(given) == len(before) == len(now):
            return f"  {_with_references(line, kept.printed, kept.source.lines)}\n"
        pieces: list[str] = []
        end = 0
        for place, token in zip(given, now, strict=True):
            pieces += (kept.source.lines[end : place.start(1)], token)
            end = place.end(1)
        return "".join([*pieces, kept.source.lines[end:]])

    # Names

    def name_everything(self) -> None:
        """Names of the text stay; a new value takes that of the lost one whose uses it has."""
        self.labels |= self.kept.labels
        self.taken |= set(self.labels.values())
        lost: dict[SSAValue, str] = {}
        for value, text in self.kept.tokens.items():
            owner = value.owner
            if isinstance(owner, Block) or owner in self.alive:
                self._name(value, text)
            else:
                lost[value] = text
        self.loses_number = any(text[1:].isdecimal() for text in lost.values())
        for op, kept in self.kept.ops.items():
            if op not in self.alive:
                continue
            if type(op) is scoped.CmpxchgOp and kept.result is not None:
                self.structs[op] = kept.result
                self.taken.add(kept.result.removeprefix("%"))
            for before, now in zip(kept.operands, operands_of(op), strict=False) if lost else ():
                if before is not now and before in lost and now not in self.names:
                    self._name(now, lost.pop(before))
        super().name_everything()

    def _name(self, value: SSAValue, text: str) -> None:
        self.names[value] = text
        self.taken.add(text.removeprefix("%"))

    def _numbers(self) -> list[str]:
        """The numbers of values without a name, in order.

        Those within slices are there as long as these are, which no pass takes away.
        """
        blocks = self.function.body.blocks
        named = [self.names[argument] for argument in blocks[0].args]
        for block in blocks:
            named.append(f"%{self.labels[block]}")
            for op in block.ops:
                if isinstance(op, llvm_ir.SliceOp):
                    named += self.kept.ops[op].results
                elif isinstance(op, scoped.CmpxchgOp):
                    named += [self.structs[op]] if op in self.structs else []
                elif not isinstance(op, _NAMED_ELSEWHERE):
                    named += (self.names[result] for result in op.results)
        return [token[1:] for token in named if token[1:].isdecimal()]

    def _renumbered(self, text: str, numbers: Sequence[str]) -> str:
        """The function with numbers that follow one another, as LLVM wants them."""
        if _NUMBERED_BLOCK.search(self.edited.text):
            name = self.function.sym_name.data
            raise TranslationError(
                f"@{name} loses a value that has a number, and the module takes the address of a "
                "block by its number: give values names before, as 'opt -passes=instnamer -S' does"
            )
        new = {number: str(place) for place, number in enumerate(numbers)}

        def number(match: re.Match[str]) -> str:
            if match[2] in new:
                return f"%{new[match[2]]}"
            return f"{match[3]}{new[match[4]]}" if match[4] in new else match[0]

        return _NUMBERED.sub(number, text)


_NAMED_ELSEWHERE = (llvm_ir.ConstantOp, llvm_ir.PackOp, UnrealizedConversionCastOp)


def _without_locals(line: str) -> str:
    return _LOCAL.sub(lambda each: "" if each[1] else each[0], line)


def _tokens(line: str) -> list[str]:
    return [token for token in _LOCAL.findall(line) if token]
