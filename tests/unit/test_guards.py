"""Every guard of the passes that take synchronisation away: what they make is wrong without it."""

import guard_programs
import pass_trials
import pytest
from pass_trials import Trial, View

from fencewright.tools.pass_mutants import Mutant, applied, limited, mutants_of

SECONDS = 20.0


def named(mutant: str) -> Mutant:
    """The mutant that is called so."""
    file = mutant.partition(" ")[0]
    found = [each for each in mutants_of(file) if str(each) == mutant]
    assert found, f"{file} has no such guard: {mutant}"
    return found[0]


def trial(name: str, view: View) -> Trial:
    """A program of ``guard_programs`` in a view."""
    return pass_trials.trial(name, guard_programs.PROGRAMS[name], view)


ON_GFX942, ON_ONE_L2 = pass_trials.on_cdna(), pass_trials.on_cdna(knows_l2=True)

WITHOUT: tuple[tuple[str, str, View], ...] = (
    (
        "passes/loosen_waits.py Age.issue: kind is not _VECTOR or vmcnt is None or "
        "vmcnt == _LAST or (not event.certain) -> without 'vmcnt == _LAST'",
        "more accesses behind a flag's read than can be counted",
        ON_GFX942,
    ),
    (
        "passes/loosen_waits.py _loosened: lgkmcnt is not None and releases and only_lds and "
        "(not lds_matters[line.op]) -> without 'only_lds'",
        "a flat store to LDS before a flag in LDS",
        ON_GFX942,
    ),
    (
        "passes/sink_invalidates.py Sinking.run: pending.caches & self.must[target] or "
        "self._is_awaited(pending, target) -> without 'self._is_awaited(pending, target)'",
        "an invalidate that a release before one of two ways waits for",
        ON_ONE_L2,
    ),
    (
        "passes/merge_fences.py behind: if ordering.acquires and acquired < scope -> if False",
        "release, acquire, release",
        pass_trials.SCOPED,
    ),
    (
        "passes/merge_fences.py acquired_by: if kind is scoped.CmpxchgOp -> if False",
        "an acquire fence behind an exchange that failed",
        pass_trials.SCOPED,
    ),
    (
        "lowering/cdna/select.py _ordered_spaces: if AddressSpace.GENERIC in ordered -> if False",
        "a fence of generic memory orders LDS",
        ON_GFX942,
    ),
)
"""Guards, each with the program and the view that show what it is for."""


@pytest.mark.parametrize(("guard", "program", "view"), WITHOUT, ids=lambda each: str(each)[:60])
def test_a_guard_that_is_taken_out_is_missed(guard: str, program: str, view: View) -> None:
    of_program = trial(program, view)
    assert of_program.is_fit
    assert not of_program.problem()
    with limited(SECONDS), applied(named(guard)):
        assert of_program.problem()


PROGRAMS = guard_programs.PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_right_in_every_view(name: str) -> None:
    lds = any(each.space is guard_programs.LOCAL for each in PROGRAMS[name].locations)
    for view in (*pass_trials.ON_CDNA, *pass_trials.ON_PTX, pass_trials.SCOPED):
        if not (lds and view.options.tgsplit):
            assert not trial(name, view).problem(), view.name
