"""A program as its compiler was given it: the accesses of its functions, and their order.

Made from LLVM IR by ``source_text``. Values are not followed; of an address only its address
space is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from fencewright.lowering.code.effects import READING, WRITING, Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope


class SourceError(ValueError):
    """A source that cannot be read: ``file:line: error: ..``."""


_WORDS = MappingProxyType({Kind.RMW: "atomicrmw", Kind.OPAQUE: "call"})


@dataclass(frozen=True, slots=True)
class SourceOperation:
    """One operation, called by its ``number`` in its function.

    ``kind``: a ``COPY`` is ``memcpy`` and its like, which become several accesses, or,
    ``into_lds``, a load from memory that writes LDS. ``OPAQUE``: a call or inline assembly, which
    may do anything.
    ``compares``: of a read-modify-write that is a compare-exchange.
    ``line``: of the source's text. ``space``: what is accessed; a generic pointer may be to
    global memory, LDS or private memory. ``spaces``: what a fence orders, none: all.
    ``failure``: the ordering of a compare-exchange that fails. ``available``: whether ordering
    makes memory available and visible, too (``amdgcn-av``).
    """

    number: int
    kind: Kind
    line: int
    text: str
    place: SourceLocation | None = None
    ordering: Ordering = Ordering.WEAK
    failure: Ordering | None = None
    scope: Scope = Scope.SYSTEM
    one_as: bool = False
    space: AddressSpace | None = None
    spaces: frozenset[AddressSpace] = frozenset()
    rmw: str = ""
    volatile: bool = False
    available: bool = True
    compares: bool = False
    into_lds: bool = False

    @property
    def word(self) -> str:
        """The word for it in messages."""
        if self.compares:
            return "cmpxchg"
        return "load to LDS" if self.into_lds else _WORDS.get(self.kind, self.kind.value)

    @property
    def is_atomic(self) -> bool:
        """True if it is an atomic access."""
        return self.ordering is not Ordering.WEAK and self.kind is not Kind.FENCE

    @property
    def reads(self) -> bool:
        """True if it reads memory."""
        return self.kind in READING

    @property
    def writes(self) -> bool:
        """True if it writes memory."""
        return self.kind in WRITING

    @property
    def is_access(self) -> bool:
        """True if it reads or writes memory that others may access."""
        return (self.reads or self.writes) and self.space is not None

    def __str__(self) -> str:
        words = [self.word]
        if self.ordering is not Ordering.WEAK:
            words = [self.ordering.value, self.scope.value, self.word]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """Operations that run one after another, and the blocks that may run next.

    ``exchanged``: blocks that run next only if a compare-exchange has succeeded, with its number.
    """

    operations: tuple[SourceOperation, ...]
    successors: tuple[int, ...]
    exchanged: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function, which begins in its first block.

    ``line``: where it is defined. ``problem``: why what it does is not known, if so. ``cpu``:
    the chip that it names itself. ``most_threads``: of a work-group, if it says so.
    """

    name: str
    line: int
    blocks: tuple[SourceBlock, ...]
    problem: str = ""
    cpu: str = ""
    most_threads: int | None = None

    @property
    def operations(self) -> tuple[SourceOperation, ...]:
        """All operations, in the order of the text."""
        return tuple(each for block in self.blocks for each in block.operations)


@dataclass(frozen=True, slots=True)
class SourceModule:
    """A module: its functions by name, and the file that it was read from.

    ``architecture``: as ``lowering.llvm.architecture`` calls what it is for.
    """

    file: str
    functions: Mapping[str, SourceFunction] = field(default_factory=dict[str, SourceFunction])
    architecture: str = "cdna"


def with_cuda_atomics(module: SourceModule) -> SourceModule:
    """A module whose seq_cst updates at system scope are CUDA's: relaxed, at the device's.

    Source: CUDA C++ Programming Guide, Atomic Functions; as ``relax-cuda-atomics`` lowers them.
    """
    functions = {
        name: replace(
            function,
            blocks=tuple(
                replace(block, operations=tuple(map(_as_cuda_atomic, block.operations)))
                for block in function.blocks
            ),
        )
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def _as_cuda_atomic(operation: SourceOperation) -> SourceOperation:
    attributes = (operation.ordering, operation.scope, operation.volatile)
    if operation.kind is not Kind.RMW or attributes != (Ordering.SEQ_CST, Scope.SYSTEM, False):
        return operation
    failure = None if operation.failure is None else Ordering.RELAXED
    return replace(operation, ordering=Ordering.RELAXED, scope=Scope.AGENT, failure=failure)
