"""Litmus tests as stress kernels: the host's part, the text for ptxas, and what the kernels compute.

The kernels are run by the interpreter of ``gpu_interpreter``.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from campaigns import Share, first_share
from gpu_interpreter import Entries, Entry, Interpreter
from scripts import ScriptedDevice

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.condition import Memory, Outcomes, Register
from fencewright.simulator.core.program import Placement, Thread
from fencewright.simulator.gpu import kernels as gpu_kernels
from fencewright.simulator.gpu.kernels import (
    MOST_SHARED,
    MULTIPLIERS,
    Encoding,
    GpuLitmusError,
    Launch,
    arrange,
    place,
    prepare,
)
from fencewright.simulator.gpu.litmus import GpuBuffer, Stress, run_litmus_on_gpu
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, parse_litmus, read_litmus
from fencewright.simulator.ptx.instructions import AsyncCopy, PtxProgram, St
from fencewright.simulator.ptx.outcomes import outcomes

LITMUS = Path(__file__).parents[1] / "litmus" / "gpu"
PATHS = sorted(LITMUS.glob("*.litmus"))
IDS = [path.stem for path in PATHS]
PTXAS = shutil.which("ptxas")


def read(name: str) -> PtxLitmusTest:
    return read_litmus(LITMUS / f"{name}.litmus")


@cache
def allowed(path: Path) -> Outcomes:
    """Every outcome of a test in the model."""
    return outcomes(read_litmus(path).program)


def spaces(test: PtxLitmusTest) -> tuple[bool, ...]:
    """Whether locations are in shared memory: no, and yes where that is a choice."""
    copies = any(
        isinstance(each, AsyncCopy) for t in test.program.threads for each in t.instructions
    )
    return (False,) if copies or len(arrange(test.program).clusters) > 1 else (False, True)


ONE_LAUNCH = Stress(instances=32, launches=1, block_sizes=(32,))
SMALL = Stress(instances=64, launches=4, block_sizes=(32, 64), strides=(1, 5), spacings=(4, 128))


# What the kernels compute


@pytest.mark.parametrize("share", first_share(4))
@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_kernels_run_every_instance_of_a_test_once(path: Path, share: Share) -> None:
    test = read_litmus(path)
    stress = Stress(instances=32, launches=2, block_sizes=(32,), strides=(5,), spacings=(4,))
    for shared in share.of(spaces(test), PATHS.index(path)):
        result = run_litmus_on_gpu(test, Interpreter(), stress=stress, shared=shared)
        # The interpreter is sequentially consistent, which the model always allows.
        assert result.forbidden == {}
        assert result.instances == 64


@pytest.mark.parametrize(
    "name",
    ["SB", "WRC", "RMW", "ISA2+cta+gpu", "MP+mbarrier.cluster", "async.load.other-cta"],
)
def test_the_kernels_run_under_every_kind_of_launch(name: str) -> None:
    result = run_litmus_on_gpu(read(name), Interpreter(), stress=SMALL)
    assert result.forbidden == {}
    assert result.instances == 256


def test_threads_of_an_instance_meet() -> None:
    # Were partners mixed up, no thread would see another's value, or some would see two.
    result = run_litmus_on_gpu(read("SB"), Interpreter(), stress=SMALL)
    registers = {state[:2] for state in result.histogram}
    assert registers == {(0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("and.b32 %u, %u, %mask;", "and.b32 %u, %u, 15;"),
        ("mul.lo.u32 %i, %i, %stride;", "mul.lo.u32 %i, %i, 4;"),
        ("mad.lo.u32 %i, %v, %slots, %slot;", "mov.b32 %i, %slot;"),
        ("st.global.b32 [%d], %my_r0;", "mov.b32 %u, 0;"),
    ],
)
def test_a_kernel_that_is_wrong_is_noticed(right: str, wrong: str) -> None:
    class Broken(Interpreter):
        def load(self, ptx: str) -> Entries:
            assert right in ptx
            return super().load(ptx.replace(right, wrong))

    result = run_litmus_on_gpu(read("RMW"), Broken(), stress=SMALL)
    assert result.forbidden != {}


def test_initial_values_reach_locations_and_registers() -> None:
    text = """PTX t
{ x=3; y=5; P0:r2=7; }
P0@cta 0,gpu 0 ;
ld.relaxed.gpu r0, x ;
add r1, r0, r2 ;
mul r1, r1, 2 ;
bne r1, 20, WRONG ;
st.relaxed.gpu y, r1 ;
WRONG: ;
atom.max r3, x, 4 ;
exists (true)"""
    test = parse_litmus(text)
    for shared in (False, True):
        result = run_litmus_on_gpu(test, Interpreter(), stress=SMALL, shared=shared)
        assert [result.state_text(state) for state in result.histogram] == [
            "P0:r0=3 P0:r1=20 P0:r2=7 P0:r3=3 x=4 y=20"
        ]


SPIN = """PTX spin
{ x=0; f=0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak x, 7 | L: ;
 st.release.gpu f, 1 | ld.acquire.gpu r0, f ;
 | beq r0, 0, L ;
 | ld.weak r1, x ;
exists (P1:r1 == 7)"""


def test_a_loop_ends_when_its_partner_has_written() -> None:
    test = parse_litmus(SPIN)
    result = run_litmus_on_gpu(test, Interpreter(), stress=SMALL)
    shown = {result.state_text(state): count for state, count in result.histogram.items()}
    assert shown == {"P1:r0=1 P1:r1=7 f=1 x=7": 256}
    assert result.gave_up == 0


def test_who_waits_in_vain_gives_up_and_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_kernels, "MOST_PASSES", 8)
    test = parse_litmus(SPIN)
    gone = parse_litmus(SPIN.replace("st.release.gpu f, 1 |", "|"))
    allowed = outcomes(test.program)
    result = run_litmus_on_gpu(gone, Interpreter(), stress=ONE_LAUNCH, allowed=allowed)
    assert (result.gave_up, result.histogram, result.forbidden) == (32, {}, {})
    assert result.instances == 32


def test_loops_that_the_model_has_not_followed_to_their_end_are_refused() -> None:
    test = parse_litmus(
        "PTX t { } P0@cta 0,gpu 0 ; L: ; atom.add r0, x, 1 ; blt r0, 5, L ; exists (true)"
    )
    with pytest.raises(GpuLitmusError, match="raise the bound"):
        run_litmus_on_gpu(test, Interpreter(), stress=ONE_LAUNCH)


def test_a_barrier_beside_a_cta_with_branches() -> None:
    text = """PTX t
{ x=0; f=0; }
P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 1,gpu 0 ;
st.weak x, 7 | bar.cta.sync 0, 0 | ld.acquire.gpu r0, f ;
bar.cta.sync 0, 0 | st.release.gpu f, 1 | beq r0, 0, OUT ;
| | ld.weak r1, x ;
| | OUT: ;
exists (true)"""
    result = run_litmus_on_gpu(parse_litmus(text), Interpreter(), stress=SMALL)
    assert result.forbidden == {}


# Where locations are


def test_locations_that_do_not_fit_take_fewer_instances_to_a_block() -> None:
    test = read("MP.one-cta")
    kernels = prepare(test.program, outcomes(test.program), shared=True)
    near, far = Launch(1024, 1, 4), Launch(1024, 1, 128)
    assert kernels.slots(near) == kernels.arrangement.slots(1024) == 512
    assert kernels.slots(far) == 256
    assert kernels.shared_bytes(far) == MOST_SHARED
    stress = Stress(instances=1024, launches=2, block_sizes=(1024,), spacings=(4, 128))
    assert run_litmus_on_gpu(test, Interpreter(), stress=stress, shared=True).forbidden == {}


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_no_launch_asks_for_more_shared_memory_than_there_is(path: Path) -> None:
    test = read_litmus(path)
    for shared in spaces(test):
        kernels = prepare(test.program, outcomes(test.program), shared=shared)
        for launch in Stress(spacings=(4, 128)):
            spaced = replace(launch, spacing=max(launch.spacing, kernels.cell))
            assert kernels.shared_bytes(spaced) <= MOST_SHARED
            assert kernels.slots(spaced) % 32 == 0


def test_a_spacing_that_can_never_fit_is_refused() -> None:
    test = read("MP.one-cta")
    stress = Stress(instances=1024, launches=1, spacings=(2048,))
    with pytest.raises(GpuLitmusError, match="the most for this test is 1024"):
        run_litmus_on_gpu(test, Interpreter(), stress=stress, shared=True)


def test_locations_are_in_the_shared_memory_that_the_program_says() -> None:
    """Fences of shared memory alone order nothing else."""
    test = read_litmus(LITMUS.parent / "ptx" / "MP+sync_restrict.litmus")
    kernels = prepare(test.program, outcomes(test.program))
    assert kernels.homes == {"flag": (0, 1), "x": (0, 0)}
    for line in (
        "st.weak.shared::cta.b32 [%at_x], 1;",
        "fence.release.sync_restrict::shared::cta.cluster;",
        "st.relaxed.cluster.shared::cluster.b32 [%at_flag], 1;",
        "fence.acquire.sync_restrict::shared::cluster.cluster;",
    ):
        assert kernels.modules[0].count(line) == 1
    nowhere = replace(test.program, shared={"x": Placement(7)})
    with pytest.raises(GpuLitmusError, match="'x' is in the shared memory of a CTA without"):
        prepare(nowhere, outcomes(nowhere))


def test_only_the_locations_that_are_named_are_in_shared_memory() -> None:
    program = read("MP.one-cta").program
    kernels = prepare(program, outcomes(program), shared=frozenset({"x"}))
    assert kernels.homes == {"x": (0, 0)}
    assert "ld.weak.shared::cta" in kernels.modules[0]
    assert "ld.weak.global" in kernels.modules[0]


# What comes back


def scripted(counts: dict[int, int]) -> ScriptedDevice:
    return ScriptedDevice(lambda ptx: counts)


def test_a_forbidden_outcome_is_told_from_an_allowed_one() -> None:
    test = read("MP+rel+acq")
    allowed = outcomes(test.program)
    encoding = prepare(test.program, allowed).encoding
    assert encoding.observables == (Register(1, "r0"), Register(1, "r1"), Memory("x"), Memory("y"))
    good, stale = encoding.encode((1, 1, 1, 1)), encoding.encode((1, 0, 1, 1))
    garbage = encoding.encode((1, 0xFFFFFFFF, 1, 1))
    device = scripted({good: 22, stale: 9, garbage: 1})
    result = run_litmus_on_gpu(test, device, stress=ONE_LAUNCH)
    assert result.instances == 32
    assert result.forbidden == {(1, 0, 1, 1): 9, (1, None, 1, 1): 1}
    assert result.state_text((1, None, 1, 1)) == "P1:r0=1 P1:r1=? x=1 y=1"
    assert result.times(test.condition.formula) == 10
    assert run_litmus_on_gpu(test, scripted({good: 32}), stress=ONE_LAUNCH).forbidden == {}


def test_instances_that_were_not_run_are_missed() -> None:
    test = read("MP")
    code = prepare(test.program, outcomes(test.program)).encoding.encode((1, 1, 1, 1))
    with pytest.raises(GpuLitmusError, match="31 instances were counted"):
        run_litmus_on_gpu(test, scripted({code: 31}), stress=ONE_LAUNCH)


def test_a_weak_test_judged_as_the_right_one_is_caught() -> None:
    weak, right = read("MP"), read("MP+rel+acq")
    allowed = outcomes(right.program)
    code = prepare(weak.program, allowed).encoding.encode((1, 0, 1, 1))
    device = scripted({code: 32})
    assert run_litmus_on_gpu(weak, device, stress=ONE_LAUNCH).forbidden == {}
    assert run_litmus_on_gpu(weak, device, stress=ONE_LAUNCH, allowed=allowed).forbidden != {}


def test_encoding_reads_back_what_it_wrote() -> None:
    encoding = Encoding((Register(0, "r0"), Memory("x"), Memory("y")), (2, 1, 3))
    states = [(a, b, c) for a in range(3) for b in range(2) for c in range(4)]
    assert sorted(encoding.encode(state) for state in states) == list(range(encoding.size))
    for state in states:
        shown = tuple(
            None if value >= limit else value
            for value, limit in zip(state, encoding.limits, strict=True)
        )
        assert encoding.decode(encoding.encode(state)) == shown


# How instances are spread


@pytest.mark.parametrize("instances", [32, 1024])
def test_locations_are_permuted(instances: int) -> None:
    everyone = list(range(instances))
    for location in range(len(MULTIPLIERS)):
        places = [place(location, i, instances) for i in everyone]
        assert sorted(places) == everyone
    assert [place(1, i, instances) for i in (0, 1)] == [3, 10]


def partner(instance: int, stride: int, cluster: int, instances: int) -> int:
    """The instance that a thread of the ``cluster``-th cluster runs in place of ``instance``."""
    return instance * stride**cluster % instances


def test_partners_are_permuted() -> None:
    everyone = list(range(1024))
    for stride in Stress().strides:
        for cluster in range(4):
            assert sorted(partner(i, stride, cluster, 1024) for i in everyone) == everyone
    assert sorted(partner(i, 4, 1, 1024) for i in everyone) != everyone


def test_launches_cycle_through_everything() -> None:
    launches = list(Stress())
    assert len(launches) == 160
    assert {(each.block_size, each.stride) for each in launches} == {
        (size, stride) for size in Stress().block_sizes for stride in Stress().strides
    }
    assert {each.spacing for each in Stress(launches=64, spacings=(4, 128))} == {4, 128}


def test_a_seed_draws_other_launches_and_the_same_again() -> None:
    drawn = list(Stress(launches=64, seed=1))
    assert drawn == list(Stress(launches=64, seed=1))
    assert drawn != list(Stress(launches=64, seed=2))
    assert all(each.stride % 2 for each in drawn)
    assert {each.block_size for each in drawn} == {*Stress().block_sizes}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instances": 1000}, "power of two"),
        ({"instances": 512}, "fill the largest block"),
        ({"strides": (1, 2)}, "odd"),
        ({"spacings": (6,)}, "powers of two"),
        ({"block_sizes": (2048,), "instances": 4096}, "1024 threads"),
        ({"launches": 0}, "instances"),
        ({"launches": 1 << 17}, "instances"),
    ],
)
def test_stress_that_means_nothing_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(GpuLitmusError, match=message):
        Stress(**options)  # pyright: ignore[reportArgumentType]  # wrong on purpose


def threads_at(*placements: Placement) -> PtxProgram:
    store = St("x", 1, Ordering.RELAXED, Scope.AGENT)
    return PtxProgram((), tuple(Thread(each, (store,)) for each in placements))


def apart_at(cta: int) -> Placement:
    return Placement(cta, cluster=None)


def test_arrangement_follows_placement() -> None:
    apart = arrange(threads_at(apart_at(0), apart_at(1)))
    assert apart.clusters == (((0,),), ((1,),))
    assert (apart.width, apart.roles, apart.slots(1024)) == (1, 1, 1024)
    assert apart.blocks(apart.slots(256), 65536) == 2 * 65536 // 256
    together = arrange(threads_at(apart_at(0), apart_at(0), apart_at(0)))
    assert together.clusters == (((0, 1, 2),),)
    assert [together.slots(size) for size in (32, 256, 1024)] == [32, 64, 256]
    mixed = arrange(threads_at(apart_at(0), apart_at(0), apart_at(1)))
    assert [mixed.key(thread) for thread in range(3)] == [0, 1, 2]
    cluster = arrange(threads_at(Placement(0, cluster=4), Placement(1, cluster=4), apart_at(2)))
    assert cluster.clusters == (((0,), (1,)), ((2,),))
    assert [cluster.key(thread) for thread in range(3)] == [0, 1, 2]
    assert cluster.blocks(32, 32) == 4


# Several GPUs

ACROSS = """PTX across
{ x=0; y=0; z=0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 1 | P2@cta 2,gpu 0 | P3@cta 3,gpu 1 ;
 st.relaxed.sys x, 1 | ld.relaxed.sys r0, x | ld.relaxed.sys r0, y | atom.relaxed.sys.add r0, z, 1 ;
 ld.relaxed.sys r0, z | st.relaxed.sys y, 1 | ld.relaxed.sys r1, x | ld.relaxed.sys r1, y ;
exists (P2:r0 == 1 /\\ P2:r1 == 0)"""


def test_each_gpu_runs_its_threads() -> None:
    test = parse_litmus(ACROSS)
    arrangement = arrange(test.program)
    assert arrangement.clusters == (((0,),), ((2,),), ((1,),), ((3,),))
    assert arrangement.gpus == (range(2), range(2, 4))
    assert arrangement.blocks(32, 64, gpu=1) == 4
    first, second = prepare(test.program, outcomes(test.program)).modules
    assert [f"THREAD_{n}:" in first for n in range(4)] == [True, False, True, False]
    assert [f"THREAD_{n}:" in second for n in range(4)] == [False, True, False, True]


def test_kernels_of_several_gpus_run_every_instance_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # One GPU ends before the other starts here, so that those who wait at the gate give up.
    monkeypatch.setattr(gpu_kernels, "GATE", gate_after(2))
    gpu = Interpreter()
    test = parse_litmus(ACROSS)
    result = run_litmus_on_gpu(test, gpu, stress=SMALL, peers=[gpu])
    assert result.forbidden == {}
    assert result.instances == 256


def gate_after(passes: int) -> tuple[str, ...]:
    """The gate with less patience."""
    old = f"mov.u32 %u, {gpu_kernels.MOST_PASSES};"
    assert old in gpu_kernels.GATE
    return tuple(line.replace(old, f"mov.u32 %u, {passes};") for line in gpu_kernels.GATE)


def test_a_location_is_in_the_memory_of_each_gpu_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_kernels, "GATE", gate_after(1))
    launched: list[list[int]] = []

    class Recording(Interpreter):
        def load(self, ptx: str) -> Entries:
            entries = super().load(ptx)
            kernel = entries.kernel

            def recorded(name: str) -> Entry:
                entry = kernel(name)
                launch = entry.launch

                def launched_with(
                    grid: int, block: int, arguments: Sequence[GpuBuffer | int], **options: int
                ) -> None:
                    numbers = [
                        each if isinstance(each, int) else each.address for each in arguments
                    ]
                    launched.append(numbers[:2])
                    launch(grid, block, arguments, **options)

                entry.launch = launched_with
                return entry

            entries.kernel = recorded
            return entries

    gpu = Recording()
    run_litmus_on_gpu(parse_litmus(ACROSS), gpu, stress=SMALL, peers=[gpu])
    # Two kernels, then the one that counts.
    assert launched[:3] == [launched[0]] * 3
    assert launched[3:6] == [launched[0][::-1]] * 3
    assert launched[0][0] != launched[0][1]


def test_several_gpus_alone_have_a_gate() -> None:
    kernels = prepare(parse_litmus(ACROSS).program, outcomes(parse_litmus(ACROSS).program))
    for module in kernels.modules:
        assert module.count("red.relaxed.sys.global.add.u32 [%gate], 1;") == 1
    one = parse_litmus(SPIN)
    (module,) = prepare(one.program, outcomes(one.program)).modules
    assert "%gate" not in module


def test_too_few_gpus_are_refused() -> None:
    with pytest.raises(GpuLitmusError, match="on 2 GPUs, and 1 is given"):
        run_litmus_on_gpu(parse_litmus(ACROSS), Interpreter(), stress=SMALL)


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
def test_ptxas_accepts_the_kernels_of_several_gpus(tmp_path: Path) -> None:
    assert PTXAS is not None
    test = parse_litmus(ACROSS)
    for number, module in enumerate(prepare(test.program, outcomes(test.program)).modules):
        source = tmp_path / f"{number}.ptx"
        source.write_text(module)
        subprocess.run([PTXAS, "-arch=sm_90", "-o", tmp_path / "cubin", source], check=True)


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "P0@cta 0,gpu 0 ;\n L: ;\n ld.weak r0, x ;\n beq r0, 1, L ;\n mbarrier.arrive b ;",
            "a loop and mbarriers",
        ),
        ("P0@cta 0,gpu 0 ;\n tld r0, x ;", "only the generic proxy"),
        ("P0@cta 0,gpu 0 ;\n fence.proxy.alias ;", "only that of the async proxy"),
        ("P0@cta 0,gpu 0 ;\n atom.sub r0, x, 0 ;", "PTX has no such atomic"),
        ("P0@cta 0,gpu 0 ;\n red.exch x, 2 ;", "PTX has no red"),
        ("P0@cta 0,gpu 0 ;\n div r0, 4, 2 ;", "division"),
        ("P0@cta 0,gpu 0 ;\n st.weak x, -1 ;", "smaller values"),
        ("P0@cta 0,gpu 0 ;\n bar.cta.sync 0, 15 ;", "barriers 0 to 14"),
        ("P0@cta 0,gpu 0 ;\n mbarrier.try_wait b ;", "wait for ever"),
        ("P0@cta 0,gpu 0 ;\n mbarrier.try_wait b ;\n ld.weak r0, x ;", "wait for ever"),
        (
            "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
            "bar.cta.sync 0, 0 | bar.cta.sync 1, 1 ;\n bar.cta.sync 1, 1 | bar.cta.sync 0, 0 ;",
            "wait for ever",
        ),
        ("P0@cta 0,gpu 0 ;\n barrier.cluster.arrive ;", "take turns"),
        ("P0@cta 0,gpu 0 ;\n cp.async.bulk s, x, b ;", "nobody can wait"),
        (
            "P0@cta 0,gpu 0 ;\n mbarrier.arrive.expect_tx b, 2 ;\n cp.async.bulk s, x, b ;\n"
            "st.async y, 1, b ;",
            "different sizes",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
            "cp.async.bulk.bulk_group x, s | cp.async.bulk.bulk_group y, s ;",
            "one CTA",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n cp.async.bulk.bulk_group x, s | ld.weak r0, s ;",
            "shared memory of another cluster",
        ),
        (
            "P0@cta 0,gpu 0 ;\n cp.async.bulk.bulk_group s, x ;\n cp.async.bulk.bulk_group t, s ;",
            "must be in global memory",
        ),
        (
            "P0@cta 0,gpu 0 ;\n mbarrier.arrive b ;\n mbarrier.arrive b ;",
            "only the first phase",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n mbarrier.arrive b | mbarrier.try_wait b ;",
            "out of reach",
        ),
        (
            "P0@cta 0,gpu 0 ;\n mbarrier.arrive.expect_tx b, 8 ;\n cp.async.bulk s, x, 4, b ;",
            "not those that come",
        ),
        ("P0@cta 0,gpu 0 ;\n multimem.st.weak {x, y}, 1 ;", "of several GPUs"),
        ("P0@cta 0,gpu 0 ;\n prefetchu.L1 [x] ;\n ld.weak r0, x ;", "hints of global memory"),
        ("P0@cta 0,gpu 0 ;\n cp.async s, x ;", "only bulk copies of one word"),
        (
            "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 | P2@cta 1,cluster 0,gpu 0 ;\n"
            "barrier.cluster.arrive | | ;\n",
            "every thread",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(text: str, message: str) -> None:
    test = parse_litmus(f"PTX t {{ b = mbarrier(1); }} {text} exists (true)")
    with pytest.raises(GpuLitmusError, match=message):
        prepare(test.program, outcomes(test.program))


def test_a_chip_that_lacks_something_is_refused() -> None:
    for name in ("MP+fences.one-sided", "MP+rel+acq.cluster", "MP+mbarrier", "async.store"):
        program = read(name).program
        with pytest.raises(GpuLitmusError, match="sm_80 has no"):
            prepare(program, outcomes(program), "sm_80")
    program = read("MP").program
    assert ".target sm_80" in prepare(program, outcomes(program), "sm_80").modules[0]
    with pytest.raises(GpuLitmusError, match="unknown target"):
        prepare(program, outcomes(program), "gfx942")


def test_shared_memory_needs_one_cta() -> None:
    program = read("MP").program
    with pytest.raises(GpuLitmusError, match="share no shared memory"):
        prepare(program, outcomes(program), shared=True)


def test_too_many_outcomes_are_refused() -> None:
    program = read("MP").program
    found = outcomes(program)
    wide = Outcomes(found.observables, frozenset({(1 << 16, 1, 1 << 16, 0)}))
    with pytest.raises(GpuLitmusError, match="observe less"):
        prepare(program, wide)


# The tests of tests/litmus/gpu


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_model_agrees_with_the_condition(path: Path) -> None:
    test = read_litmus(path)
    assert test.name == path.stem
    assert test.condition.verdict(allowed(path))


def test_right_and_weakened_forms_of_every_shape_are_there() -> None:
    verdicts: dict[str, set[str]] = {}
    for path in PATHS:
        shape = "2+2W" if path.stem.startswith("2+2W") else re.split(r"[+.]", path.stem)[0]
        verdicts.setdefault(shape, set()).add(read_litmus(path).condition.quantifier.value)
    both = ("async", "st", "MP", "SB", "LB", "IRIW", "WRC", "ISA2", "2+2W", "S", "R", "CoRR", "RMW")
    assert {shape for shape, found in verdicts.items() if len(found) == 2} == {*both}


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("share", first_share(4))
@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_ptxas_accepts_the_kernels(path: Path, share: Share, tmp_path: Path) -> None:
    test = read_litmus(path)
    for shared in share.of(spaces(test), PATHS.index(path)):
        source = tmp_path / "kernel.ptx"
        source.write_text(prepare(test.program, allowed(path), shared=shared).modules[0])
        command = [str(PTXAS), "-arch=sm_90", str(source), "-o", str(tmp_path / "kernel.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
