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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fencewright.lowering.vocabulary import Word
from fencewright.tools.dev.pass_mutants import (
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

ENOUGH = 8
"""How many programs that come out otherwise, and are right, are looked at; more if they are cheap."""


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


def judged(mutant: Mutant, trials: Sequence[Any], enough: int = ENOUGH) -> Result:
    """What becomes of a mutant on ``trials``, which are ``Staged`` or alike; see ``ENOUGH``."""
    name, guard = str(mutant), mutant.guard
    fewest, where, differing, costly = 0, "", 0, 0
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
            costly += not each.is_cheap
            if not where or more < fewest:
                fewest, where = min(more, fewest), str(each.trial)
            if costly == enough:
                break
    if not differing:
        return Result(name, guard, Outcome.SAME)
    outcome = Outcome.OTHER if fewest < 0 else Outcome.MORE
    return Result(name, guard, outcome, where, "", differing)


_TRIALS: list[Any] = []
"""Those of the file that is looked at, which the processes inherit."""


def _judged(mutant: Mutant, enough: int) -> Result:
    return judged(mutant, _TRIALS, enough)


def run(file: str, options: argparse.Namespace, known: Mapping[str, Result]) -> Iterator[Result]:
    """The results of a file's mutants, as many as the ``options`` of the command ask for.

    Those that are ``known`` to do wrong are not tried again.
    """
    corpus = importlib.import_module("pass_corpus")
    drawn = random.Random(f"{options.seed} {file}")
    chosen = [each for each in mutants_of(file) if each.guard or not options.guards]
    chosen = [each for each in chosen if drawn.random() < options.share]
    yield from (known[str(each)] for each in chosen if str(each) in known)
    chosen = [each for each in chosen if str(each) not in known]
    trials = [*corpus.of_tests(file), *corpus.at_random(file, options.seed, options.programs)]
    _TRIALS[:] = corpus.staged(file, trials)
    judge = partial(_judged, enough=options.enough)
    if options.jobs == 1:
        yield from map(judge, chosen)
        return
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        yield from pool.imap(judge, chosen)


CAUGHT = frozenset({Outcome.WRONG, Outcome.FAILS, Outcome.HANGS})
"""What a test sees."""


def read(stream: Path) -> dict[str, Result]:
    """The results of an earlier run, by their mutants."""
    if not stream.exists():
        return {}
    lines = stream.read_text(encoding="utf-8").splitlines()
    data = [json.loads(line) for line in lines]
    found = [replace(Result(**each), outcome=Outcome(each["outcome"])) for each in data]
    return {each.mutant: each for each in found}


def stream_of(results: Path, file: str) -> Path:
    """Where the results of a file are kept."""
    return results / f"{file.replace('/', '-')}.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; it writes the lists of guards, and the page once every file has been done."""
    parser = argparse.ArgumentParser(description=__doc__, prog="mutants_of_passes")
    parser.add_argument("files", nargs="*", default=FILES, help="which files; all without any")
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants, 0 to 1")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--programs", type=int, default=120, help="random ones, for each file")
    parser.add_argument("--enough", type=int, default=ENOUGH, help="that differ are looked at")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants-of-passes")
    parser.add_argument("--guards", action="store_true", help="only conditions and their parts")
    parser.add_argument("--again", action="store_true", help="only what was not caught before")
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT / "tests" / name) for name in ("litmus", "unit")]
    options.results.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        stream = stream_of(options.results, file)
        before = read(stream) if options.again else {}
        known = {name: each for name, each in before.items() if each.outcome in CAUGHT}
        found: list[Result] = []
        with stream.open("w", encoding="utf-8") as out:
            for each in run(file, options, known):
                found.append(each)
                print(json.dumps(asdict(each)), file=out, flush=True)
        counts = Counter(each.outcome for each in found)
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        print(f"{file}: {len(found)} mutants, {len(_TRIALS)} programs: {said}", flush=True)
    write(options.results)
    return 0


# ---------------------------------------------------------------------------------------
# What is written
# ---------------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "mutants-of-passes.md"
GUARDS = ROOT / "tests" / "data" / "guards"
"""A list for each file."""

HEADER = """<!-- Written by `make mutants-of-passes`; change the tests, not this page. -->

# What the tests of the passes notice

The passes that take synchronisation away are as right as the conditions under which they leave
it alone. `make mutants-of-passes` changes each file in every small way: a condition taken out or
negated, a part of one left out, a comparison, a number or a set operation changed, a statement
dropped. Each such *mutant* lowers the programs of the tests and random ones, in every mode of every
chip, until a model finds code that does what its source forbids. Two kinds of file are tried on more.
Those that decide where code waits run on kernels with accesses of every kind on any control-flow
graph, judged by every order in which the accesses complete. Those that select instructions run on
requests that are listed with the code that they need.

- **wrong**: it does;
- **fails**, **hangs**: it raises an error, or does not end;
- **more**: its code is right, as far as it was checked, and never has fewer operations: it costs more;
- **other**: its code is right, as far as it was checked, and has fewer operations somewhere;
- **same**: it makes the same code of every program. Most of these guards save time, matter only to
  remarks, or repeat another guard that is as strict.

The table is of the guards: of every condition and part of one that can be taken out.
`tests/data/guards` lists each with the program that shows what it is for; `tests/unit/test_guards.py`
keeps the lists complete, and runs what they name.

| file | guards | wrong | fails | hangs | more | other | same |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def list_of(file: str) -> Path:
    """Where the guards of a file are listed."""
    return GUARDS / f"{file.removesuffix('.py').replace('/', '-')}.tsv"


def write(results: Path) -> None:
    """The lists of guards of the files that there are results of, and the page of all lists."""
    for file in FILES:
        found = read(stream_of(results, file)).values()
        lines = ["\t".join((each.outcome, each.mutant, each.trial)) for each in found if each.guard]
        if lines:
            list_of(file).write_text("\n".join([*lines, ""]), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def listed(file: str) -> list[tuple[str, ...]]:
    """Of every guard of a file the outcome without it, its name, and the trial that shows that."""
    lines = list_of(file).read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def page() -> str:
    """The page, from the lists of guards."""
    rows: list[str] = []
    left: list[str] = []
    total = Counter[str]()
    for file in FILES:
        found = listed(file)
        counts = Counter(outcome for outcome, _, _ in found)
        total += counts
        rows.append(_row(f"`{file}`", counts))
        left += [
            f"- `{guard}`: {trial}" for outcome, guard, trial in found if outcome == Outcome.OTHER
        ]
    rows.append(_row("all", total))
    tail = ["", "## Right with fewer operations somewhere", "", *left] if left else []
    return HEADER + "\n".join([*rows, *tail, ""])


def _row(name: str, counts: Mapping[str, int]) -> str:
    cells = [str(sum(counts.values())), *(str(counts.get(each, 0)) for each in Outcome)]
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
