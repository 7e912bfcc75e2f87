"""The memory hierarchy of NVIDIA chips, and the rules by which a warp's access becomes requests.

Rows: ``HIERARCHIES`` has one for each chip, ``RULES`` one for each rule of the hardware counters.
What is None in a row is not known publicly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cache_policy import Lookup
from fencewright.lowering.evidence import Evidence, Figure, documented, inferred, measured
from fencewright.lowering.ptx.chip import CHIPS
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import FastStrEnum

LANES = 32
"""Lanes of a warp."""

SECTOR = 32
LINE = 128
"""Bytes of a sector and of a line in L1 and L2: PTX and Nsight Compute, Memory Tables."""

SHARED_BANKS = 32
SHARED_WORD = 4
"""Banks of shared memory and the bytes of a word in one: CUDA C++ Programming Guide, 5.3.2."""

LOCAL_WORD = documented("CUDA C++ Programming Guide, Local Memory", 4)
"""Bytes of a thread's local memory that lie together: then come those of the next lane."""
COUNTED_LOCALLY = frozenset({"sm_90"})
"""The chips on which accesses to local memory, by words, were counted."""

TAG_BANKS = 4
"""Lines that the tag stage of L1 looks up at once, one of each bank."""

TAG_BANK_HASH = (
    (7, 9, 11, 12, 14, 16, 18, 19, 20, 21, 23, 24, 25),
    (8, 10, 11, 13, 14, 15, 17, 19, 21, 22, 24),
)
"""The bits of an address whose parity is each bit of its tag bank; known as far as bit 25."""

TAG_BANK_BITS = 26
"""Addresses that differ in higher bits have not been measured."""


class AddressRule(FastStrEnum):
    """The rules from the lanes' addresses to the counts of the hardware."""

    REQUEST = "request"
    SECTORS = "sectors"
    PACKETS = "packets"
    COMPARISONS = "packets of comparisons"
    CROSSBAR = "crossbar"
    TAGS = "tags"
    SHARED_GROUPS = "shared groups"
    SHARED_PACKING = "shared packing"
    SHARED_CONFLICTS = "shared conflicts"
    SHARED_ATOMICS = "shared atomics"
    COPIES = "copies past L1"
    COPY_PASSES = "passes of copies past L1"


_NCU = "Nsight Compute 2025.3 on an H200, 1,360 launches of one warp"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """The text of a rule; it is measured on the chips of compute capability ``measured_on``."""

    rule: AddressRule
    says: str
    source: str = _NCU
    measured_on: tuple[int, ...] = (90,)

    def evidence(self, number: int) -> Evidence:
        """The evidence of the rule for chips of a compute capability, as 90."""
        return Evidence.MEASURED if number in self.measured_on else Evidence.INFERRED


_TAGS = "forums.developer.nvidia.com 49571/14: the tag stage looks up 4 tags at once, of Volta"

RULES: tuple[RuleRow, ...] = (
    RuleRow(AddressRule.REQUEST, "One for each warp instruction with an active lane."),
    RuleRow(
        AddressRule.SECTORS,
        "Loads and stores: as many as distinct 32-byte sectors that active lanes touch; with .mmio "
        "one for each active lane.",
        f"{_NCU}; 9 more of ld.mmio",
    ),
    RuleRow(
        AddressRule.PACKETS,
        "Atomics: passes of the tag stage, each of one line from each of four banks, that of the "
        "bank's first waiting lane; a lane waits if an earlier one waits for the same word of a "
        "line of its bank. A packet for each sector of each pass.",
        f"{_NCU}; 453 more of red.global.add.u32, drawn to tell rules apart",
    ),
    RuleRow(
        AddressRule.COMPARISONS,
        "atom.cas: as other atomics, which is right for 66 of 81 launches, and up to 3 packets off "
        "where several lines are in one bank. Not explained.",
        f"{_NCU}, 81 of them",
        measured_on=(),
    ),
    RuleRow(
        AddressRule.CROSSBAR,
        "L1 to L2: the sectors of stores and atomics; L2 to L1: those of loads that miss, and of "
        "atomics that return.",
    ),
    RuleRow(
        AddressRule.TAGS,
        "Loads: passes of the tag stage, each of at most one line from each of four banks.",
        f"{_NCU}; {_TAGS}",
    ),
    RuleRow(
        AddressRule.SHARED_GROUPS,
        "Lanes served at once: 32 up to 4 bytes, 16 for 8, 8 for 16; a wavefront for each word "
        "that a bank has to give.",
    ),
    RuleRow(
        AddressRule.SHARED_PACKING,
        "Loads of 8 and 16 bytes: two groups are one if every lane shares its address with its "
        "neighbour, i^1 or i^2, or either is inactive.",
        f"{_NCU}; forums.developer.nvidia.com 77228/2, of 7.x",
    ),
    RuleRow(
        AddressRule.SHARED_CONFLICTS,
        "Wavefronts beyond one for each group with an active lane.",
        f"{_NCU}; forums.developer.nvidia.com 359822",
    ),
    RuleRow(
        AddressRule.SHARED_ATOMICS,
        "As stores, but lanes on one word are not combined; compare-and-swap goes through twice. "
        "At generic addresses at least once, though no lane is in shared memory. "
        "Adding 1 without a result is one that ptxas makes a count of lanes of.",
    ),
    RuleRow(
        AddressRule.COPIES,
        "cp.async.cg: two neighbouring lanes are one sector of L2 if they are its two halves, else "
        "one each; they are as many sectors of the tag stage as they have lines.",
    ),
    RuleRow(
        AddressRule.COPY_PASSES,
        "cp.async.cg: passes of the tag stage as of loads, of each bank the first waiting lane's "
        "line; a pass is as many wavefronts as it has lines of the same 8 lanes, 0-7 to 24-31.",
        f"{_NCU}: found with 107 launches, right for 104 others",
    ),
)
"""The rules, with where each comes from."""


@dataclass(frozen=True, slots=True)
class PtxHierarchy:
    """The memories of a chip: bytes, threads, and latencies in cycles of the SM clock.

    ``l1``: the data cache and shared memory together; ``shared``: the most that may be shared
    memory, ``shared_block`` of one block, ``shared_reserved`` of each block the driver's.
    ``threads``, ``blocks``, ``registers`` (32 bits each): the most of an SM.
    """

    number: int
    l1: Figure | None
    shared: Figure
    shared_reserved: Figure
    l2: Figure | None
    threads: Figure
    blocks: Figure
    registers: Figure
    shared_latency: Figure | None = None
    l1_latency: Figure | None = None
    l2_latency: Figure | None = None
    memory_latency: Figure | None = None

    @property
    def warps(self) -> int:
        """Warps that an SM can hold."""
        return int(self.threads.high) // LANES

    @property
    def shared_block(self) -> int:
        """The most shared memory that one block may have."""
        return int(self.shared.high - self.shared_reserved.high)


_CCCL = "CCCL, cuda/__device/arch_traits.h"
_TUNING = "CUDA tuning guide of the architecture, unified shared memory/L1/texture cache"
_WHITE = "said to be of NVIDIA's white paper, which was not looked up"
_ORIN = "NVIDIA Jetson AGX Orin technical brief; CUDA device properties in tmcdonell/cuda 77"
_H100 = "50 MiB of an H100, 60 MiB of an H200 by its CUDA device properties"
_B200 = "CUDA device properties of a B200 in pytorch/ao 4002"
_H200 = "chases of dependent 8-byte loads on an H200"
_KIB, _MIB = 1024, 1024 * 1024


def _row(
    number: int,
    l1: int,
    shared: int,
    threads: int,
    blocks: int,
    l2: Figure | None = None,
    **latencies: Figure,
) -> PtxHierarchy:
    return PtxHierarchy(
        number,
        documented(_TUNING, l1 * _KIB),
        documented(_CCCL, shared * _KIB),
        documented(_CCCL, _KIB if number >= 80 else 0),
        l2,
        documented(_CCCL, threads),
        documented(_CCCL, blocks),
        documented(_CCCL, 64 * _KIB),
        **latencies,
    )


HIERARCHIES: tuple[PtxHierarchy, ...] = (
    _row(70, 128, 96, 2048, 32, inferred(f"{_WHITE}, V100", 6 * _MIB)),
    _row(72, 128, 96, 2048, 32),
    _row(75, 96, 64, 1024, 16, inferred(f"{_WHITE}, T4", 4 * _MIB)),
    _row(80, 192, 164, 2048, 32, inferred(f"{_WHITE}, A100", 40 * _MIB)),
    _row(86, 128, 100, 1536, 16, inferred(f"{_WHITE}, GA102", 6 * _MIB)),
    _row(87, 192, 164, 1536, 16, documented(_ORIN, 4 * _MIB)),
    _row(88, 128, 100, 1536, 16),
    _row(89, 128, 100, 1536, 24, inferred(f"{_WHITE}, AD102 of 4090", 72 * _MIB)),
    _row(
        90,
        256,
        228,
        2048,
        32,
        inferred(_H100, 50 * _MIB, 60 * _MIB),
        shared_latency=measured("a chase of dependent 4-byte loads on an H200", 23),
        l1_latency=measured(_H200, 32, 32.5),
        l2_latency=measured(_H200, 280.6, 281.5),
        memory_latency=measured(f"{_H200}: 24 MiB to 2 GiB, first touch or L2 flushed", 607, 690),
    ),
    _row(100, 256, 228, 2048, 32, measured(_B200, 126.5 * _MIB)),
    _row(103, 256, 228, 2048, 32),
    _row(110, 256, 228, 1536, 24),
    _row(120, 128, 100, 1536, 24, inferred(f"{_WHITE}, GB202 of 5090", 96 * _MIB)),
    _row(121, 128, 100, 1536, 24),
)
"""The memories of every chip that is a target."""

_OF_CHIP: Mapping[str, PtxHierarchy] = MappingProxyType(
    {chip.name: row for chip in CHIPS for row in HIERARCHIES if row.number == chip.number}
)


def hierarchy_of(chip: str, requested: str) -> PtxHierarchy:
    """The memories of ``chip``. Raises ``UnsupportedError`` for ``requested`` without a row."""
    if (found := _OF_CHIP.get(chip)) is not None:
        return found
    known = tuple(f"sm_{each.number}" for each in HIERARCHIES)
    raise UnsupportedError(requested, "unknown chip", known)


@dataclass(frozen=True, slots=True)
class CrowdedFence:
    """The most cycles of a fence where up to 32 warps on each of 132 SMs store and fence at once.

    With no store outstanding, after coalesced stores, and after others.
    """

    idle: int
    coalesced: int
    scattered: int
    source: str

    def cycles(self, stores: int, sectors: int) -> int:
        """After ``stores`` of a warp, which have ``sectors`` in all."""
        if not stores:
            return self.idle
        return self.coalesced if sectors <= LINE // SECTOR * stores else self.scattered


@dataclass(frozen=True, slots=True)
class FenceCost:
    """The time that a fence waits, in cycles, after ``n`` stores of one warp: at sm_90, one SM.

    ``idle``: with none outstanding. Up to ``few`` scattered stores (a sector for each lane) it
    is ``start + n * step``, then ``later + n * later_step`` and at most ``most``. ``crowded``:
    where other warps do so too.
    """

    scope: str
    idle: Figure
    coalesced: Figure
    coalesced_step: float
    few: int
    start: float
    step: float
    later: float
    later_step: float
    most: float
    crowded: "CrowdedFence"

    def cycles(self, stores: int, sectors: int) -> tuple[float, float]:
        """The least and the most after ``stores`` of one warp, which have ``sectors`` in all.

        Measured for 4 and for 32 sectors a store; between them they are a range.
        """
        if not stores:
            return self.idle.low, self.idle.high
        coalesced = self.coalesced.low + self.coalesced_step * stores
        scattered = (
            self.start + self.step * stores
            if stores <= self.few
            else min(self.later + self.later_step * stores, self.most)
        )
        return (
            scattered if sectors >= LANES * stores else coalesced,
            coalesced if sectors <= LINE // SECTOR * stores else scattered,
        )


_FENCES = "fences after n stores of one warp on an H200; residuals up to 19 cycles"
_CROWDS = (
    "fences after up to 48 stores of 1 to 32 warps on 1 to 132 SMs of an H200, the worst median"
)
FENCE_COSTS: tuple[FenceCost, ...] = (
    FenceCost(
        "cta", measured(_FENCES, 86), measured(_FENCES, 86), 0, 0, 86, 0, 86, 0, 86,
        CrowdedFence(54, 209, 10160, _CROWDS),
    ),
    FenceCost(
        "gpu", measured(_FENCES, 312), measured(_FENCES, 621), 0.29, 2, 611, 32, 637, 48, 2061,
        CrowdedFence(405, 1873, 18472, _CROWDS),
    ),
    FenceCost(
        "sys", measured(_FENCES, 1080), measured(_FENCES, 1080), 0, 2, 1064, 19, 1066, 43.5, 2418,
        CrowdedFence(2136, 2447, 21601, _CROWDS),
    ),
)  # fmt: skip
"""The price of a fence by the outstanding stores, on chips of ``FENCES_MEASURED_ON``."""

FENCES_MEASURED_ON = 90
"""Compute capability."""

_KERNELS = "13 launches of whole kernels on an H200, Nsight Compute 2025.3"

DRAM_FETCH = measured(_KERNELS, 64)
"""Bytes that a miss in L2 fetches: of every other sector both are counted as misses."""

L2_CROSSINGS: Mapping[int, Figure] = MappingProxyType({90: measured(_KERNELS, 0.5)})
"""By compute capability, the part of sectors that L2 looks up twice: its halves have half each.

All sectors that are written, and those that a miss fetches. ``lts__t_sectors_op_read`` and
``op_write`` count both, ``srcunit_tex`` the first.
"""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The policy in L1 and L2 of accesses with all of ``words``; without words, all of their kind.

    ``evidence`` is for L1: what serves a load, and what a load right after finds there. Which line
    goes first where there is no room, and what happens in L2, is inferred.
    """

    words: tuple[str, ...]
    l1: Lookup
    l2: Lookup
    evidence: Evidence
    source: str


_HITS = "up to three accesses of one warp on an H200: sectors that hit, of Nsight Compute"
_OPERATORS = "PTX ISA, Cache Operators"
_PRIORITIES = "PTX ISA, Cache Eviction Priority Hints"
_SCOPES = "as relaxed.gpu: several SMs are in the scope"
_LRU, _STREAM, _DROP = Lookup.HIT_LRU, Lookup.HIT_STREAM, Lookup.MISS_EVICT
_FILLS = Lookup.MISS_LRU
_M, _D, _I = Evidence.MEASURED, Evidence.DOCUMENTED, Evidence.INFERRED


def _policy(
    words: str, l1: Lookup, evidence: Evidence, source: str, l2: Lookup = Lookup.HIT_LRU
) -> PolicyRow:
    return PolicyRow(tuple(words.split()), l1, l2, evidence, source)


_HINTS = (
    _policy("cs", _STREAM, _M, f"{_HITS}; {_OPERATORS}: likely to be accessed once", _STREAM),
    _policy("L1::evict_first", _STREAM, _M, f"{_HITS}; {_PRIORITIES}"),
    _policy("L2::evict_first", _LRU, _D, _PRIORITIES, _STREAM),
)
LOAD_POLICIES: tuple[PolicyRow, ...] = (
    _policy("", _LRU, _M, _HITS),
    _policy("ca", _LRU, _M, _HITS),
    _policy("nc", _LRU, _M, _HITS),
    _policy("relaxed cta", _LRU, _M, _HITS),
    _policy("acquire cta", _LRU, _M, f"{_HITS}; fence.acq_rel.cta does not empty L1"),
    _policy("cg", _DROP, _M, f"{_HITS}; {_OPERATORS}: not cached in L1"),
    _policy("cv", _DROP, _M, f"{_HITS}; {_OPERATORS}: fetched again each time"),
    _policy("volatile", _DROP, _M, _HITS),
    _policy("relaxed gpu", _DROP, _M, _HITS),
    _policy("acquire gpu", _DROP, _M, _HITS),
    _policy("relaxed cluster", _DROP, _M, _HITS),
    _policy("relaxed sys", _DROP, _M, _HITS),
    _policy("acquire cluster", _DROP, _I, _SCOPES),
    _policy("acquire sys", _DROP, _M, _HITS),
    _policy("mmio", _DROP, _M, f"{_HITS}; a sector for each lane: PTX ISA, mmio Operation"),
    _policy("lu", Lookup.HIT_KEEP, _M, f"{_HITS}; {_OPERATORS}: last use", _STREAM),
    _policy("L1::no_allocate", Lookup.HIT_KEEP, _M, f"{_HITS}; {_PRIORITIES}"),
    *_HINTS,
)
STORE_POLICIES: tuple[PolicyRow, ...] = (
    _policy("", _FILLS, _M, f"{_HITS}: what was stored; Memory Tables: L1 is written through"),
    _policy("cg", _FILLS, _M, f"{_HITS}: L1 has what was stored, whatever {_OPERATORS} say"),
    _policy("cs", _FILLS, _M, f"{_HITS}; {_OPERATORS}: likely to be accessed once", _STREAM),
    _policy("L1::no_allocate", Lookup.MISS_KEEP, _M, f"{_HITS}; {_PRIORITIES}"),
    _policy("L2::evict_first", _FILLS, _I, _PRIORITIES, _STREAM),
)
ATOMIC_POLICIES: tuple[PolicyRow, ...] = (
    _policy("", _DROP, _M, "sectors of atomics from L1 to L2 on an H200: each runs in L2"),
    _policy("L2::evict_first", _DROP, _M, _PRIORITIES, _STREAM),
)
"""Accesses by their words: of all rows that fit, the farthest from a plain hit holds at each cache.

The same on lines that ``ld.ca`` brought: what does not hit fetches again.
"""

EMPTIES_L1 = frozenset({"cluster", "gpu", "sys"})
"""The scopes at which a fence that acquires makes the weak loads after it miss L1.

Measured as ``LOAD_POLICIES``, fences of each ordering and scope: one at cta, and one that only
releases, leaves L1 as it is.
"""
