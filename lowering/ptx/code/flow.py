"""The forward dataflow over a PTX function: the facts that some path brings to each instruction."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from fencewright.lowering.code.dataflow import Joinable, entries
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFunction, PtxInstruction

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
    is not further down in the text (None: all of it). ``along``: what of a state goes from a block
    to one after it.
    """

    def through(number: int, state: _State) -> _State:
        for each in function.blocks[number].instructions:
            state = after(each, state)
        return state

    def between(number: int, following: int, state: _State) -> _State:
        if backwards is not None and following <= number:
            state = backwards(state)
        return state if along is None else along(function.blocks[number], following, state)

    entry = entries(function.blocks, start, through, between)
    for number in sorted(entry):
        state = entry[number]
        for each in function.blocks[number].instructions:
            yield each, state
            state = after(each, state)
