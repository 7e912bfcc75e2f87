"""Operations within a wavefront, called as LLVM intrinsics: they exchange registers."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.llvm.intrinsics.nvvm_ptx import EXCHANGES
from fencewright.lowering.ptx.chip import PtxChip
from fencewright.lowering.sequence import UnsupportedError
from fencewright.passes.kernels.accept import unsupported
from fencewright.passes.to_ptx.arithmetic import PATH, PtxBuilder, register_type

_TYPES: Mapping[str, Attribute] = MappingProxyType(
    {"i1": IntegerType(1), "i32": IntegerType(32), "f32": Float32Type()}
)
_ARGUMENT = re.compile(r"\$([1-9])")


def convert_intrinsic(
    build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...], chip: PtxChip
) -> SSAValue:
    """Append the conversion of an intrinsic call; an error at ``op`` if ``chip`` lacks it."""
    call = cast(llvm.CallIntrinsicOp, op)
    name = call.intrin.data
    row = EXCHANGES.get(name)
    if row is None:
        unsupported(op, f"the intrinsic {name} is not supported on the {PATH} path")
    result, *arguments = (_TYPES[each] for each in row.types)
    types = [each.type for each in op.operands], [each.type for each in op.results]
    if types != (arguments, [result]):
        listed = ", ".join(map(str, arguments))
        message = f"{name} is ({listed}) -> {result}"
        op.emit_error(message, DiagnosticException(message))
    if chip.number < row.number:
        error = UnsupportedError(name, f"{chip.name} does not have it", (f"sm_{row.number}",))
        op.emit_error(str(error), DiagnosticException(str(error)))
    type_ = register_type(result)
    assert type_ is not None
    line = _ARGUMENT.sub(r"{a\1}", row.text.replace("$0", "{dst}"))
    places = {f"a{n}": value for n, value in enumerate(operands, 1)}
    return build.sequence([line], places, type_)
