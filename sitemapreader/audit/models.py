"""The values of an audit: rules, findings, and the facts for a report.

All of them are plain and frozen, so that a format needs no database, and a test can make its own.
"""

from __future__ import annotations

import json
from datetime import date, datetime  # noqa: TC003 (attrs resolves field types at run time)
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sitemapreader.issues import Severity  # noqa: TC001 (attrs resolves field types at run time)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

T = TypeVar("T")

SCHEMA = 1
"""Of reports in JSON, and of baselines; raised when a key is renamed, removed or means another
thing, and not for a new one."""


class AuditInputError(ValueError):
    """An input of an audit that is wrong or unreadable; the message says what to do."""


def read_json(path: str | os.PathLike[str], what: str, parse: Callable[[Any], T]) -> T:
    """Return what `parse` makes of a file of ours; raise AuditInputError for others.

    `what` says of another file what it is not, and how to write one.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # no lone surrogates, as DuckDB has none
        if content["schema"] == SCHEMA:
            return parse(content)
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise AuditInputError(f"{path} is {what}") from None
    raise AuditInputError(f"{path} was written by another version: write it again")


class Category(StrEnum):
    """The categories of rules, in the order in which they are shown."""

    READING = "Reading"
    DISCOVERY = "Discovery"
    INDEX = "Index"
    RESPONSE = "Response"
    FRESHNESS = "Freshness"
    DUPLICATES = "Duplicates"
    HOSTS = "Hosts"
    ROBOTS = "Robots"
    HREFLANG = "hreflang"
    MEDIA = "Media"
    URLS = "URLs"
    PAGES = "Pages"
    COMPARISON = "Comparison"
    CUSTOM = "Custom"
    """Rules of the user's own, of `--rules`."""

    @property
    def place(self) -> int:
        """Its place in their order."""
        return list(Category).index(self)


class Need(StrEnum):
    """A need of a rule besides the sitemaps."""

    ROBOTS = "robots"
    """A robots.txt that was read."""
    SITE = "site"
    """A robots.txt whose Sitemap lines were followed: the source is a site."""
    FETCH = "fetch"
    """Answers of an HTTP server; a folder has none."""
    COMPLETE = "complete"
    """A walk that read all that is listed."""
    KNOWN = "urls"
    """A list of known URLs."""
    PAGES = "pages"
    """Pages that were visited, half of which could be judged."""
    WAS = "was"
    """Old URLs that were visited, half of which could be judged."""
    FOLDER = "folder"
    """A built folder, all of whose pages were looked up."""
    OVERLAP = "overlap"
    """A list of known URLs that is large enough."""


@attrs.frozen
class AuditRule:
    """One rule: what it detects, and what the result means.

    Attributes:
        code: kebab-case; never renamed, never reused, and no code of another Issue.
        category: where it is shown.
        severity: how much a hit matters, unless the settings say otherwise.
        title: what is wrong, in a few words.
        unit: what its hits are, in the plural: "URLs", "sitemaps", "images".
        detects: when exactly it hits.
        meaning: why it matters.
        advice: what to do about it.
        sources: addresses of what it is based on; the first is the main one.
        needs: what it needs besides the sitemaps.
        known_as: what Search Console calls it, or "".
    """

    code: str
    category: Category
    severity: Severity
    title: str
    unit: str
    detects: str = ""
    meaning: str = ""
    advice: str = ""
    sources: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    known_as: str = ""


@attrs.frozen
class Example:
    """One hit of a rule; its texts come from strangers: escape them, never link them.

    Attributes:
        url: URL that the hit is about; "" where it is about a document alone.
        detail: what was seen there, such as the other spelling or the date; may be "".
        document: URL of the sitemap; "" where there is none.
        line: line in the sitemap, from 1, where it is known: of Issues, and in files.
    """

    url: str
    detail: str = ""
    document: str = ""
    line: int | None = None


@attrs.frozen
class Place:
    """How many hits of a rule are in one sitemap.

    Attributes:
        document: URL of the sitemap; "" where the hit is in none.
        count: how many.
        url: URL of the first of them; "" where it is about the sitemap alone.
        line: line of the first of them, from 1, where it is known.
    """

    document: str
    count: int
    url: str = ""
    line: int | None = None


@attrs.frozen
class Rate:
    """The share of pages that a rule hits.

    Attributes:
        share: estimate, from 0 to 1.
        low: lower end of its 95 % interval.
        high: upper end.
        judged: number of pages that it is based on.
        population: number of pages that it speaks for.
    """

    share: float
    low: float
    high: float
    judged: int
    population: int


@attrs.frozen
class Finding:
    """The hits of one rule: their exact number, their places, and some examples.

    Attributes:
        rule: the rule.
        severity: its severity in this audit, which settings may have changed.
        count: number of hits; at least 1.
        of: number of URLs, documents ... that were looked at, 0 where that says nothing.
        places: sitemaps by number of hits, the most first; at most `MAX_PLACES`.
        places_total: number of sitemaps with hits.
        examples: some hits, at most `AuditOptions.examples`.
        new: number of hits that the baseline does not have; `None` without a baseline.
        rate: the share of all pages that it speaks for, where a sample was visited.
    """

    rule: AuditRule
    severity: Severity
    count: int
    of: int = 0
    places: tuple[Place, ...] = ()
    places_total: int = 0
    examples: tuple[Example, ...] = ()
    new: int | None = None
    rate: Rate | None = None

    @property
    def code(self) -> str:
        """The code of its rule."""
        return self.rule.code


FOREMOST = "robots-blocks-site"
"""The finding beside which the others of its severity hardly matter."""
MAX_PLACES = 5_000
"""Sitemaps that a finding names; the rest is in the database."""
MAX_DOCUMENTS = 10_000
"""Documents in `Facts`; the rest is in the database."""
MAX_SECTIONS = 500
"""Folders in `Facts.sections`; the rest is one number."""
MAX_HOSTS = 500
"""Hosts in `Facts.hosts`; the rest is one number."""
MAX_OLD_FOLDERS = 500
"""Folders in `Facts.old_folders`."""
MAX_LANGUAGES = 40
"""Languages whose pairs are in `Facts.languages`."""


@attrs.frozen
class NotRun:
    """A rule that was not run.

    Attributes:
        rule: the rule.
        reason: why, and what to do so that it runs: "no list of known URLs: give one with `urls`".
        is_error: whether the rule itself is broken, so that its query failed.
    """

    rule: AuditRule
    reason: str
    is_error: bool = False


@attrs.frozen
class MonthCount:
    """URLs by the month of their lastmod."""

    month: date  # its first day, in UTC
    urls: int
    alike: int = 0  # in sitemaps with nearly one lastmod (`lastmod-all-equal`, `-is-build-time`)
    future: int = 0  # in the future (`lastmod-future`)


@attrs.frozen
class SectionCount:
    """URLs of one folder of at most two levels, or of a group in a large one."""

    host: str  # with the port if that is not the usual one
    path: str  # "/" for pages at the root, "/products/", "/products/shoes/"; or "/post-*" for pages
    # of a folder that has most of the URLs, by the beginning of their names
    urls: int  # those of its listed subfolders not counted


@attrs.frozen
class HostCount:
    """URLs of one origin."""

    origin: str  # "https://example.org"
    urls: int


@attrs.frozen
class LanguagePair:
    """hreflang links from pages of one language to another, both in lower case."""

    page: str  # language that the page gives itself: "en", "pt-br"
    target: str  # of the link, "x-default" too; the same as `page` for links to the page itself
    pages: int  # of the language `page`
    links: int  # how many of these have a link to `target`
    returned: int  # how many of these links lead to a listed page that links back


@attrs.frozen
class DocumentFact:
    """One document of the walk: a sitemap, an index, a robots.txt or a page."""

    url: str  # the address under which it was listed
    parent: str = ""  # URL of the document that lists it
    role: str = "sitemap"  # "sitemap", "robots" or "page"
    format: str = ""  # as of `sitemapreader.Format`
    status: str = "complete"  # as of `sitemapreader.Status`
    reason: str = ""  # why it is not complete
    http_status: int | None = None
    urls: int = 0  # that it lists
    children: int = 0  # sitemaps that it lists
    bytes_raw: int = 0  # as they came over the wire
    bytes_inflated: int = 0
    dated: int = 0  # of its URLs with a lastmod
    newest: datetime | None = None  # lastmod of its URLs that is not in the future
    lastmod: datetime | None = None  # what the index says of it
    findings: int = 0  # hits in it, of all rules
    depth: int = 0  # of documents that list it, as far as they stand above it


@attrs.frozen
class PageTally:
    """How many pages were visited.

    Attributes:
        listed: different URLs in the sitemaps.
        visited: how many of them were visited; those without a turn in time are not.
        judged: of how many the answer says something.
        not_judged: why the others do not -> how many.
        exact: whether all pages were judged, so that numbers are no estimates.
    """

    listed: int
    visited: int
    judged: int
    not_judged: dict[str, int] = attrs.field(factory=dict)
    exact: bool = True


@attrs.frozen
class OldFolder:
    """What became of the pages in a folder of the old site that were judged."""

    folder: str  # with its host: "https://example.org/blog/"
    pages: int
    lost: int  # `was-lost`
    to_start: int
    temporary: int
    unlisted: int


@attrs.frozen(kw_only=True)
class Facts:
    """The numbers of an audit, for the head of a report and its charts.

    Attributes:
        source: what was audited, as the caller named it, without a password.
        begun: when the audit began; "now" for all rules about time.
        seconds: how long it took, the walk included.
        version: of sitemapreader.
        complete: whether every listed sitemap was read, and nothing in it was lost.
        urls: number of URLs in the sitemaps, each as often as it is listed.
        distinct: number of different URLs (`url_key`).
        dated: number of URLs with a lastmod.
        images: number of images.
        videos: number of videos.
        news: number of news articles.
        alternates: number of hreflang links.
        statuses: status -> number of documents.
        sitemaps: number of sitemaps that were read, indexes and unchanged ones included.
        sitemaps_not_read: number of listed sitemaps that failed, were read in part, or skipped
            against the caller's will.
        months: URLs by month of lastmod, the oldest first.
        sections: folders by number of URLs, the largest first; at most `MAX_SECTIONS`.
        sections_others: URLs in other folders.
        hosts: origins by number of URLs, the largest first; at most `MAX_HOSTS`.
        hosts_others: URLs of other origins.
        languages: hreflang links by language; pairs without links are left out.
        languages_others: number of languages that are left out.
        documents: the documents, parents before children; at most `MAX_DOCUMENTS`.
        documents_total: number of documents.
        files: URL of a sitemap with findings -> its file, for those of a folder; relative to the
            working directory if it lies below that.
        passed: rules that ran and did not hit.
        not_run: rules that were not run, with the reason.
        pages: of the visits; `None` if no page was to be visited.
        old_pages: of the visits of old URLs, where `listed` is how many there are; or `None`.
        old_folders: what became of them, the most losses first; at most `MAX_OLD_FOLDERS`.
        old_complete: whether the old sitemaps were read to their end.
        known_urls: number of different known URLs; `None` without a list.
        compared_pages: number of pages whose texts are compared with those of an earlier audit;
            `None` without one.
        baseline: number of hits that the baseline has; `None` without a baseline.
    """

    source: str
    begun: datetime
    seconds: float = 0.0
    version: str = ""
    complete: bool = True
    urls: int = 0
    distinct: int = 0
    dated: int = 0
    images: int = 0
    videos: int = 0
    news: int = 0
    alternates: int = 0
    statuses: dict[str, int] = attrs.field(factory=dict)
    sitemaps: int = 0
    sitemaps_not_read: int = 0
    months: tuple[MonthCount, ...] = ()
    sections: tuple[SectionCount, ...] = ()
    sections_others: int = 0
    hosts: tuple[HostCount, ...] = ()
    hosts_others: int = 0
    languages: tuple[LanguagePair, ...] = ()
    languages_others: int = 0
    documents: tuple[DocumentFact, ...] = ()
    documents_total: int = 0
    files: dict[str, str] = attrs.field(factory=dict)
    passed: tuple[AuditRule, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    pages: PageTally | None = None
    old_pages: PageTally | None = None
    old_folders: tuple[OldFolder, ...] = ()
    old_complete: bool = True
    known_urls: int | None = None
    compared_pages: int | None = None
    baseline: int | None = None
