"""The verdict on a launch: what two schedules find, and how much of the kernel they have seen.

First threads first with copies done at once, then last threads first with copies done as late as
possible: of one order alone a lock may be won so that it hides a race.
"""

from dataclasses import dataclass

from fencewright.lowering.code.effects import Kind
from fencewright.simulator.race.detector import Detector
from fencewright.simulator.race.findings import Finding, findings_of
from fencewright.simulator.threads.launch import Launch, Module, Run, execute
from fencewright.simulator.threads.observer import Site

SCHEDULES = (False, True)
"""In order, and in reverse order."""
_ACCESSES = (Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY, Kind.TENSOR)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings of a launch. ``problem``: why it was not executed to its end, or ""."""

    launch: Launch
    findings: tuple[Finding, ...]
    problem: str
    executed: int
    accesses: int
    checked: int

    @property
    def is_race(self) -> bool:
        """True where a finding is an error."""
        return any(each.is_error for each in self.findings)

    @property
    def seen(self) -> str:
        """The launch, the schedules, and the accesses that were executed."""
        noun = "access" if self.accesses == 1 else "accesses"
        return (
            f"{self.launch}, {len(SCHEDULES)} schedules, "
            f"{self.executed} of {self.accesses} {noun} executed"
        )

    def __str__(self) -> str:
        if self.is_race:
            errors = [each.kind for each in self.findings if each.is_error]
            word = "hang" if {*errors} == {"hang"} else "race"
            return f"{word} in this launch ({self.seen})"
        if self.problem:
            return f"not judged: {self.problem}"
        return f"no race in this launch ({self.seen})"


def judge(module: Module, launch: Launch) -> Verdict:
    """Execute a launch in both schedules. Raises ``LaunchError``."""
    findings: dict[tuple[object, ...], Finding] = {}
    problem, checked = "", 0
    executed: list[bool] = []
    sites: tuple[Site, ...] = ()
    for is_reverse in SCHEDULES:
        detector = Detector()
        run = execute(module, launch, detector, is_reverse=is_reverse)
        sites, checked = run.program.sites, checked + detector.accesses
        for each in findings_of(detector, run.outcome):
            findings.setdefault(each.key, each)
        executed = [
            one or other
            for one, other in zip(
                executed or [False] * len(sites), run.machine.executed, strict=True
            )
        ]
        problem = problem or _problem(run)
    accesses = [seen for site, seen in zip(sites, executed, strict=True) if is_access(site)]
    return Verdict(
        launch,
        tuple(
            sorted(findings.values(), key=lambda each: (not each.is_error, each.line, each.text))
        ),
        problem,
        sum(accesses),
        len(accesses),
        checked,
    )


def is_access(site: Site) -> bool:
    """True of an access to memory that others may see."""
    statement = site.instruction.statement
    return statement.kind in _ACCESSES and not statement.opcode.of_parameters


def _problem(run: Run) -> str:
    outcome = run.outcome
    if not outcome.problem:
        return _skipped(run)
    text = outcome.problem
    if outcome.is_outside:
        text = f"out of bounds: {text}"
    if outcome.site is None:
        return text
    site = run.program.sites[outcome.site]
    text = f"{text}, at {site.place} ({site.name})"
    return text if outcome.thread is None else f"{text}, {outcome.thread}"


def _skipped(run: Run) -> str:
    """The first instruction of which nothing is known that it may do to memory."""
    if not run.machine.skipped:
        return ""
    site = run.program.sites[min(run.machine.skipped)]
    return f"what {site.name} does to memory is not checked, at {site.place}"
