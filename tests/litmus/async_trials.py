"""Programs with asynchronous operations through insert-proxy-fences, as trials of its mutants.

Random ones are judged by the search for paths that lack a fence, which knows nothing of the pass;
the examples of the documentation by the synchronisation that each needs.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

sys.path += [str(Path(__file__).parents[1] / name) for name in ("unit", "differential")]

FILES = frozenset(
    f"passes/proxies/{name}.py"
    for name in (
        "insert_proxy_fences",
        "dataflow",
        "edges",
        "function",
        "locations",
        "missing",
        "state",
        "cluster_phases",
    )
)
"""The files that decide where fences of a proxy are, and waits for copies."""

SEEDS = 240
"""How many random programs there are; the tests judge the same ones."""

PATHS, PATTERN = "paths: ", "pattern: "


@cache
def _paths() -> Any:
    import test_proxy_fences_by_paths

    return test_proxy_fences_by_paths


@cache
def _patterns() -> Any:
    import test_insert_proxy_fences

    return test_insert_proxy_fences


@dataclass(frozen=True)
class PathTrial:
    """A random program, by its seed."""

    seed: int

    is_fit = True

    def __str__(self) -> str:
        return f"{PATHS}{self.seed}"

    @property
    def begin(self) -> ModuleOp:
        """The program before the pass."""
        return _paths().parse(_paths().program(self.seed))

    def wrong(self, module: ModuleOp) -> str:
        """The first path that lacks a fence."""
        return " ".join(next(_paths().owed(_paths().function_of(module)), "").split())

    def problem(self) -> str:
        """What is wrong with the program after the pass."""
        return self.wrong(_patterns().inserted(self.begin))


@dataclass(frozen=True)
class PatternTrial:
    """An example of the documentation, by its name."""

    name: str

    is_fit = True

    def __str__(self) -> str:
        return f"{PATTERN}{self.name}"

    @property
    def begin(self) -> ModuleOp:
        """The example before the pass."""
        return _patterns().example(self.name)

    def wrong(self, module: ModuleOp) -> str:
        """What of the synchronisation that it needs is not there."""
        of = _patterns()
        emitted = of.synchronisation(of.ptx_of(module, *of.options(self.name)))
        names: list[str] = [of.same_name(each) for each in of.SYNCHRONISATION[self.name].split()]
        needed = Counter(names)
        needed.subtract(emitted)
        return " ".join(each for each, count in needed.items() if count > 0)

    def problem(self) -> str:
        """What is wrong with the example after the pass."""
        return self.wrong(_patterns().inserted(self.begin))


class StagedAsync:
    """A trial that goes through the pass again and again; see ``pass_trials.Staged``."""

    is_cheap = True

    def __init__(self, trial: PathTrial | PatternTrial):
        self.trial = trial
        self.begin = trial.begin
        self.text = str(_patterns().inserted(self.begin.clone()))
        self.judged: dict[str, str] = {}

    def again(self) -> tuple[str, int] | None:
        """What is wrong now, and how many operations more there are; None if it is what it was."""
        module = _patterns().inserted(self.begin.clone())
        if (text := str(module)) == self.text:
            return None
        if text not in self.judged:
            self.judged[text] = self.trial.wrong(module)
        return self.judged[text], text.count("\n") - self.text.count("\n")


def find(said: str) -> PathTrial | PatternTrial:
    """The trial that is called so."""
    if said.startswith(PATHS):
        return PathTrial(int(said.removeprefix(PATHS)))
    return PatternTrial(said.removeprefix(PATTERN))


def staged(file: str) -> Iterator[StagedAsync]:
    """The trials for a file, if there are any."""
    if file in FILES:
        for name in _patterns().SYNCHRONISATION:
            yield StagedAsync(PatternTrial(name))
        for seed in range(SEEDS):
            yield StagedAsync(PathTrial(seed))
