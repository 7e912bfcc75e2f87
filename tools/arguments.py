"""Command lines whose errors are one line, as all errors of the tools."""

import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from fencewright.tools.statuses import USAGE
from fencewright.tools.streams import tell

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class ToolArguments(ArgumentParser):
    """argparse's parser without the usage of twenty lines before each error."""

    def error(self, message: str) -> NoReturn:
        """Print the fault and the place of the usage; the status is that of wrong usage."""
        _refuse(self, message)

    def parse_known_args(self, *arguments: Any, **more: Any) -> Any:
        """Refuse unknown arguments here: of a command, with the command's name."""
        found, unknown = super().parse_known_args(*arguments, **more)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        """Print the help. Raises ``OSError``, which argparse would swallow."""
        _print_help(self, file)


def with_errors_of_one_line(
    parser: ArgumentParser, more_help: Callable[[], str] | None = None
) -> None:
    """The same for a ``parser`` that somebody else made.

    ``more_help``: makes what is printed after the help, for it may take time.
    """
    parser.error = partial(_refuse, parser)
    parser.print_help = partial(_print_help, parser, more_help=more_help)


def add_completion(parser: ArgumentParser) -> None:
    """Add ``--print-completion SHELL``."""
    parser.add_argument(
        "--print-completion",
        metavar="SHELL",
        choices=SHELLS,
        action=_CompletionAction,
        help=f"print the completion of this program for a shell, {', '.join(SHELLS)}, and exit",
    )


SHELLS = ("bash", "zsh", "tcsh")
"""The shells that shtab writes completions for."""


class _CompletionAction(Action):
    """Prints the completion of a program. Raises ``ImportError`` without shtab."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> NoReturn:
        import shtab

        print(shtab.complete(parser, str(values)))
        parser.exit()


def _print_help(
    parser: ArgumentParser,
    file: "SupportsWrite[str] | None" = None,
    *,
    more_help: Callable[[], str] | None = None,
) -> None:
    print(parser.format_help(), end="", file=file or sys.stdout)
    if more_help is not None:
        print(f"\n{more_help()}", file=file or sys.stdout)


def _refuse(parser: ArgumentParser, message: str) -> NoReturn:
    # Not by parser.exit, which leaves in stderr's buffer what Python fails on as it ends.
    tell(f"{parser.prog}: error: {message}; try {parser.prog} --help")
    sys.exit(USAGE)
