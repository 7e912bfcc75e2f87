"""Values of registers as shared expressions: what is computed alike from the same is one object.

An expression is a directed acyclic graph, made by one ``Values`` table for each function, so that
comparing two is comparing objects, and time and memory are linear in the code, whatever the
expressions would be written out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

_SHOWN = 24
"""How many nodes of an expression are written before the rest is an ellipsis."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value, equal to itself alone. ``number``: in the order in which its table made them.

    ``varies``: another thread of the work-group may have another one. ``is_opaque``: it depends on
    what is not known. ``depth``: of its expression; 0 for a leaf.
    """

    number: int
    varies: bool = field(kw_only=True)
    is_opaque: bool = field(kw_only=True)
    depth: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Const(Value):
    """A constant, or a register that all threads of a work-group read alike, by its name."""

    constant: int | str


@dataclass(frozen=True, slots=True, eq=False)
class Thread(Value):
    """Of which thread it is: a special register, or an election."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Param(Value):
    """A parameter of the kernel, or the address of a variable."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Value):
    """What is loaded, written more than once, or not known: of a register or a text."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Value):
    """An operation on values."""

    operation: str
    arguments: tuple[Value, ...]


class ValueTable:
    """The values of one function: each is made once."""

    def __init__(self, most: int):
        """``most``: the depth beyond which an expression counts as opaque."""
        self._most = most
        self._made: dict[tuple[object, ...], Value] = {}

    def __len__(self) -> int:
        return len(self._made)

    def constant(self, constant: int | str) -> Value:
        """A constant, or what is one for all threads of a work-group."""
        key = (Const, constant)
        if key not in self._made:
            made = Const(len(self._made), constant, varies=False, is_opaque=False)
            self._made[key] = made
        return self._made[key]

    def thread(self, name: str) -> Value:
        """A value that depends on the thread."""
        key = (Thread, name)
        if key not in self._made:
            self._made[key] = Thread(len(self._made), name, varies=True, is_opaque=False)
        return self._made[key]

    def param(self, name: str) -> Value:
        """A parameter or variable."""
        key = (Param, name)
        if key not in self._made:
            self._made[key] = Param(len(self._made), name, varies=False, is_opaque=False)
        return self._made[key]

    def opaque(self, name: str) -> Value:
        """What is not known of a register."""
        key = (Opaque, name)
        if key not in self._made:
            self._made[key] = Opaque(len(self._made), name, varies=False, is_opaque=True)
        return self._made[key]

    def apply(self, operation: str, arguments: Sequence[Value]) -> Value:
        """An operation on values of this table."""
        key = (Apply, operation, *(each.number for each in arguments))
        if key not in self._made:
            depth = 1 + max((each.depth for each in arguments), default=0)
            self._made[key] = Apply(
                len(self._made),
                operation,
                tuple(arguments),
                varies=any(each.varies for each in arguments),
                is_opaque=depth > self._most or any(each.is_opaque for each in arguments),
                depth=depth,
            )
        return self._made[key]


def text_of(value: Value) -> str:
    """An expression, cut after some operands: what is shared is written each time."""
    parts: list[str] = []
    work: list[Value | str] = [value]
    while work and len(parts) < 2 * _SHOWN:
        each = work.pop()
        match each:
            case str():
                parts.append(each)
            case Apply():
                parts.append(f"{each.operation}(")
                inner: list[Value | str] = []
                for argument in each.arguments:
                    inner += [", ", argument] if inner else [argument]
                work += [")", *reversed(inner)]
            case Const():
                parts.append(str(each.constant))
            case Opaque():
                parts.append(f"?{each.name}")
            case Thread() | Param():
                parts.append(each.name)
            case _:
                raise AssertionError(each)
    return "".join(parts) + ("..." if work else "")
