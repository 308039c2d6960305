"""The tools of agents: a stranger's arguments, and bounded answers."""

# No `from __future__ import annotations`: the SDK reads the annotations of tools.

import asyncio
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from fnmatch import translate
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import attrs
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from sitemapreader.dates import When, parse_lastmod
from sitemapreader.errors import advise_extra
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.issues import IssueCode, excerpt
from sitemapreader.many.sources import InvalidSiteError, check_task
from sitemapreader.models import UrlEntry
from sitemapreader.options import Limits
from sitemapreader.report import Report
from sitemapreader.state import State
from sitemapreader.urls import host_of, url_key
from sitemapreader.walker import Discovery, discover, walk

PATIENCE_SECONDS = 20.0
"""Time of a call that reads a site; clients give up after 60 seconds, and some earlier."""
LIMITS = Limits(walk_seconds=PATIENCE_SECONDS)
_MAX_ROW_BYTES = 13_000
"""Rows of one answer, as JSON. An answer has them twice, as structure and as text: 50,000 bytes."""
_MAX_CHARS = 1_000
"""Longest URL of a call or an answer; a longer one is cut, and ends with an ellipsis."""
_MAX_TITLE = 200
_MAX_NAMED = 10
"""Documents that were not read, and kinds of Issues, that an answer names."""
_MEANINGS = {code.value: code.meaning for code in IssueCode}
_SPAN = re.compile(r"(\d{1,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

# -- arguments: what is said of each is also said of a wrong one

Site = Annotated[
    str,
    Field(description="host or URL of a public site, such as example.org", max_length=_MAX_CHARS),
]
Limit = Annotated[int, Field(description="most rows of the answer, from 1 to 500", ge=1, le=500)]
Offset = Annotated[
    int,
    Field(
        description="rows to leave out, as next_offset says. The site is read again, and its rows "
        "may come in another order: rather choose by other arguments. From 0 to 1,000,000",
        ge=0,
        le=1_000_000,
    ),
]
Part = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\\^|(){}\[\]$]*$")]
Include = Annotated[
    list[Part],
    Field(
        description='parts of URLs, of which one must be in a URL, such as ["/blog/", "/2026/*/de"]'
        "; * stands for anything, regular expressions are not taken. At most 20 of 200 characters",
        max_length=20,
    ),
]
Since = Annotated[
    str,
    Field(
        description="only URLs changed since then, or without a date: a span before now (12h, 7d, "
        "2w), a day (2026-01-31) or a moment (2026-01-31T10:00:00Z)",
        max_length=40,
    ),
]
SinceLast = Annotated[
    bool,
    Field(
        description="true: read the site, and list what is new since the last call that did so. "
        "false: read nothing, and repeat its answer, from offset on"
    ),
]
Rules = Annotated[
    list[Annotated[str, Field(max_length=100)]],
    Field(
        description='codes or categories of rules, such as ["hreflang", "url-*"]; all by default. '
        "At most 50 of 100 characters",
        max_length=50,
    ),
]

# -- answers


def _about(text: str, default: Any = ...) -> Any:
    return Field(default, description=text)


class LostDocument(BaseModel):
    """A document that was not read, or not to its end."""

    url: str
    status: str
    why: str


class SitemapRow(BaseModel):
    """A sitemap of the site."""

    url: str
    found_by: str = _about("robots: robots.txt names it; path: guessed; page: a page links to it")


class TreeRow(BaseModel):
    """robots.txt, a sitemap or an index."""

    url: str
    kind: str = _about("its format or role")
    status: str = _about("complete, partial, failed or skipped")
    why: str = _about("why it was not read completely", "")
    urls: int = _about("URLs that it lists", 0)
    sitemaps: int = _about("other sitemaps that it lists", 0)
    bytes: int = _about("size, as it came over the wire", 0)
    listed_by: str = _about("the document that names it", "")


class UrlRow(BaseModel):
    """A URL of the site."""

    url: str
    change: str | None = _about("new, changed or unlisted", None)
    lastmod: str | None = _about("when it was changed, by the sitemap", None)
    title: str | None = _about("its title, by the sitemap", None)


class FindingRow(BaseModel):
    """A rule that the sitemaps break."""

    rule: str
    severity: str
    what: str
    count: int = _about("how often")
    of: int | None = _about("out of how many", None)
    advice: str = _about("what to do")
    examples: list[str] = _about("up to three URLs or documents")


Row = TypeVar("Row")


class ToolAnswer(BaseModel, Generic[Row]):
    """Rows, and what every tool says of them."""

    site: str = _about("the URL that was read")
    rows: list[Row]
    complete: bool = _about("whether everything was read, and these are the last rows")
    reason: str = _about("why it is not complete, or why there are no rows", "")
    next_offset: int | None = _about("offset of the rows that follow; none: there are none", None)
    urls_in_all: int | None = _about("URLs in all documents that were read; of tree alone", None)
    documents_read: int = _about("documents that answered, robots.txt among them", 0)
    not_read: list[LostDocument] = _about("the first ten documents that were not read", [])
    not_read_in_all: int = _about("how many documents were not read", 0)
    issues: dict[str, int] = _about("the ten gravest kinds of faults -> how often", {})


@attrs.define
class _Page:
    """The rows of an answer, and whether more would follow."""

    offset: int
    limit: int
    rows: list[dict[str, Any]] = attrs.field(factory=list)
    is_full: bool = False
    _met: int = 0
    _bytes: int = 0

    def add(self, row: dict[str, Any]) -> bool:
        """Take a row, if it is not left out; return False if the answer is full."""
        self._met += 1
        if self._met > self.offset:
            self._bytes += len(json.dumps(row))
            self.is_full |= len(self.rows) >= self.limit or self._bytes > _MAX_ROW_BYTES
            if not self.is_full:
                self.rows.append(row)
        return not self.is_full

    def answer(self, kind: type[BaseModel], url: str, end: dict[str, Any]) -> CallToolResult:
        """Return the rows with what is said of them."""
        if self.is_full:
            end |= {
                "complete": False,
                "reason": "there are more rows than the answer has",
                "next_offset": self.offset + len(self.rows),
            }
        said = kind.model_validate(end | {"site": _show_url(url), "rows": self.rows})
        content = said.model_dump(mode="json", exclude_none=True)
        text = TextContent(type="text", text=json.dumps(content))
        return CallToolResult(content=[text], structured_content=content)


@attrs.define(eq=False)
class SiteTools:
    """The tools, with what they share: a fetcher, and a folder of states.

    Every site is a stranger's: it may lie at public addresses only, and at what the person who
    started the server allows in the fetcher's options.
    """

    _fetcher: HttpFetcher
    _folder: Path

    async def discover(
        self, site: Site, limit: Limit = 100, offset: Offset = 0
    ) -> Annotated[CallToolResult, ToolAnswer[SitemapRow]]:
        """Find the sitemaps of a site: where they are, and how each was found."""
        url, page = _check(site), _Page(offset, limit)
        found = await discover(url, fetcher=self._fetcher, trusted=False)
        for each in found.sitemaps:
            page.add({"url": _show_url(each.loc), "found_by": str(each.via)})
        return page.answer(ToolAnswer[SitemapRow], url, _describe_end(found))

    async def tree(
        self, site: Site, limit: Limit = 100, offset: Offset = 0
    ) -> Annotated[CallToolResult, ToolAnswer[TreeRow]]:
        """Read all sitemaps: what each is, how many URLs it lists, which failed, and why."""
        url, page = _check(site), _Page(offset, limit)
        async with walk(url, fetcher=self._fetcher, trusted=False) as entries:
            async for _ in entries.rows():
                pass
        report = entries.report
        for each in sorted(report.documents, key=lambda document: not document.is_lost):
            row = {
                "url": _show_url(each.url),
                "kind": str(each.format or each.role),
                "status": str(each.status),
                "why": _explain(each.reason),
                "urls": each.listed,
                "sitemaps": each.children,
                "bytes": each.bytes_raw,
                "listed_by": _show_url(each.parent),
            }
            page.add(row)
        end = _describe_end(report) | {"urls_in_all": report.entries}
        return page.answer(ToolAnswer[TreeRow], url, end)

    async def urls(
        self,
        site: Site,
        include: Include = [],  # noqa: B006 (only read; the SDK shows it in the schema)
        since: Since = "",
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Annotated[CallToolResult, ToolAnswer[UrlRow]]:
        """List the URLs that a site publishes in its sitemaps, with lastmod and title."""
        url, page = _check(site), _Page(offset, limit)
        chosen: dict[str, Any] = {"include": _make_pattern(include)} if include else {}
        if since:
            chosen["since"] = _parse_since(since)
        async with walk(url, fetcher=self._fetcher, trusted=False, **chosen) as entries:
            async for batch in entries.batches():
                if not all(map(page.add, map(_show_entry, batch))):
                    break
        return page.answer(ToolAnswer[UrlRow], url, _describe_end(entries.report))

    async def changes(
        self, site: Site, since_last: SinceLast = True, limit: Limit = 100, offset: Offset = 0
    ) -> Annotated[CallToolResult, ToolAnswer[UrlRow]]:
        """List the URLs that are new, changed or unlisted since the last call.

        The first call remembers all URLs and lists none. One that takes too long is gone on with by
        the next.
        """
        url, page = _check(site), _Page(offset, limit)
        key = blake2b(url_key(url).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        name = f"{re.sub('[^a-z0-9.-]', '_', host_of(url))[:60]}-{key}"
        path, state = self._folder / f"{name}.jsonl", State(self._folder / f"{name}.db")
        if since_last and offset:
            raise ToolError(
                "offset: rows that follow are those of the last answer: since_last=false"
            )
        if not since_last and not path.exists():
            raise ToolError("no call has looked for changes of this site: since_last=true does")
        end = await self._look_for_changes(url, path, state) if since_last else {}
        if path.exists():
            with path.open("rb") as file:
                for said in map(json.loads, file):
                    if "end" in said:
                        last = said["end"]
                    else:
                        page.add(said)
            end = end or last
        return page.answer(ToolAnswer[UrlRow], url, end)

    async def _look_for_changes(self, url: str, path: Path, state: State) -> dict[str, Any]:
        """Write changes into the file of a site; return what is said of them."""
        is_first, is_over = not path.exists(), False  # noqa: ASYNC240 (a name in our own folder)
        # What an interrupted call has found is not found again: it stays, and is listed again.
        is_new = not (is_first or _is_interrupted(state))
        remembers: dict[str, Any] = {"state": state, "changes": True, "unlisted": True}
        async with walk(url, fetcher=self._fetcher, trusted=False, **remembers) as entries:
            if is_new:
                path.write_bytes(b"")  # noqa: ASYNC240 (as above)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS * 0.9):
                    async for batch in entries.batches():
                        if not is_first:
                            _append(path, map(_show_entry, batch))
                    is_over = True
        end = _describe_end(entries.report)
        if not is_over:
            end |= {"complete": False, "reason": "this takes long: the next call goes on with it"}
        elif is_first:
            said = "this was the first call: all URLs are remembered, and none is listed"
            end["reason"] = "; ".join(filter(None, (end["reason"], said)))
        if is_over or not is_first:
            _append(path, [{"end": end}])
        return end

    async def audit(
        self,
        site: Site,
        rules: Rules = [],  # noqa: B006 (as above)
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Annotated[CallToolResult, ToolAnswer[FindingRow]]:
        """Judge the sitemaps of a site by rules: what is wrong, how often, and what to do."""
        url, page = _check(site), _Page(offset, limit)
        try:
            from sitemapreader.audit import audit  # noqa: PLC0415 (another extra)
        except ModuleNotFoundError as error:
            raise ToolError(f"an audit needs {error.name}; {advise_extra('audit')}") from None
        try:
            result = await audit(url, select=rules, fetcher=self._fetcher, trusted=False)
        except ValueError as error:
            raise ToolError(f"rules: {error}") from None
        with result:
            for each in result.findings:
                row = {
                    "rule": each.code,
                    "severity": each.severity.name.lower(),
                    "what": each.rule.title,
                    "count": each.count,
                    "of": each.of,
                    "advice": each.rule.advice,
                    "examples": [_show_url(hit.url or hit.document) for hit in each.examples[:3]],
                }
                page.add(row)
            return page.answer(ToolAnswer[FindingRow], url, _describe_end(result.report))


def _append(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("ab") as file:
        file.writelines(json.dumps(row).encode() + b"\n" for row in rows)


def _is_interrupted(state: State) -> bool:
    return state.path.exists() and any(site.finished is None for site in state.sites())


def _check(text: str) -> str:
    """Return the URL of a site; raise ToolError."""
    try:
        checked = check_task(text)
    except InvalidSiteError:
        raise ToolError("site: write a host or a URL, such as https://example.org/") from None
    if checked.login:
        raise ToolError("site: write the URL without a user and a password")
    return checked.url


def _parse_since(text: str) -> When:
    if span := _SPAN.fullmatch(text):
        return int(span[1]) * _UNITS[span[2]]
    if (moment := parse_lastmod(text)) is None:
        raise ToolError("since: write a span (7d), a day (2026-01-31) or a moment")
    return moment


def _make_pattern(parts: list[str]) -> str:
    """Return an expression for parts of URLs, in which `*` stands for anything."""
    # SECURITY: fnmatch finds what stands between two stars once, and never looks for it again.
    found = (translate(f"*{part}*".replace("?", "[?]")) for part in parts)
    return rf"\A(?:{'|'.join(found)})"


def _show_entry(entry: UrlEntry) -> dict[str, Any]:
    title = entry.title or (entry.news and entry.news.title)
    row = {
        "change": entry.change and str(entry.change),
        "lastmod": entry.lastmod and entry.lastmod.isoformat(),
        "title": title and excerpt(title, _MAX_TITLE),
    }
    return {"url": _show_url(entry.loc)} | {name: value for name, value in row.items() if value}


_show_url = partial(excerpt, limit=_MAX_CHARS)


def _explain(reason: str) -> str:
    """Return the reason of an outcome with what it means."""
    return f"{reason}: {_MEANINGS[reason]}" if reason in _MEANINGS else reason


def _describe_end(found: Report | Discovery) -> dict[str, Any]:
    """Return what is said at the end: whether all was read, and what was not, and why."""
    lost = [each for each in found.documents if each.is_lost]
    read = sum(each.is_answered for each in found.documents)
    worst = sorted(found.counts.items(), key=lambda pair: (-pair[0].severity, -pair[1]))
    issues = {_explain(str(code)): count for code, count in worst[:_MAX_NAMED]}
    complete = found.complete if isinstance(found, Report) else not lost
    if not complete and not read:
        raise ToolError(f"nothing was read: {'; '.join(issues)}")
    reason = ""
    for code in (IssueCode.NO_SITEMAP, IssueCode.BUDGET_SECONDS):
        if code in found.counts:
            reason = _explain(str(code))
    if lost and not reason:
        reason = f"{len(lost)} documents were not read: see not_read"
    return {
        "complete": complete,
        "reason": reason,
        "documents_read": read,
        "not_read": [
            {"url": _show_url(each.url), "status": str(each.status), "why": _explain(each.reason)}
            for each in lost[:_MAX_NAMED]
        ],
        "not_read_in_all": len(lost),
        "issues": issues,
    }
