"""What the certificate of a mode covers: which operations have the sequence of a certified one."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

from fencewright.lowering.lower import lower_request
from fencewright.lowering.ptx.text import words_of
from fencewright.lowering.sequence import Instruction, Request, Sequence, Target, UnsupportedError
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Operation,
    Ordering,
    Phase,
    RmwKind,
    Scope,
)
from fencewright.simulator.certify.certificate import requests_of
from fencewright.simulator.certify.coverage import reason_of
from fencewright.simulator.ptx.columns import ORDERINGS
from fencewright.simulator.ptx.instructions import SCOPES


def lowered_requests(mode: Target) -> Iterator[tuple[Request, Sequence]]:
    """Every operation, and each of them with one thing about it changed, that ``mode`` lowers."""
    for each in _requests():
        request = replace(each, target=mode)
        try:
            yield request, lower_request(request)
        except UnsupportedError:
            continue


@cache
def _requests() -> tuple[Request, ...]:
    return tuple(other for base in _bases() for other in _variants(base))


def _bases() -> Iterator[Request]:
    spaces = (*AddressSpace,)
    for op, ordering, scope in product(Operation, Ordering, Scope):
        if not op.is_access:
            yield Request(op, ordering, scope, None)
            continue
        for space, returns in product(spaces, (True, False)):
            if op is Operation.CMPXCHG:
                for failure in (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST):
                    yield Request(op, ordering, scope, space, failure, returns)
            elif returns or op is Operation.ATOMIC_RMW:
                yield Request(op, ordering, scope, space, None, returns)


def _variants(base: Request) -> Iterator[Request]:
    yield base
    if base.op is Operation.ATOMIC_RMW:
        yield from (replace(base, kind=kind) for kind in RmwKind)
    if base.op.is_access:
        yield from (replace(base, width=width) for width in (8, 16, 64, 128))
    if base.op in (Operation.LOAD, Operation.STORE):
        yield replace(base, volatile=True)
        yield replace(base, nontemporal=True)
    if base.ordering is not Ordering.WEAK:
        yield replace(base, one_as=True)
        yield replace(base, availability=Availability.NONE)
        for spaces in ((AddressSpace.GLOBAL,), (AddressSpace.LOCAL,),
                       (AddressSpace.GLOBAL, AddressSpace.LOCAL)):  # fmt: skip
            yield replace(base, spaces=frozenset(spaces))


class Coverage:
    """What the certificate of a mode covers, as an index."""

    def __init__(self, mode: Target):
        self.mode = mode
        self.known: dict[tuple[object, ...], list[Request]] = {}
        for each in requests_of(mode):
            shape = _shape(each, lower_request(each))
            self.known.setdefault((*_key(each), shape), []).append(each)

    def covers(self, request: Request, sequence: Sequence) -> bool:
        """Whether an operation of the certificate has the same sequence around its access.

        That may be one that asks for more: agent scope for cluster scope, the whole operation
        for a limited one, a stronger ordering. A compare-exchange may have one for its success
        and another for its failure. Kinds of read-modify-writes and widths are not distinguished;
        in PTX neither are generic and global memory, as in its model.
        """
        shape = _shape(request, sequence)
        for each in self._at_least(request):
            same = self.known.get((*_key(each), shape), ())
            succeeds = any(_includes(other.ordering, each.ordering) for other in same)
            fails = any(_includes(other.failure_ordering, each.failure_ordering) for other in same)
            if succeeds and fails:
                return True
        return False

    def _at_least(self, request: Request) -> Iterator[Request]:
        whole = replace(request, one_as=False, spaces=None, availability=Availability.FULL)
        for each in (request, whole):
            if self.mode.is_ptx and each.space is AddressSpace.GENERIC:
                each = replace(each, space=AddressSpace.GLOBAL)
            yield each
            if each.scope is Scope.CLUSTER:
                yield replace(each, scope=Scope.AGENT)

    def uncovered(self) -> Iterator[tuple[Request, str]]:
        """What is lowered and not covered, with the name of the reason; "" if there is none."""
        for request, sequence in lowered_requests(self.mode):
            if not self.covers(request, sequence):
                yield request, reason_of(request, sequence, self.mode)


def _key(request: Request) -> tuple[object, ...]:
    return (
        request.op,
        request.scope,
        request.space,
        request.one_as,
        request.spaces,
        request.availability,
    )


def _includes(stronger: Ordering | None, weaker: Ordering | None) -> bool:
    """Whether what is sufficient for ``stronger`` is so for ``weaker``; None is no ordering."""
    if stronger is weaker or stronger is None or weaker is None:
        return stronger is weaker
    if Ordering.WEAK in (stronger, weaker) or weaker is Ordering.SEQ_CST:
        return False
    return (stronger.acquires or not weaker.acquires) and (stronger.releases or not weaker.releases)


def _shape(request: Request, sequence: Sequence) -> tuple[object, ...]:
    return tuple(_synchronisation(request, each) for each in sequence.instructions)


_HINTS = ("nt", "slc")
_RETURN_BITS = ("sc0", "glc")
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)


def _synchronisation(request: Request, instruction: Instruction) -> tuple[object, ...]:
    """What of an instruction orders anything: all of it, or an access's bits and qualifiers."""
    if instruction.phase is not Phase.ACCESS or instruction.wait is not None:
        return (instruction.text,)
    words = words_of(instruction.mnemonic)
    ignored = _HINTS + (_RETURN_BITS if request.op in _RMW else ())
    bits = tuple(each for each in instruction.modifiers if each not in ignored)
    return (bits, *(word for word in words if word in ORDERINGS or word in SCOPES))
