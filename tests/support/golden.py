"""The golden files: every document below testdata/, and the events it must give, one a line.

`testdata/broken/bare-ampersand.xml` has its expectation in `bare-ampersand.xml.jsonl` beside it.
The documents below `testdata/site/` are a site for people to look at; theirs are in
`testdata/site.jsonl/`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import attrs

from sitemapreader._read import SitemapReader
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event, Format, Via
from sitemapreader._types.options import Limits
from tests.support import package

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TESTDATA = package.ROOT / "testdata"
SITE = TESTDATA / "site"
SITE_EXPECTED = TESTDATA / "site.jsonl"
HOST = "https://www.example.org/"

LIMITS = {
    "gzip/gzip-too-many-members.xml.gz": Limits(gzip_members=4),
    "hostile/too-deep.xml": Limits(record_depth=8),
    "hostile/too-many-elements.xml": Limits(record_elements=50),
    "hostile/too-many-attributes.xml": Limits(attributes=10),
    "hostile/field-too-long.xml": Limits(field_chars=200),
    "hostile/too-large-entries.xml": Limits(entries=4),
    "hostile/too-large-entries.txt": Limits(entries=4),
    "hostile/too-large-bytes.xml": Limits(inflated_bytes=700),
    "hostile/too-large-bytes.xml.gz": Limits(inflated_bytes=700),
}
"""Documents that are read with smaller limits than the default, so that small files do."""

EXTRA_FORMATS = {"html": frozenset({Format.HTML})}
"""Rooms whose documents are read in a format that has to be asked for."""


@attrs.frozen
class Reading:
    """All that a reader says of one document."""

    events: tuple[Event, ...]
    format: Format | None
    records: int
    delivered: int
    dropped: int
    counts: Counter[IssueCode]

    @property
    def locs(self) -> list[str]:
        """The URLs of the records; the next page of a feed is none of them."""
        entries = [event for event in self.events if not isinstance(event, Issue)]
        return [
            each.loc for each in entries if getattr(each, "via", None) is not Via.PAGE
        ]


def documents() -> list[Path]:
    """Find every document, in a fixed order."""
    return sorted(
        path for path in TESTDATA.rglob("*") if path.is_file() and _is_document(path)
    )


def _is_document(path: Path) -> bool:
    if path.name.startswith(".") or path == SITE / "robots.txt":
        return False
    return path.suffix not in {".jsonl", ".md"}


def name_of(document: Path) -> str:
    """Name a document by its path below testdata/."""
    return document.relative_to(TESTDATA).as_posix()


def expected_path(document: Path) -> Path:
    """Say where the events of a document are kept."""
    if document.is_relative_to(SITE):
        document = SITE_EXPECTED / document.relative_to(SITE)
    return document.with_name(document.name + ".jsonl")


def url_of(document: Path) -> str:
    """Say where the document would be on the web: what its relative URLs are resolved against."""
    root = SITE if document.is_relative_to(SITE) else TESTDATA
    return HOST + document.relative_to(root).as_posix()


def limits_of(document: Path) -> Limits:
    """Say with which limits a document is read."""
    return LIMITS.get(name_of(document), Limits())


def read_pieces(
    pieces: Iterable[bytes],
    url: str = HOST + "sitemap.xml",
    limits: Limits | None = None,
) -> Reading:
    """Feed a document to a reader, piece by piece."""
    room = url.removeprefix(HOST).partition("/")[0]
    extra_formats = EXTRA_FORMATS.get(room, frozenset())
    reader = SitemapReader(url, limits=limits or Limits(), extra_formats=extra_formats)
    events: list[Event] = []
    for piece in pieces:
        events += reader.feed(piece)
    events += reader.close()
    ledger = reader.stats
    return Reading(
        events=tuple(events),
        format=reader.format,
        records=ledger.records,
        delivered=ledger.delivered,
        dropped=ledger.dropped,
        counts=+Counter(ledger.counts),
    )


def read_document(document: Path) -> Reading:
    """Feed a document to a reader in one piece."""
    return read_pieces([document.read_bytes()], url_of(document), limits_of(document))


@cache
def known_reading(document: Path) -> Reading:
    """Return what a document gives: it is read once, for all tests that compare with it."""
    return read_document(document)
