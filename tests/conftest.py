"""Collects the lit tests, run in this process, and says which tests were skipped and why."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest

from fencewright.tools.dev.lit_runner import (
    EXCLUDED,
    SUFFIXES,
    Outcome,
    run_file,
)
from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_TOOLS, find_llvm_tool

# No deadline: a shared machine is slow at times. In CI the same examples every time.
hypothesis.settings.register_profile("fencewright", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("fencewright")

LIT = Path(__file__).parent / "lit"


class LitFailure(Exception):
    """A lit test's failing command and its output."""


class LitItem(pytest.Item):
    """The RUN lines of one file."""

    def runtest(self) -> None:
        result = run_file(self.path)
        if result.outcome is Outcome.UNSUPPORTED:
            pytest.skip(result.output)
        if result.outcome is Outcome.FAIL:
            raise LitFailure(result.output)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None):
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class LitFile(pytest.File):
    """A test file of lit's."""

    def collect(self) -> Iterator[pytest.Item]:
        yield cast(Any, LitItem).from_parent(self, name="RUN")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in SUFFIXES or LIT not in file_path.parents:
        return None
    if EXCLUDED.intersection(file_path.parts):
        return None
    return cast(Any, LitFile).from_parent(parent, path=file_path)


@pytest.fixture(scope="session")
def llvm_tool() -> Callable[[str], str]:
    """Gives the path of one of LLVM 22's programs, or skips the test that asks for it."""

    def find(name: str) -> str:
        path = find_llvm_tool(name)
        if path is None:
            pytest.skip(f"needs {name}")
        return path

    return find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the skipped tests by name, with a count for each reason."""
    names = defaultdict[str, list[str]](list)
    for report in terminalreporter.stats.get("skipped", []):
        *_, reason = cast(tuple[str, ...], report.longrepr)
        names[reason.removeprefix("Skipped: ")].append(report.nodeid)
    for reason, tests in sorted(names.items()):
        terminalreporter.write_line(f"{len(tests)} skipped: {reason}: {', '.join(tests)}")
    if any(find_llvm_tool(name) is None for name in LLVM_TOOLS):
        terminalreporter.write_line(LLVM_HINT)
