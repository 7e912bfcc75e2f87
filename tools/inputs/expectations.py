"""The ``expected-error {{...}}`` annotations of ``--verify-diagnostics``, as in mlir-opt."""

import re
from dataclasses import dataclass
from typing import Self

from fencewright.simulator.core.processes.time_limit import TooLong, limited
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError, error

_ANNOTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """One annotation: the expected text of a diagnostic, and its line (0: without a place)."""

    severity: Severity
    line: int
    pattern: re.Pattern[str]
    written: str
    at: int

    def matches(self, found: Diagnostic) -> bool:
        """True if ``found`` is the diagnostic that this annotation asks for."""
        return (
            found.severity is self.severity
            and found.line == self.line
            and self.pattern.search(found.message) is not None
        )


@dataclass(frozen=True, slots=True)
class Expectations:
    """All annotations of one input file."""

    file: str
    annotations: tuple[Expectation, ...]

    def __bool__(self) -> bool:
        return bool(self.annotations)

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """The annotations in ``text``, which is called ``file`` in messages.

        Raises :class:`ToolError` for a regular expression that is none.
        """
        if "expected-" not in text:
            return cls(file, ())
        lines = text.split("\n")
        annotated = {number for number, line in enumerate(lines, 1) if _ANNOTATION.search(line)}
        found: list[Expectation] = []
        for number in sorted(annotated):
            match = _ANNOTATION.search(lines[number - 1])
            assert match is not None
            written = match["text"]
            try:
                pattern = _regex(written) if match["regex"] else re.compile(re.escape(written))
            except re.error as problem:
                message = f"no regular expression: {problem}"
                place = Diagnostic(message, file, number, match.start("text") + 1)
                raise ToolError((place,)) from None
            found.append(
                Expectation(
                    Severity(match["severity"]),
                    _line_meant(match["where"], number, annotated),
                    pattern,
                    written,
                    number,
                )
            )
        return cls(file, tuple(found))

    def mismatches(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """One error per diagnostic, but remarks, not expected and per annotation without one.

        Raises :class:`ToolError` for a regular expression that is not matched in ``SECONDS``.
        """
        missing = list(self.annotations)
        wrong: list[Diagnostic] = []
        for diagnostic in found:
            match = next((each for each in missing if self._matches(each, diagnostic)), None)
            if match is not None:
                missing.remove(match)
                continue
            if diagnostic.severity is Severity.REMARK:
                # A pipeline remarks on everything: a test expects what it is about.
                continue
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            wrong.append(Diagnostic(message, diagnostic.file, diagnostic.line, diagnostic.column))
        for wanted in missing:
            message = f'expected {wanted.severity} "{wanted.written}" was not produced'
            wrong.append(Diagnostic(message, self.file, wanted.at, 1))
        return wrong

    def _matches(self, wanted: Expectation, found: Diagnostic) -> bool:
        try:
            with limited(SECONDS):
                return wanted.matches(found)
        except TooLong:
            message = (
                f"this regular expression takes more than {SECONDS:g} s to match: write one in "
                "which no repetition is inside another"
            )
            raise error(message, self.file, wanted.at, 1) from None


SECONDS = 2.0
"""The time to match one message; that (a+)+b does not match may take for ever to see."""


def _line_meant(where: str | None, number: int, annotated: set[int]) -> int:
    """The line that an annotation on line ``number`` speaks of."""
    match where:
        case None:
            return number
        case "unknown":
            return 0
        case "above" | "below":
            # Annotations in a row all speak of the same line of code.
            step = 1 if where == "below" else -1
            line = number + step
            while line in annotated:
                line += step
            return line
        case offset:
            return number + int(offset)


def _regex(written: str) -> re.Pattern[str]:
    """The pattern of an ``expected-error-re``: plain text with regular expressions in ``{{}}``."""
    parts = re.split(r"\{\{(.*?)\}\}", written)
    return re.compile("".join(p if i % 2 else re.escape(p) for i, p in enumerate(parts)))
