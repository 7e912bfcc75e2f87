"""A finding against the source comes with a test that shows it, and a right form has none."""

import pytest
from test_source_check import (
    BACK,
    BARRIER,
    CONSUMER,
    CONSUMES,
    DATA,
    DEKKER,
    FLAG,
    GFX90A,
    INV,
    MEET,
    MEETS,
    PRODUCER,
    PRODUCES,
    RAISE,
    READ,
    SEE,
    SPLIT,
    STORE,
    WAIT,
    Lines,
    check,
)

from fencewright.checker.cdna_accesses import Mode, OperationKind
from fencewright.checker.findings import Rule
from fencewright.checker.source_check import SourceFinding
from fencewright.checker.source_litmus import Counterexample, counterexample
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.litmus_run import Limits
from fencewright.tools.inputs.litmus_inputs import Lowering, read_string

GFX942 = Mode("gfx942", SPLIT.l2_per_agent, tgsplit=False)
GROUP = [(line, text.replace("agent", "workgroup")) for line, text in CONSUMER]
OLD = (4, "global_store_dword v0, v1, s[2:3]")
WIDE = [(line, text.replace('syncscope("agent")', "")) for line, text in PRODUCER]
READS_FIRST = ((1, f"%v = load i32, {DATA}"), *PRODUCER[1:])
WRITES_AFTER = (*CONSUMER[:-1], (4, f"store i32 1, {DATA}"))
LOCK = (
    (1, f"store i32 1, {DATA}"),
    (4, f'%x = cmpxchg {FLAG}, i64 0, i64 1 syncscope("agent") release monotonic, align 8'),
)
LOAD = (1, "global_load_dword v5, v0, s[0:1]")
SCALAR = ((0, "s_load_dwordx4 s[0:3], s[4:5], 0x0"), SEE, WAIT, INV,
    (4, "s_load_dword s6, s[0:1], 0x0"))  # fmt: skip


def shown_by(source: Lines, code: Lines, mode: Mode = GFX942) -> list[Counterexample | None]:
    comparison = check(source, code, mode)
    assert comparison.lifted is not None
    return [counterexample(comparison.lifted, each) for each in comparison.findings]


BROKEN = (
    (PRODUCER, (STORE, WAIT, RAISE), GFX942),
    (PRODUCER, (STORE, BACK, RAISE), GFX942),
    (READS_FIRST, (LOAD, RAISE), GFX942),
    (CONSUMER, (SEE, INV, READ), GFX942),
    (CONSUMER, (SEE, WAIT, READ), GFX942),
    (WRITES_AFTER, (SEE, INV, (4, STORE[1])), GFX942),
    (GROUP, (SEE, WAIT, READ), SPLIT),
    (DEKKER, (MEETS[0], MEETS[2]), GFX942),
    (BARRIER, (MEET[0], *MEET[2:]), GFX942),
    (CONSUMER, SCALAR, GFX942),
    (WIDE, (STORE, OLD), GFX90A),
    (LOCK, (STORE, BACK, (4, "global_atomic_cmpswap_x2 v[8:9], v0, v[2:5], s[2:3] sc0")), GFX942),
)


@pytest.mark.parametrize(("source", "code", "mode"), BROKEN)
def test_what_is_broken_shows_on_the_machine(source: Lines, code: Lines, mode: Mode) -> None:
    (test,) = shown_by(source, code, mode)
    assert test is not None
    # What is written down is what was executed.
    features = ("tgsplit",) if mode.tgsplit else ()
    (again,) = read_string("found.mlir", test.text("k.s"), Lowering(mode.target, features))
    outcomes = again.run(Limits()).outcomes
    assert outcomes is not None
    assert not again.condition.verdict(outcomes)
    program = test.program()
    found = explore(CdnaEngine(program, test.configuration)).outcomes
    assert outcomes.project(program.observables()).states == found.states
    assert f"--mcpu {mode.target}" in test.command


@pytest.mark.parametrize(
    ("source", "code", "rule"),
    [
        (PRODUCER, PRODUCES, Rule.RELEASE),
        (CONSUMER, CONSUMES, Rule.ACQUIRE),
        (DEKKER, MEETS, Rule.SEQ_CST),
        (BARRIER, MEET, Rule.RELEASE),
    ],
)
def test_a_right_form_shows_nothing(source: Lines, code: Lines, rule: Rule) -> None:
    """The partner is right: else it would show, whatever the code is."""
    lifted = check(source, code).lifted
    assert lifted is not None
    accesses = [each for each in lifted.operations if each.kind.is_access]
    barriers = [each for each in lifted.operations if each.kind is OperationKind.BARRIER]
    scope = Scope.WORKGROUP if barriers else Scope.AGENT
    ends = (accesses[0], barriers[0] if barriers else accesses[-1])
    claimed = SourceFinding(0, rule, "k", "", earlier=ends[0], later=ends[1], scope=scope)
    assert counterexample(lifted, claimed) is None


def test_only_what_no_wait_counts_is_left_out() -> None:
    others = ((0, "global_load_dword v5, v0, s[6:7]"), (0, "ds_write_b32 v0, v1"))
    (small,) = shown_by(PRODUCER, (STORE, *others, WAIT, BACK, RAISE))
    assert small is not None
    assert [each.mnemonic for each in small.waves[0][1]] == [
        "global_store_dword", "s_waitcnt", "buffer_wbl2", "global_store_dword"]  # fmt: skip
    counted = (3, "s_waitcnt vmcnt(3)")
    (whole,) = shown_by(PRODUCER, (STORE, BACK, others[0], others[0], counted, RAISE))
    assert whole is not None
    assert len(whole.waves[0][1]) == 6


def test_what_the_machine_does_not_have_is_not_claimed() -> None:
    """What a load writes to LDS is not executed: the finding stands without a test."""
    source = (
        (1, "call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 "
            "4, i32 0, i32 0)"),
        *PRODUCER[1:],
    )  # fmt: skip
    assert shown_by(source, ((1, "global_load_lds_dword v[0:1], off"), RAISE)) == [None]
