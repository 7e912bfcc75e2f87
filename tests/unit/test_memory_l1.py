"""The launches that show what stays in L1: they assemble, and a count that is wrong is noticed."""

import sys
from pathlib import Path
from typing import Any

import pytest
from scripts import GPU_BENCHMARKS, load_script

sys.path.append(str(GPU_BENCHMARKS))
L1: Any = load_script(GPU_BENCHMARKS / "memory_l1.py")


SOME = [each for each in L1.launches() if each.pattern in ("a line", "the same word")][::20]


def text_of(changed: str = "") -> str:
    """What a GPU that does as predicted would count."""
    lines: list[str] = []
    for each in SOME:
        lines.append(each.name)
        for counter, value in L1.predicted(each).items():
            if counter in L1.METRICS and value:
                lines.append(f"  {counter} {value + (each.name == changed)}")
    return "\n".join(lines) + "\n"


def test_a_count_that_is_not_as_predicted_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(L1, "launches", lambda: SOME)
    file = tmp_path / "counted.txt"
    file.write_text(text_of())
    assert L1.compare(file) == 0
    file.write_text(text_of(changed=SOME[3].name))
    assert L1.compare(file) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{len(SOME)} launches, 1 with other counts than predicted"


def test_launches_are_told_apart_by_their_names() -> None:
    names = [each.name for each in L1.launches()]
    assert len(set(names)) == len(names) > 400


def test_only_some_lanes_take_part_in_the_middle() -> None:
    few = next(each for each in L1.launches() if each.lanes == 1)
    guarded = [line for line in L1.kernel(few).splitlines() if line.startswith("@%few")]
    assert len(guarded) == 1
    assert few.accesses[1] in guarded[0]


COUNTED = Path(__file__).parents[1] / "data" / "memory" / "h200-l1.txt"


def test_how_far_the_rows_are_those_of_an_h200(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What differs is listed on the page: stores fill L1, and a few words of loads."""
    some = L1.launches()[::9]
    monkeypatch.setattr(L1, "launches", lambda: some)
    names = {each.name for each in some}
    kept: list[str] = []
    is_kept = False
    for line in COUNTED.read_text().splitlines():
        is_kept = line in names or (is_kept and line.startswith(" "))
        kept += [line] * is_kept
    file = tmp_path / "counted.txt"
    file.write_text("\n".join(kept) + "\n")
    assert L1.compare(file) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "50 launches, 12 with other counts than predicted"
    )
