"""With zlib-ng or without: what inflates, and what is said of damage, is the same to the letter."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

from sitemapreader._bytes import codings as gunzip
from sitemapreader._bytes.codings import DecompressionError, Decompressor
from sitemapreader._types.options import Limits
from tests.support.each_case import for_each

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from sitemapreader._types.issues import IssueCode

CHUNKS = (100, 32_768)
WalkSummary = tuple[list[bytes], list["IssueCode"], object]

ENTRY = (
    b"<url><loc>https://example.org/a/%d</loc><lastmod>2024-05-%02d</lastmod></url>\n"
)
SMALL = b"<urlset>" + ENTRY % (1, 1) + ENTRY % (2, 2) + b"</urlset>"
LARGE = (
    b"<urlset>"
    + b"".join(ENTRY % (7_919 * n, n % 28) for n in range(1_000))
    + b"</urlset>"
)
KINDS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "members": lambda data: (
        gzip.compress(data, mtime=0) + b"\0\0" + gzip.compress(SMALL, mtime=0)
    ),
    "nested": lambda data: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
    "zlib": zlib.compress,
}
"""The ways in which sitemaps come."""


@pytest.fixture(scope="module")
def zlib_ng() -> ModuleType:
    """Give zlib-ng."""
    module: ModuleType = pytest.importorskip(
        "zlib_ng.zlib_ng", reason="no zlib-ng: pip install .[speedups]"
    )
    return module


def inflate_with(module: ModuleType, data: bytes, chunk: int) -> WalkSummary:
    """Inflate with one of the two; return the pieces, the notes, and how it ended."""
    notes: list[IssueCode] = []
    pieces: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gunzip, "zlib", module)
        # said of gzip too, which is known by its bytes
        stream = Decompressor(Limits(gzip_members=8), notes, codings=("deflate",))
        try:
            for start in range(0, len(data), chunk):
                pieces.extend(stream.decode(data[start : start + chunk]))
            pieces.extend(stream.decode(b"", final=True))
        except DecompressionError as error:
            return pieces, notes, (error.code, error.detail)
    return pieces, notes, None


@for_each("kind", KINDS)
def test_the_same_comes_out(zlib_ng: ModuleType, kind: str) -> None:
    """Both give the same pieces; the same is said of damage, wherever it is."""
    data = KINDS[kind](LARGE)
    for chunk in CHUNKS:
        expected = inflate_with(zlib, data, chunk)
        assert b"".join(expected[0]).startswith(LARGE)
        assert inflate_with(zlib_ng, data, chunk) == expected
    assert vars(gunzip)["zlib"] is zlib_ng  # nothing has to be switched on
    data = KINDS[kind](SMALL)
    for place in range(len(data)):
        flipped = (
            data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        )
        for broken in (data[:place], flipped):
            assert inflate_with(zlib_ng, broken, 64) == inflate_with(
                zlib, broken, 64
            ), broken.hex()


def test_sitemaps_are_read_without_zlib_ng(tmp_path: Path) -> None:
    """Where it is missing, Python's own zlib inflates."""
    path = tmp_path / "sitemap.xml.gz"
    path.write_bytes(gzip.compress(SMALL))
    script = (
        "import sys; sys.modules['zlib_ng'] = None\n"
        "from sitemapreader._cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "-q", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["https://example.org/a/1", "https://example.org/a/2"]
