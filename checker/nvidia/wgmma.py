"""Matrix products of Hopper whose registers no ``wgmma.fence`` has handed over to them.

A forward dataflow has the registers of products that the thread has written since the last fence. A
copy of a product's own result is that under another name, as LLVM gives it. Source: PTX ISA,
"wgmma.fence".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import OperandRole, names_in
from fencewright.lowering.ptx.code.text import PtxInstruction

_PRODUCTS = frozenset({"wgmma mma_async", "wgmma mma_async sp"})
_FENCE = "wgmma fence"


@dataclass(frozen=True, slots=True)
class Unfenced:
    """``product`` takes ``register``, which was written since the last fence; "": there is none."""

    product: PtxInstruction
    register: str


@dataclass(frozen=True, slots=True)
class _State:
    """``fenced``: on every path. ``written``: since the last fence. ``left``: by products alone."""

    fenced: bool
    written: frozenset[str]
    left: frozenset[str]

    def join(self, other: "_State") -> "_State":
        """The join of two paths: registers written on either, products left on both."""
        return _State(
            self.fenced and other.fenced, self.written | other.written, self.left & other.left
        )


_START = _State(False, frozenset(), frozenset())


class ProductAnalysis:
    """The matrix products of one function."""

    def __init__(self, places: Places):
        self.function = places.function
        has_any = not _PRODUCTS.isdisjoint(self.function.operations)
        self._used = frozenset(
            name
            for each in (self.function.instructions if has_any else ())
            if each.statement.operation in _PRODUCTS
            for name in _registers(each)
        )

    def missing(self) -> Iterator[Unfenced]:
        """The products without a fence, in the order of the text."""
        if not self._used or not self.function.is_entry:
            return
        for each, state in states(self.function, _START, self._after):
            if each.statement.operation not in _PRODUCTS:
                continue
            early = [name for name in _registers(each) if name in state.written]
            if early or not state.fenced:
                yield Unfenced(each, early[0] if early else "")

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        if statement.operation == _FENCE:
            return _State(True, frozenset(), state.left)
        defined = frozenset(statement.defines)
        if statement.operation in _PRODUCTS:
            return _State(state.fenced, state.written - defined, state.left | defined)
        copied = _copied(each)
        is_renamed = copied is not None and copied <= state.left
        if not (defined & (self._used | state.left) or (is_renamed and copied)):
            return state
        if is_renamed:
            return _State(state.fenced, state.written - defined, state.left | defined)
        written = state.written | defined & self._used
        return _State(state.fenced, written, state.left - defined)


def _copied(each: PtxInstruction) -> frozenset[str] | None:
    """The registers that an instruction copies, none of a constant; None: it is no copy."""
    statement = each.statement
    if statement.operation != "mov" or len(statement.operands) != 2 or statement.guard:
        return None
    return frozenset(names_in(statement.operands[1]))


def _registers(each: PtxInstruction) -> tuple[str, ...]:
    """The accumulators of a product, and its first matrix if that is in registers."""
    statement = each.statement
    matrix = statement.operand(OperandRole.DESCRIPTOR)
    return (*statement.defines, *(names_in(matrix) if matrix.startswith("{") else ()))
