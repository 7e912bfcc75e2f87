"""The verdict on a launch in which nothing is wrong, by executing all of its waves together.

Of a kernel whose accesses are weak, or atomics whose order nobody sees, and whose lanes meet at
whole barriers, every order of threads gives the same values as long as there is no race, so that
the orders executed here show as much as those of ``simulator.threads``. Every other kernel, and
every launch in which something may be wrong, is left to these.
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
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import is_access
from fencewright.simulator.race.waves.launch import is_plain, waves_of
from fencewright.simulator.race.waves.observer import NotShown, Step, WaveObserver
from fencewright.simulator.threads.compile import site_of
from fencewright.simulator.threads.launch import (
    Launch,
    Module,
    settled,
)
from fencewright.simulator.threads.observer import Site

MOST_INSTRUCTIONS = 100_000
"""Instructions that one wave executes at most."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A launch without a finding: its instructions, those executed, and the accesses of all
    orders."""

    sites: tuple[Site, ...]
    executed: set[int]
    checked: int


def shown(module: Module, launch: Launch, given: Mapping[int, bytes]) -> Shown | None:
    """A launch executed in both orders; None where something may be wrong.

    ``given``: the bytes that arrays begin with, by argument. Raises ``LaunchError``.
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
    _check(sites)
    waves = waves_of(module, kernel, launch, given)
    program, asked, memory = waves.program, waves.launch, waves.memory
    variables = module.ptx.variables
    if any(variables[each.name].space == "const" for each in program.variables):
        raise NotShown("constant memory, whose reads are not counted")
    steps = _steps(program, sites)
    found = Shown(sites, set(), 0)
    for order in ORDERS:
        observer = WaveObserver(steps, memory, asked.groups, asked.threads, waves.shared)
        execute(
            program, asked, memory, observer, limit=MOST_INSTRUCTIONS,
            resident=waves.resident, is_reverse=order.is_reverse,
        )  # fmt: skip
        executed = found.executed | observer.executed
        found = Shown(sites, executed, found.checked + observer.accesses)
    missed = any(is_access(site) and site.number not in found.executed for site in sites)
    if missed and any(each.is_atomic for each in steps):
        raise NotShown("other orders may execute what these two have not")
    return found


# The kernels whose values do not depend on the order of threads


def _check(sites: tuple[Site, ...]) -> None:
    """Refuse a kernel with an instruction of another kind. Raises ``NotShown``."""
    statements = [each.instruction.statement for each in sites]
    for each in statements:
        if not is_plain(each):
            raise NotShown(f"{each.opcode.name} is of another kind")
    atomics = [each.opcode for each in statements if each.kind is Kind.RMW]
    if len({(each.update, each.type) for each in atomics}) > 1:
        raise NotShown("atomics that may not commute")


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

    is_exact = not any(
        opcode.kind is Kind.RMW and opcode.is_float
        for opcode in (each.instruction.statement.opcode for each in sites)
    )
    return tuple(steps())
