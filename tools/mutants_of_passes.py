"""The mutation run of the passes that take synchronisation away: ``make mutants-of-passes``.

Every mutant of ``pass_mutants`` lowers the programs of the tests and random ones. Code that comes
out otherwise than before is judged by a model: a mutant whose code does what the source forbids is
*wrong*. One that raises, or does not end, *fails*. What is left only makes other code, or none:
see ``Outcome``.
"""

import argparse
import importlib
import json
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fencewright.lowering.vocabulary import Word
from fencewright.tools.pass_mutants import (
    FILES,
    ROOT,
    Mutant,
    TooLong,
    applied,
    limited,
    mutants_of,
)

SECONDS = 5.0
"""How long one program may take with a mutant; what takes longer loops."""

ENOUGH = 12
"""How many programs that come out otherwise, and are right, are looked at."""


class Outcome(Word):
    """What becomes of a mutant.

    ``WRONG``: its code does what the source forbids. ``FAILS``: it raises an error, ``HANGS``: it
    does not end. ``MORE``: its code is right, and never has fewer operations. ``OTHER``: its code
    is right, and has fewer operations somewhere. ``SAME``: it never makes other code.
    """

    WRONG = "wrong"
    FAILS = "fails"
    HANGS = "hangs"
    MORE = "more"
    OTHER = "other"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Result:
    """What a mutant did: ``trial`` is the first that shows it, ``differing`` how many came out otherwise."""

    mutant: str
    guard: bool
    outcome: Outcome
    trial: str = ""
    message: str = ""
    differing: int = 0


def judged(mutant: Mutant, trials: Sequence[Any]) -> Result:
    """What becomes of a mutant on ``trials``, which are ``Staged``."""
    name, guard = str(mutant), mutant.guard
    fewest, where, differing = 0, "", 0
    with applied(mutant):
        for each in trials:
            try:
                with limited(SECONDS):
                    found = each.again()
            except TooLong:
                return Result(name, guard, Outcome.HANGS, str(each.trial))
            except Exception as problem:  # Whatever a broken pass raises.
                said = f"{type(problem).__name__}: {problem}".partition("\n")[0][:120]
                return Result(name, guard, Outcome.FAILS, str(each.trial), said)
            if found is None:
                continue
            wrong, more = found
            if wrong:
                return Result(name, guard, Outcome.WRONG, str(each.trial), wrong)
            differing += 1
            if not where or more < fewest:
                fewest, where = min(more, fewest), str(each.trial)
            if differing == ENOUGH:
                break
    if not differing:
        return Result(name, guard, Outcome.SAME)
    outcome = Outcome.OTHER if fewest < 0 else Outcome.MORE
    return Result(name, guard, outcome, where, "", differing)


_TRIALS: list[Any] = []
"""Those of the file that is looked at, which the processes inherit."""


def _judged(mutant: Mutant) -> Result:
    return judged(mutant, _TRIALS)


def run(file: str, share: float, seed: int, programs: int, jobs: int) -> Iterator[Result]:
    """The results of a file's mutants: a ``share`` of them, drawn with ``seed``."""
    corpus = importlib.import_module("pass_corpus")
    mutants = mutants_of(file)
    drawn = random.Random(f"{seed} {file}")
    chosen = [each for each in mutants if share >= 1 or drawn.random() < share]
    trials = [*corpus.of_tests(file), *corpus.at_random(file, seed, programs)]
    _TRIALS[:] = corpus.staged(file, trials)
    if jobs == 1:
        yield from map(_judged, chosen)
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(_judged, chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if a mutant that is wrong gets past what the tests lower."""
    parser = argparse.ArgumentParser(description=__doc__, prog="mutants_of_passes")
    parser.add_argument("files", nargs="*", default=FILES, help="which files; all without any")
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants, 0 to 1")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--programs", type=int, default=120, help="random ones, for each file")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants-of-passes")
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT / "tests" / name) for name in ("litmus", "unit")]
    options.results.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        found: list[Result] = []
        stream = options.results / f"{file.replace('/', '-')}.jsonl"
        with stream.open("w", encoding="utf-8") as out:
            for each in run(file, options.share, options.seed, options.programs, options.jobs):
                found.append(each)
                print(json.dumps(asdict(each)), file=out, flush=True)
        counts = Counter(each.outcome for each in found)
        print(f"{file}: {len(found)} mutants, {len(_TRIALS)} programs,", dict(counts), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
