"""The termination of a program, in the words that every model has for it."""

from collections.abc import Iterable
from dataclasses import dataclass

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import FastStrEnum


@dataclass(frozen=True, slots=True)
class WaitingThread:
    """A thread that never ends: the instructions it repeats, and the values its loads read.

    No instructions: it waits at ``place`` for somebody who never comes.
    """

    thread: int
    instructions: tuple[str, ...]
    reads: tuple[tuple[str, int], ...]
    place: SourceLocation | None = None

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place is not None else ""
        if not self.instructions:
            return f"P{self.thread} waits for ever{at}"
        reads = " and ".join(f"{name}={value}" for name, value in self.reads)
        code = "; ".join(self.instructions)
        return f"P{self.thread}{at} repeats [{code}]" + (f" and reads {reads}" if reads else "")


@dataclass(frozen=True, slots=True)
class Hang:
    """A state where an execution stays for ever: the waiting threads, with details."""

    threads: tuple[WaitingThread, ...]
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((*map(str, self.threads), *(f"  {each}" for each in self.details)))


def not_written(location: str, still: Iterable[int]) -> str:
    """The reason that no write wakes waiters for a location; ``still``: the others that would write
    it later."""
    others = [f"P{thread}" for thread in still]
    if others:
        verb = "waits" if len(others) == 1 else "wait"
        return f"{' and '.join(others)} would write {location}, but {verb} as well"
    return f"nobody writes {location} from then on"


class Ending(FastStrEnum):
    """The termination of executions. MAY_HANG: some do not; NONE: there is none at all, an error of
    the test."""

    ALWAYS = "ends always"
    MAY_HANG = "may hang"
    NEVER = "never ends"
    NONE = "no execution"
    UNDECIDED = "not decided whether it always ends"


_MOST_HANGS = 4
"""The number of hangs that are reported; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The endings of the executions of a test; ``why`` names the open questions, if any: of a test
    that may hang, whether any execution ends.

    ``hangs`` are the executions that do not, each once. ``are_outcomes``: executions that wait for
    ever at a barrier are among the outcomes, so that a condition speaks of them too.
    """

    ending: Ending
    hangs: tuple[str, ...] = ()
    why: str = ""
    are_outcomes: bool = False

    @property
    def hangs_at_all(self) -> bool:
        """True if an execution was found that does not end."""
        return self.ending in (Ending.NEVER, Ending.MAY_HANG)

    @property
    def hangs_unseen(self) -> bool:
        """True if one was found that is not among the outcomes."""
        return self.hangs_at_all and not self.are_outcomes

    def lines(self) -> tuple[str, ...]:
        """The lines of reports: one for each hang, with its details below."""
        start = self.ending.capitalize()
        if self.why and not self.hangs:
            return (f"{start}: {self.why}",)
        if not self.hangs:
            return (start,)
        more = len(self.hangs) - _MOST_HANGS
        indented = [each.replace("\n", "\n  ") for each in self.hangs[:_MOST_HANGS]]
        shown = [f"{start}: {each}" for each in indented]
        if more > 0:
            shown.append(f"{start}: in {more} more ways")
        if self.why and self.ending is Ending.MAY_HANG:
            shown.append(f"Not decided whether an execution ends: {self.why}")
        return tuple(shown)


def hang_texts(hangs: Iterable[Hang]) -> tuple[str, ...]:
    """Hangs as text, in order; those of the same threads, doing and reading the same, once."""
    texts: dict[tuple[WaitingThread, ...], str] = {}
    for each in hangs:
        texts[each.threads] = min(str(each), texts.get(each.threads, str(each)))
    return tuple(sorted(texts.values()))
