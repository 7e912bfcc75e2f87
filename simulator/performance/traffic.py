"""The traffic of a kernel: an observer of its execution; counts by instruction, fence and level.

Counters have the profilers' names where one has them. Every number has an evidence: that of the
rule by which one access is counted, and *inferred* where it depends on what a cache holds.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.cdna.instructions import memory_instruction
from fencewright.lowering.cdna.performance.accesses import (
    LDS_INSTRUCTIONS,
    hierarchy_of,
    lds_phases,
)
from fencewright.lowering.evidence import Evidence, Figure
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.performance.accesses import (
    COUNTED_LOCALLY,
    SECTOR,
    SHARED_BANKS,
    SHARED_WORD,
    FenceCost,
)
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, Operation
from fencewright.simulator.execution.lanes import Numbers, distinct, firsts
from fencewright.simulator.execution.program import (
    CacheLevel,
    CountedInstruction,
    Executed,
    FenceInstruction,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.accesses import cdna, ptx
from fencewright.simulator.performance.accesses.access import Model, model_of
from fencewright.simulator.performance.caches import Caches, Moved, Outcome, Requests
from fencewright.simulator.performance.machine import Machine
from fencewright.simulator.performance.patterns import (
    Patterns,
    Pieces,
    lines_of_ranges,
    lines_of_rows,
    patterns,
)
from fencewright.simulator.performance.private import BASE, interleaved
from fencewright.simulator.performance.words import (
    LINE,
    WORD,
    Words,
    count_units,
    how_many_set,
    touched,
    widened,
)

Times: TypeAlias = NDArray[np.float64]
"""Of each wave: nanoseconds where not said otherwise."""

# The result


@dataclass(frozen=True, slots=True)
class Counted:
    """A number, and how well it is known."""

    value: int
    evidence: Evidence


Counters = Mapping[str, Counted]
"""By the profiler's name."""


@dataclass(frozen=True, slots=True)
class LevelUse:
    """The lookups at a level, and the misses among them: in sectors, requests or lines."""

    level: CacheLevel
    looked_up: int
    missed: int

    @property
    def hit(self) -> int:
        """The lookups that hit."""
        return self.looked_up - self.missed


@dataclass(frozen=True, slots=True)
class InstructionTraffic:
    """The counts of all executions of an instruction.

    ``useful``: bytes that lanes ask for, those that several ask for once; ``moved``: bytes of the
    sectors or lines that they are in. ``pattern``: the addresses of lanes that came most often,
    from a base, with None for an inactive lane. ``phases``: the lanes that shared memory serves
    together, in ``banks``.
    """

    number: int
    instruction: MemoryInstruction
    executions: int
    useful: int
    moved: int
    levels: tuple[LevelUse, ...]
    counters: Counters
    pattern: tuple[int | None, ...]
    phases: tuple[tuple[int, ...], ...]
    banks: int

    @property
    def efficiency(self) -> float | None:
        """Useful over moved bytes; None where nothing is moved."""
        return self.useful / self.moved if self.moved else None


@dataclass(frozen=True, slots=True)
class Waited:
    """Accesses that were outstanding when a fence was executed; ``most`` of one wave."""

    kind: MemoryAccessKind
    space: MemorySpace
    instructions: int
    most: int


@dataclass(frozen=True, slots=True)
class Price:
    """Nanoseconds of a fence, and their unit: one execution, or all that are in series."""

    time: Figure
    of: str


@dataclass(frozen=True, slots=True)
class FenceTraffic:
    """The effects of all executions of a fence.

    ``lines``, ``bytes``: written back; ``again``: bytes fetched again at each level because it
    dropped them; ``price``: None where it is not known, or costs nothing.
    """

    number: int
    instruction: FenceInstruction
    executions: int
    waits: tuple[Waited, ...]
    lines: int
    bytes: int
    again: Mapping[CacheLevel, int]
    price: Price | None


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes between a level and the next farther out: read by it, written to that."""

    near: CacheLevel
    far: CacheLevel
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The amount of dirty data after so many batches; ``fence``: the one that was executed then."""

    step: int
    dirty: int
    fence: int | None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Nanoseconds from ``low`` to ``high``; inferred, from latencies and bandwidths.

    ``low``: the slowest level at its peak, or the slowest wave if none of its loads waits for
    another. ``high``: all levels after one another, and each wave's loads too; None where
    something is not known, which ``unknown`` says.
    """

    low: float
    high: float | None
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of a kernel. ``end_lines``, ``end_bytes``: written back when it ends."""

    instructions: tuple[InstructionTraffic, ...]
    fences: tuple[FenceTraffic, ...]
    counters: Counters
    flows: tuple[Flow, ...]
    end_lines: int
    end_bytes: int
    timeline: tuple[Moment, ...]
    time: TimeRange


# The counts so far


@dataclass(slots=True)
class _Counts:
    """Sums by name, each known as well as the least known part of it."""

    values: Counter[str] = field(default_factory=Counter[str])
    evidence: dict[str, Evidence] = field(default_factory=dict[str, Evidence])

    def add(self, name: str, value: int, evidence: Evidence) -> None:
        if value:
            self.values[name] += value
            self.evidence[name] = evidence.weaker(self.evidence.get(name, Evidence.MEASURED))

    def frozen(self) -> Counters:
        values = self.values.items()
        return MappingProxyType({name: Counted(n, self.evidence[name]) for name, n in values})


@dataclass(slots=True)
class _Instruction:
    executions: int = 0
    useful: int = 0
    moved: int = 0
    counts: _Counts = field(default_factory=_Counts)
    looked_up: Counter[CacheLevel] = field(default_factory=Counter[CacheLevel])
    missed: Counter[CacheLevel] = field(default_factory=Counter[CacheLevel])
    pattern: tuple[int | None, ...] = ()
    times: int = 0


_Kind = tuple[MemoryAccessKind, MemorySpace]


@dataclass(slots=True)
class _Fence:
    """``low``, ``high``: of the cheapest and the dearest execution, or of all on the busiest
    die."""

    executions: int = 0
    waited: Counter[_Kind] = field(default_factory=Counter[_Kind])
    most: Counter[_Kind] = field(default_factory=Counter[_Kind])
    lines: int = 0
    bytes: int = 0
    again: Counter[CacheLevel] = field(default_factory=Counter[CacheLevel])
    on_die: Counter[int] = field(default_factory=Counter[int])
    low: float = np.inf
    high: float = 0


_CACHED = (MemorySpace.GLOBAL, MemorySpace.SCALAR, MemorySpace.PRIVATE)
_NAMES_OF_SPACES: Mapping[MemorySpace, str] = MappingProxyType(
    {
        MemorySpace.GLOBAL: "global",
        MemorySpace.SHARED: "shared",
        MemorySpace.PRIVATE: "local",
    }
)
"""The spaces' names in Nsight Compute."""
_CORE_SHIFT = 48
"""Sectors of private memory are below the number of a core."""
_LOAD, _STORE = MemoryAccessKind.LOAD, MemoryAccessKind.STORE
_UNANSWERED = (MemoryAccessKind.STORE, MemoryAccessKind.REDUCTION)
"""Accesses that a wave does not wait for until a fence."""

_BY_CACHES = cdna.BEYOND_L2 | {ptx.READ_SECTORS, cdna.READ_REQUESTS}
"""Counters that depend on the caches: one access starts with cold ones, a kernel with its own."""

_L2_NAMES: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: "read",
        MemoryAccessKind.STORE: "write",
        MemoryAccessKind.ATOMIC: "atom",
        MemoryAccessKind.REDUCTION: "red",
    }
)
_TCC_NAMES: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: "TCC_READ",
        MemoryAccessKind.STORE: "TCC_WRITE",
        MemoryAccessKind.ATOMIC: "TCC_ATOMIC",
        MemoryAccessKind.REDUCTION: "TCC_ATOMIC",
    }
)


class _Touched:
    """The sectors of private memory that have been accessed on each core.

    An H200 counts a load of one that nothing has stored as a hit, though L2 is read. That a load of
    one that L1 had to drop counts as a miss is inferred.
    """

    def __init__(self) -> None:
        self._keys: Numbers = np.zeros(0, dtype=np.int64)

    def first_touches(self, requests: Requests) -> int:
        """The number of sectors of an access that nothing has accessed before."""
        sectors = np.arange(LINE // SECTOR)
        within = requests.words[:, None] >> (sectors * (SECTOR // WORD)).astype(np.uint32)
        is_touched = within & np.uint32((1 << SECTOR // WORD) - 1) != 0
        # From ``private.BASE`` on, so that the number of a sector fits below that of its core.
        lines = requests.lines - BASE // LINE
        keys = (requests.caches << _CORE_SHIFT | lines * len(sectors))[:, None] + sectors
        before = len(self._keys)
        self._keys = np.union1d(self._keys, keys[is_touched])
        return len(self._keys) - before


class TrafficObserver:
    """Counts the events of ``execute``; ``traffic`` gives the sums.

    ``groups`` work-groups of ``group_waves`` waves are executed, ``resident`` of them at once.
    ``remote``: ranges of addresses that belong to other memory.
    """

    def __init__(
        self,
        program: LaneProgram,
        machine: Machine,
        groups: int,
        group_waves: int,
        resident: int,
        remote: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.program, self.machine = program, machine
        self._rounds = -(-groups // resident)
        self._resident = min(resident, groups)
        self._group_waves = group_waves
        self._caches = Caches(machine.caches, remote)
        self._models = [_model(each, machine.target) for each in program.instructions]
        self._instructions: dict[int, _Instruction] = {}
        self._fences: dict[int, _Fence] = {}
        self._counts = _Counts()
        self._read: Counter[CacheLevel] = Counter()
        self._written: Counter[CacheLevel] = Counter()
        self._timeline: list[Moment] = []
        self._private = _Touched()
        self._steps = 0
        self._clocks = _Clocks(machine, groups * group_waves)

    def __call__(self, executed: Executed) -> None:
        self._steps += 1
        instruction = self.program.instructions[executed.instruction]
        if isinstance(instruction, FenceInstruction):
            self._fence(executed, instruction)
        else:
            self._access(executed, instruction)

    def _waves(self, executed: Executed) -> Numbers:
        return executed.groups * self._group_waves + executed.waves

    # An access

    def _interleaved(self, executed: Executed, width: int) -> tuple[Executed, int]:
        """An access to private memory as one to where it lies, and the bytes of each column.

        A work-group has the private memory of the resident one whose place it takes: inferred.
        """
        word = int(self.machine.private_word.low)
        places = executed.groups % self._resident * self._group_waves + executed.waves
        addresses, active = interleaved(
            executed.addresses, executed.active, width,
            places=places, room=self.program.resources.private_bytes, word=word,
        )  # fmt: skip
        found = Executed(executed.instruction, executed.groups, executed.waves, addresses, active)
        return found, min(width, word)

    def _access(self, executed: Executed, instruction: MemoryInstruction) -> None:
        found = self._instructions.setdefault(executed.instruction, _Instruction())
        model = self._models[executed.instruction]
        carries = (
            self.machine.is_nvidia
            and instruction.kind is _LOAD
            and instruction.space is MemorySpace.GLOBAL
        )
        width = instruction.width
        if instruction.space is MemorySpace.PRIVATE:
            executed, width = self._interleaved(executed, width)
        ways = patterns(executed.addresses, executed.active, carries=carries)
        found.executions += int(np.count_nonzero(executed.active.any(axis=1)))
        _remember(found, ways)
        packets = self._count(found, model, ways, instruction)
        waves = self._waves(executed)
        self._clocks.issue(instruction, waves)
        if instruction.space not in _CACHED or instruction.policy is None:
            return
        if executed.sizes is None:
            pieces = lines_of_rows(ways, width, combined=instruction.combines)
            lanes = int((_distinct(ways) * ways.times).sum())
            found.useful += lanes * width
        else:
            pieces = lines_of_ranges(executed.addresses, executed.sizes, executed.active)
            found.useful += int(executed.sizes[executed.active].sum())
        found.moved += _bytes(pieces.words, self.machine.request(instruction))
        if not len(pieces.owners):
            return
        if instruction.space is MemorySpace.PRIVATE:
            self._count_private(found, instruction, ways, pieces)
        cores = self.machine.caches.core_of(executed.groups)[pieces.owners]
        requests = Requests(cores, pieces.lines, pieces.words)
        is_scalar = instruction.space is MemorySpace.SCALAR
        moved = self._caches.access(requests, instruction.kind, instruction.policy, is_scalar)
        if self.machine.is_nvidia and instruction.space is MemorySpace.PRIVATE:
            new = self._private.first_touches(requests)
            if instruction.kind is _LOAD:
                moved = (replace(moved[0], missed=moved[0].missed - new), *moved[1:])
        self._look_up(found, instruction, moved, packets, is_scalar)
        self._read[CacheLevel.L1] += _bytes(moved[0].reads.words, self.machine.request(instruction))
        self._written[CacheLevel.L1] += _bytes(moved[0].writes.words, self.machine.transfers.write)
        self._move(moved)
        self._clocks.look_up(instruction, waves, moved, self.machine)
        if instruction.kind in _UNANSWERED and instruction.space is MemorySpace.GLOBAL:
            sectors = np.bincount(
                pieces.owners, how_many_set(touched(pieces.words, SECTOR)), len(waves)
            )
            self._clocks.write(waves, sectors.astype(np.int64))
        if instruction.kind is not _LOAD:
            self._mark(None)

    def _count(
        self,
        found: _Instruction,
        model: Model | None,
        ways: Patterns,
        instruction: MemoryInstruction,
    ) -> int | None:
        """Counts accesses by themselves, each pattern once; returns an atomic's requests to L2."""
        executed = int(ways.times[ways.active.any(axis=1)].sum())
        space = _NAMES_OF_SPACES.get(instruction.space)
        if self.machine.is_nvidia and space is not None:
            word = ptx.COUNTED_AS[instruction.kind]
            name = f"smsp__inst_executed_op_{space}_{word}.sum"
            self._both(found, name, executed, Evidence.DOCUMENTED)
        if model is None:
            return None
        totals: dict[str, int] = {}
        for name, values in model.count(ways.offsets, ways.active).items():
            totals[name] = int((values * ways.times).sum())
            if name not in _BY_CACHES:
                known = model.evidence(name, ways.offsets)
                if name == ptx.TAG_WAVEFRONTS and self._waits_for_room(ways):
                    known = Evidence.INFERRED
                self._both(found, name, totals[name], known)
        if instruction.kind in (_LOAD, _STORE):
            return None
        if self.machine.is_nvidia:
            return totals.get(ptx.SECTORS[instruction.kind])
        return totals.get(cdna.ATOMIC_REQUESTS, 0) + totals.get(cdna.RETURNING_REQUESTS, 0)

    def _waits_for_room(self, ways: Patterns) -> bool:
        """True where all waves of an SM that load at once may have as many lines on the way as L1
        holds.

        On an H200 some passes of the tag stage are then repeated.
        """
        lines = int(distinct(ways.offsets // LINE, ways.active).max(initial=0))
        waves = -(-self._resident // self.machine.cores) * self._group_waves
        return lines * waves >= self.machine.caches.levels[0].lines

    def _count_private(
        self, found: _Instruction, instruction: MemoryInstruction, ways: Patterns, pieces: Pieces
    ) -> None:
        """Counts accesses to private memory by themselves: as others to the place where it lies.

        A wave's wide access counts as its words one after another: on NVIDIA measured for words of
        4 bytes, otherwise inferred.
        """
        kind, known = instruction.kind, Evidence.INFERRED
        requests = count_units(pieces.words, self.machine.transfers.write)
        if self.machine.is_nvidia:
            known = self._known_of_private(instruction)
            executed = len(np.unique(pieces.owners)) * self._private_words(instruction)
            pipe = "pipe_lsu_mem_local_op"
            name = ptx.COUNTED_AS[kind]
            self._both(found, f"l1tex__t_requests_{pipe}_{name}.sum", executed, known)
            self._both(found, f"l1tex__t_sectors_{pipe}_{name}.sum", requests, known)
            if kind is _STORE:
                self._both(found, ptx.WRITE_SECTORS, requests, known)
            return
        model = _model_of_word(instruction, self.machine.target)
        if model is None:
            return
        for first in range(0, ways.offsets.shape[1], self.machine.lanes):
            lanes = slice(first, first + self.machine.lanes)
            counts = model.count(ways.offsets[:, lanes], ways.active[:, lanes])
            for name, values in counts.items():
                is_instruction = name in cdna.BY_INSTRUCTIONS
                if name not in _BY_CACHES and not (first and is_instruction):
                    self._both(found, name, int((values * ways.times).sum()), known)

    def _private_words(self, instruction: MemoryInstruction) -> int:
        """Words of a lane's private memory that an access touches."""
        return max(instruction.width // int(self.machine.private_word.low), 1)

    def _known_of_private(self, instruction: MemoryInstruction) -> Evidence:
        """The evidence for an NVIDIA chip's count: of some, accesses by words were counted."""
        by_words = read_opcode(instruction.text).width == 8 * WORD
        is_counted = by_words and self.machine.target in COUNTED_LOCALLY
        return Evidence.MEASURED if is_counted else Evidence.INFERRED

    def _both(self, found: _Instruction, name: str, value: int, evidence: Evidence) -> None:
        found.counts.add(name, value, evidence)
        self._counts.add(name, value, evidence)

    def _look_up(
        self,
        found: _Instruction,
        instruction: MemoryInstruction,
        moved: Moved,
        packets: int | None,
        is_scalar: bool,
    ) -> None:
        """Count hits and misses of each level."""
        levels = [each.level for each in self.machine.caches.levels]
        looked_up = [each.looked_up for each in moved]
        if packets is not None:
            looked_up[1] = packets
        for level, requested, outcome in zip(levels, looked_up, moved, strict=True):
            if level is CacheLevel.L1 and instruction.kind is not _LOAD:
                continue
            found.looked_up[level] += requested
            found.missed[level] += outcome.missed
        if self.machine.is_nvidia:
            self._look_up_nvidia(found, instruction, moved, looked_up[1])
        else:
            self._look_up_amd(found, instruction.kind, moved, looked_up[1], is_scalar)

    def _look_up_nvidia(
        self, found: _Instruction, instruction: MemoryInstruction, moved: Moved, requested: int
    ) -> None:
        first, second = moved[:2]
        kind, known = instruction.kind, self.machine.known
        if instruction.space is MemorySpace.PRIVATE:
            known = known.weaker(self._known_of_private(instruction))
            known = Evidence.INFERRED if first.missed else known
        # Requests of several SMs for one sector may be joined before L2, or miss while it is
        # fetched.
        joined = Evidence.INFERRED
        fetched = count_units(second.reads.words, SECTOR)
        unit = "lts__t_sectors_srcunit_tex"
        self._both(found, f"{unit}_op_{_L2_NAMES[kind]}.sum", requested, joined)
        self._both(found, f"{unit}_lookup_hit.sum", requested - second.missed, joined)
        self._both(found, f"{unit}_lookup_miss.sum", fetched, joined)
        crossings = self.machine.crossings
        if crossings is not None and kind in (_LOAD, _STORE):
            crossing = fetched if kind is _LOAD else requested
            name = f"lts__t_sectors_op_{_L2_NAMES[kind]}.sum"
            self._both(found, name, requested + round(crossing * crossings.low), joined)
        if kind is _LOAD:
            space = _NAMES_OF_SPACES[instruction.space]
            sectors = f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_ld"
            self._both(found, f"{sectors}_lookup_hit.sum", first.hit, known)
            self._both(found, f"{sectors}_lookup_miss.sum", first.missed, known)
        returned = {_LOAD: first.missed, MemoryAccessKind.ATOMIC: requested}.get(kind, 0)
        self._both(found, ptx.READ_SECTORS, returned, known)

    def _look_up_amd(
        self,
        found: _Instruction,
        kind: MemoryAccessKind,
        moved: Moved,
        requested: int,
        is_scalar: bool,
    ) -> None:
        first, second = moved[:2]
        known = self.machine.known
        self._both(found, _TCC_NAMES[kind], requested, known)
        self._both(found, "TCC_REQ", requested, known)
        self._both(found, "TCC_HIT", requested - second.missed, known)
        self._both(found, "TCC_MISS", second.missed, known)
        if kind is _LOAD and not is_scalar:
            self._both(found, cdna.READ_REQUESTS, first.missed, known)

    def _move(self, moved: Moved) -> None:
        """Count the bytes beyond L2, and those fetched again for a fence."""
        transfers = self.machine.transfers
        shapes = self.machine.caches.levels
        self._count_far(moved[1])
        for shape, outcome in zip(shapes[1:], moved[1:], strict=True):
            reads = _far_reads(outcome.reads.words, transfers.far_read, transfers.least)
            writes = _far_writes(outcome.writes.words, transfers.far_write, transfers.least)
            self._read[shape.level] += reads.bytes
            self._written[shape.level] += writes.bytes
        for shape, outcome in zip(shapes, moved, strict=True):
            for fence, size in outcome.again.items():
                self._fences[fence].again[shape.level] += size

    def _count_far(self, second: Outcome) -> None:
        """Count L2's requests to the levels beyond it, by the profilers' names."""
        transfers, known = self.machine.transfers, self.machine.known
        reads = _far_reads(second.reads.words, transfers.far_read, transfers.least)
        writes = _far_writes(second.writes.words, transfers.far_write, transfers.least)
        if self.machine.is_nvidia:
            for name, size in (("read", reads.bytes), ("write", writes.bytes)):
                self._counts.add(f"dram__bytes_{name}.sum", size, known)
                self._counts.add(f"dram__sectors_{name}.sum", size // SECTOR, known)
            return
        self._counts.add(cdna.FABRIC_READS, reads.whole + reads.parts, known)
        self._counts.add("TCC_EA_RDREQ_32B", reads.parts, known)
        if transfers.far_read == 2 * transfers.far_write:
            self._counts.add(cdna.FABRIC_WIDE_READS, reads.whole, known)
        self._counts.add(cdna.FABRIC_WRITES, writes.whole + writes.parts, known)
        self._counts.add(cdna.FABRIC_WIDE_WRITES, writes.whole, known)
        self._counts.add("TCC_WRITEBACK", second.evicted, known)

    # A fence

    def _fence(self, executed: Executed, fence: FenceInstruction) -> None:
        found = self._fences.setdefault(executed.instruction, _Fence())
        waves = self._waves(executed)
        found.executions += len(waves)
        low, high = self._clocks.fence(fence, waves, found)
        if CacheLevel.L2 in fence.writes_back:
            written = self._write_back(executed.groups)
            found.lines += written.evicted
            found.bytes += _written_bytes(written, self.machine)
            low, high = self._in_series(executed.groups, found)
        elif not fence.joins and fence.waits and fence.scope in self.machine.fences:
            found.low, found.high = min(found.low, low.min()), max(found.high, high.max())
        self._clocks.spend(waves, low, high)
        for level in sorted(fence.invalidates):
            self._caches.invalidate(level, executed.groups, executed.instruction)
        if fence.writes_back or fence.invalidates:
            self._mark(executed.instruction)

    def _write_back(self, groups: Numbers) -> Outcome:
        moved = self._caches.write_back(groups)
        self._counts.add("TCC_ALL_TC_OP_WB_WRITEBACK", moved[1].evicted, self.machine.known)
        self._move(moved)
        return moved[1]

    def _in_series(self, groups: Numbers, found: _Fence) -> tuple[Times, Times]:
        """The time of write-backs of waves on the same die, one after another."""
        dies = self.machine.caches.die_of(groups)
        each = np.bincount(dies, minlength=self.machine.caches.dies)
        for die, count in enumerate(each.tolist()):
            found.on_die[die] += count
        price = self.machine.write_back
        if price is None:
            return np.zeros(len(groups)), np.zeros(len(groups))
        most = max(found.on_die.values())
        found.low, found.high = most * price.low, most * price.high
        return np.full(len(groups), price.low), (each[dies] * price.high).astype(np.float64)

    def _mark(self, fence: int | None) -> None:
        """Note how much is dirty, where that has changed or a fence is executed."""
        dirty = self._caches.dirty_bytes
        before = self._timeline[-1].dirty if self._timeline else 0
        if fence is not None or dirty != before:
            self._timeline.append(Moment(self._steps, dirty, fence))

    # The sums

    def traffic(self) -> Traffic:
        """The traffic counted so far; the kernel has ended."""
        at_end = Outcome()
        if self.machine.writes_at_end:
            self._steps += 1
            at_end = self._write_back(np.arange(self.machine.caches.dies))
            self._mark(None)
        flows = self._flows()
        return Traffic(
            tuple([self._instruction(number) for number in sorted(self._instructions)]),
            tuple([self._fence_traffic(number) for number in sorted(self._fences)]),
            self._counts.frozen(),
            flows,
            at_end.evicted,
            _written_bytes(at_end, self.machine),
            tuple(self._timeline),
            self._clocks.time(flows, self._rounds),
        )

    def _flows(self) -> tuple[Flow, ...]:
        levels = [*(each.level for each in self.machine.caches.levels), CacheLevel.MEMORY]
        return tuple([Flow(a, b, self._read[a], self._written[a]) for a, b in pairwise(levels)])

    def _instruction(self, number: int) -> InstructionTraffic:
        found = self._instructions[number]
        instruction = self.program.instructions[number]
        assert isinstance(instruction, MemoryInstruction)
        levels = tuple(
            [LevelUse(each, n, found.missed[each]) for each, n in found.looked_up.items()]
        )
        phases, banks = _served_together(instruction, self.machine)
        return InstructionTraffic(
            number, instruction, found.executions, found.useful, found.moved, levels,
            found.counts.frozen(), found.pattern, phases, banks,
        )  # fmt: skip

    def _fence_traffic(self, number: int) -> FenceTraffic:
        found = self._fences[number]
        instruction = self.program.instructions[number]
        assert isinstance(instruction, FenceInstruction)
        waits = tuple([Waited(*each, n, found.most[each]) for each, n in found.waited.items()])
        return FenceTraffic(
            number, instruction, found.executions, waits, found.lines, found.bytes,
            MappingProxyType(dict(found.again)), self._price(found),
        )  # fmt: skip

    def _price(self, found: _Fence) -> Price | None:
        if not found.high:
            return None
        if found.on_die:
            most = max(found.on_die.values())
            of = "one write-back" if most == 1 else f"{most} write-backs in series on one die"
            source = self.machine.write_back.source if self.machine.write_back else ""
            return Price(Figure(found.low, found.high, Evidence.INFERRED, source), of)
        source = next(iter(self.machine.fences.values())).idle.source
        return Price(Figure(found.low, found.high, Evidence.INFERRED, source), "one execution")


# Times


class _Clocks:
    """The least and the longest wait of each wave, and its outstanding accesses."""

    def __init__(self, machine: Machine, waves: int) -> None:
        self.machine = machine
        self._outstanding: dict[_Kind, Numbers] = {}
        self._sectors: Numbers = np.zeros(waves, dtype=np.int64)
        self._waves = waves
        self._load: Times = np.zeros(waves)
        self._fences: Times = np.zeros(waves)
        self._longest: Times = np.zeros(waves)
        self._unknown: set[str] = set()

    def issue(self, instruction: MemoryInstruction, waves: Numbers) -> None:
        """An access is outstanding from now on."""
        key = (instruction.kind, instruction.space)
        found = self._outstanding.pop(key, None)
        if found is None:
            found = np.zeros(self._waves, dtype=np.int64)
        found[waves] += 1
        # The order is that in which they were last issued.
        self._outstanding[key] = found

    def write(self, waves: Numbers, sectors: Numbers) -> None:
        """So many sectors of each wave are being written."""
        self._sectors[waves] += sectors

    def look_up(
        self, instruction: MemoryInstruction, waves: Numbers, moved: Moved, machine: Machine
    ) -> None:
        """Notes a wave's wait: the nearest level that served a part, and the farthest."""
        if instruction.kind not in (_LOAD, MemoryAccessKind.ATOMIC):
            return
        levels = [each.level for each in machine.caches.levels]
        served = [
            level
            for level, outcome in zip(levels, moved, strict=True)
            if outcome.missed < outcome.looked_up
        ]
        if len(moved[-1].reads):
            served.append(CacheLevel.MEMORY)
        if not served:
            return
        near, far = self._latency(served[0]), self._latency(served[-1])
        self._load[waves] = np.maximum(self._load[waves], near.low if near else 0)
        self._longest[waves] += far.high if far else 0

    def _latency(self, level: CacheLevel) -> Figure | None:
        found = self.machine.latencies.get(level)
        if found is None:
            self._unknown.add(f"the latency of {level}")
        return found

    def fence(self, fence: FenceInstruction, waves: Numbers, found: _Fence) -> tuple[Times, Times]:
        """The time that a fence waits: of each wave the least and the most nanoseconds."""
        stores: Numbers = np.zeros(len(waves), dtype=np.int64)
        left = {space: np.full(len(waves), n) for space, n in fence.in_flight}
        # The newest of a space may stay in flight.
        for key in reversed(self._outstanding):
            kind, space = key
            if kind not in fence.waits or space not in fence.spaces:
                continue
            outstanding = self._outstanding[key][waves]
            stays = np.minimum(outstanding, left.get(space, 0))
            if space in left:
                left[space] = left[space] - stays
            each = outstanding - stays
            self._outstanding[key][waves] = stays
            if kind in _UNANSWERED and space is MemorySpace.GLOBAL:
                stores += each
            if each.any():
                found.waited[key] += int(each.sum())
                found.most[key] = max(found.most[key], int(each.max()))
        cost = self.machine.fences.get(fence.scope)
        if cost is None or fence.joins or not fence.waits:
            return np.zeros(len(waves)), np.zeros(len(waves))
        sectors = self._sectors[waves]
        self._sectors[waves] = 0
        low, high = fence_cycles(cost, stores, sectors, is_crowded=self._waves > 1)
        return low / self.machine.clock, high / self.machine.clock

    def spend(self, waves: Numbers, low: Times, high: Times) -> None:
        """Waves wait for a fence."""
        self._fences[waves] += low
        self._longest[waves] += high

    def time(self, flows: tuple[Flow, ...], rounds: int) -> TimeRange:
        """The range of a kernel whose work-groups run in so many rounds."""
        low = float((self._load + self._fences).max(initial=0))
        high = float(self._longest.max(initial=0)) * rounds
        unknown = set(self._unknown)
        for flow in flows:
            size = flow.read + flow.written
            bandwidth = self.machine.bandwidths.get(flow.far)
            figures = (
                [each for each in (bandwidth.peak, bandwidth.found) if each] if bandwidth else []
            )
            if not size:
                continue
            if not figures:
                unknown.add(f"the bandwidth of {flow.far}")
                continue
            if bandwidth is not None and bandwidth.peak is not None:
                low = max(low, size / bandwidth.peak.high)
            high += size / min(each.low for each in figures)
        # Without a bandwidth the others still bound the time from above only if it is no
        # bottleneck.
        return TimeRange(low, None if self._unknown else high, tuple(sorted(unknown)))


def fence_cycles(
    cost: FenceCost, stores: Numbers, sectors: Numbers, *, is_crowded: bool = False
) -> tuple[Times, Times]:
    """Cycles of a fence after so many stores of each warp, and sectors of them: the least, the
    most.

    ``is_crowded``: other warps store and fence too, so that it may wait for theirs.
    """
    requested, places = np.unique(np.stack([stores, sectors]), axis=1, return_inverse=True)
    ranges = np.array([cost.cycles(*map(int, each)) for each in requested.T]).reshape(-1, 2)
    if is_crowded:
        worst = np.array([cost.crowded.cycles(*map(int, each)) for each in requested.T])
        ranges[:, 1] = np.maximum(ranges[:, 1], worst)
    found = ranges[places.reshape(-1)]
    return found[:, 0], found[:, 1]


# Parts


def _model(instruction: CountedInstruction, target: str) -> Model | None:
    if isinstance(instruction, FenceInstruction) or instruction.model is None:
        return None
    return model_of(instruction.model, target)


@cache
def _model_of_word(instruction: MemoryInstruction, target: str) -> Model | None:
    """Of a vector access to private memory that to a word of global memory; None if there is
    none."""
    bits = 8 * min(instruction.width, WORD)
    row = memory_instruction(target, Operation(instruction.kind), AddressSpace.GLOBAL, bits)
    try:
        return None if row is None else model_of(row.mnemonic, target)
    except UnsupportedError:
        return None


def _served_together(
    instruction: MemoryInstruction, machine: Machine
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """The lanes that shared memory serves at once, group by group, and how many banks it has."""
    if instruction.space is not MemorySpace.SHARED:
        return (), 0
    if machine.is_nvidia:
        size = min(machine.lanes, machine.lanes * SHARED_WORD // instruction.width)
        groups = [tuple(range(first, first + size)) for first in range(0, machine.lanes, size)]
        return tuple(groups), SHARED_BANKS
    chip = hierarchy_of(machine.target, f"traffic on {machine.target}")
    lds = LDS_INSTRUCTIONS.get((instruction.model or "").partition(" ")[0])
    row = lds and lds_phases(lds.access, lds.width, chip.lds_banks)
    return (row.phases, row.banks) if row else ((), 0)


def _remember(found: _Instruction, ways: Patterns) -> None:
    """Keep the pattern that comes most often."""
    most = int(np.argmax(ways.times))
    times = int(ways.times[most])
    if times > found.times:
        found.times = times
        lanes = zip(ways.offsets[most].tolist(), ways.active[most].tolist(), strict=True)
        found.pattern = tuple([offset if active else None for offset, active in lanes])


def _distinct(ways: Patterns) -> Numbers:
    """The number of different addresses in each pattern."""
    return np.count_nonzero(firsts(ways.offsets, ways.active)[1], axis=1)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Whole requests, those of a part, and the bytes of all."""

    whole: int
    parts: int
    bytes: int


def _bytes(words: Words, unit: int) -> int:
    return count_units(words, unit) * unit


def _far_reads(words: Words, unit: int, least: int) -> _Sizes:
    """Requests for the wanted parts of lines; those in one part are a request of it alone."""
    parts = how_many_set(touched(words, least)) == 1
    whole, small = count_units(words[~parts], unit), int(np.count_nonzero(parts))
    return _Sizes(whole, small, whole * unit + small * least)


def _far_writes(words: Words, unit: int, least: int) -> _Sizes:
    """Requests that write: units that are written whole, and parts of the others."""
    full = widened(touched(words, unit) & ~touched(~words, unit), unit)
    whole, small = count_units(full, unit), count_units(words & ~full, least)
    return _Sizes(whole, small, whole * unit + small * least)


def _written_bytes(outcome: Outcome, machine: Machine) -> int:
    return _far_writes(
        outcome.writes.words, machine.transfers.far_write, machine.transfers.least
    ).bytes
