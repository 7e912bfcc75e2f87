"""Changes of a module's synchronisation from pass to pass: remarks, with reasons and prices.

The words of remarks, and how they call and price the operations that they are about. The passes
know nothing of them: see ``fencewright.tools.remarks.observer``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.costs import Cost, cost_of_sequence, total
from fencewright.lowering.ptx.code.statements import ORDERINGS, read_opcode
from fencewright.lowering.ptx.text import read_line
from fencewright.lowering.sequence import Line, Target, UnsupportedError
from fencewright.lowering.vocabulary import FACT_TEXT, Fact, Ordering
from fencewright.mlir_dialects import cdna, ptx, scoped
from fencewright.passes.kernels.accept import bits_of, is_used, sequence_of
from fencewright.passes.print.assembly import place_of

if TYPE_CHECKING:
    from fencewright.mlir_dialects.llvm_ir.dialect import InstOp


class RemarkKind(StrEnum):
    """The subject of a remark; LLVM's names of optimisation remarks.

    Passed: something was changed. Missed: it was not, and why. Analysis: what there is.
    """

    PASSED = "Passed"
    MISSED = "Missed"
    ANALYSIS = "Analysis"


@dataclass(frozen=True, slots=True)
class RemarkArgument:
    """A piece of a remark's text that has a name of its own, and perhaps a place."""

    key: str
    value: str
    place: SourceLocation | None = None


Part: TypeAlias = str | RemarkArgument
Parts: TypeAlias = tuple[Part, ...]

TEXT = "String"
"""The key of a piece of plain text, as LLVM's."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark: its pass, its subject in a function, and its text in pieces."""

    kind: RemarkKind
    pass_name: str
    name: str
    function: str
    place: SourceLocation | None
    arguments: tuple[RemarkArgument, ...]

    @property
    def message(self) -> str:
        """The text as one piece."""
        return "".join(argument.value for argument in self.arguments)


def helped_by(facts: Iterable[Fact]) -> Parts | None:
    """The facts that would help, in a sentence; None if there are none."""
    useful = tuple(dict.fromkeys(facts))
    if not useful:
        return None
    return ("; ".join(f"less would do if {FACT_TEXT[fact]} (--assume {fact})" for fact in useful),)


def price(key: str, cost: Cost) -> Parts:
    """A price in a sentence: a number, and its unit."""
    return (RemarkArgument(key, str(cost.amount)), str(cost).removeprefix(str(cost.amount)))


class Change(StrEnum):
    """The change of an operation in a pass."""

    GONE = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    KEPT = "kept"


class Sight(NamedTuple):
    """A synchronising operation, or an access of memory in ``space``, as an observer saw it."""

    op: Operation
    text: str
    function: str
    place: SourceLocation | None
    cost: Cost | None
    neighbours: tuple[Operation | None, Operation | None]
    space: str = ""


class Finding(NamedTuple):
    """An operation before a pass, its change, and its substitutes now, if any."""

    before: Sight
    change: Change
    after: tuple[Sight, ...] = ()


Reason: TypeAlias = Callable[[Finding], Parts | None]
"""The reason for a finding; None: there is nothing to remark on."""


class Reasons(NamedTuple):
    """The remarks of a pass: their names, and the search for their reasons.

    ``prepare`` sees the module and the pass before that runs, and returns who is asked after it.
    ``priced``: whether what a change saves is the difference of the operation's own prices.
    ``plain``: whether plain accesses are remarked on as well.
    """

    names: Mapping[Change, str]
    prepare: Callable[[ModuleOp, ModulePass], Reason]
    priced: bool = True
    plain: bool = False


def told_of(
    kind: type[Operation] | tuple[type[Operation], ...], text: str
) -> Callable[[ModuleOp, ModulePass], Reason]:
    """The preparation of the one reason of a pass, ``text``, for any change to a ``kind``."""

    def prepare(module: ModuleOp, following: ModulePass) -> Reason:
        return lambda finding: (text,) if isinstance(finding.before.op, kind) else None

    return prepare


# Operations


def function_of(op: Operation) -> str:
    """The name of the function or kernel that an operation is in."""
    parent = op.parent_op()
    while parent is not None:
        name = parent.properties.get("sym_name")
        if isinstance(name, StringAttr):
            return name.data
        parent = parent.parent_op()
    return ""


@cache
def _is_subclass(kind: type[Operation], base: type[Operation]) -> bool:
    # isinstance goes through Python for abstract classes, every time.
    return issubclass(kind, base)


def is_scoped(op: Operation) -> TypeGuard[scoped.ScopedOperation]:
    """True if an operation is one of ``scoped``, asynchronous ones aside."""
    return _is_subclass(type(op), scoped.ScopedOperation)


def text_of(op: Operation) -> str:
    """An operation as messages write it: its words, its instruction, or its name."""
    if is_scoped(op):
        return " ".join([op.OPERATION.value, *_words(op)])
    if type(op) is ptx.SequenceOp:
        lines = op.lines.data
        return _last_access(lines) or "; ".join(line.text for line in lines)
    if op.name in _OPAQUE:
        texts = _assembly(op)
        accessed = _last_access(map(read_line, texts))
        return accessed or "; ".join(texts) or cast("InstOp", op).opcode
    return _line(op).text


def _last_access(lines: Iterable[Line]) -> str:
    """The mnemonic of the last access of several lines of PTX; empty: there is none."""
    return next((line.mnemonic for line in reversed([*lines]) if _is_access(line)), "")


def _line(op: Operation) -> Line:
    """The instruction that a machine operation is, without its operands."""
    if isinstance(op, cdna.WaitOp | cdna.SynchronisingOp):
        return op.line
    opcode = op.properties.get("opcode")
    return Line(opcode.data if isinstance(opcode, StringAttr) else op.name)


_WORDS = ("kind", "ordering", "failure_ordering", "scope")


def _words(op: scoped.ScopedOperation) -> Iterator[str]:
    for name in _WORDS:
        word = op.properties.get(name)
        if word is not None:
            yield cast(StringAttr, word).data


_INLINE = "llvm_ir.inst"
_OPAQUE = frozenset({_INLINE, "llvm_ir.terminator"})
_ASSEMBLY = re.compile(r' asm (?:\w+ )*"([^"]*)"')
_SEPARATOR = re.compile(r"\\0A|;")


def _assembly(op: Operation) -> list[str]:
    """The instructions of inline assembly."""
    found = _ASSEMBLY.search(cast(StringAttr, op.properties["text"]).data)
    written = "" if found is None else found[1]
    lines = [line.strip(" \t{}") for line in _SEPARATOR.split(written)]
    return [line for line in lines if line]


_ACCESSES = frozenset({"atom", "red", "ld", "st"})


def _is_access(line: Line) -> bool:
    """True if a line of PTX is a load, a store or an atomic, and no asynchronous one."""
    opcode = read_opcode(line.mnemonic)
    return opcode.operation in _ACCESSES and not ORDERINGS.keys().isdisjoint(opcode.words)


def at(op: Operation, key: str) -> Parts:
    """An operation in a sentence: its text, and where it stands."""
    place = place_of(op)
    where = "" if place is None else f" at line {place.line}"
    return (
        "'",
        RemarkArgument(key, text_of(op)),
        "'",
        *((RemarkArgument("Line", where, place),) if where else ()),
    )


_ALWAYS = frozenset({cdna.CacheOp, cdna.BarrierOp, cdna.StoreOp, ptx.FenceOp, ptx.BarrierOp})
_WITH_PHASE = frozenset(
    {cdna.LoadOp, cdna.AtomicOp, cdna.WaitOp, ptx.LoadOp, ptx.StoreOp, ptx.AtomicOp, ptx.SequenceOp}
)


def synchronises(op: Operation) -> bool:
    """True if an operation is one that remarks are about."""
    kind = type(op)
    if kind in _ALWAYS:
        return True
    if kind in _WITH_PHASE:
        return "phase" in op.properties
    if is_scoped(op):
        return op.ordering.data is not Ordering.WEAK or not op.OPERATION.is_access
    return op.name == _INLINE and bool(_assembly(op))


def space_of(op: Operation) -> str:
    """The address space of the pointer of a ``scoped`` access; "" for anything else."""
    if not _is_subclass(type(op), scoped.AccessOperation):
        return ""
    return cast(scoped.AccessOperation, op).space.value


# Prices


class Prices:
    """The costs of operations on the target that a pipeline lowers for."""

    def __init__(self, target: Target):
        self.target = target
        self.known: dict[object, Cost | None] = {}

    def of_one(self, op: Operation) -> Cost | None:
        """The cost of ``op``, computed once for all like it; None if it has no price there."""
        key = _plan_key(op) if is_scoped(op) else text_of(op)
        if key not in self.known:
            self.known[key] = self.of((op,))
        return self.known[key]

    def of(self, ops: Sequence[Operation]) -> Cost | None:
        """The cost of ``ops`` one after the other; None if one of them has no price there."""
        instructions: list[Line | str] = []
        for op in ops:
            found = self._instructions(op)
            if found is None:
                return None
            instructions += found
        try:
            return cost_of_sequence(self.target.chip, instructions)
        except UnsupportedError:
            return None

    def _instructions(self, op: Operation) -> Sequence[Line | str] | None:
        if isinstance(op, ptx.SequenceOp):
            return op.lines.data
        if op.name == _INLINE:
            return _assembly(op)
        if not isinstance(op, scoped.ScopedOperation):
            return (_line(op),)
        try:
            sequence = sequence_of(op, _bits, is_used(op), self.target)
        except UnsupportedError:
            # The conversion refuses it, and says so at the operation.
            return None
        return sequence.instructions

    def of_function(self, function: Operation) -> Cost | None:
        """The cost of the memory operations of a function, each once: loops are not known."""
        costs: list[Cost] = []
        for block in _blocks(function):
            cost = self.of([op for op in block.ops if _is_priced(op)])
            if cost is None:
                return None
            costs.append(cost)
        return total(costs)


def _plan_key(op: scoped.ScopedOperation) -> object:
    """The key on which the instructions of ``op`` depend."""
    return (
        type(op),
        tuple(op.properties.items()),
        tuple([each.type for each in op.operands]),
        is_used(op),
        op.results[0].type if op.results else None,
    )


def _bits(type: Attribute) -> int:
    return bits_of(type, lambda _: 64) or 64


def _blocks(function: Operation) -> Iterator[Block]:
    for region in function.regions:
        yield from region.blocks


def _is_priced(op: Operation) -> bool:
    """Accesses, fences and barriers, and waits that order; asynchronous ones are left out.

    Waits for data and loads of arguments are no one's choice.
    """
    if isinstance(op, cdna.WaitOp | ptx.FenceOp):
        return op.phase is not None
    if isinstance(op, ptx.SequenceOp):
        return any(map(_is_access, op.lines.data))
    if isinstance(op, cdna.LoadOp):
        return not op.row.is_scalar_load
    if is_scoped(op) or type(op) in _ALWAYS or type(op) in _WITH_PHASE:
        return True
    return op.name == _INLINE and bool(_assembly(op))
