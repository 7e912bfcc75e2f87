"""xDSL's MLIR parser, made to say where each operation stands, and to read tokens faster."""

import re
from bisect import bisect_right
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser, ParserState
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

# Possessive quantifiers: what is skipped is never given back, or comments would be read.
_COMMON_TOKEN = re.compile(
    r"(?:\s++|//[^\n]*+)*+"
    r"(?:([A-Za-z_][A-Za-z0-9_$.]*)"
    r"|(%(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*))"
    r"|(!(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*))"
    r"|(@[A-Za-z_][A-Za-z0-9_$.]*)"
    r"|([0-9]++(?![.x]))"
    r"|([:,()}\[\]<>=]|->))",
    re.ASCII,
)
_KIND_OF_GROUP = (
    None,
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.AT_IDENT,
    MLIRTokenKind.INTEGER_LIT,
)
_KIND_OF_CHARACTER = {kind.value: kind for kind in MLIRTokenKind if kind.is_punctuation()}


_PUNCTUATION = len(_KIND_OF_GROUP)


class FastToken(Token[MLIRTokenKind, str]):
    """A token with its text at hand, which the parser compares often, and a span on demand."""

    def __init__(
        self, kind: MLIRTokenKind, start: int, end: int, source: Input[str], text: str
    ) -> None:
        self.kind = kind
        self.start = start
        self._end = end
        self._source = source
        self._text = text

    @property
    def text(self) -> str:
        return self._text

    # To make the frozen span that the base class holds takes as long as to find the token.
    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Span(self.start, self._end, self._source)


class FastLexer(MLIRLexer):
    """The same tokens as xDSL's lexer; the frequent kinds with one regular expression each.

    Lexing is a third of parsing, and parsing half of a run.
    """

    def lex(self) -> MLIRToken:
        match = _COMMON_TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex or 0
        start, self.pos = match.span(group)
        text = match[group]
        kind = _KIND_OF_GROUP[group] if group < _PUNCTUATION else _KIND_OF_CHARACTER[text]
        assert kind is not None
        return FastToken(kind, start, self.pos, self.input, text)


@lru_cache(maxsize=1 << 12)
def _number(value: int) -> IntAttr:
    return IntAttr(value)


class LocatedParser(Parser):
    """xDSL's parser, giving every operation without a ``loc(..)`` the place where it starts."""

    # MLIR limits integers to 16777215 bits; computing the range of i99999999999 ends the process.
    _builtin_integer_type_regex = re.compile(r"^[su]?i(\d{1,7})$")

    def __init__(self, ctx: Context, text: str, file: str, line_offset: int = 0) -> None:
        super().__init__(ctx, "", file)
        self._parser_state = ParserState(FastLexer(Input(text, file)))
        self._file = StringAttr(file)
        self._line_offset = line_offset
        self._line_starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self._op_start = 0

    @property
    def pos(self) -> int:
        token = self._current_token
        return token.start if isinstance(token, FastToken) else token.span.start

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if allow_implicit_module and self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        return super().parse_module(allow_implicit_module)

    def parse_operation(self) -> Operation:
        start = self._op_start = self.pos
        op = super().parse_operation()
        if op.location is UNKNOWN_LOC:
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(
                self._file, _number(line + self._line_offset), _number(column)
            )
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if op_type := self.ctx.get_optional_op(
            name, dialect_stack=self._parser_state.dialect_stack
        ):
            return op_type
        # xDSL's own error points behind the name, often at the next line.
        self.raise_error(f"operation '{name}' is not registered", self._op_start)
