"""Running a thread on its own where not every value it reads is known yet.

A run goes on past reads that have no source: what it computes from them is ``UNKNOWN``. It stops
at a branch that depends on them, at the end of a round that another round would repeat, and where
somebody has to guess. Runs are deterministic, so that a thread is run again from its start
whenever one more of its reads has a value, and the numbers of its events stay as they are.

A run may also be asked to *wait*: the round that would be repeated is then its last, and is there
twice, as reads and fences alone; what barriers do not let pass stays there. Of an atomic whether it
is in that round, and only puts back what it reads, is guessed at once: then it writes nothing.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple

from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.program import (
    ARITHMETIC,
    RMW,
    Arithmetic,
    Branch,
    Computation,
    Label,
    Operand,
)
from fencewright.simulator.core.thread_runs import (
    Domain,
    PathT,
    Runner,
    RunT,
    StepFunctions,
    Visit,
)

UNKNOWN = -1
"""The value of a read without a source, and of all computed from it; it is no word."""


class Stop(Enum):
    """The reason that a run went no further.

    ENDED: it did all it does. BLOCKED: it waits for ever at a barrier. HELD: what it does next
    depends on reads without a source. OPEN: several continuations, one to be chosen at once. IDLE:
    the round of a loop would be repeated. CUT: at the bound of a loop. IMPOSSIBLE: a guess was
    wrong.
    """

    ENDED = "ended"
    BLOCKED = "blocked"
    HELD = "held"
    OPEN = "open"
    IDLE = "idle"
    CUT = "cut"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class Access:
    """A read or a write of a run: its event, its location, its value, the reads it depends on.

    A read that was guessed about has to return ``only``, or must not return ``never``.
    """

    event: int
    location: str
    value: int
    needs: Mask = 0
    only: int | None = None
    never: int | None = None


class Change(NamedTuple):
    """The change in a round, by which loops are cut: an instruction, None for registers alone.

    ``is_put_back``: it is put back at once, which others may observe whose accesses are not strong.
    """

    position: int | None
    is_put_back: bool = False


@dataclass(frozen=True, slots=True)
class PartialRun(Generic[PathT]):
    """A run as far as it goes; ``shape`` has one number for all runs of the same events.

    A stopped run is before ``pc``. ``held_by`` are the reads that it waits for; of the event
    ``guess`` one of its ``ways`` may be assumed instead, as that it writes, or blocks. Of a run
    that waits ``last_round`` is where the last round starts, and where it starts again; as many of
    the last reads as are in it are those of the round before once more. Of a run that was cut
    ``change`` says why.
    """

    path: PathT
    shape: int
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    stop: Stop
    pc: int = 0
    held_by: Mask = 0
    guess: int | None = None
    last_round: tuple[int, int] | None = None
    change: Change | None = None
    ways: tuple[int, ...] = (False, True)

    @property
    def repeated(self) -> int:
        """The number of the last reads that repeat those before them."""
        if self.last_round is None:
            return 0
        return sum(read.event >= self.last_round[1] for read in self.reads)


Guesses = tuple[tuple[int, int], ...]
"""Assumptions about events of a thread: that an exchange writes, that a barrier never completes,
which of several things one does; of ``~event`` that an atomic is in a last round.
"""


class Answers(Domain):
    """The values of the reads of one run, in order; of further ones nothing is known.

    ``given``: how many reads have had theirs.
    """

    def __init__(self, values: tuple[int, ...]):
        super().__init__({})
        self.of_reads = values
        self.given = 0

    def choices(self, location: str) -> tuple[int, ...]:
        """The value of the next read."""
        self.given += 1
        return (self.of_reads[self.given - 1] if self.given <= len(self.of_reads) else UNKNOWN,)


@dataclass(slots=True)
class _LastRound(Generic[RunT]):
    """The round that a waiting thread repeats, while it is run twice more.

    From ``start``, a copy of the run at the ``label``, of which ``reads`` had been answered;
    ``second`` is the first event of the second time.
    """

    label: str
    start: RunT
    reads: int
    second: int | None = None


class PartialRunner(Runner[RunT, PathT]):
    """A model's runner where values may be unknown; comes before it among the base classes.

    A step that has to stop says so by ``self.stopped`` and leaves the run where it is.
    """

    STEPS: ClassVar[StepFunctions]

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.may_wait = False
        self.answers = Answers(())
        self.last_round: _LastRound[RunT] | None = None
        self._starts: dict[str, tuple[RunT, int]] = {}
        self.stopped: Stop | None = None
        self.halted: RunT | None = None
        self.held_by: Mask = 0
        self.guess: int | None = None
        self.ways: tuple[int, ...] = ()
        self.guesses: Mapping[int, int] = {}
        self.put_back: list[int] = []
        self.change: Change | None = None
        self._shapes: dict[object, int] = {}
        self._known: dict[object, PartialRun[PathT]] = {}
        self._last_wait: int | None = None

    # The parts that models define

    @abstractmethod
    def summary(self, run: RunT) -> tuple[PathT, object, tuple[Access, ...], tuple[Access, ...]]:
        """The summary of a run: its path, a hashable shape of it, its reads, its writes."""

    def may_block_at(self, instruction: Any) -> bool:
        """True if an instruction is a barrier that may let no thread pass."""
        return False

    # Running

    def partial(self, values: tuple[int, ...], guesses: Guesses) -> PartialRun[PathT]:
        """The run in which reads return ``values``, in order, as far as it goes."""
        key = (values, guesses)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._run(values, dict(guesses))
        return known

    def _run(self, values: tuple[int, ...], guesses: Mapping[int, int]) -> PartialRun[PathT]:
        self.domain = self.answers = Answers(values)
        self.guesses = guesses
        self.stopped, self.held_by, self.guess, self.ways = None, 0, None, ()
        self.halted = None
        self.last_round, self.put_back, self.change = None, [], None
        run = self.begin()
        while self.stopped is None:
            forks = self.advance(run)
            if forks is None:
                self.stopped = Stop.ENDED
            elif forks:
                run = forks[0]
            elif self.stopped is None:
                self.stopped = Stop.IMPOSSIBLE
        run = self.halted or run
        is_over = self.stopped in (Stop.ENDED, Stop.BLOCKED)
        if is_over and self.put_back:
            self.stopped = Stop.IMPOSSIBLE
        path, shape, reads, writes = self.summary(run)
        last = self.last_round
        rounds = None
        if last is not None and last.second is not None:
            rounds = (len(last.start.events), last.second)
        number = self._shapes.setdefault((shape, rounds), len(self._shapes))
        return PartialRun(
            path,
            number,
            reads,
            writes,
            self.stopped,
            len(self.code) if is_over else run.pc - 1,
            self.held_by,
            self.guess,
            rounds,
            self.change,
            self.ways,
        )

    def halt(
        self,
        run: RunT,
        why: Stop,
        held_by: Mask = 0,
        guess: int | None = None,
        ways: tuple[int, ...] = (False, True),
    ) -> list[RunT]:
        """Stop before the instruction that is being executed."""
        self.stopped, self.held_by, self.guess, self.ways = why, held_by, guess, ways
        self.halted = run
        return [run]

    def guessed(self, event: int) -> int | None:
        """The assumption about an event, or by ``~event``; of a repeated one, that of the first
        time."""
        last = self.last_round
        if last is None or last.second is None:
            return self.guesses.get(event)
        shift = last.second - len(last.start.events)
        return self.guesses.get(event - shift if event >= 0 else event + shift)

    def only_reads(self, run: RunT) -> bool | None:
        """True where the atomic that comes next is in a last round, so that it puts back its old
        value.

        None: that is to be guessed.
        """
        if self.last_round is not None:
            return True
        if not self.may_wait or not self.is_in_loop(run.pc - 1):
            return False
        guess = self.guesses.get(~len(run.events))
        if guess:
            self.put_back.append(len(run.events))
        return None if guess is None else bool(guess)

    def is_in_loop(self, position: int) -> bool:
        """True if an instruction is between a label and a branch back to it."""
        return any(
            self.target(each) <= position <= number
            for number, each in enumerate(self.code)
            if isinstance(each, self.BRANCHES)
        )

    def waits_from(self, pc: int) -> bool:
        """True if the thread may wait for ever from ``pc`` on: in a loop, or at a barrier."""
        if self._last_wait is None:
            self._last_wait = max(
                (n for n, each in enumerate(self.code) if self._waits(n, each)), default=-1
            )
        return pc <= self._last_wait

    def _waits(self, position: int, instruction: Any) -> bool:
        if isinstance(instruction, self.BRANCHES) and self.target(instruction) <= position:
            return True
        return self.may_block_at(instruction)

    # Steps

    def unknown(self, run: RunT, *operands: Operand) -> bool:
        """True if any of the operands depends on a read without a source."""
        return any(run.value(each) == UNKNOWN for each in operands)

    def derives(
        self, run: RunT, location: str, value: int, reads: Iterable[tuple[str, int]]
    ) -> bool:
        """That no value depends on itself is judged of the whole graph."""
        return True

    def partial_arithmetic(self, run: RunT, step: Arithmetic) -> None:
        """Compute into a register, if the operands are known."""
        unknown = self.unknown(run, step.a, step.b)
        value = UNKNOWN if unknown else ARITHMETIC[step.kind](run.value(step.a), run.value(step.b))
        run.assign(step.dst, value, run.taint(step.a, step.b))

    def partial_computation(self, run: RunT, step: Computation) -> None:
        """Compute into a register by a function, if the operands are known."""
        if self.unknown(run, *step.operands):
            run.assign(step.dst, UNKNOWN, run.taint(*step.operands))
        else:
            self.computation(run, step)

    def partial_branch(self, run: RunT, branch: Branch) -> list[RunT] | None:
        """Go to a label, or on; wait for the condition."""
        if branch.condition is not None and self.unknown(run, branch.condition):
            return self.halt(run, Stop.HELD, run.taint(branch.condition))
        return self.branch(run, branch)

    def partial_label(self, run: RunT, label: Label) -> None:
        """Pass a label, where the last round may start."""
        self.label(run, label)
        if self.may_wait and self.last_round is None:
            self._starts[label.name] = (run.copy(), self.answers.given)

    def jump(self, run: RunT, label: str) -> list[RunT] | None:
        """Go to a label; stop after a round of a loop that another would repeat, and at the
        bound."""
        if self.last_round is not None:
            return self.jump_in_last_round(run, self.last_round, label)
        target = self.labels[label]
        visit = run.visits.get(label)
        if target < run.pc and visit is not None:
            is_last = visit.passes >= self.bound
            may_skip = is_last or self.may_wait or self.may_skip(run, visit)
            if may_skip and self.has_idled(run, target, visit):
                if self.may_wait:
                    return self._repeat(run, label)
                return self.halt(run, Stop.IDLE)
            if is_last:
                self.change = self._change(run, visit)
                return self.halt(run, Stop.CUT)
        run.pc = target
        return None

    def _change(self, run: RunT, visit: Visit) -> Change:
        """The change in the round since ``visit``."""
        for number in range(visit.events, len(run.events)):
            if not self.is_idle(run, number):
                return Change(run.events[number].position, self.puts_back(run, number))
        return Change(None)

    def _repeat(self, run: RunT, label: str) -> list[RunT]:
        """The run before its last round, which is now known to be that, unless guesses differ."""
        start, reads = self._starts[label]
        first = len(start.events)
        writes = any(event.kind not in self.IDLE for event in run.events[first:])
        if writes or any(event < first for event in self.put_back):
            return self.halt(run, Stop.IMPOSSIBLE)
        self.last_round = _LastRound(label, start, reads)
        self.answers.given = reads
        return [start.copy()]

    def jump_in_last_round(
        self, run: RunT, last: _LastRound[RunT], label: str
    ) -> list[RunT] | None:
        if label == last.label:
            if last.second is not None:
                return self.halt(run, Stop.IDLE)
            last.second = len(run.events)
            self.answers.given = last.reads
        run.pc = self.labels[label]
        return None

    def may_skip(self, run: RunT, visit: Visit) -> bool:
        """True if an idle round since ``visit`` says nothing of the program by itself."""
        return True

    def combined(self, kind: RmwKind, old: int, operand: int) -> int:
        """The value that a read-modify-write writes; an exchange does not depend on its read."""
        if kind is not RmwKind.XCHG and UNKNOWN in (old, operand):
            return UNKNOWN
        return RMW[kind](old, operand)


def may_put_back(kind: RmwKind, operand: int) -> bool:
    """True if a read-modify-write may write the value that it reads."""
    return kind not in _ALWAYS_CHANGE or operand in (0, UNKNOWN)


_ALWAYS_CHANGE = (RmwKind.ADD, RmwKind.SUB, RmwKind.XOR)
"""The kinds that change a value unless their operand is 0."""


PARTIAL_STEPS: StepFunctions = {
    Arithmetic: PartialRunner[Any, Any].partial_arithmetic,
    Computation: PartialRunner[Any, Any].partial_computation,
    Branch: PartialRunner[Any, Any].partial_branch,
    Label: PartialRunner[Any, Any].partial_label,
}
"""The execution of the instructions that every model has, on values that may be unknown."""
