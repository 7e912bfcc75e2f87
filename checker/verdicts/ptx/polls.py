"""Polls that begin where the loop around them does, given a block of their own to begin in.

A loop that waits first, ``L: try_wait; @!p bra L; ..; @q bra L``, jumps to one label for the next
poll and for the next iteration: one loop in the graph, whose iterations would be polls. An empty
block before the poll makes it two.
"""

from dataclasses import replace

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop
from fencewright.lowering.ptx.code.statements import MBARRIER_WAITS, Opcode
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFunction
from fencewright.lowering.vocabulary import Ordering


def with_polls_apart(function: PtxFunction) -> PtxFunction:
    """The function with an empty block before each poll that the loop around it begins with."""
    if not any(map(_may_poll, function.opcodes)):
        return function
    graph = graph_of(function.blocks)
    blocks = list(function.blocks)
    for head, latches in by_head(back_edges(graph, (0,))).items():
        if len(latches) < 2:
            continue
        bodies = {latch: natural_loop(graph, head, (latch,)) or frozenset() for latch in latches}
        inner = [each for each in latches if not any(own < bodies[each] for own in bodies.values())]
        polls = [each for each in inner if _polls(function, bodies[each])]
        around = [each for each in latches if each not in polls]
        if not polls or not all(bodies[p] < bodies[each] for p in polls for each in around):
            continue
        before = len(blocks)
        blocks.append(PtxBlock(before, (), (), (head,)))
        for each in graph.predecessors[head]:
            if each not in polls:
                own = blocks[each]
                after, table = (
                    tuple(before if target == head else target for target in targets)
                    for targets in (own.successors, own.table)
                )
                blocks[each] = replace(own, successors=after, table=table)
    is_apart = len(blocks) > len(function.blocks)
    return replace(function, blocks=tuple(blocks)) if is_apart else function


def _may_poll(opcode: Opcode) -> bool:
    is_strong = opcode.ordering not in (None, Ordering.WEAK)
    return opcode.operation in MBARRIER_WAITS or (opcode.kind is Kind.LOAD and is_strong)


def _polls(function: PtxFunction, body: frozenset[int]) -> bool:
    """True of a loop that waits, and does nothing else that others see."""
    own = [each.statement for number in body for each in function.blocks[number].instructions]
    waits = [each for each in own if each.operation in MBARRIER_WAITS]
    polled = [each for each in own if each.accesses and each.operation not in MBARRIER_WAITS]
    if any(access.writes for each in polled for access in each.accesses):
        return False
    return bool(waits) or any(each.is_strong for each in polled)
