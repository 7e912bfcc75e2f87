"""Runs litmus tests across two GPUs, where system scope is what lets their threads see each other.

``python benchmarks/gpu/across_gpus.py --output DIR [FILE ...]`` takes tests of tests/litmus/gpu
whose threads are in different CTAs, puts every other CTA onto the second GPU and widens scopes
to ``.sys``. Each is run as it is, with the scopes that it had, and without synchronisation, and
is always judged by what the PTX model says of the first form. It writes DIR/across.md and
DIR/across.json. Exit status: 1 if the first form of a test showed an outcome that the model
forbids; 2 if nothing could be run.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from litmus_campaign import run_command

from fencewright.gpu import Device, description, open_devices
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.program import Common, Placement, Thread
from fencewright.simulator.gpu.litmus import GpuDevice, GpuResult, Stress, run_litmus_on_gpu
from fencewright.simulator.ptx.events import Atom, Ld, PtxFence, PtxInstruction, PtxProgram, St
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.mutants import bare, placed
from fencewright.simulator.ptx.outcomes import outcomes

GPUS = 2
FORMS = ("`.sys`", "as on one GPU", "no synchronisation")
_SCOPED = Ld | St | Atom | PtxFence


def can_be_apart(program: PtxProgram) -> bool:
    """Whether all that the threads do works between GPUs: plain accesses, atomics and fences."""
    places = [thread.placement for thread in program.threads]
    code = (each for thread in program.threads for each in thread.instructions)
    return (
        len({place.workgroup for place in places}) > 1
        and all(place.cluster is None for place in places)
        and not (program.shared or program.aliases)
        and all(isinstance(each, _SCOPED | Common) for each in code)
    )


def apart(program: PtxProgram) -> PtxProgram:
    """The program with every other CTA on the second GPU."""
    ctas = list(dict.fromkeys(thread.placement.workgroup for thread in program.threads))
    numbers = (ctas.index(thread.placement.workgroup) for thread in program.threads)
    return placed(program, (Placement(n, agent=n % GPUS, cluster=None) for n in numbers))


def widened(program: PtxProgram) -> PtxProgram:
    """The program with every scope of the system."""
    return replace(program, threads=tuple(map(_widened, program.threads)))


def _widened(thread: Thread[PtxInstruction]) -> Thread[PtxInstruction]:
    return replace(thread, instructions=tuple(map(_of_the_system, thread.instructions)))


def _of_the_system(instruction: PtxInstruction) -> PtxInstruction:
    if not isinstance(instruction, _SCOPED) or instruction.scope is None:
        return instruction
    return replace(instruction, scope=Scope.SYSTEM)


@dataclass(frozen=True, slots=True)
class Row:
    """A test, and what each of its ``FORMS`` did."""

    test: PtxLitmusTest
    results: tuple[GpuResult, ...]

    @property
    def is_right(self) -> bool:
        """Whether the right form showed nothing that the model forbids."""
        return not self.results[0].forbidden

    def cells(self) -> tuple[str, ...]:
        """The row of the Markdown table."""
        formula = str(self.test.condition.formula).replace("\\/", "or").replace("/\\", "and")
        right, *weak = self.results
        seen = f"{right.times(self.test.condition.formula):,}"
        allowed = any(
            self.test.condition.formula.holds(dict(zip(right.observables, state, strict=True)))
            for state in right.allowed
        )
        return (
            self.test.name,
            f"`{formula}`",
            "yes" if allowed else "no",
            seen,
            *(_counted(each) for each in (right, *weak)),
        )

    def failures(self) -> Iterator[str]:
        """The faults of one that is not right."""
        for text, count in self.results[0].by_text(self.results[0].forbidden).items():
            yield f"{self.test.name}: forbidden outcome {text}: {count}"

    def record(self) -> dict[str, object]:
        """The row as JSON."""
        return {
            "name": self.test.name,
            "condition": str(self.test.condition),
            "forms": {
                form: {
                    "instances": each.instances,
                    "gave_up": each.gave_up,
                    "outcomes": each.by_text(each.histogram),
                    "forbidden": each.by_text(each.forbidden),
                }
                for form, each in zip(FORMS, self.results, strict=True)
            },
        }


def _counted(result: GpuResult) -> str:
    forbidden = f"{sum(result.forbidden.values()):,}"
    return forbidden + (f", {result.gave_up:,} gave up" if result.gave_up else "")


def run_campaign(
    tests: Iterable[PtxLitmusTest], devices: Sequence[GpuDevice], stress: Stress, target: str
) -> Iterator[Row]:
    """Run the tests that can be apart."""
    for test in tests:
        if not can_be_apart(test.program):
            continue
        program = apart(test.program)
        allowed = outcomes(widened(program))
        forms = (widened(program), program, bare(program))
        yield Row(test, tuple(_run(test, each, allowed, devices, stress, target) for each in forms))


def _run(
    test: PtxLitmusTest,
    program: PtxProgram,
    allowed: Outcomes,
    devices: Sequence[GpuDevice],
    stress: Stress,
    target: str,
) -> GpuResult:
    first, *peers = devices
    return run_litmus_on_gpu(
        replace(test, program=program),
        first,
        target=target,
        stress=stress,
        allowed=allowed,
        peers=peers,
    )


_COLUMNS = (
    "test",
    "marked outcome",
    "allowed with `.sys`",
    "seen with `.sys`",
    *(f"forbidden seen: {form}" for form in FORMS),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The campaign as a command; gives the exit status."""
    return run_command(
        __doc__, arguments, "across", _COLUMNS, lambda: open_devices(GPUS), run_campaign, _described
    )


def _described(devices: Sequence[Device]) -> str:
    return f"{GPUS} of {description(devices[0])}, with peer access"


if __name__ == "__main__":
    sys.exit(main())
