"""Workbooks, read back by another library: each cell is what was written."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import UrlEntry
from sitemapreader._types.rows import SiteRows
from sitemapreader.output import open_output, workbook
from sitemapreader.records import Alternate, News
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(find_spec(name) is None, reason=f"no {name}: pip install .[dev]")
    for name in ("openpyxl", "xlsxwriter")
]

SITE = "https://www.example.org/"
NASTY = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "-2",
    "007",
    "1e5",
    "https://a.example/",
    "mailto:a@b.example",
    "internal:Sheet1!A1",
    " blank ",
    "TRUE",
    "#N/A",
    "_x0041_",
    'say "a", b',
    "\u202eabc",
    "a\x07b\x00c",
    "\ud800",
    "\U0001f426",
]


def read(path: Path) -> dict[str, list[list[Any]]]:
    """Return the cells of each sheet."""
    import openpyxl  # noqa: PLC0415 (a tenth of a second in each worker)

    book = openpyxl.load_workbook(path)
    for sheet in book:
        cells = [cell for row in sheet.iter_rows() for cell in row]
        assert all(cell.data_type in "snd" and cell.hyperlink is None for cell in cells)
    return {
        s.title: [[cell.value for cell in row] for row in s.iter_rows()] for s in book
    }


def test_cells_hold_texts_numbers_and_json(tmp_path: Path) -> None:
    """Texts are texts whatever they look like; numbers are numbers; nothing is an empty cell."""
    path = tmp_path / "table.xlsx"
    with open_output(path, fields=["loc", "title", "priority", "lastmod"]) as output:
        for chosen in (NASTY[:7], NASTY[7:]):
            output.write(
                [UrlEntry(f"{SITE}{len(text)}", title=text) for text in chosen]
            )
        day = datetime(2026, 3, 5, 12, tzinfo=UTC)
        output.write(UrlEntry(f"{SITE} a\n", day, priority=0.5, title="x" * 40_000))
    head, *rows = read(path)["urls"]
    assert head == ["loc", "title", "priority", "lastmod"]
    # the format's own escape (ECMA-376, 22.9.2.19), which Excel undoes and openpyxl leaves to us
    from openpyxl.utils.escape import unescape  # noqa: PLC0415 (as above)

    titles = [unescape(row[1]) for row in rows[:-1]]
    told = {
        "\u202eabc": "\\u202eabc",
        "a\x07b\x00c": "a\\x07b\\x00c",
        "\ud800": "\\ud800",
    }
    assert titles == [told.get(text, text) for text in NASTY]
    loc, title, priority, lastmod = rows[-1]
    assert (loc, priority, lastmod) == (
        f"{SITE}%20a%0A",
        0.5,
        datetime(2026, 3, 5, 12),  # noqa: DTZ001 (Excel knows no zones)
    )
    assert (len(title), title[-1]) == (32_767, "\u2026")


def test_dates_can_be_filtered_and_urls_be_seen(tmp_path: Path) -> None:
    """A moment is a date in UTC, one without a time is shown as a day; URLs have room."""
    import openpyxl  # noqa: PLC0415 (as above)

    zone = timezone(timedelta(hours=2))
    moments = [
        datetime(2026, 6, 16, tzinfo=UTC),
        datetime(2026, 6, 16, 1, 30, tzinfo=zone),
        None,
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
    ]
    path = tmp_path / "table.xlsx"
    with open_output(path, fields=["loc", "lastmod", "priority"]) as output:
        output.write([UrlEntry(SITE, moment) for moment in moments])
    sheet = openpyxl.load_workbook(path)["urls"]
    cells = [sheet.cell(row, 2) for row in (2, 3, 4, 5)]
    assert [str(cell.value) for cell in cells] == [
        "2026-06-16 00:00:00",
        "2026-06-15 23:30:00",
        "None",
        "9999-12-31T23:00:00-02:00",
    ]
    assert [cell.number_format for cell in cells[:2]] == [
        "yyyy-mm-dd",
        "yyyy-mm-dd hh:mm:ss",
    ]
    assert sheet.column_dimensions["A"].width > 50
    assert sheet.column_dimensions["B"].width >= 19
    assert [cell.font.bold for (cell, *_) in sheet.iter_rows()] == [True] + [False] * 4
    assert sheet.freeze_panes == "A2"  # the names stay in sight, above all columns


def test_a_full_sheet_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit a sheet goes on in another one; sites have their column."""
    monkeypatch.setattr(workbook, "MAX_ROWS", 11)
    path = tmp_path / "table.xlsx"
    with open_output(path, has_sites=True, fields=["loc", "site"]) as output:
        links = (Alternate("a"),)
        rows = [UrlEntry(f"{SITE}{n}", alternates=links) for n in range(25)]
        output.write(SiteRows([("a.example", rows)]))
    sheets = read(path)
    assert {name: len(sheets[name]) for name in sheets} == {
        "urls": 11,
        "urls 2": 11,
        "urls 3": 6,
    }
    assert sheets["urls 3"][-1] == [f"{SITE}24", "a.example"]


def test_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that fails leaves neither a file nor a temporary one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail() -> None:
        with open_output(tmp_path / "table.xlsx") as output:
            output.write([UrlEntry(SITE, news=News("a"))])
            output.write("no entry")  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="takes one UrlEntry"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_shell_writes_a_workbook(tmp_path: Path) -> None:
    """`-o table.xlsx` writes URLs or counts, and not to a pipe."""
    assert run("testdata/site", "-o", str(tmp_path / "table.xlsx")).returncode == 0
    assert len(read(tmp_path / "table.xlsx")["urls"]) == 44
    path = tmp_path / "counts.xlsx"
    assert (
        run("testdata/site", "--count-by", "extension", "-o", str(path)).returncode == 0
    )
    assert read(path)["urls"] == [
        ["extension", "urls"],
        [None, 37],
        [".pdf", 5],
        [".csv", 1],
    ]
    shown = run("testdata/site", "--format", "xlsx")
    assert (shown.returncode, "xlsx requires a file" in shown.stderr) == (2, True)
