"""Loops that wait for memory to change: what they read, and whether they do anything else.

A loop waits if all that leads out of it depends on what it loads from addresses that it does not
change, and it stores nothing. Which registers depend on a load is taken without regard to order
within the loop.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.checker.cdna_family import InstructionKind
from fencewright.checker.cdna_flow import Block, Step
from fencewright.checker.cdna_state import Code

_MEMORY = (InstructionKind.LOAD, InstructionKind.ATOMIC)
_DOES_MORE = (
    InstructionKind.STORE,
    InstructionKind.MEMORY_TO_LDS,
    InstructionKind.BARRIER,
    InstructionKind.CALL,
    InstructionKind.SUBROUTINE,
    InstructionKind.UNKNOWN,
)


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
    for body in loops_of(code.flow.blocks):
        reads = tuple(_waited_for(code.flow.blocks, body, numbers))
        if reads:
            found.append(Spin(body, reads))
    return found


def loops_of(blocks: Sequence[Block]) -> Iterator[frozenset[int]]:
    """The blocks of each natural loop, one for each edge that leads back."""
    before: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        for target in block.successors:
            before.setdefault(target, []).append(number)
    for number, head in _back_edges(blocks):
        body = {head, number}
        work = [number] if number != head else []
        while work:
            for each in before.get(work.pop(), ()):
                if each not in body:
                    body.add(each)
                    work.append(each)
        yield frozenset(body)


def _back_edges(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """The edges to a block that a walk from the first one is inside of."""
    if not blocks:
        return
    open_blocks, seen = {0}, {0}
    stack = [(0, iter(blocks[0].successors))]
    while stack:
        number, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            open_blocks.discard(number)
            stack.pop()
        elif target in open_blocks:
            yield number, target
        elif target not in seen:
            seen.add(target)
            open_blocks.add(target)
            stack.append((target, iter(blocks[target].successors)))


def _waited_for(
    blocks: Sequence[Block], body: frozenset[int], numbers: Mapping[int, int]
) -> Iterator[int]:
    steps = [step for number in body for step in blocks[number].steps]
    if any(step.effects.kind in _DOES_MORE for step in steps):
        return
    changed = {
        register
        for step in steps
        if step.effects.kind is not InstructionKind.WAIT
        for register in step.effects.defines
    }
    reads = [
        step
        for step in steps
        if step.effects.kind in _MEMORY and changed.isdisjoint(_addresses(step))
    ]
    if not reads or not _leads_out(blocks, body, steps, reads):
        return
    yield from (numbers[id(step)] for step in reads if id(step) in numbers)


def _addresses(step: Step) -> Iterator[str]:
    """What a load computes its address from: all that it reads, but for which lanes take part."""
    return (each for each in step.effects.uses if not each.startswith("exec"))


def _leads_out(
    blocks: Sequence[Block], body: frozenset[int], steps: Sequence[Step], reads: Sequence[Step]
) -> bool:
    """Whether every way out of a loop depends on what ``reads`` load."""
    depends = {register for step in reads for register in step.effects.defines}
    grown = -1
    while grown != len(depends):
        grown = len(depends)
        for step in steps:
            if not depends.isdisjoint(step.effects.uses):
                depends.update(step.effects.defines)
    ends = [
        blocks[number].steps[-1]
        for number in body
        if blocks[number].steps and not body.issuperset(blocks[number].successors)
    ]
    return bool(ends) and all(not depends.isdisjoint(step.effects.uses) for step in ends)
