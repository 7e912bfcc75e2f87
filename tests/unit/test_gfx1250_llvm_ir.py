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


def compiled(text: str, *, whole: bool = False) -> list[str]:
    """What ``llc -O2`` makes of it, which the assembler takes too; ``whole`` with its comments."""
    assert LLC is not None
    assert LLVM_MC is not None
    target = ["-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1250"]
    code = subprocess.run(
        [LLC, "-O2", *target], input=text, text=True, capture_output=True, check=True
    )
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=null"]
    subprocess.run(command, input=code.stdout, text=True, capture_output=True, check=True)
    lines = code.stdout.splitlines()
    return lines if whole else [line.split(";")[0].strip() for line in lines]


RELEASE = '  store atomic i32 1, ptr addrspace(1) %p syncscope("agent") release, align 4'


def test_a_release_waits_for_scalar_loads_on_their_own_counter() -> None:
    (release,) = assembly_in(lowered(RELEASE, opt_level=0))
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
    after = "\n  store i32 2, ptr addrspace(1) %p, align 4"
    (acquire,) = assembly_in(lowered(rmw + after))
    assert {"s_wait_loadcnt 0x0", "s_wait_storecnt 0x0"} <= set(acquire[:2])
    load = '  %o = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4'
    (acquire,) = assembly_in(lowered(load + after, opt_level=0))
    assert "s_wait_storecnt 0x0" not in acquire
    (acquire,) = assembly_in(lowered(load + after))
    assert acquire == [""], "LLVM waits for what it reads"


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


def synchronisation_in(assembly: str) -> list[list[str]]:
    """Each sequence of ours in what LLVM printed, then the next access to memory and its scope."""
    found: list[list[str]] = []
    for after in assembly.split(";;#ASMSTART\n")[1:]:
        ours, _, rest = after.partition(";;#ASMEND")
        lines = [line.split(";")[0].strip() for line in ours.splitlines()]
        access = re.search(r"^\t((?:global|flat|ds)_(?!wb|inv)\w+)[^\n]*?(scope:\w+)?$", rest, re.M)
        end = rest.find("s_endpgm")
        own = access is not None and access.start() < end
        found.append([*filter(None, lines), str(access[2]) if own and access else "end"])
    return found


@needs_llvm
@pytest.mark.parametrize("level", [0, 2])
def test_every_sequence_survives_whole(level: Literal[0, 2]) -> None:
    """LLVM's own waits come between none of its instructions, and each is there once.

    What follows a release is the access that others see it by, not one that LLVM moved there.
    """
    text = str(lower_llvm_ir(KERNELS.read_text(encoding="utf-8"), "gfx1250", opt_level=level))
    asked = [[line.strip() for line in block if line.strip()] for block in assembly_in(text)]
    found = synchronisation_in("\n".join(compiled(text, whole=True)))
    assert sorted(each[:-1] for each in found if each[:-1]) == sorted(filter(None, asked))
    released = [
        each for each in found if "global_wb" in "".join(each) and "global_inv" not in "".join(each)
    ]
    assert released
    assert {each[-1] for each in released} <= {"scope:SCOPE_DEV", "end"}


def test_a_lost_wait_would_be_noticed() -> None:
    block = "\t;;#ASMSTART\n\ts_wait_storecnt 0x0\nglobal_wb scope:SCOPE_DEV\n\t;;#ASMEND\n"
    store = "\tglobal_store_b32 v0, v1, s[0:1]{}\n\ts_endpgm\n"
    whole = [["s_wait_storecnt 0x0", "global_wb scope:SCOPE_DEV", "scope:SCOPE_DEV"]]
    flag = store.format(" scope:SCOPE_DEV")
    assert synchronisation_in(block + flag) == whole
    assert synchronisation_in(block.replace("s_wait_storecnt 0x0", "") + flag) != whole
    assert synchronisation_in(block + store.format("") + flag) != whole


@pytest.mark.parametrize(("level", "expected"), [(0, (17, 16)), (2, (8, 8))])
def test_eighteen_kernels_keep_half_of_their_cache_instructions(
    level: Literal[0, 2], expected: tuple[int, int]
) -> None:
    """As many as kernels on ``cdna`` keep."""
    text = str(lower_llvm_ir(KERNELS.read_text(encoding="utf-8"), "gfx1250", opt_level=level))
    assert (text.count("global_wb"), text.count("global_inv")) == expected


def test_a_store_to_the_agent_leaves_nothing_to_write_back() -> None:
    """What stands right before an access, a wait for translation, is not the access."""
    assert lowered(f"{RELEASE}\n{RELEASE}", opt_level=2).count("global_wb") == 0
    store = "  store i32 1, ptr addrspace(1) %p, align 4"
    assert lowered(f"{store}\n{RELEASE}\n{RELEASE}", opt_level=2).count("global_wb") == 1
    assert lowered(f"{RELEASE}\n{store}\n{RELEASE}", opt_level=2).count("global_wb") == 1


# Asynchronous copies, for whose end the program waits

TO_LDS = """  call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 0, i32 0)"""
TO_MEMORY = TO_LDS.replace("load.async.to", "store.async.from")
WAITS = {
    "its counter": ("", "  call void @llvm.amdgcn.s.wait.asynccnt(i16 0)"),
    "marks": (
        "  call void @llvm.amdgcn.asyncmark()", "  call void @llvm.amdgcn.wait.asyncmark(i16 0)",
    ),
}  # fmt: skip
DECLARATIONS = "\n".join(
    f"declare void @llvm.amdgcn.{name}"
    for name in (
        "global.load.async.to.lds.b32(ptr addrspace(1), ptr addrspace(3), i32 immarg, i32 immarg)",
        "global.store.async.from.lds.b32(ptr addrspace(1), ptr addrspace(3), i32 immarg, i32 immarg)",
        "s.wait.asynccnt(i16 immarg)",
        "asyncmark()",
        "wait.asyncmark(i16 immarg)",
        "s.barrier()",
    )
)


def copying(*lines: str) -> str:
    """The kernel of these lines, lowered at -O2."""
    text = lowered(
        "\n".join(lines) + "\n  ret void\n}\n" + DECLARATIONS + "\ndefine void @unused() {"
    )
    return text


@pytest.mark.parametrize("how", WAITS)
def test_what_a_copy_stores_is_written_back_after_its_wait(how: str) -> None:
    """A release before the wait covers nothing of it: the copy may store later."""
    mark, wait = WAITS[how]
    flag = RELEASE.replace("i32 1", "i32 2")
    assert copying(RELEASE, flag).count("global_wb") == 0
    assert copying(TO_MEMORY, mark, RELEASE, flag).count("global_wb") == 1
    assert copying(TO_MEMORY, mark, RELEASE, wait, flag).count("global_wb") == 2
    assert copying(TO_MEMORY, mark, wait, RELEASE, flag).count("global_wb") == 1


@pytest.mark.parametrize("how", WAITS)
def test_a_copy_to_lds_leaves_nothing_to_write_back(how: str) -> None:
    mark, wait = WAITS[how]
    text = copying(TO_LDS, mark, wait)
    assert "global_wb" not in text
    assert wait.strip() in text


@needs_llvm
def test_a_copy_its_wait_and_the_barrier_stay_in_their_order_in_llvm() -> None:
    fence = '  fence syncscope("workgroup") {}'
    meet = (
        fence.format("release"),
        "  call void @llvm.amdgcn.s.barrier()",
        fence.format("acquire"),
    )
    use = "  %v = load i32, ptr addrspace(3) %l, align 4\n  store i32 %v, ptr addrspace(1) %p, align 4"
    code = compiled(copying(TO_LDS, WAITS["its counter"][1], *meet, use))
    order = [
        "global_load_async_to_lds_b32",
        "s_wait_asynccnt 0x0",
        "s_barrier_signal",
        "ds_load_b32",
    ]
    found = [next(n for n, line in enumerate(code) if line.startswith(each)) for each in order]
    assert found == sorted(found)


@needs_llvm
def test_marks_are_for_a_newer_llvm_than_22() -> None:
    """It takes one for a function of somebody: they are left as they are, for whoever compiles it."""
    text = copying(TO_LDS, *WAITS["marks"])
    assert all(line.strip() in text for line in WAITS["marks"])
    assert LLC is not None
    done = subprocess.run(
        [LLC, "-O2", "-mcpu=gfx1250"], input=text, text=True, capture_output=True, check=False
    )
    assert "llvm.amdgcn.asyncmark" in done.stdout + done.stderr
