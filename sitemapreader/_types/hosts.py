"""Mapped hosts: the ones that are requested in place of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from sitemapreader._types.urls import has_web_scheme, move_to_origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yarl import URL

HostPairs: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]]"
WEB_PORTS = (80, 443)


class HostMap:
    """Hosts, and the origins that are requested in their place.

    A staging site lists the URLs of production. Its documents are fetched from the staging hosts,
    but entries, scope, robots.txt, the state and the report use their names in production. A host
    stands for http and https, and for one port if it is written with one.

    Raises TypeError or ValueError for invalid hosts.
    """

    def __init__(self, hosts: HostPairs = ()) -> None:
        if isinstance(cast("object", hosts), str | bytes):
            raise TypeError(
                "`map_hosts` must be a dict: {'https://www.a.example': 'https://b.a.example'}"
            )
        if isinstance(hosts, Mapping):
            hosts = hosts.items()
        origins = [(_read_origin(name), _read_origin(target)) for name, target in hosts]
        self.names = [
            (str(name.origin()), str(target.origin())) for name, target in origins
        ]
        self._keys = [_key_of(name) for name, _ in origins]
        self._targets = {_key_of(name): target for name, target in origins}
        for name, target in origins:
            last_target = self._targets[_key_of(name)]
            if last_target != target:
                raise ValueError(
                    f"`map_hosts`: {name} has two targets: {last_target} and {target}"
                )
            if self.find(str(target)):
                raise ValueError(
                    f"`map_hosts`: {name} leads to {target}, which is mapped itself: "
                    "name the last host"
                )

    def __bool__(self) -> bool:
        return bool(self._targets)

    def list_used(self, urls: Iterable[str]) -> list[tuple[str, str]]:
        """Return the hosts that some URLs are on, each with its target."""
        if not self._targets:  # nearly always, and each URL would be parsed
            return []
        keys = {_key_of(each) for each in map(parse_url, urls) if each is not None}
        pairs = zip(self._keys, self.names, strict=True)
        return [names for key, names in pairs if key in keys]

    def find(self, url: str) -> str:
        """Return the URL to request in place of this one, or ""."""
        if not self._targets:
            return ""
        parsed = parse_url(url)
        if parsed is None:
            return ""
        target = self._targets.get(_key_of(parsed))
        if target is None:
            return ""
        return move_to_origin(url, str(target.origin()))


def _key_of(url: URL) -> tuple[str, int | None]:
    host = (url.raw_host or "").lower().rstrip(".")
    if url.port in WEB_PORTS:
        return host, None
    return host, url.port


def _read_origin(text: str) -> URL:
    """Return the scheme, host and port of a text; raise TypeError or ValueError."""
    if not isinstance(text, str):
        raise TypeError(
            f"`map_hosts` must have hosts as text, got {type(text).__name__}"
        )
    url = text
    if "://" not in url:
        url = f"https://{url}"
    parsed = None
    if has_web_scheme(url) and "#" not in url:
        parsed = parse_url(url)
    if parsed is None or parsed.raw_path_qs not in ("", "/") or parsed.raw_user:
        raise ValueError(
            f"`map_hosts`: {text.rpartition('@')[2]!r} is not a host: write it without a path or a "
            "login, such as https://staging.example.org"
        )
    return parsed
