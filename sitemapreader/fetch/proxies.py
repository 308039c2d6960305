"""Proxies: none, one for all requests, or the ones that the environment names."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.options import PROXIES_OF_ENVIRONMENT, is_proxy

if TYPE_CHECKING:
    from yarl import URL

_ALL_SCHEMES = "all"
"""The scheme of ALL_PROXY."""
_ADVICE = f'write `proxy="{PROXIES_OF_ENVIRONMENT}"`'


@attrs.frozen
class Proxies:
    """The proxies of one fetcher.

    The variables are HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case, as curl and
    Python read them. They are read once, and used only if the options say so: otherwise a program
    that is started by another one would send requests where nobody meant.
    """

    setting: str | None = None
    """`FetchOptions.proxy`."""

    @cached_property
    def _named(self) -> dict[str, str]:
        """The proxies that the environment names, by scheme; "no" has the exceptions."""
        from urllib.request import getproxies_environment  # noqa: PLC0415 (20 ms)

        return getproxies_environment()

    @property
    def _uses_environment(self) -> bool:
        return self.setting == PROXIES_OF_ENVIRONMENT

    def check(self) -> None:
        """Raise ValueError if a variable that is used is not the URL of an HTTP proxy."""
        if not self._uses_environment:
            return
        for scheme in ("http", "https", _ALL_SCHEMES):
            value = self._named.get(scheme, "")
            if value and not is_proxy(_complete(value)):  # it may have a password in it
                raise ValueError(
                    f"{_name_variable(scheme)} in the environment must be the URL of an HTTP "
                    "proxy, such as 'http://proxy.example:3128'"
                )

    def find(self, url: URL) -> str | None:
        """Return the proxy for requests of a URL; `None` for no proxy."""
        if not self._uses_environment:
            return self.setting
        scheme = self._find_scheme(url)
        if not scheme:
            return None
        return _complete(self._named[scheme])

    def describe_unused(self, url: URL) -> str:
        """Return the advice about a proxy of the environment that is not used, or ""."""
        if self.setting:
            return ""
        scheme = self._find_scheme(url)
        if not scheme:
            return ""
        return f"{_name_variable(scheme)} is set and not used: {_ADVICE}"

    def _find_scheme(self, url: URL) -> str:
        """Return the key of the proxy that the environment names for a URL; "" if there is none."""
        from urllib import request  # noqa: PLC0415 (as above)

        host = f"{url.raw_host}:{url.port}"
        if url.raw_host is None or request.proxy_bypass_environment(  # type: ignore[attr-defined]  # not in typeshed
            host, self._named
        ):
            return ""
        for scheme in (url.scheme, _ALL_SCHEMES):
            if self._named.get(scheme):
                return scheme
        return ""


def _complete(value: str) -> str:
    """Return a proxy's URL; without a scheme it means http, as in curl."""
    if "://" in value:
        return value
    return f"http://{value}"


def _name_variable(scheme: str) -> str:
    """Return the name of the variable as it is written in the environment."""
    name = f"{scheme}_proxy"
    if os.environ.get(name):
        return name
    return name.upper()
