"""Asynchronous copies of gfx1250: groups as counts, what is waited for, and what is refused."""

import io
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from minimise_programs import parse
from xdsl.context import Context

from fencewright.mlir_dialects.cdna import CacheOp, KernelOp, WaitOp
from fencewright.passes.cdna.caches.drop_write_backs import DropWriteBacksPass
from fencewright.passes.cdna.waits.insert_waits import insert_waits
from fencewright.tools import fence_check, fence_opt, fence_sim
from fencewright.tools.llvm_tools import find_llvm_tool

LLVM_MC = find_llvm_tool("llvm-mc")
G, L = "!llvm.ptr<1>", "!llvm.ptr<3>"
HEAD = f"""
llvm.mlir.global internal @tile() {{addr_space = 3 : i32, alignment = 128 : i64}}
    : !llvm.array<1024 x i8>
func.func @k(%in: {G}, %out: {G}) attributes {{gpu.kernel}} {{
  %tile = llvm.mlir.addressof @tile : {L}
"""
COPY = f"  scoped.async_copy %tile, %in size 16 : {L}, {G}\n"
READ = f"  %r = scoped.load weak %tile : {L} -> i32\n  scoped.store weak %r, %out : i32, {G}\n"
BARRIER = "  scoped.barrier workgroup\n"
TAIL = "  func.return\n}\n"


def run(tmp_path: Path, body: str, *arguments: str, chip: str = "gfx1250") -> tuple[int, str]:
    """The exit status of ``fence-opt -t asm``, and the kernel's code, which ``llvm-mc`` takes."""
    file = tmp_path / "kernel.mlir"
    file.write_text(HEAD + body + TAIL, encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        status = fence_opt.main([str(file), "--mcpu", chip, "-t", "asm", *arguments])
    if status == 0 and LLVM_MC is not None:
        command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=null"]
        subprocess.run(command, input=printed.getvalue(), text=True, check=True)
    return status, printed.getvalue().partition("\nk:\n")[2].partition("\n.Lk_end")[0]


def mnemonics(code: str) -> list[str]:
    """The instructions from the first copy on, with the counts of waits."""
    lines = [line.strip() for line in code.splitlines()]
    kept = [each if each.startswith("s_wait") else each.split()[0] for each in lines]
    first = next(n for n, each in enumerate(kept) if "async" in each or "barrier" in each)
    return kept[first:]


def test_a_copy_that_reads_fewer_bytes_than_it_writes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = "  %n = arith.constant 8 : i32\n" + COPY.replace("size 16", "size 16 read %n")
    assert run(tmp_path, fewer + BARRIER + READ)[0] == 2
    assert "error: no copy of gfx1250 reads fewer bytes than it writes" in capsys.readouterr().err


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "group", ["", "  scoped.async_commit_group\n  scoped.async_wait_group 0\n"]
)
def test_a_barrier_waits_for_the_copies_before_it(tmp_path: Path, group: str, level: str) -> None:
    """No matter whether the program says so: LLVM leaves it to the program, which may forget it."""
    status, code = run(tmp_path, COPY + group + BARRIER + READ, level)
    assert status == 0
    found = mnemonics(code)
    assert found[:4] == [
        "global_load_async_to_lds_b128",
        "s_wait_asynccnt 0x0",
        "s_barrier_signal",
        "s_barrier_wait",
    ]
    assert found.count("s_wait_asynccnt 0x0") == 1


def test_the_newest_group_may_stay_outstanding(tmp_path: Path) -> None:
    group = COPY + COPY + "  scoped.async_commit_group\n"
    _, code = run(tmp_path, group + group + "  scoped.async_wait_group 1\n")
    assert mnemonics(code)[4] == "s_wait_asynccnt 0x2"


def test_a_copy_back_comes_after_the_waves_own_stores(tmp_path: Path) -> None:
    store = f"  %v = arith.constant 1 : i32\n  scoped.store weak %v, %tile : i32, {L}\n"
    bulk = f"  scoped.bulk_copy %out, %tile size 48 : {G}, {L}\n"
    wait = "  scoped.bulk_commit_group\n  scoped.bulk_wait_group 0\n"
    _, code = run(tmp_path, store + bulk + wait)
    lines = [each.strip() for each in code.splitlines()]
    first = lines.index("s_wait_dscnt 0x0")
    assert lines[first - 1].startswith("ds_store_b32")
    assert [each.split(", ")[-1] for each in lines[first + 1 : first + 4]] == [
        "off", "off offset:16", "off offset:32",
    ]  # fmt: skip
    assert lines[first + 4] == "s_wait_asynccnt 0x0"


CLUSTER = "  scoped.cluster_arrive release\n  scoped.cluster_wait\n"


def test_the_clusters_barrier_comes_in_two_parts(tmp_path: Path) -> None:
    store = f"  %v = arith.constant 1 : i32\n  scoped.store weak %v, %out : i32, {G}\n"
    load = f"  %r = scoped.load weak %in : {G} -> i32\n  scoped.store weak %r, %out : i32, {G}\n"
    _, code = run(tmp_path, store + CLUSTER + load, "-O0")
    assert mnemonics(code)[:8] == [
        "s_barrier_signal_isfirst",
        "s_wait_kmcnt 0x0",
        "s_barrier_wait",
        "s_cbranch_scc0",
        "s_barrier_signal",
        "s_barrier_wait",
        "global_inv",
        "global_load_b32",
    ]
    before = [line.strip() for line in code.splitlines()]
    assert before.index("global_wb scope:SCOPE_SE") < before.index("s_barrier_signal_isfirst -1")


@pytest.mark.parametrize(
    ("body", "chip", "said"),
    [
        (COPY, "gfx942", "gfx942 has no asynchronous copies"),
        (f"  scoped.bulk_copy %out, %tile size 256 : {G}, {L}\n", "gfx1250", "at most 128 bytes"),
        (f"  scoped.bulk_copy %tile, %in size 16 mbarrier %tile : {L}, {G}, {L}\n", "gfx1250",
         "completes on an mbarrier"),
        (CLUSTER, "gfx942", "gfx942 launches no clusters"),
    ],
)  # fmt: skip
def test_what_a_chip_does_not_have(
    tmp_path: Path, body: str, chip: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _ = run(tmp_path, body, chip=chip)
    assert status != 0
    assert said in capsys.readouterr().err


# Groups on every path

P = "(!cdna.vgpr<2>, !cdna.vgpr) -> ()"
TO_LDS = f"  cdna.async global_load_async_to_lds_b32 %a, %l : {P}\n"
TO_MEMORY = f"  cdna.async global_store_async_from_lds_b32 %a, %l : {P}\n"
MARK = "  cdna.async_mark\n"


def counts(body: str) -> list[str]:
    """The waits of a kernel once they have been inserted."""
    text = f"""
cdna.kernel @k attributes {{chip = "gfx1250", arguments = [], group_segment_size = 0,
    private_segment_size = 0, workgroup_ids = 0, workitem_ids = 0, max_workgroup_size = 32}} {{
^entry(%a: !cdna.vgpr<2>, %l: !cdna.vgpr, %m: !cdna.sgpr, %d: !cdna.sgpr<4>, %t: !cdna.sgpr<8>):
{body}
  cdna.end s_endpgm
}}
"""
    (made,) = parse(text).ops
    assert isinstance(made, KernelOp)
    insert_waits(made)
    assert not any("async_" in op.name for op in made.walk())
    return [str(op.counts) for op in made.walk() if isinstance(op, WaitOp)]


def test_a_wait_without_a_group_waits_for_nothing() -> None:
    assert counts(TO_LDS + "  cdna.async_wait 0") == []
    assert counts(TO_LDS + MARK + "  cdna.async_wait 1") == []


def test_copies_after_the_mark_may_stay_outstanding() -> None:
    assert counts(TO_LDS + MARK + TO_LDS + "  cdna.async_wait 0") == ["asynccnt(1)"]


def test_copies_of_both_directions_are_not_in_order() -> None:
    assert counts(TO_LDS + MARK + TO_MEMORY + "  cdna.async_wait 0") == ["asynccnt(0)"]


def test_where_paths_join_the_fewest_younger_copies_count() -> None:
    two = (
        f"{TO_LDS}{MARK}{TO_LDS}  cdna.s_cbranch %m : !cdna.sgpr, ^more, ^join\n^more:\n"
        f"{TO_LDS}  cdna.s_branch ^join\n^join:\n  cdna.async_wait 0"
    )
    assert counts(two) == ["asynccnt(1)"]


def test_a_loop_leaves_its_newest_copies_alone() -> None:
    loop = (
        f"{TO_LDS}{MARK}  cdna.s_branch ^loop\n^loop:\n{TO_LDS}{MARK}  cdna.async_wait 1\n"
        "  cdna.s_cbranch %m : !cdna.sgpr, ^loop, ^out\n^out:"
    )
    assert counts(loop) == ["asynccnt(1)"]


def test_tensors_have_a_counter_of_their_own() -> None:
    load = "  cdna.tensor tensor_load_to_lds %d, %t : (!cdna.sgpr<4>, !cdna.sgpr<8>) -> ()\n"
    assert counts(load + "  cdna.s_waitcnt asynccnt(0) tensorcnt(0)") == ["tensorcnt(0)"]
    lds = "  cdna.store ds_store_b32 %l, %l : (!cdna.vgpr, !cdna.vgpr) -> ()\n"
    assert counts(lds + load) == ["dscnt(0)"]


def test_a_tensor_of_more_dimensions_has_four_descriptors(tmp_path: Path) -> None:
    file = tmp_path / "tensors.mlir"
    groups = "(!cdna.sgpr<4>, !cdna.sgpr<8>, !cdna.sgpr<4>, !cdna.sgpr<4>) -> ()"
    file.write_text(
        f"""
cdna.kernel @k attributes {{chip = "gfx1250", arguments = [], group_segment_size = 0,
    private_segment_size = 0, workgroup_ids = 0, workitem_ids = 0, max_workgroup_size = 32}} {{
^bb0(%k: !cdna.sgpr<2, 0>):
  %a = cdna.load s_load_b128 %k {{offset = 0 : i64}} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<4>
  %b = cdna.pack %a, %a : (!cdna.sgpr<4>, !cdna.sgpr<4>) -> !cdna.sgpr<8>
  cdna.tensor tensor_load_to_lds %a, %b : (!cdna.sgpr<4>, !cdna.sgpr<8>) -> ()
  cdna.tensor tensor_store_from_lds_d4 %a, %b, %a, %a : {groups}
  cdna.s_waitcnt tensorcnt(1) {{phase = #cdna<phase wait>}}
  cdna.end s_endpgm
}}
""",
        encoding="utf-8",
    )
    printed = io.StringIO()
    with redirect_stdout(printed):
        passes = ["-p", "insert-waits,allocate-registers", "-t", "asm"]
        assert fence_opt.main([str(file), *passes]) == 0
    code = [line.strip() for line in printed.getvalue().splitlines()]
    first = code.index("tensor_load_to_lds s[4:7], s[8:15]")
    assert code[first : first + 3] == [
        "tensor_load_to_lds s[4:7], s[8:15]",
        "tensor_store_from_lds s[4:7], s[8:15], s[4:7], s[4:7]",
        "s_wait_tensorcnt 0x1",
    ]
    if LLVM_MC is not None:
        command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=null"]
        subprocess.run(command, input=printed.getvalue(), text=True, check=True)


def test_a_wait_of_another_counter_does_not_cover_a_copy() -> None:
    others = "  cdna.s_waitcnt loadcnt(0) storecnt(0) dscnt(0)\n"
    assert counts(TO_LDS + others + "  cdna.s_waitcnt asynccnt(0)") == ["asynccnt(0)"]


def write_backs(body: str) -> int:
    """How many write-backs of a kernel are left by ``drop-write-backs``."""
    text = f"""
cdna.kernel @k attributes {{chip = "gfx1250", arguments = [], group_segment_size = 0,
    private_segment_size = 0, workgroup_ids = 0, workitem_ids = 0, max_workgroup_size = 32}} {{
^entry(%a: !cdna.vgpr<2>, %l: !cdna.vgpr):
{body}
  cdna.end s_endpgm
}}
"""
    module = parse(text)
    DropWriteBacksPass().apply(Context(), module)
    return sum(isinstance(op, CacheOp) for op in module.walk())


RELEASE = """  cdna.s_waitcnt loadcnt(0) storecnt(0) {phase = #cdna<phase release>}
  cdna.cache global_wb {modifiers = ["scope:SCOPE_DEV"], phase = #cdna<phase release>}
  cdna.s_waitcnt storecnt(0) {phase = #cdna<phase release>}
  cdna.store global_store_b32 %a, %l {modifiers = ["scope:SCOPE_DEV"],
    phase = #cdna<phase access>} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
"""


@pytest.mark.parametrize("wait", ["  cdna.async_wait 0\n", "  cdna.s_waitcnt asynccnt(0)\n"])
def test_a_write_back_before_the_wait_does_not_cover_what_is_copied(wait: str) -> None:
    assert write_backs(RELEASE + RELEASE) == 0
    assert write_backs(TO_MEMORY + MARK + wait + RELEASE + RELEASE) == 1
    assert write_backs(TO_MEMORY + MARK + RELEASE + wait + RELEASE) == 2


EXAMPLE = str(Path(__file__).parents[2] / "examples" / "asynchronous_copy.mlir")


@pytest.mark.parametrize(("without", "status"), [([], 0), (["--without", "s_wait_asynccnt"], 1)])
def test_the_wait_is_missed_where_it_is_left_out(
    without: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run", EXAMPLE, "--mcpu", "gfx1250", *without]) == status
    assert ("P1:r0=0" in capsys.readouterr().out) is bool(without)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_fence_check_misses_the_wait_too(tmp_path: Path, level: str) -> None:
    """It reads what is printed, and knows nothing of the passes."""
    _, code = run(tmp_path, COPY + BARRIER + READ, level)
    assembly = f'\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"\n\t.type\tk,@function\nk:\n{code}\n'
    file = tmp_path / "kernel.s"
    for text, status in ((assembly, 0), (assembly.replace("\ts_wait_asynccnt 0x0\n", ""), 1)):
        file.write_text(text, encoding="utf-8")
        assert fence_check.main([str(file), "--fail-on", "note"]) == status


_LISTING = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
\t.type\tk,@function
k:
\tglobal_load_async_to_lds_b32 v1, v2, s[0:1]
\t{}
\ts_wait_asynccnt 0x1
\tds_load_b32 v4, v1
\ts_wait_dscnt 0x0
\ts_endpgm
"""


@pytest.mark.parametrize(
    ("second", "is_missed"),
    [
        ("global_load_async_to_lds_b32 v3, v2, s[0:1]", False),
        ("global_store_async_from_lds_b32 v2, v3, s[0:1]", True),
    ],
)
def test_fence_check_has_no_order_between_directions(
    tmp_path: Path, second: str, is_missed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.s"
    file.write_text(_LISTING.format(second), encoding="utf-8")
    fence_check.main([str(file)])
    assert ("load to LDS of line 4 is in flight" in capsys.readouterr().out) is is_missed
