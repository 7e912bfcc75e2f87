"""Whether something that holds on some path of the code holds on one that can be taken.

LLVM brings branches into a form in which paths that exclude each other join and part again, by
masks of lanes. Where paths join, what holds on either is taken to hold; here each path is followed by
itself, and one that contradicts those masks is left out.
"""

from collections.abc import Callable, Iterator

from fencewright.checker.cdna_accesses import Operation
from fencewright.checker.cdna_family import InstructionKind
from fencewright.checker.cdna_flow import Flow, Step
from fencewright.checker.cdna_lanes import Lanes
from fencewright.checker.cdna_lift import Place, place_of
from fencewright.checker.cdna_state import Code, State

MOST_PATHS = 512
"""Paths that are looked at between two instructions."""


def walks(flow: Flow, first: Step, last: Step) -> Iterator[tuple[Step, ...]]:
    """The paths from one step to another that enter no block twice and that can be taken.

    The shortest in blocks come first. Raises ``OverflowError`` if there are too many.
    """
    start, position = next(
        (number, place)
        for number, block in enumerate(flow.blocks)
        for place, step in enumerate(block.steps)
        if step is first
    )
    lanes = Lanes(flow.chip)
    for step in flow.blocks[start].steps[:position]:
        lanes.step(step)
    lanes.begin()
    work: list[tuple[tuple[int, ...], tuple[Step, ...], tuple[Step, ...], Lanes]] = [
        ((), (), flow.blocks[start].steps[position:], lanes)
    ]
    for tried, (visited, before, steps, lanes) in enumerate(work):
        if tried == MOST_PATHS:
            raise OverflowError
        ends = [place for place, step in enumerate(steps) if step is last and (before or place)]
        if ends:
            yield (*before, *steps[: ends[0] + 1])
            continue
        number = visited[-1] if visited else start
        for step in steps:
            lanes.step(step)
        is_branch = bool(steps) and steps[-1].effects.kind is InstructionKind.BRANCH
        for target in flow.blocks[number].successors:
            if target in visited:
                continue
            going = lanes.copy()
            if not is_branch or going.branch(steps[-1], target != number + 1):
                after = flow.blocks[target].steps
                work.append(((*visited, target), (*before, *steps), after, going))


def can_hold(
    code: Code, earlier: Operation, later: Operation, holds: Callable[[Place], bool]
) -> bool:
    """Whether ``holds`` is true of ``later`` at the end of a path from ``earlier`` to it.

    True if there are too many paths to know.
    """
    if earlier.step is None or later.step is None:
        return True
    of_step = _operations(code)
    try:
        for steps in walks(code.flow, earlier.step, later.step):
            state = State(code.flow.chip)
            for step in steps[:-1]:
                if id(step) in of_step:
                    state.step(code, step, of_step[id(step)])
            if holds(place_of(state)):
                return True
    except OverflowError:
        return True
    return False


def between(code: Code, earlier: Operation, later: Operation) -> tuple[Operation, ...]:
    """The operations on the first path from one to the other; none if that is not known."""
    if earlier.step is None or later.step is None:
        return ()
    of_step = _operations(code)
    try:
        steps = next(walks(code.flow, earlier.step, later.step), ())
    except OverflowError:
        return ()
    found = (of_step.get(id(step)) for step in steps)
    return tuple(each for each in found if each is not None)


def _operations(code: Code) -> dict[int, Operation | None]:
    """What each step is to the memory model, by its ``id``."""
    return {id(step): operation for steps in code.counted for step, operation in steps}
