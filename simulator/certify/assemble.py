"""From ``scoped`` programs to the programs of the machines, by way of the lowering.

Every scoped operation becomes a request, every request a ``Sequence``; ``Code`` holds a
program's sequences by place, so that a single one can be weakened before they are put
together (``bridge_cdna``, ``bridge_ptx``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from fencewright.lowering.lower import check
from fencewright.lowering.sequence import Request, Sequence
from fencewright.lowering.targets import load_target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedOperation,
    ScopedProgram,
    Store,
)

Lowering = Callable[[Request], Sequence]
"""Anything that lowers a request; raises ``UnsupportedError``."""

Place = tuple[int, int]
"""A thread, and the position of an instruction in it."""

SCOPED = (Load, Store, AtomicRmw, Cmpxchg, Fence, Barrier)


@dataclass(frozen=True, slots=True)
class Mode:
    """What is lowered for: a target and what else decides its sequences."""

    target: str
    features: frozenset[str] = frozenset()
    l2_per_agent: L2PerAgent = L2PerAgent.MANY
    ptx_version: tuple[int, int] | None = None

    @property
    def is_ptx(self) -> bool:
        """Whether the target is one of PTX's."""
        return load_target(self.target).architecture == "ptx"

    def __str__(self) -> str:
        """A name that is also good for a file: ``gfx942-tgsplit-one-l2``, ``sm_90-ptx8.6``."""
        parts = [self.target, *sorted(self.features)]
        if self.l2_per_agent is L2PerAgent.ONE:
            parts.append("one-l2")
        if self.ptx_version is not None:
            parts.append("ptx{}.{}".format(*self.ptx_version))
        return "-".join(parts)

    def complete(self, request: Request) -> Request:
        """``request`` for this mode."""
        return replace(
            request,
            features=self.features,
            l2_per_agent=self.l2_per_agent,
            ptx_version=self.ptx_version,
        )


@dataclass(frozen=True)
class TargetLowering:
    """The project's own lowering for a target, as a function of requests."""

    target: str

    def __call__(self, request: Request) -> Sequence:
        """The sequence; raises ``UnsupportedError``."""
        return _lowered(self.target, request)


@lru_cache(maxsize=1 << 14)
def _lowered(target: str, request: Request) -> Sequence:
    check(request)
    return load_target(target).lower(request)


def request_of(
    operation: ScopedOperation, mode: Mode, space: AddressSpace | None = None
) -> Request:
    """What is asked of the lowering for ``operation``; ``space`` is its pointer's, if it has one."""
    kind, failure, returns = RmwKind.ADD, None, True
    match operation:
        case Load():
            op = Operation.LOAD
        case Store():
            op = Operation.STORE
        case AtomicRmw():
            op, kind = Operation.ATOMIC_RMW, operation.kind
            returns = operation.dst is not None
        case Cmpxchg():
            op, failure = Operation.CMPXCHG, operation.failure_ordering
            returns = operation.dst is not None or operation.success is not None
        case Fence():
            op = Operation.FENCE
        case Barrier():
            op = Operation.BARRIER
    weak = operation.ordering is Ordering.WEAK
    request = Request(
        op=op,
        ordering=operation.ordering,
        scope=Scope.SYSTEM if weak or operation.scope is None else operation.scope,
        space=space if op.is_access else None,
        failure_ordering=failure,
        returns=returns,
        kind=kind,
        volatile=isinstance(operation, Load | Store) and operation.volatile,
        one_as=operation.one_as,
        spaces=operation.spaces,
        availability=operation.availability,
    )
    return mode.complete(request)


@dataclass(frozen=True)
class Code:
    """A scoped program with the sequence of every scoped operation in it."""

    program: ScopedProgram
    sequences: Mapping[Place, Sequence]

    def with_sequence(self, place: Place, sequence: Sequence) -> "Code":
        """The same with another sequence at one place."""
        return Code(self.program, {**self.sequences, place: sequence})


def lower_program(
    program: ScopedProgram,
    mode: Mode,
    lowering: Lowering,
    generic: frozenset[str] = frozenset(),
) -> Code:
    """Lowers every scoped operation; locations in ``generic`` are reached by generic pointers.

    Raises ``UnsupportedError`` for an operation that the target does not have.
    """
    sequences: dict[Place, Sequence] = {}
    for number, thread in enumerate(program.threads):
        for position, each in enumerate(thread.instructions):
            if not isinstance(each, SCOPED):
                continue
            space = None
            if not isinstance(each, Fence | Barrier):
                space = program.location(each.location).space
                space = AddressSpace.GENERIC if each.location in generic else space
            sequences[number, position] = lowering(request_of(each, mode, space))
    return Code(program, sequences)
