"""Launches of HIP kernels, as clang compiles them: a right one and a wrong one of each class."""

import re
from functools import cache

import pytest
from campaigns import first_of
from hip_assembly import hip_assembly, hip_text

from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Judgement, Verdict
from fencewright.simulator.threads.launch import parse_launch
from fencewright.tools.dev.campaigns.executed_kernels import SOURCES
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

HIP = SOURCES / "hip" / "races.hip"
GROUPS = {"exchange": 1, "reduction": 1, "last": 4, "grid": 4}
"""The work-groups by the first word of a name; else two. A last block and a grid barrier count four."""
pytestmark = pytest.mark.skipif(find_llvm_tool("clang++") is None, reason=LLVM_HINT)


ONE_WAVE = {"gfx90a": 64, "gfx1030": 32, "gfx1100": 32}
"""The block of one wave, where a wave does not publish for others what it has read or written.

On gfx90a a release waits for its own wave; on gfx10 and gfx11 LLVM 22 waits for no buffer_gl1_inv
before the barrier (docs/museum.md).
"""
HAS_NO_FAULT = {
    "gfx1200": frozenset(
        "release_wrong acquire_wrong fence_scope_wrong last_acquire_wrong grid_arrive_wrong "
        "grid_leave_wrong".split()
    )
}
"""The kernels whose fault is not in the code: in WGP mode a fence of the work-group is the agent's."""


@cache
def code_of(chip: str) -> Assembly:
    """The kernels, for gfx1250 with the waits round cache maintenance that LLVM 22 lacks.

    Source: llvm/llvm-project#175865.
    """
    if chip != "gfx1250":
        return hip_assembly(HIP, chip)
    text = hip_text(HIP, chip)
    text = re.sub(r"^\tglobal_wb", "\ts_wait_loadcnt 0x0\n\ts_wait_storecnt 0x0\n\\g<0>", text,
                  flags=re.MULTILINE)  # fmt: skip
    text = re.sub(r"^\tglobal_inv .*$", "\\g<0>\n\ts_wait_loadcnt 0x0", text, flags=re.MULTILINE)
    return read_assembly(text, "kernels.s")


def judged(chip: str, name: str, block: int = 128, code: Assembly | None = None) -> Verdict:
    """The verdict on a launch that is executed to its end."""
    first = name.partition("_")[0]
    groups, threads = GROUPS.get(first, 2), 256 if first == "reduction" else block
    launch = parse_launch(f"{name}<<<{groups}, {threads}>>>(i32[512]=iota, i32[64], i32[512])")
    found = judge_kernel(code or code_of(chip), launch)
    assert not found.problem, found.problem
    assert not found.missed
    return found


@pytest.mark.parametrize(
    "chip", ["gfx90a", "gfx942", "gfx950", *first_of(("gfx1250", "gfx1100", "gfx1030", "gfx1200"))]
)
def test_each_kernel_is_judged_right(chip: str) -> None:
    kernels = [name for name, each in hip_assembly(HIP, chip).functions.items() if each.descriptor]
    assert len(kernels) > 25
    for name in kernels:
        block = ONE_WAVE.get(chip, 128) if name in ("message_right", "grid_right") else 128
        is_wrong = name.endswith("_wrong") and name not in HAS_NO_FAULT.get(chip, ())
        word = Judgement.RACE if is_wrong else Judgement.NO_RACE
        assert judged(chip, name, block).judgement is word, name


def test_a_release_of_gfx90a_does_not_wait_for_other_waves() -> None:
    """LLVM waits for the stores of the releasing wave alone: docs/reference/rules.md, cumulative."""
    (finding,) = judged("gfx90a", "message_right").errors
    assert "still be outstanding" in finding.text


@pytest.mark.parametrize(
    ("chip", "name", "lacks"),
    [
        ("gfx1250", "fence_right", "put global_wb scope:SCOPE_DEV and s_wait_storecnt 0x0"),
        ("gfx1250", "lock_right", "put global_wb scope:SCOPE_DEV and s_wait_storecnt 0x0"),
        ("gfx1100", "message_right", "put buffer_gl1_inv, buffer_gl0_inv and s_waitcnt vmcnt(0)"),
    ],
)
def test_missing_waits_of_llvm_22_are_found(chip: str, name: str, lacks: str) -> None:
    findings = judged(chip, name, code=hip_assembly(HIP, chip)).errors
    assert findings
    assert all(lacks in each.text for each in findings)
