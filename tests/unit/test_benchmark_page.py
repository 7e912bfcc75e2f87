"""The page of benchmarks: what was run takes its section's place, and says where it was run."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGE = """# Benchmarks

Written by `make bench`.

Measured on Monday.

## First

| a |
| --- |
| 1 |

## Second

| b |
| --- |
| 2 |
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    for name in ("run", "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("run")


def table(title: str, cell: str) -> object:
    harness = importlib.import_module("harness")
    return harness.Result(title, ("c",), ((cell,),))


def test_every_benchmark_is_there(run: ModuleType) -> None:
    assert all(
        (BENCHMARKS / f"{name}.py").exists() for name in (*run._NAMES, *run._ONLY_WHERE_NAMED)
    )
    assert run._NAMES[-1] == "certificate"


def test_a_section_takes_the_place_of_the_one_before(run: ModuleType) -> None:
    page = run.updated(PAGE, [table("First", "7")], "Measured on Monday.")
    assert page == PAGE.replace("| a |", "| c |").replace("| 1 |", "| 7 |")


def test_a_new_section_comes_last(run: ModuleType) -> None:
    page = run.updated(PAGE, [table("Third", "3")], "Measured on Monday.")
    assert page == f"{PAGE}\n## Third\n\n| c |\n| --- |\n| 3 |\n"


def test_a_section_measured_elsewhere_says_so(run: ModuleType) -> None:
    page = run.updated(PAGE, [table("First", "7")], "Measured on Friday.")
    assert "Measured on Monday.\n\n## First" in page
    assert "| 7 |\n\nMeasured on Friday.\n\n## Second" in page
    again = run.updated(page, [table("First", "8")], "Measured on Friday.")
    assert again == page.replace("| 7 |", "| 8 |")


def test_the_page_of_the_project_keeps_its_form(run: ModuleType) -> None:
    page = (BENCHMARKS.parent / "docs" / "benchmarks.md").read_text()
    assert run.updated(page, [], "") == page


def test_what_the_simulator_is_timed_on_holds(run: ModuleType) -> None:
    tests = importlib.import_module("simulator_tests")
    simulator = importlib.import_module("simulator")
    for text in tests.FENCED.values():
        for chip in (None, "sm_90", "gfx942"):
            simulator._outcomes(text, chip)
    weak = tests.FENCED["SB"].replace("scoped.fence seq_cst agent", "scoped.fence acq_rel agent")
    with pytest.raises(AssertionError, match="allows what it forbids"):
        simulator._outcomes(weak, None)


def test_the_parts_of_the_checks_are_those_of_ci(run: ModuleType) -> None:
    """Each but lit and test, which are within make every-test."""
    parts = importlib.import_module("checks").PARTS
    text = (BENCHMARKS.parent / ".ci" / "run").read_text(encoding="utf-8")
    everything = text.partition("everything() {")[2].partition("\n}")[0].replace("\\\n", "")
    named = [line.split()[1:] for line in everything.splitlines() if "timed " in line]
    targets = [word for words in named for word in words if word[0] != "-" and "=" not in word]
    assert sorted(targets) == sorted(parts.keys() - {"lit", "test"})
