"""Fingerprints of entries: a hash of the URL and a hash of its record.

10 bytes identify the URL, 6 the rest of its record.

The URL is hashed as written: another spelling is another URL. Three record hashes are reserved for
entries that a filter kept back: `UNDELIVERED`, `OUTDATED` and `OUTDATED_NEWS`. Those of news begin
with `NEWS_MARK`.
"""

# Two of ten million URLs share a hash with a probability of 1 in 24 billion. A changed record keeps
# its hash with 1 in 281 million million.

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from sitemapreader.dates import parse_lastmod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.models import UrlEntry

URL_HASH_BYTES = 10
RECORD_HASH_BYTES = 6
FINGERPRINT_BYTES = URL_HASH_BYTES + RECORD_HASH_BYTES

UNDELIVERED = bytes(RECORD_HASH_BYTES)
"""Record hash of a URL that is listed and was never delivered."""
OUTDATED = (1).to_bytes(RECORD_HASH_BYTES)
"""Record hash of a URL that was delivered, but not with the listed record."""
OUTDATED_NEWS = (2).to_bytes(RECORD_HASH_BYTES)
"""The same of news."""
NEWS_MARK = b"\xff"
"""First byte of the record hash of news: such a URL is listed for some days only."""
FIRST_RECORD_HASH = (3).to_bytes(RECORD_HASH_BYTES)
"""The lowest record hash of a delivered record."""

_KEY = blake2b(digest_size=URL_HASH_BYTES)
"""Copied for each URL, which takes half as long as making a new hash."""


def fingerprint_entries(entries: Iterable[UrlEntry]) -> bytes:
    """Return the fingerprints of entries, joined."""
    copy = _KEY.copy
    parts = []
    for entry in entries:
        key = copy()
        key.update(entry.loc.encode("utf-8", "surrogatepass"))
        parts.append(key.digest())
        parts.append(_hash_record(entry))
    return b"".join(parts)


def hash_url(loc: str) -> bytes:
    """Return the hash of a URL, with which its fingerprint begins."""
    return blake2b(loc.encode("utf-8", "surrogatepass"), digest_size=URL_HASH_BYTES).digest()


def _hash_record(entry: UrlEntry) -> bytes:
    # A new headline is a change of the record, as a new caption of an image is.
    if (
        entry.title
        or entry.images
        or entry.videos
        or entry.news
        or entry.alternates
        or entry.extras
    ):
        found = _hash(
            (
                entry.title,
                _read_moment(entry.lastmod_text),
                entry.changefreq,
                entry.priority,
                entry.images,
                entry.videos,
                entry.news,
                entry.alternates,
                entry.extras,
            )
        )
        return NEWS_MARK + found[1:] if entry.news else found
    # SECURITY: the cache outlives the walk, and a date may be written in 64 KiB
    written = entry.lastmod_text
    make = (
        _hash_plain_record
        if written is None or len(written) <= 64
        else _hash_plain_record.__wrapped__
    )
    return make(written, entry.changefreq, entry.priority)


@lru_cache(maxsize=16_384)
def _hash_plain_record(
    lastmod_text: str | None, changefreq: str | None, priority: float | None
) -> bytes:
    return _hash((_read_moment(lastmod_text), changefreq, priority))


def _read_moment(lastmod_text: str | None) -> float | str | None:
    """Return what a lastmod says: another notation of the same moment is no change."""
    found = None if lastmod_text is None else parse_lastmod(lastmod_text)
    return lastmod_text if found is None else found.timestamp()


def _hash(fields: tuple[object, ...]) -> bytes:
    found = blake2b(
        repr(fields).encode("utf-8", "surrogatepass"), digest_size=RECORD_HASH_BYTES
    ).digest()
    return found if found[0] < NEWS_MARK[0] else b"\xfe" + found[1:]
