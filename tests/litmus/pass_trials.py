"""Programs through the passes that take synchronisation away, each judged by a model: trials.

What a trial lowers is compared with what it lowered before anything was changed: only what differs
is executed. So many trials are affordable, with the passes changed in many ways (``pass_mutants``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import Fact, L2PerAgent
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.cdna import UnwaitedArgumentError
from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import CDNAPipeline, PTXPipeline, StorePolicy
from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass
from fencewright.passes.scoped.merge_fences import MergeFencesPass
from fencewright.passes.to_ptx.fold_fences import FoldFencesPass
from fencewright.simulator.core.program import MemoryKind
from fencewright.simulator.litmus_run import CdnaTest, Limits, Run, forbidden, run
from fencewright.simulator.random.programs import SmallProgram

LIMITS = Limits(states=6_000, bound=2)
AXIOMS = Limits(states=60_000, bound=2)
"""For the models of the source and of PTX, which count cheaper things."""


@dataclass(frozen=True)
class View:
    """Passes to run on a program, and how what they make of it is executed."""

    name: str
    passes: Callable[[], Sequence[ModulePass]]
    options: ReadOptions
    facts: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        return self.name


def on_cdna(
    chip: str = "gfx942",
    *,
    tgsplit: bool = False,
    knows_l2: bool = False,
    machine: L2PerAgent | None = None,
    stores: StorePolicy = "back",
    facts: tuple[Fact, ...] = (),
) -> View:
    """All passes for CDNA but the one that allocates registers, which is slow.

    ``knows_l2``: lowered for the one L2 that an agent has; ``machine``: how many it does have.
    """

    def passes() -> Sequence[ModulePass]:
        pipeline = CDNAPipeline(
            chip,
            tgsplit=tgsplit,
            l2_per_agent="one" if knows_l2 else "many",
            facts=facts,
            stores=stores,
        )
        return [each for each in pipeline.passes() if each.name != "allocate-registers"]

    l2_per_agent = L2PerAgent.ONE if knows_l2 else machine
    options = ReadOptions(l2_per_agent=l2_per_agent, chip=chip, tgsplit=tgsplit)
    marks = (
        chip,
        "tgsplit" if tgsplit else "",
        "one-l2" if knows_l2 else "",
        f"on-{machine}-l2" if machine else "",
        stores if stores != "back" else "",
        *facts,
    )
    return View("-".join(filter(None, marks)), passes, options, facts)


def on_ptx(chip: str = "sm_90", version: str | None = None) -> View:
    """All passes for PTX."""
    return View(f"{chip}-{version or 'newest'}", PTXPipeline(chip, version).passes, ReadOptions())


def folded(chip: str, version: str | None = None) -> View:
    """The passes on ``scoped`` before PTX, judged by the model of the source."""
    name = f"folded-{chip}-{version or 'newest'}"
    return View(name, lambda: (MergeFencesPass(), FoldFencesPass(chip, version)), ReadOptions())


SCOPED = View("scoped", lambda: (AcquireOnSuccessPass(), MergeFencesPass()), ReadOptions())

OUTLINED = View("outlined", lambda: (OutlineLitmusThreadsPass(), MergeFencesPass()), ReadOptions())
"""Threads as kernels, of which merge-fences knows the end."""

ONE = L2PerAgent.ONE
ON_CDNA = (
    on_cdna(),
    on_cdna(machine=ONE),
    on_cdna(knows_l2=True),
    on_cdna(tgsplit=True),
    on_cdna("gfx90a"),
    on_cdna("gfx90a", tgsplit=True),
    on_cdna("gfx908"),
    on_cdna(stores="through"),
    on_cdna(stores="auto"),
)
ON_PTX = (on_ptx(), on_ptx("sm_90", "8.0"), on_ptx("sm_70"))
FOLDED = (folded("sm_90", "8.0"), folded("sm_70"))


@dataclass(frozen=True)
class Trial:
    """A program, which ``make`` gives anew each time as a litmus test on ``scoped``, in a view."""

    name: str
    make: Callable[[], ModuleOp]
    view: View
    is_marked: ClassVar[bool] = True
    """Whether its operations and their attributes, which are quick to compare, say all of it."""

    def __str__(self) -> str:
        return f"{self.name} ({self.view.name})"

    @cached_property
    def meant(self) -> Run:
        """What the program may do."""
        return meant_by(self.make)

    @property
    def is_fit(self) -> bool:
        """Whether the source says what it may do: it has no race, and few enough executions."""
        return not self.meant.races and not self.meant.incomplete

    def lowered(self) -> ModuleOp:
        """What the passes make of it."""
        return after(self.view.passes(), self.make())

    def wrong(self, code: ModuleOp) -> str:
        """What ``code`` does that the source forbids; empty if there is nothing, or too much to see."""
        try:
            test = read_only_test(code, self.view.options)
        except UnwaitedArgumentError as problem:
            return str(problem)
        does = run(test, LIMITS if isinstance(test, CdnaTest) else AXIOMS)
        if does.races:
            return "a race"
        if does.errors:
            return does.errors[0]
        extra = forbidden(self.meant, does)
        return "" if extra is None else " ".join(str(extra).split())

    def problem(self) -> str:
        """What is wrong with the program as it is lowered now."""
        return self.wrong(self.lowered())


def after(passes: Iterable[ModulePass], module: ModuleOp) -> ModuleOp:
    """The module, with the passes run on it."""
    for each in passes:
        each.apply(Context(), module)
    return module


class Staged:
    """A trial that goes through the passes from one of a file on, again and again.

    What comes before is done once. What the pass makes of it is compared with what it made the
    first time, and only if that is something else, the others run and the code is judged.
    """

    is_cheap = False
    """Whether it costs little to judge what it makes."""

    def __init__(self, trial: Trial, files: frozenset[str]):
        self.trial = trial
        steps = list(trial.view.passes())
        own = [number for number, each in enumerate(steps) if _file_of(each) in files]
        first, last = own[0], own[-1]
        self.changing, self.rest = steps[first : last + 1], steps[last + 1 :]
        self.begin = after(steps[:first], trial.make())
        # Kept, so that no other attribute takes the place in memory of one of its.
        self.made = after(self.changing, self.begin.clone())
        self.mark = _mark(self.made)
        self.text = str(self.made)
        self.size = len(self.text.splitlines())
        self.judged: dict[str, str] = {}

    def again(self) -> tuple[str, int] | None:
        """What is wrong with what the passes make now, and how many operations more it has.

        None if it is what it was. Raises whatever a pass raises.
        """
        made = after(self.changing, self.begin.clone())
        if self.trial.is_marked and _mark(made) == self.mark:
            return None
        if (text := str(made)) == self.text:
            return None
        if text not in self.judged:
            self.judged[text] = self.trial.wrong(after(self.rest, made))
        return self.judged[text], len(text.splitlines()) - self.size


def _file_of(step: ModulePass) -> str:
    return type(step).__module__.removeprefix("fencewright.").replace(".", "/") + ".py"


def _mark(module: ModuleOp) -> int:
    """Equal for modules with the same operations, which share their attributes."""
    return hash(
        tuple(
            (type(op), *map(id, op.properties.values()), *map(id, op.attributes.values()))
            for op in module.walk()
        )
    )


def trial(name: str, program: SmallProgram, view: View) -> Trial:
    """A program in a view, in memory of the kinds that its chip has."""
    placed = program
    if view.options.chip is not None:
        placed = program.for_chip(view.options.chip)
    if Fact.UNCACHED_MEMORY in view.facts:
        placed = program.in_memory(MemoryKind.UNCACHED)
    return Trial(name, Built(placed), view)


@dataclass(frozen=True)
class Built:
    """Builds a program, anew each time."""

    program: SmallProgram

    def __call__(self) -> ModuleOp:
        """Build it."""
        return build(self.program)


_MEANT: dict[object, Run] = {}


def meant_by(make: Callable[[], ModuleOp]) -> Run:
    """The outcomes of a program, computed once for each."""
    key = make if isinstance(make, Built) else str(make())
    if key not in _MEANT:
        _MEANT[key] = run(read_only_test(make(), ReadOptions()), AXIOMS)
    return _MEANT[key]
