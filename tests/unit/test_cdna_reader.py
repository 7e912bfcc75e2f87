"""AMD assembly read back: its structure, and what a wave of it does on the CDNA machine."""

import pytest

from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.listing import read_disassembly
from fencewright.lowering.cdna.code.operands.family import Unit
from fencewright.lowering.cdna.code.operands.operands import family_of
from fencewright.lowering.cdna.code.text import (
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    KernelArgument,
    ModifiedRegisters,
    Registers,
    read_assembly,
)
from fencewright.lowering.cdna.code.waits import wait_counts
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.condition import Memory
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Move, Placement, Program, Thread
from fencewright.simulator.programs.amd.rows import MnemonicRow, row_of
from fencewright.simulator.programs.amd.thread import (
    HazardError,
    ThreadLaunch,
    UnreadableError,
    read_thread,
)
from fencewright.simulator.semantics.amd import MEANINGS, Sum

_ADD, _MAX = RmwKind.ADD, RmwKind.MAX

FRAME = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+"
	.text
	.globl	k                               ; -- Begin function k
	.type	k,@function
k:                                      ; @k
; %bb.0:                                ; %entry
{body}
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_user_sgpr_dispatch_ptr 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_tg_split 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .name:           x
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           out
        .offset:         8
        .size:           8
      - .name:           lds
        .offset:         16
        .size:           4
      - .name:           n
        .offset:         20
        .size:           4
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_x
    .name:           k
    .sgpr_count:     16
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
...
	.end_amdgpu_metadata
"""
HEAD = 7
"""The line on which the body begins."""

ARGUMENTS = """\
	s_load_dwordx4 s[4:7], s[2:3], 0x0
	s_load_dwordx2 s[8:9], s[2:3], 0x10
	v_mov_b32_e32 v0, 0
	s_waitcnt lgkmcnt(0)
"""
"""x in s[4:5], out in s[6:7], lds in s8, n in s9, 0 in v0."""

LAUNCH = ThreadLaunch(
    {"n": 3}, {("x", 0): "x", ("out", 0): "out", ("out", 256): "more", ("lds", 0): "t"}
)


def assembly(*body: str) -> Assembly:
    return read_assembly(FRAME.format(body="\n".join(body)), "k.s")


def thread(*body: str) -> list[CdnaInstruction]:
    """The thread's instructions, labels and the end's branch left out."""
    code = read_thread(assembly(*body).functions["k"], LAUNCH).instructions
    return [each for each in code if not str(each).endswith(":") and str(each) != "branch end"]


def test_functions_have_instructions_labels_arguments_and_descriptors() -> None:
    read = assembly(
        "\ts_cbranch_scc1 .LBB0_2             ; a comment",
        ".LBB0_2: // another",
        "\t;;#ASMSTART",
        "buffer_inv sc0 sc1",
        "\t;;#ASMEND",
        "\tglobal_load_dword v1, v[2:3], off offset:-4 sc0 sc1",
    )
    kernel = read.functions["k"]
    assert read.chip == "gfx942"
    assert kernel.descriptor["user_sgpr_kernarg_segment_ptr"] == 1
    assert kernel.arguments[:2] == (
        KernelArgument("x", 0, 8, "global_buffer"),
        KernelArgument("out", 8, 8),
    )
    given = [each.name for each in kernel.arguments if not each.is_hidden]
    assert given == ["x", "out", "lds", "n"]
    branch, label, invalidate, load = kernel.body
    assert branch == AssemblyInstruction(
        "s_cbranch_scc1", (".LBB0_2",), (), HEAD + 1, "s_cbranch_scc1 .LBB0_2"
    )
    assert label == AssemblyLabel(".LBB0_2", HEAD + 2)
    assert isinstance(invalidate, AssemblyInstruction)
    assert (invalidate.operands, invalidate.modifiers) == ((), ("sc0", "sc1"))
    assert isinstance(load, AssemblyInstruction)
    assert load.operands == (Registers(("v1",)), Registers(("v2", "v3")), "off")
    assert load.modifiers == ("offset:-4", "sc0", "sc1")
    assert kernel.without(load).body == (branch, label, invalidate)


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("s_mov_b64 exec, vcc", (("exec_lo", "exec_hi"), ("vcc_lo", "vcc_hi"))),
        ("s_mov_b64 s[0:1], -1", (("s0", "s1"), -1)),
        ("v_mov_b32_e32 v0, 0x3ff", (("v0",), 0x3FF)),
        ("v_mov_b32_e32 v0, s[3]", (("v0",), ("s3",))),
        (
            "v_add_f32_e64 v0, -v1, |v2|",
            (("v0",), ModifiedRegisters(("v1",), "-v1"), ModifiedRegisters(("v2",), "|v2|")),
        ),
        ("s_mov_b32 m0, vcc_hi", (("m0",), ("vcc_hi",))),
    ],
)
def test_operands(text: str, operands: tuple[object, ...]) -> None:
    (read,) = assembly(text).functions["k"].instructions
    found = tuple(each.names if isinstance(each, Registers) else each for each in read.operands)
    assert found == operands


def test_text_without_a_chip_is_refused() -> None:
    with pytest.raises(AssemblyError, match=r"^a\.s:1: error: no \.amdgcn_target"):
        read_assembly("k:\n s_endpgm\n", "a.s")


def test_what_a_compiler_knows_not_to_be_reached_may_have_no_end() -> None:
    """LLVM writes nothing for ``unreachable``; text that is cut short does not say where it ends."""
    head = ['\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "\t.type k,@function", "k:"]
    lines = [*head, "global_store_dword v[0:1], v2, off"]
    for end in (".Lfunc_end0:", "\t.section .rodata"):
        whole = read_assembly("\n".join([*lines, end]), "a.s").functions["k"]
        assert [block.successors for block in flow_of(whole).blocks] == [()]
    cut = read_assembly("\n".join(lines), "a.s").functions["k"]
    with pytest.raises(AssemblyError, match="the function goes on after its end"):
        flow_of(cut)


MACRO = ("\t.macro RELEASE", "buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "\t.endm")


def test_what_a_macro_defines_is_no_code() -> None:
    head = ['\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "\t.type k,@function", "k:"]
    lines = [*head, "s_nop 0", *MACRO, "RELEASE", "s_endpgm"]
    read = read_assembly("\n".join(lines), "a.s").functions["k"].instructions
    assert [(each.mnemonic, each.line) for each in read] == [
        ("s_nop", 4), ("RELEASE", 9), ("s_endpgm", 10)]  # fmt: skip


@pytest.mark.parametrize(
    "word", [".if 0", ".ifdef A", ".else", ".rept 2", ".irp a, 1", '.include "a"']
)
def test_what_only_an_assembler_can_say_is_refused(word: str) -> None:
    lines = [
        '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"',
        "\t.type k,@function",
        "k:",
        f"\t{word}",
    ]
    why = rf"^a\.s:4: error: '{word.split()[0]}' is for the assembler: give the object"
    with pytest.raises(AssemblyError, match=why):
        read_assembly("\n".join([*lines, "s_endpgm"]), "a.s")
    # In a macro it is of no consequence until the macro is used, which is not known.
    assert read_assembly("\n".join([*lines[:3], MACRO[0], word, MACRO[3], "s_endpgm"]), "a.s")


def test_accesses() -> None:
    code = thread(
        ARGUMENTS,
        "v_mov_b32_e32 v1, 1",
        "v_mov_b64_e32 v[4:5], s[4:5]",
        "v_mov_b32_e32 v6, s8",
        "v_mov_b32_e32 v7, 5",
        "global_load_dword v2, v0, s[4:5] sc1",
        "global_load_dword v3, v[4:5], off nt",
        "flat_load_dword v8, v[4:5] sc0 sc1",
        "s_load_dword s10, s[4:5], 0x0",
        "ds_read_b32 v9, v6",
        "ds_write_b32 v6, v1",
        "s_waitcnt vmcnt(1) lgkmcnt(0)",
        "global_store_dword v0, v1, s[6:7] offset:256 sc0 sc1",
        "global_atomic_add v0, v1, s[4:5]",
        "global_atomic_smax v10, v0, v1, s[4:5] sc0",
        "v_mov_b32_e32 v11, v7",
        "v_mov_b32_e32 v10, 1",
        "global_atomic_cmpswap v12, v0, v[10:11], s[4:5] sc0",
        "ds_cmpst_rtn_b32 v13, v6, v1, v7",
        "buffer_wbl2 sc1",
        "s_barrier",
        "s_endpgm",
    )
    kinds = [each for each in code if not str(each).startswith("mov")]
    assert kinds == [
        Wait(lgkmcnt=0),
        VectorLoad("v2", "x", ("sc1",)),
        VectorLoad("v3", "x", ("nt",)),
        VectorLoad("v8", "x", ("sc0", "sc1"), segment=Segment.FLAT),
        ScalarLoad("s10", "x"),
        VectorLoad("v9", "t", segment=Segment.LDS),
        VectorStore("t", 1, segment=Segment.LDS),
        Wait(vmcnt=1, lgkmcnt=0),
        VectorStore("more", 1, ("sc0", "sc1")),
        Atomic(_ADD, "x", 1),
        Atomic(_MAX, "x", 1, "v10", ("sc0",)),
        CompareSwap("x", 5, 1, "v12", ("sc0",)),
        CompareSwap("t", 1, 5, "v13", segment=Segment.LDS),
        CacheInstruction("buffer_wbl2", ("sc1",)),
        WorkgroupBarrier(),
    ]


def results(*body: str, values: dict[str, int] | None = None) -> int:
    """What a single wave stores to ``out``, where x is 4."""
    launch = ThreadLaunch({"n": 3, **(values or {})}, LAUNCH.locations)
    code = read_thread(assembly(ARGUMENTS, *body).functions["k"], launch).instructions
    locations = (Location("x", 4), Location("out"), Location("more"))
    program = Program(locations, (Thread(Placement(), code),), (Memory("out"),))
    found = explore(CdnaEngine(program, CdnaConfiguration("gfx942")))
    assert not found.errors
    (state,) = found.outcomes.states
    assert state[0] is not None
    return state[0]


LOADED = ("global_load_dword v1, v0, s[4:5]", "s_waitcnt vmcnt(0)", "v_readfirstlane_b32 s10, v1")
STORED = ("v_mov_b32_e32 v2, s11", "global_store_dword v0, v2, s[6:7]", "s_endpgm")
"""4 from x in s10; s11 to out."""

MASKED = ("v_cmp_eq_u32_e32 vcc, 4, v1", "v_cmp_eq_u32_e64 s[12:13], 5, v1")
"""Set in vcc, clear in s[12:13]; neither is known before."""


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (("s_add_i32 s11, s10, -1",), 3),
        (("s_add_u32 s12, s10, -1", "s_addc_u32 s11, 5, 0"), 6),
        (("s_add_u32 s12, s10, 1", "s_addc_u32 s11, 5, 0"), 5),
        (("s_sub_u32 s12, s10, 5", "s_addc_u32 s11, 0, 0"), 1),
        (("s_mul_i32 s11, s10, s10",), 16),
        (("s_mul_i32 s11, s10, s9",), 12),
        (("s_xor_b32 s11, s10, 7",), 3),
        (("s_cmp_lt_i32 s10, -1", "s_cselect_b32 s11, 7, 8"), 8),
        (("s_cmp_lt_u32 s10, -1", "s_cselect_b32 s11, 7, 8"), 7),
        (("s_cmp_ge_i32 s10, 4", "s_cselect_b32 s11, s10, 8"), 4),
        (("s_bcnt1_i32_b64 s11, exec",), 1),
        ((*MASKED, "s_bcnt1_i32_b64 s11, vcc"), 1),
        ((*MASKED, "v_cndmask_b32_e64 v3, 7, 9, vcc", "v_readfirstlane_b32 s11, v3"), 9),
        ((*MASKED, "v_cndmask_b32_e64 v3, 7, v1, s[12:13]", "v_readfirstlane_b32 s11, v3"), 7),
        ((*MASKED, "s_xor_b64 s[12:13], vcc, -1", "s_andn2_b64 s[14:15], exec, s[12:13]",
          "s_mov_b32 s11, s14"), 1),
        ((*MASKED, "s_or_b64 s[14:15], s[14:15], vcc", "s_and_b64 s[14:15], s[14:15], exec",
          "s_mov_b32 s11, s14"), 1),
        ((*MASKED, "s_or_b64 s[4:5], s[4:5], vcc", "s_and_b64 s[14:15], s[4:5], exec",
          "s_mov_b32 s11, s14"), 1),
        ((*MASKED, "s_nor_b64 s[14:15], vcc, s[12:13]", "s_and_b64 s[14:15], s[14:15], exec",
          "s_mov_b32 s11, s14"), 0),
        ((*MASKED, "s_mov_b32 s11, 1", "s_cbranch_vccnz .L", "s_mov_b32 s11, 2", ".L:"), 1),
        ((*MASKED, "s_mov_b64 vcc, s[12:13]", "s_mov_b32 s11, 1", "s_cbranch_vccnz .L",
          "s_mov_b32 s11, 2", ".L:"), 2),
        (("v_mov_b32_e32 v3, -1", "v_min_u32_e32 v3, v3, v1", "v_readfirstlane_b32 s11, v3"), 4),
        (("v_mov_b32_e32 v3, 5", "v_max_u32_e32 v3, v3, v1", "v_readfirstlane_b32 s11, v3"), 5),
        (("v_mov_b32_e32 v3, -1", "v_max_i32_e32 v3, v3, v1", "v_readfirstlane_b32 s11, v3"), 4),
        (("v_mov_b32_e32 v3, 3", "v_min_i32_e32 v3, v3, v1", "v_readfirstlane_b32 s11, v3"), 3),
        (("v_bfe_u32 v3, v1, 0, 3", "v_readfirstlane_b32 s11, v3"), 4),
        (("v_bfe_u32 v3, v1, 0, 2", "v_readfirstlane_b32 s11, v3"), 0),
        (("s_mov_b32 s12, 0x12345", "s_lshr_b32 s11, s12, 16"), 1),
        (("s_mov_b32 s12, 0x12345", "s_bfe_u32 s11, s12, 0x40008"), 3),
    ],
)  # fmt: skip
def test_arithmetic(body: tuple[str, ...], result: int) -> None:
    assert results(*LOADED, *body, *STORED) == result


@pytest.mark.parametrize(("x", "result"), [(4, 7), (5, 9)])
def test_both_sides_of_a_divergent_branch(x: int, result: int) -> None:
    body = (
        *LOADED,
        "v_mov_b32_e32 v3, 1",
        f"v_cmp_eq_u32_e32 vcc, {x}, v1",
        "s_and_saveexec_b64 s[12:13], vcc",
        "s_xor_b64 s[12:13], exec, s[12:13]",
        "s_cbranch_execz .Lelse",
        "v_mov_b32_e32 v3, 7",
        ".Lelse:",
        "s_andn2_saveexec_b64 s[12:13], s[12:13]",
        "v_mov_b32_e32 v3, 9",  # No branch: lanes that are off keep their value.
        "s_or_b64 exec, exec, s[12:13]",
        "v_readfirstlane_b32 s11, v3",
    )
    assert results(*body, *STORED) == result


def test_a_divergent_loop_ends_with_the_lane_on_again() -> None:
    body = (
        "s_mov_b64 s[12:13], 0",
        "v_mov_b32_e32 v3, 0",
        ".Lagain:",
        "global_atomic_add v1, v0, v3, s[4:5] sc0",
        "s_waitcnt vmcnt(0)",
        "v_mov_b32_e32 v3, 1",
        "v_cmp_eq_u32_e32 vcc, 6, v1",
        "s_or_b64 s[12:13], vcc, s[12:13]",
        "s_andn2_b64 exec, exec, s[12:13]",
        "s_cbranch_execnz .Lagain",
        "s_or_b64 exec, exec, s[12:13]",
        "global_store_dword v0, v1, s[6:7]",
        "s_endpgm",
    )
    assert results(*body) == 6


@pytest.mark.parametrize(("n", "result"), [(0, 1), (1, 2)])
def test_arguments_decide_branches(n: int, result: int) -> None:
    body = (
        "s_mov_b32 s11, 1",
        "s_cmp_eq_u32 s9, 0",
        "s_cbranch_scc1 .L",
        "s_mov_b32 s11, 2",
        ".L:",
    )
    assert results(*body, *STORED, values={"n": n}) == result
    code = read_thread(assembly(ARGUMENTS, *body, *STORED).functions["k"], LAUNCH).instructions
    assert not any("if" in str(each) for each in code)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("v_fma_f32 v0, v1, v2, v3", "the CDNA machine does not execute v_fma_f32"),
        (".L:\ns_cbranch_scc1 .L", "nothing has set scc"),
        ("s_branch .Lnowhere", "the label is not in the function"),
        ("v_mov_b32_e32 v1, v0 clamp", "these operands are not known"),
        ("s_waitcnt vscnt(0)", r"unknown wait 'vscnt\(0\)'"),
        ("global_load_dword v1, v0, s[20:21]", "nothing has set s20"),
        ("global_load_dword v1, v0, s[4:5] offset:4", "a location is one word: the offset"),
        ("global_load_dword v1, v0, s[4:5] tfe", "'tfe' is not known"),
        ("global_load_dwordx2 v[2:3], v0, s[4:5]", "a location is 32 bits wide"),
        ("scratch_load_dword v1, off, s0", "the CDNA machine does not execute scratch_load_dword"),
        ("s_load_dwordx2 s[12:13], s[4:5], 0x0", "a location is 32 bits wide"),
        ("global_store_dword v0, v9, s[4:5]", "nothing has set v9"),
        ("v_mov_b32_e32 v1, s4\nglobal_store_dword v0, v1, s[6:7]", "an address is used as a value"),
        ("s_load_dword s12, s[2:3], 0x18\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, s12\n"
         "global_store_dword v0, v1, s[6:7]", "nothing is bound to the argument at offset 24"),
        ("v_mov_b32_e32 v1, 0", "the function goes on behind its end"),
        ("global_load_dword v1, v0, s[4:5]\ns_waitcnt vmcnt(0)\nv_bfe_u32 v1, v1, 1, 2",
         "only the lowest bits can be taken out"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_named(body: str, problem: str) -> None:
    with pytest.raises(AssemblyError, match=rf"^k\.s:\d+: error: .*{problem}"):
        thread(ARGUMENTS, body)


def test_an_error_names_its_line() -> None:
    with pytest.raises(AssemblyError, match=rf"^k\.s:{HEAD + 2}: error: .*: v_sin_f32 v0, v1$"):
        thread("s_nop 0", "v_sin_f32 v0, v1")


def test_arguments_have_to_be_waited_for() -> None:
    with pytest.raises(HazardError, match="unwaited register s4: no s_waitcnt covers the load"):
        thread(
            ARGUMENTS.replace("\ts_waitcnt lgkmcnt(0)\n", ""), "global_load_dword v1, v0, s[4:5]"
        )
    with pytest.raises(HazardError):
        thread(ARGUMENTS.replace("lgkmcnt(0)", "vmcnt(0)"), "s_add_i32 s10, s9, 1")


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("vmcnt(0)",), {"vmcnt": 0}),
        (("vmcnt(63)", "lgkmcnt(15)"), {}),
        (("vmcnt(1)", "lgkmcnt(0)"), {"vmcnt": 1, "lgkmcnt": 0}),
        ((0,), {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
        ((0xC07F,), {"lgkmcnt": 0}),
        ((0x0F70,), {"vmcnt": 0}),
        ((0x4F71,), {"vmcnt": 17}),
    ],
)
def test_wait_counts(words: tuple[int | str, ...], counts: dict[str, int]) -> None:
    assert wait_counts(words) == counts


def test_rows_have_the_operands_that_the_decoder_has() -> None:
    """What a meaning says of results is what the operand tables say, of all that is executed."""
    rows: list[MnemonicRow] = []
    for name, of in MEANINGS.items():
        for mnemonic in (name, f"{name}_e32", f"{name}_e64"):
            family, row = family_of(mnemonic), row_of(mnemonic, "gfx942")
            if family is None:
                assert row is None
                continue
            assert family.results == len(of.results), mnemonic
            is_scalar = family.unit is Unit.SALU
            carries = isinstance(of.meaning, Sum) and of.meaning.takes
            if is_scalar and carries:
                assert "scc" in family.uses
            rows += [] if row is None else [row]
    assert len(rows) > 150


@pytest.mark.parametrize("chip", ["gfx1200", "gfx1250"])
def test_a_wait_for_registers_orders_no_memory(chip: str) -> None:
    """LLVM puts it between a vector comparison and the use of its mask."""
    row = row_of("s_wait_alu", chip)
    assert row is not None
    assert row.meaning is Kind.COMPUTE


def test_only_the_first_of_a_clause_has_a_place() -> None:
    """LLVM prints none for the others, which come from elsewhere."""
    text = (
        '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"\n\t.type f,@function\nf:\n.loc 1 5 1\n'
        "s_clause 0x1\nglobal_store_b32 v0, v1, s[0:1]\nglobal_store_b32 v0, v2, s[2:3]\n"
        ".loc 1 7 1\nglobal_store_b32 v0, v3, s[2:3]\ns_endpgm\n"
    )
    function = read_assembly(text, "f.s").functions["f"]
    lines = [each.source and each.source.line for each in function.instructions]
    assert lines == [5, 5, None, 7, 7]


def test_labels_of_hand_written_code_are_symbols_that_are_branched_to_or_run_into() -> None:
    listing = (
        "\n<k>:\n\ts_cbranch_vccz label_Next\n\ts_nop 0\n\n<label_Next>:\n\ts_mov_b32 s0, s1\n\n"
        "<run_into>:\n\ts_endpgm\n\ts_nop 0\n\n<other>:\n\ts_endpgm\n"
    )
    functions = read_disassembly(listing, "gfx90a").functions
    assert list(functions) == ["k", "other"]
    assert len(functions["k"].instructions) == 5


# What litmus tests need


SYMBOLS = "v_mov_b32_e32 v2, x@abs32@lo", "v_mov_b32_e32 v3, x@abs32@hi"


def test_a_symbol_stands_for_the_address_of_a_location() -> None:
    store = "v_mov_b32_e32 v1, 7", "global_store_dword v[2:3], v1, off"
    assert VectorStore("x", 7) in thread(*SYMBOLS, *store, "s_endpgm")
    with pytest.raises(UnreadableError, match="do not belong together"):
        thread(SYMBOLS[0], SYMBOLS[1].replace("hi", "lo"), *store, "s_endpgm")
    with pytest.raises(UnreadableError, match="no location is 0 bytes behind argument 'y'"):
        thread(*(each.replace("x@", "y@") for each in SYMBOLS), *store, "s_endpgm")


LOAD = "global_load_dword v4, v[2:3], off"


def test_what_is_observed_has_arrived_at_the_end() -> None:
    code = assembly(*SYMBOLS, LOAD, "s_endpgm").functions["k"]
    end = code.instructions[-1].line
    launch = ThreadLaunch({}, {("x", 0): "x"}, observed={end: (("r0", "v4"),)})
    read = read_thread(code, launch)
    assert read.instructions[-4:-1] == (
        VectorLoad("v4", "x"), Wait(vmcnt=0, lgkmcnt=0), Move("r0", "v4"),
    )  # fmt: skip
    assert read.lines[-4:] == (end - 1, end, end, 0)


def test_a_register_that_no_path_observes_is_0() -> None:
    body = ("s_cmp_eq_u32 0, 0", "s_cbranch_scc1 .L", *SYMBOLS, LOAD, "s_endpgm", ".L:", "s_endpgm")
    code = assembly(*body).functions["k"]
    launch = ThreadLaunch({}, {}, observed={code.instructions[-2].line: (("r0", "v4"),)})
    assert Move("r0", 0) in read_thread(code, launch).instructions


def test_waits_do_not_count_results() -> None:
    """The last of two loads is waited for where the store of the first result came after it."""
    body = (
        ARGUMENTS,
        "global_load_dword v1, v0, s[4:5]",
        "global_load_dword v2, v0, s[4:5]",
        "s_waitcnt vmcnt(1)",
        "global_store_dword v0, v1, s[6:7]",
        "s_waitcnt vmcnt(1)",
        "global_store_dword v0, v2, s[6:7]",
        "s_endpgm",
    )
    launch = ThreadLaunch({"n": 3}, {("x", 0): "x"}, results={"out": "r0"})
    code = read_thread(assembly(*body).functions["k"], launch).instructions
    waits = [each for each in code if isinstance(each, Wait) and each.vmcnt is not None]
    assert waits == [Wait(vmcnt=1), Wait(vmcnt=0)]
    assert not any(isinstance(each, VectorStore) for each in code)
    load = assembly(ARGUMENTS, "global_load_dword v1, v0, s[6:7]", "s_endpgm").functions["k"]
    with pytest.raises(UnreadableError, match="the argument bound to r0 may only be stored to"):
        read_thread(load, launch)


def test_a_register_that_a_load_writes_stays_written() -> None:
    """Nobody reads it; the machine finds that the load has not been waited for."""
    body = (*SYMBOLS, LOAD, "v_mov_b32_e32 v4, 1", "s_endpgm")
    code = thread(*body)
    assert Move("v4", 1) in code
    assert Move("v5", 1) not in thread(*SYMBOLS, LOAD, "v_mov_b32_e32 v5, 1", "s_endpgm")
    program = Program((Location("x"),), (Thread(Placement(), tuple(code)),), ())
    found = explore(CdnaEngine(program, CdnaConfiguration("gfx942")))
    assert any("unwaited register v4" in each for each in found.errors)
