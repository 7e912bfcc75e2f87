"""What instructions of gfx1200 and gfx1201 define and use, compared with what LLVM's own tables say."""

import pytest
from llvm_operands import differing, is_opaque, kind_and_counters, opaque, reason, recorded

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.gfx12 import FAMILIES_GFX12
from fencewright.lowering.cdna.code.operands.operands import family_of
from fencewright.lowering.code.effects import Kind

RECORDED = "llvm22_gfx1200.tsv"
GFX12 = Generation.GFX1200

DIFFERENCES = (
    ("v_(cmp_\\w+.* vcc_lo|(add|sub|subrev)_co_ci_u32|cndmask_b32_(e32|dpp)|dual_.*cndmask)",
        "LLVM's forms have all of vcc; in waves of 32 the text has its low half, which is right"),
    ("(\\w+_load|ds_load_\\w+)_d16", "half of the register is written and no more; LLVM's older form "
        "ties all of it"),
    ("s_bitset|v_pk_fmac_f16", "the result is read too; LLVM has no tie"),
    ("s_barrier_signal_isfirst|s_get_barrier_state",
        "m0 names the barrier in one form, scc is written and not read"),
    ("(s|v)_(movrels?d|swaprel)", "which register is in m0: none is named as a result"),
    ("ds_bpermute_fi|v_nop", "reads lanes, not m0; does nothing in any lane"),
    ("v_dual_.*(dot2acc|fmac)", "LLVM has the accumulator as another register"),
    ("image_atomic", "without TH_ATOMIC_RETURN nothing is returned; LLVM decodes the form that returns"),
    ("export", "LLVM has registers for what is off"),
)  # fmt: skip
"""Where rows and LLVM differ, and why: (beginning of the instruction, reason)."""

UNKNOWN = {"ds_direct_load", "global_wbinv", "s_waitcnt"}


def test_rows_agree_with_llvm_but_for_what_is_listed() -> None:
    assert len(recorded(RECORDED)) > 1_900
    different = differing(RECORDED, GFX12, UNKNOWN)
    assert [text for text in different if reason(text, DIFFERENCES) is None] == []


def test_what_has_no_row_is_named() -> None:
    assert opaque(RECORDED, GFX12) == UNKNOWN
    assert all(row.source for row in FAMILIES_GFX12)
    for text in (
        "s_barrier",
        "s_wait_asynccnt 0x0",
        "s_swap_pc_i64 s[30:31], s[0:1]",
        "v_frobnicate v0",
    ):
        assert is_opaque(text, GFX12)


@pytest.mark.parametrize(
    ("text", "kind", "counters"),
    [
        ("global_load_b32 v1, v[2:3], off", "load", "loadcnt"),
        ("global_store_b32 v[2:3], v1, off scope:SCOPE_DEV", "store", "storecnt"),
        ("global_atomic_add_u32 v[2:3], v4, off", "rmw", "storecnt"),
        ("global_atomic_add_u32 v1, v[2:3], v4, off th:TH_ATOMIC_RETURN", "rmw", "loadcnt"),
        ("flat_load_b32 v1, v[2:3]", "load", "dscnt loadcnt"),
        ("flat_store_b32 v[2:3], v1", "store", "dscnt storecnt"),
        ("image_load v1, v2, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D", "load", "loadcnt"),
        ("image_store v1, v2, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D", "store", "storecnt"),
        ("image_sample v1, v2, s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_1D", "load", "samplecnt"),
        ("image_gather4_l v[1:4], [v5, v6], s[0:7], s[8:11] dmask:0x1", "load", "samplecnt"),
        ("image_msaa_load v[1:4], [v5, v6], s[0:7] dmask:0x1", "load", "samplecnt"),
        ("image_bvh8_intersect_ray v[0:9], [v[0:1], v11], s[0:3]", "load", "bvhcnt"),
        ("ds_add_u32 v0, v1", "rmw", "dscnt"),
        ("s_load_b64 s[4:5], s[2:3], 0x0", "load", "kmcnt"),
        ("global_inv scope:SCOPE_DEV", "cache", "loadcnt"),
        ("global_wb scope:SCOPE_SYS", "cache", "storecnt"),
        ("s_barrier_signal -1", "barrier", ""),
        ("s_wait_bvhcnt 0x0", "wait", ""),
        ("s_swappc_b64 s[30:31], s[0:1]", "call", ""),
    ],
)
def test_kinds_and_counters(text: str, kind: str, counters: str) -> None:
    assert kind_and_counters(text, GFX12) == (kind, counters)


@pytest.mark.parametrize("generation", [Generation.GFX1100, Generation.GFX1200, Generation.GFX1250])
def test_names_of_gfx9_that_the_assembler_takes_do_what_they_say(generation: Generation) -> None:
    """``llvm-mc`` takes the older name of an instruction, which is the same instruction."""
    for mnemonic, kind, results in (
        ("ds_read_b32", Kind.LOAD, 1),
        ("ds_read2_b32", Kind.LOAD, 1),
        ("ds_read_u8_d16", Kind.LOAD, 1),
        ("ds_write_b32", Kind.STORE, 0),
        ("ds_wrxchg_rtn_b32", Kind.RMW, 1),
        ("ds_add_u32", Kind.RMW, 0),
    ):
        row = family_of(mnemonic, generation)
        assert row is not None
        assert (row.kind, row.results) == (kind, results)
    for mnemonic in ("s_add_u32", "s_sub_i32", "s_addc_u32", "s_andn2_b32"):
        row = family_of(mnemonic, generation)
        assert row is not None
        assert "scc" in row.defines
