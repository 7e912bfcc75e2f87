"""The CDNA machine's rules one by one, and the errors for programs that no chip could run."""

import pytest
from cdna_cases import BY_NAME

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import ACCESS, ACCESS_KINDS, CACHE, CdnaConfiguration
from fencewright.simulator.cdna.trace import find_counterexample
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.exploration import (
    Exploration,
    LimitReached,
    explore,
    random_walks,
    shortest_trace,
)
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    MemoryKind,
    Move,
    Placement,
    Program,
    ProgramError,
    Thread,
)

GFX90A = CdnaConfiguration("gfx90a")
ONE_L2 = CdnaConfiguration(l2_per_agent=L2PerAgent.ONE)
X, Y = Location("x"), Location("y")
S, T = (Location(name, space=AddressSpace.LOCAL) for name in "st")
HERE, FAR = Placement(0), Placement(1, xcd=1)
Code = tuple[CdnaInstruction, ...]


def program(
    *threads: tuple[Placement, Code],
    locations: tuple[Location, ...] = (X, Y),
    observed: tuple[Observable, ...] | None = None,
) -> CdnaProgram:
    return Program(locations, tuple(Thread(p, c) for p, c in threads), observed, "test")


def run(of: CdnaProgram, on: CdnaConfiguration | None = None) -> Exploration:
    """The exploration by the plain machine, which the engine has to equal."""
    plain, engine = explore(CdnaMachine(of, on)), explore(CdnaEngine(of, on))
    assert plain.outcomes == engine.outcomes
    assert plain.errors == engine.errors
    return plain


def alone(*code: CdnaInstruction, locations: tuple[Location, ...] = (X, Y)) -> Exploration:
    return run(program((HERE, code), locations=locations))


def values(found: Exploration, name: str) -> set[int | None]:
    """The final values of register ``name`` of thread 0, or of a location."""
    seen = found.outcomes.as_mappings()
    location, register = Memory(name), Register(0, name)
    key: Observable = location if location in found.outcomes.observables else register
    return {each[key] for each in seen}


# Waves.


def test_arithmetic_and_branches():
    found = alone(
        Move("i", 3),
        Label("loop"),
        Arithmetic(ArithmeticKind.ADD, "sum", "sum", "i"),
        Arithmetic(ArithmeticKind.SUB, "i", "i", 1),
        Branch("loop", "i"),
        Arithmetic(ArithmeticKind.EQ, "six", "sum", 6),
        Branch("end", "six", unless=True),
        VectorStore("x", "sum"),
        Label("end"),
    )
    assert values(found, "x") == {6}
    assert values(found, "six") == {1}


@pytest.mark.parametrize(
    ("kind", "old", "operand", "new"),
    [
        (RmwKind.XCHG, 1, 5, 5),
        (RmwKind.ADD, 0xFFFFFFFF, 2, 1),
        (RmwKind.SUB, 0, 1, 0xFFFFFFFF),
        (RmwKind.NAND, 6, 3, 0xFFFFFFFD),
        (RmwKind.MAX, 0xFFFFFFFF, 1, 1),
        (RmwKind.UMAX, 0xFFFFFFFF, 1, 0xFFFFFFFF),
        (RmwKind.MIN, 0xFFFFFFFF, 1, 0xFFFFFFFF),
        (RmwKind.UMIN, 0xFFFFFFFF, 1, 1),
        (RmwKind.UINC_WRAP, 3, 3, 0),
        (RmwKind.UINC_WRAP, 2, 3, 3),
        (RmwKind.UDEC_WRAP, 0, 3, 3),
        (RmwKind.UDEC_WRAP, 5, 3, 3),
        (RmwKind.UDEC_WRAP, 2, 3, 1),
    ],
)
def test_atomic_kinds(kind: RmwKind, old: int, operand: int, new: int):
    found = alone(Atomic(kind, "x", operand, "r", ("sc0",)), locations=(Location("x", old),))
    assert values(found, "x") == {new}
    assert values(found, "r") == {old}


@pytest.mark.parametrize(("compare", "new"), [(1, 7), (2, 1)])
def test_compare_swap(compare: int, new: int):
    swap = CompareSwap("x", compare, 7, "r", ("sc0",))
    assert values(alone(swap, locations=(Location("x", 1),)), "x") == {new}


@pytest.mark.parametrize(
    "code",
    [
        (VectorLoad("r", "x"), VectorStore("y", "r")),
        (VectorLoad("r", "x"), VectorLoad("q", "y"), Wait(vmcnt=2), VectorStore("y", "r")),
        (VectorLoad("r", "x"), Wait(lgkmcnt=0), VectorStore("y", "r")),
        (VectorLoad("r", "x", segment=Segment.FLAT), Wait(vmcnt=0), VectorStore("y", "r")),
        (
            VectorLoad("r", "x", segment=Segment.FLAT),
            VectorLoad("q", "y"),
            Wait(1, 0),
            VectorStore("y", "r"),
        ),
        (ScalarLoad("r", "x"), ScalarLoad("q", "x"), Wait(lgkmcnt=1), VectorStore("y", "r")),
        (VectorLoad("r", "x"), Move("r", 1)),
        (VectorLoad("r", "x"), Branch("end", "r"), Label("end")),
    ],
)
def test_unwaited_register_is_an_error(code: Code):
    (error,) = alone(*code).errors
    assert error.startswith("P0: unwaited register r ")
    assert "no s_waitcnt covers instruction 0" in error


@pytest.mark.parametrize(
    "code",
    [
        (VectorLoad("r", "x"), Wait(vmcnt=0), VectorStore("y", "r")),
        (VectorLoad("r", "x"), VectorLoad("q", "y"), Wait(vmcnt=1), VectorStore("y", "r")),
        (VectorLoad("r", "x"), VectorStore("y", 1), Wait(vmcnt=1), VectorStore("y", "r")),
        (
            VectorLoad("r", "x"),
            CacheInstruction("buffer_inv", ("sc1",)),
            Wait(vmcnt=1),
            VectorStore("y", "r"),
        ),
        (VectorLoad("r", "x", segment=Segment.FLAT), Wait(0, 0), VectorStore("y", "r")),
        (ScalarLoad("r", "x"), Wait(lgkmcnt=0), VectorStore("y", "r")),
        (VectorLoad("r", "x"), VectorLoad("r", "y"), Wait(vmcnt=0), VectorStore("y", "r")),
        (VectorStore("y", "r"),),
    ],
)
def test_waited_register_is_none(code: Code):
    assert not alone(*code).errors


def test_error_in_one_wave_does_not_hide_the_other():
    bad: Code = (VectorLoad("r", "x"), VectorStore("y", "r"))
    found = run(program((HERE, bad), (FAR, bad)))
    assert {each[:3] for each in found.errors} == {"P0:", "P1:"}
    assert not found.outcomes.states


def test_lds_counts_in_order():
    reads: Code = (
        VectorLoad("r", "s", segment=Segment.LDS),
        VectorLoad("q", "t", segment=Segment.LDS),
        Wait(lgkmcnt=1),
        VectorStore("t", "r", segment=Segment.LDS),
    )
    assert not alone(*reads, locations=(S, T)).errors


def test_l1_invalidate_is_not_counted_on_gfx90a():
    """vmcnt(1) after two loads and an L1 invalidate covers the first load, not both."""
    code: Code = (
        VectorLoad("r", "x"),
        CacheInstruction("buffer_wbinvl1_vol"),
        VectorLoad("q", "y"),
    )
    use: Code = (Wait(vmcnt=1), VectorStore("y", "r"))
    assert not run(program((HERE, (*code, *use))), GFX90A).errors


# Memory.


def test_final_memory_of_two_dirty_copies_is_either():
    found = run(program((HERE, (VectorStore("x", 1),)), (FAR, (VectorStore("x", 2),))))
    assert values(found, "x") == {1, 2}


def test_final_memory_of_one_copy_is_its_last_store():
    assert values(alone(VectorStore("x", 1), VectorStore("x", 2)), "x") == {2}


def test_dirty_copy_can_overwrite_what_passed_it_by():
    """False sharing of a line between scopes: the write-back comes after the wider store."""
    found = run(program((HERE, (VectorStore("x", 1),)), (FAR, (VectorStore("x", 2, ("sc1",)),))))
    assert values(found, "x") == {1, 2}


def test_uncached_memory_is_never_dirty():
    uncached = (Location("x", kind=MemoryKind.UNCACHED),)
    code: Code = (VectorStore("x", 1), Wait(vmcnt=0), VectorStore("y", 1, ("sc1",)))
    reader: Code = (VectorLoad("f", "y", ("sc1",)), Wait(0), VectorLoad("r", "x", ("sc1",)))
    of = program((HERE, code), (FAR, reader), locations=(*uncached, Y))
    seen = run(of).outcomes.as_mappings()
    assert {each[Register(1, "r")] for each in seen if each[Register(1, "f")]} == {1}


def test_scalar_load_on_its_way_is_not_covered_by_a_later_invalidate():
    """The load may still be served from the scalar cache as it was before the invalidate."""
    writer: Code = (VectorStore("x", 1), Wait(vmcnt=0), VectorStore("y", 1, ("sc1",)))
    flag: Code = (VectorLoad("f", "y", ("sc1",)), Wait(vmcnt=0))
    scalar: Code = (ScalarLoad("r", "x"), CacheInstruction("s_dcache_inv"))
    near = Placement(1, cu=1)
    seen = run(program((HERE, writer), (near, (*flag, *scalar)))).outcomes.as_mappings()
    assert {each[Register(1, "r")] for each in seen if each[Register(1, "f")]} == {0, 1}
    seen = run(program((HERE, writer), (near, (*flag, *reversed(scalar))))).outcomes.as_mappings()
    assert {each[Register(1, "r")] for each in seen if each[Register(1, "f")]} == {1}


def test_observed_limits_what_outcomes_tell():
    of = program((HERE, (VectorStore("x", 1), VectorLoad("r", "y"))), observed=(Memory("x"),))
    assert run(of).outcomes.states == {(1,)}


# Exploration.


def test_limit_gives_an_incomplete_answer():
    found = explore(CdnaMachine(BY_NAME["mp-agent"].test.program), limit=100)
    assert not found.complete
    assert found.note == f"limit reached after {found.states} states"
    assert 100 < found.states < 200


def test_random_walks_are_never_complete():
    of = BY_NAME["sb"].test.program
    every = explore(CdnaEngine(of)).outcomes.states
    walked = random_walks(CdnaMachine(of), walks=200, seed=1)
    assert not walked.complete
    assert "incomplete" in str(walked)
    assert walked.outcomes.states <= every
    assert len(walked.outcomes.states) > 1
    assert walked == random_walks(CdnaMachine(of), walks=200, seed=1)


def test_trace_of_the_missing_wait():
    """The counterexample for people; the forbidden load is served before the store arrives."""
    case = BY_NAME["mp-agent-cheap-without-wait"]
    found = find_counterexample(case.test.program, case.test.condition.formula)
    assert found is not None
    text = str(found)
    flag, data = (
        text.index("global_store f, 1 sc1 performed"),
        text.index("global_store x, 1 sc1 p"),
    )
    assert flag < data
    assert text.splitlines()[-1].split() == ["P1:r0=1", "P1:r1=0", "x=1", "f=1"]
    assert len(found.trace.states) == len(found.trace.events) + 1


def test_no_trace_to_what_is_forbidden():
    case = BY_NAME["mp-agent"]
    assert find_counterexample(case.test.program, case.test.condition.formula) is None


def test_trace_search_is_bounded():
    with pytest.raises(LimitReached, match="limit reached after"):
        shortest_trace(CdnaMachine(BY_NAME["mp-agent"].test.program), lambda _: False, limit=50)


# What no chip could run.


@pytest.mark.parametrize(
    ("code", "on", "message"),
    [
        ((VectorLoad("r", "z"),), None, "no location 'z'; known are x, y"),
        ((VectorLoad("r", "x", ("glc",)),), None, "gfx942: load glc: the chip has no glc bit"),
        (
            (VectorLoad("r", "x", ("sc1",)),),
            GFX90A,
            "the chip has no sc0 and sc1 bits; accepted: glc",
        ),
        ((VectorLoad("r", "x", ("lwe",)),), None, "unknown cache policy bits 'lwe'"),
        ((VectorLoad("r", "x", ("dlc",)),), None, "the chip has no dlc bit"),
        ((CacheInstruction("buffer_invl2"),), None, "buffer_invl2: not on this chip"),
        ((CacheInstruction("buffer_gl2_inv"),), None, "unknown cache instruction"),
        ((CacheInstruction("buffer_gl0_inv"),), None, "buffer_gl0_inv: not on this chip"),
        ((Atomic(RmwKind.ADD, "x", 1, "r"),), None, "asks for the old value"),
        ((Atomic(RmwKind.ADD, "x", 1, None, ("sc0",)),), None, "asks for the old value"),
        ((Atomic(RmwKind.FADD, "x", 1),), None, "fadd is not integer arithmetic"),
        ((VectorLoad("r", "x", segment=Segment.LDS),), None, "x is not in LDS"),
        ((VectorLoad("r", "s"),), None, "s is in LDS: use a ds_ or flat access"),
        ((ScalarLoad("r", "s"),), None, "s is in LDS"),
        (
            (VectorLoad("r", "s", segment=Segment.LDS),),
            CdnaConfiguration(tgsplit=True),
            "no LDS in tgsplit",
        ),
        ((Branch("end"),), None, "no label 'end'"),
        ((Label("a"), Label("a")), None, "label 'a' stands twice"),
        ((VectorStore("x", 1 << 32),), None, "does not fit 32 bits"),
    ],
)
def test_program_errors(code: Code, on: CdnaConfiguration | None, message: str):
    locations = (X, Y, S) if "LDS" in message else (X, Y)
    with pytest.raises(ProgramError, match=message.replace("(", r"\(")):
        CdnaMachine(program((HERE, code), locations=locations), on)


@pytest.mark.parametrize(
    ("places", "on", "message"),
    [
        ((Placement(0), Placement(0, cu=1)), None, "work-group 0 is spread over CUs"),
        ((Placement(0), Placement(0, xcd=1)), None, "work-group 0 is spread over XCDs"),
        ((Placement(0), Placement(0, agent=1)), None, "work-group 0 is spread over agents"),
        ((Placement(0), Placement(1, xcd=1)), ONE_L2, "one XCD per agent"),
    ],
)
def test_placement_errors(
    places: tuple[Placement, ...], on: CdnaConfiguration | None, message: str
):
    with pytest.raises(ProgramError, match=message):
        CdnaMachine(program(*((place, ()) for place in places)), on)


def test_configuration_errors():
    with pytest.raises(ProgramError, match="unknown chip 'gfx1310'; known are gfx908"):
        CdnaConfiguration("gfx1310")
    many = CdnaConfiguration("gfx90a", l2_per_agent=L2PerAgent.MANY)
    with pytest.raises(ProgramError, match="one L2 per agent"):
        CdnaMachine(program((HERE, (VectorStore("x", 1),))), many)


def test_location_errors():
    with pytest.raises(ProgramError, match="two locations have one name"):
        CdnaMachine(program(locations=(X, X)))
    with pytest.raises(ProgramError, match="not private"):
        CdnaMachine(program(locations=(Location("p", space=AddressSpace.PRIVATE),)))
    foreign = Location("s", space=AddressSpace.LOCAL, workgroup=3)
    with pytest.raises(ProgramError, match="LDS of work-group 3"):
        CdnaMachine(
            program((HERE, (VectorLoad("r", "s", segment=Segment.LDS),)), locations=(foreign,))
        )
    with pytest.raises(ProgramError, match="no register P0:nope"):
        CdnaMachine(program((HERE, ()), observed=(Register(0, "nope"),)))


def test_every_row_says_where_it_is_written():
    for table in (ACCESS, CACHE):
        assert all(row.source for _, row in table.items())


@pytest.mark.parametrize("access", ACCESS_KINDS)
@pytest.mark.parametrize("bits", [(), ("sc0",), ("sc1",), ("sc0", "sc1")])
def test_hints_change_nothing(access: Kind, bits: tuple[str, ...]):
    gfx942 = CdnaConfiguration()
    assert gfx942.access_effect(access, bits) == gfx942.access_effect(access, (*bits, "nt"))
