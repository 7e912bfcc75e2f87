"""The rules of order, in the order in which they are tried."""

from fencewright.checker.verdicts.barriers import barrier, completion
from fencewright.checker.verdicts.model import OrderRule, Relation
from fencewright.checker.verdicts.order.synchronisation import synchronised

_OF_CTA = frozenset({Relation.WARP, Relation.CTA})

RULES: tuple[OrderRule, ...] = (
    OrderRule("completion of copies", frozenset({Relation.THREAD, Relation.WARP}), completion),
    OrderRule("barrier", _OF_CTA, barrier),
    OrderRule("synchronisation", frozenset(Relation), synchronised),
)
"""Every rule; a row is a function of a kernel, an earlier and a later access, and their threads."""
