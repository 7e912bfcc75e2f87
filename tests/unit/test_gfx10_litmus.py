"""Litmus tests in instructions of gfx10 and gfx11, from the command line; waits as they are written."""

from pathlib import Path

import pytest

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.counters.waits import counters_of, read_wait, wait_text
from fencewright.lowering.sequence import WaitCounts
from fencewright.tools import fence_sim

HOLDS, DOES_NOT_HOLD = 0, 1
EXAMPLE = Path(__file__).parents[2] / "examples" / "litmus" / "message_passing.mlir"
HANDED_ON = """
litmus.test @handed_on {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.location @g = 0 : i32
  litmus.thread @P0 at <workgroup = 1, xcd = 1, cu = 0> {
    %x = litmus.address @x : !cdna.vgpr<2>
    %f = litmus.address @f : !cdna.vgpr<2>
    %one = cdna.const 1 : !cdna.vgpr
    cdna.store STORE %x, %one : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    cdna.s_waitcnt vmcnt(0) lgkmcnt(0) vscnt(0)
    cdna.store STORE %f, %one : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    cdna.end s_endpgm
  }
  litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 0> {
    %f = litmus.address @f : !cdna.vgpr<2>
    %g = litmus.address @g : !cdna.vgpr<2>
    %one = cdna.const 1 : !cdna.vgpr
    %r0 = cdna.load LOAD %f {modifiers = [WIDE]} : (!cdna.vgpr<2>) -> !cdna.vgpr
    cdna.s_waitcnt vmcnt(0)
    cdna.cache buffer_gl1_inv
    cdna.cache buffer_gl0_inv
    HERE
    cdna.store STORE %g, %one : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    litmus.observe "r0", %r0 : !cdna.vgpr
    cdna.end s_endpgm
  }
  litmus.thread @P2 at <workgroup = 0, xcd = 0, cu = CU> {
    %g = litmus.address @g : !cdna.vgpr<2>
    %x = litmus.address @x : !cdna.vgpr<2>
    %r0 = cdna.load LOAD %g {modifiers = ["glc"]} : (!cdna.vgpr<2>) -> !cdna.vgpr
    cdna.s_waitcnt vmcnt(0)
    cdna.cache buffer_gl0_inv
    %r1 = cdna.load LOAD %x : (!cdna.vgpr<2>) -> !cdna.vgpr
    litmus.observe "r0", %r0 : !cdna.vgpr
    litmus.observe "r1", %r1 : !cdna.vgpr
    cdna.end s_endpgm
  }
  litmus.condition "~exists (P1:r0 = 1 and P2:r0 = 1 and P2:r1 = 0)"
}
"""
"""P1 acquires at the agent and tells P2 of its work-group, after the wait HERE or without one."""

WAIT = "cdna.s_waitcnt vmcnt(0)"
WORDS = {
    "gfx1030": ("global_load_dword", "global_store_dword", '"glc", "dlc"'),
    "gfx1100": ("global_load_b32", "global_store_b32", '"glc"'),
}


def written(tmp_path: Path, chip: str, wait: str = "", cu: int = 1) -> str:
    load, store, wide = WORDS[chip]
    text = HANDED_ON.replace("LOAD", load).replace("STORE", store).replace("WIDE", wide)
    path = tmp_path / "handed_on.mlir"
    path.write_text(text.replace("HERE", wait).replace("= CU>", f"= {cu}>"))
    return str(path)


@pytest.mark.parametrize(
    ("wait", "flags", "status"),
    [
        ("", [], DOES_NOT_HOLD),
        (WAIT, [], HOLDS),
        (WAIT, ["--readings", "every"], DOES_NOT_HOLD),
        ("", ["--readings", "none"], HOLDS),
        ("", ["--readings", "queued-invalidate"], DOES_NOT_HOLD),
    ],
)
@pytest.mark.parametrize("chip", WORDS)
def test_the_readings_decide(
    tmp_path: Path, chip: str, wait: str, flags: list[str], status: int
) -> None:
    arguments = ["run", written(tmp_path, chip, wait), "--mcpu", chip, *flags]
    assert fence_sim.main(arguments) == status


@pytest.mark.parametrize(
    ("wait", "flags", "why"),
    [
        ("", [], "nothing waits for it between line 21 and line 24"),
        (WAIT, ["--readings", "every"], "no wait sees its end between line 21 and line 24"),
    ],
)
def test_the_story_says_what_is_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wait: str, flags: list[str], why: str
) -> None:
    fence_sim.main(["run", written(tmp_path, "gfx1030", wait), "--mcpu", "gfx1030", *flags])
    said = capsys.readouterr().out
    assert (
        "P2 reads x = 0 from its L1, where P1's buffer_gl1_inv (line 21) is not done when" in said
    )
    assert why in said
    assert "agent 0 shader array 0 CU 1: L0 takes in x=0" in said
    assert "many L1 per agent" in said


def test_wgp_mode_is_the_default_and_cu_mode_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart, together = written(tmp_path, "gfx1100"), ["--mcpu", "gfx1100", "--mattr=+cumode"]
    assert fence_sim.main(["run", apart, *together]) == 2
    assert "work-group 0 is spread over CUs, which needs WGP mode" in capsys.readouterr().err
    assert fence_sim.main(["run", apart, "--mcpu", "gfx1100", "--mattr=-cumode"]) == DOES_NOT_HOLD
    assert "(gfx1100 WGP mode, " in capsys.readouterr().out
    assert fence_sim.main(["run", written(tmp_path, "gfx1100", cu=0), *together]) == HOLDS
    assert "(gfx1100, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--mcpu", "gfx1030", "--mattr=+tgsplit"],
            "unknown feature '+tgsplit' in --mattr; known: cumode",
        ),
        (
            ["--mcpu", "gfx1030", "--readings", "late-invalidate"],
            "the documents of gfx1030 do not leave 'late-invalidate' open",
        ),
        (["--mcpu", "gfx942"], "gfx942 has no vscnt; it has vmcnt, lgkmcnt"),
        (["--mcpu", "gfx1100"], "gfx1100 has no global_store_dword"),
    ],
)
def test_what_does_not_fit_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert fence_sim.main(["run", written(tmp_path, "gfx1030"), *flags]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_what_is_not_in_instructions_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["run", str(EXAMPLE), "--mcpu", "gfx1100"]) == 2
    assert "know the chip, but nothing is lowered for it" in capsys.readouterr().err


def test_leaving_out_needs_no_lowering(tmp_path: Path) -> None:
    wait = f"{WAIT} {{phase = #cdna<phase release>}}"
    arguments = ["run", written(tmp_path, "gfx1030", wait), "--mcpu", "gfx1030"]
    assert fence_sim.main(arguments) == HOLDS
    assert fence_sim.main([*arguments, "--without", "s_waitcnt"]) == DOES_NOT_HOLD


# Waits


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (WaitCounts(vmcnt=0, lgkmcnt=2), "s_waitcnt vmcnt(0) lgkmcnt(2)"),
        (WaitCounts(vscnt=0), "s_waitcnt_vscnt null, 0x0"),
        (WaitCounts(vmcnt=0, vscnt=3), "s_waitcnt vmcnt(0) and s_waitcnt_vscnt null, 0x3"),
    ],
)
def test_a_wait_is_written_as_the_chip_has_it(counts: WaitCounts, text: str) -> None:
    assert wait_text(KNOWN_CHIPS["gfx1030"], counts) == text


def test_a_wait_of_one_counter_is_read() -> None:
    for counter in ("vmcnt", "lgkmcnt", "vscnt"):
        assert counters_of(f"s_waitcnt_{counter}") == {counter}
        assert read_wait(f"s_waitcnt_{counter}", 3) == WaitCounts(**{counter: 3})
    assert read_wait("s_waitcnt", 3) is None
