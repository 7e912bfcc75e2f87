"""The CDNA machine with sets of versions in place of cache activity: the engine.

Computes the outcomes of ``cdna_machine``, which is the definition; a property test holds the
two equal on random programs. Two reductions:

Sets. A line's fills, fetches and evictions are not steps. For each L2 the versions that its
line has had or may have had are listed, oldest first, with a bit set of those it may hold now;
for each L1 and scalar cache there is a bit set over the list of its L2. Reading picks a version
and drops what that contradicts: an L2 never goes back to an older version than it held. So does an
empty cache that fetches, where its L2 may hold two that memory has no more. Versions that make no
difference are dropped or made one (``SetLine.reduced``).

Order. A step that can only enable more by coming early is taken at once, alone: waits and
register arithmetic, LDS and scalar issues, barriers, and what a wave issues to a line that no
other wave of its CU will touch. Where no wave will issue anything to a line any more, what is
queued for it is performed before anything else.
"""

from itertools import pairwise
from typing import Any, cast

from fencewright.simulator.cdna.instructions import CdnaProgram, NamedBarrier
from fencewright.simulator.cdna.requests import (
    Queued,
    RequestLine,
    below_requests,
    places_to_enter,
    waiting,
    with_requests,
)
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import (
    LEFT_QUEUE,
    Completion,
    LineEvent,
    LineTopology,
    MachineEvent,
    MachineEventKind,
    State,
    WaveMachine,
    replaced,
)
from fencewright.simulator.cdna.wave import (
    ID_MASK,
    CompiledProgram,
    Entry,
    Futures,
    Op,
    StepKind,
    Wave,
    WaveRules,
)
from fencewright.simulator.core.program import MemoryKind

Versions = tuple[tuple[int, ...], int, bool]
"""A line in an L2: versions (oldest first), a mask of those that it may hold, whether it is dirty.

A dirty line holds the last version; bit i of a mask stands for version i.
"""

SetState = tuple[
    int,
    tuple[Versions, ...],
    tuple[int, ...],
    tuple[tuple[Entry, ...], ...],
    tuple[int, ...],
    tuple[tuple[int, ...], ...],
]
"""One location: ``memory, l2s, l1s, queues, scalars, pending``, taken apart by these names.

``memory`` is its value there; ``l1s`` and ``scalars`` have, for each cache, a mask of the versions
of its L2 that it may hold (``OWN`` as well in an L1); ``queues`` the operations of each CU, oldest
first; ``pending`` the numbers of the scalar loads that each scalar cache has not served.
A plain tuple, for states are made and hashed by the million.
"""

OWN = -1
"""In place of an L1's set: it may hold the write of the CU's last queued store, nothing else."""


def bits_of(mask: int) -> list[int]:
    """The numbers of the set bits, lowest first."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


class SetLine:
    """Everything that the engine knows about one location."""

    def __init__(self, topology: LineTopology):
        self.topology = topology
        self.coherent = topology.location.kind is not MemoryKind.NONLOCAL
        self.alone = len(topology.l2s) == 1
        self.l2_of_l1 = [self._l2_of(cu) for cu in topology.l1s]
        self.l2_of_scalar = [self._l2_of(cu) for cu in topology.scalars]
        self.queue_of_l1 = [topology.queue_of_cu[cu] for cu in topology.l1s]
        places = range(len(topology.l2s))
        self.l1s_of_l2 = [_places(self.l2_of_l1, l2) for l2 in places]
        self.scalars_of_l2 = [_places(self.l2_of_scalar, l2) for l2 in places]

    def _l2_of(self, cu: int) -> int:
        return self.topology.l2_of_queue[self.topology.queue_of_cu[cu]]

    def initial(self) -> SetState:
        """Any cache may hold the initial value."""
        t = self.topology
        clean: Versions = ((t.location.initial,), 1, False)
        return (
            t.location.initial,
            (clean,) * len(t.l2s),
            (1,) * len(t.l1s),
            ((),) * len(t.cus),
            (1,) * len(t.scalars),
            ((),) * len(t.scalars),
        )

    def issue(self, state: SetState, op: Op, entry: Entry) -> list[tuple[SetState, int | None]]:
        """The states after ``op``: for a load that may hit, one for each version, and a miss."""
        memory, l2s, l1s, queues, scalars, pending = state
        cu = self.topology.cu_of_wave[op.wave]
        if op.code is StepKind.SCALAR_LOAD:
            at = self.topology.scalar_of_cu[cu]
            later = tuple(sorted((*pending[at], op.number)))
            return [((memory, l2s, l1s, queues, scalars, replaced(pending, at, later)), None)]
        result: list[tuple[SetState, int | None]] = []
        at = self.topology.queue_of_cu[cu]
        l1 = self.topology.l1_of_cu.get(cu)
        if l1 is not None:
            if op.code is StepKind.LOAD and op.l1:
                result = self.hits(state, l1)
            updates = op.code is StepKind.STORE and op.l1 and (l1s[l1] or op.brings_in)
            l1s = replaced(l1s, l1, OWN if updates else 0)
        queues = replaced(queues, at, (*queues[at], entry))
        missed = self.tidied((memory, l2s, l1s, queues, scalars, pending))
        return [*result, *((each, None) for each in missed)]

    def hits(self, state: SetState, l1: int) -> list[tuple[SetState, int | None]]:
        """A load finds a version in its L1: the L2 holds none that is older."""
        memory, l2s, l1s, queues, scalars, pending = state
        if l1s[l1] == OWN:
            stores = (e for e in reversed(queues[self.queue_of_l1[l1]]) if self.is_store(e))
            own = next(stores)
            return [(state, self.topology.by_number[own & ID_MASK].written(0, own))]
        l2 = self.l2_of_l1[l1]
        versions, may, dirty = l2s[l2]
        result: list[tuple[SetState, int | None]] = []
        for i in bits_of(l1s[l1]):
            newer = replaced(l2s, l2, (versions, may >> i << i, dirty))
            held = replaced(l1s, l1, 1 << i)
            after = self.tidied((memory, newer, held, queues, scalars, pending))
            result += [(each, versions[i]) for each in after]
        return result

    def is_store(self, entry: Entry) -> bool:
        """True if a queued operation is a store."""
        return self.topology.by_number[entry & ID_MASK].code is StepKind.STORE

    def maintain(self, state: SetState, op: Op) -> list[SetState]:
        """A cache instruction as it is issued, as far as this line goes."""
        return self.entered(state, op)

    def entered(self, state: SetState, op: Op) -> list[SetState]:
        """A cache instruction is handled by the L1, and enters its queue where it may."""
        memory, l2s, l1s, queues, scalars, pending = state
        cu = self.topology.cu_of_wave[op.wave]
        if op.effect.l1 and cu in self.topology.l1_of_cu:
            l1s = replaced(l1s, self.topology.l1_of_cu[cu], 0)
        if op.effect.scalar and cu in self.topology.scalar_of_cu:
            scalars = replaced(scalars, self.topology.scalar_of_cu[cu], 0)
        if op.effect.is_at_once and cu in self.topology.queue_of_cu:
            l2 = self.topology.l2_of_queue[self.topology.queue_of_cu[cu]]
            memory, l2s = self.marked(memory, l2s, l2, op)
        if not op.effect.marker or cu not in self.topology.queue_of_cu:
            return self.tidied((memory, l2s, l1s, queues, scalars, pending))
        at = self.topology.queue_of_cu[cu]
        queue = queues[at]
        result: list[SetState] = []
        for place in places_to_enter(queue, op, self.topology.by_number):
            entered = queues
            if place or not self.is_idle(l2s[self.topology.l2_of_queue[at]], op):
                entered = replaced(queues, at, (*queue[:place], op.number, *queue[place:]))
            result += self.tidied((memory, l2s, l1s, entered, scalars, pending))
        return result

    def is_idle(self, l2: Versions, op: Op) -> bool:
        """True if a marker at the head of its queue changes nothing, so that it may leave now."""
        versions, may, dirty = l2
        if dirty:
            return not op.effect.write_back
        return not op.effect.invalidate or self.coherent or may == 1 << (len(versions) - 1)

    def queued(self, state: SetState, number: int) -> int:
        """The number of times that marker ``number`` is in a queue of this line."""
        _, _, _, queues, _, _ = state
        return sum(entry == number for queue in queues for entry in queue)

    def events(self, state: SetState) -> list[LineEvent[SetState]]:
        """Everything that can happen next to this line without a wave."""
        memory, l2s, l1s, queues, scalars, pending = state
        result: list[LineEvent[SetState]] = []
        for at, queue in enumerate(queues):
            if queue:
                result += self.drain(state, at, queue[0])
        for at, numbers in enumerate(pending):
            for number in sorted(set(numbers)):
                result += self.scalar(state, at, number)
        for at, (versions, _, dirty) in enumerate(l2s):
            if dirty:
                written, kept = self.written_back(memory, l2s, at)
                place = self.topology.l2s[at]
                event = MachineEvent(
                    MachineEventKind.WRITE_BACK,
                    place,
                    line=self.topology.line,
                    written=versions[-1],
                )
                after = (written, kept, l1s, queues, scalars, pending)
                result += self.finished(after, (), event)
        return result

    def drain(self, state: SetState, at: int, entry: Entry) -> list[LineEvent[SetState]]:
        """The head of a queue reaches the L2."""
        memory, l2s, l1s, queues, scalars, pending = state
        queue = queues[at][1:]
        queues = replaced(queues, at, queue)
        op = self.topology.by_number[entry & ID_MASK]
        cu, l2 = self.topology.cus[at], self.topology.l2_of_queue[at]
        line = self.topology.line
        if op.code is StepKind.CACHE:
            memory, l2s = self.marked(memory, l2s, l2, op)
            event = MachineEvent(MachineEventKind.MARKER, cu, op.number, line)
            after = (memory, l2s, l1s, queues, scalars, pending)
            return self.finished(after, ((op.number, LEFT_QUEUE),), event)
        past_l2 = op.past_l2 and not self.finds_dirty(op, l2s[l2])
        if past_l2:
            memory, l2s = self.written_back(memory, l2s, l2)
        any_version = not past_l2 and op.code is not StepKind.STORE
        choices = bits_of(l2s[l2][1]) if any_version else [len(l2s[l2][0]) - 1]
        result: list[LineEvent[SetState]] = []
        for i in choices:
            old = memory if past_l2 else l2s[l2][0][i]
            new = op.written(old, entry)
            kept, changed = self.performed(memory, l2s, l2, i, new, op)
            owned = self.own_stored(l1s, at, queue, op, changed[l2])
            after = (kept, changed, owned, queues, scalars, pending)
            if any_version:
                after = self.read_from(after, l2, i)
            read = None if op.code is StepKind.STORE else old
            event = MachineEvent(MachineEventKind.PERFORM, cu, op.number, line, read, new)
            result += self.finished(after, ((op.number, old if op.dst >= 0 else 0),), event)
        return result

    def finds_dirty(self, op: Op, l2: Versions) -> bool:
        """True if the L2 serves a load that would go past it."""
        return self.topology.hierarchy.dirty_serves_loads and op.code is StepKind.LOAD and l2[2]

    def performed(
        self, memory: int, l2s: tuple[Versions, ...], l2: int, chosen: int, new: int | None, op: Op
    ) -> tuple[int, tuple[Versions, ...]]:
        """An access at the L2, or past it, that found version ``chosen`` and writes ``new``.

        A location that only one L2 serves might as well be clean always.
        """
        versions, _, dirty = l2s[l2]
        last = 1 << (len(versions) - 1)
        if new is None:
            may = last if op.past_l2 or dirty else 1 << chosen | last
            return memory, replaced(l2s, l2, (versions, may, dirty))
        stays = not op.past_l2 and not self.alone
        l2s = replaced(l2s, l2, ((*versions, new), last << 1, stays))
        return (memory, l2s) if stays else (new, self.arrived(l2s, l2, new))

    def own_stored(
        self, l1s: tuple[int, ...], at: int, queue: tuple[Entry, ...], op: Op, l2: Versions
    ) -> tuple[int, ...]:
        """The L1s after the last queued store is performed: the updated L1 holds a version."""
        l1 = self.topology.l1_of_cu.get(self.topology.cus[at])
        if l1 is None or l1s[l1] != OWN or op.code is not StepKind.STORE:
            return l1s
        if any(self.is_store(entry) for entry in queue):
            return l1s
        return replaced(l1s, l1, 1 << (len(l2[0]) - 1))

    def read_from(self, state: SetState, l2: int, chosen: int) -> SetState:
        """No cache below an L2 that holds ``chosen`` can hold a newer version yet."""
        memory, l2s, l1s, queues, scalars, pending = state
        upto = (2 << chosen) - 1
        l1s = tuple(
            held & upto if self.l2_of_l1[at] == l2 and held != OWN else held
            for at, held in enumerate(l1s)
        )
        scalars = tuple(
            held & upto if self.l2_of_scalar[at] == l2 else held for at, held in enumerate(scalars)
        )
        return memory, l2s, l1s, queues, scalars, pending

    def marked(
        self, memory: int, l2s: tuple[Versions, ...], l2: int, op: Op
    ) -> tuple[int, tuple[Versions, ...]]:
        """A marker reaches the L2."""
        if op.effect.write_back:
            memory, l2s = self.written_back(memory, l2s, l2)
        versions, _, dirty = l2s[l2]
        if op.effect.invalidate and not dirty and not self.coherent:
            l2s = replaced(l2s, l2, (versions, 1 << (len(versions) - 1), False))
        return memory, l2s

    def written_back(
        self, memory: int, l2s: tuple[Versions, ...], l2: int
    ) -> tuple[int, tuple[Versions, ...]]:
        """The L2's line, if dirty, goes to memory and stays as a clean one."""
        versions, may, dirty = l2s[l2]
        if not dirty:
            return memory, l2s
        return versions[-1], self.arrived(
            replaced(l2s, l2, (versions, may, False)), l2, versions[-1]
        )

    def arrived(self, l2s: tuple[Versions, ...], writer: int, value: int) -> tuple[Versions, ...]:
        """Memory has a new version: every other clean L2 may now hold it too, or it alone."""
        result: list[Versions] = []
        for at, (versions, may, dirty) in enumerate(l2s):
            if at == writer or dirty:
                result.append((versions, may, dirty))
                continue
            new = 1 << len(versions)
            result.append(((*versions, value), new if self.coherent else may | new, False))
        return tuple(result)

    def scalar(self, state: SetState, at: int, number: int) -> list[LineEvent[SetState]]:
        """A scalar load is served by its cache: as a hit in an L1."""
        memory, l2s, l1s, queues, scalars, pending = state
        left = list(pending[at])
        left.remove(number)
        pending = replaced(pending, at, tuple(left))
        l2 = self.l2_of_scalar[at]
        versions, may, dirty = l2s[l2]
        result: list[LineEvent[SetState]] = []
        for i in bits_of(scalars[at]):
            newer = replaced(l2s, l2, (versions, may >> i << i, dirty))
            held = replaced(scalars, at, 1 << i)
            cu = self.topology.scalars[at]
            event = MachineEvent(
                MachineEventKind.PERFORM, cu, number, self.topology.line, versions[i]
            )
            after = (memory, newer, l1s, queues, held, pending)
            result += self.finished(after, ((number, versions[i]),), event)
        return result

    def finished(
        self, state: SetState, completions: tuple[Completion, ...], event: MachineEvent
    ) -> list[LineEvent[SetState]]:
        """A step's results: markers that are idle leave their queues with it."""
        memory, l2s, l1s, queues, scalars, pending = state
        for at, queue in enumerate(queues):
            while queue:
                op = self.topology.by_number[queue[0] & ID_MASK]
                l2 = l2s[self.topology.l2_of_queue[at]]
                if op.code is not StepKind.CACHE or not self.is_idle(l2, op):
                    break
                queue = queue[1:]
                completions = (*completions, (op.number, LEFT_QUEUE))
            queues = replaced(queues, at, queue)
        found = self.tidied((memory, l2s, l1s, queues, scalars, pending))
        return [(after, completions, event) for after in found]

    def tidied(self, state: SetState) -> list[SetState]:
        """Caches fetch all lines that they may; versions that make no difference are dropped.

        An empty cache that fetches shows which version its L2 has: that one stays there until it is
        replaced by the last, for memory has no other any more.
        """
        _, l2s, l1s, _, scalars, _ = state
        if 0 not in l1s and 0 not in scalars:
            return [self.filled(state)]
        for l2 in self.fetched_from(state):
            *older, _ = bits_of(l2s[l2][1])
            if len(older) > 1:
                shown = (self.shown(state, l2, chosen) for chosen in older)
                return [each for after in shown for each in self.tidied(after)]
        return [self.filled(state)]

    def fetched_from(self, state: SetState) -> set[int]:
        """The L2s from which a cache fetches that holds nothing."""
        _, _, l1s, queues, scalars, _ = state
        empty = {self.l2_of_scalar[at] for at, held in enumerate(scalars) if not held}
        for at, held in enumerate(l1s):
            if not held and not self.blocked(queues[self.queue_of_l1[at]]):
                empty.add(self.l2_of_l1[at])
        return empty

    def shown(self, state: SetState, l2: int, chosen: int) -> SetState:
        """An L2 holds version ``chosen``, or by now the last."""
        memory, l2s, *below = state
        versions, _, dirty = l2s[l2]
        may = 1 << chosen | 1 << (len(versions) - 1)
        known = (memory, replaced(l2s, l2, (versions, may, dirty)), *below)
        return self.read_from(cast("SetState", known), l2, chosen)

    def filled(self, state: SetState) -> SetState:
        """Every cache with all that it may fetch, in as few versions as say the same."""
        memory, l2s, l1s, queues, scalars, pending = state
        filled = list(l1s)
        for at, held in enumerate(l1s):
            if not self.blocked(queues[self.queue_of_l1[at]]):
                filled[at] = held | l2s[self.l2_of_l1[at]][1]
        served = [held | l2s[self.l2_of_scalar[at]][1] for at, held in enumerate(scalars)]
        kept: list[Versions] = []
        for l2, line in enumerate(l2s):
            owned = [at for at in self.l1s_of_l2[l2] if filled[at] != OWN]
            below = [filled[at] for at in owned] + [served[at] for at in self.scalars_of_l2[l2]]
            line, below = self.reduced(l2, line, below)
            kept.append(line)
            masks = iter(below)
            for at in owned:
                filled[at] = next(masks)
            for at in self.scalars_of_l2[l2]:
                served[at] = next(masks)
        return memory, tuple(kept), tuple(filled), queues, tuple(served), pending

    def reduced(self, l2: int, line: Versions, below: list[int]) -> tuple[Versions, list[int]]:
        """A line and the masks ``below`` it with as few versions as say the same.

        What they say is which values the caches may hold together: version a in the L2 and b in one
        below it wherever b is not newer than a. Where nobody reads the line, only its last version
        counts. Of versions with one value

        - in the L2 the newest may stand for all: it goes with whatever they go with;
        - in a cache below the oldest may, for the same reason;
        - and two with none between them are one, unless that would put together what was apart: the
          older in the L2 alone, the newer in a cache below alone.

        So there are no more versions than values in each cache, however often a loop writes them.
        """
        versions, may, dirty = line
        if not self.topology.read_l2s[l2]:
            may = 1 << (len(versions) - 1)
        if len(set(versions)) < len(versions):
            may = self.newest(versions, may)
            below = [self.oldest(versions, held) for held in below]
        used = may | (0 if dirty else 1 << (len(versions) - 1))
        for held in below:
            used |= held
        if used == (1 << len(versions)) - 1 and not self.repeats(versions):
            return (versions, may, dirty), below
        order = bits_of(used)
        values = tuple(versions[i] for i in order)
        may, *below = (_compact(mask, order) for mask in (may, *below))
        return self.merged((values, may, dirty), below)

    def newest(self, versions: tuple[int, ...], mask: int) -> int:
        """The last of the versions in ``mask`` that have one value, for each value."""
        last = {versions[i]: i for i in bits_of(mask)}
        return sum(1 << i for i in last.values())

    def oldest(self, versions: tuple[int, ...], mask: int) -> int:
        """The first of the versions in ``mask`` that have one value, for each value."""
        first = {versions[i]: i for i in reversed(bits_of(mask))}
        return sum(1 << i for i in first.values())

    def repeats(self, versions: tuple[int, ...]) -> bool:
        """True where a value comes twice with nothing between."""
        return any(a == b for a, b in pairwise(versions))

    def merged(self, line: Versions, below: list[int]) -> tuple[Versions, list[int]]:
        """Neighbouring versions of one value made one where that changes nothing."""
        versions, may, dirty = line
        i = 1
        while i < len(versions):
            if versions[i - 1] == versions[i] and not self.are_apart(i, may, below):
                versions = (*versions[:i], *versions[i + 1 :])
                may, *below = (_joined(mask, i) for mask in (may, *below))
            else:
                i += 1
        return (versions, may, dirty), below

    def are_apart(self, newer: int, may: int, below: list[int]) -> bool:
        """True where an L2 may hold only the version before ``newer``, and a cache below only that
        one."""
        if may >> (newer - 1) & 3 != 1:
            return False
        return any(held >> (newer - 1) & 3 == 2 for held in below)

    def blocked(self, queue: tuple[Entry, ...]) -> bool:
        """True if the L1 may not take the line in."""
        blocking = self.topology.blocking
        return any(entry & ID_MASK in blocking for entry in queue)

    def final_values(self, state: SetState) -> tuple[int, ...]:
        """The values that memory can end with, if nothing is in flight any more, else none."""
        memory, l2s, _, queues, _, pending = state
        if any(queues) or any(pending):
            return ()
        return tuple({versions[-1] for versions, _, dirty in l2s if dirty}) or (memory,)


def _compact(mask: int, order: list[int]) -> int:
    """``mask`` with only the bits in ``order`` left, pushed together."""
    result = 0
    for position, i in enumerate(order):
        result |= (mask >> i & 1) << position
    return result


def _joined(mask: int, newer: int) -> int:
    """``mask`` with version ``newer`` and the one before it made one."""
    older = mask & ((1 << newer) - 1)
    return older | (mask >> newer & 1) << (newer - 1) | mask >> (newer + 1) << newer


def _places(items: list[int], wanted: int) -> list[int]:
    return [at for at, item in enumerate(items) if item == wanted]


class CdnaEngine(WaveMachine[SetState]):
    """The reduced machine: same outcomes as ``CdnaMachine``, far fewer states.

    ``line_rules`` and ``wave_rules`` are for machines that are broken on purpose.
    """

    def __init__(
        self,
        program: CdnaProgram,
        configuration: CdnaConfiguration | None = None,
        line_rules: type[SetLine] = SetLine,
        wave_rules: type[WaveRules] = WaveRules,
    ):
        compiled = CompiledProgram(program, configuration or CdnaConfiguration())
        lines = [LineTopology(compiled, line) for line in range(len(compiled.lines))]
        rules = with_requests(compiled, [line_rules(each) for each in lines])
        super().__init__(compiled, wave_rules(compiled), rules)
        self._in_order = compiled.hierarchy.requests_in_order
        self._tells_first = {op.barrier for op in compiled.by_number if op.barrier >= 0 <= op.dst}
        self._named = {
            number
            for number, each in enumerate(compiled.barriers)
            if isinstance(each.unit, NamedBarrier)
        }
        self.futures = Futures(compiled)
        self._blocking = lines[0].blocking if lines else set[int]()
        self._queue_of = [[t.queue_of_cu.get(cu, -1) for cu in compiled.cu] for t in lines]

    def settled(self, wave: int, state: Wave) -> Wave:
        """A wave goes on by itself until it has something to issue or to wait for."""
        return super().settled(wave, self.advanced(wave, state))

    def successors(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Enough of the steps that no outcome is missed."""
        future = [
            each[self.position(state, wave).op.pc] for wave, each in enumerate(self.futures.by_pc)
        ]
        for wave in range(self.waves):
            if self.is_early(state, wave, future):
                return self.wave_steps(state, wave)
        together = self.barrier_steps(state)
        if together:
            return together[:1]
        if not self._in_order and (handled := self.early_requests(state, future)):
            return handled
        return self.quiet_steps(state, future) or self.useful_steps(state, future)

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        """True if the issue of a wave's next instruction now only enables more.

        A load that may hit could find versions later that it cannot find now; but those come
        in through the L2, where the queued load reads them at that very time. That fails when
        a load or a write-back ahead of it holds it up in the queue. A scalar invalidate comes
        too early for scalar loads in flight, and one that drops lines of an L2 at once for other
        CUs.
        """
        op, error, _, held_up, _ = self.position(state, wave)
        if error is not None or held_up:
            return False
        if op.code >= StepKind.BARRIER:
            return self.is_early_at_barrier(state, wave, op)
        if op.in_lds or op.code is StepKind.SCALAR_LOAD or not self._in_order:
            return True
        mates = self.futures.of_mates(wave, future)
        if op.code is StepKind.CACHE:
            return not mates and not op.effect.scalar and not op.effect.is_at_once
        if mates & (self.futures.cache_bit | 1 << op.line):
            return False
        return self.is_early_alone(self.below(state, op.line), op)

    def is_early_at_barrier(self, state: State, wave: int, op: Op) -> bool:
        """True if a wave is at a split barrier where it can arrive unnoticed, or go on.

        Never at a named one: what it does there depends on what others have done.
        """
        if op.barrier in self._named:
            return False
        if op.code is StepKind.SIGNAL:
            return op.barrier not in self._tells_first
        return op.code is StepKind.BARRIER_WAIT and bool(self.wave_steps(state, wave))

    def is_early_alone(self, kept: SetState, op: Op) -> bool:
        """True if the L1 can handle an access now that no other wave of the CU interferes with."""
        if op.code is not StepKind.LOAD or not op.l1:
            return True
        queue = kept[3][self._queue_of[op.line][op.wave]]
        return not queue or queue[-1] & ID_MASK in self._blocking

    def early_requests(self, state: State, future: list[int]) -> list[tuple[State, MachineEvent]]:
        """The results of a request that the L1 may as well handle now; [] if there is none."""
        for line, rules in enumerate(self.line_rules):
            kept = self.line_states[line].items[state[self.waves + line]]
            entries = waiting(self.compiled, kept)
            for wave, requests in enumerate(entries):
                if requests and self.is_early_request(line, wave, kept, entries, future):
                    events = cast("RequestLine[SetState]", rules).handled(
                        cast("Any", kept), wave, 0
                    )
                    intern, at = self.line_states[line], self.waves + line
                    return [
                        (self.stepped(state, at, intern(cast("Any", after)), completions), event)
                        for after, completions, event in events
                    ]
        return []

    def is_early_request(
        self, line: int, wave: int, kept: SetState, entries: Queued, future: list[int]
    ) -> bool:
        """True where the L1 can handle the first request of ``wave`` to ``line`` now, as issuing
        early.

        Nothing of the wave may pass it or is passed by it, and its mates leave the line alone.
        """
        op = self.compiled.by_number[entries[wave][0] & ID_MASK]
        if (
            op.effect.deferred
            or len(cast("RequestLine[SetState]", self.line_rules[line]).ready(entries[wave])) > 1
        ):
            return False
        touching = self.futures.cache_bit | 1 << line
        if any(entries[mate] or future[mate] & touching for mate in self.futures.mates[wave]):
            return False
        return op.code is StepKind.CACHE or self.is_early_alone(
            below_requests(self.compiled, kept), op
        )

    def below(self, state: State, line: int) -> SetState:
        """The state of a line, below the stage of requests if the chip has one."""
        return below_requests(self.compiled, self.line_states[line].items[state[self.waves + line]])

    def is_busy(self, state: State, line: int) -> bool:
        """True if anything is in flight to a line."""
        kept = self.line_states[line].items[state[self.waves + line]]
        below = below_requests(self.compiled, kept)
        return any(below[3]) or any(below[5]) or any(waiting(self.compiled, kept))

    def quiet_steps(self, state: State, future: list[int]) -> list[tuple[State, MachineEvent]]:
        """The steps of a line with something queued that no wave will issue anything to.

        Steps of other lines and waves neither change it nor need to come in between.
        """
        coming = 0
        for each in future:
            coming |= each
        for line in range(len(self.line_rules)):
            if coming >> line & 1:
                continue
            if self.is_busy(state, line):
                return self.line_steps(state, line)
        return []

    def useful_steps(self, state: State, future: list[int]) -> list[tuple[State, MachineEvent]]:
        """All steps, except write-backs without an observer."""
        result: list[tuple[State, MachineEvent]] = []
        for wave in range(self.waves):
            result += self.wave_steps(state, wave)
        for place in range(len(self.lds_rules)):
            result += self.lds_steps(state, place)
        for line in range(len(self.line_rules)):
            if any(each >> line & 1 for each in future) or self.is_busy(state, line):
                result += self.line_steps(state, line)
        return result
