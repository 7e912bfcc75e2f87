"""The page of the museum: bugs of synchronisation that compilers and kernels have had.

An exhibit is a folder of ``tests/museum``: ``exhibit.toml`` says what it is about, ``wrong.s`` and
``right.s`` (or ``.ptx``) are its two forms, and ``source.ll`` what was asked for, where that is needed to know.
What fence-check says of them is printed as it is now.
"""

import contextlib
import difflib
import html
import io
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.tools import fence_check
from fencewright.tools.reports.markdown import markdown_table

ROOT = Path(__file__).resolve().parents[3] / "tests" / "museum"
FORMS = ("wrong", "right")


class Kind(FastStrEnum):
    """The kind of fault: missing or surplus synchronisation."""

    WRONG = "wrong"
    REDUNDANT = "redundant"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One exhibit. ``shown``: a counterexample comes with the finding. ``figure``: what it cost."""

    name: str
    kind: Kind
    title: str
    threads: tuple[str, ...]
    what: str
    bad_in: str
    rule: str
    level: str
    shown: bool = False
    figure: str = ""

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return ROOT / self.name

    @property
    def suffix(self) -> str:
        """The suffix of the names of its two forms."""
        return ".ptx" if (self.folder / "wrong.ptx").exists() else ".s"

    def code(self, form: str) -> str:
        """The text of a form."""
        return (self.folder / f"{form}{self.suffix}").read_text(encoding="utf-8")

    def options(self) -> tuple[str, ...]:
        """The options of fence-check, in the exhibit's folder."""
        source = ("--source", "source.ll") if (self.folder / "source.ll").exists() else ()
        kind = ("--surplus",) if self.kind is Kind.REDUNDANT else ()
        return (*source, *kind, *(("--notes",) if self.level == "note" and not kind else ()))


@dataclass(frozen=True, slots=True)
class Said:
    """The exit status of fence-check, and the lines that it printed."""

    status: int
    lines: tuple[str, ...]


def exhibits() -> tuple[Exhibit, ...]:
    """Every exhibit, by kind and name."""
    found = [_read(each.parent) for each in ROOT.glob("*/exhibit.toml")]
    return tuple(sorted(found, key=lambda each: (each.kind is Kind.REDUNDANT, each.name)))


def _read(folder: Path) -> Exhibit:
    data = tomllib.loads((folder / "exhibit.toml").read_text(encoding="utf-8"))
    threads, kind = tuple(data.pop("threads")), Kind(data.pop("kind"))
    what = data.pop("what").strip()
    return Exhibit(name=folder.name, kind=kind, threads=threads, what=what, **data)


@cache
def said_of(exhibit: Exhibit, form: str) -> Said:
    """The output of fence-check for a form."""
    here = os.getcwd()
    os.chdir(exhibit.folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            status = fence_check.main([*exhibit.options(), f"{form}{exhibit.suffix}"])
    finally:
        os.chdir(here)
    return Said(status, tuple(stream.getvalue().splitlines()))


def museum_parts() -> Mapping[str, str]:
    """The exhibits of docs/museum.md."""
    found = exhibits()
    rows = [
        (f"[{each.title}](#{_anchor(each.title)})", each.kind, f"`{each.rule}`", each.bad_in)
        for each in found
    ]
    table = markdown_table(("exhibit", "kind", "found as", "seen in"), rows)
    lines = (table, *(line for each in found for line in _section(each)))
    return {"exhibits": "\n".join(lines).rstrip("\n") + "\n"}


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _section(exhibit: Exhibit) -> Iterator[str]:
    yield f"\n## {exhibit.title}\n"
    yield exhibit.what
    threads = ", ".join(exhibit.threads)
    figure = f" {exhibit.figure[0].upper()}{exhibit.figure[1:]}." if exhibit.figure else ""
    yield f"\n{threads}; {exhibit.bad_in}.{figure} `tests/museum/{exhibit.name}`\n"
    yield "<pre>"
    yield from map(html.escape, _difference(exhibit))
    yield "</pre>\n"
    for line in said_of(exhibit, "wrong").lines:
        if f"[{exhibit.rule}]" in line or "on the machine" in line:
            said = line.partition(": ")[2].replace(": --counterexamples writes the test", "")
            yield f"> {html.escape(said, quote=False)}"


def _difference(exhibit: Exhibit) -> Iterator[str]:
    """The instructions of both forms, those that are missing or surplus marked."""
    wrong, right = (list(_instructions(exhibit.code(form))) for form in FORMS)
    for line in difflib.ndiff(wrong, right):
        if not line.startswith("?"):
            yield line.rstrip()


def _instructions(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = line.strip()
        if words.startswith((".LBB",)) or (line.startswith("\t") and not words.startswith(".")):
            yield words
