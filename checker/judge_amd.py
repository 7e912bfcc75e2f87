"""One function of AMD assembly with its verdict, and all that is found in it."""

from dataclasses import dataclass

from fencewright.checker.check_amd import Checked
from fencewright.checker.findings.finding import Finding, Rule
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.findings import findings_of, merged, with_notes_apart
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.cdna.code.calls import calls_of
from fencewright.lowering.cdna.code.text import Function


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
    checked: Checked, launch: Launch | None = None, *, finds_surplus: bool = False
) -> JudgedFunction:
    """The verdict and the findings of one function, for all launches or for one.

    ``finds_surplus``: what can go is found too, not only waits for nothing.
    """
    verdict = judge(kernel_of(checked.lifted, checked.entries), launch)
    function = checked.lifted.code.flow.function
    sources = {each.line: each.source for each in function.instructions}
    races = list(findings_of(verdict, lambda line: sources.get(line) or line))
    verdict = with_notes_apart(verdict, races)
    found = merged(races, checked.hazards())
    if finds_surplus:
        kept = (each for each in found if each.rule is not Rule.SURPLUS_WAIT)
        found = [*kept, *checked.surplus()]
    calls = frozenset(call.name for call in calls_of(checked.lifted.code.flow).values())
    return JudgedFunction(function, verdict, tuple(found), calls)
