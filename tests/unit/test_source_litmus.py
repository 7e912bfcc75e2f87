"""A finding against the source comes with a test that shows it, and a right form has none."""

from collections.abc import Sequence
from dataclasses import replace

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
    GFX1250,
    IN_CLUSTER,
    INV,
    LDS,
    MEET,
    MEETS,
    MET_IN_CLUSTER,
    PRODUCER,
    PRODUCES,
    RAISE,
    READ,
    SEE,
    SEEN_IN_CLUSTER,
    SPLIT,
    STORE,
    WAIT,
    Lines,
    asm,
    check,
    without,
)

from fencewright.checker.amd.accesses import Mode
from fencewright.checker.amd.comparison.counterexample import (
    Counterexample,
    UnshownError,
    counterexample,
)
from fencewright.checker.amd.guarantees import guarantees_of
from fencewright.checker.amd.state import code_of, solve
from fencewright.checker.findings.finding import Finding, Rule
from fencewright.checker.source.compare import Pair
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.rows import DEFAULT_READINGS, EVERY_READING
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.litmus_run import Limits
from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

GFX942 = Mode("gfx942", SPLIT.l2_per_agent, tgsplit=False)
ONE_L2 = Mode("gfx942", GFX90A.l2_per_agent, tgsplit=False)
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


def shown_by(source: Lines, code: Lines, mode: Mode = GFX942) -> list[Counterexample]:
    comparison = check(source, code, mode)
    comparer = comparison.comparer
    assert comparer is not None
    assert list(comparison.findings) == list(comparer.pairs)
    return [counterexample(comparer.lifted, *each) for each in comparer.pairs.items()]


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

# gfx1250, where each kind of access has a counter
STORED, LOADED = (3, "s_wait_storecnt 0x0"), (3, "s_wait_loadcnt 0x0")
STORE_1250 = (1, "global_store_b32 v0, v1, s[0:1]")
RAISE_1250 = (4, "global_store_b32 v0, v1, s[2:3] scope:SCOPE_DEV")
SEE_1250 = (1, "global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV")
READ_1250 = (4, "global_load_b32 v3, v0, s[0:1]")
BACK_1250, INV_1250 = (3, "global_wb scope:SCOPE_DEV"), (3, "global_inv scope:SCOPE_DEV")
SCALAR_1250 = ((0, "s_load_b128 s[0:3], s[4:5], 0x0"), SEE_1250, LOADED, INV_1250, LOADED,
    (4, "s_load_b32 s6, s[0:1], 0x0"))  # fmt: skip
RIGHT_1250 = (
    (PRODUCER, (STORE_1250, STORED, BACK_1250, STORED, RAISE_1250)),
    (READS_FIRST, ((1, "global_load_b32 v5, v0, s[0:1]"), LOADED, RAISE_1250)),
    (CONSUMER, (SEE_1250, LOADED, INV_1250, LOADED, READ_1250)),
    (DEKKER, ((1, "global_store_b32 v0, v1, s[0:1] scope:SCOPE_DEV"), STORED,
        (4, "global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV"))),
    (BARRIER, ((1, "ds_store_b32 v0, v1"), (3, "s_wait_dscnt 0x0"), (4, "s_barrier_signal -1"),
        (4, "s_barrier_wait -1"), (6, "ds_load_b32 v2, v0"))),
)  # fmt: skip
COPY = f"call void @llvm.amdgcn.global.load.async.to.lds.b32({DATA}, {LDS}, i32 0, i32 0)"
COPY_1250 = (1, "global_load_async_to_lds_b32 v4, v5, s[0:1]")
COPIED_1250 = (
    (((1, COPY), *BARRIER[1:]), (COPY_1250, (3, "s_wait_asynccnt 0x0"), *RIGHT_1250[4][1][2:])),
    ((*CONSUMER[:2], (4, COPY)), (*RIGHT_1250[2][1][:-1], (4, COPY_1250[1]))),
)
BROKEN_1250 = [
    (source, (*code[:place], *code[place + 1 :]), GFX1250)
    for source, code in (*RIGHT_1250, *COPIED_1250)
    for place, (line, _) in enumerate(code)
    if line == 3
]


@pytest.mark.parametrize(
    ("source", "code", "mode"), [*BROKEN, *BROKEN_1250, (CONSUMER, SCALAR_1250, GFX1250)]
)
def test_what_is_broken_shows_on_the_machine(source: Lines, code: Lines, mode: Mode) -> None:
    (test,) = shown_by(source, code, mode)
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
    ("form", "less", "is_open"),
    [
        (IN_CLUSTER, (1, 2, 3), False),
        (MET_IN_CLUSTER, (1, 2, 3), False),
        (MET_IN_CLUSTER, (10,), False),
        (SEEN_IN_CLUSTER, (1,), False),
        (SEEN_IN_CLUSTER, (2,), False),
        # What the documents leave open shows on the hardest machine.
        (IN_CLUSTER, (2, 3), True),
        (IN_CLUSTER, (1,), True),
        (MET_IN_CLUSTER, (2, 3), True),
        (MET_IN_CLUSTER, (3,), True),
    ],
)
def test_two_work_groups_of_a_cluster_show_it(
    form: tuple[Lines, Lines], less: Sequence[int], is_open: bool
) -> None:
    source, code = form
    (test,) = shown_by(source, without(code, *less), GFX1250)
    first, second = (place for place, _ in test.waves)
    assert first.shares(second, Scope.CLUSTER)
    assert not first.shares(second, Scope.WORKGROUP)
    assert (test.readings == EVERY_READING) is is_open
    assert ("--readings every" in test.command) is is_open
    (again,) = read_string(
        "found.mlir", test.text("k.s"), Lowering(test.mode.target, readings=test.readings)
    )
    outcomes = again.run(Limits()).outcomes
    assert outcomes is not None
    assert not again.condition.verdict(outcomes)
    if is_open:
        assert not replace(test, readings=DEFAULT_READINGS).shows()


# What a wave of tgsplit mode acquires at the agent and propagates inside its work-group

HANDS_ON = {
    "flag": (SEE, WAIT, INV, (5, "global_store_dword v0, v1, s[4:5]")),
    "barrier": (SEE, WAIT, INV, (5, "s_barrier")),
}


def handed_on(code: Lines, mode: Mode) -> Counterexample:
    """The test for the claim that the last instruction tells of the load too early."""
    assembly = read_assembly(asm(code, mode.target), "k.s")
    code_found = code_of(flow_of(assembly.functions["k"]), mode)
    lifted = guarantees_of(code_found, solve(code_found))
    operations = [each for each in lifted.operations if each.line]
    first = next(each for each in operations if each.is_vector_load)
    rule = Rule.CUMULATIVE_ACQUIRE
    return counterexample(lifted, Finding(0, rule, ""), Pair(first, operations[-1], Scope.AGENT))


@pytest.mark.parametrize("name", HANDS_ON)
def test_an_invalidate_that_is_not_waited_for_shows_to_a_mate(name: str) -> None:
    code = HANDS_ON[name]
    test = handed_on(code, SPLIT)
    assert len(test.waves) == 3
    lowering = Lowering(SPLIT.target, ("tgsplit",))
    (again,) = read_string("found.mlir", test.text("k.s"), lowering)
    outcomes = again.run(Limits()).outcomes
    assert outcomes is not None
    assert not again.condition.verdict(outcomes)
    with pytest.raises(UnshownError, match=r"none of the paths tried \(1\) shows it"):
        handed_on((*code[:-1], WAIT, code[-1]), SPLIT)
    with pytest.raises(UnshownError, match=r"none of the paths tried \(1\) shows it"):
        handed_on(code, GFX942)


RULES = (Rule.RELEASE, Rule.RELEASE, Rule.ACQUIRE, Rule.SEQ_CST, Rule.RELEASE)


@pytest.mark.parametrize(
    ("source", "code", "rule", "mode"),
    [
        (PRODUCER, PRODUCES, Rule.RELEASE, GFX942),
        (CONSUMER, CONSUMES, Rule.ACQUIRE, GFX942),
        (DEKKER, MEETS, Rule.SEQ_CST, GFX942),
        (BARRIER, MEET, Rule.RELEASE, GFX942),
        *((*right, rule, GFX1250) for right, rule in zip(RIGHT_1250, RULES, strict=True)),
    ],
)
def test_a_right_form_shows_nothing(source: Lines, code: Lines, rule: Rule, mode: Mode) -> None:
    """The partner is right: else it would show, whatever the code is."""
    comparison = check(source, code, mode)
    assert comparison.findings == ()
    assert comparison.comparer is not None
    lifted = comparison.comparer.lifted
    accesses = [each for each in lifted.operations if each.is_access]
    barriers = [each for each in lifted.operations if each.kind is Kind.BARRIER]
    scope = Scope.WORKGROUP if barriers else Scope.AGENT
    ends = (accesses[0], barriers[0] if barriers else accesses[-1])
    claimed, pair = Finding(0, rule, ""), Pair(*ends, scope)
    with pytest.raises(UnshownError, match=r"none of the paths tried \(1\) shows it"):
        counterexample(lifted, claimed, pair)


@pytest.mark.parametrize(
    ("source", "code", "mode"),
    [
        # A load that may be older than the one of the same location before it.
        (CONSUMER, ((1, "global_load_dword v2, v0, s[2:3]"), WAIT, INV, READ), GFX942),
        (CONSUMER, ((1, "global_load_b32 v2, v0, s[2:3]"), *RIGHT_1250[2][1][1:]), GFX1250),
        # Of two additions by different agents one is lost.
        (((4, f"%x = atomicrmw add {FLAG}, i32 1 monotonic, align 4"),),
            ((4, "global_atomic_add v0, v1, s[2:3]"),), ONE_L2),
    ],
)  # fmt: skip
def test_missing_scope_bits_show_on_the_machine(source: Lines, code: Lines, mode: Mode) -> None:
    (test,) = shown_by(source, code, mode)
    assert test.shows()
    bit = "scope:SCOPE_DEV" if mode is GFX1250 else "sc1"
    mended = [
        (
            place,
            tuple(
                replace(each, modifiers=(*each.modifiers, bit)) if each.line else each
                for each in wave
            ),
        )
        for place, wave in test.waves
    ]
    assert not replace(test, waves=tuple(mended)).shows()


def test_a_store_that_is_seen_late_is_no_outcome() -> None:
    with pytest.raises(UnshownError, match="a store that is seen late or never"):
        shown_by(PRODUCER, (STORE, BACK, WAIT, OLD))


def test_only_what_no_wait_counts_is_left_out() -> None:
    others = ((0, "global_load_dword v5, v0, s[6:7]"), (0, "ds_write_b32 v0, v1"))
    (small,) = shown_by(PRODUCER, (STORE, *others, WAIT, BACK, RAISE))
    assert [each.mnemonic for each in small.waves[0][1]] == [
        "global_store_dword", "s_waitcnt", "buffer_wbl2", "global_store_dword"]  # fmt: skip
    counted = (3, "s_waitcnt vmcnt(3)")
    (whole,) = shown_by(PRODUCER, (STORE, BACK, others[0], others[0], counted, RAISE))
    assert len(whole.waves[0][1]) == 6


def test_what_the_machine_does_not_have_is_not_claimed() -> None:
    """What a load writes to LDS is not executed: the finding stands without a test."""
    source = (
        (1, "call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 "
            "4, i32 0, i32 0)"),
        *PRODUCER[1:],
    )  # fmt: skip
    with pytest.raises(UnshownError, match="does not execute global_load_lds_dword"):
        shown_by(source, ((1, "global_load_lds_dword v[0:1], off"), RAISE))


def test_copies_that_nothing_waits_for_are_left_out_before_it_runs() -> None:
    """Each would be an agent of its own, of which the machine follows no more than eight."""
    (source, code) = COPIED_1250[0]
    many = [*[(1, COPY_1250[1])] * 12, code[0], *code[2:]]
    test, *_ = shown_by([*[(1, source[0][1])] * 12, *source], many, GFX1250)
    assert [each.mnemonic for each in test.waves[0][1] if each.source] == [COPY_1250[1].split()[0]]
    counted = [*[(1, COPY_1250[1])] * 12, code[0], (3, "s_wait_asynccnt 0xd"), *code[2:]]
    with pytest.raises(UnshownError, match="more than 8 copies may be outstanding"):
        shown_by([*[(1, source[0][1])] * 12, *source], counted, GFX1250)
