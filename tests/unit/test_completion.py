"""Completions of the programs for shells."""

import subprocess
from collections.abc import Callable

import pytest

from fencewright.tools import fence_check, fence_opt, fence_sim, fence_translate
from fencewright.tools.arguments import SHELLS

PROGRAMS = (fence_check.main, fence_opt.main, fence_sim.main, fence_translate.main)
Main = Callable[[list[str]], int]

COMPLETED = """
COMP_WORDS=(fence-check --form); COMP_CWORD=1; COMP_LINE='fence-check --form'; COMP_POINT=18
eval "$(complete -p fence-check | sed 's/.*-F \\([^ ]*\\).*/\\1 fence-check --form fence-check/')"
echo "${COMPREPLY[@]}"
"""


def completion(main: Main, shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    try:
        status = main(["--print-completion", shell])
    except SystemExit as end:
        status = end.code or 0
    assert status == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("main", PROGRAMS, ids=lambda main: main.__module__.rpartition(".")[2])
def test_every_program_completes_its_options(
    main: Main, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "version" in completion(main, shell, capsys)


def test_bash_completes_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    script = completion(fence_check.main, "bash", capsys) + COMPLETED
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["--format"]


@pytest.mark.parametrize("main", PROGRAMS, ids=lambda main: main.__module__.rpartition(".")[2])
def test_without_shtab_it_says_how_to_get_it(
    main: Main, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert main(["--print-completion", "bash"]) != 0
    err = capsys.readouterr().err
    assert "pip install 'fencewright[completion]'" in err
    assert err.count("\n") == 1
