"""Operands of PTX as they are written: constants, vectors, addresses, special registers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.ptx.code.statements import Opcode, element_of, number
from fencewright.lowering.ptx.code.text import PtxVariable
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.semantics.floats import FORMATS, convert, from_float
from fencewright.simulator.semantics.term import Term, low, ones_of

_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")
_GENERIC = re.compile(r"generic\(([^()]*)\)")
_PLUS = re.compile(r"\s*\+\s*(?=-?\s*[\w%$])")


def literal(text: str, type: str) -> int | None:
    """A constant as bits of a type; None for other text. Source: PTX ISA, Constants."""
    element = element_of(type)
    letter, width, count = ("b", 64, 1) if element is None else element
    name = type if letter in ("f", "bf") and count == 1 else f"f{max(width, 16)}"
    if (found := _FLOAT_BITS.fullmatch(text)) is not None:
        written, value = ("f32", int(found[1], 16)) if found[1] else ("f64", int(found[2], 16))
        is_raw = name not in FORMATS or (written == "f32" and letter != "f")
        return value if is_raw or written == name else convert(written, name, "rn", value)
    if _DECIMAL.fullmatch(text):
        return from_float(float(text), name)
    whole = number(text)
    if whole is not None and name == type:
        return from_float(float(whole), type)
    return None if whole is None else whole & (1 << width * count) - 1


def elements(text: str) -> tuple[str, ...]:
    """The elements of ``{a, b}``, or of ``a|b``; one of any other operand."""
    text = text.strip()
    if text.startswith("{"):
        return tuple(each.strip() for each in text[1:-1].split(","))
    return tuple(each.strip() for each in text.split("|"))


def terms_of(address: str) -> tuple[tuple[str, ...], int]:
    """The names that an address is the sum of, with or without brackets, and its constant."""
    names: list[str] = []
    offset = 0
    for each in _PLUS.split(address.strip().removeprefix("[").removesuffix("]").strip()):
        each = each.replace(" ", "")
        value = number(each)
        if value is not None:
            offset += value
        elif each:
            names.append(each)
    return tuple(names), offset


def initial(variable: PtxVariable, address_of: Callable[[str], int | None]) -> bytes | None:
    """The bytes that a variable begins with, None where some are not known.

    ``address_of``: the generic address of a variable or function. Source: PTX ISA, Initializers.
    """
    found = bytearray()
    for text in variable.values:
        value, size = literal(text, variable.type), variable.element
        if value is None:
            names, offset = terms_of(_GENERIC.sub(r"\1", text))
            address = address_of(names[0]) if len(names) == 1 else None
            if address is None:
                return None
            value = address + offset
        found += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(found)


def _product(x: Term, y: Term, z: Term) -> Term:
    return low(x * y * z, 32)


def is_several(x: Term, y: Term, z: Term) -> Term:
    """True of a cluster of these sizes that has more than one work-group."""
    return _product(x, y, z) > 1


def _mask_of(name: str) -> Callable[[Term], Term]:
    """A mask of lanes, by their order to the own one."""
    ones = ones_of(32) if name[0] == "g" else 0
    count = {"lt": 1, "le": 2, "gt": 2, "ge": 1}.get(name)
    if count is None:
        return lambda lane: 1 << lane
    return lambda lane: low((count << lane) - 1, 32) ^ ones


class LaneValue(FastStrEnum):
    """A property of a lane or of its launch that the lane can read."""

    THREAD_X = "thread x"
    THREAD_Y = "thread y"
    THREAD_Z = "thread z"
    GROUP_X = "work-group x"
    GROUP_Y = "work-group y"
    GROUP_Z = "work-group z"
    BLOCK_X = "threads in x"
    BLOCK_Y = "threads in y"
    BLOCK_Z = "threads in z"
    GRID_X = "work-groups in x"
    GRID_Y = "work-groups in y"
    GRID_Z = "work-groups in z"
    CLUSTER_X = "work-groups of a cluster in x"
    CLUSTER_Y = "work-groups of a cluster in y"
    CLUSTER_Z = "work-groups of a cluster in z"
    RANK = "rank in the cluster"
    LANE = "lane"
    ACTIVE = "active lanes"
    """A mask with a bit for each lane of the wave that is active."""
    ARGUMENTS = "address of the arguments"
    """The address of the kernel's arguments in memory (CDNA)."""
    PACKET = "address of the dispatch packet"
    """The address of the packet that has started the launch (CDNA)."""
    CLOCK = "clock"
    """A number that grows while the launch runs."""
    VOTES = "votes"
    """The lanes that have voted yes at the barrier that the lane has passed last."""
    WAVE = "number in the work-group"
    WAVES = "waves of the work-group"
    GROUP = "number of the work-group"
    GROUPS = "work-groups"
    DYNAMIC_SHARED = "bytes of shared memory that the launch adds"
    SHARED = "bytes of shared memory"
    RESERVED = "begin of reserved shared memory"
    """It follows what the kernel has of its own (PTX)."""
    VOTERS = "voters"
    """The lanes that have waited there."""


RESERVED = 1024
"""Bytes of shared memory that the system has of a block. Source: PTX ISA, %reserved_smem_offset."""


def reserved_at(shared: int) -> int:
    """The begin of reserved shared memory after so many bytes."""
    return shared + 15 & ~15


def reserves(operands: Iterable[str]) -> bool:
    """True where one of the operands is the begin of reserved shared memory."""
    return any(SPECIAL.get(each) is LaneValue.RESERVED for each in operands)


LANE = "%laneid"
OF_AXES: Mapping[str, Sequence[LaneValue]] = MappingProxyType(
    {
        "tid": (LaneValue.THREAD_X, LaneValue.THREAD_Y, LaneValue.THREAD_Z),
        "ctaid": (LaneValue.GROUP_X, LaneValue.GROUP_Y, LaneValue.GROUP_Z),
        "ntid": (LaneValue.BLOCK_X, LaneValue.BLOCK_Y, LaneValue.BLOCK_Z),
        "nctaid": (LaneValue.GRID_X, LaneValue.GRID_Y, LaneValue.GRID_Z),
        "cluster_nctaid": (LaneValue.CLUSTER_X, LaneValue.CLUSTER_Y, LaneValue.CLUSTER_Z),
    }
)
SPECIAL: Mapping[str, LaneValue | int] = MappingProxyType(
    {
        f"%{name}.{axis}": value
        for name, values in OF_AXES.items()
        for axis, value in zip("xyz", values, strict=True)
    }
    | dict.fromkeys(("%clock", "%clock64", "%globaltimer", "%globaltimer_lo"), LaneValue.CLOCK)
    | dict.fromkeys(("%reserved_smem_offset_begin", "%reserved_smem_offset_1"), LaneValue.RESERVED)
    | dict.fromkeys(("%gridid", "%clock_hi", "%globaltimer_hi"), 0)
    | {f"%envreg{n}": 0 for n in range(32)}
    | {
        LANE: LaneValue.LANE,
        "WARP_SZ": 32,
        "%cluster_ctarank": LaneValue.RANK,
        "%warpid": LaneValue.WAVE,
        "%nwarpid": LaneValue.WAVES,
        "%smid": LaneValue.GROUP,
        "%nsmid": LaneValue.GROUPS,
        "%dynamic_smem_size": LaneValue.DYNAMIC_SHARED,
        "%total_smem_size": LaneValue.SHARED,
    }
)
"""Special registers that are no functions of others: a property of a lane, or a number.

Source: PTX ISA, Special Registers."""
_SIZES = tuple(f"%cluster_nctaid.{axis}" for axis in "xyz")
DERIVED: Mapping[str, tuple[Callable[..., Term], tuple[str, ...]]] = MappingProxyType(
    {f"%lanemask_{name}": (_mask_of(name), (LANE,)) for name in ("eq", "lt", "le", "gt", "ge")}
    | {
        f"%{name}.{size[-1]}": (compute, (f"%{of}.{size[-1]}", size))
        for name, of, compute in (
            ("clusterid", "ctaid", Term.__floordiv__), ("nclusterid", "nctaid", Term.__floordiv__),
            ("cluster_ctaid", "ctaid", Term.__mod__),
        )
        for size in _SIZES
    }
    | {
        "%cluster_nctarank": (_product, _SIZES),
        "%is_explicit_cluster": (is_several, _SIZES),
    }
)  # fmt: skip
"""Special registers as functions of others. Source: PTX ISA, Special Registers."""


def offsets_of(opcode: Opcode, operands: Sequence[str], dimensions: int) -> Sequence[str] | None:
    """The offsets of a tensor copy in mode im2col, after its coordinates; None in another mode."""
    if "im2col_no_offs" in opcode.words:
        return ("0",) * (dimensions - 2)
    if "im2col" not in opcode.words:
        return None
    return next((elements(each) for each in operands if each.startswith("{")), ())


# The order of operands


@dataclass(frozen=True, slots=True)
class BarrierOperands:
    """Those of ``bar`` and ``barrier``; "" for an absent one."""

    barrier: str
    threads: str
    result: str
    fold: str
    predicate: str

    @property
    def meeting(self) -> tuple[str, ...]:
        """The barrier, and how many threads it is for."""
        return tuple(each for each in (self.barrier, self.threads) if each)


def barrier_operands(opcode: Opcode, operands: Sequence[str]) -> BarrierOperands:
    """The operands of a barrier of the CTA. Source: PTX ISA, bar; barrier."""
    result, predicate, fold = "", "", ""
    if "red" in opcode.words:
        result, *operands, predicate = operands
        fold = next(each for each in opcode.words if each in ("popc", "and", "or"))
    barrier, threads, *_ = (*(operands or ("0",)), "")
    return BarrierOperands(barrier, threads, result, fold, predicate)


@dataclass(frozen=True, slots=True)
class CopyOperands:
    """Those of ``cp.async`` and ``cp.async.bulk``; "" for an absent one.

    ``taken``: the bytes that are copied, zeros follow, or a predicate that there are none.
    """

    target: str
    source: str
    size: str
    taken: str = ""
    mbarrier: str = ""
    mask: str = ""


def copy_operands(opcode: Opcode, operands: Sequence[str]) -> CopyOperands:
    """The operands of an asynchronous copy of adjacent bytes. Source: PTX ISA, cp.async."""
    target, source, size, *others = operands
    if "bulk" not in opcode.words:
        taken = others[0] if len(others) > ("L2::cache_hint" in opcode.words) else ""
        return CopyOperands(target, source, size, taken)
    mbarrier = next((each for each in others if each.startswith("[")), "")
    return CopyOperands(target, source, size, "", mbarrier, multicast_mask(opcode, others))


def multicast_mask(opcode: Opcode, operands: Sequence[str]) -> str:
    """The mask of the destination CTAs of a bulk copy, after its mbarrier and offsets."""
    if "multicast::cluster" not in opcode.words:
        return ""
    return next(each for each in operands if each[:1] not in ("[", "{"))
