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
    AddressSpace,
    Availability,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
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
    width: int = 32,
    volatile: bool = False,
    nontemporal: bool = False,
    one_as: bool = False,
    spaces: Iterable[str] | None = None,
    availability: str = Availability.FULL,
    features: Iterable[str] = (),
    l2_per_agent: str = L2PerAgent.MANY,
    compat: str | None = None,
    ptx_version: str | None = None,
) -> Sequence:
    """The instructions that one scoped operation lowers to on ``target``.

    Words are strings or the enumerations of ``fencewright.lowering.vocabulary``. ``space``
    is needed for accesses only; ``width`` in bits. ``compat="llvm"`` reproduces LLVM's own
    choice where the sound default differs. Raises ``UnsupportedError`` for a request that
    means nothing or that the target cannot meet; never ignores or silently widens a scope.
    """
    return _lower(
        op, ordering, scope, space, target, failure_ordering, returns, kind, width,
        volatile, nontemporal, one_as,
        spaces if spaces is None else frozenset(several("spaces", spaces)),
        availability, features if isinstance(features, tuple) else several("features", features),
        l2_per_agent, compat, ptx_version,
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
    width: int,
    volatile: bool,
    nontemporal: bool,
    one_as: bool,
    spaces: frozenset[str] | None,
    availability: str,
    features: tuple[str, ...],
    l2_per_agent: str,
    compat: str | None,
    ptx_version: str | None,
) -> Sequence:
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
