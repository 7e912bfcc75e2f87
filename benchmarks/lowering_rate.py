"""Sequences a second through ``lower``, the first time each is asked for and every time after."""

from harness import Result, rate

from fencewright.lowering.lower import forget_sequences, lower
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

_MIX = [
    (op, ordering, scope, space)
    for op, ordering in (
        ("load", Ordering.ACQUIRE),
        ("store", Ordering.RELEASE),
        ("atomic_rmw", Ordering.ACQ_REL),
        ("load", Ordering.RELAXED),
    )
    for scope in Scope
    for space in (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC)
]


def _warm(target: str, rounds: int) -> int:
    for _ in range(rounds):
        for op, ordering, scope, space in _MIX:
            lower(op=op, ordering=ordering, scope=scope, space=space, target=target)
    return rounds * len(_MIX)


def _cold(target: str) -> int:
    forget_sequences()
    return _warm(target, 1)


def results() -> list[Result]:
    """The rates for each target."""
    rows = [
        (
            target,
            f"{rate(lambda target=target: _warm(target, 3000)) / 1e6:.2f} M/s",
            f"{rate(lambda target=target: _cold(target)) / 1e3:.0f} k/s",
        )
        for target in ("gfx908", "gfx90a", "gfx942", "gfx950")
    ]
    return [
        Result(
            "Sequences through `lower`",
            ("target", "asked for before", "first time"),
            tuple(rows),
            "One core. LLVM's memory legaliser and wait insertion passes alone take 0.3 to 0.5 "
            "million operations a second (`llc -time-passes`, 100,000 operations).",
        )
    ]
