"""The callee of a call of PTX, and a function with its callees inlined.

What is called gets names of its own for registers; its parameters are the caller's. A parameter
that the caller writes whole right before the call is moved; so is what a function returns, if it
does at one place.
Source: PTX ISA, "Abstracting the ABI"; "call".
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencewright.lowering.code.calls import Callee
from fencewright.lowering.ptx.code.statements import (
    Opcode,
    Statement,
    element_of,
    names_in,
    read_statement,
)
from fencewright.lowering.ptx.code.text import (
    PtxBlock,
    PtxFile,
    PtxFunction,
    PtxInstruction,
    PtxVariable,
)

CALL = "call"
_PARAMETER = "param"
_NAME = re.compile(r"(?<![\w$%.])[%$]?[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the callee's name, and the names of the parameters on both sides as the caller has
    them.

    ``name``: "" where a register has the address.
    """

    name: str
    given: tuple[str, ...]
    returned: tuple[str, ...]


def call_of(statement: Statement) -> Call:
    """The callee of a statement with the operation ``call``, with its arguments."""
    lists = [tuple(names_in(each)) for each in statement.operands if each.startswith("(")]
    named = [each for each in statement.operands if not each.startswith("(")]
    has_result = statement.operands[0].startswith("(")
    returned = lists.pop(0) if has_result else ()
    name = "" if named[0].startswith("%") else named[0]
    return Call(name, lists[0] if lists else (), returned)


def callees(module: PtxFile) -> frozenset[str]:
    """The functions of the file that others of it call."""
    return frozenset(
        name
        for function in module.functions.values()
        if CALL in function.operations
        for each in function.instructions
        if each.statement.operation == CALL
        and (name := call_of(each.statement).name) in module.functions
        and name != function.name
    )


def inlined(module: PtxFile, function: PtxFunction, callee: Callee[PtxFunction]) -> PtxFunction:
    """The function with its callees in the place of each call; instructions keep their lines.

    Raises what ``callee`` raises.
    """
    if CALL not in function.operations:
        return function
    return _Inliner(module, function, callee).inlined()


_Written = tuple[int, str]
"""The width of a value, and the register or number that has it."""
_Key = tuple[int, int]
"""A block: the copy of a function that it is of, and its number there; below 0 after a call."""


@dataclass(slots=True)
class _Made:
    """A block of the function with its calls replaced."""

    key: _Key
    labels: tuple[str, ...] = ()
    instructions: list[PtxInstruction] = field(default_factory=list[PtxInstruction])
    successors: list[_Key] = field(default_factory=list[_Key])
    table: list[_Key] = field(default_factory=list[_Key])


@dataclass(frozen=True, slots=True)
class _Copy:
    """One copy of a function; number 0 is the caller of the others, whose names stay as they are.

    ``path``: the names of those that call it, its own the last. ``back``: where it returns to.
    ``passed``: the caller's names of its parameters and of its result. ``given``: by such a name
    the width and value that the caller has written. ``called_at``: the line of the outermost call.
    """

    module: PtxFile
    function: PtxFunction
    number: int
    path: tuple[str, ...]
    back: _Key
    passed: Mapping[str, str]
    given: Mapping[str, _Written]
    called_at: int = 0

    def own(self, name: str) -> str:
        """The name of a register, parameter or variable in this copy."""
        module, variable = self.module, self.function.variables.get(name)
        is_everywhere = name in module.variables or name in module.functions
        if not self.number or name == "_" or is_everywhere or not any(names_in(name)):
            return name
        if name in self.passed:
            return self.passed[name]
        if variable is not None and variable.space != _PARAMETER:
            return f"{name}${self.function.name}"  # All copies have the same one.
        return f"{name}$c{self.number}"

    def text(self, operand: str) -> str:
        """An operand with the names of this copy."""
        return _NAME.sub(lambda found: self.own(found[0]), operand)

    def statement(self, statement: Statement) -> Statement:
        """A statement with the names of this copy."""
        if not self.number:
            return statement
        callee = call_of(statement).name if statement.operation == CALL else None
        operands = tuple(each if each == callee else self.text(each) for each in statement.operands)
        return replace(statement, operands=operands, guard=self.text(statement.guard))


class _Inliner:
    def __init__(self, module: PtxFile, function: PtxFunction, callee: Callee[PtxFunction]):
        self.module = module
        self.function = function
        self.callee = callee
        self.made: list[_Made] = []
        self.copies = self.instructions = 0
        self.variables: dict[str, PtxVariable] = dict(function.variables)
        self.registers: dict[str, str] = dict(function.registers)
        self.results: dict[str, _Written] = {}
        """By the name of the caller's parameter, what a call has returned."""

    def inlined(self) -> PtxFunction:
        """The function with its callees in the place of each call."""
        self._add(_Copy(self.module, self.function, 0, (self.function.name,), (0, 0), {}, {}))
        made = _joined(self.made)
        place = {each.key: number for number, each in enumerate(made)}
        blocks: list[PtxBlock] = []
        count = 0
        for number, each in enumerate(made):
            numbered = [
                one if one.number == n else replace(one, number=n)
                for n, one in enumerate(each.instructions, count)
            ]
            count += len(numbered)
            following = dict.fromkeys(place[key] for key in each.successors)
            table = tuple(place[key] for key in each.table)
            blocks.append(PtxBlock(number, each.labels, tuple(numbered), tuple(following), table))
        return replace(
            self.function, variables=self.variables, registers=self.registers, blocks=tuple(blocks)
        )

    def _add(self, copy: _Copy) -> None:
        """Add the blocks of a copy, with its callees in between."""
        function = copy.function
        for name, each in function.variables.items():
            if each.space != _PARAMETER:
                self.variables[copy.own(name)] = replace(each, name=copy.own(name))
        for block in function.blocks:
            made = self._begin((copy.number, block.number), block.labels)
            for each in block.instructions:
                called = self._callee(copy, each) if each.statement.operation == CALL else None
                if called is None:
                    made.instructions.append(self._copied(copy, each))
                else:
                    made = self._call(copy, made, each, called)
            made.successors += [(copy.number, number) for number in block.successors]
            made.table = [(copy.number, number) for number in block.table]
            if copy.number and block.instructions[-1:] and _returns(block.instructions[-1]):
                made.successors.insert(0, copy.back)

    def _callee(self, copy: _Copy, each: PtxInstruction) -> PtxFunction | None:
        name, call = call_of(each.statement).name, each.statement.opcode.name
        return self.callee(name, copy.path, self.instructions, each.line, call)

    def _begin(self, key: _Key, labels: tuple[str, ...] = ()) -> _Made:
        self.made.append(_Made(key, labels))
        return self.made[-1]

    def _copied(self, copy: _Copy, each: PtxInstruction) -> PtxInstruction:
        """An instruction of a copy: a return jumps back, a known parameter is moved."""
        self.instructions += 1
        for name in (*each.statement.defines, *each.statement.uses) if copy.number else ():
            if (type := copy.function.type_of(name)) is not None:
                self.registers[copy.own(name)] = type
        if copy.number and _returns(each):
            return _branch(each, copy.text(each.statement.guard))
        statement = copy.statement(each.statement)
        if name := _parameter_of(statement, "ld"):
            width, value = copy.given.get(name, self.results.get(name, (0, "")))
            if width == statement.opcode.width:
                to = copy.function.type_of(each.statement.operands[0])
                moved = read_statement(
                    f"{_move(statement.opcode, to)} {statement.operands[0]}, {value}"
                )
                assert moved is not None
                statement = replace(moved, guard=statement.guard)
        if statement is each.statement and copy.called_at == each.called_at:
            return each
        return replace(each, statement=statement, called_at=copy.called_at)

    def _call(self, copy: _Copy, made: _Made, each: PtxInstruction, called: PtxFunction) -> _Made:
        """Put the callee in the place of a call; returns the block that follows the call."""
        statement = copy.statement(each.statement)
        call = call_of(statement)
        self.copies += 1
        number = self.copies
        after = (copy.number, -number)
        made.successors.append((number, 0))
        if statement.guard:
            made.instructions.append(_branch(each, statement.guard))
            made.successors.append(after)
        written = {
            name: (one.statement.opcode.width, one.statement.operands[1])
            for one in made.instructions
            if (name := _parameter_of(one.statement, "st"))
        }
        path = (*copy.path, called.name)
        stored = [*_stored(called)]
        results = dict.fromkeys((name for name, _ in stored), "".join(call.returned[:1]))
        passed = zip((each.name for each in called.parameters), call.given, strict=False)
        given = {name: written[name] for name in call.given if name in written}
        line = copy.called_at or each.line
        own = _Copy(
            self.module, called, number, path, after, {**results, **dict(passed)}, given, line
        )
        self._add(own)
        if len(stored) == len(call.returned) == 1 and not statement.guard:
            (one,) = stored
            if _parameter_of(one[1], "st"):
                value = own.text(one[1].operands[1])
                self.results[call.returned[0]] = one[1].opcode.width, value
        return self._begin(after)


def _returns(each: PtxInstruction) -> bool:
    return each.statement.operation == "ret"


def _branch(each: PtxInstruction, guard: str) -> PtxInstruction:
    """A jump in the place of an instruction; its block has the target."""
    statement = read_statement("bra there")
    assert statement is not None
    return replace(each, statement=replace(statement, guard=guard))


def _parameter_of(statement: Statement, operation: str) -> str:
    """The parameter that a statement loads, or stores, all of; "" of none."""
    opcode = statement.opcode
    if opcode.head != operation or not opcode.of_parameters or opcode.vector > 1:
        return ""
    address = statement.operands[operation == "ld"][1:-1].strip().removesuffix("+0")
    return address if [*names_in(address)] == [address] else ""


def _move(opcode: Opcode, to: str | None) -> str:
    """The name of what moves a parameter of ``opcode`` into a register of type ``to``."""
    element = element_of(to or "")
    if element is None or element[1] * element[2] == opcode.width:
        return f"mov.{opcode.type}"
    letter = "s" if opcode.type.startswith("s") else "u"
    return f"cvt.{letter}{element[1] * element[2]}.{letter}{opcode.width}"


def _stored(function: PtxFunction) -> Iterator[tuple[str, Statement]]:
    """The results that a function writes, which are no variables of it, and the statements."""
    for each in function.instructions:
        opcode = each.statement.opcode
        if opcode.head == "st" and opcode.of_parameters:
            (name, *_) = names_in(each.statement.operands[0])
            if name not in function.variables:
                yield name, each.statement


def _joined(blocks: Sequence[_Made]) -> list[_Made]:
    """The blocks, with those that only one other leads to joined to it if it leads nowhere else."""
    by_key = {each.key: each for each in blocks}
    entries = Counter(key for each in blocks for key in each.successors)
    entries[blocks[0].key] += 1
    gone: set[_Key] = set()
    for each in blocks:
        while len(each.successors) == 1 and each.key not in gone:
            following = by_key[each.successors[0]]
            end = each.instructions[-1].statement if each.instructions else None
            jumps = end is not None and end.operation == "bra"
            if (
                entries[following.key] > 1
                or each.table
                or (jumps and end is not None and end.guard)
            ):
                break
            kept = each.instructions[:-1] if jumps else each.instructions
            each.instructions = [*kept, *following.instructions]
            each.successors, each.table = following.successors, following.table
            gone.add(following.key)
    return [each for each in blocks if each.key not in gone]
