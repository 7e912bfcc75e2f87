"""The programs that mutants of each pass have to get past: those of the tests, and random ones."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import cycle
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import async_trials
import guard_programs
import guard_texts
import minimise_programs as programs
import select_requests
import wait_kernels
from across_agents import across_program
from async_trials import PathTrial, PatternTrial, StagedAsync
from llvm_ir_trials import COMPILED, ON_LLVM_IR, LLVMIRView, kept_trials, llvm_ir_trial, of_small
from pass_trials import (
    FOLDED,
    ON_CDNA,
    ON_PTX,
    OUTLINED,
    SCOPED,
    Staged,
    Trial,
    View,
    on_cdna,
    trial,
)
from select_requests import RequestTrial, StagedRequest
from wait_kernels import StagedWaits, WaitTrial

from fencewright.lowering.vocabulary import AddressSpace, Fact
from fencewright.simulator.random.programs import (
    SmallProgram,
    electing_program,
    random_program,
    varied_program,
)

sys.path.append(str(Path(__file__).parents[1] / "unit"))

ON_FACTS = (
    on_cdna(facts=(Fact.UNCACHED_MEMORY, Fact.NO_CLUSTERS)),
    on_cdna("gfx90a", facts=(Fact.UNCACHED_MEMORY,)),
    on_cdna(facts=(Fact.SINGLE_WAVE_WORKGROUP,)),
)

VIEWS: Mapping[str, tuple[View, ...]] = {
    "passes/cdna/waits/loosen_waits.py": ON_CDNA,
    "passes/scoped/merge_fences.py": (SCOPED, OUTLINED, *FOLDED),
    "passes/cdna/caches/sink_invalidates.py": (*ON_CDNA, *ON_LLVM_IR),
    "passes/to_ptx/merge_ptx_fences.py": ON_PTX,
    "passes/to_ptx/fold_fences.py": (*FOLDED, *ON_PTX[1:]),
    "passes/cdna/caches/drop_invalidates.py": (*ON_CDNA, *ON_LLVM_IR),
    "passes/cdna/waits/drop_last_waits.py": (*ON_CDNA, *ON_LLVM_IR),
    "passes/cdna/caches/drop_write_backs.py": (*ON_CDNA, *ON_LLVM_IR),
    "passes/cdna/caches/elect_release.py": ON_CDNA,
    "passes/cdna/caches/hoist_write_backs.py": (*ON_CDNA, *ON_LLVM_IR),
    "passes/cdna/caches/clamp_caches.py": ON_FACTS,
    "passes/scoped/clamp_scopes.py": ON_FACTS,
    "passes/scoped/infer_address_spaces.py": (ON_CDNA[0], on_cdna("gfx90a")),
    "passes/analysis/acquire_fences.py": ON_PTX,
    "passes/cdna/caches/store_through.py": (*ON_CDNA[-2:], *ON_LLVM_IR[-2:]),
    "passes/cdna/waits/sink_waits.py": ON_CDNA,
    "passes/cdna/waits/insert_waits.py": ON_CDNA,
    "passes/cdna/waits/decision.py": ON_CDNA,
    "passes/cdna/dataflow.py": ON_CDNA,
    "passes/scoped/acquire_on_success.py": (SCOPED, *ON_CDNA[:3], *ON_LLVM_IR),
    "passes/analysis/exchanges.py": (SCOPED, *ON_CDNA[:3], *ON_LLVM_IR),
    "passes/analysis/caches.py": (*ON_CDNA, *ON_LLVM_IR),
    "lowering/cdna/counters/scoreboard.py": ON_CDNA,
    "lowering/cdna/select.py": ON_CDNA,
    "lowering/ptx/select.py": ON_PTX,
    "lowering/facts.py": ON_FACTS,
    "passes/analysis/split_edges.py": (*ON_CDNA[:3], *ON_LLVM_IR),
    "passes/cdna/caches/kernel_caches.py": ON_CDNA,
    "passes/llvm_ir/await_values.py": ON_LLVM_IR,
    "passes/llvm_ir/caches.py": ON_LLVM_IR,
    "passes/analysis/llvm_ir_memory.py": ON_LLVM_IR,
    "passes/llvm_ir/acquires.py": (*COMPILED, ON_LLVM_IR[0]),
    "passes/llvm_ir/optimiser.py": (*COMPILED, ON_LLVM_IR[0]),
    "passes/llvm_ir/cdna.py": (*ON_LLVM_IR, *COMPILED),
    "passes/llvm_ir/lower_scoped_llvm_ir.py": (*ON_LLVM_IR, *COMPILED),
}
"""Where each file of ``pass_mutants`` makes a difference."""


_CACHE_PASSES = frozenset(
    f"passes/cdna/{name}.py"
    for name in (
        "caches/clamp_caches",
        "caches/drop_invalidates",
        "caches/drop_write_backs",
        "caches/elect_release",
        "caches/hoist_write_backs",
        "caches/sink_invalidates",
        "caches/store_through",
        "waits/drop_last_waits",
    )
)
_LOWERING_OF_LLVM_IR = frozenset({"passes/llvm_ir/lower_scoped_llvm_ir.py"})
PASSES: Mapping[str, frozenset[str]] = {
    "passes/analysis/caches.py": _CACHE_PASSES,
    "passes/cdna/caches/drop_invalidates.py": _CACHE_PASSES,
    "passes/cdna/caches/drop_write_backs.py": _CACHE_PASSES,
    "passes/scoped/merge_fences.py": frozenset(
        {"passes/scoped/merge_fences.py", "passes/to_ptx/fold_fences.py"}
    ),
    "passes/cdna/waits/loosen_waits.py": frozenset(
        {"passes/cdna/waits/sink_waits.py", "passes/cdna/waits/loosen_waits.py"}
    ),
    "passes/cdna/waits/decision.py": frozenset(
        {"passes/cdna/waits/insert_waits.py", "passes/cdna/waits/loosen_waits.py"}
    ),
    "passes/cdna/dataflow.py": frozenset({"passes/cdna/waits/insert_waits.py"}),
    "lowering/cdna/counters/scoreboard.py": _CACHE_PASSES
    | {f"passes/cdna/waits/{name}.py" for name in ("sink_waits", "loosen_waits", "insert_waits")},
    "lowering/cdna/select.py": frozenset({"passes/to_cdna/convert_scoped_to_cdna.py"}),
    "lowering/ptx/select.py": frozenset({"passes/to_ptx/convert_scoped_to_ptx.py"}),
    "passes/analysis/acquire_fences.py": frozenset(
        {"passes/to_ptx/convert_scoped_to_ptx.py", "passes/llvm_ir/lower_scoped_llvm_ir.py"}
    ),
    "lowering/facts.py": frozenset(
        {"passes/scoped/clamp_scopes.py", "passes/cdna/caches/clamp_caches.py"}
    ),
    "passes/scoped/acquire_on_success.py": _CACHE_PASSES | {"passes/scoped/acquire_on_success.py"},
    "passes/analysis/exchanges.py": frozenset({"passes/scoped/acquire_on_success.py"}),
    "passes/analysis/split_edges.py": _CACHE_PASSES | {"passes/scoped/acquire_on_success.py"},
    "passes/cdna/caches/kernel_caches.py": _CACHE_PASSES,
    "passes/llvm_ir/caches.py": _CACHE_PASSES | {"passes/llvm_ir/await_values.py"},
    "passes/analysis/llvm_ir_memory.py": _LOWERING_OF_LLVM_IR
    | {"passes/scoped/acquire_on_success.py", "passes/llvm_ir/await_values.py"},
    "passes/llvm_ir/acquires.py": _LOWERING_OF_LLVM_IR,
    "passes/llvm_ir/optimiser.py": _LOWERING_OF_LLVM_IR,
    "passes/llvm_ir/cdna.py": _LOWERING_OF_LLVM_IR,
}
"""The passes that a file decides for, if it is not just its own."""


AnyTrial: TypeAlias = Trial | WaitTrial | RequestTrial | PathTrial | PatternTrial
AnyStaged: TypeAlias = Staged | StagedWaits | StagedRequest | StagedAsync


def staged(file: str, trials: Iterable[Trial]) -> Iterator[AnyStaged]:
    """Those of the trials that are fit and different, from the passes of a file on.

    Before them what is there for this file alone: kernels, requests, asynchronous programs.
    """
    yield from wait_kernels.staged(file)
    yield from select_requests.staged(file)
    yield from async_trials.staged(file)
    seen: set[tuple[str, object]] = set()
    for each in trials:
        if not each.is_fit:
            continue
        made = Staged(each, PASSES.get(file, frozenset({file})))
        key = str(made.begin), each.view.options
        if key not in seen:
            seen.add(key)
            yield made


EVERY = 6
"""One of so many programs of other tests is in a view; those for guards are in all."""


def of_tests(file: str) -> Iterator[Trial]:
    """The programs that are written down in the tests; each in some of a file's views."""
    for number, view in enumerate(VIEWS.get(file, ())):
        yield from written_down(view, EVERY, number)
    for view in _of_strings(file):
        yield from strings_in(view)
    yield from guard_texts.kept(file)


def _of_strings(file: str) -> list[View]:
    """The views of a pass on strings of fences and accesses."""
    import test_fence_strings as strings

    return [
        each for each in strings.VIEWS if PurePosixPath(file).stem == each.name.replace("-", "_")
    ]


@cache
def strings_in(view: View) -> tuple[Trial, ...]:
    """The strings of two letters: what a pass leaves as it is, it may not do without a guard."""
    import test_fence_strings as strings

    return tuple(strings.of_two(view))


def written_down(view: View, every: int = 1, first: int = 0) -> Iterator[Trial]:
    """The programs for guards in a view, and of the others ``every`` so many."""
    if isinstance(view, LLVMIRView):
        yield from kept_trials(view)
    yield from for_guards(view)
    if Fact.UNCACHED_MEMORY in view.facts or Fact.SINGLE_WAVE_WORKGROUP in view.facts:
        return  # Of some of these programs that does not hold.
    split = bool(view.options.tgsplit)
    for name, text in list(_texts())[first % every :: every]:
        if (" in local" not in text or not split) and (split or not _is_spread(text)):
            make = programs.parse(text).clone
            llvm_ir = isinstance(view, LLVMIRView)
            yield llvm_ir_trial(name, make, view) if llvm_ir else Trial(name, make, view)


def for_guards(view: View) -> Iterator[Trial]:
    """The programs that need guards, in a view."""
    for name, program in guard_programs.PROGRAMS.items():
        if fits(program, view):
            yield _trial(name, program, view)


def _trial(name: str, program: SmallProgram, view: View) -> Trial:
    """A program in any view."""
    if isinstance(view, LLVMIRView):
        return of_small(name, program, view)
    return trial(name, program, view)


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """The programs that other tests lower."""
    import test_minimise_cdna as on_cdna_
    import test_minimise_ptx as on_ptx_
    import test_minimise_scoped as on_scoped

    threads = {
        **{name: case.threads for name, case in on_cdna_.CASES.items()},
        **{name: each for name, (each, _) in on_scoped.WRITERS.items()},
        **{name: each for name, (each, _) in on_scoped.READERS.items()},
        **{name: each for name, (_, each, _, _) in on_ptx_.MERGED.items()},
    }
    return tuple((name, programs.program(each)) for name, each in threads.items())


def _is_spread(text: str) -> bool:
    """Whether waves of one work-group are on several CUs."""
    places = set(re.findall(r"workgroup = (\d+), xcd = \d+, cu = (\d+)", text))
    return len(places) > len({workgroup for workgroup, _ in places})


def fits(program: SmallProgram, view: View) -> bool:
    """Whether a view can have a program: waves on several CUs have no LDS."""
    in_lds = any(each.space is AddressSpace.LOCAL for each in program.locations)
    return not (in_lds and view.options.tgsplit)


def at_random(file: str, first: int, count: int) -> Iterator[Trial]:
    """Random programs, one view of each in turn."""
    elects = file == "passes/cdna/caches/elect_release.py"
    for seed, view in zip(range(first, first + count), cycle(VIEWS.get(file, ())), strict=False):
        yield from drawn(view, seed, 1, elects=elects)


def drawn(view: View, first: int, count: int, *, elects: bool = False) -> Iterator[Trial]:
    """The random programs of some seeds in a view; two of three are varied.

    ``elects``: all are such that a work-group releases as a whole.
    """
    split = bool(view.options.tgsplit)
    mates = Fact.SINGLE_WAVE_WORKGROUP not in view.facts
    for seed in range(first, first + count):
        made = varied_program if seed % 3 else random_program
        made = electing_program if elects else made
        program = made(seed, lds=not split, split=split, mates=mates)
        yield _trial(f"{made.__name__} {seed}", program, view)


def across(file: str, first: int, count: int) -> Iterator[Trial]:
    """Random programs over two agents or three, one view of each in turn."""
    for seed, view in zip(range(first, first + count), cycle(VIEWS.get(file, ())), strict=False):
        yield across_agents(view, seed)


def across_agents(view: View, seed: int) -> Trial:
    """The program of a seed over two agents or three in a view."""
    split = bool(view.options.tgsplit)
    mates = Fact.SINGLE_WAVE_WORKGROUP not in view.facts
    program = across_program(seed, lds=not split, split=split, mates=mates)
    return _trial(f"across_program {seed}", program, view)


def named(file: str, names: Iterable[str]) -> Iterator[Trial]:
    """The programs among the trials of a file that are called so, as far as there still are any."""
    for said in names:
        try:
            found = find(file, said)
        except (LookupError, ValueError, StopIteration):
            continue
        if isinstance(found, Trial):
            yield found


def find(file: str, said: str) -> AnyTrial:
    """The trial of a file that is called so. Raises an error if there is none."""
    if said.startswith(wait_kernels.PREFIX):
        return wait_kernels.find(said)
    if said.startswith(select_requests.PREFIX):
        return RequestTrial(said.removeprefix(select_requests.PREFIX))
    if said.startswith((async_trials.PATHS, async_trials.PATTERN)):
        return async_trials.find(said)
    for each in guard_texts.kept(file):
        if str(each) == said:
            return each
    name, view = said[:-1].rsplit(" (", 1)
    (of,) = [each for each in (*VIEWS[file], *_of_strings(file)) if each.name == view]
    if seed := re.fullmatch(r"across_program (\d+)", name):
        return across_agents(of, int(seed[1]))
    seed = re.fullmatch(r"(random|varied|electing)_program (\d+)", name)
    trials = drawn(of, int(seed[2]), 1, elects=seed[1] == "electing") if seed else written_down(of)
    if of in _of_strings(file):
        trials = iter(strings_in(of))
    return next(each for each in trials if str(each) == said)
