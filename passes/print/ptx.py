"""The output format ``ptx``: the kernels of a module as one PTX file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from fencewright.lowering.ptx.chip import Version
from fencewright.lowering.ptx.instructions import RegisterClass
from fencewright.lowering.ptx.module import (
    PtxKernel,
    Variable,
    kernel_text,
    module_text,
    parameter_name,
)
from fencewright.mlir_dialects import ptx
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.control_flow import block_of, top_level
from fencewright.passes.analysis.parallel_copies import in_order
from fencewright.passes.kernels.accept import check_printed, no_kernel


@dataclass(frozen=True)
class PTXTarget(Target):
    """Print every ``ptx.kernel`` and the variables, for ``ptxas``.

    ``explain`` writes beside each synchronisation instruction what it does and where the rule
    stands. Raises ``DiagnosticException`` if there is no kernel, or kernels for two targets.
    """

    name: ClassVar[str] = "ptx"

    explain: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        kernels = [op for op in top_level(module) if isinstance(op, ptx.KernelOp)]
        if not kernels:
            raise no_kernel(module, "ptx.kernel", "convert-scoped-to-ptx")
        check_printed(module)
        targets = {(op.target.data, op.version.data) for op in kernels}
        if len(targets) > 1:
            listed = ", ".join(sorted(f"{name} with PTX {version}" for name, version in targets))
            raise DiagnosticException(f"one PTX file is for one target, not for {listed}")
        variables = [_declared(op) for op in top_level(module) if isinstance(op, ptx.VariableOp)]
        printed = [_printed(op, self.explain).text for op in kernels]
        output.write(module_text(*_target(kernels[0]), variables, printed))


@dataclass(frozen=True, slots=True)
class Listing:
    """A PTX file, with the operation that each of its lines, counted from 1, is printed of."""

    text: str
    operations: Mapping[int, Operation]


def listing(kernels: Iterable[ptx.KernelOp], variables: Iterable[ptx.VariableOp]) -> Listing:
    """Kernels as a file for a reader of PTX; those for several chips are for the first one's."""
    printed = [_printed(op, explain=False) for op in kernels]
    operations: dict[int, Operation] = {}
    text = module_text(*_target(printed[0].kernel), map(_declared, variables), ())
    for each in printed:
        operations[text.count("\n") + 2] = each.kernel
        text += kernel_text(each.text)
        first = text.count("\n") - len(each.lines)
        operations |= dict(enumerate(each.origins, first))
    return Listing(text, operations)


def _target(kernel: ptx.KernelOp) -> tuple[str, Version]:
    major, minor = kernel.version.data.split(".")
    return kernel.target.data, (int(major), int(minor))


def _declared(op: ptx.VariableOp) -> Variable:
    return Variable(op.sym_name.data, op.size.value.data, op.alignment.value.data)


def _printed(op: ptx.KernelOp, explain: bool) -> "_Printer":
    printer = _Printer(op, explain)
    printer.run()
    return printer


class _Printer:
    """The lines of one kernel, and the ``origins`` that they are printed of.

    ``names`` has the register of each value, or the number itself of a constant;
    ``counts`` how many registers of each kind there are.
    """

    def __init__(self, kernel: ptx.KernelOp, explain: bool):
        self.kernel = kernel
        self.explain = explain
        self.widths = kernel.parameters.get_values()
        self.lines: list[str] = []
        self.origins: list[Operation] = []
        self.names: dict[SSAValue, str] = {}
        self.counts: dict[RegisterClass, int] = {}
        self.numbers = {block: n for n, block in enumerate(kernel.body.blocks)}
        self.targets: set[str] = set()
        self.edges = 0
        self.sequences = 0
        self.locals = 0

    def run(self) -> None:
        """Print every block, each constant's value first, where it will be written instead."""
        blocks = self.kernel.body.blocks
        lines = self.lines
        for block in blocks:
            for op in operations(block):
                if type(op) is ptx.ConstOp and not _needs_register(op):
                    self.names[op.dst] = str(op.value.value.data)
        for block in blocks:
            lines.append(f"$L_bb{self.numbers[block]}:")
            self.origins.append(self.kernel)
            for op in operations(block):
                before = len(lines)
                _LINES[type(op)](self, op)
                if self.explain and len(lines) > before:
                    lines[-1] += _reason(op)
                self.origins += [op] * (len(lines) - before)
        unused = {f"$L_bb{n}:" for n in self.numbers.values()} - self.targets
        kept = [number for number, line in enumerate(lines) if line not in unused]
        self.lines = [lines[number] for number in kept]
        self.origins = [self.origins[number] for number in kept]

    @property
    def text(self) -> PtxKernel:
        """The kernel as text."""
        op = self.kernel
        return PtxKernel(
            name=op.sym_name.data,
            parameters=self.widths,
            block_size=None if op.block_size is None else op.block_size.get_values(),
            registers=self.counts,
            lines=self.lines,
        )

    # Registers and labels

    def name(self, value: SSAValue) -> str:
        """The register of a value, or a constant's number."""
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = self._fresh(ptx.register_of(value))
        return name

    def _fresh(self, register: RegisterClass) -> str:
        number = self.counts[register] = self.counts.get(register, 0) + 1
        return f"{register.prefix}{number}"

    def _label(self, block: Block) -> str:
        """The label of a block that control jumps to."""
        label = f"$L_bb{self.numbers[block]}"
        self.targets.add(f"{label}:")
        return label

    # Instructions

    def instruction(self, op: Operation) -> None:
        """An access, a fence or a barrier."""
        self.lines.append(cast(ptx.SynchronisingOp, op).line(self.name))

    def alu(self, op: Operation) -> None:
        alu = cast(ptx.AluOp, op)
        operands = ", ".join(map(self.name, alu.operands))
        self.lines.append(f"{alu.opcode.data} {self.name(alu.dst)}, {operands};")

    def sequence(self, op: Operation) -> None:
        sequence = cast(ptx.SequenceOp, op)
        self.sequences += 1
        self.lines += sequence.statements(self.name, f"s{self.sequences}")

    def const(self, op: Operation) -> None:
        const = cast(ptx.ConstOp, op)
        if const.dst not in self.names:
            register = ptx.register_of(const.dst)
            self._move(register, self.name(const.dst), str(const.value.value.data))

    def param(self, op: Operation) -> None:
        param = cast(ptx.ParamOp, op)
        index = param.index.value.data
        bits = self.widths[index]
        place = parameter_name(self.kernel.sym_name.data, index)
        self.lines.append(f"ld.param.b{bits} {self.name(param.dst)}, [{place}];")

    def special(self, op: Operation) -> None:
        special = cast(ptx.SpecialOp, op)
        self.lines.append(f"mov.u32 {self.name(special.dst)}, %{special.register.data};")

    def addressof(self, op: Operation) -> None:
        address = cast(ptx.AddressOfOp, op)
        variable = address.variable.string_value()
        self._move(ptx.register_of(address.dst), self.name(address.dst), variable)

    def local(self, op: Operation) -> None:
        local = cast(ptx.LocalOp, op)
        name = f"$local{self.locals}"
        self.locals += 1
        size, alignment = local.size.value.data, local.alignment.value.data
        self.lines.append(f".local .align {alignment} .b8 {name}[{max(size, 1)}];")
        self._move(ptx.register_of(local.dst), self.name(local.dst), name)

    def ret(self, op: Operation) -> None:
        self.lines.append("ret;")

    # Control flow

    def branch(self, op: Operation) -> None:
        branch = cast(ptx.BranchOp, op)
        self._copy(branch.arguments, branch.target)
        self._jump(op, branch.target)

    def cond_branch(self, op: Operation) -> None:
        branch = cast(ptx.CondBranchOp, op)
        predicate = self.name(branch.predicate)
        true, false = branch.true_target, branch.false_target
        if not branch.true_arguments:
            if block_of(op).next_block is true and not branch.false_arguments:
                self.lines.append(f"@!{predicate} bra {self._label(false)};")
                return
            self.lines.append(f"@{predicate} bra {self._label(true)};")
            self._copy(branch.false_arguments, false)
            self._jump(op, false)
            return
        if not branch.false_arguments:
            self.lines.append(f"@!{predicate} bra {self._label(false)};")
            self._copy(branch.true_arguments, true)
            self._jump(op, true)
            return
        # Copies for one edge must not be made on the other.
        edge = f"$L_edge{self.edges}"
        self.edges += 1
        self.lines.append(f"@!{predicate} bra {edge};")
        self._copy(branch.true_arguments, true)
        self.lines += (f"bra {self._label(true)};", f"{edge}:")
        self._copy(branch.false_arguments, false)
        self._jump(op, false)

    def _jump(self, op: Operation, target: Block) -> None:
        if block_of(op).next_block is not target:
            self.lines.append(f"bra {self._label(target)};")

    def _copy(self, values: Sequence[SSAValue], target: Block) -> None:
        """All at once: no register is overwritten while its old value is still to be copied."""
        kinds = {self.name(each): ptx.register_of(each) for each in target.args}
        pairs = zip(target.args, values, strict=True)
        own = [(self.name(to), self.name(of)) for to, of in pairs if to is not of]
        for to, source in in_order(own, lambda name: self._fresh(kinds[name])):
            self._move(kinds[source if to not in kinds else to], to, source)

    def _move(self, register: RegisterClass, to: str, source: str) -> None:
        self.lines.append(f"mov.{register} {to}, {source};")


def _needs_register(op: ptx.ConstOp) -> bool:
    """True if a constant cannot be written in the place of an operand everywhere.

    Predicates have no literals, an instruction on floats would take the bits for an integer, and
    ptxas takes a number for an address in few state spaces.
    """
    if ptx.register_of(op.dst) is RegisterClass.PRED:
        return True
    return any(
        type(use.operation) not in _TAKES_NUMBERS
        or _is_on_floats(use.operation)
        or (isinstance(use.operation, ptx.StoreOp) and use.operation.addr is op.dst)
        for use in op.dst.uses
    )


def _is_on_floats(op: Operation) -> bool:
    return isinstance(op, ptx.AluOp) and op.decoded.type.startswith("f")


_TAKES_NUMBERS = frozenset({ptx.AluOp, ptx.StoreOp, ptx.BranchOp, ptx.CondBranchOp})


def _reason(op: Operation) -> str:
    if not isinstance(op, ptx.SynchronisingOp | ptx.SequenceOp) or op.phase is None:
        return ""
    source = "" if op.source is None else f": {op.source.data}"
    remarks: Iterable[str] = () if op.remarks is None else (each.data for each in op.remarks)
    return f" // {op.phase.data}{source}" + "".join(f"; {each}" for each in remarks)


_LINES: Mapping[type[Operation], Callable[[_Printer, Operation], None]] = MappingProxyType(
    {
        ptx.LoadOp: _Printer.instruction,
        ptx.StoreOp: _Printer.instruction,
        ptx.AtomicOp: _Printer.instruction,
        ptx.FenceOp: _Printer.instruction,
        ptx.BarrierOp: _Printer.instruction,
        ptx.AluOp: _Printer.alu,
        ptx.SequenceOp: _Printer.sequence,
        ptx.ConstOp: _Printer.const,
        ptx.ParamOp: _Printer.param,
        ptx.SpecialOp: _Printer.special,
        ptx.AddressOfOp: _Printer.addressof,
        ptx.LocalOp: _Printer.local,
        ptx.BranchOp: _Printer.branch,
        ptx.CondBranchOp: _Printer.cond_branch,
        ptx.RetOp: _Printer.ret,
    }
)
PRINTED = frozenset(_LINES)
"""The operations that a kernel may have."""
