"""No program writes over what it reads, by whatever name, and nothing is written when it is refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fencewright.tools import fence_check, fence_opt, fence_sim, fence_translate
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.outputs import check_outputs

Main = Callable[[list[str]], int]

LITMUS = (
    Path(__file__).parents[2].joinpath("examples", "litmus", "message_passing.mlir").read_text()
)
TEXTS = {
    "in.mlir": "func.func private @f()\n",
    "in.ll": "define void @f() {\n  ret void\n}\n",
    "in.ptx": ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n  ret;\n}\n",
    "test.mlir": LITMUS,
    "known.json": '{"format": "fence-check-baseline", "version": 1, "findings": []}\n',
    "certificate.json": "{}",
    "accesses.txt": "ld.global.b32 0",
}

CASES: tuple[tuple[Main, list[str], int], ...] = (
    (fence_opt.main, ["in.mlir", "-o", "in.mlir"], 2),
    (fence_opt.main, ["in.mlir", "--remarks-output", "in.mlir", "--mcpu", "gfx942"], 2),
    (fence_translate.main, ["--import-llvm", "in.ll", "-o", "in.ll"], 2),
    (fence_check.main, ["in.ptx", "-o", "in.ptx"], 2),
    (fence_check.main, ["in.ptx", "--write-baseline", "in.ptx"], 2),
    (fence_check.main, ["in.ptx", "--source", "in.ll", "-o", "in.ll"], 2),
    (fence_check.main, ["in.ll", "--run", "llc -mcpu=gfx942", "--code", "in.ll"], 2),
    (fence_check.main, ["in.ptx", "--annotate", "-o", "in.ptx"], 2),
    (fence_check.main, ["in.ptx", "--baseline", "known.json", "-o", "known.json"], 2),
    (fence_check.main, [".", "-o", "in.ptx"], 2),
    (fence_check.main, [".", "--write-baseline", "in.ptx"], 2),
    (fence_sim.main, ["convert", "test.mlir", "--mcpu", "sm_90", "-o", "test.mlir"], 2),
    (fence_sim.main, ["graph", "test.mlir", "-o", "test.mlir"], 2),
    (fence_sim.main, ["timeline", "test.mlir", "--mcpu", "gfx942", "-o", "test.mlir"], 2),
    (fence_sim.main, ["access", "--mcpu", "sm_90", "--json", "accesses.txt", "-o", "accesses.txt"], 2),
    (fence_sim.main, ["certify", "gfx942", "--recheck", "certificate.json", "-o", "certificate.json"], 2),
    (fence_sim.main, ["certify", "gfx942", "--recheck", "certificate.json", "--stream", "certificate.json"], 2),
)  # fmt: skip

WITHOUT_A_FOLDER: tuple[tuple[Main, list[str]], ...] = (
    (fence_opt.main, ["in.mlir", "--mcpu", "gfx942", "--remarks-output", "no/x"]),
    (fence_opt.main, ["in.mlir", "-o", "no/x"]),
    (fence_translate.main, ["--import-llvm", "in.ll", "-o", "no/x"]),
    (fence_check.main, ["in.ptx", "-o", "no/x"]),
    (fence_check.main, ["in.ptx", "--fix", "-o", "no/x"]),
    (fence_check.main, ["in.ptx", "--write-baseline", "no/x"]),
)


@pytest.mark.parametrize(("main", "arguments"), WITHOUT_A_FOLDER)
def test_an_output_without_a_folder_is_refused_before_any_work(
    main: Main, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = f"{arguments[-1]}: error: there is no folder 'no' to write it in\n"
    assert capsys.readouterr() == ("", said)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("main", "arguments", "status"), CASES)
@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_an_output_that_is_an_input(
    main: Main, arguments: list[str], status: int, link: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = arguments[-1] if arguments[-1] in TEXTS else arguments[-3]
    if link:
        (os.symlink if link == "symbolic" else os.link)(output, "other")
        at = len(arguments) - 1 - arguments[::-1].index(output)
        arguments = [*arguments[:at], "other", *arguments[at + 1 :]]
    assert main(arguments) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "would overwrite an input; name another file" in said.err
    assert {name: Path(name).read_text() for name in TEXTS} == TEXTS


def test_two_outputs_that_are_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["in.ll", "--run", "llc -mcpu=gfx942"]
    assert fence_check.main([*run, "--code", "new.s", "-o", "./new.s"]) == 2
    assert capsys.readouterr().err == "fence-check: error: -o and --code name one file\n"
    assert not Path("new.s").exists()


def test_a_baseline_is_brought_up_to_date() -> None:
    flags = ["--baseline", "known.json", "--write-baseline", "known.json"]
    assert fence_check.main(["in.ptx", *flags]) == 0


def test_devices_and_new_files_are_no_inputs() -> None:
    outputs = {"-o": os.devnull, "--other": os.devnull, "--new": "new", "--stdout": "-"}
    check_outputs("tool", outputs, [os.devnull, "in.ll", "-", None])
    with pytest.raises(ToolError, match=r"in\.ll: error: -o would overwrite an input"):
        check_outputs("tool", {"-o": "in.ll"}, [os.path.abspath("in.ll")])
