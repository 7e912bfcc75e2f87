"""The text of a function on ``scoped``, and the form that either vendor's reader makes it from.

A reader gives blocks of operations with their orderings and scopes; all that is computed is
symbolic. An address is an argument of the function, and so is what is stored or compared.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope


class UnliftableError(ValueError):
    """A function that ``scoped`` cannot say: why, and at which ``line``; 0: no line of its own."""

    def __init__(self, line: int, why: str):
        super().__init__(why)
        self.line = line


def unlifted(line: int, text: str, why: str) -> UnliftableError:
    """The error of an instruction, by its ``text``."""
    return UnliftableError(line, f"{text}: {why}")


TYPE_OF_SIZE: Mapping[int, str] = MappingProxyType(
    {1: "i8", 2: "i16", 4: "i32", 8: "i64", 12: "vector<3xi32>", 16: "vector<4xi32>"}
)
"""The type of an access by its bytes."""

_INTEGERS = ("i32", "i64")
"""The types of loaded values that a branch may compare."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of MLIR by its name, ``%v12``, with its type."""

    name: str
    type: str


ZERO = Value("%zero", "i32")


class Arguments:
    """The arguments of a function, which stand for all that is not followed; by name their type."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.addresses: dict[tuple[object, ...], str] = {}

    def value(self, name: str, kind: str) -> Value:
        """The argument of a name, declared at its first use."""
        self.types.setdefault(name, kind)
        return Value(f"%{name}", kind)

    def pointer(self, key: tuple[object, ...], space: int) -> Value:
        """The argument that stands for the address ``key`` in a space of LLVM's number."""
        name = self.addresses.setdefault((space, *key), f"p{len(self.addresses)}")
        return self.value(name, f"!llvm.ptr<{space}>" if space else "!llvm.ptr")

    def condition(self, label: str, loaded: Value | None, question: str) -> "Comparison":
        """The condition ``%t`` of a branch: a loaded value, or the argument ``question``.

        A loaded value is compared with an argument, any other argument with zero.
        """
        if loaded is None:
            return Comparison(f"%t{label}", "ne", self.value(question, "i32"), ZERO)
        other = self.value(f"b{label}", loaded.type)
        return Comparison(f"%t{label}", "ne", loaded, other)


@dataclass(frozen=True, slots=True)
class Access:
    """A load, a store or a read-modify-write, of memory at ``pointer``; ``type``: of its value.

    A read-modify-write without ``rmw`` exchanges if it finds ``compared``; ``label``: of results.
    """

    kind: Kind
    label: str
    ordering: Ordering
    scope: Scope | None
    pointer: Value
    type: str
    value: str = ""
    compared: str = ""
    rmw: RmwKind | None = None
    attributes: str = ""

    def __str__(self) -> str:
        pointer, space = self.pointer.name, self.pointer.type
        how = str(self.ordering)
        if self.ordering is not Ordering.WEAK:
            how = f"{self.ordering} {self.scope}"
        if self.kind is Kind.LOAD:
            result = f"%v{self.label}"
            return (
                f"{result} = scoped.load {how} {pointer}{self.attributes} : {space} -> {self.type}"
            )
        if self.kind is Kind.STORE:
            stored = f"{self.value}, {pointer}{self.attributes}"
            return f"scoped.store {how} {stored} : {self.type}, {space}"
        types = f"{space}, {self.type}"
        if self.rmw is not None:
            values = f"{pointer}, {self.value}"
            return f"%v{self.label} = scoped.atomic_rmw {self.rmw} {how} {values} : {types}"
        failure = Ordering.ACQUIRE if self.ordering.acquires else Ordering.RELAXED
        how = f"{self.ordering} {failure} {self.scope}"
        values = f"{pointer}, {self.compared}, {self.value}"
        return f"%v{self.label}, %ok{self.label} = scoped.cmpxchg {how} {values} : {types}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of integers, the condition of a branch."""

    result: str
    predicate: str
    left: Value
    right: Value

    def __str__(self) -> str:
        sides = f"{self.left.name}, {self.right.name} : {self.left.type}"
        return f"{self.result} = arith.cmpi {self.predicate}, {sides}"


Operation = Access | str
"""An operation of a block; text: a synchronising one or an asynchronous copy, as written."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The end of a block: to its only target, or to the first of two where ``condition`` holds.

    ``condition``: a comparison, or the name of a value. Without a target the function returns.
    """

    targets: tuple[str, ...] = ()
    condition: Comparison | str = ""

    def lines(self) -> Iterator[str]:
        """The comparison, if there is one, and the branch."""
        places = ", ".join(f"^b{target}" for target in self.targets)
        name = self.condition
        if isinstance(name, Comparison):
            yield str(name)
            name = name.result
        if name:
            yield f"cf.cond_br {name}, {places}"
        else:
            yield f"cf.br {places}" if places else "func.return"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of MLIR, by the text of its name after ``^b``."""

    name: str
    operations: Sequence[Operation]
    end: Branch


def choice(
    arguments: Arguments,
    name: str,
    operations: Sequence[Operation],
    label: str,
    targets: Sequence[str],
) -> Iterator[Block]:
    """The block ``name``, which goes on at one of several places: branches by arguments."""
    for n, target in enumerate(targets[:-1]):
        last = n == len(targets) - 2
        other = targets[-1] if last else f"{name}_or{n}"
        test = arguments.condition(f"{label}_{n}", None, f"b{label}_{n}")
        here = name if n == 0 else f"{name}_or{n - 1}"
        yield Block(here, operations, Branch((target, other), test))
        operations = ()


def function_text(
    name: str,
    arguments: Arguments,
    blocks: Iterable[Block],
    constants: Mapping[Value, int],
    attributes: str = "",
) -> str:
    """The function; ``constants``: the values that it begins with, and their numbers."""
    body = [line for block in blocks for line in _lines(block)]
    symbol = name if re.fullmatch(r"[A-Za-z_][\w.$]*", name) else f'"{name}"'
    listed = ", ".join(f"%{argument}: {kind}" for argument, kind in arguments.types.items())
    begins = [
        f"  {value.name} = arith.constant {number} : {value.type}"
        for value, number in constants.items()
    ]
    # Nothing may branch to the first block of a function.
    head = f"func.func @{symbol}({listed}) {attributes}{{"
    return "\n".join([head, *begins, "  cf.br ^b0", *body, "}"])


def _lines(block: Block) -> Iterator[str]:
    yield f"^b{block.name}:"
    yield from (f"  {operation}" for operation in (*block.operations, *block.end.lines()))


def labels_of(lines: Sequence[int]) -> list[str]:
    """The names of instructions in values: their lines, numbered where several share one.

    They do where a function has several copies of a callee.
    """
    sharing = Counter(lines)
    seen = Counter[int]()
    labels: list[str] = []
    for line in lines:
        seen[line] += 1
        labels.append(f"{line}_{seen[line]}" if sharing[line] > 1 else str(line))
    return labels


# The definitions of registers

Definitions = Mapping[str, frozenset[str]]
"""By register the labels of the instructions that may have defined it; "": before the function."""

BEFORE: frozenset[str] = frozenset({""})


@dataclass(frozen=True, slots=True)
class Definition:
    """The registers that an instruction defines; ``is_guarded``: it may leave the old values."""

    label: str
    registers: tuple[str, ...]
    is_guarded: bool = False

    def apply(self, known: dict[str, frozenset[str]]) -> None:
        """Change the definitions that reach the instruction to those that reach the next one."""
        own = frozenset({self.label})
        for register in self.registers:
            known[register] = own | known.get(register, BEFORE) if self.is_guarded else own


def reaching_definitions(
    graph: Graph[int], blocks: Sequence[Sequence[Definition]]
) -> Iterator[tuple[str, Definitions]]:
    """The label of each instruction of reachable ``blocks``, and the definitions before it.

    These are valid until the next are asked for.
    """

    def transfer(block: int, known: Definitions) -> Definitions:
        leaving = dict(known)
        for definition in blocks[block]:
            definition.apply(leaving)
        return leaving

    for block, entering in solve(graph, {0: {}}, transfer, _either).items():
        known = dict(entering)
        for definition in blocks[block]:
            yield definition.label, known
            definition.apply(known)


def _either(known: Definitions, coming: Definitions) -> Definitions:
    # A register that only one path has defined has on the other what it held before the function.
    return {
        register: known.get(register, BEFORE) | coming.get(register, BEFORE)
        for register in {**known, **coming}
    }


Computation = tuple[Sequence[str], Sequence[str], Mapping[str, Value]]
"""An instruction: registers defined, those computed from, and values loaded to registers."""


def loaded_by(computations: Iterable[Computation], registers: Iterable[str]) -> Value | None:
    """The last integer that a block has loaded of those that ``registers`` are computed from.

    ``computations``: those of the block, the last one first.
    """
    wanted = set(registers)
    for defines, uses, loaded in computations:
        if wanted.isdisjoint(defines):
            continue
        for name in defines:
            if name in wanted and name in loaded and loaded[name].type in _INTEGERS:
                return loaded[name]
        wanted.update(uses)
    return None
