"""The trust that one walk is given ends with it, whoever holds the walk."""

from __future__ import annotations

import pytest

from sitemapreader import walk
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch import HttpFetcher
from tests.support.serving import serve_pages
from tests.support.walking import urlset


async def opens(fetcher: HttpFetcher, url: str) -> bool:
    """Return whether a request outside of walks is let through to an address on loopback."""
    try:
        async with fetcher.open(url):
            return True
    except FetchError as error:
        if error.code not in (IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT):
            raise
        return False


def fail(ending: str) -> None:
    """Raise what a consumer's own code may raise."""
    raise KeyError(ending)


@pytest.mark.parametrize("ending", ["read", "left", "raised"])
async def test_trust_ends_with_its_walk(ending: str) -> None:
    """Inside a walk a shared fetcher opens the named host; afterwards it does not."""
    page = urlset("https://example.org/a", "https://example.org/b")
    async with serve_pages(**{"map.xml": page}) as site, HttpFetcher() as fetcher:
        url = f"{site.base}map.xml"
        assert not await opens(fetcher, url)
        kept = walk(sitemaps=[url], fetcher=fetcher)
        try:
            async with kept as entries:
                async for _ in entries:
                    if ending == "read":
                        continue
                    assert await opens(fetcher, url)
                    if ending == "raised":
                        fail(ending)
                    break
        except KeyError:
            assert ending == "raised"
        assert not await opens(fetcher, url)
        assert kept.report.documents
        fetcher.trust(url)
        assert await opens(fetcher, url)
