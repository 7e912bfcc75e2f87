"""The operands of AMD instructions are read once, in every form, and effects come from them."""

from dataclasses import replace

import pytest

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.operands import effects_of, family_of
from fencewright.lowering.cdna.code.text import read_instruction
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.code import effects as shared
from fencewright.lowering.code.effects import Kind


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
    assert effects_of(read_instruction(text, 1)).kind is Kind.OPAQUE
    assert read_instruction("global_load_dword v0, v[2:3], off sc0", 1).misplaced == ""


@pytest.mark.parametrize(
    ("text", "kind", "unit", "is_idle"),
    [
        ("global_atomic_add v[0:1], v2, off", Kind.RMW, None, False),
        ("global_load_lds_dword v[0:1], off", Kind.COPY, None, False),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", Kind.SIGNAL, None, False),
        ("s_swappc_b64 s[30:31], s[4:5]", Kind.CALL, None, False),
        ("s_add_u32 s0, s1, s2", Kind.COMPUTE, Unit.SALU, False),
        ("s_addk_i32 s0, 0x1", Kind.COMPUTE, Unit.SALU, False),
        ("v_add_f32_e32 v0, v1, v2", Kind.COMPUTE, Unit.VALU, False),
        ("s_nop 0", Kind.COMPUTE, None, True),
        ("x_frobnicate v0, v1", Kind.OPAQUE, None, False),
    ],
)
def test_the_kinds_are_those_of_every_vendor(
    text: str, kind: Kind, unit: Unit | None, is_idle: bool
) -> None:
    effects = effects_of(read_instruction(text, 1))
    assert isinstance(effects, shared.Effects)
    assert (effects.kind, effects.unit, effects.is_idle) == (kind, unit, is_idle)


@pytest.mark.parametrize("generation", Generation)
def test_arithmetic_alone_has_a_unit(generation: Generation) -> None:
    rows = [family_of(name, generation) for name in ("s_mov_b32", "v_mov_b32_e32", "s_nop")]
    assert [row and (row.kind, row.unit) for row in rows] == [
        (Kind.COMPUTE, Unit.SALU),
        (Kind.COMPUTE, Unit.VALU),
        (Kind.COMPUTE, None),
    ]


def test_two_instructions_that_issue_together_have_the_unit_of_both() -> None:
    text = "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2"
    effects = effects_of(read_instruction(text, 1), Generation.GFX1100)
    assert (effects.kind, effects.unit) == (Kind.COMPUTE, Unit.VALU)


def test_a_call_of_code_of_its_own_function_is_none_to_the_outside() -> None:
    call = effects_of(read_instruction("s_swappc_b64 s[8:9], s[4:5]", 1))
    assert call.calls_outside
    assert not replace(call, is_subroutine=True).calls_outside
