"""An operation of ``scoped`` in LLVM IR as one inline assembly, its access included."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from xdsl.dialects.builtin import IntAttr, IntegerType, StringAttr, i1
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from fencewright.lowering.lower import lower_for
from fencewright.lowering.ptx.llvm_asm import ADDRESS, AsmRegister, inline_asm
from fencewright.lowering.sequence import Target, UnsupportedError
from fencewright.lowering.vocabulary import FLOAT_KINDS, Ordering, Scope
from fencewright.lowering.vocabulary import Operation as Operations
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.control_flow import block_of

_VALUES: dict[Operations, tuple[tuple[str, str], ...]] = {
    Operations.LOAD: (),
    Operations.STORE: (("data", "value"),),
    Operations.ATOMIC_RMW: (("data", "value"),),
    Operations.CMPXCHG: (("compare", "compare"), ("data", "new")),
}
"""The places for values in a sequence, and the operands of the operation that go there."""

_DATA_LAYOUT = re.compile(r'target datalayout = "([^"]*)"')
_POINTER_WIDTH = re.compile(r"\bp([0-9]*):([0-9]+)")
_POINTER_BITS = 64
"""LLVM LangRef, Data Layout: pointers, where the layout does not say."""


def pointer_widths(lines: Iterable[str]) -> dict[int, int]:
    """The bits of a pointer by the number of its space, as far as the module's layout says."""
    layouts = [found[1] for found in map(_DATA_LAYOUT.fullmatch, lines) if found]
    found = (each for layout in layouts for each in _POINTER_WIDTH.findall(layout))
    return {int(space or 0): int(bits) for space, bits in found}


def compiler_fence(op: Operation, ordering: Ordering) -> scoped.FenceOp:
    """A fence for LLVM's optimiser alone, at the debug location of ``op``."""
    properties = {"ordering": ORDERINGS[ordering], "scope": SCOPES[Scope.SINGLETHREAD]}
    return scoped.FenceOp.create(properties=properties, attributes=llvm_ir.debug_attributes(op))


def noalias_arguments(
    function: llvm_ir.FuncOp, but: frozenset[str] = frozenset()
) -> tuple[SSAValue, ...]:
    """The pointers that LLVM takes no call to reach that does not have them as operands.

    Without those that have an attribute of ``but``. Source: LLVM LangRef, noalias.
    """
    pieces = llvm_ir.parse_template(function.text.data).pieces
    arguments = function.body.blocks[0].args
    return tuple(
        arguments[place]
        for before, place in pairwise(pieces)
        if isinstance(before, str) and isinstance(place, int)
        if "noalias" in (words := before.split()) and but.isdisjoint(words)
    )


class _Code:
    """Puts instructions in front of an operation, at its debug location."""

    def __init__(self, op: Operation):
        self._op = op
        self._block = block_of(op)
        line = llvm_ir.debug_location(op)
        self._ending = f", {line}" if line else ""

    def add(self, text: str, operands: Sequence[SSAValue], *types: Attribute) -> Operation:
        op = llvm_ir.InstOp.create(
            operands=operands,
            result_types=types,
            properties={"text": StringAttr(text + self._ending)},
        )
        op.location = self._op.location
        self._block.insert_op_before(op, self._op)
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
        return self.cast(_OUT.get(type(value.type), "bitcast"), value, IntegerType(bits))

    def from_integer(self, value: SSAValue, type_: Attribute) -> SSAValue:
        return self.cast(_BACK.get(type(type_), "bitcast"), value, type_)


_OUT: dict[type[Attribute], str] = {LLVMPointerType: "ptrtoint"}
_BACK: dict[type[Attribute], str] = {LLVMPointerType: "inttoptr"}
"""How a value becomes an integer and is made of one again, if not by its bits."""


@dataclass(frozen=True, slots=True)
class InlineAssembly:
    """Replaces operations by inline assembly.

    ``registers``: by the bits of a value, what carries it; ``pointer_widths``: the bits of a
    pointer by the number of its space, 64 where it is not there.
    """

    registers: Mapping[int, AsmRegister]
    pointer_widths: Mapping[int, int]

    def replace(
        self,
        op: scoped.ScopedOperation,
        target: Target,
        request: dict[str, Any],
        visible: Sequence[SSAValue] = (),
    ) -> None:
        """Put inline assembly in the place of ``op``.

        ``request`` is what to ask of ``lower_for``; what is accessed is added to it. ``visible`` are
        pointers through which LLVM has to take memory for changed. Raises
        ``UnsupportedError`` for what the target lacks.
        """
        if isinstance(op, scoped.AccessOperation):
            others = [each for each in visible if each is not op.pointer]
            self._replace_access(op, target, request, others)
        else:
            code = _Code(op)
            attributes = " convergent" if isinstance(op, scoped.BarrierOp) else ""
            text = _call(target, op.OPERATION, None, len(visible), **request)
            code.add(text + attributes, [code.to_integer(each, ADDRESS.bits) for each in visible])
        Rewriter.erase_op(op)

    def _replace_access(
        self,
        op: scoped.AccessOperation,
        target: Target,
        request: dict[str, Any],
        visible: Sequence[SSAValue],
    ) -> None:
        width = self._width(op.value_type)
        request = {**request, **_accessed(op), "width": width}
        # What has no register has no sequence either: lower says why.
        register = self.registers.get(width)
        text = _call(target, op.OPERATION, register, len(visible), **request)
        assert register is not None
        code = _Code(op)
        values: list[SSAValue] = [getattr(op, name) for _, name in _VALUES[op.OPERATION]]
        carried = [
            code.cast("zext", code.to_integer(each, width), IntegerType(register.bits))
            for each in values
        ]
        addresses = [code.to_integer(each, ADDRESS.bits) for each in (op.pointer, *visible)]
        operands = [addresses[0], *carried, *addresses[1:]]
        if not request["returns"]:
            code.add(text, operands)
            return
        old = code.value(text, operands, IntegerType(register.bits))
        result = code.from_integer(code.cast("trunc", old, IntegerType(width)), op.value_type)
        if isinstance(op, scoped.CmpxchgOp):
            equal = f"icmp eq i{register.bits} {{0}}, {{1}}"
            success = code.value(equal, (old, carried[0]), i1)
            _replace_packs(code, op, result, success)
            _replace_value(op.success, success)
        _replace_value(op.results[0], result)

    def _width(self, type_: Attribute) -> int:
        if isinstance(type_, LLVMPointerType):
            space = type_.addr_space.data if isinstance(type_.addr_space, IntAttr) else 0
            return self.pointer_widths.get(space, _POINTER_BITS)
        width = scoped.width_of(type_)
        assert width is not None
        return width


_FLOATS = ("half", "bfloat", "float", "double", "<2 x half>", "<2 x bfloat>")


def _accessed(op: scoped.AccessOperation) -> dict[str, Any]:
    """What to ask of ``lower_for`` about the access itself. Raises ``UnsupportedError`` for vectors."""
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
def _call(
    target: Target,
    operation: Operations,
    register: AsmRegister | None,
    visible: int,
    **request: Any,
) -> str:
    """The call for a request; ``visible`` pointers follow the operands of the access."""
    sequence = lower_for(target, op=operation, **request)
    operands: list[tuple[str, AsmRegister]] = []
    if register is not None:
        operands = [("addr", ADDRESS), *((place, register) for place, _ in _VALUES[operation])]
    operands += [(f"visible{number}", ADDRESS) for number in range(visible)]
    result = register if request.get("returns") else None
    return inline_asm(sequence, result, operands)


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
