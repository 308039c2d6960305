"""Command-line options as arguments of the library."""

from __future__ import annotations

import getpass
import os
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader.cli.parser import UsageError
from sitemapreader.cli.writer import find_output_format, get_output_path
from sitemapreader.discovery.context import UrlAllowance
from sitemapreader.fetch.addresses import AddressPolicy
from sitemapreader.options import FetchOptions, Limits

if TYPE_CHECKING:
    import argparse
    import re

    from sitemapreader.models import SitemapEntry

_SEARCH = ("probe", "feeds", "extra_formats")
_WALK = ("since", "until", "undated", "include", "exclude", "order", "hosts", "state", *_SEARCH)
_LIMITS = ("depth", "walk_seconds")
_FETCH = ("concurrency", "delay_seconds", "proxy", "user_agent")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY", "all_proxy")
"""Environment variables from which curl takes a proxy."""
_TUPLES = ("allow_networks", "allow_ports")


@attrs.frozen
class RunConfig:
    """Arguments for walks and discoveries; absent options keep the library's defaults.

    Attributes:
        walk: keyword arguments of `walk`.
        search: keyword arguments of `discover`, a subset of `walk`.
        options: options of fetching.
        limits: limits of reading.
    """

    walk: dict[str, Any]
    search: dict[str, Any]
    options: FetchOptions
    limits: Limits

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the arguments from the options; raise UsageError for contradictions."""
        robots = {"respect_robots": not getattr(arguments, "no_robots", False)}
        try:
            return cls(
                walk=_pick(arguments, _WALK)
                | robots
                | _make_follow(arguments)
                | _check_state_options(arguments),
                search=_pick(arguments, _SEARCH) | robots,
                options=_make_options(arguments),
                limits=Limits(**_pick(arguments, _LIMITS)),
            )
        except ValueError as error:
            raise UsageError(str(error)) from None

    def with_login(self, user: str | None, password: str | None) -> FetchOptions:
        """Return the options for a source whose URL contains a user and a password."""
        if not user and not password:
            return self.options
        headers = self.options.headers | _basic_auth_header(f"{user or ''}:{password or ''}")
        return attrs.evolve(self.options, headers=headers)


def find_unused_proxy(arguments: argparse.Namespace) -> str:
    """Return the environment variable of an unused proxy, or "" if there is none."""
    if getattr(arguments, "proxy", None):
        return ""
    return next((name for name in _PROXIES if os.environ.get(name)), "")


def _pick(arguments: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    values = ((name, getattr(arguments, name, None)) for name in names)
    return {name: value for name, value in values if value is not None}


def _make_follow(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the argument `follow`, if `--follow` or `--no-follow` was given."""
    wanted: list[re.Pattern[str]] = getattr(arguments, "follow", None) or []
    unwanted: list[re.Pattern[str]] = getattr(arguments, "no_follow", None) or []
    if not wanted and not unwanted:
        return {}

    def follow(child: SitemapEntry) -> bool:
        is_wanted = not wanted or any(pattern.search(child.loc) for pattern in wanted)
        return is_wanted and not any(pattern.search(child.loc) for pattern in unwanted)

    return {"follow": follow}


def _check_state_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that go with a state; raise UsageError for contradictions."""
    state, changes, removed = (
        getattr(arguments, name, None) for name in ("state", "changes", "removed")
    )
    if changes and not state:
        raise UsageError("--changes compares with a state: add --state FILE")
    if removed and not changes:
        raise UsageError("--removed works only with --changes: add --changes and --state FILE")
    if removed and find_output_format(arguments) == "urls" and not arguments.fields:
        raise UsageError(
            "--removed needs a format that has the field `change`, such as --format jsonl; "
            "or print removed URLs alone with `sitemapreader state FILE --removed`"
        )
    if not state:
        return {}
    if find_output_format(arguments) == "parquet" and get_output_path(arguments) is None:
        raise UsageError(
            "--state with --format parquet needs -o FILE: what an interrupted run has written to "
            "a pipe cannot be read, and a later run does not print its URLs again"
        )
    given = {"changes": bool(changes), "removed": bool(removed), "unique": arguments.unique}
    if limit := getattr(arguments, "limit", None):  # of all sources together
        given["max_urls"] = UrlAllowance(limit)
    return given


def _make_options(arguments: argparse.Namespace) -> FetchOptions:
    given = _pick(arguments, _FETCH)
    if seconds := getattr(arguments, "timeout", None):
        given |= _timeouts(seconds)
    for name in _TUPLES:
        if values := getattr(arguments, name, None):
            given[name] = tuple(values)
    AddressPolicy(given.get("allow_networks", ()))  # raises ValueError if one is not a network
    headers = dict(getattr(arguments, "headers", None) or ())
    if user := getattr(arguments, "user", None):
        headers |= _basic_auth_header(_ask_password(user))
    return FetchOptions(**given, headers=headers)


def _timeouts(seconds: float) -> dict[str, float]:
    """Return the timeouts of one document: none of them is longer than the total."""
    defaults = FetchOptions()
    return {
        "total_seconds": seconds,
        "headers_seconds": seconds,
        "connect_seconds": min(seconds, defaults.connect_seconds),
        "idle_seconds": min(seconds, defaults.idle_seconds),
    }


def _ask_password(user: str) -> str:
    """Return `user:password`; prompt for a missing password if there is a terminal."""
    name, colon, password = user.partition(":")
    if password:
        return user
    if sys.stdin.isatty():
        try:
            return f"{name}:{getpass.getpass(f'Password for {name!r}: ')}"
        except EOFError:
            raise UsageError(
                "-u: no password was entered: write USER:PASSWORD, or enter one"
            ) from None
    if colon:
        return user  # an empty password is normal where the user is an API key
    raise UsageError("-u: there is no terminal to enter the password on: write USER:PASSWORD")


def _basic_auth_header(user: str) -> dict[str, str]:
    """Return the header of Basic authentication (RFC 7617)."""
    return {"Authorization": f"Basic {b64encode(user.encode('utf-8', 'surrogateescape')).decode()}"}
