"""Orders by mbarriers: a wait for a phase comes after all arrivals of that phase, and of those
before.

Which phase a wait is for is a question of its ring and its parities (``rings``), whether all
arrivals of a phase have come when it completes one of counts (``arrivals``). What an arrival comes
after is ordered with the wait: what its thread did before, what threads did that it has met, and
what it has itself waited for. Source: PTX ISA, mbarrier; "Phase of the mbarrier object".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.expressions import (
    Expressions,
    is_data,
    leaves,
    number_of,
    quotient,
    remainder,
)
from fencewright.checker.verdicts.interpretation import RANK
from fencewright.checker.verdicts.model import (
    UNGROUPED,
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    Literal,
    Loop,
    MbarrierStep,
    Not,
    Relation,
    Step,
    ThreadPair,
    Together,
)
from fencewright.checker.verdicts.order.arrivals import (
    Turn,
    arrivals_at,
    arrivers,
    doubt_of_arrivals,
    loop_of,
    turn_of,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.flags import release_fence
from fencewright.checker.verdicts.order.guards import (
    Fresh,
    Guard,
    fence_between,
    follows,
    guards_of,
    implied,
    passes_proxy_fence,
)
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal
from fencewright.checker.verdicts.order.rings import Ring, Waited, ring_of, waited_by
from fencewright.lowering.code.value import Thread, Value
from fencewright.lowering.vocabulary import Ordering, Scope

_RULE = "mbarrier"
_LANES = 32
_OF_RING = "a copy at some mbarrier of a ring"
_NEVER, _ALWAYS = AnyOf(()), AllOf(())


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, fresh: Fresh
) -> Iterator[Claim]:
    """The orders by a guard of the later access that waits; ``fresh``: numbers, one of each
    arrival."""
    waited = waited_by(kernel, pair.solver, guard.members, guard.around)
    if waited is None:
        return
    if isinstance(waited, str):
        yield _doubtful(kernel, guard.members[0][0], waited)
        return
    is_of_ctas = pair.relation in (Relation.CLUSTER, Relation.GRID)
    if is_of_ctas and waited.wait.expected is not None:
        return  # Each CTA has named barriers of its own.
    if earlier.agent is Agent.TRANSACTION:
        if earlier.writes and pair.relation is Relation.CLUSTER:
            yield _doubtful(kernel, earlier.instruction, "a copy into other CTAs")
            return
        ring = _ring_of_copy(kernel, earlier)
        if ring is None:
            yield _doubtful(kernel, earlier.instruction, "the mbarrier of a copy is not known")
            return
        is_first = not kernel.loops_of(earlier.instruction)  # At one mbarrier of a ring.
        if ring != waited.ring and ring.meets(waited.ring) and not is_first:
            yield _doubtful(kernel, earlier.instruction, _OF_RING)
            return
        if ring.meets(waited.ring):
            copied = _of_copy(kernel, earlier, later, pair, guard, waited)
            is_open = copied.doubt and _is_used_again(kernel, waited)
            yield replace(copied, wrong="") if is_open else copied
            return
    elif earlier.agent in UNGROUPED:
        return
    doubt = doubt_of_arrivals(kernel, pair.solver, waited.ring)
    is_of_grid = pair.relation is Relation.GRID
    for arrival in arrivals_at(kernel, waited.ring):
        turn = turn_of(kernel, waited.ring, arrival)
        if turn is None or arrival.copies:
            yield _doubtful(kernel, arrival.instruction, doubt)
            continue
        way = _Way(kernel, earlier, later, pair, guard, waited, arrival, turn, next(fresh), fresh)
        for claim in way.claims():
            # Others may arrive that nobody knows of; of CTAs that share no mbarrier something else
            # may order the accesses.
            is_open = doubt and claim.finding is Rule.MBARRIER_ORDER
            if is_of_grid or is_open or (doubt and _is_used_again(kernel, waited)):
                claim = replace(claim, wrong="")
            # Whatever completes a phase, what fails the lemma hands nothing over.
            is_vain = not is_of_grid and claim.broken is not None and not claim.is_note
            yield claim if is_vain else replace(claim, doubt=claim.doubt or doubt)


def passed_by(kernel: Kernel, access: Access, guards: Sequence[Guard]) -> Iterator[Claim]:
    """The doubt that a wait before an access, which is none of its guards, orders something."""
    known = {number for guard in guards for number, _ in guard.members}
    for step in kernel.mbarriers:
        number = step.instruction
        if step.step is Step.WAIT and number not in known:
            if kernel.may_reach(number, access.instruction):
                yield _doubtful(kernel, number, "a wait that not every path passes")


def _is_used_again(kernel: Kernel, waited: Waited) -> bool:
    """True where one parity may be that of a phase of every round: a round arrives in several."""
    arrivals = arrivals_at(kernel, waited.ring)
    own = [each for each in arrivals if kernel.loops_of(each.instruction) == (waited.loop,)]
    return waited.is_first and len(own) > 1


def _doubtful(kernel: Kernel, instruction: int, reason: str) -> Claim:
    return Claim(_RULE, _NEVER, (), kernel.line_of(instruction), doubt=reason)


def _ring_of_copy(kernel: Kernel, copy: Access) -> Ring | None:
    if copy.mbarrier is None or copy.mbarrier.rank is not None:
        return None
    return ring_of(kernel, copy.mbarrier, kernel.loops_of(copy.instruction))


# Phases


def _at_phase(kernel: Kernel, turn: Turn, thread: int, waited: Waited, other: int) -> Constraint:
    """An arrival by a thread has a part in the phase that another has waited for."""
    if turn.loop is None and waited.loop is None:
        return _NEVER if waited.before else _ALWAYS
    (times, slot), (wanted, its) = _numbers(kernel, turn, waited)
    same = Compare("eq", times, thread, wanted, other)
    return AllOf((same, Compare("eq", slot, thread, its, other)))


def _numbers(
    kernel: Kernel, turn: Turn, waited: Waited
) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    """The number of uses of an mbarrier before an iteration, and its own number, for a loop and for
    a wait; 0 without a loop.

    In these two numbers, not in iterations, questions about rings are easy for a solver.
    """
    e = Expressions(kernel.table)
    size = waited.ring.size
    bits = next(each.iteration.bits for each in (turn.loop, waited.loop) if each is not None)

    def numbers(of: Loop | None, ahead: int = 0) -> tuple[Value, Value]:
        iteration = e.constant(0, bits) if of is None else of.iteration
        number = e.apply("add", (iteration, e.constant(ahead, bits)), bits)
        return quotient(e, number, size), remainder(e, number, size)

    times, slot = numbers(waited.loop)
    if waited.is_first:
        times = e.constant(0, bits)
    if waited.before:
        times = e.apply("sub", (times, e.constant(1, bits)), bits)
    return numbers(turn.loop, turn.ahead + turn.slot), (times, slot)


def _none_yet(kernel: Kernel, waited: Waited, thread: int) -> Constraint:
    """The wait is for no phase at all: the first of those whose parities begin with 1."""
    if not waited.before:
        return _NEVER
    if waited.loop is None or waited.is_first:
        return _ALWAYS
    e = Expressions(kernel.table)
    times = quotient(e, waited.loop.iteration, waited.ring.size)
    return Compare("eq", times, thread, e.constant(0, times.bits), thread)


# Copies


def _of_copy(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, waited: Waited
) -> Claim:
    """The order by the phase that a bulk copy's bytes are counted in."""
    doubt, expected, arrival = _counted(kernel, earlier)
    doubt = doubt or doubt_of_arrivals(kernel, pair.solver, waited.ring)
    ordering = Ordering.RELAXED if arrival is None else _ordering(arrival)
    half = Half(Signal(ordering, Scope.WORKGROUP, is_phase=True), counts=expected)
    lemma = _lemma(kernel, pair, (earlier, half), waited.wait, guard, later)
    # The mbarrier of a copy is that of its issuer's CTA.
    elsewhere = Not(Together(pair.earlier, guard.thread, Scope.WORKGROUP))
    turn = None if arrival is None else turn_of(kernel, waited.ring, arrival)
    if turn is None:
        turn = Turn(loop_of(kernel, earlier.instruction))
        if _ring_of_copy(kernel, earlier) != waited.ring:
            doubt = doubt or _OF_RING
    late = AnyOf((elsewhere, _unfinished(kernel, turn, pair.earlier, waited, guard.thread)))
    return Claim(
        _RULE,
        guard.unless(late),
        (lemma,),
        kernel.line_of(waited.wait.instruction),
        doubt=doubt,
        wrong="the wait is for an earlier phase than that of the copy",
        finding=Rule.MBARRIER_PHASE,
    )


def _unfinished(kernel: Kernel, turn: Turn, thread: int, waited: Waited, other: int) -> Constraint:
    """A copy is in a later phase than the one that was waited for, or at another mbarrier."""
    if turn.loop is None and waited.loop is None:
        return _none_yet(kernel, waited, other)
    (times, slot), (wanted, its) = _numbers(kernel, turn, waited)
    return AnyOf(
        (
            _none_yet(kernel, waited, other),
            Compare("ult", wanted, other, times, thread),
            Compare("ne", slot, thread, its, other),
        )
    )


def _counted(kernel: Kernel, copy: Access) -> tuple[str, bool, MbarrierStep | None]:
    """The doubt if a copy's bytes are expected in its phase, if they are, and the arrival that
    expects them."""
    around = kernel.loops_of(copy.instruction)
    ring = _ring_of_copy(kernel, copy)
    if len(around) > 1 or ring is None:
        return "a copy in loops of loops", False, None
    expects: list[MbarrierStep] = []
    for each in kernel.mbarriers:
        if each.bytes is not None and each.place.root == ring.root:
            at = ring_of(kernel, each.place, kernel.loops_of(each.instruction))
            expects += [each] if at is not None and at.meets(ring) else []
    copies = [
        each
        for each in kernel.accesses
        if each.agent is Agent.TRANSACTION
        and each.writes
        and (at := _ring_of_copy(kernel, each)) is not None
        and at.meets(ring)
    ]
    own = [
        each
        for each in expects
        if kernel.loops_of(each.instruction) == around and implied(each.conditions, copy.conditions)
    ]
    arrival = next((each for each in own if each in arrivals_at(kernel, ring)), None)
    # Of tensor copies the text does not say the bytes: those that are expected are assumed.
    of_boxes = any(each.least is not None for each in copies)
    # What is copied before a loop, and expected there, is of phases of its own.
    others = {kernel.loops_of(each.instruction) for each in copies} - {around}
    if all(_is_expected(kernel, each, expects, copies) for each in others):
        copies = [each for each in copies if kernel.loops_of(each.instruction) == around]
    given = [number_of(each.bytes) for each in own if each.bytes is not None]
    expected = sum(number for number in given if number is not None)
    sizes = [expected] if of_boxes else [each.size for each in copies]
    if None in given or None in sizes:
        return "the bytes of a copy are not known", bool(own), arrival
    needed = sum(size for size in sizes if size is not None)
    if expected < needed and len(expects) > len(own):
        return "bytes are expected elsewhere", bool(own), arrival
    return "", bool(own) and expected >= needed, arrival


def _is_expected(
    kernel: Kernel,
    around: tuple[Loop, ...],
    expects: Iterable[MbarrierStep],
    copies: Iterable[Access],
) -> bool:
    """True where arrivals in some loops expect all bytes of the copies there."""
    bytes_of = [
        None if each.bytes is None else number_of(each.bytes)
        for each in expects
        if kernel.loops_of(each.instruction) == around
    ]
    sizes = [each.size for each in copies if kernel.loops_of(each.instruction) == around]
    given, needed = (sum(each for each in own if each is not None) for own in (bytes_of, sizes))
    return None not in (*bytes_of, *sizes) and given >= needed


# Arrivals


@dataclass(frozen=True, slots=True)
class _Way:
    """A way from an access to an arrival, of thread ``writer``, and by its phase to a guard;
    ``fresh``: numbers of more threads."""

    kernel: Kernel
    earlier: Access
    later: Access
    pair: ThreadPair
    guard: Guard
    waited: Waited
    arrival: MbarrierStep
    turn: Turn
    writer: int
    fresh: Fresh

    def claims(self) -> Iterator[Claim]:
        """The orders by one arrival: of the thread itself, of one it met, of one that has
        waited."""
        if self.earlier.agent is Agent.TRANSACTION:
            yield from self._after_waits()
            return
        if not self.kernel.may_reach(self.earlier.instruction, self.arrival.instruction):
            return
        orders = [
            self._by_itself(),
            self._by_meeting(Scope.WAVEFRONT),
            self._by_meeting(Scope.WORKGROUP),
        ]
        known = [each for each in orders if each is not None]
        yield from known
        if not known:
            reason = (
                "neither the thread nor one that it meets at a barrier arrives after the access"
            )
            yield self._claim(_ALWAYS, self._half(met=False), reason, Rule.MBARRIER_ORDER)

    def _claim(
        self,
        late: Constraint,
        half: Half,
        wrong: str = "no arrival of the phase that is waited for comes after the access",
        finding: Rule = Rule.MBARRIER_PHASE,
    ) -> Claim:
        none = _none_yet(self.kernel, self.waited, self.guard.thread)
        wait = self.waited.wait
        own = (self.earlier, half)
        lemma = _lemma(self.kernel, self.pair, own, wait, self.guard, self.later)
        line = self.kernel.line_of(wait.instruction)
        unless = self.guard.unless(AnyOf((none, late)))
        signal = self.kernel.line_of(self.arrival.instruction)
        return Claim(_RULE, unless, (lemma,), line, wrong=wrong, finding=finding, signal=signal)

    def _half(self, *, met: bool) -> Half:
        arrival, number = self.arrival, self.arrival.instruction
        return Half(
            _signal(_ordering(arrival), arrival),
            release_fence(self.kernel, self.earlier, number, met),
            met,
            passes_proxy_fence(
                self.kernel,
                self.earlier.instruction,
                number,
                (self.earlier.place, self.later.place),
                () if met else self.earlier.conditions,
            ),
        )

    def _in_phase(self) -> Constraint:
        """The arrival is that of the phase that was waited for."""
        return _at_phase(self.kernel, self.turn, self.writer, self.waited, self.guard.thread)

    def _by_itself(self) -> Claim | None:
        """The order by the arrival of the thread that has accessed."""
        pair, writer = self.pair, self.writer
        own = tuple(Holds(each, pair.earlier) for each in arrivers(self.arrival))
        if pair.satisfiable(Not(AllOf(own))) is not Answer.UNSATISFIABLE:
            return None
        number = self.arrival.instruction
        order = follows(self.kernel, self.earlier, pair.earlier, number, writer, met=False)
        here = Together(writer, pair.earlier, None)
        late = AllOf((here, self._in_phase(), Not(order)))
        return self._claim(self._unless_there(late), self._half(met=False))

    def _unless_there(self, late: Constraint) -> Constraint:
        """The arrivals of the CTA of the access are late, or at another CTA's mbarrier than that
        of the wait."""
        rank = self.arrival.place.rank
        thread, waiter = self.pair.earlier, self.guard.thread
        if rank is None:
            there: Constraint = Together(thread, waiter, Scope.WORKGROUP)
        else:
            own = self.kernel.table.constant(RANK, rank.bits)
            there = Compare("eq", rank, thread, own, waiter)
        return AnyOf((Not(there), late))

    def _by_meeting(self, level: Scope) -> Claim | None:
        """The order by the arrivals of threads of a warp or CTA that the thread has met at a
        barrier."""
        pair, writer = self.pair, self.writer
        conditions = arrivers(self.arrival)
        if level is Scope.WAVEFRONT and not self._is_of_some_lane(conditions):
            return None
        if self.arrival.place.rank is not None and not self._is_of_first(conditions):
            return None
        number = self.arrival.instruction
        order = follows(
            self.kernel, self.earlier, pair.earlier, number, writer, met=True, level=level
        )
        if order == _NEVER:
            return None
        here = Together(writer, pair.earlier, level)
        holds = (Holds(each, writer) for each in conditions)
        late = self._unless_there(AllOf((here, *holds, self._in_phase(), Not(order))))
        if level is Scope.WORKGROUP:
            return self._claim(late, self._half(met=True))
        # No fence stands between a barrier of the warp and the arrival, as far as is known.
        return self._claim(late, replace(self._half(met=False), fence=None, barrier=True))

    def _is_of_first(self, conditions: Sequence[Literal]) -> bool:
        """True where the first thread of each CTA arrives, at the mbarrier of one CTA for all."""
        e = Expressions(self.kernel.table)
        index = self.kernel.table.thread("%tid.x", 32)
        first = {index: e.constant(0, 32)}
        numbers = ((number_of(e.substituted(each.value, first)), each) for each in conditions)
        rank = self.arrival.place.rank
        is_alike = rank is not None and not any(
            isinstance(leaf, Thread) or is_data(leaf) for leaf in leaves((rank,))
        )
        return is_alike and all(number == each.polarity for number, each in numbers)

    def _is_of_some_lane(self, conditions: Sequence[Literal]) -> bool:
        """True where some lane of the warp of the thread that has accessed arrives."""
        e = Expressions(self.kernel.table)
        index = self.kernel.table.thread("%tid.x", 32)
        elected = [each for each in conditions if _is_elected(each)]
        rest = [each for each in conditions if each not in elected]
        if elected:
            # Whichever lane it is: all satisfy the rest.
            together = Together(self.writer, self.pair.earlier, Scope.WAVEFRONT)
            holds = AllOf(tuple(Holds(each, self.writer) for each in rest))
            return self.pair.satisfiable(together, Not(holds)) is Answer.UNSATISFIABLE
        first = {index: e.apply("and", (index, e.constant(-_LANES, 32)), 32)}
        own = tuple(
            Holds(
                Literal(e.substituted(each.value, first), each.polarity, each.branch),
                self.pair.earlier,
            )
            for each in rest
        )
        return self.pair.satisfiable(Not(AllOf(own))) is Answer.UNSATISFIABLE

    def _after_waits(self) -> Iterator[Claim]:
        """The orders of a copy that is done when the arriving threads have waited for it."""
        kernel, pair, arrival = self.kernel, self.pair, self.arrival
        if arrival.place.rank is not None:
            return  # Who arrives is of another CTA than the copy that it has waited for.
        ring = _ring_of_copy(kernel, self.earlier)
        # All are threads of one CTA, and what is ordered is the end of one copy and the issue of
        # another, of one proxy: no fence between proxies is needed.
        pair = replace(pair, relation=Relation.CTA)
        later = replace(self.later, agent=Agent.THREAD)
        at_arrival = replace(
            self.earlier,
            instruction=arrival.instruction,
            conditions=arrival.conditions,
            agent=Agent.THREAD,
            reads=True,
            writes=self.later.agent is Agent.THREAD,
        )
        for guard in guards_of(kernel, at_arrival, self.writer, self.fresh):
            waited = waited_by(kernel, pair.solver, guard.members, guard.around)
            if not isinstance(waited, Waited) or waited.ring != ring:
                continue
            first = _of_copy(
                kernel, self.earlier, replace(at_arrival, writes=False), pair, guard, waited
            )
            here = Together(self.writer, self.guard.thread, Scope.WORKGROUP)
            holds = (Holds(each, self.writer) for each in arrivers(arrival))
            late = AllOf((here, *holds, self._in_phase(), first.unless))
            way = replace(self, pair=pair, earlier=at_arrival, later=later)
            second = way._claim(late, way._half(met=False))
            lemmas = (*first.lemmas, *second.lemmas)
            yield replace(second, lemmas=lemmas, doubt=first.doubt)


def _is_elected(literal: Literal) -> bool:
    return literal.polarity and isinstance(literal.value, Thread) and literal.value.name == "%elect"


def _lemma(
    kernel: Kernel,
    pair: ThreadPair,
    released: tuple[Access, Half],
    wait: MbarrierStep,
    guard: Guard,
    later: Access,
) -> Lemma:
    """The litmus test of an access before an arrival, and a wait before another access."""
    ordering = Ordering.ACQUIRE if wait.acquires else Ordering.RELAXED
    earlier, release = released
    conditions = kernel.conditions(guard.end)
    acquire = Half(
        _signal(ordering, wait),
        fence_between(kernel, wait.instruction, guard.end, conditions, acquires=True),
        guard.is_met,
        passes_proxy_fence(
            kernel,
            wait.instruction,
            later.instruction,
            (earlier.place, later.place),
            () if guard.is_met else later.conditions,
        ),
    )
    return Lemma(pair.relation, Payload.of(earlier), release, acquire, Payload.of(later))


def _signal(ordering: Ordering, step: MbarrierStep) -> Signal:
    return Signal(ordering, step.scope, is_phase=True, is_named=step.expected is not None)


def _ordering(arrival: MbarrierStep) -> Ordering:
    return Ordering.RELEASE if arrival.releases else Ordering.RELAXED
