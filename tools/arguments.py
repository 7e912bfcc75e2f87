"""Command lines whose errors are one line, as all errors of the tools."""

from argparse import ArgumentParser
from functools import partial
from typing import NoReturn

from fencewright.tools.statuses import USAGE


class ToolArguments(ArgumentParser):
    """argparse's parser without the usage of twenty lines before each error."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the usage is; the status is that of wrong usage."""
        _refuse(self, message)


def with_errors_of_one_line(parser: ArgumentParser) -> None:
    """The same for a ``parser`` that somebody else made."""
    parser.error = partial(_refuse, parser)


def _refuse(parser: ArgumentParser, message: str) -> NoReturn:
    parser.exit(USAGE, f"{parser.prog}: error: {message}; try {parser.prog} --help\n")
