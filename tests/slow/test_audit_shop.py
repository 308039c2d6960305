"""The audit of a shop of 4,000 URLs says first what a person would mend first."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.audit import Audit, AuditOptions, audit_sync
from sitemapreader.fetch import StoredResponse
from tests.support.auditing import (
    HOST,
    NOW,
    XML,
    TimedResponse,
    index,
    link,
    page,
    urlset,
)
from tests.support.there import known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

pytestmark = pytest.mark.slow

FOLDERS = {"products": 1_800, "blog": 1_000, "guides": 600, "stores": 396}
"""Folder -> its URLs: with the pages in two languages and the outlet 4,000."""
LANGUAGES, ONE_WAY = 80, 18
SOFT, REAL = 40, 4
SLOW = {n for n in range(FOLDERS["guides"]) if n % 43 == 2 and n % 19}


class Shop:
    """A site whose pages are made when they are asked for; every 19th of a folder is gone."""

    def __init__(self) -> None:
        sitemaps = {name: self._list(name, count) for name, count in FOLDERS.items()}
        sitemaps["languages"] = "".join(map(self._pair, range(LANGUAGES)))
        sitemaps["outlet"] = "".join(
            page(f"/outlet/{name}", f"2026-03-{1 + n % 28:02}")
            for n, name in enumerate(self._name_outlet())
        )
        names = [f"/{name}.xml" for name in sitemaps]
        self.documents = {
            "/robots.txt": f"Sitemap: {HOST}/index.xml".encode(),
            "/index.xml": index(*((name, "2026-11-21") for name in names)),
            **{f"/{name}.xml": urlset(records) for name, records in sitemaps.items()},
        }

    @staticmethod
    def _list(folder: str, count: int) -> str:
        return "".join(
            page(f"/{folder}/{n}", f"2026-{1 + n % 9:02}-{1 + n % 28:02}")
            for n in range(count)
        )

    @staticmethod
    def _pair(number: int) -> str:
        """Write a German page, and the English one that it links to; some link back to none."""
        de, en = f"/de/{number}", f"/en/{number}"
        links = link("de", de) + link("en", en) + link("x-default", en)
        date = f"2026-05-{1 + number % 28:02}"
        return page(de, date, links) + page(
            en, date, links if number >= ONE_WAY else ""
        )

    @staticmethod
    def _name_outlet() -> list[str]:
        return [f"sold-{n}" for n in range(SOFT)] + [f"real-{n}" for n in range(REAL)]

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 (of the protocol)
    ) -> AsyncIterator[StoredResponse]:
        """Give a document or a page, or raise FetchError."""
        path = url.removeprefix(HOST)
        folder, _, name = path.strip("/").partition("/")
        if path in self.documents:
            yield StoredResponse(url, self.documents[path], headers=XML)
            return
        is_gone = folder in FOLDERS and (not name.isdigit() or int(name) % 19 == 0)
        if is_gone or (folder in ("de", "en") and not name.isdigit()):
            raise FetchError(IssueCode.HTTP_STATUS, url, "404", http_status=404)
        text = f"{name} of the {folder}, as nobody else has it"
        if folder == "outlet" and not name.startswith("real"):
            text = f"Sorry, this is sold.<script>nonce = {hash(path)}</script>"
        html = f"<!doctype html><title>{folder}</title><body><main><p>{text}</main>"
        is_slow = folder == "guides" and int(name) in SLOW
        yield TimedResponse(
            url,
            html.encode(),
            headers={"content-type": "text/html"},
            wait_seconds=4.0 * is_slow,
        )


@pytest.fixture(scope="module")
def result() -> Iterator[Audit]:
    with audit_sync(
        f"{HOST}/", fetcher=Shop(), pages="all", figures=AuditOptions(now=NOW)
    ) as made:
        yield made


def test_each_fault_of_the_pages_is_found(result: Audit) -> None:
    """Of 4,000 URLs 201 are gone, 40 say so with 200, 13 are slow, and 18 link one way."""
    assert result.facts.urls == 4_000
    assert known(result.facts.pages).exact
    counts = {finding.rule.code: finding.count for finding in result.findings}
    gone = sum(-(-count // 19) for count in FOLDERS.values())
    found = ("page-not-found", "page-soft-404", "page-slow", "hreflang-no-return-link")
    assert [counts[code] for code in found] == [gone, SOFT, len(SLOW), ONE_WAY]
    listed = {url for _, url, *_ in result.hits("hreflang-no-return-link").fetchall()}
    assert listed == {f"{HOST}/en/{number}" for number in range(ONE_WAY)}


def test_a_person_begins_with_what_the_report_names_first(result: Audit) -> None:
    """First the pages that are gone, then the languages, then pages that lie or are slow."""
    first = result.format("html").partition('class="first"')[2].partition("</ol>")[0]
    assert re.findall(r'#rule-([a-z0-9-]+)"', first)[:4] == [
        "page-not-found",
        "hreflang-no-return-link",
        "page-soft-404",
        "page-slow",
    ]
    cases = {
        case.get("name"): case
        for case in fromstring(result.format("junit")).iter("testcase")  # noqa: S314 (ours)
    }
    assert cases["page-not-found"].find("failure") is not None
