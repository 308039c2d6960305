"""Children on other hosts, and what robots.txt has to say of children."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest
from publicsuffixlist import PublicSuffixList
from walking import ROBOTS, SITE, Pages, Walked, fault, index, moved, status, urlset, walk_all

from sitemapreader import urls
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover, walk

TOP = "https://www.example.co.uk/top.xml"


async def walk_top(pages: Pages, top: str = TOP, **arguments: Any) -> Walked:
    return await walk_all(pages, None, sitemaps=[top], **arguments)


@pytest.mark.parametrize(
    ("child", "on_host", "on_site"),
    [
        ("https://www.example.co.uk/c.xml", True, True),
        ("http://www.example.co.uk:8080/c.xml", True, True),
        ("https://www.example.co.uk./c.xml", True, True),
        ("https://example.co.uk/c.xml", False, True),
        ("https://a.b.example.co.uk/c.xml", False, True),
        ("https://other.co.uk/c.xml", False, False),
        ("https://example.com/c.xml", False, False),
        ("https://example.co.uk.evil.net/c.xml", False, False),
        ("http://127.0.0.1/c.xml", False, False),
        ("http://localhost/c.xml", False, False),
    ],
)
async def test_hosts(child: str, on_host: bool, on_site: bool) -> None:
    """Which children are fetched, by the policy; what is not says so and is not asked for."""
    pages: Pages = {TOP: index(child), child: urlset(f"{child}/page")}
    for policy, fetched in (("host", on_host), ("site", on_site), ("any", True)):
        walked = await walk_top(pages, hosts=policy)
        assert len(walked.locs) == fetched
        assert (child in walked.requested) is fetched
        assert ("cross-host-child" in walked.codes) is not fetched
        if not fetched:
            assert walked.outcome(child) == ("skipped", "cross-host-child")


async def test_the_list_of_suffixes_is_read_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, for all workers that need it at the same time, and not in the event loop's thread."""
    threads = []

    def read(self: PublicSuffixList) -> None:
        threads.append(threading.current_thread())
        init(self)

    init = PublicSuffixList.__init__
    monkeypatch.setattr(PublicSuffixList, "__init__", read)
    urls._load.cache_clear()
    tops = [f"https://{n}.example.co.uk/top.xml" for n in range(8)]
    await walk_all(dict.fromkeys(tops, index("https://example.co.uk/c.xml")), None, sitemaps=tops)
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_the_list_of_suffixes_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is read, however long that takes, others in the event loop have their turns."""
    init, loop = PublicSuffixList.__init__, asyncio.get_running_loop()
    begun, seen = asyncio.Event(), threading.Event()

    def read(self: PublicSuffixList) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert seen.wait(60), "the event loop stood still"
        init(self)

    async def beat() -> None:
        await begun.wait()
        for _ in range(10):
            await asyncio.sleep(0.001)
        seen.set()

    monkeypatch.setattr(PublicSuffixList, "__init__", read)
    urls._load.cache_clear()
    monkeypatch.setattr(urls, "site_of", inspect.unwrap(urls.site_of))
    async with asyncio.TaskGroup() as group:
        group.create_task(beat())
        group.create_task(walk_top({TOP: index("https://example.co.uk/c.xml")}))
    assert urls.has_suffixes()


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("http://10.0.0.1/t.xml", "http://10.0.0.1:81/c.xml", True),
        ("http://10.0.0.1/t.xml", "http://10.0.0.2/c.xml", False),
        ("http://[::1]/t.xml", "http://[::1]/c.xml", True),
        ("http://[::1]/t.xml", "http://[::2]/c.xml", False),
        ("http://alice.github.io/t.xml", "http://bob.github.io/c.xml", False),
        ("http://intranet/t.xml", "http://intranet/c.xml", True),
        ("http://intranet/t.xml", "http://wiki/c.xml", False),
    ],
)
async def test_sites(one: str, other: str, together: bool) -> None:
    """Addresses and public suffixes are no sites that hosts could share."""
    walked = await walk_top({one: index(other), other: urlset("http://x.y/")}, one)
    assert len(walked.locs) == together


@pytest.mark.parametrize(
    ("robots", "proven"),
    [
        ("https://other.net/robots.txt", True),
        ("https://www.example.co.uk/robots.txt", True),
        ("https://third.org/robots.txt", False),
    ],
)
async def test_cross_submits(robots: str, proven: bool) -> None:
    """A child elsewhere is fetched if robots.txt of its host, or of its parent's, lists it."""
    child = "https://other.net/c.xml"
    pages: Pages = {TOP: index(child), child: urlset("https://other.net/page")}
    pages[robots] = b"Sitemap: https://OTHER.net:443/c.xml"
    walked = await walk_top(pages)
    assert len(walked.locs) == proven
    assert walked.codes == ["cross-host-child"] * (not proven)


async def test_a_proven_index_has_its_own_children() -> None:
    """Children of an index elsewhere may lie there as well as at home."""
    elsewhere = "https://other.net/i.xml"
    pages: Pages = {
        ROBOTS: b"Sitemap: https://other.net/i.xml",
        elsewhere: index("https://other.net/c.xml", "https://example.org/d.xml", "https://x.com/e"),
        "https://other.net/c.xml": urlset("https://example.org/c"),
        "https://example.org/d.xml": urlset("https://example.org/d"),
        "https://x.com/e": urlset("https://example.org/e"),
    }
    walked = await walk_all(pages)
    assert sorted(walked.locs) == ["https://example.org/c", "https://example.org/d"]
    assert walked.codes == ["cross-host-child"]


async def test_a_redirected_index_keeps_its_home() -> None:
    """Children lie at home where the index was listed, and where it came from."""
    pages: Pages = {
        TOP: moved("https://cdn.net/t.xml", index("https://www.example.co.uk/c.xml", "d.xml")),
        "https://www.example.co.uk/c.xml": urlset("https://www.example.co.uk/c"),
        "https://cdn.net/d.xml": urlset("https://www.example.co.uk/d"),
    }
    assert len((await walk_top(pages)).locs) == 2


async def test_one_robots_txt_a_host() -> None:
    """robots.txt is asked for once a host and port, before the first child there."""
    children = [f"https://{host}.example.co.uk/{n}.xml" for host in "ab" for n in range(20)]
    pages: Pages = {TOP: index(*children)}
    pages |= {url: urlset("https://x.y/") for url in children}
    walked = await walk_top(pages)
    robots = [url for url in walked.requested if url.endswith("robots.txt")]
    assert sorted(robots) == [
        "https://a.example.co.uk/robots.txt",
        "https://b.example.co.uk/robots.txt",
    ]
    assert len(walked.locs) == 40


RULES = b"User-agent: *\nDisallow: /private/\nSitemap: https://example.org/private/listed.xml\n"
PRIVATE = "https://example.org/private/c.xml"


async def test_disallowed_children() -> None:
    """A child that robots.txt forbids is not fetched, unless the caller wants it all the same."""
    top = "https://example.org/t.xml"
    pages: Pages = {ROBOTS: RULES, top: index(PRIVATE, "https://example.org/c.xml")}
    pages |= {
        PRIVATE: urlset("https://x.y/1"),
        "https://example.org/c.xml": urlset("https://x.y/2"),
    }
    walked = await walk_top(pages, top)
    assert walked.locs == ["https://x.y/2"]
    assert walked.outcome(PRIVATE) == ("skipped", "robots-disallowed")
    (issue,) = [issue for issue in walked.report.issues if issue.code == "robots-disallowed"]
    assert (issue.sitemap, issue.url) == (top, PRIVATE)
    assert walked.report.complete
    walked = await walk_top(pages, top, respect_robots=False)
    assert len(walked.locs) == 2
    assert ROBOTS not in walked.requested


async def test_what_is_named_is_allowed() -> None:
    """What robots.txt lists, and what the caller gives, is fetched whatever the rules say."""
    listed = "https://example.org/private/listed.xml"
    pages: Pages = {
        ROBOTS: RULES,
        PRIVATE: urlset("https://x.y/1"),
        listed: urlset("https://x.y/2"),
    }
    walked = await walk_all(pages, SITE, sitemaps=[PRIVATE])
    assert sorted(walked.locs) == ["https://x.y/1", "https://x.y/2"]


@pytest.mark.parametrize("answer", [status(503), fault(IssueCode.TIMEOUT)])
async def test_robots_out_of_reach(answer: Exception) -> None:
    """A robots.txt that fails forbids probing, but not the children of what was named."""
    top = "https://example.org/t.xml"
    pages: Pages = {ROBOTS: answer, top: index(PRIVATE), PRIVATE: urlset("https://x.y/")}
    walked = await walk_top(pages, top)
    assert walked.locs == ["https://x.y/"]
    assert walked.codes == ["robots-unreachable", "out-of-scope"]


class Polite(MemoryFetcher):
    """Notes whom it is told to trust, and how long to wait."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages)
        self.trusted: list[str] = []
        self.delays: list[tuple[str, float]] = []

    def trust(self, url: str) -> None:
        self.trusted.append(url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        self.delays.append((host_url, seconds))


async def test_the_fetcher_is_told() -> None:
    """A fetcher that cares hears which URLs the user named, and the Crawl-delay for our agent."""
    robots = b"User-agent: *\nCrawl-delay: 9\nUser-agent: mine\nCrawl-delay: 900"
    pages: Pages = {ROBOTS: robots, "https://example.org/sitemap.xml": urlset("https://x.y/")}
    pages["https://other.net/a.xml"] = urlset()
    fetcher = Polite(pages)
    await walk_all_with(fetcher, options=FetchOptions(user_agent="mine/1.0"))
    assert fetcher.trusted == [SITE, "https://other.net/a.xml"]
    assert fetcher.delays == [(SITE, 60.0)]
    fetcher = Polite(pages)
    await walk_all_with(fetcher, respect_robots=False)
    assert fetcher.delays == []


async def walk_all_with(fetcher: MemoryFetcher, **arguments: Any) -> None:
    async with walk(
        SITE, sitemaps=["https://other.net/a.xml"], fetcher=fetcher, **arguments
    ) as entries:
        async for _ in entries:
            pass


async def test_what_a_discovery_found_can_be_walked() -> None:
    """What `discover` returns can be given to `walk`; robots.txt still speaks for its host."""
    pages: Pages = {ROBOTS: b"Sitemap: https://cdn.net/a.xml"}
    pages["https://cdn.net/a.xml"] = urlset("https://example.org/x")
    found = await discover(SITE, fetcher=MemoryFetcher(pages))
    walked = await walk_all(pages, None, sitemaps=found.sitemaps)
    assert walked.locs == ["https://example.org/x"]
    assert walked.codes == []
    guessed = SitemapEntry("https://example.org/none.xml", via=Via.WELL_KNOWN)
    walked = await walk_all({}, None, sitemaps=[guessed])
    assert walked.outcome(guessed.loc) == ("failed", "http-status")


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        (SitemapEntry(PRIVATE), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.GIVEN, sitemap=TOP), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.WELL_KNOWN), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.ROBOTS, sitemap=ROBOTS), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.INDEX, sitemap=SITE), ("skipped", "robots-disallowed")),
        (SitemapEntry(PRIVATE, via=Via.HTML, sitemap=SITE), ("skipped", "robots-disallowed")),
        (SitemapEntry(PRIVATE, via=Via.INDEX, sitemap=TOP), ("skipped", "cross-host-child")),
        (SitemapEntry(PRIVATE, via=Via.HEADER, sitemap=TOP), ("skipped", "cross-host-child")),
    ],
    ids=lambda value: (
        f"{value.via}-{bool(value.sitemap)}" if isinstance(value, SitemapEntry) else ""
    ),
)
async def test_an_entry_stays_what_it_is(entry: SitemapEntry, outcome: tuple[str, str]) -> None:
    """An entry that a document gave has no more rights because the caller passes it on."""
    pages: Pages = {ROBOTS: b"User-agent: *\nDisallow: /private", PRIVATE: urlset("https://x.y/")}
    fetcher = Polite(pages)
    async with walk(sitemaps=[entry], fetcher=fetcher) as entries:
        assert len([each async for each in entries]) == (outcome[0] == "complete")
    (document,) = [each for each in entries.report.documents if each.url == PRIVATE]
    assert (str(document.status), document.reason) == outcome
    own = not entry.sitemap or entry.via is Via.GIVEN
    assert fetcher.trusted == [PRIVATE] * own


async def test_robots_files_that_are_too_many_are_forgotten() -> None:
    """Rules of many hosts do not pile up; a forgotten file is asked for again."""
    big = b"#" * 400_000 + b"\nUser-agent: *\nDisallow: /private"
    hosts = [f"https://h{n}.example.co.uk" for n in range(5)]
    children = [f"{host}/{n}.xml" for n in range(2) for host in hosts]
    pages: Pages = {TOP: index(*children)}
    pages |= {f"{host}/robots.txt": big for host in hosts}
    pages |= {url: urlset("https://x.y/") for url in children}
    walked = await walk_top(pages, options=FetchOptions(concurrency=1))
    assert len(walked.locs) == 10
    assert len([url for url in walked.requested if url.endswith("robots.txt")]) == 10
