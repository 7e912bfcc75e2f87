"""Barriers that every verdict is the same without, and those that no verdict may remove."""

import pytest
from test_verdicts_amd import kernel_text

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.nvidia.findings import judged
from fencewright.checker.verdicts.amd.judge import judged as judged_amd
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.ptx.code.text import read_ptx

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
.reqntid 1024
{{
.reg .pred %p<9>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.shared .align 16 .b8 tile[4096];
.shared .align 16 .b8 other[4096];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 2;
add.s32 %r4, %r2, %r3;
mov.u32 %r10, %ctaid.x;
shl.b32 %r10, %r10, 10;
add.s32 %r10, %r10, %r1;
mul.wide.u32 %rd3, %r10, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
xor.b32 %r6, %r3, 4;
add.s32 %r7, %r2, %r6;
{body}
st.global.b32 [%rd5], %r9;
ret;
}}
"""
BARRIER = "bar.sync 0;"
OWN = f"st.shared.b32 [%r4], 7;\n{BARRIER}\nld.shared.b32 %r9, [%r4];"
"""Each thread reads its own word."""


def redundant(body: str, *, finds_surplus: bool = True) -> int:
    """The number of barriers of a kernel with a body that are said to be redundant."""
    module = read_ptx(KERNEL.format(body=body), "k.ptx")
    (function,) = module.functions.values()
    found = judged(module, function, replays=False, finds_surplus=finds_surplus).findings
    return sum(each.rule is Rule.SURPLUS_BARRIER for each in found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(OWN, 1, id="own word"),
        pytest.param(
            OWN.replace("ld.shared.b32 %r9, [%r4]", "ld.shared.b32 %r9, [%r7]"),
            0,
            id="of a neighbour",
        ),
        pytest.param(
            f"st.shared.b32 [%r4], 7;\n{BARRIER}\n{BARRIER}\nld.shared.b32 %r9, [%r7];",
            1,
            id="twice",
        ),
        pytest.param(
            f"st.shared.b32 [%r4], 7;\n{BARRIER}\nst.shared.b32 [%r4], 8;\n{BARRIER}\n"
            "ld.shared.b32 %r9, [%r7];",
            1,
            id="one of two: reads need the last write",
        ),
        pytest.param(
            f"atom.shared.add.u32 %r8, [other], 1;\n{BARRIER}\natom.shared.add.u32 %r9, [other], 0;",
            0,
            id="the value of a counter",
        ),
        pytest.param(
            f"st.global.b32 [%rd4], 7;\n{BARRIER}\nld.global.b32 %r9, [%rd5];",
            0,
            id="pointers that may alias",
        ),
        pytest.param(
            f"griddepcontrol.wait;\n{BARRIER}\nld.global.b32 %r9, [%rd4];",
            0,
            id="a wait for another grid",
        ),
        pytest.param(
            f"mov.u32 %r8, %clock;\n{BARRIER}\nld.global.b32 %r9, [%rd4];", 0, id="a time"
        ),
    ],
)
def test_a_barrier_is_redundant_where_every_pair_stays_ordered(body: str, expected: int) -> None:
    assert redundant(body) == expected


def test_verdicts_are_made_again_for_surplus_alone() -> None:
    assert redundant(OWN, finds_surplus=False) == 0


def test_a_kernel_that_is_not_proved_keeps_what_may_order_something() -> None:
    races = f"{OWN}\nst.shared.b32 [other], %r1;\nld.shared.b32 %r9, [other];"
    module = read_ptx(KERNEL.format(body=races), "k.ptx")
    (function,) = module.functions.values()
    assert judged(module, function, replays=False).verdict.kind is not VerdictKind.RACE_FREE
    assert redundant(races) == 0


OTHER = "v_xor_b32_e32 v4, 0x3fc, v1"
WRITE, WROTE = "ds_write_b32 v1, v0", "s_waitcnt lgkmcnt(0)"
READ, READ_OWN = "ds_read_b32 v5, v4", "ds_read_b32 v5, v1"
AT_BARRIER = "s_barrier"
STORE_LDS, DONE, LOAD_LDS = "ds_store_b32 v1, v0", "s_wait_dscnt 0x0", "ds_load_b32 v5, v4"
SIGNAL, WAIT = "s_barrier_signal -1", "s_barrier_wait -1"
OF_BLOCK = "s_lshl_b32 s10, s2, 10\nv_add_u32_e32 v6, s10, v1"
"""The place of a thread in a row of its work-group."""
STORE, STORED = "global_store_dword v6, v0, s[4:5]", "s_waitcnt vmcnt(0)"
LOAD = "v_add_u32_e32 v7, s10, v4\nglobal_load_dword v5, v7, s[4:5]"
STORED_GFX11 = "global_store_b32 v6, v0, s[4:5]", "s_waitcnt_vscnt null, 0x0"
LOAD_GFX11 = "v_add_nc_u32_e32 v7, s10, v4\nglobal_load_b32 v5, v7, s[4:5]"
EMPTY = "buffer_gl0_inv"
ONE = "v_cmp_eq_u32_e32 vcc, 0, v0\ns_and_saveexec_b64 s[12:13], vcc"


_NEWER = (
    ("v_add_u32", "v_add_nc_u32"),
    ("s_load_dwordx4", "s_load_b128"),
    ("s_load_dwordx2", "s_load_b64"),
    ("s_load_dword ", "s_load_b32 "),
)


def amd_text(body: str, chip: str) -> str:
    text = kernel_text(f"{OTHER}\n{body}", chip)
    for old, new in _NEWER if chip.startswith("gfx1") else ():
        text = text.replace(old, new)
    return text.replace("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0") if chip == "gfx1250" else text


def of_amd(
    body: str, chip: str = "gfx942", threads: int = 256
) -> list[tuple[str, tuple[int, ...]]]:
    """The barriers of an AMD kernel that are said to be redundant: their text, and the lines that
    go with them."""
    text = amd_text(body, chip)
    text = text.replace("max_flat_workgroup_size: 256", f"max_flat_workgroup_size: {threads}")
    assembly = read_assembly(text, "k.s")
    found = judged_amd(check(assembly, assembly.functions["k"]), finds_surplus=True).findings
    lines = text.split("\n")
    own = (each for each in found if each.rule is Rule.SURPLUS_BARRIER)
    return [(lines[each.line - 2].strip(), each.about) for each in own]


def lines(*each: str) -> str:
    return "\n".join(each)


@pytest.mark.parametrize(
    ("body", "chip", "before"),
    [
        pytest.param((WRITE, WROTE, AT_BARRIER, READ_OWN), "gfx942", [WROTE], id="own word"),
        pytest.param((WRITE, WROTE, AT_BARRIER, READ), "gfx942", [], id="the other's word"),
        pytest.param((READ, WROTE, AT_BARRIER, WRITE), "gfx942", [], id="its next write"),
        pytest.param((READ, WROTE, AT_BARRIER, READ_OWN), "gfx942", [WROTE], id="reads"),
        pytest.param(
            (WRITE, WROTE, *(AT_BARRIER,) * 3, READ), "gfx942", [WROTE, AT_BARRIER], id="three"
        ),
        pytest.param(
            (READ, AT_BARRIER, WROTE, AT_BARRIER, WRITE), "gfx942", [READ], id="a read in flight"
        ),
        pytest.param(
            (OF_BLOCK, STORE, AT_BARRIER, LOAD), "gfx942", [], id="a store that needs no wait"
        ),
        pytest.param(
            (OF_BLOCK, STORE, STORED, AT_BARRIER, ONE, STORE), "gfx942", [STORED], id="no flag"
        ),
        pytest.param(
            (OF_BLOCK, STORE, STORED, AT_BARRIER, ONE, STORE), "gfx90a", [], id="perhaps a flag"
        ),
        pytest.param(
            (WRITE, WROTE, AT_BARRIER, "s_memtime s[14:15]", READ_OWN), "gfx942", [], id="a clock"
        ),
        pytest.param(
            (OF_BLOCK, *STORED_GFX11, AT_BARRIER, EMPTY, AT_BARRIER, LOAD_GFX11), "gfx1100",
            [EMPTY], id="the barrier before a cache is emptied",
        ),
        pytest.param(
            (OF_BLOCK, WRITE, WROTE, AT_BARRIER, READ, READ, STORE, "ds_write_b32 v2, v0"),
            "gfx942", [], id="not proved",
        ),
        pytest.param(
            (STORE_LDS, DONE, SIGNAL, WAIT, SIGNAL, WAIT, "s_barrier_signal 3", LOAD_LDS),
            "gfx1250", [], id="by name",
        ),
    ],
)  # fmt: skip
def test_a_barrier_of_amd_is_redundant_where_every_pair_stays_ordered(
    body: tuple[str, ...], chip: str, before: list[str]
) -> None:
    assert [each for each, _ in of_amd(lines(*body), chip)] == before


def test_waves_of_a_work_group_of_one_need_no_barrier() -> None:
    def exchanged(last: int) -> str:
        return lines(f"v_xor_b32_e32 v4, {last}, v1", WRITE, WROTE, AT_BARRIER, READ)

    assert of_amd(exchanged(0xFC), threads=64)
    assert not of_amd(exchanged(0x1FC), threads=128)


def test_both_parts_of_a_barrier_go_together() -> None:
    twice = lines(STORE_LDS, DONE, SIGNAL, WAIT, SIGNAL, WAIT, LOAD_LDS)
    ((before, ends),) = of_amd(twice, "gfx1250")
    assert before == WAIT
    text = amd_text(twice, "gfx1250").split("\n")
    assert [text[end - 1] for end in ends] == [WAIT]
    assert text[ends[0] - 2] == SIGNAL
    # One wait is for the signals of two ways: neither goes.
    joined = lines(
        STORE_LDS, DONE, SIGNAL, WAIT, "s_cmp_eq_u32 s3, 0", "s_cbranch_scc1 .L1",
        SIGNAL, "s_branch .L2", ".L1:", SIGNAL, ".L2:", WAIT, LOAD_LDS,
    )  # fmt: skip
    assert [each for each, _ in of_amd(joined, "gfx1250")] == [DONE]


@pytest.mark.parametrize(
    ("body", "is_proved"),
    [
        ((*STORED_GFX11, AT_BARRIER, EMPTY, AT_BARRIER), True),
        ((*STORED_GFX11, AT_BARRIER, AT_BARRIER, EMPTY), True),
        ((*STORED_GFX11, EMPTY, AT_BARRIER, AT_BARRIER), False),
        # Done, or met, only at the barrier after that: a cache may have the old value again.
        ((STORED_GFX11[0], AT_BARRIER, EMPTY, STORED_GFX11[1], AT_BARRIER), False),
        (
            (*STORED_GFX11, "s_cbranch_scc1 .L1", AT_BARRIER, EMPTY, ".L1:", AT_BARRIER),
            False,
        ),
    ],
)
def test_a_cache_is_emptied_after_one_of_two_barriers(
    body: tuple[str, ...], is_proved: bool
) -> None:
    text = amd_text(lines(OF_BLOCK, "s_cmp_eq_u32 s3, 0", *body, LOAD_GFX11), "gfx1100")
    assembly = read_assembly(text, "k.s")
    verdict = judged_amd(check(assembly, assembly.functions["k"])).verdict
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_proved
