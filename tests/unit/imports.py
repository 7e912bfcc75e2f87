"""The modules that the files of this repository import; each file is parsed once in a process."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported_modules(source: str) -> Iterator[str]:
    """The full name of every module or name that ``source`` imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


@cache
def imports_of(path: str) -> tuple[str, ...]:
    """Those of a file of the repository."""
    return tuple(imported_modules((ROOT / path).read_text(encoding="utf-8")))
