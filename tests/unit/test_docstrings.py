"""Docstrings begin with a noun or a verb, never with a question word."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("checker", "lowering", "mlir_dialects", "passes", "simulator", "tools")

LEFT: Mapping[str, int] = MappingProxyType(
    {
        # Descriptions that ``--help`` prints.
        "tools/dev/campaigns/own_code.py": 1,
        "tools/dev/campaigns/triton_texts.py": 1,
    }
)
"""Docstrings that still begin so, by file; a number here may only fall."""

_QUESTION = re.compile(
    r"\s*(how|what|whatever|when|where|whether|which|whichever|who|whose|why)\b", re.IGNORECASE
)


_MAY_BE = re.compile(rf'"""{_QUESTION.pattern}', re.IGNORECASE)
"""Sources without a match need not be parsed, which takes most of the time."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Lines and texts of docstrings, those after variables and fields among them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    text = statement.value.value
                    if isinstance(text, str):
                        yield statement.lineno, text


def questions(source: str) -> list[str]:
    """The docstrings that begin with a question word, as ``line: text``."""
    if not _MAY_BE.search(source):
        return []
    return [
        f"{line}: {text.strip().splitlines()[0]}"
        for line, text in docstrings(source)
        if _QUESTION.match(text)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_docstring_begins_with_a_noun_or_a_verb(room: str) -> None:
    found = {
        str(path.relative_to(ROOT)): questions(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / room).rglob("*.py"))
    }
    assert found
    allowed = {file: number for file, number in LEFT.items() if file.startswith(f"{room}/")}
    more = {f: each for f, each in found.items() if len(each) > allowed.get(f, 0)}
    assert not more, "begin these with a noun or a verb: 'True if ..', 'The number of ..'"
    fewer = {f: len(found.get(f, ())) for f, n in allowed.items() if len(found.get(f, ())) < n}
    assert not fewer, "there are fewer now: lower their numbers in LEFT, or take them out"


@pytest.mark.parametrize(
    "source",
    [
        '"""Whether it holds."""',
        'def f() -> None:\n    """What a wait leaves."""',
        'class C:\n    """How often it runs."""',
        'class C:\n    x: int = 0\n    """Where it lies."""',
        'X = 1\n"""Which of them it is."""',
        'async def f() -> None:\n    """\n    Why it ends.\n    """',
    ],
)
def test_question_words_are_found(source: str) -> None:
    assert len(questions(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""True if it holds, whether or not it is asked."""',
        'def f() -> str:\n    """Whatsoever."""\n    return """What is a string."""',
        "# What a comment says.",
    ],
)
def test_other_texts_are_not_found(source: str) -> None:
    assert not questions(source)
