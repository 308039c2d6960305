"""Faults of pages: the first thing that is wrong with the response of a page.

`why` and an audit both judge a page by these functions, an audit from its tables.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from sitemapreader._types.urls import host_of
from sitemapreader.pages.soft_404 import find_folder
from sitemapreader.pages.visit import NotJudged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapreader.pages.visit import PageVisit

MAX_REFRESH_SECONDS = 5
"""Seconds within which a refresh counts as a redirect."""
_LOGIN_PATH = re.compile(
    r"/(?:log-?in|sign-?in|sso|auth|oauth2?)(?:[/.]|$)", re.IGNORECASE
)


class PageFault(StrEnum):
    """Faults of a response, by the rules of an audit about them."""

    NOT_FOUND = "page-not-found"
    GONE = "page-gone"
    ERROR = "page-error"
    LOGIN = "page-login"
    FORBIDDEN = "page-forbidden"
    SOFT_404 = "page-soft-404"
    REDIRECTS = "page-redirects"
    EMPTY = "page-empty"


def find_fault(
    status: int,
    *,
    has_failed: bool,
    leads_to_login: bool,
    is_soft_404: bool,
    leads_on: bool,
    is_empty: bool,
) -> PageFault | None:
    """Return the first fault of a response that is evidence about its page.

    Args:
        status: of the last response, 0 if there is none.
        has_failed: if there is no response, because of an error.
        leads_to_login: by its redirects.
        is_soft_404: as `find_soft_errors` says.
        leads_on: to another URL, by redirects or by a refresh within `MAX_REFRESH_SECONDS`.
        is_empty: as `find_empty_pages` says.
    """
    faults = {
        PageFault.NOT_FOUND: status == 404,
        PageFault.GONE: status == 410,
        PageFault.ERROR: has_failed or status // 100 in (3, 5),
        PageFault.LOGIN: status in (401, 407) or leads_to_login,
        PageFault.FORBIDDEN: status >= 400,
        PageFault.SOFT_404: is_soft_404,
        PageFault.REDIRECTS: leads_on,
        PageFault.EMPTY: is_empty,
    }
    return next((fault for fault, is_there in faults.items() if is_there), None)


def judge_visit(
    visit: PageVisit,
    *,
    is_soft_404: bool,
    is_empty: bool,
) -> PageFault | None:
    """Return the first fault of a visit, as `find_fault` does; `None` if it is not judged."""
    if visit.not_judged is not None:
        return None
    leads_on = visit.is_redirected
    if visit.facts is not None and visit.facts.refresh is not None:
        leads_on |= visit.facts.refresh[0] <= MAX_REFRESH_SECONDS
    return find_fault(
        visit.status or 0,
        has_failed=visit.error != "",
        leads_to_login=is_led_to_login(visit.url, visit.final_url),
        is_soft_404=is_soft_404,
        leads_on=leads_on,
        is_empty=is_empty,
    )


def explain_target(
    status: int,
    error: str,
    leads_to_login: bool,
    is_error_page: bool,
    is_empty: bool,
    final_url: str,
    refresh_url: str,
    is_hidden: bool,
    canonical: str,
) -> str:
    """Return why other pages should not name a page, as canonical or as a version, or "".

    It is called from SQL, which passes no names.

    Args:
        status: of the last response, 0 if there is none.
        error: why there is no response, or "".
        leads_to_login: by its redirects.
        is_error_page: as `find_soft_errors` says.
        is_empty: as `find_empty_pages` says.
        final_url: the page that it redirects to, or "".
        refresh_url: the page of a refresh within `MAX_REFRESH_SECONDS`, or "".
        is_hidden: if it forbids indexing.
        canonical: the other page that it names as canonical, or "".
    """
    code = error.partition(":")[0]
    reasons = {
        "requires a login": status in (401, 407) or leads_to_login,
        f"returns {status}": status >= 400,
        f"is not reached ({code})": error,
        "is an error page": is_error_page,
        "is empty": is_empty,
        f"redirects to {final_url}": final_url,
        f"refreshes to {refresh_url}": refresh_url,
        "forbids indexing": is_hidden,
        f"names {canonical} as canonical": canonical,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def is_led_to_login(url: str, final_url: str) -> bool:
    """Return whether redirects end at a path for a login, and do not begin at one."""
    return _has_login(final_url) and not _has_login(url)


def _has_login(url: str) -> bool:
    try:
        return _LOGIN_PATH.search(urlsplit(url).path) is not None
    except ValueError:
        return False


def is_page_empty(
    shows: str,
    site_shells: int,
    site_pages: int,
    folder_shells: int,
    folder_pages: int,
) -> bool:
    """Return whether a page shows nothing, and no browser builds it.

    A page that has scripts in place of a text is a shell. Where most pages of the site, or several
    and most of its folder, are shells, a browser builds them.
    """
    is_built = 2 * site_shells > site_pages or (
        folder_shells > 1 and 2 * folder_shells > folder_pages
    )
    return shows == "nothing" or (shows == "scripts" and not is_built)


def find_responding_hosts(visits: Iterable[PageVisit]) -> frozenset[str]:
    """Return the hosts that have responded to any of some visits."""
    responding = set()
    for visit in visits:
        if visit.redirects:
            responding.add(host_of(visit.url))
        if visit.status is not None:
            responding.add(host_of(visit.final_url))
    return frozenset(responding)


def leave_out_silent(visit: PageVisit, responding: frozenset[str]) -> PageVisit:
    """Return a visit that says nothing about its page if its host responds to none."""
    is_silent = visit.error != "" and host_of(visit.final_url) not in responding
    if is_silent and visit.not_judged is None:
        return attrs.evolve(visit, not_judged=NotJudged.NETWORK)
    return visit


def find_empty_pages(pages: Sequence[PageVisit]) -> frozenset[str]:
    """Return the URLs of the pages that show nothing, by all visits that are known of a site."""
    shown = {
        page.url: page.facts.shows
        for page in pages
        if page.not_judged is None and page.facts is not None and page.status == 200
    }
    totals = Counter(map(find_folder, shown))
    shells = Counter(find_folder(url) for url in shown if shown[url] == "scripts")
    return frozenset(
        url
        for url, shows in shown.items()
        if is_page_empty(
            shows,
            shells.total(),
            totals.total(),
            shells[find_folder(url)],
            totals[find_folder(url)],
        )
    )
