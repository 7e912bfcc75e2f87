"""Kernels run lane by lane: what they compute, how often they execute, and what is refused."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lane_kernels import EXAMPLES, example, executions, lowered, of_ptx, run
from numpy.typing import NDArray
from processor import slowness

from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import (
    ArgumentValue,
    BufferOfSize,
    Launch,
    LaunchError,
    allocate,
)
from fencewright.simulator.execution.program import LaneProgram

RANDOM = np.random.default_rng(1)


def test_a_copy() -> None:
    words = RANDOM.integers(0, 1 << 32, 4096, dtype=np.uint32)
    program = example("memory/copy")
    memory, found = run(program, 8, 256, [words, BufferOfSize(8 * 256 * 4), 2])
    assert (memory.contents("argument 1", np.uint32) == words[::2]).all()
    assert executions(program, found) == {"ld.weak.global.b32": 64, "st.weak.global.b32": 64}
    assert [each.addresses.shape for each in found] == [(64, 32), (64, 32)]


def test_an_execution_leaves_the_memory_that_it_is_given() -> None:
    program = example("memory/copy")
    words = RANDOM.integers(1, 1 << 32, 4096, dtype=np.uint32)
    launch = Launch((8, 1, 1), (256, 1, 1), (words, BufferOfSize(8 * 256 * 4), 2))
    memory = allocate(program, launch)
    left = execute(program, launch, memory, lambda _: None)
    assert not memory.contents("argument 1").any()
    assert (left.contents("argument 1", np.uint32) == words[::2]).all()
    assert (left.copy().bytes == left.bytes).all()
    assert execute(program, launch, memory, lambda _: None, in_place=True) is memory
    assert (memory.bytes == left.bytes).all()


def test_data_between_zeros_is_copied() -> None:
    """Memory is filled in pieces, and pieces of zeros are left out."""
    words = zeros(1 << 20)
    words[[0, 300_000, 600_001, -1]] = 1, 2, 3, 4
    program = example("memory/copy")
    launch = Launch((1, 1, 1), (256, 1, 1), (words, BufferOfSize(1024), 1))
    memory = allocate(program, launch)
    assert (memory.contents("argument 0", np.uint32) == words).all()
    assert (memory.copy().bytes == memory.bytes).all()


BEHIND = """
func.func @k(%i: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %z: !llvm.ptr<1>)
    attributes {gpu.kernel} {
  %id = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %t = arith.index_cast %id : index to i32
  %p = llvm.getelementptr %i[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v = scoped.load weak %p : !llvm.ptr<1> -> i32
  %q = llvm.getelementptr %x[%v] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %w = scoped.load weak %q : !llvm.ptr<1> -> i32
  scoped.store weak %w, %p : i32, !llvm.ptr<1>
  func.return
}
"""
PEAK = """
import resource, sys
from fencewright.tools import fence_sim
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert fence_sim.main(sys.argv[1:]) == 0
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, file=sys.stderr)
"""


def test_arguments_that_nobody_reads_take_no_memory(tmp_path: Path) -> None:
    """3 GiB of zeros, some known and some not, of which a sample of the work-groups reads one KiB."""
    path = tmp_path / "k.mlir"
    path.write_text(BEHIND)
    gib = 1 << 30
    values = ["iota:i32:1024", f"i32:{gib // 4}", f"i32:{gib // 4}", f"bytes:{gib}"]
    words = ["--grid", "16384", "--block", "256", "--sample", "4"]
    command = ["traffic", str(path), "--mcpu", "sm_90", *words]
    command += [word for value in values for word in ("--arg", value)]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True
    )
    assert "4 of 16,384 work-groups" in done.stdout
    assert int(done.stderr) < 200


# The kernels of the examples


def zeros(words: int) -> NDArray[np.uint32]:
    return np.zeros(words, dtype=np.uint32)


def test_spin_lock() -> None:
    memory, _ = run(example("kernels/spin_lock"), 6, 128, [zeros(1), zeros(128), 3])
    assert (memory.contents("argument 1", np.uint32) == 6 * 3).all()


def test_ticket_lock() -> None:
    arguments = [zeros(1), zeros(1), zeros(128), 3]
    memory, _ = run(example("kernels/ticket_lock"), 6, 128, arguments)
    assert (memory.contents("argument 2", np.uint32) == 6 * 3).all()


def test_grid_barrier() -> None:
    arguments = [zeros(1), zeros(10), zeros(5 * 256), 7]
    memory, _ = run(example("kernels/grid_barrier"), 5, 256, arguments)
    assert (memory.contents("argument 2", np.uint32) == 7 * 6 // 2).all()


def test_look_back_scan() -> None:
    tiles = 40
    words = RANDOM.integers(0, 32, tiles * 4096, dtype=np.uint32)
    arguments = [zeros(1), zeros(2 * tiles), words, BufferOfSize(4 * len(words))]
    memory, _ = run(example("kernels/look_back_scan"), tiles, 256, arguments)
    assert (memory.contents("argument 3", np.uint32) == np.cumsum(words, dtype=np.uint32)).all()


def test_split_k_semaphore() -> None:
    tiles, columns = 2, 512
    x = RANDOM.integers(0, 4, 512).astype(np.float32)
    a = RANDOM.integers(0, 4, (512, columns)).astype(np.float32)
    program = example("kernels/split_k_semaphore")
    arguments = [zeros(tiles), x, a, np.zeros(columns, dtype=np.float32), tiles, 16]
    memory, _ = run(program, (tiles, 4, 1), 256, arguments)
    assert (memory.contents("argument 3", np.float32) == x @ a).all()


def test_mbarrier_pipeline() -> None:
    groups, tiles = 2, 16
    words = RANDOM.integers(0, 1 << 32, (groups, 16 * 4, 128, 4), dtype=np.uint32)
    arguments = [words, zeros(groups * 128), tiles]
    memory, _ = run(example("kernels/mbarrier_pipeline", "sm_90a"), groups, 160, arguments)
    sums = words.sum(axis=(1, 3), dtype=np.uint32).reshape(-1)
    assert (memory.contents("argument 1", np.uint32) == sums).all()


# Divergence: as often as a profiler counts

COUNTED = """
func.func @kernel(%out: !llvm.ptr<1>, %in: !llvm.ptr<1>) attributes {gpu.kernel} {
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %t = arith.index_cast %tid : index to i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %thirty = arith.constant 30 : i32
  %at = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  BODY
}
"""


def counted(body: str, block: int = 64) -> tuple[list[int], dict[str, int], list[int]]:
    """What a kernel leaves in 64 words, how often it executed, and lanes active in each row."""
    program = lowered(COUNTED.replace("BODY", body))
    memory, found = run(program, 1, block, [zeros(64), np.arange(64, dtype=np.uint32)])
    lanes = [int(n) for each in found for n in each.active.sum(axis=1)]
    return memory.contents("argument 0", np.uint32).tolist(), executions(program, found), lanes


STORE, LOAD = "st.weak.global.b32", "ld.weak.global.b32"


def test_two_sides_run_one_after_the_other_and_meet() -> None:
    body = """
      %odd = arith.andi %t, %one : i32
      %is = arith.cmpi eq, %odd, %one : i32
      cf.cond_br %is, ^a, ^b
    ^a:
      scoped.store weak %one, %at : i32, !llvm.ptr<1>
      cf.br ^end
    ^b:
      scoped.store weak %two, %at : i32, !llvm.ptr<1>
      cf.br ^end
    ^end:
      scoped.store weak %three, %at : i32, !llvm.ptr<1>
      func.return"""
    words, counts, lanes = counted(body)
    assert words == [3] * 64
    assert counts == {STORE: 2 + 2 + 2}
    assert sorted(lanes) == [16, 16, 16, 16, 32, 32]


def test_a_wave_that_agrees_runs_one_side() -> None:
    body = """
      %first = arith.constant 32 : i32
      %is = arith.cmpi ult, %t, %first : i32
      cf.cond_br %is, ^a, ^end
    ^a:
      scoped.store weak %one, %at : i32, !llvm.ptr<1>
      cf.br ^end
    ^end:
      func.return"""
    words, counts, lanes = counted(body)
    assert words == [1] * 32 + [0] * 32
    assert counts == {STORE: 1}
    assert lanes == [32]


def test_a_loop_runs_as_often_as_its_longest_lane() -> None:
    """Lane n goes round n mod 4 times; all store once after it."""
    body = """
      %times = arith.andi %t, %three : i32
      cf.br ^head(%zero, %zero : i32, i32)
    ^head(%i: i32, %sum: i32):
      %more = arith.cmpi ult, %i, %times : i32
      cf.cond_br %more, ^body, ^end
    ^body:
      %from = llvm.getelementptr %in[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %x = scoped.load weak %from : !llvm.ptr<1> -> i32
      %new = arith.addi %sum, %x : i32
      %next = arith.addi %i, %one : i32
      cf.br ^head(%next, %new : i32, i32)
    ^end:
      scoped.store weak %sum, %at : i32, !llvm.ptr<1>
      func.return"""
    words, counts, lanes = counted(body)
    assert words == [0, 0, 1, 3] * 16
    assert counts == {LOAD: 3 * 2, STORE: 2}
    assert lanes == [24, 24, 16, 16, 8, 8, 32, 32]


def test_lanes_that_returned_early_are_inactive() -> None:
    body = """
      %is = arith.cmpi uge, %t, %thirty : i32
      cf.cond_br %is, ^end, ^go
    ^end:
      func.return
    ^go:
      scoped.store weak %one, %at : i32, !llvm.ptr<1>
      func.return"""
    words, counts, lanes = counted(body)
    assert words == [1] * 30 + [0] * 34
    assert counts == {STORE: 1}
    assert lanes == [30]


def test_the_last_wave_has_as_many_lanes_as_threads() -> None:
    body = "scoped.store weak %one, %at : i32, !llvm.ptr<1>\n func.return"
    _, counts, lanes = counted(body, 40)
    assert counts == {STORE: 2}
    assert lanes == [32, 8]


LOCKED_LANES = """
      cf.br ^try
    ^try:
      %old, %got = scoped.cmpxchg acquire relaxed agent %in, %zero, %one : !llvm.ptr<1>, i32
      cf.cond_br %got, ^in, ^try
    ^in:
      %x = scoped.load weak %out : !llvm.ptr<1> -> i32
      %y = arith.addi %x, %one : i32
      scoped.store weak %y, %out : i32, !llvm.ptr<1>
      scoped.store release agent %zero, %in : i32, !llvm.ptr<1>
      func.return"""


def test_lanes_of_a_wave_that_wait_for_each_other() -> None:
    """A lock that each lane takes: who has it goes on though the others of the wave still poll."""
    program = lowered(COUNTED.replace("BODY", LOCKED_LANES))
    memory, _ = run(program, 2, 32, [zeros(1), zeros(1)])
    assert memory.contents("argument 0", np.uint32).tolist() == [2 * 32]


def test_a_wave_polls_while_others_work() -> None:
    """Few polls: those who have work go first."""
    program = example("kernels/ticket_lock")
    _, found = run(program, 20, 128, [zeros(1), zeros(1), zeros(128), 2])
    polls = executions(program, found)["ld.relaxed.gpu.global.b32"]
    assert 20 * 2 <= polls < 20 * 2 * 30


def test_work_groups_begin_where_others_have_ended() -> None:
    words = np.arange(4096, dtype=np.uint32)
    program = example("memory/copy")
    for resident in (1, 3):
        memory, found = run(program, 16, 256, [words, zeros(4096), 1], resident=resident)
        assert (memory.contents("argument 1", np.uint32) == words).all()
        assert max(len(each.groups) for each in found) == 8 * resident
        assert sorted({int(group) for each in found for group in each.groups}) == [*range(16)]


def test_a_sample_is_the_first_work_groups() -> None:
    _, found = run(example("memory/copy"), 16, 256, [zeros(4096), zeros(4096), 1], sample=3)
    assert sorted({int(group) for each in found for group in each.groups}) == [0, 1, 2]


# Where a hot word is

HOT = """
  %p = ptx.param 0 : !ptx.reg<b64>
  %t = ptx.special "tid.x" : !ptx.reg<b32>
  %old = ptx.atomic "atom.relaxed.gpu.global.OPERATION" %p, %t : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b32>
  %four = ptx.const 4 : !ptx.reg<b32>
  %w = ptx.alu "cvt.u64.u32"(%t) : (!ptx.reg<b32>) -> !ptx.reg<b64>
  %two = ptx.const 2 : !ptx.reg<b32>
  %o = ptx.alu "shl.b64"(%w, %two) : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b64>
  %q = ptx.param 1 : !ptx.reg<b64>
  %at = ptx.alu "add.s64"(%q, %o) : (!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>
  ptx.store "st.weak.global.b32" %at, %old : !ptx.reg<b64>, !ptx.reg<b32>
  ptx.ret"""


@pytest.mark.parametrize(
    ("operation", "fold"),
    [
        ("add.u32", np.add), ("max.u32", np.maximum), ("min.u32", np.minimum), ("or.b32", np.bitwise_or),
        ("and.b32", np.bitwise_and), ("xor.b32", np.bitwise_xor), ("max.s32", np.maximum),
        ("exch.b32", None), ("inc.u32", None),
    ],
)  # fmt: skip
def test_atomics_of_all_lanes_on_one_word(operation: str, fold: np.ufunc | None) -> None:
    program = of_ptx(HOT.replace("OPERATION", operation), "64, 64")
    first = np.array([0x55], dtype=np.uint32)
    memory, _ = run(program, 1, 256, [first, zeros(256)])
    found = memory.contents("argument 1", np.uint32)
    lanes = np.arange(256, dtype=np.uint32)
    if fold is not None:
        every = fold.accumulate(np.concatenate([first, lanes]))
    elif operation.startswith("exch"):
        every = np.concatenate([first, lanes])
    else:
        every = np.zeros(257, dtype=np.uint32)
        every[0] = 0x55
        for n in range(256):
            every[n + 1] = 0 if every[n] >= n else every[n] + 1
    assert (found == every[:-1]).all()
    assert memory.contents("argument 0", np.uint32) == every[-1]


def test_memory_that_was_given_is_not_changed() -> None:
    program = example("memory/copy")
    launch = Launch((1, 1, 1), (256, 1, 1), (np.arange(256, dtype=np.uint32), zeros(256), 1))
    before = allocate(program, launch)
    execute(program, launch, before, lambda _: None)
    assert not before.contents("argument 1").any()


# Speed

MANY = 100


def many_accesses() -> str:
    lines = [
        '%p = ptx.param 0 : !ptx.reg<b64>', '%q = ptx.param 1 : !ptx.reg<b64>',
        '%t = ptx.special "tid.x" : !ptx.reg<b32>', '%g = ptx.special "ctaid.x" : !ptx.reg<b32>',
        '%c = ptx.const 256 : !ptx.reg<b32>',
        '%m = ptx.alu "mul.lo.s32"(%g, %c) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>',
        '%i = ptx.alu "add.s32"(%m, %t) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>',
        '%w = ptx.alu "cvt.s64.s32"(%i) : (!ptx.reg<b32>) -> !ptx.reg<b64>',
        '%two = ptx.const 2 : !ptx.reg<b32>',
        '%o = ptx.alu "shl.b64"(%w, %two) : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b64>',
        '%a0 = ptx.alu "add.s64"(%p, %o) : (!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>',
        '%b0 = ptx.alu "add.s64"(%q, %o) : (!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>',
        '%s = ptx.const 64 : !ptx.reg<b64>',
    ]  # fmt: skip
    for n in range(MANY // 2):
        lines += [
            f'%v{n} = ptx.load "ld.weak.global.b32" %a{n} : !ptx.reg<b64> -> !ptx.reg<b32>',
            f'%u{n} = ptx.alu "add.s32"(%v{n}, %i) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>',
            f'ptx.store "st.weak.global.b32" %b{n}, %u{n} : !ptx.reg<b64>, !ptx.reg<b32>',
            f'%a{n + 1} = ptx.alu "add.s64"(%a{n}, %s) : (!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>',
            f'%b{n + 1} = ptx.alu "add.s64"(%b{n}, %s) : (!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>',
        ]
    return "\n".join([*lines, "ptx.ret"])


def test_a_thousand_work_groups_take_less_than_five_seconds() -> None:
    program = of_ptx(many_accesses(), "64, 64")
    size = 1024 * 256 * 4 + 64 * MANY
    start = time.process_time()
    _, found = run(program, 1024, 256, [BufferOfSize(size), BufferOfSize(size)])
    assert time.process_time() - start < 5 * slowness()
    assert sum(executions(program, found).values()) == 1024 * 8 * MANY


# What cannot be


def error(
    program: LaneProgram, grid: int, block: int, arguments: Sequence[ArgumentValue], **more: Any
) -> str:
    with pytest.raises(LaunchError) as raised:
        run(program, grid, block, arguments, **more)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_beyond_a_buffer() -> None:
    message = error(example("memory/copy"), 2, 256, [zeros(512), BufferOfSize(1600), 1])
    assert message == (
        "out of bounds: 4 bytes at byte 1600 of argument 1, which has 1600 bytes; give it 1604 or "
        "more, at memory/copy.mlir:18 (st.weak.global.b32), thread 144 of block 1"
    )


def test_in_no_buffer() -> None:
    body = """
      %far = llvm.inttoptr %t : i32 to !llvm.ptr<1>
      scoped.store weak %one, %far : i32, !llvm.ptr<1>
      func.return"""
    message = error(lowered(COUNTED.replace("BODY", body)), 1, 32, [zeros(1), zeros(1)])
    assert message.startswith("out of bounds: 4 bytes at 0x0, where there is nothing, at ")


def test_unaligned() -> None:
    body = """
      %next = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      scoped.store weak %one, %next : i32, !llvm.ptr<1>
      func.return"""
    message = error(lowered(COUNTED.replace("BODY", body)), 1, 32, [zeros(64), zeros(64)])
    assert "unaligned: 4 bytes at byte 1 of argument 0, which is no multiple of 4, at" in message
    assert message.endswith(", thread 1 of block 0")


def test_beyond_shared_memory() -> None:
    text = "llvm.mlir.global internal @room() {addr_space = 3 : i32} : !llvm.array<4 x i32>\n"
    body = """
      %room = llvm.mlir.addressof @room : !llvm.ptr<3>
      %own = llvm.getelementptr %room[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      scoped.store weak %one, %own : i32, !llvm.ptr<3>
      func.return"""
    program = lowered(text + COUNTED.replace("BODY", body))
    message = error(program, 1, 32, [zeros(64), zeros(64)])
    assert "4 bytes at byte 16 of shared memory, which has 16 bytes; a launch may" in message
    assert message.endswith(", thread 4 of block 0")
    memory, _ = run(program, 1, 4, [zeros(64), zeros(64)])
    assert not memory.contents("argument 0").any()


def test_an_address_that_comes_of_data_nobody_gave() -> None:
    body = """
      %where = llvm.getelementptr %in[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %index = scoped.load weak %where : !llvm.ptr<1> -> i32
      %to = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      scoped.store weak %one, %to : i32, !llvm.ptr<1>
      func.return"""
    program = lowered(COUNTED.replace("BODY", body))
    message = error(program, 1, 32, [zeros(64), BufferOfSize(256)])
    assert "an address comes of what 'argument 1' holds, of which only the size is given" in message
    run(program, 1, 32, [zeros(64), zeros(64)])
    run(program, 1, 32, [BufferOfSize(256), np.arange(64, dtype=np.uint32)])


def test_what_the_kernel_wrote_itself_is_known() -> None:
    body = """
      scoped.store weak %t, %at : i32, !llvm.ptr<1>
      %index = scoped.load weak %at : !llvm.ptr<1> -> i32
      %to = llvm.getelementptr %in[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      scoped.store weak %one, %to : i32, !llvm.ptr<1>
      func.return"""
    program = lowered(COUNTED.replace("BODY", body))
    memory, _ = run(program, 1, 32, [BufferOfSize(128), BufferOfSize(128)])
    assert memory.contents("argument 1", np.uint32).tolist() == [1] * 32


def test_a_loop_without_an_end() -> None:
    body = """
      cf.br ^loop(%zero : i32)
    ^loop(%i: i32):
      %n = arith.addi %i, %one : i32
      %x = scoped.load weak %in : !llvm.ptr<1> -> i32
      cf.br ^loop(%n : i32)"""
    program = lowered(COUNTED.replace("BODY", body))
    message = error(program, 1, 64, [zeros(64), zeros(64)], limit=1000)
    assert message.startswith("1000 instructions of a wave are not enough: a loop does not end")
    assert ", at kernel.mlir:16, thread " in message


def test_a_loop_that_stores_the_same_again_hangs() -> None:
    body = """
      cf.br ^loop(%zero : i32)
    ^loop(%i: i32):
      %n = arith.addi %i, %one : i32
      scoped.store relaxed agent %one, %at : i32, !llvm.ptr<1>
      %x = scoped.load relaxed agent %in : !llvm.ptr<1> -> i32
      %no = arith.cmpi eq, %x, %zero : i32
      cf.cond_br %no, ^loop(%n : i32), ^end
    ^end:
      func.return"""
    program = lowered(COUNTED.replace("BODY", body))
    assert "hang: wave 0 of work-group 0" in error(program, 1, 64, [zeros(64), zeros(64)])


def test_polling_what_nobody_writes() -> None:
    message = error(example("kernels/spin_lock"), 2, 128, [np.ones(1, np.uint32), zeros(128), 1])
    assert message == (
        "kernels/spin_lock.mlir:23:3: hang: wave 0 of work-group 0 and 1 other poll at "
        "atom.acquire.gpu.global.exch.b32 "
        "(kernels/spin_lock.mlir:23); wave 0 of work-group 0 and 7 others wait at "
        "barrier.sync.aligned 0 (kernels/spin_lock.mlir:27); nothing changes any more"
    )


def test_a_barrier_that_not_all_reach() -> None:
    body = """
      %is = arith.cmpi eq, %t, %zero : i32
      cf.cond_br %is, ^wait, ^spin
    ^wait:
      scoped.barrier workgroup
      func.return
    ^spin:
      %x = scoped.load relaxed agent %in : !llvm.ptr<1> -> i32
      %no = arith.cmpi eq, %x, %zero : i32
      cf.cond_br %no, ^spin, ^end
    ^end:
      func.return"""
    program = lowered(COUNTED.replace("BODY", body))
    message = error(program, 1, 64, [zeros(64), zeros(64)])
    assert "wave 0 of work-group 0 and 1 other poll at ld.relaxed" in message
    assert "wave 0 of work-group 0 waits at barrier.sync 0" in message


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            [zeros(1), zeros(1)],
            "copy takes 3 arguments (argument 0 of 64 bits, argument 1 of 64 bits, "
            "argument 2 of 32 bits), not 2",
        ),
        ([1, zeros(1), 1], "argument 0 is a buffer: give its size in bytes or an array"),
        ([zeros(1), zeros(1), zeros(1)], "argument 2 is a number of 32 bits, not a buffer"),
        ([zeros(1), zeros(1), 1 << 32], "argument 2 has 32 bits: 4294967296 does not fit"),
        ([zeros(1), zeros(1), "x"], "argument 2 is a number of 32 bits, not 'x'"),
        ([zeros(1), BufferOfSize(0), 1], "argument 1: a buffer of 0 bytes: at least 1"),
        ([zeros(1), BufferOfSize(1 << 40), 1], "at most 17179869184 can be executed"),
        ([np.array([None]), zeros(1), 1], "argument 0: an array of object, not of numbers"),
    ],
)
def test_arguments_that_cannot_be(arguments: list[Any], reason: str) -> None:
    assert reason in error(example("memory/copy"), 1, 256, arguments)


def test_a_launch_that_cannot_be() -> None:
    program, arguments = example("memory/copy"), [zeros(1), zeros(1), 1]
    assert "compiled for blocks of 256x1x1 threads, not 128x1x1" in error(
        program, 1, 128, arguments
    )
    assert "1 is the least of each" in error(program, 0, 256, arguments)
    assert "a sample of 0 work-groups" in error(program, 1, 256, arguments, sample=0)
    free = lowered(COUNTED.replace("BODY", "func.return"))
    assert "a block of 2048 threads: 1024 are the most" in error(free, 1, 2048, [zeros(1)] * 2)
    assert "300000 bytes of shared memory: 232448 are the most" in error(
        free, 1, 32, [zeros(1)] * 2, shared=300_000
    )


# Vectors


@pytest.mark.parametrize(
    ("count", "type", "size"),
    [(2, "b8", 1), (4, "u8", 1), (4, "s8", 1), (2, "b16", 2), (4, "u16", 2), (2, "b32", 4),
     (4, "f32", 4), (2, "b64", 8), (8, "b32", 4)],
)  # fmt: skip
@pytest.mark.parametrize("space", ["global", "shared"])
def test_vectors_have_a_register_for_each_element(
    count: int, type: str, size: int, space: str
) -> None:
    """Read in order, written in the reverse order, a vector further by an offset of the address."""
    width = count * size
    register = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}[size]
    names = [f"{{e{n}}}" for n in range(count)]
    forwards, backwards = ", ".join(names), ", ".join(reversed(names))
    room = "{room}" if space == "shared" else "{out}"
    lines = [
        *(f".reg .{register} {name}" for name in names),
        ".reg .b64 {from}", "add.s64 {from}, {in}, {own}", ".reg .b64 {to}",
        "add.s64 {to}, " + room + ", {own}",
        f"ld.global.v{count}.{type} {{{forwards}}}, [{{from}}+{width}]",
        f"st.{space}.v{count}.{type.replace('s8', 'b8')} [{{to}}], {{{backwards}}}",
    ]  # fmt: skip
    if space == "shared":
        sink = ", ".join(["_", *names[1:]])
        lines += [
            f"ld.shared.v{count}.{type} {{{sink}}}, [{{to}}]", ".reg .b64 {end}",
            "add.s64 {end}, {out}, {own}",
            f"st.global.v{count}.{type.replace('s8', 'b8')} [{{end}}], {{{forwards}}}",
        ]  # fmt: skip
    quoted = ", ".join(f'"{each}"' for each in lines)
    body = f"""
      %in = ptx.param 0 : !ptx.reg<b64>
      %out = ptx.param 1 : !ptx.reg<b64>
      %room = ptx.addressof @room : !ptx.reg<b64>
      %t = ptx.special "tid.x" : !ptx.reg<b32>
      %w = ptx.alu "cvt.u64.u32"(%t) : (!ptx.reg<b32>) -> !ptx.reg<b64>
      %shift = ptx.const {width.bit_length() - 1} : !ptx.reg<b32>
      %own = ptx.alu "shl.b64"(%w, %shift) : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b64>
      ptx.sequence ["in", "out", "room", "own"](%in, %out, %room, %own) [{quoted}]
        : (!ptx.reg<b64>, !ptx.reg<b64>, !ptx.reg<b64>, !ptx.reg<b64>) -> ()
      ptx.ret"""
    program = of_ptx(body, "64, 64", "ptx.variable @room size 1024 align 128", "32, 1, 1")
    given = RANDOM.integers(0, 256, (33, count, size), dtype=np.uint8)
    memory, found = run(program, 1, 32, [given, np.zeros(32 * width, dtype=np.uint8)])
    expected = given[1:, ::-1].copy()
    if space == "shared":
        expected[:, 0] = given[1:, 0]
    assert (memory.contents("argument 1").reshape(expected.shape) == expected).all()
    assert set(executions(program, found).values()) == {1}


def test_vector_atomics_and_odd_offsets_are_refused_not_dropped() -> None:
    lines = '"ld.global.b32 {x}, [{addr}+{x}]"'
    body = (
        "%p = ptx.param 0 : !ptx.reg<b64>\n%one = ptx.const 1 : !ptx.reg<b32>\n"
        f'ptx.sequence ["addr", "x"](%p, %one) [{lines}]\n'
        ": (!ptx.reg<b64>, !ptx.reg<b32>) -> ()\nptx.ret"
    )
    with pytest.raises(LaunchError, match="is not executed"):
        of_ptx(body)


# What the front end refuses


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            '%p = ptx.param 0 : !ptx.reg<b64>\n'
            '%v = ptx.load "ld.global.v4.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>\nptx.ret',
            "a vector has a register for each element",
        ),
        (
            '%p = ptx.param 0 : !ptx.reg<b64>\n%one = ptx.const 1 : !ptx.reg<b32>\n'
            'ptx.sequence ["addr", "one"] (%p, %one)\n'
            '["red.global.add.v2.f32 [{addr}], {{one}, {one}}"] '
            ': (!ptx.reg<b64>, !ptx.reg<b32>) -> ()\nptx.ret',
            "atomics of vectors",
        ),
        ('%c = ptx.const 1 : !ptx.reg<b16>\n'
         '%v = ptx.alu "fma.rn.oob.f16"(%c, %c, %c) '
         ': (!ptx.reg<b16>, !ptx.reg<b16>, !ptx.reg<b16>) -> !ptx.reg<b16>\nptx.ret',
         "'fma.rn.oob.f16': it is not executed: it has no formula"),
        ('ptx.sequence [] () ["multimem.red.relaxed.gpu.global.add.u32 [8], 1"] : () -> ()\nptx.ret',
         "multimem"),
        ('ptx.sequence [] () ["add.s32 {x}, {y}, 1"] : () -> ()\nptx.ret', "the operand '$s1_y' is not"),
    ],
)  # fmt: skip
def test_what_the_front_end_refuses(body: str, reason: str) -> None:
    with pytest.raises(LaunchError) as raised:
        of_ptx(body)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "async").glob("*.mlir")), ids=lambda path: path.stem
)
def test_every_asynchronous_example_is_executed(path: Path) -> None:
    chip = "sm_90a" if "tcgen05" not in path.read_text() else "sm_100a"
    assert example(f"async/{path.stem}", chip).blocks


def test_copies_without_registers() -> None:
    """cp.async of every width, and bulk copies in and out."""
    lines = [
        ".reg .b64 {from}", "add.s64 {from}, {in}, {own}", ".reg .b64 {to}",
        "add.s64 {to}, {room}, {own}",
        "cp.async.cg.shared.global [{to}], [{from}], 16", "cp.async.commit_group",
        "cp.async.wait_group 0",
    ]  # fmt: skip
    quoted = ", ".join(f'"{each}"' for each in lines)
    body = f"""
      %in = ptx.param 0 : !ptx.reg<b64>
      %out = ptx.param 1 : !ptx.reg<b64>
      %room = ptx.addressof @room : !ptx.reg<b64>
      %t = ptx.special "tid.x" : !ptx.reg<b32>
      %w = ptx.alu "cvt.u64.u32"(%t) : (!ptx.reg<b32>) -> !ptx.reg<b64>
      %four = ptx.const 4 : !ptx.reg<b32>
      %own = ptx.alu "shl.b64"(%w, %four) : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b64>
      ptx.sequence ["in", "room", "own"](%in, %room, %own) [{quoted}]
        : (!ptx.reg<b64>, !ptx.reg<b64>, !ptx.reg<b64>) -> ()
      ptx.barrier "barrier.sync 0"
      %zero = ptx.const 0 : !ptx.reg<b32>
      %leads = ptx.alu "setp.eq.b32"(%t, %zero) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<pred>
      ptx.cond_bra %leads, ^out, ^end
    ^out:
      ptx.sequence ["destination", "source"](%out, %room)
        ["cp.async.bulk.global.shared::cta.bulk_group [{{destination}}], [{{source}}], 1024",
         "cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0"]
        : (!ptx.reg<b64>, !ptx.reg<b64>) -> ()
      ptx.bra ^end
    ^end:
      ptx.ret"""
    program = of_ptx(body, "64, 64", "ptx.variable @room size 1024 align 128", "64, 1, 1")
    words = RANDOM.integers(0, 1 << 32, 256, dtype=np.uint32)
    memory, found = run(program, 2, 64, [words, zeros(256)])
    assert (memory.contents("argument 1", np.uint32) == words).all()
    copies = [each for each in found if each.copied_to is not None]
    assert [each.addresses[0, 1] % (1 << 30) for each in copies] == [16, 0]
    assert [None if each.sizes is None else int(each.sizes[0, 0]) for each in copies] == [
        None,
        1024,
    ]
