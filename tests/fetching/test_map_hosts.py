"""`map_hosts`: a staging site is read under the names of production."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import FetchOptions, discover, walk, walk_sync
from sitemapreader.fetch import MemoryFetcher
from tests.support.commands import run
from tests.support.grouping import grouped
from tests.support.serving import listen, serve
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from tests.support.serving import Page

LIVE = "https://www.acme.example"


def at(name: str) -> str:
    return f"{LIVE}/{name}"


def make_staging(base: str) -> Mapping[str, Page]:
    return {
        "/robots.txt": f"Sitemap: {at('top.xml')}\nUser-agent: *\nDisallow: /private".encode(),
        "/top.xml": index(
            at("packed.xml.gz"),
            at("moved.xml"),
            at("relative.xml"),
            at("private.xml"),
            f"{base}/own.xml",
        ),
        "/packed.xml.gz": gzip.compress(urlset(at("a"), "/b", f"{base}/elsewhere")),
        "/moved.xml": at("new.xml"),
        "/relative.xml": "/newer.xml",
        "/new.xml": urlset(at("c")),
        "/newer.xml": urlset(at("d")),
        "/private.xml": urlset(at("secret")),
        "/own.xml": urlset(f"{base}/own"),
    }


async def test_a_staging_site() -> None:
    """All that the staging host serves has the names of production: index, robots, gzip, moves."""
    async with serve(make_staging) as staging:
        hosts = {LIVE: staging.base}
        async with walk(
            LIVE, options=FetchOptions(map_hosts=hosts), unique=True
        ) as entries:
            found = {entry.loc: entry.sitemap async for entry in entries}
        report = entries.report
    assert found == {
        at("a"): at("packed.xml.gz"),
        at("b"): at("packed.xml.gz"),
        f"{staging.base}/elsewhere": at("packed.xml.gz"),
        at("c"): at("new.xml"),
        at("d"): at("newer.xml"),
    }
    finals = {each.url: each.final_url for each in report.documents if each.final_url}
    assert finals == {
        at("robots.txt"): at("robots.txt"),
        f"{staging.base}/robots.txt": f"{staging.base}/robots.txt",
        at("top.xml"): at("top.xml"),
        at("packed.xml.gz"): at("packed.xml.gz"),
        at("moved.xml"): at("new.xml"),
        at("relative.xml"): at("newer.xml"),
    }
    # what production's own robots.txt would say is not asked for; another host is another host
    assert report.left_out == {"robots-disallowed": 1, "cross-host-child": 1}
    assert "/private.xml" not in staging.requested
    (mapped,) = [each for each in report.issues if each.code == "host-mapped"]
    assert (mapped.url, mapped.value) == (LIVE, staging.base)


async def test_a_mapping_that_nothing_needs_is_not_said_to_be_used() -> None:
    """The host that is mapped is not the one that is walked."""
    async with serve(make_staging) as staging:
        hosts = {LIVE: staging.base, "https://other.example": staging.base}
        async with walk(LIVE, options=FetchOptions(map_hosts=hosts)) as entries:
            async for _ in entries:
                pass
    mapped = [each.url for each in entries.report.issues if each.code == "host-mapped"]
    assert mapped == [LIVE]


async def test_redirects_that_lead_nowhere() -> None:
    """A loop over the map ends; and no stranger's redirect gets the caller's headers."""

    def make_pages(_: str) -> Mapping[str, Page]:
        return {"/top.xml": at("top.xml"), "/x.xml": at("x.xml")}

    async with serve(make_pages) as staging, serve(make_pages) as stranger:
        names = [at("top.xml"), f"{stranger.base}/x.xml"]
        hosts = {LIVE: staging.base}
        options = FetchOptions(headers={"X-Key": "secret"}, map_hosts=hosts)
        async with walk(sitemaps=names, options=options) as entries:
            assert [entry async for entry in entries] == []
        outcomes = {
            each.url: each.reason for each in entries.report.documents if each.via
        }
    assert outcomes == {
        at("top.xml"): "redirect-loop",
        f"{stranger.base}/x.xml": "cross-host-child",
    }
    assert "/x.xml" not in staging.requested


async def test_logins_and_headers() -> None:
    """They go to the mapped host as they would have gone to the named one, and nowhere else."""
    seen: list[tuple[str, str | None, str | None]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        from aiohttp import web as server  # noqa: PLC0415 (a type elsewhere)

        seen.append(
            (
                request.path,
                request.headers.get("Authorization"),
                request.headers.get("X-Key"),
            )
        )
        return server.Response(body=urlset(at("a")))

    async with listen(answer) as base:
        options = FetchOptions(headers={"X-Key": "k"}, map_hosts={LIVE: base})
        site = "https://me:pw@www.acme.example/map.xml"
        async with walk(sitemaps=[site], options=options) as entries:
            assert [entry.loc async for entry in entries] == [at("a")]
    assert ("/map.xml", "Basic bWU6cHc=", "k") in seen


async def test_a_fetcher_of_ones_own() -> None:
    """It asks other hosts itself, in its `open`; a walk with a map says so."""
    with pytest.raises(TypeError, match="requires an HttpFetcher"):
        async with walk(
            LIVE,
            options=FetchOptions(map_hosts={LIVE: "b.example"}),
            fetcher=MemoryFetcher({}),
        ) as entries:
            assert [entry async for entry in entries] == []


REFUSED = {
    "https://a.example=b.example https://a.example=c.example": "two targets",
    "a.example=b.example http://a.example=https://c.example": "two targets",
    "a.example=https://b.example/path": "without a path",
    "a.example/=b.example?x": "without a path",
    "a.example=ftp://b.example": "is not a host",
    "a.example=me:pw@b.example": "without a path or a login",
    "a.example=b.example b.example=c.example": "which is mapped itself",
    "a.example=https://a.example": "which is mapped itself",
    "a.example": "write A=B",
    "=b.example": "write A=B",
}


@pytest.mark.parametrize("given", REFUSED)
def test_maps_that_make_no_sense(given: str) -> None:
    """A map with two targets, a path or a circle is refused, here and in the shell."""
    pairs: Any = [each.split("=") for each in given.split()]
    if "write A=B" not in REFUSED[given]:
        with pytest.raises(ValueError, match=REFUSED[given]):
            walk_sync(LIVE, options=FetchOptions(map_hosts=pairs))
    words = [word for each in given.split() for word in ("--map-host", each)]
    shown = run(*words, LIVE)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert REFUSED[given] in shown.stderr
    assert "map_hosts" not in shown.stderr
    assert "pw" not in shown.stderr or "pw@" not in shown.stderr


async def test_discovery() -> None:
    """What is found there has the names of production, too."""
    async with serve(make_staging) as staging:
        found = await discover(
            LIVE, options=FetchOptions(map_hosts={LIVE: staging.base})
        )
    assert [(each.loc, each.sitemap) for each in found.sitemaps] == [
        (at("top.xml"), at("robots.txt"))
    ]


async def test_a_host_that_is_down() -> None:
    """A mapped host that fails is paused and given up by its name, like any other."""

    def make_pages(_: str) -> Mapping[str, Page]:
        return {"/top.xml": index(*(at(f"{n}.xml") for n in range(40)))} | {
            f"/{n}.xml": 500 for n in range(40)
        }

    options = FetchOptions(
        retry_wait_seconds=0.001, host_pause_seconds=0.01, host_trials=1, concurrency=2
    )
    async with serve(make_pages) as staging:
        arguments: dict[str, Any] = {
            "map_hosts": {LIVE: staging.base},
            "options": options,
        }
        async with walk(sitemaps=[at("top.xml")], **grouped(arguments)) as entries:
            assert [entry async for entry in entries] == []
    assert entries.report.left_out["host-down"] > 20
    assert len(staging.requested) < 25
