"""Orders by mbarriers: a wait for a phase comes after all arrivals of that phase, and of those
before.

A wait that is executed once in each iteration of a loop, with parities that alternate from 0 on, is
for phase i in iteration i; with parities that begin with 1 it is for phase i - 1, and iteration 0
waits for none. The n-th arrival of a thread is in phase n where no thread arrives twice in a phase,
and no more threads arrive than the mbarrier counts. Source: PTX ISA, mbarrier; "Phase of the
mbarrier object".
"""

from collections.abc import Iterator
from math import prod

from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.intervals import full_barriers, is_steady
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
    Loop,
    MbarrierStep,
    Not,
    Place,
    Relation,
    Step,
    ThreadPair,
    Together,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.flags import release_fence
from fencewright.checker.verdicts.order.guards import (
    Guard,
    fence_between,
    follows,
    implied,
    passes_proxy_fence,
)
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal
from fencewright.lowering.code.value import Opaque, Result, Value
from fencewright.lowering.vocabulary import Ordering, Scope

_RULE = "mbarrier"
_ANYONE = 900
"""The number of a thread of which a conflict knows nothing."""


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, writer: int
) -> Iterator[Claim]:
    """The orders by a guard of the later access that waits; ``writer`` is a number for who
    arrives."""
    waits = [_wait_at(kernel, number) for number, _ in guard.members]
    wait = waits[0]
    if wait is None or any(each is None or each.place != wait.place for each in waits):
        return
    line = kernel.line_of(wait.instruction)

    def doubtful(reason: str) -> Claim:
        return Claim(_RULE, AnyOf(()), (), line, doubt=reason)

    place = wait.place
    if place.offset is None or place.rank is not None:
        yield doubtful("an mbarrier whose place is not known")
        return
    if any(leaf for value, _ in place.offset.terms for leaf in leaves((value,))):
        yield doubtful("a ring of mbarriers")
        return
    is_copy = earlier.agent is Agent.TRANSACTION and earlier.writes
    if is_copy and pair.relation is Relation.CLUSTER:
        yield doubtful("a copy into other CTAs")
        return
    if is_copy and earlier.mbarrier != place:
        return
    if not is_copy and earlier.agent in UNGROUPED:
        return
    phase = _phase(kernel, pair, guard, wait)
    if isinstance(phase, str):
        yield doubtful(phase)
        return
    if is_copy:
        yield from _of_copy(kernel, earlier, later, pair, guard, wait, phase)
        return
    arrivals = [each for each in _steps(kernel, place) if each.step is Step.ARRIVE]
    for arrival in arrivals:
        if len(arrivals) > 1 or arrival.copies:
            yield doubtful("arrivals by several instructions")
            return
        for met in (False, True):
            if not met and not kernel.may_reach(earlier.instruction, arrival.instruction):
                continue
            unless = _unless(kernel, earlier, pair, guard, arrival, phase, writer, met)
            if unless is None:
                continue
            half = Half(
                Signal(_ordering(arrival), arrival.scope, is_phase=True),
                release_fence(kernel, earlier, arrival.instruction, met),
                met,
                passes_proxy_fence(
                    kernel,
                    earlier.instruction,
                    arrival.instruction,
                    (earlier.place, later.place),
                    () if met else earlier.conditions,
                ),
            )
            lemma = _lemma(kernel, pair, earlier, later, half, guard, wait)
            doubt = _doubt_of_count(kernel, pair, arrival, writer)
            yield Claim(_RULE, unless, (lemma,), line, doubt=doubt)


_Phase = tuple[Loop | None, int]
"""The phase of a wait: the iteration of a loop, or 0, and so many more."""


def _phase(kernel: Kernel, pair: ThreadPair, guard: Guard, wait: MbarrierStep) -> _Phase | str:
    """The phase that a guard has waited for; a reason where that is not known."""
    if not wait.is_parity or wait.phase is None:
        return "a wait for a state, not for a parity"
    own = {number for number, _ in guard.members}
    others = [
        each
        for each in _steps(kernel, wait.place)
        if each.step is Step.WAIT and each.instruction not in own
    ]
    if others:
        return "waits by several instructions"
    if len(guard.around) > 1:
        return "a wait in loops of loops"
    e = Expressions(kernel.table)
    parity = e.apply("and", (wait.phase, e.constant(1, wait.phase.bits)), wait.phase.bits)
    if not guard.around:
        number = number_of(parity)
        return "the parity is not known" if number is None else (None, -number)
    if any(isinstance(leaf, Opaque | Result) for leaf in leaves((parity,))):
        return "the parity is not known"
    (loop,) = guard.around
    if not all(_is_of_every_iteration(kernel, loop, number, own) for number in own):
        return "a wait that not every iteration executes"
    iteration = e.resized(loop.iteration, parity.bits)
    one = e.constant(1, parity.bits)
    for begins in (0, 1):
        shifted = e.apply("add", (iteration, e.constant(begins, parity.bits)), parity.bits)
        expected = e.apply("and", (shifted, one), parity.bits)
        # Of every iteration of any thread, not of those of the conflict alone.
        differs = Not(Compare("eq", parity, _ANYONE, expected, _ANYONE))
        if pair.satisfiable(differs) is Answer.UNSATISFIABLE:
            return loop, -begins
    return "the parity does not alternate"


def _is_of_every_iteration(kernel: Kernel, loop: Loop, number: int, own: set[int]) -> bool:
    """True where a thread that executes a wait at all executes one of ``own`` in each iteration."""
    outside = kernel.block_conditions[loop.head]
    conditions = [
        each
        for each in kernel.conditions(number)
        if each not in outside
        and not any(isinstance(v, Result) and v.instruction in own for v in leaves((each.value,)))
    ]
    if not all(is_steady(each.value) for each in conditions):
        return False
    waits = {kernel.block_of[each] for each in own}
    excluded = {(each.value, not each.polarity) for each in conditions}
    work, seen = [loop.head], {loop.head}
    while work:
        current = work.pop()
        if current in waits:
            continue
        for target in kernel.graph.successors[current]:
            literals = kernel.edge_literals.get((current, target), ())
            if any((each.value, each.polarity) in excluded for each in literals):
                continue
            if target == loop.head:
                return False
            if target in loop.blocks and target not in seen:
                seen.add(target)
                work.append(target)
    return True


def _at_phase(
    kernel: Kernel, loop: Loop | None, thread: int, phase: _Phase, other: int
) -> Constraint:
    """An instruction in a loop, or in none, is executed by a thread in the iteration that a phase
    is."""
    waited, shift = phase
    e = Expressions(kernel.table)
    if loop is None and waited is None:
        return AllOf(()) if shift == 0 else AnyOf(())
    bits = (loop or waited or next(iter(kernel.loops.values()))).iteration.bits
    zero = e.constant(0, bits)
    arrived = zero if loop is None else loop.iteration
    wanted = e.constant(shift, bits) if waited is None else waited.iteration
    if waited is not None and shift:
        wanted = e.apply("add", (waited.iteration, e.constant(shift, bits)), bits)
    return Compare("eq", arrived, thread, wanted, other)


def _none_yet(kernel: Kernel, phase: _Phase, thread: int) -> Constraint:
    """The wait is for no phase at all: the first of those whose parities begin with 1."""
    loop, shift = phase
    if shift == 0:
        return AnyOf(())
    if loop is None:
        return AllOf(())
    zero = kernel.table.constant(0, loop.iteration.bits)
    return Compare("eq", loop.iteration, thread, zero, thread)


def _loop_of(kernel: Kernel, instruction: int) -> Loop | str | None:
    around = kernel.loops_of(instruction)
    if len(around) > 1:
        return "an arrival in loops of loops"
    return around[0] if around else None


def _unless(
    kernel: Kernel,
    earlier: Access,
    pair: ThreadPair,
    guard: Guard,
    arrival: MbarrierStep,
    phase: _Phase,
    writer: int,
    met: bool,
) -> Constraint | None:
    """The instances of a conflict in which the phase's arrival does not come after the earlier
    access."""
    loop = _loop_of(kernel, arrival.instruction)
    if isinstance(loop, str):
        return None
    arrives = tuple(Holds(each, writer) for each in arrival.conditions)
    here = Together(writer, pair.earlier, Scope.WORKGROUP if met else None)
    in_phase = _at_phase(kernel, loop, writer, phase, guard.thread)
    order = follows(kernel, earlier, pair.earlier, arrival.instruction, writer, met=met)
    if order == AnyOf(()):
        return None
    if not met:
        # Its own thread has to be one that arrives.
        outside = AllOf((here, Not(AllOf(arrives))))
        if pair.satisfiable(outside) is not Answer.UNSATISFIABLE:
            return None
    late = AllOf((here, *arrives, in_phase, Not(order)))
    return guard.unless(AnyOf((_none_yet(kernel, phase, guard.thread), late)))


def _of_copy(
    kernel: Kernel,
    earlier: Access,
    later: Access,
    pair: ThreadPair,
    guard: Guard,
    wait: MbarrierStep,
    phase: _Phase,
) -> Iterator[Claim]:
    """The order by the phase that a bulk copy's bytes are counted in."""
    line = kernel.line_of(wait.instruction)
    expects = [each for each in _steps(kernel, wait.place) if each.bytes is not None]
    loop = _loop_of(kernel, earlier.instruction)
    own = [
        each
        for each in expects
        if kernel.loops_of(each.instruction) == kernel.loops_of(earlier.instruction)
        and implied(each.conditions, earlier.conditions)
    ]
    arrivals = [each for each in _steps(kernel, wait.place) if each.step is Step.ARRIVE]
    doubt = "" if len(arrivals) == 1 else "arrivals by several instructions"
    if isinstance(loop, str):
        yield Claim(_RULE, AnyOf(()), (), line, doubt=loop)
        return
    given = sum(number_of(each.bytes) or 0 for each in own if each.bytes is not None)
    is_unknown = any(each.bytes is not None and number_of(each.bytes) is None for each in own)
    copies = [
        each
        for each in kernel.accesses
        if each.agent is Agent.TRANSACTION and each.writes and each.mbarrier == wait.place
    ]
    # Of tensor copies the text does not say the bytes: those that are expected are assumed.
    of_boxes = any(each.least is not None for each in copies)
    copied = [given] if of_boxes else [each.size for each in copies]
    if is_unknown or None in copied:
        doubt = doubt or "the bytes of a copy are not known"
    elif given != sum(size for size in copied if size is not None):
        if expects and not own:
            doubt = doubt or "bytes are expected elsewhere"
    expected = bool(own) and (bool(doubt) or given >= sum(s for s in copied if s is not None))
    # The phase of the copy is at most the one that is waited for.
    late = _later_phase(kernel, loop, pair.earlier, phase, guard.thread)
    unless = guard.unless(AnyOf((_none_yet(kernel, phase, guard.thread), late)))
    arrival = arrivals[0] if arrivals else None
    if not doubt and arrival is not None:
        doubt = _doubt_of_count(kernel, pair, arrival, 3 + max(guard.thread, pair.later))
    ordering = _ordering(arrival) if arrival is not None else Ordering.RELAXED
    half = Half(Signal(ordering, Scope.WORKGROUP, is_phase=True), counts=expected)
    lemma = _lemma(kernel, pair, earlier, later, half, guard, wait)
    yield Claim(_RULE, unless, (lemma,), line, doubt=doubt)


def _later_phase(
    kernel: Kernel, loop: Loop | None, thread: int, phase: _Phase, other: int
) -> Constraint:
    """A copy of a loop's iteration is in a later phase than the one that was waited for."""
    waited, shift = phase
    e = Expressions(kernel.table)
    if loop is None:
        return AnyOf(())
    bits = loop.iteration.bits
    wanted = e.constant(0, bits) if waited is None else waited.iteration
    if waited is not None and shift:
        wanted = e.apply("add", (waited.iteration, e.constant(shift, bits)), bits)
    return Compare("ult", wanted, other, loop.iteration, thread)


def _lemma(
    kernel: Kernel,
    pair: ThreadPair,
    earlier: Access,
    later: Access,
    release: Half,
    guard: Guard,
    wait: MbarrierStep,
) -> Lemma:
    ordering = Ordering.ACQUIRE if wait.acquires else Ordering.RELAXED
    conditions = kernel.conditions(guard.end)
    acquire = Half(
        Signal(ordering, wait.scope, is_phase=True),
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


# Arrivals


def _doubt_of_count(kernel: Kernel, pair: ThreadPair, arrival: MbarrierStep, thread: int) -> str:
    """The reason why the n-th arrival may be in another phase than n; "" if it is not."""
    inits = [each for each in _steps(kernel, arrival.place) if each.step is Step.INIT]
    if len(inits) != 1 or inits[0].count is None:
        return "the count of an mbarrier is not known"
    count = inits[0].count
    if arrival.count is not None and number_of(arrival.count) != 1:
        return "an arrival counts several times"
    other = thread + 1
    both = (
        Together(thread, pair.earlier, Scope.WORKGROUP),
        Together(other, pair.earlier, Scope.WORKGROUP),
        Not(Together(thread, other, None)),
        *(Holds(each, thread) for each in arrival.conditions),
        *(Holds(each, other) for each in arrival.conditions),
    )
    is_single = pair.satisfiable(*both) is Answer.UNSATISFIABLE
    if is_single and number_of(count) == 1:
        return ""
    if not is_single and not _counts_all(kernel, pair, arrival, count, thread):
        return "more threads may arrive than an mbarrier counts"
    waits = {each.instruction for each in _steps(kernel, arrival.place) if each.step is Step.WAIT}
    between = waits | full_barriers(kernel, Scope.WORKGROUP)
    is_once = not kernel.loops_of(arrival.instruction)
    if is_once or kernel.all_paths_pass(
        arrival.instruction, arrival.instruction, lambda number: number in between
    ):
        return ""
    return "a thread may arrive twice in a phase"


def _counts_all(
    kernel: Kernel, pair: ThreadPair, arrival: MbarrierStep, count: Value, thread: int
) -> bool:
    """True where an mbarrier counts all threads of the CTA, or all below a number that arrive."""
    e = Expressions(kernel.table)
    number = number_of(count)
    if number is not None and kernel.required is not None and prod(kernel.required) <= number:
        return True
    size = kernel.table.constant("%ntid.x", 32)
    if not any(f"%{kind}.{d}" in kernel.specials for kind in ("tid", "ntid") for d in "yz"):
        if count is e.resized(size, count.bits):
            return True
        if number is not None:
            index = kernel.table.thread("%tid.x", 32)
            bound = e.constant(number, 32)
            arrives = tuple(Holds(each, thread) for each in arrival.conditions)
            beyond = Not(Compare("ult", index, thread, bound, thread))
            here = Together(thread, pair.earlier, Scope.WORKGROUP)
            return pair.satisfiable(here, *arrives, beyond) is Answer.UNSATISFIABLE
    return False


def _ordering(arrival: MbarrierStep) -> Ordering:
    return Ordering.RELEASE if arrival.releases else Ordering.RELAXED


def _steps(kernel: Kernel, place: Place) -> list[MbarrierStep]:
    """The operations on an mbarrier, or on others of its variable that may be it."""
    return [
        each
        for each in kernel.mbarriers
        if each.place.root == place.root
        and (each.place == place or each.place.offset is None or bool(each.place.offset.terms))
    ]


def _wait_at(kernel: Kernel, instruction: int) -> MbarrierStep | None:
    for each in kernel.mbarriers:
        if each.instruction == instruction and each.step is Step.WAIT:
            return each
    return None
