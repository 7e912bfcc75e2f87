"""Timelines in the JSON form of the Chrome trace event format, which ui.perfetto.dev opens.

A process for each lane, a thread for each row, a millisecond for each step. Source: the Trace
Event Format document of the Chromium project ("JSON Object Format", complete, instant, flow and
metadata events).
"""

import json
from collections.abc import Iterator
from typing import TypedDict

from fencewright.simulator.pictures.timeline import Arrow, BarLook, Timeline, TimelineBar

STEP = 1000
"""Microseconds a step, the format's unit."""

_STEPS = 1
"""The process that numbers the steps; those of the lanes follow."""


class Args(TypedDict, total=False):
    """The details that Perfetto shows of a selected event."""

    name: str
    sort_index: int
    what: str


class TraceEvent(TypedDict, total=False):
    """An event; ``ts`` and ``dur`` in microseconds."""

    ph: str
    name: str
    cat: str
    pid: int
    tid: int
    ts: int
    dur: int
    id: int
    bp: str
    s: str
    args: Args


def trace_json(shown: Timeline) -> str:
    """The timeline as a JSON document."""
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"test": shown.name, "outcome": shown.outcome, "story": shown.explanation},
        "traceEvents": list(trace_events(shown)),
    }
    return json.dumps(document, indent=1) + "\n"


def trace_events(shown: Timeline) -> Iterator[TraceEvent]:
    """Names of lanes and rows, then steps, bars, arrows and stale reads."""
    process = [pid for pid, lane in enumerate(shown.lanes, _STEPS + 1) for _ in lane.rows]
    yield from _named("process", _STEPS, 0, "steps")
    for pid, lane in enumerate(shown.lanes, _STEPS + 1):
        yield from _named("process", pid, 0, f"{lane.name} {lane.place}".rstrip())
    headings = [heading for lane in shown.lanes for heading in lane.rows]
    for row, heading in enumerate(headings):
        yield from _named("thread", process[row], row + 1, heading)
    for step, text in enumerate(shown.steps, 1):
        yield _slice(_STEPS, 1, step, step + 1, str(step), "step", text)
    for bar in shown.bars:
        name = " ".join(bar.lines)
        pid = process[bar.row]
        yield _slice(pid, bar.row + 1, bar.start, bar.end, name, bar.look.value, bar.detail)
    for number, arrow in enumerate(shown.arrows, 1):
        yield from _flow(number, arrow, process, shown.bars)
    for step, text in shown.stale_reads:
        yield {
            "ph": "i",
            "s": "g",
            "name": "stale read",
            "cat": BarLook.STALE_RESULT.value,
            "pid": _STEPS,
            "tid": 1,
            "ts": step * STEP,
            "args": {"what": text},
        }


def _named(what: str, pid: int, tid: int, name: str) -> Iterator[TraceEvent]:
    """The name of a process or thread, and its place among the others."""
    yield {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": name}}
    index: Args = {"sort_index": pid if what == "process" else tid}
    yield {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": index}


def _slice(
    pid: int, tid: int, start: int, end: int, name: str, category: str, what: str
) -> TraceEvent:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": tid,
        "ts": start * STEP,
        "dur": (end - start) * STEP,
        "args": {"what": what},
    }


def _flow(
    number: int, arrow: Arrow, process: list[int], bars: tuple[TimelineBar, ...]
) -> Iterator[TraceEvent]:
    """An arrow: each end belongs to the slice of its row that it falls into."""
    leaves = any(bar.row == arrow.source and bar.start < arrow.step <= bar.end for bar in bars)
    name = "stale value" if arrow.is_stale else "value"
    start = arrow.step * STEP - (1 if leaves else 0)
    for ph, row, ts in (("s", arrow.source, start), ("f", arrow.target, arrow.step * STEP)):
        event: TraceEvent = {
            "ph": ph,
            "name": name,
            "cat": "transfer",
            "id": number,
            "pid": process[row],
            "tid": row + 1,
            "ts": ts,
        }
        if ph == "f":
            event["bp"] = "e"
        yield event
