"""Limits on the number of warps of an SM, beside the sizes in ``memory``."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SmAllocation:
    """Allocation of registers and shared memory on SMs of compute capability ``first`` to ``last``.

    ``registers``: 32 bits each, in equal parts of the SM's ``partitions``; a warp gets them in
    units of ``register_unit``, a thread at most ``most_registers``. ``shared_granule``: bytes.
    """

    first: int
    last: int
    registers: int
    partitions: int
    register_unit: int
    most_registers: int
    shared_granule: int
    source: str


_HEADER = "CUDA 13.2, cuda_occupancy.h: register and shared memory allocation, sub-partitions"

ALLOCATIONS: tuple[SmAllocation, ...] = (
    SmAllocation(70, 75, 65536, 4, 256, 255, 256, _HEADER),
    SmAllocation(80, 121, 65536, 4, 256, 255, 128, _HEADER),
)
"""One row for each compute capability."""


def allocation_of(number: int) -> SmAllocation | None:
    """The row of a compute capability, as 90; None where nothing is known of it."""
    return next((each for each in ALLOCATIONS if each.first <= number <= each.last), None)
