"""With zlib-ng or without: what inflates, and what is said of damage, is the same to the letter."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import package
import pytest

from sitemapreader.options import Limits
from sitemapreader.readers.decode import streams as gunzip
from sitemapreader.readers.decode.codings import Decompressor
from sitemapreader.readers.decode.streams import DecompressionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from sitemapreader.issues import IssueCode

TESTDATA = package.ROOT / "testdata"
CHUNKS = (1, 100, 32_768)
WalkSummary = tuple[list[bytes], list["IssueCode"], object]

ENTRY = b"<url><loc>https://example.org/a/%d</loc><lastmod>2024-05-%02d</lastmod></url>\n"
SMALL = b"<urlset>" + ENTRY % (1, 1) + ENTRY % (2, 2) + b"</urlset>"
LARGE = b"<urlset>" + b"".join(ENTRY % (7_919 * n, n % 28) for n in range(1_000)) + b"</urlset>"


def deflate(data: bytes, strategy: int) -> bytes:
    """Compress without a frame."""
    stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 8, strategy)
    return stream.compress(data) + stream.flush()


def compress(data: bytes) -> dict[str, bytes]:
    """Compress in every way that sitemaps come in."""
    once = gzip.compress(data, mtime=0)
    return {
        "gzip": once,
        "stored": gzip.compress(data, 0, mtime=0),
        "members": once + b"\0\0" + gzip.compress(SMALL, 1, mtime=0),
        "nested": gzip.compress(once, mtime=0),
        "zlib": zlib.compress(data),
        "raw": deflate(data, zlib.Z_DEFAULT_STRATEGY),
        "fixed codes": deflate(data, zlib.Z_FIXED),
    }


KINDS = list(compress(SMALL))


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
                pieces.extend(stream.feed(data[start : start + chunk]))
            pieces.extend(stream.close())
        except DecompressionError as error:
            return pieces, notes, (error.code, error.detail)
    return pieces, notes, None


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut out, put in, or cut off, up to three times."""
    body = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(body))
        match rng.randrange(4):
            case 0:
                body[place] ^= 1 << rng.randrange(8)
            case 1:
                del body[place : place + rng.randrange(1, 30)]
            case 2:
                body[place:place] = rng.randbytes(rng.randrange(1, 30))
            case _:
                del body[max(1, place) :]
        body = body or bytearray(data)
    return bytes(body)


def flipped_and_cut(data: bytes) -> Iterator[bytes]:
    """Give the data with each of its bits flipped, and cut behind each of its bytes."""
    for place in range(len(data)):
        yield data[:place]
        for bit in range(8):
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", CHUNKS)
def test_sound_data_inflates_to_the_same_pieces(zlib_ng: ModuleType, kind: str, chunk: int) -> None:
    """Both give the original, cut at the same places."""
    data = compress(LARGE)[kind]
    expected = inflate_with(zlib, data, chunk)
    assert b"".join(expected[0]).startswith(LARGE)
    assert inflate_with(zlib_ng, data, chunk) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_of_a_small_document_may_be_wrong(zlib_ng: ModuleType, kind: str) -> None:
    """The same bytes are saved, and the same is said of the damage, wherever it is."""
    for data in flipped_and_cut(compress(SMALL)[kind]):
        assert inflate_with(zlib_ng, data, 64) == inflate_with(zlib, data, 64), data.hex()


@pytest.mark.parametrize("kind", KINDS)
def test_damage_to_large_documents_is_told_alike(zlib_ng: ModuleType, kind: str) -> None:
    """Blocks, windows and pieces that are handed over in between change nothing about that."""
    data, rng = compress(LARGE)[kind], random.Random(kind)
    faults = set()
    for _ in range(60):
        broken, chunk = damaged(data, rng), rng.choice((1_000, 32_768))
        expected = inflate_with(zlib, broken, chunk)
        assert inflate_with(zlib_ng, broken, chunk) == expected
        faults.add(expected[2])
    assert len(faults) > 1


def test_all_compressed_sitemaps_of_the_corpus_are_read_alike(zlib_ng: ModuleType) -> None:
    """What the golden files say holds for both."""
    files = [path for path in TESTDATA.rglob("*") if ".gz" in path.suffixes and path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        assert inflate_with(zlib_ng, data, 4_096) == inflate_with(zlib, data, 4_096), path


def test_zlib_ng_is_used_where_it_is_installed(zlib_ng: ModuleType) -> None:
    """Nothing has to be switched on."""
    assert vars(gunzip)["zlib"] is zlib_ng


def test_sitemaps_are_read_without_zlib_ng(tmp_path: Path) -> None:
    """Where it is missing, Python's own zlib inflates."""
    path = tmp_path / "sitemap.xml.gz"
    path.write_bytes(gzip.compress(SMALL))
    script = (
        "import sys; sys.modules['zlib_ng'] = None\n"
        "from sitemapreader.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "-q", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["https://example.org/a/1", "https://example.org/a/2"]
