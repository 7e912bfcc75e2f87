"""The pass ``relax-elements``: atomics of inline PTX that need less than their text says.

Triton writes a tensor's atomic as one inline PTX instruction for each element of a thread, all of
them ordered, under a predicate. Under the fact unordered-elements those that come one after another
from one place of the source become relaxed, between one release and one acquire fence: every fence
that the first one would have been after is before all of them, every one that the last one would
have been before is after all of them, and nobody may ask for more. The acquire fence is left out
where the thread ends without another access.

Whatever is known, an atomic whose result nobody uses becomes a ``red``, as ``lower-scoped-llvm-ir``
makes of those that are ``scoped``: if it acquires nothing itself, and no acquire fence can follow
that would have acquired what it has read (``passes.analysis.acquire_fences``).
Source: PTX ISA, Memory Consistency Model, Release and Acquire Patterns; red.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.code.graph import postorder
from fencewright.lowering.facts import are_elements_unordered, facts_for
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.mlir_dialects.llvm_ir.dialect import (
    ACCESS,
    DEBUG_LOCATION,
    FuncOp,
    InstOp,
    debug_location,
)
from fencewright.passes.analysis.acquire_fences import unfenced
from fencewright.passes.analysis.control_flow import block_of, reachable_blocks, successors
from fencewright.passes.analysis.llvm_ir_memory import is_kernel
from fencewright.passes.scoped.merge_fences import is_plain, is_silent

_RESULTS = re.compile(r"(?<=\s)(?:\{[^{}]*\}|\$\d+)\s*,\s*(?=\[)")
"""The first operand of an ``atom``, before its address."""
_SET = re.compile(r"mov\.\w+ \$(\d+), 0x0;")
_OUTPUT = re.compile(r'", "((?:=[a-z]+,)+)')


@dataclass(frozen=True)
class RelaxElementsPass(ModulePass):
    """Weaken atomics of inline PTX as far as ``facts`` and unused results allow.

    ``mcpu``: a chip as ``sm_90``. Runs on LLVM IR before it is lowered. Raises ``UnsupportedError``
    for a fact that ``mcpu`` has no use for.
    """

    name = "relax-elements"

    mcpu: str
    facts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unordered = are_elements_unordered(facts_for(self.facts, self.mcpu), self.mcpu)
        for function in op.ops:
            if isinstance(function, FuncOp) and any(map(_is_update, function.walk())):
                ends_thread = is_kernel(function)
                for block in function.body.blocks if unordered else ():
                    for run in list(_runs(block)):
                        _relax(run, ends_thread)
                _reduce(function, ends_thread)


@dataclass(frozen=True, slots=True)
class _Update:
    """An atomic read-modify-write: ``scoped``, or inline PTX that is text, whose ``name`` it
    has."""

    op: Operation
    ordering: Ordering
    scope: Scope
    name: str
    place: str | None

    def like(self, other: "_Update") -> bool:
        """True if both may be elements of one operation of the source."""
        return self.place is not None and (self.name, self.place) == (other.name, other.place)

    @property
    def text(self) -> str:
        """The text of one that is text."""
        assert isinstance(self.op, InstOp)
        return self.op.text.data

    def write(self, text: str, ordering: Ordering) -> None:
        """Make it another text of an ordering."""
        kept = self.op.attributes[ACCESS]
        assert isinstance(kept, DictionaryAttr)
        said = {**kept.data, "ordering": ORDERINGS[ordering]}
        self.op.properties["text"] = StringAttr(text)
        self.op.attributes[ACCESS] = DictionaryAttr(said)

    def relax(self) -> None:
        """Leave the ordering to fences."""
        if isinstance(self.op, scoped.AtomicRmwOp):
            self.op.ordering = ORDERINGS[Ordering.RELAXED]
            return
        from fencewright.lowering.ptx.code.statements import ORDERINGS as WORDS
        from fencewright.lowering.ptx.code.statements import read_opcode

        words = {word: "relaxed" for word, meant in WORDS.items() if meant is self.ordering}
        relaxed = read_opcode(self.name).renamed(words)
        self.write(self.text.replace(self.name, relaxed, 1), Ordering.RELAXED)


def _is_text(op: Operation) -> bool:
    said = op.attributes.get(ACCESS)
    return isinstance(said, DictionaryAttr) and "update" in said.data


def _is_update(op: Operation) -> bool:
    return isinstance(op, scoped.AtomicRmwOp) or _is_text(op)


def _update(op: Operation) -> _Update | None:
    if isinstance(op, scoped.AtomicRmwOp):
        if op.scope is None or not is_plain(op):
            return None
        kind = f"{op.kind.data} {op.ordering.data} {op.scope.data}"
        return _Update(op, op.ordering.data, op.scope.data, kind, debug_location(op))
    if not isinstance(op, InstOp) or not _is_text(op):
        return None
    # Only who has inline PTX pays for its grammar.
    from fencewright.lowering.ptx.code.inline import update_in
    from fencewright.mlir_dialects.llvm_ir.inline_ptx import access_of

    access = access_of(op)
    if access is None:
        return None
    ordering, scope = access
    place = DEBUG_LOCATION.search(op.text.data)
    assert scope is not None
    name = update_in(op.text.data).name
    return _Update(op, ordering, scope, name, place[0] if place else None)


def _runs(block: Block) -> Iterator[list[_Update]]:
    """Ordered atomics of one place of the source, with nothing between them that accesses
    memory."""
    run: list[_Update] = []
    for op in block.ops:
        found = _update(op)
        if found is None and is_silent(op):
            continue
        if run and (found is None or not found.like(run[0])):
            if len(run) > 1:
                yield run
            run = []
        if found is not None and found.ordering in _RELAXED_BY_FENCES:
            run.append(found)
    if len(run) > 1:
        yield run


_RELAXED_BY_FENCES = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)


def _relax(run: list[_Update], ends_thread: bool) -> None:
    first, last = run[0], run[-1]
    if first.ordering.releases:
        block_of(first.op).insert_op_before(_fence(first, Ordering.RELEASE), first.op)
    if first.ordering.acquires and not (ends_thread and _is_last_access(last.op)):
        block_of(last.op).insert_op_after(_fence(last, Ordering.ACQUIRE), last.op)
    for each in run:
        each.relax()


def _fence(at: _Update, ordering: Ordering) -> scoped.FenceOp:
    fence = scoped.FenceOp(ordering, at.scope)
    fence.location = at.op.location
    return fence


def _is_last_access(op: Operation) -> bool:
    """True if no path from ``op`` comes to anything that could notice an acquire."""
    following = op.next_op
    while following is not None:
        if not is_silent(following):
            return False
        following = following.next_op
    later = postorder(successors(block_of(op)), successors)
    return all(is_silent(following) for block in later for following in block.ops)


def _reduce(function: FuncOp, ends_thread: bool) -> None:
    """Make of atomics without a use of their results ``red``."""
    blocks = reachable_blocks(function.body)
    for op in unfenced(blocks, _is_unused, ends_thread=ends_thread):
        found = _update(op)
        if found is None or found.ordering not in (Ordering.RELAXED, Ordering.RELEASE):
            continue
        if (text := _as_red(found)) is not None:
            found.write(text, found.ordering)


def _is_unused(op: Operation) -> bool:
    return _is_text(op) and all(each.first_use is None for each in op.results)


def _as_red(update: _Update) -> str | None:
    """The text with a ``red``; None if there is none, or a result would be left without a value."""
    from fencewright.lowering.ptx.code.statements import REDUCTIONS, read_opcode

    text, opcode = update.text, read_opcode(update.name)
    outputs = _OUTPUT.search(text)
    if outputs is None or opcode.head != "atom" or opcode.update not in REDUCTIONS:
        return None
    given = set(map(int, _SET.findall(text)))
    if given != set(range(outputs[1].count("="))):
        return None
    before, _, after = text.partition(update.name)
    operands = _RESULTS.sub("", after, count=1)
    return None if operands == after else f"{before}{opcode.renamed({'atom': 'red'})}{operands}"
