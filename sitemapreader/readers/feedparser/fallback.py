"""The last resort for a feed beyond repair: feedparser, in a child process with limits."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from sitemapreader.issues import IssueCode
from sitemapreader.options import FEEDPARSER_MAX_BYTES
from sitemapreader.readers.xml.lenient.entities import unescape
from sitemapreader.readers.xml.reader import XmlReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.models import Event, Format
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

_WORKER = Path(__file__).with_name("worker.py")
_WALL_SECONDS_PER_CPU_SECOND = 10
"""On a busy machine a process gets a part of a processor; without a bound on CPU time, its end."""
_OUT_OF_TIME: int = getattr(signal, "SIGXCPU", 0)
_LOOKS_LIKE_A_FEED = re.compile(
    rb"<(?:[\w.-]+:)?(?:item|entry|channel|feed|rss)[\s>/]", re.IGNORECASE
)
_BETWEEN_WORDS = re.compile(r"[<>\"'\s\[\]]+")
_MAX_SEARCHES = 1_000
"""Searches through all of a feed, 0.3 ms each for 1 MiB."""
_BROKEN = frozenset({IssueCode.MALFORMED, IssueCode.TRUNCATED, IssueCode.NOT_A_SITEMAP})


class FoundEntry(NamedTuple):
    """An entry that feedparser found: texts, empty where the feed has none."""

    link: str
    date: str
    title: str


class FeedparserFallback:
    """Keep a document of up to 1 MiB that may be a feed beyond repair, and have feedparser read it.

    Args:
        stats: counts of the document.
        limits: how long feedparser may take, and how entries are read.
    """

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._limits = limits
        self._kept = bytearray()
        self._given_up = False
        self._worker = FeedparserWorker(limits.feedparser_seconds)

    def keep(self, data: bytes, format_: Format | None) -> None:
        """Keep a piece in UTF-8, unless the document needs no fallback or is too large for it."""
        if self._given_up:
            return
        self._kept += data
        if (
            len(self._kept) > FEEDPARSER_MAX_BYTES
            or self._stats.delivered
            or (format_ is not None and not format_.is_feed)
        ):
            self._given_up = True
            self._kept.clear()

    @property
    def is_needed(self) -> bool:
        """Whether nothing could be delivered of what looks like a feed, and it is broken."""
        return (
            bool(self._kept)
            and not self._stats.delivered
            and bool(_BROKEN & self._stats.counts.keys())
            and _LOOKS_LIKE_A_FEED.search(self._kept) is not None
        )

    def cancel(self, limit: str) -> None:
        """Kill the worker, or start none; the Issue names the limit. From any thread."""
        self._worker.stop(limit)

    def read(self, events: list[Event]) -> None:
        """Append the entries that feedparser finds a link for; `events` say that there were none.

        Records that were dropped before are counted still: nobody can say which became which.
        """
        data = bytes(self._kept)
        self._kept.clear()
        found = [entry for entry in self._worker.run(data) if entry.link]
        if not found:
            self._stats.note(events, IssueCode.FEED_UNREADABLE, value=self._worker.limit)
            return
        self._stats.retract(events, IssueCode.NOT_A_SITEMAP)
        self._stats.note(events, IssueCode.FEED_SALVAGED, value=f"{len(found)} entries")
        is_written = LinkSearch(data.decode("utf-8", "replace")).is_written
        sound = []
        for entry in found:
            if is_written(entry.link):
                sound.append(entry)
            else:  # feedparser repairs some links in its own way: they would be invented
                self._stats.drop(events, IssueCode.MALFORMED, value=entry.link)
        if sound:
            reader = XmlReader(self._stats, self._limits)
            for batch in (*reader.feed(write_feed(sound)), *reader.close(None)):
                events += batch


class LinkSearch:
    """Search of a feed's text for the links that feedparser found in it."""

    def __init__(self, text: str) -> None:
        self._texts = (text, unescape(text, set()))
        self._words = {word for each in self._texts for word in _BETWEEN_WORDS.split(each)}
        self._searches_left = _MAX_SEARCHES

    def is_written(self, link: str) -> bool:
        """Return whether a link stands in the feed, as it is or escaped."""
        if link in self._words:
            return True
        self._searches_left -= 1  # slow: what has a blank in it is rare, unless it is hostile
        return self._searches_left >= 0 and any(link in text for text in self._texts)


class FeedparserWorker:
    """The child process: started once, bounded in CPU and wall time, and stopped from any thread.

    `limit` names the limit that kept it from answering, if one did.
    """

    def __init__(self, cpu_seconds: int) -> None:
        self.limit: str | None = None
        self._cpu_seconds = cpu_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def stop(self, limit: str) -> None:
        """Kill the process, now or as soon as it is started."""
        self.limit = limit
        if self._process is not None:
            self._process.kill()

    def run(self, data: bytes) -> list[FoundEntry]:
        """Have a feed read; an empty list if that fails, for whatever reason."""
        if self.limit is not None:
            return []
        command = [sys.executable, "-I", str(_WORKER), str(self._cpu_seconds)]
        try:
            answer = self._communicate(command, data)
            return [FoundEntry(*map(str, entry)) for entry in json.loads(answer)]
        except (OSError, ValueError):
            return []

    def _communicate(self, command: list[str], data: bytes) -> bytes:
        pipe = subprocess.PIPE
        with subprocess.Popen(  # noqa: S603 (our own script; the feed is on its standard input)
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        ) as process:
            self._process = process
            if self.limit is not None:  # `stop` came before there was a process
                process.kill()
            try:
                answer, _ = process.communicate(
                    data, timeout=_WALL_SECONDS_PER_CPU_SECOND * self._cpu_seconds
                )
            except subprocess.TimeoutExpired:
                self.stop("feedparser_seconds")
                return b""
            except BaseException:  # an interrupt from the keyboard: leave no process behind
                process.kill()
                raise
        if process.returncode == -_OUT_OF_TIME:
            self.limit = self.limit or "feedparser_seconds"
        return b"" if process.returncode else answer


def write_feed(entries: Iterable[FoundEntry]) -> bytes:
    """Write entries as a feed of our own, which is read like any other."""
    items = "".join(
        f"<item><link>{escape(entry.link)}</link><pubDate>{escape(entry.date)}</pubDate>"
        f"<title>{escape(entry.title)}</title></item>"
        for entry in entries
    )
    return f"<rss><channel>{items}</channel></rss>".encode()
