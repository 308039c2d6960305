"""Outcomes of documents, and on_document, which is told of each."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import (
    Document,
    FetchError,
    IssueCode,
    Limits,
    Status,
    walk,
    walk_many,
)
from sitemapreader._types.issues import Severity
from sitemapreader._types.models import Format, SitemapEntry, Via
from sitemapreader._types.outcomes import Role
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.fetch.local import StoredResponse
from tests.support.grouping import grouped
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    Walked,
    fault,
    index,
    moved,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from pathlib import Path


MAP = "https://example.org/sitemap.xml"
CHILD = "https://example.org/child.xml"


async def walk_maps(pages: Pages, *maps: str, **arguments: Any) -> Walked:
    return await walk_all(pages, None, sitemaps=maps or [MAP], **arguments)


class Cut(StoredResponse):
    """A body that breaks off."""

    async def chunks(self) -> Any:
        async for chunk in super().chunks():
            yield chunk
        raise fault(IssueCode.BODY_CUT, self.url)


async def test_a_whole_site() -> None:
    """A site is walked from robots.txt over its index to all of its entries."""
    pages: Pages = {
        ROBOTS: b"Sitemap: /index.xml",
        "https://example.org/index.xml": index(CHILD, "https://example.org/2.xml.gz"),
        CHILD: urlset("https://example.org/a", "https://example.org/b"),
        "https://example.org/2.xml.gz": gzip.compress(urlset("https://example.org/c")),
    }
    walked = await walk_all(pages)
    assert sorted(walked.locs) == [f"https://example.org/{name}" for name in "abc"]
    assert walked.report.complete
    assert walked.report.entries == 3
    assert walked.report.statuses == {Status.COMPLETE: 4}
    assert sorted(walked.requested) == sorted(pages)
    assert [str(each.role) for each in walked.report.documents] == [
        "robots",
        "sitemap",
        "sitemap",
        "sitemap",
    ]


async def test_what_an_outcome_says() -> None:
    """A document's outcome has its addresses, its origin, its format, its counts and validators."""
    body = gzip.compress(urlset("https://example.org/a", "https://example.org/b"))
    headers = {
        "etag": '"1"',
        "last-modified": "yesterday",
        "content-type": "text/plain",
    }
    pages: Pages = {
        MAP: index((CHILD, "2026-01-31")),
        CHILD: StoredResponse("https://example.org/new.xml", body, headers=headers),
    }
    document = (await walk_maps(pages)).document(CHILD)
    assert document.final_url == "https://example.org/new.xml"
    assert (document.role, document.via, document.parent) == (
        Role.SITEMAP,
        Via.INDEX,
        MAP,
    )
    assert (document.format, document.entries, document.children) == (
        Format.URLSET,
        2,
        0,
    )
    assert (document.status, document.reason, document.http_status) == (
        Status.COMPLETE,
        "",
        200,
    )
    assert document.bytes_raw == len(body)
    assert document.bytes_inflated == len(gzip.decompress(body))
    assert document.lastmod is not None
    assert document.lastmod.isoformat() == "2026-01-31T00:00:00+00:00"
    assert (document.etag, document.last_modified) == ('"1"', "yesterday")
    assert document.seconds >= 0
    assert document.issues == ()


FAULTS = [
    IssueCode.DNS,
    IssueCode.CONNECT,
    IssueCode.TLS,
    IssueCode.TIMEOUT,
    IssueCode.BAD_HTTP,
    IssueCode.HTTP_STATUS,
    IssueCode.LOGIN_REQUIRED,
    IssueCode.RETRY_LATER,
    IssueCode.REDIRECT_LOOP,
    IssueCode.TOO_MANY_REDIRECTS,
    IssueCode.DOWNGRADE,
    IssueCode.BLOCKED_ADDRESS,
    IssueCode.BLOCKED_PORT,
    IssueCode.INVALID_URL,
]


@pytest.mark.parametrize("code", FAULTS)
async def test_one_dead_child_of_a_hundred(code: IssueCode) -> None:
    """Whatever befalls one child of a hundred, 99 are delivered, and its outcome says what."""
    children = [f"https://example.org/{n}.xml" for n in range(100)]
    pages: Pages = {MAP: index(*children)}
    pages |= {url: urlset(f"{url}/page") for url in children}
    pages[children[41]] = fault(code, children[41])
    walked = await walk_maps(pages)
    assert len(walked.locs) == 99
    assert walked.outcome(children[41]) == ("failed", str(code))
    assert walked.codes == [str(code)]
    assert walked.report.statuses == {
        Status.COMPLETE: 100,
        Status.FAILED: 1,
        Status.SKIPPED: 1,
    }
    assert not walked.report.complete
    (issue,) = walked.report.issues
    assert (issue.sitemap, issue.value) == (children[41], "as the test wants it")


@pytest.mark.parametrize(
    ("body", "delivered", "outcome"),
    [
        (Cut(CHILD, urlset("https://example.org/a")[:-9]), 1, ("partial", "body-cut")),
        (
            Cut(CHILD, b"https://example.org/a\nhttps://example.org/b"),
            1,
            ("partial", "body-cut"),
        ),
        (
            Cut(CHILD, gzip.compress(urlset("https://example.org/a"))),
            1,
            ("partial", "body-cut"),
        ),
        (Cut(CHILD, b"<urls"), 0, ("failed", "body-cut")),
        (Cut(CHILD, b""), 0, ("failed", "body-cut")),
        (urlset("https://example.org/a")[:-9], 1, ("partial", "truncated")),
        (urlset("mailto:a@example.org", "https://example.org/a"), 1, ("complete", "")),
        (urlset(), 0, ("complete", "")),
        (b"", 0, ("failed", "empty")),
        (b"<!doctype html><html></html>", 0, ("failed", "html-not-sitemap")),
        (b"{}", 0, ("failed", "not-a-sitemap")),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><urlset/>', 0, ("failed", "dtd-refused")),
    ],
    ids=range(12),
)
async def test_kinds_of_endings(
    body: Any, delivered: int, outcome: tuple[str, str]
) -> None:
    """What is complete is delivered; then the one fault that ended it is said, and nothing else."""
    walked = await walk_maps({CHILD: body}, CHILD)
    assert len(walked.locs) == delivered
    assert walked.outcome(CHILD) == outcome
    errors = [
        issue for issue in walked.report.issues if issue.severity is Severity.ERROR
    ]
    assert [str(issue.code) for issue in errors] == [outcome[1]] * (
        outcome[1] not in ("", "empty")
    )
    assert walked.report.complete is (outcome[0] == "complete")


async def test_events_have_the_sitemaps_too() -> None:
    """The events name each sitemap that is found, guessed or in an index, with its origin."""
    pages: Pages = {
        "https://example.org/sitemap.xml": index(CHILD),
        CHILD: urlset("https://example.org/a"),
    }
    walked = await walk_all(pages)
    found = [event for event in walked.events if isinstance(event, SitemapEntry)]
    assert [(entry.loc, str(entry.via), entry.sitemap) for entry in found] == [
        ("https://example.org/sitemap.xml", "well-known", ""),
        (CHILD, "index", MAP),
    ]


# -- the search inside a walk


async def test_a_probe_that_leads_to_a_sitemap_ends_the_search() -> None:
    """A probed path that redirects to a sitemap that is read already is as good as one."""
    pages: Pages = {
        ROBOTS: b"Sitemap: /all.xml",
        MAP: moved("https://example.org/all.xml", b""),
    }
    pages["https://example.org/all.xml"] = urlset("https://example.org/a")
    walked = await walk_all(pages, probe="always")
    assert walked.requested[:3] == [ROBOTS, "https://example.org/all.xml", MAP]
    assert walked.requested[3:] == [SITE]
    assert walked.locs == ["https://example.org/a"]


async def test_robots_that_fails_is_no_loss_where_sitemaps_are_given() -> None:
    """A robots.txt that was only asked for leave is noted when it fails; nothing was lost."""
    pages: Pages = {
        MAP: index(CHILD),
        CHILD: urlset("https://example.org/a"),
        ROBOTS: status(503),
    }
    walked = await walk_maps(pages)
    assert walked.locs == ["https://example.org/a"]
    assert walked.codes == ["robots-unreachable"]
    assert "probed" not in walked.report.issues[0].message  # nothing was to be
    assert walked.outcome(ROBOTS) == ("failed", "http-status")
    assert walked.report.complete


# -- the report is bounded


async def test_a_retry_after_that_was_not_waited_for() -> None:
    """A document tells what its server asked for; the site's outcome has the longest wait."""
    later = "https://example.org/later.xml"

    def refuse(url: str, seconds: float) -> FetchError:
        return FetchError(
            IssueCode.RETRY_LATER,
            url,
            "503",
            http_status=503,
            retry_after_seconds=seconds,
        )

    pages: Pages = {
        MAP: index(CHILD, later, "https://example.org/2.xml"),
        CHILD: refuse(CHILD, 86_400.0),
        later: refuse(later, 7_200.0),
        "https://example.org/2.xml": urlset("https://example.org/a"),
    }
    walked = await walk_maps(pages)
    waits = [walked.document(url).retry_after_seconds for url in (MAP, CHILD, later)]
    assert waits == [None, 86_400, 7_200]
    assert walked.report.outcome.retry_after == 86_400


TOP = f"{SITE}sitemap.xml"
CHILDREN = [f"{SITE}{number}.xml" for number in range(5)]
GONE = f"{SITE}gone.xml"
PAGES: Pages = {
    ROBOTS: f"User-agent: *\nDisallow: /4\nSitemap: {TOP}".encode(),
    TOP: index(*CHILDREN, GONE),
    **{url: urlset(f"{url}/1", f"{url}/2") for url in CHILDREN},
    GONE: status(410, GONE),
}


async def collect(
    pages: Pages, **arguments: Any
) -> tuple[list[Document], list[Document]]:
    """Walk to the end; return the outcomes that were announced, and those of the report."""
    seen: list[Document] = []
    fetcher = MemoryFetcher(pages)
    async with walk(
        SITE, fetcher=fetcher, on_document=seen.append, **grouped(arguments)
    ) as entries:
        async for _ in entries:
            pass
    return seen, entries.report.documents


@pytest.mark.parametrize("way", ["plain", "limited", "nothing", "unlisted"])
async def test_every_outcome_comes_once(way: str, tmp_path: Path) -> None:
    """What is announced is what the report holds, in its order, with the outcome set."""
    ways: dict[str, tuple[Pages, dict[str, Any]]] = {
        "plain": (PAGES, {}),
        "limited": (PAGES, {"limits": Limits(documents=4)}),
        "nothing": ({}, {}),
        "unlisted": ({TOP: PAGES[TOP]}, {"state": tmp_path / "x.db"}),
    }
    pages, arguments = ways[way]
    seen, documents = await collect(pages, **arguments)
    assert [document.url for document in seen] == [
        document.url for document in documents
    ]
    assert all(
        document.status is not Status.SKIPPED or document.reason for document in seen
    )
    if way == "plain":
        found = {document.url: str(document.status) for document in seen}
        assert found[ROBOTS] == found[TOP] == found[CHILDREN[0]] == "complete"
        assert (found[CHILDREN[4]], found[GONE]) == ("skipped", "failed")


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"include": "nothing"},
        {"exclude": "."},
        {"language": "de"},
        {"since": timedelta(days=1)},
        {"since": timedelta(days=1), "prune": False},
        {"follow": lambda child: "bad" in child.loc},
    ],
)
@pytest.mark.parametrize("many", [False, True], ids=["walk", "many"])
async def test_a_filter_changes_no_status(
    *, many: bool, filters: dict[str, Any]
) -> None:
    """A site of which a child cannot be read is partial, also if no URL of the others is wanted."""
    day = "2020-01-01"
    pages = {
        ROBOTS: b"Sitemap: https://example.org/i.xml",
        "https://example.org/i.xml": index((f"{SITE}good.xml", day), f"{SITE}bad.xml"),
        "https://example.org/good.xml": urlset((f"{SITE}1", day)),
    }
    if many:
        async with walk_many(
            [SITE], fetcher=MemoryFetcher(pages), **grouped(filters)
        ) as run:
            found = sum([len(entries) async for _, entries in run.batches()])
        (outcome,) = run.outcomes
    else:
        walked = await walk_all(pages, **filters)
        found, outcome = walked.report.entries, walked.report.outcome
    assert (outcome.status, outcome.reason) == ("partial", "http-status")
    assert found == outcome.entries == (not filters)


async def test_the_document_that_reaches_the_limit_of_urls_says_so() -> None:
    """Of several it is the one that was read when the walk had enough."""
    pages: Pages = {MAP: index(CHILD), CHILD: urlset(*(f"{SITE}{n}" for n in range(3)))}
    walked = await walk_maps(pages, max_urls=2)
    assert walked.outcome(CHILD) == ("partial", "budget-urls")
    assert [issue.sitemap for issue in walked.report.issues] == [CHILD]


async def test_the_page_of_a_bot_protection_is_nothing_else() -> None:
    """It is HTML in place of a sitemap, which is not told besides; what breaks off tells more."""
    html = b"<!DOCTYPE html><html><title>Just a moment</title>"
    pages: Pages = {
        MAP: StoredResponse(MAP, html, headers={"cf-mitigated": "challenge"}),
        CHILD: Cut(CHILD, html),
    }
    walked = await walk_maps(pages, MAP, CHILD)
    codes = {url: {*walked.document(url).counts} for url in (MAP, CHILD)}
    assert codes[MAP] == {IssueCode.BLOCKED_BY_SITE}
    assert codes[CHILD] == {IssueCode.BODY_CUT, IssueCode.HTML_NOT_SITEMAP}


PLAIN: dict[str, Any] = {
    "role": "sitemap", "format": None, "status": "complete", "reason": "", "http_status": 200,
    "tries": 1, "retry_after_seconds": None, "entries": 0, "listed": 0, "known": 0, "filtered": 0,
    "children": 0, "records": 0, "dropped": 0, "lastmod": None, "etag": None,
    "last_modified": None, "content_type": None, "site": SITE,
    "content_encoding": None, "first_byte_seconds": None, "wait_seconds": None, "issues": {},
}  # fmt: skip
"""Fields of an outcome, as most documents have them."""


async def test_every_field_of_an_outcome() -> None:
    """robots.txt, an index, a sitemap of it, and one in whose place there is a page, all told."""
    robots, top, child, page = (
        ROBOTS,
        *(f"{SITE}{name}" for name in ("i.xml", "a.gz", "p.xml")),
    )
    day = "Fri, 02 Jan 2026 00:00:00 GMT"
    headers = {"etag": '"1"', "last-modified": day, "content-type": "application/gzip"}
    plain = urlset(f"{SITE}1", f"{SITE}2", f"{SITE}1")
    packed = gzip.compress(plain, mtime=0)
    pages: dict[str, Any] = {
        robots: f"Sitemap: {top}".encode(),
        top: index((child, "2026-01-02"), page),
        child: StoredResponse(child, packed, headers=headers),
        page: b"<!doctype html><p>moved",
    }
    walked = await walk_all(pages, include="1", unique=True)
    found = {each.url: each.to_dict() for each in walked.report.documents}
    assert all(each.pop("seconds") > 0 for each in found.values())
    sizes = [
        *((len(pages[url]),) * 2 for url in (robots, top)),
        (len(packed), len(plain)),
    ]
    expected: list[dict[str, Any]] = [
        {"role": "robots", "via": "given", "parent": "", "children": 1},
        {"via": "robots", "parent": robots, "format": "sitemapindex", "children": 2,
         "records": 2},
        {
            "via": "index", "parent": top, "format": "urlset", "entries": 1, "listed": 3,
            "records": 3, "filtered": 2, "lastmod": "2026-01-02T00:00:00+00:00", "etag": '"1"',
            "last_modified": day, "content_type": "application/gzip",
        },
        {
            "via": "index", "parent": top, "status": "failed", "reason": "html-not-sitemap",
            "issues": {"html-not-sitemap": 1},
        },
    ]  # fmt: skip
    for url, more, (raw, inflated) in zip(
        (robots, top, child, page),
        expected,
        [*sizes, (len(pages[page]),) * 2],
        strict=True,
    ):
        own = {
            "url": url,
            "final_url": url,
            "bytes_raw": raw,
            "bytes_inflated": inflated,
        }
        assert found[url] == {**PLAIN, **own, **more}, url
    outcome = attrs.asdict(walked.report.outcome)
    assert outcome.pop("seconds") > 0
    nothing = (
        "changed",
        "unlisted",
        "gone",
        "crawl_delay",
        "retry_after",
        "news_waiting",
        "due",
    )
    assert outcome == {
        "site": SITE, "status": "partial", "reason": "html-not-sitemap", "http_status": 200,
        "entries": 1, "documents": 2, "requests": 4, "dropped": 0, "address": "",
        **dict.fromkeys(nothing),
        "bytes": sum(each["bytes_raw"] for each in found.values()),
    }  # fmt: skip
