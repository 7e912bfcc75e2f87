"""The forward dataflow over a PTX function: what some path brings to each instruction."""

from collections.abc import Callable, Iterator
from typing import Protocol, Self, TypeVar

from fencewright.checker.ptx_text import PtxBlock, PtxFunction, PtxInstruction


class Joinable(Protocol):
    """A state of a lattice; equal states are the same."""

    def join(self, other: Self) -> Self:
        """The state where two paths meet."""
        ...


_State = TypeVar("_State", bound=Joinable)


def states(
    function: PtxFunction,
    start: _State,
    after: Callable[[PtxInstruction, _State], _State],
    backwards: Callable[[_State], _State] | None = None,
    along: Callable[[PtxBlock, int, _State], _State] | None = None,
) -> Iterator[tuple[PtxInstruction, _State]]:
    """Each instruction that a path leads to, with the state before it, in the order of the text.

    ``after``: the state after an instruction; ``backwards``: what of a state goes to a block that
    is not further down in the text (None: all of it). ``along``: what of a state goes from a block to
    one after it.
    """
    entry: dict[int, _State] = {0: start}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        state = entry[number]
        for each in function.blocks[number].instructions:
            state = after(each, state)
        for following in function.blocks[number].successors:
            found = state if backwards is None or following > number else backwards(state)
            found = found if along is None else along(function.blocks[number], following, found)
            before = entry.get(following)
            joined = found if before is None else before.join(found)
            if joined != before:
                entry[following] = joined
                waiting.append(following)
    for number in sorted(entry):
        state = entry[number]
        for each in function.blocks[number].instructions:
            yield each, state
            state = after(each, state)
