"""Messages of strong writes: the knowledge released to their readers, by the reach of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fencewright.simulator.race.clocks import NOTHING, Clocks, Knowledge

NO_LEVELS = (NOTHING, NOTHING, NOTHING)
Levels = tuple[Knowledge, Knowledge, Knowledge]
"""Knowledge that is released to the block, to the cluster, and to the device."""


class Home(NamedTuple):
    """The place of a thread, which decides how far two threads are apart."""

    thread: int
    block: int
    cluster: int

    def distance(self, other: "Home") -> int:
        """The level that both need: 0 in one block, 1 in one cluster, else 2."""
        return 0 if self.block == other.block else 1 if self.cluster == other.cluster else 2


class Chain:
    """Writes of one place of which each goes on with the releases of the one before it.

    Shared by their messages. ``writers``: by thread the clock of its last write and the place of
    that in the chain; None until the second write, as most chains have one alone.
    """

    __slots__ = ("clock", "first", "length", "writers")

    def __init__(self) -> None:
        self.length = self.first = self.clock = 0
        self.writers: dict[int, tuple[int, int]] | None = None

    def add(self, thread: int, clock: int) -> int:
        """Note a write; its place."""
        self.length += 1
        if self.length == 1:
            self.first, self.clock = thread, clock
            return 1
        if self.writers is None:
            self.writers = {self.first: (self.clock, 1)}
        self.writers[thread] = clock, self.length
        return self.length

    def clock_of(self, thread: int, place: int) -> int:
        """The clock of a thread's last write, if that is not after a place; else 0."""
        if self.writers is None:
            return self.clock if thread == self.first else 0
        clock, at = self.writers.get(thread, (0, 0))
        return clock if at <= place else 0


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """The releases that a value carries, and its writer. ``chain``: of which it is a later part.

    ``clock`` and ``known``: the writer's at the write. ``sc``: the fence.sc that the
    writer knew; ``earlier_sc``: those before earlier parts. ``place``: the part that it is.
    """

    writer: Home
    site: int
    level: int
    releases: bool
    clock: int
    known: Knowledge
    device: Knowledge
    clusters: Mapping[int, Knowledge]
    blocks: Mapping[int, Knowledge]
    sc: "tuple[ScFence, ...]" = ()
    chain: Chain = field(default_factory=Chain)
    place: int = 0
    earlier_sc: "tuple[ScFence, ...]" = ()

    def at(self, clocks: Clocks, reader: Home, level: int) -> Knowledge:
        """The knowledge that a reader gets whose acquire reaches a level."""
        found = self.blocks.get(reader.block, NOTHING)
        if level > 0:
            found = clocks.join(found, self.clusters.get(reader.cluster, NOTHING))
        if level > 1:
            found = clocks.join(found, self.device)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ScFence:
    """A fence.sc: its thread and time, its reach, and the knowledge at it."""

    home: Home
    clock: int
    level: int
    known: Knowledge


def extended(
    clocks: Clocks, old: Message | None, writer: Home, levels: Levels
) -> tuple[Knowledge, Mapping[int, Knowledge], Mapping[int, Knowledge]]:
    """The releases of an earlier part of a chain, with those of one more thread."""
    device, clusters, blocks = levels[2], {writer.cluster: levels[1]}, {writer.block: levels[0]}
    if old is None:
        return device, clusters, blocks
    device = clocks.join(old.device, device)
    return device, _with(clocks, old.clusters, clusters), _with(clocks, old.blocks, blocks)


def _with(
    clocks: Clocks, old: Mapping[int, Knowledge], new: Mapping[int, Knowledge]
) -> Mapping[int, Knowledge]:
    ((key, known),) = new.items()
    joined = clocks.join(old.get(key, NOTHING), known)
    return old if old.get(key) is joined else {**old, key: joined}
