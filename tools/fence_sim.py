"""fence-sim: run litmus tests on the models of their languages, and print all outcomes."""

import json
import os
import sys
import time
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fencewright.extras import how_to_get
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.core.condition import Condition, Outcomes, Quantifier
from fencewright.simulator.core.exploration import LimitReached, Meter
from fencewright.simulator.core.processes.memory_limit import limited_to
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.core.progress import Ending, Progress
from fencewright.simulator.litmus_run import (
    Limits,
    PtxTest,
    Run,
    RunnableTest,
    SourceRaces,
    SourceTest,
    afforded,
    execution,
    progress,
    races_of_source,
    run,
    with_hangs,
)
from fencewright.tools.arguments import ToolArguments, add_completion
from fencewright.tools.commands import access as access_commands
from fencewright.tools.commands import certify as certificate_commands
from fencewright.tools.commands import fuzz as fuzz_commands
from fencewright.tools.commands import gpu as gpu_commands
from fencewright.tools.commands import pictures as picture_commands
from fencewright.tools.commands import traffic as traffic_commands
from fencewright.tools.diagnostics import (
    TRACEBACK_VARIABLE,
    Diagnostic,
    ToolError,
    add_version,
    error,
    internal_error,
    interruption,
    memory_size,
    output_file,
    positive,
    run_tool,
)
from fencewright.tools.inputs.litmus.files import is_columns, name_of, parse_columns, read_text
from fencewright.tools.inputs.litmus.lowered import NAME, add_target, lowering_of, read, read_string
from fencewright.tools.outputs import check_outputs
from fencewright.tools.progress import progress as show_progress
from fencewright.tools.progress import search
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, NO_GPU, USAGE, worst
from fencewright.tools.workers import FileResult, add_workers, run_side_by_side

if TYPE_CHECKING:
    from fencewright.simulator.ptx.formats.columns import PtxLitmusTest


class ConditionVerdict(FastStrEnum):
    """The verdict on a test's condition."""

    HOLDS = "holds"
    FAILS = "does not hold"
    RACY = "racy: no outcome is defined"
    RACY_SOURCE = "racy: the source has no defined outcome"
    WRONG = "wrong: the code is not well-formed"
    HANGS = "may hang: an execution never ends"
    NEVER_ENDS = "no execution ends"
    NO_EXECUTION = "no execution: an error of the test"
    ENDS = "does not hold: every execution ends"
    INCOMPLETE = "incomplete"


_STATUS = dict.fromkeys(ConditionVerdict, DOES_NOT_HOLD) | {
    ConditionVerdict.HOLDS: HOLDS,
    ConditionVerdict.INCOMPLETE: INCOMPLETE,
}


@dataclass(frozen=True, slots=True)
class TestReport:
    """One test that was run: its result, the verdict on its condition, and a witness if asked.

    ``progress``: whether it ends; None where no user asked, or for a malformed test. ``source``:
    the races of its source, as far as that was looked at. ``data_races`` of the test, and why
    there may be others: None where they were not asked for.
    """

    test: RunnableTest
    found: Run
    verdict: ConditionVerdict
    seconds: float
    steps: tuple[str, ...] = ()
    progress: Progress | None = None
    source: SourceRaces | None = None
    data_races: tuple[tuple[str, ...], str] | None = None

    @property
    def source_races(self) -> tuple[str, ...]:
        """The data races of the test's source."""
        return () if self.source is None else self.source.races

    @property
    def counts(self) -> tuple[int, int]:
        """Of the final states those in which the formula holds, and the others."""
        if self.found.outcomes is None:
            return (0, 0)
        states = self.found.outcomes.as_mappings()
        positive = sum(self.test.condition.formula.holds(state) for state in states)
        return (positive, len(states) - positive)

    def text(self) -> str:
        """The report as herd7 would print it."""
        test, found = self.test, self.found
        lines = [f"Test {test.name} ({test.language})"]
        if found.outcomes is not None:
            lines.append(f"States {len(found.outcomes.states)}")
            lines += _state_lines(found.outcomes, test.condition)
        lines += [f"Race: {each}" for each in found.races]
        lines += [f"Race of the source: {each}" for each in self.source_races]
        if self.source is not None and self.source.incomplete and not self.source_races:
            lines.append(f"Not decided whether the source races: {self.source.incomplete}")
        lines += [f"Error: {each}" for each in found.errors]
        lines += self._flags()
        if self.verdict in (ConditionVerdict.HOLDS, ConditionVerdict.FAILS):
            lines.append("Ok" if self.verdict is ConditionVerdict.HOLDS else "No")
        else:
            lines.append(self.verdict.capitalize())
        positive, negative = self.counts
        lines.append(f"Condition {test.condition}")
        if found.outcomes is not None:
            often = "Never" if not positive else "Sometimes" if negative else "Always"
            lines.append(f"Observation {test.name} {often} {positive} {negative}")
        lines += self.progress.lines() if self.progress is not None else ()
        if found.incomplete:
            lines.append(f"Incomplete: {found.incomplete}")
        explored = f", {found.states} machine states" if found.states else ""
        lines.append(f"Time {test.name} {self.seconds:.3f} s{explored}")
        if self.steps:
            lines += ["", f"{self._witness}:", *(f"  {step}" for step in self.steps)]
        return "\n".join(lines) + "\n"

    def _flags(self) -> Iterator[str]:
        """The data races as herd7 flags them."""
        if self.data_races is None:
            return
        races, unsure = self.data_races
        for each in races:
            yield f"Flag data-race {each}"
        if not races:
            yield f"Flag not decided: {unsure}" if unsure else "Flag no data-race"

    @property
    def _witness(self) -> str:
        exists = self.test.condition.quantifier is Quantifier.EXISTS
        return "Witness" if exists else "Counterexample"

    def data(self, file: str) -> dict[str, object]:
        """The report for tools."""
        outcomes = self.found.outcomes
        positive, negative = self.counts
        states = () if outcomes is None else outcomes.as_mappings()
        flags: dict[str, object] = {}
        if self.data_races is not None:
            races, unsure = self.data_races
            word = "race" if races else "not decided" if unsure else "no race"
            flags = {"data_race": word, "data_races": list(races)}
        return {
            "file": file,
            "test": self.test.name,
            "language": self.test.language,
            "verdict": self.verdict.name.lower(),
            "condition": str(self.test.condition),
            "outcomes": [{str(o): value for o, value in state.items()} for state in states],
            "positive": positive,
            "negative": negative,
            "races": list(self.found.races or self.source_races),
            "errors": list(self.found.errors),
            "ends": self.progress.ending.name.lower() if self.progress is not None else None,
            "hangs": list(self.progress.hangs) if self.progress is not None else [],
            "incomplete": self.found.incomplete or None,
            "machine_states": self.found.states,
            "seconds": round(self.seconds, 6),
            "execution": list(self.steps),
            **flags,
        }


def _state_lines(outcomes: Outcomes, condition: Condition) -> Iterator[str]:
    for state in outcomes.as_mappings():
        mark = "*>" if condition.formula.holds(state) else ":>"
        shown = " ".join(f"{o}={'-' if value is None else value};" for o, value in state.items())
        yield f"{mark} {shown}"


def judge(
    test: RunnableTest, found: Run, progress: Progress | None = None, races: Sequence[str] = ()
) -> ConditionVerdict:
    """The verdict on a test's condition; of an incomplete run only one that is final.

    That a source program ends somehow is not among it: it may still have a data race, and then
    no outcome is defined. A condition never holds of a test that may hang unless it says that it
    may, on purpose, nor then of one that ends; of one whose source races the outcomes are what this
    lowering does, not a verdict. ``races``: of the source.
    """
    on_purpose = test.condition.may_hang
    if found.outcomes is None:
        return ConditionVerdict.RACY
    if found.errors:
        return ConditionVerdict.WRONG
    if progress is not None and progress.ending is Ending.NONE:
        return ConditionVerdict.NO_EXECUTION
    if found.never_ends and not on_purpose:
        return ConditionVerdict.NEVER_ENDS
    holds = test.condition.verdict(found.outcomes)
    is_certain = holds is (test.condition.quantifier is Quantifier.EXISTS)
    if holds and isinstance(test, SourceTest):
        is_certain = False
    if not holds and is_certain:
        return ConditionVerdict.FAILS
    if races:
        return ConditionVerdict.RACY_SOURCE
    hangs = progress is not None and progress.hangs_at_all
    if hangs and not on_purpose:
        return ConditionVerdict.HANGS
    if on_purpose and progress is not None and progress.ending is Ending.ALWAYS:
        return ConditionVerdict.ENDS
    if (found.incomplete and not is_certain) or (on_purpose and not hangs):
        return ConditionVerdict.INCOMPLETE
    return ConditionVerdict.HOLDS if holds else ConditionVerdict.FAILS


# Running


def run_tests(arguments: Namespace) -> int:
    """``fence-sim run``: the exit status of the worst of the tests and of the inputs."""
    lowering_of(arguments)
    if arguments.seed is not None and arguments.random is None:
        raise error("--seed has no effect without --random", NAME)
    with limited_to(arguments.memory_limit):
        return _run_tests(arguments)


def _run_tests(arguments: Namespace) -> int:
    reported: set[Diagnostic] = set()

    def tell(diagnostics: Sequence[Diagnostic]) -> None:
        # A fault of the command line is the same for every input.
        _tell([each for each in diagnostics if each not in reported], arguments.json)
        reported.update(diagnostics)

    if arguments.jobs > 1 or arguments.cluster is not None:
        return worst(_run_side_by_side(arguments, tell))
    meter, statuses = Meter(), list[int]()
    many = len(arguments.inputs) > 1
    shown = show_progress(len(arguments.inputs), "files") if many else search(meter)
    with shown as display:
        for number, path in enumerate(arguments.inputs, 1):
            try:
                for text, status in _tests(path, _text(path, arguments), arguments, meter):
                    display.show(text)
                    statuses.append(status)
            except Exception as problem:
                failure = _failure(problem, name_of(path))
                tell(failure.diagnostics)
                statuses.append(failure.status)
            display.update(number, statuses.count(DOES_NOT_HOLD))
    return worst(statuses)


def _run_side_by_side(
    arguments: Namespace, tell: Callable[[Sequence[Diagnostic]], None]
) -> list[int]:
    if arguments.litmus is not None and arguments.cluster is not None:
        raise error("--litmus reads files of this machine: use --jobs", NAME)
    files: list[tuple[str, str]] = []
    statuses: list[int] = []
    for path in arguments.inputs:
        try:
            files.append((path, _text(path, arguments)))
        except _PROBLEMS as problem:
            failure = _failure(problem, name_of(path))
            tell(failure.diagnostics)
            statuses.append(failure.status)
    return [*statuses, *run_side_by_side(files, run_file, arguments, tell)]


def run_file(path: str, text: str, arguments: Namespace) -> dict[str, Any]:
    """The tests of a file, as a task of a campaign; the data of a ``FileResult``."""
    done: list[tuple[str, int]] = []
    reported: tuple[Diagnostic, ...] = ()
    try:
        with limited_to(arguments.memory_limit):
            for each in _tests(path, text, arguments):
                done.append(each)  # noqa: PERF402  (those before a failure are kept)
    except Exception as problem:
        failure = _failure(problem, name_of(path))
        reported = failure.diagnostics
        done.append(("", failure.status))
    shown = tuple(text for text, _ in done if text)
    return FileResult(shown, tuple(status for _, status in done), reported).data()


def _tests(
    path: str, text: str, arguments: Namespace, meter: Meter | None = None
) -> Iterator[tuple[str, int]]:
    """The report and the status of each test of a file."""
    seed = arguments.seed or 0
    limits = Limits(arguments.state_limit, arguments.bound, arguments.random, seed, meter)
    for test in _read(path, text, arguments):
        report = _report(test, limits, arguments)
        shown = json.dumps(report.data(name_of(path))) if arguments.json else report.text()
        yield shown, _STATUS[report.verdict]


def _text(path: str, arguments: Namespace) -> str:
    """The text of an input; kernels are read with their harness."""
    return read_text(path) if arguments.litmus is None else ""


def _read(path: str, text: str, arguments: Namespace) -> Iterable[RunnableTest]:
    """The tests of one input, which has kernels where a harness is given."""
    lowering = lowering_of(arguments)
    if arguments.litmus is None:
        return read_string(path, text, lowering, arguments.test)
    from fencewright.tools.inputs.litmus.harness import read_with_harness

    return read_with_harness(path, arguments.litmus, lowering, arguments.test)


def _report(test: RunnableTest, limits: Limits, arguments: Namespace) -> TestReport:
    start = time.perf_counter()
    found = run(test, limits)
    ends = None
    if arguments.progress_check:
        ends = progress(test, found, limits)
        if ends.ending is Ending.UNDECIDED:
            found = replace(found, incomplete=f"progress is not decided: {ends.why}")
    elif found.outcomes is not None and not found.errors:
        ends = progress(test, found, afforded(found, limits))
    source = races_of_source(test, found, ends, limits)
    found = with_hangs(test, found, ends, limits)
    seconds = time.perf_counter() - start
    verdict = judge(test, found, ends, () if source is None else source.races)
    steps = _steps(test, verdict, limits, arguments)
    races = test.data_races(limits) if arguments.races else None
    return TestReport(test, found, verdict, seconds, steps, ends, source, races)


def _steps(
    test: RunnableTest, verdict: ConditionVerdict, limits: Limits, arguments: Namespace
) -> tuple[str, ...]:
    """The execution that decides the condition, if it is to be shown and there is one."""
    exists = test.condition.quantifier is Quantifier.EXISTS
    decided = verdict is (ConditionVerdict.HOLDS if exists else ConditionVerdict.FAILS)
    if not decided or arguments.trace == "never" or (exists and arguments.trace != "always"):
        return ()
    try:
        return execution(test, test.condition.deciding, limits) or ()
    except LimitReached as reached:
        return (f"not found: {reached}",)


# Converting


def convert(arguments: Namespace) -> int:
    """``fence-sim convert``: ``.litmus`` in columns to ``.mlir`` and back, or to Dat3M's."""
    path = arguments.input
    text = read_text(path)
    if is_columns(path, text):
        test = parse_columns(path, text)
        written = _written_columns(test, path, True) if arguments.dat3m else _module_of(test, path)
    else:
        tests = read(path, lowering_of(arguments))
        written = "\n".join(_columns_of(test, path, arguments.dat3m) for test in tests)
    with output_file(arguments.output) as stream:
        stream.write(written)
    return HOLDS


def _module_of(test: "PtxLitmusTest", path: str) -> str:
    """A test in columns as MLIR."""
    from fencewright.tools.inputs.litmus.writer import WriterError, module_text

    try:
        return module_text(test)
    except WriterError as problem:
        raise error(f"{problem}; --dat3m writes columns", name_of(path)) from problem


def _columns_of(test: RunnableTest, path: str, for_dat3m: bool) -> str:
    """A test in columns."""
    if not isinstance(test, PtxTest):
        raise error(
            f"'{test.name}' is in {test.language}; columns are for PTX: pass --mcpu sm_90",
            name_of(path),
        )
    return _written_columns(test.test, path, for_dat3m)


def _written_columns(test: "PtxLitmusTest", path: str, for_dat3m: bool) -> str:
    """A test in columns, as herd and Dat3M load it as far as they have its instructions.

    With ``for_dat3m`` what Dat3M has not is an error.
    """
    from fencewright.simulator.ptx.events import check
    from fencewright.simulator.ptx.formats.columns import write_litmus
    from fencewright.simulator.ptx.formats.dat3m import check_grammar, portable

    try:
        check(test.program)
    except ProgramError as problem:
        raise error(f"'{test.name}': {problem}", name_of(path)) from problem
    written = write_litmus(portable(test))
    if for_dat3m and (found := check_grammar(written)) is not None:
        raise error(f"'{test.name}': {found}", name_of(path))
    return written


# The command line


COMMANDS: tuple[Callable[[Callable[..., ArgumentParser]], None], ...] = (
    gpu_commands.add_commands,
    access_commands.add_commands,
    traffic_commands.add_commands,
    certificate_commands.add_commands,
    picture_commands.add_commands,
    fuzz_commands.add_commands,
)
"""Functions that add further commands; each sets ``execute``, which takes the arguments."""


def _parser() -> ArgumentParser:
    parser = ToolArguments(NAME, description=__doc__)
    add_completion(parser)
    add_version(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runner = commands.add_parser(
        "run", help="print every outcome of tests, and whether their conditions hold"
    )
    runner.set_defaults(execute=run_tests)
    runner.add_argument("inputs", nargs="+", metavar="FILE", help=".mlir or .litmus, - for stdin")
    runner.add_argument("--test", metavar="NAME", help="only the test of this name")
    runner.add_argument(
        "--litmus",
        metavar="HARNESS",
        help=".mlir with tests whose threads run kernels of the input: PTX or AMD assembly",
    )
    add_target(runner)
    runner.add_argument("--json", action="store_true", help="one JSON object a line, for tools")
    add_workers(runner)
    runner.add_argument(
        "--state-limit",
        metavar="N",
        type=positive,
        default=Limits().states,
        help="machine states, or steps of a model by axioms",
    )
    runner.add_argument(
        "--memory-limit",
        metavar="SIZE",
        type=memory_size,
        help="memory that explorations may hold; by default 2G, or a quarter of the machine's",
    )
    runner.add_argument(
        "--bound", metavar="N", type=positive, default=Limits().bound, help="passes of a loop"
    )
    runner.add_argument(
        "--random", metavar="N", type=positive, help="only N random executions: incomplete"
    )
    runner.add_argument("--seed", metavar="N", type=int, help="of --random (0)")
    runner.add_argument(
        "--races",
        action="store_true",
        help="decide if a test has data races: of PTX by its axioms, of AMD code by its source, "
        "or without one by its interleavings",
    )
    runner.add_argument(
        "--progress-check",
        action="store_true",
        help="decide whether every execution ends, as far as --state-limit, "
        "not only as far as the run went",
    )
    runner.add_argument(
        "--trace",
        choices=("auto", "always", "never"),
        default="auto",
        help="show the execution that decides; auto: when it is a counterexample",
    )
    converter = commands.add_parser(
        "convert", help="PTX in columns to MLIR in scoped operations, or PTX in MLIR to columns"
    )
    converter.set_defaults(execute=convert)
    converter.add_argument("input", metavar="FILE", help=".mlir or .litmus, - for stdin")
    converter.add_argument("-o", dest="output", default="-", help="file to write, - for stdout")
    converter.add_argument(
        "--dat3m",
        action="store_true",
        help="write columns, from columns too, and refuse what Dat3M's grammar does not have",
    )
    add_target(converter)
    for add_commands in COMMANDS:
        add_commands(commands.add_parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run fence-sim on ``argv`` (None: the command line) and return the exit status.

    What has no verdict has none of its statuses: an error in what was asked for is a matter of
    usage, and what was interrupted or failed is incomplete.
    """

    def body() -> int:
        arguments = _parser().parse_args(argv)
        _check_outputs(arguments)
        execute = cast(Callable[[Namespace], int], arguments.execute)
        try:
            return execute(arguments)
        except (*_PROBLEMS, ModuleNotFoundError, KeyboardInterrupt) as problem:
            failure = _failure(problem, NAME)
        if getattr(arguments, "json", False):
            _tell(failure.diagnostics, as_json=True)
            return failure.status
        raise failure

    return run_tool(NAME, body)


_INPUTS = ("input", "litmus", "certificate", "recheck", "json")
_OUTPUTS = {"output": "-o", "stream": "--stream", "page": "--page"}
"""The names of files that commands read and write; those written with their flags."""


def _check_outputs(arguments: Namespace) -> None:
    """Raise ``ToolError`` where an output would take the place of an input or of another output."""
    given = vars(arguments)
    inputs = [given.get(each) for each in _INPUTS]
    files = [*inputs, *(given.get("inputs") or ())]
    outputs = {flag: given[name] for name, flag in _OUTPUTS.items() if name in given}
    try:
        check_outputs(NAME, outputs, [each for each in files if isinstance(each, str | Path)])
    except ToolError as problem:
        raise _failure(problem, NAME) from problem


_PROBLEMS = (ProgramError, ToolError, OSError, MemoryError)
"""Errors of one input that leave the others unaffected."""


def _failure(problem: BaseException, file: str) -> ToolError:
    """The lines for a problem with ``file``, and its status.

    Raises ``problem`` again where nothing can be said, as of a closed stdout.
    """
    match problem:
        case ToolError():
            status = problem.status if problem.status in (INCOMPLETE, NO_GPU) else USAGE
            return ToolError(problem.diagnostics, status=status)
        case OSError():
            if problem.filename is None:
                raise problem
            said, file, status = problem.strerror or str(problem), str(problem.filename), USAGE
        case KeyboardInterrupt():
            said, status = interruption(problem), INCOMPLETE
        case ModuleNotFoundError():
            if (remedy := how_to_get(problem)) is None:
                raise problem
            said, status = remedy, USAGE
        case MemoryError():
            said, status = (
                "out of memory; lower --memory-limit, or sample with --random",
                INCOMPLETE,
            )
        case ProgramError():
            said, status = str(problem), USAGE
        case _:
            if os.environ.get(TRACEBACK_VARIABLE):
                traceback.print_exception(problem)
            return ToolError((internal_error(problem, file),), status=INCOMPLETE)
    return error(said, file, status=status)


def _tell(diagnostics: Sequence[Diagnostic], as_json: bool) -> None:
    """Print diagnostics on stderr, one a line."""
    for each in diagnostics:
        print(_json_line(each) if as_json else each, file=sys.stderr, flush=True)


def _json_line(diagnostic: Diagnostic) -> str:
    return json.dumps(
        {
            "severity": diagnostic.severity.value,
            "file": diagnostic.file,
            "line": diagnostic.line or None,
            "column": diagnostic.column or None,
            "message": diagnostic.message,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
