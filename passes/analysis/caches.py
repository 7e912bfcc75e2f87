"""CDNA code as its caches see it, for the passes that minimise: one form for all it may be in.

One wave's view of synchronisation, by what is in the machine code alone. A work-group runs one
kernel, so that whoever synchronises with a wave at a scope narrower than the agent runs the
same code: a *publication* (a barrier, or a write that may be a flag) releases what this wave
knows, and an *acquire* (a barrier, or a read that may be of a flag) receives what some
publication of the same kernel released. Which ones synchronise is not known: any may with any.
At agent scope other kernels take part, and each releases and acquires for itself; at system
scope other kernels of the agent may have released to the agent alone.

What differs between kernels on ``cdna`` and LLVM IR is in ``cdna.kernel_caches``
and ``llvm_ir.caches``: what their operations mean, and how something is put among them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.caches import Caches, Effect, Visibility, maintenance_effect
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.counters.scoreboard import SPACE_EVENTS
from fencewright.lowering.cdna.generations.common import wait_after
from fencewright.lowering.cdna.instructions import Counter
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.meetings import barriers_of
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects.cdna import PHASES, AsyncWaitOp, BarrierOp, CacheOp, WaitOp
from fencewright.passes.analysis.control_flow import block_graph, block_of
from fencewright.passes.analysis.election import WAVE
from fencewright.passes.analysis.split_edges import Edges, first_in

T = TypeVar("T")

VMCNT, LGKMCNT, LOADCNT, COPIES = 1, 2, 8, 16
"""Counters, one bit each, the last for all that count asynchronous copies; 4 is for accesses that
``llvm_ir.await_values`` counts besides.

Where loads have a counter of their own, the bit of vmcnt is that of stores and write-backs, the bit
of lgkmcnt that of LDS.
"""

COUNTER_BITS: Mapping[Counter, int] = MappingProxyType(
    {
        Counter.VMCNT: VMCNT,
        Counter.LGKMCNT: LGKMCNT,
        Counter.STORECNT: VMCNT,
        Counter.DSCNT: LGKMCNT,
        Counter.LOADCNT: LOADCNT,
        Counter.KMCNT: 0,
        Counter.XCNT: 0,
        Counter.ASYNCCNT: 0,
        Counter.TENSORCNT: 0,
    }
)
COUNTERS_OF: Mapping[AddressSpace, int] = MappingProxyType(
    {
        space: sum(COUNTER_BITS[event.counter] for event in events)
        for space, events in SPACE_EVENTS.items()
    }
)
"""The counters that an access to an address space increments."""

IN_MEMORY = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})
"""The address spaces whose accesses go, or may go, through the caches."""

SHARED = IN_MEMORY | {AddressSpace.LOCAL}
"""Those that others see: private memory is the wave's own, constant memory does not change."""


class Meaning(NamedTuple):
    """The meaning of an operation for caches and counters; sets as bits, which are quick to join.

    ``reads``: the ``Caches`` in which it may find something stale. ``stores``: how far what it
    stores gets; None if it stores nothing. ``writes_back``: how far it gets all earlier stores;
    None if nowhere. ``invalidates``: the ``Caches`` in which nothing stale is left.
    ``publishes``, ``acquires``: whether it may be how another wave of the work-group learns of
    this one's past, or this wave of another's; ``leaves_workgroup``: whether waves of other
    work-groups may learn by it. ``counters``: those that it increments; ``waits``: those that
    it brings to zero, also because it uses a result. ``is_barrier``: a publication and an
    acquire at once.
    """

    reads: int = 0
    stores: Visibility | None = None
    writes_back: Visibility | None = None
    invalidates: int = 0
    publishes: bool = False
    acquires: bool = False
    leaves_workgroup: bool = False
    counters: int = 0
    waits: int = 0
    is_barrier: bool = False


class CacheStep(NamedTuple):
    """An operation that matters to the caches, and how."""

    op: Operation
    meaning: Meaning


CacheSteps: TypeAlias = list[CacheStep]


@dataclass(slots=True)
class AtBarriers:
    """Facts as bits that waves leave at barriers, and find at those that others may be at
    meanwhile.

    ``met``: as ``CacheCode.barriers_in_step`` has it.
    """

    met: Mapping[Operation, frozenset[Operation]]
    left: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def leave(self, barrier: Operation, bits: int) -> None:
        """Add the state that one wave leaves at a barrier."""
        self.left[barrier] = self.left.get(barrier, 0) | bits

    def found(self, barrier: Operation) -> int:
        """All that a wave may find at a barrier."""
        bits = 0
        for other in self.met[barrier]:
            bits |= self.left.get(other, 0)
        return bits

    def snapshot(self) -> tuple[int, ...]:
        """All of it, as it is now."""
        return tuple(self.left.values())


class StoreThrough(NamedTuple):
    """A store that can go further by itself: its new meaning, and its additional cost."""

    meaning: Meaning
    cost: int


class CacheCode(ABC):
    """The code of a work-group: its blocks, each with its relevant steps, and its entries.

    ``blocks``: those that control can reach, function by function in reverse postorder.
    ``steps`` are what is there now, whatever has been put in or taken out. ``tgsplit``: whether
    waves of a work-group may be on several CUs. ``bound``: the blocks in which the meaning of one
    operation depends on others before it.
    """

    def __init__(self, blocks: Iterable[Block], entries: Sequence[Block], chip: str, tgsplit: bool):
        self.blocks = list(blocks)
        self.entries = entries
        self.chip = chip
        self.tgsplit = tgsplit
        self.bound: set[Block] = set()
        self._edges = Edges()
        self._steps: dict[Block, CacheSteps] = {}
        self._unread = set(self.blocks)
        self._added: dict[Block, dict[Operation, CacheOp]] = {}
        self._known: dict[Callable[[Any], object], object] = {}
        self._graph: Graph[Block] | None = None
        self._in_step: Mapping[Operation, frozenset[Operation]] | None = None

    # The code

    @property
    def steps(self) -> Mapping[Block, CacheSteps]:
        """The relevant steps of each block, in order."""
        for block in self._unread:
            self._steps[block] = self.read(block)
        for block in self._added.keys() - self._unread:
            self._steps[block] = _with(self._steps[block], self._added[block], self.chip)
        self._unread.clear()
        self._added.clear()
        return self._steps

    @abstractmethod
    def read(self, block: Block) -> CacheSteps:
        """The relevant steps of a block."""

    def known(self, solve: "Callable[[CacheCode], T]") -> T:
        """The result of ``solve`` on this code, computed once while the code stays unchanged."""
        if solve not in self._known:
            self._known[solve] = solve(self)
        return cast(T, self._known[solve])

    @property
    def graph(self) -> Graph[Block]:
        """The control-flow graph of the blocks."""
        if self._graph is None:
            self._graph = block_graph(self.blocks)
        return self._graph

    @property
    def barriers_in_step(self) -> Mapping[Operation, frozenset[Operation]]:
        """For each barrier those at which other waves of the work-group may be meanwhile.

        All of them where that cannot be counted: in code that several functions begin, that runs
        what is not seen, or on chips whose barriers have parts and numbers. What passes put in and
        take out is no barrier.
        """
        if self._in_step is None:
            self._in_step = _barriers_in_step(self)
        return self._in_step

    @property
    def write_backs(self) -> CacheSteps:
        """The steps that write anything back."""
        return self.known(_write_backs)

    @property
    def invalidates(self) -> CacheSteps:
        """The steps that invalidate anything."""
        return self.known(_invalidates)

    @abstractmethod
    def through(self, op: Operation, reach: Visibility) -> StoreThrough | None:
        """The form of ``op`` that brings its store as far as ``reach``; None if there is none."""

    @property
    def ends_its_waves(self) -> bool:
        """True where a wave that leaves the code ends, with nothing in flight that must not outlive
        it."""
        return True

    @property
    def threads(self) -> int | None:
        """The largest number of threads in a work-group; None if not known."""
        return None

    @property
    def waves(self) -> int | None:
        """The largest number of waves in a work-group; None if not known."""
        return None if self.threads is None else -(-self.threads // WAVE)

    @abstractmethod
    def elected(self, block: Block) -> int | None:
        """The number of the successor of ``block`` that one wave of several takes at most."""

    def cost_of(self, op: CacheOp) -> int:
        """The cost of cache maintenance."""
        from fencewright.lowering.costs import cost_of

        return cost_of(self.chip, op.line).amount

    # Its changes

    def erase(self, ops: Iterable[Operation], *kept: Callable[[Any], object]) -> None:
        """Take ``ops`` out, and waits that were for them; no ``kept`` knowledge depends on them."""
        gone = {each for op in ops for each in (op, *_waits_after(op, self.chip))}
        if not gone:
            return
        blocks = set(map(block_of, gone))
        if blocks.isdisjoint(self._unread | self._added.keys() | self.bound):
            for block in blocks:
                self._steps[block] = [each for each in self._steps[block] if each.op not in gone]
            lists = {
                solve: [
                    each for each in cast(CacheSteps, self._known[solve]) if each.op not in gone
                ]
                for solve in (_write_backs, _invalidates)
                if solve in self._known
            }
            found = {solve: self._known[solve] for solve in kept if solve in self._known}
            self._known = {**lists, **found}
        else:
            for block in blocks:
                self.changed(block)
        for op in gone:
            Rewriter.erase_op(op)

    def insert_after(self, made: CacheOp, op: Operation) -> None:
        """Put cache maintenance right after ``op``, which matters to the caches itself."""
        block = block_of(op)
        assert op.next_op is not None
        self._insert_before(made, op.next_op)
        added = self._added.setdefault(block, {})
        if block in self.bound or op in added:
            self.changed(block)
        added[op] = made
        self._known.clear()

    def insert_at_begin(self, made: CacheOp, block: Block) -> None:
        """Put cache maintenance where ``block`` begins."""
        self._insert_before(made, self.begin_for(made, block))
        self.changed(block)

    def insert_on_edge(self, made: CacheOp, block: Block, index: int) -> None:
        """Put cache maintenance on the edge to successor ``index`` of ``block``."""
        end = self._edges.end_of(block, index)
        place = block_of(end)
        if place not in self._steps and place not in self._unread:
            self.blocks.insert(self.blocks.index(block) + 1, place)
            self._graph = self._in_step = None
        self._insert_before(made, end)
        self.changed(place)

    def complete(self, made: CacheOp) -> None:
        """Let a write-back that was put in be complete before others can learn of it.

        By the wait of a release that comes next, or else by one right after it.
        """
        block = block_of(made)
        steps = self.steps[block]
        place = next(place for place, step in enumerate(steps) if step.op is made)
        for step in steps[place + 1 :]:
            if is_release_wait(step):
                return
            if step.meaning.publishes:
                break
        wait = WaitOp.of(WaitCounts(vmcnt=0), _RELEASES)
        wait.attributes |= made.attributes
        wait.location = made.location
        self._insert_wait(wait, made)
        self.changed(block)

    def _insert_wait(self, wait: WaitOp, made: CacheOp) -> None:
        block_of(made).insert_op_after(wait, made)

    def store_through(self, op: Operation, reach: Visibility) -> None:
        """Let a store that can do so get as far as ``reach`` by itself."""
        self.let_through(op, reach)
        self.changed(block_of(op))

    @abstractmethod
    def let_through(self, op: Operation, reach: Visibility) -> None:
        """Change a store so that it gets as far as ``reach``."""

    def begin_for(self, made: CacheOp, block: Block) -> Operation:
        """The operation before which ``made`` stands where it is put at the begin of ``block``."""
        return first_in(block)

    def is_idle(self, op: Operation) -> bool:
        """True if nothing is gained by maintaining caches before ``op``."""
        return type(op) is CacheOp

    def _insert_before(self, made: CacheOp, place: Operation) -> None:
        """Put cache maintenance before ``place``, with the other operations that it needs there."""
        block_of(place).insert_op_before(made, place)

    def changed(self, block: Block) -> None:
        """Look at ``block`` anew: something in it has changed."""
        self._unread.add(block)
        self._known.clear()


def _write_backs(code: CacheCode) -> CacheSteps:
    steps = code.steps
    return [
        each
        for block in code.blocks
        for each in steps[block]
        if each.meaning.writes_back is not None
    ]


def _invalidates(code: CacheCode) -> CacheSteps:
    steps = code.steps
    return [each for block in code.blocks for each in steps[block] if each.meaning.invalidates]


def _with(steps: CacheSteps, added: Mapping[Operation, CacheOp], chip: str) -> CacheSteps:
    """The steps with maintenance ``added`` after some operations."""
    found: CacheSteps = []
    for number, step in enumerate(steps, 1):
        found.append(step)
        made = added.get(step.op)
        last = number == len(steps) or steps[number].op is not step.op
        if made is not None and last and (meaning := maintenance(made, chip)) is not None:
            found.append(CacheStep(made, meaning))
    return found


def _barriers_in_step(code: CacheCode) -> Mapping[Operation, frozenset[Operation]]:
    steps = code.steps
    barriers = {
        block: [step for step in steps[block] if step.meaning.is_barrier] for block in code.blocks
    }
    every = [step for found in barriers.values() for step in found]
    if not every:
        return {}
    is_counted = (
        len(code.entries) == 1
        and CHIPS[code.chip].named_barriers is None
        and all(step.meaning == BARRIER for step in every)
    )
    if not is_counted:
        return dict.fromkeys((step.op for step in every), frozenset(step.op for step in every))
    ops = {block: [step.op for step in found] for block, found in barriers.items()}
    return barriers_of(code.graph, code.entries[0], ops).in_step()


def counted_on(*, tgsplit: bool) -> int:
    """The caches whose invalidates must be complete before this wave releases to others.

    Waves that acquire at agent scope invalidate for themselves. Those at work-group scope share
    the queues of this CU, except in tgsplit. Only this wave knows of other agents' writes.
    """
    return int(Caches.SYSTEM | Caches.AGENT if tgsplit else Caches.SYSTEM)


def meaning_of(effect: Effect, **more: Any) -> Meaning:
    """The meaning of an operation with ``effect``."""
    return Meaning(
        int(effect.reads), effect.stores, effect.writes_back, int(effect.invalidates), **more
    )


def _waits_after(op: Operation, chip: str) -> Iterator[WaitOp]:
    """The wait after cache maintenance that, without it, only waits again for completed accesses.

    The chip's rows have one there, and the waits right before have seen the end of all else.
    """
    wait = op.next_op
    if type(op) is CacheOp and type(wait) is WaitOp:
        counts = wait_after(chip, op.opcode.data, modifiers_of(op))
        if wait.counts == counts == _waited_before(op).only(counts.given):
            yield wait


def _waited_before(op: Operation) -> WaitCounts:
    counts = WaitCounts()
    before = op.prev_op
    while isinstance(before, WaitOp):
        counts |= before.counts
        before = before.prev_op
    return counts


def maintenance(op: Operation, chip: str) -> Meaning | None:
    """The meaning of cache maintenance, a wait or a barrier of ``cdna`` on ``chip``, if any."""
    kind = type(op)
    if kind is CacheOp:
        opcode = cast(StringAttr, op.properties["opcode"]).data
        return _maintenance(chip, opcode, modifiers_of(op))
    if kind is WaitOp:
        return WAITS[waits_of(op)]
    return _ALIKE.get(kind)


@cache
def _maintenance(chip: str, opcode: str, modifiers: tuple[str, ...]) -> Meaning:
    # Counted or not (``CACHE_COUNTS``), the safe side is that it may be outstanding.
    return meaning_of(maintenance_effect(chip, opcode, modifiers), counters=VMCNT)


BARRIER = Meaning(publishes=True, acquires=True, is_barrier=True)
"""The meaning of an execution barrier."""

COPIED = Meaning(stores=Visibility.WORKGROUP)
"""The meaning of the wait for asynchronous copies: only after it have they surely stored."""

_ALIKE: Mapping[type[Operation], Meaning] = MappingProxyType(
    {BarrierOp: BARRIER, AsyncWaitOp: COPIED}
)
"""The operations that mean the same wherever they are."""

WAITS = (
    None,
    *(Meaning(waits=counters) for counters in range(1, COPIES)),
    *(COPIED._replace(waits=counters) for counters in range(COPIES)),
)
"""The meaning of a wait for each set of counters."""


def waits_of(op: Operation) -> int:
    """The counters that a ``cdna.s_waitcnt`` brings to zero, and whether it waits for any copy."""
    found = COPIES * (not _OF_COPIES.isdisjoint(op.properties))
    for name, count in op.properties.items():
        if name in _WAITED and not cast("IntegerAttr[IntegerType]", count).value.data:
            found |= _WAITED[name]
    return found


_OF_COPIES = frozenset({str(Counter.ASYNCCNT), str(Counter.TENSORCNT)})
_WAITED = MappingProxyType({str(counter): bit for counter, bit in COUNTER_BITS.items() if bit})


def is_release_wait(step: CacheStep) -> bool:
    """True if a step waits, as a release, for all accesses to memory."""
    op = step.op
    return bool(step.meaning.waits & VMCNT) and type(op) is WaitOp and op.phase == _RELEASES


_RELEASES = PHASES[Phase.RELEASE]


def modifiers_of(op: Operation) -> tuple[str, ...]:
    """The cache policy bits of an instruction."""
    modifiers = op.properties.get("modifiers")
    if modifiers is None:
        return ()
    return tuple([each.data for each in cast("ArrayAttr[StringAttr]", modifiers)])
