"""Where our gfx1250 sequences differ from LLVM 24's, the machine shows why; and LLVM's candidate bugs.

docs/gfx1250.md lists them for users.
"""

from dataclasses import dataclass

import pytest

from fencewright.lowering.cdna.generations.differences_gfx1250 import DIFFERENCES
from fencewright.lowering.sequence import Instruction, Request, Sequence, Target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    Scope,
)
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    CdnaConfiguration,
    Interpretation,
)
from fencewright.simulator.certify.certificate import (
    CdnaMachineOf,
    Trial,
    Weakening,
    forbidden,
    source_outcomes,
)
from fencewright.simulator.certify.programs.code import Lowering
from fencewright.simulator.certify.shapes import ShapeTest, shape_tests
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Placement, Program, Thread

STORE, LOAD, FENCE = Operation.STORE, Operation.LOAD, Operation.FENCE
RELEASE, ACQ_REL, SEQ_CST = Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST
GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL


def mode_of(compat: Compat | None) -> Target:
    return Target("gfx1250", compat=compat)


def shape_called(request: Request, name: str) -> ShapeTest:
    return next(each for each in shape_tests(request, request.target) if each.name == name)


def is_wrong(
    request: Request,
    name: str,
    readings: frozenset[Interpretation],
    lowering: Lowering | None = None,
) -> bool:
    """Whether a test of the battery ends as its source cannot, on the machine with many L2s."""
    test = shape_called(request, name)
    code = Trial(request.target, lowering).lower(test)
    allowed = source_outcomes(test.program)
    assert allowed is not None
    machine = CdnaMachineOf(CdnaConfiguration("gfx1250", False, L2PerAgent.MANY, readings))
    return bool(forbidden(allowed, machine.outcomes(code)))


@dataclass(frozen=True)
class Shown:
    """An operation of which LLVM's code fails a test, and on which readings."""

    request: Request
    test: str
    by_default: bool

    def of(self, compat: Compat | None) -> Request:
        mode = mode_of(compat)
        return Request(
            self.request.op,
            self.request.ordering,
            self.request.scope,
            self.request.space,
            one_as=self.request.one_as,
            target=mode,
        )


WRONG = {
    "cluster-write-back": Shown(
        Request(STORE, RELEASE, Scope.CLUSTER, GLOBAL), "MP release global, two CUs", False
    ),
    "waits-first": Shown(
        Request(FENCE, ACQ_REL, Scope.AGENT, None),
        "ISA2 middle tells LDS, one CU, then agent two clusters of two XCDs",
        True,
    ),
    "one-as-flat": Shown(
        Request(STORE, RELEASE, Scope.WORKGROUP, LOCAL, one_as=True),
        "MP release LDS, one CU+flat-lds-relaxed",
        True,
    ),
}
"""Where LLVM's code is wrong, by the name of the difference; ``by_default``: by default readings too."""

SURPLUS = {
    "seq-cst-loads": (Request(LOAD, SEQ_CST, Scope.WORKGROUP, GLOBAL), "loadcnt(0)"),
}
"""Where LLVM waits once more than any test needs: what ours lacks."""

NOT_SHOWN = {"private-atomics"}
"""No other thread reaches private memory, so that no execution can tell the difference."""


def test_every_difference_is_shown() -> None:
    assert WRONG.keys() | SURPLUS.keys() | NOT_SHOWN == {each.name for each in DIFFERENCES}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize(
    "readings",
    [DEFAULT_READINGS, EVERY_READING, frozenset[Interpretation]()],
    ids=["default", "every", "none"],
)
def test_ours_is_right_where_llvms_is_wrong(name: str, readings: frozenset[Interpretation]) -> None:
    shown = WRONG[name]
    assert not is_wrong(shown.of(None), shown.test, readings)
    expected = shown.by_default or readings == EVERY_READING
    assert is_wrong(shown.of(Compat.LLVM), shown.test, readings) is expected


def dropped(trial: Trial, request: Request, part: str) -> list[Weakening]:
    """LLVM's sequence without one of its waits before the access, each in turn."""
    found = trial.machines[0].weakenings(request, trial.lowering(request))
    return [e for e in found if e.word == part and e.phase in (Phase.WAIT, Phase.RELEASE)]


@pytest.mark.parametrize("name", SURPLUS)
def test_one_of_llvms_waits_is_surplus(name: str) -> None:
    """No test fails without the last of them that stands before the access."""
    asked, part = SURPLUS[name]
    request = Shown(asked, "", True).of(Compat.LLVM)
    trial = Trial(request.target)
    access = next(
        n for n, e in enumerate(trial.lowering(request).instructions) if e.phase is Phase.ACCESS
    )
    *_, last = [each for each in dropped(trial, request, part) if each.at < access]
    tests = [each for each in shape_tests(request, request.target) if trial.judge(each) is None]
    assert tests
    assert trial.witness(tests, last) is None


# Candidate bugs: what the machine says of LLVM's text and code beyond that.


def test_the_texts_acq_rel_fence_to_a_cluster_reads_stale() -> None:
    """LLVM 24's AMDGPUUsage has no global_inv there; its compiler emits one."""
    request = Request(FENCE, ACQ_REL, Scope.CLUSTER, None, target=mode_of(Compat.LLVM))

    def as_written(asked: Request) -> Sequence:
        emitted = Trial(asked.target).lowering(asked)
        if asked.op is not FENCE:
            return emitted
        kept: tuple[Instruction, ...] = tuple(
            each for each in emitted.instructions if each.mnemonic != "global_inv"
        )
        return Sequence(kept)

    name = "MP acquire global, two CUs"
    for readings in (DEFAULT_READINGS, frozenset[Interpretation]()):
        assert not is_wrong(request, name, readings)
        assert is_wrong(request, name, readings, as_written)


AGENT, GROUP = ("sc1",), ("sc0",)


@pytest.mark.parametrize("waited", [False, True])
def test_an_acquire_handed_on_in_tgsplit_mode_is_waited_for(waited: bool) -> None:
    """LLVM 24 -O2 for gfx942 leaves no wait between an agent's invalidate and the barrier.

    Then the invalidate may still be on its way to the L2, when a wave on another CU of the
    work-group reads there what was to be dropped.
    """
    wait: tuple[CdnaInstruction, ...] = (Wait(vmcnt=0),)
    far = (VectorStore("x", 1), CacheInstruction("buffer_wbl2", AGENT), *wait)
    writer: tuple[CdnaInstruction, ...] = (*far, VectorStore("f", 1, AGENT))
    leader: tuple[CdnaInstruction, ...] = (
        VectorLoad("r0", "f", AGENT),
        *wait,
        CacheInstruction("buffer_inv", AGENT),
        *(wait if waited else ()),
        WorkgroupBarrier(),
    )
    mate: tuple[CdnaInstruction, ...] = (
        WorkgroupBarrier(),
        CacheInstruction("buffer_inv", GROUP),
        VectorLoad("r1", "x"),
    )
    made: CdnaProgram = Program(
        (Location("x"), Location("f")),
        (
            Thread(Placement(), writer),
            Thread(Placement(workgroup=1, xcd=1), leader),
            Thread(Placement(workgroup=1, xcd=1, cu=1), mate),
        ),
        (Register(1, "r0"), Register(2, "r1")),
    )
    configuration = CdnaConfiguration("gfx942", tgsplit=True)
    engine, plain = (
        explore(machine(made, configuration)).outcomes for machine in (CdnaEngine, CdnaMachine)
    )
    assert engine == plain
    assert ((1, 0) in engine.states) is not waited
