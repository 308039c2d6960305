"""Mapped hosts: what is asked for at one host, and named by another.

A staging site lists the URLs of production. Its documents are fetched where they are, and all else
(entries, scope, robots.txt, the state, the report) goes by the names that they will have.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.client import Client, ClientLayer, Fetcher, Response, make_client
from sitemapreader.issues import IssueCode
from sitemapreader.urls import has_web_scheme, origin_of, parse_url

if TYPE_CHECKING:
    from yarl import URL

    from sitemapreader.fetch.client import Opening
    from sitemapreader.fetch.request import CheckRedirect
    from sitemapreader.fetch.retries import HostBreaker

HostPairs: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]]"
_WEB_PORTS = (80, 443)


class HostMap:
    """Hosts, and the origins that are asked in their place.

    A host stands for http and https, and for one port if it is written with one.

    Raises TypeError or ValueError for what makes no sense.
    """

    def __init__(self, hosts: HostPairs = ()) -> None:
        if isinstance(cast("object", hosts), str | bytes):
            raise TypeError(
                "`map_hosts` must be a dict: {'https://www.a.example': 'https://b.a.example'}"
            )
        self.targets: dict[tuple[str, int | None], URL] = {}
        self.names: list[tuple[str, str]] = []
        for name, target in hosts.items() if isinstance(hosts, Mapping) else hosts:
            source, url = _read_origin(name), _read_origin(target)
            known = self.targets.setdefault(_key(source), url)
            if known != url:
                raise ValueError(f"`map_hosts`: {name} has two targets: {known} and {url}")
            self.names.append((str(source.origin()), str(url.origin())))
        for name, target in self.names:
            if _key(_read_origin(target)) in self.targets:
                raise ValueError(
                    f"`map_hosts`: {name} leads to {target}, which is mapped itself: "
                    "name the host that answers"
                )

    def __bool__(self) -> bool:
        return bool(self.targets)

    def find(self, url: str) -> str:
        """Return the URL to ask for in the place of one, or ""."""
        parsed = parse_url(url)
        target = None if parsed is None else self.targets.get(_key(parsed))
        if parsed is None or target is None:
            return ""
        moved = parsed.with_scheme(target.scheme).with_host(target.raw_host or "")
        return str(moved.with_port(target.explicit_port))


def _key(url: URL) -> tuple[str, int | None]:
    return (url.raw_host or "").lower().rstrip("."), None if url.port in _WEB_PORTS else url.port


def _read_origin(text: str) -> URL:
    """Return the scheme, host and port of a text; raise TypeError or ValueError."""
    if not isinstance(text, str):
        raise TypeError(f"`map_hosts` has hosts as text, not as {type(text).__name__}")
    url = text if "://" in text else f"https://{text}"
    parsed = parse_url(url) if has_web_scheme(url) else None
    if parsed is None or parsed.raw_path_qs not in ("", "/") or parsed.raw_user or "#" in text:
        raise ValueError(
            f"`map_hosts`: {text.rpartition('@')[2]!r} is not a host: write it without a path or a "
            "login, such as https://staging.example.org"
        )
    return parsed


class MappedFetcher:
    """A fetcher that asks other hosts in the place of those of a map.

    Args:
        fetcher: what opens the URLs.
        hosts: the map, as `map_hosts` of `walk`.
        user_agent: the name of the fetcher if it has none.

    Raises TypeError or ValueError for a map that makes no sense.
    """

    def __init__(self, fetcher: Fetcher, hosts: HostMap | HostPairs, user_agent: str = "") -> None:
        self.user_agent: str = getattr(fetcher, "user_agent", user_agent)
        self._fetcher = fetcher
        self._hosts = hosts if isinstance(hosts, HostMap) else HostMap(hosts)

    def client(self) -> MappedClient:
        """Return the fetcher as one walk uses it."""
        return MappedClient(make_client(self._fetcher, self.user_agent), self._hosts)

    def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Response]:
        """Request `url` at its place."""
        client: Client = self.client()
        return client.open(url, headers=headers)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait between two requests to the host that is asked."""
        self.client().set_crawl_delay(host_url, seconds)


class MappedClient(ClientLayer):
    """A client that asks other hosts in the place of those of a map.

    A redirect to a mapped host is followed at its place, if it comes from there. One from elsewhere
    is refused: headers and logins would go where a stranger points.
    """

    def __init__(self, client: Client, hosts: HostMap) -> None:
        super().__init__(client)
        self._hosts = hosts
        for _, target in hosts.names:  # the caller has typed it
            client.trust(target)

    def trust(self, url: str) -> None:
        """Trust the host that is asked in the place of that of `url`."""
        super().trust(self._hosts.find(url) or url)

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Wait between two requests to the host that is asked."""
        super().set_crawl_delay(self._hosts.find(host_url) or host_url, seconds)

    @asynccontextmanager
    async def open(self, url: str, **how: Unpack[Opening]) -> AsyncIterator[Response]:
        """Request `url` at its place; all that is said of it has its own name."""
        check = how.get("check_redirect")
        if breaker := how.get("breaker"):
            how["breaker"] = cast("HostBreaker", _NamedBreaker(breaker, url))
        asked: set[str] = set()
        place = _Place(url, self._hosts.find(url), self._hosts, check)
        while True:
            if place.url in asked:
                raise FetchError(IssueCode.REDIRECT_LOOP, place.name, "at the host it is mapped to")
            asked.add(place.url)
            how["check_redirect"] = place.check
            try:
                async with self._client.open(place.url, **how) as response:
                    yield cast("Response", _NamedResponse(response, place))
            except _MappedRedirectError as redirect:
                place = _Place(redirect.url, redirect.target, self._hosts, check)
            except FetchError as error:
                error.url = place.find_name(error.url)
                raise
            else:
                return


class _MappedRedirectError(Exception):
    """A redirect leads to a mapped host, so that another URL has to be asked for."""

    def __init__(self, url: str, target: str) -> None:
        super().__init__(url)
        self.url, self.target = url, target


@attrs.define
class _Place:
    """One URL as it is named, and where it is asked for."""

    name: str
    target: str
    _hosts: HostMap
    _check: CheckRedirect | None
    _has_strayed: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._has_strayed = not self.target

    @property
    def url(self) -> str:
        """The URL that is asked for."""
        return self.target or self.name

    def find_name(self, url: str) -> str:
        """Return what a URL at the place is called."""
        if not self.target or origin_of(url) != origin_of(self.target):
            return url
        return f"{origin_of(self.name)}/{url.partition('://')[2].partition('/')[2]}"

    async def check(self, url: str) -> None:
        """Check a redirect; raise _MappedRedirectError if it leads to a mapped host."""
        if self._check is not None:
            await self._check(self.find_name(url))
        target = self._hosts.find(url)
        if target and self._has_strayed:
            said = "a redirect from a host that is not mapped to one that is"
            raise FetchError(IssueCode.CROSS_HOST_CHILD, url, said)
        if target:
            raise _MappedRedirectError(url, target)
        self._has_strayed |= origin_of(url) != origin_of(self.target)


class _NamedResponse:
    """A response whose URLs are those by which documents are named."""

    def __init__(self, response: Response, place: _Place) -> None:
        self.url = place.find_name(response.url)
        self.redirects = tuple(
            attrs.evolve(each, url=place.find_name(each.url), target=place.find_name(each.target))
            for each in getattr(response, "redirects", ())
        )
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)


@attrs.frozen
class _NamedBreaker:
    """A breaker that goes by the name of the host, as the walk does."""

    _breaker: HostBreaker
    _url: str

    def check(self, _: str) -> None:
        self._breaker.check(self._url)

    def postpone(self, _: str, seconds: float) -> None:
        self._breaker.postpone(self._url, seconds)

    def note_attempt(self, _: str, error: FetchError) -> None:
        self._breaker.note_attempt(self._url, error)
