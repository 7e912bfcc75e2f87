"""How all Python tests draw their examples and find LLVM's tools; says what was skipped and why."""

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import cast

import hypothesis
import pytest

from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_TOOLS, find_llvm_tool

# No deadline: a shared machine is slow at times. In CI the same examples every time.
hypothesis.settings.register_profile("fencewright", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("fencewright")


# What collecting makes lives to the end, and what a test makes is cyclic but soon dropped: to look
# through all of that as often as Python does by itself takes a tenth of the time and frees little.
# With 50,000 it is still 3 %.
gc.set_threshold(400_000, 20, 50)


def pytest_collection_finish() -> None:
    """Keep what was collected, 14,000 tests and all modules, out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of ``make test``."""
    said = "skip what make campaigns and make random-campaigns run"
    parser.addoption("--leave-campaigns", action="store_true", help=said)


_LEFT = "left to make campaigns and make random-campaigns"
_MARKS = ("campaign", "random", "long")
_left = pytest.StashKey[Counter[str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the shares of campaigns that are not for every time, and long tests, and count them."""
    if not config.getoption("--leave-campaigns"):
        return
    by_left: dict[bool, list[pytest.Item]] = {False: [], True: []}
    for item in items:
        by_left[any(map(item.get_closest_marker, _MARKS))].append(item)
    config.stash[_left] = Counter(item.nodeid.partition("::")[0] for item in by_left[True])
    config.hook.pytest_deselected(items=by_left[True])
    items[:] = by_left[False]


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
    """List the skipped tests by name, with a count for each reason and for each test."""
    names = defaultdict[str, Counter[str]](Counter)
    for report in terminalreporter.stats.get("skipped", []):
        *_, reason = cast(tuple[str, ...], report.longrepr)
        names[reason.removeprefix("Skipped: ")][report.nodeid.partition("[")[0]] += 1
    if left := terminalreporter.config.stash.get(_left, Counter[str]()):
        names[_LEFT] = left
    for reason, tests in sorted(names.items()):
        said = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in sorted(tests.items()))
        what = _LEFT if reason == _LEFT else f"skipped: {reason}"
        terminalreporter.write_line(f"{tests.total()} {what}: {said}")
    if any(find_llvm_tool(name) is None for name in LLVM_TOOLS):
        terminalreporter.write_line(LLVM_HINT)
