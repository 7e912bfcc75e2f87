"""How pages are staged for the site, and how programs run for a page; tests/site builds it."""

import html
import importlib.util
import json
import re
from pathlib import Path, PurePosixPath

import markdown
import pytest

from fencewright.tools.dev.pages.copied import typed_in, with_copies
from fencewright.tools.dev.pages.site import (
    HOME,
    INDEX,
    SiteError,
    examples,
    llms_txt,
    navigation,
    place_of,
    sections,
    source_page,
    stage,
    staged_text,
)
from fencewright.tools.embedded import in_browser

ROOT = Path(__file__).parents[2]


# Pages


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("README.md", "index.md"),
        ("docs/README.md", "pages.md"),
        ("docs/scoped.md", "scoped.md"),
        ("docs/reference/README.md", "reference/index.md"),
        ("docs/images/house.svg", "images/house.svg"),
        ("CONTRIBUTING.md", "contributing.md"),
        ("lowering/ptx/performance/accesses.py", "source/lowering/ptx/performance/accesses.py.md"),
        ("LICENSE", "source/LICENSE.md"),
    ],
)
def test_every_file_has_its_place(path: str, place: str) -> None:
    assert str(place_of(PurePosixPath(path))) == place
    spec = importlib.util.spec_from_file_location("fencewright_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    built = re.sub(r"\.md$", ".html", place)
    if path != str(HOME):
        assert setup.address_of(f"{path}#x", "https://a.org/f/") == f"https://a.org/f/{built}#x"


def test_links_are_led_to_where_things_are() -> None:
    text, found = staged_text(
        PurePosixPath("docs/reference/costs.md"),
        "[rows](../../lowering/ptx/performance/costs.py), [`a`](../scoped.md#x), [b](README.md), [c](#here),\n"
        "[d](https://llvm.org), ![e](../images/house.svg), `[f](../scoped.md)`\n\n"
        "```text\n[g](../scoped.md)\n```\n",
    )
    assert text == (
        "[rows](../source/lowering/ptx/performance/costs.py.md), [`a`](../scoped.md#x), [b](index.md), [c](#here),\n"
        "[d](https://llvm.org), ![e](../images/house.svg), `[f](../scoped.md)`\n\n"
        "```text\n[g](../scoped.md)\n```\n"
    )
    assert found == {
        PurePosixPath("lowering/ptx/performance/costs.py"),
        PurePosixPath("docs/scoped.md"),
        PurePosixPath("docs/reference/README.md"),
        PurePosixPath("docs/images/house.svg"),
    }


def test_a_file_as_text_becomes_the_title_of_its_page() -> None:
    text, _ = staged_text(HOME, "See [docs/scoped.md](docs/scoped.md) and [it](docs/scoped.md).")
    assert text == "See [The scoped dialect](scoped.md) and [it](scoped.md)."


def test_a_link_to_a_folder_is_an_error() -> None:
    with pytest.raises(SiteError, match="links to examples, which is no file"):
        source_page(PurePosixPath("examples"))


def test_every_page_is_staged_and_has_its_place_in_the_navigation(tmp_path: Path) -> None:
    pages = stage(tmp_path / "pages")
    written = {path.relative_to(tmp_path / "pages") for path in (tmp_path / "pages").rglob("*.md")}
    assert written == {Path(place_of(each)) for each in pages}
    named = set(re.findall(r"'([\w/-]+\.md)'", str(navigation((ROOT / INDEX).read_text()))))
    assert named == {str(each) for each in written if each.parts[0] != "source"}


def test_llms_txt_has_every_page_of_the_index(tmp_path: Path) -> None:
    pages = stage(tmp_path / "pages")
    index = (ROOT / INDEX).read_text()
    text = llms_txt(index, pages, "> A summary")
    assert text.startswith(
        "# Fencewright\n\n> A summary\n\n## Start\n\n- [Start](start.md): install "
    )
    links = re.findall(r"\]\(([^)]*)\)", text)
    listed = [
        place_of(page) for each in sections(index) for pair in each.entries for page in pair[0]
    ]
    assert links == [str(each) for each in listed]
    assert len(links) > 40


# Programs


def test_a_program_runs_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "examples/litmus/message_passing.mlir").read_text()
    ran = in_browser.run(
        "fence-sim run 'x y.mlir' --mcpu gfx942 --without buffer_inv", "x y.mlir", text
    )
    assert ran.status == 1
    assert "Observation message_passing Sometimes 1 1" in ran.stdout
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []
    drawing = "fence-sim timeline x.mlir --mcpu gfx942 --without buffer_inv -o t.svg"
    answer = json.loads(in_browser.run_as_json(drawing, "x.mlir", text))
    (picture,) = answer["pictures"]
    assert picture["name"] == "t.svg"
    assert "</svg>" in picture["svg"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ls x", "error: no program 'ls'; there are fence-opt, fence-sim, "),
        ("", "error: no program ''; there are "),
        ("fence-opt 'x", "error: No closing quotation\n"),
        ("fence-opt y.mlir", "y.mlir: error: No such file or directory\n"),
    ],
)
def test_what_cannot_run_is_one_line(command: str, said: str) -> None:
    ran = in_browser.run(command, "x.mlir", "")
    assert ran.status in (1, 2)
    assert ran.stdout == ""
    assert ran.stderr.startswith(said)
    assert ran.stderr.count("\n") == 1


def test_an_example_that_fails_is_an_error_of_the_site() -> None:
    rows = '[[example]]\ntitle = "x"\nfile = "LICENSE"\ncommand = "fence-sim run {file}"\n'
    with pytest.raises(SiteError, match="'fence-sim run LICENSE' ends with status 2: LICENSE"):
        examples(rows)


# Copy buttons

CONSOLE = "$ fence-opt x \\\n    -t asm | head -2\nout <put> & \"x\"\n$ echo 'a'\na\n"
PYTHON = ">>> for x in range(2):\n...     print(x)\n0\n1\n>>> x\n1\n"


@pytest.mark.parametrize(
    ("language", "text", "typed"),
    [
        ("console", CONSOLE, "fence-opt x \\\n    -t asm | head -2\necho 'a'"),
        ("python", PYTHON, "for x in range(2):\n    print(x)\nx"),
        ("python", "print(1)\n", None),
        ("sh", "make demo     # see\n", None),
        ("mlir", "func.func @f()\n", None),
    ],
)
def test_what_is_copied_is_what_one_types(language: str, text: str, typed: str | None) -> None:
    assert typed_in(language, text) == typed


def test_the_buttons_of_a_page_copy_what_one_types() -> None:
    options = {"pymdownx.highlight": {"pygments_lang_class": True}}
    sections = [
        f"```{name}\n{text}```" for name, text in (("console", CONSOLE), ("python", PYTHON))
    ]
    text = "\n\n".join([*sections, "```sh\nmake demo\n```"])
    plugins = ["pymdownx.highlight", "pymdownx.superfences"]
    page = markdown.markdown(text, extensions=plugins, extension_configs=options)
    copied = re.findall(
        r'<div class="language-(\w+) highlight"(?: data-copy="([^"]*)")?>', with_copies(page)
    )
    found = [(language, html.unescape(typed)) for language, typed in copied]
    console, python = (typed_in(*each) for each in (("console", CONSOLE), ("python", PYTHON)))
    assert found == [("console", console), ("python", python), ("sh", "")]
    assert "pygments_lang_class: true" in (ROOT / "mkdocs.yml").read_text()


def test_a_picture_by_itself_is_a_link_to_the_whole_of_it() -> None:
    text, _ = staged_text(
        PurePosixPath("docs/pictures.md"), "a ![b](images/graph.svg)\n\n![c](images/graph.svg)\n"
    )
    assert (
        text
        == "a ![b](images/graph.svg)\n\n[![c](images/graph.svg)](images/graph.svg){ .picture }\n"
    )
