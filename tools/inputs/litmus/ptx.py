"""Litmus tests whose threads run kernels of a PTX file: ``fence-sim run x.ptx --litmus h.mlir``.

The harness is a module with tests in the ``litmus`` dialect, and a ``litmus.kernel`` for each
kernel that the PTX file has.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fencewright.simulator.litmus_run import PtxTest
from fencewright.tools import ptx_check
from fencewright.tools.diagnostics import Diagnostic, ToolError, error, read_bytes
from fencewright.tools.inputs.litmus.files import name_of, parse_module, read_text

if TYPE_CHECKING:
    from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction
    from fencewright.mlir_dialects.litmus import TestOp
    from fencewright.passes.litmus.programs import TestCode, ThreadCode


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


def _test(op: "TestOp", file: "PtxFile", harness: str, model: str) -> PtxTest:
    from fencewright.lowering.code.source_location import SourceLocation
    from fencewright.passes.litmus.programs import Language, TestCode, ThreadCode
    from fencewright.passes.litmus.ptx import ptx_test

    threads = tuple(
        ThreadCode(number, thread, None, thread.body, thread.bound_arguments)
        for number, thread in enumerate(op.threads)
    )
    if not threads:
        raise error(f"'{op.sym_name.data}': a test needs a thread", name_of(harness))
    code = TestCode(op, Language.PTX, threads)
    entries = [_entry(code, each, file, harness) for each in threads]
    return ptx_test(code, entries, file, model, lambda line: SourceLocation(file.file, line))


def _entry(code: "TestCode", thread: "ThreadCode", file: "PtxFile", harness: str) -> "PtxFunction":
    """The kernel of the file that a thread runs."""
    kernel = thread.thread.kernel
    name = None if kernel is None else kernel.string_value()
    entry = file.functions.get(name or "")
    if entry is not None and entry.is_entry:
        return entry
    entries = ", ".join(each.name for each in file.functions.values() if each.is_entry)
    raise error(
        f"P{thread.number} of '{code.name}' runs {name or 'a body of its own'}, which "
        f"{file.file} does not have; its kernels: {entries}",
        name_of(harness),
    )
