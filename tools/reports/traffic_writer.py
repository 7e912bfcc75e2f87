"""The output of ``fence-sim traffic``: tables for people, JSON for tools."""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.execution.program import MemorySpace
from fencewright.simulator.performance.accesses import cdna, ptx

if TYPE_CHECKING:
    from fencewright.simulator.performance.traffic import (
        Counters,
        FenceTraffic,
        InstructionTraffic,
        TimeRange,
    )
    from fencewright.tools.reports.traffic_report import Launched

_CONFLICTS = (*ptx.CONFLICTS.values(), cdna.CONFLICTS)
_NOTHING = "-"


# Text


def as_text(launched: "Launched") -> str:
    """Instructions, then fences, then the kernel, as tables."""
    traffic, machine = launched.traffic, launched.machine
    nvidia = machine.is_nvidia
    levels = [each.level for each in machine.caches.levels]
    parts = [_head(launched)]
    header = ("place", "instruction", "executed", "sectors" if nvidia else "requests", "useful",
              *(f"{level} hits" for level in levels), "conflicts")  # fmt: skip
    rows = [_instruction_row(each, launched) for each in traffic.instructions]
    parts.append(_table(header, rows, (0, 1)))
    if traffic.fences:
        header = (
            "place",
            "fence",
            "executed",
            "waits for",
            "writes back",
            "fetched again",
            "price",
        )
        parts.append(
            _table(header, [_fence_row(each) for each in traffic.fences], (0, 1, 3, 4, 5, 6))
        )
    flows = [
        (f"{flow.near} - {flow.far}", f"{flow.read:,}", f"{flow.written:,}")
        for flow in traffic.flows
    ]
    parts.append(_table(("between", "bytes read", "bytes written"), flows, (0,)))
    if traffic.end_lines:
        ended = (
            f"the end of the kernel writes back {_of_lines(traffic.end_lines, traffic.end_bytes)}"
        )
        parts.append(f"  {ended}\n")
    parts.append(f"  occupancy  {launched.occupancy}\n  time       {_time(traffic.time)}\n")
    counted = [(name, f"{each.value:,}", each.evidence) for name, each in traffic.counters.items()]
    parts.append(_table(("counter", "value", "known"), counted, (0, 2)))
    return "\n".join(parts)


def _head(launched: "Launched") -> str:
    machine, launch = launched.machine, launched.launch
    cores = "SMs" if machine.is_nvidia else "CUs"
    dies = machine.caches.dies
    shape = (
        f"{dies} XCDs of {machine.caches.cores} {cores}" if dies > 1 else f"{machine.cores} {cores}"
    )
    x, y, z = launch.grid
    groups = x * y * z
    some = "" if launch.groups == groups else f"{launch.groups:,} of "
    return (
        f"{launched.program.name} on {machine.target} ({machine.device}, {shape}): "
        f"{some}{_many(groups, 'work-group')} of {_many(launch.threads, 'thread')}\n"
    )


def _instruction_row(each: "InstructionTraffic", launched: "Launched") -> tuple[str, ...]:
    uses = {use.level: use for use in each.levels}
    unit = launched.machine.request(each.instruction)
    efficiency = each.efficiency
    hits = [
        _percent(use.hit / use.looked_up) if use is not None and use.looked_up else _NOTHING
        for use in (uses.get(level.level) for level in launched.machine.caches.levels)
    ]
    is_shared = each.instruction.space is MemorySpace.SHARED
    conflicts = sum(counted.value for name, counted in each.counters.items() if name in _CONFLICTS)
    return (
        _place(each.instruction.place),
        each.instruction.text,
        f"{each.executions:,}",
        f"{each.moved // unit:,}" if each.moved else _NOTHING,
        _NOTHING if efficiency is None else _percent(efficiency),
        *hits,
        f"{conflicts:,}" if is_shared else _NOTHING,
    )


def _fence_row(each: "FenceTraffic") -> tuple[str, ...]:
    waits = [
        f"{_many(waited.instructions, waited.kind)} to {waited.space} memory"
        f" (at most {waited.most} of a wave)"
        for waited in each.waits
    ]
    again = [f"{_many(size, 'byte')} of {level}" for level, size in each.again.items()]
    price = each.price
    return (
        _place(each.instruction.place),
        each.instruction.text,
        f"{each.executions:,}",
        "; ".join(waits) or _NOTHING,
        _of_lines(each.lines, each.bytes) if each.instruction.writes_back else _NOTHING,
        "; ".join(again) or ("0 bytes" if each.instruction.invalidates else _NOTHING),
        _NOTHING
        if price is None
        else f"{_nanoseconds(price.time.low, price.time.high)}: {price.of}",
    )


def _percent(part: float) -> str:
    return f"{100 * part:.3g}%"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _of_lines(lines: int, size: int) -> str:
    return f"{_many(lines, 'line')} ({_many(size, 'byte')})"


def _place(place: SourceLocation | None) -> str:
    return _NOTHING if place is None else f"{place.file}:{place.line}:{place.column}"


def _time(time: "TimeRange") -> str:
    unknown = f"; not known: {', '.join(time.unknown)}" if time.unknown else ""
    if time.high is None:
        return f"at least {_nanoseconds(time.low, time.low)} (inferred{unknown})"
    return f"{_nanoseconds(time.low, time.high)} (a range, inferred; {_LEFT_OUT}{unknown})"


_LEFT_OUT = "without launch, arithmetic, bank conflicts and what accesses wait for others"


def _nanoseconds(low: float, high: float) -> str:
    unit, name = (1000, "us") if high >= 1000 else (1, "ns")
    least, most = f"{low / unit:.3g}", f"{high / unit:.3g}"
    return f"{least} {name}" if least == most else f"{least} to {most} {name}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], left: tuple[int, ...]) -> str:
    """Columns, those of the numbers ``left`` aligned to the left."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    stream = StringIO()
    Console(file=stream, width=1000, color_system=None, legacy_windows=False).print(table)
    return "".join(f"  {line.rstrip()}\n" for line in stream.getvalue().splitlines())


# JSON


def as_json(launched: "Launched") -> str:
    """One object; docs/traffic.md has the meaning of its keys."""
    traffic, machine, launch = launched.traffic, launched.machine, launched.launch
    held = launched.occupancy
    x, y, z = launch.grid
    found = {
        "kernel": launched.program.name,
        "target": machine.target,
        "device": machine.device,
        "grid": launch.grid,
        "block": launch.block,
        "groups": {"executed": launch.groups, "launched": x * y * z},
        "occupancy": {
            "groups": held.groups,
            "waves": held.waves,
            "most_waves": held.most_waves,
            "limited_by": held.limited_by,
            "is_bound": held.is_bound,
        },
        "instructions": [_instruction(each) for each in traffic.instructions],
        "fences": [_fence(each) for each in traffic.fences],
        "counters": _counters(traffic.counters),
        "flows": [
            {"near": flow.near, "far": flow.far, "read": flow.read, "written": flow.written}
            for flow in traffic.flows
        ],
        "end": {"lines": traffic.end_lines, "bytes": traffic.end_bytes},
        "timeline": [[each.step, each.dirty, each.fence] for each in traffic.timeline],
        "time": {
            "low_ns": round(traffic.time.low, 3),
            "high_ns": None if traffic.time.high is None else round(traffic.time.high, 3),
            "evidence": "inferred",
            "unknown": traffic.time.unknown,
        },
    }
    return json.dumps(found) + "\n"


def _instruction(each: "InstructionTraffic") -> Mapping[str, Any]:
    instruction = each.instruction
    return {
        "number": each.number,
        "text": instruction.text,
        "place": _place_object(instruction.place),
        "kind": instruction.kind,
        "space": instruction.space,
        "width": instruction.width,
        "executed": each.executions,
        "useful_bytes": each.useful,
        "moved_bytes": each.moved,
        "levels": {use.level: {"looked_up": use.looked_up, "hit": use.hit} for use in each.levels},
        "counters": _counters(each.counters),
        "pattern": each.pattern,
    }


def _fence(each: "FenceTraffic") -> Mapping[str, Any]:
    price = each.price
    return {
        "number": each.number,
        "text": each.instruction.text,
        "place": _place_object(each.instruction.place),
        "scope": each.instruction.scope,
        "executed": each.executions,
        "waits": [
            {"kind": waited.kind, "space": waited.space, "outstanding": waited.instructions,
             "most_of_a_wave": waited.most}
            for waited in each.waits
        ],
        "written_lines": each.lines,
        "written_bytes": each.bytes,
        "again_bytes": dict(each.again),
        "price": None
        if price is None
        else {
            "low_ns": round(price.time.low, 3),
            "high_ns": round(price.time.high, 3),
            "of": price.of,
            "evidence": price.time.evidence,
            "source": price.time.source,
        },
    }  # fmt: skip


def _place_object(place: SourceLocation | None) -> Mapping[str, Any] | None:
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "column": place.column}


def _counters(counters: "Counters") -> Mapping[str, Any]:
    return {
        name: {"value": each.value, "evidence": each.evidence} for name, each in counters.items()
    }
