"""The pages of unlisted URLs: whether they are gone.

Only the status of a page is asked for: when its URL is unlisted, and again after 1, 2, 4 ... 32
days, until it is gone or listed again. What answers 404 or 410 is gone if a listed page of the same
folder lives before and after: so a minute in which a deployment, or a section of it, answers 404 to
everything calls nothing gone.
"""

from __future__ import annotations

import asyncio
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Sequence

    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.state_writer import StateWriter
    from sitemapreader.walker.context import UrlAllowance, WalkContext
    from sitemapreader.walker.robots_rules import RobotsRules

_AT_ONCE = 50
"""Pages that are asked between two looks at a control page."""
_HEADERS = {"Accept": "text/html, */*;q=0.8"}
_GONE = frozenset({404, 410})
_REDIRECTED = 302
_LAST_TRY = 5
"""Tries after which the pause grows no more: 32 days."""
_CONTROLS = 3
_ANSWERED = (
    "UPDATE page SET status = ?, asked_at = ?, tries = tries + 1,"
    " due = iif(?, NULL, ? + (1 << min(tries, ?)) * 86400.0) WHERE site = ? AND key = ?"
)


class PageAsker:
    """Asks pages by the fetcher, the rules, the limits and the state of a walk."""

    def __init__(self, context: WalkContext, rules: RobotsRules, writer: StateWriter) -> None:
        self._context = context
        self._rules = rules
        self._writer = writer
        self._room = asyncio.Semaphore(context.options.concurrency)

    async def ask(self, allowance: UrlAllowance) -> AsyncGenerator[None, None]:
        """Ask pages that are due; yield at first and between them."""
        yield
        sql = "SELECT key, loc FROM page WHERE site = ? AND due <= ? ORDER BY due, key LIMIT ?"
        file, site, name = self._writer.file, self._writer.run.site, self._writer.run.name
        due = site, self._writer.now, int(allowance.left)
        pages: list[tuple[bytes, str]] = await file.ask(lambda db: [*db.execute(sql, due)])
        pages = pages[: allowance.take(len(pages))]
        folders: dict[str, list[tuple[bytes, str]]] = {}
        for page in pages:
            folders.setdefault(_find_folder(page[1]), []).append(page)
        controls = await file.work(partial(_find_controls, site=site, folders=[*folders]), name)
        for folder, inside in folders.items():
            for start in range(0, len(inside), _AT_ONCE):
                batch = inside[start : start + _AT_ONCE]
                asking = self._ask_batch([loc for _, loc in batch], controls[folder])
                try:
                    statuses = await self._context.budget.within(asking, folder)
                except FetchError:  # the time is over
                    return
                now = self._writer.now
                answers = [
                    (each, now, each in _GONE, now, _LAST_TRY, site, key)
                    for (key, _), each in zip(batch, statuses, strict=True)
                ]
                await file.work(methodcaller("executemany", _ANSWERED, answers), name)
                yield

    async def _ask_batch(self, urls: Sequence[str], controls: Sequence[str]) -> list[int | None]:
        """Return what pages answer; `None` if nothing shows that this is true."""
        if living := await self._find_living(controls):
            statuses = await asyncio.gather(*map(self._ask, urls))
            if _GONE.isdisjoint(statuses) or await self._find_living([living]):
                return statuses
        return [None] * len(urls)

    async def _find_living(self, urls: Sequence[str]) -> str:
        for url in urls:
            status = await self._ask(url)
            if status is not None and 200 <= status < 400:
                return url
        return ""

    async def _ask(self, url: str) -> int | None:
        """Return what a page answers; `None` if it must not be asked, or for no answer."""
        try:
            async with self._room:
                if await self._rules.find_refusal(url, is_named=False):
                    return None
                opened = self._context.client.open(
                    url, headers=_HEADERS, check_redirect=_refuse_redirect
                )
                async with opened as response:
                    return response.status
        except FetchError as error:
            if error.code is IssueCode.TOO_MANY_REDIRECTS or error.redirects:
                return _REDIRECTED
            return error.http_status


async def _refuse_redirect(url: str) -> None:
    raise FetchError(IssueCode.TOO_MANY_REDIRECTS, url)


def _find_controls(db: Connection, site: int, folders: Collection[str]) -> dict[str, list[str]]:
    """Return up to three listed URLs of each folder; else of its host, else its start."""
    listed: dict[str, list[str]] = {each: [] for each in folders}
    listed |= {_find_host(each): [] for each in folders}
    rows = db.execute("SELECT loc FROM url WHERE site = ? AND lost_run IS NULL", (site,))
    for (loc,) in rows:
        for place in {_find_folder(loc), _find_host(loc)} & listed.keys():
            if len(listed[place]) < _CONTROLS and loc not in listed[place]:
                listed[place].append(loc)
    hosts = {each: _find_host(each) for each in folders}
    return {each: listed[each] or listed[hosts[each]] or [hosts[each]] for each in folders}


def _find_folder(loc: str) -> str:
    """Return the beginning of a URL up to its first folder; else up to its host."""
    host = _find_host(loc)
    return loc[: loc.find("/", len(host)) + 1] or host


def _find_host(loc: str) -> str:
    """Return the beginning of a URL up to its host."""
    end = loc.find("/", 8) + 1
    return loc[:end] if end else f"{loc}/"
