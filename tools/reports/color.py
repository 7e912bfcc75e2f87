"""Colours of messages on a terminal.

Sources: ECMA-48, 8.3.117 (SGR); no-color.org.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable

from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.tools.diagnostics import Diagnostic, Severity


class When(FastStrEnum):
    """The times at which messages are coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_BOLD, _RESET = "\033[1m", "\033[0m"
_COLORS = {
    Severity.ERROR: "\033[1;31m",
    Severity.WARNING: "\033[1;35m",
    Severity.REMARK: "\033[1;34m",
    Severity.NOTE: "\033[1;36m",
}


def add_color_option(parser: ArgumentParser) -> None:
    """Add ``--color``."""
    parser.add_argument(
        "--color",
        # A word that is none of these is left for argparse to refuse.
        type=lambda word: When(word) if word in tuple(When) else word,
        choices=tuple(map(str, When)),
        default=When.AUTO,
        metavar="WHEN",
        help="colour what is printed: auto (on a terminal, unless NO_COLOR is set), always, never",
    )


def painter(when: When, *, to_stdout: bool) -> Callable[[Diagnostic], str]:
    """The form in which messages are printed; ``to_stdout``: there, and not to a file."""
    if when is When.ALWAYS:
        return _painted
    is_terminal = to_stdout and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    wanted = when is When.AUTO and is_terminal and not os.environ.get("NO_COLOR")
    return _painted if wanted else str


def _painted(message: Diagnostic) -> str:
    """As ``str``, with the place in bold, and severity and caret in the colour of the severity."""
    color = _COLORS[message.severity]
    head = f"{_BOLD}{message.place}:{_RESET} {color}{message.severity}:{_RESET} {message.text}"
    *line, caret = message.shown() or ("",)
    return "\n".join((head, *line, *([f"{color}{caret}{_RESET}"] if caret else [])))
