"""Whole kernels beside what an H200 counted of the same launches: results, requests, sectors, wavefronts."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import some_of
from lane_kernels import example
from scripts import GPU_BENCHMARKS, load_script

from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, Memory, allocate
from fencewright.simulator.execution.program import Executed, LaneProgram, MemoryInstruction
from fencewright.simulator.performance.accesses.access import model_of

SCRIPT = load_script(GPU_BENCHMARKS / "memory_kernels.py")
MEASURED = Path(__file__).parents[1] / "data" / "memory" / "h200-kernels.txt"

POLLING = ("look-back scan", "spin lock")
"""How often they poll differs from run to run."""

BY_L1 = ("l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum")
"""What L1 has need not be fetched, and it joins stores: the counts of single accesses know neither."""

TAGS = "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum"
MORE = {("copy, stride 32", TAGS): 434}
"""Counted beyond the model: 0.7 %, where every lane misses a line of its own."""


@cache
def measured() -> dict[str, dict[str, int]]:
    return SCRIPT.counted(MEASURED)


def counts(program: LaneProgram, found: Executed) -> Counter[str]:
    """What the hardware counts of some waves' instruction."""
    instruction = program.instructions[found.instruction]
    if not isinstance(instruction, MemoryInstruction) or instruction.model is None:
        return Counter()
    model = model_of(instruction.model, program.target)
    addresses = np.where(found.active, found.addresses, 0)
    return Counter(
        {name: int(each.sum()) for name, each in model.count(addresses, found.active).items()}
    )


@cache
def run(name: str) -> tuple[Memory, list[list[int]], Counter[str]]:
    """Memory after a launch, what its buffers held before, and all counts."""
    what: Any = next(each for each in SCRIPT.LAUNCHES if each.name == name)
    program = example(what.file.removesuffix(".mlir"))
    given = [each.fill(each.count) for each in what.arguments if isinstance(each, SCRIPT.Buffer)]
    buffers = iter(given)
    arguments = tuple(
        np.array(next(buffers), dtype=np.uint32) if isinstance(each, SCRIPT.Buffer) else each
        for each in what.arguments
    )
    launch = Launch(what.grid, what.block, arguments)
    total: Counter[str] = Counter()

    def observe(found: Executed) -> None:
        total.update(counts(program, found))

    return execute(program, launch, allocate(program, launch), observe), given, total


NAMES = [each.name for each in SCRIPT.LAUNCHES]


def test_every_launch_was_measured() -> None:
    assert [*measured()] == NAMES


@pytest.mark.parametrize("name", some_of(NAMES, 5))
def test_results(name: str) -> None:
    what: Any = next(each for each in SCRIPT.LAUNCHES if each.name == name)
    memory, given, _ = run(name)
    left = memory.contents(f"argument {what.output}", np.uint32)
    wanted = what.result(given)
    assert wanted
    assert left.tolist()[: len(wanted)] == wanted


@pytest.mark.parametrize("name", some_of([each for each in NAMES if each not in POLLING], 4))
def test_counts_are_those_of_an_h200(name: str) -> None:
    _, _, total = run(name)
    counters = [each for each in measured()[name] if each in total and each not in BY_L1]
    assert len(counters) > 10
    for counter in counters:
        assert measured()[name][counter] == total[counter] + MORE.get((name, counter), 0), counter
