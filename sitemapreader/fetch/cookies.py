"""Cookies of one document: set by its redirects, and sent only to the origin that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp import CookieJar
    from yarl import URL

MAX_COOKIE_CHARS = 16_384
"""The longest Cookie header: the default limit of servers for all headers together."""


class ChainCookies:
    """The cookies that an origin sets while it redirects to its own document.

    Programs redirect a visitor to the same URL to see if cookies come back. The cookies live as
    long as the chain of redirects, and are sent to the origin that has set them, whatever their
    Domain is. For path, expiry and Secure see RFC 6265.
    """

    def __init__(self) -> None:
        self._jars: dict[URL, CookieJar] = {}

    def add(self, url: URL, lines: Iterable[str]) -> None:
        """Add the Set-Cookie lines of the response to a request."""
        from aiohttp import CookieJar  # noqa: PLC0415 (few chains set cookies)

        origin = url.origin()
        if origin not in self._jars:
            # unsafe: hosts that are addresses may have cookies too
            self._jars[origin] = CookieJar(unsafe=True)
        self._jars[origin].update_cookies_from_headers([*lines], _strip_query(url))

    def write(self, url: URL) -> str:
        """Return the Cookie header for a request; "" if there is none."""
        if not self._jars:
            return ""
        jar = self._jars.get(url.origin())
        if jar is None:
            return ""
        cookies = jar.filter_cookies(_strip_query(url))
        header = "; ".join(
            f"{name}={morsel.coded_value}" for name, morsel in cookies.items()
        )
        if len(header) <= MAX_COOKIE_CHARS:
            return header
        return ""


def _strip_query(url: URL) -> URL:
    """Return the URL of a request without its query, which is a part of its path."""
    # Its escapes are escaped: the jar unescapes the path, and paths of cookies stay as they are.
    return url.with_path(url.raw_path.partition("?")[0])
