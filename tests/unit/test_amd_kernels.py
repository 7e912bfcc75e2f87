"""Kernels of AMD assembly as lanes run them: EXEC, lane masks, loops, memory, what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from lane_kernels import executions

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.execution.definition import Definition
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import (
    ArgumentValue,
    Launch,
    LaunchError,
    Memory,
    allocate,
)
from fencewright.simulator.execution.program import Executed, LaneProgram
from fencewright.simulator.kernels.amd.kernel import program_of

TAIL = """
	.section .rodata
	.amdhsa_kernel kernel
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_float_denorm_mode_32 3
{more}	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .offset: 8
        .size: 4
        .value_kind: by_value
      - .offset: 16
        .size: 2
        .value_kind: hidden_group_size_x
    .name: kernel
    .max_flat_workgroup_size: 256
    .vgpr_count: 8
    .sgpr_count: 16
...
	.end_amdgpu_metadata
"""
STORE = """
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_and_b32_e32 v6, 0x3ff, v0
	v_lshlrev_b32_e32 v6, 2, v6
	s_waitcnt lgkmcnt(0)
	global_store_dword v6, v2, s[4:5]
	s_endpgm
"""
"""Stores v2 of each lane."""


def program(body: str, chip: str = "gfx942", more: str = "") -> LaneProgram:
    text = (
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.text\n\t.globl kernel\n'
        f"\t.type kernel,@function\nkernel:\n{body}.Lfunc_end0:\n{TAIL.format(more=more)}"
    )
    return program_of(read_assembly(text, "k.s").functions["kernel"])


def run(
    known: LaneProgram, arguments: Sequence[ArgumentValue] | None = None, threads: int = 64
) -> tuple[Memory, list[Executed]]:
    """By the executor, which has to agree with the definition."""
    given = (np.zeros(threads, np.uint32), 7) if arguments is None else tuple(arguments)
    launch = Launch((1, 1, 1), (threads, 1, 1), given)
    found: list[Executed] = []
    memory = execute(known, launch, allocate(known, launch), found.append)
    slow = Definition(known, launch, allocate(known, launch))
    counts = slow.run()
    assert slow.result("out") == memory.contents("out").tobytes()
    counted = [0] * len(known.instructions)
    for each in found:
        counted[each.instruction] += len(each.groups)
    assert counted == [counts[n] for n in range(len(known.instructions))]
    return memory, found


def values(body: str, chip: str = "gfx942", threads: int = 64) -> list[int]:
    """What v2 is in each lane after ``body``."""
    memory, _ = run(program(body + STORE, chip), threads=threads)
    return memory.contents("out", np.uint32).tolist()


LANES = list(range(64))


def test_exec_masks_what_lanes_write_and_load() -> None:
    body = """
	v_mov_b32_e32 v2, 9
	v_cmp_gt_u32_e32 vcc, 8, v0
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB0_2
	v_add_u32_e32 v2, 100, v0
	v_mov_b32_e32 v3, 1
.LBB0_2:
	s_or_b64 exec, exec, s[2:3]
"""
    assert values(body) == [100 + n if n < 8 else 9 for n in LANES]


def test_the_borrow_of_a_difference_may_be_the_carry_of_a_sum() -> None:
    body = """
	v_sub_co_u32_e32 v1, vcc, 8, v0
	v_mov_b32_e32 v3, 40
	v_addc_co_u32_e32 v2, vcc, 0, v3, vcc
"""
    assert values(body) == [40 + (n > 8) for n in LANES]


def test_a_carry_may_go_nowhere() -> None:
    assert values("\tv_add_co_u32 v2, null, 8, v0\n", "gfx1100", 32) == [8 + n for n in LANES[:32]]


def test_lanes_that_exec_lacks_store_nothing() -> None:
    body = "\tv_mov_b32_e32 v2, 5\n\ts_mov_b64 exec, 0xf0\n"
    known = program(body + STORE)
    memory, found = run(known)
    assert memory.contents("out", np.uint32).tolist() == [5 * (4 <= n < 8) for n in LANES]
    stores = [each for each in found if "global_store" in known.instructions[each.instruction].text]
    assert [int(each.active.sum()) for each in stores] == [4]


def test_a_wave_without_lanes_makes_no_request() -> None:
    known = program("\tv_mov_b32_e32 v2, 5\n\ts_mov_b64 exec, 0\n" + STORE)
    _, found = run(known)
    assert not any("global_store" in text for text in executions(known, found))


def test_a_loop_that_lanes_leave_one_by_one() -> None:
    body = """
	v_mov_b32_e32 v2, 0
	v_and_b32_e32 v1, 0x3ff, v0
	s_mov_b64 s[2:3], 0
.LBB0_1:
	v_add_u32_e32 v2, 3, v2
	v_cmp_gt_u32_e32 vcc, v2, v1
	s_or_b64 s[2:3], vcc, s[2:3]
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB0_1
	s_or_b64 exec, exec, s[2:3]
"""
    assert values(body) == [3 * (n // 3 + 1) for n in LANES]


def test_a_scalar_loop_by_scc() -> None:
    body = """
	s_mov_b32 s2, 0
	s_mov_b32 s3, 1
.LBB0_1:
	s_add_i32 s2, s2, 1
	s_lshl_b32 s3, s3, 1
	s_cmp_lg_u32 s2, 5
	s_cbranch_scc1 .LBB0_1
	v_mov_b32_e32 v2, s3
"""
    assert values(body) == [32] * 64


LANE_CASES: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("\tv_mov_b32_e32 v2, s9\n", lambda n: 0),
    ("\tv_readfirstlane_b32 s2, v0\n\tv_mov_b32_e32 v2, s2\n", lambda n: 0),
    ("\tv_readlane_b32 s2, v0, 3\n\tv_mov_b32_e32 v2, s2\n", lambda n: 3),
    ("\tv_mov_b32_e32 v2, 1\n\tv_writelane_b32 v2, s9, 4\n", lambda n: n != 4),
    ("\tv_mbcnt_lo_u32_b32 v1, -1, 0\n\tv_mbcnt_hi_u32_b32 v2, -1, v1\n", lambda n: n),
    ("\tv_cmp_lt_u32_e64 s[2:3], 60, v0\n\tv_mov_b32_e32 v2, s3\n", lambda n: 0xE0000000),
    ("\tv_cmp_eq_u32_e32 vcc, 1, v0\n\tv_cndmask_b32_e64 v2, 4, 5, vcc\n", lambda n: 4 + (n == 1)),
    ("\tv_sub_co_u32_e32 v1, vcc, 1, v0\n\tv_subb_co_u32_e32 v2, vcc, 5, v4, vcc\n",
     lambda n: 5 - (n > 1)),
    ("\tv_xor_b32_e32 v1, 1, v0\n\tv_lshlrev_b32_e32 v1, 2, v1\n\tds_bpermute_b32 v2, v1, v0\n",
     lambda n: n ^ 1),
    ("\tv_add_u32_dpp v2, v0, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n",
     lambda n: n + (n ^ 1)),
    ("\tv_mov_b32_e32 v2, 7\n\tv_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n",
     lambda n: n - 1 if n % 16 else 7),
    ("\tv_mov_b32_e32 v2, 7\n\tv_mov_b32_dpp v2, v0 row_bcast:15 row_mask:0xa bank_mask:0xf\n",
     lambda n: n // 16 * 16 - 1 if n // 16 % 2 else 7),
    ("\tv_mul_u32_u24_e32 v1, 3, v0\n\tv_mad_u64_u32 v[2:3], s[2:3], v1, v0, 0\n", lambda n: 3 * n * n),
    ("\tv_cvt_f32_u32_e32 v1, v0\n\tv_fma_f32 v1, v1, 2.0, -v1\n\tv_cvt_u32_f32_e32 v2, v1\n", lambda n: n),
)  # fmt: skip
"""Code, and what v2 of lane n is after it."""


@pytest.mark.parametrize(("body", "expected"), LANE_CASES)
def test_lanes(body: str, expected: Callable[[int], int]) -> None:
    assert values(body) == [expected(n) for n in LANES]


def test_kernargs_hidden_ones_too() -> None:
    body = """
	s_load_dword s2, s[0:1], 0x8
	s_load_dword s3, s[0:1], 0x10
	s_waitcnt lgkmcnt(0)
	s_and_b32 s3, s3, 0xffff
	s_mul_i32 s2, s2, s3
	v_mov_b32_e32 v2, s2
"""
    assert values(body) == [7 * 64] * 64
    known = program(body + STORE)
    assert [(each.name, each.is_hidden) for each in known.parameters] == [
        ("out", False), ("argument 1", False), ("argument 2", True),
    ]  # fmt: skip


def test_an_lds_address_and_its_offset_have_32_bits_in_all() -> None:
    body = """
	v_lshlrev_b32_e32 v3, 2, v0
	v_sub_u32_e32 v4, 0, v3
	ds_write_b32 v3, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v2, v4 offset:252
	s_waitcnt lgkmcnt(0)
"""
    known = program(body + STORE)
    known = replace(known, resources=replace(known.resources, shared_bytes=256))
    found, _ = run(known)
    assert found.contents("out", np.uint32).tolist() == [63 - n for n in LANES]


def test_lds_and_a_barrier() -> None:
    body = """
	v_and_b32_e32 v1, 0x3ff, v0
	v_lshlrev_b32_e32 v3, 2, v1
	ds_write_b32 v3, v1
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_xor_b32_e32 v3, 0xfc, v3
	ds_read2_b32 v[4:5], v3 offset1:64
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v4, v5
"""
    out = values(body, threads=128)
    assert out[:64] == [(63 - n) + (127 - n) for n in LANES]


def test_scratch_and_narrow_accesses() -> None:
    body = """
	v_sub_u32_e32 v1, 0, v0
	scratch_store_dword off, v1, off offset:4
	scratch_load_sbyte v2, off, off offset:4
	s_waitcnt vmcnt(0)
"""
    assert values(body) == [-n & 0xFFFFFFFF for n in LANES]


def test_a_raw_buffer_checks_its_range() -> None:
    body = """
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	s_mov_b32 s10, 16
	s_mov_b32 s11, 0x27000
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	buffer_load_dword v2, v1, s[8:11], 0 offen
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v2, 1, v2
"""
    memory, _ = run(program(body + STORE), [np.arange(10, 74, dtype=np.uint32), 0])
    expected = [11 + n if n < 4 else 1 for n in LANES]
    assert memory.contents("out", np.uint32).tolist() == expected


@pytest.mark.parametrize("chip", ["gfx906", "gfx803"])
def test_a_kernel_of_a_chip_that_is_not_executed_is_refused(chip: str) -> None:
    with pytest.raises(LaunchError) as error:
        program("\ts_endpgm\n", chip=chip)
    assert error.value.reason.startswith(f"kernel is for {chip}: kernels of gfx9")


INDEXED = """
	v_mov_b32_e32 v10, 0x64
	v_mov_b32_e32 v11, 0xc8
	v_mov_b32_e32 v12, 0x12c
	v_mov_b32_e32 v13, 7
	s_mov_b32 s2, 0x102
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32_e32 v2, v10", 300),
        ("s_set_gpr_idx_on s2, gpr_idx(DST)\n v_mov_b32_e32 v11, 5\n s_set_gpr_idx_off\n"
         "v_mov_b32_e32 v2, v13", 5),
        ("s_set_gpr_idx_on s2, gpr_idx(DST)\n v_mov_b32_e32 v11, 5\n s_set_gpr_idx_off\n"
         "v_mov_b32_e32 v2, v11", 200),
        ("s_set_gpr_idx_on s2, gpr_idx(SRC0,DST)\n v_mov_b32_e32 v11, v10\n s_set_gpr_idx_off\n"
         "v_mov_b32_e32 v2, v13", 300),
    ],
)  # fmt: skip
def test_an_index_chooses_registers(body: str, expected: int) -> None:
    """Of an index the low 8 bits count; the registers from v10 on are read or written by it."""
    found, _ = run(program(f"{INDEXED}\t{body}\n\ts_set_gpr_idx_off\n" + STORE))
    assert found.contents("out", np.uint32).tolist() == [expected] * 64


def test_an_indexed_write_is_of_the_lanes_that_are_active() -> None:
    body = """
	v_cmp_gt_u32_e32 vcc, 4, v0
	s_and_saveexec_b64 s[4:5], vcc
	s_set_gpr_idx_on s2, gpr_idx(DST)
	v_mov_b32_e32 v10, 9
	s_set_gpr_idx_off
	s_or_b64 exec, exec, s[4:5]
	v_mov_b32_e32 v2, v12
"""
    found, _ = run(program(INDEXED + body + STORE))
    assert found.contents("out", np.uint32).tolist() == [9] * 4 + [300] * 60


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("v_add_u32_e32 v2, v1, v10", "only moves are executed where an index chooses registers"),
        ("v_mov_b32_dpp v2, v10 row_shl:1 row_mask:0xf bank_mask:0xf", "only moves are"),
        ("s_branch .LBB0_2\n.LBB0_2:", ""),
    ],
)
def test_what_an_index_does_besides_is_refused(line: str, reason: str) -> None:
    with pytest.raises(LaunchError) as error:
        run(program(f"{INDEXED}\ts_set_gpr_idx_on s2, gpr_idx(SRC0)\n\t{line}\n" + STORE))
    reason = reason or "its index is for other blocks too"
    assert f" is not executed: {reason}" in error.value.reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("s_movrels_b32 s2, s3", "there is no row for it"),
        ("s_set_gpr_idx_on s2, gpr_idx(SRC1)", "'gpr_idx(SRC1)' chooses what is not executed"),
        ("s_set_gpr_idx_idx s2", "there is no row for it"),
        ("v_add_u32_sdwa v2, v1, v1 dst_sel:DWORD dst_unused:UNUSED_PAD wrong:1", "'dst_sel:DWORD"),
        ("v_and_b32_e64 v2, v1, v1 clamp", "'clamp' is not executed"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", "this part of the mode"),
        ("s_setpc_b64 s[2:3]", "its target is not known"),
        ("global_load_lds_ubyte v[2:3], off", "only whole words are copied to LDS"),
        ("s_swappc_b64 s[30:31], s[2:3]", "what it does (call) is not known here"),
        ("s_load_dword s2, s[0:1], 0x0 glc", "load with 'glc' on gfx942: the chip has no glc bit"),
    ],
)
def test_what_is_not_executed_is_refused_at_its_line(line: str, reason: str) -> None:
    with pytest.raises(LaunchError) as error:
        run(program(f"\ts_nop 0\n\t{line}\n" + STORE))
    assert error.value.reason.startswith(f"'{line}' is not executed: {reason}")
    assert error.value.place is not None
    assert (error.value.place.file, error.value.place.line) == ("k.s", 7)


def refused(known: LaneProgram) -> str:
    with pytest.raises(LaunchError) as error:
        run(known)
    assert error.value.place is not None
    return error.value.reason


def test_a_register_that_hardware_sets_to_what_is_not_known() -> None:
    known = _with_pointer("queue_ptr", 0x4)
    assert refused(known) == (
        "not executed: 's_load_dword s8, s[0:1], 0x4' depends on the queue_ptr"
    )


@pytest.mark.parametrize(("offset", "expected"), [(0, 1 << 16), (4, 1 << 16 | 64), (12, 64)])
def test_the_packet_of_the_launch(offset: int, expected: int) -> None:
    memory, _ = run(_with_pointer("dispatch_ptr", offset))
    assert memory.contents("out", np.uint32).tolist() == [expected] * 64


def _with_pointer(name: str, offset: int) -> LaneProgram:
    """A kernel that stores a word at the address that a pointer of the hardware's has."""
    load = f"\ts_load_dword s8, s[0:1], {offset:#x}\n\ts_waitcnt lgkmcnt(0)\n"
    body = f"{load}\tv_mov_b32_e32 v2, s8\n{STORE.replace('s[0:1]', 's[2:3]')}"
    return program(body, more=f"\t\t.amdhsa_user_sgpr_{name} 1\n")


def test_a_constant_of_packed_integers_is_of_single_precision() -> None:
    packed = "\tv_pk_sub_i16 v2, 0, {} op_sel_hi:[1,0]\n"
    assert values("\tv_pk_sub_i16 v2, 0, 2.0 op_sel:[0,1] op_sel_hi:[1,0]\n") == [0xC000] * 64
    assert values("\tv_pk_add_f16 v2, 0, 2.0 op_sel_hi:[1,0]\n") == [0x40004000] * 64
    assert values(packed.format(3)) == [0xFFFDFFFD] * 64


def test_a_wave_that_frees_its_registers_goes_on_to_its_end() -> None:
    store = STORE.replace("s_load_dwordx2", "s_load_b64").replace("store_dword", "store_b32")
    free = "\ts_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n\ts_endpgm"
    known = program("\tv_mov_b32_e32 v2, 3\n" + store.replace("\ts_endpgm", free), "gfx1100")
    memory, _ = run(known)
    assert memory.contents("out", np.uint32).tolist() == [3] * 64
    other = program("\ts_sendmsg sendmsg(MSG_INTERRUPT)\n\ts_endpgm\n", "gfx1100")
    assert "what it does (signal) is not known here" in refused(other)


SIGNALS = """
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v3, 0x80, v1
	ds_store_b32 v1, v0
	s_wait_dscnt 0x0
	s_barrier_signal -1
	v_mov_b32_e32 v4, 5
	s_barrier_wait -1
	ds_load_b32 v2, v3
	s_wait_dscnt 0x0
"""


@pytest.mark.parametrize("chip", ["gfx1200", "gfx1250"])
def test_a_barrier_in_two_parts(chip: str) -> None:
    store = STORE.replace("s_load_dwordx2", "s_load_b64").replace("store_dword", "store_b32")
    store = store.replace("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0")
    known = program(f"\tv_and_b32_e32 v0, 0x3ff, v0\n{SIGNALS}{store}", chip)
    memory, _ = run(known)
    assert memory.contents("out", np.uint32).tolist() == [n ^ 32 for n in LANES]
    of_cluster = program(SIGNALS.replace("signal -1", "signal -3") + store, chip)
    assert "exists in clusters alone" in refused(of_cluster)


SCALED = """
	v_and_b32_e32 v0, 0x3ff, v0
	s_load_b64 s[4:5], s[0:1], 0x0
	s_wait_kmcnt 0x0
	s_add_nc_u64 s[6:7], s[4:5], 0xfc
	v_sub_nc_u32_e32 v1, 0, v0
	global_store_b32 v1, v0, s[6:7] scale_offset
	s_endpgm
"""


def test_offsets_of_gfx1250_have_a_sign_and_a_scale() -> None:
    memory, _ = run(program(SCALED, "gfx1250"))
    assert memory.contents("out", np.uint32).tolist() == LANES[::-1]


def test_the_scale_of_private_memory_is_of_its_vector_register() -> None:
    through = """	s_mov_b32 s8, 8
	v_mov_b32_e32 v3, 2
	scratch_store_b32 v3, v0, s8 scale_offset
	scratch_load_b32 v0, off, s8 offset:8
	s_wait_loadcnt 0x0
	global_store"""
    body = SCALED.replace("	global_store", through)
    known = program(body, "gfx1250", "\t\t.amdhsa_private_segment_fixed_size 64\n")
    memory, _ = run(known)
    assert memory.contents("out", np.uint32).tolist() == LANES[::-1]


MFMA = "v_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]"
"""Its results are not computed."""


def test_an_unknown_value_is_carried_and_stored() -> None:
    body = f"\t{MFMA}\n\tv_accvgpr_read_b32 v2, a1\n\tv_add_u32_e32 v2, 1, v2\n"
    run(program(body + STORE))


@pytest.mark.parametrize(
    "text", [MFMA, "s_memtime s[8:9]", "v_mov_b32_e32 v2, src_pops_exiting_wave_id"]
)
def test_an_unknown_value_at_an_address_or_a_branch_ends_the_launch(text: str) -> None:
    if "memtime" in text:
        moved = "\tv_mov_b32_e32 v3, s8\n"
    else:
        moved = f"\tv_mov_b32_e32 v3, {'a2' if 'mfma' in text else 'v2'}\n"
    origin = "'src_pops_exiting_wave_id'" if "src" in text else f"the result of '{text}'"
    addressed = program(f"\t{text}\n{moved}\tds_read_b32 v2, v3\n\ts_waitcnt lgkmcnt(0)\n" + STORE)
    expected = f"not executed: 'ds_read_b32 v2, v3' depends on {origin}"
    assert refused(addressed) == expected
    body = f"""
	{text}
{moved}	v_cmp_gt_u32_e32 vcc, 8, v3
	s_cbranch_vccz .LBB0_2
	v_mov_b32_e32 v4, 1
.LBB0_2:
"""
    assert refused(program(body + STORE)) == f"not executed: a branch depends on {origin}"


def test_an_unknown_value_is_followed_through_memory_and_ends_where_it_is_overwritten() -> None:
    through = """
	v_and_b32_e32 v6, 0x3ff, v0
	v_lshlrev_b32_e32 v6, 2, v6
	v_mov_b32_e32 v3, a0
	ds_write_b32 v6, v3
{}	ds_read_b32 v4, v6
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v2, v4
	s_waitcnt lgkmcnt(0)
"""
    assert f"depends on the result of '{MFMA}'" in refused(
        program(f"\t{MFMA}\n" + through.format("") + STORE)
    )
    run(program(f"\t{MFMA}\n" + through.format("\tds_write_b32 v6, v6\n") + STORE))


def test_a_load_to_lds_is_a_copy_by_each_lane() -> None:
    body = """
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	v_and_b32_e32 v6, 0x3ff, v0
	v_lshlrev_b32_e32 v7, 2, v6
	v_xor_b32_e32 v8, 4, v7
	s_mov_b32 m0, 0x100
	v_mov_b32_e32 v2, 5
	v_cmp_gt_u32_e32 vcc, 32, v6
	s_waitcnt lgkmcnt(0)
	s_and_saveexec_b64 s[2:3], vcc
	global_load_lds_dword v8, s[8:9]
	s_or_b64 exec, exec, s[2:3]
	s_waitcnt vmcnt(0)
	ds_read_b32 v2, v7 offset:256
	s_waitcnt lgkmcnt(0)
"""
    memory, found = run(program(body + STORE), [np.arange(10, 74, dtype=np.uint32), 0])
    expected = [10 + (n ^ 1) if n < 32 else 0 for n in LANES]
    assert memory.contents("out", np.uint32).tolist() == expected
    (copy,) = [each for each in found if each.copied_to is not None]
    assert copy.copied_to is not None
    assert copy.copied_to[0].tolist() == [256 + 4 * n for n in LANES]


def test_the_mode_of_denormals_is_that_of_the_kernel_at_the_end_of_a_block() -> None:
    off, on = ("\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), " + n for n in "03")
    body = f"\tv_mov_b32_e32 v1, 1\n{off}\n\tv_mul_f32_e32 v2, 1.0, v1\n{on}\n"
    assert values(body) == [0] * 64
    with pytest.raises(LaunchError, match="the mode is not the kernel's any more"):
        values(body.replace(on, "\ts_nop 0"))


def test_what_is_not_executed_may_be_where_no_wave_comes() -> None:
    body = """
	v_mov_b32_e32 v2, 9
	v_cmp_gt_u32_e32 vcc, 0, v0
	s_cbranch_vccz .LBB0_2
	s_sendmsg sendmsg(MSG_INTERRUPT)
	v_mov_b32_e32 v2, 1
.LBB0_2:
"""
    assert values(body) == [9] * 64
    with pytest.raises(LaunchError, match=r"MSG_INTERRUPT.*is not executed"):
        values(body.replace("vccz", "vccnz"))


def test_an_unknown_value_is_one_of_the_lanes_that_have_it() -> None:
    body = f"""
	v_mov_b32_e32 v2, 9
	v_cmp_gt_u32_e32 vcc, 8, v0
	s_and_saveexec_b64 s[2:3], vcc
	{MFMA}
	v_accvgpr_read_b32 v7, a0
	s_xor_b64 exec, exec, s[2:3]
	v_mov_b32_e32 v7, 4
	v_cmp_eq_u32_e32 vcc, 4, v7
	s_cbranch_vccz .LBB0_2
	v_lshlrev_b32_e32 v2, 1, v7
.LBB0_2:
	s_mov_b64 exec, s[2:3]
"""
    assert values(body) == [9] * 8 + [8] * 56
    whole = body.replace("exec, exec, s[2:3]", "exec, s[2:3], s[2:3]").replace("4, v7", "v7, v7")
    assert values(whole) == [9] * 64
    with pytest.raises(LaunchError, match="a branch depends on the result of 'v_mfma"):
        values(
            body.replace("	v_mov_b32_e32 v7, 4\n", "").replace(
                "s_xor_b64 exec, exec,", "s_or_b64 exec, exec,"
            )
        )


def test_denormals_by_the_descriptor() -> None:
    body = "\tv_mov_b32_e32 v1, 1\n\tv_mul_f32_e32 v2, 1.0, v1\n"
    flushed = "\t\t.amdhsa_float_denorm_mode_32 0\n"
    assert values(body) == [1] * 64
    memory, _ = run(program(body + STORE, more=flushed))
    assert not memory.contents("out", np.uint32).any()


def test_loads_and_stores_need_no_alignment_and_atomics_do() -> None:
    body = """
	v_lshlrev_b32_e32 v6, 1, v0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	v_mul_u32_u24_e32 v1, 5, v0
	v_mov_b32_e32 v3, 0x1020304
	global_store_dword v1, v3, s[4:5] offset:1
	ds_write_b32 v1, v3 offset:3
	ds_read_b32 v2, v1 offset:3
	s_waitcnt vmcnt(0) lgkmcnt(0)
	global_load_dword v4, v1, s[4:5] offset:1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v4, v2
	v_cndmask_b32_e32 v2, 0, v2, vcc
	s_mov_b32 s6, 0x400
	v_mul_u32_u24_e32 v1, 5, v0
	global_store_dword v1, v2, s[4:5] offset:513
	s_endpgm
"""
    memory, _ = run(program(body), [np.zeros(1024, np.uint8), 0])
    stored = memory.contents("out")[513 : 513 + 5 * 64].reshape(64, 5)[:, :4]
    assert stored.tolist() == [[4, 3, 2, 1]] * 64
    atomic = body.replace("global_store_dword v1, v3,", "global_atomic_add v1, v3,")
    with pytest.raises(LaunchError, match="no multiple of 4"):
        run(program(atomic), [np.zeros(1024, np.uint8), 0])


FLAT = """
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b64 s[8:9], src_shared_base
	s_mov_b64 s[10:11], src_private_base
	v_lshlrev_b32_e32 v1, 2, v0
	v_add_u32_e32 v3, 7, v0
	ds_write_b32 v1, v3
	v_add_u32_e32 v3, 9, v0
	s_mov_b32 s12, 4
	scratch_store_dword off, v3, s12
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s4
	v_mov_b32_e32 v5, s5
	v_add_co_u32_e32 v4, vcc, v4, v1
	v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
	v_mov_b32_e32 v6, s9
	v_cmp_gt_u32_e32 vcc, 16, v0
	v_cndmask_b32_e32 v4, v4, v1, vcc
	v_cndmask_b32_e32 v5, v5, v6, vcc
	v_mov_b32_e32 v6, s11
	v_cmp_lt_u32_e32 vcc, 47, v0
	v_mov_b32_e32 v7, 4
	v_cndmask_b32_e32 v4, v4, v7, vcc
	v_cndmask_b32_e32 v5, v5, v6, vcc
	flat_load_dword v2, v[4:5]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_add_u32_e32 v2, 100, v2
	flat_store_dword v[4:5], v2
	flat_load_dword v2, v[4:5]
	s_waitcnt vmcnt(0) lgkmcnt(0)
"""


def test_a_flat_address_may_be_of_lds_or_private_memory() -> None:
    more = "\t\t.amdhsa_private_segment_fixed_size 16\n"
    memory, _ = run(program(FLAT + STORE, more=more), [np.arange(64, dtype=np.uint32), 0])
    expected = [107 + n if n < 16 else 100 + n if n < 48 else 109 + n for n in LANES]
    assert memory.contents("out", np.uint32).tolist() == expected
