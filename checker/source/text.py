"""LLVM IR text as the source of machine code: accesses, fences, barriers and control flow.

A reader of its own, by lines, beside the one of ``--import-llvm``: that one has LLVM parse and
rename what it reads, so that newer LLVM's text is refused and lines are lost, and it needs
llvmlite. Here an instruction that is not known does nothing but be there, and what is known keeps
its line and its ``!dbg``. Inline PTX is read as the instructions that it will be. Sources: LLVM
LangRef; AMDGPUUsage, Memory Scopes, LLVM IR Intrinsics; NVPTXUsage;
MemoryModelRelaxationAnnotations.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from fencewright.checker.source.program import (
    SourceBlock,
    SourceError,
    SourceFunction,
    SourceModule,
    SourceOperation,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.llvm.architecture import (
    ARCHITECTURES,
    CDNA,
    ORDERING_OF,
    ORDERING_WORD,
    PTX,
    Architecture,
    architecture_of,
    triples_in,
)
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

if TYPE_CHECKING:
    from fencewright.lowering.ptx.code.statements import Statement

_GLOBAL, _LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
_GENERIC = AddressSpace.GENERIC

_SHARED_SPACES: Mapping[int, AddressSpace | None] = {0: _GENERIC, 1: _GLOBAL, 3: _LOCAL}
_SPACES: Mapping[str, Mapping[int, AddressSpace | None]] = MappingProxyType(
    {
        # 7 to 9 are buffers.
        CDNA.name: _SHARED_SPACES
        | {7: _GLOBAL, 8: _GLOBAL, 9: _GLOBAL}
        | dict.fromkeys((2, 4, 5, 6)),
        # 7 is the cluster's shared memory, or the own one; 6 tensor memory, 101 arguments.
        PTX.name: _SHARED_SPACES | {7: _GENERIC} | dict.fromkeys((4, 5, 6, 101)),
    }
)
"""Address spaces by number; None: no others access it, or no thread writes."""


@dataclass(frozen=True, slots=True)
class IntrinsicRow:
    """The effect of functions whose whole name ``pattern`` matches; ``space`` None: none of others.

    ``pointers``: the space is that of the pointers among the operands. ``ordering`` and ``scope``
    are those of a fence or barrier; ``compares`` and ``into_lds`` as of ``SourceOperation``.
    """

    pattern: str
    kind: Kind | None
    source: str
    space: AddressSpace | None = None
    pointers: bool = False
    compares: bool = False
    into_lds: bool = False
    ordering: Ordering = Ordering.WEAK
    scope: Scope = Scope.SYSTEM


_NVVM = "LLVM IntrinsicsNVVM.td; NVPTXUsage, NVPTX Intrinsics"
_INTRINSICS = "LLVM IntrinsicsAMDGPU.td"
_LANGREF = "LLVM LangRef, Intrinsic Functions"
_BUFFER = r"llvm\.amdgcn\.(raw|struct)\.(ptr\.)?t?buffer\."

INTRINSICS = (
    IntrinsicRow(r"llvm\.amdgcn\.s\.barrier(\.wait)?", Kind.BARRIER, _INTRINSICS),
    IntrinsicRow(r"llvm\.amdgcn\.s\.cluster\.barrier", Kind.BARRIER,
        "LLVM 24 AMDGPUExecutionSynchronization", scope=Scope.CLUSTER),
    IntrinsicRow(rf"{_BUFFER}load\.(async\.)?lds.*", Kind.COPY, _INTRINSICS, _GLOBAL,
        into_lds=True),
    IntrinsicRow(rf"{_BUFFER}load.*", Kind.LOAD, _INTRINSICS, _GLOBAL),
    IntrinsicRow(rf"{_BUFFER}store.*", Kind.STORE, _INTRINSICS, _GLOBAL),
    # Triton has its tensor atomics so, with fences around: they are performed for the agent.
    IntrinsicRow(rf"{_BUFFER}atomic\.cmpswap.*", Kind.RMW, _INTRINSICS, _GLOBAL,
        ordering=Ordering.RELAXED, scope=Scope.AGENT, compares=True),
    IntrinsicRow(rf"{_BUFFER}atomic.*", Kind.RMW, _INTRINSICS, _GLOBAL,
        ordering=Ordering.RELAXED, scope=Scope.AGENT),
    IntrinsicRow(r"llvm\.amdgcn\.(global\.)?load\.(async\.)?(to\.)?lds.*", Kind.COPY,
        _INTRINSICS, _GLOBAL, into_lds=True),
    IntrinsicRow(r"llvm\.amdgcn\.(global|flat|ds)\.atomic\..*", Kind.RMW, _INTRINSICS,
        pointers=True),
    IntrinsicRow(r"llvm\.amdgcn\.(ds\.(read|load)|global\.load|flat\.load)\..*", Kind.LOAD,
        _INTRINSICS, pointers=True),
    IntrinsicRow(r"llvm\.amdgcn\.ds\.(append|consume|fadd|fmin|fmax|ordered.*)",
        Kind.RMW, _INTRINSICS, pointers=True),
    IntrinsicRow(r"llvm\.amdgcn\.image\.(sample|load|gather).*", Kind.LOAD, _INTRINSICS, _GLOBAL),
    IntrinsicRow(r"llvm\.amdgcn\.image\.store.*", Kind.STORE, _INTRINSICS, _GLOBAL),
    IntrinsicRow(r"llvm\.amdgcn\.image\.atomic.*", Kind.RMW, _INTRINSICS, _GLOBAL),
    IntrinsicRow(r"llvm\.mem(cpy|move|set)\..*", Kind.COPY, _LANGREF, pointers=True),
    IntrinsicRow(r"llvm\.masked\.(load|gather|expandload)\..*", Kind.LOAD, _LANGREF,
        pointers=True),
    IntrinsicRow(r"llvm\.masked\.(store|scatter|compressstore)\..*", Kind.STORE, _LANGREF,
        pointers=True),
    IntrinsicRow(r"llvm\.nvvm\.(barrier0.*|barrier|barrier\.n|bar\.sync|barrier\.sync(\.cnt)?|"
        r"barrier\.cta\.(sync|red)\..*)", Kind.BARRIER, f"{_NVVM}: orders as bar.sync does",
        ordering=Ordering.ACQ_REL, scope=Scope.WORKGROUP),
    *(IntrinsicRow(rf"llvm\.nvvm\.membar\.{name}", Kind.FENCE, f"{_NVVM}: membar",
        ordering=Ordering.SEQ_CST, scope=scope)
      for name, scope in (("cta", Scope.WORKGROUP), ("gl", Scope.AGENT), ("sys", Scope.SYSTEM))),
    IntrinsicRow(r"llvm\.nvvm\.(ldg|ldu|ldmatrix)\..*", Kind.LOAD, _NVVM, pointers=True),
    IntrinsicRow(r"llvm\.nvvm\.stmatrix\..*", Kind.STORE, _NVVM, pointers=True),
    IntrinsicRow(r"llvm\.nvvm\.cp\.async\.(ca|cg)\..*", Kind.COPY, _NVVM, _GLOBAL, into_lds=True),
    IntrinsicRow(r"llvm\..*", None, _LANGREF),
)  # fmt: skip
"""The first row that matches counts; a function that no row matches is opaque."""

_COMPILED = tuple((re.compile(each.pattern), each) for each in INTRINSICS)

_DEFINE = re.compile(r'define\b.*?@("[^"]*"|[\w$.-]+)\(')
_LABEL = re.compile(r'^("[^"]*"|[\w$.-]+):')
_OPCODE = re.compile(r'(?:%(?:"[^"]*"|[\w$.-]+) = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)\b ?')
_SUCCESS = re.compile(r"(%[\w$.-]+) = extractvalue \{[^}]*\} (%[\w$.-]+), 1\b")
_INVERTED = re.compile(r"(%[\w$.-]+) = xor i1 (%[\w$.-]+), true\b")
_TESTED = re.compile(r"br i1 (%[\w$.-]+), label %(\S+), label %([^\s,]+)")
_TARGET = re.compile(r'label %("[^"]*"|[\w$.-]+)')
_POINTER = re.compile(r"ptr(?: addrspace\((\d+)\))?")
_SYNCSCOPE = re.compile(r'syncscope\("([^"]*)"\)')
_ORDERING = re.compile(rf"\b({ORDERING_WORD})\b")
_STRING = re.compile(r'"[^"]*"')
_DEBUG = re.compile(r"!dbg (![0-9]+|!DILocation\([^)]*\))")
_RELAXED = re.compile(r"!mmra !([0-9]+)")
_TAG = re.compile(r'!\{!"([^"]*)", !"([^"]*)"\}')
_NUMBERED = re.compile(r"!([0-9]+)")
_FIELD = re.compile(r'(\w+): (?:!([0-9]+)|"((?:[^"\\]|\\.)*)"|(\d+))')
_ASM = re.compile(r' asm (?:\w+ )*"([^"]*)", "([^"]*)"')
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2}|\\)")
_CALLEE = re.compile(r'@("[^"]*"|[\w$.-]+)\(')
_CPU = re.compile(r'"target-cpu"="([^"]*)"')
_GROUP = re.compile(r" #([0-9]+)")
_TERMINATORS = frozenset(
    "br switch indirectbr invoke callbr ret unreachable resume cleanupret catchret "
    "catchswitch".split()
)
_SYNCHRONIZE_AS = frozenset({"amdgpu-synchronize-as", "amdgpu-as"})
_NAMED_SPACES = MappingProxyType({"global": _GLOBAL, "local": _LOCAL})


def read_source(
    text: str, file: str = "<string>", architecture: Architecture = CDNA
) -> SourceModule:
    """The functions that ``text`` defines; ``architecture``: where it does not say which it is for.

    Raises ``SourceError`` for what is no LLVM IR, and for a function without an end.
    """
    reader = _Reader(text, file, architecture)
    functions = {each.name: each for each in reader.functions()}
    if not functions:
        raise SourceError(f"{file}:1: error: no function is defined: is it LLVM IR?")
    return SourceModule(file, MappingProxyType(functions), reader.architecture.name)


class _Reader:
    """A module's text with its metadata and groups of attributes, by number."""

    def __init__(self, text: str, file: str, architecture: Architecture):
        self.file = file
        self.lines = text.splitlines()
        found = architecture_of(triples_in(self.lines))
        self.architecture = found if found.name in ARCHITECTURES else architecture
        self.nodes: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self.places: dict[str, SourceLocation | None] = {}
        for line in self.lines:
            if line.startswith("!"):
                name, _, node = line.partition(" = ")
                self.nodes[name] = node.removeprefix("distinct ")
            elif line.startswith("attributes #"):
                name, _, group = line.partition(" = ")
                self.groups[name.removeprefix("attributes #")] = group

    def functions(self) -> Iterator[SourceFunction]:
        """Each function that is defined."""
        position = 0
        while position < len(self.lines):
            if not self.lines[position].startswith("define"):
                position += 1
                continue
            first = position
            header = without_comment(self.lines[position])
            while not header.endswith("{") and position + 1 < len(self.lines):
                position += 1
                header = f"{header} {without_comment(self.lines[position]).strip()}"
            end = position + 1
            while end < len(self.lines) and not self.lines[end].startswith("}"):
                end += 1
            if end == len(self.lines):
                problem = "the file is cut short: a function has no end"
                raise SourceError(f"{self.file}:{first + 1}: error: {problem}")
            yield self._function(header, first + 1, position + 1, end)
            position = end + 1

    def _function(self, header: str, line: int, start: int, end: int) -> SourceFunction:
        found = _DEFINE.match(header)
        if found is None:
            raise SourceError(f"{self.file}:{line}: error: a function without a name")
        groups = " ".join(self.groups.get(each, "") for each in _GROUP.findall(header))
        whole = f"{header} {groups}"
        for kind, node in re.findall(r"!(\w+) (![0-9]+)", header):
            whole += f" !{kind} {self.nodes.get(node, '')}"
        cpu = _CPU.search(whole)
        body = _Body(self, start, end)
        blocks = tuple(body.blocks())
        return SourceFunction(
            name_of(found[1]),
            line,
            blocks,
            body.problem,
            cpu[1] if cpu else "",
            self.architecture.most_threads(whole),
        )

    def place(self, location: str) -> SourceLocation | None:
        """The place of a ``!DILocation``, or of the number of one."""
        if location in self.places:
            return self.places[location]
        node = self.nodes.get(location, "") if location[1].isdigit() else location
        fields = _fields(node)
        place = None
        if "line" in fields:
            column = int(fields.get("column", "0"))
            place = SourceLocation(self._file_of(fields), int(fields["line"]), column)
        self.places[location] = place
        return place

    def _file_of(self, fields: dict[str, str]) -> str:
        """The file of a scope."""
        for _ in range(64):
            if "filename" in fields:
                return fields["filename"]
            node = fields.get("file") or fields.get("scope")
            if node is None:
                break
            fields = _fields(self.nodes.get(f"!{node}", ""))
        return ""

    def relaxations(self, number: str) -> list[tuple[str, str]]:
        """The tags of an ``!mmra`` node."""
        node = self.nodes.get(f"!{number}", "")
        if found := _TAG.fullmatch(node):
            return [(found[1], found[2])]
        return [tag for each in _NUMBERED.findall(node) for tag in self.relaxations(each)]


def _fields(node: str) -> dict[str, str]:
    return {name: number or text or value for name, number, text, value in _FIELD.findall(node)}


def name_of(text: str) -> str:
    """A name as it is, not as it is quoted."""
    return text[1:-1] if text.startswith('"') else text


def without_comment(line: str) -> str:
    """A line without its comment and the blanks at its end."""
    if ";" not in line:
        return line.rstrip()
    position = 0
    for part in _STRING.finditer(line):
        found = line.find(";", position, part.start())
        if found >= 0:
            return line[:found].rstrip()
        position = part.end()
    found = line.find(";", position)
    return (line if found < 0 else line[:found]).rstrip()


class _Body:
    """The lines of a function's body, from ``start`` to before ``end``."""

    def __init__(self, module: _Reader, start: int, end: int):
        self.module = module
        self.start = start
        self.end = end
        self.problem = ""
        self.number = 0
        self.results: dict[str, int] = {}
        self.succeeded: dict[str, tuple[int, bool]] = {}

    def blocks(self) -> list[SourceBlock]:
        """The blocks, in the order of the text."""
        names: list[str] = [""]
        bodies: list[list[SourceOperation]] = [[]]
        targets: list[list[str]] = [[]]
        tests: dict[int, tuple[str, int]] = {}
        ended = begun = False
        for line, text in self._instructions():
            if (found := _LABEL.match(text)) is not None:
                if begun or names != [""]:
                    self._open(names, bodies, targets)
                names[-1] = name_of(found[1])
                ended, begun = False, True
                continue
            if ended:
                self._open(names, bodies, targets)
                ended = False
            begun = True
            opcode = _OPCODE.match(text)
            if opcode is None:
                continue
            name = opcode[1]
            if name in _TERMINATORS:
                targets[-1] += [name_of(each) for each in _TARGET.findall(text)]
                ended = True
                if (test := self._tested(text)) is not None:
                    tests[len(names) - 1] = test
            self._follow(text)
            for made in self._operations(name, text[opcode.end() :], text, line):
                if made.compares:
                    self.results[text.partition(" = ")[0]] = made.number
                bodies[-1].append(made)
                self.number += 1
        of_name = {name: number for number, name in enumerate(names) if name}
        blocks: list[SourceBlock] = []
        for place, (body, wanted) in enumerate(zip(bodies, targets, strict=True)):
            if missing := [each for each in wanted if each not in of_name]:
                self.problem = self.problem or f"there is no block called {missing[0]}"
            known = (of_name[each] for each in wanted if each in of_name)
            name, exchange = tests.get(place, ("", 0))
            exchanged = ((of_name[name], exchange),) if name in of_name else ()
            blocks.append(SourceBlock(tuple(body), tuple(dict.fromkeys(known)), exchanged))
        return blocks

    def _follow(self, text: str) -> None:
        """Remember which value says that a compare-exchange has succeeded."""
        if (found := _SUCCESS.match(text)) is not None and found[2] in self.results:
            self.succeeded[found[1]] = (self.results[found[2]], True)
        elif (found := _INVERTED.match(text)) is not None and found[2] in self.succeeded:
            number, positive = self.succeeded[found[2]]
            self.succeeded[found[1]] = (number, not positive)

    def _tested(self, text: str) -> tuple[str, int] | None:
        """The block that a branch goes to only if a compare-exchange succeeds, and that one."""
        found = _TESTED.match(text)
        if found is None or found[2].rstrip(",") == found[3] or found[1] not in self.succeeded:
            return None
        number, positive = self.succeeded[found[1]]
        return name_of(found[2].rstrip(",") if positive else found[3]), number

    def _open(
        self, names: list[str], bodies: list[list[SourceOperation]], targets: list[list[str]]
    ) -> None:
        names.append("")
        bodies.append([])
        targets.append([])

    def _instructions(self) -> Iterator[tuple[int, str]]:
        """Each label and each instruction, on one line, with the line where it begins."""
        lines = self.module.lines
        position = self.start
        while position < self.end:
            first = position + 1
            text = without_comment(lines[position]).strip()
            position += 1
            if not text or text.startswith("#"):
                continue
            if text.endswith("["):
                rest = ""
                while position < self.end and not rest.startswith("]"):
                    rest = without_comment(lines[position]).strip()
                    text += f" {rest}"
                    position += 1
            elif " invoke " in f" {text} " and "label" not in text and position < self.end:
                text += f" {without_comment(lines[position]).strip()}"
                position += 1
            yield first, text

    # Operations

    def _operations(
        self, opcode: str, rest: str, text: str, line: int
    ) -> Iterator[SourceOperation]:
        """The effects of an instruction on memory."""
        kind = _MEMORY.get(opcode)
        if kind is not None:
            access = self._access(kind, rest, text, line)
            yield replace(access, compares=True, rmw="") if opcode == "cmpxchg" else access
        elif opcode in ("call", "invoke", "callbr"):
            yield from self._inline(text, line) if " asm " in text else self._call(text, line)

    def _made(self, kind: Kind, text: str, line: int) -> SourceOperation:
        debug = _DEBUG.search(text)
        place = self.module.place(debug[1]) if debug else None
        return SourceOperation(self.number, kind, line, text, place)

    def _access(self, kind: Kind, rest: str, text: str, line: int) -> SourceOperation:
        head = rest.partition(", !")[0]
        words = head.split(" ", 3)
        space = self._space(kind, head)
        plain = _STRING.sub('""', head)
        # In a name, as %release, a word means nothing.
        orderings = _ORDERING.findall(re.sub(r"[%@][\w$.-]+", "%", plain))
        scope, one_as = self._scope(head)
        mmra = _RELAXED.search(text)
        tags = self.module.relaxations(mmra[1]) if mmra else []
        spaces = [value for key, value in tags if key in _SYNCHRONIZE_AS]
        known = frozenset(_NAMED_SPACES[each] for each in spaces if each in _NAMED_SPACES)
        atomic = kind in _ALWAYS_ATOMIC or words[0] == "atomic"
        skipped = next((each for each in words if each not in ("volatile", "weak")), "")
        return replace(
            self._made(kind, text, line),
            ordering=ORDERING_OF[orderings[0]] if atomic and orderings else Ordering.WEAK,
            failure=ORDERING_OF[orderings[1]] if len(orderings) > 1 else None,
            scope=scope,
            one_as=one_as,
            space=space,
            # A fence of spaces that are not known here orders nothing for certain.
            spaces=known if not spaces or known else frozenset({AddressSpace.PRIVATE}),
            rmw=skipped if kind is Kind.RMW else "",
            volatile="volatile" in words[:3],
            available=("amdgcn-av", "none") not in tags,
        )

    def _scope(self, head: str) -> tuple[Scope, bool]:
        found = _SYNCSCOPE.search(head)
        if found is None:
            return Scope.SYSTEM, False
        syncscopes = self.module.architecture.syncscopes
        if found[1] not in syncscopes:
            self.problem = self.problem or f'syncscope "{found[1]}" is not known'
            return Scope.SYSTEM, False
        return syncscopes[found[1]]

    def _space(self, kind: Kind, head: str) -> AddressSpace | None:
        if kind is Kind.FENCE:
            return None
        operands = _operands(head)
        # The pointer of a load or a store comes after the first comma, else it is the first.
        place = 1 if kind in (Kind.LOAD, Kind.STORE) else 0
        pointer = operands[place] if place < len(operands) else ""
        found = _POINTER.match(pointer) if place else _POINTER.search(pointer)
        if found is None:
            self.problem = self.problem or "a pointer has a type that is not known"
            return _GENERIC
        return self._space_of(found[1])

    def _call(self, text: str, line: int) -> Iterator[SourceOperation]:
        callee = _CALLEE.search(_without_strings(text))
        made = self._made(Kind.OPAQUE, text, line)
        name = "" if callee is None else name_of(callee[1])
        row = next((row for pattern, row in _COMPILED if pattern.fullmatch(name)), None)
        if row is None or callee is None:
            yield made
            return
        if row.kind is None:
            return
        space = row.space
        if row.pointers:
            spaces = {self._space_of(each) for each in _POINTER.findall(text[callee.end() :])}
            shared = spaces - {None}
            space = shared.pop() if len(shared) == 1 else _GENERIC if shared else None
        yield replace(
            made,
            kind=row.kind,
            space=space,
            ordering=row.ordering,
            scope=row.scope,
            compares=row.compares,
            into_lds=row.into_lds,
        )

    def _space_of(self, number: str | None) -> AddressSpace | None:
        return _SPACES[self.module.architecture.name].get(int(number or 0), _GENERIC)

    def _inline(self, text: str, line: int) -> Iterator[SourceOperation]:
        """The effects of inline assembly: of understood PTX each instruction, else anything."""
        found = _ASM.search(text)
        statements = None
        if found is not None and self.module.architecture is PTX:
            # Here, for most sources have no PTX in them.
            from fencewright.lowering.ptx.code.inline import read as read_inline

            statements = read_inline(_ESCAPED.sub(_escaped, found[1]), found[2])
        made = self._made(Kind.OPAQUE, text, line)
        if statements is None:
            yield made
            return
        for statement in statements:
            kind = _kind_of(statement)
            # A fence that is not always executed orders nothing for certain.
            if kind is None or (kind is Kind.FENCE and statement.guard):
                continue
            yield replace(
                made,
                number=self.number,
                kind=kind,
                ordering=statement.ordering or Ordering.WEAK,
                scope=statement.scope or Scope.SYSTEM,
                space=_space_in(statement) if statement.accesses else None,
                volatile=statement.opcode.volatile,
                compares=statement.opcode.update == "cas",
                into_lds=kind is Kind.COPY,
            )


_KIND_OF_STATEMENT = MappingProxyType(
    {
        **dict.fromkeys(("ld", "ldu", "ld nc", "ldmatrix"), Kind.LOAD),
        **dict.fromkeys(("st", "stmatrix"), Kind.STORE),
        **dict.fromkeys(("atom", "red"), Kind.RMW),
        **dict.fromkeys(("fence", "membar"), Kind.FENCE),
        **dict.fromkeys(("bar sync", "bar red", "barrier sync", "barrier red"), Kind.BARRIER),
        "cp async": Kind.COPY,
    }
)
"""The source's kinds of PTX instructions; all others order nothing that is compared."""


def _kind_of(statement: "Statement") -> Kind | None:
    if statement.operation == "fence" and statement.opcode.modifiers:
        return None
    return _KIND_OF_STATEMENT.get(statement.operation)


def _space_in(statement: "Statement") -> AddressSpace | None:
    space = statement.accesses[-1].space
    if space in (AddressSpace.CONSTANT, AddressSpace.PRIVATE):
        return None
    return space if space in (_GLOBAL, _LOCAL) else _GENERIC


def _escaped(found: re.Match[str]) -> str:
    return "\\" if found[1] == "\\" else chr(int(found[1], 16))


_MEMORY = MappingProxyType(
    {
        "load": Kind.LOAD,
        "store": Kind.STORE,
        "atomicrmw": Kind.RMW,
        "cmpxchg": Kind.RMW,
        "fence": Kind.FENCE,
    }
)
_ALWAYS_ATOMIC = frozenset({Kind.RMW, Kind.FENCE})


def _without_strings(text: str) -> str:
    """A text in which strings are empty, unless one is the name that is called."""
    return re.sub(r'(?<!@)"[^"]*"', '""', text)


def _operands(text: str) -> Sequence[str]:
    """A text at its commas that are not in brackets."""
    if "(" not in text and "[" not in text and "{" not in text and "<" not in text:
        return text.split(", ")
    parts: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]
