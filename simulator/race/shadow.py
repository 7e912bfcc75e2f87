"""Shadow memory: of each word the last writer, and the readers since.

Words have four bytes until the first access that is smaller; then the allocation has a shadow for
each byte. Numbers are in arrays that take memory where they are touched, sets in dictionaries.
"""

from fencewright.simulator.race.messages import Message
from fencewright.simulator.threads.memory import Allocation, zeros

MANY = -1
"""In place of a reader: they are in ``many``."""

Strong = tuple[int, int, int, int, int]
"""A strong access: clock, site, level, place and size."""


class Shadow:
    """The shadow of an allocation; threads are stored plus one, so that zero is none.

    ``writer``, ``written``, ``write_site``, ``turn``: of the last weak write. ``strong``: by word,
    the strong accesses that no weak write has followed, by thread and whether they write.
    ``summaries``: the least level of those, their place and size if all have one, else -1.
    """

    __slots__ = (
        "grain", "many", "messages", "read", "read_only", "read_site", "reader", "size", "strong",
        "summaries", "turn", "write_site", "writer", "written",
    )  # fmt: skip

    def __init__(self, memory: Allocation):
        self.size = memory.size
        self.grain = 4
        self.many: dict[int, dict[int, tuple[int, int]]] = {}
        self.strong: dict[int, dict[tuple[int, bool], Strong]] = {}
        self.summaries: dict[int, tuple[int, int, int]] = {}
        self.read_only: dict[int, tuple[int, int]] = {}
        self.messages: dict[tuple[int, int], Message] = {}
        count = memory.size // 4 + 1
        self.writer, self.written, self.write_site, self.turn = (_numbers(count) for _ in range(4))
        self.reader, self.read, self.read_site = (_numbers(count) for _ in range(3))

    def refine(self) -> None:
        """Go on with a shadow for each byte."""
        count = self.size + 4
        for name in ("writer", "written", "write_site", "turn", "reader", "read", "read_site"):
            old, new = getattr(self, name), _numbers(count)
            for word in range(self.size // 4 + 1):
                if old[word]:
                    for at in range(4 * word, min(4 * word + 4, count)):
                        new[at] = old[word]
            setattr(self, name, new)
        for name in ("many", "strong"):
            old = getattr(self, name)
            spread = {4 * word + at: dict(table) for word, table in old.items() for at in range(4)}
            setattr(self, name, spread)
        for name in ("summaries", "read_only"):
            old = getattr(self, name)
            setattr(self, name, {4 * word + at: of for word, of in old.items() for at in range(4)})
        self.grain = 1


def _numbers(count: int) -> memoryview:
    return memoryview(zeros(4 * count)).cast("i")
