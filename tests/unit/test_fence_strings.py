"""Strings of up to four fences and accesses through the passes on fences, judged by the models.

A string stands in the middle of a thread that may take something in before it and hand something
on behind it, among threads that would notice. Judged are all of up to two letters and some of three
and four, drawn at random; with FENCEWRIGHT_THOROUGH all of three and a share of those of four.
"""

import os
import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from guard_programs import (
    ABROAD,
    ACQ_REL,
    ACQUIRE,
    AGENT,
    FAR,
    HERE,
    LOCAL,
    RELAXED,
    RELEASE,
    SEQ_CST,
    SYSTEM,
    THIRD,
    WORKGROUP,
    program,
    thread,
)
from pass_trials import Trial, View, after, trial

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.scoped.merge_fences import MergeFencesPass
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass
from fencewright.passes.to_ptx.fold_fences import FoldFencesPass
from fencewright.passes.to_ptx.merge_ptx_fences import MergePTXFencesPass
from fencewright.simulator.random.programs import SmallProgram, Step
from fencewright.simulator.source.events import AtomicRmw, Cmpxchg, Fence, Load, Store

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SLICE = 60
"""Strings of three and of four letters that are judged without that."""
SHARE = 4_000
"""Of the strings of four letters, with it."""

ORDERINGS: tuple[Ordering, ...] = (ACQUIRE, RELEASE, ACQ_REL, SEQ_CST)
SCOPES: tuple[Scope, ...] = (AGENT, SYSTEM)
NOT_THIS = frozenset({LOCAL})
"""What a fence orders that does nothing for the locations of these programs."""

FENCES: tuple[Step, ...] = (
    *(Fence(each, scope) for each, scope in product(ORDERINGS, SCOPES)),
    *(Fence(each, AGENT, spaces=NOT_THIS) for each in ORDERINGS),
)
ACCESSES: tuple[Step, ...] = (
    Load("r1", "f", RELAXED, AGENT),
    Load("r2", "f", ACQUIRE, AGENT),
    Load("r3", "n", ACQUIRE, WORKGROUP),
    Load("r4", "f", ACQUIRE, AGENT, spaces=NOT_THIS),
    Cmpxchg("f", 7, 7, ACQUIRE, RELAXED, AGENT, "r5"),
    AtomicRmw(RmwKind.ADD, "f", 0, ACQ_REL, AGENT, "r6"),
    Load("r7", "x", RELAXED, AGENT),
    Store("y", 1, RELAXED, AGENT),
    Store("g", 1, RELAXED, AGENT),
    Store("g", 1, RELEASE, AGENT),
    Store("n", 1, RELEASE, WORKGROUP),
    Store("g", 1, RELEASE, AGENT, spaces=NOT_THIS),
)
LETTERS = (*FENCES, *ACCESSES)

Letters = tuple[Step, ...]


def handing_on(letters: Letters) -> SmallProgram:
    """The string where x may be taken in before it and handed on behind it, with y."""
    return program(
        thread(HERE, Store("x", 1, RELAXED, AGENT), Store("f", 1, RELEASE, AGENT)),
        thread(
            FAR, Load("r0", "f", RELAXED, AGENT), *letters, Load("r8", "x", RELAXED, AGENT),
            Store("g", 1, RELAXED, AGENT),
        ),
        thread(
            THIRD, Load("r0", "g", ACQUIRE, AGENT), Load("r1", "x", RELAXED, AGENT),
            Load("r2", "y", RELAXED, AGENT),
        ),
    )  # fmt: skip


def buffering(letters: Letters) -> SmallProgram:
    """The string between a store and a load that only seq_cst keeps in order."""
    return program(
        thread(HERE, Store("h", 1, RELAXED, AGENT), *letters, Load("r0", "i", RELAXED, AGENT)),
        thread(
            FAR, Store("i", 1, RELAXED, AGENT), Fence(SEQ_CST, AGENT),
            Load("r0", "h", RELAXED, AGENT),
        ),
    )  # fmt: skip


def abroad(letters: Letters) -> SmallProgram:
    """As ``handing_on``, between two agents: what is for one agent only is not enough."""
    return program(
        thread(HERE, Store("x", 1, RELAXED, SYSTEM), Store("f", 1, RELEASE, SYSTEM)),
        thread(
            ABROAD, Load("r0", "f", RELAXED, SYSTEM), *letters, Load("r8", "x", RELAXED, SYSTEM),
            Store("g", 1, RELAXED, SYSTEM),
        ),
        thread(THIRD, Load("r0", "g", ACQUIRE, SYSTEM), Load("r1", "x", RELAXED, SYSTEM)),
    )  # fmt: skip


def frames(letters: Letters) -> Iterator[SmallProgram]:
    """The programs that would notice what becomes of a string."""
    yield handing_on(letters)
    if all(isinstance(each, Fence) for each in letters):
        yield abroad(letters)
    if any(isinstance(each, Fence) and each.ordering is SEQ_CST for each in letters):
        yield buffering(letters)


def view(name: str, *passes: MergeFencesPass | FoldFencesPass | MergePTXFencesPass) -> View:
    """Passes on ``scoped``, or on the PTX for sm_90 if they are for that."""
    if any(isinstance(each, MergePTXFencesPass) for each in passes):
        steps = (OutlineLitmusThreadsPass(), ConvertScopedToPTXPass("sm_90"), *passes)
        return View(name, lambda: steps, ReadOptions())
    return View(name, lambda: passes, ReadOptions())


VIEWS = (
    view("merge-fences", MergeFencesPass()),
    view("fold-fences", FoldFencesPass("sm_70")),
    view("merge-ptx-fences", MergePTXFencesPass()),
)


def strings(length: int) -> Sequence[Letters]:
    """Those of a length with a fence and something else that synchronises."""
    every = product(LETTERS, repeat=length)
    count = len(LETTERS) ** length
    if length < (4 if THOROUGH else 3):
        return [each for each in every if _matters(each)]
    drawn = random.Random(f"strings of {length}")
    wanted = SHARE if THOROUGH else SLICE
    found: list[Letters] = []
    while len(found) < min(wanted, count // 2):
        letters = tuple(drawn.choices(LETTERS, k=length))
        # Fences alone are what is merged most.
        letters = tuple(drawn.choices(FENCES, k=length)) if drawn.random() < 0.4 else letters
        if _matters(letters):
            found.append(letters)
    return found


def _matters(letters: Letters) -> bool:
    ordered = [each for each in letters if not _is_relaxed(each)]
    return any(isinstance(each, Fence) for each in letters) and len(ordered) >= 1


def _is_relaxed(step: Step) -> bool:
    return isinstance(step, Load | Store) and step.ordering is RELAXED


def of_two(of: View) -> Iterator[Trial]:
    """The strings of two letters, as trials."""
    for letters in strings(2):
        for number, each in enumerate(frames(letters)):
            yield trial(f"{' / '.join(map(str, letters))}, {number}", each, of)


def mistakes(of: View, letters: Letters) -> Iterator[str]:
    """What a pass makes of a string that its source forbids; empty for what it leaves as it is."""
    for each in frames(letters):
        found = trial("a string", each, of)
        *before, last = of.passes()
        code = after(before, found.make())
        if str(code) == str(after([last], code)):
            yield ""
            continue
        assert found.is_fit, letters
        yield found.wrong(code) or "nothing"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("of", VIEWS, ids=lambda each: each.name)
def test_strings_stay_right(of: View, length: int) -> None:
    others = judged = 0
    for letters in strings(length):
        for found in mistakes(of, letters):
            judged += 1
            others += bool(found)
            assert found in ("", "nothing"), (found, [str(each) for each in letters])
    if THOROUGH:
        print(f"{of.name}, {length} letters: {judged} programs, {others} changed, 0 wrong")
    assert judged
