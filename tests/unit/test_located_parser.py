"""The driver's parser: the same tokens as xDSL's, and a place for every operation."""

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from fencewright.tools.inputs.code_kind import advice_for_mlir
from fencewright.tools.inputs.located_parser import FastLexer, LocatedParser
from fencewright.universe import UNIVERSE

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


def parse(parser_type: type[Parser], text: str) -> tuple[str, int]:
    """The module that a parser makes, or its error, with where it stands."""
    context = Context(allow_unregistered=True)
    for name, factory in (XDSL_UNIVERSE.all_dialects | UNIVERSE.all_dialects).items():
        context.register_dialect(name, factory)
    try:
        parser = parser_type(context, text, "x.mlir")
        return str(parser.parse_module()), -1
    except ParseError as error:
        return error.msg, error.span.start
    except VerifyException as error:
        return str(error), -1


def _advised(found: tuple[str, int]) -> tuple[str, int]:
    """An error of xDSL's parser with the advice that ours adds."""
    message, place = found
    advice = advice_for_mlir("", message) if place >= 0 else ""
    return advice or message, place


KERNEL = """func.func @k(%p : !llvm.ptr<1>, %v : i32) attributes {{gpu.kernel}} {{
  {}
  func.return
}}
func.func private @g(i32) attributes {{gpu.kernel}}"""
BODIES = [
    "",
    "%a = scoped.load weak %p : !llvm.ptr<1> -> i32\n scoped.store weak %a, %p : i32, !llvm.ptr<1>",
    "%a = scoped.load weak %p : !llvm.ptr<1> -> i32 %b = arith.addi %a, %v : i32",
    "%a, %b = scoped.cmpxchg relaxed relaxed agent %p, %v, %v : !llvm.ptr<1>, i32",
    '%a:2 = "a.b"() : () -> (i32, i32) %c = arith.addi %a#0, %a#1 : i32',
    '%a:2 = "a.b"() : () -> (i32, i32) %c = arith.addi %a, %a#2 : i32',
    "%a = scoped.load weak %p : !llvm.ptr<1> -> index %b = index.add %a, %a",
    "scoped.fence release agent spaces [local] av(none) {a = 1 : i8}",
    "scoped.fence release agent loc(unknown)",
    "cf.br ^b ^b: cf.br ^c(%v : i32) ^c(%x : i32):",
    "scoped.store weak %x, %p : i32, !llvm.ptr<1> %x = arith.constant 1 : i32",
    # What is wrong, and where.
    "%a = scoped.store weak %v, %p : i32, !llvm.ptr<1>",
    "%v = scoped.load weak %p : !llvm.ptr<1> -> i32",
    "%a, = scoped.load weak %p : !llvm.ptr<1> -> i32",
    "%a scoped.load weak %p : !llvm.ptr<1> -> i32",
    "%a = = scoped.load weak %p : !llvm.ptr<1> -> i32",
    "%a = scoped.load weak %p : !llvm.ptr<3> -> i32",
    "%a = scoped.load weak %p : !llvm.ptr<1> i32",
    "%a = scoped.load weak %p !llvm.ptr<1> -> i32",
    "%a = scoped.load weak p : !llvm.ptr<1> -> i32",
    "%a = scoped.load weakly %p : !llvm.ptr<1> -> i32",
    "%a = scoped.load weak %p : !llvm.ptr<1 -> i32",
    "%a = scoped.load weak %p : !llvm.ptr<x> -> i32",
    "%a = scoped.load weak %p : !llvm.ptr<1> -> i32x",
    "%a = scoped.load weak %p {volatile, volatile} : !llvm.ptr<1> -> i32",
    "scoped.store weak %v %p : i32, !llvm.ptr<1>",
    "scoped.fence release agent {",
    "func.return %v : i64",
    "func.return }",
    "%x = func.return",
    'func.func @f() attributes {a, a} { func.return }',
    'func.func @f() attributes {sym_name = "x"} { func.return }',
    "func.func @f() attributes {a = } { func.return }",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_same_module_or_error_as_xdsl(body: str) -> None:
    text = KERNEL.format(body)
    assert parse(LocatedParser, text) == _advised(parse(Parser, text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_module_or_error_as_xdsl_in_every_lit_test(path: Path) -> None:
    for text in path.read_text(encoding="utf-8").split("// -----"):
        # What has no operation is an empty module for our parser only.
        if (parsed := parse(LocatedParser, text)) != parse(LocatedParser, ""):
            assert parsed == _advised(parse(Parser, text))


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
