"""The doors to a walk: `walk` for every URL of a site's sitemaps, `discover` for where they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import without_await
from sitemapreader._read.robots import Robots
from sitemapreader._types.arguments import Changes
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.models import SitemapEntry
from sitemapreader._types.urls import check_url, url_key
from sitemapreader._walk.config import make_config
from sitemapreader._walk.stream import without_async
from sitemapreader._walk.walks import Walk

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from sitemapreader._types.arguments import (
        Follow,
        KnownState,
        Memory,
        Sample,
        Search,
        TakeChild,
    )
    from sitemapreader._types.dates import When
    from sitemapreader._types.issues import Issue, IssueCode
    from sitemapreader._types.options import FetchOptions, Limits
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.config import OnDocument, OnIssue, Sitemaps
    from sitemapreader._walk.selection import Patterns, Scope, Undated
    from sitemapreader.changes import State
    from sitemapreader.fetch.client import Fetcher

__all__ = ["Discovery", "discover", "discover_sync", "walk", "walk_sync"]


def open_changes(state: Memory) -> tuple[State | None, Changes | None]:
    """Return the state that the argument `state` means, and the changes that it asks for."""
    if state is None:
        return None, None
    if isinstance(state, Changes):
        return open_state(state.state), state
    return open_state(state), None


def open_state(state: str | Path | KnownState) -> State:
    """Return the state of a file, or one that was made."""
    from sitemapreader.changes import State  # noqa: PLC0415 (few walks have one)

    if isinstance(state, State):
        return state
    if not isinstance(state, str | Path):
        raise TypeError(f"state must be a file or a State, got {state!r}")
    return State(state)


@answer_keywords()
def walk(
    site: str | Path | None = None,
    *,
    sitemaps: Sitemaps = (),
    since: When | None = None,
    until: When | None = None,
    undated: Undated = "keep",
    include: Patterns = (),
    exclude: Patterns = (),
    language: str | Iterable[str] = (),
    unique: bool = False,
    scope: Scope = "keep",
    sample: int | Sample | None = None,
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    state: Memory = None,
    on_document: OnDocument | None = None,
    on_issue: OnIssue | None = None,
    trusted: bool = True,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> Walk:
    """Walk over the sitemaps of a site, or over given ones, and all below them.

    ```python
    async with walk("https://example.org/") as entries:
        async for entry in entries:
            print(entry.loc, entry.lastmod)
    print(entries.report.counts)
    ```

    Args:
        site: URL of a site, a sitemap, a feed or a robots.txt; a `Path` is a folder or a file.
        sitemaps: URLs, paths or entries of sitemaps, for which nothing is searched.
        since: leave out entries whose `date` lies before it: a datetime, a date or a timedelta.
        until: leave out entries whose `date` begins after it.
        undated: "keep" or "drop" entries without a date, with `since` and `until`.
        include: regular expressions, or globs such as `/blog/*`; leave out any other loc.
        exclude: regular expressions, or globs; leave out entries in whose loc one matches.
        language: codes, such as "en,de"; leave out entries with another one, or without one. The
            code "und" stands for none: "en,und" keeps these.
        unique: deliver each URL once, by `url_key`; takes 9 to 14 bytes a URL.
        scope: "keep" or "drop" entries outside the folder of their sitemap.
        sample: a number of URLs, or a `Sample`: deliver a random sample at the end.
        search: a `Search`: how sitemaps are searched, feeds and further formats.
        follow: a `Follow`, or a function of a SitemapEntry: which children are read.
        state: a file or a `State`, which remembers the walk, or `Changes`: only differences.
        on_document: function that gets each Document when its outcome is known.
        on_issue: function that gets each Issue, also beyond the first ten of its code.
        trusted: False if strangers wrote the names: then only public addresses are requested.
        fetcher: object that opens URLs, which is not closed; an HttpFetcher by default.
        limits: how much is read, at most: URLs, time, bytes.
        options: how the network is used; an HttpFetcher has its own.

    Raises TypeError or ValueError for wrong arguments; problems of documents are in `Walk.report`.
    """
    opened, changes = open_changes(state)
    return Walk(
        make_config(
            site,
            sitemaps=sitemaps,
            since=since,
            until=until,
            undated=undated,
            include=include,
            exclude=exclude,
            language=language,
            unique=unique,
            scope=scope,
            sample=sample,
            search=search,
            follow=follow,
            state=opened,
            changes=changes,
            on_document=on_document,
            on_issue=on_issue,
            trusted=trusted,
            fetcher=fetcher,
            limits=limits,
            options=options,
        )
    )


walk_sync = without_async(walk)


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


@answer_keywords()
async def discover(
    site: str,
    *,
    search: Search | None = None,
    trusted: bool = True,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> Discovery:
    """Find the sitemaps of a site; read only the beginning of each.

    Args:
        site: URL of the site. A URL with a path, such as `https://example.org/blog/`, may be a
            sitemap or a feed; else the search begins below that path, and then at the root.
        search: how sitemaps are searched: which paths are tried, feeds and further formats.
        trusted: True if you trust the site that you name, as in `walk`.
        fetcher: object that opens URLs; it is not closed. By default an HttpFetcher is made.
        limits: limits of reading, as in `walk`.
        options: options of fetching, as in `walk`.

    Returns:
        The sitemaps, the robots.txt, and a report of the documents and their faults.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: an argument has an invalid value.
    """
    config = make_config(
        check_url("site", site),
        reads=False,
        search=search,
        trusted=trusted,
        fetcher=fetcher,
        limits=limits,
        options=options,
    )
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
