"""The meaning of GFX9 instructions, as rows by mnemonic: the subset that is executed.

A row has the roles of its operands as they are printed, the registers that it defines and uses
besides, and its meaning, which ``programs.amd`` gives to the simulator. Memory accesses come
from ``lowering.cdna.instructions``. Sources: MI300 ISA 5 (SALU), 6 (VALU), 4 (program control),
7 (scalar memory), 10 (flat), 11 (LDS); MI200 ISA, the same chapters.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cdna.instructions import CONTROL_ROWS, MEMORY_ROWS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Operation, RmwKind
from fencewright.simulator.core.program import ArithmeticKind


class Use(FastStrEnum):
    """True if an instruction writes or reads an operand."""

    DEFINES = "d"
    USES = "u"


@dataclass(frozen=True, slots=True)
class Role:
    """The use of an operand by an instruction, and its number of 32-bit registers."""

    use: Use
    words: int


# Meanings


@dataclass(frozen=True, slots=True)
class Copy:
    """``d = a``."""


@dataclass(frozen=True, slots=True)
class Logic:
    """``d = a kind b``, bit by bit; with an operand or the result inverted. Scalar: and scc."""

    kind: ArithmeticKind
    invert_a: bool = False
    invert_b: bool = False
    invert: bool = False


@dataclass(frozen=True, slots=True)
class LogicByTable:
    """``d = a op b`` with the operation that a modifier names as a truth table."""

    tables: Mapping[tuple[str, ...], Logic]


@dataclass(frozen=True, slots=True)
class Sum:
    """``d = a kind b`` on one word; ``carries`` in scc, ``takes`` the carry of the one before."""

    kind: ArithmeticKind
    carries: bool = False
    takes: bool = False
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Extreme:
    """``d`` = the smaller (MIN) or the greater (MAX) of two words, with a sign or without one."""

    kind: ArithmeticKind
    signed: bool


@dataclass(frozen=True, slots=True)
class TakeBits:
    """``d`` = ``c`` bits of ``a`` from bit ``b`` on; ``packed``: ``b`` has ``c`` in its upper
    half."""

    packed: bool = False


@dataclass(frozen=True, slots=True)
class ShiftRight:
    """``d = a >> b``, without a sign."""


@dataclass(frozen=True, slots=True)
class CompareWords:
    """``a kind b`` to scc, or to a lane mask that is the first operand; ``swap``: ``b kind a``."""

    kind: ArithmeticKind
    signed: bool = False
    swap: bool = False


@dataclass(frozen=True, slots=True)
class CompareWordsToExec:
    """The lanes in which the comparison holds stay active."""

    compare: CompareWords


@dataclass(frozen=True, slots=True)
class Select:
    """``d = a`` if scc else ``b``; of vectors ``d = b`` if the lane mask after them else ``a``."""


@dataclass(frozen=True, slots=True)
class SaveExec:
    """``d = exec; exec = a kind exec``, and scc: whether a lane is left."""

    logic: Logic


@dataclass(frozen=True, slots=True)
class CountBits:
    """``d`` = how many bits of ``a`` are set, and scc."""


@dataclass(frozen=True, slots=True)
class CountLanesBelow:
    """``d = b`` + how many lanes of the half mask ``a`` come before: for lane 0 none."""


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A vector-memory or LDS access: operation, address space, width, kind of an atomic.

    ``compares_first``: the value that a compare-exchange compares with comes before the new one.
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


@dataclass(frozen=True, slots=True)
class LoadScalar:
    """``d`` = that many words at ``a`` + ``b`` bytes, through the scalar cache."""

    words: int


@dataclass(frozen=True, slots=True)
class Maintain:
    """A cache instruction."""


@dataclass(frozen=True, slots=True)
class Await:
    """``s_waitcnt``, or a wait for counters of its own (``s_wait_loadcnt``)."""


@dataclass(frozen=True, slots=True)
class Meet:
    """``s_barrier``, or a part of one (``s_barrier_signal``)."""


@dataclass(frozen=True, slots=True)
class Jump:
    """To the label, always or if the named register is nonzero (``unless``: if it is zero)."""

    register: str = ""
    unless: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The wave ends."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """An instruction that neither memory nor registers see."""


Meaning = (
    Copy
    | Logic
    | LogicByTable
    | Sum
    | Extreme
    | TakeBits
    | ShiftRight
    | CompareWords
    | CompareWordsToExec
    | Select
    | SaveExec
    | CountBits
    | CountLanesBelow
    | AccessRow
    | CopyRow
    | LoadScalar
    | Maintain
    | Await
    | Meet
    | Jump
    | End
    | Nothing
)


@dataclass(frozen=True, slots=True)
class MnemonicRow:
    """One mnemonic. ``lanes``: it acts on the lanes in exec only.

    ``roles`` are empty where their number varies: of memory accesses, by address and result.
    """

    mnemonic: str
    meaning: Meaning
    roles: tuple[Role, ...] = ()
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    lanes: bool = False


SCC = ("scc",)
_EXEC = ("exec_lo", "exec_hi")
_ADD, _SUB, _MUL = ArithmeticKind.ADD, ArithmeticKind.SUB, ArithmeticKind.MUL
_AND, _OR, _XOR = ArithmeticKind.AND, ArithmeticKind.OR, ArithmeticKind.XOR


def _roles(text: str) -> tuple[Role, ...]:
    """``d1 u2``: defines one word, uses two."""
    return tuple(Role(Use(word[0]), int(word[1:])) for word in text.split())


def scalar(
    mnemonic: str,
    roles: str,
    meaning: Meaning,
    defines: tuple[str, ...] = (),
    uses: tuple[str, ...] = (),
) -> MnemonicRow:
    """The row of an instruction that is executed once for the wave."""
    return MnemonicRow(mnemonic, meaning, _roles(roles), defines, uses)


def vector(
    mnemonic: str, roles: str, meaning: Meaning, exec: tuple[str, ...] = _EXEC
) -> MnemonicRow:
    """The row of an instruction that each active lane executes."""
    return MnemonicRow(mnemonic, meaning, _roles(roles), uses=exec, lanes=True)


LOGIC = {
    "and": Logic(_AND),
    "or": Logic(_OR),
    "xor": Logic(_XOR),
    "andn2": Logic(_AND, invert_b=True),
    "orn2": Logic(_OR, invert_b=True),
    "nand": Logic(_AND, invert=True),
    "nor": Logic(_OR, invert=True),
    "xnor": Logic(_XOR, invert=True),
}
SAVING = LOGIC | {"andn1": Logic(_AND, invert_a=True), "orn1": Logic(_OR, invert_a=True)}
_WORDS = {"b32": 1, "b64": 2}

PREDICATES = {
    "eq": (ArithmeticKind.EQ, False),
    "ne": (ArithmeticKind.NE, False),
    "lt": (ArithmeticKind.LT, False),
    "le": (ArithmeticKind.LE, False),
    "gt": (ArithmeticKind.LT, True),
    "ge": (ArithmeticKind.LE, True),
}
"""kind, and whether the operands change places."""


def _salu() -> Iterator[MnemonicRow]:
    for type, words in _WORDS.items():
        yield scalar(f"s_mov_{type}", f"d{words} u{words}", Copy())
        yield scalar(f"s_cselect_{type}", f"d{words} u{words} u{words}", Select(), uses=SCC)
        for name, logic in LOGIC.items():
            yield scalar(f"s_{name}_{type}", f"d{words} u{words} u{words}", logic, SCC)
        yield scalar(f"s_bcnt1_i32_{type}", f"d1 u{words}", CountBits(), SCC)
    for name, logic in SAVING.items():
        yield scalar(f"s_{name}_saveexec_b64", "d2 u2", SaveExec(logic), (*_EXEC, *SCC), _EXEC)
    for type in ("i32", "u32"):
        yield scalar(f"s_add_{type}", "d1 u1 u1", Sum(_ADD, carries=type == "u32"), SCC)
        yield scalar(f"s_sub_{type}", "d1 u1 u1", Sum(_SUB, carries=type == "u32"), SCC)
        for predicate, (kind, swap) in PREDICATES.items():
            name = "lg" if predicate == "ne" else predicate
            meaning = CompareWords(kind, type == "i32", swap)
            yield scalar(f"s_cmp_{name}_{type}", "u1 u1", meaning, SCC)
    yield scalar("s_addc_u32", "d1 u1 u1", Sum(_ADD, carries=True, takes=True), SCC, SCC)
    yield scalar("s_mul_i32", "d1 u1 u1", Sum(_MUL))
    yield scalar("s_lshr_b32", "d1 u1 u1", ShiftRight(), SCC)
    yield scalar("s_bfe_u32", "d1 u1 u1", TakeBits(packed=True), SCC)
    yield scalar("v_readfirstlane_b32", "d1 u1", Copy())


def _valu() -> Iterator[MnemonicRow]:
    yield vector("v_mov_b32_e32", "d1 u1", Copy())
    yield vector("v_mov_b64_e32", "d2 u2", Copy())
    for name in ("and", "or", "xor"):
        yield vector(f"v_{name}_b32_e32", "d1 u1 u1", LOGIC[name])
    yield vector("v_add_u32_e32", "d1 u1 u1", Sum(_ADD))
    yield vector("v_sub_u32_e32", "d1 u1 u1", Sum(_SUB))
    yield vector("v_subrev_u32_e32", "d1 u1 u1", Sum(_SUB, reverse=True))
    yield vector("v_mul_lo_u32", "d1 u1 u1", Sum(_MUL))
    for name, kind in (("min", ArithmeticKind.MIN), ("max", ArithmeticKind.MAX)):
        for type in ("i32", "u32"):
            yield vector(f"v_{name}_{type}_e32", "d1 u1 u1", Extreme(kind, type == "i32"))
    yield vector("v_bfe_u32", "d1 u1 u1 u1", TakeBits())
    for half in ("lo", "hi"):
        yield vector(f"v_mbcnt_{half}_u32_b32", "d1 u1 u1", CountLanesBelow())
    for encoding in ("e32", "e64"):
        yield vector(f"v_cndmask_b32_{encoding}", "d1 u1 u1 u2", Select())
        for type in ("i32", "u32"):
            for predicate, (kind, swap) in PREDICATES.items():
                meaning = CompareWords(kind, type == "i32", swap)
                yield vector(f"v_cmp_{predicate}_{type}_{encoding}", "d2 u1 u1", meaning)


def _memory() -> Iterator[MnemonicRow]:
    seen = set[str]()
    for (operation, space, width, kind, _), row in MEMORY_ROWS:
        if row.mnemonic not in seen:
            seen.add(row.mnemonic)
            compares_first = row.operands.endswith("{compare}, {data}")
            meaning = AccessRow(operation, space, width, kind, compares_first)
            yield MnemonicRow(row.mnemonic, meaning, uses=_EXEC, lanes=True)
    for words in (1, 2, 4, 8, 16):
        suffix = f"x{words}" if words > 1 else ""
        yield scalar(f"s_load_dword{suffix}", f"d{words} u2 u1", LoadScalar(words))


def _control() -> Iterator[MnemonicRow]:
    maintenance = {row.mnemonic for row in CONTROL_ROWS if row.kind is Kind.CACHE}
    for mnemonic in sorted(maintenance | {"buffer_wbinvl1", "s_dcache_inv"}):
        yield MnemonicRow(mnemonic, Maintain())
    yield MnemonicRow("s_waitcnt", Await())
    yield MnemonicRow("s_waitcnt_vscnt", Await())
    yield MnemonicRow("s_barrier", Meet())
    yield MnemonicRow("s_branch", Jump())
    for register, name, negative in (
        ("scc", "scc1", "scc0"),
        ("vcc", "vccnz", "vccz"),
        ("exec", "execnz", "execz"),
    ):
        uses = SCC if register == "scc" else (f"{register}_lo", f"{register}_hi")
        yield MnemonicRow(f"s_cbranch_{name}", Jump(register), uses=uses)
        yield MnemonicRow(f"s_cbranch_{negative}", Jump(register, unless=True), uses=uses)
    yield MnemonicRow("s_endpgm", End())
    for mnemonic in ("s_nop", "s_sleep", "s_setprio", "s_code_end"):
        yield MnemonicRow(mnemonic, Nothing())


def unique(rows: Iterable[MnemonicRow]) -> Mapping[str, MnemonicRow]:
    """The rows by mnemonic, of which none has two."""
    found: dict[str, MnemonicRow] = {}
    for row in rows:
        if found.setdefault(row.mnemonic, row) is not row:
            raise AssertionError(f"two rows for {row.mnemonic}")
    return MappingProxyType(found)


ROWS = unique((*_salu(), *_valu(), *_memory(), *_control()))
"""Every instruction of GFX9 that is executed, by its mnemonic."""
