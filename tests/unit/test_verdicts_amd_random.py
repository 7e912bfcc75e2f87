"""Random AMD kernels: what is proved has no race in any execution that the race detector sees."""

import pytest
from amd_verdict_programs import Maker
from campaigns import Share, draws
from test_race_amd_kernels import BEGIN, assembly

from fencewright.checker.amd.check import check
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict, VerdictKind
from fencewright.checker.verdicts.solver import Launch
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.threads.launch import parse_launch

_KERNELS = 600
_CHIPS = ("gfx942", "gfx90a", "gfx950")
_SPLIT = 7
"""Every so many kernels are in the mode that splits work-groups."""


def judged(seed: int) -> tuple[Verdict, bool, str]:
    """The verdict of a random kernel, whether its execution has a race, and its text."""
    chip, split = _CHIPS[seed % len(_CHIPS)], seed % _SPLIT == 0
    body = BEGIN + Maker(seed, chip, split=split).body()
    code = assembly(body, chip, split=split)
    checked = check(code, code.functions["k"])
    kernel = kernel_of(checked.lifted)
    verdict = judge(kernel, Launch((128, 1, 1), (2, 1, 1)))
    launch = parse_launch("k<<<2, 128>>>(i32[256], i32[256], i32[256])")
    executed = judge_kernel(code, launch)
    return verdict, any(each.is_error for each in executed.findings), body


@pytest.mark.parametrize("share", draws(20))
def test_what_is_proved_has_no_race(share: Share) -> None:
    kinds: list[tuple[VerdictKind, bool]] = []
    for seed in share.of(range(_KERNELS)):
        verdict, has_race, body = judged(seed)
        assert not (has_race and verdict.kind is VerdictKind.RACE_FREE), (seed, body)
        kinds.append((verdict.kind, has_race))
    # Of right kernels most are proved, of wrong ones most are races: else nothing is tested.
    right = [kind for kind, has_race in kinds if not has_race]
    wrong = [kind for kind, has_race in kinds if has_race]
    assert 2 * right.count(VerdictKind.RACE_FREE) > len(right)
    assert 2 * wrong.count(VerdictKind.RACE) > len(wrong)


def test_what_another_wave_has_polled_for_is_not_silently_there() -> None:
    """A strong read of data that a flag hands over to the other wave, before a store is waited for:
    no rule knows this order, and strong accesses are no race."""
    verdict, has_race, _ = judged(81137)
    assert has_race
    assert verdict.kind is VerdictKind.NOT_JUDGED
