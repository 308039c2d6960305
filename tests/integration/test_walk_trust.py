"""Trust belongs to a walk: what one was given by its caller is a stranger to the others."""

from __future__ import annotations

import asyncio
import gc

import pytest
from faults import FaultServer
from hosts import open_and_fail
from resolving import NamedAddresses
from serving import serve

from sitemapreader import FetchOptions, HttpFetcher, IssueCode, Severity, discover, walk

URLSET = b"<urlset><url><loc>http://site.test/1</loc></url></urlset>"


def make_pages(base: str) -> dict[str, bytes]:
    """Return a site with one sitemap, which it names in robots.txt."""
    return {"/robots.txt": f"Sitemap: {base}/map.xml".encode(), "/map.xml": URLSET}


async def read(site: str, fetcher: HttpFetcher, *, trusted: bool) -> tuple[int, set[IssueCode]]:
    """Walk a site; return the number of its URLs and the codes of its errors."""
    async with walk(site, fetcher=fetcher, trusted=trusted, probe="never") as entries:
        count = len([entry async for entry in entries])
    codes = {code for code in entries.report.counts if code.severity is Severity.ERROR}
    return count, codes


async def test_a_walk_trusts_its_own_site_only() -> None:
    """Of two walks with one fetcher, the one that is not trusted gets nothing from loopback."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        assert await read(served.base, fetcher, trusted=True) == (1, set())
        asked = len(served.requested)
        count, codes = await read(served.base, fetcher, trusted=False)
        assert count == 0
        assert IssueCode.BLOCKED_PORT in codes
        assert len(served.requested) == asked


@pytest.mark.parametrize("name", ["site.test", "127.0.0.1"])
async def test_a_kept_connection_is_not_lent_to_strangers(name: str) -> None:
    """With the port allowed, a connection that a trusted walk left open is no way around."""
    async with serve(make_pages) as served:
        port = int(served.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,))
        async with HttpFetcher(options, resolver=NamedAddresses()) as fetcher:
            site = f"http://{name}:{port}/"
            assert (await read(site, fetcher, trusted=True))[0] >= 0
            asked = len(served.requested)
            assert asked
            count, codes = await read(site, fetcher, trusted=False)
            assert count == 0
            assert IssueCode.BLOCKED_ADDRESS in codes
            assert len(served.requested) == asked


async def test_walks_at_the_same_time() -> None:
    """A walk that is not trusted is refused also while the other one runs."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        trusted, untrusted = await asyncio.gather(
            read(served.base, fetcher, trusted=True), read(served.base, fetcher, trusted=False)
        )
        assert trusted[0] == 1
        assert untrusted[0] == 0


async def test_networks_and_ports_that_are_allowed_need_no_trust() -> None:
    """`allow_networks` and `allow_ports` open what a walk that is not trusted lacks."""
    async with serve(make_pages) as served:
        port = int(served.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,), allow_networks=("127.0.0.0/8",))
        async with HttpFetcher(options) as fetcher:
            assert await read(served.base, fetcher, trusted=False) == (1, set())


async def test_given_sitemaps_and_discoveries_can_be_strangers() -> None:
    """`trusted=False` holds for `sitemaps=` and for `discover` as well."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        given = walk(sitemaps=[f"{served.base}/map.xml"], fetcher=fetcher, trusted=False)
        async with given as entries:
            assert [entry async for entry in entries] == []
        found = await discover(served.base, fetcher=fetcher, trusted=False)
        assert IssueCode.BLOCKED_PORT in found.counts
        assert served.requested == []
        assert (await discover(served.base, fetcher=fetcher)).sitemaps


async def test_headers_do_not_go_to_strangers() -> None:
    """A walk that is not trusted sends no header that may be a secret."""
    async with FaultServer() as server:
        options = FetchOptions(
            headers={"X-Key": "secret"},
            allow_ports=(server.port,),
            allow_networks=("127.0.0.0/8",),
        )
        for trusted in (False, True):
            server.requests.clear()
            async with walk(sitemaps=[server.url("ok")], options=options, trusted=trusted) as found:
                assert [entry async for entry in found]
            assert ["x-key" in request.headers for request in server.requests] == [trusted]


async def test_requests_beside_a_walk_have_its_trust_while_it_runs() -> None:
    """A consumer fetches pages of the site with the fetcher of the walk, and so it was before."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        url = f"{served.base}/map.xml"
        assert await open_and_fail(fetcher, url) == IssueCode.BLOCKED_PORT
        async with walk(served.base, fetcher=fetcher) as entries:
            async for _ in entries:
                assert await open_and_fail(fetcher, url) == "opened"


async def test_a_fetcher_keeps_nothing_of_walks_that_are_over() -> None:
    """The trust of a walk goes with it: a fetcher for a thousand walks does not grow."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        assert await read(served.base, fetcher, trusted=True) == (1, set())
        # Connections that are kept have the context of the walk that made them.
        await fetcher.aclose()
        await asyncio.sleep(0.01)
        gc.collect()
        assert len(fetcher._walks) == 0
