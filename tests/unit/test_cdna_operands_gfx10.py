"""What instructions of gfx10 and gfx11 define and use, compared with what LLVM's own tables say."""

import pytest
from llvm_operands import differing, is_opaque, kind_and_counters, opaque, reason, recorded

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.gfx10 import FAMILIES_GFX10, FAMILIES_GFX11
from fencewright.lowering.cdna.code.operands.operands import effects_of, family_of
from fencewright.lowering.cdna.code.text import read_instruction

GFX10, GFX11 = Generation.GFX1030, Generation.GFX1100
RECORDED = {GFX10: "llvm22_gfx1030.tsv", GFX11: "llvm22_gfx1100.tsv"}

OF_BOTH = (
    ("v_(cmp_\\w+.* vcc_lo|(add|sub|subrev)_co_ci_u32|cndmask_b32_(e32|dpp|sdwa)|dual_.*cndmask)",
        "LLVM's forms have all of vcc; in waves of 32 the text has its low half, which is right"),
    ("s_bitset|v_pk_fmac_f16", "the result is read too; LLVM has no tie"),
    ("(s|v)_(movrels?d|swaprel)", "which register is in m0: none is named as a result"),
    ("v_(nop|pipeflush)", "does nothing in any lane"),
    ("image_atomic", "without glc nothing is returned; LLVM decodes the form that returns"),
    ("exp ", "LLVM has registers for what is off, and m0 for row_en"),
    ("ds_.* gds", "the global data share is found by m0; LLVM has it as an operand of some forms"),
)  # fmt: skip
DIFFERENCES = {
    GFX10: (
        ("\\w+_d16", "half of the result stays; LLVM ties its own generator's only"),
        (".*UNUSED_PRESERVE", "the rest of the result stays; LLVM's code generator adds the tie"),
        ("v_cmp_class_f(16|32)_sdwa", "LLVM adds vcc to a result that is another register"),
        *OF_BOTH,
    ),
    GFX11: (
        ("(\\w+_load|ds_load_\\w+)_d16", "half of the register is written and no more; LLVM's older "
            "form ties all of it"),
        *OF_BOTH,
    ),
}  # fmt: skip
"""Where rows and LLVM differ, and why: (beginning of the instruction, reason)."""

UNKNOWN = {
    GFX10: {"s_subvector_loop_begin", "s_subvector_loop_end"},
    GFX11: {"s_subvector_loop_begin", "s_subvector_loop_end", "lds_direct_load"},
}


@pytest.mark.parametrize("generation", RECORDED)
def test_rows_agree_with_llvm_but_for_what_is_listed(generation: Generation) -> None:
    assert len(recorded(RECORDED[generation])) > 2_000
    different = differing(RECORDED[generation], generation, UNKNOWN[generation])
    reasons = [reason(text, DIFFERENCES[generation]) for text in different]
    assert [text for text, why in zip(different, reasons, strict=True) if why is None] == []
    assert set(reasons) == {why for _, why in DIFFERENCES[generation]}


@pytest.mark.parametrize("generation", RECORDED)
def test_what_has_no_row_is_named(generation: Generation) -> None:
    assert opaque(RECORDED[generation], generation) == UNKNOWN[generation]
    for text in ("buffer_wbl2 sc1", "s_wait_loadcnt 0x0", "v_frobnicate v0", "global_wb"):
        assert is_opaque(text, generation)


NOT_RECORDED = {
    "v_clrexcp(_e32|_e64)?",
    "v_readlane_b32",
    "v_writelane_b32",
    "scratch_atomic_\\w+",
    "ds_nop",
    "ds_(append|consume)",
    "ds_read_addtid_b32",
    "ds_write_addtid_b32",
    "ds_(load|read)_addtid_b32",
    "ds_(store|write)_addtid_b32",
}
"""Families of which no encoding was met."""


def test_every_family_has_an_instruction_and_a_source() -> None:
    used = {
        row.pattern
        for generation, file in RECORDED.items()
        for text, _, _ in recorded(file)
        if (row := family_of(text.split()[0], generation)) is not None
    }
    rows = (*FAMILIES_GFX10, *FAMILIES_GFX11)
    assert all(row.source for row in rows)
    assert {row.pattern for row in rows} - used == NOT_RECORDED


@pytest.mark.parametrize(
    ("generation", "text", "kind", "counters"),
    [
        (GFX10, "global_load_dword v1, v[2:3], off glc dlc", "load", "vmcnt"),
        (GFX10, "global_store_dword v[2:3], v1, off", "store", "vscnt"),
        (GFX10, "global_atomic_add v[2:3], v4, off", "rmw", "vscnt"),
        (GFX10, "global_atomic_add v1, v[2:3], v4, off glc", "rmw", "vmcnt"),
        (GFX10, "flat_load_dword v1, v[2:3]", "load", "lgkmcnt vmcnt"),
        (GFX10, "flat_store_dword v[2:3], v1", "store", "lgkmcnt vscnt"),
        (GFX10, "flat_atomic_add v[2:3], v4", "rmw", "lgkmcnt vscnt"),
        (GFX10, "buffer_load_dword v1, s[4:7], 0 offen lds", "copy", "vmcnt"),
        (GFX10, "scratch_store_dword off, v0, s0", "store", "vscnt"),
        (GFX10, "image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D", "load", "vmcnt"),
        (GFX10, "image_store v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D", "store", "vscnt"),
        (GFX10, "image_atomic_add v0, v1, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D", "rmw", "vscnt"),
        (GFX10, "ds_read_b32 v0, v1", "load", "lgkmcnt"),
        (GFX10, "ds_add_u32 v0, v1", "rmw", "lgkmcnt"),
        (GFX10, "s_load_dwordx2 s[4:5], s[2:3], 0x0", "load", "lgkmcnt"),
        (GFX10, "s_waitcnt_vscnt null, 0x0", "wait", ""),
        (GFX10, "s_waitcnt_depctr 0xffe3", "compute", ""),
        (GFX10, "s_inst_prefetch 0x1", "compute", ""),
        (GFX10, "s_barrier", "barrier", ""),
        (GFX10, "exp mrt0 v0, v1, v2, v3 done vm", "compute", ""),
        (GFX11, "global_load_b32 v1, v[2:3], off glc", "load", "vmcnt"),
        (GFX11, "global_store_b32 v[2:3], v1, off", "store", "vscnt"),
        (GFX11, "global_atomic_add_u32 v[2:3], v4, off", "rmw", "vscnt"),
        (GFX11, "flat_atomic_add_u32 v1, v[2:3], v4 glc", "rmw", "lgkmcnt vmcnt"),
        (GFX11, "ds_load_b32 v0, v1", "load", "lgkmcnt"),
        (GFX11, "ds_storexchg_rtn_b32 v0, v1, v2", "rmw", "lgkmcnt"),
        (GFX11, "s_load_b64 s[4:5], s[2:3], 0x0", "load", "lgkmcnt"),
        (GFX11, "s_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)", "signal", "lgkmcnt"),
        (GFX11, "s_delay_alu instid0(VALU_DEP_1)", "compute", ""),
        (GFX11, "buffer_load_format_xyzw v[0:3], v4, s[8:11], 0 idxen", "load", "vmcnt"),
    ],
)  # fmt: skip
def test_kinds_and_counters(generation: Generation, text: str, kind: str, counters: str) -> None:
    assert kind_and_counters(text, generation) == (kind, counters)


@pytest.mark.parametrize(
    ("text", "defines", "uses"),
    [
        ("v_dual_mov_b32 v1, v2 :: v_dual_add_f32 v4, v5, v6", "v1 v4", "v2 v5 v6"),
        ("v_add_f16_e32 v1.l, v2.h, v3.l", "v1", "v2 v3"),
        ("image_sample v[0:1], [v4, v9], s[0:7], s[8:11] dmask:0x3 dim:SQ_RSRC_IMG_2D", "v0 v1",
            " ".join(("v4 v9", *(f"s{n}" for n in range(12))))),
        ("v_cmp_eq_u32_e32 vcc_lo, v0, v1", "vcc_lo", "v0 v1"),
        ("global_load_d16_hi_b16 v0, v1, s[0:1]", "v0", "v1 s0 s1"),
    ],
)  # fmt: skip
def test_registers(text: str, defines: str, uses: str) -> None:
    effects = effects_of(read_instruction(text, 1), GFX11)
    assert effects.defines == tuple(defines.split())
    assert set(effects.uses) - {"exec_lo", "exec_hi"} == set(uses.split())
