"""Races that only some sizes of a launch have, of grids whose size is not in the text."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.text import read_ptx

_KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r5, %r2, %r3, %r1; mul.wide.s32 %rd2, %r5, 8; add.s64 %rd3, %rd1, %rd2;
    {body}
    ret;
}}
"""
"""%r5: the number of the thread in a grid of one dimension; %rd3: its own 8 bytes."""

_FREE, _RACE, _LAUNCH = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.LAUNCH


def verdict_of(body: str, launch: Launch | None = None) -> Verdict:
    file = read_ptx(_KERNEL.format(body=body), "k.ptx")
    return judge(kernel_of(file, file.functions["k"]), launch)


@pytest.mark.parametrize(
    ("apart", "kind"), [(8, _RACE), (63 * 8, _RACE), (258 * 8, _LAUNCH), (100_000 * 8, _LAUNCH)]
)
def test_places_so_many_threads_apart_meet_in_grids_of_more(apart: int, kind: VerdictKind):
    """A ghost row is read one row's length away: no thread of a shorter grid writes it."""
    verdict = verdict_of(f"ld.global.u64 %rd4, [%rd3+{apart}]; st.global.u64 [%rd3], %rd4;")
    assert verdict.kind is kind
    assert all(each.condition.startswith("as --grid") for each in verdict.conflicts) == (
        kind is _LAUNCH
    )


@pytest.mark.parametrize(("column", "kind"), [(8208, _LAUNCH), (16, _RACE)])
def test_a_row_and_columns_meet_in_a_large_grid(column: int, kind: VerdictKind):
    """With one size known a product of two is decided: races of large launches are found, of a
    boundary with ten conflicts too."""
    reads = "".join(f"ld.global.u64 %rd7, [%rd6+{column + 8 * n}];" for n in (0, 2, 5, 9, 12))
    writes = "st.global.u64 [%rd3], %rd2; st.global.u64 [%rd3+2105344], %rd2;"
    rows = "mul.wide.s32 %rd5, %r5, 4112; add.s64 %rd6, %rd1, %rd5;"
    assert verdict_of(f"{rows}{writes}{reads}").kind is kind


@pytest.mark.parametrize(("row", "kind"), [(512, _FREE), (511, _LAUNCH)])
def test_a_block_with_two_rows_has_half_of_its_threads_in_one(row: int, kind: VerdictKind):
    verdict = verdict_of(
        f"mov.u32 %r4, %tid.y; mad.lo.s32 %r6, %r4, {row}, %r1; mul.wide.s32 %rd5, %r6, 8; add.s64 %rd6, %rd1, %rd5;"
        "st.global.u64 [%rd6], %rd2;",
        Launch(grid=(1, 1, 1)),
    )
    assert verdict.kind is kind
    assert kind is not _FREE or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(
    ("wait", "kind"), [("", _LAUNCH), ("cp.async.wait_all;", _FREE)], ids=["no wait", "wait"]
)
def test_a_copy_that_one_thread_may_not_wait_for_races_with_others(wait: str, kind: VerdictKind):
    """Of a block of three dimensions z3 does not decide if a thread meets its own copy."""
    verdict = verdict_of(
        ".shared .align 16 .b8 s[512]; mov.u32 %r4, %tid.y; mov.u32 %r6, %tid.z; mov.u32 %r9, s;"
        "mov.u32 %r7, %ntid.y; mad.lo.s32 %r8, %r7, %r6, %r4; mad.lo.s32 %r8, %r3, %r8, %r1;"
        "mov.u32 %r14, %ntid.z; mul.lo.s32 %r14, %r14, %r7; mul.lo.s32 %r14, %r14, %r3;"
        "setp.gt.u32 %p1, %r8, 127; @%p1 bra J;"
        "L: shl.b32 %r10, %r8, 2; add.s32 %r10, %r10, %r9; add.s32 %r8, %r8, %r14;"
        "cp.async.ca.shared.global [%r10], [%rd1], 4; setp.lt.u32 %p1, %r8, 128; @%p1 bra L;"
        f"J: cp.async.commit_group; {wait} bar.sync 0; shl.b32 %r11, %r1, 2;"
        "sub.s32 %r12, %r9, %r11; ld.shared.u32 %r13, [%r12+508];",
        Launch(grid=(1, 1, 1)),
    )
    assert verdict.kind is kind


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("setp.ne.s32 %p1, %r5, 511;", _FREE),
        ("shl.b32 %r9, %r5, 31; setp.ne.s32 %p1, %r9, 0;", _LAUNCH),
        ("setp.gt.s32 %p1, %r5, 511;", _LAUNCH),
    ],
)
def test_a_boundary_has_one_thread_of_each_row(condition: str, kind: VerdictKind):
    """Of threads with one index only those of another row write another place."""
    verdict = verdict_of(
        f"{condition} @%p1 bra J; mov.u32 %r4, %tid.y; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ntid.y;"
        "mad.lo.s32 %r8, %r6, %r7, %r4; mul.wide.s32 %rd5, %r8, 4112; add.s64 %rd6, %rd1, %rd5;"
        "st.global.u64 [%rd6], %rd2; J:"
    )
    assert verdict.kind is kind
    assert kind is not _FREE or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(("row", "kind"), [(2560, _FREE), (512, _LAUNCH), (1, _RACE)])
def test_a_row_for_each_block_is_long_enough_or_not(row: int, kind: VerdictKind):
    """No mask of a block's index takes a bit from it, and no sign is that of an index."""
    verdict = verdict_of(
        f"and.b32 %r6, %r2, 2147483647; mul.lo.s32 %r6, %r6, {row}; shr.s32 %r7, %r1, 31;"
        "add.s32 %r8, %r1, %r7; add.s32 %r6, %r6, %r8; mul.wide.u32 %rd5, %r6, 4;"
        "add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r6;"
    )
    assert verdict.kind is kind
