"""Orders of accesses by several proxies: by barriers of a CTA, by program order, and by groups of
copies.

What a thread stored reaches a copy that is issued later only through a fence between the proxies,
and so does what a copy stored reach a thread; whether one stands on the right side is a lemma. No
fence orders a read by ``ld.global.nc``. Source: PTX ISA, "Proxies"; cp.async.bulk; ld.global.nc.
"""

from collections.abc import Iterator

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.barriers import meanwhile
from fencewright.checker.verdicts.intervals import full_barriers, shared
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AnyOf,
    Kernel,
    Not,
    Order,
    Relation,
    Strength,
    ThreadPair,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.guards import after, passes_proxy_fence
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal
from fencewright.lowering.vocabulary import Ordering, Scope

_COPIES = (Agent.TRANSACTION, Agent.GROUP)
_MEET = Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_barrier=True)
_NEXT = Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_next=True)


def incoherent(first: Access, second: Access) -> Order | None:
    """The broken order of a read that is not coherent with other accesses; None of coherent
    ones."""
    for access in (first, second):
        if not access.is_coherent:
            reason = "ld.global.nc is not ordered with writes of the same kernel"
            return Order(
                Strength.BROKEN, "non-coherent read", reason, access.line, finding=Rule.READ_ONLY
            )
    return None


def claims(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Iterator[Claim]:
    """The orders of an access and another one, one of which a copy unit performs."""
    if earlier.agent not in _COPIES and later.agent not in _COPIES:
        return
    if earlier.agent not in (Agent.THREAD, Agent.GROUP):
        return
    in_order = after(kernel, earlier.instruction, pair.earlier, later.instruction, pair.later)
    threads = (pair.earlier, pair.later)
    is_crossed = passes_proxy_fence(kernel, earlier.instruction, later.instruction)
    if pair.relation is Relation.THREAD:
        together = ()
        if earlier.agent is Agent.GROUP:
            together = tuple(meanwhile(kernel, earlier, later, threads))
        signal, rule = _NEXT, "program order"
    elif pair.relation in (Relation.WARP, Relation.CTA):
        barriers = full_barriers(kernel, Scope.WORKGROUP)
        if not barriers:
            return
        together = shared(kernel, earlier, later, barriers, frozenset(), threads)
        signal, rule = _MEET, "barrier"
    else:
        return
    lemma = Lemma(
        pair.relation,
        Payload.of(earlier),
        Half(signal, proxy=is_crossed),
        Half(signal),
        Payload.of(later),
    )
    unless = AnyOf((*together, Not(in_order)))
    yield Claim(rule, unless, (lemma,), later.line)
