"""One agent's share of a device: its XCDs, their L2 caches, and its memory, by partition mode."""

from dataclasses import dataclass

from fencewright.lowering.cdna.performance.devices import (
    DEVICES,
    PARTITIONINGS,
    USUAL,
    CdnaDevice,
    Partitioning,
    PartitionMode,
)
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import L2PerAgent


@dataclass(frozen=True, slots=True)
class Partition:
    """A device of ``agents`` equal agents.

    ``dies``: XCDs (or GCDs) of one agent, each with an L2 of its own; ``memory``: bytes that are
    next to it, which it shares with ``sharers`` - 1 other agents. ``mode`` is None where a
    device has none.
    """

    device: CdnaDevice
    mode: PartitionMode | None
    agents: int
    dies: int
    memory: int
    sharers: int

    @property
    def compute_units(self) -> int:
        """Compute units of one agent."""
        return self.dies * self.device.compute_units

    @property
    def l2_per_agent(self) -> L2PerAgent:
        """The L2 option for the lowering of the agent's code: one L2, or many that are not
        coherent."""
        return L2PerAgent.ONE if self.dies == 1 else L2PerAgent.MANY


def partition_of(name: str, mode: str | None = None, memories: int = 1) -> Partition:
    """A device, or the usual one of a chip (``gfx942``: MI300X), in a partition mode (SPX if None).

    ``memories``: into how many its memory is divided, as NPS1, NPS4. Raises ``UnsupportedError``
    for a device or a mode that there is not, and for memory that the mode cannot have.
    """
    requested = f"partition {mode or 'of'} {name}"
    device = next((each for each in DEVICES if each.name == USUAL.get(name, name)), None)
    if device is None:
        raise UnsupportedError(
            requested, "unknown device", (*(each.name for each in DEVICES), *USUAL)
        )
    if not device.modes:
        if mode not in (None, PartitionMode.SPX) or memories != 1:
            raise UnsupportedError(
                requested, "the device has no partition modes: each die is an agent"
            )
        return Partition(device, None, device.dies, 1, device.memory // device.dies, 1)
    row = _row(requested, device, mode or PartitionMode.SPX)
    agents = row.agents or device.dies
    accepted = [
        each
        for each in device.memories
        if each in row.memories and (each <= agents or row.agents is None)
    ]
    if memories not in accepted:
        raise UnsupportedError(
            requested,
            f"its memory cannot be divided by {memories}",
            tuple(f"NPS{each}" for each in accepted),
        )
    return Partition(
        device,
        row.mode,
        agents,
        device.dies // agents,
        device.memory // memories,
        agents // memories,
    )


def _row(requested: str, device: CdnaDevice, mode: str) -> Partitioning:
    for each in PARTITIONINGS:
        if each.mode == mode and each.mode in device.modes:
            return each
    raise UnsupportedError(requested, "the device has no such mode", tuple(device.modes))
