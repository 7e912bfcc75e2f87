"""Runs litmus tests on the GPU at hand, and compares what is seen with the PTX model.

``python benchmarks/gpu/litmus_campaign.py --output DIR [FILE ...]`` writes DIR/litmus.md and
DIR/litmus.json; the default are all tests of tests/litmus/gpu. Tests in one CTA or
cluster run twice, with their locations in global and in shared memory. Exit status: 1 if an outcome
that the model forbids was seen, or if a planted bug was not noticed; 2 if nothing could be run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Protocol, TypeVar

from fencewright.gpu import Device, GpuError, description
from fencewright.simulator.core.condition import Condition, LitmusError, Quantifier
from fencewright.simulator.gpu.kernels import GpuLitmusError, arrange
from fencewright.simulator.gpu.litmus import GpuDevice, GpuResult, Stress, run_litmus_on_gpu
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, read_litmus
from fencewright.simulator.ptx.instructions import AsyncCopy
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.tools.reports.markdown import markdown_row, markdown_table

_TESTS = Path(__file__).parents[2] / "tests" / "litmus" / "gpu"

PLANTED = (("MP", "MP+rel+acq"), ("SB", "SB+fence.sc"), ("MP+rel+acq.cta", "MP+rel+acq"))
"""Weakened tests, each judged by the outcomes of the right one: the stress has to notice."""


class CampaignRow(Protocol):
    """A test of a campaign as it was run."""

    @property
    def is_right(self) -> bool:
        """True where it showed what it has to."""
        ...

    def cells(self) -> tuple[str, ...]:
        """The row of the Markdown table."""
        ...

    def record(self) -> dict[str, object]:
        """The row as JSON."""
        ...

    def failures(self) -> Iterator[str]:
        """The faults of one that is not right."""
        ...


_DevicesT = TypeVar("_DevicesT")


@dataclass(frozen=True, slots=True)
class Row:
    """One test as it was run; ``marked`` is how often the formula of its condition held.

    ``planted``: it is wrong on purpose, so that forbidden outcomes are expected.
    """

    name: str
    condition: Condition
    result: GpuResult
    seconds: float
    planted: bool = False

    @property
    def marked(self) -> int:
        """How often the formula of the condition held."""
        return self.result.times(self.condition.formula)

    @property
    def forbidden(self) -> int:
        """How many instances ended in a state that the model forbids."""
        return sum(self.result.forbidden.values())

    @property
    def is_right(self) -> bool:
        """Whether nothing forbidden was seen, or the planted bug was."""
        return bool(self.forbidden) is self.planted

    def cells(self) -> tuple[str, ...]:
        """The row of the Markdown table."""
        forbids = self.planted or self.condition.quantifier is Quantifier.NOT_EXISTS
        allowed = "no" if forbids else "yes"
        formula = str(self.condition.formula).replace("\\/", "or").replace("/\\", "and")
        verdict = "ok" if self.is_right else "FAILED"
        counts = (self.result.instances, self.marked, self.forbidden)
        return (self.name, f"`{formula}`", allowed, *(f"{n:,}" for n in counts), verdict)

    def failures(self) -> Iterator[str]:
        """The faults of one that is not right."""
        if self.planted:
            yield f"{self.name}: not noticed; the stress is too weak"
        for text, count in self.result.by_text(self.result.forbidden).items():
            yield f"{self.name}: forbidden outcome {text}: {count}"

    def record(self) -> dict[str, object]:
        """The row as JSON."""
        result = self.result
        return {
            "name": self.name,
            "condition": str(self.condition),
            "planted": self.planted,
            "instances": result.instances,
            "marked": self.marked,
            "seconds": round(self.seconds, 3),
            "outcomes": result.by_text(result.histogram),
            "forbidden": result.by_text(result.forbidden),
        }


def run_campaign(
    tests: Iterable[PtxLitmusTest], device: GpuDevice, stress: Stress, target: str
) -> Iterator[Row]:
    """Run every test, in shared memory too if of one cluster, then the planted bugs among them."""
    listed = {test.name: test for test in tests}
    for test in listed.values():
        yield _row(test, device, stress, target)
        if len(arrange(test.program).clusters) == 1 and not _has_copies(test):
            named = replace(test.program, name=f"{test.name} (shared)")
            shared = replace(test, program=named)
            yield _row(shared, device, stress, target, shared=True)
    for weakened, right in PLANTED:
        if weakened in listed and right in listed:
            yield _planted(listed[weakened], listed[right], device, stress, target)


def _has_copies(test: PtxLitmusTest) -> bool:
    """Whether the test itself says what is in shared memory."""
    return any(isinstance(each, AsyncCopy) for t in test.program.threads for each in t.instructions)


def _row(
    test: PtxLitmusTest, device: GpuDevice, stress: Stress, target: str, shared: bool = False
) -> Row:
    start = time.perf_counter()
    try:
        result = run_litmus_on_gpu(test, device, target=target, stress=stress, shared=shared)
    except GpuLitmusError as error:
        raise GpuLitmusError(f"{test.name}: {error}") from error
    return Row(test.name, test.condition, result, time.perf_counter() - start)


def _planted(
    weakened: PtxLitmusTest, right: PtxLitmusTest, device: GpuDevice, stress: Stress, target: str
) -> Row:
    start = time.perf_counter()
    allowed = outcomes(right.program)
    result = run_litmus_on_gpu(weakened, device, target=target, stress=stress, allowed=allowed)
    name = f"planted: {weakened.name} as {right.name}"
    return Row(name, right.condition, result, time.perf_counter() - start, planted=True)


_COLUMNS = ("test", "marked outcome", "allowed", "instances", "seen", "forbidden seen", "verdict")


def report(
    rows: Sequence[CampaignRow], columns: Sequence[str], machine: str, output: Path, name: str
) -> int:
    """Write NAME.md and NAME.json to ``output``; the exit status, 1 if a row is not right."""
    output.mkdir(parents=True, exist_ok=True)
    page = output / f"{name}.md"
    page.write_text(f"{machine}\n\n{markdown_table(columns, [row.cells() for row in rows])}")
    data = {"machine": machine, "rows": [row.record() for row in rows]}
    page.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")
    wrong = [row for row in rows if not row.is_right]
    for failure in (each for row in wrong for each in row.failures()):
        print(f"FAILED: {failure}", file=sys.stderr)
    print(f"{len(rows)} tests, {len(wrong)} failed; see {page}")
    return 1 if wrong else 0


def run_command(
    documentation: str | None,
    arguments: Sequence[str] | None,
    name: str,
    columns: Sequence[str],
    opened: Callable[[], _DevicesT],
    run: Callable[[Sequence[PtxLitmusTest], _DevicesT, Stress, str], Iterator[CampaignRow]],
    described: Callable[[_DevicesT], str],
) -> int:
    """A campaign as a command, with a page called ``name``; gives the exit status."""
    defaults = Stress()
    parser = argparse.ArgumentParser(description=documentation)
    parser.add_argument("files", nargs="*", type=Path, help="litmus tests (*.litmus)")
    parser.add_argument("--output", type=Path, default=Path("gpu-litmus"), metavar="DIR")
    parser.add_argument("--launches", type=int, default=defaults.launches)
    parser.add_argument("--instances", type=int, default=defaults.instances, help="in a launch")
    parser.add_argument(
        "--spacing",
        type=int,
        nargs="+",
        default=list(defaults.spacings),
        help="bytes between the same location of two instances (128: a cache line each)",
    )
    parser.add_argument("--target", default="sm_90")
    wanted = parser.parse_args(arguments)
    files: list[Path] = wanted.files or sorted(_TESTS.glob("*.litmus"))
    try:
        stress = Stress(
            instances=wanted.instances, launches=wanted.launches, spacings=tuple(wanted.spacing)
        )
        tests = [read_litmus(file) for file in files]
        devices = opened()
    except (GpuError, GpuLitmusError, LitmusError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    start = time.perf_counter()
    rows: list[CampaignRow] = []
    broken: GpuError | GpuLitmusError | None = None
    try:
        for row in run(tests, devices, stress, wanted.target):
            print(markdown_row(row.cells()), flush=True)
            rows.append(row)
    except (GpuError, GpuLitmusError) as error:
        broken = error
        print(error, file=sys.stderr)
    blocks = ", ".join(str(size) for size in stress.block_sizes)
    machine = (
        f"Measured {date.today().isoformat()} on {described(devices)}: {stress.launches} launches "
        f"of {stress.instances:,} instances, in blocks of {blocks} threads; "
        f"{time.perf_counter() - start:.0f} s in all."
    )
    status = report(rows, columns, machine, wanted.output, name)
    return 2 if broken else status


def main(arguments: Sequence[str] | None = None) -> int:
    """The campaign as a command; gives the exit status."""
    return run_command(__doc__, arguments, "litmus", _COLUMNS, Device, run_campaign, description)


if __name__ == "__main__":
    sys.exit(main())
