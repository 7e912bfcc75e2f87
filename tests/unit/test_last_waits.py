"""Waits after which a wave does nothing: which go, that nobody misses them, and each rule broken."""

import minimise_programs as programs
import pytest
from minimise_programs import (
    Target,
    Threads,
    Where,
    barrier,
    fence,
    forbidden,
    load,
    program,
    rmw,
    source,
    store,
    when,
)
from xdsl.ir import Block

from fencewright import lower_llvm_ir
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.analysis.caches import CacheCode, Meaning
from fencewright.passes.cdna.waits import drop_last_waits
from fencewright.passes.cdna.waits.drop_last_waits import DropLastWaitsPass

HERE, FAR = Where(0, 0), Where(1, 1)
ONE_L2 = Target(l2_per_agent=L2PerAgent.ONE, knows_l2=True)
"""Where a release to the agent is nothing but its wait."""
TARGETS = (
    Target(),
    ONE_L2,
    Target("gfx90a"),
    Target("gfx908"),
    Target(tgsplit=True),
    Target("gfx1250"),
)

PASSING: Threads = (
    (HERE, [store("x", 1), store("f", 1, "release")]),
    (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
)
CASES: dict[str, Threads] = {
    "message passing": PASSING,
    "a release before one of two ways": (
        (HERE, [load("r2", "g", "relaxed"), store("x", 1), fence("release"), when("r2", 0),
                store("f", 1, "relaxed")]),
        (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")]),
    ),
    "fences at both ends": (
        (HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed"), fence("seq_cst")]),
        (FAR, [load("r0", "f", "relaxed"), fence("acquire"), when("r0", 1), load("r1", "x"),
               fence("seq_cst")]),
    ),
    "store buffering": (
        (HERE, [store("x", 1, "relaxed"), fence("seq_cst"), load("r0", "y", "relaxed")]),
        (FAR, [store("y", 1, "relaxed"), fence("seq_cst"), load("r1", "x", "relaxed")]),
    ),
    "an update that ends the wave": (
        (HERE, [store("x", 1), rmw("r0", "f", 1, "acq_rel")]),
        (FAR, [rmw("r1", "f", 1, "acq_rel"), when("r1", 1), load("r2", "x")]),
    ),
    "a barrier after the acquire": (
        (HERE, [store("x", 1), store("f", 1, "release")]),
        (FAR, [load("r0", "f", "acquire"), fence("acq_rel"), barrier(relaxed=True)]),
        (Where(1, 1), [barrier(relaxed=True), fence("acq_rel"), load("r1", "f", "relaxed")]),
    ),
}  # fmt: skip


def problem(threads: Threads, target: Target) -> object:
    """Outcomes that the source forbids, of a program without its last waits."""
    text = program(threads)
    module = programs.lower(text, target, (), (DropLastWaitsPass(),))
    does = programs.execute(module, target)
    assert not does.incomplete
    return forbidden(source(text), does)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_nobody_misses_them(name: str, target: Target) -> None:
    assert not problem(CASES[name], target)


# Each rule broken on purpose


def go_whatever_follows(patch: pytest.MonkeyPatch) -> None:
    def nothing(_: Meaning) -> bool:
        return False

    patch.setattr(drop_last_waits, "acts", nothing)


def look_at_one_block(patch: pytest.MonkeyPatch) -> None:
    def nowhere(_: CacheCode) -> set[Block]:
        return set()

    patch.setattr(drop_last_waits, "_followed", nowhere)


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (go_whatever_follows, "message passing"),
        (go_whatever_follows, "an update that ends the wave"),
        (look_at_one_block, "a release before one of two ways"),
    ],
)
def test_a_broken_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: object, name: str
) -> None:
    assert callable(broken)
    broken(monkeypatch)
    assert problem(CASES[name], ONE_L2)


# In LLVM IR

HEAD = """target triple = "amdgcn-amd-amdhsa"
declare void @anything()
declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)
"""
UPDATE = '  %o = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("agent") acquire, align 4\n'
COPY = (
    "  call void @llvm.amdgcn.global.load.lds"
    "(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 4, i32 0, i32 0)\n"
)


def synchronisation(body: str, chip: str, convention: str = "amdgpu_kernel") -> int:
    """How many waits are left of a function."""
    arguments = "ptr addrspace(1) %p, ptr addrspace(3) %l"
    function = f"define {convention} void @k({arguments}) {{\n{body}  ret void\n}}\n"
    text = str(lower_llvm_ir(HEAD + function, chip))
    return text.count("call void @llvm.amdgcn.s.waitcnt") + text.count("s_wait_")


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250"])
def test_llvm_ir_ends_without_them_too(chip: str) -> None:
    assert not synchronisation(UPDATE, chip)
    assert synchronisation(UPDATE + "  store i32 1, ptr addrspace(1) %p, align 4\n", chip)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1250"])
def test_a_caller_goes_on(chip: str) -> None:
    assert synchronisation(UPDATE, chip, "")
    assert synchronisation("  call void @anything()\n" + UPDATE, chip)


def test_copies_to_lds_do_not_outlive_the_work_group() -> None:
    assert synchronisation(COPY + UPDATE, "gfx942")
