"""What instructions define and use, compared with what LLVM's own tables say."""

import re

import pytest
from llvm_operands import reason, recorded

from fencewright.lowering.cdna.code.operands.gfx9 import FAMILIES
from fencewright.lowering.cdna.code.operands.operands import (
    Effects,
    effects_of,
    family_of,
)
from fencewright.lowering.cdna.code.text import read_instruction, registers_in
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

RECORDED = "llvm22.tsv"

DIFFERENCES = (
    ("ds_(?!gws)", "LLVM decodes the form of gfx8, where m0 limits LDS; on GFX9 nothing does"),
    (".*_d16", "half of the result stays; LLVM ties it only where its own code generator does"),
    ("s_bitset|v_pk_fmac_f16", "the result is read too; LLVM has no tie"),
    (".*UNUSED_PRESERVE", "the rest of the result stays; LLVM's code generator adds the tie"),
    ("v_cvt_scalef32_sr_pk_fp4", "the rest of the result stays; LLVM has no tie"),
    ("v_\\w+_co_u32_dpp", "lanes that are masked off keep their carry"),
    ("v_cmp_class_f16_sdwa", "LLVM adds vcc to a result that is another register"),
    ("v_interp_p2", "reads m0 and what it adds to; LLVM's forms say so in part"),
)
"""Where rows and LLVM differ, and why: (beginning of the instruction, reason)."""


def test_rows_agree_with_llvm_but_for_what_is_listed() -> None:
    forms = recorded(RECORDED)
    different = {
        text
        for text, defines, uses in forms
        if (
            set(effects_of(read_instruction(text, 1)).defines),
            set(effects_of(read_instruction(text, 1)).uses),
        )
        != (defines, uses)
    }
    assert len(forms) > 2_000
    assert [text for text in different if reason(text, DIFFERENCES) is None] == []
    assert {reason(text, DIFFERENCES) for text in different} == {why for _, why in DIFFERENCES}


def test_no_form_of_llvm_is_unknown_but_forks() -> None:
    unknown = {
        text.split()[0]
        for text, _, _ in recorded(RECORDED)
        if effects_of(read_instruction(text, 1)).kind is Kind.OPAQUE
    }
    assert unknown <= {
        "s_cbranch_g_fork",
        "s_cbranch_i_fork",
        "s_cbranch_join",
        "s_rfe_restore_b64",
    }


NOT_RECORDED = re.compile(
    "v_nop.*|v_writelane_b32|scratch_atomic_.*|ds_(nop|gws_.*|ordered_count|(read|write)_addtid_b32)"
    "|ds_\\(append.*"
)
"""Families of which no encoding was met."""


def test_every_family_has_an_instruction_and_a_source() -> None:
    used = {id(family_of(text.split()[0])) for text, _, _ in recorded(RECORDED)}
    for row in FAMILIES:
        assert row.source
        assert (id(row) not in used) == bool(NOT_RECORDED.fullmatch(row.pattern)), row.pattern


@pytest.mark.parametrize(
    ("text", "kind", "space", "counters"),
    [
        ("global_load_dword v1, v[2:3], off", "load", "global", "vmcnt"),
        ("global_atomic_add v[2:3], v4, off", "rmw", "global", "vmcnt"),
        ("flat_store_dword v[0:1], v2", "store", "generic", "lgkmcnt vmcnt"),
        ("scratch_load_dword v0, off, s0", "load", "private", "vmcnt"),
        ("buffer_load_dword v1, s[4:7], 0 offen lds", "copy", None, "vmcnt"),
        ("global_load_lds_dwordx4 v[0:1], off", "copy", "global", "vmcnt"),
        ("ds_read_b32 v0, v1", "load", "local", "lgkmcnt"),
        ("ds_add_u32 v0, v1 gds", "rmw", None, "lgkmcnt"),
        ("ds_bpermute_b32 v0, v1, v2", "lanes", None, "lgkmcnt"),
        ("s_load_dwordx4 s[4:7], s[2:3], 0x0", "load", "constant", "lgkmcnt"),
        ("s_memtime s[0:1]", "compute", None, "lgkmcnt"),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", "signal", None, "lgkmcnt"),
        ("buffer_wbl2 sc1", "cache", None, "vmcnt"),
        ("buffer_wbinvl1", "cache", None, "vmcnt"),
        ("v_mov_b32_e32 v0, v1", "valu", None, ""),
        ("v_frobnicate v0", "opaque", None, ""),
        ("v_add_nc_u32_e32 v0, v1, v2", "opaque", None, ""),
        ("x_frobnicate v0", "opaque", None, ""),
    ],
)
def test_kinds_spaces_and_counters(text: str, kind: str, space: str | None, counters: str) -> None:
    effects = effects_of(read_instruction(text, 1))
    assert (effects.unit or effects.kind) == kind
    assert effects.space == (AddressSpace(space) if space else None)
    assert " ".join(sorted(str(event.counter) for event in effects.events)) == counters


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("-|v[1:2]|", ("v1", "v2")),
        ("sext(v3)", ("v3",)),
        ("s[4]", ("s4",)),
        ("vcc", ("vcc_lo", "vcc_hi")),
        ("v1@rel32@lo+4", ()),
        (".LBB0_1", ()),
        ("src_lds_direct", ("m0",)),
        ("[s0,s1]", ("s0", "s1")),
    ],
)
def test_registers_of_an_operand(text: str, names: tuple[str, ...]) -> None:
    assert registers_in(text) == names


def test_an_unknown_instruction_has_no_effects_of_its_own() -> None:
    assert effects_of(read_instruction("x_frobnicate v0, v1", 1)) == Effects(Kind.OPAQUE)
