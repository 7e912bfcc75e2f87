"""Litmus tests whose threads run kernels of a file: ``fence-sim run x.ptx --litmus h.mlir``.

The harness is a module with tests in the ``litmus`` dialect, and a ``litmus.kernel`` for each
kernel that the file, PTX or AMD assembly, has.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from fencewright.simulator.litmus_run import PtxTest, RunnableTest
from fencewright.tools import ptx_check
from fencewright.tools.diagnostics import Diagnostic, ToolError, error, read_bytes
from fencewright.tools.inputs.code_kind import is_amd_assembly
from fencewright.tools.inputs.litmus.files import name_of, parse_module, read_text

if TYPE_CHECKING:
    from fencewright.lowering.ptx.code.text import PtxFile
    from fencewright.mlir_dialects.litmus import TestOp
    from fencewright.passes.litmus.programs import Language, TestCode, ThreadCode
    from fencewright.tools.inputs.litmus.lowered import Lowering


def read_with_harness(
    path: str, harness: str, lowering: "Lowering", only: str | None = None
) -> Iterator[RunnableTest]:
    """The tests of a harness on the kernels of a file.

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
    content = read_bytes(None if path == "-" else path)
    text = content.decode(errors="replace")
    is_amd = is_amd_assembly(path, text)
    language = "AMD assembly" if is_amd else "PTX"
    kept = {"--l2-per-agent", "--readings"} if is_amd else {"--model"}
    refused = set(lowering.given) - kept
    lowering.check_effect(f"the kernels are {language} already", *refused)
    if is_amd:
        yield from _amd_tests(chosen, text, file, harness, lowering)
        return
    try:
        kernels = ptx_check.read_input(content, file)
        for op in chosen:
            yield _test(op, kernels, harness, lowering.model)
    except PtxError as problem:
        place = Diagnostic(problem.problem, problem.file, problem.line, 1)
        raise ToolError((place,)) from problem


def _amd_tests(
    tests: "list[TestOp]", text: str, file: str, harness: str, lowering: "Lowering"
) -> Iterator[RunnableTest]:
    from xdsl.utils.exceptions import DiagnosticException

    from fencewright.lowering.cdna.code.text import read_assembly
    from fencewright.lowering.code.source_location import AssemblyError
    from fencewright.passes.litmus.cdna import read_functions
    from fencewright.passes.litmus.programs import Language
    from fencewright.simulator.programs.amd.thread import UnreadableError

    try:
        functions = read_assembly(text, file).functions
        kernels = {name: each for name, each in functions.items() if each.descriptor}
        for op in tests:
            code = _code(op, Language.CDNA, harness)
            entries = [_entry(code, each, kernels, file, harness) for each in code.threads]
            yield read_functions(code, entries, lowering.read_options)
    except UnreadableError as problem:
        raise error(problem.problem, file, problem.line, 1) from problem
    except (AssemblyError, DiagnosticException) as problem:
        raise error(str(problem), name_of(harness)) from problem


def _code(op: "TestOp", language: "Language", harness: str) -> "TestCode":
    from fencewright.passes.litmus.programs import TestCode, ThreadCode

    threads = tuple(
        ThreadCode(number, thread, None, thread.body, thread.bound_arguments)
        for number, thread in enumerate(op.threads)
    )
    if not threads:
        raise error(f"'{op.sym_name.data}': a test needs a thread", name_of(harness))
    return TestCode(op, language, threads)


def _test(op: "TestOp", file: "PtxFile", harness: str, model: str) -> PtxTest:
    from fencewright.lowering.code.source_location import SourceLocation
    from fencewright.passes.litmus.programs import Language
    from fencewright.passes.litmus.ptx import ptx_test

    code = _code(op, Language.PTX, harness)
    kernels = {name: each for name, each in file.functions.items() if each.is_entry}
    entries = [_entry(code, each, kernels, file.file, harness) for each in code.threads]
    return ptx_test(code, entries, file, model, lambda line: SourceLocation(file.file, line))


_Kernel = TypeVar("_Kernel")


def _entry(
    code: "TestCode", thread: "ThreadCode", kernels: Mapping[str, _Kernel], file: str, harness: str
) -> _Kernel:
    """The kernel of the file that a thread runs."""
    kernel = thread.thread.kernel
    name = None if kernel is None else kernel.string_value()
    entry = kernels.get(name or "")
    if entry is not None:
        return entry
    entries = ", ".join(kernels)
    raise error(
        f"P{thread.number} of '{code.name}' runs {name or 'a body of its own'}, which "
        f"{file} does not have; its kernels: {entries}",
        name_of(harness),
    )
