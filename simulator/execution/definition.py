"""The definition of a kernel's execution, one lane after another; ``executor`` is held equal to it.

Slow, and short enough to be read. The lanes of a wave go through a block together; where a branch
splits them, each side runs by itself to the branch's immediate post-dominator. The waves take
turns, a block each. Memory is bytes by address, and nothing is checked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from fencewright.simulator.execution.launch import Launch, LaunchError, Memory
from fencewright.simulator.execution.program import (
    Argument,
    Compute,
    CopyStep,
    CrossLane,
    EndLane,
    FenceInstruction,
    FenceStep,
    Jump,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Merge,
    NamedBarrierStep,
    Register,
    Special,
    Step,
    Stop,
    TensorStep,
    TileStep,
    Unknown,
    Values,
)
from fencewright.simulator.semantics.named_barriers import BarrierAction

EXIT = -1
"""After the last block."""

Lanes = list[int]
BARRIER = "barrier"
_OF_ALL = -1
"""The barrier of all waves of a work-group. Source: RDNA4 ISA, s_barrier_signal."""


def meeting_blocks(program: LaneProgram) -> list[int]:
    """Of each block the nearest other one that every way to the end goes through."""
    everything = frozenset(range(len(program.blocks)))
    passed = dict.fromkeys(everything, everything)
    for _ in everything:
        for block in everything:
            common = everything if targets(program, block) else frozenset[int]()
            for each in targets(program, block):
                common &= passed[each]
            passed[block] = common | {block}
    others = [passed[block] - {block} for block in sorted(everything)]
    return [max(each, key=lambda block: len(passed[block]), default=EXIT) for each in others]


def targets(program: LaneProgram, block: int) -> list[int]:
    """The blocks that control goes to from a block."""
    end = program.blocks[block].end
    if isinstance(end, LaneBranch):
        return [end.taken.block, end.other.block]
    return [end.block] if isinstance(end, Jump) else []


class Definition:
    """A launch; ``run`` gives how often waves executed each instruction."""

    def __init__(self, program: LaneProgram, launch: Launch, memory: Memory) -> None:
        self.program, self.launch, self.initial = program, launch, memory
        self.meeting = meeting_blocks(program)
        self.bytes: dict[tuple[object, int], int] = defaultdict(int)
        for each in memory.buffers:
            for n, byte in enumerate(memory.bytes[each.start : each.start + each.size]):
                self.bytes[None, each.address + n] = int(byte)
        self.executed: Counter[int] = Counter()
        self.ticks = 0

    def run(self) -> Counter[int]:
        """Run every work-group: all waves to the next barrier, then on."""
        size = self.program.lanes
        groups: list[list[Iterator[str]]] = []
        for group in range(self.launch.groups):
            starts = range(0, self.launch.threads, size)
            waves = [_Wave(self, group, start) for start in starts]
            groups.append([each.run(each.lanes, 0, EXIT) for each in waves])
        waiting: list[set[int]] = [set() for _ in groups]
        while any(groups):
            for number, waves in enumerate(groups):
                self._turn(waves, waiting[number])
        return self.executed

    def _turn(self, waves: list[Iterator[str]], waiting: set[int]) -> None:
        """A block of each wave that is not at a barrier; all go on once all are there."""
        for wave in list(waves):
            if id(wave) not in waiting:
                event = next(wave, None)
                if event is None:
                    waves.remove(wave)
                elif event == BARRIER:
                    waiting.add(id(wave))
        if len(waiting) == len(waves):
            waiting.clear()

    def result(self, name: str) -> bytes:
        """The contents of a buffer."""
        found = next(each for each in self.initial.buffers if each.name == name)
        return bytes(self.bytes[None, found.address + n] for n in range(found.size))


class _Wave:
    """A wave: for each of its lanes the contents of the registers."""

    def __init__(self, launch: Definition, group: int, start: int) -> None:
        self.all, self.group, self.start = launch, group, start
        threads = launch.launch.threads - start
        self.lanes: Lanes = list(range(min(launch.program.lanes, threads)))
        self.ended: set[int] = set()
        self.registers: list[dict[Register, Values]] = [{} for _ in self.lanes]

    def run(self, lanes: Lanes, block: int, until: int) -> Iterator[str]:
        """These lanes from the beginning of ``block`` to that of ``until``."""
        program = self.all.program
        while block != until and (lanes := [each for each in lanes if each not in self.ended]):
            for step in program.blocks[block].steps:
                if _is_counted(step) and self._takes_part(step, lanes):
                    self.all.executed[step.instruction] += 1
                if isinstance(step, FenceStep):
                    found = program.instructions[step.instruction]
                    if isinstance(found, FenceInstruction) and found.joins:
                        yield BARRIER
                elif isinstance(step, CrossLane):
                    self._cross(step, lanes)
                elif isinstance(step, NamedBarrierStep):
                    if step.number != _OF_ALL:
                        # Programs by hand in tests/unit/test_amd_named_barriers.py hold those.
                        raise NotImplementedError("named barriers are not defined here")
                    if step.action is BarrierAction.WAIT:
                        yield BARRIER
                elif isinstance(step, TensorStep | TileStep):
                    # simulator.threads is what those are held to.
                    raise NotImplementedError("copies by tensor maps are not defined here")
                else:
                    for lane in lanes:
                        self._step(lane, step, lanes)
            yield ""
            end = program.blocks[block].end
            if isinstance(end, EndLane):
                self.ended.update(lanes)
                return
            if isinstance(end, Jump):
                self._go(lanes, end)
                block = end.block
                continue
            taken = [each for each in lanes if int(self.registers[each][end.condition])]
            other = [each for each in lanes if each not in taken]
            for side, jump in ((taken, end.taken), (other, end.other)):
                self._go(side, jump)
            if not taken or not other:
                block = end.taken.block if taken else end.other.block
                continue
            meeting = self.all.meeting[block]
            yield from self.run(taken, end.taken.block, meeting)
            yield from self.run(other, end.other.block, meeting)
            block = meeting

    def _takes_part(self, step: "_Counted", lanes: Lanes) -> bool:
        where = step.where if isinstance(step, MemoryStep | CopyStep) else None
        return where is None or any(int(self.registers[each][where]) for each in lanes)

    def _go(self, lanes: Lanes, jump: Jump) -> None:
        for lane in lanes:
            own = self.registers[lane]
            own.update({to: own[source] for to, source in jump.moves})

    def _step(
        self,
        lane: int,
        step: Compute | Merge | Unknown | Special | Argument | MemoryStep | CopyStep | Stop,
        lanes: Lanes,
    ) -> None:
        own = self.registers[lane]
        if isinstance(step, Compute):
            own[step.result] = _one(step.compute(*(_full(own[each]) for each in step.operands)))
        elif isinstance(step, Merge):
            own[step.result] = own[step.new if int(own[step.lanes]) else step.old]
        elif isinstance(step, Special):
            own[step.result] = np.array(self._special(lane, step.value, lanes), dtype=np.uint64)
        elif isinstance(step, Argument):
            own[step.result] = step.of(self.all.initial.values)
        elif isinstance(step, Unknown):
            own[step.result] = np.array(0, dtype=np.uint64)
        elif isinstance(step, Stop):
            raise LaunchError(step.text, step.place)
        elif isinstance(step, CopyStep):
            self._copy(lane, step)
        else:
            self._access(lane, step)

    def _cross(self, step: CrossLane, lanes: Lanes) -> None:
        size = self.all.program.lanes
        active = np.array([[each in lanes for each in range(size)]])
        operands = [
            np.array(
                [
                    [
                        self.registers[n].get(each, 0) if n < len(self.lanes) else 0
                        for n in range(size)
                    ]
                ],
                dtype=np.uint64,
            )
            for each in step.operands
        ]
        found = np.broadcast_to(step.compute(active, *operands), active.shape)
        for lane in lanes:
            self.registers[lane][step.result] = found[0, lane]

    # Memory

    def _place(self, lane: int, space: MemorySpace, address: int) -> tuple[object, int]:
        owner: object = None
        if space is MemorySpace.SHARED:
            owner = self.group
        elif space is MemorySpace.PRIVATE:
            owner = (self.group, self.start + lane)
        return owner, address

    def _read(self, lane: int, space: MemorySpace, address: int, size: int) -> int:
        places = [self._place(lane, space, address + n) for n in range(size)]
        return int.from_bytes(bytes(self.all.bytes[each] for each in places), "little")

    def _write(self, lane: int, space: MemorySpace, address: int, size: int, value: int) -> None:
        for n, byte in enumerate(value.to_bytes(size, "little")):
            self.all.bytes[self._place(lane, space, address + n)] = byte

    def _access(self, lane: int, step: MemoryStep) -> None:
        own, found = self.registers[lane], self.all.program.instructions[step.instruction]
        assert isinstance(found, MemoryInstruction)
        if step.where is not None and not int(own[step.where]):
            if step.result is not None:
                own[step.result] = _pieces(0, found.width)
            return
        base = 0 if step.scalar_base is None else int(own[step.scalar_base])
        address = (int(own[step.address]) + base + step.offset) % (1 << 64)
        if found.space is MemorySpace.SHARED and step.offset:
            address %= 1 << 32
        where = (lane, found.space, address, found.width)
        data = [own[each] for each in step.data]
        if found.kind is MemoryAccessKind.STORE:
            share = found.width // len(data)
            parts = (
                _whole(each) % (1 << 8 * share) << 8 * share * n for n, each in enumerate(data)
            )
            self._write(*where, sum(parts))
            return
        old = self._read(*where)
        if step.update is not None:
            new = step.update(_full(_pieces(old, found.width)), *map(_full, data))
            self._write(*where, _whole(_one(new)))
        if step.result is not None:
            own[step.result] = _pieces(old, found.width)

    def _copy(self, lane: int, step: CopyStep) -> None:
        own, found = self.registers[lane], self.all.program.instructions[step.instruction]
        assert isinstance(found, MemoryInstruction)
        if step.where is not None and not int(own[step.where]):
            return
        if step.inside is not None and not int(own[step.inside]):
            self._write(lane, MemorySpace.SHARED, int(own[step.target]), found.width, 0)
            return
        size = found.width if step.bytes is None else int(own[step.bytes])
        ways = (MemorySpace.GLOBAL, MemorySpace.SHARED)
        source, target = ways[::-1] if found.kind is MemoryAccessKind.STORE else ways
        value = self._read(lane, source, int(own[step.source]), size)
        self._write(lane, target, int(own[step.target]), size, value)

    def _tick(self) -> int:
        self.all.ticks += 1
        return self.all.ticks

    def _special(self, lane: int, value: LaneValue, lanes: Lanes) -> int:
        launch = self.all.launch
        thread = _axes(self.start + lane, launch.block)
        group = _axes(self.group, launch.grid)
        axes = (
            (thread, "THREAD"),
            (group, "GROUP"),
            (launch.block, "BLOCK"),
            (launch.grid, "GRID"),
        )
        known = {
            f"{name}_{axis}": each
            for found, name in axes
            for each, axis in zip(found, "XYZ", strict=True)
        }
        known |= {"LANE": lane, "ACTIVE": sum(1 << each for each in lanes)}
        memory = self.all.initial
        known |= {"ARGUMENTS": memory.arguments, "PACKET": memory.packet, "CLOCK": self._tick()}
        return known[value.name]


_Counted = FenceStep | MemoryStep | CopyStep | NamedBarrierStep


def _is_counted(step: Step) -> TypeGuard[_Counted]:
    if isinstance(step, MemoryStep):
        return not step.is_further
    return isinstance(step, FenceStep | CopyStep | NamedBarrierStep)


def _axes(number: int, size: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = size
    return number % x, number // x % y, number // (x * y)


def _full(value: Values) -> Values:
    """A value of one lane as an array of one wave of one lane."""
    return np.reshape(value, (len(value), 1, 1) if np.ndim(value) else (1, 1))


def _one(value: Values) -> Values:
    return value.reshape(len(value)) if np.ndim(value) > 2 else np.asarray(value).reshape(())


def _whole(value: Values) -> int:
    pieces = [int(each) for each in value] if np.ndim(value) else [int(value)]
    return sum(each << 64 * n for n, each in enumerate(pieces))


def _pieces(value: int, width: int) -> Values:
    if width <= 8:
        return np.array(value, dtype=np.uint64)
    return np.array(
        [value >> 64 * n & (1 << 64) - 1 for n in range(-(-width // 8))], dtype=np.uint64
    )
