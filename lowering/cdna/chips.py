"""AMD's chips, one row each: their differences and their names.

``CHIPS`` are those that are lowered for. ``KNOWN_CHIPS`` are these and the others whose code is
read and executed (fence-check, fence-sim) and never made. Everything else is rows of tables that
have a chip's generation, or one of its traits, as a column; no table lists chips.

A chip that is lowered as another (its twin) is one row:

1. ``_ROWS`` gets ``replace(<the other>, name=..., source=..., <what differs>)``.
2. ``make docs`` names it beside its twin, whose certificates cover it from then on. The fuzzer
   takes it in turn with the others: which seed is checked on which chip changes with their number.

A generation is a row here and a file of rows:

1. ``Generation`` gets a name, and ``_ROWS`` a row with every trait.
2. ``lowering/cdna/<generation>.py`` gets the rows that ``chip.GenerationRows`` names.
3. Every table without a row for it raises a ``TableError`` that says so, and these list the
   remaining work: wait states (``assembly``), caches (``caches``), what an access does at each
   cache (``memory``), the rules of its file (``common.load_chip``), and for the simulator, which
   has rows of its own, ``simulator/cdna/rows.py``. New instructions need an ``InstructionSet`` and
   rows.
   What is promised of a kernel lets nothing go until ``lowering/facts.py`` has rows for it.
4. ``fence-sim certify`` makes its certificates, one for each of ``certificate.modes()``, and
   ``make docs`` its pages.

One that is not lowered for (``lowered=False``) needs no file of its own: only rows of the tables
that say what instructions do, which have every ``Generation`` in their domain. The others have
``LOWERED_GENERATIONS``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from fencewright.lowering.vocabulary import FastStrEnum, L2PerAgent

TGSPLIT = "tgsplit"
"""The feature name of the mode in which waves of a work-group may sit on different CUs.

It is the word of gfx9 and stands for the mode of every chip; ``SplitMode`` has each chip's own.
"""


class Generation(FastStrEnum):
    """Chips with one memory model and one instruction set, called as the first of them.

    The name is also that of the file with their rows, ``lowering/cdna/<generation>.py``.
    """

    GFX908 = "gfx908"
    GFX90A = "gfx90a"
    GFX942 = "gfx942"
    GFX1030 = "gfx1030"
    GFX1100 = "gfx1100"
    GFX1200 = "gfx1200"
    GFX1250 = "gfx1250"


class InstructionSet(FastStrEnum):
    """Instructions that a chip has all of or none, as LLVM calls its subtargets' features."""

    GFX9 = "GFX9Insts"
    GFX90A = "GFX90AInsts"
    GFX940 = "GFX940Insts"
    BEFORE_GFX940 = "not GFX940Insts"
    GFX10 = "GFX10Insts"
    GFX11 = "GFX11Insts"
    GFX12 = "GFX12Insts"
    GFX1250 = "GFX1250Insts"


class Counter(FastStrEnum):
    """A counter of outstanding operations; the names are those of ``WaitCounts``.

    ``s_waitcnt`` waits on the first two, an instruction each on the others. With ``vscnt`` vmcnt is
    of loads alone, atomics that return the old value among them, and vscnt of stores.
    """

    VMCNT = "vmcnt"
    LGKMCNT = "lgkmcnt"
    VSCNT = "vscnt"
    LOADCNT = "loadcnt"
    STORECNT = "storecnt"
    SAMPLECNT = "samplecnt"
    BVHCNT = "bvhcnt"
    DSCNT = "dscnt"
    KMCNT = "kmcnt"
    XCNT = "xcnt"
    ASYNCCNT = "asynccnt"
    TENSORCNT = "tensorcnt"


@dataclass(frozen=True, slots=True)
class VectorRegisters:
    """The vector registers of a lane of a SIMD for all its waves, allocated in granules.

    ``unified``: accumulation registers are of the same file.
    """

    count: int
    granule: int
    unified: bool
    source: str


@dataclass(frozen=True, slots=True)
class ScratchConvention:
    """The access to a chip's private memory: through a resource in s[0:3], or by itself."""

    resource_registers: int
    enable: str
    source: str


@dataclass(frozen=True, slots=True)
class CacheNames:
    """A chip's names of the cache of a CU, the one after it, and the CUs that share that one."""

    l1: str = "L1"
    l2: str = "L2"
    share: str = "XCD"


@dataclass(frozen=True, slots=True)
class SplitMode:
    """The mode in which waves of one work-group may sit on different CUs, each with its L1.

    ``name`` for people. ``feature``: what switches it on in LLVM, as ``-mattr`` has it.
    ``directive``: of ``.amdhsa_kernel``, without ``.amdhsa_``; 1 in the mode. ``by_default``:
    whether it holds where nothing is said. ``lds``: whether its work-groups have LDS.
    """

    name: str
    feature: str
    directive: str
    by_default: bool
    lds: bool
    source: str

    @property
    def opposite(self) -> str:
        """LLVM's feature string that switches the mode off."""
        return {"+": "-", "-": "+"}[self.feature[0]] + self.feature[1:]

    def is_on(self, descriptor: Mapping[str, int]) -> bool:
        """True of a kernel in the mode, by the values of its descriptor's directives."""
        return bool(descriptor.get(self.directive, self.by_default))

    def option(self, split: bool) -> str | None:
        """The value of ``-mattr`` that sets the mode; None if that is the default."""
        if split is self.by_default:
            return None
        return self.feature if split else self.opposite


@dataclass(frozen=True, slots=True)
class NamedBarriers:
    """Barriers for some of a work-group's waves, from 1; a kernel reserves them in groups."""

    count: int
    group: int
    source: str

    def groups(self, highest: int) -> int:
        """The number of groups that hold the barriers up to ``highest``."""
        return -(-highest // self.group)


@dataclass(frozen=True, slots=True)
class ChipRow:
    """One chip.

    ``l2_per_agent``: how many L2s an agent has, or caches in place of them that are not coherent
    with each other; MANY where the partition mode decides.
    ``split_mode``: that in which a work-group may span CUs, if there is one.
    ``scope_bits``: loads and stores carry their scope as policy bits. ``l2_maintenance``: it has
    instructions that write back and invalidate an L2. ``back_off_barrier``: s_barrier may be
    issued while memory operations are outstanding. ``packed_workitem_ids``: ten bits each of v0.
    ``lds_bytes``: how much a work-group can have. ``counters``: with their maxima, which as
    operands mean "do not wait". ``generic``: no chip, but what code is compiled for that is to
    run on several. ``boards``: what it is sold as, in small letters. ``elf_machine``: its number
    in code objects (LLVM AMDGPUUsage, "ELF Code Object", EF_AMDGPU_MACH). ``wave_size`` in lanes.
    ``clusters``: work-groups can be launched in clusters, which are a scope of their own.
    ``named_barriers``: those of a work-group, if there are any. ``ready_workgroup_ids``: they are
    in registers that no kernel asks for. ``cluster_slot``: a hardware register that is 0 in
    launches without clusters. ``signed_offsets``: 32 bits of a vector register that are
    added to a scalar address have a sign.
    ``checks_offsets``: an access of a buffer without a stride is done if its offset is below the
    buffer's size. ``selects_checks``: so it is where the buffer's resource selects that.
    ``wide_buffers``: it is, and the resource has a base of 57 bits and a size of 45.
    ``first_lines`` are those that every kernel begins with.
    ``lowered``: code is made for it; else it is only read and executed. ``caches``: how it calls
    what the tables call L1 and L2. ``orders_requests``: what a wave asks of a CU's cache,
    maintenance included, is done there in its order; else a later access may overtake an
    invalidate, and a write-back a store.
    """

    name: str
    generation: Generation
    source: str
    instruction_sets: frozenset[InstructionSet]
    l2_per_agent: L2PerAgent
    split_mode: SplitMode | None
    scope_bits: bool
    l2_maintenance: bool
    back_off_barrier: bool
    packed_workitem_ids: bool
    vector_registers: VectorRegisters
    scratch: ScratchConvention
    lds_bytes: int
    counters: Mapping[Counter, int]
    elf_machine: int
    wave_size: int = 64
    clusters: bool = False
    named_barriers: NamedBarriers | None = None
    ready_workgroup_ids: bool = False
    cluster_slot: str | None = None
    signed_offsets: bool = False
    checks_offsets: bool = False
    selects_checks: bool = False
    wide_buffers: bool = False
    first_lines: tuple[str, ...] = ()
    generic: bool = False
    boards: tuple[str, ...] = ()
    lowered: bool = True
    caches: CacheNames = CacheNames()
    orders_requests: bool = True

    @property
    def splits_counters(self) -> bool:
        """True where loads, stores and LDS have counters and wait instructions of their own."""
        return Counter.LOADCNT in self.counters

    @property
    def counts_stores(self) -> bool:
        """True if ``s_waitcnt`` waits for loads and LDS alone, ``s_waitcnt_vscnt`` for stores."""
        return Counter.VSCNT in self.counters

    @property
    def names_bits(self) -> bool:
        """True if its instructions name an access by bits, ``global_load_b32``, not by words."""
        return not self.instruction_sets.isdisjoint(_NAME_BITS)

    @property
    def split_name(self) -> str:
        """Its name for the mode in which a work-group may span CUs; gfx9's name if it has none."""
        return TGSPLIT if self.split_mode is None else self.split_mode.name

    @property
    def feature_sets(self) -> tuple[frozenset[str], ...]:
        """Every set of features that code for it can have, the largest last."""
        return (frozenset(), frozenset({TGSPLIT})) if self.split_mode else (frozenset(),)


_NAME_BITS = frozenset({InstructionSet.GFX11, InstructionSet.GFX12, InstructionSet.GFX1250})

_REGISTERS = "LLVM AMDGPUBaseInfo, getTotalNumVGPRs"
_SEPARATE = VectorRegisters(256, 4, unified=False, source=f"{_REGISTERS}: apart from AGPRs")
_UNIFIED = VectorRegisters(512, 8, unified=True, source=f"{_REGISTERS}: unified")
_BY_RESOURCE = ScratchConvention(
    4, "system_sgpr_private_segment_wavefront_offset",
    "LLVM AMDGPUUsage, Initial Kernel Execution State: private segment buffer",
)  # fmt: skip
_BY_ITSELF = ScratchConvention(
    0, "enable_private_segment", "LLVM AMDGPUUsage: architected flat scratch"
)
_THREADGROUP_SPLIT = SplitMode(
    TGSPLIT, "+tgsplit", "tg_split", by_default=False, lds=False,
    source="LLVM AMDGPUUsage, Target Features, tgsplit; Memory Model GFX90A: no LDS then",
)  # fmt: skip
_WGP = SplitMode(
    "WGP mode", "-cumode", "workgroup_processor_mode", by_default=True, lds=True,
    source="LLVM AMDGPUUsage, Target Features, cumode; Memory Model GFX10-GFX11: the waves of a "
    "work-group are on either CU of its WGP, each with an L0 cache; LDS is the WGP's",
)  # fmt: skip
_GFX9_COUNTERS = MappingProxyType({Counter.VMCNT: 63, Counter.LGKMCNT: 15})  # MI300 ISA 4.4

_GFX10_COUNTERS = MappingProxyType({Counter.VMCNT: 63, Counter.LGKMCNT: 63, Counter.VSCNT: 63})
"""LLVM AMDGPUBaseInfo, getVmcntBitWidth, getLgkmcntBitWidth, getVscntBitWidth: gfx10 and gfx11."""

_GFX12_COUNTERS = MappingProxyType(
    {
        Counter.LOADCNT: 63, Counter.STORECNT: 63, Counter.SAMPLECNT: 63, Counter.BVHCNT: 7,
        Counter.DSCNT: 63, Counter.KMCNT: 31,
    }
)  # fmt: skip
"""LLVM AMDGPUBaseInfo, getLoadcntBitWidth and so on: gfx1200, gfx1201."""

_GFX1250_COUNTERS = MappingProxyType(
    {
        Counter.LOADCNT: 63, Counter.STORECNT: 63, Counter.DSCNT: 63, Counter.KMCNT: 31,
        Counter.XCNT: 63, Counter.ASYNCCNT: 63, Counter.TENSORCNT: 63,
    }
)  # fmt: skip
"""LLVM AMDGPUBaseInfo, getLoadcntBitWidth and so on; the six bits of tensorcnt are inferred from
HipKittens for gfx1250 (sync.cuh, wait_tdm).
"""

_GFX9 = frozenset({InstructionSet.GFX9, InstructionSet.BEFORE_GFX940})
_GFX940 = frozenset({InstructionSet.GFX9, InstructionSet.GFX90A, InstructionSet.GFX940})
_ONE, _MANY = L2PerAgent.ONE, L2PerAgent.MANY

GFX908 = ChipRow(
    "gfx908", Generation.GFX908,
    "MI100 ISA; LLVM FeatureISAVersion9_0_8, AMDGPUUsage, Memory Model GFX6-GFX9",
    _GFX9, _ONE, split_mode=None, scope_bits=False, l2_maintenance=False, back_off_barrier=False,
    packed_workitem_ids=False, vector_registers=_SEPARATE, scratch=_BY_RESOURCE,
    lds_bytes=64 * 1024, counters=_GFX9_COUNTERS, elf_machine=0x30, boards=("mi100",),
)  # fmt: skip
GFX90A = ChipRow(
    "gfx90a", Generation.GFX90A,
    "MI200 ISA; LLVM FeatureISAVersion9_0_A, AMDGPUUsage, Memory Model GFX90A, accum_offset",
    _GFX9 | {InstructionSet.GFX90A}, _ONE, split_mode=_THREADGROUP_SPLIT, scope_bits=False,
    l2_maintenance=True, back_off_barrier=True, packed_workitem_ids=True,
    vector_registers=_UNIFIED, scratch=_BY_RESOURCE, lds_bytes=64 * 1024, counters=_GFX9_COUNTERS,
    elf_machine=0x3F, checks_offsets=True,  # MI200 ISA 8.1.5, Range Checking.
    boards=("mi200", "mi210", "mi250", "mi250x"),
)  # fmt: skip
GFX942 = ChipRow(
    "gfx942", Generation.GFX942,
    "MI300 ISA; LLVM FeatureISAVersion9_4_2, AMDGPUUsage, Memory Model GFX942",
    _GFX940, _MANY, split_mode=_THREADGROUP_SPLIT, scope_bits=True, l2_maintenance=True,
    back_off_barrier=True, packed_workitem_ids=True, vector_registers=_UNIFIED, scratch=_BY_ITSELF,
    checks_offsets=True,  # MI300 ISA 9.1.5, Range Checking.
    lds_bytes=64 * 1024, counters=_GFX9_COUNTERS, elf_machine=0x4C,
    boards=("mi300", "mi300a", "mi300x", "mi308x", "mi325x"),
)  # fmt: skip
GFX950 = replace(
    GFX942, name="gfx950", lds_bytes=160 * 1024, elf_machine=0x4F, boards=("mi350x", "mi355x"),
    source="CDNA4 ISA; LLVM 22 lowers all 11,160 measured requests as for gfx942; LLVM AMDGPU, "
    "addressable local memory size",
)  # fmt: skip

GFX1030 = ChipRow(
    "gfx1030", Generation.GFX1030,
    "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; LLVM FeatureISAVersion10_3_0; registers: in "
    "waves of 32",
    frozenset({InstructionSet.GFX10}), _MANY, split_mode=_WGP, scope_bits=False,
    l2_maintenance=False, back_off_barrier=True, packed_workitem_ids=False,
    vector_registers=VectorRegisters(1024, 16, unified=False, source=f"{_REGISTERS}: gfx10.3"),
    scratch=_BY_RESOURCE, lds_bytes=64 * 1024, counters=_GFX10_COUNTERS, elf_machine=0x36,
    wave_size=32, lowered=False, caches=CacheNames("L0", "L1", "shader array"),
    selects_checks=True,  # RDNA3 ISA 8.1.5, OOB_SELECT.
)  # fmt: skip
"""The L1 of the tables is the L0 of a CU; their L2, many of which an agent has, is the read-only L1
of a shader array. The L2 comes after these, and is where all agents meet.
"""
_GFX1010_REGISTERS = VectorRegisters(1024, 8, unified=False, source=f"{_REGISTERS}: gfx10.1")
_ALIKE = "LLVM 24 compiles atomics, fences and barriers at each scope as for"

GFX1100 = replace(
    GFX1030, name="gfx1100", generation=Generation.GFX1100,
    source="LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; LLVM FeatureISAVersion11_0_0; "
           "registers: in waves of 32",
    instruction_sets=frozenset({InstructionSet.GFX11}), packed_workitem_ids=True,
    vector_registers=VectorRegisters(1536, 24, unified=False, source=f"{_REGISTERS}: 1536 VGPRs"),
    scratch=_BY_ITSELF, elf_machine=0x41,
)  # fmt: skip
_GFX1102_REGISTERS = VectorRegisters(1024, 16, unified=False, source=f"{_REGISTERS}: gfx11")

GFX1200 = replace(
    GFX1100, name="gfx1200", generation=Generation.GFX1200, l2_per_agent=_ONE,
    source="LLVM 24 AMDGPUUsage, Memory Model GFX12; LLVM FeatureISAVersion12; registers: in waves "
           "of 32",
    instruction_sets=frozenset({InstructionSet.GFX12}), scope_bits=True, l2_maintenance=True,
    counters=_GFX12_COUNTERS, elf_machine=0x48, ready_workgroup_ids=True,
    caches=CacheNames("L0", "L2", "shader array"),
)  # fmt: skip
"""The L1 of the tables is the L0 of a CU, and the L2 is the agent's: between them a shader array
has a buffer, in which nothing is stale.
"""

GFX1250 = ChipRow(
    "gfx1250", Generation.GFX1250,
    "LLVM 24 AMDGPUUsage, Memory Model GFX125x; LLVM FeatureISAVersion12_50; registers: LLVM "
    "AMDGPUBaseInfo, getTotalNumVGPRs and getVGPRAllocGranule, in waves of 32",
    frozenset({InstructionSet.GFX1250}), _MANY, split_mode=None, scope_bits=True,
    l2_maintenance=True, back_off_barrier=True, packed_workitem_ids=True,
    vector_registers=VectorRegisters(1024, 16, unified=False, source=f"{_REGISTERS}: gfx1250"),
    scratch=_BY_ITSELF, lds_bytes=320 * 1024, counters=_GFX1250_COUNTERS, elf_machine=0x49,
    wave_size=32, clusters=True, named_barriers=NamedBarriers(
        16, 4, "LLVM 24 AMDGPUExecutionSynchronization, s_barrier IDs GFX12; LLVM 22 "
        "AMDGPUAsmPrinter: named_barrier_count is in fours"),
    # LLVM 24 SITargetLowering, lowerWorkGroupId; GCNSubtarget, hasSignedGVSOffset.
    ready_workgroup_ids=True, cluster_slot="hwreg(HW_REG_IB_STS2, 6, 4)",
    signed_offsets=True, orders_requests=False,
    # LLVM 22 GCNSubtarget, has45BitNumRecordsBufferResource; Triton 3.9 masks lanes by the size.
    wide_buffers=True,
    # As LLVM 22 and 24 have every kernel begin; no public manual says what the bit is.
    first_lines=("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1",),
)  # fmt: skip

_ROWS = (
    GFX908,
    GFX90A,
    GFX942,
    GFX950,
    replace(GFX942, name="gfx9-4-generic", generic=True, elf_machine=0x5F, boards=(),
        source="LLVM AMDGPUUsage, Generic Processors: for gfx942 and gfx950, the lesser LDS"),
    GFX1250,
    replace(GFX1250, name="gfx1251", elf_machine=0x5A,
        source="LLVM 24 lowers every measured request as for gfx1250"),
)  # fmt: skip

_TWINS: Mapping[str, tuple[ChipRow, Mapping[str, int]]] = MappingProxyType(
    {
        "gfx10.3": (GFX1030, {
            "gfx1031": 0x37, "gfx1032": 0x38, "gfx1033": 0x39, "gfx1034": 0x3E, "gfx1035": 0x3D,
            "gfx1036": 0x45}),
        "gfx10.1": (replace(GFX1030, vector_registers=_GFX1010_REGISTERS), {
            "gfx1010": 0x33, "gfx1011": 0x34, "gfx1012": 0x35, "gfx1013": 0x42}),
        "gfx11, 1536 registers": (GFX1100, {"gfx1101": 0x46, "gfx1151": 0x4A}),
        "gfx11": (replace(GFX1100, vector_registers=_GFX1102_REGISTERS), {
            "gfx1102": 0x47, "gfx1103": 0x44, "gfx1150": 0x43, "gfx1152": 0x55, "gfx1153": 0x58,
            "gfx1154": 0x57}),
        "gfx12": (GFX1200, {"gfx1201": 0x4E}),
    }
)  # fmt: skip
"""(a chip, its twins with their numbers in code objects) of those that are only read."""

_READ_ROWS = (
    GFX1030,
    GFX1100,
    GFX1200,
    *(
        replace(chip, name=name, elf_machine=number, source=f"{_ALIKE} {chip.name}")
        for chip, numbers in _TWINS.values()
        for name, number in numbers.items()
    ),
    *(
        replace(chip, name=name, generic=True, elf_machine=number,
            source="LLVM AMDGPUUsage, Generic Processors")
        for chip, name, number in (
            (_TWINS["gfx10.1"][0], "gfx10-1-generic", 0x52), (GFX1030, "gfx10-3-generic", 0x53),
            (_TWINS["gfx11"][0], "gfx11-generic", 0x54), (GFX1200, "gfx12-generic", 0x59))
    ),
)  # fmt: skip
"""Chips whose code is read and executed, and never made."""

KNOWN_CHIPS: Mapping[str, ChipRow] = MappingProxyType(
    {each.name: each for each in (*_ROWS, *_READ_ROWS)}
)
"""Every chip whose code is read and executed, by its name."""

CHIPS: Mapping[str, ChipRow] = MappingProxyType(
    {each.name: each for each in KNOWN_CHIPS.values() if each.lowered}
)
"""Every chip that is lowered for, by its name."""

LOWERED_GENERATIONS: tuple[Generation, ...] = tuple(
    each for each in Generation if each in {chip.generation for chip in CHIPS.values()}
)
"""The generations that are lowered for."""


@cache
def chips_of(generation: Generation) -> tuple[str, ...]:
    """The names of the chips of a generation, in the order of their rows."""
    return tuple(each.name for each in KNOWN_CHIPS.values() if each.generation == generation)


DEFAULT_CHIP = GFX942.name
"""The chip of a simulation that names none."""

WITHOUT_ROWS = ("gfx10", "gfx11", "gfx12")
"""Prefixes of AMD's chip names of which some chips have no row yet."""
