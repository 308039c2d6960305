"""Walks over one site day after day, and a diary of what each of them told."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader import FetchOptions, State, walk
from sitemapreader._types.models import Change
from sitemapreader.fetch import MemoryFetcher
from tests.support.clock import DAY
from tests.support.grouping import grouped
from tests.support.serving import Answer
from tests.support.walking import SITE, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from aiohttp import web

    from tests.support.clock import SetClock

LIMIT = 100
"""How many pages a walk may ask."""


@attrs.frozen
class Day:
    """What one walk told; URLs are relative to the site.

    Attributes:
        number: the day, counted from 0.
        new: URLs that were delivered as new.
        changed: URLs that were delivered as changed.
        unlisted: URLs that became unlisted.
        gone: URLs whose page became gone.
        waiting: how many URLs may become unlisted.
        left: how many URLs left a window.
        requested: the URLs that the fetcher was asked for; empty with a real server.
    """

    number: int
    new: list[str]
    changed: list[str]
    unlisted: list[str]
    gone: list[str]
    waiting: int
    left: int
    requested: list[str]


class Diary:
    """Walks over one site, a day apart, with one state.

    Attributes:
        days: what each walk told.
        at: days since the first walk.
        base: what is cut from the beginning of URLs.
        state: what the walks remember.
    """

    def __init__(
        self,
        db: Path,
        clock: SetClock,
        *,
        site: str = SITE,
        base: str = SITE,
        **options: Any,
    ) -> None:
        self.days: list[Day] = []
        self.at = 0.0
        self.base = base
        self._site = site
        self.state = State(db, **options)
        self._clock = clock

    async def walk(
        self,
        pages: Mapping[str, Any] | None = None,
        *,
        later: float = DAY,
        asks: bool = True,
        **arguments: Any,
    ) -> Day:
        """Let time pass, walk once, and write down what was told.

        Args:
            pages: the site in memory; `None` for a real server.
            later: the seconds since the last walk.
            asks: whether the walk is asked what is unlisted and gone.
            arguments: more arguments of `walk`.
        """
        if self.days:
            self._clock.now += later
            self.at += later / DAY
        fetcher = None if pages is None else MemoryFetcher(pages)
        given: dict[str, Any] = {"state": self.state, "changes": True} | arguments
        if fetcher is None:
            given.setdefault("options", FetchOptions(max_attempts=1))
        entries = walk(self._site, fetcher=fetcher, **grouped(given))
        found: dict[Change | None, list[str]] = {}
        unlisted: list[str] = []
        gone: list[str] = []
        async with entries:
            async for entry in entries:
                found.setdefault(entry.change, []).append(self._cut(entry.loc))
            if asks and entries.report.unlisted is not None:
                unlisted = [self._cut(row.loc) for row in entries.unlisted()]
                gone = [self._cut(page.loc) async for page in entries.gone(limit=LIMIT)]
        report = entries.report
        day = Day(
            number=len(self.days),
            new=found.get(Change.NEW, []),
            changed=found.get(Change.CHANGED, []),
            unlisted=unlisted,
            gone=gone,
            waiting=report.waiting or 0,
            left=report.left or 0,
            requested=[self._cut(url) for url in fetcher.requested] if fetcher else [],
        )
        self.days.append(day)
        return day

    async def live(
        self, days: int, serve: Callable[[int], Mapping[str, Any]], **arguments: Any
    ) -> None:
        """Walk over a site in memory, once a day; `serve` has its pages by the day."""
        for _ in range(days):
            await self.walk(serve(len(self.days)), **grouped(arguments))

    def _cut(self, url: str) -> str:
        return url.removeprefix(self.base)

    # -- what was told

    @property
    def new(self) -> Counter[str]:
        """How often each URL was new."""
        return Counter(url for day in self.days for url in day.new)

    @property
    def changed(self) -> Counter[str]:
        """How often each URL was changed."""
        return Counter(url for day in self.days for url in day.changed)

    @property
    def unlisted(self) -> dict[str, int]:
        """The day on which each URL became unlisted."""
        return {url: day.number for day in self.days for url in day.unlisted}

    @property
    def gone(self) -> dict[str, int]:
        """The day on which each page became gone."""
        return {url: day.number for day in self.days for url in day.gone}

    @property
    def told(self) -> dict[str, int]:
        """The day on which each URL became unlisted or gone, whichever was first."""
        both = [*self.unlisted.items(), *self.gone.items()]
        return {url: min(day for each, day in both if each == url) for url, _ in both}

    def waits(self, begin: int, end: int) -> list[int]:
        """Return how many URLs waited on the days from `begin` to the one before `end`."""
        return [day.waiting for day in self.days[begin:end]]


def lists(*names: str) -> bytes:
    """Write a sitemap of pages of the site."""
    return urlset(*(SITE + name for name in names))


def named(*names: str, rules: str = "") -> bytes:
    """Write a robots.txt that names sitemaps of the site."""
    lines = "".join(f"Sitemap: {SITE}{name}\n" for name in names)
    return f"User-agent: *\n{rules}\n{lines}".encode()


def alive(names: Iterable[str]) -> dict[str, bytes]:
    """Return what pages of the site answer while they live."""
    return {SITE + name: b"<p>A page" for name in names}


def never(url: str) -> bool:
    """Return that no request for a URL fails."""
    del url
    return False


@attrs.define
class Host:
    """What a real server answers: a sitemap of what is listed, and the pages that live.

    Attributes:
        listed: targets of requests, as they are written, that the sitemap lists.
        live: those that answer 200.
        answers: what others answer; all that remain are 404.
        fails: whether a request is answered by 404 in a minute of trouble.
        begins: the targets whose first request begins the minute.
        rules: lines of robots.txt.
        sitemap: where the sitemap is; robots.txt names `/map.xml`.
        in_trouble: whether the minute lasts.
        asked: the targets of all requests.
    """

    listed: list[str]
    live: set[str]
    answers: dict[str, Any] = attrs.field(factory=dict)
    fails: Callable[[str], bool] = never
    begins: set[str] = attrs.field(factory=set)
    rules: str = ""
    sitemap: str = "/map.xml"
    in_trouble: bool = False
    asked: list[str] = attrs.field(factory=list)

    def answer(self, request: web.Request) -> Any:
        """Answer a request by its target, exactly as it was sent."""
        target = request.raw_path
        self.asked.append(target)
        if target == "/robots.txt":
            return f"User-agent: *\n{self.rules}\nSitemap: http://{request.host}/map.xml\n".encode()
        if target == self.sitemap:
            urls = (f"http://{request.host}{path}" for path in self.listed)
            return urlset(*(url.replace("&", "&amp;") for url in urls))
        if target in self.begins:
            self.in_trouble = True
            self.begins = set()
        if self.in_trouble and self.fails(target):
            return 404
        if target in self.answers:
            return self.answers[target]
        return Answer(b"<p>A page") if target in self.live else 404
