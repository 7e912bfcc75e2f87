"""Programs of ``simulator.random.programs`` as litmus tests on ``scoped``."""

from collections.abc import Iterator
from typing import TypedDict

from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import (
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from fencewright.lowering.vocabulary import AddressSpace, Availability
from fencewright.mlir_dialects import litmus, scoped
from fencewright.mlir_dialects.attributes import AddressSpaceAttr
from fencewright.simulator.core.program import Location, MemoryKind, Placement
from fencewright.simulator.core.program import Operand as Value
from fencewright.simulator.random import programs
from fencewright.simulator.source import events as source

NAME = "t"
"""The name of the test."""


def build(program: programs.SmallProgram) -> ModuleOp:
    """A module with the program as a litmus test, in which every register that is set is
    observed."""
    spaces = {each.name: each.space for each in program.locations}
    parts: list[Operation] = [_location(each) for each in program.locations]
    for number, thread in enumerate(program.threads):
        body = _Body(thread, spaces).build()
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(f"P{number}"),
            "placement": _placement(thread.placement),
        }
        parts.append(litmus.ThreadOp.create(properties=properties, regions=[body]))
    test = litmus.TestOp.create(
        properties={"sym_name": StringAttr(NAME)}, regions=[Region(Block(parts))]
    )
    return ModuleOp([test])


def _location(location: Location) -> litmus.LocationOp:
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(location.name),
        "initial": IntegerAttr(location.initial, i32),
    }
    if location.space is not AddressSpace.GLOBAL:
        properties["space"] = AddressSpaceAttr(location.space)
        properties["workgroup"] = IntegerAttr(location.workgroup, i32)
    if location.kind is not MemoryKind.NONLOCAL:
        properties["kind"] = StringAttr(location.kind)
    return litmus.LocationOp.create(properties=properties)


def _placement(place: Placement) -> litmus.PlacementAttr:
    workgroup, xcd, cu, agent = map(IntAttr, (place.workgroup, place.xcd, place.cu, place.agent))
    # A work-group that is a cluster of its own is what is meant where none is said.
    if place.cluster is None or place.cluster == place.workgroup:
        return litmus.PlacementAttr(workgroup, xcd, cu, agent, NoneAttr())
    return litmus.PlacementAttr(workgroup, xcd, cu, agent, IntAttr(place.cluster))


class _Body:
    """One thread that is being built: ``values`` of its registers so far, ``block`` to append
    to."""

    def __init__(self, thread: programs.SmallThread, spaces: dict[str, AddressSpace]):
        self.steps = thread.steps
        self.entry = Block()
        self.region = Region(self.entry)
        self.block = self.entry
        self.values: dict[str, SSAValue] = {}
        self.pointers: dict[str, SSAValue] = {}
        self.constants: dict[int, SSAValue] = {}
        for name in sorted({each.location for each in programs.accesses(thread.steps)}):
            space = AddressSpace.GENERIC if name in thread.generic else spaces[name]
            address = litmus.AddressOp.create(
                properties={"location_name": SymbolRefAttr(name)},
                result_types=[LLVMPointerType(IntAttr(space.number))],
            )
            address.pointer.name_hint = name
            self.entry.add_op(address)
            self.pointers[name] = address.pointer
        for value in sorted(set(_constants(thread.steps))):
            constant = ConstantOp.from_int_and_width(value, i32)
            constant.result.name_hint = f"c{value}"
            self.entry.add_op(constant)
            self.constants[value] = constant.result

    def build(self) -> Region:
        """The thread's body."""
        for step in self.steps:
            self.step(step)
        self.end(self.block)
        return self.region

    def new_block(self, *types: Attribute) -> Block:
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    def value(self, value: Value) -> SSAValue:
        return self.constants[value] if isinstance(value, int) else self.values[value]

    def set(self, register: str | None, value: SSAValue) -> None:
        if register is not None:
            value.name_hint = register
            self.values[register] = value

    def is_equal(self, value: SSAValue, other: int) -> SSAValue:
        compare = CmpiOp(value, self.constants[other], "eq")
        self.block.add_op(compare)
        return compare.result

    def end(self, block: Block) -> None:
        """Observe the registers that have been set, and end."""
        for register, value in self.values.items():
            observe = litmus.ObserveOp.create(
                operands=[value], properties={"register": StringAttr(register)}
            )
            block.add_op(observe)
        block.add_op(litmus.EndOp.create())

    def step(self, step: programs.Step) -> None:
        match step:
            case programs.When():
                here, go, stop = self.block, self.new_block(), self.new_block()
                condition = self.is_equal(self.values[step.register], step.value)
                here.add_op(ConditionalBranchOp(condition, go, [], stop, []))
                self.end(stop)
                self.block = go
            case programs.Maybe():
                here, then = self.block, self.new_block()
                condition = self.is_equal(self.values[step.register], step.value)
                self.unobserved(then, step.steps)
                after = self.new_block()
                self.block.add_op(BranchOp(after))
                here.add_op(ConditionalBranchOp(condition, then, [], after, []))
                self.block = after
            case programs.Repeat():
                self.repeat(step)
            case programs.Spin():
                loop = self.loop()
                self.step(step.load)
                self.until(self.is_equal(self.values[step.load.dst], step.value), loop)
            case programs.Retry():
                loop = self.loop()
                succeeded = self.exchange(step.exchange)
                if not step.busy:
                    self.until(succeeded, loop)
                    return
                here, again, done = self.block, self.new_block(), self.new_block()
                here.add_op(ConditionalBranchOp(succeeded, done, [], again, []))
                self.unobserved(again, step.busy)
                self.block.add_op(BranchOp(loop))
                self.block = done
            case programs.Attempt():
                succeeded = self.exchange(step.exchange)
                for each in step.first:
                    self.step(each)
                here, go, stop = self.block, self.new_block(), self.new_block()
                here.add_op(ConditionalBranchOp(succeeded, go, [], stop, []))
                self.unobserved(stop, step.failed)
                self.end(self.block)
                self.block = go
            case _:
                self.operation(step)

    def unobserved(self, block: Block, steps: programs.Steps) -> None:
        """Steps in a block of their own whose registers are not known after it."""
        known = dict(self.values)
        self.block = block
        for each in steps:
            self.step(each)
        self.values = known

    def loop(self) -> Block:
        """A new block that control comes to from here, and goes on in."""
        loop = self.new_block()
        self.block.add_op(BranchOp(loop))
        self.block = loop
        return loop

    def until(self, condition: SSAValue, loop: Block) -> None:
        done = self.new_block()
        self.block.add_op(ConditionalBranchOp(condition, done, [], loop, []))
        self.block = done

    def repeat(self, step: programs.Repeat) -> None:
        loop = self.new_block(i32)
        self.block.add_op(BranchOp(loop, self.constants[0]))
        self.block = loop
        for each in step.steps:
            self.step(each)
        done = self.new_block()
        following = AddiOp(loop.args[0], self.constants[1])
        more = CmpiOp(following.result, self.constants[step.times], "ult")
        again = ConditionalBranchOp(more, loop, [following.result], done, [])
        self.block.add_ops([following, more, again])
        self.block = done

    def operation(self, step: source.ScopedOperation) -> None:
        options = _options(step)
        match step:
            case source.Load():
                how = (step.ordering, step.scope)
                pointer = self.pointers[step.location]
                load = scoped.LoadOp(pointer, i32, *how, volatile=step.volatile, **options)
                self.block.add_op(load)
                self.set(step.dst, load.value)
            case source.Store():
                access = (self.value(step.value), self.pointers[step.location])
                how = (step.ordering, step.scope)
                self.block.add_op(scoped.StoreOp(*access, *how, volatile=step.volatile, **options))
            case source.AtomicRmw():
                access = (self.pointers[step.location], self.value(step.value))
                how = (step.ordering, step.scope)
                rmw = scoped.AtomicRmwOp(step.kind, *access, *how, **options)
                self.block.add_op(rmw)
                self.set(step.dst, rmw.old)
            case source.Cmpxchg():
                self.exchange(step)
            case source.Fence():
                self.block.add_op(scoped.FenceOp(step.ordering, step.scope, **options))
            case source.Barrier():
                self.block.add_op(scoped.BarrierOp(step.scope, step.ordering, **options))

    def exchange(self, step: source.Cmpxchg) -> SSAValue:
        """Append a compare-exchange; whether it succeeds."""
        access = (self.pointers[step.location], self.value(step.compare), self.value(step.new))
        how = (step.ordering, step.failure_ordering, step.scope)
        op = scoped.CmpxchgOp(*access, *how, weak=step.weak, **_options(step))
        self.block.add_op(op)
        self.set(step.dst, op.old)
        self.set(step.success, op.success)
        return op.success


class _Options(TypedDict):
    one_as: bool
    spaces: frozenset[AddressSpace] | None
    availability: Availability | None


def _options(step: source.ScopedOperation) -> _Options:
    full = step.availability is Availability.FULL
    return {
        "one_as": step.one_as,
        "spaces": step.spaces,
        "availability": None if full else step.availability,
    }


def _constants(steps: programs.Steps) -> Iterator[int]:
    """Every constant that the steps need."""
    for step in steps:
        match step:
            case programs.When() | programs.Spin():
                yield step.value
            case programs.Maybe():
                yield step.value
                yield from _constants(step.steps)
            case programs.Repeat():
                yield from (0, 1, step.times)
                yield from _constants(step.steps)
            case _:
                yield from (each for each in programs.operands_of(step) if isinstance(each, int))
                if isinstance(step, programs.Retry):
                    yield from _constants(step.busy)
                elif isinstance(step, programs.Attempt):
                    yield from _constants((*step.first, *step.failed))
