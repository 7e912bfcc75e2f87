"""Limits on the number of waves of a CU, beside the sizes in ``chips`` and ``memory``."""

from dataclasses import dataclass

SIMDS = 4
"""SIMDs of a CU. Source: MI300 ISA 1.1; LLVM AMDGPUBaseInfo, getEUsPerCU."""

BARRIERS = 16
"""Work-groups of a CU that may have more than one wave: each needs a barrier.

Source: LLVM AMDGPUBaseInfo, getMaxWorkGroupsPerCU.
"""

RESERVED_SCALARS = 6
"""Scalar registers that a wave has beside its own: vcc, flat scratch, XNACK's mask.

Source: LLVM AMDGPUUsage, .amdhsa_reserve_vcc and its like, which are 1 where nothing is said.
"""


@dataclass(frozen=True, slots=True)
class ScalarLimit:
    """With up to ``registers`` scalar registers a SIMD holds ``waves`` waves."""

    registers: int
    waves: int
    source: str


_GFX8 = "LLVM AMDGPUSubtarget, getOccupancyWithNumSGPRs, from Volcanic Islands on"

SCALAR_LIMITS: tuple[ScalarLimit, ...] = (
    ScalarLimit(80, 10, _GFX8),
    ScalarLimit(88, 9, _GFX8),
    ScalarLimit(100, 8, _GFX8),
    ScalarLimit(108, 7, _GFX8),
)
"""The first row that has enough registers counts; more than the last has no wave."""
