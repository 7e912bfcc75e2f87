"""The passes that take synchronisation away from CDNA code, judged by the simulator.

A program is lowered, minimised and executed exhaustively; every outcome must be one that the
source allows. Each rule of a pass is then broken on purpose, and a program must show it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import minimise_programs as programs
import pytest
from minimise_programs import (
    Random,
    Target,
    Threads,
    Where,
    barrier,
    copy,
    fence,
    forbidden,
    load,
    lock,
    maybe,
    program,
    rmw,
    source,
    spin,
    store,
    when,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Caches, Reach
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes import drop_invalidates, drop_write_backs, loosen_waits, sink_invalidates
from fencewright.passes.cdna_caches import CacheStep
from fencewright.passes.drop_invalidates import DropInvalidatesPass, Needs
from fencewright.passes.drop_write_backs import DropWriteBacksPass, Level, Published, Stores
from fencewright.passes.litmus_programs import ReadOptions
from fencewright.passes.loosen_waits import Age, LoosenWaitsPass
from fencewright.passes.merge_fences import MergeFencesPass
from fencewright.passes.sink_invalidates import SinkInvalidatesPass
from fencewright.simulator.litmus_run import CdnaTest, Limits, stuck_waves

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SEEDS = 4_000 if THOROUGH else 240
LIMITS = Limits(states=60_000)

BEFORE: tuple[ModulePass, ...] = (MergeFencesPass(),)
ON_CDNA: tuple[ModulePass, ...] = (
    DropWriteBacksPass(),
    DropInvalidatesPass(),
    SinkInvalidatesPass(),
    LoosenWaitsPass(),
)
ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY
TARGETS = (
    Target(),
    Target(l2_per_agent=ONE),
    Target("gfx90a"),
    Target(tgsplit=True),
    Target("gfx908"),
    Target("gfx90a", tgsplit=True),
    Target(l2_per_agent=ONE, knows_l2=True),
)
HERE, MATE, FAR, THIRD = Where(0, 0), Where(0, 0), Where(1, 1), Where(2, 0)
NEXT_CU = Where(0, 0, cu=1)
ABROAD = Where(3, 0, agent=1)


GFX942 = Target()


@dataclass(frozen=True)
class Case:
    """A program, and how many cache operations it has once lowered and once minimised."""

    threads: Threads
    plain: tuple[int, int]
    minimal: tuple[int, int]
    target: Target = GFX942


CASES: dict[str, Case] = {
    # What must stay.
    "message passing": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "handed on by a narrower flag": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release", "workgroup")]),
            (MATE, [load("r0", "f", "acquire", "workgroup"), when("r0", 1),
                    store("g", 1, "release")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "handed on by a narrower release to a wider acquire": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release", "workgroup")]),
            (MATE, [load("r0", "f", "acquire"), when("r0", 1), store("g", 1, "release")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 2),
        (1, 1),
    ),
    "handed on by a barrier": Case(
        (
            (HERE, [store("x", 1), barrier()]),
            (MATE, [barrier(), store("g", 1, "release")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "taken in behind the back of a write-back": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release", "workgroup")]),
            (NEXT_CU, [load("r0", "f", "relaxed", "workgroup"), fence("release"),
                       store("h", 1, "relaxed"), fence("acquire", "workgroup"),
                       fence("release"), when("r0", 1), store("g", 1, "relaxed")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (2, 2),
        (2, 1),
        Target(tgsplit=True),
    ),
    "handed on to another agent": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (THIRD, [fence("release", "system"), store("h", 1, "relaxed", "system"),
                     load("r0", "f", "acquire"), when("r0", 1),
                     store("g", 1, "release", "system")]),
            (ABROAD, [load("r0", "g", "acquire", "system"), when("r0", 1), load("r1", "x")]),
        ),
        (3, 2),
        (3, 1),
        Target("gfx942", l2_per_agent=ONE),
    ),
    "received for a mate by a barrier": Case(
        (
            (FAR, [store("x", 1), store("f", 1, "release")]),
            (HERE, [load("r0", "f", "acquire"), barrier()]),
            (MATE, [barrier(), load("r0", "f", "relaxed"), when("r0", 3), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "received for a mate by a flag": Case(
        (
            (FAR, [store("x", 1), store("f", 1, "release")]),
            (HERE, [load("r0", "f", "acquire"), when("r0", 1),
                    store("g", 1, "release", "workgroup")]),
            (MATE, [load("r0", "g", "acquire", "workgroup"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "received for the agent": Case(
        (
            (ABROAD, [store("x", 1), store("f", 1, "release", "system")]),
            (HERE, [load("r0", "f", "acquire", "system"), when("r0", 1),
                    store("g", 1, "release"),
                    load("r1", "f", "acquire", "system")]),
            (THIRD, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (2, 3),
        (1, 3),
        Target("gfx942", l2_per_agent=ONE),
    ),
    "a wait for LDS that a flag in memory tells": Case(
        (
            (HERE, [store("s", 1), store("f", 1, "release", "workgroup")]),
            (MATE, [load("r0", "f", "acquire", "workgroup"), when("r0", 1), load("r1", "s")]),
        ),
        (0, 0),
        (0, 0),
    ),
    "a wait for the flag that a fence acquires": Case(
        (
            (HERE, [store("x", 1, "relaxed"), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "relaxed"), load("r1", "y"), fence("acquire"),
                   load("r2", "x", "relaxed")]),
        ),
        (1, 1),
        (0, 0),
    ),
    "a store on its way that a mate hands on": Case(
        (
            (HERE, [store("x", 1, "relaxed"), store("f", 1, "release", "workgroup")]),
            (MATE, [load("r0", "f", "acquire", "workgroup"), when("r0", 1),
                    store("g", 1, "release")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x", "relaxed")]),
        ),
        (1, 1),
        (1, 0),
        Target(compat="llvm"),
    ),
    # What goes.
    "prefetching": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "relaxed"), load("r1", "y"), load("r2", "y"),
                   fence("acquire"), when("r0", 1), load("r3", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "two releases": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release"), store("g", 1, "release")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (2, 1),
        (1, 1),
    ),
    "two release fences with a store of flags between": Case(
        (
            (HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed"),
                    fence("release"), store("g", 1, "relaxed")]),
            (FAR, [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x"),
                   load("r2", "f", "relaxed")]),
        ),
        (2, 1),
        (1, 1),
    ),
    "grid barrier": Case(
        (
            (HERE, [store("x", 1), fence("release"), barrier(), barrier(), fence("acquire")]),
            (MATE, [barrier(), rmw("r0", "f", 1, "acq_rel"), barrier(), fence("acquire")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (2, 4),
        (1, 1),
    ),
    "spin": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [spin("r0", "f", 1, "acquire"), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "lock": Case(
        (
            (HERE, [lock("r0", "f"), load("r1", "x"), store("x", 1),
                    store("f", 0, "release")]),
            (FAR, [lock("r0", "f"), load("r1", "x"), store("x", 2), store("f", 0, "release")]),
        ),
        (2, 2),
        (2, 2),
    ),
    "needed on one way": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), maybe("r0", 1, load("r1", "x"), copy("y", "r1"))]),
        ),
        (1, 1),
        (1, 1),
    ),
    "store buffering": Case(
        (
            (HERE, [store("f", 1, "seq_cst"), load("r0", "g", "seq_cst")]),
            (FAR, [store("g", 1, "seq_cst"), load("r0", "f", "seq_cst")]),
        ),
        (2, 2),
        (0, 0),
    ),
    "store buffering behind plain stores": Case(
        (
            (HERE, [store("f", 1, "seq_cst"), store("x", 1), load("r0", "g", "seq_cst")]),
            (FAR, [store("g", 1, "seq_cst"), store("y", 1), load("r0", "f", "seq_cst")]),
        ),
        (2, 2),
        (0, 0),
    ),
    "message passing in LDS": Case(
        (
            (HERE, [store("s", 1), store("t", 1, "release", "workgroup")]),
            (MATE, [load("r0", "t", "acquire", "workgroup"), when("r0", 1), load("r1", "s")]),
        ),
        (0, 0),
        (0, 0),
    ),
    "counting": Case(
        (
            (HERE, [store("x", 1), rmw("r0", "f", 1, "acq_rel"), rmw("r1", "g", 1, "acq_rel")]),
            (FAR, [rmw("r0", "g", 0, "acq_rel"), when("r0", 1), load("r1", "x")]),
        ),
        (3, 3),
        (1, 1),
    ),
}  # fmt: skip


def cache_operations(module: ModuleOp) -> tuple[int, int]:
    """How many write-backs and invalidates a module has."""
    names = [op.opcode.data for op in module.walk() if isinstance(op, CacheOp)]
    return names.count("buffer_wbl2"), len(names) - names.count("buffer_wbl2")


def problem(threads: Threads, target: Target) -> object:
    """Outcomes of the minimised program that the source forbids."""
    text = program(threads)
    meant = source(text)
    assert not meant.races
    assert not meant.incomplete
    module = programs.lower(text, target, BEFORE, ON_CDNA)
    does = programs.execute(module, target, LIMITS)
    assert not does.incomplete
    return forbidden(meant, does)


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_is_enough(name: str) -> None:
    case = CASES[name]
    assert not problem(case.threads, case.target)


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_is_little(name: str) -> None:
    case = CASES[name]
    text = program(case.threads)
    assert cache_operations(programs.lower(text, case.target, (), ())) == case.plain
    assert cache_operations(programs.lower(text, case.target, BEFORE, ON_CDNA)) == case.minimal


# Each rule broken on purpose.

Break = Callable[[pytest.MonkeyPatch], None]


def always(value: object) -> Callable[..., object]:
    """A function that answers so whatever it is asked."""

    def answer(*_: object) -> object:
        return value

    return answer


def ignore_narrower_synchronisation(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever taken in."""
    patch.setattr(Published, "taken_in", always(Stores(Level.DONE, Level.DONE)))


def ignore_other_kernels(patch: pytest.MonkeyPatch) -> None:
    """A flag hands on what this work-group knows, whoever raises it."""

    def taken_in(published: Published, step: CacheStep) -> Stores:
        return published.barrier if step.is_barrier else published.flag

    patch.setattr(Published, "taken_in", taken_in)


def ignore_reads_on_their_way(patch: pytest.MonkeyPatch) -> None:
    """A write-back writes back what a flag still on its way will take in."""
    real = drop_write_backs.written_back

    def written_back(reach: Reach, state: Stores, published: Published) -> Stores:
        return real(reach, state._replace(reading=0), published)

    patch.setattr(drop_write_backs, "written_back", written_back)


def hand_on_what_is_on_its_way(patch: pytest.MonkeyPatch) -> None:
    """What has been issued counts as done for others too."""

    def arrived(level: Level) -> Level:
        return level if level is Level.DIRTY else Level.DONE

    patch.setattr(drop_write_backs, "_arrived", arrived)


def take_stores_for_written_back(patch: pytest.MonkeyPatch) -> None:
    """No store leaves a dirty line."""
    patch.setattr(drop_write_backs, "_stored", always(Level.ISSUED))


def need_nothing(patch: pytest.MonkeyPatch) -> None:
    """Loads find nothing stale."""
    real = drop_invalidates.needed_at

    def needed_at(step: CacheStep, needs: Needs) -> Caches:
        return real(step, needs) & ~step.effect.reads if step.publishes else Caches.NONE

    for module in (drop_invalidates, sink_invalidates):
        patch.setattr(module, "needed_at", needed_at)


def need_nothing_for_mates(patch: pytest.MonkeyPatch) -> None:
    """The others of the work-group invalidate for themselves."""

    def handed_on(needs: Needs, step: CacheStep) -> Caches:
        return Caches.SYSTEM if step.leaves_workgroup else Caches.NONE

    patch.setattr(Needs, "handed_on", handed_on)


def need_nothing_for_the_agent(patch: pytest.MonkeyPatch) -> None:
    """Other work-groups invalidate for themselves."""

    def handed_on(needs: Needs, step: CacheStep) -> Caches:
        return needs.barrier if step.is_barrier else needs.flag

    patch.setattr(Needs, "handed_on", handed_on)


def sink_past_loads(patch: pytest.MonkeyPatch) -> None:
    """Invalidates leave their block whatever comes behind them."""

    def before(step: CacheStep, must: Caches, needs: Needs) -> Caches:
        return must

    patch.setattr(sink_invalidates, "_before", before)
    patch.setattr(sink_invalidates, "_at_end", always(Caches.NONE))


def lose_edges(patch: pytest.MonkeyPatch) -> None:
    """Invalidates that sink are not put back."""
    patch.setattr(sink_invalidates, "_insert", always(None))
    patch.setattr(sink_invalidates, "_insert_on_edge", always(None))


def acquire_nothing(patch: pytest.MonkeyPatch) -> None:
    """The wait of an acquire need not cover flags."""
    patch.setattr(loosen_waits, "must_be_acquired", always(False))


def wait_for_one_less(patch: pytest.MonkeyPatch) -> None:
    """Counts are one too great."""
    real = Age.greatest.fget
    assert real is not None

    def greatest(age: Age) -> int | None:
        count = real(age)
        return None if count is None else count + 1

    patch.setattr(Age, "greatest", property(greatest))


def tell_of_lds_by_memory(patch: pytest.MonkeyPatch) -> None:
    """A flag in memory is in order with LDS."""
    patch.setattr(loosen_waits, "tells_of_lds", always(False))


def count_on_no_invalidate(patch: pytest.MonkeyPatch) -> None:
    """An invalidate is over when it has been issued."""
    patch.setattr(loosen_waits, "_is_counted_on", always(False))


BROKEN: dict[Break, tuple[str, ...]] = {
    ignore_narrower_synchronisation: (
        "handed on by a narrower flag",
        "handed on by a narrower release to a wider acquire",
        "handed on by a barrier",
    ),
    ignore_other_kernels: ("handed on to another agent",),
    ignore_reads_on_their_way: ("taken in behind the back of a write-back",),
    hand_on_what_is_on_its_way: ("a store on its way that a mate hands on",),
    take_stores_for_written_back: ("message passing", "two releases", "grid barrier", "counting"),
    need_nothing: ("message passing", "spin", "lock", "needed on one way", "grid barrier"),
    need_nothing_for_mates: ("received for a mate by a flag",),
    need_nothing_for_the_agent: ("received for the agent",),
    sink_past_loads: ("message passing", "prefetching"),
    lose_edges: ("spin", "lock", "needed on one way"),
    acquire_nothing: ("a wait for the flag that a fence acquires",),
    wait_for_one_less: ("message passing", "store buffering"),
    tell_of_lds_by_memory: ("a wait for LDS that a flag in memory tells",),
    count_on_no_invalidate: ("received for the agent",),
}


@pytest.mark.parametrize(
    ("broken", "name"), [(broken, name) for broken, names in BROKEN.items() for name in names]
)
def test_a_broken_rule_is_caught(monkeypatch: pytest.MonkeyPatch, broken: Break, name: str) -> None:
    broken(monkeypatch)
    case = CASES[name]
    assert problem(case.threads, case.target)


# Programs at random.


def random_case(seed: int) -> tuple[Threads, Target]:
    """Half of them for gfx942 as it is, half for the other modes in turn."""
    target = TARGETS[0 if seed % 2 else seed // 2 % len(TARGETS)]
    agents = target.chip == "gfx942"
    return Random(seed, lds=not target.tgsplit, agents=agents).threads(), target


@pytest.mark.parametrize("start", range(0, SEEDS, 20))
def test_random_programs_stay_right(start: int) -> None:
    checked = 0
    for seed in range(start, start + 20):
        threads, target = random_case(seed)
        text = program(threads)
        meant = source(text)
        if meant.races or meant.incomplete:
            continue
        module = programs.lower(text, target, BEFORE, ON_CDNA)
        does = programs.execute(module, target, LIMITS)
        assert not does.incomplete, seed
        assert not forbidden(meant, does), seed
        checked += 1
    assert checked >= 10


@pytest.mark.parametrize(
    "broken",
    [
        ignore_narrower_synchronisation,
        take_stores_for_written_back,
        need_nothing,
        need_nothing_for_mates,
        sink_past_loads,
        wait_for_one_less,
    ],
)
def test_random_programs_find_broken_rules(monkeypatch: pytest.MonkeyPatch, broken: Break) -> None:
    broken(monkeypatch)
    assert any(_is_caught(seed) for seed in range(400))


def _is_caught(seed: int) -> bool:
    threads, target = random_case(seed)
    text = program(threads)
    module = programs.lower(text, target, BEFORE, ON_CDNA)
    does = programs.execute(module, target, LIMITS)
    if does.incomplete or does.errors:
        return False
    meant = source(text)
    return not meant.races and not meant.incomplete and bool(forbidden(meant, does))


@pytest.mark.parametrize("name", ["spin", "lock", "message passing", "grid barrier"])
@pytest.mark.parametrize("l2_per_agent", L2PerAgent)
def test_loops_still_end(name: str, l2_per_agent: L2PerAgent) -> None:
    case = CASES[name]
    module = programs.lower(program(case.threads), case.target, BEFORE, ON_CDNA)
    test = programs.runnable(module, ReadOptions(l2_per_agent=l2_per_agent))
    assert isinstance(test, CdnaTest)
    assert stuck_waves(test, LIMITS) == ()


@pytest.mark.parametrize("name", CASES)
def test_running_it_again_changes_nothing(name: str) -> None:
    case = CASES[name]
    module = programs.lower(program(case.threads), case.target, BEFORE, ON_CDNA)
    before = str(module)
    for each in ON_CDNA:
        each.apply(Context(), module)
    assert str(module) == before
