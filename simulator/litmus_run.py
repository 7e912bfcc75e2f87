"""Running a litmus test of any language to its outcomes: scoped source, CDNA machine, PTX model.

One answer for all three, so that their outcomes can be printed and compared. Values are unsigned
32-bit words.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from fencewright.lowering.notebook import html_table
from fencewright.simulator.core.condition import (
    And,
    Compare,
    Comparison,
    Condition,
    Formula,
    Outcomes,
)
from fencewright.simulator.core.exploration import DEFAULT_LIMIT, LimitReached, Meter, WorkBudget
from fencewright.simulator.core.program import LitmusTest
from fencewright.simulator.core.progress import Ending, Progress, hang_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fencewright.simulator.cdna.instructions import CdnaInstruction
    from fencewright.simulator.cdna.rows import CdnaConfiguration
    from fencewright.simulator.core.condition import Observable
    from fencewright.simulator.core.liveness import Stagnation
    from fencewright.simulator.core.sequential import Interleaved
    from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
    from fencewright.simulator.ptx.model import PtxModel
    from fencewright.simulator.source.events import ScopedInstruction
    from fencewright.simulator.source.execution import Race


@dataclass(frozen=True, slots=True)
class Limits:
    """The extent of a run: ``states`` of a machine, passes of a loop's head, and random ``walks``.

    Of a model by axioms ``states`` are the steps of the enumeration. With ``walks`` a machine
    or a model is only sampled so many times, from ``seed``. ``meter`` shows the progress of a run.
    """

    states: int = DEFAULT_LIMIT
    bound: int = 2
    walks: int | None = None
    seed: int = 0
    meter: Meter | None = field(default=None, compare=False, repr=False)

    def budget(self) -> WorkBudget:
        """The steps of a run of a model by axioms."""
        work = WorkBudget(self.states)
        if self.meter is not None:
            self.meter.measure(lambda: work.progress)
        return work


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a test.

    ``outcomes`` is None when the source has data ``races``: then it may do anything.
    ``errors`` are mistakes of machine code, as a register used before it was waited for.
    ``states`` counts machine states, 0 for the models by axioms, whose ``steps`` are counted.
    ``incomplete`` says why there may be more outcomes, empty if there are none.
    """

    outcomes: Outcomes | None
    races: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    states: int = 0
    incomplete: str = ""
    steps: int = 0

    def _repr_html_(self) -> str:
        found = self.outcomes
        if found is None:
            rows = ((each,) for each in self.races)
            return html_table("data races: nothing is defined", ("race",), rows)
        heading = "final states" + (f", {self.incomplete}" if self.incomplete else "")
        return html_table(
            heading, tuple(map(str, found.observables)), sorted(found.states, key=str)
        )

    @property
    def never_ends(self) -> bool:
        """True if it is certain that no execution ends."""
        return self.outcomes is not None and not self.ends_at_all and not self.incomplete

    @property
    def ends_at_all(self) -> bool:
        """True if an execution was found in which all threads end."""
        found = self.outcomes
        return found is not None and bool(found.states) and not found.all_wait


@dataclass(frozen=True, slots=True)
class LanguageTest(ABC):
    """A litmus test of one language, with all that can be asked of it."""

    test: LitmusTest[Any]

    @property
    def name(self) -> str:
        """The test's name."""
        return self.test.name

    @property
    def condition(self) -> Condition:
        """The condition that it is judged by."""
        return self.test.condition

    @abstractmethod
    def run(self, limits: Limits) -> Run:
        """Every outcome, as far as ``limits`` allow. Raises ``ProgramError``."""

    @abstractmethod
    def execution(self, formula: Formula, limits: Limits) -> tuple[str, ...] | None:
        """The steps of an execution that ends so that ``formula`` holds; None if there is none."""

    @abstractmethod
    def hangs(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        """The ways in which executions may never end, within ``limits``; the reason of omissions.

        Raises ``LimitReached``.
        """

    def races_of_hangs(self, limits: Limits) -> tuple[str, ...]:
        """The data races of executions that never end, as far as ``limits`` allow."""
        return ()

    @abstractmethod
    def data_races(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        """The data races of the test, as far as ``limits`` allow, and why there may be others."""


@dataclass(frozen=True, slots=True)
class SourceTest(LanguageTest):
    """A test of ``scoped`` operations."""

    test: "LitmusTest[ScopedInstruction]"

    language = "scoped"
    source = None

    def run(self, limits: Limits) -> Run:
        from fencewright.simulator.source.behaviour import behaviour
        from fencewright.simulator.source.model import sampled_behaviour

        program, bound, work = self.test.program, limits.bound, limits.budget()
        if limits.walks is None:
            found = behaviour(program, bound=bound, work=work)
        else:
            found = sampled_behaviour(program, bound=bound, walks=limits.walks, seed=limits.seed)
        races = tuple(map(str, once(found.races)))
        note = _note(found.complete, limits, work)
        return Run(found.outcomes, races, incomplete=note, steps=work.done)

    def data_races(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        found = self.run(limits)
        return found.races, found.incomplete

    def execution(self, formula: Formula, limits: Limits) -> tuple[str, ...] | None:
        from fencewright.simulator.pictures.execution_graph import source_graph
        from fencewright.simulator.source.execution import FULL_MODEL
        from fencewright.simulator.source.witnesses import allowed_witness

        work = limits.budget()
        found = allowed_witness(self.test.program, formula, FULL_MODEL, limits.bound, work)
        if found is None:
            return None
        graph = source_graph(self.test.program, found)
        lines = [
            f"{number:3}  {event}"
            + (f" reads {found.read[number]}" if found.read[number] is not None else "")
            + (f" writes {found.written[number]}" if found.written[number] is not None else "")
            + graph.where(number)
            for number, event in enumerate(found.events)
        ]
        for name, related in found.relations.items():
            lines.append(f"{name:<6}{' '.join(f'{a}->{b}' for a, b in related) or '-'}")
        lines.append("final " + " ".join(f"{each}={value}" for each, value in found.state.items()))
        return (graph.explanation, *lines)

    def hangs(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        from fencewright.simulator.source.events import interleaved
        from fencewright.simulator.source.hangs import stagnation

        program = self.test.program
        return _hangs(
            interleaved(program), limits, lambda work: stagnation(program, limits.bound, work)
        )

    def races_of_hangs(self, limits: Limits) -> tuple[str, ...]:
        from fencewright.simulator.source.hangs import races_of_hangs

        work = WorkBudget(_STAGNANT * limits.states)
        found = races_of_hangs(self.test.program, limits.bound, work)
        return tuple(map(str, once(found.races)))


@dataclass(frozen=True, slots=True)
class CdnaTest(LanguageTest):
    """A test of CDNA instructions on a chip in a mode; ``source`` is the unlowered one."""

    test: "LitmusTest[CdnaInstruction]"
    configuration: "CdnaConfiguration"
    source: SourceTest | None = None

    @property
    def language(self) -> str:
        """The chip and its mode."""
        return self.configuration.name

    def run(self, limits: Limits) -> Run:
        from fencewright.simulator.cdna.machine import CdnaMachine
        from fencewright.simulator.cdna.symmetry import SymmetricEngine
        from fencewright.simulator.core.exploration import explore, random_walks

        program, configuration = self.test.program, self.configuration
        if limits.walks is None:
            found = explore(SymmetricEngine(program, configuration), limits.states, limits.meter)
        else:
            machine = CdnaMachine(program, configuration)
            found = random_walks(machine, limits.walks, seed=limits.seed)
        errors = tuple(sorted(found.errors))
        return Run(found.outcomes, (), errors, found.states, "" if found.complete else found.note)

    def execution(self, formula: Formula, limits: Limits) -> tuple[str, ...] | None:
        from fencewright.simulator.cdna.trace import find_counterexample

        program, configuration = self.test.program, self.configuration
        found = find_counterexample(program, formula, configuration, limits.states)
        return None if found is None else tuple(str(found).splitlines())

    def data_races(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        # A plain access is an atomic one as well: the source says which of them may race.
        if self.source is not None:
            return self.source.data_races(limits)
        from fencewright.simulator.race.amd.litmus import races_of

        return races_of(self.test.program, self.configuration)

    def hangs(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        return stuck_waves(self, limits), ""


@dataclass(frozen=True, slots=True)
class PtxTest(LanguageTest):
    """A test of PTX instructions; ``observed`` are the observables of its outcomes, None for all.

    ``shared`` are the locations in shared memory, which to the model are like all others;
    ``source`` is what it was lowered from.
    """

    test: "PtxLitmusTest"
    model: "PtxModel"
    observed: "tuple[Observable, ...] | None" = None
    shared: frozenset[str] = frozenset()
    source: SourceTest | None = None

    @property
    def language(self) -> str:
        """The version of the model."""
        return f"PTX model {self.model.name}"

    def run(self, limits: Limits) -> Run:
        from fencewright.simulator.ptx.early_uses import early_uses
        from fencewright.simulator.ptx.model import sampled_outcomes
        from fencewright.simulator.ptx.outcomes import outcomes

        program, bound, work = self.test.program, limits.bound, limits.budget()
        if limits.walks is None:
            found = outcomes(program, self.model, bound, work)
        else:
            found = sampled_outcomes(program, self.model, bound, limits.walks, limits.seed)
        observed = self.observed or self.condition.formula.observables()
        found, errors = early_uses(program, found, observed)
        if self.observed is not None:
            found = found.project(self.observed)
        note = _note(found.complete, limits, work)
        return Run(found, (), errors, incomplete=note, steps=work.done)

    def data_races(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        from fencewright.simulator.ptx.formats.columns import instruction_text
        from fencewright.simulator.ptx.model import data_races

        work = limits.budget()
        found, is_complete = data_races(self.test.program, self.model, limits.bound, work)
        threads = self.test.program.threads

        def access(place: tuple[int, int]) -> str:
            thread, position = place
            return f"P{thread}, '{instruction_text(threads[thread].instructions[position])}'"

        races = tuple(
            f"{each.location}: {access(each.first)} and {access(each.second)}"
            for each in sorted(found)
        )
        return races, "" if is_complete else _note(False, limits, work)

    def execution(self, formula: Formula, limits: Limits) -> tuple[str, ...] | None:
        from fencewright.simulator.pictures.execution_graph import ptx_graph
        from fencewright.simulator.ptx.formats.columns import witness_text
        from fencewright.simulator.ptx.witnesses import allowed_witness

        work = limits.budget()
        found = allowed_witness(self.test.program, formula, self.model, limits.bound, work)
        if found is None:
            return None
        graph = ptx_graph(self.test, found)
        lines = witness_text(self.test, found).splitlines()
        located = (f"{line}{graph.where(n)}" for n, line in enumerate(lines))
        return (graph.explanation, *located)

    def hangs(self, limits: Limits) -> tuple[tuple[str, ...], str]:
        from fencewright.simulator.ptx.events import interleaved
        from fencewright.simulator.ptx.formats.columns import instruction_text
        from fencewright.simulator.ptx.hangs import stagnation

        program, model = self.test.program, self.model
        return _hangs(
            interleaved(program, instruction_text),
            limits,
            lambda work: stagnation(program, model, limits.bound, work),
        )


RunnableTest = SourceTest | CdnaTest | PtxTest


def _hangs(
    program: "Interleaved | None",
    limits: Limits,
    weaker: "Callable[[WorkBudget], Stagnation]",
) -> tuple[tuple[str, ...], str]:
    """The ways in which executions may never end: by interleavings, if so, or by ``weaker``
    executions."""
    from fencewright.simulator.core.sequential import sequential_hangs

    if program is not None and program.is_straight:
        return (), ""
    stagnation = weaker(WorkBudget(_STAGNANT * limits.states))
    is_decided = stagnation.hang is not None or not stagnation.why
    steps = program is not None and program.in_steps
    if program is not None and steps and not (is_decided and stagnation.hang is None):
        with suppress(LimitReached):
            found = sequential_hangs(program, _LEAST_SEARCH if is_decided else limits.states)
            if found:
                return hang_texts(found), ""
    return hang_texts(() if stagnation.hang is None else (stagnation.hang,)), stagnation.why


def once(races: "Iterable[Race]") -> "Iterator[Race]":
    """Races, but of threads that run the same code one of those between the same two accesses."""
    seen: set[tuple[str, frozenset[object]]] = set()
    for race in sorted(races, key=lambda race: (race.location, race.key, str(race))):
        between = frozenset(
            each.place or (each.thread, each.position) for each in (race.first, race.second)
        )
        if (race.location, between) not in seen:
            seen.add((race.location, between))
            yield race


def _note(complete: bool, limits: Limits, work: WorkBudget) -> str:
    if limits.walks is not None:
        return f"{limits.walks} random walks"
    loops = "" if complete else f"loops were followed {limits.bound} times; raise the bound"
    return work.note() or loops


_LEAST_SEARCH = 5_000
"""The states that may always be looked at for unrequested answers: a tenth of a second of them."""


def _affordable(found: Run) -> int:
    """The extent of a search that no user asked for: that of the run itself."""
    return max(_LEAST_SEARCH, found.states, found.steps)


_STAGNANT = 4
"""The number of steps allowed for stagnant graphs for each one afforded: of a run in which no
thread waits there are more graphs with waiting threads than without.
"""


def run(test: RunnableTest, limits: Limits | None = None) -> Run:
    """Every outcome of ``test``, as far as ``limits`` allow. Raises ``ProgramError``."""
    return test.run(Limits() if limits is None else limits)


def with_hangs(test: RunnableTest, found: Run, ends: Progress | None, limits: Limits) -> Run:
    """A run with the data races that only executions show which never end, if some do not."""
    if ends is None or not ends.hangs_at_all or found.outcomes is None:
        return found
    races = test.races_of_hangs(limits)
    return replace(found, outcomes=None, races=races) if races else found


@dataclass(frozen=True, slots=True)
class SourceRaces:
    """The data races of a lowered test's source; the reason that there may be more, empty if there
    are none."""

    races: tuple[str, ...] = ()
    incomplete: str = ""


def races_of_source(
    test: RunnableTest, found: Run, ends: Progress | None, limits: Limits
) -> SourceRaces | None:
    """The data races of a lowered test's source, which the test itself may not show.

    As far as looking for them costs no more than the run ``found``, and without executions where
    no two accesses can race; None where there is no source. Raises ``ProgramError``.
    """
    if test.source is None:
        return None
    # Here, for tests in columns have no source.
    from fencewright.simulator.source.events import check, racing

    check(test.source.test.program)
    if not racing(test.source.test.program):
        return SourceRaces()
    afforded = replace(limits, states=_affordable(found), walks=None)
    executed = with_hangs(test.source, run(test.source, afforded), ends, afforded)
    return SourceRaces(executed.races, executed.incomplete)


# Executions that show an outcome


def formula_of(outcomes: Outcomes, state: tuple[int | None, ...]) -> Formula:
    """The formula that holds of one final state; an unset observable is left open."""
    return And(
        tuple(
            Compare(Comparison.EQ, each, value)
            for each, value in zip(outcomes.observables, state, strict=True)
            if value is not None
        )
    )


def execution(
    test: RunnableTest, formula: Formula, limits: Limits | None = None
) -> tuple[str, ...] | None:
    """The steps of an execution that ends so that ``formula`` holds; None if there is none.

    Raises ``LimitReached`` when the limits are not enough to know.
    """
    return test.execution(formula, Limits() if limits is None else limits)


# The termination of executions


def stuck_waves(test: CdnaTest, limits: Limits | None = None) -> tuple[str, ...]:
    """The ways in which fair executions of a CDNA test may never end; () if each one ends.

    Raises ``LimitReached``.
    """
    from fencewright.simulator.cdna.progress import stuck

    limits = Limits() if limits is None else limits
    return hang_texts(stuck(test.test.program, test.configuration, limits.states))


def afforded(found: Run, limits: Limits) -> Limits:
    """The extent of a search for endless executions that no user asked for: about the run's."""
    return replace(limits, states=_affordable(found))


def progress(test: RunnableTest, found: Run, limits: Limits | None = None) -> Progress:
    """The termination of the executions of a test, as far as ``limits`` allow.

    Without them as far as it costs about as much as the run ``found``. On the CDNA machine
    executions have no help from the caches; in the models by axioms memory is fair
    (``stagnation``).
    """
    try:
        hangs, why = test.hangs(afforded(found, Limits()) if limits is None else limits)
    except LimitReached as reached:
        hangs, why = (), str(reached)
    blocked = found.outcomes is not None and found.outcomes.some_wait
    if blocked and not hangs:
        hangs = ("a thread waits for ever at a barrier; what it never sets is '-'",)
    if found.never_ends:
        return Progress(Ending.NEVER if hangs or why else Ending.NONE, hangs, why, blocked)
    if hangs:
        open_ = "" if found.ends_at_all else found.incomplete
        return Progress(Ending.MAY_HANG, hangs, open_, blocked)
    return Progress(Ending.UNDECIDED if why else Ending.ALWAYS, (), why)


# A lowering against its source


@dataclass(frozen=True, slots=True)
class Refinement:
    """The comparison of the outcomes of a lowered test with those of its source.

    ``forbidden`` are final states that the lowered test reaches and the source forbids;
    ``counterexample`` has the steps to the first of them. ``undecided`` says why nothing could
    be decided. Neither of them, no ``races`` and no ``errors``: the lowering is sound.
    """

    source: Run
    target: Run
    forbidden: Outcomes | None = None
    counterexample: tuple[str, ...] = ()
    undecided: str = ""

    @property
    def is_sound(self) -> bool:
        """True if every outcome of the target is one of the source."""
        problems = self.source.races or self.target.errors or self.undecided
        return not problems and self.forbidden is None


def refines(source: SourceTest, target: RunnableTest, limits: Limits | None = None) -> Refinement:
    """The comparison of the outcomes of ``target`` with those of ``source``.

    Sound conclusions from incomplete runs are drawn: what an incomplete source allows is
    allowed, what an incomplete target reaches is reached. Only the target is sampled where
    ``limits`` ask for that. Raises ``ProgramError``.
    """
    limits = Limits() if limits is None else limits
    meant = run(source, replace(limits, walks=None))
    does = run(target, limits)
    if meant.outcomes is None or does.errors:
        return Refinement(meant, does)
    extra = forbidden(meant, does)
    if extra is None:
        return Refinement(meant, does, undecided=does.incomplete)
    if meant.incomplete:
        return Refinement(meant, does, undecided=f"of the source, {meant.incomplete}")
    return Refinement(meant, does, extra, _shown(target, extra, limits))


def forbidden(meant: Run, does: Run) -> Outcomes | None:
    """The outcomes of ``does`` that ``meant`` does not have; None if there are none.

    Both must have outcomes: ``meant`` no races, ``does`` no errors.
    """
    assert meant.outcomes is not None
    assert does.outcomes is not None
    reached = does.outcomes.project(meant.outcomes.observables)
    extra = reached.states - meant.outcomes.states
    return Outcomes(reached.observables, extra) if extra else None


def _shown(target: RunnableTest, forbidden: Outcomes, limits: Limits) -> tuple[str, ...]:
    for state in _ordered(forbidden):
        try:
            steps = execution(target, formula_of(forbidden, state), limits)
        except LimitReached as reached:
            return (str(reached),)
        if steps is not None:
            return steps
    raise AssertionError(f"no execution of {target.name} reaches an outcome that it has")


def _ordered(outcomes: Outcomes) -> Iterable[tuple[int | None, ...]]:
    return sorted(outcomes.states, key=lambda state: [value or 0 for value in state])
