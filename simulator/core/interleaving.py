"""Random interleavings: the memory seen by threads that run all at once.

For models whose executions are too many to enumerate: an interleaving suggests one, and the
axioms judge it. Reads take what was written last or, the more often the more daring the
interleaving is, anything that was ever written, so that weak behaviour is suggested too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class InterleavingHint:
    """The course of an interleaving, by event numbers of the execution that it suggests.

    ``source`` has the write that was newest when a read was run, ``turn`` when a write was run,
    ``daring`` how often (0 to 1) to try something else.
    """

    source: Mapping[int, int]
    turn: Mapping[int, int]
    daring: float

    def dares(self, random: Random) -> bool:
        """True if it is time to try something else."""
        return random.random() < self.daring

    def chosen(self, read: int, sources: list[int], random: Random) -> int:
        """The write of ``sources`` that a read takes."""
        hinted = self.source.get(read)
        return hinted if hinted in sources and not self.dares(random) else random.choice(sources)

    def comes_first(self, a: int, b: int, random: Random) -> bool:
        """True if the write ``a`` goes before ``b``."""
        return (self.turn[a] < self.turn[b]) is not self.dares(random)


class Interleaving:
    """The memory that threads share; ``thread`` is whose turn it is."""

    def __init__(self, initial: Iterable[tuple[str, int]]):
        self.known: dict[str, list[int]] = {name: [value] for name, value in initial}
        self.start(Random(0))

    def start(self, random: Random) -> None:
        """Begin anew; all earlier writes stay known."""
        self.random = random
        self.daring = random.random() ** 2
        self.thread = 0
        self.turn = 0
        self.newest = {
            name: (known[0], (-1, n)) for n, (name, known) in enumerate(self.known.items())
        }
        self.sources: dict[int, list[tuple[int, int]]] = {}
        self.turns: dict[int, list[int]] = {}

    def read(self, location: str) -> int:
        """The value that a read takes."""
        value, writer = self.newest[location]
        self.sources.setdefault(self.thread, []).append(writer)
        if self.random.random() < self.daring:
            return self.random.choice(self.known[location])
        return value

    def write(self, location: str, value: int) -> None:
        """A write is run."""
        turns = self.turns.setdefault(self.thread, [])
        self.newest[location] = value, (self.thread, len(turns))
        turns.append(self.turn)
        self.turn += 1
        if value not in self.known[location]:
            self.known[location].append(value)

    def hint(self, threads: Iterable[Iterable[tuple[bool, bool]]]) -> InterleavingHint:
        """The hint that it suggests; ``threads`` says of each event whether it reads and writes."""
        number = len(self.known)
        written: dict[tuple[int, int], int] = {(-1, n): n for n in range(number)}
        taken: dict[int, tuple[int, int]] = {}
        turn = dict.fromkeys(range(number), -1)
        for thread, events in enumerate(threads):
            sources = iter(self.sources.get(thread, ()))
            turns = self.turns.get(thread, [])
            count = 0
            for reads, writes in events:
                if reads:
                    taken[number] = next(sources)
                if writes:
                    written[thread, count] = number
                    turn[number] = turns[count]
                    count += 1
                number += 1
        source = {read: written[writer] for read, writer in taken.items() if writer in written}
        return InterleavingHint(source, turn, self.daring)
