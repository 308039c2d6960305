"""The identity of a document's bytes: their number and their hash."""

from __future__ import annotations

from hashlib import blake2b

import attrs


@attrs.frozen
class BodyDigest:
    """How many bytes there were, and their hash."""

    size: int
    digest: bytes


class BodyHasher:
    """A running hash of a body, over the bytes as they came over the wire."""

    def __init__(self) -> None:
        self._size = 0
        self._hash = blake2b(digest_size=16)

    def add(self, chunk: bytes) -> None:
        """Hash more bytes."""
        self._size += len(chunk)
        self._hash.update(chunk)

    def snapshot(self) -> BodyDigest:
        """Return the digest of all bytes so far."""
        return BodyDigest(self._size, self._hash.digest())
