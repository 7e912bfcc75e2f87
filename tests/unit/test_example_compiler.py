"""The example of a compiler with a dialect of its own: its tests pass, and can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "compiler"


def lit(folder: Path) -> "subprocess.CompletedProcess[str]":
    run = "import sys; from lit.main import main; sys.argv[0] = 'lit'; main()"
    command = [sys.executable, "-c", run, "-v", str(folder / "tests")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "compiler"))


def test_its_tests_pass(copy: Path) -> None:
    done = lit(copy)
    assert done.returncode == 0, done.stdout
    assert "Passed: 1" in done.stdout


@pytest.mark.parametrize("wrong", [('"release"', '"relaxed"'), ('"acquire"', '"relaxed"')])
def test_a_lowering_without_an_order_is_noticed(copy: Path, wrong: tuple[str, str]) -> None:
    program = copy / "mailbox.py"
    text = program.read_text()
    assert wrong[0] in text
    program.write_text(text.replace(*wrong))
    assert lit(copy).returncode == 1


def test_the_pass_is_in_the_help() -> None:
    command = [sys.executable, str(EXAMPLE / "mailbox.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "convert-mailbox: Make scoped operations of mailboxes" in done.stdout
