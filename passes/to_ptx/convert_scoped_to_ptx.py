"""The pass ``convert-scoped-to-ptx``: functions on ``scoped`` to kernels of PTX instructions."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.lower import lower_for
from fencewright.lowering.ptx.chip import CHIPS, default_version
from fencewright.lowering.ptx.instructions import RegisterClass, register_for
from fencewright.lowering.ptx.module import is_identifier
from fencewright.lowering.ptx.select import (
    CONVERGED,
    NO_ACQUIRE_FENCE_AFTER,
    NO_RELAXED_BARRIER,
    chip_named,
)
from fencewright.lowering.sequence import Target
from fencewright.lowering.targets import target_of, unknown_target
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.mlir_dialects import ptx, scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, count_attr, opcode_attr
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.acquire_fences import unfenced_updates
from fencewright.passes.analysis.control_flow import (
    reachable_blocks,
    top_level,
)
from fencewright.passes.analysis.convergence import converged_blocks
from fencewright.passes.kernels import accept
from fencewright.passes.kernels.conversion import (
    ConversionStep,
    Handler,
    KernelConversion,
    Plans,
    replace,
    shared_handlers,
)
from fencewright.passes.to_ptx.arithmetic import (
    ARITHMETIC,
    PATH,
    POINTER_BITS,
    PtxBuilder,
    bits_of,
    register_type,
)
from fencewright.passes.to_ptx.intrinsics import convert_intrinsic
from fencewright.passes.to_ptx.steps import steps_of
from fencewright.passes.to_ptx.vectors import VECTORS


@dataclass(frozen=True)
class ConvertScopedToPTXPass(ModulePass):
    """Convert every kernel of a module to ``ptx.kernel``, and its variables to ``ptx.variable``.

    ``mcpu``: sm_70 to sm_121f, as ``fencewright.lowering.lower`` knows them. ``ptx_version``:
    a PTX version such as 8.6; absent: the lowest in which the chip has all that it has.
    A ``func.func`` is a kernel if it carries ``gpu.kernel``, or is public and returns nothing;
    a ``gpu.func`` if it is marked ``kernel``. Branches may diverge. Raises
    ``DiagnosticException`` at what it cannot convert, ``UnsupportedError`` for an unknown target.
    """

    name = "convert-scoped-to-ptx"

    mcpu: str
    ptx_version: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = self._target()
        shared = accept.SharedVariables(bits_of, PATH)
        accept.check_top_level(op, PATH)
        functions = accept.kernels_of(op)
        for each in top_level(op):
            if isinstance(each, llvm.GlobalOp):
                shared.add(each)
        for name, variable in shared.variables.items():
            _check_name(variable.op, name)
            properties: dict[str, Attribute] = {
                "sym_name": StringAttr(name),
                "size": count_attr(variable.size),
                "alignment": count_attr(variable.alignment),
            }
            replace(variable.op, ptx.VariableOp.create(properties=properties))
        plans = Plans[tuple[ConversionStep, ...]]()
        for function in functions:
            replace(function, _Conversion(target, shared, function, plans).run())

    def _target(self) -> Target:
        names = tuple(chip.name for chip in CHIPS)
        if self.mcpu not in names:
            raise unknown_target(self.mcpu, "not a PTX target", names)
        target = target_of(self)
        if target.ptx_version is None:
            version = default_version(chip_named(self.mcpu))
            return dataclasses.replace(target, ptx_version=version)
        # Any request will do: the rows say which versions the chip has.
        lower_for(target, op="fence", ordering="seq_cst")
        return target


def _check_name(op: Operation, name: str) -> None:
    if not is_identifier(name):
        accept.unsupported(op, f"'{name}' is not a name in PTX (letters, digits, _ and $)")


class _Conversion(KernelConversion[PtxBuilder, ptx.RegisterType]):
    """One function that becomes a kernel."""

    PATH = PATH
    ARITHMETIC = ARITHMETIC
    BRANCH = ptx.BranchOp
    COND_BRANCH = ptx.CondBranchOp

    def __init__(
        self,
        target: Target,
        shared: accept.SharedVariables,
        function: accept.Function,
        plans: Plans[tuple[ConversionStep, ...]],
    ):
        entry = Block()
        super().__init__(function, entry, PtxBuilder(entry))
        assert target.ptx_version is not None
        self.target = target
        self.chip = chip_named(target.chip)
        self.version = target.ptx_version
        self.shared = shared
        self.plans = plans
        self.source_blocks = reachable_blocks(function.body) if function.body.blocks else []
        self.converged: frozenset[Block] | None = None
        self.unfenced: frozenset[Operation] | None = None
        self.has_relaxed_barrier: bool | None = None

    def rare_handler(self, name: str) -> Handler | None:
        if not name.startswith("scoped."):
            return None
        from fencewright.passes.to_ptx.convert_scoped_async_to_ptx import ASYNC_HANDLERS

        return ASYNC_HANDLERS.get(name)

    def register_type(self, type: Attribute) -> ptx.RegisterType | None:
        return register_type(type)

    def bits_of(self, type: Attribute) -> int | None:
        return bits_of(type)

    def end_op(self) -> Operation:
        return ptx.RetOp.create()

    # The kernel

    def run(self) -> ptx.KernelOp:
        """The kernel that replaces the function."""
        accept.check_kernel(self.function, PATH)
        _check_name(self.function, self.function.sym_name.data)
        self.map_blocks(self.source_blocks)
        parameters = self._parameters()
        body = self.convert_blocks(self.source_blocks)
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(self.function.sym_name.data),
            "target": StringAttr(self.target.chip),
            "version": StringAttr(".".join(map(str, self.version))),
            "parameters": _widths_attr(tuple(parameters)),
        }
        block_size = accept.known_block_size(self.function)
        if block_size is not None:
            properties["block_size"] = DenseArrayBase.from_list(i32, block_size)
        return ptx.KernelOp.create(properties=properties, regions=[body])

    def _parameters(self) -> list[int]:
        """The widths of the parameters; those that are used are loaded."""
        widths: list[int] = []
        for number, argument in enumerate(self.function.body.blocks[0].args):
            type = self.registers_for(self.function, argument.type)
            bits = self.width(argument.type)
            widths.append(max(8, 1 << (bits - 1).bit_length()))
            if argument.first_use is not None:
                self.values[argument] = self._parameter(number, type, bits)
        return widths

    def _parameter(self, number: int, type: ptx.RegisterType, bits: int) -> SSAValue:
        register = ptx.REGISTER_TYPES[RegisterClass.B16] if bits == 1 else type
        properties: dict[str, Attribute] = {"index": count_attr(number)}
        value = self._add(ptx.ParamOp.create(result_types=(register,), properties=properties))
        return self.build.truncate(value, 1) if bits == 1 else value

    # Operations

    def _add(self, op: Operation) -> SSAValue:
        self.build.block.add_op(op)
        return op.results[0]

    def vector(self, op: Operation) -> None:
        self.values[op.results[0]] = VECTORS[op.name](self.build, op, self.operands(op))

    def intrinsic(self, op: Operation) -> None:
        value = convert_intrinsic(self.build, op, self.operands(op), self.chip)
        self.values[op.results[0]] = value

    def special(self, op: Operation) -> None:
        """Ids and sizes of work-items and work-groups."""
        name = f"{_SPECIAL[op.name]}.{'xyz'[accept.dimension_of(op)]}"
        properties: dict[str, Attribute] = {"register": opcode_attr(name)}
        value = self._add(ptx.SpecialOp.create(result_types=(ptx.B32,), properties=properties))
        self.values[op.results[0]] = self.build.extend(value, 32, RegisterClass.B64, "u")

    # Pointers

    def element(self, gep: llvm.GEPOp, index: SSAValue | int, size: int) -> SSAValue:
        if isinstance(index, int):
            offset = self.build.const(index * size, ptx.B64)
        else:
            bits = self.width(index.type)
            wide = self.build.extend(self.values[index], bits, RegisterClass.B64, "s")
            offset = self._scale(wide, size)
        return self.build.alu("add.s64", self.values[gep.ptr], offset, type=ptx.B64)

    def _scale(self, index: SSAValue, size: int) -> SSAValue:
        if size == 1:
            return index
        if size & (size - 1) == 0:
            shift = self.build.const(size.bit_length() - 1, ptx.B32)
            return self.build.alu("shl.b64", index, shift, type=ptx.B64)
        return self.build.alu("mul.lo.s64", index, self.build.const(size, ptx.B64), type=ptx.B64)

    def pointer_cast(self, op: Operation) -> None:
        """ptrtoint and inttoptr: zeros above, or the low part."""
        bits, to = bits_of(op.operands[0].type), bits_of(op.results[0].type)
        if bits is None or to is None or max(bits, to) > POINTER_BITS:
            accept.unsupported(op, f"'{op.name}' of these types is not supported")
        (value,) = self.operands(op)
        register = register_for(to)
        assert register is not None
        self.values[op.results[0]] = (
            self.build.truncate(value, to)
            if to <= bits
            else self.build.extend(value, bits, register, "u")
        )

    def addressof(self, op: Operation) -> None:
        properties: dict[str, Attribute] = {"variable": SymbolRefAttr(self.shared.name_at(op))}
        self.values[op.results[0]] = self._add(
            ptx.AddressOfOp.create(result_types=(ptx.B64,), properties=properties)
        )

    def alloca(self, op: Operation) -> None:
        alloca = cast(llvm.AllocaOp, op)
        space = cast(llvm.LLVMPointerType, alloca.res.type).addr_space
        is_private = isinstance(space, IntAttr) and space.data == AddressSpace.PRIVATE.number
        size, alignment = self.allocated(alloca, is_private)
        properties: dict[str, Attribute] = {
            "size": count_attr(size),
            "alignment": count_attr(alignment),
        }
        self.values[alloca.res] = self._add(
            ptx.LocalOp.create(result_types=(ptx.B64,), properties=properties)
        )

    # Scoped operations

    def scoped_operation(self, op: Operation) -> None:
        """A load, store, read-modify-write, fence or barrier."""
        places = dict(zip(_PLACES[op.name], self.operands(op), strict=True))
        result = self.emit(self.plan(op), places)
        if result is not None:
            for value in op.results:
                self.values[value] = result

    def cmpxchg(self, op: Operation) -> None:
        cmpxchg = cast(scoped.CmpxchgOp, op)
        places = dict(zip(_PLACES[op.name], self.operands(op), strict=True))
        old = self.emit(self.plan(op), places)
        if old is None:
            return
        self.values[cmpxchg.old] = old
        if cmpxchg.success.first_use is not None:
            bits = self.width(cmpxchg.compare.type)
            self.values[cmpxchg.success] = self._are_equal(old, places["compare"], bits)

    def _are_equal(self, a: SSAValue, b: SSAValue, bits: int) -> SSAValue:
        register = ptx.register_of(a)
        if register is RegisterClass.B128:
            return self._add(
                ptx.SequenceOp.create(
                    operands=(a, b), result_types=(ptx.PRED,), properties=dict(_EQUAL_128)
                )
            )
        a, b = (self.build.extend(each, bits, register, "u") for each in (a, b))
        return self.build.alu(f"setp.eq.b{register.bits}", a, b, type=ptx.PRED)

    def plan(self, op: Operation) -> tuple[ConversionStep, ...]:
        """The plan that builds the instructions of ``op``."""
        features = self._features(op)
        return self.plans.find(cast(scoped.ScopedOperation, op), features, self._make_plan)

    def _features(self, op: Operation) -> tuple[str, ...]:
        """The function's promises about ``op``; each analysis runs once, at its first use."""
        if type(op) is scoped.BarrierOp:
            if self.converged is None:
                self.converged = converged_blocks(self.source_blocks)
            return (CONVERGED,) if op.parent in self.converged else ()
        if type(op) is scoped.AtomicRmwOp and not accept.is_used(op):
            if self.unfenced is None:
                self.unfenced = unfenced_updates(self.source_blocks, ends_thread=True)
            return (NO_ACQUIRE_FENCE_AFTER,) if op in self.unfenced else ()
        if type(op) is scoped.FenceOp and op.spaces is not None:
            if self.has_relaxed_barrier is None:
                self.has_relaxed_barrier = any(
                    _is_relaxed_barrier(each)
                    for block in self.source_blocks
                    for each in operations(block)
                )
            return () if self.has_relaxed_barrier else (NO_RELAXED_BARRIER,)
        return ()

    def _make_plan(
        self, op: scoped.ScopedOperation, features: tuple[str, ...], used: bool
    ) -> tuple[ConversionStep, ...]:
        result: ptx.RegisterType | None = None
        if isinstance(op, scoped.AccessOperation):
            result = self.registers_for(op, op.value_type)
            _check_alignment(op)
        target = self.target.promising(*features)
        sequence = accept.lower_operation(op, bits_of, used, PATH, target=target)
        ordered = op.properties["ordering"] != _WEAK
        return steps_of(sequence, result, ordered=ordered)


@cache
def _widths_attr(widths: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, widths)


def _is_relaxed_barrier(op: Operation) -> bool:
    """True if threads wait for each other by ``op`` that only fences order."""
    return op.name in _BARRIERS and op.properties["ordering"] == ORDERINGS[Ordering.RELAXED]


_BARRIERS = frozenset({"scoped.barrier", "scoped.cluster_arrive"})


def _check_alignment(op: scoped.AccessOperation) -> None:
    bits = bits_of(op.value_type)
    assert bits is not None
    if op.alignment is not None and 8 * op.alignment.value.data < bits:
        accept.unsupported(
            op,
            f"an access of {bits} bits that is aligned to {op.alignment.value.data} bytes only "
            f"is not supported on the {PATH} path",
        )


# PTX has no comparison of 128 bits.
_EQUAL_128: Mapping[str, Attribute] = MappingProxyType(
    {
        "places": ArrayAttr([StringAttr("a"), StringAttr("b")]),
        "lines": ptx.LinesAttr.read(
            (
                ".reg .b64 {a_low}, {a_high}, {b_low}, {b_high}",
                ".reg .pred {low}",
                "mov.b128 {{a_low}, {a_high}}, {a}",
                "mov.b128 {{b_low}, {b_high}}, {b}",
                "setp.eq.b64 {low}, {a_low}, {b_low}",
                "setp.eq.and.b64 {dst}, {a_high}, {b_high}, {low}",
            )
        ),
    }
)

_WEAK = ORDERINGS[Ordering.WEAK]

_PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        scoped.LoadOp.name: ("addr",),
        scoped.StoreOp.name: ("data", "addr"),
        scoped.AtomicRmwOp.name: ("addr", "data"),
        scoped.CmpxchgOp.name: ("addr", "compare", "data"),
        scoped.FenceOp.name: (),
        scoped.BarrierOp.name: (),
    }
)
"""The rows' names for the operands of each scoped operation."""

_SPECIAL: Mapping[str, str] = MappingProxyType(
    {
        "gpu.thread_id": "tid",
        "gpu.block_id": "ctaid",
        "gpu.block_dim": "ntid",
        "gpu.grid_dim": "nctaid",
    }
)

_Conversion.HANDLERS = MappingProxyType(
    {
        **shared_handlers(_Conversion),
        **dict.fromkeys(_PLACES, _Conversion.scoped_operation),
        **dict.fromkeys(_SPECIAL, _Conversion.special),
        **dict.fromkeys(VECTORS, _Conversion.vector),
        scoped.CmpxchgOp.name: _Conversion.cmpxchg,
        "llvm.call_intrinsic": _Conversion.intrinsic,
        "llvm.ptrtoint": _Conversion.pointer_cast,
        "llvm.inttoptr": _Conversion.pointer_cast,
        "llvm.mlir.addressof": _Conversion.addressof,
        "llvm.alloca": _Conversion.alloca,
    }
)
