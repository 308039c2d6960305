"""Outputs of text: what stands in them, and that none of it breaks a line, a cell or a terminal."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given, strategies as st

from sitemapreader import Change, UrlEntry
from sitemapreader._columns import COLUMNS, choose_columns
from sitemapreader._types.models import Extra
from sitemapreader.output import open_output
from sitemapreader.output.text import (
    JsonEncoder,
    RowEncoder,
    UrlEncoder,
    escape_texts,
    escape_urls,
    neutralise_formulas,
)
from sitemapreader.records import Image, News, Video

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [column.name for column in COLUMNS]
FULL = UrlEntry(
    "https://a.example/\u00fc?a=1&b=2",
    datetime(2026, 3, 13, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    "weekly",
    0.0,
    (
        Image("https://a.example/1.png", title='a "title",\n2'),
        Image("https://a.example/2.png"),
    ),
    (Video(title="v", tags=("x", "y"), duration=3, family_friendly=False),),
    News(title="n", publication_date=datetime(2026, 3, 1, tzinfo=UTC)),
    sitemap="https://a.example/sitemap.xml",
    lastmod_text="2026-03-13T17:30+05:45",
    title='An "avocet"',
    change=Change.NEW,
)
BARE = UrlEntry("https://a.example/bare")
FORMULA = UrlEntry("=HYPERLINK(1)", lastmod_text="@SUM(1)", sitemap="+1")
NASTY = UrlEntry("https://a.example/a\nb\tc\r\x1b[31m\x9b\u202e\u2028\ud800 \xa0\x00z")
NASTY_LOC = "https://a.example/a%0Ab%09c%0D%1B[31m%C2%9B%E2%80%AE%E2%80%A8%ED%A0%80%20%C2%A0%00z"


def written(folder: Path, entries: list[UrlEntry], format: str, **options: Any) -> str:  # noqa: A002 (as in open_output)
    """Write entries to a file, in two batches; return what it holds."""
    path = folder / "output"
    with open_output(str(path), format, **options) as output:
        output.write(entries[:1])
        output.write([])
        output.write(entries[1:])
    return path.read_bytes().decode()


def rows(text: str, **options: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True, **options))


def tab_rows(text: str) -> list[dict[str, str]]:
    return rows(text, delimiter="\t", quoting=csv.QUOTE_NONE)


def test_json_lines_hold_everything(tmp_path: Path) -> None:
    """Each field of a record is in its object: keys in the schema's order, dates in RFC 3339."""
    line, bare = written(tmp_path, [FULL, BARE], "jsonl").splitlines()
    row = json.loads(line)
    assert list(row) == [
        name for name in NAMES if getattr(FULL, name, "") not in ((), None)
    ]
    assert row["lastmod"] == "2026-03-13T17:30:00+05:45"
    assert row["priority"] == 0.0
    assert row["change"] == "new"
    assert row["images"][0]["title"] == 'a "title",\n2'
    assert row["videos"] == [
        {"title": "v", "duration": 3, "family_friendly": False, "tags": ["x", "y"]}
    ]
    assert row["news"]["publication_date"] == "2026-03-01T00:00:00+00:00"
    assert json.loads(bare) == {
        "loc": BARE.loc,
        "lastmod": None,
        "changefreq": None,
        "priority": None,
        "sitemap": "",
    }


@pytest.mark.parametrize("format", ["urls", "jsonl"])
def test_records_may_end_with_nul(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """With `null_terminated`, NUL stands where a newline stood."""
    ended = written(tmp_path, [FULL, BARE], format, null_terminated=True)
    assert ended.replace("\0", "\n") == written(tmp_path, [FULL, BARE], format)
    assert "\n" not in ended


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_tables_begin_with_the_names_of_columns(tmp_path: Path, format: str) -> None:  # noqa: A002 (as above)
    """A table of nothing names its columns; without a header it continues another one."""
    separator = {"csv": ",", "tsv": "\t"}[format]
    head = written(tmp_path, [], format, fields=["loc", "priority"])
    assert head == f"loc{separator}priority\n"
    assert written(tmp_path, [], format, header=False) == ""
    whole = written(tmp_path, [FULL, BARE, FORMULA], format)
    begun = written(tmp_path, [FULL], format)
    assert begun + written(tmp_path, [BARE, FORMULA], format, header=False) == whole


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_absent_values_are_empty_cells(tmp_path: Path, format: str) -> None:  # noqa: A002 (as above)
    """So they are beside records that have these values."""
    text = written(tmp_path, [BARE, FULL, BARE], format)
    _, full, bare = (rows if format == "csv" else tab_rows)(text)
    assert {name for name, cell in bare.items() if cell} == {"loc"}
    assert full["priority"] == "0.0"
    assert json.loads(full["news"])["title"] == "n"


def test_a_quote_is_quoted(tmp_path: Path) -> None:
    """A cell of CSV with nothing but a quote in it stands in quotes (RFC 4180)."""
    text = written(tmp_path, [FULL], "csv", fields=["title"])
    assert text == 'title\n"An ""avocet"""\n'


@pytest.mark.parametrize("format", ["urls", "jsonl", "csv", "tsv"])
def test_a_record_is_a_line(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """Whatever stands in a record, a line is a record, and has nothing that a terminal acts on."""
    nasty = attrs.evolve(NASTY, sitemap=NASTY.loc, lastmod_text=NASTY.loc)
    text = written(tmp_path, [BARE, nasty, FULL], format)
    lines = text.splitlines()
    assert len(lines) == 3 + (format in {"csv", "tsv"})
    assert text.translate(dict.fromkeys(map(ord, "\n\t\xa0"))).isprintable()
    if format == "urls":
        assert lines[1] == NASTY_LOC
    if format == "jsonl":
        assert json.loads(lines[1])["loc"] == NASTY.loc
    if format in {"csv", "tsv"}:
        row = (rows if format == "csv" else tab_rows)(text)[1]
        assert row["loc"] == row["sitemap"] == NASTY_LOC
        assert row["lastmod_text"] == (
            "https://a.example/a\\nb\\tc\\r\\x1b[31m\\x9b\\u202e\\u2028\\ud800 \xa0\\x00z"
        )


texts = st.text(st.characters(), max_size=6)


@given(
    st.lists(st.builds(UrlEntry, texts, sitemap=texts, lastmod_text=texts), min_size=1)
)
def test_any_text_stays_in_its_cell(entries: list[UrlEntry]) -> None:
    """Readers of CSV, TSV and JSON find each record, and in it what they should."""
    names = ["sitemap", "lastmod_text", "loc"]
    columns = choose_columns(names, has_sites=False)
    wanted = [
        (
            *neutralise_formulas(escape_urls([entry.sitemap])),
            *neutralise_formulas(escape_texts([entry.lastmod_text or ""])),
            *neutralise_formulas(escape_urls([entry.loc])),
        )
        for entry in entries
    ]
    head = ",".join(names) + "\n"
    table = rows(head + RowEncoder(columns, ",", "utf-8").write(entries))
    assert [tuple(row.values()) for row in table] == wanted
    table = tab_rows(
        head.replace(",", "\t") + RowEncoder(columns, "\t", "utf-8").write(entries)
    )
    assert [tuple(row.values()) for row in table] == wanted
    lines = JsonEncoder(columns, "\n", "utf-8").write(entries).splitlines()
    assert [json.loads(line)["loc"] for line in lines] == [
        entry.loc for entry in entries
    ]
    assert UrlEncoder("\0", "utf-8").write(entries).count("\0") == len(entries)


def test_plain_columns_are_written_as_they_are() -> None:
    """What needs no escape costs one look at the whole column."""
    plain = ["https://a.example/a?b=c", "https://a.example/"]
    assert escape_urls(plain) is plain
    assert escape_texts(plain) is plain


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("pdf", {}, "choose from urls, jsonl"),
        ("csv", {"null_terminated": True}, "csv: leave it out, or choose urls, jsonl"),
        (
            "urls",
            {"fields": ["loc", "lastmod"]},
            "urls: leave it out, or choose jsonl, json, csv",
        ),
        (
            "csv",
            {"fields": ["loc", "headline"]},
            "no field 'headline': choose from loc, lastmod",
        ),
        ("csv", {"fields": []}, "no field is chosen"),
        ("parquet", {"header": False}, "parquet: leave it out, or choose csv, tsv"),
        ("csv", {"fields": ["loc", "loc"]}, "twice"),
    ],
)
def test_misuse_says_what_to_write_instead(
    format: str,  # noqa: A002 (as above)
    options: Any,
    said: str,
) -> None:
    """What cannot be meant raises ValueError before anything is opened."""
    with pytest.raises(ValueError, match=said):
        open_output("no/such/folder", format, **options)


# -- cells of CSV that hold semicolons, as spreadsheets see them that separate cells there


URL = "https://site.example/"
write = RowEncoder(COLUMNS, ",", "utf-8").write


def test_no_part_of_a_cell_is_a_formula(subtests: pytest.Subtests) -> None:
    """Separated at semicolons or at commas, no cell begins as a formula does."""
    for field in ["loc", "title", "lastmod_text", "sitemap", "extras"]:
        for hidden in [
            "=cmd",
            "+1",
            "-1+1",
            "@sum(a)",
            '"=1"',
            "'=1",
            " =1",
            "\uff1d1",
        ]:
            with subtests.test(field=field, hidden=hidden):
                value = f"{URL}x;{hidden};{hidden}"
                entry = UrlEntry(URL, sitemap=URL, extras=(Extra("n", "e", "y;=0"),))
                setattr(
                    entry,
                    field,
                    (Extra("n", "e", value),) if field == "extras" else value,
                )
                for delimiter in ";,":
                    (cells,) = csv.reader([write([entry])], delimiter=delimiter)
                    assert not any(
                        cell.strip(' "').startswith(("=", "+", "-", "@", "\uff1d"))
                        for cell in cells
                    )


@pytest.mark.parametrize(
    "title",
    [
        "\ufeff=cmd",
        "\ufeff\u200b +1",
        "\u2060@sum(a)",
        "\u200e-1",
        "\xad\ufeff\uff1d1",
        '\ufeff"=1"',
    ],
)
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_no_first_cell_is_a_formula(title: str, format: str, tmp_path: Path) -> None:  # noqa: A002 (as above)
    """Invisible characters hide no formula: of the first cell of a file a reader drops the mark."""
    path = tmp_path / f"urls.{format}"
    with open_output(path, format, fields=["title", "loc"], header=False) as output:
        output.write([UrlEntry(URL, title=title), UrlEntry(URL, title=f"a;{title}")])
    for encoding in ("utf-8", "utf-8-sig"):
        for line in path.read_text(encoding).splitlines():
            cell = line.strip('\ufeff\u200b\u2060\xad "')
            assert not cell.startswith(("=", "+", "-", "@", "\uff1d"))


def test_a_semicolon_before_anything_else_stays() -> None:
    """What is no formula is written as it is; the first column and JSON keep their values."""
    loc, text = f"{URL}a;=1;jsessionid=1;b=-2", "y;=0; z"
    entry = UrlEntry(
        loc, title="one; two", sitemap=f"{URL};x", extras=(Extra("n", "e", text),)
    )
    (cells,) = csv.reader([write([entry])])
    row = dict(zip([column.name for column in COLUMNS], cells, strict=True))
    assert (row["loc"], row["title"], row["sitemap"]) == (loc, "one; two", f"{URL};x")
    assert json.loads(row["extras"])[0]["text"] == text
