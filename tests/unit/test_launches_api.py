"""Kernels executed and judged from Python, with NumPy's arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_amd_kernels import STORE, TAIL
from test_launches import HEAD
from test_race_amd_kernels import kernel_text

import fencewright
from fencewright import launches
from fencewright.launches import ExecutionError
from fencewright.simulator.race.rules import Fault
from fencewright.simulator.race.verdict import Judgement
from fencewright.simulator.threads.launch import LaunchError

ROOT = Path(__file__).parents[2]
SCALE = f"""{HEAD}.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 by, .param .u32 n)
{{.reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r3, 32, %r2;
setp.ge.u32 %p1, %r4, %r1; @%p1 ret; mul.wide.u32 %rd3, %r4, 4;
add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
ld.global.f32 %f2, [%rd4]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd5], %f3; ret;}}
"""


def test_arrays_come_back_and_arguments_stay() -> None:
    x, y = np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros(64, np.float32)
    result = fencewright.execute(
        SCALE, "scale", grid=2, block=32, args=(x, y, np.float32(0.5), np.int64(60))
    )
    assert (result[1] == np.where(np.arange(64) < 60, np.arange(64) / 2, 0)).all()
    assert (result[0] == x).all()
    assert result[0].shape == (8, 8)
    assert not y.any()
    assert result[2:] == (0.5, 60)


def test_sizes_are_numbers_of_numpy_too() -> None:
    x = np.arange(64, dtype=np.float32)
    sizes: dict[str, Any] = {
        "grid": np.int64(2),
        "block": np.array([32, 1]),
        "shared": np.int32(16),
    }
    args = (x, np.zeros(64, np.float32), 2.0, 64)
    result = fencewright.execute(SCALE, args=args, **sizes)
    assert (result[1] == 2 * x).all()


def test_large_launches_are_executed_by_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(4096, dtype=np.float32)
    monkeypatch.setattr(launches, "run_launch", _no_threads)
    _, y, *_ = fencewright.execute(SCALE, grid=128, block=32, args=(x, np.zeros_like(x), 3.0, 4000))
    assert (y == np.where(x < 4000, 3 * x, 0)).all()


def _no_threads(*given: object, **others: object) -> None:
    raise AssertionError("threads execute it one by one")


@pytest.mark.parametrize(
    ("old", "new"),
    [("mul.f32 %f3, %f2, %f1", "mov.u32 %r5, %clock; cvt.rn.f32.u32 %f3, %r5"),
     ("st.global.f32", "st.release.gpu.global.f32")],
)  # fmt: skip
def test_others_are_executed_thread_by_thread(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    x = np.arange(4096, dtype=np.float32)
    monkeypatch.setattr(launches, "run_launch", _no_threads)
    with pytest.raises(AssertionError, match="one by one"):
        fencewright.execute(
            SCALE.replace(old, new), grid=128, block=32, args=(x, x.copy(), 3.0, 4000)
        )


def test_a_fault_of_a_large_launch_is_that_of_threads() -> None:
    x = np.arange(4000, dtype=np.float32)
    with pytest.raises(ExecutionError, match="out of bounds: 4 bytes at byte 16000 of x"):
        fencewright.execute(SCALE, grid=128, block=32, args=(x, x.copy(), 3.0, 4096))


def test_an_array_given_twice_is_one() -> None:
    x = np.ones(32, np.float32)
    first, second, *_ = fencewright.execute(SCALE, grid=1, block=(32,), args=(x, x, 3.0, 32))
    assert first is second
    assert (first == 3).all()


def test_the_verdict_of_a_launch() -> None:
    x = np.ones(64, np.float32)
    verdict = fencewright.check(SCALE, grid=2, block=32, args=(x, np.zeros_like(x), 3.0, 64))
    assert verdict.judgement is Judgement.NO_RACE
    assert str(verdict).startswith("no race in this launch (2 blocks x 32 threads, 2 schedules")
    shifted = SCALE.replace("st.global.f32 [%rd5]", "st.global.f32 [%rd5+4]")
    verdict = fencewright.check(shifted, grid=2, block=32, args=(x, x, 3.0, 63))
    assert verdict.judgement is Judgement.RACE
    assert {each.kind for each in verdict.findings} == {"write-read"}


def test_what_does_not_end_is_an_error_of_one_line() -> None:
    x = np.ones(16, np.float32)
    with pytest.raises(ExecutionError, match="out of bounds: 4 bytes at byte 64 of x") as raised:
        fencewright.execute(SCALE, block=32, args=(x, x, 1.0, 32))
    assert "\n" not in str(raised.value)
    endless = SCALE.replace("ret;}", "L: ld.relaxed.gpu.global.u32 %r5, [%rd1]; bra L; }")
    with pytest.raises(ExecutionError, match="hang: 8 threads"):
        fencewright.execute(endless, block=32, args=(x, x, 1.0, 8))


def test_values_that_nobody_knows_are_not_given() -> None:
    unknown = SCALE.replace("mul.f32 %f3, %f2, %f1;", "mov.u32 %r5, %clock; mov.b32 %f3, %r5;")
    clocked = fencewright.execute(unknown, block=32, args=(np.ones(32, np.float32),) * 2 + (1.0, 4))
    assert clocked[0][:4].any()
    odd = SCALE.replace("mul.f32 %f3, %f2, %f1;", "tanh.approx.foo.f32 %f3, %f2;")
    with pytest.raises(ExecutionError, match=r"depends on the result of|is not checked"):
        fencewright.execute(odd, block=32, args=(np.ones(32, np.float32),) * 2 + (1.0, 4))


@pytest.mark.parametrize(
    ("kernel", "options", "problem"),
    [
        ("none", {}, "there is no kernel 'none': there is scale"),
        ("scale", {}, "scale declares no .reqntid"),
        ("scale", {"block": 32}, "takes 4 arguments"),
        ("scale", {"block": 0}, "block is 0: one to three positive numbers"),
        ("scale", {"block": (1, 1, 1, 1)}, "one to three positive numbers"),
        ("scale", {"block": 4.0}, "block is 4.0: one to three positive numbers"),
        ("scale", {"grid": None}, "grid is None: one to three positive numbers"),
        ("scale", {"block": "4"}, "block is '4': one to three positive numbers"),
        ("scale", {"block": 1, "args": 7}, "args is 7: a tuple of the kernel's arguments is needed"),
        ("scale", {"block": 1, "args": b"x"}, "args is b'x': a tuple"),
        ("scale", {"block": 1, "args": np.ones(4)}, "a tuple of the kernel's arguments is needed"),
        ("scale", {"block": 1, "shared": -1}, "shared is -1: a number of bytes"),
        ("scale", {"block": 1, "shared": 1.5}, "shared is 1.5: a number of bytes"),
        ("scale", {"block": 1, "args": [[1.0] * 64, 0, 0.0, 0]}, "argument 0 is a list: a number"),
        ("scale", {"block": 1, "args": [np.array([None]), 0, 0.0, 0]}, "of |O: numbers in the"),
        ("scale", {"block": 1, "args": [np.ones(4, ">f4"), 0, 0.0, 0]}, "of >f4: numbers in the"),
        ("scale", {"block": 1, "args": [np.ones(4, "M8[s]"), 0, 0.0, 0]}, "numbers in the"),
        ("scale", {"block": 1, "args": ["x", 0, 0.0, 0]}, "argument 0 is 'x': a number or a NumPy"),
    ],
)  # fmt: skip
def test_bad_launches(kernel: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(LaunchError, match=problem):
        fencewright.execute(SCALE, kernel, **options)  # pyright: ignore[reportArgumentType]


def test_what_observers_do_not_know_is_executed_and_not_judged() -> None:
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 out) {
.reg .b64 %rd1; .reg .b32 %r1;
.shared .align 16 .b8 tile[16];
ld.param.u64 %rd1, [out]; mov.u32 %r1, 3; st.shared.u32 [tile], %r1; fence.proxy.async.shared::cta;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 16;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
}"""
    (found,) = fencewright.execute(text, block=1, args=(np.ones(4, np.uint32),))
    assert found.tolist() == [4, 1, 1, 1]
    verdict = fencewright.check(text, block=1, args=(np.ones(4, np.uint32),))
    assert "not judged" in str(verdict)
    assert "cp.reduce.async.bulk" in verdict.problem


READS_SHARED = f"""{HEAD}.visible .entry k(.param .u64 out) {{
.reg .b64 %rd1; .reg .b32 %r<4>;
.shared .align 4 .b32 tile[64];
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
FILL
ld.shared.b32 %r2, [tile+8]; st.global.b32 [%rd1], %r2; ret;
}}"""


def test_what_is_not_written_yet_is_no_finding_beside_its_race() -> None:
    text = READS_SHARED.replace("FILL", "setp.ne.s32 %p1, %r1, 0; @%p1 bra R;"
        "st.shared.b32 [tile+8], %r1; R:").replace(".reg .b64", ".reg .pred %p<2>; .reg .b64")  # fmt: skip
    verdict = fencewright.check(text, block=64, args=(np.ones(4, np.uint32),))
    assert verdict.judgement is Judgement.RACE
    assert Fault.UNWRITTEN not in {each.kind for each in verdict.findings}


@pytest.mark.parametrize(
    ("fill", "is_written"),
    [
        ("", False),
        ("st.shared.b32 [tile+4], %r1;", False),
        ("st.shared.b32 [tile+8], %r1;", True),
        ("atom.shared.add.u32 %r3, [tile+8], 1;", True),
        ("st.shared.v2.b32 [tile+8], {%r1, %r1};", True),
        ("cp.async.ca.shared.global [tile+8], [%rd1], 4; cp.async.wait_all;", True),
    ],
)
def test_shared_memory_that_nobody_wrote(fill: str, is_written: bool) -> None:
    x = np.ones(4, np.uint32)
    verdict = fencewright.check(READS_SHARED.replace("FILL", fill), block=1, args=(x,))
    assert verdict.judgement is Judgement.NO_RACE
    assert [each.kind for each in verdict.findings] == ([] if is_written else [Fault.UNWRITTEN])
    if not is_written:
        (finding,) = verdict.findings
        assert not finding.is_error
        assert "thread 0 of block 0 reads tile[2] at kernel.ptx" in finding.text


ADD = """\tv_and_b32_e32 v2, 0x3ff, v0
\tv_add_u32_e32 v2, 7, v2
"""


def amd_text(body: str) -> str:
    return (
        '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.text\n\t.globl kernel\n'
        f"\t.type kernel,@function\nkernel:\n{body}{STORE}.Lfunc_end0:\n{TAIL.format(more='')}"
    )


def test_amd_assembly_is_executed() -> None:
    out = np.zeros((8, 8), np.uint32)
    found, number = fencewright.execute(amd_text(ADD), block=64, args=(out, 5))
    assert found.tolist() == [[8 * row + n + 7 for n in range(8)] for row in range(8)]
    assert number == 5
    assert not out.any()


@pytest.mark.parametrize(
    ("body", "more", "error", "message"),
    [
        (ADD, {"args": (np.zeros(4, np.uint32), 5)}, ExecutionError, "which has 16 bytes"),
        ("\tv_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]\n\tv_accvgpr_read_b32 v2, a0\n", {},
         ExecutionError, "out depends on the result of 'v_mfma"),
        (ADD, {"kernel": "other"}, LaunchError, "there is no kernel 'other': there is kernel"),
        (ADD, {"block": None}, LaunchError, "kernel does not say its block"),
        (ADD, {"cluster": 2}, LaunchError, "gfx942 has no clusters: leave the cluster out"),
        (ADD, {"args": (None, 5)}, ExecutionError, "out of bounds: 4 bytes at 0x0, where there is nothing"),
        (ADD, {"grid": 1 << 30}, LaunchError, "work-items in one dimension: 4294967295 are"),
        (ADD, {"args": (5,)}, LaunchError, "takes 2 arguments"),
        (ADD, {"block": 512}, LaunchError, "up to 256 threads, not 512"),
    ],
)  # fmt: skip
def test_amd_launches_that_cannot_be(
    body: str, more: dict[str, Any], error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {"block": 64, "args": (np.zeros(64, np.uint32), 5), **more}
    with pytest.raises(error, match=message):
        fencewright.execute(amd_text(body), **given)


def test_an_array_may_be_given_twice_to_an_amd_kernel() -> None:
    body = """s_load_dwordx2 s[10:11], s[0:1], 0x8
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v0, s[10:11]
s_endpgm"""
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    found = fencewright.execute(kernel_text(body), block=64, args=(x, x, y))
    assert [each.tolist() for each in found] == [list(range(64))] * 2 + [[0] * 64]


def test_a_launch_of_amd_assembly_is_judged() -> None:
    text = (ROOT / "tests/lit/tools/fence-check/race-amd-message.s").read_text()
    args = [np.zeros(64, np.int32) for _ in range(3)]
    wrong = fencewright.check(text, "wrong", grid=2, block=64, args=args)
    assert wrong.judgement is Judgement.RACE
    assert "buffer_wbl2 sc1" in wrong.errors[0].text
    right = fencewright.check(text, "right", grid=2, block=64, args=args)
    assert str(right).startswith("no race in this launch (2 blocks x 64 threads")
    with pytest.raises(LaunchError, match="name one of the kernels: wrong, stale, right"):
        fencewright.check(text, args=args)


def test_findings_of_amd_kernels_are_at_lines_of_the_source() -> None:
    text = (ROOT / "examples/races/last_block.s").read_text()
    args = [np.zeros(size, np.int32) for size in (256, 4, 1, 1)]
    (finding,) = fencewright.check(text, "last_block", grid=4, block=64, args=args).errors
    source = (ROOT / "examples/races/last_block.hip").read_text().splitlines()
    for did, line in (("reads byte 0 of argument 1", "all +="), ("wrote it", "sums[blockIdx.x] =")):
        number = next(at for at, each in enumerate(source, 1) if line in each)
        assert f"{did} at last_block.hip:{number} (" in finding.text
