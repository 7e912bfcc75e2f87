"""A request and a chip's rule tables to a sequence: normalise, look up, emit.

Nothing here knows a chip or an instruction; all of that is rows. Source of the shape:
LLVM AMDGPUUsage, Memory Model code sequences.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from fencewright.lowering.cdna.chip import SPACES, Chip, Code, Covers, Hint
from fencewright.lowering.cdna.instructions import (
    InstructionRow,
    memory_instruction,
    packed_instruction,
)
from fencewright.lowering.sequence import (
    Instruction,
    Placeholder,
    Request,
    Sequence,
    UnsupportedError,
    WaitCounts,
)
from fencewright.lowering.skeleton import SKELETON, VOLATILE, SkeletonStep, Steps, merged_ordering
from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Availability,
    Compat,
    Operation,
    Ordering,
    Phase,
    Scope,
    ValueType,
)

_CLAMP = {AddressSpace.LOCAL: Scope.WORKGROUP, AddressSpace.PRIVATE: Scope.SINGLETHREAD}
"""The widest scope that can observe an access to this space (LLVM SIMemOpInfo)."""

_PLAIN = frozenset({Operation.LOAD, Operation.STORE})
"""Operations not atomic in private memory (LLVM SIISelLowering, shouldExpandAtomicLoadInIR)."""

_ORDERED = frozenset({AddressSpace.GLOBAL, AddressSpace.LOCAL})
"""The spaces that threads share, and that a synchronisation therefore orders."""

_IN_LDS = frozenset({AddressSpace.LOCAL})
_IN_MEMORY = frozenset({AddressSpace.GLOBAL})
_THROUGH_CACHES = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})


def lower(chip: Chip, requested: Request) -> Sequence:
    """The instructions for one request on one chip. Raises ``UnsupportedError``."""
    _check(chip, requested)
    request = _normalise(requested)
    instructions: list[Instruction] = []
    for step in _steps(chip, request):
        for each in _EMIT[step](chip, request):
            if not (instructions and _covers(instructions[-1].wait, each.wait)):
                instructions.append(each)
    return Sequence(chip.encode(tuple(instructions)))


def _covers(before: WaitCounts | None, wait: WaitCounts | None) -> bool:
    """True if the wait directly before another one leaves it nothing to wait for."""
    return before is not None and wait is not None and before | wait == before


def _check(chip: Chip, request: Request) -> None:
    unknown = request.target.features - chip.features
    if unknown:
        reason = f"{chip.name} has no feature {', '.join(sorted(unknown))}"
        raise UnsupportedError(str(request), reason, tuple(sorted(chip.features)) or ("none",))
    if request.target.ptx_version is not None:
        raise UnsupportedError(str(request), f"{chip.name} has no PTX version")
    for named in request.spaces or ():
        _check_space(chip, request, named)
    if (space := request.space) is None:
        return
    _check_space(chip, request, space)
    atomic = request.ordering is not Ordering.WEAK
    illegal = chip.legal[request.op, atomic, space, request.target.tgsplit].value
    if illegal is not None:
        raise UnsupportedError(str(request), illegal.reason, illegal.accepted)


def _check_space(chip: Chip, request: Request, space: AddressSpace) -> None:
    if space not in SPACES:
        raise UnsupportedError(str(request), f"{chip.name} has no {space} memory", SPACES)


def _normalise(request: Request) -> Request:
    """Both outcomes of a compare-exchange in one ordering; no scope wider than the space allows."""
    ordering = request.ordering
    if request.failure_ordering is not None:
        ordering = merged_ordering(ordering, request.failure_ordering)
    if request.space is AddressSpace.PRIVATE and request.volatile:
        # No other thread observes it; as a weak access it keeps what a volatile one asks of caches.
        ordering = Ordering.WEAK if request.op in _PLAIN else ordering
    widest = _CLAMP.get(request.space) if request.space else None
    scope = request.scope.clamp(widest) if widest else request.scope
    if ordering is Ordering.WEAK:
        scope = Scope.SYSTEM if request.volatile else Scope.SINGLETHREAD
    return request.put(ordering=ordering, scope=scope)


_AVAILABILITY = (SkeletonStep.WRITE_BACK, SkeletonStep.INVALIDATE)
_BOTH = {(Operation.FENCE, Ordering.ACQ_REL), (Operation.FENCE, Ordering.SEQ_CST)}


def _steps(chip: Chip, request: Request) -> Steps:
    weak = request.ordering is Ordering.WEAK
    if weak and request.volatile:
        return VOLATILE[request.op]
    compat = request.target.compat
    skeleton = SKELETON[request.op, request.ordering]
    steps = tuple(step for each in skeleton for step in chip.steps[each, compat].value)
    if request.availability is Availability.NONE:
        return tuple(s for s in steps if s not in _AVAILABILITY)
    if (request.op, request.ordering) in _BOTH and _write_back(chip, request):
        return chip.fence[request.scope, request.target.tgsplit, compat].value
    return steps


def _ordered_spaces(request: Request) -> frozenset[AddressSpace]:
    """The address spaces whose earlier accesses a synchronisation has to wait for."""
    ordered = _ORDERED if request.spaces is None else request.spaces
    if AddressSpace.GENERIC in ordered:
        ordered |= _ORDERED
    if request.one_as and request.space is not None:
        ordered &= _ORDERED if request.space is AddressSpace.GENERIC else {request.space}
    return ordered - _IN_LDS if _leaves_lds(request) else ordered


def _leaves_lds(request: Request) -> bool:
    """True if LDS accesses of one wave are assumed to be in order among themselves, as in LLVM.

    They are not where a flat access may be to LDS: it passes ds_ ones (certified by message
    passing in LDS with a flat flag).
    """
    return request.one_as and request.target.compat is Compat.LLVM


def _wait(
    chip: Chip,
    request: Request,
    spaces: frozenset[AddressSpace],
    phase: Phase,
    covers: Covers = Covers.ALL,
) -> list[Instruction]:
    tgsplit, compat = request.target.tgsplit, request.target.compat
    rows = [chip.wait[space, request.scope, tgsplit, compat, covers] for space in sorted(spaces)]
    counts = WaitCounts()
    for each in rows:
        counts |= each.value
    if not counts:
        return []
    source = "; ".join(dict.fromkeys(each.source for each in rows if each.value))
    return [Instruction("s_waitcnt", wait=counts, phase=phase, source=source)]


def _wait_ordered(chip: Chip, request: Request, phase: Phase) -> list[Instruction]:
    return _wait(chip, request, _ordered_spaces(request), phase)


def _wait_prior(chip: Chip, request: Request) -> list[Instruction]:
    """A wait where nothing is released; for writes alone before a load, but as LLVM's.

    A seq_cst load only has to come after earlier seq_cst accesses, and those that read have waited
    for themselves.
    """
    writes = request.op is Operation.LOAD and request.target.compat is not Compat.LLVM
    covers = Covers.WRITES if writes else Covers.ALL
    return _wait(chip, request, _ordered_spaces(request), Phase.WAIT, covers)


def _wait_own(chip: Chip, request: Request) -> list[Instruction]:
    assert request.space is not None
    own = frozenset({request.space})
    alone = _leaves_lds(request) or request.ordering is Ordering.WEAK
    if alone and request.space is AddressSpace.GENERIC:
        own = frozenset({AddressSpace.GLOBAL})
    elif alone:
        own -= _IN_LDS
    return _wait(chip, request, own, Phase.WAIT, _COMPLETES[request.op, request.returns])


_COMPLETES: Mapping[tuple[Operation, bool], Covers] = {
    **{(Operation.LOAD, returns): Covers.READS for returns in (False, True)},
    **{(Operation.STORE, returns): Covers.WRITES for returns in (False, True)},
    (Operation.ATOMIC_RMW, True): Covers.READS,
    (Operation.ATOMIC_RMW, False): Covers.WRITES,
    (Operation.CMPXCHG, True): Covers.READS,
    (Operation.CMPXCHG, False): Covers.WRITES,
}


def _maintenance(ops: Code, request: Request, phase: Phase, source: str) -> list[Instruction]:
    if not _ordered_spaces(request) & _THROUGH_CACHES:
        return []
    return _emitted(ops, phase, source)


def _emitted(code: Code, phase: Phase, source: str) -> list[Instruction]:
    return [
        Instruction("s_waitcnt", wait=each, phase=phase, source=source)
        if isinstance(each, WaitCounts)
        else Instruction(each.mnemonic, modifiers=each.modifiers, phase=phase, source=source)
        for each in code
    ]


def _write_back(chip: Chip, request: Request) -> list[Instruction]:
    target = request.target
    found = chip.write_back[request.scope, target.tgsplit, target.l2_per_agent, target.compat]
    return _maintenance(found.value, request, Phase.RELEASE, found.source)


def _wait_for_lds(chip: Chip, request: Request) -> list[Instruction]:
    return _wait(chip, request, _ordered_spaces(request) & _IN_LDS, Phase.RELEASE)


def _wait_for_caches(chip: Chip, request: Request) -> list[Instruction]:
    return _wait(chip, request, _IN_MEMORY, Phase.RELEASE)


def _invalidate(chip: Chip, request: Request) -> list[Instruction]:
    found = chip.invalidate[request.scope, request.target.tgsplit]
    return _maintenance(found.value, request, Phase.ACQUIRE, found.source)


def _access(chip: Chip, request: Request) -> list[Instruction]:
    if request.op is Operation.BARRIER:
        return _barrier(chip, request)
    if request.space is AddressSpace.PRIVATE and request.op not in (
        Operation.LOAD,
        Operation.STORE,
    ):
        return _private_rmw(chip, request)
    return _memory(chip, request)


def _barrier(chip: Chip, request: Request) -> list[Instruction]:
    found = chip.barrier[request.scope,]
    if isinstance(found.value, Illegal):
        raise UnsupportedError(str(request), found.value.reason, found.value.accepted)
    return _emitted(found.value, Phase.ACCESS, found.source)


def _memory(chip: Chip, request: Request) -> list[Instruction]:
    """The access; several instructions where memory holds its value in several places."""
    found = _instruction(chip, request)
    if found is None and not request.returns:
        # Some kinds exist in the returning form only; its result may go unused.
        request = replace(request, returns=True)
        found = _instruction(chip, request)
    if found is None:
        reason = f"{chip.name} has no such instruction"
        raise UnsupportedError(str(request), reason, _nearest(chip, request))
    modifiers, source = _policy(chip, request)
    source = f"{found.source}; {source}"
    atomic = request.ordering is not Ordering.WEAK
    before = chip.before[request.op, atomic, request.volatile, request.space]
    return [
        *_emitted(before.value, Phase.ACCESS, before.source),
        *(
            Instruction(
                line.mnemonic, line.operands, modifiers, phase=Phase.ACCESS, source=source
            ).with_places(_AT_OFFSET)
            for line in found.code
        ),
    ]


_AT_OFFSET: Mapping[Placeholder | str, Placeholder | str] = {
    Placeholder("offset", f"+{bytes}"): f"{bytes}" for bytes in (4, 8, 12)
}
"""The offsets of the parts of an access, which itself is at offset 0."""


def _instruction(chip: Chip, request: Request) -> InstructionRow | None:
    assert request.space is not None
    kind = request.kind if request.op is Operation.ATOMIC_RMW else None
    type_ = request.type
    if kind in FLOAT_KINDS and type_ is not None and type_ in _HALVES:
        return packed_instruction(chip.name, request.space, request.kind, type_, request.returns)
    return memory_instruction(
        chip.name, request.op, request.space, request.width, kind, request.returns
    )


_HALVES = (ValueType.F16, ValueType.BF16, ValueType.F16X2, ValueType.BF16X2)


def _nearest(chip: Chip, request: Request) -> tuple[str, ...]:
    """The widths at which the chip has the operation, for the error message."""
    assert request.space is not None
    kind = request.kind if request.op is Operation.ATOMIC_RMW else None
    if kind in FLOAT_KINDS and request.type in _HALVES:
        return ("a compare-exchange loop",)
    widths = (8, 16, 32, 64, 96, 128)
    return tuple(
        f"i{width}"
        for width in widths
        if memory_instruction(chip.name, request.op, request.space, width, kind, True)
    ) or ("a compare-exchange loop",)


def _policy(chip: Chip, request: Request) -> tuple[tuple[str, ...], str]:
    if request.space is AddressSpace.LOCAL:
        return (), "LDS has no caches"
    target = request.target
    found = chip.policy[request.op, _hint(request), request.scope, target.tgsplit, target.compat]
    if request.op in (Operation.LOAD, Operation.STORE):
        return found.value, found.source
    returning = chip.returning[request.returns,]
    return (*returning.value, *found.value), f"{returning.source}; {found.source}"


def _hint(request: Request) -> Hint:
    if request.ordering is not Ordering.WEAK:
        return Hint.NONE
    return _HINTS[request.volatile, request.nontemporal]


_HINTS: Mapping[tuple[bool, bool], Hint] = {
    (False, False): Hint.NONE,
    (False, True): Hint.NONTEMPORAL,
    (True, False): Hint.VOLATILE,
    (True, True): Hint.VOLATILE_NONTEMPORAL,
}


def _private_rmw(chip: Chip, request: Request) -> list[Instruction]:
    """No other thread can interfere: load, wait for the value, store ``{new}``.

    The caller computes ``{new}`` from ``{dst}`` and ``{data}`` before the store.
    """
    plain = replace(request, ordering=Ordering.WEAK, kind=request.kind)
    loads = _memory(chip, replace(plain, op=Operation.LOAD, returns=True))
    stores = _memory(chip, replace(plain, op=Operation.STORE, returns=False))
    source = "private memory is the thread's own; the value is waited for as data"
    done = chip.wait[AddressSpace.PRIVATE, Scope.SYSTEM, False, None, Covers.READS].value
    return [
        *loads,
        Instruction("s_waitcnt", wait=done, phase=Phase.ACCESS, source=source),
        *(each.with_places(_NEW) for each in stores),
    ]


_NEW: Mapping[Placeholder | str, Placeholder | str] = {
    Placeholder("data", part): Placeholder("new", part) for part in ("", "[0]", "[1]", "[2]", "[3]")
}


_EMIT: dict[SkeletonStep, Callable[[Chip, Request], list[Instruction]]] = {
    SkeletonStep.WRITE_BACK: _write_back,
    SkeletonStep.RELEASE_WAIT: lambda chip, request: _wait_ordered(chip, request, Phase.RELEASE),
    SkeletonStep.PRIOR_WAIT: _wait_prior,
    SkeletonStep.ACCESS: _access,
    SkeletonStep.OWN_WAIT: _wait_own,
    SkeletonStep.INVALIDATE: _invalidate,
    SkeletonStep.LDS_WAIT: _wait_for_lds,
    SkeletonStep.CACHE_WAIT: _wait_for_caches,
}
