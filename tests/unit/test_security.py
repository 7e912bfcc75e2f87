"""What SECURITY.md says of inputs that nobody trusts."""

import ast
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencewright.tools import fence_check

ROOT = Path(__file__).parents[2]
FOLDERS = ("checker", "fencewright", "lowering", "mlir_dialects", "passes", "simulator", "tools")
HAZARDS = ROOT / "tests/lit/tools/fence-check/hazards.s"

REACHES_OUT = {
    "compile": {"simulator/threads/compile.py"},
    "ctypes": {
        "fencewright/gpu.py",
        "simulator/core/processes/children.py",
        "tools/reports/function_names.py",
    },
    "exec": {
        "simulator/semantics/python.py",
        "simulator/threads/compile.py",
    },
    "multiprocessing": {
        "simulator/core/processes/campaign.py",
        "simulator/core/processes/children.py",
    },
    "runpy": {"fencewright/triton.py"},
    "subprocess": {
        "tools/commands/amd_check.py",
        "tools/inputs/compiler_runs.py",
        "tools/inputs/mlir_translate.py",
        "tools/inputs/object_lines.py",
        "tools/llvm_tools.py",
        "tools/reports/function_names.py",
    },
}
"""The files that start programs or processes, or load libraries; those of ``tools/dev`` may too."""

PROCESSES = {"multiprocessing", "runpy", "subprocess"}
NETWORK = {"_socket", "http", "socket", "ssl", "urllib.request"}
MODULES = {"ctypes", "marshal", "pickle", "shelve"} | PROCESSES | NETWORK
CALLS = {"__import__", "compile", "eval", "exec"}
SYSTEM = {"execv", "execve", "execvp", "popen", "posix_spawn", "system"}
_WORDS = re.compile(
    rf"(?<![\w.])(?:{'|'.join(map(re.escape, [*MODULES, *CALLS, 'os', 'shell']))})\b"
)
"""A word without which a file reaches nothing: such a file is not parsed."""


def reaches(source: str) -> Iterator[str]:
    """The modules and functions in a file through which an input could do more than be read."""
    if not _WORDS.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name in MODULES)
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                yield module
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield name
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in SYSTEM:
                yield f"os.{name}"
            case ast.keyword(arg="shell"):
                yield "shell="
            case _:
                pass


def test_only_these_files_reach_out() -> None:
    found: dict[str, set[str]] = {}
    for folder in FOLDERS:
        files = (ROOT / folder).glob("*.py" if folder == "fencewright" else "**/*.py")
        for file in files:
            name = file.relative_to(ROOT).as_posix()
            if name.startswith("tools/dev/"):
                continue
            for what in reaches(file.read_text(encoding="utf-8")):
                found.setdefault(what, set()).add(name)
    assert found == REACHES_OUT


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from subprocess import run",
        "eval('1')",
        "import os\nos.system('x')",
        "f(shell=True)",
        "from urllib.request import urlopen",
    ],
)
def test_a_file_that_reaches_out_is_seen(source: str) -> None:
    assert len(list(reaches(source))) == 1


def test_a_page_escapes_what_the_input_says(tmp_path: Path) -> None:
    text = HAZARDS.read_text(encoding="utf-8")
    script = "<script>alert(1)</script>"
    hostile = tmp_path / "x.s"
    hostile.write_text(
        text.replace("v_add_u32_e32 v1, 1, v1", f"v_add_u32_e32 v1, 1, v1 ; {script}")
    )
    page = tmp_path / "x.html"
    fence_check.main([str(hostile), "--annotate", "-o", str(page)])
    written = page.read_text(encoding="utf-8")
    assert script not in written
    assert "&lt;script&gt;alert(1)" in written


@pytest.mark.parametrize("directive", [".incbin", ".include"])
def test_a_file_that_an_input_names_is_not_read(
    directive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s_sleep 99 ; to be kept\n")
    named = f'\t{directive} "{secret}"\n\t.type\tk,@function\n'
    hostile = tmp_path / "x.s"
    hostile.write_text(HAZARDS.read_text(encoding="utf-8").replace("\t.type\tk,@function\n", named))
    assert fence_check.main([str(hostile), "--annotate"]) == 2
    told = capsys.readouterr()
    assert f"error: '{directive}' is for the assembler" in told.err
    assert "to be kept" not in told.out + told.err


NESTED = {
    "x.mlir": "func.func @f() attributes {x = " + "[" * 50_000 + "]" * 50_000 + "} { func.return }",
    "x.ll": "define void @f(" + "{" * 100_000 + "i32" + "}" * 100_000 + " %x) { ret void }\n",
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_too_deeply_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(NESTED[name])
    command = [sys.executable, "-m", "fencewright", "opt", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{name}: error: ")
    assert "nested too deeply" in line


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() { %0 = arith.constant dense<0> : tensor<100000000xi32>\n func.return }",
        "\n".join(
            ["#a0 = [1 : i32]"]
            + [f"#a{each} = [#a{each - 1}, #a{each - 1}]" for each in range(1, 40)]
            + ["func.func @f() attributes {x = #a39} { func.return }"]
        ),
    ],
)
def test_limits_of_the_system_stop_what_takes_all_there_is(text: str, tmp_path: Path) -> None:
    """If this fails because the tool ends well, SECURITY.md says too much."""
    (tmp_path / "x.mlir").write_text(text)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))

    command = [sys.executable, "-m", "fencewright", "opt", "x.mlir", "-o", "out.mlir"]
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=limited, check=False)
    assert done.returncode < 0
    assert not (tmp_path / "out.mlir").exists()
