"""The state of a launch, and the effects of its instructions on memory.

Compiled kernels call the functions of ``Machine``; what makes a thread wait is in ``schedule``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from fencewright.simulator.semantics import mbarriers
from fencewright.simulator.semantics.operands import RESERVED, reserved_at
from fencewright.simulator.semantics.python import function
from fencewright.simulator.semantics.tensors import ALIGNMENT, BYTES, RANK_BITS, field_place, map_of
from fencewright.simulator.semantics.term import operand
from fencewright.simulator.threads.matrices import chunks
from fencewright.simulator.threads.memory import (
    LOCAL_WINDOW,
    OFFSET,
    PARAM_WINDOW,
    SHARED_OFFSET,
    SHARED_WINDOW,
    WIDE,
    Allocation,
    Memory,
    outside,
)
from fencewright.simulator.threads.observer import Observer, Site
from fencewright.simulator.threads.state import WARP, Block, Cluster, Mbarrier, Size, Thread
from fencewright.simulator.threads.unknown import NotExecuted, Unknown, UnknownUsed

MOST_POLLED = 64
"""Places that a thread is known to poll at a time."""


_INITIAL, _COMPLETE, _ARRIVE, _ARRIVE_DROP, _TOKEN, _IS_OVER = (
    function(formula(*(operand(at, 64) for at in range(count))), count)
    for formula, count in (
        (mbarriers.initial, 1), (mbarriers.complete, 2), (mbarriers.arrive, 3),
        (mbarriers.arrive_drop, 3), (mbarriers.token, 1), (mbarriers.is_over, 2),
    )
)  # fmt: skip


class _Part(NamedTuple):
    """Adjacent bytes of a copy: ``taken`` of ``size`` come from the source, the rest is zero."""

    source: Allocation
    begin: int
    target: Allocation
    at: int
    taken: int
    size: int


class Machine:
    """A launch under way: memory, blocks, and the operations on memory."""

    def __init__(
        self,
        sites: Sequence[Site],
        memory: Memory,
        grid: Size,
        block: Size,
        cluster: Size,
        shared_size: int,
        dynamic_size: int,
        reserved: bool,
        params_size: int,
        observer: Observer | None,
        is_late: bool,
    ):
        self.sites, self.memory, self.grid, self.block, self.cluster = (
            sites, memory, grid, block, cluster,
        )  # fmt: skip
        self.shared_size, self.dynamic_size = shared_size, dynamic_size
        self.room = reserved_at(shared_size) + RESERVED if reserved else shared_size
        self.observed = observer is not None
        self.observer = observer or Observer()
        self.is_late = is_late
        self.late: list[Callable[[], None]] = []
        self.ticks = 0
        self.executed = [False] * len(sites)
        self.skipped = set[int]()
        self.unobserved = set[int]()
        self.blocks = list(self._blocks())
        self.threads = [thread for each in self.blocks for thread in each.threads]
        self.local_size = 0
        self.cluster_arrive: Callable[[Thread, int], None] = lambda thread, site: None
        self.params = Allocation("param", params_size, "param", PARAM_WINDOW << 32)

    def _blocks(self) -> Iterator[Block]:
        clusters: dict[Size, Cluster] = {}
        wide, high, deep = self.cluster
        threads = 0
        for number, (cz, cy, cx) in enumerate(product(*map(range, reversed(self.grid)))):
            home = (cx // wide, cy // high, cz // deep)
            cluster = clusters.setdefault(home, Cluster(len(clusters)))
            rank = cx % wide + cy % high * wide + cz % deep * wide * high
            shared = Allocation("shared", self.room, "shared")
            block = Block(number, (cx, cy, cz), rank, shared)
            shared.home = block
            block.cluster = cluster
            cluster.blocks.append(block)
            places = product(*map(range, reversed(self.block)))
            for index, (tz, ty, tx) in enumerate(places):
                block.threads.append(Thread(threads, index, block, (tx, ty, tz)))
                threads += 1
            block.live = len(block.threads)
            yield block

    def close(self) -> None:
        """Free the threads, whose circles take a collection of garbage else."""
        for thread in self.threads[::WARP]:
            thread.warp.threads.clear()
        for each in self.blocks:
            each.threads.clear()
            each.cluster.blocks.clear()
            each.shared.home = None
        self.threads.clear()
        self.observer = Observer()

    # Addresses

    def locate(
        self, thread: Thread, address: Any, size: int, space: str, site: int
    ) -> tuple[Allocation, int]:
        """The allocation of an address and the place in it; spaces: g generic, s shared, l, p."""
        address = address.__index__()
        window = address >> 32
        if space == "g":
            if (found := self.memory.allocations.get(window)) is not None:
                return found, address & OFFSET
            space = {SHARED_WINDOW: "s", LOCAL_WINDOW: "l", PARAM_WINDOW: "p"}.get(window, "")
        if space == "s":
            return self._shared(thread, address & OFFSET, size, site), address & SHARED_OFFSET
        if space == "l":
            if thread.local is None:
                thread.local = Allocation("local", self.local_size, "local")
            return thread.local, address & OFFSET
        if space == "p":
            return self.params, address & OFFSET
        raise outside(None, address, 0, size)

    def _shared(self, thread: Thread, address: int, size: int, site: int) -> Allocation:
        rank = address >> RANK_BITS
        if rank == thread.rank:
            return thread.shared
        for each in thread.block.cluster.blocks:
            if each.rank == rank:
                self.observer.remote(thread, each, site)
                return each.shared
        raise outside(None, address, 0, size)

    def find(
        self, thread: Thread, address: Any, size: int, space: str, site: int
    ) -> tuple[Allocation, int]:
        """``locate``, with bounds and alignment checked. Raises ``OutOfBounds``."""
        memory, at = self.locate(thread, address, size, space, site)
        if at + size > memory.size or (size and at % min(size, 16)):
            raise outside(memory, address, at, size, min(size, 16))
        return memory, at

    # Weak accesses: one function for each size and space, made once for a launch

    def loads(self, size: int, space: str) -> Callable[[Thread, Any, int], Any]:
        """A function that reads ``size`` bytes."""
        if size == WIDE:
            return self._wide_load(space)
        shift, low, locate = size.bit_length() - 1, size - 1, self.locate
        get, observer, watched = self.memory.allocations.get, self.observer, self.observed

        def load(thread: Thread, address: Any, site: int) -> Any:
            if space == "s" and address >> RANK_BITS == thread.rank:
                memory, at = thread.shared, address & SHARED_OFFSET
            elif space == "g" and (found := get(address >> 32)) is not None:
                memory, at = found, address & OFFSET
            else:
                memory, at = locate(thread, address, size, space, site)
            if at + size > memory.size or at & low:
                raise outside(memory, address, at, size)
            if watched:
                observer.read(thread, memory, at, size, site)
            if memory.unknown:
                return memory.get(at, size)
            return memory.views[shift][at >> shift]

        return load

    def stores(self, size: int, space: str) -> Callable[[Thread, Any, Any, int], None]:
        """A function that writes ``size`` bytes."""
        if size == WIDE:
            return self._wide_store(space)
        shift, low, locate = size.bit_length() - 1, size - 1, self.locate
        get, observer, watched = self.memory.allocations.get, self.observer, self.observed
        mask = (1 << 8 * size) - 1

        def store(thread: Thread, address: Any, value: Any, site: int) -> None:
            if space == "s" and address >> RANK_BITS == thread.rank:
                memory, at = thread.shared, address & SHARED_OFFSET
            elif space == "g" and (found := get(address >> 32)) is not None:
                memory, at = found, address & OFFSET
            else:
                memory, at = locate(thread, address, size, space, site)
            if at + size > memory.size or at & low:
                raise outside(memory, address, at, size)
            if memory.space == "const":
                raise NotExecuted(f"a store to {memory.place(at)}, which is constant")
            if watched:
                observer.write(thread, memory, at, size, site, value)
            if memory.unknown or value.__class__ is Unknown:
                memory.put(at, size, value)
            else:
                memory.views[shift][at >> shift] = value & mask

        return store

    def _wide_load(self, space: str) -> Callable[[Thread, Any, int], Any]:
        def load(thread: Thread, address: Any, site: int) -> Any:
            memory, at = self.find(thread, address, WIDE, space, site)
            self.observer.read(thread, memory, at, WIDE, site)
            return memory.get(at, WIDE)

        return load

    def _wide_store(self, space: str) -> Callable[[Thread, Any, Any, int], None]:
        def store(thread: Thread, address: Any, value: Any, site: int) -> None:
            memory, at = self.find(thread, address, WIDE, space, site)
            self.observer.write(thread, memory, at, WIDE, site, value)
            memory.put(at, WIDE, value)

        return store

    # Strong accesses

    def poll(self, thread: Thread, key: Any, value: Any) -> None:
        """Notice that a thread has read the same value from the same place again."""
        polls = thread.polls
        known = polls.get(key)
        if key not in polls:
            if len(polls) > MOST_POLLED:
                polls.clear()
            polls[key] = value
            thread.is_lazy = False
        elif known is value or (known == value) is True:
            thread.is_lazy = True
        else:
            thread.advance()
            polls[key] = value

    def strong_load(self, thread: Thread, address: Any, size: int, space: str, site: int) -> Any:
        """A strong read."""
        memory, at = self.find(thread, address, size, space, site)
        self.observer.strong_read(thread, memory, at, size, site)
        value = memory.get(at, size)
        self.poll(thread, address, value)
        return value

    def strong_store(
        self, thread: Thread, address: Any, value: Any, size: int, space: str, site: int
    ) -> None:
        """A strong write."""
        memory, at = self.find(thread, address, size, space, site)
        self.observer.strong_write(thread, memory, at, size, site, value)
        memory.put(at, size, value)
        thread.advance()

    def atomic(
        self, thread: Thread, address: Any, size: int, space: str, site: int,
        update: Callable[..., int], *data: Any,
    ) -> Any:  # fmt: skip
        """A read-modify-write; the old value."""
        memory, at = self.find(thread, address, size, space, site)
        old = memory.get(at, size)
        try:
            new = update(old, *data)
        except UnknownUsed as used:
            new = used.value
        self.observer.update(thread, memory, at, size, site, new)
        memory.put(at, size, new)
        if new is old or (new == old) is True:
            self.poll(thread, address, old)
        else:
            thread.advance()
        return old

    def skip(self, site: int) -> None:
        """Note an instruction that is not executed and may access memory."""
        self.skipped.add(site)

    def unknown(self, site: int) -> Unknown:
        """The result of an instruction that is not executed."""
        where = self.sites[site]
        return Unknown(f"{where.name} at {where.place}")

    def fence(self, thread: Thread, site: int) -> None:
        """A fence, which changes no value."""
        self.observer.fence(thread, site)

    def clock(self) -> int:
        """A clock that goes on whenever it is asked."""
        self.ticks += 64
        return self.ticks

    def workspace(self) -> int:
        """The address of the count of the grid barriers of cooperative groups.

        Source: cooperative_groups/details/driver_abi.h, grid_workspace: a size and a counter.
        """
        found = self.memory.shared_by_grid or self.memory.allocate("grid workspace", 64)
        self.memory.shared_by_grid = found
        return found.base

    def fill(self, thread: Thread, address: Any, size: Any, space: str, site: int) -> None:
        """st.bulk: zeros."""
        store = self.stores(8, space)
        for at in range(0, size.__index__(), 8):
            store(thread, address + at, 0, site)

    # mbarriers

    def mbarrier(self, thread: Thread, address: Any, space: str, site: int) -> Mbarrier:
        """The object at an address. Raises ``NotExecuted`` where none was initialised."""
        memory, at = self.find(thread, address, 8, space, site)
        found = memory.mbarriers.get(at)
        if found is None:
            raise NotExecuted(f"no mbarrier was initialised at {memory.place(at)}")
        return found

    def mbarrier_init(
        self, thread: Thread, address: Any, count: Any, space: str, site: int
    ) -> None:
        """mbarrier.init."""
        memory, at = self.find(thread, address, 8, space, site)
        known = memory.mbarriers.get(at)
        word = _INITIAL(count.__index__())
        found = Mbarrier(memory, at, word, order=known and known.order)
        self.observer.mbarrier_init(thread, found, site)
        memory.mbarriers[at] = found

    def mbarrier_inval(self, thread: Thread, address: Any, space: str, site: int) -> None:
        """mbarrier.inval."""
        found = self.mbarrier(thread, address, space, site)
        self.observer.mbarrier_use(thread, found, site)
        del found.memory.mbarriers[found.at]

    def mbarrier_arrive(
        self, thread: Thread, address: Any, count: Any, expects: Any, drops: bool, space: str,
        site: int,
    ) -> int:  # fmt: skip
        """mbarrier.arrive, with expect_tx first; the token."""
        found = self.mbarrier(thread, address, space, site)
        self.observer.mbarrier_arrive(thread, found, site)
        token = _TOKEN(found.word)
        self._count(found, count.__index__(), expects.__index__(), drops)
        thread.advance()
        return token

    def _count(self, found: Mbarrier, count: int, expects: int, drops: bool) -> None:
        if count > (pending := found.word & mbarriers.PENDING):
            place = found.memory.place(found.at)
            raise NotExecuted(f"{count} more arrivals on {place}, which expects {pending}")
        found.become((_ARRIVE_DROP if drops else _ARRIVE)(found.word, count, expects))

    def mbarrier_bytes(
        self, thread: Thread, address: Any, count: Any, completes: bool, space: str, site: int
    ) -> None:
        """mbarrier.expect_tx and mbarrier.complete_tx."""
        found = self.mbarrier(thread, address, space, site)
        self.observer.mbarrier_use(thread, found, site)
        self.complete(found, count.__index__() if completes else -count.__index__())

    def complete(self, found: Mbarrier, count: int) -> None:
        """Complete bytes of a phase."""
        found.become(_COMPLETE(found.word, count))

    def mbarrier_test(self, thread: Thread, address: Any, phase: Any, space: str, site: int) -> int:
        """mbarrier.test_wait and try_wait: true if the phase of a token or a parity is complete."""
        found = self.mbarrier(thread, address, space, site)
        done = _IS_OVER(found.word, phase.__index__())
        if done:
            self.observer.mbarrier_pass(thread, found, found.phase - 1, site)
            thread.advance()
        else:
            self.observer.mbarrier_use(thread, found, site)
            self.poll(thread, address, False)
        return done

    # Matrices

    def operand(
        self, thread: Thread, descriptor: Any, extent: int, is_transposed: bool, site: int
    ) -> None:
        """An operand of wgmma in shared memory."""
        lane = thread.index + self.is_late
        for place in chunks(descriptor.__index__(), extent, is_transposed, lane):
            memory, at = self.find(thread, place | thread.rank << RANK_BITS, 16, "s", site)
            self.observer.operand(thread, memory, at, 16, site)

    def matrix_wait(self, thread: Thread, left: int) -> None:
        """wgmma.wait_group."""
        self.observer.matrix_wait(thread, thread.matrix_group - 1 - left)

    # Asynchronous copies

    def later(self, action: Callable[[], None]) -> None:
        """Execute an asynchronous operation: at once, or as late as possible."""
        if self.is_late:
            self.late.append(action)
        else:
            action()

    def copy(self, thread: Thread, to: Any, address: Any, size: int, taken: Any, site: int) -> None:
        """cp.async: ``taken`` bytes of ``size``, the others are zero."""
        target, at = self.find(thread, to, size, "s", site)
        taken = min(taken.__index__(), size)
        # A copy of no bytes has no source: compilers keep an address out of bounds there.
        source, begin = self.find(thread, address, size, "g", site) if taken else (target, at)
        self.observer.copy(thread, source if taken else None, begin, target, at, size, taken, site)
        thread.copies.append(
            (thread.copy_group, lambda: _move(source, begin, target, at, taken, size))
        )
        if not self.is_late:
            self.finish_copies(thread, thread.copy_group)

    def finish_copies(self, thread: Thread, group: int) -> None:
        """Do the copies of all groups up to one."""
        for number, action in thread.copies:
            if number <= group:
                action()
        thread.copies = [each for each in thread.copies if each[0] > group]

    def copy_wait(self, thread: Thread, left: int | None) -> None:
        """cp.async.wait_group; None: wait_all, for copies that are not committed too."""
        last = thread.copy_group if left is None else thread.copy_group - 1 - left
        self.finish_copies(thread, last)
        self.observer.copy_wait(thread, last)

    def copy_arrive(self, thread: Thread, address: Any, added: int, space: str, site: int) -> None:
        """cp.async.mbarrier.arrive, with the arrivals that it adds before."""
        found = self.mbarrier(thread, address, space, site)
        self.observer.copy_arrive(thread, found, site)
        self._count(found, -added, 0, False)
        group = thread.copy_group

        def arrive() -> None:
            self.finish_copies(thread, group)
            self._count(found, 1, 0, False)

        self.later(arrive)

    def bulk(
        self, thread: Thread, to: Any, address: Any, size: Any, mbarrier: Any, spaces: str,
        site: int, update: Callable[..., int] | None = None, element: int = 0, mask: Any = None,
    ) -> None:  # fmt: skip
        """cp.async.bulk and cp.reduce.async.bulk: of elements, by an update.

        An mbarrier of None: in the bulk group of the thread. ``mask``: the blocks of the cluster
        that it goes to, where it is not one address.
        """
        size = size.__index__()
        if size % 16:
            raise NotExecuted(f"a bulk copy of {size} bytes, which is no multiple of 16")
        source, begin = self._whole(thread, address, size, spaces[1], site)
        for each, barrier in _targets(to, mbarrier, mask):
            target, at = self._whole(thread, each, size, spaces[0], site)
            signalled = None if barrier is None else self.mbarrier(thread, barrier, "s", site)
            part = _Part(source, begin, target, at, size, size)
            self._send(thread, [part], signalled, size, site, update, element)

    def _send(
        self, thread: Thread, parts: Sequence[_Part], signalled: Mbarrier | None, size: int,
        site: int, update: Callable[..., int] | None, element: int,
    ) -> None:  # fmt: skip
        """Copy or update by parts later, and complete ``size`` bytes of a phase then."""
        for each in parts:
            if each.taken and update is None:
                self.observer.bulk(
                    thread, each.source, each.begin, each.target, each.at, each.taken, signalled,
                    site,
                )  # fmt: skip
            if each.taken < each.size or update is not None:
                # Observers have no event for zeros or an update through the async proxy.
                self.unobserved.add(site)

        def move() -> None:
            for source, begin, target, at, taken, whole in parts:
                if update is None:
                    _move(source, begin, target, at, taken, whole)
                    continue
                for offset in range(0, taken, element):
                    data = source.get(begin + offset, element)
                    _combine(update, target, at + offset, element, data)
            if signalled is not None:
                self.complete(signalled, size)

        self.later(move)

    def tensor(
        self, thread: Thread, map_address: Any, coordinates: Sequence[Any], shared: Any, site: int,
        mbarrier: Any = None, mask: Any = None,
        updates: Mapping[int, Callable[..., int]] | None = None,
        offsets: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        """cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: a box by a tensor map.

        With an mbarrier to shared memory, where what is outside of the tensor is zero, without one
        from there. ``updates``: of a reduction, by the type of elements. ``offsets``: of im2col.
        """
        memory, at = self.find(thread, map_address, BYTES, "g", site)
        if memory.unknown:
            raise NotExecuted(f"the tensor map at {memory.place(at)} is not known as a whole")
        found = map_of(bytes(memory.data[at : at + BYTES]), memory.place(at))
        if updates is not None and found.element not in updates:
            raise NotExecuted("a reduction of elements that have none")
        places = [(each.__index__() ^ 1 << 31) - (1 << 31) for each in coordinates]
        by = None if offsets is None else [each.__index__() for each in offsets]
        pieces = found.box_at(places, is_load=mbarrier is not None, offsets=by)
        tensor, base = self.locate(thread, found.address, 1, "g", site)
        update = (updates or {}).get(found.element)
        for each in pieces:
            begin = base + each.place
            if each.taken and not 0 <= begin <= tensor.size - each.taken:
                raise outside(tensor, tensor.base + begin, begin, each.taken)
        for address, barrier in _targets(shared, mbarrier, mask):
            memory, at = self.find(thread, address, 16, "s", site)
            if at % ALIGNMENT or at + found.extent > memory.size:
                raise outside(memory, address, at, found.extent, ALIGNMENT)
            signalled, parts = None, list[_Part]()
            if barrier is not None:
                signalled = self.mbarrier(thread, barrier, "s", site)
            for each in pieces:
                own, other = found.swizzled(at + each.at), base + each.place
                inside = own + each.skipped
                if barrier is None:
                    parts.append(_Part(memory, inside, tensor, other, each.taken, each.taken))
                    continue
                rest = each.size - each.skipped
                parts.append(_Part(tensor, other, memory, inside, each.taken, rest))
                if each.skipped:
                    parts.append(_Part(tensor, 0, memory, own, 0, each.skipped))
            size = found.box_size
            self._send(thread, parts, signalled, size, site, update, found.element_size)

    def replace_field(
        self, thread: Thread, address: Any, field: str, ordinal: int, value: Any, space: str,
        site: int,
    ) -> None:  # fmt: skip
        """tensormap.replace, which observers have no event for."""
        memory, at = self.find(thread, address, BYTES, space, site)
        self.unobserved.add(site)
        offset, size = field_place(field, ordinal)
        memory.put(at + offset, size, value)

    def copy_map(self, thread: Thread, to: Any, address: Any, site: int) -> None:
        """tensormap.cp_fenceproxy: a map from shared memory, and a fence."""
        self.fence(thread, site)
        target, at = self.find(thread, to, BYTES, "g", site)
        source, begin = self.find(thread, address, BYTES, "s", site)
        self.unobserved.add(site)
        _move(source, begin, target, at, BYTES, BYTES)

    def _whole(
        self, thread: Thread, address: Any, size: int, space: str, site: int
    ) -> tuple[Allocation, int]:
        memory, at = self.find(thread, address, 16, space, site)
        if at + size > memory.size:
            raise outside(memory, address, at, size)
        return memory, at

    def store_later(
        self, thread: Thread, to: Any, values: Sequence[Any], size: int, mbarrier: Any, site: int,
        update: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """st.async and red.async: values, or an update by them, and their bytes on an mbarrier."""
        target, at = self.find(thread, to, size, "s", site)
        signalled = self.mbarrier(thread, mbarrier, "s", site)
        whole = size * len(values)
        if update is None:
            self.observer.bulk(thread, None, 0, target, at, whole, signalled, site)
        else:
            self.unobserved.add(site)

        def put() -> None:
            for number, value in enumerate(values):
                if update is None:
                    target.put(at + number * size, size, value)
                else:
                    _combine(update, target, at + number * size, size, value)
            self.complete(signalled, whole)

        self.later(put)

    def arrive_later(self, thread: Thread, address: Any, space: str, site: int) -> None:
        """An arrival when asynchronous operations of the thread are complete."""
        found = self.mbarrier(thread, address, space, site)
        self.observer.mbarrier_arrive(thread, found, site)
        self.later(lambda: self._count(found, 1, 0, False))

    def bulk_wait(self, thread: Thread, left: int, reads_only: bool) -> None:
        """cp.async.bulk.wait_group: reading of the sources, or all."""
        while self.late:
            self.late.pop(0)()
        self.observer.bulk_wait(thread, thread.bulk_group - 1 - left, reads_only)


def _combine(update: Callable[..., int], target: Allocation, at: int, size: int, data: Any) -> None:
    """An element updated, with unknown values carried."""
    try:
        target.put(at, size, update(target.get(at, size), data))
    except UnknownUsed as used:
        target.put(at, size, used.value)


def _targets(to: Any, mbarrier: Any, mask: Any) -> Iterator[tuple[Any, Any]]:
    """The addresses that a copy goes to, with its mbarriers: of a mask, in each of its blocks."""
    if mask is None:
        yield to, mbarrier
        return
    for rank in range(mask.bit_length()):
        if mask >> rank & 1:
            peer = rank << RANK_BITS
            yield to & SHARED_OFFSET | peer, mbarrier & SHARED_OFFSET | peer


def _move(
    source: Allocation, begin: int, target: Allocation, at: int, taken: int, size: int
) -> None:
    if source.unknown or target.unknown:
        step = 4
        while (begin | at | taken | size) % step:
            step //= 2
        for offset in range(0, size, step):
            known = source.get(begin + offset, step) if offset < taken else 0
            target.put(at + offset, step, known)
        return
    target.data[at : at + taken] = source.data[begin : begin + taken]
    target.data[at + taken : at + size] = bytes(size - taken)
