"""How many values are awaited at once, what llc makes of them, and how long the pass takes."""

import re
import subprocess
import time
from collections.abc import Callable

import pytest
from campaigns import some_of
from llvm_ir_waits import in_assembly
from xdsl.context import Context

from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes import pipelines
from fencewright.passes.llvm_ir.await_values import AWAITED_AT_ONCE, AwaitValuesPass
from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass
from fencewright.tools.llvm_tools import find_llvm_tool

LLC = find_llvm_tool("llc")
SIZES = {"i32": 4, "i64": 8, "ptr": 8, "double": 8}
HEAD = 'target triple = "amdgcn-amd-amdhsa"\ndeclare void @anything()\n'
FENCE = 'fence syncscope("agent") acquire'


def kernel(body: str, attributes: str = "") -> str:
    pointers = "ptr addrspace(1) %p, ptr addrspace(3) %l, ptr addrspace(1) %o"
    return f"{HEAD}define amdgpu_kernel void @k({pointers}) {attributes} {{\n{body}  ret void\n}}\n"


def reads(count: int, type_: str = "i32", name: str = "v", space: int = 1) -> str:
    """Relaxed loads of so many flags."""
    pointer = "%p" if space == 1 else "%l"
    return "".join(
        f"  %{name}p{number} = getelementptr i64, ptr addrspace({space}) {pointer}, i64 {number}\n"
        f"  %{name}{number} = load atomic {type_}, ptr addrspace({space}) %{name}p{number} "
        f'syncscope("agent") monotonic, align {SIZES[type_]}\n'
        for number in range(count)
    )


def stores(count: int, type_: str = "i32", name: str = "v") -> str:
    """What keeps the values of these loads alive."""
    return "".join(
        f"  store {type_} %{name}{number}, ptr addrspace(1) %o, align {SIZES[type_]}\n"
        for number in range(count)
    )


def fenced(count: int, type_: str = "i32", attributes: str = "") -> str:
    return kernel(f"{reads(count, type_)}  {FENCE}\n{stores(count, type_)}", attributes)


def awaited(text: str) -> int:
    """How many values are awaited at once, at most."""
    return max(
        [0, *(each.count("v,") for each in re.findall(r'asm sideeffect "[^"]*", "(.*)"', text))]
    )


def lower_llvm_ir(text: str, chip: str) -> str:
    """Lowered, its waits in assembly."""
    return in_assembly(pipelines.lower_llvm_ir(text, chip))


WAIT = "s_waitcnt vmcnt(0)"


def test_so_many_values_are_awaited_and_no_more() -> None:
    some = lower_llvm_ir(fenced(AWAITED_AT_ONCE), "gfx942")
    assert awaited(some) == AWAITED_AT_ONCE
    assert WAIT not in some
    more = lower_llvm_ir(fenced(AWAITED_AT_ONCE + 1), "gfx942")
    assert awaited(more) == 0
    assert WAIT in more


def test_values_are_counted_from_the_last_wait_and_on_all_ways() -> None:
    half = AWAITED_AT_ONCE // 2 + 1
    twice = f"{reads(half)}  {FENCE}\n{reads(half, name='w')}  {FENCE}\n"
    text = lower_llvm_ir(kernel(twice + stores(half) + stores(half, name="w")), "gfx942")
    assert awaited(text) == half
    assert WAIT not in text
    branches = f"""  %c = icmp eq ptr addrspace(1) %p, %o
  br i1 %c, label %a, label %b
a:
{reads(half)}  br label %join
b:
{reads(half, name="w")}  br label %join
join:
  {FENCE}
  %x = load i32, ptr addrspace(1) %o
  store i32 %x, ptr addrspace(1) %o
"""
    text = lower_llvm_ir(kernel(branches), "gfx942")
    assert awaited(text) == 0
    assert WAIT in text


def test_too_many_flags_in_lds_are_no_more_waited_for_than_before() -> None:
    """A fence of global memory awaits what it waits for, however much is read in LDS."""
    fence = f"{FENCE}, !mmra !0"
    body = f"{reads(40, name='s', space=3)}{reads(1)}  {fence}\n{stores(1)}{stores(40, name='s')}"
    text = kernel(body) + '!0 = !{!"amdgpu-synchronize-as", !"global"}\n'
    text = lower_llvm_ir(text, "gfx942")
    assert awaited(text) == 1
    assert "s_waitcnt" not in text


TEN_WAVES = '"amdgpu-waves-per-eu"="10"'


@pytest.mark.skipif(LLC is None, reason="needs llc of LLVM 22")
@pytest.mark.parametrize("type_", SIZES)
@pytest.mark.parametrize(
    "count", some_of([1, AWAITED_AT_ONCE, AWAITED_AT_ONCE + 1, 33, 65, 200], 3)
)
def test_llc_compiles_it(count: int, type_: str) -> None:
    assert LLC is not None
    for chip, attributes in (("gfx908", TEN_WAVES), ("gfx90a", ""), ("gfx942", "")):
        text = lower_llvm_ir(fenced(count, type_, attributes), chip)
        done = subprocess.run(
            [LLC, "-O2", f"-mcpu={chip}", "-o", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        if count <= AWAITED_AT_ONCE:
            assert "ScratchSize: 0" in done.stdout


# Time


def one_fence(count: int) -> str:
    return fenced(count)


def a_fence_for_each(count: int) -> str:
    """Each value is used before the fence, by what a branch does not look at."""
    each = """  %v{0} = load atomic i32, ptr addrspace(1) %p syncscope("agent") monotonic, align 4
  %w{0} = add i32 %v{0}, 1
  fence syncscope("agent") acquire
  store i32 %w{0}, ptr addrspace(1) %o
"""
    return kernel("".join(each.format(number) for number in range(count)))


def fences_that_leave_some(count: int) -> str:
    """Flags in LDS, and fences that wait for global memory alone."""
    half = count // 2
    body = reads(half, name="s", space=3) + f"  {FENCE}, !mmra !0\n" * half
    return kernel(body + stores(half, name="s")) + '!0 = !{!"amdgpu-synchronize-as", !"global"}\n'


def many_blocks(count: int) -> str:
    """A flag in each of many blocks, and what may be in flight from all before."""
    each = """  br label %b{0}
b{0}:
  %s{0} = load atomic i32, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4
  call void @anything()
"""
    return kernel("".join(each.format(number) for number in range(count // 2)) + f"  {FENCE}\n")


def seconds(text: str) -> float:
    """What the pass takes for a module, the best of three times."""
    best = float("inf")
    lowered = import_llvm_ir(text, "<string>")
    LowerScopedLLVMIRPass("gfx942").apply(Context(), lowered)
    for _ in range(3):
        module = lowered.clone()
        begin = time.process_time()
        AwaitValuesPass().apply(Context(), module)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize("make", [one_fence, a_fence_for_each, fences_that_leave_some, many_blocks])
def test_time_grows_with_the_size(make: Callable[[int], str]) -> None:
    few, many = (seconds(make(count)) for count in (125, 1_000))
    # Eight times the size: 64 times the time if it were quadratic.
    assert many < 24 * few


# What is outstanding


RELEASE = 'fence syncscope("agent") release'
RESTRICTED = f"{RELEASE}, !mmra !0"
SIGNAL = 'store atomic i32 1, ptr addrspace(1) %o syncscope("agent") monotonic, align 4'
LDS = "store i32 1, ptr addrspace(3) %l"
LOAD = "%x = load i32, ptr addrspace(1) %p"
PLAIN = "%x = load { i32, i32 }, ptr addrspace(1) %p"


@pytest.mark.parametrize(
    ("body", "convention", "waits"),
    [
        ((LOAD, RESTRICTED, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)"]),
        ((PLAIN, RESTRICTED, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)"]),
        (("call void @anything()", RESTRICTED, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)"]),
        ((RESTRICTED, SIGNAL), "", ["vmcnt(0) lgkmcnt(0)"]),
        ((RESTRICTED, SIGNAL), "amdgpu_kernel", []),
        ((LDS, RESTRICTED, SIGNAL), "amdgpu_kernel", []),
        ((LDS, RESTRICTED, SIGNAL, RELEASE, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)"]),
        ((LOAD, RELEASE, SIGNAL, RESTRICTED, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)", "vmcnt(0)"]),
        ((LOAD, RESTRICTED, SIGNAL, RESTRICTED, SIGNAL), "amdgpu_kernel", ["vmcnt(0) lgkmcnt(0)", "vmcnt(0)"]),
    ],
    ids=[
        "a load", "a load of a struct", "a call", "what callers did", "nothing", "LDS alone",
        "LDS that was not waited for", "a load that was waited for", "a load that was, for itself",
    ],
)  # fmt: skip
def test_a_release_waits_for_scalar_loads_where_there_may_be_some(
    body: tuple[str, ...], convention: str, waits: list[str]
) -> None:
    text = kernel("".join(f"  {line}\n" for line in body)).replace("amdgpu_kernel", convention)
    text = lower_llvm_ir(f'{text}!0 = !{{!"amdgpu-synchronize-as", !"global"}}\n', "gfx942")
    assert re.findall(r's_waitcnt ([^"\\]*)', text) == waits
