"""The documentation shows what happens, and has every flag and variable that there is."""

import os
import re
import shlex
import subprocess
import sys
from argparse import Action, ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest
from campaigns import some_of

from fencewright.tools import fence_check, fence_opt, fence_sim, fence_translate
from fencewright.tools.dev import update_docs
from fencewright.tools.dev.pages import doc_examples
from fencewright.tools.dev.pages.doc_examples import (
    ExampleError,
    examples_of,
    quick_programs,
    updated,
)
from fencewright.tools.dev.update_docs import main, pages_with_examples
from fencewright.universe import UNIVERSE

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in pages_with_examples(ROOT / "docs")}

NOT_RUN = {
    "README.md": 2,
    "docs/campaigns.md": 1,
    "docs/gpu-litmus.md": 3,
    "docs/museum.md": 1,
    "docs/pictures.md": 1,
    "docs/races.md": 3,
    "docs/remarks.md": 1,
    "docs/run-a-kernel.md": 2,
    "docs/start.md": 1,
    "docs/tools.md": 2,
    "docs/triton.md": 3,
}
"""How many examples are marked as not to be run."""

TOOLS: dict[str, Callable[[list[str]], int]] = {
    "fence-check": fence_check.main,
    "fence-opt": fence_opt.main,
    "fence-sim": fence_sim.main,
    "fence-translate": fence_translate.main,
}

# Examples


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    with quick_programs() as folder:
        yield folder


@pytest.mark.parametrize(
    "name", some_of([name for name in PAGES if "```" in PAGES[name].read_text()], 6)
)
def test_examples_do_what_the_pages_show(name: str, programs: Path) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    now = updated(PAGES[name], text, programs)
    assert now.splitlines() == text.splitlines(), "read the diff of 'make docs'"


def test_what_is_not_run_is_counted_and_has_a_reason() -> None:
    marked = Counter[str]()
    for name, page in PAGES.items():
        for example in examples_of(page, page.read_text(encoding="utf-8")):
            if "not run" in example.directives:
                assert len(example.directives["not run"].split()) > 2
                marked[name] += 1
    assert marked == NOT_RUN


def commands_of_ours() -> Iterator[tuple[str, str, str]]:
    for name, page in PAGES.items():
        for example in examples_of(page, page.read_text(encoding="utf-8")):
            for command in example.commands() if example.language in ("console", "sh") else ():
                tool = command.partition(" ")[0]
                if tool in TOOLS:
                    yield name, tool, command


def test_commands_that_are_not_run_can_be() -> None:
    """As far as their flags: ``run-gpu`` and its like are commands of ``fence-sim`` too."""
    parser = parser_of("fence-sim")
    found = [command for _, tool, command in commands_of_ours() if tool == "fence-sim"]
    assert len(found) > 8
    for command in found:
        words = shlex.split(command.partition("#")[0].partition(" | ")[0])
        assert parser.parse_args(words[1:]).command in command


def test_no_command_stands_outside_the_blocks_that_are_run() -> None:
    indented = re.compile(r"^ {4,}\$? ?(?:fence-|xdsl-opt|make |pip |python|llvm-)", re.MULTILINE)
    for page in PAGES.values():
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert indented.findall(text) == [], page


# What the pages point to

FOLDERS = "benchmarks|certificates|checker|docs|examples|fencewright|lowering|mlir_dialects|passes"
PATH = re.compile(rf"`((?:{FOLDERS}|simulator|tests|tools)/[\w./-]*)(?: (\w+))?`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    page = PAGES[name]
    for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("name", PAGES)
def test_every_file_and_function_that_a_page_names_is_there(name: str) -> None:
    replaced = (ROOT / "tests/data/verdicts/replaced.tsv").read_text(encoding="utf-8")
    for path, function in PATH.findall(PAGES[name].read_text(encoding="utf-8")):
        if f"\n{path}\t" in replaced:
            assert not (ROOT / path).exists(), path
            continue
        assert (ROOT / path).exists(), path
        definition = rf"^(?:def |class )?{function}\b"
        assert not function or re.search(definition, (ROOT / path).read_text(), re.M), function


def test_every_room_stands_on_the_page_of_the_architecture() -> None:
    table = PAGES["docs/architecture.md"].read_text(encoding="utf-8")
    rooms = set(re.findall(r"^\| `([\w/]+)` \|", table, re.M))
    layering = (ROOT / "tests/unit/test_layering.py").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^MAY_IMPORT = \{\n(.*?)^\}", layering, re.M | re.S)
    assert rooms == set(re.findall(r'^    "([\w/]+)": ', listed, re.M))


@pytest.mark.parametrize(
    ("dialect", "pages"),
    [
        ("cdna", ("cdna",)),
        ("litmus", ("litmus",)),
        ("ptx", ("ptx",)),
        ("scoped", ("scoped", "async")),
    ],
)
def test_every_operation_stands_on_the_page_of_its_dialect(
    dialect: str, pages: tuple[str, ...]
) -> None:
    text = "".join(PAGES[f"docs/{page}.md"].read_text(encoding="utf-8") for page in pages)
    names = {each.name for each in UNIVERSE.all_dialects[dialect]().operations}
    assert {name for name in names if not re.search(rf"\b{name}\b", text)} == set()


def test_every_page_stands_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = {(ROOT / "docs" / link).resolve() for link in LINK.findall(index)}
    pages = {path.resolve() for path in (ROOT / "docs").glob("*.md")} - {ROOT / "docs/README.md"}
    assert pages - listed == set()


# How examples are run


def page(*lines: str) -> str:
    return "\n".join(("# A page", "", *lines, "", "The end.", ""))


def test_an_output_that_is_stale_is_written_anew() -> None:
    text = page("```console", "$ echo one; echo two", "three", "$ exit 1", "$ echo $?", "```")
    now = page(
        "```console", "$ echo one; echo two", "one", "two", "$ exit 1", "$ echo $?", "1", "```"
    )
    assert updated(Path("x.md"), text) == now
    assert updated(Path("x.md"), now) == now


def test_an_output_stays_as_short_as_it_was() -> None:
    def shown(*lines: str) -> str:
        return page("```console", "$ seq 9", *lines, "```")

    right = shown("1", "2", "...", "9")
    assert updated(Path("x.md"), right) == right
    assert updated(Path("x.md"), shown("1", "3", "...", "8")) == right
    assert updated(Path("x.md"), shown("...", "7", "8")) == shown("...", "8", "9")


def test_seconds_are_not_news() -> None:
    text = page("```console", "$ echo Time x 0.25 s, 3 states", "Time x 9.75 s, 3 states", "```")
    assert updated(Path("x.md"), text) == text
    changed = text.replace("9.75 s, 3", "9.75 s, 4")
    assert updated(Path("x.md"), changed) == text.replace("9.75", "0.25")


def test_a_session_of_python_is_written_anew() -> None:
    def shown(*answer: str) -> str:
        return page("```python", ">>> for each in range(2):", "...     print(each)", *answer, "```")

    assert updated(Path("x.md"), shown("5")) == shown("0", "1")
    assert updated(Path("x.md"), shown()) == shown("0", "1")


def test_blocks_of_a_page_run_in_one_folder() -> None:
    block = ("<!-- file: x.txt -->", "```mlir", "func.func @f() {", "  func.return", "}", "```")
    before = "<!-- before: mkdir made -->"
    text = page(*block, before, "```sh", "test -f x.txt && test -d made && ls examples", "```")
    assert updated(Path("x.md"), text) == text


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("```sh", "false", "```"), "false: status 1"),
        (("```console", "$ no-such-command", "```"), "no-such-command: status 127"),
        (("```console", "output of nothing", "```"), "begins with no command"),
        (("```python", "1 / 0", "```"), "ZeroDivisionError"),
        (("```python", ">>> 1 / 0", "```"), "ZeroDivisionError"),
        (("```mlir", "scoped.fence relaxed agent", "```"), "a fence"),
        (("```cobol", "```"), "a block of none of the languages console, sh, python, mlir"),
        (("```toml", "a = ", "```"), "no toml: "),
        (("```yaml", "a: [", "```"), "no yaml: "),
        (("<!-- no run: never -->", "```sh", "```"), "unknown directive 'no run'"),
        (("<!-- before: false -->", "```sh", "true", "```"), "before it: false"),
    ],
)
def test_an_example_that_fails_is_told_with_its_place(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ExampleError, match=re.escape(message)) as failure:
        updated(Path("x.md"), page(*lines))
    assert (
        failure.value.place == f"x.md:{3 + lines.index(next(x for x in lines if '```' in x)) + 1}"
    )


def test_what_is_marked_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page("<!-- not run: it fails always -->", "```sh", "false", "```")
    assert updated(Path("x.md"), text) == text
    text = page("<!-- needs: llc -->", "```sh", "false", "```")
    monkeypatch.setattr(doc_examples, "find_llvm_tool", dict[str, str]().get)
    assert updated(Path("x.md"), text) == text


def test_make_docs_says_what_failed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    programs: Path,
) -> None:
    monkeypatch.setattr(update_docs, "quick_programs", lambda: nullcontext(programs))
    monkeypatch.setattr(update_docs, "PAGES", {})
    monkeypatch.setattr(update_docs, "PARTS", {})
    docs = tmp_path / "docs"
    docs.mkdir()
    readme = tmp_path / "README.md"
    readme.write_text(page("```console", "$ echo now", "then", "```"))
    failing = docs / "x.md"
    failing.write_text(page("```sh", "false", "```"))
    assert main(["--docs", str(docs)]) == 1
    out, err = capsys.readouterr()
    assert out.endswith(f"wrote {readme}\n")
    assert err == f"{failing}:4: error: false: status 1:\n"
    assert readme.read_text() == page("```console", "$ echo now", "now", "```")


# Flags and variables

HELP = {"--help"}
COMMAND_PAGES = {
    "run": "docs/litmus.md",
    "convert": "docs/litmus.md",
    "run-gpu": "docs/gpu-litmus.md",
    "graph": "docs/pictures.md",
    "timeline": "docs/pictures.md",
    "access": "docs/access.md",
    "traffic": "docs/traffic.md",
    "explain": "docs/tools.md",
    "certify": "docs/tools.md",
    "fuzz": "docs/tools.md",
}


class _ParserSeen(Exception):
    """Ends a tool when its parser is complete."""


def parser_of(tool: str) -> ArgumentParser:
    """The parser that a tool parses its command line with."""
    seen: list[ArgumentParser] = []

    def see(self: ArgumentParser, *_: object, **__: object) -> Namespace:
        seen.append(self)
        raise _ParserSeen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "parse_args", see)
        TOOLS[tool]([])
    return seen[0]


def actions(parser: ArgumentParser) -> list[Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage]  # argparse tells no other way


def documented() -> Iterator[tuple[str, Action]]:
    """Each option with the page that has to have it."""
    for tool in ("fence-opt", "fence-translate"):
        yield from (("docs/tools.md", action) for action in actions(parser_of(tool)))
    for action in actions(parser_of("fence-sim")):
        yield "docs/tools.md", action
        if action.dest == "command":
            for command, parser in cast("dict[str, ArgumentParser]", action.choices).items():
                yield from ((COMMAND_PAGES[command], each) for each in actions(parser))


def test_every_flag_stands_on_a_page() -> None:
    missing: list[str] = []
    options = [(page, action.option_strings) for page, action in documented()]
    assert len(options) > 100
    for page, names in options:
        text = PAGES[page].read_text(encoding="utf-8")
        if not names or HELP.intersection(names):
            continue
        if not any(re.search(rf"(?<![\w-]){name}(?![a-z-])", text) for name in names):
            missing.append(f"{page}: {', '.join(names)}")
    assert missing == []


def test_every_variable_of_the_environment_stands_on_a_page() -> None:
    folders = ("fencewright", "benchmarks", "lowering", "passes", "simulator", "tests", "tools")
    files = [path for folder in folders for path in (ROOT / folder).glob("**/*.py")]
    used = {
        name
        for path in (*files, ROOT / "Makefile", ROOT / ".ci" / "run")
        if path != Path(__file__)
        for name in re.findall(r"FENCEWRIGHT_[A-Z_]+", path.read_text(encoding="utf-8"))
    }
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES.values())
    assert len(used) > 4
    assert {name for name in used if name not in text} == set()


@pytest.mark.parametrize("tool", TOOLS)
def test_the_version_is_fencewrights(tool: str) -> None:
    command = [Path(sys.executable).with_name(tool), "--version"]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"Fencewright \d+\.\d+\.\d+, built on xDSL \d+\.\d+\.\d+\n", done.stdout)
