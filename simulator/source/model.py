"""The memory model of the ``scoped`` language: outcomes, data races, witnesses.

The LLVM/C++20 model with inclusive scopes. ``definition`` states it plainly, and random programs
hold the two equal. What each rule says and where it was read is in ``ModelRule``. Where those
sources differ or are silent:

* seq_cst is ``psc`` of Lahav et al., "Repairing Sequential Consistency in C/C++11" (PLDI 2017),
  which C++20 [atomics.order] transcribes (LWG 3941 has where it went wrong), kept to pairs whose
  scopes include each other, as in Batty, Donaldson and Wickerson, "Overhauling SC Atomics in C11
  and OpenCL" (POPL 2016).
* An operation with ``spaces`` or ``one_as`` synchronises for some address spaces only, and
  happens-before is one relation for each space, as in OpenCL. A fence with ``spaces`` orders
  through a flag only if the flag is in them; a fence with ``one_as`` orders what is in the
  flag's own space. Through a barrier, which is in no space, either orders all its spaces.
  seq_cst operations that order every space have one order. It follows a space's happens-before
  between accesses to that space and fences, and that of operations that order all spaces
  between any two: a release of one space says nothing of a seq_cst access to another before it, for
  whose completion no target waits there (OpenCL C 3.0, 3.3.6, "for those locations";
  LLVM SIMemoryLegalizer waits for the counters of the spaces that are ordered).
* A relaxed barrier orders nothing alone, but carries a release fence before it to an acquire
  fence after it, as an atomic flag would.
* ``av(none)`` synchronises, but what it orders is not made available or visible: two weak
  accesses race unless they are *location-ordered* (LLVM AMDGPU Memory Model, "Location Order").
  Accesses that are atomic, volatile or in LDS make themselves available and visible; an access to
  LDS does so for its work-group, since no other thread can observe LDS. Without av(none)
  location order and happens-before agree.
* A read-modify-write that acquires and releases is two halves: it releases what is before it
  and acquires for what is after it. What it acquires itself propagates through the release
  sequence that it continues, to those whose scope includes the first release. Where all scopes
  include each other that is C++20. No sequence for CDNA could propagate it to narrower scopes too;
  LLVM's do not, nor do NVIDIA's for seq_cst (PTX Writer's Guide, Atomics ABI).
* Load buffering is allowed; a value may not depend on itself.

How outcomes are found: each reads-from relation fixes happens-before, and
which coherence orders remain is one question for each location, except with seq_cst.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random

from fencewright.lowering.code.bits import bits
from fencewright.simulator.core.bit_relation import (
    Mask,
    Relation,
    find_cycle,
    is_acyclic,
    mask_of,
    pairs,
    shortest_path,
    transitive_closure,
    union,
)
from fencewright.simulator.core.condition import (
    Memory,
    Observable,
    Outcomes,
    Register,
    State,
)
from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.core.interleaving import InterleavingHint
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.source.events import (
    Candidates,
    Combination,
    Event,
    ScopedProgram,
    Skeleton,
    Walks,
)
from fencewright.simulator.source.execution import (
    FULL_MODEL,
    Execution,
    Frame,
    ModelRule,
    Race,
    SeqCst,
    SourceModel,
)
from fencewright.simulator.source.races import least, races


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The possible behaviour of a program. ``outcomes`` is None when it has data races: then
    anything.
    """

    outcomes: Outcomes | None
    races: tuple[Race, ...]
    complete: bool

    def allows(self, target: Outcomes) -> bool:
        """True if every final state of ``target`` (over the same observables) is allowed."""
        if self.outcomes is None:
            return True
        if self.outcomes.observables != target.observables:
            raise ProgramError("outcomes of different observables; project one of them")
        return target.states <= self.outcomes.states

    def __str__(self) -> str:
        if self.outcomes is None:
            return "\n".join(["unspecified", *map(str, self.races)])
        return str(self.outcomes)


# The orders that one execution must have


def thin_air_order(x: Execution) -> Relation:
    """Writes before the writes that depend on reads of them."""
    rows = [0] * x.frame.size
    for write, needs in enumerate(x.frame.skeleton.dependences):
        while needs:
            low = needs & -needs
            source = x.source[low.bit_length() - 1]
            if source >= 0:
                rows[source] |= 1 << write
            needs ^= low
    return rows


def possible_order(x: Execution) -> Relation:
    """The order in a whole execution without which nothing happens at all.

    No value depends on itself, and nobody waits at a barrier for what comes after it.
    """
    order = thin_air_order(x)
    return union(order, x.frame.skeleton.held_up) if x.frame.skeleton.barriers else order


def forced_order(x: Execution, location: str) -> Relation | None:
    """The pairs of writes that coherence orders; None if it contradicts a read.

    Every shape of C++20's write-write, write-read, read-write and read-read coherence.
    """
    frame = x.frame
    here = frame.here[location]
    hb, source = x.hb[frame.group[location]], x.source
    writes = here & frame.write_mask
    first = writes & -writes
    co = [0] * frame.size
    co[first.bit_length() - 1] = writes & ~first
    coherent = ModelRule.COHERENCE in frame.rules
    for event in bits(here & ~first):
        bit = 1 << event
        after = hb[event] if coherent else 0
        if after & bit:
            return None
        if bit & writes:
            co[event] |= after & writes
        later_reads = after & here & frame.read_mask
        if bit & writes:
            for read in bits(later_reads):
                if source[read] != event:
                    co[event] |= 1 << source[read]
        if not bit & frame.read_mask:
            continue
        taken = source[event]
        taken_bit = 1 << taken
        if after & taken_bit:
            return None
        co[taken] |= (after | bit) & writes & ~taken_bit
        for read in bits(later_reads):
            if source[read] != taken:
                co[taken] |= 1 << source[read]
    for newest, seen in x.newest:
        for write in bits(seen & writes):
            co[write] |= 1 << newest
    for write in bits(writes):
        if co[write] & (first | 1 << write):
            return None
    return co


Chains = tuple[tuple[tuple[int, ...], ...], Relation]
"""Writes that follow each other without another between, and which chain is before which."""


def chains(x: Execution, location: str) -> Chains | None:
    """The coherence orders of a location, as a partial order of chains; None if there is none."""
    co = forced_order(x, location)
    return None if co is None else chains_of(x, location, co)


def chains_of(x: Execution, location: str, co: Relation) -> Chains | None:
    """``chains`` where coherence orders at least ``co``."""
    frame = x.frame
    writes = frame.here[location] & frame.write_mask
    follower: dict[int, int] = {}
    if ModelRule.ATOMICITY in frame.rules:
        for update in bits(writes & frame.read_mask):
            if follower.setdefault(x.source[update], update) != update:
                return None
    followers = mask_of(follower.values())
    found: list[tuple[int, ...]] = []
    for head in bits(writes & ~followers):
        chain = [head]
        while chain[-1] in follower:
            chain.append(follower[chain[-1]])
        found.append(tuple(chain))
    if sum(map(len, found)) != writes.bit_count():
        return None
    masks = [mask_of(chain) for chain in found]
    before = [0] * len(found)
    for number, chain in enumerate(found):
        passed = after = 0
        for write in chain:
            if co[write] & passed:
                return None
            passed |= 1 << write
            after |= co[write]
        before[number] = mask_of(
            other for other, mask in enumerate(masks) if other != number and after & mask
        )
    return (tuple(found), before) if is_acyclic(before) else None


def sequences(
    partial: Chains, preferred: Callable[[list[int]], list[int]] | None = None
) -> Iterator[tuple[int, ...]]:
    """Every total order of the writes that a partial order of chains allows.

    ``preferred`` says in which order to try the first writes of chains.
    """
    found, before = partial
    order = list(range(len(found)))
    if preferred is not None:
        heads = {chain[0]: number for number, chain in enumerate(found)}
        order = [heads[head] for head in preferred(list(heads))]

    def extend(left: Mask, done: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not left:
            yield done
        for number in order:
            if left >> number & 1 and not any(before[n] >> number & 1 for n in bits(left)):
                yield from extend(left & ~(1 << number), (*done, *found[number]))

    return extend((1 << len(found)) - 1, ())


def seq_cst_orders(x: Execution) -> Iterator[Relation]:
    """The orders that must have no cycle: of each group, and of all for those that order all."""
    count = x.frame.group_count
    everything = (1 << count) - 1
    if x.seq_cst is None:
        x.seq_cst = [SeqCst(x, 1 << group) for group in range(count)]
        if count > 1:
            x.seq_cst.append(SeqCst(x, everything))
    orders = [each.order() for each in x.seq_cst]
    yield from orders[:count]
    if count > 1:
        crossing = mask_of(
            n
            for n in bits(x.frame.seq_cst)
            if x.frame.orders[n] == everything and not _one_as(x.frame.events[n])
        )
        yield [row & crossing if crossing >> n & 1 else 0 for n, row in enumerate(union(*orders))]


def _one_as(event: Event) -> bool:
    return event.operation is not None and event.operation.one_as


# Enumeration


class Search:
    """All executions of one combination of paths."""

    def __init__(self, combination: Combination, frame: Frame, work: WorkBudget):
        self.frame = frame
        self.work = work
        self.written = combination.written
        written, read = combination.written, combination.read
        self.choices = [
            [write for write in writes if written[write] == read[number]]
            for number, writes in zip(frame.reads, frame.sources, strict=True)
        ]

    def executions(self) -> Iterator[Execution]:
        """Every choice of reads-from in which no value depends on itself."""
        frame = self.frame
        if frame.skeleton.deadlocks:
            return
        for chosen in product(*self.choices):
            if not self.work.take():
                return
            source = [-1] * frame.size
            for read, write in zip(frame.reads, chosen, strict=True):
                source[read] = write
            x = Execution(frame, source)
            if ModelRule.NO_THIN_AIR not in frame.rules or is_acyclic(possible_order(x)):
                yield x

    def sampled(self, hint: InterleavingHint, random: Random) -> Iterator[Execution]:
        """The execution that ``hint`` suggests, or one near it, if no value depends on itself."""
        if all(self.choices):
            self.choices = [
                [hint.chosen(read, choices, random)]
                for read, choices in zip(self.frame.reads, self.choices, strict=True)
            ]
            yield from self.executions()

    def sampled_memories(
        self, x: Execution, hint: InterleavingHint, random: Random
    ) -> set[tuple[int | None, ...]]:
        """The final values under the first coherence orders that are tried."""
        if not self.frame.orders_seq_cst:
            return self.memories(x)

        def preferred(writes: list[int]) -> list[int]:
            writes = sorted(writes, key=lambda write: hint.turn[write])
            return random.sample(writes, len(writes)) if hint.dares(random) else writes

        partial = [chains(x, location) for location in self.frame.locations]
        known = [each for each in partial if each is not None]
        if len(known) < len(partial):
            return set()
        for _ in range(_MOST_ORDERS):
            orders = tuple(next(sequences(each, preferred)) for each in known)
            x.order_writes(orders)
            if all(map(is_acyclic, seq_cst_orders(x))):
                return {tuple(self.written[order[-1]] for order in orders)}
        return set()

    def complete(self, x: Execution) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Every coherence order that the axioms allow; ``x`` has the one that is looked at."""
        partial = [chains(x, location) for location in self.frame.locations]
        known = [each for each in partial if each is not None]
        if len(known) < len(partial):
            return
        for orders in product(*(list(self._counted(each)) for each in known)):
            if not self.work.take():
                return
            x.order_writes(orders)
            if not self.frame.orders_seq_cst or all(map(is_acyclic, seq_cst_orders(x))):
                yield orders

    def _counted(self, partial: Chains) -> Iterator[tuple[int, ...]]:
        """The sequences of a location, until the work is at an end."""
        for order in sequences(partial):
            if not self.work.take():
                return
            yield order

    def memories(self, x: Execution) -> set[tuple[int | None, ...]]:
        """The final values of the accessed locations, with any coherence order; none: forbidden."""
        if self.frame.orders_seq_cst:
            return {
                tuple(self.written[order[-1]] for order in orders) for orders in self.complete(x)
            }
        finals: list[set[int | None]] = []
        for location in self.frame.locations:
            partial = chains(x, location)
            if partial is None:
                return set()
            found, before = partial
            finals.append(
                {
                    self.written[chain[-1]]
                    for chain, after in zip(found, before, strict=True)
                    if not after
                }
            )
        return set(product(*finals))


class _Frames:
    """The frame of each skeleton, made once."""

    def __init__(self, model: SourceModel):
        self.model = model
        self.known: dict[int, Frame] = {}

    def of(self, skeleton: Skeleton) -> Frame:
        frame = self.known.get(id(skeleton))
        if frame is None:
            frame = self.known[id(skeleton)] = Frame(skeleton, self.model)
        return frame


def enumerated_behaviour(
    program: ScopedProgram, model: SourceModel, bound: int, work: WorkBudget
) -> Behaviour:
    """The result of ``behaviour.behaviour``, by trying every execution, as far as ``work`` goes."""
    candidates = Candidates(program, bound, ModelRule.NO_THIN_AIR not in model.rules, work)
    frames = _Frames(model)
    findings = Findings(program, candidates.initial)
    for combination in candidates:
        frame = frames.of(combination.skeleton)
        search = Search(combination, frame, work)
        for x in search.executions():
            findings.add(search, x, combination)
    return findings.behaviour(candidates.complete and not work.is_spent)


class Findings:
    """The final states and the data races of a program, of the executions that were looked at."""

    def __init__(self, program: ScopedProgram, accessed: Iterable[str]):
        self.projection = Projection(program, accessed)
        self.states: set[tuple[int | None, ...]] = set()
        self.races: dict[Race, Race] = {}

    def add(self, search: "Search", x: Execution, combination: Combination) -> None:
        """Take notice of an execution, if the axioms allow it."""
        known = self.races
        new = [each for each in races(x) if each not in known or each.key < known[each].key]
        if known and not new:
            return
        memories = search.memories(x)
        if memories:
            least(known, new)
            self.states.update(self.projection.of(combination, memory) for memory in memories)

    def behaviour(self, complete: bool) -> Behaviour:
        """The behaviour found so far; races leave no outcomes."""
        ordered = sorted(self.races.values(), key=str)
        outcomes = Outcomes(self.projection.observables, frozenset(self.states), complete)
        return Behaviour(None if ordered else outcomes, tuple(ordered), complete)


_MOST_ORDERS = 8
"""The number of coherence orders that a random walk tries."""


def sampled_behaviour(
    program: ScopedProgram,
    model: SourceModel = FULL_MODEL,
    bound: int = 1,
    walks: int = 1,
    seed: int = 0,
) -> Behaviour:
    """The final states, or the data races, of ``walks`` random executions; never complete.

    Of a walk that the model forbids nothing comes. Raises ``ProgramError`` as ``behaviour`` does.
    """
    random = Random(seed)
    source = Walks(program, bound)
    projection = Projection(program, source.initial)
    states: set[tuple[int | None, ...]] = set()
    found: dict[Race, Race] = {}
    for _ in range(walks):
        walk = source.walk(random)
        if walk is None:
            continue
        frame = Frame(walk.combination.skeleton, model)
        search = Search(walk.combination, frame, WorkBudget())
        for x in search.sampled(walk.hint, random):
            memories = search.sampled_memories(x, walk.hint, random)
            if memories:
                least(found, races(x))
            states.update(projection.of(walk.combination, memory) for memory in memories)
    ordered = sorted(found.values(), key=str)
    outcomes = Outcomes(projection.observables, frozenset(states), complete=False)
    return Behaviour(None if ordered else outcomes, tuple(ordered), complete=False)


class Projection:
    """From registers and accessed locations to the program's observables."""

    def __init__(self, program: ScopedProgram, accessed: Iterable[str]):
        self.observables = program.observables()
        self.initial = {each.name: each.initial for each in program.locations}
        self.places = {name: place for place, name in enumerate(accessed)}

    def of(
        self, combination: Combination, memory: tuple[int | None, ...]
    ) -> tuple[int | None, ...]:
        """The final state with these final values of the accessed locations."""
        return tuple(
            combination.registers[each.thread].get(each.name, 0)
            if isinstance(each, Register)
            else memory[self.places[each.location]]
            if each.location in self.places
            else self.initial[each.location]
            for each in self.observables
        )


# Witnesses

Violation = tuple[ModelRule, tuple[int, ...]]
"""An axiom that an execution breaks, and the events of the cycle."""


@dataclass(frozen=True, slots=True)
class SourceWitness:
    """One execution with its final state.

    ``relations`` has po, rf, co, fr, sw, hb and psc as pairs of event numbers (po and co
    transitively closed; hb as ``happens_before`` has it, of any address space). ``read`` and
    ``written`` have the values.
    ``violations``: the axioms that forbid it, none in an allowed execution.
    """

    events: tuple[Event, ...]
    read: tuple[int | None, ...]
    written: tuple[int | None, ...]
    relations: Mapping[str, tuple[tuple[int, int], ...]]
    state: Mapping[Observable, int | None]
    races: tuple[Race, ...]
    violations: tuple[Violation, ...] = ()

    @property
    def allowed(self) -> bool:
        """True if no axiom forbids it."""
        return not self.violations


def executions(
    program: ScopedProgram,
    model: SourceModel = FULL_MODEL,
    bound: int = 1,
    dropped: tuple[ModelRule, ...] = (),
    work: WorkBudget | None = None,
) -> Iterator[SourceWitness]:
    """Every execution that ``model`` without the axioms ``dropped`` allows, one by one.

    Raises ``ProgramError`` as ``behaviour`` does, and ``LimitReached`` at the end of ``work``.
    """
    weaker = model.without(*dropped)
    spent = WorkBudget() if work is None else work
    candidates = Candidates(program, bound, ModelRule.NO_THIN_AIR not in weaker.rules, spent)
    frames = _Frames(weaker)
    for combination in candidates:
        search = Search(combination, frames.of(combination.skeleton), spent)
        for x in search.executions():
            yield from witnesses_of(program, candidates.initial, search, x, combination, dropped)
    if spent.is_spent:
        raise LimitReached(spent.done, "steps")


def witnesses_of(
    program: ScopedProgram,
    accessed: Iterable[str],
    search: Search,
    x: Execution,
    combination: Combination,
    dropped: tuple[ModelRule, ...] = (),
) -> Iterator[SourceWitness]:
    """An execution with each coherence order that the axioms allow."""
    names = [*accessed]
    initial = {Memory(each.name): each.initial for each in program.locations}
    registers = {
        Register(thread, name): value
        for thread, values in enumerate(combination.registers)
        for name, value in values.items()
    }
    for orders in search.complete(x):
        memory = {
            Memory(name): combination.written[order[-1]]
            for name, order in zip(names, orders, strict=True)
        }
        yield _witness(x, combination, {**registers, **initial, **memory}, dropped)


def _witness(
    x: Execution, combination: Combination, state: State, dropped: tuple[ModelRule, ...]
) -> SourceWitness:
    frame = x.frame
    relations = {
        "po": frame.po,
        "rf": x.rf,
        "co": x.co,
        "fr": x.fr,
        "hb": union(*x.hb),
        "psc": union(*seq_cst_orders(x)),
    }
    named = {name: tuple(pairs(relation)) for name, relation in relations.items()}
    named["sw"] = tuple(sorted({(a, b) for a, b, _ in x.edges}))
    broken = ((rule, VIOLATIONS[rule](x)) for rule in dropped)
    return SourceWitness(
        frame.events,
        combination.read,
        combination.written,
        named,
        state,
        tuple(races(x)),
        tuple((rule, cycle) for rule, cycle in broken if cycle),
    )


def _incoherent(x: Execution) -> tuple[int, ...]:
    rf = x.rf
    step = [a | b | c for a, b, c in zip(rf, x.co, x.fr, strict=True)]
    eco = transitive_closure(step)
    for location, here in x.frame.here.items():
        hb = x.hb[x.frame.group[location]]
        for event in bits(here):
            if hb[event] >> event & 1:
                return (event, event)
            for later in bits(hb[event] & here):
                if eco[later] >> event & 1:
                    return (event, *shortest_path(step, later, event))
    return ()


def _not_atomic(x: Execution) -> tuple[int, ...]:
    for update in bits(x.frame.read_mask & x.frame.write_mask):
        between = x.fr[update] & mask_of(
            w for w in bits(x.frame.write_mask) if x.co[w] >> update & 1
        )
        for write in bits(between):
            return (update, write, update)
    return ()


def _seq_cst_cycle(x: Execution) -> tuple[int, ...]:
    cycles = (find_cycle(order) for order in seq_cst_orders(x))
    return next((cycle for cycle in cycles if cycle), ())


VIOLATIONS: Mapping[ModelRule, Callable[[Execution], tuple[int, ...]]] = {
    ModelRule.COHERENCE: _incoherent,
    ModelRule.ATOMICITY: _not_atomic,
    ModelRule.SEQ_CST: _seq_cst_cycle,
    ModelRule.NO_THIN_AIR: lambda x: find_cycle(possible_order(x)),
}
"""For each axiom the events of a cycle that breaks it in an execution, () if there is none."""


def explain_race(program: ScopedProgram, race: Race, bound: int = 1) -> SourceWitness | None:
    """An execution in which ``race`` happens for its reason; None if there is none."""
    for witness in executions(program, FULL_MODEL, bound):
        if any(each == race and each.reason == race.reason for each in witness.races):
            return witness
    return None
