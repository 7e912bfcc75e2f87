"""Tests in forks: each runs once, and its output, report or end is reported as its own."""

import os
import re
import subprocess
import sys
from itertools import islice, zip_longest
from pathlib import Path

import pytest

from fencewright.tools.dev.pytest_forks import Work

TESTS = """
import os
import warnings

import pytest


def test_passes(tmp_path, capfd):
    os.system("echo said")
    assert capfd.readouterr().out == "said\\n"


def test_fails():
    os.system("echo said by a child")
    assert [1] == [2]


@pytest.mark.skip(reason="as it is")
def test_is_skipped():
    pass


@pytest.fixture
def broken():
    raise ValueError("no such thing")


def test_has_no_fixture(broken):
    pass


def test_warns():
    warnings.warn("beware", DeprecationWarning)


@pytest.mark.skipif("DIE" not in os.environ, reason="to be alive")
def test_dies():
    os._exit(0)


@pytest.mark.skipif("PRINT" not in os.environ, reason="to be read")
@pytest.mark.parametrize("name", ["one", "two", "three", "four"])
def test_prints(name):
    os.system(f"echo {name} is printed; sleep 0.5; echo {name} is done")
    assert not name
"""


def run(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """pytest with two forks on ``TESTS``, apart from this project's configuration.

    Without CI, under which pytest prints each reason in full, over several lines.
    """
    (folder / "test_all.py").write_text(TESTS)
    (folder / "pytest.ini").touch()
    forks = ("-p", "fencewright.tools.dev.pytest_forks", "--forks", "2", "-p", "no:cacheprovider")
    here = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    # The plug-in of Hypothesis takes three times what pytest does.
    here["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "pytest", *forks, "-q", "-rA", *options],
        cwd=folder, env={**here, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def summary(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines at the end, in the order of the alphabet, without the time."""
    _, _, lines = done.stdout.partition("short test summary info")
    return sorted(re.sub(r" in [0-9.]+s$", "", line) for line in lines.splitlines()[1:])


def test_what_a_worker_says_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    said = summary(done)
    assert said[1:] == [
        "ERROR test_all.py::test_has_no_fixture - ValueError: no such thing",
        "FAILED test_all.py::test_fails - assert [1] == [2]",
        "PASSED test_all.py::test_passes",
        "PASSED test_all.py::test_warns",
        "SKIPPED [1] test_all.py:18: as it is",
        "SKIPPED [1] test_all.py:36: to be alive",
        "SKIPPED [4] test_all.py:41: to be read",
    ]
    assert "Captured stdout call -----------------------------\nsaid by a child\n" in done.stdout
    assert "DeprecationWarning: beware" in done.stdout


def test_what_is_printed_at_a_time_is_told_apart(tmp_path: Path) -> None:
    done = run(tmp_path, "-k", "prints", PRINT="1")
    for name in ("one", "two", "three", "four"):
        assert (
            f"call -----------------------------\n{name} is printed\n{name} is done\n"
            in done.stdout
        )


def test_a_worker_that_dies_fails_the_run(tmp_path: Path) -> None:
    """It takes reports with it that it had not sent yet: those tests fail too, never pass."""
    done = run(tmp_path, "-k", "passes or dies", DIE="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_all.py::test_dies - this test did not end" in done.stdout
    assert "a process of tests ended with status 0 in test_all.py::test_dies" in done.stdout


def test_a_limit_of_failures_ends_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "-k", "fails or no_fixture", "--maxfail=1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "stopping after 1 failures" in done.stdout


@pytest.mark.parametrize(("tests", "workers"), [(1, 1), (7, 2), (100, 3), (2, 2)])
def test_each_test_is_taken_once(tests: int, workers: int) -> None:
    """One worker takes everything, also of those that take nothing; then all in turn."""
    work = Work(tests, workers)
    alone = islice(work.taken(0), tests + 1)
    assert sorted(number for number, _ in alone) == [*range(tests)]
    assert [work.take(number) for number in range(workers)] == [None] * workers
    work = Work(tests, workers)
    rounds = zip_longest(*(islice(work.taken(n), tests + 1) for n in range(workers)))
    columns = [[step for step in column if step] for column in zip(*rounds, strict=True)]
    assert sorted(number for column in columns for number, _ in column) == [*range(tests)]
    for column in columns:
        numbers = [number for number, _ in column]
        assert column == [*zip(numbers, [*numbers[1:], None], strict=False)]


def test_neighbours_stay_together() -> None:
    """Two workers begin a half each; who has ended takes the later half of the rest."""
    work = Work(12, 2)
    assert [work.take(0), work.take(1)] == [0, 6]
    assert [work.take(1) for _ in range(5)] == [7, 8, 9, 10, 11]
    assert (work.take(1), work.take(0)) == (3, 1)
