"""The in-process lit runner: what it understands, and that it fails what lit would fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from fencewright.tools import lit_runner
from fencewright.tools.lit_runner import Outcome, discover, run_canonical, run_file

LIT = Path(__file__).parents[1] / "lit"
FUNCTION = "func.func @f() {\n  func.return\n}\n"


def run(tmp_path: Path, *lines: str, name: str = "x.mlir") -> lit_runner.Result:
    """Run a test of these lines and one function."""
    path = tmp_path / name
    path.write_text("\n".join((*lines, FUNCTION)))
    return run_file(path)


@pytest.mark.parametrize(
    "lines",
    [
        ("// RUN: fence-opt %s | filecheck %s", "// CHECK: func.func @f"),
        ("// RUN: fence-opt %s > %t && cat %t | filecheck %s", "// CHECK: @f"),
        ("// RUN: fence-opt < %s | filecheck %s --input-file=-", "// CHECK: @f"),
        ("// RUN: not fence-opt %s.nothing 2>&1 | filecheck %s", "// CHECK: No such file"),
        ("// RUN: fence-opt \\", "// RUN:   %s | filecheck %s", "// CHECK: @f"),
        ("// RUN: fence-opt %S/x.mlir -p 'cse,canonicalize' -o %t", "// RUN: fence-opt %t -f mlir"),
        ("// REQUIRES: !nothing", "// RUN: fence-opt %s"),
        ("// XFAIL: *", "// RUN: fence-opt %s.nothing"),
    ],
)
def test_passes(tmp_path: Path, lines: tuple[str, ...]) -> None:
    result = run(tmp_path, *lines)
    assert result.outcome is Outcome.PASS, result.output


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("// RUN: fence-opt %s | filecheck %s", "// CHECK: @g"), "Couldn't match"),
        (("// RUN: fence-opt %s.nothing | cat",), "exit status 1"),
        (("// RUN: not fence-opt %s",), "exit status 1"),
        (("// RUN: fence-opt %s && not cat %s && fence-opt %s",), "not cat"),
        (("// RUN: sed s/a/b/ %s",), "unknown command 'sed'"),
        (("// RUN: fence-opt %s || cat %s",), "unknown operator '||'"),
        (("// RUN: fence-opt %s 2> %t",), "unknown operator '2>'"),
        (("// RUN: fence-opt %s |",), "a command is missing"),
        (("// RUN: cat %t.nothing",), "No such file"),
        (("// RUN: fence-opt 'x",), "No closing quotation"),
        (("// XFAIL: *", "// RUN: fence-opt %s"), "marked XFAIL"),
        ((), "no RUN: line"),
    ],
)
def test_fails(tmp_path: Path, lines: tuple[str, ...], reason: str) -> None:
    result = run(tmp_path, *lines)
    assert result.outcome is Outcome.FAIL
    assert reason in result.output


@pytest.mark.parametrize(
    "condition",
    ["REQUIRES: nothing", "REQUIRES: !(a || b), c", "UNSUPPORTED: !nothing", "UNSUPPORTED: *"],
)
def test_unsupported(tmp_path: Path, condition: str) -> None:
    result = run(tmp_path, f"// {condition}", "// RUN: sed")
    assert result.outcome is Outcome.UNSUPPORTED


def test_llvm_tools_run_where_they_are(tmp_path: Path) -> None:
    lines = (
        "// REQUIRES: mlir-opt",
        "// RUN: mlir-opt %s | filecheck %s",
        "// CHECK: func.func @f",
    )
    wanted = Outcome.PASS if lit_runner.find_llvm_tool("mlir-opt") else Outcome.UNSUPPORTED
    assert run(tmp_path, *lines).outcome is wanted


def test_a_test_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    streams = sys.stdin, sys.stdout, sys.stderr
    assert run(tmp_path, "// RUN: fence-opt %s -o here.mlir").outcome is Outcome.PASS
    assert [path.name for path in tmp_path.iterdir()] == ["x.mlir"]
    assert Path.cwd() == tmp_path
    assert (sys.stdin, sys.stdout, sys.stderr) == streams


def test_discovery_skips_inputs(tmp_path: Path) -> None:
    for name in ("a.mlir", "b.ll", "c.txt", "Inputs/d.mlir"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert [path.name for path in discover([tmp_path])] == ["a.mlir", "b.ll"]


def test_the_command_fails_when_a_test_fails_or_none_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lit_runner.main([str(tmp_path)]) == 1
    assert run(tmp_path, "// RUN: fence-opt %s").outcome is Outcome.PASS
    assert lit_runner.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("1 pass, 0 fail, 0 unsupported\n")
    run(tmp_path, "// RUN: sed", name="y.mlir")
    assert lit_runner.main([str(tmp_path)]) == 1


def test_canonical_run_notices_that_lit_did_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def silent(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(lit_runner.subprocess, "run", silent)
    assert run_canonical([LIT / "driver"]) == 1
    assert "lit did not run the" in capfd.readouterr().err


def test_canonical_run_agrees(capfd: pytest.CaptureFixture[str]) -> None:
    test = LIT / "driver" / "errors.mlir"
    assert run_file(test).outcome is Outcome.PASS
    assert run_canonical([test]) == 0
    assert "Passed: 1" in capfd.readouterr().out
