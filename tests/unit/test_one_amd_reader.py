"""The operands of AMD instructions are read once, in every form, and effects come from them."""

import pytest

from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import read_instruction


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("v_add_f32_e64 v0, -v1, |v2|", ["v0", "v1", "v2"]),
        ("image_load v[0:3], [v4, v5], s[0:7] dmask:0xf", ["v0 v1 v2 v3", "v4 v5", "s0 s1 s2 s3 s4 s5 s6 s7"]),
        ("v_mov_b32 v0.l, v1.h", ["v0", "v1"]),
        ("s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 0, 4)", ["s0", "hwreg(HW_REG_HW_ID, 0, 4)"]),
        ("s_load_dword s0, s[2:3], sym - 4", ["s0", "s2 s3", "sym - 4"]),
        ("s_mov_b32 s0, lit(0x10)", ["s0", "16"]),
        ("s_mov_b32 s0, ttmp9", ["s0", "ttmp9"]),
    ],
)  # fmt: skip
def test_each_form_of_an_operand_is_read(text: str, operands: list[str]) -> None:
    instruction = read_instruction(text, 1)
    assert [
        str(operand) if isinstance(operand, int | str) else " ".join(operand.names)
        for operand in instruction.operands
    ] == operands


def test_effects_come_from_the_operands_that_were_read() -> None:
    effects = effects_of(read_instruction("v_add_f32_e64 v0, -v1, |v2|", 1))
    assert effects.defines == ("v0",)
    assert effects.uses[:2] == ("v1", "v2")


def test_an_operand_after_a_modifier_is_misplaced() -> None:
    text = "global_load_dword v0, v[2:3] sc0, off"
    assert read_instruction(text, 1).misplaced == "off"
    assert effects_of(read_instruction(text, 1)).kind == "unknown"
    assert read_instruction("global_load_dword v0, v[2:3], off sc0", 1).misplaced == ""
