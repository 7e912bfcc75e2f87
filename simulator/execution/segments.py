"""A kernel as the executor takes it: segments that run without a barrier inside, in which order.

Where lanes that took different ways are together again is the immediate post-dominator of the
branch: there the compiler puts the instruction that waits for the others. Source: NVIDIA Volta
white paper, Independent Thread Scheduling; AMD, LLVM AMDGPUUsage, exec mask.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencewright.lowering.code.source_location import SourceLocation
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
    MemoryAccessKind,
    MemoryInstruction,
    MemoryStep,
    Register,
    Special,
    Step,
)

EXIT = -1
"""The segment after the last one: the end of a lane."""


@dataclass(frozen=True, slots=True)
class Join:
    """The segment ends at a barrier; its lanes go on at ``segment`` when all are there."""

    segment: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps without a barrier between them; the targets of ``end`` are numbers of segments.

    ``stored``: the registers that others read after it. ``meets``: where the lanes are together
    again after its branch. ``rank``: its place in an order in which loops come before what is
    after them. ``spins``: in a loop that only memory can end.
    """

    steps: tuple[Step, ...]
    end: Jump | LaneBranch | EndLane | Join
    stored: frozenset[Register]
    meets: int
    rank: int
    spins: bool


def segments_of(program: LaneProgram) -> tuple[Segment, ...]:
    """The segments of a kernel, the entry first."""
    parts = _parts(program)
    successors = [_targets(end) for _, end in parts]
    dominators = immediate_dominators(successors, 0)
    loops = _loops(successors, dominators)
    ranks = _ranks(successors, loops)
    meets = _meets(successors)
    stored = _stored(parts)
    live = _live(parts, successors)
    spinning = {
        each
        for header, body in loops.items()
        for each in body
        if _spins(program, parts, body, live[header])
    }
    return tuple(
        Segment(steps, end, stored[n], meets[n], ranks[n], n in spinning)
        for n, (steps, end) in enumerate(parts)
    )


def place_of(program: LaneProgram, segment: Segment) -> SourceLocation | None:
    """Where the first instruction of a segment that has a place comes from."""
    numbers = (
        each.instruction
        for each in segment.steps
        if isinstance(each, MemoryStep | CopyStep | FenceStep)
    )
    places = (program.instructions[each].place for each in numbers)
    return next((each for each in places if each is not None), None)


# Segments

_Part = tuple[tuple[Step, ...], Jump | LaneBranch | EndLane | Join]


def _parts(program: LaneProgram) -> list[_Part]:
    pieces = [_split(program, block.steps) for block in program.blocks]
    first: list[int] = []
    count = 0
    for each in pieces:
        first.append(count)
        count += len(each)
    found: list[_Part] = []
    for block, steps in zip(program.blocks, pieces, strict=True):
        found += [(each, Join(len(found) + n + 1)) for n, each in enumerate(steps[:-1])]
        found.append((steps[-1], _renumbered(block.end, first)))
    return found


def _split(program: LaneProgram, steps: Iterable[Step]) -> list[tuple[Step, ...]]:
    """The steps up to each barrier, the barrier too."""
    found: list[list[Step]] = [[]]
    for step in steps:
        found[-1].append(step)
        if isinstance(step, FenceStep) and _joins(program, step):
            found.append([])
    return [tuple(each) for each in found]


def _joins(program: LaneProgram, step: FenceStep) -> bool:
    instruction = program.instructions[step.instruction]
    return isinstance(instruction, FenceInstruction) and instruction.joins


def _renumbered(
    end: Jump | LaneBranch | EndLane, first: Sequence[int]
) -> Jump | LaneBranch | EndLane:
    match end:
        case Jump(block, moves):
            return Jump(first[block], moves)
        case LaneBranch(condition, taken, other):
            return LaneBranch(
                condition,
                Jump(first[taken.block], taken.moves),
                Jump(first[other.block], other.moves),
            )
        case EndLane():
            return end


def _targets(end: Jump | LaneBranch | EndLane | Join) -> tuple[int, ...]:
    match end:
        case Jump(block):
            return (block,)
        case LaneBranch(_, taken, other):
            return (taken.block, other.block)
        case Join(segment):
            return (segment,)
        case EndLane():
            return ()


# Order, dominators, loops


def post_order(successors: Sequence[Sequence[int]], root: int) -> list[int]:
    """The nodes that ``root`` reaches, each after those that were found through it."""
    found: list[int] = []
    seen = {root}
    waiting = [(root, iter(successors[root]))]
    while waiting:
        node, rest = waiting[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            found.append(node)
            waiting.pop()
        else:
            seen.add(following)
            waiting.append((following, iter(successors[following])))
    return found


def immediate_dominators(successors: Sequence[Sequence[int]], root: int) -> dict[int, int]:
    """Of each node that ``root`` reaches its immediate dominator; the root's is itself.

    Source: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm.
    """
    order = post_order(successors, root)
    height = {node: n for n, node in enumerate(order)}
    predecessors = _reversed(successors)
    found = {root: root}

    def meet(a: int, b: int) -> int:
        while a != b:
            a, b = (found[a], b) if height[a] < height[b] else (a, found[b])
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            known = [each for each in predecessors[node] if each in found]
            dominator = known[0]
            for each in known[1:]:
                dominator = meet(dominator, each)
            changed |= found.get(node) != dominator
            found[node] = dominator
    return found


def _reversed(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for each in targets:
            found[each].append(node)
    return found


def _meets(successors: Sequence[Sequence[int]]) -> list[int]:
    """Of each segment its immediate post-dominator; ``EXIT`` where none has to be passed."""
    end = len(successors)
    with_end = [*(targets or (end,) for targets in successors), ()]
    found = immediate_dominators(_reversed(with_end), end)
    return [EXIT if found.get(node, end) == end else found[node] for node in range(end)]


def _loops(
    successors: Sequence[Sequence[int]], dominators: Mapping[int, int]
) -> dict[int, frozenset[int]]:
    """The natural loops: of each header the segments of its loop."""
    predecessors = _reversed(successors)
    found: dict[int, frozenset[int]] = {}
    for node in dominators:
        for header in successors[node]:
            if _dominates(dominators, header, node):
                body = {header, node}
                waiting = [node] if node != header else []
                while waiting:
                    new = set(predecessors[waiting.pop()]) & dominators.keys() - body
                    body |= new
                    waiting += new
                found[header] = found.get(header, frozenset()) | body
    return found


def _dominates(dominators: Mapping[int, int], above: int, node: int) -> bool:
    while node != above and dominators[node] != node:
        node = dominators[node]
    return node == above


def _ranks(successors: Sequence[Sequence[int]], loops: Mapping[int, frozenset[int]]) -> list[int]:
    """Reverse post-order in which what follows a loop comes after all of the loop."""
    depth = [sum(node in body for body in loops.values()) for node in range(len(successors))]
    outwards = [sorted(targets, key=lambda each: depth[each]) for targets in successors]
    order = post_order(outwards, 0)
    found = [len(order)] * len(successors)
    for n, node in enumerate(reversed(order)):
        found[node] = n
    return found


def _spins(
    program: LaneProgram,
    parts: Sequence[_Part],
    body: frozenset[int],
    carried: frozenset[Register],
) -> bool:
    """Whether only what others write ends a loop: it reads memory and carries nothing round."""
    kinds: set[MemoryAccessKind] = set()
    for node in body:
        steps, end = parts[node]
        if isinstance(end, Join) or carried & _written_in(parts[node]):
            return False
        for step in steps:
            if isinstance(step, MemoryStep):
                instruction = program.instructions[step.instruction]
                assert isinstance(instruction, MemoryInstruction)
                kinds.add(instruction.kind)
    reads = {MemoryAccessKind.LOAD, MemoryAccessKind.ATOMIC}
    return bool(kinds) and kinds <= reads


# Registers


def reads_of(step: Step) -> tuple[Register, ...]:
    """The registers that a step reads."""
    match step:
        case Compute(_, operands) | CrossLane(_, operands):
            return operands
        case MemoryStep():
            base = () if step.scalar_base is None else (step.scalar_base,)
            return (step.address, *base, *step.data)
        case CopyStep():
            size = () if step.bytes is None else (step.bytes,)
            return (step.target, step.source, *size)
        case Special() | Argument() | FenceStep():
            return ()


def written_by(step: Step) -> Register | None:
    """The register that a step writes."""
    return None if isinstance(step, CopyStep | FenceStep) else step.result


def moved_by(end: Jump | LaneBranch | EndLane) -> tuple[Register, ...]:
    """The registers that the moves of a block's end write."""
    match end:
        case Jump(_, moves):
            return tuple(to for to, _ in moves)
        case LaneBranch(_, taken, other):
            return (*moved_by(taken), *moved_by(other))
        case EndLane():
            return ()


def _read_at_end(end: Jump | LaneBranch | EndLane | Join) -> list[Register]:
    match end:
        case Jump(_, moves):
            return [source for _, source in moves]
        case LaneBranch(condition, taken, other):
            return [condition, *(source for each in (taken, other) for _, source in each.moves)]
        case EndLane() | Join():
            return []


def _results(steps: Iterable[Step]) -> frozenset[Register]:
    return frozenset(each for each in map(written_by, steps) if each is not None)


def _written_in(part: _Part) -> frozenset[Register]:
    steps, end = part
    written = set(_results(steps))
    jumps = (end.taken, end.other) if isinstance(end, LaneBranch) else (end,)
    for each in jumps:
        if isinstance(each, Jump):
            written |= {to for to, source in each.moves if to != source}
    return frozenset(written)


def _live(parts: Sequence[_Part], successors: Sequence[Sequence[int]]) -> list[frozenset[Register]]:
    """The registers whose value at the beginning of each segment may be read."""
    exposed = [_exposed(part) for part in parts]
    written = [_results(steps) for steps, _ in parts]
    found: list[frozenset[Register]] = [frozenset()] * len(parts)
    changed = True
    while changed:
        changed = False
        for node in reversed(range(len(parts))):
            after = _after(parts[node][1], successors[node], found)
            live = exposed[node] | after - written[node]
            changed |= live != found[node]
            found[node] = live
    return found


def _after(
    end: Jump | LaneBranch | EndLane | Join,
    targets: Sequence[int],
    live: Sequence[frozenset[Register]],
) -> frozenset[Register]:
    """What is live after the steps of a segment, beside what its end reads."""
    jumps = (end.taken, end.other) if isinstance(end, LaneBranch) else (end,)
    found: frozenset[Register] = frozenset()
    for target, jump in zip(targets, jumps, strict=False):
        moved = {to for to, _ in jump.moves} if isinstance(jump, Jump) else set[Register]()
        found |= live[target] - moved
    return found


def _exposed(part: _Part) -> frozenset[Register]:
    """The registers that a segment reads before it has written them itself."""
    steps, end = part
    own: set[Register] = set()
    found: set[Register] = set()
    for step in steps:
        found.update(each for each in reads_of(step) if each not in own)
        result = written_by(step)
        if result is not None:
            own.add(result)
    found.update(each for each in _read_at_end(end) if each not in own)
    return frozenset(found)


def _stored(parts: Sequence[_Part]) -> list[frozenset[Register]]:
    """The registers of each segment that some segment reads before it has written them itself."""
    exposed = frozenset[Register]().union(*map(_exposed, parts))
    return [exposed & _results(steps) for steps, _ in parts]


def address_registers(program: LaneProgram) -> frozenset[Register]:
    """The registers that addresses are computed from."""
    sources: dict[Register, set[Register]] = {}
    found: set[Register] = set()
    for block in program.blocks:
        for step in block.steps:
            match step:
                case Compute() | CrossLane():
                    sources.setdefault(step.result, set()).update(step.operands)
                case MemoryStep():
                    found.add(step.address)
                    if step.scalar_base is not None:
                        found.add(step.scalar_base)
                case CopyStep():
                    found.update((step.source, step.target))
                case _:
                    pass
        jumps = (
            (block.end.taken, block.end.other)
            if isinstance(block.end, LaneBranch)
            else (block.end,)
        )
        for each in jumps:
            for to, source in each.moves if isinstance(each, Jump) else ():
                sources.setdefault(to, set()).add(source)
    waiting = [*found]
    while waiting:
        new = sources.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)
