"""The report of a walk: the outcome of every document, and every Issue."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader._log import LOGGER
from sitemapreader._types.counts import inflect
from sitemapreader._types.issues import (
    MAX_ISSUES_PER_DOCUMENT,
    Issue,
    IssueCode,
    list_errors,
    show_url,
    sort_by_severity,
)
from sitemapreader._types.models import Change, Via
from sitemapreader._types.outcomes import (
    FILTERED,
    FINISHED_STATUSES,
    LEFT_EARLY,
    NOTHING_LOST,
    Document,
    Role,
    SiteOutcome,
    SiteStatus,
    Status,
    is_known,
)
from sitemapreader._types.rows import get_column
from sitemapreader._types.urls import host_of, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sitemapreader._types.rows import Rows

MAX_ISSUES_PER_WALK = 1_000
"""Issues of one code that are kept for a walk, so that no code takes all the room."""
_MAX_NAMED_CODES = 5
"""Codes of Issues that the summary names; the others are counted."""
_WORST_FIRST = (
    Status.FAILED,
    Status.PARTIAL,
    Status.SKIPPED,
    Status.COMPLETE,
    Status.UNCHANGED,
)
_NOT_FETCHED = frozenset({Status.SKIPPED, Status.UNCHANGED})
_OPEN_ISSUES = (
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_SECONDS,
    IssueCode.HOST_DOWN,
    IssueCode.HOST_REFUSES,
    IssueCode.ROBOTS_DISALLOWED,
    IssueCode.ROBOTS_TOO_COMPLEX,
)
"""Issues that leave open whether there is a sitemap."""
_FIGURES = (
    *("undated", "future", "without_language", "sampled_from", "bytes_raw", "resumed"),
    *("unlisted", "waiting", "waits_for", "left", "gone", "returned"),
)
"""The attributes of a report that are numbers or texts, besides `entries`."""
_REFUSED_REASON = str(IssueCode.LOGIN_REQUIRED)


class Report:
    """The outcomes and the Issues of a walk or a discovery; grows while it runs.

    Both lists are bounded, the counts are not: `counts` has all Issues, `statuses` all documents.

    Attributes:
        documents: one outcome for each document that was fetched, and, as long as there is room,
            for each that was listed and not fetched.
        issues: the Issues, the first 10 of a code for each document and 1,000 in all.
        counts: how many Issues of each code there were.
        statuses: how many documents ended in each way.
        left_out: how many listed sitemaps were skipped, by the reason.
        entries: how many URLs were delivered, of all documents, batch by batch: a loop over entries
            that ends early has seen fewer.
        undated: how many of these had no date, with `since` or `until`; else 0.
        future: how many of these had a date more than a day from now, in the same case.
        without_language: how many URLs `language` has left out, because their records name none.
        sampled_from: how many URLs passed, of which `sample` drew those that were delivered; `None`
            before the end of a walk, and without `sample`.
        bytes_raw: bytes that came over the wire.
        resumed: whether the walk resumed an interrupted one.
        tally: what counts for `outcome`; for the walk's own use.
        unlisted: how many URLs became unlisted, or did before and are delivered by this walk;
            `None` before the end of a walk, and without `changes`. `Walk.unlisted` gives them.
        waiting: how many URLs may become so: they wait for a second day, or for a document that
            cannot be read; `None` as above.
        waits_for: the document that the longest-missing URL waits for; "" if there is none.
        waits_until: when a walk can prove that this URL is unlisted, at the earliest; `None` if
            there is none.
        left: how many URLs have left a window, as old items leave a feed: they are not unlisted;
            `None` as above.
        gone: how many pages of missing URLs were found to be gone; `None` until pages were asked.
        returned: how many pages that were delivered as gone were found to live; `None` as above.
    """

    def __init__(
        self,
        max_documents: int,
        on_document: Callable[[Document], object] | None = None,
        on_issue: Callable[[Issue], object] | None = None,
    ) -> None:
        self.documents: list[Document] = []
        self.issues: list[Issue] = []
        self.counts: Counter[IssueCode] = Counter()
        self.statuses: Counter[Status] = Counter()
        self.left_out: Counter[str] = Counter()
        self.entries = self.undated = self.future = self.bytes_raw = 0
        self.without_language = 0
        self.resumed = False
        self.sampled_from: int | None = None
        self.unlisted: int | None = None
        self.waiting: int | None = None
        self.waits_for = ""
        self.waits_until: datetime | None = None
        self.left: int | None = None
        self.gone: int | None = None
        self.returned: int | None = None
        self.tally = SiteTally()
        self._kept: Counter[IssueCode] = Counter()
        self._unfetched_left = max_documents
        self._on_document = on_document
        self._on_issue = on_issue
        self._unannounced: deque[Document] = deque()
        self._lost = False

    @property
    def complete(self) -> bool:
        """True if every listed sitemap was read, and nothing in it was lost.

        Sitemaps that were skipped on request (`outcomes.EXPECTED_SKIPS`) do not count. During a
        walk it is False as soon as something is lost.
        """
        return not self._lost and not list_errors(self.counts)

    @property
    def losses(self) -> frozenset[str]:
        """The reasons why something was lost: codes of Issues, or reasons of documents.

        A walk that some losses do not spoil can be judged by them:
        `report.losses <= {"template", "host-down"}`.
        """
        reasons = set(map(str, list_errors(self.counts)))
        for document in self.documents:
            if document.is_lost:
                reasons.add(document.reason)
        reasons |= set(+self.left_out) - NOTHING_LOST
        if len(reasons) > 1:  # it follows from the others
            reasons.discard(str(IssueCode.NO_SITEMAP))
        return frozenset(reasons)

    @property
    def outcome(self) -> SiteOutcome:
        """The outcome of the walk over the site, in one row; the present one while it runs."""
        return self.tally.make_outcome(self)

    def __repr__(self) -> str:
        return f"<Report: {self._summarize()}>"

    def _summarize(self) -> str:
        """Return one line: whether it is complete, the counts, and the worst Issues."""
        if not self.complete:
            state = "not complete"
        elif self.tally.is_running:
            state = "under way"
        else:
            state = "complete"
        statuses = [
            f"{self.statuses[each]} {each}"
            for each in _WORST_FIRST
            if self.statuses[each]
        ]
        parts = [
            state,
            f"{self.entries} {inflect(self.entries, 'URLs')}",
            f"documents: {', '.join(statuses) or 'none'}",
        ]
        if self.unlisted is not None:
            parts.append(f"{self.unlisted} unlisted")
        if self.waiting:
            parts.append(f"{self.waiting} waiting")
        if self.left:
            parts.append(f"{self.left} left their feed")
        if self.gone is not None:
            parts.append(f"{self.gone} gone")
        codes = sort_by_severity(self.counts)
        if codes:
            named = [f"{count} {code}" for code, count in codes[:_MAX_NAMED_CODES]]
            if len(codes) > len(named):
                named.append(f"{len(codes) - len(named)} more kinds")
            parts.append(f"Issues: {', '.join(named)}")
        return "; ".join(parts)

    def children(self, url: str) -> list[Document]:
        """Return the documents that a document lists, by its URL as listed or after redirects.

        A sitemap that several indexes list is a child of the first one.
        """
        urls = {url}
        for document in self.documents:
            if url in (document.url, document.final_url):
                urls |= {document.url, document.final_url}
        urls.discard("")  # the parent of a document that nothing lists
        return [each for each in self.documents if each.parent in urls]

    def tree(self, *, in_ascii: bool = False) -> str:
        """Return the documents as a tree of text, each below the one that lists it.

        It is what `sitemapreader tree` prints; with `in_ascii` it is drawn without line characters.
        """
        roots = build_tree(self.documents)
        shown: list[tuple[object, Tree]] = [*roots]
        has_sitemap = any(each.format is not None or below for each, below in roots)
        if not has_sitemap:
            missed = [each for each in self.documents if _is_missed(each)]
            probes = sum(each.via is Via.WELL_KNOWN for each in missed)
            if probes:
                paths = inflect(probes, "paths")
                shown.append((f"{probes} well-known {paths} tried, and no sitemap", []))
        first = ""
        if self.documents:
            first = self.documents[0].url
        site = show_url(origin_of(first) or first)
        forks = _ASCII_FORKS if in_ascii else _FORKS
        lines = [site, *_draw(shown, forks)]
        return "".join(f"{line}\n" for line in lines)

    def count(self) -> dict[str, Any]:
        """Return how many entries, documents by their status, and Issues by their code."""
        return {
            "entries": self.entries,
            "statuses": _name_keys(self.statuses),
            "counts": _name_keys(self.counts),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return its attributes, `complete` and `outcome` as JSON's types.

        Keys stay in later versions; new ones may come. Moments are texts of ISO 8601, Issues have
        the number of those of each code in `counts`.
        """
        outcome = self.outcome
        return {
            "complete": self.complete,
            "outcome": attrs.asdict(outcome) | {"status": str(outcome.status)},
            **self.count(),
            **{name: getattr(self, name) for name in _FIGURES},
            "waits_until": self.waits_until and self.waits_until.isoformat(),
            "left_out": dict(self.left_out),
            "documents": [document.to_dict() for document in self.documents],
            "issues": [issue.to_dict() for issue in self.issues],
        }

    def add_issue(self, issue: Issue, document: Document | None = None) -> bool:
        """Count an Issue of a document, or of none, and keep it while there is room.

        Returns whether it is among the first of its code in the document.
        """
        code = issue.code
        issue.site = self.tally.site
        if self._on_issue is not None:
            self._on_issue(issue)
        self.counts[code] += 1
        if document is not None:
            number = document.count_issues(code)
            if number > MAX_ISSUES_PER_DOCUMENT:
                return False
        if self._kept[code] < MAX_ISSUES_PER_WALK:
            self._kept[code] += 1
            self.issues.append(issue)
            if document is not None:
                document.issues += (issue,)
        return True

    def add_counts(
        self,
        counts: Mapping[IssueCode, int],
        document: Document,
    ) -> None:
        """Add the uncounted Issues of a document: the ones past the first ten."""
        for code, number in counts.items():
            missing = number - document.counts[code]
            if missing > 0:
                document.count_issues(code, missing)
                self.counts[code] += missing

    def end_document(
        self,
        document: Document,
        status: Status,
        reason: str = "",
    ) -> None:
        """Record the outcome of a document, unless it has one already."""
        if not document.end(status, reason):
            return
        document.site = self.tally.site
        self.statuses[status] += 1
        self.bytes_raw += document.bytes_raw
        LOGGER.info("%s", document)
        if self._on_document is not None:
            self._unannounced.append(document)
        if document.is_left_out:
            self.left_out[document.reason] += 1
        self._lost |= document.is_lost
        # An index may list millions of sitemaps that are not fetched: those are kept up to a limit.
        has_response = document.final_url and document.http_status
        if status in _NOT_FETCHED and not has_response:
            if not self._unfetched_left:
                return
            self._unfetched_left -= 1
        self.documents.append(document)

    def announce_outcomes(self) -> None:
        """Call `on_document` with each new outcome, until it raises."""
        # Not called by `end_document`: what `on_document` raises is the caller's own error, and
        # must not pass through code that handles errors of the network.
        while self._unannounced and self._on_document is not None:
            document = self._unannounced.popleft()
            try:
                self._on_document(document)
            except BaseException:
                self._on_document = None
                raise

    def add(self, other: Report) -> None:
        """Add the outcomes and Issues of another walk that has ended."""
        self.documents += other.documents
        self.issues += other.issues
        self.counts += other.counts
        self.statuses += other.statuses
        self.left_out += other.left_out
        self.entries += other.entries
        self.undated += other.undated
        self.future += other.future
        self.without_language += other.without_language
        self.bytes_raw += other.bytes_raw
        self._lost |= other._lost

    def note_fault(self) -> None:
        """Record that a bug, or a function of the caller's, has ended the walk."""
        self._lost = True

    def count_skipped(self, reason: str, number: int) -> None:
        """Count skipped sitemaps for whose outcomes there is no room."""
        self.statuses[Status.SKIPPED] += number
        self.left_out[reason] += number
        if reason not in NOTHING_LOST:
            self._lost = True

    @contextmanager
    def ensure_outcome(self, document: Document) -> Iterator[Document]:
        """Record an outcome of a document even if its reading is cancelled or raises."""
        try:
            yield document
        except BaseException:
            status = Status.SKIPPED
            if document.listed or document.children:
                status = Status.PARTIAL
            self.end_document(document, status, LEFT_EARLY)
            raise


def _name_keys(counts: Mapping[Any, int]) -> dict[str, int]:
    """Return counts by the names of their enum members, as JSON has them."""
    return {str(key): count for key, count in counts.items()}


# -- the tree

Tree: TypeAlias = "list[tuple[Document, Tree]]"
"""Documents, each with its children."""
_FORKS = ("├── ", "│   ", "└── ", "    ")
"""Texts before a document and below it; then the same for the last child of a parent."""
_ASCII_FORKS = ("|-- ", "|   ", "`-- ", "    ")


def build_tree(documents: Iterable[Document]) -> Tree:
    """Put documents below their parents, by URL; return the roots.

    Probed paths without a sitemap, and a robots.txt fetched only for its rules, are left out.
    """
    shown = [
        each for each in documents if each.via is not None and not _is_missed(each)
    ]
    shown.sort(key=attrgetter("url"))
    nodes: Tree = [(document, []) for document in shown]
    # Of several that have a URL, by a redirect, one that lists something counts.
    by_url: dict[str, tuple[Document, Tree]] = {}
    for node in sorted(nodes, key=lambda node: node[0].children > 0):
        document, _ = node
        by_url[document.final_url] = node
        by_url[document.url] = node
    by_url.pop("", None)
    roots: Tree = []
    for node in nodes:
        document, _ = node
        parent = by_url.get(document.parent, node)
        if parent is node:
            roots.append(node)
        else:
            parent[1].append(node)
    return roots


def _is_missed(document: Document) -> bool:
    """Return whether a probe found nothing, or a page instead of a sitemap."""
    if document.status is not Status.SKIPPED or document.format is not None:
        return False
    return document.is_guess or document.final_url != ""


def _draw(
    nodes: Sequence[tuple[object, Tree]],
    forks: Sequence[str],
    indent: str = "",
) -> Iterator[str]:
    """Yield the lines of documents and, indented, of the ones below each."""
    for node in nodes:
        fork, below = forks[:2]
        if node is nodes[-1]:
            fork, below = forks[2:]
        text, children = node
        yield f"{indent}{fork}{text}"
        yield from _draw(children, forks, indent + below)


@attrs.define
class SiteTally:
    """The counts for the outcome of a site, while its walk runs."""

    site: str = ""
    changed: int | None = None
    """URLs that were known with another record; `None` without `changes`."""
    crawl_delay: float | None = None
    """As robots.txt asks for it."""
    address: str = ""
    """The address that was connected to first."""
    home: str = ""
    """The host of the site without "www.", until URLs are listed on it, or on two hosts."""
    hosts: dict[str, str] = attrs.field(factory=dict)
    """Hosts of the URLs listed until then: without "www." -> as written."""
    is_running: bool = False
    _began: float = attrs.field(factory=time.monotonic)
    _seconds: float | None = None

    def begin(self, site: str, *, counts_changes: bool) -> None:
        """Begin the walk over a site."""
        self.site = site
        if counts_changes:
            self.changed = 0
        self.is_running = True
        self._began = time.monotonic()

    def end(self) -> None:
        """End the walk: its time stands still."""
        self._seconds = self._count_seconds()
        self.is_running = False

    def _count_seconds(self) -> float:
        if self._seconds is None:
            return time.monotonic() - self._began
        return self._seconds

    def note_listed(self, rows: Rows) -> None:
        """Record where URLs are listed: the URLs of a copy are all on the original."""
        locs = get_column(rows, "loc")
        if not self.home or not locs:
            return
        if self.home == host_of(locs[0]).removeprefix("www."):  # nearly always
            self.home = ""
            return
        origins = set()
        for loc in locs:
            parts = loc.split("/", 3)
            origins.add("/".join(parts[:3]))
        for host in map(host_of, origins):
            plain_host = host.removeprefix("www.")
            self.hosts[plain_host] = host
        if self.home in self.hosts or len(self.hosts) > 1:
            self.home = ""

    def note_entries(self, rows: Rows) -> None:
        """Count the changes among URLs that are delivered."""
        if self.changed is not None:
            self.changed += get_column(rows, "change").count(Change.CHANGED)

    def make_outcome(self, report: Report) -> SiteOutcome:
        """Return the outcome of the walk, as it stands."""
        documents = report.documents
        lost = [document for document in documents if document.is_lost]
        status = _judge_search(report, lost)
        reason = ""
        if not status.is_whole:
            reason = _find_reason(status, report, lost)
        finished = sum(report.statuses[each] for each in FINISHED_STATUSES)
        for document in documents:
            if document.role is Role.SITEMAP:
                continue
            finished -= document.status in FINISHED_STATUSES
        # the start page of a site that demands a login is not requested any more
        refused = [each for each in documents if each.reason == _REFUSED_REASON]
        statuses = [each.http_status for each in lost + refused if each.http_status]
        waits = [
            document.retry_after_seconds
            for document in documents
            if document.retry_after_seconds is not None
        ]
        return SiteOutcome(
            self.site,
            status,
            reason=reason,
            http_status=next(iter(statuses), None),
            entries=report.entries,
            changed=self.changed,
            unlisted=report.unlisted,
            gone=report.gone,
            documents=finished,
            dropped=sum(document.dropped for document in documents),
            requests=sum(document.tries for document in documents),
            bytes=report.bytes_raw,
            seconds=self._count_seconds(),
            crawl_delay=self.crawl_delay,
            retry_after=max(waits, default=None),
            address=self.address,
        )


def _judge_search(report: Report, lost: list[Document]) -> SiteStatus:
    """Return the status of a walk over a site."""
    counts = report.counts
    has_news = report.entries or report.unlisted or report.gone
    was_read_before = report.statuses[Status.UNCHANGED] > 0
    has_urls = False
    for document in report.documents:
        was_read_before |= is_known(document)
        has_urls |= document.listed > 0
    if report.complete:
        if was_read_before and not has_news:
            return SiteStatus.UNCHANGED
        return SiteStatus.COMPLETE
    # no filter changes a status: it may have left unread what lists URLs
    may_list = not FILTERED.isdisjoint(+report.left_out)
    if report.entries or was_read_before or has_urls or may_list:
        return SiteStatus.PARTIAL
    is_answered = all(document.is_answered for document in lost)
    is_open = not is_answered or any(counts[code] for code in _OPEN_ISSUES)
    if counts[IssueCode.NO_SITEMAP] and not is_open:
        return SiteStatus.NONE
    return SiteStatus.FAILED


def _find_reason(
    status: SiteStatus,
    report: Report,
    lost: list[Document],
) -> str:
    """Return the first error that is not a consequence, or why a document was lost."""
    if status is SiteStatus.NONE:
        return str(IssueCode.NO_SITEMAP)
    counts = report.counts
    errors = list_errors(counts)
    reasons: list[str] = [each for each in errors if each != IssueCode.NO_SITEMAP]
    reasons += [document.reason for document in lost]
    reasons += [each for each in +report.left_out if each not in NOTHING_LOST]
    if counts[IssueCode.NO_SITEMAP]:
        reasons += [code for code in _OPEN_ISSUES if counts[code]]
    reasons += errors
    return str(next(iter(reasons), ""))
