"""LLVM IR for gfx1250: what is put around accesses, and that LLVM's code generator keeps it."""

import re
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest

from fencewright import lower_llvm_ir
from fencewright.tools.llvm_tools import find_llvm_tool

LLC, LLVM_MC = find_llvm_tool("llc"), find_llvm_tool("llvm-mc")
needs_llvm = pytest.mark.skipif(LLC is None or LLVM_MC is None, reason="LLVM is not installed")
KERNELS = Path(__file__).parents[2] / "examples" / "kernels-cdna" / "kernels.ll"
HEAD = 'target triple = "amdgcn-amd-amdhsa"\n'


def lowered(body: str, **options: Any) -> str:
    """A kernel of these instructions, lowered."""
    kernel = f"define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %l) {{\n{body}\n"
    found = lower_llvm_ir(f"{HEAD}{kernel}  ret void\n}}\n", "gfx1250", **options)
    return str(found)


def assembly_in(text: str) -> list[list[str]]:
    """The lines of each inline assembly."""
    return [found.split("\\0A") for found in re.findall(r'asm sideeffect "([^"]*)"', text)]


def compiled(text: str) -> list[str]:
    """What ``llc -O2`` makes of it, which the assembler takes too."""
    assert LLC is not None
    assert LLVM_MC is not None
    target = ["-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1250"]
    code = subprocess.run(
        [LLC, "-O2", *target], input=text, text=True, capture_output=True, check=True
    )
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=null"]
    subprocess.run(command, input=code.stdout, text=True, capture_output=True, check=True)
    return [line.split(";")[0].strip() for line in code.stdout.splitlines()]


RELEASE = '  store atomic i32 1, ptr addrspace(1) %p syncscope("agent") release, align 4'


def test_a_release_waits_for_scalar_loads_on_their_own_counter() -> None:
    (release,) = assembly_in(lowered(RELEASE))
    assert release == [
        "s_wait_storecnt 0x0",
        "s_wait_kmcnt 0x0",
        "s_wait_loadcnt_dscnt 0x0",
        "global_wb scope:SCOPE_DEV",
        "s_wait_storecnt 0x0",
    ]


def test_waits_for_translation_are_left_to_llvm() -> None:
    assert "xcnt" not in lowered(RELEASE)


def test_an_atomic_is_waited_for_whether_its_result_is_read_or_not() -> None:
    """LLVM makes one that returns nothing of it, which counts in storecnt."""
    rmw = '  %o = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("agent") acquire, align 4'
    (acquire,) = assembly_in(lowered(rmw))
    assert {"s_wait_loadcnt 0x0", "s_wait_storecnt 0x0"} <= set(acquire[:2])
    load = '  %o = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4'
    (acquire,) = assembly_in(lowered(load))
    assert "s_wait_storecnt 0x0" not in acquire


def test_a_cluster_is_its_own_scope() -> None:
    fence = '  fence syncscope("cluster") acq_rel'
    (found,) = assembly_in(lowered(fence, opt_level=0))
    assert "global_wb scope:SCOPE_SE" in found
    (found,) = assembly_in(lowered(fence, opt_level=0, compat="llvm"))
    assert "global_wb scope:SCOPE_SE" not in found
    assert found[-1] == "global_inv scope:SCOPE_SE"


@needs_llvm
def test_llvm_keeps_what_was_put_in() -> None:
    found = compiled(lowered(f"  store i32 1, ptr addrspace(1) %p, align 4\n{RELEASE}"))
    store = next(
        n for n, line in enumerate(found) if line.startswith("global_store") and "SCOPE_DEV" in line
    )
    assert found[store - 1] == "s_wait_xcnt 0x0"
    write_back = found.index("global_wb scope:SCOPE_DEV")
    assert write_back < found.index("s_wait_storecnt 0x0", write_back) < store


@needs_llvm
@pytest.mark.parametrize("level", [0, 2])
def test_every_kernel_survives(level: Literal[0, 2]) -> None:
    """Every write-back and invalidate that was asked for is there, and nothing of them is LLVM's."""
    text = str(lower_llvm_ir(KERNELS.read_text(encoding="utf-8"), "gfx1250", opt_level=level))
    asked = [line for block in assembly_in(text) for line in block if line.startswith("global_")]
    found = [line for line in compiled(text) if line.startswith(("global_wb", "global_inv"))]
    assert asked
    assert sorted(found) == sorted(asked)
