"""Private memory: where it lies, and that whole kernels count it."""

from collections.abc import Sequence

import numpy as np
import pytest
from lane_kernels import programs_of

from fencewright.lowering.evidence import Evidence
from fencewright.passes.pipelines import lower_module
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import BufferOfSize, Launch, allocate
from fencewright.simulator.execution.program import (
    CacheLevel,
    Executed,
    KernelResources,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.machine import machine_of
from fencewright.simulator.performance.policies import ptx_policy
from fencewright.simulator.performance.private import BASE, interleaved
from fencewright.simulator.performance.traffic import (
    Counted,
    InstructionTraffic,
    Traffic,
    TrafficObserver,
)
from fencewright.tools.inputs.litmus.files import parse_module


def place_of(byte: int, lane: int, lanes: int, place: int, room: int) -> int:
    """LLVM AMDGPUUsage, Private; CUDA C++ Programming Guide, Local Memory: a word of each lane in turn."""
    words = -(-room // 4)
    return BASE + place * words * lanes * 4 + byte // 4 * lanes * 4 + lane * 4 + byte % 4


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 12, 16])
def test_words_of_lanes_lie_side_by_side(lanes: int, width: int) -> None:
    random = np.random.default_rng(width)
    room = 60
    step = min(width, 4)
    own = random.integers(0, (room - width) // step + 1, (5, lanes)) * step
    active = random.random((5, lanes)) < 0.8
    places = np.array([0, 1, 2, 7, 7])
    at, used = interleaved(own, active, width, places=places, room=room, word=4)
    touched = [
        sorted(
            int(each) + byte
            for each, is_used in zip(*row, strict=True)
            if is_used
            for byte in range(min(width, 4))
        )
        for row in zip(at, used, strict=True)
    ]
    assert touched == [
        sorted(
            place_of(int(own[row, lane]) + byte, lane, lanes, int(places[row]), room)
            for lane in range(lanes)
            if active[row, lane]
            for byte in range(width)
        )
        for row in range(5)
    ]


def test_no_two_lanes_share_a_byte() -> None:
    own = np.repeat(np.arange(0, 20, 4), 3)[:, None] + np.zeros(64, dtype=np.int64)
    active = np.ones(own.shape, dtype=np.bool_)
    places = np.tile(np.arange(3), 5)
    at, _ = interleaved(own, active, 4, places=places, room=18, word=4)
    assert len(np.unique(at)) == at.size


def kernel(index: str, type: str) -> str:
    """Each lane stores and loads the private element that ``index`` says."""
    return f"""
func.func @kernel(%in: !llvm.ptr<1>) attributes {{gpu.kernel}} {{
  %room = arith.constant 1024 : i32
  %one = arith.constant 1 : {type}
  %x = "gpu.thread_id"() {{dimension = #gpu<dim x>}} : () -> index
  %lane = arith.index_cast %x : index to i32
  %three = arith.constant 3 : i32
  %none = arith.constant 0 : i32
  %odd = arith.andi %lane, %three : i32
  %own = llvm.alloca %room x i8 {{alignment = 16 : i64}} : (i32) -> !llvm.ptr<5>
  %at = llvm.getelementptr %own[%{index}] : (!llvm.ptr<5>, i32) -> !llvm.ptr<5>, {type}
  scoped.store weak %one, %at : {type}, !llvm.ptr<5>
  scoped.barrier workgroup
  %back = scoped.load weak %at : !llvm.ptr<5> -> {type}
  %to = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
  scoped.store weak %back, %to : {type}, !llvm.ptr<1>
  func.return
}}
"""


def traffic_of(text: str, chip: str, groups: int = 1) -> tuple[Traffic, list[InstructionTraffic]]:
    module = parse_module("kernel.mlir", text)
    lower_module(module, chip, opt_level=0)
    (program,) = programs_of(module)
    launch = Launch((groups, 1, 1), (64, 1, 1), (BufferOfSize(4096),))
    waves = 64 // program.lanes
    observer = TrafficObserver(program, machine_of(chip), groups, waves, groups)
    execute(program, launch, allocate(program, launch), observer)
    found = observer.traffic()
    return found, [
        each for each in found.instructions if each.instruction.space is MemorySpace.PRIVATE
    ]


LOADS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
LOOKUPS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup"
STORES = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"


@pytest.mark.parametrize(
    ("index", "type", "sectors"),
    [("none", "i8", 4), ("none", "i32", 4), ("none", "i64", 8), ("odd", "i32", 16), ("lane", "i32", 32)],
)  # fmt: skip
def test_local_memory_is_coalesced_where_lanes_have_the_same_offset(
    index: str, type: str, sectors: int
) -> None:
    traffic, (store, load) = traffic_of(kernel(index, type), "sm_90")
    assert store.executions == load.executions == 2
    assert store.counters[STORES].value == load.counters[LOADS].value == 2 * sectors
    known = Evidence.MEASURED if type == "i32" else Evidence.INFERRED
    assert traffic.counters[LOADS].evidence is known
    written = traffic.flows[0].written
    assert written - 32 * 2 * sectors == 64 * {"i8": 1, "i32": 4, "i64": 8}[type]


@pytest.mark.parametrize(
    ("chip", "type", "instructions", "accesses", "requests"),
    [
        ("gfx942", "i32", 1, 16, 2), ("gfx942", "i64", 1, 32, 4),
        ("gfx90a", "i32", 1, 16, 4), ("gfx90a", "i64", 2, 32, 8),
    ],
)  # fmt: skip
def test_scratch_goes_through_the_caches(
    chip: str, type: str, instructions: int, accesses: int, requests: int
) -> None:
    """By words of 4 bytes: lines of 128 bytes on gfx942, of 64 on gfx90a, blocks of 64 written."""
    _, found = traffic_of(kernel("none", type), chip)
    loads = found[len(found) // 2 :]
    assert len(loads) == instructions
    counted = [{name: n.value for name, n in each.counters.items()} for each in loads]
    assert sum(each["TA_FLAT_READ_WAVEFRONTS"] for each in counted) == instructions
    assert sum(each["TCP_TOTAL_ACCESSES"] for each in counted) == accesses
    assert sum(each["TCP_TCC_READ_REQ"] for each in counted) == requests
    stores = found[: len(found) // 2]
    blocks = {"i32": 4, "i64": 8}[type]
    assert sum(each.counters["TCP_TCC_WRITE_REQ"].value for each in stores) == blocks


def of_one_warp(number: int, word: int) -> Executed:
    """All lanes of a warp at one word of their private memory."""
    rows = np.zeros(1, dtype=np.int64)
    return Executed(
        number, rows, rows, np.full((1, 32), 4 * word), np.ones((1, 32), dtype=np.bool_)
    )


@pytest.mark.parametrize(
    ("stored", "loaded", "hits", "misses", "known"),
    [
        ((), 5, 4, 0, Evidence.MEASURED),
        ((5,), 5, 4, 0, Evidence.MEASURED),
        # 1024 words of 32 lanes are 128 KiB, of which the 28 KiB that shared memory leaves keep 224.
        (range(1024), 1000, 4, 0, Evidence.MEASURED),
        (range(1024), 799, 0, 4, Evidence.INFERRED),
    ],
)
def test_local_memory_stays_in_l1_as_long_as_it_fits(
    stored: Sequence[int], loaded: int, hits: int, misses: int, known: Evidence
) -> None:
    load, store = (
        MemoryInstruction(
            f"{verb}.local.b32", None, kind, MemorySpace.PRIVATE, 4, ptx_policy(kind, [verb]), None
        )
        for verb, kind in (("ld", MemoryAccessKind.LOAD), ("st", MemoryAccessKind.STORE))
    )
    resources = KernelResources(None, 0, 0, 0, 4096)
    program = LaneProgram("kernel", "sm_90", 32, 0, (), resources, None, (load, store), ())
    machine = machine_of("sm_90", groups=1, shared=227 << 10)
    observer = TrafficObserver(program, machine, 1, 1, 1)
    for word in stored:
        observer(of_one_warp(1, word))
    observer(of_one_warp(0, loaded))
    counters = observer.traffic().counters
    found = [counters.get(f"{LOOKUPS}_{each}.sum", Counted(0, known)) for each in ("hit", "miss")]
    assert found == [Counted(hits, known), Counted(misses, known)]
    back = counters.get("l1tex__m_xbar2l1tex_read_sectors.sum", Counted(0, known))
    assert back == Counted(misses, known)


def test_a_vector_of_local_memory_is_a_request_for_each_word() -> None:
    traffic, _ = traffic_of(kernel("none", "i64"), "sm_90")
    requests = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"
    assert traffic.counters[requests].value == 2 * 2


def test_waves_have_private_memory_of_their_own() -> None:
    """Stores of two work-groups make twice as many lines dirty, though their addresses are equal."""
    one, two = (traffic_of(kernel("none", "i32"), "gfx90a", groups)[0] for groups in (1, 2))
    output = 256 // 128
    assert (one.end_lines - output) * 2 == two.end_lines - output
    assert {each.level for each in two.instructions[0].levels} <= set(CacheLevel)
