"""Paths that cannot be taken: a scalar comparison comes out as before while its registers stay.

For the registers of one comparison after another, ``without_infeasible_paths`` gives the flow a
block for every set of outcomes that is known there, and leaves out the branches that contradict
them. Compilers wait on all paths of the text; who writes assembly by hand skips a load and its wait
by two tests.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType

from fencewright.lowering.cdna.code.flow import Block, Flow, Step
from fencewright.lowering.cdna.code.operands.operands import operand_text
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import graph_of

_MOST_BLOCKS = 8
"""The factor by which the blocks of a flow may grow, beyond which it stays as it is."""

_MOST_IN_ALL = 20_000
"""The number of blocks of all the flows together, which limits their time."""

_MOST_TESTED = 8
"""Of how many sets of registers the paths are looked at, those that are tested most."""

_HIGHEST = (1 << 32) - 1
_RELATIONS = MappingProxyType(
    {"eq": eq, "lg": ne, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
)
_BRANCHES = MappingProxyType({"s_cbranch_scc0": False, "s_cbranch_scc1": True})


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison, as ``lt`` of a register and a number, both unsigned, or as its text alone.

    ``registers``: whose values it is about.
    """

    text: str
    registers: frozenset[str]
    relation: str | None = None
    number: int = 0


_Facts = frozenset[tuple[_Test, bool]]


def without_infeasible_paths(flow: Flow) -> Iterator[Flow]:
    """The flow without the paths on which comparisons of the same registers contradict one another.

    One flow for each set of registers that has such paths.
    """
    tests = [_test_of(block) for block in flow.blocks]
    tested = Counter(each.registers for each in tests if each)
    room = _MOST_IN_ALL
    for registers, times in tested.most_common(_MOST_TESTED):
        own = [each if each and each.registers == registers else None for each in tests]
        found = _without(flow, own) if times > 1 else None
        if found is not None:
            room -= len(found.blocks)
            if room < 0:
                return
            yield found


def _without(flow: Flow, tests: Sequence[_Test | None]) -> Flow | None:
    """None if all paths are feasible as far as ``tests`` tell, or the flow gets too large."""
    live = _live(flow.blocks, tests)
    work: list[tuple[int, _Facts]] = [(0, frozenset())]
    numbers = {work[0]: 0}
    successors: list[list[int]] = []
    is_smaller = False
    for number, facts in work:
        targets: list[int] = []
        for target, outcome in _leaving(flow.blocks[number], tests[number], facts):
            if outcome is None:
                is_smaller = True
                continue
            node = target, frozenset(each for each in outcome if each[0].registers <= live[target])
            if node not in numbers:
                numbers[node] = len(work)
                work.append(node)
            targets.append(numbers[node])
        successors.append(targets)
        if len(work) > _MOST_BLOCKS * len(flow.blocks):
            return None
    if not is_smaller:
        return None
    # In the order of the text, in which the dataflow goes through blocks.
    order = sorted(range(len(work)), key=lambda each: (each > 0, work[each][0]))
    place = {each: n for n, each in enumerate(order)}
    blocks = [
        Block(flow.blocks[work[each][0]].steps, tuple(place[n] for n in successors[each]))
        for each in order
    ]
    return Flow(flow.function, tuple(blocks), flow.is_called, flow.chip)


def _leaving(
    block: Block, test: _Test | None, facts: _Facts
) -> Iterator[tuple[int, _Facts | None]]:
    """The blocks that come next, with the facts known there; None: this cannot come next."""
    changed = {name for step in block.steps for name in step.effects.defines}
    kept = frozenset(each for each in facts if changed.isdisjoint(each[0].registers))
    if test is None:
        yield from ((target, kept) for target in block.successors)
        return
    branch = _BRANCHES[block.steps[-1].instruction.mnemonic]
    # Registers that a block changes after its test no longer have the tested values.
    holds = changed.isdisjoint(test.registers) or _is_last_change(block, test)
    known = _outcome(test, kept) if holds else None
    for target, outcome in zip(block.successors, (branch, not branch), strict=True):
        if known is not None and known is not outcome:
            yield target, None
        else:
            yield target, kept | {(test, outcome)} if holds else kept


def _test_of(block: Block) -> _Test | None:
    """The comparison that a block with two ends branches by."""
    if len(block.successors) != 2 or not block.steps:
        return None
    if block.steps[-1].instruction.mnemonic not in _BRANCHES:
        return None
    step = _comparison(block.steps)
    return None if step is None else _read(step)


def _comparison(steps: Sequence[Step]) -> Step | None:
    last = next((each for each in reversed(steps) if "scc" in each.effects.defines), None)
    return last if last and last.effects.comparison is not None else None


def _is_last_change(block: Block, test: _Test) -> bool:
    """True if a block changes no register of its test after the test."""
    step = _comparison(block.steps)
    place = next(n for n, each in enumerate(block.steps) if each is step)
    later = {name for each in block.steps[place:] for name in each.effects.defines}
    return later.isdisjoint(test.registers)


def _read(step: Step) -> _Test:
    comparison, operands = step.effects.comparison, step.instruction.operands
    assert comparison is not None
    relation, type_ = comparison.relation, comparison.type
    registers = frozenset(step.effects.uses)
    text = f"{relation} {type_} {' '.join(map(operand_text, operands))}"
    number = operands[-1]
    is_unsigned = type_ == "u32" or (type_ == "i32" and relation in ("eq", "lg"))
    if not (is_unsigned and len(registers) == 1 and isinstance(number, int)):
        return _Test(text, registers)
    return _Test(text, registers, relation, number & _HIGHEST)


def _outcome(test: _Test, facts: _Facts) -> bool | None:
    """The outcome of a test, if it is known."""
    lowest, highest, excluded = 0, _HIGHEST, set[int]()
    for fact, outcome in facts:
        if fact == test:
            return outcome
        if fact.registers != test.registers or fact.relation is None:
            continue
        low, high, other = _range(fact.relation, fact.number, outcome)
        lowest, highest = max(lowest, low), min(highest, high)
        excluded |= other
    if test.relation is None or lowest > highest:
        return None
    while lowest in excluded and lowest < highest:
        lowest += 1
    ends = {_RELATIONS[test.relation](each, test.number) for each in (lowest, highest)}
    if test.relation in ("eq", "lg", "ne"):
        equal = test.relation == "eq"
        if test.number in excluded or not lowest <= test.number <= highest:
            return not equal
        return equal if lowest == highest else None
    return ends.pop() if len(ends) == 1 else None


_OPPOSITES: Mapping[str, str] = MappingProxyType(
    {"eq": "ne", "ne": "eq", "lg": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
)


def _range(relation: str, number: int, outcome: bool) -> tuple[int, int, set[int]]:
    """The values for which a comparison comes out so: the least, the greatest, which not."""
    match relation if outcome else _OPPOSITES[relation]:
        case "eq":
            return number, number, set()
        case "lt":
            return 0, number - 1, set()
        case "le":
            return 0, number, set()
        case "gt":
            return number + 1, _HIGHEST, set()
        case "ge":
            return number, _HIGHEST, set()
        case _:
            return 0, _HIGHEST, {number}


def _live(blocks: Sequence[Block], tests: Sequence[_Test | None]) -> list[frozenset[str]]:
    """By block the registers that it or a later block tests before they change."""
    changed = [{name for step in block.steps for name in step.effects.defines} for block in blocks]
    tested = [frozenset[str]() if test is None else test.registers for test in tests]

    def before(number: int, live: frozenset[str]) -> frozenset[str]:
        return live - changed[number] | tested[number]

    ends = {number: frozenset[str]() for number in range(len(blocks))}
    live = solve(graph_of(blocks).backward, ends, before, frozenset[str].union)
    return [before(number, live[number]) for number in range(len(blocks))]
