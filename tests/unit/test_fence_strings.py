"""Strings of up to four fences and accesses through the passes on fences, judged by the models.

A string stands in the middle of a thread that may acquire something before it and release
something after it, among threads that would notice. The tests judge all of up to two letters and
some of three and four, drawn at random; with FENCEWRIGHT_THOROUGH all of three. ``make fence-strings``
judges all of up to four.
"""

import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import pytest
from campaigns import Share, draws, shares
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
from pass_trials import AXIOMS, Trial, View, after, trial
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.scoped.merge_fences import MergeFencesPass
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass
from fencewright.passes.to_ptx.fold_fences import FoldFencesPass
from fencewright.passes.to_ptx.merge_ptx_fences import MergePTXFencesPass
from fencewright.simulator.core.processes.time_limit import limited
from fencewright.simulator.core.program import Placement
from fencewright.simulator.litmus_run import forbidden, run
from fencewright.simulator.random.programs import SmallProgram, SmallThread
from fencewright.simulator.source.events import (
    AtomicRmw,
    Cmpxchg,
    Fence,
    Load,
    Store,
)
from fencewright.tools.dev.campaigns.mutants_of_passes import FENCE_STRINGS, PAGE, page_parts
from fencewright.tools.dev.campaigns.pass_mutants import ROOT, applied, mutants_of
from fencewright.tools.reports.markdown import written

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SLICE = 40
"""Strings of three and of four letters that are judged without that."""

SECONDS = 60.0
"""For a pass with a fault."""

ORDERINGS: tuple[Ordering, ...] = (ACQUIRE, RELEASE, ACQ_REL, SEQ_CST)
SCOPES: tuple[Scope, ...] = (AGENT, SYSTEM)
NOT_THIS = frozenset({LOCAL})
"""What a fence orders that does nothing for the locations of these programs."""

Letter: TypeAlias = Fence | Load | Store | Cmpxchg | AtomicRmw
Letters: TypeAlias = tuple[Letter, ...]

FENCES: tuple[Letter, ...] = (
    *(Fence(each, scope) for each, scope in product(ORDERINGS, SCOPES)),
    *(Fence(each, AGENT, spaces=NOT_THIS) for each in ORDERINGS),
)
ACCESSES: tuple[Letter, ...] = (
    Load("r1", "f", RELAXED, AGENT),
    Load("r2", "f", ACQUIRE, AGENT),
    Load("r3", "n", ACQUIRE, WORKGROUP),
    Load("r4", "f", ACQUIRE, AGENT, spaces=NOT_THIS),
    Load("r9", "f", SEQ_CST, AGENT),
    Cmpxchg("f", 7, 7, ACQUIRE, RELAXED, AGENT, "r5"),
    AtomicRmw(RmwKind.ADD, "f", 0, ACQ_REL, AGENT, "r6"),
    Load("r7", "x", RELAXED, AGENT),
    Store("y", 1, RELAXED, AGENT),
    Store("g", 1, RELAXED, AGENT),
    Store("g", 1, RELEASE, AGENT),
    Store("n", 1, RELEASE, WORKGROUP),
    Store("g", 1, RELEASE, AGENT, spaces=NOT_THIS),
    Store("g", 1, SEQ_CST, AGENT),
)
LETTERS = (*FENCES, *ACCESSES)


@dataclass(frozen=True)
class Frame:
    """A thread in which a string stands between ``first`` and ``last``, among ``others``."""

    place: Placement
    first: Letters
    last: Letters
    others: tuple[SmallThread, ...]

    def thread(self, letters: Letters) -> SmallThread:
        """The thread with the string in it."""
        return thread(self.place, *self.first, *letters, *self.last)

    def program(self, letters: Letters) -> SmallProgram:
        """The thread of the string, and the others, which would notice."""
        return program(self.thread(letters), *self.others)


HANDING_ON = Frame(
    FAR,
    (Load("r0", "f", RELAXED, AGENT),),
    (Load("r8", "x", RELAXED, AGENT), Store("g", 1, RELAXED, AGENT)),
    (
        thread(HERE, Store("x", 1, RELAXED, AGENT), Store("f", 1, RELEASE, AGENT)),
        thread(
            THIRD, Load("r0", "g", ACQUIRE, AGENT), Load("r1", "x", RELAXED, AGENT),
            Load("r2", "y", RELAXED, AGENT),
        ),
    ),
)  # fmt: skip
"""Before the string x may be acquired, which is made visible after it, with y."""

ACROSS_AGENTS = Frame(
    ABROAD,
    (Load("r0", "f", RELAXED, SYSTEM),),
    (Load("r8", "x", RELAXED, SYSTEM), Store("g", 1, RELAXED, SYSTEM)),
    (
        thread(HERE, Store("x", 1, RELAXED, SYSTEM), Store("f", 1, RELEASE, SYSTEM)),
        thread(THIRD, Load("r0", "g", ACQUIRE, SYSTEM), Load("r1", "x", RELAXED, SYSTEM)),
    ),
)
"""The same between two agents: what is for one agent only is not enough."""

BUFFERING = Frame(
    HERE,
    (Store("h", 1, RELAXED, AGENT),),
    (Load("r0", "i", RELAXED, AGENT),),
    (
        thread(
            FAR, Store("i", 1, RELAXED, AGENT), Fence(SEQ_CST, AGENT),
            Load("r0", "h", RELAXED, AGENT),
        ),
    ),
)  # fmt: skip
"""A store before the string and a load after it that only seq_cst keeps in order."""

SEQUENTIAL = Frame(
    HERE,
    (Store("h", 1, SEQ_CST, AGENT),),
    (Load("r0", "i", SEQ_CST, AGENT),),
    (thread(FAR, Store("i", 1, SEQ_CST, AGENT), Load("r0", "h", SEQ_CST, AGENT)),),
)
"""The same, where the store and the load are seq_cst themselves."""

FRAMES = (HANDING_ON, ACROSS_AGENTS, BUFFERING, SEQUENTIAL)


def frames(letters: Letters) -> Iterator[Frame]:
    """Those that would notice what becomes of a string."""
    others = [each for each in letters if not isinstance(each, Fence)]
    yield HANDING_ON
    if not others:
        yield ACROSS_AGENTS
    if any(isinstance(each, Fence) and each.ordering is SEQ_CST for each in letters):
        yield BUFFERING
    if all(each.ordering is SEQ_CST for each in others):
        yield SEQUENTIAL


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


# The strings


def is_as_strong(letter: Letter, other: Letter) -> bool:
    """Whether a letter is another one, or the same with more order, a wider scope, or all spaces."""
    if _unordered(letter) != _unordered(other):
        return False
    mine, its = letter.ordering, other.ordering
    more = mine is SEQ_CST or its is RELAXED or (mine is ACQ_REL and its is not SEQ_CST)
    wider = _SCOPES.index(letter.scope) >= _SCOPES.index(other.scope)
    return (mine is its or more) and wider and letter.spaces in (None, other.spaces)


def _unordered(letter: Letter) -> Letter:
    return replace(letter, ordering=RELAXED, scope=AGENT, spaces=None)


_SCOPES = (WORKGROUP, AGENT, SYSTEM)
_STRONGER = {
    letter: frozenset(each for each in LETTERS if is_as_strong(each, letter)) for letter in LETTERS
}
STRONGEST_FIRST = sorted(LETTERS, key=lambda each: len(_STRONGER[each]))
"""Each letter after all that are stronger."""

LONGEST = 4
STAND_FOR_OTHERS = frozenset(
    {
        *FENCES,
        Load("r1", "f", RELAXED, AGENT),
        Load("r2", "f", ACQUIRE, AGENT),
        Load("r9", "f", SEQ_CST, AGENT),
        Cmpxchg("f", 7, 7, ACQUIRE, RELAXED, AGENT, "r5"),
        AtomicRmw(RmwKind.ADD, "f", 0, ACQ_REL, AGENT, "r6"),
        Store("g", 1, RELAXED, AGENT),
        Store("g", 1, RELEASE, AGENT),
        Store("g", 1, SEQ_CST, AGENT),
    }
)
"""The letters that the longest strings are of: one of each kind that the passes tell apart.

What is restricted to LDS orders nothing in these programs, and proves nothing to the passes: it is
as a relaxed access. So is, to fences of an agent or wider, what is for a work-group. Relaxed accesses
of data are to the passes as those of flags are. In strings of up to three letters they all are.
"""


def every(length: int) -> Iterator[Letters]:
    """All strings of a length with a fence; none before one that has a stronger letter everywhere."""
    letters = STRONGEST_FIRST
    if length == LONGEST:
        letters = [each for each in letters if each in STAND_FOR_OTHERS]
    return filter(_has_fence, product(letters, repeat=length))


def some(length: int, count: int) -> Sequence[Letters]:
    """As many that are drawn, in the same order."""
    drawn = random.Random(f"strings of {length}")
    found: set[Letters] = set()
    while len(found) < count:
        # Fences alone are what is merged most.
        letters = tuple(drawn.choices(FENCES if drawn.random() < 0.4 else LETTERS, k=length))
        if _has_fence(letters):
            found.add(letters)
    return sorted(found, key=lambda each: [STRONGEST_FIRST.index(letter) for letter in each])


def _has_fence(letters: Letters) -> bool:
    return any(isinstance(each, Fence) for each in letters)


def of_two(of: View) -> Iterator[Trial]:
    """The strings of two letters, as trials."""
    for letters in product(LETTERS, repeat=2):
        if _has_fence(letters):
            for number, each in enumerate(frames(letters)):
                name = f"{' / '.join(map(str, letters))}, {number}"
                yield trial(name, each.program(letters), of)


# What becomes of them

Code = tuple[object, ...]
"""The operations of a thread, told apart by all that matters to a model."""

MANY = 400
"""Threads in one module, which a pass goes through at once."""


def threads_of(module: ModuleOp) -> list[Region]:
    """The code of the threads, in their order."""
    return [
        op.regions[0]
        for op in module.walk()
        if op.name == "ptx.kernel" or (op.name == "litmus.thread" and op.regions[0].blocks)
    ]


def steps_of(body: Region) -> list[tuple[Operation, Sequence[Attribute]]]:
    """The operations with their properties: a pass changes either."""
    return [(op, tuple(op.properties.values())) for op in body.block.ops]


def code_of(body: Region) -> Code:
    """What there is in a thread; the values are numbered as they come."""
    numbers: dict[SSAValue, int] = {}
    found: list[object] = []
    for op in body.block.ops:
        properties = [each for name, each in op.properties.items() if name not in _REMARKS]
        found.append((op.name, *properties, *(numbers[each] for each in op.operands)))
        for each in op.results:
            numbers[each] = len(numbers)
    return tuple(found)


_REMARKS = ("phase", "source")


def changed(of: View, frame: Frame, some: Sequence[Letters]) -> Iterator[tuple[Letters, Code]]:
    """Those of the strings that the last pass changes in a frame, each with what becomes of it."""
    *before, last = of.passes()
    module = after(before, build(program(*map(frame.thread, some))))
    bodies = threads_of(module)
    old = [steps_of(each) for each in bodies]
    after([last], module)
    for letters, body, steps in zip(some, bodies, old, strict=True):
        if steps_of(body) != steps:
            yield letters, code_of(body)


@dataclass
class Tally:
    """How many programs there were, how many of them a pass changed, and how many a model judged.

    ``wrong``: how many of these do what their source forbids. ``seconds``: of the processor's time.
    """

    programs: int = 0
    changed: int = 0
    judged: int = 0
    wrong: int = 0
    seconds: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def mistakes(of: View, strings: Iterable[Letters], tally: Tally) -> Iterator[str]:
    """What a pass makes of strings that a model says their sources forbid.

    The strings come as ``every`` says. What becomes of one is judged unless the same code, in the
    same frame, has been found right for a string that is as strong in each of its letters: that
    allows no more than this one (``test_what_is_stronger_allows_no_more``), so the code is right for
    this one too.
    """
    right: dict[tuple[Frame, Code], list[Letters]] = {}
    waiting: dict[Frame, list[Letters]] = {frame: [] for frame in FRAMES}

    def look(frame: Frame) -> Iterator[str]:
        for letters, code in changed(of, frame, waiting[frame]):
            tally.changed += 1
            known = right.setdefault((frame, code), [])
            if any(_covers(each, letters) for each in known):
                continue
            tally.judged += 1
            if wrong := judged(of, frame, letters, code):
                tally.wrong += 1
                yield f"{' / '.join(map(str, letters))}: {wrong}"
            else:
                known.append(letters)
        tally.programs += len(waiting[frame])
        waiting[frame].clear()

    for letters in strings:
        for frame in frames(letters):
            waiting[frame].append(letters)
            if len(waiting[frame]) == MANY:
                yield from look(frame)
    for frame in FRAMES:
        if waiting[frame]:
            yield from look(frame)


def _covers(strong: Letters, weak: Letters) -> bool:
    return all(mine in _STRONGER[its] for mine, its in zip(strong, weak, strict=True))


def judged(of: View, frame: Frame, letters: Letters, code: Code) -> str:
    """What is wrong with the code of a string in a frame; empty if nothing is."""
    found = trial("a string", frame.program(letters), of)
    lowered = found.lowered()
    assert code_of(threads_of(lowered)[0]) == code, letters
    assert found.is_fit, letters
    does = run(read_only_test(lowered, of.options), AXIOMS)
    assert not does.errors, letters
    assert not does.incomplete, letters
    if does.races:
        return "a race"
    extra = forbidden(found.meant, does)
    return "" if extra is None else " ".join(str(extra).split())


# The tests


def stay_right(of: View, length: int, share: Share) -> None:
    tally = Tally()
    strings = every(length) if length < (4 if THOROUGH else 3) else some(length, SLICE)
    assert not next(mistakes(of, share.of([*strings]), tally), "")
    assert tally.judged or length == 1


@pytest.mark.parametrize("share", shares(3))
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("of", VIEWS, ids=lambda each: each.name)
def test_strings_stay_right(of: View, length: int, share: Share) -> None:
    stay_right(of, length, share)


@pytest.mark.parametrize("share", draws(4))
@pytest.mark.parametrize("length", [3, 4])
@pytest.mark.parametrize("of", VIEWS, ids=lambda each: each.name)
def test_strings_that_are_drawn_stay_right(of: View, length: int, share: Share) -> None:
    stay_right(of, length, share)


def test_the_campaign_was_of_these_strings() -> None:
    recorded = read_campaign()
    for of, length in product(VIEWS, (1, 2, 3)):
        count = sum(len(list(frames(letters))) for letters in every(length))
        assert recorded[of.name, strings_of(length, 0)].programs == count, "make fence-strings"
    assert all(found.wrong == 0 for found in recorded.values())


def weakened(letters: Letters) -> Iterator[Letters]:
    """The strings with one letter that is weaker, and with a fence less."""
    for place, letter in enumerate(letters):
        before, behind = letters[:place], letters[place + 1 :]
        for each in LETTERS:
            if each != letter and letter in _STRONGER[each]:
                yield (*before, each, *behind)
        if isinstance(letter, Fence):
            yield (*before, *behind)


@lru_cache(maxsize=1024)
def allowed(program: SmallProgram) -> frozenset[tuple[int | None, ...]]:
    """What the model of the source allows."""
    found = run(read_only_test(build(program), ReadOptions()), AXIOMS)
    assert found.outcomes is not None
    assert not found.incomplete
    return found.outcomes.states


@pytest.mark.parametrize("share", shares(9))
def test_what_is_stronger_allows_no_more(share: Share) -> None:
    strings = every(2) if THOROUGH else some(2, 40)
    for letters in share.of([*strings]):
        for frame in frames(letters):
            meant = allowed(frame.program(letters))
            for weaker in weakened(letters):
                assert meant <= allowed(frame.program(weaker)), [
                    *map(str, letters),
                    *map(str, weaker),
                ]


PLANTED = (
    (
        VIEWS[0],
        "passes/scoped/merge_fences.py _weaken: if ordering is Ordering.SEQ_CST -> if False",
    ),
    (
        VIEWS[0],
        "passes/scoped/merge_fences.py redundant: acquired and (released or not ordering.releases) "
        "-> without 'released or not ordering.releases'",
    ),
    (
        VIEWS[1],
        "passes/to_ptx/fold_fences.py FoldFencesPass._fold: if acquiring is not None and "
        "acquired[access] < rank_of(acquiring) -> if False",
    ),
    (
        VIEWS[2],
        "passes/to_ptx/merge_ptx_fences.py _loosened: if done >= _ONE_SIDED[ordered] -> if True",
    ),
    (
        VIEWS[2],
        "passes/to_ptx/merge_ptx_fences.py Done.covers: all(map(ge, self, other)) -> "
        "any(map(ge, self, other))",
    ),
)
"""Faults of each pass."""


@pytest.mark.parametrize(("of", "fault"), PLANTED, ids=lambda each: str(each)[:60])
def test_strings_show_a_fault(of: View, fault: str) -> None:
    (mutant,) = [each for each in mutants_of(fault.partition(" ")[0]) if str(each) == fault]
    with limited(SECONDS), applied(mutant):
        found = (wrong for length in (1, 2) for wrong in mistakes(of, every(length), Tally()))
        assert next(found, "")


# The campaign

PARTS = 16
"""Of the longest strings with accesses; those with the same ones are in the same part."""


def part_of(letters: Letters) -> int:
    """Which one; ``PARTS`` for fences alone."""
    accessed = tuple(_ACCESSED[each] for each in letters if each not in FENCES)
    return hash(accessed) % PARTS if accessed else PARTS


_PLACES = list(dict.fromkeys(map(_unordered, ACCESSES)))
_ACCESSED: dict[Letter, int] = {letter: _PLACES.index(_unordered(letter)) for letter in ACCESSES}


def campaign_part(length: int, part: int) -> list[tuple[str, int, Tally, str]]:
    """What each pass does with the strings of some length, of the longest a part; and a mistake."""
    done: list[tuple[str, int, Tally, str]] = []
    for of in VIEWS:
        start, tally = time.process_time(), Tally()
        strings = (each for each in every(length) if length < LONGEST or part_of(each) == part)
        found = list(mistakes(of, strings, tally))
        tally.seconds = round(time.process_time() - start)
        done.append((of.name, length, tally, found[0] if found else ""))
    return done


Part: TypeAlias = tuple[int, int]
"""A length, and which part of its strings."""


def campaign(jobs: int) -> int:
    """Judge all strings, and record how many there were; what an earlier run has done is kept."""
    results = ROOT / "build" / "fence-strings.jsonl"
    results.parent.mkdir(exist_ok=True)
    done: dict[Part, list[tuple[str, int, list[int], str]]] = {}
    if results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            (length, part), found = json.loads(line)
            done[length, part] = found
    parts = [(length, 0) for length in range(1, LONGEST)]
    parts += [(LONGEST, PARTS), *((LONGEST, part) for part in range(PARTS))]
    left = [each for each in parts if each not in done]
    with (
        multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool,
        results.open("a", encoding="utf-8") as out,
    ):
        for part, found in pool.imap_unordered(_campaign_part, left):
            done[part] = [(name, n, list(astuple(tally)), said) for name, n, tally, said in found]
            print(json.dumps((part, done[part])), file=out, flush=True)
    total: dict[tuple[str, str], Tally] = {}
    for (length, part), found in done.items():
        for name, _, counts, mistake in found:
            key = name, strings_of(length, part)
            total[key] = total.get(key, Tally()) + Tally(*counts)
            if mistake:
                print(*key, mistake)
    lines = ["\t".join(map(str, (*key, *astuple(total[key])))) for key in sorted(total)]
    FENCE_STRINGS.write_text("\n".join([*lines, ""]), encoding="utf-8")
    written(PAGE, page_parts(), check=False)
    return 1 if any(each.wrong for each in total.values()) else 0


def strings_of(length: int, part: int) -> str:
    """What the strings of a part are called."""
    return f"{length} fences" if part == PARTS else f"{length} letters"


def _campaign_part(which: Part) -> tuple[Part, list[tuple[str, int, Tally, str]]]:
    return which, campaign_part(*which)


def read_campaign() -> dict[tuple[str, str], Tally]:
    """What was recorded, by pass and kind of string."""
    lines = FENCE_STRINGS.read_text(encoding="utf-8").splitlines()
    found = [line.split("\t") for line in lines]
    return {(name, strings): Tally(*map(int, counts)) for name, strings, *counts in found}


if __name__ == "__main__":
    sys.exit(campaign(int(sys.argv[1])))
