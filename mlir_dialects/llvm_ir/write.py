"""``scoped`` and ``llvm_ir`` operations to LLVM IR text."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NoReturn

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import ParseError

from fencewright.lowering.llvm.architecture import UNKNOWN, UNORDERED, architecture_of, triples_in
from fencewright.lowering.vocabulary import Availability, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.mlir_dialects.llvm_ir.newer import with_own_names
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.mlir_dialects.llvm_ir.text import (
    AV_TAG,
    NO_SOURCE_FILE,
    NODE,
    ORDERING_TEXT,
    SYNCHRONIZE_AS,
    SYNCHRONIZE_AS_SPACES,
    TranslationError,
    quote_name,
)


def export_llvm_ir(module: ModuleOp) -> str:
    """``module`` as LLVM IR, parsed and verified by LLVM and printed as LLVM prints it.

    Raises ``TranslationError`` for an operation that LLVM IR has no words for, and for a
    module that LLVM rejects.
    """
    return as_llvm_prints(write_llvm_ir(module))


def write_llvm_ir(module: ModuleOp) -> str:
    """``module`` as LLVM IR that LLVM has not seen yet. Raises ``TranslationError``."""
    return ModuleWriter().write(module)


def as_llvm_prints(text: str) -> str:
    """Exported ``text``, parsed, verified and printed by LLVM. Raises ``TranslationError``."""
    try:
        with llvm_module(text, "<exported>") as exported:
            lines = with_own_names(str(exported)).splitlines()
    except ParseError as problem:
        line = text.splitlines()[problem.span.get_location().line - 1].strip()
        raise TranslationError(
            f"LLVM rejects the exported module: {problem.msg}, in '{line}'"
        ) from problem
    kept = [line for line in lines[1:] if line != NO_SOURCE_FILE]
    return "\n".join([*kept, ""]).lstrip("\n")


class ModuleWriter:
    """Writes the lines of a module; metadata that was made meanwhile comes last."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        self.first_node = 0
        self.architecture = UNKNOWN

    def begin(self, top_level: Iterable[str], text: str) -> None:
        """Write for the lines of ``top_level``; ``text`` has the nodes that there are."""
        self.architecture = architecture_of(triples_in(top_level))
        nodes = (int(node[1][1:]) for node in NODE.finditer(text))
        self.first_node = max(nodes, default=-1) + 1

    def write(self, module: ModuleOp) -> str:
        """The text of the module."""
        lines: list[str] = []
        top_level = [op.text.data for op in module.body.ops if isinstance(op, llvm_ir.TopLevelOp)]
        self.begin(top_level, "\n".join(top_level))
        for op in module.body.ops:
            match op:
                case llvm_ir.TopLevelOp():
                    lines.append(op.text.data)
                case llvm_ir.FuncOp():
                    lines.extend(FunctionWriter(self, op).lines())
                case _:
                    _refuse(op, "only llvm_ir.top_level and llvm_ir.func stand in a module")
        return "\n".join([*lines, *self.node_lines(), ""])

    def node_lines(self) -> Iterator[str]:
        """The metadata that was made meanwhile."""
        return (f"!{number} = {text}" for text, number in self.nodes.items())

    def node(self, text: str) -> str:
        """The reference to a metadata node of this ``text``."""
        number = self.nodes.setdefault(text, self.first_node + len(self.nodes))
        return f"!{number}"


def _instructions_of(op: Operation) -> list[str]:
    from fencewright.mlir_dialects.cdna import SynchronisingOp, WaitOp

    is_code = isinstance(op, SynchronisingOp | WaitOp)
    return [each.text for each in op.lines] if is_code else []


_INSTRUCTIONS = OfAlike(_instructions_of)


class FunctionWriter:
    """Writes one function: first every value and block gets its name, then line by line."""

    def __init__(self, writer: ModuleWriter, function: llvm_ir.FuncOp):
        self.writer = writer
        self.function = function
        self.labels: dict[Block, str] = {}
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.counters: dict[str, int] = {}
        self.structs: dict[Operation, str] = {}
        self.casts: list[UnrealizedConversionCastOp] = []

    def lines(self) -> Iterator[str]:
        """The lines of the function."""
        self.name_everything()
        blocks = self.function.body.blocks
        arguments = [self.names[argument] for argument in blocks[0].args]
        symbol = quote_name(self.function.sym_name.data)
        header = llvm_ir.parse_template(self.function.text.data)
        yield f"{header.fill(arguments, symbol=symbol)} {{"
        for block in blocks:
            yield f"{self.labels[block]}:"
            for machine_code, ops in groupby(block.ops, is_machine_code):
                if machine_code:
                    yield from (f"  {line}" for line in self.write_assembly(ops))
                    continue
                lines = map(self.line, ops)
                yield from (f"  {line}" for line in lines if line is not None)
        yield "}"

    def line(self, op: Operation) -> str | None:
        """The text of ``op`` in LLVM IR; None if it is only there for others."""
        if (text := llvm_ir.text_of(op)) is not None:
            return self._with_result(op, text)
        if (write := _WRITE.get(type(op))) is not None:
            return write(self, op)
        if type(op) not in _WITHOUT_A_LINE:
            _refuse(op, "only scoped, llvm_ir, ptx's and cdna's synchronisation can")
        return None

    # Names

    def name_everything(self) -> None:
        """Give every value and block a name that has none yet."""
        blocks = self.function.body.blocks
        for block in blocks:
            if block not in self.labels and isinstance(label := block.first_op, llvm_ir.LabelOp):
                self.labels[block] = label.text.data
                self.taken.add(label.text.data)
        for block in blocks:
            if block not in self.labels:
                self.labels[block] = self._fresh(block.name_hint or "bb")
            if block.args and block is not blocks.first:
                _refuse(
                    self.function, "a block other than the first has arguments: use llvm_ir phis"
                )
            for argument in block.args:
                if argument in self.names:
                    continue
                self.names[argument] = f"%{self._fresh(argument.name_hint or 'arg')}"
            for op in operations(block):
                if op.results:
                    self._name_results(op)
        for cast in self.casts:
            self.names[cast.results[0]] = self.names[without_casts(cast.operands[0])]

    def _name_results(self, op: Operation) -> None:
        if isinstance(op, UnrealizedConversionCastOp):
            if not len(op.operands) == len(op.results) == 1:
                _refuse(op, "one register is for one value")
            if not any(type.name == _REGISTER for type in (*op.operand_types, *op.result_types)):
                _refuse(op, "only a value and the PTX register of it are cast to each other")
            self.casts.append(op)
            return
        if isinstance(op, llvm_ir.ConstantOp):
            self.names.setdefault(op.result, op.text.data)
        elif isinstance(op, llvm_ir.PackOp):
            cmpxchg = op.old.owner
            if not isinstance(cmpxchg, scoped.CmpxchgOp) or op.success is not cmpxchg.success:
                _refuse(op, "its operands are not the two results of one scoped.cmpxchg")
            self.names[op.result] = self._struct(cmpxchg)
        elif isinstance(op, scoped.CmpxchgOp):
            for result, hint in zip(op.results, ("old", "success"), strict=True):
                if _is_taken_out(result):
                    self.names[result] = f"%{self._fresh(result.name_hint or hint)}"
        else:
            for result in op.results:
                if result in self.names:
                    continue
                name = self._name_of_cast(result) if op.name in _PTX else None
                self.names[result] = name or f"%{self._fresh(result.name_hint or 'v')}"

    def _name_of_cast(self, register: SSAValue) -> str | None:
        """The name of an integer that a register is cast to, if it has got one."""
        casts = (use.operation for use in register.uses)
        integers = (op.results[0] for op in casts if isinstance(op, UnrealizedConversionCastOp))
        return next(filter(None, map(self.names.get, integers)), None)

    def _struct(self, cmpxchg: scoped.CmpxchgOp) -> str:
        """The name of the struct that LLVM's cmpxchg returns."""
        if cmpxchg not in self.structs:
            packs = (use.operation for use in cmpxchg.old.uses)
            pack = next((op for op in packs if isinstance(op, llvm_ir.PackOp)), None)
            hint = pack.result.name_hint if pack else None
            self.structs[cmpxchg] = f"%{self._fresh(hint or 'pair')}"
        return self.structs[cmpxchg]

    def _fresh(self, hint: str) -> str:
        name = hint
        while name in self.taken:
            self.counters[hint] = number = self.counters.get(hint, 0) + 1
            name = f"{hint}_{number}"
        self.taken.add(name)
        return name

    # Operations

    def write_assembly(self, ops: Iterable[Operation]) -> Iterator[str]:
        """Operations of a target that stand together as inline assembly."""
        return map(self._one_assembly, _together(ops))

    def _one_assembly(self, ops: Sequence[Operation]) -> str:
        line = ops[0].attributes.get(llvm_ir.METADATA)
        ending = f", {line.data}" if isinstance(line, StringAttr) else ""
        # All waves of a work-group have to meet at one and the same barrier.
        convergent = " convergent" if any(op.name in _BARRIERS for op in ops) else ""
        write = self._inline_ptx if any(op.name in _PTX for op in ops) else self._inline_cdna
        return f"{write(ops)}{convergent}{ending}"

    def _inline_cdna(self, ops: Sequence[Operation]) -> str:
        text = "\\0A".join([each for op in ops for each in _INSTRUCTIONS(op)])
        values = [self._typed(op.value) for op in ops if isinstance(op, llvm_ir.AwaitOp)]
        # The first wave of its work-group at a barrier is marked in scc.
        scc = ["~{scc}"] * ("_isfirst" in text)
        constraints = ",".join(["v"] * len(values) + ["~{memory}", *scc])
        return f'call void asm sideeffect "{text}", "{constraints}"({", ".join(values)})'

    def _inline_ptx(self, ops: Sequence[Operation]) -> str:
        from fencewright.mlir_dialects.llvm_ir.ptx_assembly import inline_ptx

        call = inline_ptx(ops, self.names)
        results = [self.names[each] for op in ops for each in op.results]
        return f"{results[0]} = {call}" if results else call

    def write_inst(self, op: llvm_ir.InstOp | llvm_ir.TerminatorOp) -> str:
        names = self.names
        operands = [names[operand] for operand in op.operands]
        successors = [f"%{self.labels[block]}" for block in op.successors]
        text = llvm_ir.parse_template(op.text.data).fill(operands, successors)
        return f"{names[op.results[0]]} = {text}" if op.results else text

    def _with_result(self, op: Operation, template: str) -> str:
        """The call that ``op`` was; one that gives nothing has no result, though ``op`` may."""
        text = llvm_ir.parse_template(template).fill([self.names[each] for each in op.operands])
        gives = op.results and " call void " not in f" {text}"
        return f"{self.names[op.results[0]]} = {text}" if gives else text

    def write_load(self, op: scoped.LoadOp) -> str:
        type, pointer = llvm_ir.type_to_text(op.value.type), self._typed(op.pointer)
        return f"{self.names[op.value]} = load{self._words(op)} {type}, {pointer}{self._tail(op)}"

    def write_store(self, op: scoped.StoreOp) -> str:
        value, pointer = self._typed(op.value), self._typed(op.pointer)
        return f"store{self._words(op)} {value}, {pointer}{self._tail(op)}"

    def write_atomic_rmw(self, op: scoped.AtomicRmwOp) -> str:
        volatile = " volatile" if op.volatile else ""
        operands = f"{op.kind.data} {self._typed(op.pointer)}, {self._typed(op.value)}"
        return f"{self.names[op.old]} = atomicrmw{volatile} {operands}{self._tail(op)}"

    def write_fence(self, op: scoped.FenceOp) -> str:
        return f"fence{self._tail(op)}"

    def write_barrier(self, op: scoped.BarrierOp) -> NoReturn:
        _refuse(op, "LLVM IR has no barrier; lower it first with lower-scoped-llvm-ir")

    def write_cmpxchg(self, op: scoped.CmpxchgOp) -> str:
        struct = self._struct(op)
        flags = f"{' weak' if op.weak else ''}{' volatile' if op.volatile else ''}"
        operands = ", ".join(map(self._typed, op.operands))
        line = f"{struct} = cmpxchg{flags} {operands}{self._tail(op)}"
        return "\n  ".join([line, *self.taken_out(op)])

    def taken_out(self, op: scoped.CmpxchgOp) -> list[str]:
        """The lines that take the results out of the struct which are used by themselves."""
        struct, type = self._struct(op), f"{{ {llvm_ir.type_to_text(op.old.type)}, i1 }}"
        return [
            f"{self.names[result]} = extractvalue {type} {struct}, {index}"
            for index, result in enumerate(op.results)
            if _is_taken_out(result)
        ]

    def _typed(self, value: SSAValue) -> str:
        return f"{llvm_ir.type_to_text(value.type)} {self.names[value]}"

    def _words(self, op: scoped.LoadOp | scoped.StoreOp) -> str:
        weak = op.ordering.data is Ordering.WEAK and llvm_ir.UNORDERED not in op.attributes
        atomic = "" if weak else " atomic"
        return f"{atomic} volatile" if op.volatile else atomic

    def _tail(self, op: scoped.ScopedOperation) -> str:
        """Everything after the operands: syncscope, orderings, alignment, metadata."""
        parts: list[str] = []
        if (scope := op.scope) is not None:
            names = self.writer.architecture.syncscope_of
            one_as = op.one_as is not None
            if (scope.data, one_as) not in names:
                what = f"one-as {scope.data}" if one_as else scope.data
                _refuse(op, f"this architecture's LLVM IR has no syncscope for {what}")
            syncscope = names[scope.data, one_as]
            if syncscope is not None:
                parts.append(f' syncscope("{syncscope}")')
            parts.append(f" {ORDERING_TEXT[op.ordering.data]}")
        elif isinstance(syncscope := op.attributes.get(llvm_ir.UNORDERED), StringAttr):
            if syncscope.data:
                parts.append(f' syncscope("{syncscope.data}")')
            parts.append(f" {UNORDERED}")
        if isinstance(op, scoped.CmpxchgOp):
            parts.append(f" {ORDERING_TEXT[op.failure_ordering.data]}")
        if isinstance(op, scoped.AccessOperation) and (alignment := self._alignment(op)):
            parts.append(f", align {alignment}")
        parts.extend(f", {attachment}" for attachment in self._metadata(op))
        return "".join(parts)

    def _alignment(self, op: scoped.AccessOperation) -> int | None:
        if op.alignment is not None:
            return op.alignment.value.data
        if op.ordering.data is Ordering.WEAK:
            return None
        width = scoped.width_of(op.value_type)
        if width is None:
            _refuse(op, "an atomic access of a pointer needs an alignment: {alignment = 8}")
        return width // 8

    def _metadata(self, op: scoped.ScopedOperation) -> Iterator[str]:
        kept = op.attributes.get(llvm_ir.METADATA)
        if isinstance(kept, StringAttr):
            yield kept.data
        if "nontemporal" in op.properties:
            yield f"!nontemporal {self.writer.node('!{i32 1}')}"
        tags: list[tuple[str, str]] = []
        if op.spaces is not None:
            if not isinstance(op, scoped.FenceOp):
                _refuse(op, "only on a fence can LLVM IR restrict the address spaces")
            for space in op.spaces:
                if space.data not in SYNCHRONIZE_AS_SPACES:
                    _refuse(op, f"LLVM IR cannot restrict a fence to {space.data}")
                tags.append((SYNCHRONIZE_AS, space.data))
        if op.availability is not None and op.availability.data is Availability.NONE:
            tags.append(AV_TAG)
        nodes = [self.writer.node(f'!{{!"{prefix}", !"{suffix}"}}') for prefix, suffix in tags]
        if nodes:
            node = nodes[0] if len(nodes) == 1 else self.writer.node(f"!{{{', '.join(nodes)}}}")
            yield f"!mmra {node}"


_WRITE: dict[type[Operation], Callable[[FunctionWriter, Any], str]] = {
    llvm_ir.InstOp: FunctionWriter.write_inst,
    llvm_ir.TerminatorOp: FunctionWriter.write_inst,
    scoped.LoadOp: FunctionWriter.write_load,
    scoped.StoreOp: FunctionWriter.write_store,
    scoped.AtomicRmwOp: FunctionWriter.write_atomic_rmw,
    scoped.CmpxchgOp: FunctionWriter.write_cmpxchg,
    scoped.FenceOp: FunctionWriter.write_fence,
    scoped.BarrierOp: FunctionWriter.write_barrier,
}
_BARRIERS = frozenset({"cdna.barrier", "ptx.barrier"})
_PTX = frozenset(
    {f"ptx.{name}" for name in ("load", "store", "atomic", "fence", "barrier", "sequence")}
)
_REGISTER = "ptx.reg"
_MACHINE_CODE = _PTX | {
    "cdna.cache",
    "cdna.s_waitcnt",
    "cdna.barrier",
    llvm_ir.AwaitOp.name,
    llvm_ir.ClobberOp.name,
}
"""The names of operations whose dialect is imported only where there are some."""
_WITHOUT_A_LINE = (
    llvm_ir.LabelOp,
    llvm_ir.ConstantOp,
    llvm_ir.PackOp,
    UnrealizedConversionCastOp,
)


def is_machine_code(op: Operation) -> bool:
    return op.name in _MACHINE_CODE


def _together(ops: Iterable[Operation]) -> Iterator[Sequence[Operation]]:
    """Runs of operations that become one inline assembly: one value, at one debug location.

    Waits of AMD and what is around them are all one.
    """
    run: list[Operation] = []
    for op in ops:
        if run and not _goes_with(run[-1], op):
            yield run
            run = []
        run.append(op)
    yield run


def _goes_with(before: Operation, op: Operation) -> bool:
    if op.name not in _PTX:
        return True
    return not before.results and (
        before.attributes.get(llvm_ir.METADATA) == op.attributes.get(llvm_ir.METADATA)
    )


def without_casts(value: SSAValue) -> SSAValue:
    """The value before all casts."""
    while isinstance(owner := value.owner, UnrealizedConversionCastOp):
        value = owner.operands[0]
    return value


def _is_taken_out(result: SSAValue) -> bool:
    """True if one result of a ``scoped.cmpxchg`` is used by itself, not in the struct of both."""
    return any(not isinstance(use.operation, llvm_ir.PackOp) for use in result.uses)


def _refuse(op: Operation, reason: str) -> NoReturn:
    message = f"{op.name} cannot be written as LLVM IR: {reason}"
    op.emit_error(message, TranslationError(message))
