"""The words every part of Fencewright shares: orderings, scopes, address spaces and phases.

Plain enumerations without any dependency, so that the tables and the simulator can
be used without xDSL. Members are strings: ``Ordering.ACQUIRE == "acquire"``, and both
hash alike, so that a table can be looked up with either.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class FastStrEnum(StrEnum):
    """A word of the vocabulary; hashes as the string it is, at C speed."""

    __hash__ = str.__hash__


class Ordering(FastStrEnum):
    """The strength of an ordering; ``weak`` is a plain access (C++20 and LLVM's names)."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"

    @property
    def acquires(self) -> bool:
        """True if an operation of this ordering can be the acquire side of synchronises-with."""
        return self in (Ordering.ACQUIRE, Ordering.ACQ_REL, Ordering.SEQ_CST)

    @property
    def releases(self) -> bool:
        """True if an operation of this ordering can be the release side of synchronises-with."""
        return self in (Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)


class Scope(FastStrEnum):
    """The threads that an operation synchronises with, narrowest first (LLVM's AMDGPU names)."""

    SINGLETHREAD = "singlethread"
    WAVEFRONT = "wavefront"
    WORKGROUP = "workgroup"
    CLUSTER = "cluster"
    AGENT = "agent"
    SYSTEM = "system"

    @property
    def rank(self) -> int:
        """Position from narrow (0) to wide (5)."""
        return _SCOPE_RANK[self]

    def includes(self, other: "Scope") -> bool:
        """True if every thread in ``other`` is also in this scope."""
        return self.rank >= other.rank

    def clamp(self, widest: "Scope") -> "Scope":
        """The narrower of this scope and ``widest``."""
        return self if widest.includes(self) else widest


SCOPE_WORDS: Mapping[str, Scope] = MappingProxyType(
    {
        "thread": Scope.SINGLETHREAD,
        "warp": Scope.WAVEFRONT,
        "wave": Scope.WAVEFRONT,
        "sub_group": Scope.WAVEFRONT,
        "cta": Scope.WORKGROUP,
        "block": Scope.WORKGROUP,
        "work_group": Scope.WORKGROUP,
        "gpu": Scope.AGENT,
        "device": Scope.AGENT,
        "sys": Scope.SYSTEM,
        "all_svm_devices": Scope.SYSTEM,
    }
)
"""Others' names of a scope: CUDA's ``thread_scope_*`` and HIP's, OpenCL's ``memory_scope_*``, PTX.

Sources: libcu++, Thread Scopes; HIP C++ extensions; OpenCL C 3.0, 6.15.12.4; PTX ISA, Scope.
"""

_SCOPE_RANK = {scope: rank for rank, scope in enumerate(Scope)}


class AddressSpace(FastStrEnum):
    """The memory that a pointer points to; ``number`` is LLVM's address space number."""

    GENERIC = "generic"
    GLOBAL = "global"
    LOCAL = "local"
    CONSTANT = "constant"
    PRIVATE = "private"
    SHARED_CLUSTER = "shared_cluster"

    @property
    def number(self) -> int:
        """The number that ``!llvm.ptr<N>`` and ``ptr addrspace(N)`` carry."""
        return _SPACE_NUMBER[self]

    @classmethod
    def from_number(cls, number: int) -> "AddressSpace":
        """The address space with LLVM's ``number``; ``ValueError`` names the known ones."""
        for space, known in _SPACE_NUMBER.items():
            if known == number:
                return space
        known_spaces = ", ".join(f"{n} ({s})" for s, n in _SPACE_NUMBER.items())
        raise ValueError(f"address space {number} is not supported; known are {known_spaces}")


_SPACE_NUMBER = {
    AddressSpace.GENERIC: 0,
    AddressSpace.GLOBAL: 1,
    AddressSpace.LOCAL: 3,
    AddressSpace.CONSTANT: 4,
    AddressSpace.PRIVATE: 5,
    AddressSpace.SHARED_CLUSTER: 7,
}


class Operation(FastStrEnum):
    """The operations that are lowered: those of the ``scoped`` dialect."""

    LOAD = "load"
    STORE = "store"
    ATOMIC_RMW = "atomic_rmw"
    CMPXCHG = "cmpxchg"
    FENCE = "fence"
    BARRIER = "barrier"

    @property
    def is_access(self) -> bool:
        """True if the operation reads or writes a location of its own."""
        return self not in (Operation.FENCE, Operation.BARRIER)


class RmwKind(FastStrEnum):
    """The arithmetic of an atomic read-modify-write (LLVM's ``atomicrmw`` names)."""

    XCHG = "xchg"
    ADD = "add"
    SUB = "sub"
    AND = "and"
    NAND = "nand"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    FADD = "fadd"
    FSUB = "fsub"
    FMAX = "fmax"
    FMIN = "fmin"
    UINC_WRAP = "uinc_wrap"
    UDEC_WRAP = "udec_wrap"


class ValueType(FastStrEnum):
    """The type of a value in arithmetic; ``f16x2`` and ``bf16x2`` are two numbers in 32 bits."""

    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    I96 = "i96"
    I128 = "i128"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    F16X2 = "f16x2"
    BF16X2 = "bf16x2"

    @property
    def bits(self) -> int:
        """The width of the whole value."""
        return 32 if self.is_packed else int(self.lstrip("bfi"))

    @property
    def is_float(self) -> bool:
        """True if it is one floating-point number or several."""
        return not self.startswith("i")

    @property
    def is_packed(self) -> bool:
        """True if it is more than one number."""
        return self.endswith("x2")


FLOAT_KINDS = frozenset({RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN})
"""The read-modify-writes of floating-point numbers; all others but xchg are of integers."""


class Phase(FastStrEnum):
    """The part of a lowered operation that an instruction belongs to, in order of execution.

    release: write back, then wait. access: the memory operation itself.
    wait: until the access, or what came before it, is done. acquire: invalidate.
    """

    RELEASE = "release"
    ACCESS = "access"
    WAIT = "wait"
    ACQUIRE = "acquire"


class L2PerAgent(FastStrEnum):
    """The number of L2 caches of one agent: one (partition mode CPX) or many (or unknown)."""

    ONE = "one"
    MANY = "many"


class Compat(FastStrEnum):
    """The compiler whose choices to reproduce where they differ from the sound default."""

    LLVM = "llvm"


class Availability(FastStrEnum):
    """The effect of an ordered operation on availability and visibility of memory.

    ``none`` orders without write-back or invalidate (LLVM's ``amdgcn-av-none``).
    """

    FULL = "full"
    NONE = "none"


MOST_THREADS = 1024
"""Threads of a work-group, on every target. Source: CUDA Programming Guide, "Compute Capabilities";
LLVM AMDGPUUsage, amdgpu-flat-work-group-size."""
MOST_BLOCK = (MOST_THREADS, MOST_THREADS, 64)
MOST_GRID = ((1 << 31) - 1, 65535, 65535)
"""Threads of a block and blocks of a grid in each dimension, of NVIDIA's. Source: the first."""


class Fact(FastStrEnum):
    """A promise about every launch of a kernel."""

    SINGLE_WAVE_WORKGROUP = "single-wave-workgroup"
    NO_CLUSTERS = "no-clusters"
    UNCACHED_MEMORY = "uncached-memory"
    COHERENT_STORES = "coherent-stores"
    CUMULATIVE_WRITE_BACKS = "cumulative-write-backs"
    UNORDERED_ELEMENTS = "unordered-elements"
    CUDA_ATOMICS = "cuda-atomics"


FACT_TEXT = {
    Fact.SINGLE_WAVE_WORKGROUP: "no work-group has more than one wavefront",
    Fact.NO_CLUSTERS: "no work-group shares its cluster with another one",
    Fact.UNCACHED_MEMORY: "no L2 keeps the global memory that the kernel accesses (MTYPE UC)",
    Fact.COHERENT_STORES: "vmcnt counts a store with scope bits once it is at the point of "
    "coherence of that scope",
    Fact.CUMULATIVE_WRITE_BACKS: "a write-back is done once everything is in memory that any wave "
    "of its CU stored before it",
    Fact.UNORDERED_ELEMENTS: "atomics that come one after another from one place of the source, as "
    "the elements of a tensor operation do, have no order among themselves",
    Fact.CUDA_ATOMICS: "seq_cst read-modify-writes at system scope are CUDA's atomic functions, "
    "which are relaxed at the scope of the device",
}
"""The promise of each fact, as text."""
