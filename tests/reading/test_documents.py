"""Small documents, and what is read of them: the tables of `tests/cases/reading/`, a law each.

A row is a document (`doc`) and what it gives: `locs` (else those of its law, else that of `{url}`)
and `issues` (else those of its law, else none), where `x3` behind one is so many in a row. `in` is
where it stands: in a record of RECORDS, a root of ROOTS, or in nothing, as a whole document. What
else a row may say is in `check`; with `limits`, nothing is read beside it. To try one law:
`pytest -n 0 tests/reading/test_documents.py -k "words of its sentence"`.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Issue, Limits, SitemapEntry, SitemapReader, Via
from sitemapreader._columns.json import to_json
from tests.support.reading import (
    FEED,
    URLSET,
    read_with,
    without_feedparser,
    without_patterns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader._types.models import Event

LAWS = [
    law
    for path in sorted((Path(__file__).parents[1] / "cases" / "reading").glob("*.toml"))
    for law in tomllib.loads(path.read_text("utf-8"))["law"]
]
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PREFIXES = ' xmlns:x="urn:x" xmlns:media="http://search.yahoo.com/mrss/">'
ROOT, ATOM = URLSET.decode(), FEED.decode().replace(">", PREFIXES)
RSS = (
    f'<rss xmlns:content="http://purl.org/rss/1.0/modules/content/"{PREFIXES}<channel>'
)
PARTS = {
    "ns": NAMESPACE,
    "urlset": ROOT,
    "feed": FEED.decode(),
    "url": "<url><loc>http://a.b/1</loc></url>",
    "item": "<item><link>http://a.b/1</link></item>",
    "entry": '<entry><link href="http://a.b/1"/></entry>',
    "hidden": "<url><loc>http://no/</loc></url>",
    "namesake": '<x:NAME>http://no/</x:NAME><m xmlns="urn:m" xmlns:s="urn:m">'
    "<NAME>LINK</NAME><q><NAME>LINK</NAME></q></m>",
    "page": '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Log in</title></head>'
    "<body><form>",
}
"""What `{name}` stands for in a document, where `{300*x}` is 300 times x."""
RECORDS = {
    "url": (ROOT, "url", "<loc>http://a.b/1</loc>", "</urlset>"),
    "item": (RSS, "item", "<link>http://a.b/1</link>", "</channel></rss>"),
    "entry": (ATOM, "entry", '<link href="http://a.b/1"/>', "</feed>"),
    "bare": ('<urlset xmlns:x="urn:x">', "url", "<loc>http://a.b/1</loc>", "</urlset>"),
    "index": (
        f'<sitemapindex {NAMESPACE} xmlns:x="urn:x">',
        "sitemap",
        "<loc>http://a.b/1</loc>",
        "</sitemapindex>",
    ),
    "prefixed": (
        f'<s:urlset xmlns:s="{NAMESPACE[7:-1]}" xmlns:x="urn:x">',
        "s:url",
        "<s:loc>http://a.b/1</s:loc>",
        "</s:urlset>",
    ),
}
"""Root, name and link of a record, in which a document stands; NAME and LINK in it are these."""
ROOTS = {"urlset": RECORDS["url"], "rss": RECORDS["item"], "atom": RECORDS["entry"]}
BESIDE = (
    "{20*<RECORD>LINK</RECORD>}",
    *("<RECORD>LINK<x:y>a & b</x:y></RECORD>", "<RECORD>LINK<x:y>a</RECORD>", "& \x02"),
    *("<RECORD>LINK</x:y></RECORD>", "<RECORD>LINK<q:y/></RECORD>"),
    "<RECORD>LINK<x:y>\x01</x:y></RECORD>",
)
"""What may stand beside a document, healthy or broken, and changes nothing in it."""
EXPECTED = ("limits", "locs", "issues")
"""What a law may say for all of its rows."""
LAW_KEYS = {
    "says",
    "in",
    "rows",
    "url",
    "encoding",
    "block",
    "blocks",
    "cut",
    *EXPECTED,
}
"""`block` is the size of the blocks, `blocks` are others to try; `cut`: cut documents are tried."""
ROW_KEYS = {"doc", "pages", "entries", "lines", "values", "window", *EXPECTED}
MORE = ("&", "<x:i>1<?php echo 1 ?>2</x:i>", "{300*<!-- -->}")
"""What may stand in a record, and changes no other part of it."""


def fill_in(doc: str) -> str:
    """Write a document out."""
    for name, part in PARTS.items():
        doc = doc.replace(f"{{{name}}}", part)
    return re.sub(r"\{(\d+)\*(.*?)\}", lambda m: m[2] * int(m[1]), doc, flags=re.DOTALL)


def write(place: str, doc: str, beside: str = "") -> str:
    """Write a document where it stands, with what stands before it and behind it there."""
    root, name, link, end = RECORDS.get(place) or ROOTS.get(place, ("", "", "", ""))
    inside = f"<RECORD>LINK{doc}</RECORD>" if place in RECORDS else doc
    written = fill_in(beside + inside + beside)
    assert not re.search(r"\{[a-z]+\}", written), "a part that is not in PARTS"
    written = written.replace("RECORD", name).replace("LINK", link)
    return root + written.replace("NAME", name.rpartition(":")[2]) + end


def count_runs(texts: Iterable[str]) -> list[str]:
    """List texts, equal ones that follow each other with their number."""
    counts = [(text, len(list(same))) for text, same in groupby(texts)]
    return [f"{text} x{count}" if count > 1 else text for text, count in counts]


class Reading:
    """All that a reader says of a document."""

    def __init__(
        self, text: str, law: dict[str, Any], row: dict[str, Any], block: int = 0
    ) -> None:
        url, limits = (
            law.get("url", "https://h.example/s.xml"),
            Limits(**row.get("limits", {})),
        )
        reader = SitemapReader(url, limits=limits)
        with read_with(BLOCK_BYTES=block or law.get("block", 32_768)):
            data = text.encode(law.get("encoding", "utf-8"))
            self.events: list[Event] = reader.feed(data) + reader.close()
        self.is_window = reader.is_window
        self.issues = [event for event in self.events if isinstance(event, Issue)]
        entries = [event for event in self.events if not isinstance(event, Issue)]
        self.pages = [
            e for e in entries if isinstance(e, SitemapEntry) and e.via is Via.PAGE
        ]
        self.entries = [entry for entry in entries if entry not in self.pages]
        self.locs = [entry.loc for entry in self.entries]
        assert {entry.sitemap for entry in entries} <= {url}
        stats = reader.stats
        assert stats.records == stats.delivered + stats.dropped
        assert stats.delivered == len(self.locs)

    def check(self, row: dict[str, Any]) -> None:
        """Compare with all that a row says."""
        assert count_runs(self.locs) == row.get("locs", ["http://a.b/1"])
        assert count_runs(str(issue.code) for issue in self.issues) == row.get(
            "issues", []
        )
        pages = [page.loc + " archive" * page.is_archive for page in self.pages]
        assert pages == row.get("pages", [])
        if "entries" in row:  # all that they have but their loc
            written = [json.loads(to_json(entry)) for entry in self.entries]
            own = {"loc", "sitemap"}
            assert [
                {k: v for k, v in e.items() if k not in own} for e in written
            ] == row["entries"]
        if "values" in row:
            assert [(each.line or 0, each.value) for each in self.issues] == list(
                zip(row["lines"], row["values"], strict=True)
            )
        assert self.is_window is row.get("window", self.is_window)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["says"])
def test_documents(law: dict[str, Any]) -> None:
    """Each table proves the sentence it begins with, however a document comes or is read.

    The same is read by the tree alone, in small blocks, beside other records, and of a record with
    more in it; of what is cut nothing is read that the whole has not.
    """
    places = law.get("in", "nothing")
    places = [places] if isinstance(places, str) else places
    assert {*places} <= RECORDS.keys() | ROOTS.keys() | {"nothing"}
    assert LAW_KEYS.issuperset(law)
    for place in places:
        for row in law["rows"]:
            assert ROW_KEYS.issuperset(row), row["doc"]
            row = {key: law[key] for key in EXPECTED if key in law} | row  # noqa: PLW2901 (defaults)
            try:
                with without_feedparser():  # which has tests of its own
                    check_row(law, row, place)
            except AssertionError as error:
                error.add_note(f"in {place}, of {row['doc']}")
                raise


def check_row(law: dict[str, Any], row: dict[str, Any], place: str) -> None:
    """Check all that is promised of a row."""

    def reading(doc: str, beside: str = "", block: int = 0) -> Reading:
        return Reading(write(place, doc, beside), law, row, block)

    doc = row["doc"]
    whole = reading(doc)
    whole.check(row)
    with without_patterns():
        assert reading(doc).events == whole.events
    for block in law.get("blocks", [500]):
        in_blocks = reading(doc, block=block)
        if "limits" not in row:  # what is too long is dropped sooner or later
            assert in_blocks.events == whole.events
        assert in_blocks.locs == whole.locs
    if "limits" in row:
        return
    for beside in BESIDE if place in RECORDS else BESIDE[:1] if place in ROOTS else ():
        among, count = (
            reading(doc, beside),
            20 if "20*" in beside else beside.count("LINK"),
        )
        behind = len(among.locs) - count
        assert among.locs[count:behind] == whole.locs
        assert among.entries[count:behind] == whole.entries
        assert {each.code for each in among.issues} >= {
            each.code for each in whole.issues
        }
    for more in MORE if place in RECORDS else ():
        fuller = reading(doc + more)
        assert fuller.locs == whole.locs
        assert fuller.entries == whole.entries or "x:i" in more or "entries" not in row
        assert more != "&" or len(fuller.issues) > len(whole.issues) or "&" in doc
    if place == "nothing" and "*{" not in doc:
        many = reading(re.sub(r"\{(url|item|entry)\}", r"{20*\g<0>}", doc))
        assert {*many.locs} == {*whole.locs}
        assert {each.code for each in many.issues} == {
            each.code for each in whole.issues
        }
    if law.get("cut"):
        text = write(place, doc)
        for size in range(len(text) - len(fill_in(doc)), len(text), 61):
            assert {*Reading(text[:size], law, row).locs} <= {*whole.locs}


def test_a_reader_that_was_closed() -> None:
    """Closing it again gives nothing, and feeding it is refused with what to do."""
    for document in (
        f"{ROOT}{PARTS['url']}</urlset>".encode(),
        b"https://a.b/1\n",
        b"<html>",
    ):
        reader = SitemapReader("https://a.b/s")
        first = [*reader.feed(document), *reader.close()]
        assert first
        assert reader.close() == []
        with pytest.raises(ValueError, match="make a new SitemapReader"):
            reader.feed(document)
