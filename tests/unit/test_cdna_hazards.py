"""Hazards: registers that are used before their load has been waited for, and surplus waits."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fencewright.checker.amd.accesses import Mode
from fencewright.checker.amd.hazards import find_hazards
from fencewright.checker.amd.state import code_of, solve
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.listing import read_disassembly
from fencewright.lowering.cdna.code.text import AssemblyInstruction, Function, read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools.commands.amd_check import checked
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

ROOT = Path(__file__).parents[2]
HEAD = 4
"""The line of the first instruction."""


def function(*body: str, chip: str = "gfx942") -> Function:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    return read_assembly(text + "\n".join(body), "f.s").functions["f"]


MODE = Mode("gfx942", L2PerAgent.MANY, tgsplit=False)


def hazards_of(each: Function) -> list[Finding]:
    code = code_of(flow_of(each), MODE)
    return find_hazards(code, solve(code))


def findings(*body: str) -> list[Finding]:
    return hazards_of(function(*body))


def found(*body: str) -> list[tuple[int, str]]:
    """The findings in a kernel as (number of the instruction's line, rule)."""
    return [(each.line - HEAD, each.rule) for each in findings(*body, "s_endpgm")]


LOAD = "global_load_dword v0, v[2:3], off"
RETURN_1250 = "s_set_pc_i64 s[30:31]"
FLAT = "flat_load_dword v0, v[2:3]"
LDS = "ds_read_b32 v0, v2"
SCALAR = "s_load_dword s0, s[2:3], 0x0"
USE = "v_add_u32_e32 v1, v0, v0"
HALF = "global_load_short_d16_hi v0, v[4:5], off"
UPPER = "global_load_d16_hi_b16 v0, v[2:3], off"
OVERWRITE = "v_mov_b32_e32 v0, 0"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((LOAD, USE), [(1, Rule.RAW)]),
        ((LOAD, OVERWRITE), [(1, Rule.WAW)]),
        ((LOAD, "s_waitcnt vmcnt(0)", USE), []),
        ((LOAD, "s_waitcnt vmcnt(1)", USE), [(1, Rule.SURPLUS_WAIT), (2, Rule.RAW)]),
        ((LOAD, "s_waitcnt lgkmcnt(0)", USE), [(1, Rule.SURPLUS_WAIT), (2, Rule.RAW)]),
        # A younger access of the same counter may stay outstanding.
        ((LOAD, "global_store_dword v[4:5], v6, off", "s_waitcnt vmcnt(1)", USE), []),
        # A store that has read its data does not hold the register.
        (("global_store_dword v[4:5], v0, off", OVERWRITE), []),
        # Two loads of one kind deliver in order; a load from LDS does not wait for one from memory.
        ((LOAD, LOAD, "s_waitcnt vmcnt(0)", USE), []),
        ((LDS, LDS, "s_waitcnt lgkmcnt(0)", USE), []),
        ((LOAD, LDS), [(1, Rule.WAW)]),
        # A d16 load leaves the other half of its register, and reads none of it before it delivers.
        ((LOAD, HALF), []),
        ((LOAD, HALF, "s_waitcnt vmcnt(1)", USE), [(3, Rule.RAW)]),
        ((LDS, HALF), [(1, Rule.WAW)]),
        ((LOAD, "global_load_short_d16_hi v0, v[0:1], off"), [(1, Rule.RAW)]),
        # Scalar loads overtake one another.
        ((SCALAR, "s_load_dword s1, s[2:3], 0x4", "s_waitcnt lgkmcnt(1)", "s_mov_b32 s4, s0"),
            [(3, Rule.RAW)]),
        ((SCALAR, SCALAR), [(1, Rule.WAW)]),
        ((SCALAR, LDS, "s_waitcnt lgkmcnt(1)", "s_mov_b32 s4, s0"), [(3, Rule.RAW)]),
        (("s_load_dwordx2 vcc, s[2:3], 0x0", "s_cbranch_vccz .LBB0_1", ".LBB0_1:"),
            [(1, Rule.RAW)]),
        # A flat load needs both counters, in any order; once LDS is ruled out it is in order.
        ((FLAT, "s_waitcnt vmcnt(0)", USE), [(2, Rule.RAW)]),
        ((FLAT, "s_waitcnt lgkmcnt(0)", USE), [(2, Rule.RAW)]),
        ((FLAT, "s_waitcnt vmcnt(0) lgkmcnt(0)", USE), []),
        ((FLAT, LOAD), [(1, Rule.WAW)]),
        ((FLAT, "s_waitcnt lgkmcnt(0)", LOAD, "s_waitcnt vmcnt(0)", USE), []),
        ((FLAT, "global_store_dword v[4:5], v6, off", "s_waitcnt vmcnt(1) lgkmcnt(0)", USE),
            [(3, Rule.RAW)]),
        # A buffer atomic that returns reads the register that it writes.
        (("buffer_atomic_add v0, off, s[4:7], 0 sc0", "buffer_atomic_add v0, off, s[4:7], 0 sc0"),
            [(1, Rule.RAW)]),
        # What goes to LDS; the register of the address is read at once.
        (("global_load_lds_dword v[2:3], off", "ds_read_b32 v0, v2"), [(1, Rule.LDS_DMA)]),
        (("global_load_lds_dword v[2:3], off", "s_waitcnt vmcnt(0)", "ds_read_b32 v0, v2"), []),
        # Invalidates may count, so they are not among the younger ones; write-backs do count.
        ((LOAD, "buffer_inv sc1", "s_waitcnt vmcnt(1)", USE), [(3, Rule.RAW)]),
        ((LOAD, "buffer_wbl2 sc1", "s_waitcnt vmcnt(1)", USE), []),
        (("buffer_wbl2 sc1", "s_waitcnt vmcnt(0)"), []),
        (("s_waitcnt vmcnt(0)",), [(0, Rule.SURPLUS_WAIT)]),
        ((LOAD, "s_waitcnt vmcnt(63)", USE), [(2, Rule.RAW)]),
        ((LOAD, "s_waitcnt 0xf70", USE), []),
        ((LOAD, "x_frobnicate", USE), [(1, Rule.UNKNOWN)]),
    ],
)  # fmt: skip
def test_straight_line_code(body: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    assert found(*body) == expected


def rules(*body: str) -> list[str]:
    return [rule for _, rule in found(*body)]


def test_a_counter_at_its_maximum_waits_for_nothing() -> None:
    loads = [f"global_load_dword v{n}, v[2:3], off" for n in range(17, 80)]
    use = "v_mov_b32_e32 v1, v17"
    assert rules(*loads, "s_waitcnt vmcnt(62)", use) == []
    assert rules(*loads, "s_waitcnt vmcnt(63)", use) == [Rule.RAW]


def test_what_a_counter_has_no_room_for_is_here() -> None:
    use = "v_mov_b32_e32 v1, v4"
    loads = [f"global_load_dword v{n}, v[2:3], off" for n in range(4, 68)]
    assert rules(*loads, use) == []
    assert rules(*loads[:-1], use) == [Rule.RAW]
    reads = [f"ds_read_b32 v{n}, v2" for n in range(4, 20)]
    assert rules(*reads, use) == []
    assert rules(*reads[:-1], use) == [Rule.RAW]
    # The younger ones may be here before those of another kind.
    assert rules(reads[0], SCALAR, *reads[1:], use) == [Rule.RAW]


def test_the_room_of_a_counter_is_that_of_the_worst_path() -> None:
    reads = [f"ds_read_b32 v{n}, v2" for n in range(4, 20)]
    use = "v_mov_b32_e32 v1, v4"
    some = (*reads[:9], "s_cbranch_scc1 .LBB0_1", *reads[9:12], ".LBB0_1:")
    assert rules(*some, *reads[12:], "ds_read_b32 v30, v2", "ds_read_b32 v31, v2", use) == [
        Rule.RAW
    ]
    assert rules(*some, *reads[9:], use) == []


BRANCH = ("s_cbranch_scc1 .LBB0_1", LOAD, ".LBB0_1:", USE)


def test_a_register_in_flight_on_one_path_is_in_flight() -> None:
    (hazard,) = findings(*BRANCH, "s_endpgm")
    assert (hazard.line, hazard.rule) == (HEAD + 3, Rule.RAW)
    assert hazard.message == (
        f"v0 is used while the load of line {HEAD + 1} that writes it is in flight: "
        "s_waitcnt vmcnt(0) is missing"
    )


def test_the_fewest_younger_accesses_of_any_path_count() -> None:
    body = (LOAD, "s_cbranch_scc1 .LBB0_1", "global_store_dword v[4:5], v6, off", ".LBB0_1:")
    assert found(*body, "s_waitcnt vmcnt(1)", USE) == [(5, Rule.RAW)]
    assert found(*body, "s_waitcnt vmcnt(0)", USE) == []


def test_around_a_loop() -> None:
    loop = (".LBB0_1:", USE, LOAD, "s_cbranch_scc1 .LBB0_1")
    assert found(*loop) == [(1, Rule.RAW)]
    assert found(".LBB0_1:", USE, LOAD, "s_waitcnt vmcnt(0)", "s_cbranch_scc1 .LBB0_1") == []


def test_a_far_branch_is_followed() -> None:
    far = (
        LOAD, "s_getpc_b64 s[4:5]", ".Lpost_getpc0:",
        "s_add_u32 s4, s4, (.LBB0_2-.Lpost_getpc0)&4294967295",
        "s_addc_u32 s5, s5, (.LBB0_2-.Lpost_getpc0)>>32", "s_setpc_b64 s[4:5]",
        ".LBB0_1:", "s_endpgm", ".LBB0_2:", USE,
    )  # fmt: skip
    assert found(*far) == [(9, Rule.RAW)]


WAIT_ALL = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"
RETURN = "s_setpc_b64 s[30:31]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((WAIT_ALL, USE, RETURN), []),
        ((USE, RETURN), [(0, Rule.ENTRY)]),
        (("s_waitcnt vmcnt(0)", USE, RETURN), [(1, Rule.ENTRY)]),
        ((WAIT_ALL, LOAD, RETURN), [(2, Rule.RETURN)]),
        ((WAIT_ALL, LOAD, "s_swappc_b64 s[30:31], s[4:5]", USE, RETURN), []),
        ((WAIT_ALL, "s_load_dwordx2 s[4:5], s[6:7], 0x0", "s_swappc_b64 s[30:31], s[4:5]", RETURN),
            [(2, Rule.RAW)]),
    ],
)  # fmt: skip
def test_functions_that_are_called(body: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    assert [(each.line - HEAD, each.rule) for each in findings(*body)] == expected


def test_code_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(AssemblyError, match=r"f\.s:4: error: unknown wait 'xcnt\(0\)': s_waitcnt"):
        findings("s_waitcnt xcnt(0)", "s_endpgm")
    with pytest.raises(AssemblyError, match=r"f\.s:4: error: the function goes on after its end"):
        findings(USE)
    assert findings(USE, "s_trap 2") == []
    two = '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n'
    with pytest.raises(AssemblyError, match="the assembly is for gfx90a and for gfx942"):
        read_assembly(two)


needs_llvm = pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
KERNELS = ROOT / "tests" / "data" / "llvm-ir" / "kernels.ll"


def compiled(chip: str, level: int, *options: str) -> bytes:
    llc = find_llvm_tool("llc")
    assert llc is not None
    command = [llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", f"-O{level}", *options]
    done = subprocess.run([*command, str(KERNELS), "-o", "-"], capture_output=True, check=True)
    return done.stdout


@needs_llvm
@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_good_code_has_no_hazards(chip: str, level: int) -> None:
    functions = read_assembly(compiled(chip, level).decode()).functions
    assert len(functions) > 1
    for each in functions.values():
        assert [finding for finding in hazards_of(each) if finding.level is not Level.NOTE] == []


@needs_llvm
def test_a_disassembled_object_reads_as_its_assembly(tmp_path: Path) -> None:
    objdump = find_llvm_tool("llvm-objdump")
    assert objdump is not None
    path = tmp_path / "k.o"
    path.write_bytes(compiled("gfx942", 2, "-filetype=obj"))
    options = ("-d", "--symbolize-operands", "--no-show-raw-insn", "--no-leading-addr")
    done = subprocess.run([objdump, *options, str(path)], capture_output=True, check=True)
    listed = read_disassembly(done.stdout.decode(), "gfx942").functions
    written = read_assembly(compiled("gfx942", 2).decode()).functions
    assert listed.keys() == written.keys()
    for name, each in written.items():
        mnemonics = [i.mnemonic for i in each.instructions]
        assert [i.mnemonic for i in listed[name].instructions][: len(mnemonics)] == mnemonics
        lines = [finding.rule for finding in hazards_of(each)]
        assert [finding.rule for finding in hazards_of(listed[name])] == lines


_FIELD = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")


def without_a_wait(function: Function) -> Iterator[tuple[AssemblyInstruction, Function]]:
    """The function with each field of each wait left out in turn."""
    for number, each in enumerate(function.body):
        if not isinstance(each, AssemblyInstruction) or each.mnemonic != "s_waitcnt":
            continue
        for field in _FIELD.finditer(each.text):
            left = tuple(word for word in each.modifiers if word != field[0])
            changed = (replace(each, modifiers=left),) if left else ()
            body = (*function.body[:number], *changed, *function.body[number + 1 :])
            yield each, replace(function, body=body)


@needs_llvm
def test_most_waits_that_are_left_out_are_missed() -> None:
    missed = total = 0
    for each in read_assembly(compiled("gfx942", 2).decode()).functions.values():
        for _, mutant in without_a_wait(each):
            total += 1
            missed += any(f.level is Level.ERROR for f in hazards_of(mutant))
    assert total > 20
    assert missed / total > 0.6


def test_code_after_an_indirect_jump_is_not_said_to_be_checked() -> None:
    load = ("global_load_dword v0, v[0:1], off", "v_add_u32_e32 v1, v0, v0")
    jump = "s_setpc_b64 s[4:5]"
    assert found(*load) == [(1, Rule.RAW)]
    assert found(jump, "L:", *load) == [(2, Rule.UNREACHED)]
    # A call of another function at the end is no such jump, nor is what only follows an end.
    assert found("s_endpgm", "L:", *load) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (("global_load_b32 v0, v[2:3], off", "v_add_nc_u32_e32 v1, v0, v0"), ["hazard-raw"]),
        (("global_load_b32 v0, v[2:3], off", "s_wait_loadcnt 0x0", "v_add_nc_u32_e32 v1, v0, v0"), []),
        (("global_load_b32 v0, v[2:3], off", "s_wait_storecnt 0x0", "v_add_nc_u32_e32 v1, v0, v0"), ["hazard-raw"]),
        # Registers are written in any order, also of two loads.
        (("global_load_b32 v0, v[2:3], off", "global_load_b32 v0, v[4:5], off"), ["hazard-waw"]),
        (("ds_load_b32 v0, v1", "s_wait_loadcnt_dscnt 0x3f00", "v_mov_b32_e32 v2, v0"), []),
        (("ds_load_b32 v0, v1", "s_wait_loadcnt_dscnt 0x3f", "v_mov_b32_e32 v2, v0"), ["hazard-raw"]),
        (("flat_load_b32 v0, v[2:3]", "s_wait_loadcnt 0x0", "v_mov_b32_e32 v2, v0"), ["hazard-raw"]),
        (("flat_load_b32 v0, v[2:3]", "s_wait_loadcnt_dscnt 0x0", "v_mov_b32_e32 v2, v0"), []),
        # Flat ones count in order with others: of two the first is done where one may be left.
        (("flat_load_b32 v0, v[2:3]", "global_load_b32 v4, v[2:3], off", "s_wait_loadcnt_dscnt 0x100", "v_mov_b32_e32 v2, v0"), []),
        (("flat_load_b32 v0, v[2:3]", "flat_load_b32 v4, v[2:3]", "s_wait_loadcnt_dscnt 0x101", "v_mov_b32_e32 v5, v0"), []),
        (("flat_load_b32 v0, v[2:3]", "flat_load_b32 v4, v[2:3]", "s_wait_loadcnt_dscnt 0x101", "v_mov_b32_e32 v5, v4"), ["hazard-raw"]),
        # Halves of a register, and logic that issues with something else.
        (("global_load_b32 v0, v[2:3], off", "v_mov_b16_e32 v1.l, v0.h"), ["hazard-raw"]),
        (("ds_load_b32 v0, v1", "v_dual_mov_b32 v8, v9 :: v_dual_bitop2_b32 v7, 3, v0 bitop3:0x40"), ["hazard-raw"]),
        (("global_load_b64 v[0:1], v[2:3], off", "v_dual_add_f64 v[4:5], v[0:1], v[6:7] :: v_dual_mov_b32 v9, v8"), ["hazard-raw"]),
        (("s_load_b32 s0, s[2:3], 0x0", "s_add_co_i32 s1, s0, 1"), ["hazard-raw"]),
        (("s_load_b32 s0, s[2:3], 0x0", "s_wait_kmcnt 0x0", "s_add_co_i32 s1, s0, 1"), []),
        (("v_mov_b32_e32 v9, 0", "v_dual_mov_b32 v8, v9 :: v_dual_mov_b32 v7, v1"), []),
        (("ds_load_b32 v0, v1", "v_dual_mov_b32 v8, v9 :: v_dual_mov_b32 v7, v0"), ["hazard-raw"]),
        (("ds_load_b32 v0, v1", "s_wait_idle", "v_mov_b32_e32 v2, v0"), []),
        # Two loads of one half, or of different counters, may deliver in any order.
        ((UPPER, "global_load_d16_b16 v0, v[4:5], off", "s_wait_loadcnt 0x0"), []),
        ((UPPER, "global_load_d16_hi_u8 v0, v[4:5], off"), ["hazard-waw"]),
        ((UPPER, "global_load_b32 v0, v[4:5], off"), ["hazard-waw"]),
        (("global_load_b32 v0, v[4:5], off", UPPER), ["hazard-waw"]),
        ((UPPER, "ds_load_u16_d16 v0, v4"), ["hazard-waw"]),
        ((UPPER, "global_load_d16_b16 v0, v[4:5], off", "s_wait_loadcnt 0x1", "v_mov_b32 v1, v0"),
            ["hazard-raw"]),
        # A function waits for what writes registers; stores and copies to LDS are left in flight.
        (("s_wait_loadcnt_dscnt 0x0", "s_wait_kmcnt 0x0", "v_mov_b32_e32 v2, v0", RETURN_1250), []),
        (("s_wait_loadcnt_dscnt 0x0", "v_mov_b32_e32 v2, v0", RETURN_1250), ["hazard-entry"]),
        (("s_wait_kmcnt 0x0", "v_mov_b32_e32 v2, v0", RETURN_1250), ["hazard-entry"]),
    ],
)  # fmt: skip
def test_split_counters(body: tuple[str, ...], expected: list[str]) -> None:
    text = "\n".join(
        (
            '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"',
            "\t.type f,@function",
            "f:",
            *body,
            "s_endpgm\n",
        )
    )
    (found,) = checked(read_assembly(text, "f.s"), "f.s")
    assert [each.rule.value for each in found.hazards() if each.level is Level.ERROR] == expected


SKIP = "s_cmp_eq_u32 s11, 0"
"""What decides whether there is anything to load."""


@pytest.mark.parametrize(
    ("test", "between", "again", "expected"),
    [
        # The load is skipped, and where it is not, so is its wait.
        (SKIP, (), SKIP, []),
        (SKIP, ("s_mov_b32 s12, 0",), "s_cmp_lg_u32 s11, 7", [Rule.RAW]),
        ("s_cmp_eq_u32 s11, 1", (), "s_cmp_le_u32 s11, 1", [Rule.RAW]),
        ("s_cmp_gt_u32 s11, 1", (), "s_cmp_ge_u32 s11, 2", []),
        ("s_cmp_gt_u32 s11, 1", (), "s_cmp_eq_u32 s11, 0", [Rule.RAW]),
        ("s_cmp_gt_i32 s11, 1", (), "s_cmp_gt_i32 s11, 1", []),
        ("s_cmp_gt_i32 s11, 1", (), "s_cmp_gt_i32 s11, 0", [Rule.RAW]),
        ("s_cmp_eq_u64 s[4:5], s[6:7]", (), "s_cmp_eq_u64 s[4:5], s[6:7]", []),
        # The register is another one, or changes in between, before or after what is tested.
        (SKIP, (), "s_cmp_eq_u32 s12, 0", [Rule.RAW]),
        (SKIP, ("s_sub_u32 s11, s11, 1",), SKIP, [Rule.RAW]),
        ("s_cmp_eq_u64 s[4:5], s[6:7]", ("s_mov_b32 s7, 0",), "s_cmp_eq_u64 s[4:5], s[6:7]",
            [Rule.RAW]),
    ],
)  # fmt: skip
def test_a_path_that_contradicts_itself_has_no_hazard(
    test: str, between: tuple[str, ...], again: str, expected: list[Rule]
) -> None:
    body = (
        test, "s_cbranch_scc1 .LBB0_1", LOAD, ".LBB0_1:", *between,
        again, "s_cbranch_scc0 .LBB0_2", USE, "s_endpgm", ".LBB0_2:", "s_endpgm",
    )  # fmt: skip
    assert [each.rule for each in path_findings(*body)] == expected


def path_findings(*body: str) -> list[Finding]:
    text = "\n".join(('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "\t.type f,@function", "f:",
                      *body, ""))  # fmt: skip
    (found,) = checked(read_assembly(text, "f.s"), "f.s")
    return [each for each in found.hazards() if each.level is Level.ERROR]


def test_a_use_that_can_be_reached_is_named_where_an_earlier_one_cannot() -> None:
    body = (
        SKIP, "s_cbranch_scc1 .LBB0_1", LOAD, ".LBB0_1:", SKIP, "s_cbranch_scc0 .LBB0_2", USE,
        "s_endpgm", ".LBB0_2:", USE, "s_endpgm",
    )  # fmt: skip
    assert [(each.line - HEAD, each.rule) for each in path_findings(*body)] == [(9, Rule.RAW)]


def test_of_two_loads_of_a_register_the_one_on_a_path_is_named() -> None:
    body = (
        "s_cmp_eq_u32 s11, 1", "s_cbranch_scc1 .LBB0_1", LOAD, ".LBB0_1:",
        "s_cmp_eq_u32 s11, 1", "s_cbranch_scc1 .LBB0_2", "s_waitcnt vmcnt(0)", LOAD,
        ".LBB0_2:", USE, "s_endpgm",
    )  # fmt: skip
    (hazard,) = path_findings(*body)
    assert (hazard.line - HEAD, hazard.about) == (9, (HEAD + 7,))


def test_around_a_loop_what_is_tested_changes() -> None:
    body = (
        ".LBB0_1:", "s_cmp_eq_u32 s11, 0", "s_cbranch_scc1 .LBB0_2", LOAD, ".LBB0_2:",
        "s_cmp_lg_u32 s11, 0", "s_cbranch_scc1 .LBB0_3", USE, ".LBB0_3:",
        "s_sub_u32 s11, s11, 1", "s_cbranch_vccz .LBB0_1", "s_endpgm",
    )  # fmt: skip
    assert [(each.line - HEAD, each.rule) for each in path_findings(*body)] == [(7, Rule.RAW)]
    waits = (*body[:9], "s_waitcnt vmcnt(0)", *body[9:])
    assert path_findings(*waits) == []


SUBROUTINE = (
    LOAD, "s_getpc_b64 s[4:5]", "s_add_u32 s4, s4, .Lsub", "s_swappc_b64 s[8:9], s[4:5]",
)  # fmt: skip


def test_a_subroutine_of_the_function_waits_only_for_what_it_waits_for() -> None:
    """One that is called by LLVM's convention waits for everything."""
    sub = (".Lsub:", "v_mov_b32_e32 v7, v8", "s_setpc_b64 s[8:9]")
    assert found(*SUBROUTINE, USE, "s_endpgm", *sub) == [(4, Rule.RAW)]
    assert found(*SUBROUTINE, "s_waitcnt vmcnt(0)", USE, "s_endpgm", *sub) == []
    # What the caller has in flight is in flight there.
    assert found(*SUBROUTINE, "s_endpgm", ".Lsub:", USE, "s_setpc_b64 s[8:9]") == [(6, Rule.RAW)]
    conventional = [each.replace("s[8:9]", "s[30:31]") for each in SUBROUTINE]
    assert found(*conventional, USE) == []


PROLOGUE = ("s_load_dword s4, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_branch .Lbody")


def test_a_kernel_whose_arguments_are_preloaded_begins_twice() -> None:
    second = ("s_mov_b32 s4, s2", LOAD, ".Lbody:", USE)
    assert found(*PROLOGUE, *second) == [(6, Rule.RAW)]
    assert found(*PROLOGUE, *second[:2], "s_waitcnt vmcnt(0)", *second[2:]) == []
    # What a jump leaps over is no beginning where the prologue does more.
    assert found(LOAD, *PROLOGUE, "s_waitcnt vmcnt(0)", ".Lbody:", USE) == [(6, Rule.RAW)]
