"""Conversions of integers to numbers: over arrays and one after another, beside exact fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from fencewright.simulator.kernels.ptx.functions import function_of
from fencewright.simulator.semantics.floats import of_integer, round_exact

EDGES = (
    0, 1, 2**24, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1, 2**53 - 1, 2**53, 2**53 + 1,
    2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
def test_rounding_is_exact(mode: str, type: str, source: str) -> None:
    bits, draw = int(source[1:]), random.Random(f"{mode} {type} {source}")
    words = [*EDGES, *(draw.getrandbits(draw.randrange(1, 65)) for _ in range(300))]
    words += [-each for each in words]
    given = [each & (1 << bits) - 1 for each in words]
    sign = 1 << bits - 1 if source[0] == "s" else 0
    values = [(each ^ sign) - sign for each in given]
    expected = [round_exact(Fraction(each), type, mode) for each in values]
    assert [of_integer(type, mode, each) for each in values] == expected
    if (type, bits) == ("f64", 32):
        mode = "rn"
    found = function_of(f"cvt.{mode}.{type}.{source}")(np.array(given, np.uint64))
    assert found.tolist() == expected
