"""The PTX memory model as its manual defines it, relation by relation, without any short cut.

The engine (``model``) is held equal to it on random programs. Relations are sets of pairs of
operations; every reads-from, Fence-SC and coherence order is tried. The runs of each
thread and the barriers that meet come from ``events``, for both. Proxies, aliases, asynchronous copies,
mbarriers and barriers of a cluster are the engine's alone.

Names and order: PTX ISA, "Memory Consistency Model", from "Morally strong operations" to
"Axioms"; fences with ``.sync_restrict`` as ``model.restricted_fences`` reads them.
"""

from collections.abc import Iterator
from itertools import permutations, product

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.condition import Outcomes, Register
from fencewright.simulator.core.pairs import Pairs, acyclic, on, plus, seq
from fencewright.simulator.core.program import Placement
from fencewright.simulator.core.relation import pairs
from fencewright.simulator.ptx.events import PtxCandidates, PtxEventKind, PtxProgram, PtxSkeleton
from fencewright.simulator.ptx.model import Version, observables_of


def includes(scope: Scope, here: Placement, there: Placement) -> bool:
    """Whether the set of threads that ``scope`` means ``here`` has those ``there``. "Scope"."""
    if scope is Scope.WORKGROUP:
        return here == there
    if scope is Scope.CLUSTER:
        return (here.agent, here.cluster) == (there.agent, there.cluster)
    return scope is Scope.SYSTEM or here.agent == there.agent


class Operations:
    """The operations of an execution, and the relations that no value has a part in."""

    def __init__(self, skeleton: PtxSkeleton, version: Version):
        self.skeleton = skeleton
        self.version = version
        self.events = events = skeleton.events
        self.all = range(len(events))
        self.reads, self.writes, self.fences = (
            [n for n in self.all if events[n].kind is kind]
            for kind in (PtxEventKind.READ, PtxEventKind.WRITE, PtxEventKind.FENCE)
        )
        self.identity = on(self.all)
        self.po, self.rmw = set(pairs(skeleton.po)), set(pairs(skeleton.rmw))
        self.dependency = set(pairs(skeleton.dependences))
        self.overlap = {
            (a, b)
            for a, b in product([*self.reads, *self.writes], repeat=2)
            if events[a].location == events[b].location
        }
        self.po_loc = self.po & self.overlap
        self.morally_strong = {
            (a, b) for a, b in product(self.all, repeat=2) if a != b and self.are_strong(a, b)
        }
        self.barriers = {
            (arrival, wait)
            for meeting in skeleton.meetings
            for arrival, wait in product(meeting.arrivals, meeting.waits)
            if arrival != wait and events[arrival].kind is PtxEventKind.BARRIER
        }

    def are_strong(self, a: int, b: int) -> bool:
        """Whether two operations are morally strong. "Morally strong operations"."""
        first, second = self.events[a], self.events[b]
        here, there = self.skeleton.placement(a), self.skeleton.placement(b)
        include_each_other = (
            first.scope is not None
            and second.scope is not None
            and here is not None
            and there is not None
            and includes(first.scope, here, there)
            and includes(second.scope, there, here)
        )
        if not ({(a, b), (b, a)} & self.po or include_each_other):
            return False
        return not (first.is_access and second.is_access) or (a, b) in self.overlap

    def may_signal(self, fence: int, access: int) -> bool:
        """Whether a fence may synchronise through an access; with ``.sync_restrict`` not always."""
        home = self.skeleton.program.shared.get(self.events[access].location or "")
        here = self.skeleton.placement(fence)
        if self.events[fence].restriction is None:
            return True
        return home is not None and here is not None and includes(Scope.CLUSTER, here, home)

    def idle_fences(self, location: str) -> set[int]:
        """The fences with ``.sync_restrict`` that do not order accesses of a location."""
        home, idle = self.skeleton.program.shared.get(location), set[int]()
        for n in self.fences:
            here, restriction = self.skeleton.placement(n), self.events[n].restriction
            if restriction is None or here is None:
                continue
            if home is None or not includes(restriction.reach, here, home):
                idle.add(n)
        return idle

    def release_patterns(self) -> Pairs:
        """From the start of each release pattern to its last write. "Release and Acquire Patterns"."""
        strong = {n for n in self.writes if self.events[n].scope is not None}
        releases = {n for n in self.all if self.events[n].ordering in _RELEASES}
        patterns = {(w, w) for w in strong & releases}
        patterns |= {(a, b) for a, b in self.po_loc if a in strong & releases and b in strong}
        return patterns | {
            (f, w)
            for f, w in self.po
            if f in releases and f in self.fences and w in strong and self.may_signal(f, w)
        }

    def acquire_patterns(self) -> Pairs:
        """From the first read of each acquire pattern to its end. "Release and Acquire Patterns"."""
        strong = {n for n in self.reads if self.events[n].scope is not None}
        acquires = {n for n in self.all if self.events[n].ordering in _ACQUIRES}
        patterns = {(r, r) for r in strong & acquires}
        patterns |= {(a, b) for a, b in self.po_loc if a in strong and b in strong & acquires}
        return patterns | {
            (r, f)
            for r, f in self.po
            if r in strong and f in acquires and f in self.fences and self.may_signal(f, r)
            if not self.events[r].is_red
        }

    def observation(self, rf: Pairs) -> Pairs:
        """Writes before the reads that see them, through atomics too. "Observation Order"."""
        observed = self.morally_strong & rf
        return observed | seq(plus(seq(observed, self.rmw)), observed)

    def base_causality(self, synchronizes: Pairs) -> Pairs:
        """Program order and synchronization, chained. "Causality Order", base."""
        po = self.po | self.identity
        base = plus(seq(po, synchronizes, po))
        return plus(base | self.po) if self.version is Version.V7_5 else base

    def causality(self, synchronizes: Pairs, observed: Pairs) -> Pairs:
        """Causality order on each location, by the fences that order it. "Causality Order"."""
        result: Pairs = set()
        for location in self.skeleton.locations:
            idle = self.idle_fences(location)
            base = self.base_causality({p for p in synchronizes if not idle & {*p}})
            follows = base if self.version is Version.V7_5 else base | self.po_loc
            here = {n for n in self.all if self.events[n].location == location}
            result |= {p for p in base | seq(observed, follows) if {*p} <= here}
        return result

    def fence_sc_orders(self) -> Iterator[Pairs]:
        """Every order of the morally strong pairs of ``fence.sc``. "Fence-SC"."""
        fences = [n for n in self.fences if self.events[n].ordering is Ordering.SEQ_CST]
        for order in permutations(fences):
            yield {
                (a, b) for i, a in enumerate(order) for b in order[i + 1 :]
            } & self.morally_strong

    def coherence_orders(self, cause: Pairs) -> Iterator[Pairs]:
        """Every order of writes that relates the morally strong ones. "Coherence Order"."""
        both = {(a, b) for a, b in self.overlap if a in self.writes and b in self.writes and a != b}
        forced = {(a, b) for a, b in both if (a, b) in cause or self.events[a].thread < 0}
        racing = [(a, b) for a, b in self.morally_strong & both if a < b]
        for turns in product((False, True), repeat=len(racing)):
            turned = {
                (b, a) if turn else (a, b) for (a, b), turn in zip(racing, turns, strict=True)
            }
            yield plus(forced | turned)


_RELEASES = (Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)
_ACQUIRES = (Ordering.ACQUIRE, Ordering.ACQ_REL, Ordering.SEQ_CST)


def coherence_orders(x: Operations, rf: Pairs) -> Iterator[Pairs]:
    """The coherence orders of the executions with ``rf`` that the axioms allow. "Axioms"."""
    if not acyclic(rf | x.dependency):  # No-Thin-Air
        return
    ms, observed = x.morally_strong, x.observation(rf)
    patterns = seq(x.release_patterns(), observed, x.acquire_patterns()) & ms
    restricted = {n for n in x.fences if x.events[n].restriction is not None}
    for sc in x.fence_sc_orders():
        synchronizes = patterns | sc | x.barriers
        base = x.base_causality({p for p in synchronizes if not restricted & {*p}})
        if any((b, a) in base for a, b in sc):  # Fence-SC
            continue
        cause = x.causality(synchronizes, observed)
        for co in x.coherence_orders(cause):
            fr = {(r, b) for w, r in rf for a, b in co if a == w}
            communication = rf | fr
            if x.version is Version.V7_5:
                communication |= co | {(a, a) for a, _ in cause}
            if (
                acyclic(co)  # Coherence
                and not x.rmw & seq(ms & fr, ms & co)  # Atomicity
                and acyclic(ms & (rf | co | fr) | x.po_loc)  # SC-per-Location
                and not any((b, a) in cause for a, b in communication)  # Causality
            ):
                yield co


def outcomes(program: PtxProgram, version: Version) -> Outcomes:
    """Every final state of a program without loops. Raises ``ProgramError``."""
    candidates, states = PtxCandidates(program), set[tuple[int | None, ...]]()
    observed = observables_of(candidates)
    for combination in candidates:
        values = combination.values
        registers = tuple(
            combination.registers[each.thread].get(each.name, 0)
            for each in observed
            if isinstance(each, Register)
        )
        for skeleton in combination.skeletons:
            x = Operations(skeleton, version)
            sources = (
                [w for w in x.writes if (w, r) in x.overlap and values[w] == values[r]]
                for r in x.reads
            )
            for chosen in product(*sources):
                for co in coherence_orders(x, set(zip(chosen, x.reads, strict=True))):
                    last = [w for w in x.writes if all(a != w for a, _ in co)]
                    memory = (
                        {values[w] for w in last if x.events[w].location == name}
                        for name in skeleton.locations
                    )
                    states |= {(*registers, *final) for final in product(*memory)}
    return Outcomes(observed, frozenset(states))
