"""PTX run lane by lane computes what the program means: random programs, and every read-modify-write."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from campaigns import Share, draws
from hypothesis import HealthCheck, given, seed, settings
from lane_kernels import lowered, run
from numpy.typing import NDArray
from test_cdna_execution import (
    ARGUMENT_VALUES,
    Memory,
    Reference,
    buffer_of,
    combine,
    parse,
    programs,
)
from test_ptx_execution import CHIP_NAMES
from xdsl.dialects import func

from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import BASE, Launch, allocate

SIZE = 1 << 16


def outcome(text: str, chip: str, arguments: list[int]) -> dict[int, int]:
    """The bytes of the buffer that are not zero."""
    program = lowered(text, chip)
    buffer = np.zeros(SIZE, dtype=np.uint8)
    numbers = [
        each & (1 << bits) - 1 for each, bits in zip(arguments, (64, 32, 16, 8, 8), strict=True)
    ]
    what = Launch((1, 1, 1), (1, 1, 1), (buffer, *numbers, buffer))
    memory = allocate(program, what)
    # The last pointer is the first one once more, as a generic address.
    memory = replace(memory, values=(*memory.values[:-1], memory.values[0]))
    found = execute(program, what, memory, lambda _: None)
    bytes_ = found.contents("argument 0")
    return {BASE + int(n): int(bytes_[n]) for n in np.flatnonzero(bytes_)}


def expected(text: str, arguments: list[int]) -> dict[int, int]:
    function = next(op for op in parse(text).ops if isinstance(op, func.FuncOp))
    found: Memory = Reference({"pad": 0, "lds": 16}).run(function, [BASE, *arguments, BASE])
    return buffer_of(found)


SLOW: list[HealthCheck] = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.parametrize("share", draws(10))
def test_random_programs_compute_what_they_mean(share: Share) -> None:
    @seed(share.number)
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=SLOW)
    @given(programs(), CHIP_NAMES, ARGUMENT_VALUES)
    def check(text: str, chip: str, arguments: list[int]) -> None:
        assert outcome(text, chip, arguments) == expected(text, arguments)

    check()


# Read-modify-writes of every kind: one instruction or a loop

KERNEL = """
func.func @kernel(%p: !llvm.ptr<1>, %old: !llvm.ptr<1>, %in: !llvm.ptr<1>) attributes {{gpu.kernel}} {{
  %tid = "gpu.thread_id"() {{dimension = #gpu<dim x>}} : () -> index
  %t = arith.index_cast %tid : index to i32
  %some = arith.constant 3 : i32
  %word = arith.andi %t, %some : i32
  %at = llvm.getelementptr %p[%word] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
  %from = llvm.getelementptr %in[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
  %data = scoped.load weak %from : !llvm.ptr<1> -> {type}
  %was = scoped.atomic_rmw {kind} relaxed agent %at, %data : !llvm.ptr<1>, {type}
  %to = llvm.getelementptr %old[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
  scoped.store weak %was, %to : {type}, !llvm.ptr<1>
  func.return
}}
"""
FLOATS = (RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN)
THREADS, WORDS = 40, 4


def updated(
    kind: RmwKind, type_: str, chip: str, words: NDArray[Any], data: NDArray[Any]
) -> tuple[list[Any], list[Any]]:
    """The words after each of ``THREADS`` lanes has updated one of them, and what lanes found."""
    program = lowered(KERNEL.format(type=type_, kind=kind), chip)
    memory, _ = run(program, 1, THREADS, [words, np.zeros_like(data), data])
    left, found = (memory.contents(f"argument {n}", words.dtype) for n in range(2))
    return left.tolist(), found.tolist()


@pytest.mark.parametrize("chip", ["sm_70", "sm_90"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", [each for each in RmwKind if each not in FLOATS])
def test_read_modify_writes(kind: RmwKind, bits: int, chip: str) -> None:
    """Lanes with one address come one after another, also through a loop."""
    generator, dtype = np.random.default_rng(bits), np.dtype(f"u{bits // 8}")
    words, data = (
        generator.integers(0, 1 << bits, n, dtype=dtype, endpoint=False) if bits < 64
        else generator.integers(0, 1 << 63, n).astype(dtype) * 2
        for n in (WORDS, THREADS)
    )  # fmt: skip
    left, found = updated(kind, f"i{bits}", chip, words, data)
    now = words.tolist()
    for thread in range(THREADS):
        assert found[thread] == now[thread % WORDS]
        now[thread % WORDS] = combine(kind, now[thread % WORDS], int(data[thread]), bits)
    assert left == now


@pytest.mark.parametrize("type_", ["f32", "f64", "f16"])
@pytest.mark.parametrize("kind", FLOATS)
def test_read_modify_writes_of_floats(kind: RmwKind, type_: str) -> None:
    generator, dtype = np.random.default_rng(7), np.dtype(f"f{int(type_[1:]) // 8}")
    words, data = (generator.uniform(-9, 9, n).astype(dtype) for n in (WORDS, THREADS))
    left, found = updated(kind, type_, "sm_90", words, data)
    now = words.copy()
    combines = {
        RmwKind.FADD: np.add, RmwKind.FSUB: np.subtract, RmwKind.FMAX: np.maximum,
        RmwKind.FMIN: np.minimum,
    }  # fmt: skip
    for thread in range(THREADS):
        assert found[thread] == now[thread % WORDS]
        now[thread % WORDS] = combines[kind](now[thread % WORDS], data[thread])
    assert left == now.tolist()
