"""Equal waves change places: the outcomes of the engine, from one of several equal states."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import pytest
from campaigns import Share, draws
from cdna_cases import BY_NAME
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from test_cdna_engine import CONFIGURATIONS, KINDS, RANDOM, memory_instructions, placements

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna import symmetry
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.symmetry import (
    Sorted,
    SymmetricEngine,
    Tried,
    automorphism_of,
    automorphisms,
    group_of,
    interchangeable,
)
from fencewright.simulator.cdna.system import State
from fencewright.simulator.cdna.wave import CompiledProgram
from fencewright.simulator.core.condition import Memory
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, Placement, Program, Thread

EXAMPLES = 2_000 if "FENCEWRIGHT_THOROUGH" in os.environ else 200
GFX942 = CdnaConfiguration("gfx942")
X, Y = Location("x"), Location("y")
Code = tuple[CdnaInstruction, ...]

COUNT: Code = (Atomic(RmwKind.ADD, "x", 1, "r", ("sc0",)), Wait(0))
"""Adds 1, and says how many came before."""


def far(number: int) -> Placement:
    """A work-group on an XCD of its own."""
    return Placement(number, 0, number)


def program(
    *threads: tuple[Placement, Code], locations: tuple[Location, ...] = (X,)
) -> CdnaProgram:
    return Program(locations, tuple(Thread(place, code) for place, code in threads))


def compiled(of: CdnaProgram, on: CdnaConfiguration = GFX942) -> CompiledProgram:
    return CompiledProgram(of, on)


def compare(of: CdnaProgram, on: CdnaConfiguration = GFX942) -> tuple[int, int]:
    """Fail where the outcomes differ; how many states both have."""
    plain, reduced = explore(CdnaEngine(of, on)), explore(SymmetricEngine(of, on))
    assert reduced.complete
    assert reduced.outcomes == plain.outcomes
    assert reduced.errors == plain.errors
    return plain.states, reduced.states


# What is equal


def ring(count: int) -> CdnaProgram:
    """Each of several waves writes its own location, and reads that of the next."""
    names = [f"x{n}" for n in range(count)]
    return program(
        *(
            (
                far(n),
                (
                    VectorStore(names[n], 1, ("sc1",)),
                    Wait(0),
                    VectorLoad("r", names[(n + 1) % count], ("sc1",)),
                    Wait(0),
                ),
            )
            for n in range(count)
        ),
        locations=tuple(map(Location, names)),
    )


def test_waves_that_run_one_kernel_on_equal_places_are_interchangeable() -> None:
    assert interchangeable(compiled(program(*((far(n), COUNT) for n in range(3))))) == [[0, 1, 2]]
    apart = program((far(0), COUNT), (far(1), COUNT), (far(2), COUNT[:1]))
    assert interchangeable(compiled(apart)) == [[0, 1], [2]]


def test_waves_at_places_that_differ_are_not() -> None:
    """The first has a mate on its CU, or on its XCD; the second has none."""
    for mate in (Placement(5, 0, 0), Placement(5, 1, 0)):
        with_mate = program((far(0), COUNT), (far(1), COUNT), (mate, COUNT[:1]))
        assert interchangeable(compiled(with_mate)) == [[0], [1], [2]]


def test_a_ring_has_its_rotations() -> None:
    assert len(automorphisms(compiled(ring(5)))) == 5
    assert [each.lines for each in automorphisms(compiled(ring(2)))].count((1, 0)) == 1
    assert isinstance(group_of(compiled(ring(4))), Tried)


def test_where_there_are_too_many_none_is_tried() -> None:
    """Two rings beside each other, of seven waves each, or eight waves in any order."""
    every = compiled(program(*((far(n), COUNT) for n in range(6))))
    assert [each.is_identity for each in automorphisms(every, most=100)] == [True]


def test_locations_keep_their_initial_values_and_kinds() -> None:
    two = [(far(0), (VectorStore("x", 1),)), (far(1), (VectorStore("y", 1),))]
    assert interchangeable(compiled(program(*two, locations=(X, Y)))) == [[0, 1]]
    assert interchangeable(compiled(program(*two, locations=(X, replace(Y, initial=1))))) == [
        [0],
        [1],
    ]


def test_all_orders_are_looked_at_only_where_outcomes_tell_waves_apart() -> None:
    waves = program(*((far(n), COUNT) for n in range(8)))
    told = group_of(compiled(waves))
    assert isinstance(told, Sorted)
    assert told.is_observed
    assert sorted(map(len, told.classes)) == [4, 4]
    alike = group_of(compiled(replace(waves, observed=(Memory("x"),))))
    assert isinstance(alike, Sorted)
    assert not alike.is_observed
    assert list(map(len, alike.classes)) == [8]


# That it changes nothing


@st.composite
def symmetric_programs(draw: st.DrawFn) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Two or three copies of one wave anywhere, or two of its mirror image, and perhaps another wave."""
    on = draw(st.sampled_from(CONFIGURATIONS))
    copies = draw(st.sampled_from((2, 2, 3)))
    others = draw(st.sampled_from((0, 0, 1))) if copies == 2 else 0
    places = draw(placements(copies + others, on))
    if draw(st.booleans()):
        one = on.l2_per_agent is L2PerAgent.ONE
        places = [Placement(n, n if one else 0, 0 if one else n) for n in range(copies + others)]
    lds = not on.tgsplit and len({each.workgroup for each in places}) == 1 and draw(st.booleans())
    locations = [Location(name, 0, draw(st.sampled_from(KINDS))) for name in "xy"]
    if lds:
        locations.append(Location("s", space=AddressSpace.LOCAL, workgroup=places[0].workgroup))
    size = draw(st.integers(1, 4 if copies == 2 and not others else 2))
    codes = [draw(instructions(on.chip, size, lds=lds))] * copies
    if copies == 2 and draw(st.booleans()):
        codes[1] = tuple(map(mirrored, codes[1]))
    codes += [draw(instructions(on.chip, 2, lds=lds)) for _ in range(others)]
    threads = [(place, code) for place, code in zip(places, codes, strict=True)]
    return program(*threads, locations=tuple(locations)), on


@st.composite
def instructions(draw: st.DrawFn, chip: str, most: int, *, lds: bool) -> Code:
    """A few instructions, each with a register and a value of its own."""
    size = draw(st.integers(1, most))
    return tuple(draw(memory_instructions(chip, f"r{n}", n + 1, lds)) for n in range(size))


def mirrored(instruction: CdnaInstruction) -> CdnaInstruction:
    """With x and y in each other's place."""
    match instruction:
        case (
            VectorLoad(location=("x" | "y") as location)
            | VectorStore(location=("x" | "y") as location)
            | Atomic(location=("x" | "y") as location)
            | CompareSwap(location=("x" | "y") as location)
            | ScalarLoad(location=("x" | "y") as location)
        ):
            return replace(instruction, location="y" if location == "x" else "x")
        case _:
            return instruction


@pytest.mark.parametrize("share", draws(12))
def test_outcomes_are_those_of_the_engine(share: Share) -> None:
    @seed(share.number)
    @settings(RANDOM, max_examples=EXAMPLES // share.count)
    @given(symmetric_programs())
    def check(example: tuple[CdnaProgram, CdnaConfiguration]) -> None:
        compare(*example)

    check()


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_outcomes_of_the_named_cases(name: str) -> None:
    case = BY_NAME[name]
    compare(case.test.program, case.configuration)


def test_lds_and_barriers_of_mates_that_are_equal() -> None:
    mates: Code = (
        Atomic(RmwKind.ADD, "s", 1, "r", segment=Segment.LDS),
        Wait(lgkmcnt=0),
        WorkgroupBarrier(),
        *COUNT,
    )
    lds = Location("s", space=AddressSpace.LOCAL, workgroup=0)
    three = program(*((Placement(), mates) for _ in range(3)), locations=(X, lds))
    plain, reduced = compare(three)
    assert reduced < plain
    two = [replace(lds, name=f"s{n}", workgroup=n) for n in range(2)]
    groups = program(
        *(
            (far(n), (Atomic(RmwKind.ADD, f"s{n}", 1, "r", segment=Segment.LDS), *COUNT[:1]))
            for n in range(2)
        ),
        locations=(X, *two),
    )
    assert interchangeable(compiled(groups)) == [[0, 1]]
    compare(groups)


@pytest.mark.parametrize(
    ("of", "most"),
    [
        (program(*((far(n), COUNT) for n in range(5))), 120),
        (ring(6), 200),
        (ring(8), 700),
    ],
)
def test_states_stay_few(of: CdnaProgram, most: int) -> None:
    plain, reduced = compare(of)
    assert reduced <= most < plain


# That a mistake is seen


class ForgetsOthers(SymmetricEngine):
    """The outcomes of the representative alone."""

    def final(self, state: State) -> list[tuple[int, ...]]:
        return CdnaEngine.final(self, state)


class ForgetsErrors(SymmetricEngine):
    """The errors of the representative alone."""

    def errors(self, state: State) -> list[str]:
        return CdnaEngine.errors(self, state)


def test_outcomes_of_the_others_count() -> None:
    two = program((far(0), COUNT), (far(1), COUNT))
    assert explore(CdnaEngine(two)).outcomes.states == {(0, 1, 2), (1, 0, 2)}
    assert len(explore(ForgetsOthers(two)).outcomes.states) == 1


def test_errors_of_the_others_count() -> None:
    """The second of two waves uses what it has not waited for, whichever that is."""
    unwaited: Code = (
        *COUNT,
        Branch("end", "r", unless=True),
        VectorLoad("q", "x"),
        VectorStore("x", "q"),
        Label("end"),
    )
    two = program((far(0), unwaited), (far(1), unwaited))
    compare(two)
    assert len(explore(ForgetsErrors(two)).errors) < len(explore(CdnaEngine(two)).errors)


def test_initial_values_count(monkeypatch: pytest.MonkeyPatch) -> None:
    of = program(
        *((far(n), (VectorStore("xy"[n], 5, ("sc1",)), VectorLoad("r", "yx"[n], ("sc1",)), Wait(0))) for n in range(2)),
        locations=(X, replace(Y, initial=1)),
    )  # fmt: skip
    compare(of)
    monkeypatch.setattr(symmetry, "are_alike", any_are_alike)
    assert explore(SymmetricEngine(of)).outcomes != explore(CdnaEngine(of)).outcomes


def any_are_alike(one: Location, other: Location) -> bool:
    return True


def test_places_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader on the writer's CU and one far away: only the other may see the flag without the data."""
    write: Code = (VectorStore("x", 1), Wait(0), VectorStore("y", 1, ("sc1",)))
    read: Code = (VectorLoad("r0", "y", ("sc1",)), Wait(0), VectorLoad("r1", "x"), Wait(0))
    of = program((far(0), read), (far(1), read), (Placement(2, 0, 0), write), locations=(X, Y))
    compare(of)
    monkeypatch.setattr(symmetry._Bijection, "pair", _by_line)  # pyright: ignore[reportPrivateUsage]  # broken on purpose
    assert explore(SymmetricEngine(of)).outcomes != explore(CdnaEngine(of)).outcomes


def _by_line(found: symmetry._Bijection, one: int, other: int) -> bool:  # pyright: ignore[reportPrivateUsage]  # broken on purpose
    """Any pair is taken, and everything stays in its place."""
    return True


def test_every_permutation_of_a_class_is_an_automorphism() -> None:
    of = compiled(program(*((far(n), COUNT) for n in range(4))))
    assert all(automorphism_of(of, each) is not None for each in permutations(range(4)))


def test_an_automorphism_and_back() -> None:
    """A state that is moved to each of its images and back is itself."""
    engine = SymmetricEngine(ring(4))
    for state in _walk(engine, 40):
        for g in automorphisms(engine.compiled):
            back = tuple(g.waves.index(wave) for wave in range(4))
            inverse = automorphism_of(engine.compiled, back)
            assert inverse is not None
            assert engine.orbits.moved(inverse, engine.orbits.moved(g, state)) == state


def _walk(engine: SymmetricEngine, most: int) -> Iterator[State]:
    """Some states, the last successor of each next."""
    state = engine.initial()
    for _ in range(most):
        yield state
        successors = engine.successors(state)
        if not successors:
            return
        state, _ = successors[-1]
