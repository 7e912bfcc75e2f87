"""The prose of the documentation: terms in place of everyday verbs, and no longer than it is."""

import re
from pathlib import Path

import pytest

from fencewright.tools.dev.pages.words import main, prose_of, words_of

DOCS = Path(__file__).parents[2] / "docs"

MOST = 54_500
"""Words of prose below docs. A page that grows needs another one that shrinks."""

GLOSSARY = {
    r"behind": "after; before; an owner by name",
    r"goes|goes on|let(?:s)? \w+ go|(?:can|may) go": "is removed; continues; passes",
    r"hand(?:s|ed)? on": "propagates; transfers",
    r"late": "pending",
    r"mend(?:s|ed)?": "fix; correct",
    r"of what": "the noun",
    r"owe[sd]?|owing": "required; the obligation of",
    r"stands?(?! for)|stood": "is; precedes; follows",
    r"takes? in|taken in": "reads; acquires",
    r"told": "reported; signalled; distinguished",
}
"""Everyday words, as expressions, and the terms in their place."""

_EVERYDAY = re.compile(rf"\b(?:{'|'.join(GLOSSARY)})\b", re.IGNORECASE)
_CODE_OR_LINK = re.compile(r"`[^`\n]+`|\]\([^)]*\)")


def everyday_words(page: Path) -> list[str]:
    """The everyday words in the prose of a page, outside code and the targets of links."""
    text = prose_of(page)
    return _EVERYDAY.findall(_CODE_OR_LINK.sub("", text))


ROOT_PAGES = ("../README.md", "../CONTRIBUTING.md", "../SECURITY.md")


@pytest.mark.parametrize("name", [*sorted(words_of(DOCS)), *ROOT_PAGES])
def test_a_page_has_terms_and_no_everyday_words(name: str) -> None:
    assert everyday_words(DOCS / name) == []


def test_the_prose_is_no_longer_than_it_was() -> None:
    total = sum(words_of(DOCS).values())
    assert total <= MOST


def written(folder: Path, text: str) -> Path:
    page = folder / "x.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    "text",
    [
        "The wait goes, and what is owed stands.\n",
        "| a | b |\n| --- | --- |\n| nobody is told | late |\n",
        "- A list of what\n  lies behind.\n",
    ],
)
def test_an_everyday_word_is_found(tmp_path: Path, text: str) -> None:
    assert len(everyday_words(written(tmp_path, text))) > 1


@pytest.mark.parametrize(
    "text",
    [
        "`told` [page](told.md) stands for it.\n",
        "```console\n$ cat\ntold\n```\n",
        "<pre>\ntold\n</pre>\n> told\n\n    told\n",
        "<!-- Written by `make x` -->\n| told |\n",
        "<!-- begin: gpu -->\n\n| told |\n\n<!-- end -->\n",
    ],
)
def test_quoted_and_generated_text_is_no_prose(tmp_path: Path, text: str) -> None:
    page = written(tmp_path, text)
    assert everyday_words(page) == []
    assert words_of(tmp_path)["x.md"] <= 5


def test_words_are_counted_page_by_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "t.md").write_text("<!-- Written by `make docs` -->\n\nsix\n")
    written(tmp_path, "two words\n")
    (tmp_path / "y.md").write_text("one\n\n```sh\nls\n```\n\n| three | |\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["2", "x.md", "2", "y.md", "4"]
