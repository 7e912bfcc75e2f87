"""The passes of the PTX pipeline, judged by its model: no outcome appears, broken rules are caught."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random as Choices

import llvm_ir_ptx
import minimise_programs as programs
import pytest
from campaigns import Share, first_of, shares
from minimise_programs import (
    FENCES_AFTER,
    FENCES_BEFORE,
    Random,
    Step,
    Threads,
    Where,
    Writer,
    barrier,
    fence,
    load,
    program,
    rmw,
    source,
    store,
    when,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from fencewright.lowering.costs import Cost, Unit
from fencewright.lowering.lower import lower_request
from fencewright.lowering.ptx.select import (
    CONVERGED,
    NO_ACQUIRE_FENCE_AFTER,
    NO_RELAXED_BARRIER,
)
from fencewright.lowering.sequence import Request, Target
from fencewright.lowering.sequence import Sequence as Lowered
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.lowering.vocabulary import Operation as Operations
from fencewright.mlir_dialects.ptx import AtomicOp, FenceOp, KernelOp, SynchronisingOp
from fencewright.passes.analysis import acquire_fences
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import PTXPipeline, lower_llvm_ir
from fencewright.passes.scoped import merge_fences
from fencewright.passes.to_ptx import fold_fences, merge_ptx_fences
from fencewright.passes.to_ptx.merge_ptx_fences import Done
from fencewright.simulator.certify.certificate import (
    Verdict,
    certify_operation,
    forbidden,
    machines_of,
    source_outcomes,
)
from fencewright.simulator.certify.programs.code import Lowering, lower_program
from fencewright.simulator.certify.shapes import operations
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.program import (
    Location,
    MemoryKind,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.litmus_run import SourceTest, run
from fencewright.simulator.source.events import (
    Barrier,
    Fence,
    Load,
    ScopedInstruction,
    ScopedProgram,
    Store,
)

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SEEDS = 3_000 if THOROUGH else 120

HERE, MATE, FAR = Where(0), Where(0), Where(1)


def lowered(text: str, chip: str = "sm_90", version: str | None = None, level: int = 2) -> ModuleOp:
    """The module as PTX."""
    module = programs.parse(text)
    pipeline = PTXPipeline(chip, version, opt_level=2 if level else 0)
    pipeline.apply(Context(), module)
    module.verify()
    return module


def new_outcomes(text: str, module: ModuleOp) -> frozenset[tuple[int | None, ...]]:
    """Outcomes of a lowered program that its source does not have; the source has no race."""
    meant = source(text)
    assert not meant.races
    return programs.forbidden(meant, run(read_only_test(module, ReadOptions())))


def update(location: str, value: int, ordering: str = "relaxed", scope: str = "agent") -> Step:
    """An atomic addition whose result nobody uses."""

    def write(out: Writer) -> None:
        out.blocks += 1
        operands = f"%{location}, %c{value} : !llvm.ptr<1>, i32"
        out.lines.append(f"%u{out.blocks} = scoped.atomic_rmw add {ordering} {scope} {operands}")

    return write


# red

PASSED_ON = (HERE, [store("x", 1, "relaxed"), store("f", 1, "release")])
READ = load("r0", "x", "relaxed")

UPDATES: dict[str, tuple[Threads, str]] = {
    "nothing behind": (((HERE, [update("f", 1)]), (FAR, [update("f", 2)])), "red"),
    "an acquire fence behind": ((PASSED_ON, (FAR, [update("f", 2), fence("acquire"), READ])), "atom"),
    "a seq_cst fence behind": ((PASSED_ON, (FAR, [update("f", 2), fence("seq_cst"), READ])), "atom"),
    "a release fence behind": (
        (PASSED_ON, (FAR, [update("f", 2), fence("release"), store("g", 1, "relaxed")])), "red",
    ),
    "an acquire load behind": (
        (PASSED_ON, (FAR, [update("f", 2), load("r1", "f", "acquire"), READ])), "red",
    ),
    "a barrier behind": (
        (PASSED_ON, (FAR, [update("f", 2), barrier(), READ]), (Where(1), [barrier(), READ])), "red",
    ),
    "a fence before": ((PASSED_ON, (FAR, [fence("acquire"), update("f", 2), READ])), "red"),
    "an acquire fence on one way": (
        (PASSED_ON, (FAR, [load("r1", "g", "relaxed"), update("f", 2),
                           when("r1", 0), fence("acquire"), READ])),
        "atom",
    ),
    "a release": ((PASSED_ON, (FAR, [store("y", 1, "relaxed"), update("f", 2, "release")])), "red"),
    "an acquire": ((PASSED_ON, (FAR, [update("f", 2, "acquire"), READ])), "atom"),
}  # fmt: skip


@pytest.mark.parametrize("name", UPDATES)
def test_an_unused_result_is_a_red_where_no_acquire_fence_follows(name: str) -> None:
    threads, expected = UPDATES[name]
    text = program(threads)
    module = lowered(text)
    found = {op.opcode.data.partition(".")[0] for op in module.walk() if isinstance(op, AtomicOp)}
    assert found == {expected}
    assert not new_outcomes(text, module)


@pytest.mark.parametrize("name", ["an acquire fence behind", "an acquire fence on one way"])
def test_a_red_that_should_have_acquired_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = program(UPDATES[name][0])
    monkeypatch.setattr(acquire_fences, "may_be_acquire_fence", lambda op: False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert new_outcomes(text, lowered(text))


# Fences next to others


def synchronisation(module: ModuleOp, kernel: int) -> list[str]:
    """The fences and ordered or relaxed accesses of one thread, without their types."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    found = [op for op in kernels[kernel].walk() if isinstance(op, SynchronisingOp)]
    opcodes = [op.opcode.data for op in found if ".weak." not in op.opcode.data]
    return [opcode if opcode.startswith("fence") else ".".join(opcode.split(".")[:3])
            for opcode in opcodes]  # fmt: skip


Versioned = tuple[str, str | None]
NEW, OLD, VOLTA = ("sm_90", "8.6"), ("sm_90", "8.0"), ("sm_70", None)

READER = (FAR, [load("r0", "f", "acquire"), when("r0", 1), load("r1", "x")])
WRITER = (HERE, [store("x", 1), store("f", 1, "release")])
SB_MATE = (FAR, [store("g", 1, "seq_cst"), load("r0", "f", "seq_cst")])
LAST = (Where(2), [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")])

MERGED: dict[str, tuple[Versioned, Threads, int, list[str]]] = {
    "a seq_cst fence and a seq_cst load": (
        NEW, ((HERE, [store("f", 1, "relaxed"), fence("seq_cst"), load("r0", "g", "seq_cst")]),
              SB_MATE), 0,
        ["st.relaxed.gpu", "fence.sc.gpu", "ld.acquire.gpu"],
    ),
    "the same, the fence of a narrower scope": (
        NEW, ((HERE, [store("f", 1, "relaxed"), fence("seq_cst", "workgroup"),
                      load("r0", "g", "seq_cst")]), SB_MATE), 0,
        ["st.relaxed.gpu", "fence.sc.gpu", "ld.acquire.gpu"],
    ),
    "a seq_cst load behind another": (
        NEW, (SB_MATE, (HERE, [load("r0", "f", "seq_cst"), load("r1", "g", "seq_cst")])), 1,
        ["fence.sc.gpu", "ld.relaxed.gpu", "fence.sc.gpu", "ld.acquire.gpu"],
    ),
    "a seq_cst load behind one of a wider scope": (
        NEW, (SB_MATE, (HERE, [load("r0", "f", "seq_cst", "system"), load("r1", "g", "seq_cst")])),
        1, ["fence.sc.sys", "ld.acquire.sys", "fence.sc.gpu", "ld.acquire.gpu"],
    ),
    "a release store behind a seq_cst fence": (
        NEW, ((HERE, [store("x", 1), fence("seq_cst"), store("f", 1, "release")]), READER), 0,
        ["fence.sc.gpu", "st.relaxed.gpu"],
    ),
    "a wider release store behind a seq_cst fence": (
        NEW, ((HERE, [store("x", 1), fence("seq_cst"), store("f", 1, "release", "system")]),
              READER), 0,
        ["fence.sc.gpu", "st.release.sys"],
    ),
    "a store between": (
        NEW, ((HERE, [store("f", 1, "relaxed"), fence("seq_cst"), store("x", 1, "relaxed"),
                      load("r0", "g", "seq_cst")]), SB_MATE), 0,
        ["st.relaxed.gpu", "fence.sc.gpu", "st.relaxed.gpu", "fence.sc.gpu", "ld.acquire.gpu"],
    ),
    "an acquire before a seq_cst fence, on one way": (
        NEW, ((HERE, [store("x", 1, "relaxed"), store("f", 1, "release")]),
              (FAR, [load("r0", "f", "acquire"), when("r0", 1), fence("seq_cst"),
                     load("r1", "x", "relaxed")])), 1,
        ["ld.acquire.gpu", "fence.sc.gpu", "ld.relaxed.gpu"],
    ),
    "an exchange before a seq_cst fence": (
        NEW, (WRITER, (FAR, [rmw("r0", "f", 2, "acq_rel"), fence("seq_cst"), when("r0", 1),
                             load("r1", "x")])), 1,
        ["atom.acq_rel.gpu", "fence.sc.gpu"],
    ),
    "a poll, then a full fence": (
        NEW, (WRITER, (FAR, [load("r0", "f", "relaxed"), fence("acq_rel"), when("r0", 1),
                             load("r1", "x")])), 1,
        ["ld.relaxed.gpu", "fence.acquire.gpu"],
    ),
    "a full fence, then a release store": (
        NEW, ((HERE, [store("x", 1), fence("acq_rel"), store("f", 1, "release")]), READER), 0,
        ["st.release.gpu"],
    ),
    "what is handed on needs both": (
        NEW, (WRITER, (FAR, [load("r0", "f", "relaxed"), fence("acq_rel"), when("r0", 1),
                             store("g", 1, "relaxed")]), LAST), 1,
        ["ld.relaxed.gpu", "fence.acq_rel.gpu", "st.relaxed.gpu"],
    ),
    "release fence and store, one-sided": (
        NEW, ((HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed")]), READER), 0,
        ["fence.release.gpu", "st.relaxed.gpu"],
    ),
    "release fence and store": (
        OLD, ((HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed")]), READER), 0,
        ["st.release.gpu"],
    ),
    "release fence and two stores": (
        OLD, ((HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed"),
                      store("g", 1, "relaxed")]), READER, LAST), 0,
        ["fence.acq_rel.gpu", "st.relaxed.gpu", "st.relaxed.gpu"],
    ),
    "release fence and a narrower store": (
        OLD, ((HERE, [store("x", 1), fence("release", "system"), store("f", 1, "relaxed")]),
              READER), 0,
        ["fence.acq_rel.sys", "st.relaxed.gpu"],
    ),
    "load and acquire fence": (
        VOLTA, (WRITER, (FAR, [load("r0", "f", "relaxed"), fence("acquire"), when("r0", 1),
                               load("r1", "x")])), 1,
        ["ld.acquire.gpu"],
    ),
    "two loads and an acquire fence": (
        VOLTA, (WRITER, (FAR, [load("r0", "f", "relaxed"), load("r2", "g", "relaxed"),
                               fence("acquire"), when("r0", 1), load("r1", "x")])), 1,
        ["ld.relaxed.gpu", "ld.relaxed.gpu", "fence.acq_rel.gpu"],
    ),
    "an exchange between fences": (
        VOLTA, (WRITER, (FAR, [fence("release"), rmw("r0", "f", 2, "relaxed"), fence("acquire"),
                               when("r0", 1), load("r1", "x")])), 1,
        ["atom.acq_rel.gpu"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MERGED)
def test_what_is_left(name: str) -> None:
    (chip, version), threads, kernel, expected = MERGED[name]
    text = program(threads)
    module = lowered(text, chip, version)
    assert synchronisation(module, kernel) == expected
    assert not new_outcomes(text, module)


# Rules that are broken on purpose

Break = Callable[[pytest.MonkeyPatch], None]


def memory_is_nothing(patch: pytest.MonkeyPatch) -> None:
    """A PTX fence does the work of another beyond a memory operation."""

    def past(fence: Done | None, done: Done, *, forwards: bool) -> Done:
        return done if fence is None else done.and_then(fence)

    patch.setattr(merge_ptx_fences, "past", past)


def scopes_are_alike(patch: pytest.MonkeyPatch) -> None:
    """A PTX fence does the work of a wider one."""
    fences = merge_ptx_fences._FENCES.items()  # pyright: ignore[reportPrivateUsage]
    alike = {words: Done(*(min(each, 1) for each in does)) for words, does in fences}
    patch.setattr(merge_ptx_fences, "_FENCES", alike)
    one_sided = merge_ptx_fences._ONE_SIDED  # pyright: ignore[reportPrivateUsage]
    patch.setattr(merge_ptx_fences, "_ONE_SIDED", dict.fromkeys(one_sided, 1))
    merge_ptx_fences._loosened.cache_clear()  # pyright: ignore[reportPrivateUsage]


def everything_is_acquired(patch: pytest.MonkeyPatch) -> None:
    """The load next to an acquire fence is the only one."""

    def known(ops: Mapping[Operation, object], blocks: Sequence[Block]) -> dict[Operation, int]:
        return dict.fromkeys(ops, merge_fences.EVERYTHING)

    patch.setattr(fold_fences, "acquired_before", known)


def everything_is_released(patch: pytest.MonkeyPatch) -> None:
    """The store next to a release fence is the only one."""

    def known(ops: Mapping[Operation, object], blocks: Sequence[Block]) -> dict[Operation, int]:
        return dict.fromkeys(ops, merge_fences.EVERYTHING)

    patch.setattr(fold_fences, "released_after", known)


def nothing_is_published_any_more(patch: pytest.MonkeyPatch) -> None:
    """A relaxed store publishes nothing."""
    real = merge_fences.may_publish
    patch.setattr(
        merge_fences, "may_publish", lambda op: real(op) and op.name != "scoped.store"  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType]
    )  # fmt: skip


BROKEN: dict[Break, tuple[Versioned, Threads]] = {
    memory_is_nothing: (NEW, MERGED["a store between"][1]),
    scopes_are_alike: (
        NEW,
        (
            (HERE, [store("x", 1), fence("seq_cst", "workgroup"), store("f", 1, "release")]),
            READER,
        ),
    ),
    everything_is_acquired: (VOLTA, MERGED["two loads and an acquire fence"][1]),
    everything_is_released: (OLD, (
        (HERE, [store("x", 1), fence("release"), store("h", 1, "relaxed"),
                store("f", 1, "relaxed")]), READER,
    )),
    nothing_is_published_any_more: (NEW, MERGED["what is handed on needs both"][1]),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_caught(monkeypatch: pytest.MonkeyPatch, broken: Break) -> None:
    (chip, version), threads = BROKEN[broken]
    text = program(threads)
    assert not new_outcomes(text, lowered(text, chip, version))
    broken(monkeypatch)
    try:
        assert new_outcomes(text, lowered(text, chip, version))
    finally:
        merge_ptx_fences._loosened.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_only_the_price_decides_between_a_fence_and_an_ordered_access(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Either is right: with all prices alike the fences stay."""
    monkeypatch.setattr(
        fold_fences, "cost_of_sequence", lambda mcpu, left: Cost(1, Unit.RELATIVE, "none")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    )  # fmt: skip
    for name in ("release fence and store", "load and acquire fence", "an exchange between fences"):
        (chip, version), threads, kernel, folded = MERGED[name]
        text = program(threads)
        module = lowered(text, chip, version)
        assert synchronisation(module, kernel) != folded
        assert not new_outcomes(text, module)


class _WithFences(Random):
    """Programs with more fences than anyone needs."""

    def noise(self, chance: float) -> list[Step]:
        steps = super().noise(chance)
        while self.random.random() < 0.5:
            kind = self.random.choice((*FENCES_BEFORE, *FENCES_AFTER))
            scope = self.random.choice(("workgroup", "agent", "agent", "system"))
            steps.insert(self.random.randint(0, len(steps)), fence(kind, scope))
        return steps


@pytest.mark.parametrize("target", [NEW, OLD, VOLTA], ids=["sm_90 8.6", "sm_90 8.0", "sm_70"])
@pytest.mark.parametrize("share", shares(2))
def test_random_programs_stay_right(target: Versioned, share: Share) -> None:
    before = after = checked = 0
    for seed in share.of(range(SEEDS // 3)):
        text = program(_WithFences(seed).threads())
        meant = source(text)
        if meant.races or meant.incomplete:
            continue
        module = lowered(text, *target)
        does = run(read_only_test(module, ReadOptions()))
        assert not programs.forbidden(meant, does), seed
        before += _fences(lowered(text, *target, level=0))
        after += _fences(module)
        checked += 1
    assert checked >= SEEDS // 12
    assert after < before


def _fences(module: ModuleOp) -> int:
    return sum(isinstance(op, FenceOp) for op in module.walk())


# The same in LLVM IR: what LLVM makes of it is executed

_FENCE = re.compile(r'fence(?: syncscope\("(\w+)"\))? (acq_rel|seq_cst)$', re.MULTILINE)
_AS_TEXT = {"device": "gpu", "block": "cta", "": "sys", "acq_rel": "acq_rel", "seq_cst": "sc"}


def some_as_inline_ptx(text: str, seed: int) -> str:
    """LLVM IR of which every third two-sided fence is the program's own inline PTX."""
    choices = Choices(seed)

    def written(found: re.Match[str]) -> str:
        words = f"fence.{_AS_TEXT[found[2]]}.{_AS_TEXT[found[1] or '']};"
        inline = f'call void asm sideeffect "{words}", "~{{memory}}"()'
        return inline if choices.random() < 1 / 3 else found[0]

    return _FENCE.sub(written, text)


def llvm_ir_outcomes(
    text: str, target: Versioned, folder: Path, seed: int | None = None
) -> frozenset[tuple[int | None, ...]]:
    """The outcomes that a program has as LLVM IR, lowered and compiled, and its source does not."""
    test = read_only_test(programs.parse(text), ReadOptions())
    assert isinstance(test, SourceTest)
    chip, version = target[0], target[1] or "6.3"

    def lower(given: str) -> str:
        given = given if seed is None else some_as_inline_ptx(given, seed)
        return lower_llvm_ir(given, chip, ptx_version=version)

    does = llvm_ir_ptx.executed(test.test.program, lower, chip, version, folder)
    return programs.forbidden(source(text), does)


@pytest.mark.parametrize(
    "target", first_of([NEW, OLD, VOLTA]), ids=["sm_90 8.6", "sm_90 8.0", "sm_70"]
)
def test_random_programs_in_llvm_ir_stay_right(target: Versioned, tmp_path: Path) -> None:
    checked = 0
    for seed in range(SEEDS // 3):
        text = program(_WithFences(seed).threads())
        meant = source(text)
        if not meant.races and not meant.incomplete:
            assert not llvm_ir_outcomes(text, target, tmp_path, seed), seed
            checked += 1
    assert checked >= SEEDS // 6


def test_fences_are_merged_in_llvm_ir_as_in_mlir() -> None:
    """As many are left, where the program has no inline PTX of its own."""
    fences = 0
    for name, ((chip, version), threads, _, _) in MERGED.items():
        text = program(threads)
        test = read_only_test(programs.parse(text), ReadOptions())
        assert isinstance(test, SourceTest)
        given = llvm_ir_ptx.as_nvptx(test.test.program)
        made = lower_llvm_ir(given, chip, ptx_version=version or "6.3")
        alone = lower_llvm_ir(given, chip, ptx_version=version or "6.3", opt_level=0)
        left = len(re.findall(r"fence\.", made))
        assert left == _fences(lowered(text, chip, version)), name
        fences += len(re.findall(r"fence\.", alone)) - left
    assert fences >= 7


@pytest.mark.parametrize("broken", [memory_is_nothing, scopes_are_alike])
def test_a_broken_rule_is_caught_in_llvm_ir(
    monkeypatch: pytest.MonkeyPatch, broken: Break, tmp_path: Path
) -> None:
    target, threads = BROKEN[broken]
    text = program(threads)
    assert not llvm_ir_outcomes(text, target, tmp_path)
    broken(monkeypatch)
    try:
        assert llvm_ir_outcomes(text, target, tmp_path)
    finally:
        merge_ptx_fences._loosened.cache_clear()  # pyright: ignore[reportPrivateUsage]


OWN_FENCE = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @f(ptr addrspace(1) %flag, ptr addrspace(1) noalias %data) {{
  call void asm sideeffect "fence.sc.{scope};", "~{{memory}}"()
  %seen = load atomic i32, ptr addrspace(1) %flag syncscope("device") seq_cst, align 4
  store i32 %seen, ptr addrspace(1) %data
  ret void
}}
"""


@pytest.mark.parametrize(("scope", "left"), [("gpu", "gpu"), ("cluster", "gpu"), ("sys", "sys")])
def test_of_ours_and_a_fence_of_the_programs_own_the_wider_one_stays(scope: str, left: str) -> None:
    """What ``noalias`` pointers point to stays on its side of either: they escape."""
    made = lower_llvm_ir(OWN_FENCE.format(scope=scope), "sm_90", edit=True)
    assert re.findall(r"fence\.sc\.(\w+)", made) == [left]
    assert 'asm sideeffect "", "l"(ptr addrspace(1) %data)' in made


# seq_cst accesses of shared memory: a fence of its reach is enough

GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
ONLY_LOCAL = frozenset({LOCAL})
SPACES = {"x": GLOBAL, "y": GLOBAL, "s": LOCAL, "t": LOCAL}
CTAS = {"s": 0, "t": 1}
"""The CTA whose shared memory each location of it is in."""

Access = tuple[str, str]
"""``("store", "x")``: all are seq_cst at system scope."""

RINGS: dict[str, tuple[tuple[int, list[Access]], ...]] = {
    "SB in one CTA": (
        (0, [("store", "s"), ("load", "x")]),
        (0, [("store", "x"), ("load", "s")]),
    ),
    "SB, a third thread far away": (
        (0, [("store", "x"), ("load", "s")]),
        (0, [("store", "s"), ("load", "y")]),
        (1, [("store", "y"), ("load", "x")]),
    ),
    "SB, two CTAs with shared memory each": (
        (0, [("store", "x"), ("load", "s")]),
        (0, [("store", "s"), ("load", "y")]),
        (1, [("store", "y"), ("load", "t")]),
        (1, [("store", "t"), ("load", "x")]),
    ),
    "R, a third thread far away": (
        (0, [("store", "x"), ("store", "s")]),
        (0, [("store", "s"), ("load", "y")]),
        (1, [("store", "y"), ("load", "x")]),
    ),
}


def ring(threads: Sequence[tuple[int, list[Access]]]) -> ScopedProgram:
    """The program of these accesses; thread n stores n + 1."""
    made: list[Thread[ScopedInstruction]] = []
    observed: list[Observable] = []
    names = sorted({name for _, accesses in threads for _, name in accesses})
    for number, (cta, accesses) in enumerate(threads):
        code: list[ScopedInstruction] = []
        for place, (kind, name) in enumerate(accesses):
            how = Ordering.SEQ_CST, Scope.SYSTEM
            if kind == "store":
                code.append(Store(name, number + 1, *how))
                continue
            register = f"r{place}"
            observed.append(Register(number, register))
            code.append(Load(register, name, *how))
        made.append(Thread(Placement(workgroup=cta, cluster=cta), tuple(code)))
    locations = tuple(
        Location(name, 0, MemoryKind.NONLOCAL, SPACES[name], CTAS.get(name, 0)) for name in names
    )
    return Program(locations, tuple(made), (*observed, *map(Memory, names)))


def wrong_outcomes(scoped: ScopedProgram, mode: Target, lowering: Lowering) -> int:
    """How many outcomes the lowered program has that its source forbids."""
    allowed = source_outcomes(scoped)
    assert allowed is not None
    (machine,) = machines_of(mode)
    return len(forbidden(allowed, machine.outcomes(lower_program(scoped, mode, lowering))))


@pytest.mark.parametrize("name", RINGS)
@pytest.mark.parametrize("mode", [Target("sm_90"), Target("sm_70")], ids=str)
def test_a_fence_of_shared_memorys_reach_orders_every_ring(name: str, mode: Target) -> None:
    lowering = lower_request

    def weaker(request: Request) -> Lowered:
        sequence = lowering(request)
        if request.space is not LOCAL:
            return sequence
        return Lowered(
            tuple(
                replace(each, mnemonic=each.mnemonic.replace("fence.sc", "fence.acq_rel"))
                for each in sequence.instructions
            )
        )

    fences = [
        each.mnemonic
        for each in lowering(
            replace(Request(Operations.LOAD, Ordering.SEQ_CST, Scope.SYSTEM, LOCAL), target=mode)
        ).instructions
    ]
    assert fences[0] == {"sm_90": "fence.sc.cluster", "sm_70": "fence.sc.cta"}[mode.chip]
    scoped = ring(RINGS[name])
    assert not wrong_outcomes(scoped, mode, lowering)
    assert wrong_outcomes(scoped, mode, weaker)


# What the analyses promise of operations


def promised(mode: Target) -> list[Request]:
    """The operations of a mode that a promise changes."""
    plain = replace(mode, features=frozenset())
    lowering = lower_request
    return [
        request
        for request in operations(mode)
        if lowering(request) != lowering(replace(request, target=plain))
    ]


@pytest.mark.parametrize("target", ["sm_70", "sm_90"])
@pytest.mark.parametrize(
    ("feature", "instruction"),
    [(CONVERGED, "barrier.sync.aligned"), (NO_ACQUIRE_FENCE_AFTER, "red.")],
)
def test_what_a_promise_changes_is_certified(target: str, feature: str, instruction: str) -> None:
    changed = promised(Target(target, frozenset({feature})))
    assert changed
    for request in changed:
        found = certify_operation(request, Target(target, frozenset({feature})))
        assert any(line.startswith(instruction) for line in found.sequence)
        assert found.is_sound, found.failures
        assert not found.unnecessary
        assert found.tests


def test_fences_of_shared_memory_alone_are_sound_and_needed() -> None:
    """Restricted to it from PTX 8.6 on, before that clamped to what reaches it."""
    promised = Target("sm_90", frozenset({NO_RELAXED_BARRIER}))
    for mode in (promised, Target("sm_90"), Target("sm_90", ptx_version=(8, 0)), Target("sm_70")):
        for ordering in (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL):
            for scope in (Scope.AGENT, Scope.SYSTEM):
                found = certify_operation(
                    Request(Operations.FENCE, ordering, scope, None, spaces=ONLY_LOCAL), mode
                )
                assert found.is_sound, found.failures
                dropped = [part for part in found.parts if part.change == "dropped"]
                assert len(dropped) == len(found.sequence)
                assert all(part.verdict is Verdict.NEEDED for part in dropped)


def test_a_relaxed_barrier_carries_what_fences_of_shared_memory_order() -> None:
    """Not what those do that are restricted to it: they are promised that there is none."""
    release, acquire = (
        Fence(ordering, Scope.CLUSTER, spaces=ONLY_LOCAL)
        for ordering in (Ordering.RELEASE, Ordering.ACQUIRE)
    )
    relaxed = Barrier(Scope.CLUSTER, Ordering.RELAXED)
    first: Thread[ScopedInstruction] = Thread(Placement(), (Store("s", 1), release, relaxed))
    second: Thread[ScopedInstruction] = Thread(Placement(), (relaxed, acquire, Load("r0", "s")))
    shared = Location("s", space=LOCAL)
    scoped = Program((shared,), (first, second), (Register(1, "r0"),))
    lowering, plain = lower_request, Target("sm_90")
    promised = replace(plain, features=frozenset({NO_RELAXED_BARRIER}))
    assert not wrong_outcomes(scoped, plain, lowering)
    assert wrong_outcomes(scoped, promised, lowering)
