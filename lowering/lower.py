"""The lowering of one scoped operation to its instructions, callable from any compiler."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fencewright.lowering.sequence import Request, Sequence, Target, UnsupportedError
from fencewright.lowering.skeleton import ILLEGAL, ILLEGAL_FAILURE
from fencewright.lowering.targets import backend_of, parse_target, scope_named, several, word
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Availability,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
    ValueType,
)


def lower(
    *,
    op: str,
    ordering: str = Ordering.WEAK,
    scope: str = Scope.SYSTEM,
    space: str | None = None,
    target: str,
    failure_ordering: str | None = None,
    returns: bool = True,
    kind: str = RmwKind.ADD,
    width: int | None = None,
    volatile: bool = False,
    nontemporal: bool = False,
    one_as: bool = False,
    spaces: Iterable[str] | None = None,
    availability: str = Availability.FULL,
    features: Iterable[str] = (),
    l2_per_agent: str = L2PerAgent.MANY,
    compat: str | None = None,
    ptx_version: str | None = None,
    type: str | None = None,
    elementwise: bool = False,
) -> Sequence:
    """The instructions that one scoped operation lowers to on ``target``.

    Words are strings or the enumerations of ``fencewright.lowering.vocabulary``. ``space``
    is needed for accesses only; ``width`` in bits, 32 if nothing is said. ``type`` says what a
    value is where that matters, as in ``kind="fadd", type="bf16"``, and how wide: i8 to i128, f16,
    bf16, f32, f64, and two numbers as one value, f16x2 and bf16x2. Those are updated as a whole;
    ``elementwise`` asks for no more than each number by itself. ``compat="llvm"`` reproduces LLVM's
    own choice where the sound default differs. Raises ``UnsupportedError`` for a request that
    means nothing or that the target cannot meet; never ignores or silently widens a scope.
    """
    features = features if isinstance(features, tuple) else several("features", features)
    return _lower_named(
        target, features, l2_per_agent, compat, ptx_version,
        op, ordering, scope, space, failure_ordering, returns,
        kind, width, volatile, nontemporal, one_as,
        spaces if spaces is None else frozenset(several("spaces", spaces)),
        availability, type, elementwise,
    )  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _lower_named(
    target: str,
    features: tuple[str, ...],
    l2_per_agent: str,
    compat: str | None,
    ptx_version: str | None,
    *words: Any,
) -> Sequence:
    # One cache for all words: what is asked for again is found in one look.
    return lower_for(_parsed(target, features, l2_per_agent, compat, ptx_version), *words)


_parsed = lru_cache(maxsize=1 << 10)(parse_target)


@lru_cache(maxsize=1 << 16)
def lower_for(
    target: Target,
    op: str,
    ordering: str = Ordering.WEAK,
    scope: str = Scope.SYSTEM,
    space: str | None = None,
    failure_ordering: str | None = None,
    returns: bool = True,
    kind: str = RmwKind.ADD,
    width: int | None = None,
    volatile: bool = False,
    nontemporal: bool = False,
    one_as: bool = False,
    spaces: Collection[str] | None = None,
    availability: str = Availability.FULL,
    type: str | None = None,
    elementwise: bool = False,
) -> Sequence:
    """As ``lower``, for a target that has been parsed."""
    value = None if type is None else word(ValueType, "type", type)
    if width is None:
        width = 32 if value is None else value.bits
    request = Request(
        op=word(Operation, "operation", op),
        ordering=word(Ordering, "ordering", ordering),
        scope=scope_named(scope),
        space=None if space is None else word(AddressSpace, "address space", space),
        failure_ordering=None
        if failure_ordering is None
        else word(Ordering, "failure ordering", failure_ordering),
        returns=bool(returns),
        kind=word(RmwKind, "read-modify-write kind", kind),
        width=width,
        volatile=bool(volatile),
        nontemporal=bool(nontemporal),
        one_as=bool(one_as),
        spaces=None
        if spaces is None
        else frozenset(word(AddressSpace, "address space", each) for each in spaces),
        availability=word(Availability, "availability", availability),
        target=target,
        type=value,
        elementwise=bool(elementwise),
    )
    return lower_request(request)


@lru_cache(maxsize=1 << 16)
def lower_request(request: Request) -> Sequence:
    """The sequence of a request, for its target. Raises ``UnsupportedError``."""
    check(request)
    chip = request.target.chip
    return replace(backend_of(chip).lower(request), chip=chip)


def forget_sequences() -> None:
    """Empty the caches of sequences, so that the next request is worked out anew."""
    _lower_named.cache_clear()
    _parsed.cache_clear()
    lower_for.cache_clear()
    lower_request.cache_clear()


def check(request: Request) -> None:
    """Raise ``UnsupportedError`` for a request that means nothing on any target."""
    illegal = ILLEGAL.get((request.op, request.ordering))
    if illegal is not None:
        raise UnsupportedError(str(request), illegal.reason, illegal.accepted)
    if request.op.is_access and request.space is None:
        raise UnsupportedError(
            str(request), "it needs an address space, as space='global'", tuple(AddressSpace)
        )
    if not request.op.is_access and request.space is not None:
        raise UnsupportedError(
            str(request), f"a {request.op} has no address; limit it with spaces", ()
        )
    if request.spaces is not None and not request.spaces:
        raise UnsupportedError(
            str(request), "an empty list of address spaces orders nothing; leave it out"
        )
    _check_failure(request)
    _check_type(request)


_TYPES_OF_16 = (f"type={ValueType.F16}", f"type={ValueType.BF16}")
_FLOATS = tuple(each for each in ValueType if each.is_float)


def _check_type(request: Request) -> None:
    type_ = request.type
    if type_ is not None and type_.bits != request.width:
        reason = f"{type_} has {type_.bits} bits, not {request.width}"
        raise UnsupportedError(str(request), reason, (f"width={type_.bits}",))
    if request.elementwise and (type_ is None or not type_.is_packed):
        packed = tuple(str(each) for each in ValueType if each.is_packed)
        raise UnsupportedError(str(request), "elementwise is for packed values", packed)
    if request.op is not Operation.ATOMIC_RMW or request.kind is RmwKind.XCHG:
        return
    is_float = request.kind in FLOAT_KINDS
    if is_float and type_ is None and request.width == 16:
        reason = "16 bits may be f16 or bf16, and the request does not say which"
        raise UnsupportedError(str(request), reason, _TYPES_OF_16)
    if is_float and type_ is not None and not type_.is_float:
        reason = f"{request.kind} is of floating-point numbers"
        raise UnsupportedError(str(request), reason, tuple(map(str, _FLOATS)))
    if not is_float and type_ is not None and type_.is_float:
        raise UnsupportedError(
            str(request), f"{request.kind} is of integers", tuple(sorted(FLOAT_KINDS))
        )


def _check_failure(request: Request) -> None:
    failure = request.failure_ordering
    is_cas = request.op is Operation.CMPXCHG
    if is_cas and failure is None:
        raise UnsupportedError(
            str(request), "a cmpxchg needs a failure ordering", ("relaxed", "acquire", "seq_cst")
        )
    if not is_cas and failure is not None:
        raise UnsupportedError(str(request), f"a {request.op} has no failure ordering")
    illegal = None if failure is None else ILLEGAL_FAILURE.get(failure)
    if illegal is not None:
        raise UnsupportedError(str(request), illegal.reason, illegal.accepted)
