"""Running each thread of a program on its own, for models that judge whole executions.

A read returns any value that some write could have put there. What a thread can do with those
values is found round by round, until no write writes a value that no earlier round has seen.
Models say what their instructions do; values, loops and the limit of work are the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

from fencewright.lowering.code.dataflow import before_each
from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.interleaving import Interleaving
from fencewright.simulator.core.program import (
    ARITHMETIC,
    Arithmetic,
    Branch,
    Computation,
    Label,
    Move,
    Operand,
)
from fencewright.simulator.core.words import WORD_MASK

_NONE = frozenset[str]()

Derivation: TypeAlias = Mask
"""The writes, as bits, that a value passed through."""


class EventKind(Enum):
    """The kind of an event of an axiomatic model.

    A barrier of the source model is two, ARRIVE and BARRIER; an atomic of PTX two, READ and WRITE.
    COUNT changes the arrivals or bytes that an mbarrier expects, WAIT is for an mbarrier, and
    TENSOR_FENCE is ``tcgen05.fence``. Source: PTX ISA, "Operation types" (memory, fence, proxy
    fence, barrier).
    """

    __hash__ = object.__hash__  # At C speed: each member is one object.

    READ = "R"
    WRITE = "W"
    UPDATE = "U"
    FENCE = "F"
    PROXY_FENCE = "PF"
    ARRIVE = "A"
    BARRIER = "B"
    WAIT = "T"
    COUNT = "N"
    TENSOR_FENCE = "TF"


class Domain:
    """The values that each location can have, each with the least derivations it can come from.

    ``initial`` has the values that locations start with if not with 0; with ``seeds`` every
    location may have those as well, from nowhere.
    """

    def __init__(
        self, initial: Mapping[str, int], seeds: Iterable[int] = (), work: WorkBudget | None = None
    ):
        self.initial = initial
        self.seeds = tuple(seeds)
        self.work = WorkBudget() if work is None else work
        self.values: dict[str, dict[int, tuple[Derivation, ...]]] = {}
        self.changed = True

    def of(self, location: str) -> dict[int, tuple[Derivation, ...]]:
        """The values of ``location`` and their derivations; its initial value has the empty one."""
        known = self.values.get(location)
        if known is None:
            values = (self.initial.get(location, 0), *self.seeds)
            known = self.values[location] = dict[int, tuple[Derivation, ...]].fromkeys(values, (0,))
        return known

    def choices(self, location: str) -> tuple[int, ...]:
        """The values that a read of ``location`` tries."""
        known = self.values.get(location)
        return tuple(self.of(location) if known is None else known)

    def derive(
        self, location: str, value: int, bit: Mask, reads: Iterable[tuple[str, int]]
    ) -> bool:
        """Record that the write ``bit`` writes ``value``, which depends on ``reads``.

        False if it would have to come out of thin air.
        """
        derivations = [bit]
        for source, read in reads:
            known = self.of(source)[read]
            derivations = [a | b for a in derivations for b in known if not b & bit]
            if not self.work.take(len(derivations)):
                return False
        if derivations:
            self._add(location, value, derivations)
        return bool(derivations)

    def _add(self, location: str, value: int, derivations: Iterable[Derivation]) -> None:
        known = self.of(location)
        kept = known.get(value, ())
        for new in derivations:
            if any(old & new == old for old in kept):
                continue
            kept = (*(old for old in kept if new & old != new), new)
            self.changed = True
        known[value] = kept


class WalkedDomain(Domain):
    """The one value that each read of an interleaving takes."""

    def __init__(self, interleaving: Interleaving):
        super().__init__({})
        self.interleaving = interleaving

    def choices(self, location: str) -> tuple[int, ...]:
        """The value that the interleaving has at this moment."""
        return (self.interleaving.read(location),)

    def derive(
        self, location: str, value: int, bit: Mask, reads: Iterable[tuple[str, int]]
    ) -> bool:
        """Tell the interleaving of the write."""
        self.interleaving.write(location, value)
        return True


class Visit(NamedTuple):
    """A pass over a label: how often it was passed, and how many events there were then."""

    passes: int
    events: int


EventT = TypeVar("EventT")


@dataclass(slots=True)
class ThreadRun(Generic[EventT]):
    """A thread in the middle of a run.

    ``taints`` has the reads, as bits over its events, that each register's value depends on,
    ``control`` those that its being where it is depends on.
    """

    pc: int
    registers: dict[str, int]
    taints: dict[str, Mask]
    control: Mask = 0
    events: tuple[EventT, ...] = ()
    executed: Mapping[int, int] = field(default_factory=dict[int, int])
    visits: Mapping[str, Visit] = field(default_factory=dict[str, Visit])

    def value(self, operand: Operand) -> int:
        """The value of an operand."""
        return operand & WORD_MASK if isinstance(operand, int) else self.registers.get(operand, 0)

    def taint(self, *operands: Operand) -> Mask:
        """The reads that operands depend on."""
        result = 0
        for operand in operands:
            if isinstance(operand, str):
                result |= self.taints.get(operand, 0)
        return result

    def copy(self) -> Self:
        """The same run, with registers of its own."""
        return replace(self, registers=dict(self.registers), taints=dict(self.taints))

    def assign(self, register: str | None, value: int, taint: Mask) -> None:
        """Set a register, if there is one to set."""
        if register is not None:
            self.registers[register] = value
            self.taints[register] = taint


RunT = TypeVar("RunT", bound=ThreadRun[Any])
PathT = TypeVar("PathT")
StepFunctions: TypeAlias = Mapping[type[Any], Callable[..., "list[Any] | None"]]
"""The execution of each instruction: it returns None to go on, or the runs it forks into."""


class Runner(ABC, Generic[RunT, PathT]):
    """All runs of one thread, for the values that ``domain`` has for each location.

    ``bound`` is how often the target of a backward jump may be passed; ``complete`` says whether
    that has cut no run. ``write_bits`` numbers the writes of all threads of a program.
    """

    STEPS: ClassVar[StepFunctions]
    BRANCHES: ClassVar[tuple[type[Any], ...]] = (Branch,)
    IDLE: ClassVar[Collection[object]]
    """The kinds of events that a round may have and be left out: reads and fences."""

    def __init__(self, thread: int, code: Sequence[Any], bound: int, write_bits: dict[object, int]):
        self.thread = thread
        self.code = code
        self.labels = {each.name: n for n, each in enumerate(code) if isinstance(each, Label)}
        self.bound = bound
        self.write_bits = write_bits
        self.domain = Domain({})
        self.paths: list[PathT] = []
        self.complete = True
        self._live: list[frozenset[str]] = []
        self._may_write: list[frozenset[str]] = []

    @abstractmethod
    def begin(self) -> RunT:
        """The thread before its first instruction."""

    @abstractmethod
    def path(self, run: RunT) -> PathT:
        """The path of a run that has ended."""

    @abstractmethod
    def assigned(self, instruction: Any) -> Collection[str]:
        """The registers that an instruction sets."""

    @abstractmethod
    def used(self, instruction: Any) -> Collection[Operand]:
        """The operands that an instruction computes with."""

    @abstractmethod
    def written(self, instruction: Any) -> Collection[str]:
        """The locations that an instruction may write."""

    def target(self, branch: Any) -> int:
        """The target of a branch."""
        return self.labels[branch.target]

    def run(self, domain: Domain) -> list[PathT]:
        """The paths."""
        self.domain = domain
        self.paths, self.complete = [], True
        stack = [self.begin()]
        while stack:
            run = stack.pop()
            if not domain.work.take(1 + len(run.events)):
                self.complete = False
                break
            forks = self.advance(run)
            if forks is None:
                self.paths.append(self.path(run))
            else:
                stack += reversed(forks)
        return self.paths

    def advance(self, run: RunT) -> list[RunT] | None:
        """Run until the thread ends (None) or forks."""
        code, steps = self.code, self.STEPS
        while run.pc < len(code):
            instruction = code[run.pc]
            run.pc += 1
            forks = steps[type(instruction)](self, run, instruction)
            if forks is not None:
                return forks
        return None

    def derives(
        self, run: RunT, location: str, value: int, reads: Iterable[tuple[str, int]]
    ) -> bool:
        """Note that ``value`` can be written; False if it would have to come out of thin air."""
        count = run.executed.get(run.pc, 0)
        run.executed = {**run.executed, run.pc: count + 1}
        bit = 1 << self.write_bits.setdefault((self.thread, run.pc, count), len(self.write_bits))
        return self.domain.derive(location, value, bit, reads)

    def label(self, run: RunT, label: Label) -> None:
        """Pass a label."""
        visit = run.visits.get(label.name)
        passes = 0 if visit is None else visit.passes
        run.visits = {**run.visits, label.name: Visit(passes + 1, len(run.events))}

    def move(self, run: RunT, move: Move) -> None:
        """Set a register."""
        run.assign(move.dst, run.value(move.value), run.taint(move.value))

    def arithmetic(self, run: RunT, step: Arithmetic) -> None:
        """Compute into a register."""
        value = ARITHMETIC[step.kind](run.value(step.a), run.value(step.b))
        run.assign(step.dst, value, run.taint(step.a, step.b))

    def computation(self, run: RunT, step: Computation) -> None:
        """Compute into a register by a function."""
        value = step.function(*map(run.value, step.operands))
        run.assign(step.dst, value, run.taint(*step.operands))

    def branch(self, run: RunT, branch: Branch) -> list[RunT] | None:
        """Go to a label, or on where the condition does not hold."""
        if branch.condition is not None:
            run.control |= run.taint(branch.condition)
            if bool(run.value(branch.condition)) is branch.unless:
                return None
        return self.jump(run, branch.target)

    def jump(self, run: RunT, label: str) -> list[RunT] | None:
        """Go to a label, or end the run at the bound of a loop."""
        target = self.labels[label]
        visit = run.visits.get(label)
        if target < run.pc and visit is not None and visit.passes >= self.bound:
            if not self.has_idled(run, target, visit):
                self.complete = False
            return []
        run.pc = target
        return None

    def has_idled(self, run: RunT, target: int, visit: Visit) -> bool:
        """True if the round since ``visit`` did nothing that another round would not undo.

        A round of reads and fences alone, none of whose registers is used again before it is set
        again, only constrains an execution further: the axioms forbid no more when it is taken
        out, so that no outcome is lost by leaving such rounds out.
        """
        since = range(visit.events, len(run.events))
        if not all(self.is_idle(run, number) for number in since):
            return False
        changed = {name for each in self.code[target : run.pc] for name in self.assigned(each)}
        return changed.isdisjoint(self.live(target))

    def is_idle(self, run: RunT, number: int) -> bool:
        """True if an event of a round leaves memory unchanged, as far as any thread can observe.

        What an atomic puts back falls between its source and another access only if that is not
        strong: then it is observable.
        """
        event = run.events[number]
        if event.kind in self.IDLE:
            return True
        return event.location in self.strong_places and self.puts_back(run, number)

    @cached_property
    def strong_places(self) -> frozenset[str]:
        """The locations all of whose accesses are atomic for each other, in any threads."""
        return self.find_strong_places()

    @abstractmethod
    def find_strong_places(self) -> frozenset[str]:
        """``strong_places``, looked for once."""

    @abstractmethod
    def puts_back(self, run: RunT, number: int) -> bool:
        """True if an event is the write of an atomic that writes the value that it read."""

    def may_write(self, pc: int) -> frozenset[str]:
        """The locations that the thread may write from ``pc`` on, for any values of its reads."""
        if not self._may_write:
            self._may_write = self._reachable_writes()
        return self._may_write[pc]

    def _reachable_writes(self) -> list[frozenset[str]]:
        written = [frozenset(self.written(each)) for each in self.code]
        return before_each(self._following(), _NONE, _NONE, lambda n, after: after | written[n])

    def _following(self) -> list[tuple[int, ...]]:
        """The instructions after each; of a jump the next one too, as if it were conditional."""
        return [
            (n + 1, self.target(each)) if isinstance(each, self.BRANCHES) else (n + 1,)
            for n, each in enumerate(self.code)
        ]

    def live(self, pc: int) -> frozenset[str]:
        """The registers whose values before ``pc`` may be used from there on; at the end all
        are."""
        if not self._live:
            self._live = self._live_registers()
        return self._live[pc]

    def _live_registers(self) -> list[frozenset[str]]:
        assigned = [frozenset(self.assigned(each)) for each in self.code]
        used = [frozenset(n for n in self.used(e) if isinstance(n, str)) for e in self.code]

        def before(number: int, after: frozenset[str]) -> frozenset[str]:
            return after - assigned[number] | used[number]

        return before_each(self._following(), _NONE.union(*assigned), _NONE, before)


COMMON_STEPS: StepFunctions = {
    Move: Runner[Any, Any].move,
    Arithmetic: Runner[Any, Any].arithmetic,
    Computation: Runner[Any, Any].computation,
    Branch: Runner[Any, Any].branch,
    Label: Runner[Any, Any].label,
}
"""The execution of the instructions that every model has."""


def all_paths(runners: Iterable[Runner[Any, PathT]], domain: Domain) -> list[list[PathT]]:
    """The paths of all threads, once no write writes a value that no earlier round has seen."""
    every = tuple(runners)
    paths: list[list[PathT]] = []
    while domain.changed and not domain.work.is_spent:
        domain.changed = False
        paths = [runner.run(domain) for runner in every]
    return paths


@dataclass(frozen=True, slots=True)
class Choice(Generic[PathT]):
    """A path, with its shape and its reads and writes as bits over (location, value)."""

    path: PathT
    shape: int
    needs: Mask
    provides: Mask


class Choices:
    """Numbers the shapes of paths, and the values of locations that they read and write."""

    def __init__(self) -> None:
        self._shapes: dict[object, int] = {}
        self._value_bits: dict[tuple[str, int], Mask] = {}

    def values(self, pairs: Iterable[tuple[str, int]]) -> Mask:
        """Locations with a value each, as bits."""
        result, known = 0, self._value_bits
        for pair in pairs:
            result |= known.setdefault(pair, 1 << len(known))
        return result

    def choice(
        self,
        path: PathT,
        shape: object,
        read: Iterable[tuple[str, int]],
        written: Iterable[tuple[str, int]],
    ) -> Choice[PathT]:
        """A path that reads and writes these values; equal shapes have one number."""
        number = self._shapes.setdefault(shape, len(self._shapes))
        return Choice(path, number, self.values(read), self.values(written))
