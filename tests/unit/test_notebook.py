"""What notebooks show of results: tables, and pictures where they can be drawn."""

import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from test_author_lines import RACE
from test_pictures import ROOT, SEEN, drawn, ptx

import fencewright
from fencewright.simulator import litmus_run
from fencewright.simulator.ptx.formats.columns import read_litmus
from fencewright.simulator.ptx.model import PtxModel

LITMUS = ROOT / "tests/litmus/ptx"


def html_of(shown: Any) -> str:
    return shown._repr_html_()


def svg_of(shown: Any) -> str | None:
    return shown._repr_svg_()


def cells(shown: Any) -> list[list[str]]:
    """The rows of a table, which is well-formed."""
    table = ElementTree.fromstring(html_of(shown))
    assert table.tag == "table"
    assert (table.findtext("caption") or "").strip()
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def test_a_sequence_shows_each_instruction_with_its_source() -> None:
    sequence = fencewright.lower(
        op="store", ordering="release", scope="agent", space="global", target="gfx942"
    )
    head, *rows = cells(sequence)
    assert head == ["phase", "instruction", "source"]
    assert [row[1] for row in rows] == [each.text for each in sequence.instructions]
    assert all(row[2] for row in rows)
    assert "gfx942" in html_of(sequence)


def test_counters_show_how_well_they_are_known_and_a_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = fencewright.access("ds_read_b32", "lane*8", "gfx942")
    head, *rows = cells(counts)
    assert head == ["counter", "value", "known"]
    assert {row[0]: int(row[1]) for row in rows} == {n: v for n, v in counts.values.items() if v}
    picture = svg_of(counts)
    assert picture is not None
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    assert svg_of(counts) is None


def test_arguments_and_a_verdict() -> None:
    done = fencewright.execute(RACE, block=64, args=(np.zeros(4, np.uint32),))
    assert isinstance(done, tuple)
    head, row = cells(done)
    assert head == ["argument", "type", "begins with"]
    assert row[:2] == ["0", "uint32[4]"]
    verdict = fencewright.check(RACE, block=64, args=(np.zeros(4, np.uint32),))
    _, *found = cells(verdict)
    assert [row[0] for row in found] == [
        "error" if e.is_error else "warning" for e in verdict.findings
    ]
    assert any("tile" in row[3] for row in found)


def test_outcomes_and_the_pictures_of_executions(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = litmus_run.run(litmus_run.PtxTest(read_litmus(LITMUS / "MP.litmus"), PtxModel()))
    assert ran.outcomes is not None
    head, *rows = cells(ran)
    assert head == [str(each) for each in ran.outcomes.observables]
    assert len(rows) == len(ran.outcomes.states)
    shown = ptx("MP"), drawn(SEEN[0])
    for each, library in zip(shown, ("pygraphviz", "drawsvg"), strict=True):
        picture = svg_of(each)
        assert picture is not None
        assert ElementTree.fromstring(picture).tag.endswith("svg")
        monkeypatch.setitem(sys.modules, library, None)
        assert svg_of(each) is None


def test_markup_in_a_result_is_text() -> None:
    from fencewright.lowering.notebook import html_table

    shown = html_table("<b>", ("a&b",), [("<script>",)])
    assert "<script>" not in shown
    assert ElementTree.fromstring(shown).findtext("caption") == "<b>"
