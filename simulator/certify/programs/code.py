"""From ``scoped`` programs to the programs of the machines, through the lowering.

Every scoped operation becomes a request, every request a ``Sequence``; ``Code`` holds a
program's sequences by place, so that a single one can be weakened before they are put
together (``cdna``, ``ptx``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencewright.lowering.sequence import Request, Sequence, Target
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, RmwKind, Scope
from fencewright.simulator.source import events as source

Lowering = Callable[[Request], Sequence]
"""Anything that lowers a request; raises ``UnsupportedError``."""

Place = tuple[int, int]
"""A thread, and the position of an instruction in it."""

SCOPED = (source.Load, source.Store, source.AtomicRmw, source.Cmpxchg, source.Fence, source.Barrier)


def request_of(
    operation: source.ScopedOperation, mode: Target, space: AddressSpace | None = None
) -> Request:
    """The request to the lowering for ``operation``; ``space`` is its pointer's, if it has one."""
    kind, failure, returns = RmwKind.ADD, None, True
    match operation:
        case source.Load():
            op = Operation.LOAD
        case source.Store():
            op = Operation.STORE
        case source.AtomicRmw():
            op, kind = Operation.ATOMIC_RMW, operation.kind
            returns = operation.dst is not None
        case source.Cmpxchg():
            op, failure = Operation.CMPXCHG, operation.failure_ordering
            returns = operation.dst is not None or operation.success is not None
        case source.Fence():
            op = Operation.FENCE
        case source.Barrier():
            op = Operation.BARRIER
    weak = operation.ordering is Ordering.WEAK
    return Request(
        op=op,
        ordering=operation.ordering,
        scope=Scope.SYSTEM if weak or operation.scope is None else operation.scope,
        space=space if op.is_access else None,
        failure_ordering=failure,
        returns=returns,
        kind=kind,
        volatile=isinstance(operation, source.Load | source.Store) and operation.volatile,
        one_as=operation.one_as,
        spaces=operation.spaces,
        availability=operation.availability,
        target=mode,
    )


@dataclass(frozen=True)
class Code:
    """A scoped program with the sequence of every scoped operation in it."""

    program: source.ScopedProgram
    sequences: Mapping[Place, Sequence]

    def with_sequence(self, place: Place, sequence: Sequence) -> "Code":
        """The same with another sequence at one place."""
        return Code(self.program, {**self.sequences, place: sequence})


def lower_program(
    program: source.ScopedProgram,
    mode: Target,
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
            if not isinstance(each, source.Fence | source.Barrier):
                space = program.location(each.location).space
                space = AddressSpace.GENERIC if each.location in generic else space
            sequences[number, position] = lowering(request_of(each, mode, space))
    return Code(program, sequences)
