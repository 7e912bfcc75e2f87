"""What whole kernels move: beside an H200's counters, AMD's published ones, and on the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import some_of
from lane_kernels import lowered, programs_of
from scripts import GPU_BENCHMARKS, load_script

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.performance.accesses import FENCE_COSTS
from fencewright.passes.pipelines import lower_module
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.execution.program import (
    CacheLevel,
    Executed,
    FenceInstruction,
    KernelResources,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.accesses.ptx import TAG_WAVEFRONTS
from fencewright.simulator.performance.machine import machine_of
from fencewright.simulator.performance.policies import cdna_policy, ptx_policy
from fencewright.simulator.performance.traffic import Traffic, TrafficObserver, fence_cycles
from fencewright.tools.fence_sim import main
from fencewright.tools.inputs.litmus.files import parse_module

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LOAD, STORE = MemoryAccessKind.LOAD, MemoryAccessKind.STORE

# Against an H200

KERNELS = load_script(GPU_BENCHMARKS / "memory_kernels.py")
POLLING = ("look-back scan", "spin lock")
"""How often they poll is a matter of timing."""
LAUNCHES = {each.name: each for each in KERNELS.LAUNCHES if each.name not in POLLING}
OF_ADDRESSES = (
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
)
BYTES = ("l1tex__m_xbar2l1tex_read_sectors.sum", "dram__bytes_read.sum")
JOINED = ("matrix product", "stencil")
"""L2 joins their requests for one sector, or parts of one sector that several warps write."""
OF_L2 = (
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_sectors_op_read.sum",
    "l1tex__m_l1tex2xbar_write_sectors.sum",
)


MEASURED: dict[str, dict[str, int]] = KERNELS.counted(ROOT / "tests/data/memory/h200-kernels.txt")


def argument_of(given: Any) -> Any:
    if isinstance(given, int):
        return given
    return np.array(given.fill(given.count), dtype=np.uint32)


def traffic_of(launch: Any) -> Traffic:
    program = lowered((EXAMPLES / launch.file).read_text(), "sm_90", launch.file)
    given = tuple(argument_of(each) for each in launch.arguments)
    made = Launch(launch.grid, launch.block, given)
    machine = machine_of("sm_90")
    waves = -(-made.threads // program.lanes)
    observer = TrafficObserver(program, machine, made.groups, waves, made.groups)
    execute(program, made, allocate(program, made), observer)
    return observer.traffic()


@pytest.mark.parametrize("name", some_of([*LAUNCHES], 3))
def test_an_h200_counts_whole_kernels_so(name: str) -> None:
    traffic = traffic_of(LAUNCHES[name])
    found = {counter: each.value for counter, each in traffic.counters.items()}
    real = MEASURED[name]
    assert {each: found.get(each, 0) for each in OF_ADDRESSES} == {
        each: real[each] for each in OF_ADDRESSES
    }
    assert found[TAG_WAVEFRONTS] == pytest.approx(real[TAG_WAVEFRONTS], rel=0.007)
    for each in (*BYTES, *(() if name in JOINED else OF_L2)):
        assert found.get(each, 0) == pytest.approx(real[each], rel=0.05, abs=4400), each


def test_polling_kernels_are_measured_too() -> None:
    assert set(MEASURED) == {*LAUNCHES, *POLLING}


# Against rocprofiler: copies of eight bytes a lane


def observer_of(
    target: str,
    instructions: tuple[MemoryInstruction | FenceInstruction, ...],
    groups: int,
    waves: int,
    remote: tuple[tuple[int, int], ...] = (),
) -> TrafficObserver:
    resources = KernelResources(None, 0, 0, 0, 0)
    program = LaneProgram("kernel", target, 64, 0, (), resources, None, instructions, ())
    return TrafficObserver(program, machine_of(target), groups, waves, groups, remote)


def access_of(target: str, kind: MemoryAccessKind, text: str, *bits: str) -> MemoryInstruction:
    policy = cdna_policy(target, kind, bits)
    return MemoryInstruction(text, text, kind, MemorySpace.GLOBAL, 8, policy, None)


def contiguous(number: int, base: int, groups: int, waves: int) -> Executed:
    rows = np.arange(groups * waves)
    addresses = base + 8 * (64 * rows[:, None] + np.arange(64))
    active = np.ones(addresses.shape, dtype=np.bool_)
    return Executed(number, rows // waves, rows % waves, addresses, active)


GIB = 1 << 30
VCOPY = {
    "gfx908": {"TCP_TCC_READ_REQ": 8, "TCP_TCC_WRITE_REQ": 8, "TCC_MISS": 16, "TCC_EA_RDREQ": 8},
    "gfx942": {"TCP_TCC_READ_REQ": 4, "TCP_TCC_WRITE_REQ": 8, "TCC_MISS": 8, "TCC_HIT": 4,
               "TCC_EA_RDREQ": 4, "TCC_BUBBLE": 4, "TCC_WRITEBACK": 4, "TCC_EA_WRREQ_64B": 8},
}  # fmt: skip
"""Of each wave: what rocprofiler-compute's ``vcopy`` counted on MI100 and MI300X."""


@pytest.mark.parametrize("target", VCOPY)
def test_copies_of_eight_bytes_count_what_rocprofiler_counted(target: str) -> None:
    groups, waves = 512, 4
    load = access_of(target, LOAD, "global_load_dwordx2")
    store = access_of(target, STORE, "global_store_dwordx2")
    observer = observer_of(target, (load, store), groups, waves)
    observer(contiguous(0, GIB, groups, waves))
    observer(contiguous(1, 2 * GIB, groups, waves))
    counters = observer.traffic().counters
    for name, count in VCOPY[target].items():
        assert counters[name].value == count * groups * waves, name


# Fences


def fence(text: str, **fields: Any) -> FenceInstruction:
    given: dict[str, Any] = {
        "scope": "", "waits": frozenset(), "spaces": frozenset({MemorySpace.GLOBAL}),
        "writes_back": frozenset(), "invalidates": frozenset(), "joins": False, "place": None,
    }  # fmt: skip
    return FenceInstruction(text, **(given | fields))


def of_waves(number: int, groups: int, waves: int) -> Executed:
    rows = np.arange(groups * waves)
    active = np.ones((len(rows), 64), dtype=np.bool_)
    nothing = np.zeros((len(rows), 0), dtype=np.int64)
    return Executed(number, rows // waves, rows % waves, nothing, active)


WRITE_BACK = fence("buffer_wbl2 sc1", writes_back=frozenset({CacheLevel.L2}))
DROP_L1 = fence("buffer_inv sc1", invalidates=frozenset({CacheLevel.L1, CacheLevel.L2}))


def test_a_write_back_is_paid_by_every_wave_of_a_die_and_writes_once() -> None:
    groups, waves = 64, 4
    store = access_of("gfx942", STORE, "global_store_dwordx2")
    observer = observer_of("gfx942", (store, WRITE_BACK), groups, waves)
    observer(contiguous(0, GIB, groups, waves))
    observer(of_waves(1, groups, waves))
    traffic = observer.traffic()
    (found,) = traffic.fences
    assert (found.lines, found.bytes) == (4 * groups * waves, 512 * groups * waves)
    # 256 waves on 8 dies, 115 to 240 ns each.
    assert found.price is not None
    assert (found.price.time.low, found.price.time.high) == (32 * 115, 32 * 240)
    assert (traffic.end_lines, traffic.timeline[-1].dirty) == (0, 0)
    assert traffic.time.low >= 115


def test_an_invalidate_makes_l1_fetch_again_and_l2_only_what_is_remote() -> None:
    load = access_of("gfx942", LOAD, "global_load_dwordx2")
    of_l1 = {CacheLevel.L1: 512}
    for remote, again in (((), of_l1), (((GIB, 2 * GIB),), of_l1 | {CacheLevel.L2: 512})):
        observer = observer_of("gfx942", (load, DROP_L1), 1, 1, remote)
        for number in (0, 1, 0, 0):
            observer(of_waves(1, 1, 1) if number else contiguous(0, GIB, 1, 1))
        traffic = observer.traffic()
        assert dict(traffic.fences[0].again) == again
        first = traffic.instructions[0].levels[0]
        assert (first.level, first.looked_up, first.hit) == (CacheLevel.L1, 12, 4)


@pytest.mark.parametrize(("bits", "missed"), [((), 4), (("sc1",), 8)])
def test_what_a_die_writes_through_is_dropped_by_the_others(
    bits: tuple[str, ...], missed: int
) -> None:
    load = access_of("gfx942", LOAD, "global_load_dwordx2")
    store = access_of("gfx942", STORE, "global_store_dwordx2", *bits)
    observer = observer_of("gfx942", (load, store), 16, 1)
    lanes = contiguous(0, GIB, 1, 1)
    # Groups 0 and 8 are on two CUs of one die, 1 is on another.
    for number, group in ((0, 0), (1, 1), (0, 8)):
        at = np.array([group])
        observer(Executed(number, at, np.array([0]), lanes.addresses, lanes.active))
    of_load = observer.traffic().instructions[0]
    assert [use.missed for use in of_load.levels if use.level is CacheLevel.L2] == [missed]


def test_waits_leave_the_newest_accesses_in_flight() -> None:
    load = access_of("gfx942", LOAD, "global_load_dwordx2")
    some = fence(
        "s_waitcnt vmcnt(1)", waits=frozenset({LOAD}), in_flight=((MemorySpace.GLOBAL, 1),)
    )
    rest = fence("s_waitcnt vmcnt(0)", waits=frozenset({LOAD}))
    observer = observer_of("gfx942", (load, some, rest), 1, 2)
    for number in (0, 0, 0, 1, 2, 2):
        observer(of_waves(number, 1, 2) if number else contiguous(0, GIB, 1, 2))
    waits = [each.waits for each in observer.traffic().fences]
    assert [[(each.instructions, each.most) for each in of] for of in waits] == [[(4, 2)], [(2, 1)]]


@pytest.mark.parametrize(
    ("stores", "sectors", "cycles"),
    [(0, 0, 312), (1, 4, 621.29), (2, 64, 611 + 64), (8, 256, 637 + 8 * 48), (64, 2048, 2061)],
)
def test_fences_cost_what_was_measured(stores: int, sectors: int, cycles: float) -> None:
    cost = next(each for each in FENCE_COSTS if each.scope == "gpu")
    low, high = fence_cycles(cost, np.array([stores]), np.array([sectors]))
    assert (low[0], high[0]) == pytest.approx((cycles, cycles))


def test_between_coalesced_and_scattered_stores_a_fence_costs_a_range() -> None:
    cost = next(each for each in FENCE_COSTS if each.scope == "gpu")
    low, high = fence_cycles(cost, np.array([4]), np.array([64]))
    assert (low[0], high[0]) == pytest.approx((621 + 4 * 0.29, 637 + 4 * 48))


def test_a_fence_among_many_warps_costs_up_to_what_was_measured_there() -> None:
    """The rows are the worst medians of the file."""
    worst: dict[tuple[str, str], int] = {}
    for line in (ROOT / "tests/data/memory/h200-fences.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        scope, step, stores, *_, median, _ = line.split()
        kind = "idle" if stores == "0" else "coalesced" if step == "4" else "scattered"
        worst[scope, kind] = max(worst.get((scope, kind), 0), int(median))
    for cost in FENCE_COSTS:
        found = [worst[cost.scope, each] for each in ("idle", "coalesced", "scattered")]
        crowded = cost.crowded
        assert [crowded.idle, crowded.coalesced, crowded.scattered] == found
        stores, sectors = np.array([0, 4, 4]), np.array([0, 16, 64])
        alone = fence_cycles(cost, stores, sectors)
        among = fence_cycles(cost, stores, sectors, is_crowded=True)
        assert (among[0] == alone[0]).all()
        assert (among[1] == np.maximum(alone[1], found)).all()


# The command line

COPY = [str(EXAMPLES / "memory/copy.mlir"), "--grid", "2", "--block", "256"]
BUFFERS = ["--arg", "bytes:4096", "--arg", "bytes:4096"]


def run(*words: str) -> int:
    return main(["traffic", *words])


def test_json_has_the_profilers_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*COPY, "--mcpu", "sm_90", *BUFFERS, "--arg", "stride=1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counters"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == {
        "value": 64,
        "evidence": Evidence.MEASURED,
    }
    assert found["groups"] == {"executed": 2, "launched": 2}
    assert [each["levels"].keys() for each in found["instructions"]] == [{"L1", "L2"}, {"L2"}]
    assert found["time"]["low_ns"] <= found["time"]["high_ns"]
    assert found["flows"][1] == {"near": "L2", "far": "memory", "read": 2048, "written": 0}


def test_a_sample_is_of_the_first_work_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*COPY, "--mcpu", "gfx942", *BUFFERS, "--arg", "1", "--sample", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["groups"] == {"executed": 1, "launched": 2}
    assert found["counters"]["TA_TOTAL_WAVEFRONTS"]["value"] == 8


DYNAMIC = """
llvm.mlir.global external @room() {addr_space = 3 : i32} : !llvm.array<0 x i32>
llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<128 x i32>
func.func @kernel(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %x = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %i = arith.index_cast %x : index to i32
  %room = llvm.mlir.addressof @room : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %from = llvm.getelementptr %in[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %to = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %of_launch = llvm.getelementptr %room[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %own = llvm.getelementptr %tile[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %word = scoped.load weak %from : !llvm.ptr<1> -> i32
  scoped.store weak %word, %of_launch : i32, !llvm.ptr<3>
  scoped.store weak %i, %own : i32, !llvm.ptr<3>
  %back = scoped.load weak %of_launch : !llvm.ptr<3> -> i32
  scoped.store weak %back, %to : i32, !llvm.ptr<1>
  func.return
}
"""


@pytest.mark.parametrize("chip", ["sm_90", "gfx90a"])
def test_the_launch_adds_shared_memory_after_the_kernels_own(
    chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(DYNAMIC)
    words = ["traffic", str(file), "--mcpu", chip, "--grid", "1", "--block", "128", "--json"]
    words += ["--arg", "iota:i32:128", "--arg", "i32:128"]
    assert main(words) == 2
    assert "of shared memory, which has 512 bytes" in capsys.readouterr().err
    held: list[int] = []
    for shared in ("512", "32256"):
        assert main([*words, "--shared", shared]) == 0
        held.append(json.loads(capsys.readouterr().out)["occupancy"]["groups"])
    assert held[1] < held[0]
    assert main([*words, "--shared", "300000"]) == 2
    assert "300512 bytes of shared memory: " in capsys.readouterr().err

    module = parse_module("kernel.mlir", DYNAMIC)
    lower_module(module, chip)
    (program,) = programs_of(module)
    given = np.arange(128, dtype=np.int32)[::-1].copy()
    launch = Launch((1, 1, 1), (128, 1, 1), (given, np.zeros_like(given)), shared=512)
    memory = execute(program, launch, allocate(program, launch), lambda _: None)
    assert (memory.contents(memory.buffers[1].name, np.int32) == given).all()


def test_one_xcd_needs_no_write_back_of_l2(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = [str(EXAMPLES / "kernels-cdna/kernels.mlir"), "--kernel", "mp_producer"]
    words = [*kernel, "--mcpu", "gfx942", "--grid", "2", "--block", "1", "--json"]
    words += ["--arg", "i32:1", "--arg", "i32:1", "--arg", "i32:1", "--arg", "2"]
    texts: list[set[str]] = []
    for partition in ("SPX", "CPX"):
        assert run(*words, "--partition", partition) == 0
        found = json.loads(capsys.readouterr().out)
        texts.append({each["text"].partition(" ")[0] for each in found["fences"]})
    assert texts[0] - texts[1] == {"buffer_wbl2"}


@pytest.mark.parametrize("chip", ["sm_90", "gfx942"])
def test_a_picture_has_every_part(chip: str, tmp_path: Path) -> None:
    file = tmp_path / "traffic.svg"
    words = [str(EXAMPLES / "memory/transpose_padded.mlir"), "--mcpu", chip, "--grid", "2,2"]
    words += ["--block", "32,8", "--arg", "bytes:16384", "--arg", "bytes:16384", "--arg", "64"]
    assert run(*words, "-o", str(file)) == 0
    picture = file.read_text(encoding="utf-8")
    for words in ("bytes between the levels", "dirty bytes in L2", "bank 0", "of a bank", "memory"):
        assert words in picture


def array_files(folder: Path) -> Iterator[tuple[str, str]]:
    (folder / "text.npy").write_text("no array")
    yield str(folder / "text.npy"), "no whole .npy file of numbers"
    np.save(folder / "words.npy", np.array(["a", "b"]))
    yield str(folder / "words.npy"), "an array of 2 <U1: give integers or floats"
    yield str(folder / "none.npy"), "No such file"


def test_arrays_are_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "in.npy", np.arange(512, dtype=np.int32).reshape(2, 256))
    given = ["--arg", f"in={tmp_path / 'in.npy'}", "--arg", "iota:i32:512", "--arg", "0x1"]
    assert run(*COPY, "--mcpu", "sm_90", *given) == 0
    assert "copy on sm_90" in capsys.readouterr().out
    for file, said in array_files(tmp_path):
        assert (
            run(*COPY, "--mcpu", "sm_90", "--arg", file, "--arg", "bytes:4096", "--arg", "1") == 2
        )
        assert said in capsys.readouterr().err


def test_arrays_may_have_their_bytes_in_any_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(EXAMPLES / "memory" / "histogram.mlir")
    said: set[str] = set()
    for order in "<>":
        np.save(tmp_path / "in.npy", np.arange(256).astype(f"{order}i4"))
        given = ["--arg", f"in={tmp_path / 'in.npy'}", "--arg", "i32:256"]
        assert run(file, "--mcpu", "sm_90", "--grid", "1", "--block", "256", *given) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1


WRONG = {
    "takes 3 arguments": [],
    "bytes:0: 0 bytes": ["--arg", "bytes:0", "--arg", "bytes:8", "--arg", "1"],
    "'x' is no number": ["--arg", "bytes:x", "--arg", "bytes:8", "--arg", "1"],
    "byte 4 of argument 0, which has 4 bytes": [
        "--arg",
        "bytes:4",
        "--arg",
        "bytes:4096",
        "--arg",
        "1",
    ],
    "i8 has no numbers up to 300": ["--arg", "random:i8:9:1:300", *BUFFERS],
    "give a number, bytes:N": ["--arg", "iota:i32", *BUFFERS],
    "a number is in no memory": [*BUFFERS, "--arg", "remote:1"],
    "has no kernel 'other'": [*BUFFERS, "--arg", "1", "--kernel", "other"],
    "only AMD devices have modes": [*BUFFERS, "--arg", "1", "--partition", "CPX"],
    "a loop does not end": [*BUFFERS, "--arg", "1", "--limit", "3"],
    "are too many to run; pass --sample": [*BUFFERS, "--arg", "1", "--grid", "99999999"],
    "compiled for blocks of 256x1x1 threads": [*BUFFERS, "--arg", "1", "--block", "512"],
    "argument 2 has 32 bits: 1e+99": [*BUFFERS, "--arg", "1e99"],
    "a picture is written as .svg": [*BUFFERS, "--arg", "1", "-o", "x.png"],
    "a picture is no JSON": [*BUFFERS, "--arg", "1", "--json", "-o", "x.svg"],
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_is_said_in_one_line(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*COPY, "--mcpu", "sm_90", *WRONG[said]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize("chip", ["gfx1100", "sm_72", "gfx999"])
def test_chips_without_rows_are_refused(chip: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*COPY, "--mcpu", chip, *BUFFERS, "--arg", "1") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "accepted: " in line


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--grid", "0"),
        ("--grid", "1,2,3,4"),
        ("--block", "a"),
        ("--sample", "0"),
        ("--arg", "i99:3"),
    ],
)
def test_the_command_line_is_checked(
    flag: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*COPY, "--mcpu", "sm_90", flag, value) == 2
    assert f"argument {flag}" in capsys.readouterr().err


# Passes of the tag stage that are repeated

TAGS = Path(__file__).parents[1] / "data" / "memory" / "h200-tags.txt"
CARVE_OUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""KiB of an SM that may be shared memory: Hopper tuning guide."""


def test_passes_are_repeated_where_more_lines_are_on_the_way_than_fit() -> None:
    """Of a copy with strides, as an H200 counted it: else they are as many as its addresses say."""
    model = model_of("ld.global.b32", "sm_90")
    rows = [line.split() for line in TAGS.read_text().splitlines() if not line.startswith("#")]
    repeated = 0
    for groups, stride, shared, requests, counted in (map(int, row) for row in rows):
        addresses = 4 * stride * np.arange(requests * 32, dtype=np.int64).reshape(requests, 32)
        told = model.count(addresses, np.ones(addresses.shape, dtype=np.bool_))[TAG_WAVEFRONTS]
        resident = min(8, -(-groups // 132), 228 // (shared + 1))
        room = 256 - next(each for each in CARVE_OUTS if each >= resident * (shared + 1))
        lines = len({*(addresses[0] // 128).tolist()})
        fits = resident * 8 * lines * 128 // 1024 < room
        assert (counted == int(told.sum())) is fits
        repeated += not fits
    assert 0 < repeated < len(rows)


@pytest.mark.parametrize(
    ("groups", "evidence"), [(528, Evidence.MEASURED), (1056, Evidence.INFERRED)]
)
def test_they_are_called_inferred_then(groups: int, evidence: Evidence) -> None:
    load = MemoryInstruction(
        "ld.global.b32", "ld.global.b32", LOAD, MemorySpace.GLOBAL, 4,
        ptx_policy(LOAD, ["ld", "global", "b32"]), None,
    )  # fmt: skip
    resources = KernelResources(None, 0, 0, 0, 0)
    program = LaneProgram("kernel", "sm_90", 32, 0, (), resources, None, (load,), ())
    observer = TrafficObserver(program, machine_of("sm_90", groups=8), groups, 8, groups)
    rows = np.arange(groups * 8)
    addresses = GIB + 128 * (32 * rows[:, None] + np.arange(32))
    active = np.ones(addresses.shape, dtype=np.bool_)
    observer(Executed(0, rows // 8, rows % 8, addresses, active))
    assert observer.traffic().counters[TAG_WAVEFRONTS].evidence is evidence
