"""The CDNA machine on tests of many waves: outcomes, whether they end, races of their source."""

import time
from itertools import pairwise
from typing import cast

from harness import Result, in_a_process, kib, shown
from simulator_tests import grid_barrier, ring, storing, ticket_lock

from fencewright.simulator.core.progress import Ending

_STATE_LIMIT = 1_000_000

_BEFORE: dict[str, tuple[str, str]] = {
    "ticket lock, 4 x 1": ("560 ms", "(640 ms)"),
    "grid barrier of 5": ("2.7 s", "(6.9 s)"),
    "8 threads store to a word": ("270 ms", "0 ms"),
}
"""Of the code before, measured on an earlier day."""

_MANY_WAVES = {
    "ticket lock, 4 x 1": ticket_lock(4, 1),
    "ticket lock, 5 x 1": ticket_lock(5, 1),
    "ticket lock, 3 x 2": ticket_lock(3, 2),
    "grid barrier of 5": grid_barrier(5),
    "grid barrier of 6": grid_barrier(6),
    "8 threads store to a word": storing(8),
    "SB14": ring(14),
}


def waves_explored(name: str) -> dict[str, float | int | bool]:
    """CPU seconds of a test of many waves on gfx942 in this process, by what is asked of it."""
    from fencewright.simulator.litmus_run import (
        CdnaTest,
        Limits,
        afforded,
        progress,
        races_of_source,
        run,
    )
    from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

    (test,) = read_string("-", _MANY_WAVES[name], Lowering("gfx942"))
    assert isinstance(test, CdnaTest)
    times = [time.process_time()]
    found = run(test, Limits(_STATE_LIMIT))
    times.append(time.process_time())
    ends = progress(test, found, afforded(found, Limits()))
    times.append(time.process_time())
    races_of_source(test, found, ends, Limits(_STATE_LIMIT))
    times.append(time.process_time())
    outcomes, ending, races = (b - a for a, b in pairwise(times))
    assert not found.incomplete
    return {
        "states": found.states,
        "outcomes": outcomes,
        "ending": ending,
        "races": races,
        "decided": ends.ending is Ending.ALWAYS,
        "peak": kib("VmHWM"),
    }


def _many_waves() -> Result:
    rows: list[tuple[str, ...]] = []
    for name in _MANY_WAVES:
        script = f"import json, many_waves; print(json.dumps(many_waves.waves_explored({name!r})))"
        runs = [cast("dict[str, float]", in_a_process(script)) for _ in range(3)]
        found = min(runs, key=lambda each: each["outcomes"] + each["ending"] + each["races"])
        ends = shown(found["ending"])
        rows.append(
            (
                name,
                f"{found['states']:,.0f}",
                shown(found["outcomes"]),
                ends if found["decided"] else f"({ends})",
                shown(found["races"]),
                f"{found['peak'] / 1024:.0f} MiB",
                *_BEFORE.get(name, ("", "")),
            )
        )
    return Result(
        "Many waves on the CDNA machine",
        (
            "test, gfx942",
            "states",
            "every outcome",
            "does it end",
            "races of the source",
            "peak memory",
            "before: every outcome",
            "before: does it end",
        ),
        tuple(rows),
        "CPU time of `fence-sim run`, each test in a process of its own, best of "
        "three; in brackets where it is not decided within the states that the outcomes took. "
        "Before: the code of 21b6951f, on an earlier day.",
    )


def results() -> list[Result]:
    """One table."""
    return [_many_waves()]


if __name__ == "__main__":
    for each in results():
        print(each.markdown())
