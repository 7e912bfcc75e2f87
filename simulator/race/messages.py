"""Messages of strong writes: what is released to their readers, by the reach of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencewright.simulator.race.clocks import NOTHING, Clocks, Knowledge

NO_LEVELS = (NOTHING, NOTHING, NOTHING)
Levels = tuple[Knowledge, Knowledge, Knowledge]
"""Knowledge that is released to the block, to the cluster, and to the device."""


@dataclass(frozen=True, slots=True)
class Home:
    """The place of a thread, which decides how far two threads are apart."""

    thread: int
    block: int
    cluster: int

    def distance(self, other: "Home") -> int:
        """The level that both need: 0 in one block, 1 in one cluster, else 2."""
        return 0 if self.block == other.block else 1 if self.cluster == other.cluster else 2


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """The releases that a value carries, and its writer. ``chain``: of which it is a later part.

    ``clock`` and ``known``: the writer's at the write. ``sc``: the fence.sc that the
    writer knew. ``writers``: the last of the chain, with their clocks.
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
    writers: Mapping[int, int] = field(default_factory=dict[int, int])
    chain: object = field(default_factory=object)

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
    """A fence.sc: whose and when, how far it reaches, and what was known at it."""

    home: Home
    clock: int
    level: int
    known: Knowledge


MOST_WRITERS = 32
"""The writers of a chain that are known: those before them are not named in a finding."""


def with_writer(old: Message | None, thread: int, clock: int) -> Mapping[int, int]:
    """The writers of a chain with one more."""
    if old is None:
        return {thread: clock}
    writers = {**old.writers, thread: clock}
    if len(writers) > MOST_WRITERS:
        del writers[next(iter(writers))]
    return writers


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
