"""Titles: from a record to every output, and into what a state remembers of it."""

from __future__ import annotations

from sitemapreader import UrlEntry
from sitemapreader._types.issues import IssueCode
from sitemapreader.changes.rows import hash_record
from tests.support import golden

PAGE = "https://example.org/page"
FEED = """<channel><title>All of them</title>
<item><link>https://www.example.org/one</link><title> One &amp; only </title></item>
<item><link>https://www.example.org/two</link><title></title></item>
<item><link>https://www.example.org/three</link></item>
</channel>"""


def test_a_feed_that_is_salvaged_has_titles() -> None:
    """The fallback hands over the titles of items, and none for an item without one."""
    reading = golden.read_pieces([FEED.encode()])
    assert reading.counts[IssueCode.FEED_SALVAGED] == 1
    titles = {
        event.loc: event.title
        for event in reading.events
        if isinstance(event, UrlEntry)
    }
    assert titles == {
        "https://www.example.org/one": "One & only",
        "https://www.example.org/two": None,
        "https://www.example.org/three": None,
    }


def test_a_new_title_is_a_change() -> None:
    """The state's fingerprint of a record has its title, apart from the fields beside it."""
    plain = UrlEntry(PAGE, lastmod_text="2026")
    titled = UrlEntry(PAGE, lastmod_text="2026", title="2026")
    other = UrlEntry(PAGE, title="2026")
    assert len({hash_record(entry) for entry in (plain, titled, other)}) == 3
