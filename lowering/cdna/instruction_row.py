"""What a CDNA instruction is, as a row: the class that the files of instructions have rows of."""

from dataclasses import dataclass
from functools import cache

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.sequence import Line, operands
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Operation, RmwKind, ValueType


class Kind(FastStrEnum):
    """What an instruction does, as far as ordering and register allocation care.

    ``ASYNC_LOAD`` and ``TENSOR_LOAD`` copy from memory to LDS and ``ASYNC_STORE`` and
    ``TENSOR_STORE`` back, beside the wave.
    """

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    ATOMIC_RETURN = "atomic_return"
    SCALAR_LOAD = "scalar_load"
    ASYNC_LOAD = "async_load"
    ASYNC_STORE = "async_store"
    TENSOR_LOAD = "tensor_load"
    TENSOR_STORE = "tensor_store"
    CACHE = "cache"
    WAIT = "wait"
    VALU = "valu"
    SALU = "salu"
    BRANCH = "branch"
    BARRIER = "barrier"
    END = "end"

    @property
    def is_memory(self) -> bool:
        """Whether the instruction reads or writes memory."""
        return self in _MEMORY_KINDS


ASYNCHRONOUS = frozenset({Kind.ASYNC_LOAD, Kind.ASYNC_STORE, Kind.TENSOR_LOAD, Kind.TENSOR_STORE})
"""The copies between memory and LDS that the wave does not carry out itself."""

_MEMORY_KINDS = (
    frozenset({Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.ATOMIC_RETURN, Kind.SCALAR_LOAD})
    | ASYNCHRONOUS
)


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One instruction.

    ``operands`` has named places. ``counters`` are those that it increments, of those that a
    chip has, or as cache maintenance may increment (``instructions.CACHE_COUNTS``). ``space`` is
    the memory that it accesses.
    ``expansion`` has the complete lines that a pseudo instruction stands for. ``early_clobber``: a
    result is written before every operand has been read, so they must not share registers.
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

    @property
    def returns(self) -> bool:
        """Whether it is an atomic that returns the old value."""
        return self.kind is Kind.ATOMIC_RETURN

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
