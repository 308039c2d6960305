"""A feed of the last changes, which any feed reader can poll (RFC 4287)."""

from __future__ import annotations

import re
from collections import deque
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid4, uuid5

from sitemapreader._types.rows import OutputRows, get_column
from sitemapreader.output.sink import Encoder
from sitemapreader.output.text import escape_texts, escape_urls

if TYPE_CHECKING:
    from sitemapreader._columns import Column

MAX_ENTRIES = 200
"""Largest number of changes in the feed; the oldest are removed."""
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
    "<title>Changes of sitemaps</title><author><name>sitemapreader</name></author>"
)
_ID = re.compile(r"<id>(urn:uuid:[0-9a-f-]{36})</id>")
_UPDATED = re.compile(r"<updated>([0-9TZ:-]{20})</updated>")
_MAX_BYTES = 64 * 1024 * 1024
"""Size of 200 entries with the longest URL, title and sitemap that a reader accepts."""


class AtomEncoder(Encoder):
    """An encoder of entries as a feed, which keeps the entries of the existing file.

    The newest entry comes first. An entry is one line, so the entries of earlier runs are kept as
    they are.

    Raises ValueError: the file is not such a feed.
    """

    keeps_older = True

    def __init__(self, path: str, _columns: tuple[Column, ...] = ()) -> None:
        head, *lines = _read_feed(Path(path))
        self._lines = deque(lines, MAX_ENTRIES)
        self._now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self._id = f"urn:uuid:{uuid4()}"
        self._updated = self._now
        if match := _ID.search(head):
            self._id = match[1]
        if match := _UPDATED.search(head):
            self._updated = match[1]

    def encode(self, rows: OutputRows) -> bytes:
        """Keep the last entries until the end."""
        names = ("loc", "change", "title", "lastmod", "sitemap")
        parts = [get_column(rows, name)[-MAX_ENTRIES:] for name in names]
        for loc, change, title, lastmod, sitemap in zip(*parts, strict=True):
            urls = escape_urls([loc, sitemap])
            url, sitemap_url = map(escape, urls)
            (heading,) = escape_texts([title or ""])
            heading = escape(heading) or url
            category = str(change or "listed")
            key = str(uuid5(NAMESPACE_URL, f"{category} {self._now} {url}"))
            if any(key in line for line in self._lines):
                continue
            summary = category
            if lastmod:
                summary += f", last changed {lastmod.isoformat()}"
            self._lines.appendleft(
                f"<entry><id>urn:uuid:{key}</id><title>{category}: {heading}</title>"
                f'<updated>{self._now}</updated><link href="{url}"/>'
                f'<category term="{category}"/>'
                f"<summary>{summary}, in {sitemap_url}</summary></entry>"
            )
            self._updated = self._now
        return b""

    def end(self) -> list[bytes]:
        """Return the feed."""
        head = f"{_HEAD}<id>{self._id}</id><updated>{self._updated}</updated>"
        text = "\n".join([head, *self._lines, "</feed>\n"])
        return [text.encode("utf-8", "backslashreplace")]


def _read_feed(path: Path) -> list[str]:
    """Return the head and the entries of a feed; an empty head if there is no file."""
    if not path.is_file():
        return [""]
    text = ""
    if path.stat().st_size <= _MAX_BYTES:
        text = path.read_text("utf-8", "replace")
    if not text.startswith(_HEAD):
        raise ValueError(f"{path} is not a feed of this program: name another file")
    lines = text.removeprefix(_HEAD).splitlines()
    return lines[:-1]
