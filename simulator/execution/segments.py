"""A kernel as the executor takes it: segments that run without a barrier inside, in which order.

Where lanes that took different ways are together again is the immediate post-dominator of the
branch: there the compiler puts the instruction that waits for the others. Source: NVIDIA Volta
white paper, Independent Thread Scheduling; AMD, LLVM AMDGPUUsage, exec mask.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.dominance import dominates, immediate_dominators, spans_of
from fencewright.lowering.code.graph import Graph, postorder
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.execution.program import (
    Argument,
    BlockEnd,
    Compute,
    CopyStep,
    CrossLane,
    FenceInstruction,
    FenceStep,
    Jump,
    LaneBranch,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
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
    jumps_of,
    with_jumps,
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
    end: BlockEnd | Join
    stored: frozenset[Register]
    meets: int
    rank: int
    spins: bool


def segments_of(program: LaneProgram, pauses: frozenset[int] = frozenset()) -> tuple[Segment, ...]:
    """The segments of a kernel, the entry first; one begins at each instruction of ``pauses``."""
    parts = _parts(program, pauses)
    successors = [targets_of(end) for _, end in parts]
    loops = _loops(successors)
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
    """The source position of the first instruction of a segment that has one, or its branch."""
    numbers = (
        each.instruction
        for each in segment.steps
        if isinstance(
            each, MemoryStep | CopyStep | TensorStep | TileStep | FenceStep | NamedBarrierStep
        )
    )
    places = (program.instructions[each].place for each in numbers)
    branch = segment.end.place if isinstance(segment.end, LaneBranch) else None
    return next((each for each in places if each is not None), branch)


# Segments

_Part = tuple[tuple[Step, ...], BlockEnd | Join]


def _parts(program: LaneProgram, pauses: frozenset[int]) -> list[_Part]:
    pieces = [_split(program, block.steps, pauses) for block in program.blocks]
    first: list[int] = []
    count = 0
    for each in pieces:
        first.append(count)
        count += len(each)
    found: list[_Part] = []
    for block, steps in zip(program.blocks, pieces, strict=True):
        for each in steps[:-1]:
            following = len(found) + 1
            joins = _joins(program, each[-1])
            found.append((each, Join(following) if joins else Jump(following, ())))
        end = with_jumps(block.end, lambda jump: Jump(first[jump.block], jump.moves))
        found.append((steps[-1], end))
    return found


def _split(
    program: LaneProgram, steps: Iterable[Step], pauses: frozenset[int]
) -> list[tuple[Step, ...]]:
    """The steps up to each barrier, the barrier too, and up to each pause."""
    found: list[list[Step]] = [[]]
    for step in steps:
        if found[-1] and pauses_before(step, pauses):
            found.append([])
        found[-1].append(step)
        if _joins(program, step):
            found.append([])
    return [tuple(each) for each in found]


def pauses_before(step: Step, pauses: frozenset[int]) -> bool:
    """True of the first part of an instruction before which waves pause."""
    return isinstance(step, MemoryStep) and not step.is_further and step.instruction in pauses


def _joins(program: LaneProgram, step: Step) -> bool:
    if not isinstance(step, FenceStep | NamedBarrierStep):
        return False
    instruction = program.instructions[step.instruction]
    return isinstance(instruction, FenceInstruction) and instruction.joins


def targets_of(end: BlockEnd | Join) -> tuple[int, ...]:
    """The segments that may follow."""
    return (end.segment,) if isinstance(end, Join) else tuple(each.block for each in jumps_of(end))


# Order, dominators, loops


def _meets(successors: Sequence[Sequence[int]]) -> list[int]:
    """Of each segment its immediate post-dominator; ``EXIT`` where none has to be passed."""
    end = len(successors)
    with_end = [*(targets or (end,) for targets in successors), ()]
    dominators = immediate_dominators(graph_of(with_end).backward, end)
    return [EXIT if dominators.get(node, end) == end else dominators[node] for node in range(end)]


def graph_of(successors: Sequence[Sequence[int]]) -> Graph[int]:
    """The graph of segments."""
    return Graph(tuple(range(len(successors))), dict(enumerate(successors)))


def _loops(successors: Sequence[Sequence[int]]) -> dict[int, frozenset[int]]:
    """The natural loops of reachable code: of each header the segments of its loop."""
    nodes = postorder([0], successors.__getitem__)[::-1]
    graph = Graph(tuple(nodes), {node: successors[node] for node in nodes})
    spans = spans_of(immediate_dominators(graph, 0))
    back = [
        (end, header) for end, header in back_edges(graph, [0]) if dominates(spans, header, end)
    ]
    bodies = {header: natural_loop(graph, header, ends) for header, ends in by_head(back).items()}
    return {header: body for header, body in bodies.items() if body is not None}


def _ranks(successors: Sequence[Sequence[int]], loops: Mapping[int, frozenset[int]]) -> list[int]:
    """Reverse post-order in which the segments after a loop come after all of the loop."""
    depth = [sum(node in body for body in loops.values()) for node in range(len(successors))]
    outwards = [sorted(targets, key=lambda each: depth[each]) for targets in successors]
    order = postorder([0], outwards.__getitem__)
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
    """True if only writes of others end a loop: it reads memory and carries nothing round."""
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
        case Compute(_, operands):
            return operands
        case CrossLane(_, operands):
            return operands if step.lanes is None else (*operands, step.lanes)
        case Merge(_, lanes, new, old):
            return (lanes, new, old)
        case MemoryStep():
            more = (each for each in (step.scalar_base, step.where) if each is not None)
            return (step.address, *more, *step.data)
        case CopyStep():
            more = (step.bytes, step.where, step.inside, step.taken)
            return (step.target, step.source, *(each for each in more if each is not None))
        case TensorStep():
            more = () if step.where is None else (step.where,)
            return (step.map, step.shared, *step.coordinates, *(step.offsets or ()), *more)
        case TileStep():
            return step.words
        case NamedBarrierStep():
            return () if step.operand is None else (step.operand,)
        case FenceStep():
            given = (step.barrier, step.threads, step.vote)
            return tuple(each for each in given if each is not None)
        case Unknown() | Special() | Argument() | Stop():
            return ()


def written_by(step: Step) -> Register | None:
    """The register that a step writes."""
    return None if isinstance(step, CopyStep | TileStep | FenceStep | Stop) else step.result


def moved_by(end: BlockEnd) -> tuple[Register, ...]:
    """The registers that the moves of a block's end write."""
    return tuple(to for each in jumps_of(end) for to, _ in each.moves)


def _read_at_end(end: BlockEnd | Join) -> list[Register]:
    condition = [end.condition] if isinstance(end, LaneBranch) else []
    return [*condition, *(source for each in jumps_of(end) for _, source in each.moves)]


def _results(steps: Iterable[Step]) -> frozenset[Register]:
    return frozenset(each for each in map(written_by, steps) if each is not None)


def _written_in(part: _Part) -> frozenset[Register]:
    steps, end = part
    moved = {to for each in jumps_of(end) for to, source in each.moves if to != source}
    return _results(steps) | moved


def _live(parts: Sequence[_Part], successors: Sequence[Sequence[int]]) -> list[frozenset[Register]]:
    """The registers whose value at the beginning of each segment may be read."""
    exposed = [_exposed(part) for part in parts]
    written = [_results(steps) for steps, _ in parts]

    def at_begin(node: int, after: frozenset[Register]) -> frozenset[Register]:
        return exposed[node] | after - written[node]

    def before_moves(node: int, before: int, live: frozenset[Register]) -> frozenset[Register]:
        return live - _moved_to(node, parts[before][1])

    graph = graph_of(successors).backward
    ends = dict.fromkeys(graph.nodes, frozenset[Register]())
    after = solve(graph, ends, at_begin, lambda one, other: one | other, edge=before_moves)
    return [at_begin(node, after[node]) for node in range(len(parts))]


def _moved_to(target: int, end: BlockEnd | Join) -> frozenset[Register]:
    """The registers that every jump from ``end`` to ``target`` moves something to."""
    moved = [{to for to, _ in jump.moves} for jump in jumps_of(end) if jump.block == target]
    some = set[Register]().union(*moved)
    return frozenset(to for to in some if all(to in registers for registers in moved))


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
                case Merge():
                    # The set of lanes that take it is control, as a branch is.
                    sources.setdefault(step.result, set()).update((step.new, step.old))
                case MemoryStep():
                    found.add(step.address)
                    if step.scalar_base is not None:
                        found.add(step.scalar_base)
                case CopyStep():
                    found.update((step.source, step.target))
                case TensorStep():
                    found.update(reads_of(step))
                case _:
                    pass
        for each in jumps_of(block.end):
            for to, source in each.moves:
                sources.setdefault(to, set()).add(source)
    return frozenset(postorder(found, lambda register: sources.get(register, ())))
