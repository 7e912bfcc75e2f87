"""The driver's parser: the same tokens as xDSL's, and a place for every operation."""

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc
from xdsl.dialects.func import Func
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from fencewright.tools.located_parser import FastLexer, LocatedParser

FILES = sorted((Path(__file__).parents[1] / "lit").rglob("*.mlir"))
SNIPPETS = [
    "",
    "// only a comment",
    "// a comment\n// another",
    "a//b\nc / d",
    "%0 %a$b.c-d %% %",
    "!llvm.ptr<1> !0a !",
    "#a<b> #-} {-# {} { -",
    "->- > :: , ... ..",
    '@f @"f g" "s\\n" "\\ff"',
    "0x1F 1.5e-3 12 0x",
    "äb a\u00a0b \x0b \x00",
    "^bb0(%a : i32):",
]


def tokens(lexer: MLIRLexer) -> list[tuple[object, ...]]:
    """Every token's kind and place, and the error if there is one."""
    found: list[tuple[object, ...]] = []
    try:
        while True:
            token = lexer.lex()
            found.append((token.kind, token.span.start, token.span.end))
            if token.kind is MLIRTokenKind.EOF:
                return found
    except ParseError as error:
        return [*found, (error.msg, error.span.start)]


@pytest.mark.parametrize("text", SNIPPETS)
def test_same_tokens_as_xdsl(text: str) -> None:
    assert tokens(FastLexer(Input(text, "x"))) == tokens(MLIRLexer(Input(text, "x")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_tokens_as_xdsl_in_every_lit_test(path: Path) -> None:
    test_same_tokens_as_xdsl(path.read_text(encoding="utf-8"))


def test_locations() -> None:
    text = '// first line\nfunc.func @f() {\n  "a.b"() : () -> () loc("y":7:8)\n  %0 = "a.c"() : () -> i1\n}'
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    module = LocatedParser(context, text, "x.mlir", line_offset=10).parse_module()
    (function,) = module.ops
    places = [function.location, *(op.location for op in function.regions[0].ops)]
    assert [
        (place.filename.data, place.line.data, place.column.data)
        for place in places
        if isinstance(place, FileLineColLoc)
    ] == [("x.mlir", 12, 1), ("y", 7, 8), ("x.mlir", 14, 3)]
