"""Orders by cluster barriers: of accesses that an arrival and the wait after it always separate.

All threads of a cluster come to the same barriers in the same order, also those of CTAs that branch
on their rank apart. Whether an arrival and a wait order memory is a lemma: of relaxed ones neither
does without fences. Source: PTX ISA, barrier.cluster.
"""

from collections.abc import Iterator

from fencewright.checker.verdicts.intervals import Walks, is_steady, shared
from fencewright.checker.verdicts.model import (
    UNGROUPED,
    Access,
    AnyOf,
    Barrier,
    Kernel,
    Not,
    Relation,
    ThreadPair,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.guards import after, fence_between, passes_proxy_fence
from fencewright.checker.verdicts.order.lemmas import (
    Half,
    Lemma,
    Payload,
    Signal,
    holds,
)
from fencewright.lowering.code.value import Const, Value
from fencewright.lowering.vocabulary import Ordering, Scope

_RULE = "cluster barrier"


def claims(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Iterator[Claim]:
    """The orders of two accesses of one cluster by the barriers of it that separate them."""
    waits = [each for each in kernel.barriers if each.level is Scope.CLUSTER and each.waits]
    if not waits or earlier.agent in UNGROUPED or pair.relation is Relation.GRID:
        return
    joined = {each.instruction: _arrival_of(kernel, each) for each in waits}
    line = kernel.line_of(waits[0].instruction)
    if None in joined.values():
        reason = "accesses between an arrival at a cluster barrier and the wait"
        yield Claim(_RULE, AnyOf(()), (), line, doubt=reason)
        return
    full = kernel.remembered("cluster barriers", lambda: _full(kernel, frozenset(joined)))
    lemmas: dict[int, Lemma] = {}
    for wait in waits:
        arrival = joined[wait.instruction]
        if arrival is not None and wait.instruction in full:
            lemmas[wait.instruction] = _lemma(kernel, earlier, later, pair, arrival, wait)
    strict = frozenset(number for number, lemma in lemmas.items() if holds(lemma))
    order = after(kernel, earlier.instruction, pair.earlier, later.instruction, pair.later)
    threads = (pair.earlier, pair.later)
    for barriers in dict.fromkeys((strict, full)):
        if barriers:
            together = shared(kernel, earlier, later, barriers, frozenset(), threads)
            own = tuple(lemmas[number] for number in sorted(barriers))
            yield Claim(_RULE, AnyOf((*together, Not(order))), own, line, is_exact=True)
    if frozenset(joined) - full:
        reason = "not all CTAs may come to the cluster barrier"
        yield Claim(_RULE, AnyOf(()), (), line, doubt=reason)


def _arrival_of(kernel: Kernel, wait: Barrier) -> Barrier | None:
    """The arrival right before a wait: nothing is accessed between the two."""
    own = kernel.instructions[kernel.block_of[wait.instruction]]
    for number in reversed(own[: own.index(wait.instruction)]):
        barrier = kernel.barrier_at.get(number)
        if barrier is not None:
            return barrier if barrier.level is Scope.CLUSTER and barrier.arrives else None
        if number in kernel.accesses_at:
            return None
    return None


class _ClusterWalks(Walks):
    """Walks of the threads of a cluster, which a CTA's index or rank tells apart."""

    def is_uniform(self, value: Value, level: Scope) -> bool:
        """True of a value that all threads of a cluster have alike."""
        if isinstance(value, Const) and isinstance(value.constant, str):
            return value.constant.startswith(("%ntid", "%nctaid", "%cluster_nctaid"))
        return super().is_uniform(value, level)


def _full(kernel: Kernel, barriers: frozenset[int]) -> frozenset[int]:
    """The barriers at which all threads of a cluster meet."""
    while True:
        walks = _ClusterWalks(kernel, barriers)
        apart = {number for start in walks.starts for number in walks.parted(start, Scope.CLUSTER)}
        if not apart:
            return barriers
        barriers -= apart


def _lemma(
    kernel: Kernel,
    earlier: Access,
    later: Access,
    pair: ThreadPair,
    arrival: Barrier,
    wait: Barrier,
) -> Lemma:
    released = Ordering.RELEASE if arrival.releases else Ordering.RELAXED
    acquired = Ordering.ACQUIRE if wait.acquires else Ordering.RELAXED
    before, after = arrival.instruction, wait.instruction
    own = (*arrival.conditions, *(each for each in earlier.conditions if is_steady(each.value)))
    fences = (
        fence_between(kernel, earlier.instruction, before, own, acquires=False),
        fence_between(kernel, after, later.instruction, wait.conditions, acquires=True),
    )
    places = (earlier.place, later.place)
    proxies = (
        passes_proxy_fence(kernel, earlier.instruction, before, places, earlier.conditions),
        passes_proxy_fence(kernel, after, later.instruction, places, later.conditions),
    )
    halves = (
        Half(Signal(released, Scope.CLUSTER, is_cluster=True), fences[0], proxy=proxies[0]),
        Half(Signal(acquired, Scope.CLUSTER, is_cluster=True), fences[1], proxy=proxies[1]),
    )
    return Lemma(pair.relation, Payload.of(earlier), *halves, Payload.of(later))
