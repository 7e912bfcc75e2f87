"""Races shown on a GPU: a kernel and its right twin, with one side held up, and wrong results
counted.

What is right is what the twin leaves in its arrays when it is executed here, in two orders alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.simulator.gpu.delays import Delay, EarlyRead, Reach, delayed, twin_of
from fencewright.simulator.race.detector import Access, Race
from fencewright.simulator.race.findings import finding_of
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import Execution, executions, problem_of
from fencewright.simulator.threads.launch import (
    Launch,
    LaunchError,
    Module,
    Same,
    Size,
    arguments_of,
    kernel_named,
    settled,
)
from fencewright.simulator.threads.memory import Memory

_MOST_RACES = 3
"""Races of a kernel that are aimed at."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One text to run: the kernel or its twin as it is, or with one side of a race held up.

    ``aim``: the side, or "" of the text as it is.
    """

    is_twin: bool
    aim: str
    kernel: str
    ptx: str


@dataclass(frozen=True, slots=True)
class Case:
    """A launch, and its expected result.

    ``arguments``: of each the bytes that an array begins with, the bytes of a number, or the place
    of the argument whose array it is. ``expected``: by argument, the bytes of an array that every
    right execution leaves alike. ``findings``: the races that are aimed at.
    """

    name: str
    grid: Size
    block: Size
    cluster: Size
    shared: int
    arguments: tuple[bytearray | bytes | int, ...]
    expected: Mapping[int, bytes]
    findings: tuple[str, ...]
    variants: tuple[Variant, ...]


def case_of(name: str, module: Module, launch: Launch, twin: Module, twin_name: str) -> Case:
    """The case of a launch with a race and of a twin without one. Raises ``LaunchError``."""
    function, launch = settled(module, launch)
    other = kernel_named(twin, twin_name)
    runs = list(islice(executions(module, launch), len(ORDERS)))
    races = [
        (each, race)
        for each in runs
        for race in each.detector.races.values()
        if not race.same_value
    ]
    if any(each.space == "global" for each in module.ptx.variables.values()):
        raise LaunchError("variables in global memory are not reset from launch to launch")
    if not races:
        raise LaunchError(f"{function.name} has no race in this launch")
    aimed = {_sites(race): (each, race) for each, race in reversed(races)}
    first = [aimed[key] for key in list(aimed)[::-1][:_MOST_RACES]]
    expected = _expected(twin, other, launch)
    variants = [
        Variant(False, "", function.name, module.ptx.text),
        Variant(True, "", other.name, twin.ptx.text),
    ]
    for each, race in first:
        variants += _aimed(_aims(each, race, function), module, function, twin, other)
    assert launch.block is not None
    assert launch.cluster is not None
    return Case(
        name,
        launch.grid,
        launch.block,
        launch.cluster,
        launch.shared,
        tuple(_arguments(launch, function)),
        expected,
        tuple(finding_of(each.detector, race).text for each, race in first),
        tuple(dict.fromkeys(variants)),
    )


def _sites(race: Race) -> tuple[int, int]:
    one, other = sorted((race.first.site, race.second.site))
    return one, other


def _expected(twin: Module, function: PtxFunction, launch: Launch) -> dict[int, bytes]:
    """The arrays that the twin leaves alike in both orders."""
    left: list[dict[int, bytes]] = []
    for each in islice(executions(twin, replace(launch, kernel=function.name)), len(ORDERS)):
        if not each.run.outcome.is_done:
            raise LaunchError(
                f"the twin does not come to its end: {problem_of(each.run) or 'it hangs'}"
            )
        if any(not race.same_value for race in each.detector.races.values()):
            raise LaunchError("the twin has a race itself")
        arrays = enumerate(each.run.arguments)
        left.append(
            {at: bytes(one.data[: one.size]) for at, one in arrays if one and not one.unknown}
        )
    expected = {at: data for at, data in left[0].items() if all(o[at] == data for o in left)}
    if not expected:
        raise LaunchError("what the twin leaves depends on the order of its threads")
    return expected


def _arguments(launch: Launch, function: PtxFunction) -> Iterator[bytearray | bytes | int]:
    arguments = arguments_of(function, launch, Memory())
    for (array, value), given, parameter in zip(
        arguments, launch.arguments, function.parameters, strict=True
    ):
        if isinstance(given, Same):
            yield given.argument
        elif array is None or parameter.size is not None:
            yield value
        else:
            yield bytearray(array.data[: array.size])


@dataclass(frozen=True, slots=True)
class _Aim:
    """A delay before ``at``, an instruction of the kernel, with its description."""

    text: str
    at: PtxInstruction
    delay: Delay
    early: EarlyRead | None = None


def _aimed(
    aims: Iterable[_Aim], module: Module, function: PtxFunction, twin: Module, other: PtxFunction
) -> Iterator[Variant]:
    """A kernel and its twin with each of some delays."""
    names = [each.name for each in function.parameters]
    for aim in aims:
        own = replace(aim.delay, instruction=aim.at.number)
        text = delayed(module.ptx, function, own, aim.early)
        yield Variant(False, aim.text, function.name, text)
        same = twin_of(function, aim.at, other)
        if same is None:
            continue
        early = aim.early
        if early is not None:
            early = replace(early, parameter=other.parameters[names.index(early.parameter)].name)
        own = replace(aim.delay, instruction=same.number)
        yield Variant(True, aim.text, other.name, delayed(twin.ptx, other, own, early))


def _aims(execution: Execution, race: Race, function: PtxFunction) -> Iterator[_Aim]:
    """Either side of a race held up; and a reader's block, once it has the place in its L1."""
    sites = execution.detector.sites
    sides = [
        each for each in (race.first, race.second) if sites[each.site].function == function.name
    ]
    early = _early_read(execution, race, function)
    for access in sides:
        at, delay = sites[access.site].instruction, _delay(execution, race, access)
        said = f"line {at.line} ({at.statement.opcode.name}), {delay.reach} held up"
        yield _Aim(said, at, delay)
        if early is not None and early.block != delay.block:
            yield _Aim(f"{said}, read early by the other", at, delay, early)
    if early is not None:
        at = function.instructions[0]
        said = "the reading block held up at its start, after an early read"
        yield _Aim(said, at, Delay(0, Reach.BLOCK, early.block, 0), early)


def _delay(execution: Execution, race: Race, access: Access) -> Delay:
    """The loop before an access, in the threads that the other side is not of."""
    detector = execution.detector
    other = race.second if access is race.first else race.first
    mine, theirs = (
        detector.machine.threads[detector.home(each.thread).thread] for each in (access, other)
    )
    if mine.block is not theirs.block:
        reach = Reach.BLOCK
    else:
        reach = Reach.LANE if mine.warp is theirs.warp and mine is not theirs else Reach.WARP
    return Delay(0, reach, mine.block.number, mine.index)


def _early_read(execution: Execution, race: Race, function: PtxFunction) -> EarlyRead | None:
    """A read of the place of a race by the block that reads it; None where no L1 has it."""
    reader = next((each for each in (race.first, race.second) if not each.writes), None)
    if race.memory.space != "global" or reader is None:
        return None
    block = execution.detector.home(reader.thread).block
    for parameter, array in zip(function.parameters, execution.run.arguments, strict=True):
        if array is race.memory:
            return EarlyRead(parameter.name, race.at, block)
    return None


# On a GPU


class Loaded(Protocol):
    """A kernel on a GPU."""

    def launch(
        self,
        grid: Size,
        block: Size,
        arguments: Sequence[Any],
        *,
        cluster: Size,
        shared_bytes: int,
    ) -> None:
        """Start it."""
        ...


@dataclass(frozen=True, slots=True)
class Count:
    """The launches of a variant that ended and those with a wrong result.

    ``first``: the number of the first wrong one, from 1; 0: none. ``problem``: what ended them all,
    a hang or a failure of the launch, which is a wrong result too.
    """

    launches: int
    wrong: int
    first: int
    problem: str = ""


def count_wrong(
    device: Any, case: Case, variant: Variant, launches: int, failure: type[Exception]
) -> Count:
    """Launch a variant so many times on a ``fencewright.gpu.Device``, each with fresh arrays.

    ``failure``: the error of a launch that fails or hangs.
    """
    kernel: Loaded = device.load(variant.ptx).kernel(variant.kernel)
    buffers = {
        at: device.allocate(len(each))
        for at, each in enumerate(case.arguments)
        if isinstance(each, bytearray)
    }
    wrong = first = 0
    for number in range(1, launches + 1):
        for at, buffer in buffers.items():
            buffer.write(case.arguments[at])
        arguments = [
            buffers[at if isinstance(each, bytearray) else each]
            if isinstance(each, bytearray | int)
            else each
            for at, each in enumerate(case.arguments)
        ]
        try:
            kernel.launch(
                case.grid, case.block, arguments, cluster=case.cluster, shared_bytes=case.shared
            )
            is_wrong = any(
                buffers[at].read(len(right)) != right for at, right in case.expected.items()
            )
        except failure as problem:
            return Count(number, wrong + 1, first or number, str(problem))
        wrong += is_wrong
        first = first or (number if is_wrong else 0)
    return Count(launches, wrong, first)
