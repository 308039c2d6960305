"""The fallback for a feed beyond repair: feedparser, its links verified."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader.issues import IssueCode
from sitemapreader.options import FEEDPARSER_MAX_BYTES
from sitemapreader.readers.xml.characters import unescape
from sitemapreader.readers.xml.reader import XmlReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.models import Event, Format
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

_WORKER = Path(__file__).with_name("feedparser_worker.py")
_WALL_SECONDS_PER_CPU_SECOND = 10
"""Wall time is a multiple of CPU time, because on a busy machine a process waits.

Where the system cannot bound CPU time, the wall time ends the process."""
_OUT_OF_TIME: int = getattr(signal, "SIGXCPU", 0)
_BEGINS_LIKE_A_FEED = re.compile(
    rb"[^<]*+(?>(?:<(?:!--.*?(?:-->|\Z)|[?!][^<>]*+)[^<]*+)*)"
    rb"<(?:[\w.-]++:)?(?:channel|feed|rss|rdf)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
"""Whatever else has items in it, and none of our roots, is not a feed."""
_PYTHON = re.compile(r"(?:python|pypy)", re.IGNORECASE)
_BETWEEN_WORDS = re.compile(r"[<>\"'\s\[\]]+")
_MAX_SEARCHES = 1_000
"""Searches through a whole feed; each takes 0.3 ms for 1 MiB."""
_BROKEN = frozenset({IssueCode.MALFORMED, IssueCode.TRUNCATED, IssueCode.NOT_A_SITEMAP})


class FoundEntry(NamedTuple):
    """An entry that feedparser found; a text that the feed lacks is empty."""

    link: str
    date: str
    title: str


class FeedparserFallback:
    """Copy of a possible feed beyond repair, and its reading by feedparser.

    Args:
        stats: the counts of the document.
        limits: the time of feedparser, and the limits of the reader of its entries.
    """

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self._stats = stats
        self._limits = limits
        self._kept = bytearray()
        self._given_up = self._has_root = False
        self._worker = FeedparserWorker(limits.feedparser_seconds)

    def keep_block(self, data: bytes, format_: Format | None) -> None:
        """Keep a block in UTF-8, unless the document needs no fallback or exceeds 1 MiB."""
        if self._given_up:
            return
        self._kept += data
        self._has_root = format_ is not None
        if (
            len(self._kept) > FEEDPARSER_MAX_BYTES
            or self._stats.delivered
            or (format_ is not None and not format_.is_feed)
        ):
            self._given_up = True
            self._kept.clear()

    @property
    def is_needed(self) -> bool:
        """Whether the document looks like a feed, is broken, and no entry was delivered."""
        return (
            bool(self._kept)
            and not self._stats.delivered
            and bool(_BROKEN & self._stats.counts.keys())
            and (self._has_root or _BEGINS_LIKE_A_FEED.match(self._kept) is not None)
        )

    def cancel(self, limit: str) -> None:
        """Kill the worker, or never start it; callable from any thread.

        The Issue names `limit`.
        """
        self._worker.stop(limit)

    def read(self, events: list[Event]) -> None:
        """Append the entries that feedparser finds, and correct the Issues in `events`."""
        # Records that were dropped before stay counted: nothing tells which entry they became.
        data = bytes(self._kept)
        self._kept.clear()
        found = [entry for entry in self._worker.run(data) if entry.link]
        if not found:
            self._stats.add_issue(events, IssueCode.FEED_UNREADABLE, value=self._worker.limit)
            return
        self._stats.retract(events, IssueCode.NOT_A_SITEMAP)
        self._stats.add_issue(events, IssueCode.FEED_SALVAGED, value=f"{len(found)} entries")
        is_written = LinkSearch(data.decode("utf-8", "replace")).is_written
        written = []
        for entry in found:
            if is_written(entry.link):
                written.append(entry)
            else:  # feedparser guesses at broken links, and no URL may be invented
                self._stats.drop_record(events, IssueCode.MALFORMED, value=entry.link)
        if written:
            reader = XmlReader(self._stats, self._limits)
            for batch in (*reader.feed(write_feed(written)), *reader.close(None)):
                events += batch


class LinkSearch:
    """Index of a feed's text, to verify the links that feedparser found in it."""

    def __init__(self, text: str) -> None:
        self._texts = (text, unescape(text, set()))
        self._words = {word for each in self._texts for word in _BETWEEN_WORDS.split(each)}
        self._searches_left = _MAX_SEARCHES

    def is_written(self, link: str) -> bool:
        """Return whether a link stands in the feed, plain or escaped."""
        if link in self._words:
            return True
        # A link with a blank or a quote is not a single word. Honest feeds have few such links, so
        # a bound on the slow search harms hostile feeds only.
        self._searches_left -= 1
        return self._searches_left >= 0 and any(link in text for text in self._texts)


class FeedparserWorker:
    """The child process: started once, bounded in time, stoppable by any thread.

    Attributes:
        limit: the name of the limit that ended it; `None` if none did.
    """

    def __init__(self, cpu_seconds: int) -> None:
        self.limit: str | None = None
        self._cpu_seconds = cpu_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def stop(self, limit: str) -> None:
        """Kill the process, or prevent its start."""
        self.limit = limit
        if self._process is not None:
            self._process.kill()

    def run(self, data: bytes) -> list[FoundEntry]:
        """Return the entries of a feed; none if the process fails for any reason."""
        # Where Python is part of another program, that would be started again
        is_python = _PYTHON.match(Path(sys.executable or "").name) and not hasattr(sys, "frozen")
        if self.limit is not None or not is_python:
            return []
        command = [sys.executable, "-I", str(_WORKER), str(self._cpu_seconds)]
        try:
            answer = self._communicate(command, data)
            return [FoundEntry(*map(str, entry)) for entry in json.loads(answer)]
        except (OSError, TypeError, ValueError):  # TypeError: an answer of another shape
            return []

    def _communicate(self, command: list[str], data: bytes) -> bytes:
        pipe = subprocess.PIPE
        with subprocess.Popen(  # noqa: S603 (our own script; the feed is on its standard input)
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        ) as process:
            self._process = process
            if self.limit is not None:  # `stop` was called before the process existed
                process.kill()
            try:
                answer, _ = process.communicate(
                    data, timeout=_WALL_SECONDS_PER_CPU_SECOND * self._cpu_seconds
                )
            except subprocess.TimeoutExpired:
                self.stop("feedparser_seconds")
                return b""
            except BaseException:  # an interrupt from the keyboard must leave no process behind
                process.kill()
                raise
        if process.returncode == -_OUT_OF_TIME:
            self.limit = self.limit or "feedparser_seconds"
        return b"" if process.returncode else answer


def write_feed(entries: Iterable[FoundEntry]) -> bytes:
    """Write entries as a well-formed feed, so that the usual reader can read them."""
    items = "".join(
        f"<item><link>{escape(entry.link)}</link><pubDate>{escape(entry.date)}</pubDate>"
        f"<title>{escape(entry.title)}</title></item>"
        for entry in entries
    )
    return f"<rss><channel>{items}</channel></rss>".encode()
