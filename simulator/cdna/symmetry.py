"""The engine on one of several equal states: waves that run the same code at equal places.

An *automorphism* of a program maps waves to waves, and with them CUs, L2s, work-groups, locations
and LDS, so that code, caches and initial values stay as they are. It maps executions to executions,
so that of the states that it maps to each other one is enough; the outcomes of the others follow
from it.

Two kinds of group are used. *Interchangeable* waves may change places with all else as it is, in
any permutation: their states are sorted. Else the few automorphisms that there are, as the
rotations of a ring of threads, are all tried, and the least state is taken. Waves in equal states
are not distinguished by their order alone, so that a few states have more than one representative:
more states, same outcomes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import factorial, prod
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import (
    Interner,
    LdsState,
    LineTopology,
    MachineEvent,
    State,
    WaveMachine,
)
from fencewright.simulator.cdna.wave import ID_BITS, ID_MASK, CompiledProgram, Entry, Op
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import Location

Item = TypeVar("Item")

Permutation: TypeAlias = tuple[int, ...]
"""By wave, the wave in whose place it goes."""

CacheState: TypeAlias = tuple[
    int,
    tuple[Any, ...],
    tuple[int, ...],
    tuple[tuple[Entry, ...], ...],
    tuple[int, ...],
    tuple[tuple[int, ...], ...],
]
"""One location, as ``SetState`` and ``PlainState``: of the L2s alone they keep something else."""

_MOST_TRIED = 128
"""Automorphisms that are tried one by one."""

_MOST_ORDERS = 1_000
"""Orders of interchangeable waves where an outcome says which wave is which, so that each is looked
at."""


class _Bijection:
    """A mapping that is found pair by pair, and is one to one."""

    def __init__(self) -> None:
        self.to: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    def pair(self, one: int, other: int) -> bool:
        """Map ``one`` to ``other``; false if either is in another pair."""
        return self.to.setdefault(one, other) == other and (
            self._taken.setdefault(other, one) == one
        )

    def completed(self, count: int) -> tuple[int, ...] | None:
        """The mapping of all numbers below ``count``, of the others to themselves; None if it is
        none."""
        mapped = tuple(self.to.get(each, each) for each in range(count))
        return mapped if len(set(mapped)) == count else None


@dataclass(frozen=True)
class Automorphism:
    """A mapping of waves, locations in memory and in LDS, CUs and L2s to one another."""

    waves: Permutation
    lines: tuple[int, ...]
    lds: tuple[int, ...]
    cus: tuple[int, ...]
    l2s: tuple[int, ...]
    groups: Mapping[int, int]

    @cached_property
    def is_identity(self) -> bool:
        """True if every wave stays in its place."""
        return self.waves == tuple(range(len(self.waves)))

    @cached_property
    def inverse(self) -> "Automorphism":
        """The automorphism that maps everything back."""
        groups = {image: group for group, image in self.groups.items()}
        waves, lines, lds, cus, l2s = map(
            _inverse, (self.waves, self.lines, self.lds, self.cus, self.l2s)
        )
        return Automorphism(waves, lines, lds, cus, l2s, groups)

    def after(self, first: "Automorphism") -> "Automorphism":
        """``first``, and then this."""
        return Automorphism(
            _composed(self.waves, first.waves),
            _composed(self.lines, first.lines),
            _composed(self.lds, first.lds),
            _composed(self.cus, first.cus),
            _composed(self.l2s, first.l2s),
            {group: self.groups[image] for group, image in first.groups.items()},
        )


def _inverse(mapping: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(mapping.index, range(len(mapping))))


def _composed(second: tuple[int, ...], first: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(second[image] for image in first)


def automorphism_of(compiled: CompiledProgram, waves: Permutation) -> Automorphism | None:
    """The automorphism that maps waves so; None if there is none."""
    found = _Search(compiled)
    if not all(found.add(one, other) for one, other in enumerate(waves)):
        return None
    return found.automorphism(waves)


class _Search:
    """An automorphism that is found wave by wave."""

    def __init__(self, compiled: CompiledProgram):
        self.compiled = compiled
        self.lines, self.lds = _Bijection(), _Bijection()
        self.cus, self.l2s = _Bijection(), _Bijection()
        self.agents, self.groups = _Bijection(), _Bijection()
        self._group = {w: group for group, waves in compiled.groups.items() for w in waves}

    def add(self, one: int, other: int) -> bool:
        """Map a wave to another; False if the map so far does not allow it."""
        compiled = self.compiled
        cus = compiled.cu[one], compiled.cu[other]
        l2s = compiled.l2[cus[0]], compiled.l2[cus[1]]
        agents = compiled.l2_names[l2s[0]][0], compiled.l2_names[l2s[1]][0]
        return (
            self.cus.pair(*cus)
            and self.l2s.pair(*l2s)
            and self.agents.pair(*agents)
            and self.groups.pair(self._group[one], self._group[other])
            and compiled.registers[one] == compiled.registers[other]
            and len(compiled.ops[one]) == len(compiled.ops[other])
            and all(map(self._add_op, compiled.ops[one], compiled.ops[other]))
        )

    def _add_op(self, one: Op, other: Op) -> bool:
        if _shape(one) != _shape(other):
            return False
        if one.line < 0 or other.line < 0:
            return one.line == other.line
        if one.in_lds:
            found, locations = self.lds, self.compiled.lds
        else:
            found, locations = self.lines, self.compiled.lines
        return are_alike(locations[one.line], locations[other.line]) and found.pair(
            one.line, other.line
        )

    def automorphism(self, waves: Permutation) -> Automorphism | None:
        """The automorphism, with all else in its place; None if that is no bijection."""
        compiled = self.compiled
        lines = self.lines.completed(len(compiled.lines))
        lds = self.lds.completed(len(compiled.lds))
        cus = self.cus.completed(len(compiled.l2))
        l2s = self.l2s.completed(len(compiled.l2_names))
        if lines is None or lds is None or cus is None or l2s is None:
            return None
        if any(compiled.l2[cus[cu]] != l2s[l2] for cu, l2 in enumerate(compiled.l2)):
            return None
        groups = self.groups.to
        of_lds = [each.workgroup for each in compiled.lds]
        if any(groups.get(of_lds[n], of_lds[n]) != of_lds[m] for n, m in enumerate(lds)):
            return None
        return Automorphism(waves, lines, lds, cus, l2s, groups)


def are_alike(one: Location, other: Location) -> bool:
    """True if memory at two locations begins and behaves alike."""
    return one.initial == other.initial and one.kind is other.kind


def _shape(op: Op) -> tuple[object, ...]:
    """All of an operation but whose it is and which location it accesses."""
    return (
        op.pc, op.code, op.counted, op.queues, op.in_lds, op.dst, op.a, op.b, op.l1, op.past_l2,
        op.effect, op.function, op.counts, op.flat, op.acknowledged_early, op.brings_in,
        op.target, op.unless,
    )  # fmt: skip


def interchangeable(compiled: CompiledProgram) -> list[list[int]]:
    """The waves by classes of those that may change places, all else but their own locations as it
    is.

    Transpositions of one class generate all of its permutations.
    """
    classes: list[list[int]] = []
    for wave in range(len(compiled.ops)):
        for each in classes:
            swapped = list(range(len(compiled.ops)))
            swapped[wave], swapped[each[0]] = each[0], wave
            if automorphism_of(compiled, tuple(swapped)) is not None:
                each.append(wave)
                break
        else:
            classes.append([wave])
    return classes


def automorphisms(compiled: CompiledProgram, most: int = _MOST_TRIED) -> list[Automorphism]:
    """All automorphisms; the identity alone if there are more than ``most``."""
    count = len(compiled.ops)
    found: list[Automorphism] = []
    work: list[Permutation] = [()]
    while work and len(found) <= most:
        waves = work.pop()
        if len(waves) == count:
            made = automorphism_of(compiled, waves)
            found += [] if made is None else [made]
            continue
        for image in range(count):
            longer = (*waves, image)
            search = _Search(compiled)
            if image not in waves and all(search.add(*pair) for pair in enumerate(longer)):
                work.append(longer)
    if len(found) > most:
        found = [each for each in found if each.is_identity]
    return found or [_identity(compiled)]


def _identity(compiled: CompiledProgram) -> Automorphism:
    found = automorphism_of(compiled, tuple(range(len(compiled.ops))))
    assert found is not None
    return found


def group_of(compiled: CompiledProgram) -> "Sorted | Tried | None":
    """The group that brings states of a program to one of those that are equal; None: each is
    alone.

    Split barriers, waves that carry out copies, and chips that handle requests in any order are
    left alone: nothing says there what an automorphism does to their states.
    """
    if compiled.barriers or compiled.agents or not compiled.hierarchy.requests_in_order:
        return None
    classes = [each for each in interchangeable(compiled) if len(each) > 1]
    if classes:
        return Sorted(compiled, classes)
    found = automorphisms(compiled)
    return Tried(compiled, found) if len(found) > 1 else None


class Sorted:
    """Interchangeable waves: the states of a class are put in order."""

    def __init__(self, compiled: CompiledProgram, classes: Sequence[Sequence[int]]):
        self.compiled = compiled
        self._known: dict[Permutation, Automorphism] = {}
        swaps = [
            self._moved((one, other), (other, one)) for one, *others in classes for other in others
        ]
        self.is_observed = _is_observed(compiled, swaps)
        self.classes = _split(classes) if self.is_observed else [tuple(each) for each in classes]

    def best(self, keys: Sequence[int]) -> Automorphism | None:
        """The automorphism to the least state, by the key of each wave's part; None: it is so."""
        before: list[int] = []
        for each in self.classes:
            before += sorted(each, key=keys.__getitem__)
        after = [wave for each in self.classes for wave in each]
        return None if before == after else self._moved(before, after)

    def _moved(self, before: Sequence[int], after: Sequence[int]) -> Automorphism:
        waves = list(range(len(self.compiled.ops)))
        for wave, place in zip(before, after, strict=True):
            waves[wave] = place
        key = tuple(waves)
        if key not in self._known:
            found = automorphism_of(self.compiled, key)
            assert found is not None, "permutations of interchangeable waves are automorphisms"
            self._known[key] = found
        return self._known[key]

    def all(self) -> Iterator[Automorphism]:
        """Every automorphism of the group."""
        after = [wave for each in self.classes for wave in each]
        for orders in product(*map(permutations, self.classes)):
            yield self._moved([wave for order in orders for wave in order], after)

    def to(self, wave: int) -> Iterator[Automorphism]:
        """One automorphism to each place that a wave can go to."""
        for each in self.classes:
            if wave in each:
                yield from (self._moved((wave, place), (place, wave)) for place in each)
                return
        yield self._moved((), ())


def _split(classes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Classes of as many orders in all as are looked at, by taking the largest apart."""
    found = [tuple(each) for each in classes]
    while prod(factorial(len(each)) for each in found) > _MOST_ORDERS:
        largest = max(found, key=len)
        found.remove(largest)
        half = len(largest) // 2
        found += [largest[:half], largest[half:]]
    return found


class Tried:
    """A few automorphisms, all of a program: the least of the states that they lead to is taken."""

    def __init__(self, compiled: CompiledProgram, group: Sequence[Automorphism]):
        self.group = group
        self.is_observed = _is_observed(compiled, group)
        self._to_first: dict[int, list[Automorphism]] = {}
        for each in group:
            self._to_first.setdefault(each.waves.index(0), []).append(each)

    def best(self, keys: Sequence[int]) -> Automorphism | None:
        """As of ``Sorted``."""
        least = min(keys[wave] for wave in self._to_first)
        candidates = [
            each for wave, some in self._to_first.items() if keys[wave] == least for each in some
        ]
        best = min(candidates, key=lambda each: _permuted(each.waves, keys))
        return None if best.is_identity else best

    def all(self) -> Iterator[Automorphism]:
        """Every automorphism of the group."""
        yield from self.group

    def to(self, wave: int) -> Iterator[Automorphism]:
        """One automorphism to each place that a wave can go to."""
        yield from {each.waves[wave]: each for each in self.group}.values()


def _permuted(waves: Permutation, keys: Sequence[int]) -> list[int]:
    """``keys`` by the places to which waves go."""
    found = [0] * len(waves)
    for wave, place in enumerate(waves):
        found[place] = keys[wave]
    return found


def _is_observed(compiled: CompiledProgram, group: Sequence[Automorphism]) -> bool:
    """True if outcomes can say which wave, or which location of several, is which."""
    moved = {
        compiled.lines[line].name
        for each in group
        for line, image in enumerate(each.lines)
        if line != image
    } | {
        compiled.lds[place].name
        for each in group
        for place, image in enumerate(each.lds)
        if place != image
    }
    return any(
        isinstance(each, Register) or each.location in moved for each in compiled.observables
    )


class Orbits:
    """The states of a machine that automorphisms of its program map to one another.

    Of any machine that keeps locations as ``CacheState`` says.
    """

    def __init__(self, machine: WaveMachine[Any]):
        self.machine = machine
        self.compiled = compiled = machine.compiled
        self.group = group_of(compiled)
        self._first = [ops[0].number for ops in compiled.ops]
        self._lines_of = [_lines_of(ops) for ops in compiled.ops]
        self._topologies = [LineTopology(compiled, line) for line in range(len(compiled.lines))]
        self._keys: Interner[object] = Interner()
        self._known_keys: list[tuple[Callable[[State], object], dict[object, int]]] = [
            (itemgetter(wave, *(machine.waves + line for line in lines)), {})
            for wave, lines in enumerate(self._lines_of)
        ]
        self._moved_waves: dict[tuple[int, int, int], int] = {}
        self._moved_lines: dict[Permutation, list[dict[int, int]]] = {}

    def to_representative(self, state: State) -> Automorphism | None:
        """The automorphism to the state that stands for this one and all that are equal to it.

        None: it stands for itself.
        """
        if self.group is None:
            return None
        keys: list[int] = []
        for wave, (part_of, known) in enumerate(self._known_keys):
            part = part_of(state)
            key = known.get(part)
            if key is None:
                key = known[part] = self.key(state, wave)
            keys.append(key)
        return self.group.best(keys)

    def representative(self, state: State) -> State:
        """The state that stands for this one and all that automorphisms map it to."""
        best = self.to_representative(state)
        return state if best is None else self.moved(best, state)

    def all(self, state: State) -> Iterator[State]:
        """Every state that automorphisms map this one to, some perhaps twice."""
        if self.group is None:
            yield state
        else:
            yield from (self.moved(g, state) for g in self.group.all())

    # The keys of a wave's part of a state, independent of its place

    def key(self, state: State, wave: int) -> int:
        """A number for a wave's activity, the same for its images under automorphisms."""
        pc, regs, queues = self.machine.wave_states[wave].items[state[wave]]
        first = self._first[wave]
        relative = tuple(tuple(each - first for each in queue) for queue in queues)
        parts = [
            self._part(state[self.machine.waves + line], line, wave)
            for line in self._lines_of[wave]
        ]
        return self._keys((pc, regs, relative, *parts))

    def _part(self, number: int, line: int, wave: int) -> tuple[object, ...]:
        """The part of a location that the caches of a wave's CU and its queue hold."""
        topology, cu = self._topologies[line], self.compiled.cu[wave]
        kept: CacheState = self.machine.line_states[line].items[number]
        _, l2s, l1s, queues, scalars, pending = kept
        at, by_number = topology.queue_of_cu[cu], self.compiled.by_number
        entries = [(each >> ID_BITS, by_number[each & ID_MASK]) for each in queues[at]]
        l1, scalar = topology.l1_of_cu.get(cu), topology.scalar_of_cu.get(cu)
        return (
            l2s[topology.l2_of_queue[at]],
            tuple((value, op.pc, op.wave == wave) for value, op in entries),
            None if l1 is None else l1s[l1],
            None if scalar is None else (scalars[scalar], len(pending[scalar])),
        )

    # The image of a state under an automorphism

    def moved(self, g: Automorphism, state: State) -> State:
        """The state with everything in its new place."""
        if g.is_identity:
            return state
        after = list(state)
        for wave, place in enumerate(g.waves):
            after[place] = self._moved_wave(wave, place, state[wave])
        lines = self._moved_lines.setdefault(g.waves, [{} for _ in self.machine.line_rules])
        for line, image in enumerate(g.lines):
            number = state[self.machine.waves + line]
            known = lines[line].get(number)
            if known is None:
                kept = self._moved_line(g, line, self.machine.line_states[line].items[number])
                known = lines[line][number] = self.machine.line_states[image](kept)
            after[self.machine.waves + image] = known
        for place, rules in enumerate(self.machine.lds_rules):
            group = self.compiled.lds[rules.members[0]].workgroup
            image = self._lds_of(g.groups.get(group, group))
            kept = self.machine.lds_states[place].items[state[self.machine.first_lds + place]]
            after[self.machine.first_lds + image] = self.machine.lds_states[image](
                self._moved_lds(g, place, image, kept)
            )
        return tuple(after)

    def _lds_of(self, group: int) -> int:
        """The place of the LDS of a work-group."""
        return next(
            place
            for place, rules in enumerate(self.machine.lds_rules)
            if self.compiled.lds[rules.members[0]].workgroup == group
        )

    def _moved_wave(self, wave: int, place: int, number: int) -> int:
        key = wave, place, number
        known = self._moved_waves.get(key)
        if known is None:
            pc, regs, queues = self.machine.wave_states[wave].items[number]
            by = self._first[place] - self._first[wave]
            kept = pc, regs, tuple(tuple(each + by for each in queue) for queue in queues)
            known = self._moved_waves[key] = self.machine.wave_states[place](kept)
        return known

    def _entries(self, g: Automorphism, queue: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(each - (each & ID_MASK) + self._number(g, each & ID_MASK) for each in queue)

    def _number(self, g: Automorphism, number: int) -> int:
        op = self.compiled.by_number[number]
        return self._first[g.waves[op.wave]] + op.pc

    def _moved_line(self, g: Automorphism, line: int, kept: CacheState) -> CacheState:
        of, to = self._topologies[line], self._topologies[g.lines[line]]
        memory, l2s, l1s, queues, scalars, pending = kept
        numbers = [tuple(sorted(self._number(g, n) for n in each)) for each in pending]
        return (
            memory,
            _placed(l2s, of.l2s, to.l2s, g.l2s),
            _placed(l1s, of.l1s, to.l1s, g.cus),
            _placed([self._entries(g, each) for each in queues], of.cus, to.cus, g.cus),
            _placed(scalars, of.scalars, to.scalars, g.cus),
            _placed(numbers, of.scalars, to.scalars, g.cus),
        )

    def _moved_lds(self, g: Automorphism, place: int, image: int, kept: LdsState) -> LdsState:
        of, to = self.machine.lds_rules[place], self.machine.lds_rules[image]
        values, queues = kept
        return (
            _placed(values, of.members, to.members, g.lds),
            _placed([self._entries(g, each) for each in queues], of.waves, to.waves, g.waves),
        )


class SymmetricEngine(CdnaEngine):
    """The engine on representatives: same outcomes and errors, fewer states.

    A path through its states is no execution, since waves change places on it: traces are the
    engine's.
    """

    def __init__(self, program: CdnaProgram, configuration: CdnaConfiguration | None = None):
        super().__init__(program, configuration)
        self.orbits = Orbits(self)

    def initial(self) -> State:
        return self.orbits.representative(super().initial())

    def successors(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Representatives of enough of the steps that no outcome is missed."""
        found = super().successors(state)
        if self.orbits.group is None:
            return found
        return [(self.orbits.representative(after), event) for after, event in found]

    def final(self, state: State) -> list[tuple[int, ...]]:
        """The outcomes of all states that one stands for."""
        outcomes, group = super().final(state), self.orbits.group
        if group is None or not outcomes or not group.is_observed:
            return outcomes
        final = super().final
        return [each for other in self.orbits.all(state) for each in final(other)]

    def errors(self, state: State) -> list[str]:
        """The errors of all states that one stands for: each wave's, in every place that it can go
        to."""
        found, group = super().errors(state), self.orbits.group
        if group is None or not found:
            return found
        wrong = [wave for wave in range(self.waves) if self.position(state, wave).error is not None]
        places = [self.orbits.moved(g, state) for wave in wrong for g in group.to(wave)]
        errors = super().errors
        return [each for place in places for each in errors(place)]


def _placed(
    items: Sequence[Item], of: Sequence[int], to: Sequence[int], image: Sequence[int]
) -> tuple[Item, ...]:
    """Items numbered by ``of``, each at the place of its image among ``to``."""
    found = {image[number]: item for number, item in zip(of, items, strict=True)}
    return tuple(found[number] for number in to)


def _lines_of(ops: Sequence[Op]) -> list[int]:
    """The locations in memory that a wave accesses, in the order in which its code names them."""
    return list(dict.fromkeys(op.line for op in ops if op.line >= 0 and not op.in_lds))
