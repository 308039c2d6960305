"""`open_output` as its user meets it: names that say the format, one entry or many, misuse."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pytest

from sitemapreader import SiteOutcome, SiteStatus, UrlEntry
from sitemapreader.output import FORMATS, OUTCOME_COLUMNS, open_output
from tests.support.walking import SITE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ENTRIES = [UrlEntry(f"{SITE}{number}", priority=number / 10) for number in range(5)]
NAMES = {
    "x.urls": "urls",
    "x.txt": "urls",
    "x.jsonl": "jsonl",
    "x.ndjson": "jsonl",
    "x.csv": "csv",
    "X.TSV": "tsv",
    "x.parquet": "parquet",
    "x.txt.gz": "urls",
    "x.2026.jsonl.gz": "jsonl",
    "x.CSV.GZ": "csv",
    str(PurePath("a") / "x.tsv.gz"): "tsv",
}


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.lower().endswith(".gz") else data


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("name", NAMES)
def test_the_suffix_chooses_the_format(
    name: str, kind: Callable[[Path], str | Path], tmp_path: Path
) -> None:
    """A file is written as with the format named; a path is a text or a Path."""
    if "parquet" in name:
        pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
    (tmp_path / "a").mkdir()
    path, named = tmp_path / name, tmp_path / "named"
    with open_output(kind(path)) as output:
        output.write(ENTRIES)
    with open_output(named, NAMES[name]) as output:
        output.write(ENTRIES)
    assert content(path) == named.read_bytes()
    assert NAMES[name] in FORMATS


def test_a_relative_name_is_of_the_folder_where_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that changes its folder before it writes writes no other file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    output = open_output("x.csv")
    monkeypatch.chdir(tmp_path / "a")
    with output:
        output.write(ENTRIES)
    assert len(content(tmp_path / "x.csv").splitlines()) == 6


@pytest.mark.parametrize(
    "name", ["x", "x.jso", "x.gz", "csv", ".csv", "x.csv.zst", "x.csv/y"]
)
def test_an_unknown_suffix_is_refused(name: str, tmp_path: Path) -> None:
    """No format is guessed: the message lists the ends of names, and the formats."""
    with pytest.raises(
        ValueError, match=r"end it with \.urls.*or pass one of urls, jsonl"
    ):
        open_output(tmp_path / name)
    if name != "x.csv/y":
        with open_output(tmp_path / name, "jsonl") as output:
            output.write(ENTRIES)
        assert len(content(tmp_path / name).splitlines()) == 5


GIVEN: dict[str, Callable[[], UrlEntry | Iterable[UrlEntry]]] = {
    "one": lambda: ENTRIES[0],
    "list": lambda: ENTRIES[:1],
    "tuple": lambda: (ENTRIES[0],),
    "generator": lambda: (entry for entry in ENTRIES[:1]),
}


@pytest.mark.parametrize(
    "name", ["x.urls", "x.jsonl", "x.csv", "x.tsv.gz", "x.parquet"]
)
@pytest.mark.parametrize("given", GIVEN)
def test_write_takes_one_entry_or_many(given: str, name: str, tmp_path: Path) -> None:
    """What is written does not depend on how it was handed over; nothing is no record."""
    if name == "x.parquet":
        pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
    assert "output.write(entry)" in (inspect.getdoc(open_output) or "")
    for path, entries in (
        (tmp_path / name, GIVEN[given]),
        (tmp_path / f"1{name}", GIVEN["list"]),
    ):
        with open_output(path) as output:
            output.write([])
            output.write(entries())
            output.write(iter(()))
    assert content(tmp_path / name) == content(tmp_path / f"1{name}")


@pytest.mark.parametrize("module", ["", ".audit", ".fetch", ".output"])
def test_a_name_that_a_module_does_not_have_is_said(module: str) -> None:
    """Names that are loaded late raise as other names do, so `hasattr` and `import` work."""
    loaded = import_module(f"sitemapreader{module}")
    assert not hasattr(loaded, "nothing")
    with pytest.raises(AttributeError, match=f"'sitemapreader{module}' .* 'nothing'"):
        loaded.nothing  # noqa: B018 (it raises)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_status_is_a_word_in_every_format(suffix: str, tmp_path: Path) -> None:
    """An enum of words is text, without quotes of its own."""
    path = tmp_path / f"sites.{suffix}"
    with open_output(path, columns=OUTCOME_COLUMNS) as output:
        output.add(SiteOutcome(SITE, SiteStatus.COMPLETE))
    if suffix == "csv":
        (row,) = csv.DictReader(path.read_text().splitlines())
    elif suffix == "jsonl":
        row = json.loads(path.read_text())
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        (row,) = parquet.read_table(path).to_pylist()
    assert (row["site"], row["status"]) == (SITE, "complete")
