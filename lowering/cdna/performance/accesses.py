"""The memory hierarchy of CDNA chips: LDS banks and phases, request sizes, caches, latencies.

Rows, each with its source. What is None in a row is not known publicly.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cache_policy import CachePolicy, Lookup
from fencewright.lowering.cdna.access_names import AccessName, Path, access_name
from fencewright.lowering.cdna.caches import ACCESS_KINDS
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, LOWERED_GENERATIONS, Generation
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence, Figure, documented, inferred, measured
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.table import Illegal, Row, Table, row
from fencewright.lowering.vocabulary import L2PerAgent

LANES = 64
"""Lanes of a wave."""

SIMDS = 4
"""SIMDs of a CU."""

LDS_WORD = 4
"""Bytes of a word in one bank of LDS."""

Lanes = tuple[int, ...]
Phases = tuple[Lanes, ...]


_LOAD, _STORE, _ATOMIC = ACCESS_KINDS

# LDS: which lanes are served together


def _in_order(size: int) -> Phases:
    return tuple(tuple(range(first, first + size)) for first in range(0, LANES, size))


def _twice(*groups: Iterable[int]) -> Phases:
    """Groups of the lower half of a wave, and the same lanes of the upper half."""
    halves = (0, LANES // 2)
    return tuple(
        tuple(sorted(lane + half for lane in group)) for half in halves for group in groups
    )


def _lanes(*ranges: tuple[int, int]) -> tuple[int, ...]:
    return tuple(lane for first, last in ranges for lane in range(first, last + 1))


_QUARTERS = _twice(
    _lanes((0, 3), (20, 23)),
    _lanes((4, 7), (16, 19)),
    _lanes((8, 11), (28, 31)),
    _lanes((12, 15), (24, 27)),
)
_SIXTEENS = _twice(_lanes((0, 3), (12, 15), (20, 27)), _lanes((4, 11), (16, 19), (28, 31)))

_DH = "AMDResearch/dh_comms memory_analysis_handler.h"
_PYHIP = "tingqli/pyhip bank-conflict README, MI300"
_CK = "ROCm/composable_kernel, lds_bank_conflicts.rst"
_HK = "HazyResearch/HipKittens f09e968, phases, gfx950"


@dataclass(frozen=True, slots=True)
class LdsPhases:
    """The phases of one pass of an LDS instruction: groups of lanes, in one of ``banks`` each.

    ``width``: bytes of a lane. ``lds_banks``: of the chips that the row is for, see
    ``CdnaHierarchy``.
    """

    access: Kind
    width: int
    lds_banks: frozenset[int]
    banks: int
    phases: Phases
    evidence: Evidence
    source: str


_NARROW_LDS, _WIDE_LDS = frozenset({32}), frozenset({64})
_ANY_LDS = _NARROW_LDS | _WIDE_LDS
_M, _D, _I = Evidence.MEASURED, Evidence.DOCUMENTED, Evidence.INFERRED

LDS_PHASES: tuple[LdsPhases, ...] = (
    LdsPhases(_LOAD, 1, _ANY_LDS, 32, _in_order(32), _D, _DH),
    LdsPhases(_LOAD, 2, _ANY_LDS, 32, _in_order(32), _M, f"{_PYHIP}; CK transposes, gfx950"),
    LdsPhases(_LOAD, 4, _ANY_LDS, 32, _in_order(32), _M, _PYHIP),
    LdsPhases(_STORE, 1, _ANY_LDS, 32, _in_order(32), _D, _DH),
    LdsPhases(_STORE, 2, _ANY_LDS, 32, _in_order(32), _M, "CK transposes, gfx950"),
    LdsPhases(_STORE, 4, _ANY_LDS, 32, _in_order(32), _D, _DH),
    LdsPhases(_ATOMIC, 4, _ANY_LDS, 32, _in_order(32), _I, "as loads of the same width"),
    LdsPhases(_ATOMIC, 8, _NARROW_LDS, 32, _in_order(16), _I, "as loads of the same width"),
    LdsPhases(_ATOMIC, 8, _WIDE_LDS, 64, _in_order(32), _I, "as loads of the same width"),
    LdsPhases(_LOAD, 8, _NARROW_LDS, 32, _in_order(16), _M, f"{_PYHIP}; {_DH}"),
    LdsPhases(_LOAD, 8, _WIDE_LDS, 64, _in_order(32), _M, _HK),
    LdsPhases(_LOAD, 12, _NARROW_LDS, 32, _QUARTERS, _I, "as ds_read_b128"),
    LdsPhases(_LOAD, 12, _WIDE_LDS, 32, _QUARTERS, _M, _HK),
    LdsPhases(_LOAD, 16, _NARROW_LDS, 32, _QUARTERS, _M, f"{_PYHIP}; {_CK}; {_DH}"),
    LdsPhases(_LOAD, 16, _WIDE_LDS, 64, _SIXTEENS, _M, _HK),
    LdsPhases(_STORE, 8, _NARROW_LDS, 32, _in_order(16), _I, "as gfx950"),
    LdsPhases(_STORE, 8, _WIDE_LDS, 32, _in_order(16), _M, _HK),
    LdsPhases(_STORE, 12, _ANY_LDS, 32, _in_order(8), _I, "as ds_write_b128"),
    LdsPhases(_STORE, 16, _ANY_LDS, 32, _in_order(8), _D, _CK),
)
"""One row for each kind of pass: one without a row is not known."""


def lds_phases(access: Kind, width: int, lds_banks: int) -> LdsPhases | None:
    """The row for one pass of an instruction; None where nothing is known of it."""
    for each in LDS_PHASES:
        if each.access is access and each.width == width and lds_banks in each.lds_banks:
            return each
    return None


# Instructions


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """An instruction that accesses memory; ``absent``: chips that do not have it."""

    mnemonic: str
    access: Kind
    absent: frozenset[str] = frozenset()

    @property
    def name(self) -> AccessName:
        """Its decoded name."""
        name = access_name(self.mnemonic)
        assert name is not None, self.mnemonic
        return name

    @property
    def width(self) -> int:
        """Bytes that a lane accesses, in each pass."""
        return self.name.bits // 8


class LdsInstruction(MemoryRow):
    """An LDS instruction."""

    __slots__ = ()

    @property
    def passes(self) -> int:
        """The number of its LDS accesses: two for an instruction with two offsets."""
        return 2 if self.name.stride else 1

    @property
    def stride(self) -> int:
        """Bytes of a unit of the offset of each pass; 0: there is one pass, offset in bytes."""
        return self.name.stride * self.width


class VectorInstruction(MemoryRow):
    """A vector memory instruction that goes through L1."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """Its path, which its name says."""
        return self.name.path

    @property
    def is_buffer(self) -> bool:
        """True of one with a buffer descriptor: profilers count it apart from flat and global."""
        return self.path is Path.BUFFER


_BITS = ("b8", "b16", "b32", "b64", "b96", "b128")
_NARROW = ("u8", "i8", "u16", "i16")
_VECTOR = (
    "ubyte", "sbyte", "byte", "ushort", "sshort", "short", "dword", "dwordx2", "dwordx3", "dwordx4",
)  # fmt: skip
_D16 = ("u8_d16", "i8_d16", "u16_d16")
_VECTOR_D16 = ("ubyte_d16", "sbyte_d16", "short_d16")
"""Loads into a half of a register; with ``_hi`` into the upper one."""

_WHOLE = ("u32", "u64")
_BITWISE = ("b32", "b64")
_LDS_ATOMICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "add": (*_WHOLE, "f32", "f64"),
        **dict.fromkeys(("sub", "rsub", "inc", "dec"), _WHOLE),
        **dict.fromkeys(("min", "max"), (*_WHOLE, "i32", "i64", "f32", "f64")),
        **dict.fromkeys(("and", "or", "xor", "mskor"), _BITWISE),
        "cmpst": (*_BITWISE, "f32", "f64"),
        "pk_add": ("f16", "bf16"),
    }
)
"""Atomic operations of LDS hardware with their types; packed types are a word of two."""
_ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor",
            "inc", "dec")  # fmt: skip
_OLDEST = frozenset({"gfx908"})
_OLDER = _OLDEST | {"gfx90a"}
_FLOAT_ATOMICS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("add_f32", "global buffer", frozenset()),
    ("add_f32", "flat", _OLDER),
    ("pk_add_f16", "global buffer", frozenset()),
    ("pk_add_f16", "flat", _OLDER),
    ("pk_add_bf16", "global flat", _OLDER),
    ("pk_add_bf16", "buffer", _OLDER | {"gfx942"}),
    *((f"{kind}_f64", "global flat buffer", _OLDEST) for kind in ("add", "min", "max")),
)
"""Name, families, chips without it. Source: LLVM 22, what llvm-mc assembles."""
_NEW_TO_LDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {"ds_add_f64": _OLDEST, "ds_add_rtn_f64": _OLDEST}
    | {
        f"ds_pk_add{returning}_{type_}": _OLDER
        for returning in ("", "_rtn")
        for type_ in ("f16", "bf16")
    }
)
"""LDS instructions that not every chip has, and the chips without them."""


def _lds() -> Iterable[LdsInstruction]:
    for bits in (*_BITS, *_NARROW):
        if bits not in ("b8", "b16"):
            yield LdsInstruction(f"ds_read_{bits}", _LOAD)
        if bits in _BITS:
            yield LdsInstruction(f"ds_write_{bits}", _STORE)
        if bits in ("b8", "b16"):
            yield LdsInstruction(f"ds_write_{bits}_d16_hi", _STORE)
    for word in _D16:
        for half in ("", "_hi"):
            yield LdsInstruction(f"ds_read_{word}{half}", _LOAD)
    for bits in _BITWISE:
        for verb, access in (("read", _LOAD), ("write", _STORE)):
            yield LdsInstruction(f"ds_{verb}2_{bits}", access)
            yield LdsInstruction(f"ds_{verb}2st64_{bits}", access)
        yield LdsInstruction(f"ds_wrxchg_rtn_{bits}", _ATOMIC)
    for kind, types in _LDS_ATOMICS.items():
        for type_ in types:
            for returning in ("", "_rtn"):
                mnemonic = f"ds_{kind}{returning}_{type_}"
                yield LdsInstruction(mnemonic, _ATOMIC, _NEW_TO_LDS.get(mnemonic, frozenset()))


def _vector() -> Iterable[VectorInstruction]:
    for family in ("global", "flat", "buffer"):
        for word in _VECTOR:
            if word not in ("byte", "short"):
                yield VectorInstruction(f"{family}_load_{word}", _LOAD)
            if word not in ("ubyte", "sbyte", "ushort", "sshort"):
                yield VectorInstruction(f"{family}_store_{word}", _STORE)
            if word in ("byte", "short"):
                yield VectorInstruction(f"{family}_store_{word}_d16_hi", _STORE)
        for word in _VECTOR_D16:
            for half in ("", "_hi"):
                yield VectorInstruction(f"{family}_load_{word}{half}", _LOAD)
        for kind in _ATOMICS:
            for suffix in ("", "_x2"):
                yield VectorInstruction(f"{family}_atomic_{kind}{suffix}", _ATOMIC)
    for kind, families, absent in _FLOAT_ATOMICS:
        for family in families.split():
            yield VectorInstruction(f"{family}_atomic_{kind}", _ATOMIC, absent)


LDS_INSTRUCTIONS: Mapping[str, LdsInstruction] = MappingProxyType(
    {each.mnemonic: each for each in _lds()}
)
VECTOR_INSTRUCTIONS: Mapping[str, VectorInstruction] = MappingProxyType(
    {each.mnemonic: each for each in _vector()}
)
"""Vector instructions of the model of accesses, by mnemonic: LLVM AMDGPU, GFX9 instruction set."""

OFFSETS: Mapping[str, Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "ds": MappingProxyType({"offset": (0, 65535)}),
        "ds two": MappingProxyType({"offset0": (0, 255), "offset1": (0, 255)}),
        "global": MappingProxyType({"offset": (-4096, 4095)}),
        "flat": MappingProxyType({"offset": (0, 4095)}),
        "buffer": MappingProxyType({"offset": (0, 4095)}),
    }
)
"""The offsets of each family, the least and the most: LLVM 22, as llvm-mc accepts for GFX9."""


# Vector memory

QUAD = 4
"""Lanes that the address unit serves in a cycle: seed of the rule in GPUOpen, coalescing on GCN."""

GROUP = 16
"""Lanes that it serves in a cycle where accesses of up to 4 bytes coalesce."""

PRIVATE_WORD = documented("LLVM AMDGPUUsage, Address Spaces: private", 4)
"""Bytes of a lane's private memory that lie together: then come those of the next lane."""

WRITE_REQUEST = 64
"""Bytes of a request to L2 that writes, on every chip."""

PARTIAL_WRITE = 32
"""Bytes of a partial request beyond L2: rocprofiler-compute, L2-fabric write."""

_VCOPY = "rocprofiler-compute tests/workloads/vcopy, counters of MI100, MI200, MI300A, MI300X"


@dataclass(frozen=True, slots=True)
class SharedCache:
    """A first-level cache that several compute units share: bytes, and how many ways it has."""

    size: int
    line: int
    compute_units: int
    ways: int | None
    source: str


@dataclass(frozen=True, slots=True)
class CdnaHierarchy:
    """The memories of a chip, in bytes and for each XCD or die; latencies in cycles where the
    source says no other unit.

    ``..._ways``: lines of a set. ``..._rate``: bytes a cycle, of L1 for a CU, of L2 for each
    channel. ``l1_request``: bytes of a read request to L2. ``fabric_read``, ``fabric_write``: bytes
    of a request of L2 to the fabric. ``write_back``: nanoseconds of a ``buffer_wbl2`` that a wave
    executes, served one after another on an XCD; ``invalidate``: of a ``buffer_inv sc1``.
    ``lds_banks``: the most of an LDS access. Sizes of LDS and registers are in ``chips``.
    """

    chip: str
    lds_banks: int
    lds_granule: int
    l1: int
    l1_line: int
    l1_request: int
    l1_request_evidence: Evidence
    l2: int
    l2_line: int
    l2_channels: int
    fabric_read: int
    fabric_write: int
    mall: int | None
    waves: int
    source: str
    l1_latency: Figure | None = None
    l2_latency: Figure | None = None
    mall_latency: Figure | None = None
    memory_latency: Figure | None = None
    write_back: Figure | None = None
    invalidate: Figure | None = None
    scalar: SharedCache | None = None
    instructions: SharedCache | None = None
    l1_ways: int | None = None
    l2_ways: Figure | None = None
    mall_ways: Figure | None = None
    l1_rate: Figure | None = None
    l2_rate: Figure | None = None
    channel_interleave: Figure | None = None


_KIB, _MIB = 1024, 1024 * 1024
_FORMULAS = "rocprofiler-compute, analysis_configs and docs/conceptual; LLVM AMDGPU, subtargets"
_CDNA3_PAPER = "AMD CDNA 3 white paper"
_MRROY = "MrRoy09/AMD-CDNA3-CacheBenchmarking, MI300X, cycles"
_SPECS = "ROCm documentation, AMD GPU specifications"
_SQC = f"{_SPECS}; rocprofiler-compute, Shader engine; lines of 64 bytes: GCN ISA, scalar memory"
_PEAKS = "rocprofiler-compute, analysis_configs: peak of the metric"
_WAYS = "said to be of AMD's white papers, which were not looked up"
_INTERLEAVE = "rocprofiler-compute documentation, L2 cache: hashed, by 256 bytes"
_FLEET = "buffer_wbl2 on MI300X, 1 and 8 work-groups; ROCm/mori and a decoder on gfx950"

HIERARCHIES: tuple[CdnaHierarchy, ...] = (
    CdnaHierarchy(
        "gfx908", 32, 512, 16 * _KIB, 64, 64, _M, 8 * _MIB, 64, 32, 64, 64, None,
        10, f"{_FORMULAS}; {_VCOPY}",
        scalar=SharedCache(16 * _KIB, 64, 3, None, _SQC),
        instructions=SharedCache(32 * _KIB, 64, 3, None, _SQC),
        l2_ways=inferred(_WAYS, 16), l1_rate=documented(_PEAKS, 64),
        l2_rate=documented(_PEAKS, 64), channel_interleave=documented(_INTERLEAVE, 256),
    ),
    CdnaHierarchy(
        "gfx90a", 32, 512, 16 * _KIB, 64, 64, _M, 8 * _MIB, 128, 32, 64, 64, None,
        8, f"{_FORMULAS}; {_VCOPY}",
        scalar=SharedCache(16 * _KIB, 64, 2, None, _SQC),
        instructions=SharedCache(32 * _KIB, 64, 2, None, _SQC),
        l2_ways=inferred(_WAYS, 16), l1_rate=documented(_PEAKS, 64),
        l2_rate=documented(_PEAKS, 128), channel_interleave=documented(_INTERLEAVE, 256),
    ),
    CdnaHierarchy(
        "gfx942", 32, 512, 32 * _KIB, 128, 128, _M, 4 * _MIB, 128, 16, 128, 64, 256 * _MIB,
        8, f"{_FORMULAS}; {_VCOPY}; {_CDNA3_PAPER}",
        measured(_MRROY, 112, 127), measured(_MRROY, 208, 224), None, measured(_MRROY, 1212),
        measured(_FLEET, 115, 240), measured("acquires on MI300X, 1 and 8 work-groups", 45, 317),
        scalar=SharedCache(16 * _KIB, 64, 2, None, _SQC),
        instructions=SharedCache(64 * _KIB, 64, 2, None, _SQC),
        l2_ways=inferred(_WAYS, 16), mall_ways=inferred(_WAYS, 16),
        l1_rate=documented(_PEAKS, 128), l2_rate=inferred(f"{_CDNA3_PAPER}, at second hand", 128),
    ),
    CdnaHierarchy(
        "gfx950", 64, 2048, 32 * _KIB, 128, 128, _I, 4 * _MIB, 128, 16, 128, 64, 256 * _MIB,
        8, f"{_FORMULAS}; LLVM granulated_lds_size",
        write_back=measured(_FLEET, 196, 365),
        scalar=SharedCache(16 * _KIB, 64, 2, None, _SQC),
        instructions=SharedCache(64 * _KIB, 64, 2, None, _SQC),
        l2_ways=inferred("as gfx942", 16), mall_ways=inferred("as gfx942", 16),
        l1_rate=documented(_PEAKS, 128), l2_rate=inferred("as gfx942", 128),
    ),
)  # fmt: skip
"""The memories of every chip that has been described."""

_NO_ROW = (
    "nothing public says in which groups the lanes of a wave of 32 reach the banks of LDS, and how "
    "its L0 divides a request into lines"
)
UNDESCRIBED: Mapping[Generation, str] = MappingProxyType(
    {
        Generation.GFX1030: _NO_ROW,
        Generation.GFX1100: _NO_ROW,
        Generation.GFX1200: _NO_ROW,
        Generation.GFX1250: "nothing public says how its caches and the banks of its LDS are built",
    }
)
"""The generations that have no row, and why."""

_OF_CHIP = MappingProxyType({each.chip: each for each in HIERARCHIES})


def has_hierarchy(chip: str) -> bool:
    """True of a chip whose memories are described."""
    return chip in _OF_CHIP


def hierarchy_of(chip: str, requested: str) -> CdnaHierarchy:
    """The memories of ``chip``. Raises ``UnsupportedError`` for ``requested`` without a row."""
    if (found := _OF_CHIP.get(chip)) is not None:
        return found
    row = KNOWN_CHIPS.get(chip)
    reason = "unknown chip" if row is None else UNDESCRIBED.get(row.generation)
    raise UnsupportedError(requested, reason or "code for several chips", tuple(_OF_CHIP))


@dataclass(frozen=True, slots=True)
class ScalarRegisters:
    """The scalar registers of a SIMD, and how many waves it has with so many each.

    ``waves``: pairs of most registers of a wave, waves; where waves are limited to fewer, no limit.
    """

    count: int
    granule: int
    addressable: int
    waves: tuple[tuple[int, int], ...]
    source: str


SCALAR_REGISTERS = ScalarRegisters(
    800, 16, 102, ((80, 10), (88, 9), (100, 8), (102, 7)),
    "LLVM AMDGPUBaseInfo, getTotalNumSGPRs; GCNSubtarget, getOccupancyWithNumSGPRs, GFX9",
)  # fmt: skip
"""The same on every chip."""

LDS_BANDWIDTH = documented("rocprofiler-compute, analysis_configs: 4 bytes for each bank", 128)
"""Bytes a cycle of LDS with 32 banks; the port of two SIMDs takes 64 bytes a cycle."""

SYSTEM_WRITE_BACK = measured("ROCm/mori, MI355X: system instead of agent scope, 448 an XCD", 45)
"""Nanoseconds that a write-back takes longer at system scope, without later fetches."""

WRITE_BACK_BANDWIDTH = inferred("share of an XCD in the bandwidth of the device", 260, 660)
"""Bytes a nanosecond that an XCD writes back: a bound where much is dirty, not a measurement."""


# The policy of an access at each cache: the control tables


@dataclass(frozen=True, slots=True)
class CacheControl:
    """A row of a control table: the scope of the bits, and the access's policy at each cache."""

    scope: str
    policy: CachePolicy
    evidence: Evidence


_NEW, _OLD = Generation.GFX942, (Generation.GFX908, Generation.GFX90A)
_ONE, _MANY = L2PerAgent.ONE, L2PerAgent.MANY
_LRU, _STREAM, _EVICT = Lookup.HIT_LRU, Lookup.HIT_STREAM, Lookup.HIT_EVICT
_PASS, _DROP, _BYPASS = Lookup.MISS_LRU, Lookup.MISS_EVICT, Lookup.BYPASS

_CONTROL = "CDNA4 ISA, load and store control tables: sc1 sc0 nt"
_ODD = f"{_CONTROL}; evict in the last level without nt is as published: no other row has it"
_SPLIT = f"{_CONTROL}; in tgsplit the waves of a group are on several CUs: group scope misses L1"
_ATOMICS_NEW = (
    "MI300 ISA: an atomic runs in L2, with sc1 of system scope and else of agent's; as stores of it"
)
_LEGALIZER = "LLVM SIMemoryLegalizer; AMDGPUUsage, Memory Model GFX6-GFX9 and GFX90A"
_ATOMICS_OLD = f"{_LEGALIZER}: atomics bypass L1, glc returns the old value; in L2 as stores"
_SLC_ALONE = f"{_LEGALIZER}: glc slc stream in L2; of slc alone nothing is said"


def _control(
    scope: str, l1: Lookup, l2: Lookup, last_level: Lookup, evidence: Evidence = _D
) -> CacheControl:
    return CacheControl(scope, CachePolicy(l1, l2, last_level), evidence)


_NO_TABLE = Illegal("the control table of the chip is not public")
_NO_SC = Illegal("the chip has no sc0 and sc1 bits", ("glc", "slc"))
_NO_GLC = Illegal("the chip has no glc bit", ("sc0", "sc1", "nt"))
_ONE_L2 = Illegal("the chip has one L2 per agent", ("one",))
_WAVE, _GROUP, _AGENT, _SYSTEM, _ANY = "wave", "group", "agent", "system", "any"

_CONTROL_ROWS: list[Row[CacheControl | Illegal]] = [
    # gfx942, gfx950: loads
    row(_control(_WAVE, _LRU, _LRU, _LRU), _CONTROL,
        generation=_NEW, access=_LOAD, bits="", reuse=True),
    row(_control(_WAVE, _DROP, _STREAM, _EVICT), _CONTROL,
        generation=_NEW, access=_LOAD, bits="", reuse=False),
    row(_control(_GROUP, _LRU, _LRU, _EVICT), _ODD,
        generation=_NEW, access=_LOAD, bits="sc0", reuse=True, tgsplit=False),
    row(_control(_GROUP, _PASS, _LRU, _EVICT), _SPLIT,
        generation=_NEW, access=_LOAD, bits="sc0", reuse=True, tgsplit=True),
    row(_control(_GROUP, _DROP, _STREAM, _EVICT), _CONTROL,
        generation=_NEW, access=_LOAD, bits="sc0", reuse=False),
    # gfx942, gfx950: stores
    row(_control(_WAVE, _PASS, _LRU, _LRU), _CONTROL,
        generation=_NEW, access=_STORE, bits="", reuse=True),
    row(_control(_WAVE, _DROP, _STREAM, _EVICT), _CONTROL,
        generation=_NEW, access=_STORE, bits="", reuse=False),
    row(_control(_GROUP, _PASS, _LRU, _LRU), _CONTROL,
        generation=_NEW, access=_STORE, bits="sc0", reuse=True),
    row(_control(_GROUP, _DROP, _STREAM, _EVICT), _CONTROL,
        generation=_NEW, access=_STORE, bits="sc0", reuse=False),
    # gfx942, gfx950: loads and stores of farther scopes
    row(_control(_AGENT, _DROP, _LRU, _LRU), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc1", reuse=True, l2=_ONE),
    row(_control(_AGENT, _DROP, _BYPASS, _LRU), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc1", reuse=True, l2=_MANY),
    row(_control(_AGENT, _DROP, _STREAM, _EVICT), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc1", reuse=False, l2=_ONE),
    row(_control(_AGENT, _DROP, _BYPASS, _EVICT), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc1", reuse=False, l2=_MANY),
    row(_control(_SYSTEM, _DROP, _BYPASS, _LRU), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc0 sc1", reuse=True),
    row(_control(_SYSTEM, _DROP, _BYPASS, _EVICT), _CONTROL,
        generation=_NEW, access=(_LOAD, _STORE), bits="sc0 sc1", reuse=False),
    # gfx942, gfx950: atomics; sc0 asks for the old value
    row(_control(_AGENT, _DROP, _LRU, _LRU, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("", "sc0"), reuse=True, l2=_ONE),
    row(_control(_AGENT, _DROP, _BYPASS, _LRU, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("", "sc0"), reuse=True, l2=_MANY),
    row(_control(_AGENT, _DROP, _STREAM, _EVICT, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("", "sc0"), reuse=False, l2=_ONE),
    row(_control(_AGENT, _DROP, _BYPASS, _EVICT, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("", "sc0"), reuse=False, l2=_MANY),
    row(_control(_SYSTEM, _DROP, _BYPASS, _LRU, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("sc1", "sc0 sc1"), reuse=True),
    row(_control(_SYSTEM, _DROP, _BYPASS, _EVICT, _I), _ATOMICS_NEW,
        generation=_NEW, access=_ATOMIC, bits=("sc1", "sc0 sc1"), reuse=False),
    row(_NO_GLC, "MI300 ISA: sc0, sc1 and nt replace glc and slc", generation=_NEW, bits="glc"),
    # gfx908, gfx90a: one L2, the agent's point of coherence, and no last-level cache
    row(_control(_GROUP, _LRU, _LRU, _LRU), _LEGALIZER,
        generation=_OLD, access=_LOAD, bits="", reuse=True, l2=_ONE),
    row(_control(_AGENT, _DROP, _LRU, _LRU), _LEGALIZER,
        generation=_OLD, access=_LOAD, bits="glc", reuse=True, l2=_ONE),
    row(_control(_AGENT, _DROP, _STREAM, _LRU), _LEGALIZER,
        generation=_OLD, access=_LOAD, bits="glc", reuse=False, l2=_ONE),
    row(_control(_GROUP, _LRU, _STREAM, _LRU, _I), _SLC_ALONE,
        generation=_OLD, access=_LOAD, bits="", reuse=False, l2=_ONE),
    row(_control(_ANY, _PASS, _LRU, _LRU), _LEGALIZER,
        generation=_OLD, access=_STORE, bits="", reuse=True, l2=_ONE),
    row(_control(_ANY, _PASS, _LRU, _LRU, _I), f"{_LEGALIZER}: a store carries no scope bit",
        generation=_OLD, access=_STORE, bits="glc", reuse=True, l2=_ONE),
    row(_control(_ANY, _DROP, _STREAM, _LRU), _LEGALIZER,
        generation=_OLD, access=_STORE, bits="glc", reuse=False, l2=_ONE),
    row(_control(_ANY, _PASS, _STREAM, _LRU, _I), _SLC_ALONE,
        generation=_OLD, access=_STORE, bits="", reuse=False, l2=_ONE),
    row(_control(_AGENT, _DROP, _LRU, _LRU, _I), _ATOMICS_OLD,
        generation=_OLD, access=_ATOMIC, bits=("", "glc"), reuse=True, l2=_ONE),
    row(_control(_AGENT, _DROP, _STREAM, _LRU, _I), _ATOMICS_OLD,
        generation=_OLD, access=_ATOMIC, bits=("", "glc"), reuse=False, l2=_ONE),
    row(_NO_SC, "MI200 ISA", generation=_OLD, bits=("sc0", "sc1", "sc0 sc1"), l2=_ONE),
    row(_ONE_L2, "AMDGPUUsage gfx90a: one L2 per agent", generation=_OLD, l2=_MANY),
    row(_NO_TABLE, "nothing public says what its scopes do at each cache",
        generation=Generation.GFX1250),
]  # fmt: skip

CONTROL: Table[CacheControl | Illegal] = Table(
    "cache control",
    {
        "generation": LOWERED_GENERATIONS,
        "access": ACCESS_KINDS,
        "bits": ("", "sc0", "sc1", "sc0 sc1", "glc"),
        "reuse": (True, False),
        "l2": L2PerAgent,
        "tgsplit": (False, True),
    },
    _CONTROL_ROWS,
)
"""(generation, access, scope bits, expects reuse, L2s an agent has, tgsplit) -> its policy.

An access expects no reuse with ``nt`` (gfx908, gfx90a: ``slc``). A store in L1 is written through:
``MISS_LRU`` updates a line that is present, ``MISS_EVICT`` drops it.
"""

POLICY_BITS: Mapping[Generation, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys((Generation.GFX908, Generation.GFX90A), ("glc", "slc")),
        Generation.GFX942: ("sc0", "sc1", "nt"),
    }
)
"""Policy bits that a vector access may have after its operands."""

RETURNING_BITS = frozenset({"glc", "sc0"})
"""Those that ask an atomic for the old value."""

NO_REUSE = frozenset({"nt", "slc"})
"""The bits that expect no reuse."""

BYPASS_OF_LOCAL_MEMORY = measured(_MRROY, 224)
"""Cycles of an sc1 load on an agent with many L2s, of its own memory: those of a hit in L2.

The control tables have it bypass L2. On MI300X in SPX it hits: probes keep such lines fresh.
"""
