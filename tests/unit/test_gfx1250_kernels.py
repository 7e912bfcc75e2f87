"""Kernels for gfx1250: waits, registers, descriptor and metadata, as ``llvm-mc`` takes them."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from campaigns import first_of, some_of
from llvm24_oracle import has_llvm24
from minimise_programs import parse
from xdsl.context import Context

from fencewright.lowering.cdna.assembly import (
    HazardEffect,
    Printed,
    insert_translation_waits,
    insert_wait_states,
)
from fencewright.lowering.cdna.chips import Generation, chips_of
from fencewright.mlir_dialects.cdna import KernelOp, WaitOp
from fencewright.passes.cdna.waits.insert_waits import insert_waits
from fencewright.passes.cdna.waits.loosen_waits import LoosenWaitsPass
from fencewright.tools import fence_opt
from fencewright.tools.llvm_tools import find_llvm_tool

EXAMPLES = Path(__file__).parents[2] / "examples"
LLVM_MC = find_llvm_tool("llvm-mc")
CHIPS = chips_of(Generation.GFX1250)
P = "!llvm.ptr<1>"


def assembly(tmp_path: Path, text: str, *arguments: str, chip: str = "gfx1250") -> str:
    """What ``fence-opt -t asm`` prints of a module."""
    file = tmp_path / "kernel.mlir"
    file.write_text(text, encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert fence_opt.main([str(file), "--mcpu", chip, "-t", "asm", *arguments]) == 0
    return printed.getvalue()


def code(text: str) -> list[str]:
    """The instructions of the only kernel, without registers."""
    body = text.partition(":\n")[2].partition("\n.L")[0]
    lines = [line.strip() for line in body.splitlines()]
    return [re.sub(r"\b[sv](\d+|\[\d+:\d+\])", "R", line) for line in lines]


def problems(assembly: str, chip: str) -> str:
    """What ``llvm-mc`` says of it."""
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=null"]
    done = subprocess.run(command, input=assembly, text=True, capture_output=True, check=False)
    return done.stderr


ASSEMBLE = """
import sys
from triton._C.libtriton import amd, llvm
llvm.init_targets()
amd.assemble_amdgcn(sys.stdin.read(), "amdgcn-amd-amdhsa", sys.argv[1], "")
"""


def problems_of_24(assembly: str, chip: str) -> str:
    """What LLVM 24's assembler says of it, which Triton's wheel has; it ends the process."""
    command = [sys.executable, "-c", ASSEMBLE, chip]
    done = subprocess.run(command, input=assembly, text=True, capture_output=True, check=False)
    return done.stderr if done.returncode or "error" in done.stderr else ""


ASSEMBLERS = (
    pytest.param(
        problems, marks=pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed")
    ),
    pytest.param(
        problems_of_24,
        marks=pytest.mark.skipif(not has_llvm24(), reason="Triton 3.9 is not installed"),
    ),
)
PRINTED = (
    "message_passing.mlir", "kernels-cdna/kernels.mlir", "kernels-cdna/elected.mlir",
    "async/cp_async_ampere.mlir",
)  # fmt: skip


@pytest.mark.parametrize("assembler", ASSEMBLERS)
@pytest.mark.parametrize("chip", first_of(CHIPS))
@pytest.mark.parametrize("example", some_of(PRINTED, 3))
def test_every_assembler_takes_every_kernel(
    tmp_path: Path, chip: str, example: str, assembler: Callable[[str, str], str]
) -> None:
    """A file of kernels at both levels, and not with an instruction that there is not."""
    printed, text = "", (EXAMPLES / example).read_text(encoding="utf-8")
    for level in ("-O0", "-O2"):
        printed = assembly(tmp_path, text, level, chip=chip)
        assert assembler(printed, chip) == "", level
    broken = printed.replace("\ts_endpgm", "\ts_wait_nothing 0x0\n\ts_endpgm")
    assert "error" in assembler(broken, chip)


def test_a_mask_is_one_register_and_the_descriptor_says_so(tmp_path: Path) -> None:
    printed = assembly(tmp_path, (EXAMPLES / "message_passing.mlir").read_text(encoding="utf-8"))
    assert re.search(r"v_cmp_eq_u32_e64 s\d+, ", printed)
    assert "s_and_b32 vcc_lo, exec_lo, " in printed
    assert ".amdhsa_wavefront_size32 1" in printed
    assert ".wavefront_size: 32" in printed
    assert "accum_offset" not in printed


IDS = f"""
func.func @ids(%out: {P}) attributes {{gpu.kernel CLUSTER}} {{
  %x = "gpu.block_id"() {{dimension = #gpu<dim x>}} : () -> index
  %y = "gpu.block_id"() {{dimension = #gpu<dim y>}} : () -> index
  %sum = arith.addi %x, %y : index
  %value = arith.index_cast %sum : index to i32
  scoped.store weak %value, %out : i32, {P}
  func.return
}}
"""


def test_ids_are_in_registers_that_nobody_asks_for(tmp_path: Path) -> None:
    printed = assembly(tmp_path, IDS.replace("CLUSTER", ""))
    assert re.search(r"s_mov_b32 s\d, ttmp9", printed)
    assert re.search(r"s_and_b32 s\d, ttmp7, 0xffff", printed)
    assert "cluster_dims" not in printed


def test_a_cluster_is_in_the_metadata_and_in_the_ids(tmp_path: Path) -> None:
    size = ", gpu.known_cluster_size = array<i32: 2, 3, 1>"
    printed = assembly(tmp_path, IDS.replace("CLUSTER", size))
    assert "    .cluster_dims:\n      - 2\n      - 3\n      - 1\n" in printed
    assert re.search(r"s_mul_i32 s\d, s\d, 3", printed)
    assert "s_bfe_u32 vcc_lo, ttmp6, 0x40004" in printed


@pytest.mark.parametrize("size", ["0, 1, 1", "4, 4, 2"])
def test_a_cluster_that_cannot_be_is_refused(
    tmp_path: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.mlir"
    attribute = f", gpu.known_cluster_size = array<i32: {size}>"
    file.write_text(IDS.replace("CLUSTER", attribute), encoding="utf-8")
    assert fence_opt.main([str(file), "--mcpu", "gfx1250", "-t", "asm"]) != 0
    assert "gpu.known_cluster_size is no array<i32: x, y, z> of 1 to 16" in capsys.readouterr().err


def test_chips_without_clusters_refuse_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.mlir"
    attribute = ", gpu.known_cluster_size = array<i32: 2, 1, 1>"
    file.write_text(IDS.replace("CLUSTER", attribute), encoding="utf-8")
    assert fence_opt.main([str(file), "--mcpu", "gfx942", "-t", "asm"]) != 0
    assert "gfx942 launches no clusters" in capsys.readouterr().err


# Waits


def kernel(body: str) -> KernelOp:
    """A kernel of these operations with its waits inserted."""
    text = f"""
cdna.kernel @k attributes {{chip = "gfx1250", arguments = [], group_segment_size = 0,
    private_segment_size = 0, workgroup_ids = 0, workitem_ids = 0, max_workgroup_size = 32}} {{
^entry(%a: !cdna.vgpr<2>, %l: !cdna.vgpr, %d: !cdna.vgpr):
{body}
  cdna.end s_endpgm
}}
"""
    (made,) = parse(text).ops
    assert isinstance(made, KernelOp)
    insert_waits(made)
    return made


def lines(made: KernelOp) -> list[str]:
    """The opcodes of a kernel, and its waits."""
    found: list[str] = []
    for block in made.body.blocks:
        for op in block.ops:
            opcode = op.properties.get("opcode")
            counts = getattr(op, "counts", None)
            found.append(str(counts) if counts is not None else str(opcode).strip('"'))
    return found


LOAD = "cdna.load global_load_b32 %a : (!cdna.vgpr<2>) -> !cdna.vgpr"
LDS = "cdna.load ds_load_b32 %l : (!cdna.vgpr) -> !cdna.vgpr"
ADD = "cdna.alu v_add_nc_u32_e32 %0, %0 : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr"


def test_a_result_is_waited_for_on_its_own_counter() -> None:
    made = kernel(f"  %0 = {LOAD}\n  %1 = {LDS}\n  %2 = {ADD}")
    assert lines(made)[:3] == ["global_load_b32", "ds_load_b32", "loadcnt(0)"]


def test_younger_loads_may_stay_outstanding() -> None:
    made = kernel(f"  %0 = {LOAD}\n  %1 = {LOAD}\n  %2 = {ADD}\n  %3 = {LDS}")
    assert "loadcnt(1)" in lines(made)


def test_a_store_is_no_load() -> None:
    store = "cdna.store global_store_b32 %a, %d : (!cdna.vgpr<2>, !cdna.vgpr) -> ()"
    made = kernel(f"  {store}\n  cdna.s_waitcnt loadcnt(0) storecnt(0)")
    assert lines(made)[:2] == ["global_store_b32", "storecnt(0)"]


def test_an_invalidate_counts_as_a_load_and_a_write_back_as_a_store() -> None:
    caches = "  cdna.cache global_inv\n  cdna.cache global_wb\n"
    made = kernel(f"{caches}  cdna.s_waitcnt loadcnt(0)\n  cdna.s_waitcnt storecnt(0)")
    assert lines(made)[2:4] == ["loadcnt(0) storecnt(0)", "s_endpgm"]
    made = kernel("  cdna.s_waitcnt loadcnt(0) storecnt(0)")
    assert lines(made) == ["s_endpgm"]


def test_a_loop_waits_before_it_writes_a_register_again() -> None:
    """Registers of loads are written in any order, so that the older could come last."""
    made = kernel(f"  cdna.s_branch ^loop\n^loop:\n  %0 = {LOAD}\n  cdna.s_branch ^loop\n^out:")
    assert lines(made)[:4] == ["None", "loadcnt(0)", "global_load_b32", "None"]


def test_results_that_nobody_reads_keep_only_so_many_registers() -> None:
    made = kernel("\n".join(f"  %{n} = {LOAD}" for n in range(33)))
    assert lines(made)[:34] == [*["global_load_b32"] * 32, "loadcnt(16)", "global_load_b32"]


def test_a_wait_for_translation_stays() -> None:
    made = kernel("  cdna.s_waitcnt xcnt(0)")
    assert lines(made)[0] == "xcnt(0)"


def test_a_register_of_an_access_is_overwritten_after_its_translation() -> None:
    load = Printed("load", HazardEffect(read=frozenset({"v0", "v1"}), sets=frozenset({"v2"})))
    move = Printed("move", HazardEffect(sets=frozenset({"v0"})))
    other = Printed("other", HazardEffect(sets=frozenset({"v3"})))
    wait, end = Printed("s_wait_loadcnt 0x0"), Printed("s_endpgm")

    def texts(*block: Printed) -> list[str]:
        (found,) = insert_translation_waits([block])
        return [each.text for each in found]

    assert texts(load, move) == ["load", "s_wait_xcnt 0x0", "move"]
    assert texts(load, other) == ["load", "other"]
    assert texts(load, wait, move) == ["load", "s_wait_loadcnt 0x0", "move"]
    assert texts(load, Printed("s_wait_loadcnt 0x1"), move)[2] == "s_wait_xcnt 0x0"
    # From any block to any other, but for what ends the wave.
    assert len(insert_translation_waits([[move], [load], [move]])[2]) == 2
    assert len(insert_translation_waits([[move], [load, end], [move]])[2]) == 1


def test_other_chips_have_no_waits_for_translation() -> None:
    load = Printed("load", HazardEffect(read=frozenset({"v0"})))
    move = Printed("move", HazardEffect(sets=frozenset({"v0"})))
    assert insert_wait_states([[load, move]], "gfx942") == [["load", "move"]]
    assert insert_wait_states([[load, move]], "gfx1250") == [["load", "s_wait_xcnt 0x0", "move"]]


def test_the_clusters_barrier_steps_over_one_instruction(tmp_path: Path) -> None:
    barrier = "func.func @b() attributes {gpu.kernel} {\n  scoped.barrier cluster\n  func.return\n}"
    found = code(assembly(tmp_path, barrier))
    first = found.index("s_barrier_signal_isfirst -1")
    assert found[first : first + 6] == [
        "s_barrier_signal_isfirst -1",
        "s_wait_kmcnt 0x0",
        "s_barrier_wait -1",
        "s_cbranch_scc0 1",
        "s_barrier_signal -3",
        "s_barrier_wait -3",
    ]


# What is taken away


def synchronisation(text: str) -> tuple[int, int, int]:
    """The write-backs, invalidates and waits in assembly, but for those for translation."""
    words = [
        line.split()[0] for line in text.splitlines() if line.startswith("\t") and line.strip()
    ]
    waits = sum(each.startswith("s_wait_") and each != "s_wait_xcnt" for each in words)
    return words.count("global_wb"), words.count("global_inv"), waits


def test_eighteen_kernels_have_half_of_llvms_cache_instructions(tmp_path: Path) -> None:
    text = (EXAMPLES / "kernels-cdna" / "kernels.mlir").read_text(encoding="utf-8")
    assert synchronisation(assembly(tmp_path, text, "-O0")) == (17, 16, 88)
    assert synchronisation(assembly(tmp_path, text, "-O2")) == (8, 8, 69)


@pytest.mark.skipif(find_llvm_tool("llc") is None, reason="llc is not installed")
def test_llvm_22_has_as_many_cache_instructions_as_we_begin_with() -> None:
    llc = find_llvm_tool("llc")
    assert llc is not None
    text = (EXAMPLES / "kernels-cdna" / "kernels.ll").read_text(encoding="utf-8")
    command = [llc, "-O2", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1250"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    assert synchronisation(done.stdout)[:2] == (17, 16)


def two_fences(first: str, second: str) -> str:
    """A kernel that releases twice, a store before the first only."""
    return f"""
func.func @k(%p: {P}, %f: {P}, %v: i32) attributes {{gpu.kernel}} {{
  scoped.store weak %v, %p : i32, {P}
  scoped.store release {first} %v, %f : i32, {P}
  scoped.store release {second} %v, %f : i32, {P}
  func.return
}}
"""


def test_what_was_written_back_is_not_written_back_again(tmp_path: Path) -> None:
    printed = assembly(tmp_path, two_fences("agent", "agent"))
    assert printed.count("global_wb") == 1
    # The wait for it, and for the flag, stays.
    assert code(printed)[-4:-2] == ["s_wait_storecnt 0x0", "s_wait_xcnt 0x0"]


def test_a_wider_release_writes_back_again(tmp_path: Path) -> None:
    assert assembly(tmp_path, two_fences("agent", "system")).count("global_wb") == 2


def test_what_is_written_back_for_a_cluster_is_never_taken_away(tmp_path: Path) -> None:
    """It goes no farther than the work-group to the passes, which have no word between the two."""
    printed = assembly(tmp_path, two_fences("cluster", "cluster"))
    assert printed.count("global_wb scope:SCOPE_SE") == 2
    printed = assembly(tmp_path, two_fences("cluster", "agent"))
    assert printed.count("global_wb scope:SCOPE_DEV") == 1


def test_an_invalidate_that_nobody_reads_behind_goes(tmp_path: Path) -> None:
    load = f"  %v = scoped.load acquire agent %p : {P} -> i32\n"
    read = f"  %w = scoped.load weak %q : {P} -> i32\n  scoped.store weak %w, %p : i32, {P}\n"
    head, tail = (
        f"func.func @k(%p: {P}, %q: {P}) attributes {{gpu.kernel}} {{\n",
        "  func.return\n}",
    )
    assert "global_inv" not in assembly(tmp_path, head + load + tail)
    assert "global_inv scope:SCOPE_DEV" in assembly(tmp_path, head + load + read + tail)


def test_a_spin_loop_invalidates_once_it_ends(tmp_path: Path) -> None:
    text = (EXAMPLES / "kernels-cdna" / "kernels.mlir").read_text(encoding="utf-8")
    body = (
        assembly(tmp_path, text)
        .partition("\nmp_consumer_acquire_load:\n")[2]
        .partition("s_endpgm")[0]
    )
    loop, _, after = body.partition("s_cbranch_vccnz")
    assert "global_inv" not in loop
    assert after.split("\n")[1:3] == ["\tglobal_inv scope:SCOPE_DEV", "\ts_wait_loadcnt 0x0"]


# Loosened waits

FLAG_AND_DATA = """
  %f = cdna.load global_load_b32 %a {modifiers = ["scope:SCOPE_DEV"],
    phase = #cdna<phase access>} : (!cdna.vgpr<2>) -> !cdna.vgpr
  %x = cdna.load global_load_b32 %a : (!cdna.vgpr<2>) -> !cdna.vgpr
"""
FLAT = "  %g = cdna.load flat_load_b32 %a : (!cdna.vgpr<2>) -> !cdna.vgpr\n"
PLAIN_STORE = "  cdna.store global_store_b32 %a, %d : (!cdna.vgpr<2>, !cdna.vgpr) -> ()\n"
LDS_STORE = "  cdna.store ds_store_b32 %l, %d : (!cdna.vgpr, !cdna.vgpr) -> ()\n"
ACQUIRE = "  cdna.s_waitcnt loadcnt(0) storecnt(0) dscnt(0) {phase = #cdna<phase wait>}\n"
RELEASE = "  cdna.s_waitcnt loadcnt(0) storecnt(0) dscnt(0) {phase = #cdna<phase release>}\n"
IN_MEMORY = """  cdna.store global_store_b32 %a, %d {phase = #cdna<phase access>}
    : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
"""
IN_LDS = """  cdna.store ds_store_b32 %l, %d {phase = #cdna<phase access>}
    : (!cdna.vgpr, !cdna.vgpr) -> ()
"""


def loosened(body: str) -> list[str]:
    """The waits of a kernel after ``loosen-waits``."""
    text = f"""
cdna.kernel @k attributes {{chip = "gfx1250", arguments = [], group_segment_size = 0,
    private_segment_size = 0, workgroup_ids = 0, workitem_ids = 0, max_workgroup_size = 32}} {{
^entry(%a: !cdna.vgpr<2>, %l: !cdna.vgpr, %d: !cdna.vgpr, %m: !cdna.sgpr):
{body}
  cdna.end s_endpgm
}}
"""
    module = parse(text)
    LoosenWaitsPass().apply(Context(), module)
    return [str(op.counts) for op in module.walk() if isinstance(op, WaitOp)]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        # An acquire waits for the flag, not for what was loaded or stored plainly after it.
        (FLAG_AND_DATA + PLAIN_STORE + ACQUIRE, ["loadcnt(1)"]),
        # A flat load may be told first; the others still count for a release.
        (FLAG_AND_DATA + FLAT + ACQUIRE, ["loadcnt(0)"]),
        (FLAG_AND_DATA + RELEASE, ["loadcnt(0)"]),
        (PLAIN_STORE + RELEASE + IN_MEMORY, ["storecnt(0)"]),
        # LDS is in order for who learns by LDS.
        (LDS_STORE + RELEASE + IN_LDS, []),
        (LDS_STORE + RELEASE + IN_MEMORY, ["dscnt(0)"]),
        (FLAT + LDS_STORE + RELEASE + IN_LDS, ["loadcnt(0) dscnt(0)"]),
        # On either path.
        (FLAG_AND_DATA + "  cdna.s_cbranch %m : !cdna.sgpr, ^more, ^join\n^more:\n"
         "  %y = cdna.load global_load_b32 %a : (!cdna.vgpr<2>) -> !cdna.vgpr\n"
         "  cdna.s_branch ^join\n^join:\n" + ACQUIRE, ["loadcnt(1)"]),
        # After a wait nothing is left to wait for.
        (FLAG_AND_DATA + "  cdna.s_waitcnt loadcnt(1)\n" + ACQUIRE, ["loadcnt(1)"]),
    ],
)  # fmt: skip
def test_an_ordering_wait_covers_what_it_must_on_each_counter(body: str, left: list[str]) -> None:
    assert loosened(body) == left
