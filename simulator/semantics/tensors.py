"""Tensor maps: what a copy by one moves, and the 128 bytes that stand for it in memory.

A map is opaque to programs, which copy it and replace its fields: where the fields lie in its bytes
is of this executor. Dimension 0 is the one whose elements are adjacent.
Source: PTX ISA, "Tensors"; tensormap.replace; CUDA Driver API, cuTensorMapEncodeTiled.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from struct import pack_into, unpack_from
from typing import Protocol

BYTES = 128
MOST_DIMENSIONS = 5
MOST_BOX = 256
"""Elements of a box in each dimension. Source: cuTensorMapEncodeTiled."""
MOST_PIXELS = 1024
"""Pixels of a column. Source: cuTensorMapEncodeIm2col."""
CORNERS: Mapping[int, int] = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}
"""By dimensions: corners are from minus this up to below it. Source: PTX ISA, 5.5.4.1."""
RANK_BITS = 24
"""The bits of an address of shared memory below the rank of its CTA in the cluster."""
ALIGNMENT = 128
"""Of a box in shared memory. Source: PTX ISA, cp.async.bulk.tensor."""
_CHUNK = 16
"""Bytes that a swizzle keeps together, and of which a box begins at a multiple."""
ELEMENTS: Mapping[str, int] = {
    "u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 9,
    "bf16": 10,
}  # fmt: skip
"""The types of elements. Source: tensormap.replace, ``elemtype``."""
_SIZES = {
    0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 4, 9: 8, 10: 2, 11: 4, 12: 4,
}  # fmt: skip
SWIZZLES: Mapping[str, int] = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""Swizzles. Source: tensormap.replace, ``swizzle_mode``."""
OTHER_BOXES = ("im2col::", "tile::", "cta_group")
"""The modes of tensor copies that are not executed."""
FORM = "tensormap(f16[64, 128], [16, 64], 128B)"
FORM_OF_PIXELS = "tensormap(f16[2, 16, 16, 64], im2col([-1, -1], [-1, -1], 64, 128))"

_FIELDS: Mapping[str, tuple[str, int, int]] = {
    "global_address": ("<Q", 0, 8), "elemtype": ("<B", 8, 1), "rank": ("<B", 9, 1),
    "swizzle_mode": ("<B", 10, 1), "interleave_layout": ("<B", 11, 1), "fill_mode": ("<B", 12, 1),
    "global_dim": ("<I", 16, 4), "box_dim": ("<I", 36, 4), "element_stride": ("<I", 56, 4),
    "global_stride": ("<Q", 80, 8), "mode": ("<B", 13, 1), "lower_corner": ("<h", 112, 2),
    "upper_corner": ("<h", 118, 2),
}  # fmt: skip
"""The form of each field, its first byte, and the bytes from one dimension to the next."""


class NotExecuted(Exception):
    """The end of a launch that cannot be executed: the missing feature, as a sentence."""


class OutOfBounds(NotExecuted):
    """The end of a launch at an access outside of all that it was given."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Adjacent bytes of a box: ``taken`` of ``size`` are in the tensor, after ``skipped``.

    ``at``: in the box; ``place``: in the tensor, of the first that is taken.
    """

    at: int
    size: int
    skipped: int
    taken: int
    place: int


class Box(Protocol):
    """The part of a tensor that a copy moves, and its places in shared memory.

    ``address``: of the tensor; ``extent``: bytes of shared memory.
    """

    @property
    def address(self) -> int: ...
    @property
    def element_size(self) -> int: ...
    @property
    def extent(self) -> int: ...
    @property
    def alignment(self) -> int: ...

    def placed(self, begin: int, at: int) -> int:
        """The place in shared memory of byte ``at`` of a box that begins at ``begin``."""
        ...


class Tile(Box, Protocol):
    """A box that has its place in shared memory, ``lds``, and its pieces."""

    @property
    def lds(self) -> int: ...
    @property
    def pieces(self) -> Sequence[Piece]: ...


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor in global memory, and the box that an access moves.

    ``sizes``, ``box``: elements, dimension 0 first. ``strides``: bytes, of each dimension from 1.
    ``corners``: of mode im2col, the lower and the upper corner of the bounding box from dimension
    1; the box is then channels and pixels.
    """

    address: int
    element: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def element_size(self) -> int:
        """The bytes of an element."""
        return _SIZES[self.element]

    @property
    def box_size(self) -> int:
        """The bytes of a box."""
        size = self.element_size
        for each in self.box:
            size *= each
        return size

    @property
    def pitch(self) -> int:
        """The bytes from one row of a box to the next in shared memory: at least a whole swizzle.

        Source: CUDA Programming Guide, "Swizzle modes"; measured on an H200.
        """
        row = self.box[0] * self.element_size
        return max(row, _CHUNK << self.swizzle) if self.swizzle else row

    @property
    def extent(self) -> int:
        """The bytes of shared memory that a box needs."""
        return prod(self.box[1:]) * self.pitch

    def encoded(self) -> bytes:
        """The map's bytes."""
        data = bytearray(BYTES)
        fields: dict[str, Sequence[int]] = {
            "global_address": (self.address,), "elemtype": (self.element,),
            "rank": (len(self.sizes) - 1,), "swizzle_mode": (self.swizzle,),
            "global_dim": self.sizes, "box_dim": self.box, "global_stride": self.strides,
            "element_stride": (1,) * len(self.sizes),
        }  # fmt: skip
        if self.corners is not None:
            fields |= {"mode": (1,)}
            fields |= zip(("lower_corner", "upper_corner"), self.corners, strict=True)
        for name, values in fields.items():
            form, first, step = _FIELDS[name]
            for number, value in enumerate(values):
                pack_into(form, data, first + number * step, value)
        return bytes(data)

    @property
    def alignment(self) -> int:
        """That of a box in shared memory."""
        return ALIGNMENT

    def placed(self, begin: int, at: int) -> int:
        """The place in shared memory of byte ``at`` of a box that begins at ``begin``."""
        return self.swizzled(begin + at)

    def box_at(
        self, coordinates: Sequence[int], *, is_load: bool, offsets: Sequence[int] | None = None
    ) -> tuple[Piece, ...]:
        """The bytes of the box at some coordinates; ``offsets``: of mode im2col.

        Raises ``NotExecuted`` where there is no such box.
        """
        if (offsets is None) != (self.corners is None):
            raise NotExecuted("its mode, tile or im2col, is not that of its tensor map")
        if len(coordinates) != len(self.sizes):
            raise NotExecuted(
                f"{len(coordinates)} coordinates in a tensor of {len(self.sizes)} dimensions"
            )
        self._refuse(coordinates, is_load=is_load)
        rows = self._rows(coordinates) if offsets is None else self._pixels(coordinates, offsets)
        return tuple(self._pieces(coordinates[0], rows))

    def _rows(self, coordinates: Sequence[int]) -> Iterator[Sequence[int]]:
        """The coordinates from dimension 1 of the rows of a tile."""
        for others in product(*map(range, reversed(self.box[1:]))):
            yield [at + by for at, by in zip(coordinates[1:], reversed(others), strict=True)]

    def _pixels(
        self, coordinates: Sequence[int], offsets: Sequence[int]
    ) -> Iterator[Sequence[int]]:
        """The coordinates from dimension 1 of the pixels of a column, in their order.

        The base goes through the bounding box of each image, the offsets are added to it. Source:
        PTX ISA, 5.5.4, im2col mode.
        """
        assert self.corners is not None
        lower, sizes = self.corners[0], self.sizes[1:-1]
        upper = [of - 1 + by for of, by in zip(sizes, self.corners[1], strict=True)]
        base, image = list(coordinates[1:-1]), coordinates[-1]
        if len(offsets) != len(base):
            raise NotExecuted(f"{len(offsets)} offsets in {len(base)} dimensions of pixels")
        for at, low, high in zip(base, lower, upper, strict=True):
            if not low <= at <= high:
                raise OutOfBounds(
                    f"out of bounds: the base of a filter is at {at}, its bounding box is from "
                    f"{low} to {high}"
                )
        for _ in range(self.box[1]):
            yield [*(at + by for at, by in zip(base, offsets, strict=True)), image]
            for dimension, high in enumerate(upper):
                base[dimension] += 1
                if base[dimension] <= high:
                    break
                base[dimension] = lower[dimension]
            else:
                image += 1

    def _refuse(self, coordinates: Sequence[int], *, is_load: bool) -> None:
        """Raise ``OutOfBounds`` for coordinates at which hardware has no such copy.

        Source: measured on an H200, boxes at 59 places and 37 columns of pixels: an
        illegal instruction.
        """
        begin = coordinates[0] * self.element_size
        if begin % _CHUNK:
            raise OutOfBounds(
                f"unaligned: a box begins at byte {begin} of a row of its tensor: give a first "
                f"coordinate that makes it a multiple of {_CHUNK}"
            )
        if not is_load and min(coordinates) < 0:
            given = ", ".join(map(str, coordinates))
            raise OutOfBounds(
                f"out of bounds: a box is stored at ({given}): stores and reductions take no "
                "negative coordinate"
            )
        if is_load or self.corners is None:
            return
        lower, upper = self.corners
        if min(lower) < 0 or max(upper) > 0:
            raise OutOfBounds(
                "out of bounds: a column is stored by a map whose bounding box begins at "
                f"{list(lower)} and ends at {list(upper)}: it has to lie in the tensor, without "
                "negative lower and positive upper corners"
            )

    def _pieces(self, column: int, rows: Iterable[Sequence[int]]) -> Iterator[Piece]:
        """The bytes of rows from a column on, in their order in shared memory."""
        size = self.element_size
        row = self.box[0] * size
        step = min(row, _CHUNK) if self.swizzle else row
        first, last = -column * size, (self.sizes[0] - column) * size
        for number, places in enumerate(rows):
            inside = all(0 <= at < of for at, of in zip(places, self.sizes[1:], strict=True))
            base = sum(at * by for at, by in zip(places, self.strides, strict=True)) - first
            for begin in range(0, row, step):
                low = min(max(begin, first), begin + step)
                taken = max(min(begin + step, last) - low, 0) if inside else 0
                yield Piece(number * self.pitch + begin, step, low - begin, taken, base + low)

    def swizzled(self, at: int) -> int:
        """The place in shared memory of the byte that would be at a place.

        Source: PTX ISA, "Swizzling Modes": bits 4 up are changed by bits 7 up.
        """
        return at ^ (at >> 7 & (1 << self.swizzle) - 1) << 4


def field_place(field: str, ordinal: int) -> tuple[int, int]:
    """The place in a map of a field, and its bytes: tensormap.replace."""
    form, first, step = _FIELDS[field]
    return first + ordinal * step, {"<B": 1, "<I": 4, "<Q": 8}[form]


def map_of(data: bytes, place: str) -> TensorMap:
    """The map in the bytes at a place. Raises ``NotExecuted`` for one of another kind, or none."""

    def field(name: str, ordinal: int = 0) -> int:
        form, first, step = _FIELDS[name]
        found: int = unpack_from(form, data, first + ordinal * step)[0]
        return found

    def dimensions(name: str, count: int) -> tuple[int, ...]:
        return tuple(field(name, number) for number in range(count))

    rank, element, swizzle = field("rank") + 1, field("elemtype"), field("swizzle_mode")
    of_pixels = bool(field("mode"))
    box = dimensions("box_dim", 2 if of_pixels else rank)
    if rank > MOST_DIMENSIONS or element not in _SIZES or not all(box):
        raise NotExecuted(f"there is no tensor map at {place}: give it, as {FORM}")
    plain = field("interleave_layout") == 0 and swizzle in SWIZZLES.values()
    if not plain or any(each > 1 for each in dimensions("element_stride", rank)):
        raise NotExecuted(
            f"the tensor map at {place} has an interleaved layout, element strides or "
            "another swizzle"
        )
    lower, upper = (dimensions(f"{each}_corner", rank - 2) for each in ("lower", "upper"))
    return TensorMap(
        field("global_address"), element, dimensions("global_dim", rank),
        dimensions("global_stride", rank - 1), box, swizzle, (lower, upper) if of_pixels else None,
    )  # fmt: skip
