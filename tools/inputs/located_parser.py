"""xDSL's MLIR parser, made to say where each operation stands, and to be faster.

What is overridden does what xDSL's own does, with fewer calls, spans and checks for the
usual token and operation; whatever is unusual is left to xDSL's own.
"""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, PunctuationSpelling

from fencewright.tools.diagnostics import LONG_NUMBER, is_long_number
from fencewright.tools.inputs.code_kind import advice_for_mlir

AttributeT = TypeVar("AttributeT", bound=Attribute)

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

_SHORT_TYPE = re.compile(r"!llvm\.ptr<[0-9]+>|(?:[su]?i[0-9]+|b?f[0-9]+|index)(?![\w$.])", re.ASCII)
"""The types that most values have."""

_ATTRIBUTES = re.compile(r"attributes\s*\{[^{}\"/]*\}", re.ASCII)
"""Attributes of kernels, mostly all the same; without strings and comments."""

_RETURNS = frozenset({"func.return", "gpu.return"})
"""The operations that end most kernels, with nothing after them."""

_IDENTIFIER = MLIRTokenKind.BARE_IDENT
_INDEX = MLIRTokenKind.HASH_IDENT
_VALUE = MLIRTokenKind.PERCENT_IDENT
_BEGINS_OPERATION = frozenset({_IDENTIFIER, _VALUE, MLIRTokenKind.STRING_LIT})


class FastToken(Token[MLIRTokenKind, str]):
    """A token with its text at hand, which the parser compares often, and a span on demand."""

    __slots__ = ("_end", "_source", "start", "text")

    def __init__(
        self, kind: MLIRTokenKind, start: int, end: int, source: Input[str], text: str
    ) -> None:
        self.kind = kind
        self.start = start
        self._end = end
        self._source = source
        # A field is read faster than the base class's property.
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]

    # To make the frozen span that the base class holds takes as long as to find the token.
    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Span(self.start, self._end, self._source)


class FastLexer(MLIRLexer):
    """The same tokens as xDSL's lexer; the frequent kinds with one regular expression each."""

    # Possessive: on a string that does not end xDSL's own tries every way to split it.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        source = self.input
        match = _COMMON_TOKEN.match(source.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex or 0
        start, self.pos = match.span(group)
        text = match[group]
        kind = _KIND_OF_GROUP[group] if group < _PUNCTUATION else _KIND_OF_CHARACTER[text]
        assert kind is not None
        return FastToken(kind, start, self.pos, source, text)

    def _lex_number(self, start_pos: int) -> MLIRToken:
        character = self.input.content[start_pos]
        if not character.isascii():
            raise ParseError(
                Span(start_pos, start_pos + 1, self.input), f"Unexpected character: {character}"
            )
        return super()._lex_number(start_pos)


class FastOperand(UnresolvedOperand):
    """An operand that is no part of a tuple, with a span on demand."""

    __slots__ = ("operand_name", "token")

    def __init__(self, token: MLIRToken) -> None:
        self.token = token
        # A field, as in FastToken.
        self.operand_name = token.text[1:]  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]
        self.index = 0

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.token.span


def _unchecked(kind: type[AttributeT], **parameters: object) -> AttributeT:
    """An attribute of parameters that are right: checking them takes ten times as long."""
    made = kind.__new__(kind)
    vars(made).update(parameters)
    return made


@lru_cache(maxsize=1 << 12)
def _number(value: int) -> IntAttr:
    return _unchecked(IntAttr, data=value)


@cache
def _dialect_name(op_type: type[Operation]) -> str:
    return op_type.dialect_name()


@contextmanager
def _advising(text: str) -> Generator[None]:
    """An error of the parser in a text that is no MLIR names the program that reads the text."""
    try:
        yield
    except ParseError as problem:
        if advice := advice_for_mlir(text, problem.msg):
            raise ParseError(problem.span, advice) from problem
        raise


class LocatedParser(Parser):
    """xDSL's parser, giving every operation without a ``loc(..)`` the place where it starts."""

    # MLIR limits integers to 16777215 bits; computing the range of i99999999999 ends the process.
    _builtin_integer_type_regex = re.compile(r"^[su]?i(\d{1,7})$")

    def __init__(self, ctx: Context, text: str, file: str, line_offset: int = 0) -> None:
        super().__init__(ctx, "", file)
        self._text = text
        with _advising(text):
            self._parser_state = ParserState(FastLexer(Input(text, file)))
        self._file = StringAttr(file)
        self._line_offset = line_offset
        self._line_starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self._op_start = 0
        self._types: dict[str, TypeAttribute] = {}
        self._dictionaries: dict[tuple[str, ...], DictionaryAttr] = {}

    @property
    def pos(self) -> int:
        token = self._parser_state.current_token
        return token.start if isinstance(token, FastToken) else token.span.start

    # Operations

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if allow_implicit_module and self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            with _advising(self._text):
                return super().parse_module(allow_implicit_module)
        except (VerifyException, ValueError) as problem:
            # An attribute that cannot be; xDSL does not say where.
            long = isinstance(problem, ValueError) and is_long_number(problem)
            self.raise_error(LONG_NUMBER if long else str(problem), self._op_start)
        except (LookupError, AttributeError, AssertionError) as problem:
            # Syntax that xDSL's own operations take for granted.
            what = f"{type(problem).__name__}: {problem}"
            self.raise_error(f"malformed operation (xDSL: {what})", self._op_start)

    def _parse_block(self) -> Block:
        label = self._current_token
        name = label.text[1:]
        # xDSL finds no second label of a block that is branched to before its first one.
        if name in self.blocks and name not in self.forward_block_references:
            self.raise_error(f"re-declaration of block '{name}'", label.span)
        return super()._parse_block()

    def _parse_block_body(self, block: Block) -> None:
        state = self._parser_state
        while state.current_token.kind in _BEGINS_OPERATION:
            block.add_op(self.parse_operation())

    def parse_operation(self) -> Operation:
        start = self._op_start = self.pos
        op = self._parse_usual_operation()
        if op is None:
            self._resume_from(start)
            op = super().parse_operation()
        if op.location is UNKNOWN_LOC:
            line = bisect_right(self._line_starts, start)
            op.location = _unchecked(
                FileLineColLoc,
                filename=self._file,
                line=_number(line + self._line_offset),
                column=_number(start - self._line_starts[line - 1] + 1),
            )
        return op

    def _parse_usual_operation(self) -> Operation | None:
        """An operation in custom syntax with at most one result; None if it is another one."""
        state = self._parser_state
        first = state.current_token
        if first.kind is _VALUE:
            self._consume_token()
            if self.parse_optional_characters("=") is None:
                return None
        word = state.current_token
        if word.kind is not _IDENTIFIER:
            return None
        self._consume_token()
        op_type = self._get_op_by_name(word.text)
        state.dialect_stack.append(_dialect_name(op_type))
        ends = word.text in _RETURNS and state.current_token.text == "}"
        op = op_type.create() if ends else op_type.parse(self)
        state.dialect_stack.pop()
        if (location := self.parse_optional_location()) is not None:
            op.location = location
        if first is not word:
            self._name_result(op, first)
        return op

    def _name_result(self, op: Operation, token: MLIRToken) -> None:
        if len(op.results) != 1:
            message = f"Operation has {len(op.results)} results, but was given 1 to bind."
            self.raise_error(message, token.span)
        name = token.text[1:]
        if name in self.ssa_values or name in self.forward_ssa_references:
            self._register_ssa_definition(name, op.results, token.span)
            return
        self.ssa_values[name] = op.results
        if SSAValue.is_valid_name(name):
            op.results[0].name_hint = name

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if op_type := self.ctx.get_optional_op(
            name, dialect_stack=self._parser_state.dialect_stack
        ):
            return op_type
        # xDSL's own error points after the name, often at the next line.
        self.raise_error(f"operation '{name}' is not registered", self._op_start)

    # Values and types

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        token = self._parser_state.current_token
        if token.kind is not _VALUE:
            return None
        self._consume_token()
        if self._parser_state.current_token.kind is not _INDEX:
            return FastOperand(token)
        self._resume_from(token.span.start)
        return super().parse_optional_unresolved_operand()

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        values = self.ssa_values.get(operand.operand_name)
        if values and not operand.index and values[0].type is type:
            return values[0]
        return super().resolve_operand(operand, type)

    def parse_optional_type(self) -> TypeAttribute | None:
        match = _SHORT_TYPE.match(self._text, self.pos)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_type()
        if parsed is not None:
            self._types[match[0]] = parsed
        return parsed

    def parse_optional_attr_dict_with_keyword(
        self, reserved_attr_names: Iterable[str] = ()
    ) -> DictionaryAttr | None:
        match = _ATTRIBUTES.match(self._text, self.pos)
        if match is None:
            return super().parse_optional_attr_dict_with_keyword(reserved_attr_names)
        key = (match[0], *reserved_attr_names)
        known = self._dictionaries.get(key)
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_attr_dict_with_keyword(key[1:])
        if parsed is not None:
            self._dictionaries[key] = parsed
        return parsed

    # Tokens

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        state = self._parser_state
        token = state.current_token
        assert expected_kind is None or token.kind is expected_kind
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> MLIRToken | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_characters(self, text: str) -> str | None:
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_characters(self, text: str, context_msg: str = "") -> str:
        return self.parse_optional_characters(text) or super().parse_characters(text, context_msg)

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        return None if self.parse_optional_characters(punctuation) is None else punctuation

    def parse_optional_identifier(self) -> str | None:
        token = self._parse_optional_token(_IDENTIFIER)
        return None if token is None else token.text

    def parse_optional_keyword(self, keyword: str) -> str | None:
        return self.parse_optional_characters(keyword)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        if self._parser_state.current_token.text != "{":
            return {}
        return super().parse_optional_dictionary_attr_dict()
