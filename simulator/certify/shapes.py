"""Litmus tests built from one operation, wherever it can stand.

A test is a program of the source language with a *focus*: one operation of the kind that is
examined. Its other operations are the plainest partners that the shape needs. Shapes have
their usual names (MP, LB, S, SB, R, 2+2W, WRC, ISA2, IRIW, CoRR, ...; herd7's diy); ``f`` and
``g`` are flags, ``x`` and ``y`` data.

Data is weak and read only after a test of the flag, as C++ wants it, or relaxed and read at
once: the test of a flag waits for its value, and would hide a missing wait. What has a data
race is no test; ``certificate`` leaves it out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.ptx.chip import PtxForm, default_version, forms_of
from fencewright.lowering.sequence import Request, Target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    FastStrEnum,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.certify.programs.code import Place
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    MemoryKind,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedOperation,
    ScopedProgram,
    Store,
)

GLOBAL, LOCAL, GENERIC = AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC
RELAXED, ACQUIRE, RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
SEQ_CST = Ordering.SEQ_CST


@dataclass(frozen=True, slots=True)
class ShapeTest:
    """A source program, the place of its focus, and the locations with generic pointers.

    ``progress``: it has a spin loop, and what is asked is whether every execution ends.
    """

    name: str
    program: ScopedProgram
    focus: Place
    generic: frozenset[str] = frozenset()
    progress: bool = False


# Placement of threads


class Distance(FastStrEnum):
    """The distance of two threads; the first nine are of AMD's chips, the others PTX's.

    Where work-groups come in clusters, those on two CUs or two XCDs are of one cluster or of two.
    """

    ONE_WAVE = "one wave"
    ONE_CU = "one CU"
    SPLIT = "one work-group on two CUs"
    TWO_GROUPS = "two work-groups on one CU"
    TWO_CUS = "two CUs"
    TWO_XCDS = "two XCDs"
    TWO_AGENTS = "two agents"
    TWO_CLUSTERS = "two clusters of one XCD"
    FAR_CLUSTERS = "two clusters of two XCDs"
    ONE_CTA = "one CTA"
    ONE_CLUSTER = "one cluster"
    ONE_GPU = "one GPU"
    TWO_GPUS = "two GPUs"


_PLACE: dict[Distance, Callable[[int], Placement]] = {
    Distance.ONE_CU: lambda n: Placement(),
    Distance.SPLIT: lambda n: Placement(cu=n),
    Distance.TWO_GROUPS: lambda n: Placement(workgroup=n),
    Distance.TWO_CUS: lambda n: Placement(workgroup=n, cu=n),
    Distance.TWO_XCDS: lambda n: Placement(workgroup=n, xcd=n),
    Distance.TWO_AGENTS: lambda n: Placement(workgroup=n, agent=n),
    Distance.TWO_CLUSTERS: lambda n: Placement(workgroup=n, cu=n, cluster=n),
    Distance.FAR_CLUSTERS: lambda n: Placement(workgroup=n, xcd=n, cluster=n),
    Distance.ONE_CTA: lambda n: Placement(),
    Distance.ONE_CLUSTER: lambda n: Placement(workgroup=n),
    Distance.ONE_GPU: lambda n: Placement(workgroup=n, cluster=n),
    Distance.TWO_GPUS: lambda n: Placement(workgroup=n, cluster=n, agent=n),
}
"""The place of the n-th thread at a distance from thread 0."""

_GROUP = (Distance.ONE_CU, Distance.SPLIT, Distance.ONE_CTA)
"""Distances within a work-group."""

_NARROW = (Scope.SINGLETHREAD, Scope.WAVEFRONT)


def distances(mode: Target, scope: Scope) -> tuple[Distance, ...]:
    """The distances that threads of one ``scope`` can have, farthest first."""
    if scope in _NARROW:
        return ()
    found = _ptx_distances(mode) if mode.is_ptx else _cdna_distances(mode)
    return tuple(distance for narrowest, distance in found if scope.includes(narrowest))


def _cdna_distances(mode: Target) -> list[tuple[Scope, Distance]]:
    chip = CHIPS[mode.chip]
    many = chip.l2_per_agent is mode.l2_per_agent is L2PerAgent.MANY
    split = "tgsplit" in mode.features
    far = [(Scope.CLUSTER, Distance.TWO_XCDS)] if many else []
    if chip.clusters:
        far = [(Scope.AGENT, Distance.FAR_CLUSTERS)] if many else []
        far.append((Scope.AGENT, Distance.TWO_CLUSTERS))
    return [
        (Scope.SYSTEM, Distance.TWO_AGENTS),
        *far,
        (Scope.CLUSTER, Distance.TWO_CUS),
        *([(Scope.WORKGROUP, Distance.SPLIT)] if split else []),
        (Scope.WORKGROUP, Distance.ONE_CU),
    ]


def splits_counters(mode: Target) -> bool:
    """True if an AMD chip counts loads, stores and LDS apart, and has barriers in two parts."""
    return not mode.is_ptx and CHIPS[mode.chip].splits_counters


def has_clusters(mode: Target) -> bool:
    """True if work-groups of an AMD chip come in clusters."""
    return CHIPS[mode.chip].clusters


def _ptx_distances(mode: Target) -> list[tuple[Scope, Distance]]:
    clusters = PtxForm.CLUSTER in ptx_forms(mode)
    return [
        (Scope.SYSTEM, Distance.TWO_GPUS),
        (Scope.AGENT, Distance.ONE_GPU),
        *([(Scope.CLUSTER, Distance.ONE_CLUSTER)] if clusters else []),
        (Scope.WORKGROUP, Distance.ONE_CTA),
    ]


def ptx_forms(mode: Target) -> frozenset[PtxForm]:
    """The PTX forms that a mode has."""
    from fencewright.lowering.ptx.select import chip_named

    chip = chip_named(mode.chip)
    return forms_of(chip, mode.ptx_version or default_version(chip))


@cache
def memory_kinds(target: str) -> tuple[MemoryKind, MemoryKind]:
    """The memory that several agents of a target share: of weak data, and of atomics.

    Without an instruction that writes back or invalidates an L2, agents can share uncached
    (fine-grained) memory alone. Without scope bits, stores stop at the L2 and atomics stay in it,
    so that what agents synchronise on is uncached. All other memory is NONLOCAL, on PTX too.
    """
    chip = CHIPS.get(target)
    return (
        MemoryKind.NONLOCAL if chip is None or chip.l2_maintenance else MemoryKind.UNCACHED,
        MemoryKind.NONLOCAL if chip is None or chip.scope_bits else MemoryKind.UNCACHED,
    )


# Building a test


@dataclass(frozen=True, slots=True)
class Focus:
    """Marks the instruction that is examined."""

    operation: ScopedOperation


Step = ScopedInstruction | Focus
Steps = tuple[Step, ...]


@dataclass(slots=True)
class _ShapeWriter:
    """Turns steps into tests of one mode."""

    mode: Target
    spaces: dict[str, AddressSpace] = field(default_factory=dict[str, AddressSpace])
    generic: frozenset[str] = frozenset()

    def test(
        self, name: str, observed: str, *threads: tuple[Placement, Steps], progress: bool = False
    ) -> ShapeTest:
        """A test; ``observed`` is like ``0:r0 1:r1 x``."""
        made: list[Thread[ScopedInstruction]] = []
        focus: Place | None = None
        for number, (placement, steps) in enumerate(threads):
            code: list[ScopedInstruction] = []
            for step in steps:
                if isinstance(step, Focus):
                    focus = (number, len(code))
                    step = step.operation
                code.append(step)
            made.append(Thread(placement, tuple(code)))
        assert focus is not None, name
        program = Program(tuple(self.locations(made)), tuple(made), _observables(observed))
        generic = self.generic.intersection(each.name for each in program.locations)
        return ShapeTest(name, program, focus, generic, progress)

    def locations(self, threads: list[Thread[ScopedInstruction]]) -> Iterator[Location]:
        atomic: dict[str, bool] = {}
        for thread in threads:
            for each in thread.instructions:
                if isinstance(each, _ACCESSES):
                    weak = each.ordering is Ordering.WEAK
                    atomic[each.location] = atomic.get(each.location, False) or not weak
        agents = len({thread.placement.agent for thread in threads}) > 1
        kinds = memory_kinds(self.mode.chip)
        for name in sorted(atomic):
            kind = kinds[atomic[name]] if agents else MemoryKind.NONLOCAL
            yield _location(name, kind, self.spaces.get(name, GLOBAL))


_ACCESSES = (Load, Store, AtomicRmw, Cmpxchg)


@cache
def _location(name: str, kind: MemoryKind, space: AddressSpace) -> Location:
    return Location(name, 0, kind, space)


@cache
def _observables(text: str) -> tuple[Observable, ...]:
    return tuple(map(_observable, text.split()))


def _observable(text: str) -> Observable:
    thread, _, name = text.rpartition(":")
    return Register(int(thread), name) if thread else Memory(name)


# Roles of the focus in a test


@dataclass(frozen=True, slots=True)
class _Roles:
    """The operation of a request, in each part that it can play."""

    request: Request

    @property
    def scope(self) -> Scope:
        return self.request.scope

    @property
    def op(self) -> Operation:
        return self.request.op

    @property
    def releases(self) -> bool:
        return self.request.ordering.releases

    @property
    def acquires(self) -> bool:
        failure = self.request.failure_ordering
        return self.request.ordering.acquires or (failure is not None and failure.acquires)

    @property
    def propagates(self) -> bool:
        """True if it releases the writes that it acquired itself: a fence of both kinds."""
        full = self.request.availability is Availability.FULL
        return self.op is Operation.FENCE and self.releases and self.acquires and full

    @property
    def is_seq_cst(self) -> bool:
        return SEQ_CST in (self.request.ordering, self.request.failure_ordering)

    @property
    def writes(self) -> bool:
        return self.op in (Operation.STORE, Operation.ATOMIC_RMW, Operation.CMPXCHG)

    @property
    def reads(self) -> bool:
        returns = self.op is Operation.LOAD or self.request.returns
        return returns and self.op in (Operation.LOAD, Operation.ATOMIC_RMW, Operation.CMPXCHG)

    def _focus(self, made: ScopedOperation) -> Focus:
        """With the restrictions of the request on the operation."""
        r = self.request
        if r.spaces is None and not r.one_as and r.availability is Availability.FULL:
            return Focus(made)
        return Focus(replace(made, spaces=r.spaces, one_as=r.one_as, availability=r.availability))

    def fence(self) -> Focus:
        return self._focus(Fence(self.request.ordering, self.scope))

    def barrier(self) -> Focus:
        return self._focus(Barrier(self.scope, self.request.ordering))

    def write(self, location: str, value: int, dst: str = "old") -> Steps:
        """Writes ``value``; a compare-exchange expects 0 there."""
        r = self.request
        result = dst if r.returns else None
        match self.op:
            case Operation.STORE:
                made = Store(location, value, r.ordering, _scope(r), r.volatile)
            case Operation.ATOMIC_RMW:
                made = AtomicRmw(r.kind, location, value, r.ordering, r.scope, result)
            case Operation.CMPXCHG:
                failure = r.failure_ordering or RELAXED
                made = Cmpxchg(location, 0, value, r.ordering, failure, r.scope, result)
            case _:
                return (self.fence(), Store(location, value, RELAXED, r.scope))
        return (self._focus(made),)

    def read(self, location: str, dst: str, compare: int = 1) -> Steps:
        """Reads; a read-modify-write leaves 2 there, a compare-exchange where ``compare`` was."""
        r = self.request
        match self.op:
            case Operation.LOAD:
                made = Load(dst, location, r.ordering, _scope(r), r.volatile)
            case Operation.ATOMIC_RMW:
                made = AtomicRmw(r.kind, location, 2, r.ordering, r.scope, dst)
            case Operation.CMPXCHG:
                failure = r.failure_ordering or RELAXED
                made = Cmpxchg(location, compare, 2, r.ordering, failure, r.scope, dst)
            case _:
                return (Load(dst, location, RELAXED, r.scope), self.fence())
        return (self._focus(made),)

    def reading(self) -> list[tuple[str, int]]:
        """The ways in which it reads: a compare-exchange succeeds or fails."""
        if self.op is not Operation.CMPXCHG:
            return [("", 1)]
        ways: list[tuple[str, int]] = []
        if self.request.ordering.acquires:
            ways.append(("", 1))
        if self.request.failure_ordering is not RELAXED:
            ways.append(("-fails", 3))
        return ways


def _scope(request: Request) -> Scope | None:
    return None if request.ordering is Ordering.WEAK else request.scope


# Data


@dataclass(frozen=True, slots=True)
class _Data:
    """The access to data: the space, and weak after a test of the flag or relaxed at once."""

    name: str
    space: AddressSpace
    scope: Scope | None
    flat: bool = False

    def store(self, location: str, value: int) -> Store:
        return _store(location, value, self.scope)

    def load(self, dst: str, location: str) -> Load:
        return _load(dst, location, self.scope)

    def guarded(self, flag: str, *steps: Step) -> Steps:
        """``steps``, executed only when ``flag`` is set."""
        if self.scope is not None:
            return steps
        return (_unless(flag), *steps, _END)


# Tests have the same accesses to data again and again.


@cache
def _store(location: str, value: int, scope: Scope | None) -> Store:
    return Store(location, value, Ordering.WEAK if scope is None else RELAXED, scope)


@cache
def _load(dst: str, location: str, scope: Scope | None) -> Load:
    return Load(dst, location, Ordering.WEAK if scope is None else RELAXED, scope)


@cache
def _unless(flag: str) -> Branch:
    return Branch("end", flag, unless=True)


_END = Label("end")

WEAK_DATA = _Data("", GLOBAL, None)


def _data(mode: Target, distance: Distance, scope: Scope) -> list[_Data]:
    found = [WEAK_DATA, _Data("+relaxed", GLOBAL, scope)]
    if distance in _GROUP and "tgsplit" not in mode.features and distance is not Distance.SPLIT:
        found += [_Data("+lds", LOCAL, None), _Data("+lds-relaxed", LOCAL, Scope.WORKGROUP)]
        if not mode.is_ptx:
            found.append(_Data("+flat-lds-relaxed", LOCAL, Scope.WORKGROUP, flat=True))
    return found


@cache
def _publish(flag: str, scope: Scope, availability: Availability = Availability.FULL) -> Steps:
    return (Store(flag, 1, RELEASE, scope, availability=availability),)


@cache
def _observe(flag: str, dst: str, scope: Scope) -> Steps:
    return (Load(dst, flag, ACQUIRE, scope),)


# The tests of an operation


def shape_tests(request: Request, mode: Target) -> tuple[ShapeTest, ...]:
    """Every test for the operation of ``request``, those that find most first.

    Only operations that threads share memory by: weak, nontemporal, private and constant
    accesses are data, hints or nobody else's, and have none.
    """
    return tuple(_shape_tests(_Roles(request), mode))


def _shape_tests(roles: _Roles, mode: Target) -> Iterator[ShapeTest]:
    if roles.op is Operation.BARRIER:
        yield from _barriers(roles, mode)
        return
    for flag_name, spaces, generic in _flags(roles.request, mode):
        in_lds = spaces["f"] is LOCAL
        here = distances(mode, roles.scope)
        if in_lds:
            here = tuple(d for d in here if d in (Distance.ONE_CU, Distance.ONE_CTA))
        writer = _ShapeWriter(mode, spaces, generic)
        for distance in here:
            tag = f"{flag_name}, {distance}"
            if roles.releases or roles.acquires:
                yield from _two_threads(roles, mode, writer, distance, tag)
            if roles.is_seq_cst:
                yield from _sequential(roles, mode, writer, distance, tag)
        if here and not mode.is_ptx and roles.op is not Operation.FENCE:
            for distance in here:
                yield from _progress(roles, writer, distance, f"{flag_name}, {distance}")
        if roles.op is Operation.FENCE and roles.scope in _NARROW:
            own: Steps = (Store("f", 1), roles.fence(), Load("r0", "f"))
            tag = f"{flag_name}, {Distance.ONE_WAVE}"
            yield writer.test(f"CoWR own {tag}", "0:r0 f", (Placement(), own))
        if roles.op is not Operation.FENCE:
            for distance in here or (Distance.ONE_WAVE,):
                tag = f"{flag_name}, {distance}"
                yield from _coherence(roles, writer, distance, tag)
        if here and (roles.releases or roles.acquires):
            yield from _chains(roles, mode, writer, flag_name, in_lds)
        if here and not in_lds:
            yield from _mixed_scopes(roles, mode, writer, flag_name)


_Flag = tuple[str, dict[str, AddressSpace], frozenset[str]]


def _flags(request: Request, mode: Target) -> list[_Flag]:
    """The possible spaces of the location of the focus."""
    in_global: _Flag = ("global", {"f": GLOBAL}, frozenset())
    in_lds: _Flag = ("LDS", {"f": LOCAL, "x": GLOBAL}, frozenset())
    has_lds = "tgsplit" not in mode.features
    match request.space:
        case AddressSpace.GLOBAL:
            return [in_global]
        case AddressSpace.LOCAL:
            return [in_lds] if has_lds else []
        case AddressSpace.GENERIC:
            flat = frozenset({"f", "g"})
            found: list[_Flag] = [("generic", in_global[1], flat)]
            if has_lds:
                found.append(("generic LDS", in_lds[1], flat))
            return found
        case None:
            return [in_global, in_lds] if has_lds else [in_global]
        case _:
            return []


def _with(writer: _ShapeWriter, flat: bool = False, **spaces: AddressSpace) -> _ShapeWriter:
    """A writer with more locations placed; ``flat``: x has a generic pointer."""
    generic = writer.generic | {"x"} if flat else writer.generic
    return _ShapeWriter(writer.mode, {**writer.spaces, **spaces}, generic)


def _two_threads(
    roles: _Roles, mode: Target, writer: _ShapeWriter, distance: Distance, tag: str
) -> Iterator[ShapeTest]:
    """MP, LB and S, with the focus on either side, over every kind of data."""
    here, there = _PLACE[distance](0), _PLACE[distance](1)
    for data in _data(mode, distance, roles.scope):
        w = _with(writer, data.flat, x=data.space)
        name = f"{tag}{data.name}"
        if roles.releases and roles.op is not Operation.LOAD:
            publish = roles.write("f", 1)
            observe = _observe("f", "r0", roles.scope)
            yield from _passing(w, name, "release", data, here, there, publish, observe)
        if roles.acquires and (roles.reads or roles.op is Operation.FENCE):
            publish = _publish("f", roles.scope)
            for how, compare in roles.reading():
                observe = roles.read("f", "r0", compare)
                side = f"acquire{how}"
                yield from _passing(w, name, side, data, here, there, publish, observe)
        if roles.acquires and roles.op is Operation.FENCE and splits_counters(mode):
            unused = AtomicRmw(RmwKind.ADD, "f", 2, RELAXED, roles.scope)
            code: Steps = (unused, roles.fence())
            yield _passing_unused(w, f"after unused {name}", data, here, there, roles.scope, code)
        if roles.acquires and roles.op is Operation.ATOMIC_RMW and not roles.request.returns:
            code = roles.write("f", 2)
            yield _passing_unused(w, f"unused {name}", data, here, there, roles.scope, code)
    if distance in _GROUP or not splits_counters(mode):
        return
    if roles.acquires and roles.op is Operation.ATOMIC_RMW and not roles.request.returns:
        yield _told_by_a_mate(writer, tag, here, there, roles.scope, roles.write("f", 2))


def _told_by_a_mate(
    writer: _ShapeWriter, tag: str, here: Placement, there: Placement, scope: Scope, acquire: Steps
) -> ShapeTest:
    """MP where the acquirer learns in LDS, from another wave, that its unused atomic came second.

    The load of the flag that shows it otherwise is in order with the invalidate, and hides that
    nobody waited for it.
    """
    mate: Steps = (
        Load("r2", "f", RELAXED, scope),
        Arithmetic(ArithmeticKind.SUB, "before", "r2", 3),
        Branch("end", "before"),
        Store("g", 1, RELAXED, Scope.WORKGROUP),
        Label("end"),
    )
    flag = Load("r0", "g", RELAXED, Scope.WORKGROUP)
    return _with(writer, g=LOCAL, x=GLOBAL).test(
        f"MP acquire unused {tag}, told in LDS",
        "1:r0 1:r1",
        (there, (Store("x", 1), AtomicRmw(RmwKind.XCHG, "f", 1, RELEASE, scope))),
        (here, (*acquire, flag, *WEAK_DATA.guarded("r0", Load("r1", "x")))),
        (here, mate),
    )


def _passing_unused(
    w: _ShapeWriter,
    name: str,
    data: _Data,
    here: Placement,
    there: Placement,
    scope: Scope,
    acquire: Steps,
) -> ShapeTest:
    """MP where the acquire is, or comes after, an atomic whose old value is not used.

    The order of the two atomics shows in the flag, which is read after ``acquire``.
    """
    first = AtomicRmw(RmwKind.XCHG, "f", 1, RELEASE, scope)
    seen: Steps = (Load("r0", "f", RELAXED, scope), data.load("r1", "x"))
    if data.scope is None:
        seen = (
            seen[0],
            Arithmetic(ArithmeticKind.SUB, "before", "r0", 3),
            Branch("end", "before"),
            seen[1],
            Label("end"),
        )
    return w.test(
        f"MP acquire {name}",
        "1:r0 1:r1",
        (here, (data.store("x", 1), first)),
        (there, (*acquire, *seen)),
    )


def _passing(
    w: _ShapeWriter,
    name: str,
    side: str,
    data: _Data,
    here: Placement,
    there: Placement,
    publish: Steps,
    observe: Steps,
) -> Iterator[ShapeTest]:
    one, two = data.store("x", 1), data.store("x", 2)
    for shape, observed, before, after in (
        ("MP", "1:r0 1:r1", one, data.load("r1", "x")),
        ("LB", "0:r1 1:r0", data.load("r1", "x"), one),
        ("S", "1:r0 x", two, one),
    ):
        seen = (*observe, *data.guarded("r0", after))
        threads = (here, (before, *publish)), (there, seen)
        yield w.test(f"{shape} {side} {name}", observed, *threads)


def _sequential(
    roles: _Roles, mode: Target, writer: _ShapeWriter, distance: Distance, tag: str
) -> Iterator[ShapeTest]:
    """SB, R, 2+2W and IRIW, where all are seq_cst."""
    here, there = _PLACE[distance](0), _PLACE[distance](1)
    scope = roles.scope
    others = [("", GLOBAL, False)]
    if distance in (Distance.ONE_CU, Distance.ONE_CTA) and "tgsplit" not in mode.features:
        others.append(("+lds", LOCAL, False))
        if not mode.is_ptx:
            others.append(("+flat-lds", LOCAL, True))

    def store(location: str, value: int) -> Store:
        return Store(location, value, SEQ_CST, scope)

    def load(dst: str, location: str) -> Load:
        return Load(dst, location, SEQ_CST, scope)

    for suffix, other, flat in others:
        w = _with(writer, flat, x=other)
        name = f"{tag}{suffix}"

        def two(
            what: str,
            observed: str,
            first: Steps,
            second: Steps,
            w: _ShapeWriter = w,
            on: str = name,
        ) -> ShapeTest:
            return w.test(f"{what} {on}", observed, (here, first), (there, second))

        if roles.op is Operation.FENCE:
            fence, mine = Fence(SEQ_CST, scope), roles.fence()
            write = Store("x", 1, RELAXED, scope), Store("f", 1, RELAXED, scope)
            read = Load("r0", "f", RELAXED, scope), Load("r0", "x", RELAXED, scope)
            later = Store("f", 2, RELAXED, scope)
            yield two("SB", "0:r0 1:r0", (write[0], mine, read[0]), (write[1], fence, read[1]))
            yield two("R", "1:r0 f", (write[0], mine, write[1]), (later, fence, read[1]))
            yield two("R second", "1:r0 f", (write[0], fence, write[1]), (later, mine, read[1]))
            continue
        if roles.reads:
            for how, compare in roles.reading():
                first = (store("x", 1), *roles.read("f", "r0", compare))
                yield two(f"SB read{how}", "0:r0 1:r0", first, (store("f", 1), load("r0", "x")))
        if roles.writes:
            own = roles.write("f", 1)
            yield two(
                "SB write", "0:r0 1:r0", (*own, load("r0", "x")), (store("x", 1), load("r0", "f"))
            )
            first = (store("x", 1), *roles.write("f", 2))
            yield two("2+2W", "f x", first, (store("f", 1), store("x", 2)))
            yield two("R", "1:r0 f", (store("x", 1), *own), (store("f", 2), load("r0", "x")))
    yield from _ring(roles, mode, writer, distance, tag)
    if distance in _GROUP:
        return
    places = [_PLACE[distance](n) for n in range(4)]
    writes = Store("f", 1, RELAXED, scope), Store("x", 1, RELAXED, scope)
    if roles.op is Operation.LOAD:
        second: Steps = (load("r0", "x"), *roles.read("f", "r1"))
        first: Steps = (load("r0", "f"), load("r1", "x"))
        writes = store("f", 1), store("x", 1)
    elif roles.op is Operation.FENCE:
        first = (
            Load("r0", "f", RELAXED, scope),
            Fence(SEQ_CST, scope),
            Load("r1", "x", RELAXED, scope),
        )
        second = (Load("r0", "x", RELAXED, scope), roles.fence(), Load("r1", "f", RELAXED, scope))
    else:
        return
    yield writer.test(
        f"IRIW {tag}",
        "2:r0 2:r1 3:r0 3:r1",
        (places[0], (writes[0],)),
        (places[1], (writes[1],)),
        (places[2], first),
        (places[3], second),
    )


def _ring(
    roles: _Roles, mode: Target, writer: _ShapeWriter, distance: Distance, tag: str
) -> Iterator[ShapeTest]:
    """SB among three, the third of them farther away than the flag of the focus reaches."""
    in_lds = writer.spaces["f"] is LOCAL
    if roles.op is Operation.FENCE or not (in_lds or roles.scope is Scope.WORKGROUP):
        return
    wide, (far, *_) = Scope.AGENT, distances(mode, Scope.AGENT)
    here, near, third = _PLACE[distance](0), _PLACE[distance](1), _PLACE[far](2)
    w = _with(writer, x=GLOBAL, y=GLOBAL)

    def store(location: str, scope: Scope = wide) -> Store:
        return Store(location, 1, SEQ_CST, scope)

    def load(location: str, scope: Scope = wide) -> Load:
        return Load("r0", location, SEQ_CST, scope)

    ways: list[tuple[str, Steps, Steps]] = []
    if roles.reads:
        (how, compare), *_ = roles.reading()
        ways.append((f"read{how}", roles.read("f", "r0", compare), (store("f", roles.scope),)))
    if roles.writes:
        ways.append(("write", (load("f", roles.scope),), roles.write("f", 1)))
    for name, read, write in ways:
        yield w.test(
            f"SB3 {name} {tag}, then agent {far}",
            "0:r0 1:r0 2:r0",
            (here, (store("x"), *read)),
            (near, (*write, load("y"))),
            (third, (store("y"), load("x"))),
        )


def _progress(
    roles: _Roles, writer: _ShapeWriter, distance: Distance, tag: str
) -> Iterator[ShapeTest]:
    """A flag is set, another thread spins until it sees it."""
    here, there = _PLACE[distance](0), _PLACE[distance](1)
    scope = roles.scope
    if roles.request.ordering is Ordering.WEAK:
        return

    def spin(*steps: Step) -> Steps:
        return (Label("spin"), *steps, Branch("spin", "r0", unless=True))

    if roles.writes:
        yield writer.test(
            f"spin on the write {tag}",
            "f",
            (here, roles.write("f", 1)),
            (there, spin(Load("r0", "f", RELAXED, scope))),
            progress=True,
        )
    if roles.reads:
        yield writer.test(
            f"spin on the read {tag}",
            "f",
            (here, (Store("f", 1, RELAXED, scope),)),
            (there, spin(*roles.read("f", "r0"))),
            progress=True,
        )


def _coherence(
    roles: _Roles, writer: _ShapeWriter, distance: Distance, tag: str
) -> Iterator[ShapeTest]:
    """CoRR, CoWW, CoRW, CoWR, and the atomicity of read-modify-writes and locks."""
    scope = roles.scope
    alone = distance is Distance.ONE_WAVE
    here = Placement() if alone else _PLACE[distance](0)
    there = Placement() if alone else _PLACE[distance](1)
    weak = roles.request.ordering is Ordering.WEAK
    ordering, plain = (Ordering.WEAK, None) if weak else (RELAXED, scope)

    def store(value: int) -> Store:
        return Store("f", value, ordering, plain)

    def load(dst: str) -> Load:
        return Load(dst, "f", ordering, plain)

    def two(name: str, observed: str, first: Steps, second: Steps) -> Iterator[ShapeTest]:
        if not alone and not weak:
            yield writer.test(f"{name} {tag}", observed, (here, first), (there, second))

    def one(name: str, observed: str, code: Steps) -> Iterator[ShapeTest]:
        yield writer.test(f"{name} {tag}", observed, (here, code))

    if roles.reads:
        read = roles.read("f", "r1")
        rmw = roles.op is not Operation.LOAD
        yield from one("CoWR own", "0:r1 f", (store(1), *read))
        yield from one("CoRW own", "0:r1 f", (*read, store(1)))
        yield from two("CoRR", "1:r0 1:r1 f", (store(1),), (load("r0"), *read))
        if not rmw:
            yield from two("CoRR first", "1:r1 1:r0 f", (store(1),), (*read, load("r0")))
        yield from two("CoRW", "1:r1 f", (store(1),), (*read, store(3)))
        yield from two("CoWR", "1:r1 f", (store(1),), (store(3), *read))
    if roles.writes:
        write = roles.write("f", 1)
        yield from one("CoWW own", "f", (*write, store(2)))
        yield from one("CoWR own write", "0:r0 f", (*write, load("r0")))
        yield from two("CoWW", "1:r0 1:r1 f", (*write, store(2)), (load("r0"), load("r1")))
        yield from two("CoWW second", "1:r0 1:r1 f", (store(2), *write), (load("r0"), load("r1")))
        yield from two("CoRW write", "0:r0 f", (load("r0"), *write), (store(2),))
        yield from two("CoWR write", "0:r0 f", (*write, load("r0")), (store(2),))
    if roles.op in (Operation.ATOMIC_RMW, Operation.CMPXCHG):
        result = "0:old " if roles.request.returns else ""
        add = AtomicRmw(RmwKind.ADD, "f", 4, RELAXED, scope, "r1")
        swap = Cmpxchg("f", 0, 3, RELAXED, RELAXED, scope, "r1")
        for name, other in (("add", add), ("cas", swap)):
            yield from two(f"atomicity-{name}", f"{result}1:r1 f", roles.write("f", 1), (other,))
    if not alone and not weak:
        yield from _locks(roles, writer, here, there, tag)


def _locks(
    roles: _Roles, writer: _ShapeWriter, here: Placement, there: Placement, tag: str
) -> Iterator[ShapeTest]:
    """Two threads count up under a lock that they try once."""
    scope = roles.scope

    def locked(take: Steps, give: Steps) -> Steps:
        return (
            *take,
            Branch("end", "taken"),
            Load("old", "x"),
            Arithmetic(ArithmeticKind.ADD, "new", "old", 1),
            Store("x", "new"),
            *give,
            Label("end"),
        )

    take = Cmpxchg("f", 0, 1, ACQUIRE, ACQUIRE, scope, "taken")
    give = Store("f", 0, RELEASE, scope)
    plain = locked((take,), (give,))
    observed = "0:taken 1:taken x f"
    if roles.acquires and roles.op is Operation.ATOMIC_RMW and roles.request.returns:
        mine = locked(roles.write("f", 1, "taken"), (give,))
        yield writer.test(f"lock {tag}", observed, (here, plain), (there, mine))
    if roles.request.ordering.acquires and roles.op is Operation.CMPXCHG and roles.reads:
        mine = locked(roles.write("f", 1, "taken"), (give,))
        yield writer.test(f"lock {tag}", observed, (here, plain), (there, mine))
    if roles.releases and roles.op in (Operation.STORE, Operation.ATOMIC_RMW):
        mine = locked((take,), roles.write("f", 0, "gave"))
        yield writer.test(f"unlock {tag}", observed, (here, mine), (there, plain))


# Three threads


def _hops(mode: Target, roles: _Roles, in_lds: bool) -> Iterator[tuple[Scope, Distance, str]]:
    """The scopes that another synchronisation in a chain can have, with a distance for each."""
    wanted = [Scope.WORKGROUP, roles.scope]
    if roles.scope in (Scope.WORKGROUP, Scope.CLUSTER) or in_lds:
        wanted.append(Scope.AGENT)
    if roles.scope is not Scope.SYSTEM:
        wanted.append(Scope.SYSTEM)
    seen: set[tuple[Scope, Distance]] = set()
    for scope in wanted:
        for distance in distances(mode, scope)[:1]:
            if (scope, distance) not in seen:
                seen.add((scope, distance))
                yield scope, distance, str(scope)


def _chains(
    roles: _Roles, mode: Target, writer: _ShapeWriter, flag_name: str, in_lds: bool
) -> Iterator[ShapeTest]:
    """WRC and ISA2: happens-before through three threads, of one scope and of two.

    The focus is the first release, the middle's acquire or release, or the last acquire; the
    flag of the focus is ``f``, the other one ``g``.
    """
    mine = distances(mode, roles.scope)
    if in_lds:
        mine = tuple(d for d in mine if d in (Distance.ONE_CU, Distance.ONE_CTA))
    near = list(dict.fromkeys((*mine[:1], *mine[-1:])))
    middle = Placement()
    for own in near:
        for scope, distance, word in _hops(mode, roles, in_lds):
            if distance is own and scope is not roles.scope:
                continue
            tag = f"{flag_name}, {own}, then {word} {distance}"
            out = _PLACE[own](1), _PLACE[distance](2)
            back = _PLACE[distance](1), _PLACE[own](2)
            wide = max(scope, roles.scope, key=lambda each: each.rank)
            relaxed = _Data("+relaxed", GLOBAL, wide)
            kinds = [(WEAK_DATA, Availability.FULL), (relaxed, Availability.FULL)]
            if not mode.is_ptx and scope is not roles.scope:
                kinds.append((relaxed, Availability.NONE))
            for data, availability in kinds:
                w = _with(writer, x=GLOBAL, g=GLOBAL)
                limited = "" if availability is Availability.FULL else "+av(none)"
                name = f"{tag}{data.name}{limited}"
                chain = _Chain(w, name, data)
                to_f, to_g = _publish("f", roles.scope), _publish("g", scope)
                pass_on = data.guarded("r0", *_publish("g", scope, availability))
                if roles.releases and roles.op is not Operation.LOAD:
                    write, seen = roles.write("f", 1), _observe("f", "r0", roles.scope)
                    yield chain.test(
                        "first", out, write, (*seen, *pass_on), _observe("g", "r1", scope)
                    )
                    relay = (*_observe("g", "r0", scope), *data.guarded("r0", *write))
                    seen = _observe("f", "r1", roles.scope)
                    yield chain.test("middle release", back, to_g, relay, seen)
                if roles.acquires and (roles.reads or roles.op is Operation.FENCE):
                    (how, compare), *_ = roles.reading() or [("", 1)]
                    relay = (*_observe("g", "r0", scope), *data.guarded("r0", *to_f))
                    seen = roles.read("f", "r1", compare)
                    yield chain.test(f"last{how}", back, to_g, relay, seen)
                    relay = (*roles.read("f", "r0", compare), *pass_on)
                    seen = _observe("g", "r1", scope)
                    yield chain.test(f"middle acquire{how}", out, to_f, relay, seen)
                if roles.propagates and scope.rank <= roles.scope.rank:
                    relay = _relay(roles, data, ("g", scope), ("f", roles.scope))
                    seen = _observe("f", "r1", roles.scope)
                    yield chain.test("middle learns", back, to_g, relay, seen)
                    relay = _relay(roles, data, ("f", roles.scope), ("g", scope))
                    seen = _observe("g", "r1", scope)
                    yield chain.test("middle tells", out, to_f, relay, seen)
            if roles.releases and roles.op is not Operation.LOAD and scope is roles.scope:
                w = _with(writer, x=GLOBAL)
                yield w.test(
                    f"WRC {tag}",
                    "1:r0 2:r1 2:r2",
                    (_PLACE[own](1), (Store("x", 1, RELAXED, wide),)),
                    (middle, (Load("r0", "x", RELAXED, wide), *roles.write("f", 1))),
                    (_PLACE[own](2), (*_observe("f", "r1", scope), Load("r2", "x", RELAXED, wide))),
                )


@dataclass(frozen=True, slots=True)
class _Chain:
    """ISA2 over data: published to the thread in the middle, and by it to the last one."""

    writer: _ShapeWriter
    name: str
    data: _Data

    def test(
        self, what: str, ends: tuple[Placement, Placement], publish: Steps, relay: Steps, see: Steps
    ) -> ShapeTest:
        """The test with the first and the last thread at ``ends``."""
        read = self.data.guarded("r1", self.data.load("r2", "x"))
        return self.writer.test(
            f"ISA2 {what} {self.name}",
            "1:r0 2:r1 2:r2",
            (ends[0], (self.data.store("x", 1), *publish)),
            (Placement(), relay),
            (ends[1], (*see, *read)),
        )


def _relay(
    roles: _Roles, data: _Data, learns: tuple[str, Scope], signals: tuple[str, Scope]
) -> Steps:
    """Read a flag, fence before its value is there, write the other flag if it was set."""
    signal = data.guarded("r0", Store(signals[0], 1, RELAXED, signals[1]))
    return (Load("r0", learns[0], RELAXED, learns[1]), roles.fence(), *signal)


# Two scopes at one location


def _mixed_scopes(
    roles: _Roles, mode: Target, writer: _ShapeWriter, flag_name: str
) -> Iterator[ShapeTest]:
    """WRC, RWC, ISA2 and IRIW where a thread reads narrowly a near thread's wide write.

    What the two share may have the value before anybody farther away can see it. The focus is the
    narrow read, or at the wide scope the write, the release, the acquire or the fence.
    """
    for narrow, wide in _scope_pairs(mode):
        if roles.scope not in (narrow, wide):
            continue
        (far, *_) = distances(mode, wide)
        near = distances(mode, narrow)
        for distance in dict.fromkeys((near[0], near[-1])):
            tag = f"{flag_name}, {narrow} {distance} of {wide} {far}"
            mixed = _MixedScopes(writer, tag, narrow, wide, distance, far)
            yield from mixed.at_narrow(roles) if roles.scope is narrow else mixed.at_wide(roles)


def _scope_pairs(mode: Target) -> Iterator[tuple[Scope, Scope]]:
    """A scope and a wider one, where the wider one reaches farther."""
    scopes = [scope for scope in Scope if distances(mode, scope)]
    for narrow in scopes:
        for wide in scopes:
            if (
                wide.rank > narrow.rank
                and distances(mode, wide)[0] is not distances(mode, narrow)[0]
            ):
                yield narrow, wide


@dataclass(frozen=True, slots=True)
class _MixedScopes:
    """A writer at ``wide``, a reader at ``narrow`` beside it, and others that are ``far`` away."""

    writer: _ShapeWriter
    tag: str
    narrow: Scope
    wide: Scope
    near: Distance
    far: Distance

    def at_narrow(self, roles: _Roles) -> Iterator[ShapeTest]:
        """The focus is the read."""
        if not roles.reads:
            return
        (how, compare), *_ = roles.reading() or [("", 1)]
        read = roles.read("f", "r0", compare)
        write = (Store("f", 1, RELAXED, self.wide),)
        # A narrow write races with a far read that nothing orders after it.
        last = self.load_if_seen("f") if roles.writes else (self.load("f"),)
        for word, release in self.releases():
            yield self.wrc(f"read{how}{word}", write, (*read, *release), self.acquire("g"), last)
        if roles.writes:
            return
        fence = Fence(SEQ_CST, self.wide)
        yield self.rwc("read", "f", (*read, fence, Load("r1", "g", RELAXED, self.wide)), fence)
        yield self.isa2(read)
        yield self.iriw(read, fence)

    def at_wide(self, roles: _Roles) -> Iterator[ShapeTest]:
        """The focus is the write, or orders it."""
        read = Load("r0", "x", RELAXED, self.narrow)
        write, last = (Store("x", 1, RELAXED, self.wide),), (self.load("x"),)
        if roles.writes:
            first: Steps = (Load("r0", "f", RELAXED, self.narrow), *_publish("g", self.wide))
            yield self.wrc(
                "write", roles.write("f", 1), first, self.acquire("g"), (self.load("f"),)
            )
        if roles.releases and roles.op is not Operation.LOAD:
            release = (read, *roles.write("f", 1))
            yield self.wrc("release", write, release, self.acquire("f"), last)
        if roles.acquires and (roles.reads or roles.op is Operation.FENCE):
            (how, compare), *_ = roles.reading() or [("", 1)]
            acquire = roles.read("f", "r1", compare)
            release = (read, *_publish("f", self.wide))
            yield self.wrc(f"acquire{how}", write, release, acquire, last)
        if roles.op is Operation.FENCE and roles.is_seq_cst:
            there = Load("r1", "g", RELAXED, self.wide)
            fence = Fence(SEQ_CST, self.wide)
            yield self.rwc("first", "x", (read, roles.fence(), there), fence)
            yield self.rwc("second", "x", (read, fence, there), roles.fence())

    def releases(self) -> Iterator[tuple[str, Steps]]:
        """The ways to release to ``g``."""
        wide = self.wide
        yield "", _publish("g", wide)
        yield ", fence", (Fence(RELEASE, wide), Store("g", 1, RELAXED, wide))
        yield ", rmw", (AtomicRmw(RmwKind.XCHG, "g", 1, RELEASE, wide),)

    def acquire(self, flag: str) -> Steps:
        return _observe(flag, "r1", self.wide)

    def load(self, location: str) -> Load:
        return Load("r2", location, RELAXED, self.wide)

    def load_if_seen(self, location: str) -> Steps:
        """A load that only an acquire which has seen the flag leads to."""
        return Branch("end", "r1", unless=True), self.load(location), Label("end")

    def wrc(self, what: str, write: Steps, relay: Steps, acquire: Steps, last: Steps) -> ShapeTest:
        return self.placed().test(
            f"WRC mixed {what} {self.tag}",
            "1:r0 2:r1 2:r2",
            (_PLACE[self.near](1), write),
            (_PLACE[self.near](0), relay),
            (_PLACE[self.far](2), (*acquire, *last)),
        )

    def rwc(self, what: str, written: str, relay: Steps, fence: Step) -> ShapeTest:
        third: Steps = (Store("g", 1, RELAXED, self.wide), fence, self.load(written))
        return self.placed().test(
            f"RWC mixed {what} {self.tag}",
            "1:r0 1:r1 2:r2",
            (_PLACE[self.near](1), (Store(written, 1, RELAXED, self.wide),)),
            (_PLACE[self.near](0), relay),
            (_PLACE[self.far](2), third),
        )

    def isa2(self, read: Steps) -> ShapeTest:
        """The reader signals another one near it, which releases widely."""
        relay: Steps = (*_observe("g", "r0", self.narrow), *_publish("h", self.wide))
        return _with(self.placed(), h=GLOBAL).test(
            f"ISA2 mixed read {self.tag}",
            "1:r0 2:r0 3:r1 3:r2",
            (_PLACE[self.near](1), (Store("f", 1, RELAXED, self.wide),)),
            (_PLACE[self.near](0), (*read, *_publish("g", self.narrow))),
            (_PLACE[self.near](1), relay),
            (_PLACE[self.far](2), (*self.acquire("h"), self.load("f"))),
        )

    def iriw(self, read: Steps, fence: Fence) -> ShapeTest:
        """Each reader is beside the writer of the value that it reads first, narrowly."""
        wide, narrow = self.wide, self.narrow
        there = _PLACE[self.far](2)
        other: Steps = (Load("r0", "g", RELAXED, narrow), fence, Load("r1", "f", RELAXED, wide))
        return self.placed().test(
            f"IRIW mixed read {self.tag}",
            "2:r0 2:r1 3:r0 3:r1",
            (_PLACE[self.near](1), (Store("f", 1, RELAXED, wide),)),
            (there, (Store("g", 1, RELAXED, wide),)),
            (_PLACE[self.near](0), (*read, fence, Load("r1", "g", RELAXED, wide))),
            (there, other),
        )

    def placed(self) -> _ShapeWriter:
        """The writer with the other locations in memory."""
        return _with(self.writer, g=GLOBAL, x=GLOBAL)


# Barriers


def _barriers(roles: _Roles, mode: Target) -> Iterator[ShapeTest]:
    """MP, LB and S through a barrier, with fences around a relaxed one, and chains across it."""
    scope = roles.scope
    relaxed = roles.request.ordering is RELAXED
    before: Steps = (Fence(RELEASE, scope),) if relaxed else ()
    after: Steps = (Fence(ACQUIRE, scope),) if relaxed else ()
    mine: Steps = (*before, roles.barrier(), *after)
    theirs: Steps = (*before, Barrier(scope, roles.request.ordering), *after)
    for distance in distances(mode, scope):
        here, there = _PLACE[distance](0), _PLACE[distance](1)
        for data in _data(mode, distance, scope):
            w = _with(_ShapeWriter(mode), data.flat, x=data.space)
            tag = f"{distance}{data.name}"
            load, store = data.load("r0", "x"), data.store("x", 1)
            shapes = (
                ("MP first", "1:r0", (store, *mine), (*theirs, load)),
                ("MP second", "1:r0", (store, *theirs), (*mine, load)),
                ("LB first", "0:r0", (load, *mine), (*theirs, store)),
                ("LB second", "0:r0", (load, *theirs), (*mine, store)),
                ("S first", "x", (data.store("x", 2), *mine), (*theirs, store)),
                ("S second", "x", (data.store("x", 2), *theirs), (*mine, store)),
            )
            for name, observed, first, second in shapes:
                yield w.test(f"{name} {tag}", observed, (here, first), (there, second))
            if splits_counters(mode):
                yield from _split_barriers(w, tag, distance, data, mine, theirs)
        for wide in (Scope.AGENT, Scope.SYSTEM):
            (far, *_) = distances(mode, wide)
            if far is distance:
                continue
            w = _ShapeWriter(mode)
            tag = f"{distance}, then {wide} {far}"
            publish = Store("f", 1, RELEASE, wide)
            observe = Load("r0", "f", ACQUIRE, wide)
            skip: Steps = (Branch("end", "r0", unless=True), Load("r1", "x"), Label("end"))
            passing = replace(publish, availability=Availability.NONE)
            atomic = Store("x", 1, RELAXED, wide), Load("r1", "x", RELAXED, wide)
            for name, a, b in (("first", mine, theirs), ("second", theirs, mine)):
                yield w.test(
                    f"ISA2 publish {name} {tag}",
                    "2:r0 2:r1",
                    (there, (Store("x", 1), *a)),
                    (here, (*b, publish)),
                    (_PLACE[far](2), (observe, *skip)),
                )
                if not mode.is_ptx:
                    yield w.test(
                        f"ISA2 publish {name} {tag}+av(none)",
                        "2:r0 2:r1",
                        (there, (atomic[0], *a)),
                        (here, (*b, passing)),
                        (_PLACE[far](2), (observe, atomic[1])),
                    )
                yield w.test(
                    f"ISA2 observe {name} {tag}",
                    "1:r0 2:r1",
                    (_PLACE[far](2), (atomic[0], publish)),
                    (here, (observe, *a)),
                    (there, (*b, atomic[1])),
                )


def _split_barriers(
    w: _ShapeWriter, tag: str, distance: Distance, data: _Data, mine: Steps, theirs: Steps
) -> Iterator[ShapeTest]:
    """That no thread waits for ever, and that a work-group of two is not taken for two."""
    here, there = _PLACE[distance](0), _PLACE[distance](1)
    store, load = data.store("x", 1), data.load("r0", "x")
    yield w.test(
        f"ends {tag}", "1:r0", (here, (store, *mine)), (there, (*theirs, load)), progress=True
    )
    if distance not in _GROUP:
        yield w.test(
            f"MP three {tag}",
            "2:r0",
            (there, (store, *theirs)),
            (here, mine),
            (here, (*theirs, load)),
        )


# Operations to certify


def operations(mode: Target) -> tuple[Request, ...]:
    """Every operation that is certified in ``mode``, once.

    Read-modify-writes are exchanges, and additions where the old value is unused: the rows
    do not distinguish kinds, and the final value of the location shows what they came after.
    Barriers of one wave have nobody to wait for, and are left out.
    """
    found: list[Request] = []
    spaces = (GLOBAL, GENERIC) if "tgsplit" in mode.features else (GLOBAL, LOCAL, GENERIC)
    if mode.is_ptx:
        spaces = (GLOBAL, LOCAL)
    for scope in reversed(Scope):
        for space in spaces:
            found += _accesses(scope, space)
            if mode.is_ptx:
                found += _volatile(scope, space)
        found += _fences(scope)
        if not mode.is_ptx and scope in (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM):
            found += [v for each in found if each.scope is scope for v in _variants(each, mode)]
        widest = Scope.CLUSTER if mode.is_ptx or has_clusters(mode) else Scope.WORKGROUP
        if scope not in _NARROW and widest.includes(scope):
            found += [
                Request(Operation.BARRIER, ordering, scope, None)
                for ordering in (Ordering.ACQ_REL, RELAXED)
            ]
    return tuple(replace(each, target=mode) for each in found)


def _fences(scope: Scope) -> Iterable[Request]:
    for ordering in (ACQUIRE, RELEASE, Ordering.ACQ_REL, SEQ_CST):
        yield Request(Operation.FENCE, ordering, scope, None)


def _volatile(scope: Scope, space: AddressSpace) -> Iterable[Request]:
    """Atomic accesses that are volatile, for which PTX has sequences of their own."""
    for ordering in (RELAXED, ACQUIRE, SEQ_CST):
        yield Request(Operation.LOAD, ordering, scope, space, volatile=True)
    for ordering in (RELAXED, RELEASE, SEQ_CST):
        yield Request(Operation.STORE, ordering, scope, space, volatile=True)


def _variants(request: Request, mode: Target) -> Iterable[Request]:
    """The restrictions of an operation: fences to address spaces, any as one-as or av(none)."""
    if request.op is Operation.CMPXCHG or request.ordering is RELAXED or not request.returns:
        return
    if request.op is Operation.FENCE:
        yield replace(request, spaces=frozenset({GLOBAL}))
        if "tgsplit" not in mode.features:
            yield replace(request, spaces=frozenset({LOCAL}))
    yield replace(request, one_as=True)
    yield replace(request, availability=Availability.NONE)


def _accesses(scope: Scope, space: AddressSpace) -> Iterable[Request]:
    for ordering in (RELAXED, ACQUIRE, SEQ_CST):
        yield Request(Operation.LOAD, ordering, scope, space)
    for ordering in (RELAXED, RELEASE, SEQ_CST):
        yield Request(Operation.STORE, ordering, scope, space)
    for returns in (True, False):
        for ordering in (RELAXED, ACQUIRE, RELEASE, Ordering.ACQ_REL, SEQ_CST):
            yield Request(
                Operation.ATOMIC_RMW,
                ordering,
                scope,
                space,
                returns=returns,
                kind=RmwKind.XCHG if returns else RmwKind.ADD,
            )
    for ordering, failure in (
        (RELAXED, RELAXED),
        (ACQUIRE, RELAXED),
        (RELAXED, ACQUIRE),
        (RELEASE, RELAXED),
        (RELEASE, ACQUIRE),
        (Ordering.ACQ_REL, ACQUIRE),
        (SEQ_CST, SEQ_CST),
    ):
        yield Request(Operation.CMPXCHG, ordering, scope, space, failure_ordering=failure)
