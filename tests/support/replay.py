"""Sites of a simulator on a real server, and a watch over them for which time passes at once.

The simulator says what each document shows at which hour. Here that becomes robots.txt, sitemaps
and feeds, on a host of its own for each site, with outages and moves to other hosts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from datetime import timedelta
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web
from clock import HOUR, PassingTime
from histories import START, Page, write_feed, write_list, write_moment, write_news
from serving import listen
from walking import index

from sitemapreader import State, walk_many, watch
from sitemapreader.models import Change
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    import pytest

    from sitemapreader.models import UrlEntry

_MOST = 100
"""URLs that appear or go at one moment: the simulator counts no more."""
_NEVER = 1e18
_ANSWERS = ((503, 0), (429, 900), (500, 0), (429, 5400))
"""Status and Retry-After of an outage."""


class SkippedTime(PassingTime):
    """The time of a replay.

    Attributes:
        wrong_by: seconds by which the clock of the watch is wrong.
        planned: the days at which something happens, in order, and what.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wrong_by = 0.0
        self.planned: list[tuple[float, Callable[[], Awaitable[None]]]] = []

    @property
    def hour(self) -> float:
        """Hours since the beginning, as the servers see it."""
        return self.passed / HOUR

    def read(self) -> float:
        """Return the seconds since 1970 by the clock of the watch."""
        return START + self.passed + self.wrong_by

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        await super().sleep(seconds)
        while self.planned and self.planned[0][0] <= self.hour / 24:
            await self.planned.pop(0)[1]()


class ReplayedSite:
    """A site of the simulator, and what its servers answer.

    Args:
        site: what the simulator says of it.
        number: another one for each site.
        moves_at: the hour in which it moves to another host.
        is_renamed: whether its sitemaps list that host from then on.
    """

    def __init__(self, site: Any, number: int, moves_at: float, *, is_renamed: bool) -> None:
        self.site, self.port, self.has_outages = site, 0, True
        self.hosts = f"site{number}.localhost", f"moved{number}.localhost"
        self._moves_at, self._is_renamed = moves_at, is_renamed
        site.urls = array("l", (min(each, _MOST) for each in site.urls))
        self._docs: list[Any] = site.docs
        self._shown: dict[int, list[tuple[Any, float]]] = {}
        self._dropped: dict[Any, list[int]] = {}
        for doc in site.docs:
            self._dropped[doc] = [0, *accumulate(min(each, _MOST) for each in doc.gone_n)]
            for at, batch in zip(doc.times, doc.batches, strict=True):
                self._shown.setdefault(batch, []).append((doc, at))

    # -- the truth

    def base(self, hour: float) -> str:
        """Return the address that its sitemaps name."""
        host = self.hosts[self._is_renamed and hour >= self._moves_at]
        return f"http://{host}:{self.port}/"

    def lists(self, url: str, hour: float) -> bool:
        """Return whether a page is listed at an hour."""
        base = self.base(hour)
        if not url.startswith(base):
            return False
        name, _, number = url.removeprefix(base).partition("-")
        if name.startswith("new"):
            found = self._shown.get(int(name[3:]), ())
            return any(_is_alive(doc, hour) and _has(doc, at, hour) for doc, at in found)
        doc = self._docs[int(name[3:])]
        return _is_alive(doc, hour) and int(number) >= self._count_dropped(doc, hour)

    def list_all(self, hour: float) -> set[str]:
        """Return all pages that are listed at an hour."""
        docs = (doc for doc in self._docs if doc.kind != "index" and _is_alive(doc, hour))
        return {page.url for doc in docs for page in self._list(doc, hour)}

    def _count_dropped(self, doc: Any, hour: float) -> int:
        return self._dropped[doc][bisect_right(doc.gone, hour)]

    def _list(self, doc: Any, hour: float) -> Iterator[Page]:
        """Yield the pages that a document lists."""
        base, first, end = self.base(hour), 0, bisect_right(doc.times, hour)
        if doc.items:
            first = max(0, end - doc.items)
        elif doc.hours:
            first = bisect_right(doc.times, hour - doc.hours)
        touched = hour if doc.lies else _find_last(doc.touched, hour)
        date = _date(touched) if doc.lies or doc.touched else ""
        for at, batch in zip(doc.times[first:end], doc.batches[first:end], strict=True):
            for number in range(self.site.urls[batch]):
                yield Page(f"{base}new{batch}-{number}", at, "", lastmod=date)
        if not doc.items and not doc.hours:  # what was there before, some of which will go
            k, dropped = self._docs.index(doc), self._dropped[doc]
            few = 1 if doc.born > 0 else 10 + 2 * min(_MOST, max(doc.gone_n, default=0))
            for number in range(self._count_dropped(doc, hour), dropped[-1] + few):
                yield Page(f"{base}old{k}-{number}", 0, "", lastmod=date)

    # -- what the servers answer

    def answer(self, request: web.Request, hour: float) -> web.StreamResponse:
        """Answer a request at an hour."""
        for number, (begin, end) in enumerate(self.site.down):
            if self.has_outages and begin <= hour <= end:
                status, seconds = _ANSWERS[(number + len(self._docs)) % len(_ANSWERS)]
                headers = {"Retry-After": str(seconds)} if seconds else {}
                return web.Response(status=status, headers=headers)
        has_moved = hour >= self._moves_at
        if request.host.startswith(self.hosts[0]) and has_moved:
            target = f"http://{self.hosts[1]}:{self.port}{request.path}"
            return web.Response(status=301 + 7 * self._is_renamed, headers={"Location": target})
        name = request.path[1:].partition(".")[0]
        if name == "robots":
            return web.Response(text=self._write_robots(hour))
        doc = self._docs[int(name)] if name.isdecimal() and int(name) < len(self._docs) else None
        if doc is None or not _is_alive(doc, hour):
            return web.Response(status=404)
        body = self._write(doc, hour)
        headers = {"ETag": f'"{blake2b(body, digest_size=6).hexdigest()}"'} if doc.etag else {}
        if headers and request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers, content_type="text/plain")

    def _write_robots(self, hour: float) -> str:
        base = self.base(hour)
        roots = (k for k, doc in enumerate(self._docs) if doc.parent is None)
        return "".join(f"Sitemap: {base}{k}.xml\n" for k in roots)

    def _write(self, doc: Any, hour: float) -> bytes:
        if doc.kind == "index":
            return self._write_index(doc, hour)
        pages = list(self._list(doc, hour))
        if doc.items:
            return write_feed("rss", pages)
        return write_news(pages) if doc.hours else write_list(pages)

    def _write_index(self, doc: Any, hour: float) -> bytes:
        end = bisect_right(doc.changes, hour, key=lambda change: float(change[0]))
        said = {child: at for at, child in doc.changes[:end]}
        lines = []
        for child in doc.children:
            if not _is_alive(child, hour):
                continue
            at = said.get(child, child.born or -1.0)
            if doc.lastmod in ("now", "rebuild"):
                at = hour if doc.lastmod == "now" else _find_last(doc.touched, hour)
            length = {"absent": 0, "day": len("2026-01-01")}.get(doc.lastmod)
            lines.append((f"{self.base(hour)}{self._docs.index(child)}.xml", _date(at)[:length]))
        return index(*lines)


def _is_alive(doc: Any, hour: float) -> bool:
    return bool(doc.born <= hour <= doc.dies)


def _has(doc: Any, at: float, hour: float) -> bool:
    """Return whether a document lists at an hour what it has listed first at another."""
    if doc.items:
        return bool(0 <= bisect_right(doc.times, hour) - bisect_right(doc.times, at) < doc.items)
    return at <= hour and (not doc.hours or at > hour - doc.hours)


def _find_last(times: Any, hour: float) -> float:
    number = bisect_right(times, hour)
    return float(times[number - 1]) if number else -1.0


def _date(hour: float) -> str:
    return write_moment(START + hour * HOUR)


class Replay:
    """A watch over sites of a simulator for some days, and what was told of them.

    With `has_moves` each sixth site moves to another host at half time.

    Attributes:
        time: its hours.
        told: how often each URL was told as new.
        removed: the URLs that were told as removed.
        delays: hours from a publication until it was told, as the simulator counts them.
        wrong: what must not be, in words.
        requests: the hour and the host of each request.
    """

    def __init__(
        self, simulator: Any, world: list[Any], days: int, *, has_moves: bool = True
    ) -> None:
        self.time = SkippedTime()
        self.told: Counter[str] = Counter()
        self.removed: set[str] = set()
        self.wrong: list[str] = []
        self.requests: list[tuple[float, str]] = []
        self._max_time, self._warm_up = timedelta(days=days), float(simulator.WARM_UP)
        self.sites = []
        for number, site in enumerate(world):
            site.number = number
            at = days * 12 if has_moves and number % 6 == 5 else _NEVER
            self.sites.append(ReplayedSite(site, number, at, is_renamed=number % 12 == 5))
        self.delays = simulator.Delays(world)
        self._by_host = {host: site for site in self.sites for host in site.hosts}
        self._found: set[tuple[int, int]] = set()
        self._known: set[str] = set()

    async def run(self, db: Path, patch: pytest.MonkeyPatch, pace: float = 1.0) -> None:
        """Watch the sites, then read all of them once more."""
        patch.setattr("sitemapreader.many.watch.asyncio", self.time)
        async with listen(self._answer) as base:
            port = int(base.rpartition(":")[2])
            for site in self.sites:
                site.port = port
                self._known |= site.list_all(0)
            names = [site.base(0) for site in self.sites]
            always: dict[str, Any] = {
                "state": State(db, clock=self.time.read, revalidate_after=timedelta(0)),
                "options": FetchOptions(allow_networks=("127.0.0.0/8",), allow_ports=(port,)),
            }
            ends = self._max_time
            async with watch(names, pace=pace, tick_seconds=300, max_time=ends, **always) as found:
                async for entry in found:
                    self._take(entry)
            for site in self.sites:
                site.has_outages = False
            run = walk_many(names, changes=True, removed=True, unique=True, **always)
            async with run:
                async for _, entries in run.batches():
                    for entry in entries:
                        self._take(entry)
        self._judge()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        host = request.host.partition(":")[0]
        self.requests.append((self.time.hour, host))
        return self._by_host[host].answer(request, self.time.hour)

    def _take(self, entry: UrlEntry) -> None:
        """Judge an entry, and count for how long its URL had been there."""
        site, hour = self._by_host[str(urlsplit(entry.loc).hostname)], self.time.hour
        if entry.change is Change.REMOVED:
            self.removed.add(entry.loc)
            if site.lists(entry.loc, hour):
                self.wrong.append(f"{entry.loc} lives, removed at {hour:.0f} h")
        elif entry.change is Change.NEW:
            self.told[entry.loc] += 1
            if self.told[entry.loc] > 1 or entry.loc in self._known:
                self.wrong.append(f"{entry.loc} was known, new again at {hour:.0f} h")
            if not site.lists(entry.loc, hour):
                self.wrong.append(f"{entry.loc} is not listed, new at {hour:.0f} h")
            batch, _, _ = urlsplit(entry.loc).path.removeprefix("/new").partition("-")
            if batch.isdecimal():
                self._find(site.site, int(batch), hour)

    def _find(self, site: Any, batch: int, hour: float) -> None:
        if (site.number, batch) not in self._found:
            self._found.add((site.number, batch))
            if site.published[batch] >= self._warm_up:
                self.delays.add(site, hour - site.published[batch], site.urls[batch])

    def _judge(self) -> None:
        """Find what was never told."""
        for site in self.sites:
            listed = site.list_all(self.time.hour)
            untold = listed - self._known - self.told.keys()
            self.wrong += (f"{url} was never told" for url in sorted(untold))
