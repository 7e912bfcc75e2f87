"""Random programs of the machines of gfx10 to gfx12.5, and the engine held to the definition on them."""

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from campaigns import Share
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    CdnaInstruction,
    CdnaProgram,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.wave import WaveRules
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, Placement, Program, Thread

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
EXAMPLES = 4_000 if THOROUGH else 200
PLAIN_LIMIT = 60_000 if THOROUGH else 3_000

Code: TypeAlias = tuple[CdnaInstruction, ...]
Places: TypeAlias = Callable[[int, CdnaConfiguration], st.SearchStrategy[list[Placement]]]
"""The places of so many waves."""
Instructions: TypeAlias = Callable[[str, int, bool], st.SearchStrategy[CdnaInstruction]]
"""One instruction: its register, the value that it writes, whether there is LDS."""


def uses(register: str, every: Wait) -> tuple[Code, ...]:
    """Nothing, a use of a loaded register with and without its wait, and a branch on it."""
    use = VectorStore("x", register)
    branch: Code = (every, Branch("end", register), VectorStore("y", 9), Label("end"))
    return (), (), (every, use), (use,), branch


@st.composite
def programs(
    draw: st.DrawFn,
    configurations: Sequence[CdnaConfiguration],
    placements: Places,
    instructions: Instructions,
    every: Wait,
) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Two or three short waves that load, store, wait and maintain caches at random.

    ``every`` waits for all that is outstanding.
    """
    configuration = draw(st.sampled_from(configurations))
    waves = draw(st.sampled_from((2, 2, 3)))
    places = draw(placements(waves, configuration))
    locations = [Location(name) for name in "xy"]
    lds = draw(st.integers(0, 3)) == 0
    if lds:
        locations.append(Location("s", space=AddressSpace.LOCAL, workgroup=0))
    threads: list[Thread[CdnaInstruction]] = []
    for wave, place in enumerate(places):
        code: list[CdnaInstruction] = []
        for i in range(draw(st.integers(1, 5 if waves == 2 else 3))):
            local = lds and place.workgroup == 0
            code.append(draw(instructions(f"r{i}", 10 * wave + i + 1, local)))
        loaded = [dst for each in code if (dst := getattr(each, "dst", None))]
        if loaded:
            code += draw(st.sampled_from(uses(draw(st.sampled_from(loaded)), every)))
        threads.append(Thread(place, tuple(code)))
    return Program(tuple(locations), tuple(threads)), configuration


def compare(
    program: CdnaProgram,
    configuration: CdnaConfiguration,
    counters: type[WaveRules] = WaveRules,
    limit: int = PLAIN_LIMIT,
) -> None:
    """Fail where the engine and the plain machine, in so many states at most, differ."""
    plain = explore(CdnaMachine(program, configuration, wave_rules=counters), limit)
    engine = explore(CdnaEngine(program, configuration, wave_rules=counters))
    assert engine.complete
    assert plain.outcomes.states <= engine.outcomes.states
    assert plain.errors <= engine.errors
    if plain.complete:
        assert plain.outcomes == engine.outcomes
        assert plain.errors == engine.errors
        assert engine.states <= plain.states


RANDOM = settings(deadline=None, database=None, suppress_health_check=(HealthCheck.too_slow,))


def compare_drawn(
    share: Share, drawn: st.SearchStrategy[tuple[CdnaProgram, CdnaConfiguration]]
) -> None:
    """The engine equals the plain machine on a share of what is drawn."""

    @seed(share.number)
    @settings(RANDOM, max_examples=EXAMPLES // share.count)
    @given(drawn)
    def check(example: tuple[CdnaProgram, CdnaConfiguration]) -> None:
        compare(*example)

    check()
