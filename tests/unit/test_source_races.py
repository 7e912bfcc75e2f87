"""Race lines: each race once, where both accesses stand, and which part of an order is missing."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hang_cases import racing_program
from litmus_modules import MESSAGE_PASSING, programs
from source_cases import BY_NAME

from fencewright.simulator import litmus_run
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.litmus_run import Limits, SourceRaces, races_of_source, run
from fencewright.simulator.source import events as source_events
from fencewright.simulator.source import model as source_model
from fencewright.simulator.source.behaviour import behaviour
from fencewright.simulator.source.events import (
    Candidates,
    Combination,
    ScopedProgram,
    racing,
)
from fencewright.simulator.source.hangs import races_of_hangs
from fencewright.simulator.source.model import (
    FULL_MODEL,
    Behaviour,
    enumerated_behaviour,
    explain_race,
)
from fencewright.tools import fence_sim
from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

UNCONNECTED = "neither reads before its access what the other wrote after its own"

REASONS = {
    "MP+rlx+acq": "P0's store of f, instruction 1, is relaxed: it releases nothing",
    "MP+rel+rlx": "P1's load of f, instruction 0, is relaxed: it acquires nothing",
    "MP+rlx": "P0's store of f, instruction 1, is relaxed: it releases nothing; "
    "P1's load of f, instruction 0, is relaxed: it acquires nothing",
    "MP+acq-fence-first": "P1's load of f, instruction 1, is relaxed: it acquires nothing, and "
    "P1's fence, instruction 0, does not stand between it and the access",
    "MP+rel-fence-last": "P0's store of f, instruction 1, is relaxed: it releases nothing, and "
    "P0's fence, instruction 2, does not stand between it and the access",
    "MP+no-branch": UNCONNECTED,
    "weak-flag": "P0's store of f, instruction 1, is weak: it releases nothing; "
    "P1's load of f, instruction 0, is weak: it acquires nothing",
    "weak-writes": UNCONNECTED,
    "chain+store": "P1's load of f, instruction 0, is relaxed: it acquires nothing",
    "release-then-store": "P0's store of f, instruction 2, is relaxed: it releases nothing",
    "lock+rlx": "P0's cmpxchg of f, instruction 1, is relaxed: it acquires nothing",
    "unlock+rlx": "P0's store of f, instruction 6, is relaxed: it releases nothing",
    "failed-relaxed": "P1's failed cmpxchg of f, instruction 0, is relaxed: it acquires nothing",
    "barrier+apart": UNCONNECTED,
    "barrier.relaxed": "P0's barrier, instruction 1, is relaxed: it releases nothing; "
    "P1's barrier, instruction 0, is relaxed: it acquires nothing",
    "MP.one-side": "scope workgroup of P0's store of f, instruction 1, "
    "does not reach P1 in another work-group",
    "MP.agent+agents": "scope agent of P0's store of f, instruction 1, "
    "does not reach P1 in another agent; "
    "scope agent of P1's load of f, instruction 0, does not reach P0 in another agent",
    "MP.group-fence": "scope workgroup of P0's fence, instruction 1, "
    "does not reach P1 in another work-group",
    "exchange+weak": "scope workgroup of P2's fence, instruction 1, "
    "does not reach P0 in another work-group",
    "across.local+global-data": "P0's fence, instruction 1, "
    "does not order the address space of x",
    "across.other-spaces": "P1's fence, instruction 1, does not order the address space of l",
    "MP.one-as": "P0's store of f, instruction 1, does not order the address space of l",
}  # fmt: skip


@pytest.mark.parametrize("name", REASONS)
def test_what_is_missing(name: str) -> None:
    found = behaviour(BY_NAME[name].test.program).races
    weak = [each for each in found if "weak" in each.reason]
    assert {each.reason for each in weak if each.location != "f"} == {
        f"both are weak, and {REASONS[name]}"
    }


@pytest.mark.parametrize(
    ("name", "location", "reason"),
    [
        ("weak+atomic", "x", f"P0's access is weak, and {UNCONNECTED}"),
        ("weak-flag", "f", f"both are weak, and {UNCONNECTED}"),
        ("MP.one-side", "f", "scope workgroup of P0 does not reach P1 in another work-group"),
        (
            "wave",
            "x",
            "scope wavefront of P0 does not reach P1 in another wave; "
            "scope wavefront of P1 does not reach P0 in another wave",
        ),
        (
            "MP.av-none",
            "x",
            "ordered, but av(none) leaves the write unavailable or not visible",
        ),
    ],
)
def test_what_may_not_be_unordered(name: str, location: str, reason: str) -> None:
    found = behaviour(BY_NAME[name].test.program).races
    assert [each.reason for each in found if each.location == location] == [reason]


RACY = [name for name, case in BY_NAME.items() if case.race]


@pytest.mark.parametrize("name", RACY)
def test_the_reason_does_not_depend_on_the_order_of_executions(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BY_NAME[name].test.program
    usual = behaviour(program).races

    class Shuffled(Candidates):
        def __iter__(self) -> Iterator[Combination]:
            every = [*super().__iter__()]
            random.Random(1).shuffle(every)
            return iter(every[::-1])

    monkeypatch.setattr(source_model, "Candidates", Shuffled)
    again = behaviour(program).races
    assert [*map(str, again)] == [*map(str, usual)]


@pytest.mark.parametrize("name", RACY)
def test_there_is_an_execution_with_the_reason(name: str) -> None:
    program = BY_NAME[name].test.program
    for race in behaviour(program).races:
        witness = explain_race(program, race)
        assert witness is not None
        assert race.reason in [each.reason for each in witness.races if each == race]


def test_a_reason_is_no_part_of_which_race_it_is() -> None:
    (race,) = behaviour(BY_NAME["MP+rlx"].test.program).races
    assert replace(race, reason="another") == race
    with pytest.raises(ProgramError):
        behaviour(replace(BY_NAME["MP+rlx"].test.program, locations=()))


# As they are printed


def lines(text: str) -> tuple[str, ...]:
    (test,) = programs(text).values()
    return run(test).races


def test_a_line_says_where_both_accesses_stand() -> None:
    relaxed = MESSAGE_PASSING.replace("store release", "store relaxed")
    assert lines(relaxed) == (
        "data race on x: P0 'store weak 1, x' at test.mlir:9 and "
        "P1 '%data = load weak x' at test.mlir:22: both are weak, and "
        "P0's store of f, line 10, is relaxed: it releases nothing",
    )


LOCK = """
litmus.test @lock {
  litmus.location @m = 0 : i32
  litmus.location @x = 0 : i32
  litmus.thread @P0 runs @worker(@m, @x)
  litmus.thread @P1 runs @worker(@m, @x)
}
func.func @worker(%m: !llvm.ptr<1>, %x: !llvm.ptr<1>) attributes {gpu.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^spin
^spin:
  %old, %ok = scoped.cmpxchg acquire relaxed agent %m, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %ok, ^in, ^spin
^in:
  %v = scoped.load weak %x : !llvm.ptr<1> -> i32
  %n = arith.addi %v, %one : i32
  scoped.store weak %n, %x : i32, !llvm.ptr<1>
  scoped.store release workgroup %zero, %m : i32, !llvm.ptr<1>
  func.return
}
"""


def test_threads_that_run_the_same_code_race_once() -> None:
    found = lines(LOCK)
    assert len(found) == len(set(found)) == 4
    pairs = [frozenset(part.split(":")[1][:2] for part in each.split(" at ")[1:]) for each in found]
    assert sorted(sorted(pair) for pair in pairs) == [["13", "19"], ["16", "18"], ["18"], ["19"]]
    assert all("scope workgroup of P0" in each for each in found)


# Races that only executions show which never end


def pairs(found: Behaviour, program: ScopedProgram) -> set[object]:
    """Which operations of which threads race where."""
    return {
        (
            race.location,
            frozenset(
                (each.thread, str(program.threads[each.thread].instructions[each.position]))
                for each in (race.first, race.second)
            ),
        )
        for race in found.races
    }


def raced(seed: int) -> tuple[set[object], set[object], set[object]]:
    """The races of executions that end, of all, and of a program that stops where this one waits."""
    program, stopping = racing_program(seed, stops=False), racing_program(seed, stops=True)
    ended = pairs(behaviour(program, bound=2), program)
    stopped = pairs(enumerated_behaviour(stopping, FULL_MODEL, 1, WorkBudget()), stopping)
    return ended, ended | pairs(races_of_hangs(program, 2), program), stopped


def test_races_of_hangs_are_those_of_stopping_instead() -> None:
    hidden = 0
    for seed in range(200):
        ended, found, stopped = raced(seed)
        assert found == stopped, seed
        hidden += ended != found
    assert hidden > 20


HIDDEN = """litmus.test @hidden {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 1> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %v = scoped.load weak %x : !llvm.ptr<1> -> i32
    cf.br ^spin
  ^spin:
    %s = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %z = arith.constant 0 : i32
    %again = arith.cmpi eq, %s, %z : i32
    cf.cond_br %again, ^spin, ^done
  ^done:
    litmus.end
  }
  litmus.condition "forall (true) may hang"
}
"""


@pytest.mark.parametrize("lowered", [False, True])
def test_a_race_of_a_hang_is_reported(
    lowered: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hidden.mlir"
    path.write_text(HIDDEN, encoding="utf-8")
    assert fence_sim.main(["run", str(path), *(["--mcpu", "sm_90"] if lowered else [])]) == 1
    assert "data race on x" in capsys.readouterr().out


# Whether any can race, without executions


def missed() -> list[str]:
    """The cases with a race at a location of which ``racing`` says that none can be there."""
    return [
        name
        for name, case in BY_NAME.items()
        if not {each.location for each in behaviour(case.test.program).races}
        <= racing(case.test.program)
    ]


def test_races_are_where_two_accesses_can_race(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not missed()
    assert any(not racing(case.test.program) for case in BY_NAME.values())
    monkeypatch.setattr(source_events, "_reaches", is_atomic)
    assert missed()


def is_atomic(program: ScopedProgram, thread: int, scope: object, other: int) -> bool:
    """Broken on purpose: any scope reaches everybody."""
    return scope is not None


def is_executed(*arguments: object) -> None:
    pytest.fail("it is executed")


def test_a_source_in_which_none_can_race_is_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = MESSAGE_PASSING.replace("scoped.store weak", "scoped.store relaxed agent").replace(
        "scoped.load weak", "scoped.load relaxed agent"
    )
    (test,) = read_string("-", text, Lowering("gfx942"))
    (may_race,) = read_string("-", MESSAGE_PASSING, Lowering("gfx942"))
    found = run(test)
    monkeypatch.setattr(litmus_run, "run", is_executed)
    assert races_of_source(test, found, None, Limits()) == SourceRaces()
    with pytest.raises(pytest.fail.Exception, match="it is executed"):
        races_of_source(may_race, found, None, Limits())
