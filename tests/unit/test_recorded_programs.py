"""The passes leave of many programs what they left when that was recorded and looked at."""

import pytest
import recorded_programs as recorded
from campaigns import Share, first_share
from pass_trials import View

REMEDY = "python tests/litmus/recorded_programs.py records what is meant"


def test_every_program_is_recorded() -> None:
    assert {str(each) for each in recorded.trials()} == recorded.recorded().keys(), REMEDY


@pytest.mark.parametrize("share", first_share(10))
@pytest.mark.parametrize("view", recorded.VIEWS, ids=lambda view: view.name)
def test_what_is_left_is_what_was_recorded(view: View, share: Share) -> None:
    before = recorded.recorded()
    for each in share.of(list(recorded.trials_in(view)), recorded.VIEWS.index(view)):
        if recorded.digest(each) != before[str(each)]:
            wrong = each.is_fit and each.problem()
            said = f"is wrong: {wrong}" if wrong else f"has other synchronisation; {REMEDY}"
            pytest.fail(f"{each} {said}\n{recorded.synchronisation(each.lowered())}")
