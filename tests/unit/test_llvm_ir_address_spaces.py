"""Ordered accesses of kernels for NVIDIA keep the address space that LLVM would infer."""

import re

import pytest

from fencewright.passes.pipelines import lower_llvm_ir

KERNEL = """
target triple = "nvptx64-nvidia-cuda"
@shared = internal addrspace(3) global i32 poison
define {convention}void @k(ptr %p, ptr noalias %q, ptr byval(i64) %s, i64 %n, i1 %c) {{
entry:
  {body}
  %v = load atomic i32, ptr {pointer} syncscope("device") acquire, align 4
  store i32 %v, ptr %q
  ret void
}}
"""


def lowered(pointer: str, *body: str, convention: str = "ptx_kernel ") -> str:
    """The PTX of the acquire load of ``pointer``, which ``body`` makes."""
    text = KERNEL.format(convention=convention, body="\n  ".join(body), pointer=pointer)
    (found,) = re.findall(r'asm sideeffect "(ld[^"]*)"', lower_llvm_ir(text, "sm_90"))
    return found.partition(" ")[0]


GLOBAL, GENERIC = "ld.acquire.gpu.global.b32", "ld.acquire.gpu.b32"
SHARED = "ld.acquire.cluster.shared.b32"
COMPUTED = "%a = getelementptr inbounds i32, ptr %p, i64 %n"
LOOP = (
    "br label %loop", "loop:", "%a = phi ptr [ {first}, %entry ], [ %b, %loop ]",
    "%b = getelementptr i32, ptr %a, i64 1", "br i1 %c, label %loop, label %end", "end:",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pointer", "body", "wanted"),
    [
        ("%p", (), GLOBAL),
        ("%q", (), GLOBAL),
        ("%a", (COMPUTED,), GLOBAL),
        ("%b", (COMPUTED, "%b = select i1 %c, ptr %a, ptr %q"), GLOBAL),
        ("%b", (COMPUTED, "%b = freeze ptr %a"), GLOBAL),
        ("%b", tuple(each.format(first="%p") for each in LOOP), GLOBAL),
        ("%a", ("%g = addrspacecast ptr %p to ptr addrspace(1)",
                "%a = addrspacecast ptr addrspace(1) %g to ptr"), GLOBAL),
        # What is copied for the kernel is in its parameters, and others may be anywhere.
        ("%s", (), GENERIC),
        ("%a", ("%a = load ptr, ptr %p",), GENERIC),
        ("%b", ("%a = addrspacecast ptr addrspace(3) @shared to ptr",
                "%b = select i1 %c, ptr %p, ptr %a"), GENERIC),
        ("%b", ("%x = load ptr, ptr %p", "%b = select i1 %c, ptr %p, ptr %x"), GENERIC),
        ("%b", ("%b = select i1 %c, ptr %p, ptr null",), GENERIC),
        ("%b", tuple(each.format(first="null") for each in LOOP), GENERIC),
        ("%a", ("%a = inttoptr i64 %n to ptr",), GENERIC),
    ],
)  # fmt: skip
def test_what_comes_of_arguments_is_global(
    pointer: str, body: tuple[str, ...], wanted: str
) -> None:
    assert lowered(pointer, *body) == wanted


@pytest.mark.parametrize("convention", ["", "ptx_kernel "])
@pytest.mark.parametrize(
    ("pointer", "body"),
    [
        ("%a", ("%a = addrspacecast ptr addrspace(3) @shared to ptr",)),
        (
            "%a",
            ("%a = getelementptr i8, ptr addrspacecast (ptr addrspace(3) @shared to ptr), i64 %n",),
        ),
        ("addrspacecast (ptr addrspace(3) @shared to ptr)", ()),
    ],
)
def test_what_is_cast_from_shared_memory_is_shared(
    pointer: str, body: tuple[str, ...], convention: str
) -> None:
    assert lowered(pointer, *body, convention=convention) == SHARED


def test_a_function_may_be_called_with_any_pointer() -> None:
    assert lowered("%p", convention="") == GENERIC


def test_atomics_and_stores_are_global_too() -> None:
    text = """
    target triple = "nvptx64-nvidia-cuda"
    define ptx_kernel void @k(ptr %p, ptr %q) {
      %o = atomicrmw add ptr %p, i32 1 syncscope("device") acq_rel
      %x = cmpxchg ptr %q, i32 0, i32 %o syncscope("device") acq_rel monotonic
      store atomic i32 1, ptr %p syncscope("device") release, align 4
      ret void
    }
    """
    found = re.findall(r'asm sideeffect "(?:\{\\0A)?([^ "]*)', lower_llvm_ir(text, "sm_90"))
    assert len(found) == 3
    assert all(".global" in each for each in found)


def test_weak_accesses_are_left_to_llvm() -> None:
    text = KERNEL.format(convention="ptx_kernel ", body="", pointer="%p")
    assert "store i32 %v, ptr %q" in lower_llvm_ir(text, "sm_90")
