"""When a fence that acquires and releases has to acquire first: where caches of others are dirty.

A relay learns of a value by a relaxed read, fences, and releases it to one who invalidates less,
or whom its own write-back has to serve. The order is then broken on purpose.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from minimise_programs import (
    Target,
    Threads,
    Where,
    execute,
    fence,
    forbidden,
    load,
    program,
    source,
    store,
    when,
)
from minimise_programs import lower as lowered

from fencewright import lower
from fencewright.lowering.cdna.generations import common
from fencewright.lowering.lower import forget_sequences
from fencewright.lowering.skeleton import SKELETON
from fencewright.lowering.table import row
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import L2PerAgent, Operation, Ordering


def relay(
    places: tuple[Where, Where, Where], scopes: tuple[str, str, str], flag: str = "f"
) -> Threads:
    """Of the scopes the first is the one that the relay acquires at, the last the one it releases at."""
    learns, fences, tells = scopes
    return (
        (places[0], [store("x", 1), store(flag, 1, "release", learns)]),
        (
            places[1],
            [
                load("r0", flag, "relaxed", learns),
                fence("acq_rel", fences),
                when("r0", 1),
                store("g", 1, "relaxed", tells),
            ],
        ),
        (places[2], [load("r0", "g", "acquire", tells), when("r0", 1), load("r1", "x")]),
    )


ONE_L2 = Target("gfx942", l2_per_agent=L2PerAgent.ONE)
TGSPLIT = Target("gfx942", tgsplit=True)
MATES = Where(0, cu=0), Where(0, cu=1)
AGENT_MATES = Where(0, cu=0), Where(1, cu=1)

NEEDED: dict[str, tuple[Target, Threads]] = {
    "system, dirty in the one L2": (
        ONE_L2,
        relay((*AGENT_MATES, Where(2, agent=1)), ("agent", "system", "system")),
    ),
    "system, dirty in the one L2, which is known": (
        replace(ONE_L2, knows_l2=True),
        relay((*AGENT_MATES, Where(2, agent=1)), ("agent", "system", "system")),
    ),
    "system, dirty in the L2 of gfx90a": (
        Target("gfx90a"),
        relay((*AGENT_MATES, Where(2, agent=1)), ("agent", "system", "system")),
    ),
    "agent, learnt in LDS": (
        Target("gfx942"),
        relay((Where(0), Where(0), Where(1, xcd=1)), ("workgroup", "agent", "agent"), "t"),
    ),
    "tgsplit, dirty": (
        TGSPLIT,
        relay((*MATES, Where(1, xcd=1)), ("workgroup", "agent", "agent")),
    ),
    "tgsplit, stale for a mate": (
        TGSPLIT,
        relay((Where(1, xcd=1), *MATES), ("agent", "agent", "workgroup")),
    ),
}
ENOUGH: dict[str, tuple[Target, Threads]] = {
    "dirty": (
        Target("gfx942"),
        relay((Where(0), Where(0), Where(1, xcd=1)), ("workgroup", "agent", "agent")),
    ),
    "stale for a mate": (
        Target("gfx942"),
        relay((Where(1, xcd=1), Where(0), Where(0)), ("agent", "agent", "workgroup")),
    ),
}


def violations(target: Target, threads: Threads) -> frozenset[tuple[int | None, ...]]:
    text = program(threads)
    meant = source(text)
    assert not meant.races
    return forbidden(meant, execute(lowered(text, target, (), ()), target))


@pytest.fixture
def release_first(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """LLVM's order at every scope and in every mode."""
    steps = SKELETON[Operation.FENCE, Ordering.ACQ_REL]
    rows = {"FENCE_ROWS": (row(steps, "broken on purpose"),)}
    monkeypatch.setattr(common, "OWN", {**common.OWN, **rows})
    forget_chips()
    yield
    monkeypatch.undo()
    forget_chips()


def forget_chips() -> None:
    """Have the tables of chips made anew, and all sequences."""
    common.load_chip.cache_clear()
    backend_of.cache_clear()
    forget_sequences()


@pytest.mark.parametrize("name", [*NEEDED, *ENOUGH])
def test_no_outcome_is_added(name: str) -> None:
    assert not violations(*(NEEDED | ENOUGH)[name])


@pytest.mark.usefixtures("release_first")
@pytest.mark.parametrize("name", NEEDED)
def test_releasing_first_is_caught(name: str) -> None:
    assert violations(*NEEDED[name])


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("agent", ["s_waitcnt lgkmcnt(0)", "buffer_wbl2 sc1", "s_waitcnt vmcnt(0)",
                   "buffer_inv sc1"]),
        ("system", ["s_waitcnt vmcnt(0) lgkmcnt(0)", "buffer_inv sc0 sc1", "buffer_wbl2 sc0 sc1",
                    "s_waitcnt vmcnt(0)"]),
        ("workgroup", ["s_waitcnt vmcnt(0) lgkmcnt(0)"]),
    ],
)  # fmt: skip
def test_only_what_is_needed_goes_first(scope: str, expected: list[str]) -> None:
    sequence = lower(op="fence", ordering="acq_rel", scope=scope, target="gfx942")
    assert [each.text for each in sequence.instructions] == expected
