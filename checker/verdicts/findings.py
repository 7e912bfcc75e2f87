"""Findings of verdicts: one for each cause of races, in the words of the kernel's author."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from fencewright.checker.findings.finding import (
    DIVERGENT_BARRIER,
    Finding,
    Level,
    Rule,
    Step,
    VerdictKind,
)
from fencewright.checker.verdicts.barriers import NOT_AT_BARRIER, NOT_WAITED_FOR
from fencewright.checker.verdicts.expressions import is_data, leaves
from fencewright.checker.verdicts.model import (
    END,
    NO_BARRIER,
    NOT_EVERY_ITERATION,
    OF_VALUES,
    ONE_AS,
    ONE_VALUE,
    Access,
    Agent,
    Conflict,
    Note,
    OneSide,
    Region,
    Relation,
    Root,
    Verdict,
)
from fencewright.lowering.code.value import Result

_REMEDIES: Mapping[Rule, str] = {
    Rule.MISSING_BARRIER: "write __syncthreads() between the two",
    Rule.UNORDERED_SIGNAL: "write __threadfence() before the signal, or let it release",
    Rule.UNORDERED_WAIT: "write __threadfence() after the wait, or let it acquire",
    Rule.MBARRIER_SCOPE: "give the operations of the mbarrier .release.cluster and "
    ".acquire.cluster",
    Rule.MBARRIER_ORDER: "let the arrival release and the wait acquire",
    Rule.MBARRIER_INIT: "write __syncthreads() after the initialisation",
    Rule.MBARRIER_BYTES: "let an arrival expect the bytes: mbarrier.arrive.expect_tx",
    Rule.PROXY_FENCE: "write fence.proxy.async between the two, before the barrier or signal",
    Rule.PROXY_ACQUIRE: "write fence.proxy.async after the wait",
    Rule.PROXY_READS: "write fence.proxy.async between the two, before the barrier or signal",
    Rule.CLUSTER_BARRIER: "write cluster.sync() between the two",
    Rule.TENSORMAP_FENCE: "write fence.proxy.tensormap::generic.acquire of the map before",
    Rule.READ_ONLY: "load without .nc (without __ldg or const __restrict__)",
    Rule.ASYNC_UNWAITED: "wait for the copy before",
    Rule.MBARRIER_PHASE: "let the parity that is waited for change with each phase",
    Rule.SPIN: "read it by a volatile or atomic load (.relaxed or .volatile)",
    Rule.LDS_BARRIER: "wait for it before the barrier",
    Rule.LDS_DMA_BARRIER: "wait for the load to LDS before the barrier",
    Rule.LDS_DMA: "wait for the load to LDS before",
    Rule.CUMULATIVE: "wait for the stores before the barrier, and write back before the signal",
    Rule.WRITE_BACK_UNWAITED: "wait for the write-back before the signal",
    Rule.SCALAR_STALE: "read it by a vector load, or write s_dcache_inv before",
}
_OF_BARE_BARRIER = "write __threadfence_block() before the barrier, or __syncthreads() in its place"
_OF_WARP = "write __syncwarp() between the two"
_OF_NOTHING = "order the blocks by a flag or by two launches, or give each a place of its own"
_OF_SCOPES = "give both the scope of the GPU: atomicAdd() for atomicAdd_block(), .gpu for .cta"
_OF_FLAG = "read and write it by volatile or atomic accesses (.relaxed or .volatile)"
_OF_UPDATE = "use an atomic such as atomicAdd(), or let one thread do it"
_OF_PEER = "write fence.mbarrier_init.release.cluster after the initialisation, then cluster.sync()"
_OF_PHASE = (
    "let each thread that accesses it arrive, or write __syncthreads() before the arrival, and let "
    "the parity that is waited for change with each phase"
)
_OF_COPIES: Mapping[Agent, str] = {
    Agent.COPY: "write __pipeline_wait_prior(0) (cp.async.wait_all)",
    Agent.GROUP: "write cp.async.bulk.wait_group",
    Agent.PRODUCT: "write wgmma.wait_group",
    Agent.TRANSACTION: "wait at its mbarrier",
}
"""The waits of copies and products in flight."""
_NO_ARRIVAL = "no arrival of the phase"
_BOTH_LACK = ", and nothing "
"""Of the pieces that are missing: of the signal, and of who sees it."""
_OF_BOTH = (
    "write __threadfence() before the signal and after it is seen, or let it release and its read "
    "acquire"
)
_TOO_NARROW = " too narrow"
_OF_WIDTH: Mapping[Relation, str] = {
    Relation.CLUSTER: "the scope of the cluster: .cluster",
    Relation.GRID: "the scope of the GPU: thread_scope_device, __threadfence() or .gpu",
}
"""The wider scope, by the relation of the two threads."""
_OF_DIVERGENCE = "let all threads of the block come to it"
_OF_HANDED = f"{_OF_BOTH}, with __syncthreads() between that and what other threads of a block do"
_REASON = re.compile(": |, which ")
_OF_ITSELF = "let one thread do it, or give each thread a place of its own"
_OBJECTS: Mapping[Region, str] = {
    Region.SHARED: "the shared variable",
    Region.GLOBAL: "the variable",
    Region.PARAMETER: "the memory of parameter",
    Region.POINTER: "the memory of the pointer at",
}


def findings_of(
    verdict: Verdict,
    place_of: Callable[[int], Hashable] = lambda line: line,
    is_replayed: Callable[[Conflict], bool] = lambda _: False,
) -> Iterator[Finding]:
    """The findings of a verdict: errors of races that execution replays, warnings of other races.

    A note is of a race that needs an unstated launch, of stores that may be of one value,
    and of reads that only execution orders before a write. ``place_of``: the place of a line that
    its author knows.
    """
    conflicts = [_of_spin(each, verdict.sides) for each in verdict.conflicts]
    for cause in _causes(conflicts, place_of):
        yield _finding(verdict, cause, is_replayed)
    spun = {each.cause for each in conflicts if each.finding is Rule.SPIN}
    for side in verdict.sides:
        if side.finding is not Rule.SPIN or side.access.line not in spun:
            yield _of_side(side)
    for rule in dict.fromkeys(each.finding for each in verdict.notes):
        yield _of_notes([each for each in verdict.notes if each.finding is rule])


def with_notes_apart(verdict: Verdict, races: Iterable[Finding]) -> Verdict:
    """The verdict; where its races are notes, for their stores may be of one value, one of launches
    in which values differ, or none if something else is not judged."""
    if verdict.kind is not VerdictKind.RACE or any(each.level is not Level.NOTE for each in races):
        return verdict
    if verdict.obstacles:
        return replace(verdict, kind=VerdictKind.NOT_JUDGED)
    return replace(verdict, kind=VerdictKind.LAUNCH, condition=OF_VALUES)


def merged(races: Sequence[Finding], others: Iterable[Finding]) -> Iterator[Finding]:
    """Races and hazards; of two that say one thing, the race."""
    others = list(others)
    worse = [
        each for each in races if not any(_is_said(each, other, worse=True) for other in others)
    ]
    yield from worse
    for each in others:
        if not any(_is_said(each, other, worse=False) for other in worse):
            yield each


_OF_ONE_WAIT = (
    {Rule.ASYNC_UNWAITED, Rule.MBARRIER_PHASE},
    {Rule.LDS_DMA, Rule.LDS_DMA_BARRIER},
)
"""Rules that one missing wait breaks together."""


def _is_said(finding: Finding, other: Finding, *, worse: bool) -> bool:
    """True where another finding says the same of a line; ``worse``: at a worse level."""
    levels = [*Level]
    if worse and levels.index(other.level) >= levels.index(finding.level):
        return False
    lines, others = ({each.line, *each.about} for each in (finding, other))
    if finding.rule is other.rule:
        return bool(lines & others)
    return {finding.rule, other.rule} in _OF_ONE_WAIT and (lines <= others or others <= lines)


def _of_spin(conflict: Conflict, sides: Sequence[OneSide]) -> Conflict:
    """A conflict of a weak read that a loop waits by, and of reads after that loop, which nothing
    else orders, is a finding of that."""
    both = (conflict.first, conflict.second)
    for side in sides:
        if side.finding is not Rule.SPIN:
            continue
        is_polled = side.access.instruction in {each.instruction for each in both}
        if is_polled or (_is_unordered(conflict) and _is_read_after(side.access, both)):
            return replace(conflict, finding=Rule.SPIN, cause=side.access.line)
    return conflict


def _is_unordered(conflict: Conflict) -> bool:
    return conflict.cause is None and conflict.finding is Rule.UNORDERED_SIGNAL


def _is_read_after(poll: Access, both: tuple[Access, Access]) -> bool:
    reads = [each for each in both if not each.writes]
    return any(each.instruction > poll.instruction for each in reads)


def _of_notes(notes: Sequence[Note]) -> Finding:
    """One note for all reads that execution alone orders: whole loops of real kernels have them."""
    first = notes[0]
    more = len({(each.read, each.write) for each in notes}) - 1
    others = f", and {more} more like it," if more else ""
    message = (
        f"the read of line {first.read} comes before the write of line {first.write}{others} by "
        f"execution alone ({first.by}): {_REMEDIES[first.finding]} to order memory too"
    )
    return Finding(first.write, first.finding, message, Level.NOTE, (first.read,))


def _causes(
    conflicts: Sequence[Conflict], place_of: Callable[[int], Hashable]
) -> Iterator[Sequence[Conflict]]:
    """The conflicts that one repair ends, together."""
    by_cause: dict[Hashable, list[Conflict]] = {}
    of_flags = [each for each in conflicts if _is_of_flag(each)]
    for each in conflicts:
        if each not in of_flags:
            by_cause.setdefault(_cause_of(each, place_of), []).append(each)
    for each in of_flags:
        # A flag of too narrow a scope is no flag of the data that it is to order.
        places = {place_of(line) for line in _places(each)}
        keys = (key for key, own in by_cause.items() if _is_by(own[0], places, place_of))
        by_cause.setdefault(next(keys, _cause_of(each, place_of)), []).append(each)
    needs_barrier: list[Sequence[Conflict]] = []
    for own in by_cause.values():
        if own[0].finding is Rule.MISSING_BARRIER and not _is_of_itself(own[0]):
            needs_barrier.append(own)
        else:
            yield own
    yield from _gaps([max(own, key=attrgetter("is_usual")) for own in needs_barrier])


def _is_of_flag(conflict: Conflict) -> bool:
    """True of strong accesses that nothing orders: the scope of one excludes the other thread."""
    is_strong = conflict.first.is_strong and conflict.second.is_strong
    return is_strong and _is_unordered(conflict)


def _is_by(
    conflict: Conflict, places: Collection[Hashable], place_of: Callable[[int], Hashable]
) -> bool:
    """True of a conflict that a signal at one of some places should order."""
    is_by_signal = conflict.finding in (Rule.UNORDERED_SIGNAL, Rule.UNORDERED_WAIT)
    return is_by_signal and conflict.cause is not None and place_of(conflict.cause) in places


def _cause_of(conflict: Conflict, place_of: Callable[[int], Hashable]) -> Hashable:
    """The key of conflicts with one cause: the signal, or both accesses, as their author wrote."""
    if _is_of_lifetime(conflict):
        return conflict.finding, conflict.missing
    if conflict.cause is not None:
        return conflict.finding, place_of(conflict.cause)
    return conflict.finding, place_of(conflict.first.line), place_of(conflict.second.line)


def _gaps(conflicts: Sequence[Conflict]) -> Iterator[Sequence[Conflict]]:
    """The conflicts that one barrier ends, where it stands after all first and before all second
    accesses: as few barriers as pairs of lines need."""
    some: list[Conflict] = []
    for each in sorted(conflicts, key=_lines):
        if some and each.first.line >= some[0].second.line:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _places(conflict: Conflict) -> tuple[int, ...]:
    """The lines of a conflict's accesses; the beginning and the end of a CTA are at none."""
    if _is_of_lifetime(conflict):
        return (conflict.first.line,)
    return conflict.first.line, conflict.second.line


def _is_of_lifetime(conflict: Conflict) -> bool:
    first, second = conflict.first, conflict.second
    return first.number == second.number and first.instruction != second.instruction


def _lines(conflict: Conflict) -> tuple[int, int]:
    return conflict.second.line, conflict.first.line


def _finding(
    verdict: Verdict, cause: Sequence[Conflict], is_replayed: Callable[[Conflict], bool]
) -> Finding:
    # The conflict that is printed is one of any launch, and of the line to be repaired.
    cause = sorted(
        cause,
        key=lambda each: (
            bool(each.condition),
            each.cause is None,
            each.cause not in _places(each),
        ),
    )
    shown = next((each for each in cause if is_replayed(each) or _is_of_one_thread(each)), None)
    conflict = shown or max(cause, key=attrgetter("is_usual"))
    more = len({_lines(each) for each in cause}) - 1
    message = _message(conflict)
    if more:
        message += f" ({more} more {'pair' if more == 1 else 'pairs'} of lines like this)"
    others = [line for each in cause for line in _places(each)]
    others += [each.cause for each in cause if each.cause is not None]
    at = _places(conflict)[-1]
    about = tuple(line for line in dict.fromkeys(others) if line != at)
    steps = () if _is_of_lifetime(conflict) else tuple(_steps(conflict))
    finding = Finding(at, conflict.finding, message, Level.WARNING, about, steps=steps)
    if shown is not None and not shown.condition:
        return replace(finding, lesser=Level.ERROR)
    is_launch = verdict.kind is VerdictKind.LAUNCH and not any(each.is_usual for each in cause)
    if is_launch or all(map(_may_write_one_value, cause)):
        return replace(finding, lesser=Level.NOTE)
    return finding


def _is_of_one_thread(conflict: Conflict) -> bool:
    """True of a thread's access, and a copy of its own that it comes to before a wait: no schedule
    decides.

    Not of two stores of one thread to one place, or of its end.
    """
    sides = (conflict.first, conflict.second)
    return (
        conflict.relation is Relation.THREAD
        and conflict.missing == NOT_WAITED_FOR
        and conflict.second.text != END
        and any(each.place.root.region is Region.SHARED or not each.writes for each in sides)
    )


def _steps(conflict: Conflict) -> Iterator[Step]:
    """The two accesses, each by its thread of the witness; nothing orders them."""
    one, other = _threads(conflict)
    first, second = conflict.first, conflict.second
    roots = (first.place.root, second.place.root)
    for thread, access, other_root in ((one, first, roots[1]), (other, second, roots[0])):
        text = f"{thread} {_does(access)} {_object(access.place.root, other_root)}"
        yield Step(thread, access.line, text)


def _threads(conflict: Conflict) -> tuple[str, str]:
    """The two threads of the witness in the words of who wrote the kernel."""
    one, other = (conflict.witness.thread(n).replace("CTA", "block") for n in (0, 1))
    if conflict.relation is Relation.CLUSTER:
        one, other = (each.partition(" of ")[0] for each in (one, other))
        return f"{one} of another block of the cluster", f"{other} of a block"
    return one, other


def _may_write_one_value(conflict: Conflict) -> bool:
    """True if two stores are of values that memory or other lanes decide, as copies of one element
    are, and that no protocol is meant to order."""
    sides = (conflict.first, conflict.second)
    return conflict.cause is None and all(
        each.agent is Agent.THREAD
        and not each.reads
        and (each.value is None or any(map(is_data, leaves((each.value,)))))
        for each in sides
    )


def _of_side(side: OneSide) -> Finding:
    """The finding of half a protocol."""
    level = Level.WARNING if side.is_sure else Level.NOTE
    name, payload = _object(side.access.place.root, side.access.place.root), side.payload
    remedy = side.remedy or _REMEDIES[side.finding]
    if side.is_barrier and payload is side.access:
        verb = _VERBS[side.access.writes]
        message = (
            f"a thread in another function may use {name} while this {verb} is in flight: "
            f"{side.missing}; {remedy}"
        )
        return Finding(side.access.line, side.finding, message, level, side.about)
    if payload is None and side.access.writes:
        message = (
            f"another block may see this signal in {name} before what was written before: "
            f"{side.missing}; {remedy}"
        )
        return Finding(side.access.line, side.finding, message, level, side.about)
    if payload is side.access:
        message = (
            f"this may read {name} as it was before a signal that was waited for: {side.missing}; "
            f"{remedy}"
        )
        return Finding(side.access.line, side.finding, message, level, side.about)
    if payload is None:
        message = (
            f"the loop waits until another thread changes {name}, and {side.missing}: {remedy}"
        )
        return Finding(side.access.line, side.finding, message, level)
    what = _object(payload.place.root, payload.place.root)
    if side.finding is Rule.PROXY_FENCE:
        verb = "read" if side.access.reads else "overwrite"
        message = (
            f"this may {verb} {what} before the write of line {payload.line} is done: "
            f"{side.missing}; {remedy}"
        )
    elif side.is_barrier:
        message = (
            f"another thread may {_VERBS[side.access.writes]} {name} here while the "
            f"{_VERBS[payload.writes]} of line {payload.line} is in flight: {side.missing}; "
            f"{remedy}"
        )
    elif payload.writes:
        message = (
            f"another block may see this signal in {name} before what line {payload.line} wrote to "
            f"{what}: {side.missing}; {remedy}"
        )
    else:
        message = (
            f"line {payload.line} may read {what} as it was before the signal in {name} that this "
            f"waits for: {side.missing}; {remedy}"
        )
    about = tuple(dict.fromkeys((payload.line, *side.about)))
    return Finding(side.access.line, side.finding, message, level, about)


def _message(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    one, other = _threads(conflict)
    if _is_of_lifetime(conflict):
        what = _object(first.place.root, first.place.root)
        side = "before" if "begun" in conflict.missing else "after"
        return (
            f"a thread {_does(first)} {what} of another block of its cluster: {conflict.missing}; "
            f"write cluster.sync() {side} it"
        )
    also = " too" if _is_of_itself(conflict) else ""
    launch = _launch(conflict)
    what, missing = _object(second.place.root, first.place.root), _said(conflict)
    if second.text == END:
        return (
            f"the kernel may end here while the copy of line {first.line} reads {what} ({launch}): "
            f"{missing}; {_remedy(conflict)}"
        )
    where = f"line {first.line}, {launch}"
    if conflict.finding is Rule.ASYNC_UNWAITED and first.agent is Agent.THREAD:
        return (
            f"{one} {_does(first)} {what} ({where}) while the copy that {other} starts here may "
            f"be in flight: {missing}; {_remedy(conflict)}"
        )
    return (
        f"{other} {_does(second)} {what} where {one} {_does(first)} it{also} ({where}): {missing}; "
        f"{_remedy(conflict)}"
    )


def _launch(conflict: Conflict) -> str:
    """A launch that has the race, and its condition: a judge gives that with its reason."""
    needs = _REASON.split(conflict.condition)[0].replace("CTA", "block")
    if needs.startswith(ONE_AS):
        return f"only with a launch such as {needs.removeprefix(ONE_AS)}"
    if conflict.condition == ONE_VALUE:
        return f"as in {conflict.witness}, where both write one value"
    if needs == f"as {conflict.witness}":
        return f"only with a launch such as {conflict.witness}"
    return f"only with {needs}, as in {conflict.witness}" if needs else f"as in {conflict.witness}"


def _said(conflict: Conflict) -> str:
    """The missing order in words, with the line that sees the signal, without the outcome that a
    model allows."""
    missing = conflict.missing.partition(": the ")[0]
    if conflict.cause is None:
        return missing
    if missing.endswith(" the signal"):
        return f"{missing} that line {conflict.cause} sees"
    return f"{missing} at line {conflict.cause}" if missing.endswith(" is seen") else missing


def _is_of_itself(conflict: Conflict) -> bool:
    return conflict.first.instruction == conflict.second.instruction


_VERBS = ("read", "write")


def _does(access: Access) -> str:
    if access.number < 0:  # Of an mbarrier.
        return "uses" if access.is_strong else "initialises"
    if access.agent is not Agent.THREAD:
        verbs = ("starts a copy that reads", "starts a copy that writes")
    else:
        verbs = ("reads", "writes")
    if access.is_atomic:
        return "updates"
    return verbs[access.writes]


def _object(root: Root, other: Root) -> str:
    known = other if root.region is Region.UNKNOWN else root
    kind = _OBJECTS.get(known.region)
    if kind is None:
        return f"{known.name} memory" if known.name in ("shared", "global") else "memory"
    if " " not in known.name:
        return f"{kind} '{known.name}'"
    return f"the memory of {known.name}" if known.region is Region.PARAMETER else known.name


def _remedy(conflict: Conflict) -> str:
    """The words to write, with the narrowest fence that includes both threads."""
    remedy = _remedy_of(conflict)
    is_of_block = conflict.relation in (Relation.WARP, Relation.CTA)
    return remedy.replace("__threadfence()", "__threadfence_block()") if is_of_block else remedy


def _remedy_of(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    if conflict.missing == DIVERGENT_BARRIER:
        return _OF_DIVERGENCE
    if conflict.missing == NOT_EVERY_ITERATION and conflict.relation is Relation.GRID:
        return _OF_HANDED
    if conflict.finding is Rule.ASYNC_UNWAITED:
        is_second = first.agent is Agent.THREAD or conflict.cause != second.line
        copy = second if is_second and second.agent is not Agent.THREAD else first
        wait = _OF_COPIES.get(copy.agent, "wait for it")
        if copy.agent is Agent.GROUP and copy.writes:
            wait += " (without .read)"
        if conflict.missing == NO_BARRIER:
            wait += " and then __syncthreads()"
        where = "this" if first.agent is not Agent.THREAD else f"line {first.line}"
        return f"{wait} before {where}"
    if NOT_AT_BARRIER in conflict.missing and conflict.finding is Rule.UNORDERED_SIGNAL:
        return _OF_BARE_BARRIER
    if conflict.finding is Rule.MBARRIER_PHASE and _NO_ARRIVAL in conflict.missing:
        return _OF_PHASE
    if conflict.finding is Rule.MBARRIER_INIT and conflict.relation is Relation.CLUSTER:
        return _OF_PEER
    if conflict.finding is Rule.UNORDERED_SIGNAL and _BOTH_LACK in conflict.missing:
        return _OF_BOTH
    if conflict.finding in (Rule.UNORDERED_SIGNAL, Rule.UNORDERED_WAIT):
        if _TOO_NARROW in conflict.missing and conflict.relation in _OF_WIDTH:
            which = "both" if "scopes" in conflict.missing else "it"
            return f"give {which} {_OF_WIDTH[conflict.relation]}"
    if conflict.finding is Rule.SPIN and not (first.is_strong or second.is_strong):
        return _OF_FLAG
    if conflict.cause is None and conflict.finding in (
        Rule.MISSING_BARRIER,
        Rule.UNORDERED_SIGNAL,
    ):
        if first.is_strong and second.is_strong:
            return _OF_SCOPES
        if _is_update(first, second):
            return _OF_UPDATE
        if _is_tested(first, second) or _is_tested(second, first):
            return _REMEDIES[Rule.SPIN]
        if conflict.relation is Relation.GRID:
            return _OF_NOTHING
        if _is_of_itself(conflict):
            return _OF_ITSELF
        if conflict.relation is Relation.WARP:
            return _OF_WARP
    return _REMEDIES[conflict.finding]


def _is_tested(read: Access, update: Access) -> bool:
    """True of a weak read of a value that an atomic update of the place depends on."""
    return (
        not read.writes
        and not read.is_strong
        and update.is_atomic
        and any(
            isinstance(leaf, Result) and leaf.instruction == read.instruction
            for leaf in leaves(each.value for each in update.conditions)
        )
    )


def _is_update(first: Access, second: Access) -> bool:
    """True of a read and a write of one place by all threads, as of a sum that is no atomic."""
    return (
        first.place == second.place
        and first.place.offset is not None
        and set(first.conditions) == set(second.conditions)
        and first.reads != second.reads
        and first.writes != second.writes
    )
