"""Runs the patterns of examples/patterns on the GPU at hand, as lowered and with each order taken
away.

``python benchmarks/gpu/patterns.py --output DIR`` writes DIR/patterns.md, the last section of
docs/gpu-async.md, in the words by which `make docs` finds its rows for docs/patterns.md. Left out
are the patterns that ``async_patterns.py`` runs, and what
``fence-sim run-gpu`` cannot run, with the reason. ``--emit`` prints what would be run, and needs no
GPU. Exit status: 1 if a pattern showed what it must not; 2 if nothing could be run.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from fencewright.gpu import Device, GpuError, description
from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.gpu.kernels import GpuLitmusError, StressTest, prepare
from fencewright.simulator.gpu.litmus import GpuDevice, GpuResult, Stress, run_prepared
from fencewright.simulator.litmus_run import run
from fencewright.tools.dev.campaigns.patterns import FOLDER, LIMITS, Pattern, patterns, weakenings
from fencewright.tools.reports.markdown import markdown_table

ELSEWHERE = frozenset(path.stem for path in (FOLDER.parent / "async").glob("*.mlir"))
"""The patterns that ``async_patterns.py`` runs."""

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Trial:
    """A pattern, with ``taken`` out of it, ready to be run, or with the ``reason`` against it.

    ``allowed``: how the whole pattern may end.
    """

    pattern: Pattern
    taken: str
    allowed: Outcomes
    prepared: StressTest | None
    reason: str = ""

    def wrong(self, result: GpuResult) -> int:
        """How many instances ended as the condition forbids, or as the fault is that it shows."""
        held = result.times(self.pattern.test.condition.formula)
        ended = result.instances - result.gave_up
        return held if self.pattern.shows_a_fault else ended - held


def trials(target: str) -> Iterator[Trial]:
    """Every pattern, and every order taken away from it, but for those that are run elsewhere."""
    for pattern in patterns():
        if pattern.name in ELSEWHERE:
            continue
        allowed = run(pattern.test, LIMITS).outcomes
        assert allowed is not None
        tests = [(NOTHING, pattern.test)]
        tests += [(each.words, each.test) for each in weakenings(pattern)]
        for taken, test in tests:
            try:
                prepared = prepare(test.test.program, allowed, target, test.shared)
            except GpuLitmusError as problem:
                yield Trial(pattern, taken, allowed, None, str(problem))
                continue
            yield Trial(pattern, taken, allowed, prepared)


def table(rows: Sequence[tuple[Trial, GpuResult]]) -> str:
    """The rows as docs/gpu-async.md has them."""
    return markdown_table(
        ("pattern", "taken out", "instances", "wrong results"),
        [
            (
                f"`{trial.pattern.name}`",
                trial.taken,
                f"{result.instances - result.gave_up:,}",
                f"{trial.wrong(result):,}",
            )
            for trial, result in rows
        ],
    )


def measure(device: GpuDevice, target: str, stress: Stress) -> Iterator[tuple[Trial, GpuResult]]:
    """Run all that can be run."""
    for trial in trials(target):
        if trial.prepared is None:
            print(f"not run: {trial.pattern.name}, {trial.taken}: {trial.reason}", flush=True)
            continue
        result = run_prepared(trial.pattern.name, trial.prepared, trial.allowed, device, stress)
        print(f"{trial.pattern.name}, {trial.taken}: {trial.wrong(result):,}", flush=True)
        yield trial, result


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("gpu-patterns"), metavar="DIR")
    parser.add_argument("--launches", type=int, default=Stress().launches)
    parser.add_argument("--seconds", type=float, default=80, help="no new trial after so many")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--emit", action="store_true", help="print what would be run")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The trials as a command; gives the exit status."""
    wanted = _arguments(arguments)
    if wanted.emit:
        for trial in trials(wanted.target):
            print(f"{trial.pattern.name}, {trial.taken}: {trial.reason or 'ready'}")
        return 0
    start, rows = time.perf_counter(), list[tuple[Trial, GpuResult]]()
    stress = Stress(launches=wanted.launches, spacings=(16, 128))
    try:
        device = Device()
        for row in measure(device, wanted.target, stress):
            rows.append(row)
            if time.perf_counter() - start > wanted.seconds:
                print(f"stopped after {wanted.seconds:.0f} s: the table lacks the rest", flush=True)
                break
    except (GpuError, GpuLitmusError) as problem:
        print(problem, file=sys.stderr)
        return 2
    wanted.output.mkdir(parents=True, exist_ok=True)
    head = (
        f"Measured {date.today().isoformat()} on {description(device)}: {stress.launches} launches "
        f"of {stress.instances:,} instances for every row."
    )
    (wanted.output / "patterns.md").write_text(f"{head}\n\n{table(rows)}\n", encoding="utf-8")
    whole = (row for row in rows if row[0].taken == NOTHING and not row[0].pattern.shows_a_fault)
    bad = [trial.pattern.name for trial, result in whole if trial.wrong(result)]
    for name in bad:
        print(f"FAILED: {name}: wrong results as lowered", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
