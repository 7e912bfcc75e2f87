"""Kernels run lane by lane: what they compute, how often they execute, and what is refused."""

import numpy as np
from lane_kernels import example, executions, run
from numpy.typing import NDArray

from fencewright.simulator.memory.launch import BufferOfSize

RANDOM = np.random.default_rng(1)


def test_a_copy() -> None:
    words = RANDOM.integers(0, 1 << 32, 4096, dtype=np.uint32)
    program = example("memory/copy")
    memory, found = run(program, 8, 256, [words, BufferOfSize(8 * 256 * 4), 2])
    assert (memory.contents("argument 1", np.uint32) == words[::2]).all()
    assert executions(program, found) == {"ld.weak.global.b32": 64, "st.weak.global.b32": 64}
    assert [each.addresses.shape for each in found] == [(64, 32), (64, 32)]


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
