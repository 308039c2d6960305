"""Parts of the benchmarks' corpora: words, URLs, dates, and urlsets made of them.

All are drawn from a seeded random generator, so a corpus has the same bytes in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

BASE = "https://www.example.com"
FIRST_DAY = datetime(2021, 1, 1, tzinfo=UTC)
FIVE_YEARS_SECONDS = 5 * 365 * 86_400
PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

WORDS = (  # noqa: SIM905 (words read better than a list of texts)
    "alpha river market garden summer winter laptop camera review guide best cheap recipe kitchen "
    "running shoes leather wooden table office chair travel berlin paris london tokyo madrid "
    "museum hotel flight insurance finance mortgage credit health doctor clinic fitness yoga "
    "school college python crawler engine electric vehicle battery charger cable adapter phone "
    "tablet screen protector cotton shirt jacket dress"
).split()
FOREIGN_WORDS = [
    "café",
    "münchen",
    "日本語",
    "привет",
    "straße",
    "naïve",
    "ελλάδα",
    "مرحبا",
    "çocuk",
    "señal",
]
FREQUENCIES = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
LANGUAGES = "en de fr es it pt nl pl sv da fi nb cs sk hu ro bg el tr x-default".split()  # noqa: SIM905 (the same)


class Corpus(NamedTuple):
    """A document, and how many records it has."""

    data: bytes
    records: int


# -- parts of records


def choose_words(random: Random, count: int, separator: str = " ") -> str:
    """Make a phrase."""
    return separator.join(random.choice(WORDS) for _ in range(count))


def make_url(random: Random, number: int) -> str:
    """Make a URL of 60 to 120 characters, a query or a foreign word in some."""
    slug = choose_words(random, random.randint(5, 9), "-")
    kind, folder = random.random(), random.choice(WORDS)
    if kind < 0.06:
        tail = f"{slug}?id={number}&ref={random.choice(WORDS)}&page={random.randint(1, 99)}"
    elif kind < 0.12:
        tail = f"{quote(random.choice(FOREIGN_WORDS))}-{slug}-{number}"
    elif kind < 0.13:
        tail = f"{slug}'s-{number}"
    else:
        tail = f"{slug}-{number}.html"
    url = f"{BASE}/{folder}/{tail}"
    return url if len(url) >= 60 else f"{url}-{'x' * (60 - len(url))}"


def write_url(random: Random, url: str) -> str:
    """Write a URL as XML text; one of fifty is in a CDATA section."""
    return f"<![CDATA[{url}]]>" if random.random() < 0.02 else escape_text(url)


def escape_text(text: str) -> str:
    """Escape text as careful generators do, apostrophes included."""
    return escape(text, {"'": "&apos;", '"': "&quot;"})


def choose_moment(random: Random) -> datetime:
    """Choose a moment in five years."""
    return FIRST_DAY + timedelta(seconds=random.randint(0, FIVE_YEARS_SECONDS))


def write_date(random: Random) -> str:
    """Write a lastmod in one of the five forms that make up nearly all."""
    moment, kind = choose_moment(random), random.random()
    if kind < 0.30:
        return f"{moment:%Y-%m-%d}"
    if kind < 0.70:
        return f"{moment:%Y-%m-%dT%H:%M:%S}+00:00"
    if kind < 0.85:
        return f"{moment:%Y-%m-%dT%H:%M:%S}Z"
    if kind < 0.93:
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{random.randint(0, 999):03d}Z"
    return f"{moment:%Y-%m-%dT%H:%M}+02:00"


# -- urlsets

Extension = Callable[[Random, str, int], str]


def make_urlset(
    count: int,
    seed: int,
    *,
    full: bool = True,
    extension: Extension | None = None,
    xmlns: str = "",
) -> Corpus:
    """Make a urlset, indented; `full` gives every record all four fields."""
    random = Random(seed)
    parts = [f'{DECLARATION}<urlset xmlns="{PROTOCOL}"{xmlns}>\n']
    for number in range(count):
        url = make_url(random, number)
        parts.append(f"  <url>\n    <loc>{write_url(random, url)}</loc>\n")
        if full:
            parts.append(
                f"    <lastmod>{write_date(random)}</lastmod>\n"
                f"    <changefreq>{random.choice(FREQUENCIES)}</changefreq>\n"
                f"    <priority>{random.randint(0, 10) / 10:.1f}</priority>\n"
            )
        if extension:
            parts.append(extension(random, url, number))
        parts.append("  </url>\n")
    parts.append("</urlset>\n")
    return Corpus("".join(parts).encode(), count)
