"""lit with the fork server: it runs every test, and fails those that are wrong."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filecheck.error import ParseError
from filecheck.ops import NumSubst
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from fencewright.tools.dev import lit_runner
from fencewright.tools.dev.fork_server import CLIENT, fork_server
from fencewright.tools.dev.lit_runner import discover, run_lit

LIT = Path(__file__).parents[1] / "lit"
FUNCTION = "func.func @f() {\n  func.return\n}\n"


def test_discovery_skips_inputs(tmp_path: Path) -> None:
    for name in ("a.mlir", "b.ll", "c.txt", "Inputs/d.mlir"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert [path.name for path in discover([tmp_path])] == ["a.mlir", "b.ll"]


def test_a_run_notices_that_lit_did_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def silent(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(lit_runner.subprocess, "run", silent)
    assert run_lit([LIT / "tools" / "fence-opt"]) == 1
    assert "lit did not run the" in capfd.readouterr().err


def test_lit_runs_without_the_runner(capfd: pytest.CaptureFixture[str]) -> None:
    lit = Path(sys.executable).with_name("lit")
    test = LIT / "tools" / "fence-opt" / "errors.mlir"
    assert subprocess.run([lit, test], check=False).returncode == 0
    assert "Passed: 1" in capfd.readouterr().out


# Without LLVM the checks are read by the FileCheck that is written in Python


def unreadable_checks(test: Path) -> list[str]:
    """Checks of ``test`` that the Python FileCheck cannot read; none where LLVM's is required."""
    text = test.read_text()
    if re.search(r"REQUIRES:.*\bFileCheck\b", text):
        return []
    found = list[str]()
    for command in re.findall(r"\| *filecheck %s([^|&\n]*)", text):
        options = parse_argv_options(["filecheck", str(test), *shlex.split(command)])
        try:
            checks = list(Parser.from_opts(options))
        except ParseError as problem:
            found.append(f"{test}: {problem.message}")
            continue
        uses_numbers = (any(isinstance(part, NumSubst) for part in each.uops) for each in checks)
        found += [
            f"{test}:{each.source_line}"
            for each, bad in zip(checks, uses_numbers, strict=True)
            if bad
        ]
    return found


def test_every_check_can_be_read_without_llvm() -> None:
    assert [each for test in discover([LIT]) for each in unreadable_checks(test)] == []


@pytest.mark.parametrize("form", ["[[#@LINE+1]]", "[[#@LINE]]", "[[#%x,VALUE]]", "[[#VALUE+1]]"])
def test_what_only_llvm_reads_is_found(form: str, tmp_path: Path) -> None:
    test = tmp_path / "x.mlir"
    lines = ("// RUN: fence-opt %s | filecheck %s --check-prefix=X", f"// X: at {form}")
    test.write_text("\n".join(lines))
    assert unreadable_checks(test)
    test.write_text("\n".join(("// REQUIRES: llc, FileCheck", *lines)))
    assert unreadable_checks(test) == []
    test.write_text("\n".join((*lines[:1], "// X: at [[# @LINE + 1]]")))
    assert unreadable_checks(test) == []


# lit itself, with each test a fork

CONFIGURATION = f"""
lit_config.load_config(config, {str(LIT / "lit.cfg.py")!r})
config.test_source_root = {{!r}}
config.test_exec_root = {{!r}}
"""
IS_RIGHT = ("// RUN: fence-opt %s | filecheck %s", "// CHECK: func.func @f")


DAMAGED = {
    "another-function": ("// RUN: fence-opt %s | filecheck %s", "// CHECK: func.func @g"),
    "no-file": ("// RUN: fence-opt %s.nothing",),
    "no-error": ("// RUN: not fence-opt %s",),
    "first-of-a-pipeline": ("// RUN: fence-opt %s.nothing | cat",),
    "second-command": ("// RUN: fence-opt %s && fence-sim run %s.nothing",),
    "second-line": (IS_RIGHT[0], "// RUN: fence-opt %s --no-such-option", IS_RIGHT[1]),
}


STREAMS = (
    "// RUN: fence-opt %s > %t.out && filecheck %s < %t.out && cat %t.out | fence-opt | cat",
    "// RUN: not fence-opt %s.nothing 2>&1 | filecheck %s --check-prefix=ERROR",
    "// RUN: not fence-opt %s.nothing 2> %t.err && filecheck %s --check-prefix=ERROR < %t.err",
    "// RUN: not fence-opt < /dev/null",
    "// ERROR: error:",
    IS_RIGHT[1],
)
"""Streams of a call, which are those of a process."""


def test_lit_fails_damaged_tests(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, output = tmp_path / "tests", tmp_path / "output"
    folder.mkdir()
    (folder / "lit.cfg.py").write_text(CONFIGURATION.format(str(folder), str(output)))
    expected = ("// XFAIL: *", *DAMAGED["no-file"])
    tests = {"right": IS_RIGHT, "streams": STREAMS, "expected": expected, **DAMAGED}
    for name, lines in tests.items():
        (folder / f"{name}.mlir").write_text("\n".join((*lines, FUNCTION)))
    assert run_lit([folder]) == 1
    ends = re.findall(
        r"^(\w+): fencewright :: ([\w-]+)\.mlir", capfd.readouterr().out, re.MULTILINE
    )
    found = {name: end for end, name in ends}
    passed = {"right": "PASS", "streams": "PASS", "expected": "XFAIL"}
    assert found == {**passed, **dict.fromkeys(DAMAGED, "FAIL")}


def test_a_test_that_ends_its_process_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    killed = "import os\nfrom fencewright.tools.dev import lit_format\n"
    killed += "lit_format.import_module = lambda _: os.kill(os.getpid(), 9)\n"
    (folder / "lit.cfg.py").write_text(
        CONFIGURATION.format(str(folder), str(tmp_path / "output")) + killed
    )
    for name in "xy":
        (folder / f"{name}.mlir").write_text("\n".join((*IS_RIGHT, FUNCTION)))
    assert run_lit([folder]) == 1
    said = capfd.readouterr().out
    assert said.count("its process ended with status -9") == 2
    assert re.search("Failed: 2", said)


def test_a_folder_whose_name_has_a_space(tmp_path: Path) -> None:
    """Of the tests, and of the interpreter."""
    folder, venv = tmp_path / "a b" / "tests", tmp_path / "a b" / "venv"
    folder.mkdir(parents=True)
    venv.symlink_to(sys.prefix)
    output = tmp_path / "out put"
    (folder / "lit.cfg.py").write_text(CONFIGURATION.format(str(folder), str(output)))
    lines = ("// RUN: fence-opt %s -o %t.out && cat %S/x.mlir | fence-opt | filecheck %s",)
    (folder / "x.mlir").write_text("\n".join((*lines, IS_RIGHT[1], FUNCTION)))
    python = str(venv / "bin" / Path(sys.executable).name)
    command = [python, "-m", "fencewright.tools.dev.lit_runner", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["x.mlir", "folder"])
def test_what_is_not_there_is_told_before_anything_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.mlir").write_text("// RUN: cat %s\n")
    assert lit_runner.main([str(tmp_path), str(tmp_path / name)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{tmp_path / name}: error: No such file or directory\n")


MODULE = """
import os, signal, sys
print(sys.argv[1:], __name__, os.getcwd(), os.environ.get("HERE"), sys.stdin.read())
print("said", file=sys.stderr)
match sys.argv[1]:
    case "status": sys.exit(int(sys.argv[2]))
    case "text": sys.exit("a text")
    case "error": raise ValueError("no")
    case "at once": sys.stdout.flush(); os._exit(4)
    case "killed": os.kill(os.getpid(), signal.SIGKILL)
    case _: pass
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server that finds a module by the name of ``asked``, and where that is."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "asked.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        with fork_server() as address:
            yield address, folder


@pytest.mark.parametrize(
    "arguments",
    [("nothing",), ("status", "3"), ("status", "0"), ("text",), ("error",), ("at once",)],
)
def test_a_fork_ends_as_a_process_would(
    arguments: tuple[str, ...], server: tuple[str, Path], tmp_path: Path
) -> None:
    address, modules = server
    client = [sys.executable, "-I", "-S", str(CLIENT), address]
    environment = {**os.environ, "HERE": "yes", "PYTHONPATH": str(modules)}

    def end(*command: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*command, "asked", *arguments],
            input="given", env=environment, cwd=tmp_path,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr.splitlines()[-1]

    found = end(*client)
    assert found == end(sys.executable, "-m")
    assert found[1] == f"{list(arguments)} __main__ {tmp_path} yes given\n"


def test_a_fork_has_all_tools_but_those_of_developers(server: tuple[str, Path]) -> None:
    address, modules = server
    names = ("fencewright.tools.fence_opt", "fencewright.tools.dev.update_docs")
    (modules / "loaded.py").write_text(f"import sys\nprint([*map(sys.modules.get, {names})])\n")
    command = [sys.executable, "-I", "-S", str(CLIENT), address, "loaded"]
    environment = {**os.environ, "PYTHONPATH": str(modules)}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    assert re.fullmatch(rb"\[<module '[\w.]+' from .*>, None\]\n", done.stdout)


def test_a_fork_that_is_killed_is_no_success(server: tuple[str, Path]) -> None:
    command = [sys.executable, "-I", "-S", str(CLIENT), server[0], "asked", "killed"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_server_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lit_runner.sys, "executable", "false")
    with pytest.raises(RuntimeError, match="ended with status 1"), fork_server():
        pass
