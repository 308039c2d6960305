"""SiteTask: one site of a list, from a URL or the bare name of a host."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from sitemapreader.issues import show_url
from sitemapreader.options import one_of
from sitemapreader.urls import (
    has_suffixes,
    has_web_scheme,
    host_of,
    load_suffixes,
    parse_url,
    site_of,
    url_key,
)

if TYPE_CHECKING:
    from yarl import URL

SiteKind: TypeAlias = Literal["auto", "site", "sitemap"]
"""The kind of a URL: a site to search, a sitemap, or "auto": its content decides."""

_FILES = (".xml", ".gz", ".txt", ".rss", ".atom", ".html", ".htm")
"""Suffixes of files, none of which is a top-level domain."""


@attrs.frozen
class SiteTask:
    """One site to read.

    Attributes:
        url: its URL, or the name of its host: then https is assumed.
        kind: whether the URL is a "site" or a "sitemap"; with "auto" its content shows that.
        trusted: whether you trust this site, as in `walk`; `None` leaves it to `walk_many`.
    """

    url: str
    kind: SiteKind = attrs.field(default="auto", validator=one_of(SiteKind))
    trusted: bool | None = None


class InvalidSiteError(ValueError):
    """A text that is neither a URL nor the name of a host."""


@attrs.frozen
class CheckedTask:
    """A task whose URL can be requested.

    Attributes:
        task: the task.
        name: what it is called in outcomes: its text without a password.
        url: the URL, without a login.
        login: the URL with its login; "" where it has none.
    """

    task: SiteTask
    name: str
    url: str
    login: str = ""

    @property
    def key(self) -> str:
        """The key that all spellings of the URL share."""
        return url_key(self.url)

    @property
    def host(self) -> str:
        """The host."""
        return host_of(self.url)


def check_task(given: object) -> CheckedTask:
    """Return the task of a URL, host or SiteTask; else raise InvalidSiteError."""
    task = given if isinstance(given, SiteTask) else SiteTask(str(given))
    text = task.url.strip()
    url = text if "://" in text else f"https://{text}"
    parsed = parse_url(url) if has_web_scheme(url) else None
    if parsed is None or ("://" not in text and not _looks_like_host(parsed)):
        raise InvalidSiteError(hide_login(text))
    if parsed.raw_user is None and parsed.raw_password is None:
        return CheckedTask(task, text, url)
    return CheckedTask(task, hide_login(text), str(parsed.with_user(None)), url)


def _looks_like_host(parsed: URL) -> bool:
    """Return whether a text without a scheme is a host rather than a missing file."""
    host = parsed.host or ""
    if parsed.explicit_port is not None or ":" in host or host == "localhost":
        return True
    return "." in host and not host.startswith(".") and not host.endswith(_FILES)


def name_site(text: str) -> str:
    """Return the name that the outcome of a site has: its text without a login."""
    try:
        return check_task(text).name
    except InvalidSiteError as error:
        return str(error)


def hide_login(text: str) -> str:
    """Remove what may be a user and a password from a text that may not be a URL."""
    scheme, slashes, rest = text.rpartition("://")
    userinfo, _, bare = rest.rpartition("@")
    return show_url(scheme + slashes + bare if slashes or ":" in userinfo else text)


async def find_domain(host: str) -> str:
    """Return the registrable domain of a host, whose sites wait for each other."""
    if not has_suffixes():
        await asyncio.to_thread(load_suffixes)
    return site_of(host)


def is_in_shard(domain: str, number: int, shards: int) -> bool:
    """Return whether a domain is in a shard: the same part on every machine.

    Args:
        domain: the registrable domain; each is in one shard.
        number: of the shard, from 0.
        shards: how many there are.
    """
    digest = blake2b(domain.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards == number
