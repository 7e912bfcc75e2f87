"""Rows of the lowering that no legal request reaches are named here, each with its reason."""

from collections.abc import Iterator
from itertools import product
from typing import Any, cast

import pytest

from fencewright.lowering.cdna.chip import Chip
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.lower import lower_request
from fencewright.lowering.ptx import atomics, rows
from fencewright.lowering.sequence import Request, Target, UnsupportedError
from fencewright.lowering.skeleton import SkeletonStep
from fencewright.lowering.table import Key, Row, Table
from fencewright.lowering.targets import parse_target
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

CDNA = ("gfx908", "gfx90a", "gfx942", "gfx1250")
PTX = (("sm_70", "6.0"), ("sm_90", "7.8"), ("sm_90", "8.6"), ("sm_100", "8.8"))
SPACES = (AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.PRIVATE)

_NO_CODE = "such a fence has no code"
_ONLY_FENCES = "only fences that write back take it, and say so in rows of their own"
_NEVER_WEAK = "an update is an atomic access"

UNREACHED = {
    "steps: step=lds-wait": _ONLY_FENCES,
    "steps: step=cache-wait": _ONLY_FENCES,
    "fence that writes back: scope=singlethread,wavefront compat=None": _NO_CODE,
    "wait: space=generic scope=workgroup,cluster,agent,system covers=writes": "writes are waited for"
    " in one space at a time",
    "wait before an access: operation=atomic_rmw,cmpxchg atomic=False"
    " space=generic,global,constant,private": _NEVER_WEAK,
    "cache policy: hint=nontemporal operation=atomic_rmw,cmpxchg": _NEVER_WEAK,
    "cache policy: hint=volatile nontemporal operation=atomic_rmw,cmpxchg": _NEVER_WEAK,
    "PTX read-modify-write: kind=fadd,fsub,fmax,fmin width=16": "a request of 16 bits has its type",
}
"""Rows by their table and columns, with the reason: they complete a table, whose gaps are errors."""


def targets() -> Iterator[Target]:
    """One of each mode of each generation, with and without what else a target says."""
    for name, compat, l2 in product(CDNA, (None, "llvm"), L2PerAgent):
        for feature in (None, *load_chip(name).features):
            yield parse_target(name, () if feature is None else (feature,), l2, compat, None)
    for name, version in PTX:
        for features in ((), ("converged",)):
            yield parse_target(name, features, L2PerAgent.MANY, None, version)


def requests(target: Target) -> Iterator[Request]:
    """Requests of every column of every table; most of them are legal."""
    every = product(Operation, Ordering, Scope, (None, *AddressSpace))
    for op, ordering, scope, space in every:
        failure = Ordering.RELAXED if op is Operation.CMPXCHG else None
        yield Request(op, ordering, scope, space, failure, target=target)
        if ordering.acquires or ordering.releases or ordering is Ordering.WEAK:
            yield Request(op, ordering, scope, space, failure, target=target, volatile=True)
    for op, space, volatile in product(Operation, SPACES, (False, True)):
        for ordering, scope in product((Ordering.WEAK, Ordering.RELAXED), Scope):
            yield Request(
                op, ordering, scope, space, target=target, volatile=volatile, nontemporal=True
            )
    for ordering, scope, availability in product(Ordering, Scope, Availability):
        for only in ((AddressSpace.LOCAL,), (AddressSpace.GLOBAL,), SPACES[:3]):
            for one_as in (False, True):
                yield Request(
                    Operation.FENCE,
                    ordering,
                    scope,
                    None,
                    target=target,
                    spaces=frozenset(only),
                    one_as=one_as,
                    availability=availability,
                )
    for kind, width, returns in product(RmwKind, (8, 16, 32, 64, 128), (False, True)):
        for space in (AddressSpace.GLOBAL, AddressSpace.LOCAL):
            yield Request(
                Operation.ATOMIC_RMW,
                Ordering.RELAXED,
                Scope.SYSTEM,
                space,
                returns=returns,
                kind=kind,
                width=width,
                target=target,
            )
    for width in (8, 16, 64, 128):
        yield Request(
            Operation.CMPXCHG,
            Ordering.RELAXED,
            Scope.SYSTEM,
            AddressSpace.GLOBAL,
            Ordering.RELAXED,
            width=width,
            target=target,
        )
    for kind, value, elementwise in product(FLOAT_KINDS, ValueType, (False, True)):
        for space in SPACES:
            yield Request(
                Operation.ATOMIC_RMW,
                Ordering.RELAXED,
                Scope.AGENT,
                space,
                kind=kind,
                width=value.bits,
                type=value,
                elementwise=elementwise,
                target=target,
            )


def tables() -> Iterator[Table[Any]]:
    """Those that the lowering of one operation looks into."""
    for name in CDNA:
        chip = load_chip(name)
        yield from (
            table
            for column in Chip.__dataclass_fields__
            if isinstance(table := getattr(chip, column), Table)
        )
    for module in (rows, atomics):
        yield from (table for table in vars(module).values() if isinstance(table, Table))


def _text(value: object) -> str:
    return value.name.lower().replace("_", "-") if isinstance(value, SkeletonStep) else str(value)


def described(table: Table[Any], missing: Row[Any]) -> str:
    """A row without the name of its chip."""
    columns = (f"{name}={','.join(map(_text, values))}" for name, values in missing.where.items())
    name = table.name.partition(" ")[2] if table.name.startswith("gfx") else table.name
    return f"{name}: {' '.join(columns)}"


def test_rows_that_no_request_reaches_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[int] = set()
    look_up = cast(Any, Table).__getitem__

    def noting(table: Table[Any], key: Key) -> Row[Any]:
        found: Row[Any] = look_up(table, key)
        reached.add(id(found))
        return found

    monkeypatch.setattr(Table, "__getitem__", noting)
    lower = lower_request.__wrapped__
    for target in targets():
        for request in requests(target):
            try:
                lower(request)
            except UnsupportedError:
                continue
    missing = {
        described(table, row) for table in tables() for row in table.rows if id(row) not in reached
    }
    assert missing == set(UNREACHED)
