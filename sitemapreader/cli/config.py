"""Command-line options as arguments of the library."""

from __future__ import annotations

import getpass
import os
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader.cli.output import find_output_format, get_output_path
from sitemapreader.cli.parser import UsageError
from sitemapreader.discovery.context import UrlAllowance
from sitemapreader.fetch.addresses import AddressPolicy
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.walker.config import SharedArguments, make_config

if TYPE_CHECKING:
    import argparse

    from sitemapreader.models import SitemapEntry

_OF_SEVERAL = frozenset({"unique", "state", "changes", "unlisted", "gone", "revisit"})
"""Options whose arguments depend on others."""
_PROXIES = ("HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY", "all_proxy")
"""Environment variables from which curl takes a proxy."""


@attrs.frozen
class RunConfig:
    """Arguments for walks; absent options keep the library's defaults."""

    walk: dict[str, Any]
    """Keyword arguments of `walk`."""
    options: FetchOptions
    limits: Limits

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the arguments from the options; raise UsageError for contradictions."""
        given = {name: value for name, value in vars(arguments).items() if value is not None}
        names = SharedArguments.__annotations__.keys() - _OF_SEVERAL
        walk = {name: given[name] for name in names & given.keys()}
        limits = {name: given[name] for name in attrs.fields_dict(Limits).keys() & given.keys()}
        try:
            _check_rivals(given)
            make_config("https://localhost/", **walk)
            return cls(
                walk | _make_follow(given) | _check_state_options(arguments),
                _make_options(given),
                Limits(**limits),
            )
        except ValueError as error:
            raise UsageError(str(error)) from None

    def with_login(self, user: str | None, password: str | None) -> FetchOptions:
        """Return the options for a source whose URL contains a user and a password."""
        headers = self.options.headers | _basic_auth_header(f"{user or ''}:{password or ''}")
        return attrs.evolve(self.options, headers=headers)


def find_unused_proxy(arguments: argparse.Namespace) -> str:
    """Return the environment variable of an unused proxy, or "" if there is none."""
    if getattr(arguments, "proxy", None):
        return ""
    return next((name for name in _PROXIES if os.environ.get(name)), "")


def _make_follow(given: dict[str, Any]) -> dict[str, Any]:
    wanted, unwanted = given.get("wanted", ()), given.get("unwanted", ())
    if not wanted and not unwanted:
        return {}

    def follow(child: SitemapEntry) -> bool:
        is_wanted = not wanted or any(pattern.search(child.loc) for pattern in wanted)
        return is_wanted and not any(pattern.search(child.loc) for pattern in unwanted)

    return {"follow": follow}


_RIVALS = {
    "sample": ("draws from all URLs", ("state", "limit", "count_by")),
    "expand": ("adds URLs that no state can follow", ("state",)),
}
"""Argument -> what it does, and those that cannot be given with it."""


def _check_rivals(given: dict[str, Any]) -> None:
    """Raise UsageError for options that contradict each other."""
    if "seed" in given and "sample" not in given:
        raise UsageError("--seed chooses another sample: add --sample N")
    for name, (what, rivals) in _RIVALS.items():
        if name in given and (wrong := [each for each in rivals if each in given]):
            raise UsageError(f"--{name} {what}: leave out --{wrong[0].replace('_', '-')}")


_MOST_PAGES = 1_000
"""Pages of a site that one run asks whether they are gone."""


def _check_told(arguments: argparse.Namespace, *, changes: bool) -> None:
    """Raise UsageError where URLs that are unlisted or gone cannot be printed."""
    for name in ("unlisted", "gone"):
        if not getattr(arguments, name, False):
            continue
        if not changes:
            raise UsageError(f"--{name} works only with --changes: add --changes and --state FILE")
        if find_output_format(arguments) == "urls" and not arguments.fields:
            raise UsageError(
                f"--{name} needs a format that has the field `change`, such as --format jsonl; "
                f"or print these URLs alone with `sitemapreader state FILE --{name}`"
            )


def _check_state_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that go with a state; raise UsageError for contradictions."""
    state, changes, revisit = (
        getattr(arguments, name, None) for name in ("state", "changes", "revisit")
    )
    if changes and not state:
        raise UsageError("--changes compares with a state: add --state FILE")
    if getattr(arguments, "exit_code", False) and not changes:
        raise UsageError("--exit-code tells of changes: add --changes and --state FILE")
    if revisit and not changes:
        raise UsageError("--revisit asks again what a state knows: add --changes and --state FILE")
    _check_told(arguments, changes=bool(changes))
    if not state:
        return {}
    if find_output_format(arguments) == "parquet" and get_output_path(arguments) is None:
        raise UsageError(
            "--state with --format parquet needs -o FILE: what an interrupted run has written to "
            "a pipe cannot be read, and a later run does not print its URLs again"
        )
    given = {
        "state": state,
        "changes": bool(changes),
        "unlisted": bool(getattr(arguments, "unlisted", False)),
        "gone": _MOST_PAGES if getattr(arguments, "gone", False) else 0,
        "revisit": revisit,
        "unique": arguments.unique,
    }
    if arguments.limit:  # of all sources together; what is delivered counts as printed
        given["max_urls"] = UrlAllowance(arguments.limit)
    return given


def _make_options(given: dict[str, Any]) -> FetchOptions:
    names = attrs.fields_dict(FetchOptions).keys() & given.keys()
    values: dict[str, Any] = {
        n: tuple(given[n]) if isinstance(given[n], list) else given[n] for n in names
    }
    if seconds := given.get("timeout"):
        values |= _make_timeouts(seconds)
    AddressPolicy(values.get("allow_networks", ()))  # raises ValueError if one is not a network
    headers = dict(given.get("header_lines", ()))
    if user := given.get("user"):
        headers |= _basic_auth_header(_ask_password(user))
    return FetchOptions(**values, headers=headers)


def _make_timeouts(seconds: float) -> dict[str, float]:
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
