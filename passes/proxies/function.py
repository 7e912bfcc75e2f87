"""Accesses and synchronisation of a function, before any analysis of their order."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, gpu
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.scoped_async import Group, Proxy, space_number
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks
from fencewright.passes.kernels.accept import Function
from fencewright.passes.proxies.barrier_meetings import (
    barriers_met,
    is_named,
    meet_by_name,
    named_sync_of,
)
from fencewright.passes.proxies.cluster_phases import waits_for_arrivals
from fencewright.passes.proxies.edges import (
    Sync,
    completed_on,
    may_see,
    may_wait_for,
    signalled,
    sync_of,
    used_by_cluster,
)
from fencewright.passes.proxies.locations import (
    CLUSTER,
    LOCAL,
    AccessLocation,
    Entry,
    Mask,
    accesses_of,
    fence_space,
    is_of_cluster,
    location_of,
    reaches_other_cta,
)

ENDS = (func.ReturnOp, gpu.ReturnOp)


@dataclass(slots=True)
class ProxyNeeds:
    """Generic accesses to fence from an async one: of its own CTA, and of others, by space."""

    own: dict[int, Mask] = field(default_factory=dict[int, int])
    foreign: dict[int, Mask] = field(default_factory=dict[int, int])

    @property
    def all(self) -> Mask:
        """All of them."""
        mask = 0
        for each in (*self.own.values(), *self.foreign.values()):
            mask |= each
        return mask


class AsyncFunction:
    """The accesses and synchronisation of a function, in masks of accesses by their number.

    ``fence_reads``: a generic read needs a proxy fence before an async write of the same
    memory, as it does by the memory model; main loops that read through registers before
    they arrive leave it out. Raises ``DiagnosticException`` for regions in the function.
    """

    def __init__(self, function: Function, fence_reads: bool):
        self.blocks = reachable_blocks(function.body)
        self.graph = block_graph(self.blocks)
        self.entries: list[Entry] = []
        self.of_op: dict[Operation, list[Entry]] = {}
        self.syncs: dict[Operation, Sync] = {}
        self.completed_at: dict[Operation, list[Operation]] = {}
        self.loads: dict[SSAValue, int] = {}
        self.inits: dict[Operation, int] = {}
        self.map_uses: list[SSAValue] = []
        self.map_writers: dict[Operation, Entry] = {}
        self.interesting: dict[Block, list[Operation]] = {}
        self.counts_groups: set[Group] = set()
        self.longest_pending = 0
        self.has_tensor = self.has_wgmma = False
        self.signalled: list[AccessLocation] = []
        self.fence_reads = fence_reads
        self.in_cluster = any(
            is_of_cluster(op) for block in self.blocks for op in operations(block)
        )
        self._collect()
        self.tensor_bit = 1 << len(self.entries)
        self.shapes: dict[tuple[AccessLocation, bool], Mask] = {}
        self.asyncs = self.generics = self.remote_generics = self.operands = 0
        self.needs: dict[int, ProxyNeeds] = {}
        self.needs_of_shapes: list[tuple[Mask, ProxyNeeds]] = []
        self.conflicts_of: dict[tuple[AccessLocation, bool], Mask] = {}
        self._find_conflicts()
        self._link()
        self._find_what_follows()

    # Collecting

    def _collect(self) -> None:
        for block in self.blocks:
            interesting = self.interesting[block] = []
            for op in operations(block):
                if op.regions:
                    message = (
                        f"'{op.name}' has regions; asynchronous operations need control flow of "
                        "blocks: run convert-scf-to-cf first"
                    )
                    op.emit_error(message, DiagnosticException(message))
                self._add(op, interesting)

    def _add(self, op: Operation, interesting: list[Operation]) -> None:
        """Note the effect of one operation on the analysis."""
        found = [
            Entry(len(self.entries) + n, op, each, location_of(each.pointer, each.space, each.size))
            for n, each in enumerate(accesses_of(op, self.in_cluster))
        ]
        if found:
            self.entries += found
            self.of_op[op] = found
        if (sync := sync_of(op) or named_sync_of(op)) is not None:
            self.syncs[op] = sync
        loads = any(value in self.loads for value in op.operands)
        if found or sync is not None or loads or isinstance(op, (ops.AsyncOperation, *ENDS)):
            interesting.append(op)
        if isinstance(op, ops.AsyncOperation):
            self._add_async(op, found)

    def _add_async(self, op: ops.AsyncOperation, found: Sequence[Entry]) -> None:
        if isinstance(op, ops.Tcgen05Operation):
            self.has_tensor = True
        if isinstance(op, ops.Tcgen05LoadOp):
            self.loads[op.value] = len(self.loads)
        if isinstance(op, ops.WgmmaOp):
            self.has_wgmma = True
        if isinstance(op, ops.WaitGroupOperation):
            self.counts_groups.add(op.GROUP)
            self.longest_pending = max(self.longest_pending, op.pending.value.data)
        if isinstance(op, ops.MbarrierInitOp):
            self.inits[op] = len(self.inits)
        if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp) and op.map not in self.map_uses:
            self.map_uses.append(op.map)
        if isinstance(op, ops.TensormapReplaceOp | ops.TensormapCopyOp):
            written = next(each for each in found if each.access.writes)
            if written.access.space != LOCAL:
                self.map_writers[op] = written
        mbarrier = signalled(op) or used_by_cluster(op)
        if mbarrier is not None:
            self.signalled.append(location_of(mbarrier, space_number(mbarrier), 8))

    # Conflicts, found once for all accesses of the same bytes

    def _find_conflicts(self) -> None:
        for entry in self.entries:
            shape = (entry.location, entry.access.writes)
            self.shapes[shape] = self.shapes.get(shape, 0) | 1 << entry.number
            if entry.access.proxy is Proxy.ASYNC:
                self.asyncs |= 1 << entry.number
            elif entry.is_generic:
                self.generics |= 1 << entry.number
                if entry.access.space == CLUSTER:
                    self.remote_generics |= 1 << entry.number
        for mask in self.shapes.values():
            if not mask & self.asyncs:
                continue
            needs = self._needs_of(self.entries[next(bits(mask & self.asyncs))])
            self.needs_of_shapes.append((mask & self.asyncs, needs))
            for number in bits(mask & self.asyncs):
                self.needs[number] = needs
                if isinstance(self.entries[number].op, ops.Tcgen05Operation):
                    self.operands |= needs.all

    def _needs_of(self, entry: Entry) -> ProxyNeeds:
        """The accesses that must be fenced before an async access, by the space of the fence."""
        needs = ProxyNeeds()
        for (location, writes), mask in self.shapes.items():
            mask &= self.generics
            is_source = writes or (self.fence_reads and entry.access.writes)
            if not mask or not is_source or not location.may_overlap(entry.location):
                continue
            space = fence_space(location.space, entry.access.space)
            needs.own[space] = needs.own.get(space, 0) | mask
            if reaches_other_cta(location.space, entry.access.space):
                needs.foreign[space] = needs.foreign.get(space, 0) | mask
        return needs

    def conflicts(self, number: int) -> Mask:
        """The accesses that one conflicts with: same bytes, and one of the two writes."""
        entry = self.entries[number]
        shape = (entry.location, entry.access.writes)
        mask = self.conflicts_of.get(shape)
        if mask is None:
            mask = 0
            for (location, writes), others in self.shapes.items():
                either_writes = writes or entry.access.writes
                if either_writes and location.may_overlap(entry.location):
                    mask |= others
            self.conflicts_of[shape] = mask
        return mask

    # Synchronisation edges

    def _link(self) -> None:
        named = [sync for sync in self.syncs.values() if is_named(sync.op)]
        acquires = [s for s in self.syncs.values() if s.acquires and s not in named]
        waits = waits_for_arrivals(self.blocks)
        met = barriers_met(self.blocks)
        for sync in self.syncs.values():
            if isinstance(sync.op, scoped.BarrierOp):
                sync.targets += met.get(sync.op, ())
            if sync in named:
                sync.targets = [each.op for each in named if meet_by_name(sync, each)]
            if not sync.releases or sync in named or isinstance(sync.op, scoped.BarrierOp):
                continue
            seen_by = waits.get(sync.op, frozenset())
            sync.targets = [
                each.op for each in acquires if each.op in seen_by or may_see(sync, each)
            ]
        for op in (each for block in self.blocks for each in self.interesting[block]):
            mbarrier = completed_on(op)
            if mbarrier is not None:
                self.completed_at[op] = [
                    each.op for each in acquires if may_wait_for(mbarrier, each.op)
                ]

    def _find_what_follows(self) -> None:
        """For each synchronisation, the operations that may follow on any path of control flow and
        edges."""

        def carry(block: Block, mask: Mask) -> Mask:
            for op in reversed(self.interesting[block]):
                mask = self._follow(op, mask)
            return mask

        def known() -> list[Mask]:
            return [sync.after for sync in self.syncs.values()]

        ends = dict.fromkeys(self.blocks, 0)
        solve(self.graph.backward, ends, carry, int.__or__, shared=known)

    def _follow(self, op: Operation, mask: Mask) -> Mask:
        sync = self.syncs.get(op)
        if sync is not None:
            sync.after |= mask
            for target in sync.targets:
                mask |= self.syncs[target].after
        for entry in self.of_op.get(op, ()):
            mask |= 1 << entry.number
        if isinstance(op, ops.Tcgen05Operation):
            mask |= self.tensor_bit
        return mask

    def seen_by(self, sync: Sync) -> Mask:
        """The operations that may follow the acquires that see a release."""
        mask = 0
        for target in sync.targets:
            mask |= self.syncs[target].after
        return mask
