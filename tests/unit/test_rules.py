"""Every rule has a page, and what its examples say is so."""

import re
from pathlib import Path

import pytest

from fencewright.checker.findings.finding import NOT_JUDGED, SURPLUS, Level, Rule
from fencewright.checker.findings.page import Example
from fencewright.checker.findings.registry import PAGES
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture
from fencewright.tools.embedded.in_process import TOOLS, call

ROOT = Path(__file__).parents[2]
EXAMPLES = [(page.rule, each) for page in PAGES.values() for each in page.examples]
IDS = [f"{rule}-{example.architecture.name}" for rule, example in EXAMPLES]


def printed(example: Example, code: str, folder: Path) -> str:
    """What fence-check prints of a body."""
    file = folder / ("k.ptx" if example.architecture is PTX else "k.s")
    file.write_text(example.file(code))
    arguments = [str(file), *example.options]
    if example.source:
        source = folder / "k.ll"
        source.write_text(example.source_file())
        arguments += ["--source", str(source)]
    done = call(TOOLS["fence-check"], arguments)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=IDS)
def test_the_wrong_code_has_the_finding_and_the_right_code_none(
    rule: Rule, example: Example, tmp_path: Path
) -> None:
    wrong = printed(example, example.bad, tmp_path)
    assert f"[{rule}]" in wrong, wrong
    findings = [line for line in wrong.splitlines() if line.endswith(f"[{rule}]")]
    shown = {level for level in Level for line in findings if f": {level}: " in line}
    assert shown <= set(PAGES[rule].levels), wrong
    assert "]\n" not in printed(example, example.good, tmp_path)


@pytest.mark.parametrize("rule", Rule)
def test_a_page_has_an_example_of_its_vendors_and_the_level_of_its_rule(rule: Rule) -> None:
    page = PAGES[rule]
    assert page.levels[0] is rule.level
    assert list(page.levels) == sorted(page.levels, key=list(Level).index)
    assert page.examples
    assert {each.architecture for each in page.examples} <= set(page.architectures)


def test_the_groups_of_rules_are_what_their_names_say() -> None:
    assert {each for each in Rule if each.startswith("surplus-")} == SURPLUS
    assert all(each.level is Level.NOTE for each in SURPLUS)
    assert all(each.level is Level.WARNING for each in NOT_JUDGED)


@pytest.mark.parametrize(("page", "architecture"), [("checker.md", CDNA), ("checker-ptx.md", PTX)])
def test_the_manual_lists_every_rule_of_a_vendor(page: str, architecture: Architecture) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| \[`([a-z-]+)`\]\(reference/rules\.md#\1\) \|", text, re.M))
    assert rows == {rule for rule, each in PAGES.items() if architecture in each.architectures}


def test_an_unknown_rule_is_wrong_usage() -> None:
    done = call(TOOLS["fence-check"], ["--explain", "nope"])
    assert done.status == 2
    assert done.stderr.count("\n") == 1
    assert "'nope' is no rule: fence-check --list-rules lists them" in done.stderr
