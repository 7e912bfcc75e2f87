"""The output format ``asm``: the kernels of a module as one assembly file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import IO, ClassVar, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from fencewright.lowering.cdna.assembly import (
    VCC,
    HazardEffect,
    Names,
    Printed,
    effect_of,
    insert_wait_states,
)
from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.counters.waits import wait_lines
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.cdna.instructions import operand_places
from fencewright.lowering.cdna.kernel import (
    Argument,
    ArgumentKind,
    CdnaKernel,
    block_label,
    is_symbol,
    module_text,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import Line, Operand, Placeholder
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import cdna
from fencewright.mlir_dialects.leaf_operation import operands_of, operations
from fencewright.passes.analysis.control_flow import block_of, top_level
from fencewright.passes.kernels.accept import check_printed, no_kernel


@dataclass(frozen=True)
class CDNAAssemblyTarget(Target):
    """Print every ``cdna.kernel``, with its descriptor and metadata, for ``llvm-mc``.

    ``explain`` writes beside each synchronisation instruction what it does and where the rule
    stands. Raises ``DiagnosticException`` if registers are not allocated.
    """

    name: ClassVar[str] = "asm"

    explain: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        ops = [op for op in top_level(module) if isinstance(op, cdna.KernelOp)]
        if not ops:
            raise no_kernel(module, "cdna.kernel", "convert-scoped-to-cdna")
        check_printed(module)
        targets = {(op.target_id or op.chip).data for op in ops}
        if len(targets) > 1:
            raise DiagnosticException(
                f"one assembly file is for one chip, not for {', '.join(sorted(targets))}"
            )
        forms: _Forms = {}
        output.write(module_text(targets.pop(), [self._kernel(op, forms) for op in ops]))

    def _kernel(self, op: cdna.KernelOp, forms: "_Forms") -> CdnaKernel:
        """The kernel as text."""
        if not is_symbol(op.sym_name.data):
            message = f"'{op.sym_name.data}' is no name in assembly (letters, digits, _, . and $)"
            op.emit_error(message, DiagnosticException(message))
        printer = CodePrinter(op.body, op.sym_name.data, cdna.chip_of(op), self.explain, forms)
        blocks = insert_wait_states(list(printer.blocks()), op.chip.data)
        return _described(op, printer, blocks)


def _described(op: cdna.KernelOp, printer: "CodePrinter", blocks: list[list[str]]) -> CdnaKernel:
    """The kernel with its printed code."""
    size = op.cluster_size
    return CdnaKernel(
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
        vgprs=printer.used[cdna.VGPRType],
        sgprs=printer.used[cdna.SGPRType],
        blocks=blocks,
        targets=frozenset(printer.targets),
        cluster_size=None if size is None else tuple(each.value.data for each in size),
        named_barriers=0 if op.named_barriers is None else op.named_barriers.value.data,
    )


@dataclass(frozen=True, slots=True)
class PrintedCode:
    """Code as an assembly file, and the operation that each of its lines, from 1, is printed
    for."""

    text: str
    operations: Mapping[int, Operation]


def print_kernel(op: cdna.KernelOp, body: Region | None = None) -> PrintedCode:
    """One kernel as an assembly file of its own; its registers are allocated.

    ``body``: its instructions, where they are not its own, as in a copy that has registers.
    """
    chip = cdna.chip_of(op)
    name = op.sym_name.data if is_symbol(op.sym_name.data) else "kernel"
    printer = CodePrinter(op.body if body is None else body, name, chip)
    printed = list(printer.blocks())
    blocks = insert_wait_states(printed, op.chip.data)
    kernel = replace(_described(op, printer, blocks), name=name)
    text = module_text((op.target_id or op.chip).data, [kernel])
    before, start, _ = text.partition(f"\n{name}:\n")
    first = before.count("\n") + start.count("\n") + 1 + len(chip.first_lines)
    return PrintedCode(text, printer.operations_of(printed, blocks, first))


class _LineForm(NamedTuple):
    """A line of an instruction, with a place for each register.

    In ``text`` ``{n}`` is the register of operand n, or after them the result. ``operands`` are
    those that the hazards of the instruction see: such a number, and which part of it; -2 is vcc,
    and -1 no register.
    """

    text: str
    kind: Kind
    unit: Unit | None
    space: AddressSpace | None
    returns: bool
    operands: tuple[tuple[int, slice], ...]

    def printed(self, registers: Sequence[cdna.RegisterType]) -> Printed:
        """The line with these registers."""
        text = self.text.format(*registers)
        if not self.operands:
            return Printed(text)
        names = [*map(_names, registers), VCC, ()]
        operands = tuple([names[number][part] for number, part in self.operands])
        return Printed(text, effect_of(self.kind, self.unit, self.space, self.returns, operands))


_Forms = dict[object, list[Printed]]
"""The lines of a module's instructions, by the properties and registers that they depend on."""


class CodePrinter:
    """The lines of a body of instructions; ``used`` counts the registers of each file."""

    def __init__(
        self,
        body: Region,
        name: str,
        chip: ChipRow,
        explain: bool = False,
        forms: _Forms | None = None,
    ):
        self.body = body
        self.name = name
        self.chip = chip
        self.explain = explain
        self.forms: _Forms = {} if forms is None else forms
        self.counted: set[int] = set()
        self.used: dict[type[cdna.RegisterType], int] = {cdna.VGPRType: 0, cdna.SGPRType: 0}
        self.targets: set[int] = set()
        self.numbers = {block: n for n, block in enumerate(body.blocks)}
        self.operations: list[list[Operation]] = []

    def blocks(self) -> Iterator[list[Printed]]:
        """The lines of each block; ``operations`` then has the one that each of them is printed
        for."""
        for block in self.body.blocks:
            lines: list[Printed] = []
            owners: list[Operation] = []
            self._count(block.args)
            for op in operations(block):
                self._count(op.results)
                printed = self.lines(op)
                if self.explain and printed:
                    last = printed[-1]
                    printed = [*printed[:-1], Printed(last.text + _reason(op), last.effect)]
                lines += printed
                owners += [op] * len(printed)
            self.operations.append(owners)
            yield lines

    def lines(self, op: Operation) -> list[Printed]:
        """The lines of one operation."""
        return _LINES[type(op)](self, op)

    def operations_of(
        self, printed: Iterable[Sequence[Printed]], blocks: Iterable[Sequence[str]], first: int
    ) -> Mapping[int, Operation]:
        """The operation of each line of ``blocks``, of which ``first`` is the first's number.

        They are the ``printed`` ones, labels before them, and wait states between them; those are
        for the line that they stand before.
        """
        found: dict[int, Operation] = {}
        at = first
        for number, (lines, block) in enumerate(zip(printed, blocks, strict=True)):
            at += number in self.targets
            operations = self.operations[number]
            passed = 0
            for text in block:
                found[at] = operations[passed]
                passed += text == lines[passed].text
                at += 1
        return found

    def _count(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            type = value.type
            if id(type) in self.counted:
                continue
            registers = cdna.register_of(value)
            file = cdna.VGPRType if isinstance(registers, cdna.VGPRType) else cdna.SGPRType
            if not registers.registers:
                owner = value.owner
                op = owner if isinstance(owner, Operation) else self.body.parent_op()
                assert op is not None
                message = "registers are not allocated; run allocate-registers first"
                op.emit_error(message, DiagnosticException(message))
            self.used[file] = max(self.used[file], registers.registers.stop)
            self.counted.add(id(type))

    def _target(self, block: Block) -> str:
        number = self.numbers[block]
        self.targets.add(number)
        return block_label(self.name, number)

    def instruction(self, op: Operation) -> list[Printed]:
        properties, results = op.properties, op.results
        registers = [
            cast("cdna.RegisterType", value.type) for value in (*operands_of(op), *results)
        ]
        # By identity, because to hash an attribute takes long; the module keeps them meanwhile.
        named = (*properties.values(), *registers)
        key = (type(op), len(results), *properties, *map(id, named))
        printed = self.forms.get(key)
        if printed is None:
            form = _form(cast(cdna.OpcodeOp, op))
            printed = self.forms[key] = [line.printed(registers) for line in form]
        return printed

    def wait(self, op: Operation) -> list[Printed]:
        counts = cast(cdna.WaitOp, op).counts
        return list(map(Printed, wait_lines(counts, self.chip.splits_counters)))

    def unresolved(self, op: Operation) -> list[Printed]:
        """Raises ``DiagnosticException``: how many copies a group has is not known here."""
        message = f"'{op.name}' is no instruction yet; run insert-waits first"
        op.emit_error(message, DiagnosticException(message))

    def const(self, op: Operation) -> list[Printed]:
        const = cast(cdna.ConstOp, op)
        type, value = cdna.register_of(const.dst), const.value.value.data
        if isinstance(type, cdna.SGPRType) and type.size.data == 2 and -16 <= value <= 64:
            return [_scalar_move("s_mov_b64", type, f"{value}")]
        return [_move(type.part(n), literal(value >> 32 * n)) for n in range(type.size.data)]

    def move(self, op: Operation) -> list[Printed]:
        mov = cast(cdna.MovOp, op)
        return _copy(cdna.register_of(mov.dst), cdna.register_of(mov.src))

    def pack(self, op: Operation) -> list[Printed]:
        pack = cast(cdna.PackOp, op)
        dst, offset = cdna.register_of(pack.dst), 0
        lines: list[Printed] = []
        for part in pack.parts:
            src = cdna.register_of(part)
            lines += _copy(dst.part(offset, src.size.data), src)
            offset += src.size.data
        return lines

    def extract(self, op: Operation) -> list[Printed]:
        extract = cast(cdna.ExtractOp, op)
        dst = cdna.register_of(extract.dst)
        src = cdna.register_of(extract.src).part(extract.offset.value.data, dst.size.data)
        return _copy(dst, src)

    def branch(self, op: Operation) -> list[Printed]:
        branch = cast(cdna.BranchOp, op)
        return self._jump(branch, branch.target)

    def _jump(self, op: Operation, target: Block) -> list[Printed]:
        is_next = block_of(op).next_block is target
        return [] if is_next else [Printed(f"s_branch {self._target(target)}")]

    def cond_branch(self, op: Operation) -> list[Printed]:
        branch = cast(cdna.CondBranchOp, op)
        true, false = branch.true_target, branch.false_target
        test = Printed(f"{_TESTS[self.chip.wave_size]}, {cdna.register_of(branch.mask)}")
        if block_of(op).next_block is true:
            return [test, Printed(f"s_cbranch_vccz {self._target(false)}")]
        jump = Printed(f"s_cbranch_vccnz {self._target(true)}")
        return [test, jump, *self._jump(branch, false)]


def _form(op: cdna.OpcodeOp) -> list[_LineForm]:
    row = op.row
    names = operand_places(row)
    assert len(names) == len(op.operands)
    numbers = {name: n for n, name in enumerate((*names, "dst"))}
    constants: dict[str, str] = {}
    offset = 0
    suffix = ""
    if isinstance(op, cdna.MemoryOp):
        offset = 0 if op.offset is None else op.offset.value.data
        constants["offset"] = f"{offset:#x}"
    if isinstance(op, cdna.SynchronisingOp) and op.modifiers is not None:
        suffix += "".join(f" {bit.data}" for bit in op.modifiers)
    if isinstance(op, cdna.AluOp) and op.immediates is not None:
        constants |= {f"imm{n}": str(each.value.data) for n, each in enumerate(op.immediates)}

    def filled(place: Placeholder) -> str:
        if place.name in constants:
            return str(offset + int(place.part)) if place.part else constants[place.name]
        return f"{{{numbers[place.name]}{place.part}}}"

    def seen(operand: Operand) -> tuple[int, slice]:
        places = (
            each for each in operand if isinstance(each, Placeholder) and each.name in numbers
        )
        place = next(places, None)
        if place is None:
            return -2 if operand == VCC else -1, _PARTS[""]
        return numbers[place.name], _PARTS[place.part]

    def formed(line: Line) -> _LineForm:
        shown = "" if not offset or "offset" in line.names else f" offset:{offset}"
        has_effect = row.kind is Kind.COMPUTE or row.is_memory
        operands = tuple(map(seen, line.operands)) if has_effect else ()
        text = line.filled(filled) + shown + suffix
        return _LineForm(text, row.kind, row.unit, row.space, row.returns, operands)

    written = [formed(line) for line in row.code]
    if isinstance(op, cdna.BarrierOp) and op.m0 is not None:
        move = f"s_mov_b32 m0, {literal(op.m0.value.data)}"
        return [_LineForm(move, Kind.COMPUTE, Unit.SALU, None, False, ()), *written]
    return written


_PARTS: Mapping[str, slice] = MappingProxyType(
    {"": slice(None), ".lo": slice(0, 1), ".hi": slice(1, 2)}
    | {f"[{n}]": slice(n, n + 1) for n in range(4)}
)


def _names(type: cdna.RegisterType) -> Names:
    return _names_of(type.PREFIX, type.registers)


@cache
def _names_of(prefix: str, registers: range) -> Names:
    return tuple([f"{prefix}{n}" for n in registers])


def _move(dst: cdna.RegisterType, src: cdna.RegisterType | str) -> Printed:
    """A move of one register."""
    if isinstance(dst, cdna.SGPRType):
        return _scalar_move("s_mov_b32", dst, f"{src}")
    operands = _names(dst), () if isinstance(src, str) else _names(src)
    return Printed(f"v_mov_b32_e32 {dst}, {src}", _arithmetic(Unit.VALU, operands))


def _scalar_move(mnemonic: str, dst: cdna.RegisterType, src: str) -> Printed:
    return Printed(f"{mnemonic} {dst}, {src}", _arithmetic(Unit.SALU, (_names(dst),)))


def _arithmetic(unit: Unit, operands: tuple[Names, ...]) -> HazardEffect:
    return effect_of(Kind.COMPUTE, unit, None, False, operands)


_TESTS: Mapping[int, str] = MappingProxyType(
    {64: "s_and_b64 vcc, exec", 32: "s_and_b32 vcc_lo, exec_lo"}
)
"""By the lanes of a wave: which of the active lanes a mask has."""


def literal(value: int) -> str:
    """The low 32 bits as the assembler and the disassembler write them: small numbers in
    decimal."""
    bits = value & 0xFFFFFFFF
    signed = bits - (1 << 32) if bits >> 31 else bits
    return str(signed) if -16 <= signed <= 64 else f"{bits:#x}"


def _copy(dst: cdna.RegisterType, src: cdna.RegisterType) -> list[Printed]:
    if dst == src:
        return []
    size = dst.size.data
    if isinstance(dst, cdna.SGPRType) and size == 2:
        return [_scalar_move("s_mov_b64", dst, f"{src}")]
    # If the registers overlap, a part is read before it is overwritten.
    upwards = isinstance(src, type(dst)) and (src.first or 0) < (dst.first or 0)
    parts = reversed(range(size)) if upwards else range(size)
    return [_move(dst.part(n), src.part(n)) for n in parts]


def _reason(op: Operation) -> str:
    if not isinstance(op, cdna.SynchronisingOp | cdna.WaitOp) or op.phase is None:
        return ""
    source = "" if op.source is None else f": {op.source.data}"
    return f" ; {op.phase.data}{source}"


_LINES: Mapping[type[Operation], Callable[[CodePrinter, Operation], list[Printed]]] = (
    MappingProxyType(
        {
            cdna.LoadOp: CodePrinter.instruction,
            cdna.StoreOp: CodePrinter.instruction,
            cdna.AtomicOp: CodePrinter.instruction,
            cdna.AsyncOp: CodePrinter.instruction,
            cdna.TensorOp: CodePrinter.instruction,
            cdna.CacheOp: CodePrinter.instruction,
            cdna.BarrierOp: CodePrinter.instruction,
            cdna.AluOp: CodePrinter.instruction,
            cdna.EndOp: CodePrinter.instruction,
            cdna.WaitOp: CodePrinter.wait,
            cdna.AsyncMarkOp: CodePrinter.unresolved,
            cdna.AsyncWaitOp: CodePrinter.unresolved,
            cdna.ConstOp: CodePrinter.const,
            cdna.MovOp: CodePrinter.move,
            cdna.PackOp: CodePrinter.pack,
            cdna.ExtractOp: CodePrinter.extract,
            cdna.BranchOp: CodePrinter.branch,
            cdna.CondBranchOp: CodePrinter.cond_branch,
        }
    )
)
