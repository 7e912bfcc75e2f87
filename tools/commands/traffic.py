"""fence-sim traffic: the traffic of a kernel through the caches, instruction by instruction."""

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fencewright.lowering.cdna.code.objects import is_amd_object
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.sequence import UnsupportedError
from fencewright.tools.diagnostics import (
    Diagnostic,
    Severity,
    ToolError,
    diagnose,
    error,
    is_picture,
    of_assembly,
    output_file,
    positive,
)
from fencewright.tools.inputs.code_kind import is_amd_assembly, is_ptx_file
from fencewright.tools.inputs.litmus.files import name_of, parse_module, read_content, text_of
from fencewright.tools.inputs.litmus.lowered import NAME
from fencewright.tools.reports.traffic_report import Launched
from fencewright.tools.statuses import HOLDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

    from fencewright.simulator.execution.launch import ArgumentValue, Memory
    from fencewright.simulator.execution.program import LaneProgram
    from fencewright.simulator.execution.spaces import Unwritten
    from fencewright.simulator.kernels.lane_kernel import LaneKernel
    from fencewright.simulator.performance.machine import Machine

Size = tuple[int, int, int]

_ARGUMENTS = (
    "a number, bytes:N, i32:N, f32:N (zeros), iota:i32:N, random:i32:N[:SEED[:BELOW]], or FILE.npy"
)
_REMOTE = "remote:"
_MOST_BYTES = 1 << 30
"""Of one argument."""
_MOST_WAVES = 1 << 22
"""Of a launch."""


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``traffic``."""
    parser = add_parser(
        "traffic",
        help="run a kernel lane by lane, and count what it moves through the caches",
        description="Requests, sectors or lines, hits at each level and bank conflicts of each "
        "instruction; what each fence waits for, writes back and makes the kernel fetch again; "
        "bytes between the levels, occupancy and a range of time. Caches are cold.",
    )
    parser.set_defaults(execute=count_traffic)
    parser.add_argument(
        "input",
        metavar="FILE",
        help=".mlir in scoped (lowered at -O2), cdna or ptx, or PTX, AMD assembly or an AMD code "
        "object of any compiler; - for stdin",
    )
    parser.add_argument("--mcpu", metavar="CHIP", required=True, help="as sm_90 or gfx942")
    parser.add_argument(
        "--kernel", metavar="NAME", help="the kernel of this name, if there are more"
    )
    parser.add_argument(
        "--launch",
        metavar="LAUNCH",
        help="'name<<<grid, block, shared>>>(i32[65536], f32[64]=iota, 64)', as fence-check takes "
        "it, in place of --kernel, --grid, --block, --shared and --arg",
    )
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", type=_size, help="work-groups")
    parser.add_argument("--block", metavar="X[,Y[,Z]]", type=_size, help="threads of a work-group")
    parser.add_argument(
        "--arg",
        metavar="[NAME=]VALUE",
        dest="arguments",
        action="append",
        type=_argument,
        default=[],
        help=f"one for each parameter, in order: {_ARGUMENTS}; after remote: it is memory of "
        "another agent; NAME is for the reader",
    )
    parser.add_argument(
        "--shared",
        metavar="BYTES",
        type=_bytes,
        default=0,
        help="shared memory (LDS) of each work-group beyond the kernel's own variables (0)",
    )
    parser.add_argument("--sample", metavar="N", type=positive, help="only the first N work-groups")
    parser.add_argument(
        "--partition", choices=("SPX", "DPX", "TPX", "QPX", "CPX"), help="of an AMD device (SPX)"
    )
    parser.add_argument(
        "--limit", metavar="N", type=positive, help="instructions that a wave may execute"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for tools")
    parser.add_argument(
        "-o", dest="output", default="-", help="file to write: a picture if it ends in .svg"
    )


# The command line


def _size(text: str) -> Size:
    parts = text.split(",")
    if len(parts) > 3 or not all(re.fullmatch(r"[0-9]{1,9}", each) for each in parts):
        raise ArgumentTypeError(f"expected up to three numbers with commas between, found '{text}'")
    numbers = [int(each) for each in parts] + [1, 1]
    if not all(numbers[:3]):
        raise ArgumentTypeError(f"expected numbers of at least 1, found '{text}'")
    return numbers[0], numbers[1], numbers[2]


def _bytes(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ArgumentTypeError(f"expected a number of bytes, found '{text}'")
    return int(text)


@dataclass(frozen=True, slots=True)
class Given:
    """An argument as it stands on the command line, after its name and ``remote:``."""

    text: str
    is_remote: bool


_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*=(.+)", re.DOTALL)
_TYPES = ("i8", "i16", "i32", "i64", "f16", "f32", "f64")
_NUMBER = re.compile(r"[+-]?(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})")
_FLOAT = re.compile(r"[+-]?([0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40}|[0-9]{1,40})(e[+-]?[0-9]{1,3})?")


def _argument(text: str) -> Given:
    named = _NAMED.fullmatch(text)
    given = named[1] if named else text
    value = given.removeprefix(_REMOTE)
    words = value.split(":")
    is_array = words[0] in ("bytes", "iota", "random", *_TYPES) and len(words) > 1
    is_number = _NUMBER.fullmatch(value) or _FLOAT.fullmatch(value)
    if not (is_array or is_number or value.endswith(".npy")):
        raise ArgumentTypeError(f"'{text}' is no argument; give {_ARGUMENTS}")
    return Given(value, given != value)


def _value(given: Given) -> "ArgumentValue":
    """The argument itself. Raises :class:`ToolError`."""
    text = given.text
    if _NUMBER.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text.endswith(".npy"):
        return _array_of(text)
    kind, *rest = text.split(":")
    if kind in ("iota", "random"):
        most = 4 if kind == "random" else 2
        if len(rest) < 2 or len(rest) > most or rest[0] not in _TYPES:
            raise error(f"--arg {text}: give {_ARGUMENTS}", NAME)
        return _made(kind, rest[0], [_count(each, text) for each in rest[1:]], text)
    if len(rest) != 1:
        raise error(f"--arg {text}: give {_ARGUMENTS}", NAME)
    count = _count(rest[0], text)
    if kind == "bytes":
        from fencewright.simulator.execution.launch import BufferOfSize

        _check_bytes(count, text)
        return BufferOfSize(count)
    return _made("zeros", kind, [count], text)


def _count(word: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", word):
        raise error(f"--arg {text}: '{word}' is no number", NAME)
    return int(word)


def _check_bytes(count: int, text: str) -> None:
    if not 1 <= count <= _MOST_BYTES:
        raise error(f"--arg {text}: {count} bytes; give 1 to {_MOST_BYTES}", NAME)


def _made(how: str, type: str, numbers: list[int], text: str) -> "ArgumentValue":
    """An array of zeros, of 0, 1, ..., or of random numbers below a bound."""
    import numpy as np

    kind = np.dtype({"i": "int", "f": "float"}[type[0]] + type[1:])
    count, *more = numbers
    _check_bytes(count * kind.itemsize, text)
    if how == "zeros":
        return np.zeros(count, dtype=kind)
    if how == "iota":
        return _in_pieces(count, kind, lambda first, last: np.arange(first, last))
    seed = more[0] if more else 0
    below = more[1] if len(more) > 1 else 0
    random = np.random.default_rng(seed)
    if kind.kind == "f":
        return _in_pieces(
            count, kind, lambda first, last: random.random(last - first) * (below or 1)
        )
    most = int(np.iinfo(kind).max)
    if below > most:
        raise error(f"--arg {text}: {type} has no numbers up to {below}", NAME)
    return _in_pieces(
        count, kind, lambda first, last: random.integers(0, below or most, last - first)
    )


_PIECE = 1 << 20


def _in_pieces(
    count: int, kind: "np.dtype[Any]", numbers: "Callable[[int, int], NDArray[Any]]"
) -> "NDArray[Any]":
    """An array of numbers from ``first`` to ``last``, in pieces, which are wider than its own."""
    import numpy as np

    found = np.empty(count, dtype=kind)
    for first in range(0, count, _PIECE):
        last = min(first + _PIECE, count)
        found[first:last] = numbers(first, last).astype(kind)
    return found


def _array_of(path: str) -> "ArgumentValue":
    import numpy as np

    try:
        if os.path.getsize(path) > _MOST_BYTES:
            raise error(f"is larger than {_MOST_BYTES} bytes", path)
        found: Any = np.load(path, allow_pickle=False)
    except OSError as problem:
        raise error(problem.strerror or str(problem), path) from problem
    except (ValueError, EOFError) as problem:
        raise error("no whole .npy file of numbers: write it with numpy.save", path) from problem
    if not isinstance(found, np.ndarray):
        raise error("give one array, as numpy.save writes it", path)
    array = cast("NDArray[Any]", found)
    if array.dtype.kind not in "iuf" or not array.size:
        raise error(f"an array of {array.size} {array.dtype}: give integers or floats", path)
    # The GPUs have the least significant byte first, as the machines that this runs on.
    return array.reshape(-1).astype(array.dtype.newbyteorder("<"))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The launch that the command line asks for; sizes of None are the kernel's own."""

    kernel: str | None
    grid: Size
    block: Size | None
    values: "tuple[ArgumentValue, ...]"
    shared: int
    cluster: Size = (1, 1, 1)


def _asked(arguments: Namespace) -> _Asked:
    """The launch of the options, or of --launch. Raises :class:`ToolError`."""
    if arguments.launch is None:
        if arguments.grid is None or arguments.block is None:
            raise error("give --grid and --block, or --launch", NAME)
        values = tuple([_value(each) for each in arguments.arguments])
        return _Asked(arguments.kernel, arguments.grid, arguments.block, values, arguments.shared)
    from fencewright.simulator.threads.launch import LaunchError, parse_launch

    options = ("kernel", "grid", "block", "shared")
    more = [f"--{each}" for each in options if getattr(arguments, each)]
    more += ["--arg"] if arguments.arguments else []
    if more:
        raise error(f"--launch has what {' and '.join(more)} would say: leave it out", NAME)
    try:
        found = parse_launch(arguments.launch)
    except LaunchError as problem:
        raise error(f"--launch: {problem}", NAME) from problem
    cluster = found.cluster or (1, 1, 1)
    return _Asked(found.kernel, found.grid, found.block, found.arguments, found.shared, cluster)


# Running


def count_traffic(arguments: Namespace) -> int:
    """Write the traffic of a launch, as text, JSON or a picture. Raises :class:`ToolError`."""
    draws = is_picture(arguments.output)
    if draws and arguments.json:
        raise error("a picture is no JSON: give another name to -o, or leave --json out", NAME)
    launched = _launched(arguments)
    if draws:
        text = _picture(launched)
    else:
        from fencewright.tools.reports.traffic_writer import as_json, as_text

        text = as_json(launched) if arguments.json else as_text(launched)
    with output_file(arguments.output) as stream:
        stream.write(text)
    return HOLDS


def _picture(launched: Launched) -> str:
    from fencewright.simulator.pictures.missing import MissingLibraryError
    from fencewright.simulator.pictures.traffic_svg import traffic_svg

    try:
        return traffic_svg(launched.program, launched.machine, launched.traffic)
    except MissingLibraryError as missing:
        raise error(str(missing), NAME) from missing


def _launched(arguments: Namespace) -> Launched:
    """Lower, run and count. Raises :class:`ToolError`."""
    from xdsl.utils.exceptions import DiagnosticException

    from fencewright.simulator.execution.launch import LaunchError

    file = name_of(arguments.input)
    try:
        return _run(arguments, file)
    except LaunchError as problem:
        at = problem.place
        place = (file, 0, 0) if at is None else (at.file, at.line, at.column)
        raise error(problem.reason, *place) from problem
    except AssemblyError as problem:
        raise ToolError((of_assembly(problem, file),)) from problem
    except UnsupportedError as problem:
        raise error(str(problem), file) from problem
    except DiagnosticException as problem:
        known = diagnose(problem, file)
        assert known is not None
        raise ToolError((known,)) from problem


def _run(arguments: Namespace, file: str) -> Launched:
    from fencewright.simulator.execution.executor import LIMIT, execute
    from fencewright.simulator.execution.launch import Launch, allocate
    from fencewright.simulator.execution.spaces import Unwritten
    from fencewright.simulator.performance.machine import machine_of
    from fencewright.simulator.performance.occupancy import occupancy
    from fencewright.simulator.performance.traffic import TrafficObserver

    machine = machine_of(arguments.mcpu, arguments.partition)
    asked = _asked(arguments)
    program = _program(arguments, file, machine, asked.kernel)
    block = asked.block or program.block_size
    if block is None:
        raise error(f"{program.name} does not say the size of its work-groups: give it", NAME)
    cluster = program.cluster or asked.cluster
    launch = Launch(asked.grid, block, asked.values, arguments.sample, asked.shared, cluster)
    memory = allocate(program, launch)
    held = occupancy(program.resources, program.target, launch.threads, launch.shared)
    shared = program.resources.shared_bytes + launch.shared
    machine = machine_of(arguments.mcpu, arguments.partition, groups=held.groups, shared=shared)
    resident = held.groups * machine.cores
    group_waves = -(-launch.threads // program.lanes)
    if launch.groups * group_waves > _MOST_WAVES:
        some = _MOST_WAVES // group_waves
        raise error(
            f"{launch.groups} work-groups are too many to run; pass --sample {some} or less", NAME
        )
    remote = _remote(arguments.arguments, memory)
    observer = TrafficObserver(program, machine, launch.groups, group_waves, resident, remote)
    limit, unwritten = arguments.limit or LIMIT, Unwritten()
    execute(
        program, launch, memory, observer, limit=limit, resident=resident, in_place=True,
        unwritten=unwritten,
    )  # fmt: skip
    _warn(program, unwritten, file)
    return Launched(program, launch, machine, held, observer.traffic())


def _warn(program: "LaneProgram", unwritten: "Unwritten", file: str) -> None:
    """Write to the error stream which reads of shared memory are of bytes that nobody wrote."""
    from fencewright.simulator.race.rules import KINDS, Fault

    row = KINDS[Fault.UNWRITTEN]
    for number, read in unwritten.reads.items():
        instruction = program.instructions[number]
        at = instruction.place
        place = (file, 0, 0) if at is None else (at.file, at.line, at.column)
        text = (
            f"{row.words}: wave {read.wave} of work-group {read.group} reads byte {read.address} "
            f"({instruction.text}): {row.lacks} [{row.rule}]"
        )
        print(Diagnostic(text, *place, severity=Severity.WARNING), file=sys.stderr)


def _remote(given: list[Given], memory: "Memory") -> tuple[tuple[int, int], ...]:
    """The addresses of other memory, from and up to. Raises :class:`ToolError` for a number."""
    if not any(each.is_remote for each in given):
        return ()
    sizes = {each.address: each.size for each in memory.buffers}
    found = [value for each, value in zip(given, memory.values, strict=True) if each.is_remote]
    for each, value in zip(given, memory.values, strict=True):
        if each.is_remote and value not in sizes:
            raise error(f"--arg {_REMOTE}{each.text}: a number is in no memory", NAME)
    return tuple([(address, address + sizes[address]) for address in found])


def _program(
    arguments: Namespace, file: str, machine: "Machine", asked: str | None
) -> "LaneProgram":
    """The kernel that is asked for, lowered where it is in ``scoped``."""
    content = read_content(arguments.input)
    if is_amd_object(content):
        from fencewright.tools.commands.amd_check import read_kernels
        from fencewright.tools.inputs.amd_kernels import kernels_of_code

        kernels = [*kernels_of_code(*read_kernels(content, file), file, machine.l2_per_agent)]
        return _chosen(kernels, asked, arguments.mcpu, file, "a function with a descriptor")
    text = text_of(content, arguments.input)
    if is_ptx_file(arguments.input, text.encode()):
        from fencewright.tools.inputs.ptx_kernels import kernels_of_file
        from fencewright.tools.ptx_check import read_input

        kernels = [*kernels_of_file(read_input(text.encode(), file))]
        return _chosen(kernels, asked, arguments.mcpu, file, "a function with .entry")
    if is_amd_assembly(arguments.input, text):
        from fencewright.tools.inputs.amd_kernels import kernels_of_assembly

        kernels = [*kernels_of_assembly(text, file, machine.l2_per_agent)]
        return _chosen(kernels, asked, arguments.mcpu, file, "a function with .amdhsa_kernel")
    kernels = _kernels(parse_module(arguments.input, text), arguments, machine)
    return _chosen(kernels, asked, arguments.mcpu, file, "a function with the attribute gpu.kernel")


def _kernels(module: "ModuleOp", arguments: Namespace, machine: "Machine") -> "list[LaneKernel]":
    from fencewright.mlir_dialects.cdna import KernelOp as CDNAKernelOp
    from fencewright.mlir_dialects.ptx import KernelOp as PTXKernelOp
    from fencewright.passes.pipelines import lower_module
    from fencewright.tools.inputs import amd_kernels, ptx_kernels

    if not any(isinstance(op, CDNAKernelOp | PTXKernelOp) for op in module.walk()):
        l2 = machine.l2_per_agent
        lower_module(module, arguments.mcpu, l2_per_agent="many" if l2 is None else l2.value)
    return [
        *ptx_kernels.kernels_of_module(module),
        *amd_kernels.kernels_of_module(module, machine.l2_per_agent),
    ]


def _chosen(
    kernels: "Sequence[LaneKernel]", asked: str | None, chip: str, file: str, what: str
) -> "LaneProgram":
    """The kernel that is asked for; ``what`` names one, if there is none."""
    from fencewright.simulator.threads.launch import is_named

    names = ", ".join(each.name for each in kernels)
    found = [each for each in kernels if asked in (None, each.name)]
    found = found or [each for each in kernels if asked and is_named(each.name, asked)]
    if not kernels:
        raise error(f"has no kernel: {what}", file)
    if not found:
        raise error(f"has no kernel '{asked}'; it has {names}", file)
    if len(found) > 1:
        raise error(f"has several kernels: pass --kernel NAME, of {names}", file)
    (kernel,) = found
    if kernel.target != chip:
        raise error(f"{kernel.name} is for {kernel.target}: pass --mcpu {kernel.target}", file)
    return kernel.read()
