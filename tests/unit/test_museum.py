"""Every exhibit of the museum: its wrong form is found and shown, its right form is quiet."""

import re
import subprocess
from pathlib import Path

import pytest

from fencewright.tools import fence_check
from fencewright.tools.dev.pages.museum_page import (
    FORMS,
    ROOT,
    Exhibit,
    Kind,
    exhibits,
    museum_parts,
    said_of,
)
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

EXHIBITS = exhibits()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda each: each.name)
def test_an_exhibit(exhibit: Exhibit) -> None:
    wrong, right = (said_of(exhibit, form) for form in FORMS)
    found = [line for line in wrong.lines if line.endswith(f"[{exhibit.rule}]")]
    assert len(found) == 1
    assert f" {exhibit.level}: " in found[0]
    assert wrong.status == (1 if exhibit.level == "error" else 0)
    assert exhibit.shown == (" waves end with" in "\n".join(wrong.lines))
    assert right.status == 0
    assert not [line for line in right.lines if f"[{exhibit.rule}]" in line]
    assert not [line for line in right.lines if " error: " in line or " warning: " in line]


LOST_AT_THE_HEAD_OF_A_LOOP = (
    *("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200", "gfx1250"),
)
"""The chips on which LLVM 22 deletes the wait; on gfx908 it waits for everything before a barrier."""


@pytest.mark.parametrize("chip", ["gfx908", *LOST_AT_THE_HEAD_OF_A_LOOP])
@pytest.mark.parametrize("name", ["loop-barrier", "tree-reduction"])
def test_the_wait_at_the_head_of_a_loop_is_lost_on(
    name: str, chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What LLVM makes of an exhibit's source has the fault, and not once the wait is there again."""
    llc = find_llvm_tool("llc")
    if llc is None:
        pytest.skip(LLVM_HINT)
    source, code = ROOT / name / "source.ll", tmp_path / "k.s"
    subprocess.run([llc, "-O2", f"-mcpu={chip}", str(source), "-o", str(code)], check=True)
    asked = ["--source", str(source), str(code)]
    made = code.read_text(encoding="utf-8")
    is_lost = chip in LOST_AT_THE_HEAD_OF_A_LOOP
    assert fence_check.main(asked) == (1 if is_lost else 0)
    assert ("[release]" in capsys.readouterr().out) is is_lost
    wait = "s_wait_dscnt 0x0" if "s_barrier_signal" in made else "s_waitcnt lgkmcnt(0)"
    barrier = re.compile(r"\ts_barrier(_signal -1)?$", re.M)
    code.write_text(barrier.sub(rf"\t{wait}\n\g<0>", made), encoding="utf-8")
    assert fence_check.main(asked) == 0
    assert " error: " not in capsys.readouterr().out


def test_the_two_forms_differ_by_little() -> None:
    for each in EXHIBITS:
        wrong, right = (each.code(form).splitlines() for form in FORMS)
        assert wrong != right
        assert len({*wrong} ^ {*right}) <= 6, each.name


def test_there_are_enough_of_each_kind() -> None:
    kinds = [each.kind for each in EXHIBITS]
    assert kinds.count(Kind.WRONG) >= 20
    assert kinds.count(Kind.REDUNDANT) >= 4
    assert all(each.threads and each.what and each.bad_in for each in EXHIBITS)


def test_the_page_has_every_exhibit() -> None:
    text = museum_parts()["exhibits"]
    assert all(f"## {each.title}" in text for each in EXHIBITS)
