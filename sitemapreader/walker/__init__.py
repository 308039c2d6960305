"""Walks: every URL of a site's sitemaps as a stream, or only where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.event_loop import without_await
from sitemapreader.models import SitemapEntry
from sitemapreader.readers.robots import Robots
from sitemapreader.urls import check_url, url_key
from sitemapreader.walker.config import SearchArguments, WalkArguments, make_config, refuse_unknown
from sitemapreader.walker.walks import Walk

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path
    from typing import Unpack

    from sitemapreader.issues import Issue, IssueCode
    from sitemapreader.outcomes import Document

__all__ = [
    "Discovery",
    "Walk",
    "WalkArguments",
    "discover",
    "discover_sync",
    "walk",
    "walk_sync",
]


def walk(site: str | Path | None = None, **arguments: Unpack[WalkArguments]) -> Walk:
    """Walk over the sitemaps of a site, or over given ones, and all below them.

    ```python
    async with walk("https://example.org/") as entries:
        async for entry in entries:
            print(entry.loc, entry.lastmod)
    print(entries.report.counts)
    ```

    Without `await`, write `with walk_sync(...)` and `for`, in a notebook as well: it streams, too.
    The walk runs in a thread of its own then, which also calls `follow`, `on_document` and your
    fetcher.

    Args:
        site: its URL; its sitemaps are searched as `discover` does it. A URL with a path may be
            that of a sitemap or a feed, which is read instead, or of a robots.txt in any folder,
            whose sitemaps are. A `Path` or a `file:` URL is a folder, as `FolderFetcher` has it,
            or a file like those in `sitemaps`.
        sitemaps: URLs of sitemaps, which are fetched even against robots.txt; or entries that
            `discover` or an index gave, to which the rules for such entries apply. Nothing is
            searched for these. Of a robots.txt, what it lists is read. A `Path` or a `file:` URL
            is a file: the sitemaps that it lists are fetched from whatever host, and URLs in it
            must be absolute. Only files that you name are opened, none with `trusted=False`.
        since: leave out entries whose `date` lies wholly before: their lastmod, else the
            publication date of news. A moment without a zone is UTC, a date a day in UTC, and a
            timedelta the time before now.
        until: leave out entries whose `date` begins after: of a date, after that day.
        undated: what `since` and `until` do with entries that have no date: "keep" (as by default)
            or "drop". The report counts those that were kept.
        prune: with `since`, do not fetch children that their index says are older; True by default.
        follow: called with every child in an index; returns whether to fetch it. It is asked about
            the entries of a urlset, too, if all of them look like sitemaps: those that it takes
            are read, and the others are pages, as all are without `follow`.
        order: which of the sitemaps that wait are fetched first: as they are listed ("document"; as
            by default), or the "newest" by the lastmod in their index. Undated children come last
            then, the last of them first; and the children of an index wait until it is read to its
            end, where the newest may be.
        include: regular expressions; leave out entries whose loc none of them is found in.
        exclude: regular expressions; leave out entries whose loc one of them is found in.
        unique: give each URL once (`url_key` decides: no fragment counts); 9 to 14 bytes a URL.
        language: codes, as "en,de"; leave out entries whose `language` is none of these, and those
            that do not say it. "en" stands for "en-GB" as well.
        sample: deliver so many URLs, drawn from all, each once, when all sitemaps are read; each is
            as likely as any other. `Report.sampled_from` has the number of all.
        seed: another one draws another sample; the same one draws the same, in whatever order the
            sitemaps arrive.
        hosts: which children are fetched: those on the same "host" as what led to them, on the same
            "site" (registrable domain; the default), or "any". One elsewhere needs a robots.txt
            that lists it.
        scope: what to do with entries outside the folder of their sitemap: "keep" (as by default)
            or "drop". Either way their number is in the report.
        probe: as `discover` has it.
        extra_paths: as `discover` has it.
        feeds: as `discover` has it.
        map_hosts: hosts, and the hosts that are asked in their place, such as
            `{"https://www.acme.example": "https://staging.acme.example"}`: entries, scope, rules of
            robots.txt, the state and the report have the names of the former. Logins and headers
            for these go to the latter, and to no host that only documents name.
        respect_robots: fetch no child that robots.txt forbids, and keep to its Crawl-delay; True by
            default.
        extra_formats: what is read besides sitemaps and feeds:
            "html", pages that you or the site name as sitemaps. Their links to the same site are
            the entries; an Issue says so.
        state: a file, or a `State`, that remembers the walk. The next one asks for each document
            only if it has changed, and delivers nothing of one that has not, except what filters
            kept back; a walk that was killed is resumed, and delivers at most the last 500 entries
            once more.
        changes: deliver only entries that are new or differ from those of the previous walk, with
            `change` set. `Walk.unlisted` gives those that no document lists any more, `Walk.gone`
            those of them whose page answers that it is gone.
        unlisted: with `changes`, deliver at the end also the URLs that became unlisted, with
            `change` set to "unlisted". They are not in `report.entries`.
        gone: with `changes`, of how many unlisted URLs the page is asked at the end; those that are
            gone are delivered as well, with `change` set to "gone".
        revisit: with `changes`, how many documents are asked for: those in which most news is
            expected to have waited longest. The others are "not-due"; a site that the state does
            not know is walked in full, and sitemaps that are new are read besides.
        max_urls: how many URLs are delivered. With a state, the next walk begins where this one
            stopped.
        max_time: how long it may take from its beginning, without that for which you hold it up;
            what was read until then is delivered. Of `walk_many`: the whole run.
        on_document: called with each document when its outcome is known, robots.txt and skipped
            ones included; for progress and logs. It must not block. An exception that it raises
            ends the walk, which raises it.
        trusted: whether you trust the sites that you name, as by default. The site, and the URLs in
            `sitemaps`, may then lie on any port and at addresses that are not public, and they are
            sent `options.headers`. Pass False for names that others wrote: then these are
            strangers, like all URLs in documents.
        fetcher: opens URLs; it is not closed. Without one, an HttpFetcher is made, and closed. You
            may fetch with the same one inside the loop: documents that wait for you lend you their
            slots at a host.
        limits: how much is read; those of an HttpFetcher are given to it alone.
        options: how the network is used; those of an HttpFetcher are given to it
            alone. With another fetcher: how many documents are read at once; and, if it has no
            `user_agent`, the name whose rules in robots.txt are kept.

    Raises TypeError or ValueError for arguments that make no sense. The walk raises StateError if
    the state's file cannot be used. Problems of documents never raise: see `Walk.report`.
    """
    refuse_unknown("walk", arguments.keys() - WalkArguments.__annotations__.keys())
    return Walk(make_config(site, **arguments))


walk_sync = walk
"""The same function: what it returns is entered with `with` or with `async with`."""


@attrs.frozen(eq=False)
class Discovery:
    """The result of a search.

    Attributes:
        sitemaps: the sitemaps that the site names, whether they answer or not, and the first
            guessed path that is one.
        robots: its robots.txt.
        issues: the first Issues of each code.
        counts: the number of Issues by code.
        documents: the outcomes of all that was fetched.
    """

    sitemaps: tuple[SitemapEntry, ...]
    robots: Robots
    issues: tuple[Issue, ...]
    counts: Counter[IssueCode]
    documents: tuple[Document, ...]


async def discover(site: str, **arguments: Unpack[SearchArguments]) -> Discovery:
    """Find the sitemaps of a site; read only the beginning of each.

    Args:
        site: its URL; one with a path, such as `https://example.org/blog/`, may be a sitemap or a
            feed, and is else searched below that path first, then at the root.
        fetcher: opens URLs; it is not closed. Without one, an HttpFetcher is made.
        options: how the network is used; as in `walk`.
        limits: how much is read; as in `walk`.
        probe: whether the well-known paths are tried: "auto", if no sitemap that the site names
            answers; "few", then only `/sitemap.xml` and `/sitemap_index.xml`, for long lists of
            sites of which many have no sitemap; "always"; or "never".
        extra_paths: paths to try before the well-known ones.
        feeds: also accept the feeds that the start page links to.
        map_hosts: hosts, and those that are asked in their place, as in `walk`.
        respect_robots: do not try paths that robots.txt disallows, and none at all if robots.txt
            cannot be fetched (RFC 9309, section 2.3.1.4). What the site names is always tried.
        extra_formats: what else counts as a sitemap: "html", pages that the site names as its
            sitemaps.
        trusted: whether you trust the site that you name, as in `walk`.

    Returns:
        The sitemaps, the robots.txt, and a report of what was fetched and what was wrong.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: an argument has a value that cannot be meant.
    """
    refuse_unknown("discover", arguments.keys() - SearchArguments.__annotations__.keys())
    config = make_config(check_url("site", site), reads=False, **arguments)
    sitemaps: dict[str, SitemapEntry] = {}
    async with Walk(config) as found:
        async for event in found.events():
            if isinstance(event, SitemapEntry):
                sitemaps.setdefault(url_key(event.loc), event)
        robots = found.robots_of(site) or Robots()
    report = found.report
    issues, documents = tuple(report.issues), tuple(report.documents)
    return Discovery(tuple(sitemaps.values()), robots, issues, report.counts, documents)


discover_sync = without_await(discover)
