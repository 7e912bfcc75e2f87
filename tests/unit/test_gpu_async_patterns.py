"""The asynchronous patterns that run on a GPU: what is launched, checked on any machine."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _load() -> ModuleType:
    path = ROOT / "benchmarks" / "gpu" / "async_patterns.py"
    spec = importlib.util.spec_from_file_location("async_patterns", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


patterns = _load()
NAMES = [each.name for each in patterns.PATTERNS]
BY_NAME = dict(zip(NAMES, patterns.PATTERNS, strict=True))


@cache
def lowered(name: str) -> str:
    return patterns.lower_pattern(name)


@pytest.mark.parametrize("name", NAMES)
def test_lowers_and_takes_an_argument_for_every_role(name: str) -> None:
    ptx = lowered(name)
    assert f".entry {name}(" in ptx
    assert ptx.count("ld.param") == len(BY_NAME[name].roles)


@pytest.mark.parametrize("name", NAMES)
def test_weakening_changes_one_instruction(name: str) -> None:
    ptx = lowered(name)
    for weakening in BY_NAME[name].weakenings:
        before, after = ptx.splitlines(), weakening.apply(ptx).splitlines()
        at = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
        assert before[at].strip().startswith(weakening.first)
        if weakening.instead:
            assert before[at + 1 :] == after[at + 1 :]
            continue
        # A wait is a loop, a cluster barrier an arrival and a wait; all else is one line.
        second = {"mbarrier.try_wait": "@!$", "barrier.cluster.arrive": "barrier.cluster.wait"}
        assert weakening.lines == (2 if weakening.first in second else 1)
        if weakening.lines == 2:
            assert before[at + 1].strip().startswith(second[weakening.first])
        assert before[at + weakening.lines :] == after[at:]


@pytest.mark.parametrize("name", NAMES)
def test_instrumented_ptx_keeps_every_lowered_instruction_in_order(name: str) -> None:
    kept = iter(patterns.instrument(BY_NAME[name], lowered(name)).splitlines())
    body = lowered(name).split("{", 1)[1].splitlines()
    assert all(line in kept for line in body)


def test_weakening_that_finds_nothing_is_an_error() -> None:
    ptx = lowered("tma_to_core")
    with pytest.raises(ValueError, match=r"no instruction 0 begins fence\.absent"):
        patterns.Weakening("none", "fence.absent").apply(ptx)
    with pytest.raises(ValueError, match=r"has no \.nowhere"):
        patterns.Weakening("none", "ret", instead=(".nowhere", "")).apply(ptx)


@pytest.mark.parametrize(
    ("name", "instance", "value"),
    [("tma_to_core", 3, 103), ("cluster_dsmem_bulk", 3, 102), ("cluster_st_async", 4, 105)],
)
def test_expected_results(name: str, instance: int, value: int) -> None:
    assert BY_NAME[name].expected(100, instance) == value


def test_wrong_result_fails_only_as_lowered() -> None:
    assert patterns.Run("p", "", 10, 0).is_right
    assert not patterns.Run("p", "", 10, 1).is_right
    assert not patterns.Run("p", "", 0, 0, "did not end").is_right
    assert patterns.Run("p", "no proxy fence", 10, 9).is_right


def test_table_names_what_was_taken_out() -> None:
    table = patterns.markdown([patterns.Run("p", "no proxy fence", 1000, 9)], "machine")
    assert "|  | no proxy fence | 1,000 | 9 |" in table
