"""Litmus tests in files: ``.mlir`` of the ``litmus`` dialect, ``.litmus`` of PTX columns."""

from typing import TYPE_CHECKING

from fencewright.simulator.core.condition import LitmusError
from fencewright.tools import diagnostics
from fencewright.tools.diagnostics import Diagnostic, ToolError, diagnose, error

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from fencewright.simulator.ptx.formats.columns import PtxLitmusTest

STDIN = "<stdin>"

_STANDARD_DIALECTS = ("builtin", "func", "arith", "cf", "gpu", "llvm", "math", "vector")
"""Dialects that a module may use besides the project's own."""


def name_of(path: str) -> str:
    """The name of the file in messages; ``-`` is stdin."""
    return STDIN if path == "-" else path


def read_text(path: str) -> str:
    """The file's text. Raises :class:`ToolError`."""
    return text_of(read_content(path), path)


def read_content(path: str) -> bytes:
    """The file's bytes. Raises :class:`ToolError`."""
    try:
        return diagnostics.read_bytes(None if path == "-" else path)
    except OSError as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem


def text_of(content: bytes, path: str) -> str:
    """The text that a file's bytes are. Raises :class:`ToolError`."""
    try:
        text = diagnostics.as_text(content)
    except UnicodeDecodeError as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem
    if not text.strip():
        raise error("the input is empty", name_of(path))
    return text


def is_columns(path: str, text: str) -> bool:
    """True if a file is a PTX litmus test in columns: by its name, or on stdin by its start."""
    return path.endswith(".litmus") or (path == "-" and text.lstrip()[:4].lower() == "ptx ")


def parse_columns(path: str, text: str) -> "PtxLitmusTest":
    """A PTX litmus test in columns. Raises :class:`ToolError` with the place of a fault."""
    from fencewright.simulator.ptx.formats.columns import parse_litmus

    try:
        return parse_litmus(text, name_of(path))
    except LitmusError as problem:
        place = Diagnostic(problem.message, problem.file, problem.line, problem.column)
        raise ToolError((place,)) from problem
    except RecursionError as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem


def parse_module(path: str, text: str) -> "ModuleOp":
    """A verified MLIR module. Raises :class:`ToolError` with the place of a fault."""
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects
    from xdsl.utils.exceptions import DiagnosticException, ParseError

    from fencewright.mlir_dialects.verification import verify
    from fencewright.tools.inputs.located_parser import LocatedParser
    from fencewright.universe import DIALECTS

    context = Context()
    known = get_all_dialects() | DIALECTS
    for name in (*_STANDARD_DIALECTS, *DIALECTS):
        context.register_dialect(name, known[name])
    try:
        module = LocatedParser(context, text, name_of(path)).parse_module()
        verify(module)
    except (ParseError, DiagnosticException, RecursionError) as problem:
        raise ToolError((_known(problem, name_of(path)),)) from problem
    return module


def check_syntax(path: str, text: str) -> None:
    """Raise :class:`ToolError` with the place of a fault in a file's ``text``."""
    (parse_columns if is_columns(path, text) else parse_module)(path, text)


def _known(problem: Exception, file: str) -> Diagnostic:
    diagnostic = diagnose(problem, file)
    assert diagnostic is not None
    return diagnostic
