"""Corpora whose records differ from each other, as those of most real sitemaps do.

Optional fields, runs of images, videos and links of varying length, comments, elements that no
table knows, one odd record among a hundred healthy ones; and documents of a few records.
"""

from __future__ import annotations

from itertools import count
from random import Random

from parts import (
    BASE,
    DECLARATION,
    FREQUENCIES,
    LANGUAGES,
    PROTOCOL,
    WORDS,
    Corpus,
    Extension,
    choose_moment,
    choose_words,
    escape_text,
    make_url,
    write_date,
    write_url,
)

IMAGE = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEO = ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
XHTML = ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
UNKNOWN = (
    ' xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0"'
    ' xmlns:pagemap="http://www.google.com/schemas/sitemap-pagemap/1.0"'
    ' xmlns:geo="http://www.google.com/geo/schemas/sitemap/1.0"'
)
SCHEMA = (
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation='
    '"http://www.sitemaps.org/schemas/sitemap/0.9'
    ' http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd"'
)
ONE_OF = 100
"""Among so many records, one is odd."""


def make_records(number: int, seed: int, write: Extension, xmlns: str = "") -> Corpus:
    """Make a urlset of what a function writes into each `<url>`."""
    random = Random(seed)
    parts = [f'{DECLARATION}<urlset xmlns="{PROTOCOL}"{xmlns}>\n']
    for place in range(number):
        url = make_url(random, place)
        parts.append(f"  <url>\n{write(random, url, place)}  </url>\n")
    parts.append("</urlset>\n")
    return Corpus("".join(parts).encode(), number)


def write_loc(random: Random, url: str) -> str:
    """Write a loc."""
    return f"    <loc>{write_url(random, url)}</loc>\n"


def write_loc_and_date(random: Random, url: str, number: int) -> str:
    """Write a loc and a lastmod."""
    del number
    return f"{write_loc(random, url)}    <lastmod>{write_date(random)}</lastmod>\n"


def write_optional(random: Random, url: str, number: int) -> str:
    """Write a loc, and each other field of the protocol as a coin falls."""
    del number
    fields = [write_loc(random, url)]
    if random.random() < 0.7:
        fields.append(f"    <lastmod>{write_date(random)}</lastmod>\n")
    if random.random() < 0.5:
        fields.append(f"    <changefreq>{random.choice(FREQUENCIES)}</changefreq>\n")
    if random.random() < 0.5:
        fields.append(f"    <priority>{random.randint(0, 10) / 10:.1f}</priority>\n")
    return "".join(fields)


# -- extensions


def write_images(random: Random, url: str, number: int) -> str:
    """Write up to nine images; half have a title, some a caption or a license."""
    images = [
        _write_image(random, f"https://cdn.example.com/img/{number}-{image}.jpg")
        for image in range(random.randint(0, 9))
    ]
    return write_optional(random, url, number) + "".join(images)


def _write_image(random: Random, loc: str) -> str:
    fields = f"      <image:loc>{loc}</image:loc>\n"
    if random.random() < 0.5:
        fields += f"      <image:title>{choose_words(random, 4)}</image:title>\n"
    if random.random() < 0.2:
        fields += f"      <image:caption>{choose_words(random, 8)} &amp; more</image:caption>\n"
    if random.random() < 0.1:
        fields += f"      <image:license>{BASE}/licenses/by</image:license>\n"
    return f"    <image:image>\n{fields}    </image:image>\n"


def write_videos(random: Random, url: str, number: int) -> str:
    """Write a loc, and one or two videos, each with some of twelve fields."""
    videos = [_write_video(random, number) for _ in range(random.choice((1, 1, 1, 2)))]
    return write_loc(random, url) + "".join(videos)


def _write_video(random: Random, number: int) -> str:
    pool = (
        ("thumbnail_loc", f"https://cdn.example.com/thumbs/{number}.jpg", 1.0),
        ("title", f"{choose_words(random, 6)} &amp; more", 1.0),
        ("description", f"<![CDATA[{choose_words(random, 20)} & <b>more</b>]]>", 0.9),
        ("content_loc", f"https://cdn.example.com/v/{number}.mp4", 0.7),
        ("player_loc", f"{BASE}/player?video={number}&amp;autoplay=1", 0.5),
        ("duration", f"{random.randint(10, 3000)}", 0.8),
        ("expiration_date", write_date(random), 0.1),
        ("rating", f"{random.randint(0, 50) / 10}", 0.3),
        ("view_count", f"{random.randint(0, 10**6)}", 0.5),
        ("publication_date", write_date(random), 0.7),
        ("family_friendly", random.choice(("yes", "no")), 0.6),
        ("live", "no", 0.3),
    )
    fields = [(name, text) for name, text, share in pool if random.random() < share]
    fields += [("tag", random.choice(LANGUAGES)) for _ in range(random.randint(0, 5))]
    written = "".join(
        f"      <video:{name}>{text}</video:{name}>\n" for name, text in fields
    )
    return f"    <video:video>\n{written}    </video:video>\n"


def write_alternates(random: Random, url: str, number: int) -> str:
    """Write loc and lastmod, and none to eight alternates."""
    chosen = random.sample(LANGUAGES, random.randint(0, 8))
    links = (
        f'    <xhtml:link rel="alternate" hreflang="{language}" '
        f'href="{escape_text(url.replace(BASE, f"{BASE}/{language}"))}"/>\n'
        for language in chosen
    )
    return write_loc_and_date(random, url, number) + "".join(links)


# -- what is odd


def write_commented(random: Random, url: str, number: int) -> str:
    """Write optional fields; one record in ten has a comment, at one of two places."""
    fields = write_optional(random, url, number)
    if number % 20 == 0:
        return f"    <!-- page {number} -->\n{fields}"
    return (
        f"{fields}    <!-- {choose_words(random, 3)} -->\n"
        if number % 20 == 10
        else fields
    )


def write_unknown(random: Random, url: str, number: int) -> str:
    """Write optional fields, and one of three elements that Google once knew."""
    page_map = (
        f'<pagemap:PageMap><pagemap:DataObject type="document" id="{number}">'
        f'<pagemap:Attribute name="title">{choose_words(random, 3)}</pagemap:Attribute>'
        "</pagemap:DataObject></pagemap:PageMap>"
    )
    geo = "<geo:geo><geo:format>kml</geo:format></geo:geo>"
    element = ("<mobile:mobile/>", page_map, geo)[number % 3]
    return f"{write_optional(random, url, number)}    {element}\n"


def write_odd(random: Random, url: str, number: int) -> str:
    """Write all fields; one record in a hundred has a bad loc or lastmod."""
    date = write_date(random)
    if number % ONE_OF == 0:
        url = url.replace("-", " ", 1)
    if number % ONE_OF == ONE_OF // 2:
        date = f"{choose_moment(random):%d/%m/%Y}"
    return _write_full(random, write_url(random, url), date)


def write_ampersand(random: Random, url: str, number: int) -> str:
    """Write all fields; one record in a hundred has a bare ampersand."""
    loc = write_url(random, url)
    if number % ONE_OF == 0:
        loc = f"{BASE}/list?id={number}&page={random.randint(1, 99)}"
    return _write_full(random, loc, write_date(random))


def write_systematic(random: Random, url: str, number: int) -> str:
    """Write all fields; each record has the same two faults, as programs make them."""
    loc = f"{write_url(random, url)}?id={number}&page={random.randint(1, 99)}"
    return _write_full(random, loc, f"{choose_moment(random):%d/%m/%Y}")


def _write_full(random: Random, loc: str, date: str) -> str:
    return (
        f"    <loc>{loc}</loc>\n    <lastmod>{date}</lastmod>\n"
        f"    <changefreq>{random.choice(FREQUENCIES)}</changefreq>\n"
        f"    <priority>{random.randint(0, 10) / 10:.1f}</priority>\n"
    )


# -- the documents


def make_optional() -> Corpus:
    """20,000 records with optional fields."""
    return make_records(20_000, 21, write_optional)


def make_images() -> Corpus:
    """10,000 records with none to nine images."""
    return make_records(10_000, 22, write_images, IMAGE)


def make_videos() -> Corpus:
    """5,000 records with one or two videos that vary."""
    return make_records(5_000, 23, write_videos, VIDEO)


def make_alternates() -> Corpus:
    """10,000 records with none to eight alternates."""
    return make_records(10_000, 24, write_alternates, XHTML)


def make_comments() -> Corpus:
    """20,000 records, a comment in one of ten."""
    return make_records(20_000, 25, write_commented)


def make_unknown() -> Corpus:
    """10,000 records with an unknown element each."""
    return make_records(10_000, 26, write_unknown, UNKNOWN)


def make_odd() -> Corpus:
    """20,000 records, one of a hundred with a blank in its loc or a bad lastmod."""
    return make_records(20_000, 27, write_odd)


def make_ampersands() -> Corpus:
    """20,000 records, one of a hundred with a bare ampersand."""
    return make_records(20_000, 28, write_ampersand)


def make_systematic() -> Corpus:
    """5,000 records with a bare ampersand and a bad lastmod each."""
    return make_records(5_000, 30, write_systematic)


def make_rss() -> Corpus:
    """500 items of a blog's feed: authors, categories, content and a picture in some."""
    random = Random(29)
    head = (
        f'{DECLARATION}<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">\n'
        f"<channel>\n<title>Example blog</title>\n<link>{BASE}/</link>\n"
    )
    items = "".join(_write_item(random, number) for number in range(500))
    return Corpus(f"{head}{items}</channel>\n</rss>\n".encode(), 500)


def _write_item(random: Random, number: int) -> str:
    url = make_url(random, number)
    fields = [
        f"<title>{choose_words(random, 6)} &#8211; more</title>",
        f"<link>{escape_text(url)}</link>",
        f"<pubDate>{choose_moment(random):%a, %d %b %Y %H:%M:%S} +0000</pubDate>",
        f'<guid isPermaLink="false">{BASE}/?p={number}</guid>',
        f"<description><![CDATA[<p>{choose_words(random, 25)}</p>]]></description>",
    ]
    if random.random() < 0.8:
        fields.append(f"<dc:creator><![CDATA[{choose_words(random, 2)}]]></dc:creator>")
    fields += [
        f"<category>{random.choice(WORDS)}</category>"
        for _ in range(random.randint(0, 5))
    ]
    if random.random() < 0.6:
        text = choose_words(random, 120)
        fields.append(f"<content:encoded><![CDATA[<p>{text}</p>]]></content:encoded>")
    if random.random() < 0.4:
        picture = f"https://cdn.example.com/img/{number}.jpg"
        fields.append(f'<media:content url="{picture}" medium="image" width="1200"/>')
    return "<item>\n  " + "\n  ".join(fields) + "\n</item>\n"


# -- small documents


def make_small(records: int, documents: int = 200) -> list[Corpus]:
    """Make documents with so many records, all different, as generators write them."""
    random = Random(records)
    numbers = count()
    return [_make_small(random, records, numbers) for _ in range(documents)]


def _make_small(random: Random, records: int, numbers: count[int]) -> Corpus:
    declaration = random.choice((DECLARATION, DECLARATION.rstrip(), "", DECLARATION))
    xmlns = random.choice(("", SCHEMA, IMAGE, IMAGE + XHTML))
    write = random.choice((write_optional, write_optional, write_loc_and_date))
    written = (
        f"  <url>\n{write(random, make_url(random, number), number)}  </url>\n"
        for number, _ in zip(numbers, range(records), strict=False)
    )
    text = f'{declaration}<urlset xmlns="{PROTOCOL}"{xmlns}>\n{"".join(written)}</urlset>\n'
    if random.random() < 0.3:
        text = "".join(line.lstrip() for line in text.splitlines())
    return Corpus(text.encode(), records)
