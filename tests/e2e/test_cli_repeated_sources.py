"""Lists of sites as people keep them: with comments, and with a site in them twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import run
from walking import urlset

from sitemapreader.cli.run import read_lines

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


async def lines_of(text: bytes, size: int) -> list[str]:
    """Read a list that comes in pieces of a size."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(text), size):
            yield text[start : start + size]

    return [line async for line in read_lines(pieces())]


@pytest.mark.parametrize("size", [1, 7, 1_000])
async def test_comments_in_a_list(size: int) -> None:
    """A comment begins a line or stands behind a blank; the fragment of a URL is none."""
    text = (
        b"# sites\n  # more\nhttps://a.example/ # ours\nhttps://b.example/#top\r\n"
        b"https://c.example/\t#theirs # too\nd.example#x # y\n\n#\n"
    )
    assert await lines_of(text, size) == [
        "https://a.example/",
        "https://b.example/#top",
        "https://c.example/",
        "d.example#x",
    ]


def test_a_source_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """On the command line and in a list, in any spelling of a URL; the last lines count it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitemap.xml").write_bytes(urlset("https://example.org/1"))
    (tmp_path / "list").write_text(
        "http://localhost:1\nHTTP://LOCALHOST:1/ # again\nhttp://localhost:1/#top\n"
    )
    words = ["site", "site", "-i", "list", "--base-url", "https://example.org/"]
    done = run(*words, cwd=tmp_path)
    assert done.stdout.splitlines() == ["https://example.org/1"]
    assert "from 2 sources, 1 of which failed" in done.stderr
    assert "duplicate sources skipped: 3" in done.stderr
