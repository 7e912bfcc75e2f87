"""The observer that finds data races: accesses that conflict and that nothing orders.

Two accesses of which one writes race unless one happens before the other or both are morally
strong. The order is that of the execution's synchronisation alone, by scopes, so that a race is
found whatever order it ran in. What orders is in ``rules``. Source: PTX ISA, "Data Races";
"Causality Order".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from fencewright.simulator.race.clocks import NOTHING, Clocks, Knowledge, with_agents
from fencewright.simulator.race.messages import (
    NO_LEVELS,
    Chain,
    Home,
    Levels,
    Message,
    ScFence,
    extended,
)
from fencewright.simulator.race.rules import FENCES, Fault, FenceRule
from fencewright.simulator.race.shadow import MANY, Shadow, Strong
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.matrices import WARPGROUP
from fencewright.simulator.threads.memory import Allocation
from fencewright.simulator.threads.observer import Observer, Site
from fencewright.simulator.threads.state import Block, Mbarrier, Thread


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A value that was read without its writer's knowledge: an order that nearly exists.

    ``arrived``: of an mbarrier's phase, the clocks of all that have arrived.
    """

    message: Message
    site: int
    reader: Home
    arrived: Mapping[int, int] | None = None

    def clock_of(self, thread: int) -> int:
        """The clock at which a thread wrote the value, or an earlier one of its chain; or 0."""
        if self.arrived is not None:
            return self.arrived.get(thread, 0)
        return self.message.chain.clock_of(thread, self.message.place)


class State:
    """The state of a thread; made by hand, since a launch has one for each.

    ``known`` is shared with others, who all know the same after a barrier; ``heard`` is what the
    thread alone knows of agents.
    """

    __slots__ = (
        "bulk_reads", "bulk_writes", "clock", "copies", "fences", "heard", "home", "inits", "known",
        "links", "pending", "published_inits", "released", "seen_sc", "turns",
    )  # fmt: skip

    def __init__(self, home: Home):
        self.home = home
        self.clock = 1
        self.known = self.published_inits = NOTHING
        self.fences = [NOTHING, NOTHING, NOTHING]
        self.pending: dict[object, list[Message]] = {}
        self.released: dict[object, Levels] = {}
        self.seen_sc: dict[ScFence, int] = {}
        self.links: dict[tuple[int, int, int], Link] = {}
        self.copies = self.bulk_writes = self.bulk_reads = 0
        self.inits: dict[int, int] = {}
        self.heard: dict[int, int] = {}
        self.turns: dict[int, int] = {}

    def hears(self, agent: int, clock: int) -> None:
        """Learn the events of an agent; they are in ``known`` from the next release on."""
        if self.heard.get(agent, 0) < clock:
            self.heard[agent] = clock


@dataclass(slots=True)
class MbarrierState:
    """The state of an mbarrier: its agents, and the message of each phase."""

    agent: int
    init_agent: int
    inits: int = 0
    phases: dict[int, Message] = field(default_factory=dict[int, Message])
    arrived: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])


@dataclass(slots=True)
class ClusterMeeting:
    """A phase of a cluster's barrier: the knowledge of those that arrived, and their own clocks.

    Joined when the first leaves: most threads of a block know the same.
    """

    known: dict[Knowledge, None] = field(default_factory=dict[Knowledge, None])
    own: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    joined: Knowledge | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a finding: a thread or an agent, its action, and its place.

    ``turn``: of a weak write that may be executed more than once, the number of this time.
    """

    thread: int
    clock: int
    site: int
    writes: bool
    level: int = -1
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses of a place without an order."""

    kind: Fault
    memory: Allocation
    at: int
    size: int
    first: Access
    second: Access
    same_value: bool = False
    link: Link | None = None


MOST_SC_FENCES = 64
"""The fence.sc that a write carries of others, each by itself; of more those of its block, joined,
so that an order may be missed."""


class Detector(Observer):
    """Finds races while a launch runs; ``races`` has one for each pair of instructions and kind.

    ``most``: the accesses after which it has enough; None: it never has.
    """

    def __init__(self, most: int | None = None):
        self.most = most

    def has_enough(self) -> bool:
        """True after the most accesses."""
        return self.most is not None and self.accesses > self.most

    def start(self, machine: Machine) -> None:
        """Begin with a launch."""
        self.machine, self.sites = machine, machine.sites
        self.executed = machine.executed
        self.read_only_sites = {each.number for each in machine.sites if each.reads_only}
        self.repeated = {each.number for each in machine.sites if each.repeats}
        self.count = len(machine.threads)
        self.clocks = Clocks(len(machine.blocks[0].threads))
        self.races: dict[tuple[object, ...], Race] = {}
        self.agents: dict[int, str] = {}
        # The agents of cp.async, which writes through the generic proxy, as threads do.
        self.copiers: set[int] = set()
        self.owners: dict[int, int] = {}
        self.init_sites: dict[int, int] = {}
        self.sc_fences: dict[tuple[int, int], ScFence] = {}
        self.sc_readers: dict[int, State] = {}
        self.sc_of_block: dict[int, dict[tuple[int, int], ScFence]] = {}
        self.joined_sc: dict[tuple[ScFence, ...], ScFence] = {}
        self.racy: set[tuple[Allocation, int, int]] = set()
        self.phases: dict[tuple[int, int], ClusterMeeting] = {}
        self.left_phase: dict[int, int] = {}
        self.remotes: dict[tuple[int, int], tuple[int, int, int, int]] = {}
        self.exits: dict[int, Knowledge] = {}
        self.matrices: dict[tuple[int, int], int] = {}
        self.unwritten: dict[int, tuple[Thread, Allocation, int]] = {}
        self.accesses = 0
        # True where a value that was read has ordered something: in another order it may not.
        self.is_ordered_by_values = False
        # True where a race was not reported.
        self.is_forgiving = False

    def begin(self, thread: Thread) -> None:
        """Begin with a thread."""
        block = thread.block
        thread.order = State(Home(thread.number, block.number, block.cluster.number))

    def agent(self, name: str, thread: int) -> int:
        """A new agent that carries out a thread's request."""
        number = self.count + len(self.agents)
        self.agents[number] = name
        self.owners[number] = thread
        return number

    # Order

    def knows(self, known: Knowledge, who: int, clock: int) -> bool:
        """True where the past of a thread or an agent up to a clock is known."""
        if who < self.count:
            row = known.rows.get(who // self.clocks.threads)
            return row is not None and row[who % self.clocks.threads] >= clock
        return known.agents.get(who, 0) >= clock

    def sees(self, state: State, who: int, clock: int) -> bool:
        """True where a thread knows the past of another one, or of an agent, up to a clock."""
        if who < self.count:
            row = state.known.rows.get(who // self.clocks.threads)
            return row is not None and row[who % self.clocks.threads] >= clock
        return state.heard.get(who, 0) >= clock or state.known.agents.get(who, 0) >= clock

    def home(self, who: int) -> Home:
        """The place of a thread, or of the thread that an agent works for."""
        who = who if who < self.count else self.owners[who]
        block = self.machine.threads[who].block
        return Home(who, block.number, block.cluster.number)

    def _learn(self, state: State, known: Knowledge) -> None:
        joined = self.clocks.join(state.known, known)
        if joined is not state.known:
            state.known, self.is_ordered_by_values = joined, True

    @staticmethod
    def _settle(state: State) -> None:
        """Join a thread's received knowledge into its own."""
        if state.heard:
            state.known = with_agents(state.known, (state.heard,))
            state.heard.clear()

    def _own(self, state: State) -> Knowledge:
        """The knowledge of a thread with its own past; later events are in a new epoch."""
        self._settle(state)
        found = self.clocks.with_own(state.known, state.home.thread, state.clock)
        state.clock += 1
        return found

    def _levels(self, state: State, key: object, site: Site) -> Levels:
        """The releases of a write at each level: by itself, and by fences and releases before."""
        before = state.released.get(key, NO_LEVELS)
        levels = [
            self.clocks.join(fence, old) for fence, old in zip(state.fences, before, strict=True)
        ]
        if site.releases:
            own = self._own(state)
            for level in range(site.level + 1):
                levels[level] = own
            found = levels[0], levels[1], levels[2]
            state.released[key] = found
        return levels[0], levels[1], levels[2]

    def _publish(self, state: State, key: object, site: Site, old: Message | None) -> Message:
        clock = state.clock
        levels = self._levels(state, key, site)
        chained = None
        if old is not None and min(old.level, site.level) >= old.writer.distance(state.home):
            chained = old
        device, clusters, blocks = extended(self.clocks, chained, state.home, levels)
        chain = Chain() if chained is None else chained.chain
        earlier = () if chained is None else dict.fromkeys((*chained.earlier_sc, *chained.sc))
        return Message(
            state.home, site.number, site.level, site.releases, clock, state.known,
            device, clusters, blocks, self._sc(state),
            chain, chain.add(state.home.thread, clock), tuple(earlier)[-MOST_SC_FENCES:],
        )  # fmt: skip

    def _sc(self, state: State) -> tuple[ScFence, ...]:
        """The fence.sc before a thread's write now: its own, and those that it knows."""
        if not self.sc_fences:
            return ()
        is_few = len(self.sc_fences) <= MOST_SC_FENCES
        of_block = self.sc_of_block.get(state.home.block, {})
        fences = [
            each
            for each in (self.sc_fences if is_few else of_block).values()
            if each.home.thread == state.home.thread
            or self.sees(state, each.home.thread, each.clock)
        ]
        if is_few:
            return tuple(fences)
        levels = ([each for each in fences if each.level == level] for level in range(3))
        return tuple(self._as_one(state, tuple(own)) for own in levels if own)

    def _as_one(self, state: State, fences: tuple[ScFence, ...]) -> ScFence:
        """The fence.sc of a block, at one level: all reach as far, and all come before a write."""
        if fences not in self.joined_sc:
            known = reduce(self.clocks.join, (each.known for each in fences))
            self.joined_sc[fences] = ScFence(state.home, state.clock, fences[0].level, known)
        return self.joined_sc[fences]

    def _earlier_sc(self, state: State) -> Sequence[ScFence]:
        """The fence.sc that come before one of a thread in every order that is possible.

        A value that was written after such a fence has been read before: in the other order it
        would be read before it was written.
        """
        readers = self.sc_readers if len(self.sc_readers) <= MOST_SC_FENCES else {0: state}
        return [
            fence
            for reader in list(readers.values())
            for fence, clock in reader.seen_sc.items()
            if reader is state or self.sees(state, reader.home.thread, clock)
        ]

    def _see(self, state: State, fences: Iterable[ScFence]) -> None:
        """Keep the fence.sc that come before those that a thread runs from now on."""
        for each in fences:
            state.seen_sc.setdefault(each, state.clock)
            self.sc_readers[state.home.thread] = state

    def _take(self, state: State, key: object, site: Site, message: Message | None) -> None:
        """Read a value with the knowledge that it carries."""
        if message is not None:
            self._see(state, message.sc)
            if min(message.level, site.level) >= message.writer.distance(state.home):
                self._keep(state, key, message)
        if site.acquires:
            for each in state.pending.get(key, ()):
                self._learn(state, each.at(self.clocks, state.home, site.level))
        if message is not None and message.writer.thread != state.home.thread:
            writer = message.writer.thread
            if not self.sees(state, writer, message.clock):
                link = message.site, site.number, writer
                state.links[link] = Link(message, site.number, state.home)

    @staticmethod
    def _keep(state: State, key: object, message: Message) -> None:
        """Keep a message for a fence to come, in place of an earlier part of its chain."""
        kept = state.pending.setdefault(key, [])
        if kept and kept[-1].chain is message.chain:
            kept[-1] = message
        else:
            kept.append(message)

    # Weak accesses

    def _shadow(self, memory: Allocation, size: int) -> Shadow | None:
        shadow = memory.shadow
        if shadow is None:
            if memory.space in ("local", "param", "const"):
                return None
            shadow = memory.shadow = Shadow(memory)
        if size < shadow.grain:
            shadow.refine()
        return shadow

    def read(self, thread: Thread, memory: Allocation, at: int, size: int, site: int) -> None:
        """A weak read."""
        shadow: Shadow | None = memory.shadow
        if shadow is None or size < shadow.grain:
            shadow = self._shadow(memory, size)
        self.executed[site] = True
        if shadow is None:
            return
        state: State = thread.order
        who = thread.number
        if size == shadow.grain and site not in self.read_only_sites:
            # Most reads: of one word that nobody, this thread, or one that it knows of has written.
            word, mine = at // size, who + 1
            writer, reader = shadow.writer[word], shadow.reader[word]
            if not writer:
                is_seen = memory.space != "shared"
            elif writer == mine:
                is_seen = True
            else:
                block, index = divmod(writer - 1, self.clocks.threads)
                row = state.known.rows.get(block)
                is_seen = (
                    row is not None and writer <= self.count and row[index] >= shadow.written[word]
                )
            if is_seen and (reader <= 0 or reader == mine) and word not in shadow.strong:
                self.accesses += 1
                if reader == MANY:
                    shadow.many[word][who] = state.clock, site
                else:
                    if not reader:
                        shadow.reader[word] = mine
                    shadow.read[word] = state.clock
                    shadow.read_site[word] = site
                return
        self._check_read(state, shadow, memory, at, size, site, who, state.clock)
        if memory.space == "shared" and site not in self.unwritten:
            self._check_written(thread, shadow, memory, at, site)
        if site in self.read_only_sites:
            self._read_only(shadow, memory, at, size, site, who)

    def _knows_thread(self, state: State, who: int, clock: int) -> bool:
        """``sees`` of a thread; False of an agent."""
        row = state.known.rows.get(who // self.clocks.threads)
        return row is not None and who < self.count and row[who % self.clocks.threads] >= clock

    def _check_written(
        self, thread: Thread, shadow: Shadow, memory: Allocation, at: int, site: int
    ) -> None:
        """Keep the first read of an instruction of data that no thread has written before."""
        word = at // shadow.grain
        if not shadow.writer[word] and not any(writes for _, writes in shadow.strong.get(word, ())):
            self.unwritten[site] = thread, memory, at

    def _check_read(
        self, state: State, shadow: Shadow, memory: Allocation, at: int, size: int, site: int,
        who: int, clock: int, proxied: bool = False,
    ) -> None:  # fmt: skip
        """Check a weak read by a thread, or by an agent that it has started, and keep it."""
        grain, me = shadow.grain, state.home.thread
        self.accesses += 1
        for word in range(at // grain, (at + size - 1) // grain + 1):
            writer = shadow.writer[word] - 1
            if writer >= 0:
                self._check_writer(
                    state, shadow, memory, word, at, size, site, who, clock, False, proxied
                )
            if word in shadow.strong:
                self._check_strong(
                    state, shadow, memory, word, at, size, Access(who, clock, site, False)
                )
            reader = shadow.reader[word]
            if reader == MANY:
                shadow.many[word][who] = clock, site
                continue
            if reader and reader - 1 not in (who, me):
                old = shadow.read[word]
                if not self.sees(state, reader - 1, old):
                    shadow.many[word] = {
                        reader - 1: (old, shadow.read_site[word]),
                        who: (clock, site),
                    }
                    shadow.reader[word] = MANY
                    continue
            elif reader and reader - 1 != who:
                shadow.many[word] = {
                    reader - 1: (shadow.read[word], shadow.read_site[word]),
                    who: (clock, site),
                }
                shadow.reader[word] = MANY
                continue
            shadow.reader[word], shadow.read[word] = who + 1, clock
            shadow.read_site[word] = site

    def _check_writer(
        self, state: State, shadow: Shadow, memory: Allocation, word: int, at: int, size: int,
        site: int, who: int, clock: int, writes: bool, proxied: bool, same: bool = False,
    ) -> None:  # fmt: skip
        """Check an access against the last weak write."""
        writer, written = shadow.writer[word] - 1, shadow.written[word]
        if proxied and (writer < self.count or writer in self.copiers):
            seen = state.known.proxied
            if seen is not None and self.knows(seen, writer, written):
                return
            if writer == state.home.thread or self.sees(state, writer, written):
                self._report(
                    Fault.PROXY, memory, at, size, shadow, word, Access(who, clock, site, writes)
                )
                return
        elif writer == state.home.thread or self.sees(state, writer, written):
            return
        kind = Fault.WRITE_WRITE if writes else Fault.WRITE_READ
        self._report(kind, memory, at, size, shadow, word, Access(who, clock, site, writes), same)

    def _report(
        self, kind: Fault, memory: Allocation, at: int, size: int, shadow: Shadow, word: int,
        second: Access, same: bool = False,
    ) -> None:  # fmt: skip
        first = Access(
            shadow.writer[word] - 1, shadow.written[word], shadow.write_site[word], True,
            turn=shadow.turn[word],
        )  # fmt: skip
        self._race(kind, memory, at, size, first, second, same)

    def _race(
        self, kind: Fault, memory: Allocation, at: int, size: int, first: Access, second: Access,
        same: bool = False,
    ) -> None:  # fmt: skip
        # A race of two writes of one value is of its own kind: what is read is the same.
        same = same and kind == Fault.WRITE_WRITE and max(first.thread, second.thread) < self.count
        key = kind, first.site, second.site, same, first.thread < self.count
        if key in self.races:
            return
        if same and first.site == second.site:
            one, two = (self.machine.threads[each.thread] for each in (first, second))
            if one.warp is two.warp and first.turn == two.order.turns.get(second.site, 0):
                # Lanes that write one value at once, as reductions do.
                self.is_forgiving = True
                return
        link = self._nearly(first, second)
        self.races[key] = Race(kind, memory, at, size, first, second, same, link)

    def _nearly(self, first: Access, second: Access) -> Link | None:
        """A value that the second block has read, written after the first access."""
        source = self.home(first.thread).thread
        block = self.machine.threads[self.home(second.thread).thread].block
        for thread in block.threads:
            if thread.order is None:
                continue
            for link in thread.order.links.values():
                message: Message = link.message
                is_own = link.clock_of(source) >= first.clock
                # A read-modify-write carries what others have released before it.
                carried = message.at(self.clocks, link.reader, 2)
                knows = (
                    self.knows(each, first.thread, first.clock) for each in (message.known, carried)
                )
                if is_own or any(knows):
                    return link
        return None

    def write(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A weak write."""
        shadow: Shadow | None = memory.shadow
        if shadow is None or size < shadow.grain:
            shadow = self._shadow(memory, size)
        self.executed[site] = True
        if shadow is None:
            return
        state: State = thread.order
        who = thread.number
        turn = 0
        if site in self.repeated:
            turn = state.turns[site] = state.turns.get(site, 0) + 1
        if size == shadow.grain and not shadow.messages and not shadow.read_only:
            # Most writes: of one word that nobody else has touched since this thread knew of it.
            word = at // size
            writer, reader = shadow.writer[word], shadow.reader[word]
            if (
                (not writer or writer == who + 1
                 or self._knows_thread(state, writer - 1, shadow.written[word]))
                and (not reader or reader == who + 1
                     or (reader > 0 and self._knows_thread(state, reader - 1, shadow.read[word])))
                and word not in shadow.strong
            ):  # fmt: skip
                self.accesses += 1
                shadow.writer[word], shadow.written[word] = who + 1, state.clock
                shadow.write_site[word], shadow.turn[word] = site, turn
                shadow.reader[word] = 0
                return
        same = (memory.get(at, size) == value) is True
        self._check_write(state, shadow, memory, at, size, site, who, state.clock, same, turn=turn)

    def _check_write(
        self, state: State, shadow: Shadow, memory: Allocation, at: int, size: int, site: int,
        who: int, clock: int, same: bool, proxied: bool = False, turn: int = 0,
    ) -> None:  # fmt: skip
        """Check a weak write by a thread, or by an agent that it has started, and keep it."""
        grain = shadow.grain
        self.accesses += 1
        if shadow.messages:
            self._forget_messages(shadow, at, size, None)
        for word in range(at // grain, (at + size - 1) // grain + 1):
            if shadow.writer[word]:
                self._check_writer(
                    state, shadow, memory, word, at, size, site, who, clock, True, proxied, same
                )
            self._check_readers(
                state, shadow, memory, word, at, size, Access(who, clock, site, True), same
            )
            if word in shadow.strong:
                access = Access(who, clock, site, True)
                self._check_strong(state, shadow, memory, word, at, size, access, same)
                del shadow.strong[word]
                del shadow.summaries[word]
            if word in shadow.read_only:
                self._written_read_only(
                    shadow, memory, word, at, size, Access(who, clock, site, True)
                )
            shadow.writer[word], shadow.written[word] = who + 1, clock
            shadow.write_site[word], shadow.turn[word] = site, turn
            if shadow.reader[word]:
                shadow.reader[word] = 0
                shadow.many.pop(word, None)

    def _check_readers(
        self, state: State, shadow: Shadow, memory: Allocation, word: int, at: int, size: int,
        access: Access, same: bool,
    ) -> None:  # fmt: skip
        reader = shadow.reader[word]
        if not reader:
            return
        if reader != MANY:
            readers = ((reader - 1, (shadow.read[word], shadow.read_site[word])),)
        else:
            readers = tuple(shadow.many[word].items())
        for who, (clock, site) in readers:
            if who != state.home.thread and not self.sees(state, who, clock):
                first = Access(who, clock, site, False)
                self._race(Fault.READ_WRITE, memory, at, size, first, access, same)
                return

    @staticmethod
    def _forget_messages(shadow: Shadow, at: int, size: int, but: int | None) -> None:
        """Drop the messages of values that are written over."""
        for width in (1, 2, 4, 8):
            if width == but:
                continue
            for begin in range(at - at % width, at + size, width):
                shadow.messages.pop((begin, width), None)

    # The read-only path

    def _read_only(
        self, shadow: Shadow, memory: Allocation, at: int, size: int, site: int, who: int
    ) -> None:
        for word in range(at // shadow.grain, (at + size - 1) // shadow.grain + 1):
            shadow.read_only[word] = who, site
            if shadow.writer[word]:
                access = Access(who, 0, site, False)
                self._report(Fault.READ_ONLY, memory, at, size, shadow, word, access)

    def _written_read_only(
        self, shadow: Shadow, memory: Allocation, word: int, at: int, size: int, access: Access
    ) -> None:
        who, site = shadow.read_only[word]
        self._race(Fault.READ_ONLY, memory, at, size, Access(who, 0, site, False), access)

    # Strong accesses

    def _check_strong(
        self, state: State, shadow: Shadow, memory: Allocation, word: int, at: int, size: int,
        access: Access, same: bool = False,
    ) -> None:  # fmt: skip
        """Check an access against earlier strong ones: the first partner of each kind is enough."""
        level, place, width = shadow.summaries[word]
        if access.level == 2 and level == 2 and (place, width) == (at, size):
            return
        if (memory, word, access.site) in self.racy:
            # One partner for an instruction at a word is enough: a counter has thousands.
            return
        for (who, wrote), earlier in shadow.strong[word].items():
            if not (wrote or access.writes) or who == state.home.thread:
                continue
            clock, site, reach, begin, length = earlier
            if self.sees(state, who, clock):
                continue
            first = Access(who, clock, site, wrote, reach)
            if access.level < 0:
                kind = (
                    Fault.WRITE_WRITE
                    if wrote and access.writes
                    else Fault.WRITE_READ
                    if wrote
                    else Fault.READ_WRITE
                )
            elif (begin, length) != (at, size):
                kind = Fault.SIZE
            elif min(reach, access.level) < self.home(who).distance(state.home):
                kind = Fault.SCOPE
            else:
                continue
            self.racy.add((memory, word, access.site))
            self._race(kind, memory, at, size, first, access, same)
            return

    def _strong(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, writes: bool,
        same: bool,
    ) -> Shadow | None:  # fmt: skip
        shadow = self._shadow(memory, size)
        self.executed[site] = True
        self.accesses += 1
        if shadow is None:
            return None
        state: State = thread.order
        level = self.sites[site].level
        access = Access(thread.number, state.clock, site, writes, level)
        entry: Strong = (state.clock, site, level, at, size)
        for word in range(at // shadow.grain, (at + size - 1) // shadow.grain + 1):
            if shadow.writer[word]:
                self._check_writer(
                    state, shadow, memory, word, at, size, site, thread.number, state.clock,
                    writes, False, same,
                )  # fmt: skip
            if writes:
                self._check_readers(state, shadow, memory, word, at, size, access, same)
                if word in shadow.read_only:
                    self._written_read_only(shadow, memory, word, at, size, access)
            table = shadow.strong.get(word)
            if table is None:
                shadow.strong[word] = {(thread.number, writes): entry}
                shadow.summaries[word] = level, at, size
                continue
            self._check_strong(state, shadow, memory, word, at, size, access, same)
            table[thread.number, writes] = entry
            least, place, width = shadow.summaries[word]
            if (place, width) != (at, size):
                place = -1
            shadow.summaries[word] = min(least, level), place, width
        return shadow

    def strong_read(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int
    ) -> None:
        """A strong read."""
        shadow = self._strong(thread, memory, at, size, site, False, False)
        if shadow is not None:
            message = shadow.messages.get((at, size))
            self._take(thread.order, (memory, at, size), self.sites[site], message)

    def strong_write(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A strong write."""
        same = (memory.get(at, size) == value) is True
        shadow = self._strong(thread, memory, at, size, site, True, same)
        if shadow is not None:
            self._forget_messages(shadow, at, size, size)
            message = self._publish(thread.order, (memory, at, size), self.sites[site], None)
            shadow.messages[at, size] = message

    def update(
        self, thread: Thread, memory: Allocation, at: int, size: int, site: int, value: Any
    ) -> None:
        """A read-modify-write, which keeps the releases of the value that it read."""
        same = (memory.get(at, size) == value) is True
        shadow = self._strong(thread, memory, at, size, site, True, same)
        if shadow is None:
            return
        key, where = (memory, at, size), self.sites[site]
        old = shadow.messages.get((at, size))
        self._take(thread.order, key, where, old)
        state: State = thread.order
        if old is not None and min(old.level, where.level) >= old.writer.distance(state.home):
            # In the other order this update would come before one that it goes on from; a read may
            # take the value of a later one.
            self._see(state, old.earlier_sc)
        self._forget_messages(shadow, at, size, size)
        shadow.messages[at, size] = self._publish(thread.order, key, where, old)

    # Fences and barriers

    def fence(self, thread: Thread, site: int) -> None:
        """A fence."""
        self.executed[site] = True
        state: State = thread.order
        where = self.sites[site]
        row = FENCES.get(where.operation)
        rule = FenceRule.NOTHING if row is None else row.rule
        if rule is FenceRule.INITS:
            state.published_inits = Knowledge({}, dict(state.inits))
        elif rule is FenceRule.PROXY:
            own = self._own(state)
            seen = Knowledge(own.rows, own.agents)
            state.known = Knowledge(state.known.rows, state.known.agents, seen)
        elif rule is FenceRule.ORDERS:
            self._fence(state, where)

    def _fence(self, state: State, site: Site) -> None:
        if site.acquires:
            for messages in state.pending.values():
                for each in messages:
                    self._learn(state, each.at(self.clocks, state.home, site.level))
            if site.level == 2:
                state.pending.clear()
        if site.is_sc:
            for each in self._earlier_sc(state):
                if min(each.level, site.level) >= each.home.distance(state.home):
                    self._learn(state, each.known)
        if site.releases:
            own = self._own(state)
            for level in range(site.level + 1):
                state.fences[level] = own
            if site.is_sc:
                fence = ScFence(state.home, state.clock - 1, site.level, own)
                key = state.home.thread, site.level
                self.sc_fences[key] = fence
                self.sc_of_block.setdefault(state.home.block, {})[key] = fence

    def meet(self, arrived: Sequence[Thread], left: Sequence[Thread]) -> None:
        """A barrier of a block or a warp."""
        known, last = NOTHING, None
        heard: list[Mapping[int, int]] = []
        own: list[tuple[int, int]] = []
        for each in arrived:
            state: State = each.order
            if state.known is not last:
                last = state.known
                known = self.clocks.join(known, last)
            if state.heard:
                heard.append(state.heard)
            own.append((each.number, state.clock))
            state.clock += 1
        known = self.clocks.with_all(with_agents(known, heard), own)
        for each in left:
            state = each.order
            state.known = known
            if state.heard:
                state.heard.clear()

    def cluster_arrive(self, thread: Thread, site: int, phase: int) -> None:
        """barrier.cluster.arrive."""
        self.executed[site] = True
        state: State = thread.order
        meeting = self.phases.setdefault((state.home.cluster, phase), ClusterMeeting())
        if self.sites[site].releases:
            self._settle(state)
            meeting.known[state.known] = None
            meeting.own.append((state.home.thread, state.clock))
            state.clock += 1
        else:
            meeting.known[self.clocks.join(state.fences[1], state.published_inits)] = None
        meeting.joined = None

    def cluster_leave(self, thread: Thread, site: int, phase: int) -> None:
        """barrier.cluster.wait."""
        self.executed[site] = True
        state: State = thread.order
        meeting = self.phases[state.home.cluster, phase]
        if meeting.joined is None:
            joined = NOTHING
            for each in meeting.known:
                joined = self.clocks.join(joined, each)
            meeting.joined = self.clocks.with_all(joined, meeting.own)
        state.known = self.clocks.join(state.known, meeting.joined)
        self.left_phase[state.home.block] = max(self.left_phase.get(state.home.block, -1), phase)

    # mbarriers

    def mbarrier_init(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """mbarrier.init."""
        self.executed[site] = True
        state: State = thread.order
        order: MbarrierState | None = mbarrier.order
        if order is None:
            place = mbarrier.memory.place(mbarrier.at)
            agent = self.agent(f"a bulk copy on {place}", thread.number)
            init = self.agent(f"mbarrier.init of {place}", thread.number)
            order = mbarrier.order = MbarrierState(agent, init)
        elif order.inits and not self.sees(state, order.init_agent, order.inits):
            self._unseen_init(thread, mbarrier, order, site)
        order.inits += 1
        state.inits[order.init_agent] = order.inits
        state.hears(order.init_agent, order.inits)
        self.owners[order.init_agent] = thread.number
        self.init_sites[order.init_agent] = site

    def _unseen_init(
        self, thread: Thread, mbarrier: Mbarrier, order: MbarrierState, site: int
    ) -> None:
        first = Access(order.init_agent, order.inits, self.init_sites[order.init_agent], True)
        second = Access(thread.number, thread.order.clock, site, True)
        self._race(Fault.INITIALISATION, mbarrier.memory, mbarrier.at, 8, first, second)

    def mbarrier_use(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """Any operation: the object must be known to be initialised."""
        self.executed[site] = True
        order: MbarrierState = mbarrier.order
        state: State = thread.order
        if not self.sees(state, order.init_agent, order.inits):
            self._unseen_init(thread, mbarrier, order, site)

    def mbarrier_arrive(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """An arrival: its release is of its phase."""
        self.mbarrier_use(thread, mbarrier, site)
        order: MbarrierState = mbarrier.order
        state: State = thread.order
        old = order.phases.get(mbarrier.phase)
        where = self.sites[site]
        clock = state.clock
        levels = self._levels(state, (mbarrier.memory, mbarrier.at), where)
        device, clusters, blocks = extended(self.clocks, old, state.home, levels)
        order.phases[mbarrier.phase] = Message(
            state.home, site, where.level, where.releases, clock, state.known, device, clusters,
            blocks, self._sc(state),
        )  # fmt: skip
        order.arrived.setdefault(mbarrier.phase, {})[state.home.thread] = clock
        order.phases.pop(mbarrier.phase - 4, None)
        order.arrived.pop(mbarrier.phase - 4, None)

    def mbarrier_pass(self, thread: Thread, mbarrier: Mbarrier, phase: int, site: int) -> None:
        """A wait that succeeds: the phase's releases, and the copies that it counted."""
        self.mbarrier_use(thread, mbarrier, site)
        order: MbarrierState = mbarrier.order
        state: State = thread.order
        state.hears(order.agent, phase + 1)
        message = order.phases.get(phase)
        if message is None:
            return
        where = self.sites[site]
        key = (mbarrier.memory, mbarrier.at, phase)
        if where.acquires:
            self._learn(state, message.at(self.clocks, state.home, where.level))
        else:
            self._keep(state, key, message)
        writer = message.writer.thread
        if writer != state.home.thread and not self.sees(state, writer, message.clock):
            arrived = order.arrived.get(phase, {})
            state.links[message.site, site, writer] = Link(message, site, state.home, arrived)

    # Asynchronous copies

    def copy(
        self, thread: Thread, source: Allocation | None, at: int, target: Allocation, to: int,
        size: int, taken: int, site: int,
    ) -> None:  # fmt: skip
        """cp.async: an agent of the thread writes in the group that is open."""
        self.executed[site] = True
        state: State = thread.order
        if not state.copies:
            state.copies = self.agent("a cp.async", thread.number)
            self.copiers.add(state.copies)
        self._copied(state, source, at, target, to, size, taken, site, state.copies, state.copies,
                     thread.copy_group + 1, False)  # fmt: skip

    def _copied(
        self, state: State, source: Allocation | None, at: int, target: Allocation, to: int,
        size: int, taken: int, site: int, reader: int, writer: int, clock: int, proxied: bool,
    ) -> None:  # fmt: skip
        step = min(size, 4) if size else 0
        if source is not None and (shadow := self._shadow(source, 4)) is not None and size:
            for offset in range(0, taken, step):
                self._check_read(
                    state, shadow, source, at + offset, min(step, taken - offset), site, reader,
                    clock, proxied,
                )  # fmt: skip
        if (shadow := self._shadow(target, 4)) is not None and size:
            for offset in range(0, size, step):
                self._check_write(
                    state, shadow, target, to + offset, step, site, writer, clock, False, proxied
                )

    def copy_wait(self, thread: Thread, group: int) -> None:
        """cp.async.wait_group."""
        state: State = thread.order
        if state.copies:
            state.hears(state.copies, group + 1)

    def copy_arrive(self, thread: Thread, mbarrier: Mbarrier, site: int) -> None:
        """cp.async.mbarrier.arrive: the phase knows of the copies, and of nothing else."""
        self.mbarrier_use(thread, mbarrier, site)
        state: State = thread.order
        order: MbarrierState = mbarrier.order
        known = Knowledge({}, {state.copies: thread.copy_group + 1}) if state.copies else NOTHING
        old = order.phases.get(mbarrier.phase)
        levels = (known, known, NOTHING)
        device, clusters, blocks = extended(self.clocks, old, state.home, levels)
        order.phases[mbarrier.phase] = Message(
            state.home, site, 1, True, 0, NOTHING, device, clusters, blocks
        )

    def bulk(
        self, thread: Thread, source: Allocation | None, at: int, target: Allocation, to: int,
        size: int, mbarrier: Mbarrier | None, site: int,
    ) -> None:  # fmt: skip
        """A copy of the async proxy: of an mbarrier's phase, or of a group of the thread."""
        self.executed[site] = True
        state: State = thread.order
        if mbarrier is not None:
            self.mbarrier_use(thread, mbarrier, site)
            reader = writer = mbarrier.order.agent
            clock = mbarrier.phase + 1
        else:
            if not state.bulk_writes:
                state.bulk_writes = self.agent("a bulk copy", thread.number)
                state.bulk_reads = self.agent("a bulk copy", thread.number)
            reader, writer = state.bulk_reads, state.bulk_writes
            clock = thread.bulk_group + 1
        self._copied(
            state, source, at, target, to, size, size, site, reader, writer, clock,
            source is not None,
        )  # fmt: skip

    def bulk_wait(self, thread: Thread, group: int, reads_only: bool) -> None:
        """cp.async.bulk.wait_group."""
        state: State = thread.order
        if not state.bulk_writes:
            return
        state.hears(state.bulk_reads, group + 1)
        if not reads_only:
            state.hears(state.bulk_writes, group + 1)

    # Matrices

    def operand(self, thread: Thread, memory: Allocation, at: int, size: int, site: int) -> None:
        """A read through the async proxy by the warpgroup, which waits for all of it at once."""
        self.executed[site] = True
        agent = self._matrices_of(thread)
        clock, shadow = thread.matrix_group + 1, self._shadow(memory, 4)
        if shadow is not None:
            self._check_read(thread.order, shadow, memory, at, size, site, agent, clock, True)

    def _matrices_of(self, thread: Thread) -> int:
        place = thread.block.number, thread.index // WARPGROUP
        if place not in self.matrices:
            self.matrices[place] = self.agent("a wgmma", thread.number)
        return self.matrices[place]

    def matrix_wait(self, thread: Thread, group: int) -> None:
        """wgmma.wait_group."""
        thread.order.hears(self._matrices_of(thread), group + 1)

    # Clusters

    def remote(self, thread: Thread, block: Block, site: int) -> None:
        """Shared memory of a peer, which has to have begun and must not have ended."""
        state: State = thread.order
        began = block.number in state.known.rows or state.home.block in self.left_phase
        phase = thread.block.cluster.of.get(thread, -1) + 1
        access = Access(thread.number, state.clock, site, False)
        if not began:
            first = Access(block.threads[0].number, 0, site, False)
            self._race(Fault.PEER_BEGIN, block.shared, 0, 4, first, access)
        self.remotes[block.number, thread.number] = state.clock, site, phase, thread.block.number

    def leave(self, thread: Thread) -> None:
        """The end of a thread."""
        block = thread.block.number
        state: State = thread.order
        self.exits[block] = self.clocks.join(self.exits.get(block, NOTHING), state.known)

    def finish(self) -> None:
        """Judge the end of a launch: peers that may have ended too early."""
        for (block, thread), (clock, site, phase, _) in self.remotes.items():
            met = self.left_phase.get(block, -1) >= phase
            if met or self.knows(self.exits.get(block, NOTHING), thread, clock):
                continue
            memory = self.machine.blocks[block].shared
            first = Access(thread, clock, site, False)
            second = Access(self.machine.blocks[block].threads[0].number, 0, site, False)
            self._race(Fault.PEER_EXIT, memory, 0, 4, first, second)
