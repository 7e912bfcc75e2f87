"""Launches: their text, and running them.

``name<<<grid, block, shared, cluster>>>(i32[65536], f32[4096]=iota, @0, 64, x.npy)``: sizes are
numbers or ``(x, y, z)``, and what the kernel declares may be left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from struct import unpack_from

from fencewright.lowering.collector import collector_paused
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxParameter
from fencewright.lowering.wording import counted
from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.arguments import (
    Argument,
    Array,
    File,
    Same,
    Struct,
    Tensor,
    argument_of,
    array_bytes,
    check_same,
    element_bytes,
    element_size,
    element_type,
    file_bytes,
    split,
    struct_bytes,
    tensor_map,
    whole_number,
)
from fencewright.simulator.semantics.faults import LaunchError, Size, refuse
from fencewright.simulator.semantics.operands import initial
from fencewright.simulator.threads.compile import Program, compile_kernel, room_of
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.memory import CODE_WINDOW, Allocation, Memory
from fencewright.simulator.threads.observer import Observer
from fencewright.simulator.threads.schedule import (
    IN_ORDER,
    Outcome,
    Schedule,
    Scheduler,
    Stops,
)
from fencewright.simulator.threads.unknown import OutOfBounds

MOST_SHARED = 232448
"""Bytes of shared memory of a block, of sm_90 and sm_100. Source: CUDA Programming Guide, "Compute
Capabilities".
"""
MOST_AT_ONCE = 1 << 20
"""Threads of a launch that are executed here."""
MOST_TURNS = 20_000_000
"""Turns of its threads that a launch may take."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch as it was asked for; sizes of None are those that the kernel declares.

    ``guessed``: the parts that nobody gave.
    """

    kernel: str
    grid: Size
    block: Size | None
    shared: int
    arguments: tuple[Argument, ...]
    cluster: Size | None = None
    guessed: tuple[str, ...] = ()

    def __str__(self) -> str:
        block = "as many threads as declared"
        if self.block is not None:
            block = counted(prod(self.block), "thread")
        guessed = f", guessed {' and '.join(self.guessed)}" if self.guessed else ""
        return f"{counted(prod(self.grid), 'block')} x {block}{guessed}"


_LAUNCH = re.compile(r"\s*([\w$%.]+(?:<[^<>]*>)?)\s*<<<(.*)>>>\s*\((.*)\)\s*;?\s*", re.DOTALL)
_FORM = "NAME<<<GRID, BLOCK, SHARED>>>(ARGUMENTS)"


def _size(text: str, what: str) -> Size:
    text = text.strip()
    given = split(text[1:-1]) if text.startswith("(") and text.endswith(")") else [text]
    if not 1 <= len(given) <= 3:
        raise LaunchError(f"{what} is '{text}': one to three numbers are needed")
    sizes = [whole_number(each, what) for each in given]
    if 0 in sizes:
        raise LaunchError(f"{what} is '{text}': it needs at least one in each dimension")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def parse_launch(text: str) -> Launch:
    """A launch from its text. Raises ``LaunchError``."""
    found = _LAUNCH.fullmatch(text)
    if found is None:
        shorter = "" if "<<" in text else "; a name alone, or all, is for fence-check of PTX"
        raise LaunchError(f"'{text}' is no launch: expected {_FORM}{shorter}")
    sizes = split(found[2])
    if not 1 <= len(sizes) <= 4:
        raise LaunchError(f"'<<<{found[2]}>>>' has {len(sizes)} sizes: expected {_FORM}")
    arguments = tuple(argument_of(each, number) for number, each in enumerate(split(found[3])))
    check_same(arguments)
    return Launch(
        found[1],
        _size(sizes[0], "the grid"),
        _size(sizes[1], "the block") if len(sizes) > 1 and sizes[1] else None,
        whole_number(sizes[2], "the shared memory") if len(sizes) > 2 and sizes[2] else 0,
        arguments,
        _size(sizes[3], "the cluster") if len(sizes) > 3 and sizes[3] else None,
    )


@dataclass(frozen=True, slots=True)
class Module:
    """A file that kernels are launched from, and the kernels of it that are compiled already."""

    ptx: PtxFile
    programs: dict[object, Program] = field(default_factory=dict[object, Program], compare=False)

    def program(self, kernel: str, globals_: Mapping[str, int]) -> Program:
        """A kernel compiled; ``globals_``: the addresses of the variables of the module."""
        key = kernel, tuple(globals_.items())
        if (found := self.programs.get(key)) is None:
            found = compile_kernel(self.ptx, kernel, globals_)
            self.programs[key] = found
        return found


@dataclass(slots=True)
class Run:
    """An executed launch."""

    machine: Machine
    program: Program
    outcome: Outcome
    arguments: tuple[Allocation | None, ...]

    @property
    def problem(self) -> str:
        """The reason of a stop, with its place; "" where nothing is wrong."""
        found = self.outcome
        site = None if found.site is None else self.program.sites[found.site]
        place, name = (None, "") if site is None else (site.place, site.name)
        return found.problem and faults.line(found.problem, place, name, site and found.thread)

    @property
    def stops(self) -> Mapping[int, Stops]:
        """The stops of its threads before strong operations, of those that had some."""
        return {each.number: each.stops for each in self.machine.threads if each.stops}


def kernels(module: Module) -> list[PtxFunction]:
    """The kernels of a module, in their order."""
    return [each for each in module.ptx.functions.values() if each.is_entry]


def is_named(kernel: str, name: str) -> bool:
    """True where a name is that of a kernel, or one that C++ made the kernel's of.

    Source: Itanium C++ ABI, "Mangling": a length, the name, and the arguments of its template.
    """
    if kernel == name:
        return True
    own, _, listed = name.partition("<")
    arguments = [each.strip() for each in listed.rstrip("> ").split(",") if each.strip()]
    of_template = f"I{''.join(map(_mangled, arguments))}" if arguments else ""
    pattern = rf"_Z(?:N\w*?)?{len(own)}{re.escape(own)}(?!\d){of_template}"
    return re.match(pattern, kernel) is not None


_BOOLEANS = {"false": "0", "true": "1"}


def _mangled(argument: str) -> str:
    """A pattern of an argument of a template: of an integer its value, of a type any."""
    value = _BOOLEANS.get(argument, argument)
    return rf"L\w{value}E" if value.isdigit() else r"\w+?"


def kernels_named(module: Module, name: str) -> list[PtxFunction]:
    """The kernels of a name, of a template several. Raises ``LaunchError`` where there is none."""
    found = [each for each in kernels(module) if each.name == name]
    found = found or [each for each in kernels(module) if is_named(each.name, name)]
    if not found:
        names = ", ".join(each.name for each in kernels(module))
        raise LaunchError(f"there is no kernel '{name}': there is {names or 'none'}")
    return found


def kernel_named(module: Module, name: str) -> PtxFunction:
    """The kernel of a name, of C++ too. Raises ``LaunchError`` where there is none, or several."""
    found = kernels_named(module, name)
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.name for each in found)
    raise LaunchError(f"several kernels are called '{name}': {names}")


def settled(module: Module, launch: Launch) -> tuple[PtxFunction, Launch]:
    """The kernel of a launch, and the launch with the sizes that the kernel declares.

    Raises ``LaunchError`` for a launch that cannot be.
    """
    kernel = kernel_named(module, launch.kernel)
    most = kernel.largest
    block = launch.block or kernel.threads or most
    if block is None:
        raise LaunchError(f"{kernel.name} declares no .reqntid: give the block, as <<<4, 128>>>")
    cluster = launch.cluster or kernel.cluster or (1, 1, 1)
    refuse(
        faults.of_sizes(
            kernel.name, launch.grid, block, cluster, declared=kernel.threads,
            most=prod(most) if most else None, clusters=kernel.cluster, has_limits=True,
        )
    )  # fmt: skip
    threads = prod(launch.grid) * prod(block)
    refuse(threads > MOST_AT_ONCE and f"{threads} threads: {MOST_AT_ONCE} are the most here")
    parameters = [
        (faults.parameter_name(kernel.name, each.name, number), _bits_of(each))
        for number, each in enumerate(kernel.parameters)
    ]
    refuse(faults.of_arguments(kernel.name, parameters, len(launch.arguments)))
    return kernel, replace(launch, kernel=kernel.name, block=block, cluster=cluster)


def _bits_of(parameter: PtxParameter) -> int:
    return 8 * (parameter.size or element_size(parameter.type))


def _array(memory: Memory, name: str, given: Array | File) -> Allocation:
    if isinstance(given, File):
        content, size = file_bytes(given.path)
    else:
        size = element_size(given.type)
        # Memory that nothing is said of is made where it is touched.
        if not given.content:
            return memory.allocate(name, size * (given.count or 0), size)
        content = array_bytes(given)
    found = memory.allocate(name, len(content), size)
    found.data[: len(content)] = content
    return found


def _map(memory: Memory, name: str, given: Tensor, array: Allocation) -> Allocation:
    """The memory of a tensor map. Raises ``LaunchError`` where its array is too small."""
    size = element_size(given.type) * prod(given.sizes)
    if size > array.size:
        raise LaunchError(f"{name} is of {size} bytes, but {array.name} has {array.size}")
    encoded = tensor_map(given, array.base).encoded()
    found = memory.allocate(name, len(encoded), 8)
    found.data[: len(encoded)] = encoded
    return found


def arguments_of(
    kernel: PtxFunction, launch: Launch, memory: Memory
) -> Iterator[tuple[Allocation | None, bytes]]:
    """The array of each argument, or None, and the bytes that its parameter has."""
    known: list[Allocation | None] = []
    for number, (parameter, given) in enumerate(
        zip(kernel.parameters, launch.arguments, strict=True)
    ):
        if isinstance(given, int | float):
            allocation, value = None, number_bytes(kernel.name, parameter, given, number)
        elif isinstance(given, Struct):
            name = faults.parameter_name(kernel.name, parameter.name, number)
            allocation, value = None, _struct_bytes(memory, parameter, given, name, known)
        else:
            name = faults.parameter_name(kernel.name, parameter.name, number)
            of = given.array if isinstance(given, Tensor) else given
            allocation = known[of.argument] if isinstance(of, Same) else _array(memory, name, of)
            assert allocation is not None
            content = allocation
            if isinstance(given, Tensor):
                content = _map(memory, f"the map of {name}", given, allocation)
            # An array of a struct's size is its bytes, another one has its address there.
            if content.size == parameter.size:
                value = bytes(content.data[: content.size])
            else:
                refuse(faults.of_buffer(name, _bits_of(parameter)))
                value = content.base.to_bytes(8, "little")
        known.append(allocation)
        yield allocation, value


def given_arguments(
    kernel: PtxFunction, launch: Launch, memory: Memory, given: Mapping[int, bytes]
) -> tuple[tuple[Allocation | None, bytes], ...]:
    """``arguments_of`` with the bytes that arrays begin with. Raises ``LaunchError``."""
    try:
        arguments = list(arguments_of(kernel, launch, memory))
    except OutOfBounds as problem:
        raise LaunchError(str(problem)) from problem
    for number, content in given.items():
        target, value = arguments[number]
        if target is None:
            continue
        target.data[: len(content)] = content
        is_struct = target.size == kernel.parameters[number].size
        if is_struct and isinstance(launch.arguments[number], Array):
            value = bytes(target.data[: target.size])
        arguments[number] = target, value
    return tuple(arguments)


def _struct_bytes(
    memory: Memory, parameter: PtxParameter, given: Struct, name: str,
    known: Sequence[Allocation | None],
) -> bytes:  # fmt: skip
    """The bytes of a struct with the addresses of its arrays. Raises ``LaunchError``."""

    def address_of(at: int, member: Array | Same) -> int:
        is_same = isinstance(member, Same)
        target = (
            known[member.argument] if is_same else _array(memory, f"{name} at byte {at}", member)
        )
        assert target is not None
        return target.base

    found = struct_bytes(given, address_of)
    room = _bits_of(parameter) // 8
    refuse(faults.of_struct(name, len(found), room))
    return found + bytes(room - len(found))


def number_bytes(kernel: str, parameter: PtxParameter, given: float, number: int) -> bytes:
    """The bytes of a parameter that is given as a number. Raises ``LaunchError``."""
    letter, _, _ = element_type(parameter.type)
    bits, is_whole = _bits_of(parameter), isinstance(given, int)
    if letter != "bf" and not (letter == "f" and is_whole):
        name = faults.parameter_name(kernel, parameter.name, number)
        refuse(faults.of_number(name, bits, given, is_integer=letter not in ("f", "b")))
    type = parameter.type if letter != "b" else f"b{bits}" if is_whole else f"f{bits}"
    return element_bytes(given, type)


@collector_paused()
def execute(
    module: Module,
    launch: Launch,
    observer: Observer | None = None,
    *,
    schedule: Schedule = IN_ORDER,
    limit: int = MOST_TURNS,
    given: Mapping[int, bytes] | None = None,
) -> Run:
    """Execute a launch in the order of a schedule.

    ``given``: the bytes that arrays begin with, by argument.

    Raises ``LaunchError``.
    """
    kernel, launch = settled(module, launch)
    assert launch.block is not None
    assert launch.cluster is not None
    memory = Memory()
    arguments = given_arguments(kernel, launch, memory, given or {})
    globals_ = {
        name: CODE_WINDOW << 32 | 16 * at for at, name in enumerate(module.ptx.functions, 1)
    }
    of_module: dict[str, Allocation] = {}
    for name, declared in module.ptx.variables.items():
        if declared.space in ("global", "const"):
            allocation = memory.allocate(name, declared.size or 8, declared.element, declared.space)
            globals_[name], of_module[name] = allocation.base, allocation
    for name, allocation in of_module.items():
        # A name that the file does not have is 0.
        begin = initial(module.ptx.variables[name], lambda name: globals_.get(name, 0)) or b""
        allocation.data[: len(begin)] = begin
    program = module.program(kernel.name, globals_)
    shared = program.shared_size + launch.shared
    refuse(faults.of_shared(shared, MOST_SHARED))
    machine = Machine(
        program.sites, memory, launch.grid, launch.block, launch.cluster, shared, launch.shared,
        program.reserves,
        sum(map(room_of, kernel.parameters)), observer, schedule.is_late,
    )  # fmt: skip
    _name_shared(program, machine)
    at = 0
    for parameter, (_, value) in zip(kernel.parameters, arguments, strict=True):
        machine.params.data[at : at + len(value)] = value
        at += room_of(parameter)
    entry = program.bind(machine)
    scheduler = Scheduler(
        machine, entry, dict(program.lines), program.functions, schedule=schedule, limit=limit
    )
    outcome = scheduler.run()
    given_to = tuple(each for each, _ in arguments)
    return Run(machine, program, outcome, given_to)


def _name_shared(program: Program, machine: Machine) -> None:
    places = sorted(
        (at, name.partition("$")[0], program.elements[name]) for name, at in program.shared.items()
    )
    for block in machine.blocks:
        block.shared.variables = places


_CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s32": "i", "f32": "f", "f64": "d"}


def values(allocation: Allocation, type: str = "u32") -> list[float]:
    """The elements of an allocation as a type: u8, u16, u32, u64, s32, f32, f64."""
    size = element_size(type)
    count = allocation.size // size
    return list(unpack_from(f"<{count}{_CODES[type]}", allocation.data))
