"""Executions of the axiomatic models as graphs of events, for any model.

A graph says which relations are worth drawing and which cycle speaks against the execution;
``graph_svg`` draws it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core import condition
from fencewright.simulator.core.bit_relation import find_cycle, from_pairs, shortest_path
from fencewright.simulator.core.condition import Observable
from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.core.program import (
    Placement,
    Program,
    ProgramError,
    Thread,
    place_at,
)
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.pictures.graph_explainer import (
    ExplainedEvent,
    Fenced,
    forbidden_explained,
    loose_explained,
    weak_explained,
)
from fencewright.simulator.pictures.missing import drawn_if_possible
from fencewright.simulator.ptx import events as ptx_events
from fencewright.simulator.ptx import witnesses as ptx_witnesses
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, instruction_text
from fencewright.simulator.ptx.instructions import PtxFence, PtxProgram
from fencewright.simulator.ptx.model import PtxModel, PtxWitness
from fencewright.simulator.source import events as source_events
from fencewright.simulator.source import witnesses as source_witnesses
from fencewright.simulator.source.events import ScopedProgram
from fencewright.simulator.source.execution import FULL_MODEL, Race
from fencewright.simulator.source.model import SourceWitness as SourceWitness

INITIAL = -1
"""The thread of initial writes."""

Pair = tuple[int, int]
Relations = Mapping[str, frozenset[Pair]]


@dataclass(frozen=True, slots=True)
class GraphEvent:
    """``effect`` is the event's effect on memory, ``instruction`` its origin.

    ``from_initial``: it reads an initial value. ``place`` is where the instruction was written.
    """

    thread: int
    effect: str
    instruction: str = ""
    from_initial: bool = False
    place: SourceLocation | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """Event ``source`` is related to event ``target``."""

    source: int
    target: int
    relation: str


@dataclass(frozen=True, slots=True)
class ExecutionGraph:
    """An execution as it is drawn.

    ``threads`` are headings. ``edges`` leave out what follows from others (program and
    coherence order are between neighbours, and within a thread program order says it all) and
    what initial writes are related to. ``cycle``
    is what speaks against the execution: the cycle of a broken axiom, else one that no
    interleaving has, else (). ``verdict`` says which; ``is_defect`` when the model forbids the
    execution or gives it no meaning. ``explanation`` is one sentence on why it is as it is.
    """

    name: str
    verdict: str
    explanation: str
    is_defect: bool
    outcome: str
    threads: tuple[str, ...]
    events: tuple[GraphEvent, ...]
    edges: tuple[Edge, ...]
    cycle: tuple[Edge, ...]

    def _repr_svg_(self) -> str | None:
        from fencewright.simulator.pictures.graph_svg import graph_svg

        return drawn_if_possible(graph_svg, self)

    def thread(self, event: int) -> int:
        """The thread of an event."""
        return self.events[event].thread

    def where(self, event: int) -> str:
        """The line of an event, with its file where there are several; empty if it is not known."""
        place = self.events[event].place if event < len(self.events) else None
        if place is None:
            return ""
        files = {each.place.file for each in self.events if each.place is not None}
        return f"  (line {place.line})" if len(files) == 1 else f"  ({place})"


_DRAWN = ("race", "rmw", "copy", "po", "rf", "co", "fr", "sync", "sw", "sc")
_OF_RACES = ("race", "rmw", "copy", "po", "rf", "sync", "sw", "sc")
"""The relations of a graph of races: those that could order the accesses, without those that only
explain their values."""
_ORDERS = ("po", "co", "sc")
_INTERLEAVING = ("rmw", "copy", "po", "rf", "co", "fr")
_NAMED = ("rf", "co", "fr", "sc", "sync", "sw")
_THROUGH = ("rmw", "copy", "po", "sync", "sw", "sc")
_DERIVED_FROM = (_THROUGH, (*_THROUGH, "rf"), _DRAWN)
"""Relations that a step of a derived one (cause, hb, psc) is a chain of; the first that will do."""


def ptx_graph(test: PtxLitmusTest, witness: PtxWitness) -> ExecutionGraph:
    """An execution of the PTX model."""
    events = [
        GraphEvent(
            event.thread,
            _ptx_effect(event, value),
            _ptx_instruction(test, event),
            place=_place(test.program.threads, event.thread, event.position),
        )
        for event, value in zip(witness.events, witness.values, strict=True)
    ]
    explained = [
        _in_words(
            drawn,
            test.program.threads,
            f"{_NOUNS[event.kind.value]} of {event.variable}" if event.is_access else "",
            value=f"{event.variable} = {value}" if event.is_access else "",
            ordering=event.ordering,
            scope=event.scope,
            is_fence=event.kind is EventKind.FENCE,
            writes=event.kind is EventKind.WRITE,
            scope_word=SCOPE_WORDS[event.scope] if event.scope else "",
            proxy=_proxy(event),
        )
        for drawn, event, value in zip(events, witness.events, witness.values, strict=True)
    ]
    threads = [
        f"P{number}: {_ptx_place(each.placement)}"
        for number, each in enumerate(test.program.threads)
    ]
    return _graph(
        test.name,
        threads,
        events,
        explained,
        {**witness.relations, **_halves(test, witness.events)},
        [(axiom.value, cycle) for axiom, cycle in witness.violations],
        witness.state,
        _ptx_fenced(test.program, witness),
    )


STORY_WORK = 30_000
"""The steps (``WorkBudget``) that a model may take to confirm a fence that an explanation names."""


def _ptx_fenced(program: PtxProgram, witness: PtxWitness) -> Fenced:
    """Decides by the PTX model the outcomes that fences forbid; they are at system scope."""

    def fenced(ordering: Ordering, gaps: Sequence[Pair] | None) -> bool | None:
        made = _with_fences(program, witness.events, PtxFence(ordering, Scope.SYSTEM), gaps)
        wanted, work = condition.same_state(witness.state), WorkBudget(STORY_WORK)
        try:
            return ptx_witnesses.allowed_witness(made, wanted, PtxModel(), _BOUND, work) is None
        except (LimitReached, ProgramError):
            return None

    return fenced


def _source_fenced(program: ScopedProgram, witness: SourceWitness) -> Fenced:
    """Decides by the source model the outcomes that fences forbid; they are at system scope."""

    def fenced(ordering: Ordering, gaps: Sequence[Pair] | None) -> bool | None:
        made = _with_fences(
            program, witness.events, source_events.Fence(ordering, Scope.SYSTEM), gaps
        )
        wanted, work = condition.same_state(witness.state), WorkBudget(STORY_WORK)
        try:
            found = source_witnesses.allowed_witness(made, wanted, FULL_MODEL, _BOUND, work)
        except (LimitReached, ProgramError):
            return None
        return found is None

    return fenced


_BOUND = 2
"""The rounds of a loop in the models' executions, as in ``litmus_run``."""


_AnyProgram = TypeVar("_AnyProgram", bound=Program[Any])


def _with_fences(
    program: _AnyProgram, events: Sequence[Any], fence: object, gaps: Sequence[Pair] | None
) -> _AnyProgram:
    """A program with a fence before the later event of each pair of one thread, or before all."""
    after = range(len(events)) if gaps is None else [later for _, later in gaps]
    at = {(events[later].thread, events[later].position) for later in after}
    threads = [
        Thread(
            each.placement,
            tuple(
                instruction
                for position, own in enumerate(each.instructions)
                for instruction in ([fence, own] if (number, position) in at else [own])
            ),
        )
        for number, each in enumerate(program.threads)
    ]
    return replace(program, threads=tuple(threads))


def _place(threads: Sequence[Thread[Any]], thread: int, position: int) -> SourceLocation | None:
    return None if thread == INITIAL else place_at(threads[thread].places, position)


_NOUNS = {"R": "load", "W": "store", "U": "atomic", "A": "arrival", "B": "wait"}
_SOURCE_SCOPES: Mapping[Scope | None, str] = {Scope.WORKGROUP: "work-group"}


def _proxy(event: ptx_events.PtxEvent) -> str:
    """The proxy of an access, where that is not the generic one; a second name is one as well."""
    if event.is_access and event.variable != event.location:
        return "alias"
    usual = event.proxy in (None, ptx_events.PtxProxy.GENERIC)
    return "" if usual or event.proxy is None or not event.is_access else event.proxy.value


def _in_words(
    drawn: GraphEvent, threads: Sequence[Thread[Any]], noun: str, **more: Any
) -> ExplainedEvent:
    """An event as explanations need it, with ``more`` of its fields; an initial write has no
    thread."""
    placement = Placement() if drawn.thread == INITIAL else threads[drawn.thread].placement
    noun = noun or f"'{drawn.instruction}'"
    return ExplainedEvent(
        drawn.thread, noun, text=drawn.instruction, placement=placement, place=drawn.place, **more
    )


def _ptx_effect(event: ptx_events.PtxEvent, value: int) -> str:
    return f"{event.kind.value} {event.variable} = {value}" if event.is_access else event.kind.value


def _ptx_instruction(test: PtxLitmusTest, event: ptx_events.PtxEvent) -> str:
    if event.thread == INITIAL:
        return ""
    return instruction_text(test.program.threads[event.thread].instructions[event.position])


def _ptx_place(placement: Placement) -> str:
    cluster = "" if placement.cluster is None else f", cluster {placement.cluster}"
    return f"cta {placement.workgroup}{cluster}, gpu {placement.agent}"


def _halves(test: PtxLitmusTest, events: Sequence[ptx_events.PtxEvent]) -> dict[str, list[Pair]]:
    """The read and the write of each read-modify-write, and of each copy."""
    found: dict[str, list[Pair]] = {"rmw": [], "copy": []}
    for number, (one, other) in enumerate(pairwise(events)):
        if (
            one.kind is EventKind.READ
            and other.kind is EventKind.WRITE
            and (one.thread, one.position) == (other.thread, other.position)
        ):
            instruction = test.program.threads[one.thread].instructions[one.position]
            changes = getattr(instruction, "operation", None) is not None
            found["rmw" if changes else "copy"].append((number, number + 1))
    return found


def source_graph(program: ScopedProgram, witness: SourceWitness) -> ExecutionGraph:
    """An execution of the source model; its data races are edges of a relation ``race``."""
    events = [
        GraphEvent(
            event.thread,
            _source_effect(event, read, written),
            "" if event.operation is None else str(event.operation),
            place=_place(program.threads, event.thread, event.position),
        )
        for event, read, written in zip(witness.events, witness.read, witness.written, strict=True)
    ]
    explained = [
        _in_words(
            drawn,
            program.threads,
            f"{_NOUNS[event.kind.value]} of {event.location}" if event.location else "",
            value=f"{event.location} = {written if read is None else read}",
            ordering=event.ordering,
            scope=event.scope,
            is_fence=event.kind is EventKind.FENCE,
            writes=event.writes,
            scope_word=_SOURCE_SCOPES.get(event.scope, str(event.scope)),
        )
        for drawn, event, read, written in zip(
            events, witness.events, witness.read, witness.written, strict=True
        )
    ]
    threads = [
        f"P{number}: {_source_place(each.placement)}" for number, each in enumerate(program.threads)
    ]
    number_of = {(each.thread, each.position): n for n, each in enumerate(witness.events)}
    communication = {pair for name in ("rf", "co", "fr") for pair in witness.relations[name]}
    race: list[Pair] = []
    for each in witness.races:
        first = number_of[each.first.thread, each.first.position]
        second = number_of[each.second.thread, each.second.position]
        race.append((second, first) if (second, first) in communication else (first, second))
    return _graph(
        program.name,
        threads,
        events,
        explained,
        {**witness.relations, "race": race},
        [(rule.value, cycle) for rule, cycle in witness.violations],
        witness.state,
        _source_fenced(program, witness),
        witness.races,
    )


def _source_effect(event: source_events.Event, read: int | None, written: int | None) -> str:
    if read is None and written is None:
        return event.kind.value
    values = " to ".join(str(value) for value in (read, written) if value is not None)
    return f"{event.kind.value} {event.location} = {values}"


def _source_place(placement: Placement) -> str:
    cluster = f", cluster {placement.cluster}" if placement.cluster else ""
    return f"work-group {placement.workgroup}{cluster}, agent {placement.agent}"


# The drawn parts


def _graph(
    name: str,
    threads: Sequence[str],
    events: Sequence[GraphEvent],
    explained: Sequence[ExplainedEvent],
    relations: Mapping[str, Iterable[Pair]],
    violations: Sequence[tuple[str, tuple[int, ...]]],
    state: Mapping[Observable, int | None],
    fenced: Fenced,
    races: Sequence[Race] = (),
) -> ExecutionGraph:
    racy = sorted({each.location for each in races})
    full = {name: frozenset(pairs) for name, pairs in relations.items()}
    near = _reduced(full, events)
    initial = {n for n, event in enumerate(events) if event.thread == INITIAL}
    unwritten = {read for write, read in full["rf"] if write in initial}
    events = [
        replace(event, from_initial=number in unwritten) for number, event in enumerate(events)
    ]
    if violations:
        cycle = _explained(full, near, len(events), violations[0][1])
        verdict = "forbidden by " + " and ".join(axiom for axiom, _ in violations)
        explanation = forbidden_explained(explained, violations[0][0], _steps(cycle))
    elif racy:
        cycle = ()
        verdict = "data race on " + ", ".join(racy)
        explanation = f"{str(races[0]).capitalize()[0]}{str(races[0])[1:]}."
    else:
        cycle = _weak_cycle(near, len(events))
        verdict = "allowed, though no interleaving gives it" if cycle else "allowed"
        explanation = (
            weak_explained(explained, full, _steps(cycle), fenced)
            if cycle
            else loose_explained(explained, near["fr"], full)
        )
    in_cycle = {(each.source, each.target, each.relation) for each in cycle}
    edges = [
        Edge(source, target, relation)
        for relation in (_OF_RACES if racy and not violations else _DRAWN)
        for source, target in sorted(near.get(relation, ()))
        if (source, target, relation) not in in_cycle
        and source not in initial
        and not (relation in ("co", "fr") and _is_in_order(events, source, target))
    ]
    return ExecutionGraph(
        name,
        verdict,
        explanation,
        bool(violations or racy),
        ", ".join(f"{each} = {value}" for each, value in state.items()),
        tuple(threads),
        tuple(events),
        tuple(edges),
        cycle,
    )


def _steps(cycle: Sequence[Edge]) -> list[tuple[int, int, str]]:
    return [(each.source, each.target, each.relation) for each in cycle]


def _is_in_order(events: Sequence[GraphEvent], source: int, target: int) -> bool:
    """True if program order already says which of the two is the first."""
    return source < target and events[source].thread == events[target].thread


def _reduced(full: Relations, events: Sequence[GraphEvent]) -> Relations:
    """The pairs to draw: none that another pair or the start of all says already."""
    near = {name: _neighbours(full[name]) if name in _ORDERS else full[name] for name in full}
    co = full.get("co", frozenset[Pair]())
    near["po"] -= near.get("rmw", frozenset[Pair]()) | near.get("copy", frozenset[Pair]())
    overwriters = near["fr"]
    near["fr"] = frozenset(
        (read, write)
        for read, write in overwriters
        if read != write
        and not any(
            (read, between) in overwriters and (between, write) in co for _, between in overwriters
        )
    )
    for name in ("sync", "sw"):
        near[name] = frozenset(
            (a, b) for a, b in full.get(name, ()) if events[a].thread != events[b].thread
        )
    return near


def _neighbours(order: frozenset[Pair]) -> frozenset[Pair]:
    """A transitive order without the pairs that follow from two others."""
    after: dict[int, set[int]] = {}
    for a, b in order:
        after.setdefault(a, set()).add(b)
    nothing: set[int] = set()
    return frozenset(
        (a, b)
        for a, b in order
        if not any(b in after.get(between, nothing) for between in after[a] - {a, b})
    )


def _weak_cycle(near: Relations, size: int) -> tuple[Edge, ...]:
    """A cycle of program order and communication, which no interleaving has; () if none."""
    union = [pair for name in _INTERLEAVING for pair in near.get(name, ())]
    cycle = find_cycle(from_pairs(size, union))
    return tuple(Edge(a, b, _name(near, (a, b), _INTERLEAVING)) for a, b in pairwise(cycle))


def _name(relations: Relations, pair: Pair, names: Iterable[str]) -> str:
    return next(name for name in names if pair in relations.get(name, ()))


def _explained(
    full: Relations, near: Relations, size: int, cycle: tuple[int, ...]
) -> tuple[Edge, ...]:
    """The cycle of an axiom with its derived steps spelt out."""
    result: list[Edge] = []
    for pair in pairwise(cycle):
        result += _step(full, near, size, pair)
    return tuple(dict.fromkeys(result))


def _step(full: Relations, near: Relations, size: int, pair: Pair) -> list[Edge]:
    source, target = pair
    for halves in ("rmw", "copy"):
        if (target, source) in full.get(halves, ()):
            return [Edge(target, source, halves)]
    named = [name for name in _NAMED if pair in full.get(name, ())]
    if named:
        return [Edge(source, target, named[0])]
    for names in _DERIVED_FROM:
        steps = [step for name in names for step in near.get(name, ())]
        path = shortest_path(from_pairs(size, steps), source, target)
        if path:
            return [Edge(a, b, _name(near, (a, b), names)) for a, b in pairwise(path)]
    # All that is left is the path back of PTX's Coherence: the order that a partial co lacks.
    return [Edge(source, target, "no co")]
