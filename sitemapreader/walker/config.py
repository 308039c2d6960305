"""What a walk is asked to do, checked: misuse is said at once, with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime  # noqa: TC003 (attrs resolves field types at run time)
from inspect import iscoroutinefunction
from pathlib import Path  # noqa: TC003 (attrs resolves field types at run time)
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from sitemapreader.dates import as_since
from sitemapreader.discovery import Search  # noqa: TC001 (attrs resolves field types at run time)
from sitemapreader.discovery.arguments import check_url, one_of
from sitemapreader.models import Format, SitemapEntry, Via
from sitemapreader.outcomes import Document
from sitemapreader.readers.formats import check_formats
from sitemapreader.urls import Hosts
from sitemapreader.walker.order import Order

if TYPE_CHECKING:
    from sitemapreader.state import State

Undated: TypeAlias = Literal["keep", "drop"]
"""What `since` does with entries that have no date."""
Scope: TypeAlias = Literal["keep", "drop"]
"""What becomes of entries outside their sitemap's folder."""
Follow: TypeAlias = Callable[[SitemapEntry], bool]
"""Asked of every child before it is fetched."""
OnDocument: TypeAlias = Callable[[Document], object]
"""Called with each outcome as it comes."""
Sitemaps: TypeAlias = Iterable[str | SitemapEntry]
"""URLs, or entries that a discovery or a reader gave."""

Patterns: TypeAlias = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""Regular expressions for URLs, one or several; each is searched for."""


def _patterns(values: Patterns) -> tuple[re.Pattern[str], ...]:
    several = (values,) if isinstance(values, str | re.Pattern) else values
    return tuple(map(_pattern, several))


def _pattern(value: str | re.Pattern[str]) -> re.Pattern[str]:
    text = value.pattern if isinstance(value, re.Pattern) else value
    if not isinstance(text, str):
        raise TypeError(
            f"include and exclude take regular expressions for text, not {value!r}: "
            r"write include=r'/blog/' or include=[r'/blog/', r'\.html$']"
        )
    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(
            f"{value!r} is not a regular expression: {error}; "
            rf"put a \ before a character that stands for itself, as in {re.escape(text)}"
        ) from None


def _sitemaps(values: Sitemaps) -> tuple[SitemapEntry, ...]:
    if isinstance(values, str | bytes | SitemapEntry):
        raise TypeError("sitemaps must be several: write sitemaps=[url], not sitemaps=url")
    return tuple(map(_given, values))


def _given(value: str | SitemapEntry) -> SitemapEntry:
    """Return an entry for what the caller named.

    SECURITY: what some document named stays what it was, though the caller passes it on: it is not
    allowed all that the caller's own URLs are, such as private addresses.
    """
    if not isinstance(value, SitemapEntry):
        return SitemapEntry(check_url("each of sitemaps", value), via=Via.GIVEN)
    if value.sitemap and value.via is not Via.WELL_KNOWN:
        return value
    return attrs.evolve(value, via=Via.GIVEN)


def _is_function(value: object) -> bool:
    return callable(value) and not iscoroutinefunction(value)


def _state(value: str | Path | State | None) -> State | None:
    if value is None:
        return None
    from sitemapreader.state import State  # noqa: PLC0415 (few walks have one; sqlite3 takes time)

    return value if isinstance(value, State) else State(value)


@attrs.frozen(kw_only=True, eq=False)
class WalkConfig:
    """How a site, or the sitemaps that were named, are walked: see `walk`.

    Raises TypeError or ValueError for what cannot be meant.
    """

    search: Search | None = None
    sitemaps: tuple[SitemapEntry, ...] = attrs.field(default=(), converter=_sitemaps)
    since: datetime | None = attrs.field(
        default=None, converter=attrs.converters.optional(as_since)
    )
    undated: Undated = attrs.field(default="keep", validator=one_of(Undated))
    prune: bool = True
    follow: Follow | None = None
    order: Order = attrs.field(default="document", validator=one_of(Order))
    include: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    exclude: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    unique: bool = False
    hosts: Hosts = attrs.field(default="site", validator=one_of(Hosts))
    scope: Scope = attrs.field(default="keep", validator=one_of(Scope))
    respect_robots: bool = True
    extra_formats: frozenset[Format] = attrs.field(default=(), converter=check_formats)
    state: State | None = attrs.field(default=None, converter=_state)
    changes: bool = False
    on_document: OnDocument | None = None

    def __attrs_post_init__(self) -> None:
        if self.search is None and not self.sitemaps:
            raise ValueError(
                "nothing to walk: give a site, as in walk('https://example.org/'), "
                "or sitemaps=[url]"
            )
        if self.follow is not None and not callable(self.follow):
            raise TypeError("follow must be a function of a SitemapEntry that returns a bool")
        if self.on_document is not None and not _is_function(self.on_document):
            raise TypeError("on_document must be a function of a Document, and no coroutine")
        if self.changes and self.state is None:
            raise ValueError(
                "changes are differences from a state: give its file too, as in "
                "walk(..., state='site.db', changes=True)"
            )
