"""``cdna.kernel`` as its lanes run it.

Registers have to be allocated. A value keeps the shape that ``cdna_arithmetic`` describes: lane
masks are a predicate of each lane, other scalar registers the same in every lane. Private memory is
each lane's own, from 0, so that the resource through which older chips find it has no value.
Generic addresses are of global memory. A wave branches as a whole, where any lane's condition holds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import NoReturn, cast

from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.caches import Caches, Effect, Visibility, maintenance_effect
from fencewright.lowering.cdna.chips import CHIPS, Counter
from fencewright.lowering.cdna.instructions import MEMORY_ROWS, PACKED_ROWS, Kind, operand_places
from fencewright.lowering.cdna.kernel import ArgumentKind, argument_offsets, entry_registers
from fencewright.lowering.cdna.performance.accesses import LANES
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.mlir_dialects.cdna import (
    AluOp,
    AtomicOp,
    BarrierOp,
    BranchOp,
    CacheOp,
    CondBranchOp,
    ConstOp,
    EndOp,
    ExtractOp,
    KernelOp,
    LoadOp,
    MemoryOp,
    MovOp,
    PackOp,
    SGPRType,
    StoreOp,
    SynchronisingOp,
    VGPRType,
    WaitOp,
    register_of,
)
from fencewright.passes.analysis.control_flow import reachable_blocks, top_level
from fencewright.passes.print.cdna import instruction_lines
from fencewright.simulator.execution.cdna_arithmetic import (
    ARITHMETIC,
    ATOMICS,
    WITHOUT_VALUE,
    any_lane,
    join,
    shifted,
    words,
)
from fencewright.simulator.execution.program import (
    CacheLevel,
    Compute,
    CountedInstruction,
    CrossLane,
    EndLane,
    FenceInstruction,
    FenceStep,
    Jump,
    KernelParameter,
    KernelResources,
    LaneBlock,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Register,
    Special,
    Step,
    Values,
)
from fencewright.simulator.execution.values import constant
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.policies import cdna_policy


def programs_of(
    module: ModuleOp, l2_per_agent: L2PerAgent | None = None
) -> tuple[LaneProgram, ...]:
    """Every ``cdna.kernel`` of a module. Raises ``DiagnosticException`` at what is not executed.

    ``l2_per_agent``: what caches do with an access depends on it; where it is None, the chip's.
    """
    kernels = (op for op in top_level(module) if isinstance(op, KernelOp))
    return tuple(_Reader(op, l2_per_agent).read() for op in kernels)


_GROUPS = (LaneValue.GROUP_X, LaneValue.GROUP_Y, LaneValue.GROUP_Z)
_THREADS = (LaneValue.THREAD_X, LaneValue.THREAD_Y, LaneValue.THREAD_Z)
_ID_BITS = 10
"""Bits of each work-item id where they are packed. Source: LLVM AMDGPUUsage, VGPR initial state."""

_KINDS: Mapping[Kind, MemoryAccessKind] = MappingProxyType(
    {
        Kind.LOAD: MemoryAccessKind.LOAD,
        Kind.SCALAR_LOAD: MemoryAccessKind.LOAD,
        Kind.STORE: MemoryAccessKind.STORE,
        Kind.ATOMIC: MemoryAccessKind.REDUCTION,
        Kind.ATOMIC_RETURN: MemoryAccessKind.ATOMIC,
    }
)
_SPACES: Mapping[AddressSpace | None, MemorySpace] = MappingProxyType(
    {
        AddressSpace.GLOBAL: MemorySpace.GLOBAL,
        AddressSpace.GENERIC: MemorySpace.GLOBAL,
        AddressSpace.CONSTANT: MemorySpace.SCALAR,
        AddressSpace.LOCAL: MemorySpace.SHARED,
        AddressSpace.PRIVATE: MemorySpace.PRIVATE,
    }
)
COUNTED: Mapping[Counter, frozenset[MemorySpace]] = MappingProxyType(
    {
        Counter.VMCNT: frozenset({MemorySpace.GLOBAL, MemorySpace.PRIVATE}),
        Counter.LGKMCNT: frozenset({MemorySpace.SHARED, MemorySpace.SCALAR}),
    }
)
"""The memory whose accesses each counter counts. Source: MI300 ISA 4.4, wait counters."""

_ACCESSES = frozenset(MemoryAccessKind)
_INVALIDATED = ((CacheLevel.L1, Caches.L1), (CacheLevel.L2, Caches.AGENT | Caches.SYSTEM))
_WITH_MODEL = frozenset({MemorySpace.GLOBAL, MemorySpace.SHARED})
_HELD = ("compare", "data")
_REGISTER = 4
"""Bytes of a register."""

_WIDTHS: Mapping[str, int] = MappingProxyType(
    {row.mnemonic: width // 8 for (_, _, width, _, _), row in MEMORY_ROWS}
    | {row.mnemonic: type.bits // 8 for (_, _, type, _), row in PACKED_ROWS}
)
"""Bytes that a lane accesses by each instruction of vector memory and LDS."""


def _place(op: Operation) -> SourceLocation | None:
    at = op.location
    if not isinstance(at, FileLineColLoc):
        return None
    return SourceLocation(at.filename.data, at.line.data, at.column.data)


def _refuse(op: Operation, reason: str) -> NoReturn:
    op.emit_error(reason, DiagnosticException(reason))


class _Reader:
    """Reads one kernel; ``steps`` are those of the block that is read."""

    def __init__(self, kernel: KernelOp, l2_per_agent: L2PerAgent | None):
        self.kernel = kernel
        self.l2_per_agent = l2_per_agent
        self.chip = CHIPS[kernel.chip.data]
        self.blocks = {block: n for n, block in enumerate(reachable_blocks(kernel.body))}
        self.registers: dict[SSAValue, Register] = {}
        self.masks: set[SSAValue] = set()
        self.count = 0
        self.steps: list[Step] = []
        self.instructions: list[CountedInstruction] = []

    def read(self) -> LaneProgram:
        kernel = self.kernel
        resources = self._resources()
        for block, number in self.blocks.items():
            for argument in block.args:
                self._define(argument)
                if number and _is_pair(argument):
                    self.masks.add(argument)
        blocks = tuple([self._block(block) for block in self.blocks])
        lanes = kernel.max_workgroup_size.value.data
        return LaneProgram(
            name=kernel.sym_name.data,
            target=kernel.chip.data,
            lanes=LANES,
            registers=self.count,
            parameters=tuple(self._parameters()),
            resources=resources,
            block_size=(1, 1, 1) if lanes == 1 else None,
            instructions=tuple(self.instructions),
            blocks=blocks,
            most_threads=lanes,
        )

    def _resources(self) -> KernelResources:
        kernel = self.kernel
        counts = [kernel.attributes.get(name) for name in ("vgprs", "sgprs")]
        if not all(isinstance(count, IntegerAttr) for count in counts):
            _refuse(kernel, "registers are not allocated; run allocate-registers first")
        vector, scalar = [cast(IntegerAttr, count).value.data for count in counts]
        return KernelResources(
            vector_registers=vector,
            accumulation_registers=0,
            scalar_registers=scalar,
            shared_bytes=kernel.group_segment_size.value.data,
            private_bytes=kernel.private_segment_size.value.data,
        )

    def _parameters(self) -> Iterable[KernelParameter]:
        arguments = self.kernel.arguments.data
        offsets, _ = argument_offsets(each.size.data for each in arguments)
        for each, offset in zip(arguments, offsets, strict=True):
            is_buffer = each.kind.data == ArgumentKind.GLOBAL
            yield KernelParameter(each.argument.data, 8 * each.size.data, is_buffer, offset)

    # Registers

    def _new(self) -> Register:
        self.count += 1
        return self.count - 1

    def _define(self, value: SSAValue) -> Register:
        found = self.registers[value] = self._new()
        return found

    def _read(self, values: Iterable[SSAValue]) -> tuple[Register, ...]:
        return tuple([self.registers[value] for value in values])

    def _check_masks(self, op: Operation, values: Iterable[SSAValue]) -> None:
        for value in values:
            if _is_pair(value) and value not in self.masks:
                _refuse(
                    op, "an address in scalar registers cannot be computed with, only loaded from"
                )

    def _compute(
        self,
        result: Register,
        operands: tuple[Register, ...],
        compute: Callable[..., Values],
        text: str,
    ) -> None:
        self.steps.append(Compute(result, operands, compute, text))

    # Blocks

    def _block(self, block: Block) -> LaneBlock:
        self.steps = []
        if self.blocks[block] == 0:
            self._entry(block)
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                _STEPS[type(op)](self, op)
        end = self._end(last)
        return LaneBlock(tuple(self.steps), end)

    def _end(self, last: Operation) -> Jump | LaneBranch | EndLane:
        if isinstance(last, EndOp):
            return EndLane()
        if isinstance(last, BranchOp):
            self._check_masks(last, last.arguments)
            return self._jump(last.target, last.arguments)
        assert isinstance(last, CondBranchOp)
        self._check_masks(last, last.operands)
        taken = self._new()
        self.steps.append(CrossLane(taken, (self.registers[last.mask],), any_lane, "s_cbranch"))
        return LaneBranch(
            taken,
            self._jump(last.true_target, last.true_arguments),
            self._jump(last.false_target, last.false_arguments),
        )

    def _jump(self, target: Block, values: Sequence[SSAValue]) -> Jump:
        moves = zip(self._read(target.args), self._read(values), strict=True)
        return Jump(self.blocks[target], tuple(moves))

    def _entry(self, block: Block) -> None:
        """What the hardware puts in registers before a kernel begins."""
        entry = entry_registers(
            self.chip.name,
            self.kernel.workgroup_ids.value.data,
            self.kernel.uses_scratch is not None,
        )
        scalar = {entry.kernarg: LaneValue.ARGUMENTS}
        scalar |= dict(zip(entry.workgroup_ids, _GROUPS, strict=False))
        for argument in block.args:
            type, register = register_of(argument), self.registers[argument]
            first = type.first
            if isinstance(type, SGPRType) and first in scalar:
                self.steps.append(Special(register, scalar[first]))
            elif isinstance(type, VGPRType) and entry.packed_workitem_ids:
                self._packed_ids(register)
            elif isinstance(type, VGPRType) and first is not None:
                self.steps.append(Special(register, _THREADS[first]))

    def _packed_ids(self, register: Register) -> None:
        parts = [self._new() for _ in _THREADS]
        self.steps += [Special(part, id) for part, id in zip(parts, _THREADS, strict=True)]
        self._compute(register, tuple(parts), _packed, "work-item ids")

    # Arithmetic

    def alu(self, op: Operation) -> None:
        alu = cast(AluOp, op)
        mnemonic = alu.opcode.data
        if mnemonic in WITHOUT_VALUE:
            return
        compute = ARITHMETIC[mnemonic]
        if alu.immediates is not None:
            compute = _with_immediates(compute, [n.value.data for n in alu.immediates.data])
        self._check_masks(alu, alu.arguments)
        if _is_pair(alu.dst):
            self.masks.add(alu.dst)
        operands = self._read(alu.arguments)
        self._compute(self._define(alu.dst), operands, compute, mnemonic)

    def const(self, op: Operation) -> None:
        const = cast(ConstOp, op)
        value, size = const.value.value.data, register_of(const.dst).size.data
        if size > 2:
            _refuse(op, f"a constant of {const.dst.type} cannot be executed; at most two registers")
        if _is_pair(const.dst):
            if value not in (0, -1):
                _refuse(op, f"a lane mask of {value:#x} cannot be executed; only of 0 and -1")
            self.masks.add(const.dst)
            value = abs(value)
        self._compute(self._define(const.dst), (), constant(value, 32 * size), f"{value:#x}")

    def move(self, op: Operation) -> None:
        mov = cast(MovOp, op)
        if mov.src in self.masks:
            if isinstance(mov.dst.type, VGPRType):
                _refuse(op, "a lane mask in vector registers cannot be executed")
            self.masks.add(mov.dst)
        self.registers[mov.dst] = self.registers[mov.src]

    def pack(self, op: Operation) -> None:
        pack = cast(PackOp, op)
        sizes = [register_of(part).size.data for part in pack.parts]
        operands = self._read(pack.parts)
        self._compute(self._define(pack.dst), operands, partial(_pack, sizes), "pack")

    def extract(self, op: Operation) -> None:
        extract = cast(ExtractOp, op)
        size, first = register_of(extract.src).size.data, extract.offset.value.data
        chosen = slice(first, first + register_of(extract.dst).size.data)
        operands = self._read((extract.src,))
        compute = partial(_extract, size, chosen)
        self._compute(self._define(extract.dst), operands, compute, "extract")

    # Memory

    def memory(self, op: Operation) -> None:
        access = cast(MemoryOp, op)
        row = access.row
        places = dict(zip(operand_places(row), access.operands, strict=True))
        address = self.registers[places["addr"]]
        held = self._read([places[name] for name in _HELD if name in places])
        result = self._define(access.results[0]) if access.results else None
        offset = 0 if access.offset is None else access.offset.value.data
        lines = instruction_lines(access)
        if row.expansion:
            self._in_parts(access, lines, MemoryStep(0, address, offset, held, result))
            return
        mnemonic = access.opcode.data
        width = _WIDTHS.get(mnemonic) or 4 * register_of(access.results[0]).size.data
        number = self._counted(access, lines[0], width)
        update = ATOMICS.get(mnemonic)
        self.steps.append(MemoryStep(number, address, offset, held, result, update))

    def _in_parts(self, access: MemoryOp, lines: Sequence[str], whole: MemoryStep) -> None:
        """An access of several registers as the accesses of one register that it is printed as."""
        parts: list[Register] = []
        for n, line in enumerate(lines):
            number, offset = self._counted(access, line, _REGISTER), whole.offset + _REGISTER * n
            part = self._new()
            parts.append(part)
            if whole.result is not None:
                self.steps.append(MemoryStep(number, whole.address, offset, (), part))
                continue
            taken = partial(_extract, len(lines), slice(n, n + 1))
            self._compute(part, whole.data, taken, "extract")
            self.steps.append(MemoryStep(number, whole.address, offset, (part,), None))
        if whole.result is not None:
            together = partial(_pack, [1] * len(parts))
            self._compute(whole.result, tuple(parts), together, "pack")

    def _counted(self, access: MemoryOp, line: str, width: int) -> int:
        """The number of a new memory instruction."""
        row = access.row
        kind, space = _KINDS[row.kind], _SPACES[row.space]
        policy = None
        if space is not MemorySpace.SHARED:
            bits = () if access.modifiers is None else [bit.data for bit in access.modifiers]
            try:
                policy = cdna_policy(
                    self.chip.name, kind, bits, self.l2_per_agent,
                    tgsplit=self.kernel.tgsplit is not None,
                )  # fmt: skip
            except UnsupportedError as problem:
                _refuse(access, str(problem))
        model = line.partition(" ")[0] if space in _WITH_MODEL else None
        if model is not None and not _is_modelled(model, self.chip.name):
            model = None
        return self._number(
            MemoryInstruction(line, model, kind, space, width, policy, _place(access))
        )

    def _number(self, instruction: CountedInstruction) -> int:
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    # What orders

    def _fence(self, fence: FenceInstruction) -> None:
        self.steps.append(FenceStep(self._number(fence)))

    def wait(self, op: Operation) -> None:
        wait = cast(WaitOp, op)
        counts = {Counter.VMCNT: wait.counts.vmcnt, Counter.LGKMCNT: wait.counts.lgkmcnt}
        in_flight = {
            space: n for counter, n in counts.items() if n is not None for space in COUNTED[counter]
        }
        self._fence(
            FenceInstruction(
                text=wait.line.text,
                scope="",
                waits=_ACCESSES,
                spaces=frozenset(in_flight),
                writes_back=frozenset(),
                invalidates=frozenset(),
                joins=False,
                place=_place(op),
                in_flight=tuple(sorted(item for item in in_flight.items() if item[1])),
            )
        )

    def synchronise(self, op: Operation) -> None:
        """Cache maintenance, or a barrier."""
        found = cast(SynchronisingOp, op)
        effect = Effect()
        if isinstance(op, CacheOp):
            line = found.line
            effect = maintenance_effect(self.chip.name, line.mnemonic, line.modifiers)
        self._fence(
            FenceInstruction(
                text=found.line.text,
                scope=_scope(effect),
                waits=frozenset(),
                spaces=frozenset(),
                writes_back=frozenset({CacheLevel.L2} if effect.writes_back else ()),
                invalidates=frozenset(
                    level for level, caches in _INVALIDATED if caches & effect.invalidates
                ),
                joins=isinstance(op, BarrierOp),
                place=_place(op),
            )
        )


def _is_pair(value: SSAValue) -> bool:
    """Whether it is in two scalar registers: a lane mask or an address."""
    type = register_of(value)
    return isinstance(type, SGPRType) and type.size.data == 2


def _scope(effect: Effect) -> str:
    """How far a write-back gets, or whose stores are seen after an invalidate of L2."""
    if effect.writes_back is not None:
        return effect.writes_back.name.lower()
    named = ((Caches.SYSTEM, Visibility.SYSTEM), (Caches.AGENT, Visibility.AGENT))
    return next((reach.name.lower() for each, reach in named if each in effect.invalidates), "")


@cache
def _is_modelled(mnemonic: str, chip: str) -> bool:
    try:
        model_of(mnemonic, chip)
    except UnsupportedError:
        return False
    return True


def _with_immediates(
    compute: Callable[..., Values], numbers: Sequence[int]
) -> Callable[..., Values]:
    return lambda *operands: compute(*operands, *numbers)


def _packed(x: Values, y: Values, z: Values) -> Values:
    return x | shifted(y, _ID_BITS) | shifted(z, 2 * _ID_BITS)


def _pack(sizes: Sequence[int], *parts: Values) -> Values:
    return join(
        [each for part, size in zip(parts, sizes, strict=True) for each in words(part, size)]
    )


def _extract(size: int, chosen: slice, value: Values) -> Values:
    return join(words(value, size)[chosen])


_STEPS: Mapping[type[Operation], Callable[[_Reader, Operation], None]] = MappingProxyType(
    {
        AluOp: _Reader.alu,
        ConstOp: _Reader.const,
        MovOp: _Reader.move,
        PackOp: _Reader.pack,
        ExtractOp: _Reader.extract,
        LoadOp: _Reader.memory,
        StoreOp: _Reader.memory,
        AtomicOp: _Reader.memory,
        WaitOp: _Reader.wait,
        CacheOp: _Reader.synchronise,
        BarrierOp: _Reader.synchronise,
    }
)
