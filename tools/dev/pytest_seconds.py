"""A pytest plug-in: a test that takes long runs some of its cases where all of them are too many.

``--write-seconds FILE`` measures, ``--seconds FILE`` marks as ``long`` the cases that are left out.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

MOST = 50.0
"""CPU seconds that the cases of all tests may take which are not marked."""

LEAST = 0.05
"""CPU seconds of a test that is not worth a row."""

NAMED = 1.0
"""CPU seconds of a test without a row that is named at the end of a run."""

MARKER = "long"


@dataclass(frozen=True, slots=True)
class Measured:
    """The number of the cases of a test, and the CPU seconds of all of them."""

    cases: int
    seconds: float

    def kept(self, level: float) -> int:
        """The number of the cases that take ``level`` CPU seconds together at most."""
        return self.cases if self.seconds <= level else int(level * self.cases / self.seconds)


def level_of(rows: Iterable[Measured], most: float) -> float:
    """The CPU seconds for each test with which all tests together take ``most`` at most."""
    measured = list(rows)
    low, high = 0.0, most
    while high - low > 0.001:
        level = (low + high) / 2
        total = sum(each.kept(level) * each.seconds / each.cases for each in measured)
        low, high = (low, level) if total > most else (level, high)
    return low


def spread(cases: int, kept: int) -> frozenset[int]:
    """The numbers of ``kept`` of ``cases`` cases, at equal distances, the first among them."""
    return frozenset(number * cases // kept for number in range(kept))


def read_table(text: str) -> Mapping[str, Measured]:
    """The rows of a table, by test."""
    rows = (line.split("\t") for line in text.splitlines())
    return {name: Measured(int(cases), float(seconds)) for name, cases, seconds in rows}


def write_table(measured: Mapping[str, Measured]) -> str:
    """A table of the tests that take more than the least, sorted by name."""
    rows = sorted(item for item in measured.items() if item[1].seconds >= LEAST)
    return "".join(f"{name}\t{row.cases}\t{row.seconds:.2f}\n" for name, row in rows)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--seconds`` and ``--write-seconds``."""
    group = parser.getgroup("seconds")
    group.addoption("--seconds", metavar="FILE", type=Path, help="mark what takes long")
    group.addoption("--write-seconds", metavar="FILE", type=Path, help="measure each test")


def pytest_configure(config: pytest.Config) -> None:
    """Measure where there is a table to write or to read."""
    to_write, to_read = (
        cast(Path | None, config.getoption(name)) for name in ("--write-seconds", "--seconds")
    )
    if to_write or to_read:
        config.pluginmanager.register(_Stopwatch(to_write, to_read and _rows(to_read)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what takes long, before ``-m`` looks at marks."""
    if (file := cast(Path | None, config.getoption("--seconds"))) is None:
        return
    table = _rows(file)
    level = level_of(table.values(), MOST)
    for name, cases in _by_test(items).items():
        if (row := table.get(name)) is None:
            continue
        kept = spread(len(cases), min(row.kept(level), len(cases)))
        for number, item in enumerate(cases):
            if number not in kept:
                item.add_marker(MARKER)


def _rows(file: Path) -> Mapping[str, Measured]:
    return read_table(file.read_text(encoding="utf-8"))


def _is_campaign(item: pytest.Item) -> bool:
    return any(map(item.get_closest_marker, ("campaign", "random")))


def _by_test(items: Iterable[pytest.Item]) -> Mapping[str, list[pytest.Item]]:
    """The cases of each test, without those that are left to campaigns anyway."""
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if not _is_campaign(item):
            tests[_test_of(item.nodeid)].append(item)
    return tests


def _test_of(name: str) -> str:
    return name.partition("[")[0]


def _cpu() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    return sum(os.times()[:4])


class _Stopwatch:
    """Adds up the CPU seconds of each test, in whichever process it runs.

    Writes the table, or names what takes long and has no row in it.
    """

    def __init__(self, to_write: Path | None, rows: Mapping[str, Measured] | None):
        self._file = to_write
        self._rows = rows
        self._begun = 0.0
        self._measured: dict[str, Measured] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Start."""
        self._begun = _cpu()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Stop, and add the seconds to the last report."""
        if call.when == "teardown" and not _is_campaign(item):
            item.user_properties.append(("cpu", _cpu() - self._begun))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one case."""
        properties = dict(report.user_properties)
        if report.when != "teardown" or "cpu" not in properties:
            return
        name = _test_of(report.nodeid)
        row = self._measured.get(name, Measured(0, 0.0))
        seconds = row.seconds + cast(float, properties["cpu"])
        self._measured[name] = Measured(row.cases + 1, seconds)

    def pytest_sessionfinish(self) -> None:
        """Write the table."""
        if self._file is not None:
            self._file.write_text(write_table(self._measured), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that the table should have a row of."""
        if self._rows is None or self._file is not None:
            return
        for name, row in sorted(self._measured.items()):
            if row.seconds > NAMED and name not in self._rows:
                said = f"{row.seconds:.1f} s, and no row of make test-seconds: {name}"
                terminalreporter.write_line(said)
