"""MLIR in generic form, of unregistered dialects: its synchronisation, as ``scoped``."""

import re
import sys

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, ModuleOp
from xdsl.dialects.llvm import LLVMPointerType, LLVMVoidType
from xdsl.ir import Dialect
from xdsl.utils.exceptions import ParseError

from fencewright.passes.scoped.import_mlir_sync import Refusal, import_sync
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError, error
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.universe import UNIVERSE


def read_mlir_sync(
    text: str, file: str, line_offset: int, *, keep: bool, implicit_module: bool
) -> ModuleOp:
    """The module, its synchronisation as ``scoped``; ``line_offset`` lines came before ``text``.

    ``implicit_module``: the text may be what is in a module. What cannot be said is warned of on
    stderr with ``keep``. Raises ``ToolError`` with one line for each such operation otherwise, and
    ``ParseError`` for what is not in generic form.
    """
    parser = LocatedParser(generic_mlir(), whole(text, file), file, line_offset)
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
"""xDSL's message for an operation of a dialect that it does not know."""
_NOT_GENERIC = (
    "an operation that is not in generic form; mlir-opt --mlir-print-op-generic prints it so"
)


_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|//[^\n]*|(?P<empty>#[\w.$]+\.[\w$]+<)>|(?P<alias>[#!][A-Za-z_][\w$-]*)(?![\w.$<])'
)
_ALIAS = re.compile(r"^([#!][A-Za-z_][\w$-]*) = (?!loc\()(.*)$", re.MULTILINE)
"""A definition; places of the source are no text that is kept."""
_MOST = 1 << 26
"""Characters: more than an input may have."""


def whole(text: str, file: str) -> str:
    """``text`` with aliases of attributes and types written out, on the lines where they are used.

    Of what it does not know xDSL keeps the text, and prints no definitions of the aliases in it;
    nor the ``<>`` of an attribute without parameters, which some need. Raises ``ToolError`` for
    what would be longer than an input may be.
    """
    found: dict[str, str] = {}

    def spelled(token: re.Match[str]) -> str:
        if token["empty"]:
            return f"{token['empty']} >"
        return found.get(token["alias"] or "", token[0])

    def written_out(piece: str) -> str:
        uses = (found.get(each["alias"] or "", "") for each in _TOKEN.finditer(piece))
        if len(piece) + sum(map(len, uses)) > _MOST:
            raise error("with its aliases written out the module is over 64 MiB", file)
        return _TOKEN.sub(spelled, piece)

    def defined(line: re.Match[str]) -> str:
        found[line[1]] = written_out(line[2])
        return ""

    return written_out(_ALIAS.sub(defined, text))


def generic_mlir() -> Context:
    """The context for generic form: other dialects' definitions in xDSL are older than MLIR's."""
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
