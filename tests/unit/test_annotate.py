"""fence-check --annotate: what each synchronisation instruction is for, as text and as a page."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.tools import fence_check
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "lit" / "tools" / "fence-check"
FILES = sorted((*SAMPLES.glob("*.s"), *SAMPLES.glob("*.ptx")))

GOOD = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.type\tk,@function
k:
\tglobal_store_dword v[0:1], v2, off
\tbuffer_wbl2 sc1
\ts_waitcnt vmcnt(0)
\tglobal_store_dword v[4:5], v6, off sc1
\tds_read_b32 v7, v8
\tglobal_load_dword v9, v[4:5], off sc1
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tbuffer_inv sc1
\tglobal_load_dword v3, v[0:1], off
\ts_waitcnt vmcnt(0)
\tv_mov_b32_e32 v2, v3
\ts_barrier
\ts_endpgm
"""


def annotated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, name: str = "k.s"
) -> tuple[int, dict[int, list[str]]]:
    """The status, and the comments by the line that they are about."""
    path = tmp_path / name
    path.write_text(text)
    status = fence_check.main(["--annotate", str(path)])
    out, err = capsys.readouterr()
    assert err == ""
    notes: dict[int, list[str]] = {}
    number = 0
    for line in out.splitlines():
        code, _, comment = line.partition("// " if name.endswith("ptx") else "; ")
        number += bool(code.strip()) or not comment
        if comment:
            notes.setdefault(number, []).append(comment)
    return status, notes


def test_each_is_said_to_order_what_it_orders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, notes = annotated(capsys, tmp_path, GOOD)
    assert status == 0
    assert notes == {
        5: ["begins to write back what line 4 stored"],
        6: ["waits for the store of line 4, the write-back of line 5"],
        7: ["store release agent; pending at system: line 4"],
        9: notes[9],
        10: ["waits for the loads of lines 8, 9, the store of line 7"],
        11: ["keeps later reads from what the caches have from before lines 8, 9"],
        13: ["waits for the load of line 12"],
        15: notes[15],
    }
    assert notes[9][0].startswith("load acquire agent; may be older at system: ")
    assert notes[15][0].startswith("barrier ")


def test_what_is_missing_and_what_can_go_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, notes = annotated(
        capsys, tmp_path, GOOD.replace("vmcnt(0)\n\tv_mov", "lgkmcnt(0)\n\tv_mov")
    )
    assert status == 1
    assert notes[14][0].startswith("error: v3 is used while the load of line 12")
    assert notes[13][0].startswith("surplus: s_waitcnt lgkmcnt(0) is redundant")


def test_of_a_wait_that_can_go_in_part_both_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = GOOD.replace("\tds_read_b32 v7, v8\n", "\tv_nop\n")
    _, notes = annotated(capsys, tmp_path, text)
    purpose, surplus = notes[10]
    assert purpose == "waits for the load of line 9, the store of line 7"
    assert surplus.startswith("surplus: s_waitcnt lgkmcnt(0) is redundant")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_comments_change_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, path: Path
) -> None:
    status = fence_check.main([str(path), "--annotate"])
    out, _ = capsys.readouterr()
    again = tmp_path / path.name
    again.write_text(out)
    expected = [line.partition(" -> ")[0] for line in lifted(capsys, path)]
    assert [line.partition(" -> ")[0] for line in lifted(capsys, again)] == expected
    assert fence_check.main([str(again)]) == status


@pytest.mark.skipif(find_llvm_tool("llvm-mc") is None, reason=LLVM_HINT)
def test_llvm_assembles_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assembler = find_llvm_tool("llvm-mc")
    assert assembler is not None
    (tmp_path / "k.s").write_text(GOOD)
    fence_check.main([str(tmp_path / "k.s"), "--annotate"])
    made = [
        subprocess.run(
            [assembler, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj"],
            input=text.encode(), capture_output=True, check=True,
        ).stdout
        for text in (GOOD, capsys.readouterr().out)
    ]  # fmt: skip
    assert made[0] == made[1]


def lifted(capsys: pytest.CaptureFixture[str], path: Path) -> list[str]:
    """What the accesses of a file are, without their lines."""
    fence_check.main(["--lift", str(path)])
    out = capsys.readouterr().out.replace(str(path), "")
    return [re.sub(r"^:\d+: ", "", each) for each in out.splitlines() if " -> " in each]


@pytest.mark.parametrize(
    "path", [each for each in FILES if each.suffix == ".s"], ids=lambda p: p.name
)
def test_no_wait_and_no_maintenance_is_without_a_note(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    fence_check.main([str(path), "--annotate"])
    lines = capsys.readouterr().out.splitlines()
    functions = read_assembly(path.read_text()).functions.values()
    instructions = [each for function in functions for each in function.instructions]
    names = ("s_waitcnt", "s_barrier", "buffer_inv", "buffer_wbl2")
    wanted = [each.text for each in instructions if each.mnemonic in names]
    noted = [line.partition("; ")[0].strip() for line in lines if "; " in line]
    for each in wanted:
        assert noted.count(each) >= wanted.count(each)


# The page


class Page(HTMLParser):
    """What a page has in it; fails for tags that are not closed in their order."""

    EMPTY = ("meta",)

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.kinds: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.attributes += attrs
        self.ids += [known["id"] or ""] if "id" in known else []
        self.links += [known["href"] or ""] if "href" in known else []
        self.kinds += [known["class"] or ""] if "class" in known else []
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words += data


def written(tmp_path: Path, text: str) -> Path:
    """The page of some assembly."""
    path, page = tmp_path / "a<b>.s", tmp_path / "k.html"
    path.write_text(text)
    assert fence_check.main(["--annotate", str(path), "-o", str(page)]) == 1
    return page


BAD = GOOD.replace("\ts_waitcnt vmcnt(0)\n\tv_mov", "\ts_waitcnt lgkmcnt(0)\n\tv_mov") + "; <b>&\n"


def test_the_page_stands_by_itself(tmp_path: Path) -> None:
    text = written(tmp_path, BAD).read_text()
    page = Page(text)
    assert page.ids == [f"L{number}" for number in range(1, BAD.count("\n") + 1)]
    assert set(page.links) <= {f"#{each}" for each in page.ids}
    # The list at the begin has the error, as a link to its line.
    lines = BAD.splitlines()
    use = next(number for number, line in enumerate(lines, 1) if line.startswith("\tv_mov"))
    assert f'<ul>\n<li class="error"><p class="error"><a href="#L{use}">line {use}</a>' in text
    assert text.index("<ul>") < text.index("<ol>")
    assert "#L4" in page.links
    assert ("name", "viewport") in page.attributes
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)
    assert {"purpose", "surplus", "error"} <= set(page.kinds)
    assert "; <b>&" in page.words
    assert "gfx942: 1 errors, 0 warnings, 1 surplus" in page.words
    assert "waits for the store of line 4, the write-back of line 5" in page.words


@pytest.mark.parametrize("broken", ["<p>", "</p>", "<div></li></div>"])
def test_a_broken_page_is_noticed(tmp_path: Path, broken: str) -> None:
    text = written(tmp_path, BAD).read_text()
    with pytest.raises((AssertionError, IndexError)):
        Page(text.replace("<ol>", broken + "<ol>"))


BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed")
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    assert BROWSER is not None
    page = written(tmp_path, BAD)
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=390,844", "--dump-dom")
    done = subprocess.run(
        [BROWSER, *options, page.as_uri()], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'id="L4"' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{k}", "{k}", "--annotate"), "--annotate is for one file"),
        (("{k}", "--annotate", "--cost"), "--cost has no effect"),
        (("{k}", "--annotate", "-o", "{d}"), "a folder, where a file is expected"),
        (("{k}", "--annotate", "-o", "/dev/full"), "/dev/full: error: No space left on device"),
        (("{k}", "--annotate", "--lift"), "--lift has no effect"),
        (("{k}", "--annotate", "--format", "json"), "--format has no effect"),
        (("{d}", "--annotate"), "--annotate is for files, not for a folder"),
        (("{k}", "--annotate", "-o", "{d}/no/x.html"), "no/x.html: error: there is no folder"),
        (("{d}/none.s", "--annotate"), "none.s: error: No such file"),
    ],
)
def test_what_does_not_go(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "k.s").write_text(GOOD)
    names = {"k": str(tmp_path / "k.s"), "d": str(tmp_path)}
    status = fence_check.main([each.format(**names) for each in arguments])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_stdin_is_annotated_for_the_launch_that_is_meant(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread has no race; a block of two has."""
    text = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 to)
{
 .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [to];
 mov.u32 %r1, %tid.x;
 st.global.u32 [%rd1], %r1;
 ret;
}
"""
    for block, said in (("1", ""), ("2", "// error: thread 1 of block 0 writes")):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
        asked = ["-", "--isolated", "--annotate", "--grid", "1", "--block", block]
        assert fence_check.main(asked) == bool(said)
        out = capsys.readouterr().out
        assert ("error" in out) == bool(said)
        assert said in out
