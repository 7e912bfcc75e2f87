"""Named barriers in kernels that are executed: who waits for whom, values, races, misuse."""

import numpy as np
import pytest
from test_race_amd_kernels import kernel_text

from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Hang, Launch, LaunchError, allocate
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.verdict import Judgement
from fencewright.simulator.semantics.named_barriers import BarrierAction, NamedBarriers, Undefined
from fencewright.simulator.threads.launch import parse_launch

KERNEL = """s_load_b64 s[12:13], s[0:1], 0x10
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
v_xor_b32_e32 v3, 0x80, v1
v_readfirstlane_b32 s14, v0
s_mov_b32 m0, {count:#x}
s_cmp_eq_u32 s14, 0
s_cbranch_scc0 .Lready
s_barrier_init m0
.Lready:
s_barrier_signal -1
s_barrier_wait -1
s_cmp_lt_u32 s14, 64
s_cbranch_scc0 .Lend
s_barrier_join 1
ds_store_b32 v1, v0
{before}{signal}
s_barrier_wait 1
ds_load_b32 v2, v3
s_wait_dscnt 0x0
s_wait_kmcnt 0x0
global_store_b32 v1, v2, s[12:13]
.Lend:
s_endpgm"""
"""The first two of three waves exchange through LDS, at a barrier for two."""
WAIT, TWO = "s_wait_dscnt 0x0\n", 2 << 16 | 1
CHIPS = pytest.mark.parametrize("chip", ["gfx1200", "gfx1250"])


def assembly(
    chip: str, *, before: str = WAIT, signal: str = "s_barrier_signal 1", count: int = TWO
) -> Assembly:
    body = KERNEL.format(before=before, signal=signal, count=count)
    return read_assembly(kernel_text(body, chip), "k.s")


def executed(code: Assembly) -> list[int]:
    """The values that the first two waves find."""
    program = program_of(code.functions["k"])
    words = np.zeros(256, dtype=np.uint32)
    launch = Launch((1, 1, 1), (96, 1, 1), (words, words, words))
    memory = execute(program, launch, allocate(program, launch), lambda _: None)
    return memory.contents("out", np.uint32).tolist()[:64]


def judged(code: Assembly) -> Judgement:
    found = judge_kernel(code, parse_launch("k<<<1, 96>>>(i32[256], i32[256], i32[256])"))
    assert not found.problem
    return found.judgement


@CHIPS
@pytest.mark.parametrize("signal", ["s_barrier_signal 1", "s_barrier_signal m0"])
def test_two_waves_of_three_meet(chip: str, signal: str) -> None:
    code = assembly(chip, signal=signal)
    assert executed(code) == [n ^ 32 for n in range(64)]
    assert judged(code) is Judgement.NO_RACE


@CHIPS
def test_what_orders_nothing_is_found(chip: str) -> None:
    """The barrier waits for no memory; one that counts a single signal waits for nobody."""
    assert judged(assembly(chip, before="")) is Judgement.RACE
    assert judged(assembly(chip, count=1 << 16 | 1)) is Judgement.RACE


@CHIPS
def test_a_barrier_that_counts_more_waves_than_come_hangs(chip: str) -> None:
    code = assembly(chip, count=3 << 16 | 1)
    with pytest.raises(Hang, match="s_barrier_wait 1"):
        executed(code)
    assert judged(code) is Judgement.HANG


@CHIPS
def test_the_first_signal_says_so(chip: str) -> None:
    signal = "s_barrier_signal_isfirst 1\ns_cselect_b32 s15, 32, 0\nv_add_nc_u32_e32 v3, s15, v3"
    found = executed(assembly(chip, signal=signal))
    assert found[:24] == [(n ^ 32) + 8 for n in range(24)]
    assert found[32:] == [n ^ 32 for n in range(32, 64)]


@CHIPS
def test_what_is_undefined_is_refused(chip: str) -> None:
    with pytest.raises(LaunchError, match="barrier 2 is not initialised"):
        executed(assembly(chip, signal="s_barrier_signal 2"))
    with pytest.raises(LaunchError, match="the wave has joined no barrier"):
        executed(assembly(chip, signal="s_barrier_leave\ns_barrier_leave"))


def test_a_wave_that_leaves_is_counted_no_more() -> None:
    barriers = NamedBarriers()
    barriers.act(0, BarrierAction.INITIALISE, TWO)
    for wave in (0, 1):
        barriers.act(wave, BarrierAction.JOIN, 1)
    assert barriers.act(0, BarrierAction.SIGNAL, 1).is_first
    barriers.act(0, BarrierAction.WAIT, 1)
    assert not barriers.may_pass(0)
    with pytest.raises(Undefined, match="has signalled"):
        barriers.act(0, BarrierAction.LEAVE, 0)
    barriers.act(1, BarrierAction.LEAVE, 0)
    assert barriers.may_pass(0)
    barriers.passed(0)
    barriers.act(0, BarrierAction.WAIT, 1)
    assert not barriers.may_pass(0)
    assert barriers.act(0, BarrierAction.SIGNAL, 1).phase == 1
    assert barriers.may_pass(0)
