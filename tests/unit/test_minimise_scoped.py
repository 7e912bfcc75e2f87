"""merge-fences judged by the source model: no outcome appears, and broken rules are caught."""

import os
from collections.abc import Callable

import minimise_programs as programs
import pytest
from campaigns import drawn
from minimise_programs import (
    FENCES_AFTER,
    FENCES_BEFORE,
    Random,
    Step,
    Threads,
    Where,
    barrier,
    fence,
    load,
    program,
    source,
    store,
    when,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fencewright.mlir_dialects.scoped import BarrierOp, FenceOp
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.scoped import merge_fences
from fencewright.passes.scoped.merge_fences import EVERYTHING, Done, MergeFencesPass
from fencewright.simulator.litmus_run import run

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
SEEDS = 3_000 if THOROUGH else 200
HERE, MATE, FAR = Where(0, 0), Where(0, 0), Where(1, 1)


def merged(text: str) -> ModuleOp:
    module = programs.parse(text)
    MergeFencesPass().apply(Context(), module)
    module.verify()
    return module


def fences(module: ModuleOp) -> list[str]:
    """The fences that are left, as ordering and scope."""
    found = [op for op in module.walk() if isinstance(op, FenceOp)]
    return [f"{op.ordering.data} {op.scope.data}" for op in found if op.scope is not None]


def new_outcomes(text: str) -> frozenset[tuple[int | None, ...]]:
    """Outcomes of the merged program that the source does not have; a race is an outcome too."""
    meant = source(text)
    assert not meant.races
    does = run(read_only_test(merged(text), ReadOptions()))
    if does.outcomes is None:
        return frozenset({(None,)})
    return programs.forbidden(meant, does)


READER: tuple[Where, list[Step]] = (
    FAR, [load("r0", "f", "relaxed"), fence("acquire"), when("r0", 1), load("r1", "x")],
)  # fmt: skip


def writer(*steps: Step) -> Threads:
    return ((HERE, [store("x", 1), *steps]), READER)


WRITERS: dict[str, tuple[Threads, list[str]]] = {
    "in a row": (
        writer(fence("release"), fence("release"), store("f", 1, "relaxed")),
        ["release agent", "acquire agent"],
    ),
    "narrow before wide": (
        writer(fence("release", "workgroup"), fence("release"), store("f", 1, "relaxed")),
        ["release agent", "acquire agent"],
    ),
    "wide before narrow": (
        writer(fence("release"), fence("release", "workgroup"), store("f", 1, "relaxed")),
        ["release agent", "acquire agent"],
    ),
    "a flag between": (
        writer(fence("release"), store("f", 1, "relaxed"), fence("release"),
               store("g", 1, "relaxed")),
        ["release agent", "release agent", "acquire agent"],
    ),
    "a plain store between": (
        writer(fence("release"), store("y", 1), fence("release"), store("f", 1, "relaxed")),
        ["release agent", "acquire agent"],
    ),
    "both halves": (
        writer(fence("acq_rel"), fence("release"), store("f", 1, "relaxed")),
        ["release agent", "acquire agent"],
    ),
    "a barrier between": (
        (
            (HERE, [store("x", 1), fence("release"), barrier(relaxed=True), fence("release")]),
            (MATE, [barrier(relaxed=True), fence("acquire"), load("r0", "x")]),
        ),
        ["release agent", "release agent", "acquire agent"],
    ),
    "an ordering barrier between": (
        (
            (HERE, [store("x", 1), fence("release"), barrier(), fence("acq_rel"),
                    store("f", 1, "relaxed")]),
            (MATE, [barrier(), fence("release"), store("g", 1, "relaxed")]),
            READER,
        ),
        ["release agent", "release agent", "acquire agent"],
    ),
}  # fmt: skip


def reader(*steps: Step) -> Threads:
    return (
        (HERE, [store("x", 1), fence("release"), store("f", 1, "relaxed")]),
        (FAR, list(steps)),
    )


READERS: dict[str, tuple[Threads, list[str]]] = {
    "behind an acquire load": (
        reader(load("r0", "f", "acquire"), fence("acquire"), when("r0", 1), load("r1", "x")),
        ["release agent"],
    ),
    "behind an acquire load of a narrower scope": (
        reader(load("r2", "g", "acquire", "workgroup"), load("r0", "f", "relaxed"),
               fence("acquire"), when("r0", 1), load("r1", "x")),
        ["release agent", "acquire agent"],
    ),
    "an earlier flag": (
        reader(load("r0", "f", "relaxed"), load("r2", "g", "acquire"), fence("acquire"),
               when("r0", 1), load("r1", "x")),
        ["release agent", "acquire agent"],
    ),
    "in a row": (
        reader(load("r0", "f", "relaxed"), fence("acquire", "workgroup"), fence("acquire"),
               when("r0", 1), load("r1", "x")),
        ["release agent", "acquire agent"],
    ),
    "on one way": (
        reader(load("r0", "f", "relaxed"), when("r0", 1), fence("acquire"), fence("acq_rel"),
               load("r1", "x")),
        ["release agent", "acq_rel agent"],
    ),
    "a load between": (
        reader(load("r0", "f", "relaxed"), when("r0", 1), fence("acquire"), load("r1", "x"),
               load("r2", "g", "relaxed"), fence("acquire"), load("r3", "x")),
        ["release agent", "acquire agent", "acquire agent"],
    ),
    "an ordering barrier between": (
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [load("r0", "f", "relaxed"), fence("acquire"), barrier(), fence("acquire"),
                   when("r0", 1), load("r1", "x")]),
            (Where(1, 1), [barrier(), fence("acquire")]),
        ),
        ["acquire agent"],
    ),
    "released in between": (
        (
            (HERE, [store("x", 1), store("f", 1, "release")]),
            (FAR, [fence("release"), load("r0", "f", "relaxed"), fence("acquire"),
                   fence("release"), when("r0", 1), store("g", 1, "relaxed")]),
            (Where(2, 0), [load("r0", "g", "acquire"), when("r0", 1), load("r1", "x")]),
        ),
        ["acquire agent", "release agent"],
    ),
    "seq_cst": (
        (
            (HERE, [store("f", 1, "relaxed"), fence("seq_cst"), fence("seq_cst"),
                    load("r0", "g", "relaxed")]),
            (FAR, [store("g", 1, "relaxed"), fence("seq_cst"), fence("acq_rel"),
                   load("r0", "f", "relaxed")]),
        ),
        ["seq_cst agent", "seq_cst agent"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_release_fences(name: str) -> None:
    threads, left = WRITERS[name]
    text = program(threads)
    assert fences(merged(text)) == left
    assert not new_outcomes(text)


@pytest.mark.parametrize("name", READERS)
def test_acquire_fences(name: str) -> None:
    threads, left = READERS[name]
    text = program(threads)
    assert fences(merged(text)) == left
    assert not new_outcomes(text)


Break = Callable[[pytest.MonkeyPatch], None]


def always(value: object) -> Callable[..., object]:
    """A function that answers so whatever it is asked."""

    def answer(*_: object) -> object:
        return value

    return answer


def publish_nothing(patch: pytest.MonkeyPatch) -> None:
    """No store needs the release fence before it."""
    patch.setattr(merge_fences, "may_publish", always(False))


def acquire_everything(patch: pytest.MonkeyPatch) -> None:
    """Every read acquires by itself."""
    patch.setattr(merge_fences, "acquired_by", always(EVERYTHING))


def trust_barriers(patch: pytest.MonkeyPatch) -> None:
    """A barrier orders memory even if it is relaxed."""

    def is_barrier(op: Operation) -> bool:
        return isinstance(op, BarrierOp)

    patch.setattr(merge_fences, "_is_whole_barrier", is_barrier)


def forget_stores(patch: pytest.MonkeyPatch) -> None:
    """What comes after a release fence is released by it."""
    real = merge_fences.past

    def past(op: Operation, done: Done, *, forwards: bool) -> Done:
        after = real(op, done, forwards=forwards)
        return after._replace(released=max(after.released, done.released)) if forwards else after

    patch.setattr(merge_fences, "past", past)


def forget_loads(patch: pytest.MonkeyPatch) -> None:
    """An acquire fence may come after what needs it."""
    real = merge_fences.past

    def past(op: Operation, done: Done, *, forwards: bool) -> Done:
        before = real(op, done, forwards=forwards)
        return before if forwards else before._replace(acquired=max(before.acquired, done.acquired))

    patch.setattr(merge_fences, "past", past)


BROKEN: dict[Break, Threads] = {
    publish_nothing: writer(
        fence("release"), store("f", 1, "relaxed"), fence("release"), store("g", 1, "relaxed")
    ),
    acquire_everything: READERS["an earlier flag"][0],
    trust_barriers: WRITERS["a barrier between"][0],
    forget_stores: (
        (HERE, [fence("release"), store("x", 1), fence("release"), store("f", 1, "relaxed")]),
        READER,
    ),
    forget_loads: READERS["a load between"][0],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_caught(monkeypatch: pytest.MonkeyPatch, broken: Break) -> None:
    text = program(BROKEN[broken])
    assert not new_outcomes(text)
    broken(monkeypatch)
    assert new_outcomes(text)


AT_THE_END = """
func.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %v: i32){attributes} {{
  scoped.store weak %v, %p : i32, !llvm.ptr<1>
  scoped.fence {ordering} agent
  {after}
  func.return
}}
"""
KERNEL = " attributes {gpu.kernel}"
RELEASE = "scoped.store release agent %v, %q : i32, !llvm.ptr<1>"


@pytest.mark.parametrize(
    ("attributes", "ordering", "after", "left"),
    [
        (KERNEL, "release", "", []),
        ("", "release", "", ["release agent"]),
        (KERNEL, "acq_rel", "", []),
        (KERNEL, "release", RELEASE, []),
        (KERNEL, "release", RELEASE.replace("release", "relaxed"), ["release agent"]),
        (KERNEL, "release", RELEASE.replace("agent", "workgroup"), ["release agent"]),
        (KERNEL, "release", RELEASE.replace("agent", "system"), []),
        (KERNEL, "release", RELEASE.replace("%q :", "%q spaces [global] :"), ["release agent"]),
        ("", "release", RELEASE, ["release agent"]),
        (KERNEL, "seq_cst", "", ["seq_cst agent"]),
    ],
)
def test_a_thread_publishes_nothing_after_its_end(
    attributes: str, ordering: str, after: str, left: list[str]
) -> None:
    text = AT_THE_END.format(attributes=attributes, ordering=ordering, after=after)
    assert fences(merged(text)) == left


BETWEEN = """
func.func @k(%p : !llvm.ptr<1>) attributes {{gpu.kernel}} {{
  scoped.fence seq_cst agent
  %a = scoped.load weak %p {between} : !llvm.ptr<1> -> i32
  scoped.fence seq_cst agent
  func.return
}}
"""


def test_invariant_loads_take_no_part_in_ordering() -> None:
    assert fences(merged(BETWEEN.format(between="{invariant}"))) == ["seq_cst agent"]
    assert fences(merged(BETWEEN.format(between="{nontemporal}"))) == ["seq_cst agent"] * 2


class _WithFences(Random):
    """Programs with more fences than anyone needs."""

    def noise(self, chance: float) -> list[Step]:
        steps = super().noise(chance)
        while self.random.random() < 0.5:
            kind = self.random.choice((*FENCES_BEFORE, *FENCES_AFTER))
            scope = self.random.choice(("workgroup", "agent", "agent", "system"))
            steps.insert(self.random.randint(0, len(steps)), fence(kind, scope))
        return steps


@pytest.mark.parametrize("start", drawn(range(0, SEEDS, 50)))
def test_random_programs_stay_right(start: int) -> None:
    before = after = checked = 0
    for seed in range(start, start + 50):
        text = program(_WithFences(seed).threads())
        meant = source(text)
        if meant.races or meant.incomplete:
            continue
        module = merged(text)
        does = run(read_only_test(module, ReadOptions()))
        assert not does.races, seed
        assert not programs.forbidden(meant, does), seed
        before += text.count("scoped.fence")
        after += len(fences(module))
        checked += 1
    assert checked >= 25
    assert after < before
