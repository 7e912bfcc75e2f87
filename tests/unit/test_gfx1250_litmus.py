"""Litmus tests lowered for gfx1250 and run on its machine: read, judged as on gfx942, and broken."""

from pathlib import Path

import pytest

from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import EVERY_READING
from fencewright.simulator.cdna.trace import find_counterexample
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.litmus_run import CdnaTest, RunnableTest, run
from fencewright.simulator.pictures.timeline import timeline
from fencewright.tools import fence_opt, fence_sim
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.inputs.litmus.lowered import Damage, Lowering, read
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS

EXAMPLES = Path(__file__).parents[2] / "examples"
LITMUS = sorted((EXAMPLES / "litmus").glob("*.mlir"))
PASSING = str(EXAMPLES / "litmus" / "message_passing.mlir")
CLUSTERS = str(EXAMPLES / "clusters.mlir")


def on(chip: str, path: Path, level: int = 2) -> list[RunnableTest]:
    return read(
        str(path),
        Lowering(chip, opt_level=0 if level == 0 else 2, readings=EVERY_READING),
    )


ALONE = EXAMPLES / "asynchronous_copy.mlir"
"""What gfx942 does not have."""


@pytest.mark.parametrize("level", [0, 2])
def test_what_gfx942_does_not_have_holds(level: int) -> None:
    with pytest.raises(ToolError, match="gfx942 has no asynchronous copies"):
        on("gfx942", ALONE, level)
    (test,) = on("gfx1250", ALONE, level)
    found = run(test)
    assert found.outcomes is not None
    assert test.condition.verdict(found.outcomes)


@pytest.mark.parametrize("path", LITMUS, ids=lambda path: path.stem)
@pytest.mark.parametrize("level", [0, 2])
def test_the_examples_do_what_they_do_on_gfx942(path: Path, level: int) -> None:
    """They mean the same there and here: each verdict is the same on every reading."""
    for mine, other in zip(on("gfx1250", path, level), on("gfx942", path, level), strict=True):
        here, there = run(mine), run(other)
        assert here.outcomes is not None
        assert there.outcomes is not None
        assert not here.errors
        assert not here.incomplete
        verdicts = [
            mine.condition.verdict(each.outcomes) for each in (here, there) if each.outcomes
        ]
        assert verdicts[0] is verdicts[1], mine.name


@pytest.mark.parametrize("path", [*LITMUS, ALONE], ids=lambda path: path.stem)
def test_the_engine_has_every_outcome_of_the_definition(path: Path) -> None:
    for test in on("gfx1250", path):
        assert isinstance(test, CdnaTest)
        program, configuration = test.test.program, test.configuration
        engine = explore(CdnaEngine(program, configuration))
        plain = explore(CdnaMachine(program, configuration), 3_000)
        assert plain.outcomes.states <= engine.outcomes.states
        if plain.complete:
            assert plain.outcomes == engine.outcomes


def status_of(*flags: str, path: str = PASSING) -> int:
    return fence_sim.main(["run", path, "--trace", "never", *flags])


@pytest.mark.parametrize(
    "damage",
    [
        "global_wb",
        "global_wb=global_inv",
        "global_inv",
        "global_wb:scope:SCOPE_DEV",
        "s_wait_storecnt",
        "s_wait_loadcnt",
    ],
)
def test_each_instruction_of_message_passing_is_needed(damage: str) -> None:
    assert status_of("--mcpu", "gfx1250", "--without", damage) == DOES_NOT_HOLD


def test_a_wait_is_left_out_a_counter_at_a_time() -> None:
    """What is left of a wait stays; what names nothing is an error."""
    (test,) = read(PASSING, Lowering("gfx1250", damages=(Damage("s_wait_xcnt"),)))
    assert isinstance(test, CdnaTest)
    assert "s_wait_storecnt 0x0" in [
        str(each) for each in test.test.program.threads[0].instructions
    ]
    assert status_of("--mcpu", "gfx1250", "--without", "s_wait_asynccnt") not in (
        HOLDS,
        DOES_NOT_HOLD,
    )


def lowered(tmp_path: Path, *flags: str, path: str = CLUSTERS) -> str:
    made = str(tmp_path / "lowered.mlir")
    fence_opt.main([path, "--mcpu", "gfx1250", *flags, "-o", made])
    return made


@pytest.mark.parametrize(
    ("readings", "status"),
    [
        (["--readings", "every"], DOES_NOT_HOLD),
        (["--readings", "acknowledged-early"], DOES_NOT_HOLD),
        (["--readings", "late-invalidate,write-back-overtakes"], HOLDS),
        (["--readings", "none"], HOLDS),
        ([], HOLDS),
    ],
    ids=["every", "early", "default by name", "none", "default"],
)
def test_readings_decide_of_llvms_releases_to_a_cluster(
    tmp_path: Path, readings: list[str], status: int
) -> None:
    """A flag and a barrier; ours hold whatever is read."""
    assert status_of(*readings, path=lowered(tmp_path, "--compat", "llvm")) == status
    assert status_of(*readings, path=lowered(tmp_path)) == HOLDS


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--mcpu", "gfx942", "--readings", "every"], "leaves none open"),
        (["--mcpu", "sm_90", "--readings", "every"], "leaves none open"),
        (["--source", "--readings", "every"], "--readings has no effect"),
        (["--mcpu", "gfx1250", "--readings", "late"], "unknown reading 'late'"),
        (["--mcpu", "gfx1250", "--without", "buffer_inv"], "accepted: global_inv"),
    ],
)
def test_what_has_no_effect_is_refused(
    flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*flags) not in (HOLDS, DOES_NOT_HOLD)
    assert problem in capsys.readouterr().err


def test_a_cluster_is_on_one_xcd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "apart.mlir"
    text = (
        Path(CLUSTERS)
        .read_text()
        .replace("<workgroup = 1, cluster", "<workgroup = 1, xcd = 1, cluster")
    )
    path.write_text(text)
    assert status_of("--mcpu", "gfx1250", path=str(path)) not in (HOLDS, DOES_NOT_HOLD)
    assert "cluster 0 is spread over XCDs" in capsys.readouterr().err


@pytest.mark.parametrize("path", [PASSING, CLUSTERS])
def test_lowerings_are_verified(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_opt.main([path, "--mcpu", "gfx1250", "--verify-lowering", "-o", "/dev/null"]) == 0
    assert "and no other" in capsys.readouterr().err


def test_a_timeline_shows_what_waits_for_the_l1() -> None:
    """From its issue on, in a row of the wave's own."""
    (test,) = read(PASSING, Lowering("gfx1250", damages=(Damage("global_wb"),)))
    assert isinstance(test, CdnaTest)
    found = find_counterexample(test.test.program, test.condition.deciding, test.configuration)
    assert found is not None
    drawn = timeline(found)
    names = [row for lane in drawn.lanes for row in lane.rows]
    issued = {b.start: b.lines for b in drawn.bars if names[b.row] == "issues"}
    waits = [each for each in drawn.bars if names[each.row] == "waits for L1"]
    assert len(waits) == 6
    for each in waits:
        assert each.lines[0] in issued[each.start][0]
        assert each.end > each.start
