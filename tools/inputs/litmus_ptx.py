"""Litmus tests whose threads run kernels of a PTX file: ``fence-sim run x.ptx --litmus h.mlir``.

The harness is a module with tests in the ``litmus`` dialect, and a ``litmus.kernel`` for each
kernel that the PTX file has.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fencewright.simulator.litmus_run import PtxTest
from fencewright.tools import ptx_check
from fencewright.tools.diagnostics import Diagnostic, ToolError, error, read_bytes
from fencewright.tools.inputs.litmus_files import name_of, parse_module, read_text

if TYPE_CHECKING:
    from fencewright.simulator.programs.nvidia import Argument, Column, LaunchIndex
    from fencewright.lowering.ptx.code.text import PtxFile
    from fencewright.mlir_dialects.litmus import TestOp
    from fencewright.passes.litmus.programs import TestCode
    from fencewright.simulator.core.program import Placement


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
        place = Diagnostic(problem.problem, problem.file, problem.line, 1)
        raise ToolError((place,)) from problem


def _test(op: "TestOp", kernels: "PtxFile", harness: str, model: str) -> PtxTest:
    from fencewright.simulator.programs.nvidia import read_column
    from fencewright.lowering.code.source_location import SourceLocation
    from fencewright.lowering.ptx.code.text import PtxError
    from fencewright.passes.litmus.programs import Language, TestCode, ThreadCode
    from fencewright.simulator.core.program import Location, Thread, signed
    from fencewright.simulator.ptx.builder import ModelError, complete
    from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
    from fencewright.simulator.ptx.instructions import Alias, PtxProgram
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
    variables = {name: group for each in columns for name, group in each.locations.items()}
    mbarriers = {name for each in columns for name in each.mbarriers}
    placements = [_place(code, each.number) for each in threads]
    homes = {each.workgroup: each for each in placements}
    program = PtxProgram(
        (
            *(Location(each.name, signed(each.initial)) for each in code.locations),
            *(Location(name, 0) for name in variables if name not in mbarriers),
        ),
        tuple(
            Thread(
                place,
                tuple(each.instructions),
                tuple(SourceLocation(kernels.file, line) for line in each.lines),
            )
            for place, each in zip(placements, columns, strict=True)
        ),
        name=code.name,
        aliases={name: Alias(of) for name, of in code.aliases},
        mbarriers={name: 0 for name in variables if name in mbarriers},
        shared={name: homes[group] for name, group in variables.items() if group in homes},
    )
    try:
        test = PtxLitmusTest(complete(program, code.condition), code.condition)
    except ModelError as problem:
        message = f"in the PTX model, {problem.message}"
        raise PtxError(kernels.file, 1, message) from problem
    return PtxTest(test, PtxModel(Version(model)), code.observed, frozenset(variables))


def _place(code: "TestCode", number: int) -> "Placement":
    from fencewright.simulator.core.program import Placement

    place = code.threads[number].thread.placement.resolve(number)
    cluster = place.cluster if code.test.is_placed_in_clusters else None
    return Placement(place.workgroup, agent=place.agent, cluster=cluster)


def _situations(code: "TestCode") -> "Iterator[LaunchIndex]":
    from fencewright.simulator.programs.nvidia import LaunchIndex

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
    from fencewright.simulator.programs.nvidia import ToLocation, ToRegister
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
                raise PtxError(kernels.file, line, problem)
