"""The verdict on a launch in which nothing is wrong, by executing all of its waves together.

Of a kernel whose accesses are weak, or atomics whose order nobody sees, and whose lanes meet at
whole barriers, every order of threads gives the same values as long as there is no race, so that
the orders executed here show as much as those of ``simulator.threads``. Every other kernel, and
every launch in which something may be wrong, is left to these.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import Statement
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import (
    CrossLane,
    LaneBlock,
    LaneProgram,
    MemoryInstruction,
    MemorySpace,
    Values,
)
from fencewright.simulator.execution.program import Step as LaneStep
from fencewright.simulator.kernels.ptx.kernel import program_of
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import is_access
from fencewright.simulator.race.waves.observer import NotShown, Step, WaveObserver
from fencewright.simulator.semantics.formulas import FOLDS, formula_of
from fencewright.simulator.semantics.operands import literal
from fencewright.simulator.threads.compile import Layout, site_of
from fencewright.simulator.threads.launch import (
    Launch,
    Module,
    Same,
    Struct,
    Tensor,
    given_arguments,
    settled,
)
from fencewright.simulator.threads.memory import Memory
from fencewright.simulator.threads.observer import Site

MOST_INSTRUCTIONS = 100_000
"""Instructions that one wave executes at most."""
WAVES_AT_ONCE, MOST_MEMORY = 1024, 1 << 26
"""Waves that run together, and the bytes of shared and local memory that those may have."""
_WHOLE_WARP = 0xFFFFFFFF
_SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.PRIVATE)
_OF_OTHERS = ("%clock", "%globaltimer", "%envreg")
"""Special registers whose values depend on more than the thread."""
_MEETINGS = frozenset({"bar sync", "barrier sync", "bar warp sync"})
_LANES = frozenset({"shfl", "vote", "match", "redux", "elect"})
_COMMUTE = FOLDS - {"exch"}
_EVERYWHERE = (Scope.AGENT, Scope.SYSTEM)


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
    if launch.cluster != (1, 1, 1):
        raise NotShown("clusters")
    if any(isinstance(each, Same | Struct | Tensor) for each in launch.arguments):
        raise NotShown("arguments that share memory")
    sites = tuple(
        site_of(each, number, kernel, module.ptx.files)
        for number, each in enumerate(kernel.instructions)
    )
    _check(sites)
    program = _program(module, kernel)
    steps = _steps(program, sites)
    values = (
        int.from_bytes(value, "little")
        if array is None
        else np.frombuffer(array.data, dtype=np.uint8)[: array.size]
        for array, value in given_arguments(kernel, launch, Memory(), given)
    )
    asked = execution.Launch(launch.grid, launch.block, tuple(values), shared=launch.shared)
    memory = execution.allocate(program, asked)
    shared = program.resources.shared_bytes + launch.shared
    room = max(shared + asked.threads * program.resources.private_bytes, 1)
    found = Shown(sites, set(), 0)
    for order in ORDERS:
        observer = WaveObserver(steps, memory, asked.groups, asked.threads, shared)
        execute(
            program, asked, memory, observer, limit=MOST_INSTRUCTIONS,
            resident=max(min(WAVES_AT_ONCE // observer.waves, MOST_MEMORY // room), 1),
            is_reverse=order.is_reverse,
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
        if not _is_plain(each):
            raise NotShown(f"{each.opcode.name} is of another kind")
    atomics = [each.opcode for each in statements if each.kind is Kind.RMW]
    if len({(each.update, each.type) for each in atomics}) > 1:
        raise NotShown("atomics that may not commute")


def _is_plain(statement: Statement) -> bool:
    opcode, operands = statement.opcode, statement.operands
    if any(each.startswith(_OF_OTHERS) for each in operands):
        return False
    match opcode.kind:
        case Kind.COMPUTE:
            known = opcode.of_parameters or opcode.head in ("mov", "cvta")
            return known or formula_of(opcode) is not None
        case Kind.LANES:
            return opcode.head in _LANES and _is_of_all(operands[-1])
        case Kind.LOAD | Kind.STORE:
            return not statement.is_strong and _is_in_memory(statement)
        case Kind.RMW:
            is_result_used = opcode.head == "atom" and operands[0] != "_"
            is_near = opcode.spaces == (AddressSpace.LOCAL,)
            reaches = is_near or statement.scope in _EVERYWHERE
            is_relaxed = statement.ordering is Ordering.RELAXED and opcode.vector == 1
            commutes = opcode.update in _COMMUTE and opcode.width in (32, 64)
            return (
                not is_result_used
                and reaches
                and is_relaxed
                and commutes
                and _is_in_memory(statement)
            )
        case Kind.BARRIER:
            is_of_warp = statement.operation == "bar warp sync"
            is_whole = _is_of_all(operands[0]) if is_of_warp else operands in (("0",), ())
            return statement.operation in _MEETINGS and is_whole
        case Kind.BRANCH | Kind.END:
            return True
        case _:
            return False


def _is_of_all(mask: str) -> bool:
    return literal(mask, "b32") == _WHOLE_WARP


def _is_in_memory(statement: Statement) -> bool:
    opcode = statement.opcode
    return opcode.width in (8, 16, 32, 64) and all(each in _SPACES for each in opcode.spaces)


# Programs


def _program(module: Module, kernel: PtxFunction) -> LaneProgram:
    """The lanes of a kernel, whose instructions have their numbers for a line."""
    number_of = {id(each): number for number, each in enumerate(kernel.instructions)}

    def number(instruction: PtxInstruction) -> SourceLocation:
        return SourceLocation("", number_of[id(instruction)])

    layout = Layout(module.ptx, [kernel], module.declared, {})
    found = program_of(module.ptx, kernel, number, (layout.shared, layout.size))
    variables = module.ptx.variables
    if any(variables[each.name].space == "const" for each in found.variables):
        raise NotShown("constant memory, whose reads are not counted")
    blocks = (LaneBlock(tuple(map(_of_whole_warps, each.steps)), each.end) for each in found.blocks)
    return replace(found, blocks=tuple(blocks))


def _of_whole_warps(step: LaneStep) -> LaneStep:
    """A step that gives up where only some lanes exchange values: others may come later."""
    if not isinstance(step, CrossLane):
        return step
    compute: Callable[..., Values] = step.compute

    def whole(active: LaneFlags, *operands: Values) -> Values:
        if not active.all():
            raise NotShown("lanes exchange values in part")
        return compute(active, *operands)

    return replace(step, compute=whole)


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
