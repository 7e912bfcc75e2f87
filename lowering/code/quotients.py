"""Quotients by constants, found in the products and shifts that compilers make of them.

Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994:
theorem 4.2 of unsigned, theorem 5.1 of signed numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fencewright.lowering.code.value import Apply, Const, Value


@dataclass(frozen=True, slots=True)
class _Scaled:
    """``floor(number * factor / 2**shift)``, in the bits of the number."""

    number: Value
    factor: int
    shift: int
    signed: bool

    @property
    def bits(self) -> int:
        """Of the number, as it is multiplied."""
        return self.number.bits


def unsigned_quotient(value: Apply, is_small: Callable[[Value], bool]) -> tuple[Value, int] | None:
    """A number and the constant by which a shifted product divides it, None of other values.

    ``is_small``: of a number whose sign bit is known to be 0.
    """
    for scaled in _scaled(value):
        if scaled.signed or scaled.factor <= 0:
            continue
        divisor = -(-(1 << scaled.shift) // scaled.factor)
        most = scaled.bits - max(_zeros_above(scaled.number), is_small(scaled.number))
        error = scaled.factor * divisor - (1 << scaled.shift)
        if scaled.shift >= most and error <= 1 << scaled.shift - most:
            # A quotient of a quotient is one by the product of both.
            shifted = _shifted(scaled.number, "lshr")
            return (
                (scaled.number, divisor) if shifted is None else (shifted[0], divisor << shifted[1])
            )
    if (longer := _with_factor_of_more_bits(value)) is not None:
        return longer
    return None


def signed_quotient(value: Apply) -> tuple[Value, int] | None:
    """The same of the sum of a shifted product and of its sign."""
    if value.operation != "add":
        return None
    for product, sign in (value.arguments, value.arguments[::-1]):
        for scaled in _scaled(product):
            shift, bits = scaled.shift, scaled.bits
            if not scaled.signed or scaled.factor <= 0 or product.bits != bits:
                continue
            divisor = (1 << shift) // scaled.factor + 1
            error = scaled.factor * divisor - (1 << shift)
            fits = shift >= bits - 1 and error <= 1 << shift - bits + 1 and divisor >> bits - 1 == 0
            if fits and _is_sign(sign, scaled):
                return scaled.number, divisor
    return None


def _is_sign(value: Value, scaled: _Scaled) -> bool:
    """True of the uppermost bit of a product, as a number of its bits."""
    shifted = _shifted(value, "lshr")
    if shifted is None:
        return False
    whole, by = shifted
    if by == scaled.bits - 1 and value.bits == scaled.bits:
        return any(
            (own.number, own.factor, own.signed) == (scaled.number, scaled.factor, True)
            for own in _scaled(whole)
        )
    return False


def _scaled(value: Value) -> Iterator[_Scaled]:
    """The product that a value is the upper bits of, in one reading or none."""
    if not isinstance(value, Apply):
        return
    match value.operation:
        case "trunc":
            yield from (each for each in _upper_bits(value.arguments[0]) if each.bits == value.bits)
        case "lshr" | "ashr":
            yield from _upper_bits(value)
            shifted = _shifted(value, value.operation)
            if shifted is None:
                return
            whole, by = shifted
            for each in _scaled(whole):
                if each.signed == (value.operation == "ashr") and each.bits == value.bits:
                    yield replace(each, shift=each.shift + by)
        case "add":
            # The factor has one bit more than the number: the number is added to the product.
            for product, number in (value.arguments, value.arguments[::-1]):
                for each in _upper_half(product):
                    # Of a negative factor: the sum of numbers of one sign could wrap.
                    is_first = each.signed and each.factor < 0 and each.shift == each.bits
                    if is_first and each.number is number:
                        yield replace(each, factor=each.factor + (1 << each.bits))
        case _:
            return


def _upper_half(value: Value) -> Iterator[_Scaled]:
    """A product of twice the bits without its lower ones. No sums are looked into."""
    if isinstance(value, Apply) and value.operation == "trunc":
        yield from (each for each in _upper_bits(value.arguments[0]) if each.bits == value.bits)


def _upper_bits(value: Value) -> Iterator[_Scaled]:
    """A product of twice the bits, shifted by so many or more."""
    if not isinstance(value, Apply) or value.operation not in ("lshr", "ashr"):
        return
    shifted = _shifted(value, value.operation)
    if shifted is None or not isinstance(shifted[0], Apply) or shifted[0].operation != "mul":
        return
    whole, by = shifted
    extended, factor = shifted[0].arguments
    number = _constant(factor)
    if number is None or not isinstance(extended, Apply):
        return
    if extended.operation not in ("zext", "sext"):
        return
    inner, signed = extended.arguments[0], extended.operation == "sext"
    if 2 * inner.bits != whole.bits or by < inner.bits:
        return
    if signed and value.operation == "lshr" and by > inner.bits:
        return  # The sign is not that of the product.
    if signed and number >> whole.bits - 1:
        number -= 1 << whole.bits
    if not signed and number >> inner.bits:
        return
    yield _Scaled(inner, number, by, signed)


def _with_factor_of_more_bits(value: Apply) -> tuple[Value, int] | None:
    """``((n - h) / 2 + h) >> shift``, of ``h = n * factor / 2**bits``: a factor of one bit more."""
    shifted = _shifted(value, "lshr")
    if shifted is None or not isinstance(shifted[0], Apply) or shifted[0].operation != "add":
        return None
    by = shifted[1]
    for half, product in (shifted[0].arguments, shifted[0].arguments[::-1]):
        inner = _shifted(half, "lshr")
        if inner is None or inner[1] != 1 or not isinstance(inner[0], Apply):
            continue
        if inner[0].operation != "sub" or inner[0].arguments[1] is not product:
            continue
        for each in _upper_half(product):
            bits, shift = each.bits, each.bits + by + 1
            if each.signed or each.shift != bits or each.number is not inner[0].arguments[0]:
                continue
            factor = each.factor + (1 << bits)
            divisor = -(-(1 << shift) // factor)
            if factor * divisor - (1 << shift) <= 1 << by + 1:
                return each.number, divisor
    return None


def _shifted(value: Value, operation: str) -> tuple[Value, int] | None:
    """The value that is shifted by a constant, and this."""
    if not isinstance(value, Apply) or value.operation != operation:
        return None
    by = _constant(value.arguments[1])
    return None if by is None or by >= value.bits else (value.arguments[0], by)


def _constant(value: Value) -> int | None:
    if isinstance(value, Const) and isinstance(value.constant, int):
        return value.constant
    return None


def _zeros_above(number: Value) -> int:
    """Bits of a number that a shift has made 0."""
    shifted = _shifted(number, "lshr")
    return 0 if shifted is None else shifted[1]
