"""Programs that never end, or need not, are said so in every model, with where threads stand."""

from dataclasses import dataclass

import pytest
from litmus_modules import programs

from fencewright.simulator.core.progress import Ending, Hang, Progress, WaitingThread, hang_texts
from fencewright.simulator.litmus_run import Limits, PtxTest, progress, run
from fencewright.simulator.ptx.formats.columns import parse_litmus
from fencewright.simulator.ptx.model import PtxModel
from fencewright.tools import fence_sim
from fencewright.tools.fence_sim import ConditionVerdict, judge
from fencewright.tools.inputs.litmus.lowered import Lowering
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS

CHIPS = (None, "gfx90a", "gfx942", "sm_90")

# Lines of a thread, with what stands for a spin and for a lock.

_SPIN = """cf.br ^{name}
  ^{name}:
    %{name} = scoped.load {how} %{where} : !llvm.ptr<1> -> i32
    %{name}_c = arith.cmpi {predicate}, %{name}, %{value} : i32
    cf.cond_br %{name}_c, ^{name}, ^{name}_done
  ^{name}_done:"""

_LOCK = """cf.br ^{name}
  ^{name}:
    %{name}_old, %{name}_ok = scoped.cmpxchg acquire relaxed agent %{where}, %zero, %one : !llvm.ptr<1>, i32
    cf.cond_br %{name}_ok, ^{name}_in, ^{name}
  ^{name}_in:"""


def until(where: str, name: str = "s", how: str = "acquire agent", value: str = "zero") -> str:
    """Wait while a location has a value."""
    return _SPIN.format(name=name, how=how, where=where, predicate="eq", value=value)


def store(where: str, value: str = "one", how: str = "release agent") -> str:
    return f"scoped.store {how} %{value}, %{where} : i32, !llvm.ptr<1>"


def lock(where: str, name: str = "l") -> str:
    return _LOCK.format(name=name, where=where)


def if_set(where: str, then: str) -> str:
    """``then`` where a location was not 0."""
    return f"""%seen = scoped.load relaxed agent %{where} : !llvm.ptr<1> -> i32
    %c = arith.cmpi ne, %seen, %zero : i32
    cf.cond_br %c, ^then, ^else
  ^then:
    {then}
    cf.br ^else
  ^else:"""


BARRIER = "scoped.barrier acq_rel workgroup"


def module(threads: tuple[str, ...], together: bool = False) -> str:
    """A test of these threads, in work-groups of their own or ``together`` in one."""
    lines = ["litmus.test @t {", *(f"  litmus.location @{x} = 0 : i32" for x in "fg")]
    for number, body in enumerate(threads):
        place = "workgroup = 0, xcd = 0, cu = 0, agent = 0, cluster = 0"
        lines.append(f"  litmus.thread @P{number} {f'at <{place}> ' if together else ''}{{")
        lines += [f"    %{x} = litmus.address @{x} : !llvm.ptr<1>" for x in "fg"]
        lines += ["    %zero = arith.constant 0 : i32", "    %one = arith.constant 1 : i32"]
        lines += [f"    {body}", "    litmus.end", "  }"]
    return "\n".join([*lines, '  litmus.condition "forall (true)"', "}"])


@dataclass(frozen=True)
class Case:
    """Threads, and whether their executions end."""

    threads: tuple[str, ...]
    ending: Ending
    together: bool = False


_ALWAYS, _MAY, _NEVER = Ending.ALWAYS, Ending.MAY_HANG, Ending.NEVER
CASES = {
    "no loop": Case((store("f"), store("g")), _ALWAYS),
    "flag": Case((store("f"), until("f")), _ALWAYS),
    "relaxed flag": Case(
        (store("f", how="relaxed agent"), until("f", how="relaxed agent")), _ALWAYS
    ),
    "handshake": Case((store("f") + "\n" + until("g"), until("f") + "\n" + store("g")), _ALWAYS),
    "nobody sets the flag": Case((store("g"), until("f")), _NEVER),
    "each waits for the other": Case(
        (until("g") + "\n" + store("f"), until("f") + "\n" + store("g")), _NEVER
    ),
    "flag overwritten": Case((store("f") + "\n" + store("f", "zero"), until("f")), _MAY),
    "flag not always set": Case((if_set("g", store("f")), store("g") + "\n" + until("f")), _MAY),
    "lock": Case(((lock("f") + "\n" + store("f", "zero")),) * 2, _ALWAYS),
    "lock never released": Case((lock("f"),) * 2, _NEVER),
    "locks in opposite order": Case(
        tuple(
            "\n".join([lock(a, "l"), lock(b, "m"), store(b, "zero"), store(a, "zero")])
            for a, b in ("fg", "gf")
        ),
        _MAY,
    ),
    "barrier": Case((BARRIER, BARRIER), _ALWAYS, together=True),
    "barrier behind a flag": Case(
        (BARRIER + "\n" + store("f"), until("f") + "\n" + BARRIER), _NEVER, together=True
    ),
}


def judged(case: Case, chip: str | None) -> tuple[Progress, ConditionVerdict]:
    (test,) = programs(
        module(case.threads, case.together), None if chip is None else Lowering(chip)
    ).values()
    found = run(test)
    ends = progress(test, found)
    return ends, judge(test, found, ends)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_every_model_says_whether_it_ends(name: str, chip: str | None) -> None:
    ends, verdict = judged(CASES[name], chip)
    assert ends.ending is CASES[name].ending, ends.lines()
    wanted = {_NEVER: ConditionVerdict.NEVER_ENDS, _MAY: ConditionVerdict.HANGS}.get(
        ends.ending, ConditionVerdict.HOLDS
    )
    assert verdict is wanted
    assert bool(ends.hangs) is (ends.ending in (_MAY, _NEVER))


@pytest.mark.parametrize("chip", CHIPS)
def test_a_hang_says_where_each_thread_stands(chip: str | None) -> None:
    text = module(CASES["each waits for the other"].threads)
    ends, _ = judged(CASES["each waits for the other"], chip)
    (hang,) = ends.hangs
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "scoped.load" in line]
    for thread, (line, flag) in enumerate(zip(lines, "gf", strict=True)):
        assert f"P{thread} at test.mlir:{line} repeats [" in hang
        assert f"reads {flag}=0" in hang
    assert len(ends.lines()) == 1
    assert ends.lines()[0].startswith("Never ends: P0 at ")


@pytest.mark.parametrize("chip", [None, "gfx942"])
def test_a_thread_at_a_barrier_is_said_to_wait_there(chip: str | None) -> None:
    case = CASES["barrier behind a flag"]
    text = module(case.threads, together=True).splitlines()
    ends, _ = judged(case, chip)
    line = next(n for n, each in enumerate(text, 1) if "scoped.barrier" in each)
    assert f"P0 waits for ever at test.mlir:{line}" in ends.hangs[0]


def test_a_search_that_costs_more_than_it_may_decides_nothing() -> None:
    (test,) = programs(module(CASES["lock"].threads), Lowering("gfx942")).values()
    found = run(test)
    ends = progress(test, found, Limits(3))
    assert ends.ending is Ending.UNDECIDED
    assert "limit reached" in ends.why
    assert ends.lines()[0].startswith("Not decided whether it always ends: limit reached")
    assert judge(test, found, ends) is ConditionVerdict.HOLDS


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        (("bar.cta.sync 0", "bar.cta.sync 0"), Ending.ALWAYS),
        (("bar.cta.sync 0, 1, 2", "bar.cta.sync 0, 1, 2"), Ending.ALWAYS),
        (("bar.cta.sync 0, 1, 3", "bar.cta.sync 0, 1, 3"), Ending.NEVER),
        (("bar.cta.arrive 0, 1, 2", "bar.cta.sync 0, 1, 2"), Ending.ALWAYS),
        (("mbarrier.arrive b", "mbarrier.try_wait b"), Ending.ALWAYS),
        (("mbarrier.arrive b", "mbarrier.try_wait c"), Ending.NEVER),
        (("barrier.cluster.arrive", "barrier.cluster.arrive"), Ending.ALWAYS),
        (("L0: ; goto L0", "st.weak x, 1"), Ending.NEVER),
    ],
)  # fmt: skip
def test_barriers_of_ptx(body: tuple[str, str], ending: Ending) -> None:
    left, *more = body[0].split(" ; ")
    rows = [f" {left} | {body[1]} ;", *(f" {each} | ;" for each in more)]
    text = "\n".join(
        [
            "PTX t",
            "{ x=0; b = mbarrier(1); c = mbarrier(1); }",
            " P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;",
            *rows,
            " mov r0, 1 | mov r0, 1 ;",
            "forall (true)",
        ]
    )
    test = PtxTest(parse_litmus(text, "t.litmus"), PtxModel())
    ends = progress(test, run(test))
    assert ends.ending is ending, ends.lines()


def test_a_condition_may_speak_of_threads_that_wait_for_ever(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.litmus"
    path.write_text(
        "PTX t\n{ x=0; b = mbarrier(2); }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
        " mbarrier.arrive b | mbarrier.try_wait b ;\n | ld.weak r0, x ;\n~exists (P1:r0 == 0) may hang\n"
    )
    assert fence_sim.main(["run", str(path)]) == HOLDS
    out = capsys.readouterr().out
    assert "P1:r0=-" in out
    assert f"Never ends: P1 waits for ever at {path}:4" in out
    path.write_text(path.read_text().replace(" may hang", ""))
    assert fence_sim.main(["run", str(path)]) == DOES_NOT_HOLD


def test_ways_to_hang_are_told_once() -> None:
    waits = WaitingThread(0, (), ())
    hangs = [Hang((waits,), ("b",)), Hang((waits,), ("a",)), Hang((WaitingThread(1, (), ()),))]
    assert hang_texts(hangs) == ("P0 waits for ever\n  a", "P1 waits for ever")
    many = Progress(Ending.MAY_HANG, tuple(map(str, range(9))))
    assert many.lines()[-1] == "May hang: in 5 more ways"
    assert len(many.lines()) == 5


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "No execution ends"),
        (["--mcpu", "gfx942"], "No execution ends"),
        (["--mcpu", "sm_90"], "No execution ends"),
        (["--mcpu", "gfx942", "--random", "5"], "May hang: an execution never ends"),
        (["--mcpu", "gfx942", "--state-limit", "2"], "May hang: an execution never ends"),
    ],
)
def test_a_lock_that_is_never_released_never_holds(
    arguments: list[str],
    line: str,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.mlir"
    path.write_text(module(CASES["lock never released"].threads))
    assert fence_sim.main(["run", str(path), *arguments]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert line in out.splitlines()
    assert f"hang: P1 at {path}:" in out or f"ends: P1 at {path}:" in out
