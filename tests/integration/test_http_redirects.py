"""Redirects: which are followed, and what goes along."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from faults import DOCUMENT, REDIRECT_BODY_BYTES, FaultServer

from sitemapreader.errors import FetchError
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.request import RedirectChain, parse_request_url
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

SECRETS = {
    "Authorization": "Bearer x",
    "Cookie": "a=b",
    "X-Api-Key": "x",
    "Referer": "http://intranet/",
    "From": "me@site.example",
}
OPEN_TO_ALL = {"Accept-Language": "de", "User-Agent": "me/1"}


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def stranger() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def fetch(
    fetcher: HttpFetcher, url: str, headers: Mapping[str, str] | None = None
) -> tuple[bytes, str, list[str]]:
    """Return body, final URL, and the codes of the response's issues."""
    async with fetcher.open(url, headers=headers) as response:
        body = b"".join([piece async for piece in response.chunks()])
        return body, response.url, [issue.code for issue in response.issues]


def sent(server: FaultServer, number: int = -1) -> dict[str, str]:
    headers = dict(server.requests[number].headers)
    del headers["host"]
    return headers


def make_trail(url: str, **options: object) -> RedirectChain:
    return RedirectChain(parse_request_url(url), FetchOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_every_redirect_status_is_followed(status: int, server: FaultServer) -> None:
    """All five lead on, and the response tells where it came from."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        url = server.url(f"to?status={status}&url=/ok%23part")
        assert await fetch(fetcher, url) == (DOCUMENT, server.url("ok"), [])


async def test_the_body_of_a_redirect_is_not_read(server: FaultServer) -> None:
    """An endless body costs what fits into the buffers, and not more."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        body, _, _ = await fetch(fetcher, server.url("redirect-with-endless-body"))
    assert body == DOCUMENT
    assert server.wasted_bytes < REDIRECT_BODY_BYTES / 4


async def test_headers_of_the_caller_stay_at_home(
    server: FaultServer, stranger: FaultServer
) -> None:
    """Only User-Agent, Accept and validators cross origins; nothing more comes back again."""
    options = FetchOptions(headers=SECRETS | OPEN_TO_ALL, allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        back = stranger.url(f"to?url={quote(server.url('ok'))}")
        url = server.url(f"to?url={quote(back, safe='')}")
        await fetch(fetcher, url, {"X-Own": "x", "If-None-Match": '"1"'})
    first, came_back = sent(server, 0), sent(server, 1)
    assert first.items() >= {name.lower(): value for name, value in SECRETS.items()}.items()
    assert first["x-own"] == "x"
    allowed = {"user-agent", "accept", "accept-language", "accept-encoding", "if-none-match"}
    assert set(sent(stranger)) == allowed
    assert set(came_back) == allowed
    assert came_back["user-agent"] == "me/1"


async def test_headers_of_the_caller_follow_within_an_origin(server: FaultServer) -> None:
    """A redirect on the same origin keeps them."""
    async with HttpFetcher(FetchOptions(headers=SECRETS)) as fetcher:
        fetcher.trust(server.base)
        await fetch(fetcher, server.url("hops/2"))
    assert [request.headers.get("x-api-key") for request in server.requests] == ["x"] * 3


async def test_headers_of_the_caller_are_for_the_origins_it_named(
    server: FaultServer, stranger: FaultServer
) -> None:
    """A child on another origin than the user's gets none of them, even if it is opened itself."""
    options = FetchOptions(headers=SECRETS, allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        await fetch(fetcher, server.url("ok"))
        await fetch(fetcher, stranger.url("ok"))
    assert "x-api-key" in sent(server)
    assert set(sent(stranger)) == {"user-agent", "accept", "accept-encoding"}


async def test_without_a_named_origin_headers_go_to_what_is_opened(server: FaultServer) -> None:
    """Who opens URLs by hand has no need to name them first."""
    options = FetchOptions(
        headers=SECRETS, allow_networks=("127.0.0.1",), allow_ports=(server.port,)
    )
    async with HttpFetcher(options) as fetcher:
        await fetch(fetcher, server.url("ok"))
    assert sent(server)["x-api-key"] == "x"


async def test_userinfo_that_the_user_gave_is_used_at_its_origin(
    server: FaultServer, stranger: FaultServer
) -> None:
    """It becomes Basic authentication for all of that origin, and is no part of any URL."""
    options = FetchOptions(allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        named = server.url("ok").replace("//", "//me:p%C3%A4ss@")
        fetcher.trust(named)
        assert (await fetch(fetcher, named))[1:] == (server.url("ok"), [])
        await fetch(fetcher, server.url(f"to?url={quote(stranger.url('ok'))}"))
    expected = "Basic bWU6cMOkc3M="
    assert [request.headers["authorization"] for request in server.requests] == [expected] * 2
    assert "authorization" not in sent(stranger)


async def test_userinfo_from_elsewhere_is_removed_with_an_issue(server: FaultServer) -> None:
    """Credentials in a child's URL or in a redirect are not sent; an Issue says so."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        child = server.url("ok").replace("//", "//me:pass@")
        _, url, issues = await fetch(fetcher, child)
        assert (url, issues) == (server.url("ok"), [IssueCode.USERINFO_REMOVED])
        _, url, issues = await fetch(fetcher, server.url(f"to?url={quote(child)}"))
        assert (url, issues) == (server.url("ok"), [IssueCode.USERINFO_REMOVED])
    assert all("authorization" not in request.headers for request in server.requests)


async def test_a_circle_is_seen_through_its_spellings(server: FaultServer) -> None:
    """A redirect to another spelling of the same URL is a circle at once."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        with pytest.raises(FetchError) as caught:
            await fetch(fetcher, server.url("circle/./a"))
        assert caught.value.code == IssueCode.REDIRECT_LOOP
    assert len(server.requests) == 2


def test_as_many_redirects_as_are_allowed() -> None:
    """Exactly `redirects` are followed."""
    chain = make_trail("http://site.example/0", max_redirects=3)
    for number in range(1, 4):
        chain.follow(f"/{number}")
    with pytest.raises(FetchError) as caught:
        chain.follow("/4")
    assert caught.value.code == IssueCode.TOO_MANY_REDIRECTS
    assert caught.value.url == "http://site.example/3"


def test_https_stays_https() -> None:
    """A redirect from https to http is refused, unless that is allowed; the other way is fine."""
    with pytest.raises(FetchError) as caught:
        make_trail("https://site.example/").follow("http://site.example/")
    assert caught.value.code == IssueCode.DOWNGRADE
    chain = make_trail("https://site.example/", allow_downgrade=True)
    chain.follow("http://site.example/")
    assert str(chain.target) == "http://site.example/"
    chain = make_trail("http://site.example/")
    chain.follow("https://site.example/")
    assert str(chain.target) == "https://site.example/"
    assert not chain.same_origin


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/x", "http://site.example/x"),
        ("x", "http://site.example/a/x"),
        ("../x?y#z", "http://site.example/x?y"),
        ("//other.example/x", "http://other.example/x"),
        ("  /x\t", "http://site.example/x"),
        ("?page=2", "http://site.example/a/b?page=2"),
        ("HTTP://OTHER.example/x", "http://other.example/x"),
        ("http://b\xfccher.example/", "http://xn--bcher-kva.example/"),
        ("/caf\xe9", "http://site.example/caf%C3%A9"),
    ],
)
def test_locations_are_resolved(location: str, target: str) -> None:
    """Relative references, other hosts, international names, and no fragments."""
    chain = make_trail("http://site.example/a/b")
    chain.follow(location)
    assert str(chain.target) == target
    assert chain.same_origin == target.startswith("http://site.example/")


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://site.example/",
        "javascript:alert(1)",
        "data:text/plain,hi",
        "tcp://site.example/",
        "ws://site.example/",
        "http:x",
        "http:/x",
        "http://",
        "http:///x",
        "http://[::1",
        "http://site.example:99999/",
        "/a b",
        "/a\nb",
        "/a\tb",
        "/\u202e",
        "/\udcff",
        "/a, /b",
    ],
)
def test_locations_that_are_not_followed(location: str) -> None:
    """Other schemes, and what cannot be requested."""
    with pytest.raises(FetchError) as caught:
        make_trail("http://site.example/a/b").follow(location)
    assert caught.value.code == IssueCode.INVALID_URL
    assert caught.value.url == "http://site.example/a/b"
    assert caught.value.detail.startswith("redirect to ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://site.example/", "https://site.example/"),
        ("http://site.example/", "http://site.example:81/"),
        ("http://site.example/", "http://www.site.example/"),
    ],
)
def test_what_another_origin_is(one: str, other: str) -> None:
    """Scheme, port and host make an origin, each of them (RFC 6454)."""
    chain = make_trail(one, allow_downgrade=True)
    chain.follow(other)
    assert not chain.same_origin
    chain.follow("http://site.example/again")
    assert not chain.same_origin


def test_a_default_port_is_no_other_origin() -> None:
    """`:80` and no port are one origin."""
    chain = make_trail("http://site.example/")
    chain.follow("http://SITE.example:80/x")
    assert chain.same_origin
