"""The patterns of ``examples/patterns`` in the PTX model: as lowered, and with each order taken
away."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fencewright.lowering.ptx.code.statements import opcode_of
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.passes.options import OptLevel
from fencewright.simulator.core.condition import Outcomes, Quantifier
from fencewright.simulator.litmus_run import Limits, PtxTest, run
from fencewright.simulator.ptx.formats.columns import parse_litmus, write_litmus
from fencewright.tools.inputs.litmus.lowered import Lowering, read

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "patterns"
"""The folder of the patterns."""

LIMITS = Limits(bound=2)

_CHIP = re.compile(r"^// fence-sim run --mcpu (\S+)", re.MULTILINE)


class Change(FastStrEnum):
    """The change to an instruction."""

    REMOVED = "removed"
    RELAXED = "relaxed"
    READ = "sources only"


class Verdict(FastStrEnum):
    """The verdict on a pattern."""

    HOLDS = "holds"
    FAILS = "fails"
    HANGS = "hangs"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A test of a file, lowered for its chip."""

    file: str
    chip: str
    test: PtxTest

    @property
    def name(self) -> str:
        """The test's name."""
        return self.test.name

    @property
    def shows_a_fault(self) -> bool:
        """True if its purpose is to show a fault."""
        return self.test.condition.quantifier is Quantifier.EXISTS

    @property
    def text(self) -> str:
        """The program in columns."""
        return write_litmus(self.test.test)


@dataclass(frozen=True, slots=True)
class Weakened:
    """A pattern with an instruction ``removed``, or made weaker, in some threads."""

    pattern: Pattern
    threads: tuple[int, ...]
    instruction: str
    number: int
    change: Change
    test: PtxTest

    @property
    def key(self) -> tuple[str, str, Change]:
        """Its key: the test, the instruction, and the change."""
        return self.pattern.name, self.instruction, self.change

    @property
    def words(self) -> str:
        """The change in words, for a table of several of one test."""
        which = f", number {self.number + 1}" if self.number else ""
        threads = ", ".join(f"P{n}" for n in self.threads)
        return f"`{self.instruction}`{which} of {threads} {self.change}"


@dataclass(frozen=True, slots=True)
class Result:
    """A verdict, and the evidence if it does not hold: an outcome, or an undefined value."""

    verdict: Verdict
    shown: str = ""


def patterns(folder: Path = FOLDER) -> Iterator[Pattern]:
    """Every pattern, by file."""
    for path in sorted(folder.glob("*.mlir")):
        yield from patterns_of(path)


def patterns_of(path: Path, opt_level: OptLevel = 2) -> Iterator[Pattern]:
    """The patterns of one file, lowered for the chip that its first lines name."""
    match = _CHIP.search(path.read_text(encoding="utf-8"))
    assert match is not None, path
    for test in read(str(path), Lowering(match[1], opt_level=opt_level)):
        assert isinstance(test, PtxTest), test.name
        yield Pattern(path.name, match[1], replace(test, source=None))


def judged(pattern: Pattern, test: PtxTest) -> Result:
    """The result of a test; a lowered one shows nothing of executions not followed."""
    found = run(test, LIMITS)
    assert found.outcomes is not None
    if pattern.shows_a_fault:
        holds = test.condition.verdict(found.outcomes)
        return Result(Verdict.HOLDS if holds else Verdict.FAILS)
    result = _judged(test, found.outcomes)
    undefined = result.verdict is Verdict.HOLDS and found.errors
    return Result(Verdict.FAILS, found.errors[0]) if undefined else result


def _judged(test: PtxTest, outcomes: Outcomes) -> Result:
    names = sorted(map(str, test.condition.formula.observables()))
    hangs = ""
    for state in outcomes.as_mappings():
        written = {str(name): value for name, value in state.items()}
        shown = " ".join(
            f"{name}={'-' if written[name] is None else written[name]}" for name in names
        )
        if any(written[name] is None for name in names):
            hangs = shown
        elif not test.condition.formula.holds(state):
            return Result(Verdict.FAILS, shown)
    return Result(Verdict.HANGS, hangs) if hangs else Result(Verdict.HOLDS)


# Taking order away

_ORDERS = (
    "fence", "bar.cta", "barrier", "mbarrier.try_wait", "mbarrier.test_wait", "wgmma.fence",
    "wgmma.commit_group", "wgmma.wait_group", "tcgen05.fence", "tcgen05.wait",
    "cp.async.commit_group",
    "cp.async.wait_group", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
)  # fmt: skip
"""The beginnings of instructions that only order others."""

_RELAXED: Mapping[str, str] = {"acquire": "relaxed", "release": "relaxed"}
_ORDERED = frozenset(
    {"barrier cluster wait", "st async", "st async release", "red async", "red async release"}
)
"""The operations, besides fences and those on tensor maps, that have no relaxed form."""


def weakenings(pattern: Pattern) -> Iterator[Weakened]:
    """The pattern with each of its orders taken away."""
    head, cells, condition = _table(pattern.text)
    for place in _orders(cells):
        for change, instead in _instead(place.instruction):
            changed = [list(row) for row in cells]
            removed = place.waits if change is Change.REMOVED else ()
            for thread, row in (*place.cells, *removed):
                changed[row][thread] = instead
            rows = [f" {' | '.join(row)} ;" for row in changed]
            test = parse_litmus("\n".join((*head, *rows, condition)) + "\n")
            threads = tuple(dict.fromkeys(thread for thread, _ in place.cells))
            weaker = replace(pattern.test, test=test)
            yield Weakened(pattern, threads, place.instruction, place.number, change, weaker)


@dataclass(frozen=True, slots=True)
class _Order:
    """An instruction and the ``cells``, thread and row, that it stands in.

    ``number`` tells equal ones of a thread apart. ``waits`` are those of the waits that belong to
    an arrival at a barrier of the cluster: they go with it.
    """

    instruction: str
    number: int
    cells: tuple[tuple[int, int], ...]
    waits: tuple[tuple[int, int], ...] = ()


def _table(text: str) -> tuple[list[str], list[list[str]], str]:
    """The lines before the instructions, the cells, and the condition."""
    lines = text.rstrip().splitlines()
    start = lines.index("}") + 2
    cells = [[cell.strip() for cell in line.rstrip(" ;").split("|")] for line in lines[start:-1]]
    return lines[:start], cells, lines[-1]


_ARRIVE, _WAIT, _BARRIER = "barrier.cluster.arrive", "barrier.cluster.wait", "bar.cta.sync 0, 0"


def _orders(cells: list[list[str]]) -> Iterator[_Order]:
    """The instructions weakened together: barriers in all threads, all others where they stand."""
    columns = [[row[thread] for row in cells] for thread in range(len(cells[0]))]
    for thread, column in enumerate(columns):
        seen = Counter[str]()
        for row, text in enumerate(column):
            if not text or text.endswith(":") or text.startswith((_ARRIVE, _WAIT, _BARRIER)):
                continue
            if text.startswith(_ORDERS) or _relaxed(text) is not None:
                yield _Order(text, seen[text], ((thread, row),))
            seen[text] += 1
    yield from _barriers(columns)


def _barriers(columns: list[list[str]]) -> Iterator[_Order]:
    """The n-th barriers of all threads."""
    for first in (_BARRIER, _ARRIVE):
        rows = [
            [n for n, text in enumerate(column) if text.startswith(first)] for column in columns
        ]
        waits = [
            [n for n, text in enumerate(column) if text.startswith(_WAIT)] for column in columns
        ]
        for number in range(max(map(len, rows))):
            places = tuple((t, each[number]) for t, each in enumerate(rows) if number < len(each))
            thread, row = places[0]
            after = () if first is _BARRIER else tuple((t, waits[t][number]) for t, _ in places)
            yield _Order(columns[thread][row], number, places, after)


def _instead(text: str) -> Iterator[tuple[Change, str]]:
    if text.startswith(_ORDERS):
        yield Change.REMOVED, ""
    relaxed = _relaxed(text)
    if relaxed is not None:
        yield Change.RELAXED, relaxed
    if text.startswith("cp.async.bulk.wait_group "):
        yield Change.READ, text.replace("wait_group", "wait_group.read")


def _relaxed(text: str) -> str | None:
    """The instruction with no ordering; None if it has none, or there is no such form."""
    opcode = opcode_of(text)
    if opcode.head in ("fence", "tensormap") or opcode.operation in _ORDERED:
        return None
    relaxed = opcode.renamed(_RELAXED)
    return None if relaxed == opcode.name else relaxed + text[len(opcode.name) :]
