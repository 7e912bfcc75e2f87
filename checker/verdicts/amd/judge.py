"""One function of AMD assembly with its verdict, and all that is found in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from fencewright.checker.amd.check import Checked
from fencewright.checker.amd.surplus import surplus_barrier
from fencewright.checker.findings.finding import Finding, Rule, VerdictKind
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.amd.redundant import idle_work_group_barriers
from fencewright.checker.verdicts.findings import findings_of, merged, with_notes_apart
from fencewright.checker.verdicts.judge import is_still_proved, judge
from fencewright.checker.verdicts.model import Kernel, Verdict
from fencewright.checker.verdicts.solver import Launch, Steps
from fencewright.lowering.cdna.code.calls import calls_of
from fencewright.lowering.cdna.code.text import Function
from fencewright.lowering.code.effects import Kind


@dataclass(frozen=True, slots=True)
class JudgedFunction:
    """A function as its file has it with its verdict, and its races and hazards.

    Nothing of its check is kept: a file may have ten thousand functions.
    """

    function: Function
    verdict: Verdict
    findings: tuple[Finding, ...]
    calls: frozenset[str]
    """The names of the functions that it calls."""


def judged(
    checked: Checked,
    launch: Launch | None = None,
    steps: Steps | None = None,
    *,
    finds_surplus: bool = False,
) -> JudgedFunction:
    """The verdict and the findings of one function, for all launches or for one.

    ``steps``: those of its file. ``finds_surplus``: what can go is found too, not only waits for
    nothing.
    """
    kernel = kernel_of(checked.lifted)
    verdict = judge(kernel, launch, steps)
    function = checked.lifted.code.flow.function
    sources = {instruction.line: instruction.source for instruction in function.instructions}
    races = list(findings_of(verdict, lambda line: sources.get(line) or line))
    verdict = with_notes_apart(verdict, races)
    found = merged(races, checked.hazards())
    if finds_surplus:
        kept = (finding for finding in found if finding.rule is not Rule.SURPLUS_WAIT)
        asks = verdict.kind is VerdictKind.RACE_FREE
        is_proved = partial(is_still_proved, before=verdict, launch=launch) if asks else None
        found = [*kept, *checked.surplus(), *_surplus_barriers(checked, kernel, is_proved)]
    calls = frozenset(call.name for call in calls_of(checked.lifted.code.flow).values())
    return JudgedFunction(function, verdict, tuple(found), calls)


def _surplus_barriers(
    checked: Checked, kernel: Kernel, is_proved: Callable[[Kernel], bool] | None
) -> Iterator[Finding]:
    """Barriers that can go; ``is_proved`` as ``idle_barriers`` has it."""
    code = checked.lifted.code
    write_backs = [operation.line for operation in code.operations if operation.is_write_back]
    idle = idle_work_group_barriers(kernel, code.flow, write_backs, is_proved)
    for line, ends in idle.items():
        barrier = next(
            operation for operation in checked.lifted.at(line) if operation.kind is Kind.BARRIER
        )
        yield replace(surplus_barrier(code, barrier).finding, about=ends)
