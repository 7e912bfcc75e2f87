"""The author's lines of a code object, as its DWARF has them: llvm-symbolizer reads it."""

import json
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencewright.lowering.code.source_location import SourceLine
from fencewright.tools.llvm_tools import find_llvm_tool

_LINES = b".debug_line\0"
"""The name of the section that has lines, in the table of names of sections."""

_MOST_SECONDS = 60
"""The time for one object, whose DWARF nobody has checked."""


def lines_of_object(
    content: bytes, addresses: Collection[int]
) -> tuple[Mapping[int, SourceLine], Mapping[int, str]]:
    """The places that code at ``addresses`` was compiled from, and the files by their numbers.

    Empty for an object without line numbers, and where llvm-symbolizer is missing or fails: the
    code can be checked without them. Source: LLVM Command Guide, llvm-symbolizer: with its JSON
    output the frames of an address begin with the innermost.
    """
    symbolizer = find_llvm_tool("llvm-symbolizer") if _LINES in content else None
    if symbolizer is None or not addresses:
        return {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "object")
        path.write_bytes(content)
        try:
            done = subprocess.run(
                [symbolizer, f"--obj={path}", "--output-style=JSON", "--inlines"],
                input="".join(f"{address:#x}\n" for address in addresses),
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=_MOST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return {}, {}
    if done.returncode:
        return {}, {}
    numbers: dict[str, int] = {}
    lines = {
        int(answer["Address"], 16): line
        for answer in map(json.loads, done.stdout.splitlines())
        if (line := _line(answer.get("Symbol", ()), numbers)) is not None
    }
    return lines, {number: file for file, number in numbers.items()}


def _line(frames: Sequence[Mapping[str, Any]], numbers: dict[str, int]) -> SourceLine | None:
    """The place of the innermost frame, in the place of the calls around it."""
    line: SourceLine | None = None
    for frame in reversed(frames):
        if not frame["FileName"]:
            continue
        file = numbers.setdefault(frame["FileName"], len(numbers) + 1)
        line = SourceLine(file, frame["Line"], frame["Column"], line)
    return line
