"""The pass ``convert-scoped-to-cdna``: functions on ``scoped`` to kernels of CDNA instructions."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.chips import CHIPS, ChipRow
from fencewright.lowering.cdna.instructions import (
    instruction,
    memory_instruction,
    operand_places,
    spelled,
)
from fencewright.lowering.cdna.kernel import (
    ArgumentKind,
    EntryRegisters,
    argument_offsets,
    entry_registers,
)
from fencewright.lowering.cdna.target_id import parse_target_id
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import (
    Instruction,
    Placeholder,
    Request,
    Target,
    UnsupportedError,
)
from fencewright.lowering.targets import target_of, unknown_target
from fencewright.lowering.vocabulary import MOST_THREADS, AddressSpace, Ordering, Phase, ValueType
from fencewright.lowering.vocabulary import Operation as ScopedOperation
from fencewright.mlir_dialects import cdna, scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, count_attr, opcode_attr
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.control_flow import (
    reachable_blocks,
    top_level,
)
from fencewright.passes.analysis.election import WAVE, Election
from fencewright.passes.analysis.uniformity import divergent_values
from fencewright.passes.kernels import accept
from fencewright.passes.kernels.conversion import (
    ConversionStep,
    Handler,
    KernelConversion,
    Plans,
    replace,
    shared_handlers,
)
from fencewright.passes.to_cdna.arithmetic import ARITHMETIC, combine
from fencewright.passes.to_cdna.builder import (
    CdnaBuilder,
    bits_of,
    pointer_width,
    register_type,
)
from fencewright.passes.to_cdna.named_barriers import WaveCounts, named_barriers_of

if TYPE_CHECKING:
    from xdsl.dialects import cf

_PATH = "CDNA"
_UNIT = UnitAttr()


@dataclass(frozen=True)
class ConvertScopedToCDNAPass(ModulePass):
    """Convert every kernel of a module to ``cdna.kernel``.

    ``mcpu``: a chip, as gfx942. ``target_id``: the same with settings, as
    ``gfx942:xnack-``, for whoever loads the code. ``tgsplit``: threadgroup split mode.
    ``l2_per_agent`` and ``compat`` as in ``fencewright.lowering.lower``. A ``func.func`` is a
    kernel if it carries ``gpu.kernel``, or is public and returns nothing; a ``gpu.func`` if
    it is marked ``kernel``. Raises ``DiagnosticException`` at what it cannot convert.
    """

    name = "convert-scoped-to-cdna"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    target_id: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check_target()
        lds = _LDS(self._chip().lds_bytes)
        accept.check_top_level(op, _PATH)
        functions = accept.kernels_of(op)
        variables = [each for each in top_level(op) if isinstance(each, llvm.GlobalOp)]
        for each in sorted(variables, key=_is_dynamic):
            lds.allocate(each)
        target = target_of(self)
        plans = Plans[_SequencePlan]()
        named = named_barriers_of(op, functions, self._chip())
        for function in functions:
            barriers = named[function.sym_name.data]
            conversion = _Conversion(target, self.target_id, lds, function, plans, barriers)
            replace(function, conversion.run())
        for variable in lds.variables.variables.values():
            variable.op.detach()

    def _chip(self) -> ChipRow:
        if self.mcpu not in CHIPS:
            raise unknown_target(self.mcpu, "not a CDNA chip", tuple(sorted(CHIPS)))
        return CHIPS[self.mcpu]

    def _check_target(self) -> None:
        if self.tgsplit and self._chip().split_mode is None:
            raise UnsupportedError(
                f"target {self.mcpu}",
                "it has no threadgroup split mode",
                tuple(sorted(name for name, chip in CHIPS.items() if chip.split_mode)),
            )


@dataclass(slots=True)
class _LDS:
    """The module's variables in LDS, each at a fixed offset from the start of the group segment."""

    limit: int
    variables: accept.SharedVariables = field(
        default_factory=lambda: accept.SharedVariables(bits_of, _PATH)
    )
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    size: int = 0

    def allocate(self, op: llvm.GlobalOp) -> None:
        self.variables.add(op)
        name = op.sym_name.data
        variable = self.variables.variables[name]
        offset = -(-self.size // variable.alignment) * variable.alignment
        self.offsets[name] = offset
        self.size = offset + variable.size
        if self.size > self.limit:
            message = f"{self.size} bytes in LDS; the chip has {self.limit}"
            op.emit_error(message, DiagnosticException(message))


def _is_dynamic(op: llvm.GlobalOp) -> bool:
    """True if the launch sets its size: such a variable lies after all others.

    Source: LLVM AMDGPULowerModuleLDSPass, dynamic LDS.
    """
    return isinstance(op.global_type, llvm.LLVMArrayType) and op.global_type.size.data == 0


_POINTER_OPERAND: Mapping[str, int] = MappingProxyType(
    {
        scoped.LoadOp.name: 0,
        scoped.StoreOp.name: 1,
        scoped.AtomicRmwOp.name: 0,
        scoped.CmpxchgOp.name: 0,
    }
)
"""The number of the operand that is the pointer of an access."""


class _Needs(NamedTuple):
    """A kernel's needs of the hardware: so many dimensions of ids, and private memory."""

    workgroup_ids: int
    workitem_ids: int
    uses_scratch: bool


class _Conversion(KernelConversion[CdnaBuilder, cdna.RegisterType]):
    """One function that becomes a kernel."""

    PATH = _PATH
    ARITHMETIC = ARITHMETIC
    BRANCH = cdna.BranchOp
    COND_BRANCH = cdna.CondBranchOp

    def __init__(
        self,
        target: Target,
        target_id: str | None,
        lds: _LDS,
        function: accept.Function,
        plans: "Plans[_SequencePlan]",
        named_barriers: WaveCounts,
    ):
        entry = Block()
        super().__init__(function, entry, CdnaBuilder(target.chip, entry))
        self.target = target
        self.chip = CHIPS[target.chip]
        self.target_id = target_id
        self.lds = lds
        self.plans = plans
        self.named_barriers = named_barriers
        self.private_size = 0
        self.resource: SSAValue | None = None
        self.workgroup_ids: list[SSAValue] = []
        self.workitem_ids: list[SSAValue] = []
        self.cluster = self._cluster_size()
        self.divergent: dict[SSAValue, Operation] | None = None
        self.election: Election | None = None

    def register_type(self, type: Attribute) -> cdna.RegisterType | None:
        return register_type(self.target.chip, type)

    def bits_of(self, type: Attribute) -> int | None:
        return bits_of(type)

    def _cluster_size(self) -> tuple[int, ...] | None:
        """The number of work-groups in a cluster, if the kernel gives it."""
        size = accept.known_cluster_size(self.function)
        if size is not None and not self.chip.clusters:
            accept.unsupported(self.function, f"{self.chip.name} launches no clusters")
        return size

    def end_op(self) -> Operation:
        return cdna.EndOp.create(properties={"opcode": opcode_attr("s_endpgm")})

    # The kernel

    def run(self) -> cdna.KernelOp:
        """The kernel that replaces the function."""
        arguments = self._kernel_arguments()
        source_blocks = reachable_blocks(self.function.body)
        needs = _needs_of(source_blocks)
        self.map_blocks(source_blocks)
        self._prologue(needs, arguments)
        return self._kernel(needs, arguments, self.convert_blocks(source_blocks))

    def _kernel(
        self, needs: _Needs, arguments: tuple[cdna.KernelArgumentAttr, ...], body: Region
    ) -> cdna.KernelOp:
        size = accept.known_block_size(self.function)
        lanes = MOST_THREADS if size is None else size[0] * size[1] * size[2]
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(self.function.sym_name.data),
            "chip": StringAttr(self.target.chip),
            "arguments": ArrayAttr(arguments),
            "group_segment_size": count_attr(self.lds.size),
            "private_segment_size": count_attr(self.private_size),
            "workgroup_ids": count_attr(needs.workgroup_ids),
            "workitem_ids": count_attr(needs.workitem_ids),
            "max_workgroup_size": count_attr(lanes),
        }
        if self.target_id is not None:
            properties["target_id"] = StringAttr(str(parse_target_id(self.target_id)))
        if self.target.tgsplit:
            properties["tgsplit"] = _UNIT
        if needs.uses_scratch:
            properties["uses_scratch"] = _UNIT
        if self.cluster is not None:
            properties["cluster_size"] = ArrayAttr(map(count_attr, self.cluster))
        if self.named_barriers:
            properties["named_barriers"] = count_attr(max(self.named_barriers))
        return cdna.KernelOp.create(properties=properties, regions=[body])

    def _kernel_arguments(self) -> tuple[cdna.KernelArgumentAttr, ...]:
        function = self.function
        accept.check_kernel(function, _PATH)
        return tuple(
            self._kernel_argument(f"arg{n}" if arg.name_hint is None else arg.name_hint, arg.type)
            for n, arg in enumerate(function.body.blocks[0].args)
        )

    def _kernel_argument(self, name: str, type: Attribute) -> cdna.KernelArgumentAttr:
        registers = self.registers_for(self.function, type)
        if registers.size.data == 3:
            accept.unsupported(self.function, f"a kernel argument of {type} is not supported")
        kind = ArgumentKind.VALUE
        if isinstance(type, llvm.LLVMPointerType):
            kind = _ARGUMENT_KIND.get(scoped.address_space_of(type), ArgumentKind.VALUE)
        size = max(-(-self.width(type) // 8), 1)
        return _argument_attr(name, size, kind.value)

    # The state at a kernel's start

    def _prologue(self, needs: _Needs, arguments: tuple[cdna.KernelArgumentAttr, ...]) -> None:
        entry = entry_registers(self.target.chip, needs.workgroup_ids, needs.uses_scratch)
        if entry.resource is not None:
            self._scratch_resource(entry)
        kernarg = self._live_in(cdna.SGPRType.of(2, entry.kernarg))
        self.workgroup_ids = [
            self._live_in(cdna.SGPRType.of(1, index)) for index in entry.workgroup_ids
        ]
        count = 1 if entry.packed_workitem_ids else needs.workitem_ids
        if needs.workitem_ids:
            self.workitem_ids = [
                self._live_in(cdna.VGPRType.of(1, index)) for index in range(count)
            ]
        self._load_arguments(kernarg, arguments)
        if self.named_barriers:
            from fencewright.passes.to_cdna import convert_scoped_async_to_cdna as asynchronous

            asynchronous.set_up_named_barriers(self)

    def rare_handler(self, name: str) -> Handler | None:
        if not name.startswith("scoped."):
            return None
        from fencewright.passes.to_cdna.convert_scoped_async_to_cdna import ASYNC_HANDLERS

        return ASYNC_HANDLERS.get(name)

    def _live_in(self, type: cdna.RegisterType) -> SSAValue:
        return self.entry.insert_arg(type, len(self.entry.args))

    def _scratch_resource(self, entry: EntryRegisters) -> None:
        assert entry.resource is not None
        assert entry.scratch_offset is not None
        type = cdna.SGPRType.of(self.chip.scratch.resource_registers, entry.resource)
        resource = self._live_in(type)
        offset = self._live_in(cdna.SGPRType.of(1, entry.scratch_offset))
        self.resource = self.build.alu("s_add_scratch_offset", resource, offset, type=type)

    def _load_arguments(
        self, kernarg: SSAValue, arguments: tuple[cdna.KernelArgumentAttr, ...]
    ) -> None:
        """All loads first, then the copies, so that one wait covers them."""
        offsets, _ = argument_offsets(each.size.data for each in arguments)
        loaded: list[tuple[SSAValue, SSAValue, int]] = []
        for arg, offset in zip(self.function.body.blocks[0].args, offsets, strict=True):
            if arg.first_use is not None:
                loaded.append((arg, self._load_argument(kernarg, arg.type, offset), offset % 4))
        for arg, registers, byte in loaded:
            self.values[arg] = self._argument_value(arg.type, registers, byte)

    def _load_argument(self, kernarg: SSAValue, type: Attribute, offset: int) -> SSAValue:
        size = -(-self.width(type) // 32)
        op = cdna.LoadOp.create(
            operands=(kernarg,),
            result_types=(cdna.SGPRType.of(size),),
            properties={
                "opcode": opcode_attr(spelled(self.target.chip, _SCALAR_LOAD[size])),
                "offset": count_attr(offset - offset % 4),
            },
        )
        self.build.block.add_op(op)
        return op.results[0]

    def _argument_value(self, type: Attribute, registers: SSAValue, byte: int) -> SSAValue:
        value, bits = self.build.move(registers), self.width(type)
        if byte:
            value = self.build.alu("v_lshrrev_b32_e32", value, self.build.const(8 * byte))
        return self.build.truncate(value, bits) if bits == 1 else value

    # Ids

    def thread_id(self, op: Operation) -> None:
        dimension = accept.dimension_of(op)
        entry = self.workitem_ids
        if len(entry) == 1:
            lane = self.build.alu("v_bfe_u32", entry[0], immediates=(10 * dimension, 10))
        else:
            lane = entry[dimension]
        self._set_index(op, lane)

    def block_id(self, op: Operation) -> None:
        self._set_index(op, self.build.move(self._workgroup_id(accept.dimension_of(op))))

    def _workgroup_id(self, dimension: int) -> SSAValue:
        """The id, which the hardware puts in a register that it is asked for, or has ready."""
        if self.workgroup_ids:
            return self.workgroup_ids[dimension]
        mnemonic = f"s_workgroup_id_{'xyz'[dimension]}"
        if self.cluster is None:
            return self.build.alu(mnemonic, type=cdna.SGPR)
        size = (self.cluster[dimension],)
        return self.build.alu(f"{mnemonic}_of_clusters", type=cdna.SGPR, immediates=size)

    def block_dim(self, op: Operation) -> None:
        size = accept.known_block_size(self.function)
        if size is None:
            accept.unsupported(
                op, "the work-group size is not known; give the kernel gpu.known_block_size"
            )
        self.values[op.results[0]] = self.build.const(size[accept.dimension_of(op)], cdna.VGPR_PAIR)

    def _set_index(self, op: Operation, value: SSAValue) -> None:
        self.values[op.results[0]] = self.build.zero_extend(value, 32, 64)

    # Pointers

    def element(self, gep: llvm.GEPOp, index: SSAValue | int, size: int) -> SSAValue:
        width = pointer_width(cast(llvm.LLVMPointerType, gep.ptr.type))
        type = cdna.VGPR if width == 32 else cdna.VGPR_PAIR
        if isinstance(index, int):
            offset = self.build.const(index * size, type)
        else:
            offset = self._scale(self._resize_signed(index, width), size, type, width)
        return self.build.add(self.values[gep.ptr], offset)

    def _resize_signed(self, value: SSAValue, width: int) -> SSAValue:
        bits, registers = self.width(value.type), self.values[value]
        if bits >= width:
            return self.build.truncate(registers, width)
        return self.build.sign_extend(registers, bits, width)

    def _scale(self, index: SSAValue, size: int, type: cdna.RegisterType, width: int) -> SSAValue:
        if size == 1:
            return index
        if size & (size - 1) == 0:
            shift = self.build.const(size.bit_length() - 1)
            mnemonic = "v_lshlrev_b32_e32" if width == 32 else "v_lshlrev_b64"
            return self.build.alu(mnemonic, index, shift, type=type)
        factor = self.build.const(size, type)
        mnemonic = "v_mul_lo_u32" if width == 32 else "v_mul_u64"
        return self.build.alu(mnemonic, index, factor, type=type)

    def pointer_cast(self, op: Operation) -> None:
        """ptrtoint and inttoptr: zeros above, or the low part."""
        bits, to = bits_of(op.operands[0].type), bits_of(op.results[0].type)
        if bits is None or to is None or max(bits, to) > 64:
            accept.unsupported(op, f"'{op.name}' of these types is not supported")
        (value,) = self.operands(op)
        build = self.build
        self.values[op.results[0]] = (
            build.truncate(value, to) if to <= bits else build.zero_extend(value, bits, to)
        )

    def addressof(self, op: Operation) -> None:
        name = self.lds.variables.name_at(op)
        self.values[op.results[0]] = self.build.const(self.lds.offsets[name])

    def alloca(self, op: Operation) -> None:
        alloca = cast(llvm.AllocaOp, op)
        size, alignment = self.allocated(alloca, bits_of(alloca.res.type) == 32)
        offset = -(-self.private_size // alignment) * alignment
        self.private_size = offset + size
        self.values[alloca.res] = self.build.const(offset)

    # Control flow

    def cond_branch(self, op: Operation) -> None:
        self._check_uniform(cast("cf.ConditionalBranchOp", op))
        super().cond_branch(op)
        if (index := self._elected(op)) is not None:
            branch = self.build.block.last_op
            assert branch is not None
            branch.attributes[cdna.ELECTS] = count_attr(index)

    def _elected(self, op: Operation) -> int | None:
        """The edge out of a branch that one wave of several takes at most."""
        size = accept.known_block_size(self.function)
        if self.chip.wave_size != WAVE or (size is not None and prod(size) <= WAVE):
            return None
        if self.election is None:
            self.election = Election(self.function.body.blocks, size)
        return self.election.elected(op)

    def _check_uniform(self, op: "cf.ConditionalBranchOp") -> None:
        if accept.known_block_size(self.function) == (1, 1, 1):
            return
        if self.divergent is None:
            size = accept.known_block_size(self.function)
            wave = self.chip.wave_size
            self.divergent = divergent_values(self.function.body.blocks, size, wave)
        source = self.divergent.get(op.cond)
        if source is None:
            return
        accept.unsupported(
            op,
            f"the condition may differ between the lanes of a wave, it depends on '{source.name}'; "
            f"the {_PATH} path branches as a whole wave only: compare the wave's number, the "
            f"thread id shifted right by {self.chip.wave_size.bit_length() - 1}, and select what "
            "lanes do "
            "differently (with one lane in the work-group, say so: gpu.known_block_size = "
            "array<i32: 1, 1, 1>)",
        )

    # Scoped operations

    def plan(self, op: Operation) -> "_SequencePlan":
        """The plan that builds the instructions of ``op``."""

        def make(op: scoped.ScopedOperation, _: object, used: bool) -> _SequencePlan:
            return _make_plan(op, self.target, used)

        return self.plans.find(cast(scoped.ScopedOperation, op), (), make)

    def places(self, **places: SSAValue) -> Mapping[str, SSAValue]:
        if self.resource is not None:
            places["resource"] = self.resource
        return places

    def synchronise(self, op: Operation) -> None:
        """fence and barrier"""
        self.emit(self.plan(op).steps, {})

    def sequence(self, request: Request) -> tuple[Instruction, ...]:
        """The instructions of a request on this target."""
        return lower_request(dataclasses.replace(request, target=self.target)).instructions

    def append_instructions(self, instructions: Iterable[Instruction]) -> None:
        """Append synchronisation, which accesses nothing."""
        self.emit([_step(each, ordered=True, result=None) for each in instructions], {})

    def load(self, op: Operation) -> None:
        (addr,) = self.operands(op)
        loaded = self.emit(self.plan(op).steps, self.places(addr=addr))
        assert loaded is not None
        if "invariant" in op.properties:
            cast(Operation, loaded.owner).attributes[cdna.INVARIANT] = _UNIT
        self.values[op.results[0]] = loaded

    def store(self, op: Operation) -> None:
        data, addr = self.operands(op)
        self.emit(self.plan(op).steps, self.places(addr=addr, data=data))

    def atomic_rmw(self, op: Operation) -> None:
        plan = self.plan(op)
        addr, data = self.operands(op)
        if plan.private_store:
            old = self.emit(plan.steps, self.places(addr=addr))
            assert old is not None
            kind = cast(scoped.AtomicRmwOp, op).kind.data
            new = combine(self.build, kind, old, data, plan.width)
            self.emit(plan.private_store, self.places(addr=addr, new=new))
        else:
            old = self.emit(plan.steps, {"addr": addr, "data": data})
        if old is not None:
            self.values[op.results[0]] = old

    def cmpxchg(self, op: Operation) -> None:
        cmpxchg = cast(scoped.CmpxchgOp, op)
        plan = self.plan(op)
        build = self.build
        addr, compare, new = self.operands(op)
        if plan.private_store:
            old = self.emit(plan.steps, self.places(addr=addr))
            assert old is not None
            success = build.compare("eq", "u", plan.width, old, compare)
            stored = build.select(success, new, old)
            self.emit(plan.private_store, self.places(addr=addr, new=stored))
        else:
            data = new if plan.separate_compare else build.pack(new, compare)
            old = self.emit(plan.steps, {"addr": addr, "data": data, "compare": compare})
            if old is None:
                return
            used = cmpxchg.success.first_use is not None
            success = build.compare("eq", "u", plan.width, old, compare) if used else old
        self.values[cmpxchg.old] = old
        self.values[cmpxchg.success] = success


_ARGUMENT_KIND: Mapping[AddressSpace, ArgumentKind] = MappingProxyType(
    {
        AddressSpace.GENERIC: ArgumentKind.GLOBAL,
        AddressSpace.GLOBAL: ArgumentKind.GLOBAL,
        AddressSpace.CONSTANT: ArgumentKind.GLOBAL,
        AddressSpace.LOCAL: ArgumentKind.LOCAL,
    }
)
_SCALAR_LOAD: Mapping[int, str] = MappingProxyType(
    {1: "s_load_dword", 2: "s_load_dwordx2", 4: "s_load_dwordx4"}
)


@lru_cache(maxsize=1 << 10)
def _argument_attr(name: str, size: int, kind: str) -> cdna.KernelArgumentAttr:
    return cdna.KernelArgumentAttr(StringAttr(name), IntAttr(size), StringAttr(kind))


def _needs_of(blocks: list[Block]) -> _Needs:
    workgroup_ids = workitem_ids = 0
    uses_scratch = False
    # By identity, because to hash a type takes long.
    pointers: dict[int, Attribute] = {}
    for block in blocks:
        for op in operations(block):
            name = op.name
            if name in _POINTER_OPERAND:
                pointer = op.operands[_POINTER_OPERAND[name]].type
                pointers[id(pointer)] = pointer
            elif name == "gpu.thread_id":
                workitem_ids = max(workitem_ids, accept.dimension_of(op) + 1)
            elif name == "gpu.block_id":
                workgroup_ids = max(workgroup_ids, accept.dimension_of(op) + 1)
            elif name == "llvm.alloca":
                uses_scratch = True
    spaces = {scoped.address_space_of(cast(llvm.LLVMPointerType, p)) for p in pointers.values()}
    uses_scratch = uses_scratch or AddressSpace.PRIVATE in spaces
    return _Needs(workgroup_ids, workitem_ids, uses_scratch)


class _SequencePlan(NamedTuple):
    """The instructions of a scoped operation.

    An access to private memory that combines is split: ``steps`` up to the load,
    ``private_store`` what follows once the new value has been computed.
    """

    steps: tuple[ConversionStep, ...]
    width: int
    private_store: tuple[ConversionStep, ...] = ()
    separate_compare: bool = False


_OPERATION_OF_KIND: Mapping[Kind, type[cdna.OpcodeOp]] = MappingProxyType(
    {
        Kind.LOAD: cdna.LoadOp,
        Kind.STORE: cdna.StoreOp,
        Kind.RMW: cdna.AtomicOp,
        Kind.CACHE: cdna.CacheOp,
        Kind.BARRIER: cdna.BarrierOp,
    }
)


_FLOATS = frozenset({ValueType.F32, ValueType.F64})
"""Floats narrower than their register, and several in one, are LLVM's."""


def _make_plan(op: scoped.ScopedOperation, target: Target, returns: bool) -> _SequencePlan:
    sequence = accept.lower_operation(op, bits_of, returns, _PATH, _FLOATS, target=target)
    ordered = op.properties["ordering"] != _WEAK
    is_access = isinstance(op, scoped.AccessOperation)
    result = register_type(target.chip, op.value_type) if is_access else None
    width = (bits_of(op.value_type) or 0) if is_access else 0
    space = op.space if is_access else None
    combines = isinstance(op, scoped.AtomicRmwOp | scoped.CmpxchgOp)
    instructions = tuple(_whole_accesses(target.chip, sequence.instructions, width))
    if combines and space is AddressSpace.PRIVATE:
        return _private_plan(op, instructions, ordered, result, width)
    steps = tuple(_step(each, ordered, result) for each in instructions)
    return _SequencePlan(steps, width, separate_compare=space is AddressSpace.LOCAL)


def _whole_accesses(
    chip: str, instructions: Iterable[Instruction], width: int
) -> Iterator[Instruction]:
    """The instructions, those that access one value in parts as the one that stands for them."""
    for each in instructions:
        part = next((place for place in each.places if place.part), None)
        if part is None:
            yield each
        elif part.part == "[0]":
            operation = ScopedOperation.LOAD if part.name == "dst" else ScopedOperation.STORE
            row = memory_instruction(chip, operation, AddressSpace.PRIVATE, width)
            assert row is not None
            whole = each.with_places({place: Placeholder(place.name) for place in each.places})
            yield dataclasses.replace(whole, mnemonic=row.mnemonic)


def _private_plan(
    op: Operation,
    sequence: Iterable[Instruction],
    ordered: bool,
    result: cdna.RegisterType | None,
    width: int,
) -> _SequencePlan:
    """Without the wait for the loaded value, which is a wait for data like any other."""
    if width not in (32, 64):
        accept.unsupported(
            op, f"'{op.name}' on private memory is supported for 32 and 64 bits only"
        )
    instructions = [
        each for each in sequence if each.wait is None or each.phase is not Phase.ACCESS
    ]
    (store,) = (n for n, each in enumerate(instructions) if "new" in each.names)
    steps = tuple(_step(each, ordered, result) for each in instructions)
    return _SequencePlan(steps[:store], width, steps[store:])


def _step(each: Instruction, ordered: bool, result: cdna.RegisterType | None) -> ConversionStep:
    source = StringAttr(each.source)
    phase = cdna.PHASES[each.phase]
    if each.wait is not None:
        wait = cdna.WaitOp.of(each.wait, phase, source)
        return ConversionStep(cdna.WaitOp.create, wait.properties, (), ())
    has_result = "dst" in each.names
    row = instruction(each.mnemonic, has_result) or instruction(each.mnemonic)
    assert row is not None, each.mnemonic
    properties: dict[str, Attribute] = {"opcode": opcode_attr(each.mnemonic)}
    if each.modifiers:
        properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in each.modifiers])
    if ordered:
        properties["phase"] = phase
        properties["source"] = source
    names = operand_places(row)
    if "new" in each.names:
        names = tuple("new" if name == "data" else name for name in names)
    assert result is not None or not has_result
    results = (result,) if has_result and result is not None else ()
    return ConversionStep(_OPERATION_OF_KIND[row.kind].create, properties, names, results)


_WEAK = ORDERINGS[Ordering.WEAK]

_Conversion.HANDLERS = MappingProxyType(
    {
        **shared_handlers(_Conversion),
        scoped.LoadOp.name: _Conversion.load,
        scoped.StoreOp.name: _Conversion.store,
        scoped.AtomicRmwOp.name: _Conversion.atomic_rmw,
        scoped.CmpxchgOp.name: _Conversion.cmpxchg,
        scoped.FenceOp.name: _Conversion.synchronise,
        scoped.BarrierOp.name: _Conversion.synchronise,
        "gpu.thread_id": _Conversion.thread_id,
        "gpu.block_id": _Conversion.block_id,
        "gpu.block_dim": _Conversion.block_dim,
        "llvm.ptrtoint": _Conversion.pointer_cast,
        "llvm.inttoptr": _Conversion.pointer_cast,
        "llvm.mlir.addressof": _Conversion.addressof,
        "llvm.alloca": _Conversion.alloca,
    }
)
