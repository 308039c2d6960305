"""Valid UTF-8 is UTF-8, whatever a header or a declaration calls it."""

from __future__ import annotations

import pytest

from sitemapreader import SitemapReader
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import UrlEntry
from sitemapreader.robots import parse_robots

HOST = "https://www.example.org/"
CHUNKS = (1, 4_099, 10_000_000)


def read(
    data: bytes, charset: str | None = None, chunk: int = 10_000_000
) -> tuple[list[str], list[tuple[IssueCode, str | None]]]:
    """Return the locs of a document without the host, and its Issues with their values."""
    reader = SitemapReader(f"{HOST}map", charset=charset)
    events = []
    for start in range(0, len(data), chunk):
        events += reader.feed(data[start : start + chunk])
    events += reader.close()
    assert reader.stats.records == reader.stats.delivered + reader.stats.dropped
    locs = [
        event.loc.removeprefix(HOST) for event in events if isinstance(event, UrlEntry)
    ]
    return locs, [
        (event.code, event.value) for event in events if isinstance(event, Issue)
    ]


def write_map(*paths: str, encoding: str = "") -> str:
    """Write a sitemap of paths."""
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>' if encoding else ""
    records = "".join(f"<url><loc>{HOST}{path}</loc></url>" for path in paths)
    root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return f"{declaration}{root}{records}</urlset>"


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize(
    ("path", "charset", "encoding", "name"),
    [
        ("se\u00f1al", "latin1", "UTF-8", "latin1"),
        ("\u0433\u043e\u0440\u043e\u0434", "koi8-ru", "", "koi8-ru"),
        ("\u6771\u4eac", "gb2312", "", "gb2312"),
        ("\u6771\u4eac", "iso-2022-kr", "", "iso-2022-kr"),
        ("\u6771\u4eac", None, "Shift_JIS", "Shift_JIS"),
        ("\U0001f33e", "cp866", "windows-1251", "cp866"),
        ("na\u00efve", None, "utf8mb3", "utf8mb3"),
        ("na\u00efve", "utf8_general_ci", "", "utf8_general_ci"),
        ("naive", None, "utf8_unicode", "utf8_unicode"),
    ],
)
def test_valid_utf8_is_read_as_such_and_the_wrong_name_is_told(
    path: str, charset: str | None, encoding: str, name: str, chunk: int
) -> None:
    """No chunking changes that."""
    data = write_map(path, encoding=encoding).encode()
    assert read(data, charset, chunk) == ([path], [(IssueCode.ENCODING, name)])


@pytest.mark.parametrize(
    ("path", "charset"),
    [
        ("se\u00f1al", "iso-8859-1"),
        ("\u0433\u043e\u0440\u043e\u0434", "koi8-u"),
        ("\u4e1c\u4eac", "gb2312"),
    ],
)
def test_what_is_no_utf8_is_read_by_its_name(path: str, charset: str) -> None:
    """The name of an encoding counts where the bytes do not contradict it."""
    assert read(write_map(path).encode(charset), charset) == ([path], [])


@pytest.mark.parametrize("charset", ["windows-1252", "koi8-r", "big5"])
def test_a_text_sitemap_is_judged_alike(charset: str) -> None:
    """Every format goes through the same place."""
    path = "\u0444"
    expected = [path], [(IssueCode.ENCODING, charset)]
    assert read(f"{HOST}{path}\n".encode(), charset) == expected


def test_a_feed_is_judged_alike() -> None:
    """A feed of a server that calls everything Latin-1."""
    data = f"<rss><channel><item><link>{HOST}\u00fcber</link></item></channel></rss>".encode()
    assert read(data, "ISO-8859-1") == (
        ["\u00fcber"],
        [(IssueCode.ENCODING, "ISO-8859-1")],
    )


def test_robots_txt_is_utf8() -> None:
    """RFC 9309 knows no other encoding."""
    robots = parse_robots(f"Sitemap: {HOST}\u00fcber.xml".encode(), HOST)
    assert [entry.loc for entry in robots.sitemaps] == [f"{HOST}\u00fcber.xml"]


@pytest.mark.parametrize("chunk", CHUNKS[1:])
@pytest.mark.parametrize("codec", ["utf-8", "cp1252"])
def test_letters_far_behind_ascii_are_judged_where_they_come(
    codec: str, chunk: int
) -> None:
    """A megabyte of ASCII says nothing, and does not wait."""
    paths = [*("a" * 90 + str(number) for number in range(8_000)), "se\u00f1al"]
    data = write_map(*paths, encoding="windows-1252").encode(codec)
    locs, issues = read(data, None, chunk)
    assert locs == paths
    assert len(issues) == (codec == "utf-8")


@pytest.mark.parametrize("chunk", CHUNKS[1:])
def test_a_letter_that_is_valid_by_chance_waits_for_the_next_ones(chunk: int) -> None:
    """The bytes C4 A3 are a letter in UTF-8, and a character in GBK."""
    paths = ["\u6a21", *("a" * 90 for _ in range(600)), "\u4e1c"]
    data = write_map(*paths, encoding="gbk").encode("gbk")
    assert b"\xc4\xa3" in data
    assert read(data, None, chunk) == (paths, [])


def test_bytes_wait_for_a_bounded_time() -> None:
    """One letter and megabytes of ASCII: they are delivered before the end."""
    reader = SitemapReader(charset="gbk")
    data = write_map("\u0123", *("a" * 90 for _ in range(8_000))).encode()
    reader.feed(data)
    assert reader.stats.delivered > 4_000


@pytest.mark.parametrize("charset", ["latin1", "gb2312"])
def test_a_bad_byte_in_much_utf8_spoils_its_record_alone(charset: str) -> None:
    """What was proved stays so."""
    paths = ["\u00fcber" * 8 for _ in range(9_000)]
    data = write_map(*paths, "half").encode().replace(b"half", b"half\xc3")
    locs, issues = read(data, charset)
    assert locs == paths
    assert (IssueCode.ENCODING, charset) in issues


@pytest.mark.parametrize(
    "reference",
    ["&#55356;&#57150;", "&#xD83C;&#xDF3E;", "&#xd83c;&#057150;", "&#055356;&#Xdf3e;"],
)
def test_two_references_to_halves_are_one_character(reference: str) -> None:
    """JavaScript counts in halves of UTF-16; both spellings, mixed too."""
    data = write_map(f"{reference}/x").encode()
    assert read(data) == (["\U0001f33e/x"], [(IssueCode.NOT_WELL_FORMED, None)])


@pytest.mark.parametrize(
    "reference", ["&#55356;", "&#xDF3E;", "&#xDF3E;&#xD83C;", "&#xD83C; &#xDF3E;"]
)
def test_half_a_character_is_none(reference: str) -> None:
    """No URL is made of what is lost."""
    locs, issues = read(write_map(f"{reference}x").encode())
    assert locs == []
    assert [code for code, _ in issues] == [IssueCode.MALFORMED]
