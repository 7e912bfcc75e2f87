"""Kernels of ``ptx`` as their lanes run them.

Sequences are taken apart: their loops become blocks, their accesses steps of their own. A kernel
runs without clusters, so that a barrier of the cluster is one of the CTA. What cannot be executed
is refused at its operation: tensor cores, tensor maps, copies and stores to other CTAs.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn, cast

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.instructions import RegisterClass
from fencewright.lowering.ptx.performance.accesses import EMPTIES_L1, LANES
from fencewright.lowering.ptx.text import read_line, words_of
from fencewright.lowering.sequence import Line, Operand, Placeholder, UnsupportedError
from fencewright.mlir_dialects.ptx import (
    AddressOfOp,
    AluOp,
    AtomicOp,
    BarrierOp,
    BranchOp,
    CondBranchOp,
    ConstOp,
    FenceOp,
    KernelOp,
    LoadOp,
    LocalOp,
    ParamOp,
    RetOp,
    SequenceOp,
    SpecialOp,
    StoreOp,
    VariableOp,
    register_of,
)
from fencewright.passes.analysis.control_flow import reachable_blocks, top_level
from fencewright.simulator.execution import mbarrier
from fencewright.simulator.execution.program import (
    Argument,
    CacheLevel,
    Compute,
    CopyStep,
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
from fencewright.simulator.execution.ptx_arithmetic import (
    CROSS_LANE,
    cross_lane_function_of,
    function_of,
    joined,
    split,
    update_of,
)
from fencewright.simulator.execution.values import constant
from fencewright.simulator.performance.accesses.ptx import PtxInstruction, parse
from fencewright.simulator.performance.policies import ptx_policy


def programs_of(module: ModuleOp) -> tuple[LaneProgram, ...]:
    """Every ``ptx.kernel`` of a module. Raises ``DiagnosticException`` at what is not executed."""
    variables = [op for op in top_level(module) if isinstance(op, VariableOp)]
    kernels = (op for op in top_level(module) if isinstance(op, KernelOp))
    return tuple(_Kernel(op, variables).program() for op in kernels)


def _refuse(op: Operation, what: str) -> NoReturn:
    op.emit_error(what, DiagnosticException(what))


def _place(op: Operation) -> SourceLocation | None:
    at = op.location
    if not isinstance(at, FileLineColLoc):
        return None
    return SourceLocation(at.filename.data, at.line.data, at.column.data)


@dataclass(slots=True)
class _Open:
    """A block that is being filled."""

    steps: list[Step] = field(default_factory=list[Step])
    end: Jump | LaneBranch | EndLane = field(default_factory=EndLane)


class _Kernel:
    """One kernel: its operations in order append steps to ``block``."""

    def __init__(self, op: KernelOp, variables: Sequence[VariableOp]) -> None:
        self.op = op
        self.registers = 0
        self.values: dict[SSAValue, Register] = {}
        self.instructions: list[CountedInstruction] = []
        self.source = reachable_blocks(op.body)
        self.blocks = [_Open() for _ in self.source]
        self.numbers = {block: n for n, block in enumerate(self.source)}
        self.block = self.blocks[0]
        self.private = 0
        self.parameters = _parameters(op)
        self.variables, self.shared = _layout(op, variables)

    def program(self) -> LaneProgram:
        """The kernel's lanes."""
        for block in self.source:
            self.block = self.blocks[self.numbers[block]]
            for op in block.ops:
                handler = _HANDLERS.get(type(op))
                if handler is None:
                    _refuse(op, f"'{op.name}' is not executed")
                try:
                    handler(self, op)
                except UnsupportedError as error:
                    _refuse(op, str(error))
        size = self.op.block_size
        return LaneProgram(
            name=self.op.sym_name.data,
            target=self.op.target.data,
            lanes=LANES,
            registers=self.registers,
            parameters=self.parameters,
            resources=KernelResources(None, 0, 0, self.shared, self.private),
            block_size=None if size is None else cast("tuple[int, int, int]", size.get_values()),
            instructions=tuple(self.instructions),
            blocks=tuple(LaneBlock(tuple(each.steps), each.end) for each in self.blocks),
        )

    # Registers and steps

    def fresh(self) -> Register:
        """A register that nothing has."""
        self.registers += 1
        return self.registers - 1

    def register(self, value: SSAValue) -> Register:
        """The register of a value."""
        if value not in self.values:
            self.values[value] = self.fresh()
        return self.values[value]

    def compute(
        self,
        compute: Callable[..., Values],
        operands: Iterable[Register],
        text: str,
        result: Register | None = None,
    ) -> Register:
        """A step of each lane by itself."""
        to = self.fresh() if result is None else result
        self.block.steps.append(Compute(to, tuple(operands), compute, text))
        return to

    def constant(self, value: int, bits: int, result: Register | None = None) -> Register:
        """A register with a number."""
        return self.compute(constant(value, bits), (), str(value), result)

    def counted(self, instruction: CountedInstruction) -> int:
        """The number of a new instruction."""
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def fence(self, instruction: FenceInstruction) -> None:
        """A step that orders."""
        self.block.steps.append(FenceStep(self.counted(instruction)))

    # Instructions of every form

    def access(
        self,
        op: Operation,
        mnemonic: str,
        address: Register,
        data: Sequence[Register],
        result: Register | None,
    ) -> None:
        """A load, store or atomic, with the fences that its ordering is made of."""
        words = words_of(mnemonic)
        kind = _KINDS[words[0]]
        found = _instruction(op, mnemonic, kind)
        is_global = found.space is MemorySpace.GLOBAL
        if is_global and _RELEASES & {*words}:
            self.fence(_fence(op, mnemonic, words, releases=True, acquires=False))
        update = None
        if kind in (MemoryAccessKind.ATOMIC, MemoryAccessKind.REDUCTION):
            update = update_of(_operation(words))
        extends = _extends(words) and _elements(words) == 1
        loaded = self.fresh() if result is not None and extends else result
        step = MemoryStep(self.counted(found), address, 0, tuple(data), loaded, update)
        self.block.steps.append(step)
        if loaded != result and loaded is not None:
            self.compute(function_of(f"cvt.{_extended(words)}"), (loaded,), mnemonic, result)
        if is_global and _ACQUIRES & {*words}:
            self.fence(_fence(op, mnemonic, words, releases=False, acquires=True))

    def synchronise(self, op: Operation, text: str) -> None:
        """A fence or barrier."""
        words = words_of(text)
        if words[0] in ("bar", "barrier"):
            self.fence(_barrier(op, text, words))
            return
        if "proxy" in words or "mbarrier_init" in words:
            # Copies are complete when they are executed: what orders them has nothing to do.
            self.fence(_nothing(op, text))
            return
        one_sided = {"release", "acquire"} & {*words}
        self.fence(
            _fence(
                op, text, words,
                releases="acquire" not in one_sided, acquires="release" not in one_sided,
            )
        )  # fmt: skip

    # Operations

    def load(self, op: Operation) -> None:
        load = cast(LoadOp, op)
        _check_one_register(op, load.opcode.data)
        result = self.register(load.dst)
        self.access(op, load.opcode.data, self.register(load.addr), (), result)

    def store(self, op: Operation) -> None:
        store = cast(StoreOp, op)
        _check_one_register(op, store.opcode.data)
        data = (self.register(store.data),)
        self.access(op, store.opcode.data, self.register(store.addr), data, None)

    def atomic(self, op: Operation) -> None:
        atomic = cast(AtomicOp, op)
        data = [self.register(each) for each in atomic.data]
        result = None if atomic.dst is None else self.register(atomic.dst)
        self.access(op, atomic.opcode.data, self.register(atomic.addr), data, result)

    def order(self, op: Operation) -> None:
        self.synchronise(op, cast(FenceOp | BarrierOp, op).opcode.data)

    def alu(self, op: Operation) -> None:
        alu = cast(AluOp, op)
        opcode = alu.opcode.data
        operands = [self.register(each) for each in alu.arguments]
        self.compute(function_of(opcode), operands, opcode, self.register(alu.dst))

    def const(self, op: Operation) -> None:
        const = cast(ConstOp, op)
        bits = register_of(const.dst).bits
        self.constant(const.value.value.data, bits, self.register(const.dst))

    def param(self, op: Operation) -> None:
        param = cast(ParamOp, op)
        result = self.register(param.dst)
        self.block.steps.append(Argument(result, param.index.value.data))

    def special(self, op: Operation) -> None:
        special = cast(SpecialOp, op)
        result = self.register(special.dst)
        self.block.steps.append(Special(result, _SPECIAL[special.register.data]))

    def address_of(self, op: Operation) -> None:
        address = cast(AddressOfOp, op)
        name = address.variable.root_reference.data
        if name not in self.variables:
            _refuse(op, f"there is no variable @{name}")
        self.constant(self.variables[name], 64, self.register(address.dst))

    def local(self, op: Operation) -> None:
        local = cast(LocalOp, op)
        at = _aligned(self.private, local.alignment.value.data)
        self.private = at + local.size.value.data
        self.constant(at, 64, self.register(local.dst))

    def sequence(self, op: Operation) -> None:
        _Sequence(self, cast(SequenceOp, op)).run()

    # Control flow

    def jump(self, target: Block, arguments: Iterable[SSAValue]) -> Jump:
        """To a block of the kernel."""
        pairs = zip(target.args, arguments, strict=True)
        moves = tuple((self.register(to), self.register(value)) for to, value in pairs)
        return Jump(self.numbers[target], moves)

    def branch(self, op: Operation) -> None:
        branch = cast(BranchOp, op)
        self.block.end = self.jump(branch.target, branch.arguments)

    def cond_branch(self, op: Operation) -> None:
        branch = cast(CondBranchOp, op)
        self.block.end = LaneBranch(
            self.register(branch.predicate),
            self.jump(branch.true_target, branch.true_arguments),
            self.jump(branch.false_target, branch.false_arguments),
        )

    def ret(self, op: Operation) -> None:
        self.block.end = EndLane()

    def begin(self) -> int:
        """Another block, of a sequence; its number."""
        self.blocks.append(_Open())
        return len(self.blocks) - 1


class _Sequence:
    """The lines of one sequence, over names that are its own."""

    def __init__(self, kernel: _Kernel, op: SequenceOp) -> None:
        self.kernel, self.op = kernel, op
        self.names: dict[str, Register] = {}
        self.bits: dict[str, int] = {}
        for place, value in zip(op.places, op.arguments, strict=True):
            self.names[place.data] = kernel.register(value)
            self.bits[place.data] = register_of(value).bits
        if op.dst is not None:
            self.names["dst"] = kernel.register(op.dst)
            self.bits["dst"] = register_of(op.dst).bits
        self.labels: dict[str, int] = {}

    def run(self) -> None:
        """Append every line; what comes after a branch or a label is in a block of its own."""
        lines = [read_line(each.data) for each in self.op.lines]
        for line in lines:
            if not line.mnemonic:
                self.labels[_label(line)] = self.kernel.begin()
        for line in lines:
            self.line(line)

    def line(self, line: Line) -> None:
        kernel = self.kernel
        if not line.mnemonic:
            self.go_to(self.labels[_label(line)])
        elif line.mnemonic == ".reg":
            self.declare(line)
        elif line.mnemonic == "bra":
            target = self.labels[line.names[-1]]
            if line.guard:
                self.skip(line, target)
            else:
                kernel.block.end = Jump(target)
                kernel.block = kernel.blocks[kernel.begin()]
        elif line.guard:
            after = kernel.begin()
            self.guarded(line, after)
        else:
            self.instruction(line)

    def go_to(self, block: int) -> None:
        """Fall through to a block."""
        kernel = self.kernel
        kernel.block.end = Jump(block)
        kernel.block = kernel.blocks[block]

    def skip(self, line: Line, target: int) -> None:
        """A branch under a guard; else what comes next."""
        kernel = self.kernel
        following = kernel.begin()
        kernel.block.end = self.branch(line, target, following)
        kernel.block = kernel.blocks[following]

    def guarded(self, line: Line, after: int) -> None:
        """An instruction under a guard: a block that only some lanes pass."""
        kernel = self.kernel
        inside = kernel.begin()
        kernel.block.end = self.branch(line, inside, after)
        kernel.block = kernel.blocks[inside]
        self.instruction(line)
        kernel.block.end = Jump(after)
        kernel.block = kernel.blocks[after]

    def branch(self, line: Line, yes: int, no: int) -> LaneBranch:
        if line.guard[0] == "!":
            yes, no = no, yes
        (place,) = (each for each in line.guard if isinstance(each, Placeholder))
        return LaneBranch(self.names[place.name], Jump(yes), Jump(no))

    def declare(self, line: Line) -> None:
        type_ = line.text.split()[1].removeprefix(".")
        if type_ not in {each.value for each in RegisterClass}:
            _refuse(self.op, f"'{line.text}' is not executed")
        if not line.names:
            _refuse(self.op, f"'{line.text}' is not executed: {_NOT_EXECUTED['wgmma']}")
        for name in line.names:
            self.names[name] = self.kernel.fresh()
            self.bits[name] = RegisterClass(type_).bits

    # Operands

    def register(self, operand: Operand, bits: int = 64) -> Register:
        """The register of an operand, or one with the number that it is."""
        places = [each for each in operand if isinstance(each, Placeholder)]
        if len(places) == 1 and not places[0].part:
            offset = _offset(operand)
            if places[0].name in self.names and offset is not None:
                found = self.names[places[0].name]
                return self.moved(found, offset) if offset else found
        elif len(operand) == 1 and isinstance(operand[0], str):
            try:
                return self.kernel.constant(int(operand[0], 0), bits)
            except ValueError:
                pass
        _refuse(self.op, f"the operand '{''.join(map(str, operand))}' is not executed")

    def moved(self, address: Register, offset: int) -> Register:
        """An address and so many bytes."""
        operands = (address, self.kernel.constant(offset, 64))
        return self.kernel.compute(function_of("add.s64"), operands, f"+{offset}")

    def number(self, operand: Operand) -> int:
        """A number that is written out."""
        (text,) = operand
        return int(str(text), 0)

    def result(self, operand: Operand) -> Register | None:
        """Where a result goes; None for the sink."""
        return None if operand == ("_",) else self.register(operand)

    # Instructions

    def instruction(self, line: Line) -> None:
        words = words_of(line.mnemonic)
        handler = _LINES.get(words[0])
        if words[0] in _NOT_EXECUTED or line.mnemonic.startswith("st.async"):
            reason = _NOT_EXECUTED.get(words[0], _NO_CLUSTERS)
            _refuse(self.op, f"'{line.mnemonic}' is not executed: {reason}")
        if handler is not None:
            handler(self, line)
        elif line.mnemonic.rpartition(".")[0] in CROSS_LANE:
            self.cross_lane(line)
        else:
            self.compute(line)

    def compute(self, line: Line) -> None:
        compute = function_of(line.mnemonic)
        to, *operands = line.operands
        bits = _width(line.mnemonic)
        sources = [self.register(each, bits) for each in operands]
        self.kernel.compute(compute, sources, line.mnemonic, self.register(to))

    def cross_lane(self, line: Line) -> None:
        to, *operands = line.operands
        sources = tuple(self.register(each, 32) for each in operands)
        compute = cross_lane_function_of(line.mnemonic)
        self.kernel.block.steps.append(
            CrossLane(self.register(to), sources, compute, line.mnemonic)
        )

    def move(self, line: Line) -> None:
        """mov: also from several registers to one, and the other way round."""
        names = [name for operand in line.operands for name in _names(operand)]
        if len(line.operands) == 2:
            self.compute(line)
            return
        kernel, text = self.kernel, line.mnemonic
        if "{" in line.operands[0]:
            *parts, whole = names
            sizes = [self.bits[each] for each in parts]
            for n, each in enumerate(parts):
                at, bits = sum(sizes[:n]), sizes[n]
                source = (self.names[whole],)
                kernel.compute(split(at, bits), source, text, self.names[each])
            return
        whole, *parts = names
        sizes = [self.bits[each] for each in parts]
        sources = [self.names[each] for each in parts]
        kernel.compute(joined(sizes), sources, text, self.names[whole])

    def load(self, line: Line) -> None:
        to, (address,) = _grouped(line.operands)
        if len(to) == 1:
            self.kernel.access(
                self.op, line.mnemonic, self.register(address), (), self.register(to[0])
            )
            return
        kernel, whole = self.kernel, self.kernel.fresh()
        kernel.access(self.op, line.mnemonic, self.register(address), (), whole)
        words, bits = words_of(line.mnemonic), _width(line.mnemonic)
        for n, each in enumerate(to):
            result = self.result(each)
            if result is None:
                continue
            part = kernel.compute(split(n * bits, bits), (whole,), line.mnemonic)
            extend = function_of(f"cvt.{_extended(words)}") if _extends(words) else split(0, bits)
            kernel.compute(extend, (part,), line.mnemonic, result)

    def store(self, line: Line) -> None:
        (address,), data = _grouped(line.operands)
        bits = _width(line.mnemonic)
        sources = [self.register(each, bits) for each in data]
        if len(sources) > 1:
            whole = joined([bits] * len(sources))
            sources = [self.kernel.compute(whole, sources, line.mnemonic)]
        self.kernel.access(self.op, line.mnemonic, self.register(address), sources, None)

    def atomic(self, line: Line) -> None:
        to, address, *data = line.operands
        bits = _width(line.mnemonic)
        sources = [self.register(each, bits) for each in data]
        self.kernel.access(self.op, line.mnemonic, self.register(address), sources, self.result(to))

    def reduce(self, line: Line) -> None:
        (address,), data = _grouped(line.operands)
        bits = _width(line.mnemonic)
        sources = [self.register(each, bits) for each in data]
        self.kernel.access(self.op, line.mnemonic, self.register(address), sources, None)

    def synchronise(self, line: Line) -> None:
        self.kernel.synchronise(self.op, line.text)

    def copy(self, line: Line) -> None:
        """cp.async and what belongs to it."""
        text = line.mnemonic
        if text.startswith(("cp.async.commit_group", "cp.async.bulk.commit_group")):
            self.kernel.fence(_nothing(self.op, line.text))
        elif text.startswith(("cp.async.wait_group", "cp.async.bulk.wait_group")):
            self.kernel.fence(_wait_for_copies(self.op, line.text))
        elif text in ("cp.async.ca.shared.global", "cp.async.cg.shared.global"):
            target, source, size = line.operands
            self.copied(line, target, source, self.number(size))
        elif text == "cp.async.bulk.global.shared::cta.bulk_group":
            target, source, size = line.operands
            self.copied(line, target, source, self.number(size), is_bulk=True, outwards=True)
        elif text.startswith("cp.async.mbarrier.arrive"):
            # Without .noinc one arrival is added that this one then takes away.
            count = 1 if "noinc" in words_of(text) else 0
            self.update_mbarrier(line, line.operands[0], mbarrier.arrive(count, 0, False), None)
        elif text.startswith(_BULK_TO_SHARED):
            target, source, size, barrier = line.operands
            bytes_ = self.number(size)
            self.copied(line, target, source, bytes_, is_bulk=True)
            self.update_mbarrier(line, barrier, mbarrier.complete(bytes_), None)
        else:
            _refuse(self.op, f"'{text}' is not executed: tensor maps and clusters are not modelled")

    def copied(
        self,
        line: Line,
        target: Operand,
        source: Operand,
        width: int,
        *,
        is_bulk: bool = False,
        outwards: bool = False,
    ) -> None:
        """A copy between global and shared memory."""
        kernel, text = self.kernel, line.mnemonic
        kind = MemoryAccessKind.STORE if outwards else MemoryAccessKind.LOAD
        model = f"{text}.b{8 * width}"
        found = MemoryInstruction(
            text,
            None if _modelled(model) is None else model,
            kind,
            MemorySpace.GLOBAL,
            # Bulk copies are aligned to 16 bytes, however long: PTX ISA, cp.async.bulk.
            16 if is_bulk else width,
            ptx_policy(kind, words_of(text)),
            _place(self.op),
        )
        size = kernel.constant(width, 64) if is_bulk else None
        step = CopyStep(kernel.counted(found), self.register(target), self.register(source), size)
        kernel.block.steps.append(step)

    # mbarriers

    def mbarrier(self, line: Line) -> None:
        words, kernel = words_of(line.mnemonic), self.kernel
        name = words[1]
        if "shared::cluster" in words:
            _refuse(self.op, f"'{line.mnemonic}' is not executed: {_NO_CLUSTERS}")
        if name == "init":
            word = kernel.constant(mbarrier.initial(self.number(line.operands[1])), 64)
            self.mbarrier_step(line, line.operands[0], MemoryAccessKind.STORE, (word,), None)
        elif name == "inval":
            word = kernel.constant(0, 64)
            self.mbarrier_step(line, line.operands[0], MemoryAccessKind.STORE, (word,), None)
        elif name == "expect_tx":
            update = mbarrier.expect(self.number(line.operands[1]))
            self.update_mbarrier(line, line.operands[0], update, None)
        elif name in ("arrive", "arrive_drop"):
            self.arrive(line, words)
        else:
            to, address, phase = line.operands
            word = kernel.fresh()
            self.mbarrier_step(line, address, MemoryAccessKind.LOAD, (), word)
            operands = (word, self.register(phase, 32))
            kernel.compute(mbarrier.is_over, operands, line.mnemonic, self.register(to))

    def arrive(self, line: Line, words: Sequence[str]) -> None:
        to, address, *carried = line.operands
        number = self.number(carried[0]) if carried else 1
        expects = "expect_tx" in words
        update = mbarrier.arrive(
            1 if expects else number, number if expects else 0, "arrive_drop" in words
        )
        result = self.result(to)
        word = None if result is None else self.kernel.fresh()
        self.update_mbarrier(line, address, update, word)
        if result is not None and word is not None:
            self.kernel.compute(mbarrier.token, (word,), line.mnemonic, result)

    def update_mbarrier(
        self, line: Line, address: Operand, update: Callable[[Values], Values], old: Register | None
    ) -> None:
        self.mbarrier_step(line, address, MemoryAccessKind.ATOMIC, (), old, update)

    def mbarrier_step(
        self,
        line: Line,
        address: Operand,
        kind: MemoryAccessKind,
        data: tuple[Register, ...],
        result: Register | None,
        update: Callable[..., Values] | None = None,
    ) -> None:
        found = MemoryInstruction(
            line.mnemonic, None, kind, MemorySpace.SHARED, 8, None, _place(self.op)
        )
        number = self.kernel.counted(found)
        step = MemoryStep(number, self.register(address), 0, data, result, update)
        self.kernel.block.steps.append(step)


_NO_CLUSTERS = "there are no clusters"
_NOT_EXECUTED: Mapping[str, str] = MappingProxyType(
    {
        "mapa": _NO_CLUSTERS,
        "tcgen05": "tensor cores and their memory are not modelled",
        "wgmma": "tensor cores are not modelled",
        "tensormap": "tensor maps are not modelled",
    }
)
"""Instructions that are refused, and why."""

_BULK_TO_SHARED = (
    "cp.async.bulk.shared::cta.global.mbarrier",
    "cp.async.bulk.shared::cluster.global.mbarrier",
)


def _label(line: Line) -> str:
    (operand,) = line.operands
    return next(each.name for each in operand if isinstance(each, Placeholder))


def _names(operand: Operand) -> list[str]:
    return [each.name for each in operand if isinstance(each, Placeholder)]


def _grouped(operands: Iterable[Operand]) -> list[list[Operand]]:
    """The operands of an instruction, those of a vector, which stand in braces, together."""
    found: list[list[Operand]] = []
    is_open = False
    for operand in operands:
        text = "".join(each for each in operand if isinstance(each, str))
        if not is_open:
            found.append([])
        is_open = (is_open or "{" in text) and "}" not in text
        parts = [each.strip("{}") if isinstance(each, str) else each for each in operand]
        found[-1].append(tuple(part for part in parts if part != ""))
    return found


def _offset(operand: Operand) -> int | None:
    """The bytes that are added to a place, as 8 of ``[{at}+8]``; None where that is no number."""
    text = "".join("@" if isinstance(each, Placeholder) else each for each in operand)
    found = re.fullmatch(r"\[?@(?:\+?(-?(?:0[xX][0-9a-fA-F]+|[0-9]+)))?\]?", text)
    if found is None:
        return None
    return int(found[1], 0) if found[1] else 0


def _width(mnemonic: str) -> int:
    """The bits of an operand that is written as a number."""
    word = words_of(mnemonic)[-1]
    digits = "".join(each for each in word if each.isdigit())
    return int(digits) if digits and "x" not in word else 32


# Memory instructions

_KINDS: Mapping[str, MemoryAccessKind] = MappingProxyType(
    {
        "ld": MemoryAccessKind.LOAD,
        "st": MemoryAccessKind.STORE,
        "atom": MemoryAccessKind.ATOMIC,
        "red": MemoryAccessKind.REDUCTION,
    }
)

_SPACES: Mapping[str, MemorySpace] = MappingProxyType(
    {
        "global": MemorySpace.GLOBAL,
        "const": MemorySpace.GLOBAL,
        "shared": MemorySpace.SHARED,
        "shared::cta": MemorySpace.SHARED,
        "local": MemorySpace.PRIVATE,
    }
)


def _instruction(op: Operation, mnemonic: str, kind: MemoryAccessKind) -> MemoryInstruction:
    words = words_of(mnemonic)
    if "shared::cluster" in words:
        _refuse(op, f"'{mnemonic}' is not executed: {_NO_CLUSTERS}")
    if _elements(words) > 1 and kind not in (MemoryAccessKind.LOAD, MemoryAccessKind.STORE):
        _refuse(op, f"'{mnemonic}' is not executed: atomics of vectors are not")
    # A generic address is one of global memory: shared and private memory have their own.
    space = next((_SPACES[each] for each in words if each in _SPACES), MemorySpace.GLOBAL)
    parsed = _modelled(mnemonic)
    policy = None if space is MemorySpace.SHARED else ptx_policy(kind, words)
    return MemoryInstruction(
        mnemonic, None if parsed is None else mnemonic, kind, space, _bytes(words), policy, _place(op),
        combines=parsed is None or parsed.combines,
    )  # fmt: skip


def _modelled(mnemonic: str) -> PtxInstruction | None:
    """The instruction as the performance model has it; None for one that it does not have."""
    try:
        return parse(mnemonic, "any chip")
    except UnsupportedError:
        return None


def _bytes(words: Sequence[str]) -> int:
    word = words[-1]
    bits = int("".join(each for each in word.removesuffix("x2") if each.isdigit()))
    return bits // 8 * (2 if word.endswith("x2") else 1) * _elements(words)


_VECTORS: Mapping[str, int] = MappingProxyType({"v2": 2, "v4": 4, "v8": 8})


def _elements(words: Iterable[str]) -> int:
    """How many registers a load or store has."""
    return next((_VECTORS[each] for each in words if each in _VECTORS), 1)


def _check_one_register(op: Operation, mnemonic: str) -> None:
    if _elements(words_of(mnemonic)) > 1:
        _refuse(
            op,
            f"'{mnemonic}' is not executed: a vector has a register for each element, in a "
            "ptx.sequence; or is in one register, as .b64 or .b128",
        )


def _extends(words: Sequence[str]) -> bool:
    """Whether a load fills its register with a sign."""
    return words[-1] == "s8"


def _extended(words: Sequence[str]) -> str:
    return f"s16.{words[-1]}"


def _operation(words: Sequence[str]) -> str:
    """What an atomic does: ``add.u32`` of ``atom.relaxed.gpu.global.add.u32``."""
    known = ("exch", "cas", "add", "and", "or", "xor", "min", "max", "inc", "dec")
    first = next((n for n, each in enumerate(words) if each in known), len(words))
    return ".".join(words[first:])


# Fences and barriers

_ACQUIRES, _RELEASES = frozenset({"acquire", "acq_rel"}), frozenset({"release", "acq_rel"})
_SCOPES = ("cta", "cluster", "gpu", "sys")
_EVERYTHING = frozenset(MemoryAccessKind)
_SHARED_BY_LANES = frozenset({MemorySpace.GLOBAL, MemorySpace.SHARED})


def _fence(
    op: Operation, text: str, words: Sequence[str], *, releases: bool, acquires: bool
) -> FenceInstruction:
    """What a fence does: its release waits, its acquire empties L1; neither within the CTA.

    Source: ``lowering.ptx.performance.costs`` and ``EMPTIES_L1``: MEMBAR and CCTL.IVALL on an H200.
    """
    scope = next((each for each in _SCOPES if each in words), "sys")
    is_of_global = "shared::cta" not in text and "shared::cluster" not in text
    waits = is_of_global and releases and scope != "cta"
    empties_l1 = is_of_global and acquires and scope in EMPTIES_L1
    return FenceInstruction(
        text=text,
        scope=scope,
        waits=_EVERYTHING if waits else frozenset(),
        spaces=_SHARED_BY_LANES if waits else frozenset(),
        writes_back=frozenset(),
        invalidates=frozenset({CacheLevel.L1} if empties_l1 else ()),
        joins=False,
        place=_place(op),
    )


def _nothing(op: Operation, text: str) -> FenceInstruction:
    return FenceInstruction(
        text, "", frozenset(), frozenset(), frozenset(), frozenset(), False, _place(op)
    )


def _wait_for_copies(op: Operation, text: str) -> FenceInstruction:
    waits = frozenset({MemoryAccessKind.LOAD})
    spaces = frozenset({MemorySpace.GLOBAL})
    return FenceInstruction(text, "", waits, spaces, frozenset(), frozenset(), False, _place(op))


def _barrier(op: Operation, text: str, words: Sequence[str]) -> FenceInstruction:
    """A barrier of the CTA, of the warp, or of a cluster that is one CTA."""
    is_warp = words[:2] == ("bar", "warp")
    is_cluster = words[:2] == ("barrier", "cluster")
    operands = text.partition(" ")[2]
    known = is_warp or is_cluster or ("sync" in words and operands == "0")
    if not known:
        _refuse(op, f"'{text}' is not executed: only barrier 0 of all threads is")
    joins = not is_warp and "arrive" not in words
    scope = "cluster" if is_cluster else "" if is_warp else "cta"
    return FenceInstruction(
        text, scope, frozenset(), frozenset(), frozenset(), frozenset(), joins, _place(op)
    )


# Kernels


def _aligned(at: int, alignment: int) -> int:
    return -(-at // max(alignment, 1)) * max(alignment, 1)


def _parameters(op: KernelOp) -> tuple[KernelParameter, ...]:
    buffers = _buffers(op)
    found: list[KernelParameter] = []
    at = 0
    for number, bits in enumerate(map(int, op.parameters.get_values())):
        at = _aligned(at, bits // 8)
        found.append(KernelParameter(f"argument {number}", bits, number in buffers, at))
        at += bits // 8
    return tuple(found)


def _buffers(op: KernelOp) -> frozenset[int]:
    """The parameters that a global address is made of, whatever is added to them."""
    found: set[int] = set()
    for block in op.body.blocks:
        for each in block.ops:
            if isinstance(each, LoadOp | StoreOp | AtomicOp) and not _is_own(each.opcode.data):
                found |= _bases(each.addr, set())
            elif isinstance(each, SequenceOp):
                for place, value in zip(each.places, each.arguments, strict=True):
                    if place.data in ("addr", "source"):
                        found |= _bases(value, set())
    return frozenset(found)


def _is_own(mnemonic: str) -> bool:
    return bool({"shared", "shared::cta", "local"} & {*words_of(mnemonic)})


def _bases(value: SSAValue, seen: set[SSAValue]) -> set[int]:
    """The parameters at the beginning of an address: what it is before additions."""
    if value in seen:
        return set()
    seen.add(value)
    op = value.owner
    if isinstance(op, ParamOp):
        return {op.index.value.data}
    if isinstance(op, AluOp) and op.opcode.data == "add.s64":
        return _bases(op.arguments[0], seen)
    return set()


def _layout(op: KernelOp, variables: Sequence[VariableOp]) -> tuple[dict[str, int], int]:
    """Where the variables lie that the kernel uses; those as large as the launch says are last."""
    used = {
        each.variable.root_reference.data
        for block in op.body.blocks
        for each in block.ops
        if isinstance(each, AddressOfOp)
    }
    found: dict[str, int] = {}
    at = 0
    own = [each for each in variables if each.sym_name.data in used]
    for each in sorted(own, key=lambda each: each.size.value.data == 0):
        at = _aligned(at, each.alignment.value.data)
        found[each.sym_name.data] = at
        at += each.size.value.data
    return found, at


_SPECIAL: Mapping[str, LaneValue] = MappingProxyType(
    {
        f"{name}.{axis.value[-1]}": axis
        for name, axes in (
            ("tid", (LaneValue.THREAD_X, LaneValue.THREAD_Y, LaneValue.THREAD_Z)),
            ("ctaid", (LaneValue.GROUP_X, LaneValue.GROUP_Y, LaneValue.GROUP_Z)),
            ("ntid", (LaneValue.BLOCK_X, LaneValue.BLOCK_Y, LaneValue.BLOCK_Z)),
            ("nctaid", (LaneValue.GRID_X, LaneValue.GRID_Y, LaneValue.GRID_Z)),
        )
        for axis in axes
    }
)

_HANDLERS: Mapping[type[Operation], Callable[[_Kernel, Operation], None]] = MappingProxyType(
    {
        LoadOp: _Kernel.load,
        StoreOp: _Kernel.store,
        AtomicOp: _Kernel.atomic,
        FenceOp: _Kernel.order,
        BarrierOp: _Kernel.order,
        AluOp: _Kernel.alu,
        SequenceOp: _Kernel.sequence,
        ConstOp: _Kernel.const,
        ParamOp: _Kernel.param,
        SpecialOp: _Kernel.special,
        AddressOfOp: _Kernel.address_of,
        LocalOp: _Kernel.local,
        BranchOp: _Kernel.branch,
        CondBranchOp: _Kernel.cond_branch,
        RetOp: _Kernel.ret,
    }
)

_LINES: Mapping[str, Callable[[_Sequence, Line], None]] = MappingProxyType(
    {
        "mov": _Sequence.move,
        "ld": _Sequence.load,
        "st": _Sequence.store,
        "atom": _Sequence.atomic,
        "red": _Sequence.reduce,
        "fence": _Sequence.synchronise,
        "bar": _Sequence.synchronise,
        "barrier": _Sequence.synchronise,
        "cp": _Sequence.copy,
        "mbarrier": _Sequence.mbarrier,
    }
)
