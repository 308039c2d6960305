"""Presence of URLs in the sitemaps of a site: is this URL listed, and if not, why not?

One walk reads the sitemaps without any filter. Each question is then answered from its entries, its
Issues and the documents that were not read. Some pages are requested as well, because a redirect or
a noindex explains most absences.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from contextlib import AsyncExitStack, aclosing
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

import attrs

from sitemapreader._api import walk
from sitemapreader._event_loop import without_await
from sitemapreader._types.arguments import Follow, Search
from sitemapreader._types.counts import count_units
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.issues import Issue, IssueCode, excerpt, list_errors, show_url
from sitemapreader._types.models import UrlEntry, Via
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.outcomes import (
    ABSENT_STATUSES,
    ALREADY_READ,
    Role,
    Status,
    is_read_to_end,
)
from sitemapreader._types.urls import (
    host_of,
    origin_of,
    parse_url,
    require_text,
    url_key,
)
from sitemapreader._walk.filters import EntryFilter
from sitemapreader._walk.memory import explain_no_status
from sitemapreader._walk.selection import Selection
from sitemapreader.changes import State
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.pages import (
    NotJudged,
    PageFacts,
    PageFault,
    PageVisit,
    explain_target,
    is_led_to_login,
    visit_pages,
)
from sitemapreader.pages.faults import (
    MAX_REFRESH_SECONDS,
    find_empty_pages,
    find_responding_hosts,
    judge_visit,
    leave_out_silent,
)
from sitemapreader.pages.soft_404 import find_folder, find_soft_errors, make_up_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sitemapreader._types.dates import When
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.memory import UnlistedUrl
    from sitemapreader._walk.report import Report
    from sitemapreader.fetch.client import Fetcher
    from sitemapreader.pages.soft_404 import SoftErrors

__all__ = [
    "Cause",
    "CauseCode",
    "Explanation",
    "Verdict",
    "why",
    "why_sync",
]

MAX_VISITS = 100
"""Pages that one call requests; further URLs are answered from the sitemaps alone."""
_MAX_MATCHES = 10
"""Entries that are kept for one URL."""
_MAX_NEIGHBORS = 8
"""Other pages that are requested of a folder in which the pages of the questions are all alike."""
_MAX_NAMED_SITEMAPS = 10
"""Sitemaps that one cause names."""
_SEARCH = Search(feeds=True)
_LINKED = frozenset({Via.HTML, Via.HEADER, Via.PAGE})
_INDEX_PAGE_PATH = re.compile(
    r"/(?:index|default)\.(?:html?|php|aspx?)\Z", re.IGNORECASE
)


class Verdict(StrEnum):
    """Answer to the question whether a URL is listed."""

    LISTED = "listed"
    NOT_LISTED = "not listed"
    UNKNOWN = "unknown"
    """The URL was not found, and a sitemap that may list it was not read, or may be hidden behind
    a notice of maintenance."""


class CauseCode(StrEnum):
    """Kinds of reasons for which a URL is missing, or which make its listing worthless."""

    NOT_A_URL = "not-a-url"
    LISTED = "listed"
    LISTED_TWICE = "listed-twice"
    OTHER_SPELLING = "other-spelling"
    FILTERED = "filtered"
    FEED_ONLY = "feed-only"
    DROPPED = "dropped"
    ALTERNATE = "alternate"
    SITEMAP_NOT_READ = "sitemap-not-read"
    SITEMAP_MISSING = "sitemap-missing"
    SITEMAP_EMPTY = "sitemap-empty"
    SITEMAPS_AS_PAGES = "sitemaps-as-pages"
    NO_SITEMAP = "no-sitemap"
    LISTED_BEFORE = "listed-before"
    IN_NO_SITEMAP = "in-no-sitemap"
    OTHER_SITE = "other-site"
    ROBOTS = "robots"
    STATUS = "status"
    REDIRECTS = "redirects"
    NOINDEX = "noindex"
    CANONICAL = "canonical"
    SOFT_404 = "soft-404"
    FAILS = "fails"
    LOGIN = "login"
    EMPTY = "empty"
    PAGE_FINE = "page-fine"
    PAGE_UNKNOWN = "page-unknown"
    UNLISTED = "unlisted"
    GONE = "gone"


_NAMED_ONCE = frozenset({CauseCode.SITEMAP_NOT_READ, CauseCode.SITEMAP_MISSING})
"""Causes that are the same for all URLs of a site."""


@attrs.frozen
class Cause:
    """One reason, and the place where it can be seen.

    Attributes:
        code: the kind of reason.
        message: the reason as a sentence.
        sitemap: URL of the document that the reason is about; "" if there is none.
        record: number of the record in that document, from 1; `None` if it is not about one.
        line: line of the document; `None` if it is not known.
        url: another URL that the reason names, such as the target of a redirect, or "".
    """

    code: CauseCode
    message: str
    sitemap: str = ""
    record: int | None = None
    line: int | None = None
    url: str = ""


@attrs.frozen
class Explanation:
    """The explanation for one URL.

    Attributes:
        url: the URL as it was asked for.
        verdict: whether it is listed.
        causes: the reasons, the most telling one first.
    """

    url: str
    verdict: Verdict
    causes: tuple[Cause, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON's types, without the empty ones."""
        causes = [attrs.asdict(cause, filter=_is_present) for cause in self.causes]
        return {"url": self.url, "verdict": str(self.verdict), "causes": causes}


def _is_present(_field: attrs.Attribute[Any], value: object) -> bool:
    return value not in ("", None)


@answer_keywords()
async def why(
    urls: str | Iterable[str],
    site: str | None = None,
    *,
    since: When | None = None,
    until: When | None = None,
    undated: Literal["keep", "drop"] = "keep",
    include: Sequence[str | re.Pattern[str]] | str = (),
    exclude: Sequence[str | re.Pattern[str]] | str = (),
    language: str = "",
    follow: Follow | None = None,
    state: State | Path | str | None = None,
    fetcher: Fetcher | None = None,
    options: FetchOptions | None = None,
    limits: Limits | None = None,
    trusted: bool = True,
    max_visits: int = MAX_VISITS,
) -> list[Explanation]:
    """Explain for each URL whether the sitemaps of its site list it, and if not, why not.

    Args:
        urls: one URL or several.
        site: the site whose sitemaps are read, as in `walk`; by default the site of each URL.
        since: filter of your walk, as in `walk`, which may exclude the URL.
        until: as `since`.
        undated: as `since`, for URLs without a date.
        include: as `since`.
        exclude: as `since`.
        language: as `since`.
        follow: which sitemaps of an index are read, as in `walk`.
        state: file of your walks, which knows if the URL was listed, unlisted or gone.
        fetcher: object that opens URLs, as in `walk`.
        options: options of the network, as in `walk`.
        limits: limits of the walk, as in `walk`.
        trusted: False if strangers wrote the URLs, as in `walk`.
        max_visits: pages that are requested; 0 requests none. The page that one names as its
            canonical one is requested as well. If the pages of a folder are all
            like a made-up path, a few others that its sitemaps list are requested as well.

    Returns:
        One explanation for each URL, in order.

    Raises:
        TypeError, ValueError: for wrong arguments, and a `site` that is not a URL.
    """
    filter_arguments: dict[str, Any] = {
        "since": since,
        "until": until,
        "include": include,
        "exclude": exclude,
        "language": language,
    }
    filters = {
        name: EntryFilter(Selection(undated=undated, **{name: value}))
        for name, value in filter_arguments.items()
        if value
    }
    answers = await answer_urls(
        [urls] if isinstance(urls, str) else urls,
        site,
        filters=filters,
        follow=follow,
        state=state,
        fetcher=fetcher,
        options=options,
        limits=limits,
        trusted=trusted,
        max_visits=max_visits,
    )
    return answers.explanations


@attrs.frozen
class Answers:
    """The explanations of several URLs, and the reports of their walks."""

    explanations: list[Explanation]
    reports: list[Report]


async def answer_urls(
    urls: Iterable[str],
    site: str | None = None,
    *,
    filters: Mapping[str, EntryFilter] = MappingProxyType({}),
    follow: Follow | None = None,
    state: State | Path | str | None = None,
    fetcher: Fetcher | None = None,
    options: FetchOptions | None = None,
    limits: Limits | None = None,
    trusted: bool = True,
    max_visits: int = MAX_VISITS,
) -> Answers:
    """Explain several URLs as `why` does, whose arguments these are; `filters` by their names."""
    network = options or FetchOptions()
    questions = [_Question(require_text("each of urls", url), filters) for url in urls]
    reports: list[Report] = []
    async with AsyncExitStack() as stack:
        if fetcher is None:
            fetcher = HttpFetcher(network, limits=limits or Limits())
            await stack.enter_async_context(fetcher)
            limits = options = None  # it has them
        valid = [question for question in questions if question.is_valid]
        visited = valid[: max(0, max_visits)]
        visits = _Visits(fetcher, network, trusted=trusted)
        await visits.visit(visited)
        sites = defaultdict(list)
        for question in valid:
            sites[site or f"{origin_of(question.url)}/"].append(question)
        for name, group in sites.items():
            search = _Search(name, group, visits)
            await search.walk(
                fetcher=fetcher,
                trusted=trusted,
                follow=follow,
                limits=limits,
                options=options,
            )
            search.answer()
            reports.append(search.report)
        await visits.judge(visited)
    if state is not None:
        if not isinstance(state, State):
            state = State(state)
        _recall(valid, state)
    return Answers([question.explain() for question in questions], reports)


why_sync = without_await(why)


# -- the question


@attrs.frozen
class _Match:
    """An entry that is one of the spellings of a URL."""

    entry: UrlEntry
    record: int

    @property
    def location(self) -> str:
        return f"{show_url(self.entry.sitemap)}, record {self.record}"


class _Question:
    """One URL, and the findings about it."""

    def __init__(self, url: str, filters: Mapping[str, EntryFilter]) -> None:
        self.url = url
        self.verdict = Verdict.NOT_LISTED
        self.causes: list[Cause] = []
        self.visit: PageVisit | None = None
        self.canonical_visit: PageVisit | None = None
        """The visit of the other page that is its canonical one, if it is to be requested."""
        self.targets = {_loose_key(url)}
        """Keys of the URL, and of where its redirects, a refresh and its canonical link lead."""
        self.matches: list[_Match] = []
        self.issues: list[Issue] = []
        self.read: frozenset[str] = frozenset()
        """Keys of the URLs of the documents that were read to their end."""
        self._filters = filters
        self.is_valid = parse_url(url) is not None and bool(host_of(url))
        if not self.is_valid:
            self.add(
                CauseCode.NOT_A_URL,
                "this is not an http(s) URL with a host: write it as it should be listed, such as "
                "https://example.org/page",
            )

    def add(
        self,
        code: CauseCode,
        message: str,
        **location: Any,
    ) -> None:
        self.causes.append(Cause(code, message, **location))

    def add_record(
        self,
        code: CauseCode,
        message: str,
        match: _Match,
        url: str = "",
    ) -> None:
        """Add a cause that is seen in a record."""
        sitemap = match.entry.sitemap
        self.add(code, message, sitemap=sitemap, record=match.record, url=url)

    def explain(self) -> Explanation:
        order = list(CauseCode)
        causes = sorted(self.causes, key=lambda cause: order.index(cause.code))
        return Explanation(self.url, self.verdict, tuple(causes))

    def add_last_document(self, url: str) -> None:
        """Add a document that listed the URL in the last walk; unknown, if it was not read now."""
        message = f"the last walk with this state found it in {show_url(url)}"
        if url_key(url) not in self.read:
            message += ", which was not read now"
            self.verdict = Verdict.UNKNOWN
        self.add(CauseCode.LISTED_BEFORE, message, sitemap=url)

    def add_waiting(self, row: UnlistedUrl) -> None:
        """Add the document that listed the URL before it went missing."""
        self.add(
            CauseCode.LISTED_BEFORE,
            f"missing since {row.since:%Y-%m-%d}, and not confirmed as unlisted; last listed by"
            f" {show_url(row.document)}{_describe_page(row)}",
            sitemap=row.document,
        )

    # -- from the entries

    def judge_matches(self, documents: dict[str, Document]) -> None:
        """Add where the URL is listed, in which spelling, and the filter that excludes it."""
        key = url_key(self.url)
        same = [match for match in self.matches if url_key(match.entry.loc) == key]
        others = [match for match in self.matches if match not in same]
        listed = [match for match in same if not _is_feed_only(match, documents)]
        for match in listed:
            self._add_listed(match)
        if listed:
            self.verdict = Verdict.LISTED
            self._compare_records(listed)
            self._try_filters(listed)
        for match in same:
            if not listed:
                self.add_record(
                    CauseCode.FEED_ONLY,
                    f"only a feed lists it, and feeds are read with --feeds: {match.location}",
                    match,
                )
        for match in others:
            self._add_spelling(match)

    def _add_listed(self, match: _Match) -> None:
        message = f"listed by {match.location}"
        loc = match.entry.loc
        if loc == self.url:
            loc = ""
        else:
            message += f", written {show_url(loc)}"
        self.add_record(CauseCode.LISTED, message, match, loc)

    def _add_spelling(self, match: _Match) -> None:
        loc = match.entry.loc
        difference = _describe_difference(self.url, loc)
        # the target of a redirect, or a canonical URL, has a cause of its own
        if not difference:
            return
        self.add_record(
            CauseCode.OTHER_SPELLING,
            f"listed in another spelling ({difference}): {show_url(loc)} in {match.location}",
            match,
            loc,
        )

    def add_alternate(self, match: _Match, language: str) -> None:
        """Add, once, a record that names the URL as a version of its own."""
        if any(cause.code is CauseCode.ALTERNATE for cause in self.causes):
            return
        loc = match.entry.loc
        self.add_record(
            CauseCode.ALTERNATE,
            f"named as an alternate ({language or 'no language'}) of {show_url(loc)} in "
            f"{match.location}; a URL is listed by a record of its own",
            match,
            loc,
        )

    def _compare_records(self, listed: list[_Match]) -> None:
        """Add a cause if several records of the URL differ."""
        first = listed[0].entry
        for match in listed[1:]:
            if attrs.evolve(match.entry, sitemap=first.sitemap, loc=first.loc) != first:
                self.add_record(
                    CauseCode.LISTED_TWICE,
                    f"{len(listed)} records list it with different details, such as lastmod: "
                    f"{listed[0].location}; {match.location}",
                    match,
                )
                return

    def _try_filters(self, listed: list[_Match]) -> None:
        """Add each filter that drops every record of the URL."""
        entries = [match.entry for match in listed]
        for name, entry_filter in self._filters.items():
            passed, _ = entry_filter.select(entries, ())
            if passed:
                continue
            message = f"`{name}` excludes it"
            lastmod = entries[0].lastmod
            if lastmod:
                message += f", and its lastmod is {lastmod.isoformat()}"
            self.add(CauseCode.FILTERED, message)

    def add_target(
        self,
        code: CauseCode,
        url: str,
        message: str,
        fault: str = "",
    ) -> None:
        """Add a cause that names another URL, and its fault, or whether that URL is listed."""
        if fault:
            self.add(code, f"{message} {show_url(url)}, which {fault}", url=url)
            return
        key = url_key(url)
        listed = "which is not listed either"
        for match in self.matches:
            if url_key(match.entry.loc) == key:
                listed = f"which is listed by {match.location}"
                break
        self.add(code, f"{message} {show_url(url)}, {listed}", url=url)

    # -- from the page

    def see_visit(self, visit: PageVisit | None) -> str:
        """Keep the visit of the page; return its canonical URL if that is another, or ""."""
        self.visit = visit
        if visit is None:
            return ""
        canonical = _canonical_of(visit)
        named = {visit.final_url, canonical}
        if visit.facts is not None and visit.facts.refresh is not None:
            named.add(visit.facts.refresh[1])
        self.targets |= {_loose_key(url) for url in named if url}
        return canonical

    def judge_page(self, fault: PageFault | None) -> None:
        """Add the causes that the page's own response shows, whose first fault is known."""
        visit = self.visit
        if visit is None:
            return
        causes_before = len(self.causes)
        is_forbidden = not visit.error or visit.error.startswith(
            IssueCode.ROBOTS_DISALLOWED
        )
        if visit.not_judged is NotJudged.ROBOTS and is_forbidden:
            self.add(
                CauseCode.ROBOTS,
                "robots.txt disallows the page, so it was not requested",
            )
        elif visit.error.startswith(IssueCode.ROBOTS_UNREACHABLE):
            self.add(
                CauseCode.PAGE_UNKNOWN,
                "robots.txt could not be read, so the page was not requested",
            )
        elif visit.not_judged is not None:
            reason = visit.error
            if not reason:
                reason = (
                    f"the site did not give its usual response ({visit.not_judged})"
                )
            self.add(
                CauseCode.PAGE_UNKNOWN,
                f"the page could not be judged: {excerpt(reason)}",
            )
        elif fault is not None:
            self._add_fault(fault, visit)
        if fault in (None, PageFault.REDIRECTS):
            self._judge_facts(visit)
        if visit.status == 200 and len(self.causes) == causes_before:
            message = "the page returns 200 and may be indexed"
            if any(cause.code is CauseCode.IN_NO_SITEMAP for cause in self.causes):
                message += ": add it to a sitemap"
            self.add(CauseCode.PAGE_FINE, message)

    def _add_fault(self, fault: PageFault, visit: PageVisit) -> None:
        """Add the cause that a fault of the page's response is."""
        is_redirected = visit.is_redirected
        statuses = [str(redirect.status) for redirect in visit.redirects]
        redirects = "redirects"
        if statuses:  # a caller's own fetcher may not name them
            redirects += f" ({', '.join(statuses)})"
        if is_redirected and fault is not PageFault.LOGIN and not visit.error:
            self.add_target(
                CauseCode.REDIRECTS,
                visit.final_url,
                f"the page {redirects} to",
            )
        status = visit.status or 0
        if visit.error:
            self.add(CauseCode.FAILS, f"the page fails: {excerpt(visit.error)}")
        elif fault is not PageFault.REDIRECTS and status >= 300:
            subject = "the page"
            if is_redirected:
                subject += " to which it redirects"
            self.add(CauseCode.STATUS, f"{subject} returns {status}")
        elif fault is PageFault.LOGIN:
            login = show_url(visit.final_url)
            self.add(CauseCode.LOGIN, f"the page {redirects} to a login: {login}")
        elif fault is PageFault.SOFT_404:
            self.add(
                CauseCode.SOFT_404,
                "the page returns 200, but has the content of a page that does not exist: let it "
                "return 404",
            )
        elif fault is PageFault.EMPTY:
            self.add(CauseCode.EMPTY, "the page returns 200, but shows nothing")
        elif not is_redirected and visit.facts is not None and visit.facts.refresh:
            seconds, target = visit.facts.refresh
            message = f"the page refreshes after {count_units(seconds, 'seconds')} to"
            self.add_target(CauseCode.REDIRECTS, target, message)

    def _judge_facts(self, visit: PageVisit) -> None:
        facts = visit.facts
        if facts is None or visit.not_judged is not None:
            return
        noindex = facts.find_noindex("googlebot")
        if noindex is not None:
            directive = ": ".join(excerpt(part) for part in noindex)
            self.add(CauseCode.NOINDEX, f"the page forbids indexing ({directive})")
        canonical = _canonical_of(visit)
        if canonical:
            message = "the page names another canonical URL,"
            if _bare_host(canonical) == _bare_host(self.url):
                fault = _find_fault(self.canonical_visit)
            else:
                fault = "is on another host: search engines index that page instead"
            self.add_target(CauseCode.CANONICAL, canonical, message, fault)


def _canonical_of(visit: PageVisit) -> str:
    """Return the canonical URL of a page if it is another page, else ""."""
    if visit.facts is None:
        return ""
    key = url_key(visit.final_url)
    for url in visit.facts.canonicals:
        if url_key(url) != key:
            return url
    return ""


_BETTER_PAGE = {
    "redirects": "name the final page",
    "refreshes": "name the final page",
    "names": "name the final page",
    "forbids": "name a page that may be indexed",
}
"""First word of why a page should not be named -> the page to name instead."""


def _find_fault(visit: PageVisit | None) -> str:
    """Return why a page should not be named as canonical, and the page to name; or ""."""
    if visit is None or visit.not_judged is not None:
        return ""
    facts = visit.facts or PageFacts(visit.final_url)
    seconds, target = facts.refresh or (math.inf, "")
    canonical = _canonical_of(visit)
    fault = explain_target(
        visit.status or 0,
        visit.error,
        is_led_to_login(visit.url, visit.final_url),
        is_error_page=False,
        is_empty=False,
        final_url=show_url(visit.final_url) if visit.is_redirected else "",
        refresh_url=show_url(target) if seconds <= MAX_REFRESH_SECONDS else "",
        is_hidden=facts.find_noindex("googlebot") is not None,
        canonical=canonical and show_url(canonical),
    )
    if not fault:
        return ""
    advice = _BETTER_PAGE.get(fault.partition(" ")[0], "name a page that returns 200")
    return f"{fault}: {advice}"


# -- spellings


def _bare_host(url: str) -> str:
    """Return the host of a URL without `www.`."""
    return host_of(url).removeprefix("www.")


def _loose_key(url: str) -> str:
    """Return the key of a URL, which is the same for URLs that a person takes for one page.

    Scheme, `www.`, case, a slash at the end, the name of an index page, percent-encoding and the
    fragment do not count.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    host = _bare_host(url)
    path = _INDEX_PAGE_PATH.sub("/", unquote(parts.path)).strip("/").casefold()
    return f"{host}/{path}?{unquote(parts.query).casefold()}"


def _letters_of(text: str) -> str:
    """Return the letters of a URL without its scheme, to compare wrong punctuation."""
    text = re.sub(r"\A\W*https?", "", text, flags=re.IGNORECASE)
    return re.sub(r"\W+", "", text).casefold()


def _describe_difference(url: str, listed_url: str) -> str:
    """Name the differences of two spellings; "" for different pages."""
    if _loose_key(url) != _loose_key(listed_url):
        return ""
    ours = urlsplit(url.strip())
    theirs = urlsplit(listed_url.strip())
    path = unquote(ours.path)
    other_path = unquote(theirs.path)
    differences = {
        "scheme": ours.scheme.lower() != theirs.scheme.lower(),
        "www.": host_of(url) != host_of(listed_url),
        "port": host_of(url) == host_of(listed_url)
        and ours.scheme == theirs.scheme
        and origin_of(url) != origin_of(listed_url),
        "index page": bool(_INDEX_PAGE_PATH.search(path))
        != bool(_INDEX_PAGE_PATH.search(other_path)),
        "slash at the end": _INDEX_PAGE_PATH.sub("/", path)[-1:]
        != _INDEX_PAGE_PATH.sub("/", other_path)[-1:]
        and path.strip("/") != "",
        "capital letters": path.casefold().strip("/")
        == other_path.casefold().strip("/")
        and path.strip("/") != other_path.strip("/"),
        "query": ours.query != theirs.query,
        "encoding": ours.path != path or theirs.path != other_path,
    }
    names = [name for name, differs in differences.items() if differs]
    has_same_path = ours.path.casefold() == theirs.path.casefold()
    if has_same_path and len(names) > 1 and "encoding" in names:
        names.remove("encoding")
    return ", ".join(names) or "another spelling"


# -- the search


class _Search:
    """The sitemaps of one site, read for all questions about it."""

    def __init__(self, site: str, questions: list[_Question], visits: _Visits) -> None:
        self.site = site
        self.questions = questions
        self._visits = visits
        self.report: Report
        self._by_key: dict[str, list[_Question]] = defaultdict(list)
        for question in questions:
            for key in question.targets:
                self._by_key[key].append(question)
        self._by_url = {question.url: question for question in questions}
        self._by_letters = {
            _letters_of(question.url): question for question in questions
        }
        self._records: dict[str, int] = defaultdict(int)

    async def walk(self, **arguments: Any) -> None:
        """Read the sitemaps, and keep the entries and Issues of each question."""
        async with walk(self.site, search=_SEARCH, **arguments) as events:
            async for event in events.events():
                if isinstance(event, UrlEntry):
                    self._see_entry(event)
                elif isinstance(event, Issue):
                    self._see_issue(event)
        self.report = events.report

    def _see_entry(self, entry: UrlEntry) -> None:
        self._records[entry.sitemap] += 1
        self._visits.see_neighbor(entry.loc)
        match = _Match(entry, self._records[entry.sitemap])
        for question in self._by_key.get(_loose_key(entry.loc), ()):
            if len(question.matches) < _MAX_MATCHES:
                question.matches.append(match)
        for alternate in entry.alternates:
            named = self._by_url.get(alternate.href)
            if named is not None and alternate.href != entry.loc:
                named.add_alternate(match, alternate.hreflang or "")

    def _see_issue(self, issue: Issue) -> None:
        if issue.line is None:  # it is about a document, not about a record
            return
        questions: list[_Question] = []
        for text in filter(None, (issue.url, issue.value)):
            questions += self._by_key.get(_loose_key(text), ())
            letters = _letters_of(text)
            if letters in self._by_letters:
                questions.append(self._by_letters[letters])
        for question in questions:
            if issue not in question.issues:
                question.issues.append(issue)

    def answer(self) -> None:
        """Answer the questions from the sitemaps that were read, and the unread ones."""
        documents: dict[str, Document] = {}
        unread: list[Cause] = []
        for document in self.report.documents:
            if document.reason != IssueCode.CYCLE:
                documents[document.final_url or document.url] = document
            if _may_list(document):
                unread.append(_describe_unread(document))
        if _is_hidden(self.report):
            unread.append(
                Cause(
                    CauseCode.SITEMAP_NOT_READ,
                    "the site responds with a page in place of each sitemap, as on a day of "
                    "maintenance, so some sitemaps may be unknown",
                )
            )
        read = frozenset(
            url_key(url)
            for document in self.report.documents
            if is_read_to_end(document) and document.format is not None
            for url in (document.url, document.final_url)
        )
        for question in self.questions:
            question.read = read
            question.judge_matches(documents)
            if question.verdict is Verdict.LISTED:
                continue
            self._add_dropped(question)
            question.causes += unread[:_MAX_NAMED_SITEMAPS]
            if unread and not _is_decided(question):
                question.verdict = Verdict.UNKNOWN
            self._add_absence(question, is_unread=bool(unread))

    def _add_dropped(self, question: _Question) -> None:
        """Add each Issue that dropped a record of the URL."""
        for issue in question.issues:
            location = issue.sitemap
            if issue.line:
                location = f"{show_url(issue.sitemap)}, line {issue.line}"
            problem = f"{issue.code} ({issue.code.meaning})"
            question.add(
                CauseCode.DROPPED,
                f"an Issue is about it: {problem} in {location}",
                sitemap=issue.sitemap,
                line=issue.line,
            )

    def _add_absence(
        self,
        question: _Question,
        *,
        is_unread: bool,
    ) -> None:
        """Add the causes if sitemaps, records or the URL are missing altogether."""
        documents = self.report.documents
        read = sum(document.listed > 0 for document in documents)
        for code, is_useless, problem in (
            (
                CauseCode.SITEMAP_MISSING,
                _is_missing,
                "this sitemap returns {status}, so it lists nothing",
            ),
            (CauseCode.SITEMAP_EMPTY, _is_empty, "this sitemap is empty"),
            (
                CauseCode.SITEMAPS_AS_PAGES,
                _lists_sitemaps,
                (
                    "this sitemap lists nothing but sitemaps, as if they were pages, so they "
                    "were not read: list them in a sitemapindex"
                ),
            ),
        ):
            for document in islice(filter(is_useless, documents), _MAX_NAMED_SITEMAPS):
                message = problem.format(status=document.http_status)
                question.add(
                    code,
                    f"{message}: {show_url(document.url)}",
                    sitemap=document.url,
                )
        if self.report.counts[IssueCode.NO_SITEMAP]:
            question.add(
                CauseCode.NO_SITEMAP, f"no sitemap was found for {show_url(self.site)}"
            )
        elif read and not is_unread and not question.matches and not question.issues:
            total = sum(self._records.values())
            message = (
                f"none of {count_units(total, 'records')} in {count_units(read, 'sitemaps')} "
                "lists it"
            )
            if lost := sum(map(_count_unreadable, documents)):
                message += f"; {count_units(lost, 'records')} more could not be read"
            question.add(CauseCode.IN_NO_SITEMAP, message)
        if host_of(question.url) != host_of(self.site):
            question.add(
                CauseCode.OTHER_SITE, f"its host differs from {show_url(self.site)}"
            )


def _is_feed_only(match: _Match, documents: dict[str, Document]) -> bool:
    """Return whether the entry comes from a feed that only a page links."""
    document = documents.get(match.entry.sitemap)
    if document is None or document.format is None:
        return False
    return document.format.is_feed and document.via in _LINKED


def _may_list(document: Document) -> bool:
    """Return whether a document that was not read to its end may list any URL."""
    if is_read_to_end(document) or _is_missing(document):
        return False
    if document.role is not Role.SITEMAP:
        return document.role is Role.ROBOTS and document.is_lost
    if document.reason == ALREADY_READ or document.is_guess:
        return document.status is Status.PARTIAL
    return document.status in (Status.FAILED, Status.PARTIAL, Status.SKIPPED)


def _is_missing(document: Document) -> bool:
    """Return whether a sitemap that something names does not exist, and so lists nothing."""
    return (
        document.role is Role.SITEMAP
        and document.status is Status.FAILED
        and document.http_status in ABSENT_STATUSES
        and not document.is_guess
    )


def _is_hidden(report: Report) -> bool:
    """Return whether a site has no sitemap, and responds with pages where one may be."""
    reasons = {
        document.reason
        for document in report.documents
        if document.role is Role.SITEMAP and document.is_answered
    }
    return IssueCode.NO_SITEMAP in report.counts and reasons == {
        IssueCode.HTML_NOT_SITEMAP
    }


def _describe_unread(document: Document) -> Cause:
    if document.status is Status.PARTIAL:
        part = "only a part of it was read"
    else:
        part = "it was not read"
    reason = str(document.reason)
    if document.http_status and reason == IssueCode.HTTP_STATUS:
        reason = f"{reason} {document.http_status}"
    if document.role is Role.SITEMAP:
        message = (
            f"this sitemap may list it, but {part} ({reason}): {show_url(document.url)}"
        )
    else:
        message = f"{part} ({reason}), so some sitemaps may be unknown: {show_url(document.url)}"
    return Cause(CauseCode.SITEMAP_NOT_READ, message, sitemap=document.url)


def _is_empty(document: Document) -> bool:
    is_read = document.status is Status.COMPLETE and document.role is Role.SITEMAP
    is_filled = document.listed > 0 or document.children > 0
    return is_read and not document.is_guess and not is_filled


def _count_unreadable(document: Document) -> int:
    """Return how many records of a sitemap were dropped that may have had any URL."""
    counts = document.counts
    errors = sum(counts[code] for code in list_errors(counts))
    return min(document.dropped, errors)


def _lists_sitemaps(document: Document) -> bool:
    """Return whether a sitemap lists sitemaps as its pages, and nothing else."""
    return document.counts[IssueCode.SITEMAPS_AS_PAGES] > 0 and not document.children


def _is_decided(question: _Question) -> bool:
    """Return whether the record itself was found, so that unread sitemaps explain nothing."""
    decisive = {CauseCode.DROPPED, CauseCode.OTHER_SPELLING}
    return any(cause.code in decisive for cause in question.causes)


# -- pages and states


class _Visits:
    """The visits of the pages, of a made-up path in each folder, and of some neighbors."""

    def __init__(
        self,
        fetcher: Fetcher,
        options: FetchOptions,
        *,
        trusted: bool,
    ) -> None:
        self._fetcher = fetcher
        self._options = options
        self._is_trusted = trusted
        self._trusted: set[str] = set()
        """Origins that the caller named, which may be private."""
        self._pages: dict[str, PageVisit] = {}
        self._probes: dict[str, PageVisit] = {}
        self._neighbors: dict[str, set[str]] = {}
        """Folder with unclear pages, alike or with scripts alone -> others that sitemaps list."""

    async def visit(self, questions: list[_Question]) -> None:
        """Request the pages, and for each folder a page that cannot exist."""
        by_url = {question.url: question for question in questions}
        if self._is_trusted:
            self._trusted = {f"{origin_of(url)}/" for url in by_url}
        folders = {find_folder(url) for url in by_url}
        probes = {make_up_path(folder): folder for folder in folders}
        for visit in await self._request([*by_url, *probes], probes):
            if visit.url in by_url:
                self._pages[visit.url] = visit
            else:
                self._probes[probes[visit.url]] = visit
        by_canonical = defaultdict(list)
        for question in questions:
            if canonical := question.see_visit(self._pages.get(question.url)):
                by_canonical[canonical].append(question)
        for visit in await self._request([*by_canonical]):
            for question in by_canonical[visit.url]:
                question.canonical_visit = visit
        shells = {
            find_folder(url)
            for url, visit in self._pages.items()
            if visit.facts is not None and visit.facts.shows == "scripts"
        }
        unclear = shells.union(self._find_errors().distrusted)
        self._neighbors = {folder: set() for folder in unclear}

    def see_neighbor(self, url: str) -> None:
        """Keep a listed page, if the others of its folder are to be compared with it."""
        for folder, urls in self._neighbors.items():
            is_near = url.startswith(folder) and url not in self._pages
            if is_near and len(urls) < _MAX_NEIGHBORS and find_folder(url) == folder:
                urls.add(url)

    async def judge(self, questions: list[_Question]) -> None:
        """Add the causes that the pages show, by all visits together."""
        neighbors = sorted(set().union(*self._neighbors.values()))
        for visit in await self._request(neighbors):
            self._pages[visit.url] = visit
        soft_errors = self._find_errors().urls
        pages = [*self._pages.values()]
        empty = find_empty_pages(pages)
        responding = find_responding_hosts([*pages, *self._probes.values()])
        for question in questions:
            fault = None
            if question.visit is not None:
                question.visit = leave_out_silent(question.visit, responding)
                fault = judge_visit(
                    question.visit,
                    is_soft_404=question.url in soft_errors,
                    is_empty=question.url in empty,
                )
            question.judge_page(fault)

    def _find_errors(self) -> SoftErrors:
        return find_soft_errors(self._probes, list(self._pages.values()))

    async def _request(
        self, urls: list[str], probes: Collection[str] = ()
    ) -> list[PageVisit]:
        visits = visit_pages(
            urls,
            self._fetcher,
            network=self._options,
            trusted=self._trusted,
            probes=probes,
        )
        async with aclosing(visits):
            return [visit async for visit in visits]


def _recall(questions: list[_Question], state: State) -> None:
    """Add the findings of earlier walks about the URLs."""
    by_key = _group_by_key(questions)
    missing = [each for each in questions if each.verdict is not Verdict.LISTED]
    documents = state.find_documents(question.url for question in missing)
    for question in missing:
        for document in sorted(documents[question.url]):
            question.add_last_document(document)
    for row in state.unlisted():
        for question in by_key.get(url_key(row.loc), ()):
            question.add(
                CauseCode.UNLISTED,
                f"unlisted since {row.since:%Y-%m-%d}; last listed by {show_url(row.document)}"
                f"{_describe_page(row)}",
                sitemap=row.document,
            )
    missing_by_key = _group_by_key(missing)
    for row in state.waiting():
        for question in missing_by_key.get(url_key(row.loc), ()):
            question.add_waiting(row)
    for page in state.gone():
        for question in by_key.get(url_key(page.loc), ()):
            question.add(
                CauseCode.GONE,
                f"gone: its page returned {page.http_status} on {page.asked_at:%Y-%m-%d}",
                sitemap=page.document,
            )


def _group_by_key(questions: list[_Question]) -> Mapping[str, list[_Question]]:
    """Return the questions by the key of their URL."""
    by_key = defaultdict(list)
    for question in questions:
        by_key[url_key(question.url)].append(question)
    return by_key


def _describe_page(row: UnlistedUrl) -> str:
    """Return why the page of a URL has no status; "" if it has one, or was not requested."""
    if row.no_status is None or row.asked_at is None:
        return ""
    why = explain_no_status(row.no_status)
    return (
        f"; no status of its page on {row.asked_at:%Y-%m-%d} ({row.no_status}): {why}"
    )


def iterate_explanation(
    explanation: Explanation,
    told: set[str],
) -> Iterator[str]:
    """Yield the lines that explain one URL to a person.

    `told` has the sitemaps that earlier URLs have named as not read or missing: they are named
    once.
    """
    yield f"{show_url(explanation.url)}: {explanation.verdict}"
    repeated = 0
    for cause in explanation.causes:
        if cause.code in _NAMED_ONCE and cause.sitemap in told:
            repeated += cause.code is CauseCode.SITEMAP_NOT_READ
        else:
            yield f"  {cause.message}"
    if repeated:
        sitemaps = count_units(repeated, "sitemaps")
        yield f"  {sitemaps} that may list it could not be read, as named above"
    told |= {cause.sitemap for cause in explanation.causes if cause.code in _NAMED_ONCE}
