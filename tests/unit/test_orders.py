"""What docs/orders.md says of two articles: every row's command prints what the row says."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencewright.tools.embedded.in_process import TOOLS, call

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "orders.md"
VERDICTS = {"same", "differs", "in part", "not known"}


@dataclass(frozen=True)
class Claim:
    number: str
    verdict: str
    command: str
    prints: str


def claims() -> list[Claim]:
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)
    ]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [
        Claim(number, verdict, command.strip("`"), prints.strip("`"))
        for number, _, verdict, command, prints in cells
    ]


CLAIMS = claims()


@pytest.mark.parametrize(
    "claim", [each for each in CLAIMS if each.command != "-"], ids=lambda each: each.number
)
def test_the_command_prints_what_the_row_says(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(claim.command)
    done = call(TOOLS[program], arguments)
    assert claim.prints in done.stdout + done.stderr, done.stdout + done.stderr


def test_every_row_has_a_verdict_and_only_open_ones_no_command() -> None:
    assert len(CLAIMS) == len({each.number for each in CLAIMS}) > 30
    for each in CLAIMS:
        word = re.split(r"[:,;]| as ", each.verdict)[0]
        assert word in VERDICTS, each.number
        assert (word == "not known") == (each.command == "-"), each.number


def test_what_differs_says_how() -> None:
    different = [each for each in CLAIMS if each.verdict.startswith(("differs", "in part"))]
    assert {each.number for each in different} == {"1.11", "1.15", "1.17", "2.2.3"}
    assert all(":" in each.verdict for each in different)
