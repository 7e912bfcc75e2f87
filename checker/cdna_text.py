"""AMD assembly as structured text: functions, labels, instructions, kernel descriptors.

Reads what LLVM prints for GFX9 (``llc``, ``clang -S``, inline assembly in it), and what Triton and
hipcc have from it. What an instruction means is not known here.
Source: LLVM AMDGPUUsage, "Assembler"; AMDGPUOperandSyntax.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType


class AssemblyError(ValueError):
    """Assembly that cannot be read: ``file:line: error: ..``, with what it is about."""


@dataclass(frozen=True, slots=True)
class Registers:
    """One register or several, as ``v[0:1]``, by their 32-bit parts, lowest first.

    Those are called ``v0``, ``s4``, ``vcc_lo``, ``scc``.
    """

    names: tuple[str, ...]


Operand = Registers | int | str
"""Registers, a constant, or any other word: a label, ``off``, a symbol, a modified register."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a source file, by the number that ``.file`` gave it (``.loc``)."""

    file: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class AssemblyInstruction:
    """One instruction. ``modifiers`` are the words after the operands, ``sc0`` or ``offset:4``.

    ``source``: where it was written, if the assembly says so.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: tuple[str, ...]
    line: int
    text: str
    source: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class AssemblyLabel:
    """A place that branches name."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """A kernel's argument: where it lies in the kernarg segment, in bytes."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function; of a kernel with its descriptor (``.amdhsa_`` directives) and arguments.

    ``threads``: how many a work-group has at most, if the metadata say so. ``chip``: that it is for.
    ``is_whole``: the text says where it ends; what runs out of it there, the compiler knows not to.
    """

    name: str
    body: tuple[AssemblyLabel | AssemblyInstruction, ...]
    descriptor: Mapping[str, int]
    arguments: tuple[KernelArgument, ...]
    file: str
    threads: int | None = None
    chip: str = ""
    is_whole: bool = False

    @property
    def instructions(self) -> tuple[AssemblyInstruction, ...]:
        """The instructions, in their order."""
        return tuple(each for each in self.body if isinstance(each, AssemblyInstruction))

    def without(self, instruction: AssemblyInstruction) -> "Function":
        """The function with one instruction left out."""
        return replace(self, body=tuple(each for each in self.body if each is not instruction))

    def error(self, line: int, problem: str) -> AssemblyError:
        """An error at a line of the function."""
        return AssemblyError(f"{self.file}:{line}: error: {problem}")


@dataclass(frozen=True, slots=True)
class Assembly:
    """A module: the chip that it is for, and its functions by name."""

    chip: str
    functions: Mapping[str, Function]


NAMED_REGISTERS = MappingProxyType(
    {
        **{name: (f"{name}_lo", f"{name}_hi") for name in ("vcc", "exec", "flat_scratch", "xnack_mask")},
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

_ONE = re.compile(r"([vsa])(\d+)")
_RUN = re.compile(r"([vsa])\[(\d+)(?::(\d+))?\]")
_INSIDE = re.compile(r" ?/\*.*?\*/")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_LITERAL = re.compile(r"lit(?:64)?\((.+)\)")
_LABEL = re.compile(r'("[^"]+"|[\w.$@]+):\s*(.*)')
_MODIFIER = re.compile(r"[a-z_0-9]+:.*")
_COUNT = re.compile(r"[a-z]+cnt\(\d+\)")
_FLAGS = frozenset(
    "sc0 sc1 nt glc slc dlc gds lds tfe offen idxen addr64 offset clamp unorm scc".split()
)
"""Modifiers of one word; ``scc`` is one of buffer and flat instructions of gfx940's first text."""

_TARGET = re.compile(r'\.amdgcn_target\s+"[\w.]+-\w*-\w*-[\w.]*-(gfx[\w-]+)[^"]*"')
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_FUNCTION_TYPE = re.compile(r'\.type\s+("[^"]+"|[^\s,]+)\s*,\s*@function')
_KERNEL = re.compile(r"\.amdhsa_kernel\s+(\S+)")
_DIRECTIVE = re.compile(r"\.amdhsa_(\w+)\s+(\S+)")


def read_assembly(text: str, file: str = "<string>") -> Assembly:
    """The functions of ``text``; raises ``AssemblyError`` for text that has no chip, or several."""
    lines = [without_comment(line) for line in text.splitlines()]
    if _FOR_ASSEMBLER.search(text):
        _leave_macros_out(lines)
        _check_assembled(lines, file)
    chip = ""
    for number, line in enumerate(lines, 1):
        if (found := _TARGET.match(line)) is None:
            continue
        if chip and found[1] != chip:
            problem = f"the assembly is for {chip} and for {found[1]}"
            raise AssemblyError(f"{file}:{number}: error: {problem}")
        chip = found[1]
    if not chip:
        raise AssemblyError(f"{file}:1: error: no .amdgcn_target line says which chip it is for")
    descriptors = dict(_descriptors(lines))
    metadata = {
        own["name"].strip("'\""): (own, each) for own, each in _metadata(text) if "name" in own
    }
    names = {found[1].strip('"') for line in lines if (found := _FUNCTION_TYPE.match(line))}
    functions = {
        name: Function(
            name,
            body,
            MappingProxyType(descriptors.get(name, {})),
            _arguments(metadata[name][1]) if name in metadata else (),
            file,
            _threads(metadata[name][0]) if name in metadata else None,
            chip,
            is_whole,
        )
        for name, body, is_whole in _bodies(lines, names | descriptors.keys())
    }
    return Assembly(chip, MappingProxyType(functions))


_FOR_ASSEMBLER = re.compile(
    r"^\s*(?:\.(?:macro|if\w*|else\w*|rept|irpc?|include|incbin)\b"
    r"|[a-z]\w*\s[^;/\"\n]*\b[vsa]\[[A-Za-z_][^\]\n]*\])",
    re.M,
)
"""Directives, and instructions whose registers are symbols."""
_MACRO_ENDS = {".macro": 1, ".endm": -1, ".endmacro": -1}


def _leave_macros_out(lines: list[str]) -> None:
    """Empty the lines that define macros: what is in them is code where they are used alone."""
    depth = 0
    for number, line in enumerate(lines):
        change = _MACRO_ENDS.get(line.split(maxsplit=1)[0] if line else "", 0)
        if depth or change:
            lines[number] = ""
        depth = max(0, depth + change)


def _check_assembled(lines: Sequence[str], file: str) -> None:
    """Raise ``AssemblyError`` at what only an assembler can say: which lines there are, how often."""
    for number, line in enumerate(lines, 1):
        if found := _FOR_ASSEMBLER.match(line):
            word = found[0].strip()
            problem = (
                f"'{word}' is for the assembler: give the object that llvm-mc makes of this file"
            )
            raise AssemblyError(f"{file}:{number}: error: {problem}")


_PAIRS = (
    (".amdhsa_kernel", ".end_amdhsa_kernel"),
    (".amdgpu_metadata", ".end_amdgpu_metadata"),
    ("; -- Begin function", "; -- End function"),
)


def check_whole(text: str, file: str) -> None:
    """Raise ``AssemblyError`` for text that is cut short: what is begun in it has no end."""
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
    """The line without its comments, and without spaces around it."""
    code = line.partition(";")[0]
    if "/*" in code:
        code = _INSIDE.sub("", code)
    return code.partition("//")[0].strip()


def _bodies(
    lines: list[str], functions: set[str]
) -> Iterator[tuple[str, tuple[AssemblyLabel | AssemblyInstruction, ...], bool]]:
    """Name, body, and whether a label, or another section, says where it ends."""
    name, body = "", list[AssemblyLabel | AssemblyInstruction]()
    source: SourceLine | None = None
    clause = untold = 0
    for number, line in enumerate(lines, 1):
        rest = line
        while ":" in rest and (found := _LABEL.fullmatch(rest)):
            label, rest = found[1].strip('"'), found[2]
            if label in functions or label.startswith(".Lfunc_end"):
                if name:
                    yield name, tuple(body), label not in functions
                name, body = (label, []) if label in functions else ("", [])
                source = None
            elif name:
                body.append(AssemblyLabel(label, number))
        if not name or not rest:
            continue
        if not rest.startswith("."):
            # LLVM says where the first of a clause comes from, and of the others nothing.
            made = read_instruction(rest, number, None if 0 < untold < clause else source)
            body.append(made)
            if made.mnemonic == "s_clause":
                clause = untold = made.operands[0] + 1 if isinstance(made.operands[0], int) else 0
            elif untold:
                untold -= 1
        elif rest.startswith(".section"):
            yield name, tuple(body), True
            name, body = "", []
        elif found := _LOCATION.match(rest):
            source = SourceLine(int(found[1]), int(found[2]), int(found[3] or 0))
            clause = untold
    if name:
        yield name, tuple(body), False


def read_instruction(text: str, line: int, source: SourceLine | None = None) -> AssemblyInstruction:
    """The instruction that ``text`` is, without comment."""
    mnemonic, operands, modifiers, words = _parsed(text)
    return AssemblyInstruction(mnemonic, operands, modifiers, line, words, source)


@lru_cache(maxsize=1 << 16)
def _parsed(text: str) -> tuple[str, tuple[Operand, ...], tuple[str, ...], str]:
    """Mnemonic, operands, modifiers, and the text with single spaces."""
    mnemonic, *tail = text.split(maxsplit=1)
    rest = " ".join(tail)
    operands: list[Operand] = []
    modifiers: list[str] = []
    for part in split_at_commas(rest):
        first = first_word(part)
        words = [first, *part[len(first) :].split()]
        if not (words[0] in _FLAGS or _MODIFIER.fullmatch(words[0]) or _COUNT.fullmatch(words[0])):
            operands.append(_operand(words.pop(0)))
        modifiers += words
    return mnemonic, tuple(operands), tuple(modifiers), " ".join(text.split())


def halves(instruction: AssemblyInstruction) -> tuple[AssemblyInstruction, ...]:
    """The two vector instructions that one of gfx11 and later is (``a :: b``), or itself."""
    texts = instruction.text.split(" :: ")
    if len(texts) == 1:
        return (instruction,)
    return tuple(read_instruction(each, instruction.line, instruction.source) for each in texts)


def first_word(part: str) -> str:
    """What stands before the first space: an operand, whole where it is a list in brackets."""
    return part.partition("]")[0] + "]" if part[0] == "[" else part.partition(" ")[0]


_COMMA = re.compile(r",(?![^\[(]*[\])])")


def split_at_commas(text: str) -> list[str]:
    """Split at the commas that are not in brackets."""
    nested = "(" in text or ":[" in text or " [" in text or text.startswith("[")
    parts = _COMMA.split(text) if nested else text.split(",")
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=4096)
def _operand(word: str) -> Operand:
    if word in NAMED_REGISTERS:
        return Registers(NAMED_REGISTERS[word])
    if found := _ONE.fullmatch(word):
        return Registers((word,))
    if found := _RUN.fullmatch(word):
        first, last = int(found[2]), int(found[3] or found[2])
        return Registers(tuple(f"{found[1]}{n}" for n in range(first, last + 1)))
    number = found[1] if (found := _LITERAL.fullmatch(word)) else word
    return int(number, 0) if _NUMBER.fullmatch(number) else word


def _descriptors(lines: list[str]) -> Iterator[tuple[str, dict[str, int]]]:
    current = dict[str, int]()
    for line in lines:
        if found := _KERNEL.fullmatch(line):
            current = dict[str, int]()
            yield found[1], current
        elif (found := _DIRECTIVE.fullmatch(line)) and _NUMBER.fullmatch(found[2]):
            current[found[1]] = int(found[2], 0)


_ITEM = re.compile(r"( *)(- )?\.(\w+): *(.*)")


def _metadata(text: str) -> list[tuple[dict[str, str], list[dict[str, str]]]]:
    """What the metadata (YAML as LLVM prints it) say of each kernel and of its arguments."""
    _, _, metadata = text.partition(".amdgpu_metadata")
    metadata, _, _ = metadata.partition(".end_amdgpu_metadata")
    kernels: list[tuple[dict[str, str], list[dict[str, str]]]] = []
    outer = -1
    for line in metadata.splitlines():
        found = _ITEM.fullmatch(line.replace("\t", "").rstrip())
        if found is None:
            continue
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
    """The arguments that have names."""
    return tuple(
        KernelArgument(each["name"], int(each["offset"]), int(each["size"]))
        for each in arguments
        if {"name", "offset", "size"} <= each.keys()
    )


def _threads(own: dict[str, str]) -> int | None:
    count = own.get("max_flat_workgroup_size", "")
    return int(count) if count.isdecimal() else None
