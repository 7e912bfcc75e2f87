"""Waits in LLVM IR as what LLVM's own wait insertion sees, and what it makes of them."""

import re

import llvmlite.binding as llvm
import pytest
from xdsl.context import Context

from fencewright.lowering.cdna.counters.wait_field import wait_field
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir
from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass
from fencewright.passes.llvm_ir.show_waits import ShowWaitsPass
from fencewright.passes.pipelines import LLVMIRPipeline, lower_llvm_ir

KERNEL = """
target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.s.barrier()
@lds = internal addrspace(3) global [64 x i32] poison
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %a = getelementptr i32, ptr addrspace(3) @lds, i32 %n
  store i32 %n, ptr addrspace(3) %a
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v = load i32, ptr addrspace(3) @lds
  store i32 %v, ptr addrspace(1) %p
  %o = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("agent") acq_rel
  ret void
}
"""


def assembly(text: str, chip: str = "gfx942") -> str:
    """What LLVM makes of a module at -O2."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=chip, opt=2)
    return machine.emit_assembly(llvm.parse_assembly(text))


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(("vmcnt", "lgkmcnt"), [(0, None), (None, 0), (0, 0), (17, 3), (62, 14)])
def test_the_field_is_as_llvm_reads_it(chip: str, vmcnt: int | None, lgkmcnt: int | None) -> None:
    field = wait_field(chip, vmcnt, lgkmcnt)
    text = (
        'target triple = "amdgcn-amd-amdhsa"\n'
        "declare void @llvm.amdgcn.s.waitcnt(i32 immarg)\n"
        "define amdgpu_kernel void @k() {\n"
        f"  call void @llvm.amdgcn.s.waitcnt(i32 {field})\n  ret void\n}}\n"
    )
    counts = (("vmcnt", vmcnt, 63), ("lgkmcnt", lgkmcnt, 15))
    wanted = {(name, str(n)) for name, n, most in counts if n is not None and n < most}
    (printed,) = re.findall(r"s_waitcnt (.*)", assembly(text, chip)) or [""]
    assert set(re.findall(r"(\w+)\((\d+)\)", printed)) == wanted


def test_no_wait_is_left_in_assembly() -> None:
    lowered = lower_llvm_ir(KERNEL, "gfx942")
    assert '"buffer_wbl2 sc1"' in lowered
    assert not re.search(r'asm sideeffect "[^"]*s_waitcnt', lowered)
    assert lowered.count("declare void @llvm.amdgcn.s.waitcnt(") == 1


def test_llvm_waits_no_more_than_by_itself() -> None:
    """With LLVM's own choice for the work-group: our release there waits for memory as well."""
    ours = assembly(lower_llvm_ir(KERNEL, "gfx942", compat="llvm"))
    assert ours.count("s_waitcnt") <= assembly(KERNEL).count("s_waitcnt")


def lowered_by_hand(*, show: bool, tgsplit: bool = False) -> str:
    """The kernel lowered as at -O0, with its waits shown to LLVM or not."""
    module = import_llvm_ir(KERNEL)
    LowerScopedLLVMIRPass("gfx942", tgsplit=tgsplit).apply(Context(), module)
    if show:
        ShowWaitsPass().apply(Context(), module)
    return export_llvm_ir(module)


LOADED_BEFORE = """
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) noalias %p, ptr addrspace(1) %q) {
  %n = call i32 @llvm.amdgcn.workitem.id.x()
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %n
  %v = load i32, ptr addrspace(1) %a
  store i32 1, ptr addrspace(1) %a
  store atomic i32 1, ptr addrspace(1) %q syncscope("agent") release, align 4
  store i32 %v, ptr addrspace(1) %q
  ret void
}
"""


def test_waits_that_llvm_does_not_see_are_more() -> None:
    """What the pass is for: LLVM would wait again for what has been loaded before."""
    module = import_llvm_ir(LOADED_BEFORE)
    for step in LLVMIRPipeline("gfx942").passes():
        if step.name != ShowWaitsPass.name:
            step.apply(Context(), module)
    hidden = assembly(export_llvm_ir(module))
    shown = assembly(lower_llvm_ir(LOADED_BEFORE, "gfx942"))
    assert shown.count("s_waitcnt") < hidden.count("s_waitcnt")


def test_in_tgsplit_no_wait_is_left_to_a_fence() -> None:
    text = lowered_by_hand(show=True, tgsplit=True)
    assert 'fence syncscope("workgroup")' not in text
    assert "@llvm.amdgcn.s.waitcnt(" in text


def test_a_second_run_declares_nothing_twice() -> None:
    module = import_llvm_ir(KERNEL)
    LowerScopedLLVMIRPass("gfx942").apply(Context(), module)
    ShowWaitsPass().apply(Context(), module)
    ShowWaitsPass().apply(Context(), module)
    assert export_llvm_ir(module).count("declare void @llvm.amdgcn.s.waitcnt(") == 1


def test_the_wait_after_a_write_back_stays() -> None:
    """LLVM does not see that it counts, and must not take the wait for one for nothing."""
    text = KERNEL.replace(
        "store i32 %v, ptr addrspace(1) %p\n", "store i32 7, ptr addrspace(1) %p\n"
    )
    printed = assembly(lower_llvm_ir(text, "gfx942"))
    after = printed.partition("buffer_wbl2")[2].partition("global_atomic_add")[0]
    assert "vmcnt(0)" in after
