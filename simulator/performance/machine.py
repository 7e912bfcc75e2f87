"""The machine of a kernel: caches, latencies and bandwidths of a device, from the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cdna.performance.accesses import (
    PARTIAL_WRITE,
    PRIVATE_WORD,
    WRITE_REQUEST,
    CdnaHierarchy,
    hierarchy_of,
)
from fencewright.lowering.evidence import Evidence, Figure
from fencewright.lowering.ptx.performance.accesses import (
    DRAM_FETCH,
    FENCE_COSTS,
    FENCES_MEASURED_ON,
    L2_CROSSINGS,
    LINE,
    LOCAL_WORD,
    SECTOR,
    FenceCost,
)
from fencewright.lowering.ptx.performance.accesses import hierarchy_of as ptx_hierarchy_of
from fencewright.lowering.ptx.performance.devices import DEVICES as PTX_DEVICES
from fencewright.lowering.ptx.performance.devices import USUAL as USUAL_PTX_DEVICES
from fencewright.lowering.sequence import UnsupportedError, is_ptx
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.program import (
    CacheLevel,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.caches import CacheShape, Hierarchy
from fencewright.simulator.performance.partitions import partition_of


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a nanosecond of all that a level gives: at its peak, and where it was measured."""

    peak: Figure | None
    found: Figure | None


@dataclass(frozen=True, slots=True)
class Transfers:
    """Bytes of a request from L1 to L2 and from L2 on; the smallest that memory reads or writes."""

    read: int
    write: int
    far_read: int
    far_write: int
    least: int


@dataclass(frozen=True, slots=True)
class Machine:
    """One agent: ``cores`` SMs or CUs on each die of ``caches``.

    ``latencies`` in nanoseconds; what is not in them is not known. ``write_back``: nanoseconds of
    a write-back of L2, one after another on a die. ``writes_at_end``: the end of a kernel writes
    the dirty lines of L2. ``private_word``: bytes of a lane's private memory that lie together,
    before those of the next lane. ``crossings``: the part of sectors that L2 looks up a second
    time; None where that is not known. ``known``: how well it is known what caches do with whole
    kernels.
    """

    target: str
    device: str
    lanes: int
    caches: Hierarchy
    transfers: Transfers
    latencies: Mapping[CacheLevel, Figure]
    bandwidths: Mapping[CacheLevel, Bandwidth]
    clock: float
    write_back: Figure | None
    fences: Mapping[str, FenceCost]
    writes_at_end: bool
    l2_per_agent: L2PerAgent | None
    private_word: Figure
    crossings: Figure | None = None
    known: Evidence = Evidence.INFERRED

    @property
    def is_nvidia(self) -> bool:
        """True if the counters are those of Nsight Compute."""
        return is_ptx(self.target)

    @property
    def cores(self) -> int:
        """SMs or CUs of the agent."""
        return self.caches.dies * self.caches.cores

    def request(self, instruction: MemoryInstruction) -> int:
        """Bytes of each request that an instruction makes to L2 where L1 has nothing."""
        if instruction.kind is not MemoryAccessKind.LOAD:
            return self.transfers.write
        if instruction.space is MemorySpace.SCALAR and self.caches.scalar is not None:
            return self.caches.scalar.fill
        return self.transfers.read


def machine_of(
    target: str, partition: str | None = None, *, groups: int = 0, shared: int = 0
) -> Machine:
    """The usual device of a chip; ``partition``: SPX, DPX, QPX or CPX of an AMD device.

    ``groups``: how many an SM holds, each with ``shared`` bytes, which its L1 lacks. Raises
    ``UnsupportedError`` for a chip without a row or a device without the mode.
    """
    if is_ptx(target):
        return _ptx_machine(target, partition, groups, shared)
    return _cdna_machine(target, partition)


def _ptx_machine(target: str, partition: str | None, groups: int, shared: int) -> Machine:
    requested = f"traffic on {target}"
    if partition is not None:
        raise UnsupportedError(f"partition {partition} of {target}", "only AMD devices have modes")
    chip = ptx_hierarchy_of(target, requested)
    name = USUAL_PTX_DEVICES.get(chip.number)
    if name is None or chip.l1 is None or chip.l2 is None:
        known = tuple(f"sm_{each}" for each in USUAL_PTX_DEVICES)
        raise UnsupportedError(requested, "caches and SMs of its devices are not described", known)
    device = next(each for each in PTX_DEVICES if each.name == name)
    lacks = groups * (shared + int(chip.shared_reserved.low))
    l1 = max(int(chip.l1.low) - lacks, LINE)
    latencies = {
        CacheLevel.L1: chip.l1_latency,
        CacheLevel.L2: chip.l2_latency,
        CacheLevel.MEMORY: chip.memory_latency,
    }
    clock = device.clock.high / 1000
    fences = {each.scope: each for each in FENCE_COSTS if chip.number == FENCES_MEASURED_ON}
    crossings = L2_CROSSINGS.get(chip.number)
    levels = (
        CacheShape(CacheLevel.L1, LINE, l1 // LINE, SECTOR, SECTOR, SECTOR, True, False, True),
        CacheShape(
            CacheLevel.L2, LINE, int(chip.l2.high) // LINE,
            SECTOR, int(DRAM_FETCH.low), SECTOR, True, True, False,
        ),
    )  # fmt: skip
    return Machine(
        target, device.name, 32,
        Hierarchy(1, device.sms, levels, None, keeps_private=True),
        Transfers(SECTOR, SECTOR, SECTOR, SECTOR, SECTOR),
        _in_nanoseconds(latencies, clock),
        MappingProxyType(
            {
                CacheLevel.L2: Bandwidth(None, device.l2_bandwidth),
                CacheLevel.MEMORY: Bandwidth(device.bandwidth, None),
            }
        ),
        clock, None,
        MappingProxyType(fences),
        writes_at_end=False, l2_per_agent=None, private_word=LOCAL_WORD,
        crossings=crossings, known=Evidence.INFERRED if crossings is None else crossings.evidence,
    )  # fmt: skip


def _cdna_machine(target: str, mode: str | None) -> Machine:
    chip = hierarchy_of(target, f"traffic on {target}")
    partition = partition_of(target, mode)
    device = partition.device
    share = 1 / partition.agents
    clock = device.clock.high / 1000
    latencies = _in_nanoseconds(
        {
            CacheLevel.L1: chip.l1_latency,
            CacheLevel.L2: chip.l2_latency,
            CacheLevel.LAST_LEVEL: chip.mall_latency,
            CacheLevel.MEMORY: chip.memory_latency,
        },
        clock,
    )
    of_device = {
        CacheLevel.L2: device.l2_latency,
        CacheLevel.LAST_LEVEL: device.last_level_latency,
        CacheLevel.MEMORY: device.memory_latency,
    }
    together = {each: _both(latencies.get(each), of_device.get(each)) for each in CacheLevel}
    copied = device.copy_bandwidth
    bandwidths = {
        CacheLevel.L2: Bandwidth(None, _part(device.l2_bandwidth, share)),
        CacheLevel.LAST_LEVEL: Bandwidth(None, _part(device.last_level_bandwidth, share)),
        CacheLevel.MEMORY: Bandwidth(_part(device.bandwidth, share), _part(copied, share)),
    }
    return Machine(
        target, device.name, 64,
        Hierarchy(
            partition.dies, device.compute_units, _cdna_levels(chip), _scalar_level(chip),
            1 if chip.scalar is None else chip.scalar.compute_units,
        ),
        Transfers(chip.l1_request, WRITE_REQUEST, chip.fabric_read, chip.fabric_write,
                  PARTIAL_WRITE),
        MappingProxyType({each: figure for each, figure in together.items() if figure}),
        MappingProxyType(bandwidths),
        clock, chip.write_back, MappingProxyType({}),
        writes_at_end=True, l2_per_agent=partition.l2_per_agent, private_word=PRIVATE_WORD,
    )  # fmt: skip


def _cdna_levels(chip: CdnaHierarchy) -> tuple[CacheShape, ...]:
    l1 = CacheShape(
        CacheLevel.L1, chip.l1_line, chip.l1 // chip.l1_line,
        chip.l1_line, chip.l1_line, WRITE_REQUEST, False, False, True,
    )  # fmt: skip
    l2 = CacheShape(
        CacheLevel.L2, chip.l2_line, chip.l2 // chip.l2_line,
        chip.l2_line, chip.l2_line, WRITE_REQUEST, True, True, True,
    )  # fmt: skip
    if chip.mall is None:
        return l1, l2
    line = chip.l2_line
    return l1, l2, CacheShape(
        CacheLevel.LAST_LEVEL, line, chip.mall // line,
        line, line, WRITE_REQUEST, True, False, True,
    )  # fmt: skip


def _scalar_level(chip: CdnaHierarchy) -> CacheShape | None:
    cache = chip.scalar
    if cache is None:
        return None
    line = cache.line
    return CacheShape(CacheLevel.L1, line, cache.size // line, line, line, line, False, False, True)


def _in_nanoseconds(
    latencies: Mapping[CacheLevel, Figure | None], clock: float
) -> Mapping[CacheLevel, Figure]:
    return {
        level: Figure(each.low / clock, each.high / clock, each.evidence, each.source)
        for level, each in latencies.items()
        if each is not None
    }


def _both(one: Figure | None, other: Figure | None) -> Figure | None:
    if one is None or other is None:
        return one or other
    evidence: Evidence = one.evidence.weaker(other.evidence)
    source = f"{one.source}; {other.source}"
    return Figure(min(one.low, other.low), max(one.high, other.high), evidence, source)


def _part(figure: Figure | None, share: float) -> Figure | None:
    if figure is None:
        return None
    return Figure(figure.low * share, figure.high * share, figure.evidence, figure.source)
