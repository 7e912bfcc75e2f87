"""Litmus tests of a module as the simulator runs them, in any language."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from fencewright.passes.litmus.programs import Language, ReadOptions, TestCode, find_tests
from fencewright.simulator.litmus_run import RunnableTest


def read_test(code: TestCode, options: ReadOptions) -> RunnableTest:
    """The test as the simulator runs it.

    Raises ``DiagnosticException`` at what the simulator cannot execute.
    """
    match code.language:
        case Language.SCOPED:
            from fencewright.passes.litmus.source import read_source

            return read_source(code)
        case Language.CDNA:
            from fencewright.passes.litmus.cdna import read_cdna

            return read_cdna(code, options)
        case Language.PTX:
            from fencewright.passes.litmus.ptx import read_ptx

            return read_ptx(code, options)


def read_only_test(module: ModuleOp, options: ReadOptions) -> RunnableTest:
    """The one test of a module."""
    ((_, test),) = read_tests(module, options)
    return test


def read_tests(module: ModuleOp, options: ReadOptions) -> Iterator[tuple[TestCode, RunnableTest]]:
    """Every test of a module, with the code that it was read from."""
    for code in find_tests(module):
        yield code, read_test(code, options)
