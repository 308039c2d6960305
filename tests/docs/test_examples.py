"""The programs of docs/examples, run as they are on a site on loopback."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import runpy
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from sitemapreader import FetchOptions
from tests.support import package
from tests.support.clock import DAY, SetClock
from tests.support.commands import serving, write_program
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow  # each imports large libraries, in a process of its own

FOLDER = package.ROOT / "docs" / "examples"
PROGRAMS = sorted(FOLDER.glob("*.py"))
PAGES = ("birds/geese", "birds/herons", "about")


def make_page(name: str, words: str = "come from the north each winter") -> bytes:
    text = f"The {name} {words}, and nobody knows how many there are of them this year."
    head = f"<!doctype html><html><head><title>{name}</title></head>"
    return (
        f"{head}<body><main><h1>{name}</h1><p>{text}</p></main></body></html>".encode()
    )


def make_site(day: int = 1, **changes: Any) -> dict[str, Any]:
    """Make a site of three pages, of which the first changes each day."""
    pages = {f"/{name}": make_page(name) for name in PAGES}
    first, *others = (f"HOST/{name}" for name in PAGES)
    sitemap = urlset((first, f"2026-03-0{day}"), *others)
    maps = {
        "/robots.txt": b"Sitemap: HOST/sitemap.xml\n",
        "/sitemap.xml": sitemap,
    }
    return maps | pages | {f"/{name}": page for name, page in changes.items()}


@pytest.fixture
def site() -> Iterator[tuple[dict[str, Any], str]]:
    pages = make_site()

    async def answer(request: web.Request) -> web.Response:
        page = pages.get(request.path, 404)
        if isinstance(page, int):
            return web.Response(status=page)
        if isinstance(page, str):
            return web.Response(status=301, headers={"Location": page})
        body = page.replace(b"HOST", f"http://{request.host}".encode())
        is_page = body.startswith(b"<!doctype")
        return web.Response(
            body=body, content_type="text/html" if is_page else "text/xml"
        )

    with serving(answer) as (base,):
        yield pages, base


def run_example(name: str, folder: Path, *words: str, code: int = 0) -> str:
    """Run a program, with warnings as errors; return what it prints."""
    path = FOLDER / f"{name}.py"
    for library in re.findall(
        r"^(?:import|from) ([\w.]+)", path.read_text("utf-8"), re.MULTILINE
    ):
        pytest.importorskip(library, reason=f"no {library}: pip install -e '.[dev]'")
    command = [sys.executable, "-W", "error", str(path), *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def run_here(name: str, folder: Path, *words: str, code: int = 0) -> str:
    """Run a program as `run_example` does, but in this process, which has imported its libraries.

    They take half a second; that the program runs as one of its own is shown once.
    """
    pytest.importorskip("trafilatura", reason="no trafilatura: pip install -e '.[dev]'")
    printed, errors = StringIO(), StringIO()
    found: object = 0
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(sys, "argv", [f"{name}.py", *words])
        with redirect_stdout(printed), redirect_stderr(errors):
            try:
                runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
            except SystemExit as end:
                found = end.code
    assert (1 if isinstance(found, str) else found or 0) == code, errors.getvalue()
    return printed.getvalue()


def test_seo(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """It counts the URLs of each folder, and writes a row for each finding."""
    printed = run_example("seo", tmp_path, site[1], "findings.csv")
    assert re.search(r"^/birds/ +2 .* 0\.5$", printed, re.MULTILINE)
    with (tmp_path / "findings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "response-no-validator" in {row["rule"] for row in rows}
    assert f"{len(rows)} findings" in printed


class Index:
    """The index of a site that `rag_index.py` keeps."""

    def __init__(self, base: str, path: Path) -> None:
        # imports more than a second takes
        self.program = runpy.run_path(str(FOLDER / "rag_index.py"))
        self.base = base
        self.path = path
        self.stale: dict[str, str] = {}
        """Path -> why the last run has left it as it was."""

    def update(self, **filters: Any) -> tuple[set[str], dict[str, str]]:
        """Run the program; return the paths that wait, and those of copies."""
        _, run = asyncio.run(self.program["update"](self.base, self.path, **filters))
        self.stale = {
            url.removeprefix(self.base): why for url, why in run.stale.items()
        }
        waiting = {url.removeprefix(self.base) for url in run.waiting}
        copies = {
            url.removeprefix(self.base): first.removeprefix(self.base)
            for url, first in run.copies.items()
        }
        return waiting, copies

    def texts(self) -> dict[str, str]:
        """Return the texts of the index by path."""
        with closing(self.program["open_index"](self.path)) as index:
            rows = index.execute("SELECT url, text FROM chunk").fetchall()
        return {url.removeprefix(self.base): text for url, text in rows}


@pytest.fixture
def index(site: tuple[dict[str, Any], str], tmp_path: Path) -> Index:
    for library in ("trafilatura",):
        pytest.importorskip(library, reason=f"no {library}: pip install -e '.[dev]'")
    return Index(site[1], tmp_path / "index.db")


def test_rag_index(site: tuple[dict[str, Any], str], index: Index) -> None:
    """A question finds a page; a changed page is replaced, and no notice of maintenance stored."""
    pages, base = site
    folder, name = index.path.parent, index.path.name
    printed = run_example("rag_index", folder, "update", base, name)
    assert printed == "3 pages in the index; sitemaps read completely: True\n"
    first = run_example("rag_index", folder, "ask", "geese", name).splitlines()[0]
    assert first == f"{base}/birds/geese"
    closed = dict.fromkeys(PAGES, make_page("site", "is closed for a day"))
    pages.update(make_site(day=2, **closed))
    assert index.update() == ({"/birds/geese"}, {})
    assert not any("closed" in text for text in index.texts().values())
    moving = {PAGES[0]: make_page("geese", "stay where they are")}
    pages.update(make_site(day=3, **moving))
    index.update()
    assert "stay where they are" in index.texts()["/birds/geese"]


def test_the_command_line_of_rag_index(
    site: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    """It passes filters on, takes a host without a scheme, and has a help."""
    words = "update", site[1], "some.db", "--include", "/birds/*", "--exclude", "herons"
    assert run_here("rag_index", tmp_path, *words).startswith("1 pages in the index")
    host = site[1].removeprefix("http://")  # which speaks no https
    update = partial(run_here, "rag_index", tmp_path, "update")
    printed = update(host, "none.db", code=4)
    assert printed == "0 pages in the index; sitemaps read completely: False\n"
    assert "--language" in update("--help")


def test_rag_index_reports_failures_by_its_exit_code(
    site: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    """A scheduler knows if the sitemaps were read; a wrong use is explained in a line."""
    pages, base = site
    update = partial(run_here, "rag_index", tmp_path, "update", base)
    ask = partial(run_here, "rag_index", tmp_path, "ask")
    ask("geese", "some.db", code=2)
    assert not (tmp_path / "some.db").exists()
    update("some.db")
    ask("", "some.db", code=2)
    assert ask("AND NEAR", "some.db").startswith(base)
    update("some.db", "--include", "[", code=2)
    update("some.db")
    (tmp_path / "other.db").write_text("geese" * 1_000)
    update("other.db", code=1)
    index = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    index += "".join(
        f"<sitemap><loc>HOST/{name}.xml</loc></sitemap>" for name in ("few", "no")
    )
    pages["/few.xml"] = urlset("HOST/about")
    pages["/sitemap.xml"] = f"{index}</sitemapindex>".encode()
    assert update("some.db", code=3).endswith("sitemaps read completely: False\n")
    pages["/sitemap.xml"] = urlset()
    update("empty.db", code=1)
    pages.clear()
    update("none.db", code=1)
    pages |= dict.fromkeys(["/robots.txt", "/sitemap.xml", "/"], 503)
    printed = update("some.db", code=4)
    assert "3 pages in the index" in printed


@pytest.mark.parametrize("target", ["/login", "/birds/herons", "/blog/geese"])
def test_a_redirect_overwrites_no_text(
    site: tuple[dict[str, Any], str], index: Index, target: str
) -> None:
    """A listed page that begins to redirect keeps its text, until it responds itself."""
    pages, _ = site
    filters = {"include": ["/birds/*", "/login"]}
    index.update(**filters)
    first = index.texts()
    pages.update(make_site(day=2, **{PAGES[0]: target}))
    pages |= {f"/{name}": make_page(name) for name in ("login", "blog/geese")}
    for _ in range(3):
        index.update(**filters)
    assert index.texts() == first
    page = "a page that you do not want" if "blog" in target else "another page"
    assert index.stale == {"/birds/geese": f"redirects to {page}"}
    pages["/birds/geese"] = make_page("geese", "stay where they are")
    index.update(**filters)
    assert "stay where they are" in index.texts()["/birds/geese"]
    assert index.stale == {}


def test_a_new_page_that_redirects_out_of_the_filters_is_not_stored(
    site: tuple[dict[str, Any], str], index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that redirects to another host."""
    pages, base = site
    networks = "127.0.0.0/8", "::1/128"
    options = partial(FetchOptions, allow_networks=networks)
    monkeypatch.setitem(index.program["update"].__globals__, "FetchOptions", options)
    pages["/birds/geese"] = "/about"
    pages["/birds/herons"] = f"{base.replace('127.0.0.1', 'localhost')}/birds/new"
    pages["/birds/new"] = make_page("new")
    index.update(include=["/birds/*"])
    assert index.texts() == {}
    reason = "redirects to a page that you do not want"
    assert index.stale == dict.fromkeys(["/birds/geese", "/birds/herons"], reason)


def test_a_page_that_has_always_redirected_is_updated(
    site: tuple[dict[str, Any], str], index: Index
) -> None:
    """By the same target; a slash at the end makes no other page."""
    pages, _ = site
    pages["/birds/geese"] = "/birds/all"
    pages["/birds/all"] = make_page("geese")
    index.update()
    words = "stay where they are"
    pages.update(make_site(day=2, **{PAGES[0]: "/birds/all"}))
    pages["/birds/all"] = make_page("geese", words)
    index.update()
    assert words in index.texts()["/birds/geese"]
    pages.update(make_site(day=3, **{PAGES[0]: "/birds/geese/"}))
    pages["/birds/geese/"] = make_page("geese", "sing")
    index.update()
    assert "sing" in index.texts()["/birds/geese"]
    assert index.stale == {}


def test_rag_index_says_what_is_stale_and_why(
    site: tuple[dict[str, Any], str], index: Index
) -> None:
    """Pages that give no text, that robots.txt forbids, and that the filters exclude now."""
    pages, base = site
    index.update()
    pages["/sitemap.xml"] = urlset(
        *((f"HOST/{name}", "2026-03-02") for name in (*PAGES, "new"))
    )
    pages["/robots.txt"] += b"User-agent: *\nDisallow: /birds/herons\n"
    pages["/birds/geese"] = 404
    pages["/new"] = make_page("new").replace(b"<title>", b"<title>Page not found ")
    words = "update", base, index.path.name, "--exclude", "/about"
    printed = run_here("rag_index", index.path.parent, *words)
    assert printed.splitlines() == [
        f"its old text is kept: robots-disallowed: 1 ['{base}/birds/herons']",
        f"its old text is kept: status 404: 1 ['{base}/birds/geese']",
        f"its old text is kept: your filters exclude it now: 1 ['{base}/about']",
        f"not in the index: the page says that it does not exist: 1 ['{base}/new']",
        "3 pages in the index; sitemaps read completely: True",
    ]
    words = "update", base, "english.db", "--language", "en"
    printed = run_here("rag_index", index.path.parent, *words)
    assert printed.splitlines() == [
        "excluded without a language: 4",
        "0 pages in the index; sitemaps read completely: True",
    ]


def test_rag_index_of_pages_that_are_alike(
    site: tuple[dict[str, Any], str], index: Index
) -> None:
    """Their text is stored once, when the others were as usual in two runs."""
    pages, _ = site
    usual = pages["/about"]
    alike = make_page("birds", "nest here").replace(
        b"<title>", b'<link rel="canonical" href="HOST/birds/herons"><title>'
    )
    pages |= {"/birds/geese": alike, "/birds/herons": alike}
    both = {"/birds/geese", "/birds/herons"}
    assert index.update() == (both, {})
    assert index.texts().keys() == {"/about"}
    pages["/about"] = make_page("site", "is closed for a day")
    assert index.update() == (both, {})
    pages["/about"] = usual
    assert index.update() == (set(), {"/birds/geese": "/birds/herons"})
    assert index.texts().keys() == {"/about", "/birds/herons"}
    pages["/birds/geese"] = make_page("geese")
    assert index.update() == (set(), {})
    assert index.texts().keys() == {"/about", "/birds/herons", "/birds/geese"}


def test_a_copy_takes_the_place_of_the_page_that_changes(
    site: tuple[dict[str, Any], str], index: Index
) -> None:
    """The text that the two had in common stays in the index."""
    pages, _ = site
    alike = make_page("birds", "nest here")
    pages |= {"/birds/geese": alike, "/birds/herons": alike}
    index.update()
    index.update()
    assert index.texts().keys() == {"/about", "/birds/geese"}
    pages.update(make_site(day=2, **{"birds/herons": alike}))
    index.update()
    index.update()
    texts = index.texts()
    assert texts.keys() == {"/about", "/birds/geese", "/birds/herons"}
    assert "nest here" in texts["/birds/herons"]


def test_rag_index_of_a_site_whose_pages_have_moved(
    site: tuple[dict[str, Any], str], index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new pages are stored at once though all others redirect, and then the old ones leave."""
    clock = SetClock(monkeypatch)
    pages, _ = site
    index.update()
    for name in PAGES:
        pages[f"/en/{name}"] = pages[f"/{name}"]
        pages[f"/{name}"] = f"/en/{name}"
    pages["/sitemap.xml"] = urlset(*(f"HOST/en/{name}" for name in PAGES))
    clock.now += DAY
    assert index.update() == (set(), {f"/{name}": f"/en/{name}" for name in PAGES})
    new = {f"/en/{name}" for name in PAGES}
    assert index.texts().keys() == new
    for _ in range(2):
        clock.now += DAY
        index.update()
    assert index.texts().keys() == new


@pytest.mark.parametrize(
    ("target", "number", "is_kept"),
    [("/", 1, True), ("/about", 4, True), ("/about", 1, False), ("/login", 1, True)],
)
def test_rag_index_of_a_site_that_is_closed(
    site: tuple[dict[str, Any], str],
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    number: int,
    is_kept: bool,
) -> None:
    """Pages that redirect to the start page, or many to one, have not moved."""
    clock = SetClock(monkeypatch)
    pages, _ = site
    old = [f"/old/{each}" for each in range(number)]
    pages |= {path: make_page(path.replace("/", " ")) for path in old}
    pages["/"] = make_page("home")
    listed = ["/", "/about"]
    pages["/sitemap.xml"] = urlset(*(f"HOST{path}" for path in [*listed, *old]))
    index.update()
    pages |= dict.fromkeys(old, target)
    pages["/sitemap.xml"] = urlset(*(f"HOST{path}" for path in listed))
    for _ in range(3):
        clock.now += DAY
        index.update()
    assert index.texts().keys() == {*listed, *(old if is_kept else [])}


def test_rag_index_of_pages_with_a_counter(
    site: tuple[dict[str, Any], str], index: Index
) -> None:
    """They are as usual, so that a text which others have in common is stored."""
    pages, _ = site
    alike = make_page("birds", "nest here")
    pages |= {"/birds/geese": alike, "/birds/herons": alike}
    for day in range(3):
        pages["/about"] = make_page("about", f"count {day}{day} visitors each winter")
        waiting, _ = index.update()
    assert not waiting
    assert index.texts().keys() == {"/about", "/birds/geese"}


def test_a_run_that_is_killed_keeps_the_batches_before(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one stores the rest."""
    import trafilatura  # noqa: PLC0415 (an extra)

    monkeypatch.setitem(index.program["update"].__globals__, "BATCH", 1)
    extract = trafilatura.extract
    read: list[str | None] = []

    def fail(body: bytes, **options: Any) -> str | None:
        read.append(extract(body, **options))
        if len(read) == 4:  # two pages, each with a control
            raise InterruptedError
        return read[-1]

    monkeypatch.setattr(trafilatura, "extract", fail)
    with pytest.raises(InterruptedError):
        index.update()
    assert index.texts().keys() == {"/about"}
    monkeypatch.setattr(trafilatura, "extract", extract)
    index.update()
    assert index.texts().keys() == {f"/{name}" for name in PAGES}


def test_telemetry(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """Each request is a span below the span of the walk, which knows how it ended."""
    printed = run_example("telemetry", tmp_path, site[1])
    spans = [
        json.loads(text)
        for text in re.findall(r"^\{.*?^\}", printed, re.MULTILINE | re.DOTALL)
    ]
    (walk,) = [span for span in spans if span["name"] == "walk"]
    requests = [span for span in spans if span is not walk]
    assert walk["attributes"] == {"site": site[1], "urls": 3, "complete": True}
    assert len(requests) >= 2
    parents = {span["parent_id"] for span in requests}
    assert parents == {walk["context"]["span_id"]}


def test_prometheus(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """The file has the numbers of the walk, in the format that Prometheus reads."""
    run_example("prometheus", tmp_path, site[1], "sitemaps.prom")
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 (an extra)

    text = (tmp_path / "sitemaps.prom").read_text("utf-8")
    samples = [
        each
        for family in text_string_to_metric_families(text)
        for each in family.samples
    ]
    values = {each.name: each.value for each in samples if not each.labels}
    assert (values["sitemap_urls"], values["sitemap_complete"]) == (3, 1)
    (documents,) = [each for each in samples if each.name == "sitemap_documents_total"]
    assert (documents.labels["status"], documents.value) == ("complete", 2)


def test_nightly(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """The first night passes and is remembered; a new fault fails the second."""
    yaml = pytest.importorskip("yaml", reason="no yaml: pip install -e '.[docs]'")
    pages, base = site
    (job,) = yaml.safe_load((FOLDER / "nightly.yml").read_text("utf-8"))[
        "jobs"
    ].values()
    tools = tmp_path / "tools"
    tools.mkdir()
    write_program(tools)
    (tools / "pip").write_text("#!/bin/sh\n")
    (tools / "pip").chmod(0o755)
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    environment = {**os.environ, **summary, "PATH": f"{tools}:{os.environ['PATH']}"}

    def run_night() -> int:
        code = 0
        for step in job["steps"]:
            if "run" in step and (not code or step.get("if") == "always()"):
                script = step["run"].replace("https://www.example.org/", base)
                words = ["bash", "-eo", "pipefail", "-c", script]
                done = subprocess.run(words, cwd=tmp_path, env=environment, check=False)
                code = code or done.returncode
        return code

    assert run_night() == 0
    assert (tmp_path / "report.html").exists()
    pages[f"/{PAGES[2]}"] = 404
    assert run_night() == 5
    assert "page-not-found" in (tmp_path / "last.json").read_text("utf-8")
    assert "page-not-found" in (tmp_path / "summary.md").read_text("utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_names_what_it_needs(path: Path) -> None:
    """Its head lists its dependencies, so that `uv run` and pipx start it; its text says how."""
    text = path.read_text("utf-8")
    head = re.match(r"# /// script\n((?:#.*\n)+)# ///\n", text)
    assert head
    assert '"sitemapreader' in head[1]
    assert f"python {path.name} " in text
    page = (package.ROOT / "docs" / "examples.md").read_text("utf-8")
    assert f"(examples/{path.name})" in page


# -- crawlers


class Shop:
    """A site of many pages: what it lists, what it answers, and how slowly."""

    def __init__(self) -> None:
        self.listed = [f"/p/{number}" for number in range(200)]
        self.dead: set[str] = set()
        self.pages: Counter[str] = Counter()
        self.seconds = 0.02

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request of any host."""
        base = f"http://{request.host}"
        if request.path == "/sitemap.xml":
            urls = urlset(*(base + path for path in self.listed))
            return web.Response(body=urls, content_type="text/xml")
        is_page = request.path.startswith("/p/")
        if not is_page or request.path in self.dead:
            return web.Response(status=404)
        await asyncio.sleep(self.seconds)
        self.pages[request.path] += 1
        text = f"<!doctype html><title>{request.path}</title>"
        return web.Response(text=text, content_type="text/html")


@pytest.fixture
def shop() -> Iterator[tuple[Shop, list[str]]]:
    shop = Shop()
    with serving(shop.answer, ["127.0.0.1", "127.0.0.2"]) as urls:
        yield shop, urls


def read_pages(folder: Path, sql: str) -> list[Any]:
    """Return the first column of a query of all databases of pages."""
    rows: list[Any] = []
    for path in sorted(folder.glob("pages*.db")):
        with closing(sqlite3.connect(path)) as pages:
            rows += [value for (value,) in pages.execute(sql)]
    return rows


STORED = "SELECT url FROM page WHERE body NOT NULL AND NOT is_due"


def test_the_crawler(shop: tuple[Shop, list[str]], tmp_path: Path) -> None:
    """Each process has its sites; the pages of all are stored, and each was fetched once."""
    site, urls = shop
    (tmp_path / "sites.txt").write_text("\n".join(urls))
    words = "sites.txt", "crawl", "--workers", "2", "--trusted"
    printed = run_example("crawler", tmp_path, *words)
    assert sorted(printed.splitlines()) == [
        f"{url}: complete (200 URLs, 0 gone)" for url in sorted(urls)
    ]
    stored = read_pages(tmp_path / "crawl", STORED)
    assert sorted(stored) == sorted(url + path for url in urls for path in site.listed)
    assert {*site.pages.values()} == {2}
    run_example("crawler", tmp_path, *words)
    assert {*site.pages.values()} == {2}


def test_a_crawler_that_is_killed(shop: tuple[Shop, list[str]], tmp_path: Path) -> None:
    """What is left of the pages is fetched by the next run, whatever the walk had delivered."""
    site, urls = shop
    (tmp_path / "sites.txt").write_text(urls[0])
    words = "sites.txt", "crawl", "--workers", "1", "--trusted"
    command = [sys.executable, str(FOLDER / "crawler.py"), *words]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as process:
        while len(site.pages) < 40:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    fetched = site.pages.total()
    assert fetched < 200
    run_example("crawler", tmp_path, *words)
    stored = read_pages(tmp_path / "crawl", STORED)
    assert sorted(stored) == sorted(urls[0] + path for path in site.listed)
    assert site.pages.total() < 200 + 20


def test_a_crawler_forgets_what_is_gone(
    shop: tuple[Shop, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is gone is deleted; one that is only unlisted is kept, and not fetched again."""
    clock = SetClock(monkeypatch)
    site, (url, _) = shop
    site.listed = site.listed[:20]
    crawl = runpy.run_path(str(FOLDER / "crawler.py"))["crawl"]
    asyncio.run(crawl([url], tmp_path, "0-of-1", trusted=True))
    *site.listed, unlisted, gone = site.listed
    site.dead.add(gone)
    for _ in range(3):
        clock.now += DAY
        asyncio.run(crawl([url], tmp_path, "0-of-1", trusted=True))
    stored = read_pages(tmp_path, STORED)
    assert sorted(stored) == sorted(url + path for path in [*site.listed, unlisted])
    assert read_pages(tmp_path, "SELECT url FROM page WHERE is_due") == []


def test_the_crawler_for_scrapy(shop: tuple[Shop, list[str]], tmp_path: Path) -> None:
    """A run that is killed leaves its pages to the next one; a third run has nothing to do."""
    pytest.importorskip("scrapy", reason="no scrapy: pip install -e '.[dev]'")
    site, urls = shop
    words = ",".join(urls), "crawl", "trusted"
    command = [sys.executable, str(FOLDER / "scrapy_crawler.py"), *words]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        while len(site.pages) < 40:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert site.pages.total() < 400
    titles = "SELECT title FROM page WHERE NOT is_due ORDER BY title"
    for _ in range(2):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert "Traceback" not in done.stderr
        assert read_pages(tmp_path / "crawl", titles) == sorted(2 * site.listed)
    assert site.pages.total() < 400 + 40
