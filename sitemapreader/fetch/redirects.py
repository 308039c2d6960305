"""The way from the URL that was opened to the one that answers: which redirects are followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError
from sitemapreader.fetch.request_url import RequestUrl, check_text, parse_request_url
from sitemapreader.issues import Issue, IssueCode, make_issue
from sitemapreader.urls import has_web_scheme, resolve

if TYPE_CHECKING:
    from sitemapreader.options import FetchOptions

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""RFC 9110, section 15.4: those that name one other place for the same thing."""
PERMANENT = frozenset({301, 308})
"""... and those of them that say that it stays there."""


class RedirectChain:
    """One document's way over redirects.

    Attributes:
        target: where it has led to.
        same_origin: whether it has never left the origin that it began at.
        is_permanent: whether each redirect so far says that it is there to stay.
        issues: what was mended on the way.
    """

    def __init__(self, start: RequestUrl, options: FetchOptions) -> None:
        self.start = start
        self.target = start
        self.same_origin = True
        self.is_permanent = True
        self.issues: list[Issue] = []
        self._options = options
        self._seen = {start.key}

    def follow(self, location: str, *, status: int = 301) -> None:
        """Go where the `Location` header of a redirect points.

        Raises:
            FetchError: INVALID_URL, REDIRECT_LOOP, TOO_MANY_REDIRECTS or DOWNGRADE.
        """
        came_from = self.target
        goes_to = self._read(location)
        if goes_to.key in self._seen:
            raise FetchError(IssueCode.REDIRECT_LOOP, str(came_from), f"to {goes_to}")
        if len(self._seen) > self._options.max_redirects:
            raise FetchError(IssueCode.TOO_MANY_REDIRECTS, str(came_from), f"to {goes_to}")
        secure = came_from.url.scheme == "https"
        if secure and goes_to.url.scheme == "http" and not self._options.allow_downgrade:
            raise FetchError(IssueCode.DOWNGRADE, str(came_from), f"to {goes_to}")
        if goes_to.userinfo:
            self.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(goes_to)))
        self._seen.add(goes_to.key)
        self.is_permanent = self.is_permanent and status in PERMANENT
        # Once left is left for good: a stranger in the middle has chosen where we come back to.
        self.same_origin = self.same_origin and goes_to.origin == self.start.origin
        self.target = goes_to

    def _read(self, location: str) -> RequestUrl:
        location = location.strip(" \t")
        try:
            check_text(location)  # before it is resolved, for that drops a tab in the middle
            if not has_web_scheme(location):
                location = resolve(str(self.target), location) or location
            return parse_request_url(location)
        except FetchError as error:
            said = f"redirect to {error.url}, {error.detail}"
            raise FetchError(error.code, str(self.target), said) from error
