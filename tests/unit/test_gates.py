"""Gates for others: the tool of Compiler Explorer, and the skill of an agent, each tried as written."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_author_lines import RACE

ROOT = Path(__file__).parents[2]
EXPLORER = ROOT / "examples" / "compiler-explorer" / "fence-check.local.properties"
SKILL = ROOT / "examples" / "skill" / "SKILL.md"
ALONE = RACE.replace(" st.global.b32 [%rd1], %r5;\n", "")
KERNELS = {"bad": ALONE, "good": ALONE.replace(" .loc 1 9 3\n", " bar.sync 0;\n .loc 1 9 3\n")}
"""A kernel without a barrier between a store and a load of shared memory, and with one."""


def run(words: list[str], folder: Path, text: str = "") -> "subprocess.CompletedProcess[str]":
    """A command of ours as a shell finds it."""
    assert words[0] == "fence-check"
    command = [sys.executable, "-m", "fencewright.tools.fence_check", *words[1:]]
    return subprocess.run(
        command, cwd=folder, input=text, capture_output=True, text=True, check=False
    )


# Compiler Explorer


def properties() -> dict[str, str]:
    lines = [line for line in EXPLORER.read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split("=", 1) for line in lines)


def test_the_tool_has_what_compiler_explorer_asks_for() -> None:
    given = properties()
    (name,) = given["tools"].split(":")
    prefix = f"tools.{name}."
    keys = {key.removeprefix(prefix) for key in given if key.startswith(prefix)}
    assert keys >= {"name", "exe", "type", "class", "exclude", "stdinHint"}
    assert (given[f"{prefix}type"], given[f"{prefix}class"]) == ("independent", "base-tool")


@pytest.mark.parametrize("stdin", [False, True])
def test_the_tool_gives_text(stdin: bool, tmp_path: Path) -> None:
    """As base-tool runs it: options, arguments of the pane, then the file of the editor."""
    given = properties()
    words = [given["tools.fencecheck.exe"], *given["tools.fencecheck.options"].split(":")]
    (tmp_path / "example.asm").write_text(KERNELS["bad"])
    done = run([*words, "-" if stdin else "example.asm"], tmp_path, KERNELS["bad"] if stdin else "")
    assert done.returncode == 1
    assert "[missing-barrier]" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


# The skill


def steps() -> dict[str, str]:
    found = re.findall(r"<!-- step: (\w+) -->\n```sh\n(.*?)\n```", SKILL.read_text(), re.DOTALL)
    return dict(found)


def row_of(step: str, status: int) -> str:
    """What the table after a step says of a status."""
    after = SKILL.read_text().partition(f"<!-- step: {step} -->")[2]
    rows = re.findall(rf"^\| {status} \| (.*) \|$", after.partition("\n## ")[0], re.MULTILINE)
    assert rows
    return "; ".join(rows)


def test_the_skill_has_a_name_and_a_description() -> None:
    head = SKILL.read_text().split("---")[1]
    assert re.search(r"^name: fence-check$", head, re.MULTILINE)
    assert re.search(r"^description: .{50,}$", head, re.MULTILINE)


def test_an_agent_that_follows_the_skill_mends_the_kernel(tmp_path: Path) -> None:
    """Each command as it is written, and for each status what its table says."""
    kernel, commands = tmp_path / "kernel.ptx", steps()
    kernel.write_text(KERNELS["bad"])

    checked = run(shlex.split(commands["check"]), tmp_path)
    assert "has errors" in row_of("check", checked.returncode)
    document = json.loads(checked.stdout)
    assert document["status"] == checked.returncode == 1
    (finding,) = [each for each in document["files"][0]["findings"] if each["level"] == "error"]
    assert finding["source"][0]["line"] == 9
    assert finding["message"].rpartition(";")[2].strip() == "write __syncthreads() between the two"
    rule = commands["explain"].rpartition(" ")[2]
    assert finding["rule"] == rule
    explained = run(shlex.split(commands["explain"]), tmp_path)
    assert (explained.returncode, "Right:" in explained.stdout) == (0, True)
    strict = run(shlex.split(commands["prove"]), tmp_path)
    assert "a race" in row_of("prove", strict.returncode)

    kernel.write_text(KERNELS["good"])
    assert "no error" in row_of("check", run(shlex.split(commands["check"]), tmp_path).returncode)
    proved = run(shlex.split(commands["prove"]), tmp_path)
    assert "race-free" in row_of("prove", proved.returncode)
    assert ": k: race-free" in proved.stdout


@pytest.mark.parametrize(
    ("text", "status"),
    [("no code", 2), (KERNELS["good"].replace(" ret;", " frobnicate.b32 %r1, %r2;\n ret;"), 3)],
)
def test_what_cannot_be_read_or_judged_is_in_the_table(
    text: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "kernel.ptx").write_text(text)
    done = run(shlex.split(steps()["check"]), tmp_path)
    assert done.returncode == status
    assert row_of("check", status)
