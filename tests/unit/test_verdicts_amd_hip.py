"""Verdicts without a launch on everyday HIP kernels, as clang compiles them for a chip of each
generation."""

import pytest
from hip_assembly import hip_assembly

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Verdict
from fencewright.tools.dev.campaigns.executed_kernels import SOURCES
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

HIP = SOURCES / "hip" / "everyday.hip"
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200", "gfx1250")
VERDICTS = {
    "saxpy": VerdictKind.RACE_FREE,
    "reduce": VerdictKind.RACE_FREE,
    "reduce_bad": VerdictKind.RACE,
    # Blocks that are not 16 x 16 share rows, and nothing in the text excludes them.
    "transpose": VerdictKind.LAUNCH,
    "matmul": VerdictKind.RACE_FREE,
    "hist": VerdictKind.RACE_FREE,
    "scan": VerdictKind.RACE_FREE,
    "stencil": VerdictKind.RACE_FREE,
    "stencil_bad": VerdictKind.RACE,
    "gather": VerdictKind.RACE_FREE,
    "shared_volatile": VerdictKind.RACE_FREE,
    "shared_volatile_bad": VerdictKind.RACE,
    "nontemporal": VerdictKind.RACE_FREE,
    "message": VerdictKind.RACE_FREE,
    "message_bad": VerdictKind.RACE,
}
pytestmark = pytest.mark.skipif(find_llvm_tool("clang++") is None, reason=LLVM_HINT)


def judged(chip: str, name: str) -> Verdict:
    """The verdict on a kernel without a launch."""
    assembly = hip_assembly(HIP, chip)
    checked = check(assembly, assembly.functions[name])
    return judge(kernel_of(checked.lifted))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", [name for name in VERDICTS if not name.startswith("message")])
def test_every_chip_has_the_verdict_of_the_source(chip: str, name: str):
    verdict = judged(chip, name)
    assert verdict.kind is VERDICTS[name], verdict.obstacles


@pytest.mark.parametrize("chip", [each for each in CHIPS if each != "gfx1250"])
@pytest.mark.parametrize("name", ["message", "message_bad"])
def test_a_message_needs_its_release(chip: str, name: str):
    verdict = judged(chip, name)
    assert verdict.kind is VERDICTS[name], verdict.obstacles


def test_the_indices_of_gfx1250_are_those_of_launches_without_clusters():
    assert Assumption.NO_CLUSTERS in judged("gfx1250", "saxpy").assumptions


def test_gfx1250_lacks_what_llvm_22_leaves_out():
    """Waits round cache operations: llvm-project#175865."""
    assert judged("gfx1250", "message").kind is VerdictKind.RACE
