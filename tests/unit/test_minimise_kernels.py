"""The eighteen kernels: how much synchronisation is left of them, and that it is enough."""

import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import minimise_programs as programs
import pytest
from campaigns import Share, shares, some_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import CDNAPipeline
from fencewright.simulator.litmus_run import CdnaTest, Run, stuck_waves

ROOT = Path(__file__).parents[2]
KERNELS = (ROOT / "examples" / "kernels-cdna" / "kernels.mlir").read_text(encoding="utf-8")
sys.path.append(str(ROOT / "benchmarks"))


def test_the_least_there_is() -> None:
    import kernels_cdna

    counts = kernels_cdna.measured()
    totals = {name: kernels_cdna.totals(each) for name, each in counts.items()}
    assert len(kernels_cdna.kernels()) == 18
    llvm, minimal = totals["LLVM 22 -O2"], totals["minimised"]
    assert (llvm.write_backs, llvm.invalidates) == (17, 16)
    assert (minimal.write_backs, minimal.invalidates) == (8, 8)
    assert minimal.waits <= llvm.waits
    assert totals["stores=through"].write_backs == 0
    less = counts["LLVM 22 -O2, less its surplus"]
    for name, each in counts["minimised"].items():
        theirs = counts["LLVM 22 -O2"][name]
        assert each.write_backs <= theirs.write_backs
        assert each.invalidates <= theirs.invalidates
        left = less.get(name, kernels_cdna.Counts())
        assert (left.write_backs, left.invalidates) == (each.write_backs, each.invalidates)


@pytest.mark.parametrize("file", ["elected.mlir", "elected.ll"])
def test_one_wave_writes_back_for_its_work_group(file: str) -> None:
    import kernels_cdna

    each, one = (kernels_cdna.executed(file, elects=elects) for elects in (False, True))
    assert each.keys() == one.keys() == kernels_cdna.kernels("elected.mlir").keys()
    for name, counts in one.items():
        assert each[name].write_backs == kernels_cdna.WAVES
        assert counts.write_backs == 1
        assert counts.waits == each[name].waits + 1
        assert counts.invalidates == each[name].invalidates


def test_nothing_is_elected_where_one_wave_is_all_there_is() -> None:
    import kernels_cdna

    each, one = (kernels_cdna.executed("kernels.mlir", elects=elects) for elects in (False, True))
    assert each == one


@dataclass(frozen=True)
class KernelTest:
    """Threads that run kernels, or bodies of their own beside them, each at its place.

    ``lds`` are the locations of work-group 0.
    """

    threads: tuple[tuple[str, str], ...]
    lds: str = ""


HERE, FAR = "workgroup = 0, xcd = 0", "workgroup = 1, xcd = 1"
THIRD = "workgroup = 2, xcd = 0"
PRODUCER = (HERE, "runs @two_release_fences(@d, @f)")
CONSUMER = (FAR, 'runs @mp_consumer_acquire_load(@d, @f, "r0")')


def waiting_for(
    flag: str, value: int, *data: str, how: str = "acquire agent", lds: str = ""
) -> str:
    """A body that spins on a flag, and then loads."""
    of = {name: f"!llvm.ptr<{3 if name in lds else 1}>" for name in (flag, *data)}
    lines = ["{", *(f"%{name} = litmus.address @{name} : {type}" for name, type in of.items())]
    lines += [
        f"%value = arith.constant {value} : i32",
        "cf.br ^spin",
        "^spin:",
        f"%v = scoped.load {how} %{flag} : {of[flag]} -> i32",
        "%done = arith.cmpi eq, %v, %value : i32",
        "cf.cond_br %done, ^go, ^spin",
        "^go:",
    ]
    for n, name in enumerate(data):
        lines.append(f"%x{n} = scoped.load weak %{name} : {of[name]} -> i32")
        lines.append(f'litmus.observe "r{n}", %x{n} : i32')
    return "\n".join([*lines, "litmus.end", "}"])


FIRST_TILE = """{
  %p = litmus.address @p : !llvm.ptr<1>
  %c = litmus.address @c : !llvm.ptr<1>
  %f = litmus.address @f : !llvm.ptr<1>
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  scoped.store weak %one, %p : i32, !llvm.ptr<1>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  scoped.store weak %two, %c : i32, !llvm.ptr<1>
  scoped.store release agent %two, %f : i32, !llvm.ptr<1>
}"""

TESTS = {
    "mp_producer": KernelTest(
        ((HERE, "runs @mp_producer(@d, @e, @f, 2 : i32)"), (FAR, waiting_for("f", 2, "d", "e")))
    ),
    "mp_consumer_acquire_load": KernelTest((PRODUCER, CONSUMER)),
    "mp_consumer_fence": KernelTest(
        (PRODUCER, (FAR, 'runs @mp_consumer_fence(@d, @f, "r0")')),
    ),
    "spin_lock": KernelTest(
        ((HERE, "runs @spin_lock(@f, @d, @e)"), (FAR, "runs @spin_lock(@f, @d, @e)"))
    ),
    "look_back": KernelTest(
        (
            (HERE, FIRST_TILE),
            (FAR, "runs @look_back(@q, @d, @g, @p, @c, @f, 3 : i32)"),
            (THIRD, waiting_for("g", 2, "q", "d")),
        )
    ),
    "grid_barrier": KernelTest(
        (
            (HERE, 'runs @grid_barrier(@d, @e, @f, 2 : i32, 1 : i32, "r0")'),
            (FAR, 'runs @grid_barrier(@e, @d, @f, 2 : i32, 1 : i32, "r0")'),
        )
    ),
    "grid_barrier of two waves": KernelTest(
        (
            (HERE, 'runs @grid_barrier(@d, @e, @f, 2 : i32, 1 : i32, "r0")'),
            (HERE, 'runs @grid_barrier(@c, @e, @f, 2 : i32, 0 : i32, "r0")'),
            (FAR, 'runs @grid_barrier(@e, @c, @f, 2 : i32, 1 : i32, "r0")'),
        )
    ),
    "two_release_fences": KernelTest((PRODUCER, CONSUMER)),
    "two_release_stores": KernelTest(
        ((HERE, "runs @two_release_stores(@d, @g, @f)"), CONSUMER),
    ),
    "two_release_stores, the first": KernelTest(
        ((HERE, "runs @two_release_stores(@d, @f, @g)"), CONSUMER),
    ),
    "release_after_lds": KernelTest(
        (
            (HERE, "runs @release_after_lds(@s, @f)"),
            (HERE, waiting_for("f", 1, "s", lds="s")),
            (FAR, "runs @acquire_load_and_fence(@f, @d, @g)"),
        ),
        lds="s",
    ),
    "acquire_load_and_fence": KernelTest(
        (PRODUCER, (FAR, 'runs @acquire_load_and_fence(@f, @d, "r0")')),
    ),
    "mp_in_lds": KernelTest(
        (
            (HERE, 'runs @mp_in_lds(@s, @t, 1 : i32, "r0")'),
            (HERE, 'runs @mp_in_lds(@s, @t, 0 : i32, "r0")'),
        ),
        lds="st",
    ),
    "dekker": KernelTest(
        ((HERE, 'runs @dekker(@f, @g, "r0")'), (FAR, 'runs @dekker(@g, @f, "r0")'))
    ),
    "acq_rel_rmw_loop": KernelTest(
        (
            (HERE, "runs @acq_rel_rmw_loop(@f, 2 : i32)"),
            (FAR, "runs @acq_rel_rmw_loop(@f, 2 : i32)"),
            (THIRD, waiting_for("f", 4)),
        )
    ),
    "release_at_entry": KernelTest(((HERE, "runs @release_at_entry(@f)"), CONSUMER)),
    "fence_after_prefetch": KernelTest(
        (PRODUCER, (FAR, 'runs @fence_after_prefetch(@f, @p, @q, @d, "r0")')),
    ),
    "store_then_seq_cst_load": KernelTest(
        (
            (HERE, 'runs @store_then_seq_cst_load(@d, @f, "r0")'),
            (FAR, "runs @release_at_entry(@f)"),
        )
    ),
    "acquire_then_rmw": KernelTest(
        (
            (HERE, "runs @two_release_stores(@d, @f, @g)"),
            (FAR, "runs @acquire_then_rmw(@f, @g)"),
        )
    ),
    "fenced_rmw": KernelTest(
        ((HERE, 'runs @fenced_rmw(@d, @f, "r0")'), (FAR, 'runs @fenced_rmw(@d, @f, "r0")'))
    ),
}  # fmt: skip


def test_every_kernel_is_run() -> None:
    import kernels_cdna

    run = {
        name for test in TESTS.values() for _, what in test.threads for name in RUNS.findall(what)
    }
    assert run == set(kernels_cdna.kernels())
    assert run <= set(TESTS)


RUNS = re.compile(r"runs @(\w+)\(")


def litmus_test(test: KernelTest) -> str:
    """The test, beside the kernels."""
    code = "\n".join(what for _, what in test.threads)
    lines = ["litmus.test @t {"]
    for name in sorted(set(re.findall(r"@(\w)\b", code))):
        where = " in local {workgroup = 0 : i32}" if name in test.lds else ""
        lines.append(f"litmus.location @{name} = 0 : i32{where}")
    for number, (place, what) in enumerate(test.threads):
        lines.append(f"litmus.thread @P{number} at <{place}> {what}")
    return "\n".join([KERNELS, *lines, "}"])


PIPELINES = {
    "minimised": CDNAPipeline("gfx942"),
    "writing back": CDNAPipeline("gfx942", stores="back"),
    "storing through": CDNAPipeline("gfx942", stores="through"),
}


@cache
def meant_by(name: str) -> Run:
    """What a test's source may do."""
    return programs.source(litmus_test(TESTS[name]))


LOWERED: dict[str, ModuleOp] = {}
"""The lowered tests by their text: several pipelines make the same of one, which is executed once."""


@cache
def lowered(name: str, pipeline: str) -> ModuleOp:
    """A test by one of the pipelines."""
    module = parsed(name).clone()
    PIPELINES[pipeline].apply(Context(), module)
    return LOWERED.setdefault(str(module), module)


@cache
def parsed(name: str) -> ModuleOp:
    return programs.parse(litmus_test(TESTS[name]))


@cache
def executed(module: ModuleOp, l2_per_agent: L2PerAgent) -> Run:
    return programs.execute(module, programs.Target(l2_per_agent=l2_per_agent))


@pytest.mark.parametrize("share", shares(5))
@pytest.mark.parametrize("l2_per_agent", L2PerAgent)
@pytest.mark.parametrize("name", TESTS)
def test_kernels_stay_right(name: str, l2_per_agent: L2PerAgent, share: Share) -> None:
    meant = meant_by(name)
    assert not meant.races
    turned = [*TESTS].index(name) + [*L2PerAgent].index(l2_per_agent)
    for pipeline in share.of([*PIPELINES], turned):
        does = executed(lowered(name, pipeline), l2_per_agent)
        assert not does.incomplete
        assert does.outcomes is not None
        assert does.outcomes.states
        assert not programs.forbidden(meant, does)


@pytest.mark.parametrize("name", some_of([name for name in TESTS if " of two" not in name], 3))
def test_kernels_end(name: str) -> None:
    of_two = KernelTest(TESTS[name].threads[:2], TESTS[name].lds)
    module = programs.parse(litmus_test(of_two))
    CDNAPipeline("gfx942").apply(Context(), module)
    test = read_only_test(module, ReadOptions())
    assert isinstance(test, CdnaTest)
    assert stuck_waves(test) == ()


WEAKENED = {
    "mp_producer": "buffer_wbl2",
    "mp_consumer_acquire_load": "buffer_inv",
    "mp_consumer_fence": "buffer_inv",
    "spin_lock": "buffer_inv",
    "look_back": "buffer_inv",
    "grid_barrier": "buffer_wbl2",
    "grid_barrier of two waves": "buffer_inv",
    "two_release_fences": "buffer_wbl2",
    "two_release_stores": "buffer_wbl2",
    "acquire_load_and_fence": "buffer_inv",
    "fence_after_prefetch": "buffer_inv",
}
"""What has to be there: without it, an outcome appears that the source forbids."""


@pytest.mark.parametrize("name", WEAKENED)
def test_what_is_left_is_needed(name: str) -> None:
    module = lowered(name, "writing back").clone()
    for op in list(module.walk()):
        if isinstance(op, CacheOp) and op.opcode.data == WEAKENED[name]:
            op.detach()
            op.erase()
    does = programs.execute(module, programs.Target())
    assert programs.forbidden(meant_by(name), does)


def test_storing_through_needs_no_write_back() -> None:
    module = programs.parse(KERNELS)
    CDNAPipeline("gfx942", stores="through").apply(Context(), module)
    names = [op.opcode.data for op in module.walk() if isinstance(op, CacheOp)]
    assert "buffer_wbl2" not in names


def test_chips_whose_stores_have_no_bits_write_back() -> None:
    texts: list[str] = []
    for stores in ("back", "through"):
        module = programs.parse(KERNELS)
        CDNAPipeline("gfx90a", stores=stores).apply(Context(), module)
        texts.append(str(module))
    assert texts[0] == texts[1]
