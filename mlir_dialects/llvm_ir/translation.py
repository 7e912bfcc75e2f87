"""LLVM IR text to ``scoped`` and ``llvm_ir`` operations, and back.

LLVM itself (through llvmlite) parses, verifies and names; what it prints has one
instruction a line in one spelling, and only that spelling is read here. Instructions
that access memory in a way that the ``scoped`` dialect can say become its operations, all
others are carried as their own text. Two things are not given back as they were:
``unordered`` becomes ``monotonic``, which is stronger, and local names may change.
"""

import gc
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.dialects.builtin import (
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
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from fencewright.lowering.llvm_architecture import (
    UNKNOWN,
    Architecture,
    architecture_of,
    triples_in,
)
from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, RmwKind
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import (
    ADDRESS_SPACES,
    AVAILABILITIES,
    ORDERINGS,
    RMW_KINDS,
    SCOPES,
)
from fencewright.mlir_dialects.llvm_ir.dialect import (
    METADATA,
    NO_ACCESS,
    SIMPLE_TYPE,
    AwaitOp,
    ClobberOp,
    ConstantOp,
    FuncOp,
    InstOp,
    LabelOp,
    PackOp,
    TerminatorOp,
    TopLevelOp,
    escape,
    parse_template,
    type_from_text,
    type_to_text,
)
from fencewright.mlir_dialects.llvm_ir.newer import column_as_given, in_older_words, is_newer

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, ValueRef

_NO_SOURCE_FILE = 'source_filename = "<string>"'
"""What LLVM prints of a module that names no source file."""


class TranslationError(DiagnosticException):
    """A module that LLVM IR cannot express, or that LLVM rejects; says which operation and why."""


# ---------------------------------------------------------------------------------------
# Words
# ---------------------------------------------------------------------------------------

_ORDERING_OF = {
    None: Ordering.WEAK,
    "unordered": Ordering.RELAXED,
    "monotonic": Ordering.RELAXED,
    "acquire": Ordering.ACQUIRE,
    "release": Ordering.RELEASE,
    "acq_rel": Ordering.ACQ_REL,
    "seq_cst": Ordering.SEQ_CST,
}
_ORDERING_TEXT = {word: text for text, word in _ORDERING_OF.items()}

_SYNCHRONIZE_AS = "amdgpu-synchronize-as"
_SYNCHRONIZE_AS_SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL)
_AV_TAG = ("amdgcn-av", "none")
_UNIT = UnitAttr()


# ---------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------

_BARE_NAME = r"[-a-zA-Z$._][-a-zA-Z$._0-9]*"


def quote_name(name: str) -> str:
    """``name`` as LLVM writes it behind ``%`` or ``@``."""
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


# ---------------------------------------------------------------------------------------
# Reading LLVM's text
# ---------------------------------------------------------------------------------------

_NAME = rf'(?:{_BARE_NAME}|"[^"]*"|[0-9]+)'
_BLOCKADDRESS = r'blockaddress\((?:"[^"]*"|[^)"])*\)'
_TOKEN = re.compile(rf'%({_NAME})|"[^"]*"|{_BLOCKADDRESS}|\{{(?=[0-9^@{{%])')
_HINT = re.compile(r"[A-Za-z_$.-][\w$.-]*", re.ASCII)
_DEFAULT_BLOCK = re.compile("bb[0-9]+")
"""What xDSL's printer calls blocks by their number, so that its parser forgets it."""

_RESULT = re.compile(rf"%({_NAME}) = ")
_LABEL = re.compile(rf"({_NAME}):")
_HEADER_SYMBOL = re.compile(rf"@({_NAME})(?=\()")
_STRING = re.compile(r'"[^"]*"')
_MEMORY_NONE = "memory(none)"
_WITHOUT_ACCESS = re.compile(
    r"llvm\.(?:assume|lifetime\.(?:start|end)\..*"
    r"|amdgcn\.(?:s\.sleep|s\.nop|s\.setprio|sched\.barrier|sched\.group\.barrier|iglp\.opt)"
    r"|nvvm\.nanosleep)"
)
"""Intrinsics that touch no memory though LLVM does not say so, so that they stay in place.

Source: LLVM LangRef; LLVM AMDGPUUsage, LLVM IR Intrinsics; LLVM NVPTXUsage.
"""
_DIRECT_CALL = re.compile(rf"(?:(?:tail|musttail|notail) )?call [^@%\"]*?@({_NAME})\(")
_TYPE_DEFINITION = re.compile(rf"^%({_NAME}) = type ", re.MULTILINE)
_UNNAMED_TYPE = re.compile(r'%"type 0x[0-9a-f]+"')
"""How llvmlite prints a struct type without a name: by its address."""

_NODE = re.compile(r"^(![0-9]+) = (?:distinct )?(.*)$", re.MULTILINE)
_TAG = re.compile(r'!\{!"([^"]*)", !"([^"]*)"\}')
_PARSE_ERROR = re.compile(r"<string>:([0-9]+):([0-9]+): (?:error: )?(.*)")
_MEMORY_OPCODE = r"load|store|atomicrmw|cmpxchg|fence"
_MEMORY_INSTRUCTION = re.compile(
    rf"^[ \t]*((?:%{_NAME}[ \t]*=[ \t]*)?({_MEMORY_OPCODE})\b)", re.MULTILINE
)

_COMPARE_EXCHANGE = re.compile(
    r'"[^"]*"|;[^\n]*'
    rf"|\bcmpxchg\s+(?:(?:weak|volatile)\s+)*ptr\s*(?:addrspace\([0-9]+\)\s*)?[%@]{_NAME}\s*,"
    r"\s*(?P<type>i[0-9]{1,8}\b|half|bfloat|float|double|x86_fp80|fp128|ppc_fp128|[<\[{])"
)
"""A ``cmpxchg`` of anything but pointers, with its type; or a string or comment."""

_ORDERING_WORD = "unordered|monotonic|acquire|release|acq_rel|seq_cst"
_TYPED = re.compile(rf"({SIMPLE_TYPE}) (.+)")
_ACCESS = re.compile(rf"({_MEMORY_OPCODE})( weak)?(?: atomic)?( volatile)? (.+)")
_TAIL = re.compile(
    rf'(.*?)(?: syncscope\("([^"]*)"\))?(?: ({_ORDERING_WORD}))?(?: ({_ORDERING_WORD}))?'
)
_ATTACHMENT = re.compile(r"!([^ ]+) (![0-9]+)")
_ALIGN = "align "
_REFERENCE = re.compile(r"![0-9]+")
_ORDERED = re.compile(r" (?:acquire|release|acq_rel|seq_cst)\b")
_MEMORY_PREFIXES = tuple(f"{opcode} " for opcode in _MEMORY_OPCODE.split("|"))


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


class _UnreadError(Exception):
    """An access that the ``scoped`` dialect has no words for, and why."""


@dataclass(frozen=True, slots=True)
class _Access:
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


def _read_access(text: str) -> _Access:
    """Take an instruction of LLVM's apart. Raises ``_UnreadError`` for unusual types."""
    fields = _split_fields(text)
    metadata: list[tuple[str, str]] = []
    while len(fields) > 1 and (attachment := _ATTACHMENT.fullmatch(fields[-1])):
        metadata.insert(0, (attachment[1], attachment[2]))
        fields.pop()
    alignment = int(fields.pop().removeprefix(_ALIGN)) if fields[-1].startswith(_ALIGN) else None
    opening = _ACCESS.fullmatch(fields[0])
    ending = _TAIL.fullmatch(fields[-1])
    if opening is None or ending is None:
        raise _UnreadError("it is not written as LLVM 22 writes it")
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
        raise _UnreadError(f"memory cannot be accessed as {loaded}")
    return _Access(
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
        raise _UnreadError(f"memory cannot be accessed as '{text}'")
    return typed[1], typed[2]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to make the operation for every instruction with one template.

    ``operands`` holds for each operand its number among the local values of the template,
    or the (type, text) of a constant.
    """

    op_type: type[Operation]
    operands: tuple[int | tuple[Attribute, str], ...]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    struct: Attribute | None


_OP_OF: dict[str, type[Operation]] = {
    "load": scoped.LoadOp,
    "store": scoped.StoreOp,
    "atomicrmw": scoped.AtomicRmwOp,
    "cmpxchg": scoped.CmpxchgOp,
    "fence": scoped.FenceOp,
}


def _plan(
    template: str, nodes: Callable[[], Mapping[str, str]], architecture: Architecture
) -> _Plan:
    """The plan for ``template``. Raises ``_UnreadError`` if the ``scoped`` dialect lacks words."""
    access = _read_access(template)
    types = tuple(type_from_text(type) for type, _ in access.operands)
    for type in types:
        if isinstance(type, LLVMPointerType) and isinstance(type.addr_space, IntAttr):
            _require_space(type.addr_space.data, architecture)
    properties = _properties(access, architecture)
    metadata = _take_metadata(access, properties, nodes)
    result_types: tuple[Attribute, ...] = ()
    if access.loaded is not None:
        result_types = (type_from_text(access.loaded),)
    elif access.opcode in ("atomicrmw", "cmpxchg"):
        result_types = (types[1], i1)[: 1 + (access.opcode == "cmpxchg")]
    is_cmpxchg = access.opcode == "cmpxchg"
    plan = _Plan(
        op_type=_OP_OF[access.opcode],
        operands=tuple(map(_operand, access.operands)),
        result_types=result_types,
        properties=properties,
        attributes={METADATA: StringAttr(metadata)} if metadata else {},
        struct=type_from_text(f"{{ {access.operands[1][0]}, i1 }}") if is_cmpxchg else None,
    )
    _verify_plan(plan, types)
    return plan


def _require_space(number: int, architecture: Architecture) -> None:
    if number not in architecture.spaces:
        known = ", ".join(map(str, sorted(architecture.spaces)))
        raise _UnreadError(f"address space {number} is not supported; known are {known}")


def _operand(typed: tuple[str, str]) -> int | tuple[Attribute, str]:
    type, value = typed
    place = parse_template(value)
    return place.operands - 1 if place.operands else (type_from_text(type), place.fill())


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
        raise _UnreadError(str(problem)) from problem


def _properties(access: _Access, architecture: Architecture) -> dict[str, Attribute]:
    ordering = _ORDERING_OF[access.ordering]
    properties: dict[str, Attribute] = {"ordering": ORDERINGS[ordering]}
    if ordering is not Ordering.WEAK:
        if access.syncscope not in architecture.syncscopes:
            known = ", ".join(f'"{name}"' for name in architecture.syncscopes if name)
            raise _UnreadError(f'unknown syncscope "{access.syncscope}"; known: {known}')
        scope, one_as = architecture.syncscopes[access.syncscope]
        properties["scope"] = SCOPES[scope]
        if one_as:
            properties["one_as"] = _UNIT
    if access.failure is not None:
        properties["failure_ordering"] = ORDERINGS[_ORDERING_OF[access.failure]]
    if access.kind is not None:
        if access.kind not in RMW_KINDS:
            raise _UnreadError(f"unknown atomicrmw '{access.kind}'; known: {', '.join(RmwKind)}")
        properties["kind"] = RMW_KINDS[access.kind]
    if access.volatile:
        properties["volatile"] = _UNIT
    if access.weak:
        properties["weak"] = _UNIT
    if access.alignment is not None:
        properties["alignment"] = IntegerAttr(access.alignment, i64)
    return properties


def _take_metadata(
    access: _Access,
    properties: dict[str, Attribute],
    nodes: Callable[[], Mapping[str, str]],
) -> str:
    """Put what the dialect has words for into ``properties``; returns the rest as text."""
    kept: list[str] = []
    for kind, node in access.metadata:
        if kind == "nontemporal" and access.opcode in ("load", "store"):
            properties["nontemporal"] = _UNIT
        elif (
            kind == "mmra"
            and access.ordering is not None
            and (said := _relaxations(nodes(), node, access.opcode)) is not None
        ):
            properties.update(said)
        else:
            kept.append(f"!{kind} {node}")
    return ", ".join(kept)


def _relaxations(nodes: Mapping[str, str], node: str, opcode: str) -> dict[str, Attribute] | None:
    """What memory model relaxation annotations say; None if the dialect cannot say all of it.

    Source: LLVM MemoryModelRelaxationAnnotations; AMDGPUUsage, "Fence and Address Spaces";
    AMDGPUMemoryModel. Not to heed them is always sound.
    """
    text = nodes[node]
    texts = [text] if _TAG.fullmatch(text) else [nodes[n] for n in _REFERENCE.findall(text)]
    tags = [tag.groups() for each in texts if (tag := _TAG.fullmatch(each))]
    spaces = [suffix for prefix, suffix in tags if prefix == _SYNCHRONIZE_AS]
    known = len(tags) == len(texts) and all(
        tag == _AV_TAG or tag[0] == _SYNCHRONIZE_AS for tag in tags
    )
    if (
        not known
        or not set(spaces) <= set(_SYNCHRONIZE_AS_SPACES)
        or (spaces and opcode != "fence")
    ):
        return None
    said: dict[str, Attribute] = {}
    if spaces:
        said["spaces"] = ArrayAttr(ADDRESS_SPACES[space] for space in dict.fromkeys(spaces))
    if _AV_TAG in tags:
        said["availability"] = AVAILABILITIES[Availability.NONE]
    return said


# ---------------------------------------------------------------------------------------
# LLVM's parser
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """The text as it was given, for messages and locations."""

    text: str
    file: str

    def raise_at(self, message: str, line: int, column: int) -> NoReturn:
        """Raise ``ParseError`` at a line and column that count from 1."""
        starts = self._line_starts
        start = starts[min(line, len(starts)) - 1] + column - 1
        self.raise_at_offset(message, min(start, len(self.text)))

    def raise_at_offset(self, message: str, start: int) -> NoReturn:
        """Raise ``ParseError`` at a character of the text."""
        raise ParseError(Span(start, min(start + 1, len(self.text)), self._input), message)

    def raise_as_llvm_says(
        self, problem: str, column_as_given: Callable[[str, int], int] = lambda _, column: column
    ) -> NoReturn:
        """Raise what LLVM's parser says, at the place that it names if it does.

        ``column_as_given``: where a column that it names is in a line of the text.
        """
        place = _PARSE_ERROR.search(problem)
        hint = self._newer_llvm
        if place is None:
            reason = problem.splitlines()[-1]
            raise TranslationError(f"LLVM rejects the module: {reason}{hint}") from None
        line, column = int(place[1]), int(place[2])
        lines = self.text.splitlines()
        if line <= len(lines):
            column = column_as_given(lines[line - 1], column)
        self.raise_at(f"{place[3]}{hint}", line, column)

    @property
    def _newer_llvm(self) -> str:
        """What to say of text of a newer LLVM than llvmlite's."""
        version = _llvm_version()
        if not is_newer(self.text, int(version.partition(".")[0])):
            return ""
        return f"; this is the LLVM IR of a newer LLVM, and llvmlite here reads that of {version}"

    def raise_in(self, message: str, function: str) -> NoReturn:
        """Raise ``ParseError`` where the function is defined."""
        definition = re.search(rf"^[ \t]*define\b.*@{re.escape(function)}\(", self.text, re.M)
        line = self.text.count("\n", 0, definition.start()) + 1 if definition else 1
        self.raise_at(f"in function @{function}: {message}", line, 1)

    def memory_instructions(self, opcodes: Sequence[str]) -> list[tuple[int, int]] | None:
        """Line and column of each memory instruction; None if they are not these ``opcodes``."""
        found = [(match[2], match.start(1)) for match in _MEMORY_INSTRUCTION.finditer(self.text)]
        if [opcode for opcode, _ in found] != list(opcodes):
            return None
        places: list[tuple[int, int]] = []
        line, line_start, position = 1, 0, 0
        for _, start in found:
            line += self.text.count("\n", position, start)
            line_start = self.text.rfind("\n", 0, start) + 1
            places.append((line, start - line_start + 1))
            position = start
        return places

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(newline.end() for newline in re.finditer("\n", self.text))]

    @cached_property
    def _input(self) -> Input[str]:
        return Input(self.text, self.file)


@contextmanager
def llvm_module(text: str, file: str) -> "Generator[ModuleRef]":
    """LLVM's module of ``text``, parsed and verified in a context of its own.

    Both are freed at the end, in the order that LLVM needs: a garbage collection that finds
    them in one cycle frees them in any. Raises ``ParseError`` at the place that LLVM names,
    ``TranslationError`` if it names none. Text that makes LLVM end the process does so: see
    ``fencewright.tools.inputs.llvm_child``.
    """
    source = _Source(text, file)
    if "\0" in text:
        source.raise_at("not text: it has a null character", 1, 1)
    _check_compare_exchanges(source)
    with ExitStack() as stack:
        module = _parse(source, stack)
        _verify(module)
        yield module


def _parse(source: _Source, stack: ExitStack) -> "ModuleRef":
    from llvmlite.binding import parse_assembly

    try:
        return _read(parse_assembly, source.text, stack)
    except RuntimeError as problem:
        older = in_older_words(source.text)
        if older == source.text:
            source.raise_as_llvm_says(str(problem))
    try:
        return _read(parse_assembly, older, stack)
    except RuntimeError as problem:
        source.raise_as_llvm_says(str(problem), column_as_given)


def _read(parse: Callable[[Any, Any], "ModuleRef"], content: str | bytes, stack: ExitStack):
    """The module that ``parse`` makes of ``content``; ``stack`` frees it, and then its context."""
    from llvmlite.binding import set_option
    from llvmlite.binding.context import (  # pyright: ignore[reportMissingTypeStubs]  # typeshed lacks it
        create_context,
    )

    # With debug information LLVM verifies while it parses, and ends the process if that fails.
    set_option("fencewright", "--disable-auto-upgrade-debug-info")
    # typeshed does not know that both can be closed
    with ExitStack() as opened:
        context = opened.enter_context(closing(cast(Any, create_context())))
        module = opened.enter_context(closing(cast(Any, parse(content, context))))
        stack.push(opened.pop_all())
        return cast("ModuleRef", module)


def disassemble(bitcode: bytes) -> str:
    """The text of a module of LLVM bitcode. Raises ``TranslationError``."""
    from llvmlite.binding.module import (  # pyright: ignore[reportMissingTypeStubs]  # typeshed lacks it
        parse_bitcode,  # pyright: ignore[reportUnknownVariableType]
    )

    with ExitStack() as stack:
        try:
            return str(_read(cast(Any, parse_bitcode), bitcode, stack))
        except RuntimeError as problem:
            reason = str(problem).splitlines()[-1]
            raise TranslationError(
                f"LLVM {_llvm_version()} cannot read this bitcode: {reason}; give it LLVM IR as "
                "text (llvm-dis) if a newer LLVM wrote it"
            ) from None


def _llvm_version() -> str:
    """The version of llvmlite's LLVM, as ``22.1``."""
    from llvmlite.binding import llvm_version_info

    return ".".join(map(str, llvm_version_info[:2]))


def _check_compare_exchanges(source: _Source) -> None:
    """Raise ``ParseError`` at a ``cmpxchg`` of a type whose alignment LLVM's parser asserts."""
    if "cmpxchg" not in source.text:
        return
    for match in _COMPARE_EXCHANGE.finditer(source.text):
        type = match["type"]
        if type is None:
            continue
        width = int(type[1:]) if type[1:].isdecimal() else 0
        if width % 8 or width.bit_count() != 1:
            source.raise_at_offset(
                f"cmpxchg of {type}: it takes a pointer, or an integer of a power of two bytes",
                match.start("type"),
            )


def _verify(module: "ModuleRef") -> None:
    try:
        module.verify()
    except RuntimeError as problem:
        message = "; ".join(line.strip() for line in str(problem).splitlines() if line.strip())
        raise TranslationError(f"LLVM rejects the module: {message}") from None


def try_to_read(content: str | bytes) -> None:
    """Let LLVM read and print text or bitcode, for a process that it may end.

    Raises what reading it raises.
    """
    text = content if isinstance(content, str) else disassemble(content)
    with llvm_module(text, "") as module:
        str(module)


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
    taken = {type.name for type in module.struct_types} - {""}
    for value in _local_values(module.functions) if taken else ():
        while value.name in taken:
            value.name = f"{value.name}.value"


def _name_as_the_pass_does(function: "ValueRef") -> None:
    """What instruction-namer would do, which LLVM runs on no function that is ``optnone``."""
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


# ---------------------------------------------------------------------------------------
# Import
# ---------------------------------------------------------------------------------------


def import_llvm_ir(text: str, file: str = "<string>") -> ModuleOp:
    """LLVM IR ``text`` as a module of ``scoped`` and ``llvm_ir`` operations.

    ``file`` is named in messages and locations. Raises ``ParseError`` for text that LLVM
    rejects, and for an ordered access that the ``scoped`` dialect has no words for.
    """
    with llvm_module(text, file) as module, _collector_paused():
        _name_values(module)
        return _ModuleReader(module, _Source(text, file)).read()


@contextmanager
def _collector_paused() -> Generator[None]:
    """Keep Python from searching for garbage while many objects are made and none dropped."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _ModuleReader:
    """Reads what LLVM printed, line by line, beside LLVM's own list of functions."""

    def __init__(self, module: "ModuleRef", source: _Source):
        self.source = source
        self.module = module
        self.printed = str(module)
        self.architecture = architecture_of([module.triple])
        self.types = frozenset(_TYPE_DEFINITION.findall(self.printed))
        self.result_types: dict[str, tuple[Attribute, ...]] = {}
        self.strings: dict[str, StringAttr] = {}
        self.unnamed_types: dict[str, int] = {}
        self.plans: dict[str, _Plan | str] = {}
        self.accesses: list[tuple[Operation, str, str]] = []

    @cached_property
    def without_access(self) -> frozenset[str]:
        """The functions of which LLVM says that they touch no memory."""
        return frozenset(
            quote_name(function.name)
            for function in self.module.functions
            if _WITHOUT_ACCESS.fullmatch(function.name)
            or any(_MEMORY_NONE in each for each in _attributes_of(function))
        )

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        """The text of each numbered metadata node."""
        return dict(_NODE.findall(self.printed))

    def string(self, text: str) -> StringAttr:
        """The attribute for ``text``, made once."""
        attribute = self.strings.get(text)
        if attribute is None:
            attribute = self.strings[text] = StringAttr(text)
        return attribute

    def type_of(self, value: "ValueRef") -> Attribute:
        """The type of an LLVM value."""
        text = str(value.type).partition(" = type ")[0]
        return type_from_text(_UNNAMED_TYPE.sub(self._number_type, text))

    def _number_type(self, match: re.Match[str]) -> str:
        number = self.unnamed_types.setdefault(match[0], len(self.unnamed_types))
        return f"%unnamed.{number}"

    def plan(self, template: str) -> _Plan | str:
        """How to make a ``scoped`` operation from a template, or why none says the same."""
        plan = self.plans.get(template)
        if plan is None:
            try:
                plan = _plan(template, lambda: self.nodes, self.architecture)
            except _UnreadError as reason:
                plan = str(reason)
            self.plans[template] = plan
        return plan

    def read(self) -> ModuleOp:
        """The module as operations."""
        defined = (f for f in self.module.functions if not f.is_declaration)
        ops: list[Operation] = []
        body: list[str] | None = None
        for line in self.printed.splitlines():
            if body is not None:
                if line != "}":
                    body.append(line)
                    continue
                ops.append(_FunctionReader(self, next(defined), body).read())
                body = None
            elif line.startswith("define "):
                body = [line]
            elif line and not line.startswith(";") and line != _NO_SOURCE_FILE:
                ops.append(TopLevelOp(line))
        self._locate()
        return ModuleOp(ops)

    def _locate(self) -> None:
        """Give the accesses their places in the source, and refuse what cannot be carried."""
        places = self.source.memory_instructions([opcode for _, opcode, _ in self.accesses])
        file = StringAttr(self.source.file)
        for index, (op, _, problem) in enumerate(self.accesses):
            if problem:
                if places is None:
                    function = op.parent_op()
                    while not isinstance(function, FuncOp):
                        assert function is not None
                        function = function.parent_op()
                    self.source.raise_in(problem, function.sym_name.data)
                self.source.raise_at(problem, *places[index])
            if places is not None:
                line, column = places[index]
                op.location = FileLineColLoc(file, IntAttr(line), IntAttr(column))


_OPERAND_PLACES = tuple(f"{{{n}}}" for n in range(64))


class _FunctionReader:
    """Reads one function: its header, then block by block its instructions."""

    def __init__(self, reader: _ModuleReader, function: "ValueRef", lines: list[str]):
        self.reader = reader
        self.function = function
        self.header, *self.lines = lines
        self.values: dict[str, SSAValue] = {}
        self.labels: dict[str, Block] = {}
        self.forward: dict[str, BlockArgument] = {}
        self.operands: list[SSAValue] = []
        self.successors: list[Block] | None = None
        self.block = Block()
        self.instructions: Iterator[tuple[int, ValueRef]] = iter(())
        self.number = 0

    def read(self) -> FuncOp:
        """The function as an operation."""
        blocks = list(self._blocks())
        for label, _ in blocks:
            self.labels[label] = block = Block()
            if not _DEFAULT_BLOCK.fullmatch(label):
                _hint(block, label)
        entry = self.labels[blocks[0][0]]
        for argument in self.function.arguments:
            value = entry.insert_arg(self.reader.type_of(argument), len(entry.args))
            self._define(quote_name(argument.name), value)
        header = self._header()
        for (label, lines), block in zip(blocks, self.function.blocks, strict=True):
            self._read_block(label, lines, block)
        for token, placeholder in self.forward.items():
            placeholder.replace_all_uses_with(self.values[token])
        return FuncOp(header, unquote_name(self._symbol), Region(list(self.labels.values())))

    def _blocks(self) -> Iterator[tuple[str, list[str]]]:
        """The label and the instructions of each block, an instruction with several lines joined."""
        label: str | None = None
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

    def _read_block(self, label: str, lines: list[str], block: "ValueRef") -> None:
        self.block = self.labels[label]
        self.block.add_op(LabelOp.create(properties={"text": self.reader.string(label)}))
        self.instructions, self.number = enumerate(block.instructions), -1
        for number, line in enumerate(lines, 1):
            self.operands = []
            if line[0] == "#":
                self._add_inst(self._template(line), None)
                continue
            self.number += 1
            result = _RESULT.match(line) if line[0] == "%" else None
            text = line[result.end() :] if result else line
            token = result[1] if result else None
            if number == len(lines):
                self._add_terminator(text, token)
            elif text.startswith(_MEMORY_PREFIXES):
                self._add_access(text, token)
            else:
                self._add_inst(self._template(text), token)

    # Values

    def _define(self, token: str, value: SSAValue) -> None:
        self.values[token] = value
        _hint(value, token)

    def _value(self, token: str) -> SSAValue:
        value = self.values.get(token)
        if value is None:
            value = self.forward.get(token)
        if value is None:
            value = self.forward[token] = Block(arg_types=[i1]).args[0]
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
        """What LLVM says the result is; by LLVM's syntax the template alone determines it."""
        if token is None:
            return ()
        types = self.reader.result_types.get(template)
        if types is None:
            instruction = next(each for number, each in self.instructions if number == self.number)
            types = self.reader.result_types[template] = (self.reader.type_of(instruction),)
        return types

    def _add_inst(self, template: StringAttr, token: str | None) -> InstOp:
        op = InstOp.create(
            operands=self.operands,
            result_types=self._result_types(template.data, token),
            properties={"text": template},
        )
        if (call := _DIRECT_CALL.match(template.data)) and call[1] in self.reader.without_access:
            op.attributes[NO_ACCESS] = _UNIT
        self.block.add_op(op)
        if token is not None:
            self._define(token, op.results[0])
        return op

    def _add_terminator(self, text: str, token: str | None) -> None:
        self.successors = []
        template = self._template(text)
        op = TerminatorOp.create(
            operands=self.operands,
            result_types=self._result_types(template.data, token),
            properties={"text": template},
            successors=self.successors,
        )
        self.successors = None
        self.block.add_op(op)
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
            self.operands[source] if isinstance(source, int) else self._constant(*source)
            for source in plan.operands
        ]
        op = plan.op_type.create(
            operands=operands,
            result_types=plan.result_types,
            properties=plan.properties.copy(),
            attributes=plan.attributes.copy(),
        )
        self.block.add_op(op)
        if plan.struct is not None:
            pack = PackOp.create(operands=op.results, result_types=(plan.struct,))
            self.block.add_op(pack)
            assert token is not None
            self._define(token, pack.results[0])
        elif token is not None:
            self._define(token, op.results[0])
        return op

    def _constant(self, type: Attribute, text: str) -> SSAValue:
        constant = ConstantOp.create(
            result_types=(type,), properties={"text": self.reader.string(text)}
        )
        self.block.add_op(constant)
        return constant.results[0]


def _literal(text: str) -> str:
    """What a token that is no place looks like in a template."""
    return "{{" if text == "{" else escape(text)


def _hint(named: SSAValue | Block, token: str) -> None:
    if _HINT.fullmatch(token):
        named.name_hint = token


# ---------------------------------------------------------------------------------------
# Export
# ---------------------------------------------------------------------------------------


def export_llvm_ir(module: ModuleOp) -> str:
    """``module`` as LLVM IR, parsed and verified by LLVM and printed as LLVM prints it.

    Raises ``TranslationError`` for an operation that LLVM IR has no words for, and for a
    module that LLVM rejects.
    """
    return as_llvm_prints(write_llvm_ir(module))


def write_llvm_ir(module: ModuleOp) -> str:
    """``module`` as LLVM IR that LLVM has not seen yet. Raises ``TranslationError``."""
    return _ModuleWriter().write(module)


def as_llvm_prints(text: str) -> str:
    """Exported ``text``, parsed, verified and printed by LLVM. Raises ``TranslationError``."""
    try:
        with llvm_module(text, "<exported>") as exported:
            lines = str(exported).splitlines()
    except ParseError as problem:
        line = text.splitlines()[problem.span.get_location().line - 1].strip()
        raise TranslationError(
            f"LLVM rejects the exported module: {problem.msg}, in '{line}'"
        ) from problem
    kept = [line for line in lines[1:] if line != _NO_SOURCE_FILE]
    return "\n".join([*kept, ""]).lstrip("\n")


class _ModuleWriter:
    """Writes the lines of a module; metadata that was made on the way comes last."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        self.first_node = 0
        self.architecture = UNKNOWN

    def write(self, module: ModuleOp) -> str:
        """The text of the module."""
        lines: list[str] = []
        top_level = [op.text.data for op in module.body.ops if isinstance(op, TopLevelOp)]
        self.architecture = architecture_of(triples_in(top_level))
        for op in module.body.ops:
            if isinstance(op, TopLevelOp):
                if node := _NODE.match(op.text.data):
                    self.first_node = max(self.first_node, int(node[1][1:]) + 1)
        for op in module.body.ops:
            match op:
                case TopLevelOp():
                    lines.append(op.text.data)
                case FuncOp():
                    lines.extend(_FunctionWriter(self, op).lines())
                case _:
                    _refuse(op, "only llvm_ir.top_level and llvm_ir.func stand in a module")
        lines.extend(f"!{number} = {text}" for text, number in self.nodes.items())
        return "\n".join([*lines, ""])

    def node(self, text: str) -> str:
        """The reference to a metadata node of this ``text``."""
        number = self.nodes.setdefault(text, self.first_node + len(self.nodes))
        return f"!{number}"


class _FunctionWriter:
    """Writes one function: first every value and block gets its name, then line by line."""

    def __init__(self, writer: _ModuleWriter, function: FuncOp):
        self.writer = writer
        self.function = function
        self.labels: dict[Block, str] = {}
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.counters: dict[str, int] = {}
        self.structs: dict[Operation, str] = {}

    def lines(self) -> Iterator[str]:
        """The lines of the function."""
        self._name_everything()
        blocks = self.function.body.blocks
        arguments = [self.names[argument] for argument in blocks[0].args]
        symbol = quote_name(self.function.sym_name.data)
        header = parse_template(self.function.text.data)
        yield f"{header.fill(arguments, symbol=symbol)} {{"
        for block in blocks:
            yield f"{self.labels[block]}:"
            for machine_code, ops in groupby(block.ops, _is_machine_code):
                if machine_code:
                    yield f"  {self.write_assembly(tuple(ops))}"
                    continue
                for op in ops:
                    if (write := _WRITE.get(type(op))) is not None:
                        yield f"  {write(self, op)}"
                    elif type(op) not in _WITHOUT_A_LINE:
                        _refuse(op, "only scoped, llvm_ir and cdna's cache operations can")
        yield "}"

    # Names

    def _name_everything(self) -> None:
        blocks = self.function.body.blocks
        for block in blocks:
            if isinstance(label := block.first_op, LabelOp):
                self.labels[block] = label.text.data
                self.taken.add(label.text.data)
        for block in blocks:
            if block not in self.labels:
                self.labels[block] = self._fresh(block.name_hint or "bb")
            if block.args and block is not blocks.first:
                _refuse(
                    self.function, "a block other than the first has arguments: use llvm_ir phis"
                )
            for argument in block.args:
                self.names[argument] = f"%{self._fresh(argument.name_hint or 'arg')}"
            for op in block.ops:
                if op.results:
                    self._name_results(op)

    def _name_results(self, op: Operation) -> None:
        if isinstance(op, ConstantOp):
            self.names[op.result] = op.text.data
        elif isinstance(op, PackOp):
            cmpxchg = op.old.owner
            if not isinstance(cmpxchg, scoped.CmpxchgOp) or op.success is not cmpxchg.success:
                _refuse(op, "its operands are not the two results of one scoped.cmpxchg")
            self.names[op.result] = self._struct(cmpxchg)
        elif isinstance(op, scoped.CmpxchgOp):
            for result, hint in zip(op.results, ("old", "success"), strict=True):
                if _is_taken_out(result):
                    self.names[result] = f"%{self._fresh(result.name_hint or hint)}"
        else:
            for result in op.results:
                self.names[result] = f"%{self._fresh(result.name_hint or 'v')}"

    def _struct(self, cmpxchg: scoped.CmpxchgOp) -> str:
        """The name of the struct that LLVM's cmpxchg returns."""
        if cmpxchg not in self.structs:
            packs = (use.operation for use in cmpxchg.old.uses)
            pack = next((op for op in packs if isinstance(op, PackOp)), None)
            hint = pack.result.name_hint if pack else None
            self.structs[cmpxchg] = f"%{self._fresh(hint or 'pair')}"
        return self.structs[cmpxchg]

    def _fresh(self, hint: str) -> str:
        name = hint
        while name in self.taken:
            self.counters[hint] = number = self.counters.get(hint, 0) + 1
            name = f"{hint}_{number}"
        self.taken.add(name)
        return name

    # Operations

    def write_assembly(self, ops: Sequence[Operation]) -> str:
        """Operations of ``cdna``, and what is awaited between them, as one inline assembly."""
        from fencewright.mlir_dialects.cdna import SynchronisingOp, WaitOp

        instructions = [op.text for op in ops if isinstance(op, SynchronisingOp | WaitOp)]
        text = "\\0A".join(instructions)
        values = [self._typed(op.value) for op in ops if isinstance(op, AwaitOp)]
        constraints = ",".join(["v"] * len(values) + ["~{memory}"])
        # All waves of a work-group have to meet at one and the same barrier.
        convergent = " convergent" if any(op.name == _BARRIER for op in ops) else ""
        line = ops[0].attributes.get(METADATA)
        ending = f", {line.data}" if isinstance(line, StringAttr) else ""
        operands = ", ".join(values)
        return f'call void asm sideeffect "{text}", "{constraints}"({operands}){convergent}{ending}'

    def write_inst(self, op: InstOp | TerminatorOp) -> str:
        names = self.names
        operands = [names[operand] for operand in op.operands]
        successors = [f"%{self.labels[block]}" for block in op.successors]
        text = parse_template(op.text.data).fill(operands, successors)
        return f"{names[op.results[0]]} = {text}" if op.results else text

    def write_load(self, op: scoped.LoadOp) -> str:
        type, pointer = type_to_text(op.value.type), self._typed(op.pointer)
        return f"{self.names[op.value]} = load{self._words(op)} {type}, {pointer}{self._tail(op)}"

    def write_store(self, op: scoped.StoreOp) -> str:
        value, pointer = self._typed(op.value), self._typed(op.pointer)
        return f"store{self._words(op)} {value}, {pointer}{self._tail(op)}"

    def write_atomic_rmw(self, op: scoped.AtomicRmwOp) -> str:
        volatile = " volatile" if op.volatile else ""
        operands = f"{op.kind.data} {self._typed(op.pointer)}, {self._typed(op.value)}"
        return f"{self.names[op.old]} = atomicrmw{volatile} {operands}{self._tail(op)}"

    def write_fence(self, op: scoped.FenceOp) -> str:
        return f"fence{self._tail(op)}"

    def write_barrier(self, op: scoped.BarrierOp) -> NoReturn:
        _refuse(op, "LLVM IR has no barrier; lower it first with lower-scoped-llvm-ir")

    def write_cmpxchg(self, op: scoped.CmpxchgOp) -> str:
        struct = self._struct(op)
        flags = f"{' weak' if op.weak else ''}{' volatile' if op.volatile else ''}"
        operands = ", ".join(map(self._typed, op.operands))
        lines = [f"{struct} = cmpxchg{flags} {operands}{self._tail(op)}"]
        type = f"{{ {type_to_text(op.old.type)}, i1 }}"
        lines += [
            f"{self.names[result]} = extractvalue {type} {struct}, {index}"
            for index, result in enumerate(op.results)
            if _is_taken_out(result)
        ]
        return "\n  ".join(lines)

    def _typed(self, value: SSAValue) -> str:
        return f"{type_to_text(value.type)} {self.names[value]}"

    def _words(self, op: scoped.LoadOp | scoped.StoreOp) -> str:
        atomic = "" if op.ordering.data is Ordering.WEAK else " atomic"
        return f"{atomic} volatile" if op.volatile else atomic

    def _tail(self, op: scoped.ScopedOperation) -> str:
        """Everything behind the operands: syncscope, orderings, alignment, metadata."""
        parts: list[str] = []
        if (scope := op.scope) is not None:
            names = self.writer.architecture.syncscope_of
            one_as = op.one_as is not None
            if (scope.data, one_as) not in names:
                what = f"one-as {scope.data}" if one_as else scope.data
                _refuse(op, f"this architecture's LLVM IR has no syncscope for {what}")
            syncscope = names[scope.data, one_as]
            if syncscope is not None:
                parts.append(f' syncscope("{syncscope}")')
            parts.append(f" {_ORDERING_TEXT[op.ordering.data]}")
        if isinstance(op, scoped.CmpxchgOp):
            parts.append(f" {_ORDERING_TEXT[op.failure_ordering.data]}")
        if isinstance(op, scoped.AccessOperation) and (alignment := self._alignment(op)):
            parts.append(f", align {alignment}")
        parts.extend(f", {attachment}" for attachment in self._metadata(op))
        return "".join(parts)

    def _alignment(self, op: scoped.AccessOperation) -> int | None:
        if op.alignment is not None:
            return op.alignment.value.data
        if op.ordering.data is Ordering.WEAK:
            return None
        width = scoped.width_of(op.value_type)
        if width is None:
            _refuse(op, "an atomic access of a pointer needs an alignment: {alignment = 8}")
        return width // 8

    def _metadata(self, op: scoped.ScopedOperation) -> Iterator[str]:
        kept = op.attributes.get(METADATA)
        if isinstance(kept, StringAttr):
            yield kept.data
        if "nontemporal" in op.properties:
            yield f"!nontemporal {self.writer.node('!{i32 1}')}"
        tags: list[tuple[str, str]] = []
        if op.spaces is not None:
            if not isinstance(op, scoped.FenceOp):
                _refuse(op, "only on a fence can LLVM IR restrict the address spaces")
            for space in op.spaces:
                if space.data not in _SYNCHRONIZE_AS_SPACES:
                    _refuse(op, f"LLVM IR cannot restrict a fence to {space.data}")
                tags.append((_SYNCHRONIZE_AS, space.data))
        if op.availability is not None and op.availability.data is Availability.NONE:
            tags.append(_AV_TAG)
        nodes = [self.writer.node(f'!{{!"{prefix}", !"{suffix}"}}') for prefix, suffix in tags]
        if nodes:
            node = nodes[0] if len(nodes) == 1 else self.writer.node(f"!{{{', '.join(nodes)}}}")
            yield f"!mmra {node}"


_WRITE: dict[type[Operation], Callable[[_FunctionWriter, Any], str]] = {
    InstOp: _FunctionWriter.write_inst,
    TerminatorOp: _FunctionWriter.write_inst,
    scoped.LoadOp: _FunctionWriter.write_load,
    scoped.StoreOp: _FunctionWriter.write_store,
    scoped.AtomicRmwOp: _FunctionWriter.write_atomic_rmw,
    scoped.CmpxchgOp: _FunctionWriter.write_cmpxchg,
    scoped.FenceOp: _FunctionWriter.write_fence,
    scoped.BarrierOp: _FunctionWriter.write_barrier,
}
_BARRIER = "cdna.barrier"
_MACHINE_CODE = frozenset({"cdna.cache", "cdna.s_waitcnt", _BARRIER, AwaitOp.name, ClobberOp.name})
"""The names of operations whose dialect is imported only where there are some."""
_WITHOUT_A_LINE = (LabelOp, ConstantOp, PackOp)


def _is_machine_code(op: Operation) -> bool:
    return op.name in _MACHINE_CODE


def _is_taken_out(result: SSAValue) -> bool:
    """Whether one result of a ``scoped.cmpxchg`` is used by itself, not in the struct of both."""
    return any(not isinstance(use.operation, PackOp) for use in result.uses)


def _refuse(op: Operation, reason: str) -> NoReturn:
    message = f"{op.name} cannot be written as LLVM IR: {reason}"
    op.emit_error(message, TranslationError(message))
