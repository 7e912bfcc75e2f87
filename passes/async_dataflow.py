"""What asynchronous synchronisation a function lacks: dataflow over its accesses by proxy.

All threads of a cluster run the function. The state at a point says of every access of the
function whether it may have happened before that point without what a later conflicting
access through another proxy would need. It flows along control flow, and along
*synchronisation edges*: from every operation that releases to every one that may acquire
from it (an arrival to the waits for that mbarrier, a release to the acquires, a barrier to
itself). ``docs/async.md`` states the rule and what it rests on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, cast

from xdsl.dialects import func, gpu, llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.llvm import GEP_USE_SSA_VAL
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.attributes import ADDRESS_SPACES, ORDERINGS, SCOPES
from fencewright.mlir_dialects.scoped_async import (
    DIRECTIONS,
    PROXIES,
    SIDES,
    Access,
    Direction,
    Group,
    Proxy,
    Side,
    space_number,
)
from fencewright.passes.kernel_frontend import Function, byte_size, reachable_blocks
from fencewright.passes.ptx_arithmetic import PATH, bits_of

Mask: TypeAlias = int

_GENERIC = AddressSpace.GENERIC.number
_GLOBAL = AddressSpace.GLOBAL.number
_LOCAL = AddressSpace.LOCAL.number
_CLUSTER = AddressSpace.SHARED_CLUSTER.number
_SHARED = (_LOCAL, _CLUSTER)
_FENCED = (_GLOBAL, _LOCAL, _CLUSTER)
_UNSHARED = (AddressSpace.CONSTANT.number, AddressSpace.PRIVATE.number, ops.TENSOR_MEMORY)


# ---------------------------------------------------------------------------------------
# Locations
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Location:
    """Bytes ``low`` up to ``high`` from ``root``; None where it is not known.

    ``root`` is a variable's name, or the argument that the address is computed from.
    """

    space: int
    root: object = None
    low: int | None = None
    high: int | None = None

    def may_overlap(self, other: "Location") -> bool:
        """Whether the two may share a byte, a peer's copy of a variable counting as the same."""
        if not _spaces_meet(self.space, other.space):
            return False
        if self.root is None or other.root is None:
            return True
        if self.root != other.root:
            return not _are_distinct(self.root, other.root)
        return not (_is_before(self, other) or _is_before(other, self))


@dataclass(frozen=True, slots=True)
class _Restricted:
    """A ``llvm.noalias`` argument: what it points to is reached through it alone."""

    number: int


def _are_distinct(a: object, b: object) -> bool:
    """Whether two different roots are certainly of different memory."""
    both_variables = isinstance(a, str) and isinstance(b, str)
    return both_variables or isinstance(a, _Restricted) or isinstance(b, _Restricted)


def _spaces_meet(a: int, b: int) -> bool:
    return a == b or _GENERIC in (a, b) or (a in _SHARED and b in _SHARED)


def _is_before(a: Location, b: Location) -> bool:
    return a.high is not None and b.low is not None and a.high <= b.low


def location_of(pointer: SSAValue | None, space: int, size: int | None) -> Location:
    """Where an access of ``size`` bytes through ``pointer`` is."""
    if pointer is None:
        return Location(space)
    root, offset = _root_of(pointer)
    known = offset is not None and size is not None
    return Location(space, root, offset, cast(int, offset) + size if known and size else None)


def _root_of(pointer: SSAValue) -> tuple[object, int | None]:
    """The root of an address and its offset from there, None if it is not constant."""
    offset: int | None = 0
    while True:
        owner = pointer.owner
        if isinstance(owner, llvm.GEPOp):
            step = _constant_offset(owner)
            offset = None if offset is None or step is None else offset + step
            pointer = owner.ptr
        elif isinstance(owner, ops.MapSharedOp):
            pointer = owner.pointer
        elif isinstance(owner, llvm.AddressOfOp):
            return owner.global_name.string_value(), offset
        else:
            return _argument(pointer), offset


def _argument(pointer: SSAValue) -> object:
    """An argument of the function, which is the same wherever it is used; None for others."""
    if not isinstance(pointer, BlockArgument):
        return None
    region = pointer.block.parent
    if region is None or region.blocks[0] is not pointer.block:
        return None
    function = pointer.block.parent_op()
    attributes = function.arg_attrs if isinstance(function, func.FuncOp) else None
    if attributes is not None and "llvm.noalias" in attributes.data[pointer.index].data:
        return _Restricted(pointer.index)
    return pointer


def _constant_offset(gep: llvm.GEPOp) -> int | None:
    indices = tuple(gep.rawConstantIndices.get_values())
    if len(indices) != 1 or indices[0] == GEP_USE_SSA_VAL:
        return None
    return int(indices[0]) * byte_size(gep, gep.elem_type, bits_of, PATH)


# ---------------------------------------------------------------------------------------
# The accesses of a function
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One access of the function; ``number`` is its place in every mask."""

    number: int
    op: Operation
    access: Access
    location: Location

    @property
    def is_generic(self) -> bool:
        """Whether it is in the proxy of ordinary loads and stores."""
        return self.access.proxy is Proxy.GENERIC


def accesses_of(op: Operation) -> tuple[Access, ...]:
    """What an operation accesses of memory that other threads or proxies can get at."""
    if isinstance(op, ops.AsyncOperation):
        found = op.accesses()
    elif isinstance(op, scoped.AccessOperation):
        bits = bits_of(op.value_type)
        access = partial(
            Access,
            op.pointer,
            space_number(op.pointer),
            size=None if bits is None else -(-bits // 8),
            proxy=Proxy.GENERIC,
        )
        found = (access(writes=not isinstance(op, scoped.LoadOp)),)
    else:
        return ()
    return tuple(each for each in found if each.space not in _UNSHARED)


# ---------------------------------------------------------------------------------------
# What is missing
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Missing:
    """Synchronisation that is missing before ``at`` (or behind it, if ``behind``), and why.

    ``make`` makes the operations, in order; those of a lower ``rank`` come first. ``pending``
    are the bits of the state that it is for, ``key`` tells equal ones. ``relaxes``: they take
    the ordering of ``at`` over. ``aligned``: all threads of a wavefront execute them together.
    """

    at: Operation
    rank: int
    key: tuple[object, ...]
    make: Callable[[], Sequence[Operation]]
    pending: Mask
    reason: str
    behind: bool = False
    relaxes: bool = False
    aligned: bool = False


_RANK_GROUP, _RANK_WAIT, _RANK_PROXY, _RANK_TENSOR = range(4)


def _proxy_fence(space: int) -> Operation:
    word = AddressSpace.from_number(space)
    return ops.ProxyFenceOp.create(properties={"space": ADDRESS_SPACES[word]})


def _cluster_fence(ordering: Ordering, proxy: Proxy) -> Operation:
    return ops.ClusterFenceOp.create(
        properties={"ordering": ORDERINGS[ordering], "proxy": PROXIES[proxy]}
    )


def _tcgen05_fence(side: Side) -> Operation:
    return ops.Tcgen05FenceOp.create(properties={"side": SIDES[side]})


def _tcgen05_wait(direction: Direction) -> Operation:
    return ops.Tcgen05WaitOp.create(properties={"direction": DIRECTIONS[direction]})


def _acquire_map(map: SSAValue, scope: Scope) -> Operation:
    return ops.TensormapFenceOp.create(
        operands=(map,),
        properties={"ordering": ORDERINGS[Ordering.ACQUIRE], "scope": SCOPES[scope]},
    )


def _release_maps() -> Operation:
    return ops.TensormapFenceOp.create(
        properties={"ordering": ORDERINGS[Ordering.RELEASE], "scope": SCOPES[Scope.AGENT]}
    )


_COMMIT: Mapping[Group, type[ops.CommitOperation]] = {
    Group.COPY: ops.AsyncCommitGroupOp,
    Group.BULK: ops.BulkCommitGroupOp,
    Group.WGMMA: ops.WgmmaCommitGroupOp,
}
_WAIT: Mapping[Group, type[ops.WaitGroupOperation]] = {
    Group.COPY: ops.AsyncWaitGroupOp,
    Group.BULK: ops.BulkWaitGroupOp,
    Group.WGMMA: ops.WgmmaWaitGroupOp,
}


def _group_wait(group: Group, commits: bool, reads_only: bool) -> Sequence[Operation]:
    from xdsl.dialects.builtin import UnitAttr, i64

    properties: dict[str, object] = {"pending": IntegerAttr(0, i64)}
    if reads_only:
        properties["read"] = UnitAttr()
    wait = _WAIT[group].create(properties=cast("dict[str, IntegerAttr]", properties))
    return (_COMMIT[group].create(), wait) if commits else (wait,)


# ---------------------------------------------------------------------------------------
# The state
# ---------------------------------------------------------------------------------------


class Layout:
    """Which bit of a state stands for what. Of the access number n:

    ``own`` n: it was made in this CTA, in the generic proxy, without a proxy fence since.
    ``accessed``: made in this CTA at all. ``unreleased``: with no async cluster release since.
    ``foreign``: made in another CTA of the cluster, without a proxy fence here since.
    ``released``: the same, behind an async cluster release there. ``grouped``: started by
    this thread, and its group has not been waited for.
    """

    def __init__(self, count: int, loads: int, inits: int, map_writes: int):
        self._next = 0
        self.count = count
        self.all = (1 << count) - 1
        self.own = self._field(count)
        self.accessed = self._field(count)
        self.unreleased = self._field(count)
        self.foreign = self._field(count)
        self.released = self._field(count)
        self.grouped = self._field(count)
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
        self.maps_unreleased = 1 << self._field(1)
        # Groups, and loads and stores of tensor memory, only their own thread can wait for.
        self.thread = self._masks((self.grouped, count), (self.loading, loads)) | self.storing
        self.thread |= self._masks((self.uncommitted, len(Group))) | self.registers
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


def bits(mask: Mask) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# ---------------------------------------------------------------------------------------
# The analysis
# ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sync:
    """An operation that releases or acquires, in the function.

    ``targets`` are the acquires that may see this release; ``after`` what may follow it: as
    bits, accesses by number, and whether a tensor-core operation does.
    """

    op: Operation
    scope: Scope
    releases: bool
    acquires: bool
    targets: list[Operation] = field(default_factory=list[Operation])
    after: Mask = 0


@dataclass(slots=True)
class _Needs:
    """Generic accesses to fence from an async one: of its own CTA, and of others, by space."""

    own: dict[int, Mask] = field(default_factory=dict[int, int])
    foreign: dict[int, Mask] = field(default_factory=dict[int, int])


class Analysis:
    """The accesses and synchronisation of one function, and what is missing of it.

    ``fence_reads``: a generic read needs a proxy fence before an async write of the same
    memory, as it does by the memory model; main loops that read through registers before
    they arrive leave it out. Raises ``DiagnosticException`` for regions in the function.
    """

    def __init__(self, function: Function, fence_reads: bool):
        self.function = function
        self.blocks = reachable_blocks(function.body)
        self.predecessors = _predecessors(self.blocks)
        self.entries: list[Entry] = []
        self.of_op: dict[Operation, list[Entry]] = {}
        self.syncs: dict[Operation, _Sync] = {}
        self.loads: dict[SSAValue, int] = {}
        self.inits: dict[Operation, int] = {}
        self.map_uses: list[SSAValue] = []
        self.map_writers: dict[Operation, Entry] = {}
        self.interesting: dict[Block, list[Operation]] = {}
        self.counts_groups: set[Group] = set()
        self.has_tensor = self.has_wgmma = self.has_cluster = False
        self.signalled: list[Location] = []
        self.fence_reads = fence_reads
        self._collect()
        self.tensor_bit = 1 << len(self.entries)
        writers = len(self.map_writers) * len(self.map_uses) + len(self.map_uses)
        self.layout = Layout(len(self.entries), len(self.loads), len(self.inits), writers)
        self.shapes: dict[tuple[Location, bool], Mask] = {}
        self.asyncs = self.generics = self.remote_generics = 0
        self.needs: dict[int, _Needs] = {}
        self.needs_of_shapes: list[tuple[Mask, _Needs]] = []
        self.conflicts_of: dict[tuple[Location, bool], Mask] = {}
        self._find_conflicts()
        self.covered = {space: self._covered(space) for space in (None, *_FENCED)}
        self.of_group = {group: self._of_group(group) for group in Group}
        self.mail: dict[Operation, Mask] = {}
        self.entry_state: dict[Block, Mask] = {block: 0 for block in self.blocks}
        self.exit_state: dict[Block, Mask] = {}
        self._link()
        self._find_what_follows()
        self._initialise()

    # Collecting

    def _collect(self) -> None:
        for block in self.blocks:
            interesting = self.interesting[block] = []
            for op in block.ops:
                if op.regions:
                    message = (
                        f"'{op.name}' has regions; asynchronous operations need control flow of "
                        "blocks: run convert-scf-to-cf first"
                    )
                    op.emit_error(message, DiagnosticException(message))
                self._add(op, interesting)

    def _add(self, op: Operation, interesting: list[Operation]) -> None:
        """Note what one operation is to the analysis."""
        found = [
            Entry(
                len(self.entries) + n,
                op,
                each,
                location_of(each.pointer, each.space, each.size),
            )
            for n, each in enumerate(accesses_of(op))
        ]
        if found:
            self.entries += found
            self.of_op[op] = found
        if (sync := _sync_of(op)) is not None:
            self.syncs[op] = sync
        loads = any(value in self.loads for value in op.operands)
        if found or sync is not None or loads or isinstance(op, (ops.AsyncOperation, *_ENDS)):
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
        if isinstance(op, ops.ClusterArriveOp | ops.ClusterWaitOp):
            self.has_cluster = True
        if isinstance(op, ops.WaitGroupOperation):
            self.counts_groups.add(op.GROUP)
        if isinstance(op, ops.MbarrierInitOp):
            self.inits[op] = len(self.inits)
        if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp) and op.map not in self.map_uses:
            self.map_uses.append(op.map)
        if isinstance(op, ops.TensormapReplaceOp | ops.TensormapCopyOp):
            written = next(each for each in found if each.access.writes)
            if written.access.space != _LOCAL:
                self.map_writers[op] = written
        mbarrier = _signalled(op) or _used_by_cluster(op)
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
                if entry.access.space in (_CLUSTER, _GENERIC):
                    self.remote_generics |= 1 << entry.number
        for mask in self.shapes.values():
            if not mask & self.asyncs:
                continue
            needs = self._needs_of(self.entries[next(bits(mask & self.asyncs))])
            self.needs_of_shapes.append((mask & self.asyncs, needs))
            for number in bits(mask & self.asyncs):
                self.needs[number] = needs

    def _needs_of(self, entry: Entry) -> "_Needs":
        """What must be fenced before an async access, by the space of the fence."""
        needs = _Needs()
        for (location, writes), mask in self.shapes.items():
            mask &= self.generics
            owes = writes or (self.fence_reads and entry.access.writes)
            if not mask or not owes or not location.may_overlap(entry.location):
                continue
            space = _fence_space(location.space, entry.access.space)
            needs.own[space] = needs.own.get(space, 0) | mask
            if _reaches_other_cta(location.space, entry.access.space):
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
        acquires = [sync for sync in self.syncs.values() if sync.acquires]
        for sync in self.syncs.values():
            if not sync.releases or isinstance(sync.op, scoped.BarrierOp):
                continue
            sync.targets = [each.op for each in acquires if _may_see(sync, each)]

    def _find_what_follows(self) -> None:
        """For each synchronisation, what may follow it on any path of control flow and edges."""
        at_start: dict[Block, Mask] = dict.fromkeys(self.blocks, 0)
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                mask = 0
                for successor in _successors(block):
                    mask |= at_start[successor]
                for op in reversed(self.interesting[block]):
                    mask, grew = self._follow(op, mask)
                    changed |= grew
                if mask | at_start[block] != at_start[block]:
                    at_start[block] |= mask
                    changed = True

    def _follow(self, op: Operation, mask: Mask) -> tuple[Mask, bool]:
        grew = False
        sync = self.syncs.get(op)
        if sync is not None:
            before = sync.after
            sync.after |= mask
            grew = sync.after != before
            for target in sync.targets:
                mask |= self.syncs[target].after
        for entry in self.of_op.get(op, ()):
            mask |= 1 << entry.number
        if isinstance(op, ops.Tcgen05Operation):
            mask |= self.tensor_bit
        return mask, grew

    def _seen_by(self, sync: _Sync) -> Mask:
        """What may follow the acquires that see a release."""
        mask = 0
        for target in sync.targets:
            mask |= self.syncs[target].after
        return mask

    # The fixpoint

    def _initialise(self) -> None:
        layout = self.layout
        if self.has_wgmma:
            layout.initial |= layout.registers
        self.maps_elsewhere = self._maps_written_elsewhere()
        layout.initial |= self.maps_elsewhere
        self.entry_state[self.blocks[0]] = layout.initial

    def _maps_written_elsewhere(self) -> Mask:
        mask = 0
        for op in self.of_op:
            if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp) and op.written is not None:
                mask |= 1 << self._elsewhere_bit(op.map)
        return mask

    def _elsewhere_bit(self, map: SSAValue) -> int:
        uses = len(self.map_uses)
        return self.layout.map_writes + len(self.map_writers) * uses + self.map_uses.index(map)

    def solve(self) -> list[Missing]:
        """Everything that is missing."""
        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                before = dict(self.mail)
                state = self.entry_state[block]
                for op in self.interesting[block]:
                    state = self._step(op, state, None)
                self.exit_state[block] = state
                for successor in _successors(block):
                    if state | self.entry_state[successor] != self.entry_state[successor]:
                        self.entry_state[successor] |= state
                        changed = True
                changed |= before != self.mail
        missing: list[Missing] = []
        for block in self.blocks:
            state = self.entry_state[block]
            for op in self.interesting[block]:
                state = self._step(op, state, missing)
        return missing

    def _step(self, op: Operation, state: Mask, missing: list[Missing] | None) -> Mask:
        """The state behind ``op``, with what is missing before it taken as inserted."""
        found: list[Missing] = []
        state |= self.mail.get(op, 0)
        state = self._before(op, state, found)
        if missing is not None:
            missing += found
        state = self._effect(op, state)
        sync = self.syncs.get(op)
        if sync is None:
            return state
        if sync.acquires:
            state, restricted = self._acquire(sync, state)
            if missing is not None:
                missing += restricted
        return state

    # What must come before an operation

    def _before(self, op: Operation, state: Mask, found: list[Missing]) -> Mask:
        sync = self.syncs.get(op)
        state = self._tensor_before(op, sync, state, found)
        state = self._groups_before(op, sync, state, found)
        for entry in self.of_op.get(op, ()):
            if entry.access.proxy is Proxy.ASYNC:
                state = self._fence_for(entry, state, found)
        if isinstance(op, ops.TensorLoadOp | ops.TensorStoreOp):
            state = self._maps_before(op, state, found)
        if isinstance(op, ops.WgmmaOp) and state & self.layout.registers:
            found.append(
                Missing(
                    op,
                    _RANK_TENSOR,
                    ("wgmma",),
                    _maker(ops.WgmmaFenceOp.create),
                    self.layout.registers,
                    "accumulator registers were accessed",
                )
            )
        mbarrier = _signalled(op)
        if mbarrier is not None:
            state = self._inits_before(op, location_of(mbarrier, _CLUSTER, 8), state, found)
        if sync is not None and sync.releases:
            state = self._release(sync, state, found)
        return state

    def _fence_for(self, entry: Entry, state: Mask, found: list[Missing]) -> Mask:
        """A generic access may be before ``entry`` that no proxy fence orders with it."""
        layout, needs = self.layout, self.needs[entry.number]
        needed: dict[int, Mask] = {}
        for field_, by_space in (
            (layout.own, needs.own),
            (layout.foreign, needs.foreign),
            (layout.released, needs.foreign),
        ):
            _add_hits(needed, by_space, layout.take(state, field_), field_)
        if state & layout.world and _spaces_meet(entry.access.space, _GLOBAL):
            needed[_GLOBAL] = needed.get(_GLOBAL, 0) | layout.world
        return self._fence(entry.op, needed, state, found, "generic accesses before an async one")

    def _fence(
        self, op: Operation, needed: dict[int, Mask], state: Mask, found: list[Missing], why: str
    ) -> Mask:
        if _CLUSTER in needed and _LOCAL in needed:
            # What orders the cluster's shared memory orders the CTA's own.
            needed[_CLUSTER] |= needed.pop(_LOCAL)
        for space, mask in sorted(needed.items()):
            found.append(
                Missing(op, _RANK_PROXY, ("proxy", space), _maker(_proxy_fence, space), mask, why)
            )
            state = self._fenced(state, space)
        return state

    def _fenced(self, state: Mask, space: int | None) -> Mask:
        """The state behind a proxy fence of one address space, or of all."""
        layout, mask = self.layout, self.covered[space]
        for field_ in (layout.own, layout.foreign, layout.released):
            state &= ~(mask << field_)
        return state & ~layout.world if space in (None, _GLOBAL) else state

    def _covered(self, space: int | None) -> Mask:
        return sum(1 << each.number for each in self.entries if _covers(space, each.access.space))

    def _of_group(self, group: Group) -> tuple[Mask, Mask]:
        """The accesses of a group's operations, and the reads among them, as bits of a state."""
        reads = writes = 0
        for entry in self.entries:
            if entry.access.group is group and entry.access.writes:
                writes |= 1 << self.layout.grouped + entry.number
            elif entry.access.group is group:
                reads |= 1 << self.layout.grouped + entry.number
        return reads | writes, reads

    def _release(self, sync: _Sync, state: Mask, found: list[Missing]) -> Mask:
        """What a thread owes to those that acquire from it."""
        layout, op = self.layout, sync.op
        seen = self._seen_by(sync)
        if _restricted(op):
            return self._restricted_release(sync, state, seen, found)
        if not _crosses(sync):
            needed: dict[int, Mask] = {}
            own = layout.take(state, layout.own)
            for asyncs, needs in self.needs_of_shapes if own else ():
                if asyncs & seen:
                    _add_hits(needed, needs.own, own, layout.own)
            why = "generic accesses are released to a thread that starts an async one"
            state = self._fence(op, needed, state, found, why)
        state = self._inits_before(op, None, state, found)
        if state & layout.maps_unreleased:
            found.append(
                Missing(
                    op,
                    _RANK_PROXY,
                    ("maps",),
                    _maker(_release_maps),
                    layout.maps_unreleased,
                    "a tensor map was written",
                )
            )
            state &= ~layout.maps_unreleased
        self._send(sync, state)
        return state

    def _send(self, sync: _Sync, state: Mask) -> None:
        """Post the state to the acquires that may see this release."""
        layout = self.layout
        sent = state & ~layout.thread
        for target in sync.targets:
            crossing = _crosses(sync) and _crosses(self.syncs[target])
            received = sent | self._in_other_ctas(state) if crossing else sent
            self.mail[target] = self.mail.get(target, 0) | received

    def _in_other_ctas(self, state: Mask) -> Mask:
        """What a CTA's accesses are to the others of its cluster."""
        layout = self.layout
        accessed = layout.take(state, layout.accessed)
        unreleased = layout.take(state, layout.unreleased)
        return (accessed & unreleased) << layout.foreign | (
            accessed & ~unreleased
        ) << layout.released

    def _restricted_release(
        self, sync: _Sync, state: Mask, seen: Mask, found: list[Missing]
    ) -> Mask:
        """``release cluster spaces [local]``: fences of own LDS, and a relaxed arrival."""
        layout = self.layout
        proxies = self._proxies(layout.take(state, layout.accessed), seen)
        self._restrict(sync.op, Ordering.RELEASE, proxies, found, behind=False)
        if Proxy.ASYNC in proxies:
            state &= ~(layout.all << layout.unreleased)
        self._send(sync, state)
        return state

    def _proxies(self, accessed: Mask, seen: Mask) -> list[Proxy]:
        """The proxies to release to or acquire for: generic unless only async accesses follow."""
        to_async = any(
            mask & accessed
            for asyncs, needs in self.needs_of_shapes
            if asyncs & seen
            for mask in needs.foreign.values()
        )
        to_generic = any(
            self.conflicts(number) & accessed for number in bits(seen & self.remote_generics)
        )
        found = [Proxy.GENERIC] if to_generic or not to_async else []
        return [*found, Proxy.ASYNC] if to_async else found

    def _restrict(
        self,
        op: Operation,
        ordering: Ordering,
        proxies: Sequence[Proxy],
        found: list[Missing],
        behind: bool,
    ) -> None:
        def make() -> Sequence[Operation]:
            return [_cluster_fence(ordering, proxy) for proxy in proxies]

        why = "only LDS is ordered"
        found.append(
            Missing(op, _RANK_PROXY, (ordering, *proxies), make, 0, why, behind, relaxes=True)
        )

    def _acquire(self, sync: _Sync, state: Mask) -> tuple[Mask, list[Missing]]:
        layout, op = self.layout, sync.op
        found: list[Missing] = []
        if isinstance(op, scoped.BarrierOp) and _crosses(sync):
            state |= self._in_other_ctas(state)
        if _is_mbarrier_wait(op) or state & (layout.tensor | layout.tensor_fenced):
            state |= layout.synchronised if self.has_tensor else 0
        if sync.scope.includes(Scope.AGENT):
            state |= layout.world
        state |= self.maps_elsewhere
        if _restricted(op):
            arrived = layout.take(state, layout.foreign) | layout.take(state, layout.released)
            proxies = self._proxies(arrived, sync.after)
            self._restrict(op, Ordering.ACQUIRE, proxies, found, behind=True)
            if Proxy.ASYNC in proxies:
                state = self._async_acquired(state)
        return state, found

    def _async_acquired(self, state: Mask) -> Mask:
        """Behind an async acquire of the cluster's LDS, of what was released to it.

        The thread's own release and acquire order its own CTA's accesses as well.
        """
        layout = self.layout
        unreleased = layout.take(state, layout.unreleased)
        own = sum(
            1 << entry.number
            for entry in self.entries
            if entry.access.space == _LOCAL and not unreleased >> entry.number & 1
        )
        return state & ~(layout.all << layout.released) & ~(own << layout.own)

    def _inits_before(
        self, op: Operation, used: Location | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """mbarriers made by this thread, that a peer or the async proxy will use."""
        layout = self.layout
        pending = 0
        for init, number in self.inits.items():
            bit = 1 << layout.inits + number
            if state & bit and self._needs_init_fence(init, op, used):
                pending |= bit
        if not pending:
            return state
        why = "an mbarrier was made that peers or asynchronous operations arrive at"
        make = _maker(ops.MbarrierInitFenceOp.create)
        found.append(Missing(op, _RANK_PROXY, ("init",), make, pending, why))
        return state & ~(((1 << len(self.inits)) - 1) << layout.inits)

    def _needs_init_fence(self, init: Operation, op: Operation, used: Location | None) -> bool:
        mbarrier = cast(ops.MbarrierInitOp, init).mbarrier
        place = location_of(mbarrier, _CLUSTER, 8)
        if used is not None:
            return place.may_overlap(used)
        sync = self.syncs[op]
        return _crosses(sync) or any(place.may_overlap(each) for each in self.signalled)

    def _maps_before(
        self, op: ops.TensorLoadOp | ops.TensorStoreOp, state: Mask, found: list[Missing]
    ) -> Mask:
        """Tensor maps are read in a proxy of their own, which nothing else orders."""
        layout = self.layout
        scope, pending = Scope.WORKGROUP, 0
        for writer, bit in self._map_bits(op.map):
            if not state & bit:
                continue
            pending |= bit
            scope = max(scope, _written_at(writer, op), key=lambda each: each.rank)
        if not pending:
            return state
        if state & layout.maps_unreleased:
            make = _maker(_release_maps)
            why = "a tensor map was written"
            found.append(Missing(op, _RANK_PROXY, ("maps",), make, layout.maps_unreleased, why))
            state &= ~layout.maps_unreleased
        make, why = _maker(_acquire_map, op.map, scope), "the tensor map was written"
        found.append(Missing(op, _RANK_TENSOR, ("map", op.map), make, 0, why))
        return state & ~pending

    def _map_bits(self, map: SSAValue) -> Iterator[tuple[Operation | None, Mask]]:
        """For each writer that may have written ``map`` (None: elsewhere), its bit."""
        if map not in self.map_uses:
            return
        column, uses = self.map_uses.index(map), len(self.map_uses)
        place = location_of(map, _GENERIC, 128)
        for number, (writer, entry) in enumerate(self.map_writers.items()):
            if entry.location.may_overlap(place):
                yield writer, 1 << self.layout.map_writes + number * uses + column
        yield None, 1 << self._elsewhere_bit(map)

    def _tensor_before(
        self, op: Operation, sync: _Sync | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """Waits for loads and stores of tensor memory, and the fences around synchronisation."""
        layout = self.layout
        if not self.has_tensor:
            return state
        seen = 0 if sync is None or not sync.releases else self._seen_by(sync)
        releases = bool(seen & self.tensor_bit)
        runs = isinstance(op, ops.Tcgen05MmaOp | ops.Tcgen05CopyOp)
        loading = ((1 << len(self.loads)) - 1) << layout.loading & state
        used = sum(
            1 << layout.loading + self.loads[value] for value in op.operands if value in self.loads
        )
        if ((releases or runs) and loading) or used & state:
            make = _maker(_tcgen05_wait, Direction.LOADS)
            why = "tensor memory was loaded"
            found.append(Missing(op, _RANK_WAIT, ("loads",), make, loading, why, aligned=True))
            state &= ~loading
        reads = isinstance(op, ops.Tcgen05LoadOp)
        if (releases or runs or reads) and state & layout.storing:
            make, why = _maker(_tcgen05_wait, Direction.STORES), "tensor memory was stored"
            found.append(
                Missing(op, _RANK_WAIT, ("stores",), make, layout.storing, why, aligned=True)
            )
            state &= ~layout.storing
        if releases and state & layout.tensor:
            make = _maker(_tcgen05_fence, Side.BEFORE)
            why = "tensor-core operations are ordered before a thread that has some"
            found.append(Missing(op, _RANK_TENSOR, ("before",), make, layout.tensor, why))
            state = state & ~layout.tensor | layout.tensor_fenced
        if isinstance(op, ops.Tcgen05Operation) and state & layout.synchronised:
            make = _maker(_tcgen05_fence, Side.AFTER)
            why = "tensor-core operations are ordered behind other threads' operations"
            found.append(Missing(op, _RANK_TENSOR, ("after",), make, layout.synchronised, why))
            state &= ~layout.synchronised
        return state

    def _groups_before(
        self, op: Operation, sync: _Sync | None, state: Mask, found: list[Missing]
    ) -> Mask:
        """Waits for groups, in functions that do not count their groups themselves."""
        layout = self.layout
        grouped = layout.take(state, layout.grouped)
        if not grouped:
            return state
        pending = self._conflicting_groups(op, sync, grouped)
        for group in Group:
            numbers = [n for n in pending if self.entries[n].access.group is group]
            if not numbers or group in self.counts_groups:
                continue
            state = self._wait_for(group, numbers, op, state, found)
        return state

    def _conflicting_groups(self, op: Operation, sync: _Sync | None, grouped: Mask) -> list[int]:
        here = sum(1 << entry.number for entry in self.of_op.get(op, ()))
        if sync is not None and sync.releases:
            here |= self._seen_by(sync)
        published = sync is not None and sync.releases and sync.scope.includes(Scope.AGENT)
        pending: list[int] = []
        for number in bits(grouped):
            access = self.entries[number].access
            ends = isinstance(op, _ENDS) and access.group is Group.BULK and not access.writes
            if (
                (op is not self.entries[number].op and self.conflicts(number) & here)
                or (published and access.space == _GLOBAL)
                or (ends and access.space in _SHARED)
                or (isinstance(op, ops.WgmmaReadOp) and access.group is Group.WGMMA)
            ):
                pending.append(number)
        return pending

    def _wait_for(
        self,
        group: Group,
        numbers: Sequence[int],
        op: Operation,
        state: Mask,
        found: list[Missing],
    ) -> Mask:
        layout = self.layout
        reads_only = group is Group.BULK and not any(self.entries[n].access.writes for n in numbers)
        commit_bit = self._commit_bit(group)
        mask = sum(1 << layout.grouped + n for n in numbers)
        make = partial(_group_wait, group, bool(state & commit_bit), reads_only)
        why = f"{group} operations of this thread may not be done"
        aligned = group is Group.WGMMA
        found.append(
            Missing(op, _RANK_GROUP, (group, reads_only), make, mask, why, aligned=aligned)
        )
        return self._waited(state & ~commit_bit, group, reads_only)

    def _commit_bit(self, group: Group) -> Mask:
        return 1 << self.layout.uncommitted + list(Group).index(group)

    def _waited(self, state: Mask, group: Group, reads_only: bool) -> Mask:
        """The state behind a wait for all groups of a kind."""
        everything, reads = self.of_group[group]
        return state & ~(reads if reads_only else everything)

    # What an operation does

    def _effect(self, op: Operation, state: Mask) -> Mask:
        layout = self.layout
        for entry in self.of_op.get(op, ()):
            if entry.is_generic:
                state |= 1 << layout.own + entry.number
                state |= 1 << layout.accessed + entry.number
                state |= 1 << layout.unreleased + entry.number
            if entry.access.group is not None:
                state |= 1 << layout.grouped + entry.number
                state |= self._commit_bit(entry.access.group)
        handler = _EFFECTS.get(type(op))
        return state if handler is None else handler(self, op, state)

    def proxy_fence(self, op: Operation, state: Mask) -> Mask:
        space = cast(ops.ProxyFenceOp, op).space
        return self._fenced(state, None if space is None else space.data.number)

    def cluster_fence(self, op: Operation, state: Mask) -> Mask:
        fence = cast(ops.ClusterFenceOp, op)
        if fence.proxy.data is not Proxy.ASYNC:
            return state
        if fence.ordering.data is Ordering.ACQUIRE:
            return self._async_acquired(state)
        return state & ~(self.layout.all << self.layout.unreleased)

    def mbarrier_init(self, op: Operation, state: Mask) -> Mask:
        return state | 1 << self.layout.inits + self.inits[op]

    def mbarrier_init_fence(self, op: Operation, state: Mask) -> Mask:
        return state & ~(((1 << len(self.inits)) - 1) << self.layout.inits)

    def map_written(self, op: Operation, state: Mask) -> Mask:
        if op not in self.map_writers:
            return state
        number, uses = list(self.map_writers).index(op), len(self.map_uses)
        state |= ((1 << uses) - 1) << self.layout.map_writes + number * uses
        if isinstance(op, ops.TensormapReplaceOp):
            state |= self.layout.maps_unreleased
        return state

    def tensormap_fence(self, op: Operation, state: Mask) -> Mask:
        map = cast(ops.TensormapFenceOp, op).map
        if map is None:
            return state & ~self.layout.maps_unreleased
        for _, bit in self._map_bits(map):
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
        return state & ~(((1 << len(self.loads)) - 1) << layout.loading)

    def tcgen05_load(self, op: Operation, state: Mask) -> Mask:
        layout = self.layout
        value = cast(ops.Tcgen05LoadOp, op).value
        return state | layout.tensor | 1 << layout.loading + self.loads[value]

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
        return state & ~self._commit_bit(cast(ops.CommitOperation, op).GROUP)

    def wait_group(self, op: Operation, state: Mask) -> Mask:
        wait = cast(ops.WaitGroupOperation, op)
        if wait.pending.value.data:
            return state
        return self._waited(state, wait.GROUP, wait.reads_only)

    # Where to put what is missing

    def points(self, missing: Missing) -> list[Operation]:
        """The operations to put it before: only on the ways on which something is pending."""
        block = missing.at.parent
        assert block is not None
        if missing.behind or not missing.pending & self.entry_state[block]:
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
            for each in self.blocks
            if each.last_op is not None and self._reaches(each, None, pending)
        ]
        return [cast(Operation, each.last_op) for each in starts] or [at]

    def _points(
        self, at: Operation, block: Block, pending: Mask, seen: set[Block]
    ) -> list[Operation]:
        before = self.predecessors[block]
        if len(before) < 2 or self._reaches(block, at, pending):
            return [at]
        ways = [each for each in before if self.exit_state[each] & pending]
        if len(ways) in (0, len(before)) or any(len(_successors(each)) > 1 for each in ways):
            return [at]
        found: list[Operation] = []
        for each in ways:
            last = each.last_op
            if each in seen or last is None:
                return [at]
            found += self._points(last, each, pending, seen | {each})
        return found

    def _reaches(self, block: Block, at: Operation | None, pending: Mask) -> bool:
        """Whether something pending at ``at`` (None: the end) comes from within the block."""
        state = 0
        for op in self.interesting[block]:
            state |= self.mail.get(op, 0)
            if op is at:
                break
            state = self._effect(op, state)
            sync = self.syncs.get(op)
            if sync is not None and sync.acquires:
                state, _ = self._acquire(sync, state)
        return bool(state & pending)


_EFFECTS: Mapping[type[Operation], Callable[[Analysis, Operation, Mask], Mask]] = {
    ops.ProxyFenceOp: Analysis.proxy_fence,
    ops.ClusterFenceOp: Analysis.cluster_fence,
    ops.MbarrierInitOp: Analysis.mbarrier_init,
    ops.MbarrierInitFenceOp: Analysis.mbarrier_init_fence,
    ops.TensormapReplaceOp: Analysis.map_written,
    ops.TensormapCopyOp: Analysis.map_written,
    ops.TensormapFenceOp: Analysis.tensormap_fence,
    ops.Tcgen05FenceOp: Analysis.tcgen05_fence,
    ops.Tcgen05CommitOp: Analysis.tcgen05_commit,
    ops.Tcgen05WaitOp: Analysis.tcgen05_wait,
    ops.Tcgen05LoadOp: Analysis.tcgen05_load,
    ops.Tcgen05StoreOp: Analysis.tcgen05_store,
    ops.Tcgen05MmaOp: Analysis.tcgen05_run,
    ops.Tcgen05CopyOp: Analysis.tcgen05_run,
    ops.WgmmaOp: Analysis.wgmma,
    ops.WgmmaFenceOp: Analysis.wgmma_fence,
    ops.WgmmaReadOp: Analysis.wgmma_read,
    ops.AsyncCommitGroupOp: Analysis.commit,
    ops.BulkCommitGroupOp: Analysis.commit,
    ops.WgmmaCommitGroupOp: Analysis.commit,
    ops.AsyncWaitGroupOp: Analysis.wait_group,
    ops.BulkWaitGroupOp: Analysis.wait_group,
    ops.WgmmaWaitGroupOp: Analysis.wait_group,
}

_ENDS = (func.ReturnOp, gpu.ReturnOp)
_LOOKS = (ops.MbarrierWaitOp, ops.MbarrierTestWaitOp, ops.MbarrierTryWaitOp)


def _maker(make: Callable[..., Operation], *arguments: object) -> Callable[[], Sequence[Operation]]:
    return lambda: (make(*arguments),)


def _add_hits(needed: dict[int, Mask], by_space: Mapping[int, Mask], found: Mask, at: int) -> None:
    """Add to ``needed`` what of ``found`` must be fenced, as bits of the field ``at``."""
    for space, mask in by_space.items():
        if hits := mask & found:
            needed[space] = needed.get(space, 0) | hits << at


def _successors(block: Block) -> Sequence[Block]:
    last = block.last_op
    return () if last is None else last.successors


def _predecessors(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    found: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in dict.fromkeys(_successors(block)):
            found[successor].append(block)
    return found


def _sync_of(op: Operation) -> _Sync | None:
    """How ``op`` synchronises threads of a work-group or more; None if it does not."""
    if isinstance(op, scoped.BarrierOp):
        scope = Scope.SINGLETHREAD if op.scope is None else op.scope.data
        sync = _Sync(op, scope, True, True)
        sync.targets = [op]
    elif isinstance(op, scoped.ScopedOperation):
        ordering = op.ordering.data
        scope = Scope.SINGLETHREAD if op.scope is None else op.scope.data
        sync = _Sync(op, scope, ordering.releases, ordering.acquires)
    elif isinstance(op, ops.MbarrierArriveOp):
        sync = _Sync(op, op.scope.data, True, False)
    elif isinstance(op, _LOOKS):
        sync = _Sync(op, op.scope.data, False, True)
    elif isinstance(op, ops.ClusterArriveOp):
        sync = _Sync(op, Scope.CLUSTER, True, False)
    elif isinstance(op, ops.ClusterWaitOp):
        sync = _Sync(op, Scope.CLUSTER, False, True)
    else:
        return None
    narrow = sync.scope is Scope.SINGLETHREAD
    return None if narrow or not (sync.releases or sync.acquires) else sync


def _may_see(release: _Sync, acquire: _Sync) -> bool:
    """Whether an acquire may synchronise with a release, other threads running both."""
    here, there = release.op, acquire.op
    if isinstance(there, scoped.BarrierOp):
        return False
    if isinstance(here, ops.ClusterArriveOp) or isinstance(there, ops.ClusterWaitOp):
        return isinstance(here, ops.ClusterArriveOp) and isinstance(there, ops.ClusterWaitOp)
    if isinstance(here, ops.MbarrierArriveOp) or isinstance(there, _LOOKS):
        if not isinstance(here, ops.MbarrierArriveOp) or not isinstance(there, _LOOKS):
            return False
        place = location_of(here.mbarrier, _CLUSTER, 8)
        return place.may_overlap(location_of(there.mbarrier, _CLUSTER, 8))
    return True


def _crosses(sync: _Sync) -> bool:
    """Whether it synchronises threads of different CTAs."""
    return sync.scope.includes(Scope.CLUSTER)


def _restricted(op: Operation) -> bool:
    return isinstance(op, ops.MbarrierArriveOp | ops.MbarrierWaitOp) and op.space is not None


def _is_mbarrier_wait(op: Operation) -> bool:
    return isinstance(op, _LOOKS)


def _signalled(op: Operation) -> SSAValue | None:
    """The mbarrier that something other than a thread of its CTA arrives at."""
    if isinstance(op, ops.CompletingOperation):
        return op.completes_on()
    if isinstance(op, ops.Tcgen05CommitOp):
        return op.mbarrier
    if isinstance(op, ops.MbarrierArriveOp) and space_number(op.mbarrier) == _CLUSTER:
        return op.mbarrier
    return None


def _used_by_cluster(op: Operation) -> SSAValue | None:
    """The mbarrier that ``op`` arrives at or waits for together with other CTAs."""
    if isinstance(op, ops.MbarrierArriveOp | ops.MbarrierTestOperation):
        return op.mbarrier if op.scope.data is Scope.CLUSTER else None
    return None


def _written_at(writer: Operation | None, use: ops.TensorLoadOp | ops.TensorStoreOp) -> Scope:
    """The scope at which a tensor map was released."""
    if writer is None:
        return Scope.SYSTEM if use.written is None else use.written.data
    return writer.scope.data if isinstance(writer, ops.TensormapCopyOp) else Scope.AGENT


def _fence_space(generic: int, asynchronous: int) -> int:
    """The address space whose proxy fence orders a generic and an async access."""
    if asynchronous in _SHARED:
        return _CLUSTER if _CLUSTER in (generic, asynchronous) else _LOCAL
    return asynchronous


def _covers(fence: int | None, space: int) -> bool:
    """Whether a proxy fence of an address space orders accesses of another."""
    if fence is None:
        return True
    if fence == _CLUSTER:
        return space in _SHARED
    return fence == space


def _reaches_other_cta(generic: int, asynchronous: int) -> bool:
    """Whether a generic access of one CTA and an async one of another can meet."""
    if asynchronous == _GLOBAL or generic in (_GLOBAL, _GENERIC, _CLUSTER):
        return True
    return asynchronous == _CLUSTER
