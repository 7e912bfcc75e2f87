"""Lowered programs: the machine executes the sequences, with the weakest waits for data."""

import pytest

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Instruction, Sequence, Target, UnsupportedError, operands
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Phase, RmwKind, Scope
from fencewright.simulator.certify.certificate import machines_of, source_outcomes
from fencewright.simulator.certify.programs.cdna import cdna_program
from fencewright.simulator.certify.programs.code import Code, lower_program, request_of
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Move,
    Placement,
    Program,
    ProgramError,
    Thread,
)
from fencewright.simulator.ptx import events as ptx
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedProgram,
    Store,
)

AGENT, RELEASE, ACQUIRE = Scope.AGENT, Ordering.RELEASE, Ordering.ACQUIRE
RELAXED = Ordering.RELAXED
GFX942, SM_90 = Target("gfx942"), Target("sm_90", ptx_version=(8, 6))
LDS = Location("s", space=AddressSpace.LOCAL)


def one_thread(*code: ScopedInstruction) -> ScopedProgram:
    locations = (Location("x"), Location("f"), LDS)
    return Program(locations, (Thread(Placement(), code),))


def lowered(
    *code: ScopedInstruction, mode: Target = GFX942, generic: frozenset[str] = frozenset()
) -> Code:
    return lower_program(one_thread(*code), mode, lower_request, generic)


def cdna_text(*code: ScopedInstruction, generic: frozenset[str] = frozenset()) -> list[str]:
    (thread,) = cdna_program(lowered(*code, generic=generic)).threads
    return [str(each) for each in thread.instructions]


def test_sequences_are_executed_in_order():
    assert cdna_text(Store("x", 1), Store("f", 1, RELEASE, AGENT)) == [
        "global_store x, 1",
        "buffer_wbl2 sc1",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "global_store f, 1 sc1",
    ]
    assert cdna_text(Load("r0", "f", ACQUIRE, AGENT), Load("r1", "x")) == [
        "global_load r0, f sc1",
        "s_waitcnt vmcnt(0)",
        "buffer_inv sc1",
        "global_load r1, x",
    ]


def test_wait_for_data_is_the_weakest_that_delivers_it():
    code = (Load("r0", "f"), Load("r1", "x"), Move("r2", "r0"), Move("r3", "r1"))
    assert cdna_text(*code) == [
        "global_load r0, f",
        "global_load r1, x",
        "s_waitcnt vmcnt(1)",
        "mov r2, r0",
        "s_waitcnt vmcnt(0)",
        "mov r3, r1",
    ]


def test_write_back_counts_and_invalidate_does_not():
    """Were an invalidate counted that does not count, the wait would come too early."""
    waited = cdna_text(Load("r0", "f"), Fence(Ordering.ACQ_REL, AGENT), Move("r1", "r0"))
    assert waited[-1] == "mov r1, r0"
    assert waited[-2] == "buffer_inv sc1"
    unwaited = cdna_text(
        Load("r0", "f"), Fence(ACQUIRE, AGENT, spaces=frozenset({AddressSpace.LOCAL}))
    )
    assert unwaited == ["global_load r0, f", "s_waitcnt lgkmcnt(0)"]


def test_nothing_is_waited_for_twice():
    code = (Load("r0", "f", ACQUIRE, AGENT), Branch("end", "r0"), Label("end"))
    assert cdna_text(*code).count("s_waitcnt vmcnt(0)") == 1


def test_where_paths_join_everything_is_waited_for():
    code = (
        Load("r0", "f"),
        Load("r1", "x"),
        Branch("end", "r0"),
        Store("f", 2),
        Label("end"),
        Move("r2", "r1"),
    )
    assert cdna_text(*code)[-2:] == ["s_waitcnt vmcnt(0)", "mov r2, r1"]


def test_flat_accesses_are_waited_for_in_both_counters():
    flat = frozenset({"s"})
    code = (Load("r0", "s"), Load("r1", "x"), Move("r2", "r0"))
    assert cdna_text(*code, generic=flat) == [
        "flat_load r0, s",
        "global_load r1, x",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "mov r2, r0",
    ]


def test_lds_and_atomics():
    code = (
        Store("s", 1),
        AtomicRmw(RmwKind.ADD, "s", 1, RELAXED, Scope.WORKGROUP, "r0"),
        AtomicRmw(RmwKind.ADD, "x", "r0", RELAXED, AGENT),
        Barrier(Scope.WORKGROUP),
    )
    assert cdna_text(*code) == [
        "ds_write s, 1",
        "ds_add r0, s, 1",
        "s_waitcnt lgkmcnt(0)",
        "global_atomic_add x, r0",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "s_barrier",
    ]


def test_compare_exchange_tells_its_success():
    cas = Cmpxchg("x", 0, 1, RELAXED, RELAXED, AGENT, success="won")
    assert cdna_text(cas) == [
        "global_atomic_cmpswap won.old, x, 1, 0 sc0",
        "s_waitcnt vmcnt(0)",
        "eq won, won.old, 0",
    ]


@pytest.mark.parametrize("mode", [GFX942, SM_90], ids=str)
def test_outcomes_tell_the_success_of_a_compare_exchange(mode: Target):
    """Whether or not the old value is asked for as well, in every model."""
    for dst in (None, "r0"):
        for expected, success in ((0, 1), (5, 0)):
            code = (Cmpxchg("x", expected, 1, RELAXED, RELAXED, AGENT, dst, success="won"),)
            lowering = lowered(*code, mode=mode)
            allowed = source_outcomes(lowering.program)
            assert allowed is not None
            assert {state[Register(0, "won")] for state in allowed.as_mappings()} == {success}
            (machine, *_) = machines_of(mode)
            assert machine.outcomes(lowering) == allowed


def test_a_sequence_can_be_replaced_at_one_place():
    code = lowered(Store("x", 1), Store("f", 1, RELEASE, AGENT))
    weaker = Sequence(code.sequences[0, 1].instructions[-1:])
    (thread,) = cdna_program(code.with_sequence((0, 1), weaker)).threads
    assert [str(each) for each in thread.instructions] == [
        "global_store x, 1",
        "global_store f, 1 sc1",
    ]


def test_unknown_instructions_are_refused():
    strange = Sequence((Instruction("s_sleep", operands("1"), phase=Phase.WAIT, source="test"),))
    code = lowered(Fence(RELEASE, AGENT)).with_sequence((0, 0), strange)
    with pytest.raises(ProgramError, match="no 's_sleep 1'"):
        cdna_program(code)
    code = lowered(Fence(RELEASE, AGENT), mode=SM_90).with_sequence((0, 0), strange)
    with pytest.raises(ProgramError, match="does not cover 's_sleep 1'"):
        ptx_program(code)


def test_what_the_target_lacks_is_refused():
    with pytest.raises(UnsupportedError, match="s_barrier joins"):
        lowered(Barrier(AGENT))


def test_request_of_says_all_that_the_operation_does():
    spaces = frozenset({AddressSpace.GLOBAL})
    request = request_of(Fence(RELEASE, AGENT, spaces=spaces, one_as=True), GFX942)
    assert (request.spaces, request.one_as, request.space) == (spaces, True, None)
    cas = Cmpxchg("x", 0, 1, RELEASE, ACQUIRE, AGENT)
    request = request_of(cas, GFX942, AddressSpace.GLOBAL)
    assert (request.failure_ordering, request.returns) == (ACQUIRE, False)


def test_ptx():
    code = (
        Store("x", 1),
        Fence(Ordering.SEQ_CST, AGENT),
        AtomicRmw(RmwKind.XCHG, "f", 1, Ordering.ACQ_REL, Scope.SYSTEM, "r0"),
        Load("r1", "s", ACQUIRE, Scope.WORKGROUP),
        Branch("end", "r1", unless=True),
        Arithmetic(ArithmeticKind.SUB, "r2", "r1", 1),
        Label("end"),
        Barrier(Scope.CLUSTER),
    )
    (thread,) = ptx_program(lowered(*code, mode=SM_90)).threads
    assert thread.instructions == (
        ptx.St("x", 1),
        ptx.PtxFence(Ordering.SEQ_CST, AGENT),
        ptx.Atom("r0", "f", RmwKind.XCHG, 1, None, Ordering.ACQ_REL, Scope.SYSTEM),
        ptx.Ld("r1", "s", ACQUIRE, Scope.WORKGROUP),
        *code[4:7],
        ptx.ClusterBarrier(ptx.BarrierRole.ARRIVE, RELEASE),
        ptx.ClusterBarrier(ptx.BarrierRole.WAIT, ACQUIRE),
    )


def test_ptx_loops():
    nand = AtomicRmw(RmwKind.NAND, "x", 1, RELAXED, AGENT, "r0")
    (thread,) = ptx_program(lowered(nand, mode=SM_90)).threads
    assert thread.instructions[0] == ptx.Ld("r0", "x", RELAXED, AGENT)
    (swap,) = (each for each in thread.instructions if isinstance(each, ptx.Atom))
    assert (swap.dst, swap.ordering, swap.scope) == ("r0", RELAXED, AGENT)
    assert isinstance(thread.instructions[-1], Branch)


def test_ptx_loops_of_other_values_are_refused():
    fmax = AtomicRmw(RmwKind.FMAX, "x", 1, RELAXED, AGENT, "r0")
    with pytest.raises(ProgramError, match="does not cover 'max"):
        ptx_program(lowered(fmax, mode=SM_90))


def test_mode_names():
    assert str(Target("gfx942", frozenset({"tgsplit"}))) == "gfx942-tgsplit"
    assert str(SM_90) == "sm_90-ptx8.6"
