"""Knowledge of threads: how far each has come that is ordered before, as rows of clocks.

A launch of 33,792 threads cannot have a vector of that length for each. Most threads of a block
know the same, and rows are shared by reference: a join looks at rows that differ and at no others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Row = tuple[int, ...]
"""A clock for each thread of a block; 0: nothing of it is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """Rows by block, clocks of asynchronous agents, and the part of these that the async proxy may
    see."""

    rows: Mapping[int, Row]
    agents: Mapping[int, int]
    proxied: "Knowledge | None" = None


NOTHING = Knowledge({}, {})
_REMEMBERED = 1 << 14


class Clocks:
    """Joins of knowledge, which are remembered: the same two meet again and again."""

    def __init__(self, threads: int):
        self.threads = threads
        self._rows: dict[tuple[int, int], tuple[Row, Row, Row]] = {}
        self._joins: dict[tuple[int, int], tuple[Knowledge, Knowledge, Knowledge]] = {}

    def row(self, a: Row, b: Row) -> Row:
        """The later of both, for each thread; one of the two where it is as late everywhere."""
        if a is b:
            return a
        key = id(a), id(b)
        if (found := self._rows.get(key)) is not None:
            return found[2]
        joined = tuple(map(max, a, b))
        joined = a if joined == a else b if joined == b else joined
        if len(self._rows) > _REMEMBERED:
            self._rows.clear()
        # Both stay alive with the entry, so that their identities stay theirs.
        self._rows[key] = a, b, joined
        return joined

    def join(self, a: Knowledge, b: Knowledge) -> Knowledge:
        """The union of two pieces of knowledge."""
        if a is b or b is NOTHING:
            return a
        if a is NOTHING:
            return b
        key = id(a), id(b)
        if (found := self._joins.get(key)) is not None:
            return found[2]
        joined = self._join(a, b)
        if len(self._joins) > _REMEMBERED:
            self._joins.clear()
        self._joins[key] = a, b, joined
        return joined

    def _join(self, a: Knowledge, b: Knowledge) -> Knowledge:
        rows, changed = dict(a.rows), False
        for block, row in b.rows.items():
            mine = rows.get(block)
            new = row if mine is None else self.row(mine, row)
            if new is not mine:
                rows[block], changed = new, True
        agents = a.agents
        if b.agents is not agents:
            newer = {each: clock for each, clock in b.agents.items() if agents.get(each, 0) < clock}
            if newer:
                agents, changed = {**agents, **newer}, True
        proxied = a.proxied
        if b.proxied is not None and b.proxied is not proxied:
            new = b.proxied if proxied is None else self.join(proxied, b.proxied)
            changed, proxied = changed or new is not proxied, new
        return Knowledge(rows, agents, proxied) if changed else a

    def with_own(self, known: Knowledge, thread: int, clock: int) -> Knowledge:
        """The knowledge of a thread, its own past included."""
        return self.with_all(known, ((thread, clock),))

    def with_all(self, known: Knowledge, own: Iterable[tuple[int, int]]) -> Knowledge:
        """Knowledge with the clocks of threads of one or more blocks."""
        rows, threads = dict(known.rows), self.threads
        changed: dict[int, list[int]] = {}
        last, row = -1, list[int]()
        for thread, clock in own:
            block = thread // threads
            if block != last:
                last, found = block, changed.get(block)
                if found is None:
                    old = rows.get(block)
                    found = changed[block] = [0] * threads if old is None else list(old)
                row = found
            index = thread - block * threads
            if row[index] < clock:
                row[index] = clock
        for block, row in changed.items():
            rows[block] = tuple(row)
        return Knowledge(rows, known.agents, known.proxied)

    def clock_of(self, known: Knowledge, thread: int) -> int:
        """The clock up to which the past of a thread is known."""
        row = known.rows.get(thread // self.threads)
        return 0 if row is None else row[thread % self.threads]

    def knows(self, known: Knowledge, thread: int, clock: int) -> bool:
        """True where the past of a thread up to a clock is known."""
        return self.clock_of(known, thread) >= clock


def with_agents(known: Knowledge, heard: Iterable[Mapping[int, int]]) -> Knowledge:
    """Knowledge with that of agents besides."""
    agents: dict[int, int] | None = None
    for one in heard:
        for agent, clock in one.items():
            if (known.agents if agents is None else agents).get(agent, 0) < clock:
                agents = dict(known.agents) if agents is None else agents
                agents[agent] = clock
    return known if agents is None else Knowledge(known.rows, agents, known.proxied)
