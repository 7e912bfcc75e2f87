"""What the certificate of a mode covers: which operations have the sequence of a certified one."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import cache
from itertools import product
from typing import Any

from fencewright.lowering.lower import check, lower_request
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
from fencewright.simulator.certify.coverage import UNCERTIFIED
from fencewright.simulator.certify.programs.ptx import words_of
from fencewright.simulator.ptx.builder import ORDERINGS
from fencewright.simulator.ptx.instructions import SCOPES

Fields = dict[str, Any]
"""Of a request, but for the target."""


def lowered_requests(
    mode: Target, asked: Iterable[Fields] | None = None
) -> Iterator[tuple[Request, Sequence]]:
    """What of ``asked``, or of everything, ``mode`` lowers."""
    for named in requests() if asked is None else asked:
        request = Request(**named, target=mode)
        try:
            yield request, lower_request(request)
        except UnsupportedError:
            continue


_FIELDS = [each.name for each in fields(Request) if each.name != "target"]


@cache
def requests() -> tuple[Fields, ...]:
    """Every operation that means something, and each of them with one thing about it changed."""
    every = (other for base in _bases() for other in _variants(base))
    asked = filter(_means_something, every)
    return tuple({name: getattr(each, name) for name in _FIELDS} for each in asked)


def _means_something(request: Request) -> bool:
    try:
        check(request)
    except UnsupportedError:
        return False
    return True


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
        for key in self._at_least(request):
            same = self.known.get((*key, shape), ())
            succeeds = any(_includes(other.ordering, request.ordering) for other in same)
            fails = any(
                _includes(other.failure_ordering, request.failure_ordering) for other in same
            )
            if succeeds and fails:
                return True
        return False

    def _at_least(self, request: Request) -> Iterator[tuple[object, ...]]:
        """The keys of what asks for as much or more, but for the ordering."""
        op, scope, space, *own = _key(request)
        if self.mode.is_ptx and space is AddressSpace.GENERIC:
            space = AddressSpace.GLOBAL
        scopes = (scope, Scope.AGENT) if scope is Scope.CLUSTER else (scope,)
        limits = (own, _WHOLE) if own != _WHOLE else (own,)
        for limit, wider in product(limits, scopes):
            yield op, wider, space, *limit

    def uncovered(self, asked: Iterable[Fields] | None = None) -> Iterator[tuple[Request, str]]:
        """What of ``asked`` is lowered and not covered, with the name of the reason, or ""."""
        for request, sequence in lowered_requests(self.mode, asked):
            if not self.covers(request, sequence):
                yield request, reason_of(request, sequence, self.mode)


def _columns_of(request: Request, sequence: Sequence, mode: Target) -> dict[str, object]:
    """The columns that ``UNCERTIFIED`` distinguishes operations by."""
    limited = (
        request.one_as
        or request.spaces is not None
        or request.availability is not Availability.FULL
    )
    return {
        "architecture": "ptx" if mode.is_ptx else "cdna",
        "op": request.op,
        "ordering": request.ordering,
        "scope": request.scope,
        "space": request.space,
        "kind": request.kind,
        "volatile": request.volatile,
        "returns": request.returns,
        "limited": limited,
        "loops": any(each.mnemonic == "bra" for each in sequence.instructions),
    }


def reason_of(request: Request, sequence: Sequence, mode: Target) -> str:
    """The name of the reason why an operation is in no certificate; "" if there is none."""
    columns = _columns_of(request, sequence, mode)
    for each in UNCERTIFIED:
        if all(columns[name] in values for name, values in each.where.items()):
            return each.name
    return ""


def _key(request: Request) -> tuple[object, ...]:
    return (
        request.op,
        request.scope,
        request.space,
        request.one_as,
        request.spaces,
        request.availability,
    )


_WHOLE = [False, None, Availability.FULL]
"""What ``_key`` ends with for an operation that nothing limits."""


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
