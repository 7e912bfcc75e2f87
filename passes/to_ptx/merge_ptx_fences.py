"""The pass ``merge-ptx-fences``: removes ordering that a neighbouring PTX fence does as well."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import ge
from typing import NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import ptx, scoped
from fencewright.mlir_dialects.attributes import opcode_attr
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks, top_level
from fencewright.passes.scoped.merge_fences import is_plain, is_silent

_SCOPES = (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
_RANK = {scope: rank for rank, scope in enumerate(_SCOPES, 1)}
_NOTHING, _EVERYTHING = 0, len(_SCOPES) + 1


@dataclass(frozen=True)
class MergePTXFencesPass(ModulePass):
    """Remove ordering that a neighbouring fence does as well: fences, and orderings of accesses.

    Runs on ``ptx.kernel``, and on functions in LLVM IR that are lowered for PTX. With no memory
    operation between them, on every path: of two fences the one goes that the other covers, in
    ordering and scope; an access after a fence that releases at its scope need not release; one
    before a fence that acquires at its scope need not acquire. An access that does both stays: it
    releases what it acquires itself, which no fence beside it does. Also for the ``fence.sc`` in
    front of seq_cst accesses, which ``scoped`` does not show. Anything that the pass does not know
    is taken for a memory operation. Source: PTX ISA, Memory Consistency Model, Release and Acquire
    Patterns, Fence-SC order.
    """

    name = "merge-ptx-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = _Rules()
        for each in top_level(op):
            if each.name in _FUNCTIONS and _has_fence(body := each.regions[0]):
                _merge(reachable_blocks(body), rules)


_FUNCTIONS = frozenset({"ptx.kernel", "llvm_ir.func"})


def _has_fence(body: Region) -> bool:
    return any(type(op) is ptx.FenceOp for block in body.blocks for op in operations(block))


class Done(NamedTuple):
    """Ranks of the scopes at which fences next to here release, acquire and order sequentially."""

    releases: int
    acquires: int
    sequential: int

    def covers(self, other: "Done") -> bool:
        """True if the fences next to here do all that ``other`` does."""
        return all(map(ge, self, other))

    def join(self, other: "Done") -> "Done":
        """The ordering done on either path."""
        return Done(*map(min, zip(self, other, strict=True)))

    def and_then(self, other: "Done") -> "Done":
        """The ordering done by these and another fence."""
        return Done(*map(max, zip(self, other, strict=True)))


NOTHING = Done(_NOTHING, _NOTHING, _NOTHING)
_ALL = Done(_EVERYTHING, _EVERYTHING, _EVERYTHING)

_DOES = {
    Ordering.SEQ_CST: Done(1, 1, 1),
    Ordering.ACQ_REL: Done(1, 1, _NOTHING),
    Ordering.ACQUIRE: Done(_NOTHING, 1, _NOTHING),
    Ordering.RELEASE: Done(1, _NOTHING, _NOTHING),
}
_PLAIN = "fence", frozenset[str]()
"""A fence of everything: its operation, and no word that restricts it."""
_FENCES: Mapping[tuple[tuple[str, frozenset[str]], Ordering | None, Scope | None], Done] = {
    (_PLAIN, ordering, scope): Done(*(rank * each for each in does))
    for ordering, does in _DOES.items()
    for scope, rank in _RANK.items()
}
"""The work of plain fences, by ordering and scope."""

_ONE_SIDED: dict[tuple[Ordering | None, Scope | None], int] = {
    (ordering, scope): rank
    for ordering in (Ordering.ACQUIRE, Ordering.RELEASE)
    for scope, rank in _RANK.items()
}
"""The orderings of an access that another fence can stand for, and the rank that it has to be
of."""
_RELAXED = {"acquire": "relaxed", "release": "relaxed"}


class _Line(NamedTuple):
    """An operation that is not silent, and the ordering done by it if it is a plain fence."""

    op: Operation
    fence: Done | None


_Code: TypeAlias = dict[Block, list[_Line]]
"""The lines of each block, read once: every block is walked four times."""


class _Rules:
    """The rules of this pass, each applied once to all operations that are alike."""

    def __init__(self) -> None:
        self.past = {way: cache(partial(past, forwards=way)) for way in (True, False)}
        self._fence = OfAlike(_fence)

    def lines_of(self, block: Block) -> list[_Line]:
        """The operations of a block that are not silent."""
        return [
            _Line(op, self._fence(op) if type(op) in _FENCE_TYPES else None)
            for op in operations(block)
            if not _is_silent(op)
        ]


def _merge(blocks: Sequence[Block], rules: _Rules) -> None:
    graph = block_graph(blocks)
    code = {block: rules.lines_of(block) for block in blocks}
    entry = _solve(graph, blocks[:1], code, rules, forwards=True)
    for block in blocks:
        done = entry[block]
        left: list[_Line] = []
        for line in code[block]:
            if _is_done(line, done):
                continue
            if type(line.op) in _STORING:
                _loosen(cast(_Access, line.op), releases=done.releases)
            done = rules.past[True](line.fence, done)
            left.append(line)
        code[block] = left
    ends = [block for block in blocks if not graph.successors[block]]
    leaving = _solve(graph.backward, ends, code, rules, forwards=False)
    for block in blocks:
        done = leaving[block]
        for line in reversed(code[block]):
            if _is_done(line, done):
                continue
            if type(line.op) in _LOADING:
                _loosen(cast(_Access, line.op), acquires=done.acquires)
            done = rules.past[False](line.fence, done)


_Access: TypeAlias = ptx.LoadOp | ptx.StoreOp | ptx.AtomicOp
_STORING = frozenset({ptx.StoreOp, ptx.AtomicOp})
_LOADING = frozenset({ptx.LoadOp, ptx.AtomicOp})
_FENCE_TYPES = frozenset({ptx.FenceOp, scoped.FenceOp})
_HEARD = _STORING | _LOADING | _FENCE_TYPES


def _is_done(line: _Line, done: Done) -> bool:
    """True if the operation was a fence that others cover, and is gone."""
    if line.fence is None or not done.covers(line.fence):
        return False
    Rewriter.erase_op(line.op)
    return True


def _loosen(op: _Access, releases: int = _NOTHING, acquires: int = _NOTHING) -> None:
    """Take from an access the ordering that fences do for it at these ranks."""
    loosened = _loosened(op.opcode.data, releases, acquires)
    if loosened != op.opcode.data:
        op.properties["opcode"] = opcode_attr(loosened)


@cache
def _loosened(opcode: str, releases: int, acquires: int) -> str:
    decoded = read_opcode(opcode)
    ordered = decoded.ordering, decoded.scope
    if ordered not in _ONE_SIDED:
        return opcode
    done = releases if decoded.ordering is Ordering.RELEASE else acquires
    return decoded.renamed(_RELAXED) if done >= _ONE_SIDED[ordered] else opcode


def past(fence: Done | None, done: Done, *, forwards: bool) -> Done:
    """The ordering done next to the place after a line (``forwards``), or before it.

    A fence does not release what a later fence acquires, nor acquire what an earlier fence
    releases.
    """
    if fence is None:
        return NOTHING
    both = done.and_then(fence)
    if forwards and fence.acquires > done.acquires:
        return both._replace(releases=fence.releases)
    if not forwards and fence.releases > done.releases:
        return both._replace(acquires=fence.acquires)
    return both


def _fence(op: Operation) -> Done | None:
    """The ordering done by a plain fence; None for anything else, fences of proxies among them.

    One of ``scoped`` is the program's own inline PTX, as it stands. LLVM moves past it no more than
    past ours: see the pass ``escape-noalias``.
    """
    if type(op) is ptx.FenceOp:
        fence = op.decoded
        plain = fence.operation, fence.modifiers
        return _FENCES.get((plain, fence.ordering, fence.scope))
    if type(op) is scoped.FenceOp and op.scope is not None and is_plain(op):
        return _FENCES.get((_PLAIN, op.ordering.data, op.scope.data))
    return None


def _is_silent(op: Operation) -> bool:
    kind = type(op)
    return kind in _SILENT or (kind not in _HEARD and is_silent(op))


_SILENT = frozenset(
    {ptx.BranchOp, ptx.CondBranchOp, ptx.RetOp, ptx.ParamOp, UnrealizedConversionCastOp}
)


def _solve(
    graph: Graph[Block], first: Iterable[Block], code: _Code, rules: _Rules, *, forwards: bool
) -> dict[Block, Done]:
    """The fences done on entry to each block in the direction of ``graph``, the greatest fixpoint.

    Greatest, so that loops count: in one without a memory operation all stays done. Nothing is done
    where the ``first`` blocks are entered.
    """

    def carry(block: Block, done: Done) -> Done:
        for line in code[block] if forwards else reversed(code[block]):
            done = rules.past[forwards](line.fence, done)
        return done

    start = dict.fromkeys(graph.nodes, _ALL) | dict.fromkeys(first, NOTHING)
    return solve(graph, start, carry, Done.join)
