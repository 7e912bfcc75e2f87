"""What is said where a compiler fails: the line that says why, whatever stands around it."""

import subprocess

import pytest

from fencewright.tools.diagnostics import ToolError
from fencewright.tools.inputs import compiler_runs

STACK = "PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: llc\n"


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            "llc: error: k.ll:3:1: error: expected type\n",
            "llc: error: k.ll:3:1: error: expected type",
        ),
        ("LLVM ERROR: Cannot select: X\nPLEASE submit\n", "LLVM ERROR: Cannot select: X"),
        ("warning: it will become an error\nLLVM ERROR: no\n", "LLVM ERROR: no"),
        (
            "'gfx9' is not a recognized processor for this target\nLLVM ERROR: Cannot select\n",
            "'gfx9' is not a recognized processor for this target",
        ),
        (
            f"{STACK}1.\tRunning pass 'A' on module\n2.\tRunning pass 'B' on function '@f'\n",
            "it crashes: Running pass 'B' on function '@f'",
        ),
        ("", "no code, exit status 1"),
    ],
)
def test_what_a_compiler_says(stderr: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", stderr)

    def found(*_: object) -> tuple[str, str]:
        return "llc", "opt"

    monkeypatch.setattr(compiler_runs, "_run", fails)
    monkeypatch.setattr(compiler_runs, "_tools", found)
    with pytest.raises(ToolError) as problem:
        compiler_runs.run_compiler("llc -O2", "k.ll")
    assert str(problem.value) == f"k.ll: error: llc: {said}"
