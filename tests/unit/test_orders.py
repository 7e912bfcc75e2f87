"""The claims of docs/orders.md: each has a verdict and a command, which prints what is shown."""

import re
import shlex
from pathlib import Path

import pytest

from fencewright.tools.embedded.in_process import TOOLS, call

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "orders.md"
CLAIM = re.compile(r"^\| (\d[\d.]+) \| (.*) \| (.*) \|$", re.MULTILINE)
COMMAND = re.compile(
    r"^\$ (fence-[^\n|]*) \| grep -Fom1 -- '([^\n]*)' # (\d[\d.]+)\n(.*)$", re.MULTILINE
)
VERDICTS = {"same", "differs", "in part", "not known"}


def wrong_claims(text: str) -> list[str]:
    """The claims without a verdict, without one command that prints something, or with one too
    many."""
    verdicts = {number: verdict for number, _, verdict in CLAIM.findall(text)}
    commands = [number for _, printed, number, shown in COMMAND.findall(text) if printed == shown]
    wrong = [
        each
        for each, verdict in verdicts.items()
        if re.split(r"[:,;]| as ", verdict)[0] not in VERDICTS
    ]
    for number, verdict in verdicts.items():
        if commands.count(number) != (verdict.partition(":")[0] != "not known"):
            wrong.append(number)
    return wrong + [each for each in commands if each not in verdicts]


def test_every_claim_has_a_verdict_and_one_command_unless_nothing_is_known() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(CLAIM.findall(text)) > 30
    assert wrong_claims(text) == []


def test_a_claim_without_a_command_is_found() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert wrong_claims(text.replace(" # 1.7\n", "\n")) == ["1.7"]
    assert wrong_claims(
        text.replace("| 1.8 | the third is not | same |", "| 1.8 | it | maybe |")
    ) == ["1.8"]
    assert wrong_claims(text.replace("\n0 errors\n", "\n1 errors\n", 1)) == ["1.7"]


def test_what_differs_says_how() -> None:
    claims = CLAIM.findall(PAGE.read_text(encoding="utf-8"))
    different = {
        number: verdict
        for number, _, verdict in claims
        if verdict.startswith(("differs", "in part"))
    }
    assert {*different} == {"1.11", "1.15", "1.17", "2.2.3"}
    assert all(":" in verdict for verdict in different.values())


@pytest.mark.parametrize(
    "example", COMMAND.findall(PAGE.read_text(encoding="utf-8")), ids=lambda each: each[2]
)
def test_the_command_of_a_claim_prints_what_is_shown(
    example: tuple[str, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command, printed, _, _ = example
    program, *arguments = shlex.split(command)
    assert printed in call(TOOLS[program], arguments).stdout
