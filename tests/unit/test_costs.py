"""Costs: every instruction that is emitted has a price, each says who says so, and they compare."""

from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from campaigns import some_of

from fencewright.lowering.cdna.performance import costs as cdna_costs
from fencewright.lowering.cdna.performance.costs import Work, read_line, work_of
from fencewright.lowering.costs import (
    Cost,
    Unit,
    cost_of,
    cost_of_sequence,
    time_after_stores,
    total,
)
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.lower import lower
from fencewright.lowering.ptx import async_rows
from fencewright.lowering.ptx.performance import costs as ptx_costs
from fencewright.lowering.sequence import Line, UnsupportedError
from fencewright.lowering.skeleton import SKELETON
from fencewright.lowering.table import TableError
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import AddressSpace, Operation, Scope

ROOT = Path(__file__).parents[2]
TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "sm_70", "sm_80", "sm_90a", "sm_100a")
FEATURES: dict[str, tuple[tuple[str, ...], ...]] = {
    "cdna": ((), ("tgsplit",)),
    "ptx": ((), ("no-acquire-fence-after",), ("converged",)),
}


@cache
def instructions(target: str) -> frozenset[str]:
    """All that operations lower to, but for the kinds of read-modify-writes and most widths."""
    found: set[str] = set()
    features = FEATURES[backend_of(target).architecture]
    for (op, ordering), scope, having in product(SKELETON, Scope, features):
        failure = "relaxed" if op is Operation.CMPXCHG else None
        spaces: tuple[AddressSpace | None, ...] = tuple(AddressSpace) if op.is_access else (None,)
        widths = (8, 32) if op.is_access else (32,)
        volatiles = (False, True) if op.is_access else (False,)
        results = (False, True) if op in (Operation.ATOMIC_RMW, Operation.CMPXCHG) else (True,)
        for space, volatile, returns, width in product(spaces, volatiles, results, widths):
            with suppress(UnsupportedError):
                sequence = lower(
                    op=op, ordering=ordering, scope=scope, space=space, target=target,
                    volatile=volatile, returns=returns, width=width, failure_ordering=failure,
                    features=having,
                )  # fmt: skip
                found |= {each.text for each in sequence.instructions}
    return frozenset(found)


@pytest.mark.parametrize("target", some_of(TARGETS, 3))
def test_every_instruction_has_a_cost_and_its_source(target: str) -> None:
    assert len(instructions(target)) > 10
    for text in instructions(target):
        cost = cost_of(target, text)
        assert cost.amount >= 0
        assert cost.source


def test_every_asynchronous_instruction_has_a_cost() -> None:
    lines = {line for rows in async_rows.ROWS.values() for row in rows for line in row.lines}
    assert len(lines) > 100
    for line in lines:
        assert cost_of("sm_100a", line).source


@pytest.mark.parametrize("target", some_of(TARGETS, 3))
def test_an_estimate_says_so(target: str) -> None:
    for text in instructions(target):
        cost = cost_of(target, text)
        estimated = cost.source.startswith("estimated")
        assert estimated == (cost.unit is Unit.RELATIVE)
        assert ("(estimated)" in str(cost)) == estimated


def test_cycles_are_of_the_chip_that_was_measured() -> None:
    measured = cost_of("sm_90a", "fence.acq_rel.gpu")
    assert (measured.amount, measured.unit) == (272, Unit.CYCLES)
    assert cost_of("sm_90", "fence.acq_rel.gpu") == measured
    elsewhere = cost_of("sm_80", "fence.acq_rel.gpu")
    assert (elsewhere.amount, elsewhere.unit) == (272, Unit.RELATIVE)


@pytest.mark.parametrize("kind", ["acq_rel", "acquire", "release", "sc"])
def test_a_wider_fence_costs_no_less(kind: str) -> None:
    amounts = [cost_of("sm_90a", f"fence.{kind}.{s}").amount for s in ("cta", "cluster", "gpu")]
    assert amounts == sorted(amounts)
    assert amounts[-1] <= cost_of("sm_90a", f"fence.{kind}.sys").amount


@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
def test_a_one_sided_fence_costs_no_more(scope: str) -> None:
    both = cost_of("sm_90a", f"fence.acq_rel.{scope}").amount
    for kind in ("acquire", "release"):
        assert cost_of("sm_90a", f"fence.{kind}.{scope}").amount <= both


@pytest.mark.parametrize("access", ["ld", "st", "atom", "red"])
@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
def test_an_ordered_access_costs_no_less_than_a_relaxed_one(access: str, scope: str) -> None:
    relaxed = cost_of("sm_90a", f"{access}.relaxed.{scope}.global.b32 x").amount
    for ordering in {"ld": ("acquire",), "st": ("release",), "red": ("release",)}.get(
        access, ("acquire", "release", "acq_rel")
    ):
        assert cost_of("sm_90a", f"{access}.{ordering}.{scope}.global.b32 x").amount >= relaxed


def test_cdna_classes_are_in_order() -> None:
    def amount(text: str) -> int:
        return cost_of("gfx942", text).amount

    assert (
        amount("global_store_dword {addr}, {data}, off")
        < amount("global_store_dword {addr}, {data}, off sc1")
        < amount("global_store_dword {addr}, {data}, off sc0 sc1")
        < amount("s_waitcnt vmcnt(0)")
        < amount("buffer_inv sc0")
        < amount("buffer_inv sc1")
        < amount("buffer_wbl2 sc1")
        < amount("buffer_wbl2 sc0 sc1")
    )
    assert amount("s_waitcnt lgkmcnt(0)") < amount("s_waitcnt vmcnt(3)")
    assert amount("s_waitcnt vmcnt(3)") < amount("s_waitcnt vmcnt(0) lgkmcnt(0)")
    assert amount("v_add_u32_e32 {dst}, {a}, {b}") == 0


@pytest.mark.parametrize(
    ("wait", "work"),
    [
        ("s_wait_loadcnt 0x0", Work.WAIT_ALL),
        ("s_wait_loadcnt 0x3", Work.WAIT_SOME),
        ("s_wait_storecnt_dscnt 0x0", Work.WAIT_ALL),
        ("s_wait_loadcnt_dscnt 0x100", Work.WAIT_SOME),
        ("s_wait_tensorcnt 0x0", Work.WAIT_ALL),
        ("s_wait_dscnt 0x0", Work.WAIT_LDS),
        ("s_wait_kmcnt 0x0", Work.WAIT_LDS),
        ("s_wait_xcnt 0x0", Work.WAIT_LDS),
    ],
)
def test_a_wait_costs_what_it_waits_for(wait: str, work: Work) -> None:
    assert work_of("gfx1250", read_line(wait)) is work


def test_old_chips_have_no_scope_bits_to_pay_for() -> None:
    plain, scoped = (
        cost_of("gfx90a", f"global_store_dword x, y, off{bits}") for bits in ("", " glc")
    )
    assert plain == scoped
    assert cdna_costs.work_of("gfx90a", Line("buffer_invl2")) is cdna_costs.Work.INVALIDATE_L2
    assert cdna_costs.work_of("gfx908", Line("buffer_wbinvl1_vol")) is cdna_costs.Work.INVALIDATE_L1


def test_what_waits_for_one_another_has_a_price_together() -> None:
    pair = ("ld.relaxed.gpu.global.b32 {dst}, [{addr}]", "fence.acquire.gpu")
    together = cost_of_sequence("sm_90a", pair)
    assert (together.amount, together.unit) == (287, Unit.CYCLES)
    assert together.amount > total(cost_of("sm_90a", each) for each in pair).amount
    twice = cost_of_sequence("sm_90a", (*pair, "bar.warp.sync 0xffffffff", *pair))
    assert twice.amount == 2 * 287 + cost_of("sm_90a", "bar.warp.sync 0xffffffff").amount
    assert twice.unit is Unit.RELATIVE


def test_the_longest_row_of_several_wins() -> None:
    parts = ("fence.acq_rel.gpu", "atom.relaxed.gpu.add.u32 x", "fence.acq_rel.gpu")
    assert cost_of_sequence("sm_90a", parts).amount == 1413
    assert cost_of("sm_90a", "ld.relaxed.cta.shared.b32").amount == 15
    assert cost_of("sm_90a", "ld.relaxed.cta.global.b32").amount == 24


def test_free_instructions_do_not_make_an_estimate_of_a_sum() -> None:
    cycles = Cost(16, Unit.CYCLES, "measured")
    assert total([cycles, Cost(0, Unit.RELATIVE, "estimated")]) == cycles
    assert total([]) == Cost(0, Unit.CYCLES, "")


@pytest.mark.parametrize(
    ("target", "text"),
    [("sm_90a", "frobnicate.gpu"), ("gfx942", "buffer_wbinvl1_vol"), ("gfx942", "nonsense x")],
)
def test_what_has_no_row_has_no_cost(target: str, text: str) -> None:
    with pytest.raises(UnsupportedError, match=r"^cost of"):
        cost_of(target, text)


def test_an_unknown_target_has_no_costs() -> None:
    with pytest.raises(UnsupportedError, match="target gfx1"):
        cost_of("gfx1", "s_barrier")


def test_two_rows_for_one_instruction_are_refused() -> None:
    row = ptx_costs.SINGLE[0]
    with pytest.raises(TableError, match="two rows"):
        ptx_costs.index((row, row))


def test_no_lowering_looks_at_a_cost() -> None:
    """What an operation lowers to is what is enough for it, whatever it costs.

    A sequence has its cost, of what it already is.
    """
    files = [
        path
        for path in (ROOT / "lowering").rglob("*.py")
        if path.name not in ("costs.py", "sequence.py")
        and "lowering.costs" in path.read_text(encoding="utf-8")
    ]
    assert files == []


def test_prices_together_are_what_they_were_when_each_was_written_down() -> None:
    """They follow from the rows of single instructions, and from two measured pairs."""
    orders = {("acq_rel", "relaxed"): 16, ("release", "relaxed"): 0, ("acq_rel", "acquire"): 16}
    ordered = {
        ("st", "relaxed"): (579, 579, 1336),
        ("atom", "relaxed"): (766, 766, 1523),
        ("red", "relaxed"): (573, 573, 1330),
        ("atom", "acquire"): (1096, 1096, 1853),
    }
    scopes = ("cluster", "gpu", "sys")
    expected: dict[tuple[str, ...], int] = {
        (f"fence.{fence}.{scope}", f"{access}.{ordering}.{scope}"): amounts[at] + more
        for (fence, of), more in orders.items()
        for (access, ordering), amounts in ordered.items()
        for at, scope in enumerate(scopes)
        if of == ordering
    }
    expected |= {(f"atom.relaxed.{s}", f"fence.acquire.{s}"): 543 for s in scopes}
    expected |= {(f"ld.relaxed.{s}", f"fence.acquire.{s}"): 287 for s in scopes}
    for scope in ("cluster", "gpu"):
        fenced = f"fence.acq_rel.{scope}"
        expected[f"ld.relaxed.{scope}", fenced] = 572
        expected[f"atom.relaxed.{scope}", fenced] = 811
        expected[f"atom.release.{scope}", fenced] = 1364
    expected["fence.acq_rel.gpu", "st.relaxed.gpu"] = 587
    expected["fence.sc.gpu", "ld.acquire.gpu"] = 885
    expected["fence.acq_rel.gpu", "atom.relaxed.gpu", "fence.acq_rel.gpu"] = 1413
    assert {row.instructions: row.amount for row in ptx_costs.TOGETHER} == expected


@pytest.mark.parametrize(
    ("target", "instruction", "stores", "sectors", "time", "evidence"),
    [
        ("sm_90", "fence.acq_rel.cta", 4, 128, "86", Evidence.MEASURED),
        ("sm_90", "fence.acq_rel.gpu", 0, 0, "312", Evidence.MEASURED),
        ("sm_90", "fence.acq_rel.gpu", 8, 32, "623.32", Evidence.MEASURED),
        ("sm_90", "fence.acq_rel.gpu", 8, 256, "1021", Evidence.MEASURED),
        ("sm_90", "fence.acq_rel.gpu", 8, 100, "623.32 to 1021", Evidence.MEASURED),
        ("sm_90", "fence.acq_rel.gpu", 90, 2880, "2061", Evidence.MEASURED),
        ("sm_90", "fence.sc.sys", 1, 32, "1083", Evidence.INFERRED),
        ("sm_100", "fence.acq_rel.sys", 1, 32, "1083", Evidence.INFERRED),
        ("gfx942", "buffer_wbl2 sc1", 8, 256, "115 to 240", Evidence.MEASURED),
        ("gfx950", "buffer_wbl2 sc0 sc1", 0, 0, "196 to 365", Evidence.MEASURED),
    ],
)
def test_what_is_outstanding_has_its_price(
    target: str, instruction: str, stores: int, sectors: int, time: str, evidence: Evidence
) -> None:
    found = time_after_stores(target, instruction, stores, sectors)
    assert found is not None
    assert (str(found), found.evidence) == (time, evidence)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [("gfx90a", "buffer_wbl2"), ("gfx942", "buffer_inv sc1"), ("sm_90", "ld.weak.global.b32")],
)
def test_what_nobody_has_measured_has_no_time(target: str, instruction: str) -> None:
    assert time_after_stores(target, instruction, 1, 4) is None
