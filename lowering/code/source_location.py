"""Places in files, and errors in code that is read."""

from dataclasses import dataclass


class AssemblyError(ValueError):
    """Assembly that cannot be read: ``file:line: error: ..``, with what it is about."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a source file, by the number that ``.file`` gave it (``.loc``)."""

    file: int
    line: int
    column: int
