"""Arrivals at mbarriers: which threads arrive in each phase, and whether that is each phase once.

An mbarrier that counts as many arrivals as threads may make in a phase, one each, completes the
n-th phase when all of them have arrived for the n-th time. That a thread arrives once in a phase
follows from what it waits for between two arrivals: that phase, a barrier of all, or a phase of
another mbarrier at which who arrives has waited for it. A thread that has arrived once before a
loop at each mbarrier of a ring is a round ahead in it. Source: PTX ISA, mbarrier, "Phase of the
mbarrier object"; "Arrive-on operation on mbarrier object".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fencewright.checker.verdicts.arithmetic import sums_of_threads
from fencewright.checker.verdicts.expressions import Expressions, number_of
from fencewright.checker.verdicts.interpretation import RANK
from fencewright.checker.verdicts.intervals import full_barriers, is_steady
from fencewright.checker.verdicts.model import (
    Answer,
    Compare,
    Holds,
    Kernel,
    Literal,
    Loop,
    MbarrierStep,
    Solver,
    Step,
)
from fencewright.checker.verdicts.order.guards import implied
from fencewright.checker.verdicts.order.rings import (
    Ring,
    Waited,
    is_of_every_iteration,
    ring_of,
    waited_by,
)
from fencewright.lowering.code.value import Thread, Value
from fencewright.lowering.vocabulary import Scope

_MANY = 1 << 20
_ANYONE = (910, 911)
"""The numbers of two threads of which a conflict knows nothing."""
_LANES = 32
_ELECTED = "%elect"


def arrivals_at(kernel: Kernel, ring: Ring) -> list[MbarrierStep]:
    """The arrivals at the mbarriers of a ring, or at others that may be of it."""
    return [*_steps(kernel, ring, Step.ARRIVE)]


def _steps(kernel: Kernel, ring: Ring, step: Step) -> Iterator[MbarrierStep]:
    for each in kernel.mbarriers:
        if each.step is step and each.place.root == ring.root:
            own = ring_of(kernel, each.place, kernel.loops_of(each.instruction))
            if own is None or own.meets(ring):
                yield each


def arrivers(arrival: MbarrierStep) -> tuple[Literal, ...]:
    """The conditions on the threads that ever arrive, the same at all times."""
    return tuple(each for each in arrival.conditions if is_steady(each.value))


def loop_of(kernel: Kernel, instruction: int) -> Loop | None:
    """The loop around an instruction that is in one at most."""
    around = kernel.loops_of(instruction)
    return around[0] if around else None


@dataclass(frozen=True, slots=True)
class Turn:
    """The phases that an instruction has a part in: of the mbarrier that iterations of ``loop``
    use, so many of them ``ahead``; without a loop the first phase of the ``slot`` of a ring."""

    loop: Loop | None
    ahead: int = 0
    slot: int = 0


def turn_of(kernel: Kernel, ring: Ring, arrival: MbarrierStep) -> Turn | None:
    """The phases that an arrival at a mbarrier of a ring has a part in; None: not known."""
    around = kernel.loops_of(arrival.instruction)
    own = ring_of(kernel, arrival.place, around)
    if len(around) > 1 or own is None:
        return None
    if around:
        before = _begun_by(kernel, ring)
        is_ahead = any(each == arrival for each in before.values())
        return Turn(around[0], ring.size * is_ahead) if own == ring else None
    if own == ring or (own.meets(ring) and arrival in _begun_by(kernel, ring)):
        return Turn(None, 0, ring.offsets.index(own.offsets[0]))
    return None


def _begun_by(kernel: Kernel, ring: Ring) -> Mapping[MbarrierStep, MbarrierStep]:
    """The arrivals before a loop, each with that of the loop whose threads have made it: at each
    mbarrier of a ring once."""
    return kernel.remembered(("begun", ring), lambda: _found_begun_by(kernel, ring))


def _found_begun_by(kernel: Kernel, ring: Ring) -> Mapping[MbarrierStep, MbarrierStep]:
    every = arrivals_at(kernel, ring)
    once = [each for each in every if not kernel.loops_of(each.instruction)]
    found: dict[MbarrierStep, MbarrierStep] = {}
    for arrival in every:
        around = kernel.loops_of(arrival.instruction)
        if len(around) != 1 or ring_of(kernel, arrival.place, around) != ring:
            continue
        own = [each for each in once if each not in found and _begins(kernel, each, arrival)]
        slots = [each.place.offset.constant for each in own if each.place.offset is not None]
        if sorted(slots) == sorted(ring.offsets):
            found |= dict.fromkeys(own, arrival)
    return found


def _begins(kernel: Kernel, once: MbarrierStep, arrival: MbarrierStep) -> bool:
    """True of an arrival that the threads of another one, in a loop, have made before that."""
    most = kernel.most_threads
    return (
        once.place.rank is None
        and arrival.place.rank is None
        and implied(once.conditions, arrival.conditions)
        and _most_of(kernel, once, most) == _most_of(kernel, arrival, most)
        and not kernel.may_reach(arrival.instruction, once.instruction)
        and kernel.all_paths_pass(
            None, arrival.instruction, once.instruction.__eq__, arrival.conditions
        )
    )


def doubt_of_arrivals(
    kernel: Kernel, solver: Solver, ring: Ring, assumed: frozenset[Ring] = frozenset()
) -> str:
    """The reason why a phase may complete without one of its arrivals; "" if none does.

    ``assumed``: rings of which nothing is doubted. Where two rings each rest on the other, the
    first arrival that comes too early would need one before it.
    """
    arrivals = arrivals_at(kernel, ring)
    for each in arrivals:
        if len(kernel.loops_of(each.instruction)) > 1:
            return "an arrival in loops of loops"
        if turn_of(kernel, ring, each) is None:
            return "arrivals at mbarriers that are not of one ring"
        if each.copies:
            return "arrivals that copies make"
        if each.drops:
            return "an arrival that takes part no more"
        if each.place.rank is not None and not _is_of_one_cta(kernel, solver, each):
            return "arrivals of several CTAs of the cluster"
    before = _begun_by(kernel, ring)
    arrivals = [each for each in arrivals if each not in before]
    count = _count_of(kernel, ring)
    if count is None:
        return "the count of an mbarrier is not known"
    if not _is_count_of_all(kernel, count, arrivals, solver.most_threads):
        return "more threads may arrive than an mbarrier counts"
    if any(_waits_for_itself(kernel, solver, ring, each) for each in arrivals):
        return "a phase that those who arrive in it wait for never completes"
    most = sum(_most_of(kernel, each, solver.most_threads) for each in arrivals)
    if most == 1 or ring in assumed:
        return ""
    if all(_is_paced(kernel, solver, ring, each, assumed | {ring}) for each in arrivals):
        return ""
    return "a thread may arrive twice in a phase"


# Counts


def _count_of(kernel: Kernel, ring: Ring) -> Value | None:
    """The arrivals that every mbarrier of a ring counts; None where that is not known, or is not
    set."""
    counts = set[Value]()
    covered = set[int]()
    for each in (*_steps(kernel, ring, Step.ARRIVE), *_steps(kernel, ring, Step.WAIT)):
        if each.expected is not None:
            counts.add(each.expected)
            covered |= {*ring.offsets}
    for init in kernel.mbarriers:
        if init.step is not Step.INIT or init.place.root != ring.root or init.count is None:
            continue
        own = ring_of(kernel, init.place, kernel.loops_of(init.instruction))
        if own is None:
            covered |= {*ring.offsets}  # In a loop over a variable: it may be all.
        elif not own.meets(ring):
            continue
        else:
            covered |= {*own.offsets}
        counts.add(init.count)
    return counts.pop() if len(counts) == 1 and covered >= {*ring.offsets} else None


def _is_count_of_all(
    kernel: Kernel, count: Value, arrivals: Iterable[MbarrierStep], threads: int
) -> bool:
    """True where all threads that may arrive in a phase are not more than an mbarrier counts."""
    every = [*arrivals]
    number = number_of(count)
    if number is not None:
        return sum(_most_of(kernel, each, threads) for each in every) <= number
    e = Expressions(kernel.table)
    size = kernel.table.constant("%ntid.x", 32)
    is_all = count is e.resized(size, count.bits) and not _has_rows(kernel)
    return is_all and len(every) == 1 and _weight(every[0]) == 1


def _is_of_one_cta(kernel: Kernel, solver: Solver, arrival: MbarrierStep) -> bool:
    """True where the threads that arrive at a CTA's mbarrier are all of one CTA of its cluster."""
    rank = arrival.place.rank
    if rank is None:
        return True
    one, other = _ANYONE
    own = kernel.table.constant(RANK, rank.bits)
    both = (Holds(each, thread) for each in arrivers(arrival) for thread in _ANYONE)
    same = Compare("eq", rank, one, rank, other)
    several = solver.satisfiable((*both, same, Compare("ne", own, one, own, other)))
    return several is Answer.UNSATISFIABLE


def _weight(arrival: MbarrierStep) -> int:
    """The arrivals that one counts for; a number that is not known is too many."""
    if arrival.count is None:
        return 1
    return number_of(arrival.count) or _MANY


def _most_of(kernel: Kernel, arrival: MbarrierStep, threads: int) -> int:
    """The most arrivals that so many threads make by executing an arrival once each."""
    key = ("arrivers", arrival.instruction, threads)
    return _weight(arrival) * kernel.remembered(key, lambda: _threads_of(kernel, arrival, threads))


def _threads_of(kernel: Kernel, arrival: MbarrierStep, threads: int) -> int:
    """The number of the threads of a CTA that satisfy the conditions on their index alone."""
    e = Expressions(kernel.table)
    conditions = arrivers(arrival)
    if _has_rows(kernel):
        return 1 if _is_of_first(e, conditions) and arrival.expected is None else threads
    arrive = [n for n in sums_of_threads(kernel, (), conditions) or () if n < threads]
    if arrival.expected is None and not any(map(_is_election, conditions)):
        return len(arrive)
    warps = len({thread // _LANES for thread in arrive})
    # A barrier counts whole warps. Source: PTX ISA, bar.
    return warps if arrival.expected is None else warps * _LANES


def _has_rows(kernel: Kernel) -> bool:
    """True of a kernel that tells threads apart by more than their x."""
    return any(f"%{kind}.{d}" in kernel.specials for kind in ("tid", "ntid") for d in "yz")


def _is_of_first(e: Expressions, conditions: Iterable[Literal]) -> bool:
    """True where the index of a thread in each dimension is compared with a constant."""
    fixed = {
        leaf.name
        for each in conditions
        if each.polarity
        for name in ("%tid.x", "%tid.y", "%tid.z")
        for leaf in [e.table.thread(name, 32)]
        if isinstance(leaf, Thread) and _is_equal_to_number(each.value, leaf)
    }
    return len(fixed) == len("xyz")


def _is_equal_to_number(value: Value, leaf: Value) -> bool:
    arguments = getattr(value, "arguments", ())
    return (
        getattr(value, "operation", "") == "eq"
        and leaf in arguments
        and any(number_of(each) is not None for each in arguments)
    )


def _is_election(literal: Literal) -> bool:
    return literal.polarity and isinstance(literal.value, Thread) and literal.value.name == _ELECTED


# Paces


def _is_paced(
    kernel: Kernel, solver: Solver, ring: Ring, arrival: MbarrierStep, assumed: frozenset[Ring]
) -> bool:
    """True where a thread that arrives has, since its last arrival at the mbarrier, learned that
    the phase of that one is complete."""
    loop = loop_of(kernel, arrival.instruction)
    if loop is None:
        return True
    if arrival.place.rank is not None:
        return False  # What it waits for is its own CTA's.
    barriers = full_barriers(kernel, Scope.WORKGROUP)
    own, left = arrival.instruction, ring.size - _ahead(kernel, ring, arrival)
    if left and is_of_every_iteration(kernel, loop, ((own, None),)):
        if kernel.all_paths_pass(own, own, lambda number: number in barriers):
            return True
    for waited, ago in _waits_known(kernel, solver, arrival):
        if waited.ring == ring:
            if waited.before <= left - ago * ring.size:
                return True
        elif waited.ring.size == ring.size:
            most = left - waited.before - ago
            if _is_paced_by(kernel, solver, ring, waited.ring, most, assumed):
                return True
    return False


def _ahead(kernel: Kernel, ring: Ring, arrival: MbarrierStep) -> int:
    turn = turn_of(kernel, ring, arrival)
    return 0 if turn is None else turn.ahead


def _is_paced_by(
    kernel: Kernel,
    solver: Solver,
    ring: Ring,
    waited: Ring,
    most: int,
    assumed: frozenset[Ring],
) -> bool:
    """True where some that arrive in a phase that is waited for have waited for this ring's phase
    before, ``most`` iterations ago."""
    return any(
        other.ring == ring and other.before + earlier + _ahead(kernel, waited, arrival) <= most
        for arrival in arrivals_at(kernel, waited)
        if arrival.place.rank is None and _most_of(kernel, arrival, solver.most_threads)
        for other, earlier in _waits_known(kernel, solver, arrival)
    ) and not doubt_of_arrivals(kernel, solver, waited, assumed)


def _waits_for_itself(kernel: Kernel, solver: Solver, ring: Ring, arrival: MbarrierStep) -> bool:
    """True of an arrival whose thread has waited for the phase that it arrives in, or for one of
    another ring of which an arrival has."""
    for waited in _waits_above(kernel, solver, arrival):
        if waited.before or arrival.place.rank is not None or _ahead(kernel, ring, arrival):
            continue
        if waited.ring == ring:
            return True
        for other in arrivals_at(kernel, waited.ring):
            own = _waits_above(kernel, solver, other)
            if (
                other.place.rank is None
                and not _ahead(kernel, waited.ring, other)
                and any(each.ring == ring and not each.before for each in own)
            ):
                return True
    return False


def _waits_above(kernel: Kernel, solver: Solver, arrival: MbarrierStep) -> Iterator[Waited]:
    """The waits of every iteration that a thread passes before an arrival in it."""
    return (waited for waited, ago in _waits_known(kernel, solver, arrival) if not ago)


def _waits_known(
    kernel: Kernel, solver: Solver, arrival: MbarrierStep
) -> Iterator[tuple[Waited, int]]:
    """The waits that a thread has passed when it arrives, of its iteration or of the one before:
    0 or 1 ago."""
    own, loop = arrival.instruction, loop_of(kernel, arrival.instruction)
    for waited, mark in () if loop is None else _waits_in(kernel, solver, loop):
        is_itself = waited.wait.instruction == own  # It arrives, then waits.
        if not is_itself and (mark == own or kernel.dominates(mark, own)):
            yield waited, 0
        elif is_itself or kernel.all_paths_pass(own, own, mark.__eq__, arrivers(arrival)):
            yield waited, 1


def _waits_in(kernel: Kernel, solver: Solver, loop: Loop) -> Iterator[tuple[Waited, int]]:
    """The waits of every iteration of a loop, with an instruction that only passed threads run."""
    for group in kernel.sync_groups:
        around = kernel.loops_around(group.block)
        if around != (loop,) or not kernel.instructions[group.block]:
            continue
        waited = waited_by(kernel, solver, group.members, around)
        if isinstance(waited, Waited) and not waited.is_first:
            yield waited, kernel.instructions[group.block][0]
    for step in kernel.mbarriers:
        if step.step is Step.WAIT and step.retries:
            around = kernel.loops_of(step.instruction)
            waited = waited_by(kernel, solver, ((step.instruction, None),), around)
            if around == (loop,) and isinstance(waited, Waited) and not waited.is_first:
                yield waited, step.instruction
