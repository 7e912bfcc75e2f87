"""Loops that wait for memory to change: their reads, and whether they do anything else.

A loop waits if all that leads out of it depends on what it loads from addresses that it does not
change, and it stores nothing. What only leads to the address of another access is not waited for: a
pointer to the flag. Nor does a loop wait that takes what it loaded into its next round: it
computes.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fencewright.checker.amd.state import Code
from fencewright.lowering.cdna.code.flow import Block, Step
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.loops import loops_of

_MEMORY = (Kind.LOAD, Kind.RMW)
_DOES_MORE = (Kind.STORE, Kind.COPY, Kind.BARRIER, Kind.CALL, Kind.OPAQUE)


@dataclass(frozen=True, slots=True)
class Spin:
    """A loop that waits; ``reads``: the numbers of the operations that it waits by."""

    blocks: frozenset[int]
    reads: tuple[int, ...]


def spins_of(code: Code) -> list[Spin]:
    """The loops of a function that wait for memory to change."""
    numbers = {
        id(step): operation.number
        for block in code.counted
        for step, operation in block
        if operation is not None
    }
    found: list[Spin] = []
    for head, body in loops_of(code.flow.blocks, partial(_MayWait, _Summary(code.flow.blocks))):
        reads = tuple(_waited_for(code.flow.blocks, head, body, numbers))
        if reads:
            found.append(Spin(body, reads))
    return found


class _Summary:
    """By block the reason that its loop does more, and its changes; all addresses of reads."""

    def __init__(self, blocks: Sequence[Block]):
        self.does_more = [
            any(step.effects.kind in _DOES_MORE for step in each.steps) for each in blocks
        ]
        self.changed = [frozenset(_changed(each.steps)) for each in blocks]
        self.addresses = tuple(
            {
                frozenset(_addresses(step))
                for each in blocks
                for step in each.steps
                if step.effects.kind in _MEMORY
            }
        )


class _MayWait:
    """A test of a loop, block by block: it may wait if it reads from an address that no block
    changes."""

    def __init__(self, summary: _Summary):
        self._summary = summary
        self._changed: set[str] = set()
        self._address = 0

    def __call__(self, block: int) -> bool:
        summary = self._summary
        if summary.does_more[block]:
            return False
        self._changed |= summary.changed[block]
        while self._address < len(summary.addresses):
            if summary.addresses[self._address].isdisjoint(self._changed):
                return True
            self._address += 1
        return False


def _changed(steps: Iterable[Step]) -> Iterator[str]:
    """The registers that are changed, other than by a wait."""
    for step in steps:
        if step.effects.kind is not Kind.WAIT:
            yield from step.effects.defines


def _waited_for(
    blocks: Sequence[Block], head: int, body: frozenset[int], numbers: Mapping[int, int]
) -> Iterator[int]:
    steps = [step for number in body for step in blocks[number].steps]
    changed = set(_changed(steps))
    reads = [
        step
        for step in steps
        if step.effects.kind in _MEMORY and changed.isdisjoint(_addresses(step))
    ]
    if not reads:
        return
    loop = graph_of(blocks).within(body)
    depends = _depending(blocks, loop, {id(step) for step in reads})
    if not _leads_out(blocks, body, depends):
        return
    needed = _needed(blocks, head, loop)
    for number in body:
        if head in blocks[number].successors and any(map(_is_data, depends[number] & needed)):
            return
    yield from (numbers[id(step)] for step in reads if id(step) in numbers)


def _addresses(step: Step) -> Iterator[str]:
    """The registers of a load's address: all that it reads, except those that select lanes."""
    return (each for each in step.effects.uses if not each.startswith("exec"))


def _is_data(register: str) -> bool:
    """True if a register has a value of each lane: all other carried registers select lanes."""
    return register.startswith("v") and not register.startswith("vcc")


def _depending(
    blocks: Sequence[Block], loop: Graph[int], reads: Container[int]
) -> dict[int, frozenset[str]]:
    """By block, the registers that after it depend on the loads of ``reads`` (the ``id`` of steps).

    Other than by the address of another access.
    """

    def after(number: int, before: frozenset[str]) -> frozenset[str]:
        depends = set(before)
        for step in blocks[number].steps:
            effects = step.effects
            is_read = id(step) in reads
            is_computed = effects.kind not in _MEMORY and not depends.isdisjoint(effects.uses)
            if is_read or is_computed:
                depends.update(effects.defines)
            else:
                depends.difference_update(effects.defines)
        return frozenset(depends)

    entries = solve(loop, dict.fromkeys(loop.nodes, frozenset[str]()), after, frozenset[str].union)
    return {number: after(number, entry) for number, entry in entries.items()}


def _leads_out(
    blocks: Sequence[Block], body: frozenset[int], depends: Mapping[int, frozenset[str]]
) -> bool:
    """True if every way out of a loop depends on the value that it waits for."""
    ends = [
        number
        for number in body
        if blocks[number].steps and not body.issuperset(blocks[number].successors)
    ]
    return bool(ends) and all(
        not depends[number].isdisjoint(blocks[number].steps[-1].effects.uses) for number in ends
    )


def _needed(blocks: Sequence[Block], head: int, loop: Graph[int]) -> frozenset[str]:
    """The registers that a round of a loop uses from the one before, or from before the loop."""

    def before(number: int, after: frozenset[str]) -> frozenset[str]:
        needed = set(after)
        for step in reversed(blocks[number].steps):
            needed.difference_update(step.effects.defines)
            needed.update(step.effects.uses)
        return frozenset(needed)

    ends = solve(
        loop.backward, dict.fromkeys(loop.nodes, frozenset[str]()), before, frozenset[str].union
    )
    return before(head, ends[head])


def is_flag_alone(code: Code, spin: Spin, read: Step) -> bool:
    """True if the value that a loop waits for is not used after it."""
    blocks = code.flow.blocks
    wanted = frozenset(read.effects.defines)
    is_used = False

    def after(number: int, live: frozenset[str]) -> frozenset[str]:
        nonlocal is_used
        for step in blocks[number].steps:
            if step.effects.kind is not Kind.WAIT:
                is_used = is_used or not live.isdisjoint(step.effects.uses)
                live = live.difference(step.effects.defines)
        return live

    exits = {
        target: wanted
        for number in spin.blocks
        for target in blocks[number].successors
        if target not in spin.blocks
    }
    solve(
        graph_of(blocks),
        exits,
        after,
        frozenset[str].union,
        edge=lambda _, __, live: live or None,
        shared=lambda: is_used,
    )
    return not is_used


def scalar_address(step: Step) -> tuple[str, ...]:
    """The scalar registers of an access's address."""
    return tuple(each for each in _addresses(step) if each.startswith("s") and each[1:].isdigit())


def lasting_address(code: Code, step: Step) -> tuple[str, ...]:
    """``scalar_address``, if each of the registers is defined once at most; else nothing."""
    found = scalar_address(step)
    if not found:
        return ()
    times = dict.fromkeys(found, 0)
    for block in code.flow.blocks:
        for other in block.steps:
            for register in other.effects.defines:
                if register in times:
                    times[register] += 1
    return found if max(times.values()) <= 1 else ()
