"""fence-sim run-gpu: a litmus test on a real GPU, millions of times, held against the PTX model."""

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from fencewright.lowering.wording import counted
from fencewright.simulator.core.condition import Condition, Outcomes, Quantifier
from fencewright.simulator.litmus_run import Limits, PtxTest, RunnableTest, run
from fencewright.tools.diagnostics import Diagnostic, ToolError, error
from fencewright.tools.inputs.litmus.files import check_syntax, name_of, read_text
from fencewright.tools.inputs.litmus.lowered import (
    NAME,
    Lowering,
    add_gpu_target,
    lowering_of,
    read_string,
)
from fencewright.tools.progress import progress
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, NO_GPU, USAGE, worst
from fencewright.tools.workers import FileResult, cluster_address, run_side_by_side

if TYPE_CHECKING:
    from fencewright.gpu import Device
    from fencewright.simulator.gpu.litmus import GpuResult, Stress
    from fencewright.simulator.gpu.witness import Case

_LIMITS = Limits(states=10_000_000)
"""The limits of the PTX model for the judgement of a test."""


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``run-gpu``."""
    runner = add_parser(
        "run-gpu", help="run tests on an NVIDIA GPU, and count outcomes that the model forbids"
    )
    runner.set_defaults(execute=run_on_gpu)
    runner.add_argument("inputs", nargs="+", metavar="FILE", help=".mlir or .litmus, - for stdin")
    runner.add_argument("--test", metavar="NAME", help="only the test of this name")
    runner.add_argument("--json", action="store_true", help="one JSON object a line, for tools")
    runner.add_argument(
        "--emit-ptx", action="store_true", help="print the kernels, which needs no GPU"
    )
    witness = runner.add_argument_group("a race of a kernel")
    witness.add_argument(
        "--witness",
        metavar="LAUNCH",
        help="launch a PTX kernel with one side of its race held up, and count wrong results",
    )
    witness.add_argument(
        "--fixed",
        metavar="[FILE:]KERNEL",
        help="its twin without the race, which says what is right",
    )
    stress = runner.add_argument_group("stress")
    stress.add_argument("--instances", metavar="N", type=int, help="in a launch (65536)")
    stress.add_argument("--launches", metavar="N", type=int, help="(160)")
    stress.add_argument(
        "--block-sizes", metavar="N,..", type=_numbers, help="threads (32,64,256,1024)"
    )
    stress.add_argument(
        "--spacing",
        metavar="N,..",
        type=_numbers,
        help="bytes from one instance's location to the next's (4); 128: a cache line each",
    )
    stress.add_argument(
        "--seed", metavar="N", type=int, help="draw block sizes, spacings and partners at random"
    )
    stress.add_argument(
        "--shared", action="store_true", help="all locations in shared memory, of a test in one CTA"
    )
    runner.add_argument(
        "--gpus",
        metavar="N",
        type=_gpus,
        default=1,
        help="run the agents of a test on so many GPUs, which reach each other's memory",
    )
    runner.add_argument(
        "--cluster",
        metavar="ADDRESS",
        type=cluster_address,
        help="on the GPUs of the workers of a Dask scheduler, as tcp://host:8786",
    )
    runner.set_defaults(jobs=1)
    add_gpu_target(runner)


def _gpus(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"expected a number of GPUs, found '{text}'")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdigit() for part in parts):
        raise ArgumentTypeError(f"expected numbers with commas between, found '{text}'")
    return tuple(map(int, parts))


# Running


@dataclass(frozen=True, slots=True)
class Job:
    """A test with its criterion: ``allowed`` are the outcomes of the PTX model.

    ``shared`` are the locations in shared memory, True for all.
    """

    file: str
    test: PtxTest
    allowed: Outcomes
    shared: bool | frozenset[str]


@dataclass(frozen=True, slots=True)
class GpuReport:
    """The result of a test on a GPU."""

    job: Job
    machine: str
    result: "GpuResult"
    seconds: float

    @property
    def status(self) -> int:
        """The status of conformance to the model; not known if no instance ended."""
        if self.result.forbidden:
            return DOES_NOT_HOLD
        return HOLDS if self.result.histogram else INCOMPLETE

    @property
    def counts(self) -> tuple[int, int]:
        """The instances in which the condition's formula held, and the others that ended."""
        positive = self.result.times(self.job.test.condition.formula)
        return (positive, sum(self.result.histogram.values()) - positive)

    @property
    def condition_holds(self) -> bool:
        """True if the condition holds of the observed states."""
        return _verdict(self.job.test.condition, *self.counts)

    def text(self) -> str:
        """The report as litmus7 would print it."""
        result, condition = self.result, self.job.test.condition
        positive, negative = self.counts
        seen = len(result.histogram)
        allowed = seen - len(result.forbidden)
        width = len(f"{max(result.histogram.values(), default=0):,}")
        lines = [
            f"Test {result.name} ({self.machine})",
            f"Histogram ({counted(seen, 'state')}, "
            f"{allowed} of {len(result.allowed)} that the model allows)",
            *self._histogram(width),
        ]
        if result.gave_up:
            lines.append(f"Gave up: {result.gave_up:,}, in a loop that did not end in time")
        lines += [
            _WORDS[self.status],
            f"Forbidden: {sum(result.forbidden.values()):,} of {result.instances:,}",
            f"Condition {condition}: {'holds' if self.condition_holds else 'does not hold'} here",
            f"Observation {result.name} {_often(positive, negative)} {positive} {negative}",
            f"Time {result.name} {self.seconds:.3f} s",
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self, width: int) -> Iterator[str]:
        result, formula = self.result, self.job.test.condition.formula
        for state, count in sorted(result.histogram.items(), key=lambda item: -item[1]):
            values = dict(zip(result.observables, state, strict=True))
            mark = "*>" if formula.holds(values) else ":>"
            shown = " ".join(f"{o}={'?' if v is None else v};" for o, v in values.items())
            wrong = " forbidden" if state in result.forbidden else ""
            yield f"{count:>{width},} {mark} {shown}{wrong}"

    def data(self) -> dict[str, object]:
        """The report for tools."""
        result = self.result
        positive, negative = self.counts
        return {
            "file": self.job.file,
            "test": result.name,
            "machine": self.machine,
            "verdict": _VERDICTS[self.status],
            "condition": str(self.job.test.condition),
            "condition_holds": self.condition_holds,
            "histogram": [
                {
                    "state": {str(o): v for o, v in zip(result.observables, state, strict=True)},
                    "count": count,
                    "forbidden": state in result.forbidden,
                }
                for state, count in sorted(result.histogram.items(), key=lambda item: -item[1])
            ],
            "allowed": len(result.allowed),
            "instances": result.instances,
            "forbidden": sum(result.forbidden.values()),
            "gave_up": result.gave_up,
            "positive": positive,
            "negative": negative,
            "seconds": round(self.seconds, 6),
        }


_WORDS = {HOLDS: "Ok", DOES_NOT_HOLD: "No", INCOMPLETE: "Incomplete"}
_VERDICTS = {HOLDS: "holds", DOES_NOT_HOLD: "fails", INCOMPLETE: "incomplete"}


def _often(positive: int, negative: int) -> str:
    return "Never" if not positive else "Sometimes" if negative else "Always"


def _verdict(condition: Condition, positive: int, negative: int) -> bool:
    match condition.quantifier:
        case Quantifier.EXISTS:
            return positive > 0
        case Quantifier.NOT_EXISTS:
            return positive == 0
        case Quantifier.FORALL:
            return negative == 0


def run_on_gpu(arguments: Namespace) -> int:
    """``fence-sim run-gpu``: the status of the worst test. Raises :class:`ToolError`."""
    if arguments.witness is not None or arguments.fixed is not None:
        return _show_witness(arguments)
    stress = _stress(arguments)
    texts = [(path, read_text(path)) for path in arguments.inputs]
    # A test that cannot be parsed is reported without a GPU too.
    for path, text in texts:
        check_syntax(path, text)
    if arguments.cluster is not None and not arguments.emit_ptx:
        # The GPUs are the workers'.
        return worst(run_side_by_side(texts, run_file_on_gpu, arguments, _tell))
    devices = [] if arguments.mcpu or arguments.emit_ptx else _open_devices(arguments.gpus)
    chip = arguments.mcpu or (_chip_of(devices[0]) if devices else _DEFAULT_CHIP)
    lowering = replace(lowering_of(arguments), chip=chip, takes_columns=True)
    jobs = [job for path, text in texts for job in _jobs(path, text, lowering, arguments)]
    # Before anything is run: what cannot be is an error.
    kernels = [_kernels(job, chip, stress, arguments.gpus) for job in jobs]
    if arguments.emit_ptx:
        print(*kernels, sep="\n", end="")
        return HOLDS
    devices = devices or _open_devices(arguments.gpus)
    _check_runs(devices[0], chip)
    statuses: list[int] = []
    with progress(len(jobs), "tests") as display:
        for job in jobs:
            report = _run(job, devices, chip, stress)
            display.show(json.dumps(report.data()) if arguments.json else report.text())
            statuses.append(report.status)
            display.update(len(statuses), statuses.count(DOES_NOT_HOLD))
    return worst(statuses)


def run_file_on_gpu(path: str, text: str, arguments: Namespace) -> dict[str, Any]:
    """The tests of a file on this machine's GPUs, as a task of a campaign.

    The data of a ``FileResult``; what is wrong is in it.
    """
    reports: list[GpuReport] = []
    reported: tuple[Diagnostic, ...] = ()
    statuses: list[int] = []
    try:
        devices = _open_devices(arguments.gpus)
        chip = arguments.mcpu or _chip_of(devices[0])
        lowering = replace(lowering_of(arguments), chip=chip, takes_columns=True)
        stress = _stress(arguments)
        _check_runs(devices[0], chip)
        for job in _jobs(path, text, lowering, arguments):
            _kernels(job, chip, stress, arguments.gpus)
            reports.append(_run(job, devices, chip, stress))
            statuses.append(reports[-1].status)
    except ToolError as problem:
        reported = problem.diagnostics
        statuses.append(problem.status if problem.status in (INCOMPLETE, NO_GPU) else USAGE)
    shown = (json.dumps(each.data()) if arguments.json else each.text() for each in reports)
    return FileResult(tuple(shown), tuple(statuses), reported).data()


def _tell(diagnostics: "Sequence[Diagnostic]") -> None:
    if diagnostics:
        print(*diagnostics, sep="\n", file=sys.stderr)


def _kernels(job: Job, chip: str, stress: "Stress", gpus: int) -> str:
    """The PTX of a test. Raises :class:`ToolError` if it cannot be run under ``stress``."""
    from fencewright.simulator.gpu.kernels import GpuLitmusError, prepare

    try:
        kernels = prepare(job.test.test.program, job.allowed, chip, job.shared)
        for launch in stress:
            kernels.slots(launch)
    except GpuLitmusError as problem:
        raise error(f"'{job.test.name}' cannot be run on a GPU: {problem}", job.file) from problem
    if len(kernels.modules) > gpus:
        needed = f"pass --gpus {len(kernels.modules)}"
        raise error(f"the threads of '{job.test.name}' are on different GPUs: {needed}", job.file)
    return "\n".join(kernels.modules)


_DEFAULT_CHIP = "sm_90"
"""The chip of printed kernels if none is given."""


def _stress(arguments: Namespace) -> "Stress":
    from fencewright.simulator.gpu.kernels import GpuLitmusError
    from fencewright.simulator.gpu.litmus import Stress

    options = {
        "instances": arguments.instances,
        "launches": arguments.launches,
        "block_sizes": arguments.block_sizes,
        "spacings": arguments.spacing,
        "seed": arguments.seed,
    }
    try:
        return Stress(**{name: value for name, value in options.items() if value is not None})
    except GpuLitmusError as problem:
        raise error(str(problem), NAME) from problem


def _open_devices(count: int) -> "list[Device]":
    """The first GPUs of the machine; each reaches the others' memory."""
    from fencewright import gpu

    try:
        return gpu.open_devices(count)
    except gpu.GpuError as problem:
        raise ToolError((Diagnostic(str(problem), NAME),), status=NO_GPU) from problem


def _check_runs(device: "Device", chip: str) -> None:
    """Raise :class:`ToolError` where code for ``chip`` is too new for the device."""
    from fencewright.lowering.ptx.select import chip_named

    major, minor = device.compute_capability
    if chip_named(chip).number > 10 * major + minor:
        raise error(f"{device.name} is of sm_{major}{minor} and runs nothing for {chip}", NAME)


def _chip_of(device: "Device") -> str:
    """The newest chip that is known and whose code the device runs."""
    from fencewright.lowering.ptx.chip import CHIPS

    major, minor = device.compute_capability
    plain = [chip for chip in CHIPS if chip.is_plain]
    runs = [chip for chip in plain if chip.number <= 10 * major + minor]
    if not runs:
        raise error(f"{device.name} is older than any chip that is known: {plain[0].name}", NAME)
    return runs[-1].name


def _jobs(path: str, text: str, lowering: Lowering, arguments: Namespace) -> Iterator[Job]:
    """The tests of a file. What ``--without`` weakens is judged as if it were whole."""
    file = name_of(path)
    tests = read_string(path, text, lowering, arguments.test)
    whole = tests
    if lowering.damages:
        whole = read_string(path, text, replace(lowering, damages=()), arguments.test)
    for test, right in zip(tests, whole, strict=True):
        weak, allowed = _ptx(test, file), _allowed(_ptx(right, file), file)
        yield Job(file, weak, allowed, arguments.shared or weak.shared)


def _ptx(test: RunnableTest, file: str) -> PtxTest:
    if isinstance(test, PtxTest):
        return test
    raise error(f"'{test.name}' is in {test.language}; a GPU runs PTX: pass --mcpu sm_90", file)


def _allowed(test: PtxTest, file: str) -> Outcomes:
    found = run(test, _LIMITS)
    if found.incomplete:
        raise error(f"'{test.name}' has more outcomes than were found: {found.incomplete}", file)
    return cast(Outcomes, found.outcomes)


def _run(job: Job, devices: "Sequence[Device]", chip: str, stress: "Stress") -> GpuReport:
    from fencewright.gpu import GpuError
    from fencewright.simulator.gpu.kernels import GpuLitmusError
    from fencewright.simulator.gpu.litmus import run_litmus_on_gpu

    device, *peers = devices
    start = time.perf_counter()
    try:
        result = run_litmus_on_gpu(
            job.test.test,
            device,
            target=chip,
            stress=stress,
            shared=job.shared,
            allowed=job.allowed,
            peers=peers,
        )
    except (GpuError, GpuLitmusError) as problem:
        about = Diagnostic(f"'{job.test.name}': {problem}", job.file)
        raise ToolError((about,), status=INCOMPLETE) from problem
    name = f"{len(devices)} of {device.name}" if peers else device.name
    return GpuReport(job, f"{name}, {chip}", result, time.perf_counter() - start)


# Witnesses of races

_LAUNCHES = 10
"""Launches of each variant of a witness."""
_PATIENCE = 5.0
"""Seconds after which a launch of a witness hangs."""


def _show_witness(arguments: Namespace) -> int:
    """Show a race of a PTX kernel: the status is 1 where a launch had a wrong result."""
    from fencewright.gpu import Device, GpuError, description
    from fencewright.simulator.gpu.witness import count_wrong

    case = _witness(arguments)
    if arguments.emit_ptx:
        for each in case.variants:
            print(f"// {each.kernel}: {each.aim or 'as it is'}\n{each.ptx}")
        return HOLDS
    try:
        device = Device(patience=_PATIENCE)
    except GpuError as problem:
        raise ToolError((Diagnostic(str(problem), NAME),), status=NO_GPU) from problem
    launches = arguments.launches or _LAUNCHES
    if not arguments.json:
        print(*(f"{case.name}: {each}" for each in case.findings), sep="\n")
    status, ended = HOLDS, ""
    for each in case.variants:
        if ended:
            print(f"{case.name}: not run: {each.kernel}, {each.aim}: {ended}", file=sys.stderr)
            continue
        count = count_wrong(device, case, each, launches, GpuError)
        ended = count.problem
        if count.wrong and not each.is_twin:
            status = DOES_NOT_HOLD
        if arguments.json:
            row = {"kernel": each.kernel, "aim": each.aim, "machine": description(device)}
            print(json.dumps({**row, **asdict(count)}))
            continue
        shown = f", first in launch {count.first}" if count.first else ""
        failed = f": {count.problem}" if count.problem else ""
        print(
            f"{case.name}: {each.kernel}, {each.aim or 'as it is'}: {count.wrong} of "
            f"{count.launches} launches wrong{shown}{failed}"
        )
    return status


def _witness(arguments: Namespace) -> "Case":
    from fencewright.lowering.ptx.code.text import PtxError, read_ptx
    from fencewright.simulator.gpu.witness import case_of
    from fencewright.simulator.threads.launch import LaunchError, Module, parse_launch

    if arguments.witness is None or arguments.fixed is None or len(arguments.inputs) != 1:
        raise error("--witness takes one PTX file, and --fixed the kernel that is right", NAME)
    path = arguments.inputs[0]
    other, _, twin = arguments.fixed.rpartition(":")

    def module(path: str) -> "Module":
        text = read_text(path)
        return Module(read_ptx(text, name_of(path)))

    try:
        own = module(path)
        right = module(other) if other else own
        return case_of(name_of(path), own, parse_launch(arguments.witness), right, twin)
    except (LaunchError, PtxError) as problem:
        raise error(str(problem), NAME) from problem
