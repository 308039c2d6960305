"""Corpora for the benchmarks: generated, always the same bytes, with true counts.

Each shape is one that is common on the web: `CORPORA` lists them. To write them to files, 160 MB in
all, for tools that read no other way: `python benchmarks/corpora.py DIR`.
"""

from __future__ import annotations

import gzip
import sys
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import varied
from parts import (
    BASE,
    DECLARATION,
    LANGUAGES,
    PROTOCOL,
    WORDS,
    Corpus,
    choose_moment,
    choose_words,
    escape_text,
    make_url,
    make_urlset,
    write_date,
    write_url,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def write_images(random: Random, url: str, number: int) -> str:
    """Write three images with titles."""
    del url
    images = []
    for image in range(3):
        query = f"w=1200&h={random.randint(400, 900)}"
        loc = f"https://cdn.example.com/img/{number}/{random.choice(WORDS)}-{image}.jpg?{query}"
        images.append(
            f"    <image:image>\n      <image:loc>{escape_text(loc)}</image:loc>\n"
            f"      <image:title>{choose_words(random, 4)}</image:title>\n    </image:image>\n"
        )
    return "".join(images)


def write_news(random: Random, url: str, number: int) -> str:
    """Write a news block."""
    del url, number
    return (
        "    <news:news>\n      <news:publication>\n"
        "        <news:name>The Example Times</news:name>\n"
        "        <news:language>en</news:language>\n      </news:publication>\n"
        f"      <news:publication_date>{write_date(random)}</news:publication_date>\n"
        f"      <news:title>{choose_words(random, 8)} &amp; more</news:title>\n"
        f"      <news:keywords>{choose_words(random, 4, ', ')}</news:keywords>\n"
        "    </news:news>\n"
    )


def write_alternates(random: Random, url: str, number: int) -> str:
    """Write twenty alternates, one a language."""
    del random, number
    return "".join(
        f'    <xhtml:link rel="alternate" hreflang="{language}" '
        f'href="{escape_text(url.replace(BASE, f"{BASE}/{language}"))}"/>\n'
        for language in LANGUAGES
    )


def write_video(random: Random, url: str, number: int) -> str:
    """Write a video with the fields that are common."""
    del url
    tags = "".join(
        f"      <video:tag>{random.choice(WORDS)}</video:tag>\n" for _ in range(3)
    )
    return (
        "    <video:video>\n"
        f"      <video:thumbnail_loc>https://cdn.example.com/thumbs/{number}.jpg"
        "</video:thumbnail_loc>\n"
        f"      <video:title>{choose_words(random, 6)}</video:title>\n"
        f"      <video:description><![CDATA[{choose_words(random, 20)} & <b>more</b>]]>"
        "</video:description>\n"
        f"      <video:content_loc>https://cdn.example.com/v/{number}.mp4</video:content_loc>\n"
        f"      <video:player_loc>{BASE}/player?video={number}&amp;autoplay=1</video:player_loc>\n"
        f"      <video:duration>{random.randint(10, 3000)}</video:duration>\n"
        f"      <video:rating>{random.randint(0, 50) / 10}</video:rating>\n"
        f"      <video:view_count>{random.randint(0, 10**6)}</video:view_count>\n"
        f"      <video:publication_date>{write_date(random)}</video:publication_date>\n"
        "      <video:family_friendly>yes</video:family_friendly>\n"
        f"{tags}    </video:video>\n"
    )


def make_full() -> Corpus:
    """50,000 records with all four fields."""
    return make_urlset(50_000, 1)


def make_minified() -> Corpus:
    """The same, without blanks between the tags."""
    lines = make_urlset(50_000, 1).data.split(b"\n")
    return Corpus(b"".join(line.lstrip() for line in lines), 50_000)


def make_loc_only() -> Corpus:
    """50,000 records that are a loc and nothing else."""
    return make_urlset(50_000, 3, full=False)


def make_image() -> Corpus:
    """20,000 records with three images each."""
    xmlns = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    return make_urlset(20_000, 4, extension=write_images, xmlns=xmlns)


def make_news() -> Corpus:
    """1,000 news records: the most that a news sitemap may have."""
    xmlns = ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    return make_urlset(1_000, 5, extension=write_news, xmlns=xmlns)


def make_hreflang() -> Corpus:
    """5,000 records with twenty alternates each."""
    xmlns = ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return make_urlset(5_000, 6, extension=write_alternates, xmlns=xmlns)


def make_video() -> Corpus:
    """5,000 records with one video each."""
    xmlns = ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    return make_urlset(5_000, 7, extension=write_video, xmlns=xmlns)


def make_gzip() -> Corpus:
    """The full urlset, gzipped at the usual level."""
    corpus = make_full()
    return Corpus(gzip.compress(corpus.data, compresslevel=6, mtime=0), corpus.records)


# -- other formats


def make_index() -> Corpus:
    """50,000 children: the most that an index may have."""
    random = Random(8)
    parts = [f'{DECLARATION}<sitemapindex xmlns="{PROTOCOL}">\n']
    for number in range(50_000):
        folder = choose_words(random, 2, "-")
        parts.append(
            f"  <sitemap>\n    <loc>{BASE}/sitemaps/{folder}/sitemap-{number}.xml.gz</loc>\n"
            f"    <lastmod>{write_date(random)}</lastmod>\n  </sitemap>\n"
        )
    parts.append("</sitemapindex>\n")
    return Corpus("".join(parts).encode(), 50_000)


def make_text() -> Corpus:
    """50,000 lines."""
    random = Random(9)
    urls = (make_url(random, number) for number in range(50_000))
    return Corpus("".join(f"{url}\n" for url in urls).encode(), 50_000)


def make_rss(count: int = 50_000) -> Corpus:
    """Make an RSS 2.0 feed; real ones have only 10 to 500 items."""
    random = Random(10)
    head = (
        f'{DECLARATION}<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>\n<title>Example feed</title>\n'
        f"<link>{BASE}/</link>\n<description>Example</description>\n"
        f'<atom:link href="{BASE}/feed.xml" rel="self" type="application/rss+xml"/>\n'
    )
    parts = [head]
    for number in range(count):
        url, moment = make_url(random, number), choose_moment(random)
        zone = random.choice(["GMT", "+0000", "+0200"])
        parts.append(
            f"<item>\n  <title>{choose_words(random, 6)}</title>\n"
            f"  <link>{write_url(random, url)}</link>\n"
            f'  <guid isPermaLink="true">{escape_text(url)}</guid>\n'
            f"  <pubDate>{moment:%a, %d %b %Y %H:%M:%S} {zone}</pubDate>\n"
            f"  <description><![CDATA[<p>{choose_words(random, 25)}</p>]]></description>\n</item>\n"
        )
    parts.append("</channel>\n</rss>\n")
    return Corpus("".join(parts).encode(), count)


def make_atom(count: int = 50_000) -> Corpus:
    """Make an Atom 1.0 feed, as large."""
    random = Random(11)
    head = (
        f'{DECLARATION}<feed xmlns="http://www.w3.org/2005/Atom">\n<title>Example feed</title>\n'
        f'<link href="{BASE}/"/>\n<link rel="self" href="{BASE}/atom.xml"/>\n'
        "<updated>2025-01-01T00:00:00Z</updated>\n<id>urn:example</id>\n"
    )
    parts = [head]
    for number in range(count):
        url, moment = make_url(random, number), choose_moment(random)
        parts.append(
            f"<entry>\n  <title>{choose_words(random, 6)}</title>\n"
            f'  <link rel="alternate" type="text/html" href="{escape_text(url)}"/>\n'
            f"  <id>tag:example.com,{number}</id>\n"
            f"  <published>{moment:%Y-%m-%dT%H:%M:%S}Z</published>\n"
            f"  <updated>{moment + timedelta(hours=1):%Y-%m-%dT%H:%M:%S}Z</updated>\n"
            f"  <summary>{choose_words(random, 25)}</summary>\n</entry>\n"
        )
    parts.append("</feed>\n")
    return Corpus("".join(parts).encode(), count)


CORPORA: dict[str, Callable[[], Corpus]] = {
    "urlset.xml": make_full,
    "minified.xml": make_minified,
    "loc-only.xml": make_loc_only,
    "image.xml": make_image,
    "news.xml": make_news,
    "hreflang.xml": make_hreflang,
    "video.xml": make_video,
    "index.xml": make_index,
    "text.txt": make_text,
    "rss.xml": make_rss,
    "rss-500.xml": lambda: make_rss(500),
    "atom.xml": make_atom,
    "atom-500.xml": lambda: make_atom(500),
    "urlset.xml.gz": make_gzip,
    "optional.xml": varied.make_optional,
    "image-varied.xml": varied.make_images,
    "video-varied.xml": varied.make_videos,
    "hreflang-varied.xml": varied.make_alternates,
    "comments.xml": varied.make_comments,
    "unknown.xml": varied.make_unknown,
    "odd.xml": varied.make_odd,
    "ampersand.xml": varied.make_ampersands,
    "systematic.xml": varied.make_systematic,
    "rss-varied-500.xml": varied.make_rss,
}
"""Every corpus, by the name of the file that it would be."""


def main() -> None:
    """Write every corpus to the folder that is named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/corpora.py DIR")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in CORPORA.items():
        corpus = make()
        (folder / name).write_bytes(corpus.data)
        print(f"{name:15} {len(corpus.data) / 1e6:7.2f} MB {corpus.records:7,} records")


if __name__ == "__main__":
    main()
