"""The child process in which feedparser runs: a script of its own, with nothing of ours imported.

A feed on standard input, in UTF-8; a JSON list of [link, date, title] on standard output.
feedparser opens what it is given as a string as a file or a URL, and has patterns that take cubic
time on hostile input while they hold the interpreter's lock: so it gets a BytesIO only, and hard
limits.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys

CPU_SECONDS = 10
MEMORY_BYTES = 1024 * 1024 * 1024
MAX_BYTES = 1024 * 1024
_MAX_AUTHOR = 320
_INSTRUCTIONS = re.compile(rb"\s*(?:<\?[^<>]*\?>\s*)+")
_AUTHOR = re.compile(
    rb"(<(?:author|managingEditor|webMaster|dc:creator)[^<>]*>)([^<]*)", re.IGNORECASE
)


def limit_resources() -> None:
    """Bound the process's CPU time and memory, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 (not on Windows, where the parent's time-out has to do)

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def read_feed(data: bytes) -> list[tuple[str, str, str]]:
    """Return link, date and title of every entry, as far as feedparser can tell."""
    import feedparser  # noqa: PLC0415 (only behind the limits)

    start = _INSTRUCTIONS.match(data)
    data = data[start.end() :] if start else data
    data = _AUTHOR.sub(lambda match: match[1] + match[2][:_MAX_AUTHOR], data)
    feed = feedparser.parse(
        io.BytesIO(data),
        response_headers={"content-type": "application/xml; charset=utf-8"},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    return [
        (
            str(entry.get("link") or ""),
            str(entry.get("updated") or entry.get("published") or ""),
            str(entry.get("title") or ""),
        )
        for entry in feed.entries
    ]


if __name__ == "__main__":
    limit_resources()
    json.dump(read_feed(sys.stdin.buffer.read(MAX_BYTES)), sys.stdout)
