"""Asynchronous litmus tests in MLIR as the columns that the PTX model executes."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import lower_module
from fencewright.simulator.litmus_run import PtxTest
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.tools.inputs.litmus.files import parse_module

HEAD = """
litmus.test @t {
  litmus.location @data = 1 : i32
  litmus.location @map = 0 : i32 {describes = [@data]}
  litmus.location @tile = 0 : i32 in local {bytes = 128 : i64}
  litmus.location @unsized = 0 : i32 in local
  litmus.location @peer_tile = 0 : i32 in local {workgroup = 1 : i64}
  litmus.location @acc = 0 : i32 {tensor}
  litmus.mbarrier @full count 1
  litmus.mbarrier @peer_full count 1 {workgroup = 1 : i64}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %map = litmus.address @map : !llvm.ptr
    %no_map = litmus.address @data : !llvm.ptr
    %tile = litmus.address @tile : !llvm.ptr<3>
    %unsized = litmus.address @unsized : !llvm.ptr<3>
    %peer_tile = litmus.address @peer_tile : !llvm.ptr<7>
    %acc = litmus.address @acc : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %peer_full = litmus.address @peer_full : !llvm.ptr<7>
    %a = litmus.address @tile : i64
    %b = litmus.address @unsized : i64
    %zero = arith.constant 0 : i32
    %no = arith.constant false
"""
TAIL = """
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
  }
}
"""


def module(*lines: str) -> ModuleOp:
    return parse_module("<test>", "\n".join((HEAD, *lines, TAIL)))


def cells(*lines: str, chip: str = "sm_90a") -> list[str]:
    """What P0 executes, without labels, where its body is these lines."""
    lowered = module(*lines)
    lower_module(lowered, chip)
    test = read_only_test(lowered, ReadOptions())
    assert isinstance(test, PtxTest)
    texts = map(instruction_text, test.test.program.threads[0].instructions)
    return [text for text in texts if not text.endswith(":")]


LOAD = "scoped.tensor_load %tile, {}[%zero] mbarrier %full"
TYPES = ": !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("scoped.mbarrier_arrive relaxed workgroup %full count 2 : !llvm.ptr<3>",
         "mbarrier.arrive.relaxed.cta full, 2"),
        ("scoped.mbarrier_arrive drop release workgroup %full : !llvm.ptr<3>",
         "mbarrier.arrive_drop.release.cta full"),
        ("scoped.mbarrier_expect_tx cluster %peer_full bytes 16 : !llvm.ptr<7>",
         "mbarrier.expect_tx.relaxed.cluster peer_full, 16"),
        ("scoped.store_async %zero, %peer_tile mbarrier %peer_full"
         " : i32, !llvm.ptr<7>, !llvm.ptr<7>", "st.async peer_tile, 0, 4, peer_full"),
        ("scoped.named_barrier sync 3 threads 64", "bar.cta.sync 0, 3, 2"),
        ("scoped.named_barrier arrive 3 threads 96", "bar.cta.arrive 0, 3, 3"),
        (f"{LOAD.format('%map')} {TYPES}",
         "cp.async.bulk.tensor tile, [map, data], 128, full"),
        ("scoped.mbarrier_wait relaxed cluster %full, %zero : !llvm.ptr<3>, i32",
         "mbarrier.try_wait.parity.relaxed.cluster full, 0"),
    ],
)  # fmt: skip
def test_an_operation_is_what_it_is_in_ptx(line: str, expected: str) -> None:
    assert expected in cells(line)


def test_a_token_is_the_phase_that_a_wait_is_for() -> None:
    found = cells(
        "%token = scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3> -> i64",
        "scoped.mbarrier_wait acquire workgroup %full, %token : !llvm.ptr<3>, i64",
    )
    register = found[0].split()[1].rstrip(",")
    assert found[0] == f"mbarrier.arrive.release.cta {register}, full"
    assert found[1].endswith(f"full, {register}")


def test_a_look_at_an_mbarrier_gives_a_value() -> None:
    (look, *_) = cells(
        "%done = scoped.mbarrier_test_wait acquire workgroup %full, %zero : !llvm.ptr<3>, i32",
        'litmus.observe "r0", %done : i1',
    )
    assert look.startswith("mbarrier.test_wait") or look.startswith("mbarrier.try_wait")
    assert look.count(",") == 2


def test_a_multiplication_has_one_register_and_its_tiles() -> None:
    found = cells(
        'scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %b',
        '%sum = scoped.wgmma_read "sum"[3] : i32',
        'litmus.observe "r0", %sum : i32',
    )
    multiply = next(each for each in found if each.startswith("wgmma.mma_async"))
    register = multiply.split()[1].rstrip(",")
    assert "tile, unsized" in multiply
    assert any(each.startswith("mov") and each.endswith(f", {register}") for each in found)


def test_tensor_memory_is_accessed_without_descriptors() -> None:
    found = cells(
        'scoped.tcgen05_mma "f16" %acc, %a, %b, %zero, %no : !llvm.ptr<6>',
        "scoped.tcgen05_commit %full : !llvm.ptr<3>",
        chip="sm_100a",
    )
    assert found == ["tcgen05.mma acc, tile, unsized, 0", "tcgen05.commit full"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"{LOAD.format('%no_map')} {TYPES}", "does not say what tensor it describes"),
        (f"{LOAD.format('%map').replace('%tile', '%unsized')} {TYPES}", "how large it is"),
    ],
)
def test_what_a_copy_through_a_map_needs_is_asked_for(line: str, problem: str) -> None:
    with pytest.raises(DiagnosticException, match=problem):
        cells(line)


def test_as_written_it_is_refused() -> None:
    with pytest.raises(DiagnosticException, match="lower it with --mcpu sm_90 or newer"):
        read_only_test(module("scoped.named_barrier sync 1 threads 64"), ReadOptions())


def test_the_bodies_of_a_test_become_one_kernel() -> None:
    lowered = module("scoped.named_barrier sync 1 threads 64")
    lower_module(lowered, "sm_90")
    kernels = [op for op in lowered.ops if op.name == "ptx.kernel"]
    assert len(kernels) == 1
