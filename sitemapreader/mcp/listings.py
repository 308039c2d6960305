"""Listings: what a tool finds, of which an agent gets one page after another.

A tool writes rows while it reads a site. A page is answered as soon as it is full, at the end, or
after `PATIENCE_SECONDS`, because agents give up calls that take longer. The tool goes on meanwhile,
and a cursor gives the rest. So a site is read once, however many pages its listing has.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader.event_loop import end_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

MAX_ROWS = 500
"""Rows of one answer."""
MAX_ROW_BYTES = 36_000
"""Rows of one answer, as JSON; with what is said of them an answer has 50 KB at most."""
MAX_LISTINGS = 16
"""Listings that are kept; a new one takes the place of the oldest that is at its end."""
PATIENCE_SECONDS = 25.0
"""Longest wait for a page; clients give up after 60 seconds, and some earlier."""
_CURSOR = re.compile(r"([0-9a-f]{12})-([0-9]{1,15})")

Row: TypeAlias = dict[str, Any]


class CallError(ValueError):
    """A call that has no answer; the message says why, and what to do."""


@attrs.define(eq=False)
class Listing:
    """Rows as JSON lines in a file; the last one says how the listing ended.

    Attributes:
        name: what its rows are called in answers.
        site: the URL that it is about.
    """

    name: str
    site: str
    _file: IO[bytes]
    _grown: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing is written any more."""
        return self._task is None or self._task.done()

    def begin(self, work: Callable[[Listing], Awaitable[Row]]) -> None:
        """Let a tool write rows, and return what is said at the end."""

        async def write_all() -> None:
            try:
                self.write([{"end": await work(self)}])
            finally:
                self._grown.set()

        self._task = asyncio.create_task(write_all(), name="sitemapreader.mcp")

    def write(self, rows: Iterable[Row]) -> None:
        """Append rows."""
        self._file.seek(0, 2)
        self._file.write("".join(f"{json.dumps(row)}\n" for row in rows).encode())
        self._file.flush()
        self._grown.set()

    async def read_page(self, offset: int, limit: int) -> tuple[list[Row], int, Row | None]:
        """Return rows from a place on, the place behind them, and what is said then.

        Waits until there are `limit` rows, but no longer than `PATIENCE_SECONDS`. Raises what ended
        the tool's work.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while True:
            self._grown.clear()
            rows, place, is_full, end = self._read(offset, limit)
            if is_full or end is not None:
                return rows, place, end
            if self._task is None or self._task.done():
                if self._task is not None:
                    self._task.result()
                raise CallError("this listing was interrupted: call again without a cursor")
            try:
                async with asyncio.timeout_at(deadline):
                    await self._grown.wait()
            except TimeoutError:
                return rows, place, None

    def _read(self, offset: int, limit: int) -> tuple[list[Row], int, bool, Row | None]:
        self._file.seek(max(0, offset - 1))
        if offset and self._file.read(1) != b"\n":
            raise CallError("there is no such cursor: write one as an answer gave it")
        text = self._file.read(MAX_ROW_BYTES)
        lines = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
        rows = [json.loads(line) for line in lines[: limit + 1]]
        if rows and "end" in rows[-1]:
            return rows[:-1], offset + sum(map(len, lines)), True, rows[-1]["end"]
        place = offset + sum(map(len, lines[:limit]))
        is_full = len(rows) >= limit or len(text) == MAX_ROW_BYTES
        return rows[:limit], place, is_full, None

    async def close(self) -> None:
        """End the work, and forget the rows."""
        if self._task is not None:
            await end_task(self._task)
        self._file.close()


@attrs.define(eq=False)
class ListingShelf:
    """The listings of a server, by the first part of their cursors."""

    _listings: dict[str, Listing] = attrs.field(factory=dict)

    async def add(self, listing: Listing) -> str:
        """Keep a listing, and return its name; raise CallError if too many are written."""
        if len(self._listings) >= MAX_LISTINGS:
            oldest = next((name for name, each in self._listings.items() if each.is_over), "")
            if not oldest:
                raise CallError(f"{MAX_LISTINGS} sites are being read: wait for some of them")
            await self.drop(oldest)
        name = secrets.token_hex(6)
        self._listings[name] = listing
        return name

    def find(self, cursor: str) -> tuple[str, Listing, int]:
        """Return the listing of a cursor, and its place; raise CallError."""
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise CallError("there is no such cursor: write one as an answer gave it")
        listing = self._listings.get(match[1])
        if listing is None:
            raise CallError(
                "the listing of this cursor is gone: later ones took its place, or the server was "
                "started anew. Call again without a cursor"
            )
        return match[1], listing, int(match[2])

    def is_busy(self, name: str, site: str) -> bool:
        """Return whether such a listing is being written."""
        several = self._listings.values()
        return any((each.name, each.site) == (name, site) and not each.is_over for each in several)

    async def drop(self, name: str) -> None:
        """End a listing."""
        await self._listings.pop(name).close()

    async def close(self) -> None:
        """End all listings."""
        for name in list(self._listings):
            await self.drop(name)
