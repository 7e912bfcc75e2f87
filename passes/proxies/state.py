"""The state at a point in the analysis of asynchronous synchronisation, and its transitions."""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import Ordering
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.scoped_async import Direction, Group, Proxy, Side
from fencewright.passes.proxies.function import AsyncFunction
from fencewright.passes.proxies.locations import (
    FENCED,
    GENERIC,
    GLOBAL,
    LOCAL,
    Mask,
    covers,
    location_of,
)


class Layout:
    """The meaning of each bit of a state; a field is named by its lowest bit.

    From the lowest bit, with n accesses and groups of ``cp.async`` that may be pending up to p::

        | own | accessed | unreleased | foreign | released | grouped | copied |   n bits each
        | copying[0] | ... | copying[p + 1] |                                     n bits each
        | loading | inits | map_writes | uncommitted |           loads, inits, writes, Group
        | storing | tensor | tensor_fenced | synchronised | registers |                1 each
        | world | world_fenced | maps_unreleased |                                     1 each

    Of the access number n:
    ``own``: it was made in this CTA, in the generic proxy, without a proxy fence since.
    ``accessed``: made in this CTA at all. ``unreleased``: with no async cluster release since.
    ``foreign``: made in another CTA of the cluster, without a proxy fence here since.
    ``released``: the same, after an async cluster release there. ``grouped``: started by
    this thread, and neither has its group been waited for nor does an mbarrier track it.
    ``copied``: part of a ``cp.async`` that this thread started. ``copying`` k: one that may not be
    done, with k groups committed since it was started, or more for the last k.

    Of this thread: ``loading``: the loads of tensor memory that it has not waited for.
    ``inits``: the mbarriers it initialised, without a fence since. ``map_writes``: for each
    writer of a tensor map and, last, for writers elsewhere, a bit for each use of one, without a
    fence since. ``uncommitted``: the kinds of groups with operations that are in none yet.
    ``storing``: it has stored to tensor memory and not waited. ``tensor``: it has used tensor
    memory, without a ``tcgen05.fence`` before the next synchronisation; ``tensor_fenced``: with
    one. ``synchronised``: it has synchronised, with no ``tcgen05.fence`` after that.
    ``registers``: it may have written registers of ``wgmma``, with no ``wgmma.fence`` since.

    ``world``: other kernels may have written global memory, with no proxy fence in this CTA
    since; ``world_fenced``: with one. ``maps_unreleased``: a tensor map was replaced, and no tensor
    map released since.
    """

    def __init__(self, count: int, loads: int, inits: int, map_writes: int, pending: int):
        self._next = 0
        self.all = (1 << count) - 1
        self.own = self._field(count)
        self.accessed = self._field(count)
        self.unreleased = self._field(count)
        self.foreign = self._field(count)
        self.released = self._field(count)
        self.grouped = self._field(count)
        self.copied = self._field(count)
        self.copying = tuple(self._field(count) for _ in range(pending + 2))
        self.loading = self._field(loads)
        self.inits = self._field(inits)
        self.map_writes = self._field(map_writes)
        self.uncommitted = self._field(len(Group))
        self.storing = 1 << self._field(1)
        self.tensor = 1 << self._field(1)
        self.tensor_fenced = 1 << self._field(1)
        self.synchronised = 1 << self._field(1)
        self.registers = 1 << self._field(1)
        self.world = 1 << self._field(1)
        self.world_fenced = 1 << self._field(1)
        self.maps_unreleased = 1 << self._field(1)
        # Groups, and loads and stores of tensor memory, only their own thread can wait for.
        started = ((field_, count) for field_ in (self.grouped, self.copied, *self.copying))
        rest = (self.loading, loads), (self.uncommitted, len(Group))
        self.thread = self._masks(*started, *rest) | self.storing | self.registers
        self.initial = 0

    def _field(self, size: int) -> int:
        start = self._next
        self._next += size
        return start

    def _masks(self, *fields: tuple[int, int]) -> Mask:
        return sum(((1 << size) - 1) << start for start, size in fields)

    def take(self, state: Mask, field_: int) -> Mask:
        """The bits of one field over the accesses."""
        return state >> field_ & self.all


class Effects:
    """Effects of operations, and of those inserted before them, on a state of the analysis."""

    def __init__(self, code: AsyncFunction):
        self.code = code
        writers = len(code.map_writers) * len(code.map_uses) + len(code.map_uses)
        self.layout = Layout(
            len(code.entries), len(code.loads), len(code.inits), writers, code.longest_pending
        )
        self.covered = {space: self._covered(space) for space in (None, *FENCED)}
        self.of_group = {group: self._of_group(group) for group in Group}
        self.maps_elsewhere = self._maps_written_elsewhere()
        self.layout.initial |= self.maps_elsewhere
        if code.has_wgmma:
            self.layout.initial |= self.layout.registers

    def _covered(self, space: int | None) -> Mask:
        return sum(
            1 << each.number for each in self.code.entries if covers(space, each.access.space)
        )

    def _of_group(self, group: Group) -> tuple[Mask, Mask]:
        """The accesses of a group's operations, and the reads among them, as bits of a state."""
        reads = writes = 0
        for entry in self.code.entries:
            if entry.access.group is group and entry.access.writes:
                writes |= 1 << self.layout.grouped + entry.number
            elif entry.access.group is group:
                reads |= 1 << self.layout.grouped + entry.number
        return reads | writes, reads

    def _maps_written_elsewhere(self) -> Mask:
        mask = 0
        for op in self.code.of_op:
            if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp) and op.written is not None:
                mask |= 1 << self._elsewhere_bit(op.map)
        return mask

    def _elsewhere_bit(self, map: SSAValue) -> int:
        uses = len(self.code.map_uses)
        return (
            self.layout.map_writes
            + len(self.code.map_writers) * uses
            + self.code.map_uses.index(map)
        )

    def after(self, op: Operation, state: Mask) -> Mask:
        """The state after an operation, apart from its synchronisation."""
        layout = self.layout
        for entry in self.code.of_op.get(op, ()):
            if entry.access.group is Group.COPY:
                state |= 1 << layout.copied + entry.number | 1 << layout.copying[0] + entry.number
            elif entry.is_generic and op not in self.code.completed_at:
                state |= self.performed(1 << entry.number)
            if entry.access.group is not None:
                state |= 1 << layout.grouped + entry.number
                state |= self.commit_bit(entry.access.group)
        handler = _EFFECTS.get(type(op))
        return state if handler is None else handler(self, op, state)

    def performed(self, accesses: Mask) -> Mask:
        """Of a state: that generic accesses of this CTA were made."""
        layout = self.layout
        return accesses << layout.own | accesses << layout.accessed | accesses << layout.unreleased

    def completed(self, op: Operation, state: Mask) -> Mask:
        """The state of waiters on an mbarrier after asynchronous accesses complete on it."""
        layout = self.layout
        if isinstance(op, ops.AsyncArriveOp):
            return self.performed(layout.take(state, layout.copied))
        accesses = sum(1 << entry.number for entry in self.code.of_op[op])
        made = accesses << layout.accessed | accesses << layout.unreleased
        return made | accesses << layout.foreign

    def copies_done(self, state: Mask, pending: int) -> Mask:
        """The state once at most ``pending`` of the latest groups of ``cp.async`` are not done."""
        layout = self.layout
        for field_ in layout.copying[pending + 1 :]:
            copies = layout.take(state, field_)
            state = state & ~(copies << field_) | self.performed(copies)
        return state

    def copies_becoming(self, state: Mask) -> Mask:
        """The bits of copies that are not done, from which a wait makes the accesses of ``state``.

        Where that wait is still to be inserted, these alone say on which paths there is one.
        """
        layout = self.layout
        own = layout.take(state, layout.own)
        return sum(own << field_ for field_ in layout.copying)

    def fenced(self, state: Mask, space: int | None) -> Mask:
        """The state after a proxy fence of one address space, or of all."""
        layout, mask = self.layout, self.covered[space]
        # Of shared::cta is what the fencing CTA has; what another has made there is elsewhere.
        fields = (layout.own, layout.foreign, layout.released)
        for field_ in fields[:1] if space == LOCAL else fields:
            state &= ~(mask << field_)
        if state & layout.world and space in (None, GLOBAL):
            state = state & ~layout.world | layout.world_fenced
        return state

    def async_acquired(self, state: Mask) -> Mask:
        """The state after an async acquire of the cluster's LDS, with all that was released to it.

        The thread's own release and acquire order its own CTA's accesses as well.
        """
        layout = self.layout
        unreleased = layout.take(state, layout.unreleased)
        own = sum(
            1 << entry.number
            for entry in self.code.entries
            if entry.access.space == LOCAL and not unreleased >> entry.number & 1
        )
        return state & ~(layout.all << layout.released) & ~(own << layout.own)

    def map_bits(self, map: SSAValue) -> Iterator[tuple[Operation | None, Mask]]:
        """For each writer that may have written ``map`` (None: elsewhere), its bit."""
        if map not in self.code.map_uses:
            return
        column, uses = self.code.map_uses.index(map), len(self.code.map_uses)
        place = location_of(map, GENERIC, 128)
        for number, (writer, entry) in enumerate(self.code.map_writers.items()):
            if entry.location.may_overlap(place):
                yield writer, 1 << self.layout.map_writes + number * uses + column
        yield None, 1 << self._elsewhere_bit(map)

    def commit_bit(self, group: Group) -> Mask:
        """Of a state: whether operations of a kind of groups are in none yet."""
        return 1 << self.layout.uncommitted + list(Group).index(group)

    def waited(self, state: Mask, group: Group, reads_only: bool) -> Mask:
        """The state after a wait for all groups of a kind."""
        everything, reads = self.of_group[group]
        if group is Group.COPY:
            state = self.copies_done(state, 0)
        return state & ~(reads if reads_only else everything)

    def proxy_fence(self, op: Operation, state: Mask) -> Mask:
        space = cast(ops.ProxyFenceOp, op).space
        return self.fenced(state, None if space is None else space.data.number)

    def cluster_fence(self, op: Operation, state: Mask) -> Mask:
        fence = cast(ops.ClusterFenceOp, op)
        if fence.proxy.data is not Proxy.ASYNC:
            return state
        if fence.ordering.data is Ordering.ACQUIRE:
            return self.async_acquired(state)
        return state & ~(self.layout.all << self.layout.unreleased)

    def mbarrier_init(self, op: Operation, state: Mask) -> Mask:
        return state | 1 << self.layout.inits + self.code.inits[op]

    def mbarrier_init_fence(self, op: Operation, state: Mask) -> Mask:
        return state & ~(((1 << len(self.code.inits)) - 1) << self.layout.inits)

    def map_written(self, op: Operation, state: Mask) -> Mask:
        if op not in self.code.map_writers:
            return state
        number, uses = list(self.code.map_writers).index(op), len(self.code.map_uses)
        state |= ((1 << uses) - 1) << self.layout.map_writes + number * uses
        if isinstance(op, ops.TensormapReplaceOp):
            state |= self.layout.maps_unreleased
        return state

    def tensormap_fence(self, op: Operation, state: Mask) -> Mask:
        map = cast(ops.TensormapFenceOp, op).map
        if map is None:
            return state & ~self.layout.maps_unreleased
        for _, bit in self.map_bits(map):
            state &= ~bit
        return state

    def tcgen05_fence(self, op: Operation, state: Mask) -> Mask:
        layout = self.layout
        if cast(ops.Tcgen05FenceOp, op).side.data is Side.AFTER:
            return state & ~layout.synchronised
        return state & ~layout.tensor | (layout.tensor_fenced if state & layout.tensor else 0)

    def tcgen05_commit(self, op: Operation, state: Mask) -> Mask:
        """A commit is the fence before its arrival. Source: PTX ISA, tcgen05.commit."""
        layout = self.layout
        return state & ~layout.tensor | (layout.tensor_fenced if state & layout.tensor else 0)

    def tcgen05_wait(self, op: Operation, state: Mask) -> Mask:
        layout = self.layout
        if cast(ops.Tcgen05WaitOp, op).direction.data is Direction.STORES:
            return state & ~layout.storing
        return state & ~(((1 << len(self.code.loads)) - 1) << layout.loading)

    def tcgen05_load(self, op: Operation, state: Mask) -> Mask:
        layout = self.layout
        value = cast(ops.Tcgen05LoadOp, op).value
        return state | layout.tensor | 1 << layout.loading + self.code.loads[value]

    def tcgen05_store(self, op: Operation, state: Mask) -> Mask:
        return state | self.layout.tensor | self.layout.storing

    def tcgen05_run(self, op: Operation, state: Mask) -> Mask:
        return state | self.layout.tensor

    def wgmma(self, op: Operation, state: Mask) -> Mask:
        return state & ~self.layout.registers

    def wgmma_fence(self, op: Operation, state: Mask) -> Mask:
        return state & ~self.layout.registers

    def wgmma_read(self, op: Operation, state: Mask) -> Mask:
        return state | self.layout.registers

    def commit(self, op: Operation, state: Mask) -> Mask:
        return self.committed(state, cast(ops.CommitOperation, op).GROUP)

    def committed(self, state: Mask, group: Group) -> Mask:
        """The state after a commit of a kind of groups."""
        layout = self.layout
        state &= ~self.commit_bit(group)
        if group is not Group.COPY:
            return state
        *others, last = layout.copying
        older = layout.take(state, last)
        for younger, field_ in zip(reversed(others), reversed(layout.copying), strict=False):
            state = state & ~(layout.all << field_) | layout.take(state, younger) << field_
        return state & ~(layout.all << layout.copying[0]) | older << last

    def wait_group(self, op: Operation, state: Mask) -> Mask:
        wait = cast(ops.WaitGroupOperation, op)
        pending = wait.pending.value.data
        if pending:
            return self.copies_done(state, pending) if wait.GROUP is Group.COPY else state
        return self.waited(state, wait.GROUP, wait.reads_only)

    def async_arrive(self, op: Operation, state: Mask) -> Mask:
        """An mbarrier tracks the copies so far. Source: PTX ISA, cp.async.mbarrier.arrive."""
        everything, _ = self.of_group[Group.COPY]
        return state & ~everything & ~self.commit_bit(Group.COPY)


_EFFECTS: Mapping[type[Operation], Callable[[Effects, Operation, Mask], Mask]] = {
    ops.ProxyFenceOp: Effects.proxy_fence,
    ops.ClusterFenceOp: Effects.cluster_fence,
    ops.MbarrierInitOp: Effects.mbarrier_init,
    ops.MbarrierInitFenceOp: Effects.mbarrier_init_fence,
    ops.TensormapReplaceOp: Effects.map_written,
    ops.TensormapCopyOp: Effects.map_written,
    ops.TensormapFenceOp: Effects.tensormap_fence,
    ops.Tcgen05FenceOp: Effects.tcgen05_fence,
    ops.Tcgen05CommitOp: Effects.tcgen05_commit,
    ops.Tcgen05WaitOp: Effects.tcgen05_wait,
    ops.Tcgen05LoadOp: Effects.tcgen05_load,
    ops.Tcgen05StoreOp: Effects.tcgen05_store,
    ops.Tcgen05MmaOp: Effects.tcgen05_run,
    ops.Tcgen05CopyOp: Effects.tcgen05_run,
    ops.WgmmaOp: Effects.wgmma,
    ops.WgmmaFenceOp: Effects.wgmma_fence,
    ops.WgmmaReadOp: Effects.wgmma_read,
    ops.AsyncArriveOp: Effects.async_arrive,
    ops.AsyncCommitGroupOp: Effects.commit,
    ops.BulkCommitGroupOp: Effects.commit,
    ops.WgmmaCommitGroupOp: Effects.commit,
    ops.AsyncWaitGroupOp: Effects.wait_group,
    ops.BulkWaitGroupOp: Effects.wait_group,
    ops.WgmmaWaitGroupOp: Effects.wait_group,
}
