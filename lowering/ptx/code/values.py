"""Values that the addresses and predicates of a PTX function are computed from.

Two registers that are computed in the same way from the same things have one ``Value``. What is
written more than once, loaded or not known is opaque. A value varies if it depends on which thread
computes it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.value import Apply, Const, Param, Thread, Value, ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import SILENT, Statement, names_in, number

_DEPTH = 24
"""The depth beyond which an expression is opaque."""
_MOST_TERMS = 32
"""The different values that an address is a sum of, at most."""
_OF_THREADS = ("%tid.", "%laneid", "%warpid")
_COPIES = frozenset({"mov", "cvta", "cvt"})


@dataclass(frozen=True, slots=True)
class Address:
    """``constant`` bytes and ``terms``, each so many times, after the beginning of ``variable``."""

    variable: str
    constant: int
    terms: tuple[tuple[Value, int], ...]

    @property
    def is_own(self) -> bool:
        """True if it depends on the thread, and on nothing unknown."""
        values = [value for value, _ in self.terms]
        return any(each.varies for each in values) and not any(each.is_opaque for each in values)

    @property
    def stride(self) -> int | None:
        """The distance in bytes from this thread's place to the next one's; None if not known."""
        if len(self.terms) != 1 or self.terms[0][1] != 1:
            return None
        inner = self.terms[0][0]
        if _is_first_dimension(inner):
            return 1
        if not isinstance(inner, Apply) or len(inner.arguments) != 2:
            return None
        of, by = inner.arguments
        if not _is_first_dimension(of) or not isinstance(by, Const):
            return None
        if not isinstance(by.constant, int):
            return None
        if inner.operation == "shl":
            return 1 << by.constant if 0 <= by.constant < _WIDEST else None
        return by.constant if inner.operation == "mul" else None


_WIDEST = 64
"""The bits of the widest register that an address is in."""


def _is_first_dimension(value: Value) -> bool:
    return isinstance(value, Thread) and value.name == "%tid.x"


@dataclass(frozen=True, slots=True)
class _Sum:
    """A constant and values, each so many times."""

    constant: int
    terms: Mapping[Value, int]


class Values:
    """The values of one function's registers."""

    def __init__(self, places: Places):
        self.places = places
        self.table = ValueTable(_DEPTH)
        self._known: dict[str, Value] = {}
        self._sums: dict[str, _Sum] = {}

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

    def address(self, text: str) -> Address | None:
        """The values that an address is computed from; None unless of one variable or parameter."""
        names = [*names_in(text)]
        if not names:
            return None
        after = text[text.index(names[0]) + len(names[0]) :].replace(" ", "").removeprefix("+")
        found = self._sum(names[0])
        pointers = [
            (value, times)
            for value, times in found.terms.items()
            if isinstance(value, Param) and self._may_point(value.name)
        ]
        if len(pointers) != 1 or pointers[0][1] != 1:
            return None
        base = pointers[0][0]
        terms = ((value, times) for value, times in found.terms.items() if value is not base)
        constant = found.constant + (number(after) or 0)
        ordered = tuple(sorted(terms, key=lambda each: each[0].number))
        assert isinstance(base, Param)
        return Address(base.name, constant, ordered)

    def _sum(self, register: str) -> _Sum:
        """A register as a sum of constants and values, through copies and additions."""
        work = [register]
        opened: set[str] = set()
        while work:
            name = work[-1]
            if name in self._sums:
                work.pop()
                continue
            parts = [*self._summands(name)]
            missing = [each for each in parts if each not in self._sums]
            if name not in opened and missing:
                opened.add(name)
                work += [each for each in missing if each not in opened]
                continue
            self._sums[name] = self._added(name, [] if missing else parts)
            work.pop()
        return self._sums[register]

    def _summands(self, name: str) -> Iterator[str]:
        statement = self._statement(name)
        if statement is None or _is_parameter(statement):
            return
        is_copy = statement.operation in _COPIES and len(statement.operands) == 2
        if is_copy or (statement.operation == "add" and len(statement.operands) == 3):
            yield from statement.operands[1:]

    def _added(self, name: str, parts: list[str]) -> _Sum:
        constant, terms = 0, Counter[Value]()
        for each in parts:
            part = self._sums[each]
            constant += part.constant
            terms.update(part.terms)
        if parts and len(terms) <= _MOST_TERMS:
            return _Sum(constant, terms)
        value = self.of(name)
        if isinstance(value, Const) and isinstance(value.constant, int):
            return _Sum(value.constant, {})
        if isinstance(value, Param) and not self._is_name(value.name):
            # A part of a parameter: no more is known of it.
            value = self.table.opaque(value.name)
        return _Sum(0, {value: 1})

    def _is_name(self, name: str) -> bool:
        return name in self.places.variables or name in self.places.parameters

    def _may_point(self, name: str) -> bool:
        if name in self.places.variables:
            return True
        types = {each.name: each.type for each in self.places.function.parameters}
        return types.get(name, "").endswith("64")


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
