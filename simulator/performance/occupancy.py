"""The number of work-groups that a CU or an SM holds at once, and the resources that limit it.

Source: LLVM AMDGPUSubtarget, getOccupancyWithWorkGroupSizes, and AMDGPUBaseInfo; cuda_occupancy.h.
LDS is given out in granules, which LLVM's figure leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance import accesses as cdna_rows
from fencewright.lowering.cdna.performance.occupancy import (
    BARRIERS,
    RESERVED_SCALARS,
    SCALAR_LIMITS,
    SIMDS,
)
from fencewright.lowering.ptx.performance import accesses as ptx_rows
from fencewright.lowering.ptx.performance.occupancy import SmAllocation, allocation_of
from fencewright.lowering.sequence import UnsupportedError, is_ptx
from fencewright.lowering.vocabulary import MOST_THREADS, FastStrEnum
from fencewright.lowering.wording import counted
from fencewright.simulator.execution.launch import LaunchError
from fencewright.simulator.execution.program import KernelResources


class Limit(FastStrEnum):
    """A limited resource."""

    WAVES = "places of waves"
    GROUPS = "places of work-groups"
    VECTOR_REGISTERS = "vector registers"
    SCALAR_REGISTERS = "scalar registers"
    SHARED_MEMORY = "shared memory"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The part of a kernel that a CU or an SM (``unit``) holds at once.

    ``groups`` work-groups, which are ``waves`` of the ``most_waves`` that it has places for.
    ``limits``: how many work-groups each limit allows. ``is_bound``: there may be fewer, because
    nobody knows how many registers a lane needs before the vendor's assembler has run.
    """

    unit: str
    groups: int
    waves: int
    most_waves: int
    limits: Mapping[Limit, int]
    is_bound: bool = False

    @property
    def limited_by(self) -> tuple[Limit, ...]:
        """The resources that allow the fewest work-groups."""
        return tuple(limit for limit, groups in self.limits.items() if groups == self.groups)

    def __str__(self) -> str:
        limits = " and ".join(self.limited_by)
        at_most = "at most " if self.is_bound else ""
        return (
            f"{at_most}{counted(self.groups, 'work-group')}, {self.waves} of {self.most_waves} "
            f"waves of each {self.unit}: limited by {limits}"
        )


def occupancy(
    resources: KernelResources, target: str, threads: int, dynamic_shared: int = 0
) -> Occupancy:
    """The occupancy of a CU or SM of ``target`` by work-groups of ``threads`` threads.

    ``dynamic_shared``: bytes of shared memory that the launch adds. Raises ``LaunchError`` for
    a work-group that does not fit, ``UnsupportedError`` for a target without rows.
    """
    if is_ptx(target):
        return _of_sm(resources, target, threads, dynamic_shared)
    return _of_cu(resources, target, threads, dynamic_shared)


def _least(
    unit: str, waves: int, most_waves: int, limits: Mapping[Limit, int], is_bound: bool
) -> Occupancy:
    groups = min(limits.values())
    return Occupancy(unit, groups, groups * waves, most_waves, limits, is_bound)


def _check(held: int, most: int, what: str, where: str) -> None:
    if held > most:
        raise LaunchError(f"a work-group with {held} {what} does not fit {where}: at most {most}")


# AMD


def _hierarchy(target: str) -> cdna_rows.CdnaHierarchy:
    return cdna_rows.hierarchy_of(target, f"occupancy of {target}")


def vector_registers(target: str, own: int, accumulation: int) -> int:
    """Vector registers that a wave is given for so many of each kind, in granules."""
    file = CHIPS[target].vector_registers
    together = max(own, accumulation)
    if file.unified:
        together = _up(own, 4) + accumulation if accumulation else own
    return _up(max(together, 1), file.granule)


def waves_by_registers(target: str, resources: KernelResources) -> Mapping[Limit, int]:
    """The waves of a SIMD that each kind of registers allows, of scalar ones if too few."""
    own, scalar = resources.vector_registers or 0, resources.scalar_registers + RESERVED_SCALARS
    given = vector_registers(target, own, resources.accumulation_registers)
    found = {Limit.VECTOR_REGISTERS: CHIPS[target].vector_registers.count // given}
    by_scalar = next((each.waves for each in SCALAR_LIMITS if scalar <= each.registers), 0)
    if by_scalar < _hierarchy(target).waves:
        found[Limit.SCALAR_REGISTERS] = by_scalar
    return found


def groups_by_places(target: str, waves: int, lds_bytes: int) -> Mapping[Limit, int]:
    """The number of work-groups of ``waves`` waves that a CU has places and LDS for."""
    places = SIMDS * _hierarchy(target).waves
    found = {
        Limit.WAVES: places // waves,
        Limit.GROUPS: places if waves == 1 else BARRIERS,
    }
    if lds_bytes:
        found[Limit.SHARED_MEMORY] = CHIPS[target].lds_bytes // lds_bytes
    return found


def _of_cu(resources: KernelResources, target: str, threads: int, dynamic_shared: int) -> Occupancy:
    chip, where = _hierarchy(target), f"a CU of {target}"
    waves = -(-threads // cdna_rows.LANES)
    lds = _up(resources.shared_bytes + dynamic_shared, chip.lds_granule)
    _check(threads, MOST_THREADS, "threads", where)
    _check(resources.shared_bytes + dynamic_shared, CHIPS[target].lds_bytes, "bytes of LDS", where)
    limits = dict(groups_by_places(target, waves, lds))
    on_a_simd = -(-waves // SIMDS)
    for limit, held in waves_by_registers(target, resources).items():
        if held < on_a_simd:
            raise LaunchError(
                f"a work-group of {threads} threads does not fit {where}: its {limit} let a SIMD "
                f"hold {held} waves and it needs {on_a_simd}; give "
                f"{SIMDS * held * cdna_rows.LANES} threads or fewer, or compile for fewer registers"
            )
        limits[limit] = SIMDS * held // waves
    return _least("CU", waves, SIMDS * chip.waves, limits, is_bound=False)


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


# NVIDIA


def _of_sm(resources: KernelResources, target: str, threads: int, dynamic_shared: int) -> Occupancy:
    requested = f"occupancy of {target}"
    chip = ptx_rows.hierarchy_of(target, requested)
    rules = allocation_of(chip.number)
    if rules is None:
        raise UnsupportedError(requested, "how its SMs give out registers is not described")
    where = f"an SM of {target}"
    shared = resources.shared_bytes + dynamic_shared
    _check(threads, MOST_THREADS, "threads", where)
    _check(shared, chip.shared_block, "bytes of shared memory", where)
    warps = -(-threads // ptx_rows.LANES)
    most = int(chip.threads.low) // ptx_rows.LANES
    reserved = int(chip.shared_reserved.low)
    given = _up(shared + reserved, rules.shared_granule)
    limits = {Limit.WAVES: most // warps, Limit.GROUPS: int(chip.blocks.low)}
    if given:
        limits[Limit.SHARED_MEMORY] = int(chip.shared.low) // given
    registers = resources.vector_registers
    if registers is not None:
        limits[Limit.VECTOR_REGISTERS] = _blocks_by_registers(rules, registers, threads, where)
    return _least("SM", warps, most, limits, is_bound=registers is None)


def _blocks_by_registers(rules: SmAllocation, registers: int, threads: int, where: str) -> int:
    _check(registers, rules.most_registers, "registers a thread", where)
    warps = -(-threads // ptx_rows.LANES)
    of_warp = _up(max(registers, 1) * ptx_rows.LANES, rules.register_unit)
    fitting = rules.registers // rules.partitions // of_warp * rules.partitions
    if warps > fitting:
        raise LaunchError(
            f"a work-group of {threads} threads of {registers} registers does not fit {where}: "
            f"give {fitting * ptx_rows.LANES} threads or fewer, or compile for fewer registers"
        )
    return fitting // warps
