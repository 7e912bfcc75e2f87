"""Values of registers at each instruction: SSA over a control-flow graph, of any vendor's code.

A register that is written once, or always alike, has one value; where paths meet, a choice of two
by the branch between them, or a value that is not known. A register of a loop that grows by what
does not change in it is its value at entry and so many steps as iterations. Source: Cytron and
others, "Efficiently Computing Static Single Assignment Form".
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.model import Literal, Loop, Obstacle, SyncGroup, loops_by_block
from fencewright.checker.verdicts.sequences import sequence_of
from fencewright.lowering.code.dominance import dominates, immediate_dominators, spans_of
from fencewright.lowering.code.graph import Graph, postorder, walk
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop
from fencewright.lowering.code.value import Apply, Iteration, Opaque, Result, Value, ValueTable

_DEPTH = 1 << 20
"""The depth beyond which an expression is opaque: they are shared, so that none has to be."""
_MOST_CONDITIONS = 1_000
"""The conditions of a block from which on the kernel is not judged: each block below has them."""
_NARROW = 32
_PASSES = 8
"""The number of times that loops of loops are looked at again, outer ones first."""
_Values = dict[Value, Value]


class RegisterValues(ABC):
    """The values of registers, block by block in an order that dominators come first in.

    A vendor says what its instructions define (``_step``) and what its branches test (``_branch``).
    ``written``: the registers that each block's instructions write, in their order;
    ``block_of``: the block of each instruction.
    """

    def __init__(
        self,
        graph: Graph[int],
        written: Mapping[int, Iterable[str]],
        block_of: Mapping[int, int],
    ):
        self.table = ValueTable(_DEPTH)
        self.expressions = Expressions(self.table)
        # Compilers leave blocks that nothing leads to, after a trap or with an edge into a loop.
        self.graph = graph.within(graph.reachable((0,)))
        self.block_of = block_of
        self.dominators = immediate_dominators(self.graph, 0)
        self.spans = spans_of(self.dominators)
        self.order = list(reversed(postorder((0,), self.graph.successors.__getitem__)))
        self.is_irreducible = False
        self.loops = self._loops()
        self.around = loops_by_block(self.loops.values())
        self.edge_literals: dict[tuple[int, int], Value] = {}
        writers = _writers(written)
        self._only = {
            register: blocks[0]
            for register, blocks in writers.items()
            if len(blocks) == 1 and blocks[0] not in self.around
        }
        """The block of each register that one instruction writes, outside of loops: what reads it
        comes after that, also where another path leads there."""
        self._phis = self._phi_places(writers)
        self._solved: dict[tuple[int, str], tuple[str, Value]] = {}
        self._open: dict[tuple[int, str], Opaque] = {}
        self.block_of_phi: dict[Value, int] = {}
        self._own: dict[int, dict[str, Value]] = {}
        self._homes: dict[int, dict[str, int | None]] = {}
        self.conditions: dict[int, tuple[Literal, ...]] = {}

    # The vendor's part

    @abstractmethod
    def _steps(self, block: int) -> None:
        """Execute the instructions of a block: their results are in ``self._own[block]``."""

    @abstractmethod
    def _branch(self, block: int) -> None:
        """Put the conditions of the edges that leave a block into ``edge_literals``."""

    @abstractmethod
    def _bits(self, register: str) -> int:
        """The width of a register."""

    def sync_groups(self, signal_of: Callable[[Value], int | None]) -> tuple[SyncGroup, ...]:
        """The blocks into which every edge tests the result of a strong read or of a wait.

        ``signal_of``: the instruction of a value that is such a result, None of any other value.
        """
        groups: list[SyncGroup] = []
        for block in self.order:
            before = self.graph.predecessors[block]
            members = [self._tested(start, block, signal_of) for start in before]
            known = [each for each in members if each is not None]
            if known and len(known) == len(members):
                groups.append(SyncGroup(block, tuple(known)))
        return tuple(groups)

    def _tested(
        self, start: int, block: int, signal_of: Callable[[Value], int | None]
    ) -> tuple[int, Literal] | None:
        """The last result that an edge tests, by the instruction that has it: what a poll is
        compared with comes before it."""
        value = self.edge_literals.get((start, block))
        for literal in () if value is None else self.expressions.literals(value, True, start):
            known = (signal_of(part) for part in leaves((literal.value,)))
            if tested := [each for each in known if each is not None]:
                return max(tested), literal
        return None

    # The graph

    def _phi_places(self, writers: Mapping[str, Sequence[int]]) -> dict[int, tuple[str, ...]]:
        """The registers that have several definitions where paths from them meet, by block."""
        frontiers = self._frontiers()
        places: dict[int, list[str]] = {}
        for register, blocks in writers.items():
            reached = [each for each in blocks if each in self.dominators]
            if len(reached) < 2:
                continue
            entered = (target for each in reached for target in frontiers.get(each, ()))
            for block in walk(entered, lambda each: frontiers.get(each, ())):
                places.setdefault(block, []).append(register)
        return {block: tuple(own) for block, own in places.items()}

    # One pass

    def _solved_walks(self) -> None:
        """Walk until nothing is newly known, each time from the first block with news on."""
        blocks = self.order
        for _ in range(_PASSES):
            self._forget(frozenset(blocks))
            self._walk(blocks)
            if not (news := self._solve()):
                break
            first = next(place for place, block in enumerate(self.order) if block in news)
            blocks = self.order[first:]

    def _forget(self, blocks: Set[int]) -> None:
        """Remove what an earlier walk has found in some blocks and all that come after them."""
        for found in (self._own, self._homes, self.conditions):
            for block in blocks & found.keys():
                del found[block]
        edges, phis = self.edge_literals, self.block_of_phi
        self.edge_literals = {edge: own for edge, own in edges.items() if edge[0] not in blocks}
        self._open = {place: own for place, own in self._open.items() if place[0] not in blocks}
        self.block_of_phi = {phi: block for phi, block in phis.items() if block not in blocks}

    def _walk(self, blocks: Sequence[int]) -> None:
        for block in blocks:
            self._own[block], self._homes[block] = {}, {}
            self._condition(block)
            self._enter(block)
            self._steps(block)
            self._branch(block)

    def _enter(self, block: int) -> None:
        """Give the registers that have several definitions where a block begins their values."""
        for register in self._phis.get(block, ()):
            self._own[block][register] = self._phi(block, register)

    def _condition(self, block: int) -> None:
        """Give a block its conditions: of the branches whose edges dominate it."""
        above = self.dominators[block]
        own = () if above == block else self.conditions[above]
        # The edges back to a loop's head come from where the condition holds already.
        value = self.edge_literals.get((above, block))
        if value is not None and self._entering(block) == [above] and len(own) < _MOST_CONDITIONS:
            new = self.expressions.literals(value, True, above)
            own = (*own, *(each for each in new if each not in own))
        self.conditions[block] = own

    def obstacles(self) -> Iterator[Obstacle]:
        """The reason why a kernel with more conditions than are kept is not judged."""
        if any(len(own) >= _MOST_CONDITIONS for own in self.conditions.values()):
            yield Obstacle(f"{_MOST_CONDITIONS} conditions or more lead to one place", 0)

    def _at_end(self, block: int, register: str) -> Value | None:
        """The value of a register where a block ends."""
        return self._lookup(block, register)

    def _loops(self) -> dict[int, Loop]:
        loops: dict[int, Loop] = {}
        for head, latches in by_head(back_edges(self.graph, (0,))).items():
            if not all(dominates(self.spans, head, latch) for latch in latches):
                self.is_irreducible = True
                continue
            blocks = natural_loop(self.graph, head, latches)
            assert blocks is not None
            loops[head] = Loop(head, blocks, tuple(latches), self.table.iteration(head, 32))
        return loops

    def _frontiers(self) -> Mapping[int, set[int]]:
        frontiers: dict[int, set[int]] = {}
        for block in self.dominators:
            before = self.graph.predecessors[block]
            if len(before) < 2 and not (block == 0 and before):
                continue
            for start in before:
                runner = start
                while runner != self.dominators[block] or (block == 0 and runner == 0):
                    frontiers.setdefault(runner, set()).add(block)
                    if runner == self.dominators[runner]:
                        break
                    runner = self.dominators[runner]
        return frontiers

    def _lookup(self, block: int, register: str) -> Value | None:
        if (found := self._own[block].get(register)) is not None:
            return found
        home = self._home(block, register)
        if home is None:
            only = self._only.get(register)
            return None if only is None else self._own.get(only, {}).get(register)
        return self._own[home][register]

    def _home(self, block: int, register: str) -> int | None:
        """The lowest of a block and its dominators that gives a register a value.

        What is above a block that is being executed does not change: each block on the way keeps
        it, so that all that ask take one way.
        """
        passed: list[int] = []
        home: int | None = block
        while home is not None and register not in self._own[home]:
            if register in self._homes[home]:
                home = self._homes[home][register]
                break
            passed.append(home)
            above = self.dominators[home]
            home = above if above != home else None
        for each in passed:
            self._homes[each][register] = home
        return home

    def _phi(self, block: int, register: str) -> Value:
        loop = self.loops.get(block)
        latches = loop.latches if loop is not None else ()
        before = [p for p in self.graph.predecessors[block] if p in self._own and p not in latches]
        coming = [self._at_end(p, register) for p in before]
        start = self._joined(block, register, before, coming)
        if loop is None:
            return start if start is not None else self._unknown(block, register)
        solved = self._solved.get((block, register))
        if solved is not None and start is not None:
            return self._after_iterations(loop, start, *solved)
        unknown = self._unknown(block, register)
        self._open[block, register] = unknown
        return unknown

    def _joined(
        self, block: int, register: str, before: Sequence[int], coming: Sequence[Value | None]
    ) -> Value | None:
        """The value where paths meet: that of all, or the choice of a branch; None: not known."""
        if not coming or any(value is None for value in coming):
            known = {value for value in coming if value is not None}
            # A register that is not written on one path is not read after it.
            return known.pop() if len(known) == 1 and block not in self.loops else None
        values = [value for value in coming if value is not None]
        if all(value is values[0] for value in values):
            return values[0]
        return self._chosen_from(
            self.dominators[block], block, dict(zip(before, values, strict=True))
        )

    def _chosen_from(self, start: int, block: int, coming: Mapping[int, Value]) -> Value | None:
        """The choice, by the branches from ``start`` on, of the values with which the blocks before
        another one come to it; None where the branches do not distinguish these blocks.

        A loop on the way is left in one iteration, of which its conditions are.
        """
        if len({*coming.values()}) == 1:
            return next(iter(coming.values()))
        ways, left = dict[int, Value](), dict(coming)
        for target in self.graph.successors[start]:
            if dominates(self.spans, target, start):
                continue
            inside = [each for each in left if dominates(self.spans, target, each)]
            own = {each: left.pop(each) for each in ([start] if target == block else inside)}
            if not own:
                continue
            is_entered = target == block or self._entering(target) == [start]
            value = self._chosen_from(target, block, own) if is_entered else None
            if value is None:
                return None
            ways[target] = value
        if left or len(ways) > 2:
            return None
        if len(ways) < 2:
            return next(iter(ways.values()), None)
        condition = self.edge_literals.get((start, next(iter(ways))))
        return None if condition is None else self.expressions.chosen(condition, *ways.values())

    def _entering(self, block: int) -> list[int]:
        """The blocks before one that do not come back to it: it is the head of no loop of
        theirs."""
        before = self.graph.predecessors[block]
        return [each for each in before if not dominates(self.spans, block, each)]

    def _after_iterations(self, loop: Loop, start: Value, operation: str, step: Value) -> Value:
        e = self.expressions
        if operation == "same":
            return start
        if operation == "sequence":
            return step
        times = e.resized(loop.iteration, start.bits)
        if operation == "xor":
            # Every other iteration has the bits the other way.
            times = e.apply("and", (times, e.constant(1, start.bits)), start.bits)
        grown = e.apply("mul", (times, e.resized(step, start.bits)), start.bits)
        return e.apply(operation, (start, grown), start.bits)

    def _solve(self) -> Set[int]:
        """Find registers of loops that change by a step, outer loops first; the loops' heads where
        some are new."""
        fresh: dict[tuple[int, str], tuple[str, Value]] = {}
        solving = set[Value]()
        for block in self.order:
            ends: tuple[_Values, _Values] | None = None
            for register in self._phis.get(block, ()):
                phi = self._open.get((block, register))
                if phi is None:
                    continue
                step = self._step_of(self.loops[block], register, phi)
                if step is None:
                    ends = ends or self._starts_and_following(block)
                    iteration = self.loops[block].iteration
                    value = sequence_of(self.expressions, iteration, phi, *ends)
                    step = None if value is None else ("sequence", value)
                if step is None or leaves((step[1],)) & solving:
                    continue
                fresh[block, register] = step
                solving.add(phi)
        news = {place[0] for place, step in fresh.items() if self._solved.get(place) != step}
        self._solved |= fresh
        return news

    def _step_of(self, loop: Loop, register: str, phi: Opaque) -> tuple[str, Value] | None:
        coming = {self._at_end(latch, register) for latch in loop.latches}
        if len(coming) != 1 or (value := coming.pop()) is None or value.bits != phi.bits:
            return None
        zero = self.expressions.constant(0, phi.bits)
        if value is phi:
            return "same", zero
        if isinstance(value, Apply) and value.operation in ("lshr", "shl"):
            shifted, by = value.arguments
            return (value.operation, by) if shifted is phi and number_of(by) else None
        if isinstance(value, Apply) and value.operation == "xor" and value.arguments[0] is phi:
            bits = value.arguments[1]
            return ("xor", bits) if number_of(bits) is not None and phi.bits > 1 else None
        step = self._addend(value, phi)
        if step is None or not self._is_invariant(step, loop):
            return None
        return "add", step

    def _starts_and_following(self, block: int) -> tuple[_Values, _Values]:
        """The open registers of a loop, as ``sequence_of`` has them."""
        starts, following = _Values(), _Values()
        for register in self._phis[block]:
            own = self._open.get((block, register))
            known = None if own is None else self._start_and_next(block, register)
            if own is not None and known is not None and known[1].bits == own.bits:
                starts[own], following[own] = known
        return starts, following

    def recurrences(self) -> dict[Value, tuple[Value, ...]]:
        """The registers of loops that stay unknown, each with the iteration, and its values before
        the first and after each, where there is one of both."""
        return {
            phi: (self.loops[block].iteration, *own)
            for (block, register), phi in self._open.items()
            if (own := self._start_and_next(block, register)) is not None
        }

    def _start_and_next(self, block: int, register: str) -> tuple[Value, Value] | None:
        loop = self.loops[block]
        coming = {self._lookup(latch, register) for latch in loop.latches}
        entering = {
            self._lookup(before, register)
            for before in self.graph.predecessors[block]
            if before in self._own and before not in loop.latches
        }
        if len(coming) != 1 or len(entering) != 1:
            return None
        after, start = coming.pop(), entering.pop()
        return None if after is None or start is None else (start, after)

    def _addend(self, value: Value, phi: Value) -> Value | None:
        """The sum of all that is added to a phi once; None for any other form."""
        e, bits = self.expressions, phi.bits
        total, count = e.constant(0, bits), 0
        # An index of 32 bits in a register of 64: it does not wrap, and is the register then.
        low = e.resized(e.resized(phi, _NARROW), bits, signed=True) if bits > _NARROW else phi
        work = [(value, False)]
        while work:
            part, negative = work.pop()
            if part is phi or part is low:
                count += -1 if negative else 1
            elif isinstance(part, Apply) and part.operation in ("add", "sub"):
                left, right = part.arguments
                work += [(left, negative), (right, negative ^ (part.operation == "sub"))]
            elif phi in leaves((part,)):
                return None
            else:
                total = e.apply("sub" if negative else "add", (total, part), bits)
        return total if count == 1 else None

    def _is_invariant(self, value: Value, loop: Loop) -> bool:
        for leaf in leaves((value,)):
            if isinstance(leaf, Iteration) and leaf.head in loop.blocks:
                return False
            if isinstance(leaf, Result) and self.block_of[leaf.instruction] in loop.blocks:
                return False
            if isinstance(leaf, Opaque) and self.block_of_phi.get(leaf, -1) in loop.blocks:
                return False
        return True

    def _unknown(self, block: int, register: str) -> Opaque:
        value = self.table.opaque(f"phi {block} {register}", self._bits(register), varies=True)
        assert isinstance(value, Opaque)
        self.block_of_phi[value] = block
        return value


def _writers(written: Mapping[int, Iterable[str]]) -> Mapping[str, Sequence[int]]:
    """The block of each write of a register."""
    blocks_of: dict[str, list[int]] = {}
    for block, registers in written.items():
        for register in registers:
            blocks_of.setdefault(register, []).append(block)
    return blocks_of
