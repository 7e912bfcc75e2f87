"""Instructions of gfx1250 alone: a sum and the lesser or larger of it and a number; s_addk_co."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from test_race_amd_kernels import kernel_text

import fencewright
from fencewright.simulator.kernels.amd.modifiers import dpp_control

LEFT = [1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 5]
RIGHT = [2, 0x7FFFFFFF, 0x80000000, 1, 0x20, 0xFFFFFFF6]
EXTREMES: Mapping[str, Callable[[int, int], int]] = {"min": min, "max": max}
BOUNDS = {32: (0, 0xFFFFFFFF), -32: (-(1 << 31), (1 << 31) - 1)}


def executed(line: str) -> list[int]:
    body = f"""s_load_b128 s[8:11], s[0:1], 0x0
s_load_b64 s[12:13], s[0:1], 0x10
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
s_wait_kmcnt 0x0
global_load_b32 v2, v1, s[8:9]
global_load_b32 v3, v1, s[10:11]
s_wait_loadcnt 0x0
{line}
global_store_b32 v1, v4, s[12:13]
s_endpgm"""
    given = [np.array(each + [0] * 26, np.uint32) for each in (LEFT, RIGHT, [0] * 6)]
    text = kernel_text(body, "gfx1250")
    return fencewright.execute(text, block=32, args=given)[2].tolist()[: len(LEFT)]


@pytest.mark.parametrize("extreme", ["min", "max"])
@pytest.mark.parametrize("letter", ["u", "i"])
def test_a_sum_is_saturated_before_it_is_compared(extreme: str, letter: str) -> None:
    low, high = BOUNDS[32 if letter == "u" else -32]

    def number(bits: int) -> int:
        return bits - (1 << 32) if letter == "i" and bits >> 31 else bits

    bound = 0x40
    expected = [
        EXTREMES[extreme](max(low, min(number(a) + number(b), high)), bound) & 0xFFFFFFFF
        for a, b in zip(LEFT, RIGHT, strict=True)
    ]
    line = f"v_add_{extreme}_{letter}32 v4, v2, v3, {bound:#x}"
    assert executed(line) == expected


def test_a_constant_is_added_to_a_scalar() -> None:
    line = "s_mov_b32 s14, 7\ns_addk_co_i32 s14, 0xfffe\nv_mov_b32_e32 v4, s14"
    assert executed(line) == [5] * len(LEFT)


def test_rows_share_a_lane_and_exchange_lanes() -> None:
    """Source: RDNA3 ISA, 16.11, "DPP Data Parallel Primitives"."""
    assert dpp_control({"row_xmask": "6"}).sources[17] == 16 + (1 ^ 6)
    assert dpp_control({"row_share": "5"}).sources[30] == 16 + 5
