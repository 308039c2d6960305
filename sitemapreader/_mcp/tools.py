"""The tools of agents: a stranger's arguments, and bounded results."""

# No `from __future__ import annotations`: the SDK reads the annotations of tools.

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from fnmatch import translate
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import attrs
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, BaseModel, Field

from sitemapreader._api import Discovery, discover, walk
from sitemapreader._many.sources import check_task
from sitemapreader._mcp.memory import (
    SiteMemory,
    keep_findings,
    open_private,
    read_findings,
)
from sitemapreader._types.arguments import Changes
from sitemapreader._types.counts import count_units
from sitemapreader._types.dates import parse_since
from sitemapreader._types.issues import IssueCode, excerpt, sort_by_severity
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.options import Limits
from sitemapreader._types.outcomes import Document
from sitemapreader._walk.memory import explain_no_status
from sitemapreader._walk.report import Report
from sitemapreader.changes import SiteState, State
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.presence import answer_urls

PATIENCE_SECONDS = 20.0
"""Time of a call that reads a site; clients give up after 60 seconds, and some earlier."""
LIMITS = Limits(walk_seconds=PATIENCE_SECONDS)
_MAX_ROW_BYTES = 13_000
"""Bytes of the rows of one result, as JSON. Structure and text each have them: 50,000 bytes."""
_MAX_CHARS = 1_000
"""Longest URL of a call or a result; a longer one is cut, and ends with an ellipsis."""
_MAX_TITLE = 200
_MAX_VISITS = 20
"""Pages that one call of `why` requests."""
_MAX_NAMED_DOCUMENTS = 10
"""Number of unread documents, and of kinds of Issues, that a result names."""
_MEANINGS_BY_CODE = {code.value: code.meaning for code in IssueCode}

# -- arguments: what is said of each is also said of a wrong one


def _about(text: str, **bounds: Any) -> Any:
    return Field(description=text, **bounds)


def _check_site(text: str) -> str:
    """Return the URL of a site; raise ValueError."""
    checked = check_task(text)
    if checked.login:
        raise ValueError("the site must not contain a login")
    return checked.url


Site = Annotated[
    str,
    _about(
        "host or URL of a public site, without a user and a password, such as example.org",
        max_length=_MAX_CHARS,
    ),
    AfterValidator(_check_site),
]
Limit = Annotated[
    int, _about("maximum rows of the result, from 1 to 500", ge=1, le=500)
]
Offset = Annotated[
    int,
    _about(
        "rows to leave out, as next_offset says. The site is read again, and its rows may come in "
        "another order: prefer other arguments to select rows. From 0 to 1,000,000",
        ge=0,
        le=1_000_000,
    ),
]
Part = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[^\\^|(){}\[\]$]*$")
]
Include = Annotated[
    list[Part],
    _about(
        'a list of parts of URLs; a URL must contain at least one, such as ["/blog/", '
        '"/2026/*/de", "https://example.org/docs/"]. * matches any text; '
        "regular expressions are not allowed. At most 20 of 200 characters",
        max_length=20,
    ),
]
Exclude = Annotated[
    list[Part],
    _about(
        'a list of parts of URLs; a URL must contain none of them, such as ["/de/", "?page="]. '
        "As include",
        max_length=20,
    ),
]
_LANGUAGE_CODE = "[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*"
Language = Annotated[
    str,
    _about(
        "only URLs whose record names one of these languages, by hreflang or news: codes, such as "
        "en or en,pt-BR; und stands for records that name none. At most 100 characters",
        pattern=f"^({_LANGUAGE_CODE}(,{_LANGUAGE_CODE})*)?$",
        max_length=100,
    ),
]
Since = Annotated[
    str,
    _about(
        "only URLs that changed since this moment or have no date: a span before now (12h, 7d, "
        "2w), a day "
        "(2026-01-31) or a moment (2026-01-31T10:00:00Z)",
        max_length=40,
    ),
]
_AskedUrl = Annotated[str, Field(min_length=1, max_length=_MAX_CHARS)]
AskedUrls = Annotated[
    list[_AskedUrl],
    _about(
        "a list of URLs as they should be listed, such as "
        '["https://example.org/page"]; from 1 to 20',
        min_length=1,
        max_length=20,
    ),
]
SinceLast = Annotated[
    bool,
    _about(
        "true: read the site, and list what is new since the last call that did so. false: read "
        "nothing, and repeat its answer, from offset on"
    ),
]
Window = Annotated[
    str,
    _about(
        "list what calls have found since this moment, again if need be: a span before now (12h, "
        "7d, 2w), a day (2026-01-31) or a moment. Findings are kept for 90 days",
        max_length=40,
    ),
]
Shown = Annotated[
    str,
    _about(
        "changes; or all remembered URLs that are unlisted, or that are waiting: missing, and "
        "not unlisted before a later call confirms it. unlisted and waiting read nothing: call "
        "with changes before",
        pattern="^(changes|unlisted|waiting)$",
        max_length=8,
    ),
]
ExactUrls = Annotated[
    list[_AskedUrl],
    _about(
        "a list of whole URLs: only these, letter for letter. At most 20, and not with include",
        max_length=20,
    ),
]

# -- results

_maybe = partial(_about, default=None, exclude_if=lambda value: value is None)

ToolRow = dict[str, str | int | list[str]]
"""A document, a URL or a finding: the description of each tool names its fields."""


class ToolAnswer(BaseModel):
    """Rows, and the fields that all tools have in common."""

    site: str = _about("the URL that was read")
    rows: list[ToolRow] = _about("as many rows as fit in the result", default=[])
    complete: bool = _about(
        "true if everything was read and these are the last rows", default=True
    )
    reason: str = _about("why it is not complete, or why there are no rows", default="")
    next_offset: int | None = _maybe("offset of the next rows, if there are any")
    urls_in_all: int | None = _maybe("URLs in all documents (only in tree)")
    documents_read: int = _about(
        "documents with a response in this call, including robots.txt", default=0
    )
    not_read: list[ToolRow] = _about(
        "the first ten documents that were not read: url, status, and why", default=[]
    )
    not_read_in_all: int = _about("how many documents were not read", default=0)
    issues: dict[str, int] = _about(
        "the ten most severe kinds of faults, and how often each occurs", default={}
    )

    def fill(
        self,
        rows: Iterable[Mapping[str, Any] | None],
        limit: int,
        offset: int,
    ) -> "ToolAnswer":
        """Add the rows that follow an offset, as far as there is room for them."""
        size = 0
        for row in filter(None, islice(rows, offset, None)):
            size += len(json.dumps(row))
            if len(self.rows) == limit or size > _MAX_ROW_BYTES:
                self.next_offset = offset + len(self.rows)
                self.complete = False
                self.reason = "there are more rows than fit in the result"
                break
            self.rows.append(dict(row))
        return self

    def remember(self, sites: Iterable[SiteState]) -> None:
        """Set the completeness of the last call that has read the site."""
        if all(site.complete for site in sites):
            self.reason = "nothing was read in this call"
        else:
            self.complete = False
            self.reason = (
                "nothing was read in this call, and the last one did not read all"
            )

    def describe(
        self, report: Report | Discovery, *, needs_documents: bool = True
    ) -> "ToolAnswer":
        """Set the completeness, and the sitemaps that were not read, with the reasons."""
        lost = [document for document in report.documents if document.is_lost]
        self.documents_read = sum(document.is_answered for document in report.documents)
        worst = sort_by_severity(report.counts)
        self.issues = {
            _explain_failure(str(code)): count
            for code, count in worst[:_MAX_NAMED_DOCUMENTS]
        }
        complete = not lost
        if isinstance(report, Report):
            complete = report.complete
        if needs_documents and not complete and not self.documents_read:
            raise ToolError(f"nothing was read: {'; '.join(self.issues)}")
        self.not_read = list(map(_show_document, lost[:_MAX_NAMED_DOCUMENTS]))
        self.not_read_in_all = len(lost)
        self.complete = complete
        if lost:
            self.reason = (
                f"{count_units(len(lost), 'documents')} not read: see not_read"
            )
        for code in (IssueCode.BUDGET_SECONDS, IssueCode.NO_SITEMAP):
            if code in report.counts:
                self.reason = _explain_failure(str(code))
                break
        return self


@attrs.define(eq=False)
class SiteTools:
    """The tools, with the fetcher and the folder of states that they share.

    Every site belongs to a stranger, so requests go only to public addresses, and to addresses that
    the user of the server allows in the fetcher's options.
    """

    _fetcher: HttpFetcher
    _memory: SiteMemory

    async def discover(
        self,
        site: Site,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> ToolAnswer:
        """Find the sitemaps of a site.

        Rows: url; found_by: robots (robots.txt names it), path (it was guessed) or page (a link).
        """
        discovery = await discover(site, fetcher=self._fetcher, trusted=False)
        rows = (
            {"url": _show_url(sitemap.loc), "found_by": str(sitemap.via)}
            for sitemap in discovery.sitemaps
        )
        answer = ToolAnswer(site=_show_url(site)).describe(discovery)
        return answer.fill(rows, limit, offset)

    async def tree(
        self,
        site: Site,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> ToolAnswer:
        """Read all sitemaps: the kind of each, its number of URLs, and the reasons of failures.

        Rows: url; kind, its format or role; status: complete, partial, failed or skipped; why it
        was not read completely; urls and sitemaps that it lists; bytes, as they came over the wire;
        listed_by, the document that names it.
        """
        async with walk(site, fetcher=self._fetcher, trusted=False) as entries:
            async for _ in entries.rows():
                pass
        report = entries.report
        rows: list[ToolRow] = [
            _show_document(document)
            | {
                "kind": str(document.format or document.role),
                "urls": document.listed,
                "sitemaps": document.children,
                "bytes": document.bytes_raw,
                "listed_by": _show_url(document.parent),
            }
            for document in sorted(
                report.documents, key=lambda document: not document.is_lost
            )
        ]
        answer = ToolAnswer(site=_show_url(site), urls_in_all=report.entries)
        return answer.describe(report).fill(rows, limit, offset)

    async def urls(
        self,
        site: Site,
        include: Include = [],  # noqa: B006 (only read; the SDK shows it in the schema)
        exclude: Exclude = [],  # noqa: B006 (the same)
        exact: ExactUrls = [],  # noqa: B006 (the same)
        since: Since = "",
        language: Language = "",
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> ToolAnswer:
        """List the URLs that a site publishes in its sitemaps.

        Rows: url; lastmod and title, by the sitemap.
        """
        if include and exact:
            raise ToolError("exact: use it without include")
        chosen: dict[str, Any] = {"language": language}
        if include:
            chosen["include"] = _make_pattern(include)
        if exclude:
            chosen["exclude"] = _make_pattern(exclude)
        if exact:
            chosen["include"] = rf"\A(?:{'|'.join(map(re.escape, exact))})\Z"
        if since:
            chosen["since"] = _parse_moment(since)
        rows: list[dict[str, str] | None] = []
        async with walk(
            site, fetcher=self._fetcher, trusted=False, **chosen
        ) as entries:
            async for entry in entries:
                rows.append(None if len(rows) < offset else _show_entry(entry))
                if len(rows) > offset + limit:
                    break
        answer = ToolAnswer(site=_show_url(site)).describe(entries.report)
        return answer.fill(rows, limit, offset)

    async def why(self, site: Site, urls: AskedUrls) -> ToolAnswer:
        """Explain for each URL whether the sitemaps of a site list it, and if not, why not.

        Rows: url; verdict: listed, not listed or unknown (a sitemap was not read); causes, as
        sentences that name the place.
        """
        state = None
        rows = self._memory.find_rows(site)
        if rows.exists():  # a call of `changes` has ended
            state = State(rows.with_suffix(".db"))
        answers = await answer_urls(
            urls,
            site,
            state=state,
            fetcher=self._fetcher,
            trusted=False,
            max_visits=_MAX_VISITS,
        )
        found = (
            {
                "url": _show_url(explanation.url),
                "verdict": str(explanation.verdict),
                "causes": [
                    excerpt(cause.message, _MAX_CHARS) for cause in explanation.causes
                ],
            }
            for explanation in answers.explanations
        )
        answer = ToolAnswer(site=_show_url(site))
        for report in answers.reports:  # one, unless no question is a URL
            answer.describe(report, needs_documents=False)
        return answer.fill(found, len(urls), 0)

    async def changes(
        self,
        site: Site,
        since_last: SinceLast = True,
        since: Window = "",
        show: Shown = "changes",
        include: Include = [],  # noqa: B006 (only read; the SDK shows it in the schema)
        exclude: Exclude = [],  # noqa: B006 (the same)
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> ToolAnswer:
        """List the URLs that are new, changed or unlisted since the last call, or since a moment.

        The first call remembers all URLs and lists none of them. A call that takes too long is
        continued by the next. Rows: url; change: new, changed, unlisted or waiting; lastmod and
        title, by the sitemap; found_at, the moment of the call; of unlisted and waiting URLs, since
        when, last_listed_by, waits_for (the document that must be read before; the site itself if a
        later call must confirm it), and no_status (why a request for the page proved nothing).
        """
        rows = self._memory.find_rows(site)
        answer = ToolAnswer(site=_show_url(site))
        reads = since_last and show == "changes"
        if reads and offset:
            raise ToolError(
                "offset: use since_last=false to get more rows of the last answer"
            )
        moment = _parse_moment(since) if since else None
        state = State(rows.with_suffix(".db"))
        with self._memory.use(rows), ExitStack() as stack:
            file_of_rows = rows
            if reads:
                file_of_rows = await self._find_changes(site, rows, answer)
            elif not rows.exists():
                raise ToolError(
                    "no call has compared this site yet: use since_last=true and show=changes"
                )
            else:
                answer.remember(state.sites())
            found: Iterable[dict[str, str]]
            if show != "changes":
                found = _list_missing(state, show)
                if moment is not None:
                    found = (row for row in found if row["since"] >= _write(moment))
            elif file_of_rows != rows:  # interrupted
                found = map(json.loads, stack.enter_context(file_of_rows.open("rb")))
            else:
                found = read_findings(rows, moment)
            if include:
                wanted = re.compile(_make_pattern(include))
                found = (row for row in found if wanted.match(row["url"]))
            if exclude:
                unwanted = re.compile(_make_pattern(exclude))
                found = (row for row in found if not unwanted.match(row["url"]))
            return answer.fill(found, limit, offset)

    async def _find_changes(
        self,
        site: str,
        rows: Path,
        answer: ToolAnswer,
    ) -> Path:
        """Write changes into a second file, which becomes `rows` at the end; return the file."""
        is_first = not rows.exists()  # noqa: ASYNC240 (names in our own folder)
        is_over = False
        changes = Changes(rows.with_suffix(".db"), unlisted=True)
        unfinished = rows.with_suffix(".part")
        with open_private(unfinished) as part:
            async with walk(
                site, fetcher=self._fetcher, trusted=False, state=changes
            ) as entries:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE_SECONDS * 0.9):
                        async for batch in entries.batches():
                            # Changes of an interrupted call stay in the file, because the next
                            # call does not find them again.
                            if not is_first:
                                lines = [
                                    json.dumps(_show_entry(each)) for each in batch
                                ]
                                part.write(
                                    "".join(f"{line}\n" for line in lines).encode()
                                )
                        is_over = True
        answer.describe(entries.report)
        if not is_over:
            answer.complete = False
            answer.reason = "this takes long: call again to continue"
            return unfinished
        if is_first:
            note = "this was the first call: all URLs were recorded, and none is listed"
            answer.reason = "; ".join(filter(None, (answer.reason, note)))
        keep_findings(rows, unfinished, datetime.now(UTC))
        return rows

    async def audit(
        self,
        site: Site,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> ToolAnswer:
        """Judge the sitemaps of a site by rules: its faults, and how to mend them.

        Rows: rule, severity, what is wrong, count out of how many (of), advice, and examples, up to
        three URLs or documents.
        """
        from sitemapreader.audit import audit  # noqa: PLC0415 (another extra)

        with await audit(site, fetcher=self._fetcher, trusted=False) as result:
            rows = (
                {
                    "rule": each.rule.code,
                    "severity": each.severity.lower(),
                    "what": each.rule.title,
                    "count": each.count,
                    "of": each.of,
                    "advice": each.rule.advice,
                    "examples": [
                        _show_url(hit.url or hit.document) for hit in each.examples[:3]
                    ],
                }
                for each in result.findings
            )
            return (
                ToolAnswer(site=_show_url(site))
                .describe(result.report)
                .fill(rows, limit, offset)
            )


def _parse_moment(text: str) -> datetime:
    """Return the moment that a span, a day or a moment names; raise ToolError."""
    moment = parse_since(text)
    if moment is None:
        raise ToolError("since: write a span (7d), a day (2026-01-31) or a moment")
    return moment


def _list_missing(state: State, show: str) -> Iterator[dict[str, str]]:
    """Yield a row for each URL that is unlisted, or that waits to be."""
    urls = state.unlisted() if show == "unlisted" else state.waiting()
    for each in urls:
        row = {
            "url": _show_url(each.loc),
            "change": show,
            "since": _write(each.since),
            "last_listed_by": _show_url(each.document),
            "waits_for": _show_url(each.waits_for or ""),
            "no_status": explain_no_status(each.no_status or ""),
        }
        yield {name: text for name, text in row.items() if text}


def _write(moment: datetime | None) -> str:
    """Return a moment as text; texts compare as the moments do."""
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else ""


def _make_pattern(parts: list[str]) -> str:
    """Return an expression for parts of URLs, in which `*` stands for anything."""
    # SECURITY: fnmatch finds what stands between two stars once, and never looks for it again.
    found = (translate(f"*{part}*".replace("?", "[?]")) for part in parts)
    return rf"\A(?:{'|'.join(found)})"


def _show_entry(entry: UrlEntry) -> dict[str, str]:
    title = entry.title or (entry.news and entry.news.title)
    row = {
        "url": _show_url(entry.loc),
        "change": str(entry.change or ""),
        "lastmod": entry.lastmod.isoformat() if entry.lastmod else "",
        "title": excerpt(title or "", _MAX_TITLE),
    }
    return {name: text for name, text in row.items() if text}


def _show_document(document: Document) -> ToolRow:
    why = _explain_failure(document.reason)
    status = str(document.status)
    return {"url": _show_url(document.url), "status": status, "why": why}


_show_url = partial(excerpt, limit=_MAX_CHARS)


def _explain_failure(reason: str) -> str:
    """Return the reason of an outcome with its meaning."""
    if reason in _MEANINGS_BY_CODE:
        return f"{reason}: {_MEANINGS_BY_CODE[reason]}"
    return reason
