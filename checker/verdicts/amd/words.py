"""Words of 32 bits and pairs of them: the halves of a value, and the value that two halves are.

Arithmetic modulo 2**n gives the low half of the same arithmetic on the low halves, so that a sum of
64 bits that code computes in two steps, with a carry between, is the sum it is.
"""

from itertools import permutations

from fencewright.checker.verdicts.expressions import Expressions, number_of, trailing_zeros
from fencewright.lowering.code.value import Apply, Const, Iteration, Param, Thread, Value

_MODULAR = frozenset({"add", "sub", "mul", "and", "or", "xor"})
_WORD = 32
SHARED_BASE = "src_shared_base"
"""The address of LDS among all: its low half is 0, and LDS takes the low half of an address.
Source: LLVM AMDGPUUsage, Address Spaces, Generic."""
_SIZES = {"%ntid": 0x7FF, "%ctaid.y": 0xFFFF, "%ctaid.z": 0xFFFF}
"""The bits of sizes and indices of a launch: a work-group has at most 1024 threads, a grid at most
65,536 in its second and third dimension. Source: LLVM SITargetLowering, lowerWorkGroupId."""


class Words:
    """Makes values of 32 and 64 bits of one table; ``threads``: the most of a work-group."""

    def __init__(self, expressions: Expressions, threads: int):
        self.expressions = expressions
        self.threads = threads
        self._may: dict[Value, int] = {}
        self._masks: dict[tuple[Value, int], Value] = {}
        self._lows: dict[Value, Value] = {}
        self._pairs: dict[tuple[Value, Value], Value] = {}

    def low(self, value: Value) -> Value:
        """The low half of a value."""
        if (found := self._lows.get(value)) is None:
            found = self._lows[value] = self._low(value)
        return found

    def _low(self, value: Value) -> Value:
        e = self.expressions
        if _is_shared_base(value):
            return e.constant(0, _WORD)
        if value.bits <= _WORD or not isinstance(value, Apply):
            return e.resized(value, _WORD)
        own = value.arguments
        if value.operation in _MODULAR:
            return self.apply(value.operation, *(self.low(part) for part in own))
        if value.operation in ("zext", "sext"):
            return e.resized(own[0], _WORD, signed=value.operation == "sext")
        if value.operation == "shl" and (by := number_of(own[1])) is not None:
            return self.shifted(self.low(own[0]), by) if by < _WORD else e.constant(0, _WORD)
        if value.operation == "ite":
            return e.chosen(own[0], self.low(own[1]), self.low(own[2]))
        return e.resized(value, _WORD)

    def high(self, value: Value) -> Value:
        """The high half of a value of 64 bits."""
        e = self.expressions
        if isinstance(value, Apply) and value.operation == "zext" and value.arguments[0].bits <= 32:
            return e.constant(0, _WORD)
        if isinstance(value, Apply) and value.operation == "ite":
            condition, yes, no = value.arguments
            return e.chosen(condition, self.high(yes), self.high(no))
        up = e.apply("lshr", (value, e.constant(_WORD, 64)), 64)
        return e.resized(up, _WORD)

    def pair(self, low: Value, high: Value) -> Value:
        """The value of 64 bits that has two halves."""
        if (found := self._pairs.get((low, high))) is None:
            found = self._pairs[low, high] = self._pair(low, high)
        return found

    def _pair(self, low: Value, high: Value) -> Value:
        e = self.expressions
        if (upper := number_of(high)) is not None:
            if (lower := number_of(low)) is not None:
                return e.constant(upper << _WORD | lower, 64)
            if upper == 0:
                return e.resized(low, 64)
        if isinstance(high, Apply):
            if (whole := _upper_of(high)) is not None:
                if self.low(whole) is low:
                    return whole
                if _is_shared_base(whole):
                    return e.apply("add", (whole, e.resized(low, 64)), 64)
            if high.operation == "ashr" and high.arguments[0] is low:
                if number_of(high.arguments[1]) == _WORD - 1:
                    return e.resized(low, 64, signed=True)
            if high.operation == "ite" and isinstance(low, Apply) and low.operation == "ite":
                condition, yes, no = high.arguments
                if low.arguments[0] is condition:
                    return e.chosen(
                        condition, self.pair(low.arguments[1], yes), self.pair(low.arguments[2], no)
                    )
            if high.operation == "add" and (product := self._product(low, high)) is not None:
                return product
        up = e.apply("shl", (e.resized(high, 64), e.constant(_WORD, 64)), 64)
        return e.apply("or", (e.resized(low, 64), up), 64)

    def _product(self, low: Value, high: Apply) -> Value | None:
        """The value of 64 bits in whose product a number of two halves has its upper one added.

        Modulo 2**64, ``L*c`` and ``H*c`` in its upper half are ``(H:L)*c``.
        """
        for own, upper in permutations(high.arguments, 2):
            whole = _upper_of(own)
            if whole is None or self.low(whole) is not low:
                continue
            if isinstance(upper, Apply) and upper.operation == "mul":
                for by, half in permutations(upper.arguments, 2):
                    if (found := self._multiplied(whole, by, half)) is not None:
                        return found
        return None

    def _multiplied(self, whole: Value, by: Value, upper: Value) -> Value | None:
        """A sum of which the product by a word is that of a number with an upper half, too."""
        if not isinstance(whole, Apply) or whole.operation not in ("add", "mul"):
            return None
        e, wide = self.expressions, self.expressions.resized(by, 64)
        for part, other in permutations(whole.arguments, 2):
            found = None
            if whole.operation == "add":
                found = self._multiplied(part, by, upper)
            elif other is wide and isinstance(part, Apply) and part.operation == "zext":
                found = self.pair(e.resized(part, _WORD), upper)
            if found is not None:
                return e.apply(whole.operation, (found, other), 64)
        return None

    # Bits that may be set

    def may(self, value: Value) -> int:
        """The bits of a value that are not known to be 0."""
        known = self._may.get(value)
        if known is None:
            known = self._may[value] = self._bits_of(value) & (1 << value.bits) - 1
        return known

    def _bits_of(self, value: Value) -> int:
        every = (1 << value.bits) - 1
        if isinstance(value, Const):
            if isinstance(value.constant, int):
                return value.constant
            return next((m for name, m in _SIZES.items() if value.constant.startswith(name)), every)
        if isinstance(value, Thread) and value.name.startswith("%tid."):
            return (1 << (self.threads - 1).bit_length()) - 1
        if isinstance(value, Thread) and value.name == "%laneid":
            return 63
        if isinstance(value, Iteration) or not isinstance(value, Apply):
            return every
        return self._bits_of_operation(value, every)

    def _bits_of_operation(self, value: Apply, every: int) -> int:
        own = value.arguments
        operation = value.operation
        if operation == "ite":
            return self.may(own[1]) | self.may(own[2])
        if operation in ("zext", "trunc"):
            return self.may(own[0])
        if operation == "and":
            return self.may(own[0]) & self.may(own[1])
        if operation in ("or", "xor"):
            return self.may(own[0]) | self.may(own[1])
        if operation == "umin":
            return (1 << min(self.may(part).bit_length() for part in own)) - 1
        by = number_of(own[1]) if len(own) == 2 else None
        if operation == "shl" and by is not None:
            return self.may(own[0]) << by
        if operation == "lshr" and by is not None:
            return self.may(own[0]) >> by
        if operation in ("add", "mul") and len(own) == 2:
            a, b = self.may(own[0]), self.may(own[1])
            if operation == "add" and not a & b:
                return a | b
            most = a + b if operation == "add" else a * b
            zeros = min(trailing_zeros(value), value.bits)
            return every if most > every else ((1 << most.bit_length()) - 1) >> zeros << zeros
        return every

    def is_zero(self, value: Value) -> Value:
        """The truth value of a value being 0; of fields of the thread's index, of them together.

        Compilers elect a thread by its lane and its wave, ``lane | wave == 0``.
        """
        e, fields = self.expressions, dict[Value, int]()
        if not self._collects(value, fields) or len(fields) != 1:
            return e.apply("eq", (value, e.constant(0, value.bits)), 1)
        ((thread, mask),) = fields.items()
        return e.apply("eq", (self._masked(thread, mask), e.constant(0, thread.bits)), 1)

    def _collects(self, value: Value, fields: dict[Value, int]) -> bool:
        """Collect the bits of threads' indices that are all 0 exactly where a value is; false if
        that is not known."""
        if isinstance(value, Thread):
            fields[value] = fields.get(value, 0) | self.may(value)
            return True
        if not isinstance(value, Apply):
            return False
        own, operation = value.arguments, value.operation
        number = number_of(own[1]) if len(own) == 2 else None
        if operation == "and" and number is not None and isinstance(own[0], Thread):
            fields[own[0]] = fields.get(own[0], 0) | number & self.may(own[0])
            return True
        if operation == "or" or (operation == "add" and not self.may(own[0]) & self.may(own[1])):
            return all(self._collects(part, fields) for part in own)
        if operation == "shl" and number is not None:
            return self.may(own[0]) << number < 1 << value.bits and self._collects(own[0], fields)
        if operation == "lshr" and number is not None:
            inner = dict[Value, int]()
            if not _is_field(own[0]) or not self._collects(own[0], inner):
                return False
            for thread, mask in inner.items():
                fields[thread] = fields.get(thread, 0) | mask >> number << number
            return True
        return False

    # Operations

    def apply(self, operation: str, a: Value, b: Value) -> Value:
        """An operation on two values of one width, in the form that addresses have."""
        e, bits = self.expressions, a.bits
        if operation in ("or", "add") and not self.may(a) & self.may(b):
            return self._joined(a, b)
        for one, other in ((a, b), (b, a)):
            if (number := number_of(other)) is None:
                continue
            if operation == "and":
                return self._masked(one, number)
            if operation == "xor":
                return self._inverted(one, number)
        return e.apply(operation, (a, b), bits)

    def shifted(self, value: Value, by: int) -> Value:
        """A value some bits further up."""
        e = self.expressions
        if isinstance(value, Apply) and value.operation == "lshr" and by:
            if number_of(value.arguments[1]) == by:
                return self._masked(value.arguments[0], -1 << by & (1 << value.bits) - 1)
        return e.apply("shl", (value, e.constant(by, value.bits)), value.bits) if by else value

    def shifted_down(self, value: Value, by: int) -> Value:
        """A value some bits further down, without its sign."""
        e, bits = self.expressions, value.bits
        if by == 0:
            return value
        parts = [part for part in self._disjoint(value) if self.may(part) >> by]
        if not parts:
            return e.constant(0, bits)
        if len(parts) == 1 and isinstance(part := parts[0], Apply) and part.operation == "shl":
            inner, up = part.arguments[0], number_of(part.arguments[1])
            if up is not None and up >= by and self.may(inner) << up < 1 << bits:
                return self.shifted(inner, up - by)
        return e.apply("lshr", (self._sum(parts), e.constant(by, bits)), bits)

    def _masked(self, value: Value, mask: int) -> Value:
        """The bits of a value that a mask has; of a sum of fields, the fields."""
        if (found := self._masks.get((value, mask))) is None:
            found = self._masks[value, mask] = self._bits_within(value, mask)
        return found

    def _bits_within(self, value: Value, mask: int) -> Value:
        e, bits = self.expressions, value.bits
        if isinstance(value, Apply) and value.operation == "ite":
            condition, *arms = value.arguments
            return e.chosen(condition, *(self._masked(each, mask) for each in arms))
        parts = [part for part in self._disjoint(value) if self.may(part) & mask]
        if not parts:
            return e.constant(0, bits)
        if all(not self.may(part) & ~mask for part in parts):
            return self._sum(parts)
        if len(parts) == 1 and isinstance(part := parts[0], Apply):
            inner, *by = part.arguments
            number = number_of(by[0]) if len(by) == 1 else None
            if number is not None and part.operation == "and":
                return self._masked(inner, number & mask)
            if number is not None and part.operation == "shl":
                return self.shifted(self._masked(inner, mask >> number), number)
        return e.apply("and", (self._sum(parts), e.constant(mask, bits)), bits)

    def _inverted(self, value: Value, mask: int) -> Value:
        """A value with the bits of a mask inverted; of a sum of fields, of those that it meets."""
        e, bits = self.expressions, value.bits
        parts = self._disjoint(value)
        rest = [part for part in parts if not self.may(part) & mask]
        met = [part for part in parts if self.may(part) & mask]
        if not met or len(met) > 1:
            return e.apply("xor", (value, e.constant(mask, bits)), bits)
        own, constant = met[0], e.constant(mask, bits)
        # Of all ones, those of a number are taken away.
        is_whole = not self.may(own) & ~mask and mask.bit_count() > 1
        changed = e.apply("sub", (constant, own), bits) if is_whole else None
        if changed is None:
            changed = e.apply("xor", (own, constant), bits)
        return self._sum([changed, *rest])

    def _disjoint(self, value: Value) -> list[Value]:
        """The summands of a value whose bits do not meet; else itself."""
        if isinstance(value, Apply) and value.operation in ("add", "or"):
            a, b = value.arguments
            if not self.may(a) & self.may(b):
                return [*self._disjoint(a), *self._disjoint(b)]
        return [value]

    def _joined(self, a: Value, b: Value) -> Value:
        """The sum of two values whose bits do not meet; two fields of a value are one."""
        parts = self._disjoint(a)
        for part in self._disjoint(b):
            value, mask = _field(part)
            for n, other in enumerate(parts):
                if mask != -1 and _field(other)[0] is value:
                    parts[n] = self._masked(value, mask | _field(other)[1])
                    break
            else:
                parts.append(part)
        return self._sum(parts)

    def _sum(self, parts: list[Value]) -> Value:
        total = parts[0]
        for part in parts[1:]:
            total = self.expressions.apply("add", (total, part), total.bits)
        return total


def _field(value: Value) -> tuple[Value, int]:
    """A value with a mask of it that a value is; all ones where there is none."""
    if isinstance(value, Apply) and value.operation == "and":
        if (mask := number_of(value.arguments[1])) is not None:
            return value.arguments[0], mask
    return value, -1


def _is_field(value: Value) -> bool:
    """True of a thread's index, whole or masked: its bits are where they are in the index."""
    if isinstance(value, Apply) and value.operation == "and":
        value = value.arguments[0]
    return isinstance(value, Thread)


def _is_shared_base(value: Value) -> bool:
    return isinstance(value, Param) and value.name == SHARED_BASE


def _upper_of(value: Value) -> Value | None:
    """The value of 64 bits whose upper half one is."""
    up = value.arguments[0] if isinstance(value, Apply) and value.operation == "trunc" else None
    if isinstance(up, Apply) and up.operation == "lshr" and number_of(up.arguments[1]) == _WORD:
        return up.arguments[0] if value.bits == _WORD else None
    return None
