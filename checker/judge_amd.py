"""One function of AMD assembly with its verdict, and all that is found in it."""

from dataclasses import dataclass

from fencewright.checker.check_amd import Checked
from fencewright.checker.findings.finding import Finding
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.findings import findings_of, merged
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.cdna.code.text import Function


@dataclass(frozen=True, slots=True)
class JudgedFunction:
    """A function with its verdict, and its races and hazards."""

    checked: Checked
    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def function(self) -> Function:
        """The function as its file has it."""
        return self.checked.lifted.code.flow.function


def judged(checked: Checked, launch: Launch | None = None) -> JudgedFunction:
    """The verdict and the findings of one function, for all launches or for one."""
    verdict = judge(kernel_of(checked.lifted, checked.entries), launch)
    instructions = checked.lifted.code.flow.function.instructions
    sources = {each.line: each.source for each in instructions}
    races = list(findings_of(verdict, lambda line: sources.get(line) or line))
    return JudgedFunction(checked, verdict, tuple(merged(races, checked.hazards())))
