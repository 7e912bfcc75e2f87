"""What ``make test`` and ``.ci/run`` promise: nothing that fails is passed over, and no LLVM is needed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A command in the root, apart from the make that may have started the tests."""
    return subprocess.run(command, cwd=ROOT, env=ALONE, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("lit", "pytest_status", "status"), [(0, 0, 0), (1, 0, 2), (0, 1, 2), (1, 1, 2)]
)
def test_make_test_runs_both_and_fails_if_either_does(
    lit: int, pytest_status: int, status: int
) -> None:
    stubs = (f"LIT=sh -c 'sleep 0.2; echo lit ran; exit {lit}'", f"PYTEST=sh -c 'echo pytest ran; exit {pytest_status}'")  # fmt: skip
    done = run("make", "--silent", "-o", ".venv/.ready", *stubs, "test")
    assert (done.returncode, done.stdout) == (status, "pytest ran\nlit ran\n")


def test_make_help_has_every_target_in_its_group() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = [
        line.partition(":")[0] for line in text.splitlines() if ": " in line and " ## " in line
    ]
    groups = run("make", "help").stdout.strip().split("\n\n")
    shown = [line.split()[0] for group in groups for line in group.splitlines()[1:]]
    assert shown == targets
    assert [len(group.splitlines()) > 4 for group in groups] == [True] * 3


@pytest.fixture
def ci(tmp_path: Path) -> str:
    """The functions of ``.ci/run`` without what runs them, to be read by a shell in the root."""
    functions, _, _ = (ROOT / ".ci" / "run").read_text().partition("\nfor name in ")
    path = tmp_path / "functions.sh"
    path.write_text(functions.replace('cd "$(dirname "$0")/.."', ""))
    return f". {path};"


def test_the_path_without_llvm_has_a_shell_and_make_and_no_llvm(ci: str, tmp_path: Path) -> None:
    if run("sh", "-c", "command -v dpkg-query").returncode:
        pytest.skip("needs Debian")
    bare = tmp_path / "bare"
    done = run("sh", "-c", f"{ci} bare_path {bare}")
    assert (done.returncode, done.stderr) == (0, "")
    names = {each.name for each in bare.iterdir()}
    assert {"sh", "bash", "sed", "grep", "expand", "find", "tar", "make", "git"} <= names
    kinds = ("llc", "llvm", "opt", "FileCheck", "mlir", "clang", "ptxas", "python")
    assert [name for name in names if name.startswith(kinds)] == []


def test_pythons_are_found_wherever_they_are(ci: str, tmp_path: Path) -> None:
    minor = sys.version_info.minor
    found = run("sh", "-c", f"{ci} find_python {minor}").stdout.strip()
    version = run(found, "-c", "import sys; print(sys.version_info[:2])").stdout
    assert version == f"(3, {minor})\n"
    debians = Path(f"/usr/bin/python3.{minor}")
    if debians.exists() and run(str(debians), "-c", "import ensurepip").returncode == 0:
        assert found == str(debians)
    assert run("sh", "-c", f"{ci} find_python 99").stdout == ""
    # A shim of pyenv is on the PATH, and says that there is none.
    shim = tmp_path / "python3.98"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert run("sh", "-c", f"{ci} PATH={tmp_path}:$PATH find_python 98").stdout == ""


def test_without_any_python_that_is_said(ci: str) -> None:
    said = run("sh", "-c", f"{ci} find_python() {{ :; }}; users")
    assert (said.returncode, said.stdout) == (0, "no Python is here: nothing is run with one\n")


def test_users_have_the_newest_python_and_both_xdsls_of_the_package(ci: str) -> None:
    script = f'{ci} find_python() {{ echo py$1; }}; both_commands() {{ echo "$@"; }}; users'
    assert run("sh", "-c", script).stdout == "py13 ==0.74.* >=0.74,<0.76\n"


def tool(name: str) -> str:
    """The path of a command, in quotes; a bare Debian has no ``which``."""
    path = shutil.which(name)
    assert path is not None, f"{name} is not on the PATH"
    return shlex.quote(path)


CLONE = f"""
bare_path() {{ mkdir "$1"; ln -s {" ".join(map(tool, ["echo", "rm"]))} "$1/"; }}
git() {{
    mkdir -p "$folder/a clone/.venv/bin"
    for each in python fence-opt; do ln -s {tool("true")} "$folder/a clone/.venv/bin/"$each; done
}}
timed() {{ echo "$@"; }}
"""
"""A clone with programs that do nothing, and no make."""


def test_a_clone_runs_both_commands_of_the_readme(ci: str) -> None:
    said = run("sh", "-c", f"{ci}\n{CLONE}\nboth_commands py '==1' '>=1'")
    # What is not of make is the versions of true.
    made = [line for line in said.stdout.splitlines() if line in ("demo", "lit", "test")]
    assert (made, said.stderr) == (["demo", "test", "demo", "lit"], "")


@pytest.mark.parametrize(("packages", "oracles"), [(0, 0), (1, 0), (0, 1)])
def test_what_cannot_be_installed_fails(
    ci: str, packages: int, oracles: int, tmp_path: Path
) -> None:
    command = tmp_path / "apt-get"
    command.write_text(f'#!/bin/sh\ntest "$1" = update || exit {packages}\n')
    command.chmod(0o755)
    said = f"PATH={tmp_path}:$PATH; make() {{ sleep 0.1; return {oracles}; }}; install"
    assert run("sh", "-c", f"{ci} {said}").returncode == packages + oracles


def test_every_test_runs_once_with_the_newest_xdsl(ci: str) -> None:
    said = 'FENCEWRIGHT_TURN=23; make() { echo "$1"; }; timed() { echo "$@"; }; everything'
    turn, venv, others, last = run("sh", "-c", f"{ci} {said}").stdout.splitlines()
    assert (turn, venv, last) == ("FENCEWRIGHT_TURN=23", "venv", "every-test")
    assert "PROGRAMS=50 --first 150 " in others


def test_each_commit_has_its_turn(ci: str) -> None:
    if not (ROOT / ".git").exists():  # An sdist has no commits to count.
        pytest.skip("needs a git checkout")
    said = f"{ci} make() {{ :; }}; unset FENCEWRIGHT_TURN; everything"
    turn, *_ = run("sh", "-c", said).stdout.splitlines()
    log = run("git", "-c", "safe.directory=*", "log", "--format=%h").stdout.splitlines()
    assert turn == f"FENCEWRIGHT_TURN={len(log)}"
    failing = said.replace("make()", "git() { false; }; make()")
    assert run("sh", "-c", failing).returncode == 1


@pytest.mark.parametrize("failing", ["", "install", "everything", "users"])
def test_all_stages_run_at_once_and_none_is_passed_over(ci: str, failing: str) -> None:
    stages = "install() { :; }; everything() { sleep 0.3; echo did all; }; users() { :; };"
    fails = f"{failing}() {{ echo did little; false; echo did more; }};" if failing else ""
    done = run("sh", "-c", f"{ci} {stages} {fails} at_once")
    assert done.returncode == bool(failing)
    ends = [line for line in done.stdout.splitlines() if re.fullmatch(r"== \w+: \d+ s", line)]
    named = [line.split()[1].rstrip(":") for line in ends]
    after = {"install": ["everything"], "everything": [], "users": []}
    every = ["install", "everything", "users"]
    # What is not installed is not tried.
    left = {failing, *after.get(failing, ())}
    assert named == [each for each in every if each not in left]
    assert "did more" not in done.stdout
    assert ("did little" in done.stdout) == bool(failing)


def test_the_stages_are_those_of_the_script() -> None:
    """Without names pythons runs, then all others; with names those."""
    text = (ROOT / ".ci" / "run").read_text()
    documented = re.findall(r"^#   (\w+) {2,}", text, re.MULTILINE)
    assert [name for name in documented if f"\n{name}() {{\n" in text] == documented
    begun = re.findall(r"\bstage (\w+)", text.partition("at_once() {")[2])
    assert sorted(["pythons", *begun]) == sorted(documented)
    assert text.endswith('\nfor name in ${*:-pythons at_once}; do\n    stage "$name"\ndone\n')
