"""Litmus tests on ``scoped``, ``arith`` and ``cf`` as programs of the source model."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypedDict, cast

from xdsl.dialects import arith, cf, func, gpu
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Scope
from fencewright.mlir_dialects import litmus, scoped
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.litmus.programs import (
    Labels,
    Listing,
    TestCode,
    ThreadCode,
    check_argument,
    check_executed,
    location_of,
    names_of_values,
    number_of,
    place_of,
    register_of,
    unreadable,
)
from fencewright.simulator.core.program import (
    RMW,
    WORD_MASK,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Move,
    Operand,
    Program,
    Thread,
)
from fencewright.simulator.core.words import TOO_WIDE, fits_word
from fencewright.simulator.litmus_run import SourceTest
from fencewright.simulator.source import events as source

_END = "end"


def read_source(code: TestCode) -> SourceTest:
    """The test; raises ``DiagnosticException`` at a feature that the source model lacks."""
    check_executed(code)
    threads = tuple(map(_thread, code.threads))
    program = Program(code.locations, threads, code.observed, code.name)
    return SourceTest(LitmusTest(program, code.condition))


def _thread(code: ThreadCode) -> Thread[source.ScopedInstruction]:
    reader = _SourceReader(code)
    instructions = reader.read()
    placement = code.thread.placement.resolve(code.number)
    return Thread(placement, instructions, reader.listing.places)


class _SourceReader:
    """One thread; ``operands`` has every value as an operand, ``pointers`` the location of each."""

    def __init__(self, code: ThreadCode):
        self.code = code
        self.listing: Listing[source.ScopedInstruction] = Listing()
        self.blocks = reachable_blocks(code.body)
        self.labels = Labels(self.blocks)
        names = names_of_values(code.body, code.registers)
        self.operands: dict[SSAValue, Operand] = {v: f"%{name}" for v, name in names.items()}
        self.pointers: dict[SSAValue, str] = {}
        self.results: dict[SSAValue, str] = {}
        entry = self.blocks[0]
        if len(entry.args) != len(code.arguments):
            unreadable(
                code.thread,
                f"the kernel takes {len(entry.args)} arguments, the thread binds "
                f"{len(code.arguments)}",
            )
        for argument, bound_to in zip(entry.args, code.arguments, strict=True):
            is_value = not isinstance(argument.type, LLVMPointerType)
            check_argument(code, argument.index, argument.type, is_value)
            if (value := number_of(bound_to)) is not None:
                if not fits_word(value):
                    unreadable(
                        code.thread, f"{value} {TOO_WIDE}, as all values of a litmus test do"
                    )
                self.operands[argument] = value & WORD_MASK
            elif (location := location_of(bound_to)) is not None:
                self.pointers[argument] = location
            elif (register := register_of(bound_to)) is not None:
                self.results[argument] = register

    def read(self) -> tuple[source.ScopedInstruction, ...]:
        """The thread's instructions."""
        for number, block in enumerate(self.blocks):
            if number:
                self.listing.add(Label(self.labels[block]))
            following = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            for op in block.ops:
                self.operation(op, following)
        self.listing.add(Label(_END))
        return tuple(self.listing.instructions)

    def operation(self, op: Operation, following: Block | None) -> None:
        """Append the steps of ``op``."""
        self.listing.place = place_of(op)
        match op:
            case arith.ConstantOp():
                self.constant(op)
            case litmus.AddressOp():
                self.pointers[op.pointer] = op.location_name.string_value()
            case litmus.ObserveOp():
                self.listing.add(Move(op.register.data, self.operands[op.value]))
            case litmus.EndOp() | func.ReturnOp() | gpu.ReturnOp():
                if following is not None:
                    self.listing.add(Branch(_END))
            case cf.BranchOp():
                self.jump(op.successor, op.arguments, following)
            case cf.ConditionalBranchOp():
                self.branch(op, following)
            case scoped.LoadOp() | scoped.StoreOp() | scoped.AtomicRmwOp() | scoped.CmpxchgOp():
                self.access(op)
            case scoped.FenceOp():
                ordering, scope = _synchronises(op)
                self.listing.add(source.Fence(ordering, scope, **_options(op)))
            case scoped.BarrierOp():
                ordering, scope = _synchronises(op)
                self.listing.add(source.Barrier(scope, ordering, **_options(op)))
            case _:
                self.arithmetic(op)

    # Arithmetic

    def constant(self, op: arith.ConstantOp) -> None:
        if not isinstance(op.value, IntegerAttr):
            unreadable(op, f"the simulator has no constants of {op.result.type}")
        value = op.value.value.data
        if not fits_word(value):
            unreadable(op, f"{value} {TOO_WIDE}, as all values of a litmus test do")
        self.operands[op.result] = value & (1 if op.result.type == i1 else WORD_MASK)

    def arithmetic(self, op: Operation) -> None:
        handler = _ARITHMETIC.get(type(op))
        if handler is None:
            unreadable(op, f"the source model does not have '{op.name}'")
        for value in (*op.operands, *op.results):
            if scoped.width_of(value.type) not in (1, 32):
                unreadable(op, f"the simulator computes on i32 and i1, not {value.type}")
        if op.operands[0].type == i1 and not isinstance(op, _ON_BITS):
            unreadable(op, f"the simulator has no '{op.name}' on i1")
        value = handler(self.listing, op, tuple(self.operands[each] for each in op.operands))
        self.listing.assign(self.name(op.results[0]), value)

    # Control

    def jump(self, target: Block, values: Sequence[SSAValue], following: Block | None) -> None:
        """Go to ``target``, which need not be said when it comes next."""
        self.listing.move(
            (self.name(argument), self.operands[value])
            for argument, value in zip(target.args, values, strict=True)
        )
        if target is not following:
            self.listing.add(Branch(self.labels[target]))

    def branch(self, op: cf.ConditionalBranchOp, following: Block | None) -> None:
        condition = self.operands[op.cond]
        if not op.then_arguments:
            self.listing.add(Branch(self.labels[op.then_block], condition))
            self.jump(op.else_block, op.else_arguments, following)
            return
        edge = self.labels.edge()
        self.listing.add(Branch(edge, condition))
        self.jump(op.else_block, op.else_arguments, None)
        self.listing.add(Label(edge))
        self.jump(op.then_block, op.then_arguments, following)

    # Memory

    def access(self, op: scoped.AccessOperation) -> None:
        """A load, store, read-modify-write or compare-exchange."""
        add, operands = self.listing.add, self.operands
        pointer = op.operands[1] if isinstance(op, scoped.StoreOp) else op.operands[0]
        if scoped.width_of(op.value_type) != 32:
            unreadable(op, f"a location holds an i32; it cannot be accessed as {op.value_type}")
        if pointer in self.results:
            self.result(op, self.results[pointer])
            return
        if pointer not in self.pointers:
            unreadable(op, "the address must be that of one of the test's locations")
        location = self.pointers[pointer]
        ordering, scope = op.ordering.data, None if op.scope is None else op.scope.data
        options, volatile = _options(op), op.volatile is not None
        match op:
            case scoped.LoadOp():
                add(
                    source.Load(self.name(op.value), location, ordering, scope, volatile, **options)
                )
            case scoped.StoreOp():
                add(
                    source.Store(location, operands[op.value], ordering, scope, volatile, **options)
                )
            case scoped.AtomicRmwOp():
                kind = op.kind.data
                if kind not in RMW:
                    unreadable(op, f"the simulator computes on integers, not {kind}")
                assert scope is not None
                old = self.name(op.old) if op.old.first_use else None
                value = operands[op.value]
                add(source.AtomicRmw(kind, location, value, ordering, scope, old, **options))
            case scoped.CmpxchgOp():
                self.cmpxchg(op, location)
            case _:
                unreadable(op, f"the source model does not have '{op.name}'")

    def cmpxchg(self, op: scoped.CmpxchgOp, location: str) -> None:
        ordering, scope = _synchronises(op)
        self.listing.add(
            source.Cmpxchg(
                location,
                self.operands[op.compare],
                self.operands[op.new],
                ordering,
                op.failure_ordering.data,
                scope,
                self.name(op.old) if op.old.first_use else None,
                self.name(op.success) if op.success.first_use else None,
                op.weak is not None,
                **_options(op),
            )
        )

    def name(self, value: SSAValue) -> str:
        """The register of a value that is not a constant."""
        register = self.operands[value]
        assert isinstance(register, str)
        return register

    def result(self, op: Operation, register: str) -> None:
        """A store through an argument that is bound to a register."""
        if not isinstance(op, scoped.StoreOp) or op.ordering.data is not Ordering.WEAK:
            unreadable(op, f"the argument bound to {register} may only be stored to, weakly")
        self.listing.add(Move(register, self.operands[op.value]))


def _synchronises(op: scoped.ScopedOperation) -> tuple[Ordering, Scope]:
    """The ordering and scope of an operation that is not weak."""
    assert op.scope is not None
    return op.ordering.data, op.scope.data


class _OperationOptions(TypedDict, total=False):
    one_as: bool
    spaces: frozenset[AddressSpace]
    availability: Availability


def _options(op: scoped.ScopedOperation) -> _OperationOptions:
    options = _OperationOptions(one_as=op.one_as is not None)
    if op.spaces is not None:
        options["spaces"] = frozenset(each.data for each in op.spaces)
    if op.availability is not None:
        options["availability"] = op.availability.data
    return options


_Handler = Callable[[Listing[source.ScopedInstruction], Operation, tuple[Operand, ...]], Operand]


def _binary(kind: ArithmeticKind) -> _Handler:
    return lambda listing, op, operands: listing.compute(kind, *operands)


def _extreme(predicate: str, signed: bool) -> _Handler:
    return lambda listing, op, operands: listing.extreme(predicate, signed, *operands)


_PREDICATES = (
    ("eq", False), ("ne", False), ("lt", True), ("le", True), ("gt", True), ("ge", True),
    ("lt", False), ("le", False), ("gt", False), ("ge", False),
)  # fmt: skip


def _compare(
    listing: Listing[source.ScopedInstruction], op: Operation, operands: tuple[Operand, ...]
) -> Operand:
    predicate, signed = _PREDICATES[cast(arith.CmpiOp, op).predicate.value.data]
    return listing.compare(predicate, signed, *operands)


def _truncate(
    listing: Listing[source.ScopedInstruction], op: Operation, operands: tuple[Operand, ...]
) -> Operand:
    return listing.compute(ArithmeticKind.AND, operands[0], 1)


_ARITHMETIC: Mapping[type[Operation], _Handler] = MappingProxyType(
    {
        arith.AddiOp: _binary(ArithmeticKind.ADD),
        arith.SubiOp: _binary(ArithmeticKind.SUB),
        arith.MuliOp: _binary(ArithmeticKind.MUL),
        arith.AndIOp: _binary(ArithmeticKind.AND),
        arith.OrIOp: _binary(ArithmeticKind.OR),
        arith.XOrIOp: _binary(ArithmeticKind.XOR),
        arith.MinUIOp: _extreme("lt", signed=False),
        arith.MaxUIOp: _extreme("gt", signed=False),
        arith.MinSIOp: _extreme("lt", signed=True),
        arith.MaxSIOp: _extreme("gt", signed=True),
        arith.CmpiOp: _compare,
        arith.SelectOp: lambda listing, op, operands: listing.select(*operands),
        arith.ExtUIOp: lambda listing, op, operands: operands[0],
        arith.TruncIOp: _truncate,
    }
)
"""The arithmetic of the source model, on words; i1 is 0 or 1."""

_ON_BITS = (arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.SelectOp, arith.ExtUIOp)
