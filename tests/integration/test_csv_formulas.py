"""Cells of CSV that hold semicolons, as spreadsheets see them that separate cells there."""

from __future__ import annotations

import csv
import json

from each_case import for_each

from sitemapreader import UrlEntry
from sitemapreader.models import Extra
from sitemapreader.output.columns import COLUMNS
from sitemapreader.output.text import make_row_writer

URL = "https://site.example/"
write = make_row_writer(COLUMNS, ",")


@for_each("hidden", ["=cmd", "+1", "-1+1", "@sum(a)", '"=1"', "'=1", " =1", "\uff1d1"])
@for_each("field", ["loc", "title", "lastmod_text", "sitemap", "extras"])
def test_no_part_of_a_cell_is_a_formula(field: str, hidden: str) -> None:
    """Separated at semicolons or at commas, no cell begins as a formula does."""
    value = f"{URL}x;{hidden};{hidden}"
    entry = UrlEntry(URL, sitemap=URL, extras=(Extra("n", "e", "y;=0"),))
    setattr(entry, field, (Extra("n", "e", value),) if field == "extras" else value)
    for delimiter in ";,":
        (cells,) = csv.reader([write([entry])], delimiter=delimiter)
        assert not any(
            cell.strip(' "').startswith(("=", "+", "-", "@", "\uff1d")) for cell in cells
        )


def test_a_semicolon_before_anything_else_stays() -> None:
    """What is no formula is written as it is; the first column and JSON keep their values."""
    loc, text = f"{URL}a;=1;jsessionid=1;b=-2", "y;=0; z"
    entry = UrlEntry(loc, title="one; two", sitemap=f"{URL};x", extras=(Extra("n", "e", text),))
    (cells,) = csv.reader([write([entry])])
    row = dict(zip([column.name for column in COLUMNS], cells, strict=True))
    assert (row["loc"], row["title"], row["sitemap"]) == (loc, "one; two", f"{URL};x")
    assert json.loads(row["extras"])[0]["text"] == text
