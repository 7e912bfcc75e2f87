"""An mbarrier as bits of shared memory, beside one as the manual says it: counts and a phase."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.vectorised import function_of
from fencewright.simulator.semantics import mbarriers
from fencewright.simulator.semantics.term import Term


@dataclass
class Meaning:
    """PTX ISA, mbarrier: phase, pending count, expected count, tx-count."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected

    def arrive(self, count: int, more: int, drops: bool) -> None:
        self.bytes += more
        self.pending -= count
        self.expected -= count if drops else 0
        self.settle()

    def add(self, count: int) -> None:
        self.bytes += count
        self.settle()


def _lane(value: int) -> Values:
    """A number in the only lane of a wave."""
    return np.array([[value]], dtype=np.uint64)


def _applied(formula: Callable[..., Term], *operands: Values) -> Values:
    return function_of(formula, (64,) * len(operands))(*operands)


@pytest.mark.parametrize("seed", range(40))
def test_random_uses(seed: int) -> None:
    generator = random.Random(seed)
    count = generator.randint(1, 6)
    meaning = Meaning(count, count)
    word = _applied(mbarriers.initial, _lane(count))
    for _ in range(60):
        what = generator.random()
        if what < 0.5 and meaning.pending:
            arrivals = generator.randint(1, meaning.pending)
            more = generator.choice((0, 0, 512))
            drops = arrivals < meaning.expected and generator.random() < 0.1
            arrive = mbarriers.arrive_drop if drops else mbarriers.arrive
            word = _applied(arrive, word, _lane(arrivals), _lane(more))
            meaning.arrive(arrivals, more, drops)
        elif what < 0.7 and meaning.pending:
            word = _applied(mbarriers.expect, word, _lane(256))
            meaning.add(256)
        elif meaning.bytes or meaning.pending:
            # A copy may be complete before anyone expects its bytes.
            word = _applied(mbarriers.complete, word, _lane(128))
            meaning.add(-128)
        for parity in (0, 1):
            over = _applied(mbarriers.is_over, word, np.array(parity, dtype=np.uint64))
            assert int(over[0, 0]) == (meaning.phase % 2 != parity)
        assert int(_applied(mbarriers.token, word)[0, 0]) == meaning.phase % 2
