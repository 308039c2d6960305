"""The state of a partition as one compressed file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from pathlib import Path

MAX_STATE_BYTES = 4 * 1024**3
"""SECURITY: a packed state comes from the storage; one that unpacks to more is refused."""
_PIECE_BYTES = 1 << 20


class UnusableStateError(Exception):
    """A packed state that cannot be used; the message says why."""


def pack_state(state: Path, packed: Path) -> None:
    """Compress a state file."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with state.open("rb") as source, packed.open("wb") as target:
        compressor.copy_stream(source, target, size=state.stat().st_size)


def unpack_state(packed: Path, state: Path) -> None:
    """Decompress a state file; raise UnusableStateError for anything else."""
    try:
        with packed.open("rb") as source, state.open("wb") as target:
            size = zstandard.frame_content_size(source.read(18))  # RFC 8878: the longest header
            if not 0 < size <= MAX_STATE_BYTES:
                raise UnusableStateError(f"it says that it unpacks to {size} bytes")
            source.seek(0)
            reader = zstandard.ZstdDecompressor().stream_reader(source)
            written = 0
            while written <= size and (piece := reader.read(_PIECE_BYTES)):
                written += target.write(piece)
    except zstandard.ZstdError as error:
        raise UnusableStateError(f"it is damaged: {error}") from None
    if written != size:
        raise UnusableStateError(f"it has {written} bytes instead of {size}")
