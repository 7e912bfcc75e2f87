"""The search for the smallest repair of a finding that a second judgement of the code accepts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fencewright.checker.findings.finding import DIVERGENT_BARRIER, SURPLUS, Level, VerdictKind
from fencewright.checker.repair.edits import Action, Repair, edited, moved

_MOST_TRIED = 48
"""Candidates of one finding that are judged, each in up to seconds: the museum needs at most 44."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding, as the search compares them: its place in the text, and what it is.

    ``part``: as ``Finding`` has it.
    """

    rule: str
    function: str
    line: int
    level: Level
    about: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of a function: its verdict, and the reasons not to judge pairs of accesses."""

    kind: VerdictKind
    obstacles: tuple[str, ...] = ()

    def holds(self, other: "Proof") -> bool:
        """True where what ``other`` proves is proved, too.

        Where that is not judged, its reasons may change, for one may hide others; but a barrier to
        which not all threads come is no repair. A race under a condition may only be one that an
        execution has shown: not to judge it any more is no repair.
        """
        if other.kind is VerdictKind.RACE_FREE:
            return self.kind is VerdictKind.RACE_FREE
        if other.kind is VerdictKind.LAUNCH and self.kind is VerdictKind.NOT_JUDGED:
            return False
        more = Counter(self.obstacles) - Counter(other.obstacles)
        if other.kind is VerdictKind.NOT_JUDGED:
            return DIVERGENT_BARRIER not in more
        return not more


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings of a text, of every level, and the proofs of its functions by their names."""

    faults: tuple[Fault, ...]
    proofs: Mapping[str, Proof] = field(default_factory=dict[str, Proof])

    def keeps(self, other: "Judgement") -> bool:
        """True where no function is proved less than in ``other``."""
        return all(
            name in self.proofs and self.proofs[name].holds(proof)
            for name, proof in other.proofs.items()
        )

    def of(self, function: str) -> "Judgement":
        """The part of it that is about one function."""
        faults = tuple(each for each in self.faults if each.function == function)
        return Judgement(
            faults, {name: proof for name, proof in self.proofs.items() if name == function}
        )

    def kinds(self, *, notes: bool) -> Counter[tuple[str, str]]:
        """The number of findings of each rule in each function; with ``notes`` or without."""
        faults = (each for each in self.faults if notes or each.level is not Level.NOTE)
        return Counter((each.rule, each.function) for each in faults)


Judge = Callable[[str, str], Judgement | None]
"""Judges a function of a text; None where that cannot be read."""


@dataclass(frozen=True, slots=True)
class Found:
    """The repair of a finding, None if none was found; the number of candidates that were judged,
    and whether others are left."""

    repair: Repair | None
    tried: int
    is_cut: bool = False


def repair_of(
    text: str, fault: Fault, judged: Judgement, candidates: Iterable[Repair], judge: Judge
) -> Found:
    """The first of the candidates, the smallest first, that ends a finding and does no harm."""
    judged = judged.of(fault.function)
    tried: set[str] = {text}

    def right(repair: Repair, new: str) -> Judgement | None:
        again = judge(new, fault.function)
        return again if again is not None and ends(fault, repair, judged, again) else None

    for repair in candidates:
        try:
            new = edited(text, repair)
        except ValueError:
            # A statement that is not written as it was decoded, as one of a macro.
            continue
        if new in tried:
            continue
        if len(tried) > _MOST_TRIED:
            return Found(None, _MOST_TRIED, is_cut=True)
        tried.add(new)
        if (again := right(repair, new)) is not None:

            def is_as_good(less: Repair, whole: Judgement = again) -> bool:
                made = right(less, edited(text, less))
                return made is not None and not made.kinds(notes=True) - whole.kinds(notes=True)

            return Found(_smallest(repair, is_as_good), len(tried) - 1)
    return Found(None, len(tried) - 1)


_MOST_NEEDED = 2
"""Edits of a repair that are made for each other: a signal and its read."""


def _smallest(repair: Repair, is_as_good: Callable[[Repair], bool]) -> Repair:
    """The repair without the edits that it does not need."""
    if any(each.action is Action.DELETE for each in repair):
        # Its edits are one change: an update loses its load, for instance.
        return repair
    for edit in repair:
        less = tuple(each for each in repair if each is not edit)
        if len(repair) > _MOST_NEEDED and is_as_good(less):
            repair = less
    return repair


def ends(fault: Fault, repair: Repair, judged: Judgement, again: Judgement) -> bool:
    """True where a repair ends a finding: it is gone, none is new, and what was proved still is.

    A race hides the notes about what only a launch decides: those may be new where it is gone.
    """
    if not again.keeps(judged):
        return False
    notes = fault.level is Level.NOTE
    old, new = judged.kinds(notes=notes), again.kinds(notes=notes)
    if any(rule not in SURPLUS for rule, _ in new - old):
        return False
    goes = fault.part or all(each.action is Action.DELETE for each in repair)
    if fault.rule in SURPLUS and goes:
        # What is gone may make something else surplus, even at the line that takes its place.
        return True
    key = (fault.rule, fault.function)
    line = moved(fault.line, repair)
    return new[key] < old[key] and _at(again, fault, line) < _at(judged, fault, fault.line)


def _at(judged: Judgement, fault: Fault, line: int) -> int:
    """The number of findings of its rule at a line."""
    return sum(each.rule == fault.rule and each.line == line for each in judged.faults)
