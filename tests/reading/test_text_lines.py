"""Lines of text sitemaps, robots.txt and lists: what ends one, and what is no part of it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sitemapreader import Issue, IssueCode, UrlEntry, read
from sitemapreader._bytes.lines import LineReader, iterate_lines
from sitemapreader.audit.database import AuditDatabase
from sitemapreader.audit.sources import load_known
from sitemapreader.distributed import begin_run
from sitemapreader.distributed.planning import read_partition_hosts
from sitemapreader.distributed.storage import Storage
from sitemapreader.robots import parse_robots
from tests.support.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URLS = ["https://example.org/a", "https://example.org/b", "https://example.org/c"]
TEXTS = {
    "joined files": "\ufeff{}\r\n\ufeff{}\n\ufeff \ufeff{}\n",
    "widths": "\u200b{}\u200d\n \u2060{} \u200e\n\u00a0{}\u00ad",
    "old ends": "{}\u200c\r{}\ufeff\r\r\n\u180e{}",
}
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]


def encode(text: str, encoding: str) -> bytes:
    """Encode a list; one in UTF-16 without a mark begins with a character of ASCII, as they do."""
    return text.lstrip("\ufeff\u200b").encode(encoding)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_lines_are_read_in_any_pieces(name: str, encoding: str) -> None:
    """Invisible characters at the ends of lines are no part of them, wherever the text is cut."""
    data = encode(TEXTS[name].format(*URLS), encoding)
    for size in (1, 2, 3, len(data)):
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        assert [*filter(None, iterate_lines(pieces, 1_000))] == URLS


@given(st.lists(st.text(alphabet="ab\r\n\u2028\x0b é", max_size=30), max_size=8))
def test_only_three_line_ends_are_known(pieces: list[str]) -> None:
    """Lines of any text are what is between line feeds, carriage returns, and pairs of them."""
    text = "".join(pieces)
    whole = (
        text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    )
    expected = [line.strip() for line in whole] if text else []
    assert [*iterate_lines((piece.encode() for piece in pieces), 1_000)] == expected


@pytest.mark.parametrize("size", [1, 100, 70_000])
def test_an_endless_line_is_cut(size: int) -> None:
    """Of a line past the limit its beginning is read, and the memory stays small."""
    reader, lines = LineReader(50), []
    for _ in range(140_000 // size):
        lines += reader.feed(b"x" * size)
    lines += reader.feed(b"\r\nnext", final=True)
    assert lines == ["x" * 50, "next"]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_sitemap(name: str, encoding: str) -> None:
    """A text sitemap of joined files loses no URL."""
    events = [*read(encode(TEXTS[name].format(*URLS), encoding))]
    assert [each.loc for each in events if isinstance(each, UrlEntry)] == URLS
    codes = {str(each.code) for each in events if isinstance(each, Issue)}
    assert codes <= {"leading-bytes"}


def test_a_text_of_invisible_characters_alone() -> None:
    """A document in which nothing can be seen is no sitemap, and raises nothing."""
    for text in ("\u200b", "\u2060\n\u200b\n", " \ufeff\u200e"):
        events = [*read(text.encode())]
        assert not any(isinstance(each, UrlEntry) for each in events)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffUser-agent: *\n\ufeffDisallow: /no\nSitemap: \u200bhttps://example.org/s.xml\u200b",
        "User-agent: *\u200b\r\u200bDisallow: /no\u2060\r\u200b \ufeffSitemap: https://example.org/s.xml",
        "\u200bUser-agent:\u00a0*\nDisallow: \ufeff/no\u200b # why\n\u200eSitemap: /s.xml\ufeff",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_robots_txt(text: str, encoding: str) -> None:
    """A rule behind an invisible character is heeded, and a sitemap is found."""
    robots = parse_robots(text.encode(encoding), "https://example.org/robots.txt")
    assert [each.loc for each in robots.sitemaps] == ["https://example.org/s.xml"]
    assert (
        robots.find_refusal("https://example.org/no/x", "x")
        is IssueCode.ROBOTS_DISALLOWED
    )
    assert robots.can_fetch("https://example.org/yes", "x")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_list_of_sites(encoding: str, tmp_path: Path) -> None:
    """A list of `-i` is read in each encoding that editors and shells write."""
    # which are not connected to
    names = [
        "http://127.0.4.1",
        "http://127.0.4.2/",
        "https://127.0.4.3",
    ]
    text = "\ufeff{}\r\n\ufeff{}  # a comment\n\u200b{}\u200b\n".format(*names)
    (tmp_path / "sites.txt").write_bytes(encode(text, encoding))
    report = tmp_path / "report.jsonl"
    done = run("-i", "sites.txt", "--report", str(report), cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    sites = {
        json.loads(line)["site"] for line in report.read_text("utf-8").splitlines()
    }
    assert sites == {*names}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_list_of_many_hosts(encoding: str, tmp_path: Path) -> None:
    """A list of `scale`, compressed or not, is read as that of one run."""
    text = "\ufeffone.example\r\n\ufefftwo.example # a comment\n\u200bthree.example\u200b\n"
    data = encode(text, encoding)
    (tmp_path / "hosts.txt").write_bytes(data)
    (tmp_path / "hosts.txt.gz").write_bytes(gzip.compress(data))
    for number, hosts in enumerate(["hosts.txt", "hosts.txt.gz"]):
        output = tmp_path / f"output{number}"
        run_of_list = begin_run(str(output), str(tmp_path / hosts), partitions=1)
        found = read_partition_hosts(Storage(str(output)), run_of_list, 0)
        assert {*found} == {"one.example", "two.example", "three.example"}


@pytest.fixture(scope="module")
def database() -> Iterator[AuditDatabase]:
    shared = AuditDatabase()
    yield shared
    shared.close()


KNOWN = {
    "text.txt": TEXTS["joined files"].format(*URLS),
    "widths.urls": TEXTS["widths"].format(*URLS),
    "lines.jsonl": '"{}"\n{{"url": "\u200b{}"}}\n\ufeff"{}"\n'.format(*URLS),
    "table.csv": "\ufeffurl,clicks\n{},1\n\ufeff{},2\n\u200b{}\u200b,3\n".format(*URLS),
}


@pytest.mark.parametrize("encoding", ENCODINGS[:3])
@pytest.mark.parametrize("name", KNOWN)
def test_a_list_of_known_urls(
    name: str, encoding: str, database: AuditDatabase, tmp_path: Path
) -> None:
    """A list of `--urls` is read with marks and invisible characters, compressed or not."""
    data = encode(KNOWN[name], encoding)
    (tmp_path / name).write_bytes(data)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    for path in (name, f"{name}.gz"):
        database.ask("DELETE FROM known")
        load_known(database, tmp_path / path)
        assert sorted(loc for (loc,) in database.ask("SELECT loc FROM known")) == URLS
