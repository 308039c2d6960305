"""Command-line options as arguments of the library."""

from __future__ import annotations

import getpass
import os
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._api import open_changes
from sitemapreader._cli.parser import UsageError, usage_errors
from sitemapreader._types.arguments import Changes, Follow, Sample, Search
from sitemapreader._types.habits import suggest
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.patterns import is_chosen
from sitemapreader._walk.config import make_config
from sitemapreader.fetch.client import Trust
from sitemapreader.fetch.proxies import Proxies
from sitemapreader.output import FILE_FORMATS, FORMATS, SUFFIXES, open_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from sitemapreader._identity import Identity
    from sitemapreader._types.models import SitemapEntry
    from sitemapreader.changes import State
    from sitemapreader.output.counts import UrlCounts
    from sitemapreader.output.sink import Output

STANDARD_OUTPUT = "-"
_FORMATS = (*FORMATS, *FILE_FORMATS)
_CHECKED_SITE = "https://localhost/"
_SELECTION = (
    "since",
    "until",
    "undated",
    "include",
    "exclude",
    "language",
    "unique",
    "scope",
)
"""Options that choose entries, as arguments of `walk`."""
_MOST_PAGES = 1_000
"""Pages of a site that one run asks whether they are gone."""


def make_keywords(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return keyword arguments of `walk`, `options` and `limits` always among them.

    Absent options keep the library's defaults. Raises UsageError for contradictions.
    """
    given = {
        name: value for name, value in vars(arguments).items() if value is not None
    }
    _check_arguments(arguments, given)
    with usage_errors(ValueError):
        keywords: dict[str, Any] = {
            **_pick(given, _SELECTION),
            "search": Search(**_pick(given, attrs.fields_dict(Search))),
            "follow": _make_follow(given),
            "limits": Limits(**_pick(given, attrs.fields_dict(Limits))),
            "options": _make_options(given),
        }
        if "sample" in given:
            keywords["sample"] = Sample(given["sample"], given.get("seed", 0))
        checked = dict(keywords)
        if "state" in given:
            keywords["state"] = _make_state(given)
            checked["state"], checked["changes"] = open_changes(keywords["state"])
        make_config(_CHECKED_SITE, **checked, max_urls=given.get("limit"))
    return keywords


def _pick(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _make_state(given: dict[str, Any]) -> Path | Changes:
    """Return the state, or the changes since it."""
    if not given.get("changes"):
        return Path(given["state"])
    state: str | State = given["state"]
    if patience := _pick(given, ("confirm_after",)):
        from sitemapreader.changes import State  # noqa: PLC0415 (few runs have one)

        state = State(given["state"], **patience)
    return Changes(
        state,
        unlisted=given.get("unlisted", False),
        gone=_MOST_PAGES if given.get("gone") else 0,
        revisit=given.get("revisit"),
    )


def _make_follow(given: dict[str, Any]) -> Follow:
    choice = Follow(**_pick(given, ("hosts", "prune", "order")))
    wanted = given.get("wanted", ())
    unwanted = given.get("unwanted", ())
    if not wanted and not unwanted:
        return choice

    def follow(child: SitemapEntry) -> bool:
        return is_chosen(child.loc, wanted, unwanted)

    return attrs.evolve(choice, only=follow)


def _check_arguments(arguments: argparse.Namespace, given: dict[str, Any]) -> None:
    """Raise UsageError for options that contradict each other only in the shell."""
    if "state" in given:
        missing = "--changes"
    else:
        missing = "--changes and --state FILE"
    told = next((f"--{name}" for name in ("unlisted", "gone") if given.get(name)), "")
    needed = next(
        (f"--{each}" for each in ("unlisted", "gone", "revisit") if given.get(each)), ""
    )
    if "fields" in vars(arguments):
        form = find_output_format(arguments)
    else:
        form = ""
    is_piped = form in ("parquet", "json") and get_output_path(arguments) is None
    for is_wrong, message in (
        ("seed" in given and "sample" not in given, "--seed requires --sample N"),
        (
            "undated" in given and not {"since", "until"} & given.keys(),
            "--undated requires --since or --until",
        ),
        (
            given.get("prune") is False
            and "since" not in given
            and not given.get("changes"),
            "--no-prune requires --since WHEN or --changes",
        ),
        (
            "sample" in given and "count_by" in given,
            "--sample cannot be combined with --count-by",
        ),
        (
            "confirm_after" in given and given.get("changes") is False,
            "--confirm-after requires --changes and --state FILE",
        ),
        (
            given.get("changes") and "state" not in given,
            "--changes requires --state FILE",
        ),
        (
            needed and not given.get("changes"),
            f"{needed} requires --changes and --state FILE",
        ),
        (
            given.get("exit_code") and not given["changes"],
            f"--exit-code requires {missing}",
        ),
        (
            told and given["changes"] and form == "urls" and "fields" not in given,
            f"{told} requires a format with the field `change`, such as --format jsonl",
        ),
        (
            "state" in given and is_piped,
            f"--state with --format {form} requires -o FILE, because a file must be complete",
        ),
    ):
        if is_wrong:
            raise UsageError(message)


def _make_options(given: dict[str, Any]) -> FetchOptions:
    """Return the options of fetching; raise ValueError for a wrong value."""
    names = attrs.fields_dict(FetchOptions).keys() & given.keys()
    values: dict[str, Any] = {
        n: tuple(given[n]) if isinstance(given[n], list) else given[n] for n in names
    }
    # of one document: no other is longer than the total
    if seconds := given.get("timeout"):
        values |= {"total_seconds": seconds, "headers_seconds": seconds}
        for name in ("connect_seconds", "idle_seconds"):
            values[name] = min(seconds, getattr(FetchOptions(), name))
    Trust(values.get("allow_networks", ()))  # raises ValueError if one is not a network
    Proxies(values.get("proxy")).check()
    values["identity"] = _load_identity(given)
    headers = dict(given.get("header_lines", ()))
    if user := given.get("user"):
        headers |= _basic_auth_header(_ask_password(user))
    return FetchOptions(**values, headers=headers)


def _load_identity(given: dict[str, Any]) -> Identity | None:
    """Return the identity that signs requests; raise UsageError if only a part is given."""
    parts = {"sign_key", "sign_as"} & given.keys()
    if not parts:
        if "sign_form" in given:
            raise UsageError("--sign-form requires --sign-key FILE and --sign-as URL")
        return None
    if "sign_key" not in parts:
        raise UsageError("--sign-as requires --sign-key FILE")
    if "sign_as" not in parts:
        raise UsageError(
            "--sign-key requires --sign-as URL, such as https://crawler.example"
        )
    from sitemapreader._identity import Identity  # noqa: PLC0415 (few runs sign)

    with usage_errors(ModuleNotFoundError):
        return Identity(
            given["sign_key"], given["sign_as"], form=given.get("sign_form", "string")
        )


_LOGIN_VARIABLE = "SITEMAPREADER_PASSWORD"
"""Variable of the environment with the password of `--user`."""


def _ask_password(user: str) -> str:
    """Return `user:password`; take a missing password from the environment, or prompt for it."""
    name, colon, password = user.partition(":")
    known = os.environ.get(_LOGIN_VARIABLE, "")
    if known and not colon:
        return f"{name}:{known}"
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if password or (colon and not is_terminal):
        return user  # an empty password is normal where the user is an API key
    try:
        if is_terminal:
            return f"{name}:{getpass.getpass(f'Password for {name!r}: ')}"
    except EOFError:
        pass
    raise UsageError(
        "-u requires a password, because no terminal can ask for one: write USER:PASSWORD, or "
        f"set {_LOGIN_VARIABLE}"
    )


def _basic_auth_header(user: str) -> dict[str, str]:
    """Return the header of Basic authentication (RFC 7617)."""
    return {
        "Authorization": f"Basic {b64encode(user.encode('utf-8', 'surrogateescape')).decode()}"
    }


# -- outputs


def open_entries(
    arguments: argparse.Namespace, counts: UrlCounts | None = None
) -> Output:
    """Return the output for entries, or for their counts.

    Raises UsageError for options that contradict it.
    """
    form = find_output_format(arguments)
    header = arguments.header
    if counts is not None:
        if arguments.fields is not None:
            raise UsageError("--count-by cannot be combined with --fields")
        if form == "atom":
            raise UsageError(
                "--count-by cannot be combined with atom: write csv, tsv, jsonl or parquet"
            )
        if form == "urls":
            form = "tsv"
            header = False
    elif form == "atom" and not arguments.changes:
        raise UsageError("--format atom requires urls with --changes and --state FILE")
    if form == "parquet":  # pyarrow's own allocator keeps 20 MB more
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with usage_errors(ValueError, ModuleNotFoundError):
        return open_output(
            get_output_path(arguments),
            form,
            fields=arguments.fields,
            null_terminated=arguments.null,
            header=header,
            columns=None if counts is None else counts.columns,
            has_sites=is_for_many(arguments),
        )


def is_for_many(arguments: argparse.Namespace) -> bool:
    """Return whether there may be several sources."""
    return arguments.input_file is not None or len(arguments.sources) > 1


def get_output_path(arguments: argparse.Namespace) -> str | None:
    """Return the path of the output file; `None` for standard output."""
    path: str | None = arguments.output
    return None if path == STANDARD_OUTPUT else path


def find_output_format(
    arguments: argparse.Namespace, formats: Sequence[str] = _FORMATS
) -> str:
    """Return the format of `--format` or of the file's suffix, else the first one.

    Raises UsageError for any other suffix; .txt may have any format.
    """
    chosen: str | None = arguments.format
    name = (arguments.output or "").lower()
    if "csv" in formats:  # tables and lines of entries may be compressed; trees are not
        name = name.removesuffix(".gz")
    suffix = Path(name).suffix.removeprefix(".")
    form = SUFFIXES.get(f".{suffix}", suffix)
    is_known = form in {*formats, *_FORMATS}
    if chosen and is_known and suffix != "txt" and form != chosen:
        option = "--json" if chosen == "json" else f"--format {chosen}"
        raise UsageError(
            f"{option} cannot be combined with {arguments.output}, whose suffix means "
            f"{form}: leave that option out, or end the name with .{chosen}"
        )
    if chosen:
        return chosen
    if form in formats or suffix in ("", "txt"):
        return form if form in formats else formats[0]
    if suffix in {*_FORMATS, "ndjson"}:
        hint = ""
    else:
        hint = suggest(suffix, formats[1:])
    fit = [each for each in formats[1:] if each != "atom" or arguments.changes]
    raise UsageError(
        f"-o: .{suffix} cannot be written:{f'{hint} Or' * bool(hint)} end the name with "
        f".{', .'.join(fit)} or .txt, or choose a format with --format"
    )
