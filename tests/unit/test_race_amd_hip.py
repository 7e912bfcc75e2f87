"""Launches of HIP kernels, as clang compiles them: a right one and a wrong one of each class."""

import pytest
from hip_assembly import hip_assembly

from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Judgement, Verdict
from fencewright.simulator.threads.launch import parse_launch
from fencewright.tools.dev.campaigns.executed_kernels import SOURCES
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

HIP = SOURCES / "hip" / "races.hip"
SIZES = {"exchange": "1, 128", "reduction": "1, 256"}
"""The grid and the block by the first word of a name; else four work-groups of 128."""
pytestmark = pytest.mark.skipif(find_llvm_tool("clang++") is None, reason=LLVM_HINT)


def judged(chip: str, name: str, block: int = 128) -> Verdict:
    """The verdict on a launch that is executed to its end."""
    sizes = SIZES.get(name.partition("_")[0], f"4, {block}")
    launch = parse_launch(f"{name}<<<{sizes}>>>(i32[512]=iota, i32[64], i32[512])")
    found = judge_kernel(hip_assembly(HIP, chip), launch)
    assert not found.problem, found.problem
    assert not found.missed
    return found


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_each_kernel_is_judged_right(chip: str) -> None:
    """Work-groups of gfx90a have one wave where a wave publishes what another one wrote."""
    kernels = [name for name, each in hip_assembly(HIP, chip).functions.items() if each.descriptor]
    assert len(kernels) > 25
    for name in kernels:
        block = 64 if chip == "gfx90a" and name in ("message_right", "grid_right") else 128
        word = Judgement.RACE if name.endswith("_wrong") else Judgement.NO_RACE
        assert judged(chip, name, block).judgement is word, name


def test_a_release_of_gfx90a_does_not_wait_for_other_waves() -> None:
    """LLVM waits for the stores of the releasing wave alone: docs/reference/rules.md, cumulative."""
    (finding,) = judged("gfx90a", "message_right").errors
    assert "still be outstanding" in finding.text
