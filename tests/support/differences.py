"""What other projects' tests expect and we do not meet: what is not ours, and where we differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_OURS = {
    r"strict_\w+|table\[\d+\] strict": "there is no strict mode: what is odd is told, not refused",
    r"ids|entries\[\d+\]\.id": "the id of an entry is no address of a page",
    r"entries\[\d+\]\.links .*": "of an entry's links only the one to its page is kept",
    r"feed_lastmod": "the date of a feed as a whole is no record's",
    r"well_formed": "whether all is well-formed is told by Issues, not by a flag",
    r"feedparser_expr: .*": "this part speaks of a flag, of the feed, or of other fields",
}
"""Names of the assertions about what we do not offer -> why."""


@attrs.frozen
class Difference:
    """Assertions that we do not meet on purpose.

    Attributes:
        row: the section of docs/behaviour.md that decides it, and how the row in it begins.
        why: a sentence.
        holds: tells whether the difference is the one that is meant, given theirs and ours.
        where: case -> names of its assertions.
    """

    row: str
    why: str
    holds: Callable[[Any, Any], bool]
    where: dict[str, tuple[str, ...]]


def gives(value: Any) -> Callable[[Any, Any], bool]:
    return lambda _, ours: type(ours) is type(value) and ours == value


def gives_more(theirs: list[Any], ours: list[Any]) -> bool:
    return len(ours) > len(theirs) and set(ours) > set(theirs)


def agrees_where_read(theirs: list[Any], ours: list[Any]) -> bool:
    """Tell whether we read all that they read, and the same, and more."""
    both = list(zip(theirs, ours, strict=True))
    return all(mine == his for his, mine in both if his) and any(m and not h for h, m in both)


DIFFERENCES = (
    # documents
    Difference(
        "Documents: format",
        "a document is what its first bytes are: here neither a root element nor URLs",
        lambda theirs, ours: theirs and not ours,
        {
            "scrapy/get_sitemap_body--xmlresponse": ("sitemap_body",),
            "trafilatura/rss--cdata": ("locs",),
            "trafilatura/rss--plain": ("count",),
            "trafilatura/rss--spaces": ("count",),
        },
    ),
    Difference(
        "Documents: format",
        "what is a sitemap is not told by its name; and one is named by a loc, not by an alternate",
        lambda theirs, ours: theirs != ours and len(ours) == 1,
        {"trafilatura/hreflang.xml--de": ("sitemaps",)},
    ),
    Difference(
        "Documents: empty body",
        "nothing at all is no sitemap, whatever its Content-Type",
        gives(None),
        {"scrapy/get_sitemap_body--xmlresponse_empty": ("sitemap_body",)},
    ),
    Difference(
        "Documents: text",
        "one line in two that is a URL does not make a list of URLs",
        lambda theirs, ours: theirs and not ours,
        {"crawler-commons/testSitemapTXTfilterUrls": ("type", "count", "contains")},
    ),
    Difference(
        "Documents: RSS 0.9x",
        "CDF is none of the formats; feedparser salvages its links, but an item that has none is "
        "dropped with its date",
        gives(None),
        {
            "feedparser/wellformed--cdf--item_lastmod_parsed": (
                "entries[0].updated_iso",
                "expression entries[0].updated_parsed",
            )
        },
    ),
    Difference(
        "Documents: RSS 0.9x",
        "the case has empty lists because its test looks at one title only; the feed has 40 items",
        lambda _, ours: ours == 40 or len(ours) == 40,
        {"rss-parser/encoding": ("count", "locs", "lastmods")},
    ),
    Difference(
        "Documents: any internal subset",
        "a DTD with declarations is refused, and nothing of the document is read",
        lambda theirs, ours: theirs and not ours,
        {
            "scrapy/test_xml_entity_expansion": (
                "locs",
                "lastmods",
                "entries.length",
                "entries[0].loc",
            )
        },
    ),
    Difference(
        "Documents: control characters",
        "a record with a wrong end tag is mended: its loc was closed, so the URL is certain",
        lambda theirs, ours: ours[:-1] == theirs,
        {"crawlee-python/malformed_keeps_urls": ("locs",)},
    ),
    Difference(
        "Documents: control characters",
        "an end tag too many costs no record, so it is a warning and no error",
        gives(value=False),
        {"crawler-commons/testSitemapParserBrokenXml": ("error",)},
    ),
    # records
    Difference(
        "Records: `<loc>` trimmed",
        "blanks around a URL are no part of it",
        lambda theirs, ours: ours == [loc.strip() for loc in theirs],
        {"rss-parser/itunes-href": ("locs",)},
    ),
    Difference(
        "Records: `<loc>` trimmed",
        "a URL stays as it is written, its scheme in capitals as well",
        lambda theirs, ours: [loc.replace("HTTP:", "http:") for loc in ours] == theirs,
        {
            "scrapy/spider_robotstxt": ("sitemaps",),
            "scrapy/test_sitemap_urls_from_robots": ("sitemaps",),
        },
    ),
    Difference(
        "Records: relative `<loc>`",
        "without a scheme a loc is relative; no host is guessed in it, and no fragment removed",
        lambda theirs, ours: (
            ours[0] == f"{theirs[0]}www.example.com/"
            and [loc.partition("#")[0] for loc in ours[1:]] == theirs[1:]
        ),
        {"crawler-commons/testSitemapXMLfilterUrls": ("locs",)},
    ),
    Difference(
        "Records: relative `<loc>`",
        "any text without a scheme is a relative reference; whether a server knows it is not asked",
        lambda _, ours: len(ours) == 1,
        {"go-sitemap-parser/resolve_loc_table": ("table[4]",)},
    ),
    Difference(
        "Records: `<loc>` of 2,048",
        "a long URL is kept, with an Issue",
        lambda _, ours: len(ours) == 1,
        {"go-sitemap-parser/resolve_loc_table": ("table[11]",)},
    ),
    Difference(
        "Records: missing or empty `<loc>`",
        "an entry without a link has no URL to give, and is dropped with an Issue",
        lambda theirs, ours: not ours and theirs in (1, [None]),
        {
            "gofeed/extensions--dublincore--dublincore_item_fields": ("count",),
            "gofeed/parser--atom--atom03_feed_entry_link": ("count",),
            "gofeed/parser--atom--atom03_feed_entry_updated": ("count",),
            "gofeed/parser--atom--atom10_feed_entry_link_hreflang": ("count",),
            "gofeed/parser--atom--atom10_feed_entry_link_title": ("count",),
            "gofeed/parser--atom--atom10_feed_entry_link_type": ("count",),
            "gofeed/parser--rss--rss_channel_item_pubDate": ("count",),
            "gofeed/translator--rss--feed_item_published_-_rss_channel_item_pubDate": ("count",),
            "gofeed/translator--rss--feed_item_published_-_rss_channel_item_published_atom": (
                "count",
            ),
            "gofeed/translator--rss--feed_item_updated_-_rss_channel_item_updated_atom": ("count",),
            "rss-parser/missing-fields": ("count", "locs", "lastmods"),
        },
    ),
    Difference(
        "Records: image, video, news",
        "an image without its loc is left out here as there, but not without a word",
        gives(value=True),
        {"go-sitemap-parser/image_empty_loc": ("errors_count",)},
    ),
    Difference(
        "Records: RSS item",
        'a guid with isPermaLink="false" is no URL, even where it looks like one',
        lambda theirs, ours: (
            theirs - 1 == ours
            if isinstance(theirs, int)
            else [loc for loc in theirs if not loc.endswith("/guid.html")] == ours
        ),
        {"crawler-commons/testRSSFormat": ("count", "locs")},
    ),
    Difference(
        "Records: RSS item",
        "the date of an item is pubDate, dc:date or atom:updated",
        gives(None),
        {
            "gofeed/translator--rss--feed_item_published_-_rss_channel_item_published_atom": (
                "entries[0].published",
                "entries[0].publishedParsed",
            )
        },
    ),
    Difference(
        "Records: Atom entry",
        "lastmod is when an entry was updated; when it was published is asked for only after that",
        lambda theirs, ours: all(h <= m for h, m in zip(theirs, ours, strict=True)),
        {
            "rss-parser/atom-customfields": ("lastmods",),
            "rss-parser/feedburner": ("lastmods",),
            "rss-parser/many-links": ("lastmods",),
        },
    ),
    Difference(
        "Records: lastmod",
        "a date without a zone is UTC",
        agrees_where_read,
        {"crawler-commons/testRSSPubDate": ("lastmods",)},
    ),
    Difference(
        "Records: lastmod",
        "a form of neither W3C nor RFC 822: other languages, two-digit years before the month, "
        "asctime, zones that RFC 822 does not name",
        gives(None),
        {
            "feedparser/dates": tuple(
                f"table[{row}]"
                for row in (
                    *(1, 3, 5, 6, 7, 8, 9, 11, 13, 15, 17),
                    *(19, 20, 25, 26, 31, 32, 33, 34, 35, 36, 45, 46),
                )
            )
        },
    ),
    Difference(
        "Records: priority",
        "what is absent, or no priority, is None: 0.5 would say that the author wrote it",
        lambda theirs, ours: (
            ours is None or all(mine in (his, None) for his, mine in zip(theirs, ours, strict=True))
        ),
        {
            "crawler-commons/priority": tuple(f"table[{row}]" for row in range(1, 7)),
            "gopher-parse-sitemap/sitemap": ("priorities",),
        },
    ),
    Difference(
        "Records: changefreq",
        "what is absent is None",
        lambda theirs, ours: all(
            mine in (his, None) for his, mine in zip(theirs, ours, strict=True)
        ),
        {"gopher-parse-sitemap/sitemap": ("changefreqs",)},
    ),
    Difference(
        "`since`: Entries without a date",
        'they pass by default; undated="drop" is their answer',
        gives_more,
        {"sitemapper/lastmod_filter": ("kept",)},
    ),
    # discovery
    Difference(
        "Discovery: robots.txt: `Sitemap:`",
        "a line that is a bare URL names no sitemap",
        gives(2),
        {"crawler-commons/robots--sitemap": ("sitemaps_count",)},
    ),
    Difference(
        "Discovery: robots.txt: `Sitemap:`",
        "relative values are resolved",
        lambda theirs, ours: (
            ours == [f"http://www.example.com{u}" if u[0] == "/" else u for u in theirs]
        ),
        {"robots-parsers/samclarke--sitemap": ("sitemaps",)},
    ),
    Difference(
        "Discovery: robots.txt: 4xx",
        "what robots.txt itself lists may be on any host",
        gives_more,
        {"crawlee-python/robots_cross_host_non_http": ("sitemaps",)},
    ),
    Difference(
        "Discovery: If no sitemap from there answers",
        "a guess counts if there is a real sitemap: these answer with nothing, or not at all",
        gives([]),
        {
            "crawlee/discover--input_url": ("discovered",),
            "crawlee/discover--wellknown_xml": ("discovered",),
            "crawlee-python/discover--common_paths": ("discovered",),
        },
    ),
    Difference(
        "The command line: `python -m sitemapreader",
        "what is no URL is misuse, and told at once",
        gives("ValueError"),
        {"crawlee-python/discover--no_host": ("discovered",)},
    ),
    Difference(
        "Discovery: `<link rel=",
        "feeds are what <link> elements name; an <a> to one is a link like any other",
        lambda _, ours: ours in (0, []),
        {
            "trafilatura/autodiscovery--a_feed_atom": ("feeds", "feeds_count"),
            "trafilatura/autodiscovery--a_feed_xml": ("feeds", "feeds_count"),
            "trafilatura/autodiscovery--a_posts_default": ("feeds", "feeds_count"),
            "trafilatura/autodiscovery--a_query_rel": ("feeds", "feeds_count"),
        },
    ),
    Difference(
        "Discovery: `<link rel=",
        "a relative href is as good as an absolute one",
        gives(1),
        {"trafilatura/autodiscovery--invalid": ("feeds_count",)},
    ),
    # the walk
    Difference(
        "The walk: Entries outside",
        'they are delivered and counted; scope="drop" is their answer',
        gives_more,
        {
            "crawlee/cross_host_urls": ("locs",),
            "crawlee-python/different_url": ("locs",),
            "crawlee-python/from_string_cross_host": ("locs",),
        },
    ),
)


OPEN: dict[str, tuple[str, tuple[str, ...]]] = {}
"""Not met, and not decided: no row of docs/behaviour.md says that we should answer otherwise."""
