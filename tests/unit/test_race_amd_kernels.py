"""Launches of AMD kernels under the race detector: findings, silence, what is not judged."""

from dataclasses import replace

import numpy as np
import pytest

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.simulator.cdna.rows import CdnaConfiguration, Counted
from fencewright.simulator.execution.executor import LateCopies, execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.execution.program import Executed
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.simulator.race.amd.detector import Detector, Fault, Side
from fencewright.simulator.race.amd.facts import Home
from fencewright.simulator.race.amd.kernels import KernelObserver, sites_of
from fencewright.simulator.race.amd.polls import polling_lines
from fencewright.simulator.race.amd.rules import Access, Path
from fencewright.simulator.race.amd.shadow import Shadow
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Verdict
from fencewright.simulator.threads.launch import LaunchError, parse_launch

BEGIN = """
s_load_dwordx4 s[8:11], s[0:1], 0x0
s_load_dwordx2 s[12:13], s[0:1], 0x10
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
v_mov_b32_e32 v2, 1
v_mov_b32_e32 v6, 0
v_readfirstlane_b32 s14, v0
s_waitcnt lgkmcnt(0)
"""
"""data in s[8:9], flags in s[10:11], results in s[12:13]; the first lane's number in s14."""


def kernel_text(body: str, chip: str = "gfx942", *, split: bool = False) -> str:
    """The assembly of a kernel ``k`` on data, flag and out."""
    code = "\n".join(f"\t{each}" if each[-1:] != ":" else each for each in body.split("\n"))
    arguments = "".join(
        f"      - .name: {name}\n        .offset: {8 * n}\n        .size: 8\n"
        "        .value_kind: global_buffer\n"
        for n, name in enumerate(("data", "flag", "out"))
    )
    return f"""
\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
\t.type k,@function
k:
{code}
.amdhsa_kernel k
\t.amdhsa_next_free_vgpr 8
\t.amdhsa_next_free_sgpr 16
\t.amdhsa_accum_offset 8
\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t.amdhsa_user_sgpr_count 2
\t.amdhsa_group_segment_fixed_size {0 if split else 1024}
\t.amdhsa_tg_split {int(split)}
.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
{arguments}    .group_segment_fixed_size: {0 if split else 1024}
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name: k
...
\t.end_amdgpu_metadata
"""


def assembly(body: str, chip: str = "gfx942", *, split: bool = False) -> Assembly:
    return read_assembly(kernel_text(body, chip, split=split), "k.s")


def judged(
    body: str, chip: str = "gfx942", *, grid: int = 1, block: int = 128, split: bool = False,
    is_whole: bool = True,
) -> Verdict:  # fmt: skip
    """The verdict on a launch, which is executed to its end unless it is not ``is_whole``."""
    launch = parse_launch(f"k<<<{grid}, {block}>>>(i32[256], i32[256], i32[256])")
    found = judge_kernel(assembly(BEGIN + body, chip, split=split), launch)
    assert bool(found.problem) is not is_whole, found.problem
    return found


def kinds(verdict: Verdict) -> list[str]:
    return [each.kind for each in verdict.findings]


def message(release: str, acquire: str, load: str, store: str = "", poll: str = "") -> str:
    """A work-group that hands data to another one."""
    return f"""s_cmp_eq_u32 s2, 0
s_cbranch_scc0 .Lpoll
global_store_dword v1, v2, s[8:9]
{release}global_store_dword v1, v2, s[10:11]{store}
s_endpgm
.Lpoll:
global_load_dword v3, v1, s[10:11]{poll}
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v3
s_cbranch_vccnz .Lpoll
{acquire}{load}
s_waitcnt vmcnt(0) lgkmcnt(0)
s_endpgm"""


VECTOR, SCALAR = "global_load_dword v4, v1, s[8:9]", "s_load_dword s3, s[8:9], 0x0"
NEW = ("buffer_wbl2 sc1\ns_waitcnt vmcnt(0)\n", "buffer_inv sc1\n")
OLD = ("s_waitcnt vmcnt(0)\n", "buffer_wbinvl1_vol\n")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx90a"])
@pytest.mark.parametrize("keeps", [(True, True), (False, True), (True, False)])
def test_each_side_of_a_message_is_needed(chip: str, keeps: tuple[bool, bool]) -> None:
    release, acquire = OLD if chip == "gfx90a" else NEW
    store, poll = ("", " glc") if chip == "gfx90a" else (" sc1", " sc1")
    parts = release if keeps[0] else "", acquire if keeps[1] else ""
    found = judged(message(*parts, VECTOR, store, poll), chip, grid=2, block=64)
    assert kinds(found) == ([] if all(keeps) else ["write-read"])
    assert found.executed == found.accesses == 4


def test_the_scalar_cache_is_not_invalidated_with_the_others() -> None:
    found = judged(message(*NEW, SCALAR, " sc1", " sc1"), grid=2, block=64)
    assert kinds(found) == ["write-read"]
    assert "s_dcache_inv" in found.findings[0].text
    body = message(NEW[0], NEW[1] + "s_dcache_inv\n", SCALAR, " sc1", " sc1")
    assert "s_dcache_inv" in judged(body, grid=2, block=64, is_whole=False).problem


def test_a_plain_poll_of_another_xcd_is_no_way_to_meet() -> None:
    found = judged(message(*NEW, VECTOR, " sc1", ""), grid=2, block=64)
    assert "write-read" in kinds(found)


EXCHANGE = """v_xor_b32_e32 v3, 0x1fc, v1
global_store_dword v1, v0, s[8:9]
{between}s_barrier
{after}global_load_dword v4, v3, s[8:9]
s_waitcnt vmcnt(0)
s_endpgm"""


@pytest.mark.parametrize(
    ("between", "after", "split", "faults"),
    [
        ("", "", False, 0),
        ("", "", True, 1),
        ("s_waitcnt vmcnt(0)\n", "", True, 1),
        ("s_waitcnt vmcnt(0)\n", "buffer_inv sc0\n", True, 0),
    ],
)
def test_waves_of_a_group_share_an_l1_unless_it_is_split(
    between: str, after: str, split: bool, faults: int
) -> None:
    found = judged(EXCHANGE.format(between=between, after=after), split=split)
    assert len(found.errors) == faults, found.findings


LEADER = """s_cmp_eq_u32 s2, 0
s_cbranch_scc0 .Lpoll
v_xor_b32_e32 v3, 0x1fc, v1
global_store_dword v3, v2, s[8:9]
{before}s_barrier
s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lend
{release}global_store_dword v6, v2, s[10:11]{store}
s_endpgm
.Lpoll:
s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lmeet
.Lagain:
global_load_dword v3, v6, s[10:11]{poll}
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v3
s_cbranch_vccnz .Lagain
{acquire}.Lmeet:
s_barrier
{after}global_load_dword v4, v1, s[8:9]
s_waitcnt vmcnt(0)
.Lend:
s_endpgm"""
WAIT = "s_waitcnt vmcnt(0)\n"


@pytest.mark.parametrize(
    ("chip", "split", "before", "after", "faults"),
    [
        # The write-back of gfx942 drains what the CU has queued, of every wave; gfx90a has none.
        ("gfx942", False, "", "", 0),
        ("gfx90a", False, "", "", 1),
        ("gfx90a", False, WAIT, "", 0),
        ("gfx942", True, "", "buffer_inv sc1\n", 1),
        ("gfx942", True, WAIT, "", 1),
        ("gfx942", True, WAIT, "buffer_inv sc1\n", 0),
    ],
)
def test_one_wave_releases_and_acquires_for_all(
    chip: str, split: bool, before: str, after: str, faults: int
) -> None:
    release, acquire = OLD if chip == "gfx90a" else NEW
    store, poll = ("", " glc") if chip == "gfx90a" else (" sc1", " sc1")
    body = LEADER.format(
        before=before, release=release, store=store, poll=poll, acquire=acquire, after=after
    )
    found = judged(body, chip, grid=2, split=split)
    assert len(found.errors) == faults, found.findings


def test_without_a_barrier_nothing_orders_waves() -> None:
    body = EXCHANGE.format(between="", after="").replace("s_barrier\n", "")
    assert {*kinds(judged(body))} & {"write-read", "read-write"}
    assert not kinds(judged(body, block=64)), "one wave is in order"


@pytest.mark.parametrize("offset", [0, 64])
def test_the_second_half_of_a_read_counts(offset: int) -> None:
    """The second word is of the same wave at offset 0, and of the other one at 64."""
    body = f"""ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
v_and_b32_e32 v3, 0xff, v1
s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lend
ds_read2_b32 v[4:5], v3 offset1:{offset}
s_waitcnt lgkmcnt(0)
.Lend:
s_endpgm"""
    assert bool(judged(body).errors) is (offset == 64)


LDS_FLAG = """s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lpoll
ds_write_b32 v6, v2 offset:512
ds_write_b32 v6, v2 offset:516
s_endpgm
.Lpoll:
ds_read_b32 v4, v6 offset:516
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v4
{branch}ds_read_b32 v4, v6 offset:512
s_waitcnt lgkmcnt(0)
s_endpgm"""


def test_a_loop_that_polls_lds_is_meant_to() -> None:
    (note,) = judged(LDS_FLAG.format(branch="s_cbranch_vccnz .Lpoll\n")).findings
    assert note.kind == "shared memory that nobody wrote"
    assert {*kinds(judged(LDS_FLAG.format(branch="")))} & {"write-read", "read-write"}


def test_which_loads_poll() -> None:
    flow = flow_of(assembly(BEGIN + message("", "", VECTOR)).functions["k"])
    lines = [
        each.instruction.text
        for block in flow.blocks
        for each in block.steps
        if each.instruction.line in polling_lines(flow)
    ]
    assert lines == ["global_load_dword v3, v1, s[10:11]"]


def test_a_poll_that_never_ends_is_a_hang() -> None:
    found = judged(message(*NEW, VECTOR, " sc1", " sc1").replace("s2, 0", "s2, 9"), block=64)
    assert kinds(found) == ["hang"]
    assert str(found).startswith("hang in this launch")


def test_where_each_wave_of_a_hang_waits() -> None:
    """One wave waits at a barrier for one that polls what it would store afterwards."""
    body = """v_cmp_gt_u32_e32 vcc, 64, v0
s_cbranch_vccz .Lpoll
s_barrier
v_mov_b32_e32 v2, 1
ds_write_b32 v1, v2
s_endpgm
.Lpoll:
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v3
s_cbranch_vccnz .Lpoll
s_barrier
s_endpgm"""
    (found,) = judged(BEGIN + body, block=128).errors
    assert found.text == (
        "hang: wave 0 of work-group 0 waits at k.s:25 (s_barrier); wave 1 of work-group 0 polls at "
        "k.s:30 (ds_read_b32); nothing changes any more"
    )


def test_a_wave_that_computes_for_long_is_no_hang() -> None:
    body = """s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lcompute
v_cmp_gt_u32_e32 vcc, 32, v0
s_mov_b64 s[4:5], 0
.Lagain:
global_load_dword v3, v1, s[10:11] sc1
s_waitcnt vmcnt(0)
v_cmp_ne_u32_e32 vcc, 0, v3
s_or_b64 s[4:5], vcc, s[4:5]
s_andn2_b64 exec, exec, s[4:5]
s_cbranch_execnz .Lagain
s_endpgm
.Lcompute:
s_movk_i32 s3, 0x10
.Lcount:
s_sub_u32 s3, s3, 1
s_cmp_lg_u32 s3, 0
s_cbranch_scc1 .Lcount
v_subrev_u32_e32 v1, 0x100, v1
global_store_dword v1, v2, s[10:11] sc1
s_endpgm"""
    assert not kinds(judged(body))


@pytest.mark.parametrize(
    ("again", "found"), [("s_cbranch_scc1 .Lagain", []), ("s_branch .Lagain", ["hang"])]
)
def test_polls_that_a_count_ends_are_no_hang(again: str, found: list[str]) -> None:
    """The count of rounds changes in both loops, and decides in one of them."""
    body = f"""s_movk_i32 s3, 0x1000
.Lagain:
global_load_dword v3, v1, s[10:11] sc1
s_waitcnt vmcnt(0)
v_cmp_ne_u32_e32 vcc, 0, v3
s_cbranch_vccnz .Lend
s_sub_u32 s3, s3, 1
s_cmp_lg_u32 s3, 0
{again}
.Lend:
s_endpgm"""
    assert kinds(judged(body)) == found


def test_writes_of_one_value_are_warnings() -> None:
    one = judged("global_store_dword v6, v2, s[8:9]\ns_endpgm")
    assert kinds(one) == ["write-write of the same value"]
    assert not one.errors
    other = judged("v_mov_b32_e32 v2, s14\nglobal_store_dword v6, v2, s[8:9]\ns_endpgm")
    assert "write-write" in kinds(other)
    assert other.errors


def test_what_is_not_executed_is_not_judged() -> None:
    found = judged("s_dcache_inv\ns_endpgm", is_whole=False)
    assert str(found).startswith("not judged: k.s:")
    outside = judged("global_store_dword v1, v2, s[8:9] offset:4092\ns_endpgm", is_whole=False)
    assert "of data, which has 1024 bytes" in outside.problem


def test_a_launch_that_cannot_be_is_refused() -> None:
    code = assembly(BEGIN + "s_endpgm")
    with pytest.raises(LaunchError, match="takes 3 arguments"):
        judge_kernel(code, parse_launch("k<<<1, 64>>>(i32[4])"))
    with pytest.raises(LaunchError, match="gfx942 has no clusters"):
        judge_kernel(code, parse_launch("k<<<2, 64, 0, 2>>>(i32[4], i32[4], i32[4])"))
    with pytest.raises(LaunchError, match="no kernel 'l'"):
        judge_kernel(code, parse_launch("l<<<1, 64>>>()"))
    kernel = code.functions["k"]
    of_object = replace(kernel, descriptor={"tg_split": 0}, arguments=())
    with pytest.raises(LaunchError, match="give its assembly"):
        judge_kernel(Assembly(code.chip, {"k": of_object}), parse_launch("k<<<1, 64>>>()"))


def test_the_reverse_order_runs_every_lane() -> None:
    body = "v_add_u32_e32 v2, s2, v0\nglobal_store_dword v1, v2, s[8:9]\ns_endpgm"
    program = program_of(assembly(BEGIN + body).functions["k"])
    ids = np.zeros(100, dtype=np.uint32)
    launch = Launch((1, 1, 1), (100, 1, 1), (ids, ids, ids))
    memory = allocate(program, launch)
    order: list[int] = []

    def note(executed: Executed) -> None:
        order.extend(executed.waves.tolist())

    after = execute(program, launch, memory, note, with_parts=True, is_reverse=True)
    assert order[:2] == [1, 0]
    assert after.contents("data", np.uint32).tolist() == list(range(100))


# Loads to LDS as events

_LOAD = Access(Path.VECTOR, True, False, Counted((Counter.VMCNT,)), l1=True)
_READ = Access(Path.LDS, True, False, Counted((Counter.LGKMCNT,)))


@pytest.mark.parametrize(
    ("left", "faults"),
    [(None, {Fault.NOT_PERFORMED}), (1, {Fault.NOT_PERFORMED}), (0, set[Fault]())],
)
def test_a_load_to_lds_is_there_when_vmcnt_says_so(left: int | None, faults: set[Fault]) -> None:
    detector = Detector([Home(n, 0, 0, 0) for n in range(2)], 2)
    memory, lds = Shadow("x"), Shadow("LDS")
    for at in (0, 4):
        detector.copy(0, _LOAD, at, [Side(memory, [at])], [Side(lds, [at])])
    if left is not None:
        detector.wait(0, [(Counter.VMCNT, left)])
    detector.barrier([0, 1])
    detector.access(1, _READ, 9, [Side(lds, [0, 4])])
    assert {each.fault for each in detector.races.values()} == faults
    assert left != 1 or [each.first.site for each in detector.races.values()] == [4]


@pytest.mark.parametrize("waits", [True, False])
def test_a_load_to_lds_may_come_before_a_read_that_was_not_waited_for(waits: bool) -> None:
    detector = Detector([Home(0, 0, 0, 0)], 1)
    memory, lds = Shadow("x"), Shadow("LDS")
    detector.access(0, _READ, 1, [Side(lds, [0])])
    if waits:
        detector.wait(0, [(Counter.LGKMCNT, 0)])
    detector.copy(0, _LOAD, 2, [Side(memory, [0])], [Side(lds, [0])])
    assert bool(detector.races) is not waits


# Loads to LDS in kernels: what they write is there when vmcnt says so, whenever it is written

_RESOURCE = """s_mov_b64 s[4:5], s[8:9]
s_mov_b32 s6, 0x1000
s_mov_b32 s7, 0x00020000
v_lshlrev_b32_e32 v5, 4, v0
v_and_b32_e32 v7, 0xff, v1
s_mov_b32 m0, 0
"""
"""data as a buffer in s[4:7]; in v5 the lane's place in data of 16 bytes, in v7 in a wave's LDS."""
_TO_LDS = (
    ("gfx90a", "buffer_load_dword v1, s[4:7], 0 offen lds"),
    ("gfx942", "buffer_load_dword v1, s[4:7], 0 offen lds"),
    ("gfx942", "global_load_lds_dword v1, s[8:9]"),
    ("gfx950", "global_load_lds_dword v1, s[8:9]"),
    ("gfx950", "buffer_load_dwordx4 v5, s[4:7], 0 offen lds"),
    ("gfx950", "global_load_lds_dwordx4 v5, s[8:9]"),
)
_COPIES = """s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Ldone{0}
COPY
s_waitcnt vmcnt(0)
.Ldone{0}:
"""
"""Wave 0 copies, and waits."""
_READS_IT = "ds_read_b32 v3, v7\n"
_READ_HERE = "s_waitcnt lgkmcnt(0)\n"
_READ_BY_ALL = f"{_COPIES.format(1)}s_barrier\n{_READS_IT}{_READ_HERE}"


@pytest.mark.parametrize(("chip", "copy"), _TO_LDS)
@pytest.mark.parametrize(
    ("body", "block", "said"),
    [
        (f"COPY\ns_waitcnt vmcnt(0)\n{_READS_IT}", 64, ""),
        (f"COPY\n{_READS_IT}", 64, "the write may still be outstanding: put s_waitcnt vmcnt(0)"),
        (_READ_BY_ALL, 128, ""),
        (_READ_BY_ALL.replace("s_waitcnt vmcnt(0)", "s_nop 0"), 128, "put s_waitcnt vmcnt(0)"),
        (_READ_BY_ALL.replace("s_barrier", "s_nop 0"), 128, "put __syncthreads() between them"),
        # The same place in LDS, by m0, for the next copy.
        (f"COPY\ns_waitcnt vmcnt(0)\n{_READS_IT}{_READ_HERE}COPY\n", 64, ""),
        (f"COPY\ns_waitcnt vmcnt(0)\n{_READS_IT}COPY\n", 64, "the read may still be outstanding"),
        (f"{_READ_BY_ALL}s_barrier\n{_COPIES.format(2)}", 128, ""),
        (f"{_READ_BY_ALL}{_COPIES.format(2)}", 128, "put __syncthreads() between them"),
        ("COPY\nds_write_b32 v7, v2\n", 64, "put s_waitcnt vmcnt(0)"),
        ("COPY\nglobal_store_dword v1, v2, s[8:9]\n", 64, ""),
    ],
)
def test_kernels_copy_to_lds(chip: str, copy: str, body: str, block: int, said: str) -> None:
    code = assembly(f"{BEGIN}{_RESOURCE}{body.replace('COPY', copy)}s_endpgm", chip)
    launch = f"k<<<1, {block}>>>(i32[1024]=iota, i32[64], i32[64])"
    found = judge_kernel(code, parse_launch(launch))
    assert not found.problem
    assert bool(found.errors) is bool(said)
    assert all(said in each.text for each in found.findings)


_STORES_IT = """s_waitcnt lgkmcnt(0)
global_store_dword v1, v3, s[12:13]
v_cmp_eq_u32_e32 vcc, 0, v3
s_cbranch_vccz .Lend
global_store_dword v1, v3, s[12:13] offset:512
.Lend:
s_endpgm"""


@pytest.mark.parametrize(("chip", "copy"), _TO_LDS)
@pytest.mark.parametrize("waits", [True, False])
def test_a_late_copy_is_seen_where_it_is_waited_for(chip: str, copy: str, waits: bool) -> None:
    wait = "s_waitcnt vmcnt(0)\n" if waits else ""
    code = assembly(f"{BEGIN}{_RESOURCE}{copy}\n{wait}{_READS_IT}{_STORES_IT}", chip)
    function, configuration = code.functions["k"], CdnaConfiguration(chip)
    program = program_of(function)
    ones = np.ones(1024, dtype=np.uint32)
    launch = Launch((1, 1, 1), (64, 1, 1), (ones, ones, np.zeros(256, dtype=np.uint32)))
    memory = allocate(program, launch)
    sites = sites_of(function, program, configuration, {})
    for copies, is_there in ((None, True), (LateCopies(), waits)):
        observer = KernelObserver(sites, program, launch, memory, configuration, copies)
        after = execute(program, launch, memory, observer, with_parts=True, copies=copies)
        found = after.contents("out", np.uint32)[:64]
        assert found.tolist() == [int(is_there)] * 64
    given = parse_launch("k<<<1, 64>>>(i32[1024]=ones, i32[64], i32[256])")
    verdict = judge_kernel(code, given)
    assert bool(verdict.errors) is not waits
    assert bool(verdict.missed) is waits, "what follows from the old value is executed"


@pytest.mark.parametrize(
    ("write", "is_written"),
    [
        ("", False),
        ("ds_write_b32 v1, v2 offset:4\n", False),
        ("ds_write_b32 v1, v2\n", True),
        ("ds_add_u32 v1, v2\n", True),
    ],
)
def test_lds_that_nobody_wrote(write: str, is_written: bool) -> None:
    body = f"{write}v_mov_b32_e32 v3, 0\nds_read_b32 v4, v3\ns_waitcnt lgkmcnt(0)\ns_endpgm"
    found = judged(body, block=64)
    assert kinds(found) == ([] if is_written else ["shared memory that nobody wrote"])
    assert not found.errors


_FIRST_OF_THREE = """global_atomic_add v3, v6, v2, s[10:11] sc0
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s15, v3
s_cmp_eq_u32 s2, 1
s_cbranch_scc0 .Lother
s_cmp_eq_u32 s15, 0
s_cbranch_scc0 .Lend
global_store_dword v6, v2, s[8:9]
.Lend:
s_endpgm
.Lother:
s_cmp_eq_u32 s2, 2
s_cbranch_scc0 .Lend
global_load_dword v4, v6, s[8:9]
s_waitcnt vmcnt(0)
s_endpgm"""
"""The middle one of three work-groups writes if it is the first to take a ticket."""


def test_a_wave_is_held_so_that_another_one_wins() -> None:
    found = judged(_FIRST_OF_THREE, grid=3, block=64)
    assert len(found.errors) == 1
    assert "work-group 1" in found.errors[0].text
    assert found.schedules > 2
    assert not found.missed


def test_the_wave_that_is_held_goes_on_when_the_others_poll() -> None:
    parts = message(*NEW, VECTOR, " sc1", " sc1")
    found = judged(parts, grid=2, block=64)
    assert not found.findings
    assert found.schedules > 2


def test_two_orders_are_all_where_no_value_orders_anything() -> None:
    assert judged("global_store_dword v1, v2, s[8:9]\ns_endpgm", block=64).schedules == 2
