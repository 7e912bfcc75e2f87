"""Our own output has what its source asks for, and whatever is taken away from it is missed."""

from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Level
from fencewright.checker.source.compare import Comparison
from fencewright.lowering.cdna.code.text import Assembly
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.options import OptLevel
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.tools.dev.campaigns import own_code
from fencewright.tools.dev.campaigns.own_code import (
    Tally,
    check_kernels,
    check_seeds,
    compiled,
    ptx_of,
)
from fencewright.tools.fuzz.llvm_ir import in_registers

KERNELS = Path(__file__).parents[2] / "examples" / "kernels-cdna"
SYNCHRONISES = ("s_waitcnt", "buffer_wbl2", "buffer_inv")

NOT_OWED = (
    ("grid_barrier", "the atomic of the first wave, for what the others then publish"),
    ("mp_in_lds", "LDS serves a wave in order"),
    ("acq_rel_rmw_loop", "an atomic after itself, on one location"),
    ("fenced_rmw", "the wait for an atomic whose result nobody has, before a weak load"),
    ("fenced_rmw", "the invalidate between the two"),
)
"""Kernels with an instruction that no pair of operations of one wave needs."""


def compared(asked: str, lowered: str, mode: Target) -> list[Comparison[object]]:
    return list(compiled(lowered, mode).comparisons(asked, mode.l2_per_agent))


def errors(found: list[Comparison[object]]) -> list[str]:
    return [each.message for one in found for each in one.findings]


@pytest.mark.parametrize("name", ["kernels", "elected"])
@pytest.mark.parametrize(
    "mode",
    [Target("gfx942"), Target("gfx90a", l2_per_agent=L2PerAgent.ONE), Target("gfx1250")],
    ids=str,
)
@pytest.mark.parametrize("opt_level", [0, 2])
def test_kernels_have_what_they_ask_for(name: str, mode: Target, opt_level: OptLevel) -> None:
    asked = in_registers((KERNELS / f"{name}.ll").read_text())
    lowered = lower_llvm_ir(asked, mode.chip, tuple(mode.features), opt_level=opt_level)
    found = compared(asked, lowered, mode)
    assert errors(found) == []
    assert len(found) == {"kernels": 18, "elected": 4}[name]


def test_whatever_is_taken_away_is_missed() -> None:
    """By what the source asks for, or by a register that is used too early."""
    mode = Target("gfx942")
    asked = in_registers((KERNELS / "kernels.ll").read_text())
    whole = compiled(lower_llvm_ir(asked, mode.chip, (), opt_level=2), mode)
    unnoticed: list[str] = []
    deleted = 0
    for function in whole.assembly.functions.values():
        for each in function.instructions:
            if each.mnemonic not in SYNCHRONISES:
                continue
            deleted += 1
            only = Assembly(mode.chip, {function.name: function.without(each)})
            found = replace(whole, assembly=only).comparisons(asked, mode.l2_per_agent)
            missing = [one for one in found if one.function == function.name]
            hazards = check(only, only.functions[function.name]).hazards()
            if not errors(missing) and not any(each.level is Level.ERROR for each in hazards):
                unnoticed.append(function.name)
    assert sorted(unnoticed) == sorted(name for name, _ in NOT_OWED)
    assert deleted > 60


def test_random_programs_have_what_they_ask_for() -> None:
    tally = check_seeds(40, 6)
    assert tally.errors == []
    assert tally.functions[True] > 38


def test_the_gpu_kernels_have_what_they_ask_for() -> None:
    tally = Tally()
    check_kernels(tally, ("sm_90",))
    assert tally.errors == []
    assert tally.functions == {True: 20}


@pytest.mark.parametrize("weaker", [".acquire.", ".release.", "fence.acq_rel."])
def test_an_order_that_our_ptx_lacks_is_found(weaker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(module: ModuleOp) -> str:
        text = ptx_of(module)
        if weaker.startswith("."):
            return text.replace(f"ld{weaker}", "ld.relaxed.").replace(f"st{weaker}", "st.relaxed.")
        return text.replace(f"{weaker}gpu", f"{weaker}cta")

    monkeypatch.setattr(own_code, "ptx_of", lacking)
    tally = Tally()
    check_kernels(tally, ("sm_80",))
    said = [each.split(": ") for each in tally.errors]
    kinds = {kind for _, kind, *_ in said if not kind.startswith("line ")}
    assert kinds == {"release"} if weaker == ".release." else kinds >= {"acquire"}
