"""Fuzzing insert-proxy-fences: random asynchronous programs end as their actions, one by one, do.

Programs are free of data races whatever the proxies (``simulator.random.async_programs``), so that
every execution ends in one way, if the passes have inserted what the proxies take. Each is
lowered for a PTX chip and executed in the PTX model. Of one in ``PROBED`` everything that was
inserted is left out again, one at a time.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xdsl.context import Context
from xdsl.passes import ModulePass

from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.litmus.write_async import write
from fencewright.passes.options import OptLevel
from fencewright.passes.pipelines import pipeline_of
from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass
from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.processes.campaign import Task, code_digest
from fencewright.simulator.core.processes.campaign import run as run_tasks
from fencewright.simulator.litmus_run import Limits, PtxTest, run
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.random.async_programs import ActionKind, AsyncProgram, draw, smaller
from fencewright.tools.fuzz.totals import Totals, Violation
from fencewright.tools.inputs.litmus.files import parse_module

LIMITS = Limits(states=20_000, bound=3)
"""The limits of one check; a program that needs more is too large, which proves nothing."""

PROBED = 10
"""Of one seed in so many everything that was inserted is left out, one at a time."""

HEAD = "// fuzz --async: "
"""The beginning of a file with a program; the name of a setting follows."""

CHUNK = 25
"""The number of seeds that one task checks."""


@dataclass(frozen=True, slots=True)
class AsyncSetting:
    """The target and options of a program's lowering."""

    chip: str
    opt_level: OptLevel = 2

    def __str__(self) -> str:
        return f"{self.chip} -O{self.opt_level}"

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that lower for it."""
        return pipeline_of(Target(self.chip), opt_level=self.opt_level).passes()


SETTINGS: Mapping[str, AsyncSetting] = MappingProxyType(
    {
        str(each): each
        for each in (
            AsyncSetting("sm_90a"),
            AsyncSetting("sm_90a", 0),
            AsyncSetting("sm_90"),
            AsyncSetting("sm_100"),
            AsyncSetting("sm_120"),
        )
    }
)


_ONLY: Mapping[ActionKind, tuple[str, ...]] = MappingProxyType(
    {ActionKind.MULTIPLY: ("sm_90a",), ActionKind.ZERO: ("sm_100", "sm_120")}
)
"""The chips that have all that a kind of action needs, where not all have it."""


def setting_of(seed: int, program: AsyncProgram) -> AsyncSetting:
    """The setting of a seed's program: a chip that has all that it needs."""
    settings = list(SETTINGS.values())
    for kind, chips in _ONLY.items():
        if kind in program.needs:
            settings = [each for each in settings if each.chip in chips]
    return settings[seed % len(settings)]


class AsyncVerdict(FastStrEnum):
    """The result of a check of a program."""

    SOUND = "sound"
    TOO_LARGE = "too large"
    UNSOUND = "unsound"
    HANGS = "hangs"
    FAILED = "failed"

    @property
    def is_violation(self) -> bool:
        """True if something is wrong with the passes."""
        return self not in (AsyncVerdict.SOUND, AsyncVerdict.TOO_LARGE)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result, in words too, and the test that was executed."""

    verdict: AsyncVerdict
    message: str = ""
    test: PtxTest | None = None


def lowered(program: AsyncProgram, passes: Iterable[ModulePass]) -> PtxTest:
    """A program as it is executed, lowered by ``passes``."""
    module = parse_module("<program>", write(program))
    for step in passes:
        step.apply(Context(), module)
    test = read_only_test(module, ReadOptions())
    assert isinstance(test, PtxTest)
    return test


def check(
    program: AsyncProgram, setting: AsyncSetting, passes: Iterable[ModulePass] | None = None
) -> Checked:
    """A check that a lowered program ends as intended, and only so."""
    try:
        test = lowered(program, setting.passes() if passes is None else passes)
        return judge(test)
    except Exception as problem:  # A fuzzer tells of whatever a pass raises.
        return Checked(AsyncVerdict.FAILED, f"{type(problem).__name__}: {problem}")


def judge(test: PtxTest) -> Checked:
    """A check that every execution of a test ends, and satisfies its condition."""
    found = run(test, LIMITS)
    assert found.outcomes is not None
    if found.errors:
        return Checked(AsyncVerdict.UNSOUND, found.errors[0], test)
    for state in found.outcomes.as_mappings():
        if None in state.values():
            return Checked(AsyncVerdict.HANGS, _shown(found.outcomes), test)
        if not test.condition.formula.holds(state):
            return Checked(AsyncVerdict.UNSOUND, _shown(found.outcomes), test)
    if found.incomplete:
        return Checked(AsyncVerdict.TOO_LARGE, found.incomplete, test)
    if not found.outcomes.states:
        return Checked(AsyncVerdict.HANGS, "no execution ends", test)
    return Checked(AsyncVerdict.SOUND, "", test)


def _shown(outcomes: Outcomes) -> str:
    return "; ".join(" ".join(line.split()) for line in str(outcomes).splitlines())


def without_the_pass(setting: AsyncSetting) -> tuple[ModulePass, ...]:
    """The passes of a setting but for the one that is checked."""
    return tuple(each for each in setting.passes() if not isinstance(each, InsertProxyFencesPass))


# Inserted synchronisation

_INSERTED = (
    "fence.proxy",
    "fence.mbarrier_init",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
)
"""The beginnings of instructions that only the pass writes in these programs."""


def without_each(test: PtxTest) -> Iterator[tuple[str, PtxTest]]:
    """Each instruction that was inserted, and the test without it."""
    program = test.test.program
    for number, thread in enumerate(program.threads):
        for place, instruction in enumerate(thread.instructions):
            text = instruction_text(instruction)
            if not text.startswith(_INSERTED):
                continue
            code = (*thread.instructions[:place], *thread.instructions[place + 1 :])
            places = (*thread.places[:place], *thread.places[place + 1 :])
            changed = replace(thread, instructions=code, places=places)
            threads = (*program.threads[:number], changed, *program.threads[number + 1 :])
            weaker = replace(test.test, program=replace(program, threads=threads))
            yield text, replace(test, test=weaker)


# Campaigns


@dataclass(slots=True)
class AsyncTotals(Totals):
    """The totals of asynchronous programs.

    ``kinds`` counts the programs with an action of a kind. Of the ``probed`` programs
    ``wrong_without_the_pass`` count those that go wrong if nothing is inserted; ``inserted`` and
    ``missed`` count, by instruction, what was inserted and what is missed when it is left out.
    """

    probed: int = 0
    wrong_without_the_pass: int = 0
    verdicts: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter)
    )
    kinds: Counter[str] = field(default_factory=Counter[str])
    inserted: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])

    def count(self, verdict: AsyncVerdict) -> int:
        """The number of programs with that verdict."""
        return sum(each[verdict] for each in self.verdicts.values())

    def add(self, seed: int) -> None:
        """Check the program of one seed."""
        program = draw(seed)
        setting = setting_of(seed, program)
        checked = check(program, setting)
        self.programs += 1
        self.kinds.update(program.needs)
        self.verdicts[str(setting)][checked.verdict] += 1
        if checked.verdict.is_violation:
            found = Violation(seed, str(setting), checked.verdict, checked.message)
            self.violations.append(found)
        elif checked.verdict is AsyncVerdict.SOUND and seed % PROBED == 0:
            assert checked.test is not None
            self._probe(program, setting, checked.test)

    def _probe(self, program: AsyncProgram, setting: AsyncSetting, test: PtxTest) -> None:
        self.probed += 1
        bare = check(program, setting, without_the_pass(setting))
        self.wrong_without_the_pass += bare.verdict.is_violation
        for text, weaker in without_each(test):
            self.inserted[text] += 1
            self.missed[text] += judge(weaker).verdict.is_violation


def check_seeds(first: int, count: int) -> dict[str, Any]:
    """Check ``count`` seeds from ``first`` on; the data of their ``AsyncTotals``."""
    start = time.process_time()
    totals = AsyncTotals()
    for seed in range(first, first + count):
        totals.add(seed)
    totals.seconds = time.process_time() - start
    return totals.data()


def campaign(
    first: int, count: int, executor: Executor | None = None, stream: Path | None = None
) -> Generator[AsyncTotals]:
    """The totals of ``count`` seeds from ``first`` on, growing as tasks are done.

    With ``stream`` results are kept, and those that it has already are not computed again;
    results of other code are refused with a ``CampaignError``.
    """
    tasks = (
        Task(f"async {start}+{size}", check_seeds, (start, size))
        for start in range(first, first + count, CHUNK)
        for size in (min(CHUNK, first + count - start),)
    )
    totals = AsyncTotals()
    for _, data in run_tasks(tasks, executor, stream, f"fuzz async {code_digest()}"):
        totals.include(data)
        yield totals


def smallest(violation: Violation) -> AsyncProgram:
    """The smallest program found that shows the fault of a seed."""
    setting = SETTINGS[violation.setting]
    program = draw(violation.seed)
    while True:
        shrunk = next(
            (
                each
                for each in smaller(program)
                if check(each, setting).verdict == violation.verdict
            ),
            None,
        )
        if shrunk is None:
            return program
        program = shrunk
