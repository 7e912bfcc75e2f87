"""Litmus tests in files: ``.mlir`` with the ``litmus`` dialect, and ``.litmus`` for PTX in columns."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fencewright.simulator.core.condition import LitmusError
from fencewright.tools import diagnostics
from fencewright.tools.diagnostics import Diagnostic, ToolError, diagnose, error

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect

    from fencewright.simulator.ptx.columns import PtxLitmusTest

STDIN = "<stdin>"


def name_of(path: str) -> str:
    """How messages call the file; ``-`` is stdin."""
    return STDIN if path == "-" else path


def read_text(path: str) -> str:
    """The file's text. Raises :class:`ToolError`."""
    try:
        text = diagnostics.read_text(None if path == "-" else path)
    except (OSError, UnicodeDecodeError) as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem
    if not text.strip():
        raise error("the input is empty", name_of(path))
    return text


def is_columns(path: str, text: str) -> bool:
    """Whether a file is a PTX litmus test in columns: by its name, or on stdin by how it starts."""
    return path.endswith(".litmus") or (path == "-" and text.lstrip()[:4].lower() == "ptx ")


def parse_columns(path: str, text: str) -> "PtxLitmusTest":
    """A PTX litmus test in columns. Raises :class:`ToolError` with the place of what is wrong."""
    from fencewright.simulator.ptx.columns import parse_litmus

    try:
        return parse_litmus(text, name_of(path))
    except LitmusError as problem:
        place = Diagnostic(problem.message, problem.file, problem.line, problem.column)
        raise ToolError((place,)) from problem
    except RecursionError as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem


def parse_module(path: str, text: str) -> "ModuleOp":
    """A verified MLIR module. Raises :class:`ToolError` with the place of what is wrong."""
    from xdsl.context import Context
    from xdsl.utils.exceptions import DiagnosticException, ParseError

    from fencewright.mlir_dialects.verification import verify
    from fencewright.tools.inputs.located_parser import LocatedParser
    from fencewright.universe import DIALECTS

    context = Context()
    for name, factory in {**_DIALECTS, **DIALECTS}.items():
        context.register_dialect(name, factory)
    try:
        module = LocatedParser(context, text, name_of(path)).parse_module()
        verify(module)
    except (ParseError, DiagnosticException, RecursionError) as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem
    return module


def check_syntax(path: str, text: str) -> None:
    """Raise :class:`ToolError` with the place of what is wrong in a file's ``text``."""
    (parse_columns if is_columns(path, text) else parse_module)(path, text)


def _known(problem: Exception, file: str) -> Diagnostic:
    diagnostic = diagnose(problem, file)
    assert diagnostic is not None
    return diagnostic


def _builtin() -> "Dialect":
    from xdsl.dialects.builtin import Builtin

    return Builtin


def _func() -> "Dialect":
    from xdsl.dialects.func import Func

    return Func


def _arith() -> "Dialect":
    from xdsl.dialects.arith import Arith

    return Arith


def _cf() -> "Dialect":
    from xdsl.dialects.cf import Cf

    return Cf


def _gpu() -> "Dialect":
    from xdsl.dialects.gpu import GPU

    return GPU


def _llvm() -> "Dialect":
    from xdsl.dialects.llvm import LLVM

    return LLVM


_DIALECTS: "dict[str, Callable[[], Dialect]]" = {
    "builtin": _builtin,
    "func": _func,
    "arith": _arith,
    "cf": _cf,
    "gpu": _gpu,
    "llvm": _llvm,
}
"""What may stand in a module besides the project's own dialects."""
