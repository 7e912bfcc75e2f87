"""Values of verdicts of known operands: those that the executors' rows compute."""

import random
from collections.abc import Iterator, Sequence

import pytest

from fencewright.checker.verdicts.amd import operations as amd
from fencewright.checker.verdicts.amd.words import Words
from fencewright.checker.verdicts.expressions import Expressions, number_of
from fencewright.checker.verdicts.ptx.operations import value_of
from fencewright.lowering.code.value import ValueTable
from fencewright.lowering.ptx.code.statements import element_of, read_statement
from fencewright.simulator.semantics.amd_rows import ROWS
from fencewright.simulator.semantics.formulas import formula_of
from fencewright.simulator.semantics.python import function
from fencewright.simulator.semantics.term import operand

_TABLES = (0xC0, 0xFC, 0x3C, 0x80, 0xFE, 0x96, 0xEA, 0x6C, 0xF8, 0x78)
PTX = (
    *(f"{name}.{t}{bits}" for name in ("add", "sub", "min", "max", "div", "rem", "mul.lo", "mad.lo")
      for t in "us" for bits in (32, 64)),
    *(f"{name}.{t}32" for name in ("mul.wide", "mad.wide", "mul24.lo", "mul.hi") for t in "us"),
    *(f"{name}.b{bits}" for name in ("and", "or", "xor", "not", "shl", "selp")
      for bits in (32, 64)),
    *(f"shr.{t}{bits}" for t in "us" for bits in (32, 64)), "neg.s32", "bfe.u32", "bfe.s32",
    *(f"cvt.{to}.{of}" for to in ("u32", "s32", "u64", "s64", "u16", "s8")
      for of in ("u32", "s32", "u64", "s64", "u16", "s16", "u8", "s8")),
    *(f"setp.{relation}.{t}32" for relation in ("eq", "ne", "lt", "le", "gt", "ge") for t in "us"),
    *(f"setp.{relation}.u32" for relation in ("lo", "ls", "hi", "hs")),
    *(f"lop3.b32 {table}" for table in _TABLES),
)  # fmt: skip
"""Instructions whose values verdicts know; after ``lop3`` its table."""
UNKNOWN = ("mul24", "mul.hi", "bfe")
"""The beginnings of those that need not be known."""


def operands(widths: Sequence[int]) -> Iterator[list[int]]:
    """Operands of these widths: small ones, those at the ends, and random ones."""
    made = random.Random(str(widths))
    for _ in range(40):
        yield [
            made.choice((0, 1, 5, 31, (1 << bits) - 1, 1 << bits - 1, made.getrandbits(bits)))
            & (1 << bits) - 1
            for bits in widths
        ]


def expressions() -> Expressions:
    return Expressions(ValueTable(24))


@pytest.mark.parametrize("name", PTX)
def test_values_of_ptx(name: str) -> None:
    opcode, _, table = name.partition(" ")
    statement = read_statement(f"{opcode} %r0, %r1, %r2, %r3, %r4")
    assert statement is not None
    formula = formula_of(statement.opcode)
    assert formula is not None
    elements = [element_of(each) for each in formula.types]
    widths = [each[1] * each[2] for each in elements if each is not None]
    register = 64 if opcode.startswith("cvt") else 32
    terms = [operand(at, bits) for at, bits in enumerate(widths)]
    compute = function(formula.compute(terms, register)[0], len(widths))
    e, bits = expressions(), 1
    if not opcode.startswith("setp"):
        bits = register if opcode.startswith("cvt") else statement.opcode.width
        bits *= 2 if "wide" in opcode else 1
    for given in operands(widths):
        given = [*given[:3], int(table)] if table else given
        value = value_of(e, statement, list(map(e.constant, given, widths)), bits)
        found = number_of(value)
        if found is None:
            assert opcode.startswith(UNKNOWN), opcode
        elif not opcode.startswith(("div", "rem")) or given[1]:
            # The manual leaves open the result of a division by 0.
            assert found == compute(*given), (opcode, given)


@pytest.mark.parametrize(
    "name", [each for each in ROWS if ROWS[each].widths == amd.sources_of(each)]
)
def test_values_of_amd(name: str) -> None:
    row, widths = ROWS[name], amd.sources_of(name)
    assert widths is not None
    terms = [operand(at, bits) for at, bits in enumerate(row.widths)]
    compute = function(row.formula(*terms), len(terms))
    words = Words(expressions(), 1024)
    for given in operands(widths):
        sources = list(map(words.expressions.constant, given, widths))
        found = number_of(amd.computed(words, name, sources))
        if found is not None:
            assert found == compute(*given), (name, given)
