"""What instructions of gfx1250 define and use, compared with what LLVM's own tables say."""

import pytest
from llvm_operands import differing, is_opaque, kind_and_counters, opaque, reason, recorded

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.gfx1250 import FAMILIES

RECORDED = "llvm22_gfx1250.tsv"
GFX1250 = Generation.GFX1250

DIFFERENCES = (
    ("v_(cmp_\\w+( vcc_lo)|(add|sub|subrev)_co_ci_u32_e32|cndmask_b32_(e32|dpp)|dual_.*cndmask)",
        "LLVM's forms have all of vcc; in waves of 32 the text has its low half, which is right"),
    ("\\w+_load_d16|ds_load_\\w+_d16", "half of the result stays; LLVM ties its own generator's only"),
    ("s_bitset|v_pk_fmac_f16", "the result is read too; LLVM has no tie"),
    ("s_barrier_signal_isfirst|s_wakeup_barrier|s_get_barrier_state",
        "m0 names the barrier in one form, scc is written and not read"),
    ("(s|v)_(movrels?d|swaprel)", "which register is in m0: none is named as a result"),
    ("ds_bpermute_fi|v_nop", "reads lanes, not m0; does nothing in any lane"),
    ("v_dual_.*dot2acc", "LLVM has the accumulator as another register"),
    ("buffer_atomic_(?!.*RETURN)|(global|flat)_atomic", "a hint may decode as one that returns"),
    ("v_\\w+_dpp", "lanes that are masked off keep the result; LLVM ties its own generator's only"),
)  # fmt: skip
"""Where rows and LLVM differ, and why: (beginning of the instruction, reason)."""

UNKNOWN = {"global_wbinv"}


def test_rows_agree_with_llvm_but_for_what_is_listed() -> None:
    assert len(recorded(RECORDED)) > 1_000
    different = differing(RECORDED, GFX1250, UNKNOWN)
    assert [text for text in different if reason(text, DIFFERENCES) is None] == []


def test_what_has_no_row_is_named() -> None:
    assert opaque(RECORDED, GFX1250) == UNKNOWN
    assert all(row.source for row in FAMILIES)
    for text in ("buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "v_frobnicate v0"):
        assert is_opaque(text, GFX1250)


@pytest.mark.parametrize(
    ("text", "kind", "counters"),
    [
        ("global_load_b32 v1, v[2:3], off", "load", "loadcnt"),
        ("global_store_b32 v[2:3], v1, off scope:SCOPE_DEV", "store", "storecnt"),
        ("global_atomic_add_u32 v[2:3], v4, off", "rmw", "storecnt"),
        ("global_atomic_add_u32 v1, v[2:3], v4, off th:TH_ATOMIC_RETURN", "rmw", "loadcnt"),
        ("flat_load_b32 v1, v[2:3]", "load", "dscnt loadcnt"),
        ("flat_store_b32 v[2:3], v1", "store", "dscnt storecnt"),
        ("ds_add_u32 v0, v1", "rmw", "dscnt"),
        ("s_load_b64 s[4:5], s[2:3], 0x0", "load", "kmcnt"),
        ("global_inv scope:SCOPE_DEV", "cache", "loadcnt"),
        ("global_wb scope:SCOPE_DEV", "cache", "storecnt"),
        ("global_load_async_to_lds_b32 v0, v1, s[0:1]", "copy", "asynccnt"),
        ("tensor_load_to_lds s[0:3], s[4:11]", "copy", "tensorcnt"),
        ("s_barrier_signal -1", "barrier", ""),
        ("s_wait_loadcnt_dscnt 0x0", "wait", ""),
    ],
)
def test_kinds_and_counters(text: str, kind: str, counters: str) -> None:
    assert kind_and_counters(text, GFX1250) == (kind, counters)
