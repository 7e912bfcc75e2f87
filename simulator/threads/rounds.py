"""Launches that never end: all threads, and all memory, are as they were before.

Of a thread in a loop only those registers count that decide its way, its accesses, or what other
lanes get. While memory and these stay the same, every thread does the same again.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.ptx.code.text import PtxFunction
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.memory import Allocation
from fencewright.simulator.threads.operands import code_name, python_name
from fencewright.simulator.threads.state import Thread
from fencewright.simulator.threads.unknown import Unknown

_FIRST, _EACH = 1024, 4
"""After so many turns, and so many for each thread, the state of a launch is noted."""


class Rounds:
    """The state of a launch at one turn of one thread, noted again after twice as many turns.

    ``until``: the turn at which it is noted next. ``lazy``: threads that have polled since.
    """

    def __init__(self, machine: Machine, functions: Sequence[PtxFunction]):
        self._machine = machine
        self._decisive = cache(_Decisive(functions))
        self.thread: Thread | None = None
        self.until = _FIRST + _EACH * len(machine.threads)
        self.lazy: set[Thread] = set()
        self._known: dict[Thread, object] = {}
        self._memory: bytes | None = None
        self._differs: Thread | None = None

    def begin(self, thread: Thread, turn: int) -> None:
        """Note the state of a thread before a turn of it."""
        self.thread = self._differs = thread
        self.until, self._memory = max(2 * turn, self.until), None
        self.lazy.clear()
        self._known = {thread: self.state(thread)}

    def is_whole(self) -> bool:
        """True where everything is as it was when the thread came back to its own state.

        Most loops count, and never do: the others and memory are noted where it does.
        """
        first = self._differs
        if first is None or self.state(first) != self._known[first]:
            return False
        if self._memory is None:
            threads = self._machine.threads
            self._known |= {each: self.state(each) for each in threads if not each.done}
        self._differs = next(
            (each for each, known in self._known.items() if self.state(each) != known), first
        )
        if self._differs is not first:
            return False
        before, self._memory = self._memory, self._digest()
        return before == self._memory

    def state(self, thread: Thread) -> object:
        """The place of a thread, and the values that decide what it does in its loop."""
        frames: list[object] = [thread.done, thread.waits and thread.waits.site]
        generator: Any = thread.generator
        while generator is not None and generator.gi_frame is not None:
            frame, values = generator.gi_frame, generator.gi_frame.f_locals
            names = self._decisive(generator.gi_code.co_name, values.get("b", 0))
            frames.append(frame.f_lasti)
            frames += (_plain(value) for name, value in values.items() if name in names)
            generator = generator.gi_yieldfrom
        return frames, _plain(thread.result), len(thread.copies)

    def _digest(self) -> bytes:
        found, machine = blake2b(), self._machine
        for block in machine.blocks:
            cluster = block.cluster
            arrived = {number: len(each.threads) for number, each in block.barriers.items()}
            phases = [cluster.phase - cluster.of.get(each, 0) for each in block.threads]
            found.update(repr((sorted(arrived.items()), cluster.arrived, phases)).encode())
        for memory in self._allocations():
            found.update(memory.data)
            unknown = [(at, size, each.origin) for at, (each, size) in memory.unknown.items()]
            phases = [(at, each.word, each.phase) for at, each in memory.mbarriers.items()]
            found.update(repr((sorted(unknown), sorted(phases))).encode())
        return found.digest()

    def _allocations(self) -> Iterator[Allocation]:
        yield from self._machine.memory.allocations.values()
        yield from (each.shared for each in self._machine.blocks)
        yield from (each.local for each in self._machine.threads if each.local is not None)


def _plain(value: Any) -> object:
    if isinstance(value, Unknown):
        return value.origin
    return tuple([_plain(each) for each in value]) if type(value) in (list, tuple) else value


class _Decisive:
    """The variables of a function that decide what a thread does in the loop of a block."""

    def __init__(self, functions: Sequence[PtxFunction]):
        self._functions = {code_name(each, not at): each for at, each in enumerate(functions)}

    def __call__(self, name: str, block: int) -> frozenset[str]:
        function = self._functions[name]
        graph = graph_of(function.blocks)
        after, before = (each.reachable_after((block,)) for each in (graph, graph.backward))
        statements = [
            each.statement
            for number in (after & before if block in after else graph.nodes)
            for each in function.blocks[number].instructions
        ]
        needed = set[str]()
        known = -1
        while known < len(needed):
            known = len(needed)
            for each in reversed(statements):
                if each.kind is not Kind.COMPUTE or not needed.isdisjoint(each.defines):
                    needed.update(each.uses)
        return frozenset({*map(python_name, needed), "carry"})
