"""The effects of an instruction, by the rows of its generation (``gfx9`` and so on).

All that an instruction prints after its results are operands that it reads. The floating-point
mode and the constants that look like registers (``src_shared_base``) are left out. Half a register
stands for all of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType

from fencewright.lowering.cdna.access_names import AccessName, Path, access_name
from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands import gfx9, gfx10, gfx12, gfx1250
from fencewright.lowering.cdna.code.operands.family import FamilyRow
from fencewright.lowering.cdna.code.operands.instruction_names import (
    NAMES_GFX9,
    NAMES_GFX10,
    NAMES_GFX11,
    NAMES_GFX12,
)
from fencewright.lowering.cdna.code.operands.vector import gfx1250 as vector_gfx1250
from fencewright.lowering.cdna.code.operands.vector.gfx9 import VECTOR_NAMES
from fencewright.lowering.cdna.code.operands.vector.gfx10 import (
    VECTOR_NAMES_GFX10,
    VECTOR_NAMES_GFX11,
)
from fencewright.lowering.cdna.code.operands.vector.gfx12 import VECTOR_NAMES_GFX12
from fencewright.lowering.cdna.code.text import (
    OPERATORS,
    AssemblyInstruction,
    Operand,
    Registers,
    halves,
)
from fencewright.lowering.cdna.counters.scoreboard import CACHE_EVENTS, CounterEvent
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.code import effects as shared
from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.vocabulary import AddressSpace


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of an instruction: its relation, as ``lg``, and the type, as ``u32``."""

    relation: str
    type: str


@dataclass(frozen=True, slots=True)
class Effects(shared.Effects):
    """The effects of one instruction, with the facts that AMD's alone have; 32-bit registers by
    name.

    ``space``: the memory that it accesses; None also for a buffer, which may be in global or in
    private memory. ``registers``: those that it defines or uses. ``kept``: what it uses in no other
    way than that a half stays as it is. ``unit`` and ``comparison``: of arithmetic alone.
    ``is_subroutine``: of a call, to code of its own function, which its graph has.
    """

    space: AddressSpace | None = None
    events: tuple[CounterEvent, ...] = ()
    registers: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    unit: Unit | None = None
    comparison: Comparison | None = None
    is_subroutine: bool = False

    @property
    def is_idle(self) -> bool:
        """True if it neither computes nor synchronises: a delay, a hint, a clock's value."""
        return self.kind is Kind.COMPUTE and self.unit is None

    @property
    def calls_outside(self) -> bool:
        """True of a call to code outside the function."""
        return self.kind is Kind.CALL and not self.is_subroutine


_K = Kind
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
        return name in self.vector_names or _comparison(mnemonic) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that is compiled when the first file of its generation is read: starting is to cost
    nothing."""
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
        Generation.GFX1250: _InstructionTable(gfx1250.FAMILIES, vector_gfx1250.VECTOR_NAMES),
    }
)


@lru_cache(maxsize=1 << 13)
def family_of(mnemonic: str, generation: Generation = Generation.GFX942) -> FamilyRow | None:
    """The row of a mnemonic; None for one that the generation does not have."""
    return _TABLES[generation].row(mnemonic)


_ENCODING = re.compile(r"(?:_(?:e32|e64|dpp|sdwa))+$")
_COMPARISON = re.compile(
    r"[sv]_cmp[xk]?_(class|f|lt|eq|le|gt|lg|ge|ne|o|u|nge|nlg|ngt|nle|neq|nlt|tru|t)_(.*)"
)


@cache
def opcode_of(mnemonic: str) -> tuple[str, str]:
    """The name of an instruction's computation, and its encoding (``e64``, ``dpp``); empty: not
    named.

    A half of two that issue together has the name that it has alone.
    """
    name = _ENCODING.sub("", mnemonic)
    encoding = mnemonic[len(name) :].rpartition("_")[2]
    return ("v_" + name.removeprefix("v_dual_") if name.startswith("v_dual_") else name), encoding


def is_on_barrier(mnemonic: str) -> bool:
    """True of an instruction on a barrier of waves: whole, split, named or of the cluster."""
    return mnemonic.startswith("s_barrier")


@cache
def _comparison(mnemonic: str) -> Comparison | None:
    found = _COMPARISON.fullmatch(mnemonic)
    return None if found is None else Comparison(found[1], _ENCODING.sub("", found[2]))


_MOST_EFFECTS = 1 << 16


@cache
def effects_by_text(generation: Generation) -> dict[str, Effects]:
    """The effects of instructions so far by their texts: code has the same ones again and again."""
    return {}


def effects_of(
    instruction: AssemblyInstruction, generation: Generation = Generation.GFX942
) -> Effects:
    """The effects of an instruction, by its operands.

    One that has a ``fault_of`` is ``OPAQUE`` and has no effects: it may do anything.
    """
    known = effects_by_text(generation)
    effects = known.get(instruction.text)
    if effects is None:
        if len(known) >= _MOST_EFFECTS:
            known.clear()
        effects = known[instruction.text] = _effects(instruction, generation)
    return effects


def _effects(instruction: AssemblyInstruction, generation: Generation) -> Effects:
    first, *second = halves(instruction)
    if second:
        return _both(effects_of(first, generation), effects_of(second[0], generation))
    mnemonic, modifiers = instruction.mnemonic, instruction.modifiers
    row = family_of(mnemonic, generation)
    if row is None or _fault_in(row, instruction):
        return Effects(_K.OPAQUE)
    row = _with_modifiers(row, frozenset(modifiers))
    results = results_of(row, modifiers)
    printed = [() if isinstance(each, int | str) else each.names for each in instruction.operands]
    defined = [name for names in printed[:results] for name in names]
    used = [name for names in printed[results:] for name in names]
    kept = defined if row.accumulates and row.kind is _K.LOAD else []
    kept = tuple(name for name in kept if name not in used)
    if row.accumulates or "dst_unused:UNUSED_PRESERVE" in modifiers:
        used += defined
    defines = tuple(dict.fromkeys((*defined, *row.defines)))
    uses = tuple(dict.fromkeys((*used, *row.uses)))
    address = ""
    if row.kind in _TO_MEMORY:
        address = ", ".join(map(operand_text, address_operands(instruction, row.space, results)))
    returns = _returns(row, modifiers)
    return _named(row, mnemonic, address, defines, uses, kept, returns=returns)


def effects_of_name(
    mnemonic: str, generation: Generation, modifiers: Iterable[str] = ()
) -> Effects:
    """The effects of an instruction apart from its operands': its registers, and its address."""
    row = family_of(mnemonic, generation)
    if row is None:
        return Effects(_K.OPAQUE)
    words = frozenset(modifiers)
    return _named(_with_modifiers(row, words), mnemonic, returns=_returns(row, words))


def _named(
    row: FamilyRow,
    mnemonic: str,
    address: str = "",
    defines: tuple[str, ...] = (),
    uses: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    *,
    returns: bool,
) -> Effects:
    events = CACHE_EVENTS.get(mnemonic.removesuffix("_vol"), row.events)
    if mnemonic.startswith("buffer_wbinvl1"):
        events = CACHE_EVENTS["buffer_wbinvl1_vol"]
    elif not returns and row.without_result is not None:
        events = row.without_result
    name = access_name(mnemonic) if row.kind in _TO_MEMORY else None
    return Effects(
        row.kind,
        rmw=None if name is None else name.rmw,
        accesses=_accesses(row, name, address),
        defines=defines,
        uses=uses,
        space=row.space,
        events=events,
        registers=_unique(defines, uses),
        kept=kept,
        unit=row.unit,
        comparison=None if row.unit is None else _comparison(mnemonic),
    )


def _accesses(row: FamilyRow, name: AccessName | None, address: str) -> tuple[Access, ...]:
    """The accesses of an instruction to memory; a load to LDS writes that as well."""
    if row.kind not in _TO_MEMORY:
        return ()
    size = None if name is None or name.path is Path.IMAGE else name.bits // 8
    reads, writes = row.kind is not _K.STORE, row.kind in (_K.STORE, _K.RMW)
    access = Access(address, reads, writes, Proxy.GENERIC, row.space, size)
    if row.kind is not _K.COPY:
        return (access,)
    return access, Access("", False, True, Proxy.GENERIC, AddressSpace.LOCAL, size)


def address_operands(
    instruction: AssemblyInstruction, space: AddressSpace | None, results: int
) -> tuple[Operand, ...]:
    """The operands of an access that make its address, by its format; ``results`` come first."""
    operands = instruction.operands
    if space is None or space is AddressSpace.CONSTANT:
        return operands[1:]
    address = operands[results : results + 1]
    return (*address, operands[-1]) if space is AddressSpace.GLOBAL else address


def operand_text(operand: Operand) -> str:
    """An operand in words: registers by their names, joined by ``+``."""
    return "+".join(operand.names) if isinstance(operand, Registers) else str(operand)


def results_of(row: FamilyRow, modifiers: Sequence[str]) -> int:
    """The number of operands of an instruction of ``row`` that are results; they come first."""
    return row.results if _returns(row, modifiers) else 0


def _returns(row: FamilyRow, modifiers: Iterable[str]) -> bool:
    return not row.returns or not row.returns.isdisjoint(modifiers)


_TO_MEMORY = (_K.LOAD, _K.STORE, _K.RMW, _K.COPY)
_ACCESSES = (*_TO_MEMORY, _K.CACHE)

_MODIFIER = re.compile(
    r"sc[01]|nt|glc|slc|dlc|scc|gds|lds|tfe|lwe|offen|idxen|addr64|unorm|da|r128|a16|d16|nv|scale_offset"
    r"|index_key|row_en|off(set[01]?)?:\S.*|(dmask|dfmt|nfmt):\w+|dim:\w+|format:\S.*|scope:SCOPE_(CU|SE|DEV|SYS)"
    r"|th:(0x[0-9a-f]+|TH_(DEFAULT|(LOAD|STORE)_\w+|ATOMIC_((RT_|NT_)?RETURN|RT|NT|CASCADE_(RT|NT)|0x[0-9a-f]+)))"
)
"""The modifiers of accesses to memory; a scope is read by its name. Source: LLVM
AMDGPUModifierSyntax."""

_ADDRESS_WORDS = frozenset({"off", "null"})


def fault_of(instruction: AssemblyInstruction, generation: Generation) -> str:
    """The unknown part of an instruction: its name, a modifier, or operands that are missing."""
    for half in halves(instruction):
        row = family_of(half.mnemonic, generation)
        if row is None:
            return f"'{half.mnemonic}' is not known"
        if fault := _fault_in(row, half):
            return f"'{half.mnemonic}' {fault}"
    return ""


def _fault_in(row: FamilyRow, instruction: AssemblyInstruction) -> str:
    """The fault in the operands of an access to memory; those of others change no
    synchronisation."""
    operands = instruction.operands
    if row.kind not in _ACCESSES:
        return "has too few operands" if len(operands) < row.results else ""
    least = row.results if row.space is AddressSpace.LOCAL or row.kind is _K.CACHE else 2
    if len(operands) < least:
        return "has too few operands"
    if instruction.misplaced:
        return f"has '{instruction.misplaced}' after a comma, which is not known"
    for word in instruction.modifiers:
        if word in OPERATORS:
            break
        # A load to LDS has no register for what it loads.
        has_result = word == "lds" and len(operands) > (3 if row.space is None else 2)
        if _MODIFIER.fullmatch(word) is None or has_result:
            return f"has '{word}', which is not known"
    for operand in operands:
        if not isinstance(operand, str) or row.space is AddressSpace.CONSTANT:
            continue
        if operand not in _ADDRESS_WORDS and not _IS_VALUE.match(operand):
            return f"has '{operand}', which is not known"
    return ""


_IS_VALUE = re.compile(r"lit(64)?\(|src_\w+|-?\d+\.\d|0\.15915494|\(|[a-z]\w*\(")


def _unique(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names for name in each))


def _both(a: Effects, b: Effects) -> Effects:
    """The effects of two vector instructions that issue together."""
    if _K.OPAQUE in (a.kind, b.kind):
        return Effects(_K.OPAQUE)
    defines, uses = _unique(a.defines, b.defines), _unique(a.uses, b.uses)
    return replace(a, defines=defines, uses=uses, registers=_unique(defines, uses))


def _with_modifiers(row: FamilyRow, words: frozenset[str]) -> FamilyRow:
    """The row, as a modifier changes it: to LDS, or to the global data share."""
    if "lds" in words and row.kind is _K.LOAD:
        return replace(row, kind=_K.COPY, results=0, uses=_WITH_M0)
    if "gds" in words and row.space is AddressSpace.LOCAL:
        return replace(row, space=None, uses=_WITH_M0, events=gfx9.UNORDERED)
    return row
