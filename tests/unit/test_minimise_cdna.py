"""The passes that take synchronisation away from CDNA code, judged by the simulator.

A program is lowered, minimised and executed exhaustively; every outcome must be one that the
source allows. Each rule of a pass is then broken on purpose, and a program must show it.
"""

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import minimise_programs as programs
import pytest
from campaigns import Share, draws
from minimise_programs import (
    Random,
    Step,
    Target,
    Threads,
    Where,
    attempt,
    barrier,
    copy,
    fence,
    forbidden,
    load,
    lock,
    lookup,
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
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Caches, Visibility
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import L2PerAgent, Ordering
from fencewright.mlir_dialects.attributes import ORDERINGS, count_attr
from fencewright.mlir_dialects.cdna import (
    ELECTS,
    BarrierOp,
    BranchOp,
    CacheOp,
    CondBranchOp,
    EndOp,
    KernelOp,
    LoadOp,
    MemoryOp,
    StoreOp,
    WaitOp,
)
from fencewright.mlir_dialects.scoped import CmpxchgOp
from fencewright.passes.analysis import caches as cdna_caches
from fencewright.passes.analysis.caches import CacheCode, CacheStep, StoreThrough
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks, successors
from fencewright.passes.analysis.loops import frequencies, loops_of
from fencewright.passes.cdna.caches import (
    drop_invalidates,
    drop_write_backs,
    elect_release,
    hoist_write_backs,
    sink_invalidates,
    store_through,
)
from fencewright.passes.cdna.caches.drop_invalidates import DropInvalidatesPass, Needs
from fencewright.passes.cdna.caches.drop_write_backs import (
    DIRTY,
    DONE,
    ISSUED,
    DropWriteBacksPass,
    Published,
    stores_of,
)
from fencewright.passes.cdna.caches.elect_release import Debts, ElectReleasePass, Moved
from fencewright.passes.cdna.caches.hoist_write_backs import Hoisting, HoistWriteBacksPass
from fencewright.passes.cdna.caches.sink_invalidates import SinkInvalidatesPass
from fencewright.passes.cdna.caches.store_through import StoreThroughPass
from fencewright.passes.cdna.waits import loosen_waits, sink_waits
from fencewright.passes.cdna.waits.loosen_waits import (
    Age,
    Ages,
    Loosening,
    LoosenWaitsPass,
    WaitLine,
)
from fencewright.passes.cdna.waits.sink_waits import SinkWaitsPass
from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import MinimiseCachesPipeline, StorePolicy
from fencewright.passes.scoped import acquire_on_success, infer_address_spaces
from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass, SuccessEdge
from fencewright.passes.scoped.infer_address_spaces import InferAddressSpacesPass
from fencewright.passes.scoped.merge_fences import MergeFencesPass
from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.litmus_run import CdnaTest, Limits, run, stuck_waves

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SEEDS = 4_000 if THOROUGH else 240
LIMITS = Limits(states=60_000)

BEFORE: tuple[ModulePass, ...] = (AcquireOnSuccessPass(), MergeFencesPass())
ON_CDNA: tuple[ModulePass, ...] = (
    DropWriteBacksPass(),
    ElectReleasePass(),
    HoistWriteBacksPass(),
    DropInvalidatesPass(),
    SinkInvalidatesPass(),
    SinkWaitsPass(),
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


def meets(scope: str) -> list[Step]:
    """A barrier between fences of all that a wave knows."""
    return [fence("acq_rel", scope), barrier(relaxed=True), fence("acq_rel", scope)]


MEETS = meets("agent")
GFX942 = Target()
SCOPES = (Visibility.AGENT, Visibility.SYSTEM)


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
    "a load that a release covers": Case(
        (
            (HERE, [load("r0", "x"), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), store("x", 1)]),
        ),
        (1, 1),
        (0, 0),
    ),
    "a read that a fence waits for": Case(
        (
            (HERE, [store("x", 1, "relaxed"), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "relaxed"), fence("acq_rel"), load("r1", "x", "relaxed")]),
        ),
        (2, 1),
        (0, 0),
    ),
    "a store behind which an acquire waits for no flag": Case(
        (
            (HERE, [load("r0", "t", "acquire", "workgroup"), store("x", 1), fence("acquire"),
                    maybe("r0", 1, lookup("r1")), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 2),
        (1, 1),
    ),
    # What goes.
    "work behind the last store": Case(
        (
            (HERE, [store("x", 1), lookup("r0"), load("r1", "s"), store("t", 1),
                    fence("release"), lookup("r2"), store("f", 1, "relaxed")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "work on two ways behind the last store": Case(
        (
            (HERE, [load("r0", "y"), store("x", 1), maybe("r0", 0, load("r1", "s")),
                    store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "a store on one of two ways": Case(
        (
            (HERE, [load("r0", "y"), store("x", 1), maybe("r0", 0, store("x", 2)),
                    store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "loads of what never changes": Case(
        (
            (HERE, [store("x", 1), lookup("r0"), store("f", 1, "release"), lookup("r1")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), lookup("r1"),
                   store("y", 1, "relaxed"), lookup("r2")]),
        ),
        (1, 1),
        (1, 0),
    ),
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
    "every wave releases, one publishes": Case(
        (
            (HERE, [store("x", 1), *MEETS]),
            (MATE, [store("y", 1), *MEETS, store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x"), load("r2", "y")]),
        ),
        (5, 5),
        (1, 1),
    ),
    "every wave releases to the system, one publishes": Case(
        (
            (HERE, [store("x", 1), *meets("system")]),
            (MATE, [*meets("system"), rmw("r0", "f", 1, "release", "system")]),
            (ABROAD, [load("r0", "f", "acquire", "system"), when("r0", 1), load("r1", "x")]),
        ),
        (5, 10),
        (1, 4),
        Target("gfx90a"),
    ),
    "waves on two compute units release, one publishes": Case(
        (
            (HERE, [store("x", 1), *MEETS]),
            (NEXT_CU, [store("y", 1), *MEETS, store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x"), load("r2", "y")]),
        ),
        (5, 5),
        (1, 1),
        Target(tgsplit=True),
    ),
    "a grid barrier whose waves all release": Case(
        (
            (HERE, [store("x", 1), *MEETS, barrier()]),
            (MATE, [store("g", 1), *MEETS, rmw("r0", "f", 1, "acq_rel"), spin("r1", "f", 2, "acquire"),
                    barrier(), load("r2", "y")]),
            (FAR, [store("y", 1), rmw("r0", "f", 1, "acq_rel"), spin("r1", "f", 2, "acquire"),
                   load("r2", "x")]),
        ),
        (6, 8),
        (2, 3),
    ),
    "every wave releases, one publishes on one of two ways": Case(
        (
            (HERE, [store("x", 1), *MEETS]),
            (MATE, [load("r0", "z", "relaxed"), store("y", 1), *MEETS,
                    maybe("r0", 0, store("f", 1, "release"))]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x"), load("r2", "y")]),
        ),
        (5, 5),
        (1, 1),
    ),
    "every wave releases, two publish": Case(
        (
            (HERE, [store("x", 1), *MEETS, store("g", 1, "release")]),
            (MATE, [store("y", 1), *MEETS, store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x"), load("r2", "y"),
                   load("r3", "g", "acquire")]),
        ),
        (6, 6),
        (2, 1),
    ),
    "one wave releases, the other publishes": Case(
        (
            (HERE, [store("x", 1), *MEETS]),
            (MATE, [*meets("workgroup"), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        (3, 3),
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
    "lock that acquires whenever it fails": Case(
        (
            (HERE, [lock("r0", "f", orderings="acquire acquire"), load("r1", "x"), store("x", 1),
                    store("f", 0, "release")]),
            (FAR, [lock("r0", "f", orderings="acquire acquire"), load("r1", "x"), store("x", 2),
                   store("f", 0, "release")]),
        ),
        (2, 2),
        (2, 2),
    ),
    "attempt that looks elsewhere and tries again": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [attempt("r0", "f", (1, 2),
                           failed=[load("r1", "y"), attempt("r2", "f", (1, 2)), load("r3", "x")]),
                   load("r4", "x")]),
        ),
        (1, 2),
        (1, 2),
    ),
    "attempt that looks elsewhere if it fails": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [attempt("r0", "f", (1, 2), failed=[load("r1", "y")]), load("r2", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "attempt that looks up what never changes": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [attempt("r0", "f", (1, 2), first=[lookup("r1")], failed=[load("r2", "y")]),
                   load("r3", "x")]),
        ),
        (1, 1),
        (1, 1),
    ),
    "attempt that acquires if it fails": Case(
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [attempt("r0", "f", (2, 3), "acquire acquire",
                           failed=[when("r0", 1), load("r1", "x")])]),
        ),
        (1, 1),
        (1, 1),
    ),
    "attempt that loads at once": Case(
        (
            (HERE, [store("x", 1, "relaxed"), store("f", 1, "release")]),
            (FAR, [attempt("r0", "f", (1, 2), first=[load("r1", "x", "relaxed")])]),
        ),
        (1, 1),
        (0, 0),
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


# Stores that go through.

STORING: tuple[ModulePass, ...] = (StoreThroughPass(), StoreThroughPass(policy="cheaper"))
TWO_STORES: Threads = (
    (HERE, [store("y", 1), store("x", 1), store("f", 1, "release")]),
    (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x"), load("r2", "y")]),
)


def storing_problem(threads: Threads, target: Target, storing: ModulePass) -> object:
    """As ``problem``, the stores decided on by ``storing``."""
    text = program(threads)
    module = programs.lower(text, target, BEFORE, (storing, *ON_CDNA))
    does = programs.execute(module, target, LIMITS)
    assert not does.incomplete
    return forbidden(source(text), does)


@pytest.mark.parametrize("storing", STORING, ids=lambda each: each.policy)
@pytest.mark.parametrize("name", CASES)
def test_storing_through_is_enough(name: str, storing: ModulePass) -> None:
    assert not storing_problem(CASES[name].threads, CASES[name].target, storing)


def test_storing_through_writes_nothing_back() -> None:
    module = programs.lower(program(TWO_STORES), GFX942, BEFORE, (STORING[1], *ON_CDNA))
    assert cache_operations(module) == (0, 1)
    assert not storing_problem(TWO_STORES, GFX942, STORING[1])


def test_storing_half_through_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = store_through.convertible

    def convertible(code: CacheCode, reach: Visibility) -> dict[Operation, StoreThrough]:
        return dict(list(real(code, reach).items())[:1])

    def is_redundant(step: CacheStep, state: int) -> bool:
        return step.meaning.writes_back is not None

    monkeypatch.setattr(store_through, "convertible", convertible)
    monkeypatch.setattr(drop_write_backs, "is_redundant", is_redundant)
    assert storing_problem(TWO_STORES, GFX942, STORING[0])


def loop_nest(depth: int) -> list[Block]:
    """The blocks of so many loops in each other, the innermost in the middle."""
    text = ["func.func @k(%n : i32) {", "%c = arith.cmpi eq, %n, %n : i32", "cf.br ^in0"]
    for level in range(depth):
        text += [f"^in{level}:", f"cf.br ^in{level + 1}"]
    text += [f"^in{depth}:", f"cf.br ^out{depth - 1}"]
    for level in reversed(range(depth)):
        following = f"^out{level - 1}" if level else "^end"
        text += [f"^out{level}:", f"cf.cond_br %c, ^in{level}, {following}"]
    module = programs.parse("\n".join([*text, "^end:", "func.return", "}"]))
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    return reachable_blocks(function.body)


def test_what_is_in_loops_runs_more_often() -> None:
    blocks = loop_nest(2)
    loops = loops_of(block_graph(blocks))
    assert loops is not None
    assert [len(body) for body in loops.values()] == [3, 5]
    times = frequencies(blocks, loops)
    assert [times[block] for block in blocks] == [1, 10, 100, 100, 100, 10, 1]


def test_loops_without_end_are_not_looked_at() -> None:
    assert loops_of(block_graph(loop_nest(400))) is None


@pytest.mark.parametrize("share", draws(10))
def test_random_programs_that_store_through_stay_right(share: Share) -> None:
    for seed in share.of(range(SEEDS // 3)):
        threads, target = random_case(seed)
        meant = source(program(threads))
        if not meant.races and not meant.incomplete:
            assert not storing_problem(threads, target, STORING[seed % 2]), seed


# Generic pointers.


def generic_problem(threads: Threads, target: Target) -> object:
    """As ``problem``, of the program with generic pointers: to LDS too."""
    text = re.sub(r"!llvm.ptr<\d>", "!llvm.ptr", program(threads))
    before = (InferAddressSpacesPass(), *BEFORE)
    does = programs.execute(programs.lower(text, target, before, ON_CDNA), target, LIMITS)
    assert not does.incomplete
    return forbidden(source(text), does)


def uses_flat(threads: Threads) -> bool:
    """Whether flat instructions are left of a program with generic pointers."""
    text = re.sub(r"!llvm.ptr<\d>", "!llvm.ptr", program(threads))
    module = programs.lower(text, GFX942, (InferAddressSpacesPass(),), ())
    found = [op.opcode.data for op in module.walk() if isinstance(op, MemoryOp)]
    return any(name.startswith("flat_") for name in found)


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name].target.tgsplit])
def test_generic_pointers_change_nothing(name: str) -> None:
    assert not generic_problem(CASES[name].threads, CASES[name].target)


def test_only_what_may_be_lds_stays_generic() -> None:
    assert uses_flat(CASES["message passing in LDS"].threads)
    assert not uses_flat(CASES["message passing"].threads)


def test_lds_taken_for_global_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: frozenset[str] = frozenset()
    monkeypatch.setattr(infer_address_spaces, "kernels_with_lds_arguments", always(nothing))
    case = CASES["message passing in LDS"]
    with pytest.raises(ProgramError, match="is in LDS"):
        generic_problem(case.threads, case.target)


# Each rule broken on purpose.

Break = Callable[[pytest.MonkeyPatch], None]


def always(value: object) -> Callable[..., object]:
    """A function that answers so whatever it is asked."""

    def answer(*_: object) -> object:
        return value

    return answer


def acquire_where_it_failed(patch: pytest.MonkeyPatch) -> None:
    """The acquire goes to the other edge."""
    real = acquire_on_success.success_edge

    def success_edge(op: CmpxchgOp) -> SuccessEdge | None:
        edge = real(op)
        return None if edge is None else replace(edge, index=1 - edge.index)

    patch.setattr(acquire_on_success, "success_edge", success_edge)


def ignore_failure_orderings(patch: pytest.MonkeyPatch) -> None:
    """Every failure is taken for relaxed."""

    def acquires_on_success_only(op: CmpxchgOp) -> bool:
        op.failure_ordering = ORDERINGS[Ordering.RELAXED]
        return True

    patch.setattr(acquire_on_success, "acquires_on_success_only", acquires_on_success_only)


def acquire_after_what_follows(patch: pytest.MonkeyPatch) -> None:
    """What stands before the branch need not be after the acquire."""
    patch.setattr(acquire_on_success, "nothing_between", always(True))


def ignore_narrower_synchronisation(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever acquired."""
    patch.setattr(Published, "acquired", always(stores_of(DONE, DONE)))


def ignore_other_kernels(patch: pytest.MonkeyPatch) -> None:
    """A flag releases what this work-group knows, whoever raises it."""

    real = Published.acquired

    def acquired(published: Published, step: CacheStep) -> int:
        return real(published, step) if step.meaning.is_barrier else published.flag

    patch.setattr(Published, "acquired", acquired)


def ignore_reads_in_flight(patch: pytest.MonkeyPatch) -> None:
    """A write-back writes back what a flag's read in flight will acquire."""
    real = drop_write_backs.written_back

    def written_back(reach: Visibility, state: int, published: Published) -> int:
        return real(reach, state & stores_of(DIRTY, DIRTY), published)

    patch.setattr(drop_write_backs, "written_back", written_back)


def release_what_is_in_flight(patch: pytest.MonkeyPatch) -> None:
    """What has been issued counts as done for others too."""

    def arrived(state: int) -> int:
        levels = [
            each if each == DIRTY else DONE
            for each in (drop_write_backs.level(state, r) for r in SCOPES)
        ]
        return stores_of(*levels)

    patch.setattr(drop_write_backs, "arrived", arrived)


def take_stores_for_written_back(patch: pytest.MonkeyPatch) -> None:
    """No store leaves a dirty line."""
    patch.setattr(drop_write_backs, "stored", always(stores_of(ISSUED, ISSUED)))


def hoist_past_everything(patch: pytest.MonkeyPatch) -> None:
    """Nothing gets dirty, and the later write-backs go whatever the analysis says."""
    patch.setattr(hoist_write_backs, "dirties", always(False))
    patch.setattr(hoist_write_backs, "droppable_write_backs", _later_write_backs)


def _later_write_backs(code: CacheCode) -> list[Operation]:
    return [step.op for step in code.write_backs][1:]


def write_back_for_nobody(patch: pytest.MonkeyPatch) -> None:
    """Nobody writes back after the barrier."""

    def apply(moved: Moved, code: CacheCode) -> None:
        code.erase(moved.write_backs)

    patch.setattr(Moved, "apply", apply)


def hand_on_no_debt(patch: pytest.MonkeyPatch) -> None:
    """A wave owes only what it would have written back itself."""
    real = Debts.after

    def after(debts: Debts, step: CacheStep, debt: int) -> int:
        debts.published = 0
        return real(debts, step, debt)

    patch.setattr(Debts, "after", after)


def sink_waits_past_flags(patch: pytest.MonkeyPatch) -> None:
    """Waits go to the end of their block."""

    def may_pass(op: Operation) -> bool:
        return not isinstance(op, BranchOp | CondBranchOp | EndOp)

    patch.setattr(sink_waits, "may_pass", may_pass)


def need_nothing(patch: pytest.MonkeyPatch) -> None:
    """Loads find nothing stale."""
    real = drop_invalidates.needed_at

    def needed_at(step: CacheStep, needs: Needs) -> int:
        return real(step, needs) & ~step.meaning.reads if step.meaning.publishes else 0

    patch.setattr(drop_invalidates, "needed_at", needed_at)


def need_nothing_for_mates(patch: pytest.MonkeyPatch) -> None:
    """The others of the work-group invalidate for themselves."""

    def of_observers(needs: Needs, step: CacheStep) -> int:
        return int(Caches.SYSTEM) if step.meaning.leaves_workgroup else 0

    patch.setattr(Needs, "of_observers", of_observers)


def need_nothing_for_the_agent(patch: pytest.MonkeyPatch) -> None:
    """Other work-groups invalidate for themselves."""

    real = Needs.of_observers

    def of_observers(needs: Needs, step: CacheStep) -> int:
        meaning = step.meaning._replace(leaves_workgroup=False)
        return real(needs, step._replace(meaning=meaning))

    patch.setattr(Needs, "of_observers", of_observers)


def sink_past_loads(patch: pytest.MonkeyPatch) -> None:
    """Invalidates leave their block whatever comes after them."""

    def before(step: CacheStep, must: int, needs: Needs) -> int:
        return must

    def at_end(code: CacheCode, _: Needs) -> dict[Block, int]:
        return dict.fromkeys(code.blocks, 0)

    patch.setattr(sink_invalidates, "before", before)
    patch.setattr(sink_invalidates, "_must_at_end", at_end)


def lose_edges(patch: pytest.MonkeyPatch) -> None:
    """Invalidates that sink are not put back."""
    for name in ("insert_at_begin", "insert_on_edge"):
        patch.setattr(cdna_caches.CacheCode, name, always(None))


def acquire_nothing(patch: pytest.MonkeyPatch) -> None:
    """The wait of an acquire need not cover flags."""
    patch.setattr(loosen_waits, "must_be_acquired", always(False))


def release_no_loads(patch: pytest.MonkeyPatch) -> None:
    """Every plain load is taken for one of what never changes."""

    def takes_part(op: Operation) -> bool:
        return not isinstance(op, LoadOp)

    patch.setattr(loosen_waits, "takes_part", takes_part)


def wait_for_one_less(patch: pytest.MonkeyPatch) -> None:
    """Counts are one too great."""
    real = Age.greatest

    def greatest(age: Age, *, releases: bool) -> int | None:
        count = real(age, releases=releases)
        return None if count is None else count + 1

    patch.setattr(Age, "greatest", greatest)


def count_on_waits_that_go(patch: pytest.MonkeyPatch) -> None:
    """What follows a wait is judged by what it was."""

    real = Loosening.after

    def after(self: Loosening, line: WaitLine, ages: Ages) -> tuple[Ages, WaitCounts | None]:
        as_it_was = line._replace(duty=line.duty._replace(orders=False))
        return real(self, as_it_was, ages)[0], real(self, line, ages)[1]

    patch.setattr(Loosening, "after", after)


def tell_of_lds_by_memory(patch: pytest.MonkeyPatch) -> None:
    """A flag in memory is in order with LDS."""
    patch.setattr(loosen_waits, "signals_lds", always(False))


def count_on_no_invalidate(patch: pytest.MonkeyPatch) -> None:
    """An invalidate is over when it has been issued."""
    patch.setattr(loosen_waits, "_is_counted_on", always(False))


BROKEN: dict[Break, tuple[str, ...]] = {
    acquire_where_it_failed: (
        "attempt that looks elsewhere and tries again",
        "attempt that looks elsewhere if it fails",
        "attempt that looks up what never changes",
    ),
    ignore_failure_orderings: ("attempt that acquires if it fails",),
    ignore_narrower_synchronisation: (
        "handed on by a narrower flag",
        "handed on by a narrower release to a wider acquire",
        "handed on by a barrier",
    ),
    ignore_other_kernels: ("handed on to another agent",),
    ignore_reads_in_flight: ("taken in behind the back of a write-back",),
    release_what_is_in_flight: ("a store on its way that a mate hands on",),
    take_stores_for_written_back: ("message passing", "two releases", "grid barrier", "counting"),
    hoist_past_everything: (
        "message passing",
        "handed on by a barrier",
        "work behind the last store",
        "a store on one of two ways",
    ),
    write_back_for_nobody: (
        "every wave releases, one publishes",
        "every wave releases to the system, one publishes",
        "waves on two compute units release, one publishes",
        "a grid barrier whose waves all release",
        "every wave releases, one publishes on one of two ways",
    ),
    hand_on_no_debt: ("one wave releases, the other publishes",),
    sink_waits_past_flags: (
        "message passing",
        "work behind the last store",
        "a read that a fence waits for",
    ),
    need_nothing: ("message passing", "spin", "lock", "needed on one way", "grid barrier"),
    need_nothing_for_mates: ("received for a mate by a flag",),
    need_nothing_for_the_agent: ("received for the agent",),
    sink_past_loads: ("message passing", "prefetching"),
    lose_edges: ("spin", "lock that acquires whenever it fails", "needed on one way"),
    release_no_loads: ("a load that a release covers",),
    acquire_nothing: ("a wait for the flag that a fence acquires",),
    wait_for_one_less: ("message passing", "store buffering"),
    count_on_waits_that_go: ("a store behind which an acquire waits for no flag",),
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


# The pass on the source, by the model of the source.


def source_problem(threads: Threads) -> object:
    """Outcomes that acquire-on-success adds to a program; a race is one too."""
    text = program(threads)
    meant = source(text)
    assert not meant.races
    module = programs.parse(text)
    AcquireOnSuccessPass().apply(Context(), module)
    module.verify()
    does = run(read_only_test(module, ReadOptions()))
    return ["race"] if does.outcomes is None else forbidden(meant, does)


ATTEMPTS = [name for name in CASES if "attempt" in name or "lock" in name]


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_acquire_on_success_adds_no_outcome(name: str) -> None:
    assert not source_problem(CASES[name].threads)


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (acquire_where_it_failed, "attempt that looks elsewhere if it fails"),
        (ignore_failure_orderings, "attempt that acquires if it fails"),
        (acquire_after_what_follows, "attempt that loads at once"),
    ],
)
def test_a_broken_acquire_on_success_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: Break, name: str
) -> None:
    broken(monkeypatch)
    assert source_problem(CASES[name].threads)


# Programs at random.


def random_case(seed: int) -> tuple[Threads, Target]:
    """Half of them for gfx942 as it is, half for the other modes in turn."""
    target = TARGETS[0 if seed % 2 else seed // 2 % len(TARGETS)]
    agents = target.chip == "gfx942"
    return Random(seed, lds=not target.tgsplit, agents=agents).threads(), target


@pytest.mark.parametrize("share", draws(5))
def test_random_programs_stay_right(share: Share) -> None:
    checked = 0
    for seed in share.of(range(SEEDS)):
        threads, target = random_case(seed)
        text = program(threads)
        meant = source(text)
        if meant.races or meant.incomplete:
            continue
        assert not source_problem(threads), seed
        module = programs.lower(text, target, BEFORE, ON_CDNA)
        does = programs.execute(module, target, LIMITS)
        assert not does.incomplete, seed
        assert not forbidden(meant, does), seed
        checked += 1
    assert checked >= SEEDS // 10


@pytest.mark.parametrize(
    "broken",
    [
        ignore_narrower_synchronisation,
        take_stores_for_written_back,
        hoist_past_everything,
        sink_waits_past_flags,
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


# Work-groups whose waves all release.


DATA = ("x", "y", "g")


def random_election(seed: int) -> tuple[Threads, Target]:
    """Waves of a work-group that store, release and meet; some publish, others of the agent look."""
    pick = random.Random(seed)
    target = TARGETS[0 if seed % 2 else seed // 2 % len(TARGETS)]
    scope = pick.choice(("agent", "agent", "agent", "system"))
    count = pick.choice((2, 2, 2, 3))

    def noise(chance: float) -> list[Step]:
        steps = [
            fence(pick.choice(("release", "acquire", "acq_rel")), scope),
            fence("release", "workgroup"),
            store("h", 1, "relaxed", "workgroup"),
            store("h", 1, "release"),
        ]
        return [pick.choice(steps)] if pick.random() < chance else []

    def meet(how: str) -> list[Step]:
        if how == "plain":
            return [fence("release", scope), barrier()]
        return meets(scope if how == "wide" else "workgroup")

    def publish(register: str, flag: str) -> list[Step]:
        ways: list[list[Step]] = [
            [store(flag, 1, "release", scope)],
            [rmw(register, flag, 1, pick.choice(("release", "acq_rel")), scope)],
            [fence("release", scope), store(flag, 1, "relaxed", scope)],
        ]
        steps = pick.choice(ways)
        return [maybe("r0", 0, *steps)] if pick.random() < 0.3 else steps

    rounds = pick.choice((1, 1, 2))
    publishers = [pick.sample(range(count), pick.choice((1, 1, 1, 2))) for _ in range(rounds)]
    again = [pick.random() < 0.5 for _ in range(rounds)]
    threads: list[tuple[Where, list[Step]]] = []
    for wave in range(count):
        steps: list[Step] = [load("r0", "z", "relaxed")]
        for number in range(rounds):
            data = DATA[wave]
            if pick.random() < 0.8 and (number == 0 or again[number]):
                steps.append(store(data, 1 + number))
            steps += noise(0.15)
            steps += meet(pick.choice(("wide",) * 6 + ("plain", "narrow")))
            steps += noise(0.15)
            if wave in publishers[number]:
                steps += publish(f"r{number + 1}", "f")
            if number + 1 < rounds:
                steps += meets("workgroup")
        steps += noise(0.2)
        cu = wave % 2 if target.tgsplit else None
        threads.append((Where(0, 0, cu=cu), steps))
    reads = [load(f"r{3 + n}", name) for n, name in enumerate(DATA[:count])]
    far = Where(1, 1) if scope == "agent" else ABROAD
    if target.chip != "gfx942":
        far = Where(1, 0)
    receive = load("r0", "f", "acquire", scope)
    threads.append((far, [receive, when("r0", pick.choice((1, 1, 2))), *reads]))
    return threads, target


def election_problem(seed: int) -> tuple[object, int]:
    """What is wrong with what the passes make of a random election, and how many were held."""
    threads, target = random_election(seed)
    text = program(threads)
    meant = source(text, LIMITS)
    if meant.races or meant.incomplete:
        return None, 0
    held = 0

    def counted(moved: Moved, code: CacheCode) -> None:
        nonlocal held
        held += 1
        apply(moved, code)

    apply = Moved.apply
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Moved, "apply", counted)
        module = programs.lower(text, target, BEFORE, ON_CDNA)
    does = programs.execute(module, target, LIMITS)
    return (None if does.incomplete else forbidden(meant, does)), held


@pytest.mark.parametrize("share", draws(3))
def test_random_elections_stay_right(share: Share) -> None:
    found = {seed: election_problem(seed) for seed in share.of(range(SEEDS // 4))}
    assert not [seed for seed, (problem, _) in found.items() if problem]
    assert sum(held for _, held in found.values()) > SEEDS / 180


@pytest.mark.parametrize(("broken", "known"), [(write_back_for_nobody, 1), (hand_on_no_debt, 48)])
def test_random_elections_find_broken_rules(
    monkeypatch: pytest.MonkeyPatch, broken: Break, known: int
) -> None:
    """``known``: a seed that once found it, and is tried first."""
    broken(monkeypatch)
    assert any(election_problem(seed)[0] for seed in (known, *range(200)))


def published_by_one(scope: str, mate: Where, far: Where) -> Threads:
    """Every wave releases before a barrier; after it one publishes without a release of its own.

    C++ does not call that enough for what the other waves have stored, and kernels rely on it.
    """
    return (
        (HERE, [store("x", 1), fence("release", scope), barrier()]),
        (mate, [store("y", 1), fence("release", scope), barrier(),
                store("f", 1, "relaxed", scope)]),
        (far, [load("r0", "f", "acquire", scope), when("r0", 1), load("r1", "x"), load("r2", "y")]),
    )  # fmt: skip


def publication_problem(scope: str, mate: Where, far: Where, target: Target) -> object:
    """What the minimised program can do that it could not do as it was lowered."""
    text = program(published_by_one(scope, mate, far))
    before, after = (programs.lower(text, target, (), passes) for passes in ((), ON_CDNA))
    assert cache_operations(before)[0] == 2
    assert cache_operations(after)[0] == 1
    return forbidden(programs.execute(before, target), programs.execute(after, target))


PUBLISHED = (
    ("agent", MATE, FAR, Target()),
    ("agent", MATE, FAR, Target(l2_per_agent=ONE)),
    ("agent", NEXT_CU, FAR, Target(tgsplit=True)),
    ("system", MATE, ABROAD, Target()),
    ("system", MATE, ABROAD, Target("gfx90a")),
    ("system", NEXT_CU, ABROAD, Target("gfx90a", tgsplit=True)),
)


@pytest.mark.parametrize(("scope", "mate", "far", "target"), PUBLISHED)
def test_what_one_publishes_after_a_barrier_all_have_released(
    scope: str, mate: Where, far: Where, target: Target
) -> None:
    assert not publication_problem(scope, mate, far, target)


def publish_without_a_wait(patch: pytest.MonkeyPatch) -> None:
    """The write-back after the barrier need not be complete."""
    patch.setattr(CacheCode, "complete", always(None))


def write_back_before_the_barrier(patch: pytest.MonkeyPatch) -> None:
    """The wave that publishes writes back where it did."""

    def apply(moved: Moved, code: CacheCode) -> None:
        code.erase(moved.write_backs[:1])

    patch.setattr(Moved, "apply", apply)


@pytest.mark.parametrize("broken", [publish_without_a_wait, write_back_before_the_barrier])
@pytest.mark.parametrize("case", [PUBLISHED[0], PUBLISHED[2], PUBLISHED[3]], ids=str)
def test_a_broken_publication_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: Break, case: tuple[str, Where, Where, Target]
) -> None:
    broken(monkeypatch)
    assert publication_problem(*case)


# The passes share what they find out of the code.


def shared_and_alone(text: str, stores: StorePolicy) -> tuple[str, str]:
    """What the pipeline makes of a module, and what its passes one by one make of it."""
    found: list[str] = []
    for alone in (False, True):
        module = programs.parse(text)
        OutlineLitmusThreadsPass().apply(Context(), module)
        AcquireOnSuccessPass().apply(Context(), module)
        ConvertScopedToCDNAPass("gfx942").apply(Context(), module)
        pipeline = MinimiseCachesPipeline(stores=stores)
        for each in pipeline.passes() if alone else (pipeline,):
            each.apply(Context(), module)
        found.append(str(module))
    return found[0], found[1]


TEXTS = 60
POLICIES: tuple[StorePolicy, StorePolicy] = ("auto", "back")


def kernels_and_programs() -> Iterator[tuple[str, StorePolicy]]:
    for seed in range(TEXTS):
        yield random_kernel(seed), POLICIES[seed % 2]
    for name, case in CASES.items():
        if not case.target.tgsplit:
            yield program(case.threads), POLICIES[len(name) % 2]


def test_sharing_changes_nothing() -> None:
    for text, stores in kernels_and_programs():
        shared, alone = shared_and_alone(text, stores)
        assert shared == alone, text


def know_what_was(patch: pytest.MonkeyPatch) -> None:
    """What was once found out holds whatever becomes of the code."""
    patch.setattr(cdna_caches.CacheCode, "changed", always(None))


def test_what_is_no_longer_so_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    know_what_was(monkeypatch)
    pairs = (shared_and_alone(*each) for each in kernels_and_programs())
    assert any(shared != alone for shared, alone in pairs)


# No path through a kernel has more than before.

PIECES = (
    'scoped.store weak %n, %x : i32, !llvm.ptr<1>',
    'scoped.store weak %n, %s : i32, !llvm.ptr<3>',
    'scoped.store weak %n, %s : i32, !llvm.ptr<3>',
    'scoped.store relaxed agent %n, %f : i32, !llvm.ptr<1>',
    'scoped.store release agent %n, %f : i32, !llvm.ptr<1>',
    'scoped.store release agent %n, %f : i32, !llvm.ptr<1>',
    'scoped.store release system %n, %f : i32, !llvm.ptr<1>',
    'scoped.store release workgroup %n, %f : i32, !llvm.ptr<1>',
    'scoped.fence acquire workgroup',
    'scoped.barrier workgroup',
    '%v{} = scoped.load relaxed workgroup %f : !llvm.ptr<1> -> i32',
    '%v{} = scoped.load acquire agent %f : !llvm.ptr<1> -> i32',
)  # fmt: skip


def random_kernel(seed: int) -> str:
    """A kernel of seven blocks, with branches from each to any after the first.

    They pass on what was loaded last.
    """
    pick = random.Random(seed)
    text = ["func.func @k(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %s : !llvm.ptr<3>, %n : i32) {"]
    for block in range(7):
        text.append(f"^b{block}(%a{block} : i32):" if block else "")
        last = "%n"
        for number in range(pick.randrange(4)):
            piece = pick.choice(PIECES).format(f"{block}_{number}")
            last = piece.partition(" ")[0] if piece.startswith("%") else last
            text.append(piece)
        first, second = [f"^b{target}({last} : i32)" for target in pick.choices(range(1, 7), k=2)]
        text.append(f"%c{block} = arith.cmpi eq, %n, %n : i32")
        go_on = f"cf.cond_br %c{block}, {first}, {second}"
        text.append("func.return" if block == 6 or pick.random() < 0.1 else go_on)
    return "\n".join([*text, "}"])


LONGEST_PATH = 8


def write_backs_by_path(module: ModuleOp) -> dict[tuple[int, ...], int]:
    """How many write-backs each path through the one kernel has, to its end or so many blocks."""
    (kernel,) = [op for op in module.walk() if isinstance(op, KernelOp)]
    number = {block: n for n, block in enumerate(kernel.body.blocks)}
    found: dict[tuple[int, ...], int] = {}

    def follow(block: Block, path: tuple[int, ...], count: int) -> None:
        names = [op.opcode.data for op in block.ops if isinstance(op, CacheOp)]
        path, count = (*path, number[block]), count + names.count("buffer_wbl2")
        if len(path) == LONGEST_PATH or not successors(block):
            found[path] = count
            return
        for target in successors(block):
            follow(target, path, count)

    follow(kernel.body.blocks[0], (), 0)
    return found


def ways_with_more(seed: int) -> list[tuple[int, ...]]:
    """The paths through a random kernel that hoist-write-backs adds a write-back to.

    One that is cut off may have one now that it would have had a little later.
    """
    module = programs.parse(random_kernel(seed))
    for each in (ConvertScopedToCDNAPass("gfx942"), DropWriteBacksPass()):
        each.apply(Context(), module)
    before = write_backs_by_path(module)
    HoistWriteBacksPass().apply(Context(), module)
    module.verify()
    hoisted = write_backs_by_path(module)
    return [path for path in before if hoisted[path] > before[path] + (len(path) == LONGEST_PATH)]


@pytest.mark.parametrize("share", draws(9))
def test_no_way_writes_back_more(share: Share) -> None:
    seeds = share.of(range(1_000 if THOROUGH else 200))
    assert not [seed for seed in seeds if ways_with_more(seed)]


def hoist_what_some_way_needs(patch: pytest.MonkeyPatch) -> None:
    """One write-back on one path out of a block is enough."""

    def at_end(hoisting: Hoisting, block: Block) -> CacheOp | None:
        targets = [each for each in successors(block) if each in hoisting.hoistable]
        return hoisting.next[targets[0]] if targets else None

    patch.setattr(Hoisting, "at_end", at_end)


def hoist_into_some_ways(patch: pytest.MonkeyPatch) -> None:
    """One place on one path into a block is enough."""
    patch.setattr(Hoisting, "can_enter", always(True))


@pytest.mark.parametrize("broken", [hoist_what_some_way_needs, hoist_into_some_ways])
def test_a_way_that_writes_back_more_is_seen(
    monkeypatch: pytest.MonkeyPatch, broken: Break
) -> None:
    broken(monkeypatch)
    assert any(ways_with_more(seed) for seed in range(100, 120))


MEETING = (
    "scoped.store weak %n, %x : i32, !llvm.ptr<1>",
    "scoped.fence release agent",
    "scoped.barrier workgroup",
)
MET = (
    MEETING,
    MEETING[:2],
    MEETING[2:],
    (),
    (),
    ("scoped.store relaxed agent %n, %f : i32, !llvm.ptr<1>",),
    ("scoped.store release agent %n, %f : i32, !llvm.ptr<1>",),
)


def elected_kernel(seed: int) -> ModuleOp:
    """A random kernel for gfx942 that begins with a barrier and in which branches elect a wave.

    They mostly lead to the next two blocks.
    """
    pick = random.Random(seed)
    text = ["func.func @k(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {", *MEETING]
    for block in range(7):
        if block:
            text += [f"^b{block}:", *pick.choice(MET)]
        near = [min(block + 1, 6), min(block + 2, 6)]
        targets = near if pick.random() < 0.8 else pick.choices(range(1, 7), k=2)
        text.append(f"%c{block} = arith.cmpi eq, %n, %n : i32")
        go_on = f"cf.cond_br %c{block}, ^b{targets[0]}, ^b{targets[1]}"
        text.append("func.return" if block == 6 else go_on)
    module = programs.parse("\n".join([*text, "}"]))
    ConvertScopedToCDNAPass("gfx942").apply(Context(), module)
    for op in module.walk():
        if isinstance(op, CondBranchOp) and pick.random() < 0.7:
            op.attributes[ELECTS] = count_attr(pick.randrange(2))
    DropWriteBacksPass().apply(Context(), module)
    return module


def events_by_path(
    module: ModuleOp, number: Mapping[Block, int]
) -> dict[tuple[int, ...], list[str]]:
    """Write-backs, waits, barriers and flags on each path through blocks that have a number."""
    (kernel,) = [op for op in module.walk() if isinstance(op, KernelOp)]
    found: dict[tuple[int, ...], list[str]] = {}

    def follow(block: Block, path: tuple[int, ...], events: list[str]) -> None:
        events = [*events, *[said for op in block.ops if (said := event(op))]]
        path = (*path, number[block]) if block in number else path
        if (len(path) == LONGEST_PATH and block in number) or not successors(block):
            found[path] = events
            return
        for target in successors(block):
            follow(target, path, events)

    follow(kernel.body.blocks[0], (), [])
    return found


def event(op: Operation) -> str:
    match op:
        case CacheOp() if op.opcode.data == "buffer_wbl2":
            return "write-back"
        case WaitOp() if op.counts.vmcnt == 0:
            return "wait"
        case BarrierOp():
            return "barrier"
        case StoreOp() if op.modifiers:
            return "flag"
        case _:
            return ""


def written_back(events: Sequence[str]) -> list[int | None]:
    """For each flag, how many barriers came before the last write-back that was waited for."""
    barriers, begun, complete = 0, None, None
    found: list[int | None] = []
    for each in events:
        barriers += each == "barrier"
        if each == "write-back":
            begun = barriers
        if each == "wait":
            complete = begun
        if each == "flag":
            found.append(complete)
    return found


def elected_ways(seed: int) -> tuple[bool, list[str]]:
    """Whether elect-release does anything to a random kernel, and the paths that it makes worse."""
    module = elected_kernel(seed)
    (kernel,) = [op for op in module.walk() if isinstance(op, KernelOp)]
    number = {block: n for n, block in enumerate(kernel.body.blocks)}
    before, text = events_by_path(module, number), str(module)
    ElectReleasePass().apply(Context(), module)
    module.verify()
    wrong: list[str] = []
    for path, events in events_by_path(module, number).items():
        if events.count("write-back") > before[path].count("write-back"):
            wrong.append(f"more on {path}")
        pairs = zip(written_back(before[path]), written_back(events), strict=True)
        if any(then is not None and (now is None or now < then) for then, now in pairs):
            wrong.append(f"less on {path}")
    return text != str(module), wrong


@pytest.mark.parametrize("share", draws(3))
def test_no_way_of_an_election_has_more_or_misses_one(share: Share) -> None:
    found = [elected_ways(seed) for seed in share.of(range(4_000 if THOROUGH else 160))]
    assert not [wrong for _, wrong in found if wrong]
    assert sum(held for held, _ in found) >= 2


def elect_whoever_comes(patch: pytest.MonkeyPatch) -> None:
    """A write-back may be one more."""
    patch.setattr(elect_release, "UNPAID", 0)


@pytest.mark.parametrize("broken", [elect_whoever_comes, write_back_for_nobody])
def test_a_way_that_an_election_makes_worse_is_seen(
    monkeypatch: pytest.MonkeyPatch, broken: Break
) -> None:
    broken(monkeypatch)
    assert any(elected_ways(seed)[1] for seed in range(160))


@pytest.mark.parametrize("name", ["spin", "lock", "message passing", "grid barrier"])
@pytest.mark.parametrize("l2_per_agent", L2PerAgent)
def test_loops_still_end(name: str, l2_per_agent: L2PerAgent) -> None:
    case = CASES[name]
    module = programs.lower(program(case.threads), case.target, BEFORE, ON_CDNA)
    test = read_only_test(module, ReadOptions(l2_per_agent=l2_per_agent))
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
