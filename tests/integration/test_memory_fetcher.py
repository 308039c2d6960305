"""MemoryFetcher: what a dict of pages answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from walking import urlset

from sitemapreader.errors import FetchError
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse

if TYPE_CHECKING:
    from sitemapreader.fetch import Fetcher, Response

URL = "https://example.org/sitemap.xml"
BODY = urlset("https://example.org/")
TOLD = {"etag": '"1"', "last-modified": "Sat, 01 Nov 2025 00:00:00 GMT"}


async def fetch(fetcher: Fetcher, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    async with fetcher.open(URL, headers=headers) as response:
        read: Response = response
        return read.status, b"".join([piece async for piece in read.chunks()])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (None, (200, BODY)),
        ({"Accept": "*/*"}, (200, BODY)),
        ({"If-None-Match": '"1"'}, (304, b"")),
        ({"if-modified-since": TOLD["last-modified"]}, (304, b"")),
        ({"If-None-Match": '"0"'}, (200, BODY)),
    ],
)
async def test_a_version_that_one_has_is_not_sent_again(
    asked: dict[str, str] | None, answer: tuple[int, bytes]
) -> None:
    """304 and no body for who names the version that is stored; the page itself stays whole."""
    fetcher = MemoryFetcher({URL: StoredResponse(URL, BODY, headers=TOLD)})
    assert await fetch(fetcher, asked) == answer
    assert await fetch(fetcher) == (200, BODY)
    assert fetcher.requested == [URL, URL]


async def test_bytes_have_no_version() -> None:
    """A page without headers is always sent."""
    assert await fetch(MemoryFetcher({URL: BODY}), {"If-None-Match": "*"}) == (200, BODY)


async def test_what_is_not_stored_is_a_404() -> None:
    """Every other URL is one, whatever is asked."""
    with pytest.raises(FetchError, match="404"):
        await fetch(MemoryFetcher({}), {"If-None-Match": "*"})
