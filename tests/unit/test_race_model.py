"""The detector against the axiomatic PTX model, on random chains of two to four threads."""

import pytest
from campaigns import Share, draws
from race_chains import draw, races_by_detector, races_by_model

PROGRAMS = 3_000
_SHARES = 25


@pytest.mark.parametrize("share", draws(_SHARES))
def test_no_race_of_the_model_is_missed(share: Share) -> None:
    missed: list[str] = []
    alarms: list[str] = []
    races = 0
    for seed in share.of(range(PROGRAMS)):
        chain = draw(seed)
        wanted, found = races_by_model(chain), races_by_detector(chain)
        races += wanted
        if wanted and not found:
            missed.append(f"{seed}:\n{chain}")
        # Some orders of two fence.sc that a third thread forces are not followed: one in 2,000.
        if found and not wanted and str(chain).count("fence.sc") < 2:
            alarms.append(f"{seed}:\n{chain}")
    assert not missed, "\n".join(missed)
    assert not alarms, "\n".join(alarms)
    assert 0 < races < len(share.of(range(PROGRAMS)))
