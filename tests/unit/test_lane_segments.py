"""Kernels in segments: where lanes meet, which loops poll, which registers addresses come of."""

import pytest
from lane_kernels import example
from test_lane_execution_definition import Builder

from fencewright.simulator.execution.definition import meeting_blocks, targets
from fencewright.simulator.execution.program import EndLane, LaneProgram, MemoryStep
from fencewright.simulator.execution.segments import (
    EXIT,
    Join,
    address_registers,
    place_of,
    segments_of,
)


def reached(program: LaneProgram) -> set[int]:
    """The blocks that control can reach."""
    found, waiting = {0}, [0]
    while waiting:
        new = {*targets(program, waiting.pop())} - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("seed", range(30))
def test_lanes_meet_where_the_definition_says(seed: int) -> None:
    """Blocks are segments, cut after each barrier."""
    program = Builder(seed).program()
    segments = segments_of(program)
    last = [n for n, each in enumerate(segments) if not isinstance(each.end, Join)]
    first = [0, *(each + 1 for each in last)]
    meeting = meeting_blocks(program)
    for block in reached(program):
        wanted = EXIT if meeting[block] == EXIT else first[meeting[block]]
        assert segments[last[block]].meets == wanted


@pytest.mark.parametrize(
    ("name", "polls"),
    [
        ("kernels/spin_lock", ["atom.acquire.gpu.global.exch.b32"]),
        ("kernels/ticket_lock", ["ld.relaxed.gpu.global.b32"]),
        ("kernels/grid_barrier", ["ld.relaxed.gpu.global.b32"]),
        ("memory/matrix_product", []),
        ("memory/reduction", []),
    ],
)
def test_loops_that_poll(name: str, polls: list[str]) -> None:
    program = example(name)
    found = {
        program.instructions[step.instruction].text
        for segment in segments_of(program)
        if segment.spins
        for step in segment.steps
        if isinstance(step, MemoryStep)
    }
    assert sorted(found) == polls


def test_what_is_after_a_loop_comes_after_it() -> None:
    segments = segments_of(example("memory/matrix_product"))
    (last,) = (each for each in segments if isinstance(each.end, EndLane))
    assert last.rank == max(each.rank for each in segments)


def test_what_addresses_come_of() -> None:
    """The bins of a histogram come of its words; those of a copy do not."""
    for name, depends in (("memory/histogram", True), ("memory/copy", False)):
        program = example(name)
        loads = [
            step.result
            for block in program.blocks
            for step in block.steps
            if isinstance(step, MemoryStep) and step.result is not None
        ]
        assert bool(address_registers(program) & {*loads}) == depends


def test_the_place_of_a_segment() -> None:
    program = example("memory/copy")
    place = place_of(program, segments_of(program)[0])
    assert place is not None
    assert (place.file, place.line) == ("memory/copy.mlir", 17)
