"""Assembly that is not for the chip that it names is refused, with the reason."""

import pytest

from fencewright.lowering.cdna.code.other_chips import chip_of
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.lowering.code.source_location import AssemblyError


def assembly(chip: str, *body: str) -> Assembly:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    return read_assembly(text + "\n".join(body), "f.s")


@pytest.mark.parametrize(
    ("chip", "text"),
    [
        ("gfx942", "global_load_dword v1, v[2:3], off sc0 sc1"),
        ("gfx90a", "global_load_dword v1, v[2:3], off glc"),
        ("gfx942", "s_load_dword s1, s[2:3], 0x0 glc"),
        ("gfx942", "buffer_inv sc1"),
        ("gfx90a", "buffer_wbl2"),
        ("gfx908", "buffer_wbinvl1_vol"),
        ("gfx908", "v_add_u32_e32 v0, v1, v2"),
        ("gfx9-4-generic", "buffer_wbl2 sc1"),
        ("gfx1030", "global_load_dword v1, v[2:3], off glc dlc"),
        ("gfx1030", "s_waitcnt_vscnt null, 0x0"),
        ("gfx1036", "buffer_gl1_inv"),
        ("gfx1100", "global_load_b32 v1, v[2:3], off glc"),
        ("gfx1100", "s_waitcnt vmcnt(0)"),
        ("gfx1151", "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3"),
        ("gfx11-generic", "s_barrier"),
    ],
)
def test_code_of_its_own_chip(chip: str, text: str) -> None:
    assert chip_of(assembly(chip, text), "f.s").name == chip


@pytest.mark.parametrize(
    ("chip", "text", "owner"),
    [
        ("gfx942", "global_load_dword v1, v[2:3], off glc", "chips before gfx940"),
        ("gfx90a", "global_load_dword v1, v[2:3], off sc0", "gfx940 and later"),
        ("gfx942", "buffer_wbinvl1_vol", "chips before gfx940"),
        ("gfx908", "buffer_wbl2", "gfx90a and later"),
        ("gfx90a", "buffer_inv sc1", "gfx940 and later"),
        ("gfx942", "v_add_u32_e32 v0, vcc, v1, v2", "chips before gfx9"),
        ("gfx942", "s_waitcnt_vscnt null, 0x0", "gfx10 and gfx11"),
        ("gfx942", "s_wait_loadcnt 0x0", "gfx12 and later"),
        ("gfx942", "global_load_b32 v0, v[2:3], off", "gfx11 and later"),
        ("gfx942", "ds_load_b32 v0, v1", "gfx11 and later"),
        ("gfx942", "v_add_nc_u32_e32 v0, v1, v2", "gfx10 and later"),
        ("gfx942", "global_load_dword v0, v[2:3], off dlc", "gfx10 and gfx11"),
        ("gfx1030", "global_load_dword v1, v[2:3], off sc1", "gfx940 and later"),
        ("gfx1030", "buffer_wbinvl1_vol", "chips before gfx940"),
        ("gfx1030", "buffer_wbl2", "gfx90a and later"),
        ("gfx1030", "s_wait_loadcnt 0x0", "gfx12 and later"),
        ("gfx1030", "ds_load_b32 v0, v1", "gfx11 and later"),
        ("gfx1030", "s_delay_alu instid0(VALU_DEP_1)", "gfx11 and later"),
        ("gfx1030", "v_add_u32_e32 v0, v1, v2", "chips of gfx9"),
        ("gfx1030", "v_addc_co_u32_e32 v0, vcc, v1, v2, vcc", "chips of gfx9"),
        ("gfx1100", "global_load_dword v1, v[2:3], off", "chips before gfx11"),
        ("gfx1100", "s_andn2_b32 s0, s1, s2", "chips before gfx11"),
        ("gfx1100", "global_load_b32 v1, v[2:3], off scope:SCOPE_DEV", "gfx12 and later"),
        ("gfx1100", "global_inv scope:SCOPE_DEV", "gfx12 and later"),
        ("gfx1250", "s_waitcnt vmcnt(0)", "chips before gfx12"),
        ("gfx1250", "buffer_gl0_inv", "gfx10 and gfx11"),
    ],
)
def test_code_of_another_chip(chip: str, text: str, owner: str) -> None:
    with pytest.raises(AssemblyError) as refused:
        chip_of(assembly(chip, "s_nop 0", text), "f.s")
    expected = f"f.s:5: error: the assembly is for {chip}, but this is of {owner}: {text}"
    assert str(refused.value) == expected


def test_a_chip_without_rows() -> None:
    with pytest.raises(AssemblyError, match=r"f\.s:1: error: gfx1310 is not known; known are gfx9"):
        chip_of(assembly("gfx1310", "s_endpgm"), "f.s")
