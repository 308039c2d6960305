"""A start page that has moved: the search goes on once where it is now."""

from __future__ import annotations

import pytest

from sitemapreader._types.options import FetchOptions
from sitemapreader._walk.search import WELL_KNOWN_PATHS
from tests.support.serving import Answer, Site, serve_site
from tests.support.walking import Walked, index, read_site, urlset

PAGE = Answer(
    b"<html><title>Home</title></html>", headers={"Content-Type": "text/html"}
)


def move(to: str, status: int = 301) -> Answer:
    return Answer(status=status, headers={"Location": to})


def elsewhere(site: Site) -> str:
    """Return the address of a site under another name, which is another site."""
    return site.base.replace("127.0.0.1", "localhost")


def allow(*sites: Site) -> FetchOptions:
    """Allow what a document on loopback may lead to, as if it were public."""
    ports = tuple(int(site.base.rpartition(":")[2]) for site in sites)
    return FetchOptions(allow_networks=("127.0.0.0/8", "::1/128"), allow_ports=ports)


def fill(new: Site, base: str, *, name: str = "/maps/index.xml") -> None:
    new.pages |= {
        "/": PAGE,
        "/robots.txt": Answer(f"Sitemap: {base}{name}\n".encode()),
        name: Answer(index(f"{base}/maps/a.xml")),
        "/maps/a.xml": Answer(urlset(f"{base}/1", f"{base}/2")),
    }


async def read_moved(
    to: str, old: Site, new: Site, status: int = 301, **more: object
) -> Walked:
    old.pages["/"] = move(to, status)
    return await read_site(old.base, options=allow(new), **more)


@pytest.mark.parametrize("status", [301, 308])
@pytest.mark.parametrize("hosts", ["host", "site", "any"])
async def test_the_search_goes_on_where_the_page_is_now(
    status: int, hosts: str
) -> None:
    """robots.txt of the new host lists the sitemap; the old host has none."""
    async with serve_site() as old, serve_site() as new:
        base = elsewhere(new)
        fill(new, base)
        read = await read_moved(f"{base}/", old, new, status, hosts=hosts)
        assert read.locs == [f"{base}/1", f"{base}/2"]
        assert new.times["/"] == 1  # its page is not read once more
        assert len(old.requested) == 2 + len(WELL_KNOWN_PATHS)
    assert {*read.codes} == {"site-moved"}
    (issue,) = read.report.issues
    assert (issue.url, issue.sitemap) == (f"{base}/", old.base)
    assert read.report.complete


@pytest.mark.parametrize("status", [301, 302, 307])
async def test_another_origin_of_the_same_site_is_no_move(status: int) -> None:
    """Http to https, or to another port: it is searched there, and nothing need be said."""
    async with serve_site() as old, serve_site() as new:
        fill(new, new.base)
        read = await read_moved(f"{new.base}/", old, new, status)
        assert read.locs == [f"{new.base}/1", f"{new.base}/2"]
    assert {*read.codes} == set()


@pytest.mark.parametrize(
    ("target", "status"),
    [("/", 302), ("/login", 303), ("/login", 307), ("/lander?domain=old.example", 301)],
)
async def test_a_login_or_a_parking_page_is_no_new_place(
    target: str, status: int
) -> None:
    """Nothing of the stranger's is taken for the site's."""
    async with serve_site() as old, serve_site() as new:
        base = elsewhere(new)
        fill(new, base)
        new.pages["/login"] = new.pages["/lander"] = PAGE
        read = await read_moved(f"{base}{target}", old, new, status)
        assert read.locs == []
        assert set(new.requested) <= {"/robots.txt", target.partition("?")[0]}
    assert {*read.codes} == {"no-sitemap"}


async def test_a_new_place_without_sitemaps_is_asked_for_its_page_once() -> None:
    """The move has shown the page, so only its robots.txt and guessed paths are asked for there."""
    async with serve_site() as old, serve_site() as new:
        new.pages["/"] = PAGE
        read = await read_moved(f"{elsewhere(new)}/", old, new)
        assert new.times["/"] == 1
    assert {*read.codes} == {"site-moved", "no-sitemap"}


async def test_moves_in_a_circle_end() -> None:
    """One move is followed; its pages may lead back or on."""
    async with serve_site() as old, serve_site() as new:
        base = elsewhere(new)
        new.pages["/"] = PAGE
        new.pages |= {f"/{path}": move(f"{old.base}/") for path in WELL_KNOWN_PATHS}
        new.pages["/robots.txt"] = move(f"{old.base}/robots.txt")
        read = await read_moved(f"{base}/", old, new)
        assert len(old.requested) + len(new.requested) < 5 * len(WELL_KNOWN_PATHS)
    assert {"site-moved", "no-sitemap"} <= {*read.codes}


async def test_a_private_address_is_not_searched() -> None:
    """The new place is a stranger's choice: the guard of addresses holds for it."""
    async with serve_site() as old, serve_site() as new:
        fill(new, elsewhere(new))
        old.pages["/"] = move(f"{elsewhere(new)}/")
        read = await read_site(old.base)
        assert new.requested == []
    assert read.locs == []
    assert {"blocked-port", "no-sitemap"} <= {
        *read.codes
    } or "blocked-address" in read.codes
