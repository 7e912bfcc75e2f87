"""A wrong command line gets one line, of whatever tool and command."""

from collections.abc import Callable, Sequence

import pytest

from fencewright.tools import fence_check, fence_opt, fence_sim, fence_translate
from fencewright.tools.statuses import USAGE

Main = Callable[[Sequence[str]], int]

WRONG: tuple[tuple[Main, list[str], str], ...] = (
    (
        fence_opt.main,
        ["--no-such-option"],
        "fence-opt: error: unrecognized arguments: --no-such-option",
    ),
    (fence_opt.main, ["-t", "x"], "fence-opt: error: argument -t/--target: invalid choice: 'x'"),
    (fence_check.main, [], "fence-check: error: the following arguments are required: FILE"),
    (fence_sim.main, ["walk"], "fence-sim: error: argument COMMAND: invalid choice: 'walk'"),
    (
        fence_sim.main,
        ["access"],
        "fence-sim access: error: the following arguments are required: --mcpu",
    ),
    (
        fence_sim.main,
        ["certify", "gfx942", "store"],
        "fence-sim certify: error: unrecognized arguments: store",
    ),
    (fence_translate.main, ["x"], "fence-translate: error: one of the arguments --import-llvm"),
)


@pytest.mark.parametrize(("main", "arguments", "begins"), WRONG)
def test_wrong_usage_is_one_line_with_status_2(
    main: Main,
    arguments: list[str],
    begins: str,
    capsys: pytest.CaptureFixture[str],
):
    assert main(arguments) == 2
    found = capsys.readouterr().err
    assert found.startswith(begins)
    program = begins.partition(": error")[0]
    assert found.endswith(f"; try {program} --help\n")
    assert found.count("\n") == 1


EMPTY = ("--run", "--source", "--code", "--counterexamples", "--baseline", "--write-baseline", "-o")


@pytest.mark.parametrize("flag", EMPTY)
def test_an_option_that_names_nothing(flag: str, capsys: pytest.CaptureFixture[str]):
    assert fence_check.main(["k.s", flag, ""]) == 2
    assert capsys.readouterr().err == f"fence-check: error: {flag} is empty\n"


def test_a_seed_of_nothing_random(capsys: pytest.CaptureFixture[str]):
    assert fence_sim.main(["run", "x.mlir", "--seed", "1"]) == 2
    said = capsys.readouterr().err
    assert said == "fence-sim: error: --seed has no effect without --random\n"


def test_a_block_that_no_launch_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for block in ("2048", "33,32"):
        assert fence_check.main(["k.ptx", "--block", block]) == USAGE
        said = f"fence-check: error: --block {block}: a block has at most 1024 threads\n"
        assert capsys.readouterr().err == said
    for grid in ("2147483648", "1,65536"):
        assert fence_check.main(["k.ptx", "--grid", grid]) == USAGE
        said = f"fence-check: error: --grid {grid}: a grid has at most (2147483647, 65535, 65535)"
        assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("option", ["fix", "annotate", "to=scoped"])
def test_what_takes_compiled_code_says_how_to_compile(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_check.main(["k.cu", "--compile", "nvcc", f"--{option}"]) == USAGE
    assert "--compile with --code FILE writes what" in capsys.readouterr().err
