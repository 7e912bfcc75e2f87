"""The built site: every link and file of its pages is there, and its programs run in a browser."""

import json
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fencewright.tools.dev.pages import site

MINUTES = 60_000
"""In milliseconds; on a busy machine Python takes one to start in a browser."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as ``make site`` does; skips without what npm has to fetch."""
    try:
        site.pyodide()
    except site.SiteError as problem:
        if "CI" in os.environ:
            raise
        pytest.skip(f"needs the npm package pyodide: {problem}")
    folder = tmp_path_factory.mktemp("site")
    assert site.main(["--to", str(folder)]) == 0
    return folder / "html"


# Files


class References(HTMLParser):
    """What a page points to, and the names that it can be pointed to by."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.names.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and "href" in given:
            self.loaded.append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(html: Path) -> None:
    pages = {
        path: References(path.read_text(encoding="utf-8"))
        for path in html.rglob("*.html")
        if path.name != "404.html"
    }
    assert len(pages) > 50
    for path, page in pages.items():
        for link in page.loaded:
            assert not re.match(r"(https?:)?//", link), (path, link)
        for link in page.links + page.loaded:
            if link.startswith(("https://", "http://")):
                continue
            place, anchor = urldefrag(link)
            target = (path.parent / unquote(place)).resolve() if place else path
            assert target.is_file() or (target / "index.html").is_file(), (path, link)
            if anchor and target in pages and not anchor.startswith("__"):
                assert unquote(anchor) in pages[target].names, (path, link)


def test_llms_txt_leads_to_pages_as_markdown(html: Path) -> None:
    text = (html / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*\.md)\)", text)
    assert len(links) > 40
    for link in links:
        assert (html / link).read_text(encoding="utf-8").count("\n# ") <= 1
        assert (html / link).with_suffix(".html").is_file()


def test_the_button_of_every_session_copies_what_one_types(html: Path) -> None:
    blocks = [
        block
        for page in html.rglob("*.html")
        for block in re.findall(r'<div class="language-console highlight"[^>]*>', page.read_text())
    ]
    assert len(blocks) > 50
    assert [block for block in blocks if 'data-copy="' not in block or "$ " in block] == []


@pytest.mark.parametrize("anchor", ["here", "nowhere"])
def test_a_link_that_leads_nowhere_is_an_error(
    anchor: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a site of two pages, as all of it is built in the same way."""
    pages, html = tmp_path / "pages", tmp_path / "html"
    pages.mkdir()
    (pages / "index.md").write_text(f"# Home\n\n[there](start.md#{anchor})\n")
    (pages / "start.md").write_text("# Start\n\n## Here\n")

    def navigation(_index: str) -> list[dict[str, str]]:
        return [{"Home": "index.md"}, {"Start": "start.md"}]

    monkeypatch.setattr(site, "navigation", navigation)
    if anchor == "here":
        site.build(pages, html)
        assert (html / "start.html").is_file()
        return
    with pytest.raises(site.SiteError, match="MkDocs has warnings"):
        site.build(pages, html)
    assert "'start.md#nowhere'" in capsys.readouterr().err


def test_what_the_browser_loads_needs_nothing_that_is_not_python(html: Path) -> None:
    with zipfile.ZipFile(html / "try" / "packages.zip") as packed:
        names = packed.namelist()
    assert "fencewright/tools/fence_opt.py" in names
    assert [each for each in names if each.endswith((".so", ".pyd", ".dylib"))] == []
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {"llvmlite", "numpy", "rich"}


# In a browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("needs chromium (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    """Where a server on this machine serves the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=html)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page "Try it"; whatever it fails to load or logs as an error fails the test."""
    wrong: list[str] = []
    context = browser.new_context()
    made = context.new_page()
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    made.on("requestfailed", lambda request: wrong.append(request.url))
    made.on("request", lambda asked: None if local(asked.url, address) else wrong.append(asked.url))
    made.goto(f"{address}/try.html")
    expect(made.locator("#try[data-ready]")).to_be_visible()
    yield made
    context.close()
    assert wrong == []


def local(url: str, address: str) -> bool:
    return url.startswith((address, f"blob:{address}", "data:"))


def without_times(text: str) -> str:
    return re.sub(r"\b\d+\.\d+ s\b", "", text)


def run_it(page: Page) -> tuple[int, str]:
    """Press "Run"; the status and the output, once it has ended."""
    page.locator("#try-run").click()
    expect(page.locator("#try-state")).to_contain_text("in this browser", timeout=4 * MINUTES)
    status = page.locator("#try").get_attribute("data-status")
    return int(status or "-1"), page.locator("#try-output").text_content() or ""


def test_every_example_prints_in_the_browser_what_it_printed_here(page: Page, html: Path) -> None:
    examples: list[dict[str, Any]] = json.loads((html / "try" / "examples.json").read_text())
    assert len(examples) > 6
    drawn = 0
    for each in examples:
        page.locator("#try-example").select_option(each["title"])
        here = each["result"]
        assert without_times(page.locator("#try-output").text_content() or "") == without_times(
            here["stdout"] + here["stderr"]
        )
        expect(page.locator("#try-picture img")).to_have_count(len(here["pictures"]))
        status, output = run_it(page)
        assert status == here["status"], (each["title"], output)
        assert without_times(output) == without_times(here["stdout"] + here["stderr"])
        for picture in page.locator("#try-picture img").all():
            expect(picture).to_be_visible()
            assert picture.evaluate("image => image.complete && image.naturalWidth > 300")
            drawn += 1
    assert drawn == sum(len(each["result"]["pictures"]) for each in examples) == 1


def test_what_one_types_is_what_runs(page: Page) -> None:
    page.locator("#try-text").fill(
        "func.func @f() {\n  scoped.fence relaxed agent\n  func.return\n}"
    )
    page.locator("#try-command").fill("fence-opt message_passing.mlir --mcpu sm_90 -t asm")
    status, output = run_it(page)
    assert status == 2
    assert output.startswith("message_passing.mlir:2:")
    assert "a fence weaker than acquire orders nothing" in output
    page.locator("#try-text").fill(
        "func.func @f() attributes {gpu.kernel} {\n  scoped.fence seq_cst agent\n  func.return\n}"
    )
    status, output = run_it(page)
    assert (status, output.count("fence.sc.gpu;")) == (0, 1)
    page.locator("#try-command").fill("rm -rf /")
    status, output = run_it(page)
    assert (status, output.startswith("error: no program 'rm'")) == (2, True)


def test_what_takes_too_long_can_be_stopped(page: Page) -> None:
    threads = "\n".join(
        f"litmus.thread @P{each} at <workgroup = {each}, xcd = {each}> {{\n"
        + "%x = litmus.address @x : !llvm.ptr<1>\n%y = litmus.address @y : !llvm.ptr<1>\n"
        + "%v = arith.constant 1 : i32\n"
        + "scoped.store relaxed agent %v, %x : i32, !llvm.ptr<1>\n" * 4
        + "scoped.store relaxed agent %v, %y : i32, !llvm.ptr<1>\n" * 4
        + "}"
        for each in range(6)
    )
    head = "litmus.test @t {\nlitmus.location @x = 0 : i32\nlitmus.location @y = 0 : i32\n"
    condition = 'litmus.condition "exists (x = 1)"\n}'
    page.locator("#try-text").fill(f"{head}{threads}\n{condition}")
    page.locator("#try-command").fill("fence-sim run message_passing.mlir --mcpu gfx942")
    page.locator("#try-run").click()
    expect(page.locator("#try-state")).to_have_text("running", timeout=4 * MINUTES)
    page.wait_for_timeout(1000)
    expect(page.locator("#try-state")).to_have_text("running")
    page.locator("#try-run").click()
    expect(page.locator("#try-state")).to_have_text("stopped")
    expect(page.locator("#try-run")).to_have_text("Run")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_scrolls_sideways(browser: Browser, address: str, html: Path, width: int) -> None:
    made = browser.new_page(viewport={"width": width, "height": 900})
    wide: list[str] = []
    for path in sorted(html.glob("*.html")):
        made.goto(f"{address}/{path.name}")
        if made.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path.name)
    made.close()
    assert wide == []


def test_a_picture_has_its_own_size_and_a_click_shows_it(browser: Browser, address: str) -> None:
    """Text of pictures has 12 pixels at 100 %: no page makes it smaller."""
    made = browser.new_page(viewport={"width": 1280, "height": 900})
    made.goto(f"{address}/pictures.html")
    for picture in made.locator("a.picture").all():
        shown = picture.locator("img")
        sizes = shown.evaluate(
            "image => image.decode().then(() => [image.width, image.naturalWidth])"
        )
        assert sizes[0] == sizes[1]
        assert picture.evaluate("link => link.scrollWidth <= link.clientWidth")
        assert (picture.get_attribute("href") or "").endswith(".svg")
    made.locator("a.picture").first.click()
    expect(made).to_have_url(re.compile(r"images/graph\.svg$"))
    made.close()


def test_an_option_is_on_one_line(browser: Browser, address: str) -> None:
    made = browser.new_page(viewport={"width": 390, "height": 844})
    made.goto(f"{address}/for-checkers.html")
    option = made.locator("p > code", has_text="--fail-on warning").first
    assert option.evaluate("code => code.getClientRects().length") == 1
    made.close()


def test_the_start_page_can_be_read_and_searched(browser: Browser, address: str) -> None:
    made = browser.new_page()
    made.goto(f"{address}/index.html")
    expect(made.get_by_role("heading", name="Fencewright", exact=False).first).to_be_visible()
    picture = made.locator("article img").first
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    # The page hears of what is typed only after its script has the index.
    made.wait_for_load_state("networkidle", timeout=MINUTES)
    made.get_by_role("textbox", name="Search").press_sequentially("buffer_wbl2", delay=200)
    expect(made.locator(".md-search-result__item").first).to_be_visible(timeout=MINUTES)
    made.close()
