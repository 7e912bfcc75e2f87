"""Single-point mutants of PTX programs: how much a set of tests would notice.

A mutant drops one fence, takes the acquire or the release from one operation, narrows one scope
to cta, or restricts one fence to shared memory (``.sync_restrict``). Four things can notice it,
each seeing more than the one before (``Notice``): the verdict of the test's condition, its whole
outcome set, its outcome set when the threads are placed elsewhere, and the mutated thread by itself
among partners (``partners``).

What none of them notices is either *equivalent*, in that no program with this thread shows a
difference (``equivalence`` says why), or *missed*.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import permutations, product

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.bit_relation import transitive_closure
from fencewright.simulator.core.condition import Outcomes, Register
from fencewright.simulator.core.program import (
    Arithmetic,
    Branch,
    Computation,
    Label,
    Move,
    Placement,
    Thread,
)
from fencewright.simulator.ptx.events import (
    Atom,
    BarrierRole,
    ClusterBarrier,
    CompareBranch,
    Ld,
    MbarrierArrive,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    St,
    operands,
    variables,
)
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.instructions import (
    CrossingFence,
    InitFence,
    RegisterFence,
    Restriction,
    TensorFence,
)
from fencewright.simulator.ptx.model import PtxModel
from fencewright.simulator.ptx.outcomes import outcomes


class MutationKind(Enum):
    """The change in a mutant."""

    DROP_FENCE = "drop fence"
    DROP_ACQUIRE = "acquire to relaxed"
    DROP_RELEASE = "release to relaxed"
    NARROW_SCOPE = "scope to cta"
    RESTRICT_FENCE = "fence to shared memory"


@dataclass(frozen=True, slots=True)
class ProgramMutant:
    """A changed program: its change, in one instruction of one thread."""

    kind: MutationKind
    thread: int
    position: int
    program: PtxProgram


_WITHOUT_ACQUIRE = {Ordering.ACQUIRE: Ordering.RELAXED, Ordering.ACQ_REL: Ordering.RELEASE}
_WITHOUT_RELEASE = {Ordering.RELEASE: Ordering.RELAXED, Ordering.ACQ_REL: Ordering.ACQUIRE}
_RESTRICTIONS = {each.ordering: each for each in Restriction}
_ORDERED = Ld | St | Atom | ClusterBarrier | MbarrierArrive | MbarrierWait
_SCOPED = Ld | St | Atom | PtxFence | MbarrierArrive | MbarrierWait
_FENCES = PtxFence | ProxyFence | CrossingFence | InitFence | RegisterFence | TensorFence


def _changed(instruction: PtxInstruction) -> Iterator[tuple[MutationKind, PtxInstruction | None]]:
    """The possible changes of one instruction; None takes it out."""
    if isinstance(instruction, _FENCES):
        yield MutationKind.DROP_FENCE, None
    if isinstance(instruction, PtxFence):
        yield from _restricted(instruction)
    if isinstance(instruction, _ORDERED):
        ordering = instruction.ordering
        is_wait = isinstance(instruction, ClusterBarrier) and ordering is Ordering.ACQUIRE
        if ordering in _WITHOUT_ACQUIRE and not is_wait:
            weaker = replace(instruction, ordering=_WITHOUT_ACQUIRE[ordering])
            yield MutationKind.DROP_ACQUIRE, weaker
        if ordering in _WITHOUT_RELEASE:
            weaker = replace(instruction, ordering=_WITHOUT_RELEASE[ordering])
            yield MutationKind.DROP_RELEASE, weaker
    if isinstance(instruction, _SCOPED) and instruction.scope not in (None, Scope.WORKGROUP):
        narrow = replace(instruction, scope=Scope.WORKGROUP)
        if not (isinstance(narrow, PtxFence) and narrow.problem):
            yield MutationKind.NARROW_SCOPE, narrow


def bare(program: PtxProgram) -> PtxProgram:
    """The program without fences, and with every ordered access relaxed; barriers stay."""
    return replace(program, threads=tuple(map(_bare_thread, program.threads)))


def _bare_thread(thread: Thread[PtxInstruction]) -> Thread[PtxInstruction]:
    code = (each for each in thread.instructions if not isinstance(each, PtxFence))
    relaxed = (
        replace(each, ordering=Ordering.RELAXED)
        if isinstance(each, Ld | St | Atom) and each.ordering is not Ordering.WEAK
        else each
        for each in code
    )
    return replace(thread, instructions=tuple(relaxed))


def _restricted(fence: PtxFence) -> Iterator[tuple[MutationKind, PtxFence]]:
    """The fence of shared memory alone, where there is one that orders less."""
    restriction = _RESTRICTIONS.get(fence.ordering)
    if fence.scope is Scope.CLUSTER and fence.restriction is None and restriction is not None:
        yield MutationKind.RESTRICT_FENCE, replace(fence, restriction=restriction)


def mutants(program: PtxProgram) -> Iterator[ProgramMutant]:
    """Every single-point mutant of ``program``."""
    for number, thread in enumerate(program.threads):
        for position, instruction in enumerate(thread.instructions):
            for kind, changed in _changed(instruction):
                middle = () if changed is None else (changed,)
                code = (
                    *thread.instructions[:position],
                    *middle,
                    *thread.instructions[position + 1 :],
                )
                threads = list(program.threads)
                threads[number] = replace(thread, instructions=code)
                mutated = replace(program, threads=tuple(threads))
                yield ProgramMutant(kind, number, position, mutated)


# Other places for the threads of a test


def placements(program: PtxProgram) -> Iterator[tuple[Placement, ...]]:
    """All threads in one CTA; each in a CTA of its own, in a cluster or not; on GPUs apart."""
    count = range(len(program.threads))
    yield tuple(Placement(cluster=None) for _ in count)
    yield tuple(Placement(number) for number in count)
    yield tuple(Placement(number, cluster=None) for number in count)
    yield tuple(Placement(number, agent=number, cluster=None) for number in count)


def placed(program: PtxProgram, places: Iterable[Placement]) -> PtxProgram:
    """``program`` with its threads at ``places``."""
    threads = zip(program.threads, places, strict=True)
    return replace(
        program, threads=tuple(replace(thread, placement=place) for thread, place in threads)
    )


# A thread among partners

_FIRST, _SECOND = 101, 102
"""Values that partners write; tests of the corpora use small ones."""
_FRESH = "fresh"
"""A location that only partners know."""
_FURTHEST = Scope.SYSTEM


def partners(thread: Thread[PtxInstruction]) -> Iterator[tuple[Thread[PtxInstruction], ...]]:
    """The threads that a thread is put among, those that find most mutants first.

    First every partner of two operations on the thread's locations, each an acquiring load or
    a releasing store at system scope, with a ``fence.sc`` between them or none, in the same
    CTA, another CTA, another GPU. Then chains: one partner publishes data that another reads,
    through the thread alone, near on one side and far on the other. Last, two operations of
    one partner while another overwrites a location.
    """
    locations = sorted({*variables(thread.instructions)})
    places = _places(thread.placement)
    fence = PtxFence(Ordering.SEQ_CST, _FURTHEST)
    awaited = sorted(_awaited(thread.instructions))
    pairs = tuple(
        pair
        for value in (_FIRST, *awaited)
        for pair in product(
            _operations(locations, "r0", value), _operations(locations, "r1", _SECOND)
        )
    )
    for between, place in product(((fence,), ()), places):
        for first, second in pairs:
            yield (Thread(place, (first, *between, second)),)
    for (source, publish), (sink, observe) in _chained(places):
        for written, read, value in product(locations, locations, (_FIRST, *awaited)):
            release = St(written, value, Ordering.RELEASE, publish)
            acquire = Ld("r0", read, Ordering.ACQUIRE, observe)
            yield (
                Thread(source, (St(_FRESH, 1), release)),
                Thread(sink, (acquire, Ld("r1", _FRESH))),
            )
    for place, (first, second), location, value in product(
        places[1:], pairs, locations, (_SECOND, *awaited)
    ):
        overwrite = St(location, value, Ordering.RELAXED, _FURTHEST)
        yield Thread(place, (first, second)), Thread(place, (overwrite,))


_Placed = tuple[Placement, Scope]


def _chained(places: tuple[Placement, ...]) -> Iterator[tuple[_Placed, _Placed]]:
    """The ends of a chain, with scopes that reach the thread in its middle."""
    near, *far = places
    yield from permutations(((near, Scope.WORKGROUP), *((each, _FURTHEST) for each in far)), 2)


def _places(here: Placement) -> tuple[Placement, ...]:
    """The same CTA, another CTA of the cluster if there is one, another CTA, another GPU."""
    cta = here.workgroup + 100
    cluster = () if here.cluster is None else (replace(here, workgroup=cta),)
    alone = replace(here, workgroup=cta, cluster=None)
    return (here, *cluster, alone, replace(alone, agent=here.agent + 100))


def _awaited(code: Iterable[PtxInstruction]) -> frozenset[int]:
    """The constants that a thread compares its reads with."""
    compared = (
        value
        for each in code
        for value in (
            (each.compare,)
            if isinstance(each, Atom)
            else operands(each)
            if isinstance(each, Branch | CompareBranch)
            else ()
        )
    )
    return frozenset(value for value in compared if isinstance(value, int))


def _operations(locations: Iterable[str], register: str, value: int) -> Iterator[PtxInstruction]:
    for location in locations:
        yield Ld(register, location, Ordering.ACQUIRE, _FURTHEST)
        yield St(location, value, Ordering.RELEASE, _FURTHEST)


def among(
    program: PtxProgram, thread: int, others: tuple[Thread[PtxInstruction], ...]
) -> PtxProgram:
    """One thread of ``program`` together with ``others`` in place of the other threads."""
    registers = {Register(0, r): n for r, n in program.registers_of(thread).items()}
    return replace(program, threads=(program.threads[thread], *others), registers=registers)


# Equivalent mutants

_NEUTRAL = Move | Arithmetic | Computation | Branch | CompareBranch | Label


def equivalence(program: PtxProgram, mutant: ProgramMutant) -> str:
    """The reason that no program with this thread distinguishes ``mutant``; "" if one may.

    Ordering is between what is before and what is after an operation in its thread. A fence
    with nothing on one side orders nothing: a ``fence.sc`` is then first or last in Fence-SC
    order without loss. One that is not seq_cst takes part in a pattern only with a strong
    read before it or a strong write after it (PTX ISA, "Release and Acquire Patterns"). A
    release with nothing before it, and an acquire with nothing after it but loads of its own
    location, say what coherence says anyway. The scope of a load is for what it begins: an
    acquire pattern, and observation by later accesses of its location. Fences of shared memory
    alone do all this for the objects that they are about.
    """
    code = program.threads[mutant.thread].instructions
    before, after = _around(code, mutant.position)
    objects = _Objects(program, program.threads[mutant.thread].placement)
    instruction = code[mutant.position]
    match instruction, mutant.kind:
        case PtxFence(), MutationKind.RESTRICT_FENCE if objects.are_all(
            replace(instruction, restriction=_RESTRICTIONS[instruction.ordering]), before, after
        ):
            return "a fence of shared memory in any case"
        case PtxFence(), (
            MutationKind.DROP_FENCE | MutationKind.NARROW_SCOPE | MutationKind.RESTRICT_FENCE
        ):
            return _useless_fence(instruction, before, after, objects)
        case St() | MbarrierArrive() | ClusterBarrier(), MutationKind.DROP_RELEASE if not before:
            return "a release with nothing before it"
        case Ld(), MutationKind.DROP_ACQUIRE if _only_loads_of(instruction.location, after):
            return "an acquire with nothing after it but loads of its location"
        case Atom(), MutationKind.DROP_ACQUIRE if not (after or instruction.ordering.releases):
            return "an acquire with nothing after it"
        case Ld(), MutationKind.NARROW_SCOPE if _begins_nothing(instruction, after, objects):
            return "the scope of a load that begins nothing"
        case _:
            return ""


def _around(
    code: tuple[PtxInstruction, ...], position: int
) -> tuple[tuple[PtxInstruction, ...], tuple[PtxInstruction, ...]]:
    """The instructions that can be executed before an instruction, and after it."""
    labels = {each.name: at for at, each in enumerate(code) if isinstance(each, Label)}
    reach = [0] * len(code)
    for at, each in enumerate(code):
        goes_on = not isinstance(each, Branch) or each.condition is not None
        if goes_on and at + 1 < len(code):
            reach[at] |= 1 << at + 1
        if isinstance(each, Branch | CompareBranch):
            reach[at] |= 1 << labels[each.target]
    reach = transitive_closure(reach)
    before = (code[at] for at, row in enumerate(reach) if row >> position & 1)
    after = (code[at] for at in bits(reach[position]))
    return _effective(before), _effective(after)


def _effective(code: Iterable[PtxInstruction]) -> tuple[PtxInstruction, ...]:
    return tuple(each for each in code if not isinstance(each, _NEUTRAL))


def _only_loads_of(location: str, code: Iterable[PtxInstruction]) -> bool:
    return all(isinstance(each, Ld) and each.location == location for each in code)


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of a program in the shared memory of a thread that runs at ``here``."""

    program: PtxProgram
    here: Placement

    def include(self, instruction: PtxInstruction, reach: Scope) -> bool:
        """True if an instruction accesses shared memory of the CTA, or of the cluster."""
        homes = self.program.shared
        found = (homes.get(self.program.physical(each)) for each in variables((instruction,)))
        return any(home is not None and self.here.shares(home, reach) for home in found)

    def may_signal(self, fence: PtxFence, instruction: PtxInstruction) -> bool:
        """True if ``fence`` may synchronise through an instruction."""
        if fence.restriction is None or isinstance(instruction, MbarrierArrive | MbarrierWait):
            return True
        return self.include(instruction, Scope.CLUSTER)

    def may_order(self, fence: PtxFence, code: Iterable[PtxInstruction]) -> bool:
        """True where ``fence`` may order anything in ``code``, which is all that is on one side of
        it."""
        restriction = fence.restriction
        return restriction is None or any(
            not _is_unordered(each) or self.include(each, restriction.reach) for each in code
        )

    def are_all(
        self, fence: PtxFence, before: tuple[PtxInstruction, ...], after: tuple[PtxInstruction, ...]
    ) -> bool:
        """True if a restricted fence orders as much as a whole one, through as much."""
        restriction = fence.restriction
        releases = fence.ordering.releases
        ordered, signals = (before, after) if releases else (after, before)
        is_signal = _is_strong_write if releases else _is_strong_read
        return (
            restriction is not None
            and all(_is_unordered(e) and self.include(e, restriction.reach) for e in ordered)
            and all(self.may_signal(fence, each) for each in signals if is_signal(each))
        )


def _is_unordered(instruction: PtxInstruction) -> bool:
    """True if an instruction is an access that neither acquires nor releases."""
    return isinstance(instruction, Ld | St) and instruction.ordering in (
        Ordering.WEAK,
        Ordering.RELAXED,
    )


def _begins_nothing(load: Ld, after: tuple[PtxInstruction, ...], objects: _Objects) -> bool:
    if load.ordering.acquires:
        return not after
    return not any(
        each.ordering.acquires
        and objects.may_signal(each, load)
        and objects.may_order(each, (other for other in after if other is not each))
        if isinstance(each, PtxFence)
        else load.location in variables((each,))
        for each in after
    )


def _useless_fence(
    fence: PtxFence,
    before: tuple[PtxInstruction, ...],
    after: tuple[PtxInstruction, ...],
    objects: _Objects,
) -> str:
    if not before:
        return "a fence with nothing before it"
    if not after:
        return "a fence with nothing after it"
    if fence.ordering is Ordering.SEQ_CST:
        return ""
    acquires = fence.ordering.acquires and any(
        _is_strong_read(each) and objects.may_signal(fence, each) for each in before
    )
    releases = fence.ordering.releases and any(
        _is_strong_write(each) and objects.may_signal(fence, each) for each in after
    )
    if not (acquires or releases):
        return "a fence in no pattern"
    ordered = before if fence.ordering.releases else after
    return "" if objects.may_order(fence, ordered) else "a fence that orders nothing on that side"


def _is_strong_read(instruction: PtxInstruction) -> bool:
    match instruction:
        case Ld():
            return instruction.scope is not None
        case Atom():
            return instruction.dst is not None
        case ClusterBarrier():
            return instruction.role is not BarrierRole.ARRIVE
        case _:
            return isinstance(instruction, MbarrierWait)


def _is_strong_write(instruction: PtxInstruction) -> bool:
    match instruction:
        case St():
            return instruction.scope is not None
        case ClusterBarrier():
            return instruction.role is not BarrierRole.WAIT
        case _:
            return isinstance(instruction, Atom | MbarrierArrive)


# Campaigns


class Notice(Enum):
    """The check that notices a mutant first, in order; the last two say that nothing does."""

    VERDICT = "verdict"
    OUTCOMES = "outcome set"
    PLACEMENT = "placed elsewhere"
    PARTNER = "among partners"
    EQUIVALENT = "equivalent"
    MISSED = "missed"


NOTICES = (Notice.VERDICT, Notice.OUTCOMES, Notice.PLACEMENT, Notice.PARTNER)


@dataclass(frozen=True)
class Campaign:
    """The number of mutants of each kind by the check that noticed them."""

    found: Mapping[tuple[MutationKind, Notice], int]

    def count(self, notices: Iterable[Notice], kind: MutationKind | None = None) -> int:
        """The mutants (of a kind) that were first noticed by one of ``notices``."""
        wanted = frozenset(notices)
        return sum(
            count
            for (each, notice), count in self.found.items()
            if notice in wanted and kind in (None, each)
        )

    @property
    def tried(self) -> int:
        """The number of mutants."""
        return self.count(Notice)

    def rate(self, last: Notice) -> float:
        """The share of all mutants that was noticed by ``last`` or a weaker check."""
        return self.count(NOTICES[: NOTICES.index(last) + 1]) / max(1, self.tried)

    def __str__(self) -> str:
        """One kind a line, then all."""
        lines = [f"{kind.value}: {self._line(kind)}" for kind in MutationKind]
        return "\n".join([*lines, f"all: {self._line(None)}"])

    def _line(self, kind: MutationKind | None) -> str:
        counts = (f"{self.count((each,), kind)} {each.value}" for each in Notice)
        return ", ".join(counts)


def _differ(mutated: Outcomes, original: Outcomes) -> bool:
    return mutated.project(original.observables) != original


class _Trial:
    """A test with the outcome sets of its original, which many mutants are compared with."""

    def __init__(self, test: PtxLitmusTest, model: PtxModel | None):
        self.test = test
        self.model = model
        self.known: dict[object, Outcomes] = {}

    @cached_property
    def verdict(self) -> bool:
        return self.test.condition.verdict(self.original)

    @cached_property
    def original(self) -> Outcomes:
        return outcomes(self.test.program, self.model)

    def differs(
        self, key: object, mutant: ProgramMutant, change: Callable[[PtxProgram], PtxProgram]
    ) -> bool:
        """True if outcome sets differ when ``change`` is made to the test and to its mutant.

        Those of the test are found once for each ``key``.
        """
        if key not in self.known:
            self.known[key] = outcomes(change(self.test.program), self.model)
        return _differ(outcomes(change(mutant.program), self.model), self.known[key])

    def notice(self, mutant: ProgramMutant) -> Notice:
        """The check that notices ``mutant`` first."""
        program, at = self.test.program, mutant.thread
        mutated = outcomes(mutant.program, self.model)
        if self.test.condition.verdict(mutated) is not self.verdict:
            return Notice.VERDICT
        if _differ(mutated, self.original):
            return Notice.OUTCOMES
        reason = equivalence(program, mutant)
        if reason:
            return Notice.EQUIVALENT
        for places in placements(program):
            if self.differs(places, mutant, lambda each, p=places: placed(each, p)):
                return Notice.PLACEMENT
        for number, others in enumerate(partners(program.threads[at])):
            if self.differs((at, number), mutant, lambda each, o=others: among(each, at, o)):
                return Notice.PARTNER
        return Notice.MISSED


def run_campaign(tests: Iterable[PtxLitmusTest], model: PtxModel | None = None) -> Campaign:
    """The check that notices each of the mutants of ``tests`` first."""
    found: Counter[tuple[MutationKind, Notice]] = Counter()
    for test in tests:
        trial = _Trial(test, model)
        for mutant in mutants(test.program):
            found[mutant.kind, trial.notice(mutant)] += 1
    return Campaign(found)
