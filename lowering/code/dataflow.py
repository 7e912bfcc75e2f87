"""The forward dataflow over numbered blocks: of either vendor's code, or of a source."""

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

from fencewright.lowering.code.loops import Node


class Joinable(Protocol):
    """A state of a lattice; equal states are the same."""

    def join(self, other: Self) -> Self:
        """The state where two paths meet."""
        ...


_State = TypeVar("_State", bound=Joinable)


def entries(
    blocks: Sequence[Node],
    start: _State,
    through: Callable[[int, _State], _State],
    along: Callable[[int, int, _State], _State] | None = None,
) -> dict[int, _State]:
    """The state at the begin of each block that a path leads to from the first one.

    ``through``: the state after a block, of which the number is given; ``along``: what of it goes from a
    block to one after it (None: all of it).
    """
    found = {0: start} if blocks else {}
    waiting = [*found]
    while waiting:
        number = waiting.pop()
        state = through(number, found[number])
        for target in blocks[number].successors:
            coming = state if along is None else along(number, target, state)
            before = found.get(target)
            joined = coming if before is None else before.join(coming)
            if joined != before:
                found[target] = joined
                waiting.append(target)
    return found
