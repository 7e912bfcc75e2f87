"""Findings as text: both accesses with their places, and the missing part of a near order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencewright.simulator.race.detector import Access, Detector, Link, Race
from fencewright.simulator.race.rules import KINDS, Fault
from fencewright.simulator.threads.observer import Site
from fencewright.simulator.threads.schedule import Outcome, names_of

_SCOPES = ("cta", "cluster", "gpu")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its kind, its text, and its line of the file.

    ``key``: the same for findings of one kind at the same pair of source lines; ``cause``: for
    those that one repair ends, None where no other is known to be. ``needs_launch``: other
    sizes or contents of the launch may order the two, so that a guess does not show it.
    ``instruction``: the text of the one at that line. ``other``: the line of the other access, 0
    where there is none. ``threads``: that do the other access and this one, "" where unknown.
    """

    kind: Fault
    text: str
    line: int
    key: tuple[object, ...]
    instruction: str
    is_error: bool = True
    needs_launch: bool = True
    other: int = 0
    threads: tuple[str, str] = ("", "")
    cause: object = None


def findings_of(detector: Detector, outcome: Outcome) -> Iterator[Finding]:
    """The findings of an execution that has ended: races, hangs, and warps that come to a barrier
    in part."""
    for race in detector.races.values():
        yield finding_of(detector, race)
    yield from _hangs(detector, outcome)
    yield from _partial(detector, outcome)
    yield from _unwritten(detector)


def _who(detector: Detector, access: Access) -> str:
    if access.thread < detector.count:
        return str(detector.machine.threads[access.thread])
    owner = detector.machine.threads[detector.owners[access.thread]]
    return f"{detector.agents[access.thread]} of {owner}"


def finding_of(detector: Detector, race: Race) -> Finding:
    """The finding that a race is."""
    first, second = race.first, race.second
    kind = _kind(detector, race)
    sites, row = detector.sites, KINDS[kind]
    place = race.memory.place(race.at)
    one, other = sites[first.site], sites[second.site]
    if kind in (Fault.PEER_BEGIN, Fault.PEER_EXIT):
        access = second if kind is Fault.PEER_BEGIN else first
        where = sites[access.site]
        text = (
            f"{row.words}: {_who(detector, access)} accesses the shared memory of block "
            f"{race.memory.home.number} at {where.place} ({where.name}): {row.lacks}"
        )
        return Finding(
            kind, text, where.instruction.line, (kind, where.key), where.instruction.text
        )
    does = "writes" if second.writes else "reads"
    did = "wrote" if first.writes else "read"
    if kind is Fault.INITIALISATION:
        does, did = "uses", "initialised"
    text = (
        f"{row.words}: {_who(detector, second)} {does} {place} at {other.place} ({other.name}); "
        f"{_who(detector, first)} {did} it at {one.place} ({one.name})"
    )
    if race.same_value:
        text += ", with the same value"
    text += f": {_lacks(detector, race, kind)}"
    # Two instructions on one line, as in a macro, have lines of their own that distinguish them.
    lines = (one.instruction.line, other.instruction.line) if one.key[:2] == other.key[:2] else ()
    key = kind, one.key, other.key, lines
    is_error = kind is not Fault.SAME_VALUE
    return Finding(
        kind, text, other.instruction.line, key, other.instruction.text, is_error,
        not is_error or (race.link is None and row.needs_launch), one.instruction.line,
        (_who(detector, first), _who(detector, second)), _cause(detector, race, kind),
    )  # fmt: skip


def _cause(detector: Detector, race: Race, kind: Fault) -> object:
    """The value that should order two accesses, the copy that is not waited for, or both places:
    a missing barrier may show in both directions, and in each copy of an unrolled loop."""
    one, other = (detector.sites[each.site].place for each in (race.first, race.second))
    if race.link is not None and kind in _CONFLICTS:
        ends = (race.link.message.site, race.link.site)
        return kind, *(detector.sites[each].place for each in ends), _lacks(detector, race, kind)
    if kind in (Fault.COPY, Fault.SOURCE):
        return kind, one
    memory = race.memory.space, race.memory.name
    return unordered(memory if kind in _CONFLICTS else (kind, *memory), one, other)


def unordered_text(*, is_itself: bool, in_block: bool) -> str:
    """The lack of all order between two accesses, and what ends it."""
    repair = "order the blocks by a flag or by two launches, or give each a place of its own"
    if is_itself:
        repair = "let one thread do it, or give each thread a place of its own"
    elif in_block:
        repair = "put __syncthreads() between them"
    return f"{KINDS[Fault.WRITE_READ].lacks}: {repair}"


def unordered(memory: object, one: str, other: str) -> object:
    """The cause of races at two places that nothing orders."""
    return memory, frozenset((one, other))


_CONFLICTS = (Fault.WRITE_READ, Fault.READ_WRITE, Fault.WRITE_WRITE)
"""The kinds of which an order that nearly exists is looked for."""


def _kind(detector: Detector, race: Race) -> Fault:
    """The kind of a race as it is reported: asynchronous copies and equal values are apart."""
    if race.same_value:
        return Fault.SAME_VALUE
    by_copy = race.first.thread >= detector.count and _is_of_one_block(detector, race)
    if by_copy and race.kind in _CONFLICTS:
        return Fault.COPY if race.first.writes else Fault.SOURCE
    return race.kind


def _lacks(detector: Detector, race: Race, kind: Fault) -> str:
    if kind not in _CONFLICTS:
        return KINDS[kind].lacks
    if race.link is None:
        is_itself = race.first.site == race.second.site
        return unordered_text(is_itself=is_itself, in_block=_is_of_one_block(detector, race))
    return _nearly(detector, race.link, race.first)


def _is_of_one_block(detector: Detector, race: Race) -> bool:
    one, two = (detector.home(each.thread) for each in (race.first, race.second))
    return one.block == two.block


def _nearly(detector: Detector, link: Link, first: Access) -> str:
    """The sides of a value that was read which lack something to order the two accesses."""
    message, sites = link.message, detector.sites
    store, load = sites[message.site], sites[link.site]
    need = message.writer.distance(link.reader)
    scope = _SCOPES[need]
    faults: list[str] = []
    orders: list[str] = []
    fences: list[str] = []
    carried = message.at(detector.clocks, link.reader, need)
    if store.level < need:
        faults.append(f"the write has the scope {_SCOPES[store.level]}")
    elif not detector.knows(carried, first.thread, first.clock):
        faults.append(
            f"the write is no release and no fence of scope {scope} or wider comes before it"
        )
    if faults:
        orders.append(f"the write release.{scope}")
        fences.append("before the write")
    sides = len(faults)
    if load.level < need:
        faults.append(f"the read has the scope {_SCOPES[load.level]}")
    elif not load.acquires:
        faults.append(f"the read is no acquire and no fence of scope {scope} or wider follows it")
    if len(faults) > sides:
        orders.append(f"the read acquire.{scope}")
        fences.append("after the read")
    if not faults:
        return KINDS[Fault.WRITE_READ].lacks
    threads = "the same threads" if len(fences) > 1 else "the same thread"
    return (
        f"the value written at {store.place} ({store.name}) and read at {load.place} ({load.name}) "
        f"would order them, but {' and '.join(faults)}: make {' and '.join(orders)}, or put "
        f"fence.acq_rel.{scope} {' and '.join(fences)}, in {threads}"
    )


def hang_text(sites: Sequence[Site], outcome: Outcome) -> str:
    """The waiting place of each group of threads of a launch that hangs; "" if none hangs."""
    if not outcome.hang:
        return ""
    parts: list[str] = []
    for group in outcome.hang:
        if group.site is None:
            continue
        site = sites[group.site]
        verb = "polls" if group.polls else "waits"
        verb = verb if len(group.threads) == 1 else verb[:-1]
        parts.append(f"{names_of(group.threads)} {verb} at {site.place} ({site.name})")
    return f"hang: {'; '.join(parts)}; nothing changes any more"


def _hangs(detector: Detector, outcome: Outcome) -> Iterator[Finding]:
    text = hang_text(detector.sites, outcome)
    if not text:
        return
    first = next((g.site for g in outcome.hang if g.site is not None), None)
    at = None if first is None else detector.sites[first].instruction
    key = Fault.HANG, tuple(detector.sites[g.site].key for g in outcome.hang if g.site is not None)
    yield Finding(
        Fault.HANG, text, 1 if at is None else at.line, key, "" if at is None else at.text
    )


def _partial(detector: Detector, outcome: Outcome) -> Iterator[Finding]:
    for number, partial in outcome.partial.items():
        site = detector.sites[number]
        others = "the others are not there" if partial.splits else "the others have ended"
        text = (
            f"barrier divergence: only some lanes of a warp of block {partial.block.number} come "
            f"to {site.place} ({site.name}), which is for whole warps: {others}"
        )
        yield Finding(
            Fault.DIVERGENCE, text, site.instruction.line, (Fault.DIVERGENCE, site.key),
            site.instruction.text, is_error=partial.splits,
        )  # fmt: skip


def _unwritten(detector: Detector) -> Iterator[Finding]:
    row, machine = KINDS[Fault.UNWRITTEN], detector.machine
    if machine.skipped or machine.unobserved:
        # An unknown operation may have written there.
        return
    for number, (thread, memory, at) in detector.unwritten.items():
        site = detector.sites[number]
        text = (
            f"{row.words}: {thread} reads {memory.place(at)} at {site.place} ({site.name}): "
            f"{row.lacks}"
        )
        yield Finding(
            Fault.UNWRITTEN, text, site.instruction.line, (Fault.UNWRITTEN, site.key),
            site.instruction.text, is_error=False,
        )  # fmt: skip
