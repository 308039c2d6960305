"""`sitemapreader identity`: the key of signed requests, and its directory."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader._cli.console import Console
from sitemapreader._cli.parser import UsageError, usage_errors
from sitemapreader._cli.process import print_text
from sitemapreader._identity import (
    DIRECTORY_TYPE,
    Identity,
    SignatureParameters,
    make_key_file,
)
from sitemapreader._types.counts import count_units

if TYPE_CHECKING:
    import argparse

_EXAMPLE = "https://crawler.example"
_DAY_SECONDS = 86_400


def run_identity(arguments: argparse.Namespace) -> int:
    """Make the key if it is missing, print its directory, and return the exit code."""
    path = Path(arguments.key_file)
    console = Console()
    if arguments.headers and not arguments.sign_as:
        raise UsageError(
            "--headers requires --sign-as URL, because the signatures name its host"
        )
    if _make_key(path):
        console.print_line(f"made the key {path}: keep it secret, and keep a copy")
    with usage_errors(ValueError):
        identity = Identity(str(path), arguments.sign_as or _EXAMPLE)
    console.print_line(f"keyid: {identity.keyid}")
    if arguments.sign_as:
        place = identity.directory_url
    else:
        place = "the URL that --sign-as will name"
    console.print_line(f"serve standard output at {place} as {DIRECTORY_TYPE}")
    console.print_line(
        "register the key with Cloudflare or AWS, because sites ignore unknown keys"
    )
    if arguments.headers:
        _print_headers(identity, arguments.headers, console)
    return print_text(f"{identity.directory().decode()}\n")


def _make_key(path: Path) -> bool:
    """Make the key file unless it exists; return whether it was made."""
    try:
        make_key_file(path)
    except FileExistsError:
        return False
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise UsageError(f"{path} cannot be written: {reason}") from None
    return True


def _print_headers(
    identity: Identity,
    days: int,
    console: Console,
) -> None:
    """Print the headers that make the directory verifiable for this many days."""
    created = int(time.time())
    parameters = SignatureParameters(created, created + days * _DAY_SECONDS)
    console.print_line(
        f"headers for the next {count_units(days, 'days')}; print new ones before they expire:"
    )
    for name, value in identity.sign_directory(parameters).items():
        print(f"{name}: {value}", file=sys.stderr)  # noqa: T201 (to be copied, so without a prefix)
