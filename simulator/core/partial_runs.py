"""Running a thread on its own where not every value it reads is known yet.

A run goes on past reads that have no source: what it computes from them is ``UNKNOWN``. It stops
at a branch that depends on them, at the end of a round that another round would repeat, and where
somebody has to guess. Runs are deterministic, so that a thread is run again from its start
whenever one more of its reads has a value, and the numbers of its events stay as they are.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic

from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.core.program import (
    ARITHMETIC,
    RMW,
    Arithmetic,
    Branch,
    Operand,
)
from fencewright.simulator.core.relation import Mask
from fencewright.simulator.core.thread_runs import (
    Domain,
    PathT,
    Runner,
    RunT,
    StepFunctions,
    Visit,
)

UNKNOWN = -1
"""The value of a read without a source, and of what is computed from it; it is no word."""


class Stop(Enum):
    """Why a run went no further.

    ENDED: it did all it does, or waits for ever at a barrier. HELD: what it does next depends on
    reads without a source. OPEN: two continuations, for one to be chosen at once. IDLE: the round
    of a loop would be repeated. CUT: at the bound of a loop. IMPOSSIBLE: a guess was wrong.
    """

    ENDED = "ended"
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


@dataclass(frozen=True, slots=True)
class PartialRun(Generic[PathT]):
    """A run as far as it goes; ``shape`` has one number for all runs of the same events.

    A stopped run is before ``pc``. ``held_by`` are the reads that it waits for; ``may_guess``: that
    the event ``guess`` writes, or blocks, may be assumed instead.
    """

    path: PathT
    shape: int
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    stop: Stop
    pc: int = 0
    held_by: Mask = 0
    guess: int | None = None


Guesses = tuple[tuple[int, bool], ...]
"""What is assumed of events of a thread: that an exchange writes, that a barrier never completes."""


class Answers(Domain):
    """The values of the reads of one run, in order; of further ones nothing is known."""

    def __init__(self, values: Iterable[int]):
        super().__init__({})
        self.left = iter(values)

    def choices(self, location: str) -> tuple[int, ...]:
        """The value of the next read."""
        return (next(self.left, UNKNOWN),)


class PartialRunner(Runner[RunT, PathT]):
    """A model's runner where values may be unknown; comes before it among the base classes.

    A step that has to stop says so by ``self.stopped`` and leaves the run where it is.
    """

    STEPS: ClassVar[StepFunctions]

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.stopped: Stop | None = None
        self.held_by: Mask = 0
        self.guess: int | None = None
        self.guesses: Mapping[int, bool] = {}
        self._shapes: dict[object, int] = {}
        self._known: dict[object, PartialRun[PathT]] = {}
        self._may_write: list[frozenset[str]] = []

    # What models say

    @abstractmethod
    def summary(self, run: RunT) -> tuple[PathT, object, tuple[Access, ...], tuple[Access, ...]]:
        """What a run has done: its path, a hashable shape of it, its reads, its writes."""

    @abstractmethod
    def written(self, instruction: Any) -> Iterable[str]:
        """The locations that an instruction may write."""

    # Running

    def partial(self, values: tuple[int, ...], guesses: Guesses) -> PartialRun[PathT]:
        """The run in which reads return ``values``, in order, as far as it goes."""
        key = (values, guesses)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._run(values, dict(guesses))
        return known

    def _run(self, values: tuple[int, ...], guesses: Mapping[int, bool]) -> PartialRun[PathT]:
        self.domain, self.guesses = Answers(values), guesses
        self.stopped, self.held_by, self.guess = None, 0, None
        run = self.begin()
        while self.stopped is None:
            forks = self.advance(run)
            if forks is None:
                self.stopped = Stop.ENDED
            else:
                run = forks[0]
        path, shape, reads, writes = self.summary(run)
        number = self._shapes.setdefault(shape, len(self._shapes))
        pc = len(self.code) if self.stopped is Stop.ENDED else run.pc - 1
        return PartialRun(path, number, reads, writes, self.stopped, pc, self.held_by, self.guess)

    def halt(self, run: RunT, why: Stop, held_by: Mask = 0, guess: int | None = None) -> list[RunT]:
        """Stop before the instruction that is being executed."""
        self.stopped, self.held_by, self.guess = why, held_by, guess
        return [run]

    def may_write(self, pc: int) -> frozenset[str]:
        """The locations that the thread may write from ``pc`` on, whatever it reads."""
        if not self._may_write:
            self._may_write = self._reachable_writes()
        return self._may_write[pc]

    def _reachable_writes(self) -> list[frozenset[str]]:
        found = [frozenset(self.written(each)) for each in self.code] + [frozenset[str]()]
        changed = True
        while changed:
            changed = False
            for pc in range(len(self.code) - 1, -1, -1):
                instruction = self.code[pc]
                more = found[pc] | found[pc + 1]
                if isinstance(instruction, self.BRANCHES):
                    more |= found[self.target(instruction)]
                if more != found[pc]:
                    found[pc], changed = more, True
        return found

    # Steps

    def unknown(self, run: RunT, *operands: Operand) -> bool:
        """Whether any of the operands depends on a read without a source."""
        return any(run.value(each) == UNKNOWN for each in operands)

    def derives(
        self, run: RunT, location: str, value: int, reads: Iterable[tuple[str, int]]
    ) -> bool:
        """That no value depends on itself is judged of the whole graph."""
        return True

    def partial_arithmetic(self, run: RunT, step: Arithmetic) -> None:
        """Compute into a register, if it is known from what."""
        unknown = self.unknown(run, step.a, step.b)
        value = UNKNOWN if unknown else ARITHMETIC[step.kind](run.value(step.a), run.value(step.b))
        run.assign(step.dst, value, run.taint(step.a, step.b))

    def partial_branch(self, run: RunT, branch: Branch) -> list[RunT] | None:
        """Go to a label, or on; wait for the condition."""
        if branch.condition is not None and self.unknown(run, branch.condition):
            return self.halt(run, Stop.HELD, run.taint(branch.condition))
        return self.branch(run, branch)

    def jump(self, run: RunT, label: str) -> list[RunT] | None:
        """Go to a label; stop after a round of a loop that another would repeat, and at the bound."""
        target = self.labels[label]
        visit = run.visits.get(label)
        if target < run.pc and visit is not None:
            is_last = visit.passes >= self.bound
            if (is_last or self.may_skip(run, visit)) and self.has_idled(run, target, visit):
                return self.halt(run, Stop.IDLE)
            if is_last:
                return self.halt(run, Stop.CUT)
        run.pc = target
        return None

    def may_skip(self, run: RunT, visit: Visit) -> bool:
        """Whether a round since ``visit`` that idled says nothing of the program by itself."""
        return True

    def combined(self, kind: RmwKind, old: int, operand: int) -> int:
        """What a read-modify-write writes; an exchange does not depend on what it reads."""
        if kind is not RmwKind.XCHG and UNKNOWN in (old, operand):
            return UNKNOWN
        return RMW[kind](old, operand)


PARTIAL_STEPS: StepFunctions = {
    Arithmetic: PartialRunner[Any, Any].partial_arithmetic,
    Branch: PartialRunner[Any, Any].partial_branch,
}
"""How the instructions that every model has run where values may be unknown."""
