"""PageAsker: asks the pages of unlisted URLs whether they are gone.

Only the status of a page is asked for. What answers 404 or 410 is gone if a listed page of the same
folder lives before and after: so a minute in which a deployment, or a section of it, answers 404 to
everything calls nothing gone.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode
from sitemapreader.state.pages import GONE, find_controls, find_due, find_folder, save_answers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from sitemapreader.discovery.context import UrlAllowance, WalkContext
    from sitemapreader.discovery.robots_rules import RobotsRules
    from sitemapreader.state.pages import DuePage
    from sitemapreader.walker.state_writer import StateWriter

_AT_ONCE = 50
"""Pages that are asked between two looks at a control page."""
_HEADERS = {"Accept": "text/html, */*;q=0.8"}
_REDIRECTED = 302


class PageAsker:
    """Asks pages by the fetcher, the rules and the limits of a walk.

    Args:
        context: of the walk.
        rules: of robots.txt.
        writer: of the walk's state.
        seconds: for how long to ask.
    """

    def __init__(
        self, context: WalkContext, rules: RobotsRules, writer: StateWriter, seconds: float
    ) -> None:
        self._context = context
        self._rules = rules
        self._writer = writer
        self._end = asyncio.get_running_loop().time() + seconds
        self._room = asyncio.Semaphore(context.options.concurrency)

    async def ask(self, limit: int | UrlAllowance) -> AsyncGenerator[None, None]:
        """Ask up to `limit` pages that are due; yield when some answers are saved."""
        groups: dict[str, list[DuePage]] = {}
        most = limit if isinstance(limit, int) else int(limit.left)
        pages = await self._writer.ask(find_due, self._writer.now, most)
        if not isinstance(limit, int):
            pages = pages[: limit.take(len(pages))]
        for page in pages:
            groups.setdefault(find_folder(page.loc), []).append(page)
        controls = await self._writer.work(find_controls, [*groups])
        for folder, pages in groups.items():
            for start in range(0, len(pages), _AT_ONCE):
                batch = pages[start : start + _AT_ONCE]
                try:
                    async with asyncio.timeout_at(self._end):
                        answers = await self._ask_batch(batch, controls[folder])
                except TimeoutError:
                    return
                await self._writer.work(save_answers, self._writer.now, answers)
                yield

    async def _ask_batch(
        self, pages: Sequence[DuePage], controls: Sequence[str]
    ) -> list[tuple[bytes, int | None]]:
        """Return what pages answer; `None` if nothing shows that this is true."""
        unknown: list[tuple[bytes, int | None]] = [(page.key, None) for page in pages]
        living = await self._find_living(controls)
        if living is None:
            return unknown
        statuses = await asyncio.gather(*(self._ask(page.loc) for page in pages))
        if not GONE.isdisjoint(statuses) and await self._find_living([living]) is None:
            return unknown
        return [(page.key, status) for page, status in zip(pages, statuses, strict=True)]

    async def _find_living(self, urls: Sequence[str]) -> str | None:
        for url in urls:
            status = await self._ask(url)
            if status is not None and 200 <= status < 400:
                return url
        return None

    async def _ask(self, url: str) -> int | None:
        """Return what a page answers; `None` if it must not be asked, or for no answer."""
        try:
            async with self._room:
                if not await self._rules.allows(url):
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
