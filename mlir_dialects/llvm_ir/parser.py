"""LLVM's own parser and verifier, through llvmlite, and its errors at their places in the text."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from fencewright.mlir_dialects.llvm_ir.newer import (
    column_as_given,
    in_older_words,
    is_newer,
    with_names_apart,
)
from fencewright.mlir_dialects.llvm_ir.text import MEMORY_OPCODE, NAME, TranslationError

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

_PARSE_ERROR = re.compile(r"<string>:([0-9]+):([0-9]+): (?:error: )?(.*)")
_MEMORY_INSTRUCTION = re.compile(
    rf"^[ \t]*((?:%{NAME}[ \t]*=[ \t]*)?({MEMORY_OPCODE})\b)", re.MULTILINE
)

_COMPARE_EXCHANGE_LINE = re.compile(r"^[^\n]*\bcmpxchg\b[^\n]*(?:\n[^\n]*){0,3}", re.MULTILINE)
"""A line with the word, and its possible continuations."""
_COMPARE_EXCHANGE = re.compile(
    r'"[^"]*"|;[^\n]*'
    rf"|\bcmpxchg\s+(?:(?:weak|volatile)\s+)*ptr\s*(?:addrspace\([0-9]+\)\s*)?[%@]{NAME}\s*,"
    r"\s*(?P<type>i[0-9]{1,8}\b|half|bfloat|float|double|x86_fp80|fp128|ppc_fp128|[<\[{])"
)
"""A ``cmpxchg`` of anything but pointers, with its type; or a string or comment."""


@dataclass(frozen=True)
class Source:
    """The text as it was given, for messages and locations."""

    text: str
    file: str

    def raise_at(self, message: str, line: int, column: int) -> NoReturn:
        """Raise ``ParseError`` at a line and column that count from 1."""
        starts = self._line_starts
        start = starts[min(line, len(starts)) - 1] + column - 1
        self.raise_at_offset(message, min(start, len(self.text)))

    def raise_at_offset(self, message: str, start: int) -> NoReturn:
        """Raise ``ParseError`` at a character of the text."""
        raise ParseError(Span(start, min(start + 1, len(self.text)), self._input), message)

    def raise_as_llvm_says(
        self, problem: str, column_as_given: Callable[[str, int], int] = lambda _, column: column
    ) -> NoReturn:
        """Raise the error of LLVM's parser, at the place that it names if it does.

        ``column_as_given``: where a column that it names is in a line of the text.
        """
        place = _PARSE_ERROR.search(problem)
        hint = self._newer_llvm
        if place is None:
            reason = problem.splitlines()[-1]
            raise TranslationError(f"LLVM rejects the module: {reason}{hint}") from None
        line, column = int(place[1]), int(place[2])
        lines = self.text.splitlines()
        if line <= len(lines):
            column = column_as_given(lines[line - 1], column)
        self.raise_at(f"{place[3]}{hint}", line, column)

    @property
    def _newer_llvm(self) -> str:
        """The message for text of a newer LLVM than llvmlite's."""
        version = _llvm_version()
        if not is_newer(self.text, int(version.partition(".")[0])):
            return ""
        return f"; this is the LLVM IR of a newer LLVM, and llvmlite here reads that of {version}"

    def raise_in(self, message: str, function: str) -> NoReturn:
        """Raise ``ParseError`` where the function is defined."""
        definition = re.search(rf"^[ \t]*define\b.*@{re.escape(function)}\(", self.text, re.M)
        line = self.text.count("\n", 0, definition.start()) + 1 if definition else 1
        self.raise_at(f"in function @{function}: {message}", line, 1)

    def memory_instructions(self, opcodes: Sequence[str]) -> list[tuple[int, int]] | None:
        """Line and column of each memory instruction; None if they are not these ``opcodes``."""
        found = [(match[2], match.start(1)) for match in _MEMORY_INSTRUCTION.finditer(self.text)]
        if [opcode for opcode, _ in found] != list(opcodes):
            return None
        places: list[tuple[int, int]] = []
        line, line_start, position = 1, 0, 0
        for _, start in found:
            line += self.text.count("\n", position, start)
            line_start = self.text.rfind("\n", 0, start) + 1
            places.append((line, start - line_start + 1))
            position = start
        return places

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(newline.end() for newline in re.finditer("\n", self.text))]

    @cached_property
    def _input(self) -> Input[str]:
        return Input(self.text, self.file)


@contextmanager
def llvm_module(text: str, file: str) -> "Generator[ModuleRef]":
    """LLVM's module of ``text``, parsed and verified in a context of its own.

    Both are freed at the end, in the order that LLVM needs: a garbage collection that finds
    them in one cycle frees them in any. Raises ``ParseError`` at the place that LLVM names,
    ``TranslationError`` if it names none. Text that makes LLVM end the process does so: see
    ``fencewright.tools.inputs.llvm_child``.
    """
    source = Source(text, file)
    if "\0" in text:
        source.raise_at("not text: it has a null character", 1, 1)
    _check_compare_exchanges(source)
    with ExitStack() as stack:
        module = _parse(source, stack)
        _verify(module)
        yield module


def _parse(source: Source, stack: ExitStack) -> "ModuleRef":
    from llvmlite.binding import parse_assembly

    text = with_names_apart(source.text)
    try:
        return _read(parse_assembly, text, stack)
    except RuntimeError as problem:
        older = in_older_words(text)
        if older == text:
            source.raise_as_llvm_says(str(problem))
    try:
        return _read(parse_assembly, older, stack)
    except RuntimeError as problem:
        source.raise_as_llvm_says(str(problem), column_as_given)


def _read(parse: Callable[[Any, Any], "ModuleRef"], content: str | bytes, stack: ExitStack):
    """The module that ``parse`` makes of ``content``; ``stack`` frees it, and then its context."""
    from llvmlite.binding import set_option
    from llvmlite.binding.context import (  # pyright: ignore[reportMissingTypeStubs]  # typeshed lacks it
        create_context,
    )

    # With debug information LLVM verifies while it parses, and ends the process if that fails.
    set_option("fencewright", "--disable-auto-upgrade-debug-info")
    # typeshed does not know that both can be closed
    with ExitStack() as opened:
        context = opened.enter_context(closing(cast(Any, create_context())))
        module = opened.enter_context(closing(cast(Any, parse(content, context))))
        stack.push(opened.pop_all())
        return cast("ModuleRef", module)


def disassemble(bitcode: bytes) -> str:
    """The text of a module of LLVM bitcode. Raises ``TranslationError``."""
    from llvmlite.binding.module import (  # pyright: ignore[reportMissingTypeStubs]  # typeshed lacks it
        parse_bitcode,  # pyright: ignore[reportUnknownVariableType]
    )

    with ExitStack() as stack:
        try:
            return str(_read(cast(Any, parse_bitcode), bitcode, stack))
        except RuntimeError as problem:
            reason = str(problem).splitlines()[-1]
            raise TranslationError(
                f"LLVM {_llvm_version()} cannot read this bitcode: {reason}; give it LLVM IR as "
                "text (llvm-dis) if a newer LLVM wrote it"
            ) from None


def _llvm_version() -> str:
    """The version of llvmlite's LLVM, as ``22.1``."""
    from llvmlite.binding import llvm_version_info

    return ".".join(map(str, llvm_version_info[:2]))


def _check_compare_exchanges(source: Source) -> None:
    """Raise ``ParseError`` at a ``cmpxchg`` of a type whose alignment LLVM's parser asserts."""
    lines = _COMPARE_EXCHANGE_LINE.finditer(source.text) if "cmpxchg" in source.text else ()
    found = (_COMPARE_EXCHANGE.finditer(source.text, *line.span()) for line in lines)
    for match in chain.from_iterable(found):
        type = match["type"]
        if type is None:
            continue
        width = int(type[1:]) if type[1:].isdecimal() else 0
        if width % 8 or width.bit_count() != 1:
            source.raise_at_offset(
                f"cmpxchg of {type}: it takes a pointer, or an integer of a power of two bytes",
                match.start("type"),
            )


def _verify(module: "ModuleRef") -> None:
    try:
        module.verify()
    except RuntimeError as problem:
        message = "; ".join(line.strip() for line in str(problem).splitlines() if line.strip())
        raise TranslationError(f"LLVM rejects the module: {message}") from None


def try_to_read(content: str | bytes) -> None:
    """Let LLVM read and print text or bitcode, for a process that it may end.

    Raises what reading it raises.
    """
    text = content if isinstance(content, str) else disassemble(content)
    with llvm_module(text, "") as module:
        str(module)
