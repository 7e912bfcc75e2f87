"""Conversions of numbers of 8 bits and of tf32, beside all numbers of a format in order."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from test_launches import HEAD

import fencewright
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.simulator.semantics.floats import convert_small
from fencewright.simulator.semantics.formulas import formula_of

GREATEST = {"e4m3": 448, "e5m2": 57344}
SHAPES = {"e4m3": (4, 3), "e5m2": (5, 2)}
NAN, INFINITY = 0x7FC00000, 0x7F800000


def f32(value: float) -> int:
    (found,) = struct.unpack("<I", struct.pack("<f", value))
    return found


def number(name: str, byte: int) -> Fraction | None:
    """A number of the OCP's formats of 8 bits from its definition; None: no finite one."""
    exponent, fraction = SHAPES[name]
    stored, rest = byte >> fraction & (1 << exponent) - 1, byte & (1 << fraction) - 1
    bias = (1 << exponent - 1) - 1
    unit = Fraction(2) ** (max(stored, 1) - bias - fraction)
    value = (rest + (bool(stored) << fraction)) * unit
    return None if value > GREATEST[name] else -value if byte >> 7 else value


def nearest(name: str, value: float) -> int:
    """The nearest number, the even one at a tie, by looking at each."""
    sign = (math.copysign(1, value) < 0) << 7
    found = [(each, byte) for byte in range(128) if (each := number(name, byte)) is not None]
    size = abs(Fraction(value))
    return sign | min(found, key=lambda each: (abs(each[0] - size), each[1] & 1))[1]


@pytest.mark.parametrize("name", SHAPES)
def test_each_number_stays_and_ties_go_to_even(name: str) -> None:
    bytes_ = [byte for byte in range(256) if number(name, byte) is not None]
    for byte in bytes_:
        value = number(name, byte)
        assert value is not None
        half = convert_small(name, "f16", "rn", False, False, byte)
        (wide,) = struct.unpack("<e", struct.pack("<H", half))
        assert wide == value
        assert convert_small("f16", name, "rn", True, False, half) == byte
        following = number(name, byte + 1) if byte % 128 + 1 < 128 else None
        for part in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)) if following else ():
            assert following is not None
            between = float(value + (following - value) * part)
            found = convert_small("f32", name, "rn", True, False, f32(between))
            assert found == nearest(name, between), between


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("sign", "bit"), [(1, 0), (-1, 0x80)])
def test_beyond_the_greatest_is_the_greatest(name: str, sign: int, bit: int) -> None:
    most = nearest(name, GREATEST[name])
    for value in (GREATEST[name] + 1, GREATEST[name] * 2, 1e38, math.inf):
        assert convert_small("f32", name, "rn", True, False, f32(sign * value)) == bit | most


@pytest.mark.parametrize("name", SHAPES)
def test_nan_zero_and_relu(name: str) -> None:
    for nan in (NAN, NAN | 1 << 31, INFINITY | 1):
        assert convert_small("f32", name, "rn", True, True, nan) == 0x7F
    for byte in (0x7F, 0xFF):
        assert convert_small(name, "f16", "rn", False, True, byte) == 0x7FFF
    assert convert_small("f32", name, "rn", True, False, f32(-0.0)) == 0x80
    assert convert_small("f32", name, "rn", True, True, f32(-1.0)) == 0
    assert convert_small("e5m2", "f16", "rn", False, False, 0xFC) == 0xFC00


@pytest.mark.parametrize(
    ("bits", "found"),
    [
        (f32(1.0), 0x3F800000),
        (0x3F800FFF, 0x3F800000),
        (0x3F801000, 0x3F802000),
        (0xBF801000, 0xBF802000),
        (0x00001000, 0x00002000),
        (0x00000FFF, 0),
        (0x7F7FFFFF, INFINITY),
        (INFINITY, INFINITY),
        (NAN | 5, 0x7FFFFFFF),
    ],
)
def test_tf32_goes_away_from_zero_at_a_tie(bits: int, found: int) -> None:
    assert convert_small("f32", "tf32", "rna", False, False, bits) == found
    expected = 0x7F7FE000 if bits == 0x7F7FFFFF else found
    saturated = convert_small("f32", "tf32", "rna", True, False, bits)
    assert saturated == (0x7F7FE000 if bits == INFINITY else expected)


KERNEL = f"""{HEAD}.visible .entry k(.param .u64 a, .param .u64 b)
{{.reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16;
add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.v2.f32 {{%f1, %f2}}, [%rd4];
cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.rn.f16x2.e4m3x2 %r2, %h1;
cvt.rn.satfinite.e5m2x2.f16x2 %h2, %r2; cvt.u32.u16 %r3, %h1; cvt.u32.u16 %r4, %h2;
cvt.rna.tf32.f32 %r5, %f1; st.global.v4.u32 [%rd5], {{%r2, %r3, %r4, %r5}}; ret;}}
"""


@pytest.mark.parametrize("blocks", [1, 256])
def test_both_executors_convert(blocks: int) -> None:
    """One block by threads, and many by whole waves; the first operand is the upper one."""
    given = np.zeros((32, 4), np.float32)
    given[:, 0], given[:, 1] = 500, 1.0626
    _, out = fencewright.execute(
        KERNEL, grid=blocks, block=32, args=(given, np.zeros((32, 4), np.uint32))
    )
    assert [f"{each:x}" for each in out[31]] == ["5f003c80", "7e39", "5f3c", "43fa0000"]


@pytest.mark.parametrize(
    "name", ["cvt.rn.e4m3x2.f32", "cvt.rz.satfinite.e5m2x2.f32", "cvt.rn.satfinite.e2m1x2.f32"]
)
def test_others_have_no_row(name: str) -> None:
    assert formula_of(read_opcode(name)) is None
