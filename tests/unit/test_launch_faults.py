"""Launches with a fault: one line, at its place, from ``fence-sim traffic`` and from Python."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_launches import HEAD
from test_race_amd_kernels import kernel_text

import fencewright
from fencewright.launches import ExecutionError
from fencewright.tools import fence_sim


def of_ptx(body: str) -> str:
    return f"""{HEAD}.visible .entry k(.param .u64 a)
{{.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 16 .b8 sh[1024];
ld.param.u64 %rd1, [a]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;
mov.u32 %r3, sh; mad.lo.u32 %r3, %r2, 4, %r3; mov.u32 %r1, 1;
{body} ret;}}
"""


def of_amd(body: str) -> str:
    begin = """s_load_dwordx2 s[4:5], s[0:1], 0x0
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
v_lshlrev_b32_e32 v3, 3, v0
v_mov_b32_e32 v2, 1
s_waitcnt lgkmcnt(0)
"""
    return kernel_text(f"{begin}{body}\ns_endpgm", "gfx942")


POLLS = "L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"
AMD_POLLS = """v_mov_b32_e32 v3, 0
.L:
global_load_dword v2, v3, s[4:5] sc1
s_waitcnt vmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v2
s_cbranch_vccnz .L"""
FAULTS = (
    (
        "ld.global.u32 %r1, [%rd4+2];",
        "unaligned: 4 bytes at byte 2 of argument 0, which is no multiple of 4 (",
    ),
    ("atom.global.add.u32 %r1, [%rd4+2], 1;", "no multiple of 4"),
    (
        "ld.global.u32 %r1, [%rd4+4096];",
        "of argument 0, which has 1024 bytes; give it 4100 or more",
    ),
    (POLLS, "hang: wave 0 of work-group 0 and 1 other poll at ld.volatile.global.u32"),
)
AMD_FAULTS = (
    ("global_atomic_add v1, v2, s[4:5] offset:2", "no multiple of 4"),
    ("global_load_dword v2, v1, s[4:5] offset:4092", "of data, which has 1024 bytes; give it"),
    (AMD_POLLS, "hang: wave 0 of work-group 0 polls at global_load_dword v2, v3, s[4:5] sc1"),
)
CASES = (
    *((of_ptx(body), "sm_90", said) for body, said in FAULTS),
    *((of_amd(body), "gfx942", said) for body, said in AMD_FAULTS),
)


def traffic(folder: Path, text: str, chip: str, *words: str) -> int:
    path = folder / ("k.ptx" if chip == "sm_90" else "k.s")
    path.write_text(text, encoding="utf-8")
    arguments = "i32[256]" if chip == "sm_90" else "i32[256], i32[256], i32[256]"
    launch = f"k<<<1, 64>>>({arguments})"
    return fence_sim.main(["traffic", str(path), "--mcpu", chip, "--launch", launch, *words])


@pytest.mark.parametrize(("text", "chip", "said"), CASES)
def test_a_fault_is_one_line_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, chip: str, said: str
) -> None:
    assert traffic(tmp_path, text, chip) == 2
    (line,) = capsys.readouterr().err.splitlines()
    file, number, column, severity, rest = line.split(":", 4)
    assert file.endswith(("k.ptx", "k.s"))
    assert int(number) > 1
    assert int(column) >= 1
    assert severity == " error"
    assert said in rest


@pytest.mark.parametrize(("text", "chip", "said"), CASES)
def test_a_fault_is_an_error_of_python(text: str, chip: str, said: str) -> None:
    size = 1 if chip == "sm_90" else 3
    with pytest.raises(ExecutionError, match=r"kernel\.(ptx|s):\d+") as raised:
        fencewright.execute(text, block=64, args=[np.zeros(256, np.int32) for _ in range(size)])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        (of_ptx("L: add.u32 %r1, %r1, 2; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"), "sm_90"),
        (of_amd(".L:\ns_add_u32 s8, s8, 2\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 .L"), "gfx942"),
    ],
)
def test_a_limit_of_steps_names_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, chip: str
) -> None:
    assert traffic(tmp_path, text, chip, "--limit", "1000") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        "a loop does not end, or the launch is too large; give fewer blocks or a greater --limit"
        in line
    )
    assert re.search(r"k\.(ptx|s):\d+:\d+: error", line)


@pytest.mark.parametrize(
    ("text", "chip"), [(of_ptx("L: bra L;"), "sm_90"), (of_amd(".L:\ns_branch .L"), "gfx942")]
)
def test_a_loop_of_nothing_hangs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, chip: str
) -> None:
    assert traffic(tmp_path, text, chip) == 2
    assert "hang: a loop without accesses does not end" in capsys.readouterr().err


READ = "ld.shared.u32 %r1, [%r3]; st.global.u32 [%rd4], %r1;"
COPY = "cp.async.ca.shared.global [%r3], [%rd4], 4; cp.async.wait_all;"
BULK = """mov.u32 %r4, sh+512; mov.u32 %r5, sh; setp.eq.u32 %p1, %r2, 0;
@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r4], 256;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 256, [%r4];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0; @!%p2 bra W;"""
AMD_READ = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)"
AMD_COPY = "s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[4:5]\ns_waitcnt vmcnt(0)\n"


@pytest.mark.parametrize(
    ("text", "chip", "byte"),
    [
        (of_ptx(READ), "sm_90", 0),
        (of_ptx(f"st.shared.u8 [%r3], %r1; {READ}"), "sm_90", 0),
        (of_ptx(f"setp.gt.u32 %p1, %r2, 40; @!%p1 st.shared.u32 [%r3], %r1; {READ}"), "sm_90", 164),
        (of_ptx(f"st.shared.u32 [%r3], %r1; {READ}"), "sm_90", None),
        (of_ptx(f"{COPY} {READ}"), "sm_90", None),
        (of_ptx(f"{BULK} {READ}"), "sm_90", None),
        (of_ptx(f"{BULK} add.u32 %r3, %r3, 128; {READ}"), "sm_90", 256),
        (of_amd(AMD_READ), "gfx942", 0),
        (of_amd(f"ds_write_b32 v1, v2\n{AMD_READ}"), "gfx942", None),
        (of_amd(f"ds_write2_b32 v3, v2, v2 offset1:1\n{AMD_READ}"), "gfx942", None),
        (of_amd(f"{AMD_COPY}{AMD_READ}"), "gfx942", None),
    ],
)
def test_shared_memory_that_nobody_wrote_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, chip: str, byte: int | None
) -> None:
    assert traffic(tmp_path, text, chip) == 0
    said = capsys.readouterr().err
    assert bool(said) is (byte is not None)
    assert byte is None or f"work-group 0 reads byte {byte} (" in said
    assert byte is None or "[uninitialised-shared]" in said
