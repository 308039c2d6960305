"""The names of encodings: strangers choose them, in a header and in a declaration."""

from __future__ import annotations

import encodings
from typing import cast

import pytest

from sitemapreader._read import SitemapReader, read
from sitemapreader._read.robots import parse_robots
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import UrlEntry

RUSSIAN = "https://example.org/путь"


def read_as(charset: str, codec: str) -> list[str]:
    """Return the locs of a sitemap in a codec, which the HTTP charset calls by this name."""
    data = f"<urlset><url><loc>{RUSSIAN}</loc></url></urlset>".encode(codec)
    reader = SitemapReader(charset=charset)
    events = [*reader.feed(data), *reader.close()]
    return [event.loc for event in events if isinstance(event, UrlEntry)]


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        *(("windows-1251", "cp1251"), ("CP1251", "cp1251"), (" cp1251 ", "cp1251")),
        *(("koi8-r", "koi8-r"), ("KOI8_R", "koi8-r"), ("iso-8859-5", "iso8859-5")),
        *(("ISO_8859-5:1988", "iso8859-5"), ("csISOLatinCyrillic", "iso8859-5")),
        *(("mskanji", "shift_jis"), ("EUC-JP", "euc_jp"), ("gb2312", "gbk")),
        *(("ANSI_X3.4-1986", "utf-8"), ("utf8", "utf-8"), ("UTF 8", "utf-8")),
        ("UT\xc3F-8;", "utf-8"),
    ],
)
def test_an_encoding_is_known_by_all_its_names(charset: str, codec: str) -> None:
    """Case, blanks and punctuation do not matter, and aliases are names."""
    assert read_as(charset, codec) == [RUSSIAN]


@pytest.mark.parametrize(
    "charset", ["rot13", "base64", "idna", "utf-7", "utf-32", "cp037", "iso-2022-kr"]
)
def test_what_is_no_encoding_of_text_is_refused(charset: str) -> None:
    """In a codec that hides markup, ASCII may mean something else: nothing is read by it."""
    reader = SitemapReader(charset=charset)
    events = [
        *reader.feed(b"<urlset><url><loc>https://example.org/</loc></url></urlset>")
    ]
    events += reader.close()
    assert [str(getattr(event, "code", "")) for event in events] == [
        "encoding-unsupported"
    ]


def test_names_that_nobody_knows_leave_nothing_behind() -> None:
    """A thousand names from a thousand hosts take no memory for the rest of the process."""
    kept = cast("dict[str, object]", encodings._cache)
    before = set(kept)
    for number in range(1_000):
        reader = SitemapReader(charset=f"nobody-{number}")
        reader.feed(
            f"<?xml version='1.0' encoding='nothing-{number}'?><urlset/>".encode()
        )
        reader.close()
    assert set(kept) == before


def test_rival_encodings_are_judged_by_a_block() -> None:
    """A letter far behind the first bytes shows that the header is wrong, and the text right."""
    head = b'<?xml version="1.0" encoding="windows-1252"?><urlset>'
    accented = b"<url><loc>https://example.org/caf\xe9</loc></url></urlset>"
    data = head + b"<url><loc>https://example.org/a</loc></url>\n" * 200 + accented
    reader = SitemapReader(charset="utf-8")
    events = [*reader.feed(data), *reader.close()]
    assert [event.loc for event in events if isinstance(event, UrlEntry)][
        -1
    ] == "https://example.org/caf\u00e9"
    assert reader.stats.counts[IssueCode.ENCODING] == 1


def test_only_a_page_is_believed_a_meta_element() -> None:
    """In a post or in a robots.txt it is text, and URLs stay what they are."""
    meta = '<meta charset="iso-8859-1">'
    post = f"<item><title><![CDATA[{meta}]]></title><link>{RUSSIAN}</link></item>"
    reader = SitemapReader(extra_formats={"html"})
    data = f"<rss version='2.0'><channel>{post}</channel></rss>".encode()
    events = [*reader.feed(data), *reader.close()]
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [RUSSIAN]
    assert (
        parse_robots(f"# {meta}\nSitemap: {RUSSIAN}".encode()).sitemaps[0].loc
        == RUSSIAN
    )
    lines = f"URLs of a site:\n{RUSSIAN}\n{RUSSIAN}\n{RUSSIAN}\n{meta}\n".encode()
    assert [event.loc for event in read(lines) if isinstance(event, UrlEntry)] == [
        RUSSIAN
    ] * 3


@pytest.mark.parametrize(
    "head",
    ["", "<!-- <p> -->\n", "<?xml version='1.0'?><!DOCTYPE html>", "<title>a</title>"],
)
@pytest.mark.parametrize("name", ["windows-1251", "nobody-knows"])
def test_the_meta_element_of_a_page_is_believed(head: str, name: str) -> None:
    """As HTML has it: in the first 1,024 bytes; of an unknown name nothing is made."""
    page = f"{head}<html><meta charset={name}><a href='https://example.org/путь'>a</a></html>"
    data = page.encode("windows-1251" if name == "windows-1251" else "utf-8")
    reader = SitemapReader(extra_formats={"html"})
    events = [*reader.feed(data), *reader.close()]
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [RUSSIAN]


@pytest.mark.parametrize(
    ("charset", "declared", "codec", "wrong"),
    [
        ("utf-8", "ISO-8859-1", "latin-1", "utf-8"),
        ("utf-8", "ISO-8859-1", "utf-8", None),
        ("ISO-8859-1", "UTF-8", "utf-8", "ISO-8859-1"),
        ("ISO-8859-1", "UTF-8", "latin-1", None),
    ],
)
def test_of_two_names_the_wrong_header_is_an_issue(
    charset: str, declared: str, codec: str, wrong: str | None
) -> None:
    """The bytes decide between the header and the declaration; the Issue has the header's name."""
    data = (
        f"<?xml version='1.0' encoding='{declared}'?>"
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        "<url><loc>https://example.org/\xe9</loc></url></urlset>"
    )
    reader = SitemapReader(charset=charset)
    events = [*reader.feed(data.encode(codec)), *reader.close()]
    entry = events.pop()
    assert isinstance(entry, UrlEntry)
    assert entry.loc == "https://example.org/\xe9"
    issues = [(event.code, event.value) for event in events if isinstance(event, Issue)]
    assert issues == ([(IssueCode.ENCODING, wrong)] if wrong else [])


def read_bytes(
    data: bytes, charset: str | None = None
) -> tuple[list[str], list[tuple[str, str | None]]]:
    """Return the locs of a document, and its Issues with their values."""
    reader = SitemapReader(charset=charset)
    events = [*reader.feed(data), *reader.close()]
    issues = [(str(e.code), e.value) for e in events if isinstance(e, Issue)]
    return [e.loc for e in events if isinstance(e, UrlEntry)], issues


def write(text: str, declared: str = "") -> str:
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return f"{head}{root}<url><loc>https://a.b/{text}</loc></url></urlset>"


def encode(text: str, codec: str) -> bytes:
    return write(text, codec).encode(codec)


FULL = write("é")


@pytest.mark.parametrize(
    ("data", "charset", "loc", "issues"),
    [
        (FULL.encode(), None, "é", []),
        (FULL.encode("utf-8-sig"), None, "é", [("leading-bytes", r"\ufeff")]),
        (FULL.encode("utf-16"), None, "é", []),
        (FULL.encode("utf-16-le"), None, "é", []),
        (FULL.encode("utf-16-be"), "utf-8", "é", []),
        (f"\n{FULL}".encode("utf-16-le"), None, "é", []),
        ("\ufeff".encode("utf-16-le") + FULL.encode("utf-16-le"), "cp1251", "é", []),
        (FULL.encode("utf-32"), None, None, [("encoding-unsupported", "ff fe 00 00")]),
        (FULL.encode("utf-32"), "utf-32", None, [("encoding-unsupported", "utf-32")]),
        # names
        (FULL.encode(), "nobody", "é", [("encoding", "nobody")]),
        (write("x").encode(), "nobody", "x", [("encoding", "nobody")]),
        (write("x", "nobody").encode(), "utf-8", "x", []),
        (write("x").encode(), "utf-7", None, [("encoding-unsupported", "utf-7")]),
        (FULL.encode(), "utf-7", "é", [("encoding", "utf-7")]),
        (write("x", "utf-7").encode(), "utf-8", "x", []),
        (write("x", "utf-16").encode(), None, "x", [("encoding", "utf-16")]),
        (FULL.encode(), "utf-16", "é", [("encoding", "utf-16")]),
        (encode("é", "utf-16-le"), "utf-16", "é", []),
        (write("\u3042", "iso-2022-jp").encode("iso2022_jp"), None, "\u3042", []),
        (write("\u3042", "iso-2022-jp").encode(), None, "\u3042", [("encoding", "iso-2022-jp")]),
        # bytes that do not decode
        (FULL.encode("cp1252"), "cp1252", "é", []),
        (FULL.encode("cp1252"), None, None, [("encoding", None)]),
        (write("\x81").encode("latin-1"), "cp1252", None, [("encoding", None)]),
        (FULL.encode("utf-16-le")[:-1] + b"\0\xd8", None, "é", [("encoding", None)]),
        (FULL.encode(), "cp1252", "é", [("encoding", "cp1252")]),
        (FULL.encode(), " ", "é", []),
    ],
)  # fmt: skip
def test_the_encoding_of_a_document_and_its_issues(
    data: bytes,
    charset: str | None,
    loc: str | None,
    issues: list[tuple[str, str | None]],
) -> None:
    """A mark first, then UTF-8, then the names; each wrong one is an Issue with its name."""
    locs, said = read_bytes(data, charset)
    assert locs == ([] if loc is None else [f"https://a.b/{loc}"])
    names = ("encoding", "encoding-unsupported", "leading-bytes")
    assert [(code, value) for code, value in said if code in names] == issues
