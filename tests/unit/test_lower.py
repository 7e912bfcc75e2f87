"""The public lowering of one operation: what it answers, what it refuses, how fast it is."""

import time
from dataclasses import make_dataclass
from typing import Any

import pytest

from fencewright.lowering.costs import cost_of_sequence
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import Target, UnsupportedError, WaitCounts
from fencewright.lowering.skeleton import ILLEGAL, SKELETON
from fencewright.lowering.targets import options_of, parse_target, target_of
from fencewright.lowering.vocabulary import (
    SCOPE_WORDS,
    AddressSpace,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    Scope,
)

AGENT_RELEASE: dict[str, Any] = dict(
    op="store", ordering="release", scope="agent", space="global", target="gfx942"
)


def _text(**asked: Any) -> list[str]:
    return [each.text for each in lower(**asked).instructions]


def test_release_store():
    assert _text(**AGENT_RELEASE) == [
        "buffer_wbl2 sc1",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "global_store_dword {addr}, {data}, off sc1",
    ]


def test_one_l2_needs_no_write_back():
    assert _text(**AGENT_RELEASE, l2_per_agent="one") == [
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "global_store_dword {addr}, {data}, off sc1",
    ]


def test_acquire_load_on_gfx90a():
    assert _text(
        op="load", ordering="acquire", scope="system", space="global", target="gfx90a"
    ) == [
        "global_load_dword {dst}, {addr}, off glc",
        "s_waitcnt vmcnt(0)",
        "buffer_invl2",
        "buffer_wbinvl1_vol",
    ]


def test_phases_and_sources():
    sequence = lower(
        op="atomic_rmw", ordering="acq_rel", scope="agent", space="global", target="gfx942"
    )
    assert [each.phase for each in sequence.instructions] == [
        Phase.RELEASE,
        Phase.RELEASE,
        Phase.ACCESS,
        Phase.WAIT,
        Phase.ACQUIRE,
    ]
    assert all(each.source for each in sequence.instructions)
    assert sequence.instructions[1].wait == WaitCounts(vmcnt=0, lgkmcnt=0)


def test_workgroup_release_is_transitive_unless_llvms():
    asked: dict[str, Any] = AGENT_RELEASE | {"scope": "workgroup"}
    assert _text(**asked)[0] == "s_waitcnt vmcnt(0) lgkmcnt(0)"
    assert _text(**asked, compat="llvm")[0] == "s_waitcnt lgkmcnt(0)"


def test_availability_none_orders_only():
    asked: dict[str, Any] = dict(op="fence", ordering="acq_rel", scope="agent", target="gfx942")
    assert _text(**asked, availability="none") == ["s_waitcnt vmcnt(0) lgkmcnt(0)"]


def test_fence_limited_to_local_touches_no_cache():
    asked: dict[str, Any] = dict(op="fence", ordering="acq_rel", scope="agent", target="gfx942")
    assert _text(**asked, spaces=["local"]) == ["s_waitcnt lgkmcnt(0)"]


@pytest.mark.parametrize("target", ["gfx908", "gfx942"])
def test_barrier(target: str):
    asked: dict[str, Any] = dict(op="barrier", scope="workgroup", target=target)
    assert _text(**asked, ordering="acq_rel") == ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier"]


def test_relaxed_barrier_still_waits_where_the_hardware_must():
    asked: dict[str, Any] = dict(op="barrier", scope="workgroup", target="gfx908")
    assert _text(**asked, ordering="relaxed") == ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier"]


def test_relaxed_barrier_orders_nothing():
    asked: dict[str, Any] = dict(
        op="barrier", scope="workgroup", target="gfx942", ordering="relaxed"
    )
    assert _text(**asked) == ["s_barrier"]


def test_private_read_modify_write_is_plain():
    asked: dict[str, Any] = dict(
        op="atomic_rmw", ordering="seq_cst", scope="system", space="private", target="gfx942"
    )
    assert _text(**asked) == [
        "scratch_load_dword {dst}, {addr}, off",
        "s_waitcnt vmcnt(0)",
        "scratch_store_dword {addr}, {new}, off",
    ]


def test_every_operation_and_ordering_is_lowered_or_refused_with_its_reason():
    for op in Operation:
        for ordering in Ordering:
            asked: dict[str, Any] = dict(
                op=op, ordering=ordering, scope="workgroup", target="gfx942"
            )
            if op.is_access:
                asked["space"] = "global"
            if op is Operation.CMPXCHG:
                asked["failure_ordering"] = "relaxed"
            if (op, ordering) in SKELETON:
                assert lower(**asked).instructions
                continue
            with pytest.raises(UnsupportedError, match=ILLEGAL[op, ordering].reason):
                lower(**asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"target": "gfx1100"},
            "fence-check and fence-sim know the chip, but nothing is lowered for it; accepted: gfx908",
        ),
        ({"target": "vax"}, "unknown target"),
        ({"ordering": "aquire"}, "unknown ordering; accepted: weak, relaxed, acquire"),
        (
            {"scope": "galaxy"},
            "unknown scope; accepted: singlethread, wavefront, workgroup, cluster, agent, system, thread",
        ),
        ({"space": None}, "it needs an address space, as space='global'"),
        ({"space": "shared_cluster"}, "gfx942 has no shared_cluster memory"),
        ({"space": "constant"}, "constant memory is not written"),
        ({"width": 24}, "no such instruction; accepted: i8, i16, i32, i64, i96, i128"),
        ({"features": ("xnack",)}, "gfx942 has no feature xnack; accepted: tgsplit"),
        ({"failure_ordering": "relaxed"}, "a store has no failure ordering"),
        ({"ptx_version": "8.6"}, "gfx942 has no PTX version"),
        ({"l2_per_agent": "three"}, "unknown number of L2s; accepted: one, many"),
        ({"features": ("tgsplit",), "space": "local"}, "has no LDS; accepted: global, generic"),
    ],
)
def test_refuses(change: dict[str, Any], message: str):
    with pytest.raises(UnsupportedError, match=message):
        lower(**AGENT_RELEASE | change)


@pytest.mark.parametrize("failure", ["release", "acq_rel", "weak", None])
def test_refuses_a_failure_ordering_that_releases(failure: str | None):
    with pytest.raises(UnsupportedError, match=r"failure ordering"):
        lower(
            op="cmpxchg",
            ordering="acquire",
            failure_ordering=failure,
            scope="agent",
            space="global",
            target="gfx942",
        )


def test_missing_read_modify_write_names_what_there_is():
    with pytest.raises(UnsupportedError, match="accepted: i32, i64"):
        lower(
            op="atomic_rmw",
            ordering="relaxed",
            scope="agent",
            space="global",
            width=8,
            target="gfx942",
        )


def test_words_and_strings_are_one():
    asked: dict[str, Any] = dict(
        op=Operation.STORE,
        ordering=Ordering.RELEASE,
        scope=Scope.AGENT,
        space=AddressSpace.GLOBAL,
        target="gfx942",
    )
    assert lower(**asked) is lower(**AGENT_RELEASE)


def test_is_fast_enough_to_call_for_every_operation():
    # The budget is a million a second; a quarter leaves room for a loaded test machine.
    count = 100_000
    start = time.process_time()
    for _ in range(count):
        lower(op="store", ordering="release", scope="agent", space="global", target="gfx942")
    assert count / (time.process_time() - start) > 250_000


@pytest.mark.parametrize(
    "target",
    [
        Target("gfx908"),
        Target("gfx942", frozenset({"tgsplit"}), L2PerAgent.ONE, compat=Compat.LLVM),
        Target("sm_90", ptx_version=(8, 6)),
    ],
    ids=str,
)
def test_the_options_of_a_pass_name_its_target(target: Target) -> None:
    made = make_dataclass("Options", options_of(target))(**options_of(target))
    assert target_of(made) == target


def test_a_target_is_parsed_from_words() -> None:
    parsed = parse_target("gfx942", ["tgsplit"], "one", "llvm")
    assert parsed == Target("gfx942", frozenset({"tgsplit"}), L2PerAgent.ONE, compat=Compat.LLVM)
    assert str(parsed) == "gfx942-tgsplit-one-l2"
    assert parse_target("sm_90", ptx_version="8.6").ptx_version == (8, 6)


@pytest.mark.parametrize(("word", "scope"), SCOPE_WORDS.items())
def test_others_words_for_scopes_are_known(word: str, scope: Scope) -> None:
    asked: dict[str, Any] = dict(op="fence", ordering="acq_rel")
    for target in ("gfx942", "sm_90"):
        assert lower(**asked, scope=word, target=target) == lower(
            **asked, scope=scope, target=target
        )


def test_a_word_for_no_scope_is_named() -> None:
    with pytest.raises(UnsupportedError, match="scope 'grid': unknown scope; accepted: single"):
        lower(op="fence", ordering="acq_rel", scope="grid", target="gfx942")


@pytest.mark.parametrize("target", ["gfx942", "sm_90"])
def test_a_sequence_has_its_cost(target: str) -> None:
    sequence = lower(op="fence", ordering="release", scope="system", target=target)
    assert sequence.cost == cost_of_sequence(target, sequence.instructions)
    narrower = lower(op="fence", ordering="release", scope="workgroup", target=target)
    assert narrower.cost.amount < sequence.cost.amount
