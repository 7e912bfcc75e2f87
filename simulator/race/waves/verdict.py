"""The verdict on a launch in which nothing is wrong, by executing all of its waves together.

One order shows as much as all, of the kernels of ``threads.plain``. Every other kernel, and every
launch in which something may be wrong, is left to ``simulator.threads``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencewright.lowering.code.effects import Kind
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.program import (
    LaneProgram,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.race.waves.launch import waves_of
from fencewright.simulator.race.waves.observer import NotShown, Step, WaveObserver
from fencewright.simulator.threads.compile import site_of
from fencewright.simulator.threads.launch import (
    Launch,
    Module,
    settled,
)
from fencewright.simulator.threads.observer import Site
from fencewright.simulator.threads.plain import order_matters, rounds

MOST_INSTRUCTIONS = 100_000
"""Instructions that one wave executes at most."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A launch without a finding: its instructions, those executed, and its accesses."""

    sites: tuple[Site, ...]
    executed: set[int]
    checked: int


def shown(module: Module, launch: Launch, given: Mapping[int, bytes]) -> Shown | None:
    """A launch executed in one order, as good as any; None where something may be wrong.

    ``given``: the bytes that arrays begin with, by argument.
    """
    try:
        return _shown(module, launch, given)
    except (NotShown, execution.LaunchError):
        return None


def _shown(module: Module, launch: Launch, given: Mapping[int, bytes]) -> Shown:
    kernel, launch = settled(module, launch)
    assert launch.block is not None
    sites = tuple(
        site_of(each, number, kernel, module.ptx.files)
        for number, each in enumerate(kernel.instructions)
    )
    if reason := order_matters(sites):
        raise NotShown(reason)
    waves = waves_of(module, kernel, launch, given)
    program, asked, memory = waves.program, waves.launch, waves.memory
    variables = module.ptx.variables
    if any(variables[each.name].space == "const" for each in program.variables):
        raise NotShown("constant memory, whose reads are not counted")
    steps = _steps(program, sites)
    observer = WaveObserver(steps, memory, asked.groups, asked.threads, waves.shared)
    execute(program, asked, memory, observer, limit=MOST_INSTRUCTIONS, resident=waves.resident)
    return Shown(sites, observer.executed, observer.accesses)


# Programs


def _steps(program: LaneProgram, sites: tuple[Site, ...]) -> tuple[Step, ...]:
    """The instructions of a program as shadow memory has them."""

    def steps() -> Iterator[Step]:
        for each in program.instructions:
            assert each.place is not None
            site = sites[each.place.line]
            opcode = site.instruction.statement.opcode
            if not isinstance(each, MemoryInstruction):
                yield Step(site.number, is_barrier=each.joins)
                continue
            yield Step(
                site.number,
                None if each.space is MemorySpace.PRIVATE else each.space,
                each.width,
                opcode.vector,
                opcode.kind is Kind.STORE,
                opcode.kind is Kind.RMW,
                site.reads_only,
                is_exact,
            )

    is_exact = not rounds(sites)
    return tuple(steps())
