"""What fence-check says can go is taken out and executed; what cannot is found to be wrong."""

from collections.abc import Iterator

import pytest
from xdsl.dialects.builtin import ModuleOp

from fencewright.checker.findings.finding import Finding, Rule
from fencewright.tools.dev.campaigns import needed, surplus_removed
from fencewright.tools.dev.campaigns.deletions import Deleted
from fencewright.tools.dev.campaigns.surplus_removed import ALL, measure, table
from fencewright.tools.fuzz.checks import CheckVerdict, Setting

SEEDS = (13, 3)
_RULES = {
    Deleted.WAIT: Rule.SURPLUS_WAIT,
    Deleted.WRITE_BACK: Rule.SURPLUS_WRITE_BACK,
    Deleted.INVALIDATE: Rule.SURPLUS_INVALIDATE,
}


def test_what_can_go_is_not_missed() -> None:
    tallies = measure("gfx942", *SEEDS, ())
    assert all(each.bad == [] and each.wrong == 0 for each in tallies.values())
    plain = tallies["ours -O0"].taken
    assert {Deleted.WAIT, Deleted.WRITE_BACK, Deleted.INVALIDATE, ALL} <= set(plain)
    assert "| gfx942 | ours -O0 | " in table({"gfx942": tallies})


def test_what_cannot_go_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(module: ModuleOp, _: Setting) -> Iterator[tuple[Finding, needed.Deletion]]:
        for each in needed.deletions(module):
            if each.kind in _RULES:
                yield Finding(0, _RULES[each.kind], f"{each.text} is redundant"), each

    monkeypatch.setattr(surplus_removed, "_of_assembly", everything)
    tallies = measure("gfx942", *SEEDS, ())
    found = "\n".join(line for each in tallies.values() for line in each.bad)
    assert f": {CheckVerdict.UNSOUND}" in found
    assert f": {CheckVerdict.WRONG}" in found


def test_ptx_is_executed_too() -> None:
    tallies = measure("sm_90", 0, 8, ())
    assert all(each.bad == [] for each in tallies.values())
    assert tallies["ours -O0"].taken.total()
