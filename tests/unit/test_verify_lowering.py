"""Translation validation: sound lowerings pass, every damaged one is caught, doubts are said."""

from dataclasses import replace
from pathlib import Path

import pytest
from campaigns import some_of
from litmus_modules import CHIPS, MESSAGE_PASSING, one_program, programs
from xdsl.dialects.builtin import ModuleOp

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.verify_lowering import (
    LoweringVerdict,
    Verification,
    read_sources,
    verify_lowering,
)
from fencewright.simulator.litmus_run import (
    CdnaTest,
    Limits,
    PtxTest,
    Refinement,
    RunnableTest,
    SourceTest,
    refines,
    run,
)
from fencewright.simulator.ptx.formats.columns import read_litmus
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.inputs.litmus.lowered import Damage, Lowering, lower_tests
from fencewright.tools.inputs.litmus.writer import WriterError, module_text

CORPUS = Path(__file__).parents[1] / "litmus" / "ptx"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "litmus").glob("*.mlir"))


def verifications(
    text: str, lowering: Lowering, limits: Limits | None = None
) -> list[Verification]:
    """What verifying the tests in ``text`` finds, lowered as ``lowering`` says."""
    module = parse_module("test.mlir", text)
    sources = read_sources(module)
    lower_tests(module, lowering)
    return list(verify_lowering(sources, module, ReadOptions(), limits))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path, chip: str) -> None:
    found = verifications(path.read_text(encoding="utf-8"), Lowering(chip))
    assert found
    assert [each.message for each in found if each.verdict is not LoweringVerdict.SOUND] == []


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_examples_in_threadgroup_split_mode(chip: str) -> None:
    lowering = Lowering(chip, ("tgsplit",))
    (found,) = verifications(MESSAGE_PASSING, lowering)
    assert found.verdict is LoweringVerdict.SOUND


DAMAGES = [
    ("gfx942", Damage("buffer_inv")),
    ("gfx942", Damage("buffer_wbl2")),
    ("gfx942", Damage("s_waitcnt")),
    ("gfx942", Damage("buffer_inv", ("sc1",))),
    ("gfx942", Damage("buffer_wbl2", ("sc1",))),
    ("gfx950", Damage("buffer_inv")),
    ("gfx90a", Damage("buffer_wbinvl1_vol")),
    ("gfx90a", Damage("s_waitcnt")),
    ("gfx908", Damage("buffer_wbinvl1_vol")),
    ("sm_90", Damage("ld.acquire", (), "ld.relaxed")),
    ("sm_90", Damage("st.release", (), "st.relaxed")),
    ("sm_90", Damage("ld.acquire.gpu", (), "ld.acquire.cta")),
    ("sm_90", Damage("st.release.gpu", (), "st.release.cta")),
]


@pytest.mark.parametrize(("chip", "damage"), DAMAGES)
def test_a_damaged_lowering_is_caught(chip: str, damage: Damage) -> None:
    # At -O2 the stores of this test go to the agent by themselves.
    level = 0 if damage.mnemonic == "buffer_wbl2" else None
    (whole,) = verifications(MESSAGE_PASSING, Lowering(chip, opt_level=level))
    assert whole.verdict is LoweringVerdict.SOUND
    lowering = Lowering(chip, damages=(damage,), opt_level=level)
    (found,) = verifications(MESSAGE_PASSING, lowering)
    assert found.verdict is LoweringVerdict.UNSOUND
    assert "the lowering of 'mp' can end with P1:r0=0 x=1 f=1" in found.message
    assert len(found.steps) > 5


def test_a_register_that_is_not_waited_for_is_caught() -> None:
    module = parse_module("test.mlir", MESSAGE_PASSING)
    sources = read_sources(module)
    lower_tests(module, Lowering("gfx942"))
    for op in list(module.walk()):
        if op.name == "cdna.s_waitcnt" and "vmcnt" in op.properties:
            op.detach()
            op.erase()
    (found,) = verify_lowering(sources, module, ReadOptions())
    assert found.verdict is LoweringVerdict.UNSOUND
    assert "unwaited register" in found.message


def test_a_source_with_a_race_has_nothing_to_verify() -> None:
    text = MESSAGE_PASSING.replace("store release agent", "store relaxed agent")
    (found,) = verifications(text, Lowering("gfx942"))
    assert found.verdict is LoweringVerdict.RACY
    assert "data race on x" in found.message


def test_too_many_states_are_incomplete_not_sound() -> None:
    (found,) = verifications(MESSAGE_PASSING, Lowering("gfx942"), Limits(states=10))
    assert found.verdict is LoweringVerdict.INCOMPLETE
    assert "limit reached" in found.message


def test_random_walks_are_incomplete_not_sound() -> None:
    (found,) = verifications(MESSAGE_PASSING, Lowering("gfx942"), Limits(walks=50))
    assert found.verdict is LoweringVerdict.INCOMPLETE


def test_an_incomplete_run_still_finds_what_it_finds() -> None:
    lowering = Lowering("gfx942", damages=(Damage("buffer_inv"),))
    (found,) = verifications(MESSAGE_PASSING, lowering, Limits(walks=600))
    assert found.verdict is LoweringVerdict.UNSOUND


COUNTER = """
litmus.test @count {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    cf.br ^loop
  ^loop:
    %old = scoped.atomic_rmw add relaxed agent %x, %one : !llvm.ptr<1>, i32
    %more = arith.cmpi ult, %old, %two : i32
    cf.cond_br %more, ^loop, ^done
  ^done:
    litmus.end
  }
}
"""


def test_a_source_that_is_cut_off_decides_nothing_against_the_target() -> None:
    (short,) = verifications(COUNTER, Lowering("gfx942"), Limits(bound=1))
    assert short.verdict is LoweringVerdict.INCOMPLETE
    (long,) = verifications(COUNTER, Lowering("gfx942"), Limits(bound=3))
    assert long.verdict is LoweringVerdict.SOUND


def refinement(source: RunnableTest, target: RunnableTest) -> Refinement:
    """The comparison of two tests, the first one a source."""
    assert isinstance(source, SourceTest)
    return refines(source, target)


def test_each_thing_that_speaks_against_a_lowering_counts() -> None:
    """A checker that looked at outcomes alone would pass these."""
    source, target = one_program(MESSAGE_PASSING), one_program(MESSAGE_PASSING, "gfx942")
    sound = refinement(source, target)
    assert sound.is_sound
    assert not replace(sound, undecided="why").is_sound
    assert not replace(sound, target=replace(sound.target, errors=("why",))).is_sound
    assert not replace(sound, source=replace(sound.source, races=("why",))).is_sound
    assert not replace(sound, forbidden=sound.source.outcomes).is_sound


def test_a_source_refines_itself_and_not_a_stronger_one() -> None:
    """The checker neither refuses nor accepts everything."""
    relaxed = MESSAGE_PASSING.replace("store weak", "store relaxed agent")
    relaxed = relaxed.replace("load weak", "load relaxed agent")
    ordered = one_program(relaxed)
    loose = one_program(relaxed.replace("load acquire", "load relaxed"))
    assert refinement(ordered, ordered).is_sound
    assert refinement(loose, ordered).is_sound
    found = refinement(ordered, loose)
    assert found.forbidden is not None
    assert found.counterexample


def corpus() -> list[Path]:
    """The PTX tests that scoped operations can say."""
    return [path for path in sorted(CORPUS.glob("*.litmus")) if _written(path) is not None]


def _written(path: Path) -> str | None:
    try:
        return module_text(read_litmus(path))
    except WriterError:
        return None


def test_most_of_the_corpus_can_be_written() -> None:
    assert len(corpus()) > 40


WIDENED = {"red-starts-no-acquire": "the scoped add is an atom, with which a fence does acquire"}
"""Tests in which scoped operations are lowered to something stronger than what was read."""


@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.stem)
def test_ptx_through_scoped_operations_and_back(path: Path) -> None:
    """What is written as scoped operations and lowered for sm_90 ends as the original does."""
    text = _written(path)
    assert text is not None
    (lowered,) = programs(text, Lowering("sm_90")).values()
    assert isinstance(lowered, PtxTest)
    original = run(PtxTest(read_litmus(path), lowered.model)).outcomes
    again = run(lowered).outcomes
    assert original is not None
    assert again is not None
    states = original.project(again.observables).states
    assert again.states < states if path.stem in WIDENED else again.states == states


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "sm_70"])
@pytest.mark.parametrize("path", some_of(corpus(), 6), ids=lambda path: path.stem)
def test_lowerings_of_the_corpus_are_sound(path: Path, chip: str) -> None:
    text = _written(path)
    assert text is not None
    (source,) = programs(text).values()
    (target,) = programs(text, Lowering(chip)).values()
    found = refinement(source, target)
    assert found.is_sound or found.source.races


def test_verification_names_the_source_that_a_test_lowers() -> None:
    text = MESSAGE_PASSING + MESSAGE_PASSING.replace("@mp", "@copy lowers @mp").replace(
        "store release agent", "store relaxed agent"
    )
    module = parse_module("test.mlir", text)
    # Only the name says what a test lowers: this one's own source would be racy.
    sources = {"mp": read_sources(module)["mp"]}
    lower_tests(module, Lowering("gfx942"))
    sound, damaged = verify_lowering(sources, module, ReadOptions())
    assert sound.verdict is LoweringVerdict.SOUND
    assert damaged.verdict is LoweringVerdict.UNSOUND


def test_a_module_without_tests_has_none() -> None:
    assert list(verify_lowering({}, ModuleOp([]), ReadOptions())) == []


def test_the_machine_is_told_how_many_l2s_there_are() -> None:
    lowering = Lowering("gfx942", l2_per_agent=L2PerAgent.ONE)
    module = parse_module("test.mlir", MESSAGE_PASSING)
    lower_tests(module, lowering)
    from fencewright.passes.litmus.read_litmus import read_tests

    ((_, test),) = read_tests(module, ReadOptions(L2PerAgent.ONE))
    assert isinstance(test, CdnaTest)
    assert test.configuration.l2_per_agent is L2PerAgent.ONE
    assert refinement(one_program(MESSAGE_PASSING), test).is_sound
    # On a machine with many L2s the same code is wrong.
    ((_, other),) = read_tests(module, ReadOptions(L2PerAgent.MANY))
    assert refinement(one_program(MESSAGE_PASSING), other).forbidden is not None


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_of_a_source_that_never_ends_there_is_nothing_to_verify(chip: str) -> None:
    (found,) = verifications(MESSAGE_PASSING.replace("%one, %f", "%one, %x"), Lowering(chip))
    assert found.verdict is LoweringVerdict.HANGS
    assert "no execution of 'mp' ends" in found.message
    assert "P1 at test.mlir:" in found.message


def test_a_lowering_that_may_hang_where_its_source_does_not_is_told() -> None:
    relaxed = MESSAGE_PASSING.replace("release", "relaxed").replace("acquire", "relaxed")
    relaxed = relaxed.replace("weak", "relaxed agent")
    (found,) = verifications(relaxed, Lowering("gfx942"))
    assert found.verdict is LoweringVerdict.SOUND
    damage = Damage("global_store_dword", ("sc1",))
    (found,) = verifications(relaxed, Lowering("gfx942", damages=(damage,)))
    assert found.verdict is LoweringVerdict.HANGS
    assert "the lowering of 'mp' may hang: P1 at test.mlir:" in found.message
    assert any("1 dirty" in each for each in found.steps)


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_a_lowering_that_may_hang_as_its_source_does_is_sound_and_says_so(chip: str) -> None:
    unset = MESSAGE_PASSING.replace(
        "    scoped.store release agent %one, %f",
        """
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
    %off = arith.constant 0 : i32
    scoped.store release agent %off, %f""",
    )
    (found,) = verifications(unset, Lowering(chip))
    assert found.verdict is LoweringVerdict.SOUND
    assert "; like its source it may hang: P1 at test.mlir:" in found.message
