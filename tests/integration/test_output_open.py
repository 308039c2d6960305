"""`open_output` as its user meets it: names that say the format, one entry or many, misuse."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
import subprocess
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import package
import pytest
from commands import run
from walking import SITE, urlset

from sitemapreader import UrlEntry, open_output, read, walk_sync
from sitemapreader.fetch import FolderFetcher
from sitemapreader.output import FORMATS, find_format

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
    "x.tsv.gz": "tsv",
}


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.lower().endswith(".gz") else data


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("name", NAMES)
def test_the_name_says_the_format(
    name: str, kind: Callable[[Path], str | Path], tmp_path: Path
) -> None:
    """A file is written as with the format named; a path is a text or a Path."""
    if "parquet" in name:
        pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
    path, named = tmp_path / name, tmp_path / "named"
    with open_output(kind(path)) as output:
        output.write(ENTRIES)
    with open_output(named, NAMES[name]) as output:
        output.write(ENTRIES)
    assert content(path) == named.read_bytes()
    assert NAMES[name] in FORMATS


def test_standard_output_has_urls() -> None:
    """Without a path and a format, a loc a line goes to standard output."""
    script = (
        "from sitemapreader import UrlEntry, open_output\n"
        "with open_output(None) as output: output.write(UrlEntry('https://a.example/'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"https://a.example/\n"


@pytest.mark.parametrize("name", ["x", "x.json", "x.gz", "csv", ".csv", "x.csv.zst", "x.csv/y"])
def test_a_name_that_says_nothing(name: str, tmp_path: Path) -> None:
    """No format is guessed: the message lists the ends of names, and the formats."""
    with pytest.raises(ValueError, match=r"end it with \.urls.*or pass one of urls, jsonl"):
        open_output(tmp_path / name)
    if name != "x.csv/y":
        with open_output(tmp_path / name, "jsonl") as output:
            output.write(ENTRIES)
        assert len(content(tmp_path / name).splitlines()) == 5


def test_parquet_is_not_compressed_twice() -> None:
    """A Parquet file is compressed inside, and its name says so."""
    pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
    for arguments in (("x.parquet.gz",), ("x.gz", "parquet")):
        with pytest.raises(ValueError, match=r"end the name with \.parquet"):
            open_output(*arguments)


GIVEN: dict[str, Callable[[], UrlEntry | Iterable[UrlEntry]]] = {
    "one": lambda: ENTRIES[0],
    "list": lambda: ENTRIES[:1],
    "tuple": lambda: (ENTRIES[0],),
    "generator": lambda: (entry for entry in ENTRIES[:1]),
}


@pytest.mark.parametrize("name", ["x.urls", "x.jsonl", "x.csv", "x.tsv.gz", "x.parquet"])
@pytest.mark.parametrize("given", GIVEN)
def test_one_entry_or_many(given: str, name: str, tmp_path: Path) -> None:
    """What is written does not depend on how it was handed over; nothing is no record."""
    if name == "x.parquet":
        pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
    for path, entries in ((tmp_path / name, GIVEN[given]), (tmp_path / f"1{name}", GIVEN["list"])):
        with open_output(path) as output:
            output.write([])
            output.write(entries())
            output.write(iter(()))
    assert content(tmp_path / name) == content(tmp_path / f"1{name}")


def test_one_by_one_is_what_a_walk_gives(tmp_path: Path) -> None:
    """The loop of the docstring and the one over batches write the same file."""
    fetcher = FolderFetcher(str(package.ROOT / "testdata" / "site"))
    path = tmp_path / "urls.csv"
    with open_output(path) as output, walk_sync(fetcher.base_url, fetcher=fetcher) as entries:
        for entry in entries:
            output.write(entry)
    with path.open(encoding="utf-8") as file:
        assert len({row["loc"] for row in csv.DictReader(file)}) == 43


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "text": (lambda: SITE, "not str"),
    "bytes": (lambda: b"x", "not bytes"),
    "none": (lambda: None, "not NoneType"),
    "texts": (lambda: [SITE], "one is str"),
    "events": (lambda: read(urlset(f"{SITE}?a&b")), "one is Issue: of events, choose those"),
    "mixed": (lambda: [ENTRIES[0], None], "one is NoneType"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_entry_is_refused(name: str, tmp_path: Path) -> None:
    """TypeError says what to pass, and nothing of it is written."""
    make, said = WRONG[name]
    path = tmp_path / "x.jsonl"
    with open_output(path) as output:
        output.write(ENTRIES[0])
        with pytest.raises(TypeError, match=said):
            output.write(make())
        output.write(ENTRIES[1])
    assert [json.loads(line)["loc"] for line in path.read_text().splitlines()] == [
        entry.loc for entry in ENTRIES[:2]
    ]


def test_a_compressed_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """Its checksum is right, and a fault leaves nothing under its name."""
    path = tmp_path / "x.jsonl.gz"

    def write(*, fails: bool) -> None:
        with open_output(path) as output:
            for _ in range(100):
                output.write(ENTRIES)
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(fails=True)
    assert list(tmp_path.iterdir()) == []
    write(fails=False)
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 500


def test_the_shell_writes_compressed_files(tmp_path: Path) -> None:
    """`-o urls.csv.gz` is what it says."""
    path = tmp_path / "urls.csv.gz"
    assert run("testdata/site", "-q", "-o", str(path), cwd=package.ROOT).returncode == 0
    assert len(content(path).splitlines()) == 44


def test_types_and_words() -> None:
    """A Path is in the signature, an example in the docstring; pure paths do as well."""
    annotation = inspect.signature(open_output).parameters["path"].annotation
    assert annotation == "str | os.PathLike[str] | None"
    assert "output.write(entry)" in (inspect.getdoc(open_output) or "")
    assert find_format(str(PurePath("a") / "x.csv")) == "csv"
