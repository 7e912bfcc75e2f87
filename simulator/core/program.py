"""Programs as pure data: locations, threads with a placement, instructions, observables.

Shared by every model. What an instruction of a target means is the target's own module
(``cdna_instructions`` for CDNA); register arithmetic and branches, which mean the same
everywhere, are here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, RmwKind, Scope
from fencewright.simulator.core.condition import Condition, Memory, Observable, Register
from fencewright.simulator.core.words import WORD_BITS, WORD_MASK


class ProgramError(ValueError):
    """A program that a model cannot execute; the message has the place and the advice."""


class MemoryKind(FastStrEnum):
    """The way in which L2 caches keep a location (the MTYPE of its page).

    LOCAL: a write that reaches memory invalidates clean copies in other L2s, by probes (RW).
    NONLOCAL: it does not; only an invalidate does (NC). The default, because it is harder.
    UNCACHED: no L2 keeps it (UC, fine-grained memory).
    """

    LOCAL = "local"
    NONLOCAL = "nonlocal"
    UNCACHED = "uncached"


@dataclass(frozen=True, slots=True)
class Location:
    """A word of memory on a cache line of its own.

    ``space`` is GLOBAL, or LOCAL for LDS, which belongs to ``workgroup``.
    """

    name: str
    initial: int = 0
    kind: MemoryKind = MemoryKind.NONLOCAL
    space: AddressSpace = AddressSpace.GLOBAL
    workgroup: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a thread. ``cu`` counts within its XCD, ``xcd`` within its agent.

    In PTX's words: agent = gpu, workgroup = cta. With ``cluster`` None the work-group is a
    cluster of its own.
    """

    workgroup: int = 0
    cu: int = 0
    xcd: int = 0
    agent: int = 0
    cluster: int | None = 0

    def instance(self, scope: Scope) -> tuple[int | None, ...]:
        """A name for the set of threads that ``scope``, of a work-group or wider, means here."""
        match scope:
            case Scope.SYSTEM:
                return ()
            case Scope.AGENT:
                return (self.agent,)
            case Scope.CLUSTER if self.cluster is not None:
                return (self.agent, self.cluster)
            case _:
                return (self.agent, self.cluster, self.workgroup)

    def shares(self, other: "Placement", scope: Scope) -> bool:
        """True if ``other`` is in the set of threads that ``scope`` means here."""
        return self.instance(scope) == other.instance(scope)


Places = tuple[SourceLocation | None, ...]
"""The place of each instruction of a thread, where it is known; () if none is."""


def place_at(places: Places, position: int) -> SourceLocation | None:
    """The place of the instruction at ``position``; None if it is not known."""
    return places[position] if position < len(places) else None


Operand = int | str
"""A constant, or the name of a register. A negative constant stands for its word."""


class ArithmeticKind(FastStrEnum):
    """Register arithmetic on unsigned words; a comparison gives 0 or 1.

    Division, minimum and maximum are of signed words. Division rounds towards 0; by 0, which
    has no defined result, it gives 0.
    """

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MIN = "min"
    MAX = "max"
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"


ARITHMETIC: dict[ArithmeticKind, Callable[[int, int], int]] = {
    ArithmeticKind.ADD: lambda a, b: (a + b) & WORD_MASK,
    ArithmeticKind.SUB: lambda a, b: (a - b) & WORD_MASK,
    ArithmeticKind.MUL: lambda a, b: (a * b) & WORD_MASK,
    ArithmeticKind.DIV: lambda a, b: divided(signed(a), signed(b)) & WORD_MASK,
    ArithmeticKind.AND: lambda a, b: a & b,
    ArithmeticKind.OR: lambda a, b: a | b,
    ArithmeticKind.XOR: lambda a, b: a ^ b,
    ArithmeticKind.MIN: lambda a, b: min(a, b, key=signed),
    ArithmeticKind.MAX: lambda a, b: max(a, b, key=signed),
    ArithmeticKind.EQ: lambda a, b: int(a == b),
    ArithmeticKind.NE: lambda a, b: int(a != b),
    ArithmeticKind.LT: lambda a, b: int(a < b),
    ArithmeticKind.LE: lambda a, b: int(a <= b),
}


SIGN = 1 << (WORD_BITS - 1)
"""The bit of a word that is its sign."""


def signed(value: int) -> int:
    """An unsigned word read as two's complement."""
    return value - (1 << WORD_BITS) if value >> (WORD_BITS - 1) else value


def divided(a: int, b: int) -> int:
    """The quotient rounded towards 0; 0 if ``b`` is 0."""
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) is (b < 0) else -quotient


RMW: dict[RmwKind, Callable[[int, int], int]] = {
    RmwKind.XCHG: lambda old, value: value,
    RmwKind.ADD: lambda old, value: (old + value) & WORD_MASK,
    RmwKind.SUB: lambda old, value: (old - value) & WORD_MASK,
    RmwKind.AND: lambda old, value: old & value,
    RmwKind.NAND: lambda old, value: ~(old & value) & WORD_MASK,
    RmwKind.OR: lambda old, value: old | value,
    RmwKind.XOR: lambda old, value: old ^ value,
    RmwKind.MAX: lambda old, value: max(old, value, key=signed),
    RmwKind.MIN: lambda old, value: min(old, value, key=signed),
    RmwKind.UMAX: max,
    RmwKind.UMIN: min,
    RmwKind.UINC_WRAP: lambda old, value: 0 if old >= value else old + 1,
    RmwKind.UDEC_WRAP: lambda old, value: value if old in (0,) or old > value else old - 1,
}
"""The value written by a read-modify-write, from old value and operand (LLVM LangRef, atomicrmw).

The floating-point kinds are absent: values here are integers.
"""


@dataclass(frozen=True, slots=True)
class Move:
    """``dst = value``."""

    dst: str
    value: Operand

    def __str__(self) -> str:
        return f"mov {self.dst}, {self.value}"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``dst = a kind b``."""

    kind: ArithmeticKind
    dst: str
    a: Operand
    b: Operand

    def __str__(self) -> str:
        return f"{self.kind} {self.dst}, {self.a}, {self.b}"


@dataclass(frozen=True, slots=True)
class Computation:
    """``dst`` = a ``function`` of words, called ``name``, whose result is a word."""

    name: str
    dst: str
    operands: tuple[Operand, ...]
    function: Callable[..., int]

    def __str__(self) -> str:
        return f"{self.name} {', '.join(map(str, (self.dst, *self.operands)))}"


@dataclass(frozen=True, slots=True)
class Label:
    """A place that branches name; takes no step."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}:"


@dataclass(frozen=True, slots=True)
class Branch:
    """To ``target``, always or if ``condition`` is nonzero (with ``unless``: if it is zero)."""

    target: str
    condition: Operand | None = None
    unless: bool = False

    def __str__(self) -> str:
        if self.condition is None:
            return f"branch {self.target}"
        return f"branch {self.target} {'unless' if self.unless else 'if'} {self.condition}"


Common = Move | Arithmetic | Label | Branch
"""The instructions that every model has."""

Instruction = TypeVar("Instruction")

_RESULTS = ("dst", "success")
"""The fields in which instructions of every model name the registers that they write."""


@dataclass(frozen=True, slots=True)
class Thread(Generic[Instruction]):
    """One thread (on CDNA: wave): its place and its code; registers start at 0.

    ``places`` say where its instructions were written; they do not identify it.
    """

    placement: Placement
    instructions: tuple[Instruction, ...]
    places: Places = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Program(Generic[Instruction]):
    """A whole program. ``observed`` are the registers and locations in its outcomes.

    None: every register that an instruction writes, and every location.
    """

    locations: tuple[Location, ...]
    threads: tuple[Thread[Instruction], ...]
    observed: tuple[Observable, ...] | None = None
    name: str = ""

    def location(self, name: str) -> Location:
        """The location called ``name``; raises ``ProgramError`` that names the known ones."""
        for each in self.locations:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.locations)
        raise ProgramError(f"{self.name}: no location '{name}'; known are {known}")

    def observables(self) -> tuple[Observable, ...]:
        """The observables of outcomes, in their order: registers by thread, then locations."""
        if self.observed is not None:
            return self.observed
        registers: list[Observable] = []
        for number, thread in enumerate(self.threads):
            written = {getattr(each, r, None) for each in thread.instructions for r in _RESULTS}
            registers += [Register(number, name) for name in sorted(filter(None, written))]
        return (*registers, *(Memory(each.name) for each in self.locations))


@dataclass(frozen=True, slots=True)
class LitmusTest(Generic[Instruction]):
    """A program with the condition that it is judged by."""

    program: Program[Instruction]
    condition: Condition

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name
