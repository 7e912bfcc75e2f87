"""The names of AMD memory accesses, decoded, agree with every table of accesses."""

import pytest

from fencewright.lowering.cdna.access_names import AccessName, Path, access_name
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import read_instruction
from fencewright.lowering.cdna.instructions import MEMORY_ROWS, PACKED_ROWS, SCALAR_LOAD_ROWS
from fencewright.lowering.cdna.performance.accesses import LDS_INSTRUCTIONS, VECTOR_INSTRUCTIONS
from fencewright.lowering.vocabulary import FLOAT_KINDS, AddressSpace, Operation, RmwKind


def test_names_of_the_lowering_say_their_access() -> None:
    for (operation, _, width, kind, _), row in MEMORY_ROWS:
        if row.expansion:
            continue
        name = access_name(row.mnemonic)
        assert name is not None, row.mnemonic
        compares = operation is Operation.CMPXCHG
        assert (name.bits, name.rmw, name.compares) == (width, kind, compares), row.mnemonic
        assert name.is_float is (kind in FLOAT_KINDS)


def test_packed_names_are_two_numbers_of_a_word() -> None:
    for (_, kind, _, _), row in PACKED_ROWS:
        name = access_name(row.mnemonic)
        assert name is not None, row.mnemonic
        assert (name.bits, name.rmw, name.is_packed) == (32, kind, True), row.mnemonic


def test_names_of_the_performance_model_are_read() -> None:
    rows = [*LDS_INSTRUCTIONS.values(), *VECTOR_INSTRUCTIONS.values()]
    names = [access_name(row.mnemonic) for row in rows]
    assert None not in names
    assert all(access_name(row.mnemonic) for row in SCALAR_LOAD_ROWS)
    two = LDS_INSTRUCTIONS["ds_read2st64_b64"]
    assert (two.width, two.passes, two.stride) == (8, 2, 512)
    packed = VECTOR_INSTRUCTIONS["global_atomic_pk_add_bf16"]
    assert (packed.width, packed.path, packed.is_buffer) == (4, Path.GLOBAL, False)


@pytest.mark.parametrize(
    ("mnemonic", "name"),
    [
        ("global_load_dwordx2", AccessName(Path.GLOBAL, 64)),
        ("flat_atomic_smax_x2", AccessName(Path.FLAT, 64, "i", RmwKind.MAX)),
        ("flat_atomic_max_i64", AccessName(Path.FLAT, 64, "i", RmwKind.MAX)),
        ("ds_add_rtn_f32", AccessName(Path.LDS, 32, "f", RmwKind.FADD)),
        ("buffer_atomic_fmin", AccessName(Path.BUFFER, 32, "f", RmwKind.FMIN)),
        ("ds_cmpstore_rtn_b64", AccessName(Path.LDS, 64, compares=True)),
        ("global_load_d16_hi_u8", AccessName(Path.GLOBAL, 8, "u", is_half=True, is_upper=True)),
        ("ds_read_u16_d16_hi", AccessName(Path.LDS, 16, "u", is_half=True, is_upper=True)),
        ("ds_read2st64_b32", AccessName(Path.LDS, 32, stride=64)),
        ("s_buffer_load_dwordx4", AccessName(Path.SCALAR, 128)),
        ("s_scratch_load_dword", AccessName(Path.SCALAR_SCRATCH, 32)),
        ("ds_rsub_u32", AccessName(Path.LDS, 32, "u", verb="rsub")),
        ("global_atomic_cond_sub_u32", None),
        ("buffer_load_format_x", None),
        ("ds_append", None),
        ("ds_add", None),
        ("global_load_lds_dword", AccessName(Path.GLOBAL, 32, copies=True)),
        ("v_add_f32_e32", None),
    ],
)
def test_parts_of_a_name(mnemonic: str, name: AccessName | None) -> None:
    assert access_name(mnemonic) == name


@pytest.mark.parametrize(
    ("text", "accesses", "rmw"),
    [
        ("global_load_dwordx2 v[0:1], v[2:3], off", [("v2+v3, off", True, False, "global", 8)], None),
        ("global_atomic_add_f32 v[0:1], v2, off", [("v0+v1, off", True, True, "global", 4)], "fadd"),
        ("buffer_store_byte v0, off, s[0:3], 0", [("off, s0+s1+s2+s3, 0", False, True, None, 1)], None),
        ("ds_max_rtn_u64 v[0:1], v2, v[4:5]", [("v2", True, True, "local", 8)], "umax"),
        ("image_load v[0:3], [v4, v5], s[0:7] dmask:0xf",
            [("[v4, v5], s0+s1+s2+s3+s4+s5+s6+s7", True, False, "global", None)], None),
        ("global_load_lds_dword v[0:1], off",
            [("v0+v1, off", True, False, "global", 4), ("", False, True, "local", 4)], None),
        ("s_load_dwordx4 s[0:3], s[4:5], 0x10", [("s4+s5, 16", True, False, "constant", 16)], None),
        ("v_mov_b32_e32 v0, v1", [], None),
        ("buffer_wbl2 sc1", [], None),
    ],
)  # fmt: skip
def test_effects_have_the_accesses(
    text: str, accesses: list[tuple[str, bool, bool, AddressSpace | None, int | None]], rmw: RmwKind
) -> None:
    effects = effects_of(read_instruction(text, 1))
    assert [
        (each.address, each.reads, each.writes, each.space, each.size) for each in effects.accesses
    ] == accesses
    assert effects.rmw == rmw
