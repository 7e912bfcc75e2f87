"""Missing and surplus synchronisation in PTX that others made.

Races are those of the verdict. Hazards are no races of two threads, or of places that verdicts do
not follow: a fence that is missing is an error where both accesses are of the same bytes, a warning
where they may be. What other threads do is the same function; what callers and other kernels do is
not known, and is never held against it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from fencewright.checker.findings.finding import Finding, Level, Rule, VerdictKind
from fencewright.checker.nvidia.grid_dependency import GridAnalysis
from fencewright.checker.nvidia.guarantees import is_fence, lines_of, releases_at
from fencewright.checker.nvidia.lifetimes import End, LifetimeAnalysis
from fencewright.checker.nvidia.phases import Misuse, PhaseAnalysis
from fencewright.checker.nvidia.surplus import (
    barriers_of_all,
    beside_unknown,
    beyond,
    idle_orderings,
)
from fencewright.checker.nvidia.waits import MissingWait, WaitAnalysis
from fencewright.checker.nvidia.wgmma import ProductAnalysis
from fencewright.checker.redundant.barriers import idle_barriers
from fencewright.checker.redundant.fences import idle_proxy_fences
from fencewright.checker.verdicts.findings import findings_of, merged, with_notes_apart
from fencewright.checker.verdicts.judge import is_still_proved, judge
from fencewright.checker.verdicts.model import ONE_AS, Kernel, Obstacle, Verdict
from fencewright.checker.verdicts.model import Conflict as Race
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch, Steps
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLine
from fencewright.lowering.costs import cost_of
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    SILENT,
    Statement,
)
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.ptx.completions import MEETS, SIGNALS, Completion, Hazard
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Ordering

if TYPE_CHECKING:
    from fencewright.checker.nvidia.replay import Replayer

_ERROR, _WARNING, _NOTE = Level.ERROR, Level.WARNING, Level.NOTE


@dataclass(frozen=True, slots=True)
class JudgedFunction:
    """A function with its verdict, and all that is found in it."""

    function: PtxFunction
    verdict: Verdict
    findings: tuple[Finding, ...]


def _never(conflict: Race) -> bool:
    return False


@dataclass(frozen=True)
class _Replays:
    """The answer for each race of a function whether an execution shows it again."""

    file: PtxFile
    function: PtxFunction

    @cached_property
    def _replayer(self) -> "Replayer":
        # Here, for most functions have no race, and executors are large.
        from fencewright.checker.nvidia.replay import Replayer

        return Replayer(self.file, self.function)

    @cached_property
    def _sources(self) -> Mapping[int, SourceLine | None]:
        return {each.line: each.source for each in self.function.instructions}

    def place_of(self, line: int) -> Hashable:
        """The place of a line that its author knows."""
        return self._sources.get(line) or line

    def __call__(self, conflict: Race) -> bool:
        return self._replayer.replay(conflict).is_confirmed

    def suspected(self, verdict: Verdict) -> Verdict:
        """The verdict with the first suspect that a launch shows to race there."""
        for each in verdict.suspects:
            shown = self._replayer.replay(each, is_suspect=True)
            if shown.launch is not None:
                condition = f"{ONE_AS}--launch '{shown.written}'"
                conflict = replace(each, condition=condition)
                kind = VerdictKind.LAUNCH
                return replace(verdict, kind=kind, conflicts=(conflict,), condition=condition)
        return verdict


def judged(
    file: PtxFile,
    function: PtxFunction,
    launch: Launch | None = None,
    steps: Steps | None = None,
    *,
    replays: bool = True,
    finds_surplus: bool = False,
) -> JudgedFunction:
    """The verdict and the findings of one function, for all launches or for one.

    ``steps``: those of its file. ``replays``: races are executed, and those that an execution shows
    again are errors. ``finds_surplus``: verdicts without each barrier are made too.
    """
    others = [*hazards(file, function)]  # Before there is a kernel: either takes memory.
    kernel = kernel_of(file, function)
    verdict = judge(kernel, launch, steps)
    own = _Replays(file, function)
    verdict = own.suspected(verdict) if replays else verdict
    races = list(findings_of(verdict, own.place_of, own if replays else _never))
    verdict = with_notes_apart(verdict, races)
    if any(each.rule is Rule.ASYNC_UNWAITED and each.level is not _NOTE for each in races):
        # A wait in the wrong place is not redundant.
        others = [each for each in others if each.rule is not Rule.SURPLUS_WAIT]
    wrong = next((each for each in others if each.level in (_ERROR, _WARNING)), None)
    if wrong is not None and verdict.kind is VerdictKind.RACE_FREE:
        # What is wrong is in no pair of accesses that was judged: a copy that nobody waits for.
        obstacle = Obstacle(f"[{wrong.rule}] is in no pair of accesses", wrong.line)
        verdict = Verdict(VerdictKind.NOT_JUDGED, obstacles=(obstacle,), notes=verdict.notes)
    known = {each.line for each in others if each.rule is Rule.SURPLUS_PROXY_FENCE}
    for line, is_narrowed in idle_proxy_fences(kernel, verdict, launch):
        fence = next((each for each in function.instructions if each.line == line), None)
        if fence is not None and line not in known:
            others.append(_surplus_proxy_fence(file, fence, is_narrowed=is_narrowed))
    asks = finds_surplus and verdict.kind is VerdictKind.RACE_FREE
    is_proved = partial(is_still_proved, before=verdict, launch=launch) if asks else None
    others += _surplus_barriers(file, function, kernel, is_proved)
    return JudgedFunction(function, verdict, tuple(merged(races, others)))


def find_problems(file: PtxFile, function: PtxFunction) -> Iterator[Finding]:
    """The findings in one function."""
    yield from judged(file, function).findings


def hazards(file: PtxFile, function: PtxFunction) -> Iterator[Finding]:
    """The findings in one function that no verdict is needed for."""
    yield from _unknown(function)
    places = Places(file, function)
    waits = WaitAnalysis(places)
    early = [*_unwaited(waits)]
    yield from early
    yield from _unfenced_products(ProductAnalysis(places))
    yield from _misused(PhaseAnalysis(places))
    yield from _early_ends(LifetimeAnalysis(places))
    yield from _early_reads(GridAnalysis(places))
    yield from _surplus(file, function)
    yield from _surplus_orderings(places)
    unknown = beside_unknown(function)
    for each in () if early else waits.idle():
        if each.number in unknown:
            continue
        message = f"{each} waits for nothing: no path leads here with more in flight than it leaves"
        yield _can_go(file, each, Rule.SURPLUS_WAIT, message)


def _finding(
    at: PtxInstruction,
    rule: Rule,
    level: Level,
    message: str,
    about: Iterable[PtxInstruction] = (),
) -> Finding:
    return Finding(at.line, rule, message, level, tuple(each.line for each in about))


def _unknown(function: PtxFunction) -> Iterator[Finding]:
    if function.is_known:
        return
    seen: set[str] = set()
    for each in function.instructions:
        name = each.statement.opcode.name
        if each.statement.kind is Kind.OPAQUE and name not in seen:
            seen.add(name)
            message = f"'{name}' {each.statement.opcode.problem}: it may do anything"
            yield _finding(each, Rule.UNKNOWN, _WARNING, message)


# Waits for what is asynchronous


def _unwaited(analysis: WaitAnalysis) -> Iterator[Finding]:
    """Uses that come too early: of each operation in flight the first, in the order of the text."""
    seen: set[int] = set()
    by_use: dict[tuple[int, Completion], list[MissingWait]] = {}
    for each in analysis.missing():
        if each.before.number not in seen:
            by_use.setdefault((each.later.number, each.completion), []).append(each)
        seen.add(each.before.number)
    for (_, completion), found in by_use.items():
        later = found[0].later
        before = tuple({each.before.number: each.before for each in found}.values())
        where = "before the barrier between" if found[0].is_signalled else "between"
        message = f"{_early(found[0], before)}: write {completion.missing} {where} the two"
        level = _ERROR if found[0].sure and not _is_of_others(found[0]) else _WARNING
        yield _finding(later, Rule.ASYNC_UNWAITED, level, message, before)


def _is_of_others(unwaited: MissingWait) -> bool:
    """True if other threads may be too early: their operations are not known."""
    return unwaited.is_signalled or unwaited.later.statement.operation in SIGNALS


def _early(unwaited: MissingWait, before: tuple[PtxInstruction, ...]) -> str:
    """The use that comes too early, and the operations that it follows, in words."""
    later, hazard = unwaited.later.statement, unwaited.completion.hazard
    name = f"{before[0].statement.operation_name}, {lines_of(before)},"
    writes = hazard is Hazard.TENSOR_WRITE
    still, end = ("may not have written", " yet") if writes else ("may still read", "")
    if later.operation in SIGNALS:
        return f"other threads are signalled while {name} {still} {unwaited.what}{end}"
    if hazard is Hazard.PRODUCT:
        return (
            f"{later.opcode.name} uses {unwaited.what}, a register of {name} which may be in flight"
        )
    verb = "uses" if unwaited.sure else "may use"
    return f"{later.opcode.name} {verb} {unwaited.what} that {name} {still}{end}"


# Products and mbarriers


def _unfenced_products(analysis: ProductAnalysis) -> Iterator[Finding]:
    """Of the products that one fence would hand their registers to, the first."""
    found = next(analysis.missing(), None)
    if found is None:
        return
    what = f"{found.register} was written since the last one" if found.register else "there is none"
    message = f"{found.product.statement.opcode.name} needs a wgmma.fence before it: {what}"
    yield _finding(found.product, Rule.WGMMA_FENCE, _ERROR, message)


_MISUSES = {
    Misuse.UNUSED_RESULT: (
        Rule.MBARRIER_WAIT,
        "{name} may answer that the phase is not complete, and nothing uses its answer",
    ),
    Misuse.ALIVE: (
        Rule.MBARRIER_INIT,
        "{name} overwrites the mbarrier of line {line}: write mbarrier.inval between the two",
    ),
}


def _misused(analysis: PhaseAnalysis) -> Iterator[Finding]:
    for each in analysis.misused():
        rule, text = _MISUSES[each.misuse]
        line = each.other.line if each.other else 0
        message = text.format(line=line, name=each.at.statement.opcode.name)
        yield _finding(each.at, rule, _WARNING, message, [each.other] if each.other else ())


_ENDS = {
    End.PAIR: (
        Rule.CLUSTER_BARRIER,
        "the other block may not have done the allocation of line {line}: no cluster barrier "
        "between; write cluster.sync() between the two",
    ),
    End.TENSOR: (
        Rule.MISSING_BARRIER,
        "this frees tensor memory that other threads may access at line {line}: no barrier "
        "between; write __syncthreads() between the two",
    ),
}


def _early_ends(analysis: LifetimeAnalysis) -> Iterator[Finding]:
    for each in analysis.early():
        rule, text = _ENDS[each.end]
        message = text.format(line=each.before.line)
        yield _finding(each.later, rule, _WARNING, message, (each.before,))


# Grids that depend on others


def _early_reads(analysis: GridAnalysis) -> Iterator[Finding]:
    for each in analysis.early():
        name = each.read.statement.opcode.name
        message = (
            f"{name} may come before griddepcontrol.wait, and read data that the previous grid has "
            "not written yet"
        )
        if each.later is None:
            yield _finding(each.read, Rule.GRID_DEPENDENCY, _NOTE, message)
        else:
            said = (
                f"{message}: line {each.later.line} reads by the same pointer after the wait; "
                "write cudaGridDependencySynchronize() before this, too"
            )
            yield _finding(each.read, Rule.GRID_DEPENDENCY, _WARNING, said, (each.later,))


# Fences next to each other

_PROXY_FENCE = "fence proxy async"


def _surplus(file: PtxFile, function: PtxFunction) -> Iterator[Finding]:
    """Fences and orderings that the fence right before or after them provides."""
    if function.operations.isdisjoint(("fence", "membar", _PROXY_FENCE)):
        return
    for block in function.blocks:
        heard = [each for each in block.instructions if _is_heard(each)]
        for first, second in pairwise(heard):
            if first.statement.guard != second.statement.guard:
                continue
            yield from _next_to(file, first, second)


def _next_to(file: PtxFile, first: PtxInstruction, second: PtxInstruction) -> Iterator[Finding]:
    one, other = first.statement, second.statement
    if is_fence(one) and is_fence(other):
        if _covers(one, other):
            yield _surplus_fence(file, second, first, Rule.SURPLUS_FENCE)
        elif _covers(other, one):
            yield _surplus_fence(file, first, second, Rule.SURPLUS_FENCE)
    elif _is_proxy_fence(one) and _is_proxy_fence(other):
        if one.opcode.spaces in ((), other.opcode.spaces):
            yield _surplus_fence(file, second, first, Rule.SURPLUS_PROXY_FENCE)
        elif not other.opcode.spaces:
            yield _surplus_fence(file, first, second, Rule.SURPLUS_PROXY_FENCE)
    elif is_fence(one) and _is_ordered_write(other) and _provides_release(one, other):
        less = _less_release(other)
        message = f"the fence of line {first.line} releases already: write {less}"
        yield _finding(second, Rule.SURPLUS_RELEASE, _NOTE, message, (first,))
    elif _is_ordered_read(one) and is_fence(other) and _provides_acquire(other, one):
        message = f"the fence of line {second.line} acquires too: write {_less_acquire(one)}"
        yield _finding(first, Rule.SURPLUS_ACQUIRE, _NOTE, message, (second,))


def _surplus_barriers(
    file: PtxFile,
    function: PtxFunction,
    kernel: Kernel,
    is_proved: Callable[[Kernel], bool] | None,
) -> Iterator[Finding]:
    """Barriers that can go; ``is_proved`` as ``idle_barriers`` has it."""
    if not (lines := barriers_of_all(function)):
        return
    others = beyond(kernel, function, Places(file, function))
    idle = idle_barriers(kernel, lines, others, is_proved)
    for each in function.instructions if idle else ():
        if each.line in idle and each.statement.operation in MEETS:
            message = (
                f"{each} is redundant: no accesses before it conflict with those after it, or "
                "other synchronisation orders them"
            )
            yield _can_go(file, each, Rule.SURPLUS_BARRIER, message)


def _surplus_orderings(places: Places) -> Iterator[Finding]:
    """Orderings of accesses that order nothing."""
    for each in idle_orderings(places):
        rule = Rule.SURPLUS_RELEASE if each.releases else Rule.SURPLUS_ACQUIRE
        what, when = ("release", "before") if each.releases else ("acquire", "after")
        less = (_less_release if each.releases else _less_acquire)(each.access.statement)
        message = f"this need not {what}, as the kernel does nothing {when} it: write {less}"
        yield _finding(each.access, rule, _NOTE, message)


def _surplus_fence(file: PtxFile, fence: PtxInstruction, by: PtxInstruction, rule: Rule) -> Finding:
    where = "before" if by.number < fence.number else "after"
    message = f"{fence} adds nothing to the {by} right {where} it, line {by.line}"
    return _can_go(file, fence, rule, message, by.line)


def _surplus_proxy_fence(file: PtxFile, fence: PtxInstruction, *, is_narrowed: bool) -> Finding:
    if is_narrowed:
        less = "write fence.proxy.async.shared::cta"
        message = f"{fence} is needed for shared memory only: {less}"
        return _finding(fence, Rule.SURPLUS_PROXY_FENCE, _NOTE, message)
    message = f"{fence} is redundant: all accesses by the async proxy are ordered without it"
    return _can_go(file, fence, Rule.SURPLUS_PROXY_FENCE, message)


def _can_go(file: PtxFile, fence: PtxInstruction, rule: Rule, message: str, *about: int) -> Finding:
    """A fence that can go, with its cost if known."""
    try:
        cost = cost_of(file.target, str(fence.statement.opcode.name))
    except UnsupportedError:
        return Finding(fence.line, rule, message, _NOTE, about)
    said = f"{message}; it costs {cost}"
    return Finding(fence.line, rule, said, _NOTE, about, cost=cost.amount)


def _is_heard(each: PtxInstruction) -> bool:
    """True if it separates the operations around it: all but those that compute."""
    return each.statement.kind not in SILENT


def _is_proxy_fence(statement: Statement) -> bool:
    return statement.operation == _PROXY_FENCE


def _covers(one: Statement, other: Statement) -> bool:
    """True if a fence does all that another one does."""
    assert one.ordering is not None
    assert other.ordering is not None
    if one.scope is None or other.scope is None or not one.scope.includes(other.scope):
        return False
    if other.ordering is Ordering.SEQ_CST:
        return one.ordering is Ordering.SEQ_CST
    releases = one.ordering.releases or not other.ordering.releases
    return releases and (one.ordering.acquires or not other.ordering.acquires)


def _is_ordered_write(statement: Statement) -> bool:
    return (
        statement.kind in ACCESSES
        and statement.ordering is not None
        and statement.ordering.releases
    )


def _is_ordered_read(statement: Statement) -> bool:
    return (
        statement.kind in ACCESSES
        and statement.ordering is not None
        and statement.ordering.acquires
        and statement.operation != "red"
    )


def _provides_release(fence: Statement, access: Statement) -> bool:
    scope = releases_at(fence)
    return scope is not None and access.scope is not None and scope.includes(access.scope)


def _provides_acquire(fence: Statement, access: Statement) -> bool:
    acquires = fence.ordering is not None and fence.ordering.acquires
    return (
        acquires
        and fence.scope is not None
        and access.scope is not None
        and fence.scope.includes(access.scope)
    )


def _less_release(statement: Statement) -> str:
    return statement.opcode.renamed({"acq_rel": "acquire", "release": "relaxed"})


def _less_acquire(statement: Statement) -> str:
    return statement.opcode.renamed({"acq_rel": "release", "acquire": "relaxed"})
