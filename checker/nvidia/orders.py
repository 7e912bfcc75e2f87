"""Pairs of accesses of a PTX function that are ordered, at each scope.

A forward dataflow over the blocks, for each order and scope: the earlier accesses and barriers that
some path brings here past nothing that orders them. What orders is a fence, unguarded, of that
scope or a wider one; a barrier of the work-group within it; the ordering of the access itself.
Source: PTX ISA, "Release and Acquire Patterns"; "Fence-SC Order".
"""

from dataclasses import dataclass

from fencewright.checker.nvidia.guarantees import acquires_at, releases_at
from fencewright.checker.source.obligations import PTX, Order
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES, Statement
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import Ordering, Scope

BARRIERS = ("bar sync", "bar red", "barrier sync", "barrier red")
"""The barriers of a work-group at which a thread waits."""

_SCOPES = PTX.scopes
_ACCESSING = ACCESSES | {Kind.COPY}
_ORDERS = (Order.RELEASE, Order.ACQUIRE, Order.SEQ_CST)


def is_point(statement: Statement) -> bool:
    """True if an instruction accesses memory, or is a barrier of the work-group."""
    is_access = statement.kind in _ACCESSING
    return statement.operation in BARRIERS or (is_access and bool(statement.accesses))


@dataclass(frozen=True, slots=True)
class _State:
    """``reach``: the points that come here. ``open``: by order and scope those past no order."""

    reach: int
    open: tuple[int, ...]

    def join(self, other: "_State") -> "_State":
        """The join of two paths."""
        marks = tuple(a | b for a, b in zip(self.open, other.open, strict=True))
        return _State(self.reach | other.reach, marks)


_EMPTY = _State(0, (0,) * (len(_ORDERS) * len(_SCOPES)))


class Orders:
    """The orders of one function."""

    def __init__(self, function: PtxFunction):
        self.points = [each for each in function.instructions if is_point(each.statement)]
        self.bit = {each.number: 1 << n for n, each in enumerate(self.points)}
        self._before = self._solve(function)

    def comes_before(self, earlier: PtxInstruction, later: PtxInstruction) -> bool:
        """True if some path leads from one to the other."""
        state = self._before.get(later.number)
        return state is not None and bool(state.reach & self.bit[earlier.number])

    def is_open(
        self, order: Order, earlier: PtxInstruction, later: PtxInstruction, scope: Scope
    ) -> bool:
        """True if some path leads from one to the other past nothing that orders them so."""
        state = self._before.get(later.number)
        if state is None:
            return False
        if order is Order.RELEASE and _releases(later.statement, scope):
            return False
        place = _ORDERS.index(order) * len(_SCOPES) + _SCOPES.index(scope)
        return bool(state.open[place] & self.bit[earlier.number])

    def _solve(self, function: PtxFunction) -> dict[int, _State]:
        return {each.number: state for each, state in states(function, _EMPTY, self._after)}

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        bit = self.bit.get(each.number, 0)
        ordered = [_ordered(order, statement) for order in _ORDERS]
        if not bit and all(scope is None for scope in ordered):
            return state
        marks: list[int] = []
        for order, upto in zip(_ORDERS, ordered, strict=True):
            for scope in _SCOPES:
                place = len(marks)
                is_ordered = upto is not None and upto.includes(scope)
                mask = 0 if is_ordered else state.open[place]
                acquired = order is Order.ACQUIRE and _acquires(statement, scope)
                marks.append(mask if acquired else mask | bit)
        return _State(state.reach | bit, tuple(marks))


def _ordered(order: Order, statement: Statement) -> Scope | None:
    """The scope up to which a fence or barrier orders all that came before it."""
    if statement.guard:
        return None
    if statement.operation in BARRIERS:
        return None if order is Order.SEQ_CST else Scope.WORKGROUP
    if order is Order.RELEASE:
        return releases_at(statement)
    if order is Order.ACQUIRE:
        return acquires_at(statement)
    scope = acquires_at(statement)
    return scope if statement.ordering is Ordering.SEQ_CST else None


def _releases(statement: Statement, scope: Scope) -> bool:
    """True if a write or barrier releases by itself at a scope."""
    if statement.ordering is None or not statement.ordering.releases:
        return False
    return statement.scope is not None and statement.scope.includes(scope)


def _acquires(statement: Statement, scope: Scope) -> bool:
    """True if a read or barrier acquires by itself at a scope."""
    if statement.ordering is None or not statement.ordering.acquires:
        return False
    return statement.scope is not None and statement.scope.includes(scope)
