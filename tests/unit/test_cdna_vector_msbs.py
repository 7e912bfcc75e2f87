"""What registers instructions of gfx1250 name after an ``s_set_vgpr_msb``, as LLVM's disassembler has it."""

import re
import subprocess
from pathlib import Path

import pytest
from llvm_operands import recorded

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Finding, Rule
from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.flow import Flow, flow_of
from fencewright.lowering.cdna.code.operands.vector.msbs import mode_of, with_whole_numbers
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

GFX1250 = Generation.GFX1250
HEAD = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"\n\t.type f,@function\nf:\n'
ALL_DIFFERENT = 0b11_10_01_00
"""The result's are 3, those of the third source 2, of the second 1, of the first 0."""

_WHOLE = re.compile(r"v(?:\d+|\[\d+:\d+\])(\.[lh])? /\*(v(?:\d+|\[\d+:\d+\]))(?:\.[lh])?\*/")
_REGISTER = re.compile(r"(?<![\w.])v(?:(\d+)|\[(\d+):(\d+)\])(?:\.[lh])?(?![\w.])")
_NOT_HERE = re.compile("v_movrel|.* src_lds_direct")
"""What names registers by m0, and what gfx1250 has not."""


def flow(*body: str) -> Flow:
    return flow_of(read_assembly(HEAD + "\n".join([*body, "s_endpgm"]), "f.s").functions["f"])


def texts(*body: str) -> list[str]:
    return [step.instruction.text for block in flow(*body).blocks for step in block.steps]


def hazards(*body: str) -> list[Finding]:
    assembly = read_assembly(HEAD + "\n".join([*body, "s_endpgm"]), "f.s")
    return list(check(assembly, assembly.functions["f"]).hazards())


def registers(text: str) -> list[str]:
    """The vector registers that a text names, in its order."""
    return ["-".join(filter(None, each)) for each in _REGISTER.findall(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_add_nc_u32_e32 v1, v2, v3", "v_add_nc_u32_e32 v769, v2, v259"),
        ("v_add_co_u32 v1, vcc_lo, v2, v3", "v_add_co_u32 v769, vcc_lo, v2, v259"),
        ("v_cmp_eq_u32_e32 vcc_lo, v2, v3", "v_cmp_eq_u32_e32 vcc_lo, v2, v259"),
        ("v_fma_f32 v1, -v2, |v3|, v4", "v_fma_f32 v769, -v2, |v259|, v516"),
        ("ds_load_b32 v1, v2 offset:4", "ds_load_b32 v769, v2 offset:4"),
        ("ds_store_2addr_b32 v1, v2, v3", "ds_store_2addr_b32 v1, v258, v515"),
        ("global_store_b64 v[2:3], v[4:5], off", "global_store_b64 v[2:3], v[260:261], off"),
        ("buffer_store_b32 v1, v2, s[0:3], null offen",
            "buffer_store_b32 v769, v2, s[0:3], null offen"),
        ("global_load_async_to_lds_b32 v0, v1, s[0:1]",
            "global_load_async_to_lds_b32 v768, v1, s[0:1]"),
        ("v_dual_mov_b32 v1, v2 :: v_dual_add_f32 v4, v5, v6",
            "v_dual_mov_b32 v769, v2 :: v_dual_add_f32 v772, v5, v262"),
        ("s_mov_b32 s1, s2", "s_mov_b32 s1, s2"),
        ("global_inv scope:SCOPE_DEV", "global_inv scope:SCOPE_DEV"),
        ("v_frobnicate v1, v2", "v_frobnicate v1, v2"),
    ],
)  # fmt: skip
def test_each_kind_of_operand_has_its_bits(text: str, expected: str) -> None:
    assert with_whole_numbers(text, ALL_DIFFERENT, GFX1250) == expected
    assert with_whole_numbers(text, 0, GFX1250) == text
    assert with_whole_numbers(text, mode_of(0xE400), GFX1250) == text


def test_every_form_is_named_as_llvm_s_disassembler_does(tmp_path: Path) -> None:
    assembler, disassembler = find_llvm_tool("llvm-mc"), find_llvm_tool("llvm-objdump")
    if assembler is None or disassembler is None:
        pytest.skip(LLVM_HINT)
    forms = [
        text
        for text, _, _ in recorded("llvm22_gfx1250.tsv")
        if registers(text) and not _NOT_HERE.match(text)
    ]
    source, made = tmp_path / "f.s", tmp_path / "f.o"
    source.write_text("\n".join([f"s_set_vgpr_msb {ALL_DIFFERENT}", *forms]), encoding="utf-8")
    of_chip = [
        "-triple=amdgcn-amd-amdhsa",
        "-mcpu=gfx1250",
        "-filetype=obj",
        "-mattr=+wavefrontsize32",
    ]
    run = [assembler, *of_chip, str(source), "-o", str(made)]
    refused = {
        int(line)
        for line in re.findall(
            r"f\.s:(\d+):", subprocess.run(run, capture_output=True, text=True).stderr
        )
    }
    taken = [text for number, text in enumerate(forms, 2) if number not in refused]
    source.write_text("\n".join([f"s_set_vgpr_msb {ALL_DIFFERENT}", *taken]), encoding="utf-8")
    subprocess.run(run, check=True)
    dumped = subprocess.run(
        [disassembler, "-d", "--no-show-raw-insn", "--no-leading-addr", str(made)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = [each.rpartition("//")[0].strip() for each in dumped.splitlines() if "//" in each][1:]
    assert len(lines) == len(taken) > 1_000
    assert [
        (text, line)
        for text, line in zip(taken, lines, strict=True)
        if registers(_WHOLE.sub(r"\2", line))
        != registers(with_whole_numbers(text, ALL_DIFFERENT, GFX1250))
    ] == []


def test_the_bits_hold_until_the_next_ones() -> None:
    use = "v_mov_b32_e32 v1, v2"
    assert texts(use, "s_set_vgpr_msb 0x40", use, "s_set_vgpr_msb 0x4001", use)[::2] == [
        use,
        "v_mov_b32_e32 v257, v2",
        "v_mov_b32_e32 v1, v258",
    ]


def test_a_wait_belongs_to_the_register_that_the_bits_name() -> None:
    high, low = "s_set_vgpr_msb 0x41", "s_set_vgpr_msb 0x4100"
    load = "ds_load_b32 v2, v0"
    assert hazards(high, load, low, "v_mov_b32_e32 v1, v2") == []
    (found,) = hazards(high, load, "v_mov_b32_e32 v1, v2")
    assert found.rule is Rule.RAW
    assert "v258" in found.message
    assert hazards(high, f"{load} /*v256*/", low, "v_mov_b32_e32 v1, v2") == []
    assert hazards(high, load, "s_wait_dscnt 0x0", "v_mov_b32_e32 v1, v2") == []


def test_bits_that_depend_on_the_path_are_an_error_where_a_register_needs_them() -> None:
    body = ("s_cbranch_scc1 .L", "s_set_vgpr_msb 1", ".L:", "s_nop 0")
    flow(*body, "v_mov_b32_e32 v1, 0", "s_set_vgpr_msb 0", "v_mov_b32_e32 v1, v2")
    with pytest.raises(AssemblyError, match=r"f\.s:8:.* depend on the path: v_mov_b32"):
        flow(*body, "v_mov_b32_e32 v1, v2")


@pytest.mark.parametrize("text", ["s_set_vgpr_msb", "s_set_vgpr_msb upper"])
def test_bits_that_are_no_number_are_an_error(text: str) -> None:
    with pytest.raises(AssemblyError, match=rf"f\.s:4:.* are no number: {text}$"):
        flow(text)


def test_a_called_function_starts_with_none_and_leaves_none() -> None:
    call = ("s_set_vgpr_msb 1", "s_swap_pc_i64 s[30:31], s[0:1]", "v_mov_b32_e32 v1, v2")
    assert texts(*call)[2] == "v_mov_b32_e32 v1, v2"
