"""As ``scoreboard``, where loads, stores, LDS and scalar loads each have a counter (gfx1250).

Within a counter completion is in order of issue, but for copies to LDS and copies from it; between
counters it is not. Registers are
written in any order, which is for the author of two writes of one register to wait for.
Sources: LLVM 24 AMDGPUUsage, Memory Model GFX125x; llvm-project#105549.
"""

from collections.abc import Iterable, Mapping

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.scoreboard import (
    CounterEvent,
    CounterEventKind,
    CounterState,
    Token,
)
from fencewright.lowering.cdna.instructions import InstructionRow
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace


def split_events_of(row: InstructionRow) -> tuple[CounterEvent, ...]:
    """The events of one instruction where each counter is of one kind of access.

    Flat accesses may finish out of order with either of their counters, scalar loads with each
    other; else completion is in order of issue (LLVM 24 AMDGPUUsage, Memory Model GFX125x).
    """
    kind = CounterEventKind.FLAT if row.space is AddressSpace.GENERIC else None
    if row.kind is Kind.COPY and not row.into_lds:
        kind = CounterEventKind.FROM_LDS
    return tuple(
        CounterEvent(counter, kind or _SPLIT_KINDS[counter])
        for counter in row.counters
        if counter in _SPLIT_KINDS
    )


_SPLIT_KINDS: Mapping[Counter, CounterEventKind] = {
    Counter.LOADCNT: CounterEventKind.VECTOR,
    Counter.STORECNT: CounterEventKind.VECTOR,
    Counter.DSCNT: CounterEventKind.LDS,
    Counter.KMCNT: CounterEventKind.SCALAR,
    Counter.ASYNCCNT: CounterEventKind.VECTOR,
    Counter.TENSORCNT: CounterEventKind.VECTOR,
}
"""The counters that an instruction increments, each of one kind; xcnt is of translations, not
data."""


class SplitScoreboard:
    """The state of every counter of a chip that has one for each kind of access."""

    __slots__ = ("counters",)

    def __init__(self, limits: Mapping[Counter, int]):
        self.counters: dict[str, CounterState] = {
            counter: CounterState(limit)
            for counter, limit in limits.items()
            if counter in _SPLIT_KINDS
        }

    def copy(self) -> "SplitScoreboard":
        """The same state, with its clocks at zero."""
        made = SplitScoreboard({})
        made.counters = {counter: state.copy() for counter, state in self.counters.items()}
        return made

    def join(self, other: "SplitScoreboard") -> bool:
        """Become the join with another state, both fresh from ``copy``; True if it changes."""
        # Every counter is joined, also after one with news.
        news = [state.join(other.counters[c]) for c, state in self.counters.items()]
        return any(news)

    def issue(self, events: Iterable[CounterEvent], results: Iterable[Token] = ()) -> None:
        """Issue one instruction."""
        for event in events:
            self.counters[event.counter].issue(event, results)

    def states(self) -> tuple[tuple[str, CounterState], ...]:
        """Every counter with its state."""
        return tuple(self.counters.items())
