"""The simulator: whole outcome sets from text, the PTX corpus, states a second, peak memory."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness import Result, in_a_process, kib, shown
from simulator_tests import FENCED, MANY_RUNS, ring

if TYPE_CHECKING:
    from fencewright.simulator.core.exploration import WorkBudget

_OWN_CORPUS = Path(__file__).parent.parent / "tests" / "litmus" / "ptx"
_CORPUS_VARIABLE = "FENCEWRIGHT_PTX_LITMUS"
_RUNS = 7

_HERD = "herd7 7.58"
_DARTAGNAN = "Dartagnan 4.3.1"
_PEER_COLUMNS = ("herd7 7.58, AArch64", "herd7 7.58, HSA scopes")
_PEER_MILLISECONDS: dict[str, tuple[str, str]] = {
    "MP": ("6.9 ms", "3.8 ms"),
    "SB": ("7.3 ms", ""),
    "WRC": ("13 ms", ""),
    "ISA2": ("19 ms", ""),
    "IRIW": ("30 ms", "69 ms"),
    "SB4": ("47 ms", "107 ms"),
    "SB6": ("", "19 s"),
}
"""Measured elsewhere on like machines: two shared Zen 4 cores, in batches of 100 tests."""


def _cpu_seconds(work: Callable[[], object], runs: int = _RUNS) -> float:
    """Median CPU seconds of ``work``, after one run that warms the caches."""
    work()
    seconds: list[float] = []
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


# Outcome sets


def _outcomes(text: str, chip: str | None) -> None:
    from fencewright.simulator.litmus_run import run
    from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

    (test,) = read_string("-", text, Lowering(chip))
    found = run(test)
    assert found.outcomes is not None
    assert not found.incomplete
    assert test.condition.verdict(found.outcomes), f"{test.name} on {chip} allows what it forbids"


def _outcome_sets() -> Result:
    rows: list[tuple[str, ...]] = []
    for name, text in FENCED.items():
        ours = [
            shown(_cpu_seconds(lambda text=text, chip=chip: _outcomes(text, chip)))
            for chip in (None, "gfx942", "sm_90")
        ]
        rows.append((name, *ours, *_PEER_MILLISECONDS[name]))
    return Result(
        "Outcome sets of litmus tests",
        ("test", "source model", "gfx942", "sm_90", *_PEER_COLUMNS),
        tuple(rows),
        "CPU time from MLIR text to every outcome, in a warm process: parsed, verified, lowered, "
        f"executed. Each thread is a work-group of its own with a seq_cst fence between its "
        f"accesses; SBn is a ring of n threads. The columns of {_HERD} were measured elsewhere on "
        "like machines (two shared Zen 4 cores), on tests of the same shapes in their own "
        f"languages. {_DARTAGNAN}, which answers one question a test, took there 18 ms for "
        "the median PTX test.",
    )


# Programs whose threads have many runs

_ENUMERATED_LIMIT = 100_000
"""Steps of enumeration alone: seconds of it."""


def _decided(steps: int, run: "Callable[[WorkBudget], bool]") -> str:
    """The time of one run, in brackets if so many ``steps`` do not decide."""
    from fencewright.simulator.core.exploration import WorkBudget

    start = time.process_time()
    complete = run(WorkBudget(steps))
    seconds = shown(time.process_time() - start)
    return seconds if complete else f"({seconds})"


def _many_runs() -> Result:
    from fencewright.simulator.litmus_run import PtxTest, SourceTest
    from fencewright.simulator.ptx import hangs as ptx_hangs
    from fencewright.simulator.ptx import model as ptx
    from fencewright.simulator.ptx.outcomes import outcomes
    from fencewright.simulator.source import hangs as source_hangs
    from fencewright.simulator.source import model as source
    from fencewright.simulator.source.behaviour import behaviour
    from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

    rows: list[tuple[str, ...]] = []
    for name, text in MANY_RUNS.items():
        (scoped,) = read_string("-", text, Lowering(None))
        (lowered,) = read_string("-", text, Lowering("sm_90"))
        assert isinstance(scoped, SourceTest)
        assert isinstance(lowered, PtxTest)
        program, machine_code = scoped.test.program, lowered.test.program
        figures = (
            _decided(
                _ENUMERATED_LIMIT,
                lambda work, program=program: (
                    source.enumerated_behaviour(program, source.FULL_MODEL, 2, work).complete
                ),
            ),
            _decided(
                _STATE_LIMIT,
                lambda work, program=program: behaviour(program, bound=2, work=work).complete,
            ),
            _decided(
                _ENUMERATED_LIMIT,
                lambda work, program=machine_code: (
                    ptx.enumerated_outcomes(program, ptx.PtxModel(), 2, work).complete
                ),
            ),
            _decided(
                _STATE_LIMIT,
                lambda work, program=machine_code: outcomes(program, bound=2, work=work).complete,
            ),
            _decided(
                _STATE_LIMIT,
                lambda work, program=program: not source_hangs.stagnation(program, 2, work).why,
            ),
            _decided(
                _STATE_LIMIT,
                lambda work, program=machine_code: (
                    not ptx_hangs.stagnation(program, None, 2, work).why
                ),
            ),
        )
        rows.append((name, *figures))
    return Result(
        "Programs whose threads have many runs",
        (
            "test",
            "source, enumerated",
            "source",
            "sm_90, enumerated",
            "sm_90",
            "source: does it end",
            "sm_90: does it end",
        ),
        tuple(rows),
        f"CPU time of one run of the models by axioms, in a warm process. Enumerated: every run "
        f"of every thread with every other, as small tests are decided, for {_ENUMERATED_LIMIT:,} "
        f"steps; in brackets where they decide nothing. Otherwise as `fence-sim run` does it, with "
        f"execution graphs built lazily after a few steps of that, within {_STATE_LIMIT:,} steps. "
        f"The last two: whether an execution never ends, by stagnant graphs.",
    )


# The PTX corpus


def _corpus() -> tuple[Path, str]:
    named = os.environ.get(_CORPUS_VARIABLE)
    if named:
        return Path(named), "the public corpus"
    return _OWN_CORPUS, f"the project's own ({_CORPUS_VARIABLE} names no other)"


def _corpus_outcomes(paths: Sequence[Path], version: str) -> int:
    """Every outcome of every test; the number of those that the model can judge."""
    from fencewright.simulator.core.program import ProgramError
    from fencewright.simulator.ptx.formats.columns import read_litmus
    from fencewright.simulator.ptx.model import PtxModel, Version
    from fencewright.simulator.ptx.outcomes import outcomes

    judged = 0
    for path in paths:
        try:
            judged += bool(outcomes(read_litmus(path).program, PtxModel(Version(version)), 2))
        except ProgramError:  # It has proxies, which 6.0 has not.
            continue
    return judged


def _ptx_corpus() -> Result:
    folder, name = _corpus()
    paths = sorted(folder.rglob("*.litmus"))
    peers = {"7.5": "264 questions, 42 a second", "6.0": "135 questions, 36 a second"}
    rows: list[tuple[str, ...]] = []
    for version, peer in peers.items():
        judged = _corpus_outcomes(paths, version)
        seconds = _cpu_seconds(lambda version=version: _corpus_outcomes(paths, version), 3)
        rows.append(
            (f"PTX {version}", str(judged), shown(seconds), f"{judged / seconds:.0f}", peer)
        )
    return Result(
        "PTX litmus tests in columns",
        ("model", "tests", "all together", "tests a second", _DARTAGNAN),
        tuple(rows),
        f"CPU time from text to every outcome of {name}. {_DARTAGNAN}'s figures were measured "
        "elsewhere on like machines.",
    )


# States a second, and memory

_EXPLORED = (("plain machine", "WRC"), ("engine", "WRC"), ("engine", "SB10"))
_STATE_LIMIT = 1_000_000


def explored(machine: str, name: str) -> dict[str, float | int]:
    """States, CPU seconds and KiB of memory of exploring a test on gfx942, in this process."""
    from fencewright.simulator.cdna.engine import CdnaEngine
    from fencewright.simulator.cdna.machine import CdnaMachine
    from fencewright.simulator.core.exploration import explore
    from fencewright.simulator.litmus_run import CdnaTest
    from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

    text = FENCED.get(name) or ring(int(name.removeprefix("SB")))
    (test,) = read_string("-", text, Lowering("gfx942"))
    assert isinstance(test, CdnaTest)
    before = kib("VmRSS")
    chosen = CdnaEngine if machine == "engine" else CdnaMachine
    start = time.process_time()
    found = explore(chosen(test.test.program, test.configuration), _STATE_LIMIT)
    seconds = time.process_time() - start
    return {"states": found.states, "seconds": seconds, "before": before, "peak": kib("VmHWM")}


def _exploration() -> Result:
    rows: list[tuple[str, ...]] = []
    for machine, name in _EXPLORED:
        script = (
            f"import json, simulator; print(json.dumps(simulator.explored({machine!r}, {name!r})))"
        )
        found = cast("dict[str, float]", in_a_process(script))
        states, seconds = found["states"], found["seconds"]
        rows.append(
            (
                name,
                machine,
                f"{states:,.0f}",
                shown(seconds),
                f"{states / seconds / 1000:.0f} k",
                f"{found['peak'] / 1024:.0f} MiB",
                f"{(found['peak'] - found['before']) / 1024:.0f} MiB",
            )
        )
    return Result(
        "Exploring the CDNA machine",
        (
            "test, gfx942",
            "by",
            "states",
            "CPU time",
            "states a second",
            "peak memory",
            "of it for states",
        ),
        tuple(rows),
        "Every state, in a process of its own. The plain machine is the definition; the engine has "
        "the same outcomes from far fewer states. SPIN, elsewhere on a like machine: 770 k states "
        "a second.",
    )


def results() -> list[Result]:
    """Outcome sets beside herd7's, the PTX corpus beside Dartagnan's, states a second."""
    return [_outcome_sets(), _many_runs(), _ptx_corpus(), _exploration()]
