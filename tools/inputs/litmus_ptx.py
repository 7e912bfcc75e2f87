"""Litmus tests whose threads run kernels of a PTX file: ``fence-sim run x.ptx --litmus h.mlir``.

The harness is a module with tests in the ``litmus`` dialect, and a ``litmus.kernel`` for each
kernel that the PTX file has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from fencewright.simulator.litmus_run import PtxTest
from fencewright.tools import ptx_check
from fencewright.tools.diagnostics import Diagnostic, ToolError, error, read_bytes
from fencewright.tools.inputs.litmus_files import name_of, parse_module, read_text

if TYPE_CHECKING:
    from fencewright.checker.execute.nvidia import Argument, Column, LaunchIndex
    from fencewright.lowering.ptx.code.text import PtxFile
    from fencewright.mlir_dialects.litmus import TestOp
    from fencewright.passes.litmus.programs import TestCode


def read_with_harness(
    path: str, harness: str, model: str, only: str | None = None
) -> Iterator[PtxTest]:
    """The tests of a harness on the kernels of a PTX file.

    Raises :class:`ToolError` for what cannot be read or is not executed, at its line.
    """
    from fencewright.lowering.ptx.code.text import PtxError
    from fencewright.mlir_dialects.litmus import TestOp

    module = parse_module(harness, read_text(harness))
    tests = [op for op in module.ops if isinstance(op, TestOp)]
    chosen = [op for op in tests if only in (None, op.sym_name.data)]
    if not chosen:
        names = ", ".join(op.sym_name.data for op in tests)
        missing = (
            f"no test '{only}' in the module; its tests: {names}" if names else "no litmus.test"
        )
        raise error(missing, name_of(harness))
    file = name_of(path)
    try:
        kernels = ptx_check.read_input(read_bytes(None if path == "-" else path), file)
        for op in chosen:
            yield _test(op, kernels, harness, model)
    except PtxError as problem:
        _raise(problem, file)


def _raise(problem: Exception, file: str) -> NoReturn:
    _, line, _, message = str(problem).removeprefix(file).split(":", 3)
    raise ToolError((Diagnostic(message.strip(), file, int(line), 1),)) from problem


def _test(op: "TestOp", kernels: "PtxFile", harness: str, model: str) -> PtxTest:
    from fencewright.checker.execute.nvidia import joined, read_column, table
    from fencewright.lowering.code.source_location import SourceLocation
    from fencewright.passes.litmus.programs import Language, TestCode, ThreadCode
    from fencewright.simulator.core.program import signed
    from fencewright.simulator.ptx.model import PtxModel, Version

    threads = tuple(
        ThreadCode(number, thread, None, thread.body, thread.bound_arguments)
        for number, thread in enumerate(op.threads)
    )
    if not threads:
        raise error(f"'{op.sym_name.data}': a test needs a thread", name_of(harness))
    code = TestCode(op, Language.PTX, threads)
    columns: list[Column] = []
    for thread, situation in zip(threads, _situations(code), strict=True):
        name = None if thread.thread.kernel is None else thread.thread.kernel.string_value()
        kernel = kernels.functions.get(name or "")
        if kernel is None or not kernel.is_entry:
            entries = ", ".join(each.name for each in kernels.functions.values() if each.is_entry)
            raise error(
                f"P{thread.number} of '{code.name}' runs {name or 'a body of its own'}, which "
                f"{kernels.file} does not have; its kernels: {entries}",
                name_of(harness),
            )
        arguments = _arguments(thread)
        columns.append(read_column(kernels, kernel, arguments, situation, code.multicasts))
    _check_widths(columns, kernels)
    locations, mbarriers = joined(columns)
    heads = [f"P{each.number}{_place(code, each.number)}" for each in threads]
    places = {code.threads[n].thread.placement.resolve(n).workgroup: n for n in range(len(threads))}
    initial = [
        *(f"{each.name}={signed(each.initial)};" for each in code.locations),
        *(f"{name}={'mbarrier' if name in mbarriers else 0};" for name in locations),
        *(f"{name} @ generic aliases {of};" for name, of in code.aliases),
        *(
            f"{name}{_place(code, places[group])};"
            for name, group in locations.items()
            if group in places
        ),
    ]
    rows = table(heads, columns)
    head = [f"PTX {code.name}", f"{{ {' '.join(initial)} }}"]
    text = "\n".join([*head, *(f" {row} ;" for row in rows), str(code.condition)])
    test = _parsed(f"{text}\n", columns, kernels)
    lines = [tuple(SourceLocation(kernels.file, line) for line in each.lines) for each in columns]
    placed = zip(test.program.threads, lines, strict=True)
    program = replace(
        test.program, threads=tuple(replace(each, places=where) for each, where in placed)
    )
    shared = frozenset(locations)
    return PtxTest(replace(test, program=program), PtxModel(Version(model)), code.observed, shared)


def _parsed(text: str, columns: "Sequence[Column]", kernels: "PtxFile"):
    from fencewright.lowering.ptx.code.text import PtxError
    from fencewright.simulator.core.condition import LitmusError
    from fencewright.simulator.ptx.formats.columns import parse_litmus

    try:
        return parse_litmus(text)
    except LitmusError as problem:
        row = text.splitlines()[problem.line - 1]
        column, at = row[: problem.column - 1].count("|"), problem.line - 4
        lines = columns[column].lines if column < len(columns) else []
        line = lines[at] if 0 <= at < len(lines) else 1
        message = f"in the PTX model, {problem.message}"
        raise PtxError(f"{kernels.file}:{line}: error: {message}") from problem


def _place(code: "TestCode", number: int) -> str:
    place = code.threads[number].thread.placement.resolve(number)
    cluster = f"cluster {place.cluster}," if code.test.is_placed_in_clusters else ""
    return f"@cta {place.workgroup},{cluster}gpu {place.agent}"


def _situations(code: "TestCode") -> "Iterator[LaunchIndex]":
    from fencewright.checker.execute.nvidia import LaunchIndex

    places = [each.thread.placement.resolve(each.number) for each in code.threads]
    groups = sorted({each.workgroup for each in places})
    for number, place in enumerate(places):
        mine = [n for n, each in enumerate(places) if each.workgroup == place.workgroup]
        cluster = {place.workgroup}
        if code.test.is_placed_in_clusters:
            cluster = {each.workgroup for each in places if each.cluster == place.cluster}
        ranks = tuple(sorted(cluster))
        yield LaunchIndex(
            place, mine.index(number), len(mine), len(groups), ranks.index(place.workgroup), ranks
        )


def _arguments(thread: object) -> "list[Argument]":
    from fencewright.checker.execute.nvidia import ToLocation, ToRegister
    from fencewright.passes.litmus.programs import (
        ThreadCode,
        location_of,
        number_of,
        register_of,
    )

    assert isinstance(thread, ThreadCode)
    found: list[Argument] = []
    for each in thread.arguments:
        if (location := location_of(each)) is not None:
            found.append(ToLocation(location))
        elif (register := register_of(each)) is not None:
            found.append(ToRegister(register))
        else:
            value = number_of(each)
            assert value is not None
            found.append(value)
    return found


def _check_widths(columns: "Sequence[Column]", kernels: "PtxFile") -> None:
    """Refuse a location that two threads access with different widths."""
    from fencewright.lowering.ptx.code.text import PtxError

    widths: dict[str, tuple[int, int]] = {}
    for column in columns:
        for name, (width, line) in column.widths.items():
            known, before = widths.setdefault(name, (width, line))
            if known != width:
                problem = f"'{name}' has {known} bits in line {before}, and {width} here"
                raise PtxError(f"{kernels.file}:{line}: error: {problem}")
