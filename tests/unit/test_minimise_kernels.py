"""The eighteen kernels: how much synchronisation is left of them, and that it is enough."""

import sys
from pathlib import Path

import minimise_programs as programs
import pytest
from xdsl.context import Context

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.pipelines import CDNAPipeline

ROOT = Path(__file__).parents[2]
KERNELS = (ROOT / "examples" / "kernels-cdna" / "kernels.mlir").read_text(encoding="utf-8")
sys.path.append(str(ROOT / "benchmarks"))


def test_the_least_there_is() -> None:
    import kernels_cdna

    counts = kernels_cdna.measured()
    totals = {name: kernels_cdna.totals(each) for name, each in counts.items()}
    assert len(kernels_cdna.kernels()) == 18
    llvm, minimal = totals["LLVM 22 -O2"], totals["minimised"]
    assert (llvm.write_backs, llvm.invalidates) == (17, 16)
    assert (minimal.write_backs, minimal.invalidates) == (8, 8)
    assert minimal.waits <= llvm.waits
    assert totals["stores=through"].write_backs == 0
    for name, each in counts["minimised"].items():
        theirs = counts["LLVM 22 -O2"][name]
        assert each.write_backs <= theirs.write_backs
        assert each.invalidates <= theirs.invalidates


def test_the_page_is_up_to_date() -> None:
    import kernels_cdna

    assert kernels_cdna.PAGE.read_text(encoding="utf-8") == kernels_cdna.page()


TESTS = {
    "two release fences, spinning on an acquire load": (
        "runs @two_release_fences(@d, @f)",
        'runs @mp_consumer_acquire_load(@d, @f, "r0")',
    ),
    "two release fences, spinning before a fence": (
        "runs @two_release_fences(@d, @f)",
        'runs @mp_consumer_fence(@d, @f, "r0")',
    ),
    "two release stores": (
        "runs @two_release_stores(@d, @g, @f)",
        'runs @mp_consumer_acquire_load(@d, @f, "r0")',
    ),
    "Dekker": ('runs @dekker(@f, @g, "r0")', 'runs @dekker(@g, @f, "r0")'),
    "read-modify-writes between fences": (
        'runs @fenced_rmw(@d, @f, "r0")',
        'runs @fenced_rmw(@d, @f, "r0")',
    ),
    "acquire, then a read-modify-write": (
        "runs @two_release_stores(@d, @f, @g)",
        "runs @acquire_then_rmw(@f, @g)",
    ),
    "release at entry": (
        "runs @release_at_entry(@f)",
        'runs @mp_consumer_acquire_load(@d, @f, "r0")',
    ),
    "stores behind loads": (
        'runs @store_then_seq_cst_load(@d, @f, "r0")',
        "runs @release_at_entry(@f)",
    ),
}


@pytest.mark.parametrize("stores", ["back", "through"])
@pytest.mark.parametrize("l2_per_agent", L2PerAgent)
@pytest.mark.parametrize("name", TESTS)
def test_kernels_stay_right(name: str, l2_per_agent: L2PerAgent, stores: str) -> None:
    test = ["litmus.test @t {", *(f"litmus.location @{each} = 0 : i32" for each in "dfg")]
    for number, runs in enumerate(TESTS[name]):
        test.append(f"litmus.thread @P{number} at <workgroup = {number}, xcd = {number}> {runs}")
    text = "\n".join([KERNELS, *test, "}"])
    meant = programs.source(text)
    assert not meant.races
    module = programs.parse(text)
    through = "through" if stores == "through" else "back"
    CDNAPipeline("gfx942", minimise=True, stores=through).apply(Context(), module)
    does = programs.execute(module, programs.Target(l2_per_agent=l2_per_agent))
    assert not does.incomplete
    assert not programs.forbidden(meant, does)


def test_storing_through_needs_no_write_back() -> None:
    module = programs.parse(KERNELS)
    CDNAPipeline("gfx942", minimise=True, stores="through").apply(Context(), module)
    names = [op.opcode.data for op in module.walk() if isinstance(op, CacheOp)]
    assert "buffer_wbl2" not in names


def test_chips_whose_stores_have_no_bits_write_back() -> None:
    texts: list[str] = []
    for stores in ("back", "through"):
        module = programs.parse(KERNELS)
        CDNAPipeline("gfx90a", minimise=True, stores=stores).apply(Context(), module)
        texts.append(str(module))
    assert texts[0] == texts[1]
