"""Data races of the executions of a ``scoped`` program, and why nothing orders their accesses.

Two accesses of an execution race if nothing orders them. The reason is looked for where an order
could come from: what one thread does after its access is read by the other before its own,
directly or through further threads. Such a read is a *link*; of a path of links from the one
access to the other the first that does not synchronise is what is missing.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.core.bit_relation import Mask, Relation, mask_of, transitive_closure
from fencewright.simulator.core.program import place_at
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.source.events import Cmpxchg, Event
from fencewright.simulator.source.execution import Execution, Frame, Link, Race, RacingAccess


def least(found: dict[Race, Race], more: Iterable[Race]) -> None:
    """Add races to those that are known, each with its least reason."""
    for race in more:
        known = found.get(race)
        if known is None or race.key < known.key:
            found[race] = race


# Accesses that race


def location_order(x: Execution, location: str) -> Relation:
    """The order of accesses of ``location`` in which the later one cannot miss the earlier.

    Source: LLVM AMDGPU Memory Model, "Location Order", closed transitively.
    """
    frame, group = x.frame, x.frame.group[location]
    hb, here = x.hb[group], x.frame.here[location]
    reads = here & frame.read_mask
    order = [0] * frame.size
    making = frame.makes_available(group), frame.makes_visible(group)
    for number in bits(here):
        if frame.initial >> number & 1:
            order[number] = here & ~frame.initial
            continue
        order[number] = frame.po[number] & here
        if reads >> number & 1:
            order[number] |= hb[number] & here
        if frame.write_mask >> number & 1:
            order[number] |= _seen_after(x, hb, number, here, making)
    return transitive_closure(order)


def _seen_after(
    x: Execution, hb: Relation, write: int, here: Mask, making: tuple[Mask, Mask]
) -> Mask:
    """The accesses that ``write`` is location-ordered before, by availability and visibility."""
    frame = x.frame
    available = _availability(frame, hb, write, making[0])
    result = 0
    for operation, instance in available.items():
        result |= hb[operation] & here & frame.write_mask & instance
    visible = _visibility(frame, hb, available, here & frame.read_mask, making[1])
    for operation in visible:
        result |= (frame.po[operation] | 1 << operation) & here & frame.read_mask
    return result & hb[write] & ~(1 << write)


def _availability(frame: Frame, hb: Relation, write: int, making: Mask) -> dict[int, Mask]:
    """The availability operations on ``write``, each with the scope instance it reaches."""
    own = frame.own_reach(write)
    reaching = mask_of(each for each in bits(making) if frame.reach(each) >> write & 1)

    def reach(operation: int) -> Mask:
        return own if own and operation == write else frame.reach(operation)

    def following(earlier: int) -> Iterator[int]:
        return bits(hb[earlier] & reach(earlier) & reaching)

    starts = (*((write,) if own else ()), *bits(frame.po[write] & making))
    return {operation: reach(operation) for operation in walk(starts, following)}


def _visibility(
    frame: Frame, hb: Relation, available: Mapping[int, Mask], reads: Mask, making: Mask
) -> dict[int, Mask]:
    """The visibility operations on a write, each with the scope instance it is visible in."""
    visible: dict[int, Mask] = {}
    instances = {number: frame.reach(number) for number in bits(making)}
    for read in bits(reads):
        own = frame.own_reach(read)
        if own:
            instances[read] = instances.get(read, 0) | own
    changed = True
    while changed:
        changed = False
        for operation, instance in instances.items():
            reach = visible.get(operation, 0)
            for earlier, scope in (*available.items(), *visible.items()):
                if (
                    hb[earlier] >> operation & 1
                    and scope >> operation & 1
                    and instance >> earlier & 1
                ):
                    reach |= scope & instance
            if reach != visible.get(operation, 0):
                visible[operation] = reach
                changed = True
    return visible


def racing(x: Execution) -> Iterator[tuple[int, int]]:
    """The pairs of accesses that race in an execution."""
    frame = x.frame
    orders: dict[str, Relation] = {}
    for a, b in frame.conflicts:
        location = frame.events[a].location or ""
        if location not in orders:
            limited = frame.without_availability
            orders[location] = (
                location_order(x, location) if limited else x.hb[frame.group[location]]
            )
        order = orders[location]
        if not order[a] >> b & 1 and not order[b] >> a & 1:
            yield a, b


# Reasons that nothing orders two accesses

_UNCONNECTED = "neither reads before its access what the other wrote after its own"

_Why = tuple[tuple[int, ...], str]
"""The distance from an order, and the words for the missing synchronisation."""


def races(x: Execution) -> list[Race]:
    """The races of an execution, with their reasons there."""
    frame, found = x.frame, list[Race]()
    pairs = [*racing(x)]
    links = tuple(_links(x)) if pairs else ()
    for a, b in pairs:
        hb = x.hb[frame.group[frame.events[a].location or ""]]
        # An order is there, but not one of locations.
        is_ordered = bool(hb[a] >> b & 1 or hb[b] >> a & 1)
        key = (a, b, None if is_ordered else links)
        race = frame.races.get(key)
        if race is None:
            race = frame.races[key] = _race(frame, a, b, key[2])
        found.append(race)
    return found


def _race(frame: Frame, a: int, b: int, links: tuple[Link, ...] | None) -> Race:
    """The race of two accesses; ``links`` is None if happens-before orders them."""
    first, second = frame.events[a], frame.events[b]
    rank: tuple[int, ...] = ()
    if links is None:
        reason = "ordered, but av(none) leaves the write unavailable or not visible"
    elif first.is_weak or second.is_weak:
        weak = "both are weak"
        if not (first.is_weak and second.is_weak):
            weak = f"P{(first if first.is_weak else second).thread}'s access is weak"
        rank, why = _unordered(frame, a, b, links)
        reason = f"{weak}, and {why}"
    else:
        reason = "; ".join(_unreached(frame, a, b))
    return Race(first.location or "", _access(frame, first), _access(frame, second), reason, rank)


def _access(frame: Frame, event: Event) -> RacingAccess:
    return RacingAccess(event.thread, event.position, str(event.operation), _place(frame, event))


def _place(frame: Frame, event: Event) -> SourceLocation | None:
    return place_at(frame.skeleton.program.threads[event.thread].places, event.position)


def _unordered(frame: Frame, a: int, b: int, links: tuple[Link, ...]) -> _Why:
    """The reason that neither access happens before the other."""
    # That one reads what the other wrote is the race itself.
    others = [link for link in links if {*link} != {a, b}]
    found = [why for one, other in ((a, b), (b, a)) for why in _missing(frame, others, one, other)]
    return min(found, default=((), _UNCONNECTED))


def _links(x: Execution) -> list[Link]:
    frame = x.frame
    found: list[Link] = []
    for read in frame.reads:
        write, passed = x.source[read], 1 << read
        while not frame.initial >> write & 1 and not passed >> write & 1:
            found.append((write, read))
            passed |= 1 << write
            if frame.events[write].kind is not EventKind.UPDATE:
                break
            write = x.source[write]
    for arrivals, waits in frame.skeleton.barriers:
        found += product(bits(arrivals), bits(waits))
    return [(w, r) for w, r in found if frame.events[w].thread != frame.events[r].thread]


def _missing(frame: Frame, links: list[Link], start: int, end: int) -> list[_Why]:
    """The missing parts of the shortest paths of links from one access to another."""

    def follows(earlier: int, later: int) -> bool:
        return earlier == later or bool(frame.po[earlier] >> later & 1)

    paths = [(link,) for link in links if follows(start, link[0])]
    reached = mask_of(path[-1][1] for path in paths)
    while paths:
        whole = [path for path in paths if follows(path[-1][1], end)]
        if whole:
            return [_broken(frame, path, start, end) for path in whole]
        longer: list[tuple[Link, ...]] = []
        for path in paths:
            for link in links:
                if not reached >> link[1] & 1 and follows(path[-1][1], link[0]):
                    longer.append((*path, link))
                    reached |= 1 << link[1]
        paths = longer
    return []


def _broken(frame: Frame, path: tuple[Link, ...], start: int, end: int) -> _Why:
    """The missing part of the first link of a path that does not synchronise."""
    entry = start
    for number, (write, read) in enumerate(path):
        leave = path[number + 1][0] if number + 1 < len(path) else end
        problems = _problems(frame, entry, (write, read), leave, frame.events[start].location)
        if problems:
            weak = frame.events[write].is_weak or frame.events[read].is_weak
            return ((len(path), weak, len(problems)), "; ".join(problems))
        entry = read
    return ((len(path), 0, 0), "what synchronises on the way does not add up")


def _problems(frame: Frame, entry: int, link: Link, leave: int, location: str | None) -> list[str]:
    """The reasons that a link does not order events before ``entry`` before those after ``leave``.

    ``location`` is where the accesses are that race.
    """
    write, read = link
    writer, reader = frame.events[write], frame.events[read]
    before, after = frame.po_before, frame.po
    heads = before[write] & frame.release_fences & (after[entry] | 1 << entry)
    tails = after[read] & frame.acquire_fences & (before[leave] | 1 << leave)
    heads |= writer.ordering.releases << write
    tails |= reader.ordering.acquires << read
    problems: list[str] = []
    if writer.is_weak or not heads:
        problems.append(_lacks(frame, write, "releases", frame.release_fences))
    if reader.is_weak or not tails:
        problems.append(_lacks(frame, read, "acquires", frame.acquire_fences))
    if problems:
        return problems
    pairs = [*product(bits(heads), bits(tails))]
    if not any(frame.inclusive[head] >> tail & 1 for head, tail in pairs):
        return list(min(_unreached(frame, head, tail, named=True) for head, tail in pairs))
    flag = None if writer.location is None else frame.group[writer.location]
    group = frame.group[location or ""]
    if any(groups >> group & 1 for *_, groups in frame.between(heads, tails, flag)):
        return []
    ends = {number for pair in pairs for number in pair}
    wrong = min(each for each in ends if not frame.carried(each, flag) >> group & 1)
    return [f"{_the(frame, wrong)} does not order the address space of {location}"]


def _lacks(frame: Frame, number: int, verb: str, fences: Mask) -> str:
    """That an access releases or acquires nothing; ``fences`` would if they stood elsewhere."""
    event = frame.events[number]
    said = f"{_the(frame, number)} is {event.ordering}: it {verb} nothing"
    own = [each for each in bits(fences) if frame.events[each].thread == event.thread]
    if event.is_weak or not own:
        return said
    return f"{said}, and {_the(frame, own[0])} does not stand between it and the access"


_NOUNS = {
    EventKind.READ: "load",
    EventKind.WRITE: "store",
    EventKind.UPDATE: "read-modify-write",
    EventKind.FENCE: "fence",
    EventKind.ARRIVE: "barrier",
    EventKind.BARRIER: "barrier",
}


def _the(frame: Frame, number: int) -> str:
    """The name of an event in sentences: its thread, kind and position."""
    event = frame.events[number]
    noun = _NOUNS[event.kind]
    if isinstance(event.operation, Cmpxchg):
        noun = "failed cmpxchg" if event.kind is EventKind.READ else "cmpxchg"
    what = noun if event.location is None else f"{noun} of {event.location}"
    place = _place(frame, event)
    where = f"instruction {event.position}" if place is None else f"line {place.line}"
    return f"P{event.thread}'s {what}, {where},"


_FARTHER = {
    Scope.WORKGROUP: "in another work-group",
    Scope.CLUSTER: "in another cluster",
    Scope.AGENT: "in another agent",
}


def _unreached(frame: Frame, a: int, b: int, named: bool = False) -> tuple[str, ...]:
    """The operations of two whose scope does not include the other's thread."""
    found: list[str] = []
    for one, other in ((a, b), (b, a)):
        first, second = frame.events[one], frame.events[other]
        if frame.instances[one] >> other & 1:
            continue
        far = _FARTHER.get(first.scope or Scope.SINGLETHREAD, "in another wave")
        of = _the(frame, one) if named else f"P{first.thread}"
        found.append(f"scope {first.scope} of {of} does not reach P{second.thread} {far}")
    return tuple(found)
