"""A context in which the rest of a dialect is imported when something of it is named."""

import pytest
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.llvm import LLVM
from xdsl.ir import Dialect, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from fencewright.mlir_dialects.scoped import SYNCHRONOUS, Scoped
from fencewright.mlir_dialects.scoped_async import ASYNCHRONOUS
from fencewright.mlir_dialects.staged_context import StagedContext


def staged(loaded: list[str]) -> StagedContext:
    """A context that notes which parts of ``scoped`` were loaded."""
    context = StagedContext()
    for dialect in (Builtin, Func, LLVM):
        context.load_dialect(dialect)

    def first() -> Dialect:
        loaded.append("first")
        return SYNCHRONOUS

    def rest() -> Dialect:
        loaded.append("rest")
        return ASYNCHRONOUS

    context.register_dialect("scoped", first)
    context.register_rest("scoped", rest)
    return context


def test_the_rest_is_loaded_when_it_is_named() -> None:
    loaded: list[str] = []
    context = staged(loaded)
    assert context.get_optional_op("func.return") is not None
    assert loaded == []
    assert context.get_optional_op("scoped.fence") is not None
    assert context.get_optional_attr("scoped.ordering") is not None
    assert loaded == ["first"]
    assert context.clone().get_optional_op("scoped.wgmma_fence") is not None
    assert context.get_optional_op("scoped.elect") is not None
    assert context.get_optional_op("scoped.no_such") is None
    assert loaded == ["first", "rest", "rest"]


@pytest.mark.parametrize("part", list(Scoped.operations), ids=lambda each: each.name)
def test_every_operation_is_found_first(part: type[Operation]) -> None:
    context = staged([])
    assert context.get_optional_op(part.name) is part


def test_every_attribute_is_found_first() -> None:
    for each in Scoped.attributes:
        assert staged([]).get_optional_attr(each.name) is each


def test_an_unknown_operation_is_unknown() -> None:
    with pytest.raises(ParseError, match=r"scoped\.no_such"):
        Parser(staged([]), "scoped.no_such").parse_module()
    context = staged([])
    context.allow_unregistered = True
    found = context.get_optional_op("scoped.wgmma_fence")
    assert found is not None
    assert found.name == "scoped.wgmma_fence"
