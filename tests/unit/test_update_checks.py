"""update_checks.py: what it writes, that it writes it once, and what it refuses."""

from pathlib import Path

import pytest

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
    assert update_checks.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: error: ")
    assert message in error
    assert error.count("\n") == 1
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.mlir"]
