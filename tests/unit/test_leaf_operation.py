"""Operations without regions: made as xDSL makes them, and verified as xDSL does, but faster."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnitAttr, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from fencewright.mlir_dialects import cdna, leaf_operation, scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES

POINTER = LLVMPointerType(IntAttr(1))
RELAXED: dict[str, Attribute] = {"ordering": ORDERINGS["relaxed"], "scope": SCOPES["agent"]}
PLACE = FileLineColLoc(StringAttr("x"), IntAttr(1), IntAttr(2))


def field_values(op: Operation) -> dict[str, object]:
    """All that xDSL keeps of an operation, comparable between operations of the same values."""
    found: dict[str, object] = {field.name: getattr(op, field.name) for field in fields(Operation)}
    for uses in ("_operand_uses", "_successor_uses"):
        found[uses] = [(use.operation is op, use.index) for use in getattr(op, uses)]
    found["results"] = [(type(r), r.type, r.op is op, r.index, r.name_hint) for r in op.results]
    return found


@pytest.mark.parametrize(
    "described",
    [
        {"operands": 1, "result_types": (i32,), "properties": RELAXED},
        {"operands": 2, "properties": RELAXED, "attributes": {"note": UnitAttr()}},
        {"location": PLACE},
        {"operands": 3, "result_types": (i32, i64), "location": PLACE},
        {"operands": 1, "successors": [Block(), Block()]},
    ],
)
def test_operations_are_made_as_xdsl_makes_them(described: dict[str, Any]) -> None:
    block = Block(arg_types=[POINTER, i32, i32])
    described = {**described, "operands": block.args[: described.get("operands", 0)]}
    ours = scoped.CmpxchgOp.create(**described)
    theirs = scoped.CmpxchgOp.__new__(scoped.CmpxchgOp)
    Operation.__init__(theirs, **described)
    assert type(ours) is type(theirs)
    assert field_values(ours) == field_values(theirs)
    for used in (*described["operands"], *described.get("successors", ())):
        assert [use.operation for use in used.uses] == [theirs, ours]


def test_what_has_regions_is_left_to_xdsl() -> None:
    assert len(scoped.FenceOp.create(regions=[Region()]).regions) == 1


def test_properties_are_a_copy() -> None:
    properties = dict(RELAXED)
    op = scoped.FenceOp.create(properties=properties)
    properties.clear()
    assert op.properties == RELAXED


# Verification


def in_block(make: Callable[[SSAValue], Operation]) -> tuple[Operation, Block]:
    """An operation on a pointer that is not the last one of its block."""
    block = Block(arg_types=[POINTER])
    block.add_ops([op := make(block.args[0]), test_dialect.TestTermOp.create()])
    return op, block


def load(pointer: SSAValue, **properties: Attribute) -> Operation:
    return scoped.LoadOp.create(
        operands=(pointer,), result_types=(i32,), properties={**RELAXED, **properties}
    )


@pytest.fixture(autouse=True)
def _nothing_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf_operation, "_verified", {})


def test_operations_that_are_alike_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[Operation] = []
    real = scoped.LoadOp.verify_

    def counted(self: scoped.LoadOp) -> None:
        verified.append(self)
        real(self)

    monkeypatch.setattr(scoped.LoadOp, "verify_", counted)
    first, _ = in_block(load)
    other, _ = in_block(lambda pointer: load(pointer, nontemporal=UnitAttr()))
    for op in (first, in_block(load)[0], other, first):
        op.verify()
    assert verified == [first, other]


RELEASE = ORDERINGS["release"]


@pytest.mark.parametrize(
    "broken",
    [
        {"properties": {**RELAXED, "ordering": RELEASE}},
        {"properties": {**RELAXED, "nontemporal": RELEASE}},
        {"properties": {**RELAXED, "unknown": UnitAttr()}},
        {"properties": {"ordering": RELAXED["ordering"]}},
        {"operands": 2},
        {"result_types": ()},
        {"result_types": (POINTER, i32)},
        {"attributes": {"volatile": UnitAttr()}},
        {"regions": [Region()]},
    ],
)
def test_what_is_not_alike_is_not_taken_for_verified(broken: dict[str, Any]) -> None:
    def make(pointer: SSAValue) -> Operation:
        usual: dict[str, Any] = {"result_types": (i32,), "properties": RELAXED}
        described = {**usual, **broken, "operands": (pointer,) * broken.get("operands", 1)}
        return scoped.LoadOp.create(**described)

    in_block(load)[0].verify()
    in_block(lambda pointer: load(pointer, nontemporal=UnitAttr()))[0].verify()
    op, _ = in_block(make)
    for _ in range(2):
        with pytest.raises((VerifyException, DiagnosticException)):
            op.verify()


def test_what_depends_on_the_place_is_verified_each_time() -> None:
    end, _ = in_block(lambda _: cdna.EndOp.create(properties={"opcode": StringAttr("s_endpgm")}))
    last = cdna.EndOp.create(properties=end.properties)
    Block([last])
    last.verify()
    with pytest.raises((VerifyException, DiagnosticException), match="must be the last operation"):
        end.verify()


def test_an_erased_operand_is_noticed() -> None:
    in_block(load)[0].verify()
    op, block = in_block(load)
    op.verify()
    block.args[0].erase(safe_erase=False)
    with pytest.raises(ValueError, match="Erased"):
        op.verify()


def test_attributes_that_are_remembered_are_kept() -> None:
    """Another attribute must never get the identity of one that is remembered."""
    op, _ = in_block(lambda pointer: load(pointer, alignment=scoped.IntegerAttr(4, i64)))
    alignment = op.properties["alignment"]
    op.verify()
    assert any(alignment in named for named in leaf_operation._verified.values())  # pyright: ignore[reportPrivateUsage]


def test_a_fact_is_of_operations_that_are_alike() -> None:
    made: list[Operation] = []

    def count(op: Operation) -> int:
        made.append(op)
        return len(made)

    fact = leaf_operation.OfAlike(count)
    one, same, marked = (scoped.FenceOp.create() for _ in range(3))
    marked.attributes["volatile"] = UnitAttr()
    with_property = scoped.FenceOp.create(properties={"volatile": UnitAttr()})
    assert [fact(each) for each in (one, same, marked, with_property, one)] == [1, 1, 2, 3, 1]


def test_an_operation_equals_itself_alone_without_python() -> None:
    one, same = (scoped.FenceOp.create(properties=RELAXED) for _ in range(2))
    assert len({one, same, one}) == 2
    assert type(one).__hash__ is object.__hash__


def test_operations_are_appended_as_xdsl_does() -> None:
    ours, theirs = Block(), Block()
    for _ in range(3):
        leaf_operation.append(ours, scoped.FenceOp.create(properties=RELAXED))
        theirs.add_op(scoped.FenceOp.create(properties=RELAXED))
    assert ours.is_structurally_equivalent(theirs)
    assert list(ours.ops) == list(reversed(list(reversed(ours.ops))))
    assert len(list(ours.ops)) == 3
    assert all(op.parent is ours for op in ours.ops)
    assert leaf_operation.operations(ours) == list(ours.ops)
    assert leaf_operation.operations(Block()) == []
    outer = test_dialect.TestOp.create(regions=[Region([ours, theirs]), Region()])
    assert list(leaf_operation.walk(outer)) == list(outer.walk())
    ours.add_op(last := scoped.FenceOp.create(properties=RELAXED))
    assert ours.last_op is last
