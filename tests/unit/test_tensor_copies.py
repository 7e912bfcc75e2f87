"""Copies by tensor maps: boxes, what is outside, swizzles, reductions, clusters, and maps that a kernel makes."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import fencewright
from fencewright.launches import ExecutionError
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.threads.launch import LaunchError, argument_of, parse_launch
from fencewright.tools.inputs.ptx_kernels import kernels_of_file

Given = np.ndarray | str


def by_waves(text: str, grid: int, block: int, cluster: int, args: Sequence[Given]) -> list[bytes]:
    """The arrays after a launch that the executor of waves runs."""
    given = [argument_of(each, n) if isinstance(each, str) else each for n, each in enumerate(args)]
    (kernel,) = kernels_of_file(read_ptx(text, "k.ptx"))
    program = kernel.read()
    launch = Launch((grid, 1, 1), (block, 1, 1), tuple(given), cluster=(cluster, 1, 1))
    memory = execute(program, launch, allocate(program, launch), lambda _: None)
    kept = {each.name: each for each in memory.buffers}
    return [
        memory.contents(kept[name].name).tobytes()
        for name in (f"argument {n}" for n, each in enumerate(args) if not isinstance(each, str))
        if name in kept
    ]


def both(
    text: str, *, block: int, args: Sequence[Given], grid: int = 1, cluster: int = 1
) -> Sequence[np.ndarray]:
    """The arguments after a launch, which both executors leave alike."""
    found = fencewright.execute(text, grid=grid, block=block, cluster=cluster, args=args)
    arrays = [each for n, each in enumerate(found) if not isinstance(args[n], str)]
    assert [each.tobytes() for each in arrays] == by_waves(text, grid, block, cluster, args)
    return found


_HEAD = """.version 8.6
.target sm_90a
.address_size 64
"""
_MAP = ".param .align 64 .b8 map[128]"
_OUT, _IN = ".param .u64 out", ".param .u64 in"


def text_of(body: str, parameters: str) -> str:
    """A kernel whose lane has its number in ``%r1``, its word of ``out`` in ``%rd3``."""
    return f"""{_HEAD}
.visible .entry k({parameters})
{{
.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>;
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3; setp.eq.u32 %p0, %r1, 0;
{body}
}}
"""


MAP = "mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4;"


def load(x: int, y: int, size: int) -> str:
    """Loads of a box whose map is at ``%rd5``."""
    return f"""
@%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
  [tile], [%rd5, {{{x}, {y}}}], [bar];
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;
"""


OUT = "ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd3], %r4; ret;"


def box_of(tensor: np.ndarray, x: int, y: int, rows: int, columns: int) -> np.ndarray:
    """The box at a place, zero outside: element by element."""
    found = np.zeros((rows, columns), tensor.dtype)
    for row in range(rows):
        for column in range(columns):
            if 0 <= y + row < tensor.shape[0] and 0 <= x + column < tensor.shape[1]:
                found[row, column] = tensor[y + row, x + column]
    return found


def swizzled(box: np.ndarray, span: int) -> np.ndarray:
    """A box as it lies in shared memory: 16 bytes change places in each row of 128 bytes of it."""
    flat, rows = box.view(np.uint8).reshape(-1), np.zeros(box.nbytes, np.uint8)
    for at in range(0, len(flat), 16):
        chunk, line = at // 16 % (span // 16), at // 128 % (span // 16)
        to = at - 16 * chunk + 16 * (chunk ^ line)
        rows[to : to + 16] = flat[at : at + 16]
    return rows.view(box.dtype).reshape(box.shape)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (8, 4), (-4, -2), (28, 15), (40, 0), (0, -9)])
def test_a_box_is_read_and_what_is_outside_is_zero(x: int, y: int) -> None:
    tensor = np.arange(1, 16 * 32 + 1, dtype=np.uint32)
    map = "tensormap(@1, u32[16, 32], [8, 8])"
    text = text_of(MAP + load(x, y, 256) + OUT, f"{_OUT}, {_IN}, {_MAP}")
    out, *_ = both(text, block=64, args=(np.zeros(64, np.uint32), tensor, map))
    wanted = box_of(tensor.reshape(16, 32), x, y, 8, 8)
    assert (out.reshape(8, 8) == wanted).all()


def test_a_map_has_an_array_of_its_own() -> None:
    text = text_of(MAP + load(4, 0, 64) + OUT, f"{_MAP}, {_OUT}")
    map = "tensormap(u32[4, 8]=iota, [4, 4])"
    _, out = both(text, block=16, args=(map, np.zeros(16, np.uint32)))
    assert out.tolist() == [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]


@pytest.mark.parametrize("span", [32, 64, 128])
def test_a_swizzle_permutes_what_lies_in_shared_memory(span: int) -> None:
    columns = span // 4
    map = f"tensormap(u32[16, {columns}]=iota, [16, {columns}], {span}B)"
    count = 16 * columns
    text = text_of(MAP + load(0, 0, 4 * count) + OUT, f"{_MAP}, {_OUT}")
    _, out = both(text, block=count, args=(map, np.zeros(count, np.uint32)))
    wanted = swizzled(np.arange(count, dtype=np.uint32).reshape(16, columns), span)
    assert (out.reshape(16, columns) == wanted).all()
    assert out.tolist() != list(range(count))


@pytest.mark.parametrize(
    ("columns", "span"), [(4, 32), (4, 64), (8, 64), (4, 128), (12, 128), (16, 128)]
)
def test_rows_of_a_swizzled_box_lie_a_whole_swizzle_apart(columns: int, span: int) -> None:
    """As on an H200; it leaves the bytes between them."""
    map = f"tensormap(u32[16, {columns}]=iota, [16, {columns}], {span}B)"
    pitch = span // 4
    text = text_of(MAP + load(0, 0, 64 * columns) + OUT, f"{_MAP}, {_OUT}")
    _, out = both(text, block=16 * pitch, args=(map, np.zeros(16 * pitch, np.uint32)))
    wanted = np.zeros((16, pitch), np.uint32)
    wanted[:, :columns] = np.arange(16 * columns).reshape(16, columns)
    assert (out.reshape(16, pitch) == swizzled(wanted, span)).all()


def test_a_swizzled_box_needs_whole_rows() -> None:
    map = "tensormap(u32[64, 4], [33, 4], 128B)"
    text = text_of(MAP + load(0, 0, 33 * 16) + OUT, f"{_MAP}, {_OUT}")
    with pytest.raises(ExecutionError, match="4224 bytes"):
        fencewright.execute(text, block=32, args=(map, np.zeros(32, np.uint32)))


STORE = """
st.shared.u32 [%r3], %r1; fence.proxy.async.shared::cta; bar.sync 0;
@!%p0 ret;
{name} [%rd5, {{{x}, {y}}}], [tile];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
"""


def stored(name: str, x: int, y: int, tensor: np.ndarray) -> np.ndarray:
    body = STORE.format(name=name, x=x, y=y)
    text = text_of(MAP + body, f"{_OUT}, {_MAP}")
    given = f"tensormap(@0, {'f32' if tensor.dtype == np.float32 else 'u32'}[8, 8], [4, 4])"
    found, _ = both(text, block=16, args=(tensor, given))
    return found.reshape(8, 8)


def test_a_store_leaves_what_is_outside() -> None:
    name = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
    found = stored(name, 4, 6, np.full(64, 99, np.uint32))
    wanted = np.full((8, 8), 99, np.uint32)
    wanted[6:, 4:] = [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert (found == wanted).all()


@pytest.mark.parametrize(("x", "y"), [(3, 0), (1, 0), (-3, 0)])
def test_a_box_begins_at_a_multiple_of_16_bytes(x: int, y: int) -> None:
    """An H200 ends in an illegal instruction."""
    map = "tensormap(@1, u32[16, 32], [8, 8])"
    text = text_of(MAP + load(x, y, 256) + OUT, f"{_OUT}, {_IN}, {_MAP}")
    tensor = np.zeros(16 * 32, np.uint32)
    with pytest.raises(ExecutionError, match="multiple of 16"):
        both(text, block=64, args=(np.zeros(64, np.uint32), tensor, map))


@pytest.mark.parametrize("name", ["cp.async.bulk.tensor.2d", "cp.reduce.async.bulk.tensor.2d"])
@pytest.mark.parametrize(("x", "y"), [(-4, 0), (0, -1), (4, -1)])
def test_no_box_is_stored_at_a_negative_coordinate(name: str, x: int, y: int) -> None:
    """An H200 ends in an illegal instruction."""
    update = ".add" if "reduce" in name else ""
    name = f"{name}.global.shared::cta{update}.tile.bulk_group"
    with pytest.raises(ExecutionError, match="take no negative coordinate"):
        stored(name, x, y, np.full(64, 99, np.uint32))


def test_a_reduction_is_of_the_elements_of_the_map() -> None:
    name = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
    found = stored(name, 4, 0, np.full(64, 99, np.uint32))
    assert found[:4, 4:].reshape(-1).tolist() == [99 + n for n in range(16)]
    assert (found[4:] == 99).all()
    floats = stored(name, 0, 0, np.ones(64, np.float32))
    bits = np.arange(16, dtype=np.uint32).view(np.float32)
    assert (floats[:4, :4].reshape(-1) == bits + np.float32(1)).all()


def test_a_copy_goes_to_several_blocks_of_a_cluster() -> None:
    body = """
@%p0 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;
mov.u32 %r5, %cluster_ctarank; setp.eq.and.u32 %p2, %r5, 1, %p0; mov.u32 %r6, 5;
@%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
  [tile], [%rd5, {0, 0}], [bar], 5;
setp.eq.u32 %p3, %r5, 1; setp.eq.u32 %p4, %r5, 3; or.pred %p3, %p3, %p4; @%p3 bra E;
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;
E: barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
mov.u32 %r7, %ctaid.x; mul.wide.u32 %rd6, %r7, 64; add.s64 %rd3, %rd3, %rd6;
""" + OUT  # fmt: skip
    text = text_of(MAP + body, f"{_MAP}, {_OUT}")
    args = ("tensormap(u32[4, 4]=iota, [4, 4])", np.zeros(64, np.uint32))
    _, out = both(text, grid=4, block=16, cluster=4, args=args)
    assert out.reshape(4, 16).tolist() == [[*range(16)], [0] * 16, [*range(16)], [0] * 16]


def column_of(
    tensor: np.ndarray, corners: tuple[list[int], list[int]], channels: int, pixels: int,
    base: Sequence[int], offsets: Sequence[int],
) -> list[int]:  # fmt: skip
    """PTX ISA, 5.5.4: all pixels of the bounding boxes in order, from the base on, and the offsets.

    ``tensor``: images first, channels last; ``base`` and ``offsets``: as the instruction has them.
    """
    sizes = tensor.shape[1:-1]
    ranges = [range(low, of + high) for of, low, high in zip(sizes, *corners, strict=True)]
    first, *places, image = base
    every = [
        (number, *at)
        for number in range(tensor.shape[0] + pixels)
        for at in itertools.product(*ranges)
    ]
    start = every.index((image, *reversed(places)))
    found: list[int] = []
    for number, *at in every[start : start + pixels]:
        where = [each + by for each, by in zip(at, reversed(offsets), strict=True)]
        inside = number < tensor.shape[0] and all(
            0 <= each < of for each, of in zip(where, sizes, strict=True)
        )
        for channel in range(first, first + channels):
            is_there = inside and channel < tensor.shape[-1]
            found.append(int(tensor[(number, *where, channel)]) if is_there else 0)
    return found


def load_pixels(base: Sequence[int], offsets: Sequence[int]) -> str:
    """Loads of 16 pixels of 4 channels whose map is at ``%rd5``."""
    at, by = (", ".join(map(str, each)) for each in (base, offsets))
    copy = load(0, 0, 256).replace(".2d.", f".{len(base)}d.").replace(".tile.", ".im2col.")
    return copy.replace("{0, 0}", f"{{{at}}}").replace("[bar];\nW", f"[bar], {{{by}}};\nW")


@pytest.mark.parametrize(
    ("sizes", "lower", "upper", "base", "offsets"),
    [
        ((2, 5, 6, 8), [0, 0], [0, 0], (0, 0, 0, 0), (0, 0)),
        ((2, 5, 6, 8), [-1, -1], [-1, -1], (4, -1, -1, 0), (2, 0)),
        ((2, 5, 6, 8), [-1, -1], [-1, -1], (0, 3, 2, 0), (1, 2)),
        ((2, 5, 6, 8), [-1, 0], [-1, -2], (4, 2, 3, 1), (0, 1)),
        ((3, 9, 4), [-2], [1], (0, 8, 0), (1,)),
        ((2, 3, 3, 4, 4), [0, -1, 0], [0, 0, -1], (0, 2, -1, 1, 0), (1, 1, 0)),
    ],
)
def test_a_column_of_pixels(
    sizes: tuple[int, ...], lower: list[int], upper: list[int], base: tuple[int, ...],
    offsets: tuple[int, ...],
) -> None:  # fmt: skip
    tensor = np.arange(1, np.prod(sizes) + 1, dtype=np.uint32)
    given = f"tensormap(@1, u32{list(sizes)}, im2col({lower}, {upper}, 4, 16))"
    text = text_of(MAP + load_pixels(base, offsets) + OUT, f"{_OUT}, {_IN}, {_MAP}")
    out, *_ = both(text, block=64, args=(np.zeros(64, np.uint32), tensor, given))
    wanted = column_of(tensor.reshape(sizes), (lower, upper), 4, 16, base, offsets)
    assert out.tolist() == wanted
    assert any(wanted)


def stored_column(corners: str, base: str) -> np.ndarray:
    """A tensor of 2 x 5 pixels of 4 words, 99, after a column of 3 pixels is stored."""
    name = "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group"
    body = STORE.format(name=name, x=0, y=0).replace("{0, 0}", base)
    text = text_of(MAP + body, f"{_OUT}, {_MAP}")
    given = f"tensormap(@0, u32[2, 5, 4], im2col({corners}, 4, 3))"
    found, _ = both(text, block=12, args=(np.full(40, 99, np.uint32), given))
    return found.reshape(10, 4)


def test_a_column_is_stored() -> None:
    found = stored_column("[1], [-2]", "{0, 2, 0}")
    assert found[[2, 6, 7]].reshape(-1).tolist() == list(range(12))
    assert (found[[0, 1, 3, 4, 5, 8, 9]] == 99).all()


@pytest.mark.parametrize(
    ("corners", "base", "said"),
    [
        ("[-1], [0]", "{0, 0, 0}", "has to lie in the tensor"),
        ("[0], [1]", "{0, 0, 0}", "has to lie in the tensor"),
        ("[0], [0]", "{-4, 0, 0}", "take no negative coordinate"),
    ],
)
def test_no_column_is_stored_outside(corners: str, base: str, said: str) -> None:
    """An H200 ends in an illegal instruction."""
    with pytest.raises(ExecutionError, match=said):
        stored_column(corners, base)


@pytest.mark.parametrize(("base", "offsets", "said"), [
    ((0, 4, 0), (0,), "at 4, its bounding box is from 0 to 3"),
    ((0, 0, 0), (0, 0), "2 offsets in 1 dimensions"),
    ((0, 0), (), "2 coordinates in a tensor of 3"),
])  # fmt: skip
def test_a_column_that_cannot_be(
    base: tuple[int, ...], offsets: tuple[int, ...], said: str
) -> None:
    text = text_of(MAP + load_pixels(base, offsets) + OUT, f"{_OUT}, {_MAP}")
    args = (np.zeros(64, np.uint32), "tensormap(u32[2, 5, 8], im2col([0], [-1], 4, 16))")
    with pytest.raises(ExecutionError, match=said):
        fencewright.execute(text, block=64, args=args)


def test_a_tile_of_a_map_of_pixels_is_refused() -> None:
    text = text_of(MAP + load(0, 0, 256) + OUT, f"{_OUT}, {_MAP}")
    args = (np.zeros(64, np.uint32), "tensormap(u32[2, 5, 8], im2col([0], [-1], 4, 16))")
    with pytest.raises(ExecutionError, match="is not that of its tensor map"):
        fencewright.execute(text, block=64, args=args)


def test_a_kernel_changes_a_map_and_uses_it() -> None:
    lines: list[str] = []
    for name, type, value in (
        ("global_address", "b64", "%rd7"), ("rank", "b32", "1"), ("elemtype", "b32", "2"),
        ("box_dim", "b32", "0, 4"), ("box_dim", "b32", "1, 4"), ("global_dim", "b32", "0, 8"),
        ("global_dim", "b32", "1, 4"), ("global_stride", "b64", "0, 32"),
        ("element_stride", "b32", "0, 1"), ("element_stride", "b32", "1, 1"),
        ("swizzle_mode", "b32", "0"), ("interleave_layout", "b32", "0"), ("fill_mode", "b32", "0"),
    ):  # fmt: skip
        lines.append(
            f"@%p0 tensormap.replace.tile.{name}.shared::cta.b1024.{type} [tile+1024], {value};"
        )
    body = f"""ld.param.u64 %rd7, [in]; ld.param.u64 %rd5, [maps];
{"".join(lines)}
bar.sync 0; setp.lt.u32 %p5, %r1, 32; @!%p5 bra O;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
  [%rd5], [tile+1024], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd5], 128;
O: {load(4, 0, 64)} {OUT}"""
    text = text_of(body, f"{_IN}, .param .u64 maps, {_OUT}")
    tensor = np.arange(32, dtype=np.uint32)
    args = (tensor, np.zeros(16, np.uint64), np.zeros(32, np.uint32))
    *_, out = fencewright.execute(text, block=32, args=args)
    # Where an array lies, which the map says, is of the executor.
    assert by_waves(text, 1, 32, 1, args)[-1] == out.tobytes()
    assert out[:16].tolist() == [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]


def test_a_map_that_nobody_gave_is_said() -> None:
    text = text_of(MAP + load(0, 0, 64) + OUT, f"{_MAP}, {_OUT}")
    with pytest.raises(
        ExecutionError, match=r"there is no tensor map at .*give it, as tensormap\("
    ):
        both(text, block=16, args=(np.zeros(128, np.uint8), np.zeros(16, np.uint32)))


@pytest.mark.parametrize(("given", "said"), [
    ("tensormap(u32[4, 4])", "give a tensor map as"),
    ("tensormap(@0, u32[4, 4]=iota, [4, 4])", "give a tensor map as"),
    ("tensormap(q32[4, 4], [4, 4])", "elements are u8"),
    ("tensormap(u32[4, 4], [4, 4], 96B)", "elements are u8"),
    ("tensormap(u32[4, 4], [4])", "the same one to 5 dimensions"),
    ("tensormap(u32[4, 512], [4, 512])", "1 to 256 elements"),
    ("tensormap(u32[4, 4], [4, 2])", "a multiple of 4"),
    ("tensormap(f16[4, 12], [4, 8])", "a multiple of 8 elements"),
    ("tensormap(u32[4, 64], [4, 64], 128B)", "at most as many bytes"),
    ("tensormap(u32[4, 4], im2col([0], [0], 4, 8))", "has 3 to 5 dimensions"),
    ("tensormap(u32[2, 4, 4, 4], im2col([0], [0], 4, 8))", "corners in all others"),
    ("tensormap(u32[2, 4, 4, 4], im2col([0, -129], [0, 0], 4, 8))", "from -128 to 127"),
    ("tensormap(u32[2, 4, 4], im2col([2], [-2], 4, 8))", "box is empty"),
    ("tensormap(u32[2, 4, 4], im2col([0], [0], 4, 2000))", "1 to 1024 pixels"),
])  # fmt: skip
def test_a_map_that_cannot_be_is_refused(given: str, said: str) -> None:
    with pytest.raises(LaunchError, match=said):
        parse_launch(f"k<<<1, 32>>>(u32[16], {given})")


def test_a_map_of_too_small_an_array_is_refused() -> None:
    text = text_of(MAP + load(0, 0, 64) + OUT, f"{_IN}, {_MAP}, {_OUT}")
    args = (np.zeros(8, np.uint32), "tensormap(@0, u32[4, 4], [4, 4])", np.zeros(16, np.uint32))
    with pytest.raises(LaunchError, match=r"is of 64 bytes, but .* has 32"):
        fencewright.execute(text, block=16, args=args)
