"""The ``scoped`` dialect: what can be written is read back the same, what means nothing is refused."""

from collections.abc import Callable
from io import StringIO
from itertools import product
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    Builtin,
    ModuleOp,
    StringAttr,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    i128,
)
from xdsl.dialects.llvm import LLVM, LLVMPointerType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.skeleton import ILLEGAL, ILLEGAL_FAILURE, SKELETON
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.mlir_dialects import attributes, scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES, OrderingAttr

INTEGERS: tuple[Attribute, ...] = (i8, i16, i32, i64, i128)
FLOATS: tuple[Attribute, ...] = (f16, bf16, f32, f64)


def pointer_type(space: AddressSpace) -> LLVMPointerType:
    (made,) = parse(f'"test.op"() {{t = !llvm.ptr<{space.number}>}} : () -> ()').ops
    found = made.attributes["t"]
    assert isinstance(found, LLVMPointerType)
    return found


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, LLVM, test.Test, scoped.Scoped):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def printed(module: ModuleOp, generic: bool) -> str:
    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(module)
    return out.getvalue()


def value(of_type: Attribute) -> SSAValue:
    return test.TestOp(result_types=[of_type]).results[0]


def in_module(op: scoped.ScopedOperation) -> ModuleOp:
    owners = {operand.owner: None for operand in op.operands}
    return ModuleOp([*(o for o in owners if isinstance(o, test.TestOp)), op])


GLOBAL = pointer_type(AddressSpace.GLOBAL)
POINTERS = {space: pointer_type(space) for space in AddressSpace}


# Round trips


SCALARS = st.sampled_from((*INTEGERS, *FLOATS, GLOBAL, LLVMPointerType()))
WEAK_TYPES = SCALARS | st.builds(VectorType[Attribute], SCALARS, st.tuples(st.integers(1, 16)))
ATOMIC_TYPES = SCALARS | st.sampled_from(
    [VectorType(e, [n]) for e, n in ((f16, 2), (bf16, 2), (i16, 2), (i32, 4), (f32, 1), (i8, 8))]
)
LEGAL = {op: [o for p, o in SKELETON if p is op] for op in Operation}
FAILURES = [ordering for ordering in Ordering if ordering not in ILLEGAL_FAILURE]
WRITABLE = [space for space in AddressSpace if space is not AddressSpace.CONSTANT]


@st.composite
def operations(draw: st.DrawFn) -> scoped.ScopedOperation:
    """Any operation that the verifier has nothing against."""
    kind: Operation = draw(st.sampled_from(Operation))
    ordering = draw(st.sampled_from(LEGAL[kind]))
    weak = ordering is Ordering.WEAK
    orders = not weak and (kind, ordering) != (Operation.BARRIER, Ordering.RELAXED)
    scope = None if weak else draw(st.sampled_from(Scope))
    one_as = orders and draw(st.booleans())
    lists = st.lists(st.sampled_from(AddressSpace), min_size=1, unique=True)
    spaces = draw(st.none() | lists) if orders else None
    availability = draw(st.none() | st.sampled_from(Availability)) if orders else None
    volatile, hint, spurious = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    alignment = draw(st.none() | st.sampled_from((16, 32, 4096)))
    readable = WRITABLE if ordering is not Ordering.WEAK else list(AddressSpace)
    space = draw(st.sampled_from(readable if kind is Operation.LOAD else WRITABLE))
    pointer = value(draw(st.sampled_from((POINTERS[space], LLVMPointerType()))))
    types = WEAK_TYPES if weak else ATOMIC_TYPES
    match kind:
        case Operation.LOAD:
            op = scoped.LoadOp(
                pointer,
                draw(types),
                ordering,
                scope,
                volatile=volatile,
                nontemporal=hint,
                one_as=one_as,
                spaces=spaces,
                availability=availability,
                alignment=alignment,
            )
        case Operation.STORE:
            op = scoped.StoreOp(
                value(draw(types)),
                pointer,
                ordering,
                scope,
                volatile=volatile,
                nontemporal=hint,
                one_as=one_as,
                spaces=spaces,
                availability=availability,
                alignment=alignment,
            )
        case Operation.ATOMIC_RMW:
            rmw = draw(st.sampled_from(RmwKind))
            floats = (*FLOATS, VectorType(f16, [2]), VectorType(f32, [2]))
            allowed = floats if rmw in scoped.FLOAT_KINDS else INTEGERS
            if rmw is RmwKind.XCHG:
                allowed = (*INTEGERS, *FLOATS, GLOBAL)
            op = scoped.AtomicRmwOp(
                rmw,
                pointer,
                value(draw(st.sampled_from(allowed))),
                ordering,
                scope,
                volatile=volatile,
                one_as=one_as,
                spaces=spaces,
                availability=availability,
                alignment=alignment,
            )
        case Operation.CMPXCHG:
            compared = draw(st.sampled_from((*INTEGERS, GLOBAL)))
            op = scoped.CmpxchgOp(
                pointer,
                value(compared),
                value(compared),
                ordering,
                draw(st.sampled_from(FAILURES)),
                scope,
                weak=spurious,
                volatile=volatile,
                one_as=one_as,
                spaces=spaces,
                availability=availability,
                alignment=alignment,
            )
        case Operation.FENCE:
            op = scoped.FenceOp(
                ordering, scope, one_as=one_as, spaces=spaces, availability=availability
            )
        case Operation.BARRIER:
            op = scoped.BarrierOp(
                scope, ordering, one_as=one_as, spaces=spaces, availability=availability
            )
    # Letters only: xDSL prints other characters of a string as an escape that it does not read.
    if (note := draw(st.none() | st.text(ascii_letters))) is not None:
        op.attributes["note"] = StringAttr(note)
    return op


@given(operations(), st.booleans())
def test_round_trip(op: scoped.ScopedOperation, generic: bool) -> None:
    module = in_module(op)
    module.verify()
    again = parse(printed(module, generic))
    again.verify()
    assert module.is_structurally_equivalent(again)


@pytest.mark.parametrize("forgotten", ["volatile", "nontemporal", "one_as", "alignment"])
def test_a_printer_that_forgets_a_property_is_noticed(
    forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = scoped.LoadOp(
        value(GLOBAL),
        i32,
        "acquire",
        "agent",
        volatile=True,
        nontemporal=True,
        one_as=True,
        alignment=4,
    )
    module = in_module(op)
    kept = tuple(n for n in ("volatile", "nontemporal", "one_as", "alignment") if n != forgotten)
    monkeypatch.setattr(scoped, "_IN_DICTIONARY", kept)
    text = printed(module, generic=False)
    monkeypatch.undo()
    assert not module.is_structurally_equivalent(parse(text))


# Verification


def build(operation: Operation, ordering: Ordering) -> scoped.ScopedOperation:
    scope = None if ordering is Ordering.WEAK else Scope.AGENT
    pointer, number = value(GLOBAL), value(i32)
    builders: dict[Operation, Callable[[], scoped.ScopedOperation]] = {
        Operation.LOAD: lambda: scoped.LoadOp(pointer, i32, ordering, scope),
        Operation.STORE: lambda: scoped.StoreOp(number, pointer, ordering, scope),
        Operation.ATOMIC_RMW: lambda: scoped.AtomicRmwOp("add", pointer, number, ordering, scope),
        Operation.CMPXCHG: lambda: scoped.CmpxchgOp(
            pointer, number, number, ordering, "relaxed", scope
        ),
        Operation.FENCE: lambda: scoped.FenceOp(ordering, scope),
        Operation.BARRIER: lambda: scoped.BarrierOp(scope, ordering),
    }
    op = builders[operation]()
    assert op.OPERATION is operation
    return op


@pytest.mark.parametrize(("operation", "ordering"), list(product(Operation, Ordering)))
def test_orderings_are_those_of_the_skeleton(operation: Operation, ordering: Ordering) -> None:
    op = build(operation, ordering)
    illegal = ILLEGAL.get((operation, ordering))
    if illegal is None:
        op.verify()
        return
    with pytest.raises(VerifyException) as refused:
        op.verify()
    assert illegal.reason in str(refused.value)
    assert all(accepted in str(refused.value) for accepted in illegal.accepted)


@pytest.mark.parametrize("failure", Ordering)
def test_failure_orderings_are_those_of_the_skeleton(failure: Ordering) -> None:
    number = value(i32)
    op = scoped.CmpxchgOp(value(GLOBAL), number, number, "seq_cst", failure, "agent")
    illegal = ILLEGAL_FAILURE.get(failure)
    if illegal is None:
        op.verify()
        return
    with pytest.raises(VerifyException, match=illegal.reason):
        op.verify()


@pytest.mark.parametrize(("kind", "of_type"), list(product(RmwKind, (*INTEGERS, *FLOATS, GLOBAL))))
def test_rmw_kinds_take_the_types_of_llvm(kind: RmwKind, of_type: Attribute) -> None:
    op = scoped.AtomicRmwOp(kind, value(GLOBAL), value(of_type), "relaxed", "agent")
    takes = (
        kind is RmwKind.XCHG
        or (of_type in FLOATS and kind in {"fadd", "fsub", "fmax", "fmin"})
        or (of_type in INTEGERS and kind not in {"fadd", "fsub", "fmax", "fmin"})
    )
    if takes:
        op.verify()
        return
    with pytest.raises(VerifyException, match=f"{kind} needs"):
        op.verify()


def test_an_attribute_cannot_stand_in_for_a_property() -> None:
    op = build(Operation.LOAD, Ordering.WEAK)
    op.attributes["volatile"] = UnitAttr()
    with pytest.raises(VerifyException, match="'volatile' must be a property"):
        op.verify()


# Attributes and types


def test_there_is_one_attribute_for_each_word() -> None:
    for words, members in (
        (attributes.ORDERINGS, Ordering),
        (attributes.SCOPES, Scope),
        (attributes.ADDRESS_SPACES, AddressSpace),
        (attributes.RMW_KINDS, RmwKind),
        (attributes.AVAILABILITIES, Availability),
    ):
        assert list(words) == list(members)
        for member in members:
            assert words[member] is words[member.value]
            assert words[member].data is member
    assert ORDERINGS["acquire"] == OrderingAttr(Ordering.ACQUIRE)


def test_custom_syntax_makes_no_new_attributes() -> None:
    module = parse("scoped.fence acquire agent")
    (fence,) = module.ops
    assert isinstance(fence, scoped.FenceOp)
    assert fence.ordering is ORDERINGS["acquire"]
    assert fence.scope is SCOPES["agent"]


@pytest.mark.parametrize("space", AddressSpace)
def test_address_space_of(space: AddressSpace) -> None:
    op = scoped.LoadOp(value(POINTERS[space]), i32)
    assert op.space is space
    assert scoped.address_space_of(POINTERS[space]) is space


def test_a_pointer_without_a_number_is_generic() -> None:
    assert scoped.address_space_of(LLVMPointerType()) is AddressSpace.GENERIC


@pytest.mark.parametrize(
    ("of_type", "width"),
    [(i1, 1), (i128, 128), (bf16, 16), (f64, 64), (VectorType(f16, [2]), 32), (GLOBAL, None)],
)
def test_width_of(of_type: Attribute, width: int | None) -> None:
    assert scoped.width_of(of_type) == width


def test_a_vector_of_pointers_has_no_width_of_its_own() -> None:
    assert scoped.width_of(VectorType(GLOBAL, [2])) is None
