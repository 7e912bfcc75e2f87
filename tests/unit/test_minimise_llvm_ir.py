"""LLVM IR with the fewest write-backs and invalidates: enough by the machine, and few."""

import re
import sys
from pathlib import Path
from typing import Any

import llvm_ir_programs
import llvmlite.binding as llvm
import minimise_programs as programs
import pytest
import test_minimise_cdna as kernels_path
from xdsl.ir import Operation

from fencewright.passes import llvm_ir_caches
from fencewright.passes.cdna_caches import LGKMCNT, CacheStep
from fencewright.passes.litmus_programs import ReadOptions
from fencewright.passes.llvm_ir_memory import Memory
from fencewright.passes.lower_scoped_llvm_ir import lower_llvm_ir
from fencewright.simulator.litmus_run import Limits, Run, SourceTest, run

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
LIMITS = Limits(states=60_000)


def source(threads: programs.Threads) -> SourceTest:
    """The program as it is meant."""
    test = programs.runnable(programs.parse(programs.program(threads)), ReadOptions())
    assert isinstance(test, SourceTest)
    return test


def executed(test: SourceTest, target: programs.Target) -> tuple[str, Run]:
    """The lowered module, and what it can do."""
    options = ReadOptions(
        l2_per_agent=target.l2_per_agent, chip=target.chip, tgsplit=target.tgsplit
    )
    text, lowered = llvm_ir_programs.lowered(test, options)
    does = run(lowered, LIMITS)
    assert not does.incomplete
    return text, does


def problem(threads: programs.Threads, target: programs.Target) -> tuple[str, object]:
    """The lowered module, and outcomes of it that the source forbids."""
    test = source(threads)
    meant = run(test)
    assert not meant.races
    text, does = executed(test, target)
    return text, programs.forbidden(meant, does)


@pytest.mark.parametrize("name", kernels_path.CASES)
def test_what_is_left_is_enough(name: str) -> None:
    case = kernels_path.CASES[name]
    text, found = problem(case.threads, case.target)
    assert not found, text


@pytest.mark.parametrize("start", range(0, kernels_path.SEEDS // 4, 20))
def test_random_programs_stay_right(start: int) -> None:
    checked = 0
    for seed in range(start, start + 20):
        threads, target = kernels_path.random_case(seed)
        test = source(threads)
        meant = run(test)
        if meant.races or meant.incomplete:
            continue
        text, does = executed(test, target)
        assert not programs.forbidden(meant, does), (seed, text)
        checked += 1
    assert checked >= 10


# Each rule broken on purpose.


def lose_edges(patch: pytest.MonkeyPatch) -> None:
    """Invalidates that sink are not put back."""
    for name in ("insert", "insert_on_edge"):
        patch.setattr(llvm_ir_caches.Edges, name, kernels_path.always(None))


def store_past_the_caches(patch: pytest.MonkeyPatch) -> None:
    """LLVM's stores are taken for such that leave no dirty line."""
    real = llvm_ir_caches.bits_of_access

    def bits(operation: str, *rest: Any) -> tuple[str, ...]:
        return ("sc1",) if operation == "store" else real(operation, *rest)

    patch.setattr(llvm_ir_caches, "bits_of_access", bits)


def load_past_the_caches(patch: pytest.MonkeyPatch) -> None:
    """LLVM's loads are taken for such that find nothing stale."""
    real = llvm_ir_caches.bits_of_access

    def bits(operation: str, *rest: Any) -> tuple[str, ...]:
        return ("sc0", "sc1") if operation == "load" else real(operation, *rest)

    patch.setattr(llvm_ir_caches, "bits_of_access", bits)


def know_no_flags(patch: pytest.MonkeyPatch) -> None:
    """Accesses hand on nothing and take in nothing."""
    real = llvm_ir_caches.access_steps

    def access(*arguments: Any) -> list[CacheStep]:
        return [step._replace(publishes=False, takes_in=False) for step in real(*arguments)]

    patch.setattr(llvm_ir_caches, "access_steps", access)


def know_no_barriers(patch: pytest.MonkeyPatch) -> None:
    """A barrier does nothing."""
    real = llvm_ir_caches.memory_of

    def memory_of(op: Operation) -> Memory:
        found = real(op)
        return Memory.NONE if found is Memory.BARRIER else found

    patch.setattr(llvm_ir_caches, "memory_of", memory_of)


def wait_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever on its way."""
    patch.setattr(llvm_ir_caches, "issued", kernels_path.always(0))


def wait_for_no_lds(patch: pytest.MonkeyPatch) -> None:
    """Accesses to LDS are over at once."""
    real = llvm_ir_caches.issued

    def issued(op: Operation, outstanding: int) -> int:
        return real(op, outstanding) & ~LGKMCNT

    patch.setattr(llvm_ir_caches, "issued", issued)


BROKEN: dict[kernels_path.Break, tuple[str, ...]] = {
    lose_edges: ("spin", "lock", "needed on one way"),
    store_past_the_caches: ("message passing", "two releases", "grid barrier"),
    load_past_the_caches: ("message passing", "spin", "grid barrier"),
    know_no_flags: ("handed on by a narrower flag", "received for a mate by a flag"),
    know_no_barriers: ("handed on by a barrier",),
    wait_for_nothing: ("message passing", "grid barrier"),
    wait_for_no_lds: ("a wait for LDS that a flag in memory tells",),
    kernels_path.ignore_narrower_synchronisation: ("handed on by a narrower flag",),
    kernels_path.need_nothing_for_mates: ("received for a mate by a flag",),
}


@pytest.mark.parametrize(
    ("broken", "name"), [(broken, name) for broken, names in BROKEN.items() for name in names]
)
def test_a_broken_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: kernels_path.Break, name: str
) -> None:
    broken(monkeypatch)
    case = kernels_path.CASES[name]
    text, found = problem(case.threads, case.target)
    assert found, text


# The eighteen kernels.


def assembly(text: str) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine("gfx942", opt=2)
    return str(machine.emit_assembly(llvm.parse_assembly(text)))


def test_the_kernels_have_as_few_as_in_mlir() -> None:
    import kernels_cdna

    theirs = kernels_cdna.llvms()
    mlir = kernels_cdna.ours(kernels_cdna.PIPELINES["minimised"])
    text = (kernels_cdna.KERNELS / "kernels.ll").read_text(encoding="utf-8")
    ours = kernels_cdna.in_llvm_ir()
    plain = kernels_cdna.count(assembly(lower_llvm_ir(text, "gfx942", opt_level=0)))
    nothing = kernels_cdna.Counts()
    for name in kernels_cdna.kernels():
        llvms, least, found = (each.get(name, nothing) for each in (theirs, mlir, ours))
        assert found.write_backs <= least.write_backs <= llvms.write_backs, name
        assert found.invalidates <= least.invalidates <= llvms.invalidates, name
    total = kernels_cdna.totals(ours)
    assert (total.write_backs, total.invalidates) == (8, 8)
    assert total.waits <= kernels_cdna.totals(plain).waits
    assert kernels_cdna.totals(plain).write_backs == kernels_cdna.totals(theirs).write_backs == 17


# What is not known.

MODULE = """target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global i32 poison
@generic = external global i32
declare void @anything()
declare i32 @pure(i32) memory(none)
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.sleep(i32)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
define {convention} void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {{
  {body}
  ret void
}}
"""
FLAG = 'store atomic i32 1, ptr addrspace(1) %q syncscope("agent") release, align 4'
ACQUIRE = '%v = load atomic i32, ptr addrspace(1) %q syncscope("agent") acquire, align 4'


def lowered(*body: str, convention: str = "amdgpu_kernel", **options: Any) -> str:
    text = MODULE.format(convention=convention, body="\n  ".join(body))
    return lower_llvm_ir(text, "gfx942", **options)


@pytest.mark.parametrize(
    "silent",
    [
        "",
        "%x = call i32 @pure(i32 1)",
        "%x = call i32 @llvm.amdgcn.workitem.id.x()",
        "call void @llvm.amdgcn.s.sleep(i32 1)",
        "%x = alloca i32, addrspace(5)\n  store volatile i32 1, ptr addrspace(5) %x",
    ],
)
def test_nothing_is_dirty_or_on_its_way_at_the_start_of_a_kernel(silent: str) -> None:
    text = lowered(silent, FLAG)
    assert "buffer_wbl2" not in text
    assert "s_waitcnt" not in text
    assert "buffer_wbl2 sc1\\0As_waitcnt vmcnt(0) lgkmcnt(0)" in lowered(silent, FLAG, opt_level=0)


@pytest.mark.parametrize(
    ("access", "wait"),
    [
        ("%x = load i32, ptr addrspace(1) %p", "vmcnt(0) lgkmcnt(0)"),
        ("store i32 1, ptr addrspace(1) %p", "vmcnt(0)"),
        ("store i32 1, ptr addrspace(3) @lds", "lgkmcnt(0)"),
        ("store i32 1, ptr @generic", "vmcnt(0) lgkmcnt(0)"),
        ("call void @anything()", "vmcnt(0) lgkmcnt(0)"),
    ],
)
def test_waits_are_for_what_may_be_on_its_way(access: str, wait: str) -> None:
    text = lowered(access, FLAG)
    assert re.findall(r's_waitcnt ([^"\\]*)', text) == [wait]


@pytest.mark.parametrize(
    "unknown",
    [
        "call void @anything()",
        'call void asm sideeffect "s_nop 0", ""()',
        "call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 4, i1 false)",
        "store { i32, i32 } zeroinitializer, ptr addrspace(1) %p",
        "store i32 1, ptr addrspace(1) %p",
        '%x = atomicrmw xchg ptr addrspace(1) %p, i32 0 syncscope("workgroup") monotonic',
    ],
)
def test_what_may_store_is_written_back(unknown: str) -> None:
    assert "buffer_wbl2 sc1" in lowered(unknown, FLAG)


@pytest.mark.parametrize(
    "unknown",
    [
        "call void @anything()",
        'call void asm sideeffect "s_nop 0", ""()',
        "%x = load { i32, i32 }, ptr addrspace(1) %p",
        "%x = load i32, ptr addrspace(1) %p",
        '%x = atomicrmw or ptr addrspace(1) %p, i32 0 syncscope("workgroup") monotonic, align 4',
    ],
)
def test_what_may_load_finds_nothing_stale(unknown: str) -> None:
    assert "buffer_inv sc1" in lowered(ACQUIRE, unknown)


def test_an_acquire_at_the_end_of_a_kernel_invalidates_nothing() -> None:
    text = lowered(ACQUIRE, "%x = load i32, ptr addrspace(1) %p, !invariant.load !{}")
    assert "buffer_inv" not in text
    assert "s_waitcnt vmcnt(0)" in text


def test_a_function_that_is_no_kernel_keeps_everything() -> None:
    text = lowered(FLAG, ACQUIRE, convention="")
    assert "buffer_wbl2 sc1" in text
    assert "buffer_inv sc1" in text


FENCE = 'fence syncscope("agent") acq_rel'
NVPTX = """target triple = "nvptx64-nvidia-cuda"
declare void @anything()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %p) {{
  store i32 1, ptr addrspace(1) %p
  fence syncscope("device") acq_rel
  {between}
  fence syncscope("device") acq_rel
  store atomic i32 1, ptr addrspace(1) %p syncscope("device") monotonic, align 4
  ret void
}}
"""


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ("%x = call i32 @pure(i32 1)", 1),
        ("%x = call i32 @llvm.amdgcn.workitem.id.x()\n  %y = add i32 %x, 1", 1),
        ("call void @anything()", 2),
        ('call void asm sideeffect "s_nop 0", ""()', 2),
    ],
)
def test_fences_are_merged_over_what_touches_no_memory(between: str, left: int) -> None:
    store = "store i32 1, ptr addrspace(1) %p"
    flag = FLAG.replace("release", "monotonic")
    assert lowered(store, FENCE, between, FENCE, flag).count("buffer_wbl2") == left


@pytest.mark.parametrize(
    ("between", "left"),
    [("%x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", 1), ("call void @anything()", 2)],
)
def test_fences_are_merged_for_ptx(between: str, left: int) -> None:
    text = lower_llvm_ir(NVPTX.format(between=between), "sm_90")
    assert text.count('asm sideeffect "fence.') == left
    plain = lower_llvm_ir(NVPTX.format(between=between), "sm_90", opt_level=0)
    assert plain.count('asm sideeffect "fence.acq_rel.gpu') == 2


EDGES = """target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %v = load atomic i32, ptr addrspace(1) %q syncscope("agent") acquire, align 4
  switch i32 %v, label %loop [ i32 1, label %use
                               i32 2, label %use
                               i32 3, label %end ]
use:
  %k = phi i32 [ %i, %loop ], [ %i, %loop ], [ 7, %end ]
  %x = load i32, ptr addrspace(1) %p
  %y = add i32 %x, %k
  store i32 %y, ptr addrspace(1) %p
  ret void
end:
  %more = icmp eq i32 %i, 9
  br i1 %more, label %use, label %out
out:
  ret void
}
"""


def test_an_edge_is_split_where_blocks_are_joined() -> None:
    text = lower_llvm_ir(EDGES, "gfx942")
    # Each way to the load has one, the way round the loop and the way out have none.
    assert text.count("buffer_inv sc1") == 3
    loop = text.partition("\nloop:")[2].partition("\n\n")[0]
    assert "buffer_inv" not in loop
    assert "%k = phi i32 [ %i, %sunk ], [ %i, %sunk1 ], [ 7, %sunk2 ]" in text
    assert assembly(text).count("buffer_inv") == 3
