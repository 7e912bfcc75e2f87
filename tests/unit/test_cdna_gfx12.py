"""Code of gfx12: counters, modes, and what its sources ask in WGP and CU mode; LLVM's own code is right."""

import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from campaigns import first_of
from test_cdna_gfx10 import BY_BARRIER, PASSES_ON, assembly, narrowed
from test_source_check import CONSUMER, PRODUCER, Lines, check, rules

from fencewright.checker.amd.accesses import Mode, mode_of
from fencewright.checker.amd.check import check as check_function
from fencewright.checker.amd.hazards import find_hazards
from fencewright.checker.amd.state import code_of, solve
from fencewright.checker.amd.surplus import find_surplus
from fencewright.checker.findings.finding import Rule
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.other_chips import chip_of
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools import fence_check
from fencewright.tools.commands.amd_check import read_input
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

WGP, CU = (Mode("gfx1200", L2PerAgent.ONE, tgsplit=split) for split in (True, False))
MODES = [WGP, CU]


def hazards(*body: str) -> list[str]:
    read = assembly(*body, "s_endpgm", chip="gfx1200")
    code = code_of(flow_of(read.functions["f"]), WGP)
    found = find_hazards(code, solve(code))
    return [each.rule.value for each in found if each.rule is not Rule.SURPLUS_WAIT]


def gone(*body: str, mode: Mode = WGP) -> list[str]:
    """What can go of a function."""
    read = assembly(*body, "s_endpgm", chip="gfx1200")
    code = code_of(flow_of(read.functions["f"]), mode)
    return [each.text for each in find_surplus(code, solve(code))]


LOAD, USE = "global_load_b32 v0, v[2:3], off", "v_mov_b32_e32 v1, v0"
SAMPLE = "image_sample v0, v2, s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_1D"
RAYS = "image_bvh_intersect_ray v[0:3], [v4, v5, v[6:8], v[9:11], v[12:14]], s[0:3]"


@pytest.mark.parametrize(
    ("load", "counter"),
    [
        (LOAD, "load"),
        (SAMPLE, "sample"),
        (RAYS, "bvh"),
        ("ds_load_b32 v0, v2", "ds"),
        ("global_atomic_add_u32 v0, v[2:3], v4, off th:TH_ATOMIC_RETURN", "load"),
    ],
)
def test_each_load_is_waited_for_on_its_counter(load: str, counter: str) -> None:
    for other in ("load", "store", "sample", "bvh", "ds", "km", "exp"):
        found = hazards(load, f"s_wait_{other}cnt 0x0", USE)
        assert found == ([] if other == counter else ["hazard-raw"]), other
    assert hazards(load, "s_wait_idle", USE) == []


def test_a_flat_load_is_on_two_counters() -> None:
    flat = "flat_load_b32 v0, v[2:3]"
    for wait, right in (("loadcnt 0x0", False), ("dscnt 0x0", False), ("loadcnt_dscnt 0x0", True)):
        assert hazards(flat, f"s_wait_{wait}", USE) == ([] if right else ["hazard-raw"])


def test_registers_are_written_in_any_order() -> None:
    assert hazards(LOAD, LOAD, "s_wait_loadcnt 0x0", USE) == ["hazard-waw"]


@pytest.mark.parametrize(
    ("chip", "text", "owner"),
    [
        ("gfx1201", "s_waitcnt vmcnt(0)", "chips before gfx12"),
        ("gfx1201", "s_barrier", "chips before gfx12"),
        ("gfx1200", "s_wait_asynccnt 0x0", "gfx1250 and later"),
        ("gfx1200", "s_set_pc_i64 s[0:1]", "gfx1250 and later"),
        ("gfx1250", "s_wait_bvhcnt 0x0", "gfx1200 and gfx1201"),
        ("gfx1250", "s_setpc_b64 s[0:1]", "chips before gfx1250"),
        ("gfx1200", "buffer_gl0_inv", "gfx10 and gfx11"),
        ("gfx1100", "global_inv scope:SCOPE_DEV", "gfx12 and later"),
    ],
)
def test_code_of_another_chip(chip: str, text: str, owner: str) -> None:
    with pytest.raises(AssemblyError, match=f"but this is of {owner}: "):
        chip_of(assembly("s_nop 0", text, chip=chip), "f.s")


@pytest.mark.parametrize(("directive", "split"), [("1", True), ("0", False)])
def test_whether_a_work_group_is_on_both_cus(directive: str, split: bool) -> None:
    line = f".amdhsa_workgroup_processor_mode {directive}"
    read = assembly("s_endpgm", chip="gfx1201", descriptor=line)
    mode = mode_of(read, read.functions["f"])
    assert mode.tgsplit is split
    assert mode.keeps_order is not split


# Against the source

STORED, BACK = (3, "s_wait_storecnt 0x0"), (3, "global_wb scope:SCOPE_SYS")
ARRIVED, INV = (3, "s_wait_loadcnt 0x0"), (3, "global_inv scope:SCOPE_DEV")
PRODUCES: Lines = (
    (1, "global_store_b32 v0, v1, s[0:1]"),
    STORED,
    (4, "global_store_b32 v0, v1, s[2:3] scope:SCOPE_DEV"),
)
CONSUMES: Lines = (
    (1, "global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV"),
    ARRIVED,
    INV,
    (4, "global_load_b32 v3, v0, s[0:1]"),
)


def to_system(lines: Lines) -> Lines:
    return tuple(
        (line, text.replace("SCOPE_DEV", "SCOPE_SYS").replace(' syncscope("agent")', ""))
        for line, text in lines
    )


def to_cu(lines: Lines) -> Lines:
    return tuple((line, text.replace("SCOPE_DEV", "SCOPE_SE")) for line, text in lines)


def needed(source: Lines, code: Lines, mode: Mode) -> list[str]:
    """The waits and cache instructions without which the source does not have what it asks for."""
    assert rules(check(source, code, mode)) == []
    return [
        text
        for place, (_, text) in enumerate(code)
        if text.startswith(("s_wait", "global_wb", "global_inv"))
        and rules(check(source, [*code[:place], *code[place + 1 :]], mode))
    ]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_every_wait_and_invalidate_is_needed(mode: Mode) -> None:
    assert needed(PRODUCER, PRODUCES, mode) == [STORED[1]]
    assert needed(CONSUMER, CONSUMES, mode) == [ARRIVED[1], INV[1]]
    produces, consumes = to_system(PRODUCES), to_system(CONSUMES)
    every = (produces[0], BACK, *produces[1:])
    assert needed(to_system(PRODUCER), every, mode) == [BACK[1], STORED[1]]
    assert needed(to_system(CONSUMER), consumes, mode) == [ARRIVED[1], INV[1].replace("DEV", "SYS")]
    (found,) = check(to_system(PRODUCER), produces, mode).findings
    assert "global_wb scope:SCOPE_SYS and s_wait_storecnt 0x0 are missing" in found.message


def test_a_work_group_has_one_l0_in_cu_mode_and_two_in_wgp_mode() -> None:
    near, code = narrowed(CONSUMER), to_cu(CONSUMES)
    assert needed(near, code, WGP) == [ARRIVED[1], "global_inv scope:SCOPE_SE"]
    assert needed(near, code, CU) == []
    plain = (1, "global_load_b32 v2, v0, s[2:3]")
    assert rules(check(near, (plain, *code[1:]), WGP)) == ["coherence"]
    assert rules(check(near, (plain, code[-1]), CU)) == []
    produces = to_cu(PRODUCES)
    assert needed(narrowed(PRODUCER), produces, WGP) == [STORED[1]]
    assert needed(narrowed(PRODUCER), produces, CU) == []


def test_what_is_acquired_from_the_system_is_passed_on_late_in_wgp_mode() -> None:
    """An L0 the others invalidate themselves; what the agent's L2 holds of other agents they do not."""
    for source, told in (
        (PASSES_ON, (5, "global_store_b32 v0, v1, s[0:1] scope:SCOPE_SE")),
        (BY_BARRIER, (5, "s_barrier_signal -1")),
    ):
        wide, seen, done = to_system(source), to_system(CONSUMES[:3]), (4, "s_wait_loadcnt 0x0")
        (found,) = check(wide, (*seen, told), WGP).findings
        assert found.rule is Rule.CUMULATIVE_ACQUIRE
        assert "s_wait_loadcnt 0x0 after the invalidate of line" in found.message
        assert rules(check(wide, (*seen, done, told), WGP)) == []
        assert rules(check(wide, (*seen, told), CU)) == []
        assert rules(check(source, (*CONSUMES[:3], told), WGP)) == []


def test_what_can_go() -> None:
    store, flag = PRODUCES[0][1], PRODUCES[2][1]
    back = "global_wb scope:SCOPE_DEV"
    assert gone(store, back, STORED[1], flag) == [back]
    wide = flag.replace("DEV", "SYS")
    assert gone(store, BACK[1], STORED[1], wide) == []
    assert gone(store, STORED[1], "s_wait_bvhcnt 0x0", flag) == ["s_wait_bvhcnt 0x0"]
    inv, again = INV[1], CONSUMES[-1][1]
    see = CONSUMES[0][1]
    assert gone(see, ARRIVED[1], inv, inv, again, ARRIVED[1], "v_mov_b32_e32 v9, v3") == [inv]


# LLVM's own code

SCOPES = ("", "agent", "workgroup", "wavefront")
ORDERINGS = {
    "store": ("monotonic", "release", "seq_cst"),
    "load": ("monotonic", "acquire", "seq_cst"),
    "add": ("monotonic", "acquire", "release", "acq_rel", "seq_cst"),
    "fence": ("acquire", "release", "acq_rel", "seq_cst"),
}


def kernels() -> Iterator[str]:
    """Every atomic access and fence beside data in memory or in LDS, one kernel each."""
    every = product(ORDERINGS, SCOPES, (1, 3), (1, 3))
    for number, (kind, name, data, flag) in enumerate(every):
        scope = f' syncscope("{name}")' if name else ""
        at, to = f"ptr addrspace({flag}) %f", f"ptr addrspace({data}) %d"
        for ordering in ORDERINGS[kind]:
            access = {
                "store": f"store atomic i32 1, {at}{scope} {ordering}, align 4",
                "load": f"%s = load atomic i32, {at}{scope} {ordering}, align 4",
                "add": f"%s = atomicrmw add {at}, i32 1{scope} {ordering}, align 4",
                "fence": f"%s = load atomic i32, {at}{scope} monotonic, align 4\n"
                f"fence{scope} {ordering}\nstore atomic i32 2, {at}{scope} monotonic, align 4",
            }[kind]
            seen = "0" if kind == "store" else "%s"
            yield f"""
define amdgpu_kernel void @{kind}_{number}_{ordering}({to}, {at}, ptr addrspace(1) %o) {{
  store i32 7, {to}
  {access}
  %v = load i32, {to}
  %r = add i32 %v, {seen}
  store i32 %r, ptr addrspace(1) %o
  ret void
}}"""


OF_LDS_AFTER_A_FLAG = "s_wait_loadcnt 0x0 is missing between them"
"""LLVM's acquire of a work-group in CU mode, before LDS (the sentinel's known one)."""


BUILDS = (("-cumode", "-O2"), ("+cumode", "-O0"), ("-cumode", "-O0"), ("+cumode", "-O2"))


@pytest.mark.parametrize("build", first_of(BUILDS), ids=" ".join)
def test_llvm_s_own_code_has_what_its_source_asks_for(
    build: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mode, level = build
    llc = find_llvm_tool("llc")
    if llc is None:
        pytest.skip(LLVM_HINT)
    source = tmp_path / "k.ll"
    text = 'target triple = "amdgcn-amd-amdhsa"\n' + "\n".join(kernels())
    source.write_text(text, encoding="utf-8")
    run = f"{llc} {level} -mcpu=gfx1200 -mattr={mode}"
    fence_check.main(["--run", run, str(source)])
    lines = capsys.readouterr().out.splitlines()
    count = text.count("define ")
    errors = [each for each in lines if " error: " in each]
    assert [each for each in errors if mode == "-cumode" or OF_LDS_AFTER_A_FLAG not in each] == []
    (compared,) = (each for each in lines if "functions compared with" in each)
    assert int(compared.split(": ")[1].split()[0]) > 0.9 * count
    assert not [each for each in lines if "[unknown-instruction]" in each]


def test_an_object_is_read_as_its_text_is(tmp_path: Path) -> None:
    assembler = find_llvm_tool("llvm-mc")
    if assembler is None or find_llvm_tool("llvm-objdump") is None:
        pytest.skip(LLVM_HINT)
    body = "\n".join(["s_barrier_signal -1", "s_barrier_wait -1", LOAD, USE, "s_endpgm"])
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--gfx1201"\n.text\n.globl f\n.type f,@function\nf:\n{body}\n'
    source, made = tmp_path / "k.s", tmp_path / "k.o"
    source.write_text(f"{text}.size f, .-f\n", encoding="utf-8")
    command = [assembler, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1201", "-filetype=obj"]
    subprocess.run([*command, str(source), "-o", str(made)], check=True)
    found: list[list[Rule]] = []
    for path in (source, made):
        read, _ = read_input(path.read_bytes(), str(path))
        assert read.chip == "gfx1201"
        function = check_function(read, read.functions["f"])
        found.append([each.rule for each in function.hazards()])
    assert found == [[Rule.RAW], [Rule.RAW]]
