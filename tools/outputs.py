"""Outputs in the place of inputs, or of each other, refused before anything is done."""

import os
from collections.abc import Iterable, Mapping

from fencewright.tools.diagnostics import error

Path = str | os.PathLike[str]


def check_outputs(
    tool: str, outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]
) -> None:
    """Raise ``ToolError`` where an output of a tool is an input or another output, by any name.

    ``outputs`` are named by their flags. ``-`` and devices, which nothing loses, may be several.
    """
    named = {flag: path for flag, path in outputs.items() if path is not None and _is_file(path)}
    read = [path for path in inputs if path is not None and os.path.isfile(path)]
    for flag, path in named.items():
        if any(_is_same(path, each) for each in read):
            raise error(f"{flag} would overwrite an input; name another file", os.fspath(path))
    flags = list(named)
    for number, flag in enumerate(flags):
        for other in flags[:number]:
            if _is_same(named[flag], named[other]):
                raise error(f"{other} and {flag} name one file", tool)


def check_folders(outputs: Iterable[Path | None]) -> None:
    """Raise ``ToolError`` for an output that is a folder, or without one to be written in."""
    for path in filter(None, outputs):
        if os.path.isdir(path):
            raise error("a folder, where a file is expected", os.fspath(path))
        folder = os.fspath(os.path.dirname(path)) or "."
        if not os.path.isdir(folder):
            raise error(f"there is no folder '{folder}' to write it in", os.fspath(path))


def _is_file(path: Path) -> bool:
    """True of a path that names a regular file, or nothing yet."""
    return os.fspath(path) != "-" and (os.path.isfile(path) or not os.path.exists(path))


def _is_same(one: Path, other: Path) -> bool:
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
