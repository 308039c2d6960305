"""The last resort for feeds beyond repair: feedparser, its links verified.

A reader only says that a feed is `beyond_repair`. Whoever reads it starts the process, by
`run_feedparser` or beside an event loop, and gives the answer to `SitemapReader.salvage`.
`feedparser_worker` is the script of that process; nothing else may import feedparser.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader.issues import IssueCode
from sitemapreader.readers.xml.batches import XmlReader
from sitemapreader.readers.xml.markup import unescape
from sitemapreader.readers.xml.prolog import read_prolog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

WALL_SECONDS_PER_CPU_SECOND = 10
"""Wall time is a multiple of CPU time, because on a busy machine a process waits.

Where the system cannot bound CPU time, the wall time ends the process."""
_WORKER = Path(__file__).with_name("feedparser_worker.py")
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
BROKEN = frozenset({IssueCode.MALFORMED, IssueCode.TRUNCATED, IssueCode.NOT_A_SITEMAP})
"""Issues of a feed that may be beyond repair."""


class FoundEntry(NamedTuple):
    """An entry that feedparser found; a text that the feed lacks is empty."""

    link: str
    date: str
    title: str


class FeedparserAnswer(NamedTuple):
    """What feedparser found, and the name of the limit that ended it, if one did."""

    found: tuple[FoundEntry, ...] = ()
    limit: str | None = None


def begins_like_a_feed(data: bytes) -> bool:
    """Return whether the first tag of a document is a feed's."""
    return _BEGINS_LIKE_A_FEED.match(data) is not None


# -- the process


def run_feedparser(data: bytes, cpu_seconds: int) -> FeedparserAnswer:
    """Have feedparser read a feed; find nothing if it fails for any reason."""
    process = start_feedparser(cpu_seconds)
    return ask_feedparser(process, data, cpu_seconds) if process else FeedparserAnswer()


def start_feedparser(cpu_seconds: int) -> subprocess.Popen[bytes] | None:
    """Start the process; `None` where Python is part of another program, or it fails."""
    is_python = _PYTHON.match(Path(sys.executable or "").name) and not hasattr(sys, "frozen")
    command, pipe = [sys.executable, "-I", str(_WORKER), str(cpu_seconds)], subprocess.PIPE
    with suppress(OSError):
        if is_python:
            return subprocess.Popen(  # noqa: S603 (our own script; the feed is on its standard input)
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
            )
    return None


def ask_feedparser(
    process: subprocess.Popen[bytes], data: bytes, cpu_seconds: int
) -> FeedparserAnswer:
    """Give a feed to the process, and wait for its answer, or its end."""
    with process:
        try:
            answer, _ = process.communicate(data, WALL_SECONDS_PER_CPU_SECOND * cpu_seconds)
        except subprocess.TimeoutExpired:
            return FeedparserAnswer(limit="feedparser_seconds")
        finally:
            process.kill()  # nothing, once it has ended
    return read_answer(answer, process.returncode)


def read_answer(answer: bytes, status: int | None) -> FeedparserAnswer:
    """Read what the process has written, if it has ended well."""
    try:
        found = [FoundEntry(*map(str, entry)) for entry in json.loads(answer)] if not status else []
    except (TypeError, ValueError):  # TypeError: an answer of another shape
        found = []
    limit = "feedparser_seconds" if status and status == -_OUT_OF_TIME else None
    return FeedparserAnswer(tuple(entry for entry in found if entry.link), limit)


# -- the entries


def add_found(
    events: list[Event], stats: ReadStats, limits: Limits, data: bytes, answer: FeedparserAnswer
) -> None:
    """Append the entries that feedparser found; correct the Issues in `events`."""
    # Records that were dropped before stay counted: nothing tells which entry they became.
    if not answer.found:
        stats.add_issue(events, IssueCode.FEED_UNREADABLE, value=answer.limit)
        return
    stats.retract(events, IssueCode.NOT_A_SITEMAP)
    stats.add_issue(events, IssueCode.FEED_SALVAGED, value=f"{len(answer.found)} entries")
    words = find_written(data.decode("utf-8", "replace"), [entry.link for entry in answer.found])
    written = []
    for entry in answer.found:
        if entry.link in words:
            written.append(entry)
        else:  # feedparser guesses at broken links, and no URL may be invented
            stats.drop_record(events, IssueCode.MALFORMED, value=entry.link)
    if written:
        feed = write_feed(written)
        reader = XmlReader(stats, limits, *read_prolog(events, stats, feed))
        for batch in (*reader.feed(feed), *reader.close(None)):
            events += batch


def find_written(text: str, links: Iterable[str]) -> set[str]:
    """Return the links that stand in a feed, plain or escaped."""
    texts = (text, unescape(text, set()))
    words = {word for each in texts for word in _BETWEEN_WORDS.split(each)}
    # A link with a blank or a quote is not a single word. Honest feeds have few such links, so a
    # bound on the slow search harms hostile feeds only.
    rest = [link for link in links if link not in words][:_MAX_SEARCHES]
    return words | {link for link in rest if any(link in each for each in texts)}


def write_feed(entries: Iterable[FoundEntry]) -> bytes:
    """Write entries as a well-formed feed, so that the usual reader can read them."""
    items = "".join(
        f"<item><link>{escape(entry.link)}</link><pubDate>{escape(entry.date)}</pubDate>"
        f"<title>{escape(entry.title)}</title></item>"
        for entry in entries
    )
    return f"<rss><channel>{items}</channel></rss>".encode()
