"""Structs in launch lines: in threads, in whole waves, and in kernels of AMD."""

from pathlib import Path

import numpy as np
import pytest
from test_launches import HEAD

import fencewright
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Judgement
from fencewright.simulator.threads.launch import LaunchError, parse_launch
from fencewright.tools import fence_sim

PTX = f"""{HEAD}.visible .entry k(.param .u64 a, .param .align 8 .b8 s[24])
{{.reg .b32 %r<4>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [s]; ld.param.u32 %r1, [s+8]; ld.param.u64 %rd2, [s+16];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
ld.global.u32 %r3, [%rd4]; add.s32 %r3, %r3, %r1; st.global.u32 [%rd5], %r3; ret;}}
"""
AMD = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.type k,@function
k:
\ts_load_dwordx2 s[4:5], s[0:1], 0x8
\ts_load_dword s6, s[0:1], 0x10
\ts_load_dwordx2 s[8:9], s[0:1], 0x18
\tv_and_b32_e32 v0, 0x3ff, v0
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_waitcnt lgkmcnt(0)
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_add_u32_e32 v2, s6, v2
\tglobal_store_dword v1, v2, s[8:9]
\ts_endpgm
.amdhsa_kernel k
\t.amdhsa_next_free_vgpr 8
\t.amdhsa_next_free_sgpr 16
\t.amdhsa_accum_offset 8
\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t.amdhsa_user_sgpr_count 2
.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: s
        .offset: 8
        .size: 24
        .value_kind: by_value
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 256
    .name: k
...
\t.end_amdgpu_metadata
"""
STRUCT = "{i32[64]=iota, i32(5), @0}"
CODE = (("k.ptx", PTX, "sm_90"), ("k.s", AMD, "gfx942"))


@pytest.mark.parametrize(("file", "text", "chip"), CODE)
def test_a_struct_has_addresses_and_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, chip: str
) -> None:
    out, _ = fencewright.execute(text, block=64, args=(np.zeros(64, np.int32), STRUCT))
    assert out.tolist() == [5 + n for n in range(64)]
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    launch = f"k<<<1, 64>>>(i32[64], {STRUCT})"
    assert fence_sim.main(["traffic", str(path), "--mcpu", chip, "--launch", launch]) == 0
    assert "ld.global.u32" in (said := capsys.readouterr().out) or "global_load_dword" in said


@pytest.mark.parametrize(("file", "text", "chip"), CODE)
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{i32[64], @1}", "argument 1 is '@1', which is no array before it"),
        ("{i64(1), i64(2), i64(3), i64(4)}", "a struct of 32 does not fit"),
    ],
)
def test_structs_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, chip: str,
    given: str, problem: str,
) -> None:  # fmt: skip
    with pytest.raises(LaunchError, match=problem):
        fencewright.execute(text, block=64, args=(np.zeros(64, np.int32), given))
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    launch = f"k<<<1, 64>>>(i32[64], {given})"
    assert fence_sim.main(["traffic", str(path), "--mcpu", chip, "--launch", launch]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("groups", "judgement"), [(1, Judgement.NO_RACE), (2, Judgement.EQUAL_VALUES)]
)
def test_a_launch_with_a_struct_is_judged(groups: int, judgement: Judgement) -> None:
    launch = parse_launch(f"k<<<{groups}, 64>>>(i32[64], {STRUCT})")
    assert judge_kernel(read_assembly(AMD, "k.s"), launch).judgement is judgement
