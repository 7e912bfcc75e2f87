"""What LLVM keeps on its side of its own fences, it keeps there of whatever stands for them.

LLVM's -O2 is asked how many accesses it leaves of the source, and of what is made of it: across a fence
it joins no two of them, across a call those through a ``noalias`` pointer. For PTX each case has
synchronisation of the program's own, inline PTX or an intrinsic, that does the work of LLVM's fence.
"""

import re
from collections.abc import Iterable

import llvmlite.binding as llvm
import pytest
from campaigns import first_of
from test_llvm_ir_nvptx import optimised

from fencewright import lower_llvm_ir
from fencewright.mlir_dialects.llvm_ir import inline_ptx, read
from fencewright.passes.llvm_ir import escape_noalias
from fencewright.passes.options import OptLevel

MODULE = """target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.membar.sys()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @f(ptr addrspace(1) %flag, ptr addrspace(1) {noalias}%data, i1 %p) {{
  {body}
  ret void
}}
!0 = distinct !{{!0}}
!1 = distinct !{{!1, !0}}
!2 = !{{!1}}
"""
FIRST = "store i32 1, ptr addrspace(1) %data, align 4"
SECOND = "store i32 2, ptr addrspace(1) %data, align 4"
BEFORE = "%a = load i32, ptr addrspace(1) %data, align 4"
AFTER = """%b = load i32, ptr addrspace(1) %data, align 4
  %s = add i32 %a, %b
  store i32 %s, ptr addrspace(1) %data, align 4"""
RELEASE = 'fence syncscope("device") release'
ACQUIRE = 'fence syncscope("device") acquire'
WIDER = 'call void asm sideeffect "fence.sc.sys;", "~{memory}"()'
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
STORE = (
    'call void asm sideeffect "st.release.gpu.global.u32 [$0], 1;", "l,~{memory}"'
    "(ptr addrspace(1) %flag)"
)
PERHAPS = (
    'call void asm sideeffect "@$1 st.release.gpu.global.u32 [$0], 1;", "l,b,~{memory}"'
    "(ptr addrspace(1) %flag, i1 %p)"
)
LOAD = (
    '%f = call i32 asm sideeffect "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}"'
    "(ptr addrspace(1) %flag)"
)
RAISE = STORE.replace("release", "relaxed")
LOOK = LOAD.replace("acquire", "relaxed").replace("%f =", "%l =")
CASES = {
    "a wider fence after it": (FIRST, RELEASE, WIDER, SECOND, RAISE),
    "a wider fence before it": (LOOK, BEFORE, WIDER, ACQUIRE, AFTER),
    "an intrinsic": (FIRST, RELEASE, "call void @llvm.nvvm.membar.sys()", SECOND, RAISE),
    "a barrier": (FIRST, RELEASE, BARRIER, SECOND),
    "a store that releases": (FIRST, RELEASE, STORE, SECOND),
    "a store that releases, if at all": (FIRST, RELEASE, PERHAPS, SECOND),
    "a load that acquires": (BEFORE, LOAD, ACQUIRE, AFTER),
}
WIDER_AFTER = "a wider fence after it"


def source(*lines: str, noalias: str = "noalias captures(none) ", called: str = "()") -> str:
    """A kernel of these lines; ``called``: what follows the constraints of assembly without operands."""
    body = "\n  ".join(lines).replace('"~{memory}"()', f'"~{{memory}}"{called}')
    return MODULE.format(body=body, noalias=noalias)


def left(text: str, target: llvm.TargetMachine | None = None) -> int:
    """The accesses to the data that LLVM leaves, for ``target`` (NVIDIA's)."""
    return len(optimised(text, "f", target))


@pytest.mark.parametrize("name", CASES)
def test_noalias_data_stays_on_its_side_of_what_stands_for_a_fence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = source(*CASES[name])
    made = lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True)
    assert not any(fence in made for fence in (RELEASE, ACQUIRE, "fence.acquire", "fence.release"))
    assert left(made) == left(text)
    monkeypatch.setattr(escape_noalias, "_orders", lambda op: False)  # pyright: ignore
    broken = lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True)
    assert left(broken) < left(text)


GROUP = "attributes #0 = { nounwind memory(none) }\n"


def test_assembly_that_is_said_to_reach_no_memory_stands_for_no_fence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = source(*CASES[WIDER_AFTER], noalias="", called="() #0") + GROUP
    assert left(lower_llvm_ir(text, "sm_90", edit=True)) == left(text)
    reader = read._ModuleReader  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(reader, "limits", frozenset[str]())
    assert left(lower_llvm_ir(text, "sm_90", edit=True)) < left(text)


def test_assembly_with_noalias_metadata_stands_for_no_fence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As inlining leaves it of a function with ``noalias`` arguments."""
    text = source(*CASES[WIDER_AFTER], noalias="", called="(), !noalias !2")
    text = re.sub("(%data, align 4)", r"\1, !alias.scope !2", text)
    assert left(lower_llvm_ir(text, "sm_90", edit=True)) == left(text)
    inline_ptx.understand.cache_clear()
    monkeypatch.setattr(inline_ptx, "_NOALIAS", "!nothing ")
    try:
        assert left(lower_llvm_ir(text, "sm_90", edit=True)) < left(text)
    finally:
        inline_ptx.understand.cache_clear()


@pytest.mark.parametrize("name", [WIDER_AFTER, "a store that releases, if at all"])
def test_assembly_that_llvm_may_leave_out_stands_for_no_fence(name: str) -> None:
    text = source(*CASES[name]).replace("asm sideeffect", "asm")
    made = lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True)
    assert "fence.release.gpu;" in made


def test_what_the_programs_own_assembly_orders_stays_the_same_text() -> None:
    """As much as it said before: no pointer escapes for it."""
    text = source(FIRST, WIDER, SECOND, RAISE)
    assert lower_llvm_ir(text, "sm_90", edit=True) is text


HANDED_ON = """target triple = "nvptx64-nvidia-cuda"
declare noalias ptr @malloc(i64)
define void @f(ptr addrspace(1) %flag, ptr addrspace(1) %ready) {
  %data = call noalias ptr @malloc(i64 4)
  store i32 1, ptr %data, align 4
  fence syncscope("device") release
  store atomic ptr %data, ptr addrspace(1) %flag syncscope("device") monotonic, align 8
  %r = load atomic i32, ptr addrspace(1) %ready syncscope("device") monotonic, align 4
  fence syncscope("device") acquire
  store i32 2, ptr %data, align 4
  ret void
}
"""


def test_a_pointer_that_is_made_here_escapes_where_it_is_handed_on() -> None:
    """LLVM keeps what is stored before it is published, and what others may do until it is theirs no more."""
    assert left(lower_llvm_ir(HANDED_ON, "sm_90", edit=True)) == 2
    kept = HANDED_ON.replace("store atomic ptr %data,", "store atomic ptr null,")
    assert left(lower_llvm_ir(kept, "sm_90", edit=True)) == 0


# CDNA, where a fence that no instruction implements stands beside whatever orders

AMD = """target triple = "amdgcn-amd-amdhsa"
declare noalias ptr addrspace(1) @made()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @f(ptr addrspace(1) %flag, ptr addrspace(1) %where, {argument}) {{
  %look = load atomic i32, ptr addrspace(1) %flag monotonic, align 4
  {call}
  {body}
  store ptr addrspace(1) %data, ptr addrspace(1) %where, align 8
  store atomic i32 1, ptr addrspace(1) %flag monotonic, align 4
  ret void
}}
"""
POINTERS = {
    "argument": ("ptr addrspace(1) noalias %data", ""),
    "result": ("i32 %n", "%data = call noalias ptr addrspace(1) @made()"),
}
MEETING = (
    'fence syncscope("workgroup") release',
    "call void @llvm.amdgcn.s.barrier()",
    'fence syncscope("workgroup") acquire',
)
AT = "ptr addrspace(1) %flag"
ORDERINGS = {
    "release": ('fence syncscope("{scope}") release',),
    "acquire": ('fence syncscope("{scope}") acquire',),
    "seq_cst": ('fence syncscope("{scope}") seq_cst',),
    "store": (f'store atomic i32 1, {AT} syncscope("{{scope}}") release, align 4',),
    "load": (f'%f = load atomic i32, {AT} syncscope("{{scope}}") acquire, align 4',),
    "update": (f'%f = atomicrmw add {AT}, i32 1 syncscope("{{scope}}") acq_rel',),
    "meeting": MEETING,
}


def amd(pointer: str, before: str, after: str, between: Iterable[str], scope: str) -> str:
    """A kernel that makes ``between`` of two accesses whatever orders them, at ``scope``."""
    argument, call = POINTERS[pointer]
    body = "\n  ".join((before, *(line.format(scope=scope) for line in between), after))
    return AMD.format(argument=argument, call=call, body=body)


COMPILER_FENCES = re.compile(r'^ *fence syncscope\("singlethread"\).*\n', re.MULTILINE)


def amd_machine(chip: str) -> llvm.TargetMachine:
    """LLVM for a chip of AMD's."""
    llvm.initialize_all_targets()
    return llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=chip, opt=2)


@pytest.mark.parametrize("chip", first_of(["gfx942", "gfx90a", "gfx1250"]))
@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("level", [0, 2])
def test_on_cdna_a_fence_of_llvms_own_stays_beside_whatever_orders(
    chip: str, pointer: str, level: OptLevel
) -> None:
    moved, target = 0, amd_machine(chip)
    for name, between in ORDERINGS.items():
        for scope in ("workgroup", "agent"):
            for accesses in ((FIRST, SECOND), (BEFORE, AFTER)):
                text = amd(pointer, *accesses, between, scope)
                made = lower_llvm_ir(text, chip, opt_level=level, edit=True)
                meant = left(text, target)
                assert left(made, target) >= meant, (name, scope)
                moved += left(COMPILER_FENCES.sub("", made), target) < meant
    assert moved >= 4
