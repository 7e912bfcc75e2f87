"""Orders of accesses by several proxies: by barriers of a CTA, by program order, and by groups of
copies.

What a thread stored reaches a copy that is issued later only through a fence between the proxies,
and so does what a copy stored reach a thread; whether one stands on the right side is a lemma. No
fence orders a read by ``ld.global.nc``. Of accesses whose order is not known, or whose places are
not, one thing is: without a fence on a way between them nothing else on it orders them. Source: PTX
ISA, "Proxies"; cp.async.bulk; ld.global.nc.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.barriers import meanwhile, meetings, named, separated
from fencewright.checker.verdicts.intervals import (
    full_barriers,
    is_steady,
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
    Barrier,
    Constraint,
    Fence,
    Kernel,
    Literal,
    MbarrierStep,
    Not,
    OneSide,
    Order,
    Place,
    Region,
    Relation,
    Root,
    Step,
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
from fencewright.checker.verdicts.order.lemmas import (
    Half,
    Lemma,
    Payload,
    Signal,
    counterexample,
    holds,
)
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.vocabulary import Ordering, Scope

_MEET = Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_barrier=True)
_NEXT = Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_next=True)
_UNKNOWN_SHARED = Root(Region.UNKNOWN, "shared")


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
    if pair.relation is Relation.THREAD:
        alone: tuple[Constraint, ...] = ()
        if earlier.agent in GROUPED:
            alone = tuple(meanwhile(kernel, earlier, later, (pair.earlier, pair.later)))
        yield _Meeting("program order", _NEXT, frozenset(), alone)
    for barriers, together in meetings(kernel, earlier, later, pair):
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
    starts = _ends_of(kernel, earlier)
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


def _ends_of(kernel: Kernel, access: Access) -> set[int]:
    """The instructions at which its issuer has done an access: of a copy, the waits for it."""
    if access.agent not in GROUPED:
        return {access.instruction}
    pending = walks_of(kernel, frozenset(), frozenset()).pending(access)
    return {number for number, _ in pending.ends if number in kernel.group_at}


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


# Accesses whose order is not known


def unfenced(kernel: Kernel, pairs: Iterable[tuple[Access, Access]]) -> Iterator[OneSide]:
    """The copies and products, of pairs whose order is not known, to which a way without a fence
    between the proxies leads from what a thread wrote, whatever else is on it."""
    found: dict[int, list[OneSide]] = {}
    for pair in pairs:
        for earlier, later in (pair, pair[::-1]):
            if _are_of_proxies(earlier, later) and _is_unfenced(kernel, earlier, later):
                meet = Half(_MEET)
                lemma = Lemma(Relation.CTA, Payload.of(earlier), meet, meet, Payload.of(later))
                if not holds(lemma):
                    missing, is_sure = counterexample(lemma).missing, _is_for_it(kernel, later)
                    side = OneSide(later, earlier, missing, Rule.PROXY_FENCE, is_sure)
                    found.setdefault(later.instruction, []).append(side)
    for own in found.values():
        side = max(own, key=attrgetter("is_sure"))
        lines = {each.payload.line for each in own if each.payload and each.is_sure == side.is_sure}
        yield replace(side, about=tuple(sorted(lines)))


def _are_of_proxies(earlier: Access, later: Access) -> bool:
    """True of a write by a thread, or its small copy, and a copy or product that may meet it.

    A copy to a place that is not known is mostly to another one.
    """
    is_written = earlier.writes and earlier.agent not in ASYNCHRONOUS
    is_later = later.agent in ASYNCHRONOUS and later.proxy is Proxy.ASYNC
    is_known = later.reads or earlier.place.root == later.place.root
    return is_written and is_later and is_known and _may_meet(earlier, later)


def _may_meet(first: Access, second: Access) -> bool:
    """True of places of one object that constants do not set apart, or of shared memory one of
    which is not known."""
    one, other = first.place, second.place
    if one.root == other.root:
        return not one.is_apart(first.size, other, second.size)
    is_unknown = Region.UNKNOWN in (one.root.region, other.root.region)
    return is_unknown and _is_in_shared(one) and _is_in_shared(other)


def _is_in_shared(place: Place) -> bool:
    return place.root.region is Region.SHARED or place.root == _UNKNOWN_SHARED


def _is_for_it(kernel: Kernel, later: Access) -> bool:
    """True of a read of shared memory, which was mostly written for that, but for a matrix that
    copies may write."""
    if not later.reads or not _is_in_shared(later.place):
        return False
    return later.agent not in (Agent.PRODUCT, Agent.TENSOR) or not any(
        each.agent in ASYNCHRONOUS and each.writes and _may_meet(each, later)
        for each in kernel.accesses
    )


def _is_unfenced(kernel: Kernel, earlier: Access, later: Access) -> bool:
    """True where a way leads from one access to another without a fence between the proxies: along
    the program, and from threads to those that they meet or signal."""
    end, places = later.instruction, (earlier.place, later.place)
    own, other = _steady(kernel, earlier), _steady(kernel, later)
    if any(_is_open(kernel, each, end, own + other, places) for each in _ends_of(kernel, earlier)):
        return True
    key = (earlier.instruction, _regions(places))
    waits = kernel.remembered(("waits after", key), lambda: _waits_after(kernel, earlier, places))

    def is_open() -> bool:
        return any(_is_open(kernel, each, end, other, places) for each in waits)

    if not kernel.remembered(("open", key[1], waits, end), is_open):
        return False
    # After a barrier that all meet at, a fence of the thread that copies may come before the wait.
    barriers = full_barriers(kernel, Scope.WORKGROUP)
    return bool(shared(kernel, earlier, later, barriers)) or not all(
        map(any, _sides(kernel, earlier, later, barriers))
    )


def _waits_after(kernel: Kernel, access: Access, places: tuple[Place, Place]) -> frozenset[int]:
    """The waits and barriers to which ways lead from an access without a fence between the
    proxies."""
    signals = kernel.remembered("signals of accesses", lambda: dict(_signals(kernel)))
    own, starts = _steady(kernel, access), _ends_of(kernel, access)
    seen = set[int]()
    for step in kernel.mbarriers if access.agent is Agent.COPY else ():
        number = step.instruction
        if step.copies and not kernel.all_paths_pass(
            access.instruction, number, starts.__contains__, own
        ):
            seen.update(_waits_for(kernel, step))
    work = [*((each, own) for each in starts), *((each, ()) for each in seen)]
    while work:
        start, conditions = work.pop()
        for signal, waits in signals.items():
            if not waits <= seen and _is_open(kernel, start, signal, conditions, places):
                work += [(each, ()) for each in waits - seen]
                seen |= waits
    return frozenset(seen)


def _is_open(
    kernel: Kernel,
    start: int,
    end: int,
    conditions: tuple[Literal, ...],
    places: tuple[Place, Place],
) -> bool:
    """True where a path leads from one instruction to another without a fence between the
    proxies."""

    def make() -> bool:
        is_fence = is_proxy_fence(kernel, places, conditions)
        fences = {
            number
            for number, each in kernel.fence_at.items()
            if is_fence(number)
            or (Proxy.ASYNC in each.proxies and each.is_one_sided and each.acquires)
        }
        return not kernel.all_paths_pass(start, end, fences.__contains__, conditions)

    return kernel.remembered(("unfenced", start, end, conditions, _regions(places)), make)


def _steady(kernel: Kernel, access: Access) -> tuple[Literal, ...]:
    return kernel.remembered(
        ("steady", access.number), lambda: tuple(filter(_is_steady, access.conditions))
    )


def _regions(places: tuple[Place, Place]) -> frozenset[tuple[Region, str]]:
    return frozenset(
        (each.root.region, each.root.name if each.root.region is Region.UNKNOWN else "")
        for each in places
    )


def _signals(kernel: Kernel) -> Iterator[tuple[int, frozenset[int]]]:
    """The barriers and arrivals after which other threads go on that have waited for them, with
    these waits."""
    barriers = full_barriers(kernel, Scope.WORKGROUP)
    for number in barriers:
        yield number, frozenset({number})
    for step in kernel.mbarriers:
        if step.step is Step.ARRIVE and not step.copies:
            yield step.instruction, frozenset(_waits_for(kernel, step))
    for signal in kernel.barriers:
        is_named = signal.level is Scope.WORKGROUP and signal.instruction not in barriers
        if is_named and signal.arrives:
            waits = (each for each in kernel.barriers if _is_ended_by(kernel, each, signal))
            yield signal.instruction, frozenset(each.instruction for each in waits)


def _waits_for(kernel: Kernel, arrival: MbarrierStep) -> Iterator[int]:
    """The waits at the mbarrier that an arrival may be at."""
    place = arrival.place
    for each in kernel.mbarriers:
        is_unknown = Region.UNKNOWN in (each.place.root.region, place.root.region)
        is_one = each.place.root == place.root and not each.place.is_apart(1, place, 1)
        if each.step is Step.WAIT and (is_unknown or is_one):
            yield each.instruction


def _is_ended_by(kernel: Kernel, wait: Barrier, signal: Barrier) -> bool:
    """True of a wait at a named barrier for the threads that come to it at another place.

    Threads that wait at both places take them in turn: they are one group.
    """
    one, other = wait.instruction, signal.instruction
    if one == other or wait.level is not signal.level or not wait.waits:
        return False
    is_in_turn = signal.waits and (kernel.may_reach(one, other) or kernel.may_reach(other, one))
    return wait.name is signal.name and not is_in_turn
