"""Which headers a request has, and the headers of an answer as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multidict import CIMultiDict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sitemapreader.options import FetchOptions

ACCEPT = "application/xml,text/xml;q=0.9,*/*;q=0.5"
ACCEPT_ENCODING = "gzip"
"""The one coding that readers take. Not for a caller to change: what else comes is not read."""

VALIDATORS = frozenset({"if-none-match", "if-modified-since"})
"""They name a version of a document that we have. No secrets, and useless where they are dropped:
most redirects lead from http to https, or to `www`."""
STAY = VALIDATORS | {"user-agent", "accept", "accept-language", "accept-charset"}
"""The headers that may cross into another origin; all else may be a secret of the first."""


def make_headers(
    options: FetchOptions,
    extra: Mapping[str, str],
    *,
    present: Collection[str] = (),
    at_home: bool,
    authorization: str = "",
) -> CIMultiDict[str]:
    """Put a request's headers together.

    `present` are the names that the session sends anyhow; `at_home` says whether the caller's
    headers are meant for this origin.
    """
    made = CIMultiDict({"User-Agent": options.user_agent, "Accept": ACCEPT})
    for name in present:
        made.popall(name, None)
    if authorization and at_home:
        made["Authorization"] = authorization
    for name, value in (*options.headers.items(), *extra.items()):
        if at_home or name.lower() in STAY:
            made[name] = value
    made["Accept-Encoding"] = ACCEPT_ENCODING
    return made


def is_conditional(headers: Mapping[str, str]) -> bool:
    """Tell whether a request may be answered by 304 (RFC 9110, section 13.1)."""
    return any(name.lower() in VALIDATORS for name in headers)


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Decode an answer's headers: by lower-case name, several of one name joined by a comma.

    What is not UTF-8 is read as Latin-1 (RFC 9110, section 5.5), so that no half characters get
    any further.
    """
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = _decode(name).lower(), _decode(value).strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
