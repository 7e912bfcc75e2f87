"""The command that judges labelled kernels: its names, its rows, and contradictions."""

from pathlib import Path

import pytest

from fencewright.tools.dev.campaigns import labelled_kernels
from fencewright.tools.dev.campaigns.labelled_kernels import contradicts, main, short_name

LABELS = """suite,source,kernel,grid,block,our_label,class
own,own/k.cu,sums,2x1x1,32x1x1,race,A static control
own,own/k.cu,_Z4fineILj2ELi3EEvPi,2x1x1,32x1x1,race-free,A static control
own,own/k.cu,other,2x1x1,32x1x1,out of scope,A static control
"""
PTX = """.version 8.6
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 out) {
.reg .b64 %rd<2>; .reg .b32 %r<2>;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1; ret;
}
.visible .entry _Z4fineILj2ELi3EEvPi(.param .u64 out) { ret; }
"""
HEAD = (
    "suite kernel class label launch verdict evidence seconds executed shown accesses cpu "
    "sentryward note"
).split()
ROWS = (("k: sums", "<<<2, 32>>>(i32[4])"), ("k: fine<2u, 3>", "<<<2, 32>>>(i32[4])"))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows without verdicts, labels, and PTX."""
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "k.ptx").write_text(PTX)
    lines = [HEAD, *(["own", name, "", "", launch, *[""] * 9] for name, launch in ROWS)]
    found = tmp_path / "rows.tsv"
    found.write_text("".join("\t".join(each) + "\n" for each in lines))
    monkeypatch.setattr(labelled_kernels, "DATA", found)
    return tmp_path


def judged(folder: Path, *options: str) -> tuple[int, list[dict[str, str]]]:
    """The status, and the rows after it."""
    labels, ptx = str(folder / "labels.csv"), str(folder)
    status = main(["--labels", labels, "--ptx", ptx, *options])
    return status, labelled_kernels.rows()


def test_both_verdicts_are_written(data: Path) -> None:
    assert judged(data)[0] == 0
    status, (wrong, right) = judged(data, "--launch")
    assert status == 0
    assert (wrong["verdict"], wrong["executed"]) == ("race", "race")
    assert (wrong["label"], wrong["class"], wrong["accesses"]) == ("wrong", "A", "1 of 1")
    assert wrong["shown"] == "race-write-write (line 6)"
    assert (right["verdict"], right["evidence"]) == ("proved", "no conflict")
    assert (right["executed"], right["shown"]) == ("no race in this launch", "2 schedules")


def test_a_contradiction_needs_a_note(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = data / "labels.csv"
    labels.write_text(LABELS.replace(",race,", ",race-free,"))
    assert judged(data, "--launch", "--only", "sums")[0] == 1
    assert "k: sums is right: , race" in capsys.readouterr().out
    rows = data / "rows.tsv"
    rows.write_text(rows.read_text().replace("1 of 1\t", "1 of 1\t").replace("\t\n", "\tnote\n"))
    assert judged(data, "--launch", "--only", "sums")[0] == 0


def test_a_file_that_is_missing_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "own" / "k.ptx").unlink()
    assert judged(data)[0] == 2
    assert "own: no k.ptx: compile it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("label", "verdict", "executed", "is_one"),
    [
        ("right", "race", "", True),
        ("right", "race under a condition", "no race in this launch", False),
        ("right", "proved", "hang", True),
        ("right", "proved", "race of equal values", True),
        ("wrong", "proved", "", True),
        ("wrong", "race", "no race in this launch", True),
        ("wrong", "not judged", "not judged", False),
    ],
)
def test_contradictions(label: str, verdict: str, executed: str, is_one: bool) -> None:
    row = {"label": label, "verdict": verdict, "executed": executed}
    assert contradicts(row) is is_one


def test_names() -> None:
    assert short_name("plain") == "plain"
    assert short_name("_Z3fooPi") == "foo"
