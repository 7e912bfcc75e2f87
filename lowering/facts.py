"""Facts of a kernel that its caller promises, with the synchronisation that they make unnecessary.

A fact is the caller's promise: where it does not hold, what is emitted is not enough. Its rows
say for each architecture or chip what may be narrowed, each with the reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fencewright.lowering.cdna.chips import Generation, chips_of
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import Fact, Operation, Scope

LANES_OF_WAVE = {"cdna": 64, "ptx": 32}
"""By architecture, how many threads the waves have: a work-group of no more is one wave."""

_ALL = frozenset(Operation)


@dataclass(frozen=True, slots=True)
class Clamp:
    """A row: under ``fact``, ``operations`` at scope ``wide`` may as well be at ``narrow``.

    ``whole_kernel``: only in a kernel all of whose accesses are known, none of them asynchronous.
    """

    fact: Fact
    architecture: str
    wide: Scope
    narrow: Scope
    source: str
    operations: frozenset[Operation] = _ALL
    whole_kernel: bool = False


CLAMPS = (
    Clamp(Fact.NO_CLUSTERS, "cdna", Scope.CLUSTER, Scope.WORKGROUP,
          "LLVM AMDGPUUsage, Memory Scopes: a cluster is of work-groups launched together"),
    Clamp(Fact.NO_CLUSTERS, "ptx", Scope.CLUSTER, Scope.WORKGROUP,
          "PTX ISA, Memory Consistency Model, Scope: without a cluster launch, a cluster is one "
          "CTA"),
    # No wave orders an asynchronous access to LDS with another access.
    Clamp(Fact.SINGLE_WAVE_WORKGROUP, "cdna", Scope.WORKGROUP, Scope.WAVEFRONT,
          "LLVM AMDGPUUsage, Memory Model GFX6-GFX942: a wave issues in order; not so with copies "
          "between LDS and memory, llvm/llvm-project#207473 and #224065", whole_kernel=True),
    Clamp(Fact.SINGLE_WAVE_WORKGROUP, "ptx", Scope.WORKGROUP, Scope.WAVEFRONT,
          "PTX ISA, bar.warp.sync: orders memory among the participating threads; PTX has no "
          "narrower scope than .cta for anything else",
          frozenset({Operation.BARRIER}), whole_kernel=True),
)  # fmt: skip
"""In the order in which they apply: a cluster may end up as a wavefront."""


@dataclass(frozen=True, slots=True)
class CacheClamp:
    """A row: under ``fact``, ``mnemonic`` with ``bits`` may be ``narrow``, None: nothing."""

    fact: Fact
    generation: Generation
    mnemonic: str
    bits: tuple[str, ...]
    narrow: tuple[str, ...] | None
    source: str


_G = Generation
_UNCACHED = "LLVM AMDGPUUsage, Memory Model, MTYPE UC: bypasses the L2, never dirty nor stale in it"

CACHE_CLAMPS = (
    CacheClamp(Fact.UNCACHED_MEMORY, _G.GFX942, "buffer_wbl2", ("sc1",), None, _UNCACHED),
    CacheClamp(Fact.UNCACHED_MEMORY, _G.GFX942, "buffer_wbl2", ("sc0", "sc1"), None, _UNCACHED),
    CacheClamp(Fact.UNCACHED_MEMORY, _G.GFX942, "buffer_inv", ("sc0", "sc1"), ("sc1",),
               f"{_UNCACHED}; the L1 may still hold it"),
    CacheClamp(Fact.UNCACHED_MEMORY, _G.GFX90A, "buffer_wbl2", (), None, _UNCACHED),
    CacheClamp(Fact.UNCACHED_MEMORY, _G.GFX90A, "buffer_invl2", (), None, _UNCACHED),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PromiseRow:
    """A row: the behaviour of a generation under ``fact``."""

    fact: Fact
    generation: Generation
    source: str


STORE_CLAMPS = (
    PromiseRow(Fact.COHERENT_STORES, _G.GFX942,
               "CDNA4 ISA, store control by sc1 sc0; LLVM 24 AMDGPUUsage, amdgcn-av none: a "
               "release only waits; docs/minimise.md has what speaks for it and against"),
)  # fmt: skip
"""Plain stores may go to the agent by themselves; no write-back then."""

WRITE_BACK_ROWS = (
    PromiseRow(Fact.CUMULATIVE_WRITE_BACKS, _G.GFX942,
               "LLVM AMDGPUUsage, Memory Model GFX942: its code sequences are right only if it "
               "holds; SIMemoryLegalizer promises it of earlier writes of the same wave alone; "
               "docs/minimise.md has what speaks for it and against"),
)  # fmt: skip
"""Releases within the work-group leave their stores to wider ones."""


@dataclass(frozen=True, slots=True)
class AtomicsRow:
    """A row: under ``fact``, atomics need less on ``architecture``."""

    fact: Fact
    architecture: str
    source: str


ELEMENT_ROWS = (
    AtomicsRow(Fact.UNORDERED_ELEMENTS, "ptx",
               "Triton language, atomic_add: of a block, with one memory order for all of it; that "
               "of its elements is not said, and their instructions are ordered one after another"),
)  # fmt: skip


CUDA_ATOMICS_ROWS = (
    AtomicsRow(Fact.CUDA_ATOMICS, "ptx",
               "CUDA C++ Programming Guide, Atomic Functions: relaxed, at thread_scope_device "
               "without a suffix; clang writes them as seq_cst at system scope"),
)  # fmt: skip
"""The program orders these atomics by separate fences, such as __threadfence."""


def facts_for(names: Iterable[str], target: str) -> frozenset[Fact]:
    """The facts called ``names``. Raises ``UnsupportedError`` for one useless to ``target``."""
    architecture = backend_of(target).architecture
    useful = {each.fact for each in CLAMPS if each.architecture == architecture}
    of_atomics = (*ELEMENT_ROWS, *CUDA_ATOMICS_ROWS)
    useful |= {each.fact for each in of_atomics if each.architecture == architecture}
    clamps = (*CACHE_CLAMPS, *STORE_CLAMPS, *WRITE_BACK_ROWS)
    useful |= {each.fact for each in clamps if target in chips_of(each.generation)}
    for name in names:
        if name not in useful:
            reason = "unknown fact" if name not in tuple(Fact) else f"{target} has no use for it"
            raise UnsupportedError(f"fact '{name}'", reason, tuple(sorted(useful)))
    return frozenset(map(Fact, names))


def may_store_through(facts: frozenset[Fact]) -> bool:
    """True if ``facts`` promise that plain stores can take the place of write-backs."""
    return any(row.fact in facts for row in STORE_CLAMPS)


def are_write_backs_cumulative(facts: frozenset[Fact], target: str) -> bool:
    """True if ``facts`` promise that write-backs of ``target`` cover all in flight in its CU."""
    return any(row.fact in facts and target in chips_of(row.generation) for row in WRITE_BACK_ROWS)


def are_elements_unordered(facts: frozenset[Fact], target: str) -> bool:
    """True where ``facts`` promise that one operation's elements have no order on ``target``."""
    architecture = backend_of(target).architecture
    return any(row.fact in facts and row.architecture == architecture for row in ELEMENT_ROWS)


def are_cuda_atomics(facts: frozenset[Fact], target: str) -> bool:
    """True if ``facts`` promise that seq_cst updates are CUDA's, which ``target`` may relax."""
    architecture = backend_of(target).architecture
    return any(row.fact in facts and row.architecture == architecture for row in CUDA_ATOMICS_ROWS)


def clamped_scope(
    scope: Scope,
    operation: Operation,
    architecture: str,
    facts: frozenset[Fact],
    *,
    whole_kernel: bool,
) -> Scope:
    """The narrowest scope that will do for ``operation`` at ``scope``, ``facts`` holding."""
    for row in CLAMPS:
        if (
            row.wide is scope
            and row.fact in facts
            and row.architecture == architecture
            and operation in row.operations
            and (whole_kernel or not row.whole_kernel)
        ):
            scope = row.narrow
    return scope


def clamped_maintenance(
    mnemonic: str, bits: tuple[str, ...], chip: str, facts: frozenset[Fact]
) -> tuple[str, ...] | None:
    """The bits that will do for cache maintenance, None if it need not be, ``facts`` holding."""
    for row in CACHE_CLAMPS:
        if (
            row.fact in facts
            and chip in chips_of(row.generation)
            and row.mnemonic == mnemonic
            and row.bits == bits
        ):
            return row.narrow
    return bits
