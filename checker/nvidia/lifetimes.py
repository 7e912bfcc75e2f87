"""Tensor memory that is freed while others may use it.

Verdicts do not follow places in tensor memory. All CTAs of a cluster, and all threads of a CTA, run
the same text. A forward dataflow has what a CTA has allocated together with another one since it
last met it at the cluster's barrier, and what threads have accessed in tensor memory since a
barrier of theirs. Source: PTX ISA, "barrier.cluster"; "tcgen05.dealloc".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.checker.verdicts.expressions import leaves
from fencewright.checker.verdicts.ptx.values import Registers
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.value import Opaque, Value
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import MBARRIER_WAITS, Statement
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import FastStrEnum

_PAIR = "cta_group::2"
_IN_TENSOR_MEMORY = frozenset({"tcgen05 ld", "tcgen05 st"})
_FREES = "tcgen05 dealloc"
_BARRIERS = MEETS | MBARRIER_WAITS | {"bar warp sync", "barrier cluster wait", "call"}
"""The operations at which threads may wait for one another before tensor memory is freed."""


class End(FastStrEnum):
    """The lifetime that ends too early."""

    PAIR = "tensor memory that another CTA may not have allocated yet"
    TENSOR = "tensor memory that other threads may access"


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """``later`` ends the memory that ``before`` accesses, without a meeting between."""

    end: End
    before: PtxInstruction
    later: PtxInstruction


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions since the last meeting: allocations, and accesses of tensor memory."""

    allocated: int = 0
    tensor: int = 0

    def join(self, other: "_State") -> "_State":
        """The accesses that may be pending on either path."""
        return _State(self.allocated | other.allocated, self.tensor | other.tensor)


class LifetimeAnalysis:
    """The ends of tensor memory in one kernel that come too early."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function

    def early(self) -> Iterator[EarlyEnd]:
        """The lifetimes that end too early, in the order of the text."""
        if not self.function.is_entry or _FREES not in self.function.operations:
            return
        of = {each.number: each for each in self.function.instructions}
        elections = _Elections(Registers(self.places))
        for each, state in states(self.function, _State(), self._after):
            name = each.statement.operation
            if _is_of_pair(each.statement, "dealloc"):
                for number in bits(state.allocated):
                    yield EarlyEnd(End.PAIR, of[number], each)
                    break
            if name == _FREES and elections.is_elected(each):
                for number in bits(state.tensor):
                    before = of[number]
                    # Tensor memory is freed by one warp.
                    if not elections.is_elected(before):
                        yield EarlyEnd(End.TENSOR, before, each)
                        break

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, bit = each.statement, 1 << each.number
        name = statement.operation
        if name in ("barrier cluster wait", "call"):
            return _State()
        is_barrier = name in _BARRIERS or statement.kind is Kind.OPAQUE
        tensor = 0 if is_barrier else state.tensor
        if name in _IN_TENSOR_MEMORY:
            tensor |= bit
        allocated = state.allocated
        if _is_of_pair(statement, "alloc"):
            allocated |= bit
        return _State(allocated, tensor)


def _is_of_pair(statement: Statement, what: str) -> bool:
    is_it = statement.operation == f"tcgen05 {what}"
    return is_it and _PAIR in statement.opcode.modifiers


class _Elections:
    """The blocks and instructions of a function that only some threads of a CTA execute.

    They are where a guard, or a branch that may go round them, depends on the thread and on nothing
    that is not known.
    """

    def __init__(self, registers: Registers):
        self.registers = registers
        blocks, graph = registers.function.blocks, registers.graph
        after = _postdominators(graph)
        elected: set[int] = set()
        controlled: dict[int, set[int]] = {number: set() for number in graph.nodes}
        for number, block in enumerate(blocks):
            if not block.instructions or len(block.successors) < 2:
                continue
            splits = self._splits(block.instructions[-1])
            for target in block.successors:
                for each in bits(after[target]):
                    if each != number and not after[number] >> each & 1:
                        controlled[number].add(each)
                        if splits:
                            elected.add(each)
        control = Graph(graph.nodes, {n: tuple(targets) for n, targets in controlled.items()})
        self._elected = control.reachable(elected)

    def is_elected(self, each: PtxInstruction) -> bool:
        """True if only some threads execute an instruction."""
        return self.registers.block_of[each.number] in self._elected or self._splits(each)

    def _splits(self, each: PtxInstruction) -> bool:
        guard = self.registers.guard(each)
        if guard is None:
            return False
        value, _ = guard
        return value.varies and all(map(_is_known, leaves((value,))))


def _is_known(leaf: Value) -> bool:
    """True of a value that is known, or that a special register has."""
    is_special = isinstance(leaf, Opaque) and leaf.name.startswith("special ")
    return not leaf.is_opaque or is_special


def _postdominators(graph: Graph[int]) -> list[int]:
    """By block, those on every way to an end, itself among them; all if there is no way."""
    every = (1 << len(graph.nodes)) - 1
    ends = {block: 0 for block in graph.nodes if not graph.successors[block]}
    after = solve(graph.backward, ends, lambda block, mask: mask | 1 << block, int.__and__)
    return [after.get(block, every) | 1 << block for block in graph.nodes]
