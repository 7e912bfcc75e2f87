"""Source and code, compiled as they are and with a line for each instruction."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from fencewright.checker.source.compare import CodeFunction, FunctionOfCode
from fencewright.checker.source.program import (
    SourceError,
    SourceFunction,
    SourceModule,
    SourceOperation,
)
from fencewright.lowering.code.effects import Kind


def with_places(source: SourceModule, numbered: SourceModule) -> SourceModule:
    """``source`` with the places that a numbered copy of it has; that copy where they differ."""
    functions: dict[str, SourceFunction] = {}
    for name, copy in numbered.functions.items():
        mine = source.functions.get(name)
        functions[name] = _placed(mine, copy) if mine is not None else _unnamed(copy)
    return replace(source, functions=MappingProxyType(functions))


def _placed(mine: SourceFunction, copy: SourceFunction) -> SourceFunction:
    ours, theirs = mine.operations, copy.operations
    if [each.word for each in ours] != [each.word for each in theirs]:
        return _unnamed(copy)
    lined = [replace(a, line=b.line) for a, b in zip(theirs, ours, strict=True)]
    return replace(_with_operations(copy, lined), line=mine.line)


def _unnamed(copy: SourceFunction) -> SourceFunction:
    """A function whose lines are not those of the file that the user has."""
    unlined = [replace(each, line=0) for each in copy.operations]
    return replace(_with_operations(copy, unlined), line=0)


def _with_operations(
    function: SourceFunction, operations: Sequence[SourceOperation]
) -> SourceFunction:
    """The function with other operations, by their numbers, on the same paths."""
    blocks = (
        replace(block, operations=tuple(operations[each.number] for each in block.operations))
        for block in function.blocks
    )
    return replace(function, blocks=tuple(blocks))


def with_orders(code: SourceModule, original: SourceModule) -> SourceModule:
    """``original`` with the places of the same accesses in ``code``, a copy with other
    synchronisation.

    Raises ``SourceError`` where a function has other accesses.
    """
    functions: dict[str, SourceFunction] = {}
    for name, function in original.functions.items():
        ours = [each for each in code.functions[name].operations if _stays(each)]
        wanted = [each for each in function.operations if _stays(each)]
        if [each.word for each in ours] != [each.word for each in wanted]:
            raise SourceError(f"{original.file}:{function.line}: error: {name} has other accesses")
        places = {a.number: b.place for a, b in zip(wanted, ours, strict=True)}
        placed = [replace(e, place=places.get(e.number)) for e in function.operations]
        functions[name] = _with_operations(function, placed)
    return replace(original, functions=MappingProxyType(functions))


def _stays(operation: SourceOperation) -> bool:
    return operation.is_access or operation.kind is Kind.BARRIER


def compiled_twice(
    functions: Mapping[str, FunctionOfCode],
    numbered: Mapping[str, FunctionOfCode],
    with_lines_of: Callable[[FunctionOfCode, FunctionOfCode], FunctionOfCode],
) -> tuple[Mapping[str, FunctionOfCode], dict[str, str]]:
    """``functions`` with the lines of their numbered copies; and those that differ, and why."""
    lined: dict[str, FunctionOfCode] = {}
    problems: dict[str, str] = {}
    for name, function in functions.items():
        copy = numbered.get(name)
        if copy is None or _texts(function) != _texts(copy):
            problems[name] = "the compiler makes other code of it when instructions have lines"
            lined[name] = function
            continue
        lined[name] = with_lines_of(function, copy)
    return MappingProxyType(lined), problems


_TEMPORARY = re.compile(r"\.Ltmp\d+")


def _texts(function: CodeFunction) -> list[str]:
    """The instructions without the numbers of labels that debug information adds to."""
    return [_TEMPORARY.sub(".Ltmp", each.text) for each in function.instructions]
