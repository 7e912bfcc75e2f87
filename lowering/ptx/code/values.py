"""Values that the addresses and predicates of a PTX function are computed from.

Two registers that are computed in the same way from the same things have one ``Value``. What is
written more than once, loaded or not known is opaque. A value varies if it depends on which thread
computes it.
"""

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.value import Value, ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import SILENT, Statement, names_in, number

_DEPTH = 24
"""The depth beyond which an expression is opaque."""
_OF_THREADS = ("%tid.", "%laneid", "%warpid")
_COPIES = frozenset({"mov", "cvta", "cvt"})


class Values:
    """The values of one function's registers."""

    def __init__(self, places: Places):
        self.places = places
        self.table = ValueTable(_DEPTH)
        self._known: dict[str, Value] = {}

    def of(self, operand: str) -> Value:
        """The value of an operand: a register, a constant, a special register or a name."""
        work = [operand]
        opened: set[str] = set()
        while work:
            name = work[-1]
            if name in self._known:
                work.pop()
                continue
            missing = [each for each in self._operands(name) if each not in self._known]
            if name not in opened and missing:
                # Each register is written once, so what is open already is computed from itself.
                opened.add(name)
                work += [each for each in missing if each not in opened]
                continue
            self._known[name] = self._made(name)
            work.pop()
        return self._known[operand]

    def _statement(self, name: str) -> Statement | None:
        """The instruction that computes a register; None for anything else, and for opaque
        values."""
        if name in self.places.variables or [*names_in(name)] != [name]:
            return None
        made = self.places.written.get(name)
        if made is None:
            return None
        statement = made.statement
        if _is_parameter(statement) or statement.operation == "elect":
            return statement
        is_computed = statement.kind in SILENT and not statement.guard
        if not is_computed or len(statement.defines) != 1:
            return None
        return None if statement.operation in ("shfl", "mapa") else statement

    def _operands(self, name: str) -> tuple[str, ...]:
        """The registers that a register is computed from."""
        statement = self._statement(name)
        if statement is None or _is_parameter(statement) or statement.operation == "elect":
            return ()
        return statement.operands[1:]

    def _made(self, name: str) -> Value:
        statement = self._statement(name)
        if statement is None:
            return self._leaf(name)
        if _is_parameter(statement):
            return self.table.param(statement.operands[1].strip("[] "))
        if statement.operation == "elect":
            return self.table.thread("elect.sync")
        operands = statement.operands
        # A value not known yet is computed from this register itself.
        of = [self._known.get(each) or self.table.opaque(each) for each in operands[1:]]
        if statement.operation in _COPIES and len(of) == 1:
            return of[0]
        opcode = statement.opcode
        compared = f".{opcode.comparison}" if opcode.comparison else ""
        return self.table.apply(f"{opcode.head}{compared}", of)

    def _leaf(self, text: str) -> Value:
        if text in self.places.variables:
            return self.table.param(text)
        if any(True for _ in names_in(text)):
            return self.table.opaque(text)
        if any(each in text for each in _OF_THREADS):
            return self.table.thread(text)
        value = number(text)
        return self.table.constant(text if value is None else value)


def _is_parameter(statement: Statement) -> bool:
    return statement.opcode.head == "ld" and statement.opcode.of_parameters


class Elections:
    """The blocks and instructions of a function that only some threads of a CTA execute.

    They are where a guard, or a branch that may go round them, depends on the thread and on nothing
    that is not known.
    """

    def __init__(self, places: Places, values: Values):
        self.values = values
        blocks = places.function.blocks
        graph = graph_of(blocks)
        after = _postdominators(graph)
        self.block_of = {
            each.number: n for n, block in enumerate(blocks) for each in block.instructions
        }
        elected: set[int] = set()
        controlled: dict[int, set[int]] = {number_: set() for number_ in graph.nodes}
        for number_, block in enumerate(blocks):
            last = block.instructions[-1].statement if block.instructions else None
            if last is None or len(block.successors) < 2:
                continue
            splits = self._splits(last.guard)
            for target in block.successors:
                for each in bits(after[target]):
                    if each != number_ and not after[number_] >> each & 1:
                        controlled[number_].add(each)
                        if splits:
                            elected.add(each)
        control = Graph(graph.nodes, {n: tuple(targets) for n, targets in controlled.items()})
        self._elected = control.reachable(elected)

    def is_elected(self, number_: int, guard: str) -> bool:
        """True if only some threads execute an instruction."""
        return self.block_of[number_] in self._elected or self._splits(guard)

    def _splits(self, guard: str) -> bool:
        value = self.values.of(guard.removeprefix("!")) if guard else None
        return value is not None and value.varies and not value.is_opaque


def _postdominators(graph: Graph[int]) -> list[int]:
    """By block, those that every way to an end goes through, itself among them; all if no way
    does."""
    every = (1 << len(graph.nodes)) - 1
    ends = {block: 0 for block in graph.nodes if not graph.successors[block]}
    after = solve(graph.backward, ends, lambda block, mask: mask | 1 << block, int.__and__)
    return [after.get(block, every) | 1 << block for block in graph.nodes]
