"""The ways to walk a URL that may be a sitemap or a site.

Only the content of the URL can tell. The command line and the tables use this rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from sitemapreader.errors import LOGIN_STATUSES
from sitemapreader.issues import IssueCode
from sitemapreader.models import Via
from sitemapreader.outcomes import Status

if TYPE_CHECKING:
    from sitemapreader.report import Report

_SITEMAP_SUFFIXES = (".xml", ".gz", ".txt", ".rss", ".atom")
"""Suffixes of sitemaps. Such a URL that is missing is the caller's mistake, not a site."""


@attrs.frozen
class Attempt:
    """The first arguments of one `walk`.

    Attributes:
        site: URL of a site to search, if it is one.
        sitemaps: the URL of a sitemap, if it is one.
    """

    site: str | None = None
    sitemaps: tuple[str, ...] = ()


def list_attempts(url: str) -> tuple[Attempt, ...]:
    """Return what to walk for a URL, each only if `needs_search` after the one before.

    A URL without a path is a site, and so is that of a robots.txt.
    """
    parts = urlsplit(url)
    if parts.path == "/robots.txt":
        return (Attempt(site=f"{parts.scheme}://{parts.netloc}/"),)
    if not parts.path.strip("/") and not parts.query:
        return (Attempt(site=url),)
    return (Attempt(sitemaps=(url,)), Attempt(site=url))


def needs_search(report: Report) -> bool:
    """Return whether the URL that a walk was given is a site to search, not a sitemap.

    Then it is an HTML page, or the server has no document there, as for a folder without an index
    page (404, 403).
    """
    first = next((each for each in report.documents if each.via is Via.GIVEN), None)
    if first is None or first.status is not Status.FAILED:
        return False
    if first.reason == IssueCode.HTML_NOT_SITEMAP:
        return True
    names_sitemap = urlsplit(first.url).path.lower().endswith(_SITEMAP_SUFFIXES)
    # A site that demands a login is not searched: the password would be sent again.
    is_refused = first.http_status is None or first.http_status in LOGIN_STATUSES
    return first.reason == IssueCode.HTTP_STATUS and not is_refused and not names_sitemap
