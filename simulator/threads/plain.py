"""The kernels of which one order of threads shows as much as every other one.

Their accesses are weak, or relaxed atomics of one operation whose results nobody uses, and their
lanes meet at whole barriers alone. Without a race in one order, the write that each weak read sees
is the last one that barriers order before it, and the atomics since are those that they order
before it, in whatever order. So every thread reads the same values in each order of threads, from
the first read that could differ on, does the same, and meets the same threads: the accesses and
the order between them are the same, and there is no race in any. With a race this is not so.
"""

from collections.abc import Iterator, Sequence

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import Statement
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.simulator.semantics.formulas import FOLDS, formula_of
from fencewright.simulator.semantics.operands import literal
from fencewright.simulator.threads.observer import Site

_WHOLE_WARP = 0xFFFFFFFF
_SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.PRIVATE)
_OF_OTHERS = ("%clock", "%globaltimer", "%envreg")
"""Special registers whose values depend on more than the thread."""
_MEETINGS = frozenset({"bar sync", "barrier sync", "bar warp sync"})
_LANES = frozenset({"shfl", "vote", "match", "redux", "elect"})
_COMMUTE = FOLDS - {"exch"}
_EVERYWHERE = (Scope.AGENT, Scope.SYSTEM)


def order_matters(sites: Sequence[Site]) -> str:
    """The reason that the values of a kernel may depend on the order of its threads; "" of others.

    ``rounds`` is for the caller.
    """
    statements = [each.instruction.statement for each in sites]
    used = {name for each in statements for name in each.uses}
    for each in statements:
        is_used = each.kind is Kind.RMW and not used.isdisjoint(each.defines)
        if is_used or not is_plain(each):
            return f"{each.opcode.name} is of another kind"
    updates = {(each.opcode.update, each.opcode.type) for each in _updates(sites)}
    return "atomics that may not commute" if len(updates) > 1 else ""


def rounds(sites: Sequence[Site]) -> bool:
    """True where atomics add floats: what they leave depends on the order of threads."""
    return any(each.opcode.is_float for each in _updates(sites))


def _updates(sites: Sequence[Site]) -> Iterator[Statement]:
    for each in sites:
        if each.instruction.statement.kind is Kind.RMW:
            yield each.instruction.statement


def is_plain(statement: Statement, *, sees_order: bool = False) -> bool:
    """True of an instruction that the lanes of a wave may execute together.

    ``sees_order``: the results of atomics may be used, and lanes may name those that exchange
    values, of which the other lanes' are not seen.
    """
    opcode, operands = statement.opcode, statement.operands
    if any(each.startswith(_OF_OTHERS) for each in operands):
        return False
    match opcode.kind:
        case Kind.COMPUTE:
            known = opcode.of_parameters or opcode.head in ("mov", "cvta")
            return known or formula_of(opcode) is not None
        case Kind.LANES:
            is_whole = _is_of_all(operands[-1]) or (sees_order and opcode.head == "shfl")
            return opcode.head in _LANES and is_whole
        case Kind.LOAD | Kind.STORE:
            return not statement.is_strong and _is_in_memory(statement)
        case Kind.RMW:
            is_near = opcode.spaces == (AddressSpace.LOCAL,)
            reaches = is_near or statement.scope in _EVERYWHERE
            is_relaxed = statement.ordering is Ordering.RELAXED and opcode.vector == 1
            commutes = opcode.update in _COMMUTE and opcode.width in (32, 64)
            return reaches and is_relaxed and commutes and _is_in_memory(statement)
        case Kind.BARRIER:
            is_of_warp = statement.operation == "bar warp sync"
            is_whole = _is_of_all(operands[0]) if is_of_warp else operands in (("0",), ())
            return statement.operation in _MEETINGS and is_whole
        case Kind.BRANCH | Kind.END:
            return True
        case _:
            return False


def _is_of_all(mask: str) -> bool:
    return literal(mask, "b32") == _WHOLE_WARP


def _is_in_memory(statement: Statement) -> bool:
    opcode = statement.opcode
    return opcode.width in (8, 16, 32, 64) and all(each in _SPACES for each in opcode.spaces)
