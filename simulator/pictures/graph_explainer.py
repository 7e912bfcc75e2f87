"""The essence of an execution of an axiomatic model, in one sentence.

Of an execution that no interleaving has: which order is missing, between which two lines, and why
what stands there does not give it. Of one that is forbidden: what orders the write before the read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.program import Placement

Pair = tuple[int, int]
Step = tuple[int, int, str]
"""From, to, and the relation."""
Fenced: TypeAlias = Callable[[Ordering, Sequence[Pair] | None], bool | None]
"""Decides whether fences of an ordering, one between each pair of events, forbid the final state.

The events of a pair are of one thread; without pairs there is a fence before every instruction.
None: that takes too long to find out.
"""


@dataclass(frozen=True, slots=True)
class ExplainedEvent:
    """An event in words: ``noun`` as "load of x", ``value`` as "x = 1"; empty for a fence.

    ``text`` is its instruction, ``placement`` that of its thread; ``scope_word`` what its language
    calls the scope, ``proxy`` how it reaches memory where that is not the usual way.
    """

    thread: int
    noun: str
    value: str
    text: str
    ordering: Ordering
    scope: Scope | None
    placement: Placement
    is_fence: bool = False
    writes: bool = False
    scope_word: str = ""
    proxy: str = ""
    place: SourceLocation | None = None

    @property
    def name(self) -> str:
        """With whose it is, and where."""
        return f"P{self.thread}'s {self.noun}{self.at}"

    @property
    def at(self) -> str:
        """Its position, in brackets."""
        return f" ('{self.text}')" if self.place is None else f" (line {self.place.line})"


class _Cycle:
    """A cycle as communications between threads: each with where its thread's part began."""

    def __init__(self, steps: Sequence[Step], within: Iterable[str]):
        inside = frozenset(within)
        communications = [each for each in steps if each[2] not in inside]
        self.steps = communications
        count = len(communications)
        self.starts = [communications[n - 1][1] for n in range(count)]
        self.ends = [communications[(n + 1) % count][0] for n in range(count)]


def weak_explained(
    events: Sequence[ExplainedEvent],
    relations: Mapping[str, frozenset[Pair]],
    steps: Sequence[Step],
    fenced: Fenced,
) -> str:
    """The reason that the model allows an execution with this cycle of program order and others."""
    cycle = _Cycle(_as_read(steps, relations), ("po", "rmw", "copy"))
    po = relations["po"]
    links = relations.get("sync", frozenset()) | relations.get("sw", frozenset())
    synchronised = {(events[a].thread, events[b].thread) for a, b in links}
    has_reads_from = False
    ordered: int | None = None
    for number, (write, read, relation) in enumerate(cycle.steps):
        if relation != "rf":
            continue
        has_reads_from = True
        reason = _unsynchronised(
            events, po, (cycle.starts[number], write), (read, cycle.ends[number])
        )
        if reason:
            return f"{_seen(events, cycle, number)}: {reason}."
        if cycle.starts[number] == write:
            continue
        ordered = number
        if (events[write].thread, events[read].thread) not in synchronised:
            return (
                f"{_seen(events, cycle, number)}: what releases and what acquires are there, but "
                "the one does not reach the other."
            )
    for number in {n for step in cycle.steps for n in step[:2]}:
        if events[number].proxy:
            return (
                f"{events[number].name} goes through the {events[number].proxy} proxy, and no "
                "proxy fence orders it with the others."
            )
    if ordered is not None:
        return (
            f"{_seen(events, cycle, ordered)}: what releases and what acquires synchronise, but "
            "not for "
            "these accesses: they are restricted to other objects, or not passed on from thread to "
            "thread."
        )
    ends = [source for source, _, _ in cycle.steps]
    gaps = [
        (start, end)
        for start, end in zip(cycle.starts, ends, strict=True)
        if start != end and not _fences(events, po, start, end)
    ]
    for start, end in gaps:
        if has_reads_from and events[end].writes:
            continue
        if lacks := _lacking(gaps, fenced):
            later, earlier = events[end], events[start]
            return f"{later.name} may come before its earlier {earlier.noun}{earlier.at}: {lacks}."
    return (
        "The threads do not agree on an order: what they have between their accesses does not "
        "order those of all threads of the cycle, because of its scope or because an access is "
        "weak."
    )


def _lacking(gaps: Sequence[Pair], fenced: Fenced) -> str:
    """The fence that the threads lack, confirmed by the model; empty if none helps."""
    weaker = fenced(Ordering.ACQ_REL, gaps)
    if weaker:
        return (
            "a fence that acquires and releases between the two keeps that order, and there is none"
        )
    strongest = fenced(Ordering.SEQ_CST, gaps)
    if strongest is None:
        return "no seq_cst fence stands between the two"
    if not strongest:
        return ""
    only = "only " if fenced(Ordering.ACQ_REL, None) is False else ""
    return (
        f"{only}a seq_cst fence between the two keeps that order for all threads, and there is none"
    )


def _as_read(steps: Sequence[Step], relations: Mapping[str, frozenset[Pair]]) -> list[Step]:
    """A cycle with coherence order into an update as its read, through updates between.

    Who reads an update that continues a release sequence synchronises with the release.
    """
    source = {read: write for write, read in relations["rf"]}
    read_of = {write: read for read, write in relations.get("rmw", frozenset[Pair]())}
    goes_on = steps[-1][2] in ("rmw", "rf", "co") and steps[0][2] in ("rf", "co")
    first = next((n for n, each in enumerate(steps) if each[2] == "po"), 0) if goes_on else 0
    found: list[Step] = []
    for one, other, relation in (*steps[first:], *steps[:first]):
        read = read_of.get(other, other)
        if relation not in ("rf", "co") or source.get(read) != one:
            found.append((one, other, relation))
            continue
        half = read_of.get(one, one)
        if found and found[-1] == (half, one, "rmw"):
            found.pop()
        release = one
        if found and found[-1][1:] == (half, "rf"):
            release, _, _ = found.pop()
        found.append((release, read, "rf"))
        if read != other:
            found.append((read, other, "rmw"))
    return found


def loose_explained(
    events: Sequence[ExplainedEvent],
    overwritten: Iterable[Pair],
    relations: Mapping[str, frozenset[Pair]],
) -> str:
    """Of an execution without such a cycle: proxies or a barrier that order nothing, or an
    interleaving.

    ``overwritten`` has reads with the writes that come next.
    """
    po = relations["po"]
    atomic = {read for read, _ in relations.get("rmw", frozenset())}
    found: dict[int, int] = {}
    for write, read in sorted(relations["rf"]):
        if read not in atomic:
            continue
        if write in found and events[read].thread != events[found[write]].thread:
            return (
                f"{events[found[write]].name} and {events[read].name} both read "
                f"{events[read].value}: they are atomic only to those whose scopes include them."
            )
        found[write] = read
    for read, write in sorted(overwritten):
        one, other = events[read], events[write]
        if one.thread < 0:
            continue
        proxy = one.proxy or other.proxy
        early = f"{one.name} reads {one.value} before {other.name} is there"
        if one.thread == other.thread and other.proxy and not one.proxy and (write, read) not in po:
            return f"{early}: that is asynchronous, and nothing {_span(other, one)} waits for it."
        if one.proxy != other.proxy:
            return (
                f"{early}: the two go through different proxies, of which one is {proxy}, and what "
                "stands between does not order them."
            )
        meets = [n for n, each in enumerate(events) if not each.value and not each.is_fence]
        came = any((write, n) in po for n in meets)
        if one.thread != other.thread and came and any((n, read) in po for n in meets):
            return f"{early}: a barrier stands between in both threads, but does not order the two."
    return "An interleaving of the threads ends so."


def _seen(events: Sequence[ExplainedEvent], cycle: _Cycle, number: int) -> str:
    """The value that a read saw, and the one that it should then have seen."""
    _, read, _ = cycle.steps[number]
    source, target, relation = cycle.steps[(number + 1) % len(cycle.steps)]
    reader = f"P{events[read].thread} sees {events[read].value}{events[read].at}"
    if relation == "fr":
        stale = events[source]
        return (
            f"{reader}, but reads {stale.value}{stale.at}, which {events[target].name} had "
            "overwritten"
        )
    if relation == "rf":
        return (
            f"{reader}, though {events[target].name} takes the value of {events[source].name}, "
            "which comes later"
        )
    return f"{reader}, but {events[target].name} overwrites {events[source].name}"


def _unsynchronised(
    events: Sequence[ExplainedEvent], po: frozenset[Pair], release: Pair, acquire: Pair
) -> str:
    """The reason that a write and the read of its value do not synchronise; empty if they do.

    ``release`` is from where on P's accesses have to be ordered, and the write; ``acquire`` the
    read, and up to where.
    """
    start, write = release
    read, end = acquire
    releasing = [write] if events[write].ordering.releases else []
    releasing += [n for n in _fences_of(events, po, start, write) if events[n].ordering.releases]
    acquiring = [read] if events[read].ordering.acquires else []
    acquiring += [n for n in _fences_of(events, po, read, end) if events[n].ordering.acquires]
    for one, what in ((events[write], "write"), (events[read], "read")):
        if one.ordering is Ordering.WEAK:
            return f"{one.name} is weak, and a weak {what} orders nothing"
    if start != write and not releasing:
        return (
            f"{events[write].name} is {events[write].ordering} and releases nothing, and no "
            f"release fence stands {_span(events[start], events[write])}"
        )
    if read != end and not acquiring:
        return (
            f"{events[read].name} is {events[read].ordering} and acquires nothing, and no "
            f"acquire fence stands {_span(events[read], events[end])}"
        )
    sides = [*(releasing or [write]), *(acquiring or [read]), write, read]
    for number in sides:
        one = events[number]
        other = events[read if one.thread == events[write].thread else write]
        if one.scope is not None and not one.placement.shares(other.placement, one.scope):
            word = one.scope_word
            return f"{one.name} has {word} scope, and P{other.thread} is in another {word}"
    return ""


def _span(one: ExplainedEvent, other: ExplainedEvent) -> str:
    """Between which lines, or instructions."""
    if one.place is not None and other.place is not None and one.place != other.place:
        return f"between line {one.place.line} and line {other.place.line}"
    return f"between '{one.text}' and '{other.text}'"


def _fences_of(
    events: Sequence[ExplainedEvent], po: frozenset[Pair], start: int, end: int
) -> list[int]:
    return [
        n
        for n, each in enumerate(events)
        if each.is_fence and (start, n) in po and ((n, end) in po or n == end)
    ]


def _fences(events: Sequence[ExplainedEvent], po: frozenset[Pair], start: int, end: int) -> bool:
    """True if a seq_cst fence, or two seq_cst accesses, keep the order of two events."""
    both = all(events[n].ordering is Ordering.SEQ_CST for n in (start, end))
    fences = _fences_of(events, po, start, end)
    return both or any(events[n].ordering is Ordering.SEQ_CST for n in fences)


def forbidden_explained(events: Sequence[ExplainedEvent], axiom: str, steps: Sequence[Step]) -> str:
    """The contradiction in a forbidden execution: the steps of ``cycle``, which break ``axiom``."""
    stale = next((step for step in steps if step[2] == "fr"), None)
    links = [step for step in steps if step[2] in _LINKS]
    through = " and ".join(
        f"{events[target].name} {_LINKS[relation]} {events[source].name}"
        for source, target, relation in links
    )
    if stale is None:
        chain = ", then ".join(dict.fromkeys(events[source].name for source, _, _ in steps))
        return f"It breaks {axiom}: {chain}, then the first again."
    read, write, _ = stale
    how = f", for {through}" if through else ""
    return (
        f"P{events[read].thread} cannot read {events[read].value}{events[read].at}: "
        f"{events[write].name} overwrites that and comes before it{how} ({axiom})."
    )


_LINKS = {
    "sync": "synchronises with",
    "sw": "synchronises with",
    "rf": "reads from",
    "sc": "comes in Fence-SC order after",
}
