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
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.core.processes.time_limit import TooLong, limited
from fencewright.tools.dev.campaigns.pass_mutants import (
    FILES,
    ROOT,
    PassMutant,
    applied,
    lines_of,
    lines_run,
    makes_tables,
    mutants_of,
)
from fencewright.tools.reports.markdown import markdown_table, written

SECONDS = 5.0
"""The time limit of one program with a mutant; a longer run is taken for a loop."""

ENOUGH = 8
"""The number of right programs with other results to look at; more if they are cheap."""


class Outcome(FastStrEnum):
    """The outcome of a mutant.

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
    """The result of a mutant: ``trial`` is the first that shows it, ``differing`` the number of
    other results.

    ``tried``: how many trials run what it changes. ``seconds``: of the processor's time.
    """

    mutant: str
    guard: bool
    outcome: Outcome
    trial: str = ""
    message: str = ""
    differing: int = 0
    tried: int = 0
    seconds: float = 0.0


def judged(mutant: PassMutant, trials: Sequence[Any]) -> Result:
    """The result of a mutant on ``trials``, which are ``Staged`` or alike; see ``ENOUGH``."""
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
            if costly == ENOUGH:
                break
    if not differing:
        return Result(name, guard, Outcome.SAME)
    outcome = Outcome.OTHER if fewest < 0 else Outcome.MORE
    return Result(name, guard, outcome, where, "", differing)


_TRIALS: list[tuple[Any, frozenset[int]]] = []
"""Those of the file at hand, and the lines of it that each runs; processes inherit them."""


def _judged(mutant: PassMutant) -> Result:
    """The result of a mutant on the trials that run the changed code."""
    start = time.process_time()
    lines, everywhere = frozenset(lines_of(mutant)), makes_tables(mutant)
    trials = [each for each, ran in _TRIALS if everywhere or ran & lines]
    found = judged(mutant, trials)
    return replace(found, tried=len(trials), seconds=round(time.process_time() - start, 3))


def run(file: str, options: argparse.Namespace, known: Mapping[str, Result]) -> Iterator[Result]:
    """The results of a file's mutants, as many as the ``options`` of the command ask for.

    Those that are ``known`` to do wrong are not tried again.
    """
    corpus = importlib.import_module("pass_corpus")
    chosen = [each for each in mutants_of(file) if each.guard in options.kinds]
    if options.further:
        listed_ones = from_lists(file)
        chosen = [each for each in chosen if str(each) in listed_ones]
    yield from (known[str(each)] for each in chosen if str(each) in known)
    chosen = [each for each in chosen if str(each) not in known]
    if options.further:
        trials = [*corpus.across(file, options.seed, options.across)]
    else:
        trials = [
            *corpus.named(file, trials_listed(file)),
            *corpus.of_tests(file),
            *corpus.at_random(file, options.seed, options.programs),
            *corpus.across(file, options.seed, options.across),
        ]
    staged = corpus.staged(file, trials)
    _TRIALS[:] = ((each, lines_run(file, each.again)) for each in staged)
    if options.jobs == 1:
        yield from map(_judged, chosen)
        return
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        yield from pool.imap(_judged, chosen)


CAUGHT = frozenset({Outcome.WRONG, Outcome.FAILS, Outcome.HANGS})
"""The outcomes that a test sees."""

_FINDS_MORE = (
    Outcome.SAME,
    Outcome.MORE,
    Outcome.OTHER,
    Outcome.HANGS,
    Outcome.FAILS,
    Outcome.WRONG,
)
"""The outcomes in the order in which more programs may change them."""


def known_further(before: Result, found: Result) -> Result:
    """The outcome of a mutant after more programs have been tried."""
    if _FINDS_MORE.index(found.outcome) > _FINDS_MORE.index(before.outcome):
        return found
    return replace(before, seconds=found.seconds)


def from_lists(file: str) -> dict[str, Result]:
    """The results that are listed, without those that the lists do not have."""
    return {
        name: Result(name, guards, Outcome(outcome), trial)
        for guards in (True, False)
        for outcome, name, trial in listed(file, guards)
    }


def read(stream: Path) -> dict[str, Result]:
    """The results of an earlier run, by their mutants."""
    if not stream.exists():
        return {}
    lines = stream.read_text(encoding="utf-8").splitlines()
    data = [json.loads(line) for line in lines]
    found = [replace(Result(**each), outcome=Outcome(each["outcome"])) for each in data]
    return {each.mutant: each for each in found}


def stream_of(results: Path, file: str) -> Path:
    """The path of the results of a file."""
    return results / f"{file.replace('/', '-')}.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; it writes the lists of guards, and the page once every file has been done."""
    parser = argparse.ArgumentParser(description=__doc__, prog="mutants_of_passes")
    parser.add_argument("files", nargs="*", default=FILES, help="which files; all without any")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--programs", type=int, default=120, help="random ones, for each file")
    parser.add_argument("--across", type=int, default=60, help="more of them over agents")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants-of-passes")
    parser.add_argument(
        "--guards",
        dest="kinds",
        action="store_const",
        const=(True,),
        default=(True, False),
        help="only conditions and their parts",
    )
    parser.add_argument(
        "--others", dest="kinds", action="store_const", const=(False,), help="all but these"
    )
    parser.add_argument(
        "--further",
        action="store_true",
        help="only what the lists know to be caught by no test, on programs over agents alone",
    )
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT / "tests" / name) for name in ("litmus", "unit", "differential")]
    options.results.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        stream = stream_of(options.results, file)
        before = from_lists(file) if options.further else {}
        known = {name: each for name, each in before.items() if each.outcome in CAUGHT}
        found: list[Result] = []
        with stream.open("w", encoding="utf-8") as out:
            for tried in run(file, options, known):
                each = known_further(before[tried.mutant], tried) if options.further else tried
                found.append(each)
                print(json.dumps(asdict(each)), file=out, flush=True)
        counts = Counter(each.outcome for each in found)
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        print(f"{file}: {len(found)} mutants, {len(_TRIALS)} programs: {said}", flush=True)
    write(options.results, further=options.further)
    return 0


# The written files

PAGE = ROOT / "docs" / "mutants-of-passes.md"
DATA = ROOT / "tests" / "data"
GUARDS = DATA / "guards"
"""Two lists for each file: of its guards, and of its other mutants."""

COSTS = GUARDS / "seconds.tsv"
"""The times of the other mutants of each file, in seconds of the processor's time."""

FENCE_STRINGS = DATA / "fence_strings.tsv"
"""Results of ``make fence-strings``: pass, strings, programs, changed, judged, wrong, seconds."""


def list_of(file: str, guards: bool = True) -> Path:
    """The path of the list of a file's guards, or of its other mutants."""
    name = file.removesuffix(".py").replace("/", "-")
    return GUARDS / (f"{name}.tsv" if guards else f"{name}.others.tsv")


def write(results: Path, *, further: bool = False) -> None:
    """The lists of the files that there are results of, and the page of all lists.

    ``further``: the results are of some mutants only, and say nothing of the cost of all.
    """
    costs = costs_of_files()
    for file in FILES:
        results_of = read(stream_of(results, file))
        found = [results_of[str(each)] for each in mutants_of(file) if str(each) in results_of]
        for guards in (True, False):
            lines = [
                "\t".join((each.outcome, each.mutant, each.trial))
                for each in found
                if each.guard is guards
            ]
            if lines:
                list_of(file, guards).write_text("\n".join([*lines, ""]), encoding="utf-8")
        others = [each.seconds for each in found if not each.guard]
        if others and not further:
            costs[file] = round(sum(others))
    lines = [f"{file}\t{costs[file]}" for file in FILES if file in costs]
    COSTS.write_text("\n".join([*lines, ""]), encoding="utf-8")
    written(PAGE, page_parts(), check=False)


def costs_of_files() -> dict[str, int]:
    """The times of the other mutants of each file."""
    return {file: int(seconds) for file, seconds in _rows(COSTS)}


def listed(file: str, guards: bool = True) -> list[tuple[str, ...]]:
    """Of every guard or other mutant of a file: outcome, name, and the trial that shows it."""
    return _rows(list_of(file, guards))


def trials_listed(file: str) -> list[str]:
    """The trials that show mutants of a file wrong, failing or hanging."""
    found = (*listed(file), *listed(file, guards=False))
    return list(dict.fromkeys(trial for outcome, _, trial in found if Outcome(outcome) in CAUGHT))


def _rows(path: Path) -> list[tuple[str, ...]]:
    if not path.exists():
        return []
    return [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def page_parts() -> Mapping[str, str]:
    """The parts of the page, from the lists."""
    took = _minutes(sum(costs_of_files().values()))
    strings = [(*cells, _minutes(int(seconds))) for *cells, seconds in _rows(FENCE_STRINGS)]
    left = [
        f"- `{mutant}`: {trial}\n"
        for guards in (True, False)
        for file in FILES
        for outcome, mutant, trial in listed(file, guards)
        if outcome == Outcome.OTHER
    ]
    return {
        "guards": _table(guards=True),
        "others": f"{_table(guards=False)}\nThese took {took} of a processor's time.\n",
        "strings": markdown_table(_STRINGS, strings),
        "left": "".join(left),
    }


_STRINGS = (
    "pass", "strings of", "programs", "changed", "judged", "wrong", "processor's time"
)  # fmt: skip


def _table(guards: bool) -> str:
    counts = {
        f"`{each}`": Counter(outcome for outcome, *_ in listed(each, guards)) for each in FILES
    }
    counts["all"] = sum(counts.values(), Counter[str]())
    return markdown_table(
        ("file", "mutants", *Outcome),
        [
            (name, each.total(), *(f"{each[word]}" for word in Outcome))
            for name, each in counts.items()
        ],
    )


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


if __name__ == "__main__":
    sys.exit(main())
