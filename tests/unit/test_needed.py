"""What the simulator calls necessary in our own code is missed by fence-check when it is deleted."""

from dataclasses import replace

import pytest

from fencewright.checker.findings.finding import Level
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.passes.litmus.build_litmus import build
from fencewright.simulator.core.program import Location, Placement
from fencewright.simulator.random.programs import SmallProgram, SmallThread, When
from fencewright.simulator.source.events import Load, Store
from fencewright.tools.dev.campaigns import needed
from fencewright.tools.dev.campaigns.deletions import Deleted
from fencewright.tools.dev.campaigns.needed import deletions, is_noticed, levels_of, measure, table
from fencewright.tools.fuzz.checks import lowered, program_of, settings_of

KINDS = {
    "gfx942": {Deleted.WAIT, Deleted.BIT, Deleted.WRITE_BACK, Deleted.INVALIDATE},
    "gfx90a": {Deleted.WAIT, Deleted.BIT, Deleted.INVALIDATE},
    "gfx1250": {Deleted.WAIT, Deleted.BIT, Deleted.WRITE_BACK, Deleted.INVALIDATE},
    "sm_90": {Deleted.FENCE, Deleted.BIT, Deleted.ORDERING},
}
SEEDS = {"gfx942": (13, 6), "gfx90a": (0, 6), "gfx1250": (10, 6), "sm_90": (20, 6)}
"""The first, and how many: some programs in which each kind is necessary."""


@pytest.mark.parametrize("chip", KINDS)
def test_what_is_necessary_is_noticed(chip: str) -> None:
    tally = measure(chip, *SEEDS[chip])
    assert tally.missed == []
    assert {kind for kind, _ in tally.needed} == KINDS[chip]
    # Not all is necessary in every program: the simulator decides, not the checker.
    assert tally.needed.total() < tally.deleted.total()
    assert f"| {chip} |" in table({chip: tally})


def test_what_is_not_noticed_is_counted_as_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measure("gfx942", 4, 2)

    def sees_nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(needed, "is_noticed", sees_nothing)
    blind = measure("gfx942", 4, 2)
    assert len(blind.missed) == right.needed.total() > 0
    assert all(not found for _, found in blind.needed)


def test_one_wave_that_acquires_for_another_is_not_judged() -> None:
    """The measure's one kind of miss: what is owed by way of another wave of the work-group."""
    (setting,) = settings_of(75, "gfx90a")
    drawn = setting.place(program_of(75, "gfx90a"))
    writer, reader, mate = drawn.threads
    (read,) = (each for each in mate.steps if getattr(each, "location", "") == "y")
    # A weak read may hit the L1, which the other wave has invalidated.
    weak = replace(read, ordering=Ordering.WEAK, scope=None)
    mate = replace(mate, steps=tuple(weak if each is read else each for each in mate.steps))
    program = replace(drawn, threads=(writer, reader, mate))
    code = lowered(build(program), setting.passes(2))
    right = levels_of(program, code, "k", setting)
    assert not right
    (invalidate, *_) = (e for e in deletions(code) if e.kind is Deleted.INVALIDATE)
    assert not is_noticed(program, invalidate.of(code), "k", setting, right)
    # The same wave with an access after its acquire.
    steps = (*reader.steps, replace(weak, dst="r9"))
    asked = replace(program, threads=(writer, replace(reader, steps=steps), mate))
    code = lowered(build(asked), setting.passes(2))
    (invalidate, *_) = (e for e in deletions(code) if e.kind is Deleted.INVALIDATE)
    assert is_noticed(asked, invalidate.of(code), "k", setting, right)


def test_what_only_the_hardest_reading_makes_necessary_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a cluster: a store waited for has got there, unless a cache of the work-group reports it."""
    agent = (Ordering.RELEASE, Scope.AGENT), (Ordering.ACQUIRE, Scope.AGENT)
    writes = (Store("x", 1), Store("y", 1, *agent[0]))
    reads = (Load("r0", "y", *agent[1]), When("r0", 1), Load("r1", "x"), Load("r2", "x"))
    threads = (SmallThread(Placement(0), writes), SmallThread(Placement(1), reads))
    handed = SmallProgram(threads, (Location("x"), Location("y")))

    def drawn(*_: object) -> SmallProgram:
        return handed

    monkeypatch.setattr(needed, "program_of", drawn)
    tally = measure("gfx1250", 1, 1, clusters=True)
    assert (tally.programs, tally.missed) == (1, [])
    assert (
        tally.needed[Deleted.WRITE_BACK, True] == tally.by_less[Deleted.WRITE_BACK, Level.NOTE] == 1
    )
    assert tally.needed[Deleted.INVALIDATE, True] == 1
    assert tally.needed[Deleted.WAIT, True] > tally.by_less[Deleted.WAIT, Level.NOTE] > 0
    assert tally.by_less[Deleted.INVALIDATE, Level.NOTE] == 0
    assert "| 1 (1 by a note) of 1 |" in table({"gfx1250": tally})
