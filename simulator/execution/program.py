"""A kernel as its lanes run it: the common form of front ends and of the executor.

A value is an array of ``uint64``: of shape (..., lanes) up to 64 bits, zeros above its width; wider
ones of shape (pieces, ..., lanes), 64 bits a piece, the lowest first. What lanes have alike may
have length 1 in place of them, or no axis. A predicate is 0 or 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.cache_policy import CachePolicy as CachePolicy
from fencewright.lowering.cache_policy import Lookup as Lookup
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.semantics.named_barriers import BarrierAction, Meeting
from fencewright.simulator.semantics.operands import LaneValue
from fencewright.simulator.semantics.tensors import Tile

Values: TypeAlias = NDArray[np.uint64]
Register: TypeAlias = int
"""The number of a register; a read has the last write of its lane."""


class MemorySpace(FastStrEnum):
    """The memory that an access goes to; SCALAR is global memory through the scalar cache."""

    GLOBAL = "global"
    SHARED = "shared"
    PRIVATE = "private"
    SCALAR = "scalar"


class MemoryAccessKind(FastStrEnum):
    """The kind of an access to memory, as caches and counters distinguish them.

    ``ATOMIC`` returns the old value, ``REDUCTION`` does not; ``COPY``: from memory to shared
    memory.
    """

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    REDUCTION = "reduction"
    COPY = "copy"


class CacheLevel(FastStrEnum):
    """The places that hold data, from a lane outwards; LAST_LEVEL is the cache at the memory."""

    L1 = "L1"
    L2 = "L2"
    LAST_LEVEL = "last-level cache"
    MEMORY = "memory"


# Instructions that the hardware counts


@dataclass(frozen=True, slots=True)
class MemoryInstruction:
    """A load, store or atomic of one kernel: ``width`` bytes a lane.

    ``text``: as it is printed. ``model``: as ``access.model_of`` takes it, None where no counts are
    known of it. ``policy``: None for what passes no cache (shared memory). ``combines``: lanes that
    ask for the same sector ask for it once.
    """

    text: str
    model: str | None
    kind: MemoryAccessKind
    space: MemorySpace
    width: int
    policy: CachePolicy | None
    place: SourceLocation | None
    combines: bool = True


@dataclass(frozen=True, slots=True)
class FenceInstruction:
    """An instruction that orders: a fence, cache maintenance, a wait, a barrier; all its effects.

    ``waits``: kinds of access of its own wave that have to be complete, in ``spaces``;
    ``writes_back``: caches whose dirty lines go out; ``invalidates``: caches that lose their lines
    (the L2: lines that are not dirty and belong to other memory). ``scope`` as the target
    calls it, empty where it has none. ``joins``: lanes wait there for others of the work-group, or
    of the cluster if ``of_cluster``, or for the barrier that they have joined if ``is_named``;
    ``arrives``: they do not wait, and count as there.
    ``in_flight``: of a space so many of the newest accesses need not be complete; none where
    nothing is said.
    """

    text: str
    scope: str
    waits: frozenset[MemoryAccessKind]
    spaces: frozenset[MemorySpace]
    writes_back: frozenset[CacheLevel]
    invalidates: frozenset[CacheLevel]
    joins: bool
    place: SourceLocation | None
    in_flight: tuple[tuple[MemorySpace, int], ...] = ()
    is_named: bool = False
    arrives: bool = False
    of_cluster: bool = False


CountedInstruction: TypeAlias = MemoryInstruction | FenceInstruction


# Steps


@dataclass(frozen=True, slots=True)
class Compute:
    """Each lane by itself: ``compute`` takes the operands' values and gives the result's.

    Without operands it is a constant.
    """

    result: Register
    operands: tuple[Register, ...]
    compute: Callable[..., Values]
    text: str


@dataclass(frozen=True, slots=True)
class CrossLane:
    """Lanes of a wave together.

    ``compute`` takes which lanes are active and then the operands, all of shape (waves, lanes), and
    gives the result's value in that shape. ``lanes``: those of which the operands matter, None:
    all.
    """

    result: Register
    operands: tuple[Register, ...]
    compute: Callable[..., Values]
    text: str
    lanes: Register | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """A value that only some lanes take: ``new`` where ``lanes`` is not 0, else ``old``."""

    result: Register
    lanes: Register
    new: Register
    old: Register


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of which nothing is known: it is carried and stored, and ends a launch where it is
    needed.

    ``text``: what it is, as a part of a sentence.
    """

    result: Register
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the launch at an instruction that is not executed, for the reason ``text``."""

    text: str
    place: SourceLocation | None


@dataclass(frozen=True, slots=True)
class Special:
    """A lane's read of a property of its own."""

    result: Register
    value: LaneValue


@dataclass(frozen=True, slots=True)
class Argument:
    """Argument ``number`` of the kernel: its value, or the address of its buffer (PTX).

    Of a wide one the ``bits`` from bit ``first``, up to 64.
    """

    result: Register
    number: int
    first: int = 0
    bits: int = 64

    def of(self, arguments: Sequence[int]) -> Values:
        """The value, given those of all arguments."""
        return np.array(arguments[self.number] >> self.first & (1 << self.bits) - 1, np.uint64)


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A memory instruction: each active lane at its ``address`` plus ``offset`` bytes.

    ``data``: what a store writes, or an atomic's operands. ``result``: what a load or atomic
    gives. ``update``: of an atomic, takes the old value and ``data`` of different addresses and
    gives the new ones; lanes with equal addresses come one after another.
    ``scalar_base``: a register whose value is added (CDNA's scalar address). ``where``: only lanes
    that have not 0 there. ``is_further``: it goes on with what the step before has executed, as the
    second half of ``ds_read2_b32``, and is not counted again.
    """

    instruction: int
    address: Register
    offset: int
    data: tuple[Register, ...]
    result: Register | None
    update: Callable[..., Values] | None = None
    scalar_base: Register | None = None
    where: Register | None = None
    is_further: bool = False


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Bytes from global to shared memory without a register, ``source`` to ``target``.

    If the instruction is a store or a reduction, from shared to global memory; if it is one of
    shared memory, from there to there.

    With ``bytes`` None each active lane copies the instruction's ``width``; else each active
    lane copies as many bytes as the register says (bulk copies). ``where``: only lanes that have
    not 0 there; those that have 0 in ``inside`` copy zeros; ``taken``: so many bytes are copied,
    the others are zero. ``update``: of a reduction, as ``MemoryStep`` has it, of elements of
    ``element`` bytes. ``is_further``: as there.
    """

    instruction: int
    target: Register
    source: Register
    bytes: Register | None = None
    where: Register | None = None
    inside: Register | None = None
    taken: Register | None = None
    update: Callable[..., Values] | None = None
    element: int = 0
    is_further: bool = False


@dataclass(frozen=True, slots=True)
class TensorStep:
    """A box between a tensor and shared memory, by each active lane.

    ``map``: the address of the tensor map. ``result`` has the bytes of a box. ``updates``: of a
    reduction, by the type of elements. ``offsets``: of mode im2col. Else as ``CopyStep``.
    """

    instruction: int
    map: Register
    shared: Register
    coordinates: tuple[Register, ...]
    offsets: tuple[Register, ...] | None
    result: Register
    where: Register | None = None
    updates: Mapping[int, Callable[..., Values]] | None = None
    is_further: bool = False


@dataclass(frozen=True, slots=True)
class TileStep:
    """A tile between a tensor and shared memory, by each wave, whatever lanes are active.

    ``words``: of its descriptor, which ``read`` reads; of None nothing is moved.
    """

    instruction: int
    words: tuple[Register, ...]
    read: Callable[[Sequence[int]], Tile | None]


@dataclass(frozen=True, slots=True)
class FenceStep:
    """A fence, write-back, invalidate, wait or barrier; of one with a number, and so many threads.

    Without ``barrier`` it is number 0, without ``threads`` of all that have not ended. ``vote``:
    lanes vote yes there if that is not 0.
    """

    instruction: int
    barrier: Register | None = None
    threads: Register | None = None
    vote: Register | None = None


@dataclass(frozen=True, slots=True)
class NamedBarrierStep:
    """An action of waves at a barrier of gfx12.

    ``number``: that of the barrier; None: ``operand`` has it and the count, as m0 has them.
    ``result``: 1 where it is the first signal.
    """

    instruction: int
    action: BarrierAction
    number: int | None
    operand: Register | None
    result: Register | None = None


Step: TypeAlias = (
    Compute
    | CrossLane
    | Merge
    | Unknown
    | Special
    | Argument
    | MemoryStep
    | CopyStep
    | TensorStep
    | TileStep
    | FenceStep
    | NamedBarrierStep
    | Stop
)


# Control flow


@dataclass(frozen=True, slots=True)
class Jump:
    """To block ``block``, after ``moves`` of registers (to, from), all at once."""

    block: int
    moves: tuple[tuple[Register, Register], ...] = ()


@dataclass(frozen=True, slots=True)
class LaneBranch:
    """Lanes whose ``condition`` is not 0 take ``taken``, the others ``other``; ``place``: in the
    source."""

    condition: Register
    taken: Jump
    other: Jump
    place: SourceLocation | None = None


@dataclass(frozen=True, slots=True)
class EndLane:
    """The lane has ended."""


BlockEnd: TypeAlias = Jump | LaneBranch | EndLane


def jumps_of(end: object) -> tuple[Jump, ...]:
    """The jumps of a block's end, those of lanes whose condition holds first."""
    match end:
        case Jump():
            return (end,)
        case LaneBranch(_, taken, other, _):
            return (taken, other)
        case _:
            return ()


def with_jumps(end: BlockEnd, change: Callable[[Jump], Jump]) -> BlockEnd:
    """The same end with other jumps."""
    match end:
        case Jump():
            return change(end)
        case LaneBranch(condition, taken, other, place):
            return LaneBranch(condition, change(taken), change(other), place)
        case EndLane():
            return end


@dataclass(frozen=True, slots=True)
class LaneBlock:
    """Steps without a branch, and their successor."""

    steps: tuple[Step, ...]
    end: BlockEnd


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter: ``bits`` wide, the address of a buffer if ``is_buffer``; ``offset`` in bytes.

    ``is_hidden``: nobody gives it; it has ``hidden`` of the launch, or 0. ``is_integer``: it is no
    number with a fraction. ``is_struct``: an array of its size is its bytes.
    """

    name: str
    bits: int
    is_buffer: bool
    offset: int
    is_hidden: bool = False
    hidden: LaneValue | None = None
    is_integer: bool = False
    is_struct: bool = False


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    """A variable of the module: where it lies, and the bytes that it has at first."""

    name: str
    address: int
    initial: bytes


@dataclass(frozen=True, slots=True)
class KernelResources:
    """A kernel's needs of a compute unit: registers of a lane, bytes of shared memory of a group.

    ``vector_registers``: 32 bits each; None where only the vendor's assembler knows (PTX).
    """

    vector_registers: int | None
    accumulation_registers: int
    scalar_registers: int
    shared_bytes: int
    private_bytes: int


@dataclass(frozen=True, slots=True)
class LaneProgram:
    """A kernel. Block 0 is the entry; ``instructions`` are those that steps name by number.

    ``block_size``: threads in x, y and z where the kernel fixes them. ``most_threads``: of a
    work-group, as it is compiled; None: as many as the target has. ``variables``: those of the
    module that it uses. ``scalars``: registers that a wave has once; its lanes always run together
    where there are any. ``cluster``: work-groups of a cluster where the kernel fixes them.
    ``has_ranks``: addresses of shared memory have the rank of their work-group above ``RANK_BITS``.
    """

    name: str
    target: str
    lanes: int
    registers: int
    parameters: tuple[KernelParameter, ...]
    resources: KernelResources
    block_size: tuple[int, int, int] | None
    instructions: tuple[CountedInstruction, ...]
    blocks: tuple[LaneBlock, ...]
    most_threads: int | None = None
    variables: tuple[GlobalVariable, ...] = ()
    scalars: frozenset[Register] = frozenset()
    cluster: tuple[int, int, int] | None = None
    has_ranks: bool = False

    @property
    def given(self) -> tuple[KernelParameter, ...]:
        """The parameters that a launch gives a value."""
        return tuple([each for each in self.parameters if not each.is_hidden])


# The executor's events


@dataclass(frozen=True, slots=True)
class Executed:
    """Instruction ``instruction``, run once by each of several waves: a row for each.

    ``groups``: the number of each wave's work-group in the launch; ``waves``: its number in the
    work-group. ``addresses``: in bytes, of shape (rows, lanes), of a fence empty; ``active``: of
    the same shape, for a fence (rows, lanes) too. ``sizes``: of bulk copies, bytes of each lane.
    """

    instruction: int
    groups: Numbers
    waves: Numbers
    addresses: Numbers
    active: LaneFlags
    sizes: Numbers | None = None
    copied_to: Numbers | None = None
    """Of a copy, the addresses in shared memory; ``addresses`` are those in global memory."""
    is_further: bool = False
    """It is a further part of the instruction before; only observers that ask for parts see it."""
    same: LaneFlags | None = None
    """Of a store, lanes that write the old value; for observers that ask for parts."""
    meetings: tuple[Meeting, ...] = ()
    """Of an action at named barriers the phase of each wave's."""


Observer: TypeAlias = Callable[[Executed], None]
