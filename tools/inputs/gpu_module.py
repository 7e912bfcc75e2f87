"""The code of a ``gpu.module`` as a module of its own, which ``mlir-translate`` reads.

Of the text only brackets, strings and comments are understood, and lines stay lines, so that places
in messages are those of the input. Source: MLIR LangRef, Operations, Attribute Value Aliases; MLIR
22 builtin.module and gpu.module, in their own syntax and the generic one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from fencewright.tools.diagnostics import error

_WORD = "gpu.module"
_MODULES = (_WORD, "builtin.module", "module")
_BLANK = re.compile(r"(?:\s|//[^\n]*)*")
_ALIAS = re.compile(r"[#!][\w$.-]+\s*=")
_RESOURCES = "{-#"
_OPENED = re.compile(r'"builtin\.module"|(?:builtin\.)?module(?![\w.])')
_KERNELS = re.compile(r'"gpu\.module"|gpu\.module(?![\w.])')
_LATER = re.compile(
    r'//[^\n]*|"(?:gpu|builtin)\.module"|"(?:[^"\\]|\\.)*"'
    r"|(?<![\w.@%#!])(?:gpu\.module(?![\w.])|(?:builtin\.)?module(?=\s*(?:@|attributes\b|\{)))"
)
_BRACKET = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"|->|[][(){}<>]')
_BRACKET_OR_LINE = re.compile(rf"{_BRACKET.pattern}|\n")
_NAME = re.compile(r'@(?:"(?:[^"\\]|\\.)*"|[\w$.-]+)')
_ATTRIBUTES = re.compile(r"attributes\b")
_TYPE = re.compile(r":\s*\(\)\s*->\s*\(\)")
_LOCATION = re.compile(r"loc(?=\()")
_CLOSES = {"(": ")", "[": "]", "{": "}", "<": ">"}


class _Unread(Exception):
    """A module that is not written as MLIR prints it."""


class _Module(NamedTuple):
    """An operation with one region: where it begins, its dictionary, its braces, where it ends."""

    start: int
    attributes: str
    opening: int
    closing: int
    end: int


def with_kernels_alone(text: str, file: str, line_offset: int = 0) -> str:
    """``text`` with the contents of its ``gpu.module`` in place of its module; else itself.

    ``line_offset``: how many lines of ``file`` came before. Raises ``ToolError`` at a second one,
    at code beside it, at another module in a module, and where the text is not as MLIR prints it.
    """
    if "module" not in text:
        return text

    def refuse(place: int, message: str) -> NoReturn:
        line = text.count("\n", 0, place)
        column = place - text.rfind("\n", 0, place)
        raise error(message, file, line + 1 + line_offset, column)

    read = _Reader(text)
    try:
        read.operations(0, len(text))
    except _Unread:
        words = read.modules_from(0)
        first = next((each.start() for each in words if _WORD in each[0]), None)
        if first is None:
            return text  # mlir-translate says what is wrong.
        refuse(first, f"a {_WORD} that cannot be told from what is around it: {_AS_PRINTED}")
    if not read.found:
        for place in read.nested:
            refuse(place, f"a module in a module: {_ALONE.replace(_WORD, 'module')}")
        return text
    for each in read.found[1:]:
        refuse(each.start, f"a second {_WORD}: {_ALONE}")
    for place in read.others:
        refuse(place, f"code beside a {_WORD}, which is for the host: {_ALONE}")
    return read.alone(read.found[0])


_AS_PRINTED = "write the module as mlir-opt prints it"
_ALONE = f"--import-mlir translates one {_WORD}, give it that by itself"


class _Reader:
    """Finds modules in a text: the GPU's, in ``found``, and whether ``nested`` are others.

    ``others``: the places of other operations; ``aliases``: from where to where each is defined.
    """

    def __init__(self, text: str):
        self.text = text
        self.found: list[_Module] = []
        self.nested: list[int] = []
        self.others: list[int] = []
        self.aliases: list[tuple[int, int]] = []

    def operations(self, start: int, end: int, *, inside: bool = False) -> None:
        """Take note of the text between two places, ``inside`` of a module or of the whole text.

        The whole text is a module of its own if it has anything but one.
        """
        opened: list[int] = []
        others = len(self.others)
        while (start := self._past_blank(start)) < end:
            if _ALIAS.match(self.text, start):
                after = self._line_end(start)
                self.aliases.append((start, after))
                start = after
            elif self.text.startswith(_RESOURCES, start):
                return
            elif match := _KERNELS.match(self.text, start):
                self.found.append(self._module(match))
                start = self.found[-1].end
            elif match := _OPENED.match(self.text, start):
                module = self._module(match)
                opened.append(module.start)
                self.operations(module.opening + 1, module.closing, inside=True)
                start = module.end
            else:
                self.others.append(start)
                following = next(self.modules_from(start), None)
                start = min(following.start(), end) if following else end
        if inside or len(opened) > 1 or (opened and len(self.others) > others):
            self.nested += opened

    def modules_from(self, start: int) -> Iterator[re.Match[str]]:
        """The place of the next module, outside strings and comments."""
        for match in _LATER.finditer(self.text, start):
            if match[0].strip('"') in _MODULES:
                yield match

    def alone(self, module: _Module) -> str:
        """The text with a module of the GPU as its only one, each line where it was."""
        attributes = module.attributes or "{}"
        lines = self.text.count("\n", module.start, module.opening) - attributes.count("\n")
        return "".join(
            [
                self._blanked(0, module.start),
                f"module attributes {attributes} {{",
                "\n" * lines,
                self.text[module.opening + 1 : module.closing + 1],
                self._blanked(module.closing + 1, len(self.text)),
            ]
        )

    def _blanked(self, start: int, end: int) -> str:
        """The text between two places, with blanks for all but aliases and line ends."""
        pieces: list[str] = []
        for first, after in self.aliases:
            if start <= first < end:
                pieces += (_hidden(self.text[start:first]), self.text[first:after])
                start = after
        return "".join([*pieces, _hidden(self.text[start:end])])

    def _module(self, word: re.Match[str]) -> _Module:
        """The module that begins with ``word``."""
        generic = word[0].startswith('"')
        place, attributes = self._past_blank(word.end()), ""
        if generic:
            place = self._past_blank(self._past(place, "("))
            place = self._past_blank(self._past(place, "<", optional=True))
            if not self.text.startswith("(", place):
                raise _Unread
            opening = self._past_blank(place + 1)
        else:
            if name := _NAME.match(self.text, place):
                place = self._past_blank(name.end())
            for bracket in "<[":
                place = self._past_blank(self._past(place, bracket, optional=True))
            if word_ := _ATTRIBUTES.match(self.text, place):
                place = self._past_blank(word_.end())
                after = self._past(place, "{")
                attributes, place = self.text[place:after], self._past_blank(after)
            opening = place
        end = self._past(opening, "{")
        closing = end - 1
        if generic:
            end = self._past_blank(end)
            if not self.text.startswith(")", end):
                raise _Unread
            place = self._past_blank(end + 1)
            after = self._past(place, "{", optional=True)
            attributes, place = self.text[place:after], self._past_blank(after)
            type_ = _TYPE.match(self.text, place)
            if type_ is None:
                raise _Unread
            end = type_.end()
        if location := _LOCATION.match(self.text, self._past_blank(end)):
            end = self._past(location.end(), "(")
        return _Module(word.start(), attributes, opening, closing, end)

    def _past_blank(self, place: int) -> int:
        blank = _BLANK.match(self.text, place)
        assert blank is not None
        return blank.end()

    def _past(self, place: int, bracket: str, *, optional: bool = False) -> int:
        """Behind the bracket that closes that at ``place``; ``place`` if ``optional``."""
        if not self.text.startswith(bracket, place):
            if optional:
                return place
            raise _Unread
        depth = 0
        for each in _BRACKET.finditer(self.text, place):
            depth += {bracket: 1, _CLOSES[bracket]: -1}.get(each[0], 0)
            if not depth:
                return each.end()
        raise _Unread

    def _line_end(self, place: int) -> int:
        """The end of the line at ``place``, or of that where its brackets are closed."""
        depth = 0
        for each in _BRACKET_OR_LINE.finditer(self.text, place):
            if each[0] in _CLOSES:
                depth += 1
            elif each[0] in _CLOSES.values():
                depth -= 1
            elif each[0] == "\n" and depth <= 0:
                return each.start()
        return len(self.text)


def _hidden(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
