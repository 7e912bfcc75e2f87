"""Programs of the source model as MLIR text, so that the passes read what the models were given.

Threads may branch once, forward to their end, as those of the certificates' tests do.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import (
    Arithmetic,
    Branch,
    Label,
    Location,
    Operand,
    Thread,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedOperation,
    ScopedProgram,
    Store,
    assigned,
)


def with_plain_registers(program: ScopedProgram) -> ScopedProgram:
    """``program`` with registers called r0, r1 .., as PTX tests in columns have them, all observed."""
    threads: list[Thread[ScopedInstruction]] = []
    for thread in program.threads:
        found = dict.fromkeys(name for each in thread.instructions for name in assigned(each))
        renamed = {name: f"r{number}" for number, name in enumerate(found)}
        code = tuple(_renamed(each, renamed) for each in thread.instructions)
        threads.append(Thread(thread.placement, code))
    return replace(program, threads=tuple(threads), observed=None)


_OPERANDS = ("dst", "success", "value", "compare", "new", "a", "b", "condition")


def _renamed(instruction: ScopedInstruction, names: dict[str, str]) -> ScopedInstruction:
    assert is_dataclass(instruction)
    present = {each.name for each in fields(instruction)}
    changes: dict[str, Any] = {}
    for name in _OPERANDS:
        if name in present and (old := getattr(instruction, name)) in names:
            changes[name] = names[old]
    return replace(instruction, **changes)


def module_of(program: ScopedProgram, generic: frozenset[str] = frozenset()) -> str:
    """A module with one test, ``test``; locations in ``generic`` have generic pointers."""
    lines = ["litmus.test @test {", *map(_location, program.locations)]
    for number, thread in enumerate(program.threads):
        place = thread.placement
        where = (
            f"workgroup = {place.workgroup}, xcd = {place.xcd}, cu = {place.cu}, "
            f"agent = {place.agent}, cluster = {place.cluster}"
        )
        body = _ThreadText(program, number, generic).body()
        lines += [f"  litmus.thread @P{number} at <{where}> {{", *body, "  }"]
    return "\n".join([*lines, "}", ""])


def _location(location: Location) -> str:
    space = " in local" if location.space is AddressSpace.LOCAL else ""
    kind = "" if space else f' {{kind = "{location.kind}"}}'
    return f"  litmus.location @{location.name} = {location.initial} : i32{space}{kind}"


class _ThreadText:
    """One thread's body, value by value."""

    def __init__(self, program: ScopedProgram, number: int, generic: frozenset[str]):
        self.program = program
        self.code = program.threads[number].instructions
        self.observed = [
            each.name
            for each in program.observables()
            if isinstance(each, Register) and each.thread == number
        ]
        self.generic = generic
        self.written: list[str] = []
        self.constants = 0

    def body(self) -> Iterator[str]:
        """The lines of the body."""
        accessed = {getattr(each, "location", None) for each in self.code}
        for each in self.program.locations:
            if each.name in accessed:
                yield f"    %{each.name} = litmus.address @{each.name} : {self.pointer(each.name)}"
        for each in self.code:
            match each:
                case Branch():
                    yield from self.branch(each)
                case Label():
                    pass
                case Arithmetic():
                    yield from self.constants_of(each.a, each.b)
                    a, b = self.last(each.a, each.b)
                    yield f"    %{each.dst} = arith.{each.kind}i {a}, {b} : i32"
                    self.written.append(each.dst)
                case _:
                    assert isinstance(each, ScopedOperation)
                    yield from self.scoped(each)
        yield from self.end()

    def pointer(self, location: str) -> str:
        """The type of the pointer to a location."""
        if location in self.generic:
            return "!llvm.ptr"
        space = self.program.location(location).space
        return "!llvm.ptr<3>" if space is AddressSpace.LOCAL else "!llvm.ptr<1>"

    def constants_of(self, *operands: Operand) -> Iterator[str]:
        """Definitions of the constants among ``operands``, which ``last`` then names."""
        self.names: list[str] = []
        for each in operands:
            if isinstance(each, int):
                name = f"c{self.constants}"
                self.constants += 1
                yield f"    %{name} = arith.constant {each} : i32"
                self.names.append(f"%{name}")
            else:
                self.names.append(f"%{each}")

    def last(self, *operands: Operand) -> list[str]:
        """The values of the operands that constants were last defined for."""
        assert len(operands) == len(self.names)
        return self.names

    def branch(self, branch: Branch) -> Iterator[str]:
        """Go on, or to the end of the thread."""
        assert isinstance(self.code[-1], Label)
        assert branch.target == self.code[-1].name
        yield from self.constants_of(0)
        predicate = "eq" if branch.unless else "ne"
        yield f"    %skip = arith.cmpi {predicate}, %{branch.condition}, {self.names[0]} : i32"
        yield "    cf.cond_br %skip, ^skip, ^on"
        yield "  ^skip:"
        yield from self.end()
        yield "  ^on:"

    def end(self) -> Iterator[str]:
        """What the thread leaves in memory and registers where it ends."""
        for each in self.observed:
            if each in self.written:
                yield f'    litmus.observe "{each}", %{each} : i32'
        yield "    litmus.end"

    def scoped(self, operation: ScopedOperation) -> Iterator[str]:
        """An operation, with what it says of spaces and availability."""
        spaces = "" if operation.spaces is None else f" spaces [{', '.join(operation.spaces)}]"
        quiet = " av(none)" if operation.availability is Availability.NONE else ""
        limits = f"{spaces}{quiet}"
        marks = " {one_as}" if operation.one_as else ""
        match operation:
            case Fence():
                yield f"    scoped.fence {operation.ordering} {operation.scope}{limits}{marks}"
            case Barrier():
                relaxed = "relaxed " if operation.ordering is Ordering.RELAXED else ""
                yield f"    scoped.barrier {relaxed}{operation.scope}{limits}{marks}"
            case _:
                yield from self.access(operation, limits + marks)

    def access(self, operation: Load | Store | AtomicRmw | Cmpxchg, limits: str) -> Iterator[str]:
        weak = operation.ordering is Ordering.WEAK
        how = "weak" if weak else f"{operation.ordering} {operation.scope}"
        at, pointer = f"%{operation.location}", self.pointer(operation.location)
        match operation:
            case Load():
                yield f"    %{operation.dst} = scoped.load {how} {at}{limits} : {pointer} -> i32"
            case Store():
                yield from self.constants_of(operation.value)
                value = self.names[0]
                yield f"    scoped.store {how} {value}, {at}{limits} : i32, {pointer}"
            case AtomicRmw():
                yield from self.constants_of(operation.value)
                dst = operation.dst or self.unused()
                code = f"scoped.atomic_rmw {operation.kind} {how}"
                yield f"    %{dst} = {code} {at}, {self.names[0]}{limits} : {pointer}, i32"
            case Cmpxchg():
                yield from self.constants_of(operation.compare, operation.new)
                dst = operation.dst or self.unused()
                code = (
                    f"scoped.cmpxchg {operation.ordering} {operation.failure_ordering} "
                    f"{operation.scope} {at}, {', '.join(self.names)}{limits}"
                )
                success = operation.success or self.unused()
                yield f"    %{dst}, %{success} = {code} : {pointer}, i32"
        self.written += assigned(operation)

    def unused(self) -> str:
        """A value that nothing reads."""
        self.constants += 1
        return f"u{self.constants}"
