"""The child process in which feedparser runs: a script of its own, with nothing of ours imported.

`python -I worker.py CPU_SECONDS`: a feed on standard input, in UTF-8; a JSON list of [link, date,
title] on standard output. feedparser opens what it is given as a string as a file or a URL, and
has patterns that take cubic time on hostile input while they hold the interpreter's lock: so it
gets a BytesIO only, and hard limits.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys

MEMORY_BYTES = 1024 * 1024 * 1024
_LEADING_INSTRUCTIONS = re.compile(rb"\s*(?:<\?[^<>]*\?>\s*)+")
_PERSON = re.compile(
    rb"<(/?(?:[^\s<>/:]+:)?)(?=(?:author|creator|managingeditor|webmaster)\b)", re.IGNORECASE
)


def limit_resources(cpu_seconds: int) -> None:
    """Bound the process's CPU time and memory, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 (not on Windows, where the parent's time-out has to do)

        # the soft limit sends SIGXCPU, by which the parent knows why the process has ended
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def disarm(data: bytes) -> bytes:
    """Take away what feedparser's slowest patterns run on, and what no entry is made of.

    Its pattern for an address in the name of a person is quadratic, whatever element that stands
    in, CDATA included; the one for an encoding in a processing instruction is cubic.
    """
    start = _LEADING_INSTRUCTIONS.match(data)
    data = data[start.end() :] if start else data
    return _PERSON.sub(rb"<\1x-", data.replace(b"<?", b"&lt;?"))


def read_feed(data: bytes) -> list[tuple[str, str, str]]:
    """Return link, date and title of every entry, as far as feedparser can tell."""
    import feedparser  # noqa: PLC0415 (only behind the limits)

    feed = feedparser.parse(
        io.BytesIO(disarm(data)),
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
    limit_resources(int(sys.argv[1]))
    json.dump(read_feed(sys.stdin.buffer.read()), sys.stdout)
