"""Long tests: `make test` has a share of their cases, and the marked others are all that it leaves."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fencewright.tools.dev.pytest_seconds import (
    MOST,
    Measured,
    _Stopwatch,  # pyright: ignore[reportPrivateUsage]
    level_of,
    read_table,
    spread,
    write_table,
)

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "seconds.tsv"

TESTS = """
import time

import pytest


@pytest.mark.parametrize("number", range(10))
def test_of_ten(number):
    begun = time.process_time()
    while time.process_time() < begun + 0.02:
        pass


def test_short():
    pass
"""


@pytest.mark.parametrize(
    ("level", "kept"), [(0.0, 0), (0.9, 0), (1.0, 1), (5.5, 5), (9.9, 9), (10.0, 10), (11.0, 10)]
)
def test_as_many_cases_as_the_level_pays_for(level: float, kept: int) -> None:
    assert Measured(10, 10.0).kept(level) == kept


def test_the_level_spends_what_there_is() -> None:
    rows = [Measured(100, 50.0), Measured(100, 10.0), Measured(4, 1.0), Measured(1, 30.0)]
    level = level_of(rows, 25.0)
    total = sum(row.kept(level) * row.seconds / row.cases for row in rows)
    assert 24.0 < total <= 25.0
    assert [row.kept(level) for row in rows][2:] == [4, 0]


@pytest.mark.parametrize("cases", [1, 2, 7, 10])
def test_shares_are_spread(cases: int) -> None:
    for kept in range(cases + 1):
        numbers = sorted(spread(cases, kept))
        assert len(numbers) == kept
        assert numbers[:1] == [0][:kept]
        gaps = {after - before for before, after in pairwise(numbers)}
        assert not gaps or max(gaps) - min(gaps) <= 1


def test_a_table_is_read_as_it_was_written() -> None:
    measured = {"a.py::test_b": Measured(3, 1.25), "a.py::test_a": Measured(1, 0.01)}
    text = write_table(measured)
    assert text == "a.py::test_b\t3\t1.25\n"
    assert read_table(text) == {"a.py::test_b": Measured(3, 1.25)}


def run(folder: Path, *options: str) -> str:
    (folder / "test_all.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = long\n")
    plugins = (
        "-p",
        "fencewright.tools.dev.pytest_forks",
        "-p",
        "fencewright.tools.dev.pytest_seconds",
    )
    command = [sys.executable, "-m", "pytest", *plugins, "-q", "-p", "no:cacheprovider", *options]
    # The plug-in of Hypothesis takes three times what pytest does.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=folder, env=alone, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.parametrize("forks", ["1", "2"])
def test_what_is_measured_is_marked(tmp_path: Path, forks: str) -> None:
    table = tmp_path / "seconds.tsv"
    assert "11 passed" in run(tmp_path, "--forks", forks, "--write-seconds", "seconds.tsv")
    ((name, row),) = read_table(table.read_text()).items()
    assert name == "test_all.py::test_of_ten"
    assert row.cases == 10
    assert row.seconds >= 0.1
    table.write_text(f"{name}\t10\t{4 * MOST:.2f}\n")
    left = run(tmp_path, "--forks", forks, "--seconds", "seconds.tsv", "-m", "long")
    kept = run(tmp_path, "--forks", forks, "--seconds", "seconds.tsv", "-m", "not long")
    assert "8 passed, 3 deselected" in left
    assert "3 passed, 8 deselected" in kept


def test_what_takes_long_without_a_row_is_named() -> None:
    stopwatch = cast(Any, _Stopwatch(None, {"a.py::test_a": Measured(1, 9.0)}))
    cases = {"test_a": 9.0, "test_b[1]": 0.7, "test_b[2]": 0.7, "test_c": 0.9}
    for name, cpu in cases.items():
        for when, properties in (("call", []), ("teardown", [("cpu", cpu)])):
            report = SimpleNamespace(when=when, nodeid=f"a.py::{name}", user_properties=properties)
            stopwatch.pytest_runtest_logreport(report)
    written: list[str] = []
    stopwatch.pytest_terminal_summary(SimpleNamespace(write_line=written.append))
    assert written == ["1.4 s, and no row of make test-seconds: a.py::test_b"]


def test_the_table_is_of_tests_that_are_there() -> None:
    """Rows of tests that are gone would take their seconds from the others."""
    gone = [
        name
        for name in read_table(TABLE.read_text())
        if f"def {name.rpartition('::')[2]}(" not in (ROOT / name.partition("::")[0]).read_text()
    ]
    assert not gone
