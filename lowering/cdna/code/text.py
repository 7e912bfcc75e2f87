"""AMD assembly as structured text: functions, labels, instructions, kernel descriptors.

Reads what LLVM prints for GFX9 (``llc``, ``clang -S``, inline assembly in it), and what Triton and
hipcc have from it. What an instruction means is not known here.
Source: LLVM AMDGPUUsage, "Assembler"; AMDGPUOperandSyntax.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from sys import intern
from types import MappingProxyType

from fencewright.lowering.code.records import record
from fencewright.lowering.code.source_location import (
    AssemblyError,
    SourceLine,
    SourceLines,
    files_in,
)


@record()
class Registers:
    """One register or several, as ``v[0:1]``, by their 32-bit parts, lowest first.

    Those are called ``v0``, ``s4``, ``vcc_lo``, ``scc``.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModifiedRegisters:
    """Registers in another form than whole ones: ``-v1``, ``|v2|``, ``v0.l``, ``[v4, v5]``.

    ``text``: the operand. ``names``: as ``Registers`` has them. Half a register stands for all of
    it.
    """

    names: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


Operand = Registers | ModifiedRegisters | int | str
"""Registers, a constant, or any other words: a label, ``off``, a symbol, ``hwreg(..)``, a sum."""


@record()
class AssemblyInstruction:
    """One instruction. ``modifiers`` are the words after the operands, ``sc0`` or ``offset:4``.

    ``source``: where it was written, if the assembly says so. ``misplaced``: the first operand that
    follows a modifier and a comma, as text; none: the empty string. ``address``: of one that reads
    it, in a code object.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: tuple[str, ...]
    line: int
    text: str
    source: SourceLine | None = None
    misplaced: str = ""
    address: int | None = None

    def with_modifiers(self, modifiers: tuple[str, ...]) -> "AssemblyInstruction":
        """The instruction with ``modifiers`` in place of its own."""
        words = [word for word in self.text.split() if word not in self.modifiers]
        return replace(self, modifiers=modifiers, text=" ".join((*words, *modifiers)))


@record()
class AssemblyLabel:
    """A place that branches name."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """A kernel's argument: where it lies in the kernarg segment, in bytes.

    ``kind``: as the metadata have it, ``global_buffer``, ``by_value``, ``hidden_block_count_x``.
    """

    name: str
    offset: int
    size: int
    kind: str = ""

    @property
    def is_hidden(self) -> bool:
        """True if the runtime gives the argument, and no caller."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class Function:
    """A function; of a kernel with its descriptor (``.amdhsa_`` directives) and arguments.

    ``metadata``: the numbers that they say of it. ``chip``: that it is for.
    ``is_whole``: the text says where it ends; what runs out of it there, the compiler knows not to.
    """

    name: str
    body: tuple[AssemblyLabel | AssemblyInstruction, ...]
    descriptor: Mapping[str, int]
    arguments: tuple[KernelArgument, ...]
    file: str
    metadata: Mapping[str, int] = field(default_factory=dict[str, int])
    chip: str = ""
    is_whole: bool = False
    instructions: tuple[AssemblyInstruction, ...] = field(init=False, repr=False, compare=False)
    mnemonics: frozenset[str] = field(init=False, repr=False, compare=False)
    """``instructions`` in their order, and the names among them."""

    def __post_init__(self) -> None:
        instructions = tuple([each for each in self.body if isinstance(each, AssemblyInstruction)])
        mnemonics = frozenset([each.mnemonic for each in instructions])
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "mnemonics", mnemonics)

    @property
    def threads(self) -> int | None:
        """The largest number of threads in a work-group, if the metadata have it."""
        return self.metadata.get("max_flat_workgroup_size")

    def without(self, instruction: AssemblyInstruction) -> "Function":
        """The function with one instruction left out."""
        return replace(self, body=tuple(each for each in self.body if each is not instruction))

    def error(self, line: int, problem: str) -> AssemblyError:
        """An error at a line of the function."""
        return AssemblyError(f"{self.file}:{line}: error: {problem}")


@dataclass(frozen=True, slots=True)
class Assembly:
    """A module: the chip that it is for, and its functions by name.

    ``files``: names of source files by the numbers that ``.loc`` has.
    """

    chip: str
    functions: Mapping[str, Function]
    files: Mapping[int, str] = field(default_factory=dict[int, str])


NAMED_REGISTERS = MappingProxyType(
    {
        **{name: (f"{name}_lo", f"{name}_hi") for name in ("vcc", "exec", "flat_scratch",
                                                           "xnack_mask")},
        **{
            name: (name,)
            for name in (
                "vcc_lo", "vcc_hi", "exec_lo", "exec_hi", "flat_scratch_lo", "flat_scratch_hi",
                "xnack_mask_lo", "xnack_mask_hi", "scc", "m0",
            )
        },
    }
)  # fmt: skip
"""Registers with names of their own, as their 32-bit registers."""

MOST_REGISTERS = 1024
"""The registers of one file: no chip has more."""

_ONE = re.compile(r"([vsa]|ttmp)(\d+)")
_RUN = re.compile(r"([vsa]|ttmp)\[(\d+)(?::(\d+))?\]")
_INSIDE = re.compile(r" ?/\*.*?\*/")
_NUMBER = re.compile(
    r"(-?)(?:0[xX](?P<hexadecimal>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9]\d*))[uU]?[lL]{0,2}"
)
_BASES = MappingProxyType({"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10})
_LITERAL = re.compile(r"lit(?:64)?\((.+)\)")
_LABEL = re.compile(r'("[^"]+"|[\w.$@?]+)\s*:(?!:)\s*(.*)', re.S)
_MODIFIER = re.compile(r"[a-z_0-9]+:.*")
_COUNT = re.compile(r"[a-z]+cnt\(\d+\)")
_FLAGS = frozenset(
    "sc0 sc1 nt glc slc dlc gds lds tfe offen idxen addr64 offset clamp unorm scc".split()
)
"""Modifiers of one word; ``scc`` is one of buffer and flat instructions of gfx940's first text."""

_TARGET = re.compile(r'\.amdgcn_target\s+"[\w.]+-\w*-\w*-[\w.]*-(gfx[\w-]+)[^"]*"')
_FUNCTION_TYPE = re.compile(
    r'\.type\s+("[^"]+"|[^\s,]+)\s*,?\s*[@%#]?\s*'
    r'"?(?:function|STT_FUNC|gnu_indirect_function|STT_GNU_IFUNC)"?'
)
_KERNEL = re.compile(r"\.amdhsa_kernel\s+(\S+)")
_DIRECTIVE = re.compile(r"\.amdhsa_(\w+)\s+(\S+)")


def read_assembly(text: str, file: str = "<string>") -> Assembly:
    """The functions of ``text``; raises ``AssemblyError`` for text that has no chip, or several."""
    lines = code_lines(text, file)
    _check_assembled(lines, file)
    chip = ""
    directives = [(number, line) for number, line in enumerate(lines, 1) if line.startswith(".")]
    for number, line in directives:
        if (found := _TARGET.match(line)) is None:
            continue
        if chip and found[1] != chip:
            problem = f"the assembly is for {chip} and for {found[1]}"
            raise AssemblyError(f"{file}:{number}: error: {problem}")
        chip = found[1]
    if not chip:
        advice = (
            "give the output of a compiler for AMD GPUs, or add "
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"'
        )
        raise AssemblyError(f"{file}:1: error: no .amdgcn_target line names the chip: {advice}")
    descriptors = dict(_descriptors(line for _, line in directives))
    metadata = {_string(own["name"]): (own, each) for own, each in _metadata(text) if "name" in own}
    names = {found[1].strip('"') for _, line in directives if (found := _FUNCTION_TYPE.match(line))}
    functions = {
        name: Function(
            name,
            body,
            MappingProxyType(descriptors.get(name, {})),
            _arguments(metadata[name][1]) if name in metadata else (),
            file,
            _numbers(metadata[name][0]) if name in metadata else MappingProxyType({}),
            chip,
            is_whole,
        )
        for name, body, is_whole in _Bodies(lines, names | descriptors.keys(), file).read()
    }
    return Assembly(chip, MappingProxyType(functions), files_in(text))


_FOR_ASSEMBLER = re.compile(
    r"\.(?:if\w*|else\w*|rept?|irpc?|include|incbin|end|subsection|org|altmacro|exitm|purgem)\b"
)
"""Directives that change which lines there are, and where they lie."""
_NUMBERED_LABEL = re.compile(r"\d+\s*:")
_NOT_CODE = re.compile(
    rf"\.(?:macro|endm|endmacro)\b|{_FOR_ASSEMBLER.pattern}|{_NUMBERED_LABEL.pattern}"
)
"""Lines that few files have."""
_LIKE_INSTRUCTION = re.compile(r"(s|v|ds|global|flat|scratch|t?buffer|image|tensor|cluster)_")
"""The beginning of a macro's name that could be an instruction's; another name is unknown
anyway."""
_MACRO_ENDS = {".macro": 1, ".endm": -1, ".endmacro": -1}


def _check_assembled(lines: list[str], file: str) -> None:
    """Raise ``AssemblyError`` at text that only an assembler can read; empty the lines that define
    macros.

    What is in those is code where they are used alone, and by their names.
    """
    if not any(map(_NOT_CODE.match, dict.fromkeys(lines))):
        return
    depth = 0
    macros = set[str]()
    for number, line in enumerate(lines):
        if line.startswith("."):
            change = _MACRO_ENDS.get(line.split(maxsplit=1)[0], 0)
            if change > 0:
                macros.add(re.split(r"[\s,]+", f"{line} ")[1])
            if depth or change:
                lines[number] = ""
            elif found := _FOR_ASSEMBLER.match(line):
                raise _for_assembler(found[0], file, number + 1)
            depth = max(0, depth + change)
        elif depth:
            lines[number] = ""
        elif line[:1].isdigit() and (found := _NUMBERED_LABEL.match(line)):
            raise _for_assembler(found[0], file, number + 1)
    macros = set(filter(_LIKE_INSTRUCTION.match, macros))
    for number, line in enumerate(lines if macros else (), 1):
        if line and (word := line.split(maxsplit=1)[0]) in macros:
            raise _for_assembler(word, file, number)


def _for_assembler(word: str, file: str, line: int) -> AssemblyError:
    problem = f"'{word}' is for the assembler: give the object that llvm-mc makes of this file"
    return AssemblyError(f"{file}:{line}: error: {problem}")


_PAIRS = (
    (".amdhsa_kernel", ".end_amdhsa_kernel"),
    (".amdgpu_metadata", ".end_amdgpu_metadata"),
    ("; -- Begin function", "; -- End function"),
)


def check_whole(text: str, file: str) -> None:
    """Raise ``AssemblyError`` for text that is cut short: a block in it has no end."""
    for begin, end in _PAIRS:
        if text.count(begin) > text.count(end):
            line = text.count("\n", 0, text.rindex(begin)) + 1
            problem = f"the file is cut short: '{begin}' without '{end}'"
            raise AssemblyError(f"{file}:{line}: error: {problem}")
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        raise AssemblyError(
            f"{file}:{line}: error: the file is cut short: its last line has no end"
        )


def without_comment(line: str) -> str:
    """A line as llvm-objdump prints it without its comments, and without spaces around it."""
    code = line.partition(";")[0]
    if "/*" in code:
        code = _INSIDE.sub("", code)
    return code.partition("//")[0].strip()


_LINE_END = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'|/\*.*?\*/|(?P<rest>;|//)|(?P<open>"|/\*)""", re.S
)
"""Strings and comments, in which other characters mean nothing."""
_OPENS = MappingProxyType({'"': "string", "/*": "comment"})
_ENDS = MappingProxyType({'"': re.compile(r'(?:[^"\\]|\\.)*"'), "/*": re.compile(r".*?\*/", re.S)})
"""A line that ends a block which an earlier one began."""


def code_lines(text: str, file: str) -> list[str]:
    """The lines of assembly without comments and spaces around them, as the assembler ends them.

    What goes on over several lines, as a string may, is in the first of them. Raises
    ``AssemblyError`` for what never ends. Source: LLVM AsmLexer, LexToken, LexSlash and LexQuote.
    """
    physical = _LINE_END.split(text) if "\r" in text else text.split("\n")
    if physical[-1] == "":
        physical.pop()
    lines = [""] * len(physical)
    known: dict[str, str] = {}  # Code has the same lines again and again.
    number = 0
    while number < len(physical):
        line = physical[number]
        if (code := known.get(line)) is not None:
            lines[number] = code
            number += 1
            continue
        if '"' not in line and "/*" not in line and "'" not in line:
            code = line.partition(";")[0].partition("//")[0].strip()
            lines[number] = known[line] = "" if code.startswith("#") else code
            number += 1
        elif line.lstrip().startswith("#"):
            number += 1
        else:
            number = _read_tokens(physical, number, lines, file)
        if lines[number - 1] == ".amdgpu_metadata":
            number = _end_of_metadata(physical, number)
    return lines


def _end_of_metadata(physical: Sequence[str], number: int) -> int:
    """The line after the metadata, which are YAML, or the end."""
    while number < len(physical) and physical[number].strip() != ".end_amdgpu_metadata":
        number += 1
    return min(number + 1, len(physical))


def _read_tokens(physical: Sequence[str], first: int, lines: list[str], file: str) -> int:
    """Read a line with strings and comments, and those that they go on over; the line after
    them."""
    text, last = physical[first], first
    begin, at, parts = first, 0, list[str]()
    while found := _TOKEN.search(text, at):
        if found["open"]:
            # It ends on a later line, which becomes one with this one.
            parts.append(text[at : found.start()])
            ends = _ENDS[found["open"]]
            while (last := last + 1) < len(physical) and not ends.match(physical[last]):
                text += f"\n{physical[last]}"
            if last == len(physical):
                problem = f"the {_OPENS[found['open']]} that begins here has no end"
                raise AssemblyError(f"{file}:{first + 1}: error: {problem}")
            text += f"\n{physical[last]}"
            at = found.start()
            continue
        parts.append(text[at : found.start()])
        at = found.end()
        if found["rest"]:
            at = len(text)
        elif found[0].startswith("/*"):
            if not "".join(parts).strip():
                begin, parts = last, []
            else:
                parts.append(" ")
        else:
            parts.append(found[0])
    parts.append(text[at:])
    lines[begin] = "".join(parts).strip()
    return last + 1


def labels_of(line: str) -> tuple[list[str], str]:
    """The labels that a line of code begins with, and the rest of the line."""
    labels: list[str] = []
    while ":" in line and (found := _LABEL.fullmatch(line)):
        labels.append(found[1].strip('"'))
        line = found[2]
    return labels, line


_Item = AssemblyLabel | AssemblyInstruction

_LEAVES = re.compile(r"s_(endpgm|branch|setpc|set_pc|swappc|swap_pc|call|trap|rfe)\w*")
_CALLS = re.compile(r"s_(swap_?pc|call)\w*")
_LOCAL = ".L"
INDIRECT = re.compile(r"s_(set|swap)_?pc\w*\s+(?!s\[30:31\])|s_call|s_rfe")
"""Jumps to addresses that are no returns or calls by the ABI."""
_GLOBAL = re.compile(r"\.(?:globl|global|weak)\s+(.*)")
_PADDING = ("s_nop", "s_code_end")


def falls_through(body: Sequence[_Item] | None) -> bool:
    """True where control runs out of the end of the code so far."""
    last = _last_in(body or ())
    return last is not None and not _LEAVES.fullmatch(last.mnemonic)


def _last_in(body: Sequence[_Item]) -> AssemblyInstruction | None:
    """The last instruction but padding."""
    for each in islice(reversed(body), 64):
        if isinstance(each, AssemblyInstruction) and each.mnemonic not in _PADDING:
            return each
    return None


_SECTION = re.compile(r"\.(?:push)?section\s+([^\s,]+)\s*(?:,\s*\"([^\"]*)\")?")
_SECTIONS = (".text", ".data", ".bss", ".rodata", ".tbss", ".tdata")
"""Directives that are a section's name."""

_NO_CODE = re.compile(
    r"\.(?:text|data|bss|rodata|tbss|tdata|(?:push|pop)?section|previous|loc|file|ident|size|type|globl|global|weak"
    r"|local|hidden|internal|protected|extern|comm|lcomm|symver|set|equ|equiv|p2align[wl]?|balign[wl]?|align"
    r"|cfi_\w+|amdgcn_target|end_amdhsa_kernel|end_amdgpu_\w+|amdhsa_\w+|amdgpu_\w+|amd_\w+|addrsig\w*|print"
    r"|lto_discard|line|reloc|no_dead_strip|version|macro|endm|endmacro|att_syntax|warning)\b"
)
"""Directives that put nothing between instructions except idle instructions."""


@dataclass(slots=True)
class _Open:
    """A function that is being read; ``line``: where it begins."""

    name: str
    line: int
    body: list[_Item]
    is_known: bool = True
    is_whole: bool = False


class _Bodies:
    """The functions of a text: those that are declared, and code that no other function leads to.

    A section goes on where it was left. Data between instructions are like an instruction that is
    not known.
    """

    def __init__(self, lines: Sequence[str], functions: set[str], file: str):
        self.lines = lines
        self.functions = functions
        self.file = file
        self.done: list[_Open] = []
        self.open: dict[str, _Open] = {}
        self.section, self.is_code = ".text", True
        self.previous = self.section, self.is_code
        self.pushed: list[tuple[str, bool]] = []
        self.labels: dict[str, int] = {}
        self.source: SourceLine | None = None
        self.sources = SourceLines()
        self.clause = self.unlocated = 0
        self.plain: dict[str, _Parsed] = {}
        """By their lines, the instructions so far that begin no clause."""

    def read(self) -> Iterator[tuple[str, tuple[_Item, ...], bool]]:
        """Name, body, and whether the text says where it ends."""
        for number, line in enumerate(self.lines, 1):
            parsed = self.plain.get(line)
            if parsed is not None and self.is_code and not self.unlocated:
                known = self.open.get(self.section)
                if known is not None:
                    known.is_whole = False
                    known.body.append(_placed(parsed, number, self.source))
                    continue
            rest = line
            if ":" in line:
                labels, rest = labels_of(line)
                for label in labels:
                    self._label(label, number)
            if rest.startswith("."):
                self._directive(rest, number)
            elif rest and self.is_code:
                self._instruction(rest, number)
        for each in self.open.values():
            if each.is_known and not each.is_whole and not _has_code(each.body):
                problem = f"'{each.name}' has no instructions: the file is cut short"
                raise AssemblyError(f"{self.file}:{each.line}: error: {problem}")
        for each in self.done:
            if each.is_known or _has_code(each.body):
                yield each.name, tuple(each.body), each.is_whole

    def _label(self, name: str, number: int) -> None:
        if name in self.labels:
            problem = (
                f"'{name}' is defined twice, first in line {self.labels[name]}: give one file at a "
                "time"
            )
            raise AssemblyError(f"{self.file}:{number}: error: {problem}")
        self.labels[name] = number
        known = self.open.get(self.section)
        if name.startswith(".Lfunc_end"):
            self._close()
        elif name in self.functions:
            self._begin(name, number, is_known=True)
        elif not self.is_code:
            return
        elif known is None or (_has_code(known.body) and self._begins_function(name, known.body)):
            self._begin(name, number, is_known=False)
        else:
            if not (known.is_known or _has_code(known.body) or name.startswith(_LOCAL)):
                known.name = name
            known.body.append(AssemblyLabel(name, number))

    def _begins_function(self, name: str, before: Sequence[_Item]) -> bool:
        """True where nothing leads to a label: no line before it, no name, and no jump to an
        address."""
        if falls_through(before) or name in self._named or name in self._beside_named:
            return False
        # Debug information names the place that a call returns to, by a label of its own.
        last = _last_in(before)
        if name.startswith(_LOCAL) and last is not None and _CALLS.fullmatch(last.mnemonic):
            return False
        return name in self._seen or not self._has_jumps

    @cached_property
    def _seen(self) -> frozenset[str]:
        """The symbols that other files see."""
        return frozenset(
            name.strip().strip('"')
            for line in self.lines
            if (found := _GLOBAL.fullmatch(line))
            for name in found[1].split(",")
        )

    @cached_property
    def _has_jumps(self) -> bool:
        """True where control may reach any label by an address that is not known."""
        return any(INDIRECT.match(line) for line in self.lines)

    @cached_property
    def _named(self) -> frozenset[str]:
        """The labels that instructions and data name: control may reach them other than from the
        line before."""
        return frozenset(
            word.strip('"')
            for line in self.lines
            if line and not _NAMES.match(line)
            for word in _WORD.findall(_LABEL.sub(r"\2", line))
        )

    @cached_property
    def _beside_named(self) -> frozenset[str]:
        """Labels of the compiler, as debug information has them, at the place of one that is
        named."""
        found: set[str] = set()
        here: list[str] = []
        for line in self.lines:
            labels, rest = labels_of(line)
            here += labels
            if not rest or _NO_CODE.match(rest):
                continue
            if not self._named.isdisjoint(here):
                found.update(each for each in here if each.startswith(".L"))
            here.clear()
        return frozenset(found)

    def _close(self) -> None:
        known = self.open.pop(self.section, None)
        if known is not None:
            known.is_whole = True
        self.source = None

    def _begin(self, name: str, number: int, *, is_known: bool) -> None:
        known = self.open.pop(self.section, None)
        self.source = None
        if known is not None and not known.is_known and not falls_through(known.body):
            known.is_whole = True
        made = _Open(name, number, [], is_known)
        self.open[self.section] = made
        self.done.append(made)

    def _directive(self, line: str, number: int) -> None:
        if (source := self.sources.read(line)) is not None:
            self.source = source
            self.clause = self.unlocated
            return
        word = line.split(maxsplit=1)[0]
        if word == ".popsection" and self.pushed:
            self._enter(*self.pushed.pop())
        elif word == ".previous":
            self._enter(*self.previous)
        elif found := _SECTION.match(line):
            name = found[1].strip('"')
            is_code = name.startswith(".text") or "x" in (found[2] or "")
            if word == ".pushsection":
                self.pushed.append((self.section, self.is_code))
            self._enter(name, is_code)
        elif word in _SECTIONS:
            self._enter(word, word == ".text")
        elif self.is_code and self.section in self.open and not _NO_CODE.match(line):
            self._add(
                AssemblyInstruction(word, (), (), number, " ".join(line.split()), self.source)
            )

    def _enter(self, section: str, is_code: bool) -> None:
        if known := self.open.get(self.section):
            known.is_whole = True
        self.previous = self.section, self.is_code
        self.section, self.is_code, self.source = section, is_code, None

    def _instruction(self, text: str, number: int) -> None:
        if problem := _problem(text):
            raise AssemblyError(f"{self.file}:{number}: error: {problem}")
        if self.section not in self.open:
            self._begin(self.section, number, is_known=False)
        # LLVM says where the first of a clause comes from, and of the others nothing.
        source = None if 0 < self.unlocated < self.clause else self.source
        made = read_instruction(text, number, source)
        self._add(made)
        if made.mnemonic == "s_clause":
            count = made.operands[0] if made.operands else 0
            self.clause = self.unlocated = count + 1 if isinstance(count, int) else 0
            return
        self.plain[text] = _parsed(text)
        if self.unlocated:
            self.unlocated -= 1

    def _add(self, made: AssemblyInstruction) -> None:
        known = self.open[self.section]
        known.is_whole = False
        known.body.append(made)


def _has_code(body: Sequence[_Item]) -> bool:
    return any(isinstance(each, AssemblyInstruction) for each in body)


_NAMES = re.compile(
    r"\.(?:type|globl|global|weak|hidden|protected|local|size|amdhsa_\w+|loc|file|section)\b"
)
_WORD = re.compile(r'"[^"]+"|[\w.$@?]+')

_INDEXED = re.compile(r"(?<![\w.$@:])(?:[vsa]|ttmp)\s*\[[^\]]*\]?(?:[\w$@]|\.(?![lh]\b))?")
_PLAIN = re.compile(r"(?:[vsa]|ttmp)\[(0|[1-9]\d*)(?::(0|[1-9]\d*))?\]")
_ODD = re.compile(r'(?<![\w.$@:])(?:(?:[vsa]|ttmp)(?:0\d+|\d{5,})\b|"(?:[vsa]|ttmp)\d+")')


def _problem(text: str) -> str:
    """The reason that the registers of an instruction cannot be read; "" if they can."""
    found = _ODD.search(text)
    if found is not None:
        return f"'{found[0]}' is for the assembler: give the object that llvm-mc makes of this file"
    if "[" not in text:
        return ""
    for each in _INDEXED.finditer(text):
        plain = _PLAIN.fullmatch(each[0])
        if plain is None:
            word = text[: each.end()]
            return f"'{word}' is for the assembler: give the object that llvm-mc makes of this file"
        first, last = int(plain[1]), int(plain[2] or plain[1])
        if not first <= last < MOST_REGISTERS:
            return f"there are no registers '{each[0]}'"
    return ""


def read_instruction(text: str, line: int, source: SourceLine | None = None) -> AssemblyInstruction:
    """The instruction that ``text`` is, without comment."""
    return _placed(_parsed(text), line, source)


_Parsed = tuple[str, tuple[Operand, ...], tuple[str, ...], str, str]
"""Mnemonic, operands, modifiers, the text with single spaces, and the operand that is misplaced."""


def _placed(parsed: _Parsed, line: int, source: SourceLine | None) -> AssemblyInstruction:
    mnemonic, operands, modifiers, words, misplaced = parsed
    return AssemblyInstruction(mnemonic, operands, modifiers, line, words, source, misplaced)


OPERATORS = frozenset("+-*/&|")
"""Operators that stand between the words of one operand."""


@lru_cache(maxsize=1 << 16)
def _parsed(text: str) -> _Parsed:
    mnemonic, *tail = text.split(maxsplit=1)
    rest = " ".join(" ".join(tail).split())
    operands: list[Operand] = []
    modifiers: list[str] = []
    misplaced, has_modifiers = "", False
    for part in split_at_commas(rest):
        words = _words(part)
        if has_modifiers and not misplaced:
            misplaced = words[0]
        word = words[0]
        if not (word in _FLAGS or _MODIFIER.fullmatch(word) or _COUNT.fullmatch(word)):
            operands.append(_operand(_with_operators(words)))
            has_modifiers = has_modifiers or bool(words)
        modifiers += words
    words = " ".join(text.split())
    same = text if words == text else words  # One object of both, as there are many.
    return intern(mnemonic), tuple(operands), tuple(modifiers), same, misplaced


def _with_operators(words: list[str]) -> str:
    """Take the operand off the beginning of ``words``, with the words that operators join to it."""
    end = 1
    while end < len(words) and words[end] in OPERATORS:
        end += 2
    operand = " ".join(words[:end])
    del words[:end]
    return operand


_BETWEEN = " :: "


def halves(instruction: AssemblyInstruction) -> tuple[AssemblyInstruction, ...]:
    """The two vector instructions that one of gfx11 and later is (``a :: b``), or itself."""
    if _BETWEEN not in instruction.text:
        return (instruction,)
    texts = instruction.text.split(_BETWEEN)
    return tuple(read_instruction(each, instruction.line, instruction.source) for each in texts)


_COMMA = re.compile(r",(?![^\[(]*[\])])")
_SPACE = re.compile(r" (?![^\[(]*[\])])")


def _words(part: str) -> list[str]:
    """Split at the spaces that are not in brackets."""
    return _SPACE.split(part) if "(" in part or "[" in part else part.split(" ")


def split_at_commas(text: str) -> list[str]:
    """Split at the commas that are not in brackets."""
    nested = "(" in text or ":[" in text or " [" in text or text.startswith("[")
    parts = _COMMA.split(text) if nested else text.split(",")
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=1 << 14)
def _operand(word: str) -> Operand:
    if word in NAMED_REGISTERS:
        return Registers(NAMED_REGISTERS[word])
    if _ONE.fullmatch(word):
        return Registers((word,))
    if names := registers_in(word):
        return Registers(names) if _RUN.fullmatch(word) else ModifiedRegisters(names, word)
    text = found[1] if (found := _LITERAL.fullmatch(word)) else word
    number = read_integer(text)
    return word if number is None else number


_REGISTER = re.compile(
    r"(?<![\w.$@:])(?:([vsa]|ttmp)(?:(\d+)(?:\.[lh])?|\[(\d+)(?::(\d+))?\])"
    r"|((?:vcc|exec|flat_scratch|xnack_mask)(?:_lo|_hi)?|scc|m0)|src_(lds_direct))(?![\w.$@])"
)


def registers_in(text: str) -> tuple[str, ...]:
    """The 32-bit registers that an operand prints, lowest first."""
    names: list[str] = []
    for file, one, first, last, named, direct in _REGISTER.findall(text):
        if one:
            names.append(file + one)
        elif first and int(last or first) < MOST_REGISTERS:
            names += (f"{file}{n}" for n in range(int(first), int(last or first) + 1))
        elif direct:
            names.append("m0")
        elif named:
            names += NAMED_REGISTERS[named]
    return tuple(names)


def read_integer(text: str) -> int | None:
    """The integer that a word is, in any spelling of the assembler; None for other words."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    base, digits = next((_BASES[name], each) for name, each in found.groupdict().items() if each)
    return -int(digits, base) if found[1] else int(digits, base)


def _descriptors(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, int]]]:
    current = dict[str, int]()
    for line in lines:
        if found := _KERNEL.fullmatch(line):
            current = dict[str, int]()
            yield found[1], current
        elif found := _DIRECTIVE.fullmatch(line):
            number = read_integer(found[2])
            if number is not None:
                current[found[1]] = number


_ITEM = re.compile(r"( *)(- )?\.(\w+): *(.*)")
_LISTED = re.compile(r"\s+- (\d+)")
"""A number of a list, which has the name of the list and its place there: ``cluster_dims_0``."""


def _metadata(text: str) -> list[tuple[dict[str, str], list[dict[str, str]]]]:
    """The metadata (YAML as LLVM prints it) of each kernel and of its arguments."""
    _, _, metadata = text.partition(".amdgpu_metadata")
    metadata, _, _ = metadata.partition(".end_amdgpu_metadata")
    kernels: list[tuple[dict[str, str], list[dict[str, str]]]] = []
    outer = place = -1
    key = ""
    for line in metadata.splitlines():
        found = _ITEM.fullmatch(line.replace("\t", "").rstrip())
        if found is None:
            number = _LISTED.fullmatch(line.rstrip())
            if number is None or not key or not kernels:
                key = ""  # Another list is none of a kernel's: amdhsa.version.
                continue
            place += 1
            kernels[-1][0][f"{key}_{place}"] = number[1]
            continue
        place = -1
        depth, starts, key, value = len(found[1]), found[2] is not None, found[3], found[4]
        if starts and (outer < 0 or depth <= outer):
            outer = depth
            kernels.append(({}, []))
        if not kernels:
            continue
        own, arguments = kernels[-1]
        if depth <= outer + 2 and (not starts or depth == outer):
            own[key] = value
            continue
        if starts:
            arguments.append({})
        arguments[-1][key] = value
    return kernels


def _arguments(arguments: list[dict[str, str]]) -> tuple[KernelArgument, ...]:
    """The arguments; those without a name have their number."""
    return tuple(
        KernelArgument(
            _string(each.get("name", f"argument {n}")),
            int(each["offset"]),
            int(each["size"]),
            each.get("value_kind", ""),
        )
        for n, each in enumerate(arguments)
        if {"offset", "size"} <= each.keys()
    )


def _string(word: str) -> str:
    return word.removeprefix("!str ").strip("'\"")


def _numbers(own: dict[str, str]) -> Mapping[str, int]:
    return MappingProxyType({key: int(word) for key, word in own.items() if word.isdecimal()})
