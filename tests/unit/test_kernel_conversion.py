"""What all conversions share: plans made once for operations that are alike, and errors."""

from typing import Any

import pytest
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import IntAttr, UnitAttr, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block

from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.passes.kernels import conversion as kernel_conversion
from fencewright.passes.kernels.conversion import KernelConversion, Plans
from fencewright.passes.to_cdna import convert_scoped_to_cdna
from fencewright.passes.to_ptx import convert_scoped_to_ptx

AGENT: dict[str, Attribute] = {"ordering": ORDERINGS["relaxed"], "scope": SCOPES["agent"]}
CONVERSIONS: list[type[KernelConversion[Any, Any]]] = [
    convert_scoped_to_cdna._Conversion,  # pyright: ignore[reportPrivateUsage]
    convert_scoped_to_ptx._Conversion,  # pyright: ignore[reportPrivateUsage]
]
Planned = tuple[scoped.ScopedOperation, bool]


@pytest.fixture
def block() -> Block:
    return Block(arg_types=[LLVMPointerType(IntAttr(1)), LLVMPointerType(IntAttr(3))])


def load(
    block: Block, argument: int = 0, type: Attribute = i32, **more: Attribute
) -> scoped.LoadOp:
    op = scoped.LoadOp.create(
        operands=[block.args[argument]], result_types=[type], properties={**AGENT, **more}
    )
    block.add_op(op)
    return op


def plan_of(plans: Plans[Planned], op: scoped.ScopedOperation, *features: str) -> Planned:
    return plans.find(op, features, lambda op, _, used: (op, used))


def test_operations_that_are_alike_have_one_plan(block: Block) -> None:
    plans = Plans[Planned]()
    first, second = load(block), load(block)
    assert plan_of(plans, first) == plan_of(plans, second) == (first, False)


def test_what_a_plan_depends_on_tells_operations_apart(block: Block) -> None:
    plans = Plans[Planned]()
    used = load(block)
    block.add_op(test_dialect.TestOp(operands=[used.value]))
    different = [
        load(block),
        used,
        load(block, type=i64),
        load(block, argument=1),
        load(block, volatile=UnitAttr()),
        load(block, nontemporal=UnitAttr()),
        load(block, scope=SCOPES["system"]),
        scoped.FenceOp("release", "agent"),
        scoped.BarrierOp("workgroup"),
    ]
    found = [plan_of(plans, op) for op in different]
    assert found == [(op, op is used) for op in different]
    assert plan_of(plans, different[0], "converged") == (different[0], False)
    assert plan_of(plans, load(block), "converged") == (different[0], False)


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda each: each.PATH)
def test_every_path_has_the_shared_handlers(conversion: type[KernelConversion[Any, Any]]) -> None:
    shared = kernel_conversion.shared_handlers(conversion)
    assert shared.items() <= conversion.HANDLERS.items()
    assert conversion.ARITHMETIC.keys() <= conversion.HANDLERS.keys()
