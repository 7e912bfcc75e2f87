"""Machine code of gfx1250 read back for the machine: lane masks of a word, split waits, two in one."""

import subprocess

import pytest

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    AsyncCopy,
    AsyncWait,
    BarrierInit,
    BarrierJoin,
    BarrierLeave,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CacheInstruction,
    CdnaInstruction,
    CompareSwap,
    NamedBarrier,
    Segment,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.condition import Memory
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, Placement, Program, Thread
from fencewright.simulator.programs.amd.rows import row_of
from fencewright.simulator.programs.amd.thread import HazardError, ThreadLaunch, read_thread
from fencewright.simulator.semantics.amd import MEANINGS
from fencewright.tools.llvm_tools import find_llvm_tool

LLVM_MC = find_llvm_tool("llvm-mc")
FRAME = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	s_load_b64 s[4:5], s[0:1], 0x0
	s_load_b32 s9, s[0:1], 0x8
	v_mov_b32_e32 v0, 0
	s_wait_kmcnt 0x0
{body}
	global_store_b32 v0, v1, s[4:5]
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name:           x
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           n
        .offset:         8
        .size:           4
        .value_kind:     by_value
    .name:           k
...
	.end_amdgpu_metadata
"""


def thread(*body: str, n: int = 3) -> tuple[CdnaInstruction, ...]:
    code = read_assembly(FRAME.format(body="\n".join(body)), "k.s").functions["k"]
    return read_thread(code, ThreadLaunch({"n": n}, {("x", 0): "x"})).instructions


def stored(*body: str, n: int = 3) -> int:
    """What a wave of one lane stores to x from v1."""
    program = Program((Location("x"),), (Thread(Placement(), thread(*body, n=n)),), (Memory("x"),))
    found = explore(CdnaEngine(program, CdnaConfiguration("gfx1250")))
    assert not found.errors
    ((value,),) = found.outcomes.states
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (("v_dual_mov_b32 v2, 5 :: v_dual_mov_b32 v1, 7",), 7),
        (("v_mov_b32_e32 v2, 5", "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, 7"), 5),
        (("v_mov_b32_e32 v2, 5", "v_dual_mov_b32 v2, 7 :: v_dual_mov_b32 v1, v2"), 5),
        (("v_mov_b32_e32 v2, 12", "v_dual_mov_b32 v3, 0 :: v_dual_bitop2_b32 v1, s9, v2 bitop3:0x54"), 15),
        (("v_mov_b32_e32 v2, 6", "v_dual_mov_b32 v3, 0 :: v_dual_bitop2_b32 v1, s9, v2 bitop3:0x40"), 2),
        (("v_mov_b32_e32 v2, 6", "v_dual_mov_b32 v3, 0 :: v_dual_bitop2_b32 v1, s9, v2 bitop3:0x14"), 5),
        (("v_mov_b32_e32 v2, 4", "v_add_nc_u32_e32 v1, s9, v2"), 7),
        (("s_add_co_i32 s8, s9, 2", "v_mov_b32_e32 v1, s8"), 5),
        (("v_mov_b32_e32 v2, s9", "v_cmp_eq_u32_e32 vcc_lo, 3, v2", "v_cndmask_b32_e64 v1, 8, 9, vcc_lo"), 9),
        (("v_mov_b32_e32 v2, s9", "v_cmp_lt_i32_e64 s8, 3, v2", "v_cndmask_b32_e64 v1, 8, 9, s8"), 8),
        (("v_mov_b32_e32 v1, s9", "s_mov_b32 s8, exec_lo", "v_cmpx_ne_u32_e32 3, v1", "v_mov_b32_e32 v1, 9",
          "s_or_b32 exec_lo, exec_lo, s8"), 3),
        (("v_mov_b32_e32 v1, s9", "v_cmp_eq_u32_e32 vcc_lo, 3, v1", "s_and_saveexec_b32 s8, vcc_lo",
          "v_mov_b32_e32 v1, 9", "s_or_b32 exec_lo, exec_lo, s8"), 9),
        (("v_mov_b32_e32 v1, 1", "s_and_not1_b32 vcc_lo, exec_lo, exec_lo", "s_cbranch_vccz .L",
          "v_mov_b32_e32 v1, 2", ".L:"), 1),
    ],
)  # fmt: skip
def test_what_instructions_compute(body: tuple[str, ...], value: int) -> None:
    assert stored(*body) == value


def test_waits_barriers_and_cache_instructions() -> None:
    code = thread(
        "v_mov_b32_e32 v1, 1",
        "s_wait_loadcnt_dscnt 0x102",
        "s_wait_storecnt 0x0",
        "s_wait_xcnt 0x0",
        "global_wb scope:SCOPE_DEV",
        "global_inv scope:SCOPE_SE",
        "s_barrier_signal -1",
        "s_barrier_wait -1",
        "global_store_b32 v0, v1, s[4:5] scope:SCOPE_DEV",
    )
    for each in (
        Wait(loadcnt=1, dscnt=2),
        Wait(storecnt=0),
        CacheInstruction("global_wb", ("scope:SCOPE_DEV",)),
        CacheInstruction("global_inv", ("scope:SCOPE_SE",)),
        BarrierSignal(BarrierUnit.WAVE),
        BarrierWait(BarrierUnit.WAVE),
        VectorStore("x", 1, ("scope:SCOPE_DEV",)),
    ):
        assert each in code


def test_named_barriers_with_what_m0_holds() -> None:
    code = thread(
        "s_mov_b32 m0, 0x20003",
        "s_barrier_init m0",
        "s_barrier_join 3",
        "s_barrier_signal 3",
        "s_mov_b32 m0, 5",
        "s_barrier_signal m0",
        "s_barrier_wait 3",
        "s_barrier_leave",
        "v_mov_b32_e32 v1, 1",
    )
    three = NamedBarrier(3)
    assert [each for each in code if "barrier" in str(each)] == [
        BarrierInit(three, 2), BarrierJoin(three), BarrierSignal(three), BarrierSignal(NamedBarrier(5)),
        BarrierWait(three), BarrierLeave(),
    ]  # fmt: skip


def test_an_exchange_in_lds_has_the_new_value_first() -> None:
    """As ds_cmpstore is called for: ds_cmpst of GFX9 has it last."""
    text = FRAME.replace("global_buffer", "dynamic_shared_pointer").format(
        body="v_mov_b32_e32 v1, s4\nv_mov_b32_e32 v2, 5\nv_mov_b32_e32 v3, 6\n"
        "ds_cmpstore_rtn_b32 v4, v1, v2, v3\ns_endpgm"
    )
    code = read_thread(
        read_assembly(text).functions["k"], ThreadLaunch({"n": 0}, {("x", 0): "tile"})
    )
    (exchange,) = (each for each in code.instructions if isinstance(each, CompareSwap))
    assert exchange == CompareSwap("tile", 6, 5, "v4", segment=Segment.LDS)


def test_a_jump_over_a_word_of_code_is_over_an_instruction() -> None:
    """As the barrier of a cluster: only the first wave of a work-group signals it."""
    barrier = ("s_barrier_signal_isfirst -1", "s_wait_kmcnt 0x0", "s_barrier_wait -1",
               "s_cbranch_scc0 1", "s_barrier_signal -3", "s_barrier_wait -3")  # fmt: skip
    code = thread(*barrier, "v_mov_b32_e32 v1, 1")
    (branch,) = (each for each in code if isinstance(each, Branch) and each.condition == "scc")
    at = code.index(branch)
    assert branch.unless
    assert BarrierSignal(BarrierUnit.WORKGROUP) in code[at : code.index(Label(branch.target))]
    assert code[code.index(Label(branch.target)) + 1] == BarrierWait(BarrierUnit.WORKGROUP)
    with pytest.raises(AssemblyError, match="only instructions of a barrier"):
        thread("s_cmp_eq_u32 s9, 3", "s_cbranch_scc0 1", "v_mov_b32_e32 v1, 1")


LAUNCH = ThreadLaunch({"n": 0}, {("x", 0): "x", ("tile", 0): "tile"})


def copies(*body: str) -> list[AsyncCopy | AsyncWait]:
    text = FRAME.format(body="\n".join(("v_mov_b32_e32 v1, 0", *body)))
    code = read_thread(read_assembly(text).functions["k"], LAUNCH).instructions
    return [each for each in code if isinstance(each, AsyncCopy | AsyncWait)]


TILE = ("v_mov_b32_e32 v2, tile@abs32@lo", "v_mov_b32_e32 v4, s4", "v_mov_b32_e32 v5, s5")


def test_copies_between_memory_and_lds() -> None:
    assert copies(
        *TILE,
        "global_load_async_to_lds_b32 v2, v[4:5], off scope:SCOPE_DEV",
        "global_store_async_from_lds_b32 v[4:5], v2, off",
        "s_wait_asynccnt 0x1",
    ) == [AsyncCopy("tile", "x", ("scope:SCOPE_DEV",)), AsyncCopy("x", "tile"), AsyncWait(1)]
    tile = ("s_mov_b32 s13, tile@abs32@lo", "s_mov_b32 s14, s4", "s_or_b32 s15, s5, 0x80000000")
    assert copies(*tile, "tensor_load_to_lds s[12:15], s[16:23]", "s_wait_tensorcnt 0x0") == [
        AsyncCopy("tile", "x", counter=Counter.TENSORCNT), AsyncWait(0, Counter.TENSORCNT),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("global_load_async_to_lds_b32 v1, v[4:5], off", "a copy of one word is executed"),
        ("global_load_async_to_lds_b32 v2, v[4:5], off offset:4", "a copy of one word is executed"),
        ("global_load_async_to_lds_b64 v2, v[4:5], off", "a copy of one word is executed"),
        ("tensor_store_from_lds s[4:7], s[16:23]", "the second register of the descriptor"),
    ],
)
def test_a_copy_is_between_two_locations(line: str, said: str) -> None:
    with pytest.raises(AssemblyError, match=said):
        copies(*TILE, line)


def test_ids_that_no_kernel_asks_for() -> None:
    text = FRAME.format(body="s_mov_b32 s8, ttmp9\nv_mov_b32_e32 v1, s8")
    launch = ThreadLaunch({"n": 0}, {("x", 0): "x"}, {"ttmp9": 3})
    assert (
        VectorStore("x", 3) in read_thread(read_assembly(text).functions["k"], launch).instructions
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "two registers change places"),
        ("v_dual_mov_b32 v2, 0 :: v_dual_bitop2_b32 v1, s9, v0 bitop3:0x80", "truth table"),
        ("s_barrier_signal -4", "does not execute 's_barrier_signal -4'"),
        ("s_barrier_init m0", "does not execute 's_barrier_init m0'"),
        ("v_cmp_eq_u32_e32 vcc, 0, v0", "a result of 1 words is not known"),
        ("v_dual_sin_f32 v1, v0 :: v_dual_mov_b32 v2, 0", "does not execute v_dual_sin_f32"),
        ("s_waitcnt loadcnt(0)", "does not execute s_waitcnt"),
    ],
)
def test_what_is_not_known_is_refused(body: str, said: str) -> None:
    with pytest.raises(AssemblyError, match=said):
        thread("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 v2, 0", body)


def test_an_argument_has_to_be_waited_for_in_its_own_counter() -> None:
    text = FRAME.format(body="v_mov_b32_e32 v1, 1").replace("s_wait_kmcnt", "s_wait_loadcnt")
    with pytest.raises(HazardError):
        read_thread(read_assembly(text).functions["k"], ThreadLaunch({}, {("x", 0): "x"}))


@pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed")
def test_every_instruction_of_registers_is_one_of_the_chip() -> None:
    assert LLVM_MC is not None
    lines: list[str] = []
    for mnemonic in (f"{name}{encoding}" for name in MEANINGS for encoding in ("", "_e32", "_e64")):
        row = row_of(mnemonic, "gfx1250")
        if row is None or row_of(mnemonic, "gfx942") == row:
            continue
        vector = mnemonic.startswith("v_")
        operands = (*row.results, *row.sources)
        names = [_register(words, n, vector) for n, words in enumerate(operands)]
        if mnemonic.startswith("v_cmp_"):
            names[0] = "vcc_lo"
        if mnemonic.startswith("v_cndmask"):
            names[-1] = "vcc_lo"
        lines.append(f"{mnemonic} {', '.join(names)}")
    assert len(lines) > 60
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=null"]
    done = subprocess.run(command, input="\n".join(lines), text=True, capture_output=True)
    assert not done.stderr


def _register(words: int, number: int, vector: bool) -> str:
    file, first = ("v", number) if vector else ("s", 2 * number)
    return f"{file}{first}" if words == 1 else f"{file}[{first}:{first + words - 1}]"
