"""MLIR in generic form, of dialects that nobody registers: what of it synchronises, as ``scoped``."""

import sys

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, ModuleOp
from xdsl.dialects.llvm import LLVMPointerType, LLVMVoidType
from xdsl.ir import Dialect
from xdsl.utils.exceptions import ParseError

from fencewright.passes.scoped.import_mlir_sync import Refusal, import_sync
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.universe import UNIVERSE


def read_mlir_sync(
    text: str, file: str, line_offset: int, *, keep: bool, implicit_module: bool
) -> ModuleOp:
    """The module, what synchronises in it as ``scoped``; ``line_offset`` lines came before ``text``.

    ``implicit_module``: the text may be what is in a module. What cannot be said is warned of on stderr
    with ``keep``. Raises ``ToolError`` with one line for each such operation otherwise, and ``ParseError``
    for what is not in generic form.
    """
    parser = LocatedParser(generic_mlir(), text, file, line_offset)
    try:
        module = parser.parse_module(implicit_module)
    except ParseError as problem:
        if _NO_CUSTOM_FORM not in problem.msg:
            raise
        raise ParseError(problem.span, _NOT_GENERIC) from problem
    severity = Severity.WARNING if keep else Severity.ERROR
    refused = tuple(_diagnostic(each, file, severity) for each in import_sync(module))
    if refused and not keep:
        raise ToolError(refused)
    for each in refused:
        print(each, file=sys.stderr)
    return module


_NO_CUSTOM_FORM = "does not have a custom format"
"""What xDSL says of an operation of a dialect that it does not know."""
_NOT_GENERIC = (
    "an operation that is not in generic form; mlir-opt --mlir-print-op-generic prints it so"
)


def generic_mlir() -> Context:
    """What reads generic form: other dialects' definitions in xDSL are older than MLIR's."""
    context = Context(allow_unregistered=True)
    for dialect in (
        Builtin,
        Dialect("llvm", [], [LLVMPointerType, LLVMVoidType]),
        UNIVERSE.all_dialects["scoped"](),
    ):
        context.load_dialect(dialect)
    return context


def _diagnostic(refusal: Refusal, file: str, severity: Severity) -> Diagnostic:
    place = refusal.op.location
    if not isinstance(place, FileLineColLoc):
        return Diagnostic(str(refusal), file, severity=severity)
    return Diagnostic(str(refusal), file, place.line.data, place.column.data, severity)
