"""The output format ``asm``: the kernels of a module as one assembly file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import IO, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from fencewright.lowering.cdna.assembly import insert_wait_states
from fencewright.lowering.cdna.instructions import operand_places
from fencewright.lowering.cdna.kernel import (
    Argument,
    ArgumentKind,
    Kernel,
    block_label,
    is_symbol,
    module_text,
)
from fencewright.lowering.sequence import Line, Place, WaitCounts
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
    OpcodeOp,
    PackOp,
    RegisterType,
    SGPRType,
    StoreOp,
    SynchronisingOp,
    VGPRType,
    WaitOp,
    register_of,
)
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.kernels.accept import no_kernel


@dataclass(frozen=True)
class CDNAAssemblyTarget(Target):
    """Print every ``cdna.kernel``, with its descriptor and metadata, for ``llvm-mc``.

    ``explain`` writes beside each synchronisation instruction what it does and where the rule
    stands. Raises ``DiagnosticException`` if registers are not allocated.
    """

    name: ClassVar[str] = "asm"

    explain: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        ops = [op for op in top_level(module) if isinstance(op, KernelOp)]
        if not ops:
            raise no_kernel(module, "cdna.kernel", "convert-scoped-to-cdna")
        targets = {(op.target_id or op.chip).data for op in ops}
        if len(targets) > 1:
            raise DiagnosticException(
                f"one assembly file is for one chip, not for {', '.join(sorted(targets))}"
            )
        forms: _Forms = {}
        output.write(module_text(targets.pop(), [self._kernel(op, forms) for op in ops]))

    def _kernel(self, op: KernelOp, forms: "_Forms") -> Kernel:
        """The kernel as text."""
        if not is_symbol(op.sym_name.data):
            message = f"'{op.sym_name.data}' is no name in assembly (letters, digits, _, . and $)"
            op.emit_error(message, DiagnosticException(message))
        printer = _Printer(op, self.explain, forms)
        blocks = insert_wait_states(list(printer.blocks()), op.chip.data)
        return Kernel(
            name=op.sym_name.data,
            chip=op.chip.data,
            tgsplit=op.tgsplit is not None,
            arguments=tuple(
                Argument(each.argument.data, each.size.data, ArgumentKind(each.kind.data))
                for each in op.arguments
            ),
            group_segment_size=op.group_segment_size.value.data,
            private_segment_size=op.private_segment_size.value.data,
            uses_scratch=op.uses_scratch is not None,
            workgroup_ids=op.workgroup_ids.value.data,
            workitem_ids=op.workitem_ids.value.data,
            max_workgroup_size=op.max_workgroup_size.value.data,
            vgprs=printer.used[VGPRType],
            sgprs=printer.used[SGPRType],
            blocks=blocks,
            targets=frozenset(printer.targets),
        )


_Forms = dict[object, tuple[str, ...]]
"""The lines of a module's instructions with a place for each register, by what they depend on."""


class _Printer:
    """The lines of one kernel; ``used`` counts the registers of each file."""

    def __init__(self, kernel: KernelOp, explain: bool, forms: _Forms):
        self.kernel = kernel
        self.explain = explain
        self.forms = forms
        self.counted: set[int] = set()
        self.used: dict[type[RegisterType], int] = {VGPRType: 0, SGPRType: 0}
        self.targets: set[int] = set()
        self.numbers = {block: n for n, block in enumerate(kernel.body.blocks)}

    def blocks(self) -> Iterator[list[str]]:
        for block in self.kernel.body.blocks:
            lines: list[str] = []
            self._count(block.args)
            for op in block.ops:
                self._count(op.results)
                printed = _LINES[type(op)](self, op)
                if self.explain and printed:
                    printed = [*printed[:-1], printed[-1] + _reason(op)]
                lines += printed
            yield lines

    def _count(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            type = value.type
            if id(type) in self.counted:
                continue
            registers = register_of(value)
            file = VGPRType if isinstance(registers, VGPRType) else SGPRType
            if not registers.registers:
                owner = value.owner
                op = owner if isinstance(owner, Operation) else self.kernel
                message = "registers are not allocated; run allocate-registers first"
                op.emit_error(message, DiagnosticException(message))
            self.used[file] = max(self.used[file], registers.registers.stop)
            self.counted.add(id(type))

    def _target(self, block: Block) -> str:
        number = self.numbers[block]
        self.targets.add(number)
        return block_label(self.kernel.sym_name.data, number)

    def instruction(self, op: Operation) -> list[str]:
        properties, results = op.properties, op.results
        # By identity, because to hash an attribute takes long; the module keeps them meanwhile.
        key = (type(op), len(results), *properties, *map(id, properties.values()))
        form = self.forms.get(key)
        if form is None:
            form = self.forms[key] = _form(cast(OpcodeOp, op))
        registers = [value.type for value in (*op.operands, *results)]
        return [line.format(*registers) for line in form]

    def wait(self, op: Operation) -> list[str]:
        return [_wait_line(cast(WaitOp, op).counts)]

    def const(self, op: Operation) -> list[str]:
        const = cast(ConstOp, op)
        type, value = register_of(const.dst), const.value.value.data
        if isinstance(type, SGPRType) and type.size.data == 2 and -16 <= value <= 64:
            return [f"s_mov_b64 {type}, {value}"]
        move = _MOVE[VGPRType if isinstance(type, VGPRType) else SGPRType]
        return [f"{move} {type.part(n)}, {literal(value >> 32 * n)}" for n in range(type.size.data)]

    def move(self, op: Operation) -> list[str]:
        mov = cast(MovOp, op)
        return _copy(register_of(mov.dst), register_of(mov.src))

    def pack(self, op: Operation) -> list[str]:
        pack = cast(PackOp, op)
        dst, offset = register_of(pack.dst), 0
        lines: list[str] = []
        for part in pack.parts:
            src = register_of(part)
            lines += _copy(dst.part(offset, src.size.data), src)
            offset += src.size.data
        return lines

    def extract(self, op: Operation) -> list[str]:
        extract = cast(ExtractOp, op)
        dst = register_of(extract.dst)
        src = register_of(extract.src).part(extract.offset.value.data, dst.size.data)
        return _copy(dst, src)

    def branch(self, op: Operation) -> list[str]:
        branch = cast(BranchOp, op)
        return self._jump(branch, branch.target)

    def _is_next(self, op: Operation, target: Block) -> bool:
        block = op.parent
        assert block is not None
        return self.numbers[target] == self.numbers[block] + 1

    def _jump(self, op: Operation, target: Block) -> list[str]:
        return [] if self._is_next(op, target) else [f"s_branch {self._target(target)}"]

    def cond_branch(self, op: Operation) -> list[str]:
        branch = cast(CondBranchOp, op)
        true, false = branch.true_target, branch.false_target
        test = f"s_and_b64 vcc, exec, {register_of(branch.mask)}"
        if self._is_next(branch, true):
            return [test, f"s_cbranch_vccz {self._target(false)}"]
        return [test, f"s_cbranch_vccnz {self._target(true)}", *self._jump(branch, false)]


@cache
def _wait_line(counts: WaitCounts) -> str:
    return f"s_waitcnt {counts}"


def _form(op: OpcodeOp) -> tuple[str, ...]:
    """The lines of an instruction; ``{n}`` is the register of operand n, or behind them the result."""
    row = op.row
    names = operand_places(row)
    assert len(names) == len(op.operands)
    numbers = {name: n for n, name in enumerate((*names, "dst"))}
    constants: dict[str, str] = {}
    offset = 0
    suffix = ""
    if isinstance(op, MemoryOp):
        offset = 0 if op.offset is None else op.offset.value.data
        constants["offset"] = f"{offset:#x}"
    if isinstance(op, SynchronisingOp) and op.modifiers is not None:
        suffix += "".join(f" {bit.data}" for bit in op.modifiers)
    if isinstance(op, AluOp) and op.immediates is not None:
        constants |= {f"imm{n}": str(each.value.data) for n, each in enumerate(op.immediates)}

    def name(place: Place) -> str:
        if place.name in constants:
            return str(offset + int(place.part)) if place.part else constants[place.name]
        return f"{{{numbers[place.name]}{place.part}}}"

    def has_offset(line: Line) -> bool:
        return not offset or "offset" in line.names

    return tuple(
        line.filled(name) + ("" if has_offset(line) else f" offset:{offset}") + suffix
        for line in row.code
    )


_MOVE: Mapping[type[RegisterType], str] = MappingProxyType(
    {VGPRType: "v_mov_b32_e32", SGPRType: "s_mov_b32"}
)


def literal(value: int) -> str:
    """The low 32 bits as the assembler and the disassembler write them: small numbers in decimal."""
    bits = value & 0xFFFFFFFF
    signed = bits - (1 << 32) if bits >> 31 else bits
    return str(signed) if -16 <= signed <= 64 else f"{bits:#x}"


def _copy(dst: RegisterType, src: RegisterType) -> list[str]:
    if dst == src:
        return []
    size = dst.size.data
    if isinstance(dst, SGPRType) and size == 2:
        return [f"s_mov_b64 {dst}, {src}"]
    move = _MOVE[VGPRType if isinstance(dst, VGPRType) else SGPRType]
    # Where the registers overlap, a part is read before it is overwritten.
    upwards = isinstance(src, type(dst)) and (src.first or 0) < (dst.first or 0)
    parts = reversed(range(size)) if upwards else range(size)
    return [f"{move} {dst.part(n)}, {src.part(n)}" for n in parts]


def _reason(op: Operation) -> str:
    if not isinstance(op, SynchronisingOp | WaitOp) or op.phase is None:
        return ""
    source = "" if op.source is None else f": {op.source.data}"
    return f" ; {op.phase.data}{source}"


_LINES: Mapping[type[Operation], Callable[[_Printer, Operation], list[str]]] = MappingProxyType(
    {
        LoadOp: _Printer.instruction,
        StoreOp: _Printer.instruction,
        AtomicOp: _Printer.instruction,
        CacheOp: _Printer.instruction,
        BarrierOp: _Printer.instruction,
        AluOp: _Printer.instruction,
        EndOp: _Printer.instruction,
        WaitOp: _Printer.wait,
        ConstOp: _Printer.const,
        MovOp: _Printer.move,
        PackOp: _Printer.pack,
        ExtractOp: _Printer.extract,
        BranchOp: _Printer.branch,
        CondBranchOp: _Printer.cond_branch,
    }
)
