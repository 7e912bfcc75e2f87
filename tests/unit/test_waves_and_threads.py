"""Kernels that whole waves do not execute: threads do, with one result or one honest line, and
``fence-sim traffic``, which counts the accesses of waves, says at which instruction it ends."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_launch_faults import HEAD

import fencewright
from fencewright.launches import ExecutionError, LaunchError
from fencewright.tools import fence_sim

RECURSION = """.visible .func (.param .b32 o) f(.param .b32 n)
{ .reg .pred %p; .reg .b32 %t, %n; ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra Z;
sub.u32 %t, %n, 1; { .param .b32 a; .param .b32 q; st.param.b32 [a], %t; call.uni (q), f, (a);
ld.param.b32 %t, [q]; } add.u32 %t, %t, %n; st.param.b32 [o], %t; ret;
Z: st.param.b32 [o], 0; ret; }
"""
CALL = """mov.u32 %r3, 5; { .param .b32 a; .param .b32 q; st.param.b32 [a], %r3;
call.uni (q), f, (a); ld.param.b32 %r1, [q]; } st.global.u32 [%rd4], %r1;"""
HOLDS = """.global .u32 v[2] = {7, 9};
.global .u64 q[3] = {generic(p), generic(v)+4, 5};
.global .u64 p = generic(q);
"""
LOADS = """mov.u64 %rd5, p; ld.global.u64 %rd6, [%rd5]; ld.global.u64 %rd7, [%rd6+8];
ld.global.u32 %r1, [%rd7]; ld.global.u64 %rd6, [%rd6]; setp.ne.u64 %p1, %rd5, %rd6;
@%p1 add.u32 %r1, %r1, 100; st.global.u32 [%rd4], %r1;"""
MATRIX = """mov.u32 %r3, 16; wmma.load.a.sync.aligned.row.m16n16k16.global.f16
{%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [%rd1], %r3; st.global.u32 [%rd4], %r4;"""
VECTORS = """mov.f32 %f1, 0f3F800000; red.global.add.v2.f32 [%rd1], {%f1, %f1};"""
MULTIMEM = "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1]; st.global.u32 [%rd4], %r1;"
TEXTURE = "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r2}]; st.global.f32 [%rd4], %f1;"
BYTES = """mov.u32 %r3, sh; st.shared.u32 [%r3], %r2; bar.sync 0;
ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r5, %r6}, [%r3]; st.global.u32 [%rd4], %r5;"""
CASES = {
    "recursion": (RECURSION, CALL, 15, "'call.uni' is not executed: f, which it calls, calls itself"),
    "addresses in variables": (HOLDS, LOADS, 9, ""),
    "atomics of vectors": (
        "", VECTORS, int(np.float32(256).view(np.uint32)), "atomics of vectors are not",
    ),
    "lanes of matrices": (
        "", MATRIX, "depends on the result of wmma.load.a", "'wmma.load.a.sync.aligned.row",
    ),
    "multimem": ("", MULTIMEM, "what multimem.ld_reduce", "'multimem.ld_reduce"),
    "textures": (".global .texref t;\n", TEXTURE, "what tex.1d.v4.f32.s32", "'tex.1d.v4.f32.s32'"),
    "matrices of bytes": ("", BYTES, "what ldmatrix.sync.aligned", "only rows of b16 in shared"),
}  # fmt: skip


def kernel(case: str) -> str:
    before, body, *_ = CASES[case]
    return f"""{HEAD}{before}.visible .entry k(.param .u64 a)
{{.reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<2>;
.shared .align 16 .b8 sh[1024];
ld.param.u64 %rd1, [a]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;
{body} ret;}}
"""


@pytest.mark.parametrize("block", [32, 256])
@pytest.mark.parametrize("case", CASES)
def test_a_launch_has_its_result_or_one_line(case: str, block: int) -> None:
    """From 256 threads on whole waves would execute what they can."""
    expected = CASES[case][2]
    zeros = np.zeros(256, np.uint32)
    if isinstance(expected, str):
        with pytest.raises(ExecutionError, match=re.escape(expected)) as raised:
            fencewright.execute(kernel(case), block=block, args=[zeros])
        assert re.search(r"kernel\.ptx:\d+", str(raised.value))
        return
    (found,) = fencewright.execute(kernel(case), block=block, args=[zeros])
    if case == "atomics of vectors":
        expected = int(np.float32(block).view(np.uint32))
    assert found[:2].tolist() == [expected] * 2


@pytest.mark.parametrize("case", CASES)
def test_traffic_counts_or_says_where_it_ends(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, said = tmp_path / "k.ptx", CASES[case][3]
    path.write_text(kernel(case), encoding="utf-8")
    words = ["traffic", str(path), "--mcpu", "sm_90", "--launch", "k<<<1, 64>>>(i32[256])"]
    assert fence_sim.main(words) == (2 if said else 0)
    error = capsys.readouterr().err
    assert error.count("\n") == bool(said)
    assert said in error
    assert not said or re.search(r"k\.ptx:\d+:\d+: error: ", error)


@pytest.mark.parametrize("threads", [32, 256])
def test_a_struct_of_one_pointer_has_the_address_of_its_array(threads: int) -> None:
    """As thrust::device_ptr and the tiles of CUB's scans; an array of 8 bytes is its bytes."""
    text = f"""{HEAD}.visible .entry k(.param .align 8 .b8 p[8], .param .align 4 .b8 s[8])
{{ .reg .u32 %r<9>; .reg .u64 %rd<5>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [s+4];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;
ld.global.u32 %r3, [%rd3]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd3], %r3; ret; }}
"""
    found, pair = np.arange(threads, dtype=np.uint32), np.array([3, 4], np.uint32)
    result, _ = fencewright.execute(text, block=threads, args=(found, pair))
    assert (result == found + 4).all()
    with pytest.raises(LaunchError, match="is a number of 32 bits, not a buffer"):
        fencewright.execute(text.replace("s[8]", "s[4]"), block=threads, args=(found, found))
