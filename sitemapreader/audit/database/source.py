"""The source of an audit - site, sitemap, folder or file - as walks to try."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import attrs

from sitemapreader.audit.models import AuditInputError
from sitemapreader.fetch.folder import FALLBACK_BASE_URL, FolderFetcher
from sitemapreader.issues import without_userinfo
from sitemapreader.readers.reader import SitemapReader
from sitemapreader.urls import has_web_scheme, origin_of, parse_url
from sitemapreader.walker.attempts import Attempt, list_attempts

if TYPE_CHECKING:
    from sitemapreader.fetch import Fetcher

_START_BYTES = 65_536


@attrs.frozen
class AuditSource:
    """What is audited.

    Attributes:
        name: as the caller named it, without a password.
        attempts: walks to try, one after the other.
        fetcher: reads a folder; `None` for the network.
    """

    name: str
    attempts: tuple[Attempt, ...]
    fetcher: Fetcher | None = None


def find_source(
    source: str | Path, base_url: str | None = None, *, is_sitemap: bool | None = None
) -> AuditSource:
    """Return how to read a source.

    Args:
        source: URL of a site, of a sitemap, or path of a folder or file.
        base_url: URL at which a folder or file would be served.
        is_sitemap: whether a URL is that of a sitemap (True) or of a site (False), where it is
            known.

    Raises:
        AuditInputError: it is none of these.
    """
    text = str(source)
    if isinstance(source, str) and has_web_scheme(text):
        if parse_url(text) is None:
            raise AuditInputError(f"{without_userinfo(text)!r} is not a URL that can be requested")
        attempts = list_attempts(text)
        if is_sitemap is not None:
            attempts = (Attempt(sitemaps=(text,)),) if is_sitemap else attempts[-1:]
        return AuditSource(without_userinfo(text), attempts)
    path = Path(source)
    if path.is_dir():
        folder = FolderFetcher(path, base_url)
        return AuditSource(text, (Attempt(site=folder.base_url),), folder)
    if path.is_file():
        folder = FolderFetcher(path.parent, base_url or _find_base_url(path))
        url = folder.base_url + quote(path.name)
        return AuditSource(text, (Attempt(sitemaps=(url,)),), folder)
    raise AuditInputError(
        f"{without_userinfo(text)!r} is neither an http(s) URL nor a file or folder that exists"
    )


def _find_base_url(path: Path) -> str:
    """Return the origin of the first URL in a sitemap."""
    reader = SitemapReader(FALLBACK_BASE_URL)
    try:
        with path.open("rb") as file:
            events = reader.feed(file.read(_START_BYTES))
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    events += reader.close()
    locs = (event.loc for event in events if not hasattr(event, "code"))
    first = next(locs, "")
    return (origin_of(first) or FALLBACK_BASE_URL.rstrip("/")) + "/"
