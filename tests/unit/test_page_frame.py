"""Pages with prose of their own: programs write between the marks, and nowhere else."""

from pathlib import Path

import pytest

from fencewright.tools.reports.markdown import FrameError, filled, written

PAGE = "# A page\n\n<!-- begin: one -->\n\nold\n\n<!-- end -->\n\nProse.\n\n<!-- begin: two -->\n<!-- end -->\n"


def test_only_what_is_between_the_marks_is_written() -> None:
    found = filled(PAGE, {"one": "| a |\n", "two": "| b |\n"})
    assert found == (
        "# A page\n\n<!-- begin: one -->\n\n| a |\n\n<!-- end -->\n\nProse.\n\n"
        "<!-- begin: two -->\n\n| b |\n\n<!-- end -->\n"
    )
    assert filled(found, {"one": "| a |\n", "two": "| b |\n"}) == found


@pytest.mark.parametrize("parts", [{"one": ""}, {"one": "", "two": "", "three": ""}])
def test_parts_and_marks_fit_together(parts: dict[str, str]) -> None:
    with pytest.raises(FrameError, match="a page has marks for one, two: give it those for"):
        filled(PAGE, parts)


def test_a_check_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "x.md"
    page.write_text(PAGE)
    parts = {"one": "| a |\n", "two": "| b |\n"}
    assert written(page, parts, check=True) == 1
    assert page.read_text() == PAGE
    assert "x.md is out of date" in capsys.readouterr().err
    assert written(page, parts, check=False) == 0
    assert page.read_text() == filled(PAGE, parts)
    assert written(page, parts, check=True) == 0
