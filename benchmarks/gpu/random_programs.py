"""Runs random programs, with all passes, on the GPU at hand, and compares with what they mean.

``python benchmarks/gpu/random_programs.py --output DIR`` writes DIR/random.md and
DIR/random.json. The programs are those of ``fence-sim fuzz``, by the same seeds, with work-groups
of two agents on one. Each is lowered at -O2, and at -O0 where that is other code; what it ends as
has to be among what its source may end as, and loops that end at -O0 have to end at -O2. To see
what such a run can notice, two weakened forms are run too, where the PTX model says that they are
wrong: one with one instruction weaker or gone, one without any synchronisation but barriers.
Exit status: 1 if an outcome was seen that the source forbids, a loop did not end, or no weakened
form was noticed; 2 if nothing could be run.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import repeat
from pathlib import Path
from random import Random

from xdsl.dialects.builtin import ModuleOp

from fencewright.gpu import Device, GpuError, description
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.processes.campaign import open_executor
from fencewright.simulator.gpu.kernels import GpuLitmusError, StressTest, prepare
from fencewright.simulator.gpu.litmus import GpuDevice, GpuResult, Stress, run_prepared
from fencewright.simulator.litmus_run import PtxTest, Run, forbidden, run
from fencewright.simulator.ptx.events import PtxProgram
from fencewright.simulator.ptx.mutants import bare, mutants
from fencewright.tools.fuzz.checks import LIMITS, SETTINGS, Setting, lowered, meant_by, program_of
from fencewright.tools.reports.markdown import markdown_table

_MUTANTS = 8
"""How many of a program's mutants are tried for one that is wrong."""


class Form(FastStrEnum):
    """How a program is run."""

    LOWERED = "lowered, -O2"
    PLAIN = "lowered, -O0, where that is other code"
    WEAKENED = "one instruction weaker or gone"
    BARE = "no synchronisation but barriers"


class Fate(FastStrEnum):
    """What becomes of a program that is drawn."""

    RUN = "run"
    RACY = "racy"
    TOO_LARGE = "too large for the source model"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Entry:
    """A form of a program, ready for the GPU."""

    form: Form
    test: StressTest


@dataclass(frozen=True, slots=True)
class Draft:
    """A drawn program; ``allowed`` is how its source may end."""

    seed: int
    fate: Fate
    why: str = ""
    allowed: Outcomes | None = None
    entries: tuple[Entry, ...] = ()


def draft(seed: int, chip: str) -> Draft:
    """Draw the program of a seed, and make it and its weakened forms ready for ``chip``."""
    program = program_of(seed).on_one_agent()
    meant = meant_by(program)
    if meant.races:
        return Draft(seed, Fate.RACY)
    if meant.incomplete or meant.outcomes is None:
        return Draft(seed, Fate.TOO_LARGE)
    setting = SETTINGS[chip]
    plain, test = (
        _ptx_test(lowered(build(program), setting.passes(level)), setting) for level in (0, 2)
    )
    entries: list[Entry] = []
    for form, code in _forms(test, plain.test.program, meant, seed):
        try:
            ready = prepare(code, meant.outcomes, chip, test.shared)
        except GpuLitmusError as problem:
            if form is Form.LOWERED:
                return Draft(seed, Fate.NOT_RUN, str(problem))
            continue
        entries.append(Entry(form, ready))
    return Draft(seed, Fate.RUN, "", meant.outcomes, tuple(entries))


def _ptx_test(module: ModuleOp, setting: Setting) -> PtxTest:
    test = read_only_test(module, setting.options)
    assert isinstance(test, PtxTest)
    return test


def _forms(
    test: PtxTest, plain: PtxProgram, meant: Run, seed: int
) -> Iterator[tuple[Form, PtxProgram]]:
    """The forms to run; of weakened ones those wrong by the PTX model, a mutant if found."""
    best = test.test.program
    yield Form.LOWERED, best
    if plain != best:
        yield Form.PLAIN, plain
    found = [each.program for each in mutants(best)]
    drawn = Random(seed).sample(found, min(len(found), _MUTANTS))
    mutant = next((each for each in drawn if _is_wrong(test, each, meant)), None)
    if mutant is not None:
        yield Form.WEAKENED, mutant
    without = bare(best)
    if _is_wrong(test, without, meant):
        yield Form.BARE, without


def _is_wrong(test: PtxTest, program: PtxProgram, meant: Run) -> bool:
    """Whether the PTX model lets a form of the program end as the source forbids."""
    does = run(replace(test, test=replace(test.test, program=program)), LIMITS)
    return forbidden(meant, does) is not None


# Totals


@dataclass(slots=True)
class Tally:
    """What became of one form of the programs; sets and lists have their seeds.

    ``ran``: all that have the form; ``seeds``: with forbidden outcomes; ``waiting``: gave up.
    """

    ran: set[int] = field(default_factory=set[int])
    instances: int = 0
    gave_up: int = 0
    forbidden: int = 0
    seeds: list[int] = field(default_factory=list[int])
    waiting: set[int] = field(default_factory=set[int])

    def add(self, seed: int, result: GpuResult) -> None:
        """Count one program."""
        self.ran.add(seed)
        self.instances += result.instances
        self.gave_up += result.gave_up
        seen = sum(result.forbidden.values())
        self.forbidden += seen
        if seen:
            self.seeds.append(seed)
        if result.gave_up:
            self.waiting.add(seed)

    @property
    def programs(self) -> int:
        """How many programs have the form."""
        return len(self.ran)

    def cells(self, form: Form) -> tuple[str, ...]:
        """The row of the Markdown table."""
        counts = (self.programs, self.instances, self.gave_up, self.forbidden, len(self.seeds))
        return (form, *(f"{n:,}" for n in counts))


@dataclass(slots=True)
class Totals:
    """What became of all programs."""

    fates: Counter[Fate] = field(default_factory=Counter[Fate])
    tallies: dict[Form, Tally] = field(default_factory=lambda: {form: Tally() for form in Form})

    def add(self, drawn: Draft, results: Iterable[tuple[Form, GpuResult]]) -> None:
        """Count one program."""
        self.fates[drawn.fate] += 1
        for form, result in results:
            self.tallies[form].add(drawn.seed, result)

    @property
    def problems(self) -> Iterator[str]:
        """What is wrong, or makes the run worth nothing."""
        best, plain, *weak = (self.tallies[form] for form in Form)
        for seed in sorted({*best.seeds, *plain.seeds}):
            yield f"seed {seed}: an outcome that the source forbids"
        for seed in sorted(best.waiting & plain.ran - plain.waiting):
            yield f"seed {seed}: a loop that ends at -O0 did not end at -O2"
        if any(each.programs for each in weak) and not any(each.seeds for each in weak):
            yield "no weakened program was noticed; the stress is too weak"


def campaign(drafts: Iterable[Draft], device: GpuDevice, stress: Stress) -> Iterator[Totals]:
    """The totals of the programs, growing."""
    totals = Totals()
    for drawn in drafts:
        totals.add(drawn, _results(drawn, device, stress))
        yield totals


def _results(drawn: Draft, device: GpuDevice, stress: Stress) -> Iterator[tuple[Form, GpuResult]]:
    for entry in drawn.entries:
        assert drawn.allowed is not None
        name = f"{drawn.seed}, {entry.form}"
        yield entry.form, run_prepared(name, entry.test, drawn.allowed, device, stress)


_COLUMNS = ("code", "programs", "instances", "gave up", "forbidden outcomes", "in programs")


def markdown(totals: Totals, machine: str, first: int) -> str:
    """The section of docs/gpu-litmus.md."""
    drawn = totals.fates.total()
    fates = ", ".join(f"{totals.fates[fate]:,} {fate}" for fate in Fate)
    rows = [tally.cells(form) for form, tally in totals.tallies.items()]
    return "\n".join(
        [
            machine,
            "",
            f"Seeds {first:,} to {first + drawn - 1:,}: {fates}.",
            "",
            markdown_table(_COLUMNS, rows),
        ]
    )


def report(totals: Totals, machine: str, first: int, output: Path) -> int:
    """Write random.md and random.json to ``output``; the exit status, 1 where one is wrong."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "random.md").write_text(markdown(totals, machine, first))
    data = {
        "machine": machine,
        "first": first,
        "fates": {fate: totals.fates[fate] for fate in Fate},
        "noticed": {form: tally.seeds for form, tally in totals.tallies.items()},
    }
    (output / "random.json").write_text(json.dumps(data, indent=1) + "\n")
    problems = list(totals.problems)
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    print(f"{totals.fates.total():,} programs; see {output / 'random.md'}")
    return 1 if problems else 0


# The command


_BATCH = 512
"""How many programs are made ready while as many others are run."""


def _drafts(wanted: argparse.Namespace) -> Iterator[Draft]:
    """The programs in the order of their seeds, made ready in other processes, until time is up."""
    end = time.monotonic() + wanted.seconds
    last = wanted.first + wanted.programs
    with open_executor(wanted.jobs) as executor:

        def begin(seed: int) -> Iterator[Draft]:
            seeds = range(seed, min(seed + _BATCH, last))
            return executor.map(draft, seeds, repeat(wanted.target), chunksize=4)

        batch = begin(wanted.first)
        for seed in range(wanted.first, last, _BATCH):
            following = begin(seed + _BATCH)
            for drawn in batch:
                yield drawn
                if time.monotonic() > end:
                    executor.shutdown(cancel_futures=True)
                    return
            batch = following


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("gpu-random"), metavar="DIR")
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many")
    parser.add_argument("--launches", type=int, default=160)
    parser.add_argument("--instances", type=int, default=65536, help="in a launch")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--target", default="sm_90", choices=[n for n in SETTINGS if n[:3] == "sm_"]
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The campaign as a command; gives the exit status."""
    wanted = _arguments(arguments)
    try:
        stress = Stress(instances=wanted.instances, launches=wanted.launches)
        device = Device()
    except (GpuError, GpuLitmusError) as error:
        print(error, file=sys.stderr)
        return 2
    start, totals = time.monotonic(), Totals()
    broken: GpuError | GpuLitmusError | None = None
    try:
        for totals in campaign(_drafts(wanted), device, stress):
            if totals.fates.total() % 100 == 0:
                print(f"{totals.fates.total():,} programs", flush=True)
    except (GpuError, GpuLitmusError) as error:
        broken = error
        print(error, file=sys.stderr)
    machine = (
        f"Measured {date.today().isoformat()} on {description(device)}, for {wanted.target}: "
        f"{stress.launches} launches of {stress.instances:,} instances of each form; "
        f"{time.monotonic() - start:.0f} s in all."
    )
    status = report(totals, machine, wanted.first, wanted.output)
    return 2 if broken else status


if __name__ == "__main__":
    sys.exit(main())
