"""Edits of the statements of a text, of any vendor's code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A statement in a text: its ``line`` and ``column``, from 1, and its ``text`` with its end."""

    line: int
    column: int
    text: str


class Action(Enum):
    """The kinds of edit of a statement."""

    BEFORE = "put before"
    AFTER = "put after"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit at a statement; ``text``: the statements that it puts there, a line each."""

    action: Action
    at: Spot
    text: str = ""


Repair = tuple[Edit, ...]
"""Edits that belong together; no two of one statement."""


def before(at: Spot, *statements: str) -> Edit:
    """The insertion of statements before one."""
    return Edit(Action.BEFORE, at, "\n".join(statements))


def after(at: Spot, *statements: str) -> Edit:
    """The insertion of statements after one."""
    return Edit(Action.AFTER, at, "\n".join(statements))


def replace(at: Spot, statement: str) -> Edit:
    """Another statement in the place of one."""
    return Edit(Action.REPLACE, at, statement)


def delete(at: Spot) -> Edit:
    """A statement left out; its line goes with it where nothing else is on it."""
    return Edit(Action.DELETE, at)


def edited(text: str, repair: Iterable[Edit]) -> str:
    """The text with the edits done. Raises ``ValueError`` where a statement is not at its spot."""
    lines = text.split("\n")
    for each in sorted(repair, key=lambda edit: edit.at, reverse=True):
        number = each.at.line - 1
        lines[number : number + 1] = _edited_line(lines[number], each)
    return "\n".join(lines)


def _edited_line(line: str, edit: Edit) -> Sequence[str]:
    begin = edit.at.column - 1
    end = begin + len(edit.at.text)
    if line[begin:end] != edit.at.text:
        raise ValueError(f"line {edit.at.line} has no '{edit.at.text}' at {edit.at.column}")
    head, tail = line[:begin], line[end:]
    indent = line[: len(line) - len(line.lstrip())]
    new = edit.text.split("\n")
    match edit.action:
        case Action.BEFORE:
            first = [f"{head}{new[0]}", *(f"{indent}{each}" for each in new[1:])]
            return [*first, f"{indent}{edit.at.text}{tail}"]
        case Action.AFTER:
            added = [f"{indent}{each}" for each in new]
            if _is_blank(tail):
                return [line, *added]
            return [f"{head}{edit.at.text}", *added, f"{indent}{tail.lstrip()}"]
        case Action.REPLACE:
            return [f"{head}{edit.text}{tail}"]
        case Action.DELETE:
            return [] if not head.strip() and _is_blank(tail) else [f"{head}{tail.lstrip()}"]


def _is_blank(tail: str) -> bool:
    """True of the rest of a line that has a comment at most."""
    rest = tail.strip()
    return not rest or rest.startswith(("//", ";"))


def moved(line: int, repair: Iterable[Edit]) -> int:
    """The line of the edited text that a statement of a line of the other is on."""
    grown = 0
    for each in repair:
        added = each.text.count("\n") + 1
        if (each.action is Action.BEFORE and each.at.line <= line) or (
            each.action is Action.AFTER and each.at.line < line
        ):
            grown += added
        elif each.action is Action.DELETE and each.at.line < line:
            grown -= 1
    return line + grown
