"""The control tables: what an access does at each cache, against the other rows of the same chips."""

from collections.abc import Hashable

import pytest

from fencewright.lowering.cache_policy import CachePolicy, Lookup
from fencewright.lowering.cdna.caches import Caches, Visibility, access_effect
from fencewright.lowering.cdna.chips import CHIPS, Generation
from fencewright.lowering.cdna.performance.accesses import CONTROL, CacheControl
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.cdna.rows import ACCESS
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.performance.policies import cdna_control, cdna_policy, ptx_policy

LOAD, STORE, ATOMIC = MemoryAccessKind.LOAD, MemoryAccessKind.STORE, MemoryAccessKind.ATOMIC
KINDS = {LOAD: Kind.LOAD, STORE: Kind.STORE, ATOMIC: Kind.RMW}
ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY

# scope, sc1 sc0 nt, CU cache, L2 (of one, of many), last level: CDNA4 ISA, in its order
LOADS = """
wave   000 | hit LRU    | hit LRU    | hit LRU | hit LRU
wave   001 | miss evict | hit stream | hit stream | hit evict
group  010 | hit LRU    | hit LRU    | hit LRU | hit evict
group  011 | miss evict | hit stream | hit stream | hit evict
agent  100 | miss evict | hit LRU    | coherent cache bypass | hit LRU
agent  101 | miss evict | hit stream | coherent cache bypass | hit evict
system 110 | miss evict | coherent cache bypass | coherent cache bypass | hit LRU
system 111 | miss evict | coherent cache bypass | coherent cache bypass | hit evict
"""
STORES = """
wave   000 | miss LRU   | hit LRU    | hit LRU | hit LRU
wave   001 | miss evict | hit stream | hit stream | hit evict
group  010 | miss LRU   | hit LRU    | hit LRU | hit LRU
group  011 | miss evict | hit stream | hit stream | hit evict
agent  100 | miss evict | hit LRU    | coherent cache bypass | hit LRU
agent  101 | miss evict | hit stream | coherent cache bypass | hit evict
system 110 | miss evict | coherent cache bypass | coherent cache bypass | hit LRU
system 111 | miss evict | coherent cache bypass | coherent cache bypass | hit evict
"""
PUBLISHED = [
    (kind, *(cell.strip() for cell in line.split("|")))
    for kind, table in ((LOAD, LOADS), (STORE, STORES))
    for line in table.strip().splitlines()
]


def bits_of(digits: str) -> list[str]:
    return [name for name, digit in zip(("sc1", "sc0", "nt"), digits, strict=True) if digit == "1"]


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_published_control_tables(
    chip: str, row: tuple[MemoryAccessKind, str, str, str, str, str]
) -> None:
    kind, where, l1, l2_one, l2_many, last = row
    scope, digits = where.split()
    for l2, said in ((ONE, l2_one), (MANY, l2_many)):
        found = cdna_control(chip, kind, bits_of(digits), l2)
        assert found.policy == CachePolicy(Lookup(l1), Lookup(said), Lookup(last))
        assert (found.scope, found.evidence) == (scope, Evidence.DOCUMENTED)


def test_group_loads_pass_l1_where_a_group_may_be_on_several_cus() -> None:
    assert cdna_policy("gfx942", LOAD, ["sc0"], tgsplit=True).l1 is Lookup.MISS_LRU
    assert cdna_policy("gfx942", LOAD, ["sc0"], tgsplit=False).l1 is Lookup.HIT_LRU


# Against the rows of the simulator's machine and of the passes


def legal_controls() -> list[tuple[tuple[Hashable, ...], CacheControl]]:
    return [
        (key, found.value) for key, found in CONTROL.items() if not isinstance(found.value, Illegal)
    ]


def test_the_machine_hits_and_bypasses_alike() -> None:
    compared = 0
    for (generation, access, bits, reuse, l2, tgsplit), control in legal_controls():
        effect = ACCESS[generation, access, bits, tgsplit, l2].value
        assert not isinstance(effect, Illegal)
        policy = control.policy
        uses_l1 = policy.l1 is Lookup.MISS_LRU if access is Kind.STORE else policy.l1.hits
        # The machine takes a hint for nothing: it may lose a line, not serve one more.
        assert uses_l1 == effect.l1 if reuse else uses_l1 <= effect.l1
        assert (policy.l2 is Lookup.BYPASS) == effect.past_l2
        compared += 1
    assert compared == 2 * 2 * 2 * (3 * 4) + 2 * 2 * 2 * (3 * 2)


def test_both_refuse_the_same_bits() -> None:
    for (generation, access, bits, _, l2, tgsplit), found in CONTROL.items():
        if generation is Generation.GFX1250:
            # Its documents say what the machine needs, and not what its caches keep.
            assert isinstance(found.value, Illegal)
            continue
        machine = ACCESS[generation, access, bits, tgsplit, l2].value
        assert isinstance(found.value, Illegal) == isinstance(machine, Illegal)


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("kind", [LOAD, STORE, ATOMIC])
def test_the_passes_count_on_the_same(chip: str, kind: MemoryAccessKind) -> None:
    """What may be stale, and how far a store gets, of every mode that the chip has."""
    row = CHIPS[chip]
    l2s = (ONE, MANY) if row.l2_per_agent is MANY else (ONE,)
    scopes = ("", "sc0", "sc1", "sc0 sc1") if row.scope_bits else ("", "glc")
    for scope in scopes:
        effect = access_effect(chip, KINDS[kind], scope.split())
        bypasses = {
            l2: cdna_policy(chip, kind, scope.split(), l2).l2 is Lookup.BYPASS for l2 in l2s
        }
        if kind is not STORE:
            hits = any(cdna_policy(chip, kind, scope.split(), l2).l1.hits for l2 in l2s)
            assert hits == bool(effect.reads & Caches.L1)
            assert (MANY in bypasses and not bypasses[MANY]) == bool(effect.reads & Caches.AGENT)
            assert (not bypasses[ONE]) == bool(effect.reads & Caches.SYSTEM)
        if kind is not LOAD:
            near = MANY in bypasses and not bypasses[MANY]
            far = Visibility.SYSTEM if bypasses[ONE] else Visibility.AGENT
            assert effect.stores == (Visibility.WORKGROUP if near else far)


@pytest.mark.parametrize(
    ("chip", "bits", "said"),
    [
        ("gfx942", ["glc"], "no such bits|no glc bit"),
        ("gfx942", ["slc"], "no such bits"),
        ("gfx90a", ["sc1"], "no sc0 and sc1 bits"),
        ("gfx90a", ["nt"], "no such bits"),
        ("gfx1100", [], "unknown chip"),
        ("gfx1250", [], "the control table of the chip is not public"),
    ],
)
def test_bits_that_a_chip_does_not_have(chip: str, bits: list[str], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        cdna_policy(chip, LOAD, bits)


def test_one_l2_is_all_that_older_chips_have() -> None:
    with pytest.raises(UnsupportedError, match="one L2 per agent"):
        cdna_policy("gfx90a", LOAD, [], MANY)


def test_other_modifiers_are_of_no_account() -> None:
    assert cdna_policy("gfx942", LOAD, ["off", "offset:16", "nt"]) == cdna_policy(
        "gfx942", LOAD, ["nt"]
    )


# NVIDIA


@pytest.mark.parametrize(
    ("words", "l1"),
    [
        ("ld.global.b32", Lookup.HIT_LRU),
        ("ld.weak.global.b32", Lookup.HIT_LRU),
        ("ld.global.ca.b32", Lookup.HIT_LRU),
        ("ld.global.nc.v4.b32", Lookup.HIT_LRU),
        ("ld.relaxed.cta.global.b32", Lookup.HIT_LRU),
        ("ld.global.cs.b32", Lookup.HIT_STREAM),
        ("ld.global.nc.L1::no_allocate.b32", Lookup.HIT_KEEP),
        ("ld.global.lu.b32", Lookup.HIT_KEEP),
        ("ld.global.cg.b32", Lookup.MISS_EVICT),
        ("ld.global.cv.b32", Lookup.MISS_EVICT),
        ("ld.volatile.global.b32", Lookup.MISS_EVICT),
        ("ld.relaxed.gpu.global.b32", Lookup.MISS_EVICT),
        ("ld.relaxed.gpu.global.L1::no_allocate.b32", Lookup.MISS_EVICT),
        ("ld.acquire.gpu.global.b32", Lookup.MISS_EVICT),
        ("ld.acquire.sys.global.b32", Lookup.MISS_EVICT),
        ("ld.relaxed.cluster.global.b32", Lookup.MISS_EVICT),
    ],
)
def test_loads_that_an_sm_serves_from_its_l1(words: str, l1: Lookup) -> None:
    assert ptx_policy(LOAD, words.split(".")).l1 is l1


def test_stores_are_written_through_and_atomics_run_in_l2() -> None:
    for words in ("st.global.b32", "st.release.gpu.global.b32", "st.global.cg.b32"):
        policy = ptx_policy(STORE, words.split("."))
        assert (policy.l1.hits, policy.l2.hits) == (False, True)
    for kind in (ATOMIC, MemoryAccessKind.REDUCTION):
        policy = ptx_policy(kind, ["red", "relaxed", "gpu", "global", "add", "u32"])
        assert policy == CachePolicy(Lookup.MISS_EVICT, Lookup.HIT_LRU, Lookup.HIT_LRU)


@pytest.mark.parametrize(
    ("words", "l1"),
    [
        ("st.global.b32", Lookup.MISS_LRU),
        ("st.release.gpu.global.b32", Lookup.MISS_LRU),
        ("st.global.cg.b32", Lookup.MISS_LRU),
        ("st.global.L1::no_allocate.b32", Lookup.MISS_KEEP),
    ],
)
def test_stores_that_fill_l1(words: str, l1: Lookup) -> None:
    assert ptx_policy(STORE, words.split(".")).l1 is l1


def test_no_row_of_cdna_keeps_a_line_as_it_is() -> None:
    used = {
        lookup
        for _, control in legal_controls()
        for lookup in (control.policy.l1, control.policy.l2, control.policy.last_level)
    }
    assert not used & {Lookup.HIT_KEEP, Lookup.MISS_KEEP}


def test_streaming_marks_the_line_in_l2() -> None:
    assert ptx_policy(LOAD, ["ld", "global", "cs", "b32"]).l2 is Lookup.HIT_STREAM
    assert ptx_policy(STORE, ["st", "global", "cs", "b32"]).l2 is Lookup.HIT_STREAM


def test_a_refusal_calls_the_access_as_users_do() -> None:
    with pytest.raises(UnsupportedError, match=r"^atomic with 'sc0' on gfx908"):
        cdna_policy("gfx908", ATOMIC, ["sc0"], ONE)
