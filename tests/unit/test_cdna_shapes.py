"""Shapes of wrong synchronisation in AMD assembly: each wrong form has its finding, each right form none.

Those that are instructive are exhibits of the museum; here are the others, and what only looks like one.
"""

import pytest
from shapes import Shape

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Level
from fencewright.checker.verdicts.amd.judge import judged
from fencewright.lowering.cdna.code.text import read_assembly


def said(body: str, chip: str) -> list[tuple[str, str]]:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type\tk,@function\nk:\n{body}\n\ts_endpgm\n'
    assembly = read_assembly(f"{text}.Lfunc_end0:\n", "k.s")
    checked = check(assembly, assembly.functions["k"])
    found = judged(checked, finds_surplus=True).findings
    return [(str(each.rule), str(each.level)) for each in found]


SHAPES = (
    Shape(
        "lds-read-war-loop", "gfx942", "lds-barrier", "warning",
        """
.LBB0_1:
s_barrier
ds_write_b32 v1, v3
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v2, v0
+s_waitcnt lgkmcnt(0)
s_cbranch_scc1 .LBB0_1
-s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    ),
    Shape(
        "lds-dma-never-waited", "gfx942", "lds-dma", "warning",
        """
global_load_lds_dword v[0:1], off
-s_waitcnt lgkmcnt(0)
+s_waitcnt vmcnt(0)
ds_read_b32 v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    ),
    Shape(
        "lds-dma-barrier-never-waited", "gfx942", "lds-dma-barrier", "warning",
        """
global_load_lds_dword v[0:1], off
-s_waitcnt lgkmcnt(0)
+s_waitcnt vmcnt(0)
s_barrier
ds_read_b32 v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    ),
    Shape(
        "lds-dma-wait-after-barrier", "gfx942", "lds-dma-barrier", "warning",
        """
global_load_lds_dword v[0:1], off
+s_waitcnt vmcnt(0)
s_barrier
-s_waitcnt vmcnt(0)
ds_read_b32 v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    ),
    Shape(
        "async-wrong-counter", "gfx1250", "lds-dma-barrier", "warning",
        """
global_load_async_to_lds_b32 v0, v1, s[0:1]
-s_wait_loadcnt 0x0
+s_wait_asynccnt 0x0
s_barrier_signal -1
s_barrier_wait -1
ds_load_b32 v2, v0
s_wait_dscnt 0x0
global_store_b32 v0, v2, s[12:13]
""",
    ),
    Shape(
        "waw-lds-vs-global", "gfx942", "hazard-waw", "error",
        """
global_load_dword v2, v0, s[0:1]
+s_waitcnt vmcnt(0)
ds_read_b32 v2, v1
-s_waitcnt vmcnt(0) lgkmcnt(0)
+s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[2:3]
""",
    ),
    Shape(
        "waw-mfma", "gfx942", "hazard-waw", "error",
        """
global_load_dwordx4 a[0:3], v0, s[0:1]
+s_waitcnt vmcnt(0)
v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[4:7]
-s_waitcnt vmcnt(0)
+s_nop 15
global_store_dwordx4 v0, a[0:3], s[2:3]
""",
    ),
    Shape(
        "smem-count", "gfx942", "hazard-raw", "error",
        """
s_load_dword s4, s[0:1], 0x0
s_load_dword s5, s[0:1], 0x4
-s_waitcnt lgkmcnt(1)
+s_waitcnt lgkmcnt(0)
s_add_u32 s6, s4, 1
""",
    ),
    Shape(
        "surplus-barrier-first", "gfx942", "surplus-barrier", "note",
        """
-s_barrier
ds_write_b32 v0, v1
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    ),
    Shape(
        "surplus-inv-before-barrier", "gfx942", "surplus-invalidate", "note",
        """
global_load_dword v2, v0, s[2:3] sc1
s_waitcnt vmcnt(0)
buffer_inv sc1
-buffer_inv sc1
global_load_dword v3, v0, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v0, v3, s[2:3]
""",
    ),
    Shape(
        "surplus-waitcnt-before-barrier", "gfx942", "surplus-wait", "note",
        """
global_load_dword v2, v0, s[0:1]
ds_write_b32 v0, v1
-s_waitcnt vmcnt(0) lgkmcnt(0)
+s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
-v_add_u32_e32 v2, v3, v3
+v_add_u32_e32 v4, v3, v3
s_waitcnt vmcnt(0)
global_store_dword v0, v2, s[2:3]
""",
    ),
    Shape(
        "spin-no-acquire", "gfx942", "unordered-wait", "warning",
        """
.LBB0_1:
global_load_dword v2, v0, s[2:3] sc1
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v2
s_cbranch_vccnz .LBB0_1
+buffer_inv sc1
global_load_dword v3, v0, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v0, v3, s[4:5]
""",
    ),
    Shape(
        "spin-narrow-inv", "gfx942", "unordered-wait", "warning",
        """
.LBB0_1:
global_load_dword v2, v0, s[2:3] sc0 sc1
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v2
s_cbranch_vccnz .LBB0_1
-buffer_inv sc1
+buffer_inv sc0 sc1
global_load_dword v3, v0, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v0, v3, s[4:5]
""",
    ),
    Shape(
        "inv-before-load-order", "gfx942", "unordered-wait", "warning",
        """
.LBB0_1:
-buffer_inv sc1
global_load_dword v2, v0, s[2:3] sc1
s_waitcnt vmcnt(0)
+buffer_inv sc1
v_cmp_eq_u32_e32 vcc, 0, v2
s_cbranch_vccnz .LBB0_1
global_load_dword v3, v0, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v0, v3, s[4:5]
""",
    ),
)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_a_shape(shape: Shape) -> None:
    shape.check(said)


QUIET = {
    "a read that nobody overwrites": """
ds_read_b32 v2, v0
s_barrier
s_waitcnt lgkmcnt(0)
global_store_dword v0, v2, s[0:1]
""",
    "two buffers in turn": """
global_load_lds_dword v[0:1], off
.LBB0_1:
s_waitcnt vmcnt(0)
s_barrier
global_load_lds_dword v[4:5], off
ds_read_b32 v2, v3
s_waitcnt lgkmcnt(0)
s_cbranch_scc1 .LBB0_1
""",
    "a value and its flag in one word": """
.LBB0_1:
global_load_dwordx2 v[2:3], v0, s[2:3] sc1
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v2
s_cbranch_vccnz .LBB0_1
global_load_dword v4, v0, s[0:1]
s_waitcnt vmcnt(0)
v_add_u32_e32 v4, v4, v2
global_store_dword v0, v4, s[4:5]
""",
}


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_what_only_looks_wrong(body: str) -> None:
    assert [each for each in said(body, "gfx942") if each[1] != Level.NOTE] == []


READ = "global_load_b32 v2, v[0:1], off\n"
LATER = "s_wait_loadcnt 0x0\nglobal_store_b32 v3, v2, s[0:1]\n"


@pytest.mark.parametrize(
    ("between", "is_found"),
    [
        ("v_mov_b32_e32 v0, 0\n", True),
        ("v_mov_b32_e32 v4, 0\n", False),
        ("s_wait_xcnt 0x0\nv_mov_b32_e32 v0, 0\n", False),
        ("s_barrier_signal -1\ns_barrier_wait -1\nv_mov_b32_e32 v0, 0\n", False),
        ("s_load_b32 s4, s[2:3], 0x0\nv_mov_b32_e32 v0, 0\n", False),
        ("ds_load_b32 v5, v6\nv_mov_b32_e32 v0, 0\n", True),
        ("s_branch .LBB0_1\n.LBB0_1:\nv_mov_b32_e32 v0, 0\n", False),
        ("s_cbranch_scc1 .LBB0_1\nv_mov_b32_e32 v0, 0\n.LBB0_1:\n", True),
        ("s_cbranch_scc1 .LBB0_1\ns_nop 0\n.LBB0_1:\nv_mov_b32_e32 v0, 0\n", True),
    ],
)
def test_translations(between: str, is_found: bool) -> None:
    found = ("hazard-translation", "error")
    assert (found in said(READ + between + LATER, "gfx1250")) is is_found


def test_barriers_that_can_go() -> None:
    write, read = (
        "ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\n",
        "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n",
    )
    barrier = ("surplus-barrier", "note")
    assert said(f"{write}s_barrier\n{read}", "gfx942").count(barrier) == 0
    assert said(f"{write}s_barrier\ns_barrier\ns_barrier\n{read}", "gfx942").count(barrier) == 2
    assert said(f"{read}s_barrier\n{read}", "gfx942").count(barrier) == 1
    assert said(f"{read}s_barrier\n{write}", "gfx942").count(barrier) == 0
