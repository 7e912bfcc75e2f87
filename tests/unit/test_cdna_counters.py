"""Counters with bits for tokens: held equal to those of the scoreboard, and followed through large code."""

import random
from collections.abc import Callable, Sequence

import pytest

from fencewright.checker.amd.accesses import mode_of
from fencewright.checker.amd.state import Code, State, code_of, solve
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.counters import OutstandingTokens, Tokens
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.cdna.counters.scoreboard import (
    CounterEvent,
    CounterEventKind,
    CounterState,
)

TOKENS = Tokens(("v0", "v1", "v2"))
NAMES: tuple[str | int, ...] = ("v0", "v1", "v2", 0, 1, 2, 3)
LIMIT = 5


class _Pair:
    """A counter of each, to which the same is done."""

    def __init__(self) -> None:
        self.one, self.other = CounterState(LIMIT), OutstandingTokens(LIMIT)

    def issue(self, rng: random.Random) -> None:
        kind = rng.choice((CounterEventKind.VECTOR,) * 6 + tuple(CounterEventKind))
        event = CounterEvent(Counter.VMCNT, kind, kind is not CounterEventKind.INVALIDATE)
        tokens = rng.sample(NAMES, rng.randrange(3))
        self.one.issue(event, tokens)
        self.other.issue(event, TOKENS.of(tokens))

    def wait(self, rng: random.Random) -> None:
        count = rng.randrange(LIMIT + 1)
        assert TOKENS.of(_names(self.one.wait(count))) == self.other.wait(count)

    def overflow(self, _: random.Random) -> None:
        assert TOKENS.of(_names(self.one.overflow())) == self.other.overflow()

    def copy(self) -> "_Pair":
        made = _Pair()
        made.one, made.other = self.one.copy(), self.other.copy()
        return made

    def join(self, its: "_Pair") -> None:
        mine, its = self.copy(), its.copy()
        self.one, self.other = mine.one, mine.other
        assert self.one.join(its.one) == self.other.join(its.other)

    def check(self, rng: random.Random) -> None:
        for count in range(LIMIT + 1):
            assert self.one.satisfied(count) == self.other.bounds.satisfied(count)
        for each in (*((name,) for name in NAMES), tuple(rng.sample(NAMES, 3))):
            assert self.one.need(*each) == self.other.need(TOKENS.of(each))


def _names(tokens: Sequence[object]) -> list[str | int]:
    return [each for each in tokens if isinstance(each, str | int)]


@pytest.mark.parametrize("seed", range(20))
def test_counters_are_those_of_the_scoreboard(seed: int) -> None:
    rng = random.Random(seed)
    pairs = [_Pair(), _Pair()]
    for _ in range(300):
        pair = rng.choice(pairs)
        do: Callable[[random.Random], None] = rng.choice(
            (pair.issue, pair.issue, pair.wait, pair.overflow)
        )
        do(rng)
        if rng.random() < 0.2:
            pairs[0].join(pairs[1])
        pair.check(rng)


def test_a_register_that_nothing_loads_has_no_bit() -> None:
    assert TOKENS.of(("v7",)) == 0
    assert list(TOKENS.registers_in(TOKENS.of(("v2", 3, "v0")))) == ["v0", "v2"]
    assert TOKENS.operations_in(TOKENS.of(("v2", 3, 0))) == 0b1001


def _branchy(blocks: int) -> Code:
    """Loads in flight all over code that jumps back and forth everywhere."""
    lines = ['.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', ".type k,@function", "k:"]
    for number in range(blocks):
        lines += (
            f".L{number}:",
            f"global_load_dword v{number % 200}, v1, s[0:1]",
            f"s_cbranch_scc0 .L{max(0, number - 3)}",
            f"s_cbranch_vccz .L{min(blocks - 1, number + 7)}",
        )
    assembly = read_assembly("\n".join((*lines, "s_endpgm", ".Lfunc_end0:", "")))
    function = assembly.functions["k"]
    return code_of(flow_of(function), mode_of(assembly, function, None))


def _visits(code: Code) -> int:
    visits = 0

    def through(number: int, state: State) -> None:
        nonlocal visits
        visits += 1
        for step, operation in code.counted[number]:
            state.step(code, step, operation)

    solve(code, through)
    return visits


def test_blocks_are_visited_a_few_times_each() -> None:
    for blocks in (50, 200):
        code = _branchy(blocks)
        assert _visits(code) <= 4 * len(code.flow.blocks)


def test_a_counter_takes_no_more_than_its_ages_whatever_is_in_flight() -> None:
    blocks = 1_000
    entries = solve(_branchy(blocks))
    assert len(entries) == 2 * blocks + 1
    state = entries[blocks]
    assert state.flight.bit_count() > blocks // 2
    assert (
        max(len(each.issued) for each in state.counters.values())
        <= state.chip.counters[Counter.VMCNT]
    )
