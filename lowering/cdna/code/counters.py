"""The operations that may be outstanding on a counter of a wave, as bits of one number.

As ``lowering.cdna.counters.scoreboard`` has it for passes, in less space: code of thousands of
blocks may have every load of it in flight in each. ``tests/unit/test_cdna_counters.py`` holds the
two equal.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, CounterState


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a function, a bit each: its ``registers``, then its operations by their
    numbers."""

    registers: tuple[str, ...]
    places: Mapping[str, int] = field(init=False, repr=False)
    known: dict[tuple[str, ...], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {name: n for n, name in enumerate(self.registers)})
        object.__setattr__(self, "known", {})

    def of_registers(self, names: tuple[str, ...]) -> int:
        """The bits of registers; those that the function loads nothing to have none."""
        found = self.known.get(names)
        if found is None:
            places = (self.places.get(name) for name in names)
            found = self.known[names] = sum({1 << each for each in places if each is not None})
        return found

    def of_operations(self, operations: int) -> int:
        """The bits of operations, which are given as a set of their numbers."""
        return operations << len(self.registers)

    def of(self, tokens: Iterable[str | int]) -> int:
        """The bits of registers by their names, and of operations by their numbers."""
        bits = 0
        for each in tokens:
            if isinstance(each, str):
                bits |= self.of_registers((each,))
            else:
                bits |= self.of_operations(1 << each)
        return bits

    def operations_in(self, bits: int) -> int:
        """The operations of a set, by their numbers."""
        return bits >> len(self.registers)

    def registers_in(self, bits: int) -> Iterator[str]:
        """The names of the registers of a set."""
        bits &= (1 << len(self.registers)) - 1
        while bits:
            low = bits & -bits
            yield self.registers[low.bit_length() - 1]
            bits ^= low


class OutstandingTokens:
    """The operations that may be outstanding on one counter at one point: see ``CounterState``.

    ``issued``: the tokens by the clock after their issue, oldest first; ``tokens``: all of them.
    """

    __slots__ = ("bounds", "issued", "tokens")

    def __init__(self, limit: int):
        self.bounds = CounterState(limit)
        self.issued: dict[int, int] = {}
        self.tokens = 0

    def copy(self) -> Self:
        """The same with the clock at zero and ages no greater than a wait can use."""
        made = type(self).__new__(type(self))
        made.bounds = self.bounds.copy()
        made.tokens = self.tokens
        shift, oldest = self.bounds.clock, 1 - self.bounds.limit
        made.issued = self.issued.copy() if not shift else _aged(self.issued, shift, oldest)
        return made

    def rewind(self) -> None:
        """Put the clock at zero, as ``copy`` does."""
        shift, oldest = self.bounds.clock, 1 - self.bounds.limit
        if shift:
            self.issued = _aged(self.issued, shift, oldest)
            self.bounds.clock = 0

    def parts(self, of: Tokens) -> Iterator[int]:
        """Its bounds, and its tokens cut between registers and operations; the clock is at zero."""
        bounds, place = self.bounds, len(of.registers)
        yield from (bounds.outstanding, bounds.extra, bounds.kinds, len(self.issued))
        for clock, bits in self.issued.items():
            yield from (clock, bits & (1 << place) - 1, bits >> place)

    def take(self, parts: Iterator[int], of: Tokens) -> None:
        """Become the counter of which those are the next ``parts``."""
        bounds = self.bounds
        bounds.outstanding, bounds.extra, bounds.kinds, count = islice(parts, 4)
        for _ in range(count):
            clock, registers, operations = islice(parts, 3)
            self.issued[clock] = registers | of.of_operations(operations)
            self.tokens |= self.issued[clock]

    def issue(self, event: CounterEvent, tokens: int) -> None:
        """One more event, which delivers ``tokens``; they need a certain event."""
        self.bounds.issue(event)
        if event.certain:
            self._put(tokens)

    def hold(self, kinds: int, tokens: int) -> None:
        """Let any number of events be outstanding; ``tokens`` end with the last of them."""
        self.bounds.outstanding = self.bounds.limit
        self.bounds.kinds |= kinds
        self._put(tokens)

    def _put(self, tokens: int) -> None:
        if tokens & self.tokens:
            self.issued = {
                clock: left for clock, bits in self.issued.items() if (left := bits & ~tokens)
            }
        if tokens:
            clock = self.bounds.clock
            self.issued[clock] = self.issued.get(clock, 0) | tokens
            self.tokens |= tokens

    def need(self, tokens: int) -> int | None:
        """The greatest count that surely delivers all ``tokens``; None: they are here already."""
        if not tokens & self.tokens:
            return None
        if not self.bounds.in_order:
            return 0
        newest = next(clock for clock in reversed(self.issued) if self.issued[clock] & tokens)
        return min(self.bounds.clock - newest, self.bounds.limit - 1)

    def wait(self, count: int) -> int:
        """At most ``count`` are outstanding from here on; which tokens that delivers."""
        self.bounds.wait(count)
        if count == 0:
            delivered, self.tokens = self.tokens, 0
            self.issued = {}
            return delivered
        if count >= self.bounds.limit:
            return 0
        return self._issued_until(self.bounds.clock - count)

    def overflow(self) -> int:
        """The tokens that have arrived because the counter has no room for them beside younger
        ones."""
        return self._issued_until(self.bounds.clock - self.bounds.limit)

    def _issued_until(self, newest: int) -> int:
        delivered = 0
        if not self.issued or next(iter(self.issued)) > newest or not self.bounds.in_order:
            return delivered
        for clock in [each for each in self.issued if each <= newest]:
            delivered |= self.issued.pop(clock)
        self.tokens &= ~delivered
        return delivered

    def join(self, other: Self) -> bool:
        """Become the join with another state, both with the clock at zero; True if it changes."""
        news = self.bounds.join(other.bounds)
        if self.issued == other.issued:
            return news
        seen, merged = 0, dict[int, int]()
        for clock in sorted(self.issued.keys() | other.issued.keys(), reverse=True):
            bits = (self.issued.get(clock, 0) | other.issued.get(clock, 0)) & ~seen
            if bits:
                merged[clock] = bits
                seen |= bits
        if merged == self.issued:
            return news
        self.issued = dict(reversed(merged.items()))
        self.tokens = seen
        return True


def _aged(issued: Mapping[int, int], shift: int, oldest: int) -> dict[int, int]:
    """Tokens by their ages, where the clock is put at zero: none greater than a wait can use."""
    aged: dict[int, int] = {}
    for clock, tokens in issued.items():
        age = max(clock - shift, oldest)
        aged[age] = aged.get(age, 0) | tokens
    return aged
