"""Whether something that holds on some path of the code holds on one that can be taken.

LLVM brings branches into a form in which paths that exclude each other join and part again, by
scalar registers that are 0 or -1. Where paths join, what holds on either is taken to hold; here
each path is followed by itself, and one that contradicts such a register is left out.
Source: LLVM StructurizeCFG.
"""

from collections.abc import Callable, Iterator, Sequence

from fencewright.checker.cdna_accesses import Operation
from fencewright.checker.cdna_family import InstructionKind
from fencewright.checker.cdna_flow import Flow, Step
from fencewright.checker.cdna_lift import Place, place_of
from fencewright.checker.cdna_state import Code, State
from fencewright.checker.cdna_text import Registers

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
    work: list[tuple[tuple[int, ...], tuple[Step, ...]]] = [
        ((), flow.blocks[start].steps[position:])
    ]
    for tried, (visited, steps) in enumerate(work):
        if tried == MOST_PATHS:
            raise OverflowError
        ends = [place for place, step in enumerate(steps) if step is last and place]
        if ends:
            yield steps[: ends[0] + 1]
            continue
        number = visited[-1] if visited else start
        taken = _taken(steps)
        for target in flow.blocks[number].successors:
            is_next = target == number + 1
            if target not in visited and (taken is None or taken is not is_next):
                work.append(((*visited, target), (*steps, *flow.blocks[target].steps)))


_ZERO, _ALL = 0, -1


def _taken(steps: Sequence[Step]) -> bool | None:
    """Whether the branch at the end of a path is taken; None: not known, or no branch."""
    last = steps[-1] if steps else None
    if last is None or last.effects.kind is not InstructionKind.BRANCH:
        return None
    wanted = {"s_cbranch_vccnz": True, "s_cbranch_vccz": False}.get(last.instruction.mnemonic)
    if wanted is None:
        return None
    known: dict[tuple[str, ...], int] = {}
    for step in steps:
        _follow(known, step)
    mask = known.get(("vcc_lo", "vcc_hi"))
    return None if mask is None else (mask != 0) is wanted


def _follow(known: dict[tuple[str, ...], int], step: Step) -> None:
    """What pairs of scalar registers hold after a step, of those that are 0 or -1."""
    defined = set(step.effects.defines)
    value = _value(known, step)
    for names in [each for each in known if not defined.isdisjoint(each)]:
        del known[names]
    operands = step.instruction.operands
    if value is not None and isinstance(operands[0], Registers):
        known[operands[0].names] = value


def _value(known: dict[tuple[str, ...], int], step: Step) -> int | None:
    operands = step.instruction.operands
    match step.instruction.mnemonic:
        case "s_mov_b64" if operands[1] in (_ZERO, _ALL):
            return int(str(operands[1]))
        case "s_and_b64" | "s_andn2_b64" as mnemonic if operands[1] == _EXEC:
            source = operands[2]
            held = known.get(source.names) if isinstance(source, Registers) else None
            if held is None:
                return None
            # Some lane is active.
            return held if mnemonic == "s_and_b64" else _ZERO if held else _ALL
        case _:
            return None


_EXEC = Registers(("exec_lo", "exec_hi"))


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
