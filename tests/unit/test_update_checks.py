"""update_checks.py: what it writes, that it writes it once, and what it refuses."""

from pathlib import Path

import pytest
from filecheck.main import main as filecheck

from fencewright.tools import fence_opt
from fencewright.tools.dev import update_checks

NOTE = f"// {update_checks.NOTE}\n"
FUNCTIONS = """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  func.return %a : i32
}
func.func @g() attributes {a = [[1], [2]]} {
  func.return
}
"""


def make(tmp_path: Path, *runs: str, note: str = NOTE) -> Path:
    """A test with these RUN lines and the two functions."""
    path = tmp_path / "x.mlir"
    path.write_text(note + "".join(f"// RUN: {run}\n" for run in runs) + FUNCTIONS)
    return path


def test_writes_checks_that_hold_and_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(
        tmp_path,
        "fence-opt %s | filecheck %s --check-prefixes=ALL,AS-IS",
        "fence-opt %s -p canonicalize | filecheck %s --check-prefixes=ALL,SHORT",
    )
    assert update_checks.main([str(tmp_path)]) == 0
    text = path.read_text()
    assert "// AS-IS-NEXT:     %0 = arith.addi %a, %a : i32\n" in text
    assert "// SHORT-NEXT:     func.return %a : i32\n" in text
    assert (
        "// ALL-LABEL: func.func @g() attributes {a = {{\\[\\[}}1 : i64], [2 : i64]]} {\n" in text
    )
    assert text.count("@g") == 2
    assert update_checks.mismatch(path) == ""
    assert update_checks.main([str(tmp_path)]) == 0
    assert path.read_text() == text
    assert update_checks.main(["--check", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"updated {path}\n"


def test_check_finds_a_stale_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, "fence-opt %s | filecheck %s")
    assert update_checks.main([str(path)]) == 0
    stale = path.read_text().replace(
        "CHECK-NEXT:     %0 = arith.addi", "CHECK-NEXT:     %0 = arith.subi"
    )
    path.write_text(stale)
    assert "subi" in update_checks.mismatch(path)
    capsys.readouterr()
    assert update_checks.main(["--check", str(path)]) == 1
    assert path.read_text() == stale
    out = capsys.readouterr().out
    assert f"{path}: 2 lines would change:" in out
    assert "-// CHECK-NEXT:     %0 = arith.subi" in out
    assert update_checks.main([str(path)]) == 0
    assert update_checks.mismatch(path) == ""


def test_leaves_tests_without_the_note_alone(tmp_path: Path) -> None:
    path = make(tmp_path, "fence-opt %s | filecheck %s", note="")
    before = path.read_text()
    assert update_checks.main([str(path)]) == 0
    assert path.read_text() == before


ACQUIRE = """func.func @load(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  scoped.store weak %v, %q : i32, !llvm.ptr<1>
  func.return
}
func.func @nothing() attributes {gpu.kernel} {
  func.return
}
"""


def filtered(tmp_path: Path, arguments: str = " --filter ;|global_") -> Path:
    """A test of an acquire load with ``arguments`` after ``UTC_ARGS:``."""
    path = tmp_path / "x.mlir"
    run = "// RUN: fence-opt %s --mcpu {} -O0 -t asm{{explain=true}} | filecheck %s --check-prefixes {}\n"
    path.write_text(
        f"// {update_checks.NOTE} UTC_ARGS:{arguments}\n"
        + run.format("gfx90a", "CHECK,OLD")
        + run.format("gfx942", "CHECK,NEW")
        + ACQUIRE
    )
    return path


def test_filtered_checks_leave_out_how_a_kernel_begins_and_ends(tmp_path: Path) -> None:
    path = filtered(tmp_path)
    assert update_checks.main([str(path)]) == 0
    none = "// CHECK-NOT: {{(;|//) (release|access|wait|acquire):}}\n"
    text = path.read_text()
    assert (
        "// CHECK-LABEL: {{^}}load:\n"
        + none
        + "// OLD: global_load_dword v0, v[0:1], off glc ; access\n"
        "// OLD-NEXT: s_waitcnt vmcnt(0) ; wait\n"
        "// OLD-NEXT: buffer_wbinvl1_vol ; acquire\n"
        "// OLD-NEXT: global_store_dword v[2:3], v0, off{{$}}\n"
        "// NEW: global_load_dword v0, v[0:1], off sc1 ; access\n"
        "// NEW-NEXT: s_waitcnt vmcnt(0) ; wait\n"
        "// NEW-NEXT: buffer_inv sc1 ; acquire\n"
        "// NEW-NEXT: global_store_dword v[2:3], v0, off{{$}}\n" + none
    ) in text
    assert "// CHECK-LABEL: {{^}}nothing:\n" + none + "  func.return" in text
    assert update_checks.main(["--check", str(path)]) == 0


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The test with its checks, and what its second RUN line prints."""
    folder = tmp_path_factory.mktemp("printed")
    path, output = filtered(folder), folder / "x.s"
    options = ["--mcpu", "gfx942", "-O0", "-t", "asm{explain=true}", "-o", str(output)]
    assert update_checks.main([str(path)]) == fence_opt.main([str(path), *options]) == 0
    return path, output.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("\tbuffer_inv sc1 ;", "\tbuffer_inv ;"),
        ("\tbuffer_inv sc1 ;", "\tbuffer_inv sc0 sc1 ;"),
        ("\tbuffer_inv sc1 ;", "\tbuffer_inv sc1 nt ;"),
        ("\tbuffer_inv sc1 ;", "\tbuffer_inv sc1 ; release:"),
        ("\tbuffer_inv sc1 ;", "\tbuffer_inv sc1\n\tv_nop ;"),
        ("\tbuffer_inv sc1 ;", "\ts_nop 0 ;"),
        ("vmcnt(0) ; wait", "vmcnt(1) ; wait"),
        ("\tglobal_load", "\tbuffer_wbl2 sc1 ; release: planted\n\tglobal_load"),
        ("\tv_mov", "\tbuffer_inv sc1 ; acquire: planted\n\tv_mov"),
        ("\ts_endpgm", "\tbuffer_inv sc1 ; acquire: planted\n\ts_endpgm"),
        ("\nnothing:\n", "\nnothing:\n\ts_waitcnt vmcnt(0) ; wait: planted\n"),
        ("dword v[2:3], v0, off", "dword v[2:3], v0, off sc1"),
    ],
)
def test_filtered_checks_catch_a_planted_fault(
    printed: tuple[Path, str], tmp_path: Path, before: str, after: str
) -> None:
    path, text = printed
    assert before in text
    damaged = text.replace(before, after, 1)
    file = tmp_path / "x.s"
    file.write_text(damaged)
    with pytest.raises(SystemExit) as stop:
        filecheck(["", str(path), "--check-prefixes=CHECK,NEW", "--input-file", str(file)])
    assert (stop.value.code == 0) == (damaged == text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (" --filter", "after UTC_ARGS: comes --filter REGEX, without spaces"),
        (" --version 5", "after UTC_ARGS: comes --filter REGEX, without spaces"),
        (" --filter a(", "--filter a(: missing ), unterminated subpattern"),
    ],
)
def test_refuses_other_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    path = filtered(tmp_path, arguments)
    before = path.read_text()
    assert update_checks.main([str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}: error: {message}")
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (["fence-opt %s"], "ends in '| filecheck'"),
        (["sed s/a/b/ %s | filecheck %s"], "unknown command 'sed'"),
        (["fence-opt %s.nothing | filecheck %s"], "No such file or directory"),
        (["fence-opt %s --print-op-generic | filecheck %s"], "prints no function by name"),
        (
            ["fence-opt %s | filecheck %s", "fence-opt %s -p canonicalize | filecheck %s"],
            "@f: RUN lines disagree under CHECK",
        ),
    ],
)
def test_refuses_in_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: list[str], message: str
) -> None:
    path = make(tmp_path, *runs)
    before = path.read_text()
    assert update_checks.main([str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: error: ")
    assert message in error
    assert error.count("\n") == 1
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.mlir"]
