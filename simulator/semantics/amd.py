"""The meaning of AMD's integer instructions, as rows by mnemonic without encoding.

One table for two readers: ``programs.amd`` gives the meanings to the memory model's threads,
``amd_rows`` makes formulas of them for lanes. What an instruction accesses, waits for or branches
by, and which registers it defines and uses, are of ``lowering.cdna.code``. Sources: MI300 ISA 12.1
to 12.4 (SALU), 12.7 to 12.10 (VALU); LLVM 24 AMDGPU, SOPInstructions.td and VOPInstructions.td
(gfx12).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from fencewright.simulator.core.program import ArithmeticKind

MASK = 0
"""The bits of an operand that is a lane mask: as many as a wave has lanes."""


# Meanings


@dataclass(frozen=True, slots=True)
class Copy:
    """``d = a``."""


@dataclass(frozen=True, slots=True)
class FirstLane:
    """``d = a`` of the first active lane."""


@dataclass(frozen=True, slots=True)
class Logic:
    """``d = a kind b``, bit by bit; with an operand or the result inverted. Scalar: and scc."""

    kind: ArithmeticKind
    invert_a: bool = False
    invert_b: bool = False
    invert: bool = False


@dataclass(frozen=True, slots=True)
class Sum:
    """``d = a kind b`` on one word, ``takes`` the carry of the one before; ``reverse``:
    ``b kind a``.

    ``carries``: the carry goes to scc, or to a lane mask that is the second result.
    """

    kind: ArithmeticKind
    carries: bool = False
    takes: bool = False
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """``d = a * b``, the low word."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """``d`` = the smaller (MIN) or the greater (MAX) of two words, with a sign or without one."""

    kind: ArithmeticKind
    signed: bool


@dataclass(frozen=True, slots=True)
class TakeBits:
    """``d`` = ``c`` bits of ``a`` from bit ``b`` on; ``packed``: ``b`` has ``c`` from bit 16 on."""

    packed: bool = False


@dataclass(frozen=True, slots=True)
class ShiftRight:
    """``d = a >> b``, without a sign."""


@dataclass(frozen=True, slots=True)
class Compare:
    """``a kind b`` to scc, to a lane mask that is the first operand, or to exec; ``swap``:
    ``b kind a``."""

    kind: ArithmeticKind
    signed: bool = False
    swap: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """``d = a`` if scc else ``b``; of vectors ``d = b`` if the lane mask after them else ``a``."""


@dataclass(frozen=True, slots=True)
class SaveExec:
    """``d = exec; exec = a kind exec``, and scc: whether a lane is left; ``keeps``: ``d`` = the new
    one."""

    logic: Logic
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class CountBits:
    """``d`` = how many bits of ``a`` are set, and scc."""


@dataclass(frozen=True, slots=True)
class CountLanesBelow:
    """``d = b`` + how many lanes of the half mask ``a`` come before; ``first``: the lane of its bit
    0."""

    first: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A jump if the named register is not 0; ``unless``: if it is."""

    register: str
    unless: bool = False


BRANCHES: Mapping[str, Branch] = MappingProxyType(
    {
        "s_cbranch_scc1": Branch("scc"), "s_cbranch_scc0": Branch("scc", unless=True),
        "s_cbranch_vccnz": Branch("vcc"), "s_cbranch_vccz": Branch("vcc", unless=True),
        "s_cbranch_execnz": Branch("exec"), "s_cbranch_execz": Branch("exec", unless=True),
    }
)  # fmt: skip
"""The branches of a wave. Source: MI300 ISA 12.5, SOPP."""


Meaning = (
    Copy
    | FirstLane
    | Logic
    | Sum
    | Product
    | Extreme
    | TakeBits
    | ShiftRight
    | Compare
    | Select
    | SaveExec
    | CountBits
    | CountLanesBelow
)


@dataclass(frozen=True, slots=True)
class MeaningRow:
    """One mnemonic; ``sources`` and ``results``: the bits of its operands, results first in the
    text."""

    meaning: Meaning
    sources: tuple[int, ...] = (32, 32)
    results: tuple[int, ...] = (32,)


_K = ArithmeticKind
LOGIC: Mapping[str, Logic] = MappingProxyType(
    {
        "and": Logic(_K.AND), "or": Logic(_K.OR), "xor": Logic(_K.XOR),
        "andn2": Logic(_K.AND, invert_b=True), "orn2": Logic(_K.OR, invert_b=True),
        "nand": Logic(_K.AND, invert=True), "nor": Logic(_K.OR, invert=True),
        "xnor": Logic(_K.XOR, invert=True),
    }
)  # fmt: skip
_INVERTED_FIRST = {"andn1": Logic(_K.AND, invert_a=True), "orn1": Logic(_K.OR, invert_a=True)}
_RENAMED = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
"""The names of logic since gfx11 and gfx12, by those that GFX9 has."""

RELATIONS: Mapping[str, tuple[ArithmeticKind, bool]] = MappingProxyType(
    {
        "eq": (_K.EQ, False), "ne": (_K.NE, False), "lt": (_K.LT, False), "le": (_K.LE, False),
        "gt": (_K.LT, True), "ge": (_K.LE, True),
    }
)  # fmt: skip
"""Kind, and whether the operands change places."""

_Entry = tuple[str, MeaningRow]
_RowT = TypeVar("_RowT")
_CARRYING = (
    ("add", _K.ADD, False), ("sub", _K.SUB, False), ("subrev", _K.SUB, True),
)  # fmt: skip
_TAKING = {
    "add": ("addc", "add_co_ci"),
    "sub": ("subb", "sub_co_ci"),
    "subrev": ("subbrev", "subrev_co_ci"),
}


def _scalar() -> Iterator[_Entry]:
    for bits in (32, 64):
        one, two = (bits,), (bits, bits)
        yield f"s_mov_b{bits}", MeaningRow(Copy(), one, one)
        yield f"s_cselect_b{bits}", MeaningRow(Select(), two, one)
        for name, logic in LOGIC.items():
            for each in dict.fromkeys((name, _RENAMED.get(name, name))):
                yield f"s_{each}_b{bits}", MeaningRow(logic, two, one)
        yield f"s_bcnt1_i32_b{bits}", MeaningRow(CountBits(), one)
        for name, logic in {**LOGIC, **_INVERTED_FIRST}.items():
            for each in dict.fromkeys((name, _RENAMED.get(name, name))):
                yield f"s_{each}_saveexec_b{bits}", MeaningRow(SaveExec(logic), one, one)
                yield f"s_{each}_wrexec_b{bits}", MeaningRow(SaveExec(logic, keeps=True), one, one)
        for type in "iu":
            for name, (kind, swap) in RELATIONS.items():
                own = "lg" if name == "ne" else name
                compare = MeaningRow(Compare(kind, type == "i", swap), two, ())
                yield f"s_cmp_{own}_{type}{bits}", compare
    for type in ("i32", "u32"):
        for name, kind in (("add", _K.ADD), ("sub", _K.SUB)):
            for each in (name, f"{name}_co"):
                yield f"s_{each}_{type}", MeaningRow(Sum(kind, carries=type == "u32"))
    for name, kind, _ in _CARRYING[:2]:
        for each in _TAKING[name]:
            yield f"s_{each}_u32", MeaningRow(Sum(kind, carries=True, takes=True))
    yield "s_mul_i32", MeaningRow(Product())
    yield "s_lshr_b32", MeaningRow(ShiftRight())
    yield "s_bfe_u32", MeaningRow(TakeBits(packed=True))


def _vector() -> Iterator[_Entry]:
    yield "v_readfirstlane_b32", MeaningRow(FirstLane(), (32,))
    for bits in (32, 64):
        yield f"v_mov_b{bits}", MeaningRow(Copy(), (bits,), (bits,))
    for name in ("and", "or", "xor", "xnor"):
        yield f"v_{name}_b32", MeaningRow(LOGIC[name])
    for name, kind, reverse in _CARRYING:
        for each in (f"{name}_u32", f"{name}_nc_u32"):
            yield f"v_{each}", MeaningRow(Sum(kind, reverse=reverse))
        carrying = Sum(kind, carries=True, reverse=reverse)
        yield f"v_{name}_co_u32", MeaningRow(carrying, results=(32, MASK))
        taking = Sum(kind, carries=True, takes=True, reverse=reverse)
        for each in (f"{_TAKING[name][0]}_co", _TAKING[name][1]):
            yield f"v_{each}_u32", MeaningRow(taking, (32, 32, MASK), (32, MASK))
    for name, kind in (("add", _K.ADD), ("sub", _K.SUB)):
        yield f"v_{name}_i32", MeaningRow(Sum(kind))
    yield "v_mul_lo_u32", MeaningRow(Product())
    for name, kind in (("min", _K.MIN), ("max", _K.MAX)):
        for type in "iu":
            yield f"v_{name}_{type}32", MeaningRow(Extreme(kind, type == "i"))
    yield "v_bfe_u32", MeaningRow(TakeBits(), (32, 32, 32))
    for name, first in (("lo", 0), ("hi", 32)):
        yield f"v_mbcnt_{name}_u32_b32", MeaningRow(CountLanesBelow(first))
    yield "v_cndmask_b32", MeaningRow(Select(), (32, 32, MASK))
    for bits in (16, 32, 64):
        for type in "iu":
            for name, (kind, swap) in RELATIONS.items():
                for prefix in ("v_cmp", "v_cmpx"):
                    row = MeaningRow(Compare(kind, type == "i", swap), (bits, bits), (MASK,))
                    yield f"{prefix}_{name}_{type}{bits}", row


def unique(rows: Iterable[tuple[str, _RowT]]) -> Mapping[str, _RowT]:
    """Rows by name. Raises ``AssertionError`` for two of one name."""
    found: dict[str, _RowT] = {}
    for name, row in rows:
        if found.setdefault(name, row) is not row:
            raise AssertionError(f"two rows for {name}")
    return MappingProxyType(found)


MEANINGS = unique((*_scalar(), *_vector()))
"""Instructions whose meaning both executors have, by their mnemonics without encoding."""
