"""Random programs, run by the executor as the definition says: results, and how often each instruction."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from campaigns import drawn

from fencewright.simulator.execution import byte_access, convergence, executor
from fencewright.simulator.execution.convergence import Convergence
from fencewright.simulator.execution.definition import Definition
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.lanes import Numbers
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.execution.program import (
    Argument,
    Compute,
    CopyStep,
    CrossLane,
    EndLane,
    FenceInstruction,
    FenceStep,
    Jump,
    KernelParameter,
    KernelResources,
    LaneBlock,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Special,
    Step,
    Values,
)
from fencewright.simulator.execution.segments import Segment, segments_of
from fencewright.simulator.execution.spaces import OwnMemory
from fencewright.simulator.execution.values import constant

LANES = 8
"""Of a wave of these tests."""

FUEL, MIXED, THREAD, GROUP, SIZE, IN, OUT, COUNT, SCRATCH, INDEX, OWN, A, B = range(13)
REGISTERS = 13
WORDS = 64
KEEP = 12
"""Blocks that a lane passes before it goes straight to the end."""


def unary(function: Callable[[Values], Values]) -> Callable[..., Values]:
    """A function of one operand."""
    return function


def binary(function: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """A function of two operands."""
    return function


def ternary(function: Callable[[Values, Values, Values], Values]) -> Callable[..., Values]:
    """A function of three operands."""
    return function


def mix(seed: int) -> Callable[..., Values]:
    """A function that makes numbers of numbers."""
    odd = np.uint64(2 * seed + 1)

    def compute(*values: Values) -> Values:
        found = values[0]
        for each in values[1:]:
            found = (found ^ each) * odd
        return (found * odd ^ found * odd >> np.uint64(29)) & np.uint64(0xFFFFFFFF)

    return compute


def total(active: Any, values: Values) -> Values:
    return np.where(active, values, 0).sum(axis=-1, keepdims=True, dtype=np.uint64)


def access(kind: MemoryAccessKind, space: MemorySpace) -> MemoryInstruction:
    return MemoryInstruction(f"{kind} {space}", None, kind, space, 4, None, None)


def fence(joins: bool) -> FenceInstruction:
    nothing: frozenset[Any] = frozenset()
    return FenceInstruction("barrier", "cta", nothing, nothing, nothing, nothing, joins, None)


class Builder:
    """A random program: sections of blocks, each section after a barrier."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.instructions: list[Any] = []
        self.blocks: list[LaneBlock] = []

    def program(self) -> LaneProgram:
        self.blocks.append(LaneBlock(self.first(), Jump(1)))
        for _ in range(self.random.randint(1, 3)):
            self.section()
        self.blocks.append(LaneBlock((self.store(OUT, MemorySpace.GLOBAL),), EndLane()))
        return LaneProgram(
            name="random",
            target="sm_90",
            lanes=LANES,
            registers=REGISTERS,
            parameters=tuple(KernelParameter(n, 64, True, 8 * k) for k, n in enumerate(("in", "out", "count"))),
            resources=KernelResources(None, 0, 0, 4 * WORDS, 16),
            block_size=None,
            instructions=tuple(self.instructions),
            blocks=tuple(self.blocks),
        )  # fmt: skip

    def first(self) -> tuple[Step, ...]:
        four = np.uint64(4)
        return (
            Compute(FUEL, (), constant(0, 32), "0"),
            Special(THREAD, LaneValue.THREAD_X),
            Special(GROUP, LaneValue.GROUP_X),
            Special(SIZE, LaneValue.BLOCK_X),
            Argument(IN, 0),
            Argument(OUT, 1),
            Argument(COUNT, 2),
            Compute(OWN, (THREAD,), unary(lambda thread: thread * four), "own"),
            Compute(
                INDEX, (GROUP, SIZE, THREAD), ternary(lambda g, s, t: (g * s + t) * four), "index"
            ),
            Compute(OUT, (OUT, INDEX), binary(lambda out, index: out + index), "out"),
            Compute(SCRATCH, (), constant(4, 32), "4"),
            Compute(MIXED, (THREAD, GROUP), mix(self.random.randrange(1 << 30)), "mix"),
        )

    def section(self) -> None:
        """Blocks of which each goes anywhere among them, then a barrier that all lanes reach."""
        base, count = len(self.blocks), self.random.randint(1, 6)
        refuel = Compute(FUEL, (), constant(0, 32), "0")
        for n in range(count):
            steps = (*self.steps(), *self.branch_steps())
            forwards = self.random.randint(base + n + 1, base + count)
            anywhere = self.random.randint(base, base + count)
            self.blocks.append(LaneBlock(steps, LaneBranch(A, Jump(forwards), Jump(anywhere))))
        barrier = FenceStep(self.counted(fence(True)))
        share = (self.store(OWN, MemorySpace.SHARED), barrier, self.neighbour(), refuel)
        again = FenceStep(self.counted(fence(True)))
        self.blocks.append(LaneBlock((*share, again), Jump(base + count + 1)))

    def counted(self, instruction: MemoryInstruction | FenceInstruction) -> int:
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def store(self, address: int, space: MemorySpace) -> Step:
        number = self.counted(access(MemoryAccessKind.STORE, space))
        return MemoryStep(number, address, 0, (MIXED,), None)

    def neighbour(self) -> Step:
        """The word of shared memory beside the own one; the last lane's is never written."""
        number = self.counted(access(MemoryAccessKind.LOAD, MemorySpace.SHARED))
        return MemoryStep(number, OWN, 4, (), MIXED)

    def branch_steps(self) -> tuple[Step, ...]:
        one, keep = np.uint64(1), np.uint64(KEEP)
        bit = np.uint64(self.random.randrange(32))
        return (
            Compute(FUEL, (FUEL,), unary(lambda fuel: fuel + one), "fuel"),
            Compute(
                A,
                (FUEL, MIXED),
                binary(lambda fuel, x: (fuel > keep) | (x >> bit & one != 0)),
                "goes on",
            ),
            Compute(A, (A,), unary(lambda a: np.asarray(a).astype(np.uint64)), "as a number"),
        )

    def steps(self) -> tuple[Step, ...]:
        found: list[Step] = []
        for _ in range(self.random.randint(0, 4)):
            found += self.random.choice(self.KINDS)(self)
        return tuple(found)

    def mixed(self) -> list[Step]:
        return [Compute(MIXED, (MIXED, THREAD), mix(self.random.randrange(1 << 30)), "mix")]

    def loaded(self) -> list[Step]:
        number = self.counted(access(MemoryAccessKind.LOAD, MemorySpace.GLOBAL))
        four, words = np.uint64(4), np.uint64(WORDS)
        return [
            Compute(B, (IN, MIXED), binary(lambda base, x: base + x % words * four), "address"),
            MemoryStep(number, B, 0, (), B),
            Compute(MIXED, (MIXED, B), mix(5), "mix"),
        ]

    def counted_in(self) -> list[Step]:
        number = self.counted(access(MemoryAccessKind.REDUCTION, MemorySpace.GLOBAL))
        low, four, words = np.uint64(0xFFFFFFFF), np.uint64(4), np.uint64(5)
        return [
            Compute(B, (COUNT, MIXED), binary(lambda base, x: base + x % words * four), "address"),
            MemoryStep(number, B, 0, (MIXED,), None, binary(lambda old, x: old + x & low)),
        ]

    def kept(self) -> list[Step]:
        stored = self.counted(access(MemoryAccessKind.STORE, MemorySpace.PRIVATE))
        loaded = self.counted(access(MemoryAccessKind.LOAD, MemorySpace.PRIVATE))
        return [
            MemoryStep(loaded, SCRATCH, 4, (), B),
            MemoryStep(stored, SCRATCH, 4, (MIXED,), None),
            Compute(MIXED, (MIXED, B), mix(7), "mix"),
        ]

    def copied(self) -> list[Step]:
        """From memory to the own word of shared memory, and from there to a register."""
        copy = self.counted(access(MemoryAccessKind.LOAD, MemorySpace.GLOBAL))
        loaded = self.counted(access(MemoryAccessKind.LOAD, MemorySpace.SHARED))
        four, words = np.uint64(4), np.uint64(WORDS)
        address = binary(lambda base, x: base + x % words * four)
        return [
            Compute(B, (IN, MIXED), address, "address"),
            CopyStep(copy, OWN, B),
            MemoryStep(loaded, OWN, 0, (), B),
            Compute(MIXED, (MIXED, B), mix(11), "mix"),
        ]

    def together(self) -> list[Step]:
        return [CrossLane(B, (MIXED,), total, "sum"), Compute(MIXED, (MIXED, B), mix(3), "mix")]

    def who(self) -> list[Step]:
        return [Special(B, LaneValue.ACTIVE), Compute(MIXED, (MIXED, B), mix(9), "mix")]

    KINDS = (mixed, loaded, counted_in, kept, copied, together, who)


def launch(seed: int) -> Launch:
    generator = random.Random(seed)
    words = np.random.default_rng(seed).integers(0, 1 << 32, WORDS, dtype=np.uint32)
    groups, threads = generator.randint(1, 3), generator.randint(1, 3 * LANES)
    out, count = np.zeros(groups * threads, dtype=np.uint32), np.zeros(5, dtype=np.uint32)
    return Launch((groups, 1, 1), (threads, 1, 1), (words, out, count))


def differs(seed: int, resident: int | None = None) -> str | None:
    """How the executor differs from the definition for a random program."""
    program, what = Builder(seed).program(), launch(seed)
    memory = allocate(program, what)
    with np.errstate(all="ignore"):
        meaning = Definition(program, what, memory)
        wanted = meaning.run()
    counts = dict.fromkeys(wanted, 0)
    lanes: list[int] = []

    def observe(found: Any) -> None:
        counts[found.instruction] = counts.get(found.instruction, 0) + len(found.groups)
        lanes.append(int(found.active.any(axis=1).all()))

    result = execute(program, what, memory, observe, limit=50_000, resident=resident)
    if not all(lanes):
        return "a wave without lanes"
    if counts != wanted:
        return "counts"
    names = ("out", "count")
    return (
        None
        if all(result.contents(each).tobytes() == meaning.result(each) for each in names)
        else "results"
    )


@pytest.mark.parametrize("seed", drawn(range(120), 15))
def test_random_programs(seed: int) -> None:
    assert differs(seed, resident=(None, 1, 2)[seed % 3]) is None


def furthest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waves that are ahead run first: as good an order as any other."""

    def reversed_segments(program: LaneProgram, pauses: frozenset[int]) -> tuple[Segment, ...]:
        return tuple(replace(each, rank=-each.rank) for each in segments_of(program, pauses))

    monkeypatch.setattr(executor, "segments_of", reversed_segments)


@pytest.mark.parametrize("seed", range(40))
def test_in_another_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    furthest_first(monkeypatch)
    assert differs(seed) is None


# What is broken on purpose is found


def without_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    furthest_first(monkeypatch)

    def block(self: Convergence, rows: Any, following: int) -> None:
        self.jump(rows, following)

    monkeypatch.setattr(Convergence, "block", block)


def without_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    run = vars(executor)["_Run"]

    def store(self: Any, register: int, value: Values, lanes: Any, source: int) -> None:
        kept(self, register, value, np.ones_like(lanes), source)

    kept = run.store
    monkeypatch.setattr(run, "store", store)


def never_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(self: Convergence, rows: Any, taken: Any, to: int, other: int, meets: int) -> None:
        split(self, rows, taken, to, other, convergence.EXIT)

    split = Convergence.diverge
    monkeypatch.setattr(Convergence, "diverge", diverge)


def atomics_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_at_once(order: Numbers, rank: Numbers) -> list[Numbers]:
        return [order]

    monkeypatch.setattr(byte_access, "_turns", all_at_once)


def memory_of_another_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def clear(self: OwnMemory, owners: Numbers) -> None:
        """What the owner before wrote stays."""

    monkeypatch.setattr(OwnMemory, "clear", clear)


@pytest.mark.parametrize(
    "broken",
    [without_barriers, without_masks, never_together, atomics_at_once, memory_of_another_group],
)
def test_a_broken_executor_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    assert any(differs(seed, 1) is not None for seed in range(30))


def test_a_program_without_its_last_store_differs() -> None:
    """The comparison looks at results."""
    program, what = Builder(3).program(), launch(3)
    memory = allocate(program, what)
    last = program.blocks[-1]
    without = replace(program, blocks=(*program.blocks[:-1], replace(last, steps=())))
    full, empty = (execute(each, what, memory, lambda _: None) for each in (program, without))
    assert full.contents("out").any()
    assert not empty.contents("out").any()
