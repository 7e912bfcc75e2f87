"""Clusters of work-groups on gfx1250: their ids, their barrier, and launches that cannot be."""

import numpy as np
import pytest
from test_race_amd_kernels import kernel_text

import fencewright
from fencewright.launches import ExecutionError
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Judgement
from fencewright.simulator.threads.launch import LaunchError, parse_launch

IDS = """s_load_b64 s[12:13], s[0:1], 0x0
s_getreg_b32 s6, hwreg(HW_REG_IB_STS2, 6, 4)
s_getreg_b32 s7, hwreg(HW_REG_IB_STS2, 21, 4)
s_bfe_u32 s8, ttmp6, 0x4000c
s_and_b32 s9, ttmp6, 15
s_add_co_i32 s8, s8, 1
s_mul_i32 s8, s8, ttmp9
s_add_co_i32 s8, s8, s9
s_cmp_eq_u32 s6, 0
s_cselect_b32 s8, ttmp9, s8
s_bfe_u32 s9, ttmp6, 0x40018
s_lshl_b32 s10, s8, 4
s_lshl_b32 s9, s9, 8
s_lshl_b32 s11, ttmp9, 16
s_or_b32 s7, s7, s9
s_or_b32 s7, s7, s11
v_mov_b32_e32 v1, s10
v_mov_b32_e32 v2, s7
v_mov_b32_e32 v3, s8
s_wait_kmcnt 0x0
global_store_b64 v1, v[2:3], s[12:13]
s_endpgm"""
"""Each work-group stores its rank, the last rank, the id of its cluster, and its own id."""


@pytest.mark.parametrize("size", [1, 2, 4])
def test_work_groups_know_their_cluster(size: int) -> None:
    out = np.zeros((8, 4), dtype=np.uint32)
    text = kernel_text(IDS, "gfx1250")
    cluster = None if size == 1 else size
    found = fencewright.execute(
        text, grid=8, block=32, args=(out, out.copy(), out.copy()), cluster=cluster
    )[0]
    assert found[:, 1].tolist() == list(range(8))
    words = [n % size | size - 1 << 8 | n // size << 16 for n in range(8)]
    assert found[:, 0].tolist() == words


MEET = """s_load_b64 s[12:13], s[0:1], 0x0
v_and_b32_e32 v0, 0x3ff, v0
v_readfirstlane_b32 s14, v0
s_lshl_b32 s15, ttmp9, {shift}
s_and_b32 s16, ttmp6, 15
s_add_co_i32 s15, s15, s16
s_lshl_b32 s16, s15, 2
s_xor_b32 s17, s16, 4
v_mov_b32_e32 v1, s16
v_mov_b32_e32 v2, s17
v_mov_b32_e32 v3, s15
s_wait_kmcnt 0x0
s_cmp_eq_u32 s14, 32
s_cbranch_scc0 .Lmeet
global_store_b32 v1, v3, s[12:13] scope:SCOPE_SE
s_wait_storecnt 0x0
.Lmeet:
{meet}global_load_b32 v4, v2, s[12:13] scope:SCOPE_SE
s_wait_loadcnt 0x0
global_store_b32 v1, v4, s[12:13] offset:64
s_endpgm"""
"""The second wave of each work-group writes its number; all waves read that of the neighbour."""
BARRIER = """s_barrier_signal_isfirst -1
s_barrier_wait -1
s_cbranch_scc0 .Lwait
s_barrier_signal -3
.Lwait:
s_barrier_wait -3
"""


def met(meet: str, cluster: int | None = 2) -> list[int]:
    out = np.zeros(32, dtype=np.uint32)
    text = kernel_text(MEET.format(meet=meet, shift=0 if cluster is None else 1), "gfx1250")
    arrays = (out, out.copy(), out.copy())
    return fencewright.execute(text, grid=8, block=64, args=arrays, cluster=cluster)[0].tolist()


def test_work_groups_of_a_cluster_meet() -> None:
    assert met(BARRIER)[16:24] == [n ^ 1 for n in range(8)]
    again = BARRIER.replace(".Lwait", ".Lagain")
    assert met(BARRIER + again)[16:24] == [n ^ 1 for n in range(8)]


@pytest.mark.parametrize(
    ("meet", "cluster", "problem"),
    [
        (BARRIER, None, "barrier -3 exists in clusters alone"),
        ("s_barrier_signal -3\n", 2, "barrier -3 has its signal of this phase already"),
        ("s_barrier_wait -3\n", 2, "hang: .*s_barrier_wait -3"),
        ("s_barrier_wait -1\n", 2, "hang: .*s_barrier_wait -1"),
        ("s_barrier_signal -4\n", 2, "only barriers -3, -1 and 1 to 16"),
    ],
)
def test_what_cannot_be_is_said(meet: str, cluster: int | None, problem: str) -> None:
    with pytest.raises(ExecutionError, match=problem):
        met(meet, cluster)


def test_a_work_group_that_has_ended_is_waited_for_no_more() -> None:
    """Of each cluster one work-group stores and ends; the other waits for that."""
    ends = "s_bitcmp1_b32 s15, 0\ns_cbranch_scc1 .Lend\n"
    text = MEET.replace("s_endpgm", ".Lend:\ns_endpgm").format(meet=ends + BARRIER, shift=1)
    out = np.zeros(32, dtype=np.uint32)
    arrays = (out, out.copy(), out.copy())
    code = kernel_text(text, "gfx1250")
    found = fencewright.execute(code, grid=8, block=64, args=arrays, cluster=2)[0]
    assert found.tolist()[16:24] == [1, 0, 3, 0, 5, 0, 7, 0]


def test_clusters_that_cannot_be_are_refused() -> None:
    words = np.zeros(32, dtype=np.uint32)
    arrays = (words, words.copy(), words.copy())
    old = kernel_text("s_endpgm", "gfx942")
    with pytest.raises(LaunchError, match="gfx942 has no clusters: leave the cluster out"):
        fencewright.execute(old, grid=8, block=64, args=arrays, cluster=2)
    text = kernel_text("s_endpgm", "gfx1250")
    with pytest.raises(LaunchError, match="a cluster of 32 blocks: 16 are the most"):
        fencewright.execute(text, grid=32, block=64, args=arrays, cluster=32)
    dims = "    .cluster_dims:\n      - 4\n      - 1\n      - 1\n    .name: k"
    fixed = text.replace("    .name: k", dims)
    fencewright.execute(fixed, grid=8, block=64, args=arrays)
    with pytest.raises(LaunchError, match="compiled for clusters of 4x1x1 blocks, not 2x1x1"):
        fencewright.execute(fixed, grid=8, block=64, args=arrays, cluster=2)


def test_races_in_clusters_are_not_judged() -> None:
    code = read_assembly(kernel_text("s_endpgm", "gfx1250"), "k.s")
    found = judge_kernel(code, parse_launch("k<<<2, 64, 0, 2>>>(i32[8], i32[8], i32[8])"))
    assert found.judgement is Judgement.NOT_JUDGED
    assert "work-groups of an AMD cluster" in found.problem
