"""Copies of tiles by gfx1250's tensor data mover: what their descriptors say.

A tile is read or written row by row, dimension 0 adjacent; what lies beyond the tensor loads as 0
and is not stored. Source: CDNA5 ISA 10.11, Tensor Data Mover; LLVM, AMDGPUToROCDL, the lowering of
make_dma_descriptor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import MappingProxyType

from fencewright.simulator.semantics.tensors import NotExecuted, Piece

_D1, _D2, _D3 = 128, 384, 512
_FIELDS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "count": (0, 2), "reserved": (2, 28), "gather": (30, 2), "lds_addr": (32, 32),
        "global_addr": (64, 57), "type": (126, 2),
        "workgroup_mask": (_D1, 16), "data_size": (_D1 + 16, 2), "atomic_barrier": (_D1 + 18, 1),
        "iterate": (_D1 + 19, 1), "pad": (_D1 + 20, 1), "pad_interval": (_D1 + 22, 3),
        "pad_amount": (_D1 + 25, 7),
        "tensor_dim0": (_D1 + 48, 32), "tensor_dim1": (_D1 + 80, 32), "tensor_dim2": (_D2, 32),
        "tensor_dim3": (_D2 + 32, 32), "tensor_dim4": (_D3 + 48, 32),
        "tile_dim0": (_D1 + 112, 16), "tile_dim1": (_D1 + 128, 16), "tile_dim2": (_D1 + 144, 16),
        "tile_dim3": (_D2 + 112, 16), "tile_dim4": (_D3 + 80, 16),
        "stride0": (_D1 + 160, 48), "stride1": (_D1 + 208, 48), "stride2": (_D2 + 64, 48),
        "stride3": (_D3, 48),
    }
)  # fmt: skip
"""The first bit of each field, and how many it has."""
_REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "reserved": "bits 2 to 29 of its descriptor are reserved for saved waves: set them to 0",
        "gather": "the documents differ on the bits of a gather and of the size of its indices",
        "workgroup_mask": "it is a multicast to work-groups of a cluster, and whether one that has "
        "not called for it gets the tile is not documented",
        "atomic_barrier": "its end is a signal at a barrier in LDS, which has no row",
        "iterate": "a tile that is repeated has no row",
    }
)
"""The fields that have to be 0, and why."""
_IMAGE = 2
"""The type of every descriptor."""
_DIMENSIONS = 5


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of a tensor and its place in LDS.

    ``sizes``, ``box``: elements of the tensor from the begin of the tile, and of the tile.
    ``strides``: bytes from 1 on. ``interval``, ``padding``: after so many bytes in LDS so many are
    left out.
    """

    address: int
    lds: int
    element_size: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    interval: int = 0
    padding: int = 0
    alignment: int = 1

    @property
    def extent(self) -> int:
        """The bytes of LDS from the first to the last."""
        return self.placed(0, prod(self.box) * self.element_size - 1) + 1

    def placed(self, begin: int, at: int) -> int:
        """The place in LDS of byte ``at`` of the tile, which begins at ``begin``."""
        return begin + at + (at // self.interval * self.padding if self.interval else 0)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The bytes of the rows, in their order in LDS; one lies between paddings."""
        return tuple(self._pieces())

    def _pieces(self) -> Iterator[Piece]:
        row, tensor = (each * self.element_size for each in (self.box[0], self.sizes[0]))
        at = 0
        for others in product(*map(range, reversed(self.box[1:]))):
            places = others[::-1]
            is_inside = all(
                place < size for place, size in zip(places, self.sizes[1:], strict=True)
            )
            base = sum(place * by for place, by in zip(places, self.strides, strict=True))
            begin = 0
            while begin < row:
                size = row - begin
                if self.interval:
                    size = min(size, self.interval - at % self.interval)
                taken = max(min(size, tensor - begin), 0) if is_inside else 0
                yield Piece(at, size, 0, taken, base + begin)
                begin, at = begin + size, at + size


def tile_of(words: Sequence[int], *, is_load: bool) -> Tile | None:
    """The tile of a descriptor's words; None for one that moves nothing. Raises ``NotExecuted``."""
    bits = sum(word << 32 * place for place, word in enumerate(words))
    found = {name: bits >> first & (1 << count) - 1 for name, (first, count) in _FIELDS.items()}
    for name, reason in _REFUSED.items():
        if found[name] and (is_load or name != "workgroup_mask"):
            raise NotExecuted(reason)
    if found["count"] > 1 or found["type"] != _IMAGE:
        raise NotExecuted("its descriptor has a count above 1, or another type than 2")
    box = [found[f"tile_dim{n}"] for n in range(_DIMENSIONS)]
    if not found["count"] or not box[0]:
        return None
    rank = max(n for n, each in enumerate(box, 1) if each)
    if not all(box[:rank]):
        raise NotExecuted("a dimension of its tile is 0 below one that is not")
    size = 1 << found["data_size"]
    interval = padding = 0
    if is_load and found["pad"]:
        if bool(found["pad_interval"]) != bool(found["pad_amount"]) or box[0] * size % 4:
            raise NotExecuted("its padding is one whose result is unpredictable")
        interval, padding = 8 << found["pad_interval"], 4 * (found["pad_amount"] + 1)
    return Tile(
        found["global_addr"], found["lds_addr"], size,
        tuple(found[f"tensor_dim{n}"] for n in range(rank)),
        tuple(found[f"stride{n}"] * size for n in range(rank - 1)), tuple(box[:rank]),
        interval, padding,
    )  # fmt: skip
