"""Remarks as text, one line each as a compiler prints them, and as YAML, as LLVM's tools read them.

Source of the YAML: LLVM, Remarks; what ``llc -pass-remarks-output`` writes and
``llvm-remarkutil``, ``llvm-opt-report`` and ``opt-viewer.py`` read.
"""

from collections.abc import Iterable, Iterator

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.tools.diagnostics import Diagnostic, Severity
from fencewright.tools.remarks.remarks import Remark, RemarkArgument


def in_order(remarks: Iterable[Remark]) -> list[Remark]:
    """The remarks by place in the input, those on one place as the passes made them."""
    return sorted(remarks, key=lambda remark: remark.place or SourceLocation("", 0, 0))


def diagnostic(remark: Remark, file: str) -> Diagnostic:
    """The remark as one line; ``file`` is named where its place is not known."""
    message = f"{remark.message} [{remark.kind.lower()}: {remark.pass_name}]"
    if remark.place is None:
        return Diagnostic(message, file, severity=Severity.REMARK)
    place = remark.place
    return Diagnostic(message, place.file, place.line, place.column, Severity.REMARK)


def to_yaml(remarks: Iterable[Remark]) -> str:
    """The remarks as one YAML document each."""
    return "".join(f"{line}\n" for remark in remarks for line in _document(remark))


def _document(remark: Remark) -> Iterator[str]:
    yield f"--- !{remark.kind}"
    yield _entry("", "Pass", _quoted(remark.pass_name))
    yield _entry("", "Name", _quoted(remark.name))
    if remark.place is not None:
        yield _entry("", "DebugLoc", _location(remark.place))
    yield _entry("", "Function", _quoted(remark.function))
    if remark.arguments:
        yield "Args:"
        for argument in remark.arguments:
            yield from _argument(argument)
    yield "..."


def _argument(argument: RemarkArgument) -> Iterator[str]:
    yield _entry("  - ", argument.key, _quoted(argument.value))
    if argument.place is not None:
        yield _entry("    ", "DebugLoc", _location(argument.place))


def _entry(indent: str, key: str, value: str) -> str:
    return f"{indent}{key + ':':<17}{value}"


def _location(place: SourceLocation) -> str:
    return f"{{ File: {_quoted(place.file)}, Line: {place.line}, Column: {place.column} }}"


def _quoted(text: str) -> str:
    """A YAML scalar in single quotes, in which only the quote itself is special."""
    return "'" + " ".join(text.split("\n")).replace("'", "''") + "'"
