"""Places in files, and errors in code that is read."""

from dataclasses import dataclass


class AssemblyError(ValueError):
    """Assembly that cannot be read: ``file:line: error: ..``, with what it is about."""


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A place in a file; ``line`` and ``column`` count from 1, a column that is not known is 0.

    Prints as messages name it.
    """

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a source file, by the number that ``.file`` gave it (``.loc``)."""

    file: int
    line: int
    column: int
