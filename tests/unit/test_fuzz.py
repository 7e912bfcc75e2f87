"""The fuzzer: its programs, what it says of them, and that it finds passes broken on purpose.

``tests/fuzz/seeds`` has the smallest programs that it has found, each for the setting in its first
line; one that was found with a rule broken says with which.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import cast

import minimise_programs as programs
import pytest
import test_minimise_cdna as on_cdna
import test_minimise_scoped as on_scoped
from across_agents import across_program
from campaigns import Share, drawn, draws
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.mlir_dialects.cdna import CacheOp, LoadOp
from fencewright.passes.analysis.caches import CacheCode
from fencewright.passes.cdna.caches.elect_release import Moved
from fencewright.passes.litmus.build_litmus import build
from fencewright.simulator.core.processes.campaign import CampaignError
from fencewright.simulator.core.program import Placement
from fencewright.simulator.random.programs import (
    FENCES,
    Attempt,
    Maybe,
    Repeat,
    Retry,
    SmallProgram,
    SmallThread,
    Spin,
    Step,
    Steps,
    When,
    accesses,
    is_defined,
    located,
    operations,
    random_program,
    shrink,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    Store,
)
from fencewright.tools.fence_sim import main
from fencewright.tools.fuzz import checks as fuzz
from fencewright.tools.fuzz.checks import (
    CDNA_SETTINGS,
    CLUSTER_SETTINGS,
    ELECTING,
    HEAD,
    LLVM_IR_FORMS,
    LLVM_IR_SETTINGS,
    PTX_SETTINGS,
    SETTINGS,
    VARIED,
    CheckVerdict,
    SettingTotals,
    Violation,
    campaign,
    check,
    check_module,
    check_seeds,
    guilty_pass,
    llvm_ir_setting_of,
    lowered,
    meaning,
    meant_by,
    program_of,
    settings_of,
    smallest,
)
from fencewright.tools.statuses import INCOMPLETE, USAGE

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SEEDS = 2_000 if THOROUGH else 30
VARIED_SEEDS = 2_000 if THOROUGH else 30
FIRST = 1_000_000
"""Where the seeds of these tests begin, so that they are none that ``make fuzz`` takes."""

SAVED = sorted((Path(__file__).parents[1] / "fuzz" / "seeds").glob("*.mlir"))

GFX942, SM_90 = SETTINGS["gfx942"], SETTINGS["sm_90"]


# Programs


@pytest.mark.parametrize("share", draws(4))
def test_programs_are_well_formed(share: Share) -> None:
    for seed in share.of(range(400)):
        program = program_of(seed)
        assert 2 <= len(program.threads) <= 4
        assert all(is_defined(thread.steps) for thread in program.threads)
        build(program).verify()


def test_a_seed_is_one_program() -> None:
    for seed in range(50):
        assert program_of(seed) == program_of(seed)
        assert program_of(seed) != program_of(seed + 1)


def test_programs_are_read_as_they_are_printed() -> None:
    for seed in range(20):
        text = str(build(program_of(seed)))
        assert str(programs.parse(text)) == text


def inner(steps: Steps) -> Iterable[Step]:
    """The steps, and those within them."""
    for step in steps:
        yield step
        match step:
            case Maybe() | Repeat():
                yield from inner(step.steps)
            case Retry():
                yield from inner(step.busy)
            case Attempt():
                yield from inner((*step.first, *step.failed))
            case _:
                pass


def test_programs_are_of_every_kind() -> None:
    drawn = [program_of(seed) for seed in range(1500)]
    threads = [thread for program in drawn for thread in program.threads]
    kinds = {type(step) for thread in threads for step in inner(thread.steps)}
    assert kinds == {
        Load, Store, AtomicRmw, Cmpxchg, Fence, Barrier, When, Maybe, Repeat, Spin, Retry, Attempt,
    }  # fmt: skip
    done = [each for thread in threads for each in operations(thread.steps)]
    assert {each.ordering for each in done} == set(Ordering)
    assert {each.scope for each in done} == {None, *Scope}
    failures = {each.failure_ordering for each in done if isinstance(each, Cmpxchg)}
    assert failures == {Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST}
    assert {each.space for program in drawn for each in program.locations} == {
        AddressSpace.GLOBAL,
        AddressSpace.LOCAL,
    }
    assert any(thread.generic for thread in threads)
    assert {len(program.threads) for program in drawn} == {2, 3, 4}
    assert {program.agents for program in drawn} == {1, 2}


def test_varied_programs_have_what_others_have_seldom_or_never() -> None:
    drawn = [program_of(VARIED + seed) for seed in range(400)]
    threads = [thread for program in drawn for thread in program.threads]
    assert all(is_defined(thread.steps) for thread in threads)
    done = [each for thread in threads for each in operations(thread.steps)]
    limited = [each for each in done if each.ordering is not Ordering.WEAK]
    assert {type(each) for each in limited if each.spaces} >= {Load, Store, AtomicRmw, Fence}
    assert {type(each) for each in limited if each.one_as} >= {Load, Store, AtomicRmw, Fence}
    assert frozenset({AddressSpace.GENERIC}) in {each.spaces for each in limited}
    pairs = [two for thread in threads for two in pairwise(thread.steps)]
    beside = [(a, b) for a, b in pairs if isinstance(a, Fence) and isinstance(b, Fence)]
    assert any(a.scope is not b.scope for a, b in beside)
    assert {(a.ordering, b.ordering) for a, b in beside} == set(product(FENCES, FENCES))
    exchanges = [each for each in done if isinstance(each, Cmpxchg)]
    assert any(
        a.ordering.acquires and not a.failure_ordering.acquires and isinstance(b, Fence)
        for a, b in pairs
        if isinstance(a, Cmpxchg)
    )
    assert any(each.compare == 7 for each in exchanges)
    assert any(len([s for s in thread.steps if s == OWN]) > 62 for thread in threads)
    in_lds = [{each.name for each in p.locations if each.space is LOCAL} for p in drawn]
    flat_before_flag = [
        thread
        for program, lds in zip(drawn, in_lds, strict=True)
        for thread in program.threads
        if thread.generic & lds and any(is_flag(each, lds) for each in thread.steps)
    ]
    assert flat_before_flag


OWN = Store("own0", 1)
LOCAL = AddressSpace.LOCAL


def is_flag(step: Step, lds: set[str]) -> bool:
    return isinstance(step, Store) and step.location in lds and step.ordering is not Ordering.WEAK


PART = VARIED_SEEDS // 3


@pytest.mark.parametrize("first", drawn(range(VARIED, VARIED + VARIED_SEEDS, PART)))
def test_varied_programs_are_right(first: int) -> None:
    totals = SettingTotals()
    totals.include(check_seeds(first, PART))
    assert not totals.violations
    assert totals.racy + totals.too_large < PART / 3
    assert totals.count(CheckVerdict.SOUND) > PART


@pytest.mark.parametrize("first", drawn(range(ELECTING, ELECTING + VARIED_SEEDS, PART)))
def test_electing_programs_are_right(first: int) -> None:
    totals = SettingTotals()
    totals.include(check_seeds(first, PART))
    assert not totals.violations
    assert totals.racy + totals.too_large < PART / 3
    assert totals.count(CheckVerdict.SOUND) > PART


def test_some_electing_programs_elect(monkeypatch: pytest.MonkeyPatch) -> None:
    held: set[int] = set()
    real = Moved.apply
    for seed in range(ELECTING, ELECTING + 60):

        def apply(moved: Moved, code: CacheCode, seed: int = seed) -> None:
            held.add(seed)
            real(moved, code)

        monkeypatch.setattr(Moved, "apply", apply)
        setting, _ = settings_of(seed)
        lowered(build(setting.place(program_of(seed))), setting.passes(2))
    assert len(held) > 12


def test_programs_keep_to_what_a_setting_has() -> None:
    for seed in range(200):
        program = random_program(seed, lds=False, mates=False)
        assert all(each.space is AddressSpace.GLOBAL for each in program.locations)
        workgroups = [thread.placement.workgroup for thread in program.threads]
        assert len(set(workgroups)) == len(workgroups)
        split = random_program(seed, split=False)
        cus = {(thread.placement.workgroup, thread.placement.cu) for thread in split.threads}
        assert len(cus) == len({workgroup for workgroup, _ in cus})


def test_programs_over_agents_have_two_scopes_and_keep_to_what_a_setting_has() -> None:
    agents: set[int] = set()
    whole = 0
    for seed in range(200):
        program = across_program(seed, lds=False, mates=False)
        assert all(each.space is AddressSpace.GLOBAL for each in program.locations)
        places = [thread.placement for thread in program.threads]
        assert len({each.workgroup for each in places}) == 3
        agents.add(program.agents)
        first, last = (
            {
                each.scope
                for each in accesses(program.threads[n].steps)
                if each.location == flag and each.scope is not None
            }
            for n, flag in ((0, "f"), (2, "g"))
        )
        legs = [Scope.SYSTEM if a.agent != b.agent else Scope.AGENT for a, b in pairwise(places)]
        assert first <= {legs[0]}
        assert last <= {legs[1]}
        whole += bool(first and last)
        split = across_program(seed, split=False)
        cus = {(thread.placement.workgroup, thread.placement.cu) for thread in split.threads}
        assert len(cus) == len({workgroup for workgroup, _ in cus})
    assert agents == {2, 3}
    assert whole > 180


def test_settings_are_taken_in_turn() -> None:
    seen = {str(each) for seed in range(60) for each in settings_of(seed)}
    assert seen == {str(each) for each in (*CDNA_SETTINGS, *PTX_SETTINGS)}
    compiled = {str(llvm_ir_setting_of(seed)) for seed in range(len(LLVM_IR_SETTINGS))}
    asked = {str(each) for seed in range(60) for each in settings_of(seed, "gfx1250")}
    assert asked == {str(each) for each in CLUSTER_SETTINGS}
    compiled |= {str(llvm_ir_setting_of(seed, "gfx1250")) for seed in range(60)}
    assert seen | compiled | asked == set(SETTINGS)
    forms = {
        llvm_ir_setting_of(seed, "gfx1250").through
        for seed in range(60)
        if len({each.placement.cluster for each in program_of(seed, "gfx1250").threads}) == 1
    }
    assert forms == set(LLVM_IR_FORMS), "programs in a cluster are written in every form"


def test_some_programs_have_one_cluster_on_a_chip_with_clusters() -> None:
    """Its scope stands where the agent's stood; its work-groups are on one XCD."""
    clustered = [
        program
        for program in (program_of(seed, "gfx1250") for seed in range(60))
        if len({each.placement.workgroup for each in program.threads}) > 1
        and len({each.placement.cluster for each in program.threads}) == 1
    ]
    assert clustered
    assert all({each.placement.xcd for each in program.threads} == {0} for program in clustered)
    scopes = {
        getattr(each, "scope", None)
        for program in clustered
        for thread in program.threads
        for each in operations(thread.steps)
    }
    assert Scope.CLUSTER in scopes
    assert Scope.AGENT not in scopes


# Verdicts


@pytest.mark.parametrize("first", drawn(range(FIRST, FIRST + SEEDS, SEEDS // 3)))
def test_few_programs_are_racy_and_none_is_a_violation(first: int) -> None:
    count = SEEDS // 3
    totals = SettingTotals()
    totals.include(check_seeds(first, count))
    assert totals.programs == count
    assert not totals.violations
    assert totals.racy + totals.too_large < count / 4
    assert totals.count(CheckVerdict.SOUND) > count


HERE, FAR = Placement(0), Placement(1, 1, 1)


def message_passing(ordering: Ordering = Ordering.RELEASE) -> SmallProgram:
    """Data released by a flag that is spun on."""
    scope, acquire = Scope.AGENT, Ordering.ACQUIRE
    writes = (Store("x", 1), Store("f", 1, ordering, scope))
    reads = (Spin(Load("r0", "f", acquire, scope), 1), Load("r1", "x"))
    return located((SmallThread(HERE, writes), SmallThread(FAR, reads)), {})


@dataclass(frozen=True)
class OnCode(ModulePass):
    """Does something to every operation of a kind."""

    change: Callable[[CacheOp | LoadOp], None]
    kind: type = CacheOp

    name = "on-code"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, self.kind):
                self.change(cast("CacheOp | LoadOp", each))


def twice(op: CacheOp | LoadOp) -> None:
    block = op.parent
    assert block is not None
    block.insert_op_after(op.clone(), op)


def remove(op: CacheOp | LoadOp) -> None:
    op.detach()
    op.erase()


def without_bits(op: CacheOp | LoadOp) -> None:
    if op.opcode.data.startswith("global_load"):
        op.properties["modifiers"] = ArrayAttr([])


def fail(op: CacheOp | LoadOp) -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (OnCode(remove), CheckVerdict.UNSOUND),
        (OnCode(twice), CheckVerdict.MORE),
        (OnCode(without_bits, LoadOp), CheckVerdict.STUCK),
        (OnCode(fail), CheckVerdict.FAILED),
    ],
)
def test_verdicts(step: OnCode, verdict: CheckVerdict) -> None:
    program = message_passing()
    if verdict is CheckVerdict.STUCK:  # The data must not show it.
        reader = program.threads[1]
        spin = SmallThread(reader.placement, reader.steps[:1])
        program = located((program.threads[0], spin), {})
    meant = meant_by(program)
    assert check(program, GFX942, meant).verdict is CheckVerdict.SOUND
    assert check(program, GFX942, meant, (*GFX942.passes(2), step)).verdict is verdict


def test_registers_that_are_not_waited_for_are_found() -> None:
    program = message_passing()
    passes = [each for each in GFX942.passes(0) if each.name != "insert-waits"]
    assert check(program, GFX942, meant_by(program), passes).verdict is CheckVerdict.WRONG


def test_a_way_through_the_code_counts_once() -> None:
    module = lowered(build(message_passing()), GFX942.passes(0))
    assert fuzz.synchronisation(module) == {"write-backs": 1, "invalidates": 1}
    ptx = lowered(build(message_passing(Ordering.SEQ_CST)), SM_90.passes(0))
    assert fuzz.synchronisation(ptx) == {"fences": 1}


# Rules broken on purpose

RULES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    rule.__name__: rule for rule in (*on_cdna.BROKEN, *on_scoped.BROKEN)
}
WITHIN = 150
"""So many programs are enough to find any of these."""

FOUND_SOON = (
    "take_stores_for_written_back",
    "need_nothing",
    "sink_past_loads",
    "lose_edges",
    "acquire_nothing",
    "wait_for_one_less",
    "tell_of_lds_by_memory",
    "publish_nothing",
    "acquire_everything",
    "hoist_past_everything",
    "sink_waits_past_flags",
    "release_no_loads",
)


def test_a_broken_election_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    RULES["write_back_for_nobody"](monkeypatch)
    assert any(is_found(seed) for seed in range(ELECTING, ELECTING + WITHIN))


@pytest.mark.parametrize("rule", FOUND_SOON)
def test_a_broken_rule_is_found(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    RULES[rule](monkeypatch)
    assert any(is_found(seed) for seed in range(WITHIN))


def is_found(seed: int) -> bool:
    """Whether a seed's program shows a mistake on CDNA."""
    program, (setting, _) = program_of(seed), settings_of(seed)
    meant = meant_by(program)
    if meant.races or meant.incomplete:
        return False
    return check(program, setting, meant).verdict.is_violation


@pytest.mark.parametrize("file", SAVED, ids=lambda file: cast(Path, file).stem)
def test_saved_programs_are_right(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    setting = SETTINGS[text.splitlines()[0].removeprefix(HEAD)]
    meant = meaning(programs.parse(text))
    assert not meant.races
    assert not meant.incomplete

    def verdict() -> CheckVerdict:
        return check_module(lambda: programs.parse(text), setting, meant).verdict

    assert verdict() is CheckVerdict.SOUND
    if (broken := re.search(r"broken: (\w+)", text)) is not None:
        RULES[broken[1]](monkeypatch)
        assert verdict().is_violation


def test_programs_are_saved() -> None:
    assert len(SAVED) >= 10


# Smaller


def test_programs_get_as_small_as_they_can() -> None:
    def has_a_release_and_a_spin(program: SmallProgram) -> bool:
        steps = [step for thread in program.threads for step in inner(thread.steps)]
        released = any(isinstance(s, Store) and s.ordering is Ordering.RELEASE for s in steps)
        return released and any(isinstance(step, Spin) for step in steps)

    seed = next(seed for seed in range(1000) if has_a_release_and_a_spin(program_of(seed)))
    small = shrink(program_of(seed), has_a_release_and_a_spin)
    assert sorted(type(s).__name__ for t in small.threads for s in t.steps) == ["Spin", "Store"]
    assert len(small.locations) <= 2


def test_the_pass_to_blame_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    RULES["need_nothing"](monkeypatch)
    program = message_passing()
    assert guilty_pass(program, GFX942, meant_by(program)) == "drop-invalidates"


def test_a_violation_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    RULES["need_nothing"](monkeypatch)
    seed = next(seed for seed in range(WITHIN) if is_found(seed))
    setting = settings_of(seed)[0]
    program, guilty = smallest(Violation(seed, str(setting), CheckVerdict.UNSOUND, ""))
    assert check(program, setting, meant_by(program)).verdict is CheckVerdict.UNSOUND
    assert sum(len(thread.steps) for thread in program.threads) <= 8
    assert guilty == "drop-invalidates"


# Campaigns


def last(stream: Path | None, first: int = FIRST, count: int = 6) -> SettingTotals:
    *_, totals = campaign(first, count, stream=stream)
    return totals


def test_a_campaign_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fuzz, "CHUNK", 2)
    stream = tmp_path / "results"
    running = campaign(FIRST, 6, stream=stream)
    assert next(running).programs == 2
    running.close()
    done = len(stream.read_text().splitlines())
    totals = last(stream)
    assert totals.programs == 6
    assert totals.settings == last(None).settings
    assert len(stream.read_text().splitlines()) == done + 2
    monkeypatch.setattr(fuzz, "check_seeds", fail)
    assert last(stream).data() == totals.data()


def test_results_of_other_code_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream = tmp_path / "results"
    last(stream, count=1)
    monkeypatch.setattr(fuzz, "code_digest", lambda: "other")
    with pytest.raises(CampaignError, match="not of this campaign"):
        last(stream, count=1)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    command = ["fuzz", "--programs", "8", "--first", str(FIRST), "--page", str(page)]
    assert main([*command, "--results", str(tmp_path / "results")]) == 0
    assert capsys.readouterr().out.startswith("8 programs: ")
    (results,) = (tmp_path / "results").iterdir()
    assert json.loads(results.read_text().splitlines()[1])["result"]["programs"] == 8
    text = page.read_text()
    assert "**0 violations**" in text
    assert all(f"| `{each}` |" in text for each in (*CDNA_SETTINGS, *PTX_SETTINGS))
    assert "LLVM IR, by the machine code" not in text


def test_an_interrupt_tells_what_was_found_and_shrinks_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> Iterator[SettingTotals]:
        yield SettingTotals(
            programs=50, violations=[Violation(7, "sm_90", CheckVerdict.UNSOUND, "worse")]
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "campaign", interrupted)
    monkeypatch.setattr(fuzz, "smallest", partial(pytest.fail, "takes minutes"))
    page = tmp_path / "page.md"
    page.write_text("of the last campaign")
    assert main(["fuzz", "--page", str(page)]) == INCOMPLETE
    out, err = capsys.readouterr()
    assert out.startswith("50 programs: ")
    assert out.endswith("sm_90: seed 7: unsound: worse\n")
    assert err == "fence-sim: error: interrupted\n"
    assert page.read_text() == "of the last campaign"
    assert list(tmp_path.iterdir()) == [page]


def test_a_page_that_cannot_be_written_is_told_before_the_campaign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "campaign", partial(pytest.fail, "takes hours"))
    page = tmp_path / "nowhere" / "page.md"
    assert main(["fuzz", "--page", str(page)]) == USAGE
    assert capsys.readouterr().err == f"{page}: error: No such file or directory\n"


def test_the_command_shows_what_it_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RULES["need_nothing"](monkeypatch)
    seed = next(seed for seed in range(WITHIN) if is_found(seed))
    command = ["fuzz", "--first", str(seed), "--programs", "1", "--failures", str(tmp_path)]
    assert main(command) == 1
    assert "1 violations" in capsys.readouterr().out
    (file,) = tmp_path.iterdir()
    text = file.read_text()
    assert text.startswith(HEAD)
    assert "unsound by drop-invalidates" in text
    assert re.search(r"^// P\d+ reads .*; nothing invalidates it", text, re.MULTILINE)
    assert main(["fuzz", "--seed", str(seed)]) == 1
    assert "by drop-invalidates" in capsys.readouterr().out


def test_the_command_refuses_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--programs", "none"]) == 2
    assert "--programs" in capsys.readouterr().err
