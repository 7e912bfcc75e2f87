"""The share of the inline PTX of a folder of CUDA headers that is understood, by kind.

``python -m fencewright.tools.dev.campaigns.inline_ptx FOLDER..`` reads every ``asm`` text of C++
and CUDA files; with ``--opaque`` it prints those that are not understood. A text with a macro in it
cannot be read, and is counted apart.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.inline import from_gcc, read
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    CONTROL,
    PROXY_FENCES,
    SILENT,
    SYNCHRONISING,
    Statement,
)

_SUFFIXES = {".h", ".hpp", ".cuh", ".cu", ".inl", ".inc", ".cpp"}
_ASM = re.compile(r"\basm\s*(?:__volatile__|volatile)?\s*\(")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SPACE = re.compile(r"\s*(?://[^\n]*\n\s*|/\*.*?\*/\s*|\\\n\s*)*", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}
_OPERANDS = ",".join(["r"] * 1000)
"""Constraints of more operands than any text has."""

_KINDS: Mapping[str, frozenset[Kind]] = {
    "tensor": frozenset({Kind.TENSOR}),
    "wait": frozenset({Kind.WAIT}),
    "async": frozenset({Kind.COPY}),
    "strong": SYNCHRONISING,
    "memory": ACCESSES,
    "control": CONTROL,
    "none": SILENT,
}
"""The kinds that are counted together. A text is of the first that one of its statements is of."""
_NOT_UNDERSTOOD = "not understood"


def texts_of(source: str) -> Iterator[str | None]:
    """The templates of a file's ``asm`` statements; None for one that a macro is part of."""
    for found in _ASM.finditer(source):
        at, template = found.end(), ""
        while True:
            space = _SPACE.match(source, at)
            assert space is not None
            at = space.end()
            string = _STRING.match(source, at)
            if string is None:
                break
            template += re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), string[1])
            at = string.end()
        yield template if source[at : at + 1] in (":", ")") else None


def kind_of(template: str) -> str:
    """The effect of a text on other threads, as a word of the table in docs/checker-ptx.md."""
    statements = read(from_gcc(template), _OPERANDS)
    if statements is None:
        return _NOT_UNDERSTOOD
    names = {_name(each) for each in statements}
    return next((each for each in ("tensor", "proxy", *_KINDS) if each in names), "none")


def _name(statement: Statement) -> str:
    if statement.operation in PROXY_FENCES:
        return "proxy"
    if statement.kind in ACCESSES and statement.is_strong:
        return "strong"
    return next(name for name, kinds in _KINDS.items() if statement.kind in kinds)


def main(arguments: list[str]) -> int:
    """Print a line for each folder."""
    shown = "--opaque" in arguments
    for folder in (each for each in arguments if each != "--opaque"):
        texts = Counter[str | None]()
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in _SUFFIXES or (path.is_file() and not path.suffix):
                texts.update(texts_of(path.read_text(errors="replace")))
        macros = texts.pop(None, 0)
        kinds = {text: kind_of(text) for text in texts if text is not None}
        count = Counter(kinds.values())
        opaque = [text for text, kind in kinds.items() if kind == _NOT_UNDERSTOOD]
        share = 100 * (1 - len(opaque) / max(len(kinds), 1))
        said = ", ".join(f"{kind} {number}" for kind, number in sorted(count.items()))
        print(
            f"{folder}: {len(kinds)} texts, {texts.total()} uses: {said}; understood {share:.1f} %"
        )
        print(f"  and {macros} uses that a macro is part of")
        if shown:
            print(*(f"  {text!r}" for text in opaque), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
