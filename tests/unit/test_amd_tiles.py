"""Tiles that gfx1250's tensor data mover copies: values, edges, padding, descriptors without one."""

import struct
from typing import Any

import numpy as np
import pytest
from test_race_amd_kernels import kernel_text

import fencewright
from fencewright.launches import ExecutionError
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.kernels.amd.tiles import tile_of
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.threads.launch import parse_launch

ROWS, COLUMNS = 8, 16
"""Of the tensor, whose elements have 16 bits."""


def descriptor(
    lds: int = 0, address: int = 0, *, sizes: tuple[int, ...] = (COLUMNS, ROWS),
    box: tuple[int, ...] = (8, 4), strides: tuple[int, ...] = (COLUMNS,), size: int = 1,
    count: int = 1, flags: int = 0, pad: tuple[int, int] | None = None,
) -> list[int]:  # fmt: skip
    """The words of all four groups, as CDNA5 ISA 10.11 has them."""
    sizes, box = (*sizes, 0, 0, 0)[:5], (*box, 0, 0, 0)[:5]
    strides = (*strides, 0, 0, 0)[:4]
    if pad is not None:
        flags |= 1 << 20 | pad[0] << 22 | pad[1] << 25
    first = count | lds << 32 | address << 64 | 2 << 126
    second = flags | size << 16 | sizes[0] << 48 | sizes[1] << 80 | box[0] << 112 | box[1] << 128
    second |= box[2] << 144 | strides[0] << 160 | strides[1] << 208
    third = sizes[2] | sizes[3] << 32 | strides[2] << 64 | box[3] << 112
    fourth = strides[3] | sizes[4] << 48 | box[4] << 80
    whole = first | second << 128 | third << 384 | fourth << 512
    return list(struct.unpack("<20I", whole.to_bytes(80, "little")))


def kernel(words: list[int], copy: str, then: str) -> str:
    """A kernel whose first group has the address of data, or of out where it stores."""
    moves = "\n".join(f"s_mov_b32 s{20 + n}, {word:#x}" for n, word in enumerate(words))
    base = "s_add_co_u32 s22, s22, {0}\ns_add_co_ci_u32 s23, s23, {1}\n"
    from_, to = ("s8", "s9"), ("s12", "s13")
    added = base.format(*(from_ if "load" in copy else to))
    groups = "s[20:23], s[24:31]" + (", s[32:35], s[36:39]" if words[12] or words[16] else "")
    return kernel_text(
        "s_load_b64 s[8:9], s[0:1], 0x0\ns_load_b64 s[12:13], s[0:1], 0x10\n"
        "v_and_b32_e32 v0, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v0\ns_wait_kmcnt 0x0\n"
        f"{moves}\n{added}{then.format(copy=f'{copy} {groups}')}\ns_endpgm",
        "gfx1250",
    )


LOAD = """{copy}
s_wait_tensorcnt 0x0
ds_load_b32 v2, v1
s_wait_dscnt 0x0
global_store_b32 v1, v2, s[12:13]"""
STORE = """ds_store_b32 v1, v0
s_wait_dscnt 0x0
s_mov_b32 exec_lo, 0
{copy}
s_wait_tensorcnt 0x0"""
DATA = np.arange(1, ROWS * COLUMNS + 1, dtype=np.uint16).reshape(ROWS, COLUMNS)


def loaded(words: list[int]) -> Any:
    out = np.zeros(64, dtype=np.uint16)
    text = kernel(words, "tensor_load_to_lds", LOAD)
    return fencewright.execute(text, block=32, args=(DATA, np.zeros(4, np.uint32), out))[2]


def test_a_tile_is_loaded_row_by_row() -> None:
    found = loaded(descriptor())
    assert (found[:32].reshape(4, 8) == DATA[:4, :8]).all()
    assert not found[32:].any()


def test_a_tile_begins_at_its_address_and_reads_zeros_past_the_edge() -> None:
    found = loaded(descriptor(address=2 * (6 * COLUMNS + 12), sizes=(4, 2)))
    expected = np.zeros((4, 8), dtype=np.uint16)
    expected[:2, :4] = DATA[6:, 12:]
    assert (found[:32].reshape(4, 8) == expected).all()


def test_rows_are_apart_by_padding() -> None:
    """Four words, and then two that keep what they had."""
    found = loaded(descriptor(pad=(1, 1))).reshape(-1, 4)
    assert (found[:8:3] == DATA[:3, :4]).all()
    assert (found[1::3][:3] == DATA[:3, 4:8]).all()
    assert not found[2::3].any()


def test_three_dimensions() -> None:
    found = loaded(descriptor(sizes=(16, 2, 4), box=(4, 2, 2), strides=(16, 32)))
    assert (found[:16].reshape(2, 2, 4) == DATA.reshape(4, 2, 16)[:2, :, :4]).all()


def test_a_tile_is_stored_within_the_tensor_whatever_lanes_are_active() -> None:
    out = np.zeros((ROWS, COLUMNS), dtype=np.uint32)
    words = descriptor(sizes=(6, 3), size=2, pad=(1, 1))
    text = kernel(words, "tensor_store_from_lds", STORE)
    found = fencewright.execute(text, block=32, args=(DATA, np.zeros(4, np.uint32), out))[2]
    expected = np.zeros_like(out)
    expected[:3, :6] = np.arange(32).reshape(4, 8)[:3, :6]
    assert (found == expected).all()


@pytest.mark.parametrize("words", [descriptor(count=0), descriptor(box=(0, 4))])
def test_a_descriptor_may_move_nothing(words: list[int]) -> None:
    assert tile_of(words, is_load=True) is None
    assert not loaded(words).any()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (descriptor(flags=3), "it is a multicast to work-groups of a cluster"),
        (descriptor(flags=1 << 18), "its end is a signal at a barrier in LDS"),
        (descriptor(flags=1 << 19), "a tile that is repeated"),
        (descriptor(count=1 | 1 << 30), "the documents differ on the bits of a gather"),
        (descriptor(count=1 | 1 << 4), "bits 2 to 29 of its descriptor are reserved"),
        (descriptor(count=2), "a count above 1"),
        (descriptor(box=(8, 0, 2)), "a dimension of its tile is 0 below one that is not"),
        (descriptor(pad=(0, 1)), "its padding is one whose result is unpredictable"),
        (descriptor(lds=1024), "of shared memory, which has 1024 bytes"),
        (descriptor(sizes=(COLUMNS, 20), box=(8, 20)), "of data, which has 256 bytes"),
    ],
)
def test_what_is_not_executed_is_said(words: list[int], problem: str) -> None:
    with pytest.raises(ExecutionError, match=problem):
        loaded(words)


def test_an_unknown_value_in_lds_is_stored_as_such() -> None:
    matrix = "v_wmma_f32_16x16x32_f16 v[8:15], v[16:23], v[24:31], v[8:15]\n"
    text = kernel(
        descriptor(sizes=(8, 4), size=2), "tensor_store_from_lds",
        matrix + "ds_store_b32 v1, v8\ns_wait_dscnt 0x0\n{copy}\ns_wait_tensorcnt 0x0",
    ).replace(".amdhsa_next_free_vgpr 8", ".amdhsa_next_free_vgpr 32")  # fmt: skip
    out = np.zeros((ROWS, COLUMNS), dtype=np.uint32)
    with pytest.raises(ExecutionError, match="out depends on the result of 'v_wmma"):
        fencewright.execute(text, block=32, args=(DATA, np.zeros(4, np.uint32), out))


def test_races_of_tiles_are_not_judged() -> None:
    code = read_assembly(kernel(descriptor(), "tensor_load_to_lds", LOAD), "k.s")
    found = judge_kernel(code, parse_launch("k<<<1, 32>>>(i16[128], i32[4], i16[64])"))
    assert "copies of tensors have no rule of order here" in found.problem
