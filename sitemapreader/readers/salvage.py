"""The last resort for a feed that is beyond repair: feedparser, in a child process with limits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.readers.elements import Element
from sitemapreader.readers.jail import CPU_SECONDS, MAX_BYTES
from sitemapreader.readers.records.context import RecordContext
from sitemapreader.readers.records.namespaces import OWN
from sitemapreader.readers.records.url import read_record
from sitemapreader.readers.xml.lenient.entities import unescape

if TYPE_CHECKING:
    from sitemapreader.models import Event, Format
    from sitemapreader.readers.stats import ReadStats

_JAIL = Path(__file__).with_name("jail.py")
_WALL_SECONDS = CPU_SECONDS + 5
_LOOKS_LIKE_A_FEED = re.compile(
    rb"<(?:[\w.-]+:)?(?:item|entry|channel|feed|rss)[\s>/]", re.IGNORECASE
)
_BROKEN = frozenset({IssueCode.MALFORMED, IssueCode.TRUNCATED, IssueCode.NOT_A_SITEMAP})


class FeedKeeper:
    """Keeps a document of up to 1 MiB, as long as it may turn out to be a feed beyond repair."""

    def __init__(self, stats: ReadStats) -> None:
        self._stats = stats
        self._kept = bytearray()
        self._given_up = False

    def keep(self, data: bytes, format_: Format | None) -> None:
        """Keep a piece in UTF-8, unless the document needs no salvage or is too large for it."""
        if self._given_up:
            return
        self._kept += data
        if (
            len(self._kept) > MAX_BYTES
            or self._stats.delivered
            or (format_ is not None and not format_.is_feed)
        ):
            self._given_up = True
            self._kept.clear()

    @property
    def is_beyond_repair(self) -> bool:
        """Whether nothing could be delivered of what looks like a feed, and it is broken."""
        return (
            bool(self._kept)
            and not self._stats.delivered
            and bool(_BROKEN & self._stats.counts.keys())
            and _LOOKS_LIKE_A_FEED.search(self._kept) is not None
        )

    def salvage(self, events: list[Event]) -> None:
        """Append the entries that feedparser finds a link for; `events` say that there were none.

        Records that were dropped before are counted still: nobody can say which became which.
        """
        found = [item for item in _ask_feedparser(bytes(self._kept)) if item[0]]
        text = self._kept.decode("utf-8", "replace")
        unescaped = unescape(text, set())
        self._kept.clear()
        if not found:
            self._stats.note(events, IssueCode.FEED_UNREADABLE)
            return
        self._stats.retract(events, IssueCode.NOT_A_SITEMAP)
        self._stats.note(events, IssueCode.FEED_SALVAGED, value=f"{len(found)} entries")
        context = RecordContext(events, self._stats)
        for link, date, title in found:
            if link in text or link in unescaped:
                for _ in read_record(context, _make_item(link, date)):
                    pass
                if isinstance(entry := events[-1], UrlEntry):  # else it was dropped
                    entry.title = title.strip() or None
            else:  # feedparser has repaired the link in its own way
                self._stats.drop(events, IssueCode.MALFORMED, value=link)


def _make_item(link: str, date: str) -> Element:
    item, *fields = (Element(OWN, OWN, tag, tag, {}, 1) for tag in ("item", "link", "pubdate"))
    for field, text in zip(fields, (link, date), strict=True):
        field.add_text(text, MAX_BYTES)
        item.add_child(field)
    return item


def _ask_feedparser(data: bytes) -> list[tuple[str, str, str]]:
    """Run the jail; an empty list if it fails, for whatever reason."""
    try:
        done = subprocess.run(  # noqa: S603 (our own script; the feed is on its standard input)
            [sys.executable, "-I", str(_JAIL)],
            input=data,
            capture_output=True,
            timeout=_WALL_SECONDS,
            check=True,
        )
        return [(str(link), str(date), str(title)) for link, date, title in json.loads(done.stdout)]
    except (subprocess.SubprocessError, OSError, ValueError):
        return []
