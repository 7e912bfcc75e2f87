"""Functions of all lanes of a wave together: AMD instructions that read other lanes.

Each takes which lanes are active, the operands, and last the lanes that EXEC has, if not all.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.kernels.amd.modifiers import NotExecutedError


def _chosen(active: LaneFlags, lanes: Values | None) -> LaneFlags:
    return active if lanes is None else active & (lanes != 0)


def first_lane(active: LaneFlags, value: Values, lanes: Values | None = None) -> Values:
    """The value of the first active lane; where there is none, of the first."""
    chosen = _chosen(active, lanes)
    return np.take_along_axis(value, chosen.argmax(axis=1)[:, None], axis=1)


def one_lane(active: LaneFlags, value: Values, lane: Values) -> Values:
    """The value of the lane that an operand names, active or not."""
    del active
    most = np.uint64(value.shape[1] - 1)
    return np.take_along_axis(value, (lane[:, :1] & most).astype(np.int64), axis=1)


def in_lane(size: int, own: Values, lane: Values, value: Values, old: Values) -> Values:
    """The value in one lane of a wave of ``size``, else the old one."""
    return np.where(own == lane & np.uint64(size - 1), value, old)


def gathered(
    offset: int, active: LaneFlags, value: Values, address: Values, lanes: Values | None = None
) -> Values:
    """Each lane's value from the lane that its address names; of one that is not active 0."""
    most = np.uint64(value.shape[1] - 1)
    source = ((address + np.uint64(offset)) >> np.uint64(2) & most).astype(np.int64)
    given = np.where(_chosen(active, lanes), value, np.uint64(0))
    return np.take_along_axis(given, source, axis=1)


def scattered(
    offset: int, active: LaneFlags, value: Values, address: Values, lanes: Values | None = None
) -> Values:
    """Each lane's value in the lane that its address names; of several the last, of none 0."""
    most = np.uint64(value.shape[1] - 1)
    target = ((address + np.uint64(offset)) >> np.uint64(2) & most).astype(np.int64)
    chosen, found = _chosen(active, lanes), np.zeros_like(value)
    for lane in range(value.shape[1]):
        rows = np.flatnonzero(chosen[:, lane])
        found[rows, target[rows, lane]] = value[rows, lane]
    return found


def from_lanes(
    sources: tuple[int, ...], active: LaneFlags, value: Values, lanes: Values | None = None
) -> Values:
    """Each lane's value from a fixed lane; of one that is not active 0."""
    given = np.where(_chosen(active, lanes), value, np.uint64(0))
    return given[:, sources[: given.shape[1]]]


def exchanged(size: int, is_first: bool, active: LaneFlags, a: Values, b: Values) -> Values:
    """The rows of ``size`` lanes with an odd number in ``a``, and with an even one in ``b``, change
    places.

    ``is_first``: what ``a`` has then, else ``b``. Source: CDNA4 ISA 12, V_PERMLANE32_SWAP_B32.
    """
    del active
    lane: Numbers = np.arange(a.shape[1], dtype=np.int64)
    is_odd = lane // size % 2 == 1
    return (
        np.where(is_odd, b[:, lane ^ size], a)
        if is_first
        else np.where(is_odd, b, a[:, lane ^ size])
    )


# Swizzles. Source: MI300 ISA 11.3, DS_SWIZZLE_B32; LLVM AMDGPUModifierSyntax, swizzle


def _masked(keep: int, set: int, flip: int) -> Callable[[int], int]:
    return lambda lane: lane & 32 | (lane & 31 & keep | set) ^ flip


def _bitmask(word: str) -> Callable[[int], int]:
    keep = sum(1 << n for n, each in enumerate(word[::-1]) if each in "pi")
    ones = sum(1 << n for n, each in enumerate(word[::-1]) if each == "1")
    flip = sum(1 << n for n, each in enumerate(word[::-1]) if each == "i")
    return _masked(keep, ones, flip)


def _rotated(size: int, is_right: int, count: int) -> Callable[[int], int]:
    step = count if is_right == 0 else -count
    return lambda lane: lane // size * size + (lane + step) % size


def _quads(*order: int) -> Callable[[int], int]:
    return lambda lane: lane // 4 * 4 + order[lane % 4]


def _swapped(size: int) -> Callable[[int], int]:
    return lambda lane: lane ^ size


def _reversed(size: int) -> Callable[[int], int]:
    return lambda lane: lane ^ (size - 1)


def _broadcast(size: int, n: int) -> Callable[[int], int]:
    return lambda lane: lane // size * size + n


_SWIZZLES: Mapping[str, Callable[..., Callable[[int], int]]] = MappingProxyType(
    {
        "QUAD_PERM": _quads,
        "SWAP": _swapped,
        "REVERSE": _reversed,
        "BROADCAST": _broadcast,
        "ROTATE": partial(_rotated, 32),
    }
)


def swizzle_of(word: str) -> tuple[int, ...]:
    """The lane that each lane reads: ``swizzle(SWAP,4)`` or a number of 16 bits.

    Raises ``NotExecutedError``.
    """
    name, *operands = word.removeprefix("swizzle(").removesuffix(")").replace('"', "").split(",")
    if name == "BITMASK_PERM":
        function = _bitmask(operands[0])
    elif name in _SWIZZLES:
        function = _SWIZZLES[name](*(int(each, 0) for each in operands))
    else:
        function = _of_number(int(name or "0", 0))
    return tuple([function(lane) for lane in range(64)])


def _of_number(number: int) -> Callable[[int], int]:
    if number & 0x8000 == 0:
        return _masked(number & 31, number >> 5 & 31, number >> 10 & 31)
    if number & 0xFF00 == 0x8000:
        return _quads(*(number >> n & 3 for n in range(0, 8, 2)))
    if number & 0xF000 == 0xC000:
        return _rotated(32, number >> 10 & 1, number >> 5 & 31)
    raise NotExecutedError(f"'{number:#x}' is not executed")
