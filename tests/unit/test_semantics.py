"""The formulas of instructions: both executors compute the same of each, and terms say what fits."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest
from campaigns import some_of
from test_ptx_arithmetic import COMPUTED, OPCODES

from fencewright.lowering.ptx.code.statements import Opcode, element_of, read_opcode
from fencewright.simulator.execution import vectorised
from fencewright.simulator.kernels.ptx import functions
from fencewright.simulator.semantics import formulas, python, rows, term
from fencewright.simulator.semantics.operands import DERIVED, literal, terms_of
from fencewright.simulator.semantics.term import Term, choose, low, operand
from fencewright.simulator.threads import lanes

TYPES = {
    "u": ("u16", "u32", "u64"), "s": ("s16", "s32", "s64"), "b": ("b16", "b32", "b64"),
    "f": ("f32", "f64"), "h": ("f16", "bf16", "f16x2"), "p": ("pred",),
}  # fmt: skip
SECOND = {"slct": ".s32", "dp4a": ".u32", "dp2a": ".s32"}
ROUNDED = ("add", "sub", "mul", "fma", "div", "rcp", "sqrt")
OTHERS = (
    *(f"{name}.{mode}.{type}" for name in ROUNDED for mode in ("rz", "rm", "rp")
      for type in ("f32", "f64")),
    *(f"cvt.{mode}.{pair}" for mode in ("rn", "rz", "rm", "rp")
      for pair in ("f32.f64", "f16.f32", "f32.s64", "f32.u64", "f64.u64", "f16.s32")),
    *(f"cvt.rn.{word}.bf16.f32" for word in ("relu", "satfinite", "relu.satfinite")),
    *(f"cvt.sat.{to}.{of}" for to in ("s8", "u8", "s16", "u32") for of in ("s32", "s64", "u64")),
    "cvt.sat.u64.s64", "cvt.rna.bf16.f32", "cvt.rn.sat.f32.f64", "cvt.rn.sat.f16.u32",
    "cvt.rpi.ftz.f32.f32", "cvt.rn.relu.f16x2.f32", "cvt.f64.bf16", "cvt.rn.bf16.f64",
    *(f"add.sat.{type}" for type in ("s32", "f32", "f16x2", "u16x2", "s8x4")),
    *(f"{name}.{type}" for name in ("add", "min", "max") for type in ("u16x2", "s16x2")),
    *(f"fma.rn.{words}"
      for words in ("ftz.sat.f32", "relu.f16", "relu.bf16x2", "sat.f16", "f32x2")),
    *(f"{name}.xorsign.abs.{type}" for name in ("min", "max.NaN") for type in ("f32", "bf16")),
    *(f"{name}.approx.{words}" for name in ("sin", "cos", "lg2", "ex2", "rsqrt", "rcp", "sqrt")
      for words in ("f32", "ftz.f32")),
    "div.full.f32", "div.approx.ftz.f32", "tanh.approx.f16x2", "abs.ftz.f32", "add.ftz.f16",
    *(f"{name}.cc.{type}" for name in ("add", "addc", "sub", "subc", "mad.lo", "madc.hi")
      for type in ("u32", "s32", "u64")),
    *(f"{name}.s64" for name in ("addc", "subc", "madc.lo")),
    "setp.lt.f16x2", "setp.gtu.or.bf16x2", "setp.ne.xor.f64", "set.le.f16x2.f16x2",
    "set.gt.bf16.f32", "set.eq.and.u32.f16", "set.lt.s32.u64",
    "mul24.lo.u32", "dp4a.s32.u32", "dp2a.lo.u32.u32",
)  # fmt: skip
EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255)
FLOATS = {
    16: (0x0001, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7E00, 0x7F80, 0x7FC0, 0x3F80),
    32: (0x1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F000000, 0x4F000000, 0x5F000000, 0x7F7FFFFF,
         0x7F800000, 0x7FC00000, 0x7F812345),
    64: (0x1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0x43E0000000000000,
         0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF4567800000000,
         0x47EFFFFFF0000000, 0x3690000000000000, 0x1A56E1FC2F8F359),
}  # fmt: skip


def names() -> Iterator[str]:
    """A name for each row and type, and those that the other tests have."""
    for row in rows.ROWS:
        for type in itertools.chain(*(TYPES[letter] for letter in row.letters)):
            element = element_of(type)
            if element is None or element[1] > row.widest:
                continue
            words = [row.head, *sorted(row.needs)]
            if row.head in ("fma", "div", "rcp", "sqrt") and "f" in type:
                words.append("rn")
            yield ".".join([*words, type]) + SECOND.get(row.head, "")
    yield from OTHERS
    yield from OPCODES


NAMES = tuple(dict.fromkeys(names()))


def cases(widths: Sequence[int], count: int, seed: str) -> list[tuple[int, ...]]:
    """Operands at the edges of their types, and random ones."""
    random = Random(seed)

    def value(width: int) -> int:
        kind = random.random()
        special = FLOATS.get(width, EDGES) if kind < 0.4 else EDGES
        found = random.choice(special) if kind < 0.8 else random.getrandbits(width)
        if random.random() < 0.3:
            found ^= 1 << width - 1
        if random.random() < 0.15:
            found = ~found
        return found & (1 << width) - 1

    return [tuple(map(value, widths)) for _ in range(count)]


def difference(result: Term, given: Sequence[tuple[int, ...]]) -> str:
    """The first operands of which both executors compute something else; "" if there are none."""
    count = len(given[0])
    single, many = python.function(result, count), vectorised.vectorised(result, range(count))
    columns = [np.array(each, dtype=np.uint64)[None, :] for each in zip(*given, strict=True)]
    with np.errstate(all="ignore"):
        found = np.broadcast_to(many(*columns), columns[0].shape)[0].tolist()
    for operands, value in zip(given, found, strict=True):
        wanted = single(*operands)
        if wanted != value:
            return f"{[*map(hex, operands)]}: {wanted:#x} of single threads, {value:#x} of waves"
    return ""


@pytest.mark.parametrize("name", some_of(NAMES, 4))
def test_both_executors_compute_the_same(name: str) -> None:
    formula = formulas.formula_of(read_opcode(name))
    assert formula is not None, name
    elements = [element_of(each) for each in formula.types]
    widths = [each[1] * each[2] for each in elements if each is not None]
    widths += [1] if formula.takes_carry else []
    terms = [operand(at, width) for at, width in enumerate(widths)]
    given = cases(widths, 80, name)
    for result in formula.compute(terms, 64):
        assert difference(result, given) == "", name


@pytest.mark.parametrize("type", ["u32", "s32", "u64", "s64", "b32", "b64", "f32", "f64", "f16x2"])
@pytest.mark.parametrize("update", ["add", "min", "max", "and", "xor", "exch", "inc", "dec", "cas"])
def test_both_executors_update_alike(update: str, type: str) -> None:
    compute = formulas.update_of(read_opcode(f"atom.global.{update}.{type}"))
    if compute is None:
        return
    element = element_of(type)
    assert element is not None
    widths = [element[1] * element[2]] * (3 if update == "cas" else 2)
    result = compute([operand(at, width) for at, width in enumerate(widths)])
    assert difference(result, cases(widths, 80, update)) == ""


@pytest.mark.parametrize("name", ["lop3.b32", "prmt.b32", "bfe.s32", "bfi.b64", "shf.l.wrap.b32"])
def test_constants_change_nothing(name: str) -> None:
    opcode = read_opcode(name)
    formula = formulas.formula_of(opcode)
    assert formula is not None
    count = len(formula.types)
    general = functions.compiled(opcode)
    for given in cases([32] * count, 40, name):
        known = tuple(given[2:])
        arrays = [np.array([each], dtype=np.uint64) for each in given]
        special = functions.compiled(opcode, (None, None, *known))
        assert np.array_equal(np.ravel(special(*arrays[:2])), general(*arrays)), given


def _given(row: rows.Row, opcode: Opcode, type: rows.Type) -> rows.Row:
    return row


def test_a_wrong_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an H200: an executor that agrees with the other may be as wrong as it."""
    lines = COMPUTED.read_text().splitlines()
    (line,) = [each for each in lines if each.startswith("sad.s32:")]
    pairs = [each.split("=") for each in line.partition(": ")[2].split()]

    def wrong() -> int:
        formula = formulas.formula_of(read_opcode("sad.s32"))
        assert formula is not None
        (result,) = formula.compute([operand(at, 32) for at in range(3)], 32)
        compute = python.function(result, 3)
        return sum(
            compute(*(int(word, 16) for word in given.split(","))) != int(wanted, 16)
            for given, wanted in pairs
        )

    assert wrong() == 0
    row = rows.plain_row("sad", "s")
    assert row is not None
    formulas.formula_of.cache_clear()

    def forgets_the_sign(t: rows.Type, a: Term, b: Term, c: Term) -> Term:
        return low(a - b + c, 32)

    broken = replace(row, formula=forgets_the_sign)
    monkeypatch.setattr(formulas, "row_of", partial(_given, broken))
    assert wrong() > 3
    formulas.formula_of.cache_clear()


def test_a_wrong_fast_form_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {("exactly", "fma", "f32", "rn"): functions.compiled(read_opcode("mad.lo.u32"))}
    monkeypatch.setattr(vectorised, "_FAST", wrong)
    result = term.call("exactly", ("fma", "f32", "rn"), [operand(at, 32) for at in range(3)], 32)
    assert "of waves" in difference(result, cases([32] * 3, 20, "fma"))


def test_what_does_not_fit_words_is_refused() -> None:
    """A formula that is right on unbounded integers alone is no term."""
    a, b = operand(0, 64), operand(1, 64)
    for wrong in (
        lambda: a * b >> 64,
        lambda: (a - b) < a,
        lambda: choose(a < b, a + b, a),
        lambda: a << b,
        lambda: term.signed(a, 64) + term.signed(b, 64) > 0,
    ):
        with pytest.raises(AssertionError):
            wrong()
    assert low(a * b, 64).bound == (1 << 64) - 1


def test_addresses_in_a_cluster() -> None:
    for name, given, wanted in (
        ("mapa.shared::cluster.u32", (0x2000010, 5), 0x5000010),
        ("mapa.u64", (0x1_0200_0010, 5), 0x1_0500_0010),
        ("getctarank.shared::cluster.u32", (0x2000010,), 2),
    ):
        formula = formulas.formula_of(read_opcode(name))
        assert formula is not None
        (result,) = formula.compute([operand(at, 64) for at in range(len(given))], 64)
        assert python.function(result, len(given))(*given) == wanted
        assert difference(result, [given]) == ""


def test_constants_are_folded() -> None:
    a = operand(0, 32)
    assert low(a, 32) is a
    assert (a & 0xFFFFFFFF) is a
    assert (a << 0) is a
    assert choose(term.constant(3) > 2, a, 0) is a
    opcode = read_opcode("lop3.b32")
    formula = formulas.formula_of(opcode)
    assert formula is not None
    given = [operand(at, 32) for at in range(3)]
    (found,) = formula.compute([*given, term.constant(0x96)], 32)
    lines, (text,) = python.written([found], ["a", "b", "c"])
    assert not lines
    assert text in ("(a ^ (b ^ c))", "((b ^ c) ^ a)", "((c ^ b) ^ a)")


@pytest.mark.parametrize(
    ("text", "type", "bits"),
    [
        ("12", "u32", 12),
        ("-1", "s16", 0xFFFF),
        ("0x1FFFFFFFF", "b32", 0xFFFFFFFF),
        ("010U", "u32", 8),
        ("0f3F800000", "f32", 0x3F800000),
        ("0f3F800000", "b32", 0x3F800000),
        ("0f3F800000", "f64", 0x3FF0000000000000),
        ("0f3F800000", "b64", 0x3F800000),
        ("0d3FF8000000000000", "f64", 0x3FF8000000000000),
        ("0D3FF8000000000000", "f32", 0x3FC00000),
        ("0d3FF8000000000000", "b32", 0x3FC00000),
        ("1.5", "f32", 0x3FC00000),
        ("-2.5e-1", "f64", 0xBFD0000000000000),
        ("2", "f32", 0x40000000),
        ("nan", "f32", None),
        ("%r1", "u32", None),
    ],
)
def test_constants_are_bits_of_their_type(text: str, type: str, bits: int | None) -> None:
    assert literal(text, type) == bits


def test_an_address_is_a_sum() -> None:
    assert terms_of("[%rd1+8]") == (("%rd1",), 8)
    assert terms_of("[ tile + %r2 + -4 ]") == (("tile", "%r2"), -4)
    assert terms_of("[16]") == ((), 16)


@pytest.mark.parametrize("name", [each for each in DERIVED if "mask" in each])
def test_lane_masks(name: str) -> None:
    lanes = np.arange(32, dtype=np.uint64)
    order = {"eq": "__eq__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
    holds = order[name.rpartition("_")[2]]
    wanted = [sum(getattr(at, holds)(lane) << at for at in range(32)) for lane in range(32)]
    assert vectorised.function_of(DERIVED[name][0], (5,))(lanes).tolist() == wanted
    single = python.function(DERIVED[name][0](operand(0, 5)), 1)
    assert [single(lane) for lane in range(32)] == wanted


LANES_TOGETHER = (
    *(f"shfl.sync.{mode}.b32" for mode in ("up", "down", "bfly", "idx")),
    *(f"vote.sync.{mode}.pred" for mode in ("all", "any", "uni")),
    "vote.sync.ballot.b32", "match.any.sync.b32", "match.all.sync.b32", "elect.sync",
    *(f"redux.sync.{name}.b32" for name in ("and", "or", "xor")), "redux.sync.add.u32",
    *(f"redux.sync.{name}.{type}" for name in ("min", "max") for type in ("s32", "u32")),
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(LANES_TOGETHER))
def test_lanes_together_give_both_executors_the_same(name: str) -> None:
    random = Random(name)
    for _ in range(20):
        members = 0xFFFFFFFF if "shfl" in name else random.getrandbits(32) | 1
        most = random.choice((2, 1 << 32))
        operands = [[random.randrange(2 if "vote" in name else most) for _ in range(32)]]
        if "shfl" in name:
            width = random.choice((4, 8, 16, 32))
            control = (32 - width) << 8 | (0 if "up" in name else 31)
            operands += [[random.randrange(32)] * 32, [control] * 32]
        there = [lane for lane in range(32) if members >> lane & 1]
        given = {
            lane: tuple(each[lane] for each in operands) if len(operands) > 1 else operands[0][lane]
            for lane in there
        }
        single = lanes.together(name)(given)
        arrays = [np.array([each], dtype=np.uint64) for each in [*operands, [members] * 32]]
        arrays = arrays[-1:] if name == "elect.sync" else arrays
        active = np.ones((1, 32), dtype=np.bool_)
        many = functions.cross_lane_function_of(name)(active, *arrays)
        found = np.broadcast_to(many, (1, 32))[0].tolist()
        for lane in there:
            value = single[lane][0] if isinstance(single[lane], tuple) else single[lane]
            assert int(value) == found[lane], (name, lane)
