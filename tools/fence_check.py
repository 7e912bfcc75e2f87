"""fence-check: find missing and redundant synchronisation in GPU kernels, without a GPU.

Reads PTX, AMD assembly and code objects of any compiler, and folders of them. Each finding has the
line of the source where the code names it, and a remedy: fence-check kernel.ptx; --fix repairs the
code, --explain RULE explains a finding. Exit status: 0 no error, 1 an error, 2 an input or option
that is refused, 3 something that could not be decided.
"""

import os
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from fencewright.checker.findings.finding import Level
from fencewright.checker.lifting.writer import UnliftableError
from fencewright.lowering.vocabulary import MOST_GRID, MOST_THREADS, L2PerAgent
from fencewright.tools import diagnostics
from fencewright.tools.arguments import ToolArguments, add_completion
from fencewright.tools.commands.check_files import (
    named_content,
    read_beside_source,
    report_of,
    report_on,
    report_or_problem,
    status_of_unread,
)
from fencewright.tools.commands.compare_source import PtxAndSource, add_options, check_options
from fencewright.tools.diagnostics import (
    Diagnostic,
    ToolError,
    error,
    output_file,
    printable,
    refuse_options,
)
from fencewright.tools.inputs.configuration import add_configuration_options
from fencewright.tools.outputs import check_folders, check_outputs
from fencewright.tools.reports.color import add_color_option, painter
from fencewright.tools.reports.file_report import LEVELS, FileReport
from fencewright.tools.statuses import HOLDS, INCOMPLETE, USAGE, worst
from fencewright.tools.workers import cluster_address

if TYPE_CHECKING:
    from argparse import _ArgumentGroup  # pyright: ignore[reportPrivateUsage]  # it has no other name

NAME = "fence-check"


def _reports(arguments: Namespace) -> Iterator[FileReport]:
    """The reports on all inputs, in order; ``arguments`` gets the unread files of folders."""
    for path in arguments.inputs:
        if os.path.isdir(path):
            yield from _reports_in(path, arguments)
            continue
        yield report_or_problem(path, arguments, report_on)


def _reports_in(folder: str, arguments: Namespace) -> Iterator[FileReport]:
    from fencewright.tools.commands.check_folders import check_files, inputs_in

    inputs = inputs_in(folder)
    _check_outputs(arguments, [path for each in inputs.files for path in each if path])
    arguments.skipped += inputs.skipped
    arguments.beside += inputs.beside
    yield from check_files(inputs, arguments)


def _check(arguments: Namespace) -> int:
    """Check all inputs, write the findings, and return the status."""
    baseline = None
    if arguments.baseline:
        from fencewright.tools.reports.baseline import read_baseline

        baseline = read_baseline(arguments.baseline)
    reports: list[FileReport] = []
    stale = 0
    is_whole = arguments.format != "text" or arguments.output or arguments.in_folder or baseline
    interrupt: KeyboardInterrupt | None = None
    try:
        for report in _reports(arguments):
            for diagnostic in (*report.problem, *report.unused):
                print(diagnostic, file=sys.stderr)
            reports.append(report)
            if not is_whole:
                _print(report, painter(arguments.color, to_stdout=True), arguments)
    except KeyboardInterrupt as caught:
        # A report for other programs, or of known findings, is whole or it is not written.
        as_text = arguments.format == "text" and not arguments.write_baseline
        if not (reports and arguments.in_folder and as_text):
            raise
        interrupt = caught
    if baseline:
        reports, stale = baseline.mark(reports)
    if not is_whole:
        _print_counts(reports, has_reasons=arguments.prove)
    status = worst([each.status(arguments.fail_on, is_strict=arguments.strict) for each in reports])
    if arguments.write_baseline:
        status = _write_baseline(reports, arguments)
    if is_whole:
        with output_file(arguments.output) as stream:
            stream.writelines(
                f"{printable(line)}\n" for line in _written(reports, arguments, stale, status)
            )
    if interrupt is not None:
        raise interrupt
    return status


def _print(report: FileReport, paint: Callable[[Diagnostic], str], arguments: Namespace) -> None:
    from fencewright.tools.reports.text_report import lines_of

    if not report.problem:
        lines = lines_of(report, paint, has_verdicts=arguments.prove, has_costs=arguments.cost)
        print(*map(printable, lines), sep="\n")


def _print_counts(reports: Sequence[FileReport], *, has_reasons: bool) -> None:
    """Print how many functions have each verdict, the last line."""
    from fencewright.tools.reports.file_report import verdict_counts

    if not all(each.problem for each in reports):
        print(printable(verdict_counts(reports).text(has_reasons=has_reasons)))


def _written(
    reports: Sequence[FileReport], arguments: Namespace, stale: int, status: int
) -> Iterator[str]:
    """All reports in the format that was asked for."""
    if arguments.format != "text":
        from fencewright.tools.reports.gate_reports import document_of

        yield from document_of(reports, arguments, status)
    else:
        from fencewright.tools.reports.file_report import verdict_counts
        from fencewright.tools.reports.text_report import (
            findings_of,
            folder_lines,
            lines_of,
            verdicts_of,
        )

        paint = painter(arguments.color, to_stdout=not arguments.output)
        for each in reports:
            if each.problem:
                continue
            if not arguments.in_folder:
                yield from lines_of(
                    each, paint, has_verdicts=arguments.prove, has_costs=arguments.cost
                )
                continue
            if arguments.prove:
                yield from verdicts_of(each)
            yield from findings_of(each, paint)
        if arguments.in_folder:
            yield from folder_lines(reports, arguments.skipped, arguments.beside, stale)
            if arguments.left:
                files = "1 file" if arguments.left == 1 else f"{arguments.left} files"
                yield f"{files} not checked: interrupted"
            return
        if stale:
            yield f"{arguments.baseline}: {stale} of its findings found no more"
        if not all(each.problem for each in reports):
            yield verdict_counts(reports).text(has_reasons=arguments.prove)


def _write_baseline(reports: Sequence[FileReport], arguments: Namespace) -> int:
    """Write the findings down as known; the status is that of unreadable files.

    Then nothing is written: what is known of those files would be lost.
    """
    from fencewright.tools.reports.baseline import write_baseline

    if unread := [each for each in reports if each.problem]:
        files = "1 input" if len(unread) == 1 else f"{len(unread)} inputs"
        message = f"not written: {files} could not be read"
        print(Diagnostic(message, arguments.write_baseline), file=sys.stderr)
        return worst([each.problem_status for each in unread])
    print(write_baseline(arguments.write_baseline, reports, arguments.fail_on), file=sys.stderr)
    return (
        INCOMPLETE
        if any(each.was_not_judged for one in reports for each in one.findings)
        else HOLDS
    )


def _annotate(path: str, arguments: Namespace) -> int:
    """Write a file with the purposes of its synchronisation; the status is that of its check."""
    from fencewright.tools.commands.annotate import annotated

    try:
        file, content = named_content(path, arguments)
        report = report_of(path, file, content, arguments)
        lines = annotated(path, file, content, arguments)
    except Exception as problem:
        return status_of_unread(path, problem)
    with output_file(arguments.output) as stream:
        stream.writelines(f"{printable(line)}\n" for line in lines)
    return report.status(arguments.fail_on, is_strict=arguments.strict)


_Written = tuple[str, int, Callable[[], str]]
"""A function's name and line, and its writer."""


def _scoped(path: str, arguments: Namespace) -> tuple[str, list[_Written]]:
    """The name of the code of a file, and its functions, to be written on ``scoped``."""
    file, content = named_content(path, arguments)
    beside = read_beside_source(path, content, file, arguments)
    if isinstance(beside, PtxAndSource):
        from fencewright.tools import ptx_check

        scoped = ptx_check.scoped(beside.code)
        return beside.file, [(each.name, each.line, write) for each, write in scoped]
    many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
    from fencewright.checker.lifting.amd import scoped_with_calls
    from fencewright.lowering.cdna.code.calls import callees
    from fencewright.tools.commands.amd_check import checked

    found: list[_Written] = []
    assembly = beside.code
    called = callees(assembly)
    for each in checked(assembly, beside.file, many):
        function = each.lifted.code.flow.function
        if function.name not in called or function.descriptor:
            write = partial(scoped_with_calls, assembly, function, many)
            line = next((each.line for each in function.instructions), 1)
            found.append((function.name, line, write))
    return beside.file, found


def _print_scoped(path: str, arguments: Namespace) -> int:
    """Print the functions of a file as MLIR, and say which cannot be; the status."""
    try:
        file, functions = _scoped(path, arguments)
    except Exception as problem:
        return status_of_unread(path, problem)
    status = HOLDS
    for name, line, write in functions:
        try:
            print(write())
        except UnliftableError as problem:
            status = INCOMPLETE
            text = f"{name} cannot be said in 'scoped': {problem}"
            print(Diagnostic(text, file, problem.line or line, 1), file=sys.stderr)
    return status


class _ExplainAction(Action):
    """Prints the page of a rule, or of all of them."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> NoReturn:
        from fencewright.checker.findings.registry import PAGES

        name = str(values)
        pages = [page for rule, page in PAGES.items() if name in (rule, "all")]
        if not pages:
            parser.error(f"'{name}' is no rule: {NAME} --list-rules lists them")
        print("\n\n".join("\n".join(page.lines()) for page in pages))
        parser.exit()


class _ListRulesAction(Action):
    """Prints one line for each rule."""

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        from fencewright.checker.findings.registry import PAGES

        for rule, page in PAGES.items():
            print(f"{rule}: {page.kind()}: {page.summary}")
        parser.exit()


class _ListCachesAction(Action):
    """Prints one line for each cache of compiled kernels."""

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        from fencewright.tools.inputs.caches import listed

        print("\n".join(listed()))
        parser.exit()


_FIXES = ("findings", "surplus")


def _parser() -> ArgumentParser:
    parser = ToolArguments(NAME, description=__doc__)
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="FILE",
        help="PTX, AMD assembly or a code object; - for stdin; a folder: all of those in it",
    )
    add_completion(parser)
    diagnostics.add_version(parser)
    _add_reference(parser)
    _add_findings(parser.add_argument_group("findings"))
    add_options(parser.add_argument_group("comparison with a source"))
    _add_launches(parser.add_argument_group("launches"))
    _add_output(parser.add_argument_group("output and exit status"))
    add_color_option(parser)
    add_configuration_options(parser)
    return parser


def _add_reference(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--explain",
        metavar="RULE",
        action=_ExplainAction,
        help="explain a rule: the reason, an example, the repair, and exit; all: every rule",
    )
    parser.add_argument(
        "--list-rules",
        nargs=0,
        action=_ListRulesAction,
        help="print a line for each rule, with its level, and exit",
    )
    parser.add_argument(
        "--list-caches",
        nargs=0,
        action=_ListCachesAction,
        help="print the folders in which Triton, Inductor, FlashInfer, DeepGEMM, CuTe DSL and Warp "
        "keep compiled kernels, and exit",
    )


def _add_findings(group: "_ArgumentGroup") -> None:
    group.add_argument(
        "--notes", action="store_true", help="print notes too: faults that may be meant"
    )
    group.add_argument(
        "--surplus",
        action="store_true",
        help="print redundant write-backs, invalidates, waits and fences, and their costs",
    )
    group.add_argument(
        "--fix",
        choices=_FIXES,
        help="print a repair for each finding, checked again, and all of them as a patch; with -o "
        "write the repaired code; surplus: remove and weaken redundant synchronisation",
    )
    group.add_argument(
        "--prove",
        action="store_true",
        help="print the verdict of each function too: race-free and the facts that this needs, "
        "race, or not judged and the reason",
    )
    group.add_argument(
        "--cost",
        action="store_true",
        help="print the cost of each fence, barrier and wait, with its source",
    )
    group.add_argument(
        "--lift", action="store_true", help="print what each access, atomic and barrier provides"
    )
    group.add_argument(
        "--to",
        choices=("scoped",),
        metavar="DIALECT",
        help="print the functions as MLIR on a dialect and nothing else: scoped",
    )
    group.add_argument(
        "--annotate",
        action="store_true",
        help="write the code with the purpose of each synchronising instruction; with -o x.html "
        "as a page",
    )
    group.add_argument(
        "--l2-per-agent",
        choices=tuple(map(str, L2PerAgent)),
        metavar="NUMBER",
        help="L2 caches of an AMD agent: one or many (default: many where both exist)",
    )


def _add_launches(group: "_ArgumentGroup") -> None:
    group.add_argument(
        "--grid", metavar="BLOCKS", help="judge launches of that many blocks, as 132 or 8,4"
    )
    group.add_argument(
        "--block", metavar="THREADS", help="judge launches of blocks of that size, as 256 or 32,8"
    )
    group.add_argument(
        "--launch",
        metavar="LAUNCH",
        action="append",
        default=[],
        help="execute a PTX or AMD kernel and find its data races: "
        "'name<<<grid, block, shared>>>(i32[65536], f32[4096]=iota, @0, 64, x.npy)'; of PTX also "
        "a name alone, or all: launched as in the .cu beside the file, or as guessed",
    )
    group.add_argument(
        "--launches",
        metavar="LAUNCHES",
        help="execute the launches in that file too, one a line, # begins a comment; or of a "
        ".cu or .hip",
    )
    group.add_argument(
        "--coverage",
        action="store_true",
        help="with --launch: print the accesses that were not executed",
    )


def _add_output(group: "_ArgumentGroup") -> None:
    group.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github", "gitlab", "junit"),
        default="text",
        metavar="FORMAT",
        help="text (the default); json: one object; sarif: as GitHub's code scanning takes it; "
        "github: workflow commands; gitlab: a Code Quality report; junit: JUnit's XML",
    )
    group.add_argument("-o", dest="output", metavar="OUTPUT", help="write to that file")
    group.add_argument(
        "--fail-on",
        type=_level,
        default=Level.ERROR,
        metavar="LEVEL",
        help="the least level that makes the exit status 1: error (the default), warning, note",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="the exit status is 1 where a function has a race, confirmed or not, and 3 where one "
        "is not judged",
    )
    group.add_argument(
        "--baseline", metavar="KNOWN", help="ignore the findings in that file in the exit status"
    )
    group.add_argument(
        "--write-baseline", metavar="KNOWN", help="write all findings to that file, as known"
    )
    group.add_argument(
        "-j",
        "--jobs",
        type=diagnostics.positive,
        metavar="N",
        help="processes for the files of a folder (default: the number of CPUs)",
    )
    group.add_argument(
        "--cluster",
        metavar="ADDRESS",
        type=cluster_address,
        help="check the files of a folder on the workers of a Dask scheduler, as tcp://host:8786, "
        "which see the same files; local: on --jobs of our own",
    )


def _level(text: str) -> Level:
    """Raises ``ArgumentTypeError`` for a text that is no level."""
    if text not in LEVELS:
        raise ArgumentTypeError(f"expected {', '.join(LEVELS)}, found '{text}'")
    return Level(text)


def _with_what_to_fix(argv: Sequence[str]) -> list[str]:
    """The command line where ``--fix`` without a word is of findings: files may follow it."""
    following = [*argv, ""][1:]
    return [
        f"--fix={_FIXES[0]}" if word == "--fix" and then not in _FIXES else word
        for word, then in zip(argv, following, strict=True)
    ]


def _parsed(argv: Sequence[str] | None) -> Namespace:
    """The command line, and the configuration where that says nothing."""
    parser = _parser()
    argv = _with_what_to_fix(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(argv)
    from fencewright.tools.inputs.configuration import configuration

    found = configuration(arguments.config, isolated=arguments.isolated)
    if found.options:
        parser.set_defaults(**found.options)
        arguments = parser.parse_args(argv)
    arguments.ignored = found.ignored
    return arguments


_OF_FILES = "source run compile code counterexamples to annotate fix cost".split()
"""Options that say something of one file, or write one for each."""


_BASELINES = ("format", "baseline", "write_baseline")
_CHECKS = ("to", "run", "lift", "prove", "cost", *_BASELINES)
_ALONE = (
    ("to", "--to prints MLIR and nothing else", ("output", *_BASELINES)),
    ("annotate", "--annotate writes assembly", ("source", *_CHECKS)),
    ("fix", "--fix repairs code", ("annotate", "launch", "launches", "counterexamples", *_CHECKS)),
)
"""Options that write something else than findings, and those that have no effect then."""


def _prepare(arguments: Namespace) -> None:
    """Add the options that the command line implies. Raises ``ToolError`` for what does not go."""
    check_options(arguments, NAME)
    arguments.traces = bool(os.environ.get(diagnostics.TRACEBACK_VARIABLE))
    arguments.in_folder = any(map(os.path.isdir, arguments.inputs))
    arguments.finds_surplus = arguments.surplus or arguments.in_folder
    arguments.replays, arguments.only = True, None
    is_text = arguments.format == "text" and not arguments.in_folder
    arguments.prices = arguments.cost or (arguments.surplus and is_text)
    arguments.skipped = arguments.beside = arguments.left = 0
    if arguments.cluster and not arguments.in_folder:
        raise error("--cluster is for folders", NAME)
    for option in ("grid", "block"):
        setattr(arguments, option, _sizes(getattr(arguments, option), option))
    for option in _OF_FILES:
        if arguments.in_folder and getattr(arguments, option):
            raise error(f"--{option} is for files, not for a folder", NAME)
    for option, reason, others in _ALONE:
        if getattr(arguments, option):
            refuse_options(arguments, others, reason, NAME)
    for option in ("to", "annotate", "fix"):
        if arguments.compile and getattr(arguments, option):
            advice = f"--compile with --code FILE writes what fence-check --{option} FILE reads"
            raise error(f"--{option} is for PTX and assembly: {advice}", NAME)
    if arguments.annotate and len(arguments.inputs) > 1:
        raise error("--annotate is for one file", NAME)
    if arguments.fix:
        arguments.surplus = arguments.surplus or arguments.fix == _FIXES[1]
        if arguments.output and len(arguments.inputs) > 1:
            raise error("--fix -o is for one input", NAME)
    for option in ("lift", "cost"):
        if getattr(arguments, option) and arguments.format not in ("text", "json"):
            raise error(f"--{option} is for text and json, not for {arguments.format}", NAME)
    _check_outputs(arguments, [*arguments.inputs, arguments.source])


_DIMENSIONS = 3


def _sizes(text: str | None, option: str) -> tuple[int, int, int] | None:
    """The sizes of ``64`` or ``32,4``; those that are not given are 1."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > _DIMENSIONS or not all(part.strip().isdigit() for part in parts):
        raise error(f"--{option} {text} is no size: one to three numbers, as 32,4", NAME)
    sizes = [int(part) for part in parts]
    if not all(sizes):
        raise error(f"--{option} {text}: a size is at least 1", NAME)
    if option == "block" and prod(sizes) > MOST_THREADS:
        raise error(f"--block {text}: a block has at most {MOST_THREADS} threads", NAME)
    if option == "grid" and any(map(int.__gt__, sizes, MOST_GRID)):
        raise error(f"--grid {text}: a grid has at most {MOST_GRID} blocks", NAME)
    x, y, z = (*sizes, 1, 1)[:_DIMENSIONS]
    return x, y, z


def _check_outputs(arguments: Namespace, inputs: Sequence[str | None]) -> None:
    """Raise ``ToolError`` where an output would take the place of an input or of another output.

    What is found may be written to the baseline that was read: so it is brought up to date.
    """
    # What is repaired may take the place of what it was, where that name is given.
    outputs = {"-o": None if arguments.fix else arguments.output, "--code": arguments.code}
    baseline = {"--write-baseline": arguments.write_baseline}
    try:
        check_folders([arguments.output, arguments.write_baseline, arguments.code])
        check_outputs(NAME, outputs, [arguments.baseline])
        check_outputs(NAME, outputs | baseline, inputs)
    except ToolError as problem:
        raise ToolError(problem.diagnostics, status=USAGE) from problem


def arguments_of(argv: Sequence[str] | None) -> Namespace:
    """The command line (None: that of the process) as commands take it. Raises ``ToolError``."""
    arguments = _parsed(argv)
    _prepare(arguments)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run fence-check on ``argv`` (None: the command line) and return the exit status."""

    def body() -> int:
        arguments = arguments_of(argv)
        if arguments.launch or arguments.launches:
            from fencewright.tools.commands.race_check import check_launches

            return check_launches(arguments, NAME)
        if arguments.coverage:
            raise error("--coverage is for --launch and --launches", NAME)
        if arguments.to:
            return worst([_print_scoped(path, arguments) for path in arguments.inputs])
        if arguments.fix:
            # Here, for checks alone need none of it.
            from fencewright.tools.repair.fix import fix

            return fix(arguments)
        if arguments.annotate:
            return _annotate(arguments.inputs[0], arguments)
        return _check(arguments)

    return diagnostics.run_tool(NAME, body)


if __name__ == "__main__":
    sys.exit(main())
