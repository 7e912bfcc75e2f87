"""Operations of ``scoped`` in LLVM IR as operations of ``ptx``, accesses included.

In PTX the access carries its ordering and scope, which LLVM drops from ``atomicrmw``. LLVM's
pointers and integers become registers, and these integers, by
``builtin.unrealized_conversion_cast``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    IntegerType,
    StringAttr,
    UnrealizedConversionCastOp,
    i1,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from fencewright.lowering.lower import lower_for
from fencewright.lowering.ptx.instructions import RegisterClass, register_for
from fencewright.lowering.sequence import Target, UnsupportedError
from fencewright.lowering.vocabulary import FLOAT_KINDS
from fencewright.lowering.vocabulary import Operation as Operations
from fencewright.mlir_dialects import ptx, scoped
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.kernels.conversion import ConversionStep, build_steps
from fencewright.passes.llvm_ir.data_layout import width_of_pointer
from fencewright.passes.to_ptx.steps import steps_of

_VALUES: dict[Operations, tuple[tuple[str, str], ...]] = {
    Operations.LOAD: (),
    Operations.STORE: (("data", "value"),),
    Operations.ATOMIC_RMW: (("data", "value"),),
    Operations.CMPXCHG: (("compare", "compare"), ("data", "new")),
}
"""The places for values in a sequence, and the operands of the operation that go there."""

_integer = cache(IntegerType)


class _Code:
    """Puts operations in front of another one, at its debug location."""

    def __init__(self, op: Operation):
        self._op = op
        self._block = block_of(op)
        self._attributes = llvm_ir.debug_attributes(op)
        line = llvm_ir.debug_location(op)
        self._ending = f", {line}" if line else ""

    def insert(self, op: Operation) -> None:
        op.location = self._op.location
        self._block.insert_op_before(op, self._op)

    def instructions(
        self, steps: Iterable[ConversionStep], places: Mapping[str, SSAValue]
    ) -> SSAValue | None:
        """Put instructions of ``ptx`` there; the register of their result, if any."""
        return build_steps(steps, places, self.insert, attributes=self._attributes)

    def clobber(self) -> None:
        """Let LLVM take memory for changed, where there is nothing to execute."""
        self.insert(llvm_ir.ClobberOp.create(attributes=self._attributes))

    def converted(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """A value of LLVM's as a register, or a register as a value."""
        op = UnrealizedConversionCastOp.create(operands=(value,), result_types=(type_,))
        self.insert(op)
        return op.results[0]

    def add(self, text: str, operands: Sequence[SSAValue], *types: Attribute) -> Operation:
        op = llvm_ir.InstOp.create(
            operands=operands,
            result_types=types,
            properties={"text": StringAttr(text + self._ending)},
        )
        self.insert(op)
        return op

    def value(self, text: str, operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self.add(text, operands, type_).results[0]

    def cast(self, opcode: str, value: SSAValue, type_: Attribute) -> SSAValue:
        if value.type == type_:
            return value
        text = f"{opcode} {llvm_ir.type_to_text(value.type)} {{0}} to {llvm_ir.type_to_text(type_)}"
        made = self.value(text, (value,), type_)
        made.name_hint = f"{value.name_hint}.{opcode}" if value.name_hint else opcode
        return made

    def to_integer(self, value: SSAValue, bits: int) -> SSAValue:
        return self.cast(_OUT.get(type(value.type), "bitcast"), value, _integer(bits))

    def from_integer(self, value: SSAValue, type_: Attribute) -> SSAValue:
        return self.cast(_BACK.get(type(type_), "bitcast"), value, type_)


_OUT: dict[type[Attribute], str] = {LLVMPointerType: "ptrtoint"}
_BACK: dict[type[Attribute], str] = {LLVMPointerType: "inttoptr"}
"""The casts from a value to an integer and back, if not by its bits."""


def replace(
    op: scoped.ScopedOperation,
    target: Target,
    request: dict[str, Any],
    pointer_widths: Mapping[int, int],
) -> None:
    """Put operations of ``ptx`` in the place of ``op``.

    ``request`` is what to ask of ``lower_for``; what is accessed is added to it.
    ``pointer_widths``: of the module's data layout. Raises ``UnsupportedError`` for what the target
    lacks.
    """
    if isinstance(op, scoped.AccessOperation):
        _replace_access(op, target, request, pointer_widths)
    else:
        steps = _steps(target, op.OPERATION, None, **request)
        code = _Code(op)
        if steps:
            code.instructions(steps, {})
        else:
            code.clobber()
    Rewriter.erase_op(op)


def _replace_access(
    op: scoped.AccessOperation,
    target: Target,
    request: dict[str, Any],
    pointer_widths: Mapping[int, int],
) -> None:
    width = _width(op.value_type, pointer_widths)
    request = {**request, **_accessed(op), "width": width}
    # A value without a register has no sequence either: lower says why.
    register = register_for(width)
    type_ = None if register is None else ptx.REGISTER_TYPES[register]
    steps = _steps(target, op.OPERATION, type_, **request)
    assert register is not None
    assert type_ is not None
    code, integer = _Code(op), _integer(register.bits)
    carried = [
        code.cast("zext", code.to_integer(getattr(op, name), width), integer)
        for _, name in _VALUES[op.OPERATION]
    ]
    places = {
        place: code.converted(each, type_)
        for (place, _), each in zip(_VALUES[op.OPERATION], carried, strict=True)
    }
    address = op.pointer
    if _width(address.type, pointer_widths) != RegisterClass.B64.bits:
        address = code.to_integer(address, RegisterClass.B64.bits)
    places["addr"] = code.converted(address, ptx.B64)
    found = code.instructions(steps, places)
    if found is None:
        return
    old = code.converted(found, integer)
    result = code.from_integer(code.cast("trunc", old, _integer(width)), op.value_type)
    if isinstance(op, scoped.CmpxchgOp):
        equal = f"icmp eq i{register.bits} {{0}}, {{1}}"
        success = code.value(equal, (old, carried[0]), i1)
        _replace_packs(code, op, result, success)
        _replace_value(op.success, success)
    _replace_value(op.results[0], result)
    found.name_hint = old.name_hint


def _width(type_: Attribute, pointer_widths: Mapping[int, int]) -> int:
    if isinstance(type_, LLVMPointerType):
        return width_of_pointer(type_, pointer_widths)
    width = scoped.width_of(type_)
    assert width is not None
    return width


_FLOATS = ("half", "bfloat", "float", "double", "<2 x half>", "<2 x bfloat>")


def _accessed(op: scoped.AccessOperation) -> dict[str, Any]:
    """The arguments of ``lower_for`` for the access itself. Raises ``UnsupportedError`` for
    vectors."""
    accessed: dict[str, Any] = {
        "volatile": op.volatile is not None,
        "nontemporal": "nontemporal" in op.properties,
        "returns": isinstance(op, scoped.LoadOp | scoped.CmpxchgOp),
    }
    if isinstance(op, scoped.AtomicRmwOp):
        kind = op.kind.data
        if kind in FLOAT_KINDS:
            accessed["type"] = scoped.float_type(op.value_type)
            if accessed["type"] is None:
                reason = f"there is no atomic arithmetic on {op.value_type}"
                raise UnsupportedError(f"{op.OPERATION} {kind}", reason, _FLOATS)
        accessed |= {"kind": kind, "returns": op.old.first_use is not None}
    return accessed


@lru_cache(maxsize=1 << 12)
def _steps(
    target: Target, operation: Operations, result: ptx.RegisterType | None, **request: Any
) -> tuple[ConversionStep, ...]:
    """The steps that build the instructions for a request with its ``result`` in this register."""
    return steps_of(lower_for(target, op=operation, **request), result, ordered=True)


def _replace_packs(code: _Code, op: scoped.CmpxchgOp, old: SSAValue, success: SSAValue) -> None:
    """Build the struct of LLVM's cmpxchg wherever it is used as one."""
    packs = [use.operation for use in op.old.uses if isinstance(use.operation, llvm_ir.PackOp)]
    for pack in packs:
        assert isinstance(pack, llvm_ir.PackOp)
        type_ = pack.result.type
        struct, value = llvm_ir.type_to_text(type_), llvm_ir.type_to_text(old.type)
        half = code.value(
            f"insertvalue {llvm_ir.escape(struct)} poison, {value} {{0}}, 0", (old,), type_
        )
        text = f"insertvalue {llvm_ir.escape(struct)} {{0}}, i1 {{1}}, 1"
        _replace_value(pack.result, code.value(text, (half, success), type_))
        Rewriter.erase_op(pack)


def _replace_value(value: SSAValue, by: SSAValue) -> None:
    by.name_hint = value.name_hint or by.name_hint
    value.replace_all_uses_with(by)
