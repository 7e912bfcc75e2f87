"""The effects of one instruction, of any vendor or of a source, as analyses use them."""

from dataclasses import dataclass

from fencewright.lowering.code.records import record
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, RmwKind, Scope


class Kind(FastStrEnum):
    """The kind of an instruction, as far as synchronisation depends on it.

    ``COPY``: memory to memory, LDS or tensor memory, by the instruction itself or after it.
    ``SIGNAL``: the arrival at a barrier that others wait at, the commitment of copies to a group, a
    message. ``WAIT``: for counters, copies or a barrier's phase. ``LANES``: data between the lanes
    of a wave. ``CACHE``: a write-back, an invalidate, a hint. ``OPAQUE``: anything, since the
    instruction is not known.
    """

    LOAD = "load"
    STORE = "store"
    RMW = "rmw"
    COPY = "copy"
    FENCE = "fence"
    BARRIER = "barrier"
    SIGNAL = "signal"
    WAIT = "wait"
    CACHE = "cache"
    LANES = "lanes"
    TENSOR = "tensor"
    BRANCH = "branch"
    JUMP = "jump"
    CALL = "call"
    END = "end"
    COMPUTE = "compute"
    OPAQUE = "opaque"


READING = frozenset({Kind.LOAD, Kind.RMW, Kind.COPY})
WRITING = frozenset({Kind.STORE, Kind.RMW, Kind.COPY})
"""The kinds that read and that write memory."""


class Proxy(FastStrEnum):
    """The way by which an access reaches memory. Source: PTX ISA, "Proxies"; AMD code has the
    generic one."""

    GENERIC = "generic"
    ASYNC = "async"
    TENSORMAP = "tensormap"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"


@record()
class Access:
    """One access to memory. ``address``: its operand as written, without brackets.

    ``space``: None where the instruction does not say, as with generic addresses. ``size`` in
    bytes; None: not known.
    """

    address: str
    reads: bool
    writes: bool
    proxy: Proxy
    space: AddressSpace | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects that both vendors and a source have. ``defines`` and ``uses``: registers by their
    names.

    ``ordering`` and ``scope``: None where the instruction has none. ``unread``: the words of its
    name that no row knows; an instruction with any is opaque.
    """

    kind: Kind
    ordering: Ordering | None = None
    scope: Scope | None = None
    rmw: RmwKind | None = None
    accesses: tuple[Access, ...] = ()
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
