"""The last resort for feeds beyond repair: feedparser, in a process of its own.

A reader only says that a feed is `beyond_repair`. Whoever reads it starts the process, by
`run_feedparser` or beside an event loop, and gives the answer to `SitemapReader.salvage`.

The process runs this file as a script, which imports nothing of the package: `python -I
feedparser.py CPU_SECONDS` reads a feed in UTF-8 from standard input, and writes what feedparser
finds in it as a well-formed feed. Nothing else may import feedparser.
"""

# SECURITY: feedparser opens a string as a file or a URL, so it gets a BytesIO. Its patterns take
# cubic time on hostile input and hold the interpreter's lock, which no thread can interrupt: so it
# gets a process with hard limits.

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from html import escape, unescape
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

WALL_SECONDS_PER_CPU_SECOND = 10
"""Wall time is a multiple of CPU time, because on a busy machine a process waits.

Where the system cannot bound CPU time, the wall time ends the process."""
MEMORY_BYTES = 1024 * 1024 * 1024
SCRIPT = Path(__file__)
_PYTHON = re.compile(r"(?:python|pypy)", re.IGNORECASE)
_ATOM_ENTRY = re.compile(r"<(?:\w+:)?entry\b", re.IGNORECASE)
_BETWEEN_WORDS = re.compile(r"[<>\"'\s\[\]]+")


class FeedparserAnswer(NamedTuple):
    """The result of feedparser as a feed, and the limit that ended it, if any."""

    feed: bytes = b""
    limit: str | None = None


def run_feedparser(data: bytes, cpu_seconds: int) -> FeedparserAnswer:
    """Have feedparser read a feed; find nothing if it fails for any reason."""
    process = start_feedparser(cpu_seconds)
    if process:
        return ask_feedparser(process, data, cpu_seconds)
    return FeedparserAnswer()


def start_feedparser(cpu_seconds: int) -> subprocess.Popen[bytes] | None:
    """Start the process; `None` where Python is part of another program, or it fails."""
    is_python = _PYTHON.match(Path(sys.executable or "").name) and not hasattr(
        sys, "frozen"
    )
    command = [sys.executable, "-I", str(SCRIPT), str(cpu_seconds)]
    pipe = subprocess.PIPE
    with suppress(OSError):
        if is_python:
            return subprocess.Popen(  # noqa: S603 (our own script; the feed is on its standard input)
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
            )
    return None


def ask_feedparser(
    process: subprocess.Popen[bytes],
    data: bytes,
    cpu_seconds: int,
) -> FeedparserAnswer:
    """Give a feed to the process, and wait for its answer, or its end."""
    with process:
        try:
            feed, _ = process.communicate(
                data, WALL_SECONDS_PER_CPU_SECOND * cpu_seconds
            )
        except subprocess.TimeoutExpired:
            return FeedparserAnswer(limit="feedparser_seconds")
        finally:
            process.kill()  # nothing, once it has ended
    if process.returncode < 0:  # by a signal, that of the bound on CPU time
        return FeedparserAnswer(limit="feedparser_seconds")
    return FeedparserAnswer(b"" if process.returncode else feed)


# -- in the process


def limit_resources(cpu_seconds: int) -> None:
    """Bound the CPU time and memory of the process, where the system supports it."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 (not on Windows, where the parent's timeout must suffice)

        # The soft limit sends SIGXCPU, by which the parent knows why the process has ended.
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def mend_feed(data: bytes) -> str:
    """Write the entries that feedparser finds as a feed that can be read."""
    import feedparser  # noqa: PLC0415 (only behind the limits)

    headers = {"content-type": "application/xml; charset=utf-8"}
    options = {"sanitize_html": False, "resolve_relative_uris": False}
    found = feedparser.parse(BytesIO(data), response_headers=headers, **options)
    text = data.decode("utf-8", "replace")
    texts = (text, unescape(text))
    words = {word for each in texts for word in _BETWEEN_WORDS.split(each)}
    version = str(found.get("version") or "")
    is_atom = version.startswith("atom") or (
        not version and _ATOM_ENTRY.search(text) is not None
    )
    items = []
    for entry in found.entries:
        link, title = (str(entry.get(name) or "") for name in ("link", "title"))
        is_id = is_atom and bool(entry.get("guidislink"))
        if is_id:  # feedparser takes the id for a link; RFC 4287 not
            link, title = "", link
        date = str(entry.get("updated") or entry.get("published") or "")
        # feedparser guesses at broken links, and no URL may be invented: such an item has none
        is_written = link in words or any(link in each for each in texts)
        fields = {"link": link if is_written else "", "title": title, "pubDate": date}
        fields |= {} if is_written else {"title": link}
        if link or is_id:
            inside = "".join(
                f"<{name}>{escape(each)}</{name}>" for name, each in fields.items()
            )
            items.append(f"<item>{inside}</item>")
    return f"<rss><channel>{''.join(items)}</channel></rss>"


if __name__ == "__main__":
    limit_resources(int(sys.argv[1]))
    feed = mend_feed(sys.stdin.buffer.read())
    sys.stdout.buffer.write(feed.encode("utf-8", "replace"))
