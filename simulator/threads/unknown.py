"""Values that an execution does not know, and the uses that end it."""

from typing import Any

from fencewright.simulator.semantics.tensors import NotExecuted as NotExecuted
from fencewright.simulator.semantics.tensors import OutOfBounds as OutOfBounds


class UnknownUsed(Exception):
    """A value that is not known at a place that needs a number.

    No ``TypeError``: a memoryview that converts the value would report another one in its place.
    """

    def __init__(self, value: "Unknown"):
        super().__init__(f"depends on the result of {value.origin}")
        self.value = value


class Unknown:
    """A value that nothing is known about but the instruction that it comes from.

    Every operator gives it back; an address, a branch or a conversion raises ``UnknownUsed``.
    """

    __slots__ = ("origin",)
    __hash__ = object.__hash__

    def __init__(self, origin: str):
        self.origin = origin

    def _absorb(self, *_: object) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _absorb
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _absorb
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _absorb
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _absorb
    __neg__ = __invert__ = __abs__ = _absorb
    __lt__ = __le__ = __gt__ = __ge__ = _absorb

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def bit_length(self) -> "Unknown":
        """It, as of every operator."""
        return self

    bit_count = bit_length

    def _needed(self) -> Any:
        raise UnknownUsed(self)

    __bool__ = __index__ = __int__ = __float__ = _needed

    def __repr__(self) -> str:
        return f"Unknown({self.origin!r})"
