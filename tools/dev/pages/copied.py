"""The text that the copy button of a code block takes: without prompts and output."""

import doctest
import html
import re
from pathlib import Path

from fencewright.tools.dev.pages.doc_examples import Example

_BLOCK = re.compile(
    r'<div class="language-(?P<language>\w+) highlight">(?P<body><pre>.*?</pre>)</div>', re.DOTALL
)
_TAG = re.compile(r"<[^>]*>")


def with_copies(page: str) -> str:
    """A built page whose sessions name in ``data-copy`` the text of Material's copy button."""

    def copying(block: re.Match[str]) -> str:
        text = html.unescape(_TAG.sub("", block["body"]))
        typed = typed_in(block["language"], text)
        if typed is None:
            return block[0]
        copy = html.escape(typed).replace("\n", "&#10;")
        begin, end = block[0].split(">", 1)
        return f'{begin} data-copy="{copy}">{end}'

    return _BLOCK.sub(copying, page)


def typed_in(language: str, text: str) -> str | None:
    """The commands that a reader types in the session ``text``; None where it is no session.

    A ``console`` has commands after ``$``, which go on after a backslash; ``python`` statements
    after ``>>>``.
    """
    if language == "python":
        found = doctest.DocTestParser().get_examples(text)
        return "".join(each.source for each in found).rstrip("\n") if found else None
    if language != "console":
        return None
    example = Example(Path("page"), 1, language, tuple(text.rstrip("\n").split("\n")), {})
    return "\n".join(example.commands())
