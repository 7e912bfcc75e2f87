"""Reads of a PTX kernel that may come before its wait for the grids that it depends on.

A kernel that waits by ``griddepcontrol.wait`` may be launched before the one before it has ended.
A forward dataflow has whether some path to a point has no such wait. What is read by an address
before the wait and by the same one after it is nothing that was there all along, or it needs no
wait. Source: PTX ISA, "griddepcontrol".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.ptx.code.addresses import Place, Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES
from fencewright.lowering.ptx.code.text import PtxInstruction

_WAIT = "griddepcontrol wait"


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """``read`` may come before the wait; ``later``: one by the same address that never does."""

    read: PtxInstruction
    later: PtxInstruction | None


@dataclass(frozen=True, slots=True)
class _State:
    """``waited``: on every path."""

    waited: bool

    def join(self, other: "_State") -> "_State":
        """The join of two paths: the facts of both."""
        return _State(self.waited and other.waited)


class GridAnalysis:
    """The reads of global memory of one kernel that waits for other grids."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function

    def early(self) -> Iterator[EarlyRead]:
        """The reads that may come before the wait, in the order of the text."""
        if _WAIT not in self.function.operations:
            return
        reads = [
            (each, place, state.waited)
            for each, state in states(self.function, _State(False), _after)
            for place in self._read(each)
        ]
        after = {place.root: each for each, place, waited in reads if waited}
        for each, place, waited in reads:
            if not waited:
                yield EarlyRead(each, after.get(place.root))

    def _read(self, each: PtxInstruction) -> Iterator[Place]:
        """The places in global memory that it reads through a parameter."""
        if each.statement.kind not in ACCESSES:
            return
        for access in each.statement.accesses:
            place = self.places.of(access)
            is_data = access.proxy in (Proxy.GENERIC, Proxy.TEXTURE)
            is_given = place.root in self.places.parameters
            if access.reads and is_data and is_given and place.may_be_global:
                yield place


def _after(each: PtxInstruction, state: _State) -> _State:
    return _State(True) if each.statement.operation == _WAIT else state
