"""What an instruction defines and uses, by the rows of its generation (``cdna_operands_gfx9`` and so on).

All that an instruction prints after its results are operands that it reads. The floating-point
mode and the constants that look like registers (``src_shared_base``) are left out. Half a register
stands for all of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands import gfx9, gfx10, gfx12
from fencewright.lowering.cdna.code.operands import gfx1250 as cdna_operands_gfx1250
from fencewright.lowering.cdna.code.operands import (
    vector_names_gfx1250 as cdna_vector_names_gfx1250,
)
from fencewright.lowering.cdna.code.operands.family import FamilyRow, InstructionKind
from fencewright.lowering.cdna.code.operands.instruction_names import (
    NAMES_GFX9,
    NAMES_GFX10,
    NAMES_GFX11,
    NAMES_GFX12,
)
from fencewright.lowering.cdna.code.operands.vector_names import VECTOR_NAMES
from fencewright.lowering.cdna.code.operands.vector_names_gfx10 import (
    VECTOR_NAMES_GFX10,
    VECTOR_NAMES_GFX11,
)
from fencewright.lowering.cdna.code.operands.vector_names_gfx12 import VECTOR_NAMES_GFX12
from fencewright.lowering.cdna.code.text import (
    MOST_REGISTERS,
    NAMED_REGISTERS,
    first_word,
    read_integer,
    split_at_commas,
)
from fencewright.lowering.cdna.counters.scoreboard import CACHE_EVENTS, CounterEvent
from fencewright.lowering.vocabulary import AddressSpace


@dataclass(frozen=True, slots=True)
class Effects:
    """What one instruction does; 32-bit registers by their names.

    ``space``: the memory that it accesses; None also for a buffer, which may be in global or in
    private memory. ``kept``: what it uses in no other way than that a half stays as it is.
    """

    kind: InstructionKind
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    space: AddressSpace | None = None
    events: tuple[CounterEvent, ...] = ()
    registers: tuple[str, ...] = ()
    """What it defines or uses."""
    kept: tuple[str, ...] = ()


_K = InstructionKind
_WITH_M0 = ("exec_lo", "exec_hi", "m0")


@dataclass(frozen=True, slots=True)
class _InstructionTable:
    """The families of a generation, and the names of its vector instructions and of all others."""

    families: tuple[FamilyRow, ...]
    vector_names: frozenset[str]
    names: frozenset[str] = NAMES_GFX12

    def row(self, mnemonic: str) -> FamilyRow | None:
        """The row of a mnemonic, if it is an instruction."""
        if not (
            self._is_vector_name(mnemonic) if mnemonic.startswith("v_") else mnemonic in self.names
        ):
            return None
        return next(
            (each for each in self.families if _compiled(each.pattern).fullmatch(mnemonic)), None
        )

    def _is_vector_name(self, mnemonic: str) -> bool:
        name = _ENCODING.sub("", mnemonic.removeprefix("v_"))
        return name in self.vector_names or _COMPARISON.fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that is compiled when the first file of its generation is read: starting is to cost nothing."""
    return re.compile(pattern)


_GFX9 = _InstructionTable(gfx9.FAMILIES, VECTOR_NAMES, NAMES_GFX9)
_TABLES: Mapping[Generation, _InstructionTable] = MappingProxyType(
    dict.fromkeys(Generation, _GFX9)
    | {
        Generation.GFX1030: _InstructionTable(
            gfx10.FAMILIES_GFX10, VECTOR_NAMES_GFX10, NAMES_GFX10
        ),
        Generation.GFX1100: _InstructionTable(
            gfx10.FAMILIES_GFX11, VECTOR_NAMES_GFX11, NAMES_GFX11
        ),
        Generation.GFX1200: _InstructionTable(gfx12.FAMILIES_GFX12, VECTOR_NAMES_GFX12),
        Generation.GFX1250: _InstructionTable(
            cdna_operands_gfx1250.FAMILIES, cdna_vector_names_gfx1250.VECTOR_NAMES
        ),
    }
)


@lru_cache(maxsize=1 << 13)
def family_of(mnemonic: str, generation: Generation = Generation.GFX942) -> FamilyRow | None:
    """The row of a mnemonic; None for what is no instruction of the generation."""
    return _TABLES[generation].row(mnemonic)


_ENCODING = re.compile(r"(?:_(?:e32|e64|dpp|sdwa))+$")
_COMPARISON = re.compile(
    r"cmpx?_(class|f|lt|eq|le|gt|lg|ge|ne|o|u|nge|nlg|ngt|nle|neq|nlt|tru|t)_.*"
)


_REGISTER = re.compile(
    r"(?<![\w.$@:])(?:([vsa]|ttmp)(?:(\d+)(?:\.[lh])?|\[(\d+)(?::(\d+))?\])"
    r"|((?:vcc|exec|flat_scratch|xnack_mask)(?:_lo|_hi)?|scc|m0)|src_(lds_direct))(?![\w.$@])"
)


@lru_cache(maxsize=1 << 14)
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


@lru_cache(maxsize=1 << 16)
def effects_of(text: str, generation: Generation = Generation.GFX942) -> Effects:
    """What the instruction ``text``, with single spaces, does.

    One that has a ``fault_of`` is ``UNKNOWN`` and has no effects: it may do anything.
    """
    first, dual, second = text.partition(" :: ")
    if dual:
        return _both(effects_of(first, generation), effects_of(second, generation))
    mnemonic, _, rest = text.partition(" ")
    row = family_of(mnemonic, generation)
    operands = split_at_commas(rest)
    if row is None or _fault_in(row, operands):
        return Effects(_K.UNKNOWN)
    last = operands[-1].split() if operands else []
    row = _with_modifiers(row, frozenset(last))
    returns = _returns(row, last)
    results = row.results if returns else 0
    printed = [registers_in(first_word(each)) for each in operands]
    defined = [name for names in printed[:results] for name in names]
    used = [name for names in printed[results:] for name in names]
    kept = defined if row.accumulates and row.kind is _K.LOAD else []
    kept = tuple(name for name in kept if name not in used)
    if row.accumulates or "dst_unused:UNUSED_PRESERVE" in last:
        used += defined
    events = CACHE_EVENTS.get(mnemonic.removesuffix("_vol"), row.events)
    if mnemonic.startswith("buffer_wbinvl1"):
        events = CACHE_EVENTS["buffer_wbinvl1_vol"]
    elif not returns and row.untold is not None:
        events = row.untold
    defines = tuple(dict.fromkeys((*defined, *row.defines)))
    uses = tuple(dict.fromkeys((*used, *row.uses)))
    return Effects(row.kind, defines, uses, row.space, events, _unique(defines, uses), kept)


def results_of(row: FamilyRow, operands: Sequence[str]) -> int:
    """The number of operands of an instruction of ``row`` that are results; they come first."""
    last = operands[-1].split() if operands else []
    return row.results if _returns(row, last) else 0


def _returns(row: FamilyRow, modifiers: Iterable[str]) -> bool:
    return not row.returns or not row.returns.isdisjoint(modifiers)


_ACCESSES = (_K.LOAD, _K.STORE, _K.ATOMIC, _K.MEMORY_TO_LDS, _K.CACHE)

_MODIFIER = re.compile(
    r"sc[01]|nt|glc|slc|dlc|scc|gds|lds|tfe|lwe|offen|idxen|addr64|unorm|da|r128|a16|d16|nv|scale_offset"
    r"|index_key|row_en|off(set[01]?)?:\S.*|(dmask|dfmt|nfmt):\w+|dim:\w+|format:\S.*|scope:SCOPE_(CU|SE|DEV|SYS)"
    r"|th:(0x[0-9a-f]+|TH_(DEFAULT|(LOAD|STORE)_\w+|ATOMIC_((RT_|NT_)?RETURN|RT|NT|CASCADE_(RT|NT)|0x[0-9a-f]+)))"
)
"""The modifiers of accesses to memory; a scope is read by its name. Source: LLVM AMDGPUModifierSyntax."""

_OPERATORS = frozenset("+-*/&|")
_ADDRESS_WORDS = frozenset({"off", "null"})


def fault_of(text: str, generation: Generation) -> str:
    """The unknown part of an instruction ``text``: its name, a modifier, or operands that are missing."""
    for each in text.split(" :: "):
        mnemonic, _, rest = each.partition(" ")
        row = family_of(mnemonic, generation)
        if row is None:
            return f"'{mnemonic}' is not known"
        if fault := _fault_in(row, split_at_commas(rest)):
            return f"'{mnemonic}' {fault}"
    return ""


def _fault_in(row: FamilyRow, operands: list[str]) -> str:
    """The fault in the operands of an access to memory; those of others change no synchronisation."""
    if row.kind not in _ACCESSES:
        return "has too few operands" if len(operands) < row.results else ""
    least = row.results if row.space is AddressSpace.LOCAL or row.kind is _K.CACHE else 2
    if len(operands) < least:
        return "has too few operands"
    has_modifiers = False
    for part in operands:
        first = _operand_in(part)
        if has_modifiers:
            return f"has '{first}' after a comma, which is not known"
        has_modifiers = bool(part[len(first) :].strip())
        for word in part[len(first) :].split():
            if word in _OPERATORS:
                break
            # A load to LDS has no register for what it loads.
            has_result = word == "lds" and len(operands) > (3 if row.space is None else 2)
            if _MODIFIER.fullmatch(word) is None or has_result:
                return f"has '{word}', which is not known"
        is_address = row.space is AddressSpace.CONSTANT or registers_in(first)
        if is_address or first in _ADDRESS_WORDS or _MODIFIER.fullmatch(first):
            continue
        if read_integer(first) is None and not _IS_VALUE.match(first):
            return f"has '{first}', which is not known"
    return ""


def _operand_in(part: str) -> str:
    """The operand without its modifiers; the registers of an image's address are one operand."""
    end = part.rfind("]") + 1 if part.startswith("[") else 0
    return part[:end] or first_word(part)


_IS_VALUE = re.compile(r"lit(64)?\(|src_\w+|-?\d+\.\d|0\.15915494|\(|[a-z]\w*\(")


def _unique(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names for name in each))


def _both(a: Effects, b: Effects) -> Effects:
    """What two vector instructions that issue together do."""
    if _K.UNKNOWN in (a.kind, b.kind):
        return Effects(_K.UNKNOWN)
    defines, uses = _unique(a.defines, b.defines), _unique(a.uses, b.uses)
    return Effects(a.kind, defines, uses, registers=_unique(defines, uses))


def _with_modifiers(row: FamilyRow, words: frozenset[str]) -> FamilyRow:
    """The row, as a modifier changes it: to LDS, or to the global data share."""
    if "lds" in words and row.kind is _K.LOAD:
        return replace(row, kind=_K.MEMORY_TO_LDS, results=0, uses=_WITH_M0)
    if "gds" in words and row.space is AddressSpace.LOCAL:
        return replace(row, space=None, uses=_WITH_M0, events=gfx9.UNORDERED)
    return row
