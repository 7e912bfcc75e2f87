"""Translation validation: the behaviour of a lowered litmus test against that of its source."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import ModuleOp

from fencewright.mlir_dialects.litmus import TestOp
from fencewright.passes.litmus.programs import Language, ReadOptions, TestCode, find_tests
from fencewright.passes.litmus.read_litmus import read_test
from fencewright.passes.litmus.source import read_source
from fencewright.simulator.core.progress import Ending
from fencewright.simulator.litmus_run import (
    Limits,
    Refinement,
    RunnableTest,
    SourceTest,
    progress,
    refines,
    with_hangs,
)


class LoweringVerdict(Enum):
    """The result of a verification of a lowering."""

    SOUND = "sound"
    UNSOUND = "unsound"
    RACY = "racy"
    HANGS = "hangs"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Verification:
    """One test: the lowered ``test``, and the result of its comparison with its source.

    ``steps`` show a forbidden outcome, if one was reached, step by step.
    """

    test: TestOp
    verdict: LoweringVerdict
    message: str
    steps: tuple[str, ...] = ()


def read_sources(module: ModuleOp) -> dict[str, SourceTest]:
    """The tests of a module that are written in ``scoped``, by name.

    To be read before the module is lowered in place.
    """
    return {
        code.name: read_source(code)
        for code in find_tests(module)
        if code.language is Language.SCOPED
    }


def verify_lowering(
    sources: dict[str, SourceTest],
    lowered: ModuleOp,
    options: ReadOptions,
    limits: Limits | None = None,
) -> Iterator[Verification]:
    """Compare every test of ``lowered`` in a target's language with its source, one by one.

    The source is the test that it ``lowers``, or else the one of its name. Every outcome of the
    lowered test has to be one of the source, and it may hang only where that was seen to hang.
    Raises ``DiagnosticException`` at a test that the
    simulator cannot execute, ``ProgramError`` for one that means nothing.
    """
    for code in find_tests(lowered):
        if code.language is Language.SCOPED:
            continue
        source = sources.get(source_name(code))
        if source is not None:
            target = read_test(code, options)
            yield _verification(code.test, source, target, refines(source, target, limits))


def source_name(code: TestCode) -> str:
    """The name of the test that a lowered one is held against."""
    lowers = code.test.lowers
    return code.name if lowers is None else lowers.string_value()


def _racy(test: TestOp, races: tuple[str, ...]) -> Verification:
    first, *more = races
    others = f" (and {len(more)} more)" if more else ""
    name = test.sym_name.data
    return Verification(
        test,
        LoweringVerdict.RACY,
        f"'{name}' has no defined outcome, so there is nothing to verify: {first}{others}",
    )


def _verification(
    test: TestOp, source: SourceTest, target: RunnableTest, found: Refinement
) -> Verification:
    name = test.sym_name.data
    if found.source.races:
        return _racy(test, found.source.races)
    if found.source.never_ends:
        hangs = progress(source, found.source).hangs
        where = "; ".join(line.strip() for each in hangs for line in each.splitlines())
        return Verification(
            test,
            LoweringVerdict.HANGS,
            f"no execution of '{name}' ends, so there is nothing to verify: {where}",
        )
    if found.target.errors:
        return Verification(
            test,
            LoweringVerdict.UNSOUND,
            f"the lowering of '{name}' is wrong: {found.target.errors[0]}",
        )
    if found.forbidden is not None:
        state = " ".join(str(found.forbidden).splitlines()[0].split())
        count = len(found.forbidden.states)
        others = f" (one of {count} such outcomes)" if count > 1 else ""
        return Verification(
            test,
            LoweringVerdict.UNSOUND,
            f"the lowering of '{name}' can end with {state}, which the source forbids{others}",
            found.counterexample,
        )
    if found.undecided:
        return Verification(
            test, LoweringVerdict.INCOMPLETE, f"'{name}' is too large to verify: {found.undecided}"
        )
    assert found.source.outcomes is not None
    assert found.target.outcomes is not None
    ends = progress(target, found.target)
    hangs = ""
    if ends.hangs_unseen:
        hangs = f"may hang: {ends.hangs[0].splitlines()[0]}" if ends.hangs else "never ends"
        meant = progress(source, found.source)
        races = with_hangs(source, found.source, meant, Limits()).races
        if races:
            return _racy(test, races)
        if meant.ending is not Ending.MAY_HANG:
            return Verification(
                test,
                LoweringVerdict.HANGS,
                f"the lowering of '{name}' {hangs}, which its source was not seen to",
                tuple(line for each in ends.hangs for line in each.splitlines()),
            )
        hangs = f"; like its source it {hangs}"
    reached = len(found.target.outcomes.states)
    allowed = len(found.source.outcomes.states)
    explored = f", {found.target.states} states" if found.target.states else ""
    return Verification(
        test,
        LoweringVerdict.SOUND,
        f"the lowering of '{name}' reaches {reached} of the {allowed} outcomes that the source "
        f"allows, and no other{explored}{hangs}",
    )
