"""Rings: mbarriers of one variable that the iterations of a loop use one after the other.

Iteration k of a loop uses the mbarrier at ``offsets[k mod N]``, for the (k div N)-th time. Two
instructions are of one ring if they use the same mbarrier in the same iteration, each of its own
loop: then an mbarrier and a number of times are a number of iterations, and the other way round.
One mbarrier is a ring of size 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.checker.verdicts.expressions import (
    Expressions,
    leaves,
    number_of,
    quotient,
    remainder,
)
from fencewright.checker.verdicts.intervals import is_steady
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Kernel,
    LinearForm,
    Loop,
    MbarrierStep,
    Not,
    Place,
    Region,
    Root,
    Solver,
    Step,
)
from fencewright.checker.verdicts.order.guards import Members
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.value import Apply, Iteration, Result, Value

_MOST_SLOTS = 64
_ANYONE = 900
"""The number of a thread of which a conflict knows nothing."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Mbarriers in the order in which iterations use them, ``offsets`` in bytes from ``root``."""

    root: Root
    offsets: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of iterations after which a loop comes to the same mbarrier."""
        return len(self.offsets)

    def meets(self, other: "Ring") -> bool:
        """True of rings with an mbarrier in common."""
        return self.root == other.root and not set(self.offsets).isdisjoint(other.offsets)


def ring_of(kernel: Kernel, place: Place, around: tuple[Loop, ...]) -> Ring | None:
    """The ring of a place that an instruction in some loops uses; None where it is not known."""
    return kernel.remembered(
        ("ring", place, tuple(loop.head for loop in around)),
        lambda: _ring_of(kernel, place, around),
    )


def _ring_of(kernel: Kernel, place: Place, around: tuple[Loop, ...]) -> Ring | None:
    form = place.offset
    if form is None:
        return None
    if not form.terms:
        return Ring(place.root, (form.constant,))
    used = leaves(value for value, _ in form.terms)
    iterations = {leaf for leaf in used if number_of(leaf) is None}
    if len(around) != 1 or iterations != {around[0].iteration}:
        return None
    e = Expressions(kernel.table)
    iteration = around[0].iteration
    offsets: list[int] = []
    for step in range(_MOST_SLOTS):
        here = {iteration: e.constant(step, iteration.bits)}
        offset = _number(e, form, here)
        if offset is None or offset in offsets[1:]:
            return None
        if offsets and offset == offsets[0]:
            is_ring = all(_is_periodic(value, len(offsets)) for value, _ in form.terms)
            return Ring(place.root, tuple(offsets)) if is_ring else None
        offsets.append(offset)
    return None


def _number(e: Expressions, form: LinearForm, known: dict[Value, Value]) -> int | None:
    total = form.constant
    for value, times in form.terms:
        number = number_of(e.substituted(value, known))
        if number is None:
            return None
        total += times * number
    return total


def _is_periodic(value: Value, size: int) -> bool:
    """True of a value that is the same ``size`` iterations later: it has remainders of iterations
    alone."""
    others = leaves((value,), lambda part: _is_remainder(part, size))
    return not any(isinstance(each, Iteration) for each in others)


def _is_remainder(value: Apply, size: int) -> bool:
    """True of ``it + c`` modulo a number that divides ``size``."""
    if value.operation not in ("urem", "and"):
        return False
    inner, divisor = value.arguments[0], number_of(value.arguments[1])
    if divisor is None:
        return False
    if value.operation == "and":
        divisor += 1
        if divisor & (divisor - 1):
            return False
    if isinstance(inner, Apply) and inner.operation == "add":
        inner = inner.arguments[0] if number_of(inner.arguments[1]) is not None else inner
    return isinstance(inner, Iteration) and divisor > 0 and size % divisor == 0


# Waits


def waits_of(kernel: Kernel, copy: Access | None) -> frozenset[int]:
    """The waits at mbarriers that may be for a copy: at its own, or where copies arrive; None: for
    any."""
    waits = [each for each in kernel.mbarriers if each.step is Step.WAIT]
    counted = copy is not None and copy.agent is Agent.TRANSACTION
    if copy is None or (counted and copy.mbarrier is None):
        return frozenset(each.instruction for each in waits)
    arrivals = [each for each in kernel.mbarriers if each.copies and copy.agent is Agent.COPY]
    places = [(each.place, each.instruction) for each in arrivals]
    if copy.mbarrier is not None:
        places.append((copy.mbarrier, copy.instruction))
    rings = [(place.root, ring_of(kernel, place, kernel.loops_of(n))) for place, n in places]
    return frozenset(
        each.instruction
        for each in waits
        for root, ring in rings
        if _may_be_at(root, ring, each.place.root, _ring_at(kernel, each))
    )


def relays_of(kernel: Kernel, waits: frozenset[int]) -> frozenset[int]:
    """The barriers and other waits by which threads may learn what others have waited for."""

    def follows(number: int) -> bool:
        return any(kernel.may_reach(each, number) for each in waits)

    told = {
        each.place.root
        for each in kernel.mbarriers
        if each.step is Step.ARRIVE and follows(each.instruction)
    }
    return frozenset(
        (
            *(each.instruction for each in kernel.barriers if follows(each.instruction)),
            *(
                each.instruction
                for each in kernel.mbarriers
                if each.step is Step.WAIT and each.place.root in told
            ),
        )
    )


def _ring_at(kernel: Kernel, step: MbarrierStep) -> Ring | None:
    return ring_of(kernel, step.place, kernel.loops_of(step.instruction))


def _may_be_at(root: Root, ring: Ring | None, other: Root, other_ring: Ring | None) -> bool:
    if Region.UNKNOWN in (root.region, other.region):
        return True
    return root == other and (ring is None or other_ring is None or ring.meets(other_ring))


def unawaited(kernel: Kernel, copy: Access, thread: int) -> Constraint | None:
    """The copies among a thread's whose mbarrier nobody ever waits at; None if there are none.

    Where it is not known who arrives at some mbarrier, its waits may be for all that others did.
    """
    place, loops = copy.mbarrier, kernel.loops_of(copy.instruction)
    if place is None or place.rank is not None or place.root.region is Region.UNKNOWN:
        return None
    ring = ring_of(kernel, place, loops)
    steps = [each for each in kernel.mbarriers if each.step in (Step.WAIT, Step.ARRIVE)]
    arrived = {each.place.root for each in steps if each.step is Step.ARRIVE}
    waits = [each for each in steps if each.step is Step.WAIT]
    if ring is None or not arrived.issuperset(each.place.root for each in waits):
        return None
    left = {*ring.offsets}
    for each in waits:
        own = _ring_at(kernel, each)
        if own is None and _may_be_at(place.root, ring, each.place.root, own):
            return None
        left -= {*own.offsets} if own is not None and own.root == ring.root else set[int]()
    if len(left) in (0, ring.size):
        return AllOf(()) if left else None
    e = Expressions(kernel.table)
    slot = remainder(e, loops[0].iteration, ring.size)
    return AnyOf(
        tuple(
            Compare("eq", slot, thread, e.constant(n, slot.bits), thread)
            for n, offset in enumerate(ring.offsets)
            if offset in left
        )
    )


@dataclass(frozen=True, slots=True)
class Waited:
    """The knowledge of a thread that has passed ``wait``: of which iteration the phase is complete.

    In iteration k of ``loop`` it is that of k - ``before``, of which there is none where this is
    negative: 0 or the ring's size. Without a loop, the first phase, or with ``before`` 1 none.
    ``is_first``: of each mbarrier its first phase alone, in whichever iteration.
    """

    wait: MbarrierStep
    ring: Ring
    loop: Loop | None
    before: int
    is_first: bool = False


def waited_by(
    kernel: Kernel, solver: Solver, members: Members, around: tuple[Loop, ...]
) -> Waited | str | None:
    """The knowledge by one of several waits, each iteration of ``around``; or why it is none.

    None where members are no waits. A wait for a parity returns when a phase of that parity was the
    last to complete. The k-th wait of a thread, for the parity of k, so returns after the k-th
    phase: the one before it had completed when the last wait returned. No other wait changes that.
    Source: PTX ISA, mbarrier.test_wait, "phaseParity".
    """
    key = ("waited", members, tuple(loop.head for loop in around))
    return kernel.remembered(key, lambda: _waited_by(kernel, solver, members, around))


def _waited_by(
    kernel: Kernel, solver: Solver, members: Members, around: tuple[Loop, ...]
) -> Waited | str | None:
    waits = [step_at(kernel, number, Step.WAIT) for number, _ in members]
    wait = waits[0]
    if wait is None or any(
        each is None or (each.place, each.phase) != (wait.place, wait.phase) for each in waits
    ):
        return None
    if wait.place.offset is None or wait.place.rank is not None:
        return "an mbarrier whose place is not known"
    if len(around) > 1:
        return "a wait in loops of loops"
    ring = ring_of(kernel, wait.place, around)
    if ring is None:
        return "an mbarrier whose place is not one of a ring"
    loop = around[0] if around else None
    if loop is not None and not is_of_every_iteration(kernel, loop, members):
        return "a wait that not every iteration executes"
    if not wait.is_parity:
        return _by_state(kernel, wait, ring, loop)
    return _by_parity(kernel, solver, wait, ring, loop)


def _by_state(kernel: Kernel, wait: MbarrierStep, ring: Ring, loop: Loop | None) -> Waited | str:
    """A wait for the phase that an arrival of its own thread, before it in its iteration, was
    in."""
    state = wait.phase
    arrival = None
    if isinstance(state, Result):
        arrival = step_at(kernel, state.instruction, Step.ARRIVE)
    if arrival is None or not (
        arrival.instruction == wait.instruction  # It arrives, then waits.
        or kernel.dominates(arrival.instruction, wait.instruction)
    ):
        return "a wait for a state that is not that of one arrival"
    around = kernel.loops_of(arrival.instruction)
    if (
        around != (() if loop is None else (loop,))
        or ring_of(kernel, arrival.place, around) != ring
    ):
        return "a wait for a state that is not that of one arrival"
    return Waited(wait, ring, loop, 0)


def _by_parity(
    kernel: Kernel, solver: Solver, wait: MbarrierStep, ring: Ring, loop: Loop | None
) -> Waited | str:
    if wait.phase is None:
        return "the parity is not known"
    e = Expressions(kernel.table)
    bits = wait.phase.bits
    one = e.constant(1, bits)
    parity = e.apply("and", (wait.phase, one), bits)
    if loop is None:
        number = number_of(parity)
        return "the parity is not known" if number is None else Waited(wait, ring, None, number)
    if (number := number_of(parity)) is not None:
        # One parity in each round is no more than the first phase of it.
        return Waited(wait, ring, loop, number * ring.size, is_first=True)
    if any(leaf is not loop.iteration and number_of(leaf) is None for leaf in leaves((parity,))):
        return "the parity is not known"
    times = e.resized(quotient(e, loop.iteration, ring.size), bits)
    for begins in (0, 1):
        expected = e.apply(
            "and", (e.apply("add", (times, e.constant(begins, bits)), bits), one), bits
        )
        # Of every iteration of any thread, not of those of a conflict alone.
        differs = Not(Compare("eq", parity, _ANYONE, expected, _ANYONE))
        if parity is expected or solver.satisfiable((differs,)) is Answer.UNSATISFIABLE:
            return Waited(wait, ring, loop, begins * ring.size)
    return "the parity does not alternate"


def is_of_every_iteration(kernel: Kernel, loop: Loop, members: Members) -> bool:
    """True where a thread that ever comes to one of ``members`` passes one in each iteration, with
    its condition.

    By the paths of an iteration: those on which no thread goes that comes there are left out.
    """
    conditions: list[set[tuple[Value, bool]]] = [
        {(each.value, each.polarity) for each in kernel.conditions(number) if is_steady(each.value)}
        for number, _ in members
    ]
    common = conditions[0].intersection(*conditions)
    excluded = {(value, not polarity) for value, polarity in common}
    passed = {(each.value, each.polarity) for _, each in members if each is not None}
    there = {
        kernel.block_of[number]
        for number, literal in members
        if literal is None and all(is_steady(each.value) for each in kernel.guards.get(number, ()))
    }

    def following(current: int) -> Iterator[int]:
        for target in () if current in there else kernel.graph.successors[current]:
            literals = kernel.edge_literals.get((current, target), ())
            own = {(each.value, each.polarity) for each in literals}
            if target in loop.blocks and own.isdisjoint(passed) and own.isdisjoint(excluded):
                yield target

    return loop.head not in walk(following(loop.head), following)


def step_at(kernel: Kernel, instruction: int, step: Step) -> MbarrierStep | None:
    """The operation of a kind on an mbarrier that an instruction is."""
    own = kernel.mbarrier_at.get(instruction, ())
    return next((each for each in own if each.step is step), None)
