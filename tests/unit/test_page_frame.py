"""Pages with prose of their own: programs write between the marks, and nowhere else."""

import pytest

from fencewright.tools.reports.markdown import FrameError, filled

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
