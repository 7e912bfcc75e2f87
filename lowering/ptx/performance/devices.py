"""NVIDIA devices: how many SMs, how much memory, and the peak of its bandwidth.

Rows, each with its source.
"""

from dataclasses import dataclass

from fencewright.lowering.evidence import Figure, documented, inferred, measured


@dataclass(frozen=True, slots=True)
class PtxDevice:
    """A device of compute capability ``number``; ``memory`` in bytes, bandwidth a nanosecond.

    ``clock``: megahertz of the SMs at the most; ``l2_bandwidth``: of sectors, from scattered
    stores to loads of whole sectors. Of all SMs together: ``l1_bandwidth``, the same of shared
    memory;
    ``register_bandwidth``, what the operands of arithmetic are read with.
    """

    name: str
    number: int
    sms: int
    memory: int
    clock: Figure
    bandwidth: Figure
    l2_bandwidth: Figure | None = None
    l1_bandwidth: Figure | None = None
    register_bandwidth: Figure | None = None


_GIB = 1 << 30
_PASSES = (
    "a transpose with stores a line apart; 64 passes over 16 MiB by strides of 4 to 1024 bytes"
)
_RATES = "loops of 1024 threads on each of 132 SMs of an H200"
_SHEET = "said to be of NVIDIA's data sheet, which was not looked up"
_PROPERTIES = (
    "CUDA device properties of a B200 in pytorch/ao 4002: width of the bus, clock of memory"
)

DEVICES: tuple[PtxDevice, ...] = (
    PtxDevice("v100", 70, 80, 16 * _GIB, inferred(_SHEET, 1530), inferred(_SHEET, 900)),
    PtxDevice("t4", 75, 40, 16 * _GIB, inferred(_SHEET, 1590), inferred(_SHEET, 320)),
    PtxDevice("a100", 80, 108, 40 * _GIB, inferred(_SHEET, 1410), inferred(_SHEET, 1555)),
    PtxDevice("rtx3090", 86, 82, 24 * _GIB, inferred(_SHEET, 1695), inferred(_SHEET, 936)),
    PtxDevice("rtx4090", 89, 128, 24 * _GIB, inferred(_SHEET, 2520), inferred(_SHEET, 1008)),
    PtxDevice("h100", 90, 132, 80 * _GIB, inferred(_SHEET, 1980), inferred(_SHEET, 3350)),
    PtxDevice(
        "h200",
        90,
        132,
        141 * _GIB,
        measured("nvidia-smi of an H200", 1980),
        inferred(_SHEET, 4800),
        measured(_PASSES, 1800, 8395),
        measured(f"{_RATES} of 16 bytes that hit", 33_299, 33_312),
        measured(f"{_RATES}, fused multiply-adds of three operands", 385_773),
    ),
    PtxDevice("b200", 100, 148, 178 * _GIB, inferred(_SHEET, 1965), documented(_PROPERTIES, 7672)),
    PtxDevice("rtx5090", 120, 170, 32 * _GIB, inferred(_SHEET, 2407), inferred(_SHEET, 1792)),
)
"""The devices. Not described: those of sm_72, sm_87, sm_88, sm_103, sm_110 and sm_121."""

USUAL = {70: "v100", 75: "t4", 80: "a100", 86: "rtx3090", 89: "rtx4090", 90: "h200", 100: "b200",
         120: "rtx5090"}  # fmt: skip
"""The device that is meant where only its compute capability is known."""
