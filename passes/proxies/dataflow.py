"""Asynchronous synchronisation that a function lacks: dataflow over its accesses by proxy.

All threads of a cluster run the function. The state at a point says of every access of the
function whether it may have happened before that point without what a later conflicting
access through another proxy would need. It flows along control flow, and along
*synchronisation edges*: from every operation that releases to every one that may acquire
from it (``async_edges``). ``docs/async.md`` states the rule and what it rests on.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from xdsl.ir import Block, Operation

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.scoped_async import Direction, Group, Proxy, Side
from fencewright.passes.kernels.accept import Function
from fencewright.passes.proxies.edges import (
    Sync,
    crosses,
    is_mbarrier_wait,
    is_restricted,
    signalled,
)
from fencewright.passes.proxies.function import ENDS, AsyncFunction
from fencewright.passes.proxies.locations import (
    CLUSTER,
    GLOBAL,
    LOCAL,
    SHARED,
    AccessLocation,
    Entry,
    Mask,
    location_of,
    spaces_meet,
)
from fencewright.passes.proxies.missing import (
    RANK_GROUP,
    RANK_PROXY,
    RANK_TENSOR,
    RANK_WAIT,
    Missing,
    acquire_map,
    cluster_fence,
    group_wait,
    maker,
    proxy_fence,
    release_maps,
    tcgen05_fence,
    tcgen05_wait,
)
from fencewright.passes.proxies.state import Effects


class Analysis:
    """The analysis of the synchronisation that a function lacks.

    Arguments and errors are those of ``AsyncFunction``.
    """

    def __init__(self, function: Function, fence_reads: bool):
        self.code = code = AsyncFunction(function, fence_reads)
        self.effects = Effects(code)
        self.layout = self.effects.layout
        self.mail: dict[Operation, Mask] = {}
        self.entry_state: Mapping[Block, Mask] = {}
        self.exit_state: dict[Block, Mask] = {}

    # The fixpoint

    def solve(self) -> list[Missing]:
        """Everything that is missing."""

        def carry(block: Block, state: Mask) -> Mask:
            for op in self.code.interesting[block]:
                state = self._step(op, state, None)
            self.exit_state[block] = state
            return state

        entry = dict.fromkeys(self.code.blocks, 0) | {self.code.blocks[0]: self.layout.initial}
        self.entry_state = solve(
            self.code.graph, entry, carry, int.__or__, shared=lambda: dict(self.mail)
        )
        missing: list[Missing] = []
        for block in self.code.blocks:
            state = self.entry_state[block]
            for op in self.code.interesting[block]:
                state = self._step(op, state, missing)
        return missing

    def _step(self, op: Operation, state: Mask, missing: list[Missing] | None) -> Mask:
        """The state after ``op``, if the missing synchronisation before it has been inserted."""
        found: list[Missing] = []
        state = self._before(op, state, found)
        if missing is not None:
            missing += found
        state = self.effects.after(op, state)
        for wait in self.code.completed_at.get(op, ()):
            self.mail[wait] = self.mail.get(wait, 0) | self.effects.completed(op, state)
        sync = self.code.syncs.get(op)
        if sync is None:
            return state
        if sync.acquires:
            state, restricted = self._acquire(sync, state | self.mail.get(op, 0))
            if missing is not None:
                missing += restricted
        if sync.releases:
            # With what it has acquired and written itself: whoever sees the one, sees the others.
            self._send(sync, state)
        return state

    # Synchronisation required before an operation

    def _before(self, op: Operation, state: Mask, found: list[Missing]) -> Mask:
        sync = self.code.syncs.get(op)
        state = self._tensor_before(op, sync, state, found)
        state = self._groups_before(op, sync, state, found)
        state = self._fence_before(op, state, found)
        if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp):
            state = self._maps_before(op, state, found)
        if isinstance(op, ops.WgmmaOp) and state & self.layout.registers:
            found.append(
                Missing(
                    op,
                    RANK_TENSOR,
                    ("wgmma",),
                    maker(ops.WgmmaFenceOp.create),
                    self.layout.registers,
                    "accumulator registers were accessed",
                )
            )
        mbarrier = signalled(op)
        if mbarrier is not None:
            state = self._inits_before(op, location_of(mbarrier, CLUSTER, 8), state, found)
        if sync is not None and sync.releases:
            state = self._release(sync, state, found)
        return state

    def _fence_before(self, op: Operation, state: Mask, found: list[Missing]) -> Mask:
        """Generic accesses may be before async ones of ``op`` that no proxy fence orders with
        them."""
        needed: dict[int, Mask] = {}
        for entry in self.code.of_op.get(op, ()):
            if entry.access.proxy is Proxy.ASYNC:
                self._add_needed(entry, state, needed)
        return self._fence(op, needed, state, found, "generic accesses before an async one")

    def _add_needed(self, entry: Entry, state: Mask, needed: dict[int, Mask]) -> None:
        layout, needs = self.layout, self.code.needs[entry.number]
        for field_, by_space in (
            (layout.own, needs.own),
            (layout.foreign, needs.foreign),
            (layout.released, needs.foreign),
        ):
            _add_hits(needed, by_space, layout.take(state, field_), field_)
        if state & layout.world and spaces_meet(entry.access.space, GLOBAL):
            needed[GLOBAL] = needed.get(GLOBAL, 0) | layout.world

    def _fence(
        self, op: Operation, needed: dict[int, Mask], state: Mask, found: list[Missing], why: str
    ) -> Mask:
        if CLUSTER in needed and LOCAL in needed:
            # An order of the cluster's shared memory is one of the CTA's own too.
            needed[CLUSTER] |= needed.pop(LOCAL)
        for space, mask in sorted(needed.items()):
            pending = mask | self.effects.copies_becoming(mask)
            make = maker(proxy_fence, space)
            found.append(Missing(op, RANK_PROXY, ("proxy", space), make, pending, why))
            state = self.effects.fenced(state, space)
        return state

    def _release(self, sync: Sync, state: Mask, found: list[Missing]) -> Mask:
        """The proxy fences that a thread still has to execute for those that acquire from it."""
        layout, op = self.layout, sync.op
        seen = self.code.seen_by(sync)
        if is_restricted(op):
            return self._restricted_release(sync, state, seen, found)
        if not crosses(sync):
            needed: dict[int, Mask] = {}
            own = layout.take(state, layout.own)
            for asyncs, needs in self.code.needs_of_shapes if own else ():
                if asyncs & seen:
                    _add_hits(needed, needs.own, own, layout.own)
            why = "generic accesses are released to a thread that starts an async one"
            state = self._fence(op, needed, state, found, why)
        state = self._inits_before(op, None, state, found)
        if state & layout.maps_unreleased:
            found.append(
                Missing(
                    op,
                    RANK_PROXY,
                    ("maps",),
                    maker(release_maps),
                    layout.maps_unreleased,
                    "a tensor map was written",
                )
            )
            state &= ~layout.maps_unreleased
        return state

    def _send(self, sync: Sync, state: Mask) -> None:
        """Post the state to the acquires that may see this release."""
        layout = self.layout
        sent = state & ~layout.thread
        for target in sync.targets:
            crossing = crosses(sync) and crosses(self.code.syncs[target])
            received = sent | self._in_other_ctas(state) if crossing else sent
            self.mail[target] = self.mail.get(target, 0) | received

    def _in_other_ctas(self, state: Mask) -> Mask:
        """The state of a CTA's accesses as the others of its cluster see them."""
        layout = self.layout
        accessed = layout.take(state, layout.accessed)
        unreleased = layout.take(state, layout.unreleased)
        world = layout.world if state & layout.world_fenced else 0
        return (
            world
            | (accessed & unreleased) << layout.foreign
            | (accessed & ~unreleased) << layout.released
        )

    def _restricted_release(
        self, sync: Sync, state: Mask, seen: Mask, found: list[Missing]
    ) -> Mask:
        """``release cluster spaces [local]``: fences of own LDS, and a relaxed arrival."""
        layout = self.layout
        proxies = self._proxies(layout.take(state, layout.accessed), seen)
        self._restrict(sync.op, Ordering.RELEASE, proxies, found, after=False)
        if Proxy.ASYNC in proxies:
            state &= ~(layout.all << layout.unreleased)
        return state

    def _proxies(self, accessed: Mask, seen: Mask) -> list[Proxy]:
        """The proxies to release to or acquire for: generic unless only async accesses follow."""
        to_async = any(
            mask & accessed
            for asyncs, needs in self.code.needs_of_shapes
            if asyncs & seen
            for mask in needs.foreign.values()
        )
        to_generic = any(
            self.code.conflicts(number) & accessed
            for number in bits(seen & self.code.remote_generics)
        )
        found = [Proxy.GENERIC] if to_generic or not to_async else []
        return [*found, Proxy.ASYNC] if to_async else found

    def _restrict(
        self,
        op: Operation,
        ordering: Ordering,
        proxies: Sequence[Proxy],
        found: list[Missing],
        after: bool,
    ) -> None:
        def make() -> Sequence[Operation]:
            return [cluster_fence(ordering, proxy) for proxy in proxies]

        why = "only LDS is ordered"
        found.append(
            Missing(op, RANK_PROXY, (ordering, *proxies), make, 0, why, after, relaxes=True)
        )

    def _acquire(self, sync: Sync, state: Mask) -> tuple[Mask, list[Missing]]:
        layout, op = self.layout, sync.op
        found: list[Missing] = []
        if isinstance(op, scoped.BarrierOp) and crosses(sync):
            state |= self._in_other_ctas(state)
        is_tensor = state & (layout.tensor | layout.tensor_fenced)
        if (
            is_mbarrier_wait(op)
            or is_tensor
            or layout.take(state, layout.accessed) & self.code.operands
        ):
            state |= layout.synchronised if self.code.has_tensor else 0
        if sync.scope.includes(Scope.AGENT):
            state |= layout.world
        state |= self.effects.maps_elsewhere
        if is_restricted(op):
            arrived = layout.take(state, layout.foreign) | layout.take(state, layout.released)
            proxies = self._proxies(arrived, sync.after)
            self._restrict(op, Ordering.ACQUIRE, proxies, found, after=True)
            if Proxy.ASYNC in proxies:
                state = self.effects.async_acquired(state)
        return state, found

    def _inits_before(
        self, op: Operation, used: AccessLocation | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """mbarriers made by this thread, that a peer or the async proxy will use."""
        layout = self.layout
        pending = 0
        for init, number in self.code.inits.items():
            bit = 1 << layout.inits + number
            if state & bit and self._needs_init_fence(init, op, used):
                pending |= bit
        if not pending:
            return state
        why = "an mbarrier was made that peers or asynchronous operations arrive at"
        make = maker(ops.MbarrierInitFenceOp.create)
        found.append(Missing(op, RANK_PROXY, ("init",), make, pending, why))
        return state & ~(((1 << len(self.code.inits)) - 1) << layout.inits)

    def _needs_init_fence(
        self, init: Operation, op: Operation, used: AccessLocation | None
    ) -> bool:
        mbarrier = cast(ops.MbarrierInitOp, init).mbarrier
        place = location_of(mbarrier, CLUSTER, 8)
        if used is not None:
            return place.may_overlap(used)
        sync = self.code.syncs[op]
        return crosses(sync) or any(place.may_overlap(each) for each in self.code.signalled)

    def _maps_before(
        self, op: ops.TensorLoadOp | ops.TensorStoreOp, state: Mask, found: list[Missing]
    ) -> Mask:
        """Tensor maps are read in a proxy of their own, which nothing else orders."""
        layout = self.layout
        scope, pending = Scope.WORKGROUP, 0
        for writer, bit in self.effects.map_bits(op.map):
            if not state & bit:
                continue
            pending |= bit
            scope = max(scope, _written_at(writer, op), key=lambda each: each.rank)
        if not pending:
            return state
        if state & layout.maps_unreleased:
            make = maker(release_maps)
            why = "a tensor map was written"
            found.append(Missing(op, RANK_PROXY, ("maps",), make, layout.maps_unreleased, why))
            state &= ~layout.maps_unreleased
        make, why = maker(acquire_map, op.map, scope), "the tensor map was written"
        found.append(Missing(op, RANK_TENSOR, ("map", op.map), make, 0, why))
        return state & ~pending

    def _tensor_before(
        self, op: Operation, sync: Sync | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """Waits for loads and stores of tensor memory, and the fences around synchronisation."""
        layout = self.layout
        if not self.code.has_tensor:
            return state
        seen = 0 if sync is None or not sync.releases else self.code.seen_by(sync)
        releases = bool(seen & self.code.tensor_bit)
        runs = isinstance(op, ops.Tcgen05MmaOp | ops.Tcgen05CopyOp)
        loading = ((1 << len(self.code.loads)) - 1) << layout.loading & state
        used = sum(
            1 << layout.loading + self.code.loads[value]
            for value in op.operands
            if value in self.code.loads
        )
        if ((releases or runs) and loading) or used & state:
            make = maker(tcgen05_wait, Direction.LOADS)
            why = "tensor memory was loaded"
            found.append(Missing(op, RANK_WAIT, ("loads",), make, loading, why, aligned=True))
            state &= ~loading
        reads = isinstance(op, ops.Tcgen05LoadOp)
        if (releases or runs or reads) and state & layout.storing:
            make, why = maker(tcgen05_wait, Direction.STORES), "tensor memory was stored"
            found.append(
                Missing(op, RANK_WAIT, ("stores",), make, layout.storing, why, aligned=True)
            )
            state &= ~layout.storing
        if releases and state & layout.tensor:
            make = maker(tcgen05_fence, Side.BEFORE)
            why = "tensor-core operations are ordered before a thread that has some"
            found.append(Missing(op, RANK_TENSOR, ("before",), make, layout.tensor, why))
            state = state & ~layout.tensor | layout.tensor_fenced
        if isinstance(op, ops.Tcgen05Operation) and state & layout.synchronised:
            make = maker(tcgen05_fence, Side.AFTER)
            why = "tensor-core operations are ordered behind other threads' operations"
            found.append(Missing(op, RANK_TENSOR, ("after",), make, layout.synchronised, why))
            state &= ~layout.synchronised
        return state

    def _groups_before(
        self, op: Operation, sync: Sync | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """Waits for groups, in functions that do not count their groups themselves."""
        layout = self.layout
        grouped = layout.take(state, layout.grouped)
        if not grouped:
            return state
        pending = self._conflicting_groups(op, sync, grouped)
        for group in Group:
            numbers = [n for n in pending if self.code.entries[n].access.group is group]
            if not numbers or group in self.code.counts_groups:
                continue
            state = self._wait_for(group, numbers, op, state, found)
        return state

    def _conflicting_groups(self, op: Operation, sync: Sync | None, grouped: Mask) -> list[int]:
        here = sum(1 << entry.number for entry in self.code.of_op.get(op, ()))
        if sync is not None and sync.releases:
            here |= self.code.seen_by(sync)
        published = sync is not None and sync.releases and sync.scope.includes(Scope.AGENT)
        pending: list[int] = []
        for number in bits(grouped):
            access = self.code.entries[number].access
            ends = isinstance(op, ENDS) and access.group is Group.BULK and not access.writes
            if (
                (op is not self.code.entries[number].op and self.code.conflicts(number) & here)
                or (published and access.space == GLOBAL)
                or (ends and access.space in SHARED)
                or (isinstance(op, ops.WgmmaReadOp) and access.group is Group.WGMMA)
            ):
                pending.append(number)
        return pending

    def _wait_for(
        self, group: Group, numbers: Sequence[int], op: Operation, state: Mask, found: list[Missing]
    ) -> Mask:
        layout = self.layout
        reads_only = group is Group.BULK and not any(
            self.code.entries[n].access.writes for n in numbers
        )
        commit_bit = self.effects.commit_bit(group)
        mask = sum(1 << layout.grouped + n for n in numbers)
        make = partial(group_wait, group, bool(state & commit_bit), reads_only)
        why = f"{group} operations of this thread may not be done"
        aligned = group is Group.WGMMA
        found.append(Missing(op, RANK_GROUP, (group, reads_only), make, mask, why, aligned=aligned))
        return self.effects.waited(self.effects.committed(state, group), group, reads_only)

    # The places of the missing synchronisation

    def points(self, missing: Missing) -> list[Operation]:
        """The operations to put it before: only on the paths on which something is pending."""
        block = missing.at.parent
        assert block is not None
        if missing.after or not missing.pending & self.entry_state[block]:
            return [missing.at]
        if missing.aligned:
            return self._aligned_points(missing.at, block, missing.pending)
        return self._points(missing.at, block, missing.pending, {block})

    def _aligned_points(self, at: Operation, block: Block, pending: Mask) -> list[Operation]:
        """All threads that started the operations wait for them: in the blocks where they do."""
        if self._reaches(block, at, pending):
            return [at]
        starts = [
            each
            for each in self.code.blocks
            if each.last_op is not None and self._reaches(each, None, pending)
        ]
        return [cast(Operation, each.last_op) for each in starts] or [at]

    def _points(
        self, at: Operation, block: Block, pending: Mask, seen: set[Block]
    ) -> list[Operation]:
        before = [*dict.fromkeys(self.code.graph.predecessors[block])]
        if len(before) < 2 or self._reaches(block, at, pending):
            return [at]
        pending_in = [each for each in before if self.exit_state[each] & pending]
        if len(pending_in) in (0, len(before)) or any(
            len(self.code.graph.successors[each]) > 1 for each in pending_in
        ):
            return [at]
        found: list[Operation] = []
        for each in pending_in:
            last = each.last_op
            if each in seen or last is None:
                return [at]
            found += self._points(last, each, pending, seen | {each})
        return found

    def _reaches(self, block: Block, at: Operation | None, pending: Mask) -> bool:
        """True if something pending at ``at`` (None: the end) comes from within the block."""
        state = 0
        for op in self.code.interesting[block]:
            if op is at:
                break
            state = self.effects.after(op, state)
            sync = self.code.syncs.get(op)
            if sync is not None and sync.acquires:
                state, _ = self._acquire(sync, state | self.mail.get(op, 0))
        return bool(state & pending)


def _add_hits(needed: dict[int, Mask], by_space: Mapping[int, Mask], found: Mask, at: int) -> None:
    """Add to ``needed`` those of ``found`` that must be fenced, as bits of the field ``at``."""
    for space, mask in by_space.items():
        if hits := mask & found:
            needed[space] = needed.get(space, 0) | hits << at


def _written_at(writer: Operation | None, use: ops.TensorLoadOp | ops.TensorStoreOp) -> Scope:
    """The scope at which a tensor map was released."""
    if writer is None:
        return Scope.SYSTEM if use.written is None else use.written.data
    return writer.scope.data if isinstance(writer, ops.TensormapCopyOp) else Scope.AGENT
