"""LLVM's programs are looked up in one place, and only those of the right version are taken."""

import re
from pathlib import Path

import pytest

from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_TOOLS, LLVM_VERSION, find_llvm_tool

ROOT = Path(__file__).parents[2]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add(folder: Path, name: str, says: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "is_taken"),
    [
        ("echo LLVM '(http://llvm.org/):'; echo '  LLVM version 22.1.8'", True),
        ("echo 'Debian LLVM version 22.1.8'", True),
        ("echo 'LLD 22.1.8 (compatible with GNU linkers)'", True),
        ("echo 'Debian LLVM version 14.0.6'", False),
        ("echo 'LLVM version 220.1.8'", False),
        ("echo 'something else, 22.0'", False),
        ("exit 1", False),
    ],
)
def test_a_plain_name_is_taken_for_what_it_says_that_it_is(
    says: str, is_taken: bool, programs: Path
) -> None:
    path = add(programs, "llvm-mc", says)
    assert find_llvm_tool("llvm-mc") == (path if is_taken else None)


def test_a_program_that_cannot_start_is_not_taken(programs: Path) -> None:
    path = programs / "llvm-mc"
    path.write_bytes(b"no program")
    path.chmod(0o755)
    assert find_llvm_tool("llvm-mc") is None


def test_the_name_with_the_version_comes_first(programs: Path) -> None:
    add(programs, "llvm-mc", f"echo LLVM version {LLVM_VERSION}.0")
    path = add(programs, f"llvm-mc-{LLVM_VERSION}", "exit 1")
    assert find_llvm_tool("llvm-mc") == path


def test_what_is_not_on_the_path_is_not_there(programs: Path) -> None:
    assert [name for name in LLVM_TOOLS if find_llvm_tool(name)] == []


def test_nobody_else_looks_for_llvm() -> None:
    """Not by a name of its own, and not by the name with the version."""
    tools = "|".join(map(re.escape, LLVM_TOOLS))
    own = re.compile(rf"which\(\s*f?[\"'](?:{tools}|clang)\b|[\"'](?:{tools})-\d+[\"']")
    looking = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("benchmarks", "fencewright", "simulator", "tests", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__)
        for match in own.finditer(path.read_text(encoding="utf-8"))
    ]
    assert looking == []


def test_the_hint_gets_this_version() -> None:
    assert set(re.findall(r"\d+", LLVM_HINT)) == {str(LLVM_VERSION)}
    assert LLVM_HINT.partition("apt-get install ")[2] in (ROOT / "README.md").read_text()
