"""Arguments of a launch: their text, and their bytes.

An argument is ``i32[65536]`` or ``f32[4096]=iota``, an array with its contents, ``@0``, the array
of another argument, a number, ``x.npy``, or ``{f32[64], i32(8)}`` for a parameter that is a struct:
its members in order.
"""

import ast
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from random import Random

from fencewright.lowering.ptx.code.statements import element_of
from fencewright.lowering.ptx.code.statements import number as integer
from fencewright.simulator.semantics.faults import LaunchError
from fencewright.simulator.semantics.floats import FORMATS, from_float
from fencewright.simulator.semantics.tensors import (
    CORNERS,
    ELEMENTS,
    FORM,
    FORM_OF_PIXELS,
    MOST_BOX,
    MOST_DIMENSIONS,
    MOST_PIXELS,
    SWIZZLES,
    TensorMap,
)

MOST_BYTES = (1 << 32) - 1
"""The bytes of an array: half of an address numbers them (see ``simulator.threads.memory``)."""


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

_ARRAY = re.compile(r"([a-z]\w*)\s*\[([^\]]*)\]\s*(?:=\s*(.+))?", re.DOTALL)
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


def whole_number(text: str, what: str) -> int:
    """A number, or a product of numbers."""
    total = 1
    for factor in text.split("*"):
        if re.fullmatch(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s*", factor) is None:
            raise LaunchError(f"{what} is '{text}': a number is needed")
        total *= int(factor, 0)
    return total


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
        same = Same(whole_number(parts.pop(0)[1:], what))
    sized = _SIZED.fullmatch(parts[0]) if parts else None
    pixels = _PIXELS.fullmatch(parts[1]) if len(parts) > 1 else None
    is_box = len(parts) in (2, 3) and (
        pixels is not None or (parts[1].startswith("[") and parts[1].endswith("]"))
    )
    if sized is None or not is_box or (same and sized[3]):
        raise LaunchError(
            f"{what} is '{text}': give a tensor map as {FORM}: elements of the tensor and "
            "of the box, and the swizzle; after @N, of the array of argument N"
        )
    sizes = tuple(whole_number(each, what) for each in split(sized[2]))
    corners, box = None, ()
    if pixels is None:
        box = tuple(whole_number(each, what) for each in split(parts[1][1:-1]))
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
    element = element_size(type)
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
        return Same(whole_number(text[1:], f"argument {number}"))
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
        count = whole_number(found[2], f"the length of argument {number}")
        if (size := count * element_size(found[1])) > MOST_BYTES:
            raise LaunchError(f"argument {number} has {size} bytes: {MOST_BYTES} are the most")
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


def element_type(type: str) -> tuple[str, int, int]:
    """The letter, the bits and the number of the numbers of an element; ``i`` is as ``s``."""
    found = _known_type(type)
    assert found is not None
    return found


def _known_type(type: str) -> tuple[str, int, int] | None:
    return element_of(type) or element_of(type.replace("i", "s", 1))


def _check_fits(type: str, value: float | None, what: str) -> None:
    """Raise ``LaunchError`` where elements of integers would have another value."""
    letter, bits, count = element_type(type)
    if value is None or letter in ("f", "bf") or count > 1:
        return
    if value != value // 1 or not -(1 << bits - 1) <= value < 1 << bits:
        raise LaunchError(
            f"{what}: give an integer from {-(1 << bits - 1)} to {(1 << bits) - 1}, or f32[...]"
        )


def _is_type(type: str) -> bool:
    """True of a type that elements of an array have."""
    element = _known_type(type)
    if element is None or element[0] == "pred":
        return False
    letter, bits, count = element
    is_number = letter in ("f", "bf") and count == 1
    return f"{letter}{bits}" in FORMATS if is_number else bits * count % 8 == 0 and bits <= 128


def element_bytes(value: float, type: str) -> bytes:
    """The bytes of a number as an element of a type."""
    letter, bits, count = element_type(type)
    if letter in ("f", "bf") and count == 1:
        found = from_float(float(value), f"{letter}{bits}")
    else:
        found = int(value) & (1 << bits * count) - 1
    return found.to_bytes(max(bits * count, 8) // 8, "little")


def element_size(type: str) -> int:
    """The bytes of an element of a type."""
    return len(element_bytes(0, type))


_ARRAYS = {"u32": "I", "s32": "I", "u64": "Q", "s64": "Q", "f32": "f", "f64": "d"}


def _packed(type: str, values: Iterable[float]) -> bytes:
    """Numbers as elements of a type."""
    code = _ARRAYS.get(type.replace("i", "u", 1) if type[0] == "i" else type)
    if code is not None:
        return array(code, values).tobytes()
    return b"".join(element_bytes(each, type) for each in values)


def _random(type: str, count: int, seed: int, below: int) -> bytes:
    """Elements of a type drawn with a seed: below a number, else all integers, and floats below 1.

    The same on every machine: Python keeps the values of ``random`` and ``getrandbits``.
    """
    draw, (letter, bits, pack) = Random(seed), element_type(type)
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
    size = element_size(given.type)
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
        return bytes(element_size(type) * count)
    if (rising := _IOTA.fullmatch(content)) is not None:
        step, (letter, bits, pack) = int(rising[1] or 1), element_type(type)
        most = 1 << (1024 if letter in ("f", "bf") else bits * pack)
        return _packed(type, (step * each % most for each in range(count)))
    if (drawn := _RANDOM.fullmatch(content)) is not None:
        return _random(type, count, int(drawn[1] or 0), int(drawn[2] or 0))
    value = 1 if content == "ones" else constant(content)
    assert value is not None
    return element_bytes(value, type) * count


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise LaunchError(f"{path}: {problem.strerror}") from problem


def file_bytes(path: str) -> tuple[bytes, int]:
    """The bytes of a .npy file's array, and those of an element. Raises ``LaunchError``.

    Source: numpy.lib.format, versions 1 to 3.
    """
    content = _read(path)
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise LaunchError(f"{path} is no .npy file")
    wide = content[6] > 1
    length = int.from_bytes(content[8 : 12 if wide else 10], "little")
    begin = (12 if wide else 10) + length
    try:
        header = ast.literal_eval(content[12 if wide else 10 : begin].decode("latin1").strip())
        kind, shape = str(header["descr"]), tuple(header["shape"])
        by_columns = bool(header["fortran_order"]) and len(shape) > 1
    except (ValueError, SyntaxError, KeyError, TypeError) as problem:
        raise LaunchError(f"{path} has a header that cannot be read") from problem
    if by_columns or not re.fullmatch(r"[<|=]?[iufb]\d", kind):
        order = "by columns" if by_columns else f"of '{kind}'"
        raise LaunchError(
            f"{path} has elements {order}: numbers by rows in little endian are needed"
        )
    size, data = int(kind[-1]), content[begin:]
    if len(data) != size * prod(shape):
        raise LaunchError(f"{path} has {len(data)} bytes, not those of {shape} of '{kind}'")
    return data, size


def tensor_map(given: Tensor, address: int) -> TensorMap:
    """The map of an argument whose array is at an address."""
    strides = [element_size(given.type)]
    for each in reversed(given.sizes):
        strides.append(strides[-1] * each)
    return TensorMap(
        address, ELEMENTS[given.type], given.sizes[::-1], tuple(strides[1:-1]), given.box[::-1],
        SWIZZLES[given.swizzle],
        given.corners and (given.corners[0][::-1], given.corners[1][::-1]),
    )  # fmt: skip


def struct_bytes(given: Struct, address_of: Callable[[int, Array | Same], int]) -> bytes:
    """The bytes of a struct; ``address_of``: the address of an array, by its place in the struct.

    Members lie at multiples of their sizes. Source: System V ABI, "Aggregates and Unions", which
    CUDA and HIP follow.
    """
    found = b""
    for member in given.members:
        is_number = isinstance(member, Number)
        value = element_bytes(member.value, member.type) if is_number else bytes(8)
        found += bytes(-len(found) % len(value))
        found += value if is_number else address_of(len(found), member).to_bytes(8, "little")
    return found
