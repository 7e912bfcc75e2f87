"""fence-check imports of one vendor only what its input needs."""

import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "tests/lit/tools/fence-check"

AMD = ("cdna", "amd", "amd_check")
NVIDIA = ("ptx", "nvidia", "ptx_check")
TABLE_OF_TARGETS = {
    "fencewright.lowering.cdna",
    "fencewright.lowering.cdna.chips",
    "fencewright.lowering.cdna.target_id",
}
"""The names of all chips, by which a price is found: what ``lowering.targets`` reads."""

LISTED = """
import sys
from fencewright.tools.fence_check import main
main(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """The project's modules that one run of fence-check imports."""
    command = [sys.executable, "-c", LISTED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name for name in done.stderr.splitlines() if name.startswith("fencewright.")}


def of(vendor: tuple[str, ...], modules: set[str]) -> set[str]:
    return {name for name in modules if not set(vendor).isdisjoint(name.split("."))}


@pytest.mark.parametrize("options", [(), ("--surplus", "--notes"), ("--lift",), ("--annotate",)])
def test_ptx_needs_nothing_of_amd(options: tuple[str, ...]) -> None:
    modules = imported(str(CASES / "calls.ptx"), *options)
    assert of(NVIDIA, modules)
    assert of(AMD, modules) <= TABLE_OF_TARGETS


MUSEUM = CASES.parents[2] / "museum"


@pytest.mark.parametrize(
    ("code", "other"), [("failure-order-lost-ptx/wrong.ptx", AMD), ("acquire-lost/wrong.s", NVIDIA)]
)
def test_a_comparison_needs_nothing_of_the_other_vendor(code: str, other: tuple[str, ...]) -> None:
    path = MUSEUM / code
    modules = imported(str(path), "--source", str(path.with_name("source.ll")))
    assert "fencewright.checker.source.compare" in modules
    assert of(other, modules) <= TABLE_OF_TARGETS


@pytest.mark.parametrize("options", [(), ("--surplus", "--notes"), ("--lift",), ("--annotate",)])
def test_amd_assembly_needs_nothing_of_ptx(options: tuple[str, ...]) -> None:
    modules = imported(str(CASES / "surplus.s"), *options)
    assert "fencewright.checker.amd.check" in modules
    assert not of(NVIDIA, modules)
