"""Mapped hosts: what is asked for at one host, and named by another.

A staging site lists the URLs of production. Its documents are fetched where they are, and all else
(entries, scope, robots.txt, the state, the report) goes by the names that they will have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from sitemapreader.urls import has_web_scheme, parse_url

if TYPE_CHECKING:
    from yarl import URL

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
