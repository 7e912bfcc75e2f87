"""Operations within a wavefront, called as LLVM intrinsics: a row of PTX each.

None of them accesses memory or orders accesses: they exchange registers.
Source: LLVM, "NVPTX Usage"; PTX ISA, shfl.sync, vote.sync, redux.sync.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.ptx.chip import PtxChip
from fencewright.lowering.sequence import UnsupportedError
from fencewright.passes.kernels.accept import unsupported
from fencewright.passes.to_ptx.arithmetic import PATH, PtxBuilder, register_type

_PREDICATE, _I32, _F32 = IntegerType(1), IntegerType(32), Float32Type()


@dataclass(frozen=True, slots=True)
class IntrinsicRow:
    """One intrinsic: ``line`` names the arguments ``{a0}``, ``{a1}`` and so on.

    ``number``: of the first chip that has it.
    """

    line: str
    arguments: tuple[Attribute, ...]
    result: Attribute
    number: int
    source: str


def _rows() -> Iterator[tuple[str, IntrinsicRow]]:
    for mode in ("up", "down", "bfly", "idx"):
        for name, type_ in (("i32", _I32), ("f32", _F32)):
            yield (
                f"llvm.nvvm.shfl.sync.{mode}.{name}",
                IntrinsicRow(
                    f"shfl.sync.{mode}.b32 {{dst}}, {{a1}}, {{a2}}, {{a3}}, {{a0}}",
                    (_I32, type_, _I32, _I32),
                    type_,
                    70,
                    "PTX ISA, shfl.sync",
                ),
            )
    for mode, opcode, result in (
        ("ballot", "ballot.b32", _I32),
        ("any", "any.pred", _PREDICATE),
        ("all", "all.pred", _PREDICATE),
    ):
        line = f"vote.sync.{opcode} {{dst}}, {{a1}}, {{a0}}"
        yield (
            f"llvm.nvvm.vote.{mode}.sync",
            IntrinsicRow(line, (_I32, _PREDICATE), result, 70, "PTX ISA, vote.sync"),
        )
    for kind, opcode in (
        ("add", "add.s32"),
        ("min", "min.s32"),
        ("max", "max.s32"),
        ("umin", "min.u32"),
        ("umax", "max.u32"),
        ("and", "and.b32"),
        ("or", "or.b32"),
        ("xor", "xor.b32"),
    ):
        line = f"redux.sync.{opcode} {{dst}}, {{a0}}, {{a1}}"
        yield (
            f"llvm.nvvm.redux.sync.{kind}",
            IntrinsicRow(line, (_I32, _I32), _I32, 80, "PTX ISA, redux.sync"),
        )


INTRINSICS: Mapping[str, IntrinsicRow] = MappingProxyType(dict(_rows()))
"""The intrinsics that the PTX path accepts, by name."""


def convert_intrinsic(
    build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...], chip: PtxChip
) -> SSAValue:
    """Append what an intrinsic call becomes; an error at ``op`` if ``chip`` does not have it."""
    call = cast(llvm.CallIntrinsicOp, op)
    name = call.intrin.data
    row = INTRINSICS.get(name)
    if row is None:
        unsupported(op, f"the intrinsic {name} is not supported on the {PATH} path")
    types = tuple(each.type for each in op.operands), tuple(each.type for each in op.results)
    if types != (row.arguments, (row.result,)):
        listed = ", ".join(map(str, row.arguments))
        message = f"{name} is ({listed}) -> {row.result}"
        op.emit_error(message, DiagnosticException(message))
    if chip.number < row.number:
        error = UnsupportedError(name, f"{chip.name} does not have it", (f"sm_{row.number}",))
        op.emit_error(str(error), DiagnosticException(str(error)))
    type_ = register_type(row.result)
    assert type_ is not None
    places = {f"a{n}": value for n, value in enumerate(operands)}
    return build.sequence([row.line], places, type_)
