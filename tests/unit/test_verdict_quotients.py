"""Quotients by constants: every one that is found is one, and those of compilers are found."""

import subprocess
from collections.abc import Iterator, Mapping

import pytest

from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.interpretation import meaning
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.code.value import Apply, Const, Opaque, Value, ValueTable, parts_first
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

BITS = 8
NUMBERS = range(1 << BITS)


class Forms:
    """The products and shifts of a number of 8 bits and a factor."""

    def __init__(self, *, folds: bool):
        self.table = ValueTable(1 << 22)
        self.e = Expressions(self.table)
        self.apply = self.e.apply if folds else self._plain
        self.resized = self.e.resized if folds else self._plainly_resized
        self.number = self.table.opaque("n", BITS)

    def _plain(self, operation: str, own: tuple[Value, ...], bits: int) -> Value:
        return self.table.apply(operation, own, bits)

    def _plainly_resized(self, value: Value, bits: int, *, signed: bool = False) -> Value:
        extend = "sext" if signed else "zext"
        return self.table.apply("trunc" if bits < value.bits else extend, (value,), bits)

    def constant(self, number: int, bits: int = BITS) -> Value:
        return self.e.constant(number, bits)

    def upper(self, number: Value, factor: int, *, signed: bool) -> Value:
        wide = self.resized(number, 2 * BITS, signed=signed)
        by = self.resized(self.constant(factor), 2 * BITS, signed=signed)
        whole = self.apply("mul", (wide, by), 2 * BITS)
        shifted = self.apply("lshr", (whole, self.constant(BITS, 2 * BITS)), 2 * BITS)
        return self.resized(shifted, BITS)

    def unsigned(self, factor: int, shift: int, zeros: int = 0) -> Value:
        number = self.apply("lshr", (self.number, self.constant(zeros)), BITS)
        upper = self.upper(number, factor, signed=False)
        return self.apply("lshr", (upper, self.constant(shift)), BITS)

    def longer(self, factor: int, shift: int) -> Value:
        upper = self.upper(self.number, factor, signed=False)
        rest = self.apply("sub", (self.number, upper), BITS)
        half = self.apply("lshr", (rest, self.constant(1)), BITS)
        total = self.apply("add", (half, upper), BITS)
        return self.apply("lshr", (total, self.constant(shift)), BITS)

    def signed(self, factor: int, shift: int, *, adds: bool) -> Value:
        upper = self.upper(self.number, factor, signed=True)
        if adds:
            upper = self.apply("add", (upper, self.number), BITS)
        shifted = self.apply("ashr", (upper, self.constant(shift)), BITS)
        sign = self.apply("lshr", (upper, self.constant(BITS - 1)), BITS)
        return self.apply("add", (shifted, sign), BITS)

    def all(self, factor: int, shift: int) -> Iterator[Value]:
        yield self.unsigned(factor, shift)
        yield self.unsigned(factor, shift, 2)
        yield self.longer(factor, shift)
        yield self.signed(factor, shift, adds=False)
        yield self.signed(factor, shift, adds=True)


def evaluated(value: Value, number: int) -> int:
    numbers: dict[Value, int] = {}
    for each in parts_first((value,)):
        if isinstance(each, Apply):
            numbers[each] = meaning(each)(numbers)
        elif isinstance(each, Const):
            assert isinstance(each.constant, int)
            numbers[each] = each.constant
        else:
            assert isinstance(each, Opaque)
            numbers[each] = number
    return numbers[value]


def has_quotient(value: Value) -> bool:
    return any(
        isinstance(each, Apply) and each.operation in ("udiv", "sdiv")
        for each in parts_first((value,))
    )


@pytest.mark.parametrize("shift", [0, 2, 5])
def test_every_quotient_that_is_found_is_one(shift: int) -> None:
    found, forms, plain = 0, Forms(folds=True), Forms(folds=False)
    for factor in range(1, 1 << BITS):
        for value, expected in zip(forms.all(factor, shift), plain.all(factor, shift), strict=True):
            if has_quotient(value):
                found += 1
                for number in NUMBERS:
                    assert evaluated(value, number) == evaluated(expected, number)
    assert found > 3


def divided(text: str) -> Mapping[str, set[int]]:
    """The constants by which the places of a kernel's accesses are divided."""
    kernel = kernel_of(file := read_ptx(text), file.functions["k"])
    found: dict[str, set[int]] = {"udiv": set(), "sdiv": set()}
    terms = [
        term
        for access in kernel.accesses
        if access.place.offset is not None
        for term, _ in access.place.offset.terms
    ]
    for each in parts_first(terms):
        if isinstance(each, Apply) and each.operation in found:
            by = each.arguments[1]
            assert isinstance(by, Const)
            assert isinstance(by.constant, int)
            found[each.operation].add(by.constant)
    return found


@pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
@pytest.mark.parametrize("operation", ["udiv", "sdiv"])
def test_quotients_of_compilers_are_found(operation: str) -> None:
    llc = find_llvm_tool("llc")
    assert llc is not None
    missed: list[int] = []
    for divisor in (3, 5, 6, 7, 9, 10, 11, 12, 13, 24, 25, 28, 100, 125, 144, 641, 1000, 12345):
        source = f"""
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %m = add i32 %i, %n
  %q = {operation} i32 %m, {divisor}
  %w = zext i32 %q to i64
  %a = getelementptr i32, ptr addrspace(1) %p, i64 %w
  store i32 1, ptr addrspace(1) %a
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
        made = subprocess.run(
            [llc, "-mtriple=nvptx64-nvidia-cuda", "-mcpu=sm_90", "-o", "-", "-"],
            input=source, text=True, check=True, capture_output=True,
        ).stdout  # fmt: skip
        assert "div" not in made.partition(".entry")[2]
        if divisor not in divided(made)[operation]:
            missed.append(divisor)
    assert missed == []


def test_long_sums_are_looked_into_once() -> None:
    forms = Forms(folds=True)
    total = forms.number
    for _ in range(200):  # A hash has as many; a search of both parts of each would not end.
        total = forms.apply("add", (total, forms.apply("add", (total, forms.number), BITS)), BITS)
    assert not has_quotient(total)
