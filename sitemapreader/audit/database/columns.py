"""Record batches of entries as rows of the audit's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.compute as pc

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
        ids = pa.array(range(self.rows + 1, self.rows + 1 + len(sitemaps)), pa.uint64())
        self.rows += len(sitemaps)
        documents, positions, begin = [], [], 0
        runs = pc.run_end_encode(sitemaps)
        for end, url in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            number, count = self.number_document(url), end - begin
            first = self.positions.get(number, 0) + 1
            documents.append(pa.repeat(pa.scalar(number, pa.uint32()), count))
            positions.append(pa.array(range(first, first + count), pa.uint32()))
            self.positions[number] = first + count - 1
            begin = end
        return ids, pa.concat_arrays(documents), pa.concat_arrays(positions)


def make_rows(batch: pa.RecordBatch, numbering: RowNumbering) -> Iterator[tuple[str, pa.Table]]:
    """Yield tables of the database with the rows of some entries; none is empty."""
    ids, documents, positions = numbering.number_rows(batch.column("sitemap"))
    yield (
        "url_row",
        pa.table(
            {
                "id": ids,
                "document": documents,
                "position": positions,
                "loc": batch.column("loc"),
                "other_key": find_other_keys(batch.column("loc")),
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
                rows["key"] = pc.coalesce(find_other_keys(rows["href"]), rows["href"])
            yield table, pa.table(rows)


def find_other_keys(urls: pa.Array) -> pa.Array:
    """Return the keys (`url_key`) of the URLs that are not their own key, else null."""
    # Nine of ten are in normal form, which Arrow can see in a tenth of the time.
    is_normal = pc.and_(
        pc.match_substring_regex(urls, _NORMAL), pc.invert(pc.match_substring(urls, "/."))
    )
    if pc.all(is_normal).as_py():
        return pa.nulls(len(urls), pa.string())
    others = pc.indices_nonzero(pc.invert(is_normal))
    locs = urls.take(others).to_pylist()
    keys = [key if (key := url_key(loc)) != loc else None for loc in locs]
    return pc.replace_with_mask(
        pa.nulls(len(urls), pa.string()), pc.invert(is_normal), pa.array(keys, pa.string())
    )


def _unpack(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the structs of a column, and for each the row that it belongs to."""
    if pa.types.is_list(column.type):
        return pc.list_parent_indices(column), pc.list_flatten(column)
    owners = pc.indices_nonzero(pc.is_valid(column))
    return owners, column.take(owners)


def _without_zone(column: pa.Array) -> pa.Array:
    """Return times as UTC without a zone, as DuckDB needs them; keep other values."""
    return column.cast(_TIME) if pa.types.is_timestamp(column.type) else column
