"""Common parts of every tool: one line per error, and output files that are whole or absent."""

import os
import signal
import sys
import traceback
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from threading import current_thread, main_thread
from typing import IO, NoReturn

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from fencewright.extras import how_to_get
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.core.processes.memory_limit import (
    VARIABLE,
    limit_process,
    memory_limit,
    parse_size,
)
from fencewright.tools.statuses import INCOMPLETE, USAGE
from fencewright.tools.streams import (
    CLOSED_PIPE,
    check_stdout,
    ends_silently,
    flush_stdout,
    forget_streams,
    tell,
)
from fencewright.tools.version import VERSION

TRACEBACK_VARIABLE = "FENCEWRIGHT_TRACEBACK"
"""Set this environment variable to see the Python traceback of every error."""


class Severity(StrEnum):
    """The severity of a diagnostic; MLIR's names."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about one place: ``file:line:col: severity: message``.

    ``line`` and ``column`` count from 1; 0 says that the place is not known. ``source``: the text
    of that line, which is printed below with a caret at the column.
    """

    message: str
    file: str
    line: int = 0
    column: int = 0
    severity: Severity = Severity.ERROR
    source: str = ""

    @property
    def place(self) -> str:
        """The file, with line and column where they are known, as it is printed."""
        return printable(f"{self.file}:{self.line}:{self.column}" if self.line else self.file)

    @property
    def text(self) -> str:
        """The message on one line, as it is printed."""
        return printable(" ".join(self.message.split()))

    def __str__(self) -> str:
        return "\n".join((f"{self.place}: {self.severity}: {self.text}", *self.shown()))

    def shown(self) -> tuple[str, ...]:
        """The line of the source, and a caret below its column; nothing where that is not known."""
        if not self.source.strip():
            return ()
        text = printable(self.source.expandtabs(1))
        return f"    {text}", f"    {' ' * (self.column - 1)}^"


def printable(text: str) -> str:
    """``text`` with the bytes of file names that are not UTF-8 written as ``\\xff``."""
    if text.isascii():
        return text
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass
class ToolError(Exception):
    """An error that is the user's to mend; ``diagnostics`` are printed one line each."""

    diagnostics: tuple[Diagnostic, ...]
    status: int = field(default=USAGE, kw_only=True)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


def error(
    message: str, file: str, line: int = 0, column: int = 0, *, status: int = USAGE
) -> ToolError:
    """A :class:`ToolError` of one message about ``file`` (or about the tool of that name)."""
    return ToolError((Diagnostic(message, file, line, column),), status=status)


def refuse_options(arguments: Namespace, options: Iterable[str], reason: str, tool: str) -> None:
    """Raise ``ToolError`` for the first of these options that was given: it has no effect."""
    for option in options:
        value = getattr(arguments, option)
        if value and (option, value) != ("format", "text"):
            raise error(f"{reason}; --{option.replace('_', '-')} has no effect", tool)


def add_version(parser: ArgumentParser) -> None:
    """Add ``--version``."""
    parser.add_argument(
        "-v", "--version", action=_VersionAction, nargs=0, help="print the version and exit"
    )


class _VersionAction(Action):
    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        print(VERSION.format())
        parser.exit()


def _check_memory_limit() -> None:
    """Raises :class:`ToolError` where the environment has no size for explorations' memory."""
    try:
        memory_limit()
    except ValueError as problem:
        raise error(str(problem), VARIABLE) from None


def memory_size(text: str) -> str:
    """A size of memory on the command line, as 2G. Raises ``ArgumentTypeError``."""
    try:
        parse_size(text)
    except ValueError as problem:
        raise ArgumentTypeError(str(problem)) from None
    return text


def positive(text: str) -> int:
    """A number on the command line that is at least 1. Raises ``ArgumentTypeError``."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise ArgumentTypeError(f"expected a positive number, found '{text}'")
    return number


LONG_NUMBER = f"a number has more than {sys.get_int_max_str_digits()} digits"


def is_long_number(problem: ValueError) -> bool:
    """True if Python refuses to convert a number because of its length."""
    return str(problem).startswith("Exceeds the limit (")


def diagnose(exception: BaseException, file: str, line_offset: int = 0) -> Diagnostic | None:
    """The one line to print for an exception, None if it is none of the expected ones.

    ``file`` is what was being read; ``line_offset`` is how many lines of it came before
    the text that was parsed. An operation that raised through ``emit_error`` gives the
    place when it has a location.
    """
    match exception:
        case ParseError():
            place = exception.span.get_location()
            line = place.line + (0 if exception.span.line_offset else line_offset)
            return Diagnostic(exception.msg, file, line, place.col)
        case ArgSpecParseError():
            first, *_, caret = [line for line in str(exception).splitlines() if line.strip()]
            return Diagnostic(f"{caret.strip()} ({first.rstrip(':').lower()})", file)
        case DiagnosticException() | UnsupportedError():
            return _located(exception, file)
        case UnicodeDecodeError() if exception.object.startswith(b"\x7fELF"):
            return Diagnostic("an object file: give the assembly or PTX that it was made of", file)
        case UnicodeDecodeError():
            before = exception.object[: exception.start]
            line = before.count(b"\n") + 1 + line_offset
            column = exception.start - (before.rfind(b"\n") + 1) + 1
            byte = exception.object[exception.start]
            return Diagnostic(
                f"not UTF-8 text: byte 0x{byte:02x}; save it as UTF-8", file, line, column
            )
        case IsADirectoryError():
            return Diagnostic("a folder, where a file is expected", exception.filename or file)
        case OSError():
            return Diagnostic(exception.strerror or str(exception), exception.filename or file)
        case RecursionError():
            return Diagnostic("nested too deeply", file)
        case MemoryError():
            return Diagnostic("out of memory", file)
        case ValueError() if is_long_number(exception):
            return Diagnostic(LONG_NUMBER, file)
        case ModuleNotFoundError():
            remedy = how_to_get(exception)
            return None if remedy is None else Diagnostic(remedy, file)
        case _:
            return None


def of_assembly(problem: AssemblyError, file: str) -> Diagnostic:
    """The diagnostic of an error in assembly, which says the line of ``file`` that it is in."""
    _, line, _, message = str(problem).removeprefix(file).split(":", 3)
    return Diagnostic(message.strip(), file, int(line), 1)


def _located(exception: Exception, file: str) -> Diagnostic:
    """The diagnostic of an exception, placed at the operation that raised or failed to verify."""
    from xdsl.dialects.builtin import FileLineColLoc
    from xdsl.ir import Operation

    message = str(exception) or type(exception).__name__
    # xDSL keeps only a printed copy of the module: the innermost frame has the operation.
    raised_by = (Operation.emit_error.__code__, Operation.verify.__code__)
    frames = (frame for frame, _ in traceback.walk_tb(exception.__traceback__))
    operations = [f.f_locals["self"] for f in frames if f.f_code in raised_by]
    operation: Operation | None = operations[-1] if operations else None
    while operation is not None:
        place = operation.location
        if isinstance(place, FileLineColLoc):
            return Diagnostic(message, place.filename.data, place.line.data, place.column.data)
        operation = operation.parent_op()
    return Diagnostic(message, file)


def run_tool(name: str, body: Callable[[], int]) -> int:
    """Run a tool's ``body``; returns its exit status, after one line on stderr for an error.

    The status is ``USAGE`` after a problem of the input or of a file, as a full disk, and
    ``INCOMPLETE`` after an interrupt, SIGTERM or SIGHUP, where memory is short, and after a fault
    of the tool itself. A closed stdout is an error; where the reader of a pipe is gone the tool
    ends with ``CLOSED_PIPE``, without a word. Nothing ever ends in a traceback unless the
    environment variable ``FENCEWRIGHT_TRACEBACK`` is set.
    """
    try:
        check_stdout()
        if VARIABLE in os.environ:
            _check_memory_limit()
        limit_process()
        with _ended_in_order():
            status = _status_of(body)
        flush_stdout()
        return status
    except BaseException as failure:
        if ends_silently(failure):
            return CLOSED_PIPE
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exception(failure)
        forget_streams()
        tell(*_lines(failure, name))
        return _status_after(failure)


def _status_after(failure: BaseException) -> int:
    """The exit status after an exception."""
    if isinstance(failure, ToolError):
        return failure.status
    is_known = diagnose(failure, "") is not None
    return USAGE if is_known and not isinstance(failure, MemoryError) else INCOMPLETE


def _status_of(body: Callable[[], int]) -> int:
    """The exit status of ``body``, which may leave by ``SystemExit`` as argparse does."""
    try:
        return body()
    except SystemExit as exit_request:
        return exit_request.code if isinstance(exit_request.code, int) else 1


def interruption(interrupt: KeyboardInterrupt) -> str:
    """The message of a tool that was interrupted, or terminated."""
    return str(interrupt) or "interrupted"


class _Ended(KeyboardInterrupt):
    """An interrupt, SIGTERM or SIGHUP, after which the exit status is the tool's.

    CPython remembers a plain ``KeyboardInterrupt`` that leaves an ``exec``, as dataclasses use it
    when they are made, and kills its process by SIGINT at the end, whoever caught it.
    """


@contextmanager
def _ended_in_order() -> Generator[None]:
    """Interrupts, SIGTERM and SIGHUP raise ``_Ended`` meanwhile, for files and processes.

    A handler that is set already, or an ignored signal, stays; only the main thread can change it.
    """
    if current_thread() is not main_thread():
        yield
        return
    usual = [(number, each) for number, each in _USUAL_HANDLERS if signal.getsignal(number) is each]
    for number, _ in usual:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in usual:
            signal.signal(number, handler)


_USUAL_HANDLERS = (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
)


_WORDS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "terminated: the terminal is gone",
}


def _end(number: int, _frame: object) -> NoReturn:
    raise _Ended(_WORDS[signal.Signals(number)])


def leave(status: int) -> NoReturn:
    """End the process with ``status`` at once, or as usual under a profiler or tracer.

    To free a run's objects one by one takes a tenth of its time, a quarter of a short one.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        sys.exit(status)
    if sys.getprofile() is not None or sys.gettrace() is not None:
        sys.exit(status)
    os._exit(status)


def internal_error(failure: BaseException, about: str) -> Diagnostic:
    """The line about a bug of ours that ``about``, a file or a tool, brought to light."""
    message = (
        f"internal error, please report it (set {TRACEBACK_VARIABLE}=1 for where): "
        f"{type(failure).__name__}: {failure}"
    )
    return Diagnostic(message, about)


def _lines(failure: BaseException, name: str) -> tuple[Diagnostic, ...]:
    """The diagnostics of the tool ``name`` for ``failure``."""
    match failure:
        case ToolError():
            return failure.diagnostics
        case KeyboardInterrupt():
            return (Diagnostic(interruption(failure), name),)
        case _:
            return (diagnose(failure, name) or internal_error(failure, name),)


INPUT_LIMIT = 64 << 20
"""Bytes that an input may have: a longer one is no program, and may have no end."""


def read_bytes(path: str | None) -> bytes:
    """The content of the file ``path`` (None: of stdin).

    Raises ``OSError``, also for more than ``INPUT_LIMIT`` bytes.
    """
    if path is not None:
        with open(path, "rb") as stream:
            content = stream.read(INPUT_LIMIT + 1)
    elif sys.stdin is None:
        raise OSError(None, "is closed", "<stdin>")
    else:
        content = sys.stdin.buffer.read(INPUT_LIMIT + 1)
    if len(content) > INPUT_LIMIT:
        reason = f"is larger than {INPUT_LIMIT >> 20} MiB, the most that is read of an input"
        raise OSError(None, reason, path or "<stdin>")
    return content


_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""The first bytes of bitcode, without and with a wrapper. Source: LLVM Bitcode File Format."""


def is_bitcode(content: bytes) -> bool:
    """True if a file is LLVM bitcode."""
    return content.startswith(_BITCODE)


def read_text(path: str | None) -> str:
    """The text of the file ``path`` (None: of stdin), which is UTF-8, with or without its mark.

    Raises ``OSError`` as ``read_bytes`` does, and ``UnicodeDecodeError``.
    """
    return as_text(read_bytes(path))


def as_text(content: bytes) -> str:
    """UTF-8 text with or without its mark.

    Raises ``UnicodeDecodeError``, also for NULs before the end, which UTF-16 has.
    """
    text = content.decode()
    if (at := content.rstrip(b"\0").find(b"\0")) >= 0:
        raise UnicodeDecodeError("utf-8", content, at, at + 1, "NUL")
    return text.removeprefix("\ufeff")


_OTHER_PICTURES = (".png", ".pdf", ".jpg", ".jpeg")


def is_picture(output: str) -> bool:
    """True of a picture, by the file's name. Raises ``ToolError`` for one of another kind."""
    if output.lower().endswith(_OTHER_PICTURES):
        raise error(f"a picture is written as .svg, not as '{output}'", "fence-sim")
    return output.endswith(".svg")


@contextmanager
def output_file(path: str | None) -> Generator[IO[str]]:
    """Open ``path`` (None or ``-``: stdout) for text that takes its name only when complete.

    A regular file is written beside its place and renamed on success, so that an error, an
    interrupt, SIGTERM or SIGHUP leaves what was there, and nothing beside it. Raises ``OSError``
    with the path that was asked for.
    """
    if path is None or path == "-":
        check_stdout()
        yield sys.stdout
        return
    target = os.path.realpath(path)
    folder, base = os.path.split(target)
    is_device = os.path.exists(target) and not os.path.isfile(target)
    partial = target if is_device else os.path.join(folder, f".{base}.{os.getpid()}.tmp")
    with _ended_in_order():
        try:
            with open(partial, "w", encoding="utf-8") as stream:
                yield stream
            if is_device:
                return
            if os.path.exists(target):
                os.chmod(partial, os.stat(target).st_mode & 0o7777)
            os.replace(partial, target)
        except OSError as failure:
            # A full disk has no name.
            if failure.errno and failure.filename in (None, partial):
                raise type(failure)(failure.errno, failure.strerror, path) from None
            raise
        finally:
            if not is_device and os.path.exists(partial):
                os.unlink(partial)
