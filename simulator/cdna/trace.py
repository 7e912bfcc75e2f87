"""Counterexamples: a path to an outcome, step by step, on the plain CDNA machine.

The engine finds the outcome and in which order operations are issued and performed; the plain
machine then follows that order and fills in what the caches do in between. That it can is a
check of the engine: a trace of the plain machine needs no trust in any reduction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import MachineEvent, MachineEventKind, State
from fencewright.simulator.cdna.trace_explainer import explanation_of
from fencewright.simulator.cdna.wave import StepKind
from fencewright.simulator.core.condition import Formula, Observable
from fencewright.simulator.core.exploration import DEFAULT_LIMIT, Trace, shortest_trace

_FOLLOWED = (
    MachineEventKind.ISSUE,
    MachineEventKind.HIT,
    MachineEventKind.PERFORM,
    MachineEventKind.BARRIER,
    MachineEventKind.REQUEST,
    MachineEventKind.PHASE,
)
_REGISTER_CODES = (StepKind.MOVE, StepKind.ARITHMETIC, StepKind.BRANCH)
_ASKED_FOR = (*_FOLLOWED, MachineEventKind.LOCAL, MachineEventKind.MARKER)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An execution of the plain machine: ``trace`` over the states of ``machine``."""

    machine: CdnaMachine
    trace: Trace[State, MachineEvent]

    @property
    def outcome(self) -> dict[Observable, int]:
        """The final registers and memory."""
        return dict(zip(self.machine.observables, self.trace.outcome, strict=True))

    @property
    def explanation(self) -> str:
        """The fault, in one sentence."""
        return explanation_of(self.machine, self.trace.events, self.trace.states)

    @property
    def steps(self) -> tuple[str, ...]:
        """Each step with the place of its instruction, if that is known."""
        return tuple(self._step(event) for event in self.trace.events)

    def _step(self, event: MachineEvent) -> str:
        described = self.machine.describe_event(event)
        if event.number < 0:
            return described
        place = self.machine.compiled.place(self.machine.compiled.by_number[event.number])
        if place is None:
            return described
        return f"{described}  ({f'line {place.line}' if self._is_of_one_file else place})"

    @property
    def _is_of_one_file(self) -> bool:
        threads = self.machine.compiled.program.threads
        return len({place.file for each in threads for place in each.places if place}) == 1

    @property
    def register_steps(self) -> frozenset[int]:
        """The numbers, from 1, of the steps that touch nothing but the registers of a wave."""
        by_number = self.machine.compiled.by_number
        return frozenset(
            number
            for number, event in enumerate(self.trace.events, 1)
            if event.kind is MachineEventKind.LOCAL
            and by_number[event.number].code in _REGISTER_CODES
        )

    def __str__(self) -> str:
        """The explanation; then one step a line, those in registers folded; then the outcome."""
        outcome = " ".join(f"{each}={value}" for each, value in self.outcome.items())
        return "\n".join((self.explanation, *self._folded(), f"     {outcome}"))

    def _folded(self) -> Iterator[str]:
        folded: list[int] = []
        for number, step in enumerate((*self.steps, ""), 1):
            if number in self.register_steps:
                folded.append(number)
                continue
            if folded:
                noun = "step" if len(folded) == 1 else "steps"
                yield f"     ({len(folded)} {noun} in registers)"
                folded = []
            if step:
                yield f"{number:3}  {step}"


def find_counterexample(
    program: CdnaProgram,
    formula: Formula,
    configuration: CdnaConfiguration | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Counterexample | None:
    """A short execution to a final state in which ``formula`` holds; None if there is none.

    Raises ``LimitReached`` when ``limit`` states are not enough to know.
    """
    observables = program.observables()

    def wanted(outcome: tuple[int, ...]) -> bool:
        return formula.holds(dict(zip(observables, outcome, strict=True)))

    return find_execution(program, wanted, configuration, limit)


def find_execution(
    program: CdnaProgram,
    wanted: Callable[[tuple[int, ...]], bool],
    configuration: CdnaConfiguration | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Counterexample | None:
    """As ``find_counterexample``, for outcomes in the order of the program's observables."""
    guide = shortest_trace(CdnaEngine(program, configuration), wanted, limit)
    if guide is None:
        return None
    machine = CdnaMachine(program, configuration)
    order = [event for event in guide.events if event.kind in _FOLLOWED]
    for anywhere in (False, True):
        trace = shortest_trace(_Follower(machine, order, guide.outcome, anywhere), wanted, limit)
        if trace is not None:
            states = tuple(state for state, _ in trace.states)
            return Counterexample(machine, Trace(trace.events, states, trace.outcome))
    raise AssertionError(f"the plain machine cannot follow the engine to {guide.outcome}")


class _Follower:
    """The plain machine held to an order of issues and performances.

    Cache activity is free; without ``anywhere`` only on the line that comes next in the order,
    or that has a marker to let through.
    """

    def __init__(
        self,
        machine: CdnaMachine,
        order: list[MachineEvent],
        outcome: tuple[int, ...],
        anywhere: bool,
    ):
        self.machine = machine
        self.order = order
        self.outcome = outcome
        self.anywhere = anywhere
        self.observables = machine.observables

    def initial(self) -> tuple[State, int]:
        return self.machine.initial(), 0

    def successors(self, state: tuple[State, int]) -> list[tuple[tuple[State, int], MachineEvent]]:
        now, position = state
        following = self.order[position] if position < len(self.order) else None
        steps = self.machine.successors(now)
        busy = {event.line for _, event in steps if event.kind is MachineEventKind.MARKER}
        if following is not None:
            busy.add(following.line)
        result: list[tuple[tuple[State, int], MachineEvent]] = []
        for after, event in steps:
            if event.kind in _FOLLOWED:
                if event == following:
                    result.append(((after, position + 1), event))
            elif self.anywhere or event.kind in _ASKED_FOR or event.line in busy:
                result.append(((after, position), event))
        return result

    def final(self, state: tuple[State, int]) -> list[tuple[int, ...]]:
        return [each for each in self.machine.final(state[0]) if each == self.outcome]

    def errors(self, state: tuple[State, int]) -> list[str]:
        return self.machine.errors(state[0])
