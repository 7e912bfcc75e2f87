"""NVIDIA devices: how many SMs, how much memory, and the peak of its bandwidth.

Rows, each with its source.
"""

from dataclasses import dataclass

from fencewright.lowering.evidence import Figure, documented, measured


@dataclass(frozen=True, slots=True)
class PtxDevice:
    """A device of compute capability ``number``; ``memory`` in bytes, bandwidth in bytes a nanosecond.

    ``clock``: megahertz of the SMs at the most; ``l2_bandwidth``: of sectors, from scattered
    stores to loads of whole sectors.
    """

    name: str
    number: int
    sms: int
    memory: int
    clock: int
    bandwidth: Figure
    l2_bandwidth: Figure | None = None


_GIB = 1 << 30
_PASSES = (
    "a transpose with stores a line apart; 64 passes over 16 MiB by strides of 4 to 1024 bytes"
)
_WHITE = "NVIDIA white paper of the architecture, or data sheet of the device: peak"

DEVICES: tuple[PtxDevice, ...] = (
    PtxDevice("v100", 70, 80, 16 * _GIB, 1530, documented(_WHITE, 900)),
    PtxDevice("t4", 75, 40, 16 * _GIB, 1590, documented(_WHITE, 320)),
    PtxDevice("a100", 80, 108, 40 * _GIB, 1410, documented(_WHITE, 1555)),
    PtxDevice("rtx3090", 86, 82, 24 * _GIB, 1695, documented(_WHITE, 936)),
    PtxDevice("rtx4090", 89, 128, 24 * _GIB, 2520, documented(_WHITE, 1008)),
    PtxDevice("h100", 90, 132, 80 * _GIB, 1980, documented(_WHITE, 3350)),
    PtxDevice(
        "h200", 90, 132, 141 * _GIB, 1980, documented(_WHITE, 4800), measured(_PASSES, 1800, 8395)
    ),
    PtxDevice("b200", 100, 148, 180 * _GIB, 1965, documented(_WHITE, 8000)),
    PtxDevice("rtx5090", 120, 170, 32 * _GIB, 2407, documented(_WHITE, 1792)),
)
"""The devices. Not described: those of sm_72, sm_87, sm_88, sm_103, sm_110 and sm_121."""

USUAL = {70: "v100", 75: "t4", 80: "a100", 86: "rtx3090", 89: "rtx4090", 90: "h200", 100: "b200",
         120: "rtx5090"}  # fmt: skip
"""The device that is meant where only its compute capability is known."""
