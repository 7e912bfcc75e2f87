"""The pass ``allocate-registers``: linear scan over live intervals.

Every value gets one interval over the blocks in reverse postorder, from its definition to
the last place where it is live *or its data may still be in flight*: a load that nobody
reads, or not on this path, writes its register all the same, so the register is taken until
a wait says that the data has arrived. Source: M. Poletto, V. Sarkar, "Linear scan register
allocation", TOPLAS 21(5), 1999; liveness by walking predecessors from each use (F. Brandner
et al., "Computing liveness sets for SSA-form programs", 2011).

Positions: operation n reads at 2n and writes at 2n+1, so that a result may take the register
of an operand that dies there. A block's arguments are written where a branch to it stands.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from types import MappingProxyType
from typing import NoReturn, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.counters.scoreboard import Scoreboard, Token
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import (
    BranchOp,
    CondBranchOp,
    InstructionOp,
    KernelOp,
    MovOp,
    SGPRType,
    VGPRType,
    WaitOp,
    chip_of,
    register_of,
)
from fencewright.mlir_dialects.leaf_operation import operands_of, operations
from fencewright.passes.analysis.control_flow import reachable_blocks, successors, top_level
from fencewright.passes.cdna.dataflow import (
    COUNTED,
    CounterStep,
    CounterSteps,
    boards_at_entry,
    events_on,
)

FileType: TypeAlias = type[VGPRType] | type[SGPRType]


@dataclass(frozen=True, slots=True)
class FileRow:
    """One register file: where tuples of each size start, and the source."""

    type: FileType
    noun: str
    attribute: str
    alignment: MappingProxyType[int, int]
    source: str


FILES: tuple[FileRow, ...] = (
    FileRow(
        VGPRType,
        "vector",
        "vgprs",
        MappingProxyType({1: 1, 2: 2, 3: 2, 4: 2, 8: 2, 16: 2}),
        "LLVM AMDGPUUsage, gfx90a: tuples start at an even register; harmless on gfx908",
    ),
    FileRow(
        SGPRType,
        "scalar",
        "sgprs",
        MappingProxyType({1: 1, 2: 2, 3: 4, 4: 4, 8: 4, 16: 4}),
        "MI300 ISA 3.3, SGPR alignment",
    ),
)
"""The register files; how many registers an instruction can name stands with its type."""


SIMDS = 4
"""SIMDs of a CU; all waves of a work-group are resident on them at once."""


@dataclass(frozen=True)
class AllocateRegistersPass(ModulePass):
    """Give every value of every ``cdna.kernel`` its registers.

    Runs after ``insert-waits``. Branch operands become copies, so that afterwards each has
    the registers of the block argument that it becomes; conditional branches carry none.
    Sets ``vgprs`` and ``sgprs`` of the kernel to the number of registers used. Raises
    ``DiagnosticException`` where a kernel needs more registers than there are: nothing is
    spilled.
    """

    name = "allocate-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                allocate_registers(kernel)


def allocate_registers(kernel: KernelOp) -> None:
    """Allocate the registers of one kernel."""
    intervals = Intervals(_normalise(kernel), chip_of(kernel))
    files = {row.type: _File(row, _limit(kernel, row)) for row in FILES}
    if all(each.index is not None for each in intervals):
        for each in intervals:
            files[each.file].count(each)
    else:
        intervals.hold_until_delivered()
        free = _scan(kernel, intervals, files)
        _copy_arguments(kernel, intervals, files, free)
    for file in files.values():
        kernel.attributes[file.row.attribute] = count_attr(file.used)


def _limit(kernel: KernelOp, row: FileRow) -> int:
    """The registers of a file that a kernel may use: a whole work-group has to be resident."""
    if row.type is SGPRType:
        return row.type.COUNT
    chip = chip_of(kernel)
    capacity = chip.vector_registers
    lanes = max(kernel.max_workgroup_size.value.data, 1)
    waves = -(-lanes // (chip.wave_size * SIMDS))
    share = capacity.count // waves // capacity.granule * capacity.granule
    return min(row.type.COUNT, share)


def _normalise(kernel: KernelOp) -> list[Block]:
    """The blocks in reverse postorder, the only ones, without operands of conditional branches."""
    body = kernel.body
    reachable = set(reachable_blocks(body))
    dead = [block for block in body.blocks if block not in reachable]
    for block in dead:
        for op in operations(block):
            op.drop_all_references()
    for block in dead:
        body.erase_block(block, safe_erase=False)
    for block in tuple(body.blocks):
        last = block.last_op
        if isinstance(last, CondBranchOp) and len(last.operands) > 1:
            last.split_edges()
    return reachable_blocks(body)


class Interval:
    """From where to where a value occupies registers, and which once that is known."""

    __slots__ = ("block", "end", "file", "index", "size", "start", "value")

    def __init__(self, value: SSAValue, start: int, block: int):
        type = register_of(value)
        self.value = value
        self.file: FileType = VGPRType if isinstance(type, VGPRType) else SGPRType
        self.size = type.size.data
        self.index = type.first
        self.start = start
        self.end = start
        self.block = block

    @property
    def mask(self) -> int:
        """The registers as bits."""
        assert self.index is not None
        return ((1 << self.size) - 1) << self.index

    def cover(self, first: int, last: int) -> None:
        """Extend to both positions."""
        if first < self.start:
            self.start = first
        if last > self.end:
            self.end = last


class Intervals:
    """The live intervals of a kernel without unreachable blocks, in reverse postorder."""

    def __init__(self, blocks: list[Block], chip: ChipRow):
        self.blocks = blocks
        self.limits = chip.counters
        self.events_at = events_on(chip)
        self.of: dict[SSAValue, Interval] = {}
        self.first: list[int] = []
        self.last: list[int] = []
        self.branches: list[tuple[int, BranchOp]] = []
        self._positions: dict[Operation, int] = {}
        self._steps: list[CounterSteps] = [[] for _ in blocks]
        self._number = {block: n for n, block in enumerate(blocks)}
        escaping: list[tuple[Interval, int]] = []
        position = 0
        for n, block in enumerate(blocks):
            self.first.append(position)
            for argument in block.args:
                self.of[argument] = Interval(argument, position, n)
            for op in operations(block):
                position += 2
                self._visit(op, position, n, escaping)
            self.last.append(position + 1)
            position += 2
        for position, branch in self.branches:
            for argument in branch.target.args:
                self.of[argument].cover(position + 1, position + 1)
        self._spread(escaping)

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.of.values())

    def _visit(
        self, op: Operation, position: int, n: int, escaping: list[tuple[Interval, int]]
    ) -> None:
        intervals = self.of
        for operand in operands_of(op):
            interval = intervals[operand]
            interval.end = position
            if interval.block != n:
                escaping.append((interval, n))
        kind = type(op)
        if kind in COUNTED:
            self._steps[n].append(CounterStep(op, events=self.events_at(op)))
        elif kind is WaitOp:
            self._positions[op] = position
            self._steps[n].append(CounterStep(op, counts=cast(WaitOp, op).counts))
        elif kind is BranchOp and operands_of(op):
            self.branches.append((position, cast(BranchOp, op)))
        for result in op.results:
            intervals[result] = Interval(result, position + (not _clobbers_early(op)), n)

    def _spread(self, escaping: Iterable[tuple[Interval, int]]) -> None:
        """Extend intervals over the blocks between the definition and uses in other blocks."""
        predecessors: list[list[int]] = [[] for _ in self.blocks]
        for n, block in enumerate(self.blocks):
            for successor in successors(block):
                predecessors[self._number[successor]].append(n)
        live_in: list[set[Interval]] = [set() for _ in self.blocks]
        for interval, used in escaping:
            stack = [used]
            while stack:
                n = stack.pop()
                if interval in live_in[n]:
                    continue
                live_in[n].add(interval)
                interval.cover(self.first[n], self.first[n])
                for before in predecessors[n]:
                    interval.cover(self.last[before], self.last[before])
                    if before != interval.block:
                        stack.append(before)

    def hold_until_delivered(self) -> None:
        """Extend intervals over every place where the data may still be in flight."""
        steps = self._steps
        entry = boards_at_entry(self.blocks, steps, self._replay, Scoreboard(self.limits))
        for n, block in enumerate(self.blocks):
            board = entry[block].copy()
            for token in _outstanding(board):
                self.of[token].cover(self.first[n], self.first[n])
            self._replay(steps[n], board)
            for token in _outstanding(board):
                self.of[token].cover(self.last[n], self.last[n])

    def _replay(self, steps: CounterSteps, board: Scoreboard) -> None:
        for op, _, events, counts in steps:
            if counts is None:
                board.issue(events, op.results)
                continue
            delivered: list[Token] = []
            given = counts.given
            for name, state in board.counters.items():
                if name in given:
                    delivered += state.wait(given[name])
            position = self._positions[op]
            for token in delivered:
                self.of[cast(SSAValue, token)].cover(position, position)


def _outstanding(board: Scoreboard) -> Iterator[SSAValue]:
    for state in board.counters.values():
        yield from cast("Iterable[SSAValue]", state.stamps)


def _clobbers_early(op: Operation) -> bool:
    """True if no result may share registers with an operand."""
    return cast(InstructionOp, op).clobbers_early


class _File:
    """One register file during the scan: bit n stands for register n."""

    def __init__(self, row: FileRow, limit: int):
        self.row = row
        self.limit = limit
        self.free = (1 << self.limit) - 1
        self.used = 0
        self.expiring: list[tuple[int, int]] = []
        self.starts = _starts(row.type, limit)

    def expire(self, position: int) -> None:
        """Free the registers that no interval occupies from ``position`` on."""
        expiring = self.expiring
        while expiring and expiring[0][0] < position:
            self.free |= heappop(expiring)[1]

    def count(self, interval: Interval) -> None:
        """Make sure that the used registers include those of ``interval``."""
        assert interval.index is not None
        self.used = max(self.used, interval.index + interval.size)

    def occupy(self, interval: Interval) -> None:
        """Take the registers of ``interval`` until its end."""
        mask = interval.mask
        self.free &= ~mask
        heappush(self.expiring, (interval.end, mask))
        self.count(interval)

    def find(self, size: int, free: int) -> int | None:
        """The lowest aligned tuple within ``free``."""
        places = free
        for shift in range(1, size):
            places &= free >> shift
        places &= self.starts[size]
        return (places & -places).bit_length() - 1 if places else None


@cache
def _starts(type: FileType, limit: int) -> Mapping[int, int]:
    """The possible first registers of a tuple of each size among the first ``limit``, as bits."""
    (row,) = (row for row in FILES if row.type is type)
    return MappingProxyType(
        {
            size: sum(1 << n for n in range(0, limit - size + 1, step))
            for size, step in row.alignment.items()
        }
    )


_Files = dict[FileType, _File]
_Free = dict[BranchOp, dict[FileType, int]]


def _scan(kernel: KernelOp, intervals: Intervals, files: _Files) -> _Free:
    """Assign registers to every interval; the free ones where branch operands are copied."""
    ordered = sorted(intervals, key=_start)
    pinned = {type: _Pinned(each for each in ordered if each.file is type) for type in files}
    hints = _hints(intervals)
    branches = sorted(intervals.branches, key=lambda each: each[0])
    free: _Free = {}
    taken = 0
    for interval in ordered:
        while taken < len(branches) and branches[taken][0] + 1 < interval.start:
            position, branch = branches[taken]
            free[branch] = _free_at(files, position + 1)
            taken += 1
        file = files[interval.file]
        file.expire(interval.start)
        if interval.index is not None:
            _check_pinned(kernel, interval, file)
        else:
            available = file.free & ~pinned[interval.file].during(interval)
            _assign(kernel, interval, file, available, hints.get(interval))
        file.occupy(interval)
    for position, branch in branches[taken:]:
        free[branch] = _free_at(files, position + 1)
    return free


def _start(interval: Interval) -> int:
    return interval.start


def _free_at(files: _Files, position: int) -> dict[FileType, int]:
    for file in files.values():
        file.expire(position)
    return {type: file.free for type, file in files.items()}


class _Pinned:
    """Intervals whose registers are given, by their start."""

    def __init__(self, ordered: Iterable[Interval]):
        self.intervals = [each for each in ordered if each.index is not None]
        self.starts = [each.start for each in self.intervals]

    def during(self, interval: Interval) -> int:
        """The registers that are given to others which start during ``interval``."""
        mask = 0
        at = bisect_left(self.starts, interval.start)
        while at < len(self.starts) and self.starts[at] <= interval.end:
            mask |= self.intervals[at].mask
            at += 1
        return mask


def _hints(intervals: Intervals) -> dict[Interval, Interval]:
    """The interval whose registers a block argument prefers: then the copy on that edge is none."""
    hints: dict[Interval, Interval] = {}
    for _, branch in intervals.branches:
        for argument, operand in zip(branch.target.args, branch.arguments, strict=True):
            hints.setdefault(intervals.of[argument], intervals.of[operand])
    return hints


def _assign(
    kernel: KernelOp, interval: Interval, file: _File, available: int, hint: Interval | None
) -> None:
    if hint is not None and hint.index is not None and hint.mask & ~available == 0:
        interval.index = hint.index
    else:
        interval.index = file.find(interval.size, available)
    if interval.index is None:
        _fail(kernel, interval.value, file, f"needs {interval.size} more")
    interval.value._type = register_of(interval.value).at(interval.index)  # pyright: ignore[reportPrivateUsage] # replacing the value would cost a walk of its uses


def _check_pinned(kernel: KernelOp, interval: Interval, file: _File) -> None:
    if interval.mask & ~file.free:
        register = register_of(interval.value).assembly
        message = f"{register} is given to two values of '{kernel.sym_name.data}' at a time"
        _error(interval.value, kernel, message)


def _fail(kernel: KernelOp, value: SSAValue, file: _File, what: str) -> NoReturn:
    message = (
        f"kernel '{kernel.sym_name.data}' {what} of the {file.limit} {file.row.noun} registers "
        f"that {kernel.chip.data} has for it at {kernel.max_workgroup_size.value.data} lanes per "
        f"work-group, and none are free at {_place(value)}; registers are never "
        "spilled: split the kernel, use smaller work-groups, or compile it by way of LLVM IR, "
        "which spills"
    )
    _error(value, kernel, message)


def _place(value: SSAValue) -> str:
    """The definition of a value, in words."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return "the arguments of a block"
    opcode = owner.properties.get("opcode")
    return f"{owner.name} {opcode.data}" if isinstance(opcode, StringAttr) else owner.name


def _error(value: SSAValue, kernel: KernelOp, message: str) -> NoReturn:
    owner = value.owner
    op = owner if isinstance(owner, Operation) else kernel
    op.emit_error(message, DiagnosticException(message))


def _copy_arguments(kernel: KernelOp, intervals: Intervals, files: _Files, free: _Free) -> None:
    """Turn the operands of branches into copies to the registers of the block's arguments."""
    for _, branch in intervals.branches:
        copies = _Copies(kernel, branch, files, free[branch])
        branch.operands = copies.carry_out()


class _Copies:
    """The copies in front of one branch: they happen as if at once."""

    def __init__(
        self, kernel: KernelOp, branch: BranchOp, files: _Files, free: dict[FileType, int]
    ):
        self.kernel = kernel
        self.branch = branch
        self.files = files
        self.sources: list[SSAValue] = list(branch.arguments)
        self.targets = [register_of(argument) for argument in branch.target.args]
        self.free = dict(free)
        for value in (*self.sources, *branch.target.args):
            self.free[_file(register_of(value))] &= ~_mask(register_of(value))

    def carry_out(self) -> list[SSAValue]:
        """Insert the copies; returns the values that the branch carries afterwards."""
        waiting = [
            n
            for n, (source, target) in enumerate(zip(self.sources, self.targets, strict=True))
            if source.type != target
        ]
        while waiting:
            ready = next((n for n in waiting if not self._is_read(n, waiting)), None)
            if ready is None:
                # Every target is still to be read: a cycle, which a free register breaks.
                cut = next(n for n in waiting if self._is_written(n, waiting))
                self.sources[cut] = self._copy(self.sources[cut], self._spare(cut))
                continue
            waiting.remove(ready)
            self.sources[ready] = self._copy(self.sources[ready], self.targets[ready])
        return self.sources

    def _is_read(self, n: int, waiting: list[int]) -> bool:
        """True if writing target ``n`` would overwrite a source: its own too, if they overlap."""
        target = self.targets[n]
        return any(_overlap(target, register_of(self.sources[other])) for other in waiting)

    def _is_written(self, n: int, waiting: list[int]) -> bool:
        """True if source ``n`` blocks a target."""
        source = register_of(self.sources[n])
        return any(_overlap(source, self.targets[other]) for other in waiting)

    def _spare(self, n: int) -> VGPRType | SGPRType:
        wanted = self.targets[n]
        file = self.files[_file(wanted)]
        index = file.find(wanted.size.data, self.free[file.row.type])
        if index is None:
            _fail(
                self.kernel,
                self.sources[n],
                file,
                f"exchanges values and needs {wanted.size.data} more",
            )
        spare = wanted.at(index)
        self.free[file.row.type] &= ~_mask(spare)
        file.used = max(file.used, spare.registers.stop)
        return spare

    def _copy(self, source: SSAValue, target: VGPRType | SGPRType) -> SSAValue:
        copy = MovOp.create(operands=[source], result_types=[target])
        block = self.branch.parent
        assert block is not None
        block.insert_op_before(copy, self.branch)
        return copy.dst


def _file(type: VGPRType | SGPRType) -> FileType:
    return VGPRType if isinstance(type, VGPRType) else SGPRType


def _mask(type: VGPRType | SGPRType) -> int:
    registers = type.registers
    return ((1 << len(registers)) - 1) << registers.start


def _overlap(a: VGPRType | SGPRType, b: VGPRType | SGPRType) -> bool:
    return _file(a) is _file(b) and bool(_mask(a) & _mask(b))
