"""Headers: those of a request, those of an answer, validators and dates."""

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
"""The only coding that every installation reads; a caller cannot change it."""

VALIDATORS = frozenset({"if-none-match", "if-modified-since"})
"""The headers that name a stored version of a document. Not secret, and kept across origins: most
redirects lead from http to https, or to `www`."""
SAFE_CROSS_ORIGIN = VALIDATORS | {"user-agent", "accept", "accept-language", "accept-charset"}
"""The headers that may be sent to another origin; any other may be a secret."""

_ENTITY_TAG = re.compile(r'(?:W/)?"[^\x00-\x20"\x7f]*"')
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
    """Build the headers of a request.

    Args:
        options: the User-Agent, and headers of the caller.
        extra: headers of this request.
        present: names of headers that the session sends itself.
        same_origin: whether headers of the caller are meant for the origin of the request.
        authorization: the Authorization header, or "".
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


def find_user_agent(options: FetchOptions, own: Mapping[str, str]) -> str:
    """Return the User-Agent that is sent, with the client's `own` headers."""
    made = make_headers(options, {}, present=own, same_origin=True)
    return made.get("User-Agent") or own["User-Agent"]


def is_conditional(headers: Mapping[str, str]) -> bool:
    """Return whether a request may be answered with 304 (RFC 9110, section 13.1)."""
    return any(name.lower() in VALIDATORS for name in headers)


def read_etag(headers: Mapping[str, str]) -> str | None:
    """Return the ETag of an answer if it is an entity tag (RFC 9110, section 8.8.3)."""
    tag = headers.get("etag", "")
    return tag if _ENTITY_TAG.fullmatch(tag) else None


def select_validators(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the validators that name a version, and cannot match any other.

    `If-None-Match: *` matches every version (RFC 9110, section 13.1.2): the document would count as
    unchanged for ever.
    """
    tag, date = headers.get("If-None-Match", ""), headers.get("If-Modified-Since", "")
    kept = {"If-None-Match": tag} if _ENTITY_TAG.fullmatch(tag) else {}
    return kept | ({"If-Modified-Since": date} if parse_date(date) else {})


def is_current(requested: Mapping[str, str], current: Mapping[str, str]) -> bool:
    """Return whether a conditional request names the current version: 304 is right.

    RFC 9110, section 13.2.2, steps 3 and 4. `current` are the headers of the current version, by
    lower-case name.
    """
    requested = {name.lower(): value.strip() for name, value in requested.items()}
    tags = requested.get("if-none-match")
    if tags is not None:
        own = current.get("etag")
        return own is not None and (tags in ("*", own) or not _tags(tags).isdisjoint(_tags(own)))
    since = parse_date(requested.get("if-modified-since", ""))
    changed = parse_date(current.get("last-modified", ""))
    return since is not None and changed is not None and changed <= since


def _tags(text: str) -> set[str]:
    """Return the entity tags of a list without W/, for the weak comparison."""
    return set(_TAG.findall(text))


def parse_date(text: str) -> datetime | None:
    """Parse an HTTP date (RFC 9110, section 5.6.7), or return `None`."""
    if not 0 < len(text) <= _MAX_DATE_CHARS:
        return None
    try:
        moment = parsedate_to_datetime(text)
        # The form of asctime is in GMT, and parsed without a zone.
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Decode headers by lower-case name; join several of one name with a comma."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = _decode(name).lower(), _decode(value).strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:  # RFC 9110, section 5.5: then it is Latin-1
        return raw.decode("latin-1")
