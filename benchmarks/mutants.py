"""Counts the mutants that the checker notices, for docs/mutants.md.

``python benchmarks/mutants.py [--check]``; with ``--check`` nothing is written, and the exit
status is 1 if the page is out of date. FENCEWRIGHT_PTX_LITMUS names the folder of public tests.
"""

import argparse
import csv
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencewright.lowering.sequence import Target
from fencewright.simulator.certify.certificate import (
    Certificate,
    Trial,
    Verdict,
    modes,
    requests_of,
    shipped,
)
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.certify.shapes import shape_tests
from fencewright.simulator.core.condition import And, Condition, Quantifier
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, read_litmus
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.mutants import NOTICES, Campaign, MutationKind, Notice, run_campaign
from fencewright.tools.reports.markdown import markdown_table, written

ROOT = Path(__file__).parent.parent
OWN = ROOT / "tests" / "litmus" / "ptx"
PAGE = ROOT / "docs" / "mutants.md"
CORPUS = "FENCEWRIGHT_PTX_LITMUS"
LOWERED = Target("sm_90", ptx_version=(8, 6))

_UNCONDITIONAL = Condition(Quantifier.FORALL, And(()))


def own_tests() -> list[PtxLitmusTest]:
    """The PTX tests of this project."""
    return [read_litmus(path) for path in sorted(OWN.glob("*.litmus"))]


def public_tests(folder: Path) -> list[PtxLitmusTest]:
    """The tests that ``expected.csv`` of ``folder`` lists."""
    with (folder / "expected.csv").open(encoding="utf-8") as file:
        return [read_litmus(folder / name) for name, _ in csv.reader(file)]


def lowered_tests() -> list[PtxLitmusTest]:
    """The first test of each operation, lowered for sm_90; each program once."""
    trial = Trial(LOWERED)
    tests: dict[str, PtxLitmusTest] = {}
    for request in requests_of(LOWERED):
        for test in shape_tests(request, LOWERED)[:1]:
            program = ptx_program(trial.lower(test))
            named = replace(program, name=test.name)
            tests.setdefault(repr(program), PtxLitmusTest(named, _UNCONDITIONAL))
    return list(tests.values())


@dataclass(frozen=True, slots=True)
class Measured:
    """What is noticed of a set of tests, which have verdicts or not."""

    title: str
    campaign: Campaign
    verdicts: bool = True

    def row(self, title: str, kind: MutationKind | None = None) -> Sequence[str]:
        """Counts and shares: what each level and those before it notice, then what none does."""
        total = self.campaign.count(Notice, kind)
        levels = [NOTICES[: at + 1] for at in range(len(NOTICES))]
        levels += [(Notice.EQUIVALENT,), (Notice.MISSED,)]
        cells = [_share(self.campaign.count(each, kind), total) for each in levels]
        return (title, str(total), *(cells if self.verdicts else ("", *cells[1:])))


def measured(public: Path | None) -> list[Measured]:
    """What is noticed of each set of tests; ``public`` None: without the public ones."""
    found: list[Measured] = []
    if public is not None:
        tests = public_tests(public)
        title = f"{len(tests)} public PTX tests (Dat3M), model of PTX 6.0"
        found.append(Measured(title, run_campaign(tests, PtxModel(Version.V6_0))))
    own, lowered = own_tests(), lowered_tests()
    title = f"{len(own)} PTX tests of this project, model of PTX 7.5"
    found.append(Measured(title, run_campaign(own)))
    title = f"{len(lowered)} tests of the battery, lowered for sm_90"
    found.append(Measured(title, run_campaign(lowered), verdicts=False))
    return found


def _share(count: int, of: int) -> str:
    return f"{count} ({count / max(1, of):.0%})"


_COLUMNS = ("", "mutants", *(each.value for each in Notice))


def _by_kind(found: Iterable[Measured]) -> str:
    text: list[str] = []
    for each in found:
        rows = [each.row(kind.value, kind) for kind in MutationKind]
        text.append(f"### {each.title}\n\n{markdown_table(_COLUMNS, rows)}")
    return "\n".join(text)


def _certified(certificates: Iterable[Certificate]) -> str:
    rows: list[Sequence[str]] = []
    for each in certificates:
        verdicts = Counter(part.verdict for made in each.operations for part in made.parts)
        total = verdicts.total()
        shares = (_share(verdicts[verdict], total) for verdict in Verdict)
        rows.append((f"`{each.mode}`", str(total), *shares))
    return markdown_table(("mode", "weakenings", "noticed", "kept", "unnecessary"), rows)


def parts(found: Sequence[Measured]) -> Mapping[str, str]:
    """The parts of the page."""
    rows = [each.row(each.title) for each in found]
    return {
        "sets": f"{markdown_table(_COLUMNS, rows)}\n{_by_kind(found)}",
        "battery": _certified(map(shipped, modes())),
    }


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    public = os.environ.get(CORPUS)
    if public is None:
        parser.error(f"set {CORPUS} to a folder of PTX tests with an expected.csv")
    return written(PAGE, parts(measured(Path(public))), check=check)


if __name__ == "__main__":
    sys.exit(main())
