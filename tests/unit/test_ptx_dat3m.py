"""What ``fence-sim convert`` writes loads in Dat3M, by its grammar, and means the same."""

import re
from collections import Counter
from pathlib import Path

import pytest
from litmus_modules import MESSAGE_PASSING, programs

from fencewright.passes.litmus.build_litmus import build
from fencewright.simulator.litmus_run import Limits, PtxTest
from fencewright.simulator.ptx.formats.columns import parse_litmus, read_litmus, write_litmus
from fencewright.simulator.ptx.formats.dat3m import check_grammar, portable
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.tools import fence_sim
from fencewright.tools.fuzz.checks import program_of
from fencewright.tools.inputs.litmus.lowered import Lowering

ROOT = Path(__file__).parents[2]
LITMUS = sorted((ROOT / "tests" / "litmus").rglob("*.litmus"))

GOOD = """PTX example
"a remark; with | and ~ in it"
{ x=0; P0:r2=3; t @ texture aliases x; y @ generic aliases x; }
 P0@cta 0,gpu 0                  | P1@cta 1,gpu 0      ;
 st.weak x, 1                    | LC0:                ;
 st.release.gpu flag, -1         | ld.acquire.gpu r0, flag ;
 atom.acq_rel.sys.cas r1, x, 0, r2 | bne r0, 0, LC1    ;
 red.relaxed.cta.add x, 0x1F     | goto LC0            ;
 fence.sc.gpu                    | LC1:                ;
 fence.proxy.alias               | tld.weak r1, t      ;
 bar.cta.sync 0, 1, 2            | ld r3, r1           ;
 add r3, r1, 2                   |                     ;
~exists (P1:r0 == 1 /\\ (P1:r1 != 0 \\/ ~ (x == 2)))
"""


def test_the_grammar() -> None:
    assert check_grammar(GOOD) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("LC0:", "loop:", 5, "loop:"),
        ("goto LC0", "goto loop", 8, "goto loop"),
        ("add r3, r1, 2", "mov r3, r1", 12, "mov r3, r1"),
        ("add r3, r1, 2", "setp.eq r3, r1, 2", 12, "setp.eq r3, r1, 2"),
        ("add r3, r1, 2", "xor r3, r1, 2", 12, "xor r3, r1, 2"),
        ("cta 1,gpu 0", "cta 1,cluster 0,gpu 0", 4, "P1@cta 1,cluster 0,gpu 0"),
        ("fence.sc.gpu", "fence.sc.cluster", 9, "fence.sc.cluster"),
        ("fence.proxy.alias", "fence.proxy.async", 10, "fence.proxy.async"),
        ("red.relaxed.cta.add", "red.add", 8, "red.add x, 0x1F"),
        ("red.relaxed.cta.add", "red.relaxed.cta.min", 8, "red.relaxed.cta.min x, 0x1F"),
        ("{ x=0;", "{ b = mbarrier(2);", 3, "b = mbarrier(2)"),
        ("{ x=0;", "{ weak=0;", 3, "weak=0"),
        ("st.weak x, 1 ", "st.weak x, y ", 5, "st.weak x, y"),
        ("(x == 2)", "(x)", 13, "x)))"),
        ("(x == 2)))", "(x == 2))", 13, ""),
        ("PTX example", "C example", 1, "C example"),
    ],
)
def test_what_the_grammar_does_not_have(old: str, new: str, line: int, said: str) -> None:
    assert old in GOOD
    found = check_grammar(GOOD.replace(old, new))
    assert found is not None
    assert found.line == line
    assert found.text == said


def test_what_we_write_is_in_the_grammar_or_named() -> None:
    """Of our own tests in columns those that Dat3M has words for."""
    loaded = 0
    for path in LITMUS:
        test = read_litmus(path)
        text = write_litmus(portable(test))
        assert parse_litmus(text) == portable(test)
        found = check_grammar(text)
        loaded += found is None
        if found is not None:
            assert found.text in " ".join(text.splitlines()[found.line - 1].split())
    assert 150 <= loaded < len(LITMUS)


LIMITS = Limits(states=100_000)
SEEDS = range(20)


def lowered(seed: int) -> PtxTest:
    ((_, test),) = programs(str(build(program_of(seed))), Lowering(chip="sm_90")).items()
    assert isinstance(test, PtxTest)
    return test


def test_it_means_the_same() -> None:
    """On lowered random programs, which have loops, moves and labels of every kind."""
    moved = 0
    for seed in SEEDS:
        test = lowered(seed).test
        other = portable(test)
        text = write_litmus(other)
        assert "mov " not in text
        moved += "mov " in write_litmus(test)
        assert outcomes(other.program) == outcomes(test.program)
    assert moved


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mp.mlir"
    path.write_text(MESSAGE_PASSING)
    assert fence_sim.main(["convert", str(path), "--mcpu", "sm_90", "--dat3m"]) == 0
    text = capsys.readouterr().out
    assert check_grammar(text) is None
    assert "LC0:" in text
    path.write_text(MESSAGE_PASSING.replace("acquire agent", "acquire cluster"))
    assert fence_sim.main(["convert", str(path), "--mcpu", "sm_90", "--dat3m"]) == 2
    said = capsys.readouterr().err.replace(f"{tmp_path}/", "")
    assert (
        said == "mp.mlir: error: 'mp': Dat3M's grammar does not have 'ld.acquire.cluster r1, f'\n"
    )
    columns = tmp_path / "mp.litmus"
    moved = "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n again: ;\n mov r0, 1 ;\n bne r0, 1, again ;\nexists (P0:r0 == 1)\n"
    columns.write_text(moved)
    assert fence_sim.main(["convert", str(columns), "--dat3m"]) == 0
    assert capsys.readouterr().out == write_litmus(portable(parse_litmus(moved)))
    columns.write_text(
        "PTX t\n{ b = mbarrier(1); }\n P0@cta 0,gpu 0 ;\n mbarrier.arrive b ;\nexists true\n"
    )
    assert fence_sim.main(["convert", str(columns)]) == 2
    assert "no mbarriers; --dat3m writes columns" in capsys.readouterr().err
    assert fence_sim.main(["convert", str(columns), "--dat3m"]) == 2
    assert "Dat3M's grammar does not have 'b = mbarrier(1)'" in capsys.readouterr().err


REFUSED = {
    "mbarriers": r"\w+ = mbarrier\(\d+\)",
    "asynchronous copies, with their proxy fence": r"cp\.async\.|fence\.proxy\.async",
    "clusters": r"P\d+@cta \d+,cluster|.*\.cluster ",
    "locations in the shared memory of a CTA": r"(?!P\d)\w+@cta",
    "`may hang`": "may hang",
    "`xor`": "xor ",
}
"""What Dat3M's grammar does not have of our own tests in columns."""


def test_a_jump_to_a_label_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = tmp_path / "x.litmus"
    columns.write_text(
        "PTX lost\n{ x=0; }\n P0@cta 0,gpu 0 ;\n ld.relaxed.gpu r0, x ;\n bne r0, 1, LC00 ;\n"
        " st.relaxed.gpu x, 1 ;\nexists (P0:r0 == 1)\n"
    )
    assert fence_sim.main(["convert", str(columns), "--dat3m"]) == 2
    error = f"{columns}: error: 'lost': thread 0 jumps to LC00, which is not there\n"
    assert capsys.readouterr().err == error


def test_what_cannot_be_converted_is_known_and_stands_in_the_docs() -> None:
    refused = Counter[str]()
    for path in LITMUS:
        found = check_grammar(write_litmus(portable(read_litmus(path))))
        if found is not None:
            (why,) = (word for word, form in REFUSED.items() if re.match(form, found.text))
            refused[why] += 1
    assert {*refused} == {*REFUSED}
    page = (ROOT / "docs" / "columns.md").read_text()
    rows = "".join(f"| {why} | {refused[why]} |\n" for why in REFUSED)
    assert f"| {len(LITMUS) - refused.total()} of {len(LITMUS)} |" in page
    assert rows in page, rows
