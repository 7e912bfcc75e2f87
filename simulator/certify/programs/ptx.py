"""Lowered ``scoped`` programs as programs of the PTX model.

Covers what one PTX instruction does, and the compare-and-swap loops that stand for arithmetic
PTX lacks, whose outcomes are complete from one round more than others write the location.
Alignment and widths mean nothing to the model: part of a word is its lowest part. Of state spaces
it knows who has which shared memory.
"""

from collections.abc import Iterator
from functools import cache

from fencewright.lowering.sequence import Instruction, Operand, Placeholder
from fencewright.lowering.vocabulary import AddressSpace, Ordering, RmwKind, Scope
from fencewright.simulator.certify.programs.code import SCOPED, Code
from fencewright.simulator.core.condition import Comparison
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Move,
    Placement,
    ProgramError,
    Thread,
)
from fencewright.simulator.core.program import Operand as Value
from fencewright.simulator.ptx import instructions as ptx
from fencewright.simulator.ptx.builder import ORDERINGS, restriction_in
from fencewright.simulator.source import events as source

_RMW = frozenset(
    {RmwKind.XCHG, RmwKind.ADD, RmwKind.AND, RmwKind.OR, RmwKind.XOR, RmwKind.UMAX, RmwKind.UMIN}
)
"""The kinds with one PTX instruction, whatever the width."""


@cache
def words_of(mnemonic: str) -> tuple[str, ...]:
    """The words of an instruction's name, ``("barrier", "sync")`` of ``barrier.sync 0``."""
    return tuple(mnemonic.partition(" ")[0].split("."))


def ptx_program(code: Code) -> ptx.PtxProgram:
    """The program that the model judges; same names.

    Raises ``ProgramError`` for an instruction that is not in the model, or not covered here.
    """
    threads: list[Thread[ptx.PtxInstruction]] = []
    for number, thread in enumerate(code.program.threads):
        made: list[ptx.PtxInstruction] = []
        for position, each in enumerate(thread.instructions):
            if isinstance(each, SCOPED):
                sequence = code.sequences[number, position].instructions
                if any(instruction.mnemonic == "bra" for instruction in sequence):
                    made += _Loop(each, f"{position}").read(sequence)
                else:
                    for instruction in sequence:
                        made += _instructions(each, instruction)
                made += _success(each, f"{position}")
            else:
                made.append(each)
        threads.append(Thread(_placement(thread.placement), tuple(made)))
    locations = tuple(Location(each.name, each.initial) for each in code.program.locations)
    return ptx.PtxProgram(locations, tuple(threads), shared=_homes(code, threads))


def _homes(code: Code, threads: list[Thread[ptx.PtxInstruction]]) -> dict[str, Placement]:
    """The CTA of each location in shared memory; none where no fence asks.

    Programs that mean the same are then the same, and executed once.
    """
    fences = (each for t in threads for each in t.instructions if isinstance(each, ptx.PtxFence))
    if all(fence.restriction is None for fence in fences):
        return {}
    homes = {t.placement.workgroup: _placement(t.placement) for t in code.program.threads}
    return {
        each.name: homes[each.workgroup]
        for each in code.program.locations
        if each.space is AddressSpace.LOCAL and each.workgroup in homes
    }


def _placement(place: Placement) -> Placement:
    return Placement(place.workgroup, agent=place.agent, cluster=place.cluster)


def _words(instruction: Instruction) -> tuple[Ordering | None, Scope | None]:
    """The ordering and the scope that a mnemonic names."""
    words = words_of(instruction.mnemonic)[1:]
    orderings = [ORDERINGS[word] for word in words if word in ORDERINGS]
    scopes = [ptx.SCOPES[word] for word in words if word in ptx.SCOPES]
    if "volatile" in words:
        return Ordering.RELAXED, Scope.SYSTEM
    return orderings[0] if orderings else None, scopes[0] if scopes else None


def _instructions(
    operation: source.ScopedOperation, instruction: Instruction
) -> tuple[ptx.PtxInstruction, ...]:
    """The model's instructions for one line of a sequence."""
    head = words_of(instruction.mnemonic)[0]
    ordering, scope = _words(instruction)
    match head, operation:
        case "fence", _ if ordering is not None and scope is not None:
            return (ptx.PtxFence(ordering, scope, restriction_in(words_of(instruction.mnemonic))),)
        case "barrier", source.Barrier():
            return (_barrier(instruction, ordering),)
        case "ld", source.Load():
            dst, location = operation.dst, operation.location
            return (ptx.Ld(dst, location, ordering or Ordering.WEAK, scope),)
        case "st", source.Store():
            location, value = operation.location, operation.value
            return (ptx.St(location, value, ordering or Ordering.WEAK, scope),)
        case (("atom" | "red"), source.AtomicRmw()) if operation.kind in _RMW:
            return (
                ptx.Atom(
                    None if head == "red" else operation.dst or "unused",
                    operation.location,
                    operation.kind,
                    operation.value,
                    None,
                    ordering or Ordering.RELAXED,
                    scope or Scope.AGENT,
                ),
            )
        case "atom", source.Cmpxchg():
            return (
                ptx.Atom(
                    _old(operation),
                    operation.location,
                    RmwKind.XCHG,
                    operation.new,
                    operation.compare,
                    ordering or Ordering.RELAXED,
                    scope or Scope.AGENT,
                ),
            )
        case _:
            raise ProgramError(f"the PTX model does not cover '{instruction.text}' here")


def _barrier(instruction: Instruction, ordering: Ordering | None) -> ptx.PtxInstruction:
    words = words_of(instruction.mnemonic)
    if "cluster" not in words:
        return ptx.Bar(ptx.BarrierRole.SYNC, 0)
    if "arrive" in words:
        return ptx.ClusterBarrier(ptx.BarrierRole.ARRIVE, ordering or Ordering.RELEASE)
    return ptx.ClusterBarrier(ptx.BarrierRole.WAIT, ordering or Ordering.ACQUIRE)


def _old(cmpxchg: source.Cmpxchg) -> str:
    return cmpxchg.dst or f"{cmpxchg.success or 'unused'}.old"


def _success(operation: source.ScopedOperation, prefix: str) -> tuple[ptx.PtxInstruction, ...]:
    """The success of a compare-exchange, which PTX leaves to a comparison."""
    if not isinstance(operation, source.Cmpxchg) or operation.success is None:
        return ()
    differs = f"{prefix}.differs"
    return (
        Move(operation.success, 0),
        ptx.CompareBranch(differs, Comparison.NE, _old(operation), operation.compare),
        Move(operation.success, 1),
        Label(differs),
    )


# Compare-and-swap loops

_TWO_OPERANDS = {
    "and": ArithmeticKind.AND,
    "or": ArithmeticKind.OR,
    "xor": ArithmeticKind.XOR,
    "add": ArithmeticKind.ADD,
    "sub": ArithmeticKind.SUB,
}
_SHIFT = ((Placeholder("word"),), (Placeholder("shift"),))
"""The position of a value in its word: 0, so that the instructions for these do nothing."""


class _Loop:
    """The sequence of one operation with registers and labels of its own."""

    def __init__(self, operation: source.ScopedOperation, prefix: str):
        self.operation = operation
        self.prefix = prefix
        self.names: dict[str, Value] = {}
        match operation:
            case source.AtomicRmw():
                self.names = {"data": operation.value}
                dst = operation.dst
            case source.Cmpxchg():
                self.names = {"data": operation.new, "compare": operation.compare}
                dst = _old(operation)
            case _:
                raise ProgramError(f"no loop stands for '{operation}'")
        self.location = operation.location
        if dst is not None:
            self.names["dst"] = dst

    def read(self, sequence: tuple[Instruction, ...]) -> Iterator[ptx.PtxInstruction]:
        """The instructions. Raises ``ProgramError`` for what is not in a loop."""
        for each in sequence:
            if words_of(each.mnemonic)[0] == "fence":
                yield from _instructions(self.operation, each)
            elif each.mnemonic != ".reg":
                yield from self.instruction(each)

    def register(self, place: Placeholder) -> str:
        """The register, or the label, that a place names."""
        value = self.value((place,))
        if not isinstance(value, str):
            raise ProgramError(f"'{place}' is written, and no register")
        return value

    def value(self, operand: Operand) -> Value:
        """The register or constant that an operand is."""
        match operand:
            case (Placeholder(name), *_):
                return self.names.setdefault(name, f"{self.prefix}.{name}")
            case (str() as number,):
                return int(number)
            case _:
                raise ProgramError(f"'{operand}' is no register and no constant")

    def instruction(self, line: Instruction) -> Iterator[ptx.PtxInstruction]:
        """The model's instruction for one line: a computation, an access, or a branch."""
        head, *words = words_of(line.mnemonic)
        if not head:
            yield Label(self.register(line.places[0]))
            return
        if head == "bra":
            predicate = self.value(line.guard)
            yield Branch(self.register(line.places[-1]), predicate)
            return
        if line.operands[0] in _SHIFT:
            return
        if head in ("ld", "atom"):
            yield self.access(line, head, words)
            return
        dst, *values = self.register(line.places[0]), *map(self.value, line.operands[1:])
        yield from self.compute(line, dst, head, words, values)

    def access(self, line: Instruction, head: str, words: list[str]) -> ptx.PtxInstruction:
        ordering, scope = _words(line)
        result = line.operands[0]
        dst = "unused" if result == ("_",) else self.register(line.places[0])
        if head == "ld":
            return ptx.Ld(dst, self.location, ordering or Ordering.WEAK, scope)
        if "cas" not in words:
            raise ProgramError(f"the PTX model does not cover '{line.text}' here")
        compare, new = map(self.value, line.operands[2:])
        return ptx.Atom(
            dst,
            self.location,
            RmwKind.XCHG,
            new,
            compare,
            ordering or Ordering.RELAXED,
            scope or Scope.AGENT,
        )

    def compute(
        self, line: Instruction, dst: str, head: str, words: list[str], values: list[Value]
    ) -> Iterator[ptx.PtxInstruction]:
        a = ArithmeticKind
        match head, words:
            case "mov", _:
                yield Move(dst, values[0])
            case "cvt", [*_, source]:
                yield Arithmetic(a.AND, dst, values[0], _mask(source[1:]))
            case "not", _:
                yield Arithmetic(a.SUB, dst, -1, values[0])
                yield Arithmetic(a.AND, dst, dst, _mask(words[-1][1:]))
            case "setp", ["ne", _]:
                yield Arithmetic(a.NE, dst, *values)
            case "bfe", _:
                yield Arithmetic(a.AND, dst, values[0], _mask(values[-1]))
            case "bfi", _:
                # The value is the lowest part, and no operand has anything above it.
                yield Arithmetic(a.AND, dst, values[0], _mask(values[-1]))
            case _ if head in _TWO_OPERANDS:
                yield Arithmetic(_TWO_OPERANDS[head], dst, *values)
                if head in ("add", "sub"):
                    yield Arithmetic(a.AND, dst, dst, _mask(words[-1][1:]))
            case _:
                raise ProgramError(f"the PTX model does not cover '{line.text}' here")


def _mask(bits: str | int) -> int:
    return (1 << int(bits)) - 1
