"""Launches: their text, their arguments, and running them.

``name<<<grid, block, shared, cluster>>>(i32[65536], f32[4096]=iota, @0, 64, x.npy)``: sizes are
numbers or ``(x, y, z)``, and what the kernel declares may be left out; an argument is an array with
what is in it, the array of another argument, a number, a file of NumPy's, or ``{f32[64], i32(8)}``
of a parameter that is a struct: its members in order.
"""

import ast
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from random import Random
from struct import unpack_from

from fencewright.lowering.collector import collector_paused
from fencewright.lowering.ptx.code.statements import element_of
from fencewright.lowering.ptx.code.statements import number as integer
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxParameter
from fencewright.lowering.wording import counted
from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.faults import LaunchError, refuse
from fencewright.simulator.semantics.floats import FORMATS, from_float
from fencewright.simulator.semantics.operands import initial
from fencewright.simulator.semantics.tensors import (
    CORNERS,
    ELEMENTS,
    FORM_OF_PIXELS,
    MOST_BOX,
    MOST_DIMENSIONS,
    MOST_PIXELS,
    SWIZZLES,
    TensorMap,
)
from fencewright.simulator.semantics.tensors import FORM as TENSOR_FORM
from fencewright.simulator.threads.compile import Program, compile_kernel, room_of
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.memory import CODE_WINDOW, OFFSET, Allocation, Memory
from fencewright.simulator.threads.observer import Observer
from fencewright.simulator.threads.schedule import (
    IN_ORDER,
    Outcome,
    Schedule,
    Scheduler,
    Stops,
)
from fencewright.simulator.threads.unknown import OutOfBounds

Size = tuple[int, int, int]
MOST_SHARED = 232448
"""Bytes of shared memory of a block, of sm_90 and sm_100. Source: CUDA Programming Guide, "Compute
Capabilities".
"""
MOST_AT_ONCE = 1 << 20
"""Threads of a launch that are executed here."""
MOST_TURNS = 20_000_000
"""Turns of its threads that a launch may take."""


@dataclass(frozen=True, slots=True)
class Array:
    """An argument that is memory: elements of a type, and their values.

    ``content``: a number, ``iota(STEP)``, ``ones``, ``random(SEED, BELOW)`` or the path of a
    file; ``count``: None for as many as the file has.
    """

    type: str
    count: int | None
    content: str = ""


@dataclass(frozen=True, slots=True)
class Same:
    """The array of another argument."""

    argument: int


@dataclass(frozen=True, slots=True)
class File:
    """An array from a .npy file."""

    path: str


@dataclass(frozen=True, slots=True)
class Number:
    """A member of a struct that is a number of a type."""

    type: str
    value: float


@dataclass(frozen=True, slots=True)
class Struct:
    """A parameter that is a struct: arrays that it points to, and numbers, in order."""

    members: tuple[Array | Same | Number, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor map: of the array of another argument, or of one of its own.

    ``sizes``, ``box``: elements of each dimension, the last the one whose elements are adjacent.
    ``corners``: of mode im2col, whose box is pixels and channels.
    """

    array: Array | Same
    type: str
    sizes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None


Argument = Array | Same | File | Struct | Tensor | int | float


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
_ARRAY = re.compile(r"([a-z]\w*)\s*\[([^\]]*)\]\s*(?:=\s*(.+))?", re.DOTALL)
_FORM = "NAME<<<GRID, BLOCK, SHARED>>>(ARGUMENTS)"
_RANDOM = re.compile(r"random(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_IOTA = re.compile(r"iota(?:\(\s*(\d+)\s*\))?")
_CONTENTS = ("iota", "iota(STEP)", "ones", "random", "random(SEED)", "random(SEED, BELOW)")


def _is_file(content: str) -> bool:
    """True of a content that names a file."""
    is_word = content == "ones" or bool(_IOTA.fullmatch(content) or _RANDOM.fullmatch(content))
    return bool(content) and not is_word and constant(content) is None


def split(text: str) -> list[str]:
    """The parts of a text between commas that no parentheses enclose."""
    found, depth, start = list[str](), 0, 0
    for at, each in enumerate(text):
        depth += (each in "([{") - (each in ")]}")
        if each == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last or found else found


def _whole(text: str, what: str) -> int:
    """A number, or a product of numbers."""
    total = 1
    for factor in text.split("*"):
        if re.fullmatch(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s*", factor) is None:
            raise LaunchError(f"{what} is '{text}': a number is needed")
        total *= int(factor, 0)
    return total


def _size(text: str, what: str) -> Size:
    text = text.strip()
    given = split(text[1:-1]) if text.startswith("(") and text.endswith(")") else [text]
    if not 1 <= len(given) <= 3:
        raise LaunchError(f"{what} is '{text}': one to three numbers are needed")
    sizes = [_whole(each, what) for each in given]
    if 0 in sizes:
        raise LaunchError(f"{what} is '{text}': it needs at least one in each dimension")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def constant(text: str) -> int | float | None:
    """A constant: an integer, or a number with a fraction."""
    if (found := integer(text)) is not None:
        return found
    try:
        return float(text)
    except ValueError:
        return None


_NUMBER = re.compile(r"([a-z]\w*)\s*\(([^()]*)\)")


def _member(text: str, number: int) -> Array | Same | Number:
    """A member of the struct that an argument is. Raises ``LaunchError``."""
    if (found := _NUMBER.fullmatch(text)) is not None:
        type, value = found[1].replace("i", "s", 1), constant(found[2].strip())
        element = element_of(type)
        is_whole = isinstance(value, int) or (element is not None and element[0] in ("f", "bf"))
        if element is not None and element[0] != "pred" and value is not None and is_whole:
            return Number(type, value)
    else:
        member = argument_of(text, number)
        if isinstance(member, Array | Same):
            return member
    raise LaunchError(
        f"argument {number} has the member '{text}': give an array as i32[64], @N, or a number "
        "with its type as i32(8)"
    )


_TENSOR = re.compile(r"tensormap\((.*)\)", re.DOTALL)
_SIZED = re.compile(r"([a-z]\w*)\s*\[(.*?)\]\s*(=.*)?", re.DOTALL)


def _tensor(text: str, number: int, parts: list[str]) -> Tensor:
    what = f"argument {number}"
    same = None
    if parts and parts[0].startswith("@"):
        same = Same(_whole(parts.pop(0)[1:], what))
    sized = _SIZED.fullmatch(parts[0]) if parts else None
    pixels = _PIXELS.fullmatch(parts[1]) if len(parts) > 1 else None
    is_box = len(parts) in (2, 3) and (
        pixels is not None or (parts[1].startswith("[") and parts[1].endswith("]"))
    )
    if sized is None or not is_box or (same and sized[3]):
        raise LaunchError(
            f"{what} is '{text}': give a tensor map as {TENSOR_FORM}: elements of the tensor and "
            "of the box, and the swizzle; after @N, of the array of argument N"
        )
    sizes = tuple(_whole(each, what) for each in split(sized[2]))
    corners, box = None, ()
    if pixels is None:
        box = tuple(_whole(each, what) for each in split(parts[1][1:-1]))
    else:
        lower, upper = (tuple(map(int, each.split(","))) for each in pixels.group(1, 2))
        corners, box = (lower, upper), (int(pixels[4]), int(pixels[3]))
        _check_pixels(f"{what} is '{text}'", sizes, lower, upper, box[0])
    swizzle = parts[2] if len(parts) == 3 else "none"
    type = sized[1].replace("i", "s", 1) if sized[1].startswith("i") else sized[1]
    # The tensor's integers of small types have no sign. Source: cuTensorMapEncodeTiled.
    type = {"s8": "u8", "s16": "u16"}.get(type, type)
    if type not in ELEMENTS or swizzle not in SWIZZLES:
        raise LaunchError(
            f"{what} is '{text}': elements are {', '.join(ELEMENTS)}, swizzles "
            f"{', '.join(SWIZZLES)}"
        )
    fits = corners is not None or len(box) == len(sizes)
    if not 1 <= len(sizes) <= MOST_DIMENSIONS or not fits or 0 in sizes:
        raise LaunchError(
            f"{what} is '{text}': a tensor and its box have the same one to "
            f"{MOST_DIMENSIONS} dimensions"
        )
    element = _element_size(type)
    extents = box if corners is None else box[1:]
    if not all(1 <= each <= MOST_BOX for each in extents) or box[-1] * element % 16:
        raise LaunchError(
            f"{what} is '{text}': a box has 1 to {MOST_BOX} elements in each dimension, and in the "
            f"last a multiple of {16 // element}"
        )
    if len(sizes) > 1 and sizes[-1] * element % 16:
        raise LaunchError(
            f"{what} is '{text}': a row of the tensor has a multiple of {16 // element} elements"
        )
    if swizzle != "none" and box[-1] * element > int(swizzle[:-1]):
        raise LaunchError(
            f"{what} is '{text}': with a swizzle of {swizzle} a row of the box has at most as many "
            "bytes"
        )
    own = same or argument_of(f"{type}[{prod(sizes)}]{sized[3] or ''}", number)
    assert isinstance(own, Array | Same)
    return Tensor(own, type, sizes, box, swizzle, corners)


_PIXELS = re.compile(
    r"im2col\(\s*\[([-\d\s,]+)\]\s*,\s*\[([-\d\s,]+)\]\s*,\s*(\d+)\s*,\s*(\d+)\s*\)"
)


def _check_pixels(
    what: str, sizes: Sequence[int], lower: Sequence[int], upper: Sequence[int], pixels: int
) -> None:
    """Raise ``LaunchError`` for a map of mode im2col that cannot be. Source: PTX ISA, 5.5.4.1."""
    most = CORNERS.get(len(sizes), 0)
    if not most or not len(lower) == len(upper) == len(sizes) - 2:
        raise LaunchError(
            f"{what}: a tensor of im2col has 3 to 5 dimensions, images first and channels last, "
            f"and corners in all others, as {FORM_OF_PIXELS}"
        )
    if not all(-most <= each < most for each in (*lower, *upper)):
        raise LaunchError(f"{what}: corners are from {-most} to {most - 1}")
    if any(low > of - 1 + high for of, low, high in zip(sizes[1:-1], lower, upper, strict=True)):
        raise LaunchError(f"{what}: the bounding box is empty")
    if not 1 <= pixels <= MOST_PIXELS:
        raise LaunchError(f"{what}: a column has 1 to {MOST_PIXELS} pixels")


def argument_of(text: str, number: int) -> Argument:
    """An argument of a launch line. Raises ``LaunchError``."""
    if text.startswith("{") and text.endswith("}"):
        return Struct(tuple(_member(each, number) for each in split(text[1:-1])))
    if text.startswith("@"):
        return Same(_whole(text[1:], f"argument {number}"))
    if (tensor := _TENSOR.fullmatch(text)) is not None:
        return _tensor(text, number, split(tensor[1]))
    if text.endswith(".npy"):
        return File(text)
    if (found := _ARRAY.fullmatch(text)) is not None:
        if not _is_type(found[1]):
            raise LaunchError(
                f"argument {number} is '{text}': '{found[1]}' is no type: give i8 to i64 (also u "
                "and b), f16, f32, f64 or bf16"
            )
        content = (found[3] or "").strip()
        is_file = _is_file(content)
        if is_file and not Path(content).is_file():
            raise LaunchError(
                f"argument {number} is '{text}': '{content}' is neither a number nor one of "
                f"{', '.join(_CONTENTS)}, and there is no such file"
            )
        if is_file and not found[2].strip():
            return Array(found[1], None, content)
        _check_fits(found[1], constant(content), f"argument {number} is '{text}'")
        count = _whole(found[2], f"the length of argument {number}")
        if (size := count * _element_size(found[1])) > OFFSET:
            raise LaunchError(f"argument {number} has {size} bytes: {OFFSET} are the most")
        return Array(found[1], count, content)
    value = constant(text)
    if value is None:
        raise LaunchError(
            f"argument {number} is '{text}': give an array as i32[64], @N, a number or a .npy file"
        )
    return value


def _parts(argument: Argument) -> Sequence[object]:
    """The members of a struct, the array of a tensor map, or the argument itself."""
    if isinstance(argument, Struct):
        return argument.members
    return (argument.array,) if isinstance(argument, Tensor) else (argument,)


def _same_of(arguments: Sequence[Argument]) -> Iterator[tuple[int, Same]]:
    """The arrays of other arguments that arguments and their parts are, by argument."""
    for number, each in enumerate(arguments):
        for member in _parts(each):
            if isinstance(member, Same):
                yield number, member


def check_same(arguments: Sequence[Argument]) -> None:
    """Raise ``LaunchError`` where an argument is the array of one that is none before it."""
    for number, each in _same_of(arguments):
        if each.argument >= number or not isinstance(arguments[each.argument], Array | File):
            raise LaunchError(
                f"argument {number} is '@{each.argument}', which is no array before it"
            )


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
        _whole(sizes[2], "the shared memory") if len(sizes) > 2 and sizes[2] else 0,
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
    return 8 * (parameter.size or _element_size(parameter.type))


def _element(type: str) -> tuple[str, int, int]:
    element = element_of(type) or element_of(type.replace("i", "s", 1))
    assert element is not None
    return element


def _check_fits(type: str, value: float | None, what: str) -> None:
    """Raise ``LaunchError`` where elements of integers would have another value."""
    letter, bits, count = _element(type)
    if value is None or letter in ("f", "bf") or count > 1:
        return
    if value != value // 1 or not -(1 << bits - 1) <= value < 1 << bits:
        raise LaunchError(
            f"{what}: give an integer from {-(1 << bits - 1)} to {(1 << bits) - 1}, or f32[...]"
        )


def _is_type(type: str) -> bool:
    """True of a type that elements of an array have."""
    element = element_of(type) or element_of(type.replace("i", "s", 1))
    if element is None or element[0] == "pred":
        return False
    letter, bits, count = element
    is_number = letter in ("f", "bf") and count == 1
    return f"{letter}{bits}" in FORMATS if is_number else bits * count % 8 == 0 and bits <= 128


def _bytes_of(value: float, type: str) -> bytes:
    letter, bits, count = _element(type)
    if letter in ("f", "bf") and count == 1:
        found = from_float(float(value), f"{letter}{bits}")
    else:
        found = int(value) & (1 << bits * count) - 1
    return found.to_bytes(max(bits * count, 8) // 8, "little")


def _element_size(type: str) -> int:
    return len(_bytes_of(0, type))


_ARRAYS = {"u32": "I", "s32": "I", "u64": "Q", "s64": "Q", "f32": "f", "f64": "d"}


def _packed(type: str, values: Iterable[float]) -> bytes:
    """Numbers as elements of a type."""
    code = _ARRAYS.get(type.replace("i", "u", 1) if type[0] == "i" else type)
    if code is not None:
        return array(code, values).tobytes()
    return b"".join(_bytes_of(each, type) for each in values)


def _random(type: str, count: int, seed: int, below: int) -> bytes:
    """Elements of a type drawn with a seed: below a number, else all integers, and floats below 1.

    The same on every machine: Python keeps the values of ``random`` and ``getrandbits``.
    """
    draw, (letter, bits, pack) = Random(seed), _element(type)
    if letter in ("f", "bf") and pack == 1:
        values = ((below or 1) * draw.random() for _ in range(count))
    else:
        most = min(below or 1 << 64, 1 << bits * pack)
        values = (draw.getrandbits(64) % most for _ in range(count))
    return _packed(type, values)


def array_bytes(given: Array) -> bytes:
    """The bytes of an argument that is memory; zeros where none are given.

    Raises ``LaunchError`` for a file that has not as many as the argument says.
    """
    size = _element_size(given.type)
    if _is_file(given.content):
        content = _read(given.content)
        if given.count is not None and len(content) != given.count * size:
            raise LaunchError(
                f"{given.content} has {len(content)} bytes, which are not {given.count} of "
                f"{given.type}"
            )
        return content
    return _filled(given.type, given.count or 0, given.content)


@lru_cache(maxsize=16)
def _filled(type: str, count: int, content: str) -> bytes:
    """So many elements; launches of one kernel after the other have the same."""
    if not content:
        return bytes(_element_size(type) * count)
    if (rising := _IOTA.fullmatch(content)) is not None:
        step, (letter, bits, pack) = int(rising[1] or 1), _element(type)
        most = 1 << (1024 if letter in ("f", "bf") else bits * pack)
        return _packed(type, (step * each % most for each in range(count)))
    if (drawn := _RANDOM.fullmatch(content)) is not None:
        return _random(type, count, int(drawn[1] or 0), int(drawn[2] or 0))
    value = 1 if content == "ones" else constant(content)
    assert value is not None
    return _bytes_of(value, type) * count


def _array(memory: Memory, name: str, given: Array) -> Allocation:
    size = _element_size(given.type)
    # Memory that nothing is said of is made where it is touched.
    if not given.content:
        return memory.allocate(name, size * (given.count or 0), size)
    content = array_bytes(given)
    found = memory.allocate(name, len(content), size)
    found.data[: len(content)] = content
    return found


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise LaunchError(f"{path}: {problem.strerror}") from problem


def _file(memory: Memory, name: str, path: str) -> Allocation:
    """An array from a file. Source: numpy.lib.format, versions 1 to 3."""
    content = _read(path)
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise LaunchError(f"{path} is no .npy file")
    wide = content[6] > 1
    length = int.from_bytes(content[8 : 12 if wide else 10], "little")
    begin = (12 if wide else 10) + length
    try:
        header = ast.literal_eval(content[12 if wide else 10 : begin].decode("latin1").strip())
        kind = str(header["descr"])
    except (ValueError, SyntaxError, KeyError, TypeError) as problem:
        raise LaunchError(f"{path} has a header that cannot be read") from problem
    if not re.fullmatch(r"[<|=]?[iufb]\d", kind):
        raise LaunchError(f"{path} has elements of '{kind}': numbers in little endian are needed")
    data = content[begin:]
    found = memory.allocate(name, len(data), int(kind[-1]))
    found.data[: len(data)] = data
    return found


def tensor_map(given: Tensor, address: int) -> TensorMap:
    """The map of an argument whose array is at an address."""
    strides = [_element_size(given.type)]
    for each in reversed(given.sizes):
        strides.append(strides[-1] * each)
    return TensorMap(
        address, ELEMENTS[given.type], given.sizes[::-1], tuple(strides[1:-1]), given.box[::-1],
        SWIZZLES[given.swizzle],
        given.corners and (given.corners[0][::-1], given.corners[1][::-1]),
    )  # fmt: skip


def _map(memory: Memory, name: str, given: Tensor, array: Allocation) -> Allocation:
    """The memory of a tensor map. Raises ``LaunchError`` where its array is too small."""
    size = _element_size(given.type) * prod(given.sizes)
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
            if isinstance(of, Array):
                allocation = _array(memory, name, of)
            elif isinstance(of, File):
                allocation = _file(memory, name, of.path)
            else:
                allocation = known[of.argument]
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


def struct_layout(given: Struct) -> tuple[bytes, tuple[tuple[int, Array | Same], ...]]:
    """The bytes of a struct with 0 for each address of an array, and the places of these.

    Members lie at multiples of their sizes. Source: System V ABI, "Aggregates and Unions", which
    CUDA and HIP follow.
    """
    found, arrays = b"", list[tuple[int, Array | Same]]()
    for member in given.members:
        is_number = isinstance(member, Number)
        value = _bytes_of(member.value, member.type) if is_number else bytes(8)
        found += bytes(-len(found) % len(value))
        if not is_number:
            arrays.append((len(found), member))
        found += value
    return found, tuple(arrays)


def _struct_bytes(
    memory: Memory, parameter: PtxParameter, given: Struct, name: str,
    known: Sequence[Allocation | None],
) -> bytes:  # fmt: skip
    """The bytes of a struct with the addresses of its arrays. Raises ``LaunchError``."""
    content, arrays = struct_layout(given)
    found = bytearray(content)
    for at, member in arrays:
        target = (
            known[member.argument]
            if isinstance(member, Same)
            else _array(memory, f"{name} at byte {at}", member)
        )
        assert target is not None
        found[at : at + 8] = target.base.to_bytes(8, "little")
    room = _bits_of(parameter) // 8
    refuse(faults.of_struct(name, len(found), room))
    return bytes(found) + bytes(room - len(found))


def number_bytes(kernel: str, parameter: PtxParameter, given: float, number: int) -> bytes:
    """The bytes of a parameter that is given as a number. Raises ``LaunchError``."""
    letter, _, _ = _element(parameter.type)
    bits, is_whole = _bits_of(parameter), isinstance(given, int)
    if letter != "bf" and not (letter == "f" and is_whole):
        name = faults.parameter_name(kernel, parameter.name, number)
        refuse(faults.of_number(name, bits, given, is_integer=letter not in ("f", "b")))
    type = parameter.type if letter != "b" else f"b{bits}" if is_whole else f"f{bits}"
    return _bytes_of(given, type)


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
    size = _element_size(type)
    count = allocation.size // size
    return list(unpack_from(f"<{count}{_CODES[type]}", allocation.data))
