"""Titles: from a record to every output, and into what a state remembers of it."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import golden
import pyarrow.parquet as pq

from sitemapreader import UrlEntry, open_output, read_batches, to_dataframe
from sitemapreader.issues import IssueCode
from sitemapreader.state.rows import hash_record

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "https://example.org/page"
TITLED = UrlEntry(PAGE, title="Bitterns & 'booms'")
FEED = """<channel><title>All of them</title>
<item><link>https://www.example.org/one</link><title> One &amp; only </title></item>
<item><link>https://www.example.org/two</link><title></title></item>
<item><link>https://www.example.org/three</link></item>
</channel>"""


def write(path: Path, entries: list[UrlEntry], format: str, **options: Any) -> bytes:  # noqa: A002 (as in open_output)
    """Write entries to a file; return what it holds."""
    with open_output(str(path), format, **options) as output:
        output.write(entries)
    return path.read_bytes()


def test_a_feed_that_is_salvaged_has_titles() -> None:
    """The fallback hands over the titles of items, and none for an item without one."""
    reading = golden.read_pieces([FEED.encode()])
    assert reading.counts[IssueCode.FEED_SALVAGED] == 1
    titles = {event.loc: event.title for event in reading.events if isinstance(event, UrlEntry)}
    assert titles == {
        "https://www.example.org/one": "One & only",
        "https://www.example.org/two": None,
        "https://www.example.org/three": None,
    }


def test_text_outputs_have_titles(tmp_path: Path) -> None:
    """JSON lines have the key where there is a title; tables have the column in any case."""
    lines = write(tmp_path / "a", [TITLED, UrlEntry(PAGE)], "jsonl").decode().splitlines()
    first, second = map(json.loads, lines)
    assert first["title"] == TITLED.title
    assert "title" not in second
    for format_, separator in (("csv", ","), ("tsv", "\t")):
        table = write(tmp_path / format_, [TITLED, UrlEntry(PAGE)], format_).decode()
        rows = list(csv.DictReader(io.StringIO(table), delimiter=separator))
        assert [row["title"] for row in rows] == [TITLED.title, ""]


def test_columnar_outputs_have_titles(tmp_path: Path) -> None:
    """Parquet, Arrow and DataFrames have the titles as text, and nulls without one."""
    entries = [TITLED, UrlEntry(PAGE)]
    write(tmp_path / "a.parquet", entries, "parquet")
    for table in (pq.read_table(tmp_path / "a.parquet"), read_batches(iter(entries)).read_all()):
        assert table["title"].to_pylist() == [TITLED.title, None]
    frame = to_dataframe(iter(entries))
    assert frame["title"][0] == TITLED.title
    assert frame["title"].isna().tolist() == [False, True]


def test_a_new_title_is_a_change() -> None:
    """The state's fingerprint of a record has its title, apart from the fields beside it."""
    plain = UrlEntry(PAGE, lastmod_text="2026")
    titled = UrlEntry(PAGE, lastmod_text="2026", title="2026")
    other = UrlEntry(PAGE, title="2026")
    assert len({hash_record(entry) for entry in (plain, titled, other)}) == 3
