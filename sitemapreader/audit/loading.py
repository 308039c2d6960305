"""Loading of a walk into the database: entries at once, the report at its end."""

from __future__ import annotations

import asyncio
from array import array
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.rules import ABOUT_US, REFUSING_STATUSES
from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.outcomes import Document, Role, Status
from sitemapreader.output.arrow import make_array
from sitemapreader.urls import NORMAL_URL, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader.report import Report
    from sitemapreader.walker.walks import Walk

_TIME = pa.timestamp("us")
_NORMAL = f"^(?:{NORMAL_URL.pattern})$"
_FOLDER = "[a-z0-9_~-][a-z0-9_.~-]*"
SIMPLE_URL = rf"^https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+/(?:{_FOLDER}/)*(?:{_FOLDER})?$"
"""Normal URLs in which no rule about characters or parameters can find anything."""
_EXTENSIONS = {
    "images": ("image", ("loc", "title", "caption", "geo_location", "license")),
    "videos": (
        "video",
        (
            *("thumbnail_loc", "title", "description", "content_loc", "player_loc"),
            *("expiration_date", "publication_date", "duration"),
        ),
    ),
    "news": ("news", ("name", "language", "publication_date", "title")),
    "alternates": ("alternate", ("href", "hreflang", "media")),
}
"""Column of entries -> its table, and the fields that this has."""


@attrs.define
class RowNumbering:
    """The numbers of documents, as they come, and of rows."""

    documents: dict[str, int] = attrs.field(factory=dict)
    """URL of a document, after redirects -> its number, from 1."""
    positions: dict[int, int] = attrs.field(factory=dict)
    """Number of a document -> how many of its rows were numbered."""
    rows: int = 0

    def number_document(self, url: str) -> int:
        """Return the number of a document, a new one at its first mention."""
        return self.documents.setdefault(url, len(self.documents) + 1)

    def number_rows(self, sitemaps: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return for some rows their ids, their documents and their positions in these."""
        ids = array("Q", range(self.rows + 1, self.rows + 1 + len(sitemaps)))
        self.rows += len(sitemaps)
        documents, positions, begin = array("I"), array("I"), 0
        runs = pc.run_end_encode(sitemaps)
        for end, url in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            number, count = self.number_document(url), end - begin
            last = self.positions.get(number, 0)
            documents.extend(repeat(number, count))
            positions.extend(range(last + 1, last + 1 + count))
            self.positions[number] = last + count
            begin = end
        kinds = (pa.uint64(), pa.uint32(), pa.uint32())
        return tuple(map(_share, (ids, documents, positions), kinds))


def _share(numbers: array[int], kind: pa.DataType) -> pa.Array:
    """Return numbers as an array of Arrow that shares their memory."""
    # `pa.array` would import pandas, if that is installed.
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def make_rows(batch: pa.RecordBatch, numbering: RowNumbering) -> Iterator[tuple[str, pa.Table]]:
    """Yield tables of the database with the rows of some entries; none is empty."""
    ids, documents, positions = numbering.number_rows(batch.column("sitemap"))
    is_simple, other_keys = find_keys(batch.column("loc"))
    yield (
        "url_row",
        pa.table(
            {
                "id": ids,
                "document": documents,
                "position": positions,
                "loc": batch.column("loc"),
                "other_key": other_keys,
                "is_simple": is_simple,
                "lastmod": _without_zone(batch.column("lastmod")),
                "lastmod_text": batch.column("lastmod_text"),
                "changefreq": batch.column("changefreq"),
                "priority": batch.column("priority"),
            }
        ),
    )
    for column, (table, fields) in _EXTENSIONS.items():
        owners, values = _unpack(batch.column(column))
        if len(values):
            rows = {"url": ids.take(owners), "document": documents.take(owners)}
            rows |= {name: _without_zone(pc.struct_field(values, name)) for name in fields}
            if table == "alternate":
                rows["hreflang"] = pc.utf8_lower(rows["hreflang"])
                rows["key"] = make_keys(rows["href"])
            yield table, pa.table(rows)


def make_keys(urls: pa.Array) -> pa.Array:
    """Return the keys (`url_key`) of URLs."""
    _, other_keys = find_keys(urls)
    return pc.coalesce(other_keys, urls)


def find_keys(urls: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return which URLs are simple, and the keys of URLs that differ from their key."""
    # Nine of ten are simple or in normal form, which Arrow can see in a tenth of the time.
    is_simple = pc.match_substring_regex(urls, SIMPLE_URL)
    unusual = urls.filter(pc.invert(is_simple))
    # A key keeps escapes of bytes beyond ASCII.
    unescaped = pc.replace_substring_regex(unusual, "%[89A-F][0-9A-F]", "_")
    is_normal = pc.and_(
        pc.match_substring_regex(unescaped, _NORMAL), pc.invert(pc.match_substring(unusual, "/."))
    )
    locs = unusual.filter(pc.invert(is_normal)).to_pylist()
    keys = [key if (key := url_key(loc)) != loc else None for loc in locs]
    nothing = pa.nulls(len(unusual), pa.string())
    others = pc.replace_with_mask(nothing, pc.invert(is_normal), make_array(keys, pa.string()))
    nothing = pa.nulls(len(urls), pa.string())
    return is_simple, pc.replace_with_mask(nothing, pc.invert(is_simple), others)


def _unpack(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the structs of a column, and for each the row that it belongs to."""
    if pa.types.is_list(column.type):
        return pc.list_parent_indices(column), pc.list_flatten(column)
    owners = pc.indices_nonzero(pc.is_valid(column))
    return owners, column.take(owners)


def _without_zone(column: pa.Array) -> pa.Array:
    """Return times as UTC without a zone, as DuckDB needs them; keep other values."""
    return column.cast(_TIME) if pa.types.is_timestamp(column.type) else column


_QUERIES = read_queries("preparing")
_READ = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})


_DOCUMENT_FIELDS = (
    *("url", "final_url", "parent", "role", "via", "format", "status", "reason", "http_status"),
    *("listed", "children", "bytes_raw", "bytes_inflated", "etag", "content_type"),
    *("content_encoding", "first_byte_seconds", "wait_seconds"),
)


class WalkLoader:
    """Loader of a walk into the database."""

    def __init__(
        self, database: AuditDatabase, on_document: Callable[[Document], object] | None = None
    ) -> None:
        self._numbering = RowNumbering()
        self._database = database
        self._inserting: asyncio.Future[None] | None = None
        self._ended_at: dict[str, datetime] = {}
        self._on_document = on_document

    def note_end(self, document: Document) -> None:
        """Record when a document got its outcome, and call the caller's function."""
        self._ended_at[document.url] = datetime.now(UTC)
        if self._on_document is not None:
            self._on_document(document)

    async def load(self, walk: Walk) -> None:
        """Read an entered walk to its end; insert its entries in a thread meanwhile."""
        try:
            async for batch in walk.record_batches():
                await self._wait()
                inserting = self._database.run_in_thread(partial(self._insert, batch))
                self._inserting = asyncio.create_task(inserting)
        finally:
            await self._wait()

    async def _wait(self) -> None:
        inserting, self._inserting = self._inserting, None
        if inserting is not None:
            await inserting

    def _insert(self, batch: pa.RecordBatch) -> None:
        for table, rows in make_rows(batch, self._numbering):
            self._database.insert(table, rows)

    # -- the end of the walk

    def load_report(self, report: Report, *, is_http: bool, now: datetime | None) -> None:
        """Insert documents and Issues; `now` is the time if not that on the clock."""
        documents = sorted(report.documents, key=lambda each: each.status not in _READ)
        numbers = self._number_documents(documents)
        by_url = {each.url: number for each, number in zip(documents, numbers, strict=True)}
        by_url |= {
            each.final_url: number
            for each, number in zip(reversed(documents), reversed(numbers), strict=True)
            if each.final_url and each.role is Role.SITEMAP
        }
        rows = [
            {
                "id": number,
                "parent_id": by_url.get(document.parent),
                "fetched_at": _utc(now or self._ended_at.get(document.url)),
                **_describe(document, is_http=is_http),
            }
            for document, number in zip(documents, numbers, strict=True)
        ]
        self._database.insert_dicts("document", rows)
        self._database.ask(_QUERIES["rank_documents"])
        # the start page of a folder is one that we look for, and no server answers for it
        pages = {each.url for each in documents if each.role is Role.PAGE and not is_http}
        self._load_issues(report, by_url, pages)

    def _number_documents(self, documents: Iterable[Document]) -> list[int]:
        """Return the documents' numbers; one with entries keeps its number."""
        numbers: list[int] = []
        taken: set[str] = set()
        for document in documents:
            url = document.final_url or document.url
            if document.role is not Role.SITEMAP or url in taken:
                url = f"\0{len(numbers)}"  # no URL: a number of its own
            taken.add(url)
            numbers.append(self._numbering.number_document(url))
        return numbers

    def _load_issues(self, report: Report, by_url: dict[str, int], pages: set[str]) -> None:
        issues = [
            _describe_issue(issue, by_url.get(issue.sitemap))
            for issue in report.issues
            if issue.code is not IssueCode.HTTP_STATUS or issue.sitemap not in pages
        ]
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


def _describe(document: Document, *, is_http: bool) -> dict[str, Any]:
    """Return the row of a document."""
    fields = document.to_dict()
    row = {name: fields[name] for name in _DOCUMENT_FIELDS}
    return row | {
        "key": url_key(document.url),
        "final_key": url_key(document.final_url or document.url),
        "lastmod": _utc(document.lastmod),
        "last_modified": _utc(parse_lastmod(document.last_modified or "")),
        "is_http": is_http and bool(document.final_url),
        "is_excused": is_excused(document),
        "is_feed": document.format is not None and document.format.is_feed,
    }


def _describe_issue(issue: Issue, document: int | None) -> dict[str, Any]:
    """Return the row of an Issue: its fields, but its document by number."""
    row = issue.to_dict() | {"document": document}
    del row["sitemap"]
    return row


def is_excused(document: Document) -> bool:
    """Return whether it is not the fault of the site that a document was not read."""
    if document.status in (Status.COMPLETE, Status.UNCHANGED):
        return False
    return document.reason in ABOUT_US or document.http_status in REFUSING_STATUSES


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
