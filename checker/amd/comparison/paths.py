"""Path sensitivity: a fact that holds on some path of the code holds on one that can be taken.

LLVM brings branches into a form in which paths that exclude each other join and part again, by
masks of lanes. Where paths join, what holds on either is taken to hold; here each path is followed
by itself, and one that contradicts those masks is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fencewright.checker.amd.accesses import Operation
from fencewright.checker.amd.guarantees import Place, place_of
from fencewright.checker.amd.lanes import Lanes, inactive_masks
from fencewright.checker.amd.state import Code, State
from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.code.effects import Kind

MOST_PATHS = 512
"""Paths that are looked at between two instructions."""


_Follow = Callable[[State | None, Sequence[Step]], State | None]
"""The state after the steps of a block, from that before it; None: go no further."""


def walks(
    flow: Flow, first: Step, last: Step, follow: _Follow | None = None
) -> Iterator[tuple[Step, ...]]:
    """The paths from one step to another that enter no block twice and that can be taken.

    The shortest in blocks come first; none goes on from where ``follow`` says so, or comes to
    ``first`` again. Raises ``OverflowError`` if there are too many.
    """
    start, position = next(
        (number, place)
        for number, block in enumerate(flow.blocks)
        for place, step in enumerate(block.steps)
        if step is first
    )
    lanes = Lanes(flow.chip)
    lanes.assume_inactive(inactive_masks(flow).get(start, frozenset()))
    for step in flow.blocks[start].steps[:position]:
        lanes.step(step)
    lanes.begin()
    work = [_Walk((), (), flow.blocks[start].steps[position:], lanes)]
    for tried, walk in enumerate(work):
        if tried == MOST_PATHS:
            raise OverflowError
        steps, again = walk.steps, bool(walk.visited)
        ends = [n for n, step in enumerate(steps) if step is last and (again or n)]
        if ends:
            yield (*walk.before, *steps[: ends[0] + 1])
            continue
        number = walk.visited[-1] if again else start
        state = follow(walk.state, steps) if follow is not None else None
        if (again and number == start) or (follow is not None and state is None):
            continue
        for step in steps:
            walk.lanes.step(step)
        is_branch = bool(steps) and steps[-1].effects.kind is Kind.BRANCH
        for target in flow.blocks[number].successors:
            if target in walk.visited:
                continue
            lanes = walk.lanes.copy()
            if not is_branch or lanes.branch(steps[-1], target != number + 1):
                visited, before = (*walk.visited, target), (*walk.before, *steps)
                work.append(_Walk(visited, before, flow.blocks[target].steps, lanes, state))


@dataclass(frozen=True, slots=True)
class _Walk:
    """A path so far: its blocks after the first one, its steps before the last block and in it."""

    visited: tuple[int, ...]
    before: tuple[Step, ...]
    steps: tuple[Step, ...]
    lanes: Lanes
    state: State | None = None


def can_hold(
    code: Code, earlier: Operation, later: Operation, holds: Callable[[Place], bool]
) -> bool:
    """True if ``holds`` is true of ``later`` at the end of a path from ``earlier`` to it.

    It must hold all the way: what is done stays done. True if there are too many paths to know.
    """
    if earlier.step is None or later.step is None:
        return True
    of_step = _operations(code)

    def follow(state: State | None, steps: Iterable[Step]) -> State | None:
        after = State(code) if state is None else state.copy()
        for step in steps:
            if id(step) in of_step:
                after.step(code, step, of_step[id(step)])
        return after if holds(place_of(after)) else None

    try:
        for steps in walks(code.flow, earlier.step, later.step, follow):
            if follow(None, steps[:-1]) is not None:
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
    """The memory model's operation of each step, by its ``id``."""
    return {id(step): operation for steps in code.counted for step, operation in steps}
