"""The source of an audit: a site, sitemap, folder or file."""

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

if TYPE_CHECKING:
    from sitemapreader.fetch import Fetcher

_START_BYTES = 65_536


@attrs.frozen
class AuditSource:
    """What is audited.

    Attributes:
        name: as the caller named it, without a password.
        site: the URL of a site, which may be a sitemap itself.
        sitemap: the URL of a sitemap, if it is known to be one.
        is_page: whether the URL of the site is not that of a sitemap.
        fetcher: reads a folder; `None` for the network.
    """

    name: str
    site: str | None = None
    sitemap: str | None = None
    is_page: bool = False
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
        name = without_userinfo(text)
        if is_sitemap:
            return AuditSource(name, sitemap=text)
        return AuditSource(name, text, is_page=is_sitemap is False)
    path = Path(source)
    if path.is_dir():
        folder = FolderFetcher(path, base_url)
        return AuditSource(text, folder.base_url, is_page=True, fetcher=folder)
    if path.is_file():
        folder = FolderFetcher(path.parent, base_url or _find_base_url(path))
        url = folder.base_url + quote(path.name)
        return AuditSource(text, sitemap=url, fetcher=folder)
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
