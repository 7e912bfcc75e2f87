"""Launches that are guessed, as a whole or where a source does not say it.

The default is four blocks of as many threads as the kernel declares, else 128; arrays of 64 KiB of
zeros for pointers, 64 for whole numbers, 1 for others. Of 150 kernels of NVIDIA's samples 25 race
under it that are right as they are launched: what a guess finds is filtered by ``findings``.
"""

import re
from collections.abc import Iterator, Sequence

from fencewright.lowering.ptx.code.pointers import Pointers
from fencewright.lowering.ptx.code.statements import element_of
from fencewright.lowering.ptx.code.text import PtxFunction, PtxParameter
from fencewright.simulator.launches.sources import SourceLaunch
from fencewright.simulator.threads.launch import (
    Argument,
    Array,
    Launch,
    LaunchError,
    Module,
    Size,
    is_named,
    kernel_named,
    kernels,
    kernels_named,
    parse_launch,
)

_NAME = re.compile(r"[\w$%.]+")
_GRID: Size = (4, 1, 1)
_THREADS = 128
_BYTES = 1 << 16
_SHARED = 1 << 14
_WHOLE, _FRACTION = 64, 1.0
_NOTHING = frozenset[str]()


def pointers(kernel: PtxFunction) -> frozenset[str]:
    """The parameters that are used as addresses, directly or with something added to them."""
    origins = Pointers(kernel, ())
    found = _NOTHING
    for each in kernel.instructions:
        statement = each.statement
        if statement.opcode.head == "cvta":
            found |= origins.of(statement.operands[1])
        elif not statement.opcode.of_parameters:
            for operand in statement.operands:
                if operand.startswith("["):
                    found |= origins.of(operand)
    # A narrow one is a number that is added to an address in shared memory.
    return found & {each.name for each in kernel.parameters if _is_wide(each)}


def _is_wide(parameter: PtxParameter) -> bool:
    """True of a parameter that has room for an address, alone or as a member."""
    element = element_of(parameter.type)
    return parameter.size is not None or (element is not None and element[1] * element[2] == 64)


def _argument(
    parameter: PtxParameter, is_pointer: bool, number: int, value: int | None
) -> Argument:
    if is_pointer:
        return Array("b8", _BYTES)
    if parameter.size is not None:
        return Array("b8", parameter.size)
    if value is not None:
        return value
    element = element_of(parameter.type)
    return _FRACTION if element is not None and element[0] in ("f", "bf") else _WHOLE


def guess(module: Module, kernel: PtxFunction, source: SourceLaunch | None = None) -> Launch:
    """A launch of a kernel, with the hints of its source."""
    addresses = pointers(kernel)
    values = source.arguments if source is not None else ()
    known = len(values) == len(kernel.parameters)
    arguments = tuple(
        _argument(each, each.name in addresses, number, values[number] if known else None)
        for number, each in enumerate(kernel.parameters)
    )
    guessed: list[str] = []
    grid = source.grid if source is not None else None
    block = source.block if source is not None else None
    if grid is None:
        guessed.append("grid")
        grid = kernel.cluster or _GRID
        grid = (grid[0] * -(-_GRID[0] // grid[0]), grid[1], grid[2])
    if block is None and kernel.threads is None:
        guessed.append("block")
        wide, high, deep = kernel.largest or (_THREADS, 1, 1)
        block = (min(wide * high * deep, _THREADS), 1, 1)
    shared = source.shared if source is not None else None
    if shared is None:
        shared = _SHARED if is_dynamic(module, kernel) else 0
    if not known or any(isinstance(each, Array | float) or value is None
                        for each, value in zip(arguments, values, strict=True)):  # fmt: skip
        guessed.append("arguments")
    return Launch(kernel.name, grid, block, shared, arguments, guessed=tuple(guessed))


def is_dynamic(module: Module, kernel: PtxFunction) -> bool:
    """True of a kernel with shared memory whose size a launch says."""
    variables = [*module.ptx.variables.values(), *kernel.variables.values()]
    return any(each.space == "shared" and each.size is None for each in variables)


def asked_launches(module: Module, text: str, sources: Sequence[SourceLaunch]) -> Iterator[Launch]:
    """The launches of a text: one in full, a kernel whose launch is looked for, or ``all``.

    ``sources``: the launches of the source beside the file. Raises ``LaunchError``.
    """
    if _NAME.fullmatch(text) is None:
        launch = parse_launch(text)
        _check_pointers(kernel_named(module, launch.kernel), launch)
        yield launch
        return
    asked = kernels(module) if text == "all" else kernels_named(module, text)
    for kernel in asked:
        of_kernel = [each for each in sources if is_named(kernel.name, each.kernel)]
        guesses = (guess(module, kernel, source) for source in of_kernel or [None])
        yield from dict.fromkeys(guesses)


def _check_pointers(kernel: PtxFunction, launch: Launch) -> None:
    """Refuse a number for a parameter that is used as an address, which no array lies at."""
    addresses = pointers(kernel)
    for number, (parameter, given) in enumerate(
        zip(kernel.parameters, launch.arguments, strict=False)
    ):
        if parameter.name in addresses and isinstance(given, int | float) and given:
            raise LaunchError(
                f"argument {number} is {given}, but {parameter.name} is used as an address: "
                "give an array as i32[64], or 0 for none"
            )
