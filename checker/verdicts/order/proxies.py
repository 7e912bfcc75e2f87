"""Orders of accesses by several proxies: by barriers of a CTA, by program order, and by groups of
copies.

What a thread stored reaches a copy that is issued later only through a fence between the proxies,
and so does what a copy stored reach a thread; whether one stands on the right side is a lemma. No
fence orders a read by ``ld.global.nc``. Source: PTX ISA, "Proxies"; cp.async.bulk; ld.global.nc.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.barriers import meanwhile, named, separated
from fencewright.checker.verdicts.intervals import (
    Roles,
    full_barriers,
    is_steady,
    roles_of,
    shared,
    walks_of,
)
from fencewright.checker.verdicts.model import (
    ASYNCHRONOUS,
    GROUPED,
    UNGROUPED,
    Access,
    Agent,
    AnyOf,
    Constraint,
    Fence,
    Kernel,
    Literal,
    Not,
    Order,
    Region,
    Relation,
    Strength,
    ThreadPair,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.guards import (
    after,
    implied,
    is_proxy_fence,
    passes_proxy_fence,
)
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.vocabulary import Ordering, Scope

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
    """The orders of an access and another one, one of which another proxy performs, by program
    order or barriers."""
    if not {earlier.agent, later.agent} & ASYNCHRONOUS or earlier.agent in UNGROUPED:
        return
    if later.proxy is Proxy.TENSORMAP and earlier.agent is not Agent.THREAD:
        return
    in_order = after(kernel, earlier.instruction, pair.earlier, later.instruction, pair.later)
    doubt = ""
    if later.proxy is Proxy.TENSORMAP and any(map(_is_of_any_map, kernel.fences)):
        doubt = "a fence that is about a tensor map that is not known"
    for meeting in _meetings(kernel, earlier, later, pair):
        lemmas = tuple(
            Lemma(
                pair.relation,
                Payload.of(earlier),
                Half(meeting.signal, proxy=release),
                Half(meeting.signal, proxy=acquire),
                Payload.of(later),
            )
            for release, acquire in _sides(kernel, earlier, later, meeting.barriers)
        )
        unless = AnyOf((*meeting.together, Not(in_order)))
        assumptions = named(kernel, meeting.barriers)
        yield Claim(meeting.rule, unless, lemmas, later.line, assumptions, doubt, is_exact=True)
    order = separated(kernel, earlier, later, pair)
    if pair.relation is not Relation.THREAD and order.strength is Strength.UNKNOWN:
        yield Claim(order.rule, AnyOf(()), (), order.line or later.line, doubt=order.reason)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """The way by which one thread comes after another: ``together`` are the instances in which it
    does not."""

    rule: str
    signal: Signal
    barriers: frozenset[int]
    together: tuple[Constraint, ...]


def _meetings(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair
) -> Iterator[_Meeting]:
    threads = (pair.earlier, pair.later)
    if pair.relation is Relation.THREAD:
        together: tuple[Constraint, ...] = ()
        if earlier.agent in GROUPED:
            together = tuple(meanwhile(kernel, earlier, later, threads))
        yield _Meeting("program order", _NEXT, frozenset(), together)
    if pair.relation not in (Relation.WARP, Relation.CTA):
        return
    level = Scope.WAVEFRONT if pair.relation is Relation.WARP else Scope.WORKGROUP
    for roles in dict.fromkeys((Roles(), roles_of(earlier, later))):
        barriers = full_barriers(kernel, level, roles)
        if barriers:
            together = shared(kernel, earlier, later, barriers, roles, threads)
            yield _Meeting("barrier", _MEET, barriers, together)


def _sides(
    kernel: Kernel, earlier: Access, later: Access, barriers: frozenset[int]
) -> Iterator[tuple[bool, bool]]:
    """The sides that a fence between the proxies may stand on: that of the signal, that of its
    reader.

    The order has to hold for all of them: of a fence that all threads execute the side is not
    known.
    """
    if later.proxy is Proxy.TENSORMAP:
        yield _sides_of_map(kernel, earlier, later, barriers)
        return
    places = (earlier.place, later.place)
    starts = {earlier.instruction}
    if earlier.agent in GROUPED:
        pending = walks_of(kernel, frozenset(), frozenset()).pending(earlier)
        starts = {number for number, _ in pending.ends if number in kernel.group_at}
    end = later.instruction
    if starts and all(passes_proxy_fence(kernel, each, end, places) for each in starts):
        yield from ((True, False), (False, True))
        return
    if not barriers:
        own = (*earlier.conditions, *later.conditions)
        yield (
            bool(starts)
            and all(passes_proxy_fence(kernel, each, end, places, own) for each in starts),
            False,
        )
        return
    released = is_proxy_fence(kernel, places, earlier.conditions)
    acquired = is_proxy_fence(kernel, places, later.conditions)
    before = bool(starts) and all(
        _passes(kernel, start, each, released, barriers) for start in starts for each in barriers
    )
    yield before, _passes_last(kernel, end, acquired, barriers)


def _sides_of_map(
    kernel: Kernel, earlier: Access, later: Access, barriers: frozenset[int]
) -> tuple[bool, bool]:
    """The halves of the fence of the tensor-map proxy that stand between a change of a map and a
    copy by it: a release, and the acquire of that map."""
    start, end = earlier.instruction, later.instruction

    def is_half(number: int, *, acquires: bool) -> bool:
        fence = kernel.fence_at.get(number)
        if fence is None or Proxy.TENSORMAP not in fence.proxies:
            return False
        conditions = later.conditions if acquires else earlier.conditions
        if not implied(kernel.guards.get(number, ()), filter(_is_steady, conditions)):
            return False
        return fence.acquires and fence.place == later.place if acquires else fence.releases

    def releases(number: int) -> bool:
        return is_half(number, acquires=False)

    def acquires(number: int) -> bool:
        return is_half(number, acquires=True)

    if barriers:
        released = all(_passes(kernel, start, each, releases, barriers) for each in barriers)
        acquired = _passes_last(kernel, end, acquires, barriers)
    else:
        # Acquired writes have been released before.
        last = [
            each for each in kernel.fence_at if acquires(each) and kernel.may_reach(start, each)
        ]
        released = all(kernel.all_paths_pass(start, each, releases) for each in last)
        acquired = kernel.all_paths_pass(start, end, acquires)
    return releases(start) or released, acquired


def _is_of_any_map(fence: Fence) -> bool:
    """True of an acquire of the tensor-map proxy whose map is not known."""
    if Proxy.TENSORMAP not in fence.proxies or not fence.acquires:
        return False
    place = fence.place
    return place is None or place.offset is None or place.root.region is Region.UNKNOWN


def _is_steady(literal: Literal) -> bool:
    return is_steady(literal.value)


def _passes(
    kernel: Kernel,
    start: int,
    end: int,
    is_fence: Callable[[int], bool],
    barriers: frozenset[int],
) -> bool:
    """True where every path passes a fence, or another barrier before."""
    return kernel.all_paths_pass(start, end, lambda n: n in barriers or is_fence(n))


def _passes_last(
    kernel: Kernel, end: int, is_fence: Callable[[int], bool], barriers: frozenset[int]
) -> bool:
    """True where a fence stands between an instruction and whichever barrier came last before
    it."""
    last = [each for each in barriers if kernel.may_reach(each, end)]
    # From the last barrier on no other is passed, so that a fence is.
    return bool(last) and all(_passes(kernel, each, end, is_fence, barriers) for each in last)
