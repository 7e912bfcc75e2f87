"""Integer functions of PTX that no Python operator is, on unsigned bits.

Source: PTX ISA, "Integer Arithmetic Instructions"; "Logic and Shift Instructions"; "prmt"; "atom".
"""

from collections.abc import Callable, Mapping

from fencewright.simulator.threads.floats import absorbing, exactly, greatest, least


def signed(value: int, width: int) -> int:
    """Bits as a two's complement number."""
    return (value & (1 << width) - 1 ^ 1 << width - 1) - (1 << width - 1)


@absorbing
def quotient(a: int, b: int, width: int) -> int:
    """div, towards zero; by zero all bits are set, as GPUs do where the manual leaves it open."""
    if not b:
        return (1 << width) - 1
    found = abs(a) // abs(b)
    return (found if (a < 0) == (b < 0) else -found) & (1 << width) - 1


@absorbing
def remainder(a: int, b: int, width: int) -> int:
    """rem, with the sign of the dividend; by zero all bits are set, as an H200 has it."""
    if not b:
        return (1 << width) - 1
    found = abs(a) % abs(b)
    return (found if a >= 0 else -found) & (1 << width) - 1


@absorbing
def clamp(value: int, width: int) -> int:
    """A signed result clamped to its range (.sat)."""
    return max(-(1 << width - 1), min((1 << width - 1) - 1, value)) & (1 << width) - 1


@absorbing
def count_leading(value: int, width: int) -> int:
    """clz."""
    return width - value.bit_length()


@absorbing
def highest_bit(value: int, width: int, is_signed: bool, as_shift: bool) -> int:
    """bfind: the highest bit that is no sign, or the shift to it; all bits if there is none."""
    if is_signed and value >> width - 1:
        value ^= (1 << width) - 1
    if not value:
        return 0xFFFFFFFF
    found = value.bit_length() - 1
    return width - 1 - found if as_shift else found


@absorbing
def nth_set(mask: int, base: int, offset: int) -> int:
    """fns: the n-th set bit from a place; all bits if there is none. Source: PTX ISA, fns."""
    offset = signed(offset, 32)
    if not offset:
        return base if mask >> base & 1 else 0xFFFFFFFF
    left, at, step = abs(offset), base, 1 if offset > 0 else -1
    while 0 <= at < 32:
        if mask >> at & 1:
            left -= 1
            if not left:
                return at
        at += step
    return 0xFFFFFFFF


@absorbing
def reverse(value: int, width: int) -> int:
    """brev."""
    return int(f"{value:0{width}b}"[::-1], 2)


@absorbing
def extract(value: int, start: int, length: int, width: int, is_signed: bool) -> int:
    """bfe: a field, whose sign is that of its last bit that exists."""
    start, length = start & 0xFF, length & 0xFF
    if not length:
        return 0
    field = value >> start & (1 << length) - 1
    if is_signed:
        last = min(start + length - 1, width - 1)
        have = max(last - start + 1, 0)
        if value >> last & 1:
            field |= (1 << width) - 1 << have
    return field & (1 << width) - 1


@absorbing
def insert(value: int, into: int, start: int, length: int, width: int) -> int:
    """bfi."""
    start, length = start & 0xFF, length & 0xFF
    mask = ((1 << length) - 1 << start) & (1 << width) - 1
    return into & ~mask | value << start & mask


@absorbing
def extend(value: int, size: int, is_signed: bool, wraps: bool) -> int:
    """szext: a value of ``size`` bits in 32."""
    size = size & 31 if wraps else min(size, 32)
    value &= (1 << size) - 1
    return signed(value, size) & 0xFFFFFFFF if is_signed and size else value


@absorbing
def bit_mask(start: int, size: int, wraps: bool) -> int:
    """bmsk."""
    start, size = (start & 31, size & 31) if wraps else (min(start, 32), min(size, 32))
    return ((1 << size) - 1 << start) & 0xFFFFFFFF


@absorbing
def shift(value: int, by: int, width: int, kind: str) -> int:
    """shl and shr, whose amount is clamped to the width."""
    by = min(by, width)
    if kind == "l":
        return value << by & (1 << width) - 1
    return (signed(value, width) if kind == "s" else value) >> by & (1 << width) - 1


@absorbing
def funnel(low: int, high: int, by: int, left: bool, wraps: bool) -> int:
    """shf: 32 bits of 64."""
    by = by & 31 if wraps else min(by, 32)
    both = high << 32 | low
    return (both << by >> 32 if left else both >> by) & 0xFFFFFFFF


@absorbing
def logic(a: int, b: int, c: int, table: int, width: int = 32) -> int:
    """lop3: any function of three bits."""
    found = 0
    for at in range(8):
        if table >> at & 1:
            found |= (a if at & 4 else ~a) & (b if at & 2 else ~b) & (c if at & 1 else ~c)
    return found & (1 << width) - 1


_SELECTS: Mapping[str, Callable[[int], tuple[int, ...]]] = {
    "f4e": lambda at: tuple(at + n for n in range(4)),
    "b4e": lambda at: tuple((at - n) % 8 for n in range(4)),
    "rc8": lambda at: (at,) * 4,
    "ecl": lambda at: tuple(max(at, n) for n in range(4)),
    "ecr": lambda at: tuple(min(at, n) for n in range(4)),
    "rc16": lambda at: (2 * (at & 1), 2 * (at & 1) + 1) * 2,
}


@absorbing
def permute(a: int, b: int, selector: int, mode: str) -> int:
    """prmt: four bytes of eight."""
    both = b << 32 | a
    found = 0
    if mode:
        for to, at in enumerate(_SELECTS[mode](selector & 3)):
            found |= (both >> 8 * at & 0xFF) << 8 * to
        return found
    for to in range(4):
        choice = selector >> 4 * to & 0xF
        byte = both >> 8 * (choice & 7) & 0xFF
        if choice & 8:
            byte = 0xFF if byte & 0x80 else 0
        found |= byte << 8 * to
    return found


@absorbing
def dot(a: int, b: int, c: int, signs: str, bits: int, high: bool) -> int:
    """dp4a and dp2a: products of parts, summed."""
    total = c
    for at in range(32 // bits if bits == 8 else 2):
        left = a >> bits * at & (1 << bits) - 1
        right = b >> 8 * (at + (2 if high else 0)) & 0xFF
        left = signed(left, bits) if signs[0] == "s" else left
        right = signed(right, 8) if signs[1] == "s" else right
        total += left * right
    return total & 0xFFFFFFFF


@absorbing
def halves(function: Callable[[int, int], int], a: int, b: int) -> int:
    """A function of 16 bits on both halves of words."""
    low = function(a & 0xFFFF, b & 0xFFFF) & 0xFFFF
    return (function(a >> 16, b >> 16) & 0xFFFF) << 16 | low


# Read-modify-writes

Update = Callable[[int, int, int, int], int]
"""Of the old value, both operands and the width: the new value."""

UPDATES: Mapping[tuple[str, str], Update] = {
    ("add", "i"): lambda old, a, _b, width: old + a & (1 << width) - 1,
    ("and", "i"): lambda old, a, _b, _w: old & a,
    ("or", "i"): lambda old, a, _b, _w: old | a,
    ("xor", "i"): lambda old, a, _b, _w: old ^ a,
    ("exch", "i"): lambda _old, a, _b, _w: a,
    ("cas", "i"): lambda old, a, b, _w: b if old == a else old,
    ("inc", "i"): lambda old, a, _b, _w: 0 if old >= a else old + 1,
    ("dec", "i"): lambda old, a, _b, _w: a if old == 0 or old > a else old - 1,
    ("min", "u"): lambda old, a, _b, _w: min(old, a),
    ("max", "u"): lambda old, a, _b, _w: max(old, a),
    ("min", "s"): lambda old, a, _b, w: min(old, a, key=lambda each: signed(each, w)),
    ("max", "s"): lambda old, a, _b, w: max(old, a, key=lambda each: signed(each, w)),
    ("add", "f16"): lambda old, a, _b, _w: exactly("add", "f16", "rn", old, a),
    ("add", "bf16"): lambda old, a, _b, _w: exactly("add", "bf16", "rn", old, a),
    ("add", "f32"): lambda old, a, _b, _w: exactly("add", "f32", "rn", old, a),
    ("add", "f64"): lambda old, a, _b, _w: exactly("add", "f64", "rn", old, a),
    **{
        (name, type): (lambda old, a, _b, _w, f=function, t=type: f(old, a, t))
        for name, function in (("min", least), ("max", greatest))
        for type in ("f16", "bf16")
    },
}
"""Source: PTX ISA, atom; red. ``i``: any integer type."""
