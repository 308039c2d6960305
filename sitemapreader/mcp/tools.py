"""The tools of agents: a stranger's arguments, and bounded answers."""

from __future__ import annotations

import json
import re
from functools import partial
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.errors import advise_extra
from sitemapreader.issues import IssueCode, excerpt
from sitemapreader.many.sources import InvalidSiteError, check_task
from sitemapreader.mcp.listings import MAX_ROWS, CallError, Listing, ListingShelf
from sitemapreader.options import MAX_URL_CHARS, SITE_SECONDS, Limits
from sitemapreader.output.text import escape_urls
from sitemapreader.report import Report
from sitemapreader.state import State
from sitemapreader.urls import host_of, url_key
from sitemapreader.walker import discover, walk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sitemapreader.fetch.http import HttpFetcher
    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import Document
    from sitemapreader.walker import Discovery

    Row = dict[str, Any]
    Work = Callable[[Listing], Awaitable[Row]]

MAX_URLS = 1_000_000
"""URLs of one listing."""
LIMITS = Limits(walk_seconds=SITE_SECONDS)
_MAX_CHARS = 2_048
_MAX_CHARS_NOT_ASCII = 340
"""Longest URL of an answer; JSON writes a character that is not ASCII with up to 12 others."""
_MAX_TITLE = 200
_MAX_NAMED = 10
"""Documents that were not read, and kinds of Issues, that an answer names."""
_MEANINGS = {code.value: code.meaning for code in IssueCode}
_MAX_PATTERN = 500
_OF_EXPRESSIONS = re.compile(r"[\\^|(){}\[\]$]|\.[*+]")
"""What stands in regular expressions, and in no part of a URL that anybody would look for."""


def _make_pattern(text: str) -> str:
    """Return an expression for a part of a URL, in which `*` stands for anything."""
    # SECURITY: it is anchored, and each part is found once and never looked for again: the time
    # grows with the length of a URL, and with no power of it.
    if len(text) > _MAX_PATTERN or _OF_EXPRESSIONS.search(text):
        raise CallError(
            f"include: write a part of the URLs, of at most {_MAX_PATTERN} characters, such as "
            "/blog/2026; * stands for anything. Regular expressions are not taken"
        )
    parts = (rf"(?>.*?{re.escape(part)})" for part in text.split("*") if part)
    return rf"(?s:\A{''.join(parts)})"


def _show_url(url: str) -> Row:
    text = escape_urls([url])[0]
    most = _MAX_CHARS if text.isascii() else _MAX_CHARS_NOT_ASCII
    return {"url": text} if len(text) <= most else {"url": f"{text[:most]}…", "is_cut": True}


def _show_entry(entry: UrlEntry) -> Row:
    row = _show_url(entry.loc)
    if entry.change is not None:
        row["change"] = str(entry.change)
    if entry.lastmod is not None:
        row["lastmod"] = entry.lastmod.isoformat()
    if title := entry.title or (entry.news and entry.news.title):
        row["title"] = excerpt(title, _MAX_TITLE)
    return row


def _show_document(document: Document) -> Row:
    row = _show_url(document.url) | {
        "kind": str(document.format or document.role),
        "status": str(document.status),
        "why": _explain(document.reason),
        "urls": document.listed,
        "sitemaps": document.children,
        "bytes": document.bytes_raw,
        "listed_by": excerpt(document.parent),
    }
    return {name: value for name, value in row.items() if value}


def _explain(reason: str) -> str:
    """Return the reason of an outcome with what it means."""
    return f"{reason}: {_MEANINGS[reason]}" if reason in _MEANINGS else reason


def _tell_end(found: Report | Discovery) -> Row:
    """Return what is said at the end: whether all was read, and what was not."""
    lost = [each for each in found.documents if each.is_lost]
    worst = sorted(found.counts.items(), key=lambda pair: (-pair[0].severity, -pair[1]))
    end = {"urls_in_all": found.entries} if isinstance(found, Report) else {}
    return end | {
        "complete": found.complete if isinstance(found, Report) else not lost,
        "answered": sum(each.is_answered for each in found.documents),
        "not_read": [
            {"url": excerpt(each.url), "status": str(each.status), "why": _explain(each.reason)}
            for each in lost[:_MAX_NAMED]
        ],
        "not_read_in_all": len(lost),
        "issues": {_explain(str(code)): count for code, count in worst[:_MAX_NAMED]},
    }


@attrs.define(eq=False)
class SiteTools:
    """The tools, with what they share: a fetcher, a folder, and the listings.

    Every site is a stranger's: it may lie at public addresses only, and at what the person who
    started the server allows in the fetcher's options.
    """

    _fetcher: HttpFetcher
    _folder: Path
    _shelf: ListingShelf = attrs.field(factory=ListingShelf)

    async def discover(self, site: str, limit: int = 100, cursor: str = "") -> str:
        """Find the sitemaps of a site: where they are, and how each was found."""

        async def work(listing: Listing) -> Row:
            found = await discover(url, fetcher=self._fetcher, trusted=False)
            listing.write(
                _show_url(each.loc) | {"found_by": str(each.via)} for each in found.sitemaps
            )
            return _tell_end(found)

        url = _check(site, limit)
        return await self._answer("sitemaps", url, limit, cursor, work)

    async def tree(self, site: str, limit: int = 100, cursor: str = "") -> str:
        """Read all sitemaps of a site: what each is, how it ended, how much it lists."""

        async def work(listing: Listing) -> Row:
            entries = walk(
                url,
                fetcher=self._fetcher,
                trusted=False,
                on_document=lambda document: listing.write([_show_document(document)]),
            )
            async with entries:
                async for _ in entries.rows():
                    pass
            return _tell_end(entries.report)

        url = _check(site, limit)
        return await self._answer("documents", url, limit, cursor, work)

    async def urls(
        self, site: str, include: str = "", since: str = "", limit: int = 100, cursor: str = ""
    ) -> str:
        """List the URLs that a site publishes in its sitemaps.

        include: a part of the URLs, such as /blog/; `*` stands for anything. since: a date; URLs
        without a date are listed too.
        """
        url = _check(site, limit)
        chosen: dict[str, Any] = {"include": _make_pattern(include)} if include else {}
        if since:
            chosen["since"] = parse_lastmod(since[:_MAX_TITLE])
            if chosen["since"] is None:
                raise CallError("since: write a date, such as 2026-01-31")
        work = partial(self._list_entries, url, max_urls=MAX_URLS, **chosen)
        return await self._answer("urls", url, limit, cursor, work)

    async def changes(
        self, site: str, since_last: bool = True, limit: int = 100, cursor: str = ""
    ) -> str:
        """List the URLs that are new, changed or removed since the last call.

        The first call remembers all URLs and lists none. With since_last=false nothing is read: the
        changes that the last call found are listed once more.
        """
        url = _check(site, limit)
        key = blake2b(url_key(url).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        name = f"{re.sub('[^a-z0-9.-]', '_', host_of(url))[:60]}-{key}"
        path = self._folder / f"{name}.jsonl"
        is_first = not path.exists()
        if cursor:
            return await self._answer("changes", url, limit, cursor, None)
        if is_first and not since_last:
            raise CallError("no call has looked for changes of this site: since_last=true does")
        state = State(self._folder / f"{name}.db")

        async def work(listing: Listing) -> Row:
            arguments = {"state": state, "changes": True, "removed": True}
            if not is_first:
                return await self._list_entries(url, listing, **arguments)
            end = await self._list_entries(url, None, **arguments)
            end["note"] = "this was the first call: all URLs are remembered, and none is listed"
            if end["answered"]:
                path.write_text(json.dumps({"end": end}) + "\n", "ascii")
            return end

        if self._shelf.is_busy("changes", url):
            raise CallError("changes of this site are being looked for: ask with the cursor")
        if is_first:
            return await self._answer("changes", url, limit, cursor, work)
        file = path.open("r+b")
        if since_last and not _is_interrupted(state):
            file.truncate()
        elif since_last:  # its walk is resumed: what it found is not found again
            text = file.read()
            file.truncate(text.rfind(b"\n") + 1)
        return await self._answer("changes", url, limit, "", work if since_last else None, file)

    async def audit(self, site: str, rules: str = "", limit: int = 100, cursor: str = "") -> str:
        """Judge the sitemaps of a site by rules: what is wrong, how often, and what to do.

        rules: codes or categories of rules, separated by commas, such as hreflang,url-*; all by
        default.
        """
        url = _check(site, limit)
        select = [word.strip() for word in rules[:_MAX_CHARS].split(",") if word.strip()]

        async def work(listing: Listing) -> Row:
            try:
                from sitemapreader.audit import audit  # noqa: PLC0415 (another extra)
            except ModuleNotFoundError as error:
                raise CallError(f"an audit needs {error.name}; {advise_extra('audit')}") from None
            try:
                result = await audit(url, select=select, fetcher=self._fetcher, trusted=False)
            except ValueError as error:
                raise CallError(f"rules: {error}") from None
            with result:
                listing.write(
                    {
                        "rule": each.code,
                        "severity": each.severity.name.lower(),
                        "what": each.rule.title,
                        "count": each.count,
                        "of": each.of,
                        "advice": each.rule.advice,
                        "examples": [excerpt(hit.url or hit.document) for hit in each.examples[:3]],
                    }
                    for each in result.findings
                )
                return _tell_end(result.report)

        return await self._answer("findings", url, limit, cursor, work)

    async def close(self) -> None:
        """End all that is under way."""
        await self._shelf.close()

    async def _list_entries(self, url: str, listing: Listing | None, **arguments: Any) -> Row:
        entries = walk(url, fetcher=self._fetcher, trusted=False, **arguments)
        async with entries:
            async for batch in entries.batches():
                if listing is not None:
                    listing.write(map(_show_entry, batch))
        return _tell_end(entries.report)

    async def _answer(
        self,
        name: str,
        url: str,
        limit: int,
        cursor: str,
        work: Work | None,
        file: Any = None,
    ) -> str:
        """Return a page of a listing, which is begun if there is no cursor."""
        if cursor:
            key, listing, offset = self._shelf.find(cursor)
            if (listing.name, listing.site) != (name, url):
                raise CallError("this cursor belongs to another tool or site")
        else:
            file = file or TemporaryFile(dir=self._folder)  # noqa: SIM115 (the listing closes it)
            listing, offset = Listing(name, url, file), 0
            key = await self._shelf.add(listing)
            if work is not None:
                listing.begin(work)
        try:
            rows, place, end = await listing.read_page(offset, limit)
        except BaseException:
            if not cursor:  # nobody can ask for the rest
                await self._shelf.drop(key)
            raise
        answer: Row = {"site": url, name: rows}
        if end is None:
            answer |= {"next_cursor": f"{key}-{place}", "is_still_reading": not listing.is_over}
        elif not end["complete"] and not end["answered"]:
            raise CallError(f"nothing was read: {'; '.join(end['issues'])}")
        else:
            answer |= end
        return json.dumps(answer)


def _is_interrupted(state: State) -> bool:
    return state.path.exists() and any(site.finished is None for site in state.sites())


def _check(text: str, limit: int) -> str:
    """Return the URL of a site; raise CallError."""
    if not 1 <= limit <= MAX_ROWS:
        raise CallError(f"limit: write a whole number from 1 to {MAX_ROWS}")
    try:
        checked = check_task(text[:MAX_URL_CHARS])
    except InvalidSiteError:
        raise CallError("site: write a host or a URL, such as https://example.org/") from None
    if checked.login:
        raise CallError("site: write the URL without a user and a password")
    return checked.url
