"""Operations of ``ptx`` among those of ``llvm_ir`` as one inline assembly."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fencewright.lowering.ptx.code.llvm_asm import REGISTERS, UNIQUE, AsmRegister, inline_asm
from fencewright.mlir_dialects import ptx
from fencewright.mlir_dialects.llvm_ir.dialect import type_to_text
from fencewright.mlir_dialects.llvm_ir.write import without_casts


def inline_ptx(ops: Sequence[Operation], names: Mapping[SSAValue, str]) -> str:
    """The call that executes ``ops``, of which one may have a result; ``names``: of LLVM's
    values."""
    results = [each for op in ops for each in op.results]
    operands = list(dict.fromkeys(each for op in ops for each in op.operands))
    places = {value: f"${number}" for number, value in enumerate([*results, *operands])}
    lines: list[str] = []
    for op in ops:
        if type(op) is ptx.SequenceOp:
            # In braces, the names that it declares are its own.
            lines += ["{", *op.statements(places.__getitem__, UNIQUE), "}"]
        elif isinstance(op, ptx.SynchronisingOp):
            lines.append(op.line(places.__getitem__))
    given = [(_register(each), _typed(each, names)) for each in operands]
    return inline_asm(lines, _register(results[0]) if results else None, given)


def _register(value: SSAValue) -> AsmRegister:
    return REGISTERS[ptx.register_of(value).bits]


def _typed(register: SSAValue, names: Mapping[SSAValue, str]) -> str:
    """The type and name of a register's value; LLVM has assembly's results as integers."""
    value = without_casts(register)
    type_ = value.type
    if isinstance(type_, ptx.RegisterType):
        return f"i{type_.data.bits} {names[value]}"
    return f"{type_to_text(type_)} {names[value]}"
