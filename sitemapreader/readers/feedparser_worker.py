"""The script of the child process, which imports nothing of this package.

`python -I feedparser_worker.py CPU_SECONDS` reads a feed in UTF-8 from standard input, and writes a
JSON list of [link, date, title] to standard output.
"""

# SECURITY: feedparser opens a string as a file or a URL, so it gets a BytesIO. Its patterns take
# cubic time on hostile input and hold the interpreter's lock, which no thread can interrupt: so it
# gets a process with hard limits.

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
    """Bound the CPU time and memory of the process, where the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 (not on Windows, where the parent's timeout must suffice)

        # The soft limit sends SIGXCPU, by which the parent knows why the process has ended.
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def remove_slow_markup(data: bytes) -> bytes:
    """Remove markup that feedparser's slow patterns match and no entry needs."""
    # The pattern for an address in the name of a person is quadratic, in any element and in CDATA
    # too. The pattern for an encoding in a processing instruction is cubic.
    start = _LEADING_INSTRUCTIONS.match(data)
    data = data[start.end() :] if start else data
    return _PERSON.sub(rb"<\1x-", data.replace(b"<?", b"&lt;?"))


def read_feed(data: bytes) -> list[tuple[str, str, str]]:
    """Return link, date and title of every entry that feedparser finds."""
    import feedparser  # noqa: PLC0415 (only behind the limits)

    feed = feedparser.parse(
        io.BytesIO(remove_slow_markup(data)),
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
