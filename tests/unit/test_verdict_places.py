"""Places of verdicts: parameters and shared memory whose addresses kernels compute, and the threads
that a kernel means to have."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx

_HEADER = """.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align {align} .b8 open[];
.visible .entry k(.param .align 8 .b8 all[64], .param .u64 out)
{{
    .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<64>;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
"""
FREE, RACE, LAUNCH = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.LAUNCH
NOT_JUDGED = VerdictKind.NOT_JUDGED


def verdict_of(body: str, align: int = 16) -> Verdict:
    """The verdict of a kernel with a body, and open shared memory of an alignment."""
    text = f"{_HEADER.format(align=align)}{body}\nOUT: ret;\n}}\n"
    file = read_ptx(text, "k.ptx")
    return judge(kernel_of(file, file.functions["k"]))


BY_ADDRESS = """
    mov.b64 %rd1, {}; add.s64 %rd2, %rd1, 16;
    ld.param.v2.u64 {{%rd3, %rd4}}, [%rd2+-8];
    mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd{}, %rd5; ld.global.u32 %r5, [%rd6{}];
    add.s64 %rd7, %rd4, %rd5; st.global.u32 [%rd7], %r5;
"""


@pytest.mark.parametrize(
    ("parameter", "source", "beside", "kind"),
    [
        ("all", 3, "", FREE),  # Two pointers of one parameter.
        ("all", 4, "", FREE),
        ("all", 4, "+4", RACE),  # The same pointer: the next thread's word.
        ("other", 3, "", NOT_JUDGED),  # No parameter of the kernel.
    ],
)
def test_parameters_are_loaded_by_their_addresses(
    parameter: str, source: int, beside: str, kind: VerdictKind
):
    verdict = verdict_of(".reg .b64 other;\n" + BY_ADDRESS.format(parameter, source, beside))
    assert verdict.kind is (LAUNCH if kind is RACE and verdict.condition else kind)


UP = """
    mov.u32 %r4, open; cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd2, %rd1; add.s64 %rd2, %rd2, {first};
    and.b64 %rd3, %rd2, 1023; mov.u64 %rd4, 1024; sub.s64 %rd5, %rd4, %rd3;
    add.s64 %rd6, %rd2, %rd5; setp.eq.s64 %p1, %rd3, 0; selp.b64 %rd7, %rd2, %rd6, %p1;
    cvta.to.shared.u64 %rd8, %rd7; cvt.u32.u64 %r5, %rd8;
"""
"""%r5: open shared memory, from the next multiple of 1024 on."""
DOWN = """
    mov.u32 %r4, open; add.u32 %r5, %r4, 1023; and.b32 %r5, %r5, -1024;
"""
SWIZZLED = """
    setp.ge.u32 %p2, %r1, 256; @%p2 bra OUT;
    shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6;
    and.b32 %r8, %r7, 896; shr.u32 %r8, %r8, {by}; xor.b32 %r9, %r7, %r8;
    st.shared.u32 [%r9], %r1;
    {barrier}
    xor.b32 %r10, %r9, 512; ld.shared.u32 %r11, [%r10];
"""


@pytest.mark.parametrize("begin", [UP.format(first=0), UP.format(first=48), DOWN])
@pytest.mark.parametrize("align", [16, 128, 1024])
def test_shared_memory_is_rounded_to_a_multiple(begin: str, align: int):
    right = begin + SWIZZLED.format(by=3, barrier="bar.sync 0;")
    assert verdict_of(right, align).kind is FREE
    assert verdict_of(right.replace("bar.sync 0;", ""), align).kind is RACE


def test_what_lies_before_a_multiple_may_be_its_own():
    # The first word is in the rounded part where the variable begins at a multiple.
    first = UP.format(first=0) + "st.shared.u32 [open], %r1; bar.sync 0; ld.shared.u32 %r6, [%r5];"
    alone = "setp.ne.u32 %p2, %r1, 0; @%p2 bra OUT;\n"
    unsynchronised = first.replace("bar.sync 0;", "").replace("st.shared", "@%p3 st.shared")
    both = "setp.eq.u32 %p3, %r1, 7;" + unsynchronised
    assert verdict_of(alone + first).kind is FREE
    assert verdict_of(both).kind in (RACE, LAUNCH)
    apart = both.replace(UP.format(first=0), UP.format(first=4))
    assert verdict_of(apart).kind is FREE


LANES = """
    and.b32 %r4, %r1, {low}; shl.b32 %r5, %r4, 2; mov.u32 %r6, open; add.u32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r1; bar.sync 0; ld.shared.u32 %r8, [%r7]; {more}
"""


def test_a_kernel_that_tells_few_threads_apart_is_meant_for_as_many():
    verdict = verdict_of(LANES.format(low=31, more=""))
    assert verdict.kind is LAUNCH
    assert "--block 64" in verdict.condition
    asks = "setp.eq.u32 %p1, %r1, 40; @%p1 bra OUT; st.shared.u32 [open+1024], %r8;"
    assert verdict_of(LANES.format(low=31, more=asks)).kind is RACE
    assert verdict_of(LANES.format(low=15, more="")).kind is LAUNCH


PRODUCTS = """
    setp.ge.u32 %p1, %r1, {threads}; @%p1 bra OUT;
    mov.u32 %r4, open; mov.u32 %r10, 0;
    and.b32 %r5, %r4, 262128; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd1, %r5;
    or.b64 %rd2, %rd1, 4611686293305360384;
    shl.b32 %r6, %r1, 4; add.u32 %r7, %r4, %r6;
L:  st.shared.v4.u32 [%r7], {{%r1, %r1, %r1, %r1}};
    fence.proxy.async.shared::cta; bar.sync 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, %rd2, %rd2, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {after}
    add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 4; @%p2 bra L;
"""


@pytest.mark.parametrize(
    ("threads", "after", "kind"),
    [
        (128, "", NOT_JUDGED),  # Each has waited for the product of all.
        (256, "", RACE),  # Two warpgroups: one may overwrite what the other reads.
        (256, "bar.sync 0;", FREE),
        (128, "bar.sync 0;", FREE),
    ],
)
def test_a_warpgroup_waits_for_its_product(threads: int, after: str, kind: VerdictKind):
    assert verdict_of(PRODUCTS.format(threads=threads, after=after)).kind is kind


GROUPS = """
    setp.ge.u32 %p1, %r1, 128; @%p1 bra OUT;
    mov.u32 %r4, %reserved_smem_offset_1; cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd2, %rd1;
    shl.b32 %r5, %r1, 3; cvt.u64.u32 %rd3, %r5; add.u64 %rd4, %rd2, %rd3;
    st.u64 [%rd4+16], %rd3; st.shared.u32 [open], %r2; bar.sync 0;
    xor.b32 %r6, %r5, 512; cvt.u64.u32 %rd5, %r6; add.u64 %rd6, %rd2, %rd5; ld.u64 %rd7, [%rd6+16];
"""


def test_memory_that_the_system_reserves_is_an_object_of_its_own():
    assert verdict_of(GROUPS.replace("st.shared.u32 [open], %r2;", "")).kind is FREE
    assert verdict_of(GROUPS.replace("bar.sync 0;", "")).kind is RACE
    beside = "ld.shared.u32 %r7, [open];"
    alone = GROUPS.replace("st.shared.u32 [open], %r2;", beside)
    assert verdict_of(alone).kind is FREE
