"""RedirectChain: which redirects are followed or refused, and what they change."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.errors import FetchError
from sitemapreader.fetch.request_url import RequestUrl, check_text, parse_request_url
from sitemapreader.issues import Issue, IssueCode, make_issue
from sitemapreader.urls import has_web_scheme, resolve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sitemapreader.options import FetchOptions

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that name one other URL for the same document (RFC 9110, section 15.4)."""
PERMANENT = frozenset({301, 308})
"""The statuses of redirects that will not change."""

CheckRedirect: TypeAlias = "Callable[[str], Awaitable[None]]"
"""Raises FetchError if a redirect must not be followed to a URL."""
CHECK_REDIRECT: ContextVar[CheckRedirect | None] = ContextVar("check_redirect", default=None)
"""The check of the walk that a task fetches for."""


class RedirectChain:
    """The redirects of one document.

    Attributes:
        start: the URL that was opened.
        target: the URL that is requested next.
        same_origin: whether all URLs so far have the origin of the first one.
        is_permanent: whether all redirects so far are permanent.
        issues: repairs of URLs on the way.
    """

    def __init__(
        self, start: RequestUrl, options: FetchOptions, check: CheckRedirect | None = None
    ) -> None:
        self.start = start
        self.target = start
        self.same_origin = True
        self.is_permanent = True
        self.issues: list[Issue] = []
        self._options = options
        self._check = check or CHECK_REDIRECT.get()
        self._seen = {start.key}

    def follow(self, location: str, *, status: int = 301) -> None:
        """Make the `Location` of a redirect the target.

        Raises:
            FetchError: INVALID_URL, REDIRECT_LOOP, TOO_MANY_REDIRECTS or DOWNGRADE.
        """
        source = self.target
        target = self._read(location)
        if target.key in self._seen:
            raise FetchError(IssueCode.REDIRECT_LOOP, str(source), f"to {target}")
        if len(self._seen) > self._options.max_redirects:
            raise FetchError(IssueCode.TOO_MANY_REDIRECTS, str(source), f"to {target}")
        secure = source.url.scheme == "https"
        if secure and target.url.scheme == "http" and not self._options.allow_downgrade:
            raise FetchError(IssueCode.DOWNGRADE, str(source), f"to {target}")
        if target.userinfo:
            self.issues.append(make_issue(IssueCode.USERINFO_REMOVED, url=str(target)))
        self._seen.add(target.key)
        self.is_permanent = self.is_permanent and status in PERMANENT
        # Never true again: another origin has chosen the URL, even one of the first origin.
        self.same_origin = self.same_origin and target.origin == self.start.origin
        self.target = target

    async def follow_if_allowed(self, location: str, *, status: int = 301) -> None:
        """Follow a redirect; raise FetchError if its target must not be requested."""
        self.follow(location, status=status)
        if self._check is not None:
            await self._check(str(self.target))

    def _read(self, location: str) -> RequestUrl:
        location = location.strip(" \t")
        try:
            check_text(location)  # first: resolving drops a tab in the middle
            if not has_web_scheme(location):
                location = resolve(str(self.target), location) or location
            return parse_request_url(location)
        except FetchError as error:
            said = f"redirect to {error.url}, {error.detail}"
            raise FetchError(error.code, str(self.target), said) from error
