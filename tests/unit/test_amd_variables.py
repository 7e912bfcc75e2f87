"""Variables of AMD assembly: their bytes, and the addresses that code makes of their names."""

import numpy as np
import pytest

from fencewright import check
from fencewright.lowering.cdna.code.text import read_assembly, read_instruction
from fencewright.lowering.cdna.code.variables import Variable, read_variables
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import BASE, VARIABLES, Launch, LaunchError, allocate
from fencewright.simulator.kernels.amd.symbols import symbols_of
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.threads.launch import parse_launch
from fencewright.tools.inputs.amd_kernels import kernels_of_assembly

DATA = r"""
	.type	table,@object           ; @table
	.section	.rodata,"a",@progbits
	.globl	table
	.p2align	4, 0x0
table:
	.byte	1, 0x2
	.short	-1                      ; 0xffff
	.long	3000000000
	.quad	other+4
	.zero	3
	.ascii	"a;\001"
	.asciz	"b"
	.size	table, 24

	.type	other,@object
	.data
other:
	.4byte	7
	.quad	table-8
	.size	other, 12
	.type	strange,@object
strange:
	.sleb128 5
	.size	strange, 1
	.text
code:
	s_endpgm
"""


def test_the_bytes_of_variables() -> None:
    found = read_variables(DATA)
    table = b"\x01\x02\xff\xff" + (3000000000).to_bytes(4, "little") + bytes(8 + 3) + b"a;\x01b\0"
    assert found == {
        "table": Variable(table, {8: ("other", 4)}),
        "other": Variable(b"\x07\0\0\0" + bytes(8), {4: ("table", -8)}),
        "strange": Variable(None, {}),
    }


def _used(*operands: str) -> tuple[int | None, ...]:
    instructions = [read_instruction(f"s_add_u32 s2, s2, {each}", 1, None) for each in operands]
    symbols = symbols_of(instructions, read_variables(DATA))
    return tuple(symbols.distance(each, 8 * n) for n, each in enumerate(operands))


def test_halves_of_addresses() -> None:
    low, high = "table@rel32@lo+4", "table@rel32@hi+12"
    assert _used(low, high) == (VARIABLES & 0xFFFFFFFF, VARIABLES >> 32)
    assert _used("table@rel32@lo+12", "table@rel32@hi+20") == (
        VARIABLES + 8 & 0xFFFFFFFF, VARIABLES >> 32,
    )  # fmt: skip
    assert _used("table@rel64+4", "table@rel64+16") == (VARIABLES, VARIABLES + 4)
    assert _used("nothing@rel32@lo+4", "strange@rel32@lo+4") == (None, None)


def test_variables_hold_addresses_of_others() -> None:
    instruction = read_instruction("s_add_u32 s2, s2, table@gotpcrel32@lo+4", 1, None)
    symbols = symbols_of([instruction], read_variables(DATA))
    initial = {each.name: (each.address, each.initial) for each in symbols.variables}
    assert [*initial] == ["pointer to table", "table", "other"]
    at = VARIABLES + BASE
    assert initial["pointer to table"] == (VARIABLES, at.to_bytes(8, "little"))
    assert initial["table"][1][8:16] == (VARIABLES + 2 * BASE + 4).to_bytes(8, "little")
    assert initial["other"][1][4:] == (at - 8).to_bytes(8, "little")


KERNEL = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	k
	.type	k,@function
k:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_getpc_b64 s[2:3]
	s_add_u32 s2, s2, NAME@KIND@lo+4
	s_addc_u32 s3, s3, NAME@KIND@hi+12
	LOAD
	s_waitcnt lgkmcnt(0)
	s_load_dword s6, s[2:3], 0x4
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v2, s6
	global_store_dword v1, v2, s[4:5]
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_count 2
		.amdhsa_next_free_vgpr 3
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space: global
        .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
    .name: k
    .symbol: k.kd
    .max_flat_workgroup_size: 64
    .wavefront_size: 64
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 3
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.version: [1, 2]
...
	.end_amdgpu_metadata
"""


def _stored(name: str, kind: str = "rel32", load: str = "s_nop 0") -> int:
    text = KERNEL.replace("NAME", name).replace("KIND", kind).replace("LOAD", load) + DATA
    (kernel,) = kernels_of_assembly(text, "k.s")
    program = kernel.read()
    launch = Launch((1, 1, 1), (64, 1, 1), (np.zeros(1, np.uint32),))
    memory = execute(program, launch, allocate(program, launch), lambda _: None, needs_results=True)
    return int(memory.contents("out", np.uint32)[0])


def test_a_kernel_reads_a_variable() -> None:
    assert _stored("table") == 3000000000
    assert _stored("table", "gotpcrel32", "s_load_dwordx2 s[2:3], s[2:3], 0x0") == 3000000000


@pytest.mark.parametrize("name", ["strange", "elsewhere"])
def test_a_variable_whose_bytes_are_not_known_is_named(name: str) -> None:
    with pytest.raises(LaunchError, match=f"depends on .*{name}@rel32@"):
        _stored(name)


def test_a_launch_that_reads_a_variable_is_judged() -> None:
    text = (
        KERNEL.replace("NAME", "table").replace("KIND", "rel32").replace("LOAD", "s_nop 0") + DATA
    )
    code, launch = read_assembly(text, "k.s"), parse_launch("k<<<1, 64>>>(i32[1])")
    assert judge_kernel(code, launch, variables=read_variables(text)).problem == ""
    assert "depends on" in judge_kernel(code, launch).problem
    assert check(text, block=64, args=(np.zeros(1, np.int32),)).problem == ""
