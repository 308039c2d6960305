"""An entry in 16 bytes: 10 that stand for its URL, 6 for all that its record says besides.

Two URLs of ten million meet with a probability of one in 24 billion; a change goes unseen with one
in 281 million million. The URL is taken as it is written: another spelling is another URL.

Two prints stand for what a filter has kept back: see UNDELIVERED and OUTDATED.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.models import UrlEntry

URL_HASH_BYTES = 10
RECORD_HASH_BYTES = 6
FINGERPRINT_BYTES = URL_HASH_BYTES + RECORD_HASH_BYTES

UNDELIVERED = bytes(RECORD_HASH_BYTES)
"""The print of a URL that is listed and was never handed over."""
OUTDATED = (1).to_bytes(RECORD_HASH_BYTES)
"""The print of a URL that was handed over, but not with the record that is listed."""
FIRST_RECORD_HASH = (2).to_bytes(RECORD_HASH_BYTES)
"""The lowest print of a record that was handed over."""

_KEY = blake2b(digest_size=URL_HASH_BYTES)
"""Copied for each URL, for that takes half as long as to make one."""


def fingerprint_entries(entries: Iterable[UrlEntry]) -> bytes:
    """Return the fingerprints of entries, one behind the other."""
    copy = _KEY.copy
    parts = []
    for entry in entries:
        key = copy()
        key.update(entry.loc.encode("utf-8", "surrogatepass"))
        parts.append(key.digest())
        parts.append(_hash_record(entry))
    return b"".join(parts)


def hash_url(loc: str) -> bytes:
    """Return what a fingerprint begins with that stands for a URL."""
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
        return _hash(
            (
                entry.title,
                entry.lastmod_text,
                entry.changefreq,
                entry.priority,
                entry.images,
                entry.videos,
                entry.news,
                entry.alternates,
                entry.extras,
            )
        )
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
    return _hash((lastmod_text, changefreq, priority))


def _hash(fields: tuple[object, ...]) -> bytes:
    return blake2b(
        repr(fields).encode("utf-8", "surrogatepass"), digest_size=RECORD_HASH_BYTES
    ).digest()
