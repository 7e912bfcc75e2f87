"""The instructions of PTX programs as data, with the names through which they access memory.

Values are 32-bit words. Addresses are names, never computed. An instruction of a tensor core or of
a copy unit works on words as well: a tile is one word.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fencewright.lowering.ptx.code import statements
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison, Register
from fencewright.simulator.core.program import (
    Arithmetic,
    Branch,
    Common,
    Computation,
    Move,
    Operand,
    Placement,
    Program,
    ProgramError,
)
from fencewright.simulator.core.words import WORD_MASK

SCOPES = {word: scope for word, scope in statements.SCOPES.items() if word != "gl"}
"""PTX's scope qualifiers, without that of membar."""


class PtxProxy(Enum):
    """The path on which an access reaches memory. Source: PTX ISA, "Proxies"."""

    __hash__ = object.__hash__  # At C speed: each member is one object.

    GENERIC = "generic"
    CONSTANT = "constant"
    TEXTURE = "texture"
    SURFACE = "surface"
    ASYNC = "async"
    TENSORMAP = "tensormap"
    TENSOR = "tensor"
    """Tensor memory, which nothing else accesses. Source: PTX ISA, "Tensor Memory"."""


class Space(Enum):
    """The memory that a fence of the async proxy is about. Source: PTX ISA, "membar / fence"."""

    GLOBAL = "global"
    OWN = "shared::cta"
    CLUSTER = "shared::cluster"


@dataclass(frozen=True, slots=True)
class Ld:
    """``ld``: read ``location`` into ``dst``. ``scope`` is None for a weak access."""

    dst: str
    location: str
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class St:
    """``st``: write ``value`` to ``location``."""

    location: str
    value: Operand
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class Atom:
    """``atom``, or ``red`` when ``dst`` is None.

    ``atom.cas`` exchanges, and only if the old value equals ``compare``.
    """

    dst: str | None
    location: str
    operation: RmwKind
    operand: Operand
    compare: Operand | None = None
    ordering: Ordering = Ordering.RELAXED
    scope: Scope = Scope.AGENT
    proxy: PtxProxy = PtxProxy.GENERIC

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The values that it uses besides the location's."""
        return (self.operand,) if self.compare is None else (self.compare, self.operand)


class Restriction(Enum):
    """The objects that a fence with ``.sync_restrict`` is about: shared memory of its CTA, or of
    all CTAs of its cluster. Source: PTX ISA, "membar / fence".
    """

    OWN = "shared::cta"
    CLUSTER = "shared::cluster"

    @property
    def ordering(self) -> Ordering:
        """The one ordering that a fence can have with it."""
        return Ordering.RELEASE if self is Restriction.OWN else Ordering.ACQUIRE

    @property
    def reach(self) -> Scope:
        """The scope of its shared memory."""
        return Scope.WORKGROUP if self is Restriction.OWN else Scope.CLUSTER


@dataclass(frozen=True, slots=True)
class PtxFence:
    """``fence``; ``fence.sc`` has the ordering seq_cst, ``restriction`` is ``.sync_restrict``."""

    ordering: Ordering
    scope: Scope
    restriction: Restriction | None = None

    @property
    def problem(self) -> str:
        """The reason that there is no such fence; "" if there is. Source: PTX ISA, "membar /
        fence".
        """
        restriction = self.restriction
        if restriction is None:
            return ""
        if self.ordering is restriction.ordering and self.scope is Scope.CLUSTER:
            return ""
        words = f"{restriction.ordering} fences at cluster scope"
        return f"sync_restrict::{restriction.value} is for {words}"


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """``fence.proxy.X``; ``proxy`` None is ``fence.proxy.alias``. Of all memory without
    ``space``."""

    proxy: PtxProxy | None
    space: Space | None = None


@dataclass(frozen=True, slots=True)
class CrossingFence:
    """``fence.proxy.X::generic.release`` or ``.acquire``: from the generic proxy to ``proxy``
    alone.

    For the async proxy it has ``.sync_restrict``, and is about shared memory. An acquire of the
    tensor-map proxy is about the map at ``location``. Source: PTX ISA, "membar / fence".
    """

    ordering: Ordering
    scope: Scope
    proxy: PtxProxy
    location: str | None = None


@dataclass(frozen=True, slots=True)
class InitFence:
    """``fence.mbarrier_init.release.cluster``, which releases the thread's ``mbarrier.init``."""


class BarrierRole(Enum):
    """The part of a barrier operation: sync arrives and waits."""

    SYNC = "sync"
    ARRIVE = "arrive"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Bar:
    """``bar.cta``: the ``instance`` written in the program, its barrier number, its thread count.

    Without ``count`` the participants are the threads of the CTA that execute it, the n-th
    time each with the n-th time of the others, and nobody is left waiting.
    """

    role: BarrierRole
    instance: Operand
    number: Operand = 0
    count: Operand | None = None


@dataclass(frozen=True, slots=True)
class ClusterBarrier:
    """``barrier.cluster.arrive`` (release or relaxed) and ``.wait`` (acquire)."""

    role: BarrierRole
    ordering: Ordering


@dataclass(frozen=True, slots=True)
class MbarrierInit:
    """``mbarrier.init``: from here on each phase expects ``count`` arrivals; 0 is
    ``mbarrier.inval``."""

    mbarrier: str
    count: int


@dataclass(frozen=True, slots=True)
class MbarrierArrive:
    """``mbarrier.arrive``: ``count`` arrivals in a phase that expects ``expect_tx`` bytes more.

    ``drops``: later phases expect that many arrivals fewer. ``token`` is set to the phase's parity.
    """

    mbarrier: str
    ordering: Ordering = Ordering.RELEASE
    scope: Scope = Scope.WORKGROUP
    expect_tx: int = 0
    count: int = 1
    drops: bool = False
    token: str | None = None


@dataclass(frozen=True, slots=True)
class MbarrierTx:
    """``mbarrier.expect_tx``: the phase waits for ``bytes`` more; fewer is
    ``mbarrier.complete_tx``."""

    mbarrier: str
    bytes: int
    scope: Scope = Scope.WORKGROUP


@dataclass(frozen=True, slots=True)
class MbarrierWait:
    """``mbarrier.try_wait`` in a loop, until the phase is complete; with ``dst`` a single look.

    ``phase`` is the number of a phase (from 0), or, ``by_parity``, the parity of the one before the
    current phase. A token is a parity too: PTX allows one in its phase and in the next alone.
    """

    mbarrier: str
    phase: Operand = 0
    ordering: Ordering = Ordering.ACQUIRE
    scope: Scope = Scope.WORKGROUP
    by_parity: bool = False
    dst: str | None = None


class Unit(Enum):
    """A unit that works beside the threads; each has groups of its own."""

    CORE = "cp.async"
    BULK = "cp.async.bulk"
    PRODUCT = "wgmma"


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The map at ``location``: its word says which of ``choices``, lists of words, it describes.

    A word beyond them stands for the last.
    """

    location: str
    choices: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """``cp.async.bulk`` or ``cp.async`` from ``source``, or ``st.async`` of a value, to
    ``location``.

    ``more`` are further words, as pairs of a location and its source. With ``operation`` the source
    is combined into the location. It completes ``bytes`` on ``mbarrier``, or, when that is None,
    with the group it is committed to. ``read_map`` describes the source, ``written_map`` the
    location: they take the place of ``source`` and ``location``, which are those of choice 0.
    """

    location: str
    source: str | None
    value: Operand = 0
    mbarrier: str | None = None
    unit: Unit = Unit.BULK
    bytes: int = 1
    more: tuple[tuple[str, str], ...] = ()
    operation: RmwKind | None = None
    read_map: TensorMap | None = None
    written_map: TensorMap | None = None

    @property
    def proxy(self) -> PtxProxy:
        """The proxy of its accesses to the copied data. Source: PTX ISA, cp.async, st.async."""
        by_threads = self.source is None or self.unit is Unit.CORE
        return PtxProxy.GENERIC if by_threads else PtxProxy.ASYNC

    @property
    def words(self) -> tuple[tuple[str, str | None], ...]:
        """The words that it writes, each with the one that it reads."""
        return ((self.location, self.source), *self.more)


@dataclass(frozen=True, slots=True)
class AsyncRelease:
    """``st.async.release``, or ``red.async.release`` with ``operation``: no thread waits for it."""

    location: str
    value: Operand
    scope: Scope
    operation: RmwKind | None = None


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """``commit_group``: the operations started on ``unit`` so far can be waited for."""

    unit: Unit = Unit.BULK


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """``wait_group``: until only the last ``pending`` groups are not done; of copies all of
    ``unit``.

    ``reads_only`` is ``.read``: only the sources are done. ``commits`` is ``cp.async.wait_all``.
    """

    reads_only: bool
    pending: int = 0
    unit: Unit = Unit.BULK
    commits: bool = False


@dataclass(frozen=True, slots=True)
class CopyArrive:
    """``cp.async.mbarrier.arrive``; ``counted``: not ``.noinc``, so that the phase expects it."""

    mbarrier: str
    counted: bool = True


@dataclass(frozen=True, slots=True)
class MapCopy:
    """``tensormap.cp_fenceproxy``: copies a map, and releases it to the tensor-map proxy."""

    location: str
    source: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Multimem:
    """``multimem.st``, ``.red`` or ``.ld_reduce``: an access of each of the ``locations``."""

    locations: tuple[str, ...]
    value: Operand = 0
    operation: RmwKind | None = None
    dst: str | None = None
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """A prefetch, which changes no outcome."""

    text: str


@dataclass(frozen=True, slots=True)
class RegisterFence:
    """``wgmma.fence``: later products use registers and memory as they are now."""


@dataclass(frozen=True, slots=True)
class WgmmaProduct:
    """``wgmma.mma_async``: ``dst`` becomes a times b, added to its old value if ``adds``.

    ``a`` is a location or, ``a_is_register``, a register.
    """

    dst: str
    a: str
    b: str
    adds: Operand = 1
    a_is_register: bool = False


@dataclass(frozen=True, slots=True)
class TensorLoad:
    """``tcgen05.ld``."""

    dst: str
    location: str


@dataclass(frozen=True, slots=True)
class TensorStore:
    """``tcgen05.st``."""

    location: str
    value: Operand


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """``tcgen05.cp``, from shared to tensor memory."""

    location: str
    source: str


@dataclass(frozen=True, slots=True)
class TensorProduct:
    """``tcgen05.mma``: ``location`` becomes a times b, added to its old value if ``adds``.

    ``a_is_tensor``: a is in tensor memory, not in shared memory.
    """

    location: str
    a: str
    b: str
    adds: Operand = 1
    a_is_tensor: bool = False


@dataclass(frozen=True, slots=True)
class TensorCommit:
    """``tcgen05.commit``: an arrival when all products and copies of the thread so far are done."""

    mbarrier: str


class TensorSync(Enum):
    """The synchronisation of a thread with its own ``tcgen05`` operations."""

    WAIT_LOADS = "tcgen05.wait::ld"
    WAIT_STORES = "tcgen05.wait::st"
    BEFORE = "tcgen05.fence::before_thread_sync"
    AFTER = "tcgen05.fence::after_thread_sync"


@dataclass(frozen=True, slots=True)
class TensorFence:
    """``tcgen05.wait`` and ``tcgen05.fence``."""

    kind: TensorSync


@dataclass(frozen=True, slots=True)
class CompareBranch:
    """To ``target`` if ``left`` compares so with ``right``, as signed words: ``setp`` and
    ``bra``."""

    target: str
    comparison: Comparison
    left: Operand
    right: Operand


AsyncInstruction = (
    CrossingFence
    | InitFence
    | MbarrierInit
    | MbarrierArrive
    | MbarrierTx
    | MbarrierWait
    | AsyncCopy
    | AsyncRelease
    | CommitGroup
    | WaitGroup
    | CopyArrive
    | MapCopy
    | Multimem
    | Hint
    | RegisterFence
    | WgmmaProduct
    | TensorLoad
    | TensorStore
    | TensorCopy
    | TensorProduct
    | TensorCommit
    | TensorFence
)
"""The instructions that ``asynchronous`` runs."""

PtxInstruction = (
    Ld
    | St
    | Atom
    | PtxFence
    | ProxyFence
    | Bar
    | ClusterBarrier
    | AsyncInstruction
    | CompareBranch
    | Computation
    | Common
)


@dataclass(frozen=True, slots=True)
class Alias:
    """The meaning of a further name: another name of ``location``.

    With the generic proxy it is another virtual address of it, which any proxy may use.
    With any other proxy it is the same virtual address as it is reached through that proxy.
    Source: PTX ISA, "Proxies"; ISCA 2022, "virtual aliases".
    """

    location: str
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class PtxProgram(Program[PtxInstruction]):
    """Threads over named locations; those that are not declared start at 0.

    ``aliases`` has the names that are not locations of their own, ``mbarriers`` has the
    arrival count of each mbarrier, which is initialised before the threads start; 0 if it is by
    ``mbarrier.init``. ``shared`` has the CTA of every location in shared memory, for fences of one
    state space; ``tensor`` has the locations in tensor memory.
    ``registers`` are those that do not start at 0.
    """

    aliases: Mapping[str, Alias] = field(default_factory=dict[str, Alias])
    mbarriers: Mapping[str, int] = field(default_factory=dict[str, int])
    shared: Mapping[str, Placement] = field(default_factory=dict[str, Placement])
    registers: Mapping[Register, int] = field(default_factory=dict[Register, int])
    tensor: frozenset[str] = frozenset()

    @property
    def initial(self) -> dict[str, int]:
        """The words that the declared locations start with."""
        return {each.name: each.initial & WORD_MASK for each in self.locations}

    def registers_of(self, thread: int) -> dict[str, int]:
        """The words that the registers of a thread start with."""
        return {r.name: n & WORD_MASK for r, n in self.registers.items() if r.thread == thread}

    def physical(self, name: str) -> str:
        """The physical location that ``name`` stands for. Raises ``ProgramError``."""
        return self._names(name)[-1]

    def address(self, name: str) -> str:
        """The virtual address that ``name`` stands for. Raises ``ProgramError``."""
        names = self._names(name)
        return next(each for each in names if not self._is_through_a_proxy(each))

    def _is_through_a_proxy(self, name: str) -> bool:
        alias = self.aliases.get(name)
        return alias is not None and alias.proxy is not PtxProxy.GENERIC

    def _names(self, name: str) -> list[str]:
        """``name`` and the name that it is an alias of, down to the location."""
        names = [name]
        while (alias := self.aliases.get(names[-1])) is not None:
            if alias.location in names:
                raise ProgramError(f"{alias.location} is an alias of itself")
            names.append(alias.location)
        return names


def assigned(instruction: PtxInstruction) -> tuple[str, ...]:
    """The register that an instruction sets, if any."""
    dst = instruction.token if isinstance(instruction, MbarrierArrive) else None
    if isinstance(instruction, _SETTING):
        dst = instruction.dst
    return () if dst is None else (dst,)


_SETTING = (
    Ld | Atom | Move | Arithmetic | Computation | MbarrierWait | Multimem | WgmmaProduct
    | TensorLoad
)  # fmt: skip


def accesses(instruction: PtxInstruction) -> Iterator[tuple[str, PtxProxy]]:
    """The names through which an instruction accesses memory, each with the proxy."""
    match instruction:
        case Ld() | St() | Atom():
            yield instruction.location, instruction.proxy
        case AsyncCopy():
            yield from _copied(instruction)
        case AsyncRelease():
            yield instruction.location, PtxProxy.GENERIC
        case MapCopy():
            yield instruction.location, PtxProxy.GENERIC
            yield instruction.source, PtxProxy.GENERIC
        case Multimem():
            yield from ((name, PtxProxy.GENERIC) for name in instruction.locations)
        case WgmmaProduct():
            if not instruction.a_is_register:
                yield instruction.a, PtxProxy.ASYNC
            yield instruction.b, PtxProxy.ASYNC
        case TensorLoad() | TensorStore():
            yield instruction.location, PtxProxy.TENSOR
        case TensorCopy():
            yield instruction.location, PtxProxy.TENSOR
            yield instruction.source, PtxProxy.ASYNC
        case TensorProduct():
            yield instruction.location, PtxProxy.TENSOR
            yield instruction.a, PtxProxy.TENSOR if instruction.a_is_tensor else PtxProxy.ASYNC
            yield instruction.b, PtxProxy.ASYNC
        case _:
            pass


def _copied(copy: AsyncCopy) -> Iterator[tuple[str, PtxProxy]]:
    for written, read in copy.words:
        yield written, copy.proxy
        if read is not None:
            yield read, copy.proxy
    for each in (copy.read_map, copy.written_map):
        if each is not None:
            yield each.location, PtxProxy.TENSORMAP
            yield from ((name, copy.proxy) for choice in each.choices[1:] for name in choice)


def variables(code: Iterable[PtxInstruction]) -> Iterator[str]:
    """The names through which code accesses memory."""
    return (name for each in code for name, _ in accesses(each))


def mbarrier_of(instruction: PtxInstruction) -> str | None:
    """The mbarrier that an instruction works on, if any."""
    return instruction.mbarrier if isinstance(instruction, _OF_MBARRIERS) else None


_OF_MBARRIERS = (
    MbarrierInit
    | MbarrierArrive
    | MbarrierTx
    | MbarrierWait
    | AsyncCopy
    | CopyArrive
    | TensorCommit
)


def operands(instruction: PtxInstruction) -> tuple[Operand, ...]:
    """The values that an instruction stores, computes with or compares."""
    match instruction:
        case St() | AsyncCopy() | AsyncRelease() | Move() | Multimem() | TensorStore():
            return (instruction.value,)
        case Atom() | Computation():
            return instruction.operands
        case MbarrierWait() if instruction.by_parity:
            return (instruction.phase,)
        case WgmmaProduct():
            return (instruction.adds, *((instruction.a,) if instruction.a_is_register else ()))
        case TensorProduct():
            return (instruction.adds,)
        case Arithmetic():
            return (instruction.a, instruction.b)
        case CompareBranch():
            return (instruction.left, instruction.right)
        case Branch(_, condition) if condition is not None:
            return (condition, 0)
        case _:
            return ()
