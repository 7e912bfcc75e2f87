"""The meaning of AMD instructions for the CDNA machine: the subset that it executes.

What an instruction computes is of ``instructions.amd``; what it accesses, waits for and branches by
is of the decoder (``lowering.cdna.code``). A row is what both say of one mnemonic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fencewright.lowering.cdna.access_names import AccessName, Path, access_name
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, Generation
from fencewright.lowering.cdna.code.operands.family import FamilyRow, Unit
from fencewright.lowering.cdna.code.operands.operands import family_of, opcode_of
from fencewright.lowering.cdna.instructions import CONTROL_ROWS
from fencewright.lowering.cdna.instructions import Kind as RowKind
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.semantics.amd import (
    BRANCHES,
    LOGIC,
    MASK,
    MEANINGS,
    Branch,
    Compare,
    FirstLane,
    Logic,
    Meaning,
    MeaningRow,
    SaveExec,
    Sum,
)

# Meanings beside those of ``instructions.amd``


@dataclass(frozen=True, slots=True)
class LogicByTable:
    """``d = a op b`` with the operation that a modifier names as a truth table."""

    tables: Mapping[tuple[str, ...], Logic]


@dataclass(frozen=True, slots=True)
class AccessRow:
    """An access: operation, address space, width, kind of an atomic.

    Of constant memory it is a scalar load of ``width`` bits. ``compares_first``: the value that a
    compare-exchange compares with comes before the new one.
    """

    operation: Operation
    space: AddressSpace
    width: int
    kind: RmwKind | None
    compares_first: bool = False


@dataclass(frozen=True, slots=True)
class CopyRow:
    """A copy between memory and LDS that the wave does not carry out: of ``width`` bits, or of a
    tile.

    The addresses are operands; of a tile, registers of the first one: the second that in LDS, the
    third and fourth that in memory.
    """

    to_lds: bool
    width: int = 32
    is_tile: bool = False


RowMeaning = Meaning | LogicByTable | AccessRow | CopyRow | Branch | Kind
"""Of what computes nothing and accesses nothing its kind; ``COMPUTE``: neither memory nor registers
see it."""


@dataclass(frozen=True, slots=True)
class MnemonicRow:
    """One mnemonic; ``results`` and ``sources``: the 32-bit registers of its operands.

    Of memory accesses they are empty, as their number varies. ``lanes``: it acts on the lanes in
    exec only. ``sets_scc``, ``sets_exec``: it leaves there what it computes.
    """

    mnemonic: str
    meaning: RowMeaning
    results: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    lanes: bool = False
    sets_scc: bool = False
    sets_exec: bool = False


_BY_TABLE = LogicByTable(
    MappingProxyType(
        {
            ("bitop3:0x40",): LOGIC["and"],
            ("bitop3:0x54",): LOGIC["or"],
            ("bitop3:0x14",): LOGIC["xor"],
        }
    )
)
"""Truth tables of three operands, of which the third is 0: those of a, b and c are 0xf0, 0xcc,
0xaa."""

_MAINTENANCE = frozenset(row.mnemonic for row in CONTROL_ROWS if row.kind is RowKind.CACHE) | {
    "buffer_wbinvl1", "s_dcache_inv", "global_wb", "global_inv",
}  # fmt: skip
_BARRIERS = frozenset({"s_barrier"}) | {
    f"s_barrier_{what}" for what in ("signal", "signal_isfirst", "wait", "init", "join", "leave")
}
_IDLE = frozenset({"s_nop", "s_sleep", "s_setprio", "s_code_end"})
_IDLE_GFX1250 = frozenset({"v_nop", "s_clause", "s_delay_alu", "s_wait_alu", "s_setreg_imm32_b32"})
_COPIES: Mapping[str, CopyRow] = MappingProxyType(
    {f"global_load_async_to_lds_b{width}": CopyRow(True, width) for width in (8, 32, 64, 128)}
    | {f"global_store_async_from_lds_b{width}": CopyRow(False, width) for width in (8, 32, 64, 128)}
    | {
        "tensor_load_to_lds": CopyRow(to_lds=True, is_tile=True),
        "tensor_store_from_lds": CopyRow(to_lds=False, is_tile=True),
    }
)
"""Asynchronous copies. Source: LLVM 24 AMDGPU, FLATInstructions.td and MIMGInstructions.td,
gfx1250."""

_ALWAYS: Mapping[str, RowMeaning] = MappingProxyType(
    {
        "s_branch": Kind.JUMP, "s_endpgm": Kind.END, **BRANCHES,
        **dict.fromkeys(_MAINTENANCE, Kind.CACHE), **dict.fromkeys(_BARRIERS, Kind.BARRIER),
        **dict.fromkeys(_IDLE, Kind.COMPUTE),
    }
)  # fmt: skip


@cache
def row_of(mnemonic: str, chip: str) -> MnemonicRow | None:
    """The row of an instruction of a chip; None for one that is not executed, or that the chip
    lacks."""
    known = KNOWN_CHIPS.get(chip)
    generation = Generation.GFX942 if known is None else known.generation
    masks = 2 if known is None else known.wave_size // 32
    own = known is not None and known.splits_counters
    family = family_of(mnemonic, generation)
    if family is None:
        return None
    meaning = (
        _ALWAYS.get(mnemonic) or (own and _COPIES.get(mnemonic)) or _of_memory(family, mnemonic)
    )
    if own and mnemonic in _IDLE_GFX1250:
        meaning = Kind.COMPUTE
    if meaning:
        lanes = family.unit is Unit.VALU
        lanes |= isinstance(meaning, AccessRow) and meaning.space is not AddressSpace.CONSTANT
        lanes |= isinstance(meaning, CopyRow) and not meaning.is_tile
        return MnemonicRow(mnemonic, meaning, lanes=lanes)
    return _of_registers(family, mnemonic, masks)


@cache
def row_of_any(mnemonic: str) -> MnemonicRow | None:
    """The row of an instruction of any chip: accesses and waits have the same name on all."""
    rows = (row_of(mnemonic, chip) for chip in KNOWN_CHIPS)
    return next((each for each in rows if each is not None), None)


def _of_memory(family: FamilyRow, mnemonic: str) -> RowMeaning | None:
    if family.kind is Kind.WAIT:
        return Kind.WAIT
    name = access_name(mnemonic)
    if name is None or family.kind not in _OPERATIONS:
        return None
    if name.path is Path.SCALAR:
        if family.kind is not Kind.LOAD or family.space is not AddressSpace.CONSTANT:
            return None
    elif name.path not in _EXECUTED or family.space is None or not _is_plain(name):
        return None
    operation = Operation.CMPXCHG if name.compares else _OPERATIONS[family.kind]
    return AccessRow(operation, family.space, name.bits, name.rmw, name.compares_first)


_EXECUTED = (Path.GLOBAL, Path.FLAT, Path.SCRATCH, Path.LDS)
_OPERATIONS = {
    Kind.LOAD: Operation.LOAD, Kind.STORE: Operation.STORE, Kind.RMW: Operation.ATOMIC_RMW,
}  # fmt: skip


def _is_plain(name: AccessName) -> bool:
    """True of one whole element, that is no number with a sign and narrower than a register."""
    is_extended = name.letter == "i" and name.bits < 32 and name.rmw is None
    is_part = name.is_half or name.is_packed or bool(name.stride) or name.is_transposed
    return not (is_part or is_extended or name.verb)


def _of_registers(family: FamilyRow, mnemonic: str, masks: int) -> MnemonicRow | None:
    """An instruction of registers alone, whose operands the CDNA machine's reader takes."""
    name, encoding = opcode_of(mnemonic)
    if name == "v_bitop2_b32":
        return MnemonicRow(mnemonic, _BY_TABLE, (1,), (1, 1), lanes=True)
    of = MEANINGS.get(name)
    if of is None or encoding in ("dpp", "sdwa") or not _is_executed(of, masks):
        return None
    results, sources = (
        tuple([masks if bits == MASK else bits // 32 for bits in each])
        for each in (of.results, of.sources)
    )
    to_exec = isinstance(of.meaning, Compare) and "exec_lo" in family.defines
    if to_exec:
        if family.results:
            return None
        results = ()
    lanes = family.unit is Unit.VALU and not to_exec and not isinstance(of.meaning, FirstLane)
    return MnemonicRow(
        mnemonic, of.meaning, results, sources, lanes, "scc" in family.defines, to_exec
    )


def _is_executed(of: MeaningRow, masks: int) -> bool:
    match of.meaning:
        case Compare():
            return of.sources == (32, 32)
        case SaveExec(_, keeps):
            return not keeps and of.sources == (32 * masks,)
        case Sum(kind, _, takes) if takes or MASK in of.results:
            return kind is ArithmeticKind.ADD and MASK not in of.results
        case _:
            return True
