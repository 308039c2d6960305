"""Record batches of entries as rows of the audit's tables."""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sitemapreader.output.arrow import make_array
from sitemapreader.urls import NORMAL_URL, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELDS = (
    "loc",
    "lastmod",
    "changefreq",
    "priority",
    "sitemap",
    "lastmod_text",
    "images",
    "videos",
    "news",
    "alternates",
)
"""The columns of entries that an audit needs."""
_TIME = pa.timestamp("us")
_NORMAL = f"^(?:{NORMAL_URL.pattern})$"
_FOLDER = "[a-z0-9_~-][a-z0-9_.~-]*"
_SIMPLE = rf"^https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+/(?:{_FOLDER}/)*(?:{_FOLDER})?$"
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
    """The numbers of documents and of rows; documents are numbered as they come.

    Attributes:
        documents: URL of a document, after redirects -> its number, from 1.
        positions: number of a document -> how many of its rows were numbered.
        rows: how many rows were numbered.
    """

    documents: dict[str, int] = attrs.field(factory=dict)
    positions: dict[int, int] = attrs.field(factory=dict)
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
        return (
            _share(ids, pa.uint64()),
            _share(documents, pa.uint32()),
            _share(positions, pa.uint32()),
        )


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
    is_simple = pc.match_substring_regex(urls, _SIMPLE)
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
