"""Rows of CDNA instructions: the class that the tables of instructions are made of."""

from dataclasses import dataclass
from functools import cache

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import Line, operands
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Operation, RmwKind, ValueType


class Unit(FastStrEnum):
    """The unit that computes, of arithmetic: the one of scalars or the one of vectors."""

    SALU = "salu"
    VALU = "valu"


TO_MEMORY = frozenset({Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY})
"""The kinds that access memory; a copy is between memory and LDS, beside the wave."""


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One instruction.

    ``operands`` has named places. ``counters`` are those that it increments, of those that a
    chip has, or as cache maintenance may increment (``instructions.CACHE_COUNTS``). ``space`` is
    the memory that it accesses.
    ``expansion`` has the complete lines that a pseudo instruction stands for. ``early_clobber``: a
    result is written before every operand has been read, so they must not share registers.
    ``unit``: of arithmetic alone. ``into_lds``: of a copy, whether it reads memory and writes LDS.
    ``chips`` are those that have it. Every chip has both forms of access to private memory; there
    ``chips`` are those whose kernels use this form.
    """

    mnemonic: str
    operands: str
    kind: Kind
    counters: tuple[Counter, ...]
    chips: frozenset[str]
    source: str
    space: AddressSpace | None = None
    expansion: tuple[str, ...] = ()
    early_clobber: bool = False
    unit: Unit | None = None
    into_lds: bool = False

    @property
    def returns(self) -> bool:
        """True if it is an atomic that returns the old value."""
        return self.kind is Kind.RMW and self.operands.startswith("{dst}")

    @property
    def is_memory(self) -> bool:
        """True where it reads or writes memory."""
        return self.kind in TO_MEMORY

    @property
    def is_scalar_load(self) -> bool:
        """True where it loads by way of the scalar cache."""
        return self.kind is Kind.LOAD and self.space is AddressSpace.CONSTANT

    @property
    def access(self) -> Kind:
        """The access to memory outside LDS: a copy is a load or a store of it."""
        if self.kind is not Kind.COPY:
            return self.kind
        return Kind.LOAD if self.into_lds else Kind.STORE

    @property
    def lines(self) -> tuple[str, ...]:
        """The assembly templates that it is printed as, without modifiers."""
        return self.expansion or (f"{self.mnemonic} {self.operands}".rstrip(),)

    @property
    def code(self) -> tuple[Line, ...]:
        """The instructions that ``lines`` write."""
        return tuple(map(_read_line, self.lines))


@cache
def _read_line(written: str) -> Line:
    mnemonic, _, rest = written.partition(" ")
    return Line(mnemonic, operands(rest))


Access = tuple[Operation, AddressSpace, int, RmwKind | None, bool]
"""operation, address space, width in bits, kind of a read-modify-write, returns the old value."""

Packed = tuple[AddressSpace, RmwKind, ValueType, bool]
"""A read-modify-write of two numbers in 32 bits: space, kind, type, returns."""
