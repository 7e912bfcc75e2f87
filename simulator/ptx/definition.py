"""The PTX memory model as its manual defines it, relation by relation, without any short cut.

The engine (``model``) is held equal to it on random programs. Relations are sets of pairs of
operations; every reads-from, Fence-SC and coherence order is tried. The runs of each
thread and the barriers that meet come from ``events`` and ``meetings``, for both.

Names and order: PTX ISA, "Memory Consistency Model", from "Morally strong operations" to
"Axioms"; fences that do not order everything as ``model.restricted_fences`` reads them; proxies as
in Lustig et al., ISCA 2022; tensor memory by the section on the order of ``tcgen05``.
"""

from collections.abc import Iterator
from itertools import permutations, product

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.bit_relation import pairs
from fencewright.simulator.core.condition import FinalStates, Outcomes, Register
from fencewright.simulator.core.pair_relation import Pairs, acyclic, on, plus, seq
from fencewright.simulator.core.program import Placement
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.ptx.events import PtxCandidates, PtxSkeleton
from fencewright.simulator.ptx.instructions import PtxProgram, PtxProxy, Space
from fencewright.simulator.ptx.model import SyncRestrict, Version, observables_of


def includes(scope: Scope, here: Placement, there: Placement) -> bool:
    """True if the set of threads that ``scope`` means ``here`` has those ``there``. "Scope"."""
    if scope is Scope.WORKGROUP or (scope is Scope.CLUSTER and here.cluster is None):
        return here == there
    if scope is Scope.CLUSTER:
        return (here.agent, here.cluster) == (there.agent, there.cluster)
    return scope is Scope.SYSTEM or here.agent == there.agent


class Operations:
    """The operations of an execution, and the relations that no value has a part in."""

    def __init__(
        self,
        skeleton: PtxSkeleton,
        version: Version,
        reading: SyncRestrict = SyncRestrict.WEAKER,
    ):
        self.skeleton = skeleton
        self.version = version
        self.reading = reading
        self.has_proxies = version is Version.V7_5
        self.events = events = skeleton.events
        self.all = range(len(events))
        self.reads, self.writes, self.fences, self.arrivals, self.waits = (
            [n for n in self.all if events[n].kind is kind]
            for kind in (
                EventKind.READ,
                EventKind.WRITE,
                EventKind.FENCE,
                EventKind.ARRIVE,
                EventKind.WAIT,
            )
        )
        self.identity = on(self.all)
        self.po, self.rmw = set(pairs(skeleton.po)), set(pairs(skeleton.rmw))
        self.issue, self.started = set(pairs(skeleton.issue)), set(pairs(skeleton.started))
        self.dependency = set(pairs(skeleton.dependences))
        self.held_up = set(pairs(skeleton.held_up))
        self.overlap = {
            (a, b)
            for a, b in product([*self.reads, *self.writes], repeat=2)
            if events[a].location == events[b].location
        }
        self.same_address = {
            (a, b)
            for a, b in self.overlap
            if not self.has_proxies or events[a].variable == events[b].variable
        }
        self.po_loc = self.po & self.same_address
        self.morally_strong = {
            (a, b) for a, b in product(self.all, repeat=2) if a != b and self.are_strong(a, b)
        }
        met = {
            (arrival, wait)
            for meeting in skeleton.meetings
            for arrival, wait in product(meeting.arrivals, meeting.waits)
            if arrival != wait
        }
        self.barriers = {(a, w) for a, w in met if events[a].kind is EventKind.BARRIER}
        self.phases = met - self.barriers

    def are_strong(self, a: int, b: int) -> bool:
        """True if two operations are morally strong. "Morally strong operations"."""
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
        if self.has_proxies and first.proxy is not second.proxy:
            return False
        return not (first.is_access and second.is_access) or (a, b) in self.same_address

    # Fences that do not order everything

    def home(self, operation: int) -> Placement | None:
        """The CTA in whose shared memory an operation is."""
        return self.skeleton.program.shared.get(self.events[operation].location or "")

    def is_near(self, fence: int, operation: int, scope: Scope) -> bool:
        """True if an operation is on shared memory within a scope of a fence."""
        here, home = self.skeleton.placement(fence), self.home(operation)
        return home is not None and here is not None and includes(scope, here, home)

    def may_signal(self, fence: int, operation: int) -> bool:
        """True where a fence may synchronise through an operation; with ``.sync_restrict`` not
        always."""
        if self.events[fence].restriction is None or self.reading is SyncRestrict.STRONGER:
            return True
        rendezvous = self.events[operation].rendezvous
        if rendezvous is not None and rendezvous.mbarrier:
            return True
        return self.is_near(fence, operation, Scope.CLUSTER)

    def orders(self, fence: int, one: int, other: int) -> bool:
        """True if a fence orders an operation with another, should it come between them."""
        event, first, second = self.events[fence], self.events[one], self.events[other]
        if event.restriction is not None and not self.is_near(fence, one, event.restriction.reach):
            return False
        if event.of_inits:
            update = first.update
            is_init = update is not None and update.initialised is not None
            return first.thread == event.thread and is_init
        if event.crosses is None:
            return True
        crosses = first.proxy is PtxProxy.GENERIC and second.proxy is event.crosses
        return crosses and event.covers in (None, second.location)

    def is_restricted(self, fence: int) -> bool:
        """True if there is something that a fence does not order."""
        event = self.events[fence]
        return event.of_inits or event.restriction is not None or event.crosses is not None

    def release_patterns(self) -> Pairs:
        """From the start of each release pattern to its last write. "Release and Acquire
        Patterns"."""
        written = [*self.writes, *self.arrivals]
        strong = {n for n in written if self.events[n].scope is not None}
        releases = {n for n in self.all if self.events[n].ordering in _RELEASES}
        patterns = {(w, w) for w in strong & releases}
        patterns |= {(a, b) for a, b in self.po_loc if a in strong & releases and b in strong}
        return patterns | {
            (f, w)
            for f, w in self.po
            if f in releases and f in self.fences and w in strong and self.may_signal(f, w)
        }

    def acquire_patterns(self) -> Pairs:
        """From the first read of each acquire pattern to its end. "Release and Acquire
        Patterns"."""
        seen = [*self.reads, *self.waits]
        strong = {n for n in seen if self.events[n].scope is not None}
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
        chained = observed | seq(plus(seq(observed, self.rmw)), observed)
        return chained | self.phases & self.morally_strong

    def base_causality(self, synchronizes: Pairs) -> Pairs:
        """Program order and synchronization, chained. "Causality Order", base.

        What is before an asynchronous operation is issued is before its accesses, and no further.
        """
        po = self.po | self.identity
        base = plus(seq(po, synchronizes, po))
        if self.has_proxies:
            base = self.with_issue(plus(base | self.po))
        return base

    def with_issue(self, base: Pairs) -> Pairs:
        """An order with the events issued after it. "Asynchronous Operations"."""
        return base | seq(base | self.identity, self.issue)

    def fences_of(self, access: int, proxy: PtxProxy | None) -> set[int]:
        """The proxy fences that an access may leave or enter its proxy by: those of its CTA."""
        return {
            n
            for n, event in enumerate(self.events)
            if event.kind is EventKind.PROXY_FENCE
            and event.proxy is proxy
            and self.skeleton.placement(n) == self.skeleton.placement(access)
            and self.is_about(n, access)
        }

    def is_about(self, fence: int, access: int) -> bool:
        """True if a proxy fence is about the state space of an access."""
        match self.events[fence].space:
            case None:
                return True
            case Space.GLOBAL:
                return self.home(access) is None
            case Space.OWN:
                return self.is_near(fence, access, Scope.WORKGROUP)
            case Space.CLUSTER:
                return self.is_near(fence, access, Scope.CLUSTER)

    def exits(self, access: int, base: Pairs) -> set[int]:
        """The events at which an access leaves its proxy."""
        match self.events[access].proxy:
            case PtxProxy.GENERIC | PtxProxy.TENSOR:
                return {access}
            case PtxProxy.TENSORMAP:
                fences = self.fences_of(access, PtxProxy.ASYNC)
            case proxy:
                fences = self.fences_of(access, proxy)
        return {n for n in fences if (access, n) in base}

    def entries(self, one: int, access: int, base: Pairs) -> set[int]:
        """The events at which ``one`` can become known to the proxy of an access."""
        proxy = self.events[access].proxy
        if proxy in (PtxProxy.GENERIC, PtxProxy.TENSOR):
            return {access}
        crossing = [
            n
            for n in self.fences
            if self.events[n].crosses is proxy and proxy is not None
            if self.orders(n, one, access) or self.events[n].ordering.releases
        ]
        released = {
            other
            for n, other in base
            if n in crossing and self.events[n].ordering.releases and (one, n) in base
        }
        acquired = {
            n
            for n in crossing
            if self.events[n].ordering.acquires
            and self.skeleton.placement(n) == self.skeleton.placement(access)
            and (proxy is not PtxProxy.TENSORMAP or n in released)
        }
        fences = self.fences_of(access, proxy) | acquired
        return {n for n in fences if (n, access) in base}

    def preserved(self, base: Pairs) -> Pairs:
        """Base causality that survives proxies and addresses. "Proxy-preserved base causality"."""
        at = base | self.identity
        alias = {
            n
            for n, e in enumerate(self.events)
            if e.kind is EventKind.PROXY_FENCE and e.proxy is None
        }
        result: Pairs = set()
        for x, y in base & self.overlap:
            ways = product(self.exits(x, base), self.entries(x, y, base))
            same_proxy = self.events[x].proxy is self.events[y].proxy
            same_cta = self.skeleton.placement(x) == self.skeleton.placement(y)
            if (x, y) not in self.same_address:
                if any((e, a) in at and (a, n) in base for e, n in ways for a in alias):
                    result.add((x, y))
            elif (same_proxy and same_cta) or any(way in at for way in ways):
                result.add((x, y))
            elif same_proxy and self.events[x].proxy is PtxProxy.ASYNC:
                # "linked by a proxy fence": a copy to a peer, and what the peer starts once it
                # waited.
                if any((e, y) in base for e in self.exits(x, base)):
                    result.add((x, y))
        return result

    def causality(self, synchronizes: Pairs, observed: Pairs) -> Pairs:
        """Causality order of each two operations, by the fences that order them. "Causality
        Order"."""
        known: dict[frozenset[int], Pairs] = {}
        result: Pairs = set()
        for one, other in self.overlap:
            if self.events[one].tensor is not None:
                continue
            idle = frozenset(n for n in self.fences if not self.orders(n, one, other))
            if idle not in known:
                base = self.base_causality({p for p in synchronizes if not idle & {*p}})
                base = self.preserved(base) if self.has_proxies else base
                follows = base if self.has_proxies else base | self.po_loc
                known[idle] = base | seq(observed, follows)
            if (one, other) in known[idle]:
                result.add((one, other))
        return result | self.tensor_order(synchronizes, observed)

    def tensor_order(self, synchronizes: Pairs, observed: Pairs) -> Pairs:
        """The order of accesses of tensor memory: by all that orders execution, and by
        pipelines."""
        tensor = {n for n, event in enumerate(self.events) if event.tensor is not None}
        if not tensor:
            return set()
        links = self.po | synchronizes | observed | self.phases | self.barriers
        order = self.with_issue(plus(links))
        pipelines = {
            (x, y)
            for x, y in self.overlap & seq(self.started, order)
            if (first := self.events[x].tensor) is not None
            if (second := self.events[y].tensor) is not None and first.is_before(second)
        }
        order = self.with_issue(plus(links | pipelines))
        return {(x, y) for x, y in order & self.overlap if x in tensor}

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
    if not acyclic(rf | x.dependency | x.held_up):  # Barriers
        return
    ms, observed = x.morally_strong, x.observation(rf)
    patterns = seq(x.release_patterns(), observed, x.acquire_patterns()) & ms
    restricted = {n for n in x.fences if x.is_restricted(n)}
    for sc in x.fence_sc_orders():
        synchronizes = patterns | sc | x.barriers
        base = x.base_causality({p for p in synchronizes if not restricted & {*p}})
        if any((b, a) in base for a, b in sc):  # Fence-SC
            continue
        if any((b, a) in base for a, b in x.skeleton.ordered):  # Causality, at an mbarrier
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


def outcomes(
    program: PtxProgram, version: Version, reading: SyncRestrict = SyncRestrict.WEAKER
) -> Outcomes:
    """Every final state of a program without loops. Raises ``ProgramError``."""
    candidates, found = PtxCandidates(program), FinalStates()
    observed = observables_of(candidates)
    for combination in candidates:
        values = combination.values
        registers = tuple(
            combination.registers[each.thread].get(each.name, 0)
            for each in observed
            if isinstance(each, Register)
        )
        for skeleton in combination.skeletons:
            x = Operations(skeleton, version, reading)
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
                    states = ((*registers, *final) for final in product(*memory))
                    found.add(states, combination.waits)
    return found.outcomes(observed)
