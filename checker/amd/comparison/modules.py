"""A module of the source with the assembly that a compiler made of it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from fencewright.checker.amd.accesses import mode_of
from fencewright.checker.amd.comparison.against_source import (
    Comparison,
    compare,
    not_compared,
    synchronises,
)
from fencewright.checker.source.program import (
    SourceBlock,
    SourceError,
    SourceFunction,
    SourceKind,
    SourceModule,
    SourceOperation,
)
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction, Function
from fencewright.lowering.vocabulary import L2PerAgent

AnyFunction = TypeVar("AnyFunction")

_FILE = re.compile(r'^[^\S\n]*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)


def files_in(text: str) -> Mapping[int, str]:
    """The names of source files by the numbers that ``.loc`` has."""
    return {int(number): name or folder for number, folder, name in _FILE.findall(text)}


def compare_modules(
    source: SourceModule,
    assembly: Assembly,
    files: Mapping[int, str],
    l2_per_agent: L2PerAgent | None = None,
) -> Iterator[Comparison]:
    """Each function of either side that synchronises; raises ``AssemblyError``."""
    places = {
        name: [each.place for each in function.operations if each.place is not None]
        for name, function in source.functions.items()
    }
    for name, function in assembly.functions.items():
        theirs = source.functions.get(name)
        if theirs is None:
            if function.instructions:
                yield _missing(name, "it is not in the source")
            continue
        elsewhere = [place for other, known in places.items() if other != name for place in known]
        mode = mode_of(assembly, function, l2_per_agent)
        yield compare(theirs, flow_of(function), mode, files, elsewhere)
    for name, function in source.functions.items():
        if name not in assembly.functions and any(map(synchronises, function.operations)):
            yield _missing(name, "it is not in the code")


def _missing(name: str, problem: str) -> Comparison:
    return Comparison(name, None, (not_compared(name, problem),))


def with_places(source: SourceModule, numbered: SourceModule) -> SourceModule:
    """``source`` with the places that a numbered copy of it has; that copy where they differ."""
    functions: dict[str, SourceFunction] = {}
    for name, copy in numbered.functions.items():
        mine = source.functions.get(name)
        functions[name] = _placed(mine, copy) if mine is not None else _unnamed(copy)
    return replace(source, functions=MappingProxyType(functions))


def _placed(mine: SourceFunction, copy: SourceFunction) -> SourceFunction:
    ours, theirs = mine.operations, copy.operations
    if [each.kind for each in ours] != [each.kind for each in theirs]:
        return _unnamed(copy)
    lines = {a.number: b.line for a, b in zip(theirs, ours, strict=True)}
    return replace(copy, line=mine.line, blocks=_blocks(copy, lines))


def _unnamed(copy: SourceFunction) -> SourceFunction:
    """A function whose lines are not those of the file that the user has."""
    return replace(copy, line=0, blocks=_blocks(copy, {}))


def _blocks(function: SourceFunction, lines: Mapping[int, int]) -> tuple[SourceBlock, ...]:
    return tuple(
        SourceBlock(
            tuple(replace(each, line=lines.get(each.number, 0)) for each in block.operations),
            block.successors,
        )
        for block in function.blocks
    )


def with_orders(code: SourceModule, asked: SourceModule) -> SourceModule:
    """``asked`` with the places of the same accesses in ``code``, a copy with other synchronisation.

    Raises ``SourceError`` where a function has other accesses.
    """
    functions: dict[str, SourceFunction] = {}
    for name, function in asked.functions.items():
        places = [each for each in code.functions[name].operations if _stays(each)]
        wanted = [each for each in function.operations if _stays(each)]
        if [each.kind for each in places] != [each.kind for each in wanted]:
            raise SourceError(f"{asked.file}:{function.line}: error: {name} has other accesses")
        place_of = {a.number: b.place for a, b in zip(wanted, places, strict=True)}
        blocks = tuple(
            replace(
                block,
                operations=tuple(
                    replace(each, place=place_of.get(each.number)) for each in block.operations
                ),
            )
            for block in function.blocks
        )
        functions[name] = replace(function, blocks=blocks)
    return replace(asked, functions=MappingProxyType(functions))


def _stays(operation: SourceOperation) -> bool:
    return operation.is_access or operation.kind is SourceKind.BARRIER


def with_lines(code: Assembly, numbered: Assembly) -> tuple[Assembly, dict[str, str]]:
    """``code`` with the ``.loc`` of a numbered copy of it; and the functions that differ, and why."""
    functions, problems = compiled_twice(code.functions, numbered.functions, _is_same, _with_lines)
    return Assembly(code.chip, functions), problems


def compiled_twice(
    functions: Mapping[str, AnyFunction],
    numbered: Mapping[str, AnyFunction],
    is_same: Callable[[AnyFunction, AnyFunction], bool],
    with_lines_of: Callable[[AnyFunction, AnyFunction], AnyFunction],
) -> tuple[Mapping[str, AnyFunction], dict[str, str]]:
    """``functions`` with the lines of their numbered copies; and those that differ, and why."""
    found: dict[str, AnyFunction] = {}
    problems: dict[str, str] = {}
    for name, function in functions.items():
        copy = numbered.get(name)
        if copy is None or not is_same(function, copy):
            problems[name] = "the compiler makes other code of it when instructions have lines"
            found[name] = function
            continue
        found[name] = with_lines_of(function, copy)
    return MappingProxyType(found), problems


def _with_lines(function: Function, copy: Function) -> Function:
    lines = iter(copy.instructions)
    body = tuple(
        replace(each, source=next(lines).source) if isinstance(each, AssemblyInstruction) else each
        for each in function.body
    )
    return replace(function, body=body)


def _is_same(a: Function, b: Function) -> bool:
    ours, theirs = a.instructions, b.instructions
    if len(ours) != len(theirs):
        return False
    return all(_plain(x.text) == _plain(y.text) for x, y in zip(ours, theirs, strict=True))


_TEMPORARY = re.compile(r"\.Ltmp\d+")


def _plain(text: str) -> str:
    """An instruction without the numbers of labels that debug information adds to."""
    return _TEMPORARY.sub(".Ltmp", text) if ".Ltmp" in text else text
