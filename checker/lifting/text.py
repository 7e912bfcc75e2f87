"""What functions that are printed on ``scoped`` have in common, whatever they were lifted from."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeVar

_Function = TypeVar("_Function")

MOST_INSTRUCTIONS = 100_000
"""Of a function with all that it calls in its place."""


class UnliftableError(ValueError):
    """A function that ``scoped`` cannot say: why, and at which ``line``; 0: no line of its own."""

    def __init__(self, line: int, why: str):
        super().__init__(why)
        self.line = line


def callee(
    functions: Mapping[str, _Function],
    name: str,
    path: Collection[str],
    instructions: int,
    line: int,
    call: str,
) -> _Function:
    """The function ``name`` that is to stand in its ``call``, after so many ``instructions``.

    ``path``: those in which it would stand. Raises ``UnliftableError`` at ``line`` where it cannot.
    """
    if not name:
        why = "which function it calls is not known"
    elif name not in functions:
        why = f"{name}, which it calls, is not in the file"
    elif name in path:
        why = f"{name}, which it calls, calls itself"
    elif instructions > MOST_INSTRUCTIONS:
        why = f"with what is called there are more than {MOST_INSTRUCTIONS} instructions"
    else:
        return functions[name]
    raise UnliftableError(line, f"{call}: {why}")


TYPE_OF_SIZE: Mapping[int, str] = MappingProxyType(
    {1: "i8", 2: "i16", 4: "i32", 8: "i64", 12: "vector<3xi32>", 16: "vector<4xi32>"}
)
"""The type of an access by its bytes."""


class Arguments:
    """The arguments of a function, which stand for all that is not followed; by name their type."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.addresses: dict[tuple[object, ...], str] = {}

    def value(self, name: str, kind: str) -> str:
        """The argument of a name, made at first use."""
        self.types.setdefault(name, kind)
        return f"%{name}"

    def pointer(self, key: tuple[object, ...], space: int) -> tuple[str, str]:
        """The argument that stands for the address ``key`` in a space of LLVM's number, and its type."""
        name = self.addresses.setdefault((space, *key), f"p{len(self.addresses)}")
        kind = f"!llvm.ptr<{space}>" if space else "!llvm.ptr"
        return self.value(name, kind), kind

    def head(self, function: str, attributes: str = "") -> str:
        """The first line of the function."""
        listed = ", ".join(f"%{name}: {kind}" for name, kind in self.types.items())
        return f"func.func @{_symbol(function)}({listed}) {attributes}{{"


def _symbol(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.$]*", name) else f'"{name}"'
