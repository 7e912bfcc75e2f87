"""LLVM IR whose synchronisation one guard of a pass keeps: what LLVM's own calls have in flight."""

import re

import guard_llvm_ir
import pytest
from llvm_ir_trials import ON_LLVM_IR, kept_trials, on_llvm_ir
from llvm_ir_waits import in_assembly
from xdsl.context import Context

from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir
from fencewright.simulator.core.processes.time_limit import limited
from fencewright.tools.dev.campaigns.mutants_of_passes import Outcome, list_of
from fencewright.tools.dev.campaigns.pass_mutants import FILES, applied, mutants_of

MODULE = """target triple = "amdgcn-amd-amdhsa"
@flag = internal addrspace(3) global i32 poison
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare void @anything()
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{
  {before}
  fence syncscope("workgroup") release
  store atomic i32 1, ptr addrspace(3) @flag syncscope("workgroup") monotonic, align 4
  ret void
}}
"""
MEMSET = "call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 4, i1 false)"
MEMCPY = (
    "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 4, i1 false)"
)


def waits(*before: str) -> list[str]:
    """The waits of a kernel that raises a flag at its end."""
    module = import_llvm_ir(MODULE.format(before="\n  ".join(before)))
    for each in on_llvm_ir().passes():
        each.apply(Context(), module)
    text = in_assembly(export_llvm_ir(module))
    return re.findall(r"s_waitcnt ([^\"\\]*)", text)


@pytest.mark.parametrize(
    ("before", "counts"),
    [
        (MEMSET, "vmcnt(0)"),
        (MEMCPY, "vmcnt(0) lgkmcnt(0)"),
        (MEMSET.replace("false", "true"), "vmcnt(0)"),
        (MEMCPY.replace("false", "true"), "vmcnt(0) lgkmcnt(0)"),
        ("store { i32, i32 } zeroinitializer, ptr addrspace(1) %p", "vmcnt(0)"),
        ("%x = load { i32, i32 }, ptr addrspace(1) %p", "vmcnt(0) lgkmcnt(0)"),
        ("call void @anything()", "vmcnt(0) lgkmcnt(0)"),
        ('call void asm sideeffect "s_nop 0", ""()', "vmcnt(0) lgkmcnt(0)"),
    ],
)
def test_a_release_waits_for_what_llvm_does_at_a_call(before: str, counts: str) -> None:
    """What is loaded may be loaded by the scalar cache, which counts in lgkmcnt."""
    assert waits(before) == [counts]


def test_a_release_waits_for_calls_on_either_way() -> None:
    branch = "br i1 undef, label %call, label %join\ncall:\n  {}\n  br label %join\njoin:"
    assert waits(branch.format(MEMSET)) == ["vmcnt(0)"]
    assert waits(branch.format("")) == []


def test_a_release_does_not_wait_twice() -> None:
    again = 'fence syncscope("workgroup") release'
    flag = 'store atomic i32 1, ptr addrspace(3) @flag syncscope("workgroup") monotonic, align 4'
    assert waits(MEMSET, again, flag) == ["vmcnt(0)", "lgkmcnt(0)"]


# What has to be left


KEPT = {str(each): each for view in ON_LLVM_IR for each in kept_trials(view)}
LISTED = [
    tuple(line.split("\t"))
    for file in FILES
    for line in list_of(file).read_text(encoding="utf-8").splitlines()
]
SHOWN = [
    (guard, said) for outcome, guard, said in LISTED if outcome == Outcome.WRONG and said in KEPT
]
"""The guards that these show."""


def test_every_program_is_in_a_view() -> None:
    assert {each.name for each in KEPT.values()} == guard_llvm_ir.KEPT.keys()


@pytest.mark.parametrize("name", KEPT)
def test_what_has_to_be_left_is_left(name: str) -> None:
    assert not KEPT[name].problem()


@pytest.mark.parametrize(("guard", "name"), SHOWN, ids=lambda each: str(each)[:60])
def test_less_is_left_without_a_guard(guard: str, name: str) -> None:
    (mutant,) = [each for each in mutants_of(guard.partition(" ")[0]) if str(each) == guard]
    with limited(20.0), applied(mutant):
        assert KEPT[name].problem()
