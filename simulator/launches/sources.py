"""Launches in CUDA and HIP sources: ``name<<<grid, block>>>(...)`` with sizes that are constants.

Constants are whole numbers, ``#define``, ``const``, ``constexpr`` and local variables that are set
once, with ``+ - * / % << >>`` and parentheses, ``sizeof`` of a type, and ``dim3``. No more is
evaluated: what depends on anything else is left out, and the caller says what it takes instead.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fencewright.simulator.threads.launch import Size, split

_SIZES = {
    "bool": 1, "char": 1, "short": 2, "half": 2, "int": 4, "unsigned": 4, "float": 4, "long": 8,
    "double": 8, "size_t": 8, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4,
    "uint64_t": 8, "int64_t": 8,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.MULTILINE)
_VARIABLES = re.compile(r"\b(?:int|unsigned|long|size_t|u?int\d+_t|auto)\s+(\w+\s*=[^;{]*);")
_DIM3 = re.compile(r"\bdim3\s+(\w+)\s*(?:=\s*dim3\s*)?[({]([^;]*)[)}]\s*;")
_LAUNCH = re.compile(r"\b(\w+)\s*(?:<[^<>;{}]*>)?\s*<<<(.*?)>>>\s*\(", re.DOTALL)
_HIP = re.compile(r"\bhipLaunchKernelGGL\s*\(")
_DEEPEST = 16
"""Names within names that are followed."""


@dataclass(frozen=True, slots=True)
class SourceLaunch:
    """A launch of a source: its sizes and its arguments where they are constants, else None."""

    kernel: str
    line: int
    grid: Size | None
    block: Size | None
    shared: int | None
    arguments: tuple[int | None, ...]


class _Names:
    """The constants of a source."""

    def __init__(self, text: str):
        self.texts = {found[1]: found[2] for found in _DEFINE.finditer(text)}
        once: dict[str, list[str]] = {}
        for found in _VARIABLES.finditer(text):
            for each in split(found[1]):
                name, _, value = each.partition("=")
                once.setdefault(name.strip(), []).append(value)
        for name, values in once.items():
            changes = rf"\b{re.escape(name)}\s*(?:[-+*/%]|<<|>>)?=[^=]|\b{re.escape(name)}\+\+"
            assigned = re.findall(changes, text)
            if len(values) == len(assigned) == 1:
                self.texts.setdefault(name, values[0])
        self.dims = {found[1]: found[2] for found in _DIM3.finditer(text)}

    def value(self, text: str, depth: int = 0) -> int | None:
        """The value of a constant; None of any other text."""
        text = re.sub(r"\bsizeof\s*\(\s*(?:unsigned\s+)?(\w+)\s*\)", self._size, text.strip())
        text = re.sub(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b", r"\1", text).replace("/", "//")
        try:
            return self._evaluate(ast.parse(text, mode="eval").body, depth)
        except (SyntaxError, ValueError, ZeroDivisionError, KeyError):
            return None

    @staticmethod
    def _size(found: re.Match[str]) -> str:
        return str(_SIZES.get(found[1], found[0]))

    def _evaluate(self, node: ast.expr, depth: int) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._evaluate(node.operand, depth)
        if isinstance(node, ast.BinOp):
            left, right = self._evaluate(node.left, depth), self._evaluate(node.right, depth)
            if isinstance(node.op, ast.LShift) and right > 40:
                raise ValueError("a shift that no size has")
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.Name) and depth < _DEEPEST and node.id in self.texts:
            value = self.value(self.texts[node.id], depth + 1)
            if value is not None:
                return value
        raise ValueError("no constant")

    def size(self, text: str) -> Size | None:
        """The sizes of a number, of ``dim3(..)`` or of a variable of that type."""
        text = text.strip()
        text = self.dims.get(text, text)
        if (found := re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)) is not None:
            text = found[1]
        values = [self.value(each) for each in split(text)]
        if not 1 <= len(values) <= 3:
            return None
        sizes = [each for each in values if each is not None and each > 0]
        if len(sizes) < len(values):
            return None
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z


def source_launches(text: str) -> Iterator[SourceLaunch]:
    """The launches of a source, in their order."""
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    names = _Names(text)
    for found in _LAUNCH.finditer(text):
        sizes = split(found[2])
        yield _launch(names, found[1], sizes, _inside(text, found.end()), _line(text, found))
    for found in _HIP.finditer(text):
        kernel, *given = split(_inside(text, found.end()))
        name = re.sub(r"^(?:HIP_KERNEL_NAME\s*\()?\s*(\w+).*", r"\1", kernel, flags=re.DOTALL)
        yield _launch(names, name, given[:4], ", ".join(given[4:]), _line(text, found))


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def _inside(text: str, begin: int) -> str:
    """The text up to the parenthesis that closes."""
    depth = 1
    for at in range(begin, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return text[begin:at]
    return text[begin:]


def _launch(
    names: _Names, kernel: str, sizes: list[str], arguments: str, line: int
) -> SourceLaunch:
    grid, block, *more = [*sizes, "", ""][: max(len(sizes), 2)]
    return SourceLaunch(
        kernel, line, names.size(grid), names.size(block),
        names.value(more[0]) if more else 0,
        tuple(names.value(each) for each in split(arguments)),
    )  # fmt: skip
