"""The values of a visit: what one listed URL answered."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader.errors import Redirect
    from sitemapreader.readers.pages.facts import PageFacts

MAX_REDIRECTS = 10
"""Redirects that are followed to a page; search engines follow no more."""


class NotJudged(StrEnum):
    """Why an answer says nothing about a page."""

    ROBOTS = "robots"
    """robots.txt forbids the page to us, or cannot be reached."""
    PROTECTION = "protection"
    """A bot protection answered."""
    ASKED_TO_WAIT = "asked-to-wait"
    """The server asks for fewer requests, or its host was given up."""
    COOKIES = "cookies"
    """Redirects lead in a circle in which an answer sets a cookie."""
    GATE = "gate"
    """Pages of several folders redirect, for the time being, to one address: consent."""
    LANGUAGE = "language"
    """It redirects, for the time being, to a version in the language of who asks."""
    NETWORK = "network"
    """An address that may not be reached, or a host that hardly answers."""
    TIME = "time"
    """Its turn did not come within the time for all pages."""


@attrs.frozen
class PageVisit:
    """What one URL answered.

    Attributes:
        url: as it is listed.
        final_url: after redirects.
        redirects: on the way, in their order.
        status: of the last answer; `None` without one.
        headers: of the last answer, by lower-case name.
        seconds: from the request to the first byte of the answer.
        facts: what the page says of itself; `None` if it was not read.
        error: why there is no answer; "" if there is one.
        not_judged: why the answer says nothing about the page; `None` if it does.
        file: of a built folder, relative to it; "" on the network.
    """

    url: str
    final_url: str
    redirects: tuple[Redirect, ...] = ()
    status: int | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict)
    seconds: float | None = None
    facts: PageFacts | None = None
    error: str = ""
    not_judged: NotJudged | None = None
    file: str = ""
