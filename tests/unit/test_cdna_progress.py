"""Hangs on few states: those of the progress mode as it is defined."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from campaigns import Share, draws
from cdna_cases import BY_NAME
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from test_cdna_engine import CONFIGURATIONS, KINDS, RANDOM, memory_instructions, placements

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna import progress
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.machine import CdnaMachine, PlainState
from fencewright.simulator.cdna.progress import stuck
from fencewright.simulator.cdna.progress_engine import ProgressEngine, Step
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.symmetry import Orbits
from fencewright.simulator.cdna.system import MachineEvent, State
from fencewright.simulator.cdna.wave import Op, StepKind
from fencewright.simulator.core.exploration import Edges, LimitReached, reachable
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.core.progress import Hang

EXAMPLES = 20_000 if "FENCEWRIGHT_THOROUGH" in os.environ else 4_000
LIMIT = 5_000
Code = tuple[CdnaInstruction, ...]
GFX942 = CdnaConfiguration("gfx942")
X, Y = Location("x"), Location("y")


def never(compiled: object) -> bool:
    """No program is reduced: hangs by the definition alone."""
    return False


def defined(
    of: CdnaProgram, on: CdnaConfiguration, patch: pytest.MonkeyPatch, limit: int = LIMIT
) -> set[Hang]:
    """The hangs of the plain machine."""
    with patch.context() as inside:
        inside.setattr(progress, "is_reducible", never)
        return set(stuck(of, on, limit))


def reduced(
    of: CdnaProgram,
    on: CdnaConfiguration,
    patch: pytest.MonkeyPatch,
    engine: type[ProgressEngine] = ProgressEngine,
) -> set[Hang]:
    """The hangs that are found by way of an engine."""
    with patch.context() as inside:
        inside.setattr(progress, "ProgressEngine", engine)
        return set(stuck(of, on, LIMIT))


def wait_for(location: str, value: int, bits: tuple[str, ...], register: str = "s") -> Code:
    """A loop that ends when a location has a value."""
    label = f"{register}{location}"
    return (
        Label(label),
        VectorLoad(register, location, bits),
        Wait(0),
        Arithmetic(ArithmeticKind.SUB, f"{register}_d", register, value),
        Branch(label, f"{register}_d"),
    )


def lock(location: str, bits: tuple[str, ...]) -> Code:
    """A loop that ends when this wave has put 1 in the place of 0."""
    return (
        Label("lock"),
        Atomic(RmwKind.XCHG, location, 1, "l", ("sc0", *bits)),
        Wait(0),
        Branch("lock", "l"),
    )


def program(
    *threads: tuple[Placement, Code], locations: Sequence[Location] = (X, Y)
) -> CdnaProgram:
    return Program(tuple(locations), tuple(Thread(place, code) for place, code in threads))


def far(number: int) -> Placement:
    """A work-group on an XCD of its own."""
    return Placement(number, 0, number)


@st.composite
def looping(draw: st.DrawFn) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Two or three short waves, perhaps equal, at least one of which waits for a value in a loop."""
    on = draw(st.sampled_from(CONFIGURATIONS))
    waves = draw(st.sampled_from((2, 2, 3)))
    places = draw(placements(waves, on))
    if draw(st.booleans()):
        one = on.l2_per_agent is L2PerAgent.ONE or on.chip != "gfx942"
        places = [Placement(n, n if one else 0, 0 if one else n) for n in range(waves)]
    locations = [Location(name, 0, draw(st.sampled_from(KINDS))) for name in "xy"]
    lds = not on.tgsplit and draw(st.integers(0, 5)) == 0
    if lds:
        locations.append(Location("s", space=AddressSpace.LOCAL, workgroup=0))
    codes: list[Code] = []
    equal = draw(st.booleans())
    for wave, place in enumerate(places):
        if equal and codes:
            codes.append(codes[0])
            continue
        local = lds and not equal and place.workgroup == 0
        codes.append(draw(code(on.chip, 2 if waves == 2 else 1, local, loops=wave == 0)))
    return program(*zip(places, codes, strict=True), locations=locations), on


@st.composite
def code(draw: st.DrawFn, chip: str, most: int, local: bool, loops: bool) -> Code:
    """A few instructions, and perhaps a loop among them."""
    values = st.integers(0, 2)
    parts: list[Code] = [
        (draw(memory_instructions(chip, f"r{n}", draw(values), local)),)
        for n in range(draw(st.integers(1, most)))
    ]
    if loops or draw(st.booleans()):
        bits = draw(st.sampled_from(((), ("sc1",)) if chip == "gfx942" else ((), ("glc",))))
        scope = draw(st.sampled_from(((), ("sc1",))) if chip == "gfx942" else st.just(()))
        name = draw(st.sampled_from("xy"))
        loop = draw(
            st.sampled_from((wait_for(name, 1, bits), wait_for(name, 0, bits), lock(name, scope)))
        )
        if chip != "gfx942":
            loop = tuple(_glc(each) for each in loop)
        parts.insert(draw(st.integers(0, len(parts))), loop)
    return tuple(each for part in parts for each in part)


def _glc(instruction: CdnaInstruction) -> CdnaInstruction:
    """An atomic with the older chips' name of the bit that asks for the old value."""
    if isinstance(instruction, Atomic) and instruction.dst:
        return replace(instruction, bits=("glc",))
    return instruction


@pytest.mark.parametrize("share", draws(20))
def test_hangs_are_those_of_the_definition(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    @seed(share.number)
    @settings(RANDOM, max_examples=EXAMPLES // share.count)
    @given(looping())
    def check(example: tuple[CdnaProgram, CdnaConfiguration]) -> None:
        try:
            expected = defined(*example, monkeypatch)
        except LimitReached:
            return
        assert reduced(*example, monkeypatch) == expected

    check()


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_hangs_of_the_named_cases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = BY_NAME[name]
    with suppress(LimitReached):
        expected = defined(case.test.program, case.configuration, monkeypatch)
        assert reduced(case.test.program, case.configuration, monkeypatch) == expected


def counted(number: int, last: Code = ()) -> tuple[Placement, Code]:
    """A wave that adds 1 to x, and waits until three have."""
    return far(number), (
        Atomic(RmwKind.ADD, "x", 1, None, ("sc1",)),
        *wait_for("x", 3, ("sc1",)),
        *last,
    )


def test_states_are_few() -> None:
    """Three waves that meet, by their six orders."""
    engine = ProgressEngine(program(*(counted(n) for n in range(3))), GFX942)
    assert not list(engine.stays(100))
    plain = CdnaMachine(program(*(counted(n) for n in range(3))), GFX942, spontaneous=False)
    with pytest.raises(LimitReached):
        reachable(plain, [plain.initial()], 1_000)


def test_a_write_back_leaves_what_was_there_before_the_first_instruction() -> None:
    """A stale line of an L2, which a write-back neither drops nor has looked at."""
    waits: Code = (
        CacheInstruction("buffer_wbl2", ("sc1",)),
        Wait(0),
        VectorStore("y", 1, ("sc1",)),
        *wait_for("z", 1, ("sc1",)),
        *wait_for("x", 1, ("sc0",)),
    )
    stores: Code = (
        *wait_for("y", 1, ("sc1",)),
        VectorStore("x", 1, ("sc1",)),
        Wait(0),
        VectorStore("z", 1, ("sc1",)),
    )
    on, three = CdnaConfiguration("gfx942", tgsplit=True), (X, Y, Location("z"))
    (hang,) = stuck(program((far(0), waits), (far(1), stores), locations=three), on)
    assert [each.thread for each in hang.threads] == [0]
    drops: Code = (CacheInstruction("buffer_inv", ("sc1",)), *waits[1:])
    assert not stuck(program((far(0), drops), (far(1), stores), locations=three), on)


# That a mistake is seen


class ForgetsResponses(ProgressEngine):
    """Issues early though a response may still fill the L1."""

    def may_fill(self, state: State, wave: int, line: int) -> bool:
        return False


class ForgetsMates(ProgressEngine):
    """Issues early whatever the other waves of the CU may still do."""

    def is_early(self, state: State, wave: int, future: Sequence[int]) -> bool:
        return super().is_early(state, wave, [0] * len(future))


class ForgetsFuture(ProgressEngine):
    """Performs what is queued for a line though other waves will still access it."""

    def quiet_steps(self, state: State, future: Sequence[int]) -> list[tuple[State, MachineEvent]]:
        return super().quiet_steps(state, [0] * len(future))


class WritesBackEarly(ProgressEngine):
    """Lets markers leave their queues early that write a dirty line back."""

    def is_separate(self, op: Op, held: int) -> bool:
        return op.code is StepKind.CACHE or super().is_separate(op, held)


class ForgetsOthersAtTheL2(ProgressEngine):
    """Takes an L2 for one CU's though others have queues to it."""

    def separate_queue(self, line: int, kept: PlainState) -> int:
        self._is_alone = [[True] * len(t.l2_of_queue) for t in self.topologies]
        return super().separate_queue(line, kept)


class ForgetsEarlyCycles(ProgressEngine):
    """Takes a wave that needs nobody to go on for ever for one that waits for the others."""

    def has_early_cycle(self, edges: Edges[State, Step], members: set[State]) -> bool:
        return False


class ForgetsImages(ProgressEngine):
    """The hangs of the waves that a representative has, not of those that it stands for."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.orbits = OneOfAll(self)


class OneOfAll(Orbits):
    """Of equal states the representative alone."""

    def all(self, state: State) -> Iterator[State]:
        yield state


FOR_EVER = wait_for("z", 1, ("sc1",))
"""Nobody stores 1 there."""

SEES_FLAG_FIRST: Code = (
    *wait_for("y", 1, ("sc1",)),
    VectorLoad("r", "x", ("sc1",)),
    Wait(0),
    Branch("end", "r"),
    *FOR_EVER,
    Label("end"),
)
"""Never ends if it sees the flag y before the data x."""

FLAG = VectorStore("y", 1, ("sc1",))
FLAG_UNWAITED: Code = (VectorStore("x", 1, ("sc1",)), FLAG)
FLAG_DURING_WRITE_BACK: Code = (
    VectorStore("x", 1),
    CacheInstruction("buffer_wbl2", ("sc1",)),
    FLAG,
)
UPDATES_RESPONSE: Code = (
    CacheInstruction("buffer_inv", ("sc1",)),
    VectorLoad("r", "x"),
    VectorStore("x", 5),
    Wait(0),
    VectorStore("y", 1, ("sc1",)),
    *wait_for("z", 1, ("sc1",)),
    *wait_for("x", 1, ()),
)
"""The store updates the line in the L1 if the load has brought it in before; then it is stale."""

ANSWERS: Code = (
    *wait_for("y", 1, ("sc1",)),
    VectorStore("x", 1),
    Wait(0),
    VectorStore("z", 1, ("sc1",)),
)
STORES_TWICE: Code = (VectorStore("x", 1, ("sc1",)), VectorStore("x", 0, ("sc1",)))
LOCAL_LOOP = (*wait_for("x", 1, ()), Atomic(RmwKind.ADD, "x", 0))
THREE = (X, Y, Location("z"))
ONE_L2 = CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE)
MATES = Placement(0, 1, 1)
WAITS_FOR_MATE: Code = (
    STORES_TWICE[0],
    *wait_for("x", 0, ("sc1",)),
    VectorStore("x", 0, ("sc1",), Segment.FLAT),
)

BROKEN: dict[type[ProgressEngine], tuple[CdnaProgram, CdnaConfiguration]] = {
    ForgetsFuture: (
        program((far(0), FLAG_UNWAITED), (far(1), SEES_FLAG_FIRST), locations=THREE),
        GFX942,
    ),
    WritesBackEarly: (
        program((far(0), FLAG_DURING_WRITE_BACK), (far(1), SEES_FLAG_FIRST), locations=THREE),
        GFX942,
    ),
    ForgetsResponses: (
        program((Placement(0), UPDATES_RESPONSE), (Placement(1, 1), ANSWERS), locations=THREE),
        ONE_L2,
    ),
    ForgetsMates: (program((MATES, WAITS_FOR_MATE), (MATES, STORES_TWICE)), GFX942),
    ForgetsOthersAtTheL2: (
        program(
            (Placement(0), (VectorStore("x", 2), *wait_for("x", 1, ("sc1",)))),
            (Placement(1, 1), lock("x", ())),
        ),
        ONE_L2,
    ),
    ForgetsEarlyCycles: (
        program((far(0), LOCAL_LOOP), (far(1), (Atomic(RmwKind.ADD, "x", 0),))),
        GFX942,
    ),
    ForgetsImages: (program(*((far(n), lock("x", ("sc1",))) for n in range(3))), GFX942),
}
"""Where each makes a difference."""


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: each.__name__)
def test_a_reduction_that_goes_too_far_is_caught(
    broken: type[ProgressEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    of, on = BROKEN[broken]
    expected = defined(of, on, monkeypatch, 50_000)
    assert expected
    assert reduced(of, on, monkeypatch) == expected
    assert reduced(of, on, monkeypatch, broken) != expected


def test_the_way_on_from_a_state_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[State] = []

    class Counted(ProgressEngine):
        def hurried(self, state: State) -> tuple[State, list[MachineEvent]]:
            looked_at.append(state)
            return super().hurried(state)

    waves = (STORES_TWICE + wait_for("y", 1, ("sc1",)), wait_for("x", 2, ("sc1",)))
    of = program(*((far(n), code) for n, code in enumerate(waves)))
    reduced(of, GFX942, monkeypatch, Counted)
    assert len(looked_at) > len(waves)
    assert len(looked_at) == len({*looked_at})
