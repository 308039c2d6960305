"""Which headers a request has, and the headers of an answer as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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
SAFE_CROSS_ORIGIN = VALIDATORS | {"user-agent", "accept", "accept-language", "accept-charset"}
"""The headers that may cross into another origin; all else may be a secret of the first."""

_TAG = re.compile(r'(?:W/)?("[^"]*")')
_MAX_DATE_CHARS = 64


def make_headers(
    options: FetchOptions,
    extra: Mapping[str, str],
    *,
    present: Collection[str] = (),
    same_origin: bool,
    authorization: str = "",
) -> CIMultiDict[str]:
    """Put a request's headers together.

    `present` are the names that the session sends anyhow; `same_origin` says whether the caller's
    headers are meant for this origin.
    """
    made = CIMultiDict({"User-Agent": options.user_agent, "Accept": ACCEPT})
    for name in present:
        made.popall(name, None)
    if authorization and same_origin:
        made["Authorization"] = authorization
    for name, value in (*options.headers.items(), *extra.items()):
        if same_origin or name.lower() in SAFE_CROSS_ORIGIN:
            made[name] = value
    made["Accept-Encoding"] = ACCEPT_ENCODING
    return made


def is_conditional(headers: Mapping[str, str]) -> bool:
    """Tell whether a request may be answered by 304 (RFC 9110, section 13.1)."""
    return any(name.lower() in VALIDATORS for name in headers)


def is_current(asked: Mapping[str, str], told: Mapping[str, str]) -> bool:
    """Tell whether the version that a request names is the one that would be sent.

    RFC 9110, section 13.2.2, steps 3 and 4. `told` are the headers of what would be sent, by
    lower-case name.
    """
    asked = {name.lower(): value.strip() for name, value in asked.items()}
    tags = asked.get("if-none-match")
    if tags is not None:
        own = told.get("etag")
        return own is not None and (tags in ("*", own) or not _tags(tags).isdisjoint(_tags(own)))
    since = parse_date(asked.get("if-modified-since", ""))
    changed = parse_date(told.get("last-modified", ""))
    return since is not None and changed is not None and changed <= since


def _tags(text: str) -> set[str]:
    """Return the entity tags of a list, for the weak comparison (section 8.8.3.2)."""
    return set(_TAG.findall(text))


def parse_date(text: str) -> datetime | None:
    """Read a date of HTTP in any of its three forms (RFC 9110, section 5.6.7), or `None`."""
    if not 0 < len(text) <= _MAX_DATE_CHARS:
        return None
    try:
        moment = parsedate_to_datetime(text)
        # asctime's form, which is in GMT, comes without a zone
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


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
