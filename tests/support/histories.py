"""Sites over many days: pages come, move and die, while their server lies now and then."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs

from sitemapreader.fetch.local import StoredResponse
from tests.support.walking import SITE, index, status, urlset

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
_MOODS = ("404", "200", "503", "login")
"""What all pages answer for half a day; else they tell the truth."""
_SECTIONS = (("",), ("", "shop/"), ("", "shop/", "blog/2023/"), ("", "shop.php?id="))
_NAMES = ("page", "page", "page", "page%3Bv", "page%2C%40")
_FLAWS = ("", "", "", "", "record", "end", "both")
"""What is always wrong in one sitemap of a site."""
_ENDS = ("404", "410", "html", "home")
"""What a sitemap that is named for ever answers when it is no more."""
_FAR = 240
"""Hours between two deployments: two minutes of 404 in a row are a coincidence."""
_OUTAGE = 8.5 * 24
"""Hours for which pages may be 404 that live: docs/state.md promises nine days."""
_APART = 8 * 24
"""Hours between two times of 404 that do not count as one: docs/state.md says a week."""
_HTML = b"<!DOCTYPE html><html><head><title>Back soon</title></head><body>Please wait</body></html>"


@attrs.define
class Page:
    """A page of the model.

    Attributes:
        url: its address.
        born: hour of its publication.
        home: the child sitemap that lists it; "" if only the feed did.
        dead: the hour in which it was taken away; `None` while it lives.
        section: the folder or script to which it belongs.
        is_retired: whether it lives, and is listed no more.
        refusal: what it answers while it is listed, if it is no page: 404 or 403.
    """

    url: str
    born: float
    home: str
    dead: float | None = None
    section: str = ""
    is_retired: bool = False
    refusal: int = 0

    @property
    def is_listed(self) -> bool:
        """Whether its sitemap lists it, if that is honest."""
        return self.dead is None and not self.is_retired


class Site:
    """A site of the model, and what its server answers.

    Attributes:
        base: its address.
        pages: all pages that ever were.
        hour: the present hour.
        children: the names of its sitemaps.
        has_more: whether a second index lists some of the sitemaps, which move between the two.
        is_troubled: whether its trouble may last for days or for ever, and not only for a day.
        budget: how many documents a slow site answers in one walk; 0 for all.
        eager: the documents of which a cache says "not modified" to whoever asks.
    """

    def __init__(
        self,
        seed: int,
        base: str = SITE,
        *,
        has_more: bool = False,
        is_troubled: bool = False,
    ) -> None:
        self.base = base
        self.has_more = has_more
        self.is_troubled = is_troubled
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
        more = ("newest",) if is_troubled else ()
        self.etags = choose.choice(
            ("none", "honest", "honest", "constant", "mixed", *more)
        )
        self.dates = choose.choice(("none", "honest", "constant", "now", *more))
        self.budget = 0
        self.eager: set[str] = set()
        self.ended: dict[str, str] = {}
        """The sitemaps that are no more, though they are named, and what they answer."""
        self._flaw = ""
        self._refuses = 0
        self._sections: tuple[str, ...] = ("",)
        self._name = "page"
        if is_troubled:
            self.budget = choose.randint(2, 4) if choose.random() < 0.05 else 0
            self._flaw = choose.choice(_FLAWS)
            self._refuses = choose.choice((0, 0, 0, 404, 403))
            self._sections = choose.choice(_SECTIONS)
            self._name = choose.choice(_NAMES)
        self._emptied: dict[str, float] = {}
        self._deployed = -math.inf
        self._failed = self._failing_since = -math.inf
        self._served: dict[str, list[tuple[float, bytes]]] = {}
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
        pages = self.pages.values()
        return {page.url for page in pages if page.dead is None and not page.refusal}

    @property
    def is_honest(self) -> bool:
        """Whether the server tells the truth about every document now."""
        return not self._lies and not self._emptied and not self.eager

    @property
    def is_quiet(self) -> bool:
        """Whether it has told the truth for two days."""
        return self.is_honest and self.hour - self._last_lie > 48

    @property
    def is_failing(self) -> bool:
        """Whether some live pages are 404."""
        return self.mood.partition(" ")[0] in {"404", "deploy", "node", "outage"}

    @property
    def changed(self) -> float:
        """The hour since when it has had these sitemaps: new ones must be seen twice."""
        return max(self._grown, self._shrunk)

    @property
    def is_truthful(self) -> bool:
        """Whether its validators and its dates tell of each change."""
        return self.etags in {"none", "honest"} and self.dates in {
            "none",
            "honest",
            "now",
        }

    @property
    def has_steady(self) -> bool:
        """Whether a sitemap never changed, so that no word of it was seen to tell of a change."""
        return not self._varied.issuperset(self.children)

    @property
    def listed(self) -> set[str]:
        """The pages that its sitemaps list."""
        homes = {*self.children} - self._emptied.keys() - self.ended.keys()
        if "index.xml" in self._emptied:
            homes -= {*self.children[len(self.children) // 2 :]}
        return {
            page.url
            for page in self.pages.values()
            if page.is_listed and page.home in homes
        }

    @property
    def recent(self) -> set[str]:
        """The pages that its feed lists."""
        return (
            {page.url for page in self._recent()[: self._window]}
            if self.has_feed
            else set()
        )

    @property
    def _answering(self) -> list[str]:
        return [name for name in self.children if name not in self.ended]

    def _add_child(self) -> str:
        self._made += 1
        self._grown = self.hour
        self.children.append(f"child-{self._made}.xml")
        return self.children[-1]

    def _publish(self, home: str) -> None:
        self._made += 1
        sections = self._sections
        section = self.random.choice(sections) if len(sections) > 1 else sections[0]
        url = f"{self.base}{section}{self._name}-{self._made}"
        page = Page(url, self.hour, home if self.has_list else "", section=section)
        if self._refuses and section != "" and self.random.random() < 0.4:
            page.refusal = self._refuses
        self.pages[url] = page

    def _of(self, child: str) -> list[Page]:
        return [
            page
            for page in self.pages.values()
            if page.home == child and page.is_listed
        ]

    def advance(self, hours: float) -> None:
        """Let time pass: pages come, move and die, and the server begins or ends to lie."""
        self.hour += hours
        choose = self.random
        self._change_mood()
        for _ in range(round(choose.expovariate(1 / self._busy))):
            self._publish(choose.choice(self._answering))
        # Into a document that the site hides on its first day nobody can look.
        hides = self._lies.keys() | self._emptied.keys()
        if self.has_list and not hides & {"robots.txt", "index.xml"}:
            self._change_lists()
            if self.is_troubled:
                self._forget_lists()
        elif choose.random() < 0.2:
            self._kill(choose.sample(sorted(self.live), k=min(1, len(self.live))))
        for name in [name for name, (_, end) in self._lies.items() if end <= self.hour]:
            del self._lies[name]
        for name in [name for name, end in self._emptied.items() if end <= self.hour]:
            del self._emptied[name]
        self.eager = {name for name in self.eager if name in self._lies}
        # A lie that goes on where another has ended is a lie of two days, and so are two between
        # which nobody has looked.
        is_ready = self.hour - self._last_lie > 36 and self._last_lie < self.believed
        if self._lies or is_ready:
            for _ in range(
                choose.choice((0,) * 7 + (1, 1, 2)) if not self._lies else 0
            ):
                self._lie()
        if not self.is_honest:
            self._last_lie = self.hour

    def _change_mood(self) -> None:
        """Let pages tell the truth, or for one walk something else."""
        choose = self.random
        _, _, section = self.mood.partition(" ")
        is_outage = self.mood.startswith("outage ") and self._shows_outage(section)
        if self.hour - self._failed > _APART:
            self._failing_since = self.hour
        may_fail = self.hour - self._failing_since < _OUTAGE
        if is_outage and choose.random() < 0.8 and may_fail:
            self._failed = self.hour
            return
        self.mood = "truth"
        what = choose.random()
        if what < 0.2:
            mood = choose.choice(_MOODS)
            self.mood = mood if may_fail or mood != "404" else "truth"
        elif what < 0.3 and self.is_troubled and self.hour - self._deployed > _FAR:
            self._deployed = self.hour
            section = choose.choice(self._sections)
            kinds = ["deploy", "node"]
            if self._shows_outage(section):
                kinds.append("outage")
            mood = f"{choose.choice(kinds)} {section}"
            self.mood = mood if may_fail else "truth"
        if self.is_failing:
            self._failed = self.hour

    def _shows_outage(self, section: str) -> bool:
        """Return whether listed pages share an outage of days; else nobody can know of it."""
        listed = [self.pages[url] for url in self.listed & self.live]
        return sum(page.section == section for page in listed) >= 8

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
            self._kill(
                page.url for page in choose.sample(pages, k=choose.randint(1, few))
            )
        elif what < 0.3 and {*self._answering} - {child}:  # a month is taken away
            self._shrunk = self.hour
            self.children.remove(child)
            self._kill(page.url for page in pages)
        elif what < 0.4 and pages:  # pages move, to another child or a new one
            target = choose.choice([*self.children, ""]) or self._add_child()
            if target in self.ended:
                return
            for page in choose.sample(pages, k=choose.randint(1, len(pages))):
                page.home = target
        elif what < 0.43 and len(self.children) > 1:  # a child is renamed
            target = self._add_child()
            self._shrunk = self.hour
            self.children.remove(child)
            for page in pages:
                page.home = target

    def _forget_lists(self) -> None:
        """Let pages be listed no more, or a sitemap be no more, while it is named for ever."""
        choose = self.random
        what = choose.random()
        child = choose.choice(self._answering)
        pages = self._of(child)
        if what < 0.04 and pages:
            for page in choose.sample(pages, k=max(1, len(pages) // 4)):
                page.is_retired = True
        others = [name for name in self._answering if name != child]
        if what > 0.99 and others and not self.ended and not self._emptied:
            self._shrunk = self.hour
            self.ended[child] = choose.choice(_ENDS)
            for page in pages:
                page.home = choose.choice(others)
            self._kill(page.url for page in choose.sample(pages, k=len(pages) // 2))

    def _lie(self) -> None:
        choose = self.random
        # A lie of a day ends with the day; its readings are half a day apart.
        end = self.hour + choose.choice((1, 12.6))
        if self.is_troubled and choose.random() < 0.25:
            self._lie_for_days()
            return
        what = choose.random()
        # some sites are read once a day
        if what < 0.35 and self.hour - self._grown < 25:
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

    def _lie_for_days(self) -> None:
        """Let a list be short, old or unchanged for days, or robots.txt be too long to be read."""
        choose = self.random
        if self.hour - self._grown < 25:
            return
        days = self.hour + choose.uniform(24, 96)
        child = choose.choice(self._answering)
        what = choose.choice(("empty", "halved", "long", "stale", "eager"))
        if what == "empty":
            self._emptied[child] = days
        elif what == "halved" and len(self.children) > 1:
            self._emptied["index.xml"] = days
        elif what == "long":
            self._lies["robots.txt"] = "long", days
        elif what == "stale":
            self._lies[child] = "stale", days
        elif what == "eager":
            self._lies[child] = "eager", days
            self.eager.add(child)

    # -- what the server answers

    def serve(self, now: float) -> dict[str, Any]:
        """Return what every address answers; `now` is the clock of the server."""
        documents: dict[str, bytes] = {}
        named = []
        if self.has_list:
            named.append("index.xml")
            for child in self.children:
                pages = [] if child in self._emptied else self._of(child)
                documents[child] = urlset(
                    *(page.url.replace("&", "&amp;") for page in pages)
                )
        if self.has_news:
            named.append("news.xml")
            recent = [
                each for each in self._recent() if self.hour - each.born <= _NEWS_HOURS
            ]
            documents["news.xml"] = write_news(recent)
        if self.has_feed:
            named.append("feed")
            documents["feed"] = write_feed(self._format, self._recent()[: self._window])
        served = {name: self._answer(name, body) for name, body in documents.items()}
        if self.has_list:
            lists = self._divide()
            named += [name for name in lists if name not in named]
            for name, listed in lists.items():
                children = self._choose(listed, self._lies.get(name, ("",))[0])
                body = index(
                    *(self._date(child, documents[child], now) for child in children)
                )
                served[name] = self._answer(name, body)
        lie = self._lies.get("robots.txt", ("",))[0]
        lines = [f"Sitemap: {self.base}{name}\n" for name in self._choose(named, lie)]
        if lie == "long":
            lines.insert(len(lines) // 2, "#" * (500 << 10) + "\n")
        body = f"User-agent: *\n{''.join(lines)}".encode()
        served["robots.txt"] = self._answer("robots.txt", body)
        if "*" in self._lies:
            self._redirect(served)
        return {f"{self.base}{name}": answer for name, answer in served.items()}

    def serve_pages(self) -> dict[str, Any]:
        """Return what every page answers."""
        return {page.url: self._answer_page(page) for page in self.pages.values()}

    def _answer_page(self, page: Page) -> Any:
        number = int(page.url.rpartition("-")[2])
        mood, _, section = self.mood.partition(" ")
        is_asked_in_vain = mood in {"deploy", "outage"} or (
            mood == "node" and number % 2 == 1
        )
        if is_asked_in_vain and page.section == section:
            return status(404, page.url)
        if page.refusal and page.dead is None:
            return status(page.refusal, page.url)
        if mood == "login":
            return StoredResponse(f"{self.base}login", b"<form>")
        if mood in {"404", "503"}:
            return status(int(mood), page.url)
        if page.dead is not None and mood != "200":
            return status(410 if number % 2 == 0 else 404, page.url)
        return b"<p>A page"

    def _divide(self) -> dict[str, list[str]]:
        """Return the sitemaps that each index lists."""
        shown = self.children
        if "index.xml" in self._emptied:
            shown = shown[: len(shown) // 2]
        if not self.has_more:
            return {"index.xml": shown}
        more = [name for name in shown if self._is_in_more(name)]
        return {
            "index.xml": [name for name in shown if name not in more],
            "more.xml": more,
        }

    def _is_in_more(self, name: str) -> bool:
        """Return whether the second index lists a sitemap, as it does for three days of six."""
        return (crc32(name.encode()) + int(self.hour // 72)) % 2 == 1

    def _choose(self, names: list[str], lie: str) -> list[str]:
        return names[: len(names) // 2] if lie == "fewer" else names

    def _recent(self) -> list[Page]:
        live = [page for page in self.pages.values() if page.is_listed]
        return sorted(live, key=lambda page: (-page.born, page.url))

    def _date(self, child: str, body: bytes, now: float) -> tuple[str, str]:
        before, since = self._changed.get(child, (b"", now))
        if before != body:
            if before:
                self._varied.add(child)
            self._changed[child] = body, (since := now)
        newest = START + max((page.born for page in self._of(child)), default=0) * HOUR
        moments = {"none": 0.0, "honest": since, "constant": START - 1e6, "now": now}
        moment = moments.get(self.dates, newest)
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
        if name in self.ended:
            return self._answer_for_ever(name)
        if lie == "stale":
            return self._answer_late(name)
        if name != "robots.txt":
            self._served.setdefault(name, []).append((self.hour, body))
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
        headers = self._validate(name, body)
        return StoredResponse(
            f"{self.base}{name}", self._spoil(name, body), headers=headers
        )

    def _answer_for_ever(self, name: str) -> Any:
        """Return what is found where a sitemap was."""
        kind = self.ended[name]
        if kind in {"404", "410"}:
            return status(int(kind), f"{self.base}{name}")
        return StoredResponse(f"{self.base}{name if kind == 'html' else ''}", _HTML)

    def _answer_late(self, name: str) -> Any:
        """Return what a cache has kept for hours, with its age."""
        kept = self._served.get(name) or [(self.hour, urlset())]
        # the cache was filled before, and stays as it is
        began = self._lies[name][1] - 96
        hour, body = max((each for each in kept if each[0] <= began), default=kept[0])
        age = {"age": str(round((self.hour - hour) * HOUR))}
        headers = self._validate(name, body) | age
        return StoredResponse(
            f"{self.base}{name}", self._spoil(name, body), headers=headers
        )

    def _spoil(self, name: str, body: bytes) -> bytes:
        """Return a sitemap with what is always wrong in it."""
        if not self.children or name != self.children[0]:
            return body
        if self._flaw in {"record", "both"}:
            too_deep = b"<url>" + b"<x>" * 40 + b"</x>" * 40 + b"</url>"
            body = body.replace(b"<url>", too_deep + b"<url>", 1)
        return (
            body.removesuffix(b"</urlset>") if self._flaw in {"end", "both"} else body
        )

    def _validate(self, name: str, body: bytes) -> dict[str, str]:
        kind = self.etags
        if kind == "newest":
            if name not in self.children:
                return {}
            newest = max((page.born for page in self._of(name)), default=0)
            return {"last-modified": write_moment(START + newest * HOUR)}
        if kind == "mixed":
            kind = ("none", "honest", "constant")[sum(name.encode()) % 3]
        digest = blake2b(body, digest_size=6).hexdigest() if kind == "honest" else "x"
        return {} if kind == "none" or name == "robots.txt" else {"etag": f'"{digest}"'}


def _empty(body: bytes) -> bytes:
    """Return a list or a feed without its records."""
    root = body[: body.index(b">") + 1]
    name = root[1:-1].split()[0]
    return (
        root + (b"<channel></channel>" if name == b"rss" else b"") + b"</" + name + b">"
    )


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
        items = "".join(
            f"<item><title>T</title><link>{page.url}</link></item>" for page in pages
        )
        head = f"<title>F</title><link>{SITE}</link><description>D</description>"
        return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()
    items = "".join(
        f'<entry><id>{page.url}</id><title>T</title><link href="{page.url}"/></entry>'
        for page in pages
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title>{items}</feed>'.encode()
