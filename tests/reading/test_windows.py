"""Documents that list the latest records only."""

from __future__ import annotations

from each_case import for_each

from sitemapreader import SitemapReader

ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"{}>{}<entry><link href="https://a.example/1"/></entry>{}</feed>'
RSS = "<rss{}><channel>{}<item><link>https://a.example/1</link></item>{}</channel></rss>"
URLSET = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{}>{}'
    "<url><loc>https://a.example/1</loc></url>{}</urlset>"
)
INDEX = URLSET.replace("urlset", "sitemapindex").replace("url>", "sitemap>")
TEXT = "https://a.example/1\n{}{}{}"

HISTORY = ' xmlns:fh="http://purl.org/syndication/history/1.0"'
SYNC = ' xmlns:rs="http://www.openarchives.org/rs/terms/"'
CHANGES = '<rs:md capability="changelist" from="2026-01-01"/>'
COMPLETE_HERE = f"<fh:complete{HISTORY}/>"


@for_each("padding", ["", " " * 70_000])
@for_each(
    "shape, parts, is_window",
    [
        (RSS, (HISTORY, "<title>t</title>", ""), True),
        (RSS, (HISTORY, "<title>t</title><fh:complete/>", ""), False),
        (RSS, (HISTORY, "<title>fh:complete</title><!--<fh:complete/>-->", ""), True),
        (RSS, ("", COMPLETE_HERE, ""), False),
        (ATOM, ("", "<id>1</id>", ""), True),
        (ATOM, (HISTORY.replace("fh", "h"), "<id>1</id><h:complete></h:complete>", ""), False),
        (ATOM, (HISTORY, "<id>1</id>", "<fh:complete/>"), False),
        (URLSET, ("", "", ""), False),
        (URLSET, (SYNC, CHANGES, ""), True),
        (URLSET, (SYNC, CHANGES.replace("changelist", "resourcelist"), ""), False),
        (URLSET, (SYNC.replace(":rs", ":s"), CHANGES.replace("rs:", "s:"), ""), True),
        (URLSET, ("", f"<!--{CHANGES}-->", ""), False),
        (INDEX, (SYNC, '<rs:ln rel="up" href="https://a.example/c.xml"/>' + CHANGES, ""), True),
        (TEXT, ("", "", ""), False),
    ],
)
def test_a_reader_knows_a_window(
    shape: str, parts: tuple[str, str, str], padding: str, *, is_window: bool
) -> None:
    """A feed is a window unless it says that it is complete; a urlset is if it lists changes."""
    reader = SitemapReader("https://a.example/doc")
    start, head, tail = parts
    data = shape.format(start, padding + head, padding + tail).encode()
    entries = reader.feed(data) + reader.close()
    assert reader.stats.delivered == 1, entries
    assert reader.is_window is is_window


def test_what_is_no_sitemap_is_no_window() -> None:
    """A document that no reader fits is no window, and an unread one is none yet."""
    reader = SitemapReader()
    assert not reader.is_window
    reader.feed(b"<html><body>")
    reader.close()
    assert not reader.is_window
