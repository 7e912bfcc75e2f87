"""Integer functions of PTX that are loops over bits. Source: PTX ISA, fns; brev."""


def nth_set(mask: int, base: int, offset: int) -> int:
    """fns: the n-th set bit from a place; all bits if there is none."""
    offset = (offset ^ 1 << 31) - (1 << 31)
    if not offset:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    left, at, step = abs(offset), base, 1 if offset > 0 else -1
    while 0 <= at < 32:
        if mask >> at & 1:
            left -= 1
            if not left:
                return at
        at += step
    return 0xFFFFFFFF


def reverse(width: int, value: int) -> int:
    """brev."""
    return int(f"{value:0{width}b}"[::-1], 2)
