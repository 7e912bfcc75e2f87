"""The verdict on a launch: the findings of its schedules, and their coverage of the kernel."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.collector import collector_paused
from fencewright.lowering.notebook import html_table
from fencewright.simulator.race.detector import Detector
from fencewright.simulator.race.findings import Finding, findings_of
from fencewright.simulator.race.rules import Fault
from fencewright.simulator.race.schedules import ORDERS, delays
from fencewright.simulator.threads.launch import (
    MOST_TURNS,
    Launch,
    Module,
    Run,
    execute,
    settled,
)
from fencewright.simulator.threads.observer import Site
from fencewright.simulator.threads.plain import order_matters, rounds
from fencewright.simulator.threads.schedule import Schedule

_ACCESSES = (Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY, Kind.TENSOR)


class Judgement(Enum):
    """The word of a verdict."""

    RACE = "race"
    HANG = "hang"
    DIVERGENCE = "barrier divergence"
    EQUAL_VALUES = "race of equal values"
    NO_RACE = "no race in this launch"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Missed:
    """An access that no schedule has executed: its name, its place, its line in the file."""

    name: str
    place: str
    line: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings of a launch. ``problem``: why it was not executed to its end, or "".

    ``missed``: the accesses that no schedule has executed. ``checked``: the accesses of all runs;
    0 where they were not counted.
    """

    launch: Launch
    findings: tuple[Finding, ...]
    problem: str
    schedules: int
    accesses: int
    missed: tuple[Missed, ...]
    checked: int = 0

    @property
    def judgement(self) -> Judgement:
        """The word of the verdict: the worst finding."""
        words = {_JUDGEMENTS.get(each.kind, Judgement.RACE) for each in self.errors}
        for worst in (Judgement.RACE, Judgement.HANG, Judgement.DIVERGENCE):
            if worst in words:
                return worst
        if self.problem:
            return Judgement.NOT_JUDGED
        # PTX knows no benign race; what is read is the same, so that the finding is a warning.
        is_equal = any(each.kind is Fault.SAME_VALUE for each in self.findings)
        return Judgement.EQUAL_VALUES if is_equal else Judgement.NO_RACE

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(each for each in self.findings if each.is_error)

    @property
    def executed(self) -> int:
        """The accesses of the kernel that were executed."""
        return self.accesses - len(self.missed)

    @property
    def seen(self) -> str:
        """The launch, the schedules, and the accesses that were executed."""
        noun = "access" if self.accesses == 1 else "accesses"
        return (
            f"{self.launch}, {self.schedules} schedules, "
            f"{self.executed} of {self.accesses} {noun} executed"
        )

    def __str__(self) -> str:
        word = self.judgement
        if word is Judgement.NOT_JUDGED:
            return f"{word.value}: {self.problem}"
        if word is Judgement.NO_RACE:
            return f"{word.value} ({self.seen})"
        return f"{word.value} in this launch ({self.seen})"

    def _repr_html_(self) -> str:
        rows = (
            ("error" if each.is_error else "warning", each.line, each.instruction, each.text)
            for each in self.findings
        )
        return html_table(str(self), ("level", "line", "instruction", "finding"), rows)


_JUDGEMENTS = {Fault.HANG: Judgement.HANG, Fault.DIVERGENCE: Judgement.DIVERGENCE}
"""The words of findings that are no races."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a launch, and its observer."""

    run: Run
    detector: Detector


def executions(
    module: Module,
    launch: Launch,
    given: Mapping[int, bytes] | None = None,
    limit: int = MOST_TURNS,
    most: int | None = None,
) -> Iterator[Execution]:
    """The runs of a launch: in both orders, then with a delay each, as many as the budget allows.

    One run where each order shows the same. Without delays where they can find nothing: where no
    value that was read has ordered anything, and every access was executed, another winner changes
    values alone.

    ``given``: the bytes that arrays begin with, by argument. ``limit``: turns of threads of a run,
    ``most``: its accesses. Raises ``LaunchError``.
    """

    def execution(schedule: Schedule) -> Execution:
        detector = Detector(most)
        run = execute(module, launch, detector, schedule=schedule, limit=limit, given=given)
        detector.finish()
        return Execution(run, detector)

    first, *others = ORDERS
    in_order = execution(first)
    is_settled, stops = _is_settled(in_order), in_order.run.stops
    yield in_order
    if is_settled:
        return
    ordered, missed = in_order.detector.is_ordered_by_values, _missed(in_order)
    for each in others:
        other = execution(each)
        ordered, missed = ordered or other.detector.is_ordered_by_values, missed & _missed(other)
        yield other
    if not ordered and not missed:
        return
    work = in_order.run.outcome.steps + in_order.detector.accesses
    for each in delays(stops, work):
        yield execution(Schedule(delay=each))


def _is_settled(execution: Execution) -> bool:
    """True where every other order gives the same: see ``plain``."""
    run, detector = execution.run, execution.detector
    if detector.races or detector.is_forgiving or run.machine.cluster != (1, 1, 1):
        return False
    is_clean = not any(findings_of(detector, run.outcome)) and not problem_of(run)
    sites = run.program.sites
    return is_clean and not order_matters(sites) and not rounds(sites)


def _missed(execution: Execution) -> set[int]:
    """The accesses that a run has not executed."""
    run = execution.run
    return {
        site.number
        for site in run.program.sites
        if is_access(site) and not run.machine.executed[site.number]
    }


class _Trial:
    """The runs of a launch, and their findings together."""

    def __init__(self) -> None:
        self.findings: dict[tuple[object, ...], Finding] = {}
        self.executed: set[int] = set()
        self.sites: tuple[Site, ...] = ()
        self.problem = ""
        self.checked = self.runs = 0

    def add(self, execution: Execution) -> None:
        """Add the findings of one run, which is over then."""
        run, detector = execution.run, execution.detector
        self.sites = run.program.sites
        self.runs += 1
        self.checked += detector.accesses
        for each in findings_of(detector, run.outcome):
            self.findings.setdefault(each.key, each)
        self.executed |= {at for at, seen in enumerate(run.machine.executed) if seen}
        self.problem = self.problem or problem_of(run) or _unknown(run, run.machine.unobserved)
        run.machine.close()

    @property
    def goes_on(self) -> bool:
        """True where nothing was found and nothing stopped a run: other orders may find more."""
        return not self.problem and not any(each.is_error for each in self.findings.values())


def judge(module: Module, launch: Launch, given: Mapping[int, bytes] | None = None) -> Verdict:
    """Execute a launch in both orders, then with delays until something is found.

    ``given``: the bytes that arrays begin with, by argument.

    Of a guessed launch only those findings count that do not depend on its sizes and contents, and
    none where it does not fit the kernel. Raises ``LaunchError``.
    """
    _, launch = settled(module, launch)
    assert launch.block is not None
    verdict = None
    if prod(launch.grid) * prod(launch.block) >= FEW_THREADS:
        verdict = judge_by_waves(module, launch, given)
    return judge_by_thread(module, launch, given) if verdict is None else verdict


FEW_THREADS = 2048
"""Fewer are done before the modules that have arrays are loaded."""


def judge_by_waves(
    module: Module, launch: Launch, given: Mapping[int, bytes] | None = None
) -> Verdict | None:
    """The same verdict where nothing is wrong, by all waves together; None where that is not shown.

    It takes NumPy. Raises ``LaunchError``.
    """
    try:
        from fencewright.simulator.race.waves.verdict import shown
    except ModuleNotFoundError as problem:
        if problem.name != "numpy":
            raise
        return None
    _, launch = settled(module, launch)
    found = shown(module, launch, given or {})
    if found is None:
        return None
    return verdict_of(
        launch, (), "", len(ORDERS), _accesses(found.sites), found.executed, found.checked
    )


@collector_paused()
def judge_by_thread(
    module: Module, launch: Launch, given: Mapping[int, bytes] | None = None
) -> Verdict:
    """``judge``, by threads alone: what defines a verdict. Raises ``LaunchError``."""
    _, launch = settled(module, launch)
    trial = _Trial()
    for each in executions(module, launch, given):
        trial.add(each)
        if trial.runs >= len(ORDERS) and not trial.goes_on:
            break
    findings, problem = list(without_explained(trial.findings.values())), trial.problem
    if launch.guessed:
        findings, problem = _under_a_guess(findings, problem)
    accesses = _accesses(trial.sites)
    runs = max(trial.runs, len(ORDERS))
    return verdict_of(launch, findings, problem, runs, accesses, trial.executed, trial.checked)


def _accesses(sites: Iterable[Site]) -> Mapping[int, Missed]:
    return {
        site.number: Missed(site.name, site.place, site.instruction.line)
        for site in sites
        if is_access(site)
    }


def verdict_of(
    launch: Launch, findings: Iterable[Finding], problem: str, runs: int,
    accesses: Mapping[int, Missed], executed: Collection[int], checked: int = 0,
) -> Verdict:  # fmt: skip
    """The verdict on a launch, of either vendor; ``accesses``: by the numbers of instructions."""
    found = sorted(findings, key=lambda each: (not each.is_error, each.line, each.text))
    return Verdict(
        launch,
        tuple(_one_for_each_cause(found)),
        problem,
        runs,
        len(accesses),
        tuple(each for number, each in accesses.items() if number not in executed),
        checked,
    )


def _one_for_each_cause(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding of each cause, a read of an old value first, with the number of the others."""
    by_cause: dict[object, list[Finding]] = {}
    for each in findings:
        by_cause.setdefault(each.key if each.cause is None else each.cause, []).append(each)
    kinds = [*Fault]
    for own in by_cause.values():
        first, *others = sorted(own, key=lambda each: kinds.index(each.kind))
        pairs = "pair" if len(others) == 1 else "pairs"
        more = f" ({len(others)} more {pairs} of lines like this)" if others else ""
        yield replace(first, text=f"{first.text}{more}")


def without_explained(findings: Collection[Finding]) -> Iterator[Finding]:
    """The findings without reads of unwritten memory that a race explains."""
    racing = {place for each in findings if each.other for place in each.key[1:3]}
    for each in findings:
        if each.kind is not Fault.UNWRITTEN or racing.isdisjoint(each.key[1:]):
            yield each


def _under_a_guess(findings: list[Finding], problem: str) -> tuple[list[Finding], str]:
    """The findings that hold for a guessed launch, and the reason that it does not fit."""
    hang = next((each.text for each in findings if each.kind is Fault.HANG), "")
    if problem or hang:
        return [], f"the guessed launch does not fit this kernel ({problem or hang}): give --launch"
    kept = [each for each in findings if not each.needs_launch]
    dropped = [each for each in findings if each.needs_launch]
    hidden = sum(each.is_error for each in dropped)
    hidden = hidden or sum(each.kind is Fault.SAME_VALUE for each in dropped)
    if hidden and not any(each.is_error for each in kept):
        number = "a race" if hidden == 1 else f"{hidden} races"
        return [], f"{number} under guessed sizes or contents: give --launch in full"
    return [replace(each, text=f"{each.text} (guessed launch)") for each in kept], ""


def is_access(site: Site) -> bool:
    """True of an access to memory that others may see."""
    statement = site.instruction.statement
    return statement.kind in _ACCESSES and not statement.opcode.of_parameters


def problem_of(run: Run) -> str:
    """The reason that a run did not end, or may have done more than was executed; "" of others."""
    return run.problem or _unknown(run, run.machine.skipped)


def _unknown(run: Run, sites: Collection[int]) -> str:
    """The first of the instructions whose effect on memory observers do not know."""
    if not sites:
        return ""
    site = run.program.sites[min(sites)]
    return f"what {site.name} does to memory is not checked, at {site.place}"
