"""fence-sim graph and fence-sim timeline: pictures of an execution that decides a test."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from fencewright.simulator.litmus_run import CdnaTest, Limits, PtxTest, RunnableTest, SourceTest
from fencewright.tools.diagnostics import error, output_file
from fencewright.tools.inputs.litmus.files import name_of
from fencewright.tools.inputs.litmus.lowered import NAME, add_target, lowering_of, read
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE

if TYPE_CHECKING:
    from fencewright.simulator.pictures.execution_graph import ExecutionGraph
    from fencewright.simulator.pictures.timeline import Timeline


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``graph`` and ``timeline``."""
    graph = add_parser(
        "graph",
        help="draw the execution of a source or PTX test that decides it: events, relations, cycle",
    )
    graph.set_defaults(execute=draw_graph)
    _add_common(graph, ("svg", "dot"))
    timeline = add_parser(
        "timeline",
        help="draw an execution on the CDNA machine that decides a test: waves, caches, memory",
    )
    timeline.set_defaults(execute=draw_timeline)
    _add_common(timeline, ("svg", "json"))
    timeline.add_argument(
        "--any", action="store_true", help="any execution, whatever the condition says"
    )
    timeline.add_argument(
        "--registers",
        action="store_true",
        help="in SVG: also the steps that only touch registers, as moves and branches",
    )


def _add_common(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    parser.add_argument("input", metavar="FILE", help=".mlir or .litmus, - for stdin")
    parser.add_argument("--test", metavar="NAME", help="the test of this name, if there are more")
    parser.add_argument("-o", dest="output", default="-", help="file to write, - for stdout")
    parser.add_argument(
        "--format", choices=formats, help=f"default: as the name of -o ends, else {formats[0]}"
    )
    add_target(parser)
    parser.set_defaults(formats=formats)


def _format(arguments: Namespace) -> str:
    """The format to write. Raises :class:`ToolError` for a name that ends like no known one."""
    ending = PurePath(arguments.output).suffix.removeprefix(".")
    known: tuple[str, ...] = arguments.formats
    if arguments.format is None and ending and ending not in known:
        accepted = " and ".join(f".{each}" for each in known)
        raise error(f"cannot draw '.{ending}'; accepted: {accepted}, or pass --format", NAME)
    return arguments.format or ending or known[0]


def _only_test(arguments: Namespace) -> RunnableTest:
    tests = read(arguments.input, lowering_of(arguments), arguments.test)
    if len(tests) > 1:
        names = ", ".join(test.name for test in tests)
        raise error(
            f"a picture is of one test: pass --test NAME, of {names}", name_of(arguments.input)
        )
    return tests[0]


def _nothing(test: RunnableTest, hint: str) -> int:
    """Report that no execution decides a test; returns the exit status."""
    text = f"no execution of '{test.name}' satisfies {test.condition.deciding}; {hint}"
    print(*error(text, NAME).diagnostics, file=sys.stderr)
    return DOES_NOT_HOLD


def _write(text: str, arguments: Namespace) -> None:
    with output_file(arguments.output) as stream:
        stream.write(text)


def draw_graph(arguments: Namespace) -> int:
    """``fence-sim graph``. Raises :class:`ToolError`."""
    from fencewright.simulator.pictures.graph_svg import graph_dot, graph_svg
    from fencewright.simulator.pictures.missing import MissingLibraryError

    test = _only_test(arguments)
    graph = _graph(test)
    if graph is None:
        return _nothing(test, "not even one that breaks every axiom")
    try:
        _write((graph_svg if _format(arguments) == "svg" else graph_dot)(graph), arguments)
    except MissingLibraryError as missing:
        raise error(str(missing), NAME) from missing
    return HOLDS


def _graph(test: RunnableTest) -> "ExecutionGraph | None":
    from fencewright.simulator.pictures.execution_graph import ptx_graph, source_graph

    match test:
        case CdnaTest():
            raise error("a CDNA machine has no axioms to draw: use 'fence-sim timeline'", NAME)
        case PtxTest():
            from fencewright.simulator.ptx.witnesses import explain

            found = explain(test.test.program, test.condition.deciding, test.model, Limits().bound)
            return None if found is None else ptx_graph(test.test, found)
        case SourceTest():
            from fencewright.simulator.source.behaviour import behaviour
            from fencewright.simulator.source.model import explain_race
            from fencewright.simulator.source.witnesses import explain as explain_source

            program, bound = test.test.program, Limits().bound
            races = behaviour(program, bound=bound).races
            if races:
                witness = explain_race(program, races[0], bound=bound)
            else:
                witness = explain_source(program, test.condition.deciding, bound=bound)
            return None if witness is None else source_graph(program, witness)


def draw_timeline(arguments: Namespace) -> int:
    """``fence-sim timeline``. Raises :class:`ToolError`."""
    from fencewright.simulator.pictures.missing import MissingLibraryError
    from fencewright.simulator.pictures.timeline_svg import timeline_svg
    from fencewright.simulator.pictures.trace_json import trace_json

    test = _only_test(arguments)
    shown = _timeline(test, arguments.any)
    if shown is None:
        return _nothing(test, "--any draws one that ends otherwise")
    format = _format(arguments)
    if arguments.registers and format != "svg":
        raise error("--registers has no effect: a trace always has every step", NAME)
    try:
        drawn = (
            timeline_svg(shown, registers=arguments.registers)
            if format == "svg"
            else trace_json(shown)
        )
        _write(drawn, arguments)
    except MissingLibraryError as missing:
        raise error(str(missing), NAME) from missing
    return HOLDS


def _timeline(test: RunnableTest, anyhow: bool) -> "Timeline | None":
    from fencewright.simulator.cdna.trace import find_counterexample
    from fencewright.simulator.core.condition import And
    from fencewright.simulator.core.exploration import LimitReached
    from fencewright.simulator.pictures.timeline import timeline

    if not isinstance(test, CdnaTest):
        raise error(
            f"a timeline is of the CDNA machine, '{test.name}' is in {test.language}: "
            "pass --mcpu gfx942, or use 'fence-sim graph'",
            NAME,
        )
    formula = And(()) if anyhow else test.condition.deciding
    try:
        found = find_counterexample(test.test.program, formula, test.configuration)
    except LimitReached as reached:
        raise error(str(reached), NAME, status=INCOMPLETE) from reached
    return None if found is None else timeline(found)
