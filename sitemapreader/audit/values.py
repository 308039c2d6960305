"""The values of a result: findings, facts, rates, and differences of two audits.

The JSON of an audit has the same names, in the same order.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date, datetime

    Moment = datetime | date | str

SCHEMA = 1
"""Version of audits in JSON; raised if a key is renamed, removed or changes its meaning, but not
for a new one."""


def _write_moment(moment: Moment | None) -> str | None:
    """Return a moment or a day as ISO 8601, or `None`."""
    if moment is None or isinstance(moment, str):
        return moment
    return moment.isoformat()


class Trend(StrEnum):
    """The change of a finding, from the worst to none."""

    NEW = "new"
    WORSE = "worse"
    UNKNOWN = "unknown"
    """One of the audits did not run the rule, or only one of them visited all pages."""
    BETTER = "better"
    FIXED = "fixed"
    SAME = "same"


@attrs.define(kw_only=True)
class Rule:
    """A rule, or an Issue code as one.

    Attributes:
        code: its name, which never changes.
        category: Reading, Discovery, Index and others.
        severity: "error", "warning" or "info".
        title: of its findings.
        unit: noun of its hits, such as "URLs" or "pages".
        detects: when it hits.
        meaning: why that matters.
        advice: what to do.
        sources: URLs of documents that say so.
        needs: words of what it needs besides the sitemaps.
        known_as: its name in Search Console, or "".
        causes: codes of rules that may find the same fault.
    """

    code: str
    category: str
    severity: str
    title: str
    unit: str = "URLs"
    detects: str = ""
    meaning: str = ""
    advice: str = ""
    sources: list[str] = attrs.field(factory=list)
    needs: list[str] = attrs.field(factory=list)
    known_as: str = ""
    causes: list[str] = attrs.field(factory=list)


@attrs.define(kw_only=True)
class Hit:
    """A hit of a rule.

    Attributes:
        url: of the page, or "" for a hit of a whole sitemap.
        detail: what is wrong with it, or "".
        document: URL of the sitemap that lists it, or "".
        line: of the URL in that sitemap, if known.
        file: of a built folder, or "".
        file_line: line in that file, if known.
        new: whether the baseline lacks it; `None` without a baseline.
    """

    url: str = ""
    detail: str = ""
    document: str = ""
    line: int | None = None
    file: str = ""
    file_line: int | None = None
    new: bool | None = None


@attrs.define(kw_only=True)
class Place:
    """A sitemap with hits of a rule.

    Attributes:
        document: its URL.
        count: number of hits.
        url: of the first hit.
        line: of the first hit, if known.
        new: number of hits that the baseline lacks; `None` without a baseline.
    """

    document: str
    count: int
    url: str = ""
    line: int | None = None
    new: int | None = None


@attrs.define(kw_only=True)
class Rate:
    """The estimated share of all pages, from a sample.

    Attributes:
        share: of the pages, from 0 to 1.
        low: lower end of its interval of 95 %.
        high: upper end of that.
        judged: number of pages of the sample.
        population: number of pages that the share is of.
    """

    share: float
    low: float
    high: float
    judged: int
    population: int


@attrs.define(kw_only=True)
class SharedHits:
    """The hits that another finding has as well: its code, and their number."""

    code: str
    count: int


@attrs.define(kw_only=True)
class Finding:
    """A rule that hit.

    Attributes:
        rule: that hit.
        severity: as the settings have it.
        count: number of hits.
        of: number of things that were examined; 0 if unknown.
        places: sitemaps with hits, the ones with most first.
        places_total: number of all sitemaps with hits.
        examples: the first hits, new ones before all others.
        hits: up to 5,000 of them for pages, and for small sites.
        new: number of hits that the baseline lacks; `None` without a baseline.
        rate: of all pages, if they were sampled.
        urls: number of URLs that are wrong; of whole sitemaps, all that they list.
        cause: code of the finding that is the same fault, or "".
        also: other findings that have some of the same hits.
        doubt: what is not known of it, or "".
    """

    rule: Rule
    severity: str
    count: int
    of: int = 0
    places: list[Place] = attrs.field(factory=list)
    places_total: int = 0
    examples: list[Hit] = attrs.field(factory=list)
    hits: list[Hit] = attrs.field(factory=list)
    new: int | None = None
    rate: Rate | None = None
    urls: int = 0
    cause: str = ""
    also: list[SharedHits] = attrs.field(factory=list)
    doubt: str = ""


@attrs.define(kw_only=True)
class NotRun:
    """A rule that was not run, with the reason; `is_error` if the rule itself is broken."""

    rule: Rule
    reason: str
    is_error: bool = False


@attrs.define(kw_only=True)
class FaultyPages:
    """The pages with an error or a warning: their number, out of how many, and their rate."""

    count: int
    of: int
    rate: Rate | None = None


@attrs.define(kw_only=True)
class PageTally:
    """The visits of pages, in numbers.

    Attributes:
        listed: number of different pages.
        reached: of these in time.
        visited: of these that robots.txt allowed.
        judged: of these that gave evidence.
        not_judged: reason -> number of pages.
        exact: whether all pages were judged.
        sampled: whether not all pages were to be visited, or the time was over.
        bound: largest share that a fault may have which the sample does not have.
        population: number of pages that `bound` is of.
        sample: the judged pages, if not all were, and they are at most 5,000.
        faulty: the pages with an error or a warning; `None` if no rule ran that could say so.
    """

    listed: int
    reached: int
    visited: int
    judged: int
    not_judged: dict[str, int] = attrs.field(factory=dict)
    exact: bool = True
    sampled: bool = False
    bound: float | None = None
    population: int = 0
    sample: list[str] | None = None
    faulty: FaultyPages | None = None


@attrs.define(kw_only=True)
class Month:
    """The URLs with a lastmod in one month; `alike` have the date of many, `future` a later one."""

    month: str = attrs.field(converter=_write_moment)
    urls: int
    alike: int = 0
    future: int = 0


@attrs.define(kw_only=True)
class Section:
    """The URLs of one folder."""

    host: str
    path: str
    urls: int


@attrs.define(kw_only=True)
class HostCount:
    """The URLs of one origin."""

    origin: str
    urls: int


@attrs.define(kw_only=True)
class LanguagePair:
    """The hreflang links from pages of one language to another, and how many are returned."""

    page: str
    target: str
    pages: int
    links: int
    returned: int


@attrs.define(kw_only=True)
class DocumentFacts:
    """A document of the walk; `urls` are the ones that it lists, and `findings` its hits."""

    url: str
    parent: str = ""
    role: str = "sitemap"
    format: str = ""
    status: str = "complete"
    reason: str = ""
    http_status: int | None = None
    urls: int = 0
    children: int = 0
    bytes_raw: int = 0
    bytes_inflated: int = 0
    dated: int = 0
    newest: str | None = attrs.field(default=None, converter=_write_moment)
    lastmod: str | None = attrs.field(default=None, converter=_write_moment)
    findings: int = 0
    depth: int = 0


@attrs.define(kw_only=True)
class OldFolder:
    """The judged old URLs of one folder, with their outcomes."""

    folder: str
    pages: int
    lost: int = 0
    to_start: int = 0
    temporary: int = 0
    unlisted: int = 0
    noindex: int = 0
    alive: int = 0
    failed: int = 0


@attrs.define(kw_only=True)
class Facts:
    """The facts of an audit, in numbers, and the rules that did not hit.

    Attributes:
        source: what was audited.
        begun: the moment, as ISO 8601.
        version: of this package.
        known_urls: number of URLs in the list of known ones; `None` without one.
        seconds: that the audit took.
        complete: whether everything was read.
        losses: what was not read to its end, each as a reason and a URL.
        known_losses: of these, the ones that the baseline or `--allow-loss` names.
        answered: whether anything was read, or reported absent by a server.
        urls: in the sitemaps.
        distinct: of these that are different.
        dated: of these with a lastmod.
        images, videos, news, alternates: with the URLs.
        documents_total: number of sitemaps, indexes, robots.txt files and pages.
        sitemaps: that were read, or a part of them.
        sitemaps_not_read: that were not.
        sitemaps_in_part: that were read in part.
        statuses: outcome -> number of documents.
        months: URLs by the month of their lastmod.
        sections: the largest folders; `sections_others` are the URLs in all others.
        hosts: the largest hosts; `hosts_others` are the URLs of all others.
        languages: pairs of languages; `languages_others` is the number of all others.
        documents: of the walk.
        files: URL -> file, of a folder.
        base_url: of a folder on its site; "" for a site.
        mapped_hosts: host -> the one that was requested in its place (`map_hosts`).
        unused_hosts: mapped hosts to which no request was sent.
        passed: rules that ran and hit nothing.
        not_run: rules that were not run.
        pages: the visits; `None` without any.
        old_pages: the same of old URLs.
        old_folders: what became of old URLs.
        compared_pages: number of texts that were compared with an earlier audit.
        old_complete: whether all of the old sitemaps were read.
        baseline: number of known hits; `None` without a baseline.
        mended: number of known hits that are gone; `None` without a baseline.
        mended_hits: code of a rule -> these hits, as the baseline names them.
        ignored: code of a rule -> number of hits that `ignore` left out by their URLs.
    """

    source: str
    begun: str = attrs.field(converter=_write_moment)
    version: str
    known_urls: int | None = None
    seconds: float = 0.0
    complete: bool = True
    losses: list[str] = attrs.field(factory=list)
    known_losses: list[str] = attrs.field(factory=list)
    answered: bool = True
    urls: int = 0
    distinct: int = 0
    dated: int = 0
    images: int = 0
    videos: int = 0
    news: int = 0
    alternates: int = 0
    documents_total: int = 0
    sitemaps: int = 0
    sitemaps_not_read: int = 0
    sitemaps_in_part: int = 0
    statuses: dict[str, int] = attrs.field(factory=dict)
    months: list[Month] = attrs.field(factory=list)
    sections: list[Section] = attrs.field(factory=list)
    sections_others: int = 0
    hosts: list[HostCount] = attrs.field(factory=list)
    hosts_others: int = 0
    languages: list[LanguagePair] = attrs.field(factory=list)
    languages_others: int = 0
    documents: list[DocumentFacts] = attrs.field(factory=list)
    files: dict[str, str] = attrs.field(factory=dict)
    base_url: str = ""
    mapped_hosts: dict[str, str] = attrs.field(factory=dict)
    unused_hosts: list[str] = attrs.field(factory=list)
    passed: list[Rule] = attrs.field(factory=list)
    not_run: list[NotRun] = attrs.field(factory=list)
    pages: PageTally | None = None
    old_pages: PageTally | None = None
    old_folders: list[OldFolder] = attrs.field(factory=list)
    compared_pages: int | None = None
    old_complete: bool = True
    baseline: int | None = None
    mended: int | None = None
    mended_hits: dict[str, list[str]] = attrs.field(factory=dict)
    ignored: dict[str, int] = attrs.field(factory=dict)

    def allow_losses(self, names: Collection[str]) -> None:
        """Call losses known that have some names: reasons, or reasons with a URL."""
        for loss in self.losses:
            is_named = loss in names or loss.partition(" ")[0] in names
            if is_named and loss not in self.known_losses:
                self.known_losses.append(loss)

    @property
    def are_losses_known(self) -> bool:
        """True if there are losses, and all of them are known."""
        return bool(self.losses) and len(self.known_losses) == len(self.losses)

    def find_tally(self, unit: str) -> PageTally | None:
        """Return the visits of "pages" or of "old URLs"."""
        if unit == "pages":
            return self.pages
        return self.old_pages


@attrs.define
class AuditReport:
    """The findings and facts of an audit; every format is made of them."""

    findings: list[Finding]
    facts: Facts

    def describe(self) -> dict[str, Any]:
        """Return the audit as its JSON has it: dicts, lists, texts and numbers."""
        findings = [attrs.asdict(finding) for finding in self.findings]
        facts = attrs.asdict(self.facts)
        return {"schema": SCHEMA, "findings": findings, "facts": facts}


@attrs.define(kw_only=True)
class DateChange:
    """A URL whose lastmod has changed, with both as the lists have them; `None` without one."""

    url: str
    before: str | None
    after: str | None


@attrs.define(kw_only=True)
class ListDifference:
    """The difference of two lists of URLs.

    Attributes:
        new: URLs of the later list alone.
        unlisted: URLs of the earlier list alone.
        changed: URLs of both, whose lastmod is another one.
        same: number of all others.
        has_dates: whether both lists have dates, so that these were compared.
        dates: lastmod of the new and unlisted URLs that have one.
    """

    new: list[str] = attrs.field(factory=list)
    unlisted: list[str] = attrs.field(factory=list)
    changed: list[DateChange] = attrs.field(factory=list)
    same: int = 0
    has_dates: bool = True
    dates: dict[str, str] = attrs.field(factory=dict)

    @property
    def severity(self) -> str:
        """The gravity: a URL that is unlisted is an "error", any other difference an "info"."""
        if self.unlisted:
            return "error"
        return "info" if self.new or self.changed else ""


@attrs.define(kw_only=True)
class Difference:
    """The change of a finding between two audits.

    Attributes:
        code: of the rule.
        severity: in the later audit; in the earlier one if it was fixed.
        trend: of the finding.
        before, after: number of hits, or the share of pages of a sample; `None` if the rule was not
            run.
        new, mended: URLs of hits that only one of the audits has, of links, images and videos with
            their details; `None` if a report does not name all hits.
        still: number of hits that both have.
        only_before, only_after: URLs of hits on pages that only this audit of both has judged.
    """

    code: str
    severity: str
    trend: Trend
    before: float | None
    after: float | None
    new: list[str] | None = None
    mended: list[str] | None = None
    still: int | None = None
    only_before: list[str] | None = None
    only_after: list[str] | None = None

    @property
    def is_worse(self) -> bool:
        """True if it is new or worse, or found by a rule that the earlier audit did not run."""
        is_first = self.trend is Trend.UNKNOWN and self.before is None
        return self.trend in (Trend.NEW, Trend.WORSE) or (is_first and bool(self.after))
