"""Documents that nobody here wrote, and what others say of them; they lie beside the checkout.

`wild/` are real files of public sites, `peers/` the cases of other projects' tests. They are other
people's, so nothing of them is copied: the tests that need them skip where they are not.
"""

from __future__ import annotations

import asyncio
import csv
import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import golden
import package
import pytest

from sitemapreader.errors import FetchError
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import Issue, IssueCode, Severity
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.options import Limits
from sitemapreader.outcomes import Role
from sitemapreader.readers.pages.hints import read_page_hints
from sitemapreader.readers.robots import parse_robots
from sitemapreader.walker import discover, walk_sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CORPUS = package.ROOT.parent / "shared" / "corpus"
WILD = CORPUS / "wild"
PEERS = CORPUS / "peers"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the corpus of other people's files is not beside the checkout"
)

DECISIONS = [package.ROOT / "docs" / name for name in ("behaviour.md", "architecture.md")]
"""What is answered to which input, and the laws: they decide where others answer otherwise."""


def check_row(row: str) -> None:
    """Check that a row of these, given as `Section: words in it`, is there."""
    heading, _, words = row.partition(": ")
    text = "\n".join(path.read_text(encoding="utf-8") for path in DECISIONS)
    sections = [each for each in text.split("\n## ") if each.partition("\n")[0] == heading]
    assert any(words in each for each in sections), row


# -- real files


@attrs.frozen
class WildFile:
    """A file of a public site, and an independent count of the locs and lastmods in it."""

    name: str
    kind: str
    locs: int
    lastmods: int

    def read(self) -> bytes:
        """Return its bytes, as they were published."""
        return (WILD / self.name).read_bytes()


def wild_files() -> list[WildFile]:
    """Read the manifest; nothing where there is no corpus."""
    manifest = WILD / "manifest.tsv"
    if not manifest.exists():
        return []
    with manifest.open(encoding="utf-8", newline="") as lines:
        return [
            WildFile(row["file"], row["kind"], int(row["loc_count"]), int(row["lastmod_count"]))
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


# -- cases of other projects

_RECORD_START = re.compile(rb"<(?:item|entry)\b[^>]*(?<!/)>")
_LINK = b'<link href="https://link.test/">https://link.test/</link>'


@attrs.frozen
class Walked:
    """What came of a walk over what a case's server answers."""

    locs: list[str]
    sitemaps: list[str]
    issues: list[Issue]
    requested: list[str]


@attrs.define(eq=False, slots=False)
class Case:
    """A case of another project's tests: what it puts in and expects, and what we make of it."""

    name: str
    kind: str
    url: str
    expect: dict[str, Any]
    inputs: list[Path]
    responses: list[dict[str, Any]]

    @property
    def data(self) -> bytes:
        """The document of a case that has one."""
        (path,) = self.inputs
        return path.read_bytes()

    @property
    def rows(self) -> list[list[Any]]:
        """The table of a case that is one."""
        rows: list[list[Any]] = json.loads(self.data)
        return rows

    @property
    def is_document(self) -> bool:
        """Whether there is a document for a reader, and no table, robots.txt or site."""
        others = {"dates", "location", "robots", "site", "urls", "values"}
        return self.kind not in others and "filter_since" not in self.expect

    # -- a document, read

    def read(self, data: bytes, url: str | None = None) -> golden.Reading:
        """Read a document under the case's conditions."""
        size = self.expect.get("limit_bytes")
        limits = Limits(inflated_bytes=size) if size else Limits()
        return golden.read_pieces([data], self.url if url is None else url, limits)

    @cached_property
    def reading(self) -> golden.Reading:
        return self.read(self.data)

    @property
    def entries(self) -> list[UrlEntry]:
        return [event for event in self.reading.events if isinstance(event, UrlEntry)]

    @property
    def sitemaps(self) -> list[SitemapEntry]:
        return [event for event in self.reading.events if isinstance(event, SitemapEntry)]

    @property
    def records(self) -> Sequence[UrlEntry | SitemapEntry]:
        """The records of the document; a link to the next page of a feed is none."""
        found = (event for event in self.reading.events if not isinstance(event, Issue))
        return [each for each in found if getattr(each, "via", None) is not Via.PAGE]

    @property
    def locs(self) -> list[str]:
        """The URLs of the document, or of the walk; with `rules`, those that have it in them."""
        found = self.walked.locs if self.kind == "site" else self.reading.locs
        return [loc for loc in found if self.expect.get("rules", "") in loc]

    @property
    def lastmods(self) -> list[Any]:
        return [record.lastmod for record in self.records]

    @cached_property
    def dates(self) -> list[UrlEntry]:
        """The entries of the feed with a link put into each: one without shows its date as well."""
        linked = self.read(_RECORD_START.sub(lambda match: match[0] + _LINK, self.data))
        return [event for event in linked.events if isinstance(event, UrlEntry)]

    @property
    def issues(self) -> list[Issue]:
        """What was wrong, remarks left out."""
        found = self.walked.issues if self.kind == "site" else self.reading.events
        return [
            event for event in found if isinstance(event, Issue) and event.severity > Severity.INFO
        ]

    # -- what names sitemaps

    def listed(self) -> list[str]:
        """Return the Sitemap lines of the case's robots.txt."""
        return [entry.loc for entry in parse_robots(self.inputs[0].read_bytes(), self.url).sitemaps]

    def hinted(self, *, feeds: bool) -> list[str]:
        """Return the feeds, or the sitemaps, that the page links to."""
        sitemaps = [entry.loc for entry in read_page_hints(self.data, self.url)]
        if not feeds:
            return sitemaps
        both = [entry.loc for entry in read_page_hints(self.data, self.url, feeds=True)]
        return [loc for loc in both if loc not in sitemaps]

    # -- a site, in memory

    def pages(self) -> Mapping[str, Any]:
        """Return what the case's server answers; a document that is alone answers at its URL."""
        if self.kind != "site":
            return {self.url: self.data}
        bodies = dict(zip((page["file"] for page in self.responses), self.inputs, strict=True))
        return {page["url"]: _answer(page, bodies[page["file"]]) for page in self.responses}

    @cached_property
    def walked(self) -> Walked:
        """The walk that the case speaks of: from its URL, or from the robots.txt that is there."""
        sitemaps = self.listed() if self.url.endswith("/robots.txt") else [self.url]
        followed = self.expect.get("follow", "")
        return self.walk(sitemaps=sitemaps, follow=lambda entry: followed in entry.loc)

    def walk(self, pages: Mapping[str, Any] | None = None, **arguments: Any) -> Walked:
        """Walk, over what the case's server answers and from the case's URL if not told else."""
        fetcher = MemoryFetcher(self.pages() if pages is None else pages)
        arguments.setdefault("sitemaps", [self.url])
        with walk_sync(fetcher=fetcher, **arguments) as entries:
            locs = [entry.loc for entry in entries]
        documents = entries.report.documents
        sitemaps = [each.url for each in documents if each.role is Role.SITEMAP]
        return Walked(locs, sitemaps, entries.report.issues, fetcher.requested)

    def discovered(self) -> list[str]:
        """Return the sitemaps that a search finds; raise ValueError for what is no URL."""
        found = asyncio.run(discover(self.url, fetcher=MemoryFetcher(self.pages())))
        return [entry.loc for entry in found.sitemaps]


def _answer(page: dict[str, Any], body: Path) -> StoredResponse | FetchError:
    url, status = page["url"], page["status"]
    if status != 200:
        return FetchError(IssueCode.HTTP_STATUS, url, str(status), http_status=status)
    headers = {name.lower(): value for name, value in page["headers"].items()}
    return StoredResponse(url, body.read_bytes(), headers=headers)


def peer_cases() -> list[Case]:
    """Read the cases of all projects; none where there is no corpus."""
    return [_read_case(path) for path in sorted(PEERS.glob("*/*/case.json"))]


def _read_case(path: Path) -> Case:
    told = json.loads(path.read_text(encoding="utf-8"))
    names = told["input"]
    return Case(
        name=path.parent.relative_to(PEERS).as_posix(),
        kind=told["kind"],
        url=told["url"] or "",
        expect=told["expect"],
        inputs=[path.parent / name for name in ([names] if isinstance(names, str) else names)],
        responses=told.get("responses", []),
    )
