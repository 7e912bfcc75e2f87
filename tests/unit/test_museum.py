"""Every exhibit of the museum: its wrong form is found and shown, its right form is quiet."""

import pytest

from fencewright.tools.dev.museum_page import (
    FORMS,
    Exhibit,
    Kind,
    exhibits,
    page,
    said_of,
)

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
    text = page()
    assert all(f"## {each.title}" in text for each in EXHIBITS)
