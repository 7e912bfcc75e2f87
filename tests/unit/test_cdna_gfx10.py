"""Code of gfx10 and gfx11: counters, modes, calls, and what their sources ask in WGP and CU mode."""

import subprocess
from pathlib import Path

import pytest
from test_source_check import CONSUMER, PRODUCER, Lines, asm, check, ir, rules

from fencewright.checker.amd.accesses import Mode, mode_of, wave_size_of
from fencewright.checker.amd.comparison.against_source import AmdComparer
from fencewright.checker.amd.hazards import find_hazards
from fencewright.checker.amd.state import code_of, solve
from fencewright.checker.amd.surplus import find_surplus
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.source.cumulativity import passed_on
from fencewright.checker.source.obligations import GFX9
from fencewright.checker.source.text import read_source
from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.lowering.cdna.performance.costs import cost_of, read_line
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools.commands.amd_check import read_input
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

WGP, CU = (Mode("gfx1030", L2PerAgent.MANY, tgsplit=split) for split in (True, False))
WGP_11, CU_11 = (Mode("gfx1100", L2PerAgent.MANY, tgsplit=split) for split in (True, False))
SPLIT_942 = Mode("gfx942", L2PerAgent.MANY, tgsplit=True)


def assembly(*body: str, chip: str = "gfx1030", descriptor: str = "") -> Assembly:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    kernel = f"\n\t.amdhsa_kernel f\n{descriptor}\n\t.end_amdhsa_kernel\n" if descriptor else "\n"
    return read_assembly(text + "\n".join(body) + kernel, "f.s")


def findings(*body: str, mode: Mode = WGP) -> list[Finding]:
    code = code_of(flow_of(assembly(*body, chip=mode.target).functions["f"]), mode)
    return [each for each in find_hazards(code, solve(code)) if each.rule is not Rule.SURPLUS_WAIT]


def hazards(*body: str, mode: Mode = WGP) -> list[str]:
    return [each.rule.value for each in findings(*body, "s_endpgm", mode=mode)]


LOAD, USE = "global_load_dword v0, v[2:3], off", "v_mov_b32_e32 v1, v0"
LDS_READ = "ds_read_b32 v4, v5"


@pytest.mark.parametrize(
    ("wait", "found"),
    [
        ("s_waitcnt vmcnt(0)", []),
        ("s_waitcnt_vmcnt null, 0x0", []),
        ("s_wait_idle", []),
        ("s_waitcnt 0x3f70", []),
        ("s_waitcnt lgkmcnt(0)", ["hazard-raw"]),
        ("s_waitcnt_vscnt null, 0x0", ["hazard-raw"]),
        ("s_waitcnt_depctr 0xffe3", ["hazard-raw"]),
        ("s_waitcnt 0xff7f", ["hazard-raw"]),
    ],
)
def test_loads_are_waited_for_on_their_counter(wait: str, found: list[str]) -> None:
    assert hazards(LOAD, wait, USE) == found


@pytest.mark.parametrize(
    ("mode", "number", "waits"),
    [(WGP, 0xC07F, True), (WGP, 0xFF7F, False), (WGP_11, 0xFC07, True), (WGP_11, 0xFFF7, False)],
)
def test_a_number_has_the_counts_where_the_generation_has_them(
    mode: Mode, number: int, waits: bool
) -> None:
    read = LDS_READ if mode is WGP else "ds_load_b32 v4, v5"
    found = hazards(read, f"s_waitcnt {number:#x}", "v_mov_b32_e32 v1, v4", mode=mode)
    assert found == ([] if waits else ["hazard-raw"])


def test_lgkmcnt_has_six_bits() -> None:
    reads = [f"ds_read_b32 v{n}, v99" for n in range(20)]
    assert hazards(*reads, "s_waitcnt lgkmcnt(19)", "v_mov_b32_e32 v40, v0") == []
    assert hazards(*reads, "s_waitcnt lgkmcnt(19)", "v_mov_b32_e32 v40, v1") == ["hazard-raw"]


def test_a_wait_by_a_register_is_not_known() -> None:
    with pytest.raises(AssemblyError, match="unknown wait: s_waitcnt_vscnt s0, 0x0"):
        hazards("s_waitcnt_vscnt s0, 0x0")


def test_a_flat_load_waited_for_by_one_counter_is_one_of_the_other() -> None:
    flat = "flat_load_dword v0, v[2:3]"
    use = "v_mov_b32_e32 v9, v0"
    assert hazards(flat, "s_waitcnt vmcnt(0)", use) == ["hazard-raw"]
    assert hazards(flat, "s_waitcnt vmcnt(0) lgkmcnt(0)", use) == []
    stores = ("flat_store_dword v[2:3], v1", "s_waitcnt_vscnt null, 0x0", LDS_READ)
    after = ("ds_read_b32 v6, v5", "s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v9, v4")
    assert hazards(*stores, *after) == []
    # LDS counts it down in the order of issue, and so does memory.
    assert hazards(stores[0], *stores[2:], *after) == []
    younger = "global_load_dword v7, v[2:3], off"
    assert hazards(flat, younger, "s_waitcnt vmcnt(1) lgkmcnt(0)", use) == []
    assert hazards(flat, younger, "s_waitcnt vmcnt(2) lgkmcnt(0)", use) == ["hazard-raw"]


def test_what_can_go_has_a_price() -> None:
    for text in ("s_barrier", "s_waitcnt_vscnt null, 0x0", "buffer_gl1_inv"):
        assert cost_of("gfx1100", read_line(text)).amount > 0


RETURN = "s_setpc_b64 s[30:31]"
ENTRY = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"


def test_stores_stay_open_where_functions_begin_and_return() -> None:
    store = "global_store_dword v[2:3], v1, off"
    assert [each.rule for each in findings(ENTRY, USE, store, RETURN)] == []
    assert [each.rule for each in findings(USE, RETURN)] == [Rule.ENTRY]
    assert [each.rule for each in findings(ENTRY, LOAD, RETURN)] == [Rule.RETURN]


@pytest.mark.parametrize(
    ("chip", "directive", "split"),
    [
        ("gfx1030", ".amdhsa_workgroup_processor_mode 1", True),
        ("gfx1100", ".amdhsa_workgroup_processor_mode 0", False),
        ("gfx1100", ".amdhsa_next_free_vgpr 8", True),
        ("gfx1100", "", True),
        ("gfx942", ".amdhsa_tg_split 1", True),
        ("gfx942", ".amdhsa_next_free_vgpr 8", False),
        ("gfx908", ".amdhsa_next_free_vgpr 8", False),
    ],
)
def test_whether_a_work_group_is_on_several_cus(chip: str, directive: str, split: bool) -> None:
    read = assembly("s_endpgm", chip=chip, descriptor=directive)
    mode = mode_of(read, read.functions["f"])
    assert mode.tgsplit is split
    assert mode.keeps_order is not split


@pytest.mark.parametrize(("directive", "lanes"), [("1", 32), ("0", 64)])
def test_how_many_lanes_a_wave_has(directive: str, lanes: int) -> None:
    read = assembly("s_endpgm", descriptor=f".amdhsa_wavefront_size32 {directive}")
    assert wave_size_of(read.functions["f"], KNOWN_CHIPS["gfx1030"]) == lanes


# Against the source

WAIT, STORED = (3, "s_waitcnt vmcnt(0) lgkmcnt(0)"), (3, "s_waitcnt_vscnt null, 0x0")
GL1, GL0 = (3, "buffer_gl1_inv"), (3, "buffer_gl0_inv")
PRODUCES: Lines = (
    (1, "global_store_dword v0, v1, s[0:1]"),
    STORED,
    (4, "global_store_dword v0, v1, s[2:3]"),
)
CONSUMES: Lines = (
    (1, "global_load_dword v2, v0, s[2:3] glc dlc"),
    (3, "s_waitcnt vmcnt(0)"),
    GL1,
    GL0,
    (4, "global_load_dword v3, v0, s[0:1]"),
)


def narrowed(source: Lines) -> Lines:
    return tuple((line, text.replace('"agent"', '"workgroup"')) for line, text in source)


def of_gfx11(code: Lines) -> Lines:
    return tuple(
        (line, text.replace("_dword ", "_b32 ").replace(" glc dlc", " glc")) for line, text in code
    )


@pytest.mark.parametrize(
    ("source", "code", "needed"), [(PRODUCER, PRODUCES, 1), (CONSUMER, CONSUMES, 3)]
)
@pytest.mark.parametrize("mode", [WGP, CU, WGP_11, CU_11], ids=str)
def test_every_wait_and_invalidate_of_the_agent_is_needed(
    source: Lines, code: Lines, needed: int, mode: Mode
) -> None:
    code = of_gfx11(code) if mode.target == "gfx1100" else code
    assert rules(check(source, code, mode)) == []
    missed = 0
    for place, (_, text) in enumerate(code):
        if text.startswith(("s_waitcnt", "buffer_gl")):
            assert rules(check(source, [*code[:place], *code[place + 1 :]], mode)), text
            missed += 1
    assert missed == needed


def test_bits_of_scope_are_needed() -> None:
    for bits, mode, right in (
        ("", WGP, False),
        (" glc", WGP, False),
        (" glc dlc", WGP, True),
        ("", CU, False),
        (" glc", WGP_11, True),
        ("", WGP_11, False),
    ):
        code: Lines = ((1, f"global_load_dword v2, v0, s[2:3]{bits}"), *CONSUMES[1:])
        if mode is WGP_11:
            code = tuple((line, text.replace("_dword ", "_b32 ")) for line, text in code)
        assert ("coherence" not in rules(check(CONSUMER, code, mode))) is right, (bits, mode)


def test_a_work_group_has_one_l0_in_cu_mode_and_two_in_wgp_mode() -> None:
    near = narrowed(CONSUMER)
    glc = (1, "global_load_dword v2, v0, s[2:3] glc")
    plain = (1, "global_load_dword v2, v0, s[2:3]")
    wait, read = CONSUMES[1], CONSUMES[-1]
    assert rules(check(near, (glc, wait, GL0, read), WGP)) == []
    assert rules(check(near, (glc, wait, read), WGP)) == ["acquire"]
    assert rules(check(near, (plain, wait, GL0, read), WGP)) == ["coherence"]
    assert rules(check(near, (plain, read), CU)) == []
    assert rules(check(narrowed(PRODUCER), (PRODUCES[0], PRODUCES[2]), WGP)) == ["release"]
    assert rules(check(narrowed(PRODUCER), (PRODUCES[0], PRODUCES[2]), CU)) == []


def test_an_atomic_is_waited_for_on_the_counter_that_it_is_on() -> None:
    source = (
        (1, 'atomicrmw add ptr addrspace(1) %d, i32 1 syncscope("agent") monotonic'),
        *PRODUCER[1:],
    )
    untold = (1, "global_atomic_add v0, v1, s[0:1]")
    told = (1, "global_atomic_add v5, v0, v1, s[0:1] glc")
    for atomic, wait, right in (
        (untold, STORED, True),
        (untold, WAIT, False),
        (told, WAIT, True),
        (told, STORED, False),
    ):
        found = rules(check(source, (atomic, wait, PRODUCES[2]), WGP))
        assert found == ([] if right else ["release"])


# What is acquired from the agent is passed on to the work-group

FLAG = "ptr addrspace(1) %f"
NEAR = 'syncscope("workgroup")'
PASSES_ON: Lines = (
    (1, f'%a = load atomic i32, {FLAG} syncscope("agent") monotonic, align 4'),
    (3, 'fence syncscope("agent") acquire'),
    (4, f"fence {NEAR} release"),
    (5, f"store atomic i32 1, ptr addrspace(1) %d {NEAR} monotonic, align 4"),
)
BY_BARRIER: Lines = (*PASSES_ON[:3], (5, "call void @llvm.amdgcn.s.barrier()"))
SEES, SIGNALS, MEETS = CONSUMES[:4], (5, "global_store_dword v0, v1, s[0:1]"), (5, "s_barrier")
SEES_942: Lines = (
    (1, "global_load_dword v2, v0, s[2:3] sc1"),
    (3, "s_waitcnt vmcnt(0)"),
    (3, "buffer_inv sc1"),
)
DONE = (4, "s_waitcnt vmcnt(0)")


@pytest.mark.parametrize(
    ("mode", "seen", "told"),
    [
        (WGP, SEES, SIGNALS),
        (WGP_11, of_gfx11(SEES), of_gfx11((SIGNALS,))[0]),
        (SPLIT_942, SEES_942, (5, "global_store_dword v0, v1, s[0:1] sc0")),
    ],
    ids=str,
)
def test_an_invalidate_is_waited_for_before_the_work_group_is_told(
    mode: Mode, seen: Lines, told: tuple[int, str]
) -> None:
    for source, last in ((PASSES_ON, told), (BY_BARRIER, MEETS)):
        (finding,) = check(source, (*seen, last), mode).findings
        assert finding.rule is Rule.CUMULATIVE_ACQUIRE
        assert "s_waitcnt vmcnt(0) after the invalidate of line" in finding.message
        assert rules(check(source, (*seen, DONE, last), mode)) == []
        # A wait that may leave it in flight is none, nor is one for others.
        for less in ("s_waitcnt vmcnt(1)", "s_waitcnt lgkmcnt(0)"):
            assert rules(check(source, (*seen, (4, less), last), mode)) == ["cumulative-acquire"]


@pytest.mark.parametrize(
    "source",
    [
        # To nobody else: what the wave does after it is its own.
        (*PASSES_ON[:2], (5, "store i32 1, ptr addrspace(1) %d")),
        # Without a release.
        (*PASSES_ON[:2], *PASSES_ON[3:]),
        # Of an acquire of the work-group alone.
        (PASSES_ON[0], (3, f"fence {NEAR} acquire"), *PASSES_ON[2:]),
        # The release is before the acquire.
        (PASSES_ON[0], PASSES_ON[2], PASSES_ON[1], PASSES_ON[3]),
    ],
)
def test_what_is_not_passed_on(source: Lines) -> None:
    assert "cumulative-acquire" not in rules(check(source, (*SEES, SIGNALS), WGP))


@pytest.mark.parametrize(("space", "passed"), [("local", False), ("global", True)])
def test_a_release_of_lds_alone_passes_nothing_of_memory_on(space: str, passed: bool) -> None:
    text = ir((*PASSES_ON[:2], (4, f"fence {NEAR} release, !mmra !7"), PASSES_ON[3]))
    text += f'!7 = !{{!"amdgpu-synchronize-as", !"{space}"}}\n'
    function = read_source(text).functions["k"]
    owed = passed_on(function, GFX9)
    assert [each.numbers for each in owed.values()] == ([1] if passed else [])


def test_who_passes_nothing_on_late() -> None:
    assert rules(check(PASSES_ON, (*SEES, SIGNALS), CU)) == []
    near = (*SEES_942, SIGNALS)
    assert rules(check(PASSES_ON, near, Mode("gfx942", L2PerAgent.MANY, tgsplit=False))) == []
    alone = '"amdgpu-flat-work-group-size"="32,32"'
    assert rules(check(PASSES_ON, (*SEES, SIGNALS), WGP, attributes=alone)) == []


READS = "global_load_dword v4, v5, s[2:3]"
HEARS = f"%b = load atomic i32, {FLAG} {NEAR} acquire, align 4"


@pytest.mark.parametrize(
    ("hears", "rest", "level"),
    [
        (HEARS, READS, Level.ERROR),
        (HEARS, f"{READS} sc1", Level.WARNING),
        (HEARS, "ds_read_b32 v4, v5", Level.WARNING),
        (HEARS, "s_nop 0", Level.WARNING),
        (HEARS, "s_swappc_b64 s[30:31], s[4:5]", Level.ERROR),
        # It reads, but hears of nothing before that.
        ("", READS, Level.WARNING),
    ],
)
def test_in_a_kernel_that_reads_nothing_old_nobody_does(
    hears: str, rest: str, level: Level
) -> None:
    """All waves of a work-group run one kernel; a function that is called may return to a read."""
    passes = (*SEES_942, (5, "global_store_dword v0, v1, s[0:1] sc0"))
    heard: Lines = (
        (7, "global_load_dword v6, v5, s[2:3] sc0"),
        (7, "s_waitcnt vmcnt(0)"),
        (7, "buffer_inv sc0"),
    )
    read: Lines = ((8, "%v = load i32, ptr addrspace(1) %d"),)
    if hears:
        lines, code = (*PASSES_ON, (7, hears), *read), (*passes, *heard, (8, rest))
    else:
        lines, code = (*read, *PASSES_ON), ((8, rest), *passes)
    text = asm(code) + ".amdhsa_kernel k\n.amdhsa_tg_split 1\n.end_amdhsa_kernel\n"
    flow = flow_of(read_assembly(text, "k.s").functions["k"])
    compared = AmdComparer(read_source(ir(lines)).functions["k"], flow, SPLIT_942).compare(
        {1: "k.py"}
    )
    assert [(each.rule, each.level) for each in compared.findings] == [
        (Rule.CUMULATIVE_ACQUIRE, level)
    ]
    (called,) = check(PASSES_ON, passes, SPLIT_942).findings
    assert called.level is Level.ERROR


def test_an_invalidate_may_be_for_the_others_to_make() -> None:
    """Without one nothing is passed on late: what follows the barrier may have it."""
    assert rules(check(BY_BARRIER, (*SEES[:2], MEETS, GL1, GL0), WGP)) == []


def test_gfx1250_waits_for_its_invalidate_as_well() -> None:
    mode = Mode("gfx1250", L2PerAgent.MANY, tgsplit=False)
    seen = (
        (1, "global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV"),
        (3, "s_wait_loadcnt 0x0"),
        (3, "global_inv scope:SCOPE_DEV"),
    )
    wait, told = (4, "s_wait_loadcnt 0x0"), (5, "global_store_b32 v0, v1, s[0:1]")
    assert rules(check(PASSES_ON, (*seen, told), mode)) == ["cumulative-acquire"]
    assert rules(check(PASSES_ON, (*seen, wait, told), mode)) == []


def test_on_one_path_it_is_waited_for_and_on_the_other_not() -> None:
    """Where paths join, an invalidate that is done on one of them is settled by one wait for both."""
    source = (*PASSES_ON[:2], (0, "br i1 %c, label %x, label %y"), (0, "x:"),
        (0, "br label %y"), (0, "y:"), *PASSES_ON[2:])  # fmt: skip
    head = (*SEES, (0, "s_cbranch_scc1 .L1"), (0, "s_waitcnt vmcnt(0)"), (0, ".L1:"))
    assert rules(check(source, (*head, SIGNALS), WGP)) == ["cumulative-acquire"]
    assert rules(check(source, (*head, DONE, SIGNALS), WGP)) == []


def test_the_wait_for_an_invalidate_is_not_surplus_where_others_rely_on_it() -> None:
    body = [text for _, text in (*SEES, DONE, MEETS)]
    for mode, surplus in ((WGP, False), (CU, True)):
        code = code_of(flow_of(assembly(*body, "s_endpgm").functions["f"]), mode)
        entries = solve(code)
        said = [each for each in find_hazards(code, entries) if each.rule is Rule.SURPLUS_WAIT]
        line = 4 + len(SEES)
        assert (line in [each.line for each in said]) is surplus
        assert (line in [each.line for each in find_surplus(code, entries)]) is surplus


@pytest.mark.parametrize(
    ("chip", "directives", "split", "lanes"),
    [
        ("gfx1100", "", True, 32),
        ("gfx1030", ".amdhsa_workgroup_processor_mode 0", False, 32),
        ("gfx1030", ".amdhsa_wavefront_size32 0", True, 64),
        ("gfx942", ".amdhsa_accum_offset 4\n.amdhsa_tg_split 1", True, 64),
        ("gfx942", ".amdhsa_accum_offset 4", False, 64),
    ],
)
def test_a_code_object_says_its_mode(
    chip: str, directives: str, split: bool, lanes: int, tmp_path: Path
) -> None:
    assembler = find_llvm_tool("llvm-mc")
    if assembler is None:
        pytest.skip(LLVM_HINT)
    descriptor = f".amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n{directives}"
    text = (
        f'.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n.text\n.globl f\n.type f,@function\nf:\n'
        f"s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel f\n{descriptor}\n.end_amdhsa_kernel\n"
    )
    made = tmp_path / "f.o"
    command = [assembler, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=obj", "-o", made]
    subprocess.run(command, input=text, text=True, check=True)
    read, _ = read_input(made.read_bytes(), "f.o")
    kernel = read.functions["f"]
    assert mode_of(read, kernel).tgsplit is split
    assert wave_size_of(kernel, KNOWN_CHIPS[chip]) == lanes
