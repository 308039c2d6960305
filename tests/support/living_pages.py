"""The pages of a site over many days: they change, move and die, and their server lies."""

from __future__ import annotations

import random
from collections import Counter

import attrs
from aiohttp import web
from histories import HOUR, START, Page, Site, write_moment

from sitemapreader.fetch.local import StoredResponse

_LIES = ("404", "410", "302", "500", "403", "short")
"""What pages may answer for a day."""
_OUTAGES = ("500", "503", "403")
"""What they may answer for three days."""


@attrs.define
class Text:
    """What one page says.

    Attributes:
        version: of its text.
        since: the hour in which it got that.
        moved_to: where it leads since it was moved.
    """

    version: int = 0
    since: float = 0.0
    moved_to: str = ""


class LivingPages:
    """The pages of a site, and what its server answers for each.

    Attributes:
        site: their sitemaps.
        asked: how often pages were asked.
        unchanged: how often one answered with a text that had not changed since it was asked last.
    """

    def __init__(self, seed: int, base: str, sizes: tuple[int, int]) -> None:
        self.site = Site(seed, base, sizes=sizes)
        self._random = choose = random.Random(seed + 1)
        self.dates = choose.choice(("honest", "honest", "none", "now", "still", "mixed"))
        self.tags = choose.choice(("none", "honest", "honest", "constant"))
        self._texts: dict[str, Text] = {}
        self._lie, self._lying, self._end, self._last = "", frozenset[str](), 0.0, -100.0
        self.asked: Counter[str] = Counter()
        self._date()

    def text_of(self, url: str) -> str:
        return f"The page {url} in version {self._texts.setdefault(url, Text()).version}"

    def since(self, url: str) -> float:
        """Return the hour in which a page got its present text."""
        return max(self._texts[url].since, self.site.pages[url].born)

    @property
    def is_quiet(self) -> bool:
        """Whether pages and sitemaps have told the truth for two days."""
        return not self._lie and self.site.hour - self._last > 48 and self.site.is_quiet

    def date_of(self, page: Page) -> str:
        """Return how a page is dated: honestly, never, with each day, or for ever the same."""
        kinds = ("honest", "none", "now", "still")
        return kinds[sum(page.url.encode()) % 4] if self.dates == "mixed" else self.dates

    def advance(self, hours: float) -> None:
        """Let time pass: texts change, pages move and leave their lists, a lie begins or ends."""
        site, choose = self.site, self._random
        site.advance(hours)
        listed = sorted(site.listed)
        for url in sorted(site.live):
            if choose.random() < 0.004 * hours / 12:
                text = self._texts.setdefault(url, Text())
                text.version, text.since = text.version + 1, site.hour
        if listed and choose.random() < 0.3:  # a page gets another address
            old = site.pages[choose.choice(listed)]
            new = f"{old.url}-moved"
            if new not in site.pages:
                site.pages[new] = Page(new, site.hour, old.home)
                old.dead = site.hour
                self._texts.setdefault(old.url, Text()).moved_to = new
        if listed and choose.random() < 0.3:  # a page lives on, though no list has it
            site.pages[choose.choice(listed)].home = "nowhere"
        for url in sorted(site.live - site.listed):
            if site.pages[url].home == "nowhere" and choose.random() < 0.02:
                site.pages[url].dead = site.hour
        self._change_lie(hours)
        self._date()

    def _change_lie(self, hours: float) -> None:
        site, choose = self.site, self._random
        if self._lie:
            self._last = site.hour
            if self._end <= site.hour:
                self._lie = ""
        elif site.hour - self._last > 36 and choose.random() < 0.15 * hours / 12:
            self._lie = choose.choice((*_LIES, *_OUTAGES))
            is_long = self._lie in _OUTAGES
            self._end = site.hour + (choose.uniform(1, 72) if is_long else choose.choice((1, 12.6)))
            share = choose.choice((0.05, 0.5, 1.0))
            pages = sorted(site.pages)
            self._lying = frozenset(choose.sample(pages, k=round(share * len(pages))))

    def _date(self) -> None:
        site = self.site
        for page in site.pages.values():
            hours = {"honest": self._texts.setdefault(page.url, Text()).since, "now": site.hour}
            hour = {**hours, "still": 0.0}.get(self.date_of(page))
            page.lastmod = "" if hour is None else write_moment(START + hour * HOUR)

    # -- what the server answers

    async def answer(self, request: web.Request) -> web.StreamResponse:
        url = f"{self.site.base}{request.path[1:]}"
        if url in self.site.pages:
            self.asked[url] += 1
            return self._answer_page(url, request)
        if request.path == "/wait":
            return _write("<p>Please wait, we are back soon.")
        found = self.site.serve(START + self.site.hour * HOUR).get(url)
        if not isinstance(found, StoredResponse):
            return web.Response(status=getattr(found, "http_status", 404))
        if found.url != url:
            return web.Response(status=302, headers={"Location": found.url})
        tag = found.headers.get("etag", "")
        if tag and request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        return web.Response(body=found.body, headers={"ETag": tag} if tag else {})

    def _answer_page(self, url: str, request: web.Request) -> web.Response:
        lie = self._lie if url in self._lying else ""
        if lie == "302":
            return web.Response(status=302, headers={"Location": "/wait"})
        if lie == "short":
            return _write("")
        if lie:
            return web.Response(status=int(lie))
        if moved := self._texts.setdefault(url, Text()).moved_to:
            return web.Response(status=301, headers={"Location": moved})
        if url not in self.site.live:
            return web.Response(status=404)
        tags = {"none": "", "constant": '"x"', "honest": f'"{self._texts[url].version}"'}
        tag = tags[self.tags]
        if tag and request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        return _write(f"<nav>{request.path}</nav><p>{self.text_of(url)}", tag)


def _write(html: str, tag: str = "") -> web.Response:
    headers = {"ETag": tag} if tag else {}
    return web.Response(text=html, content_type="text/html", headers=headers)
