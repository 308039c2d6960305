"""Sites over many days: pages come, move and die, while their server lies now and then."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs
from walking import SITE, index, status, urlset

from sitemapreader.fetch.local import StoredResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

HOUR = 3600
START = 1_700_000_000
_NEWS_HOURS = 48
_LIES = ("empty", "html", "404", "500", "cut", "half", "text")
"""What a server may say of a document for a day."""
_OUTAGES = ("404", "500", "cut")
"""What it may say for three days."""
_ROBOTS_LIES = ("html", "json", "empty", "404", "503", "fewer")
_INDEX_LIES = ("empty", "html", "404", "500", "cut", "fewer")
_REDIRECTS = ("", "robots.txt", "index.xml", "child")
_MOODS = ("404", "200", "503", "login", "section")
"""What all pages answer for half a day, or those with odd numbers; else they tell the truth."""
_HTML = b"<!DOCTYPE html><html><head><title>Back soon</title></head><body>Please wait</body></html>"


@attrs.define
class Page:
    """A page of the model.

    Attributes:
        url: its address.
        born: hour of its publication.
        home: the child sitemap that lists it; "" if only the feed did.
        dead: the hour in which it was taken away; `None` while it lives.
    """

    url: str
    born: float
    home: str
    dead: float | None = None


class Site:
    """A site of the model, and what its server answers.

    Attributes:
        base: its address.
        pages: all pages that ever were.
        hour: the present hour.
        children: the names of its sitemaps.
        has_more: whether a second index lists some of the sitemaps, which move between the two.
    """

    def __init__(
        self,
        seed: int,
        base: str = SITE,
        *,
        has_more: bool = False,
    ) -> None:
        self.base = base
        self.has_more = has_more
        self.random = choose = random.Random(seed)
        self.pages: dict[str, Page] = {}
        self.hour = 0.0
        self.children: list[str] = []
        self._made = 0
        self._grown = self._shrunk = 0.0
        self.pages[self.nowhere] = Page(self.nowhere, 0, "", dead=0)
        self.has_list = choose.random() < 0.9
        self.has_feed = not self.has_list or choose.random() < 0.5
        self.has_news = self.has_list and choose.random() < 0.3
        self._window = choose.randint(3, 8)
        self._format = choose.choice(("rss", "atom"))
        self.etags = choose.choice(("none", "honest", "honest", "constant", "mixed"))
        self.dates = choose.choice(("none", "honest", "constant", "now"))
        self._busy = choose.choice((0.2, 1.0, 3.0))
        self._lies: dict[str, tuple[str, float]] = {}
        self._last_lie = -100.0
        self.believed = math.inf
        """The hour of the last walk that could see all of it, in truth."""
        self._changed: dict[str, tuple[bytes, float]] = {}
        self._varied: set[str] = set()
        self.mood = "truth"
        """What pages answer: see `_MOODS`."""
        sizes = choose.choice(((2, 12), (20, 45)))
        for _ in range(choose.randint(1, 4) if self.has_list else 1):
            self._add_child()
            for _ in range(choose.randint(*sizes)):
                self._publish(self.children[-1])

    # -- the truth

    @property
    def nowhere(self) -> str:
        """What a lie lists: no page."""
        return f"{self.base}page-0"

    @property
    def live(self) -> set[str]:
        """The pages that answer 200."""
        return {page.url for page in self.pages.values() if page.dead is None}

    @property
    def is_honest(self) -> bool:
        """Whether the server tells the truth about every document now."""
        return not self._lies

    @property
    def is_quiet(self) -> bool:
        """Whether it has told the truth for two days."""
        return self.is_honest and self.hour - self._last_lie > 48

    @property
    def changed(self) -> float:
        """The hour since when it has had these sitemaps: new ones must be seen twice."""
        return max(self._grown, self._shrunk)

    @property
    def is_truthful(self) -> bool:
        """Whether its validators and its dates tell of each change."""
        return self.etags in {"none", "honest"} and self.dates in {"none", "honest", "now"}

    @property
    def has_steady(self) -> bool:
        """Whether a sitemap never changed, so that no word of it was seen to tell of a change."""
        return not self._varied.issuperset(self.children)

    @property
    def listed(self) -> set[str]:
        """The pages that its sitemaps list."""
        return {url for url in self.live if self.pages[url].home in self.children}

    @property
    def recent(self) -> set[str]:
        """The pages that its feed lists."""
        return {page.url for page in self._recent()[: self._window]} if self.has_feed else set()

    def _add_child(self) -> str:
        self._made += 1
        self._grown = self.hour
        self.children.append(f"child-{self._made}.xml")
        return self.children[-1]

    def _publish(self, home: str) -> None:
        self._made += 1
        url = f"{self.base}page-{self._made}"
        self.pages[url] = Page(url, self.hour, home if self.has_list else "")

    def _of(self, child: str) -> list[Page]:
        return [each for each in self.pages.values() if each.home == child and each.dead is None]

    def advance(self, hours: float) -> None:
        """Let time pass: pages come, move and die, and the server begins or ends to lie."""
        self.hour += hours
        choose = self.random
        self.mood = choose.choice(_MOODS) if choose.random() < 0.25 else "truth"
        for _ in range(round(choose.expovariate(1 / self._busy))):
            self._publish(choose.choice(self.children))
        # Into a document that the site hides on its first day nobody can look.
        if self.has_list and not self._lies.keys() & {"robots.txt", "index.xml"}:
            self._change_lists()
        elif choose.random() < 0.2:
            self._kill(choose.sample(sorted(self.live), k=min(1, len(self.live))))
        for name in [name for name, (_, end) in self._lies.items() if end <= self.hour]:
            del self._lies[name]
        # A lie that goes on where another has ended is a lie of two days, and so are two between
        # which nobody has looked.
        is_ready = self.hour - self._last_lie > 36 and self._last_lie < self.believed
        if self._lies or is_ready:
            for _ in range(choose.choice((0,) * 7 + (1, 1, 2)) if not self._lies else 0):
                self._lie()
        if self._lies:
            self._last_lie = self.hour

    def _kill(self, urls: Iterable[str]) -> None:
        for url in urls:
            self.pages[url].dead = self.hour

    def _change_lists(self) -> None:
        choose = self.random
        what = choose.random()
        child = choose.choice(self.children)
        pages = self._of(child)
        if what < 0.25 and pages:  # a few pages die
            few = max(1, len(pages) // 3)
            self._kill(page.url for page in choose.sample(pages, k=choose.randint(1, few)))
        elif what < 0.3 and len(self.children) > 1:  # a month is taken away
            self._shrunk = self.hour
            self.children.remove(child)
            self._kill(page.url for page in pages)
        elif what < 0.4 and pages:  # pages move, to another child or a new one
            target = choose.choice([*self.children, ""]) or self._add_child()
            for page in choose.sample(pages, k=choose.randint(1, len(pages))):
                page.home = target
        elif what < 0.43 and len(self.children) > 1:  # a child is renamed
            target = self._add_child()
            self._shrunk = self.hour
            self.children.remove(child)
            for page in pages:
                page.home = target

    def _lie(self) -> None:
        choose = self.random
        # A lie of a day ends with the day; its readings are half a day apart.
        end = self.hour + choose.choice((1, 12.6))
        what = choose.random()
        if what < 0.35 and self.hour - self._grown < 25:  # some sites are read once a day
            return  # it would hide a document that no walk has seen: docs/state.md
        if what < 0.2:
            self._lies["robots.txt"] = choose.choice(_ROBOTS_LIES), end
        elif what < 0.35:
            self._lies["index.xml"] = choose.choice(_INDEX_LIES), end
        elif what < 0.5:
            self._lies["*"] = choose.choice(_REDIRECTS), end
        elif what < 0.65:
            long = self.hour + choose.uniform(1, 72)
            name = choose.choice([*self.children, "feed", "index.xml", "news.xml"])
            self._lies[name] = choose.choice(_OUTAGES), long
        else:
            name = choose.choice([*self.children, "feed", "news.xml"])
            self._lies[name] = choose.choice(_LIES), end

    # -- what the server answers

    def serve(self, now: float) -> dict[str, Any]:
        """Return what every address answers; `now` is the clock of the server."""
        documents: dict[str, bytes] = {}
        named = []
        if self.has_list:
            named.append("index.xml")
            for child in self.children:
                documents[child] = urlset(*(page.url for page in self._of(child)))
        if self.has_news:
            named.append("news.xml")
            recent = [each for each in self._recent() if self.hour - each.born <= _NEWS_HOURS]
            documents["news.xml"] = write_news(recent)
        if self.has_feed:
            named.append("feed")
            documents["feed"] = write_feed(self._format, self._recent()[: self._window])
        served = {name: self._answer(name, body) for name, body in documents.items()}
        if self.has_list:
            lists = {"index.xml": self.children}
            if self.has_more:
                named.append("more.xml")
                lists["more.xml"] = [name for name in self.children if self._is_in_more(name)]
                lists["index.xml"] = [n for n in self.children if n not in lists["more.xml"]]
            for name, listed in lists.items():
                children = self._choose(listed, self._lies.get(name, ("",))[0])
                body = index(*(self._date(child, documents[child], now) for child in children))
                served[name] = self._answer(name, body)
        lie = self._lies.get("robots.txt", ("",))[0]
        lines = "".join(f"Sitemap: {self.base}{name}\n" for name in self._choose(named, lie))
        served["robots.txt"] = self._answer("robots.txt", f"User-agent: *\n{lines}".encode())
        if "*" in self._lies:
            self._redirect(served)
        return {f"{self.base}{name}": answer for name, answer in served.items()}

    def serve_pages(self) -> dict[str, Any]:
        """Return what every page answers."""
        return {page.url: self._answer_page(page) for page in self.pages.values()}

    def _answer_page(self, page: Page) -> Any:
        is_odd = int(page.url.rpartition("-")[2]) % 2 == 1
        mood = self.mood if self.mood != "section" else "404" if is_odd else "truth"
        if mood == "login":
            return StoredResponse(f"{self.base}login", b"<form>")
        if mood in {"404", "503"}:
            return status(int(mood), page.url)
        if mood == "truth" and page.dead is not None:
            return status(404 if is_odd else 410, page.url)
        return b"<p>A page"

    def _is_in_more(self, name: str) -> bool:
        """Return whether the second index lists a sitemap, as it does for three days of six."""
        return (crc32(name.encode()) + int(self.hour // 72)) % 2 == 1

    def _choose(self, names: list[str], lie: str) -> list[str]:
        return names[: len(names) // 2] if lie == "fewer" else names

    def _recent(self) -> list[Page]:
        live = [page for page in self.pages.values() if page.dead is None]
        return sorted(live, key=lambda page: (-page.born, page.url))

    def _date(self, child: str, body: bytes, now: float) -> tuple[str, str]:
        before, since = self._changed.get(child, (b"", now))
        if before != body:
            if before:
                self._varied.add(child)
            self._changed[child] = body, (since := now)
        moment = {"none": 0.0, "honest": since, "constant": START - 1e6, "now": now}[self.dates]
        return f"{self.base}{child}", write_moment(moment) if moment else ""

    def _redirect(self, served: dict[str, Any]) -> None:
        """Let all sitemaps redirect to one page."""
        target = self._lies["*"][0]
        if target == "child":
            target = self.children[0]
        page = served.get(target)
        body = page.body if isinstance(page, StoredResponse) else _HTML
        for child in self.children:
            if child != target and child in served:
                served[child] = StoredResponse(f"{self.base}{target}", body)

    def _answer(self, name: str, body: bytes) -> Any:
        lie = self._lies.get(name, ("",))[0]
        if lie in {"404", "500", "503"}:
            return status(int(lie), f"{self.base}{name}")
        if lie == "half":
            lie = "" if (half := _cut_in_half(body)) is None else lie
            body = half or body
        body = {
            "empty": b"" if name == "robots.txt" else _empty(body),
            "html": _HTML,
            "json": b'{"status": "down"}',
            "cut": body[: len(body) * 2 // 3],
            "text": f"{self.nowhere}\n".encode(),
        }.get(lie, body)
        return StoredResponse(f"{self.base}{name}", body, headers=self._validate(name, body))

    def _validate(self, name: str, body: bytes) -> dict[str, str]:
        kind = self.etags
        if kind == "mixed":
            kind = ("none", "honest", "constant")[sum(name.encode()) % 3]
        digest = blake2b(body, digest_size=6).hexdigest() if kind == "honest" else "x"
        return {} if kind == "none" or name == "robots.txt" else {"etag": f'"{digest}"'}


def _empty(body: bytes) -> bytes:
    """Return a list or a feed without its records."""
    root = body[: body.index(b">") + 1]
    name = root[1:-1].split()[0]
    return root + (b"<channel></channel>" if name == b"rss" else b"") + b"</" + name + b">"


def _cut_in_half(body: bytes) -> bytes | None:
    """Return a list that is much shorter; `None` if it is short or no list."""
    # Enough is lost even where the last reading was of a list that had not grown yet.
    records = body.count(b"<url>")
    if records < 32 or b"news:" in body:
        return None
    end = -1
    for _ in range(records // 4):
        end = body.index(b"</url>", end + 1)
    return body[: end + 6] + b"</urlset>"


def write_moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def write_news(pages: list[Page]) -> bytes:
    records = "".join(
        f"<url><loc>{page.url}</loc><news:news><news:publication><news:name>N</news:name>"
        "<news:language>en</news:language></news:publication>"
        f"<news:publication_date>{write_moment(START + page.born * HOUR)}</news:publication_date>"
        "<news:title>T</news:title></news:news></url>"
        for page in pages
    )
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        f' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{records}</urlset>'
    ).encode()


def write_feed(kind: str, pages: list[Page]) -> bytes:
    if kind == "rss":
        items = "".join(f"<item><title>T</title><link>{page.url}</link></item>" for page in pages)
        head = f"<title>F</title><link>{SITE}</link><description>D</description>"
        return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()
    items = "".join(
        f'<entry><id>{page.url}</id><title>T</title><link href="{page.url}"/></entry>'
        for page in pages
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title>{items}</feed>'.encode()
