"""LLVM IR text to ``scoped`` and ``llvm_ir`` operations.

LLVM itself parses, verifies and names; what it prints is read. Instructions
that access memory in a way that the ``scoped`` dialect can say become its operations, all
others are carried as their own text. Local names may not be given back as they were.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import count, groupby, repeat
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.collector import collector_paused
from fencewright.lowering.llvm.architecture import (
    CDNA,
    ORDERING_OF,
    UNORDERED,
    Architecture,
    architecture_of,
)
from fencewright.lowering.llvm.intrinsics.lookup import does_nothing
from fencewright.lowering.vocabulary import Availability, Ordering, RmwKind
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import (
    ADDRESS_SPACES,
    AVAILABILITIES,
    ORDERINGS,
    RMW_KINDS,
    SCOPES,
)
from fencewright.mlir_dialects.leaf_operation import append, set_type
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.mlir_dialects.llvm_ir.newer import with_own_names
from fencewright.mlir_dialects.llvm_ir.parser import Source, llvm_module
from fencewright.mlir_dialects.llvm_ir.sparse import carried_lines, functions_to_read
from fencewright.mlir_dialects.llvm_ir.text import (
    AV_TAG,
    MEMORY_OPCODE,
    NAME,
    NO_SOURCE_FILE,
    NODE,
    SYNCHRONIZE_AS,
    SYNCHRONIZE_AS_SPACES,
    MemoryInstruction,
    UnreadError,
    groups_in,
    quote_name,
    read_instruction,
    unquote_name,
)

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, ValueRef

    from fencewright.mlir_dialects.llvm_ir.inline_ptx import Translation

_UNIT = UnitAttr()
_BLOCKADDRESS = r'blockaddress\((?:"[^"]*"|[^)"])*\)'
_TOKEN = re.compile(rf'%({NAME})|"[^"]*"|{_BLOCKADDRESS}|\{{(?=[0-9^@{{%])')
_HINT = re.compile(r"[A-Za-z_$.-][\w$.-]*", re.ASCII)
_DEFAULT_BLOCK = re.compile("bb[0-9]+")
"""The names that xDSL's printer gives blocks by number, so that its parser drops them."""

_RESULT = re.compile(rf"%({NAME}) = ")
_LABEL = re.compile(rf"({NAME}):")
_HEADER_SYMBOL = re.compile(rf"@({NAME})(?=\()")
_STRING = re.compile(r'"[^"]*"')
_MEMORY_NONE = "memory(none)"
_LIMITS_MEMORY = re.compile(r"^attributes (#[0-9]+) = .*\bmemory\(", re.MULTILINE)
_DIRECT_CALL = re.compile(rf"(?:(?:tail|musttail|notail) )?call [^@%\"]*?@({NAME})\(")
_TYPE_DEFINITION = re.compile(rf"^%({NAME}) = type ", re.MULTILINE)
_NUMBERED_TYPE = re.compile(r"^[ \t]*%[0-9]+[ \t]*=[ \t]*type\b", re.MULTILINE)
_UNNAMED_TYPE = re.compile(r'%"type 0x[0-9a-f]+"')
"""The text that llvmlite prints for a struct type without a name: its address."""

_OF_OTHERS = r"!(?!mmra |nontemporal )[\w.]+ ![0-9]+"
_METADATA_APART = re.compile(rf'([^!"]*), ({_OF_OTHERS}(?:, {_OF_OTHERS})*)')
"""An access, and metadata of which the dialect has no words for any."""
_TAG = re.compile(r'!\{!"([^"]*)", !"([^"]*)"\}')
_REFERENCE = re.compile(r"![0-9]+")
_ORDERED = re.compile(r" (?:acquire|release|acq_rel|seq_cst)\b")
_MEMORY_PREFIXES = tuple(f"{opcode} " for opcode in MEMORY_OPCODE.split("|"))


def import_llvm_ir(text: str, file: str = "<string>") -> ModuleOp:
    """LLVM IR ``text`` as a module of ``scoped`` and ``llvm_ir`` operations.

    ``file`` is named in messages and locations. Raises ``ParseError`` for text that LLVM
    rejects, and for an ordered access that the ``scoped`` dialect has no words for.
    """
    with llvm_module(text, file) as module, collector_paused():
        _name_values(module)
        return _ModuleReader(module, Source(text, file)).read()


@dataclass(frozen=True, slots=True)
class ReadFunction:
    """A function as it was read, beside LLVM's print of it.

    ``blocks``: of each the instructions, as LLVM prints them; ``rows``: each operation that they
    have become, and how many of them. ``values`` and ``labels`` by LLVM's tokens for them,
    also where these are numbers; ``arguments``: their names in the text, empty for none.
    Of a function that is carried as text there is nothing of all that.
    """

    op: llvm_ir.FuncOp
    blocks: Sequence[list[str]] = ()
    rows: Sequence[tuple[Operation, int]] = ()
    values: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    labels: Mapping[str, Block] = field(default_factory=dict[str, Block])
    arguments: Sequence[str] = ()


def read_functions(
    text: str, file: str = "<string>", *, sparse: bool = False
) -> tuple[ModuleOp, list[ReadFunction]]:
    """The result of ``import_llvm_ir`` on ``text``, but values without names keep their numbers.

    Not where types have numbers too. With each function that has a body, as LLVM prints it.
    ``sparse``: what no pass of ours looks at has no operations of its own: see ``sparse``. Raises
    what ``import_llvm_ir`` raises.
    """
    with llvm_module(text, file) as module, collector_paused():
        names = [[each.name for each in function.arguments] for function in _defined_in(module)]
        (_name_values if _NUMBERED_TYPE.search(text) else _part_from_types)(module)
        reader = _ModuleReader(module, Source(text, file), sparse=sparse)
        op = reader.read()
        rows = zip(reader.functions, names, strict=True)
        return op, [replace(each, arguments=arguments) for each, arguments in rows]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The construction of the operation for every instruction with one template.

    ``operands`` holds for each operand its number among the local values of the template,
    or the text of a constant; ``types`` its type.
    """

    op_type: type[Operation]
    operands: tuple[int | str, ...]
    types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    struct: Attribute | None


_NOT_KNOWN = (llvm_ir.OpaqueType(StringAttr("?")),)
"""The type of a value before anybody says which."""

_OP_OF: dict[str, type[Operation]] = {
    "load": scoped.LoadOp,
    "store": scoped.StoreOp,
    "atomicrmw": scoped.AtomicRmwOp,
    "cmpxchg": scoped.CmpxchgOp,
    "fence": scoped.FenceOp,
}


_RELAXED_BY = "!mmra "


@lru_cache(maxsize=1 << 12)
def _plan_anywhere(template: str, architecture: Architecture) -> _Plan:
    """The plan for ``template`` in any module: it refers to no metadata that the dialect has words
    for."""
    return _plan(template, {}, architecture)


def _plan(template: str, nodes: Mapping[str, str], architecture: Architecture) -> _Plan:
    """The plan for ``template``. Raises ``UnreadError`` if the ``scoped`` dialect lacks words."""
    access = read_instruction(template)
    types = tuple(llvm_ir.type_from_text(type) for type, _ in access.operands)
    for type in types:
        if isinstance(type, LLVMPointerType) and isinstance(type.addr_space, IntAttr):
            _require_space(type.addr_space.data, architecture)
    properties = _properties(access, architecture)
    metadata = _take_metadata(access, properties, nodes)
    result_types: tuple[Attribute, ...] = ()
    if access.loaded is not None:
        result_types = (llvm_ir.type_from_text(access.loaded),)
    elif access.opcode in ("atomicrmw", "cmpxchg"):
        result_types = (types[1], i1)[: 1 + (access.opcode == "cmpxchg")]
    is_cmpxchg = access.opcode == "cmpxchg"
    attributes: dict[str, Attribute] = {}
    if metadata:
        attributes[llvm_ir.METADATA] = StringAttr(metadata)
    if access.ordering == UNORDERED:
        attributes[llvm_ir.UNORDERED] = StringAttr(access.syncscope or "")
    plan = _Plan(
        op_type=_OP_OF[access.opcode],
        operands=tuple([_operand(value) for _, value in access.operands]),
        types=types,
        result_types=result_types,
        properties=properties,
        attributes=attributes,
        struct=llvm_ir.type_from_text(f"{{ {access.operands[1][0]}, i1 }}") if is_cmpxchg else None,
    )
    _verify_plan(plan, types)
    return plan


_PTX_CALL = re.compile(r"call .*?(?: asm |@llvm\.nvvm\.)")
"""A call that may be of inline PTX or its like."""


def _understood(op_type: type[Operation], found: "Translation") -> _Plan:
    """The plan for a call that has been understood."""
    return _Plan(
        op_type=op_type,
        operands=found.operands,
        types=found.types,
        result_types=found.result_types,
        properties=found.properties,
        attributes=found.attributes,
        struct=None,
    )


def _require_space(number: int, architecture: Architecture) -> None:
    if number not in architecture.spaces:
        known = ", ".join(map(str, sorted(architecture.spaces)))
        raise UnreadError(f"address space {number} is not supported; known are {known}")


def _operand(value: str) -> int | str:
    place = llvm_ir.parse_template(value)
    return place.operands - 1 if place.operands else place.fill()


def _verify_plan(plan: _Plan, types: Sequence[Attribute]) -> None:
    """Ask the dialect itself whether such an operation has a meaning."""
    op = plan.op_type.create(
        operands=Block(arg_types=types).args,
        result_types=plan.result_types,
        properties=plan.properties,
    )
    try:
        op.verify_()
    except VerifyException as problem:
        raise UnreadError(str(problem)) from problem


def _properties(access: MemoryInstruction, architecture: Architecture) -> dict[str, Attribute]:
    ordering = ORDERING_OF[access.ordering]
    properties: dict[str, Attribute] = {"ordering": ORDERINGS[ordering]}
    if ordering is not Ordering.WEAK:
        if access.syncscope not in architecture.syncscopes:
            known = ", ".join(f'"{name}"' for name in architecture.syncscopes if name)
            raise UnreadError(f'unknown syncscope "{access.syncscope}"; known: {known}')
        scope, one_as = architecture.syncscopes[access.syncscope]
        properties["scope"] = SCOPES[scope]
        if one_as:
            properties["one_as"] = _UNIT
    if access.failure is not None:
        properties["failure_ordering"] = ORDERINGS[ORDERING_OF[access.failure]]
    if access.kind is not None:
        if access.kind not in RMW_KINDS:
            raise UnreadError(f"unknown atomicrmw '{access.kind}'; known: {', '.join(RmwKind)}")
        properties["kind"] = RMW_KINDS[access.kind]
    if access.volatile:
        properties["volatile"] = _UNIT
    if access.weak:
        properties["weak"] = _UNIT
    if access.alignment is not None:
        properties["alignment"] = IntegerAttr(access.alignment, i64)
    return properties


def _take_metadata(
    access: MemoryInstruction,
    properties: dict[str, Attribute],
    nodes: Mapping[str, str],
) -> str:
    """Put the metadata that the dialect expresses into ``properties``; returns the rest as text."""
    kept: list[str] = []
    for kind, node in access.metadata:
        if kind == "nontemporal" and access.opcode in ("load", "store"):
            properties["nontemporal"] = _UNIT
        elif (
            kind == "mmra"
            and ORDERING_OF[access.ordering] is not Ordering.WEAK
            and (said := _relaxations(nodes, node, access.opcode)) is not None
        ):
            properties.update(said)
        else:
            kept.append(f"!{kind} {node}")
    return ", ".join(kept)


def _relaxations(nodes: Mapping[str, str], node: str, opcode: str) -> dict[str, Attribute] | None:
    """The meaning of relaxation annotations; None if the dialect cannot express all of it.

    Source: LLVM MemoryModelRelaxationAnnotations; AMDGPUUsage, "Fence and Address Spaces";
    AMDGPUMemoryModel. Not to heed them is always sound.
    """
    text = nodes[node]
    texts = [text] if _TAG.fullmatch(text) else [nodes[n] for n in _REFERENCE.findall(text)]
    tags = [tag.groups() for each in texts if (tag := _TAG.fullmatch(each))]
    spaces = [suffix for prefix, suffix in tags if prefix == SYNCHRONIZE_AS]
    known = len(tags) == len(texts) and all(
        tag == AV_TAG or tag[0] == SYNCHRONIZE_AS for tag in tags
    )
    if not known or not set(spaces) <= set(SYNCHRONIZE_AS_SPACES) or (spaces and opcode != "fence"):
        return None
    said: dict[str, Attribute] = {}
    if spaces:
        said["spaces"] = ArrayAttr(ADDRESS_SPACES[space] for space in dict.fromkeys(spaces))
    if AV_TAG in tags:
        said["availability"] = AVAILABILITIES[Availability.NONE]
    return said


def _name_values(module: "ModuleRef") -> None:
    """Give every function, argument, block and instruction a name that no named type has."""
    import llvmlite.binding as llvm

    for function in module.functions:
        if not function.name:
            # LLVM makes it different from all others.
            function.name = "unnamed"
    llvm.initialize_all_targets()
    machine = llvm.Target.from_triple("amdgcn").create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
    for function in module.functions:
        if any("optnone" in each for each in _attributes_of(function)):
            _name_as_the_pass_does(function)
    _part_from_types(module)


def _part_from_types(module: "ModuleRef") -> None:
    """Give every value another name that has the name of a type."""
    taken = {type.name for type in module.struct_types} - {""}
    for value in _local_values(module.functions) if taken else ():
        while value.name in taken:
            value.name = f"{value.name}.value"


def _name_as_the_pass_does(function: "ValueRef") -> None:
    """Names values as instruction-namer would, which LLVM runs on no ``optnone`` function."""
    for value in _local_values([function]):
        if not value.name and str(value.type) != "void":
            value.name = "arg" if value.is_argument else "bb" if value.is_block else "i"


def _attributes_of(function: "ValueRef") -> list[str]:
    """The attributes of a function as text, without the strings in them."""
    return [_STRING.sub("", each.decode()) for each in function.attributes]


def _local_values(functions: "Iterable[ValueRef]") -> "Iterator[ValueRef]":
    for function in functions:
        yield from function.arguments
        for block in function.blocks:
            yield block
            yield from block.instructions


class _ModuleReader:
    """Reads LLVM's print, line by line, beside LLVM's own list of functions."""

    def __init__(
        self,
        module: "ModuleRef",
        source: Source,
        *,
        sparse: bool = False,
    ):
        self.source = source
        self.module = module
        self.sparse = sparse
        self.printed = with_own_names(str(module))
        self.architecture = architecture_of([module.triple])
        self.may_be_ptx = self.architecture.name != CDNA.name
        self.types = frozenset(_TYPE_DEFINITION.findall(self.printed))
        self.result_types: dict[str, tuple[Attribute, ...]] = {}
        self.strings: dict[str, StringAttr] = {}
        self.unnamed_types: dict[str, int] = {}
        self.plans: dict[str, _Plan | str] = {}
        self.accesses: list[tuple[Operation, str, str]] = []
        self.functions: list[ReadFunction] = []

    @cached_property
    def without_access(self) -> frozenset[str]:
        """The functions of which LLVM says that they touch no memory."""
        return frozenset(
            quote_name(function.name)
            for function in self.module.functions
            if does_nothing(function.name)
            or any(_MEMORY_NONE in each for each in _attributes_of(function))
        )

    @cached_property
    def limits(self) -> frozenset[str]:
        """The groups of attributes that say which memory a call may access."""
        return frozenset(_LIMITS_MEMORY.findall(self.printed))

    def understand(self, template: str) -> "Translation | None":
        """The translation of a call; ``NOT_UNDERSTOOD`` if LLVM may move accesses past it.

        None for all that is no PTX, of which nothing is imported.
        """
        if not self.may_be_ptx or not _PTX_CALL.search(template):
            return None
        from fencewright.mlir_dialects.llvm_ir import inline_ptx

        found = inline_ptx.understand(template)
        if llvm_ir.NO_ACCESS in found.attributes or self.limits.isdisjoint(groups_in(template)):
            return found
        return inline_ptx.NOT_UNDERSTOOD

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        """The text of each numbered metadata node."""
        return dict(NODE.findall(self.printed))

    def string(self, text: str) -> StringAttr:
        """The attribute for ``text``, made once."""
        attribute = self.strings.get(text)
        if attribute is None:
            attribute = self.strings[text] = StringAttr(text)
        return attribute

    def type_of(self, value: "ValueRef") -> Attribute:
        """The type of an LLVM value."""
        text = str(value.type).partition(" = type ")[0]
        return llvm_ir.type_from_text(_UNNAMED_TYPE.sub(self._number_type, text))

    def _number_type(self, match: re.Match[str]) -> str:
        number = self.unnamed_types.setdefault(match[0], len(self.unnamed_types))
        return f"%unnamed.{number}"

    def plan(self, template: str) -> _Plan | str:
        """The construction of a ``scoped`` operation from a template, or the reason against it."""
        plan = self.plans.get(template)
        if plan is None:
            plan = self.plans[template] = self._new_plan(template)
        return plan

    def _new_plan(self, template: str) -> _Plan | str:
        """With debug locations and their like, which tell accesses apart, put aside."""
        if apart := _METADATA_APART.fullmatch(template):
            plan = self.plan(apart[1])
            if isinstance(plan, str):
                return plan
            metadata = self.string(apart[2])
            return replace(plan, attributes={**plan.attributes, llvm_ir.METADATA: metadata})
        try:
            if _RELAXED_BY in template:
                return _plan(template, self.nodes, self.architecture)
            return _plan_anywhere(template, self.architecture)
        except UnreadError as reason:
            return str(reason)

    def read(self) -> ModuleOp:
        """The module as operations."""
        functions = [*_functions_in(self.printed)]
        to_read = self._to_read([text for _, text in functions])
        ops: list[Operation] = []
        defined = iter(_defined_in(self.module))
        for before, text in functions:
            ops += _lines_of_module(before)
            if not text:
                break
            function = next(defined)
            if to_read is None or _symbol_of(text) in to_read:
                read = _FunctionReader(self, function, text).read()
            else:
                read = ReadFunction(_as_text(text))
            self.functions.append(read)
            ops.append(read.op)
        self._locate()
        return ModuleOp(ops)

    def _to_read(self, functions: Iterable[str]) -> set[str] | None:
        """The functions that are read as operations; None for all of them."""
        if not self.sparse:
            return None
        by_symbol = {_symbol_of(text): text for text in functions if text}
        reads_assembly = self.architecture.name != CDNA.name
        return functions_to_read(by_symbol, self.without_access, reads_assembly=reads_assembly)

    def _locate(self) -> None:
        """Give the accesses their places in the source, and refuse those that cannot be carried."""
        places = self.source.memory_instructions([opcode for _, opcode, _ in self.accesses])
        file = StringAttr(self.source.file)
        for index, (op, _, problem) in enumerate(self.accesses):
            if problem:
                if places is None:
                    function = op.parent_op()
                    while not isinstance(function, llvm_ir.FuncOp):
                        assert function is not None
                        function = function.parent_op()
                    self.source.raise_in(problem, function.sym_name.data)
                self.source.raise_at(problem, *places[index])
            if places is not None and not (self.sparse and _is_weak(op)):
                line, column = places[index]
                op.location = FileLineColLoc(file, IntAttr(line), IntAttr(column))


def _defined_in(module: "ModuleRef") -> "Iterator[ValueRef]":
    return (function for function in module.functions if not function.is_declaration)


def _functions_in(printed: str) -> Iterator[tuple[str, str]]:
    """The text of each function with a body, after the text before it; at the end none."""
    end = 0
    while (start := printed.find("\ndefine ", max(end - 1, 0)) + 1) > 0:
        stop = printed.index("\n}\n", start) + len("\n}\n")
        yield printed[end:start], printed[start:stop]
        end = stop
    yield printed[end:], ""


def _lines_of_module(text: str) -> Iterator[llvm_ir.TopLevelOp]:
    for line in text.splitlines():
        if line and not line.startswith(";") and line != NO_SOURCE_FILE:
            yield llvm_ir.TopLevelOp.create(properties={"text": StringAttr(line)})


def _symbol_of(function: str) -> str:
    """The name in the header of a function, as LLVM writes it."""
    symbol = _HEADER_SYMBOL.search(function)
    assert symbol is not None
    return symbol[1]


def _as_text(function: str) -> llvm_ir.FuncOp:
    """A function of which only the header is an operation's."""
    header = function.partition("\n")[0].removesuffix(" {")
    symbol = _HEADER_SYMBOL.search(header)
    assert symbol is not None
    before, after = header[: symbol.start()], header[symbol.end() :]
    text = f"{llvm_ir.escape(before)}@{{@}}{llvm_ir.escape(after)}"
    body = Region(Block([llvm_ir.BodyOp.create()]))
    return llvm_ir.FuncOp(text, unquote_name(symbol[1]), body)


def _is_weak(op: Operation) -> bool:
    """True if ``op`` is a weak access, which orders nothing."""
    return isinstance(op, scoped.ScopedOperation) and op.scope is None


_OPERAND_PLACES = tuple(f"{{{n}}}" for n in range(64))


class _FunctionReader:
    """Reads one function: its header, then block by block its instructions."""

    def __init__(self, reader: _ModuleReader, function: "ValueRef", text: str):
        self.reader = reader
        self.function = function
        self.header, *self.lines, _ = text.splitlines()
        self.rows: list[tuple[Operation, int]] = []
        self.values: dict[str, SSAValue] = {}
        self.labels: dict[str, Block] = {}
        self.forward: dict[str, BlockArgument] = {}
        self.operands: list[SSAValue] = []
        self.successors: list[Block] | None = None
        self.block = self.elsewhere = Block()
        self.instructions: Iterator[tuple[int, ValueRef]] = iter(())
        self.number = 0

    def read(self) -> ReadFunction:
        """The function as an operation, and its original."""
        blocks = list(self._blocks())
        for label, _ in blocks:
            self.labels[label] = block = Block()
            if not _DEFAULT_BLOCK.fullmatch(label):
                _hint(block, label)
        entry = self.labels[blocks[0][0]]
        for argument, token in zip(self.function.arguments, self.arguments, strict=True):
            value = entry.insert_arg(self.reader.type_of(argument), len(entry.args))
            self._define(token, value)
        header = self._header()
        carried = self._carried([lines for _, lines in blocks])
        for (label, lines), given, kept in zip(blocks, self._given(), carried, strict=True):
            self.instructions, self.number = given, -1
            self._read_block(label, lines, kept)
        for token, placeholder in self.forward.items():
            if token in self.values:
                placeholder.replace_all_uses_with(self.values[token])
            else:
                self.values[token] = placeholder
        region = Region(list(self.labels.values()))
        op = llvm_ir.FuncOp(header, unquote_name(self._symbol), region)
        return ReadFunction(op, [lines for _, lines in blocks], self.rows, self.values, self.labels)

    def _given(self) -> "Iterator[Iterator[tuple[int, ValueRef]]]":
        """LLVM's instructions, block by block; none if no caller needs their types."""
        if self.reader.sparse:
            return repeat(iter(()), len(self.labels))
        return (enumerate(block.instructions) for block in self.function.blocks)

    def _carried(self, blocks: Sequence[Sequence[str]]) -> Iterable[Sequence[bool]]:
        """Of each block which instructions are carried as text."""
        if self.reader.sparse:
            return carried_lines(blocks, self.reader.without_access)
        return ([False] * len(lines) for lines in blocks)

    @cached_property
    def arguments(self) -> list[str]:
        """The tokens of the arguments: those without a name are numbered."""
        names = [argument.name for argument in self.function.arguments]
        numbers = count()
        return [quote_name(name) if name else str(next(numbers)) for name in names]

    def _blocks(self) -> Iterator[tuple[str, list[str]]]:
        """The label and the instructions of each block, an instruction with several lines joined.

        A first block without a name has no label, but a number.
        """
        label: str | None = None
        if not _LABEL.match(self.lines[0]):
            label = str(sum(token.isdecimal() for token in self.arguments))
        instructions: list[str] = []
        for line in self.lines:
            if line.startswith("  "):
                if line[2] not in " ]" or line.startswith("    #dbg_"):
                    instructions.append(line.strip())
                else:
                    instructions[-1] += f" {line.strip()}"
            elif match := _LABEL.match(line):
                if label is not None:
                    yield label, instructions
                label, instructions = match[1], []
        assert label is not None
        yield label, instructions

    def _header(self) -> str:
        symbol = _HEADER_SYMBOL.search(self.header)
        assert symbol is not None
        self._symbol = symbol[1]
        before, after = self.header[: symbol.start()], self.header[symbol.end() :]
        arguments = {value: n for n, value in enumerate(self.values.values())}

        def place(match: re.Match[str]) -> str:
            if match[1] in self.values:
                return f"{{{arguments[self.values[match[1]]]}}}"
            return _literal(match[0])

        return f"{_TOKEN.sub(place, before)}@{{@}}{_TOKEN.sub(place, after.removesuffix(' {'))}"

    def _read_block(self, label: str, lines: list[str], carried: Sequence[bool]) -> None:
        self.block = self.labels[label]
        append(self.block, llvm_ir.LabelOp.create(properties={"text": self.reader.string(label)}))
        for in_text, numbers in groupby(range(len(lines)), carried.__getitem__):
            if in_text:
                count = sum(1 for _ in numbers)
                self._add(llvm_ir.SliceOp.create(), count)
                continue
            for number in numbers:
                self._read_line(lines[number], is_last=number + 1 == len(lines))

    def _read_line(self, line: str, *, is_last: bool) -> None:
        self.operands = []
        if line[0] == "#":
            self._add_inst(self._template(line), None)
            return
        self.number += 1
        result = _RESULT.match(line) if line[0] == "%" else None
        text = line[result.end() :] if result else line
        token = result[1] if result else None
        if is_last:
            self._add_terminator(text, token)
        elif text.startswith(_MEMORY_PREFIXES):
            self._add_access(text, token)
        else:
            self._add_inst(self._template(text), token)

    def _add(self, op: Operation, lines: int = 1) -> None:
        """Add the operations that ``lines`` instructions have become."""
        append(self.block, op)
        self.rows.append((op, lines))

    # Values

    def _define(self, token: str, value: SSAValue) -> None:
        self.values[token] = value
        _hint(value, token)

    def _value(self, token: str) -> SSAValue:
        value = self.values.get(token)
        if value is None:
            value = self.forward.get(token)
        if value is None:
            value = BlockArgument(_NOT_KNOWN[0], self.elsewhere, 0, location=UNKNOWN_LOC)
            self.forward[token] = value
        return value

    # Opaque instructions

    def _place(self, match: re.Match[str]) -> str:
        token = match[1]
        if token is None:
            return _literal(match[0])
        if token in self.labels:
            if self.successors is None:
                return match[0]
            self.successors.append(self.labels[token])
            return f"{{^{len(self.successors) - 1}}}"
        if token not in self.values and token in self.reader.types:
            return match[0]
        self.operands.append(self._value(token))
        number = len(self.operands) - 1
        return _OPERAND_PLACES[number] if number < 64 else f"{{{number}}}"

    def _template(self, text: str) -> StringAttr:
        if "%" in text or "{" in text:
            text = _TOKEN.sub(self._place, text)
        return self.reader.string(text)

    def _result_types(self, template: str, token: str | None) -> tuple[Attribute, ...]:
        """LLVM's type of the result; by LLVM's syntax the template alone determines it."""
        if token is None:
            return ()
        if self.reader.sparse:
            return _NOT_KNOWN
        types = self.reader.result_types.get(template)
        if types is None:
            instruction = next(each for number, each in self.instructions if number == self.number)
            types = self.reader.result_types[template] = (self.reader.type_of(instruction),)
        return types

    def _add_inst(self, template: StringAttr, token: str | None) -> Operation:
        found = self.reader.understand(template.data)
        if found is not None and found.op_type is not None:
            return self._add_scoped(_understood(found.op_type, found), token)
        op = llvm_ir.InstOp.create(
            operands=self.operands,
            result_types=self._result_types(template.data, token),
            properties={"text": template},
        )
        if (call := _DIRECT_CALL.match(template.data)) and call[1] in self.reader.without_access:
            op.attributes[llvm_ir.NO_ACCESS] = _UNIT
        if found is not None:
            op.attributes.update(found.attributes)
        self._add(op)
        if token is not None:
            self._define(token, op.results[0])
        return op

    def _add_terminator(self, text: str, token: str | None) -> None:
        self.successors = []
        template = self._template(text)
        op = llvm_ir.TerminatorOp.create(
            operands=self.operands,
            result_types=self._result_types(template.data, token),
            properties={"text": template},
            successors=self.successors,
        )
        self.successors = None
        self._add(op)
        if token is not None:
            self._define(token, op.results[0])

    # Accesses

    def _add_access(self, text: str, token: str | None) -> None:
        template = self._template(text)
        plan = self.reader.plan(template.data)
        if isinstance(plan, _Plan):
            op, problem = self._add_scoped(plan, token), ""
        else:
            op = self._add_inst(template, token)
            problem = f"cannot carry '{text}': {plan}" if _ORDERED.search(text) else ""
        self.reader.accesses.append((op, text.partition(" ")[0], problem))

    def _add_scoped(self, plan: _Plan, token: str | None) -> Operation:
        operands = [
            self._typed(self.operands[source], type)
            if isinstance(source, int)
            else self._constant(type, source)
            for source, type in zip(plan.operands, plan.types, strict=True)
        ]
        op = plan.op_type.create(
            operands=operands,
            result_types=plan.result_types,
            properties=plan.properties,
            attributes=plan.attributes,
        )
        self._add(op)
        if plan.struct is not None:
            pack = llvm_ir.PackOp.create(operands=op.results, result_types=(plan.struct,))
            append(self.block, pack)
            assert token is not None
            self._define(token, pack.results[0])
        elif token is not None:
            self._define(token, op.results[0])
        return op

    def _typed(self, value: SSAValue, type: Attribute) -> SSAValue:
        """``value``, which is of ``type``: that of an instruction carried as text is known by
        uses."""
        if value.type is _NOT_KNOWN[0]:
            set_type(value, type)
        return value

    def _constant(self, type: Attribute, text: str) -> SSAValue:
        constant = llvm_ir.ConstantOp.create(
            result_types=(type,), properties={"text": self.reader.string(text)}
        )
        append(self.block, constant)
        return constant.results[0]


def _literal(text: str) -> str:
    """The text in a template of a token that is no place."""
    return "{{" if text == "{" else llvm_ir.escape(text)


def _hint(named: SSAValue | Block, token: str) -> None:
    if _HINT.fullmatch(token):
        named.name_hint = token
