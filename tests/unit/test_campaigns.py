"""Campaigns: every share is run by someone, the first one always, and CONTRIBUTING.md names them all."""

import os
import re
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import campaigns
import pytest
from campaigns import TURNS, Share, drawn, draws, first_of, first_share, shares, some_of

ROOT = Path(__file__).parents[2]
TESTS = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path != Path(__file__)]


def is_left(parameter: Any) -> bool:
    """Whether ``make test`` leaves it."""
    return [each.name for each in parameter.marks] == ["campaign"]


@pytest.mark.parametrize("split", [shares, first_share])
@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("turned", [0, 1, 7])
def test_shares_are_everything_once(
    split: Callable[[int], list[Any]], count: int, turned: int
) -> None:
    items = [*range(17)]
    every: list[Any] = [each.values[0] for each in split(count)]
    assert [*every[0].of(items, turned)] == items[turned % count :: count]
    assert sorted(item for share in every for item in share.of(items, turned)) == items
    points = [point for share in every for point in share.of_product("abc", (1, 2), "xyzvw")]
    assert sorted(points) == sorted(product("abc", (1, 2), "xyzvw"))


def test_a_share_of_a_matrix_has_each_pair_of_values() -> None:
    columns = ("ab", "cde", "fghi")
    for number in range(3):
        found = [*Share(number, 3).of_product(*columns)]
        for one, two in ((0, 1), (0, 2)):
            pairs = {(point[one], point[two]) for point in found}
            assert pairs == {*product(columns[one], columns[two])}


def test_the_first_share_is_for_every_time() -> None:
    assert [is_left(each) for each in shares(3)] == [False, True, True]
    assert [is_left(each) for each in first_share(3)] == [False, True]
    assert [str(each.id) for each in first_share(3)] == ["1 of 3", "2 to 3 of 3"]
    assert [is_left(each) for each in first_of("abcd", 2)] == [False, False, True, True]
    found: list[Any] = some_of("abcdefg", 3)
    assert [each.values[0] for each in found] == [*"adgbcef"]
    assert [is_left(each) for each in found] == [False] * 3 + [True] * 4


@pytest.mark.parametrize("often", [1, 2])
@pytest.mark.parametrize("count", [2, 3, TURNS, TURNS + 5, 100])
def test_all_random_programs_are_drawn_in_turns(
    count: int, often: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[int]()
    for turn in range(2 * TURNS):
        monkeypatch.setattr(campaigns, "TURN", turn)
        found: list[Any] = drawn(range(count), often)
        assert [each.values[0] for each in found] == [*range(count)]
        marks = ["".join(mark.name for mark in each.marks) for each in found]
        assert set(marks[:often]) == {""}
        assert set(marks[often:]) <= {"campaign", "random"}
        taken += (number for number, mark in enumerate(marks) if mark == "campaign")
        assert marks.count("campaign") == (count > often and max(1, (count - often) // TURNS))
    assert {*taken} == {*range(often, count)}


def test_draws_are_all_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "TURN", 0)
    found: list[Any] = draws(7)
    every: list[Any] = shares(7)
    assert [(each.id, each.values) for each in found] == [(each.id, each.values) for each in every]
    assert [mark.name for mark in found[1].marks] == ["campaign"]


def test_what_is_left_is_counted(pytestconfig: pytest.Config) -> None:
    (plugin,) = (
        each
        for each in pytestconfig.pluginmanager.get_plugins()
        if getattr(each, "__file__", None) == str(ROOT / "tests" / "conftest.py")
    )

    left: list[Any] = []

    def deselected(items: list[Any]) -> None:
        left.extend(items)

    items = [
        SimpleNamespace(nodeid=f"test_x.py::test_y[{n}]", get_closest_marker=marks.get)
        for n, marks in enumerate(
            ({"campaign": True}, {"parametrize": True}, {"random": True}, {"long": True})
        )
    ]
    kept = [*items]
    for leave in (False, True):
        hook = SimpleNamespace(pytest_deselected=deselected)
        stash = pytest.Stash()
        option = {"--leave-campaigns": leave}.get
        config = SimpleNamespace(getoption=option, hook=hook, stash=stash)
        assert (kept, left) == (items, [])
        plugin.pytest_collection_modifyitems(config, kept)
    assert (kept, left) == ([items[1]], [items[0], *items[2:]])
    written: list[str] = []
    reporter = SimpleNamespace(config=config, stats={}, write_line=written.append)
    plugin.pytest_terminal_summary(reporter)
    assert written[0] == "3 left to make campaigns and make random-campaigns: test_x.py (3)"


def test_campaigns_are_named_in_contributing() -> None:
    table = re.findall(
        r"^\| `([\w/]+\.py)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    split = [path for path in TESTS if "from campaigns import" in path.read_text()]
    assert table == [path.relative_to(ROOT / "tests").as_posix() for path in split]


def test_nothing_else_is_left() -> None:
    """What is split by ``campaigns.py`` always has its first share."""
    mark = re.compile(r"mark\.(campaign|random)")
    assert not [path for path in TESTS if mark.search(path.read_text())]


def test_make_runs_all_between_its_targets() -> None:
    targets = ("test", "campaigns", "random-campaigns", "every-test")
    command = ["make", "-C", str(ROOT), "--dry-run", "-o", ".venv/.ready", *targets]
    alone = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    begin = "--forks 2 -p fencewright.tools.dev.pytest_seconds --seconds tests/seconds.tsv"
    assert f"{begin} --leave-campaigns " in done.stdout
    assert f'{begin} -m "campaign or long"\n' in done.stdout
    assert f"{begin} -m random\n" in done.stdout
    assert f'{begin} -m "not random" ' in done.stdout
    parts = (ROOT / ".ci" / "run").read_text().split("everything() {")[1].partition("\n}")[0]
    assert "timed every-test" in {line.strip() for line in parts.splitlines()}
    fuzz = subprocess.run(
        [*command[: -len(targets)], "fuzz"], env=alone, capture_output=True, text=True, check=True
    )
    assert f"{begin} -m random\n" in fuzz.stdout
