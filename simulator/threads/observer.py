"""Observers of an execution: its instructions as they see them, and the events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.simulator.threads.memory import Allocation
from fencewright.simulator.threads.state import Block, Mbarrier, Thread


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction of a program, as an observer sees it.

    ``level``: how far it reaches, 0 block, 1 cluster, 2 device or system; -1 of a weak access.
    ``reads_only``: through the read-only path. ``place``: where it was written. ``after``: of a
    barrier, the blocks that a lane reaches past it or round it, and from which it never comes back.
    ``repeats``: a lane may execute it more than once.
    """

    number: int
    instruction: PtxInstruction
    function: str
    place: str
    key: tuple[object, ...]
    level: int = -1
    acquires: bool = False
    releases: bool = False
    is_sc: bool = False
    reads_only: bool = False
    after: frozenset[int] = frozenset()
    repeats: bool = False

    @property
    def name(self) -> str:
        """The name of the instruction."""
        return self.instruction.statement.opcode.name

    @property
    def operation(self) -> str:
        """The words of its row."""
        return self.instruction.statement.operation


class Observer:
    """An observer of nothing: others override the methods that they need."""

    def start(self, machine: Any) -> None:
        """A launch begins."""

    def has_enough(self) -> bool:
        """True where the launch need not go on: it has shown what was looked for, or too much."""
        return False

    def begin(self, thread: Thread) -> None:
        """A thread begins."""

    def read(self, thread: Thread, memory: Allocation, at: int, size: int, site: int) -> None:
        """A weak read."""

    def write(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A weak write, before it is done."""

    def strong_read(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int
    ) -> None:
        """A strong read."""

    def strong_write(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A strong write, before it is done."""

    def update(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A read-modify-write, before it is done."""

    def fence(self, thread: Thread, site: int) -> None:
        """A fence of any kind."""

    def meet(self, arrived: Sequence[Thread], left: Sequence[Thread]) -> None:
        """A barrier completes: all that arrived, and those of them that waited."""

    def cluster_arrive(self, thread: Thread, site: int, phase: int) -> None:
        """A thread arrives at its cluster's barrier."""

    def cluster_leave(self, thread: Thread, site: int, phase: int) -> None:
        """A thread goes on after its cluster's barrier."""

    def mbarrier_init(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """An mbarrier is initialised."""

    def mbarrier_arrive(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """An arrival, before it is counted."""

    def mbarrier_use(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """Another operation on an mbarrier."""

    def mbarrier_pass(self, thread: Thread, mbarrier: Mbarrier, phase: int, site: int) -> None:
        """A wait for a phase succeeds."""

    def copy(
        self,
        thread: Thread,
        source: Allocation | None,
        at: int,
        target: Allocation,
        to: int,
        size: int,
        taken: int,
        site: int,
    ) -> None:
        """cp.async writes ``size`` bytes in the open group: the first ``taken`` from a source, the
        others zero."""

    def copy_wait(self, thread: Thread, group: int) -> None:
        """All groups of cp.async up to a number are waited for."""

    def copy_arrive(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """The arrival of earlier cp.async on an mbarrier."""

    def bulk(
        self,
        thread: Thread,
        source: Allocation | None,
        at: int,
        target: Allocation,
        to: int,
        size: int,
        mbarrier: Mbarrier | None,
        site: int,
    ) -> None:
        """An asynchronous copy through the async proxy is issued; without a source: of a value."""

    def bulk_wait(self, thread: Thread, group: int, reads_only: bool) -> None:
        """All bulk groups up to a number are waited for."""

    def operand(self, thread: Thread, memory: Allocation, at: int, size: int, site: int) -> None:
        """A part of an operand in shared memory is read by a wgmma, which is issued."""

    def matrix_wait(self, thread: Thread, group: int) -> None:
        """All groups of wgmma up to a number are waited for."""

    def leave(self, thread: Thread) -> None:
        """A thread ends."""

    def remote(self, thread: Thread, block: Block, site: int) -> None:
        """A thread accesses the shared memory of another block of its cluster."""
