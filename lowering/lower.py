"""The lowering of one scoped operation to its instructions, callable from any compiler."""

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import TypeVar

from fencewright.lowering.sequence import Request, Sequence, UnsupportedError
from fencewright.lowering.skeleton import ILLEGAL, ILLEGAL_FAILURE
from fencewright.lowering.targets import load_target
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Availability,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
    ValueType,
)

_E = TypeVar("_E", bound=Enum)


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
    ``elementwise`` asks for no more than each number by itself. ``compat="llvm"`` reproduces LLVM's own
    choice where the sound default differs. Raises ``UnsupportedError`` for a request that
    means nothing or that the target cannot meet; never ignores or silently widens a scope.
    """
    return _lower(
        op, ordering, scope, space, target, failure_ordering, returns, kind, width,
        volatile, nontemporal, one_as,
        spaces if spaces is None else frozenset(several("spaces", spaces)),
        availability, features if isinstance(features, tuple) else several("features", features),
        l2_per_agent, compat, ptx_version, type, elementwise,
    )  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _lower(
    op: str,
    ordering: str,
    scope: str,
    space: str | None,
    target: str,
    failure_ordering: str | None,
    returns: bool,
    kind: str,
    width: int | None,
    volatile: bool,
    nontemporal: bool,
    one_as: bool,
    spaces: frozenset[str] | None,
    availability: str,
    features: tuple[str, ...],
    l2_per_agent: str,
    compat: str | None,
    ptx_version: str | None,
    type: str | None,
    elementwise: bool,
) -> Sequence:
    value = None if type is None else _word(ValueType, "type", type)
    if width is None:
        width = 32 if value is None else value.bits
    request = Request(
        op=_word(Operation, "operation", op),
        ordering=_word(Ordering, "ordering", ordering),
        scope=_word(Scope, "scope", scope),
        space=None if space is None else _word(AddressSpace, "address space", space),
        failure_ordering=None
        if failure_ordering is None
        else _word(Ordering, "failure ordering", failure_ordering),
        returns=bool(returns),
        kind=_word(RmwKind, "read-modify-write kind", kind),
        width=width,
        volatile=bool(volatile),
        nontemporal=bool(nontemporal),
        one_as=bool(one_as),
        spaces=None
        if spaces is None
        else frozenset(_word(AddressSpace, "address space", each) for each in spaces),
        availability=_word(Availability, "availability", availability),
        features=frozenset(features),
        l2_per_agent=_word(L2PerAgent, "number of L2s", l2_per_agent),
        compat=None if compat is None else _word(Compat, "compatibility", compat),
        ptx_version=None if ptx_version is None else _version(ptx_version),
        type=value,
        elementwise=bool(elementwise),
    )
    check(request)
    return load_target(target).lower(request)


def forget_sequences() -> None:
    """Empty the cache of sequences, so that the next request is worked out anew."""
    _lower.cache_clear()


def check(request: Request) -> None:
    """Raise ``UnsupportedError`` for a request that means nothing on any target."""
    illegal = ILLEGAL.get((request.op, request.ordering))
    if illegal is not None:
        raise UnsupportedError(str(request), illegal.reason, illegal.accepted)
    if request.op.is_access and request.space is None:
        raise UnsupportedError(
            str(request), f"a {request.op} needs an address space", tuple(AddressSpace)
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
    type_, asked = request.type, str(request)
    if type_ is not None and type_.bits != request.width:
        reason = f"{type_} has {type_.bits} bits, not {request.width}"
        raise UnsupportedError(asked, reason, (f"width={type_.bits}",))
    if request.elementwise and (type_ is None or not type_.is_packed):
        packed = tuple(str(each) for each in ValueType if each.is_packed)
        raise UnsupportedError(asked, "elementwise is for packed values", packed)
    if request.op is not Operation.ATOMIC_RMW or request.kind is RmwKind.XCHG:
        return
    is_float = request.kind in FLOAT_KINDS
    if is_float and type_ is None and request.width == 16:
        reason = "16 bits may be f16 or bf16, and the request does not say which"
        raise UnsupportedError(asked, reason, _TYPES_OF_16)
    if is_float and type_ is not None and not type_.is_float:
        reason = f"{request.kind} is of floating-point numbers"
        raise UnsupportedError(asked, reason, tuple(map(str, _FLOATS)))
    if not is_float and type_ is not None and type_.is_float:
        raise UnsupportedError(asked, f"{request.kind} is of integers", tuple(sorted(FLOAT_KINDS)))


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


def several(what: str, given: Iterable[str]) -> tuple[str, ...]:
    """The words ``given``. Raises ``UnsupportedError`` for a string, whose items are its letters."""
    if isinstance(given, str):
        raise UnsupportedError(f"{what} '{given}'", "one word for several", (f"['{given}']",))
    return tuple(given)


def _word(words: type[_E], what: str, given: str) -> _E:
    try:
        return words(given)
    except ValueError:
        accepted = tuple(str(word.value) for word in words)
        raise UnsupportedError(f"{what} '{given}'", f"unknown {what}", accepted) from None


def _version(given: object) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]+)\.([0-9]+)", given) if isinstance(given, str) else None
    if match is None:
        raise UnsupportedError(f"PTX version {given!r}", "not a version", ("'8.6'",))
    return int(match[1]), int(match[2])
