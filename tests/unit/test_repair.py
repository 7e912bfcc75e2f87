"""Repairs: edits of statements, the search that judges them, and what fence-check writes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from campaigns import some_of
from test_redundant_barriers import DONE, LOAD_LDS, SIGNAL, STORE_LDS, WAIT, amd_text
from test_verdicts_amd import CASES, kernel_text

from fencewright.checker.findings.finding import DIVERGENT_BARRIER, Level, Rule, VerdictKind
from fencewright.checker.repair.edits import (
    Edit,
    Spot,
    after,
    before,
    delete,
    edited,
    moved,
    replace,
)
from fencewright.checker.repair.leaner import leaner
from fencewright.checker.repair.narrower import narrower
from fencewright.checker.repair.prices import amd_prices
from fencewright.checker.repair.ptx import ROWS, candidates_of, code_of, ordered_name
from fencewright.checker.repair.search import Fault, Found, Judgement, Proof, ends, repair_of
from fencewright.checker.repair.words import described
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import read_statement
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools import fence_check
from fencewright.tools.dev.pages.fix_page import RECORD, Row, rows
from fencewright.tools.dev.pages.museum_page import exhibits
from fencewright.tools.dev.pages.museum_repairs import (
    assembler_of,
    problem_of,
    repaired,
)

EXHIBITS = {each.name: each for each in exhibits()}
ROWS_OF = {each.exhibit: each for each in rows()}

# Edits

TEXT = "\ta;\n\tb; c; // d\nL:\te;\n"
A, B, C, E = Spot(1, 2, "a;"), Spot(2, 2, "b;"), Spot(2, 5, "c;"), Spot(3, 4, "e;")


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (before(B, "x;"), "\ta;\n\tx;\n\tb; c; // d\nL:\te;\n"),
        (before(E, "x;", "y;"), "\ta;\n\tb; c; // d\nL:\tx;\ny;\ne;\n"),
        (after(B, "x;"), "\ta;\n\tb;\n\tx;\n\tc; // d\nL:\te;\n"),
        (after(C, "x;"), "\ta;\n\tb; c; // d\n\tx;\nL:\te;\n"),
        (replace(C, "x;"), "\ta;\n\tb; x; // d\nL:\te;\n"),
        (delete(A), "\tb; c; // d\nL:\te;\n"),
        (delete(B), "\ta;\n\tc; // d\nL:\te;\n"),
    ],
)
def test_an_edit(edit: Edit, text: str) -> None:
    assert edited(TEXT, (edit,)) == text


def test_edits_of_one_repair_do_not_move_each_other() -> None:
    repair = (before(A, "x;"), delete(C), after(E, "y;"))
    assert edited(TEXT, repair) == "\tx;\n\ta;\n\tb; // d\nL:\te;\ny;\n"


def test_an_edit_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1 has no 'b;'"):
        edited(TEXT, (delete(Spot(1, 2, "b;")),))


def test_lines_move_with_the_edits() -> None:
    repair = (before(B, "x;", "y;"), delete(A))
    assert [moved(line, repair) for line in (1, 2, 3)] == [1, 3, 4]


# The search

FAULT = Fault(Rule.MISSING_BARRIER, "k", 3, Level.WARNING, (1,))
RACE = Judgement((FAULT,), {"k": Proof(VerdictKind.RACE)})
QUIET = Judgement((), {"k": Proof(VerdictKind.RACE_FREE)})
REPAIRS = [(before(E, text),) for text in ("x;", "y;", "z;")]


def _fault(rule: Rule, line: int, level: Level = Level.WARNING) -> Fault:
    return Fault(rule, "k", line, level)


@pytest.mark.parametrize(
    ("again", "is_repaired"),
    [
        (QUIET, True),
        (RACE, False),
        # The same finding in the line to which its statement has moved.
        (Judgement((_fault(Rule.MISSING_BARRIER, 4),), RACE.proofs), False),
        # A note that the race has hidden may come.
        (Judgement((_fault(Rule.UNORDERED_SIGNAL, 9, Level.NOTE),), QUIET.proofs), True),
        (Judgement((_fault(Rule.UNORDERED_SIGNAL, 9),), QUIET.proofs), False),
        # The finding is not gone where it is a note only.
        (Judgement((_fault(Rule.MISSING_BARRIER, 4, Level.NOTE),), QUIET.proofs), False),
        # What was judged may not become what is not.
        (Judgement((), {"k": Proof(VerdictKind.NOT_JUDGED, ("why",))}), False),
        (Judgement((), {}), False),
    ],
)
def test_a_repair_is_judged(again: Judgement, is_repaired: bool) -> None:
    assert ends(FAULT, REPAIRS[0], RACE, again) is is_repaired


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        (Proof(VerdictKind.RACE_FREE), Proof(VerdictKind.LAUNCH), False),
        (Proof(VerdictKind.NOT_JUDGED, ("a",)), Proof(VerdictKind.NOT_JUDGED, ("b", "c")), True),
        (
            Proof(VerdictKind.NOT_JUDGED, ("a",)),
            Proof(VerdictKind.NOT_JUDGED, ("a", DIVERGENT_BARRIER)),
            False,
        ),
        (Proof(VerdictKind.RACE), Proof(VerdictKind.LAUNCH), True),
        # An execution has shown it: not to judge it any more is no repair.
        (Proof(VerdictKind.LAUNCH, ("a",)), Proof(VerdictKind.NOT_JUDGED, ("a",)), False),
    ],
)
def test_a_proof_is_kept(old: Proof, new: Proof, holds: bool) -> None:
    assert new.holds(old) is holds


def test_the_first_candidate_that_is_judged_right_is_the_repair() -> None:
    asked: list[str] = []

    def judge(text: str, function: str) -> Judgement | None:
        assert function == "k"
        asked.append(text)
        return None if "x;" in text else QUIET if "y;" in text else RACE

    assert repair_of(TEXT, FAULT, RACE, REPAIRS, judge).repair == REPAIRS[1]
    assert len(asked) == 2
    assert repair_of(TEXT, FAULT, RACE, REPAIRS[2:], judge) == Found(None, len(REPAIRS) - 2)


def test_the_copies_of_one_signal_are_repaired_together() -> None:
    """Those of an unrolled loop, at one place of the source."""
    stores = "".join(
        f".loc 1 4 9\nst.global.b32 [%rd1+{at}], 1;\n"
        f".loc 1 5 9\nst.relaxed.gpu.global.b32 [%rd2+{at}], 1;\n"
        for at in (0, 4)
    )
    text = f""".version 8.6
.target sm_90
.address_size 64
.entry k(.param .u64 a, .param .u64 b) {{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
{stores}.loc 1 7 9
ld.relaxed.gpu.global.b32 %r1, [%rd2];
ld.global.b32 %r2, [%rd1];
ret;
}}
"""
    lines = text.splitlines()
    read = next(n for n, line in enumerate(lines, 1) if line.startswith("ld.relaxed"))
    fault = Fault(Rule.UNORDERED_SIGNAL, "k", read + 1, Level.ERROR, (read,))
    candidates = candidates_of(read_ptx(text, "k.ptx"), text, fault)
    first = next(each for each in candidates if len(each) > 1)
    assert [each.text.split()[0] for each in first] == [
        *["st.release.gpu.global.b32"] * 2,
        "ld.acquire.gpu.global.b32",
    ]
    copies = described(first[:2], lambda line: line, lambda _: SourceLocation("k.cu", 5, 9))
    assert [each.partition("; ")[2] for each in copies] == [f"likewise in line {first[1].at.line}"]


def test_a_repair_keeps_the_edits_that_it_needs_and_one_change_is_whole() -> None:
    fault = Fault("release", "f", 1, Level.ERROR)
    wrong, right = Judgement((fault,)), Judgement(())
    changes = (replace(A, "x;"), replace(B, "y;"), replace(C, "z;"), replace(E, "w;"))

    def judge(text: str, _: str) -> Judgement:
        return right if "x;" in text and "z;" in text else wrong

    found = repair_of(TEXT, fault, wrong, [changes], judge)
    assert found.repair == (changes[0], changes[2])
    whole = (*changes[:3], delete(E))
    assert repair_of(TEXT, fault, wrong, [whole], judge).repair == whole


def test_a_search_without_a_repair_gives_its_limit() -> None:
    candidates = [(before(E, f"w{n};"),) for n in range(60)]

    def judge(text: str, function: str) -> Judgement:
        return RACE

    found = repair_of(TEXT, FAULT, RACE, candidates, judge)
    assert found == Found(None, 48, is_cut=True)


# PTX


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ld.global.b32 %r1, [%rd1];", "ld.acquire.gpu.global.b32"),
        ("ld.volatile.global.b32 %r1, [%rd1];", "ld.acquire.gpu.global.b32"),
        ("ld.global.cg.b32 %r1, [%rd1];", "ld.acquire.gpu.global.b32"),
        ("atom.add.acquire.sys.s32 %r1, [%rd1], 1;", "atom.acquire.gpu.add.s32"),
        (
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 4;",
            "mbarrier.arrive.expect_tx.acquire.gpu.shared::cta.b64",
        ),
        (
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [full], 0;",
            "mbarrier.try_wait.parity.acquire.gpu.shared::cta.b64",
        ),
    ],
)
def test_a_name_with_another_ordering(statement: str, name: str) -> None:
    read = read_statement(statement)
    assert read is not None
    assert ordered_name(read, "acquire", "gpu") == name


def test_statements_have_their_spots() -> None:
    text = (
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        "\tmov.u32 %r1, 1; mov.u32 %r2, 2; // bar.sync 1;\n\tbar.sync\n\t0;\n\tret;\n}\n"
    )
    (function,) = read_ptx(text).functions.values()
    spots = code_of(function, text).spots
    # What is over several lines is not edited.
    assert [each.text for each in spots.values()] == [
        "mov.u32 %r1, 1;", "mov.u32 %r2, 2;", "ret;",
    ]  # fmt: skip
    for each in spots.values():
        assert text.split("\n")[each.line - 1][each.column - 1 :].startswith(each.text)


def test_every_row_is_of_a_rule_that_ptx_may_have() -> None:
    assert Rule.RAW not in ROWS
    assert len(ROWS) >= 25


# The museum


def test_four_of_five_exhibits_are_repaired() -> None:
    assert ROWS_OF.keys() == EXHIBITS.keys()
    assert sum(each.is_repaired for each in ROWS_OF.values()) >= 0.8 * len(ROWS_OF)
    assert {each.accepted for each in ROWS_OF.values() if each.is_repaired} <= {"ptxas", "llvm-mc"}


@pytest.mark.parametrize("name", some_of(sorted(ROWS_OF), 9))
def test_an_exhibit_is_repaired(name: str) -> None:
    exhibit, row = EXHIBITS[name], ROWS_OF[name]
    words, text = repaired(exhibit)
    assert Row(name, exhibit.rule, words, row.accepted) == row, RECORD
    if not row.is_repaired:
        assert text == exhibit.code("wrong")
        return
    assembler = assembler_of(exhibit)
    if assembler is None:
        pytest.skip("ptxas or llvm-mc is not installed")
    assert problem_of(exhibit, text, assembler) == ""


# The command

MESSAGE = EXHIBITS["flag-relaxed"].folder / "wrong.ptx"
STORE = "st.{}.gpu.global.b32 [%rd2], 1;"


def test_a_patch_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_check.main(["--fix", str(MESSAGE)]) == 0
    said = capsys.readouterr().out
    assert "note: repair: write `st.release.gpu.global.b32 [%rd2], 1` in place of" in said
    assert f"\n-\t{STORE.format('relaxed')}\n+\t{STORE.format('release')}\n" in said
    assert f"{MESSAGE}: 1 of 1 finding repaired" in said


def test_the_repaired_code_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "to.ptx"
    assert fence_check.main(["--fix", str(MESSAGE), "-o", str(to)]) == 0
    expected = MESSAGE.read_text().replace(STORE.format("relaxed"), STORE.format("release"))
    assert to.read_text() == expected
    assert fence_check.main(["--fix", str(to)]) == 0
    assert f"{to}: nothing to repair; " in capsys.readouterr().out


def test_a_file_may_be_repaired_in_its_place_and_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(MESSAGE.read_text())
    assert fence_check.main(["--fix", str(path), "-o", str(path)]) == 0
    assert STORE.format("release") in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["k.ptx"]


def test_the_status_is_that_of_what_stays(tmp_path: Path) -> None:
    exhibit = EXHIBITS["lost-write-back-wait"]
    asked = ["--fix", "--source", str(exhibit.folder / "source.ll")]
    wrong = str(exhibit.folder / "wrong.s")
    assert fence_check.main([*asked, wrong]) == 1
    assert fence_check.main([*asked, wrong, "-o", str(tmp_path / "to.s")]) == 0


@pytest.mark.parametrize(
    "options",
    [["--format", "json"], ["--annotate"], ["--to", "scoped"], ["--baseline", "x"], ["--cost"]],
)
def test_what_has_no_effect_is_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_check.main(["--fix", *options, str(MESSAGE)]) == 2
    assert "--fix" in capsys.readouterr().err


def test_words_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = tmp_path / "k.ptx"
    code.write_text(TILE)
    fence_check.main(["--fix", str(code)])
    said = capsys.readouterr().out
    assert (
        "repair: put `__syncthreads()` between lines 4 and 5 of k.cu (`bar.sync 0` before" in said
    )


TILE = """.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	.shared .align 4 .b8 tile[1024];
	.loc 1 3 1
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, tile;
	shl.b32 %r3, %r1, 2;
	add.u32 %r4, %r2, %r3;
	.loc 1 4 1
	st.shared.b32 [%r4], %r1;
	.loc 1 5 1
	ld.shared.b32 %r5, [tile];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.b32 [%rd3], %r5;
	ret;
}
"""

# Leaner code

SEQ_CST = """.version 9.0
.target sm_90
.address_size 64
.visible .entry pass(.param .u64 data, .param .u64 flag, .param .u64 out)
{
	.reg .pred %p<9>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [data];
	ld.param.u64 %rd2, [flag];
	ld.param.u64 %rd3, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %tid.x;
	or.b32 %r3, %r1, %r2;
	setp.ne.s32 %p1, %r3, 0;
	@%p1 bra OTHER;
	st.global.b32 [%rd1], 42;
	fence.sc.sys;
	st.relaxed.sys.global.b32 [%rd2], 1;
	ret;
OTHER:
	setp.ne.s32 %p2, %r2, 0;
	@%p2 bra END;
POLL:
	fence.sc.sys;
	ld.acquire.sys.global.b32 %r4, [%rd2];
	setp.eq.s32 %p3, %r4, 0;
	@%p3 bra POLL;
	ld.global.b32 %r5, [%rd1];
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd5, %rd3, %rd4;
	st.global.b32 [%rd5], %r5;
END:
	ret;
}
"""


def _lean(text: str, tmp_path: Path, name: str = "k.ptx") -> str:
    code, to = tmp_path / name, tmp_path / f"to_{name}"
    code.write_text(text)
    assert fence_check.main(["--fix", "surplus", str(code), "-o", str(to)]) == 0
    return to.read_text()


def test_both_parts_of_a_barrier_are_removed(tmp_path: Path) -> None:
    parts = (SIGNAL, WAIT)
    text = amd_text("\n".join((STORE_LDS, DONE, *parts, *parts, LOAD_LDS)), "gfx1250")
    left = amd_text("\n".join((STORE_LDS, DONE, *parts, LOAD_LDS)), "gfx1250")
    assert _lean(text, tmp_path, "k.s") == _lean(left, tmp_path, "other.s")


def test_defaults_of_libcu_become_lean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = (
        SEQ_CST.replace("\tfence.sc.sys;\n\tld", "\tld")
        .replace("fence.sc.sys", "fence.release.gpu")
        .replace(".sys", ".gpu")
    )
    assert _lean(SEQ_CST, tmp_path) == expected
    said = capsys.readouterr().out
    assert "`fence.release.gpu` will do for `fence.sc.sys`: 769 cycles less" in said
    assert "assuming that no other kernel, GPU or CPU synchronises by this memory" in said


def test_an_order_that_two_atomics_show_is_kept(tmp_path: Path) -> None:
    """Store buffering has no race, and without ``fence.sc`` another outcome."""
    text = SEQ_CST[: SEQ_CST.index("\tmov.u32 %r1")] + (
        "\tst.relaxed.gpu.global.b32 [%rd1], 1;\n\tfence.sc.gpu;\n"
        "\tld.relaxed.gpu.global.b32 %r1, [%rd2];\n\tret;\n}\n"
    )
    assert _lean(text, tmp_path) == text


def test_nothing_is_weakened_without_a_proof(tmp_path: Path) -> None:
    """What is not judged keeps its orderings, and of its scopes those that the GPU's include."""
    text = SEQ_CST.replace("\tst.global.b32 [%rd5], %r5;\n", "\tst.global.b32 [%rd1], %r5;\n")
    lean = _lean(text, tmp_path)
    assert lean == text.replace(".sys", ".gpu")
    assert lean.count("fence.sc.gpu") == 2


FENCED = (
    SEQ_CST.replace("9.0", "8.0")
    .replace("sm_90", "sm_80")
    .replace("\tfence.sc.sys;\n\tld", "\tld")
    .replace("ld.acquire.sys.global.b32 %r4, [%rd2];", "ld.relaxed.gpu.b32 %r4, [%rd2];\n\tFENCE;")
    .replace("fence.sc.sys", "FENCE")
    .replace("sys", "gpu")
    .replace("FENCE", "fence.acq_rel.gpu")
)
RAISED = "\tst.relaxed.gpu.global.b32 [%rd2], 1;\n"
STRONG = "\tst.relaxed.gpu.global.b32 [%rd1+8], 1;\n"
FOLDED = "\tst.release.gpu.global.b32 [%rd2], 1;\n"
FENCE = "\tfence.acq_rel.gpu;\n"
POLLED = "\tld.relaxed.gpu.b32 %r4, [%rd2];\n" + FENCE


def _acquired(text: str) -> str:
    return text.replace(POLLED, "\tld.acquire.gpu.b32 %r4, [%rd2];\n")


def test_a_fence_becomes_the_ordering_of_the_access_next_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _acquired(FENCED).replace(FENCE + RAISED, FOLDED)
    assert _lean(FENCED, tmp_path) == expected
    said = capsys.readouterr().out
    assert "`ld.acquire.gpu.b32` will do for `ld.relaxed.gpu.b32; fence.acq_rel.gpu`: 268" in said
    # What the store releases may be strong.
    strong = _lean(FENCED.replace(FENCE + RAISED, STRONG + FENCE + RAISED), tmp_path)
    assert strong == _acquired(FENCED).replace(FENCE + RAISED, STRONG + FOLDED)


def test_a_fence_on_both_sides_of_an_atomic_becomes_its_ordering(tmp_path: Path) -> None:
    text = EXHIBITS["last-block-unfenced"].code("right").replace("8.6", "8.0")
    atomic = "\tatom.global.add.u32 %r2, [%rd2], 1;\n"
    text = text.replace("sm_90a", "sm_80").replace(FENCE, "")
    ordered = atomic.replace("atom.global.add", "atom.acq_rel.gpu.global.add")
    expected = text.replace(atomic, ordered)
    assert _lean(text.replace(atomic, FENCE + atomic + FENCE), tmp_path) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Another store raises the flag that is polled: the proof is lost.
        (RAISED, RAISED.replace("]", "+4]") + RAISED),
        # The fence orders strong writes, of which no proof says anything.
        (FENCE + RAISED, STRONG + FENCE + RAISED + STRONG.replace("+8", "+16")),
        # The fence also acquires, for a read that may show what the store shows.
        (FENCE + RAISED, "\tld.relaxed.gpu.b32 %r5, [%rd1+8];\n" + FENCE + RAISED),
    ],
)
def test_a_fence_of_several_accesses_stays(old: str, new: str, tmp_path: Path) -> None:
    text = FENCED.replace(old, new)
    assert _lean(text, tmp_path) == _acquired(text)


AWAITED = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag, .param .u64 out)
{
 .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [out];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %rd4, %r1, 4;
 add.s64 %rd5, %rd1, %rd4;
 add.s64 %rd6, %rd3, %rd4;
 mov.u32 %r3, 0;
POLL:
 ld.relaxed.sys.global.b32 %r3, [%rd2];
 bar.warp.sync -1;
 setp.eq.u32 %p2, %r3, 0;
 @%p2 bra POLL;
 fence.acq_rel.sys;
 ld.global.b32 %r4, [%rd5];
 st.global.b32 [%rd6], %r4;
 ret;
}
"""


def test_what_waits_for_another_kernel_stays(tmp_path: Path) -> None:
    """Its flag is written by nothing here, so that the assumption does not hold."""
    code, new = tmp_path / "k.ptx", tmp_path / "new.ptx"
    arguments = [str(code), "--isolated", "--grid", "1", "--block", "64", "--fix", "surplus"]
    for text, is_lean in (
        (AWAITED, False),
        (AWAITED.replace("bra POLL", "bra OUT").replace(" ret;", "OUT:\n ret;"), True),
    ):
        code.write_text(text)
        assert fence_check.main([*arguments, "-o", str(new)]) == 0
        assert ("fence.acq_rel.sys" not in new.read_text()) is is_lean
        assert (".sys" not in new.read_text()) is is_lean


def test_a_step_that_is_judged_worse_is_not_taken() -> None:
    proved = Judgement((), {"pass": Proof(VerdictKind.RACE_FREE)})
    worse = Judgement((), {"pass": Proof(VerdictKind.NOT_JUDGED, ("why",))})

    def judge(text: str, function: str) -> Judgement:
        assert (text != SEQ_CST, function) == (True, "pass")
        return worse

    assert not list(leaner(lambda: SEQ_CST, "k.ptx", proved, judge))


MESSAGES = {
    case.name: kernel_text(case.body, case.chip) for case in CASES if "message" in case.name
}
AT_SYSTEM = MESSAGES["message"].replace(" sc1\n", " sc0 sc1\n")
OLD_AT_SYSTEM = (
    MESSAGES["message of gfx90a"]
    .replace("global_store_dword v2", "buffer_wbl2\n\ts_waitcnt vmcnt(0)\n\tglobal_store_dword v2")
    .replace("buffer_wbinvl1_vol", "buffer_invl2\n\tbuffer_wbinvl1_vol")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            AT_SYSTEM,
            MESSAGES["message"].replace("vmcnt(0) expcnt(6)", "expcnt(6)"),
        ),
        # The agent needs no write-back of its one L2, nor the wait for that.
        (
            OLD_AT_SYSTEM,
            MESSAGES["message of gfx90a"].replace("\ts_waitcnt vmcnt(0) ; loaded\n", ""),
        ),
    ],
    ids=["gfx942", "gfx90a"],
)
def test_scopes_of_the_system_become_the_agents(
    text: str, expected: str, tmp_path: Path, llvm_tool: Callable[[str], str]
) -> None:
    assert _lean(text, tmp_path, "k.s") == expected
    assembler = llvm_tool("llvm-mc")
    code = expected.partition("\t.amdgpu_metadata")[0]
    assert problem_of(EXHIBITS["acquire-lost"], code, assembler) == ""


def test_scopes_of_what_is_not_proved_stay(tmp_path: Path) -> None:
    text = AT_SYSTEM.replace("\ts_barrier ; seen\n", "")
    assert _lean(text, tmp_path, "k.s").count(" sc0 sc1\n") == AT_SYSTEM.count(" sc0 sc1\n")
    worse = Judgement((), {"k": Proof(VerdictKind.RACE)})
    proved = Judgement((), {"k": Proof(VerdictKind.RACE_FREE)})
    assert not list(narrower(lambda: AT_SYSTEM, "k.s", proved, lambda text, function: worse))


@pytest.mark.parametrize(
    ("chip", "wait", "left"),
    [
        ("gfx90a", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt vmcnt(0)"),
        ("gfx90a", "s_waitcnt lgkmcnt(0) & vmcnt(0)", "s_waitcnt vmcnt(0)"),
        ("gfx90a", "s_waitcnt 0", "s_waitcnt vmcnt(0) expcnt(0)"),
        ("gfx1200", "s_wait_storecnt_dscnt 0x0", "s_wait_storecnt 0x0"),
    ],
)
def test_a_wait_keeps_the_counters_that_are_needed(
    chip: str, wait: str, left: str, tmp_path: Path
) -> None:
    """The store before a flag: no verdict tells what it is for."""
    lines = (
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"',
        "k:",
        "\tglobal_store_{} v0, v1, s[0:1]",
        f"\t{wait}",
        "\tglobal_store_{} v0, v2, s[2:3]",
        "\ts_endpgm",
        ".Lfunc_end0:\n",
    )
    text = "\n".join(lines).replace("{}", "b32" if chip == "gfx1200" else "dword")
    assert _lean(text, tmp_path, "k.s") == text.replace(wait, left)


# Prices


def test_fences_and_waits_are_priced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = tmp_path / "k.ptx"
    code.write_text(SEQ_CST)
    assert fence_check.main(["--cost", str(code)]) == 0
    said = capsys.readouterr().out
    assert "k.ptx: pass: 3 fences and waits: 2368 (estimated), each executed once" in said
    assert any(
        line.split()[:4] == ["18", "fence.sc.sys", "1032", "cycles"] for line in said.splitlines()
    )


def test_a_kernel_without_fences_has_no_costs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = tmp_path / "k.ptx"
    code.write_text(".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n")
    assert fence_check.main(["--cost", str(code)]) == 0
    assert f"{code}: no fence, barrier or wait, so none has a cost\n" in capsys.readouterr().out


def test_prices_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--format", "json", str(EXHIBITS["waits-back-to-back"].folder / "wrong.s")]
    assert fence_check.main(["--cost", *asked]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert [each["line"] for each in file["costs"]] == [7, 9]
    assert file["costs"][0] == {
        "function": "k",
        "line": 7,
        "instruction": "s_waitcnt vmcnt(0)",
        "cost": 8,
        "unit": "relative",
        "source": file["costs"][1]["source"],
    }
    assert fence_check.main(["--surplus", *asked]) == 0
    assert "costs" not in json.loads(capsys.readouterr().out)["files"][0]


@pytest.mark.parametrize(
    "wait", ["vmcnt(0) expcnt(0) lgkmcnt(0)", "lgkmcnt(0) vmcnt(0)", "vmcnt(0) & lgkmcnt(0)", "0"]
)
def test_a_wait_has_one_price_in_each_spelling(wait: str) -> None:
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nf:\n  s_waitcnt {wait}\n  s_endpgm\n'
    (priced,) = amd_prices(read_assembly(text, "k.s"))
    assert priced.cost is not None
    assert priced.cost.amount == 8


BOTH = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag)
{
 .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag];
 mov.u32 %r1, %tid.x;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 ret;
 mov.u32 %r2, %ctaid.x;
 setp.ne.u32 %p1, %r2, 0;
 @%p1 bra READ;
 st.global.u32 [%rd1], 42;
 st.relaxed.gpu.global.u32 [%rd2], 1;
 ret;
READ:
 ld.relaxed.gpu.global.u32 %r3, [%rd2];
 setp.eq.u32 %p2, %r3, 0;
 @%p2 bra READ;
 ld.global.u32 %r4, [%rd1];
 st.global.u32 [%rd1+4], %r4;
 ret;
}
"""


def _fixed(text: str, tmp_path: Path, *options: str) -> str:
    """The text after ``--fix``, with nothing that is left to fail."""
    code, new = tmp_path / "k.ptx", tmp_path / "new.ptx"
    code.write_text(text)
    assert fence_check.main([str(code), "--isolated", *options, "--fix", "-o", str(new)]) == 0
    return new.read_text()


def test_a_signal_that_lacks_both_orders_has_a_repair_of_two_edits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = _fixed(BOTH, tmp_path, "--grid", "2", "--block", "32")
    assert capsys.readouterr().out.count("note: repair: write") == 2
    assert "st.release.gpu" in new
    assert "ld.acquire.gpu" in new


def test_a_weak_flag_is_written_and_read_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = _fixed(
        BOTH.replace(".relaxed.gpu.global", ".global.cg"), tmp_path, "--grid", "2", "--block", "32"
    )
    assert "read and write it by volatile or atomic accesses" in capsys.readouterr().out
    strong = BOTH.replace("ld.relaxed", "ld.acquire").replace("st.relaxed", "st.release")
    assert new == strong


PHASE = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
 .reg .pred %p<4>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
 .shared .align 8 .b64 bar; .shared .b32 tile;
 ld.param.u64 %rd1, [out];
 mov.u32 %r1, %tid.x;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 bra I;
 mbarrier.init.shared::cta.b64 [bar], 1;
I:
 bar.sync 0;
 @%p1 bra W;
 st.shared.u32 [tile], 7;
 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];
W:
 mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [bar], 0;
 @!%p2 bra W;
 ld.shared.u32 %r2, [tile];
 mul.wide.u32 %rd2, %r1, 4;
 add.u64 %rd3, %rd1, %rd2;
 st.global.u32 [%rd3], %r2;
 ret;
}
"""


def test_relaxed_operations_on_an_mbarrier_are_ordered_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = _fixed(PHASE, tmp_path, "--grid", "1", "--block", "64")
    assert "1 of 1 finding repaired" in capsys.readouterr().out
    ordered = PHASE.replace("arrive.relaxed", "arrive.release").replace(
        "parity.relaxed", "parity.acquire"
    )
    assert new == ordered


LOCK = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 lock)
{
 .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [lock];
 mov.u32 %r1, %tid.x;
 and.b32 %r1, %r1, 31;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 ret;
 mov.u32 %r1, %tid.x;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 bra OTHER;
ONE:
 atom.global.cas.b32 %r2, [%rd2], 0, 1;
 setp.ne.u32 %p2, %r2, 0;
 @%p2 bra ONE;
 st.global.u32 [%rd1], 1;
 atom.global.exch.b32 %r4, [%rd2], 0;
 ret;
OTHER:
 atom.global.cas.b32 %r2, [%rd2], 0, 1;
 setp.ne.u32 %p2, %r2, 0;
 @%p2 bra OTHER;
 st.global.u32 [%rd1], 2;
 atom.global.exch.b32 %r4, [%rd2], 0;
 ret;
}
"""


def test_a_lock_without_orders_is_ordered_where_it_is_taken_and_freed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = _fixed(LOCK, tmp_path, "--grid", "1", "--block", "64")
    assert "1 of 1 finding repaired" in capsys.readouterr().out
    assert new.count("atom.acq_rel.gpu.global") == 4


UPDATE = """\
.version 8.6
.target sm_90
.address_size 64
.file 1 "q.cu"
.visible .entry k(.param .u64 data)
{
 .reg .b32 %r<5>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [data];
 mov.u32 %r1, %tid.x;
 .loc 1 3 2
 ld.global.u32 %r2, [%rd1];
 add.s32 %r3, %r1, %r2;
 st.global.u32 [%rd1], %r3;
 .loc 1 4 1
 ret;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("add.s32", "red.relaxed.gpu.global.add.u32 [%rd1], %r1;", "`atomicAdd()`"),
        ("max.s32", "red.relaxed.gpu.global.max.s32 [%rd1], %r1;", "`atomicMax()`"),
        ("xor.b32", "red.relaxed.gpu.global.xor.b32 [%rd1], %r1;", "`atomicXor()`"),
    ],
)
def test_an_update_of_several_statements_becomes_one(
    old: str, new: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = _fixed(UPDATE.replace("add.s32", old), tmp_path)
    said = capsys.readouterr().out
    assert f"line 13 (q.cu:3): {word}" in said
    assert new in written
    assert "ld.global" not in written


def test_the_operand_of_an_update_may_be_made_after_its_load(tmp_path: Path) -> None:
    text = UPDATE.replace("mov.u32 %r1, %tid.x;\n", "ld.param.u64 %rd2, [other];\n").replace(
        "add.s32", "ld.global.u32 %r1, [%rd2];\n add.s32"
    )
    written = _fixed(
        text.replace(".param .u64 data", ".param .u64 data, .param .u64 other"), tmp_path, "--notes"
    )
    lines = [each.strip() for each in written.splitlines()]
    assert lines[-5:-3] == [
        "ld.global.u32 %r1, [%rd2];",
        "red.relaxed.gpu.global.add.u32 [%rd1], %r1;",
    ]


def test_of_loads_in_a_row_one_place_is_tried_and_those_that_the_finding_names() -> None:
    loads = "".join(f" ld.global.u32 %r2, [%rd1+{4 * each}];\n" for each in range(4))
    text = UPDATE.replace(" ld.global.u32 %r2, [%rd1];\n", loads)
    code = code_of(read_ptx(text, "k.ptx").functions["k"], text)
    places = [number for _, number, _ in code.gaps()]
    named = [number for _, number, _ in code.gaps({places[0] + 2})]
    assert named == [places[0], places[0] + 2, places[0] + 3, *places[1:]]


def texts_of(text: str, line: int, *about: int) -> list[str]:
    """The texts of all candidates for a missing barrier."""
    file = read_ptx(text, "k.ptx")
    fault = Fault("missing-barrier", "k", line, Level.ERROR, about)
    found = [edit.text for repair in candidates_of(file, file.text, fault) for edit in repair]
    assert found
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" .loc 1 4 1\n", " st.global.u32 [%rd1+4], %r3;\n"),
        (" .loc 1 4 1\n", " add.s32 %r3, %r1, 4;\n"),  # The value may be another one.
        ("add.s32 %r3", "add.s64 %rd1, %rd1, 4;add.s32 %r3"),  # The place is another one.
        ("add.s32 %r3", "st.global.u32 [%rd1+4], 1;add.s32 %r3"),
        ("st.global", "mov.u32 %r1, 5;st.global"),  # The operand is another one.
        ("max.s32", "max.f32"),  # red has none.
    ],
)
def test_an_update_whose_values_are_used_elsewhere_stays(old: str, new: str) -> None:
    text = UPDATE.replace("add.s32", "max.s32") if old == "max.s32" else UPDATE
    found = texts_of(text.replace(old, new), 13, 11)
    assert not any("red." in text or "atom." in text for text in found)


def test_an_update_gives_the_old_value_where_that_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, written = tmp_path / "k.ptx", tmp_path / "new.ptx"
    use = " mul.wide.u32 %rd0, %r2, 4;\n add.s64 %rd2, %rd2, %rd0;\n st.global.u32 [%rd2], 1;\n"
    text = UPDATE.replace("data)", "data, .param .u64 out)").replace("%r1, %r2;", "%r2, 1;")
    text = text.replace("[data];", "[data]; ld.param.u64 %rd2, [out];")
    code.write_text(text.replace(" .loc 1 4 1\n", use))
    texts = texts_of(code.read_text(), 13, 11)
    assert "atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;" in texts
    fence_check.main([str(code), "--isolated", "--fix", "-o", str(written)])
    assert "line 11 (q.cu:3): `atomicAdd()`" in capsys.readouterr().out


ROUND = """\
 .loc 1 3 2
 ld.global.u32 %r2, [%rd1];
 add.s32 %r3, %r2, 1;
 st.global.u32 [%rd1], %r3;
"""


def test_the_copies_of_an_update_become_atomics_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, tail = UPDATE.replace("%r<5>", "%r<6>").split(" .loc 1 3 2\n")
    again = ROUND.replace("%r2", "%r4").replace("%r3", "%r5")
    written = _fixed(f"{head}{ROUND}{again} .loc{tail.partition('.loc')[2]}", tmp_path)
    said = capsys.readouterr().out
    assert said.count("note: repair: ") == 3
    assert "`atomicAdd()`; likewise in line 17" in said
    assert written.count("red.relaxed.gpu") == 2


GUARD = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data)
{
 .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [data];
 mov.u32 %r1, %tid.x;
 ld.global.u32 %r2, [%rd1];
 setp.ge.u32 %p1, %r2, %r1;
 @%p1 bra E;
 atom.global.max.u32 %r3, [%rd1], %r1;
E:
 ret;
}
"""


def test_a_read_that_guards_an_update_becomes_strong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = _fixed(GUARD, tmp_path)
    said = capsys.readouterr().out
    assert "read it by a volatile or atomic load" in said
    assert "ld.relaxed.gpu.global.u32 %r2, [%rd1];" in written


UNDECIDED = GUARD.replace(
    "setp.ge.u32 %p1, %r2, %r1",
    "ld.param.u64 %rd2, [other];\n ld.global.u32 %r1, [%rd2];\n max.u32 %r1, %r1, 1;\n"
    " shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;\n setp.ge.u32 %p1, %r2, %r1",
).replace(".param .u64 data", ".param .u64 data, .param .u64 other")


def test_a_race_that_an_execution_shows_is_repaired_among_the_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, written = tmp_path / "k.ptx", tmp_path / "new.ptx"
    code.write_text(UNDECIDED)
    asked = [str(code), "--isolated", "--grid", "4", "--block", "32", "--fix"]
    assert fence_check.main([*asked, "-o", str(written)]) == 0
    assert "nothing to repair but 1 note (with --notes); 0 proved" in capsys.readouterr().out
    assert fence_check.main([*asked, "--notes", "-o", str(written)]) == 0
    assert "ld.relaxed.gpu.global.u32 %r2, [%rd1];" in written.read_text()
    assert fence_check.main([str(written), "--isolated", "--prove", "--strict"]) == 0


def test_a_read_that_no_test_uses_stays_weak() -> None:
    plain = GUARD.replace("setp.ge.u32 %p1, %r2", "setp.ge.u32 %p1, %r1")
    assert not any("ld.relaxed" in text for text in texts_of(plain, 12, 9))


STEP = """\
 .loc 1 5 1
 @%p1 bra L{0};
 .loc 1 6 1
 ld.shared.u32 %r3, [%r2+{1}];
 st.shared.u32 [%r2], %r3;
L{0}:
"""
TREE = f"""\
.version 8.6
.target sm_90
.address_size 64
.file 1 "q.cu"
.visible .entry k()
{{
 .reg .pred %p<2>; .reg .b32 %r<5>;
 .shared .b32 s[256];
 mov.u32 %r1, %tid.x;
 shl.b32 %r2, %r1, 2;
 mov.u32 %r4, s;
 add.u32 %r2, %r2, %r4;
 setp.ge.u32 %p1, %r1, 32;
 .loc 1 3 1
 st.shared.u32 [%r2], %r1;
{STEP.format(1, 128)} setp.ge.u32 %p1, %r1, 16;
{STEP.format(2, 64)} ret;
}}
"""


def test_a_barrier_is_put_in_all_copies_of_a_round() -> None:
    file = read_ptx(TREE, "k.ptx")
    fault = Fault("missing-barrier", "k", 19, Level.ERROR, (15,))
    found = candidates_of(file, file.text, fault)
    repair = next(each for each in found if [edit.text for edit in each] == ["bar.sync 0;"] * 2)
    assert [edit.at.line for edit in repair] == [17, 24]
    (text,) = described(repair, lambda line: line, lambda line: SourceLocation("q.cu", 5))
    assert text.endswith("(`bar.sync 0` before line 17); likewise in line 24")


def test_rounds_without_line_numbers_have_the_barriers_that_they_need(tmp_path: Path) -> None:
    lines = [each for each in TREE.splitlines() if not each.lstrip().startswith((".loc", ".file"))]
    text = "\n".join(lines).replace(
        " setp.ge.u32 %p1, %r1, 32;", " @%p1 bra L0;\nL0:\n setp.ge.u32 %p1, %r1, 32;"
    )
    written = _fixed(text, tmp_path, "--grid", "1", "--block", "64")
    meets = " bar.sync 0;\n @%p1 bra L{};"
    expected = text.replace(" @%p1 bra L1;", meets.format(1)).replace(
        " @%p1 bra L2;", meets.format(2)
    )
    assert written == expected


ELECTED = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
 .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
 .shared .align 16 .b8 tile[512];
 ld.param.u64 %rd1, [out];
 mov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2;
 st.shared.u32 [%r3], %r1;
 fence.proxy.async.shared::cta;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 bra E;
 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
E:
 ret;
}
"""


def test_a_barrier_of_one_thread_is_no_repair(tmp_path: Path) -> None:
    written = _fixed(ELECTED, tmp_path, "--grid", "1", "--block", "64")
    before, _, after = written.partition("bar.sync 0;")
    assert "@%p1 bra E;" in after
    assert "st.shared" in before


MIRRORED = {
    "gfx942": """
	v_lshl_add_u32 v2, s2, 8, v0
	v_mov_b32_e32 v3, 0
	v_lshlrev_b64 v[2:3], 2, v[2:3]
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]
	global_load_dword v1, v[4:5], off
	s_waitcnt vmcnt(0)
	ds_write_b32 v0, v1
	v_sub_u32_e32 v0, 0, v0
	ds_read_b32 v4, v0 offset:1020
	v_lshl_add_u64 v[0:1], s[4:5], 0, v[2:3]
	s_waitcnt lgkmcnt(0)
	global_store_dword v[0:1], v4, off
""",
    "gfx1200": """
	v_mov_b32_e32 v2, 0
	v_lshl_add_u32 v1, ttmp9, 8, v0
	v_lshlrev_b32_e32 v0, 2, v0
	v_lshlrev_b64_e32 v[1:2], 2, v[1:2]
	s_wait_kmcnt 0x0
	v_add_co_u32 v3, vcc_lo, s6, v1
	v_add_co_ci_u32_e64 v4, null, s7, v2, vcc_lo
	global_load_b32 v3, v[3:4], off
	v_sub_nc_u32_e32 v4, 0, v0
	s_wait_loadcnt 0x0
	ds_store_b32 v0, v3
	ds_load_b32 v3, v4 offset:1020
	v_add_co_u32 v0, vcc_lo, s4, v1
	s_wait_alu depctr_va_vcc(0)
	v_add_co_ci_u32_e64 v1, null, s5, v2, vcc_lo
	s_wait_dscnt 0x0
	global_store_b32 v[0:1], v3, off
""",
}
"""out[256 * block + t] = tile[255 - t], as clang compiles it, without the barrier before it."""


@pytest.mark.parametrize(
    ("chip", "load", "barrier"),
    [
        ("gfx942", "s_load_dwordx4", "s_waitcnt lgkmcnt(0)\n\ts_barrier"),
        ("gfx1200", "s_load_b128", "s_wait_dscnt 0x0\n\ts_barrier_signal -1\n\ts_barrier_wait -1"),
    ],
)
def test_a_barrier_is_put_between_accesses_of_lds(
    chip: str, load: str, barrier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The forms of a chip, at the few places between both, are fewer than the limit of judgements."""
    code = tmp_path / "k.s"
    code.write_text(
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type k,@function\n'
        f"k:\n\t{load} s[4:7], s[0:1], 0x0{MIRRORED[chip]}\ts_endpgm\n\t.amdhsa_kernel k\n"
        "\t.amdhsa_group_segment_fixed_size 1024\n\t.amdhsa_user_sgpr_count 2\n"
        "\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.end_amdhsa_kernel\n"
    )
    assert fence_check.main(["--fix", str(code), "-o", str(tmp_path / "to.s")]) == 0
    assert barrier in (tmp_path / "to.s").read_text()
    assert "1 of 1 finding repaired" in capsys.readouterr().out
