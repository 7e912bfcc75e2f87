"""Reasons for the changes of the passes on ``scoped`` to fences, orderings and scopes."""

from collections.abc import Callable, Iterable, Mapping

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.facts import CLAMPS, LANES_OF_WAVE
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import FACT_TEXT, AddressSpace, Fact, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.scoped import merge_fences
from fencewright.passes.scoped.clamp_scopes import (
    ClampScopesPass,
    is_function,
    is_whole_kernel,
    llvm_definitions,
    most_lanes,
)
from fencewright.passes.scoped.infer_address_spaces import (
    Obstacle,
    kernels_with_lds_arguments,
    obstacles,
)
from fencewright.passes.scoped.merge_fences import Half
from fencewright.tools.remarks.remarks import Change, Finding, Parts, Reason, at, helped_by, told_of
from fencewright.tools.remarks.search import Judge, Judgement, OperationLines, code_in, finds

# Fences


def merged(module: ModuleOp, following: ModulePass) -> Reason:
    """The fence that does the work of a removed one, or the obstacle between two fences."""
    code = code_in(region for op in module.walk() for region in op.regions)
    orderings = {op: op.ordering.data for op in code.place if isinstance(op, scoped.FenceOp)}
    judges: dict[object, Judge[Operation]] = {}

    def judge(
        kind: Callable[[scoped.FenceOp, Half], Judge[Operation]], op: scoped.FenceOp, lost: Half
    ) -> Judge[Operation]:
        """One judge for fences that are alike, so that no operation is judged twice."""
        key = kind, merge_fences.rank_of(op), op.ordering.data, lost
        if key not in judges:
            judges[key] = kind(op, lost)
        return judges[key]

    def reason(finding: Finding) -> Parts | None:
        op = finding.before.op
        if not isinstance(op, scoped.FenceOp):
            return None
        if finding.change is Change.KEPT:
            whole = _done_by(orderings[op])
            return _stands_between(op, code, judge(_does_whole, op, whole))
        lost = _lost(orderings[op], finding)
        before, later = judge(_does_before, op, lost), judge(_does_after, op, lost)
        by = code.earlier(op, before) or code.later(op, later)
        if by is None:
            return ("what it does is done on every way",)
        return (*at(by, "By"), " does its work")

    return reason


def _done_by(ordering: Ordering) -> Half:
    """The parts that a fence of an ordering does."""
    if ordering is Ordering.SEQ_CST:
        return Half(releases=False, acquires=False, sequential=True)
    return Half(ordering.releases, ordering.acquires, sequential=False)


def _lost(before: Ordering, finding: Finding) -> Half:
    """The parts that a fence no longer does."""
    left = finding.after[0].op if finding.after else None
    now = left.ordering.data if isinstance(left, scoped.FenceOp) else Ordering.WEAK
    return Half(*(a and not b for a, b in zip(_done_by(before), _done_by(now), strict=True)))


def _does(fence: scoped.FenceOp, lost: Half, access: Judge[Operation]) -> Judge[Operation]:
    """The judge of operations that do a lost part of ``fence``: fences, or as ``access`` says."""

    def judge(op: Operation) -> Judgement:
        if op.parent is None or merge_fences.is_silent(op):
            return Judgement.ON
        if type(op) is scoped.FenceOp:
            return Judgement.FOUND if _does_any(op, fence, lost) else Judgement.ON
        return access(op)

    return judge


def _does_before(fence: scoped.FenceOp, lost: Half) -> Judge[Operation]:
    def access(op: Operation) -> Judgement:
        if not lost.acquires:
            return Judgement.STOP
        acquired = merge_fences.acquired_by(op)
        passed = merge_fences.NONE_DONE._replace(acquired=acquired)
        does = merge_fences.redundant(fence, passed, forwards=True).acquires
        is_read = acquired < merge_fences.EVERYTHING
        return Judgement.FOUND if does and is_read else Judgement.ON

    return _does(fence, lost, access)


def _does_after(fence: scoped.FenceOp, lost: Half) -> Judge[Operation]:
    def access(op: Operation) -> Judgement:
        goes_on = lost.releases and not merge_fences.may_publish(op)
        return Judgement.ON if goes_on else Judgement.STOP

    return _does(fence, lost, access)


def _does_any(other: scoped.FenceOp, fence: scoped.FenceOp, lost: Half) -> bool:
    """True if ``other`` alone does any of the parts that ``fence`` has lost."""
    passed = merge_fences.past(other, merge_fences.NONE_DONE, forwards=True)
    does = merge_fences.redundant(fence, passed, forwards=True)
    return any(a and b for a, b in zip(does, lost, strict=True))


def _does_whole(fence: scoped.FenceOp, whole: Half) -> Judge[Operation]:
    return finds(
        lambda op: (
            type(op) is scoped.FenceOp and op.parent is not None and _does_any(op, fence, whole)
        )
    )


def _stands_between(
    fence: scoped.FenceOp, code: OperationLines, does_it: Judge[Operation]
) -> Parts | None:
    """The obstacle to the removal of a fence for an earlier one; None if no other would do."""
    by, between = code.earlier(fence, does_it), code.earlier(fence, _MEMORY)
    if by is fence:
        # Round a loop; what comes before it there may be another one.
        by = code.earlier(fence, lambda op: Judgement.ON if op is fence else does_it(op))
    if by is None or between is None or by is between:
        return None
    return (*at(between, "Between"), " stands between it and ", *at(by, "Fence"))


_MEMORY: Judge[Operation] = finds(
    lambda op: op.parent is not None and not merge_fences.is_silent(op)
)


def folded(module: ModuleOp, following: ModulePass) -> Reason:
    """The access that a fence went into: the one next to it."""
    code = code_in(region for op in module.walk() for region in op.regions)
    acquires = {
        op: op.ordering.data is Ordering.ACQUIRE
        for op in code.place
        if isinstance(op, scoped.FenceOp)
    }
    memory: Judge[Operation] = finds(lambda op: not merge_fences.is_silent(op))

    def reason(finding: Finding) -> Parts | None:
        fence = finding.before.op
        if not isinstance(fence, scoped.FenceOp):
            return None
        search = code.earlier if acquires[fence] else code.later
        access = search(fence, memory)
        assert access is not None
        return ("together they cost less as ", *at(access, "Access"))

    return reason


# Address spaces

_FROM_HOST = (
    "its pointer comes of the kernel's arguments alone, and the host knows no other memory; "
    "it is waited for by vmcnt alone, a flat access by lgkmcnt too"
)
_STAYS = "its pointer stays generic: "
_FROM_TEST = f"{_STAYS}a litmus test may give the kernel the address of a location in LDS"


def spaces_inferred(module: ModuleOp, following: ModulePass) -> Reason:
    """The reason that a generic access is global, or the obstacle to it."""
    with_lds = kernels_with_lds_arguments(module)
    kept: dict[Operation, Parts] = {}
    for function in top_level(module):
        if not isinstance(function, func.FuncOp | gpu.FuncOp) or not function.body.blocks:
            continue
        if function.sym_name.data in with_lds:
            kept.update(dict.fromkeys(function.walk(), (_FROM_TEST,)))
        else:
            kept.update((op, _stays_generic(op, by)) for op, by in obstacles(function))

    def reason(finding: Finding) -> Parts | None:
        if finding.change is Change.CHANGED:
            return (_FROM_HOST,)
        is_generic = finding.before.space == AddressSpace.GENERIC.value
        return kept.get(finding.before.op) if is_generic else None

    return reason


def _stays_generic(access: scoped.AccessOperation, obstacle: Obstacle) -> Parts:
    by = obstacle.by
    if by is None:
        return (f"{_STAYS}nothing says of which memory it is",)
    if not obstacle.makes:
        return (_STAYS, *at(by, "By"), " may hand it on, or one of the same memory")
    made = "it" if by is access.pointer.owner else "what it is computed of"
    return (_STAYS, *at(by, "By"), f" makes {made}")


# Orderings and scopes


on_success = told_of(scoped.CmpxchgOp, "an acquire fence on the way of its success does the rest")
"""The reason for the removal of a compare-exchange's acquire."""


def clamped_scopes(module: ModuleOp, following: ModulePass) -> Reason:
    """The facts by which a scope was narrowed, or with which it could be."""
    assert isinstance(following, ClampScopesPass)
    architecture = backend_of(following.mcpu).architecture
    scopes = {
        op: op.scope.data
        for op in module.walk()
        if isinstance(op, scoped.ScopedOperation) and op.scope is not None
    }
    whole_kernels = {op for op in top_level(module) if is_function(op) and is_whole_kernel(op)}
    definitions = llvm_definitions(module)

    def reason(finding: Finding) -> Parts | None:
        op = finding.before.op
        if not isinstance(op, scoped.ScopedOperation) or op.scope is None:
            return None
        wide, now = scopes[op], op.scope.data
        rows = [
            row
            for row in CLAMPS
            if row.architecture == architecture and op.OPERATION in row.operations
        ]
        if finding.change is Change.KEPT:
            hopeless = {*following.facts, *_never(op, definitions, architecture)}
            whole = op.parent_op() in whole_kernels
            return helped_by(
                row.fact
                for row in rows
                if row.wide is wide and row.fact not in hopeless and (whole or not row.whole_kernel)
            )
        steps = [r for r in rows if wide.includes(r.wide) and r.narrow.includes(now)]
        return ("; ".join(FACT_TEXT[row.fact] for row in steps),)

    return reason


def _never(op: Operation, definitions: Mapping[str, str], architecture: str) -> Iterable[Fact]:
    """The facts that the kernel itself says do not hold."""
    function = op.parent_op()
    if function is None or not is_function(function):
        return ()
    lanes = most_lanes(function, definitions, architecture)
    one_wave = lanes is None or lanes <= LANES_OF_WAVE[architecture]
    return () if one_wave else (Fact.SINGLE_WAVE_WORKGROUP,)
