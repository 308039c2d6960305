"""A feed of the last changes, which any feed reader can poll (RFC 4287)."""

from __future__ import annotations

import re
from collections import deque
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from uuid import NAMESPACE_URL, uuid4, uuid5

from sitemapreader._types.rows import OutputRows, get_column
from sitemapreader.output.sink import Encoder
from sitemapreader.output.text import escape_texts, escape_urls

MAX_ENTRIES = 200
"""Changes that the feed has; the oldest leave it."""
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
    "<title>Changes of sitemaps</title><author><name>sitemapreader</name></author>"
)
_ID = re.compile(r"<id>(urn:uuid:[0-9a-f-]{36})</id>")
_UPDATED = re.compile(r"<updated>([0-9TZ:-]{20})</updated>")
_MAX_BYTES = 64 * 1024 * 1024
"""200 entries, each with a URL, a title and a sitemap of the longest that are read."""


class AtomEncoder(Encoder):
    """An encoder of entries as a feed, behind the entries of the existing file.

    The last one comes first. Each is one line, so what an earlier run has written stays as it is.

    Raises ValueError: the file is not such a feed.
    """

    def __init__(self, path: str) -> None:
        head, *lines = _read_feed(Path(path))
        self._now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        known = _ID.search(head)
        self._id = known[1] if known else f"urn:uuid:{uuid4()}"
        updated = _UPDATED.search(head)
        self._updated = updated[1] if updated else self._now
        self._lines = deque(lines, MAX_ENTRIES)

    def encode(self, rows: OutputRows) -> bytes:
        """Keep the last entries until the end."""
        names = ("loc", "change", "title", "lastmod", "sitemap")
        parts = [get_column(rows, name)[-MAX_ENTRIES:] for name in names]
        for loc, change, title, lastmod, sitemap in zip(*parts, strict=True):
            url, where = map(escape, escape_urls([loc, sitemap]))
            said = escape(escape_texts([title or ""])[0]) or url
            what = str(change or "listed")
            key = uuid5(NAMESPACE_URL, f"{what} {self._now} {url}")
            if lastmod:
                day = f", last changed {lastmod.isoformat()}"
            else:
                day = ""
            line = (
                f"<entry><id>urn:uuid:{key}</id><title>{what}: {said}</title>"
                f'<updated>{self._now}</updated><link href="{url}"/><category term="{what}"/>'
                f"<summary>{what}{day}, in {where}</summary></entry>"
            )
            if not any(str(key) in known for known in self._lines):
                self._lines.appendleft(line)
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
    if path.stat().st_size <= _MAX_BYTES:
        text = path.read_text("utf-8", "replace")
    else:
        text = ""
    if not text.startswith(_HEAD):
        raise ValueError(f"{path} is not a feed of this program: name another file")
    return text.removeprefix(_HEAD).splitlines()[:-1]
