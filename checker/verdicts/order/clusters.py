"""Orders by cluster barriers: of accesses that an arrival and the wait after it always separate.

All threads of a cluster come to the same barriers in the same order, also those of CTAs that branch
on their rank apart. Whether an arrival and a wait order memory is a lemma: of relaxed ones neither
does without fences. The shared memory of a CTA begins and ends with it: who accesses that of
another has met it at a cluster barrier before, and meets it at one after. Source: PTX ISA,
barrier.cluster; CUDA C++ Programming Guide, "Distributed Shared Memory".
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.intervals import Walks, is_steady, shared
from fencewright.checker.verdicts.model import (
    UNGROUPED,
    Access,
    Agent,
    AnyOf,
    Barrier,
    Kernel,
    Not,
    Order,
    Region,
    Relation,
    Step,
    Strength,
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


def lifetimes(
    kernel: Kernel, arrivals_there: Iterable[Access]
) -> Iterator[tuple[Access, Access, Order]]:
    """The accesses of other CTAs' shared memory, each with a beginning or end of those CTAs that
    nothing orders it with, as a write of all of the memory.

    ``arrivals_there``: at mbarriers of other CTAs, which access them too. The order is broken, or
    not known where the other CTA may be told by an mbarrier.
    """
    waits = {
        each.instruction for each in kernel.barriers if each.level is Scope.CLUSTER and each.waits
    }
    arrivals = {
        each.instruction
        for each in kernel.barriers
        if each.level is Scope.CLUSTER and each.arrives and each.releases
    }
    kept = all(kernel.all_paths_pass(each, None, waits.__contains__) for each in arrivals)
    is_told = any(step.step is Step.WAIT for step in kernel.mbarriers) and _signals_others(kernel)
    for access in (*kernel.accesses, *arrivals_there):
        if access.place.rank is None or access.agent is not Agent.THREAD:
            continue
        if not kernel.all_paths_pass(None, access.instruction, waits.__contains__):
            first = kernel.instructions[kernel.entry][0]
            reason = "that block may not have begun: no cluster barrier precedes"
            yield (
                access,
                _lifetime(kernel, access, first, "the beginning of a CTA"),
                _broken(kernel, access, reason),
            )
        passes = kernel.all_paths_pass(access.instruction, None, arrivals.__contains__)
        if kept and passes:
            continue
        last = max(kernel.exits, default=access.instruction)
        reason = "that block may have ended: no cluster barrier follows"
        order = _broken(kernel, access, reason)
        if is_told:
            order = replace(order, strength=Strength.UNKNOWN)
        yield access, _lifetime(kernel, access, last, "the end of a CTA"), order


def _signals_others(kernel: Kernel) -> bool:
    """True where something arrives, or may arrive, at an mbarrier of another CTA."""
    steps = (each.place for each in kernel.mbarriers if each.step is Step.ARRIVE)
    copies = (each.mbarrier for each in kernel.accesses if each.agent in UNGROUPED)
    places = [*steps, *copies]
    return any(
        each is None or each.rank is not None or each.root.region is Region.UNKNOWN
        for each in places
    )


def _broken(kernel: Kernel, access: Access, reason: str) -> Order:
    finding = Rule.CLUSTER_BARRIER
    return Order(Strength.BROKEN, _RULE, reason, access.line, finding=finding)


def _lifetime(kernel: Kernel, access: Access, instruction: int, text: str) -> Access:
    return replace(
        access,
        instruction=instruction,
        line=kernel.line_of(instruction),
        text=text,
        reads=False,
        writes=True,
        conditions=(),
        place=replace(access.place, rank=None),
        is_strong=False,
        value=None,
        result=None,
        update="",
    )


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
