"""The programs of docs/examples, run as they are on a site on loopback."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import runpy
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from tests.support import package
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
        body = page.replace(b"HOST", f"http://{request.host}".encode())
        is_page = body.startswith(b"<!doctype")
        return web.Response(
            body=body, content_type="text/html" if is_page else "text/xml"
        )

    with serving(answer) as (base,):
        yield pages, base


def run_example(name: str, folder: Path, *words: str) -> str:
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
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_seo(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """It counts the URLs of each folder, and writes a row for each finding."""
    printed = run_example("seo", tmp_path, site[1], "findings.csv")
    assert re.search(r"^/birds/ +2 .* 0\.5$", printed, re.MULTILINE)
    with (tmp_path / "findings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "response-no-validator" in {row["rule"] for row in rows}
    assert f"{len(rows)} findings" in printed


def test_rag_index(site: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    """A question finds a page; a changed page is replaced, and no notice of maintenance stored."""
    pages, base = site

    path = tmp_path / "index.db"
    # imports more than a second takes
    program = runpy.run_path(str(FOLDER / "rag_index.py"))

    def update(**changed: Any) -> None:
        pages.update(make_site(**changed))
        asyncio.run(program["update"](base, path))

    def ask(question: str) -> list[tuple[str, str]]:
        with closing(program["open_index"](path)) as index:
            return list(program["ask"](index, question))

    printed = run_example("rag_index", tmp_path, "update", base, path.name)
    assert printed == "3 pages in the index; sitemaps read completely: True\n"
    assert ask("geese")[0][0] == f"{base}/birds/geese"
    update(day=2, **dict.fromkeys(PAGES, make_page("site", "is closed for a day")))
    assert not any(
        "closed" in text for _, text in ask("geese herons about site closed")
    )
    update(day=3, **{PAGES[0]: make_page("geese", "stay where they are")})
    ((url, text),) = ask("geese")
    assert url == f"{base}/birds/geese"
    assert "stay where they are" in text


def test_rag_index_of_pages_that_are_alike(
    site: tuple[dict[str, Any], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Their URLs are printed; they are stored after a week in which the others were as usual."""
    pages, base = site
    path = tmp_path / "index.db"
    program = runpy.run_path(str(FOLDER / "rag_index.py"))
    usual = pages[f"/{PAGES[2]}"]

    def update() -> tuple[str, int]:
        """Run the program; return what it prints, and how many pages are stored."""
        asyncio.run(program["update"](base, path))
        count = "SELECT count(DISTINCT url) FROM chunk"
        with closing(program["open_index"](path)) as index:
            return capsys.readouterr().out, index.execute(count).fetchone()[0]

    pages.update({f"/{name}": make_page("birds", "nest here") for name in PAGES[:2]})
    alike = sorted(f"{base}/{name}" for name in PAGES[:2])
    said = f"not stored, because other pages say the same: 2 {alike}\n"
    assert update() == (said, 1)
    pages[f"/{PAGES[2]}"] = make_page("site", "is closed for a day")
    assert update() == (said, 1)
    pages[f"/{PAGES[2]}"] = usual
    for _ in range(program["PATIENCE"] - 1):
        assert update() == (said, 1)
    assert update() == ("", 3)


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
