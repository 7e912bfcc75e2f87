"""MLIR in generic form: what synchronises becomes ``scoped`` and is given back; the rest stays."""

import subprocess
from pathlib import Path

import pytest

from fencewright.passes.scoped.foreign_rows import KIND_NUMBERS
from fencewright.tools import fence_opt
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

MODULE = """"builtin.module"() ({{
  "llvm.func"() <{{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (ptr<1>, i32, i1)>, \
linkage = #llvm.linkage<external>, sym_name = "k", unnamed_addr = 0 : i64, visibility_ = 0 : i64}}> ({{
  ^bb0(%p: !llvm.ptr<1>, %v: i32, %b: i1):
    {body}
    "llvm.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
ACCESS = 'alignment = 4 : i64, ordering = {ordering} : i64, syncscope = "agent"'
LOAD = f'%l = "llvm.load"(%p) <{{{{{ACCESS}}}}}> : (!llvm.ptr<1>) -> i32'
STORE = f'"llvm.store"(%v, %p) <{{{{{ACCESS}}}}}> : (i32, !llvm.ptr<1>) -> ()'
RMW = (
    '%o = "llvm.atomicrmw"(%p, %v) <{{alignment = 4 : i64, bin_op = {kind} : i64, '
    'ordering = 6 : i64, syncscope = "workgroup"}}> : (!llvm.ptr<1>, i32) -> i32'
)
CMPXCHG = (
    '%c = "llvm.cmpxchg"(%p, %v, %v) <{alignment = 4 : i64, failure_ordering = 2 : i64, '
    'success_ordering = 4 : i64, syncscope = "agent"}> : (!llvm.ptr<1>, i32, i32) -> '
    "!llvm.struct<(i32, i1)>"
)
HALF = '%s = "llvm.extractvalue"(%c) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i1)>) -> i1'
FENCE = '"llvm.fence"() <{{ordering = {ordering} : i64, syncscope = "agent"}}> : () -> ()'

SAID = {
    LOAD.format(ordering=4): "scoped.load acquire agent %p",
    LOAD.format(ordering=1): "scoped.load relaxed agent %p",
    STORE.format(ordering=5): "scoped.store release agent %v, %p",
    RMW.format(kind=1): "scoped.atomic_rmw add acq_rel workgroup %p, %v",
    f"{CMPXCHG}\n    {HALF}": "scoped.cmpxchg acquire relaxed agent %p, %v, %v",
    FENCE.format(ordering=7): "scoped.fence seq_cst agent",
    '"gpu.barrier"() : () -> ()': "scoped.barrier workgroup",
    '"rocdl.barrier"() : () -> ()': "scoped.barrier workgroup",
    '"rocdl.s.barrier"() : () -> ()': "scoped.barrier relaxed workgroup",
    '"nvvm.barrier"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()': "scoped.barrier workgroup",
    '"nvvm.memory.barrier"() <{scope = #nvvm.mem_scope<gpu>}> : () -> ()': "scoped.fence seq_cst agent",
    '"nvvm.fence.sc.cluster"() : () -> ()': "scoped.fence seq_cst cluster",
}  # fmt: skip
LEFT = (
    LOAD.format(ordering=0).replace(', syncscope = "agent"', ""),
    LOAD.format(ordering=4).replace("agent", "nobodys"),
    RMW.format(kind=17),
    RMW.format(kind=9).replace("%v", "%b").replace("i32)", "i1)").replace("-> i32", "-> i1"),
    f'{CMPXCHG}\n    "test.use"(%c) : (!llvm.struct<(i32, i1)>) -> ()',
    '"nvvm.barrier"(%v, %v) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, i32) -> ()',
    '"test.anything"(%v) {a = 1 : i32} : (i32) -> ()',
)
MLIR_OPT = find_llvm_tool("mlir-opt")


def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, body: str, *options: str) -> str:
    """What fence-opt prints for a function of this body."""
    file = tmp_path / "m.mlir"
    file.write_text(MODULE.format(body=body))
    status = fence_opt.main(["--mlir-sync", str(file), *options])
    told = capsys.readouterr()
    assert status == 0, told.err
    return told.out


@pytest.mark.parametrize(("body", "said"), SAID.items(), ids=SAID.values())
def test_what_synchronises_is_scoped_and_is_given_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, body: str, said: str
) -> None:
    assert said in run(capsys, tmp_path, body)
    back = run(capsys, tmp_path, body, "-p", "export-mlir-sync")
    assert "scoped" not in back
    plain = [line.split('"')[1] for line in back.splitlines() if '"' in line]
    assert next(line.split('"')[1] for line in body.splitlines()) in plain


@pytest.mark.parametrize("body", LEFT, ids=lambda body: body.split('"')[1])
def test_what_scoped_cannot_say_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, body: str
) -> None:
    assert "scoped." not in run(capsys, tmp_path, body)


def test_a_fence_that_others_make_needless_goes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    twice = "\n    ".join(FENCE.format(ordering=each) for each in (5, 5))
    back = run(capsys, tmp_path, twice, "-p", "merge-fences,export-mlir-sync")
    assert back.count('"llvm.fence"') == 1


def test_what_came_from_nowhere_is_not_given_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "m.mlir"
    file.write_text("scoped.fence release agent\n")
    assert fence_opt.main([str(file), "-p", "export-mlir-sync"]) == 1
    assert "did not come from another dialect" in capsys.readouterr().err


@pytest.mark.skipif(MLIR_OPT is None, reason=f"needs mlir-opt: {LLVM_HINT}")
def test_mlir_takes_what_is_given_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """And its names for the numbers of read-modify-writes are ours."""
    assert MLIR_OPT is not None
    lines = [body.replace("%l =", f"%l{n} =") for n, body in enumerate(SAID)]
    floats = {number for number, kind in KIND_NUMBERS.items() if kind.startswith("f")}
    for number in KIND_NUMBERS.keys() - floats:
        lines.append(RMW.format(kind=number).replace("%o", f"%o{number}_"))
    back = run(capsys, tmp_path, "\n    ".join(lines), "-p", "export-mlir-sync")
    done = subprocess.run([MLIR_OPT], input=back, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    for kind in (kind for number, kind in KIND_NUMBERS.items() if number not in floats):
        word = f"_{kind}" if kind in ("and", "or", "xor") else str(kind)
        assert f"llvm.atomicrmw {word} " in done.stdout
