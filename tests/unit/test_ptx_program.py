"""Kernels of PTX files as threads of litmus tests.

A test on the file that a module is printed as is the test of the module; what each instruction is
to the model, and what is refused, stands here by itself.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from litmus_modules import MESSAGE_PASSING
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fencewright.checker.nvidia.findings import find_problems
from fencewright.checker.nvidia.guarantees import Guarantees
from fencewright.lowering.ptx.code.text import PtxError, read_ptx
from fencewright.mlir_dialects.litmus import KernelOp
from fencewright.mlir_dialects.litmus import TestOp as LitmusTestOp
from fencewright.mlir_dialects.ptx import KernelOp as PtxKernelOp
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_tests
from fencewright.passes.print.ptx import PTXTarget
from fencewright.simulator.core.program import Label, Placement
from fencewright.simulator.litmus_run import Limits, PtxTest, run
from fencewright.simulator.programs.nvidia import (
    Column,
    KnownMemory,
    LaunchIndex,
    ToLocation,
    ToRegister,
    read_column,
)
from fencewright.simulator.ptx.formats.columns import parse_litmus
from fencewright.simulator.ptx.instructions import PtxInstruction
from fencewright.tools import fence_sim
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.fuzz.checks import program_of
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.inputs.litmus.harness import read_with_harness
from fencewright.tools.inputs.litmus.lowered import Lowering, lower_tests

ROOT = Path(__file__).parents[2]
LITMUS = sorted((ROOT / "examples" / "litmus").glob("*.mlir"))
PTX_CHIPS = ("sm_70", "sm_90")
LIMITS = Limits(states=200_000)
SEEDS = range(40)


def both_ways(folder: Path, module: ModuleOp, chip: str) -> Iterator[tuple[PtxTest, PtxTest]]:
    """The tests of a module after its lowering: of the module, and of its file with a harness."""
    lower_tests(module, Lowering(chip=chip))
    by_operations = {code.name: test for code, test in read_tests(module, ReadOptions())}
    output = io.StringIO()
    PTXTarget().emit(Context(), module, output)
    (folder / "k.ptx").write_text(output.getvalue())
    for op in [op for op in module.ops if not isinstance(op, LitmusTestOp)]:
        if isinstance(op, PtxKernelOp):
            module.body.block.insert_op_before(
                KernelOp.create(properties={"sym_name": op.sym_name}), op
            )
        op.detach()
    (folder / "h.mlir").write_text(str(module))
    for test in read_with_harness(str(folder / "k.ptx"), str(folder / "h.mlir"), Lowering()):
        other = by_operations[test.name]
        assert isinstance(other, PtxTest)
        assert isinstance(test, PtxTest)
        yield other, test


def same(one: PtxTest, other: PtxTest) -> None:
    first, second = run(one, LIMITS), run(other, LIMITS)
    assert first.outcomes is not None
    assert first.outcomes == second.outcomes
    assert (first.races, first.errors) == (second.races, second.errors)


@pytest.mark.parametrize("chip", PTX_CHIPS)
@pytest.mark.parametrize("path", LITMUS, ids=lambda path: path.stem)
def test_examples(tmp_path: Path, path: Path, chip: str) -> None:
    for one, other in both_ways(tmp_path, parse_module(str(path), path.read_text()), chip):
        same(one, other)


def test_random_programs(tmp_path: Path) -> None:
    """What they do, in every outcome: a wrong value or ordering anywhere shows."""
    compared = 0
    for seed in SEEDS:
        for one, other in both_ways(tmp_path, build(program_of(seed)), "sm_90"):
            same(one, other)
            compared += 1
    assert compared == len(SEEDS)


def test_a_changed_instruction_changes_the_outcomes(tmp_path: Path) -> None:
    ((one, other),) = both_ways(tmp_path, parse_module("m.mlir", MESSAGE_PASSING), "sm_90")
    same(one, other)
    text = (tmp_path / "k.ptx").read_text()
    assert "st.release.gpu" in text
    (tmp_path / "k.ptx").write_text(text.replace("st.release.gpu", "st.relaxed.gpu"))
    (weaker,) = read_with_harness(str(tmp_path / "k.ptx"), str(tmp_path / "h.mlir"), Lowering())
    outcomes, before = run(weaker, LIMITS).outcomes, run(one, LIMITS).outcomes
    assert outcomes is not None
    assert before is not None
    assert set(before.states) < set(outcomes.states)


# Cells

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
DECLARED = (
    ".global .b32 table[2]; .extern .global .b32 foreign[]; .global .b64 place = generic(table); "
    ".entry k(.param .u64 a, .param .u64 b, .param .u32 n) {\n"
    ".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .f32 %f<4>;\n"
    ".shared .align 8 .b32 sm[4]; .shared .align 8 .b64 bar;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];\n"
)
ALONE = LaunchIndex(Placement(0), 0, 1, 1)


def column(body: str, situation: LaunchIndex = ALONE) -> Column:
    module = read_ptx(f"{HEAD}{DECLARED}{body}\nret;\n}}\n", "k.ptx")
    arguments = (ToLocation("x"), ToRegister("r0"), 5)
    return read_column(module, module.functions["k"], arguments, situation, KnownMemory())


def instructions(body: str, situation: LaunchIndex = ALONE) -> tuple[PtxInstruction, ...]:
    found = column(body, situation).instructions
    assert found[-1] == Label("done")
    return tuple(found[:-1])


def written(*cells: str) -> tuple[PtxInstruction, ...]:
    """The instructions of the cells of a column."""
    rows = "\n".join(f"{cell} ;" for cell in ("P0@cta 0,gpu 0", *cells))
    return parse_litmus(f"PTX t\n{{ }}\n{rows}\nexists true").program.threads[0].instructions


BODY = "st.u32 [%rd1], %r1; ld.u32 %r2, [%rd1]; st.u32 [%rd2], %r2;"
LOOP = "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;"
OUT = "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @%p1 bra D; bra W; D: fence.sc.gpu;"
LOOK = "mbarrier.test_wait.shared.b64 %p1, [bar], %rd3; @%p1 bra D; fence.sc.gpu; D:"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.acquire.gpu.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;",
            ["ld.acquire.gpu r1, x", "mov r0, r1"]),
        ("cvta.to.global.u64 %rd3, %rd1; st.volatile.global.u32 [%rd3], %r1;",
            ["st.relaxed.sys x, 5"]),
        ("mov.u32 %r3, %tid.x; mul.wide.s32 %rd3, %r3, 4; add.s64 %rd4, %rd1, %rd3; st.u32 [%rd4], 1;",
            ["st.weak x, 1"]),
        ("atom.global.cas.b32 %r2, [%rd1], 1, %r1;", ["atom.relaxed.gpu.cas r1, x, 1, 5"]),
        ("red.release.sys.global.max.u32 [%rd1], 2;", ["red.release.sys.max.u32 x, 2"]),
        ("atom.global.exch.b32 %r2, [%rd1], -1; st.u32 [%rd2], %r2;",
            ["atom.relaxed.gpu.exch r1, x, -1", "mov r0, r1"]),
        ("membar.gl; fence.acq_rel.sys; fence.proxy.async.shared::cta;",
            ["fence.sc.gpu", "fence.acq_rel.sys", "fence.proxy.async.shared::cta"]),
        ("fence.release.sync_restrict::shared::cta.cluster;",
            ["fence.release.sync_restrict::shared::cta.cluster"]),
        ("bar.sync 0; barrier.cta.sync 1, 64; bar.warp.sync -1; bar.arrive 2, 96;",
            ["bar.cta.sync 0, 0", "bar.cta.sync 0, 1, 2", "bar.cta.arrive 0, 2, 3"]),
        ("barrier.cluster.arrive; barrier.cluster.wait;",
            ["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire"]),
        ("mbarrier.init.shared.b64 [bar], 2; fence.mbarrier_init.release.cluster;"
         "mbarrier.arrive.shared.b64 _, [bar]; mbarrier.arrive.relaxed.cluster.b64 %rd3, [bar], 2;"
         "mbarrier.inval.shared.b64 [bar];",
            ["mbarrier.init bar, 2", "fence.mbarrier_init.release.cluster",
             "mbarrier.arrive.release.cta bar", "mbarrier.arrive.relaxed.cluster r1, bar, 2",
             "mbarrier.inval bar"]),
        (LOOP, ["bb1:", "mbarrier.try_wait.parity.acquire.cta bar, 0"]),
        (OUT, ["bb1:", "mbarrier.try_wait.parity.acquire.cta bar, 0", "goto bb3", "goto bb1", "bb3:",
             "fence.sc.gpu"]),
        (LOOK, ["mbarrier.test_wait.acquire.cta r1, bar, r2", "bne r1, 0, bb2", "fence.sc.gpu", "bb2:"]),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128; mbarrier.expect_tx.relaxed.cta."
         "shared::cta.b64 [bar], 4;"
         "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sm], [%rd1], 128, [bar];",
            ["mbarrier.arrive.expect_tx.release.cta bar, 128", "mbarrier.expect_tx.relaxed.cta bar, 4",
             "cp.async.bulk sm, x, 128, bar"]),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sm], 4; cp.async.bulk.commit_group;"
         "cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 1;",
            ["cp.async.bulk.bulk_group x, sm, 4", "cp.async.bulk.commit_group",
             "cp.async.bulk.wait_group.read 0", "cp.async.bulk.wait_group 1"]),
        ("cp.async.ca.shared.global [sm], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 0;"
         "cp.async.wait_all; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
            ["cp.async sm, x, 4", "cp.async.commit_group", "cp.async.wait_group 0",
             "cp.async.wait_all", "cp.async.mbarrier.arrive.noinc bar"]),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [sm], %r1, [bar];",
            ["st.async sm, 5, 4, bar"]),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u32 [sm], 1, [bar];",
            ["red.async.min.u32 sm, 1, 4, bar"]),
        ("st.async.release.gpu.global.u32 [%rd1], 7; red.async.release.sys.global.add.u32 [%rd1], 1;",
            ["st.async.release.gpu x, 7", "red.async.release.sys.add x, 1"]),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.dec.u32 [%rd1], [sm], 16;",
            ["cp.reduce.async.bulk.bulk_group.dec x, sm, 16"]),
        ("atom.global.inc.u32 %r2, [%rd1], 3;", ["atom.relaxed.gpu.inc r1, x, 3"]),
        ("st.bulk.weak.shared::cta [sm], 128, 0;", ["st.bulk sm, 128, 0"]),
        ("elect.sync _|%p1, -1; @%p1 st.u32 [%rd1], 1;",
            ["mov r1, 1", "beq r1, 0, skip1", "st.weak x, 1", "skip1:"]),
        ("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 16;",
            ["mbarrier.complete_tx.relaxed.cluster bar, 16"]),
        ("prefetch.global.L2 [%rd1]; applypriority.global.L2::evict_normal [%rd1], 128; "
         "cp.async.bulk.prefetch.L2.global [%rd1], 16;",
            ["prefetch.global.L2 x", "applypriority.global.L2::evict_normal x, 128",
             "cp.async.bulk.prefetch.L2.global x, 16"]),
        ("prefetch.global.L2 [%rd5]; prefetch.global.L2 [%rd1+128];", []),
        ("st.shared.u32 [sm+4], 1; ld.shared.u32 %r2, [sm];", ["st.weak sm_4, 1", "ld.weak r1, sm"]),
        ("ld.u32 %r2, [%rd1]; setp.lt.s32 %p1, %r2, 3; @%p1 st.u32 [%rd1], 1;",
            ["ld.weak r1, x", "xor r2, r1, 2147483648", "setp.lt.u32 r3, r2, -2147483645",
             "beq r3, 0, skip1", "st.weak x, 1", "skip1:"]),
        ("ld.u32 %r2, [%rd1]; neg.s32 %r3, %r2; not.b32 %r4, %r3; min.s32 %r5, %r4, -1;"
         "st.u32 [%rd2], %r5;",
            ["ld.weak r1, x", "sub r2, 0, r1", "xor r3, r2, -1", "min r4, r3, -1", "mov r0, r4"]),
        ("st.global.L2::cache_hint.u32 [%rd1], %r1, %rd3;"
         "cp.async.ca.shared.global.L2::cache_hint [sm], [%rd1], 4, %rd3;",
            ["st.weak x, 5", "cp.async sm, x, 4"]),
        ("setp.eq.s32 %p1, %r1, 5; @%p1 bra L; call f, (); L: st.u32 [%rd1], 1;",
            ["bb2:", "st.weak x, 1"]),
        ("setp.ne.s32 %p1, %r1, 5; @!%p1 exit; call f, ();", []),
        ("tcgen05.fence::after_thread_sync; wgmma.fence.sync.aligned; "
         "fence.proxy.tensormap::generic.release.gpu;",
            ["tcgen05.fence::after_thread_sync", "wgmma.fence",
             "fence.proxy.tensormap::generic.release.gpu"]),
        ("setp.eq.s32 %p1, %r1, 5; @!%p1 st.u32 [%rd1], 1; @%p1 st.u32 [%rd1], 2;", ["st.weak x, 2"]),
        ("L: ld.u32 %r2, [%rd1]; setp.eq.s32 %p1, %r2, 0; @%p1 bra L;",
            ["bb1:", "ld.weak r1, x", "beq r1, 0, bb1"]),
        ("L: ld.u32 %r2, [%rd1]; setp.eq.s32 %p1, %r2, 0; @%p1 bra L; @%p1 bra L;",
            ["bb1:", "ld.weak r1, x", "setp.eq r2, r1, 0", "bne r2, 0, bb1", "bne r2, 0, bb1"]),
        ("L: ld.u32 %r2, [%rd1]; setp.lt.s32 %p1, %r2, 7; @!%p1 bra L;",
            ["bb1:", "ld.weak r1, x", "bge r1, 7, bb1"]),
        ("L: ld.u32 %r2, [%rd1]; setp.hi.u32 %p1, %r2, 7; @%p1 bra L;",
            ["bb1:", "ld.weak r1, x", "xor r2, r1, 2147483648", "bgt r2, -2147483641, bb1"]),
        ("mov.u32 %r2, 0; @%p1 bra L; mov.u32 %r2, 1; L: st.u32 [%rd2], %r2;",
            ["mov r1, 0", "bne r2, 0, bb2", "mov r1, 1", "bb2:", "mov r0, r1"]),
    ],
)  # fmt: skip
def test_instructions(body: str, expected: list[str]) -> None:
    assert instructions(body) == written(*expected)


def test_a_thread_knows_its_place() -> None:
    situation = LaunchIndex(Placement(3), 1, 2, 4, 1, (2, 3))
    text = "mov.u32 %r2, {}; st.u32 [%rd1], %r2;"
    for name, value in (
        ("%tid.x", 1),
        ("%ntid.x", 2),
        ("%ctaid.x", 3),
        ("%nctaid.x", 4),
        ("%cluster_ctarank", 1),
        ("%tid.y", 0),
        ("%ntid.z", 1),
    ):
        assert instructions(text.format(name), situation) == written(f"st.weak x, {value}")
    mapped = (
        "mov.u32 %r2, sm; mapa.shared::cluster.u32 %r3, %r2, 0; st.shared::cluster.u32 [%r3], 7;"
    )
    assert instructions(mapped, situation) == written("st.weak sm_cta2, 7")
    assert instructions("st.shared.u32 [sm], 7;", situation) == written("st.weak sm_cta3, 7")


BYTES = """.version 8.6
.target sm_90
.address_size 64
.visible .entry push(.param .u64 out) {
	.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>;
	.shared .align 8 .b8 bar[8]; .shared .align 4 .b8 sm[4];
	ld.param.u64 %rd1, [out];
	mbarrier.init.shared::cta.b64 [bar], 1;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;
	INSTRUCTION [sm], 6, [bar];
L:	mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
	@!%p1 bra L;
	ld.shared.u32 %r1, [sm];
	st.global.u32 [%rd1], %r1;
	ret;
}
"""


@pytest.mark.parametrize("instruction", ["st.async", "red.async.relaxed.cluster"])
def test_an_asynchronous_store_completes_the_bytes_of_its_type(
    tmp_path: Path, instruction: str
) -> None:
    operation = ".add.u32" if instruction.startswith("red") else ".u32"
    name = f"{instruction}.shared::cluster.mbarrier::complete_tx::bytes{operation}"
    (tmp_path / "k.ptx").write_text(BYTES.replace("INSTRUCTION", name))
    (tmp_path / "h.mlir").write_text(
        'litmus.kernel @push\nlitmus.test @t {\n  litmus.thread @P0 at <cluster = 0> runs @push("r0")\n'
        '  litmus.condition "forall (P0:r0 = 6)"\n}\n'
    )
    (test,) = read_with_harness(str(tmp_path / "k.ptx"), str(tmp_path / "h.mlir"), Lowering())
    found = run(test)
    assert found.outcomes is not None
    assert test.condition.verdict(found.outcomes)
    assert len(found.outcomes.states) == 1, "its phase ends: 4 bytes are expected and come"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("ld.global.u64 %rd3, [%rd1];", "a location is 32 bits wide; ld.global.u64"),
        ("ld.global.v2.u32 {%r2, %r3}, [%rd1];", "a location is 32 bits wide; ld.global.v2.u32"),
        ("ld.global.u32 %r2, [%rd1+4];", "4 bytes into 'x': a location is one word"),
        ("ld.global.u32 %r2, [%rd5];", "'%rd5' must be the address of a location of the test"),
        ("ld.local.u32 %r2, [%rd1];", "ld.local.u32: memory of private is not executed"),
        ("st.release.gpu.u32 [%rd2], 1;", "the argument of 'r0' may only be stored to, weakly"),
        ("st.u32 [%rd1], %rd1;", "the address %rd1 is used as a value"),
        ("atom.global.add.f32 %f1, [%rd1], %f2;", "a location is 32 bits wide; atom.global.add.f32"),
        ("ld.global.u32 %r2, [%rd1]; st.global.u8 [%rd1], 1;", "'x' has 32 bits in line 8, and 8 here"),
        ("shfl.sync.idx.b32 %r2, %r3, 0, 31, -1;", "'shfl.sync.idx.b32' is not executed"),
        ("call f, ();", "'call' is not executed"),
        ("frobnicate %r2;", "'frobnicate' is not executed"),
        ("ex2.approx.f32 %f1, %f2;", "'ex2.approx.f32' is not executed on a value of the run"),
        ("ld.u32 %r2, [%rd1]; mul.wide.u32 %rd3, %r2, 5;",
            "'mul.wide.u32' is not executed on a value of the run"),
        ("ld.global.u32 %r2, [table+8];", "4 bytes at byte 8 of 'table', which has 8 here"),
        ("ld.global.u32 %r2, [foreign];", "4 bytes at byte 0 of 'foreign', which has 0 here"),
        ("ld.global.u32 %r2, [place];", "'place' holds an address: generic(table)"),
        ("bar.sync 0, 33;", "a barrier counts whole warps, not 33 threads"),
        ("bar.red.popc.u32 %r2, 0, %p1;", "'bar.red.popc.u32' is not executed"),
        ("ld.global.u32 %r2, [%rd2];", "the argument of 'r0' may only be stored to, weakly"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sm], 16; st.shared.u32 [sm+4], 1;",
            "a copy is executed as one of a word, but more of 'sm' is accessed"),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [sm], "
         "[%rd1], 16, [bar], %rs1;",
            "in the PTX model, .multicast::cluster is not modelled: write a copy for each CTA"),
        ("cp.async.ca.shared.global [sm], [%rd1], 4, %r1;",
            "in the PTX model, zeros for bytes that cp.async does not read are not simulated"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd3, %rd4, 1, 1, 1, 0, 0;",
            "'%rd3' must be the address of a location of the test"),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%rd1];",
            "a tile is executed as one word, and {%r2, %r3} are several"),
        ("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {0}], [sm];",
            "location 'x' does not say what tensor it describes: 'describes'"),
        ("mapa.shared::cluster.u64 %rd3, %rd1, 1; st.u32 [%rd3], 1;",
            "the test has no location that is 'x' in work-group 1"),
        ("mapa.shared::cluster.u64 %rd3, %rd1, %r4; st.u32 [%rd3], 1;",
            "the peer must be a number, as an argument of the kernel"),
        ("mov.u64 %rd3, 4294967296; st.u32 [%rd1], %rd3;",
            "in the PTX model, '4294967296' does not fit in 32 bits"),
        ("griddepcontrol.wait;", "'griddepcontrol.wait' is not executed: other kernels"),
        ("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd3, [bar], 1;",
            "in the PTX model, .noComplete is not modelled: an arrival that must not complete a phase"),
        ("st.async.mmio.release.sys.global.u32 [%rd1], 1;",
            "in the PTX model, .mmio is not modelled: memory-mapped devices"),
        ("mbarrier.init.shared::cta.b64 [bar], 0;",
            "in the PTX model, an mbarrier expects 1 to 2^20 - 1 arrivals"),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [sm], 16, %rs1;",
            "in the PTX model, unknown qualifier '.cp_mask' in cp.async.bulk"),
        ("ld.u32 %r2, [%rd1]; bar.sync 0, %r2;", "a barrier counts whole warps, not r1 threads"),
        ("elect.sync %r2|%p1, -1;", "'elect.sync' is not executed: the elected lane's number"),
        ("multimem.st.relaxed.sys.global.u32 [%rd1], 1;",
            "'x' is no multicast address (litmus.multicast)"),
        *((f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%rd1], [sm], 16;",
            "a location is an integer of 32 bits")
            for operation in ("add.f32", "add.noftz.f16", "add.noftz.bf16", "add.u64", "min.s64")),
    ],
)  # fmt: skip
def test_what_is_not_executed_is_said_with_its_line(body: str, problem: str) -> None:
    with pytest.raises(PtxError) as caught:
        column(body)
    assert str(caught.value).startswith(f"k.ptx:8: error: {problem}")


COMPUTED = """.version 8.5
.target sm_90
.address_size 64
.global .align 4 .u32 flag;
.global .align 4 .f32 data[2] = {0f3F000000, 0f40400000};
.visible .entry writer()
{
 st.global.f32 [data], 0f3FC00000;
 st.release.gpu.global.u32 [flag], 7;
 ret;
}
.visible .entry reader(.param .u64 out, .param .u64 more)
{
 .reg .b64 %rd<3>;
 .reg .b32 %r<9>;
 .reg .f32 %f<5>;
 .reg .pred %p<2>;
 ld.param.u64 %rd1, [out];
 ld.param.u64 %rd2, [more];
 ld.acquire.gpu.global.u32 %r1, [flag];
 ld.global.f32 %f1, [data];
 ld.global.f32 %f2, [data+4];
 fma.rn.f32 %f3, %f1, %f2, 0f3F800000;
 st.u32 [%rd1], %f3;
 shl.b32 %r2, %r1, 4;
 shf.l.wrap.b32 %r3, %r2, %r1, 8;
 min.u32 %r4, %r3, 0xffffffff;
 cvt.rn.f32.u32 %f4, %r4;
 setp.gt.f32 %p1, %f4, 0f00000000;
 mov.u32 %r5, 5;
 cvt.rn.f32.u32 %f4, %r5;
 selp.f32 %f4, %f4, 0f3F800000, %p1;
 st.u32 [%rd2], %f4;
 ret;
}
"""
READS = """
litmus.kernel @writer
litmus.kernel @reader
litmus.test @t {
  litmus.thread @P0 at <workgroup = 0> runs @writer()
  litmus.thread @P1 at <workgroup = 1> runs @reader("r0", "r1")
  litmus.condition "exists (P1:r0 = P1:r1)"
}
"""


def test_variables_are_locations_and_values_are_computed_by_formulas(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(COMPUTED)
    (tmp_path / "h.mlir").write_text(READS)
    (test,) = read_with_harness(str(tmp_path / "k.ptx"), str(tmp_path / "h.mlir"), Lowering())
    outcomes = run(test, LIMITS).outcomes
    assert outcomes is not None
    float = {0x3F800000: 1.0, 0x40A00000: 5.0, 0x40200000: 2.5, 0x40B00000: 5.5}
    at = [str(each) for each in outcomes.observables]
    of_reader = at.index("P1:r0"), at.index("P1:r1")
    found = {tuple(float.get(each[n] or 0) for n in of_reader) for each in outcomes.states}
    # The flag is read as 0, with either value of the data, or as 7 and then with the new one.
    assert found == {(2.5, 1.0), (5.5, 1.0), (5.5, 5.0)}


COPIED = """
litmus.kernel @k
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @k(@x, "r0", 5 : i32)
  litmus.thread @P1 at <workgroup = 0> runs @k(@x, "r0", 5 : i32)
  litmus.condition "forall (x = 5)"
}
"""


def test_a_proxy_fence_left_out_is_observable(tmp_path: Path) -> None:
    """What fence-check says of the text, the model shows of the same text."""
    fence = "fence.proxy.async.shared::cta;"
    body = (
        f"st.shared.u32 [sm], %r1; {fence} bar.sync 0; mov.u32 %r3, %tid.x; setp.eq.u32 %p1, %r3, 0;"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sm], 128;"
        "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"
    )
    (tmp_path / "h.mlir").write_text(COPIED)
    holds: list[bool] = []
    for text in (body, body.replace(fence, "")):
        (tmp_path / "k.ptx").write_text(f"{HEAD}{DECLARED}{text}\nret;\n}}\n")
        (test,) = read_with_harness(str(tmp_path / "k.ptx"), str(tmp_path / "h.mlir"), Lowering())
        outcomes = run(test, LIMITS).outcomes
        assert outcomes is not None
        holds.append(test.condition.verdict(outcomes))
    assert holds == [True, False]


def damaged(text: str, random: Random) -> str:
    """The text with a few characters left out, put in or doubled."""
    for _ in range(random.randint(1, 4)):
        at, other = random.randrange(len(text)), random.randrange(len(text))
        piece = random.choice(
            (";", "{", "}", "[", ",", "@", ":", '"', text[other : other + 20], "")
        )
        text = text[:at] + piece + text[at + (0 if piece else random.randint(1, 12)) :]
    return text


def test_damaged_texts_are_read_or_refused() -> None:
    """Reader, findings, lifting and program: an error with a line, or a result, nothing else."""
    random = Random(7)
    body = f"{BODY} {LOOP} {OUT} mbarrier.init.shared.b64 [bar], 1; bar.sync 0;".replace(
        "W", "V", 2
    )
    text = f"{HEAD}{DECLARED}{body}\nret;\n}}\n"
    refused = 0
    for _ in range(300):
        try:
            module = read_ptx(damaged(text, random), "k.ptx")
            for function in module.functions.values():
                assert all(each.line for each in find_problems(module, function))
                assert all(each.text for each in Guarantees(function).lines())
                arguments = [ToLocation("x")] * len(function.parameters)
                read_column(module, function, arguments, ALONE, KnownMemory())
        except PtxError as problem:
            refused += str(problem).startswith("k.ptx:")
    assert 100 < refused < 300


# The command

HARNESS = """
litmus.kernel @k
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 runs @k(@x, "r0", 1 : i32)
  litmus.condition "forall (P0:r0 = 1)"
}
"""


def command(
    capsys: pytest.CaptureFixture[str], folder: Path, ptx: str, harness: str, *options: str
) -> tuple[int, str, str]:
    (folder / "k.ptx").write_text(ptx)
    (folder / "h.mlir").write_text(harness)
    arguments = ["run", str(folder / "k.ptx"), "--litmus", str(folder / "h.mlir"), *options]
    status = fence_sim.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err.replace(f"{folder}/", "")


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = f"{HEAD}{DECLARED}{BODY}\nret;\n}}\n"
    status, out, err = command(capsys, tmp_path, text, HARNESS)
    assert (status, err) == (0, "")
    assert "*> P0:r0=1; x=1;\nOk\n" in out
    status, out, err = command(capsys, tmp_path, text.replace("%r1;", "2;"), HARNESS)
    assert status == 1


@pytest.mark.parametrize(
    ("ptx", "harness", "options", "problem"),
    [
        (BODY, HARNESS.replace("@k", "@j"), (),
            "h.mlir: error: P0 of 't' runs j, which k.ptx does not have; its kernels: k"),
        (BODY, HARNESS.replace(", 1 : i32", ""), (),
            "k.ptx:4:1: error: 'k' has 3 parameters, the thread gives 2"),
        ("@%p1 exit; call f, ();", HARNESS, (), "k.ptx:8:1: error: 'call' is not executed"),
        (BODY, HARNESS, ("--test", "u"), "h.mlir: error: no test 'u' in the module; its tests: t"),
        (BODY, HARNESS, ("--mcpu", "sm_90"), "fence-sim: error: --mcpu has no effect: the kernels are"),
        (BODY, "builtin.module {}", (), "h.mlir: error: no litmus.test"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    ptx: str,
    harness: str,
    options: tuple[str, ...],
    problem: str,
) -> None:
    text = f"{HEAD}{DECLARED}{ptx}\nret;\n}}\n"
    status, _, err = command(capsys, tmp_path, text, harness, *options)
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith(problem)


def test_a_body_of_its_own_is_no_kernel(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(f"{HEAD}{DECLARED}ret;\n}}\n")
    (tmp_path / "h.mlir").write_text(MESSAGE_PASSING)
    with pytest.raises(ToolError, match="runs a body of its own"):
        next(read_with_harness(str(tmp_path / "k.ptx"), str(tmp_path / "h.mlir"), Lowering()))
