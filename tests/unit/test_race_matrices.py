"""Races by execution: matrices of wmma and the operands of wgmma."""

import pytest
from test_race_pairs import kinds, verdict

from fencewright.simulator.race.verdict import Judgement
from fencewright.simulator.semantics.tensors import SWIZZLES, TensorMap
from fencewright.simulator.threads.matrices import WARPGROUP, chunks, share

_WMMA = """
    st.shared.u32 [%r22], %r1;
    {between}
    mov.u32 %r3, 16;
    wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {{%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}},
        [%r20], %r3;
    {after}
    st.shared.u32 [%r22], 0;
    ret;"""
_WGMMA = """
    st.shared.u32 [%r22], %r1;
    {proxy}
    bar.sync 0;
    shr.u32 %r3, %r20, 4;
    cvt.u64.u32 %rd7, %r3;
    or.b64 %rd7, %rd7, 0x0000000100010000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r4, %r5, %r6, %r7}}, {{%r8, %r9, %r10, %r11}},
        %rd7, 1, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    {wait}
    bar.sync 0;
    st.shared.u32 [%r22], 0;
    ret;"""


@pytest.mark.parametrize(
    ("between", "after", "found"),
    [
        ("bar.sync 0;", "bar.sync 0;", set[str]()),
        ("", "bar.sync 0;", {"write-read"}),
        ("bar.sync 0;", "", {"write-read"}),
    ],
)
@pytest.mark.parametrize("threads", [32, 128])
def test_wmma_reads_what_lanes_wrote(
    between: str, after: str, found: set[str], threads: int
) -> None:
    assert kinds(_WMMA.format(between=between, after=after), f"1, {threads}") == found


def test_wmma_writes_what_lanes_read() -> None:
    body = """
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r20], {%r4, %r5, %r6, %r7}, 16;
    ld.shared.u16 %r3, [%r22]; ret;"""
    assert kinds(body, "1, 32") == {"write-read"}


@pytest.mark.parametrize(
    ("proxy", "wait", "found"),
    [
        ("fence.proxy.async;", "wgmma.wait_group.sync.aligned 0;", set[str]()),
        ("", "wgmma.wait_group.sync.aligned 0;", {"proxy"}),
        ("fence.proxy.async;", "", {"source reused too early"}),
        ("fence.proxy.async;", "wgmma.wait_group.sync.aligned 1;", {"source reused too early"}),
    ],
)
def test_operands_of_wgmma_are_read_through_the_async_proxy(
    proxy: str, wait: str, found: set[str]
) -> None:
    assert kinds(_WGMMA.format(proxy=proxy, wait=wait), "1, 128") == found


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("fence.proxy.async; bar.sync 0;", set[str]()),
        ("bar.sync 0;", {"proxy"}),
        ("fence.proxy.async;", {"copy not waited for"}),
    ],
)
def test_cp_async_writes_through_the_generic_proxy(between: str, found: set[str]) -> None:
    """A wait is for the thread's own copies: the others' need a barrier besides."""
    copy = f"""
    cp.async.ca.shared.global [%r22], [%rd5], 4;
    cp.async.wait_all;
    {between}
    bar.warp.sync 0xFFFFFFFF;"""
    body = _WGMMA.format(proxy="", wait="wgmma.wait_group.sync.aligned 0;")
    body = body.replace("    st.shared.u32 [%r22], %r1;\n    \n    bar.sync 0;", copy, 1)
    assert kinds(body, "1, 128") == found


def test_results_of_matrices_are_not_known() -> None:
    body = _WGMMA.format(proxy="fence.proxy.async;", wait="wgmma.wait_group.sync.aligned 0;")
    body = body.replace("ret;", "setp.eq.u32 %p1, %r4, 0; @%p1 ret; st.global.u32 [%rd1], 1; ret;")
    assert verdict(body, "1, 128").judgement is Judgement.NOT_JUDGED


@pytest.mark.parametrize(("swizzle", "number"), [("128B", 1), ("64B", 2), ("32B", 3)])
def test_chunks_are_where_a_tensor_copy_puts_them(swizzle: str, number: int) -> None:
    """The second 32 bytes of each of 64 rows; of the narrowest swizzle the first."""
    width = int(swizzle[:-1])
    tensor = TensorMap(0, 6, (width // 2, 64), (width,), (width // 2, 64), SWIZZLES[swizzle])
    first = 32 % width
    descriptor = first >> 4 | (8 * width >> 4) << 32 | number << 62
    found = sorted(at for lane in range(WARPGROUP) for at in chunks(descriptor, 64, False, lane))
    assert found == sorted(
        tensor.swizzled(row * width + first + at) for row in range(64) for at in (0, 16)
    )


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_chunks_of_an_operand_without_gaps_are_all_of_it(number: int, is_transposed: bool) -> None:
    """64 columns of 16: the offsets that place one core matrix, or one atom, after the other."""
    width = {0: 16, 1: 128, 2: 64, 3: 32}[number]
    if is_transposed:
        atom = 8 * width
        leading, stride = (1024, 128) if number == 0 else (atom, 1024)
    else:
        leading, stride = (1024, 128) if number == 0 else (0, 8 * width)
    descriptor = leading >> 4 << 16 | stride >> 4 << 32 | number << 62
    found = [at for lane in range(WARPGROUP) for at in chunks(descriptor, 64, is_transposed, lane)]
    assert len(found) == len(set(found)) == 128
    if is_transposed or number in (0, 3):
        assert sorted(found) == list(range(0, 2048, 16))


def test_each_element_is_one_lanes() -> None:
    found = [at for lane in range(32) for at in share(16, 16, 64, 2, lane)]
    assert sorted(found) == [64 * line + 2 * at for line in range(16) for at in range(16)]
