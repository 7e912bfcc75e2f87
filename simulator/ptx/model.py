"""The PTX memory model: its relations, its axioms, and every outcome that they allow.

Names and order follow the PTX ISA, "Memory Consistency Model". Two versions are distinguished:
6.0, and 7.5 with proxies and virtual aliases; cluster scope, one-sided fences, mbarriers and
the async proxy of later versions use the rules of 7.5 (or 6.0, where no proxy is involved).
Where the text is silent, on paths through a proxy other than the generic one, the closure is
that of Lustig et al., "Mixed-Proxy Extensions for the NVIDIA PTX Memory Consistency Model"
(ISCA 2022).

How outcomes are found: for each reads-from relation and each Fence-SC order,
causality order is fixed, and what is left (coherence order, and the axioms that use it)
falls apart into independent questions, one for each location. The axioms only ever forbid
more when coherence order grows, so that the least order which answers them is enough.
Programs whose threads have too many runs for that are left to ``graphs``.
``definition`` has the same relations and axioms without any of this.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import islice, product
from random import Random

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.bit_relation import (
    Mask,
    Relation,
    compose,
    find_cycle,
    image,
    is_acyclic,
    mask_of,
    pairs,
    reflexive,
    transitive_closure,
    union,
)
from fencewright.simulator.core.condition import (
    FinalStates,
    Formula,
    Memory,
    Observable,
    Outcomes,
    Register,
    observable_order,
)
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.interleaving import InterleavingHint
from fencewright.simulator.core.program import Placement, ProgramError
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.ptx.events import (
    PtxCandidates,
    PtxCombination,
    PtxSkeleton,
    PtxWalks,
)
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    AsyncRelease,
    CommitGroup,
    CopyArrive,
    CrossingFence,
    MapCopy,
    ProxyFence,
    PtxProgram,
    PtxProxy,
    RegisterFence,
    Space,
    TensorCommit,
    TensorFence,
    WaitGroup,
    accesses,
)
from fencewright.simulator.ptx.paths import PtxEvent, used_too_early

_READ, _WRITE, _FENCE = EventKind.READ, EventKind.WRITE, EventKind.FENCE


class Version(Enum):
    """The text of the model: 6.0, or 7.5 with proxies."""

    V6_0 = "6.0"
    V7_5 = "7.5"


class Axiom(Enum):
    """The axioms. Source: PTX ISA, "Axioms"."""

    __hash__ = object.__hash__  # At C speed: each member is one object.

    COHERENCE = "Coherence"
    FENCE_SC = "Fence-SC"
    ATOMICITY = "Atomicity"
    NO_THIN_AIR = "No-Thin-Air"
    BARRIERS = "Barriers"
    """No thread passes a barrier by a later event: no axiom of the manual, but in its text."""
    SC_PER_LOCATION = "SC-per-Location"
    CAUSALITY = "Causality"


ALL_AXIOMS: frozenset[Axiom] = frozenset(Axiom)


class SyncRestrict(Enum):
    """The operations through which a fence with ``.sync_restrict`` may synchronise: an open point.

    It "restrict[s] the class of memory operations for which the fence instruction provides the
    memory ordering guarantees". WEAKER: through objects in the cluster's shared memory alone, the
    least that the example of the text needs. STRONGER: through anything, as another fence.
    Source: PTX ISA 9.4, "membar / fence", description and examples.
    """

    WEAKER = "weaker"
    STRONGER = "stronger"


@dataclass(frozen=True, slots=True)
class PtxModel:
    """The version of the model, with its axioms.

    Where the text can be read in two ways the weaker is meant. Axioms are left out, and moral
    strength in synchronizes-with ignored, only to see that a test notices.
    """

    version: Version = Version.V7_5
    axioms: frozenset[Axiom] = ALL_AXIOMS
    moral_strength_in_sync: bool = True
    sync_restrict: SyncRestrict = SyncRestrict.WEAKER

    @property
    def name(self) -> str:
        """The version, and the reading where it is not the usual one."""
        stronger = self.sync_restrict is SyncRestrict.STRONGER
        return f"{self.version.value}{'-stronger' if stronger else ''}"

    @property
    def is_whole(self) -> bool:
        """True if nothing is left out."""
        return self.axioms == ALL_AXIOMS and self.moral_strength_in_sync

    def without(self, axiom: Axiom) -> "PtxModel":
        """The same model less one axiom."""
        return replace(self, axioms=self.axioms - {axiom})


MODELS: Mapping[str, PtxModel] = {
    "6.0": PtxModel(Version.V6_0),
    "7.5": PtxModel(),
    "7.5-stronger": PtxModel(sync_restrict=SyncRestrict.STRONGER),
}
"""The models by name; ``-stronger`` is the stronger reading where the text can be read in two
ways."""


# Relations that depend on the program alone


def morally_strong(skeleton: PtxSkeleton, version: Version) -> Relation:
    """Pairs in program order or strong with scopes that include each other; overlapping wholly.

    Source: PTX ISA, "Morally strong operations"; same proxy and same address from 7.5 on.
    """
    events, po = skeleton.events, skeleton.po
    ms = [0] * len(events)
    for a, first in enumerate(events):
        for b in range(a):
            second = events[b]
            ordered = po[b] >> a & 1 or po[a] >> b & 1
            if not ordered and not _scopes_include_each_other(skeleton, a, b):
                continue
            if version is Version.V7_5 and first.proxy is not second.proxy:
                continue
            if first.is_access and second.is_access and not _overlap(first, second, version):
                continue
            ms[a] |= 1 << b
            ms[b] |= 1 << a
    return ms


def _scopes_include_each_other(skeleton: PtxSkeleton, a: int, b: int) -> bool:
    first, second = skeleton.events[a], skeleton.events[b]
    here, there = skeleton.placement(a), skeleton.placement(b)
    if first.scope is None or second.scope is None or here is None or there is None:
        return False
    return here.shares(there, first.scope) and there.shares(here, second.scope)


def _overlap(first: PtxEvent, second: PtxEvent, version: Version) -> bool:
    if version is Version.V6_0:
        return first.location == second.location
    return first.variable == second.variable


@dataclass(frozen=True, slots=True)
class RestrictedFence:
    """A fence that does not order everything: masks of the operations that it may synchronise
    through (``signals``), and of those that it ``orders`` with those in ``targets``.
    """

    signals: Mask
    orders: Mask
    targets: Mask


def restricted_fences(
    skeleton: PtxSkeleton, reading: SyncRestrict = SyncRestrict.WEAKER
) -> Mapping[int, RestrictedFence]:
    """The restriction of each fence with ``.sync_restrict``, ``.mbarrier_init`` or ``X::generic``.

    With ``.sync_restrict`` "the effect of the fence only applies to operations performed on
    objects in .shared::cta state space" for a release, ".shared::cluster" for an acquire;
    ``reading`` says through what it synchronises. It orders transitively, since only the ``::read``
    form is said to be non-cumulative. ``fence.mbarrier_init`` "only applies to the prior
    mbarrier.init operations executed by the same thread". A uni-directional proxy fence orders
    "a prior memory access performed via the from-proxykind and a subsequent memory access
    performed via the to-proxykind". Source: PTX ISA 9.4, "membar / fence".
    """
    events = skeleton.events
    every = (1 << len(events)) - 1
    found: dict[int, RestrictedFence] = {}
    for number, fence in enumerate(events):
        here = skeleton.placement(number)
        if here is None or fence.kind is not _FENCE:
            continue
        signals = orders = targets = every
        if fence.restriction is not None:
            orders = _homed(skeleton, here, fence.restriction.reach)
            if reading is SyncRestrict.WEAKER:
                mbarriers = (n for n, e in enumerate(events) if e.rendezvous is not None)
                signals = mask_of(n for n in mbarriers if _is_at_mbarrier(events[n]))
                signals |= _homed(skeleton, here, Scope.CLUSTER)
        if fence.of_inits:
            orders = mask_of(
                n for n, e in enumerate(events) if e.thread == fence.thread and _is_init(e)
            )
        if fence.crosses is not None:
            orders &= mask_of(n for n, e in enumerate(events) if e.proxy is PtxProxy.GENERIC)
            targets = mask_of(
                n
                for n, e in enumerate(events)
                if e.proxy is fence.crosses and fence.covers in (None, e.location)
            )
        if orders & targets & signals != every:
            found[number] = RestrictedFence(signals, orders, targets)
    return found


def _homed(skeleton: PtxSkeleton, here: Placement, reach: Scope) -> Mask:
    """The operations on locations in shared memory as far as ``reach`` from ``here``."""
    homes = skeleton.program.shared
    return mask_of(
        n
        for n, event in enumerate(skeleton.events)
        if (home := homes.get(event.location or "")) is not None and here.shares(home, reach)
    )


def _is_at_mbarrier(event: PtxEvent) -> bool:
    return event.rendezvous is not None and event.rendezvous.mbarrier


def _is_init(event: PtxEvent) -> bool:
    return event.update is not None and event.update.initialised is not None


def release_patterns(
    skeleton: PtxSkeleton, po_loc: Relation, restricted: Mapping[int, RestrictedFence]
) -> Relation:
    """From the first operation of each release pattern to the writes that end it.

    Source: PTX ISA, "Release and Acquire Patterns". Arriving at an mbarrier or a cluster
    barrier counts as a write.
    """
    events = skeleton.events
    writes = _strong(events, _WRITE, EventKind.ARRIVE)
    patterns = [0] * len(events)
    for number, event in enumerate(events):
        if not event.ordering.releases:
            continue
        if event.kind is _FENCE:
            patterns[number] = skeleton.po[number] & writes
        elif event.kind in (_WRITE, EventKind.ARRIVE):
            patterns[number] = 1 << number | po_loc[number] & writes
    for number, fence in restricted.items():
        patterns[number] &= fence.signals
    return patterns


def acquire_patterns(
    skeleton: PtxSkeleton, po_loc: Relation, restricted: Mapping[int, RestrictedFence]
) -> Relation:
    """From the reads that start an acquire pattern to its last operations.

    Source: PTX ISA, "Release and Acquire Patterns". A ``red`` starts none with a fence.
    """
    events = skeleton.events
    acquires = mask_of(n for n, e in enumerate(events) if e.kind is _READ and e.ordering.acquires)
    fences = mask_of(n for n, e in enumerate(events) if e.kind is _FENCE and e.ordering.acquires)
    patterns = [0] * len(events)
    for number in bits(_strong(events, _READ, EventKind.WAIT)):
        event = events[number]
        if event.ordering.acquires:
            patterns[number] |= 1 << number
        patterns[number] |= po_loc[number] & acquires
        if not event.is_red:
            patterns[number] |= skeleton.po[number] & fences
        for fence, each in restricted.items():
            if not each.signals >> number & 1:
                patterns[number] &= ~(1 << fence)
    return patterns


def _strong(events: Iterable[PtxEvent], *kinds: EventKind) -> Mask:
    return mask_of(n for n, e in enumerate(events) if e.is_strong and e.kind in kinds)


def barrier_synchronization(skeleton: PtxSkeleton) -> Relation:
    """``bar``: every arrival synchronizes with every wait of its phase. Source: PTX ISA, "bar"."""
    sync = [0] * len(skeleton.events)
    for meeting in skeleton.meetings:
        for arrival in meeting.arrivals:
            if skeleton.events[arrival].kind is EventKind.BARRIER:
                sync[arrival] |= mask_of(meeting.waits) & ~(1 << arrival)
    return sync


def phase_observation(skeleton: PtxSkeleton, ms: Relation) -> Relation:
    """A wait on an mbarrier or cluster barrier observes the arrivals of the phase it waits for.

    Source: PTX ISA, "mbarrier" and "barrier.cluster": arrive releases, wait acquires.
    """
    observed = [0] * len(skeleton.events)
    for meeting in skeleton.meetings:
        for arrival in meeting.arrivals:
            if skeleton.events[arrival].kind is EventKind.ARRIVE:
                observed[arrival] |= mask_of(meeting.waits) & ms[arrival]
    return observed


class PtxFrame:
    """All of a skeleton that does not depend on the values of its reads."""

    def __init__(
        self,
        skeleton: PtxSkeleton,
        model: PtxModel,
        work: WorkBudget | None = None,
        random: Random | None = None,
    ):
        events = skeleton.events
        self.work = WorkBudget() if work is None else work
        self.random = random
        self.skeleton = skeleton
        self.model = model
        self.size = len(events)
        self.po = skeleton.po
        self.of_location = {
            name: mask_of(n for n, e in enumerate(events) if e.location == name)
            for name in skeleton.locations
        }
        self.of_variable = _by_variable(events)
        same_address = self.of_location if model.version is Version.V6_0 else self.of_variable
        self.po_loc = [
            row & same_address.get(_address(event, model.version), 0)
            for event, row in zip(events, self.po, strict=True)
        ]
        self.ms = morally_strong(skeleton, model.version)
        self.write_mask = mask_of(skeleton.writes)
        restricted = restricted_fences(skeleton, model.sync_restrict)
        self.restricted = restricted
        self.crossings = [n for n in restricted if events[n].crosses is not None]
        self.release = release_patterns(skeleton, self.po_loc, restricted)
        self.releasing = tuple(n for n, row in enumerate(self.release) if row)
        self.acquire = acquire_patterns(skeleton, self.po_loc, restricted)
        self.spheres = _spheres(self.size, restricted)
        self.barrier = barrier_synchronization(skeleton)
        self.phases = phase_observation(skeleton, self.ms)
        self.of_tensor = mask_of(n for n, e in enumerate(events) if e.tensor is not None)
        self.is_plain = not restricted and not _mixes_addresses(skeleton)
        self.rmw = skeleton.rmw
        self.rmw_reads = tuple(n for n, row in enumerate(self.rmw) if row)
        self.causality_of: dict[tuple[Mask, ...], tuple[Relation, Relation]] = {}

    @cached_property
    def fence_sc_orders(self) -> tuple[Relation, ...]:
        """Every Fence-SC order; with ``random`` one."""
        orders = self._fence_sc_orders()
        return tuple(orders if self.random is None else islice(orders, 1))

    def _fence_sc_orders(self) -> Iterator[Relation]:
        """Every Fence-SC order: one direction for each morally strong pair of ``fence.sc``.

        With ``random`` they come in random order.

        An order against program order would only add to what the fences synchronize, and
        contradicts causality order at once, so that none is tried.
        Source: PTX ISA, "Fence-SC".
        """
        fences = [
            n
            for n, e in enumerate(self.skeleton.events)
            if e.kind is _FENCE and e.ordering is Ordering.SEQ_CST
        ]
        seen: set[tuple[Mask, ...]] = set()

        def extend(left: tuple[int, ...], sc: Relation, earlier: Mask) -> Iterator[Relation]:
            if not left and tuple(sc) not in seen:
                seen.add(tuple(sc))
                yield sc
            if not self.work.take():
                return
            following = left if self.random is None else self.random.sample(left, len(left))
            for fence in following:
                if any(self.po[other] >> fence & 1 for other in left):
                    continue
                extended = list(sc)
                for before in bits(earlier & self.ms[fence]):
                    extended[before] |= 1 << fence
                rest = tuple(other for other in left if other != fence)
                yield from extend(rest, extended, earlier | 1 << fence)

        yield from extend(tuple(fences), [0] * self.size, 0)


@dataclass(frozen=True, slots=True)
class _Sphere:
    """Pairs of operations that the fences ``idle`` do not order, all others do."""

    idle: Mask
    sources: Mask
    targets: Mask


def _spheres(size: int, restricted: Mapping[int, RestrictedFence]) -> tuple[_Sphere, ...]:
    """All pairs of operations by the restricted fences that do not order them.

    First comes what holds of all pairs, with all those fences idle.
    """
    every = (1 << size) - 1
    if not restricted:
        return (_Sphere(0, every, every),)
    found: dict[tuple[Mask, Mask], Mask] = {}
    classes: dict[Mask, Mask] = {}
    for number in range(size):
        aimed = mask_of(n for n, fence in restricted.items() if fence.targets >> number & 1)
        classes[aimed] = classes.get(aimed, 0) | 1 << number
    all_idle = mask_of(restricted)
    for number in range(size):
        active = mask_of(n for n, fence in restricted.items() if fence.orders >> number & 1)
        for aimed, targets in classes.items():
            key = all_idle & ~(active & aimed), targets
            found[key] = found.get(key, 0) | 1 << number
    spheres = [_Sphere(idle, sources, targets) for (idle, targets), sources in found.items()]
    return (_Sphere(all_idle, 0, 0), *spheres)


def _address(event: PtxEvent, version: Version) -> str:
    return (event.location if version is Version.V6_0 else event.variable) or ""


def _by_variable(events: Iterable[PtxEvent]) -> dict[str, Mask]:
    result: dict[str, Mask] = {}
    for number, event in enumerate(events):
        if event.variable is not None:
            result[event.variable] = result.get(event.variable, 0) | 1 << number
    return result


# Relations of one execution


def observation(frame: PtxFrame, rf: Relation) -> Relation:
    """Writes before the reads that see them, strongly and through chains of atomics.

    Source: PTX ISA, "Observation order".
    """
    obs = [a & b for a, b in zip(rf, frame.ms, strict=True)]
    if frame.rmw_reads:
        chains = transitive_closure(compose(frame.rmw, obs))
        obs = compose(obs, reflexive(chains))
    return [a | b for a, b in zip(obs, frame.phases, strict=True)]


def synchronizes(frame: PtxFrame, obs: Relation) -> Relation:
    """Release patterns to the acquire patterns that observe them, and barriers.

    Source: PTX ISA, "Causality order: Synchronizes". The Fence-SC part is added per order.
    """
    sync = list(frame.barrier)
    strong = frame.model.moral_strength_in_sync
    for first in frame.releasing:
        last = image(image(frame.release[first], obs), frame.acquire)
        if last:
            sync[first] |= last & frame.ms[first] if strong else last & ~(1 << first)
    return sync


def base_causality(frame: PtxFrame, sync: Relation) -> Relation:
    """Program order and synchronization, chained; in 6.0 with one synchronization at least.

    Source: PTX ISA, "Causality order: base causality order".
    """
    reach = transitive_closure([a | b for a, b in zip(frame.po, sync, strict=True)])
    if frame.model.version is Version.V7_5:
        return _issue_copies(frame, reach)
    after = compose(sync, reflexive(reach))
    return [row | image(before, after) for row, before in zip(after, frame.po, strict=True)]


def _issue_copies(frame: PtxFrame, base: Relation) -> Relation:
    """Orders events before the issue of an asynchronous copy before its accesses, and no further.

    The completion of a copy releases its own accesses alone. Source: PTX ISA, cp.async.bulk.
    """
    issue = frame.skeleton.issue
    if not any(issue):
        return base
    return [row | image(row | 1 << n, issue) for n, row in enumerate(base)]


def proxy_preserved(frame: PtxFrame, base: Relation) -> Relation:
    """Base causality between accesses as far as it survives the change of proxy or address.

    Source: PTX ISA 7.5, "Proxy-preserved base causality order", closed as in ISCA 2022: an
    access leaves a non-generic proxy by a proxy fence of its own CTA after it, and is
    entered by one before it; an alias fence has to lie between the two. Two accesses of the async
    proxy in different CTAs are "linked by a proxy fence" where the first leaves it: a copy that has
    completed at a peer's mbarrier is there for the peer's own copies and tensor cores.
    """
    events = frame.skeleton.events
    alias_fences = _proxy_fences(frame, None)
    result = [0] * frame.size
    for x, event in enumerate(events):
        if not event.is_access:
            continue
        exits = _exits(frame, base, x)
        reach = image(exits, base) | exits
        aliased = image(reach & alias_fences, base)
        for y in bits(base[x] & frame.of_location[event.location or ""]):
            other = events[y]
            same_address = event.variable == other.variable
            between = reach if same_address else aliased
            if (
                _entries(frame, base, y) & between
                or _crossed(frame, base, x, y) & between
                or (same_address and event.proxy is other.proxy and _same_cta(frame, x, y))
                or (
                    same_address and event.proxy is other.proxy is PtxProxy.ASYNC and reach >> y & 1
                )
            ):
                result[x] |= 1 << y
    return result


def _proxy_fences(frame: PtxFrame, proxy: PtxProxy | None) -> Mask:
    return mask_of(
        n
        for n, e in enumerate(frame.skeleton.events)
        if e.kind is EventKind.PROXY_FENCE and e.proxy is proxy
    )


def _same_cta(frame: PtxFrame, a: int, b: int) -> bool:
    return frame.skeleton.placement(a) == frame.skeleton.placement(b)


def _cta_fences(frame: PtxFrame, event: int, proxy: PtxProxy | None) -> Mask:
    """The fences of a proxy, and of the location's state space, in the CTA of an access."""
    location = frame.skeleton.events[event].location or ""
    return mask_of(
        n
        for n in bits(_proxy_fences(frame, proxy))
        if _same_cta(frame, n, event) and _is_about(frame.skeleton, n, location)
    )


def _is_about(skeleton: PtxSkeleton, fence: int, location: str) -> bool:
    """True if a proxy fence is about the state space of a location.

    "The memory ordering is limited only to operations performed on objects in the state space
    specified"; ``.shared::cluster`` has the thread's own shared memory too. Source: PTX ISA,
    "membar / fence", "State Spaces".
    """
    space, home = skeleton.events[fence].space, skeleton.program.shared.get(location)
    here = skeleton.placement(fence)
    if space is None or here is None:
        return True
    if home is None or space is Space.GLOBAL:
        return home is None and space is Space.GLOBAL
    return here.shares(home, Scope.WORKGROUP if space is Space.OWN else Scope.CLUSTER)


_NATIVE = (PtxProxy.GENERIC, PtxProxy.TENSOR)
"""The proxies that need no entry or exit: nothing else reaches tensor memory."""


def _exits(frame: PtxFrame, base: Relation, x: int) -> Mask:
    """The events at which the effect of ``x`` leaves its proxy: ``x`` itself for the generic one.

    A copy that is done has done with its tensor map, of which the text says nothing.
    """
    proxy = frame.skeleton.events[x].proxy
    if proxy in _NATIVE:
        return 1 << x
    return base[x] & _cta_fences(frame, x, _left_by(proxy))


def _left_by(proxy: PtxProxy | None) -> PtxProxy | None:
    return PtxProxy.ASYNC if proxy is PtxProxy.TENSORMAP else proxy


def _entries(frame: PtxFrame, base: Relation, y: int) -> Mask:
    """The events at which ``y`` enters its proxy."""
    proxy = frame.skeleton.events[y].proxy
    if proxy in _NATIVE:
        return 1 << y
    return mask_of(n for n in bits(_cta_fences(frame, y, proxy)) if base[n] >> y & 1)


def _crossed(frame: PtxFrame, base: Relation, x: int, y: int) -> Mask:
    """The uni-directional acquires by which ``y`` enters its proxy after the generic access ``x``.

    They stand in the CTA of ``y``. For a tensor map a release of the same kind comes first, as
    wherever the text uses them. Source: PTX ISA, "membar / fence", examples.
    """
    events = frame.skeleton.events
    proxy = events[y].proxy
    if events[x].proxy is not PtxProxy.GENERIC:
        return 0
    fences = [n for n in frame.crossings if events[n].crosses is proxy]
    releases = mask_of(n for n in fences if events[n].ordering.releases and base[x] >> n & 1)
    released = image(releases, base)
    entries = 0
    for n in fences:
        if not (events[n].ordering.acquires and base[n] >> y & 1 and _same_cta(frame, n, y)):
            continue
        if proxy is PtxProxy.TENSORMAP and not released >> n & 1:
            continue
        if frame.restricted[n].targets >> y & 1 and frame.restricted[n].orders >> x & 1:
            entries |= 1 << n
    return entries


def causality(frame: PtxFrame, obs: Relation, base: Relation) -> Relation:
    """Base causality (7.5: proxy-preserved), and the relations that follow an observation.

    Source: PTX ISA, "Causality order".
    """
    if frame.model.version is Version.V7_5:
        base = proxy_preserved(frame, base) if _mixes_addresses(frame.skeleton) else base
        follows = base
    else:
        follows = [a | b for a, b in zip(base, frame.po_loc, strict=True)]
    return [
        row | image(seen, follows) if seen else row for row, seen in zip(base, obs, strict=True)
    ]


def causality_by_sphere(
    frame: PtxFrame, obs: Relation, sync: Relation
) -> tuple[Relation, Relation]:
    """Base causality by operations that order everything, and causality order.

    Causality order from an operation is by the fences that order operations on its object: it
    is one relation for each object, of which only pairs on one object matter.
    """
    everywhere, *limited = frame.spheres
    base = base_causality(frame, _without(sync, everywhere.idle))
    cause = causality(frame, obs, base)
    if limited:
        whole, cause = cause, [0] * frame.size
        for sphere in limited:
            ordered = whole
            if sphere.idle != everywhere.idle:
                ordered = causality(frame, obs, base_causality(frame, _without(sync, sphere.idle)))
            for number in bits(sphere.sources):
                cause[number] |= ordered[number] & sphere.targets
    if frame.of_tensor:
        executed = tensor_order(frame, obs, sync)
        for number in bits(frame.of_tensor):
            cause[number] = executed[number] & frame.of_tensor
    return base, cause


def tensor_order(frame: PtxFrame, obs: Relation, sync: Relation) -> Relation:
    """The order of operations on tensor memory: any synchronisation that orders execution counts.

    "tcgen05.fence::before_thread_sync and tcgen05.fence::after_thread_sync compose with execution
    ordering instructions", relaxed ones too. Operations that stay in order once they are started
    do so across threads as well. Source: PTX ISA, "Memory Consistency Model for 5th generation of
    TensorCore operations".
    """
    skeleton = frame.skeleton
    links = [a | b | c for a, b, c in zip(frame.po, sync, obs, strict=True)]
    for meeting in skeleton.meetings:
        for arrival in meeting.arrivals:
            links[arrival] |= mask_of(meeting.waits) & ~(1 << arrival)
    reach = _issue_copies(frame, transitive_closure(links))
    changed = False
    for number, fences in enumerate(skeleton.started):
        role = skeleton.events[number].tensor
        if not fences or role is None:
            continue
        there = frame.of_location[skeleton.events[number].location or ""]
        for later in bits(image(fences, reach) & there & ~links[number]):
            other = skeleton.events[later].tensor
            if other is not None and role.is_before(other):
                links[number] |= 1 << later
                changed = True
    return _issue_copies(frame, transitive_closure(links)) if changed else reach


def _without(relation: Relation, events: Mask) -> Relation:
    if not events:
        return relation
    return [0 if events >> n & 1 else row & ~events for n, row in enumerate(relation)]


def _mixes_addresses(skeleton: PtxSkeleton) -> bool:
    return any(e.proxy is not PtxProxy.GENERIC or e.variable != e.location for e in skeleton.events)


class PtxExecution:
    """One candidate execution: a frame with its reads-from, Fence-SC and coherence order."""

    __slots__ = ("base", "cause", "co", "fr", "frame", "obs", "rf", "rf_inverse", "sc", "sync")

    def __init__(self, frame: PtxFrame, rf: Relation, rf_inverse: list[int]):
        self.frame = frame
        self.rf = rf
        self.rf_inverse = rf_inverse
        self.obs = observation(frame, rf)
        self.sc: Relation = []
        self.sync: Relation = []
        self.base: Relation = []
        self.cause: Relation = []
        self.co: Relation = []
        self.fr: Relation = []

    def order_fences(self, released: Relation, sc: Relation) -> None:
        """Set the Fence-SC order, and with it synchronization and causality."""
        self.sc = sc
        self.sync = [a | b for a, b in zip(released, sc, strict=True)]
        key = (*self.sync, *self.obs)
        known = self.frame.causality_of.get(key)
        if known is None:
            known = causality_by_sphere(self.frame, self.obs, self.sync)
            self.frame.causality_of[key] = known
        self.base, self.cause = known

    def order_writes(self, co: Relation, reads: Iterable[int]) -> None:
        """Set the coherence order of some locations, and from-reads for ``reads`` of them."""
        self.co = co
        fr = [0] * self.frame.size
        for read in reads:
            fr[read] = co[self.rf_inverse[read]]
        self.fr = fr


# The axioms: each returns the events of a violation in order, or () when it holds.
# ``reads`` and ``writes`` are those of the locations in question.

Violation = tuple[int, ...]


def coherence(x: PtxExecution, reads: Iterable[int], writes: Iterable[int]) -> Violation:
    """Overlapping writes in causality order are in coherence order alike, which has no cycle."""
    all_writes = mask_of(writes)
    for write in writes:
        for later in bits(x.cause[write] & all_writes & ~x.co[write]):
            return (write, later, write)
        if x.co[write] >> write & 1:
            return (write, write)
    return ()


def atomicity(x: PtxExecution, reads: Iterable[int], writes: Iterable[int]) -> Violation:
    """No morally strong write falls between the read and the write of an atomic."""
    ms = x.frame.ms
    for read in x.frame.rmw_reads:
        for write in bits(x.frame.rmw[read]):
            for between in bits(x.fr[read] & ms[read]):
                if x.co[between] & ms[between] & 1 << write:
                    return (read, between, write, read)
    return ()


def sc_per_location(x: PtxExecution, reads: Iterable[int], writes: Iterable[int]) -> Violation:
    """Morally strong communication does not contradict program order to one location."""
    ms, po_loc = x.frame.ms, x.frame.po_loc
    order = [0] * x.frame.size
    for write in writes:
        order[write] = (x.rf[write] | x.co[write]) & ms[write] | po_loc[write]
    for read in reads:
        order[read] = x.fr[read] & ms[read] | po_loc[read]
    return () if is_acyclic(order) else find_cycle(order)


def causality_axiom(x: PtxExecution, reads: Iterable[int], writes: Iterable[int]) -> Violation:
    """Reads-from, from-reads (and from 7.5 on coherence) do not contradict causality order."""
    cause = x.cause
    for read in reads:
        source = x.rf_inverse[read]
        if cause[read] >> source & 1:
            return (source, read, source)
        for write in bits(x.fr[read]):
            if cause[write] >> read & 1:
                return (read, write, read)
    if x.frame.model.version is Version.V7_5:
        for write in writes:
            if cause[write] >> write & 1:
                return (write, write)
            for later in bits(x.co[write]):
                if cause[later] >> write & 1:
                    return (write, later, write)
        for read in reads:
            if cause[read] >> read & 1:
                return (read, read)
    return ()


def fence_sc(x: PtxExecution) -> Violation:
    """Fence-SC order does not contradict causality order.

    Fence-SC order is part of synchronization, so an order that contradicts causality order
    only forbids more: without this axiom no further outcome appears, except where causality
    is a circle whatever the order, as between barriers that wait for each other crosswise.
    """
    for fence, after in enumerate(x.sc):
        for later in bits(after):
            if x.base[later] >> fence & 1:
                return (fence, later, fence)
    return ()


def mbarrier_order(x: PtxExecution) -> Violation:
    """No operation on an mbarrier comes before one that it followed there."""
    for one, other in x.frame.skeleton.ordered:
        if x.base[other] >> one & 1:
            return (one, other, one)
    return ()


def no_thin_air(x: PtxExecution) -> Violation:
    """No value depends on itself."""
    order = [a | b for a, b in zip(x.rf, x.frame.skeleton.dependences, strict=True)]
    return () if is_acyclic(order) else find_cycle(order)


def barriers(x: PtxExecution) -> Violation:
    """No thread passes a barrier by a later event. Source: PTX ISA, "bar", "exit"."""
    skeleton = x.frame.skeleton
    if not skeleton.meetings:
        return ()
    order = union(x.rf, skeleton.dependences, skeleton.held_up)
    return () if is_acyclic(order) else find_cycle(order)


LocationAxiom = Callable[[PtxExecution, Iterable[int], Iterable[int]], Violation]

LOCATION_AXIOMS: Mapping[Axiom, LocationAxiom] = {
    Axiom.COHERENCE: coherence,
    Axiom.ATOMICITY: atomicity,
    Axiom.SC_PER_LOCATION: sc_per_location,
    Axiom.CAUSALITY: causality_axiom,
}
"""The axioms that speak of one location at a time, once causality order is known."""

EXECUTION_AXIOMS: Mapping[Axiom, Callable[[PtxExecution], Violation]] = {
    Axiom.NO_THIN_AIR: no_thin_air,
    Axiom.BARRIERS: barriers,
    Axiom.FENCE_SC: fence_sc,
}
"""The axioms that coherence order plays no part in."""


# Enumeration


@dataclass(frozen=True, slots=True)
class _Location:
    """The events of one location, in the frame of an execution."""

    name: str
    initial: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class DataRace:
    """Two accesses of a location, one a write, which nothing orders and which are not morally
    strong: the thread and the place in its code of each.

    Source: PTX ISA, "Data Races".
    """

    location: str
    first: tuple[int, int]
    second: tuple[int, int]


class Enumeration:
    """All outcomes of one combination of paths."""

    def __init__(self, model: PtxModel, combination: PtxCombination, frame: PtxFrame):
        self.model = model
        self.frame = frame
        self.values = combination.values
        skeleton = frame.skeleton
        self.reads = skeleton.reads
        events = skeleton.events
        self.sources = [self._sources(read) for read in self.reads]
        self.locations = tuple(
            _Location(
                name,
                next(n for n in skeleton.writes if events[n].location == name),
                tuple(n for n in skeleton.reads if events[n].location == name),
                tuple(n for n in skeleton.writes if events[n].location == name),
            )
            for name in skeleton.locations
        )
        self.location_axioms = [LOCATION_AXIOMS[a] for a in LOCATION_AXIOMS if a in model.axioms]

    def _sources(self, read: int) -> list[int]:
        """The writes that a read can take its value from."""
        frame, events = self.frame, self.frame.skeleton.events
        location, value = events[read].location or "", self.values[read]
        candidates = frame.of_location[location] & frame.write_mask
        if Axiom.SC_PER_LOCATION in self.model.axioms:
            candidates &= ~frame.po_loc[read]
        return [write for write in bits(candidates) if self.values[write] == value]

    def executions(self) -> Iterator[PtxExecution]:
        """Every choice of reads-from and Fence-SC order that its own axioms allow."""
        frame, axioms = self.frame, self.model.axioms
        for chosen in product(*self.sources):
            if not frame.work.take():
                return
            rf = [0] * frame.size
            rf_inverse = [0] * frame.size
            for read, write in zip(self.reads, chosen, strict=True):
                rf[write] |= 1 << read
                rf_inverse[read] = write
            x = PtxExecution(frame, rf, rf_inverse)
            if Axiom.NO_THIN_AIR in axioms and no_thin_air(x):
                continue
            if Axiom.BARRIERS in axioms and barriers(x):
                continue
            released = synchronizes(frame, x.obs)
            for sc in frame.fence_sc_orders:
                x.order_fences(released, sc)
                if Axiom.FENCE_SC in axioms and fence_sc(x):
                    continue
                if Axiom.CAUSALITY in axioms and mbarrier_order(x):
                    continue
                yield x

    def final_memories(self) -> set[tuple[int, ...]]:
        """The final values of all locations, in every execution that the axioms allow."""
        possible = 1
        for location in self.locations:
            last = location.writes[1:] or location.writes
            possible *= len({self.values[write] for write in last})
        found: set[tuple[int, ...]] = set()
        for x in self.executions():
            finals: list[set[int]] = []
            for location in self.locations:
                values = self._final_values(x, location)
                if not values:
                    break
                finals.append(values)
            else:
                found.update(product(*finals))
                if len(found) == possible:
                    break
        return found

    def _final_values(self, x: PtxExecution, location: _Location) -> set[int]:
        """The values that ``location`` can end with; none when no coherence order is allowed."""
        if len(location.writes) == 1 and not location.reads:
            return {self.values[location.initial]}
        if not location.reads and self.model.is_whole and self.frame.is_plain:
            # Nobody reads: each write that nothing has to follow may be the last.
            least = self._least_order(x, location)
            if any(least[write] >> write & 1 for write in location.writes):
                return set()
            return {self.values[write] for write in location.writes if not least[write]}
        values: set[int] = set()
        for co in self.coherence_orders(x, location):
            if self.allows(x, location, co):
                values.update(self.values[w] for w in location.writes if not co[w])
        return values

    def races(self, x: PtxExecution) -> Iterator[DataRace]:
        """The data races of an execution."""
        frame, events = self.frame, self.frame.skeleton.events
        writes = set(frame.skeleton.writes)
        accesses = [n for n in (*self.reads, *writes) if events[n].thread >= 0]
        for first, second in product(accesses, accesses):
            one, other = events[first], events[second]
            if one.thread >= other.thread or one.location != other.location:
                continue
            if not {first, second} & writes or frame.ms[first] >> second & 1:
                continue
            if not (x.cause[first] >> second | x.cause[second] >> first) & 1:
                places = (one.thread, one.position), (other.thread, other.position)
                yield DataRace(one.location or "", *places)

    def is_allowed(self, x: PtxExecution) -> bool:
        """True where every location has a coherence order that the axioms allow."""
        return all(
            any(self.allows(x, each, co) for co in self.coherence_orders(x, each))
            for each in self.locations
        )

    def sampled_memories(self, hint: InterleavingHint, random: Random) -> set[tuple[int, ...]]:
        """The final values of all locations in one execution at random, near ``hint``."""
        if not all(self.sources):
            return set()
        for read, sources in zip(self.reads, self.sources, strict=True):
            sources[:] = [hint.chosen(read, sources, random)]
        for x in self.executions():
            finals = [self._sampled_values(x, each, hint, random) for each in self.locations]
            return (
                {tuple(random.choice(sorted(values)) for values in finals)}
                if all(finals)
                else set()
            )
        return set()

    def _sampled_values(
        self, x: PtxExecution, location: _Location, hint: InterleavingHint, random: Random
    ) -> set[int]:
        """The values that ``location`` can end with under the first orders that are tried."""

        def comes_first(a: int, b: int) -> bool:
            return hint.comes_first(a, b, random)

        for co in islice(self.coherence_orders(x, location, comes_first), _MOST_ORDERS):
            if self.allows(x, location, co):
                return {self.values[w] for w in location.writes if not co[w]}
        return set()

    def allows(self, x: PtxExecution, location: _Location, co: Relation) -> bool:
        """True if the axioms hold at ``location`` with the coherence order ``co``."""
        x.order_writes(co, location.reads)
        return not any(axiom(x, location.reads, location.writes) for axiom in self.location_axioms)

    def coherence_orders(
        self,
        x: PtxExecution,
        location: _Location,
        comes_first: Callable[[int, int], bool] | None = None,
    ) -> Iterator[Relation]:
        """The coherence orders: least partial orders that relate every morally strong pair.

        Source: PTX ISA, "Coherence order". Program order is followed at once where
        SC-per-Location would insist on it. ``comes_first`` says which order of a pair
        of writes to try first.
        """
        frame = self.frame
        co = self._least_order(x, location)
        undecided = [
            (a, b)
            for i, a in enumerate(location.writes[1:], 1)
            for b in location.writes[1:i]
            if frame.ms[a] >> b & 1
        ]
        if comes_first is not None:
            undecided = [(a, b) if comes_first(a, b) else (b, a) for a, b in undecided]
        for order in _orient(co, undecided, location.writes):
            if not frame.work.take():
                return
            yield order

    def _least_order(self, x: PtxExecution, location: _Location) -> Relation:
        """The order of the writes of a location that holds in every case, closed."""
        frame = self.frame
        writes = mask_of(location.writes)
        co = [0] * frame.size
        co[location.initial] = writes & ~(1 << location.initial)
        causes = Axiom.COHERENCE in self.model.axioms
        in_order = Axiom.SC_PER_LOCATION in self.model.axioms
        for write in location.writes[1:]:
            if causes:
                co[write] |= x.cause[write] & writes
            if in_order:
                co[write] |= frame.po_loc[write] & frame.ms[write] & writes
        return close(co, location.writes)


def close(co: Relation, writes: tuple[int, ...]) -> Relation:
    """Transitive closure over ``writes`` alone."""
    for through in writes:
        row = co[through]
        for source in writes:
            if co[source] >> through & 1:
                co[source] |= row
    return co


def _orient(
    co: Relation, undecided: list[tuple[int, int]], writes: tuple[int, ...]
) -> Iterator[Relation]:
    """Every transitive extension of ``co`` that orders all ``undecided`` pairs."""
    for position, (a, b) in enumerate(undecided):
        if co[a] >> b & 1 or co[b] >> a & 1:
            continue
        for first, second in ((a, b), (b, a)):
            extended = list(co)
            extended[first] |= 1 << second
            yield from _orient(close(extended, writes), undecided[position + 1 :], writes)
        return
    yield co


def check_version(program: PtxProgram, model: PtxModel) -> None:
    """Raise ``ProgramError`` for a program that the version has no rules for."""
    if model.version is Version.V7_5:
        return
    if program.aliases:
        raise ProgramError("aliases need the model of PTX 7.5")
    for thread in program.threads:
        for each in thread.instructions:
            proxies = {proxy for _, proxy in accesses(each)} - {PtxProxy.GENERIC}
            if proxies or isinstance(each, _OF_PROXIES):
                raise ProgramError("proxies need the model of PTX 7.5")


_OF_PROXIES = (
    ProxyFence | CrossingFence | MapCopy | AsyncCopy | AsyncRelease | CopyArrive | CommitGroup
) | (WaitGroup | TensorCommit | TensorFence | RegisterFence)


def enumerated_outcomes(
    program: PtxProgram, model: PtxModel, bound: int, work: WorkBudget
) -> Outcomes:
    """Every final state, as ``outcomes.outcomes`` has them, by trying all that could be one.

    As far as ``work`` goes.
    """
    candidates = PtxCandidates(program, bound, Axiom.NO_THIN_AIR not in model.axioms, work)
    observed = observables_of(candidates)
    registers = [each for each in observed if isinstance(each, Register)]
    frames: dict[int, PtxFrame] = {}
    found = FinalStates()
    for combination in candidates:
        prefix = tuple(combination.registers[r.thread].get(r.name, 0) for r in registers)
        for skeleton in combination.skeletons:
            frame = _frame(frames, skeleton, model, work)
            memories = Enumeration(model, combination, frame).final_memories()
            found.add((prefix + memory for memory in memories), combination.waits)
    return found.outcomes(observed, candidates.complete and not work.is_spent)


def data_races(
    program: PtxProgram, model: PtxModel, bound: int, work: WorkBudget
) -> tuple[set[DataRace], bool]:
    """The data races of the executions that the axioms allow, and whether those are all."""
    candidates = PtxCandidates(program, bound, Axiom.NO_THIN_AIR not in model.axioms, work)
    frames: dict[int, PtxFrame] = {}
    found: set[DataRace] = set()
    for combination in candidates:
        for skeleton in combination.skeletons:
            search = Enumeration(model, combination, _frame(frames, skeleton, model, work))
            for x in search.executions():
                races = set(search.races(x)) - found
                if races and search.is_allowed(x):
                    found |= races
    return found, candidates.complete and not work.is_spent


_MOST_ORDERS = 32
"""The number of coherence orders of a location that a random walk tries."""


def sampled_outcomes(
    program: PtxProgram,
    model: PtxModel | None = None,
    bound: int = 1,
    walks: int = 1,
    seed: int = 0,
) -> Outcomes:
    """The final states of ``walks`` random executions that the model allows; never complete.

    Of a walk that the model forbids nothing comes. Raises ``ProgramError`` as ``outcomes`` does.
    """
    chosen = PtxModel() if model is None else model
    check_version(program, chosen)
    random = Random(seed)
    source = PtxWalks(program, bound)
    observed = observables_of(source)
    registers = [each for each in observed if isinstance(each, Register)]
    found = FinalStates()
    for _ in range(walks):
        walk = source.walk(random)
        if walk is None:
            continue
        combination = walk.combination
        prefix = tuple(combination.registers[r.thread].get(r.name, 0) for r in registers)
        frame = PtxFrame(combination.skeletons[0], chosen, random=random)
        memories = Enumeration(chosen, combination, frame).sampled_memories(walk.hint, random)
        found.add((prefix + memory for memory in memories), combination.waits)
    return found.outcomes(observed, complete=False)


def _frame(
    frames: dict[int, PtxFrame], skeleton: PtxSkeleton, model: PtxModel, work: WorkBudget
) -> PtxFrame:
    frame = frames.get(id(skeleton))
    if frame is None:
        frame = frames[id(skeleton)] = PtxFrame(skeleton, model, work)
    return frame


def observables_of(candidates: PtxCandidates | PtxWalks) -> tuple[Observable, ...]:
    """The observables of outcomes: registers by thread, then locations."""
    registers = {
        Register(number, name)
        for number, names in enumerate(candidates.registers)
        for name in names
    }
    locations = [Memory(name) for name, _ in candidates.initial]
    return (*sorted(registers, key=observable_order), *locations)


# Witnesses


@dataclass(frozen=True, slots=True)
class PtxWitness:
    """One execution with a given final state, and the axioms against it.

    ``relations`` has po, rf, co, fr, sync, cause and sc as pairs of event numbers (po and
    cause transitively closed), ``values`` what each event read or wrote, ``violations`` the
    axioms that it breaks, each with the events of the cycle: none in an allowed execution.
    """

    events: tuple[PtxEvent, ...]
    values: tuple[int, ...]
    relations: Mapping[str, tuple[tuple[int, int], ...]]
    state: Mapping[Observable, int | None]
    violations: tuple[tuple[Axiom, Violation], ...]

    @property
    def allowed(self) -> bool:
        """True if no axiom forbids it."""
        return not self.violations


def enumerated_witness(
    program: PtxProgram,
    formula: Formula,
    model: PtxModel,
    bound: int,
    work: WorkBudget,
    dropped: Iterable[Axiom] = (),
) -> PtxWitness | None:
    """An execution that ``model`` allows, with its violations of the ``dropped`` axioms.

    By trying all that could be one, as far as ``work`` goes.
    """
    candidates = PtxCandidates(program, bound, Axiom.NO_THIN_AIR not in model.axioms, work)
    named = formula.observables()
    frames: dict[int, PtxFrame] = {}
    for combination in candidates:
        registers = final_registers(combination.registers)
        if any(registers.get(each, 0) is None for each in named):
            continue
        for skeleton in combination.skeletons:
            search = Enumeration(model, combination, _frame(frames, skeleton, model, work))
            for x in search.executions():
                for state in _complete(search, x, registers):
                    if formula.holds(state):
                        values = search.values
                        return witness_of(x, values, state, _violations(search, x, dropped))
    return None


def final_registers(
    threads: Iterable[Mapping[str, int | None]],
) -> dict[Observable, int | None]:
    """The registers of the threads that are the program's own."""
    return {
        Register(thread, name): value
        for thread, values in enumerate(threads)
        for name, value in values.items()
        if used_too_early(name) is None
    }


def _complete(
    search: Enumeration, x: PtxExecution, registers: Mapping[Observable, int | None]
) -> Iterator[dict[Observable, int | None]]:
    """The final states of ``x``; while one is looked at, ``x`` has its coherence order."""
    orders: list[list[Relation]] = []
    for location in search.locations:
        allowed = (
            co for co in search.coherence_orders(x, location) if search.allows(x, location, co)
        )
        orders.append(list(allowed))
    for chosen in product(*orders):
        co = union([0] * search.frame.size, *chosen)
        lasts = (
            {search.values[write] for write in location.writes if not co[write]}
            for location in search.locations
        )
        x.order_writes(co, search.reads)
        names = (*registers, *(Memory(location.name) for location in search.locations))
        for memory in product(*lasts):
            yield dict(zip(names, (*registers.values(), *memory), strict=True))


def _violations(
    search: Enumeration, x: PtxExecution, dropped: Iterable[Axiom]
) -> tuple[tuple[Axiom, Violation], ...]:
    """The violations of the ``dropped`` axioms by an execution."""
    violations: list[tuple[Axiom, Violation]] = []
    for axiom in dropped:
        check = EXECUTION_AXIOMS.get(axiom)
        found = (
            (LOCATION_AXIOMS[axiom](x, each.reads, each.writes) for each in search.locations)
            if check is None
            else (check(x),)
        )
        violation = next(filter(None, found), ())
        if axiom is Axiom.CAUSALITY and not violation:
            violation = mbarrier_order(x)
        if violation:
            violations.append((axiom, violation))
    return tuple(violations)


def witness_of(
    x: PtxExecution,
    values: tuple[int, ...],
    state: Mapping[Observable, int | None],
    violations: tuple[tuple[Axiom, Violation], ...] = (),
) -> PtxWitness:
    """An execution with its orders, as a witness."""
    skeleton = x.frame.skeleton
    relations = {
        "po": skeleton.po,
        "rf": x.rf,
        "co": x.co,
        "fr": x.fr,
        "sync": x.sync,
        "cause": x.cause,
        "sc": x.sc,
    }
    return PtxWitness(
        skeleton.events,
        values,
        {name: tuple(pairs(relation)) for name, relation in relations.items()},
        state,
        violations,
    )
