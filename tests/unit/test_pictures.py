"""Execution graphs and timelines: what they show, that they can be read, and that tools load them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cdna_cases
import pytest
import source_cases

from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.trace import Counterexample, find_counterexample
from fencewright.simulator.core.condition import And, Formula, Memory, Quantifier, parse_condition
from fencewright.simulator.litmus_run import CdnaTest
from fencewright.simulator.pictures.execution_graph import (
    INITIAL,
    ExecutionGraph,
    ptx_graph,
    source_graph,
)
from fencewright.simulator.pictures.graph_svg import CYCLE_COLOUR, LOOKS, graph_dot, graph_svg
from fencewright.simulator.pictures.labels import Box, Point
from fencewright.simulator.pictures.timeline import BarLook, Timeline, timeline
from fencewright.simulator.pictures.timeline_svg import PAINTS, timeline_svg
from fencewright.simulator.pictures.trace_json import trace_json
from fencewright.simulator.ptx import witnesses as ptx_witnesses
from fencewright.simulator.ptx.formats.columns import parse_litmus, read_litmus
from fencewright.simulator.source import model as source_model
from fencewright.simulator.source import witnesses as source_witnesses
from fencewright.simulator.source.behaviour import behaviour
from fencewright.tools import fence_sim
from fencewright.tools.inputs.litmus.lowered import Lowering, read

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples/litmus/message_passing.mlir")
RELAXED = ROOT / "tests/litmus/ptx/MP.litmus"
SVG = "{http://www.w3.org/2000/svg}"

SEEN = tuple(
    case.name for case in cdna_cases.CASES if case.test.condition.quantifier is Quantifier.EXISTS
)


@cache
def ptx(name: str) -> ExecutionGraph:
    test = read_litmus(ROOT / f"tests/litmus/ptx/{name}.litmus")
    witness = ptx_witnesses.explain(test.program, test.condition.deciding)
    assert witness is not None
    return ptx_graph(test, witness)


@cache
def source(name: str) -> ExecutionGraph:
    case = source_cases.BY_NAME[name]
    program = case.test.program
    races = behaviour(program).races
    if races:
        witness = source_model.explain_race(program, races[0])
    else:
        witness = source_witnesses.explain(program, case.test.condition.formula)
    assert witness is not None
    return source_graph(program, witness)


def counterexample(name: str, formula: Formula | None = None) -> Counterexample:
    case = cdna_cases.BY_NAME[name]
    formula = formula or case.test.condition.formula
    found = find_counterexample(case.test.program, formula, case.configuration)
    assert found is not None
    return found


@cache
def drawn(name: str) -> Timeline:
    return timeline(counterexample(name))


GRAPHS: dict[str, Callable[[], ExecutionGraph]] = {
    **{
        f"ptx {name}": lambda name=name: ptx(name)
        for name in ("MP", "MP+rel+acq", "MP+cas-lock", "IRIW+fence.sc", "CoWW", "S+rel+acq")
    },
    **{
        f"source {name}": lambda name=name: source(name)
        for name in (
            "MP+rel+acq",
            "SB+sc",
            "2+2W",
            "RMW",
            "weak-flag",
            "CoRR",
            "barrier",
            "lock",
            "unlock+rlx",
        )
    },
}


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> ExecutionGraph:
    return GRAPHS[request.param]()


# Graphs


def relations_of_cycle(graph: ExecutionGraph) -> list[str]:
    return [edge.relation for edge in graph.cycle]


def test_relaxed_message_passing_shows_why_no_interleaving_gives_it() -> None:
    graph = ptx("MP")
    assert graph.verdict == "allowed, though no interleaving gives it"
    assert not graph.is_defect
    assert sorted(relations_of_cycle(graph)) == ["fr", "po", "po", "rf"]


def test_the_cycle_of_a_broken_axiom_has_its_derived_steps_spelt_out() -> None:
    graph = ptx("MP+rel+acq")
    assert (graph.verdict, graph.is_defect) == ("forbidden by Causality", True)
    assert sorted(relations_of_cycle(graph)) == ["fr", "po", "po", "sync"]
    assert source("SB+sc").verdict == "forbidden by seq_cst"
    assert sorted(relations_of_cycle(source("SB+sc"))) == ["fr", "fr", "po", "po"]


def test_what_coherence_order_lacks_is_shown() -> None:
    graph = ptx("S+rel+acq")
    assert graph.verdict == "forbidden by Coherence"
    assert sorted(relations_of_cycle(graph)) == ["no co", "po", "po", "sync"]


def test_an_execution_that_an_interleaving_has_is_without_a_cycle() -> None:
    assert (source("RMW").verdict, source("RMW").cycle) == ("allowed", ())


def test_a_data_race_is_an_edge() -> None:
    graph = source("weak-flag")
    assert graph.verdict == "data race on f"
    race = [edge for edge in graph.edges if edge.relation == "race"]
    assert [graph.events[end].effect for end in (race[0].source, race[0].target)] == [
        "R f = 0",
        "W f = 1",
    ]


def test_a_copy_is_no_read_modify_write() -> None:
    drawn = {
        name: {each.relation for each in ptx(name).edges}
        for name in ("RMW", "async.other-cta.no-fence")
    }
    assert "rmw" in drawn["RMW"]
    assert "copy" not in drawn["RMW"]
    assert "copy" in drawn["async.other-cta.no-fence"]
    assert "rmw" not in drawn["async.other-cta.no-fence"]


def test_a_cycle_closes(graph: ExecutionGraph) -> None:
    if not graph.cycle:
        return
    # An atomic's read and write are one step of a cycle whichever way round it passes them.
    halves = {e.target: e.source for e in (*graph.edges, *graph.cycle) if e.relation == "rmw"}
    steps = [e for e in graph.cycle if e.relation != "rmw"]
    ends = [(halves.get(e.source, e.source), halves.get(e.target, e.target)) for e in steps]
    assert all(one[1] == other[0] for one, other in pairwise((*ends, ends[0])))


def test_program_order_is_drawn_between_neighbours(graph: ExecutionGraph) -> None:
    for thread in range(len(graph.threads)):
        events = [n for n, event in enumerate(graph.events) if event.thread == thread]
        expected = set(pairwise(events))
        found = {
            (edge.source, edge.target)
            for edge in (*graph.edges, *graph.cycle)
            if edge.relation in ("po", "rmw") and graph.thread(edge.source) == thread
        }
        assert found == expected


def test_every_relation_has_a_look(graph: ExecutionGraph) -> None:
    assert {edge.relation for edge in (*graph.edges, *graph.cycle)} <= LOOKS.keys()


def test_initial_writes_are_told_by_the_reads_alone(graph: ExecutionGraph) -> None:
    initial = {n for n, event in enumerate(graph.events) if event.thread == INITIAL}
    ends = {end for edge in (*graph.edges, *graph.cycle) for end in (edge.source, edge.target)}
    assert not ends & initial
    read = {n for n, event in enumerate(graph.events) if event.from_initial}
    assert not read & {edge.target for edge in graph.edges if edge.relation == "rf"}


def elements(svg: str, kind: str) -> Iterator[ElementTree.Element]:
    return ElementTree.fromstring(svg).iter(f"{SVG}{kind}")


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [each for each in elements(svg, "g") if each.get("class") == name]


def texts(svg: str) -> list[str]:
    found = ("".join(each.itertext()).strip() for each in elements(svg, "text"))
    return [text for text in found if text]


def test_the_svg_shows_each_event_and_the_cycle_in_red(graph: ExecutionGraph) -> None:
    svg = graph_svg(graph)
    shown = texts(svg)
    assert graph.verdict in shown
    for event in graph.events:
        if event.thread != INITIAL:
            assert event.effect in shown
            assert not event.instruction or event.instruction in shown
    red = {
        re.sub(":[nsew]+", "", each.findtext(f"{SVG}title", ""))
        for each in of_class(svg, "edge")
        for path in each.iter(f"{SVG}path")
        if path.get("stroke") == CYCLE_COLOUR and float(path.get("stroke-width", "1")) > 2
    }
    assert red == {f"event{edge.source}->event{edge.target}" for edge in graph.cycle}


def test_the_text_of_an_event_fits_its_box(graph: ExecutionGraph) -> None:
    boxes = 0
    for node in of_class(graph_svg(graph), "node"):
        outline = node.find(f"{SVG}path")
        if outline is None:
            continue
        boxes += 1
        numbers = outline.get("d", "").replace("M", " ").replace("C", " ").split()
        across = [float(point.split(",")[0]) for point in numbers]
        lines: dict[str, int] = {}
        for text in node.iter(f"{SVG}text"):
            height = text.get("y", "")
            lines[height] = lines.get(height, 0) + len("".join(text.itertext()))
        assert max(lines.values()) * 0.602 * 11 <= max(across) - min(across)
    assert boxes == sum(event.thread != INITIAL for event in graph.events)


def overlapping(svg: str) -> list[tuple[str, str]]:
    """The texts of a graph that cover each other."""
    boxes: list[tuple[float, float, float, str]] = []
    for text in elements(svg, "text"):
        shown = "".join(text.itertext())
        width = 0.602 * float(text.get("font-size", "0")) * len(shown.strip())
        x = float(text.get("x", "0"))
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        if shown.strip():
            boxes.append((left, left + width, float(text.get("y", "0")), shown))
    return [
        (one[3], other[3])
        for number, one in enumerate(boxes)
        for other in boxes[:number]
        if abs(one[2] - other[2]) < 7 and one[0] < other[1] and other[0] < one[1]
    ]


def test_no_text_of_a_graph_covers_another(graph: ExecutionGraph) -> None:
    assert overlapping(graph_svg(graph)) == []


def test_texts_that_cover_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencewright.simulator.pictures.graph_svg._GAP", -3)
    assert overlapping(graph_svg(ptx("S+rel+acq")))


def labels(svg: str) -> dict[str, tuple[float, float, float, float]]:
    """The plates of an SVG graph by the title of their arrow: left, top, right, bottom."""
    found: dict[str, tuple[float, float, float, float]] = {}
    for label in of_class(svg, "label"):
        (plate,) = label.iter(f"{SVG}rect")
        x, y, w, h = (float(plate.get(name, "nan")) for name in ("x", "y", "width", "height"))
        found[label.findtext(f"{SVG}title", "")] = (x, y, x + w, y + h)
    return found


def curve(path: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """Points along a path of cubic curves."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", path.get("d", ""))]
    corners = list(zip(numbers[::2], numbers[1::2], strict=True))
    for at in range(0, len(corners) - 3, 3):
        a, b, c, d = (complex(*corner) for corner in corners[at : at + 4])
        for step in range(201):
            t, u = step / 200, 1 - step / 200
            point = u**3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t**3 * d
            yield point.real, point.imag


def crossed_labels(svg: str) -> list[tuple[str, str]]:
    """The labels that are on the arrow of another, over a box or over another label."""
    boxes = labels(svg)
    found: list[tuple[str, str]] = []
    outlines = {
        each.findtext(f"{SVG}title", ""): [*curve(path)]
        for each in of_class(svg, "node")
        if (path := each.find(f"{SVG}path")) is not None
    }
    arrows = {
        re.sub(":[nsew]+", "", each.findtext(f"{SVG}title", "")): [
            point for path in each.iter(f"{SVG}path") for point in curve(path)
        ]
        for each in of_class(svg, "edge")
    }
    assert arrows.keys() == boxes.keys()
    for name, (left, top, right, bottom) in boxes.items():
        for other, points in (*arrows.items(), *outlines.items()):
            if other != name and any(left < x < right and top < y < bottom for x, y in points):
                found.append((name, other))
        for other, box in boxes.items():
            apart = right <= box[0] or box[2] <= left or bottom <= box[1] or box[3] <= top
            if other != name and not apart:
                found.append((name, other))
    return found


def test_no_label_is_struck_through_by_another_arrow(graph: ExecutionGraph) -> None:
    svg = graph_svg(graph)
    assert crossed_labels(svg) == []
    assert "paint-order" not in svg


def test_a_label_is_on_its_own_arrow_and_in_the_picture(graph: ExecutionGraph) -> None:
    svg = graph_svg(graph)
    boxes = labels(svg)
    (outer, *_) = (
        [float(each) for each in re.findall(r"-?[\d.]+", polygon.get("points", ""))]
        for polygon in elements(svg, "polygon")
    )
    for each in of_class(svg, "edge"):
        left, top, right, bottom = boxes[re.sub(":[nsew]+", "", each.findtext(f"{SVG}title", ""))]
        middle = ((left + right) / 2, (top + bottom) / 2)
        points = (point for path in each.iter(f"{SVG}path") for point in curve(path))
        beside = (right - left) / 2 + 6
        assert any(abs(x - middle[0]) < beside and abs(y - middle[1]) < 4 for x, y in points)
        assert min(outer[::2]) < left
        assert right < max(outer[::2])
        assert min(outer[1::2]) < top
        assert bottom < max(outer[1::2])


def test_every_arrow_is_named_by_its_relations(graph: ExecutionGraph) -> None:
    names = {
        label.findtext(f"{SVG}title", ""): [text.text for text in label.iter(f"{SVG}text")]
        for label in of_class(graph_svg(graph), "label")
    }
    expected: dict[str, list[str | None]] = {}
    for edge in (*graph.cycle, *graph.edges):
        title = f"event{edge.source}->event{edge.target}"
        expected.setdefault(title, []).append(edge.relation)
    assert names == expected


def test_a_label_that_is_struck_through_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_the_middle(
        paths: Sequence[Sequence[Point]], sizes: Sequence[tuple[float, float]], *_: object
    ) -> tuple[Box, ...]:
        middles = [path[len(path) // 2] for path in paths]
        return tuple(
            Box(x - w / 2, y - h / 2, x + w / 2, y + h / 2)
            for (x, y), (w, h) in zip(middles, sizes, strict=True)
        )

    monkeypatch.setattr("fencewright.simulator.pictures.graph_svg.place_labels", in_the_middle)
    assert crossed_labels(graph_svg(ptx("IRIW+fence.sc")))


def test_a_graph_of_a_race_has_what_could_order_it() -> None:
    graph = source("unlock+rlx")
    assert graph.verdict == "data race on x"
    assert {edge.relation for edge in graph.edges} <= {"race", "rmw", "po", "rf", "sw", "sc"}
    assert "race" in {edge.relation for edge in graph.edges}
    races = [each for each in of_class(graph_svg(graph), "edge") if is_race(each)]
    assert races
    # A race has no direction.
    assert not any(list(each.iter(f"{SVG}polygon")) for each in races)


def is_race(edge: ElementTree.Element) -> bool:
    return any(path.get("stroke") == LOOKS["race"].colour for path in edge.iter(f"{SVG}path"))


def test_a_graph_without_relations_is_drawn() -> None:
    test = parse_litmus("PTX t { x=0; } P0@cta 0,gpu 0 ; ld.weak r0, x ; exists (P0:r0 == 0)")
    witness = ptx_witnesses.explain(test.program, test.condition.deciding)
    assert witness is not None
    graph = ptx_graph(test, witness)
    assert (graph.edges, graph.cycle) == ((), ())
    assert "ld.weak r0, x" in texts(graph_svg(graph))


def test_within_a_thread_program_order_is_all_that_allowed_executions_show() -> None:
    graph = source("lock")
    assert graph.verdict == "allowed"
    inside = {
        edge.relation
        for edge in graph.edges
        if graph.thread(edge.source) == graph.thread(edge.target)
    }
    assert inside == {"po"}


def test_a_box_too_narrow_for_its_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencewright.simulator.pictures.graph_svg._CHARACTER", 0.03)
    with pytest.raises(AssertionError):
        test_the_text_of_an_event_fits_its_box(ptx("MP"))


def test_threads_stand_side_by_side_in_their_order() -> None:
    svg = graph_svg(ptx("IRIW+fence.sc"))
    heads = [
        float(text.get("x", "nan"))
        for node in of_class(svg, "node")
        if (node.findtext(f"{SVG}title") or "").startswith("thread")
        for text in node.iter(f"{SVG}text")
    ]
    assert len(heads) == 4
    assert heads == sorted(heads)


def test_the_graph_in_graphviz_language() -> None:
    text = graph_dot(ptx("MP"))
    assert text.startswith("digraph execution {")
    assert text.count("->") == 4


# Timelines


@pytest.fixture(params=SEEN)
def seen(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_stale_line_of_the_reader_is_shown() -> None:
    shown = drawn("mp-agent-without-invalidate")
    lanes = [(lane.name, lane.place) for lane in shown.lanes for _ in lane.rows]
    stale = [(lanes[bar.row], bar) for bar in shown.bars if bar.look is BarLook.STALE]
    assert ("L1", "agent 0 XCD 1 CU 0") in [lane for lane, _ in stale]
    assert {bar.lines for _, bar in stale} == {("x = 0", "stale")}
    assert shown.stale_reads == (
        (14, "P1: global_load r1, x finds x = 0, overwritten since step 4"),
    )
    result = next(bar for bar in shown.bars if bar.look is BarLook.STALE_RESULT)
    assert (result.start, result.lines) == (14, ("r1 = 0", "stale!"))
    carried = [arrow for arrow in shown.arrows if arrow.step == 14]
    assert [(lanes[arrow.source][0], arrow.is_stale) for arrow in carried] == [("L1", True)]


def test_nothing_is_stale_when_the_reader_sees_the_data() -> None:
    formula = parse_condition(r"exists (P1:r0 == 1 /\ P1:r1 == 1)").formula
    shown = timeline(counterexample("mp-agent", formula))
    assert shown.stale_reads == ()
    assert BarLook.STALE_RESULT not in {bar.look for bar in shown.bars}


def test_a_store_ahead_in_its_own_l1_is_not_stale() -> None:
    """The L1 of a wave that stores holds the new value while the L2 has the old one."""
    code = (
        cdna_cases.load("r0", "x"),
        cdna_cases.VM,
        cdna_cases.store("x", 1),
        cdna_cases.load("r1", "x"),
    )
    case = cdna_cases.case("own", "exists (P0:r1 == 1)", (cdna_cases.CU0, code), locations="x")
    found = find_counterexample(case.test.program, case.test.condition.formula, case.configuration)
    assert found is not None
    shown = timeline(found)
    assert ("x = 1",) in {bar.lines for bar in shown.bars if bar.look is BarLook.CLEAN}
    assert BarLook.STALE not in {bar.look for bar in shown.bars}


def test_every_instruction_is_issued_in_the_lane_of_its_wave(seen: str) -> None:
    shown = drawn(seen)
    program = cdna_cases.BY_NAME[seen].test.program
    rows = [(lane.name, row) for lane in shown.lanes for row in lane.rows]
    branches = ("branch", ":")
    for number, thread in enumerate(program.threads):
        if any(word in str(each) for each in thread.instructions for word in branches):
            continue
        row = rows.index((f"P{number}", "issues"))
        issued = [" ".join(bar.lines) for bar in shown.bars if bar.row == row]
        assert issued == [str(each) for each in thread.instructions]


def test_memory_holds_what_the_machine_holds(seen: str) -> None:
    found = counterexample(seen)
    shown = drawn(seen)
    rows = [lane.name for lane in shown.lanes for _ in lane.rows]
    held = [bar for bar in shown.bars if rows[bar.row] == "memory"]
    for column, state in enumerate(found.trace.states):
        now = {bar.lines[0] for bar in held if bar.start <= column < bar.end}
        assert now == {
            f"{location.name} = {found.machine.line_states[line].items[number][0]}"
            for line, (location, number) in enumerate(
                zip(
                    found.machine.compiled.lines,
                    state[found.machine.waves : found.machine.first_lds],
                    strict=True,
                )
            )
        }


def test_the_outcome_is_in_memory_or_dirty_at_the_end(seen: str) -> None:
    found, shown = counterexample(seen), drawn(seen)
    last = {bar.lines[0] for bar in shown.bars if bar.end == shown.end}
    final = {o: v for o, v in found.outcome.items() if isinstance(o, Memory)}
    assert {f"{location} = {value}" for location, value in final.items()} <= last


def test_bars_of_a_row_do_not_overlap(seen: str) -> None:
    shown = drawn(seen)
    assert overlaps(shown) == []
    assert all(0 <= bar.start < bar.end <= shown.end for bar in shown.bars)


def overlaps(shown: Timeline) -> list[tuple[int, int]]:
    order = sorted(shown.bars, key=lambda bar: (bar.row, bar.start))
    return [
        (one.row, other.start)
        for one, other in pairwise(order)
        if one.row == other.row and other.start < one.end
    ]


def test_an_overlap_is_found() -> None:
    shown = drawn("mp-agent-without-invalidate")
    first = shown.bars[0]
    assert overlaps(replace(shown, bars=(*shown.bars, replace(first, end=first.end + 1))))


def test_the_text_of_a_bar_fits_it(seen: str) -> None:
    assert cut_off(timeline_svg(drawn(seen))) == []


def cut_off(svg: str) -> list[str]:
    """The lines of text that leave the box that they start in, or the picture."""
    boxes = [
        [float(box.get(name, "0")) for name in ("x", "y", "width", "height")]
        for box in elements(svg, "rect")
        if box.find(f"{SVG}title") is not None and box.get("fill-opacity") != "0"
    ]
    width = float(ElementTree.fromstring(svg).get("width", "0"))
    found: list[str] = []
    for text in elements(svg, "text"):
        if text.get("text-anchor") != "start":
            continue
        size = float(text.get("font-size", "0"))
        for line in text.iter(f"{SVG}tspan") if len(text) else [text]:
            x, y = float(line.get("x", "0")), float(text.get("y", "0"))
            end = x + 0.602 * size * len(line.text or "")
            rights = [
                b[0] + b[2] for b in boxes if b[0] <= x <= b[0] + b[2] and b[1] <= y <= b[1] + b[3]
            ]
            if end > min(rights, default=width):
                found.append(line.text or "")
    return found


def test_text_that_is_cut_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencewright.simulator.pictures.timeline_svg._CHARACTER", 0.3)
    assert cut_off(timeline_svg(drawn("mp-agent-without-invalidate")))


def test_the_svg_shows_every_bar_and_arrow(seen: str) -> None:
    shown = drawn(seen)
    svg = timeline_svg(shown, registers=True)
    details = [title.text for title in elements(svg, "title")]
    assert all(bar.detail in details for bar in shown.bars)
    assert all(step in details for step in shown.steps)
    written = texts(svg)
    assert all("".join(bar.lines) in written for bar in shown.bars)
    arrows = [path for path in elements(svg, "path") if path.get("marker-end")]
    assert len(arrows) == len(shown.arrows)


def test_text_is_drawn_by_every_renderer(seen: str) -> None:
    """By its fill alone: some renderers paint an outline over it, whatever ``paint-order`` says."""
    svg = timeline_svg(drawn(seen))
    assert "paint-order" not in svg
    assert all(text.get("stroke") is None for text in elements(svg, "text"))


def struck_through(svg: str) -> list[str]:
    """The lines of a timeline that an arrow passes through, without a plate between them."""
    found: list[str] = []
    arrows: list[tuple[float, float, float]] = []
    plates: list[tuple[float, float, float, float]] = []
    for each in ElementTree.fromstring(svg).iter():
        if each.get("class") == "plate":
            x, y, w, h = (float(each.get(n, "0")) for n in ("x", "y", "width", "height"))
            plates.append((x, y, x + w, y + h))
        elif each.get("marker-end"):
            (x, one), (_, other) = re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", each.get("d", ""))
            ends = float(one), float(other)
            arrows.append((float(x), min(ends), max(ends)))
        elif each.tag == f"{SVG}text" and each.get("text-anchor") == "start":
            size = float(each.get("font-size", "0"))
            lines = [line.text or "" for line in each.iter(f"{SVG}tspan")] or [each.text or ""]
            starts = [line.get("x") for line in each.iter(f"{SVG}tspan")] or [each.get("x")]
            left, y = float(starts[0] or "0"), float(each.get("y", "0"))
            right = left + 0.6 * size * max(map(len, lines))
            hidden = any(
                p[0] <= left and right <= p[2] and p[1] <= y - 0.7 * size and y <= p[3]
                for p in plates
            )
            crossed = any(left < x < right and a < y - 2 and b > y - 6 for x, a, b in arrows)
            found += lines if crossed and not hidden else []
    return found


def test_no_arrow_of_a_timeline_strikes_text_through(seen: str) -> None:
    assert struck_through(timeline_svg(drawn(seen))) == []


def test_a_timeline_without_plates_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_plate(*_: object) -> None:
        return None

    monkeypatch.setattr("fencewright.simulator.pictures.timeline_svg._add_plate", no_plate)
    assert any(struck_through(timeline_svg(drawn(name))) for name in SEEN)


def test_steps_that_only_touch_registers_are_left_out() -> None:
    path = str(ROOT / "examples/litmus/lock.mlir")
    (test,) = read(path, Lowering("gfx942"))
    assert isinstance(test, CdnaTest)
    found = find_counterexample(test.test.program, And(()), test.configuration)
    assert found is not None
    shown = timeline(found)
    folded = shown.register_steps
    assert len(folded) == 8
    of_registers = [bar for bar in shown.bars if bar.start in folded and bar.end == bar.start + 1]
    words = {bar.lines[0] for bar in of_registers if bar.look is BarLook.INSTRUCTION}
    assert {"mov", "branch"} <= words
    assert not any(word.startswith(("global", "buffer", "s_", "ds_")) for word in words)
    svg, whole = timeline_svg(shown), timeline_svg(shown, registers=True)
    assert f"left out: {len(folded)} steps that only touch registers" in texts(svg)
    numbers = {text for text in texts(svg) if text.isdigit()}
    assert numbers == {str(n) for n in range(1, shown.end) if n not in folded}
    assert size_of(svg)[1] < 0.9 * size_of(whole)[1]
    assert not any(text.startswith("mov") for text in texts(svg))


def size_of(svg: str) -> tuple[float, float]:
    page = ElementTree.fromstring(svg)
    return float(page.get("width", "0")), float(page.get("height", "0"))


def test_a_long_timeline_goes_on_below() -> None:
    path = str(ROOT / "examples/litmus/lock.mlir")
    (test,) = read(path, Lowering("gfx942", opt_level=0))
    assert isinstance(test, CdnaTest)
    found = find_counterexample(test.test.program, And(()), test.configuration)
    assert found is not None
    shown = timeline(found)
    svg = timeline_svg(shown)
    assert size_of(svg)[0] <= 1010
    assert all(float(text.get("font-size", "0")) >= 12 for text in elements(svg, "text"))
    rows: dict[float, list[str]] = {}
    for text in elements(svg, "text"):
        rows.setdefault(float(text.get("y", "nan")), []).append("".join(text.itertext()).strip())
    bands = [row for row in rows.values() if "step" in row]
    assert len(bands) > 2
    steps = [n for n in range(1, shown.end) if n not in shown.register_steps]
    assert [int(each) for row in bands for each in row if each.isdigit()] == steps
    assert all(texts(svg).count(lane.name) >= len(bands) for lane in shown.lanes)
    assert struck_through(svg) == []
    assert cut_off(svg) == []


def test_every_look_has_its_paint() -> None:
    assert set(PAINTS) == set(BarLook)


# Perfetto


def trace(shown: Timeline) -> dict[str, Any]:
    return json.loads(trace_json(shown))


METADATA = {"process_name", "process_sort_index", "thread_name", "thread_sort_index"}


def format_errors(document: dict[str, Any]) -> list[str]:
    """What breaks the rules of the trace event format, JSON Object Format."""
    events: list[dict[str, Any]] = document["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    wrong = [
        f"{rule}: {event}" for event in events for rule, holds in _RULES.items() if not holds(event)
    ]
    if wrong:
        return wrong
    by_row: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for each in sorted(slices, key=lambda e: e["ts"]):
        by_row.setdefault((each["pid"], each["tid"]), []).append(each)
    for row in by_row.values():
        for one, other in pairwise(row):
            if other["ts"] < one["ts"] + one["dur"]:
                wrong.append(f"slices of a thread overlap: {one} {other}")
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    wrong += [f"no thread_name: {row}" for row in by_row if row not in named and row != (1, 1)]
    wrong += [f"no process_name: {row}" for row in by_row if row[0] not in processes]
    flows: dict[int, list[dict[str, Any]]] = {}
    for each in events:
        if each["ph"] in "sf":
            flows.setdefault(each["id"], []).append(each)
            row = by_row.get((each["pid"], each["tid"]), [])
            if not any(s["ts"] <= each["ts"] < s["ts"] + s["dur"] for s in row):
                wrong.append(f"a flow end in no slice: {each}")
    for ends in flows.values():
        if [e["ph"] for e in ends] != ["s", "f"] or ends[0]["ts"] > ends[1]["ts"]:
            wrong.append(f"a flow without both ends in order: {ends}")
        elif len({(e["name"], e["cat"]) for e in ends}) > 1:
            wrong.append(f"a flow whose ends differ in name or category: {ends}")
    return wrong


def _is_time(event: dict[str, Any], key: str) -> bool:
    return isinstance(event.get(key), int) and event[key] >= 0


_RULES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "a known phase": lambda e: e["ph"] in ("X", "i", "s", "f", "M"),
    "pid and tid are numbers": lambda e: all(isinstance(e.get(k), int) for k in ("pid", "tid")),
    "a name": lambda e: isinstance(e.get("name"), str) and e["name"] != "",
    "a time": lambda e: e["ph"] == "M" or _is_time(e, "ts"),
    "a duration": lambda e: (e["ph"] == "X") is ("dur" in e) and _is_time({"dur": 0, **e}, "dur"),
    "a scope": lambda e: (e["ph"] == "i") is ("s" in e) and e.get("s", "t") in ("g", "p", "t"),
    "an id": lambda e: (e["ph"] in "sf") is ("id" in e),
    "a binding point": lambda e: (e["ph"] == "f") is ("bp" in e) and e.get("bp", "e") == "e",
    "metadata": lambda e: e["ph"] != "M" or (e["name"] in METADATA and "args" in e),
}


def test_the_trace_follows_the_format(seen: str) -> None:
    assert format_errors(trace(drawn(seen))) == []


@pytest.mark.parametrize(
    ("phase", "change"),
    [
        ("X", {"dur": -1}),
        ("X", {"dur": 10**9}),
        ("X", {"ts": "0"}),
        ("X", {"ph": "Z"}),
        ("X", {"tid": 999}),
        ("i", {"s": "x"}),
        ("s", {"id": 999}),
        ("s", {"ts": 0}),
        ("f", {"bp": None}),
        ("f", {"name": "other"}),
        ("M", {"name": "thread_color"}),
    ],
)
def test_a_trace_that_breaks_the_format_is_found(phase: str, change: dict[str, Any]) -> None:
    document = trace(drawn("mp-agent-without-invalidate"))
    next(e for e in document["traceEvents"] if e["ph"] == phase).update(change)
    assert format_errors(document)


def test_the_trace_has_every_bar_and_marks_the_stale_read() -> None:
    shown = drawn("mp-agent-without-invalidate")
    events = trace(shown)["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == len(shown.bars) + len(shown.steps)
    assert sum(e["ph"] == "s" for e in events) == len(shown.arrows)
    (mark,) = (e for e in events if e["ph"] == "i")
    assert (mark["ts"], mark["name"]) == (14_000, "stale read")


# The command line, and what it needs


def test_timeline_writes_what_the_name_asks_for(tmp_path: Path) -> None:
    base = ["timeline", EXAMPLE, "--mcpu", "gfx942", "--without", "buffer_inv", "-o"]
    for name in ("run.svg", "run.json"):
        assert fence_sim.main([*base, str(tmp_path / name)]) == 0
    assert any("stale!" in text for text in texts((tmp_path / "run.svg").read_text()))
    assert format_errors(json.loads((tmp_path / "run.json").read_text())) == []


def test_a_sound_lowering_has_no_counterexample_to_draw(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fence_sim.main(["timeline", EXAMPLE, "--mcpu", "gfx942"]) == 1
    assert (
        "no execution of 'message_passing' satisfies ~(P1:r0 == 42); --any draws"
        in capsys.readouterr().err
    )
    assert fence_sim.main(["timeline", EXAMPLE, "--mcpu", "gfx942", "--any"]) == 0
    assert capsys.readouterr().out.startswith("<?xml")


def test_graph_draws_source_and_ptx(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["graph", EXAMPLE]) == 0
    assert "forbidden by coherence" in texts(capsys.readouterr().out)
    assert fence_sim.main(["graph", str(RELAXED), "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph")


def test_a_picture_of_the_wrong_language_says_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fence_sim.main(["timeline", str(RELAXED)]) == 2
    assert "use 'fence-sim graph'" in capsys.readouterr().err
    assert fence_sim.main(["graph", EXAMPLE, "--mcpu", "gfx942"]) == 2
    assert "use 'fence-sim timeline'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("library", "command"),
    [
        ("pygraphviz", ["graph", str(RELAXED)]),
        ("drawsvg", ["timeline", EXAMPLE, "--mcpu", "gfx942", "--any"]),
    ],
)
def test_a_missing_library_is_one_line(
    library: str,
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert fence_sim.main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        f"{library}, which is not installed: pip install 'fencewright[pictures]', or '.[pictures]' in a checkout"
    )


SCRIPT = """
import sys
from fencewright.simulator.ptx import witnesses as ptx_witnesses
from fencewright.simulator.pictures import graph_svg, timeline_svg, trace_json
from fencewright.simulator.pictures.execution_graph import ptx_graph
from fencewright.simulator.ptx.formats.columns import parse_litmus
assert not {"pygraphviz", "drawsvg"} & sys.modules.keys(), "a library was imported too early"
test = parse_litmus(sys.stdin.read())
witness = ptx_witnesses.explain(test.program, test.condition.deciding)
print(graph_svg.graph_svg(ptx_graph(test, witness)))
"""


def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    text = (ROOT / "tests/litmus/ptx/MP+cas-lock.litmus").read_text(encoding="utf-8")
    made = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=text,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(made) == 1
    assert parse_litmus(text).name in texts(made.pop())


def test_a_timeline_is_the_same_each_time() -> None:
    found = counterexample("mp-agent-without-invalidate")
    assert isinstance(found.machine, CdnaMachine)
    one, other = timeline(found), drawn("mp-agent-without-invalidate")
    assert (one, timeline_svg(one), trace_json(one)) == (
        other,
        timeline_svg(other),
        trace_json(other),
    )


# The documentation


@pytest.mark.parametrize(
    ("name", "page_name"),
    [
        ("graph.svg", "pictures.md"),
        ("timeline.svg", "pictures.md"),
        ("traffic.svg", "traffic.md"),
        ("gfx1250.svg", "gfx1250.md"),
    ],
)
def test_the_pictures_of_the_documentation_are_what_its_commands_draw(
    name: str, page_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / page_name).read_text(encoding="utf-8")
    (command,) = (
        line.strip() for line in page.splitlines() if line.endswith(f"-o docs/images/{name}")
    )
    words = command.split()
    assert fence_sim.main([*words[1:-1], str(tmp_path / name)]) == 0
    kept = (ROOT / "docs/images" / name).read_text(encoding="utf-8")
    assert texts(kept) == texts((tmp_path / name).read_text(encoding="utf-8")), f"run: {command}"
