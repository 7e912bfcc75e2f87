"""The evidence for a figure of hardware, which rows of measurements carry beside their value."""

from dataclasses import dataclass
from functools import cached_property

from fencewright.lowering.vocabulary import FastStrEnum


class Evidence(FastStrEnum):
    """The origin of knowledge of hardware; the strongest first.

    ``MEASURED``: on hardware, by the named source. ``DOCUMENTED``: its vendor or LLVM says so.
    ``INFERRED``: it follows from what is known of other chips or instructions; not proven.
    """

    MEASURED = "measured"
    DOCUMENTED = "documented"
    INFERRED = "inferred"

    @cached_property
    def rank(self) -> int:
        """0 for the strongest."""
        return tuple(Evidence).index(self)

    def weaker(self, other: "Evidence") -> "Evidence":
        """The weaker of two: a conclusion from both has no better evidence."""
        return other if other.rank > self.rank else self


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, or the range from ``low`` to ``high`` that sources disagree in, and its source."""

    low: float
    high: float
    evidence: Evidence
    source: str

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


def measured(source: str, low: float, high: float | None = None) -> Figure:
    """A figure that ``source`` measured."""
    return Figure(low, low if high is None else high, Evidence.MEASURED, source)


def documented(source: str, low: float, high: float | None = None) -> Figure:
    """A figure that a vendor's ``source`` states."""
    return Figure(low, low if high is None else high, Evidence.DOCUMENTED, source)


def inferred(source: str, low: float, high: float | None = None) -> Figure:
    """A figure that follows from the statement of ``source`` about something else."""
    return Figure(low, low if high is None else high, Evidence.INFERRED, source)
