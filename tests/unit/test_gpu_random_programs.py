"""Random programs on a GPU: what is run and judged, with devices of this file in its place."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gpu_interpreter import Interpreter
from scripts import GPU_BENCHMARKS, ScriptedDevice, load_script

from fencewright.lowering.vocabulary import Ordering
from fencewright.simulator.gpu.litmus import GpuResult, Stress
from fencewright.simulator.ptx.events import Atom, Ld, PtxFence, St

STRESS = Stress(instances=32, launches=1, block_sizes=(32,), strides=(5,))
SEEDS = range(12)


@pytest.fixture(scope="module")
def random_programs() -> ModuleType:
    return load_script(GPU_BENCHMARKS / "random_programs.py")


@pytest.fixture(scope="module")
def drafts(random_programs: ModuleType) -> list[Any]:
    return [random_programs.draft(seed, "sm_90") for seed in SEEDS]


INSTANCES = 1024


def always(code: int) -> ScriptedDevice:
    """A device on which every instance ends in the state with the number ``code``."""
    return ScriptedDevice(lambda ptx: {code: INSTANCES})


def test_what_is_run_of_a_program(random_programs: ModuleType, drafts: list[Any]) -> None:
    fates, forms = random_programs.Fate, random_programs.Form
    run = [each for each in drafts if each.fate is fates.RUN]
    assert len(run) >= 5
    for each in drafts:
        if each.fate is not fates.RUN:
            assert each.entries == ()
            continue
        assert each.entries[0].form is forms.LOWERED
        programs = [entry.test.program for entry in each.entries]
        assert all(program != programs[0] for program in programs[1:])
    shown = {entry.form for each in run for entry in each.entries}
    assert shown == {*forms}


def test_what_is_bare_has_no_synchronisation(
    random_programs: ModuleType, drafts: list[Any]
) -> None:
    for each in drafts:
        for entry in each.entries:
            if entry.form is random_programs.Form.BARE:
                code = [i for thread in entry.test.program.threads for i in thread.instructions]
                assert not any(isinstance(i, PtxFence) for i in code)
                ordered = [i.ordering for i in code if isinstance(i, Ld | St | Atom)]
                assert {*ordered} <= {Ordering.WEAK, Ordering.RELAXED}


def test_work_groups_of_two_agents_are_put_on_one(random_programs: ModuleType) -> None:
    from fencewright.tools.fuzz.checks import program_of

    seed = next(seed for seed in range(100) if program_of(seed).agents > 1)
    program = program_of(seed)
    one = program.on_one_agent()
    assert one.agents == 1
    places = [{thread.placement.workgroup for thread in each.threads} for each in (program, one)]
    assert places[0] == places[1]
    assert "different GPUs" not in random_programs.draft(seed, "sm_90").why


def test_a_device_that_keeps_to_the_model(random_programs: ModuleType, drafts: list[Any]) -> None:
    *_, totals = random_programs.campaign(drafts[:6], Interpreter(), STRESS)
    assert totals.fates.total() == 6
    tally = totals.tallies[random_programs.Form.LOWERED]
    assert (tally.forbidden, tally.gave_up) == (0, 0)
    assert tally.instances == 32 * tally.programs > 0


def run(
    random_programs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    drafts: list[Any],
    device: object,
    output: Path,
) -> int:
    def drawn(wanted: object) -> Iterator[Any]:
        return iter(drafts)

    monkeypatch.setattr(random_programs, "Device", device)
    monkeypatch.setattr(random_programs, "_drafts", drawn)
    wanted = ["--output", str(output), "--launches", "1", "--instances", str(INSTANCES)]
    return random_programs.main(wanted)


def without_loops(drafts: list[Any]) -> list[Any]:
    return [
        each
        for each in drafts
        if each.entries and not any(entry.test.may_give_up for entry in each.entries)
    ]


def test_a_forbidden_outcome_is_a_failure(
    random_programs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    drafts: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = without_loops(drafts)
    assert run(random_programs, monkeypatch, chosen, always(-1), tmp_path) == 1
    said = capsys.readouterr().err
    assert all(f"seed {each.seed}: an outcome that the source forbids" in said for each in chosen)
    programs, instances = len(chosen), INSTANCES * len(chosen)
    row = f"| lowered, -O2 | {programs} | {instances:,} | 0 | {instances:,} | {programs} |"
    assert row in (tmp_path / "random.md").read_text()
    noticed = json.loads((tmp_path / "random.json").read_text())["noticed"]
    assert noticed["lowered, -O2"] == [each.seed for each in chosen]


def test_a_loop_that_ends_only_without_the_passes_is_a_failure(
    random_programs: ModuleType, drafts: list[Any]
) -> None:
    forms, totals = random_programs.Form, random_programs.Totals()
    chosen = next(
        each for each in drafts if len(each.entries) > 1 and each.entries[1].form is forms.PLAIN
    )
    ends, waits = (GpuResult("", 32, (), {}, frozenset(), gave_up) for gave_up in (0, 1))
    totals.add(chosen, [(forms.LOWERED, waits), (forms.PLAIN, waits)])
    assert list(totals.problems) == []
    totals = random_programs.Totals()
    totals.add(chosen, [(forms.LOWERED, waits), (forms.PLAIN, ends)])
    (said,) = totals.problems
    assert said == f"seed {chosen.seed}: a loop that ends at -O0 did not end at -O2"


def test_a_stress_that_notices_nothing_is_a_failure(
    random_programs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    drafts: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = next(each for each in without_loops(drafts) if len(each.entries) > 1)
    encoding = chosen.entries[0].test.encoding
    good = encoding.encode(next(iter(sorted(chosen.allowed.states))))
    assert run(random_programs, monkeypatch, [chosen], always(good), tmp_path) == 1
    assert "no weakened program was noticed" in capsys.readouterr().err


def test_programs_are_drawn_in_the_order_of_their_seeds(
    random_programs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_programs, "_BATCH", 4)
    wanted = random_programs._arguments(["--first", "3", "--programs", "9", "--jobs", "1"])
    assert [each.seed for each in random_programs._drafts(wanted)] == [*range(3, 12)]
    wanted = random_programs._arguments(["--programs", "9", "--jobs", "1", "--seconds", "0"])
    assert [each.seed for each in random_programs._drafts(wanted)] == [0]


def test_without_a_gpu_it_says_so(
    random_programs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_device() -> None:
        raise random_programs.GpuError("no GPU", "the driver sees no device")

    monkeypatch.setattr(random_programs, "Device", no_device)
    assert random_programs.main([]) == 2
    assert capsys.readouterr().err == "no GPU: the driver sees no device\n"
