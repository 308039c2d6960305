"""From a walk to filled tables: entries, then the report, then the derived tables."""

from __future__ import annotations

import asyncio
import re
from array import array
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import FINISHED_STATUSES, Document, Role, Status
from sitemapreader._types.urls import origin_of, url_key
from sitemapreader.audit.database import AuditDatabase, fill_values, read_queries
from sitemapreader.audit.rules import ABOUT_US
from sitemapreader.pages import RobotsCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sitemapreader import Report, Walk
    from sitemapreader.fetch import Fetcher

_QUERIES, _PREPARING, _ROBOTS = (
    read_queries(name) for name in ("loading", "preparing", "robots")
)
_EXTENSIONS = ("images", "videos", "news", "alternates")
"""Columns of entries that most of them do not have; each has a query `insert_…`."""
_ROWS_OF_INSERT = 50_000
"""Rows that are inserted at once: a query for each batch of the walk takes half as long again."""
_OF_EXTENSIONS = {
    "count_news": {"news"},
    "link_languages": {"alternate"},
    "judge_languages": {"news", "alternate"},
}
"""Queries that have nothing to compute if these tables are empty."""
_DOCUMENT_COLUMN_NAMES = (
    "url",
    "final_url",
    "parent",
    "role",
    "via",
    "format",
    "status",
    "reason",
    "http_status",
    "listed",
    "children",
    "dropped",
    "bytes_raw",
    "bytes_inflated",
    "etag",
    "content_type",
    "content_encoding",
    "first_byte_seconds",
    "wait_seconds",
)


class WalkLoader:
    """Loader of a walk into the database."""

    def __init__(
        self,
        database: AuditDatabase,
        on_document: Callable[[Document], object] | None = None,
    ) -> None:
        self._database = database
        self._on_document = on_document
        self._numbers: dict[str, int] = {}
        """URL of a document, after redirects -> its number, from 1."""
        self._rows = 0
        self._ended_at: dict[str, datetime] = {}

    def note_end(self, document: Document) -> None:
        """Record when a document got its outcome, and call the caller's function."""
        self._ended_at[document.url] = datetime.now(UTC)
        if self._on_document is not None:
            self._on_document(document)

    async def load(self, walk: Walk) -> None:
        """Read an entered walk to its end, while a thread inserts its entries."""
        inserting: asyncio.Task[None] | None = None
        waiting: list[pa.RecordBatch] = []
        try:
            async for batch in walk.record_batches():
                waiting.append(self._number(batch))
                if sum(map(len, waiting)) >= _ROWS_OF_INSERT:
                    if inserting is not None:
                        await inserting
                    inserting = asyncio.create_task(self._insert(waiting))
                    waiting = []
        finally:
            if inserting is not None:
                await inserting
        if waiting:
            await self._insert(waiting)

    async def _insert(self, batches: list[pa.RecordBatch]) -> None:
        """Insert the entries of some batches, in a thread."""
        rows = pa.Table.from_batches(batches)
        present = [name for name in _EXTENSIONS if _has_values(rows.column(name))]
        queries = [_QUERIES[f"insert_{name}"] for name in ("urls", *present)]
        await self._database.run_in_thread(partial(self._database.load, rows, queries))

    def _number(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with their ids, which rise within a document, and with its number."""
        ids = array("Q", range(self._rows + 1, self._rows + 1 + len(batch)))
        self._rows += len(batch)
        documents = array("I")
        runs = pc.run_end_encode(batch.column("sitemap"))
        for end, url in zip(
            runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True
        ):
            documents.extend(repeat(self._number_document(url), end - len(documents)))
        # `pa.array` would import pandas, if that is installed
        for name, numbers, kind in (
            ("id", ids, pa.uint64()),
            ("document", documents, pa.uint32()),
        ):
            shared = pa.Array.from_buffers(
                kind, len(batch), [None, pa.py_buffer(numbers)]
            )
            batch = batch.append_column(name, shared)
        return batch

    def _number_document(self, url: str) -> int:
        return self._numbers.setdefault(url, len(self._numbers) + 1)

    # -- the end of the walk

    def load_robots(self, walk: Walk) -> None:
        """Take the robots.txt files of a walk, by origin, if read to their end.

        A server without one allows everything; a folder without one says nothing about the site.
        """
        database = self._database
        for document in walk.report.documents:
            if document.role is Role.ROBOTS and (
                database.is_http or document.status is Status.COMPLETE
            ):
                robots = walk.robots_of(document.url)
                if robots is not None and robots.complete:
                    database.robots[origin_of(document.url)] = robots

    def load_report(self, report: Report, now: datetime | None) -> None:
        """Insert documents and Issues; `now` is the time if not that on the clock."""
        # Of several that have an address, one that was read counts, and one that has no other.
        documents = sorted(
            (each for each in report.documents if each.reason != IssueCode.CYCLE),
            key=lambda each: (
                each.status not in FINISHED_STATUSES,
                each.final_url != each.url,
            ),
        )
        addresses: set[str] = set()
        numbered: list[tuple[Document, int]] = []
        for place, document in enumerate(documents):
            address = document.final_url or document.url
            if document.role is not Role.SITEMAP or address in addresses:
                # entries name their sitemap by its address: this is not theirs, and no URL
                # begins with a NUL
                address = f"\0{place}"
            addresses.add(address)
            numbered.append((document, self._number_document(address)))
        by_url = {document.url: number for document, number in numbered}
        by_url |= {
            document.final_url: number
            for document, number in reversed(numbered)
            if document.final_url
        }
        database = self._database
        rows = []
        for document, number in numbered:
            fields = document.to_dict()
            rows.append(
                {
                    "id": number,
                    "parent_id": by_url.get(document.parent),
                    "fetched_at": _utc(now or self._ended_at.get(document.url)),
                    "lastmod": _utc(document.lastmod),
                    "last_modified": _utc(parse_lastmod(document.last_modified or "")),
                    **{name: fields[name] for name in _DOCUMENT_COLUMN_NAMES},
                }
            )
        database.insert_dicts("document", rows)
        about_us = [*map(str, ABOUT_US)]
        database.ask(
            _QUERIES["describe_documents"],
            is_http=database.is_http,
            about_us=about_us,
        )
        self._load_issues(report, by_url)

    def _load_issues(self, report: Report, by_url: dict[str, int]) -> None:
        # the start page of a folder is one that we look for, and no server answers for it
        pages = {
            each.url
            for each in report.documents
            if each.role is Role.PAGE and not self._database.is_http
        }
        issues = []
        for issue in report.issues:
            if issue.code is not IssueCode.HTTP_STATUS or issue.sitemap not in pages:
                row = issue.to_dict() | {"document": by_url.get(issue.sitemap)}
                is_about_site = issue.code is IssueCode.NO_SITEMAP
                if is_about_site and row["document"] is None:
                    row["url"] = issue.sitemap
                del row["sitemap"], row["dropped"]
                issues.append(row)
        self._database.insert_dicts("issue", issues)
        others = report.counts.copy()
        counts: list[tuple[IssueCode, int | None, int]] = []
        for document in report.documents:
            others -= document.counts
            counts += [
                (code, by_url[document.url], n)
                for code, n in document.counts.items()
                if code is not IssueCode.HTTP_STATUS or document.url not in pages
            ]
        counts += [(code, None, n) for code, n in others.items()]
        self._database.insert_rows(
            "issue_count",
            [(str(code), code.severity.name.lower(), *rest) for code, *rest in counts],
        )


def _has_values(column: pa.ChunkedArray) -> bool:
    if pa.types.is_list(column.type):
        return any(len(chunk.flatten()) > 0 for chunk in column.chunks)
    return bool(column.null_count < len(column))


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None)


def prepare(database: AuditDatabase, values: Mapping[str, object]) -> None:
    """Fill the tables that are computed from others; `values` are the figures."""
    extensions = {
        name for name in ("news", "alternate") if database.ask(f"FROM {name} LIMIT 1")
    }
    for name, query in _PREPARING.items():
        if name not in _OF_EXTENSIONS or _OF_EXTENSIONS[name] & extensions:
            database.ask(fill_values(query, values))


# -- robots.txt

MAX_FETCHED = 20
"""Number of origins whose robots.txt is fetched after the walk: the ones with most URLs."""
_MAX_PIECES = 500
"""Number of pieces beyond which a robots.txt is evaluated for every URL."""


async def fetch_robots(
    database: AuditDatabase,
    fetcher: Fetcher,
    agent: str,
    *,
    seconds: float,
) -> None:
    """Read the robots.txt of other origins with URLs or images, unless it fails.

    A host that asks to wait for longer than `seconds` from now is not waited for.
    """
    until = asyncio.get_running_loop().time() + seconds
    rules = RobotsCache(fetcher, agent, until=until)
    most = MAX_FETCHED + len(database.robots)
    for origin in database.ask_column(_QUERIES["origins"], limit=most):
        if origin not in database.robots and len(database.robots) < most:
            with suppress(FetchError):
                robots = await rules.find(origin)
                if robots.complete:
                    database.robots[origin] = robots


def judge_robots(database: AuditDatabase, agents: Iterable[str]) -> None:
    """Fill the tables of URLs that the robots.txt files allow or forbid."""
    ask = database.ask
    is_refused = database.is_refused
    ask(_ROBOTS["list_read"])
    for origin, each in database.robots.items():
        ask(_ROBOTS["add_fetched"], origin=origin, sitemaps=len(each.sitemaps))
    for origin, each in database.robots.items():
        keys = [url_key(entry.loc) for entry in each.sitemaps]
        ask(_ROBOTS["allow_cross_submits"], host=origin.partition("://")[2], keys=keys)
        for agent in agents:
            passed = {"origin": origin, "agent": agent}
            refused = 0
            if pieces := each.list_disallowed_pieces(agent):
                # RE2 takes the pieces at once
                words = [""] if len(pieces) > _MAX_PIECES else map(re.escape, pieces)
                found = passed | {"pieces": "|".join(words)}
                refused = database.ask_value(_ROBOTS["judge_urls"], **found)
                for kind in ("judge_images", "judge_sitemaps"):
                    ask(_ROBOTS[kind], **found)
            if all(
                is_refused(origin, agent, f"{origin}/{path}")
                for path in ("", "any/other")
            ):
                ask(_ROBOTS["block_site"], **passed, refused=refused)
