"""The path of a thread in one run, as events in order, which the PTX model judges."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.program import Operand
from fencewright.simulator.core.thread_runs import EventKind, ThreadRun
from fencewright.simulator.ptx.instructions import BarrierRole, PtxProxy, Restriction, Space, Unit


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """The barrier object that an operation takes part in.

    ``count`` is how many arrivals complete it, None when everyone who comes takes part.
    """

    name: str
    number: int
    count: int | None
    mbarrier: bool


class TensorRole(Enum):
    """The part of a ``tcgen05`` operation that accesses tensor memory: some pairs stay in order."""

    COPY = "cp"
    OPERAND = "mma, a"
    ACCUMULATOR = "mma, d"
    LOAD = "ld"
    STORE = "st"

    def is_before(self, other: "TensorRole") -> bool:
        """True if operations started in this order are done in it, on one location.

        Source: PTX ISA, "Pipelined tcgen05 Instructions": ``cp`` and ``mma``, ``mma`` and ``mma``
        with the same accumulator (and shape, which is a location's here).
        """
        if other not in (TensorRole.OPERAND, TensorRole.ACCUMULATOR):
            return False
        return self is TensorRole.COPY or self is other is TensorRole.ACCUMULATOR


@dataclass(frozen=True, slots=True)
class Update:
    """The effect of an operation on the counts of an mbarrier.

    ``arrivals`` is how many fewer are pending, ``bytes`` how many more, ``dropped`` how many
    arrivals later phases expect less. ``initialised`` is the count of ``mbarrier.init``, 0 of
    ``mbarrier.inval``. Source: PTX ISA, "mbarrier", from "Phase of the mbarrier object" on.
    """

    arrivals: int = 0
    bytes: int = 0
    dropped: int = 0
    initialised: int | None = None


@dataclass(frozen=True, slots=True)
class PtxEvent:
    """One memory, fence or barrier operation of a run.

    ``thread`` is -1 for initial writes, ``position`` the index of its instruction in the
    thread's code. ``variable`` is the virtual address, ``location`` the
    physical one. ``is_red`` marks the read half of ``red``. A proxy fence without ``proxy``
    is the alias fence, one without ``space`` is about all memory.

    At an mbarrier, ``update`` is what an operation does to it. ``phase`` is what a wait asks for:
    a number, or ``by_parity`` the parity of the phase before the current one; ``passes``: it
    finds that complete. ``parity`` is that of the phase in which an arrival has to be.

    A fence that ``crosses`` orders what is accessed by the generic proxy before it with what is
    accessed by that proxy after it, alone; it ``covers`` one location, or all. ``of_inits``:
    it orders nothing but ``mbarrier.init``.
    """

    kind: EventKind
    thread: int
    position: int
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    variable: str | None = None
    location: str | None = None
    proxy: PtxProxy | None = PtxProxy.GENERIC
    is_red: bool = False
    restriction: Restriction | None = None
    rendezvous: Rendezvous | None = None
    role: BarrierRole | None = None
    phase: int | None = None
    update: Update | None = None
    by_parity: bool = False
    passes: bool = True
    parity: int | None = None
    space: Space | None = None
    crosses: PtxProxy | None = None
    covers: str | None = None
    of_inits: bool = False
    tensor: TensorRole | None = None

    @property
    def is_strong(self) -> bool:
        """True if it is a fence or an access with a scope. Source: PTX ISA, "Operation types"."""
        return self.scope is not None

    @property
    def is_access(self) -> bool:
        """True where it reads or writes memory."""
        return self.kind in (EventKind.READ, EventKind.WRITE)

    def __str__(self) -> str:
        where = "init" if self.thread < 0 else f"P{self.thread}:{self.position}"
        return " ".join(part for part in (where, self.kind.value, self.variable) if part)


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PtxPath:
    """One run of one thread.

    Numbers count the path's own events. ``values`` has what each event read or wrote,
    ``dependences`` for each event the reads that its value or its being executed depends on,
    ``read_modify_writes`` the halves of atomics, ``order`` for each event the events that
    are directly before it in program order, ``issued`` for each access of an asynchronous
    copy the events before the copy was issued, ``started`` for each ``before_thread_sync`` the
    operations on tensor memory that it finds started. ``blocked``: the last event is a barrier that
    never completes; a register that was still to be set is None. ``control``: the reads that
    decide that it comes to its end.
    """

    events: tuple[PtxEvent, ...]
    values: tuple[int, ...]
    dependences: tuple[Mask, ...]
    read_modify_writes: tuple[Pair, ...]
    order: tuple[Mask, ...]
    issued: tuple[Mask, ...]
    registers: Mapping[str, int | None]
    blocked: bool
    started: tuple[tuple[int, Mask], ...] = ()
    control: Mask = 0


@dataclass(frozen=True, slots=True)
class Groups:
    """The events of asynchronous operations: not committed yet, and those of each group."""

    open: Mask = 0
    closed: tuple[Mask, ...] = ()

    def committed(self) -> "Groups":
        """With the open operations as one more group."""
        return Groups(0, (*self.closed, self.open))

    def done(self, pending: int) -> Mask:
        """The events of all groups but the last ``pending``."""
        done = 0
        for group in self.closed[: len(self.closed) - pending]:
            done |= group
        return done


@dataclass(frozen=True, slots=True)
class Result:
    """The value that a tensor core puts into a register by the end of a wait, and its events."""

    events: Mask
    register: str
    value: int
    taint: Mask


@dataclass(frozen=True, slots=True)
class InFlight:
    """Operations that a thread has started and that are not part of its program order.

    ``copied`` are the events of its ``cp.async``. Of tensor memory, ``loads`` and ``stores`` are
    those of ``tcgen05.ld`` and ``.st`` that are not waited for, ``products`` those of
    ``.mma`` and ``.cp``, ``done`` those that are waited for. ``synced``, ``crossed`` and ``fenced``
    are what was before the last ``tcgen05.fence::after_thread_sync``, ``fence.proxy.async`` and
    ``wgmma.fence``; ``registers`` what those were at that fence, None before the first.
    """

    groups: Mapping[Unit, Groups] = field(default_factory=dict[Unit, Groups])
    copied: Mask = 0
    loads: Mask = 0
    stores: Mask = 0
    products: Mask = 0
    done: Mask = 0
    synced: Mask = 0
    crossed: Mask = 0
    fenced: Mask = 0
    registers: Mapping[str, int] | None = None
    results: tuple[Result, ...] = ()

    def of(self, unit: Unit) -> Groups:
        """The groups of a unit."""
        return self.groups.get(unit, Groups())


IDLE = InFlight()


_EARLY = " before its wait"


def too_early(register: str) -> str:
    """The register that says where another was used before it was waited for; 0: nowhere.

    The position after the instruction's, or after the last of the thread where it is left for
    others.
    """
    return register + _EARLY


def used_too_early(name: str) -> str | None:
    """The register that one of ``too_early`` speaks of; None for any other."""
    return name.removesuffix(_EARLY) if name.endswith(_EARLY) else None


@dataclass(slots=True)
class PtxRun(ThreadRun[PtxEvent]):
    """A run with all that becomes of a path; copied where a read can return several values.

    Of its events those of asynchronous operations are in the ``background``, until something
    waits for them. A register that is used before its result was waited for is noted as a register
    of its own (``too_early``), with where that was.
    """

    values: tuple[int, ...] = ()
    dependences: tuple[Mask, ...] = ()
    read_modify_writes: tuple[Pair, ...] = ()
    order: tuple[Mask, ...] = ()
    issued: tuple[Mask, ...] = ()
    background: Mask = 0
    flight: InFlight = IDLE
    started: tuple[tuple[int, Mask], ...] = ()

    def value(self, operand: Operand) -> int:
        if self.flight.results and isinstance(operand, str):
            self.note_if_early(operand)
        return ThreadRun[PtxEvent].value(self, operand)

    def note_if_early(self, register: str) -> None:
        """Note that a register is used where the run is, if its result was not waited for."""
        if any(each.register == register for each in self.flight.results):
            self.registers.setdefault(too_early(register), self.pc)

    def append(self, event: PtxEvent, value: int, dependences: Mask) -> int:
        """Add an event after all earlier ones of the thread, copies apart; its number."""
        return self.append_after(self.foreground(), event, value, dependences)

    def append_after(
        self, follows: Mask, event: PtxEvent, value: int, dependences: Mask, issued: Mask = 0
    ) -> int:
        """Add an event after ``follows`` alone; its number."""
        self.events = (*self.events, event)
        self.values = (*self.values, value)
        self.dependences = (*self.dependences, dependences)
        self.order = (*self.order, follows)
        self.issued = (*self.issued, issued)
        return len(self.events) - 1

    def foreground(self) -> Mask:
        """The events so far less those of asynchronous operations that nothing has waited for."""
        return (1 << len(self.events)) - 1 & ~self.background
