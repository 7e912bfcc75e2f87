"""Paths that masks of lanes exclude: forms of LLVM's, each broken so that the path is one again."""

import random
from itertools import product

import pytest

from fencewright.checker.amd.comparison.paths import walks
from fencewright.checker.amd.lanes import Diagrams, inactive_masks
from fencewright.lowering.cdna.code.flow import Flow, flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.semantics.amd import LOGIC, MEANINGS, SaveExec

FIRST, LAST = "v_mov_b32_e32 v1, 1", "v_mov_b32_e32 v2, 2"


SAVING = dict(LOGIC) | {
    name: meaning.logic
    for name in ("andn1", "orn1")
    if isinstance(meaning := MEANINGS[f"s_{name}_saveexec_b64"].meaning, SaveExec)
}
"""The logic of masks by its names on GFX9."""


def flow(*body: str, chip: str = "gfx942") -> Flow:
    head = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    text = head + "\n".join((*body, "s_endpgm\n"))
    return flow_of(read_assembly(text, "f.s").functions["f"])


def paths(*body: str, chip: str = "gfx942") -> int:
    """How many paths lead from ``FIRST`` to ``LAST``."""
    code = flow(*body, chip=chip)
    steps = [step for block in code.blocks for step in block.steps]
    first, last = (
        next(step for step in steps if step.instruction.text == text) for text in (FIRST, LAST)
    )
    return len(list(walks(code, first, last)))


LEAVES = (
    "L:",
    "s_or_b64 s[16:17], s[16:17], exec",
    FIRST,
    "v_cmp_ne_u64_e64 s[0:1], 0, v[16:17]",
    "s_and_saveexec_b64 s[18:19], s[0:1]",
    "s_cbranch_execz F",
    "s_andn2_b64 s[16:17], s[16:17], exec",
    "F:",
    "s_or_b64 exec, exec, s[18:19]",
    "s_and_b64 s[0:1], exec, s[16:17]",
    "s_or_b64 s[12:13], s[0:1], s[12:13]",
    "s_andn2_b64 exec, exec, s[12:13]",
    "s_cbranch_execnz L2",
    "s_endpgm",
    "L2:",
    LAST,
)
"""A loop that all lanes leave which do not take its branch: the next round follows the branch alone."""


def test_a_lane_that_leaves_a_loop_does_not_go_round() -> None:
    assert paths(*LEAVES) == 1
    # Without its mask at the head, lanes may go round that did not take the branch.
    assert paths(*(each for each in LEAVES if each != LEAVES[1])) == 2
    # And with another mask restored after the branch.
    other = (each.replace("exec, exec, s[18:19]", "exec, exec, s[20:21]") for each in LEAVES)
    assert paths(*other) == 2


def test_masks_of_32_lanes() -> None:
    text = "\n".join(LEAVES)
    for pair, one in (("s[16:17]", "s16"), ("s[18:19]", "s18"), ("s[12:13]", "s12")):
        text = text.replace(pair, one)
    text = text.replace("s[0:1]", "s0").replace("exec", "exec_lo").replace("_b64", "_b32")
    text = text.replace("saveexec_lo", "saveexec").replace("s_cbranch_exec_lo", "s_cbranch_exec")
    text = text.replace("andn2", "and_not1")
    assert paths(*text.splitlines(), chip="gfx1250") == 1
    assert paths(*text.replace("or_b32 s16", "or_b32 s22").splitlines(), chip="gfx1250") == 2


ROUND = (
    "s_mov_b64 s[12:13], 0",
    "L:",
    "v_mov_b32_e32 v3, 3",
    "s_or_b64 s[16:17], s[16:17], exec",
    "v_cmp_ne_u64_e64 s[0:1], 0, v[16:17]",
    "s_and_saveexec_b64 s[18:19], s[0:1]",
    "s_cbranch_execz F",
    "s_andn2_b64 s[16:17], s[16:17], exec",
    FIRST,
    "F:",
    "s_or_b64 exec, exec, s[18:19]",
    "s_and_b64 s[18:19], exec, s[16:17]",
    "s_or_b64 s[12:13], s[18:19], s[12:13]",
    "s_andn2_b64 exec, exec, s[12:13]",
    "s_cbranch_execnz L",
    LAST,
)
"""A loop that goes on for the lanes that take its branch: s[12:13] are those that have left it."""


def test_a_lane_that_goes_round_does_not_leave_a_loop() -> None:
    """Where the walk begins within the loop, it knows that its lanes had not left it before."""
    assert inactive_masks(flow(*ROUND))[1] == {("s12", "s13")}
    assert paths(*ROUND) == 0
    # With lanes in the mask before the loop begins, the first round may be the last.
    assert paths(*(each.replace(", 0", ", s[20:21]") for each in ROUND)) == 1
    # And where they stay in exec.
    kept = (each.replace("exec, exec, s[12:13]", "exec, exec, s[22:23]") for each in ROUND)
    assert paths(*kept) == 1
    # A call may leave anything in the mask.
    call = (each.replace("v_mov_b32_e32 v3, 3", "s_swappc_b64 s[30:31], s[4:5]") for each in ROUND)
    assert inactive_masks(flow(*call)).get(2, frozenset()) == frozenset()


@pytest.mark.parametrize(
    ("flag", "branch", "expected"),
    [
        ("-1", "s_cbranch_vccz", 0),
        ("-1", "s_cbranch_vccnz", 1),
        ("0", "s_cbranch_vccz", 1),
        ("0", "s_cbranch_vccnz", 0),
        ("s[8:9]", "s_cbranch_vccz", 1),
        ("s[8:9]", "s_cbranch_vccnz", 1),
    ],
)
def test_flags_of_a_structured_branch(flag: str, branch: str, expected: int) -> None:
    body = (FIRST, f"s_mov_b64 s[4:5], {flag}", "s_and_b64 vcc, exec, s[4:5]", f"{branch} L")
    assert paths(*body, "s_endpgm", "L:", LAST) == expected


def test_then_and_else_are_of_different_lanes() -> None:
    """The else of lanes of which none is left after the then is none that can be skipped to."""
    body = (
        FIRST,
        "s_and_saveexec_b64 s[2:3], s[0:1]",
        "s_xor_b64 s[2:3], exec, s[2:3]",
        "s_cbranch_execz E",
        "v_mov_b32_e32 v5, 1",
        "E:",
        "s_andn2_saveexec_b64 s[2:3], s[2:3]",
        "s_cbranch_execz D",
        "v_mov_b32_e32 v6, 1",
        "D:",
        LAST,
    )
    # Through the then, the else, or both, but not through neither.
    assert paths(*body) == 3


def test_a_path_does_not_come_to_where_it_began_again() -> None:
    assert paths("L:", FIRST, "s_cbranch_scc1 L", LAST) == 1
    assert paths("L:", "v_mov_b32_e32 v3, v4", LAST, FIRST, "s_cbranch_scc1 L") == 1


def test_diagrams_are_boolean_functions() -> None:
    """Random functions of four masks, as diagrams and as tables of their values."""
    generator = random.Random(1)
    every = list(product((False, True), repeat=4))
    for _ in range(200):
        diagrams = Diagrams()
        made = [(diagrams.atom(), [row[n] for row in every]) for n in range(4)]
        made += [(0, [False] * 16), (1, [True] * 16)]
        for _ in range(12):
            logic = generator.choice(list(SAVING.values()))
            (a, left), (b, right) = generator.choices(made, k=2)
            values = [_logic(logic, x, y) for x, y in zip(left, right, strict=True)]
            made.append((diagrams.combined(logic, a, b), values))
        for function, values in made:
            for other, others in made:
                assert (function == other) is (values == others)


def _logic(logic: object, a: bool, b: bool) -> bool:
    name = next(name for name, each in SAVING.items() if each is logic)
    return {
        "and": a and b,
        "or": a or b,
        "xor": a != b,
        "andn2": a and not b,
        "orn2": a or not b,
        "nand": not (a and b),
        "nor": not (a or b),
        "xnor": a == b,
        "andn1": not a and b,
        "orn1": not a or b,
    }[name]
