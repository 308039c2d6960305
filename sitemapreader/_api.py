"""The doors to a walk: `walk` for every URL of a site's sitemaps, `discover` for where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import without_await
from sitemapreader._read.robots import Robots
from sitemapreader._types.models import SitemapEntry
from sitemapreader._types.urls import check_url, url_key
from sitemapreader._walk.config import (
    SearchArguments,
    WalkArguments,
    make_config,
    refuse_unknown,
)
from sitemapreader._walk.walks import Walk
from sitemapreader.changes import open_state

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path
    from typing import Unpack

    from sitemapreader._types.issues import Issue, IssueCode
    from sitemapreader._types.outcomes import Document

__all__ = [
    "Discovery",
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
    The walk then runs in a thread of its own, which also calls `follow`, `on_document` and your
    fetcher.

    Args:
        site: URL of the site, whose sitemaps are searched as `discover` does. A URL with a path may
            be a sitemap or a feed, which is read instead, or a robots.txt in any folder, whose
            sitemaps are read. A `Path` or a `file:` URL is a folder, as in `FolderFetcher`, or a
            file, as in `sitemaps`.
        sitemaps: URLs of sitemaps, which are fetched even against robots.txt; or entries from
            `discover` or an index, to which the rules for such entries apply. Nothing is searched
            for these. If one is a robots.txt, the sitemaps in it are read. A `Path` or a `file:`
            URL is a file: its sitemaps are fetched from any host, and URLs in it must be absolute.
            Only files that you name are opened, and none with `trusted=False`.
        since: leave out entries whose `date` lies wholly before it. The date is their lastmod, else
            the publication date of news. A moment without a zone is UTC, a date is a day in UTC,
            and a timedelta is the time before now.
        until: leave out entries whose `date` begins after it, or after the end of a day.
        undated: "keep" (default) or "drop" entries without a date, with `since` and `until`. The
            report counts the ones that were kept.
        prune: with `since`, do not fetch children that their index dates before it; True by
            default.
        follow: function that gets every child in an index, and returns whether to fetch it. If all
            entries of a urlset look like sitemaps, it gets these, too: the ones that it takes are
            read, and the others are pages. Without `follow`, all are pages.
        order: order of the waiting sitemaps: as listed ("document", the default), or the "newest"
            first, by the lastmod in their index. Then undated children come last, the last of them
            first, and the children of an index wait until it is read to its end, because the
            newest may be the last.
        include: regular expressions, or globs such as "/blog/*"; leave out entries in whose loc
            none of them matches.
        exclude: regular expressions, or globs; leave out entries in whose loc one of them matches.
        unique: deliver each URL once, by `url_key`, which ignores fragments; 9 to 14 bytes a URL.
        language: codes, such as "en,de"; leave out entries with another `language`, or without one.
            "en" includes "en-GB".
        sample: deliver a uniform random sample of this many URLs, without duplicates, when all
            sitemaps are read. `Report.sampled_from` is the number of all URLs.
        seed: number that selects the sample; the same seed draws the same sample, in whatever order
            the sitemaps arrive.
        hosts: hosts whose children are fetched: the same "host" as the parent's, the same "site"
            (registrable domain; the default), or "any". A child on another host needs a robots.txt
            there that lists it.
        scope: "keep" (default) or "drop" entries outside the folder of their sitemap. Either way
            their number is in the report.
        probe: as in `discover`.
        extra_paths: as in `discover`.
        feeds: as in `discover`.
        map_hosts: hosts, and the hosts that are requested in their place, such as
            `{"https://www.acme.example": "https://staging.acme.example"}`. Entries, scope, rules of
            robots.txt, the state and the report have the names of the former. Logins and headers
            for these go to the latter, and to no host that only documents name.
        respect_robots: fetch no child that robots.txt forbids, and keep its Crawl-delay; True by
            default.
        extra_formats: formats to read besides sitemaps and feeds:
            "html", pages that you or the site name as sitemaps. Their links to the same site are
            the entries, with an Issue.
        state: a file, or a `State`, that remembers the walk. The next walk requests each document
            only if it has changed, and delivers nothing of an unchanged one, except entries that
            filters held back. A walk that was killed is resumed, and delivers at most the last 500
            entries once more.
        changes: deliver only entries that are new or differ from the previous walk, with `change`
            set. `Walk.unlisted` yields the URLs that no document lists any more, and `Walk.gone`
            the ones of these whose page is gone.
        unlisted: with `changes`, deliver at the end also the URLs that became unlisted, with
            `change` set to "unlisted". They are not in `report.entries`.
        gone: with `changes`, number of unlisted URLs whose page is requested at the end. Gone pages
            are delivered as well, with `change` set to "gone".
        revisit: with `changes`, number of documents to request: the ones in which most news is
            expected to have waited longest. The others are "not-due". A site that the state does
            not know is walked in full, and new sitemaps are read in addition.
        max_urls: maximum of delivered URLs. With a state, the next walk begins where this one
            stopped.
        max_time: time limit from the beginning, without the time for which you hold up the walk.
            The entries read until then are delivered. Of `walk_many`: for the whole run.
        on_document: function that gets each document when its outcome is known, including
            robots.txt and skipped ones, for progress and logs. It must not block. An exception that
            it raises ends the walk, which raises it.
        trusted: True (default) if you trust the sites that you name. The site, and the URLs in
            `sitemaps`, may then be on any port and at addresses that are not public, and they get
            `options.headers`. Pass False for names that others wrote: these are then strangers,
            like all URLs in documents.
        fetcher: object that opens URLs; it is not closed. By default an HttpFetcher is made, and
            closed. You may fetch with the same one inside the loop: documents that wait for you
            lend you their slots at a host.
        limits: limits of reading; the ones of an HttpFetcher are passed to it alone.
        options: options of fetching; the ones of an HttpFetcher are passed to it alone. With
            another fetcher, they set how many documents are read at once, and, if it has no
            `user_agent`, the name whose rules in robots.txt are kept.

    Raises TypeError or ValueError for wrong arguments. The walk raises StateError if
    the state's file cannot be used. Problems of documents never raise: see `Walk.report`.
    """
    refuse_unknown("walk", arguments, WalkArguments.__annotations__)
    if (state := arguments.get("state")) is not None:
        arguments["state"] = open_state(state)
    return Walk(make_config(site, **arguments))


walk_sync = walk
"""The same function: its result is entered with `with` or with `async with`."""


@attrs.frozen(eq=False)
class Discovery:
    """The result of a search.

    Attributes:
        sitemaps: the sitemaps that the site names, whether they respond or not, and the first
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
        site: URL of the site. A URL with a path, such as `https://example.org/blog/`, may be a
            sitemap or a feed; else the search begins below that path, and then at the root.
        fetcher: object that opens URLs; it is not closed. By default an HttpFetcher is made.
        options: options of fetching, as in `walk`.
        limits: limits of reading, as in `walk`.
        probe: when to try the well-known paths: "auto", if no sitemap that the site names responds;
            "few", then only `/sitemap.xml` and `/sitemap_index.xml`, for long lists of sites that
            often have no sitemap; "always"; or "never".
        extra_paths: paths to try before the well-known ones.
        feeds: also accept the feeds that the start page links to.
        map_hosts: hosts, and the hosts that are requested in their place, as in `walk`.
        respect_robots: do not try paths that robots.txt disallows, and none at all if robots.txt
            cannot be fetched (RFC 9309, section 2.3.1.4). Sitemaps that the site names are always
            tried.
        extra_formats: further formats of sitemaps: "html", pages that the site names as its
            sitemaps.
        trusted: True if you trust the site that you name, as in `walk`.

    Returns:
        The sitemaps, the robots.txt, and a report of the documents and their faults.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: an argument has an invalid value.
    """
    refuse_unknown("discover", arguments, SearchArguments.__annotations__)
    config = make_config(check_url("site", site), reads=False, **arguments)
    sitemaps: dict[str, SitemapEntry] = {}
    async with Walk(config) as found:
        async for event in found.events():
            if isinstance(event, SitemapEntry):
                sitemaps.setdefault(url_key(event.loc), event)
        robots = found.robots_of(site) or Robots()
    report = found.report
    issues = tuple(report.issues)
    documents = tuple(report.documents)
    return Discovery(tuple(sitemaps.values()), robots, issues, report.counts, documents)


discover_sync = without_await(discover)
