"""Races of PTX kernels replayed: a launch is made of the witness, and the detector watches it.

A race of a verdict is one of two symbolic threads; what it depends on, parameters and contents of
memory, is guessed here. It is confirmed where an execution has a race of the same two instructions,
or of copies of them that come of the same places of the source; it is not disproved where none has.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice, product, repeat
from math import prod

from fencewright.checker.verdicts.model import Conflict, Numbers
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxParameter
from fencewright.simulator.launches.guess import guess
from fencewright.simulator.race.detector import Race
from fencewright.simulator.race.findings import Finding, finding_of
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import Execution, executions, problem_of
from fencewright.simulator.threads.compile import site_of
from fencewright.simulator.threads.launch import (
    Argument,
    Array,
    Launch,
    LaunchError,
    Module,
    Size,
)

_MOST_THREADS = 4096
"""Threads of a launch that are executed."""
_MOST_TURNS = 20_000
"""Turns of its threads that one run may take."""
_MOST_STEPS = 200_000
"""Turns and accesses that all runs for a function's suspects may take."""
_MOST_STEPS_OF_ALL = 2_000_000
"""The same of all its conflicts, and of one run; the run that exceeds it is the last one."""
_MOST_RUNS = 24
"""Runs of the first launch; others are executed in both orders alone."""
_MOST_VALUE = 1 << 16
"""The largest value of a parameter that is taken from a witness: others are sizes without bound."""
_WHOLE = (8, 0, 64, 1024)
"""Whole numbers that are tried for parameters that the witness says nothing of."""
_CONTENTS = (("", ""), ("iota", "iota"), ("iota", "random(1, 64)"))
"""Contents of the first array and of all others: zeros, numbers, and rows of a sparse matrix with
columns that collide."""
_BYTES = (1 << 16, 1 << 22)
"""Sizes of arrays, the larger where an access is out of bounds of the smaller."""
_OF_CLUSTERS = ("mapa", "barrier cluster arrive", "barrier cluster wait")
"""The operations of kernels that are launched in clusters, where none are declared."""
_CLUSTER = 8
"""CTAs of a cluster by default. Source: CUDA Programming Guide, "Compute Capabilities"."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The execution of a conflict: whether a launch has a race of its two instructions.

    ``reason``: why it is not shown, or "". ``launch`` and ``finding``: of the race that is.
    """

    is_confirmed: bool
    reason: str = ""
    launch: Launch | None = None
    finding: Finding | None = None

    @property
    def written(self) -> str:
        """The launch as the option ``--launch`` has it."""
        launch = self.launch
        if launch is None:
            return ""
        block = "" if launch.block is None else f"({_listed(launch.block)})"
        sizes = [f"({_listed(launch.grid)})", block, str(launch.shared)]
        sizes += [] if launch.cluster is None else [f"({_listed(launch.cluster)})"]
        arguments = (
            f"{argument.type}[{argument.count}]{'=' * bool(argument.content)}{argument.content}"
            if isinstance(argument, Array)
            else str(argument)
            for argument in launch.arguments
        )
        return f"{launch.kernel}<<<{', '.join(sizes)}>>>({_listed(arguments)})"


def _listed(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts))


_Pair = frozenset[tuple[object, ...]]
"""The places of two instructions."""


class Replayer:
    """Replays the conflicts of one function, each with the executions for those before it."""

    def __init__(self, module: PtxFile, function: PtxFunction):
        self.module, self.function = Module(module), function
        self.places = {
            instruction.number: site_of(instruction, 0, function, module.files).key
            for instruction in function.instructions
        }
        self.has_clusters = any(
            instruction.statement.operation in _OF_CLUSTERS for instruction in function.instructions
        )
        self.races: dict[_Pair, Replay] = {}
        self.steps = 0

    def replay(self, conflict: Conflict, *, is_suspect: bool = False) -> Replay:
        """As the function of that name; ``is_suspect``: of a conflict that may be none, within the
        steps for all of those."""
        if not self.function.is_entry:
            return Replay(False, "only kernels are launched")
        witness = conflict.witness
        if prod(witness.grid) * prod(witness.block) > _MOST_THREADS:
            return Replay(False, f"it takes more than {_MOST_THREADS} threads")
        sides = conflict.first.instruction, conflict.second.instruction
        if not self.places.keys() >= {*sides}:
            return Replay(False, "it is not of two instructions of the kernel's own text")
        pair = frozenset(self.places[side] for side in sides)
        if (known := self.races.get(pair)) is not None and known.is_confirmed:
            return known
        reason = ""
        most = _MOST_RUNS
        for launch in dict.fromkeys(self._launches(conflict, is_suspect=is_suspect)):
            if is_suspect and self.steps > _MOST_STEPS:
                return Replay(False, "the steps for conflicts that may be none are used up")
            if self.steps > _MOST_STEPS_OF_ALL:
                return Replay(False, "the steps for this function's conflicts are used up")
            for size in _BYTES:
                try:
                    problem, is_outside = self._execute(_sized(launch, size), pair, most)
                except LaunchError as refused:
                    return Replay(False, str(refused))
                if (found := self.races.get(pair)) is not None and found.is_confirmed:
                    return found
                reason = reason or problem
                if not is_outside:
                    break
            most = len(ORDERS)
        found = self.races.get(pair)
        return found or Replay(False, reason or "no execution has this race")

    def _execute(self, launch: Launch, pair: _Pair, most: int) -> tuple[str, bool]:
        """Execute a launch up to a race of a pair; the problem that ends it, True out of bounds."""
        for execution in islice(self._executions(launch), most):
            outcome = execution.run.outcome
            self.steps += outcome.steps + execution.detector.accesses
            if outcome.is_outside:
                # Arrays that are too small: nothing that was executed counts.
                return problem_of(execution.run), True
            for race in execution.detector.races.values():
                self._note(execution, race, launch)
            known = self.races.get(pair)
            is_confirmed = known is not None and known.is_confirmed
            if outcome.problem or is_confirmed or self.steps > _MOST_STEPS_OF_ALL:
                return problem_of(execution.run), False
        return "", False

    def _executions(self, launch: Launch) -> Iterator[Execution]:
        """The runs of a launch, of no more accesses than all runs may have."""
        return executions(self.module, launch, limit=_MOST_TURNS, most=_MOST_STEPS_OF_ALL)

    def _note(self, execution: Execution, race: Race, launch: Launch) -> None:
        """Keep a race by its two instructions; one of equal values only until there is another."""
        sites = execution.detector.sites
        pair = frozenset(sites[access.site].key for access in (race.first, race.second))
        if race.same_value:
            self.races.setdefault(pair, Replay(False, "both write one value in every execution"))
        elif pair not in self.races or not self.races[pair].is_confirmed:
            finding = finding_of(execution.detector, race)
            self.races[pair] = Replay(True, launch=launch, finding=finding)

    # Launches

    def _launches(self, conflict: Conflict, *, is_suspect: bool) -> Iterator[Launch]:
        """Launches like that of the witness: first with zeros in memory, then with numbers; of
        suspects with the threads that the kernel declares too."""
        guessed = guess(self.module, self.function)
        witness = conflict.witness
        cluster, grid = None, _size(witness.grid)
        blocks = _size(witness.block), *((guessed.block,) if is_suspect else ())
        declared = self.function.cluster
        if declared is not None:
            x, y, z = (-(-size // of) * of for size, of in zip(grid, declared, strict=True))
            grid = x, y, z
        elif self.has_clusters and prod(grid) <= _CLUSTER:
            cluster = grid
        # The numbers of a conflict that may be none need not be those of a race.
        numbers = [witness.parameters, dict[str, int]()][: 1 + is_suspect]
        for known, block, (first, others), whole in product(numbers, blocks, _CONTENTS, _WHOLE):
            contents = chain((first,), repeat(others))
            arguments = tuple(
                _argument(parameter, given, known, whole, contents)
                for parameter, given in zip(
                    self.function.parameters, guessed.arguments, strict=True
                )
            )
            yield replace(
                guessed,
                grid=grid,
                block=block,
                cluster=cluster,
                arguments=arguments,
                guessed=("arguments",) if arguments else (),
            )


def _size(numbers: Numbers) -> Size:
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _argument(
    parameter: PtxParameter,
    guessed: Argument,
    known: Mapping[str, int],
    whole: int,
    contents: Iterator[str],
) -> Argument:
    if isinstance(guessed, Array) and parameter.size is None:
        return Array("u32", 1, next(contents))
    if isinstance(guessed, int):
        value = known.get(parameter.name)
        return whole if value is None or value > _MOST_VALUE else value
    return guessed


def _sized(launch: Launch, size: int) -> Launch:
    """A launch whose arrays of numbers have so many bytes."""
    arguments = tuple(
        replace(argument, count=size // 4)
        if isinstance(argument, Array) and argument.type == "u32"
        else argument
        for argument in launch.arguments
    )
    return replace(launch, arguments=arguments)
