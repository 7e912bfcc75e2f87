"""CDNA accelerators as they are sold: dies, compute units, memory, and one agent's share of them.

Rows, each with its source. What is None in a row is not known publicly.
"""

from dataclasses import dataclass

from fencewright.lowering.evidence import Figure, documented, inferred, measured
from fencewright.lowering.vocabulary import FastStrEnum


class PartitionMode(FastStrEnum):
    """The division of the XCDs of a device among agents."""

    SPX = "SPX"
    DPX = "DPX"
    TPX = "TPX"
    QPX = "QPX"
    CPX = "CPX"


@dataclass(frozen=True, slots=True)
class Partitioning:
    """A mode: how many agents (None: as many as XCDs), and into how many the memory may be divided.

    ``least``: XCDs that an agent has at least.
    """

    mode: PartitionMode
    agents: int | None
    memories: tuple[int, ...]
    least: int
    source: str


_DRIVER = "Linux amdgpu, aqua_vanjaram, is_valid_mode"
PARTITIONINGS: tuple[Partitioning, ...] = (
    Partitioning(PartitionMode.SPX, 1, (1,), 1, _DRIVER),
    Partitioning(PartitionMode.DPX, 2, (1, 2, 4), 2, _DRIVER),
    Partitioning(PartitionMode.TPX, 3, (1, 3), 1, _DRIVER),
    Partitioning(PartitionMode.QPX, 4, (1, 4), 2, _DRIVER),
    Partitioning(PartitionMode.CPX, None, (1, 2, 4, 8), 1, _DRIVER),
)
"""The modes of devices that have them."""


@dataclass(frozen=True, slots=True)
class CdnaDevice:
    """A device: ``dies`` (XCDs, or GCDs) of ``compute_units`` each, ``memory`` in bytes.

    ``modes``: how it may be partitioned; without, each die is an agent of its own and owns its part
    of the memory. ``memories``: into how many its memory may be divided (NPS). ``clock``:
    megahertz at the most. Bandwidths in bytes a nanosecond, latencies in nanoseconds.
    """

    name: str
    chip: str
    dies: int
    compute_units: int
    memory: int
    modes: tuple[PartitionMode, ...]
    memories: tuple[int, ...]
    clock: Figure
    bandwidth: Figure
    source: str
    copy_bandwidth: Figure | None = None
    last_level_bandwidth: Figure | None = None
    l2_bandwidth: Figure | None = None
    l2_latency: Figure | None = None
    last_level_latency: Figure | None = None
    memory_latency: Figure | None = None


_GIB = 1 << 30
_SPECS = "ROCm documentation, AMD GPU specifications"
_SHEET = "said to be of AMD's data sheet, which was not looked up"
_SYSINFO = "ROCm/omniperf, tests/workloads/vcopy, sysinfo.csv"
_ROCMINFO = "rocminfo, Max Clock Freq."
_X, _210 = "as MI300X", "as MI210, of the same chip"
_PARTS = "instinct.docs.amd.com, GPU partitioning, compatibility matrix"
_CHIPS = "chipsandcheese, Testing AMD's Giant MI300X"
_RUNS = "three runs of a pointer chase on a MI300X, 1 MiB, 64 MiB and 1 GiB"
_CHASE = "a random pointer chase on a MI300A, 8 to 256 MiB and beyond"
_EIGHT = (PartitionMode.SPX, PartitionMode.DPX, PartitionMode.QPX, PartitionMode.CPX)
_SIX = (PartitionMode.SPX, PartitionMode.TPX, PartitionMode.CPX)

DEVICES: tuple[CdnaDevice, ...] = (
    CdnaDevice(
        "mi100", "gfx908", 1, 120, 32 * _GIB, (), (1,),
        measured(_SYSINFO, 1502),
        documented(_SYSINFO, 1228.8), _SPECS,
    ),
    CdnaDevice(
        "mi210", "gfx90a", 1, 104, 64 * _GIB, (), (1,),
        measured(_SYSINFO, 1700),
        documented(_SYSINFO, 1638.4), _SPECS,
    ),
    CdnaDevice(
        "mi250", "gfx90a", 2, 104, 128 * _GIB, (), (1,),
        inferred(_210, 1700),
        inferred(f"{_210}, of two", 3276.8), _SPECS,
    ),
    CdnaDevice(
        "mi250x", "gfx90a", 2, 110, 128 * _GIB, (), (1,),
        inferred(_210, 1700),
        inferred(f"{_210}, of two", 3276.8), _SPECS,
    ),
    CdnaDevice(
        "mi300a", "gfx942", 6, 38, 128 * _GIB, _SIX, (1,),
        measured(_ROCMINFO, 2100),
        inferred(_X, 5300), f"{_SPECS}; {_PARTS}",
        last_level_latency=measured(_CHASE, 300, 585), memory_latency=measured(_CHASE, 620, 665),
    ),
    CdnaDevice(
        "mi300x", "gfx942", 8, 38, 192 * _GIB, _EIGHT, (1, 4),
        measured(_ROCMINFO, 2100),
        documented(f"{_CHIPS}: peak", 5300), f"{_SPECS}; {_PARTS}",
        copy_bandwidth=measured(_CHIPS, 3800, 4100),
        last_level_bandwidth=measured(f"{_CHIPS}; 17,200 at the peak", 11900),
        l2_bandwidth=measured(f"{_CHIPS}, 4 to 16 MiB", 7900),
        l2_latency=measured(_RUNS, 81.3, 85.3),
        last_level_latency=measured(f"{_CHIPS}; {_RUNS}", 218, 262),
        memory_latency=measured(_RUNS, 341, 353),
    ),
    CdnaDevice(
        "mi325x", "gfx942", 8, 38, 256 * _GIB, _EIGHT, (1, 4),
        inferred(_X, 2100),
        inferred(_SHEET, 6000), f"{_SPECS}; modes of its memory {_X}: inferred",
    ),
    CdnaDevice(
        "mi350x", "gfx950", 8, 32, 288 * _GIB, _EIGHT, (1, 2),
        inferred(_SHEET, 2200),
        inferred(_SHEET, 8000), f"{_SPECS}; {_PARTS}",
    ),
    CdnaDevice(
        "mi355x", "gfx950", 8, 32, 288 * _GIB, _EIGHT, (1, 2),
        inferred(_SHEET, 2400),
        inferred(_SHEET, 8000), f"{_SPECS}; {_PARTS}",
        copy_bandwidth=measured("ROCm/composable_kernel, transpose without conflicts", 6070),
    ),
)  # fmt: skip
"""The devices. Not described: MI308X, of whose dies nothing is public."""

USUAL = {"gfx908": "mi100", "gfx90a": "mi250x", "gfx942": "mi300x", "gfx950": "mi355x"}
"""The device that is meant where only its chip is named."""

# Of a MI300X, nanoseconds where no other unit is given

ATOMIC_WITHIN_XCD = measured(f"{_CHIPS}, an atomic from one CU to another", 116)
ATOMIC_ACROSS_XCDS = measured(f"{_CHIPS}, an atomic from one CU to another", 202.5)
RELEASE_TO_ACQUIRE = measured("one way with release and acquire, three runs on a MI300X", 596, 703)
TLB_REACH = measured(f"{_CHIPS}, MiB", 64)
TLB_MISS = measured(_CHIPS, 47.1)
"""The additional time of a load beyond the reach of the TLB."""
