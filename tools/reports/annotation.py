"""Assembly with the purposes of its synchronisation: text with comments, and one HTML page."""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.lowering.vocabulary import FastStrEnum


class NoteKind(FastStrEnum):
    """The content of a note: a purpose of an instruction, a surplus, or a fault."""

    PURPOSE = "purpose"
    SURPLUS = "surplus"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


_WRONG = (NoteKind.ERROR, NoteKind.WARNING, NoteKind.NOTE)
"""The kinds of findings, the worst first."""


@dataclass(frozen=True, slots=True)
class Note:
    """The remark on a line. ``about``: the other lines that it concerns.

    ``place``: the author's line, where that is known.
    """

    line: int
    kind: NoteKind
    text: str
    about: tuple[int, ...] = ()
    place: str = ""

    def __str__(self) -> str:
        return self.text if self.kind is NoteKind.PURPOSE else f"{self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class AnnotatedCode:
    """The text of a file with notes. ``comment``: begins a comment; ``summary``: a line."""

    file: str
    lines: Sequence[str]
    notes: Sequence[Note]
    comment: str
    summary: str

    def by_line(self) -> Mapping[int, list[Note]]:
        """The notes of each line that has some."""
        found: dict[int, list[Note]] = {}
        for each in self.notes:
            found.setdefault(each.line, []).append(each)
        return found


_COLUMN = 56
"""The column at which comments begin, if the line is not longer."""


def annotated_text(code: AnnotatedCode) -> Iterator[str]:
    """The lines, each note as a comment: the first beside its instruction, others below it."""
    notes = code.by_line()
    for number, line in enumerate(code.lines, 1):
        first, *others = [*notes.get(number, ()), None]
        if first is None:
            yield line
            continue
        width = len(line.expandtabs(8))
        yield f"{line}{' ' * max(1, _COLUMN - width)}{code.comment} {first}"
        for each in others:
            if each is not None:
                yield f"{' ' * _COLUMN}{code.comment} {each}"


_STYLE = """\
:root { color-scheme: light dark; --line: #8884; --purpose: #2a7ae2; --surplus: #8a8a8a;
  --note: #8a8a8a; --warning: #c77700; --error: #d02020; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 0.8rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.15rem; overflow-wrap: anywhere; }
ol { list-style: none; margin: 0; padding: 0; font: 13px/1.5 ui-monospace, monospace; }
ol > li { display: grid; grid-template-columns: 3.2rem 1fr; scroll-margin-top: 30vh; }
li:target { background: #fc03; }
ol > li > a { color: inherit; opacity: 0.5; text-align: right; padding-right: 0.8rem;
  text-decoration: none; user-select: none; }
code { white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; font: inherit; }
p { margin: 0.1rem 0 0.4rem; padding: 0.15rem 0.5rem; border-left: 4px solid var(--purpose);
  font: 14px/1.4 system-ui, sans-serif; overflow-wrap: anywhere; }
p a { color: inherit; }
.surplus { border-color: var(--surplus); } .note { border-color: var(--note); }
.warning { border-color: var(--warning); } .error { border-color: var(--error); }
.surplus b { color: var(--surplus); } .warning b { color: var(--warning); }
.error b { color: var(--error); }
ul { list-style: none; margin: 0 0 0.8rem; padding: 0; }
"""


def annotated_page(code: AnnotatedCode) -> Iterator[str]:
    """One page with everything in it: no scripts, nothing that is loaded."""
    title = html.escape(code.file)
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>\n{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1><p>{html.escape(code.summary)}</p>"
    yield from _findings(code)
    yield "<ol>"
    notes = code.by_line()
    for number, line in enumerate(code.lines, 1):
        said = "".join(_paragraph(each) for each in notes.get(number, ()))
        text = html.escape(line) or "&nbsp;"
        yield (
            f'<li id="L{number}"><a href="#L{number}">{number}</a>'
            f"<div><code>{text}</code>{said}</div></li>"
        )
    yield "</ol></body></html>"


def _findings(code: AnnotatedCode) -> Iterator[str]:
    """The list of what is wrong, the worst first, each a link to its line."""
    found = [each for each in code.notes if each.kind in _WRONG]
    if not found:
        return
    yield "<ul>"
    for each in sorted(found, key=lambda each: (_WRONG.index(each.kind), each.line)):
        at, text = each.place or f"line {each.line}", html.escape(each.text)
        kind = f"<b>{each.kind}</b>"
        link = f'<a href="#L{each.line}">{html.escape(at)}</a>'
        yield f'<li class="{each.kind}"><p class="{each.kind}">{link} {kind} {text}</p></li>'
    yield "</ul>"


def _paragraph(note: Note) -> str:
    kind = "" if note.kind is NoteKind.PURPOSE else f"<b>{note.kind}</b> "
    links = " ".join(f'<a href="#L{line}">{line}</a>' for line in note.about)
    about = f" &rarr; {links}" if links else ""
    return f'<p class="{note.kind}">{kind}{html.escape(note.text)}{about}</p>'
