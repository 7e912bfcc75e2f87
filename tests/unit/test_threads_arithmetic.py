"""What single instructions compute in ``simulator/threads``, held against an H200 and by hand."""

import math
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.kernels.ptx.functions import function_of
from fencewright.simulator.semantics import floats
from fencewright.simulator.semantics.formulas import update_of
from fencewright.simulator.semantics.python import function
from fencewright.simulator.semantics.term import operand
from fencewright.simulator.threads.launch import Module, execute, parse_launch, values
from fencewright.tools.dev.campaigns.executed_kernels import kernel_of, registers

COMPUTED = Path(__file__).parents[1] / "data" / "memory" / "h200-arithmetic.txt"


def computed(name: str, cases: list[list[int]], operands: list[str], result: str) -> list[int]:
    """The results of an instruction, each by a lane that reads its operands from memory."""
    count, text = len(operands), kernel_of(name, operands, result)
    module = Module(read_ptx(text, "k.ptx"))
    launch = parse_launch(f"k<<<1, {len(cases)}>>>(u64[{count * len(cases)}], u64[{len(cases)}])")
    given = b"".join(word.to_bytes(8, "little") for case in cases for word in case)
    run = execute(module, launch, given={0: given})
    assert run.outcome.is_done, run.outcome.problem
    assert run.arguments[1] is not None
    return [int(each) for each in values(run.arguments[1], "u64")]


def test_an_h200_computes_the_same() -> None:
    lines = [each for each in COMPUTED.read_text().splitlines() if not each.startswith("#")]
    assert len(lines) > 300
    wrong: list[str] = []
    for line in lines:
        opcode, _, rest = line.partition(": ")
        pairs = [each.split("=") for each in rest.split()]
        cases = [[int(word, 16) for word in given.split(",")] for given, _ in pairs]
        found = computed(opcode, cases, *registers(opcode, len(cases[0])))
        if [f"{each:x}" for each in found] != [wanted for _, wanted in pairs]:
            wrong.append(opcode)
    assert wrong == []


def test_fma_of_f32_is_that_of_fractions() -> None:
    random = Random(7)
    for number in range(4_000):
        a, b, c = (random.getrandbits(32) for _ in range(3))
        if number % 2:
            # Sums that cancel, where rounding twice would show.
            c = floats.bits32(-floats.f32(a) * floats.f32(b)) ^ random.getrandbits(2)
        assert floats.fma32(a, b, c) == floats.exactly("fma", "f32", "rn", a, b, c)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_rounding_is_to_a_neighbour_on_the_right_side(type: str, mode: str) -> None:
    random = Random(3)
    for _ in range(300):
        value = Fraction(random.uniform(-4, 4)) + Fraction(random.getrandbits(60), 1 << 90)
        found = Fraction(floats.to_float(floats.round_exact(value, type, mode), type))
        form = floats.FORMATS[type]
        place = Fraction(2) ** (math.frexp(float(value))[1] - 1 - form.fraction)
        assert abs(found - value) <= (place / 2 if mode == "rn" else place)
        if mode == "rm":
            assert found <= value
        elif mode == "rp":
            assert found >= value
        elif mode == "rz":
            assert abs(found) <= abs(value)


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("bfi.b32", (0xF, 0, 4, 4), 0xF0),
        ("prmt.b32", (0x03020100, 0x07060504, 0x7531), 0x07050301),
        ("prmt.b32", (0x80, 0, 0x8888), 0xFFFFFFFF),
        ("shf.l.wrap.b32", (0x80000000, 1, 33), 3),
        ("bfe.s32", (0xF0, 4, 4), 0xFFFFFFFF),
        ("lop3.b32", (0xF0, 0xCC, 0xAA, 0x96), 0x96),
        ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD),
        ("rem.s32", (0xFFFFFFF9, 2), 0xFFFFFFFF),
        ("mad.hi.u32", (0x80000000, 4, 1), 3),
        ("sad.s32", (0xFFFFFFFF, 1, 5), 7),
        ("bfind.s32", (0xFFFFFFFE,), 0),
        ("fns.b32", (0b10100, 0, 2), 4),
        ("dp4a.s32.s32", (0xFF01FF01, 0x01010101, 10), 10),
        ("slct.b32.s32", (1, 2, 0xFFFFFFFF), 2),
        ("cvt.pack.sat.u8.s32.b32", (0x1FF, 0xFFFFFFFF, 0xABCD), 0xABCDFF00),
        ("cvt.pack.sat.s8.s32.b32", (0xFFFFFF00, 5, 0x123456), 0x34568005),
        ("cvt.pack.sat.s16.s32", (0x12345, 0xFFFF0000), 0x7FFF8000),
    ],
)
def test_integers_by_hand(name: str, operands: tuple[int, ...], result: int) -> None:
    assert computed(name, [[*operands]], ["b32"] * len(operands), "b32") == [result]
    found = function_of(name)(*(np.array([[each]], dtype=np.uint64) for each in operands))
    assert found.item() == result


@pytest.mark.parametrize(
    ("name", "operand", "result"),
    [
        ("rcp.approx.ftz.f64", 0x4008000000000000, 0x3FD5555500000000),
        ("rcp.approx.ftz.f64", 0x40080000FFFFFFFF, 0x3FD5555500000000),
        ("rcp.approx.ftz.f64", 0x3FE5555555555555, 0x3FF8000000000000),
        ("rcp.approx.ftz.f64", 0x0000000000000001, 0x7FF0000000000000),
        ("rsqrt.approx.ftz.f64", 0x4010000000000000, 0x3FE0000000000000),
        ("rsqrt.approx.ftz.f64", 0x4000000000000000, 0x3FE6A09E00000000),
    ],
)
def test_approximations_of_the_upper_word(name: str, operand: int, result: int) -> None:
    """Source: PTX ISA, rcp.approx.ftz.f64."""
    assert computed(name, [[operand]], ["b64"], "b64") == [result]


def test_div_rcp_and_sqrt_round_as_they_say() -> None:
    third = floats.exactly("div", "f32", "rm", floats.bits32(1.0), floats.bits32(3.0))
    assert third + 1 == floats.exactly("div", "f32", "rp", floats.bits32(1.0), floats.bits32(3.0))
    assert floats.exactly("rcp", "f32", "rn", 0) == 0x7F800000
    assert floats.exactly("sqrt", "f64", "rn", floats.bits64(2.0)) == floats.bits64(math.sqrt(2))


@pytest.mark.parametrize(
    ("name", "operands", "new"),
    [
        ("atom.inc.u32", (3, 3), 0),
        ("atom.dec.u32", (0, 7), 7),
        ("atom.cas.b32", (1, 2, 9), 1),
        ("atom.cas.b32", (2, 2, 9), 9),
        ("atom.min.s32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
        ("atom.max.u32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
    ],
)
def test_updates(name: str, operands: tuple[int, ...], new: int) -> None:
    update = update_of(read_opcode(name))
    assert update is not None
    terms = [operand(at, 32) for at in range(len(operands))]
    assert function(update(terms), len(terms))(*operands) == new
