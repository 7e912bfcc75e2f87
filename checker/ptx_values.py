"""What the addresses and predicates of a PTX function are computed from, as far as its text says.

Two registers that are computed in the same way from the same things have one *value*, which is an
expression as a text. What is written more than once, loaded or not known is opaque: its register's
own name with a mark. A value varies if it depends on which thread computes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.checker.ptx_places import Places
from fencewright.lowering.ptx.statements import EffectKind, Statement, names_in, number
from fencewright.simulator.core.relation import bits

_DEPTH = 24
"""How far a value is followed."""
_OPAQUE = "?"
_OF_THREADS = ("%tid.", "%laneid", "%warpid", "elect.sync")
_COPIES = frozenset({"mov", "cvta", "cvt"})


@dataclass(frozen=True, slots=True)
class Address:
    """``constant`` bytes and the values of ``terms`` after the beginning of ``variable``."""

    variable: str
    constant: int
    terms: tuple[str, ...]

    @property
    def is_fixed(self) -> bool:
        """Whether it is one place for all threads of a CTA, known to the byte."""
        return not self.terms

    @property
    def is_own(self) -> bool:
        """Whether it depends on the thread, and on nothing that is not known."""
        return any(map(varies, self.terms)) and not any(map(is_opaque, self.terms))

    @property
    def stride(self) -> int | None:
        """How many bytes the next thread's place is after this one's; None if not known."""
        if len(self.terms) != 1:
            return None
        inner = self.terms[0]
        name, _, rest = inner.partition("(")
        parts = rest.removesuffix(")").split(", ")
        if inner == "%tid.x":
            return 1
        if len(parts) != 2 or parts[0] != "%tid.x" or (by := number(parts[1])) is None:
            return None
        return {"shl": 1 << by, "mul": by}.get(name)


def varies(value: str) -> bool:
    """Whether a value may be another one in another thread of the CTA."""
    return any(each in value for each in _OF_THREADS)


def is_opaque(value: str) -> bool:
    """Whether it depends on what is not known."""
    return _OPAQUE in value


class Values:
    """The values of one function's registers."""

    def __init__(self, places: Places):
        self.places = places
        self._known: dict[str, str] = {}

    def of(self, operand: str, depth: int = _DEPTH) -> str:
        """The value of an operand: a register, a constant, a special register or a name."""
        if operand in self._known:
            return self._known[operand]
        names = [*names_in(operand)]
        if names != [operand] or operand in self.places.variables:
            return operand if not names or operand in self.places.variables else _OPAQUE + operand
        made = self.places.written.get(operand)
        found = _OPAQUE + operand
        if made is not None and depth:
            found = self._made(made.statement, operand, depth - 1)
        self._known[operand] = found
        return found

    def _made(self, statement: Statement, name: str, depth: int) -> str:
        operands = statement.operands
        if statement.opcode.name.startswith("ld.param"):
            return operands[1].strip("[] ")
        if statement.operation == "elect":
            return "elect.sync"
        is_computed = statement.kind is EffectKind.NONE and not statement.guard
        if (
            not is_computed
            or len(statement.defines) != 1
            or statement.operation in ("shfl", "mapa")
        ):
            return _OPAQUE + name
        if statement.operation in _COPIES and len(operands) == 2:
            return self.of(operands[1], depth)
        of = [self.of(each, depth) for each in operands[1:]]
        word = statement.opcode.name.split(".")[0]
        compared = f".{statement.opcode.name.split('.')[1]}" if word in ("setp", "set") else ""
        return f"{word}{compared}({', '.join(of)})"

    def address(self, text: str) -> Address | None:
        """What an address is computed from; None if not of one variable or parameter."""
        names = [*names_in(text)]
        if not names:
            return None
        after = text[text.index(names[0]) + len(names[0]) :].replace(" ", "").removeprefix("+")
        constant = number(after) or 0
        terms: list[str] = []
        bases: list[str] = []
        work = [(names[0], _DEPTH)]
        while work:
            name, depth = work.pop()
            given = number(name)
            if given is not None:
                constant += given
                continue
            if name in self.places.variables or name in self.places.parameters:
                bases.append(name)
                continue
            made = self.places.written.get(name)
            statement = (
                None if made is None or made.statement.guard or not depth else made.statement
            )
            if statement is None:
                terms.append(self.of(name))
            elif statement.opcode.name.startswith("ld.param"):
                work.append((statement.operands[1].strip("[] "), depth - 1))
            elif statement.operation in _COPIES and len(statement.operands) == 2:
                work.append((statement.operands[1], depth - 1))
            elif statement.operation == "add" and len(statement.operands) == 3:
                work += [(each, depth - 1) for each in statement.operands[1:]]
            else:
                terms.append(self.of(name))
        pointers = [each for each in bases if self._may_point(each)]
        if len(pointers) != 1:
            return None
        terms += [each for each in bases if each != pointers[0]]
        return Address(pointers[0], constant, tuple(sorted(terms)))

    def _may_point(self, name: str) -> bool:
        if name in self.places.variables:
            return True
        types = {each.name: each.type for each in self.places.function.parameters}
        return types.get(name, "").endswith("64")


class Elections:
    """Which blocks and instructions of a function are for some threads of a CTA alone.

    They are where a guard, or a branch that may go round them, depends on the thread and on nothing
    that is not known.
    """

    def __init__(self, places: Places, values: Values):
        self.values = values
        blocks = places.function.blocks
        after = _postdominators([each.successors for each in blocks])
        self.block_of = {
            each.number: n for n, block in enumerate(blocks) for each in block.instructions
        }
        self._elected: Mapping[int, bool] = {}
        elected = [False] * len(blocks)
        controls: list[set[int]] = [set() for _ in blocks]
        for number_, block in enumerate(blocks):
            last = block.instructions[-1].statement if block.instructions else None
            if last is None or len(block.successors) < 2:
                continue
            splits = self._splits(last.guard)
            for target in block.successors:
                for each in bits(after[target]):
                    if each != number_ and not after[number_] >> each & 1:
                        controls[each].add(number_)
                        elected[each] = elected[each] or splits
        grown = True
        while grown:
            grown = False
            for number_, by in enumerate(controls):
                if not elected[number_] and any(elected[each] for each in by):
                    elected[number_] = grown = True
        self._elected = dict(enumerate(elected))

    def is_elected(self, number_: int, guard: str) -> bool:
        """Whether an instruction is for some threads alone."""
        return self._elected[self.block_of[number_]] or self._splits(guard)

    def _splits(self, guard: str) -> bool:
        value = self.values.of(guard.removeprefix("!")) if guard else ""
        return varies(value) and not is_opaque(value)


def _postdominators(successors: list[tuple[int, ...]]) -> list[int]:
    """By block, those that every way to an end goes through, itself among them."""
    every = (1 << len(successors)) - 1
    found = [every if targets else 1 << n for n, targets in enumerate(successors)]
    grown = True
    while grown:
        grown = False
        for number_ in reversed(range(len(successors))):
            targets = successors[number_]
            if not targets:
                continue
            common = every
            for each in targets:
                common &= found[each]
            common |= 1 << number_
            if common != found[number_]:
                found[number_], grown = common, True
    return found
